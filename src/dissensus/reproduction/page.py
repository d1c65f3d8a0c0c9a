"""The documentation page "Reproducing the paper", written from a reproduction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.output import written_whole
from dissensus.figures.charts import Bars, Chart, Line, Mark
from dissensus.figures.samples import kept_places
from dissensus.reproduction import (
    cifar10h_experiment,
    dermatology_experiment,
    models_experiment,
    printed_experiment,
    ratings_experiment,
    toy_experiment,
)
from dissensus.reproduction.charts_of_paper import FIGURES, charts_of

if TYPE_CHECKING:
    from dissensus.core.aliases import Path
    from dissensus.reproduction.experiments import Reproduction
    from dissensus.reproduction.rows import Row, Section

HEAVY = 60_000
"""Figures of more bytes are left out of the page."""

MOST_POINTS = 150
"""Points of a line in a figure of the page."""

FOLDER = "images/reproduction"
CLOUD = re.compile(r'(?P<group><g clip-path="[^"]*")>(?P<points>(?:\s*<use [^>]*? style="(?P<look>[^"]*)"/>){2,})')
"""The points of one mark in a drawing by matplotlib, which repeats their look at each of them."""

OPENING = """# Reproducing the paper

Dissensus implements the framework of Stutz et al., *Evaluating medical AI systems in dermatology under uncertain
ground truth* (Medical Image Analysis; arXiv 2307.02191). One command runs its experiments and puts what the paper
prints beside what comes out:

```sh
dissensus reproduce --data DIR              # the tables below
dissensus reproduce --data DIR --json reproduction.json --out figures
dissensus reproduce                         # without data: the toy problem and the printed cases
```

[Data sets](datasets.md) says where to get the data; each data set is looked for in `DIR` and in a folder of it
(`dermatology_ddx`, `cifar10h`, `ava`, `wikipedia_toxicity`). This page is written by `python -m
dissensus.reproduction DIR docs/reproduction.md`; no number in its tables is typed by hand except those of the paper.

**agrees**: within the stated tolerance, or within the limit that the paper claims in words. **not in the paper**:
measured here, shown there in a figure at most. **not comparable**: computed with simulated stand-ins. The number
behind ± is a Monte Carlo standard error; where there is none, nothing random enters, or it is not estimated.
"""

CLOSING = """## What was learnt on the way

**Two rules for ties.** Inverse rank normalisation gives the block at rank i the weight 1/i. The paper's equation
*shares* that weight among the tied conditions of the block. Its printed numbers for PrIRN do not follow from the
equation: they come out if *each* tied condition has the full 1/i. The printed cases tell the two apart beyond doubt:
compare the rows with `ties="each"` and `ties="shared"`. Dissensus offers both; `ties="shared"`, the equation, is the
default, and this page uses `ties="each"` where it follows the paper's numbers.

**1947 cases, not 1939.** The paper describes a test set of 1939 cases with at least three annotators each. The
release has 1947 cases, and some of them have one or two annotators. Which eight the paper leaves out cannot be told.
The shares and correlations agree within their tolerance all the same.

**Correlated draws.** The paper's Plackett-Luce values are averages of 1000 successive draws of a Gibbs sampler.
Successive draws resemble each other, so that such an average is less precise than one of 1000 independent draws. That
is why the printed case values have a tolerance of 0.06. The values here are averages of 20 times as many draws that
are nearly independent, with their Monte Carlo error beside them.

**A slip.** The paper calls 178 of 10 000 images "roughly 0.2 %"; they are 1.8 %.

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
        "Three cases are printed in full, with the prediction sets of two models each: how often is the most "
        "plausible condition of a draw in the set? No data is needed. First with the tie rule of the paper's numbers, "
        "then with that of its equation."
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
}


