"""Opinions that are left out in turn, and how likely the other opinions on the case make them.

Opinions are left out in rounds, at most one annotator of a case in each, and of half of the cases only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.draws import Batch
from dissensus.evaluation.folds import (
    Columns,
    Fold,
    check_some_remain,
    clusters_of,
    judged_in_turn,
    places_within,
    remains,
    without,
)
from dissensus.study.rankings import Annotations
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.kernels.predictive import LeftOut

MOST_PER_CASE = 6
"""How many opinions of a case are left out, one after the other; of more, these are taken at random."""

PARTS = 2
"""In how many parts the cases are divided: what is learned from others is learned from the whole panels of the rest."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Say which opinions are left out, and in which round.

    Attributes
    ----------
    study
        The opinions that count.
    opinions : (n_pairs,)
        Positions of the opinions that are left out, ascending.
    weights : (n_pairs,)
        How many annotators each stands for.
    rounds : (n_pairs,)
        In which round it is left out.

    Examples
    --------
    >>> said = Annotations.from_counts([[2, 1, 0], [0, 0, 1]], ["a", "b", "c"])
    >>> pairs = HeldOut.of(said, max_pairs=10, seed=0)
    >>> pairs.opinions, pairs.weights
    (array([0, 1]), array([2., 1.]))
    """

    study: Any
    opinions: IntArray
    weights: FloatArray
    rounds: IntArray

    @staticmethod
    def of(study: Study, *, max_pairs: int, seed: int) -> HeldOut:
        """Choose the opinions: all, or those of cases taken at random until there are enough, at least one."""
        said = study.counted
        check_some_remain(said)
        rng = np.random.default_rng([seed, 1])
        case, order = said.panel.case_of_opinion, rng.permutation(said.n_opinions)
        order = order[remains(said)[order]]
        order = order[np.argsort(case[order], kind="stable")]
        place = places_within(case[order])
        order, place = order[place < MOST_PER_CASE], place[place < MOST_PER_CASE]
        cases = rng.permutation(said.n_cases)
        counts = np.bincount(case[order], minlength=said.n_cases)[cases]
        enough = cases[(np.cumsum(counts) <= max_pairs) | (np.cumsum(counts) == counts)]
        kept = np.isin(case[order], enough)
        chosen, place = order[kept], place[kept]
        part = rng.integers(PARTS, size=said.n_cases)[case[chosen]]
        _, rounds = np.unique(place * PARTS + part, return_inverse=True)
        back = np.argsort(chosen)
        return HeldOut(said, chosen[back], standing_for(said, chosen[back]), rounds[back].astype(np.int64))

    @property
    def n_pairs(self) -> int:
        """Number of opinions that are left out."""
        return len(self.opinions)

    @cached_property
    def cases(self) -> IntArray:
        """Position of the case of each pair, shape (n_pairs,)."""
        return np.asarray(self.study.panel.case_of_opinion[self.opinions])

    @cached_property
    def clusters(self) -> IntArray:
        """Number of the case of each pair, or of its group where cases have groups, shape (n_pairs,)."""
        return clusters_of(self.study, self.cases)

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """What is left in every round."""
        n_rounds = int(self.rounds.max(initial=-1)) + 1
        return tuple(without(self.study, self.opinions[self.rounds == number]) for number in range(n_rounds))

    def log_scores(self, spec: Aggregation, **how: Any) -> tuple[FloatArray, FloatArray, dict[str, float]]:
        """Return the log-probability of each left-out ranking and of its first block, and what was fitted on average.

        The rankings themselves count once, at power one, whatever their weight. Of ratings it is the log density, of
        what they are above the shift of their annotator where shifts are estimated from the others. ``how`` is what
        :func:`judged_in_turn` takes.
        """
        columns, fitted = judged_in_turn(self.folds, spec, self._judge, **how)
        back = np.argsort(np.argsort(self.rounds, kind="stable"))
        return columns[0][back], columns[1][back], fitted

    def _judge(self, number: int, spec: Aggregation) -> Callable[[Batch], Columns]:
        """Return what judges the draws of a batch by the opinions that were left out of it in a round."""
        fold, study = self.folds[number], self.study
        said = dict(zip(fold.case_names, self.opinions[self.rounds == number].tolist(), strict=True))
        if study.kind != "ratings":
            return partial(judged, study=study, said=said)
        shifts = spec.shifts_of(fold.left.opinions) if isinstance(spec, NormalInverseGamma) else np.zeros(0)
        own = np.append(np.resize(shifts, len(study.annotator_names)), 0.0)[study.annotators]
        return partial(judged_ratings, scores=study.scores - own, said=said)


def standing_for(study: Study, opinions: IntArray) -> FloatArray:
    """Return how many annotators each chosen opinion stands for: those of a case all together, for all of it."""
    case, votes = study.panel.case_of_opinion, study.votes.astype(np.float64)
    everyone = weighted_counts(case, np.where(remains(study), votes, 0.0), study.n_cases)
    chosen = weighted_counts(case[opinions], votes[opinions], study.n_cases)
    share = np.divide(everyone, chosen, out=np.zeros_like(chosen), where=chosen > 0)
    return np.asarray(votes[opinions] * (share * study.case_weights)[case[opinions]])


def judged_ratings(batch: Batch, scores: FloatArray, said: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return the log density of the rating that was left out of every case, twice: a rating has no first choice.

    It is the mean over draws of the density of their normal distributions.
    """
    from scipy.special import logsumexp

    assert batch.numbers is not None
    left_out = scores[[said[name] for name in batch.case_names]]
    mean, deviation = np.maximum(batch.numbers, [[[-np.inf, 1e-300]]]).transpose(2, 0, 1)
    logs = -0.5 * ((left_out[:, None] - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    found = np.asarray(logsumexp(logs, axis=1) - np.log(batch.n_draws))
    return found, found


def judged(batch: Batch, study: Annotations, said: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return how likely the draws of every case make the opinion that was left out of it, and its first block."""
    from dissensus.kernels.predictive import log_predictive

    opinions = np.array([said[name] for name in batch.case_names], dtype=np.int64)
    left_out = in_terms_of(batch, study, opinions)
    return log_predictive(batch.layout(), batch.values, left_out, below=study.unranked == "below")


def in_terms_of(batch: Batch, study: Annotations, opinions: IntArray) -> LeftOut:
    """Find the conditions of one opinion per case among the draws of the case."""
    from dissensus.kernels.predictive import LeftOut

    block_offsets, blocks = take_rows(study.block_offsets, opinions)
    mention_offsets, mentions = take_rows(study.code_offsets, blocks)
    codes, case = study.codes[mentions], row_of_each(mention_offsets[block_offsets])
    keys = row_of_each(batch.support_offsets) * batch.n_conditions + batch.support
    place = np.minimum(np.searchsorted(keys, case * batch.n_conditions + codes), len(keys) - 1)
    is_known = keys[place] == case * batch.n_conditions + codes
    weights = np.ones(batch.n_conditions) if batch.rest_sums is None else np.diff(batch.rest_sums)
    own = weighted_counts(row_of_each(batch.support_offsets), batch.member_weights(), batch.n_cases)
    return LeftOut(
        block_offsets,
        mention_offsets,
        np.where(is_known, place - batch.support_offsets[case], -1),
        np.where(is_known, 0.0, batch.rest_shapes[case] * weights[codes]),
        batch.rest_shapes * np.maximum(batch.total_weight - own, 0.0),
    )
