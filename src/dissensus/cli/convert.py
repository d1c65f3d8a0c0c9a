"""``dissensus convert``: any format in, the canonical long form out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import options


def convert(
    file: options.AnnotationFile,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Where to: .csv, .tsv, .parquet, .jsonl or .json.", readable=False),
    ],
    format: options.FormatOption = None,  # noqa: A002 - the word users expect
    conditions: options.ConditionsOption = None,
    column: options.ColumnOption = None,
    tie_separator: options.TieOption = None,
    bucket_order: options.BucketOption = None,
    unranked: options.UnrankedOption = None,
) -> None:
    """Write opinions in the canonical long form, one row per mentioned condition; nothing is lost.

    [bold]Examples[/bold]

      dissensus convert export.json opinions.csv

      dissensus convert selectors.json opinions.parquet --conditions conditions.txt
    """
    from rich.console import Console
    from rich.text import Text

    from dissensus.study.canonical import write_annotations
    from dissensus.study.diagnosis import plural

    reading = options.examine(
        file,
        format=format,
        conditions=conditions,
        column=column,
        tie_separator=tie_separator,
        bucket_order=bucket_order,
        unranked=unranked,
    )
    said = reading.rankings
    write_annotations(said, out)
    console = Console()
    for note in reading.notes:
        console.print(Text(f"  ! {note}", style="yellow"))
    what = f"{plural(said.n_cases, 'case')}, {plural(said.n_rankings, 'ranking')}"
    console.print(Text(f"{file} ({reading.format}) -> {out}: {what}"), soft_wrap=True)
