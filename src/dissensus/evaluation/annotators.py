"""Annotators are a sample too: leave groups of them out in turn, and see how far the means over cases move.

With the mean m_i of case i, let m_ig be what it is without group g. Around the mean of a case's own m_ig, weighted by
the opinions that remain, these deviations add up over the cases that g read to one effect per group. The sum of their
squares, minus what independent cases would give by chance, is the variance that comes from the choice of annotators.
Its scale follows from the design, who read which case with whom: it is the one that makes the answer right where
opinions are sums of a case, an annotator and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.ragged import weighted_counts
from dissensus.core.value import Value
from dissensus.evaluation.folds import Fold, by_name, grouped, weight_of_cases
from dissensus.evaluation.intervals import Part
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

# Whether other annotators might have been asked, or these are the ones.
AnnotatorsAre: TypeAlias = Literal["sample", "fixed"]

# Of more cases, this many are evaluated without some annotators.
MOST_CASES = 5000

# Annotators count as a sample by default if at least so many share so many cases with another one.
LEAST_ANNOTATORS, LEAST_COMMON = 3, 10

# How many vectors probe the design; as many as there are annotators are exact.
MOST_PROBES = 64

# Stands in for nothing where it would be divided by.
LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class AnnotatorSpread(Value):
    """How far means over cases move when annotators are left out.

    Attributes
    ----------
    effects : (n_groups, models, metrics)
        What each group of annotators moves.
    noise : (models, models, metrics)
        Sum over groups of the products of effects that chance alone would give.
    scale
        Factor from the squares of effects to a variance.
    n_annotators
        How many annotators there are.
    """

    effects: FloatArray
    noise: FloatArray
    scale: float
    n_annotators: int

    def of_models(self) -> Part:
        """Return the variance of the mean of every model, shape (models, metrics)."""
        return self._part(np.square(self.effects).sum(axis=0), np.einsum("aak->ak", self.noise))

    def of_difference(self, first: int, second: int) -> Part:
        """Return the variance of the difference of two models, shape (metrics,)."""
        effects = self.effects[:, first] - self.effects[:, second]
        noise = self.noise[first, first] + self.noise[second, second] - 2 * self.noise[first, second]
        return self._part(np.square(effects).sum(axis=0), noise)

    def _part(self, squares: FloatArray, noise: FloatArray) -> Part:
        before = self.scale * squares
        return Part(np.maximum(before - self.scale * noise, 0.0), before, len(self.effects) - 1)


def are_crossed(study: Study) -> bool:
    """Tell whether at least three annotators, or groups of them, read at least ten cases that another one read too.

    >>> are_crossed(Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"]))
    False
    """
    return int((shared_cases(study) >= LEAST_COMMON).sum()) >= LEAST_ANNOTATORS


def shared_cases(study: Study) -> IntArray:
    """Count the cases that each annotator, or group of them, shares with another one, shape (n_units,)."""
    said = study.counted
    units, n_units = said.panel.units, max(len(said.annotator_names), 1)
    pairs = np.unique((said.panel.case_of_opinion * n_units + units)[units != ANONYMOUS])
    case, unit = np.divmod(pairs, n_units)
    readers = np.bincount(case, minlength=said.n_cases)
    return np.bincount(unit[readers[case] > 1], minlength=n_units)


@dataclass(frozen=True, eq=False)
class Design:
    """Who read which case, and who is left out together.

    A group is left out of a case if somebody remains, and if another group can be left out as well: these are pairs.

    Attributes
    ----------
    study
        The opinions that count, on the cases that are evaluated without some annotators: those with the smallest keys,
        in their order, whatever the order of the cases was.
    group_of : (n_annotators,)
        The group of each annotator.
    group, case : (n_pairs,)
        The group that is left out, and the case that it is left out of, ascending by group and case.
    remaining : (n_pairs,)
        Weight of those who remain.
    pair_of_opinion : (n_opinions,)
        The pair that leaves each opinion out, -1 where none does.
    """

    study: Study
    group_of: IntArray
    group: IntArray
    case: IntArray
    remaining: FloatArray
    pair_of_opinion: IntArray

    @staticmethod
    def of(study: Study) -> Design:
        """Put annotators into groups and choose the cases."""
        said = study.counted
        said = by_name(said.select(in_order_of_keys(said.case_names)[:MOST_CASES]))
        group_of, n_cases = grouped(said), said.n_cases
        named = np.flatnonzero(said.annotators != ANONYMOUS)
        keys = group_of[said.annotators[named]] * n_cases + said.panel.case_of_opinion[named]
        keys, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        case = keys % n_cases
        remains = counts < said.panel.votes_per_case[case]
        kept = remains & (np.bincount(case[remains], minlength=n_cases)[case] > 1)
        remaining = weight_of_cases(said)[case] - weighted_counts(place, said.weights[named], len(keys))
        pair = np.full(said.n_opinions, -1, dtype=np.int64)
        pair[named] = np.where(kept, np.cumsum(kept) - 1, -1)[place]
        return Design(said, group_of, keys[kept] // n_cases, case[kept], remaining[kept], pair)

    @property
    def n_groups(self) -> int:
        """Number of groups that are left out."""
        return int(self.group_of.max(initial=-1)) + 1

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each case in the mean over cases, shape (n_cases,)."""
        return np.asarray(self.study.case_weights / self.study.case_weights.sum())

    def fold(self, group: int) -> Fold:
        """Leave a group out, of all that it said; the cases are those of which somebody remains."""
        is_own = np.append(self.group_of, ANONYMOUS)[self.study.annotators] == group
        return Fold(self.study, np.where(is_own, 0, self.study.votes), self.case[self.group == group])

    def effects(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up the deviations of means (columns, n_pairs) from those of their case.

        Returns
        -------
        effects : (n_groups, columns)
            Sums over the cases of each group.
        alone : (columns, n_pairs)
            How far each case is from the others of its group, scaled to the variance of independent cases.
        """
        case, remaining, n_cases = self.case, self.remaining, self.study.n_cases
        total = np.maximum(weighted_counts(case, remaining, n_cases), LEAST)[case]
        centres = np.array([weighted_counts(case, remaining * row, n_cases)[case] for row in means]) / total
        parts = self.shares[case] * (means - centres)
        effects = np.array([weighted_counts(self.group, row, self.n_groups) for row in parts])
        sizes = np.maximum(np.bincount(self.group, minlength=self.n_groups), 2)
        alone = (parts - (effects / sizes)[:, self.group]) * np.sqrt(sizes / (sizes - 1))[self.group]
        return effects.T, alone

    @cached_property
    def scale(self) -> float:
        """Variance of a mean over the sum of squared effects beyond chance, where opinions are effects of annotators.

        Chance is subtracted here as in :meth:`spread`: annotators of one group differ, which looks like chance. What is
        wanted is the variance of the mean over cases if every annotator, or group of them, adds an effect of variance
        one.
        """
        said, n_pairs, units = self.study, len(self.case), self.study.panel.units
        n_units = int(units.max(initial=-1)) + 1
        case, is_left_out = said.panel.case_of_opinion, self.pair_of_opinion >= 0
        probes, means = probe_vectors(n_units), []
        for probe in probes:
            values = np.append(probe, 0.0)[units] * said.weights
            own = weighted_counts(self.pair_of_opinion[is_left_out], values[is_left_out], n_pairs)
            means.append((weighted_counts(case, values, said.n_cases)[self.case] - own) / self.remaining)
        effects, alone = self.effects(np.array(means))
        found = float(np.square(effects).sum() - np.square(alone).sum())
        found *= n_units / max(np.square(probes).sum(), 1.0)
        named = units != ANONYMOUS
        shares = (self.shares / np.maximum(weight_of_cases(said), LEAST))[case[named]]
        weights = shares * said.weights[named]
        wanted = float(np.square(weighted_counts(units[named], weights, n_units)).sum())
        return wanted / found if found > 0 else 0.0

    def spread(self, means: FloatArray) -> AnnotatorSpread:
        """Sum up what leaving groups out does to the means of cases, shape (models, metrics, n_pairs)."""
        effects, alone = self.effects(np.nan_to_num(means).reshape(-1, means.shape[-1]))
        alone, effects = alone.reshape(means.shape), effects.reshape(self.n_groups, *means.shape[:2])
        return AnnotatorSpread(effects, np.einsum("akp,bkp->abk", alone, alone), self.scale, len(self.group_of))


def probe_vectors(n_annotators: int, number: int = MOST_PROBES) -> FloatArray:
    """Return the unit vectors of few annotators, or a number of vectors of random signs for many."""
    if n_annotators <= MOST_PROBES:
        return np.eye(n_annotators)
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(number, n_annotators))
