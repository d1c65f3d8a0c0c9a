"""Streams of random numbers: one per (seed, case, chain), the same bits on every machine.

A stream is a record of seven 64-bit words: four of state and three tallies, which count the gamma,
exponential and uniform variates that were asked for, so that a benchmark can time the very same numbers
alone. (A record rather than an array, because compiled code counts references to arrays at every call.)
A kernel takes the record out of an array that it was given, which its caller keeps alive.

References
----------
D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021): xoshiro256++.
G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators" (2014): splitmix64.
G. Marsaglia and W. W. Tsang, "The ziggurat method for generating random variables" (2000).
G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000).
W. Hormann, "The generation of binomial random variates" (1993): transformed rejection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Concatenate, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import FloatArray
from dissensus.kernels.jit import Kernel, Parameters, Result, inlined, inner, settings

Keys: TypeAlias = npt.NDArray[np.uint64]
Streams: TypeAlias = npt.NDArray[np.void]
State: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

STREAM = np.dtype(
    [(name, np.uint64) for name in ("s0", "s1", "s2", "s3", "gammas", "exponentials", "uniforms")], align=True
)


class Stream(Protocol):
    """The state of a generator and its tallies: one element of an array of type :data:`STREAM`."""

    s0: np.uint64
    s1: np.uint64
    s2: np.uint64
    s3: np.uint64
    gammas: np.uint64
    exponentials: np.uint64
    uniforms: np.uint64


ZERO, ONE, TWO, THREE, FOUR = (np.uint64(n) for n in range(5))
LAYER_BITS = np.uint64(255)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S11, S12, S17, S19, S23, S27, S30, S31, S41, S45 = (np.uint64(s) for s in (11, 12, 17, 19, 23, 27, 30, 31, 41, 45))


# Up to this number the trials of a binomial variate are made one by one, which is faster than inversion.
FEW_TRIALS = 12


# Keys and streams -----------------------------------------------------------------------------------


def mixed(words: Keys) -> Keys:
    """Scatter the bits of words; a bijection in which each bit depends on all others (splitmix64)."""
    words = (words ^ (words >> S30)) * MIX_1
    words = (words ^ (words >> S27)) * MIX_2
    return words ^ (words >> S31)


# The same for one word, in kernels.
mix: Callable[[np.uint64], np.uint64] = inlined(cast(Any, mixed))


@inner
def subkey(key: np.uint64, number: np.uint64) -> np.uint64:
    """Derive the key of a part from the key of the whole and the number of the part."""
    return mix(mix(key + GOLDEN) + (number + ONE) * GOLDEN)


def subkeys(keys: Keys, numbers: Keys) -> Keys:
    """Derive keys as :func:`subkey` does, for arrays."""
    return mixed(mixed(keys + GOLDEN) + (numbers + ONE) * GOLDEN)


def stream_keys(seed: np.uint64, case_keys: Keys, n_streams: int) -> Keys:
    """Give each case as many keys as it needs streams.

    Parameters
    ----------
    seed
        A 64-bit seed.
    case_keys : (n_cases,)
        A 64-bit number per case that does not depend on the other cases, such as a hash of its name.
    n_streams
        Streams per case: its chains, and one more for its rest.

    Returns
    -------
    (n_cases, n_streams)
    """
    of_cases = subkeys(np.full(1, seed), case_keys)
    return subkeys(of_cases[:, None], np.arange(n_streams, dtype=np.uint64))


@inner
def start(stream: Stream, key: np.uint64) -> None:
    """Put a stream at its beginning; the tallies go on counting."""
    stream.s0 = mix(key + GOLDEN)
    stream.s1 = mix(key + GOLDEN * TWO)
    stream.s2 = mix(key + GOLDEN * THREE)
    stream.s3 = mix(key + GOLDEN * FOUR)


def new_streams() -> Streams:
    """Make room for one stream, as an array of length one; a kernel starts it."""
    return np.zeros(1, dtype=STREAM)


class Drawing(Kernel[Parameters, Result]):
    """A kernel whose first argument is room for a stream, which it starts itself: nobody else has to give it."""

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the compiled function with a stream."""
        return super().__call__(new_streams(), *args, **kwargs)  # type: ignore[arg-type]


def drawing(function: Callable[Concatenate[Streams, Parameters], Result]) -> Callable[Parameters, Result]:
    """Compile a kernel that draws; see :class:`Drawing`."""
    if settings.DISABLE_JIT:
        return lambda *args, **kwargs: function(new_streams(), *args, **kwargs)
    return Drawing(cast(Callable[Parameters, Result], function))


def tallies(streams: Streams) -> Keys:
    """Return how many gamma, exponential and uniform variates the first stream has given, shape (3,)."""
    return np.array([streams[0][name] for name in ("gammas", "exponentials", "uniforms")], dtype=np.uint64)


# Pure steps -------------------------------------------------------------------------------------------
# Each takes a state and returns a variate and the next state: in a loop the state stays in registers.


@inlined
def state_of(stream: Stream) -> State:
    """Take the state of a stream out of its record."""
    return stream.s0, stream.s1, stream.s2, stream.s3


