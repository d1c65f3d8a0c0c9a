"""What reaches the terminal: text and tables with nothing hidden in them, in an encoding that the terminal has."""

from __future__ import annotations

import codecs
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

# Signs of our own that an ASCII terminal shows in another way.
PLAIN = str.maketrans(
    {"\u2212": "-", "\u2013": "-", "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~", "…": "...", "\u00d7": "x"}
)


def prepare() -> None:
    """Let no character end a command: what the terminal cannot show is written in plain signs or as an escape."""
    codecs.register_error("dissensus.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="dissensus.plain")

    def show_warning(message: Warning | str, *_: object, **__: object) -> None:
        """Say a warning in one line, without the place in the code that only a programmer looks for."""
        from dissensus.core.names import visible

        say(f"warning: {visible(str(message))}", style="yellow", stderr=True)

    warnings.showwarning = show_warning


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def say(text: str, *, style: str = "", stderr: bool = False) -> None:
    r"""Print lines; whatever names in them hold is shown and never obeyed.

    >>> say("model \x1b[31mA")
    model \x1b[31mA
    """
    from rich.console import Console
    from rich.text import Text

    from dissensus.core.names import visible

    lines = "\n".join(map(visible, text.split("\n")))
    Console(stderr=stderr, soft_wrap=True).print(Text(lines, style=style))


def show(table: Table) -> None:
    """Print a table, whose cells are visible text."""
    from rich.console import Console

    Console(soft_wrap=True).print(table)


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


def filled(cells: Mapping[str, str], rows: Iterable[Mapping[str, Any]], *, words: int = 1, title: str = "") -> Table:
    """Lay out rows by a format for every column; after the first ones, as many as ``words``, come numbers.

    >>> filled({"model": "{model}", "value": "{mean:.2f}"}, [{"model": "A", "mean": 0.5}]).row_count
    1
    """
    texts = ([form.format(**row) for form in cells.values()] for row in rows)
    return grid(tuple(cells), texts, numbers=len(cells) - words, title=title)
