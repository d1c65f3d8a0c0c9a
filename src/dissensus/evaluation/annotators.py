"""Annotators are a sample too: leave groups of them out in turn, and see how far the means over cases move.

With the mean m_i of case i, let m_ig be what it is without group g. Around the mean of a case's own m_ig, weighted by
the opinions that remain, these deviations add up over the cases that g read to one effect per group. The sum of their
squares, minus what independent cases would give by chance, is the variance that comes from who the annotators were. Its
scale follows from the design, who read which case with whom: it is the one that makes the answer right where opinions
are sums of a case, an annotator and noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.ragged import weighted_counts
from dissensus.core.value import Value
from dissensus.evaluation.intervals import Part
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

AnnotatorsAre: TypeAlias = Literal["sample", "fixed"]
"""Whether other annotators might have been asked, or these are the ones."""

MOST_GROUPS = 20
"""More annotators than this are left out in groups."""

MOST_CASES = 5000
"""Of more cases, this many are evaluated without some annotators."""

LEAST_ANNOTATORS, LEAST_COMMON = 3, 10
"""Annotators count as a sample by default if at least so many share so many cases with another one."""

MOST_PROBES = 64
"""How many vectors probe the design; as many as there are annotators are exact."""

LEAST = 1e-300
"""Stands in for nothing where it would be divided by."""


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
    """Tell whether at least three annotators read at least ten cases that another one read as well.

    >>> from dissensus import Annotations
    >>> are_crossed(Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"]))
    False
    """
    return int((shared_cases(study) >= LEAST_COMMON).sum()) >= LEAST_ANNOTATORS


def shared_cases(study: Study) -> IntArray:
    """Count the cases that each annotator shares with another one, shape (n_annotators,)."""
    said = study.counted
    named = said.annotators != ANONYMOUS
    n_annotators = max(len(said.annotator_names), 1)
    pairs = np.unique((said.panel.case_of_opinion * n_annotators + said.annotators)[named])
    case, annotator = np.divmod(pairs, n_annotators)
    readers = np.bincount(case, minlength=said.n_cases)
    return np.bincount(annotator[readers[case] > 1], minlength=n_annotators)


@dataclass(frozen=True, eq=False)
class Design:
    """Who read which case, and who is left out together.

    Attributes
    ----------
    study
        The opinions that count, on the cases that are evaluated without some annotators: those with the smallest keys,
        in their order, whatever the order of the cases was.
    group_of : (n_annotators,)
        The group of each annotator.
    shares : (n_cases,)
        Share of each case in the mean over cases.
    """

    study: Study
    group_of: IntArray
    shares: FloatArray

    @staticmethod
    def of(study: Study) -> Design:
        """Put annotators into groups and choose the cases."""
        said = study.counted
        said = by_name(said.select(in_order_of_keys(said.case_names)[:MOST_CASES]))
        return Design(said, grouped(said), said.case_weights / said.case_weights.sum())

    @property
    def n_groups(self) -> int:
        """Number of groups that are left out."""
        return int(self.group_of.max(initial=-1)) + 1

    @cached_property
    def group_of_opinion(self) -> IntArray:
        """Group behind each opinion, -1 where nobody is named, shape (n_opinions,)."""
        return np.append(self.group_of, ANONYMOUS)[self.study.annotators]

    @cached_property
    def per_case(self) -> FloatArray:
        """Weight of all annotators of each case, shape (n_cases,)."""
        return weight_of_cases(self.study)

    @cached_property
    def _keys(self) -> IntArray:
        """One number for each opinion's group and case, negative where nobody is named, shape (n_opinions,)."""
        return self.group_of_opinion * self.study.n_cases + self.study.panel.case_of_opinion

    @cached_property
    def _pair_keys(self) -> tuple[IntArray, FloatArray]:
        """Keys of the groups and cases that are left out, ascending, and what they weigh; twice (n_pairs,).

        A group is left out of a case if somebody remains, and if another group can be left out as well.
        """
        named = self.group_of_opinion != ANONYMOUS
        found, place, counts = np.unique(self._keys[named], return_inverse=True, return_counts=True)
        case = found % self.study.n_cases
        remains = counts < self.study.panel.votes_per_case[case]
        several = np.bincount(case[remains], minlength=self.study.n_cases)[case] > 1
        weights = weighted_counts(place, self.study.weights[named], len(found))
        return found[remains & several], weights[remains & several]

    @property
    def group(self) -> IntArray:
        """The group that is left out, shape (n_pairs,)."""
        return self._pair_keys[0] // self.study.n_cases

    @property
    def case(self) -> IntArray:
        """The case that it is left out of, shape (n_pairs,)."""
        return self._pair_keys[0] % self.study.n_cases

    @cached_property
    def remaining(self) -> FloatArray:
        """Weight of those who remain, shape (n_pairs,)."""
        return self.per_case[self.case] - self._pair_keys[1]

    def without(self, group: int) -> Study:
        """Return the study without what a group said; what is learned from all cases is learned from all of them.

        Those who remain weigh as much together as all did, so that a prior draws the answer no closer to itself than
        with everybody: of three annotators, two with the weight of two would move an adjusted value too little. On
        simulated panels of three with skills of standard deviation 0.12, its 90 % interval then held in 84 % of
        studies; so weighted, it holds in 88 %.
        """
        names = [name for name, own in zip(self.study.annotator_names, self.group_of, strict=True) if own == group]
        left = self.study.without(names)
        remaining = weight_of_cases(left)
        factor = np.divide(self.per_case, remaining, out=np.ones_like(remaining), where=remaining > 0)
        return left.with_weights(left.weights * factor[left.panel.case_of_opinion])

    def cases_of(self, group: int) -> list[str]:
        """Name the cases that a group is left out of."""
        return [self.study.case_names[case] for case in self.case[self.group == group]]

    def effects(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up the deviations of means (columns, n_pairs) from those of their case.

        Returns
        -------
        effects : (n_groups, columns)
            Sums over the cases of each group.
        parts : (columns, n_pairs)
            What they are sums of.
        """
        case, remaining, n_cases = self.case, self.remaining, self.study.n_cases
        total = np.maximum(weighted_counts(case, remaining, n_cases), LEAST)[case]
        centres = np.array([weighted_counts(case, remaining * row, n_cases)[case] for row in means]) / total
        parts = self.shares[case] * (means - centres)
        return np.array([weighted_counts(self.group, row, self.n_groups) for row in parts]).T, parts

    @cached_property
    def scale(self) -> float:
        """Variance of a mean over the sum of squared effects beyond chance, where opinions are effects of annotators.

        Chance is subtracted here as in :meth:`spread`: annotators of one group differ, which looks like chance.
        """
        probes = probe_vectors(len(self.group_of))
        found = sum(self._beyond_chance(self._left_out(probe)) for probe in probes)
        found *= len(self.group_of) / max(np.square(probes).sum(), 1.0)
        return self._wanted() / found if found > 0 else 0.0

    def _beyond_chance(self, means: FloatArray) -> float:
        """Sum the squared effects of means (n_pairs,), without what independent cases would give."""
        effects, parts = self.effects(means[None])
        return float(np.square(effects).sum() - np.square(self._alone(effects, parts)).sum())

    def _alone(self, effects: FloatArray, parts: FloatArray) -> FloatArray:
        """Return how far each case is from the others of its group, scaled to the variance of independent cases."""
        sizes = np.maximum(np.bincount(self.group, minlength=self.n_groups), 2)
        return np.asarray((parts - (effects.T / sizes)[:, self.group]) * np.sqrt(sizes / (sizes - 1))[self.group])

    def _wanted(self) -> float:
        """Return the variance of the mean over cases if every annotator adds an effect of variance one."""
        named = self.study.annotators != ANONYMOUS
        shares = (self.shares / np.maximum(self.per_case, LEAST))[self.study.panel.case_of_opinion[named]]
        weights = shares * self.study.weights[named]
        return float(np.square(weighted_counts(self.study.annotators[named], weights, len(self.group_of))).sum())

    def _left_out(self, effects: FloatArray) -> FloatArray:
        """Return the mean of the opinions that remain, shape (n_pairs,), where opinions are effects of annotators."""
        said = np.append(effects, 0.0)[self.study.annotators] * self.study.weights
        totals = weighted_counts(self.study.panel.case_of_opinion, said, self.study.n_cases)
        keys = self._pair_keys[0]
        place = np.minimum(np.searchsorted(keys, self._keys), max(len(keys) - 1, 0))
        inside = keys[place] == self._keys if len(keys) else np.zeros(len(said), dtype=np.bool_)
        own = weighted_counts(place[inside], said[inside], len(keys))
        return np.asarray((totals[self.case] - own) / self.remaining)

    def spread(self, means: FloatArray) -> AnnotatorSpread:
        """Sum up what leaving groups out does to the means of cases, shape (models, metrics, n_pairs)."""
        n_models, n_metrics, n_pairs = means.shape
        effects, parts = self.effects(np.nan_to_num(means).reshape(-1, n_pairs))
        alone = self._alone(effects, parts).reshape(means.shape)
        return AnnotatorSpread(
            effects.reshape(self.n_groups, n_models, n_metrics),
            np.einsum("akp,bkp->abk", alone, alone),
            self.scale,
            len(self.group_of),
        )


def by_name(study: Study) -> Study:
    """Give annotators their codes in alphabetical order, whatever the order of opinions was; only those who gave any.

    >>> from dissensus import Annotations
    >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["B", "A"])
    >>> by_name(said).annotator_names
    ('A', 'B')
    """
    panel = study.panel
    present = np.unique(panel.annotators[panel.annotators != ANONYMOUS])
    order = sorted(present.tolist(), key=lambda code: panel.annotator_names[code])
    codes = np.full(len(panel.annotator_names) + 1, ANONYMOUS, dtype=np.int64)
    codes[order] = np.arange(len(order))
    names = tuple(panel.annotator_names[code] for code in order)
    return study._with_opinions(
        replace(panel, annotators=codes[panel.annotators], annotator_names=names), np.arange(study.n_opinions)
    )


def weight_of_cases(study: Study) -> FloatArray:
    """Sum the weights of the opinions on each case, shape (n_cases,)."""
    return weighted_counts(study.panel.case_of_opinion, study.weights * study.votes, study.n_cases)


def probe_vectors(n_annotators: int) -> FloatArray:
    """Return the unit vectors of few annotators, or random signs for many."""
    if n_annotators <= MOST_PROBES:
        return np.eye(n_annotators)
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(MOST_PROBES, n_annotators))


def grouped(study: Study) -> IntArray:
    """Put annotators into at most twenty groups with about as many opinions each, shape (n_annotators,)."""
    n_annotators = len(study.annotator_names)
    if n_annotators <= MOST_GROUPS:
        return np.arange(n_annotators, dtype=np.int64)
    sizes = np.bincount(study.annotators[study.annotators != ANONYMOUS], minlength=n_annotators)
    place = np.empty(n_annotators, dtype=np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(n_annotators)
    there, back = place % MOST_GROUPS, MOST_GROUPS - 1 - place % MOST_GROUPS
    return np.where(place // MOST_GROUPS % 2 == 0, there, back)