@inlined
def put_back(stream: Stream, state: State) -> None:
    """Put a state back into the record."""
    stream.s0, stream.s1, stream.s2, stream.s3 = state


@inlined
def next_word(state: State) -> tuple[np.uint64, State]:
    """Draw 64 random bits (xoshiro256++)."""
    s0, s1, s2, s3 = state
    total = s0 + s3
    s2 ^= s0
    s3 ^= s1
    word = ((total << S23) | (total >> S41)) + s0
    return word, (s0 ^ s3, s1 ^ s2, s2 ^ (s1 << S17), (s3 << S45) | (s3 >> S19))


@inlined
def next_uniform(state: State) -> tuple[float, State]:
    """Draw from the open interval (0, 1)."""
    word, state = next_word(state)
    return (float(np.int64(word >> S12)) + 0.5) * 2.0**-52, state


def _layers(edge: float, area: float, density: str) -> tuple[FloatArray, FloatArray]:
    """Cut a decreasing density into 256 layers of equal area.

    Layer ``i`` is ``edges[i]`` wide and reaches from height ``heights[i]`` to ``heights[i + 1]``; layer 0
    stands for the base and the tail beyond ``edges[1]``.
    """
    exponential = density == "exponential"
    edges = np.zeros(257)
    heights = np.ones(257)
    edges[1] = edge
    heights[1] = math.exp(-edge if exponential else -0.5 * edge**2)
    edges[0], heights[0] = area / heights[1], 0.0
    for i in range(1, 255):
        heights[i + 1] = heights[i] + area / edges[i]
        drop = -math.log(heights[i + 1])
        edges[i + 1] = drop if exponential else math.sqrt(2.0 * drop)
    return edges, heights


EXPONENTIAL_EDGE = 7.697117470131049720307
EXPONENTIAL_EDGES, EXPONENTIAL_HEIGHTS = _layers(
    EXPONENTIAL_EDGE, (EXPONENTIAL_EDGE + 1.0) * math.exp(-EXPONENTIAL_EDGE), "exponential"
)
NORMAL_EDGE = 3.654152885361008771645
NORMAL_EDGES, NORMAL_HEIGHTS = _layers(
    NORMAL_EDGE,
    NORMAL_EDGE * math.exp(-0.5 * NORMAL_EDGE**2) + math.sqrt(0.5 * math.pi) * math.erfc(NORMAL_EDGE / math.sqrt(2.0)),
    "normal",
)


@inlined
def next_exponential(state: State) -> tuple[float, State]:
    """Draw from Exp(1) by the ziggurat."""
    beyond = 0.0
    while True:
        word, state = next_word(state)
        layer = word & LAYER_BITS
        x = float(np.int64(word >> S11)) * 2.0**-53 * EXPONENTIAL_EDGES[layer]
        if x < EXPONENTIAL_EDGES[layer + ONE]:
            return beyond + x, state
        if layer == 0:
            beyond += EXPONENTIAL_EDGE  # what lies beyond the last edge is the same distribution again
            continue
        low, high = EXPONENTIAL_HEIGHTS[layer], EXPONENTIAL_HEIGHTS[layer + ONE]
        u, state = next_uniform(state)
        if low + u * (high - low) < math.exp(-x):
            return beyond + x, state


@inner
def normal_tail(state: State) -> tuple[float, State]:
    """Draw a standard normal variate given that it is beyond the last edge of the ziggurat."""
    while True:
        x, state = next_exponential(state)
        y, state = next_exponential(state)
        x /= NORMAL_EDGE
        if 2.0 * y > x * x:
            return NORMAL_EDGE + x, state


@inlined
def next_normal(state: State) -> tuple[float, State]:
    """Draw a standard normal variate by the ziggurat; the highest bit of the word is the sign."""
    while True:
        word, state = next_word(state)
        layer = word & LAYER_BITS
        x = float(np.int64(word) >> 11) * 2.0**-52 * NORMAL_EDGES[layer]
        if abs(x) < NORMAL_EDGES[layer + ONE]:
            return x, state
        if layer == 0:
            tail, state = normal_tail(state)
            return math.copysign(tail, x), state
        low, high = NORMAL_HEIGHTS[layer], NORMAL_HEIGHTS[layer + ONE]
        u, state = next_uniform(state)
        if low + u * (high - low) < math.exp(-0.5 * x * x):
            return x, state


@inlined
def spread(shape: float) -> float:
    """Compute once what every gamma variate of the same shape needs, see :func:`next_gamma`."""
    return 1.0 / math.sqrt(9.0 * max(shape, 1.0) - 3.0)


@inlined
def next_gamma(state: State, shape: float, c: float) -> tuple[float, State]:
    """Draw from Gamma(shape), shape >= 1 and c = spread(shape), by squeezing a cubed normal variate."""
    d = shape - 1.0 / 3.0
    while True:
        x, state = next_normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u, state = next_uniform(state)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return d * v, state
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v, state


