"""What a shard holds once it is read: a study, what models said about its cases, and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from dissensus.core.receipt import Receipt
from dissensus.evaluation.plan import Strata
from dissensus.evaluation.questions import IMAGES, Questions
from dissensus.predictions.lists import Predictions
from dissensus.shards.contents import Reading
from dissensus.study.study import Study

if TYPE_CHECKING:
    import polars as pl

STUDY, STRATA = "study", "strata"


@dataclass(frozen=True, eq=False)
class ShardContent:
    """Hold the cases of a shard.

    Attributes
    ----------
    study
        The opinions, on the cases that all models have.
    models
        What each model says about them, on the same conditions.
    labels
        Labels of cases by column, pictures among them.
    receipts
        What was understood of the files: of opinions, then of each model.
    """

    study: Study
    models: Mapping[str, Predictions]
    labels: Strata
    receipts: tuple[Receipt, ...]

    @cached_property
    def questions(self) -> Questions:
        """What is evaluated: these cases, or their findings."""
        return Questions.of(self.study, self.models, self.labels)

    @property
    def strata(self) -> Strata:
        """The labels without pictures."""
        return {column: labels for column, labels in self.labels.items() if column != IMAGES}

    def select(self, names: list[str]) -> ShardContent:
        """Keep some cases, in this order."""
        models = {name: model.select(names) for name, model in self.models.items()}
        return replace(self, study=self.study.select(names), models=models)


def read_shard(frames: Mapping[str, pl.DataFrame], reading: Reading, names: tuple[str, ...]) -> ShardContent | None:
    """Read the frames of a shard; nothing if it has no case that all models have.

    Parameters
    ----------
    frames
        Rows of ``study``, ``model 0`` and so on, and ``strata``.
    reading
        How they are read.
    names
        Names of the models.
    """
    found = reading.study(frames[STUDY])
    models = {name: reading.model(name, frames[f"model {place}"], found.study) for place, name in enumerate(names)}
    said = {name: one.predictions for name, one in models.items()}
    shared = set(found.study.case_names).intersection(*(one.case_names for one in said.values()))
    kept = [name for name in found.study.case_names if name in shared]
    if not kept:
        return None
    return ShardContent(
        found.study.select(kept),
        {name: one.select(kept) for name, one in said.items()},
        _labels(frames, reading, found.study),
        (found.receipt, *(one.receipt for one in models.values())),
    )


def _labels(frames: Mapping[str, pl.DataFrame], reading: Reading, study: Study) -> dict[str, dict[str, str]]:
    """Return the labels of cases by column."""
    columns = reading.strata(frames[STRATA], study) if STRATA in frames else {}
    return {name: dict(zip(study.case_names, labels, strict=True)) for name, labels in columns.items()}
