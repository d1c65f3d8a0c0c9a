"""What a figure shows, panels of marks with names and numbers as they are, and how Vega-Lite draws it.

Every mark says itself how it is drawn; one specification serves notebooks, pages and papers, and needs no browser and
no network. Names are data in it, never markup.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from markupsafe import Markup, escape

from dissensus.core.arrays import FloatArray, IntArray, Path
from dissensus.core.errors import FormatError
from dissensus.core.output import directory_written_whole, written_whole
from dissensus.core.screen import visible
from dissensus.figures import theme
from dissensus.figures.theme import NEUTRAL

if TYPE_CHECKING:
    import altair as alt

# Figures are kept small: curves of few points.
MOST_ON_CURVE = 400

# Longest name beside an axis; hovering tells the whole name.
SHORT = 34

ENDINGS = (".svg", ".pdf", ".png", ".html")

# Width of all panels side by side, in pixels, and the room between two.
WIDTH, BETWEEN = 680, 70

# More letters below an axis would touch.
LETTERS = 95

# A specification in this language, whose version the libraries that draw it know.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


# Marks --------------------------------------------------------------------------------------------------


class Mark(ABC):
    """Something between a pair of axes, whose name stands in the legend."""

    name: str = ""
    colour: str = NEUTRAL
    texts: tuple[Any, ...] = ()

    @abstractmethod
    def layers(self) -> list[dict[str, Any]]:
        """Return the layers that draw it: data, look, channels, and those of the channels that the legend tells."""

    @property
    def shape(self) -> str:
        """The form of its points, and of its place in the legend."""
        symbol = getattr(self, "symbol", None)
        return "square" if symbol is None else theme.CROSS if symbol < 0 else theme.SHAPES[symbol % len(theme.SHAPES)]

    def layer(
        self, look: Any, data: list[dict[str, Any]], *told: str, x: str = "x", y: str = "y", **more: Any
    ) -> dict[str, Any]:
        """Return a layer of which the legend tells some channels; it says its own words where one points at it."""
        encoding = {"x": {"field": x, "type": "quantitative"}, "y": {"field": y, "type": "quantitative"}, **more}
        if any("told" in row for row in data[:1]):
            encoding |= {channel: {"field": "told", "type": "nominal"} for channel in ("description", "tooltip")}
        return {"data": data, "mark": look, "encoding": encoding, "told": told}


@dataclass(frozen=True, eq=False)
class Line(Mark):
    """Join points; ``steps`` holds each value from the previous point on, as a quantile function does."""

    x: FloatArray
    y: FloatArray
    name: str = ""
    colour: str = NEUTRAL
    dash: int = 0
    symbol: int | None = None
    steps: bool = False
    texts: tuple[str, ...] = ()

    def layers(self) -> list[dict[str, Any]]:
        """Draw a line, and a point at each place if it has a symbol."""
        data = _rows(x=self.x, y=self.y, i=np.arange(len(self.x)), told=self.texts)
        look = {"type": "line", "color": self.colour, "strokeWidth": 2, "strokeDash": theme.dashes(self.dash)}
        look |= {"interpolate": "step-before" if self.steps else "linear", "invalid": "break-paths-filter-domains"}
        line = self.layer(look, data, "color", order={"field": "i", "type": "quantitative"})
        dots = {"type": "point", "filled": True, "size": 55, "color": self.colour, "shape": self.shape, "opacity": 1}
        return [line] if self.symbol is None else [line, self.layer(dots, data, "color", "shape")]


@dataclass(frozen=True, eq=False)
class Band(Mark):
    """Fill the room between two curves."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    colour: str = NEUTRAL
    opacity: float = 0.3
    name: str = ""

    def layers(self) -> list[dict[str, Any]]:
        """Draw an area."""
        look = {"type": "area", "color": self.colour, "opacity": self.opacity, "line": False}
        data = _rows(x=self.x, low=self.low, high=self.high)
        return [self.layer(look, data, "color", y="low", y2={"field": "high"})]


