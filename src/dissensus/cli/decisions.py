"""``dissensus plan``, ``judges``, ``relabel`` and ``conformal``: what people decide after an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, terminal
from dissensus.cli.options import argument, option
from dissensus.core.errors import DissensusError
from dissensus.core.screen import Screen

if TYPE_CHECKING:
    from dissensus.core.screen import Rows
    from dissensus.predictions.lists import Predictions
    from dissensus.study.study import Study

Level = Annotated[float | None, option("Probability that intervals hold.")]
Chosen = Annotated[list[str] | None, option("A model that the conclusion is about: one, or two.", "--model")]
Costs = Annotated[
    list[str] | None, option("Cost of one case, opinion or annotator. Repeat as needed.", "--cost", metavar="NAME=COST")
]
Numbers = Annotated[str | None, option("Numbers to look at, comma-separated.", metavar="N,N")]
Table = Annotated[Path | None, option("A CSV file for all rows.")]
Metric = Annotated[
    str | None, option("A metric, e.g. top-k-accuracy:1; the first of the question by itself.", "--metric")
]


def numbers_by_name(given: list[str] | None, what: str) -> dict[str, float] | None:
    """Turn ``NAME=NUMBER`` into a mapping.

    >>> numbers_by_name(["case=4", "opinion=1"], "--cost")
    {'case': 4.0, 'opinion': 1.0}
    """
    if not given:
        return None
    try:
        return {name: float(value) for name, _, value in (one.partition("=") for one in given)}
    except ValueError:
        raise DissensusError(f"{what} is not understood", expected="NAME=NUMBER", got=", ".join(given)) from None


def listed_numbers(given: str | None, what: str) -> list[int] | None:
    """Turn numbers with commas between them into a list.

    >>> listed_numbers("100,200", "--cases")
    [100, 200]
    """
    try:
        return [int(part) for part in given.split(",")] if given else None
    except ValueError:
        expected = "whole numbers, comma-separated"
        raise DissensusError(f"{what} is not understood", expected=expected, got=repr(given)) from None


def pilot_and_models(
    file: Path, models: Mapping[str, Any], said: Mapping[str, Any], *kernels: str
) -> tuple[Study, dict[str, Predictions]]:
    """Read opinions and what the models said about the same cases."""
    study = options.examine_for([], file, said).study
    readings = options.read_models(models, study, said)
    terminal.compile_on_first_use("evaluation", *kernels)
    return study, {name: one.predictions for name, one in readings.items()}


def checked_target(out: Path | None, overwrite: bool, *inputs: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    from dissensus.core.output import checked_file_target

    if out is not None:
        checked_file_target(out, overwrite=overwrite, inputs=inputs)


def finished(found: Rows, out: Path | None, *, overwrite: bool) -> Screen:
    """Write all rows, if a file is wanted, and return what is seen of a result."""
    from dissensus.core.output import written_whole

    if out is None:
        return found.screen()
    with written_whole(out, overwrite=overwrite) as temporary:
        found.to_frame().write_csv(temporary)
    return replace(found.screen(), place=f"-> {out}")


def read_all(given: list[str] | None, study: Study, said: Mapping[str, Any]) -> dict[str, list[Predictions]]:
    """Read predictions of all cases that files have, whether or not the study has them; a name may come repeatedly."""
    from dissensus.predictions.reader import examine_predictions, named_path

    found: dict[str, list[Predictions]] = {}
    for one in given or []:
        name, place = named_path(one)
        reading = examine_predictions(
            place,
            name=name,
            conditions=study.conditions or None,
            binary=study.question == "binary",
            positive=said["positive"],
            limits=options.limit_sizes(said["limit"]),
        )
        options.say_receipt(reading.receipt, briefly=True)
        found.setdefault(name, []).append(reading.predictions)
    return found


@options.bundled
def plan(
    *,
    file: Annotated[Path | None, argument("Annotations of a pilot study, unless --sd is given.", "FILE")] = None,
    models: Mapping[str, Any],
    metric: Metric = None,
    model: Chosen = None,
    effect: Annotated[float | None, option("The true difference; that of the pilot by itself.")] = None,
    margin: Annotated[float | None, option("Plan for non-inferiority by this margin.")] = None,
    cases: Numbers = None,
    opinions: Numbers = None,
    annotators: Numbers = None,
    design: Annotated[str | None, option("Who reads which case.", metavar="assigned|crossed|nested")] = None,
    power: Annotated[float | None, option("The power that is wanted.")] = None,
    width: Annotated[float | None, option("The width of the interval that is wanted, instead of a power.")] = None,
    cost: Costs = None,
    sd: Annotated[
        list[str] | None,
        option("Standard deviation between cases, opinions or annotators, without a pilot.", metavar="NAME=SD"),
    ] = None,
    level: Level = None,
    plot: Annotated[Path | None, option("A figure: .svg, .pdf, .png or .html.")] = None,
    out: Table = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> Screen:
    """Plan a study: power over cases, opinions and annotators.

    The cheapest design that has the power of a comparison, or the width of its interval, that is wanted.

    Examples
    --------
    dissensus plan opinions.csv --predictions A=a.csv --predictions B=b.csv --effect 0.03 --opinions 2,3,5
    dissensus plan opinions.csv --predictions A=a.csv --margin 0.05 --effect 0 --cost case=4 --cost opinion=1
    dissensus plan --sd case=0.3 --sd opinion=0.4 --effect 0.05 --opinions 1,3 --plot power.svg
    """
    from dissensus.decisions.planning import plan as planned
    from dissensus.figures.vega import write_chart

    stated = {f"{name}_sd": value for name, value in (numbers_by_name(sd, "--sd") or {}).items()}
    if bool(stated) == (file is not None):
        expected = "FILE, or --sd case=0.3 and its like, and not both"
        raise DissensusError("a plan starts from a pilot study or from standard deviations", expected=expected)
    checked_target(out, overwrite, file, *options.model_places(models).values())
    pilot, own = (stated, {}) if file is None else pilot_and_models(file, models, said)
    wanted: dict[str, Any] = {
        "effect": effect,
        "margin": margin,
        "design": design,
        "power": power,
        "width": width,
        "level": level,
    }
    sizes = {"cases": cases, "opinions": opinions, "annotators": annotators}
    wanted |= {name: listed_numbers(given, f"--{name}") for name, given in sizes.items()}
    wanted |= {"models": model or None, "costs": numbers_by_name(cost, "--cost")}
    found = planned(pilot, own, metric, **options.passed_on(**wanted))
    if plot is not None:
        write_chart(found.chart(), plot, overwrite=overwrite)
    return finished(found, out, overwrite=overwrite)


@options.bundled
def judges(
    *,
    file: options.AnnotationFile,
    judge: Annotated[
        list[str] | None,
        option(
            "What a judge said of all cases; the same name again is a repeated answer.", "--judge", metavar="NAME=FILE"
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        option("A model to evaluate by --metric, on all cases. Repeat as needed.", metavar="NAME=FILE"),
    ] = None,
    metric: Metric = None,
    condition: Annotated[str | None, option("The condition whose share is estimated.")] = None,
    strata: Annotated[
        Path | None, option("Table of all judged cases, with a case column and one that labelled cases were drawn by.")
    ] = None,
    finite: Annotated[bool, option("The judged cases are all there are, rather than a sample.", "--finite")] = False,
    width: Annotated[float | None, option("The width of the interval that is wanted.")] = None,
    cost: Costs = None,
    level: Level = None,
    out: Table = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> Screen:
    """Correct many cheap judgements by few human ones.

    The mean rating, the share of a condition, or a metric of models, as if humans had labelled every case.

    Examples
    --------
    dissensus judges humans.csv --judge gpt=gpt.csv --judge llama=llama.csv --condition toxic --width 0.04
    dissensus judges humans.csv --judge gpt=gpt.csv --predictions A=a.csv --metric auroc --positive toxic
    """
    from dissensus.cli.evaluate import labels_in
    from dissensus.core.files import open_source
    from dissensus.decisions.judges import judges as corrected

    checked_target(out, overwrite, file, strata)
    study = options.examine_for([], file, said).study
    judged, scored = read_all(judge, study, said), read_all(predictions, study, said)
    terminal.compile_on_first_use("evaluation")
    labels = None
    if strata is not None and judged:
        names = next(iter(judged.values()))[0].case_names
        columns = labels_in(open_source(strata), names)
        columns.pop("image", None)
        labels = dict(zip(names, map(" / ".join, zip(*columns.values(), strict=True)), strict=True))
    wanted: dict[str, Any] = {"condition": condition, "width": width, "level": level, "strata": labels}
    wanted |= {"predictions": {name: answers[0] for name, answers in scored.items()} or None}
    wanted |= {"costs": numbers_by_name(cost, "--cost")}
    found = corrected(study, judged, metric, finite=finite, **options.passed_on(**wanted))
    return finished(found, out, overwrite=overwrite)


@options.bundled
def relabel(
    *,
    file: options.AnnotationFile,
    models: Mapping[str, Any],
    metric: Metric = None,
    model: Chosen = None,
    n: Annotated[int | None, option("How many cases to recommend; a tenth by itself.", "-n")] = None,
    aggregation: Annotated[str | None, option("How opinions become plausibilities.")] = None,
    how: Mapping[str, Any],
    out: Annotated[Path | None, option("A list of the cases: .csv for a spreadsheet, .json for Label Studio.")] = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> Screen:
    """List the cases to show to one more annotator.

    Those first whose answer is expected to settle most which of two models is better, or how good one is.

    Examples
    --------
    dissensus relabel opinions.csv --predictions A=a.csv --predictions B=b.csv -n 50 --out again.csv
    """
    from dissensus.decisions.relabelling import relabel as ranked

    checked_target(out, overwrite, file, *options.model_places(models).values())
    study, own = pilot_and_models(file, models, said, "dirichlet")
    how = {name: value for name, value in how.items() if name != "threads"}
    more = options.passed_on(models=model or None, n=n, aggregation=aggregation, **how)
    found = ranked(study, own, metric, allow_missing=bool(models["allow_missing"]), **more)
    if out is not None:
        found.write(out, overwrite=overwrite)
    return replace(found.screen(), place="" if out is None else f"-> {out}")


@options.bundled
def conformal(
    *,
    file: options.AnnotationFile,
    models: Mapping[str, Any],
    new: Annotated[Path | None, option("What the model says of new cases, for which sets are made.")] = None,
    alpha: Annotated[
        list[str] | None, option("How often a label may be outside of its set; or by category.", metavar="A|NAME=A")
    ] = None,
    score: Annotated[str | None, option("What conditions are scored by.", metavar="lac|aps|rank")] = None,
    method: Annotated[str | None, option("How the threshold is found.", metavar="monte-carlo|corrected")] = None,
    labels: Annotated[str | None, option("What labels are drawn from: annotators, or an aggregation.")] = None,
    m: Annotated[int | None, option("Labels per case.", "-m")] = None,
    categories: options.CategoriesFile = None,
    seed: Annotated[int | None, option("Same seed, same labels.")] = None,
    out: Annotated[Path | None, option("A CSV file for the sets of the new cases.")] = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> Screen:
    """Make prediction sets that hold what an annotator says.

    Thresholds are found on annotated cases; sets of new cases hold a label with the guarantee that is printed.

    Examples
    --------
    dissensus conformal opinions.csv --predictions A=a.csv --new new.csv --alpha 0.1 --out sets.csv
    dissensus conformal opinions.csv --predictions A=a.csv --categories risks.csv --alpha low=0.2 --alpha high=0.02
    """
    import polars as pl

    from dissensus.certainty.categories import Categories
    from dissensus.core.output import written_whole
    from dissensus.decisions.conformal import conformal as calibrated

    if (out is None) != (new is None):
        raise DissensusError("sets of new cases are written to a file", expected="--new and --out, or neither")
    checked_target(out, overwrite, file, new, *options.model_places(models).values())
    study, own = pilot_and_models(file, models, said)
    if len(own) != 1:
        raise DissensusError("sets are those of one model", expected="--predictions once", got=str(len(own)))
    ((name, model),) = own.items()
    alphas: Any = None
    if alpha:
        by_name = numbers_by_name([one if "=" in one else f"={one}" for one in alpha], "--alpha") or {}
        alphas = by_name[""] if list(by_name) == [""] else by_name
    known = None if categories is None else Categories.from_file(categories, study.conditions)
    more = options.passed_on(alpha=alphas, score=score, method=method, labels=labels, m=m, categories=known, seed=seed)
    found = calibrated(study, model, **more)
    if out is None:
        return found.screen()
    sets = found.predict(read_all([f"{name}={new}"], study, said)[name][0])
    cells = {"case": [sets.case_names[i] for i in sets.case_of_entry]}
    with written_whole(out, overwrite=overwrite) as temporary:
        pl.DataFrame({**cells, "condition": [sets.conditions[k] for k in sets.codes]}).write_csv(temporary)
    sizes = sets.entries_per_case
    told = f"{sets.n_cases:,} sets, {sizes.mean():.2f} conditions on average, {int((sizes == 0).sum()):,} empty"
    shown = found.screen()
    return replace(shown, decisions=(*shown.decisions, told), place=f"-> {out}")
