"""Annotators who rate higher or lower than others: a shift each, partially pooled.

A rating is the number of its case, plus the shift of its annotator, plus noise. Cases are free; shifts are normal
around zero with a variance that is estimated by restricted maximum likelihood, and each is the mean of its posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import weighted_counts
from dissensus.study.opinions import Moments
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

MOST_ANNOTATORS = 3000
"""How many annotators can have a shift: their covariance is held in full."""

RATIOS = np.concatenate([[0.0], np.geomspace(1e-4, 1e8, 121)])
"""How much annotators know of shifts on average, as ratios of variances that are tried first."""

TINY = 1e-9
"""Eigenvalues below this part of the largest are zero: nothing is known in that direction."""


@dataclass(frozen=True, eq=False)
class Shifts:
    """Hold how far above others each annotator rates.

    Attributes
    ----------
    values, errors : (n_annotators,)
        Means and standard deviations of the posterior of each shift.
    variance
        Variance of shifts between annotators.
    noise
        Variance of a rating beside the case and the shift.
    """

    values: FloatArray
    errors: FloatArray
    variance: float
    noise: float


@checked
def annotator_shifts(ratings: Study) -> pl.DataFrame:
    """Estimate how far above or below others each annotator rates, from the cases that several rated.

    Columns: ``annotator``, ``n_ratings``, ``shift``, and its standard error ``se``. Shifts are shrunk towards zero, the
    more the fewer ratings there are; those of annotators who share cases average zero.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [(f"c{i}", name, i % 4 + above + (i * 7 % 5) / 10) for i in range(20)
    ...         for name, above in (("A", 1.5), ("B", -0.5), ("C", -1.0))]
    >>> said = Study.from_long(pl.DataFrame(rows, schema=["case", "annotator", "score"], orient="row"))
    >>> annotator_shifts(said)["shift"].round(2).to_list()
    [1.5, -0.5, -1.0]
    """
    import polars as pl

    rated = require_kind(ratings, "ratings", "annotator_shifts").opinions
    found = estimated_shifts(rated)
    counts = np.bincount(rated.annotators[rated.annotators != ANONYMOUS], minlength=len(rated.annotator_names))
    return pl.DataFrame(
        {"annotator": rated.annotator_names, "n_ratings": counts, "shift": found.values, "se": found.errors}
    )


def estimated_shifts(rated: Moments) -> Shifts:
    """Estimate the shifts of all annotators; see :func:`annotator_shifts`."""
    _check_names(rated)
    information, sums, squares, freedom = _within_cases(rated)
    size, directions = np.linalg.eigh(information)
    known = size > TINY * max(float(size[-1]), 1e-300)
    along = directions.T @ sums
    explained = float((along[known] ** 2 / size[known]).sum())
    fit = _Fit(size[known], along[known], max(squares - explained, 0.0), freedom)
    ratio = fit.best_ratio()
    noise = fit.noise(ratio)
    shrunk = np.where(known, ratio * along / (1.0 + ratio * np.where(known, size, 0.0)), 0.0)
    spread = ratio * noise / (1.0 + ratio * np.where(known, size, 0.0))
    return Shifts(directions @ shrunk, np.sqrt((directions**2) @ spread), ratio * noise, noise)


def without_shifts(rated: Moments, shifts: FloatArray) -> Moments:
    """Take the shift of its annotator away from every rating; ratings of nobody in particular stay as they are."""
    return rated.with_scores(rated.scores - np.append(shifts, 0.0)[rated.annotators])


def _check_names(rated: Moments) -> None:
    count = len(rated.annotator_names)
    if not count:
        raise DissensusError(
            "shifts of annotators need their names",
            expected="ratings of which it is known who gave them",
            got="ratings of nobody in particular",
            advice="name the column of annotators, or leave shifts out",
        )
    if count > MOST_ANNOTATORS:
        raise DissensusError(
            "there are too many annotators to give each a shift", expected=f"at most {MOST_ANNOTATORS}", got=str(count)
        )


def _within_cases(rated: Moments) -> tuple[FloatArray, FloatArray, float, int]:
    """Return what ratings say about shifts once the numbers of cases are free.

    Information of shifts (n_annotators, n_annotators), sums of deviations (n_annotators,), the sum of their squares,
    and how many ratings there are beyond one per case.
    """
    named = rated.annotators != ANONYMOUS
    cases, who, weights, scores = (x[named] for x in (rated.cases, rated.annotators, rated.weights, rated.scores))
    n_names, (present, cases) = len(rated.annotator_names), np.unique(cases, return_inverse=True)
    totals = np.maximum(weighted_counts(cases, weights, len(present)), 1e-300)
    gaps = scores - (weighted_counts(cases, weights * scores, len(present)) / totals)[cases]
    readings = np.zeros((n_names, n_names))
    for first, second in _pairs(cases):
        np.add.at(readings, (who[first], who[second]), weights[first] * weights[second] / totals[cases[first]])
    information = np.diag(weighted_counts(who, weights, n_names)) - readings
    sums = weighted_counts(who, weights * gaps, n_names)
    return information, sums, float((weights * gaps**2).sum()), len(scores) - len(present)


def _pairs(cases: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return all ordered pairs of ratings on one case, by how many places they are apart; cases are in order."""
    found, everyone = [(np.arange(len(cases)), np.arange(len(cases)))], np.arange(len(cases))
    apart = 1
    while (same := np.flatnonzero(cases[apart:] == cases[:-apart])).size:
        found += [(everyone[same], everyone[same + apart]), (everyone[same + apart], everyone[same])]
        apart += 1
    return found


@dataclass(frozen=True, eq=False)
class _Fit:
    """The restricted likelihood of the ratio of variances, in directions in which shifts are independent."""

    size: FloatArray
    along: FloatArray
    rest: float
    freedom: int

    def noise(self, ratio: float) -> float:
        """Return the variance of noise that fits best with a ratio."""
        explained = (self.along**2 / (self.size * (1.0 + ratio * self.size))).sum()
        return float((self.rest + explained) / max(self.freedom, 1))

    def likelihood(self, ratio: float) -> float:
        """Return the logarithm of the restricted likelihood, up to a constant."""
        noise = max(self.noise(ratio), 1e-300)
        return float(-0.5 * (self.freedom * np.log(noise) + np.log1p(ratio * self.size).sum()))

    def best_ratio(self) -> float:
        """Find the ratio of the highest likelihood: on a grid, then between its neighbours."""
        from scipy.optimize import minimize_scalar

        if not len(self.size):
            return 0.0
        tried = RATIOS / self.size.mean()
        best = int(np.argmax([self.likelihood(ratio) for ratio in tried]))
        if best == 0:
            return 0.0
        low, high = np.log(tried[max(best - 1, 1)]), np.log(tried[min(best + 1, len(tried) - 1)])
        found = minimize_scalar(lambda log: -self.likelihood(float(np.exp(log))), bounds=(low, high), method="bounded")
        return float(np.exp(found.x))
