"""Draw a chart with matplotlib, for papers: SVG, PDF or PNG. Needs the extra ``static``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError, MissingExtraError
from dissensus.core.output import directory_written_whole, written_whole
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Bars, Cells, Chart, Labels, Line, Mark, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".pdf", ".png")

# Pixels of a page per inch of paper.
INCH = 96

DASHES = ("-", "--", ":", "-.", (0, (8, 3)))
SYMBOLS = ("o", "s", "D", "^", "P", "*")
PATTERNS = ("", "//", "..", "xx", "--", "++")
# What to leave out of a file, so that the same figure gives the same bytes.
UNDATED: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}

FONT = "DejaVu Sans"

# Fonts that have the letters of more languages.
FALLBACKS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans")

SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "dissensus",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "hatch.linewidth": 0.4,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
}


def write_chart(chart: Chart, path: Path, *, overwrite: bool = False) -> None:
    """Write a chart to a file that appears whole or not at all; its ending chooses the form."""
    ending = checked_ending(path)
    with written_whole(path, overwrite=overwrite) as temporary:
        _save(chart, temporary, ending)


def write_charts(charts: Mapping[str, Chart], directory: Path, *, ending: str = ".svg") -> tuple[FilePath, ...]:
    """Write charts by name into a new directory, all or none, and return their paths."""
    checked_ending(f"figure{ending}")
    with directory_written_whole(directory) as room:
        for name, chart in charts.items():
            _save(chart, room / f"{name}{ending}", ending)
    return tuple(FilePath(directory) / f"{name}{ending}" for name in charts)


def checked_ending(path: Path, *, others: tuple[str, ...] = ()) -> str:
    """Return the ending of a figure's path, or say which are known here and elsewhere."""
    ending = FilePath(path).suffix.lower()
    if ending not in ENDINGS:
        raise FormatError(
            "the ending of the figure is not understood",
            expected=f"one of {', '.join((*ENDINGS, *others))}",
            got=repr(ending),
            where=str(path),
        )
    return ending


def _save(chart: Chart, place: FilePath, ending: str) -> None:
    try:
        from matplotlib import rc_context
        from matplotlib.font_manager import get_font_names
    except ImportError as error:
        raise MissingExtraError(
            "writing static figures needs a package that is not installed",
            expected="matplotlib",
            advice="pip install 'dissensus[static]', or write the figure as .html",
        ) from error

    installed = set(get_font_names())
    families = [FONT, *(name for name in FALLBACKS if name in installed)]
    with rc_context({**SETTINGS, "font.family": families}):
        figure = drawn(chart)
        # drawn in memory first: on a full disk, matplotlib hides the error of the disk behind one of its own
        figure.savefig(memory := BytesIO(), format=ending[1:], dpi=200, metadata=UNDATED[ending])
    place.write_bytes(memory.getvalue())


def drawn(chart: Chart) -> Figure:
    """Draw a chart with matplotlib. Titles and captions of whole figures are left to the paper."""
    from matplotlib.figure import Figure

    size = (chart.width * chart.columns + 0.2, chart.rows * (chart.height / INCH * 0.66 + 0.45) + 0.2)
    figure = Figure(figsize=(max(size[0], 4.2), size[1]), layout="constrained")
    grid = figure.subplots(chart.rows, chart.columns, squeeze=False)
    handles: dict[str, Any] = {}
    for row, column, panel in chart.places():
        axes = grid[row, column]
        for mark in panel.marks:
            handle = DRAWN[type(mark)](axes, mark)
            if not isinstance(mark, Cells | Labels) and mark.name:
                handles.setdefault(mark.name, handle)
        axes.set_title(panel.title)
        _set_axis(axes, panel.x, "x")
        _set_axis(axes, panel.y, "y")
        if panel.is_turned:
            axes.invert_yaxis()
        if panel.is_square:
            axes.set_aspect("equal")
        axes.set_ylabel(chart.y_title(row, column))
    for empty in grid.ravel()[len(chart.panels) :]:
        empty.remove()
    if len(handles) > 1:  # the names, below all panels
        numbers = [str(number) for number in range(len(handles))]
        columns = max(1, min(len(handles), int(figure.get_figwidth() * 11 / (4 + max(map(len, handles))))))
        legend = figure.legend(list(handles.values()), numbers, loc="outside lower center", ncols=columns)
        for text, name in zip(legend.get_texts(), handles, strict=True):
            text.set_text(name)  # afterwards, as matplotlib drops those that begin with _
    return figure


