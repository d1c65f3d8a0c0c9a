"""Figures of a whole data set: receiver operating characteristic, precision, reliability, net benefit and confusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Cells, Chart, Line, Mark, Pane, Points, named_places, shortened
from dissensus.figures.metric_charts import estimand_of, under

if TYPE_CHECKING:
    import polars as pl

BAND = 0.18
"""How strongly bands are drawn."""

MOST_WITH_INTERVALS = 4
"""Up to so many conditions there is room for intervals in a confusion matrix."""

SHARE = (0.0, 1.02)

TRUTHS = {
    "top": "A case is positive in the draws in which the condition is its most plausible one.",
    "soft": "A case is positive as far as the condition is plausible.",
}
"""What the caption says about labels."""


def roc_curves(rows: pl.DataFrame, *, run: str, level: float = 0.9) -> Chart:
    """Draw sensitivity over the false positive rate, a panel for every question and a line for every model."""
    estimand = estimand_of(rows)
    axes = Axis("1 \N{MINUS SIGN} specificity", (-0.01, 1.01)), Axis(f"{estimand} sensitivity", SHARE)
    panels = _panels(rows, axes, lambda own: (_diagonal(), *_lines(own, start=True)))
    caption = (
        f"Lines: the mean over draws; grey: chance. {_banded(level)} {_labelled(rows)} The area under a line is the "
        f"{estimand} AUROC."
    )
    title = f"{estimand.capitalize()} receiver operating characteristic{under(run, estimand)}"
    return _chart(title, panels, caption)


def precision_curves(rows: pl.DataFrame, *, run: str, level: float = 0.9) -> Chart:
    """Draw precision over recall, a panel for every question and a line for every model."""
    estimand = estimand_of(rows)
    axes = Axis("recall (sensitivity)", (-0.01, 1.01)), Axis(f"{estimand} precision", SHARE)
    panels = _panels(rows, axes, _lines)
    caption = (
        f"Precision: the share of positive cases among those called positive. Lines: the mean over draws. "
        f"{_banded(level)} {_labelled(rows)}"
    )
    return _chart(f"{estimand.capitalize()} precision over recall{under(run, estimand)}", panels, caption)


def reliability_diagram(rows: pl.DataFrame, *, run: str, level: float = 0.9) -> Chart:
    """Draw the share of positive cases over the probability that a model gave, in ten bins."""
    estimand = estimand_of(rows)
    axes = Axis("probability given by the model", (-0.02, 1.02)), Axis(f"{estimand} share of positive cases", SHARE)
    panels = _panels(rows, axes, lambda own: (_diagonal(), *_bins(own)))
    caption = (
        f"Cases are put into ten bins by the probability that the model gave; points: the mean of a bin, with "
        f"{100 * level:g} % intervals on cases like these. On the grey line, probabilities are what they say. "
        f"{_labelled(rows)}"
    )
    return _chart(f"{estimand.capitalize()} reliability diagram{under(run, estimand)}", panels, caption)


def decision_curves(rows: pl.DataFrame, *, run: str, everybody: str, level: float = 0.9) -> Chart:
    """Draw the net benefit over threshold probabilities, beside that of calling all cases positive, or none."""
    estimand = estimand_of(rows)
    best = max(float(rows["high"].max() or 0.0), 0.02)  # type: ignore[arg-type]
    axes = Axis("threshold probability", (0.0, 1.0)), Axis(f"{estimand} net benefit", (-0.25 * best, 1.08 * best))

    def marks(own: pl.DataFrame) -> tuple[Mark, ...]:
        models, all_of_them = own.filter(own["model"] != everybody), own.filter(own["model"] == everybody)
        none = Line(np.array([0.0, 1.0]), np.zeros(2), "treat none", theme.NEUTRAL, dash=2)
        every = Line(_numbers(all_of_them, "x"), _numbers(all_of_them, "y"), everybody, theme.NEUTRAL, dash=1)
        return (none, every, *_lines(models))

    caption = (
        "Net benefit: positive cases that are found, per case, less false alarms weighted by the odds of the threshold "
        f"probability. Lines: the mean over draws. {_banded(level)} {_labelled(rows)} Where a line is below a "
        "grey one, it is better to call all cases positive, or none, than to follow the model."
    )
    title = f"{estimand.capitalize()} net benefit over threshold probabilities{under(run, estimand)}"
    return _chart(title, _panels(rows, axes, marks), caption)


def confusion_matrices(rows: pl.DataFrame, *, run: str, conditions: Sequence[str], level: float = 0.9) -> Chart:
    """Tabulate how many cases of which label are called what, a panel for every model and question."""
    estimand = estimand_of(rows)
    panels = [
        _matrix(own, conditions, " ".join(part for part in (f"{question}:" if question else "", model) if part))
        for question, of_question in _by(rows, "question")
        for model, own in _by(of_question, "model")
    ]
    where = "in brackets" if len(conditions) <= MOST_WITH_INTERVALS else "when pointed at"
    caption = (
        f"Expected number of cases by label (rows, {estimand}) and by what the model calls them (columns); "
        f"{where}, {100 * level:g} % intervals on cases like these. Colours: the share of a row. "
        + (
            "A label is the most plausible condition of a draw."
            if _truth(rows) == "top"
            else "Labels are plausibilities."
        )
    )
    height = max(150, 44 * len(conditions))
    title = f"{estimand.capitalize()} confusion matrix{under(run, estimand)}"
    return Chart(title, tuple(panels), caption, columns=2 if len(panels) > 1 else 1, height=height, gap=110)


def _matrix(rows: pl.DataFrame, conditions: Sequence[str], title: str) -> Pane:
    shape = (len(conditions), len(conditions))
    values, low, high = (_numbers(rows, name).reshape(shape) for name in ("n_cases", "low", "high"))
    totals = np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
    marks = np.where(values.sum(axis=1, keepdims=True) > 0, 0.5 + 0.5 * values / totals, 0.5)  # the upper half of hues
    is_told = len(conditions) <= MOST_WITH_INTERVALS
    labels, texts = [], []
    for i, label in enumerate(conditions):
        spans = [f"{_amount(low[i, j])} to {_amount(high[i, j])}" for j in range(len(conditions))]
        labels.append(tuple(_amount(values[i, j]) + (f"\n({spans[j]})" if is_told else "") for j in range(len(spans))))
        texts.append(
            tuple(
                f"{_amount(values[i, j])} cases ({spans[j]})\nlabel: {label}\ncalled: {called}"
                for j, called in enumerate(conditions)
            )
        )
    names = [shortened(name, 14) for name in conditions]
    across, down = named_places(names, "called", margin=0.5), named_places(names, "label", margin=0.5)
    return Pane((Cells(marks, tuple(labels), tuple(texts)),), across, down, title)


def _amount(value: float) -> str:
    """Write an expected number of cases."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _chart(title: str, panels: tuple[Pane, ...], caption: str) -> Chart:
    return Chart(title, panels, caption, columns=2 if len(panels) > 1 else 1, height=340 if len(panels) < 3 else 260)


