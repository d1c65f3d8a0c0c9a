"""What results of this package have in common: rows that become a frame, words, and one look everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import DissensusError
from dissensus.core.names import visible

if TYPE_CHECKING:
    import polars as pl

# How many rows a result shows by itself.
SHOWN = 10


class Rows:
    """A result with rows, and sentences about them; subclasses are frozen dataclasses with a field ``rows``."""

    rows: tuple[dict[str, Any], ...]

    def words(self) -> list[str]:
        """Say what came out, a sentence per line."""
        raise NotImplementedError

    def summary(self) -> pl.DataFrame:
        """Return the rows that matter first."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return all rows as a frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), infer_schema_length=None)

    def __repr__(self) -> str:
        shown = aligned(self.summary().head(SHOWN).to_dicts())
        rest = len(self.summary()) - SHOWN
        more = [f"  {rest} more rows: to_frame()"] if rest > 0 else []
        return "\n".join([*self.words()[: 8 - len(more)], *shown, *more])

    def _repr_html_(self) -> str:
        from html import escape

        words = "".join(f"<p>{escape(visible(line))}</p>" for line in self.words())
        return words + self.summary().head(SHOWN)._repr_html_()


def aligned(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write rows as lines of equal columns, numbers to four digits.

    >>> aligned([{"case": "a", "gain": 0.25}, {"case": "bb", "gain": None}])
    ['  case  gain', '  a     0.25', '  bb    -']
    """
    if not rows:
        return []
    cells = [[_cell(row[name]) for name in rows[0]] for row in rows]
    table = [list(rows[0]), *cells]
    widths = [max(len(line[i]) for line in table) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
    ]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value))


def check_share(**values: float) -> None:
    """Refuse numbers that are not between 0 and 1.

    >>> check_share(alpha=1.5)
    Traceback (most recent call last):
    dissensus.core.errors.DissensusError: alpha must lie between 0 and 1
      expected: above 0 and below 1
      got:      1.5
    """
    for name, value in values.items():
        if not 0 < value < 1:
            raise DissensusError(
                f"{name} must lie between 0 and 1", expected="above 0 and below 1", got=f"{float(value):g}"
            )


def checked_costs(costs: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """Return what a case, an opinion and so on cost, 1 by default; each must be positive.

    >>> checked_costs({"opinion": 5}, ("case", "opinion"))
    {'case': 1.0, 'opinion': 5.0}
    """
    from dissensus.core.names import known_name

    found = dict.fromkeys(names, 1.0)
    for name, value in (costs or {}).items():
        if not 0 < value < float("inf"):
            raise DissensusError(
                f"the cost of one {name} must be positive",
                expected="a positive number",
                got=f"{float(value):g}",
                advice="costs are relative: give what is cheap a small number, such as 0.01",
            )
        found[known_name("cost", name, names)] = float(value)
    return found
