"""Commands on files of opinions: ``validate``, ``convert`` and ``aggregate``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options, progress
from dissensus.cli.options import argument, option
from dissensus.cli.terminal import say
from dissensus.core.errors import DissensusError, listing

if TYPE_CHECKING:
    from dissensus.study.diagnosis import Diagnosis

# How many columns of one role are named.
MOST_NAMES = 12


@options.bundled
def validate(
    *,
    file: options.AnnotationFile,
    said: Mapping[str, Any],
    as_json: Annotated[bool, option("Print all of it as JSON.", "--json")] = False,
) -> None:
    """Read opinions and print what was understood: the role of every column, assumptions, counts, what was skipped.

    [bold]Examples[/bold]

      dissensus validate opinions.csv

      dissensus validate labels.csv --column case=image --tie-separator '|'

      dissensus validate selectors.json --conditions conditions.txt --json
    """
    from dissensus.study.diagnosis import diagnose

    reading = options.examine(file, said)
    receipt, found = reading.receipt, diagnose(reading.study)
    if as_json:
        typer.echo(json.dumps({"file": str(file), "receipt": receipt.to_dict(), **found.to_dict()}, indent=2))
        return
    say(f"{receipt.path}: read as {receipt.understood}", style="bold")
    _section("", list(found.lines().items()))
    roles = receipt.roles().items()
    rows = [(role or "not used", listing(names, most=MOST_NAMES), reason) for (role, reason), names in roles]
    _section("columns", rows)
    _section("assumed", [(sentence,) for sentence in receipt.assumed])
    _section("for example", [(sentence,) for sentence in receipt.examples])
    for remark in (*map(str, receipt.notes), *found.remarks()):
        say(f"  ! {remark}", style="yellow")
    say("  everything was used" if receipt.everything_was_used else "  everything else was used", style="green")


def show_diagnosis(title: str, found: Diagnosis) -> None:
    """Print what a study holds that was not read from a file."""
    say(title, style="bold")
    _section("", list(found.lines().items()))
    for remark in found.remarks():
        say(f"  ! {remark}", style="yellow")


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows of cells under a title, wrapped to the width of the terminal; nothing if there are none."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dissensus.core.names import visible

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 4 if title else 2))
    for cells in rows:
        table.add_row(*(Text(visible(cell), overflow="fold") for cell in cells))
    if table.row_count:
        if title:
            say(f"  {title}", style="bold")
        Console().print(table)


@options.bundled
def convert(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, argument("Where to: .csv, .tsv, .parquet, .jsonl, .json or .npz.", "OUT")],
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> None:
    """Write opinions in the canonical long form, one row per mentioned condition or finding; nothing is lost.

    [bold]Examples[/bold]

      dissensus convert export.json opinions.csv

      dissensus convert selectors.json opinions.parquet --conditions conditions.txt

      dissensus convert findings.csv checklists.csv --format checklist --nothing normal
    """
    from dissensus.core.output import checked_file_target
    from dissensus.study.canonical import check_annotations_ending, write
    from dissensus.study.diagnosis import plural

    check_annotations_ending(out)
    checked_file_target(out, overwrite=overwrite, inputs=(file, said["conditions"]))
    reading = options.examine(file, said)
    study = reading.study if reading.study.kind == "checklists" else reading.rankings
    write(study, out, overwrite=overwrite)
    options.say_receipt(reading.receipt)
    what = f"{plural(study.n_cases, 'case')}, {plural(study.n_votes, study.opinion)}"
    say(f"{file} ({reading.receipt.format}) -> {out}: {what}")


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
    from dissensus.aggregations.diagnostics import sampling_diagnostics
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
