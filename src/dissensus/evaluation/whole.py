"""What is known of all cases where an evaluation holds only some of them: a study larger than memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dissensus.core.aliases import BoolArray
from dissensus.core.thresholds import ROUGH, is_uncertain
from dissensus.core.value import Value
from dissensus.evaluation.basis import Basis
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.tally import Tally

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


Place: TypeAlias = tuple[str | int, ...]
"""Which cases, and by which estimate (the runs, and then the agreement with single annotators): ``("all", estimate)``,
``("stratum", column, label, run)`` or ``("bin", number, run)``."""


@dataclass(frozen=True)
class Certainties:
    """Count the cases whose annotations leave the answer open; counts of different cases add up.

    Attributes
    ----------
    n_cases, n_open, n_open_categories, n_rough
        How many cases there are, of how many the first condition is uncertain, of how many its category, and of how
        many the certainty is not known well.
    total
        Sum of the certainties, in units of 2^-40.
    """

    n_cases: int
    n_open: int
    n_open_categories: int
    n_rough: int
    total: int

    @staticmethod
    def of(found: Findings) -> Certainties:
        """Count the cases of one run."""
        first, errors = found.certainties[0], found.errors[0]
        return Certainties(
            len(first),
            int(is_uncertain(first).sum()),
            int(is_uncertain(found.category_certainties).sum()),
            int((errors > ROUGH).sum()),
            int(np.rint(first * 2.0**40).astype(np.int64).sum()),
        )

    def __add__(self, other: Certainties) -> Certainties:
        return Certainties(
            self.n_cases + other.n_cases,
            self.n_open + other.n_open,
            self.n_open_categories + other.n_open_categories,
            self.n_rough + other.n_rough,
            self.total + other.total,
        )

    @property
    def mean(self) -> float:
        """The mean certainty."""
        return self.total / 2.0**40 / self.n_cases


@dataclass(frozen=True, eq=False)
class Whole(Value):
    """Hold what tables and sentences say about all cases.

    Attributes
    ----------
    n_cases, n_excluded
        How many cases were evaluated, and how many have no opinion.
    n_votes, n_annotators
        How many opinions there are on them, and how many annotators with a name; no number if these are too many to be
        counted.
    bases
        What intervals are found from, by :data:`Place`.
    shared
        Sums of the agreement with single annotators, if it is known.
    certainties
        For every run, in how many cases the annotations leave the answer open; none without certainties.
    are_same : (models, models)
        Whether two models are the same predictions.
    disputed
        The evaluation of the cases with the least certainty, to be looked at.
    """

    n_cases: int
    n_excluded: int
    n_votes: int
    n_annotators: int | None
    bases: Mapping[Place, Basis]
    shared: Tally | None
    certainties: tuple[Certainties, ...]
    are_same: BoolArray
    disputed: Evaluation | None = None

    def strata(self, column: str) -> dict[str, tuple[Basis, ...]]:
        """Return what intervals are found from for every label of a column, run by run."""
        found: dict[str, list[Basis]] = {}
        for place in sorted(place for place in self.bases if place[:2] == ("stratum", column)):
            found.setdefault(str(place[2]), []).append(self.bases[place])
        return {label: tuple(of_runs) for label, of_runs in found.items()}

    def bins(self, run: int) -> list[Basis]:
        """Return what intervals are found from for every bin of certainty."""
        numbers = sorted(int(place[1]) for place in self.bases if place[0] == "bin" and place[2] == run)
        return [self.bases["bin", number, run] for number in numbers]
