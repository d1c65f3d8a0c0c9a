"""Checks that several parts share: numbers, choices, lengths; each raises one clear error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError


def check_positive(**values: float) -> None:
    """Refuse parameters that are not positive and finite."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
            raise DissensusError(
                f"{name} must be a positive, finite number",
                got=repr(value),
                advice=_advice(name, value),
            )


def _advice(name: str, value: object) -> str:
    if name != "reliability":
        return ""
    if value == np.inf:
        return "unlimited trust is what the deterministic aggregations are: InverseRank, PlackettLuceML, MajorityVote"
    return (
        "use a small value for little trust; for no uncertainty at all use InverseRank, PlackettLuceML or MajorityVote"
    )


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of a few words."""
    if value not in choices:
        raise DissensusError(f"{name} is not understood", expected=" or ".join(map(repr, choices)), got=repr(value))


def check_count(**values: int) -> None:
    """Refuse counts below one."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise DissensusError(f"{name} must be a whole number, one or more", got=repr(value))


def check_seed(seed: int) -> None:
    """Refuse seeds that are not 64-bit whole numbers."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise DissensusError("seed must be a whole number from 0 to 2**64 - 1", got=repr(seed))


def check_length(what: str, got: int, expected: int, *, where: str = "") -> None:
    """Refuse a list that is shorter or longer than what it describes."""
    if got != expected:
        raise DissensusError(f"the number of {what}s does not fit", expected=str(expected), got=str(got), where=where)


def check_offsets(what: str, offsets: IntArray, n_rows: int, n_elements: int) -> None:
    """Refuse offsets that do not lead from the first element to the last."""
    check_length(what, len(offsets), n_rows + 1)
    if offsets[0] != 0 or offsets[-1] != n_elements or (np.diff(offsets) < 0).any():
        raise DissensusError(f"the {what}s are not in order", expected=f"ascending numbers from 0 to {n_elements}")


def check_weights(what: str, weights: FloatArray) -> None:
    """Refuse weights that are negative, infinite or not a number."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DissensusError(
            f"{what} must be finite and not negative",
            got=f"{weights[wrong[0]]} at position {wrong[0] + 1}",
        )


def equal_fields(one: Any, other: Any) -> bool:
    """Compare two dataclasses of one type field by field, arrays by content."""
    pairs = ((getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)
