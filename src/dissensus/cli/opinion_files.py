"""Commands on files of opinions: ``validate``, ``convert``, ``aggregate``, ``certainty`` and ``calibrate``."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options, terminal
from dissensus.cli.options import COMPARED, argument, option
from dissensus.cli.terminal import say, show, show_filled
from dissensus.core.errors import DissensusError, listing

if TYPE_CHECKING:
    import polars as pl

    from dissensus.aggregations.base import Aggregation
    from dissensus.certainty.top_sets import Certainty
    from dissensus.draws import Plausibilities
    from dissensus.study.diagnosis import Diagnosis

# How many columns of one role are named.
MOST_NAMES = 12

# How many cases are shown, and how many aggregations.
MOST_CASES, MOST_AGGREGATIONS = 10, 8

# How many first conditions are compared by themselves.
USUAL_TOP = 3

# Columns that the terminal does not show.
HIDDEN = ("error", "winner_top", "category_error", "risk_min", "risk_max")

# How sentences are wrapped.
WRAPPED: dict[str, Any] = {"width": 80, "break_long_words": False, "break_on_hyphens": False}

# The best aggregations by their scores.
SCORES = {
    "aggregation": "{mark} {aggregation}",
    "score": "{score:.3f}",
    "to best": "{difference:z.3f}",
    "error": "{difference_se:.3f}",
}

# Stated against confirmed for the best.
CURVE = {
    "certainty": "{low:g} to {high:g}",
    "cases": "{n_cases:,}",
    "stated": "{stated:.2f}",
    "expected": "{predicted:.2f}",
    "confirmed": "{confirmed:.2f}",
    "error": "{confirmed_se:.2f}",
}

# Predicted against observed agreement of every model.
AGREEMENT = {
    "model": "{model}",
    "estimand": "{estimand}",
    "predicted": "{predicted:.3f}",
    "observed": "{observed:.3f}",
    "difference": "{gap:+.3f} [{low:+.3f}, {high:+.3f}]",
}


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
    terminal.compile_on_first_use(aggregations=[chosen])
    began = time.perf_counter()
    drawn = chosen.sample(study, precision=precision, **how)
    with terminal.progress_shown("aggregating", drawn.n_cases) as advance:
        soft = drawn.summary(advance=advance)
    with written_whole(out, overwrite=overwrite) as temporary:  # both tables or none
        table_writer(out)(soft, temporary)
        if draws_out is not None:
            write_table(drawn.to_frame(), draws_out, overwrite=overwrite)
    seconds = time.perf_counter() - began
    _say_drawn(chosen, drawn)
    say(f"  {seconds:.2f} s, {drawn.n_cases / seconds:,.0f} cases/s, including compilation if any")
    if drawn.n_draws > 1:
        for warning in sampling_diagnostics(drawn).warnings():
            say(f"  ! {warning}", style="yellow")
    say(f"  -> {out}")


@options.bundled
def certainty(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path | None, option("Write a row per case: .csv, .tsv, .parquet or .jsonl.")] = None,
    overwrite: options.Overwrite = False,
    top: Annotated[int | None, option("Compare the first 1 to this many conditions; 3.", panel=COMPARED)] = None,
    rank: Annotated[
        int | None, option("Compare the condition in this place instead, such as the second.", panel=COMPARED)
    ] = None,
    unmentioned: Annotated[
        str, option("Conditions nobody mentioned: identify each, or pool them.", panel=COMPARED)
    ] = "identify",
    categories: options.CategoriesFile = None,
    via: Annotated[str, option("Category of a draw: of its top condition, or of most mass.", panel=COMPARED)] = "top",
    spec: Mapping[str, Any],
    how: Mapping[str, Any],
    said: Mapping[str, Any],
) -> None:
    """Find how certain the opinions on every case are: how often draws agree on the first conditions.

    [bold]Examples[/bold]

      dissensus certainty opinions.csv

      dissensus certainty opinions.csv --reliability 3 --top 3 --out uncertain.csv

      dissensus certainty opinions.csv --rank 2

      dissensus certainty opinions.csv --categories risks.txt --conditions conditions.txt
    """
    import polars as pl

    from dissensus.certainty import top_sets
    from dissensus.certainty.categories import VIA, Categories, expected_risk
    from dissensus.certainty.top_sets import annotation_certainty, rank_certainty
    from dissensus.core.checks import check_choice
    from dissensus.core.output import checked_table_target, write_table

    check_choice("--unmentioned", unmentioned, top_sets.UNMENTIONED)
    check_choice("--via", via, VIA)
    if rank is not None and (top is not None or via != "top"):
        raise DissensusError(
            "--rank asks about one place",
            expected="no --top, which asks about the first places, and no --via mass, which asks about none",
            got=f"--rank {rank}" + (f" --top {top}" if top is not None else "") + (f" --via {via}" * (via != "top")),
        )
    if out is not None:
        checked_table_target(out, overwrite=overwrite, inputs=(file, said["conditions"], categories))
    study, chosen = options.read_for(spec, file, said)
    drawn = chosen.sample(study, **how)
    groups = None if categories is None else Categories.from_file(categories, drawn.conditions)
    most = max(1, min(USUAL_TOP, drawn.n_conditions - 1)) if top is None else top
    top_sets.check_top(most, drawn.n_conditions)
    terminal.compile_on_first_use("certainty")

    def found(what: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a function of draws, and show how far it is."""
        with terminal.progress_shown(what, drawn.n_cases) as advance:
            return function(drawn, *given, advance=advance, **named)

    if rank is not None:
        profile = (found("comparing draws", rank_certainty, rank=rank, unranked=unmentioned),)
    else:
        profile = found("comparing draws", top_sets.certainty_profile, tops=range(1, most + 1), unranked=unmentioned)
    named, columns = {}, {"case": profile[0].case_names}
    for one in profile:  # certainties of a case side by side: certainty, certainty_top2 ..., or certainty_rank2
        ending = f"_rank{one.rank}" if one.rank else "" if one.top == 1 else f"_top{one.top}"
        named[f"rank {one.rank}" if one.rank else f"top {one.top}"] = one
        columns |= {f"certainty{ending}": one.values, f"error{ending}": one.errors}
        columns[f"winner{ending}"] = [" + ".join(names) for names in one.winners]
    if groups is not None:
        function, how_found = (annotation_certainty, {"via": via}) if rank is None else (rank_certainty, {"rank": rank})
        one = named["category"] = found("comparing categories", function, categories=groups, **how_found)
        columns |= {"category": [names[0] for names in one.winners], "category_certainty": one.values}
        columns["category_error"] = one.errors
        if groups.levels:
            risks = found("averaging risks", expected_risk, groups).drop("case")
            columns |= {f"risk_{name}": risks[name] for name in risks.columns}
    table = pl.DataFrame(columns)
    ordered = table.sort([name for name in table.columns if name.startswith("certainty")], maintain_order=True)
    if out is not None:
        write_table(ordered, out, overwrite=overwrite)
    _say_drawn(chosen, drawn)
    _show_certainty(named, ordered)
    if out is not None:
        say(f"  -> {out}")


