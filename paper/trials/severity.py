"""Simulated studies with a known truth: cases have a severity, which annotators and models see through noise.

A case has the severity u, standard normal. An annotator finds it above a limit c with probability Phi((u - c - b) / s),
where b is how strict the annotator is. A yes-or-no question has one limit, grades have one between any two. What a
large panel says of a case is the label that it gives most often; it follows from u without any panel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.metrics.data_set import DataSetMetric, Said
from dissensus.study.study import Study

Asked: TypeAlias = Literal["binary", "grades"]
"""What annotators are asked."""

GAPS: Mapping[Asked, tuple[float, ...]] = {"binary": (0.0,), "grades": (0.0, 0.5, 1.0, 1.5)}
"""How far the limits are above the first one."""

NOISE: Mapping[Asked, float] = {"binary": 0.5, "grades": 0.3}
"""How much an annotator errs, s."""

LEAST_SCORE = 1e-6


@dataclass(frozen=True)
class Reader:
    """A model that sees the severity through noise.

    Attributes
    ----------
    noise
        Standard deviation of what it adds to the severity.
    confidence
        Power that its probabilities are raised to: 1 is honest, more is too sure.
    """

    noise: float
    confidence: float = 1.0

    def scores(self, rng: np.random.Generator, severity: FloatArray, limits: FloatArray) -> FloatArray:
        """Return probabilities of all labels, shape (n_cases, K): honest ones, given what it sees, then distorted."""
        precision = 1 + self.noise**-2
        seen = (severity + self.noise * rng.normal(size=len(severity))) / self.noise**2 / precision
        above = ndtr((seen[:, None] - limits) * precision**0.5)
        powers = np.maximum(_between(above), LEAST_SCORE) ** self.confidence
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


PLAIN: Mapping[str, Reader] = {"sharp": Reader(0.5), "dull": Reader(0.8)}
DISTORTED: Mapping[str, Reader] = {"too sure": Reader(0.5, confidence=4.0), "too shy": Reader(0.8, confidence=0.5)}
SILENT: Mapping[str, Reader] = {"sharp": Reader(0.5), "says next to nothing": Reader(3.0)}


@dataclass(frozen=True)
class Setting:
    """Studies of one kind.

    Attributes
    ----------
    title
        What sets it apart.
    asked
        A yes-or-no question, or grades from 0 to 4.
    n_annotators
        How many read every case.
    prevalence
        Share of cases above the first limit.
    strictness
        Standard deviation of how strict annotators are; if it is not zero, they have names, and are others in every
        study.
    n_cases
        Cases of a study.
    models
        What reads them beside the annotators.
    """

    title: str
    asked: Asked
    n_annotators: int
    prevalence: float
    strictness: float = 0.0
    n_cases: int = 400
    models: Mapping[str, Reader] = field(default_factory=lambda: PLAIN)

    @property
    def limits(self) -> FloatArray:
        """Limits of severity between labels, shape (K - 1,)."""
        return np.asarray(ndtri(1 - self.prevalence) + np.array(GAPS[self.asked]))

    @property
    def conditions(self) -> tuple[str, ...]:
        """Labels, from the mildest."""
        return ("no", "yes") if self.asked == "binary" else tuple(f"grade {k}" for k in range(len(self.limits) + 1))

    def shares(self, severity: FloatArray) -> FloatArray:
        """Return which share of a large panel gives each label, shape (n_cases, K)."""
        noise = np.hypot(NOISE[self.asked], self.strictness)
        return _between(ndtr((severity[:, None] - self.limits) / noise))

    def drawn(self, n_cases: int, seed: tuple[int, ...]) -> Cases:
        """Draw cases, and what models say of them.

        Examples
        --------
        >>> cases = Setting("plain", "binary", 3, 0.4).drawn(1000, (1,))
        >>> bool(abs(cases.labels[:, 1].mean() - 0.4) < 0.05), cases.said["sharp"].scores.shape
        (True, (1000, 2))
        """
        rng = np.random.default_rng(seed)
        severity = rng.normal(size=n_cases)
        scores = {name: one.scores(rng, severity, self.limits) for name, one in self.models.items()}
        binary = self.asked == "binary"
        said = {name: Said.of_scores(one, is_binary=binary) for name, one in scores.items()}
        shares = self.shares(severity)
        return Cases(severity, shares, np.eye(shares.shape[1])[shares.argmax(axis=1)], said)

    def votes(self, cases: Cases, seed: tuple[int, ...]) -> IntArray:
        """Ask the annotators of a study: the label that each gives to each case, shape (n_cases, n_annotators)."""
        rng = np.random.default_rng((*seed, 1))
        strict = self.strictness * rng.normal(size=self.n_annotators)
        size = (len(cases.severity), self.n_annotators)
        seen = cases.severity[:, None] - strict + NOISE[self.asked] * rng.normal(size=size)
        return np.asarray((seen[:, :, None] > self.limits).sum(axis=2))

    def annotations(self, votes: IntArray) -> Study:
        """Write down what annotators said; without names if they are as strict as each other."""
        if not self.strictness:
            return Study.from_counts(counted(votes, len(self.conditions)), self.conditions, question=self.asked)
        rankings = [[[[self.conditions[label]]] for label in row] for row in votes.tolist()]
        names = [[f"annotator {place + 1}" for place in range(votes.shape[1])]] * len(votes)
        return Study.from_rankings(rankings, self.conditions, annotator_names=names, question=self.asked)


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases of which all is known.

    Attributes
    ----------
    severity : (n_cases,)
        How severe each is.
    shares, labels : (n_cases, K)
        Which share of a large panel gives each label, and 1 for the one that it gives most often.
    said
        What every model says.
    """

    severity: FloatArray
    shares: FloatArray
    labels: FloatArray
    said: Mapping[str, Said]

    def values(self, metric: DataSetMetric, labels: FloatArray) -> dict[str, float]:
        """Return the metric of every model against labels (n_cases, K)."""
        masses = np.ascontiguousarray(labels.T)[None]
        return {name: float(metric.of_draws(said, masses)[0]) for name, said in self.said.items()}


def counted(votes: IntArray, n_conditions: int) -> IntArray:
    """Count the labels of each case, shape (n_cases, K).

    >>> counted(np.array([[0, 1, 1]]), 2).tolist()
    [[1, 2]]
    """
    return np.stack([(votes == code).sum(axis=1) for code in range(n_conditions)], axis=1)


def _between(above: FloatArray) -> FloatArray:
    """Turn chances to be above each limit (n_cases, K - 1) into chances of labels (n_cases, K)."""
    return np.asarray(-np.diff(above, axis=1, prepend=1.0, append=0.0))
