"""Weights of annotators, learned from how well the others of a case foretell what was said first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation._priors import frequency_shapes
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations
from dissensus.study.study import require_kind

if TYPE_CHECKING:
    import polars as pl

SPREADS = (0.0, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations of the logarithms of weights that are tried; zero gives everybody the weight one."""

FOLDS = 5
"""In how many parts cases are divided to choose among them."""

MASS_SPREAD = 2.0
"""The logarithm of the prior mass is normal around 0 with this standard deviation, as where alpha is fitted."""

LEAST = 1e-12
"""Opinions of others that weigh less than this are none."""


@dataclass(frozen=True, eq=False)
class AnnotatorWeights:
    """Weights of annotators that :func:`annotator_weights` found.

    Attributes
    ----------
    annotators
        Names of those who are named and gave an opinion.
    weights : (n_annotators,)
        Their weights; the mean is one.
    spread
        Standard deviation of the logarithms of weights before anything is seen, chosen by held-out cases.
    gain, gain_error
        By how much weights raised the average held-out score of first choices, in cases that had no part in finding
        them, and its standard error; both zero if everybody has the weight one.

    Examples
    --------
    >>> AnnotatorWeights(("A", "B"), np.array([1.5, 0.5]), spread=0.4, gain=0.004, gain_error=0.001)
    AnnotatorWeights: 2 annotators, weights 0.50 to 1.50; held-out score +0.0040 ± 0.0010
    """

    annotators: tuple[str, ...]
    weights: FloatArray
    spread: float
    gain: float
    gain_error: float

    def to_frame(self) -> pl.DataFrame:
        """Return a row per annotator: ``annotator``, ``weight``.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["a"]], [["a"]]]], ["a", "b"], annotator_names=["A", "B"])
        >>> annotator_weights(said).to_frame().rows()
        [('A', 1.0), ('B', 1.0)]
        """
        import polars as pl

        return pl.DataFrame({"annotator": list(self.annotators), "weight": self.weights})

    def apply(self, annotations: Annotations) -> Annotations:
        """Multiply the weights of all opinions by those of their annotators; of others, nothing changes.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["a"]], [["a"]]]], ["a", "b"], annotator_names=["A", "B"])
        >>> AnnotatorWeights(("A", "B"), np.array([1.5, 0.5]), 0.4, 0.0, 0.0).apply(said).weights
        array([1.5, 0.5])
        """
        known = dict(zip(self.annotators, self.weights.tolist(), strict=True))
        of_code = np.array([*(known.get(name, 1.0) for name in annotations.annotator_names), 1.0])  # -1 is the last
        return annotations.with_weights(annotations.weights * of_code[annotations.annotators])

    def __repr__(self) -> str:
        told = "all one" if not self.spread else f"{self.weights.min():.2f} to {self.weights.max():.2f}"
        gain = f"; held-out score {self.gain:+.4f} ± {self.gain_error:.4f}" if self.spread else ""
        return f"AnnotatorWeights: {len(self.annotators)} annotators, weights {told}{gain}"


@checked
def annotator_weights(annotations: Annotations) -> AnnotatorWeights:
    """Learn how much more or less the opinion of each named annotator should count.

    Weights maximise the average log-probability of what each annotator of a case names first, given the others: their
    first choices, times their weights, on top of a prior that divides a fitted mass by how frequent conditions are in
    other cases (the mean of ``Dirichlet(prior="frequency")``). This is a fast stand-in for the whole ranking; weights
    multiply the reliability of any aggregation. Logarithms of weights are drawn towards zero, how much is
    decided by cases that are left out: the least spread whose score is within a standard error of the best, so that
    differences that foretell nothing vanish and everybody weighs one.

    Parameters
    ----------
    annotations
        Rankings of which some have named annotators. Opinions of others have the weight one.

    Examples
    --------
    >>> import dissensus as ds
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(3, size=150)
    >>> said = [[[["abc"[t]]], [["abc"[t]]], [["abc"[rng.integers(3)]]]] for t in truth]
    >>> study = ds.Annotations.from_rankings(said, ["a", "b", "c"], annotator_names=["A", "B", "guesser"])
    >>> found = ds.annotator_weights(study)
    >>> found.to_frame().sort("weight")["annotator"][0]
    'guesser'
    >>> ds.Dirichlet().sample(found.apply(study), draws=100).n_cases
    150
    """
    opinions = require_kind(annotations, "rankings", "weights of annotators").opinions
    choices = FirstChoices.of(opinions)
    if not len(choices.people):
        raise DissensusError(
            "annotators have no names, so they cannot be told apart",
            expected="names of annotators",
            advice="give the column that names them: read_annotations(..., columns={'annotator': ...})",
        )
    spread, gain, error = chosen_spread(choices)
    weights = np.exp(choices.fitted(spread, np.ones(choices.n_cases, dtype=np.bool_))[:-1])
    names = tuple(annotations.annotator_names[code] for code in choices.people)
    return AnnotatorWeights(names, weights / weights.mean(), spread, gain, error)


