"""Weighted sums per draw: all that averages, spreads and intervals need, and they add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.annotations.panel import equal_fields
from dissensus.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Tally:
    """Sum a quantity over cases, separately for every draw, with and without resampling of cases.

    Merging is addition and the identity is zero. A mean over no weight is undefined: nan.

    Attributes
    ----------
    sums : (..., n_draws)
        Sum over cases of weight times value.
    weights : (..., n_draws) or (1, ..., n_draws)
        Sum over cases of weights; once, if it is the same for all quantities.
    resampled_sums, resampled_weights
        The same with every case multiplied by its bootstrap weight of the draw.
    """

    sums: FloatArray
    weights: FloatArray
    resampled_sums: FloatArray
    resampled_weights: FloatArray

    @staticmethod
    def zeros(*shape: int) -> Tally:
        """Return the tally of no cases.

        >>> Tally.zeros(2).means
        array([nan, nan])
        """
        sums, weights = np.zeros(shape), np.zeros((*(1 for _ in shape[:-1]), shape[-1]))
        return Tally(sums, weights, sums, weights)

    @staticmethod
    def of(values: FloatArray, weights: FloatArray, bootstrap: FloatArray) -> Tally:
        """Tally values (..., n_cases, n_draws) with weights and bootstrap weights (n_cases, n_draws)."""
        shape = (*values.shape[:-2], values.shape[-1])
        known = ~np.isnan(values)
        if not known.all():
            weights = np.where(known, weights, 0.0)
            values = np.where(known, values, 0.0)
        resampling = weights * bootstrap
        return Tally(
            np.einsum("...ij,...ij->...j", weights, values),
            np.broadcast_to(np.einsum("...ij->...j", weights), shape),
            np.einsum("...ij,...ij->...j", resampling, values),
            np.broadcast_to(np.einsum("...ij->...j", resampling), shape),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + another for one, another in zip(self.parts, other.parts, strict=True)))

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """The four sums, in the order of the fields."""
        return self.sums, self.weights, self.resampled_sums, self.resampled_weights

    @property
    def means(self) -> FloatArray:
        """Mean over cases of every draw, shape (..., n_draws): its spread is the uncertainty of the annotations."""
        return _ratio(self.sums, self.weights)

    @property
    def resampled_means(self) -> FloatArray:
        """Mean over resampled cases of every draw: its spread is that of annotations and cases together."""
        return _ratio(self.resampled_sums, self.resampled_weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]


def _ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    return np.divide(sums, weights, out=np.full_like(sums, np.nan), where=weights > 0)
