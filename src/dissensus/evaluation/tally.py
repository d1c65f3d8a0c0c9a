"""Weighted sums per draw: all that averages, spreads and intervals need, and they add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import equal_fields


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
        The same of the means of cases over their draws, every case multiplied by its bootstrap weight of the draw.
    squares : (..., 1) or (1, ..., 1)
        Sum over cases of the square of their mean weight.
    """

    sums: FloatArray
    weights: FloatArray
    resampled_sums: FloatArray
    resampled_weights: FloatArray
    squares: FloatArray

    @staticmethod
    def zeros(*shape: int) -> Tally:
        """Return the tally of no cases.

        >>> Tally.zeros(2).means
        array([nan, nan])
        """
        sums, weights = np.zeros(shape), np.zeros((*(1 for _ in shape[:-1]), shape[-1]))
        return Tally(sums, weights, sums, weights, weights[..., :1])

    @staticmethod
    def of(values: FloatArray, weights: FloatArray, bootstrap: FloatArray) -> Tally:
        """Tally values (..., n_cases, n_draws) with weights and bootstrap weights (n_cases, n_draws)."""
        shape = (*values.shape[:-2], values.shape[-1])
        known = ~np.isnan(values)
        if not known.all():
            weights = np.where(known, weights, 0.0)
            values = np.where(known, values, 0.0)
        products, case_weights = weights * values, weights.mean(axis=-1)
        squares = (case_weights**2).sum(axis=-1, keepdims=True)
        return Tally(
            np.einsum("...ij->...j", products),
            np.broadcast_to(np.einsum("...ij->...j", weights), shape),
            np.einsum("...i,ij->...j", products.mean(axis=-1), bootstrap),
            np.broadcast_to(np.einsum("...i,ij->...j", case_weights, bootstrap), shape),
            np.broadcast_to(squares, (*shape[:-1], 1)),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + another for one, another in zip(self.parts, other.parts, strict=True)))

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """The sums, in the order of the fields."""
        return self.sums, self.weights, self.resampled_sums, self.resampled_weights, self.squares

    @property
    def means(self) -> FloatArray:
        """Mean over cases of every draw, shape (..., n_draws): its spread is the uncertainty of the annotations."""
        return _ratio(self.sums, self.weights)

    @property
    def resampled_means(self) -> FloatArray:
        """Mean over resampled cases: its spread is that of the mean over cases like these.

        What annotators got wrong differs from case to case, so it is in the spread of the cases' means already. Of n
        cases, the spread over draws comes in by 1/sqrt(n) only: it is all there is for one case, and vanishes for many.
        """
        means = self.means
        is_known = ~np.isnan(means)
        centres = _ratio(np.where(is_known, means, 0.0).sum(axis=-1), is_known.sum(axis=-1).astype(np.float64))
        effective = _ratio(np.sqrt(self.squares), self.weights.mean(axis=-1, keepdims=True))
        gaps = np.where(is_known, effective * (means - centres[..., None]), 0.0)
        return np.asarray(_ratio(self.resampled_sums, self.resampled_weights) + gaps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]


def _ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    return np.divide(sums, weights, out=np.full_like(sums, np.nan), where=weights > 0)
