"""Checks that several parts share: numbers, choices, lengths; each raises one clear error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError

SMALLEST, GREATEST = 1e-9, 1e9
"""Limits of reliabilities, prior masses and weights: within them products and sums stay far from where floats end."""

MOST = {
    "draws": 10**7,
    "threads": 1024,
    "workers": 1024,
    "chains": 1000,
    "warmup": 10**6,
    "conditions": 10**6,
    "n_annotators": 10**6,
}
"""Largest counts, by name of the parameter; any other may be up to a thousand million."""

TRUST = (
    "use a small value for little trust; for no uncertainty at all use",
    "unlimited trust is what the deterministic aggregations are:",
)
"""What to do about a reliability that is out of range, and about an infinite one."""


def check_positive(**values: float) -> None:
    """Refuse parameters that are not positive, or so small or large that arithmetic fails."""
    for name, value in values.items():
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not SMALLEST <= value <= GREATEST:
            trust = TRUST[isinstance(value, float) and value == np.inf] if name == "reliability" else ""
            raise DissensusError(
                f"{name} must be a positive, finite number",
                expected=f"{SMALLEST:g} to {GREATEST:g}",
                got=repr(value),
                advice=trust and f"{trust} InverseRank, PlackettLuceML or MajorityVote",
            )


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise DissensusError(f"{name} is not understood", expected=" or ".join(map(repr, choices)), got=repr(value))


def check_count(**values: int) -> None:
    """Refuse counts below one, and those that no computer could serve."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise DissensusError(f"{name} must be a whole number, one or more", got=repr(value))
        check_most(name, value)


def check_most(name: str, value: int) -> None:
    """Refuse counts above the largest that is served."""
    most = MOST.get(name, 10**9)
    if value > most:
        raise DissensusError(f"{name} is too large", expected=f"at most {most:,}", got=str(value))


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
    """Refuse weights that are negative, infinite or not a number, or so small or large that arithmetic fails."""
    wrong = np.flatnonzero(~((weights == 0) | ((weights >= SMALLEST) & (weights <= GREATEST))))
    if len(wrong):
        raise DissensusError(
            f"{what} must be finite and not negative",
            expected=f"0, or {SMALLEST:g} to {GREATEST:g}",
            got=f"{weights[wrong[0]]} at position {wrong[0] + 1}",
        )
