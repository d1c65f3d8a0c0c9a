"""Draw a chart with plotly, for notebooks and pages."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Bars, Cells, Chart, Labels, Line, Mark, Pane, Points

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TITLE, ROW, PANEL_TITLE, BOTTOM = 42, 29, 26, 62
"""Room for the title, a row of the legend and the titles of panels above all panels, and below them, in pixels."""

WIDTH = 780
"""A usual width; on narrower pages the legend takes more rows."""

SIGNIFICANT = 6


def interactive(chart: Chart) -> Figure:
    """Draw a chart with plotly; title and caption are also in ``figure.layout.meta``, as plain text for a page."""
    from plotly.subplots import make_subplots

    room = chart.rows * chart.height + (chart.rows - 1) * chart.gap
    figure = make_subplots(
        rows=chart.rows,
        cols=chart.columns,
        subplot_titles=[f"<b>{safe(panel.title)}</b>" if panel.title else "" for panel in chart.panels],
        vertical_spacing=chart.gap / room,
        horizontal_spacing=0.11 / max(chart.columns - 1, 1) if chart.columns > 1 else 0.0,
    )
    known: set[str] = set()
    for row, column, panel in chart.places():
        figure.add_traces(
            [trace for mark in panel.marks for trace in _traces(mark, panel, known)], rows=row + 1, cols=column + 1
        )
        figure.update_xaxes(_axis(panel.x), row=row + 1, col=column + 1)
        side = replace(panel.y, title=chart.y_title(row, column))
        figure.update_yaxes(_axis(side, turned=_is_turned(panel)), row=row + 1, col=column + 1)
        if panel.is_square:
            figure.update_yaxes(scaleanchor=figure.data[-1].xaxis or "x", row=row + 1, col=column + 1)
    figure.update_annotations(font_size=13, yshift=4)
    return figure.update_layout(_layout(chart, room))


def _layout(chart: Chart, room: int) -> dict[str, Any]:
    above_panels = PANEL_TITLE if any(panel.title for panel in chart.panels) else 8
    top = TITLE + _legend_rows(chart) * ROW + above_panels
    return {
        "template": theme.template(),
        "title": {"text": safe(chart.title), "x": 0, "xref": "paper", "y": 1, "yref": "container", "font_size": 16}
        | {"yanchor": "top", "pad": {"t": 12}},
        "height": room + top + BOTTOM,
        "margin": {"t": top, "b": BOTTOM, "l": 70, "r": 20},
        "barmode": "overlay",
        "hovermode": "closest",
        "showlegend": len(chart.names()) > 1,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "yanchor": "bottom"} | {"y": 1 + above_panels / room},
        "meta": {"title": chart.title, "caption": chart.caption},
    }


def _legend_rows(chart: Chart) -> int:
    """Estimate the rows of the legend on a page of usual width."""
    names = chart.names()
    return math.ceil(sum(56 + 7 * len(name) for name in names) / WIDTH) if len(names) > 1 else 0


def page(chart: Chart) -> str:
    """Return a page that shows one chart, works without a network, and follows the reader's light or dark setting."""
    drawn = interactive(chart)
    drawn.update_layout(title_text="", margin_t=drawn.layout.margin.t - TITLE, height=drawn.layout.height - TITLE)
    body = drawn.to_html(full_html=False, include_plotlyjs=True, div_id="figure", config=theme.CONFIG)
    title, caption = html.escape(chart.title), html.escape(chart.caption)
    looks = json.dumps({"light": theme.template(dark=False), "dark": theme.template(dark=True)})
    return PAGE.format(title=title, caption=caption, body=body, looks=looks, font=theme.FONT)


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: {font}; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; line-height: 1.5; }}
h1 {{ font-size: 1.3rem; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<figure style="margin: 0" aria-label="{title}">
{body}
<figcaption>{caption}</figcaption>
</figure>
</main>
<script>
const looks = {looks};
const wish = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => Plotly.relayout("figure", {{ template: wish.matches ? looks.dark : looks.light }});
wish.addEventListener("change", follow);
follow();
</script>
</body>
</html>
"""


# Text and numbers -----------------------------------------------------------------------------------------


def safe(text: str) -> str:
    """Keep plotly from reading markup or placeholders in a text; line ends are kept.

    Plotly shows quotes as they are and does not know their entities, so quotes stay.

    >>> safe('<b>A</b> & "B"')
    '&lt;b&gt;A&lt;/b&gt; &amp; "B"'
    >>> safe("%{x}")
    '&#37;{x}'
    """
    return html.escape(text, quote=False).replace("%", "&#37;").replace("\n", "<br>")


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Write numbers with few digits, to keep pages small; what is not finite becomes a gap."""
    return [float(f"{value:.{SIGNIFICANT}g}") if np.isfinite(value) else None for value in values]


def _axis(axis: Axis, *, turned: bool = False) -> dict[str, Any]:
    if not axis.is_shown:
        return {"visible": False, "range": axis.span}
    span = axis.span[::-1] if axis.span and turned else axis.span
    drawn: dict[str, Any] = {"title": {"text": safe(axis.title)}, "range": span}
    if turned and span is None:
        drawn["autorange"] = "reversed"
    if axis.ticks:
        drawn |= {"tickvals": [place for place, _ in axis.ticks], "ticktext": [safe(text) for _, text in axis.ticks]}
        return drawn | {"showgrid": False}
    return drawn | ({"tickformat": ".0%"} if axis.form.endswith("%") else {})


def _is_turned(panel: Pane) -> bool:
    """Tell whether the first place belongs on top, as in lists and tables."""
    return any(isinstance(mark, Cells) or (isinstance(mark, Bars) and mark.across) for mark in panel.marks)


# Marks ----------------------------------------------------------------------------------------------------


def _traces(mark: Mark, panel: Pane, known: set[str]) -> list[Any]:
    """Draw one mark; a name enters the legend when it is met for the first time."""
    match mark:
        case Line():
            return [_line(mark, panel, known)]
        case Band():
            return [_band(mark, known)]
        case Points():
            return [_points(mark, panel, known)]
        case Bars():
            return [_bars(mark, panel, known)]
        case Cells():
            return [_cells(mark)]
        case Labels():
            return [_labels(mark)]


def _entry(name: str, known: set[str]) -> dict[str, Any]:
    is_new = bool(name) and name not in known
    known.add(name)
    return {"name": safe(name), "legendgroup": safe(name), "showlegend": is_new}


def _hover(mark: Line | Points | Bars, panel: Pane) -> dict[str, Any]:
    """Say what a mark shows: its own words, or the axes with their numbers; lines without a name say nothing."""
    if mark.texts:
        return {"hovertext": [safe(text) for text in mark.texts], "hoverinfo": "text"}
    if isinstance(mark, Line) and not mark.name:
        return {"hoverinfo": "skip"}
    lines = [f"<b>{safe(mark.name)}</b>"] if mark.name else []
    for letter, axis in (("x", panel.x), ("y", panel.y)):
        if axis.title and not axis.ticks:
            lines.append(f"{safe(axis.title)}: %{{{letter}:{axis.form}}}")
    return {"hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _line(mark: Line, panel: Pane, known: set[str]) -> Any:
    from plotly.graph_objects import Scatter

    symbol = {} if mark.symbol is None else {"marker": {"symbol": _symbol(mark.symbol), "size": 8}}
    return Scatter(
        x=_numbers(mark.x),
        y=_numbers(mark.y),
        mode="lines" if mark.symbol is None else "lines+markers",
        line={
            "color": mark.colour,
            "width": 2,
            "dash": theme.DASHES[mark.dash % len(theme.DASHES)],
            "shape": "vh" if mark.steps else "linear",
        },
        **symbol,
        **_hover(mark, panel),
        **_entry(mark.name, known),
    )


def _band(mark: Band, known: set[str]) -> Any:
    from plotly.graph_objects import Scatter

    return Scatter(
        x=_numbers([*mark.x, *mark.x[::-1]]),
        y=_numbers([*mark.high, *mark.low[::-1]]),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=_faded(mark.colour, mark.opacity),
        hoverinfo="skip",
        **_entry(mark.name, known),
    )


def _points(mark: Points, panel: Pane, known: set[str]) -> Any:
    from plotly.graph_objects import Scatter

    look = {"color": mark.colour, "size": mark.size, "opacity": mark.opacity, "symbol": _symbol(mark.symbol)}
    return Scatter(
        x=_numbers(mark.x),
        y=_numbers(mark.y),
        mode="markers",
        marker=look,
        error_y=_whiskers(mark),
        **_hover(mark, panel),
        **_entry(mark.name, known),
    )


def _whiskers(mark: Points) -> dict[str, Any] | None:
    if mark.low is None or mark.high is None:
        return None
    above, below = _numbers(mark.high - mark.y), _numbers(mark.y - mark.low)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5, "width": 5}


def _bars(mark: Bars, panel: Pane, known: set[str]) -> Any:
    from plotly.graph_objects import Bar

    places, lengths = _numbers(mark.positions), _numbers(mark.lengths)
    shape = theme.PATTERNS[mark.pattern % len(theme.PATTERNS)]
    return Bar(
        x=lengths if mark.across else places,
        y=places if mark.across else lengths,
        base=None if mark.base is None else _numbers(mark.base),
        width=mark.width,
        orientation="h" if mark.across else "v",
        marker={
            "color": mark.colour,
            "line": {"width": 0},
            "pattern": {"shape": shape, "size": 6, "solidity": 0.25},
        },
        opacity=mark.opacity,
        **_hover(mark, panel),
        **_entry(mark.name, known),
    )


def _cells(mark: Cells) -> Any:
    from plotly.graph_objects import Heatmap

    return Heatmap(
        z=[_numbers(row) for row in mark.values],
        zmin=0,
        zmax=1,
        colorscale=theme.DIVERGING,
        showscale=False,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        text=[[safe(label) for label in row] for row in mark.labels],
        texttemplate="%{text}",
        hovertext=[[safe(text) for text in row] for row in mark.texts],
        hoverinfo="text",
    )


def _labels(mark: Labels) -> Any:
    from plotly.graph_objects import Scatter

    texts = [safe(text) for text in mark.texts]
    return Scatter(
        x=_numbers(mark.x), y=_numbers(mark.y), mode="text", text=texts, hoverinfo="skip", showlegend=False, name=""
    )


def _symbol(symbol: int) -> str:
    return theme.CROSS if symbol < 0 else theme.SYMBOLS[symbol % len(theme.SYMBOLS)]


def _faded(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
