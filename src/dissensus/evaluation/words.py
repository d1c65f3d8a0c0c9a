"""Counts, shares, probabilities and differences as sentences and tables write them."""

from __future__ import annotations

import math

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
    r"""Write a p-value; the least that resamples can tell is not zero.

    >>> small_probability(0.0312), small_probability(0.0002), small_probability(1.0)
    ('0.031', 'under 0.001', '1.000')
    """
    return f"under {LEAST:g}" if value < LEAST else number(value)


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a dash where there is none; one more digit where rounding would make it 1 or -1.

    >>> number(0.5), number(0.998, 2), number(1.0, 2), number(None) == NOTHING
    ('0.500', '0.998', '1.00', True)
    """
    if value is None or math.isnan(value):
        return NOTHING
    nearly = abs(value) < 1 <= round(abs(value), digits)
    return f"{value:.{digits + nearly}f}".replace("-", MINUS)


def value(found: float | None, digits: int = 3) -> str:
    """Write the value of a metric: undefined where it has none, a dash where it was not computed.

    >>> value(0.5), value(float("nan"))
    ('0.500', 'undefined')
    """
    return "undefined" if found is not None and math.isnan(found) else number(found, digits)


def amount(difference: float, *, is_share: bool) -> str:
    r"""Write the size of a difference: of shares in percentage points.

    >>> amount(-0.031, is_share=True), amount(0.01, is_share=True), amount(2.5, is_share=False)
    ('3.1\xa0points', '1.0\xa0point', '2.500')
    """
    if not is_share:
        return f"{abs(difference):.3f}"
    points = round(100 * abs(difference), 1)
    return f"{points:.1f}\xa0{'point' if points == 1 else 'points'}"


def is_visible(difference: float, *, is_share: bool) -> bool:
    """Tell whether anything of a difference is left when it is written.

    >>> is_visible(0.0004, is_share=True), is_visible(0.0006, is_share=True)
    (False, True)
    """
    return round(abs(difference), 3) > 0 if not is_share else round(100 * abs(difference), 1) > 0


def signed(difference: float, *, is_share: bool) -> str:
    r"""Write a difference with its sign.

    >>> signed(0.031, is_share=True), signed(0.0, is_share=True)
    ('+3.1\xa0points', '0.0\xa0points')
    """
    sign = "" if not is_visible(difference, is_share=is_share) else "+" if difference > 0 else MINUS
    return sign + amount(difference, is_share=is_share)
