"""The toy problem: observations on a line, three classes, and annotators who draw labels from the true p(y|x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError
from dissensus.core.names import check_names
from dissensus.study.study import Study

LOWEST, HIGHEST = -5.0, 5.0


@dataclass(frozen=True)
class GaussianClasses:
    """Classes whose observations are normally distributed.

    Attributes
    ----------
    names
        The classes.
    means, deviations
        Mean and standard deviation of the observations of each class.
    shares
        How frequent each class is; they need not add up to one.

    Examples
    --------
    >>> two = GaussianClasses(("a", "b"), (-1.0, 1.0), (1.0, 1.0), (1.0, 1.0))
    >>> two.posterior([0.0, 1.0]).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        check_names("class", self.names)
        for what in ("means", "deviations", "shares"):
            check_length(f"class ({what})", len(getattr(self, what)), len(self.names))
        if not min(*self.deviations, *self.shares) > 0:
            raise DissensusError(
                "deviations and shares of classes must be positive", got=f"{self.deviations}, {self.shares}"
            )

    def log_densities(self, x: Sequence[float] | FloatArray) -> FloatArray:
        """Return log p(y) + log p(x|y) up to a constant, shape (n, classes)."""
        means, deviations, shares = (np.array(part) for part in (self.means, self.deviations, self.shares))
        standardised = (np.asarray(x, dtype=np.float64)[:, None] - means) / deviations
        return np.asarray(np.log(shares / deviations) - standardised**2 / 2)

    def posterior(self, x: Sequence[float] | FloatArray) -> FloatArray:
        """Return p(y|x) exactly, by Bayes' rule, shape (n, classes)."""
        logs = self.log_densities(x)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


TOY_CLASSES = GaussianClasses(
    names=("Benign 1", "Benign 2", "Cancer"), means=(-1.0, 0.0, 1.0), deviations=(0.7, 2.0, 0.7), shares=(1.0, 1.0, 1.0)
)
"""At 0 all three classes are about equally likely, far from it one is certain, and between them two compete."""


@dataclass(frozen=True, eq=False)
class ToyProblem:
    """Hold observations, the truth about them, and what annotators said.

    Attributes
    ----------
    classes
        The classes and their distributions.
    x : (n_cases,)
        The observations.
    theta : (n_cases, classes)
        The true p(y|x).
    annotations
        A single label per annotator and case, drawn from p(y|x).
    """

    classes: GaussianClasses
    x: FloatArray
    theta: FloatArray
    annotations: Study


def toy_problem(
    x: Sequence[float] | FloatArray | None = None,
    *,
    n_cases: int = 101,
    n_annotators: int = 10,
    seed: int = 0,
    classes: GaussianClasses = TOY_CLASSES,
) -> ToyProblem:
    """Pose the toy problem of the source paper's introduction: two benign classes, one cancer, one observation each.

    Parameters
    ----------
    x
        The observations; by default ``n_cases`` of them, evenly spaced from -5 to 5.
    n_cases
        Number of observations if none are given.
    n_annotators
        How many annotators label each case; each draws one label from p(y|x).
    seed
        The same seed gives the same labels, and those of a case do not depend on the number of cases.
    classes
        The classes and the normal distributions of their observations.

    Notes
    -----
    The paper shows the problem in a figure and prints no parameters; those here are of the same kind.

    Examples
    --------
    >>> problem = toy_problem([-4.0, 0.0, 2.0], n_annotators=5)
    >>> problem.theta.round(2)
    array([[0.  , 1.  , 0.  ],
           [0.34, 0.33, 0.34],
           [0.  , 0.37, 0.63]])
    >>> problem.annotations.n_votes
    15
    """
    if n_cases < 1 or n_annotators < 1:
        raise DissensusError(
            "a toy problem needs at least one case and one annotator", got=f"{n_cases} cases, {n_annotators} annotators"
        )
    places = np.linspace(LOWEST, HIGHEST, n_cases) if x is None else np.asarray(x, dtype=np.float64)
    if places.ndim != 1 or not len(places) or not np.isfinite(places).all():
        raise DissensusError("observations must be finite numbers, at least one", got=f"shape {places.shape}")
    theta = classes.posterior(places)
    streams = (np.random.default_rng((seed, case)) for case in range(len(places)))
    votes = np.stack([rng.multinomial(n_annotators, row) for rng, row in zip(streams, theta, strict=True)])
    names = [f"case {case + 1}" for case in range(len(places))]
    return ToyProblem(classes, places, theta, Study.from_counts(votes, classes.names, case_names=names))
