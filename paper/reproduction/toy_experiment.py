"""The toy problem of the introduction: certainty along the line, and draws in the triangle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregations.dirichlet import Dirichlet
from dissensus.certainty.top_sets import annotation_certainty
from dissensus.core.arrays import FloatArray
from paper.data.toy import ToyProblem, toy_problem
from paper.reproduction.rows import AtLeast, AtMost, Claim, Row, Section, Settings

if TYPE_CHECKING:
    import polars as pl

TITLE = "Toy problem"
EXAMPLES = {"(i)": 4.0, "(ii)": 0.0, "(iii)": 2.0}
"""One where a class is clear, one where all three compete, one where two do."""

RELIABILITIES = (1, 2, 5, 10, 20, 50, 100)
COMPARED = (RELIABILITIES[0], RELIABILITIES[-1])
ANNOTATORS = 100
PANELS = 40
"""How often all annotators are asked anew."""

GRID = np.linspace(-5.0, 5.0, 61)
GRID_PANELS, GRID_DRAWS = 16, 200
SHOWN_DRAWS = 50
FREQUENCIES = (
    "the paper does not say how many annotators there are; with few of them their frequencies stray from p(y|x), and a "
    "high reliability makes the draws certain of what strayed"
)
LOW, SEEN = 0.75, 0.25
"""A certainty up to the first counts as low, and a rise of the second is seen in a figure; the paper has no numbers."""


def toy_section(settings: Settings) -> Section:
    """Pose the toy problem and measure certainty against reliability."""
    asked = toy_problem(np.tile(list(EXAMPLES.values()), PANELS), n_annotators=ANNOTATORS, seed=settings.seed)
    found = np.stack([_certainty(asked, gamma, settings.draws, settings) for gamma in RELIABILITIES])
    by_example = dict(zip(EXAMPLES, np.moveaxis(found.reshape(len(found), PANELS, -1), 2, 0), strict=True))
    rows = [
        *(
            _row(f"certainty of example {name} at reliability {gamma}", by_example[name][place], None)
            for name in EXAMPLES
            for place, gamma in ((0, COMPARED[0]), (-1, COMPARED[1]))
        ),
        *_word_rows(by_example),
    ]
    frames = {"toy_certainty": _along_the_line(settings), "toy_truth": _truth(), "toy_draws": _draws(settings)}
    return Section(TITLE, tuple(rows), frames)


def _word_rows(certainties: dict[str, FloatArray]) -> list[Row]:
    """Judge what the paper says of examples (ii) and (iii), given (reliabilities, panels) of each."""
    low, rising = certainties["(ii)"], certainties["(iii)"]
    highest = low[low.mean(axis=1).argmax()]
    steps = np.diff(rising, axis=0)
    least = steps[steps.mean(axis=1).argmin()]
    words = "increases with higher reliability"
    return [
        _row("highest certainty of example (ii) at any reliability", highest, AtMost(LOW, "consistently low")),
        _row(
            "rise of the certainty of example (iii) from reliability 1 to 100",
            rising[-1] - rising[0],
            AtLeast(SEEN, words),
        ),
        _row("least rise of the certainty of example (iii) from one reliability to the next", least, AtLeast(0, words)),
    ]


def _row(quantity: str, over_panels: FloatArray, claim: Claim | None) -> Row:
    return Row(
        TITLE,
        quantity,
        float(over_panels.mean()),
        float(over_panels.std(ddof=1) / np.sqrt(len(over_panels))),
        f"Dirichlet(reliability * frequencies + 1), {ANNOTATORS} annotators a case, mean of {PANELS} panels of them",
        claim,
        FREQUENCIES if isinstance(claim, AtMost) else "",
        form=".3f",
    )


def _aggregation(gamma: float) -> Dirichlet:
    """Let the reliability be the number of opinions that the frequencies are worth."""
    return Dirichlet(reliability=gamma / ANNOTATORS, alpha=1.0)


def _certainty(problem: ToyProblem, gamma: float, draws: int, settings: Settings) -> FloatArray:
    drawn = _aggregation(gamma).sample(problem.annotations, draws=draws, seed=settings.seed, threads=settings.threads)
    return annotation_certainty(drawn).values


def _along_the_line(settings: Settings) -> pl.DataFrame:
    """Return the certainty at every place of the line for every reliability, averaged over panels."""
    import polars as pl

    asked = toy_problem(np.tile(GRID, GRID_PANELS), n_annotators=ANNOTATORS, seed=settings.seed + 1)
    parts = [
        pl.DataFrame({"x": GRID, "certainty": values.reshape(GRID_PANELS, -1).mean(axis=0)}).with_columns(
            reliability=gamma
        )
        for gamma in RELIABILITIES
        for values in [_certainty(asked, gamma, GRID_DRAWS, settings)]
    ]
    return pl.concat(parts)


def _truth() -> pl.DataFrame:
    """Return p(y|x) along the line, one column per class."""
    import polars as pl

    problem = toy_problem(GRID, n_annotators=1)
    return pl.DataFrame({"x": GRID, **dict(zip(problem.classes.names, problem.theta.T, strict=True))})


def _draws(settings: Settings) -> pl.DataFrame:
    """Return draws for the three examples at reliability 1 and 100, and the truth of each as draw -1."""
    import polars as pl

    problem = toy_problem(list(EXAMPLES.values()), n_annotators=ANNOTATORS, seed=settings.seed)
    parts = []
    for gamma in COMPARED:
        drawn = _aggregation(gamma).sample(problem.annotations, draws=SHOWN_DRAWS, seed=settings.seed).dense()
        for place, name in enumerate(EXAMPLES):
            points = np.concatenate([problem.theta[place : place + 1], drawn[place]])
            columns = dict(zip(problem.classes.names, points.T, strict=True))
            numbers = np.arange(-1, SHOWN_DRAWS)
            parts.append(
                pl.DataFrame({"draw": numbers, **columns}).with_columns(example=pl.lit(name), reliability=gamma)
            )
    return pl.concat(parts)
