"""The floor of a sampler: its random numbers, drawn from the same generator, and nothing done with them.

There are two: one call per variate, as a program would write it, and the tightest loop there is.
"""

from __future__ import annotations

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled
from dissensus.kernels.randomness import (
    Streams,
    exponential,
    gamma,
    next_exponential,
    next_gamma,
    put_back,
    spread,
    start,
    state_of,
    uniform,
)


@compiled
def draw_variates(counts: IntArray, shapes: FloatArray, spreads: FloatArray, streams: Streams) -> float:  # noqa: ARG001
    """Draw so many gamma, exponential and uniform variates, one call each, gammas with these shapes in turn.

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


@compiled
def draw_variates_tightly(counts: IntArray, shapes: FloatArray, spreads: FloatArray, streams: Streams) -> float:
    """Draw so many gamma, exponential and uniform variates, gammas with these shapes in turn.

    The state of the generator stays in registers, what can be prepared for each shape is, and nothing is written.
    """
    stream = streams[0]
    start(stream, np.uint64(1))
    state, total, k = state_of(stream), 0.0, 0
    for k in range(len(shapes)):
        spreads[k] = spread(shapes[k])
    for _ in range(counts[0]):
        k = k + 1 if k + 1 < len(shapes) else 0
        value, state = next_gamma(state, shapes[k], spreads[k])
        total += value
    for _ in range(counts[1]):
        value, state = next_exponential(state)
        total += value
    put_back(stream, state)
    for _ in range(counts[2]):
        total += uniform(stream)
    return total
