"""One number of the paper beside ours: what was printed, what came out, how it was computed, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray

if TYPE_CHECKING:
    import polars as pl

Verdict: TypeAlias = Literal["agrees", "differs", "not comparable", "not in the paper"]
VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "not comparable", "not in the paper")

REPEATS = 200
"""How often numbers are shaken to find how much Monte Carlo errors move what is computed from them."""


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints, and how far ours may be from it.

    Examples
    --------
    >>> claim = Printed(0.59, 0.02)
    >>> claim.holds(0.6), claim.text(".2f"), claim.refutation(".2f")
    (True, '0.59 (± 0.02)', 'outside 0.57 to 0.61')
    """

    value: float
    tolerance: float

    def holds(self, ours: float) -> bool:
        """Tell whether our number is near enough."""
        return abs(ours - self.value) <= self.tolerance + 1e-12

    def text(self, form: str) -> str:
        """Write the number as rows do, with its tolerance."""
        return self.limit(form)

    def limit(self, form: str) -> str:
        """Write the same; a printed number needs no reading."""
        return written(self.value, form) + (f" (± {written(self.tolerance, form)})" if self.tolerance else "")

    def refutation(self, form: str) -> str:
        """Say what would have been "differs"."""
        low, high = (written(self.value + side * self.tolerance, form) for side in (-1, 1))
        return f"outside {low} to {high}" if self.tolerance else f"any other number than {low}"


@dataclass(frozen=True)
class AtLeast:
    """A claim of the paper that a number is not below a limit; ``words`` are its own where it gives no number."""

    value: float
    words: str = ""

    def holds(self, ours: float) -> bool:
        """Tell whether our number reaches the limit."""
        return ours >= self.value

    def text(self, form: str) -> str:
        """Write the limit as rows do."""
        return _claimed(self.words, self.limit(form))

    def limit(self, form: str) -> str:
        """Write what the words are taken to mean."""
        return f"at least {written(self.value, form)}"

    def refutation(self, form: str) -> str:
        """Say what would have been "differs"."""
        return f"below {written(self.value, form)}"


@dataclass(frozen=True)
class AtMost:
    """A claim of the paper that a number is not above a limit; ``words`` are its own where it gives no number."""

    value: float
    words: str = ""

    def holds(self, ours: float) -> bool:
        """Tell whether our number stays within the limit."""
        return ours <= self.value

    def text(self, form: str) -> str:
        """Write the limit as rows do."""
        return _claimed(self.words, self.limit(form))

    def limit(self, form: str) -> str:
        """Write what the words are taken to mean."""
        return f"at most {written(self.value, form)}"

    def refutation(self, form: str) -> str:
        """Say what would have been "differs"."""
        return f"above {written(self.value, form)}"


@dataclass(frozen=True)
class Between:
    """A claim of the paper in words that is taken to mean a range, for example "roughly 1 %"."""

    low: float
    high: float
    words: str

    @property
    def value(self) -> float:
        """The middle of the range."""
        return (self.low + self.high) / 2

    def holds(self, ours: float) -> bool:
        """Tell whether our number is in the range."""
        return self.low <= ours <= self.high

    def text(self, form: str) -> str:
        """Write the range as rows do."""
        return _claimed(self.words, self.limit(form))

    def limit(self, form: str) -> str:
        """Write what the words are taken to mean."""
        return f"{written(self.low, form)} to {written(self.high, form)}"

    def refutation(self, form: str) -> str:
        """Say what would have been "differs"."""
        return f"outside {written(self.low, form)} to {written(self.high, form)}"


Claim: TypeAlias = Printed | AtLeast | AtMost | Between


def _claimed(words: str, limit: str) -> str:
    """Keep apart what the paper says and the limit that it is taken to mean."""
    return f'"{words}", taken as {limit}' if words else limit


def written(value: float, form: str) -> str:
    """Write a number in the form of its row; a share of one is 100 %.

    >>> written(0.382, ".1%"), written(178, ",.0f")
    ('38.2 %', '178')
    """
    return format(value, form).replace("%", " %")


def small(error: float, form: str) -> str:
    """Write an error with as many digits as it takes to see it, up to three more than the number has.

    >>> small(0.00042, ".2f"), small(0.002, ".1%"), small(0.0, ".2f")
    ('0.0004', '0.2 %', '0')
    """
    digits = int(form.rpartition(".")[2][0])
    finer = [f".{digits + more}{form[-1]}" for more in range(4)]
    seen = [text for text in (written(error, one) for one in finer) if text.strip("0.% ")]
    return seen[0] if seen else "0"