@dataclass(frozen=True, eq=False)
class Points(Mark):
    """Mark points, with an interval each if there are ``low`` and ``high``: upright or, if ``across``, to the side."""

    x: FloatArray
    y: FloatArray
    name: str = ""
    colour: str = NEUTRAL
    symbol: int = 0
    size: float = 8
    opacity: float = 1.0
    low: FloatArray | None = None
    high: FloatArray | None = None
    across: bool = False
    texts: tuple[str, ...] = ()

    def layers(self) -> list[dict[str, Any]]:
        """Draw points, above rules for their intervals."""
        data = _rows(x=self.x, y=self.y, low=self.low, high=self.high, told=self.texts)
        look = {"type": "point", "filled": self.symbol >= 0, "size": 0.9 * float(self.size) ** 2}
        look |= {"color": self.colour, "shape": self.shape, "opacity": self.opacity}
        dots = self.layer(look, data, "color", "shape")
        if self.low is None or self.high is None:
            return [dots]
        rule = {"type": "rule", "color": self.colour, "strokeWidth": 1.5, "opacity": self.opacity}
        along = "x" if self.across else "y"
        ends: dict[str, Any] = {along: "low", f"{along}2": {"field": "high"}}
        return [self.layer(rule, data, **ends), dots]


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """Draw bars from ``base``, upright or, if ``across``, to the right."""

    positions: FloatArray
    lengths: FloatArray
    width: float = 0.8
    name: str = ""
    colour: str = NEUTRAL
    base: FloatArray | None = None
    across: bool = False
    pattern: int = 0
    opacity: float = 1.0
    texts: tuple[str, ...] = ()

    @property
    def starts(self) -> FloatArray:
        """Where each bar starts."""
        return np.zeros_like(self.lengths) if self.base is None else self.base

    def layers(self) -> list[dict[str, Any]]:
        """Draw boxes, with an outline where a pattern tells them apart without colour."""
        sides = (self.positions - self.width / 2, self.positions + self.width / 2)
        ends = (self.starts, self.starts + self.lengths)
        (x, x2), (y, y2) = (ends, sides) if self.across else (sides, ends)
        look: dict[str, Any] = {"type": "rect", "color": self.colour, "opacity": self.opacity}
        if self.pattern:
            look |= {"stroke": "currentColor", "strokeWidth": 1, "strokeDash": theme.dashes(self.pattern)}
        return [self.layer(look, _rows(x=x, x2=x2, y=y, y2=y2, told=self.texts), "color", **ENDS)]


# The channels of the far sides of boxes.
ENDS: dict[str, Any] = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}


@dataclass(frozen=True, eq=False)
class Cells(Mark):
    """Colour a table of shares between 0 and 1, first row on top, and write a label on each; nan stays empty."""

    values: FloatArray
    labels: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    across = True

    def layers(self) -> list[dict[str, Any]]:
        """Draw boxes, and words upon them."""
        known = np.isfinite(self.values)
        (row, column), value = np.array(np.nonzero(known), dtype=np.float64), self.values[known]
        labels, told = (np.array(lines, dtype=object)[known].tolist() for lines in (self.labels, self.texts))
        boxes = {"x": column - 0.49, "x2": column + 0.49, "y": row - 0.48, "y2": row + 0.48}
        data = _rows(**boxes, value=value, told=told)
        words = _rows(x=column, y=row, value=value, label=[label.split("\n") for label in labels])
        ends, colours = map(list, zip(*theme.DIVERGING, strict=True))
        hue = {"field": "value", "type": "quantitative", "legend": None, "scale": {"domain": ends, "range": colours}}
        dark = {"condition": {"test": "abs(datum.value - 0.5) > 0.3", "value": "white"}, "value": "black"}
        text = {"field": "label", "type": "nominal"}
        return [
            self.layer("rect", data, **ENDS, color=hue),
            self.layer({"type": "text", "fontSize": 11}, words, text=text, color=dark),
        ]


