"""Panels cut in two: what one half of the annotators lets expect, against what the other half said.

The first choices of the held-out half have a winner; those who tie share the win. Certainty says how sure the first
half is of *its* winner in a panel without end, while a held-out half of two or three is a lottery. So the chance to win
in a panel of that very size is predicted too, by simulating panels from the draws: stated and confirmed then compare
like with like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.draws import Batch
from dissensus.evaluation.held_out import (
    FOLDS,
    Advance,
    Resolver,
    as_it_is,
    clustered,
    clusters_of,
    places_within,
    remains,
    seat_keys,
    with_votes,
)
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    from dissensus.kernels.simulated_panels import Panels

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Limits of the bins of certainty; a bin holds its lower limit, and the last one also the upper."""

EVEN = 1e-9
"""Votes closer than this are as many."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What the first half of each panel lets expect, and what the second half said.

    Attributes
    ----------
    stated : (n_cases,)
        Certainty of the condition that the first half puts first.
    predicted : (1 + n_models, n_cases)
        Chance that it wins in a panel as large as the second half, and the same for what each model put first.
    confirmed : (1 + n_models, n_cases)
        Whether it won; ties share.
    """

    stated: FloatArray
    predicted: FloatArray
    confirmed: FloatArray


@dataclass(frozen=True, eq=False)
class PanelSplit:
    """Say which annotators are on which side.

    Attributes
    ----------
    study
        The opinions that count.
    cases : (n_cases,)
        The cases whose panels are cut, ascending.
    first : (n_opinions,)
        How many of the annotators behind each opinion are in the first half.
    folds : (n_cases,)
        Cases are cut in turn, fold by fold; the others keep their panels, and others are learned from.

    Examples
    --------
    >>> said = Annotations.from_counts([[2, 2, 0], [0, 0, 1]], ["a", "b", "c"])
    >>> split = PanelSplit.of(said, max_cases=10, seed=0)
    >>> split.cases, int(split.first[:2].sum())
    (array([0]), 2)
    """

    study: Annotations
    cases: IntArray
    first: IntArray
    folds: IntArray

    @staticmethod
    def of(study: Annotations, *, max_cases: int, seed: int) -> PanelSplit:
        """Cut the panels of all cases with two annotators or more, or of as many as wanted, at random."""
        said, rng = study.counted, np.random.default_rng([seed, 2])
        case = said.panel.case_of_opinion
        several = np.unique(case[remains(said)])
        cases = np.sort(rng.permutation(several)[:max_cases])
        return PanelSplit(said, cases, first_half(said, cases, rng), rng.integers(FOLDS, size=len(cases)))

    @cached_property
    def second(self) -> IntArray:
        """How many of the annotators behind each opinion are in the second half, shape (n_opinions,)."""
        is_cut = np.isin(self.study.panel.case_of_opinion, self.cases)
        return np.where(is_cut, self.study.votes - self.first, 0)

    @cached_property
    def clusters(self) -> IntArray:
        """Number of each case, or of its group, shape (n_cases,)."""
        return clusters_of(self.study, self.cases)

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each case, shape (n_cases,)."""
        return self.study.case_weights[self.cases]

    @cached_property
    def studies(self) -> tuple[Annotations, ...]:
        """For every fold, the study in which its panels are cut."""
        case = self.study.panel.case_of_opinion
        return tuple(
            with_votes(
                self.study, np.where(np.isin(case, self.cases[self.folds == fold]), self.first, self.study.votes)
            )
            for fold in range(FOLDS)
        )

    @cached_property
    def votes(self) -> tuple[IntArray, FloatArray]:
        """First choices of the second half: keys (case times K plus code), ascending, and their votes."""
        return first_votes(self.study, self.second)

    def shares(self, said: tuple[IntArray, FloatArray], targets: IntArray) -> FloatArray:
        """Return the share of votes of one condition per case, shape (n_cases,); -1 stands for none."""
        (keys, votes), n_conditions = said, self.study.n_conditions
        totals = weighted_counts(keys // n_conditions, votes, self.study.n_cases)[self.cases]
        return np.where(targets >= 0, looked_up(keys, votes, self.cases * n_conditions + targets), 0.0) / totals

    def wins(self, targets: IntArray) -> FloatArray:
        """Return whether one condition per case won the second half, shape (n_cases,); ties share."""
        (keys, votes), n_conditions = self.votes, self.study.n_conditions
        best = np.zeros(self.study.n_cases)
        np.maximum.at(best, keys // n_conditions, votes)
        is_best = votes > best[keys // n_conditions] - EVEN
        n_best = np.bincount(keys[is_best] // n_conditions, minlength=self.study.n_cases)[self.cases]
        own = looked_up(keys, votes, self.cases * n_conditions + targets)
        return np.where((targets >= 0) & (own > best[self.cases] - EVEN), 1.0 / n_best, 0.0)

    def expected(
        self,
        spec: Aggregation,
        models: Mapping[str, IntArray],
        *,
        draws: int,
        seed: int,
        threads: int | None,
        advance: Advance = None,
        resolve: Resolver = as_it_is,
    ) -> Expected:
        """Draw from the first halves; ``models`` gives what each of them puts first on the cases, -1 for nothing."""
        stated, targets = np.empty(len(self.cases)), np.empty((1 + len(models), len(self.cases)), dtype=np.int64)
        predicted = np.zeros(targets.shape)
        targets[1:] = np.array([*models.values()]).reshape(len(models), len(self.cases))
        place = {self.study.case_names[case]: i for i, case in enumerate(self.cases)}
        for fold, study in enumerate(self.studies):
            names = [self.study.case_names[case] for case in self.cases[self.folds == fold]]
            if not names:
                continue
            drawn = resolve(spec, study).sample(study, draws=draws, seed=seed, threads=threads).select(names)
            for own, certainty, leader, chances in drawn.map(lambda batch: self._foreseen(batch, place, targets)):
                stated[own], targets[0, own], predicted[:, own] = certainty, leader, chances
                if advance is not None:
                    advance(len(own))
        return Expected(stated, predicted, np.array([self.wins(row) for row in targets]))

    def _foreseen(
        self, batch: Batch, place: Mapping[str, int], targets: IntArray
    ) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Find the cases of a batch, their certainty, who leads, and the chances of all targets to win."""
        from dissensus.kernels.simulated_panels import winning_chances

        own = np.array([place[name] for name in batch.case_names], dtype=np.int64)
        certainty, leader = leaders(batch)
        wanted = np.vstack([leader, targets[1:, own]])
        chances = winning_chances(batch.layout(), batch.values, self._panels(own, wanted, batch))
        return own, certainty, leader, np.where(wanted >= 0, chances.reshape(len(own), -1).T, 0.0)

    def _panels(self, own: IntArray, wanted: IntArray, batch: Batch) -> Panels:
        """Seat the second halves of some cases."""
        from dissensus.core.names import case_keys
        from dissensus.kernels.simulated_panels import Panels

        offsets, opinions = take_rows(self.study.panel.opinion_offsets, self.cases[own])
        sizes = np.diff(self.study.code_offsets)[self.study.block_offsets[opinions]]
        seats = weighted_counts(row_of_each(offsets), self.second[opinions].astype(float), len(own)).astype(np.int64)
        return Panels(
            offsets_from_lengths(seats),
            np.repeat(sizes, self.second[opinions]),
            np.arange(len(own) + 1) * len(wanted),
            np.ascontiguousarray(wanted.T).ravel(),
            case_keys(batch.case_names),
        )


