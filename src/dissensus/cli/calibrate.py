"""``dissensus calibrate``: how much the annotators can be trusted, by those who were held out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, progress
from dissensus.cli.options import option
from dissensus.cli.terminal import grid, say, show

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.evaluation.calibration import Calibration

SHOWN = 8
WIDTH = 80
WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@options.bundled
def calibrate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Directory to write scores and panels into.")],
    predictions: options.PredictionFiles = None,
    aggregation: options.Aggregations = None,
    refine: Annotated[bool, option("Search on around the best: finer reliabilities, then alphas.", "--refine")] = False,
    max_pairs: Annotated[int | None, option("How many annotators are held out at most.")] = None,
    how: Mapping[str, Any],
    allow_missing: options.AllowMissing = False,
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
    from dissensus.predictions.reader import named_paths

    places = named_paths(predictions or [])
    inputs = (file, said["conditions"], *places.values())
    checked_directory_target(out, overwrite=overwrite, foreign=not_a_calibration, inputs=inputs)
    reading = options.examine_for([], file, said)
    read = options.read_models(places, reading.study, said, allow_missing=allow_missing)
    models = {name: model.predictions for name, model in read.items()}
    given = options.passed_on(**how, max_pairs=max_pairs)
    progress.compile_on_first_use()
    with progress.shown() as advance:
        found = calibrated(
            reading.study,
            aggregation or None,
            models,
            refine=refine,
            allow_missing=allow_missing,
            advance=advance,
            **given,
        )
    found.save(out, overwrite=overwrite)
    show_calibration(found, out)


def show_calibration(found: Calibration, out: Path) -> None:
    """Print the sentences, the best aggregations, and stated against confirmed."""
    first, *others = found.sentences
    say(textwrap.fill(first, WIDTH, **WHOLE))
    for sentence in others:
        say(textwrap.fill(sentence, WIDTH, initial_indent="  ", subsequent_indent="    ", **WHOLE))
    show(score_table(found))
    if found._order and found.split_rows:
        show(curve_table(found))
    if found.model_rows:
        show(model_table(found))
    say(f"-> {out}")


def score_table(found: Calibration) -> Table:
    """Show the best aggregations by their scores."""
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
