"""``dissensus aggregate``: from opinions to soft labels with their uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options
from dissensus.errors import DissensusError

if TYPE_CHECKING:
    from dissensus.aggregation import Aggregation
    from dissensus.annotations.rankings import Annotations
    from dissensus.annotations.ratings import Ratings

MODEL = "The aggregation"


def aggregate(
    file: options.AnnotationFile,
    out: Annotated[Path, typer.Option("--out", help="Where to: .parquet, .csv, .tsv or .jsonl.")],
    aggregation: Annotated[
        str,
        typer.Option(
            "--aggregation",
            help="plackett-luce, probabilistic-inverse-rank, dirichlet, inverse-rank, plackett-luce-ml, "
            "majority-vote, annotator-bootstrap; normal-inverse-gamma for ratings.",
            rich_help_panel=MODEL,
        ),
    ] = "plackett-luce",
    reliability: Annotated[
        float | None, typer.Option(help="How much to trust annotators; larger is more.", rich_help_panel=MODEL)
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Prior mass of each condition.", rich_help_panel=MODEL)] = None,
    prior: Annotated[
        str | None, typer.Option(help="Prior of Plackett-Luce: observed or symmetric.", rich_help_panel=MODEL)
    ] = None,
    ties: Annotated[
        str | None, typer.Option(help="Weight of tied conditions in IRN: shared or each.", rich_help_panel=MODEL)
    ] = None,
    chains: Annotated[int | None, typer.Option(help="Chains of the sampler.", rich_help_panel=MODEL)] = None,
    warmup: Annotated[
        int | None, typer.Option(help="Sweeps that each chain throws away.", rich_help_panel=MODEL)
    ] = None,
    thresholds: Annotated[
        str | None, typer.Option(help="Limits between intervals of ratings, comma-separated.", rich_help_panel=MODEL)
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws per case.")] = 1000,
    seed: Annotated[int, typer.Option(help="Same seed, same draws.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all processors by default.")] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Draw until the Monte Carlo error of every case's top-1 certainty is below this."),
    ] = None,
    draws_out: Annotated[Path | None, typer.Option("--draws-out", help="Write every draw as well (Parquet).")] = None,
    format: options.FormatOption = None,  # noqa: A002 - the word users expect
    conditions: options.ConditionsOption = None,
    column: options.ColumnOption = None,
    tie_separator: options.TieOption = None,
    bucket_order: options.BucketOption = None,
    unranked: options.UnrankedOption = None,
) -> None:
    """Infer plausibilities: posterior mean, spread and top-1 share of every condition of every case.

    [bold]Examples[/bold]

      dissensus aggregate opinions.csv --out soft.parquet

      dissensus aggregate opinions.csv --aggregation plackett-luce --reliability 3 --out soft.csv

      dissensus aggregate scores.csv --aggregation normal-inverse-gamma --thresholds 0 --out soft.csv
    """
    given = {
        "reliability": reliability,
        "alpha": alpha,
        "prior": prior,
        "ties": ties,
        "chains": chains,
        "warmup": warmup,
        "thresholds": _numbers(thresholds),
    }
    from dissensus.files import table_writer

    chosen = _chosen(aggregation, given)
    for path in (out, draws_out or out):
        table_writer(path)
    annotations = _opinions(
        file,
        ratings=aggregation == "normal-inverse-gamma",
        format=format,
        conditions=conditions,
        column=column,
        tie_separator=tie_separator,
        bucket_order=bucket_order,
        unranked=unranked,
    )
    _run(chosen, annotations, out, draws_out, draws=draws, seed=seed, threads=threads, precision=precision)


def _chosen(name: str, given: dict[str, Any]) -> Aggregation:
    from dissensus.aggregation import named_aggregation

    return named_aggregation(name, {key: value for key, value in given.items() if value is not None})


def _numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise DissensusError(
            "--thresholds is not understood", expected="numbers separated by commas", got=repr(text)
        ) from None


def _opinions(file: Path, *, ratings: bool, **reading: Any) -> Annotations | Ratings:
    if ratings:
        from dissensus.annotations.ratings import read_ratings

        return read_ratings(file, columns=options.column_roles(reading["column"]))
    return options.examine(file, **reading).annotations


def _run(
    aggregation: Aggregation,
    annotations: Annotations | Ratings,
    out: Path,
    draws_out: Path | None,
    *,
    draws: int,
    seed: int,
    threads: int | None,
    precision: float | None,
) -> None:
    import time

    from rich.console import Console
    from rich.text import Text

    from dissensus.aggregation.diagnostics import sampling_diagnostics
    from dissensus.cli.progress import announce_compilation, progress_of_cases
    from dissensus.errors import listing
    from dissensus.files import write_table

    announce_compilation()
    began = time.perf_counter()
    plausibilities = aggregation.sample(annotations, draws=draws, seed=seed, threads=threads, precision=precision)
    with progress_of_cases("aggregating", plausibilities.n_cases) as advance:
        soft = plausibilities.summary(advance=advance)
    write_table(soft, out)
    if draws_out is not None:
        write_table(plausibilities.to_frame(), draws_out)
    seconds = time.perf_counter() - began
    console = Console(soft_wrap=True)
    speed = plausibilities.n_cases / seconds
    console.print(Text(f"{aggregation}", style="bold"))
    console.print(f"  {plausibilities}")
    console.print(f"  {seconds:.2f} s, {speed:,.0f} cases/s, including compilation if any")
    if plausibilities.excluded:
        console.print(Text(f"  ! without any opinion, left out: {listing(plausibilities.excluded)}", style="yellow"))
    if plausibilities.n_draws > 1:
        for warning in sampling_diagnostics(plausibilities).warnings():
            console.print(Text(f"  ! {warning}", style="yellow"))
    console.print(Text(f"  -> {out}"))
