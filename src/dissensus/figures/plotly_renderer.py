"""Draw a chart with plotly, for notebooks and pages."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Bars, Cells, Chart, Labels, Line, Mark, Pane, Points

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Room for the title, a row of the legend and the titles of panels above all panels, and below them, in pixels.
TITLE, ROW, PANEL_TITLE, BOTTOM = 42, 29, 26, 62

# A usual width; on narrower pages the legend takes more rows.
WIDTH = 780

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
        place = {"row": row + 1, "col": column + 1}
        figure.add_traces([_trace(mark, panel, known) for mark in panel.marks], rows=row + 1, cols=column + 1)
        figure.update_xaxes(_axis(panel.x), **place)
        side = replace(panel.y, title=chart.y_title(row, column))
        figure.update_yaxes(_axis(side, turned=panel.is_turned), **place)
        if panel.is_square:
            figure.update_yaxes(scaleanchor=figure.data[-1].xaxis or "x", **place)
    figure.update_annotations(font_size=13, yshift=4)
    names, above_panels = chart.names(), PANEL_TITLE if any(panel.title for panel in chart.panels) else 8
    legend_rows = math.ceil(sum(56 + 7 * len(name) for name in names) / WIDTH) if len(names) > 1 else 0
    top = TITLE + legend_rows * ROW + above_panels
    title = {"text": safe(chart.title), "x": 0, "xref": "paper", "y": 1, "yref": "container", "font_size": 16}
    return figure.update_layout(
        template=theme.template(),
        title=title | {"yanchor": "top", "pad": {"t": 12}},
        height=room + top + BOTTOM,
        margin={"t": top, "b": BOTTOM, "l": 70, "r": 20},
        barmode="overlay",
        hovermode="closest",
        showlegend=len(names) > 1,
        legend={"orientation": "h", "x": 0, "xanchor": "left", "yanchor": "bottom", "y": 1 + above_panels / room},
        meta={"title": chart.title, "caption": chart.caption},
    )


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


# Marks ----------------------------------------------------------------------------------------------------


def _trace(mark: Mark, panel: Pane, known: set[str]) -> dict[str, Any]:
    """Draw one mark; a name enters the legend when it is met for the first time.

    A mark says its own words when it is pointed at, or the axes with their numbers; lines without a name say nothing.
    """
    drawn = TRACES[type(mark)](mark)
    if isinstance(mark, Cells | Labels):
        return drawn
    name = safe(mark.name)
    drawn |= {"name": name, "legendgroup": name, "showlegend": bool(mark.name) and mark.name not in known}
    known.add(mark.name)
    if isinstance(mark, Band) or (isinstance(mark, Line) and not mark.name and not mark.texts):
        return drawn | {"hoverinfo": "skip"}
    if mark.texts:
        return drawn | {"hovertext": [safe(text) for text in mark.texts], "hoverinfo": "text"}
    lines = [f"<b>{name}</b>"] if name else []
    for letter, axis in (("x", panel.x), ("y", panel.y)):
        if axis.title and not axis.ticks:
            lines.append(f"{safe(axis.title)}: %{{{letter}:{axis.form}}}")
    return drawn | {"hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _line(mark: Line) -> dict[str, Any]:
    dash, shape = theme.DASHES[mark.dash % len(theme.DASHES)], "vh" if mark.steps else "linear"
    line = {"color": mark.colour, "width": 2, "dash": dash, "shape": shape}
    drawn = {"type": "scatter", "x": _numbers(mark.x), "y": _numbers(mark.y), "mode": "lines", "line": line}
    if mark.symbol is None:
        return drawn
    return drawn | {"mode": "lines+markers", "marker": {"symbol": _symbol(mark.symbol), "size": 8}}


def _band(mark: Band) -> dict[str, Any]:
    red, green, blue = (int(mark.colour[i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "scatter",
        "x": _numbers([*mark.x, *mark.x[::-1]]),
        "y": _numbers([*mark.high, *mark.low[::-1]]),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{mark.opacity:g})",
    }


def _points(mark: Points) -> dict[str, Any]:
    look = {"color": mark.colour, "size": mark.size, "opacity": mark.opacity, "symbol": _symbol(mark.symbol)}
    drawn = {"type": "scatter", "x": _numbers(mark.x), "y": _numbers(mark.y), "mode": "markers", "marker": look}
    if mark.low is None or mark.high is None:
        return drawn
    above, below = _numbers(mark.high - mark.y), _numbers(mark.y - mark.low)
    whiskers = {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5, "width": 5}
    return drawn | {"error_y": whiskers}


def _bars(mark: Bars) -> dict[str, Any]:
    places, lengths = _numbers(mark.positions), _numbers(mark.lengths)
    pattern = {"shape": theme.PATTERNS[mark.pattern % len(theme.PATTERNS)], "size": 6, "solidity": 0.25}
    return {
        "type": "bar",
        "x": lengths if mark.across else places,
        "y": places if mark.across else lengths,
        "base": None if mark.base is None else _numbers(mark.base),
        "width": mark.width,
        "orientation": "h" if mark.across else "v",
        "marker": {"color": mark.colour, "line": {"width": 0}, "pattern": pattern},
        "opacity": mark.opacity,
    }


def _cells(mark: Cells) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": [_numbers(row) for row in mark.values],
        "zmin": 0,
        "zmax": 1,
        "colorscale": theme.DIVERGING,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "text": [[safe(label) for label in row] for row in mark.labels],
        "texttemplate": "%{text}",
        "hovertext": [[safe(text) for text in row] for row in mark.texts],
        "hoverinfo": "text",
    }


def _labels(mark: Labels) -> dict[str, Any]:
    places = {"x": _numbers(mark.x), "y": _numbers(mark.y), "text": [safe(one) for one in mark.texts]}
    return {"type": "scatter", **places, "mode": "text", "hoverinfo": "skip", "showlegend": False, "name": ""}


def _symbol(symbol: int) -> str:
    return theme.CROSS if symbol < 0 else theme.SYMBOLS[symbol % len(theme.SYMBOLS)]


# How each mark is drawn, apart from its name and its words.
TRACES: dict[type[Mark], Callable[[Any], dict[str, Any]]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Cells: _cells,
    Labels: _labels,
}