def _rows(**columns: Any) -> list[dict[str, Any]]:
    """Lay out columns as data; numbers that are not finite are missing, and digits that nobody can see are left out."""
    plain = {name: values for name, values in columns.items() if values is not None and len(values)}
    for name, values in plain.items():
        if isinstance(values, np.ndarray):
            plain[name] = [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


# Panels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """Name an axis, its range, and the words at its ticks if it has words; ``form`` writes its numbers."""

    title: str = ""
    span: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    form: str = ".3f"
    is_shown: bool = True

    def channel(self, title: str, *, turned: bool = False, slants: bool = False) -> dict[str, Any]:
        """Return the scale and the axis of a channel; many words below an axis are written at a slant."""
        scale: dict[str, Any] = {"zero": False, "nice": self.span is None, "reverse": turned}
        if self.span is not None:
            scale["domain"] = list(self.span)
        if not self.is_shown:
            return {"scale": scale, "axis": None}
        axis: dict[str, Any] = {"title": title or None}
        if self.ticks:
            words = {f"{place:g}": text.split("\n") for place, text in self.ticks}
            axis |= {"values": [place for place, _ in self.ticks], "grid": False, "labelOverlap": False}
            axis |= {"labelExpr": f"{json.dumps(words)}[format(datum.value, '.6~g')]", "labelLimit": 220}
            letters = sum(2 + max(map(len, text)) for text in words.values())
            if letters > LETTERS and len(words) > 1 and slants:
                axis["labelAngle"] = -35
        elif self.form.endswith("%"):
            axis["format"] = ".0%"
        return {"scale": scale, "axis": axis}


@dataclass(frozen=True, eq=False)
class Pane:
    """Hold the marks between one pair of axes."""

    marks: tuple[Mark, ...]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    title: str = ""
    is_square: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """Hold the panels of one figure, row by row.

    Attributes
    ----------
    title, caption
        A line above the figure, and what has to be known to read it.
    panels, columns
        The panels, and how many stand side by side.
    height
        Height of a row of panels, in pixels.
    """

    title: str
    panels: tuple[Pane, ...]
    caption: str = ""
    columns: int = 1
    height: int = 320

    @property
    def compares(self) -> bool:
        """Whether there is more than one thing to see: two points, two bars, two lines, or a table."""
        marks = [mark for panel in self.panels for mark in panel.marks]
        singles = sum(int(np.isfinite(mark.y).sum()) for mark in marks if isinstance(mark, Points))
        singles += sum(int((mark.lengths > 0).sum()) for mark in marks if isinstance(mark, Bars))
        lines = sum(isinstance(mark, Line | Band) for mark in marks)
        return singles > 1 or lines > 1 or any(isinstance(mark, Cells) and mark.values.size > 1 for mark in marks)

    def names(self) -> tuple[str, ...]:
        """Give the names of a legend, each once."""
        return tuple(dict.fromkeys(mark.name for panel in self.panels for mark in panel.marks if mark.name))


# Drawing ------------------------------------------------------------------------------------------------


def specification(chart: Chart, *, titled: bool = True) -> dict[str, Any]:
    """Return what a chart looks like, in Vega-Lite; what hides in its names is shown."""
    chart = _visible(chart)
    width = (WIDTH - BETWEEN * (chart.columns - 1)) // chart.columns
    legend = _legend(chart)
    data: dict[str, Any] = {}
    panes: list[dict[str, Any]] = []
    for number, panel in enumerate(chart.panels):
        repeats = number % chart.columns and chart.panels[number - 1].y.title == panel.y.title
        turned = any(getattr(mark, "across", False) for mark in panel.marks)  # the first place on top, as in lists
        axes = {"x": panel.x.channel(panel.x.title, slants=True)}
        axes["y"] = panel.y.channel("" if repeats else panel.y.title, turned=turned)
        layers = []
        for mark in panel.marks:
            for layer in mark.layers():
                told, own = layer.pop("told"), f"data {len(data)}"
                data[own], layer["data"] = layer["data"], {"name": own}
                for channel, found in axes.items():
                    layer["encoding"][channel] |= found
                if legend and mark.name and told:
                    layer["transform"] = [{"calculate": json.dumps(mark.name), "as": "name"}]
                    layer["encoding"] |= {channel: legend[channel] for channel in told}
                layers.append(layer)
        side = min(width, chart.height) if panel.is_square else width
        title = {"title": {"text": panel.title, "anchor": "start", "fontSize": 12}} if panel.title else {}
        panes.append({"width": side, "height": chart.height, "layer": layers, **title})
    rows = [panes[first : first + chart.columns] for first in range(0, len(panes), chart.columns)]
    found = {"vconcat": [{"hconcat": row} for row in rows], "config": theme.config(), "datasets": data}
    return found | ({"title": {"text": chart.title, "anchor": "start"}} if titled else {})


def _legend(chart: Chart) -> dict[str, Any]:
    """Say once what colour and shape stand for each name, if there are several: the channels that tell it."""
    marks = [mark for panel in chart.panels for mark in panel.marks]
    known = {name: next(mark for mark in marks if mark.name == name) for name in chart.names()}
    if len(known) < 2:
        return {}
    legend = {"title": None, "orient": "top", "columns": max(1, WIDTH // (40 + 8 * max(map(len, known))))}
    looks = {"color": [mark.colour for mark in known.values()], "shape": [mark.shape for mark in known.values()]}
    told = {"field": "name", "type": "nominal", "legend": legend}
    return {channel: {**told, "scale": {"domain": list(known), "range": found}} for channel, found in looks.items()}


def _visible(value: Any) -> Any:
    """Show what hides in the names of a chart: characters that control a terminal end the program that draws."""
    if isinstance(value, str):
        return "\n".join(map(visible, value.split("\n")))
    if isinstance(value, tuple):
        return tuple(map(_visible, value))
    if not is_dataclass(value):
        return value
    return replace(cast("Any", value), **{one.name: _visible(getattr(value, one.name)) for one in fields(value)})


def drawn(chart: Chart) -> alt.VConcatChart:
    """Return a chart for notebooks, which others may be built from."""
    given = specification(chart)
    data = given.pop("datasets")  # which is plain, and slow to look at number by number
    found = _built({"$schema": SCHEMA, **given})
    found.datasets = data
    return cast("alt.VConcatChart", found)


def _built(given: dict[str, Any]) -> Any:
    """Build a chart from what it says: ``from_dict`` would first try every class that it might be, for a second."""
    import altair as alt

    for part, kind in (("vconcat", alt.VConcatChart), ("hconcat", alt.HConcatChart), ("layer", alt.LayerChart)):
        if part in given:
            return kind(**{**given, part: [_built(one) for one in given[part]]})
    return alt.Chart(**{**given, "encoding": alt.Encoding(**given["encoding"])})


def svg(chart: Chart, name: str = "figure") -> str:
    """Draw a chart as SVG for a page: it takes the colour of the text around it, and its marks say what they are.

    Parameters
    ----------
    name
        Whatever it refers to in itself is called after it, so that several stand in one page.
    """
    import vl_convert

    def short(found: re.Match[str]) -> str:
        """Leave decimals out that nobody can see."""
        return re.sub(r"\d+\.\d{2,}", lambda one: f"{float(one[0]):.1f}".removesuffix(".0"), found[0])

    text = str(vl_convert.vegalite_to_svg(specification(chart, titled=False)))
    # what a mark says becomes its title, which browsers show to whoever points at it
    text = re.sub(r'<path aria-label="([^"]*)"([^>]*?)(?:/>|></path>)', r"<path\2><title>\1</title></path>", text)
    text = re.sub(r' (?:role|aria-[a-z]+|class)="[^"]*"', "", text)
    text = re.sub(r' (?:d|transform)="[^"]*"', short, text)
    text = re.sub(r"((?:id=\"|url\(#)\w*?clip)", lambda found: found[1].replace("clip", f"{name}-clip"), text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(_visible(chart.title))}" ', 1)


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
        problem, expected = "the ending of the figure is not understood", f"one of {', '.join(ENDINGS)}"
        raise FormatError(problem, expected=expected, got=repr(ending), where=str(path))
    return ending


def encoded(chart: Chart, ending: str) -> bytes:
    """Draw a chart in one of the forms; titles and captions are left to the paper, but not to a page."""
    import vl_convert

    if ending == ".html":
        parts = {"title": chart.title, "caption": chart.caption, "drawing": Markup(svg(chart)), "font": theme.FONT}
        page = files("dissensus.figures").joinpath("page.html").read_text(encoding="utf-8")
        return Markup(page).format(**parts).encode()
    plain = specification(chart, titled=False)
    if ending == ".svg":
        return str(vl_convert.vegalite_to_svg(plain)).encode()
    plain["background"] = "white"
    return bytes(vl_convert.vegalite_to_pdf(plain) if ending == ".pdf" else vl_convert.vegalite_to_png(plain, scale=2))


# Words and numbers that are drawn -----------------------------------------------------------------------


CERTAINTY = Axis("certainty", (0.0, 1.02))
SHARE_OF_CASES = Axis("share of cases, least certain first", (0.0, 1.0), form=".1%")


def named_places(names: Sequence[str], title: str = "", *, margin: float = 0.6) -> Axis:
    """Return an axis with a name at 0, 1, 2 and so on.

    >>> named_places(["A", "B"]).ticks
    ((0.0, 'A'), (1.0, 'B'))
    """
    ticks = tuple((float(place), name) for place, name in enumerate(names))
    return Axis(title, (-margin, len(names) - 1 + margin), ticks)


def shortened(name: str, most: int = SHORT) -> str:
    """Cut a long name; line ends within become spaces.

    >>> shortened("Squamous cell carcinoma", 12)
    'Squamous ce…'
    """
    plain = " ".join(name.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def dodged(place: int, number: int, *, room: float = 0.6) -> float:
    """Return how far the mark of one of several things stands from their common place.

    >>> [round(dodged(place, 3), 3) for place in range(3)]
    [-0.2, 0.0, 0.2]
    """
    return (place - (number - 1) / 2) * room / number


def joint_span(*arrays: FloatArray, around: float = 0.06) -> tuple[float, float] | None:
    """Return a range that holds all finite numbers, or none if there are none."""
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    margin = around * (high - low) or 0.01
    return low - margin, high + margin


def quantile_curve(values: FloatArray, *, most: int = MOST_ON_CURVE) -> tuple[FloatArray, FloatArray]:
    """Return shares of cases from 0 to 1 and the sorted values up to each, at most ``most + 1`` of them; nan left out.

    Examples
    --------
    >>> x, y = quantile_curve(np.array([0.9, 0.5]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.5, 1.0], [0.5, 0.5, 0.9])
    """
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return np.empty(0), np.empty(0)
    kept = kept_places(len(ordered), most)
    return np.append(0.0, (kept + 1) / len(ordered)), np.append(ordered[0], ordered[kept])


def kept_places(number: int, most: int = MOST_ON_CURVE) -> IntArray:
    """Return evenly spaced places among ``number``, the first and the last among them.

    >>> kept_places(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def counted(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the share of the finite values in each bin; nan if there are none."""
    finite = values[np.isfinite(values)]
    counts = np.histogram(finite, edges)[0].astype(np.float64)
    return np.asarray(counts / len(finite)) if len(finite) else np.full(len(counts), np.nan)


def even_edges(*arrays: FloatArray, number: int) -> FloatArray:
    """Return the edges of bins of equal width that hold all finite values; there is always some width."""
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.02, high + 0.02
    return np.linspace(low, high, number + 1)
