"""Results that are rows and sentences: shown as a screen, given as a frame; and the check of costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import DissensusError
from dissensus.core.screen import Screen, Shown

if TYPE_CHECKING:
    import polars as pl


class Rows(Shown):
    """A result with rows, and sentences about them; subclasses are frozen dataclasses with a field ``rows``.

    Where there is a field ``notes``, it holds what has to be known to read the rows.
    """

    rows: tuple[dict[str, Any], ...]

    def words(self) -> list[str]:
        """Say what it is about, and what came out, a sentence each."""
        raise NotImplementedError

    def summary(self) -> pl.DataFrame:
        """Return the rows that matter first."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return all rows as a frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), infer_schema_length=None)

    def screen(self) -> Screen:
        """Return what is seen first of it."""
        title, *told = self.words()
        shown = self.summary()
        table = {name: [_cell(value) for value in shown[name].to_list()] for name in shown.columns}
        notes: tuple[str, ...] = getattr(self, "notes", ())
        return Screen(title, "", table, tuple(told), notes, records=self.to_frame().to_dicts())


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
