"""Conditions that one ranking mentions again: counted over the whole study, then refused or left out."""

from __future__ import annotations

from typing import get_args

import numpy as np

from dissensus.core.aliases import BoolArray, Duplicates, FloatArray, IntArray
from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run
from dissensus.study.panel import Panel, place_of

SHORT_RANKING = 12
"""Longer rankings are sorted to find a condition that is mentioned twice."""

SHOWN = 3
KEPT = {"first": "left out, the first mention counts", "best": "left out, the mention with the best rank counts"}


def check_mentioned_once(
    conditions: tuple[str, ...], panel: Panel, ranking_of_mention: IntArray, codes: IntArray
) -> None:
    """Refuse rankings that mention one condition twice; the mentions of a ranking stand together."""
    if not _may_repeat(ranking_of_mention, codes):
        return
    keys = np.sort(ranking_of_mention * len(conditions) + codes)
    twice = keys[1:][~begins_run(keys)[1:]]
    if len(twice):
        rankings, first = np.unique(twice // len(conditions), return_index=True)
        places = [_place(conditions, panel, int(key)) for key in twice[first[:SHOWN]]]
        mentions = f"{len(twice):,} repeated mention{'s' if len(twice) > 1 else ''}"
        raise DissensusError(
            f"condition {conditions[int(twice[0]) % len(conditions)]!r} is mentioned twice by one annotator",
            expected="every condition at most once in a ranking",
            got=f"{mentions} in {len(rankings):,} ranking{'s' if len(rankings) > 1 else ''}",
            where="; ".join(places) + (f"; and {len(rankings) - SHOWN:,} more" if len(rankings) > SHOWN else ""),
            advice="tell repeated rankings apart (annotation column), or say which mention counts: duplicates='first' "
            "or 'best' (--duplicates first)",
        )


def _may_repeat(ranking_of_mention: IntArray, codes: IntArray) -> bool:
    """Compare each mention with the next few: enough to clear short rankings, which nearly all are, without sorting."""
    for shift in range(1, SHORT_RANKING):
        together = ranking_of_mention[shift:] == ranking_of_mention[:-shift]
        if not together.any():
            return False
        if (together & (codes[shift:] == codes[:-shift])).any():
            return True
    return True


def _place(conditions: tuple[str, ...], panel: Panel, key: int) -> str:
    ranking, code = divmod(key, len(conditions))
    return f"{place_of(panel, ranking)}, condition {conditions[code]!r}"


def without_repeats(
    duplicates: Duplicates,
    conditions: tuple[str, ...],
    panel: Panel,
    ranking: IntArray,
    rank: FloatArray,
    codes: IntArray,
    mentioned: BoolArray,
) -> tuple[BoolArray, tuple[Note, ...]]:
    """Mark the mentions that count, one per ranking and condition, and note how many others there are.

    All arrays have one entry per row; a smaller rank is better.
    """
    check_choice("duplicates", duplicates, get_args(Duplicates))
    if duplicates == "refuse":
        return mentioned, ()
    rows = np.flatnonzero(mentioned)
    keys = ranking[rows] * len(conditions) + codes[rows]
    order = np.lexsort((rank[rows], keys)) if duplicates == "best" else np.argsort(keys, kind="stable")
    again = order[~begins_run(keys[order])]
    if not len(again):
        return mentioned, ()
    kept = mentioned.copy()
    kept[rows[again]] = False
    places = tuple(_place(conditions, panel, int(key)) for key in np.unique(keys[again])[:SHOWN])
    return kept, (Note("repeated mentions of a condition", len(again), KEPT[duplicates], places, lost=True),)
