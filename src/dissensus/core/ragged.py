"""Arithmetic of ragged arrays: offsets say where each row of a flat array begins and ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dissensus.core.arrays import BoolArray, FloatArray, IntArray, KeyArray


def frozen(values: object, dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """Return the values as a read-only array of its own, of 64-bit integers unless another type is said."""
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def offsets_from_lengths(lengths: Iterable[int] | IntArray) -> IntArray:
    """Turn the lengths of rows into offsets, one more than there are rows.

    >>> offsets_from_lengths([2, 0, 1])
    array([0, 2, 2, 3])
    """
    sizes = np.fromiter(lengths, dtype=np.int64) if not isinstance(lengths, np.ndarray) else lengths
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def row_of_each(offsets: IntArray) -> IntArray:
    """Name the row of every element.

    >>> row_of_each(np.array([0, 2, 2, 3]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def take_rows(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Select rows: the offsets of the selection, and the positions of its elements.

    >>> take_rows(np.array([0, 2, 2, 3]), np.array([2, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    selected = offsets_from_lengths(np.diff(offsets)[rows])
    shift = np.repeat(offsets[rows] - selected[:-1], np.diff(selected))
    return selected, np.arange(selected[-1], dtype=np.int64) + shift


def join_offsets(parts: Iterable[IntArray]) -> IntArray:
    """Put ragged arrays one after the other.

    >>> join_offsets([np.array([0, 2]), np.array([0, 1, 1])])
    array([0, 2, 3, 3])
    """
    return offsets_from_lengths(np.concatenate([np.diff(part) for part in parts]))


def weighted_counts(rows: IntArray, weights: FloatArray, n_rows: int) -> FloatArray:
    """Sum weights (..., n) by the row that each belongs to, shape (..., n_rows).

    >>> weighted_counts(np.array([0, 2, 0]), np.array([1.0, 2.0, 0.5]), 3)
    array([1.5, 0. , 2. ])
    """
    if weights.ndim > 1:
        found = [weighted_counts(rows, own, n_rows) for own in weights.reshape(-1, weights.shape[-1])]
        return np.array(found, dtype=np.float64).reshape(*weights.shape[:-1], n_rows)
    return np.bincount(rows, weights=weights, minlength=n_rows).astype(np.float64, copy=False)


class Average(NamedTuple):
    """A weighted mean and its standard error."""

    mean: float
    error: float


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Multiply arrays (..., n) and (n,) or (n, m) as ``left @ right`` does, but in one order.

    A product by BLAS has other bits with other numbers of its threads, and results must not.

    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    return np.asarray(np.einsum("...i,i->..." if right.ndim == 1 else "...i,ij->...j", left, right))


def clustered(values: FloatArray, weights: FloatArray, clusters: IntArray) -> Average:
    """Average values; the standard error lets those of one cluster depend on each other.

    >>> clustered(np.array([1.0, 1.0, 3.0, 3.0]), np.ones(4), np.array([0, 0, 1, 1]))
    Average(mean=2.0, error=1.0)
    """
    total = weights.sum()
    mean = float(product(weights, values) / total) if total > 0 else np.nan
    if not np.isfinite(mean):
        return Average(mean, np.nan)
    _, number = np.unique(clusters, return_inverse=True)
    sums = weighted_counts(number.astype(np.int64), weights * (values - mean), int(number.max()) + 1)
    n = len(sums)
    error = float(np.sqrt(np.square(sums).sum() * n / (n - 1)) / total) if n > 1 else float("nan")
    return Average(mean, error)


def first_of_most(values: IntArray | FloatArray, offsets: IntArray) -> IntArray:
    """Return the place of the largest value of every row that is not empty, the first if there are several.

    >>> first_of_most(np.array([1, 3, 3, 2, 0]), np.array([0, 3, 3, 5]))
    array([1, 3])
    """
    begins = offsets[:-1][np.diff(offsets) > 0]
    if not len(begins):
        return np.empty(0, dtype=np.int64)
    lengths = np.diff(np.append(begins, len(values)))
    largest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, begins), lengths))
    return largest[begins_run(np.repeat(begins, lengths)[largest])]


def begins_run(*columns: IntArray | FloatArray | KeyArray) -> BoolArray:
    """Mark every element at which any of the columns changes; the first is always marked."""
    begins = np.zeros(len(columns[0]), dtype=np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins
