"""What models say about the conditions of every case, laid out beside what annotators chose first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregation._priors import SMOOTHING, mention_counts
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import begins_run, row_of_each, take_rows, weighted_counts
from dissensus.predictions.lists import PredictionKind, Predictions, common_kind
from dissensus.study.opinions import Opinions

FLOOR = 1e-3
"""Scores below this share say no more than that a condition was not listed."""

MOST_LISTED = 50
"""How many conditions of a case a model may say something about, the best ones."""

SAYINGS = ("log score", "score", "first")
"""What every model says about a condition: three features each."""

FIRMNESS = (2.0, 2.0, 8.0)
"""Precisions of their coefficients around zero: what few votes cannot tell is not believed. Beside the score, the first
place is rarely needed, and held-out annotators like it held firmly; it is all there is to know of a model whose scores
are nearly flat."""

N_BREAKS = 6
"""In how many ways tied first blocks are broken: a multiple of the usual sizes, 2 and 3."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are spread evenly between 0 and 1."""

LEAST_MENTIONED, MOST_FREE = 20, 20
"""A condition has a coefficient of its own if so many cases mention it, and if it is one of so many."""


Reading: TypeAlias = Literal["ranking", "set", "logarithms", "probabilities", "scores"]
"""What the numbers of a model are taken for."""


@dataclass(frozen=True)
class ScoreRange:
    """Know between which limits the scores of a model are: they tell what its numbers mean. Ranges add up.

    Examples
    --------
    >>> one, other = (Predictions.from_scores([row], ["a", "b"]) for row in ([0.5, 0.5], [3.0, 1.0]))
    >>> ScoreRange.of(one).reading, (ScoreRange.of(one) + ScoreRange.of(other)).reading
    ('probabilities', 'scores')
    """

    kind: PredictionKind | None
    lowest: float = 0.0
    most: float = 0.0

    @staticmethod
    def of(model: Predictions) -> ScoreRange:
        """Find the lowest score, at most zero, and the largest sum of a case."""
        sums = weighted_counts(model.case_of_entry, model.values, model.n_cases)
        return ScoreRange(model.kind, float(model.values.min(initial=0.0)), float(sums.max(initial=0.0)))

    def __add__(self, other: ScoreRange) -> ScoreRange:
        return ScoreRange(
            common_kind(self.kind, other.kind), min(self.lowest, other.lowest), max(self.most, other.most)
        )

    @property
    def reading(self) -> Reading:
        """Probabilities are taken as they are, other scores for shares, negative ones for logarithms."""
        if self.kind == "ranking" or self.kind == "set":
            return self.kind
        if self.lowest < 0:
            return "logarithms"
        return "probabilities" if self.most <= 1 + FLOOR else "scores"


