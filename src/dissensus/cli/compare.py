"""``dissensus compare``: which model is better, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.evaluation.comparison import Difference


def compare(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Directory that `dissensus evaluate` wrote.")],
    metric: Annotated[
        str | None, typer.Option("--metric", help="Only this metric, by its name in the results.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option("--margin", help="Largest difference that does not matter: adds verdicts of equivalence."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the table: .csv, .tsv, .parquet or .jsonl.")] = None,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Compare models on the same draws and cases: difference, interval, probability, or not distinguishable.

    [bold]Examples[/bold]

      dissensus compare results

      dissensus compare results --metric "top-3 accuracy" --out comparison.csv
    """
    from dissensus.cli.terminal import say, show
    from dissensus.core.output import checked_table_target, write_table
    from dissensus.evaluation.sentences import flips, plain
    from dissensus.evaluation.store import FILES, load_evaluation

    if out is not None:
        checked_table_target(out, overwrite=overwrite, inputs=[results / name for name in FILES])
    result = load_evaluation(results)
    if metric is not None:
        result.metric(metric)
    comparison = result.compare(margin=margin)
    if out is not None:
        table = comparison.to_frame()
        write_table(table.filter(table["metric"] == metric) if metric is not None else table, out, overwrite=overwrite)
    show(comparison_table([d for d in comparison.differences if metric in (None, d.metric)]))
    for sentence in flips(comparison):
        say(f"  ! the order flips: {plain(sentence)}")


def comparison_table(differences: Iterable[Difference]) -> Table:
    """Show how pairs of models compare."""
    from dissensus.cli.grid import grid
    from dissensus.evaluation.sentences import probability_better

    rows = [
        (
            found.run,
            found.metric,
            f"{found.first} - {found.second}: {found.difference:+.3f}",
            f"{found.low:+.3f} to {found.high:+.3f}",
            probability_better(found),
            found.verdict,
        )
        for found in differences
    ]
    return grid(("run", "metric", "difference", "interval", "P(first better)", "verdict"), rows)
