"""Figures A.10 and A.11: ratings of comments and of photographs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissensus.figures import theme
from dissensus.figures.charts import CERTAINTY, SHARE_OF_CASES, Axis, Bars, Chart, Line, Pane, Points, quantile_curve
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.ratings_experiment import AVA_TITLE, TOXICITY_TITLE

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import FloatArray

DRAWS = "Each point is a draw of mean and precision (one over the variance) from the posterior of the example."
AVA_CAPTION = (
    "Left: certainty of the photographs, least certain first: most are certain. Middle and right: the photograph whose "
    f"mean score is in the middle of all; its scores spread widely although its mean is well known. {DRAWS}"
)
TOXICITY_CAPTION = (
    "Above: certainty of all comments, and of those that most annotators find toxic, least certain first. Below: the "
    f"{{}} comment in the middle by certainty. {DRAWS}"
)


def _ava(frames: Frames) -> Chart:
    """Draw sorted certainty, and the scores and draws of an example."""
    panels = (_sorted(frames["ava"]["certainty"].to_numpy(), "all photographs"), *_example(frames, "ava", (0.5, 10.5)))
    return Chart("AVA: certainty of poor or good", panels, AVA_CAPTION, columns=3, height=280)


def _toxicity(frames: Frames) -> Chart:
    """Draw sorted certainty of all and of the toxic comments, and the scores and draws of an example."""
    found = frames["wikipedia_toxicity"]
    toxic = found.filter("is_toxic")["certainty"].to_numpy()
    panels = (
        _sorted(found["certainty"].to_numpy(), "all comments"),
        _sorted(toxic, f"{len(toxic)} toxic comments"),
        *_example(frames, "wikipedia_toxicity", (-2.5, 2.5)),
    )
    caption = TOXICITY_CAPTION.format("toxic" if len(toxic) else "one")
    return Chart("Certainty of toxic or not", panels, caption, columns=2, height=280)


def _sorted(certainty: FloatArray, title: str) -> Pane:
    x, y = quantile_curve(certainty)
    return Pane((Line(x, y, "", theme.hue(0), steps=True),), SHARE_OF_CASES, CERTAINTY, title)


def _example(frames: Frames, name: str, span: tuple[float, float]) -> tuple[Pane, Pane]:
    """Draw how often each score was given to the example, and draws of its mean and precision."""
    scores, draws = frames[f"{name}_scores"], frames[f"{name}_draws"]
    title = f"example {scores['case'][0]}, certainty {scores['certainty'][0]:.2f}"
    return _histogram(scores, span, title), _cloud(draws)


def _histogram(scores: pl.DataFrame, span: tuple[float, float], title: str) -> Pane:
    bars = Bars(scores["score"].to_numpy(), scores["votes"].to_numpy(), 0.8, "", theme.hue(4))
    return Pane((bars,), Axis("score", span), Axis("annotators"), title)


def _cloud(draws: pl.DataFrame) -> Pane:
    points = Points(draws["mean"].to_numpy(), draws["precision"].to_numpy(), "", theme.hue(2), size=4, opacity=0.6)
    return Pane((points,), Axis("mean"), Axis("precision"), "its draws")


FIGURES = (
    PaperFigure("ava", "A.11", AVA_TITLE, ("ava", "ava_scores", "ava_draws"), _ava),
    PaperFigure(
        "wikipedia_toxicity",
        "A.10",
        TOXICITY_TITLE,
        ("wikipedia_toxicity", "wikipedia_toxicity_scores", "wikipedia_toxicity_draws"),
        _toxicity,
    ),
)
