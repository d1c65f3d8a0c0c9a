"""Opinions that are left out in turn, and how likely the other opinions on the case make them.

Opinions are left out in rounds, at most one annotator of a case in each, and of half of the cases only. A round is a
study like any other: what is learned from all cases (how often conditions are mentioned, a fitted alpha, how good an
annotator is) is learned from what is left, and no opinion has a part in the posterior that it judges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.draws import Batch
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.kernels.predictive import LeftOut


MOST_PER_CASE = 6
"""How many opinions of a case are left out, one after the other; of more, these are taken at random."""

FOLDS = 2
"""In how many parts the cases are divided: what is learned from others is learned from the whole panels of the rest."""

Resolver = Callable[[Aggregation, Any], Aggregation]
"""What makes an aggregation ready for the study of a round: a prior that predictions inform is fitted to it."""

Advance = Callable[[int], None] | None


def as_it_is(spec: Aggregation, study: Study) -> Aggregation:  # noqa: ARG001
    """Leave an aggregation as it is."""
    return spec


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

    study: Study
    opinions: IntArray
    weights: FloatArray
    rounds: IntArray

    @staticmethod
    def of(study: Study, *, max_pairs: int, seed: int) -> HeldOut:
        """Choose the opinions: all, or those of cases taken at random until there are enough."""
        said = study.counted
        check_some_remain(said)
        rng = np.random.default_rng([seed, 1])
        case, order = said.panel.case_of_opinion, rng.permutation(said.n_opinions)
        order = order[remains(said)[order]]
        order = order[np.argsort(case[order], kind="stable")]
        place = places_within(case[order])
        order, place = order[place < MOST_PER_CASE], place[place < MOST_PER_CASE]
        kept = np.isin(case[order], enough_cases(case[order], rng.permutation(said.n_cases), max_pairs))
        chosen, place = order[kept], place[kept]
        fold = rng.integers(FOLDS, size=said.n_cases)[case[chosen]]
        _, rounds = np.unique(place * FOLDS + fold, return_inverse=True)
        back = np.argsort(chosen)
        return HeldOut(said, chosen[back], standing_for(said, chosen[back]), rounds[back].astype(np.int64))

    @property
    def n_pairs(self) -> int:
        """Number of opinions that are left out."""
        return len(self.opinions)

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return int(self.rounds.max(initial=-1)) + 1

    @cached_property
    def cases(self) -> IntArray:
        """Position of the case of each pair, shape (n_pairs,)."""
        return self.study.panel.case_of_opinion[self.opinions]

    @cached_property
    def clusters(self) -> IntArray:
        """Number of the case of each pair, or of its group where cases have groups, shape (n_pairs,)."""
        return clusters_of(self.study, self.cases)

    @cached_property
    def studies(self) -> tuple[Study, ...]:
        """The study of every round."""
        return tuple(without(self.study, self.opinions[self.rounds == number]) for number in range(self.n_rounds))

    def log_scores(
        self,
        spec: Aggregation,
        *,
        draws: int,
        seed: int,
        threads: int | None,
        advance: Advance = None,
        resolve: Resolver = as_it_is,
    ) -> tuple[FloatArray, FloatArray, dict[str, float]]:
        """Return the log-probability of each left-out ranking and of its first block, and what was fitted on average.

        The rankings themselves count once, at power one, whatever their weight. Of ratings it is the log density, of
        what they are above the shift of their annotator where shifts are estimated from the others.
        """
        scores, firsts = np.empty(self.n_pairs), np.empty(self.n_pairs)
        fitted: list[dict[str, float]] = []
        for number, study in enumerate(self.studies):
            chosen = np.flatnonzero(self.rounds == number)
            names = [study.case_names[case] for case in self.cases[chosen]]
            chosen_spec = resolve(spec, study)
            drawn = chosen_spec.sample(study, draws=draws, seed=seed, threads=threads).select(names)
            fitted.append(dict(drawn.fitted))
            said = dict(zip(names, self.opinions[chosen].tolist(), strict=True))
            done = 0
            for ranking, first in drawn.map(self._judge(chosen_spec, study, said)):
                own = chosen[done : done + len(ranking)]
                scores[own], firsts[own] = ranking, first
                done += len(ranking)
                if advance is not None:
                    advance(len(ranking))
        return scores, firsts, {name: float(np.mean([one[name] for one in fitted])) for name in fitted[0]}

    def _judge(
        self, spec: Aggregation, left: Study, said: dict[str, int]
    ) -> Callable[[Batch], tuple[FloatArray, FloatArray]]:
        """Return what judges the draws of a batch by the opinions that were left out of it."""
        if self.study.kind == "rankings":
            return partial(judged, study=self.study, said=said)
        shifts = spec.shifts_of(left.opinions) if isinstance(spec, NormalInverseGamma) else np.zeros(0)
        own = np.append(np.resize(shifts, len(self.study.annotator_names)), 0.0)[self.study.annotators]
        return partial(judged_ratings, scores=self.study.scores - own, said=said)


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


# Which opinions -----------------------------------------------------------------------------------------


def seat_keys(study: Study) -> IntArray:
    """Give the annotator behind each opinion on a case a number, shape (n_opinions,); one with a name has one."""
    case, n_names = study.panel.case_of_opinion, len(study.annotator_names)
    own = np.where(study.annotators == ANONYMOUS, n_names + np.arange(study.n_opinions), study.annotators)
    return np.asarray(case * (n_names + study.n_opinions) + own, dtype=np.int64)


def remains(study: Study) -> BoolArray:
    """Tell of each opinion whether somebody else gave one on the same case, shape (n_opinions,)."""
    _, seat, sizes = np.unique(seat_keys(study), return_inverse=True, return_counts=True)
    own = np.where(study.annotators == ANONYMOUS, 1, sizes[seat])
    return np.asarray(study.votes_per_case[study.panel.case_of_opinion] > own)


def check_some_remain(study: Study) -> None:
    """Refuse a study in which nobody can be left out, and say what follows."""
    if not remains(study).any():
        raise DissensusError(
            "no case has opinions of two annotators, so none can be held out to judge by",
            expected="at least some cases with two opinions or more",
            got=f"{study.n_cases} cases with at most one annotator each",
            advice="how far these annotators can be trusted is then not known from this study: whatever is computed "
            "rests on the reliability that is assumed, so evaluate at several (plackett-luce:1,3,10) and report the "
            "range, or ask a second annotator about some of the cases",
        )


def places_within(rows: IntArray) -> IntArray:
    """Count the elements of each row from zero; rows are ascending.

    >>> places_within(np.array([0, 0, 2, 2, 2]))
    array([0, 1, 0, 1, 2])
    """
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


def enough_cases(case_of_pair: IntArray, order: IntArray, most: int) -> IntArray:
    """Take cases in an order until they have as many pairs as wanted; at least one."""
    counts = np.bincount(case_of_pair, minlength=len(order))[order]
    return np.asarray(order[(np.cumsum(counts) <= most) | (np.cumsum(counts) == counts)])


def standing_for(study: Study, opinions: IntArray) -> FloatArray:
    """Return how many annotators each chosen opinion stands for: those of a case all together, for all of it."""
    case, votes = study.panel.case_of_opinion, study.votes.astype(np.float64)
    everyone = weighted_counts(case, np.where(remains(study), votes, 0.0), study.n_cases)
    chosen = weighted_counts(case[opinions], votes[opinions], study.n_cases)
    share = np.divide(everyone, chosen, out=np.zeros_like(chosen), where=chosen > 0)
    return np.asarray(votes[opinions] * (share * study.case_weights)[case[opinions]])


def without(study: Study, opinions: IntArray) -> Study:
    """Leave one annotator of some cases out: one vote of a nameless opinion, all that one with a name said."""
    votes = study.votes.copy()
    votes[opinions] -= 1
    named = opinions[study.annotators[opinions] != ANONYMOUS]
    keys = seat_keys(study)
    votes[np.isin(keys, keys[named])] = 0
    return with_votes(study, votes)


def with_votes(study: Study, votes: IntArray) -> Study:
    """Give every opinion another number of votes; those with none are left out."""
    kept = np.flatnonzero(votes > 0)
    panel = replace(study.panel.keep(kept), votes=votes[kept])
    return study._with_opinions(panel, kept)


def clusters_of(study: Study, cases: IntArray) -> IntArray:
    """Give the groups of cases a number, or the cases where they stand alone."""
    names = study.groups or study.case_names
    _, of_case = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
    return np.asarray(of_case, dtype=np.int64)[cases]


# Averages -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Average:
    """A weighted mean and its standard error."""

    mean: float
    error: float


def clustered(values: FloatArray, weights: FloatArray, clusters: IntArray) -> Average:
    """Average values; the standard error lets those of one cluster depend on each other.

    >>> clustered(np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4), np.array([0, 0, 1, 1]))
    Average(mean=2.0, error=1.0)
    """
    total = weights.sum()
    if not total > 0:
        return Average(np.nan, np.nan)
    mean = float(weights @ values / total)
    if not np.isfinite(mean):
        return Average(mean, np.nan)
    _, number = np.unique(clusters, return_inverse=True)
    sums = weighted_counts(number.astype(np.int64), weights * (values - mean), int(number.max()) + 1)
    n = len(sums)
    error = float(np.sqrt(np.square(sums).sum() * n / (n - 1)) / total) if n > 1 else float("nan")
    return Average(mean, error)
