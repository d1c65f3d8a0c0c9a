"""Draw a chart: one Vega-Lite specification for notebooks, pages and papers; no browser and no network is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from markupsafe import Markup, escape

from dissensus.core.aliases import FloatArray, Path
from dissensus.core.errors import FormatError
from dissensus.core.output import directory_written_whole, written_whole
from dissensus.core.screen import visible
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Bars, Cells, Chart, Labels, Line, Mark, Pane, Points

if TYPE_CHECKING:
    import altair as alt

ENDINGS = (".svg", ".pdf", ".png", ".html")

# Width of all panels side by side, in pixels, and the room between two.
WIDTH, BETWEEN = 680, 70

SIGNIFICANT = 5

# A specification in this language, whose version the libraries that draw it know.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def drawn(chart: Chart) -> alt.VConcatChart:
    """Return a chart for notebooks, which others may be built from."""
    import altair as alt

    given = specification(chart)
    data = given.pop("datasets")  # which is plain, and slow to look at number by number
    found: Any = alt.Chart.from_dict({"$schema": SCHEMA, **given})
    found.datasets = data
    return cast("alt.VConcatChart", found)


def specification(chart: Chart, *, titled: bool = True) -> dict[str, Any]:
    """Return what a chart looks like, in Vega-Lite; names are data in it, never markup."""
    chart = _visible(chart)
    width = (WIDTH - BETWEEN * (chart.columns - 1)) // chart.columns
    marks: list[Any] = [mark for panel in chart.panels for mark in panel.marks]
    names = {mark.name: mark for mark in reversed(marks) if getattr(mark, "name", "")}
    legend = Legend({name: names[name] for name in chart.names()}) if len(names) > 1 else None
    rows: list[list[dict[str, Any]]] = [[] for _ in range(chart.rows)]
    for row, column, panel in chart.places():
        rows[row].append(_pane(panel, chart.y_title(row, column), width, chart.height, legend))
    data: dict[str, Any] = {}
    for layer in (layer for panes in rows for pane in panes for layer in pane["layer"]):
        name = f"data {len(data)}"
        data[name], layer["data"] = layer["data"], {"name": name}
    found: dict[str, Any] = {"vconcat": [{"hconcat": panes} for panes in rows], "config": theme.config()}
    found["datasets"] = data
    return found | ({"title": {"text": chart.title, "anchor": "start"}} if titled else {})


def _visible(value: Any) -> Any:
    """Show what hides in the names of a chart: characters that control a terminal end the program that draws."""
    if isinstance(value, str):
        return "\n".join(map(visible, value.split("\n")))
    if isinstance(value, tuple):
        return tuple(map(_visible, value))
    if not is_dataclass(value):
        return value
    parts = {one.name: _visible(getattr(value, one.name)) for one in fields(value)}
    return replace(cast("Any", value), **parts)


def svg(chart: Chart, name: str = "figure") -> str:
    """Draw a chart as SVG for a page: it takes the colour of the text around it, and its marks say what they are.

    Parameters
    ----------
    name
        Whatever it refers to in itself is called after it, so that several stand in one page.
    """
    import vl_convert

    text = str(vl_convert.vegalite_to_svg(specification(chart, titled=False)))
    # what a mark says becomes its title, which browsers show to whoever points at it
    text = re.sub(r'<path aria-label="([^"]*)"([^>]*?)(?:/>|></path>)', r"<path\2><title>\1</title></path>", text)
    text = re.sub(r' (?:role|aria-[a-z]+|class)="[^"]*"', "", text)
    text = re.sub(r' (?:d|transform)="[^"]*"', lambda found: DECIMALS.sub(_short, found[0]), text)
    text = re.sub(r"((?:id=\"|url\(#)\w*?clip)", lambda found: found[1].replace("clip", f"{name}-clip"), text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(_visible(chart.title))}" ', 1)


# Numbers of a drawing with more decimals than anybody can see.
DECIMALS = re.compile(r"\d+\.\d{2,}")


def _short(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def write_chart(chart: Chart, path: Path, *, overwrite: bool = False) -> None:
    """Write a chart to a file that appears whole or not at all; its ending chooses the form."""
    ending = checked_ending(path)
    with written_whole(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(encoded(chart, ending))


def write_charts(charts: Mapping[str, Chart], directory: Path, *, ending: str = ".svg") -> tuple[FilePath, ...]:
    """Write charts by name into a new directory, all or none, and return their paths."""
    checked_ending(f"figure{ending}")
    with directory_written_whole(directory) as room:
        for name, chart in charts.items():
            (room / f"{name}{ending}").write_bytes(encoded(chart, ending))
    return tuple(FilePath(directory) / f"{name}{ending}" for name in charts)


def checked_ending(path: Path) -> str:
    """Return the ending of a figure's path, or say which are known."""
    ending = FilePath(path).suffix.lower()
    if ending not in ENDINGS:
        expected = f"one of {', '.join(ENDINGS)}"
        raise FormatError(
            "the ending of the figure is not understood", expected=expected, got=repr(ending), where=str(path)
        )
    return ending


