"""The gallery: every figure of an evaluation, drawn from two simulated studies when the site is built."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import dissensus as ds
from dissensus.evaluation.plots import FIGURES

FOLDER = "images/gallery"


def gallery_list() -> str:
    """Name every figure with what it shows and what it needs."""
    parts = []
    for name, sort in FIGURES.items():
        needs = f" Needs {', '.join(sort.needs)}." if sort.needs else ""
        picture = f"![{sort.shows.replace('``', '')}]({FOLDER}/{name}.svg)"
        parts.append(f"## {name}\n\n{sort.shows.replace('``', '`')}.{needs}\n\n{picture}\n")
    return "\n".join(parts)


@cache
def evaluations() -> tuple[ds.Evaluation, ...]:
    """Evaluate a study of differential diagnoses and one of a yes-or-no question, so that every figure has data."""
    ranked = ds.simulate.study(n_cases=200, n_conditions=30, seed=1)
    risks = ds.Categories.from_mapping(
        {name: ("low", "medium", "high")[place % 3] for place, name in enumerate(ranked.annotations.conditions)},
        ranked.annotations.conditions,
        levels={"low": 0, "medium": 1, "high": 2},
    )
    found = ds.calibrate(ranked.annotations, ["plackett-luce:1,3"], draws=100)
    first = ds.evaluate(
        ranked.annotations,
        ranked.predictions,
        aggregations=["plackett-luce:1,3,10"],
        categories=risks,
        draws=300,
        reference=found,
        metrics=["accuracy", "top-3 accuracy"],
    )
    asked = ds.simulate.binary(n_cases=200, seed=1)
    second = ds.evaluate(
        asked.annotations,
        asked.predictions,
        metrics=["auroc", "sensitivity", "calibration-error", "net-benefit:0.2", "average-precision"],
        draws=300,
    )
    return first, second


def draw(folder: Path) -> None:
    """Write every figure that one of the evaluations has."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, sort in FIGURES.items():
        shown = next((one for one in evaluations() if not sort.lacking(one)), None)
        if shown is None:
            raise LookupError(f"no evaluation of the gallery has the figure {name}")
        chosen = {"case": shown.case_names[0]} if "case" in sort.options else {}
        shown.plot.figure(name, **chosen).save(str(folder / FOLDER / f"{name}.svg"))
