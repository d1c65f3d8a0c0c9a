"""Populations with a known truth: cases, perhaps in groups, annotators with skills of their own, and four models.

A case is of one of two kinds and has one right condition, the first. A model names it with a probability that depends
on the kind; otherwise it names one of the others at random. So does an annotator. Models A, B and D are right equally
often, A more often on the one kind and B on the other; model C is right more often. Cases of a group share how well a
model does: by a beta distribution, so that the errors of a model have exactly the intraclass correlation that is asked
for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

import dissensus as ds
from dissensus.core.arrays import FloatArray, IntArray

CONDITIONS = ("a", "b", "c", "d")
MODELS = ("A", "B", "C", "D")
EQUAL = ((0, 1), (0, 3), (1, 3))
"""Pairs of models that are equally good."""


@dataclass(frozen=True)
class Population:
    """Where studies come from.

    Attributes
    ----------
    n_cases, n_groups
        Size of a study; 0 groups if cases stand alone.
    correlation
        Intraclass correlation of the errors of a model in a group.
    right, better, apart
        How often A, B and D are right, how much more often C, and how far A and B differ between the kinds.
    skill, skill_sd
        How often annotators are right, on average and how far they differ.
    n_annotators, pool
        How many read each case, and how many there are; 0 if everybody reads one case only.
    """

    n_cases: int
    n_groups: int = 0
    correlation: float = 0.0
    right: float = 0.6
    better: float = 0.2
    apart: float = 0.15
    skill: float = 0.75
    skill_sd: float = 0.0
    n_annotators: int = 3
    pool: int = 0

    def rates(self) -> FloatArray:
        """Return how often each model is right on each kind of cases, shape (models, kinds)."""
        shifts = np.array([[self.apart, -self.apart], [-self.apart, self.apart], [self.better] * 2, [0.0, 0.0]])
        return np.asarray(self.right + shifts)

    def agreement(self) -> FloatArray:
        """Return how often an annotator says what a model says, shape (models,): the truth."""
        right = self.rates().mean(axis=1)
        return np.asarray(right * self.skill + (1 - right) * (1 - self.skill) / (len(CONDITIONS) - 1))

    def groups(self) -> IntArray:
        """Return the group of each case; each its own if they stand alone."""
        return np.arange(self.n_cases) * (self.n_groups or self.n_cases) // self.n_cases

    def readers(self, rng: np.random.Generator) -> IntArray:
        """Choose who reads which case, shape (n_cases, n_annotators)."""
        if not self.pool:
            return np.arange(self.n_cases * self.n_annotators).reshape(self.n_cases, self.n_annotators)
        order = rng.random((self.n_cases, self.pool)).argsort(axis=1)
        return np.sort(order[:, : self.n_annotators], axis=1)

    def studies(self, number: int, readers: IntArray, rng: np.random.Generator) -> Studies:
        """Draw studies with the same readers."""
        kinds = rng.integers(2, size=(number, self.n_cases))
        models = self._named(self._model_rates(kinds, rng), rng)
        skills = self._skills(number, int(readers.max()) + 1, rng)
        chance = skills[np.arange(number)[:, None, None], readers[None], kinds[:, :, None]]
        return Studies(self, readers, self._named(chance, rng), models)

    def _model_rates(self, kinds: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return how often each model is right on each case, shape (studies, models, cases)."""
        rates, groups = np.moveaxis(self.rates()[:, kinds], 0, 1), self.groups()
        if not self.correlation:
            return rates
        place = rng.random((len(kinds), len(MODELS), groups.max() + 1))[..., groups]
        size = (1 - self.correlation) / self.correlation
        return np.asarray(betaincinv(rates * size, (1 - rates) * size, place))

    def _skills(self, number: int, n_annotators: int, rng: np.random.Generator) -> FloatArray:
        """Draw how often each annotator is right on each kind, half of it in common; (studies, annotators, kinds)."""
        common, own = (rng.uniform(-1, 1, size=(number, n_annotators, kinds)) for kinds in (1, 2))
        return np.asarray(self.skill + self.skill_sd * np.sqrt(3 / 2) * (common + own))

    @staticmethod
    def _named(chance: FloatArray, rng: np.random.Generator) -> IntArray:
        wrong = rng.integers(1, len(CONDITIONS), size=chance.shape)
        return np.where(rng.random(chance.shape) < chance, 0, wrong)


@dataclass(frozen=True, eq=False)
class Studies:
    """Studies of a population with the same readers.

    Attributes
    ----------
    population, readers
        Where they come from, and who reads which case, (n_cases, n_annotators).
    labels : (studies, n_cases, n_annotators)
        What annotators say.
    models : (studies, models, n_cases)
        What models say.
    """

    population: Population
    readers: IntArray
    labels: IntArray
    models: IntArray

    def agreeing(self) -> FloatArray:
        """Tell which annotator says what a model says, shape (studies, models, n_cases, n_annotators)."""
        return np.asarray(self.models[..., None] == self.labels[:, None], dtype=np.float64)

    def annotations(self, number: int) -> ds.Study:
        """Return the annotations of one study."""
        return annotations_of(self.population, self.readers, self.labels[number])

    def predictions(self, number: int) -> dict[str, FloatArray]:
        """Return what the models say in one study, as scores."""
        return {name: np.eye(len(CONDITIONS))[said] for name, said in zip(MODELS, self.models[number], strict=True)}


def annotations_of(population: Population, readers: IntArray, labels: IntArray) -> ds.Study:
    """Build a study; annotators who read one case each have no names."""
    names = [[f"annotator {j}" for j in row] for row in readers.tolist()]
    return ds.Study.from_rankings(
        [[[[CONDITIONS[label]]] for label in row] for row in labels.tolist()],
        CONDITIONS,
        annotator_names=names if population.pool else None,
        groups=[f"{group}" for group in population.groups()] if population.n_groups else None,
    )


def batches(population: Population, number: int, seed: int, size: int = 50) -> Iterator[tuple[int, Studies]]:
    """Draw studies, some at a time with the same readers; each batch has a seed of its own."""
    for start in range(0, number, size):
        rng = np.random.default_rng([seed, start])
        yield 1000 * seed + start, population.studies(min(size, number - start), population.readers(rng), rng)
