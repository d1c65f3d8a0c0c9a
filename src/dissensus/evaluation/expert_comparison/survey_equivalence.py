"""How many experts a model is worth: whose plurality agrees with one more expert as often as the model does.

Exact for votes, by counting all panels of k of a case's annotators without replacement ([resnick]: Resnick and others,
survey equivalence). Where first choices are tied, and for numbers, the panels are seeded samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dissensus.agreement.coefficients import Table
from dissensus.agreement.overlap import Matrix
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.names import case_keys
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.study import Study


def plurality_agreement(counts: IntArray, k: int) -> FloatArray:
    """Return how often the plurality of k annotators agrees with one more of the same case, exactly.

    All panels of k of the annotators of a case, and all annotators who are left, are equally likely; ties are broken
    evenly. The winner has j votes and nobody has more: votes are independent binomial counts, given that they add up
    to k. With more than half of the panel nobody else can win; otherwise a panel is a product of polynomials whose
    powers are votes. A tie of t + 1 counts 1 / (t + 1), which is the integral of z^t from 0 to 1; Gauss-Legendre nodes
    give it without error, and no more than k / j can tie.

    Parameters
    ----------
    counts : (n_cases, m)
        Votes of each condition that anybody mentioned, more than k on every case.

    Examples
    --------
    >>> plurality_agreement(np.array([[2, 1]]), 1)
    array([0.33333333])
    """
    from scipy.stats import binom

    counts = -np.sort(-np.asarray(counts, dtype=np.int64), axis=1)
    patterns, of_case = np.unique(counts, axis=0, return_inverse=True)
    found, sizes = np.empty(len(patterns)), (patterns > 0).sum(axis=1)
    for m in np.unique(sizes).tolist():
        own = patterns[sizes == m, :m]
        total = own.sum(axis=1)
        p, votes = (k / total)[:, None, None], np.arange(k + 1)
        chances = np.asarray(binom.pmf(votes, own[..., None], p))
        most = slice(k // 2 + 1, None)  # nobody else can have as many
        others = binom.pmf(k - votes[most], (total[:, None] - own)[..., None], p)
        wins = (chances[..., most] * (own[..., None] - votes[most]) * others).sum(axis=(1, 2))
        for j in range(-(-k // m), k // 2 + 1):
            nodes, weights = np.polynomial.legendre.leggauss((min(m, k // j) + 1) // 2)
            wins += sum(w / 2 * _winning(own, chances, j, (z + 1) / 2) for z, w in zip(nodes, weights, strict=True))
        found[sizes == m] = wins / (binom.pmf(k, total, k / total) * (total - k))
    return np.asarray(found[of_case.ravel()])


def _winning(patterns: IntArray, chances: FloatArray, j: int, z: float) -> FloatArray:
    """Add up, over who wins with j votes, the chance of the panel times the votes that are left for the winner.

    Parameters
    ----------
    patterns, chances : (n_patterns, m), (n_patterns, m, k + 1)
        Votes of each condition, the most first, and the chance that so many of them are in the panel.
    j, z
        Votes of the winner, and what a tied condition counts.
    """
    (n_patterns, m), k = patterns.shape, chances.shape[2] - 1
    nobody, somebody = np.zeros((n_patterns, k + 1)), np.zeros((n_patterns, k + 1))
    nobody[:, 0] = 1.0
    for condition in range(m):
        own, degree = chances[:, condition, : j + 1].copy(), min(j, int(patterns[:, condition].max()))
        wins = own[:, j] * (patterns[:, condition] - j)
        own[:, j] *= z
        somebody = _product(somebody, own, degree)
        somebody[:, j:] += nobody[:, : k + 1 - j] * wins[:, None]
        nobody = _product(nobody, own, degree)
    return np.asarray(somebody[:, k])


def _product(one: FloatArray, other: FloatArray, degree: int) -> FloatArray:
    """Multiply polynomials row by row, up to the length of the first; the second has at most a degree."""
    found = one * other[:, :1]
    for power in range(1, degree + 1):
        found[:, power:] += one[:, :-power] * other[:, power, None]
    return np.asarray(found)


# How many times the annotators of a case are put in a random order, where panels cannot be counted.
ORDERS = 200

# Sizes of panels that are looked at, beyond those that follow one another.
LARGE = (12, 15, 20, 25, 30, 40, 50)

# So many cases must have one annotator more than a panel has.
LEAST_CASES = 10

# Agreements that differ by less are the same: two annotators are worth one, because ties are broken evenly.
SAME = 1e-9


@dataclass(frozen=True)
class Worth:
    """Say how many annotators a model is worth.

    Attributes
    ----------
    value, low, high
        The size of the panel whose plurality agrees with one more annotator as the model does, and its interval; zero
        stands for less than one, infinity for more than :attr:`most`.
    most
        The largest panel that could be looked at.

    Examples
    --------
    >>> print(Worth(2.5, 0.0, math.inf, 9))
    2.5 [<1, >9]
    """

    value: float
    low: float
    high: float
    most: int

    def __str__(self) -> str:
        value, low, high = (
            "<1" if one < 1 else f">{self.most}" if math.isinf(one) else f"{one:.1f}".removesuffix(".0")
            for one in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True, eq=False)
class Panels:
    """Hold how well panels of annotators agree with one more of the same case.

    Of labels, agreement is the chance that the plurality names what the other one names first; of ratings, minus the
    squared distance of the mean.

    Attributes
    ----------
    study
        The opinions that count.

    Examples
    --------
    >>> said = Study.from_counts([[2, 1, 0], [1, 1, 1]], ["a", "b", "c"])
    >>> Panels(said).agreement(1).round(3), Panels(said).agreement(3)
    (array([0.333, 0.   ]), array([nan, nan]))
    """

    study: Study

    @cached_property
    def sizes(self) -> IntArray:
        """How many annotators gave an opinion on each case."""
        return np.asarray(self.study.votes_per_case)

    @cached_property
    def grid(self) -> list[int]:
        """The sizes of panels that enough cases allow, ascending."""
        known = sorted(self.sizes.tolist(), reverse=True)
        most = known[LEAST_CASES - 1] - 1 if len(known) >= LEAST_CASES else 0
        return [k for k in (*range(1, 11), *LARGE) if k <= most]

    @cached_property
    def _known(self) -> dict[tuple[str, int], FloatArray]:
        return {}

    def agreement(self, k: int) -> FloatArray:
        """Return the agreement of panels of k on each case, shape (n_cases,); nan where there are too few."""
        if ("agreement", k) not in self._known:  # all models are compared with the same panels
            self._known["agreement", k] = self._agreement(k)
        return self._known["agreement", k]

    def moves(self, k: int) -> FloatArray:
        """Return how far the agreement of panels of k falls without each opinion, shape (n_opinions,).

        Where too few remain for a panel and one more, it is that of the largest panel possible; zero where only two
        annotators gave an opinion.
        """
        if ("moves", k) not in self._known:
            self._known["moves", k] = self._moves(k)
        return self._known["moves", k]

    def _agreement(self, k: int) -> FloatArray:
        found, able = np.full(self.study.n_cases, np.nan), self.sizes > k
        if self.study.kind == "ratings":
            found[able] = -(1 + 1 / k) * self._variances[able]
            return found
        whole = able & self._is_whole
        if whole.any():
            counts = self._table.by_value[np.flatnonzero(whole)]
            found[whole] = plurality_agreement(_packed(counts), k)
        for case in np.flatnonzero(able & ~whole).tolist():
            found[case] = self._in_orders(case)[0][k - 1]
        return found

    def _moves(self, k: int) -> FloatArray:
        said, case = self.study, self.study.panel.case_of_opinion
        n, found = self.sizes[case], np.zeros(said.n_opinions)
        if said.kind == "ratings":
            own = np.square(said.scores - self._means[case]) * n / np.maximum(n - 1, 1)
            without = ((n - 1) * self._variances[case] - own) / np.maximum(n - 2, 1)
            return np.where(n > 2, -(1 + 1 / k) * (self._variances[case] - without), 0.0)
        size = np.minimum(k, n - 2)
        for panel in np.unique(size[size > 0]).tolist():
            chosen = np.flatnonzero((size == panel) & self._is_whole[case])
            if len(chosen):
                rest = self._table.by_value[case[chosen]] - self.choices[chosen]
                found[chosen] = self.agreement(panel)[case[chosen]] - plurality_agreement(_packed(rest), panel)
        for one in np.flatnonzero((self.sizes > 2) & ~self._is_whole).tolist():
            start, stop = said.panel.opinion_offsets[one : one + 2].tolist()
            found[start:stop] = self._in_orders(one)[1][size[start] - 1]
        return found

    @cached_property
    def _means(self) -> FloatArray:
        """Mean rating of each case."""
        said = self.study
        total = weighted_counts(said.panel.case_of_opinion, said.votes * said.scores, said.n_cases)
        return np.asarray(total / np.maximum(self.sizes, 1))

    @cached_property
    def _variances(self) -> FloatArray:
        said, case = self.study, self.study.panel.case_of_opinion
        away = np.square(said.scores - self._means[case], dtype=np.float64)
        squares = weighted_counts(case, said.votes.astype(np.float64) * away, said.n_cases)
        return np.asarray(squares / np.maximum(self.sizes - 1, 1))

    @cached_property
    def _is_whole(self) -> BoolArray:
        """Whether nobody's first choice on a case is tied."""
        first = np.diff(self.study.code_offsets)[self.study.block_offsets[:-1]]
        case = self.study.panel.case_of_opinion[first > 1]
        return np.asarray(np.bincount(case, minlength=self.study.n_cases) == 0)

    @cached_property
    def _known_orders(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        return {}

    def _in_orders(self, case: int) -> tuple[FloatArray, FloatArray]:
        """Return the agreement of panels of every size on one case, and how far it falls without each opinion.

        Annotators come in random orders, opinion by opinion without replacement, however many votes stand behind one.
        """
        if case not in self._known_orders:
            said, choices = self.study, self.choices
            own = slice(*said.panel.opinion_offsets[case : case + 2].tolist())
            votes, offsets = said.votes[own], choices.indptr[own.start : own.stop + 1]
            known, code = np.unique(choices.indices[offsets[0] : offsets[-1]], return_inverse=True)
            shares = np.zeros((len(votes), len(known)))
            shares[row_of_each(offsets - offsets[0]), code] = choices.data[offsets[0] : offsets[-1]]
            n, most = int(votes.sum()), min(int(votes.sum()) - 1, self.grid[-1])
            rng = np.random.default_rng(case_keys([said.case_names[case]]).tolist())
            left, taken = np.tile(votes, (ORDERS, 1)), np.zeros((ORDERS, most, len(votes)))
            for step in range(most):
                seat = rng.integers(n - step, size=ORDERS)
                one = (np.cumsum(left, axis=1) <= seat[:, None]).sum(axis=1)
                left[np.arange(ORDERS), one] -= 1
                taken[:, step:, :][np.arange(ORDERS), :, one] += 1
            sums, rest = taken @ shares, np.arange(n - 1, n - 1 - most, -1)
            is_top = sums >= sums.max(axis=2, keepdims=True) - SAME
            top = is_top / is_top.sum(axis=2, keepdims=True)
            agreed = (top * (votes @ shares - sums)).sum(axis=2)
            out = taken < votes
            without = np.where(out, agreed[..., None] - top @ shares.T, 0.0).sum(axis=0)
            of_others = out.sum(axis=0) * np.maximum(rest - 1, 1)[:, None]
            mean = (agreed / rest).mean(axis=0)
            moved = np.where(of_others > 0, mean[:, None] - without / np.maximum(of_others, 1), 0.0)
            self._known_orders[case] = mean, moved
        return self._known_orders[case]

    @cached_property
    def choices(self) -> Matrix:
        """How each opinion shares its first choice among conditions, shape (n_opinions, K); sparse."""
        return self._table.shares[self._table.kind]

    @cached_property
    def _table(self) -> Table:
        return Table.of(self.study)


def _packed(votes: Matrix) -> IntArray:
    """Return the votes of the conditions that each case has any of, shape (n_cases, m), with zeros behind them."""
    sizes = np.diff(votes.indptr)
    found = np.zeros((votes.shape[0], int(sizes.max())), dtype=np.int64)
    row = np.repeat(np.arange(len(sizes)), sizes)
    found[row, np.arange(len(votes.data)) - votes.indptr[row]] = np.rint(votes.data)
    return found


def worth_of(panels: Panels, compare: Callable[[int], tuple[float, ...]]) -> Worth:
    """Find the size of the panel that agrees with one more annotator as the model does, and its interval.

    At every size the two are compared on the cases that have one annotator more; where the difference first falls below
    zero, between sizes that differ in agreement, it is interpolated, and so are the limits of its interval.

    Parameters
    ----------
    panels
        Agreement of panels.
    compare
        Returns the mean difference, model minus panel of a size, and the limits of its interval.
    """
    curves: list[tuple[int, float, float, float]] = []
    before: FloatArray | None = None
    for k in panels.grid:
        of_panel = panels.agreement(k)
        able = ~np.isnan(of_panel)
        if before is None or np.abs(of_panel[able] - before[able]).max() >= SAME:
            mean, low, high = compare(k)[:3]
            curves.append((k, mean, low, high))
        before = of_panel
        if curves[-1][3] < 0:
            break
    value, low, high = (_crossing([(row[0], row[i]) for row in curves]) for i in (1, 2, 3))
    return Worth(value, low, high, panels.grid[-1] if panels.grid else 0)


def _crossing(points: Sequence[tuple[int, float]]) -> float:
    """Return where a curve first falls below zero: zero if it starts there, infinity if it never does.

    >>> _crossing([(1, 0.1), (3, -0.1)]), _crossing([(1, -0.1)]), _crossing([(1, 0.1)])
    (2.0, 0.0, inf)
    """
    if not points or points[0][1] < 0:
        return 0.0
    for (k, above), (larger, below) in pairwise(points):
        if below < 0:
            return k + (larger - k) * above / (above - below)
    return math.inf