@dataclass(frozen=True)
class Row:
    """Compare one number.

    Attributes
    ----------
    section, quantity
        Which experiment, and what was measured.
    ours, error
        Our number, and its Monte Carlo standard error; missing where nothing random enters, or none is known.
    settings
        How it was computed.
    paper
        What the paper prints or claims, if anything.
    reason
        Why it differs, or what to know about it.
    is_comparable
        Whether it was computed from what the paper used; not so for simulated stand-ins.
    form
        How numbers are written.
    """

    section: str
    quantity: str
    ours: float
    error: float | None
    settings: str
    paper: Claim | None = None
    reason: str = ""
    is_comparable: bool = True
    form: str = ".2f"

    @property
    def verdict(self) -> Verdict:
        """Say whether our number agrees with the paper."""
        if self.paper is None:
            return "not in the paper"
        if not self.is_comparable:
            return "not comparable"
        return "agrees" if self.paper.holds(self.ours) else "differs"

    @property
    def refutation(self) -> str:
        """What would have been judged as "differs"; nothing where the paper says nothing."""
        return "" if self.paper is None else self.paper.refutation(self.form)

    @property
    def words(self) -> str:
        """What the paper says in words instead of a number, if it does."""
        return "" if self.paper is None or isinstance(self.paper, Printed) else self.paper.words

    @property
    def limit_text(self) -> str:
        """What the paper's words are taken to mean, as text."""
        return "" if self.paper is None else self.paper.limit(self.form)

    @property
    def tolerance(self) -> float | None:
        """How far our number may be from a printed one."""
        return self.paper.tolerance if isinstance(self.paper, Printed) else None

    @property
    def explanation(self) -> str:
        """The reason; a difference is never left without one."""
        if self.reason or self.verdict != "differs":
            return self.reason
        return "outside the tolerance; are these the published files, and enough draws?"

    @property
    def paper_text(self) -> str:
        """What the paper says, as text; a dash if nothing."""
        return "-" if self.paper is None else self.paper.text(self.form)

    @property
    def ours_text(self) -> str:
        """Our number with its Monte Carlo error, as text."""
        if self.error is None:
            return written(self.ours, self.form)
        return f"{written(self.ours, self.form)} ± {small(self.error, self.form)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything about the row as plain values."""
        return {
            "section": self.section,
            "quantity": self.quantity,
            "paper": None if self.paper is None else self.paper_text,
            "paper_value": None if self.paper is None else self.paper.value,
            "tolerance": self.tolerance,
            "ours": _finite(self.ours),
            "monte_carlo_error": _finite(self.error),
            "settings": self.settings,
            "words": self.words,
            "differs_if": self.refutation,
            "verdict": self.verdict,
            "reason": self.explanation,
        }


def _finite(value: float | None) -> float | None:
    """Leave out what is not a number: JSON has no word for it."""
    return float(value) if value is not None and np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Section:
    """Hold what one experiment gives: its rows, and small frames for the figures."""

    title: str
    rows: tuple[Row, ...]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def judged(self) -> Section:
        """The same with the rows that the paper has a number or words for."""
        return replace(self, rows=tuple(row for row in self.rows if row.paper is not None))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the rows, each once, so that they can be numbered."""
        return tuple(dict.fromkeys(row.explanation for row in self.rows if row.explanation))


@dataclass(frozen=True)
class Settings:
    """How much to draw: ``draws`` per case, ``sweep_draws`` at the reliabilities that only the main figure needs."""

    draws: int = 1000
    sweep_draws: int = 250
    seed: int = 0
    threads: int | None = None


def shaken_error(
    statistic: Callable[[FloatArray], float], values: FloatArray, errors: FloatArray, *, seed: int = 0
) -> float:
    """Estimate the Monte Carlo error of what is computed from many numbers that each have one.

    Every number is moved by normal noise of its own error, again and again; the result is the standard deviation of the
    statistic.

    Examples
    --------
    >>> round(shaken_error(np.mean, np.zeros(100), np.ones(100)), 1)
    0.1
    """
    rng = np.random.default_rng(seed)
    moved = (values + errors * rng.standard_normal(len(values)) for _ in range(REPEATS))
    return float(np.std([statistic(each) for each in moved]))
