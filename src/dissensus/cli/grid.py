"""Tables on the terminal: names in them are visible text, whatever they hold, and are folded rather than cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def grid(names: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0, title: str = "") -> Table:
    """Lay out rows of text; the last columns, as many as ``numbers`` says, stand to the right.

    They may have several lines; in all others, where names are, a line end is shown and never obeyed.

    A row whose first cell is not empty begins a section if any other row's is.

    >>> grid(["model", "value"], [("[b]A", "0.5")], numbers=1).row_count
    1
    """
    from rich.table import Column, Table
    from rich.text import Text

    from dissensus.core.names import visible

    first = len(names) - numbers
    columns = [
        Column(Text(visible(name)), justify="left" if place < first else "right", overflow="fold")
        for place, name in enumerate(names)
    ]
    table = Table(*columns, title=Text(visible(title)) if title else None)
    cells = [tuple(row) for row in rows]
    has_sections = any(not row[0] for row in cells)
    for row in cells:
        if has_sections and row[0]:
            table.add_section()
        lines = (cell.split("\n") if place >= first else [cell] for place, cell in enumerate(row))
        table.add_row(*(Text("\n".join(map(visible, cell))) for cell in lines))
    return table
