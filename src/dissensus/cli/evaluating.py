"""``dissensus evaluate`` and ``dissensus compare``: models against uncertain annotations."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options
from dissensus.errors import DissensusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from dissensus.evaluation.results import Evaluation


def evaluate(
    file: options.AnnotationFile,
    predictions: Annotated[
        list[str], typer.Option("--predictions", metavar="NAME=FILE", help="A model's predictions. Repeat as needed.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Directory to write the results into.")],
    aggregation: Annotated[
        list[str] | None,
        typer.Option("--aggregation", metavar="NAME:1,2,3", help="An aggregation and its reliabilities. Repeat."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME:K", help="A metric, e.g. top-k-accuracy:3. Repeat.")
    ] = None,
    strata: Annotated[
        Path | None, typer.Option("--strata", help="Table with a case column and columns to group cases by.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws per case.")] = 1000,
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all processors by default.")] = None,
    level: Annotated[float, typer.Option(help="Probability that intervals hold.")] = 0.9,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Evaluate the cases that all models have.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the directory if it exists.")] = False,
    format: options.FormatOption = None,  # noqa: A002 - the word users expect
    conditions: options.ConditionsOption = None,
    column: options.ColumnOption = None,
    tie_separator: options.TieOption = None,
    bucket_order: options.BucketOption = None,
    unranked: options.UnrankedOption = None,
) -> None:
    """Evaluate models against draws of the plausibilities instead of one label.

    [bold]Examples[/bold]

      dissensus evaluate opinions.csv --predictions A=a.csv --predictions B=b.npz --out results

      dissensus evaluate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --metric set-accuracy:2
      --out results
    """
    from rich.console import Console

    from dissensus.aggregation.naming import aggregations_from
    from dissensus.cli.progress import announce_compilation, progress_of_cases
    from dissensus.evaluation.evaluating import default_aggregations
    from dissensus.evaluation.evaluating import evaluate as evaluated
    from dissensus.evaluation.storing import save_evaluation
    from dissensus.metrics import named_metric
    from dissensus.predictions.reading import read_models

    _refuse_existing(out, overwrite=overwrite)
    chosen = [a for text in aggregation or [] for a in aggregations_from(text)] or list(default_aggregations())
    metrics = [named_metric(text) for text in metric] if metric else None
    said = options.examine(
        file,
        format=format,
        conditions=conditions,
        column=column,
        tie_separator=tie_separator,
        bucket_order=bucket_order,
        unranked=unranked,
    ).annotations
    models = read_models(predictions, conditions=said.conditions, cases=said.case_names, allow_missing=allow_missing)
    announce_compilation()
    with progress_of_cases("evaluating", said.n_cases * len(chosen)) as advance:
        result = evaluated(
            said,
            models,
            aggregations=chosen,
            metrics=metrics,
            draws=draws,
            seed=seed,
            threads=threads,
            strata=read_strata(strata, said.case_names),
            level=level,
            allow_missing=allow_missing,
            advance=advance,
        )
    paths = [file, *(Path(text.partition("=")[2] or text) for text in predictions)]
    save_evaluation(result, out, overwrite=overwrite, inputs={path.name: _hash(path) for path in paths})
    console = Console(soft_wrap=True)
    console.print(summary_table(result))
    console.print(repr(result), markup=False, highlight=False)
    console.print(f"-> {out}", markup=False, highlight=False)


def _refuse_existing(out: Path, *, overwrite: bool) -> None:
    if out.exists() and not overwrite:
        raise DissensusError(
            "the output directory exists already", got=str(out), advice="choose another one, or add --overwrite"
        )


def _hash(path: Path) -> str:
    if path.is_dir():
        return ""
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def read_strata(path: Path | None, case_names: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Read columns that group cases, aligned to the cases by name."""
    if path is None:
        return None
    from dissensus.annotations.tables import find_columns
    from dissensus.errors import listing
    from dissensus.files import open_source

    source = open_source(path)
    if not source.is_table:
        raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=str(path))
    case = find_columns(source.table.columns, {}, required=("case",))["case"]
    rows = {str(row[case]): row for row in source.table.iter_rows(named=True)}
    missing = [name for name in case_names if name not in rows]
    if missing:
        raise DissensusError(
            "some cases have no stratum", got=f"{len(missing)} cases: {listing(missing)}", where=str(path)
        )
    return {name: [str(rows[c][name]) for c in case_names] for name in source.table.columns if name != case}


def summary_table(result: Evaluation) -> Table:
    """Show every model and metric: adjusted value with interval, point estimate, optimism."""
    from rich.table import Table
    from rich.text import Text

    table = Table("aggregation", "model", "metric", "adjusted", "interval", "point estimate", "optimism")
    for row in result.to_frame().iter_rows(named=True):
        name = row["aggregation"] if row["reliability"] is None else f"{row['aggregation']} {row['reliability']:g}"
        point = "-" if row["point_estimate"] is None else f"{row['point_estimate']:.3f}"
        optimism = "-" if row["optimism"] is None else f"{row['optimism']:+.3f}"
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        cells = (name, row["model"], row["metric"], f"{row['mean']:.3f}", interval, point, optimism)
        table.add_row(*(Text(cell) for cell in cells))
    return table


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

    from dissensus.errors import suggestion
    from dissensus.evaluation.storing import load_evaluation
    from dissensus.files import write_table

    result = load_evaluation(results)
    names = [measure.name for measure in result.measures]
    if metric is not None and metric not in names:
        raise DissensusError(
            f"there is no metric {metric!r}", expected=", ".join(names), advice=suggestion(metric, names)
        )
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

    table = Table("aggregation", "metric", "difference", "interval", "P(first better)", "verdict")
    for row in rows:
        name = row["aggregation"] if row["reliability"] is None else f"{row['aggregation']} {row['reliability']:g}"
        difference = f"{row['first']} - {row['second']}: {row['difference']:+.3f}"
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
        cells = (name, row["metric"], difference, interval, f"{row['probability_better']:.2f}", row["verdict"])
        table.add_row(*(Text(cell) for cell in cells))
    return table
