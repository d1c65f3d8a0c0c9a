"""``dissensus compare``: which model is better, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table


def compare(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Directory that `dissensus evaluate` wrote.")],
    metric: Annotated[
        str | None, typer.Option("--metric", help="Only this metric, by its name in the results.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the table: .csv, .tsv, .parquet or .jsonl.")] = None,
) -> None:
    """Compare models on the same draws and cases: difference, interval, probability, or not distinguishable.

    [bold]Examples[/bold]

      dissensus compare results

      dissensus compare results --metric "top-3 accuracy" --out comparison.csv
    """
    from rich.console import Console

    from dissensus.core.files import write_table
    from dissensus.evaluation.store import load_evaluation

    result = load_evaluation(results)
    if metric is not None:
        result.metric(metric)
    comparison = result.compare()
    table = comparison.to_frame()
    chosen = table.filter(table["metric"] == metric) if metric is not None else table
    if out is not None:
        write_table(chosen, out)
    console = Console(soft_wrap=True)
    console.print(_comparison_table(chosen.iter_rows(named=True)))
    for row in comparison.flips().iter_rows(named=True):
        text = f"the order of {row['first']} and {row['second']} flips: {row['first']} leads in {row['first_better']}"
        console.print(f"  ! {text}; {row['second']} in {row['second_better']}", markup=False, highlight=False)


def _comparison_table(rows: Iterable[dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("run", "metric", "difference", "interval", "P(first better)", "verdict")
    for row in rows:
        difference = f"{row['first']} - {row['second']}: {row['difference']:+.3f}"
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
        cells = (row["run"], row["metric"], difference, interval, f"{row['probability_better']:.2f}", row["verdict"])
        table.add_row(*(Text(cell) for cell in cells))
    return table
