"""Small studies of which more is known than they say: a few labels out of a crowd's, or a simulated truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.evaluation.estimates import AGREEMENT
from dissensus.predictions.lists import Predictions
from dissensus.simulate.differential_study import Expertise, simulate_study
from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class Truth:
    """What each number should be, model by model.

    Attributes
    ----------
    panel : (models,)
        Top-1 accuracy against what the whole crowd says; the shares of conditions that tie for the first place add up.
    agreement : (models,)
        The chance that one of the crowd, taken at random, names what the model names.
    """

    panel: FloatArray
    agreement: FloatArray

    @staticmethod
    def of(shares: FloatArray, firsts: IntArray) -> Truth:
        """Find both from the shares of labels (n_cases, K) and the first conditions of models (models, n_cases).

        >>> found = Truth.of(np.array([[0.5, 0.5, 0.0], [0.2, 0.1, 0.7]]), np.array([[0, 2], [2, 2]]))
        >>> found.panel.tolist(), found.agreement.tolist()
        ([0.75, 0.5], [0.6, 0.35])
        """
        is_best = shares == shares.max(axis=1, keepdims=True)
        best = is_best / is_best.sum(axis=1, keepdims=True)
        cases = np.arange(len(shares))
        return Truth(best[cases, firsts].mean(axis=1), shares[cases, firsts].mean(axis=1))

    def named(self, estimand: str) -> FloatArray:
        """Return what an estimand is held against, shape (models,)."""
        return self.agreement if estimand == AGREEMENT else self.panel


@dataclass(frozen=True, eq=False)
class Trial:
    """A small study, its models, and what is true of its cases.

    Attributes
    ----------
    annotations, predictions
        What is evaluated.
    here
        The truth about its own cases.
    everywhere
        The truth about all cases that they were taken from; missing where these are endless.
    """

    annotations: Study
    predictions: Mapping[str, Predictions]
    here: Truth
    everywhere: Truth | None = None


@dataclass(frozen=True, eq=False)
class Crowd:
    """Cases that many people labelled.

    Attributes
    ----------
    counts : (n_cases, K)
        How many people gave each label.
    conditions, case_names
        The labels and the cases.
    predictions
        What models say of these cases.

    Examples
    --------
    >>> said = Study.from_counts([[60, 40], [10, 90], [30, 70]], ["a", "b"], case_names=["x", "y", "z"])
    >>> scores = Predictions.from_scores([[1, 0], [1, 0], [0, 1]], ["a", "b"], case_names=["x", "y", "z"], name="A")
    >>> crowd = Crowd.of(said, {"A": scores})
    >>> crowd.truth.panel.round(3).tolist()
    [0.667]
    >>> crowd.trial(2, 3, seed=(1,)).annotations.votes_per_case.tolist()
    [3, 3]
    """

    counts: IntArray
    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    predictions: Mapping[str, Predictions]

    @staticmethod
    def of(said: Study, predictions: Mapping[str, Predictions]) -> Crowd:
        """Take the votes of a study of single labels."""
        if len(said.codes) != said.n_rankings:
            raise DissensusError("a crowd gives single labels", got=f"{len(said.codes)} labels in {said.n_rankings}")
        counts = np.zeros((said.n_cases, said.n_conditions), dtype=np.int64)
        np.add.at(counts, (said.panel.case_of_opinion, said.codes), said.votes)
        aligned = {name: one.align(said.case_names, said.conditions) for name, one in predictions.items()}
        return Crowd(counts, said.conditions, said.case_names, aligned)

    @property
    def truth(self) -> Truth:
        """What is true of the models on all cases."""
        return Truth.of(self.counts / self.counts.sum(axis=1, keepdims=True), first_choices(self.predictions))

    def select(self, cases: IntArray) -> Crowd:
        """Keep some cases."""
        names = tuple(self.case_names[case] for case in cases)
        chosen = {name: said.select(list(names)) for name, said in self.predictions.items()}
        return Crowd(self.counts[cases], self.conditions, names, chosen)

    def disputed(self, most: int) -> Crowd:
        """Keep the cases whose leading label has the lowest share."""
        leads = self.counts.max(axis=1) / self.counts.sum(axis=1)
        return self.select(np.sort(np.argsort(leads, kind="stable")[:most]))

    def hardened(self) -> Crowd:
        """Let models name a label and give no scores."""
        eye = np.eye(len(self.conditions))
        firsts = dict(zip(self.predictions, first_choices(self.predictions), strict=True))
        made = {
            name: Predictions.from_scores(eye[codes], self.conditions, case_names=self.case_names, name=name)
            for name, codes in firsts.items()
        }
        return replace(self, predictions=made)

    def trial(self, n_cases: int, votes: int, *, seed: tuple[int, ...]) -> Trial:
        """Draw cases, and so many of the labels of each, both without replacement."""
        rng = np.random.default_rng(seed)
        chosen = self.select(np.sort(rng.choice(len(self.counts), size=min(n_cases, len(self.counts)), replace=False)))
        drawn = np.stack([rng.multivariate_hypergeometric(row, min(votes, row.sum())) for row in chosen.counts])
        said = Study.from_counts(drawn, self.conditions, case_names=chosen.case_names)
        return Trial(said, chosen.predictions, chosen.truth, self.truth)


def first_choices(predictions: Mapping[str, Predictions]) -> IntArray:
    """Return the condition that each model names first, shape (models, n_cases)."""
    return np.stack([said.codes[said.offsets[:-1]] for said in predictions.values()])


def simulated_trial(
    n_cases: int, n_conditions: int, *, opinions: tuple[int, int], models: Mapping[str, Expertise], seed: int
) -> Trial:
    """Simulate rankings, and models of known quality; the truth is what the rankings were drawn from.

    Annotators tie conditions at the first place, so that the chance to be named by one of them is not known.

    Examples
    --------
    >>> found = simulated_trial(50, 20, opinions=(3, 5), models={"A": Expertise.blurred(0.0)}, seed=1)
    >>> found.here.panel.tolist(), found.annotations.n_cases
    ([1.0], 50)
    """
    study = simulate_study(
        n_cases=n_cases, n_conditions=n_conditions, opinions=opinions, models=models, seed=seed, n_annotators=30
    )
    known = Truth.of(study.theta, first_choices(study.predictions))
    return Trial(study.annotations, study.predictions, replace(known, agreement=np.full_like(known.agreement, np.nan)))