def leaders(batch: Batch) -> tuple[FloatArray, IntArray]:
    """Return the certainty of each case and the code of the condition that is most often on top, twice (n_cases,)."""
    told = batch.identified(1)
    shares, case = told.top_shares(), row_of_each(told.support_offsets)
    own = shares[np.arange(len(case)) + case]
    order = np.lexsort((np.arange(len(own)), -own, case))
    first = order[told.support_offsets[:-1]]
    return own[first], told.support[first]


def first_half(study: Annotations, cases: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw the annotators of the first half, the larger one, of some cases: votes per opinion, shape (n_opinions,)."""
    is_cut = np.isin(study.panel.case_of_opinion, cases)
    opinion = np.repeat(np.arange(study.n_opinions), np.where(is_cut, study.votes, 0))
    keys = seat_keys(study)[opinion]
    anonymous = study.annotators[opinion] == ANONYMOUS
    _, seat = np.unique(np.where(anonymous, -1 - np.arange(len(opinion)), keys), return_inverse=True)
    luck = rng.random(int(seat.max(initial=-1)) + 1)[seat]
    case = study.panel.case_of_opinion[opinion]
    order = np.lexsort((luck, case))
    is_new = np.append(True, (luck[order][1:] != luck[order][:-1]) | (case[order][1:] != case[order][:-1]))
    number = np.cumsum(is_new)[: len(order)]
    start = number[np.arange(len(order)) - places_within(case[order])]
    place, size = number - start, np.zeros(study.n_cases, dtype=np.int64)
    np.maximum.at(size, case[order], place + 1)
    chosen = order[place < (size[case[order]] + 1) // 2]
    return np.where(is_cut, np.bincount(opinion[chosen], minlength=study.n_opinions), study.votes)


def first_votes(study: Annotations, votes: IntArray) -> tuple[IntArray, FloatArray]:
    """Count first choices: keys (case times K plus code), ascending, and votes; a tied block shares one vote."""
    opinions = np.flatnonzero(votes > 0)
    offsets, mentions = take_rows(study.code_offsets, study.block_offsets[opinions])
    opinion = opinions[row_of_each(offsets)]
    keys = study.panel.case_of_opinion[opinion] * study.n_conditions + study.codes[mentions]
    found, place = np.unique(keys, return_inverse=True)
    each = (votes[opinions] / np.maximum(np.diff(offsets), 1))[row_of_each(offsets)]
    return found, weighted_counts(place.astype(np.int64), each, len(found))


def looked_up(keys: IntArray, values: FloatArray, wanted: IntArray) -> FloatArray:
    """Return the value of each wanted key, zero where there is none; keys are ascending."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0.0)


def first_choices(model: Predictions, case_names: Sequence[str]) -> IntArray:
    """Return the code that a model lists first on each case, -1 where it lists nothing; of ties the first."""
    place = {name: i for i, name in enumerate(model.case_names)}
    rows = np.array([place[name] for name in case_names], dtype=np.int64)
    has_any = model.entries_per_case[rows] > 0
    return np.where(has_any, np.append(model.codes, -1)[np.where(has_any, model.offsets[rows], -1)], -1)


# Tables -------------------------------------------------------------------------------------------------


def bins_of(found: Expected, split: PanelSplit) -> list[dict[str, Any]]:
    """Compare stated, predicted and confirmed in bins of certainty, and in all cases together."""
    number = np.minimum(np.searchsorted(EDGES, found.stated + EVEN, side="right") - 1, len(EDGES) - 2)
    rows = [_bin(found, split, number == i, EDGES[i], EDGES[i + 1]) for i in range(len(EDGES) - 1)]
    return [row for row in [*rows, _bin(found, split, number >= 0, 0.0, 1.0)] if row["n_cases"]]


def _bin(found: Expected, split: PanelSplit, chosen: Any, low: float, high: float) -> dict[str, Any]:
    weights, clusters = split.weights[chosen], split.clusters[chosen]
    stated = clustered(found.stated[chosen], weights, clusters)
    predicted = clustered(found.predicted[0, chosen], weights, clusters)
    confirmed = clustered(found.confirmed[0, chosen], weights, clusters)
    gap = clustered((found.predicted - found.confirmed)[0, chosen], weights, clusters)
    return {
        "low": low,
        "high": high,
        "n_cases": int(np.count_nonzero(chosen)),
        "stated": stated.mean,
        "predicted": predicted.mean,
        "confirmed": confirmed.mean,
        "confirmed_se": confirmed.error,
        "gap": gap.mean,
        "gap_se": gap.error,
    }


def calibration_error(rows: Sequence[Mapping[str, Any]]) -> float:
    """Average the distance between predicted and confirmed over the bins, by cases; the last row is all together.

    >>> calibration_error([{"n_cases": 1, "gap": 0.1}, {"n_cases": 3, "gap": -0.1}, {"n_cases": 4, "gap": -0.05}])
    0.1
    """
    bins = rows[:-1]
    return float(np.average([abs(row["gap"]) for row in bins], weights=[row["n_cases"] for row in bins]))
