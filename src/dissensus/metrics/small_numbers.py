"""Remarks of metrics that rest on next to nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.metrics.data_set import Said

FEWEST = 5.0
"""With fewer cases than this, weighted and expected, a share of them says next to nothing."""


def few(what: str, amounts: Sequence[float] | FloatArray, totals: Sequence[float] | FloatArray) -> tuple[str, ...]:
    """Say that there are few cases of a kind, if there are.

    Parameters
    ----------
    what
        What the cases are, such as "positive".
    amounts, totals
        How many there are, and how many cases there are at all, for each question.

    Examples
    --------
    >>> few("positive", [2.25], [500.0])
    ('only 2.2 of 500 cases are positive',)
    >>> few("positive", [2.25, 80.0], [500.0, 500.0])
    ('in 1 of 2 questions fewer than 5 cases are positive',)
    """
    scarce = [(amount, total) for amount, total in zip(amounts, totals, strict=True) if amount < FEWEST]
    if not scarce:
        return ()
    if len(amounts) == 1:
        amount, total = scarce[0]
        verb = "is" if amount == 1 else "are"
        return (f"only {_written(amount)} of {_written(total)} cases {verb} {what}",)
    return (f"in {len(scarce)} of {len(amounts)} questions fewer than {FEWEST:g} cases are {what}",)


def _written(amount: float) -> str:
    return f"{amount:.1f}".removesuffix(".0")


def question_masses(said: Said, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the positive mass of each question, and all of it, at the masses ``labels`` (K, n_cases).

    >>> said = Said.of_scores(np.array([[0.2, 0.8], [0.6, 0.4]]), is_binary=True)
    >>> question_masses(said, np.array([[0.0, 0.5], [1.0, 0.5]]))
    (array([1.5]), array([2.]))
    """
    weighted = labels * said.weights
    totals = weighted.sum(axis=0)
    asked = said.questions
    positive = np.array([weighted[one.condition, one.rows].sum() for one in asked])
    return positive, np.array([totals[one.rows].sum() for one in asked])
