"""The floor of a sampler: its random numbers, drawn from the same generator, and nothing done with them."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.compiling import compiled
from dissensus.kernels.randomness import Streams, exponential, gamma, start, uniform
from dissensus.typing import FloatArray, IntArray


@compiled
def draw_variates(counts: IntArray, shapes: FloatArray, streams: Streams) -> float:
    """Draw so many gamma, exponential and uniform variates, gammas with these shapes in turn.

    The sum keeps the compiler from leaving them out, and changing shapes from preparing one of them once.
    """
    stream = streams[0]
    start(stream, np.uint64(1))
    total = 0.0
    for i in range(counts[0]):
        total += gamma(stream, shapes[i % len(shapes)])
    for _ in range(counts[1]):
        total += exponential(stream)
    for _ in range(counts[2]):
        total += uniform(stream)
    return total