def encoded(chart: Chart, ending: str) -> bytes:
    """Draw a chart in one of the forms; titles and captions are left to the paper, but not to a page."""
    import vl_convert

    if ending == ".html":
        return (
            Markup(PAGE)
            .format(title=chart.title, caption=chart.caption, drawing=Markup(svg(chart)), font=theme.FONT)
            .encode()
        )
    plain = specification(chart, titled=False)
    if ending == ".svg":
        return str(vl_convert.vegalite_to_svg(plain)).encode()
    plain["background"] = "white"
    if ending == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(plain))
    return bytes(vl_convert.vegalite_to_png(plain, scale=2))


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ font-family: {font}; max-width: 60rem; margin: 1.5rem auto;
padding: 0 1rem; line-height: 1.5; }} h1 {{ font-size: 1.3rem; }} svg {{ max-width: 100%; height: auto; }}</style>
</head>
<body><main><h1>{title}</h1><figure style="margin: 0">{drawing}<figcaption>{caption}</figcaption></figure></main></body>
</html>
"""


# Panels and axes ------------------------------------------------------------------------------------------


class Legend:
    """Say once what colour, shape and dash stand for each name."""

    def __init__(self, marks: Mapping[str, Mark]) -> None:
        self.names = list(marks)
        colours = [getattr(mark, "colour", theme.NEUTRAL) for mark in marks.values()]
        shapes = [_shape(mark) for mark in marks.values()]
        self.scales = {"color": colours, "shape": shapes}

    def encoding(self, *channels: str) -> dict[str, Any]:
        """Return channels that have the value of the field ``name``, each with its place in the legend."""
        columns = max(1, WIDTH // (40 + 8 * max(map(len, self.names))))
        legend = {"title": None, "orient": "top", "columns": columns}
        return {
            channel: {
                "field": "name",
                "type": "nominal",
                "scale": {"domain": self.names, "range": self.scales[channel]},
                "legend": legend,
            }
            for channel in channels
        }


def _shape(mark: Any) -> str:
    symbol = getattr(mark, "symbol", None)
    return "square" if symbol is None else theme.CROSS if symbol < 0 else theme.SHAPES[symbol % len(theme.SHAPES)]


def _pane(panel: Pane, side: str, width: int, height: int, legend: Legend | None) -> dict[str, Any]:
    axes = {"x": _axis(panel.x, panel.x.title, slants=True), "y": _axis(panel.y, side, turned=panel.is_turned)}
    layers = [layer for mark in panel.marks for layer in LAYERS[type(mark)](mark, axes, legend)]
    found: dict[str, Any] = {
        "width": min(width, height) if panel.is_square else width,
        "height": height,
        "layer": layers,
    }
    return found | ({"title": {"text": panel.title, "anchor": "start", "fontSize": 12}} if panel.title else {})


def _axis(axis: Axis, title: str, *, turned: bool = False, slants: bool = False) -> dict[str, Any]:
    """Return the scale and the axis of a channel; many words below an axis are written at a slant."""
    scale: dict[str, Any] = {"zero": False, "nice": axis.span is None, "reverse": turned}
    if axis.span is not None:
        scale["domain"] = list(axis.span)
    if not axis.is_shown:
        return {"scale": scale, "axis": None}
    drawn: dict[str, Any] = {"title": title or None}
    if axis.ticks:
        words = {f"{place:g}": text.split("\n") for place, text in axis.ticks}
        drawn |= {"values": [place for place, _ in axis.ticks], "grid": False, "labelOverlap": False}
        drawn["labelExpr"] = f"{json.dumps(words)}[format(datum.value, '.6~g')]"
        drawn["labelLimit"] = 220
        letters = sum(2 + max(map(len, text)) for text in words.values())
        if letters > LETTERS and len(words) > 1 and slants:
            drawn["labelAngle"] = -35
    elif axis.form.endswith("%"):
        drawn["format"] = ".0%"
    return {"scale": scale, "axis": drawn}


# More letters below an axis would touch.
LETTERS = 95


# Marks: each function gives the layers that draw one -------------------------------------------------------


def _rows(**columns: Any) -> list[dict[str, Any]]:
    """Lay out columns as data; numbers that are not finite are missing, and digits that nobody can see are left out."""
    plain = {name: _plain(values) for name, values in columns.items() if values is not None and len(values)}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _plain(values: Any) -> list[Any]:
    if not isinstance(values, np.ndarray):
        return list(values)
    return [float(f"{value:.{SIGNIFICANT}g}") if np.isfinite(value) else None for value in values.tolist()]


def _at(axes: Mapping[str, Any], x: str = "x", y: str = "y", **more: str) -> dict[str, Any]:
    found: dict[str, Any] = {"x": {"field": x, "type": "quantitative", **axes["x"]}}
    found["y"] = {"field": y, "type": "quantitative", **axes["y"]}
    return found | {channel: {"field": name} for channel, name in more.items()}


def _layer(
    mark: Any,
    data: list[dict[str, Any]],
    look: Mapping[str, Any],
    encoding: Mapping[str, Any],
    legend: Legend | None,
    *channels: str,
) -> dict[str, Any]:
    """Return a layer; channels say whose mark it is, if there is a legend, and it says its own words."""
    found: dict[str, Any] = {"data": data, "mark": look, "encoding": dict(encoding)}
    if legend is not None and mark.name and channels:
        found["transform"] = [{"calculate": json.dumps(mark.name), "as": "name"}]
        found["encoding"] |= legend.encoding(*channels)
    if getattr(mark, "texts", ()):
        found["encoding"] |= {channel: {"field": "told", "type": "nominal"} for channel in ("description", "tooltip")}
    return found


def _line(mark: Line, axes: Mapping[str, Any], legend: Legend | None) -> list[dict[str, Any]]:
    data = _rows(x=mark.x, y=mark.y, i=np.arange(len(mark.x)), told=mark.texts)
    look = {"type": "line", "color": mark.colour, "strokeWidth": 2, "strokeDash": _dash(mark.dash)}
    look |= {"interpolate": "step-before" if mark.steps else "linear", "invalid": "break-paths-filter-domains"}
    order = {"order": {"field": "i", "type": "quantitative"}}
    line = _layer(mark, data, look, {**_at(axes), **order}, legend, "color")
    if mark.symbol is None:
        return [line]
    dots = {"type": "point", "filled": True, "size": 55, "color": mark.colour, "shape": _shape(mark), "opacity": 1}
    return [line, _layer(mark, data, dots, _at(axes), legend, "color", "shape")]


def _dash(place: int) -> list[int]:
    return theme.DASHES[place % len(theme.DASHES)]


def _band(mark: Band, axes: Mapping[str, Any], legend: Legend | None) -> list[dict[str, Any]]:
    look = {"type": "area", "color": mark.colour, "opacity": mark.opacity, "line": False}
    data = _rows(x=mark.x, low=mark.low, high=mark.high)
    return [_layer(mark, data, look, _at(axes, y="low", y2="high"), legend, "color")]


def _points(mark: Points, axes: Mapping[str, Any], legend: Legend | None) -> list[dict[str, Any]]:
    data = _rows(x=mark.x, y=mark.y, low=mark.low, high=mark.high, told=mark.texts)
    look = {"type": "point", "filled": mark.symbol >= 0, "size": 0.9 * float(mark.size) ** 2}
    look |= {"color": mark.colour, "shape": _shape(mark), "opacity": mark.opacity}
    dots = _layer(mark, data, look, _at(axes), legend, "color", "shape")
    if mark.low is None or mark.high is None:
        return [dots]
    rule = {"type": "rule", "color": mark.colour, "strokeWidth": 1.5}
    along = _at(axes, x="low", x2="high") if mark.across else _at(axes, y="low", y2="high")
    return [_layer(mark, data, rule | {"opacity": mark.opacity}, along, None), dots]


def _bars(mark: Bars, axes: Mapping[str, Any], legend: Legend | None) -> list[dict[str, Any]]:
    half, ends = mark.width / 2, mark.starts + mark.lengths
    sides, lengths = (mark.positions - half, mark.positions + half), (mark.starts, ends)
    (x, x2), (y, y2) = (lengths, sides) if mark.across else (sides, lengths)
    look: dict[str, Any] = {"type": "rect", "color": mark.colour, "opacity": mark.opacity}
    if mark.pattern:  # told apart without colour
        look |= {"stroke": "currentColor", "strokeWidth": 1, "strokeDash": _dash(mark.pattern)}
    data = _rows(x=x, x2=x2, y=y, y2=y2, told=mark.texts)
    return [_layer(mark, data, look, _at(axes, x2="x2", y2="y2"), legend, "color")]


def _cells(mark: Cells, axes: Mapping[str, Any], _: Legend | None) -> list[dict[str, Any]]:
    row, column = (places.ravel().astype(np.float64) for places in np.indices(mark.values.shape))
    values: FloatArray = mark.values.ravel().astype(np.float64)
    labels = [text for line in mark.labels for text in line]
    told = [text for line in mark.texts for text in line]
    known = np.flatnonzero(np.isfinite(values))
    data = _rows(
        x=column[known] - 0.49, x2=column[known] + 0.49, y=row[known] - 0.48, y2=row[known] + 0.48,
        column=column[known], row=row[known], value=values[known],
        label=[labels[i].split("\n") for i in known], told=[told[i] for i in known],
    )  # fmt: skip
    ends, colours = map(list, zip(*theme.DIVERGING, strict=True))
    colour = {"field": "value", "type": "quantitative", "legend": None, "scale": {"domain": ends, "range": colours}}
    said = {channel: {"field": "told", "type": "nominal"} for channel in ("description", "tooltip")}
    dark = {"condition": {"test": "abs(datum.value - 0.5) > 0.3", "value": "white"}, "value": "black"}
    boxes = {"mark": "rect", "encoding": {**_at(axes, x2="x2", y2="y2"), "color": colour, **said}}
    words = {
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {**_at(axes, "column", "row"), "text": {"field": "label", "type": "nominal"}, "color": dark},
    }
    return [{"data": data, **boxes}, {"data": data, **words}]


def _labels(mark: Labels, axes: Mapping[str, Any], _: Legend | None) -> list[dict[str, Any]]:
    data = _rows(x=mark.x, y=mark.y, text=mark.texts)
    return [
        {
            "data": data,
            "mark": {"type": "text"},
            "encoding": {**_at(axes), "text": {"field": "text", "type": "nominal"}},
        }
    ]


# How each mark is drawn.
LAYERS: dict[type[Mark], Callable[[Any, Mapping[str, Any], Legend | None], list[dict[str, Any]]]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Cells: _cells,
    Labels: _labels,
}
