"""Usual practice with ratings: their mean, or their median, is taken for the truth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dissensus.aggregation.base import PointAggregation
from dissensus.aggregation.normal_inverse_gamma import checked_thresholds, interval_names
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_fields
from dissensus.draws import Batch, Plausibilities
from dissensus.study.opinions import Moments


@dataclass(frozen=True)
class RatingPoint(PointAggregation):
    """Give every case one number; the interval between thresholds that it falls into is the only plausible one.

    Parameters
    ----------
    thresholds
        Increasing; K - 1 of them make K intervals. A number equal to a threshold belongs to the interval below it. By
        default the median of all ratings, which matters only where conditions are shown.
    """

    needs = "ratings"

    thresholds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "thresholds", checked_thresholds(self.thresholds))

    @property
    def needs_whole(self) -> str:
        """Only if ratings are cut at their median."""
        return "" if self.thresholds else "ratings are cut at the median of all cases"

    @property
    def learns(self) -> bool:
        """Whether the interval of a case depends on other cases."""
        return bool(self.needs_whole)

    @abstractmethod
    def number(self, opinions: Moments) -> FloatArray:
        """Return the number of each case, shape (n_cases,)."""

    def point(self, opinions: Any) -> FloatArray:
        """Return 1 for the interval of each case, 0 for the others, shape (n_cases * K,)."""
        cuts = np.array(self.thresholds or (opinions.median,))
        place = np.searchsorted(cuts, self.number(opinions), side="left")
        return np.asarray(np.eye(len(cuts) + 1)[place].ravel())

    def _prepare(self, opinions: Any, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        names = interval_names(self.thresholds or (opinions.median,))
        theta = self.point(opinions).reshape(opinions.n_cases, len(names))
        return Plausibilities(
            conditions=names,
            case_names=opinions.case_names,
            excluded=opinions.excluded,
            n_draws=1,
            n_chains=1,
            support_offsets=np.arange(opinions.n_cases + 1) * len(names),
            support=np.tile(np.arange(len(names)), opinions.n_cases),
            sampler=NumberSampler(opinions.case_names, theta, self.number(opinions)),
        )


@dataclass(frozen=True, eq=False)
class NumberSampler:
    """Give every case its one number, and the interval that it falls into."""

    case_names: Sequence[str]
    theta: FloatArray
    number: FloatArray

    def __call__(self, cases: IntArray) -> Batch:
        """Return the one draw of each case."""
        batch = Batch.from_dense(self.theta[cases][:, None], [self.case_names[case] for case in cases])
        numbers = np.stack([self.number[cases], np.zeros(len(cases))], axis=1)
        return replace(batch, numbers=numbers[:, None])


@dataclass(frozen=True)
class MeanRating(RatingPoint):
    """Take the mean of the ratings of a case for the truth.

    Examples
    --------
    >>> from dissensus import Study
    >>> [batch] = MeanRating((2.0,)).sample(Study.from_scores([[1, 2, 6]]))
    >>> batch.numbers[0, 0, 0], batch.dense()[0, 0]
    (np.float64(3.0), array([0., 1.]))
    """

    id = "mean-rating"
    meaning = "Takes the mean of the ratings of a case for the truth."

    def number(self, opinions: Moments) -> FloatArray:
        """Return the mean rating of each case, shape (n_cases,)."""
        return opinions.means


@dataclass(frozen=True)
class MedianRating(RatingPoint):
    """Take the median of the ratings of a case for the truth.

    Examples
    --------
    >>> from dissensus import Study
    >>> [batch] = MedianRating().sample(Study.from_scores([[1, 2, 6]]))
    >>> batch.numbers[0, 0, 0]
    np.float64(2.0)
    """

    id = "median-rating"
    meaning = "Takes the median of the ratings of a case for the truth."

    def number(self, opinions: Moments) -> FloatArray:
        """Return the median rating of each case, shape (n_cases,)."""
        return opinions.medians
