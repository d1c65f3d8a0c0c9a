"""One look for all figures: colours that everybody can tell apart, and nothing that needs a light or a dark page."""

from __future__ import annotations

from typing import Any

import numpy as np

# The colours of Okabe and Ito that stand out on white as well as on black, the blue a little lighter.
HUES = ("#1F86C8", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

# From little to much, of growing lightness.
SHADES = ("#7B4FA3", "#2C7FB8", "#1FA187", "#7FB93B", "#E0A800")

NEUTRAL = "#808080"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
PATTERNS = ("", "/", ".", "x", "-", "+")
CROSS = "x"

# From the second hue to the first, for probabilities around one half.
DIVERGING = ((0.0, "#D55E00"), (0.5, "#EDEDED"), (1.0, "#1F86C8"))

# How plotly is asked to draw in a page: ``Plotly.newPlot(element, data, layout, CONFIG)``.
CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# Colours of text and grid on any page, on a light one and on a dark one.
INKS = {None: ("#737373", "rgba(128,128,128,0.25)"), False: ("#24292f", "#e3e6ea"), True: ("#d7dce2", "#3a4048")}


def hue(place: int) -> str:
    """Return the colour of the first, second, ... of some things without order.

    >>> hue(0), hue(6)
    ('#1F86C8', '#1F86C8')
    """
    return HUES[place % len(HUES)]


def shade(place: int, number: int) -> str:
    """Return the colour of one of some things in order.

    >>> shade(0, 3), shade(2, 3)
    ('#7b4fa3', '#e0a800')
    """
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in SHADES], dtype=np.float64)
    where = place / max(number - 1, 1) * (len(SHADES) - 1)
    red, green, blue = (round(float(np.interp(where, range(len(SHADES)), channel))) for channel in anchors.T)
    return f"#{red:02x}{green:02x}{blue:02x}"


def template(dark: bool | None = None) -> dict[str, Any]:
    """Return the plotly template for any page (``None``), a light or a dark one.

    A page changes the look of a drawn figure with ``Plotly.relayout(element, {template: ...})``.
    """
    ink, grid = INKS[dark]
    axis = {
        "gridcolor": grid,
        "linecolor": grid,
        "zeroline": False,
        "automargin": True,
        "showline": True,
        "ticks": "outside",
        "tickcolor": grid,
        "ticklen": 4,
        "title": {"standoff": 10},
    }
    return {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(HUES),
            "xaxis": axis,
            "yaxis": axis,
            "legend": {"bgcolor": "rgba(0,0,0,0)"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": grid, "activecolor": ink},
            "annotationdefaults": {"font": {"color": ink}},
            "hoverlabel": {"font": {"family": FONT, "size": 13}, "align": "left"},
        }
    }
