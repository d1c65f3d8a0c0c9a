"""Sums that do not depend on the order of what is added: whole numbers of a small unit, in two parts.

Floating-point sums differ in their last digits with the order and the grouping of what is added, so that an evaluation
in parts would differ from that of the whole. Here every number is first rounded to a whole number of units of 2^-60;
whole numbers add up to the same in any order. The high part counts units of 2^-12, the low part what is left over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.value import Value

# Binary digits behind the point that the high part counts, and that are kept at all.
HIGH, LOW = 12, 60

CARRY = LOW - HIGH

# Larger numbers, and those that are not finite, are added as they are: their order may matter.
LARGEST = 2.0**24

# How many numbers are added before the low part is carried over: it has room for as many.
AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Exact(Value):
    """Hold sums of numbers.

    Attributes
    ----------
    high, low : (...)
        The sum is ``high * 2^-12 + low * 2^-60``; low is zero or more, and less than one unit of high.
    beyond : (...)
        Sum of numbers that are too large, or not finite.

    Examples
    --------
    >>> values = np.array([0.1, 0.2, 0.3, 1e9])
    >>> one, other = Exact.of(values).summed(0), Exact.of(values[::-1]).summed(0)
    >>> one == other, float(one.rounded())
    (True, 1000000000.6)
    """

    high: IntArray
    low: IntArray
    beyond: FloatArray

    @staticmethod
    def of(values: FloatArray) -> Exact:
        """Round numbers to whole units."""
        fits = np.abs(values) < LARGEST
        plain = values if fits.all() else np.where(fits, values, 0.0)
        high = np.rint(np.ldexp(plain, HIGH))
        low = np.rint(np.ldexp(plain - np.ldexp(high, -HIGH), LOW))
        beyond = np.zeros(values.shape) if plain is values else np.where(fits, 0.0, values)
        return carried(high.astype(np.int64), low.astype(np.int64), beyond)

    @staticmethod
    def zeros(*shape: int) -> Exact:
        """Return the sum of nothing."""
        return Exact(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    def __add__(self, other: Exact) -> Exact:
        return carried(self.high + other.high, self.low + other.low, self.beyond + other.beyond)

    def summed(self, axis: int) -> Exact:
        """Sum along an axis."""
        size = self.high.shape[axis]
        total = self.arranged(lambda part: part.take(range(min(size, AT_ONCE)), axis).sum(axis))
        for first in range(AT_ONCE, size, AT_ONCE):
            some = range(first, min(size, first + AT_ONCE))
            total = total + self.arranged(partial(_sum_of, some=some, axis=axis))
        return total

    def __getitem__(self, places: Any) -> Exact:
        return Exact(self.high[places], self.low[places], self.beyond[places])

    def arranged(self, change: Callable[..., Any]) -> Exact:
        """Change the shape of all parts alike, or sum over some of their axes."""
        return carried(*(np.asarray(change(part)) for part in (self.high, self.low, self.beyond)))

    def rounded(self) -> FloatArray:
        """Return the sums as numbers."""
        return np.asarray(np.ldexp(self.high.astype(np.float64), -HIGH) + np.ldexp(self.low, -LOW) + self.beyond)


def _sum_of(part: npt.NDArray[Any], *, some: range, axis: int) -> npt.NDArray[Any]:
    return np.asarray(part.take(some, axis).sum(axis))


def carried(high: IntArray, low: IntArray, beyond: FloatArray) -> Exact:
    """Carry what the low part has too much, or lacks, over to the high part: there is one way to write a sum."""
    over = low >> CARRY
    return Exact(high + over, low - (over << CARRY), beyond)