@inlined
def next_log_gamma(state: State, shape: float) -> tuple[float, State]:
    """Draw the logarithm of a Gamma(shape) variate.

    For shape < 1, Gamma(shape) is Gamma(shape + 1) times a uniform variate to the power 1 / shape; the
    product would underflow, its logarithm does not.
    """
    boost, larger = 0.0, shape
    if shape < 1.0:
        larger = shape + 1.0
        boost, state = next_exponential(state)
    value, state = next_gamma(state, larger, spread(larger))
    return math.log(value) - boost / shape, state


# Uniform, exponential, normal -------------------------------------------------------------------------


@inner
def uniform(stream: Stream) -> float:
    """Draw from the open interval (0, 1)."""
    stream.uniforms += ONE
    value, state = next_uniform(state_of(stream))
    put_back(stream, state)
    return value


@inner
def exponential(stream: Stream) -> float:
    """Draw from Exp(1)."""
    stream.exponentials += ONE
    value, state = next_exponential(state_of(stream))
    put_back(stream, state)
    return value


@inner
def raw_normal(stream: Stream) -> float:
    """Draw a standard normal variate; not counted, gamma variates are made of it."""
    value, state = next_normal(state_of(stream))
    put_back(stream, state)
    return value


# Gamma, beta, binomial --------------------------------------------------------------------------------


@inner
def log_gamma(stream: Stream, shape: float) -> float:
    """Draw the logarithm of a Gamma(shape) variate: finite however small the shape is."""
    stream.gammas += ONE
    value, state = next_log_gamma(state_of(stream), shape)
    put_back(stream, state)
    return value


@inner
def gamma(stream: Stream, shape: float) -> float:
    """Draw from Gamma(shape), zero for shape zero; tiny shapes may underflow to zero."""
    if shape == 1.0:
        return exponential(stream)
    if shape < 1.0:
        return math.exp(log_gamma(stream, shape)) if shape > 0.0 else 0.0
    stream.gammas += ONE
    value, state = next_gamma(state_of(stream), shape, spread(shape))
    put_back(stream, state)
    return value


@inner
def fill_gammas(stream: Stream, shapes: FloatArray, spreads: FloatArray, out: FloatArray) -> None:
    """Draw from Gamma(shape) for each of the shapes, given their spreads: one tight loop."""
    state, gammas, exponentials = state_of(stream), ZERO, ZERO
    for k in range(len(shapes)):
        if shapes[k] > 1.0:
            out[k], state = next_gamma(state, shapes[k], spreads[k])
            gammas += ONE
        elif shapes[k] == 1.0:
            out[k], state = next_exponential(state)
            exponentials += ONE
        elif shapes[k] > 0.0:
            put_back(stream, state)
            out[k] = math.exp(log_gamma(stream, shapes[k]))
            state = state_of(stream)
        else:
            out[k] = 0.0
    put_back(stream, state)
    stream.gammas += gammas
    stream.exponentials += exponentials


@inner
def beta_log_odds(stream: Stream, a: float, b: float) -> float:
    """Draw log(x / (1 - x)) of a Beta(a, b) variate x: neither x nor 1 - x is lost to rounding."""
    return log_gamma(stream, a) - log_gamma(stream, b)


@inner
def stirling_error(k: float) -> float:
    """Return log(k!) minus Stirling's approximation of it, to 1e-12 or better."""
    if k < 15.0:
        return math.lgamma(k + 1.0) - ((k + 0.5) * math.log(k + 1.0) - (k + 1.0) + 0.5 * math.log(2.0 * math.pi))
    x = 1.0 / (k + 1.0)
    xx = x * x
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - xx / 1680.0) * xx) * xx) * x


@inner
def binomial_by_rejection(stream: Stream, n: int, p: float) -> int:
    """Draw from Binomial(n, p), p <= 1/2 and n p >= 10, by transformed rejection: O(1) for any n."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    odds = p / (1.0 - p)
    mode = math.floor((n + 1) * p)
    at_mode = (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
    at_mode += stirling_error(mode) + stirling_error(n - mode)
    while True:
        u = uniform(stream) - 0.5
        v = uniform(stream)
        room = 0.5 - abs(u)
        k = math.floor((2.0 * a / room + b) * u + n * p + 0.5)
        if room >= 0.07 and v <= 0.92 - 4.2 / b:
            return int(k)
        if k < 0 or k > n:
            continue
        log_ratio = at_mode + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
        log_ratio += (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
        log_ratio -= stirling_error(k) + stirling_error(n - k)
        if math.log(v * alpha / (a / (room * room) + b)) <= log_ratio:
            return int(k)


@inner
def binomial(stream: Stream, n: int, p: float) -> int:
    """Draw from Binomial(n, p), for any n >= 0 and p in [0, 1]."""
    if n == 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if n <= FEW_TRIALS:
        successes = 0
        for _ in range(n):
            successes += uniform(stream) < p
        return successes
    q, k = min(p, 1.0 - p), 0
    if n * q < 10.0:  # walk up the distribution function from zero
        odds, probability, left = q / (1.0 - q), (1.0 - q) ** n, uniform(stream)
        while left > probability and k < n:
            left -= probability
            k += 1
            probability *= odds * (n - k + 1) / k
    else:
        k = binomial_by_rejection(stream, n, q)
    return k if p <= 0.5 else n - k
