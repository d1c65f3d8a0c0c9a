"""One look for all figures: colours that everybody can tell apart, and nothing that needs a light or a dark page."""

from __future__ import annotations

from typing import Any

import numpy as np

# The colours of Okabe and Ito that stand out on white as well as on black, the blue a little lighter.
HUES = ("#1F86C8", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")

# From little to much, of growing lightness.
SHADES = ("#7B4FA3", "#2C7FB8", "#1FA187", "#7FB93B", "#E0A800")

NEUTRAL = "#808080"

# Strokes and gaps of lines, in pixels.
DASHES: tuple[list[int], ...] = ([1, 0], [6, 4], [2, 3], [7, 3, 2, 3], [12, 4])

# A star has no name among the shapes of Vega-Lite.
STAR = "M0,-1L0.29,-0.4L0.95,-0.31L0.48,0.15L0.59,0.81L0,0.5L-0.59,0.81L-0.48,0.15L-0.95,-0.31L-0.29,-0.4Z"
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", STAR)
CROSS = "M-0.7,-0.7L0.7,0.7M-0.7,0.7L0.7,-0.7"

# From the second hue to the first, for probabilities around one half.
DIVERGING = ((0.0, "#D55E00"), (0.5, "#EDEDED"), (1.0, "#1F86C8"))

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

GRID = "rgba(128,128,128,0.25)"


def hue(place: int) -> str:
    """Return the colour of the first, second, ... of some things without order.

    >>> hue(0), hue(6)
    ('#1F86C8', '#1F86C8')
    """
    return HUES[place % len(HUES)]


def dashes(place: int) -> list[int]:
    """Return the strokes and gaps of the first, second, ... of some lines.

    >>> dashes(1) == dashes(6)
    True
    """
    return DASHES[place % len(DASHES)]


def shade(place: int, number: int) -> str:
    """Return the colour of one of some things in order.

    >>> shade(0, 3), shade(2, 3)
    ('#7b4fa3', '#e0a800')
    """
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in SHADES], dtype=np.float64)
    where = place / max(number - 1, 1) * (len(SHADES) - 1)
    red, green, blue = (round(float(np.interp(where, range(len(SHADES)), channel))) for channel in anchors.T)
    return f"#{red:02x}{green:02x}{blue:02x}"


def config() -> dict[str, Any]:
    """Return the look of a specification: words take the colour of the text around the figure, light or dark."""
    ink = {"labelColor": "currentColor", "titleColor": "currentColor"}
    axis = {**ink, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID, "titleFontWeight": "normal"}
    return {
        "background": "transparent",
        "padding": {"left": 16, "right": 12, "top": 4, "bottom": 4},  # fonts of others may be wider
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {**ink, "labelLimit": 300, "columnPadding": 24},
        "title": {"color": "currentColor", "fontSize": 14},
        "text": {"color": "currentColor"},
    }
