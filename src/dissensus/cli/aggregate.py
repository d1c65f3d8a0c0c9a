"""``dissensus aggregate``: from opinions to soft labels with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    from dissensus.aggregation.base import Aggregation
    from dissensus.study.study import Study


@options.bundled
def aggregate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, typer.Option("--out", help="Where to: .parquet, .csv, .tsv or .jsonl.")],
    spec: Mapping[str, Any],
    draws: options.DrawsOption = 1000,
    seed: options.SeedOption = 0,
    threads: options.ThreadsOption = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Draw until the Monte Carlo error of every case's top-1 certainty is below this."),
    ] = None,
    draws_out: Annotated[Path | None, typer.Option("--draws-out", help="Write every draw as well (Parquet).")] = None,
    said: Mapping[str, Any],
) -> None:
    """Infer plausibilities: posterior mean, spread and top-1 share of every condition of every case.

    [bold]Examples[/bold]

      dissensus aggregate opinions.csv --out soft.parquet

      dissensus aggregate opinions.csv --aggregation plackett-luce --reliability 3 --out soft.csv

      dissensus aggregate scores.csv --aggregation normal-inverse-gamma --thresholds 0 --out soft.csv
    """
    from dissensus.core.files import table_writer

    chosen = options.chosen_aggregation(spec)
    for path in (out, draws_out or out):
        table_writer(path)
    annotations = options.examine_for([chosen], file, said).study
    _run(chosen, annotations, out, draws_out, draws=draws, seed=seed, threads=threads, precision=precision)


def _run(
    aggregation: Aggregation,
    annotations: Study,
    out: Path,
    draws_out: Path | None,
    *,
    draws: int,
    seed: int,
    threads: int | None,
    precision: float | None,
) -> None:
    import time

    from dissensus.aggregation.diagnostics import sampling_diagnostics
    from dissensus.cli.progress import compile_on_first_use, progress_of_cases
    from dissensus.cli.terminal import say
    from dissensus.core.errors import listing
    from dissensus.core.files import write_table

    compile_on_first_use()
    began = time.perf_counter()
    plausibilities = aggregation.sample(annotations, draws=draws, seed=seed, threads=threads, precision=precision)
    with progress_of_cases("aggregating", plausibilities.n_cases) as advance:
        soft = plausibilities.summary(advance=advance)
    write_table(soft, out)
    if draws_out is not None:
        write_table(plausibilities.to_frame(), draws_out)
    seconds = time.perf_counter() - began
    speed = plausibilities.n_cases / seconds
    say(f"{aggregation}", style="bold")
    say(f"  {plausibilities}")
    say(f"  {seconds:.2f} s, {speed:,.0f} cases/s, including compilation if any")
    if plausibilities.excluded:
        say(f"  ! without any opinion, left out: {listing(plausibilities.excluded)}", style="yellow")
    if plausibilities.n_draws > 1:
        for warning in sampling_diagnostics(plausibilities).warnings():
            say(f"  ! {warning}", style="yellow")
    say(f"  -> {out}")
