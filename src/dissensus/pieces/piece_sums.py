"""What a piece contributes to the whole: sums over its cases, which add up in any order to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import BoolArray, FloatArray
from dissensus.core.exact import Exact
from dissensus.core.names import case_keys
from dissensus.core.value import Value
from dissensus.evaluation.basis import Addend, CaseSums, GroupSquares, GroupSums, Measured, case_sums, merged
from dissensus.evaluation.batches import EDGES, Totals, added_by_key, bin_of
from dissensus.evaluation.comparison import same_lists
from dissensus.evaluation.completion import SeenCases
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES
from dissensus.evaluation.labels import Labels
from dissensus.evaluation.plan import Drawing, Evaluated, Strata
from dissensus.evaluation.refits import ExactFit
from dissensus.evaluation.tally import CaseWeights, ExactResamples, ExactTally
from dissensus.evaluation.whole import Certainties, Place
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

MOST_DISPUTED = 500
"""How many cases with the least certainty are kept to be looked at."""

MOST_NAMED = 20
"""How many cases without any opinion are kept by name."""

GROUPS_AT_ONCE = 2_000_000
"""How many sums of groups are in memory at a time, about: of more, groups are put together part by part."""


@dataclass(frozen=True, eq=False)
class Named(Value):
    """Count cases, and name the first ones.

    >>> Named.of(["b", "a"]) + Named.of(["c"])
    Named(count=3, names=('a', 'b', 'c'))
    """

    count: int
    names: tuple[str, ...]

    @staticmethod
    def of(names: Iterable[str]) -> Named:
        """Count names."""
        found = sorted(names)
        return Named(len(found), tuple(found[:MOST_NAMED]))

    def __add__(self, other: Named) -> Named:
        return Named(self.count + other.count, tuple(sorted((*self.names, *other.names))[:MOST_NAMED]))


@dataclass(frozen=True, eq=False)
class Disputed(Value):
    """The cases with the least certainty, beginning with the least; equal ones in the order of their keys."""

    names: tuple[str, ...]
    certainties: FloatArray

    @staticmethod
    def of(names: tuple[str, ...], certainties: FloatArray) -> Disputed:
        """Keep the least certain cases."""
        order = np.lexsort((case_keys(names), certainties))[:MOST_DISPUTED]
        return Disputed(tuple(names[i] for i in order), certainties[order])

    def __add__(self, other: Disputed) -> Disputed:
        return Disputed.of((*self.names, *other.names), np.concatenate([self.certainties, other.certainties]))


@dataclass(frozen=True, eq=False)
class PieceSums(Value):
    """Sum over cases everything that tables over cases are made of.

    Attributes
    ----------
    n_votes
        How many opinions there are.
    drawings
        How each aggregation was drawn.
    totals, points, shared
        Sums by draw of the aggregations, of the deterministic ones, and of single annotators.
    bases
        What intervals are found from, by :data:`~dissensus.evaluation.whole.Place`.
    certainties
        For every run, in how many cases the annotations leave the answer open.
    are_same : (models, models)
        Whether two models are the same predictions.
    disputed
        The cases with the least certainty in the reference run.
    """

    n_votes: int
    drawings: tuple[Drawing, ...]
    totals: tuple[Totals, ...]
    points: tuple[ExactTally, ...]
    shared: ExactTally | None
    bases: Mapping[Place, CaseSums]
    certainties: tuple[Certainties, ...]
    are_same: BoolArray
    disputed: Disputed | None

    def __add__(self, other: PieceSums) -> PieceSums:
        return PieceSums(
            self.n_votes + other.n_votes,
            self.drawings,
            _added(self.totals, other.totals),
            _added(self.points, other.points),
            None if self.shared is None or other.shared is None else self.shared + other.shared,
            added_by_key(self.bases, other.bases),
            _added(self.certainties, other.certainties),
            self.are_same & other.are_same,
            None if self.disputed is None or other.disputed is None else self.disputed + other.disputed,
        )


CLASSES = (
    *(Exact, ExactTally, ExactResamples, ExactFit, Totals, CaseSums, GroupSums, Certainties, Drawing),
    *(Named, Disputed, PieceSums, SeenCases, Labels),
)
"""What may be in the files of a piece."""


def _added(one: tuple[Addend, ...], other: tuple[Addend, ...]) -> tuple[Addend, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


# Of one piece -------------------------------------------------------------------------------------------


def sums_of(
    done: Evaluated,
    study: Study,
    models: Mapping[str, Predictions],
    strata: Strata,
    *,
    seed: int,
    unit: float,
    reference: int,
) -> tuple[PieceSums, dict[Place, GroupSums]]:
    """Sum over the evaluated cases of a piece, and over the cases of every group, if there are groups."""
    names = done.case_names
    own = study.select(list(names))
    weights = CaseWeights.of(own.panel, seed, unit)
    shared = None if done.shared is None else Measured(done.shared, (~np.isnan(done.shared)).astype(np.float64))
    both = dict(_by_place(done, shared, weights, strata))
    found = [one.findings for one in done.outcomes if one.findings is not None and len(one.findings.certainties)]
    sums = PieceSums(
        own.panel.n_votes,
        done.drawings,
        tuple(outcome.totals for outcome in done.outcomes),
        done.points,
        None if shared is None else ExactTally.of(shared.means[..., None], weights.weights[:, None]),
        {place: one for place, (one, _) in both.items()},
        tuple(Certainties.of(one) for one in found),
        same_models({name: model.select(list(names)) for name, model in models.items()}),
        Disputed.of(names, found[reference].certainties[0]) if found else None,
    )
    return sums, {place: groups for place, (_, groups) in both.items() if groups is not None}


def _by_place(
    done: Evaluated, shared: Measured | None, weights: CaseWeights, strata: Strata
) -> Iterator[tuple[Place, tuple[CaseSums, GroupSums | None]]]:
    """Sum over all cases, and over those of every label and bin."""
    runs = [Measured(outcome.means, outcome.shares) for outcome in done.outcomes]
    for place, one in enumerate([*runs, *([] if shared is None else [shared])]):
        (sums,), (groups,) = case_sums(one, weights, n_resamples=RESAMPLES, pairs=True)
        yield ("all", place), (sums, groups)
    for run, one in enumerate(runs):
        for column, of_cases in strata.items():
            labels = np.array([of_cases[name] for name in done.case_names])
            yield from ((("stratum", column, label, run), both) for label, both in _by_label(one, weights, labels))
        findings = done.outcomes[run].findings
        if findings is not None and len(findings.certainties):
            numbers, every = bin_of(findings.certainties[0]), range(len(EDGES) - 1)
            yield from ((("bin", number, run), both) for number, both in _by_label(one, weights, numbers, every))


def _by_label(
    one: Measured, weights: CaseWeights, labels: npt.NDArray[Any], known: Sequence[Any] | None = None
) -> Iterator[tuple[Any, tuple[CaseSums, GroupSums | None]]]:
    names = np.unique(labels) if known is None else np.array(known)
    codes = np.searchsorted(names, labels).astype(np.int64)
    sums, groups = case_sums(one, weights, n_resamples=GROUP_RESAMPLES, labels=codes, n_labels=len(names))
    return zip(names.tolist(), zip(sums, groups, strict=True), strict=True)


def same_models(models: Mapping[str, Predictions]) -> BoolArray:
    """Tell which models are the same predictions, shape (models, models)."""
    said = list(models.values())
    found = np.eye(len(said), dtype=np.bool_)
    for a, b in combinations(range(len(said)), 2):
        found[a, b] = found[b, a] = same_lists(said[a], said[b])
    return found


# Of all pieces ------------------------------------------------------------------------------------------


def squares_of(
    pieces: Callable[[], Iterable[Mapping[Place, GroupSums]]], masses: Mapping[Place, FloatArray]
) -> dict[Place, GroupSquares]:
    """Put the groups of all pieces together, and square their sums; of many groups part by part.

    Parameters
    ----------
    pieces
        Gives the sums of groups of all pieces, one after the other, as often as it is called.
    masses
        The mass of all cases of every place, shape (columns,).
    """
    n_sums = sum(len(one.keys) for of_piece in pieces() for one in of_piece.values())
    n_parts = max(1, -(-n_sums // GROUPS_AT_ONCE))
    found: dict[Place, GroupSquares] = {}
    for number in range(n_parts):
        total = merged(_ByPlace({key: one.part(number, n_parts) for key, one in each.items()}) for each in pieces())
        found = added_by_key(found, {place: one.squares(masses[place]) for place, one in total.sums.items()})
    return found


@dataclass(frozen=True)
class _ByPlace:
    """Sums of groups by place, which add up."""

    sums: Mapping[Place, GroupSums]

    def __add__(self, other: _ByPlace) -> _ByPlace:
        return _ByPlace(added_by_key(self.sums, other.sums))
