"""``dissensus aggregate``: from opinions to soft labels with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    import polars as pl

    from dissensus.aggregation.base import Aggregation
    from dissensus.draws import Plausibilities
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
    overwrite: options.OverwriteOption = False,
    said: Mapping[str, Any],
) -> None:
    """Infer plausibilities: posterior mean, spread and top-1 share of every condition of every case.

    [bold]Examples[/bold]

      dissensus aggregate opinions.csv --out soft.parquet

      dissensus aggregate opinions.csv --aggregation plackett-luce --reliability 3 --out soft.csv

      dissensus aggregate scores.csv --aggregation normal-inverse-gamma --thresholds 0 --out soft.csv
    """
    _check(out, draws_out, overwrite=overwrite, inputs=(file, said["conditions"]))
    annotations, chosen = options.read_for(spec, file, said)
    wanted = {"draws": draws, "seed": seed, "threads": threads, "precision": precision}
    _run(chosen, annotations, out, draws_out, wanted=wanted, overwrite=overwrite)


def _check(out: Path, draws_out: Path | None, *, overwrite: bool, inputs: tuple[Path | None, ...]) -> None:
    """Refuse what would fail only after all the work."""
    from dissensus.core.errors import DissensusError
    from dissensus.core.output import checked_table_target

    checked_table_target(out, overwrite=overwrite, inputs=inputs)
    if draws_out is None:
        return
    checked_table_target(draws_out, overwrite=overwrite, inputs=inputs)
    if out.resolve() == draws_out.resolve():
        raise DissensusError("--out and --draws-out are the same file", got=str(out))


def _run(
    aggregation: Aggregation,
    annotations: Study,
    out: Path,
    draws_out: Path | None,
    *,
    wanted: Mapping[str, Any],
    overwrite: bool,
) -> None:
    import time

    from dissensus.aggregation.diagnostics import sampling_diagnostics
    from dissensus.cli.progress import compile_on_first_use, progress_of_cases
    from dissensus.cli.terminal import say
    from dissensus.core.errors import listing

    compile_on_first_use(aggregations=[aggregation])
    began = time.perf_counter()
    plausibilities = aggregation.sample(annotations, **wanted)
    with progress_of_cases("aggregating", plausibilities.n_cases) as advance:
        soft = plausibilities.summary(advance=advance)
    _write(plausibilities, soft, out, draws_out, overwrite=overwrite)
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


def _write(
    plausibilities: Plausibilities, soft: pl.DataFrame, out: Path, draws_out: Path | None, *, overwrite: bool
) -> None:
    """Write both tables or none."""
    from dissensus.core.output import table_writer, write_table, written_whole

    with written_whole(out, overwrite=overwrite) as temporary:
        table_writer(out)(soft, temporary)
        if draws_out is not None:
            write_table(plausibilities.to_frame(), draws_out, overwrite=overwrite)