@dataclass(frozen=True, eq=False)
class FirstChoices:
    """Hold the first choices of a study, to score each given the others of its case.

    Attributes
    ----------
    people : (n_people,)
        Codes of annotators who are named.
    ranking, member, share : (n_mentions,)
        The ranking, the place among the supports of all cases, and the part of a vote of every condition named first.
    case, who, weights, votes : (n_rankings,)
        Case and annotator (the number of people: nobody in particular) of every ranking, its weight and how many gave
        it.
    prior : (sum of U,)
        Share of each mentioned condition in the prior mass.
    order : (n_cases,)
        Number of each case when cases are sorted by the hashes of their names.
    """

    people: IntArray
    ranking: IntArray
    member: IntArray
    share: FloatArray
    case: IntArray
    who: IntArray
    weights: FloatArray
    votes: FloatArray
    prior: FloatArray
    order: IntArray

    @staticmethod
    def of(opinions: Opinions) -> FirstChoices:
        """Find them in opinions."""
        block = row_of_each(opinions.code_offsets)
        is_first = np.isin(block, opinions.block_offsets[:-1])
        block, sizes = block[is_first], np.diff(opinions.code_offsets)
        people = np.unique(opinions.annotators[opinions.annotators != ANONYMOUS])
        is_named = opinions.annotators != ANONYMOUS
        return FirstChoices(
            people=people,
            ranking=row_of_each(opinions.block_offsets)[block],
            member=opinions.member_of_mention[is_first],
            share=1.0 / sizes[block],
            case=opinions.case_of_ranking,
            who=np.where(is_named, np.searchsorted(people, opinions.annotators), len(people)),
            weights=opinions.weights,
            votes=opinions.votes.astype(np.float64),
            prior=frequency_shapes(opinions, 1.0).mentioned,
            order=np.argsort(np.argsort(opinions.keys, kind="stable")),
        )

    @property
    def n_cases(self) -> int:
        """Number of annotated cases."""
        return len(self.order)

    def scores(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Score every ranking, and say how the sum of all scores follows the logarithms of weights and of the mass."""
        return self._scores(logs, np.ones(self.n_cases, dtype=np.bool_))

    def _scores(self, logs: FloatArray, is_counted: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Do so for some cases; the others score zero.

        With W the weighted votes for each condition of a case and u the weight of one vote, the score of a vote is
        log(sum over its conditions of W - own share of u + prior) - log(sum of all W - u + mass).
        """
        mass, n_people = np.exp(logs[-1]), len(self.people)
        weight = self.weights * np.exp(np.append(logs[:-1], 0.0))[self.who]
        one = weight / self.votes
        of_member = weighted_counts(self.member, weight[self.ranking] * self.share, len(self.prior))
        of_case = weighted_counts(self.case, weight, self.n_cases)
        others = of_case[self.case] - one
        counts = np.where((others > LEAST * of_case[self.case]) & is_counted[self.case], self.votes, 0.0)
        prior = weighted_counts(self.ranking, self.prior[self.member], len(weight))
        named = weighted_counts(self.ranking, of_member[self.member], len(weight)) - one + mass * prior
        named = np.maximum(named, np.finfo(np.float64).tiny)
        of_named, of_all = counts / named, counts / (others + mass)
        gathered = weighted_counts(self.member, of_named[self.ranking], len(self.prior))
        slope = weighted_counts(self.ranking, self.share * gathered[self.member], len(weight))
        slope += (of_all - of_named) / self.votes - weighted_counts(self.case, of_all, self.n_cases)[self.case]
        of_people = weighted_counts(self.who, slope * weight, n_people + 1)[:-1]
        return counts * np.log(named / (others + mass)), np.append(of_people, mass * (of_named @ prior - of_all.sum()))

    def fitted(self, spread: float, is_counted: BoolArray) -> FloatArray:
        """Find the logarithms of weights, and last of the prior mass, that score best on some cases."""
        from scipy.optimize import minimize

        spreads = np.append(np.full(len(self.people), max(spread, LEAST)), MASS_SPREAD)

        def badness(scaled: FloatArray) -> tuple[float, FloatArray]:
            scores, slope = self._scores(scaled * spreads, is_counted)
            return float(0.5 * scaled @ scaled - scores.sum()), scaled - slope * spreads

        limits = [(-6.0, 6.0)] * len(spreads)  # standard deviations
        return np.asarray(
            minimize(badness, np.zeros(len(spreads)), jac=True, method="L-BFGS-B", bounds=limits).x * spreads
        )

    def held_out(self, spread: float) -> FloatArray:
        """Score each case by weights that were found on other cases, shape (n_cases,)."""
        found = np.zeros(self.n_cases)
        for fold in range(FOLDS):
            is_left_out = self.order % FOLDS == fold
            if is_left_out.all() or not is_left_out.any():
                continue
            scores, _ = self._scores(self.fitted(spread, ~is_left_out), is_left_out)
            found += weighted_counts(self.case, scores, self.n_cases)
        return found


def chosen_spread(choices: FirstChoices) -> tuple[float, float, float]:
    """Choose the least spread within a standard error of the best; return it, what it gains, and the error of that."""
    n_votes = max(float(choices.votes.sum()), 1.0)
    tried = np.array([choices.held_out(spread) for spread in SPREADS]) / n_votes
    best = tried[int(tried.sum(axis=1).argmax())]
    losses = best - tried
    near = losses.sum(axis=1) <= np.sqrt(choices.n_cases) * losses.std(axis=1)
    place = int(np.flatnonzero(near | (losses.sum(axis=1) <= 0))[0])
    gains = tried[place] - tried[0]
    return SPREADS[place], float(gains.sum()), float(np.sqrt(choices.n_cases) * gains.std())