def _show_certainty(named: Mapping[str, Certainty], ordered: pl.DataFrame) -> None:
    """Print how certain the cases are in all, and the most uncertain ones."""
    from dissensus.core.thresholds import CERTAIN

    rows = []
    for name, one in named.items():
        quantiles = one.quantiles((0.05, 0.25, 0.5, 0.0)).values()
        numbers = (f"{one.mean:.3f}", f"{one.mean_error:.4f}", f"{one.share_below():.1%}")
        rows.append((name, *numbers, *(f"{value:.2f}" for value in quantiles)))
    show(("certainty of", "mean", "Monte Carlo error", f"below {CERTAIN}", "5 %", "25 %", "median", "least"), rows)
    say(f"the {min(MOST_CASES, len(ordered))} most uncertain of {len(ordered)} cases:")
    shown = ordered.select(name for name in ordered.columns if not name.startswith(HIDDEN)).head(MOST_CASES)
    cells = ([f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row] for row in shown.iter_rows())
    show([name.replace("_", " ") for name in shown.columns], cells)


def _say_drawn(chosen: Aggregation, drawn: Plausibilities) -> None:
    """Say what was drawn, and which cases have nothing to draw from."""
    say(f"{chosen}", style="bold")
    say(f"  {drawn}")
    if drawn.excluded:
        say(f"  ! without any opinion, left out: {listing(drawn.excluded)}", style="yellow")


@options.bundled
def calibrate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Directory to write scores and panels into.")],
    models: Mapping[str, Any],
    aggregation: options.Aggregations = None,
    refine: Annotated[bool, option("Search on around the best: finer reliabilities, then alphas.", "--refine")] = False,
    max_pairs: Annotated[int | None, option("How many annotators are held out at most.")] = None,
    how: Mapping[str, Any],
    overwrite: options.OverwriteDirectory = False,
    said: Mapping[str, Any],
) -> None:
    """Hold annotators out to find how much they can be trusted, and whether certainty is confirmed.

    The agreement of models with held-out panels is predicted too.

    [bold]Examples[/bold]

      dissensus calibrate opinions.csv --out trust

      dissensus calibrate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --refine --out trust
    """
    from dissensus.core.output import checked_directory_target
    from dissensus.evaluation.calibration import calibrate as calibrated
    from dissensus.evaluation.calibration import not_a_calibration

    inputs = (file, said["conditions"], *options.model_places(models).values())
    checked_directory_target(out, overwrite=overwrite, foreign=not_a_calibration, inputs=inputs)
    reading = options.examine_for([], file, said)
    readings = options.read_models(models, reading.study, said)
    given = options.passed_on(**how, max_pairs=max_pairs)
    terminal.compile_on_first_use("calibration")
    with terminal.progress_shown() as advance:
        found = calibrated(
            reading.study,
            aggregation or None,
            {name: model.predictions for name, model in readings.items()},
            refine=refine,
            allow_missing=bool(models["allow_missing"]),
            advance=advance,
            **given,
        )
    found.save(out, overwrite=overwrite)
    first, *others = found.sentences
    say(textwrap.fill(first, **WRAPPED))
    for sentence in others:
        say(textwrap.fill(sentence, initial_indent="  ", subsequent_indent="    ", **WRAPPED))
    order = sorted(found.score_rows, key=lambda row: -float(row["score"]))[:MOST_AGGREGATIONS]
    title = f"the {len(order)} best of {len(found.specs)} (* as good as the best)"
    show_filled(SCORES, ({**row, "mark": " *"[row["on_plateau"]]} for row in order), title=title)
    if found._order and found.split_rows:
        title = "certainty from half of the annotators, and what the others said"
        show_filled(CURVE, found.curve().rows(named=True), title=title)
    if found.model_rows:
        title = "agreement of models with annotators who were held out"
        show_filled(AGREEMENT, found.model_rows, words=2, title=title)
    say(f"-> {out}")
