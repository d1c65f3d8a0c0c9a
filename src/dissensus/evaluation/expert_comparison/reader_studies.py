"""Reader studies with a known truth: the analysis of Obuchowski and Rockette with the degrees of freedom of Hillis.

Every reader rates the same cases with every modality; a model is a modality that all readers share. Readers and cases
are both samples: the variance of a reader's area under the curve and its covariances come from the cases ([obuchowski]:
Obuchowski and Rockette 1995; [hillis]: Hillis 2007 and 2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import stdtr, stdtrit

from dissensus.core.arrays import FloatArray
from dissensus.core.checks import check_choice, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import product

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# How covariances between areas are estimated from the cases.
Covariance: TypeAlias = Literal["jackknife", "delong", "unbiased"]


@dataclass(frozen=True)
class ReaderStudy:
    """Hold the comparison of two modalities, or of a model with its readers.

    Attributes
    ----------
    modalities
        The two names; differences are the first minus the second.
    readers
        Names of the readers.
    areas : (2, n_readers)
        Area under the curve of every reader with every modality.
    covariance
        How covariances were estimated.
    components
        ``reader x test``, ``cov1`` (same reader, other modality), ``cov2`` (other reader, same modality), ``cov3``
        (both differ) and ``var``.
    difference, error, df
        The mean difference, its standard error and the degrees of freedom of its t distribution.
    n_cases
        Number of cases.

    Examples
    --------
    >>> truth = [0, 0, 0, 1, 1, 1]
    >>> one = {"Ada": [1, 2, 3, 3, 4, 5], "Bo": [1, 1, 2, 2, 5, 4]}
    >>> other = {"Ada": [1, 3, 2, 2, 4, 3], "Bo": [2, 1, 3, 2, 3, 4]}
    >>> found = reader_study({"new": one, "old": other}, truth)
    >>> round(found.difference, 3), found.covariance
    (0.167, 'jackknife')
    """

    modalities: tuple[str, str]
    readers: tuple[str, ...]
    areas: FloatArray
    covariance: Covariance
    components: Mapping[str, float]
    difference: float
    error: float
    df: float
    n_cases: int

    @property
    def f(self) -> float:
        """The F statistic with 1 and :attr:`df` degrees of freedom."""
        return float((self.difference / self.error) ** 2)

    @property
    def p_value(self) -> float:
        """The two-sided p-value that there is no difference."""
        return float(2 * stdtr(self.df, -abs(self.difference) / self.error))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the difference.

        >>> truth, one = [0, 0, 1, 1], {"a": [1, 2, 3, 4], "b": [1, 2, 2, 4]}
        >>> other = {"a": [1, 2, 2, 1], "b": [1, 2, 1, 4]}
        >>> low, high = reader_study({"new": one, "old": other}, truth).interval()
        >>> low < high
        True
        """
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.error
        return self.difference - half, self.difference + half

    def is_noninferior(self, margin: float, alpha: float = 0.025) -> bool:
        """Tell whether the first modality is worse than the second by less than a margin, by a one-sided test.

        >>> truth, one = [0, 0, 1, 1], {"a": [1, 2, 3, 4], "b": [1, 2, 2, 4]}
        >>> other = {"a": [1, 2, 2, 3], "b": [2, 1, 1, 4]}
        >>> reader_study({"new": one, "old": other}, truth).is_noninferior(0.9)
        True
        """
        return self.interval(1 - 2 * alpha)[0] > -margin


