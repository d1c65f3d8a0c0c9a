"""``dissensus calibrate``: how much the annotators can be trusted, by those who were held out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.aggregation.base import Aggregation
    from dissensus.evaluation.calibration import Calibration
    from dissensus.predictions.lists import Predictions
    from dissensus.study.study import Study

SHOWN = 8
WIDTH = 80
WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@options.bundled
def calibrate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, typer.Option("--out", help="Directory to write scores and panels into.")],
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="NAME=FILE",
            help="A model's predictions: its agreement with held-out panels is predicted too. Repeat as needed.",
        ),
    ] = None,
    aggregation: Annotated[
        list[str] | None,
        typer.Option(
            "--aggregation",
            metavar="NAME:1,2,3",
            help="An aggregation and its reliabilities, in the place of the usual ones. Repeat as needed.",
        ),
    ] = None,
    refine: Annotated[
        bool, typer.Option("--refine", help="Search on around the best: finer reliabilities, then alphas.")
    ] = False,
    max_pairs: Annotated[int, typer.Option("--max-pairs", help="How many annotators are held out at most.")] = 5000,
    draws: options.DrawsOption = 400,
    seed: options.SeedOption = 0,
    threads: options.ThreadsOption = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave out the cases that some model lacks.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier calibration; never a directory of anything else.")
    ] = False,
    said: Mapping[str, Any],
) -> None:
    """Hold annotators out to find how much they can be trusted, and whether certainty is confirmed.

    [bold]Examples[/bold]

      dissensus calibrate opinions.csv --out trust

      dissensus calibrate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --refine --out trust
    """
    from dissensus.core.output import checked_directory_target
    from dissensus.evaluation.calibration import not_a_calibration
    from dissensus.predictions.reader import named_paths

    places = named_paths(predictions or [])
    inputs = (file, said["conditions"], *places.values())
    checked_directory_target(out, overwrite=overwrite, foreign=not_a_calibration, inputs=inputs)
    reading = options.examine(file, said)
    options.say_receipt(reading.receipt)
    models = read_models(places, reading.study, said, allow_missing=allow_missing)
    how: dict[str, Any] = {"max_pairs": max_pairs, "draws": draws, "seed": seed, "threads": threads}
    found = calibrated(reading.study, aggregation or None, models, refine=refine, allow_missing=allow_missing, **how)
    found.save(out, overwrite=overwrite)
    show_calibration(found, out)


def read_models(
    places: Mapping[str, Path], study: Study, said: Mapping[str, Any], *, allow_missing: bool
) -> dict[str, Predictions]:
    """Read the predictions of models, and say what was understood."""
    from dissensus.predictions.reader import examine_predictions

    models = {}
    for name, place in places.items():
        reading = examine_predictions(
            place,
            name=name,
            conditions=study.conditions or None,
            cases=study.case_names,
            findings=study.kind == "checklists",
            allow_missing=allow_missing,
            limits=options.limit_sizes(said["limit"]),
        )
        options.say_receipt_of_model(reading.receipt)
        models[name] = reading.predictions
    return models


def calibrated(
    study: Study,
    aggregations: Sequence[Aggregation | str] | None,
    models: Mapping[str, Predictions],
    *,
    max_pairs: int = 5000,
    **how: Any,
) -> Calibration:
    """Calibrate, and show how far it is."""
    from dissensus.cli.progress import compile_on_first_use, progress_of_cases
    from dissensus.evaluation.calibration import calibrate as judged
    from dissensus.evaluation.calibration import calibration_steps

    steps = calibration_steps(study, aggregations, models, max_pairs=max_pairs)
    compile_on_first_use("calibration")
    with progress_of_cases("holding annotators out", steps) as advance:
        return judged(study, aggregations, models, max_pairs=max_pairs, advance=advance, **how)


def show_calibration(found: Calibration, out: Path | None = None) -> None:
    """Print the sentences, the best aggregations, and stated against confirmed."""
    from dissensus.cli.terminal import say, show

    first, *others = found.sentences
    say(textwrap.fill(first, WIDTH, **WHOLE))
    for sentence in others:
        say(textwrap.fill(sentence, WIDTH, initial_indent="  ", subsequent_indent="    ", **WHOLE))
    show(score_table(found))
    if found._order and found.split_rows:
        show(curve_table(found))
    if found.model_rows:
        show(model_table(found))
    if out is not None:
        say(f"-> {out}")


def score_table(found: Calibration) -> Table:
    """Show the best aggregations by their scores."""
    from dissensus.cli.grid import grid

    order = sorted(found.score_rows, key=lambda row: -float(row["score"]))[:SHOWN]
    rows = [
        (
            ("* " if row["on_plateau"] else "  ") + row["aggregation"],
            f"{row['score']:.3f}",
            f"{row['difference']:.3f}".replace("-0.000", "0.000"),
            f"{row['difference_se']:.3f}",
        )
        for row in order
    ]
    title = f"the {len(rows)} best of {len(found.specs)} (* as good as the best)"
    return grid(("aggregation", "score", "to best", "error"), rows, numbers=3, title=title)


def curve_table(found: Calibration) -> Table:
    """Show stated against confirmed for the best."""
    from dissensus.cli.grid import grid

    rows = [
        (
            f"{row['low']:g} to {row['high']:g}",
            f"{row['n_cases']:,}",
            f"{row['stated']:.2f}",
            f"{row['predicted']:.2f}",
            f"{row['confirmed']:.2f}",
            f"{row['confirmed_se']:.2f}",
        )
        for row in found.curve().rows(named=True)
    ]
    names = ("certainty", "cases", "stated", "expected", "confirmed", "error")
    return grid(names, rows, numbers=5, title="certainty from half of the annotators, and what the others said")


def model_table(found: Calibration) -> Table:
    """Show predicted against observed agreement of every model."""
    from dissensus.cli.grid import grid

    rows = [
        (
            row["model"],
            row["estimand"],
            f"{row['predicted']:.3f}",
            f"{row['observed']:.3f}",
            f"{row['gap']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]",
        )
        for row in found.model_rows
    ]
    names = ("model", "estimand", "predicted", "observed", "difference")
    return grid(names, rows, numbers=3, title="agreement of models with annotators who were held out")
