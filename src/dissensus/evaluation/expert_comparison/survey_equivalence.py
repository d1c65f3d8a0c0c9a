"""How many experts a model is worth: whose plurality agrees with one more expert as often as the model does.

Exact for votes, by counting all panels of k of a case's annotators without replacement ([resnick]: Resnick and others,
survey equivalence). Where first choices are tied, everybody names one of theirs at random, in several turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from dissensus.agreement.coefficients import Matrix, Table
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.names import case_keys
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.kernels.pluralities import plurality_agreement
from dissensus.kernels.resamples import case_weights
from dissensus.study.study import Study

# In how many turns tied first choices are broken.
TURNS = 32

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
    _known: dict[tuple[str, int], FloatArray] = field(default_factory=dict, repr=False)  # for all models that ask

    @cached_property
    def grid(self) -> list[int]:
        """The sizes of panels that enough cases allow, ascending."""
        known = sorted(self.study.votes_per_case.tolist(), reverse=True)
        most = known[LEAST_CASES - 1] - 1 if len(known) >= LEAST_CASES else 0
        return [k for k in (*range(1, 11), *LARGE) if k <= most]

    def agreement(self, k: int) -> FloatArray:
        """Return the agreement of panels of k on each case, shape (n_cases,); nan where there are too few."""
        if ("agreement", k) not in self._known:
            found, able = np.full(self.study.n_cases, np.nan), np.flatnonzero(self.study.votes_per_case > k)
            is_rated = self.study.kind == "ratings"
            found[able] = -(1 + 1 / k) * self._spread[1][able] if is_rated else self._counted(able, k)
            self._known["agreement", k] = found
        return self._known["agreement", k]

    def moves(self, k: int) -> FloatArray:
        """Return how far the agreement of panels of k falls without each opinion, shape (n_opinions,).

        Where too few remain for a panel and one more, it is that of the largest panel possible; zero where only two
        annotators gave an opinion.
        """
        if ("moves", k) in self._known:
            return self._known["moves", k]
        said, case = self.study, self.study.panel.case_of_opinion
        n, found = self.study.votes_per_case[case], np.zeros(said.n_opinions)
        size = np.minimum(k, n - 2)
        if said.kind == "ratings":
            means, variances = (of[case] for of in self._spread)
            own = np.square(said.scores - means) * n / np.maximum(n - 1, 1)
            without = ((n - 1) * variances - own) / np.maximum(n - 2, 1)
            found = np.where(n > 2, -(1 + 1 / k) * (variances - without), 0.0)
        else:
            for panel in np.unique(size[size > 0]).tolist():
                chosen = np.flatnonzero(size == panel)
                found[chosen] = self._counted(case[chosen], panel) - self._counted(case[chosen], panel, chosen)
        self._known["moves", k] = found
        return found

    @cached_property
    def _spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean rating of each case, and the variance of its ratings."""
        said, case, votes = self.study, self.study.panel.case_of_opinion, self.study.votes.astype(np.float64)
        means = weighted_counts(case, votes * said.scores, said.n_cases) / np.maximum(self.study.votes_per_case, 1)
        squares = weighted_counts(case, votes * np.square(said.scores - means[case]), said.n_cases)
        return means, squares / np.maximum(self.study.votes_per_case - 1, 1)

    @cached_property
    def choices(self) -> Matrix:
        """How each opinion shares its first choice among conditions, shape (n_opinions, K); sparse."""
        table = Table.of(self.study)
        return table.shares[table.kind]

    @cached_property
    def _votes(self) -> tuple[IntArray, list[IntArray], list[IntArray]]:
        """Where the different first choices of each case stand, their votes in every turn, and who names which one."""
        said, case = self.study, self.study.panel.case_of_opinion
        offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
        codes = said.codes[mentions]  # of the conditions that each opinion names first
        opinion, sizes = row_of_each(offsets), np.diff(offsets)
        keys, place = np.unique(case[opinion] * said.n_conditions + codes, return_inverse=True)
        starts = np.searchsorted(keys, np.arange(said.n_cases + 1) * said.n_conditions)
        if (sizes == 1).all():
            luck = np.zeros((said.n_opinions, 1))
        else:  # of the case and the place of the opinion on it, whatever the order of cases
            number = (np.arange(said.n_opinions) - said.panel.opinion_offsets[case]).astype(np.uint64)
            seats = case_keys(said.case_names)[case] ^ (number << np.uint64(32))
            luck = np.exp(-case_weights(np.uint64(0), seats, TURNS))
        of_turns, named = [], []
        position = np.arange(len(codes)) - offsets[opinion]
        whole, left = np.divmod(said.votes, sizes)
        for turn in luck.T:
            first = np.minimum((turn * sizes).astype(np.int64), sizes - 1)
            votes = whole[opinion] + ((position - first[opinion]) % sizes[opinion] < left[opinion])
            of_turns.append(weighted_counts(place, votes.astype(np.float64), len(keys)).astype(np.int64))
            named.append(place[offsets[:-1] + first])
        return starts, of_turns, named

    def _counted(self, cases: IntArray, k: int, without: IntArray | None = None) -> FloatArray:
        """Return the agreement of panels of k on some cases, the mean over turns; each without an opinion, if wanted.

        What cases and turns have in common, so many different first choices, is counted together.
        """
        starts, of_turns, named = self._votes
        n_turns, (n_places,), case_of = len(of_turns), of_turns[0].shape, row_of_each(starts)
        turn, own, left = np.repeat(np.arange(n_turns), len(cases)), np.tile(cases, n_turns), np.full(1, -1)
        back = np.arange(len(own))
        if without is not None:
            left = (np.stack(named)[:, without] + n_places * np.arange(n_turns)[:, None]).ravel()
            left, back = np.unique(left, return_inverse=True)
            turn, left = np.divmod(left, n_places)
            own = case_of[left]
        left, votes, sizes = np.broadcast_to(left, len(own)), np.stack(of_turns), np.diff(starts)[own]
        values = np.empty(len(own))
        for m in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == m)
            places = starts[own[rows], None] + np.arange(m)
            values[rows] = plurality_agreement(votes[turn[rows, None], places] - (places == left[rows, None]), k)
        return np.asarray(values[back].reshape(n_turns, -1).sum(axis=0) / n_turns)


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