@checked
def reader_study(
    ratings: Mapping[str, Mapping[str, Sequence[float]] | Sequence[float]],
    truth: Sequence[int],
    *,
    covariance: Covariance = "jackknife",
) -> ReaderStudy:
    """Compare two modalities, or a model with readers, by the area under the curve; readers and cases are samples.

    Parameters
    ----------
    ratings
        For each of two modalities the ratings of every reader, one per case, higher for cases that look positive;
        a model is a single list of scores, which stands beside every reader of the other modality.
    truth
        One for positive cases, zero for negative ones.
    covariance
        ``"jackknife"``, ``"delong"`` or ``"unbiased"`` (products over pairs without a common case).

    Examples
    --------
    >>> readers = {"Ada": [1, 2, 3, 3, 4, 5], "Bo": [1, 1, 2, 2, 5, 4]}
    >>> found = reader_study({"model": [1, 2, 3, 4, 5, 6], "readers": readers}, [0, 0, 0, 1, 1, 1])
    >>> found.areas.round(3).tolist()
    [[1.0, 1.0], [0.944, 0.944]]
    """
    check_choice("covariance", covariance, get_args(Covariance))
    known = as_numbers(truth)
    if len(ratings) != 2 or not any(isinstance(one, Mapping) for one in ratings.values()):
        raise DissensusError(
            "a reader study compares two modalities",
            expected="two names, at least one of them with the ratings of every reader",
            got=listing(list(ratings)),
        )
    if not np.isin(known, (0, 1)).all() or min(np.sum(known == 1), np.sum(known == 0), 9) < 2:
        raise DissensusError("the truth must be 0 or 1", expected="at least two cases of each", got=f"{truth!r:.60}")
    readers = next(tuple(one) for one in ratings.values() if isinstance(one, Mapping))
    if len(readers) < 2:
        raise DissensusError("there are too few readers", expected="two or more", got=listing(readers))
    scores = []
    for modality, given in ratings.items():
        own = given if isinstance(given, Mapping) else dict.fromkeys(readers, given)
        for reader in {**dict.fromkeys(readers), **own}:
            values = as_numbers(own.get(reader, ()))
            if reader not in readers or values.shape != known.shape or not np.isfinite(values).all():
                raise DissensusError(
                    "every reader must rate every case with both modalities",
                    expected=f"{len(known)} finite numbers of each of {listing(readers)}",
                    got=f"{len(values)} of {reader!r}",
                    where=f"modality {modality!r}",
                )
        scores.append([as_numbers(own[reader]) for reader in readers])
    return _analysed(tuple(map(str, ratings)), readers, np.array(scores), known == 1, covariance)


def as_numbers(given: object) -> FloatArray:
    """Return numbers as an array; nothing where they are none, so that their count is wrong.

    >>> as_numbers([1, 2]), as_numbers("text")
    (array([1., 2.]), array([], dtype=float64))
    """
    try:
        return np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        return np.empty(0)


def _analysed(
    modalities: tuple[str, ...], readers: tuple[str, ...], scores: FloatArray, positive: ArrayLike, how: Covariance
) -> ReaderStudy:
    """Analyse scores of shape (2, n_readers, n_cases)."""
    n_readers = len(readers)
    is_positive = np.asarray(positive)
    above = scores[..., is_positive, None] - scores[..., None, ~is_positive]
    kernel = ((above > 0) + 0.5 * (above == 0)).reshape(2 * n_readers, *above.shape[-2:])
    areas = kernel.mean(axis=(1, 2)).reshape(2, n_readers)
    matrix = covariances(kernel, how).reshape(2, n_readers, 2, n_readers)
    same = np.eye(n_readers, dtype=bool)
    within, across = matrix[[0, 1], :, [0, 1], :], matrix[[0, 1], :, [1, 0], :]
    parts = {
        "cov1": float(across[:, same].mean()),
        "cov2": float(within[:, ~same].mean()),
        "cov3": float(across[:, ~same].mean()),
        "var": float(within[:, same].mean()),
    }
    apart = areas[0] - areas[1]
    square = float(np.var(apart, ddof=1)) / 2  # of readers times modalities
    noise = square + max(n_readers * (parts["cov2"] - parts["cov3"]), 0.0)
    both = square - parts["var"] + parts["cov1"] + max(parts["cov2"] - parts["cov3"], 0.0)
    df = noise**2 / (square**2 / (n_readers - 1)) if square > 0 else np.inf
    return ReaderStudy(
        (modalities[0], modalities[1]),
        tuple(map(str, readers)),
        areas,
        how,
        {"reader x test": both, **parts},
        float(apart.mean()),
        float(np.sqrt(2 / n_readers * noise)),
        float(df),
        len(is_positive),
    )


def covariances(kernel: FloatArray, how: Covariance) -> FloatArray:
    """Estimate covariances between areas from which positive case is above which negative one.

    Parameters
    ----------
    kernel : (n_areas, n_positive, n_negative)
        One where the positive case is above the negative one, a half where they are tied.

    Returns
    -------
    matrix : (n_areas, n_areas)
    """
    m, n = kernel.shape[1:]
    by_positive, by_negative, areas = kernel.mean(axis=2), kernel.mean(axis=1), kernel.mean(axis=(1, 2))
    if how == "delong":
        return np.asarray(np.cov(by_positive) / m + np.cov(by_negative) / n)
    if how == "jackknife":
        left_out = np.hstack(
            [(m * areas[:, None] - by_positive) / (m - 1), (n * areas[:, None] - by_negative) / (n - 1)]
        )
        return np.asarray(np.cov(left_out, bias=True) * (m + n - 1))
    flat = kernel.reshape(len(kernel), -1)
    total = (m * n) ** 2 * np.outer(areas, areas)
    apart = total - n**2 * product(by_positive, by_positive.T) - m**2 * product(by_negative, by_negative.T)
    apart += product(flat, flat.T)
    return np.asarray(np.outer(areas, areas) - apart / (m * (m - 1) * n * (n - 1)))
