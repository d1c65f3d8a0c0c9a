"""``dissensus validate``: understand a file of opinions, or say precisely what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options
from dissensus.cli.terminal import say
from dissensus.core.errors import listing

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.study.diagnosis import Diagnosis

MOST_NAMES = 12
"""How many columns of one role are named."""


@options.bundled
def validate(
    *,
    file: options.AnnotationFile,
    said: Mapping[str, Any],
    as_json: Annotated[bool, options.option("Print all of it as JSON.", "--json")] = False,
) -> None:
    """Read opinions and print what was understood: the role of every column, assumptions, counts, what was skipped.

    [bold]Examples[/bold]

      dissensus validate opinions.csv

      dissensus validate labels.csv --column case=image --tie-separator '|'

      dissensus validate selectors.json --conditions conditions.txt --json
    """
    from dissensus.study.diagnosis import diagnose

    reading = options.examine(file, said)
    found = diagnose(reading.study)
    if as_json:
        typer.echo(json.dumps({"file": str(file), "receipt": reading.receipt.to_dict(), **found.to_dict()}, indent=2))
    else:
        show_reading(reading.receipt, found)


def show_reading(receipt: Receipt, found: Diagnosis) -> None:
    """Print a receipt whole, with the diagnosis of what was read."""
    say(f"{receipt.path}: read as {receipt.understood}", style="bold")
    _section("", list(found.lines().items()))
    roles = receipt.roles().items()
    rows = [(role or "not used", listing(names, most=MOST_NAMES), reason) for (role, reason), names in roles]
    _section("columns", rows)
    _section("assumed", [(sentence,) for sentence in receipt.assumed])
    _section("for example", [(sentence,) for sentence in receipt.examples])
    for remark in (*map(str, receipt.notes), *found.remarks()):
        say(f"  ! {remark}", style="yellow")
    say("  everything was used" if receipt.everything_was_used else "  everything else was used", style="green")


def show_diagnosis(title: str, found: Diagnosis) -> None:
    """Print what a study holds that was not read from a file."""
    say(title, style="bold")
    _section("", list(found.lines().items()))
    for remark in found.remarks():
        say(f"  ! {remark}", style="yellow")


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows of cells under a title, wrapped to the width of the terminal; nothing if there are none."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dissensus.core.names import visible

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 4 if title else 2))
    for cells in rows:
        table.add_row(*(Text(visible(cell), overflow="fold") for cell in cells))
    if table.row_count:
        if title:
            say(f"  {title}", style="bold")
        Console().print(table)
