"""``dissensus aggregate``: from opinions to soft labels with their uncertainty."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from dissensus.cli import options, progress
from dissensus.cli.options import option
from dissensus.cli.terminal import say
from dissensus.core.errors import DissensusError, listing


@options.bundled
def aggregate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Where to: .parquet, .csv, .tsv or .jsonl.")],
    spec: Mapping[str, Any],
    how: Mapping[str, Any],
    precision: Annotated[
        float | None, option("Draw until the Monte Carlo error of every case's top-1 certainty is below this.")
    ] = None,
    draws_out: Annotated[Path | None, option("Write every draw as well (Parquet).")] = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> None:
    """Infer plausibilities: posterior mean, spread and top-1 share of every condition of every case.

    [bold]Examples[/bold]

      dissensus aggregate opinions.csv --out soft.parquet

      dissensus aggregate opinions.csv --aggregation plackett-luce --reliability 3 --out soft.csv

      dissensus aggregate scores.csv --aggregation normal-inverse-gamma --thresholds 0 --out soft.csv
    """
    from dissensus.aggregation.diagnostics import sampling_diagnostics
    from dissensus.core.output import checked_table_target, table_writer, write_table, written_whole

    targets = [out] if draws_out is None else [out, draws_out]
    for target in targets:
        checked_table_target(target, overwrite=overwrite, inputs=(file, said["conditions"]))
    if draws_out is not None and out.resolve() == draws_out.resolve():
        raise DissensusError("--out and --draws-out are the same file", got=str(out))
    study, chosen = options.read_for(spec, file, said)
    progress.compile_on_first_use(aggregations=[chosen])
    began = time.perf_counter()
    drawn = chosen.sample(study, precision=precision, **how)
    with progress.shown("aggregating", drawn.n_cases) as advance:
        soft = drawn.summary(advance=advance)
    with written_whole(out, overwrite=overwrite) as temporary:  # both tables or none
        table_writer(out)(soft, temporary)
        if draws_out is not None:
            write_table(drawn.to_frame(), draws_out, overwrite=overwrite)
    seconds = time.perf_counter() - began
    say(f"{chosen}", style="bold")
    say(f"  {drawn}")
    say(f"  {seconds:.2f} s, {drawn.n_cases / seconds:,.0f} cases/s, including compilation if any")
    if drawn.excluded:
        say(f"  ! without any opinion, left out: {listing(drawn.excluded)}", style="yellow")
    if drawn.n_draws > 1:
        for warning in sampling_diagnostics(drawn).warnings():
            say(f"  ! {warning}", style="yellow")
    say(f"  -> {out}")