def write_page(reproduction: Reproduction, path: Path) -> tuple[FilePath, ...]:
    """Write the page anew, and its figures into ``images/reproduction`` beside it; return what was written."""
    target = FilePath(path)
    drawn = _write_images(charts_of(reproduction.frames), target.parent / FOLDER)
    with written_whole(target, overwrite=True) as temporary:
        temporary.write_text(page_text(reproduction, {place.stem for place in drawn}), encoding="utf-8")
    return (target, *drawn)


def page_text(reproduction: Reproduction, drawn: Iterable[str] = ()) -> str:
    """Return the page as Markdown, with the figures that were drawn."""
    charts, known = charts_of(reproduction.frames), set(drawn)
    parts = [OPENING, _summary(reproduction)]
    for section in reproduction.sections:
        parts += [_section_text(section), *_images(section, charts, known)]
    return "\n".join([*parts, CLOSING])


def _summary(reproduction: Reproduction) -> str:
    settings, counts = reproduction.settings, reproduction.counts
    told = ", ".join(f"{verdict} {count}" for verdict, count in counts.items() if count)
    missing = "".join(f"\n- {each}" for each in reproduction.missing)
    absent = f"\n\nNot at hand when this page was written:\n{missing}" if missing else ""
    return (
        f"This run: {settings.draws} draws per case ({settings.sweep_draws} at the other reliabilities of the main "
        f"figure), seed {settings.seed}. {len(reproduction.rows)} numbers: {told}.{absent}\n"
    )


def _section_text(section: Section) -> str:
    head = "| quantity | paper | ours | settings | verdict |\n|---|---|---|---|---|"
    lines = [_line(row, section.reasons) for row in section.rows]
    notes = [f"{number}. {_capital(reason)}." for number, reason in enumerate(section.reasons, start=1)]
    told = TOLD.get(section.title, "")
    return "\n".join([f"## {section.title}\n", f"{told}\n", head, *lines, "", *notes, ""])


def _line(row: Row, reasons: tuple[str, ...]) -> str:
    mark = f" ({reasons.index(row.explanation) + 1})" if row.explanation else ""
    cells = (row.quantity, row.paper_text, row.ours_text, row.settings, f"{row.verdict}{mark}")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _images(section: Section, charts: Mapping[str, Chart], known: set[str]) -> list[str]:
    shown = [figure for figure in FIGURES if figure.section == section.title and figure.name in known]
    return [
        f"![{charts[one.name].title}]({FOLDER}/{one.name}.svg)\n\n"
        f"*Figure {one.number} of the paper: {charts[one.name].title}.* {charts[one.name].caption}\n"
        for one in shown
    ]


def _write_images(charts: Mapping[str, Chart], folder: FilePath) -> tuple[FilePath, ...]:
    """Write the charts that are small enough as SVG."""
    import tempfile

    from dissensus.figures.matplotlib_renderer import write_chart

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory() as room:
        for name, chart in charts.items():
            place = FilePath(room) / f"{name}.svg"
            write_chart(_thinned(chart), place)
            text = lightened(place.read_text(encoding="utf-8"))
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


def lightened(svg: str) -> str:
    r"""Round coordinates to a hundredth of a point, drop line ends within paths, and give points their look together.

    >>> lightened('<path d="M 1.234567 2 \nL 3.999999 4"/>')
    '<path d="M 1.23 2 L 4 4"/>'
    >>> lightened('<g clip-path="url(#p)"> <use x="1" style="fill: red"/> <use x="2" style="fill: red"/> </g>')
    '<g clip-path="url(#p)" style="fill: red"><use x="1"/><use x="2"/> </g>'
    """
    rounded = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), svg)
    return CLOUD.sub(_with_one_look, re.sub(r" ?\n(?=[MLCQz])", " ", rounded))


def _with_one_look(cloud: re.Match[str]) -> str:
    points = re.sub(r'\s*<use (?:xlink:)?([^>]*?) style="[^"]*"/>', r"<use \1/>", cloud["points"])
    return f'{cloud["group"]} style="{cloud["look"]}">{points}'
