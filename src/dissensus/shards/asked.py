"""What is asked of an evaluation of files, and what is told while it goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, TypeAlias, get_args

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.learned import cannot_be_split
from dissensus.core.aliases import Path
from dissensus.core.bundle import bundled
from dissensus.core.checks import check_choice, check_count, check_seed
from dissensus.core.errors import DissensusError
from dissensus.core.files import open_source
from dissensus.core.receipt import Receipt
from dissensus.evaluation.annotators import AnnotatorsAre
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.evaluator import (
    check_level,
)
from dissensus.evaluation.results import Evaluation
from dissensus.metrics.base import Metric

Progress: TypeAlias = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]
"""Shows how far something is: what, how much of it in all, and of which unit."""


def _ignored(*_: Any) -> None:
    """Tell nobody."""


def _silent(_: str, __: int, ___: str) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(_ignored)


@dataclass(frozen=True)
class Watch:
    """What is told while an evaluation goes on; by default nothing.

    Attributes
    ----------
    progress
        Shows how far something is.
    say
        Takes a line of text.
    tell
        Takes what was understood of the files: of opinions, then of each model.
    beside
        Writes more files beside the results, such as a report.
    """

    progress: Progress = _silent
    say: Callable[[str], None] = _ignored
    tell: Callable[[Sequence[Receipt]], None] = _ignored
    beside: Callable[[Evaluation, FilePath], None] = _ignored


@dataclass(frozen=True)
class Asked:
    """What is asked of an evaluation; see :func:`evaluate_files`."""

    aggregations: tuple[Aggregation, ...]
    metrics: tuple[Metric | str, ...] | None
    draws: int
    seed: int
    level: float
    annotators: AnnotatorsAre | None
    panel: bool | None
    calibrated: bool
    categories: Categories | Path | None

    def check(self) -> None:
        """Refuse what cannot be evaluated, or not shard by shard, before any file is looked at."""
        if not self.aggregations:
            raise DissensusError("there is nothing to evaluate", expected="at least one aggregation")
        check_count(draws=self.draws)
        check_seed(self.seed)
        check_level(self.level)
        if self.annotators is not None:
            check_choice("annotators", self.annotators, get_args(AnnotatorsAre))
        for spec in self.aggregations:
            reason = cannot_be_split(spec)
            if reason:
                raise DissensusError(
                    f"{spec.id} cannot be evaluated shard by shard",
                    got=reason,
                    advice="evaluate it on a study that fits into memory, such as a sample of the cases in one file",
                )

    def options(self) -> dict[str, Any]:
        """Return everything that numbers depend on as plain values."""
        metrics = None if self.metrics is None else [_told(metric) for metric in self.metrics]
        return {
            "aggregations": [spec.record() for spec in self.aggregations],
            "metrics": metrics,
            "draws": self.draws,
            "seed": self.seed,
            "level": self.level,
            "annotators": self.annotators,
            "panel": self.panel,
            "calibrated": self.calibrated,
            "categories": self._categories_hash(),
        }

    def _categories_hash(self) -> str | None:
        if self.categories is None:
            return None
        if isinstance(self.categories, Categories):
            return digest(bundled([self.categories.conditions, self.categories.names, self.categories.codes]))
        return f"sha256:{open_source(self.categories).sha256}"

    def known_categories(self, conditions: tuple[str, ...]) -> Categories | None:
        """Return the categories of the conditions, read if they are in a file."""
        if self.categories is None or isinstance(self.categories, Categories):
            return self.categories
        return Categories.from_source(open_source(self.categories), conditions)


def _told(metric: Metric | str) -> Any:
    return metric if isinstance(metric, str) else metric.record()


def digest(*parts: bytes | str) -> str:
    """Hash texts and bytes, one after the other.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hashed.update(f"{len(data)}\n".encode())
        hashed.update(data)
    return f"sha256:{hashed.hexdigest()}"
