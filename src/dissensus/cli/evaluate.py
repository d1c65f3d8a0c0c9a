"""``dissensus evaluate``: models against uncertain annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options
from dissensus.core.errors import DissensusError, suggestion

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.core.files import Source
    from dissensus.evaluation.results import Evaluation
    from dissensus.metrics.base import Metric
    from dissensus.predictions.reader import PredictionReading


SCALE = "Large studies"

MOST_ROWS = 24
"""How many rows of results are printed."""


@options.bundled
def evaluate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, typer.Option("--out", help="Directory to write the results into.")],
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="NAME=FILE",
            help="A model's predictions; = and / in the name are written \\= and \\/. Repeat as needed; without any, "
            "only the certainty is found.",
        ),
    ] = None,
    aggregation: Annotated[
        list[str] | None,
        typer.Option(
            "--aggregation",
            metavar="NAME:1,2,3",
            help="An aggregation and its reliabilities, with parameters such as plackett-luce:1:prior=informed. "
            "Repeat as needed.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME:K", help="A metric, e.g. top-k-accuracy:3. Repeat as needed."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="NAME=KIND",
            help="What a model's predictions are where the file leaves a doubt: scores, ranking, set or "
            "numbers. Without a name, those of all models. Repeat as needed.",
        ),
    ] = None,
    categories: options.CategoriesOption = None,
    strata: Annotated[
        Path | None,
        typer.Option(
            "--strata",
            help="Table with a case column and columns to group cases by; a column called image holds pictures.",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws per case.")] = 1000,
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all processors by default.")] = None,
    level: Annotated[float, typer.Option(help="Probability that intervals hold.")] = 0.9,
    annotators: Annotated[
        str | None,
        typer.Option(
            "--annotators",
            metavar="sample|fixed",
            help="Whether intervals allow for other annotators like these; a sample if they are named and crossed.",
        ),
    ] = None,
    thresholds: options.ThresholdsOption = None,
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="NAME",
            help="Prior of all aggregations that have one: observed, symmetric, frequency, or informed by the models.",
        ),
    ] = None,
    panel: Annotated[
        bool | None,
        typer.Option(
            "--panel/--no-panel",
            help="Whether to estimate what a large panel of such annotators would say, by a prior that models inform; "
            "by itself with 100 annotated cases and two opinions per case.",
            show_default=False,
        ),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Let annotators who are held out choose the reference run.")
    ] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html beside the tables.")] = True,
    remote_images: Annotated[
        bool, typer.Option("--remote-images", help="Let the report load images of cases from the network.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Evaluate the cases that all models have.")
    ] = False,
    shard_size: Annotated[
        int | None,
        typer.Option(
            "--shard-size",
            metavar="CASES",
            help="Evaluate Parquet files so many cases at a time; by itself 10 000 for directories and large files. It "
            "changes memory and speed, no number.",
            rich_help_panel=SCALE,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with an interrupted run of Parquet files, or add files that came since.",
            rich_help_panel=SCALE,
        ),
    ] = False,
    learn_again: Annotated[
        bool,
        typer.Option(
            "--learn-again",
            help="With added files, learn frequencies and priors from all cases again; computes all shards again.",
            rich_help_panel=SCALE,
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", help="Processes on this machine (extra dask).", rich_help_panel=SCALE),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster that runs already.", rich_help_panel=SCALE
        ),
    ] = None,
    overwrite: options.OverwriteResultsOption = False,
    said: Mapping[str, Any],
) -> None:
    """Evaluate models against a large panel, single annotators and draws of the plausibilities, beside one label.

    [bold]Examples[/bold]

      dissensus evaluate opinions.csv --predictions A=a.csv --predictions B=b.npz --out results

      dissensus evaluate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --metric set-accuracy:2
      --categories risks.csv --out results
    """
    from dissensus.cli.calibrate import calibrated
    from dissensus.cli.large_studies import evaluate_shards, executor_of, is_for_shards
    from dissensus.cli.progress import compile_on_first_use, progress_of_cases
    from dissensus.core.files import open_source
    from dissensus.core.output import checked_directory_target
    from dissensus.evaluation.candidates import judged_beside
    from dissensus.evaluation.categories import Categories
    from dissensus.evaluation.evaluator import chosen_aggregations, steps, with_panel, with_prior
    from dissensus.evaluation.evaluator import evaluate as evaluated
    from dissensus.evaluation.questions import Questions, n_rows
    from dissensus.evaluation.store import not_results
    from dissensus.predictions.reader import examine_predictions, named_paths

    places = named_paths(predictions or [])
    if is_for_shards(file, places, said, shard_size=shard_size, resume=resume):
        evaluate_shards(
            file,
            places,
            out,
            said=said,
            kinds=kinds_of_models(kind or [], places),
            aggregations=aggregation or None,
            prior=prior,
            asked={
                "metrics": metric or None,
                "draws": draws,
                "seed": seed,
                "threads": threads,
                "categories": categories,
                "strata": strata,
                "level": level,
                "annotators": annotators,
                "panel": panel,
                "reference": "calibrated" if calibrate else None,
                "shard_size": shard_size,
                "resume": resume,
                "learn_again": learn_again,
                "overwrite": overwrite,
            },
            allow_missing=allow_missing,
            report=report,
            remote_images=remote_images,
            cluster=(workers, dask),
        )
        return
    inputs = (file, said["conditions"], categories, strata, *places.values())
    checked_directory_target(out, overwrite=overwrite, foreign=not_results, inputs=inputs)
    asked = chosen_aggregations(aggregation) if aggregation else ()
    reading = options.examine_for(asked, file, said)
    study = reading.study
    chosen = options.cut_at(asked or chosen_aggregations(None, study), thresholds)
    chosen = chosen if prior is None else with_prior(chosen, prior)
    kinds = kinds_of_models(kind or [], places)
    models = {
        name: examine_predictions(
            place,
            name=name,
            conditions=study.conditions or None,
            cases=study.case_names,
            findings=study.kind == "checklists",
            kind=kinds.get(name, kinds.get("")),
            positive=said["positive"],
            allow_missing=allow_missing,
            limits=options.limit_sizes(said["limit"]),
        )
        for name, place in places.items()
    }
    for model in models.values():
        options.say_receipt_of_model(model.receipt)
        say_unscored(model)
    beside = {path: open_source(path) for path in (categories, strata) if path is not None}
    known = None if categories is None else Categories.from_source(beside[categories], study.conditions)
    columns = {} if strata is None else read_strata(beside[strata], study.case_names)
    compile_on_first_use()
    predicted = {name: model.predictions for name, model in models.items()}
    how: dict[str, Any] = {"seed": seed, "threads": threads, "allow_missing": allow_missing}
    trust = calibrated(study, judged_beside(study, chosen), predicted, **how) if calibrate else None
    whether: Any = annotators
    n_runs = len(with_panel(Questions.of(study, predicted), chosen, panel)[0])
    once = n_rows(study) * n_runs
    again = steps(study, n_runs, whether) - once if models else 0
    say_cost(again, once)
    with (
        executor_of(workers, dask) as executor,
        progress_of_cases("evaluating", once + again) as advance,
    ):
        result = evaluated(
            study,
            predicted,
            aggregations=chosen,
            metrics=metric or None,
            draws=draws,
            seed=seed,
            threads=threads,
            categories=known,
            images=columns.pop("image", None),
            strata=columns,
            level=level,
            annotators=whether,
            panel=panel,
            reference=trust,
            allow_missing=allow_missing,
            executor=executor,
            advance=advance,
        )
    sources = [reading.source, *(model.source for model in models.values()), *beside.values()]
    hashes = {source.path.name: f"sha256:{source.sha256}" if source.sha256 else "" for source in sources}
    result = replace(result, inputs=hashes)
    write_results(result, out, overwrite=overwrite, report=report, remote_images=remote_images)
    show_results(result, out)


def say_cost(again: int, once: int) -> None:
    """Say how much it costs to leave annotators out in turn, before it starts."""
    from dissensus.cli.terminal import say
    from dissensus.evaluation.left_out import LEFT_OUT_DRAWS

    if again:
        say(
            f"annotators count as a sample: {again:,} cases are evaluated again without some of them, with "
            f"{LEFT_OUT_DRAWS} draws ({once:,} with all; --annotators fixed saves this)",
            stderr=True,
        )


def say_unscored(model: PredictionReading) -> None:
    """Tell, on standard error, which conditions of the study a model does not score."""
    from dissensus.cli.terminal import say
    from dissensus.core.names import visible
    from dissensus.predictions.description import coverage

    said = model.predictions
    unscored = coverage(said)[0] if said.kind == "scores" and not said.complete else None
    if unscored is not None and unscored.count:
        say(visible(f"! {model.source.path}: {unscored}"), style="yellow", stderr=True)


def kinds_of_models(given: Sequence[str], names: Iterable[str]) -> dict[str, Any]:
    """Split ``NAME=KIND``; a kind alone is that of every model, under the name "".

    >>> kinds_of_models(["set", "A=scores"], ["A", "B"])
    {'': 'set', 'A': 'scores'}
    """
    kinds = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if name and name not in names:
            raise DissensusError(
                f"--kind is given for {name!r}, which is no model",
                expected=f"one of {', '.join(map(repr, names))}",
                advice=suggestion(name, names),
            )
        kinds[name] = kind
    return kinds


def write_results(
    result: Evaluation, out: Path, *, overwrite: bool, report: bool = True, remote_images: bool = False
) -> None:
    """Write the directory of results, with its report, whole or not at all."""
    from dissensus.core.output import directory_written_whole
    from dissensus.evaluation.store import REPORT, not_results, write_files

    with directory_written_whole(out, overwrite=overwrite, foreign=not_results) as place:
        write_files(result, place)
        if report:
            from dissensus.report.page import write_report

            write_report(result, place / REPORT, remote_images=remote_images)


def show_results(result: Evaluation, out: Path) -> None:
    """Print the tables, the headline, what to beware of, and where everything is."""
    from dissensus.cli.terminal import say, show

    if result.models:
        show(summary_table(result))
        for note in left_out(result):
            say(f"  not in this table: {note}")
        show(practice_table(result))
    say(repr(result))
    if result.calibration is not None:
        for sentence in result.calibration.sentences[1:]:
            say(f"  {sentence}")
    for warning in result.warnings:
        say(f"  ! {warning}")
    rows = f"all {len(result.runs)} aggregations are in summary.json; " if len(result.runs) > 1 else ""
    report = out / "report.html"
    seen = f"{rows}open {report} in a browser" if report.exists() else rows.rstrip("; ")
    say(f"-> {out}" + (f" ({seen})" if seen else ""))


def read_strata(source: Source, case_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Read columns that group cases, aligned to the cases by name."""
    from dissensus.study.tables import labels_of_cases

    if not source.is_table:
        raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=str(source.path))
    try:
        return labels_of_cases(source.table, case_names)
    except DissensusError as error:
        raise error.at(str(source.path)) from None


