"""``dissensus calibrate``: how much the annotators can be trusted, by those who were held out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, progress
from dissensus.cli.options import option
from dissensus.cli.terminal import filled, say, show

if TYPE_CHECKING:
    from dissensus.evaluation.calibration import Calibration

SHOWN = 8
WIDTH = 80
WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}

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
    progress.compile_on_first_use("calibration")
    with progress.shown() as advance:
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
    show_calibration(found, out)


def show_calibration(found: Calibration, out: Path) -> None:
    """Print the sentences, the best aggregations, stated against confirmed, and agreement of models."""
    first, *others = found.sentences
    say(textwrap.fill(first, WIDTH, **WHOLE))
    for sentence in others:
        say(textwrap.fill(sentence, WIDTH, initial_indent="  ", subsequent_indent="    ", **WHOLE))
    order = sorted(found.score_rows, key=lambda row: -float(row["score"]))[:SHOWN]
    title = f"the {len(order)} best of {len(found.specs)} (* as good as the best)"
    show(filled(SCORES, ({**row, "mark": " *"[row["on_plateau"]]} for row in order), title=title))
    if found._order and found.split_rows:
        title = "certainty from half of the annotators, and what the others said"
        show(filled(CURVE, found.curve().rows(named=True), title=title))
    if found.model_rows:
        title = "agreement of models with annotators who were held out"
        show(filled(AGREEMENT, found.model_rows, words=2, title=title))
    say(f"-> {out}")
