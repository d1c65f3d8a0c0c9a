"""The documentation page "Reproducing the paper", written from a reproduction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.output import written_whole
from dissensus.figures.charts import Bars, Chart, Line, Mark, kept_places
from paper.reproduction import (
    cifar10h_experiment,
    dermatology_experiment,
    held_out_experiment,
    models_experiment,
    printed_experiment,
    ratings_experiment,
    tempered_experiment,
    toy_experiment,
)
from paper.reproduction.charts_of_paper import FIGURES, charts_of
from paper.reproduction.paper_figures import PaperFigure

if TYPE_CHECKING:
    from dissensus.core.arrays import Path
    from paper.reproduction.experiments import Reproduction
    from paper.reproduction.rows import Row, Section

HEAVY = 200_000
"""Figures of more bytes are left out of the page."""

MOST_POINTS = 150
"""Points of a line in a figure of the page."""

FOLDER = "images/reproduction"

OPENING = """# Reproducing the paper

Dissensus implements the framework of Stutz et al., *Evaluating medical AI systems in dermatology under uncertain
ground truth* (Medical Image Analysis; arXiv 2307.02191). One command runs its experiments and puts what the paper
says beside what comes out:

```sh
make paper DATA=DIR                                              # this page, and the trials
python -m paper.reproduction DIR paper/docs/reproduction.md      # this page alone
```

[Data sets](datasets.md) says where to get the data; each data set is looked for in `DIR` and in a folder of it
(`dermatology_ddx`, `cifar10h`, `ava`, `wikipedia_toxicity`). No number of ours is typed by hand.

**agrees**: within the tolerance, or within the limit that stands for the paper's words. **differs**: not so; the
tables at the end say for every number what would have been different. **not comparable**: computed with simulated
stand-ins for the four models, which say nothing about real ones. ± is a Monte Carlo standard error.
"""

CLOSING = """## Beyond the paper

**Two rules for ties.** Inverse rank normalisation gives the block at rank i the weight 1/i. The paper's equation
*shares* that weight among the tied conditions of the block. Its printed numbers for PrIRN do not follow from the
equation: they come out if *each* tied condition has the full 1/i. The printed cases tell the two apart beyond doubt:
compare the rows with `ties="each"` and `ties="shared"`. Dissensus offers both; `ties="shared"`, the equation, is the
default, and this page uses `ties="each"` where it follows the paper's numbers.

**Tempering is not repeating.** The paper expects the same effect of both. Tempering raises certainty less than half as
much and makes plausibilities more equal, where repeating makes them more unequal; annotators who were held out like
neither better than a reliability of 1.

**Adjusted accuracy is not what a larger panel would say.** The paper reads the gap between a point estimate and
adjusted accuracy as overestimation. Where 50 or 100 people labelled every case, one can look: small studies of three
labels a case are drawn, and every number is held against what all labels say. The paper's adjusted accuracy is too
*low*, because draws from a posterior of three labels put plausible mass on conditions that a larger panel would rule
out; even the majority vote of three is below it.
[Which number should I report?](../../docs/explanation/which-number.md) says
what to report instead, [Do panel estimates hold?](panel.md) has the whole experiment.
"""

SMALLER = """**1947 cases, not 1939.** The paper describes a test set of 1939 cases with at least three annotators each.
The release has 1947 cases, and some of them have one or two annotators. Which eight the paper leaves out cannot be
told.

**Correlated draws.** The paper's Plackett-Luce values are averages of 1000 successive draws of a Gibbs sampler, which
resemble each other; that is why the printed case values have a tolerance of 0.06. Those of PrIRN are averages of
independent draws and have 0.03.