def summary_table(result: Evaluation) -> Table:
    """Show every model and metric by every estimand, adjusted in the reference run, with intervals."""
    from dissensus.cli.grid import grid
    from dissensus.evaluation.practices import side_by_side

    shown = {metric.name for metric in shown_metrics(result)}
    found = [one for one in side_by_side(result, result.to_frame()) if one.metric.name in shown]
    names = shown_estimands(result)
    between = "\n" if len(names) > 2 else " "  # so that it fits 80 columns
    rows = [(one.model, one.metric.name, *(estimated(getattr(one, name), between) for name in names)) for one in found]
    told = [described_estimand(result, name) for name in names]
    title = f"{', '.join(told[:-1])} and {told[-1]}; {100 * result.level:g} % intervals"
    return grid(("model", "metric", *names), rows, numbers=len(names), title=title)


def shown_metrics(result: Evaluation) -> tuple[Metric, ...]:
    """Choose the metrics of the table: all, or the first ones, so that it fits a screen."""
    return result.metrics[: max(1, MOST_ROWS // max(1, len(result.models)))]


def left_out(result: Evaluation) -> list[str]:
    """Say which rows the table does not show, and where they are."""
    n_hidden = len(result.metrics) - len(shown_metrics(result))
    hidden = [] if not n_hidden else [f"{n_hidden} more metric{'s' * (n_hidden > 1)}: summary.json"]
    n_findings = len(result.asked_findings)
    apart = [] if not n_findings else [f"the {n_findings} findings one by one: report.html, by_group('finding')"]
    return [*hidden, *apart] if result.models else []


def shown_estimands(result: Evaluation) -> tuple[str, ...]:
    """Name the estimands that tables show: panel where it is estimated, agreement and adjusted."""
    from dissensus.evaluation.results import ADJUSTED, AGREEMENT, PANEL

    adjusted = [ADJUSTED] if result.adjusted_runs else []
    return (*([PANEL] if result.panel is not None else []), AGREEMENT, *adjusted)


def described_estimand(result: Evaluation, name: str) -> str:
    """Say what an estimand compares with, in a few words."""
    return {
        "panel": "against a large panel",
        "agreement": "agreement with single annotators",
        "adjusted": f"adjusted under {result.run_label(result.reference)}",
    }[name]


def estimated(row: Mapping[str, Any] | None, between: str = " ") -> str:
    """Write a value with its interval, or a dash where there is none.

    >>> estimated({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.500 [0.250, 0.750]'
    """
    from dissensus.evaluation.words import NOTHING, number, value

    if row is None:
        return NOTHING
    if row["low"] != row["low"]:
        return value(row["mean"])
    return f"{number(row['mean'])}{between}[{number(row['low'])}, {number(row['high'])}]"


def practice_table(result: Evaluation) -> Table:
    """Show the first metric of every model as each practice reports it, beside all estimands."""
    from dissensus.cli.grid import grid
    from dissensus.evaluation.sentences import leading
    from dissensus.evaluation.words import number

    found = leading(result, result.to_frame())
    known = ["truth"] if found[0].truth is not None else []
    estimands = shown_estimands(result)
    rows = [
        (
            one.model,
            *(number((getattr(one, name) or {}).get("mean")) for name in estimands),
            *map(number, one.practices.values()),
            *(number(one.truth) for _ in known),
        )
        for one in found
    ]
    practices = (
        name.replace("Plackett-Luce maximum likelihood", "PL ML") for name in found[0].practices
    )  # so that it fits 80 columns
    names = ("model", *estimands, *practices, *known)
    under = f"; adjusted under {result.run_label(result.reference)}" if result.adjusted_runs else ""
    short = "; PL ML: Plackett-Luce maximum likelihood" if "PL ML" in names else ""
    title = f"{found[0].metric.name} by every practice{under}{short}"
    note = "; truth: known here, because the study is simulated" if known else ""
    return grid(names, rows, numbers=len(names) - 1, title=title + note)
