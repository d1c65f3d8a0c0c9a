"""How often all findings of a case are right at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.metrics.confusion import decisions
from dissensus.metrics.data_set import DataSetMetric, Said, Truth


@dataclass(frozen=True)
class SubsetAccuracy(DataSetMetric):
    """Share of cases of which all findings are right; where there is one question, of cases that are called right.

    Findings that were not assessed do not count. With ``truth="soft"``, and where conditions are tied, it is the
    product over the findings, as if they were independent.

    Parameters
    ----------
    threshold
        A finding is called present if its score is at least this; None: if the model puts it first.
    truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> SubsetAccuracy().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.667])
    """

    id = "subset-accuracy"
    meaning = "The share of cases of which the model calls every finding right."
    accepts = ("scores", "ranking")
    scale = "logit"
    short_name = "subset accuracy"

    threshold: float | None = None
    truth: Truth = "top"

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the share of cases that are right, weighted."""
        parts = self._parts(said, labels)
        total, right = parts.weights.sum(axis=1), (parts.weights * parts.right).sum(axis=1)
        return np.asarray(np.divide(right, total, out=np.full(total.shape, np.nan), where=total > 0))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Differentiate the weight of each case and the share of each finding that is right."""
        parts = self._parts(said, labels[None])
        item, total = parts.item, float(parts.weights.sum())
        if not total:
            return np.full(labels.shape, np.nan)
        value = float((parts.weights * parts.right).sum() / total)
        masses, shares = parts.masses[0], parts.shares[0]
        counts = np.maximum(np.bincount(item, masses > 0), 1)
        by_weight = ((parts.right[0] - value) / counts)[item]
        others = _products_of_others(shares, item)
        calls = decisions(said, self.threshold).T
        by_share = (parts.weights[0][item] * others / np.where(masses > 0, masses, 1.0)) * (calls - shares)
        return np.where(masses > 0, by_weight + by_share, 0.0) / total

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Count all cases."""
        return float(self._parts(said, labels[None]).weights.sum())

    def _parts(self, said: Said, labels: FloatArray) -> _Parts:
        """Find how much of each row is right (n_draws, n), then of each case (n_draws, n_items)."""
        total, hits = labels.sum(axis=1), np.zeros((len(labels), said.n_cases))
        for k, calls in enumerate(decisions(said, self.threshold).T):
            hits += labels[:, k] * calls
        is_known = (total > 0) & (said.weights > 0)
        shares = np.divide(hits, total, out=np.ones_like(total), where=is_known)
        masses = total * said.weights
        item = _in_order_of_rows(said.items)
        if item.max(initial=0) + 1 == said.n_cases:  # one question: nothing to multiply
            return _Parts(item, masses, shares, shares, masses)
        order = np.argsort(item, kind="stable")
        begins = np.flatnonzero(np.diff(item[order], prepend=-1))
        right = np.multiply.reduceat(shares[:, order], begins, axis=1)
        counts = np.add.reduceat(is_known[:, order].astype(np.float64), begins, axis=1)
        weights = np.add.reduceat(masses[:, order], begins, axis=1) / np.maximum(counts, 1)
        return _Parts(item, masses, shares, right, weights)


class _Parts(NamedTuple):
    """Masses and right shares of rows (n_draws, n), and right shares and weights of cases (n_draws, n_items)."""

    item: IntArray
    masses: FloatArray
    shares: FloatArray
    right: FloatArray
    weights: FloatArray


def _in_order_of_rows(items: IntArray) -> IntArray:
    """Give cases numbers as they first occur (n,), so that sums over them follow the order of rows, not of names.

    >>> _in_order_of_rows(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(items, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _products_of_others(shares: FloatArray, item: IntArray) -> FloatArray:
    """Multiply the shares of all other rows of a case (n,); where one is zero, nothing can be divided by it.

    >>> _products_of_others(np.array([0.5, 0.0, 0.25]), np.array([0, 0, 1]))
    array([0. , 0.5, 1. ])
    """
    is_zero = shares == 0
    zeros = np.bincount(item, is_zero)[item] - is_zero
    logs = np.log(np.where(is_zero, 1.0, shares))
    sums = np.bincount(item, logs)[item] - logs
    return np.where(zeros > 0, 0.0, np.exp(sums))
