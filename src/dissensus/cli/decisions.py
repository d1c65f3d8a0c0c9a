"""``dissensus experts``, ``plan``, ``judges``, ``relabel`` and ``conformal``: what people decide about models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import dissensus as ds
from dissensus.cli import options, terminal
from dissensus.cli.options import Given, ScreenAndRows, argument, bundle, option, passed_on, study_and_models, with_rows
from dissensus.core.errors import DissensusError
from dissensus.core.output import checked_file_target
from dissensus.core.screen import Screen

METRIC = (str, "A metric, e.g. top-k-accuracy:1; the first of the question by itself.")
MODEL = (list[str], "A model that the conclusion is about: one, or two.")
COST = (list[str], "Cost of one case, opinion or annotator. Repeat as needed.", "NAME=COST")
LEVEL = (float, "Probability that intervals hold.")
NUMBERS = (str, "Numbers to look at, comma-separated.", "N,N")
SIZES = ("cases", "opinions", "annotators")


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


def listed_numbers(given: str, what: str) -> list[int]:
    """Turn numbers with commas between them into a list.

    >>> listed_numbers("100,200", "--cases")
    [100, 200]
    """
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        expected = "whole numbers, comma-separated"
        raise DissensusError(f"{what} is not understood", expected=expected, got=repr(given)) from None


def read_all(given: list[str] | None, study: ds.Study, said: Given) -> dict[str, list[ds.Predictions]]:
    """Read predictions of all cases that files have, whether or not the study has them; a name may come repeatedly."""
    from dissensus.predictions.reader import examine_predictions, named_path

    found: dict[str, list[ds.Predictions]] = {}
    how: dict[str, Any] = {"conditions": study.conditions or None, "binary": study.question == "binary"}
    how |= {"positive": said.get("positive"), "limits": options.limit_sizes(said)}
    for one in given or []:
        name, place = named_path(one)
        reading = examine_predictions(place, name=name, **how)
        options.say_receipt(reading.receipt, briefly=True)
        found.setdefault(name, []).append(reading.predictions)
    return found


@with_rows("A CSV file for all numbers.")
def experts(
    *,
    file: options.AnnotationFile,
    models: options.Models,
    metric: options.Metrics = None,
    verdicts: options.Verdicts,
    strata: Annotated[Path | None, option("Table with a case column and columns to group cases by.")] = None,
    show_all: options.ShowAll = False,
    said: options.Said,
) -> ScreenAndRows:
    """Put models beside the annotators: what each is worth.

    Agreement with one annotator, and how many annotators a model is worth.

    Examples
    --------
    dissensus experts opinions.csv --predictions A=a.csv --predictions B=b.csv
    dissensus experts opinions.csv --predictions A=a.csv --margin 0.05 --called radiologist --out experts.csv
    dissensus experts opinions.csv --predictions A=a.csv --strata patients.csv
    """
    import polars as pl

    study, own = study_and_models(file, models, said, "evaluation")
    _, columns = options.case_labels(strata, study.case_names)
    columns.pop("image", None)
    more = passed_on(metrics=metric or None, strata=columns or None, **verdicts)
    found = ds.experts(study, own, allow_missing=bool(models.get("allow_missing")), **more)
    parts = [found.to_frame(), *([found.by_stratum()] if found.strata_rows else [])]
    return found.screen(show_all=show_all), pl.concat(parts, how="diagonal")


@with_rows("A CSV file for all rows.")
def plan(
    *,
    file: Annotated[Path | None, argument("Annotations of a pilot study, unless --sd is given.", "FILE")] = None,
    models: options.Models,
    asked: Annotated[
        Given,
        bundle(
            metric=METRIC,
            model=MODEL,
            cost=COST,
            sd=(list[str], "Standard deviation between cases, opinions or annotators, without a pilot.", "NAME=SD"),
            plot=(Path, "A figure: .svg, .pdf, .png or .html."),
        ),
    ],
    wanted: Annotated[
        Given,
        bundle(
            effect=(float, "The true difference; that of the pilot by itself."),
            margin=(float, "Plan for non-inferiority by this margin."),
            cases=NUMBERS,
            opinions=NUMBERS,
            annotators=NUMBERS,
            design=(str, "Who reads which case.", "assigned|crossed|nested"),
            power=(float, "The power that is wanted."),
            width=(float, "The width of the interval that is wanted, instead of a power."),
            level=LEVEL,
        ),
    ],
    overwrite: options.Overwrite = False,
    said: options.Said,
) -> ScreenAndRows:
    """Plan a study: power over cases, opinions and annotators.

    The cheapest design that has the power of a comparison, or the width of its interval, that is wanted.

    Examples
    --------
    dissensus plan opinions.csv --predictions A=a.csv --predictions B=b.csv --effect 0.03 --opinions 2,3,5
    dissensus plan opinions.csv --predictions A=a.csv --margin 0.05 --effect 0 --cost case=4 --cost opinion=1
    dissensus plan --sd case=0.3 --sd opinion=0.4 --effect 0.05 --opinions 1,3 --plot power.svg
    """
    from dissensus.figures.charts import write_chart

    stated = {f"{name}_sd": value for name, value in (numbers_by_name(asked.get("sd"), "--sd") or {}).items()}
    if bool(stated) == (file is not None):
        expected = "FILE, or --sd case=0.3 and its like, and not both"
        raise DissensusError("a plan starts from a pilot study or from standard deviations", expected=expected)
    sizes = {name: listed_numbers(wanted[name], f"--{name}") for name in wanted if name in SIZES}
    more = passed_on(models=asked.get("model"), costs=numbers_by_name(asked.get("cost"), "--cost"))
    pilot, own = (stated, {}) if file is None else study_and_models(file, models, said, "evaluation")
    found = ds.plan(pilot, own, asked.get("metric"), **{**wanted, **sizes, **more})
    if "plot" in asked:
        write_chart(found.chart(), asked["plot"], overwrite=overwrite)
    return found.screen(), found.to_frame()


@with_rows("A CSV file for all rows.")
def judges(
    *,
    file: options.AnnotationFile,
    asked: Annotated[
        Given,
        bundle(
            judge=(list[str], "What a judge said of all cases; the same name again is a repeated answer.", "NAME=FILE"),
            predictions=(list[str], "A model to evaluate by --metric, on all cases. Repeat as needed.", "NAME=FILE"),
            metric=METRIC,
            strata=(Path, "Table of all judged cases, with a case column and one that labelled cases were drawn by."),
            cost=COST,
        ),
    ],
    wanted: Annotated[
        Given,
        bundle(
            condition=(str, "The condition whose share is estimated."),
            finite=(bool, "The judged cases are all there are, rather than a sample."),
            width=(float, "The width of the interval that is wanted."),
            level=LEVEL,
        ),
    ],
    said: options.Said,
) -> ScreenAndRows:
    """Correct many cheap judgements by few human ones.

    The mean rating, the share of a condition, or a metric of models, as if humans had labelled every case.

    Examples
    --------
    dissensus judges humans.csv --judge gpt=gpt.csv --judge llama=llama.csv --condition toxic --width 0.04
    dissensus judges humans.csv --judge gpt=gpt.csv --predictions A=a.csv --metric auroc --positive toxic
    """
    study = options.read(file, said).study
    judged, scored = (read_all(asked.get(name), study, said) for name in ("judge", "predictions"))
    terminal.compile_on_first_use("evaluation")
    labels = None
    if "strata" in asked and judged:
        names = next(iter(judged.values()))[0].case_names
        _, columns = options.case_labels(asked["strata"], names)
        columns.pop("image", None)
        labels = dict(zip(names, map(" / ".join, zip(*columns.values(), strict=True)), strict=True))
    models = {name: answers[0] for name, answers in scored.items()} or None
    more = passed_on(strata=labels, predictions=models, costs=numbers_by_name(asked.get("cost"), "--cost"))
    found = ds.judges(study, judged, asked.get("metric"), **wanted, **more)
    return found.screen(), found.to_frame()


@options.bundled
def relabel(
    *,
    file: options.AnnotationFile,
    models: options.Models,
    asked: Annotated[Given, bundle(metric=METRIC, model=MODEL)],
    n: Annotated[int | None, option("How many cases to recommend; a tenth by itself.", "-n")] = None,
    aggregation: Annotated[str | None, option("How opinions become plausibilities.")] = None,
    how: options.How,
    out: Annotated[Path | None, option("A list of the cases: .csv for a spreadsheet, .json for Label Studio.")] = None,
    overwrite: options.Overwrite = False,
    said: options.Said,
) -> Screen:
    """List the cases to show to one more annotator.

    Those first whose answer is expected to settle most which of two models is better, or how good one is.

    Examples
    --------
    dissensus relabel opinions.csv --predictions A=a.csv --predictions B=b.csv -n 50 --out again.csv
    """
    if out is not None:
        checked_file_target(out, overwrite=overwrite, inputs=(file, *options.model_places(models).values()))
    study, own = study_and_models(file, models, said, "evaluation", "dirichlet")
    how = {name: value for name, value in how.items() if name != "threads"}
    more = passed_on(models=asked.get("model"), n=n, aggregation=aggregation, **how)
    found = ds.relabel(study, own, asked.get("metric"), allow_missing=bool(models.get("allow_missing")), **more)
    if out is not None:
        found.write(out, overwrite=overwrite)
    return replace(found.screen(), place="" if out is None else f"-> {out}")


@with_rows("")
def conformal(
    *,
    file: options.AnnotationFile,
    models: options.Models,
    new: Annotated[Path | None, option("What the model says of new cases, for which sets are made.")] = None,
    wanted: Annotated[
        Given,
        bundle(
            alpha=(list[str], "How often a label may be outside of its set; or by category.", "A|NAME=A"),
            score=(str, "What conditions are scored by.", "lac|aps|rank"),
            method=(str, "How the threshold is found.", "monte-carlo|corrected"),
            labels=(str, "What labels are drawn from: annotators, or an aggregation."),
            seed=(int, "Same seed, same labels."),
        ),
    ],
    m: Annotated[int | None, option("Labels per case.", "-m")] = None,
    categories: options.CategoriesFile = None,
    out: Annotated[Path | None, option("A CSV file for the sets of the new cases.")] = None,
    said: options.Said,
) -> ScreenAndRows:
    """Make prediction sets that hold what an annotator says.

    Thresholds are found on annotated cases; sets of new cases hold a label with the guarantee that is printed.

    Examples
    --------
    dissensus conformal opinions.csv --predictions A=a.csv --new new.csv --alpha 0.1 --out sets.csv
    dissensus conformal opinions.csv --predictions A=a.csv --categories risks.csv --alpha low=0.2 --alpha high=0.02
    """
    import polars as pl

    if (out is None) != (new is None):
        raise DissensusError("sets of new cases are written to a file", expected="--new and --out, or neither")
    study, own = study_and_models(file, models, said, "evaluation")
    if len(own) != 1:
        raise DissensusError("sets are those of one model", expected="--predictions once", got=str(len(own)))
    ((name, model),) = own.items()
    alphas: Any = numbers_by_name([one if "=" in one else f"={one}" for one in wanted.get("alpha", ())], "--alpha")
    if alphas and list(alphas) == [""]:
        alphas = alphas[""]
    known = None if categories is None else ds.Categories.from_file(categories, study.conditions)
    found = ds.conformal(study, model, **{**wanted, **passed_on(alpha=alphas, m=m, categories=known)})
    shown = found.screen()
    if out is None:
        return shown, pl.DataFrame()
    sets = found.predict(read_all([f"{name}={new}"], study, said)[name][0])
    sizes = sets.entries_per_case
    told = f"{sets.n_cases:,} sets, {sizes.mean():.2f} conditions on average, {int((sizes == 0).sum()):,} empty"
    cells = {"case": [sets.case_names[i] for i in sets.case_of_entry]}
    table = pl.DataFrame({**cells, "condition": [sets.conditions[k] for k in sets.codes]})
    return replace(shown, decisions=(*shown.decisions, told)), table