@dataclass(frozen=True, eq=False)
class Whole:
    """Know of a whole study what the evidence of its parts needs.

    Attributes
    ----------
    counts : (K,)
        How many cases mention each condition.
    ranges
        Limits of scores by name of the model.
    turns
        In how many ways tied first blocks are broken; by default as it needs.
    """

    counts: FloatArray
    ranges: Mapping[str, ScoreRange]
    turns: int | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """Hold the features of all conditions that a case's models list or its annotators mention; all others have none.

    Attributes
    ----------
    models
        Names of the models.
    offsets, codes
        The listed or mentioned conditions of each case, ascending.
    features : (n_entries, 3 * models)
        Logarithm of the score over its floor, score, and share of the first place, model after model.
    firmness : (3 * models,)
        Precisions of the coefficients of features around zero.
    log_frequency : (n_entries,)
        Logarithm of the number of other cases that mention the condition, plus a half.
    log_weights : (K,)
        The same over all cases.
    mentioned : (n_mentioned,)
        Positions of the entries that an annotator mentions.
    votes : (n_breaks, n_mentioned)
        First choices of the annotators, ties broken in several ways; see :func:`broken_votes`.
    free
        Codes of the conditions that have a coefficient of their own, ascending.
    """

    models: tuple[str, ...]
    offsets: IntArray
    codes: IntArray
    features: FloatArray
    firmness: FloatArray
    log_frequency: FloatArray
    log_weights: FloatArray
    mentioned: IntArray
    votes: FloatArray
    free: IntArray

    @staticmethod
    def of(opinions: Opinions, models: Mapping[str, Predictions], whole: Whole | None = None) -> Evidence:
        """Lay out the models' predictions of the annotated cases, which are part of a whole; by default all of it."""
        n_conditions, names = len(opinions.conditions), list(opinions.case_names)
        own = {name: model.select(names) for name, model in models.items()}
        whole = whole or Whole(mention_counts(opinions), {name: ScoreRange.of(model) for name, model in own.items()})
        said = [_sayings(model, whole.ranges[name].reading) for name, model in own.items()]
        told = row_of_each(opinions.support_offsets) * n_conditions + opinions.support
        keys = np.sort(np.concatenate([told, *(keys for keys, _ in said)]))
        keys = keys[begins_run(keys)]
        case, codes = np.divmod(keys, n_conditions)
        features = np.zeros((len(keys), len(SAYINGS) * len(said)), order="F")  # columns are added one by one
        for place, (listed, values) in enumerate(said):
            features[np.searchsorted(keys, listed), len(SAYINGS) * place : len(SAYINGS) * (place + 1)] = values
        is_mentioned = np.isin(keys, told, assume_unique=True)
        counts = whole.counts
        return Evidence(
            tuple(models),
            np.searchsorted(case, np.arange(opinions.n_cases + 1)),
            codes,
            features,
            np.tile(FIRMNESS, len(said)),
            np.log(counts[codes] - is_mentioned + SMOOTHING),
            np.log(counts + SMOOTHING),
            np.flatnonzero(is_mentioned),
            broken_votes(opinions, whole.turns),
            _free_conditions(counts),
        )

    @property
    def n_cases(self) -> int:
        """Number of annotated cases."""
        return len(self.offsets) - 1

    @property
    def n_conditions(self) -> int:
        """K."""
        return len(self.log_weights)

    @cached_property
    def case(self) -> IntArray:
        """The case of each entry, shape (n_entries,)."""
        return row_of_each(self.offsets)

    @cached_property
    def totals(self) -> FloatArray:
        """Number of votes of each case, shape (n_cases,)."""
        return weighted_counts(self.case[self.mentioned], self.votes[0], self.n_cases)

    @cached_property
    def is_whole(self) -> BoolArray:
        """Whether all conditions of a case are entries, shape (n_cases,)."""
        return np.asarray(np.diff(self.offsets) == self.n_conditions)

    @cached_property
    def place(self) -> IntArray:
        """Where the condition of each entry stands among the free ones, beyond them if it is none; (n_entries,)."""
        places = np.full(self.n_conditions, len(self.free), dtype=np.int64)
        places[self.free] = np.arange(len(self.free))
        return places[self.codes]

    def counted_in(self, cases: BoolArray) -> Evidence:
        """Count how frequent conditions are in some cases only."""
        is_counted = cases[self.case[self.mentioned]]
        counts = np.bincount(self.codes[self.mentioned][is_counted], minlength=self.n_conditions).astype(np.float64)
        own = np.zeros(len(self.codes))
        own[self.mentioned[is_counted]] = 1.0
        return replace(
            self,
            log_frequency=np.log(counts[self.codes] - own + SMOOTHING),
            log_weights=np.log(counts + SMOOTHING),
        )

    def take(self, cases: IntArray) -> Evidence:
        """Select cases by position, which may repeat."""
        offsets, entries = take_rows(self.offsets, cases)
        is_mentioned = np.zeros(len(self.codes), dtype=np.bool_)
        is_mentioned[self.mentioned] = True
        place = np.cumsum(is_mentioned) - 1
        chosen = is_mentioned[entries]
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[entries],
            features=self.features[entries],
            log_frequency=self.log_frequency[entries],
            mentioned=np.flatnonzero(chosen),
            votes=self.votes[:, place[entries[chosen]]],
            free=self.free,
        )

    def without(self, models: Sequence[str]) -> Evidence:
        """Leave some models out."""
        kept = [place for place, name in enumerate(self.models) if name not in models]
        columns = [len(SAYINGS) * place + which for place in kept for which in range(len(SAYINGS))]
        return replace(
            self,
            models=tuple(self.models[place] for place in kept),
            features=self.features[:, columns],
            firmness=self.firmness[columns],
        )


def _free_conditions(counts: FloatArray) -> IntArray:
    """Return the codes of the most frequent conditions, ascending, given how many cases mention each."""
    often = np.argsort(-counts, kind="stable")[:MOST_FREE]
    return np.sort(often[counts[often] >= LEAST_MENTIONED])


