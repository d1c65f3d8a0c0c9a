"""Counts, shares, probabilities and differences as sentences write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MINUS = "\N{MINUS SIGN}"

# Stands where there is no number.
NOTHING = "\N{EN DASH}"

# Probabilities nearer to 0 or 1 than this are not told apart from it, however many draws there are.
LEAST = 0.001


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """Count a noun, with separators.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "category", "categories")
    ('1 case', '1,200 cases', '2 categories')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    r"""Write the share of things that can be counted, without claiming all or nothing where that is not so.

    The space before the sign does not break.

    >>> percent(0.591), percent(0.9999), percent(1.0), percent(0.002)
    ('59\xa0%', 'over 99\xa0%', '100\xa0%', 'under 1\xa0%')
    """
    if 0 < share < 0.005:
        return "under 1\xa0%"
    if 0.995 <= share < 1:
        return "over 99\xa0%"
    return f"{100 * share:.0f}\xa0%"


def probability(chance: float, n_draws: int) -> str:
    r"""Write a probability that was found by counting draws; draws that all agree do not make it certain.

    >>> probability(0.591, 1000), probability(0.997, 1000), probability(1.0, 1000), probability(0.0, 80)
    ('59\xa0%', '99.7\xa0%', 'over 99.9\xa0%', 'under 1.3\xa0%')
    """
    if math.isnan(chance):
        return NOTHING
    room = min(max(1 / n_draws, LEAST), 0.5)
    if chance > 1 - room:
        return f"over {math.floor(1000 * (1 - room)) / 10:g}\xa0%"
    if chance < room:
        return f"under {math.ceil(1000 * room) / 10:g}\xa0%"
    return f"{100 * chance:.0f}\xa0%" if 0.01 <= chance <= 0.99 else f"{100 * chance:.1f}\xa0%"


def small_probability(value: float) -> str:
    """Write a p-value.

    >>> small_probability(0.0312), small_probability(0.0002), small_probability(1.0)
    ('0.031', '< 0.001', '1.000')
    """
    return f"< {LEAST:g}" if value < LEAST else number(value)


def p_values(alone: float, adjusted: float) -> str:
    """Write a p-value, and beside it the one that Holm's adjustment makes of it, where that is another.

    >>> p_values(0.0031, 0.0482), p_values(0.0002, math.nan), p_values(0.0002, 0.0004)
    ('p = 0.003 (Holm-adjusted 0.048)', 'p < 0.001', 'p < 0.001')
    """
    plain, many = small_probability(alone), small_probability(adjusted)
    told = f"p {'' if plain.startswith('<') else '= '}{plain}"
    return told if many in (plain, NOTHING) else f"{told} (Holm-adjusted {many})"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a dash where there is none; one more digit where rounding would make it 1 or -1.

    >>> number(0.5), number(0.998, 2), number(1.0, 2), number(None) == NOTHING
    ('0.500', '0.998', '1.00', True)
    """
    if value is None or math.isnan(value):
        return NOTHING
    nearly = abs(value) < 1 <= round(abs(value), digits)
    return f"{value:.{digits + nearly}f}".replace("-", MINUS)


def interval(
    row: Mapping[str, Any] | None, name: str = "mean", low: str = "low", high: str = "high", *, undefined: str = NOTHING
) -> str:
    """Write a value with its interval, or a dash where there is none; undefined values may be called so.

    >>> interval({"mean": 0.5, "low": 0.25, "high": 0.75}), interval(None) == NOTHING
    ('0.50 [0.25, 0.75]', True)
    """
    if row is None or row[name] is None or math.isnan(row[name]):
        return NOTHING if row is None else undefined
    return f"{number(row[name], 2)} [{number(row[low], 2)}, {number(row[high], 2)}]"