def _set_axis(axes: Axes, axis: Axis, letter: str) -> None:
    from matplotlib.ticker import PercentFormatter

    side = axes.xaxis if letter == "x" else axes.yaxis
    if not axis.is_shown:
        axes.axis("off")
    side.set_label_text(axis.title)
    if axis.span is not None:
        (axes.set_xlim if letter == "x" else axes.set_ylim)(*axis.span)
    if axis.ticks:
        side.set_ticks([place for place, _ in axis.ticks], [text for _, text in axis.ticks])
        side.grid(visible=False)
        # whether names below an axis would touch, at some 16 letters per inch
        grid, figure = axes.get_gridspec(), axes.get_figure(root=True)
        room = 16 * figure.get_figwidth() / grid.ncols - 8 if grid is not None and figure is not None else 50
        if letter == "x" and sum(2 + max(map(len, text.split("\n"))) for _, text in axis.ticks) > room:
            axes.tick_params(axis="x", rotation=35)
            for text in axes.get_xticklabels():
                text.set_horizontalalignment("right")
    elif axis.form.endswith("%"):
        side.set_major_formatter(PercentFormatter(1.0, decimals=0))


# Marks: each function draws one and returns what stands for it in a legend -------------------------------


def _line(axes: Axes, mark: Line) -> Any:
    symbol = "" if mark.symbol is None else SYMBOLS[mark.symbol % len(SYMBOLS)]
    style, steps = DASHES[mark.dash % len(DASHES)], "steps-pre" if mark.steps else "default"
    look: dict[str, Any] = {"color": mark.colour, "linestyle": style, "drawstyle": steps}
    return axes.plot(mark.x, mark.y, marker=symbol, markersize=4, **look)[0]


def _band(axes: Axes, mark: Band) -> Any:
    return axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=mark.opacity, linewidth=0)


def _points(axes: Axes, mark: Points) -> Any:
    marker = "x" if mark.symbol < 0 else SYMBOLS[mark.symbol % len(SYMBOLS)]
    look: dict[str, Any] = {"color": mark.colour, "marker": marker, "markersize": mark.size * 0.55, "linestyle": "none"}
    if mark.low is None or mark.high is None:
        edge: dict[str, Any] = {} if mark.symbol < 0 else {"markeredgewidth": 0}
        return axes.plot(mark.x, mark.y, alpha=mark.opacity, **look, **edge)[0]
    whiskers = np.maximum(np.stack([mark.y - mark.low, mark.high - mark.y]), 0)
    return axes.errorbar(mark.x, mark.y, whiskers, capsize=2, **look)


def _bars(axes: Axes, mark: Bars) -> Any:
    hatch = PATTERNS[mark.pattern % len(PATTERNS)]
    look: dict[str, Any] = {"color": mark.colour, "hatch": hatch, "linewidth": 0, "alpha": mark.opacity}
    draw: Any = axes.barh if mark.across else axes.bar
    edge = "white" if hatch else "none"
    return draw(mark.positions, mark.lengths, mark.width, mark.starts, edgecolor=edge, **look)


def _cells(axes: Axes, mark: Cells) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("better", list(theme.DIVERGING))
    image = axes.imshow(mark.values, cmap=colours, vmin=0, vmax=1, aspect="auto")
    axes.grid(visible=False)
    for (row, column), value in np.ndenumerate(mark.values):
        if np.isfinite(value):
            ink = "white" if abs(value - 0.5) > 0.3 else "black"
            axes.text(column, row, mark.labels[row][column], ha="center", va="center", color=ink)
    return image


def _labels(axes: Axes, mark: Labels) -> None:
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
        axes.text(x, y, text, ha="center", va="center")


# How each mark is drawn.
DRAWN: dict[type[Mark], Callable[[Any, Any], Any]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Cells: _cells,
    Labels: _labels,
}