def broken_votes(opinions: Opinions, turns: int | None = None) -> FloatArray:
    """Give the vote of a tied first block to one of its conditions, in several ways that share it fairly on average.

    A vote that is shared by halves looks as if annotators agreed on the halves: with one tie in six, the fitted
    concentration of a simulated study was 1500 rather than 20. Which condition gets the vote depends on nothing but the
    name of the case and the place of the ranking in it.

    Parameters
    ----------
    turns
        In how many ways; by default once if there are no ties.

    Returns
    -------
    (n_breaks, sum of U)
        Weighted votes for the mentioned conditions of all cases, side by side.

    Examples
    --------
    >>> from dissensus import Study
    >>> broken_votes(Study.from_rankings([[[["a"]], [["a", "b"]]]], ["a", "b", "c"]).opinions).T
    array([[1., 1., 2., 2., 2., 1.],
           [1., 1., 0., 0., 0., 1.]])
    """
    offsets, mentions = take_rows(opinions.code_offsets, opinions.block_offsets[:-1])
    ranking, sizes = row_of_each(offsets), np.diff(offsets)
    within, members = np.arange(offsets[-1]) - offsets[ranking], opinions.member_of_mention[mentions]
    size, given = sizes[ranking], opinions.votes[ranking]
    each = opinions.weights[ranking] / given
    rows = []
    for turn in range(turns or (N_BREAKS if (sizes > 1).any() else 1)):
        favoured = (_fractions(opinions, turn)[ranking] * size).astype(np.int64)
        chosen = given // size + ((within - favoured) % size < given % size)
        rows.append(weighted_counts(members, each * chosen, len(opinions.support)))
    return np.array(rows)


def _fractions(opinions: Opinions, turn: int) -> FloatArray:
    """Return a number between 0 and 1 for each ranking, evenly spread over the turns, shape (n_rankings,)."""
    case = opinions.case_of_ranking
    place = np.arange(len(case)) - opinions.ranking_offsets[case] + 1
    of_case = (opinions.keys[case] >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.asarray((of_case + GOLDEN * place + turn / N_BREAKS) % 1.0)


def _sayings(model: Predictions, reading: Reading) -> tuple[IntArray, FloatArray]:
    """Return what a model says: keys (case, condition) of the conditions it lists, and three features of each."""
    shares, first = score_shares(model, reading), first_shares(model)
    rank = np.arange(model.n_entries) - model.offsets[model.case_of_entry]
    is_told = ((shares > FLOOR) | (first > FLOOR)) & (rank < MOST_LISTED)
    keys = (model.case_of_entry * model.n_conditions + model.codes)[is_told]
    shares, first = shares[is_told], first[is_told]
    features = np.stack([np.log(np.maximum(shares, FLOOR) / FLOOR), shares, first], axis=1)
    order = np.argsort(keys)
    return keys[order], features[order]


def score_shares(model: Predictions, reading: Reading) -> FloatArray:
    """Turn what a model lists into shares of each case, shape (n_entries,): probabilities are taken as they are.

    Other scores that are not negative are divided by their sum, negative ones are taken for logarithms; a ranking has
    inverse ranks, and the conditions of a set share alike.

    Examples
    --------
    >>> score_shares(Predictions.from_rankings([["a", "b"]]), "ranking").round(2)
    array([0.67, 0.33])
    """
    case = model.case_of_entry
    if reading == "probabilities":
        return model.values
    if reading == "scores":
        return _normalised(model.values, case, model.n_cases)
    if reading == "ranking":
        return _normalised(1.0 / _ranks(model), case, model.n_cases)
    if reading == "set":
        return _normalised(np.ones(model.n_entries), case, model.n_cases)
    best = model.values[model.offsets[:-1].clip(max=model.n_entries - 1)]
    return _normalised(np.exp(model.values - best[case]), case, model.n_cases)


def first_shares(model: Predictions) -> FloatArray:
    """Return the share of each entry in the first place of its case, shape (n_entries,).

    >>> first_shares(Predictions.from_scores([[0.4, 0.4, 0.2]], ["a", "b", "c"]))
    array([0.5, 0.5, 0. ])
    """
    return _normalised((_ranks(model) == 1).astype(np.float64), model.case_of_entry, model.n_cases)


def _ranks(model: Predictions) -> FloatArray:
    """Return the rank of each entry within its case, tied ones alike, shape (n_entries,)."""
    case, values = model.case_of_entry, model.values
    begins = np.ones(len(values), dtype=np.bool_)
    begins[1:] = (case[1:] != case[:-1]) | (values[1:] != values[:-1])
    block = np.cumsum(begins)
    return np.asarray(block - block[model.offsets[:-1].clip(max=max(len(block) - 1, 0))][case] + 1.0)


def _normalised(values: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    sums = weighted_counts(case, values, n_cases)[case]
    return np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
