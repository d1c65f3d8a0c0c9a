"""Who is compared with whom: every annotator of a case with every other one, and every model with the same others.

What was said on a case is counted. A cell is a case and one of the different things that were said on it; values are of
pairs of cells of a case, and what follows for an opinion is the sum over all cells, without what its own annotator
said. So a case costs as much as it has different opinions, however many annotators gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from dissensus.aggregations.point_estimates import InverseRank, MeanRating
from dissensus.agreement.coefficients import Matrix, seats_of, sparse
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.evaluation.labels import vote_labels
from dissensus.metrics.base import Drawn, Metric, Predicted
from dissensus.predictions.lists import Predictions, repeated
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

# How many pairs of cells are held at a time, and how many of them are compared at a time.
PAIRS_AT_ONCE, COMPARED_AT_ONCE = 1_000_000, 20_000

# Share of a case below which nobody else said anything on it, up to rounding.
ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Pairs:
    """Hold the opinions that are compared with each other: those on the same case by different annotators.

    Attributes
    ----------
    study
        The opinions that count, on cases with two annotators or more.
    kinds : (n_opinions,)
        Which of the different things each opinion says.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]], [[["a"]]]], ["a", "b"])
    >>> pairs = Pairs.of(said)
    >>> pairs.study.n_cases, len(pairs.cell_case), pairs.others
    (1, 2, array([2., 2., 2.]))
    """

    study: Study
    kinds: IntArray

    @staticmethod
    def of(study: Study) -> Pairs:
        """Pair the opinions of a study; cases with one annotator are left out."""
        said = paired(study)
        return Pairs(said, different_opinions(said))

    @property
    def case(self) -> IntArray:
        """Position of the case of each opinion."""
        return self.study.panel.case_of_opinion

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray, IntArray]:
        n_kinds = int(self.kinds.max(initial=0)) + 1
        keys, first, cell = np.unique(self.case * n_kinds + self.kinds, return_index=True, return_inverse=True)
        return keys // n_kinds, first, cell

    @property
    def cell_case(self) -> IntArray:
        """Position of the case of each cell, ascending, shape (n_cells,)."""
        return self._cells[0]

    @property
    def cell_opinion(self) -> IntArray:
        """Position of one of the opinions of each cell, shape (n_cells,)."""
        return self._cells[1]

    @property
    def cell(self) -> IntArray:
        """The cell of each opinion, shape (n_opinions,)."""
        return self._cells[2]

    def by_cell(self, values: FloatArray) -> FloatArray:
        """Add up values of opinions by cell."""
        return weighted_counts(self.cell, values, len(self.cell_case))

    @cached_property
    def masses(self) -> FloatArray:
        """How much each opinion counts, with all its votes, shape (n_opinions,)."""
        return np.asarray(self.study.weights * self.study.votes)

    @cached_property
    def own(self) -> tuple[IntArray, IntArray]:
        """Pairs of opinions on a case by one annotator, each with itself among them, ascending by the first."""
        order = np.argsort(seats_of(self.study), kind="stable")
        seat = np.empty(len(order), dtype=np.int64)
        _, seat[order], sizes = np.unique(seats_of(self.study)[order], return_inverse=True, return_counts=True)
        offsets, places = take_rows(offsets_from_lengths(sizes), seat)
        return row_of_each(offsets), order[places]

    def without_own(self, by_case: FloatArray, values: FloatArray) -> FloatArray:
        """Take what an annotator said, one vote, off the sum of the case: values (n_own,) of :attr:`own` pairs."""
        return by_case - weighted_counts(self.own[0], values, self.study.n_opinions)

    @cached_property
    def others(self) -> FloatArray:
        """How much all other annotators of the case count, of each opinion; zero where there is nobody else."""
        total = weighted_counts(self.case, self.masses, self.study.n_cases)[self.case]
        found = self.without_own(total, self.study.weights[self.own[1]])
        return np.where(found > ROUNDED * total, found, 0.0)

    def over_others(self, sums: FloatArray) -> FloatArray:
        """Divide sums over the others of each opinion by how much these count; zero where there is nobody else."""
        return np.divide(sums, self.others, out=np.zeros_like(sums), where=self.others > 0)

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each opinion in its case, as the one that agrees; those that have no others have none."""
        own = np.where(self.others > 0, self.masses, 0.0)
        everyone = weighted_counts(self.case, own, self.study.n_cases)
        return np.asarray(own / np.where(everyone > 0, everyone, 1.0)[self.case])

    @cached_property
    def targets(self) -> FloatArray:
        """Share of each opinion in its case, as the one that is agreed with."""
        per_vote = self.over_others(self.shares)
        total = weighted_counts(self.case, per_vote, self.study.n_cases)[self.case]
        return self.masses * self.without_own(total, (per_vote / self.study.votes)[self.own[1]])

    def mean_of_others(self, values: FloatArray) -> FloatArray:
        """Average values of cells (..., n_cells) over the others of each opinion, shape (..., n_opinions)."""
        own, masses, n_cases = self.cell[self.own[1]], self.by_cell(self.masses), self.study.n_cases
        found = [
            self.over_others(
                self.without_own(
                    weighted_counts(self.cell_case, masses * row, n_cases)[self.case],
                    self.study.weights[self.own[1]] * row[own],
                )
            )
            for row in values.reshape(-1, values.shape[-1])
        ]
        return np.array(found).reshape(*values.shape[:-1], len(self.cell))

    def summed(self, values: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Add up values of pairs by opinion.

        Parameters
        ----------
        values
            Given cells of those who agree and of those who are agreed with, returns values (n, n_pairs).

        Returns
        -------
        alone : (n, n_opinions)
            Mean over the others.
        involved : (n, n_opinions)
            Sum of share times value over all pairs, as the one that agrees and as the one that is agreed with.
        """
        study, cell, (one, other) = self.study, self.cell, self.own
        offsets = np.searchsorted(self.cell_case, np.arange(study.n_cases + 1))
        per_vote = self.over_others(self.shares)
        masses, rates = self.by_cell(self.masses), self.by_cell(per_vote)
        block = np.cumsum(np.diff(offsets) ** 2) // PAIRS_AT_ONCE
        limits = np.append(np.flatnonzero(np.diff(block, prepend=-1)), study.n_cases)
        alone, involved = [], []
        for first, last in pairwise(limits):
            start, stop = offsets[[first, last]]
            begins, b = take_rows(offsets, self.cell_case[start:stop])
            a = row_of_each(begins)
            found = values(start + a, b)
            opinions = slice(*study.panel.opinion_offsets[[first, last]].tolist())
            own = slice(*np.searchsorted(one, [opinions.start, opinions.stop]).tolist())
            who, also, n = one[own] - opinions.start, other[own], opinions.stop - opinions.start
            place = cell[opinions] - start
            starts = begins[:-1] - offsets[self.cell_case[start:stop]]
            there, back = starts[cell[one[own]] - start] + cell[also], starts[cell[also] - start] + cell[one[own]]
            weights, rate = study.weights[also], (per_vote / study.votes)[also]
            of_others = np.array(
                [
                    weighted_counts(a, masses[b] * row, stop - start)[place]
                    - weighted_counts(who, weights * row[there], n)
                    for row in found
                ]
            )
            as_target = np.array(
                [
                    weighted_counts(b - start, rates[start + a] * row, stop - start)[place]
                    - weighted_counts(who, rate * row[back], n)
                    for row in found
                ]
            )
            others = self.others[opinions]
            mean = np.divide(of_others, others, out=np.zeros_like(of_others), where=others > 0)
            alone.append(mean)
            involved.append(self.shares[opinions] * mean + self.masses[opinions] * as_target)
        return np.concatenate(alone, axis=1), np.concatenate(involved, axis=1)

    @cached_property
    def labels(self) -> FloatArray:
        """What is said in each cell, shape (n_cells, K): shares of its first choice; of ratings 1, score, square."""
        names = [str(number) for number in range(len(self.cell_opinion))]
        return vote_labels(self.study.each_alone(self.cell_opinion, names), names).means

    def select(self, cases: IntArray) -> tuple[Pairs, IntArray, IntArray]:
        """Keep some cases, ascending; also return the positions of their opinions and cells."""
        is_kept = np.zeros(self.study.n_cases, dtype=np.bool_)
        is_kept[cases] = True
        opinions, cells = np.flatnonzero(is_kept[self.case]), np.flatnonzero(is_kept[self.cell_case])
        return Pairs(self.study.select(cases), self.kinds[opinions]), opinions, cells


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


def different_opinions(study: Study) -> IntArray:
    """Give the different things that were said a number, shape (n_opinions,)."""
    if study.kind == "ratings":
        return np.unique(study.scores, return_inverse=True)[1].astype(np.int64)
    sizes, codes = np.diff(study.code_offsets), study.codes
    if len(codes) == study.n_opinions:  # labels
        return codes.astype(np.int64)
    blocks, mentions = study.block_offsets.tolist(), study.code_offsets.tolist()
    known: dict[tuple[bytes, bytes], int] = {}
    found = np.empty(study.n_opinions, dtype=np.int64)
    for i in range(study.n_opinions):
        start, stop = blocks[i], blocks[i + 1]
        key = (sizes[start:stop].tobytes(), codes[mentions[start] : mentions[stop]].tobytes())
        found[i] = known.setdefault(key, len(known))
    return found


# What pairs are worth -------------------------------------------------------------------------------------


def as_predictions(study: Study, opinions: IntArray, name: str, some: IntArray, names: Sequence[str]) -> Predictions:
    """Take some of the opinions for what a model said, each about a case of its own.

    >>> said = Study.from_rankings([[[["a"], ["b", "c"]], [["b"]]]], ["a", "b", "c"])
    >>> as_predictions(said, np.array([0, 1]), "annotator", np.array([1, 0]), ["x", "y"]).to_lists()
    [[['b']], [['a'], ['b', 'c']]]
    """
    if study.kind == "ratings":
        return Predictions.from_numbers(study.scores[opinions[some]], case_names=names, name=name)
    block_offsets, blocks = take_rows(study.block_offsets, opinions[some])
    code_offsets, mentions = take_rows(study.code_offsets, blocks)
    last = np.repeat(block_offsets[1:], np.diff(block_offsets))
    places = np.repeat(last - np.arange(len(blocks)), np.diff(code_offsets))
    return Predictions(
        name, "ranking", study.conditions, tuple(names), code_offsets[block_offsets], study.codes[mentions], places
    )


def compared(
    metrics: Sequence[Metric], study: Study, opinions: IntArray, said: Callable[[IntArray, Sequence[str]], Predictions]
) -> FloatArray:
    """Compare single opinions, each as a case of its own, with what is ``said`` of them, shape (metrics, n)."""
    spec = MeanRating() if study.kind == "ratings" else InverseRank("each")
    found = []
    for start in range(0, len(opinions), COMPARED_AT_ONCE):
        places = np.arange(start, min(start + COMPARED_AT_ONCE, len(opinions)))
        names = [str(i) for i in range(len(places))]
        own = said(places, names)
        depth = max(1, *(metric.depth_for(own) for metric in metrics))
        for batch in spec.sample(study.each_alone(opinions[places], names), threads=1):
            seen = Drawn(batch.identified(depth), depth)
            predicted = Predicted(own, seen.batch.outline())
            found.append(np.array([metric.values(seen, predicted).mean(axis=-1) for metric in metrics]))
    return np.concatenate(found, axis=-1)


def of_kinds(metrics: Sequence[Metric], pairs: Pairs, called: str, a: IntArray, b: IntArray) -> FloatArray:
    """Compare what is said in cells ``a`` with what is said in cells ``b``, shape (metrics, n); the same only once."""
    said, kind = pairs.study, pairs.kinds[pairs.cell_opinion]
    n_kinds, one_of_kind = int(kind.max()) + 1, np.empty(int(kind.max()) + 1, dtype=np.int64)
    one_of_kind[kind] = pairs.cell_opinion
    keys, place = np.unique(kind[a] * n_kinds + kind[b], return_inverse=True)
    first, second = one_of_kind[keys // n_kinds], one_of_kind[keys % n_kinds]
    return compared(metrics, said, second, partial(as_predictions, said, first, called))[:, place.ravel()]


def of_cells(metrics: Sequence[Metric], pairs: Pairs, model: Predictions) -> FloatArray:
    """Compare a model with what is said in all cells, shape (metrics, n_cells)."""

    def own(some: IntArray, names: Sequence[str]) -> Predictions:
        return repeated(model, pairs.cell_case[some], names)

    return compared(metrics, pairs.study, pairs.cell_opinion, own)


def needs_scores(metric: Metric) -> bool:
    """Tell whether a metric cannot be computed of an annotator, who gives a label, a ranking or a number.

    >>> from dissensus.metrics import AUROC, TopKAccuracy
    >>> needs_scores(AUROC()), needs_scores(TopKAccuracy(1))
    (True, False)
    """
    return not {"ranking", "numbers"} & set(metric.accepts)


def first_shares(model: Predictions, n_conditions: int) -> Matrix:
    """Return how a model shares its first choice among conditions, shape (n_cases, K); sparse."""
    case = model.case_of_entry
    best = np.full(model.n_cases, -np.inf)
    np.maximum.at(best, case, model.values)
    first = model.values == best[case]
    share = 1.0 / np.bincount(case[first], minlength=model.n_cases)[case[first]]
    return sparse(share, case[first], model.codes[first], (model.n_cases, n_conditions))
