"""``dissensus compare``: which model is better, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dissensus.cli import options
from dissensus.cli.options import option
from dissensus.cli.terminal import grid, say, show

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.evaluation.comparison import Difference


def compare(
    results: options.ResultsDirectory,
    metric: options.MetricName = None,
    margin: Annotated[
        float | None,
        option(
            "Largest difference that does not matter: verdicts then also say whether a model is not worse by more than "
            "that, or both are equivalent."
        ),
    ] = None,
    out: Annotated[Path | None, option("Write the table: .csv, .tsv, .parquet or .jsonl.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Compare models on the same draws and cases: difference, interval, probability, p-value and verdict.

    By every estimand: against a large panel first, adjusted, and agreement with single annotators. p-values are
    adjusted by Holm's method over all pairs and metrics; below 30 cases, or 5 groups of them, there is no verdict.

    [bold]Examples[/bold]

      dissensus compare results

      dissensus compare results --metric "top-3 accuracy" --out comparison.csv
    """
    from dissensus.core.output import checked_table_target, write_table
    from dissensus.evaluation.results import PANEL
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
    wanted = [found for found in comparison.differences if metric in (None, found.metric)]
    wanted.sort(key=lambda found: found.estimand != PANEL)
    for _, of_place in groupby(wanted, key=placed):
        show(comparison_table(list(of_place)))
    for sentence in flips(comparison):
        say(f"  ! the order flips: {plain(sentence)}")


def comparison_table(differences: Sequence[Difference]) -> Table:
    """Show how pairs of models compare by one estimand, metric and run."""
    from dissensus.evaluation.sentences import probability_better
    from dissensus.evaluation.words import small_probability

    rows = [
        (
            f"{found.first} - {found.second}: {found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
            probability_better(found),
            small_probability(found.p_adjusted),
            found.verdict,
        )
        for found in differences
    ]
    names = ("difference [interval]", "first better", "p by Holm", "verdict")
    return grid(names, rows, title=placed(differences[0]))


def placed(found: Difference) -> str:
    """Say by what models are compared: estimand, metric and run.

    >>> from dissensus.evaluation.comparison import Difference
    >>> placed(Difference("dirichlet 1", "dirichlet", 1.0, "adjusted", "top-1 accuracy", "A", "B", 0.02, -0.01, 0.05,
    ...                   0.88, 0.24, 0.24))
    'adjusted top-1 accuracy, dirichlet 1'
    """
    from dissensus.evaluation.results import AGREEMENT

    run = "" if found.estimand in (AGREEMENT, found.run) else f", {found.run}"
    return f"{found.estimand} {found.metric}{run}"