def _panels(
    rows: pl.DataFrame, axes: tuple[Axis, Axis], marks: Callable[[pl.DataFrame], tuple[Mark, ...]]
) -> tuple[Pane, ...]:
    """Make a panel for every question."""
    return tuple(Pane(marks(own), *axes, shortened(question)) for question, own in _by(rows, "question"))


def _by(rows: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """Part rows by a column, in the order in which its values come."""
    return [(name, rows.filter(rows[column] == name)) for name in rows[column].unique(maintain_order=True).to_list()]


def _lines(rows: pl.DataFrame, *, start: bool = False) -> tuple[Mark, ...]:
    """Draw a line with a band for every model; ``start``: from the origin on."""
    marks: list[Mark] = []
    for place, (model, own) in enumerate(_by(rows, "model")):
        x, y, low, high = (_numbers(own, name) for name in ("x", "y", "low", "high"))
        if start:
            x, y = np.append(0.0, x), np.append(0.0, y)
        marks += [
            Band(x[1:] if start else x, low, high, theme.hue(place), BAND),
            Line(x, y, model, theme.hue(place), place),
        ]
    return tuple(sorted(marks, key=lambda mark: isinstance(mark, Line)))


def _bins(rows: pl.DataFrame) -> tuple[Mark, ...]:
    """Draw a point with an interval for every bin of every model."""
    marks: list[Mark] = []
    for place, (model, own) in enumerate(_by(rows, "model")):
        x, y, low, high = (_numbers(own, name) for name in ("x", "y", "low", "high"))
        texts = tuple(
            f"{model}: {row['y']:.3f} ({row['low']:.3f} to {row['high']:.3f})\n"
            f"probability {row['x']:.3f} on average, {row['n_cases']:.4g} cases"
            for row in own.iter_rows(named=True)
        )
        marks.append(Line(x, y, "", theme.hue(place), place))
        marks.append(Points(x, y, model, theme.hue(place), place, 8, low=low, high=high, texts=texts))
    return tuple(marks)


def _diagonal() -> Line:
    return Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "", theme.NEUTRAL, dash=2)


def _numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    return rows[column].to_numpy().astype(np.float64)


def _banded(level: float) -> str:
    return f"Bands: {100 * level:g} % at each place, on cases like these; annotators count as fixed."


def _truth(rows: pl.DataFrame) -> str:
    return str(rows["truth"][0]) if len(rows) else "top"


def _labelled(rows: pl.DataFrame) -> str:
    return TRUTHS[_truth(rows)]
