"""Single draws as dots over a bar, as the paper shows cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Points
from dissensus.figures.evaluation_charts import dot_heights

ROOM = 0.55
"""How much of a bar's height the dots take."""


def dots(draws: Sequence[Sequence[float]]) -> Points:
    """Spread the draws of every condition over the height of its bar, in the same order for all.

    >>> dots([[0.1, 0.3], [0.9, 0.7]]).y.round(2).tolist()
    [-0.28, 0.06, 0.72, 1.06]
    """
    x, y = np.array(draws, dtype=np.float64).ravel(), dot_heights(len(draws), len(draws[0]), room=ROOM)
    return Points(x, y, "single draws", theme.hue(2), size=4, opacity=0.6)
