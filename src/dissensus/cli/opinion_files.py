"""Commands on files of opinions: ``validate``, ``convert``, ``aggregate``, ``certainty`` and ``calibrate``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import dissensus as ds
from dissensus.cli import options, terminal
from dissensus.cli.options import COMPARED, argument, option
from dissensus.core.errors import DissensusError, listing
from dissensus.core.output import (
    checked_directory_target,
    checked_file_target,
    table_writer,
    write_table,
    written_whole,
)
from dissensus.core.screen import Screen, counted

# How many columns of one role are named.
MOST_NAMES = 12

# How many of the most uncertain cases are named.
MOST_CASES = 6

# How many first conditions are compared by themselves.
USUAL_TOP = 3


@options.bundled
def validate(*, file: options.AnnotationFile, said: options.Said) -> Screen:
    """Read opinions and show what was understood of them.

    The role of every column, assumptions, counts, and what was skipped.

    Examples
    --------
    dissensus validate opinions.csv
    dissensus validate labels.csv --column case=image --tie-separator '|'
    dissensus validate selectors.json --conditions conditions.txt --json
    """
    reading = options.examine(file, said)
    receipt, found = reading.receipt, ds.diagnose(reading.study)
    roles = [
        f"{role or 'not used'}: {listing(names, most=MOST_NAMES)}{f' ({reason})' if reason else ''}"
        for (role, reason), names in receipt.roles().items()
    ]
    table = found.lines()
    return Screen(
        f"{receipt.path}: read as {receipt.understood}",
        "",
        {"": list(table), " ": list(table.values())},
        (
            *([f"columns: {'; '.join(roles)}"] if roles else []),
            *(f"assumed: {sentence}" for sentence in receipt.assumed),
            *(f"for example: {sentence}" for sentence in receipt.examples[:1]),
            "everything was used" if receipt.everything_was_used else "everything else was used",
        ),
        (*map(str, receipt.notes), *found.remarks()),
        more="--json has them",
        records=[{"what": name, "value": value} for name, value in table.items()],
        document={"file": str(file), "receipt": receipt.to_dict(), **found.to_dict()},
    )


@options.bundled
def convert(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, argument("Where to: .csv, .tsv, .parquet, .jsonl, .json or .npz.", "OUT")],
    overwrite: options.Overwrite = False,
    said: options.Said,
) -> Screen:
    """Write opinions in the canonical long form.

    One row per mentioned condition or finding; nothing is lost.

    Examples
    --------
    dissensus convert export.json opinions.csv
    dissensus convert selectors.json opinions.parquet --conditions conditions.txt
    dissensus convert findings.csv checklists.csv --format checklist --nothing normal
    """
    from dissensus.study.canonical import check_annotations_ending

    check_annotations_ending(out)
    checked_file_target(out, overwrite=overwrite, inputs=(file, said.get("conditions")))
    reading = options.examine(file, said)
    study = reading.study if reading.study.kind == "checklists" else reading.rankings
    ds.write(study, out, overwrite=overwrite)
    options.say_receipt(reading.receipt)
    what = f"{counted(study.n_cases, 'case')}, {counted(study.n_votes, study.opinion)}"
    return Screen(f"{file} ({reading.receipt.format}) -> {out}: {what}")


@options.bundled
def aggregate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Where to: .parquet, .csv, .tsv or .jsonl.")] = Path("plausibilities.parquet"),
    spec: options.Spec,
    how: options.How,
    precision: Annotated[
        float | None, option("Draw until the Monte Carlo error of every case's top-1 certainty is below this.")
    ] = None,
    draws_out: Annotated[Path | None, option("Write every draw as well (Parquet).")] = None,
    overwrite: options.Overwrite = False,
    said: options.Said,
) -> Screen:
    """Turn opinions into plausibilities, a row per condition.

    Posterior mean, spread and top-1 share of every condition of every case.

    Examples
    --------
    dissensus aggregate opinions.csv --out soft.parquet
    dissensus aggregate opinions.csv --aggregation plackett-luce --reliability 3 --out soft.csv
    dissensus aggregate scores.csv --aggregation normal-inverse-gamma --thresholds 0 --out soft.csv
    """
    for target in filter(None, (out, draws_out)):
        options.check_target(target, overwrite, {"file": file}, {"said": said}, is_table=True)
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
    speed = f"{seconds:.2f} s, {drawn.n_cases / seconds:,.0f} cases/s, including compilation if any"
    doubts = ds.aggregations.sampling_diagnostics(drawn).warnings() if drawn.n_draws > 1 else ()
    return Screen(str(chosen), "", {}, (str(drawn), speed), (*excluded(drawn), *doubts), f"-> {out}")


@options.with_rows("Write a row per case: .csv, .tsv, .parquet or .jsonl.", is_table=True)
def certainty(
    *,
    file: options.AnnotationFile,
    top: Annotated[int | None, option("Compare the first 1 to this many conditions; 3.", panel=COMPARED)] = None,
    rank: Annotated[
        int | None, option("Compare the condition in this place instead, such as the second.", panel=COMPARED)
    ] = None,
    unmentioned: Annotated[
        str, option("Conditions nobody mentioned: identify each, or pool them.", panel=COMPARED)
    ] = "identify",
    categories: options.CategoriesFile = None,
    via: Annotated[str, option("Category of a draw: of its top condition, or of most mass.", panel=COMPARED)] = "top",
    spec: options.Spec,
    how: options.How,
    said: options.Said,
) -> options.ScreenAndRows:
    """Find how certain the opinions on every case are.

    Certainty is how often draws agree on the first conditions.

    Examples
    --------
    dissensus certainty opinions.csv
    dissensus certainty opinions.csv --reliability 3 --top 3 --out uncertain.csv
    dissensus certainty opinions.csv --rank 2
    dissensus certainty opinions.csv --categories risks.txt --conditions conditions.txt
    """
    import polars as pl

    from dissensus.certainty.categories import VIA
    from dissensus.certainty.top_sets import UNMENTIONED, check_top
    from dissensus.core.arrays import CERTAIN
    from dissensus.core.checks import check_choice

    check_choice("--unmentioned", unmentioned, UNMENTIONED)
    check_choice("--via", via, VIA)
    if rank is not None and (top is not None or via != "top"):
        expected = "no --top, which asks about the first places, and no --via mass, which asks about none"
        got = f"--rank {rank}" + (f" --top {top}" if top is not None else "") + (f" --via {via}" * (via != "top"))
        raise DissensusError("--rank asks about one place", expected=expected, got=got)
    study, chosen = options.read_for(spec, file, said)
    drawn = chosen.sample(study, **how)
    groups = None if categories is None else ds.Categories.from_file(categories, drawn.conditions)
    most = max(1, min(USUAL_TOP, drawn.n_conditions - 1)) if top is None else top
    check_top(most, drawn.n_conditions)
    terminal.compile_on_first_use("certainty")

    def found(what: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a function of draws, and show how far it is."""
        with terminal.progress_shown(what, drawn.n_cases) as advance:
            return function(drawn, *given, advance=advance, **named)

    if rank is not None:
        profile = (found("comparing draws", ds.certainty.rank_certainty, rank=rank, unranked=unmentioned),)
    else:
        profile = found(
            "comparing draws", ds.certainty.certainty_profile, tops=range(1, most + 1), unranked=unmentioned
        )
    named, columns = {}, {"case": profile[0].case_names}
    for one in profile:  # certainties of a case side by side: certainty, certainty_top2 ..., or certainty_rank2
        ending = f"_rank{one.rank}" if one.rank else "" if one.top == 1 else f"_top{one.top}"
        named[f"rank {one.rank}" if one.rank else f"top {one.top}"] = one
        columns |= {f"certainty{ending}": one.values, f"error{ending}": one.errors}
        columns[f"winner{ending}"] = [" + ".join(names) for names in one.winners]
    if groups is not None:
        function = ds.certainty.annotation_certainty if rank is None else ds.certainty.rank_certainty
        about = {"via": via} if rank is None else {"rank": rank}
        one = named["category"] = found("comparing categories", function, categories=groups, **about)
        columns |= {"category": [names[0] for names in one.winners], "category_certainty": one.values}
        columns["category_error"] = one.errors
        if groups.levels:
            risks = found("averaging risks", ds.certainty.expected_risk, groups).drop("case")
            columns |= {f"risk_{name}": risks[name] for name in risks.columns}
    table = pl.DataFrame(columns)
    ordered = table.sort([name for name in table.columns if name.startswith("certainty")], maintain_order=True)
    first = f"certainty{'' if rank is None else f'_rank{rank}'}"
    shown = ordered.head(MOST_CASES).select("case", first, first.replace("certainty", "winner")).rows()
    cases = ", ".join(f"{case} ({value:.2f}, {winner})" for case, value, winner in shown)
    told = (f"Most uncertain of {len(ordered):,} cases: {cases}.",) if len(ordered) else ()
    quantiles = [list(one.quantiles((0.05, 0.25, 0.5, 0.0)).values()) for one in named.values()]
    shares = zip(("5 %", "25 %", "median", "least"), zip(*quantiles, strict=True), strict=True)
    cells = {
        "certainty of": list(named),
        "mean": [f"{one.mean:.3f}" for one in named.values()],
        f"below {CERTAIN}": [f"{one.share_below():.1%}" for one in named.values()],
        **{name: [f"{value:.2f}" for value in values] for name, values in shares},
        "Monte Carlo error": [f"{one.mean_error:.4f}" for one in named.values()],
    }
    place, records = "All cases: --out FILE", ordered.to_dicts()
    screen = Screen(f"{chosen}", f"{drawn}", cells, told, excluded(drawn), place, records=records)
    return screen, ordered


