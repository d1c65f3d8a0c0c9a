"""Who reads which case, and what simulators share: numbered names, and models of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.names import check_names
from dissensus.core.ragged import offsets_from_lengths
from dissensus.study.panel import Panel

Seen = TypeVar("Seen")


def numbered(title: str, count: int) -> tuple[str, ...]:
    """Name things by their number, from one.

    >>> numbered("case", 2)
    ('case 1', 'case 2')
    """
    return tuple(f"{title} {number + 1}" for number in range(count))


def crossed(readers_per_case: IntArray, annotators: IntArray, names: tuple[str, ...]) -> Panel:
    """Return who reads which case: how many annotators each case has, and who they are, case by case."""
    return Panel(
        case_names=numbered("case", len(readers_per_case)),
        opinion_offsets=offsets_from_lengths(readers_per_case),
        annotators=annotators,
        annotator_names=names,
    )


def opinion_chances(opinions: tuple[int, int], n_annotators: int) -> FloatArray:
    """Return the chance of 1, 2, ... annotators: the same from the least to the greatest number."""
    is_pair = len(opinions) == 2 and all(isinstance(number, int) for number in opinions)
    if not is_pair or not 1 <= opinions[0] <= opinions[1] <= n_annotators:
        raise DissensusError(
            "there cannot be so many opinions on a case",
            expected=f"two whole numbers, 1 <= least <= most <= {n_annotators}",
            got=repr(opinions),
        )
    least, most = opinions
    return np.asarray((np.arange(1, most + 1) >= least) / (most - least + 1))


def known_models(models: Mapping[str, Seen], kind: type[Seen]) -> Mapping[str, Seen]:
    """Refuse what is no model that can be simulated."""
    check_names("model", tuple(models))
    for name, one in models.items():
        if not isinstance(one, kind):
            raise DissensusError(
                "this is not what a model sees", expected=f"{kind.__name__}(...)", got=f"{name}: {one!r:.60}"
            )
    return models
