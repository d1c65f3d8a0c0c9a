"""Where conditions stand in the predictions of a model: how many are better, and how many are tied.

The standing of a condition is two counts over all K conditions: ``above``, those strictly better, and ``tied``, those
as good, itself included. With ties broken at random it is among the first j with probability
``clip((j - above) / tied, 0, 1)``. Standings are written out for the support of each case only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled


class Standings(NamedTuple):
    """Hold the standings of the supports of some cases, side by side: how many are better, and how many as good."""

    above: IntArray
    tied: IntArray


def predicted_standings(
    offsets: IntArray,
    codes: IntArray,
    values: FloatArray,
    rows: IntArray,
    support_offsets: IntArray,
    support: IntArray,
    n: int,
) -> tuple[Standings, FloatArray]:
    """Find the standing and the value of every mentioned condition in the predictions of a model.

    Parameters
    ----------
    offsets, codes, values
        The listed conditions of the cases of the model, best first; all others are tied below them with the value
        zero. These arrays are read-only, as predictions are.
    rows : (n_cases,)
        Where each case stands among those of the model.
    support_offsets, support
        Codes of the mentioned conditions of each case.
    n
        Number of conditions, K.

    Returns
    -------
    Standings and values, each of shape (sum of U,).
    """
    standings = Standings(np.empty(len(support), dtype=np.int64), np.empty(len(support), dtype=np.int64))
    found, member_of = np.zeros(len(support)), np.full(n, -1, dtype=np.int64)
    look_up(offsets, codes, values, rows, support_offsets, support, member_of, standings, found)
    return standings, found


@compiled
def look_up(
    offsets: IntArray,
    codes: IntArray,
    values: FloatArray,
    rows: IntArray,
    support_offsets: IntArray,
    support: IntArray,
    member_of: IntArray,
    standings: Standings,
    found: FloatArray,
) -> None:
    """Do what :func:`predicted_standings` says; ``member_of`` (K,) is -1 before and after, ``found`` zero before."""
    above, tied = standings
    n = len(member_of)
    for case in range(len(support_offsets) - 1):
        start, stop = offsets[rows[case]], offsets[rows[case] + 1]
        first, last = support_offsets[case], support_offsets[case + 1]
        for member in range(first, last):
            member_of[support[member]] = member
            above[member], tied[member] = stop - start, n - (stop - start)
        missing = last - first
        entry = start
        while entry < stop and missing > 0:
            end = entry + 1
            while end < stop and values[end] == values[entry]:
                end += 1
            for tie in range(entry, end):
                member = member_of[codes[tie]]
                if member >= 0:
                    above[member], tied[member], found[member] = entry - start, end - entry, values[entry]
                    missing -= 1
            entry = end
        for member in range(first, last):
            member_of[support[member]] = -1
