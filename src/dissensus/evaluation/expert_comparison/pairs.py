"""Who is compared with whom: every annotator of a case with every other one, and every model with the same others.

Metrics of single cases have a value for every ordered pair of opinions, the first as if a model had said it and the
second as the label. Metrics of a whole data set are functions of pooled masses; their slopes give every pair a value
whose weighted mean is the metric, so that means, intervals and annotators who are left out are found alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dissensus.aggregations.point_estimates import InverseRank, MeanRating
from dissensus.agreement.coefficients import seats_of
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.evaluation.labels import vote_labels
from dissensus.metrics.base import Drawn, Metric, Predicted
from dissensus.metrics.data_set import DataSetMetric, Said, first_shares
from dissensus.predictions.alignment import repeated
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

# How many pairs are compared at a time.
PAIRS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """Hold the ordered pairs of opinions on the same case by different annotators.

    Attributes
    ----------
    study
        The opinions that count, on cases with two annotators or more.
    predictor, target : (n_pairs,)
        Positions of opinions: whose agreement is measured, and with whom.
    votes : (n_pairs,)
        How much the target counts, without whoever is the predictor.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]], [[["a"]]]], ["a", "b"])
    >>> pairs = Pairs.of(said)
    >>> len(pairs.case), pairs.study.n_cases, pairs.shares().sum().round(9)
    (6, 1, np.float64(1.0))
    """

    study: Study
    predictor: IntArray
    target: IntArray
    votes: FloatArray

    @staticmethod
    def of(study: Study) -> Pairs:
        """Pair the opinions of a study; cases with one annotator are left out."""
        said = paired(study)
        seats, case = seats_of(said), said.panel.case_of_opinion
        offsets, target = take_rows(said.panel.opinion_offsets, case)
        predictor = row_of_each(offsets)
        is_own = predictor == target
        votes = said.weights[target] * (said.votes[target] - is_own)
        kept = ((seats[predictor] != seats[target]) | is_own) & (votes > 0)
        return Pairs(said, predictor[kept], target[kept], votes[kept])

    @cached_property
    def case(self) -> IntArray:
        """Position of the case of each pair."""
        return np.asarray(self.study.panel.case_of_opinion[self.predictor])

    def part(self, kept: BoolArray | IntArray) -> tuple[Pairs, IntArray, IntArray]:
        """Keep some pairs, with the cases that have any and all opinions on them; return the positions of both too."""
        cases, place = np.unique(self.case[kept]), np.full(self.study.n_opinions, -1)
        opinions = np.flatnonzero(np.isin(self.study.panel.case_of_opinion, cases))
        place[opinions] = np.arange(len(opinions))
        found = Pairs(self.study.select(cases), place[self.predictor[kept]], place[self.target[kept]], self.votes[kept])
        return found, cases, opinions

    def shares(self) -> FloatArray:
        """Return the share of each pair in its case, shape (n_pairs,): predictors alike, and each with its others."""
        said = self.study
        others = weighted_counts(self.predictor, self.votes, said.n_opinions)
        own = np.where(others > 0, said.weights * said.votes, 0.0)
        everyone = weighted_counts(said.panel.case_of_opinion, own, said.n_cases)
        scale = np.divide(own, others, out=np.zeros_like(own), where=others > 0)
        return np.asarray(self.votes * scale[self.predictor] / np.where(everyone > 0, everyone, 1.0)[self.case])

    def involved(self, values: FloatArray) -> FloatArray:
        """Add up values of pairs by opinion, as the one that agrees and as the one that is agreed with."""
        n = self.study.n_opinions
        return weighted_counts(self.predictor, values, n) + weighted_counts(self.target, values, n)

    def by_case(self, values: FloatArray, shares: FloatArray) -> FloatArray:
        """Average values (..., n_pairs) over the pairs of each case, shape (..., n_cases)."""
        flat = values.reshape(-1, values.shape[-1])
        found = np.array([weighted_counts(self.case, shares * row, self.study.n_cases) for row in flat])
        return found.reshape(*values.shape[:-1], self.study.n_cases)


def paired(study: Study) -> Study:
    """Return the opinions that count, on the cases with two annotators or more.

    >>> paired(Study.from_rankings([[[["a"]], [["b"]]], [[["a"]]]], ["a", "b"], case_names=["x", "y"])).case_names
    ('x',)
    """
    said = study.counted
    case = said.panel.case_of_opinion
    first = np.full(said.n_cases, -1)
    seats = seats_of(said)
    first[case[::-1]] = seats[::-1]
    unlike = (seats != first[case]) | ((said.annotators == ANONYMOUS) & (said.votes > 1))
    return said.select(np.bincount(case[unlike], minlength=said.n_cases) > 0)


# What pairs are worth -------------------------------------------------------------------------------------


def as_predictions(study: Study, opinions: IntArray, names: Sequence[str], name: str) -> Predictions:
    """Take opinions for what a model said, each about a case of its own.

    >>> said = Study.from_rankings([[[["a"], ["b", "c"]], [["b"]]]], ["a", "b", "c"])
    >>> as_predictions(said, np.array([0, 1]), ["first", "second"], "annotator").to_lists()
    [[['a'], ['b', 'c']], [['b']]]
    """
    if study.kind == "ratings":
        return Predictions.from_numbers(study.scores[opinions], case_names=names, name=name)
    block_offsets, blocks = take_rows(study.block_offsets, opinions)
    code_offsets, mentions = take_rows(study.code_offsets, blocks)
    last = np.repeat(block_offsets[1:], np.diff(block_offsets))
    places = np.repeat(last - np.arange(len(blocks)), np.diff(code_offsets))
    return Predictions(
        name, "ranking", study.conditions, tuple(names), code_offsets[block_offsets], study.codes[mentions], places
    )


def compared(metrics: Sequence[Metric], opinions: Study, said: Predictions) -> FloatArray:
    """Compare single opinions, each a case, with predictions of the same cases, shape (metrics, n_cases)."""
    spec = MeanRating() if opinions.kind == "ratings" else InverseRank("each")
    depth = max(1, *(metric.depth_for(said) for metric in metrics))
    found = []
    for batch in spec.sample(opinions, threads=1):
        seen = Drawn(batch.identified(depth), depth)
        predicted = Predicted(said, seen.batch.outline())
        found.append(np.array([metric.values(seen, predicted).mean(axis=-1) for metric in metrics]))
    return np.concatenate(found, axis=-1)


def values_of_cases(
    metrics: Sequence[Metric], pairs: Pairs, models: Mapping[str, Predictions], called: str
) -> tuple[FloatArray, FloatArray]:
    """Compare opinions with opinions, and models with opinions, by metrics of single cases.

    Metrics that need scores are nan for opinions.

    Returns
    -------
    of_pairs : (metrics, n_pairs)
    of_models : (models, metrics, n_opinions)
    """
    said, n_opinions = pairs.study, pairs.study.n_opinions
    kinds = different_opinions(said)
    keys, place = np.unique(kinds[pairs.predictor] * n_opinions + kinds[pairs.target], return_inverse=True)
    one_of_kind = np.unique(kinds, return_index=True)[1]
    of_pairs, own_metrics = np.full((len(metrics), len(keys)), np.nan), [not needs_scores(one) for one in metrics]
    known = [metric for metric in metrics if not needs_scores(metric)]
    of_models = np.empty((len(models), len(metrics), n_opinions))
    for start in range(0, len(keys) if known else 0, PAIRS_AT_ONCE):
        first, second = np.divmod(keys[start : start + PAIRS_AT_ONCE], n_opinions)
        names = [str(i) for i in range(len(first))]
        own = as_predictions(said, one_of_kind[first], names, called)
        alone = said.each_alone(one_of_kind[second], names)
        of_pairs[own_metrics, start : start + len(first)] = compared(known, alone, own)
    for start in range(0, n_opinions, PAIRS_AT_ONCE):
        chosen = np.arange(start, min(start + PAIRS_AT_ONCE, n_opinions))
        names = [str(i) for i in range(len(chosen))]
        alone, case = said.each_alone(chosen, names), said.panel.case_of_opinion[chosen]
        for place_of_model, model in enumerate(models.values()):
            of_models[place_of_model, :, chosen] = compared(metrics, alone, repeated(model, case, names)).T
    return of_pairs[:, place.ravel()], of_models


def needs_scores(metric: Metric) -> bool:
    """Tell whether a metric cannot be computed of an annotator, who gives a label, a ranking or a number.

    >>> from dissensus.metrics import AUROC, TopKAccuracy
    >>> needs_scores(AUROC()), needs_scores(TopKAccuracy(1))
    (True, False)
    """
    return not {"ranking", "numbers"} & set(metric.accepts)


def different_opinions(study: Study) -> IntArray:
    """Give the different things that were said a number, shape (n_opinions,)."""
    if study.kind == "ratings":
        return np.unique(study.scores, return_inverse=True)[1].astype(np.int64)
    blocks, mentions = study.block_offsets.tolist(), study.code_offsets.tolist()
    known: dict[tuple[bytes, bytes], int] = {}
    found = np.empty(study.n_opinions, dtype=np.int64)
    sizes, codes = np.diff(study.code_offsets), study.codes
    for i in range(study.n_opinions):
        start, stop = blocks[i], blocks[i + 1]
        key = (sizes[start:stop].tobytes(), codes[mentions[start] : mentions[stop]].tobytes())
        found[i] = known.setdefault(key, len(known))
    return found


@dataclass(frozen=True, eq=False)
class Pooled:
    """Hold what metrics of a whole data set see of the pairs.

    Attributes
    ----------
    pairs
        Who is compared with whom.
    weights : (n_cases,)
        How much each case counts.
    findings : (n_cases,)
        Which finding each case is about, from 0.
    items : (n_cases,)
        Which case it belongs to.
    """

    pairs: Pairs
    weights: FloatArray
    findings: IntArray
    items: IntArray

    @cached_property
    def labels(self) -> FloatArray:
        """What each opinion says, shape (n_opinions, K): shares of its first choice; of ratings 1, score, square."""
        said = self.pairs.study
        names = [str(number) for number in range(said.n_opinions)]
        return vote_labels(said.each_alone(np.arange(said.n_opinions), names), names).means

    def of_pairs(self, metric: DataSetMetric, shares: FloatArray) -> FloatArray:
        """Return the value of every pair, shape (n_pairs,), whose mean by shares is the metric pooled over pairs."""
        if metric.parameters().get("threshold") is not None:  # what an annotator says is a decision
            metric = type(metric).from_parameters({**metric.parameters(), "threshold": None})
        said, pairs = self.pairs.study, self.pairs
        scores = said.scores[:, None] if said.kind == "ratings" else self.labels
        return self._linear(metric, scores, said.panel.case_of_opinion, pairs.predictor, pairs.target, shares)

    def of_model(self, metric: DataSetMetric, model: Predictions, shares: FloatArray) -> FloatArray:
        """Return the value of every opinion, shape (n_opinions,), whose mean is the metric of a model."""
        said = self.pairs.study
        mass, everyone = weighted_counts(self.pairs.target, shares, said.n_opinions), np.arange(said.n_opinions)
        case = said.panel.case_of_opinion
        return self._linear(metric, model.to_scores(), np.arange(said.n_cases), case, everyone, mass)

    def _linear(
        self,
        metric: DataSetMetric,
        scores: FloatArray,
        case: IntArray,
        who: IntArray,
        target: IntArray,
        shares: FloatArray,
    ) -> FloatArray:
        """Return values whose mean by shares is the metric, by its slopes.

        Parameters
        ----------
        scores, case : (n_rows, K), (n_rows,)
            What every row says, and the case that it is about.
        who, target, shares : (n,)
            The row and the opinion that are compared, and their share in the case.
        """
        mass = weighted_counts(who, shares, len(scores))
        rows = np.flatnonzero(mass > 0)
        known = mass[who] > 0
        own = np.searchsorted(rows, who[known])
        labels, parts = self.labels[target[known]], shares[known] / mass[who[known]]
        masses = np.array([weighted_counts(own, parts * column, len(rows)) for column in labels.T])
        about, is_binary = case[rows], self.pairs.study.question == "binary"
        weights, picks = self.weights[about] * mass[rows], first_shares(scores[rows])
        said = Said(scores[rows], picks, weights, is_binary, self.findings[about], self.items[about])
        slopes = metric.slopes(said, masses)
        found = np.full(len(shares), float(metric.of_draws(said, masses[None])[0]))
        found[known] += weights.sum() * np.einsum("pk,kp->p", labels, slopes[:, own])
        return found