def excluded(drawn: ds.Plausibilities) -> tuple[str, ...]:
    """Say which cases have nothing to draw from."""
    return (f"without any opinion, left out: {listing(drawn.excluded)}",) if drawn.excluded else ()


@options.bundled
def calibrate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Directory to write scores and panels into.")] = Path("calibration"),
    models: options.Models,
    aggregation: options.Aggregations = None,
    refine: Annotated[bool, option("Search on around the best: finer reliabilities, then alphas.", "--refine")] = False,
    max_pairs: Annotated[int | None, option("How many annotators are held out at most.")] = None,
    how: options.How,
    overwrite: options.OverwriteDirectory = False,
    said: options.Said,
) -> Screen:
    """Hold annotators out to see how far to trust them.

    Which aggregation predicts them best, and whether certainty is confirmed. The
    agreement of models with held-out panels is predicted too.

    Examples
    --------
    dissensus calibrate opinions.csv --out trust
    dissensus calibrate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --refine --out trust
    """
    from dissensus.evaluation.calibration import not_a_calibration

    inputs = (file, said.get("conditions"), *options.model_places(models).values())
    checked_directory_target(out, overwrite=overwrite, foreign=not_a_calibration, inputs=inputs)
    study, own = options.study_and_models(file, models, said, "calibration")
    given = options.passed_on(**how, max_pairs=max_pairs, allow_missing=models.get("allow_missing"))
    with terminal.progress_shown() as advance:
        found = ds.calibrate(study, aggregation or None, own, refine=refine, advance=advance, **given)
    found.save(out, overwrite=overwrite)
    return replace(found.screen(), place=f"-> {out}")