**Which category is certain.** The printed share of cases whose risk is uncertain comes out if the risk of a draw is
that of its most plausible condition. Taking the risk with the most mass gives another share, which stands beside it
in the table.
"""

TOLD: Mapping[str, str] = {
    toy_experiment.TITLE: (
        "Observations on a line, two benign classes and one cancer, normal class-conditionals, annotators who draw "
        "one label each from the exact p(y|x). The paper prints no parameters; those here are of the same kind: in "
        "example (i) one class is clear, in (ii) all three compete, in (iii) two do."
    ),
    printed_experiment.TITLE: (
        "Seven cases are printed, three of them with the prediction sets of two models each: how often is the most "
        "plausible condition of a draw in the set? No data is needed. First with the tie rule of the paper's numbers, "
        "then with that of its equation; then what the paper says of cases in words, and how far PL and PrIRN differ."
    ),
    cifar10h_experiment.TITLE: (
        "About fifty single labels for each of 10 000 images; Dirichlet posterior with one pseudo-vote per class."
    ),
    ratings_experiment.AVA_TITLE: (
        "Scores from 1 to 10, poor up to 5 and good above; normal-inverse-gamma model, prior estimated from all scores."
    ),
    ratings_experiment.TOXICITY_TITLE: ("Scores from -2 to 2, toxic up to 0; the same model."),
    dermatology_experiment.TITLE: (
        "Differential diagnoses as partial rankings with ties. Medium reliability is 3 for Plackett-Luce (PL) and 30 "
        "for probabilistic inverse ranks (PrIRN)."
    ),
    models_experiment.TITLE: (
        "The main figure: metrics of four models at PL reliability 1, 2, 3, 5, 10 and PrIRN reliability 10, 20, 30, "
        "50, 100. With the files `dermatology_predictions0` to `3` among the data, the published models are "
        "evaluated. Without them, **simulated stand-ins** take their place: they are made from the annotations "
        "themselves and say nothing about any real model."
    ),
    tempered_experiment.TITLE: (
        "The paper names another way to trust annotators more, plausibilities to the power of the reliability, and "
        "repeats rankings instead, as it expects the same effect. "
        "[Aggregations](../../docs/reference/aggregations.md#tempering) says how to sample it."
    ),
    held_out_experiment.TITLE: (
        "Top-1 accuracy of the networks of ChaosNLI (100 labels a pair of sentences) and CIFAR-10H (50 an image; the "
        "most disputed ones), computed from three labels a case and held against what all labels say."
    ),
}


def write_page(reproduction: Reproduction, path: Path) -> tuple[FilePath, ...]:
    """Write the page anew, and its figures into ``images/reproduction`` beside it; return what was written."""
    target = FilePath(path)
    drawn = _write_images(charts_of(reproduction.frames), target.parent / FOLDER)
    with written_whole(target, overwrite=True) as temporary:
        temporary.write_text(page_text(reproduction, {place.stem for place in drawn}), encoding="utf-8")
    return (target, *drawn)


def page_text(reproduction: Reproduction, drawn: Iterable[str] = ()) -> str:
    """Return the page as Markdown, with the figures that were drawn: claims first, tables folded."""
    known = set(drawn)
    figures = [figure for figure in FIGURES if figure.name in known]
    charts = charts_of(reproduction.frames)
    parts = [
        OPENING,
        _summary(reproduction),
        _claims(reproduction),
        _printed(reproduction),
        *_images(figures, charts),
        "## All numbers\n",
        *(_folded(section) for section in reproduction.sections),
        SMALLER,
        CLOSING,
        _beyond(reproduction),
    ]
    return "\n".join(part for part in parts if part)


def _summary(reproduction: Reproduction) -> str:
    settings = reproduction.settings
    agreeing, printed = _counted(_printed_rows(reproduction))
    missing = "".join(f"\n- {each}" for each in reproduction.missing)
    absent = f"\n\nNot at hand when this page was written:\n{missing}" if missing else ""
    return (
        f"**Of {printed} numbers that the paper prints, {agreeing} come out.** What it says in words is judged apart. "
        f"{settings.draws} draws per case ({settings.sweep_draws} at the other reliabilities of the main figure), seed "
        f"{settings.seed}.{absent}\n"
    )


def _claims(reproduction: Reproduction) -> str:
    """List what the paper says in words: what differs first, with the reason; what cannot be compared folded."""
    said = [row for row in reproduction.rows if row.words]
    differs, agrees, others = (
        [_claim(row, said) for row in said if row.verdict == verdict]
        for verdict in ("differs", "agrees", "not comparable")
    )
    if not said:
        return ""
    folded = _details(f"Not comparable, with stand-ins for the models: {len(others)} claims", "\n".join(others))
    return "\n".join(
        [
            "## What the paper says in words\n",
            f"{len(said)} readings of its claims; in brackets, what is taken to be meant.\n",
            *_listed("Differs", differs),
            *_listed("Agrees", agrees),
            *([folded] if others else []),
        ]
    )


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"**{title}:**\n", *lines, ""] if lines else []


def _claim(row: Row, said: Sequence[Row]) -> str:
    """Write one claim as an item of a list; which aggregation it is about, if several are asked the same."""
    alike = [one for one in said if (one.words, one.quantity) == (row.words, row.quantity)]
    under = f" ({row.settings.partition(',')[0]})" if len(alike) > 1 else ""
    is_refuted = row.paper is not None and not row.paper.holds(row.ours)
    reason = f" {_capital(row.explanation)}." if is_refuted else ""
    return f'- "{row.words}": {row.quantity}{under}: {row.ours_text} ({row.limit_text}).{reason}'


def _printed_rows(reproduction: Reproduction) -> list[Row]:
    """Return the numbers that the paper prints, each once."""
    rows = [row for row in reproduction.rows if row.paper is not None and not row.words]
    once = {(row.quantity, row.paper_text, row.settings.partition(",")[0]): row for row in reversed(rows)}
    return [*reversed(once.values())]


def _counted(rows: Sequence[Row]) -> tuple[int, int]:
    """Count those that agree, and all."""
    return sum(row.verdict == "agrees" for row in rows), len(rows)


def _printed(reproduction: Reproduction) -> str:
    """Count the numbers that the paper prints, each once, say where they differ, and fold their table.

    Other readings of the same number are in the tables of the experiments.
    """
    chosen = _printed_rows(reproduction)
    lines = [_cells(row.quantity, row.settings, row.paper_text, row.ours_text, row.verdict) for row in chosen]
    head = "| quantity | settings | paper | ours | verdict |\n|---|---|---|---|---|"
    differs = [
        f"- {row.quantity}: {row.ours_text}, printed {row.paper_text}. {_capital(row.explanation)}."
        for row in chosen
        if row.verdict == "differs"
    ]
    agreeing, printed = _counted(chosen)
    return "\n".join(
        [
            "## What it prints\n",
            f"{printed} numbers; {agreeing} agree.\n",
            *_listed("Differs", differs),
            _details("All printed numbers", "\n".join([head, *lines])),
        ]
    )


def _details(title: str, text: str) -> str:
    """Hide text behind a title, until somebody wants to see it."""
    return f'<details markdown="1"><summary>{title}</summary>\n\n{text}\n\n</details>\n'


def _folded(section: Section) -> str:
    return _details(f"{section.title}: {len(section.rows)} numbers", _section_text(section))


def _beyond(reproduction: Reproduction) -> str:
    """Show what larger panels say, if there were any."""
    if "held_out" not in reproduction.frames:
        return ""
    title, table = held_out_experiment.TITLE, held_out_experiment.held_out_table(reproduction.frames["held_out"])
    return f"### {title}\n\n{TOLD[title]}\n\n{table}\n"


def _section_text(section: Section) -> str:
    head = "| quantity | paper | differs if | ours | settings | verdict |\n|---|---|---|---|---|---|"
    lines = [_line(row, section.reasons) for row in section.rows]
    notes = [f"{number}. {_capital(reason)}." for number, reason in enumerate(section.reasons, start=1)]
    return "\n".join([f"{TOLD[section.title]}\n", head, *lines, "", *notes, ""])


def _line(row: Row, reasons: tuple[str, ...]) -> str:
    mark = f" ({reasons.index(row.explanation) + 1})" if row.explanation else ""
    return _cells(
        row.quantity, row.paper_text, row.refutation or "-", row.ours_text, row.settings, f"{row.verdict}{mark}"
    )


def _cells(*texts: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _images(figures: Sequence[PaperFigure], charts: Mapping[str, Chart]) -> list[str]:
    """Show the figures in the order of the paper, those of ours last."""
    ordered = sorted(figures, key=lambda figure: figure.place)
    shown = [
        f"![{charts[one.name].title}]({FOLDER}/{one.name}.svg)\n\n"
        f"*{one.label}: {charts[one.name].title}.* {charts[one.name].caption}\n"
        for one in ordered
    ]
    return ["## Figure by figure\n", *shown] if shown else []


def _write_images(charts: Mapping[str, Chart], folder: FilePath) -> tuple[FilePath, ...]:
    """Write the charts that are small enough as SVG."""
    from dissensus.figures.charts import svg

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        text = svg(_thinned(chart), name)
        if len(text.encode()) < HEAVY:
            (folder / f"{name}.svg").write_text(text, encoding="utf-8")
            written.append(folder / f"{name}.svg")
    return tuple(written)


def _thinned(chart: Chart) -> Chart:
    """Draw long lines with fewer points, and leave bars without height out."""
    panels = tuple(replace(panel, marks=tuple(_thinned_mark(mark) for mark in panel.marks)) for panel in chart.panels)
    return replace(chart, panels=panels)


def _thinned_mark(mark: Mark) -> Mark:
    if isinstance(mark, Line) and len(mark.x) > MOST_POINTS:
        kept = kept_places(len(mark.x), MOST_POINTS)
        return replace(mark, x=mark.x[kept], y=mark.y[kept], texts=())
    if isinstance(mark, Bars):
        seen = np.flatnonzero(mark.lengths > 0)
        base = None if mark.base is None else mark.base[seen]
        return replace(mark, positions=mark.positions[seen], lengths=mark.lengths[seen], base=base, texts=())
    return mark
