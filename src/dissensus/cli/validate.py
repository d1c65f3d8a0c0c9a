"""``dissensus validate``: understand a file of opinions, or say precisely what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    from dissensus.study.diagnosis import Diagnosis


@options.bundled
def validate(
    *,
    file: options.AnnotationFile,
    said: Mapping[str, Any],
    as_json: Annotated[bool, typer.Option("--json", help="Print the diagnosis as JSON.")] = False,
) -> None:
    """Read opinions and print what was found: counts, ties, duplicates, and what was skipped.

    [bold]Examples[/bold]

      dissensus validate opinions.csv

      dissensus validate labels.csv --column case=image --tie-separator '|'

      dissensus validate selectors.json --conditions conditions.txt --json
    """
    from dissensus.study.diagnosis import diagnose

    reading = options.examine(file, said)
    found = diagnose(reading.study, format=reading.format, notes=reading.notes)
    if as_json:
        typer.echo(json.dumps({"file": str(file), **found.to_dict()}, indent=2))
    else:
        show(file, found)


def show(file: Path, found: Diagnosis) -> None:
    """Print a diagnosis as a table, the notes, and a closing word."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dissensus.cli.terminal import say
    from dissensus.core.names import visible

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    for label, value in found.lines().items():
        table.add_row(label, Text(visible(value)))
    say(f"{visible(str(file))}: understood as {found.format}", style="bold")
    Console().print(table)
    for remark in found.remarks():
        say(f"  ! {visible(remark)}", style="yellow")
    lost = any(note.lost for note in found.notes)
    say("  everything else was used" if lost else "  everything was used", style="green")
