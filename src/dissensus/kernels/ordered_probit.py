"""Draw from the ordered probit model of grades: a Gibbs sampler over the whole study.

Case i has a severity z_i ~ N(0, 1). Annotator j gives it grade g if c_g < z_i + b_j + s_j e <= c_(g+1), where e ~
N(0, 1), c_0 = -inf and c_K = inf. Shifts are b_j ~ N(0, d^2), spreads log s_j ~ N(log s, w^2). An opinion of nobody in
particular is that of an annotator of whom nothing else is known: their shift is unknown, their spread s, so that it is
a normal variate around z_i of variance d^2 + s^2. The scale is fixed by the severities, whose mean is 0 and whose
deviation is 1, and the place of annotators by the mean 0 of their shifts.

Before anything is seen the limits c are the order statistics of K - 1 variates N(0, LIMIT_SD^2), d and w half-normal,
and log s is normal.

What annotators perceive, z_i + b_j + s_j e, is integrated out: an opinion has the probability of its interval, to the
power of its weight, whole or not. Severities, shifts, spreads, limits and what is pooled are drawn one by one, given
all others, by slices. Limits depend on severities, and pooled numbers on those of annotators; so a sweep also
moves along what the opinions, or the prior, do not see:

- all severities and limits by the same amount, and all shifts and limits: normal variates;
- severities, shifts, spreads and limits by the same factor;
- all shifts and d by the same factor; all spreads and s by the same factor; all log(s_j / s) and w by the same factor.

Each is a slice, or an exact draw, along the orbit of a group with its invariant measure, which leaves the posterior as
it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled, inlined, inner
from dissensus.kernels.randomness import Stream, Streams, exponential, new_streams, raw_normal, start, uniform

# Deviation of the limits between grades, before anything is seen; severities have deviation 1.
LIMIT_SD = 2.0

# Scales of the half-normal priors of d, and of w.
SHIFT_SCALE, SPREAD_SCALE = 1.0, 0.5

# Before anything is seen, log s is normal around the logarithm of the first, with the second as its deviation.
SPREAD, SPREAD_SD = 0.5, 1.0

SEVERITY, LIMIT, SHIFT, OWN_SPREAD = 0, 1, 2, 3
SHIFT_POOL, SPREAD_POOL, SPREAD_POOL_SD = 4, 5, 6

# What a slice moves: one number of a kind, something pooled, many numbers together, or the severity of a judged case.
EVERYTHING, ALL_SHIFTS, ALL_SPREADS, ALL_DEVIATIONS, JUDGED = 7, 8, 9, 10, 11

# How often the severity of a judged case is moved in a sweep, as it has to follow everything else.
JUDGED_TIMES = 4

# How many kinds there are, and of how many of them there is one.
N_KINDS, N_SINGLE = 12, 7

# Which density a slice asks for.
ITSELF, LEFT_END, RIGHT_END, BETWEEN = 0, 1, 2, 3

# How often an interval is made longer on both sides together.
STEPS_OUT = 100

# How fast first intervals become as long as so many moves.
RATE, LENGTH = 0.05, 3.0

# Intervals are not made shorter than this.
SHORTEST = 1e-12

# Every so many sweeps all shifts and all spreads are moved together, too.
FULL = 4

# Places of pooled numbers.
D, S, W, RELIABILITY = 0, 1, 2, 3

# Probabilities below this are taken from the tail of the normal distribution.
FAR = 1e-280

# Intervals shorter than this have a probability in proportion to their length.
NARROW = 1e-6

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
ROOT_HALF = math.sqrt(0.5)


class Given(NamedTuple):
    """Hold which grades were given; opinions are in the order of cases.

    Attributes
    ----------
    case_offsets : (n_cases + 1,)
        From cases to opinions.
    cases, annotators, grades : (n_opinions,)
        Case, annotator and grade of each; the anonymous annotators have the number of annotators.
    powers : (n_opinions,)
        How often each counts.
    by_annotator, annotator_offsets : (n_opinions,), (n_annotators + 2,)
        Opinions in the order of annotators, the anonymous last, and where those of each begin.
    by_grade, grade_offsets : (n_opinions,), (K + 1,)
        The same by grade.
    """

    case_offsets: IntArray
    cases: IntArray
    annotators: IntArray
    grades: IntArray
    powers: FloatArray
    by_annotator: IntArray
    annotator_offsets: IntArray
    by_grade: IntArray
    grade_offsets: IntArray


class State(NamedTuple):
    """Hold where a chain is.

    Attributes
    ----------
    severities, judged : (n_cases,)
        z, and z given opinions to the power of the reliability.
    shifts, spreads : (n_annotators + 1,)
        b and s_j; the last are those of the anonymous, 0 and the root of d^2 + s^2.
    limits : (K + 1,)
        c, from minus to plus infinity.
    pooled : (4,)
        d, s, w, and the reliability.
    widths : (2 * n_cases + K + 2 * n_annotators + N_SINGLE,) or more
        Lengths of first intervals.
    """

    severities: FloatArray
    judged: FloatArray
    shifts: FloatArray
    spreads: FloatArray
    limits: FloatArray
    pooled: FloatArray
    widths: FloatArray


class Record(NamedTuple):
    """Hold what is kept of all chains.

    Attributes
    ----------
    values : (n_cases * n_draws * (K + 1),)
        Plausibilities: case after case, draw after draw, all grades and then a rest of zero; empty if not wanted.
    shifts, spreads : (n_draws, n_annotators)
        What annotators are like.
    limits : (n_draws, K - 1)
        Limits between grades.
    pooled : (n_draws, 3)
        d, s and w.
    """

    values: FloatArray
    shifts: FloatArray
    spreads: FloatArray
    limits: FloatArray
    pooled: FloatArray


# Probabilities of opinions ------------------------------------------------------------------------------------


@inner
def log_chance(low: float, high: float) -> float:
    """Return the logarithm of the probability that a standard normal variate is in an interval."""
    if low + high < 0.0:
        low, high = -high, -low
    if high - low < NARROW:
        middle = 0.5 * (low + high)
        return math.log(max(high - low, 0.0)) - 0.5 * middle * middle - HALF_LOG_TWO_PI
    chance = 0.5 * (math.erfc(low * ROOT_HALF) - math.erfc(high * ROOT_HALF))
    if chance > FAR:
        return math.log(chance)
    length = high - low
    inside = -math.expm1(-low * length - 0.5 * length * length)
    return math.log(inside) - 0.5 * low * low - math.log(low) - HALF_LOG_TWO_PI


@inner
def of_case(given: Given, state: State, case: int, severity: float) -> float:
    """Return the logarithm of the probability of all opinions on a case, given its severity."""
    found = 0.0
    for vote in range(given.case_offsets[case], given.case_offsets[case + 1]):
        who, grade = given.annotators[vote], given.grades[vote]
        middle, spread = severity + state.shifts[who], state.spreads[who]
        low, high = (state.limits[grade] - middle) / spread, (state.limits[grade + 1] - middle) / spread
        found += given.powers[vote] * log_chance(low, high)
    return found


@inner
def of_annotator(given: Given, state: State, who: int, shift: float, spread: float) -> float:
    """Return the logarithm of the probability of all opinions of an annotator, given a shift and a spread."""
    found = 0.0
    for place in range(given.annotator_offsets[who], given.annotator_offsets[who + 1]):
        vote = given.by_annotator[place]
        grade, middle = given.grades[vote], state.severities[given.cases[vote]] + shift
        low, high = (state.limits[grade] - middle) / spread, (state.limits[grade + 1] - middle) / spread
        found += given.powers[vote] * log_chance(low, high)
    return found


@inner
def of_anonymous(given: Given, state: State, d: float, s: float) -> float:
    """Return the logarithm of the probability of all opinions of nobody in particular."""
    return of_annotator(given, state, len(state.shifts) - 1, 0.0, math.sqrt(d * d + s * s))


@inlined
def of_limit(given: Given, state: State, limit: int, value: float) -> float:
    """Return the logarithm of the probability of all opinions on either side of a limit, given where it is."""
    found = 0.0
    for place in range(given.grade_offsets[limit - 1], given.grade_offsets[limit + 1]):
        vote = given.by_grade[place]
        who, is_above = given.annotators[vote], given.grades[vote] == limit
        middle, spread = state.severities[given.cases[vote]] + state.shifts[who], state.spreads[who]
        low = value if is_above else state.limits[limit - 1]
        high = state.limits[limit + 1] if is_above else value
        found += given.powers[vote] * log_chance((low - middle) / spread, (high - middle) / spread)
    return found


@inner
def of_named(given: Given, state: State, factor: float, spread: float, power: float) -> float:
    """Return that of all opinions with names, with shifts times a factor and other spreads.

    These are ``spread`` times (s_j / s) to a power.
    """
    found, s = 0.0, state.pooled[S]
    for who in range(len(state.shifts) - 1):
        own = spread * (state.spreads[who] / s) ** power
        found += of_annotator(given, state, who, factor * state.shifts[who], own)
    return found


# Densities ----------------------------------------------------------------------------------------------------


@inner
def log_half_normal(x: float, scale: float) -> float:
    """Return the logarithm of the density of the logarithm x of a half-normal variate, up to a constant."""
    return x - 0.5 * math.exp(2.0 * x) / (scale * scale)


@inner
def log_pool_spread(x: float) -> float:
    """Return the logarithm of the density of x = log s, up to a constant."""
    return -0.5 * ((x - math.log(SPREAD)) / SPREAD_SD) ** 2


@inner
def squares(values: FloatArray) -> float:
    """Add up squares."""
    total = 0.0
    for k in range(len(values)):
        total += values[k] * values[k]
    return total


@inner
def squared_log_ratios(state: State, s: float) -> float:
    """Add up the squares of log(s_j / s)."""
    total = 0.0
    for who in range(len(state.spreads) - 1):
        ratio = math.log(state.spreads[who] / s)
        total += ratio * ratio
    return total


@inlined
def density_of_one(given: Given, state: State, kind: int, index: int, x: float) -> float:
    """Return the logarithm of the density of one number, given all others."""
    d, s, w = float(state.pooled[D]), float(state.pooled[S]), float(state.pooled[W])
    if kind == SEVERITY:
        return of_case(given, state, index, x) - 0.5 * x * x
    if kind == JUDGED:
        return float(state.pooled[RELIABILITY]) * of_case(given, state, index, x) - 0.5 * x * x
    if kind == LIMIT:
        return of_limit(given, state, index + 1, x) - 0.5 * (x / LIMIT_SD) ** 2
    if kind == SHIFT:
        return of_annotator(given, state, index, x, state.spreads[index]) - 0.5 * (x / d) ** 2
    spread = math.exp(x)
    return of_annotator(given, state, index, state.shifts[index], spread) - 0.5 * ((x - math.log(s)) / w) ** 2


@inlined
def density_of_pooled(given: Given, state: State, kind: int, x: float) -> float:
    """Return the logarithm of the density of the logarithm of something pooled, given all others."""
    d, s, w = float(state.pooled[D]), float(state.pooled[S]), float(state.pooled[W])
    size, n_people = math.exp(x), len(state.shifts) - 1
    if kind == SHIFT_POOL:
        own = -n_people * x - 0.5 * squares(state.shifts[:n_people]) / (size * size)
        return own + log_half_normal(x, SHIFT_SCALE) + of_anonymous(given, state, size, s)
    if kind == SPREAD_POOL:
        own = -0.5 * squared_log_ratios(state, size) / (w * w)
        return own + log_pool_spread(x) + of_anonymous(given, state, d, size)
    own = -n_people * x - 0.5 * squared_log_ratios(state, s) / (size * size)
    return own + log_half_normal(x, SPREAD_SCALE)


@inlined
def density_of_many(given: Given, state: State, kind: int, x: float) -> float:
    """Return the logarithm of the density along an orbit, where exp(x) is the common factor."""
    d, s, w, factor = state.pooled[D], state.pooled[S], state.pooled[W], math.exp(x)
    log_d, log_s = math.log(d) + x, math.log(s) + x
    if kind == ALL_SHIFTS:
        own = of_named(given, state, factor, s, 1.0) + of_anonymous(given, state, d * factor, s)
        return own + log_half_normal(log_d, SHIFT_SCALE)
    if kind == ALL_SPREADS:
        own = of_named(given, state, 1.0, s * factor, 1.0) + of_anonymous(given, state, d, s * factor)
        return own + log_pool_spread(log_s)
    if kind == ALL_DEVIATIONS:
        return of_named(given, state, 1.0, s, factor) + log_half_normal(math.log(w) + x, SPREAD_SCALE)
    n_cases, n_limits = len(state.severities), len(state.limits) - 2
    spread_out = squares(state.severities) + squares(state.limits[1 : n_limits + 1]) / LIMIT_SD**2
    own = (n_cases + n_limits) * x - 0.5 * factor * factor * spread_out
    return own + log_half_normal(log_d, SHIFT_SCALE) + log_pool_spread(log_s)


# Slices -------------------------------------------------------------------------------------------------------


@inlined
def n_moves(state: State, kind: int) -> int:
    """Count the numbers of a kind that a full sweep moves."""
    n_people = len(state.shifts) - 1
    if kind == SEVERITY:
        return len(state.severities)
    if kind == JUDGED:
        return JUDGED_TIMES * len(state.severities) if state.pooled[RELIABILITY] != 1.0 else 0
    if kind == LIMIT:
        return len(state.limits) - 2
    if kind in (SHIFT, OWN_SPREAD):
        return n_people
    if kind in (SHIFT_POOL, SPREAD_POOL, EVERYTHING):
        return 1
    return 1 if n_people else 0


@inner
def present(state: State, kind: int, index: int) -> float:
    """Return where the number is that a slice moves."""
    if kind == SEVERITY:
        return float(state.severities[index])
    if kind == JUDGED:
        return float(state.judged[index])
    if kind == LIMIT:
        return float(state.limits[index + 1])
    if kind == SHIFT:
        return float(state.shifts[index])
    if kind == OWN_SPREAD:
        return math.log(state.spreads[index])
    return math.log(state.pooled[kind - SHIFT_POOL]) if kind <= SPREAD_POOL_SD else 0.0


@inner
def multiply(values: FloatArray, factor: float) -> None:
    """Multiply numbers by a factor."""
    for k in range(len(values)):
        values[k] *= factor


@inlined
def put(state: State, kind: int, index: int, x: float) -> None:
    """Put the number there that a slice has moved, or multiply those that move together by their common factor."""
    n_people, s, factor = len(state.shifts) - 1, state.pooled[S], math.exp(x)
    if kind == SEVERITY:
        state.severities[index] = x
    elif kind == JUDGED:
        state.judged[index] = x
    elif kind == LIMIT:
        state.limits[index + 1] = x
    elif kind == SHIFT:
        state.shifts[index] = x
    elif kind == OWN_SPREAD:
        state.spreads[index] = factor
    elif kind <= SPREAD_POOL_SD:
        state.pooled[kind - SHIFT_POOL] = factor
    if kind in (EVERYTHING, ALL_SHIFTS):
        multiply(state.shifts[:n_people], factor)
        state.pooled[D] *= factor
    if kind in (EVERYTHING, ALL_SPREADS):
        multiply(state.spreads[:n_people], factor)
        state.pooled[S] *= factor
    if kind == EVERYTHING:
        multiply(state.severities, factor)
        multiply(state.judged, factor)
        multiply(state.limits[1 : len(state.limits) - 1], factor)
    if kind == ALL_DEVIATIONS:
        state.pooled[W] *= factor
        for who in range(n_people):
            state.spreads[who] = s * (state.spreads[who] / s) ** factor
    state.spreads[-1] = math.sqrt(state.pooled[D] ** 2 + state.pooled[S] ** 2)


@inlined
def sliced(  # noqa: C901 - what is called once is written here, which compiles faster
    stream: Stream, given: Given, state: State, kind: int, index: int, width: float
) -> float:
    """Move a number within a slice of its density: step out to both sides, then shrink.

    All densities are asked for in one place, which compiles much faster: first that of the number itself, then those of
    ends that step out, then those of points between them.
    """
    x, low, high = present(state, kind, index), -np.inf, np.inf
    if kind == LIMIT:
        low, high = state.limits[index], state.limits[index + 2]
    left = x - width * uniform(stream)
    left, right = max(left, low), min(left + width, high)
    to_left = int(STEPS_OUT * uniform(stream))  # the shares of both sides are random, so that moves can be reversed
    to_right = STEPS_OUT - 1 - to_left
    asked, level, phase = x, 0.0, ITSELF
    while True:
        if kind <= OWN_SPREAD or kind == JUDGED:
            found = density_of_one(given, state, kind, index, asked)
        elif kind <= SPREAD_POOL_SD:
            found = density_of_pooled(given, state, kind, asked)
        else:
            found = density_of_many(given, state, kind, asked)
        if phase == ITSELF:
            level, phase = found - exponential(stream), LEFT_END
        elif phase == LEFT_END:
            if found < level or left <= low or to_left == 0:
                phase = RIGHT_END
            else:
                left, to_left = max(left - width, low), to_left - 1
        elif phase == RIGHT_END:
            if found < level or right >= high or to_right == 0:
                phase = BETWEEN
            else:
                right, to_right = min(right + width, high), to_right - 1
        elif found >= level or not right - left > SHORTEST * (1.0 + abs(x)):
            return asked if found >= level else x
        elif asked < x:
            left = asked
        else:
            right = asked
        if phase == LEFT_END:
            asked = left
        elif phase == RIGHT_END:
            asked = right
        else:
            asked = left + (right - left) * uniform(stream)


@inner
def translate(
    stream: Stream, values: FloatArray, n_values: int, variance: float, limits: FloatArray, others: FloatArray
) -> None:
    """Move some normal variates of mean 0, and all limits, by the same amount, which is drawn; others go along."""
    n_limits = len(limits) - 2
    precision = n_values / variance + n_limits / LIMIT_SD**2
    total = 0.0
    for k in range(n_values):
        total += values[k] / variance
    for k in range(1, n_limits + 1):
        total += limits[k] / LIMIT_SD**2
    amount = raw_normal(stream) / math.sqrt(precision) - total / precision
    for k in range(n_values):
        values[k] += amount
    for k in range(1, n_limits + 1):
        limits[k] += amount
    for k in range(len(others)):
        others[k] += amount


# Chains -------------------------------------------------------------------------------------------------------


@inner
def keep(state: State, record: Record, row: int) -> None:
    """Write one draw down: the probabilities of the grades that another annotator would give, and what is learned."""
    n_draws, n_people, n_grades = len(record.limits), len(state.shifts) - 1, len(state.limits) - 1
    for who in range(n_people):
        record.shifts[row, who], record.spreads[row, who] = state.shifts[who], state.spreads[who]
    for limit in range(1, n_grades):
        record.limits[row, limit - 1] = state.limits[limit]
    for part in range(3):
        record.pooled[row, part] = state.pooled[part]
    if not len(record.values):
        return
    severities = state.judged if state.pooled[RELIABILITY] != 1.0 else state.severities
    spread = state.spreads[-1]
    for case in range(len(severities)):
        at, total = (case * n_draws + row) * (n_grades + 1), 0.0
        for grade in range(n_grades):
            low, high = state.limits[grade] - severities[case], state.limits[grade + 1] - severities[case]
            record.values[at + grade] = math.exp(log_chance(low / spread, high / spread))
            total += record.values[at + grade]
        for grade in range(n_grades):
            record.values[at + grade] /= total
        record.values[at + n_grades] = 0.0


@compiled
def sweep_chain(
    given: Given, state: State, record: Record, streams: Streams, key: np.uint64, warmup: int, first: int, last: int
) -> None:
    """Run one chain from its beginning; see :func:`run_chain`."""
    stream, n_cases, n_people = streams[0], len(state.severities), len(state.shifts) - 1
    start(stream, key)
    for number in range(-warmup, last - first):
        place = 0
        translate(stream, state.severities, n_cases, 1.0, state.limits, state.judged)
        if n_people and given.annotator_offsets[n_people + 1] == given.annotator_offsets[n_people]:
            translate(stream, state.shifts, n_people, state.pooled[D] ** 2, state.limits, state.judged[:0])
        for kind in range(N_KINDS):
            n, is_common = n_moves(state, kind), ALL_SHIFTS <= kind <= ALL_DEVIATIONS
            for move in range(0 if is_common and number % FULL else n):
                index = move % n_cases if kind == JUDGED else move
                width, old = state.widths[place + index], present(state, kind, index)
                new = sliced(stream, given, state, kind, index, width)
                put(state, kind, index, new)
                if number < 0:  # slices become as long as moves are
                    state.widths[place + index] = max(width + RATE * (LENGTH * abs(new - old) - width), SHORTEST)
            place += max(n, 1)
        if number >= 0:
            keep(state, record, first + number)


def new_state(given: Given, n_grades: int, reliability: float) -> State:
    """Begin at average severities, limits that fit the grades, and annotators who are alike."""
    n_cases, n_people = len(given.case_offsets) - 1, len(given.annotator_offsets) - 2
    counts = np.bincount(given.grades, weights=given.powers, minlength=n_grades) + 0.5
    shares = np.cumsum(counts)[:-1] / counts.sum()
    limits = np.concatenate([[-np.inf], np.log(shares / (1.0 - shares)) / 1.6, [np.inf]])
    pooled = np.array([0.3, SPREAD, 0.3, float(reliability)])
    return State(
        np.zeros(n_cases),
        np.zeros(n_cases),
        np.zeros(n_people + 1),
        np.append(np.full(n_people, SPREAD), np.hypot(pooled[D], pooled[S])),
        limits,
        pooled,
        np.ones(2 * n_cases + n_grades + 2 * max(n_people, 1) + N_SINGLE),
    )


def run_chain(
    given: Given, record: Record, *, key: np.uint64, warmup: int, rows: tuple[int, int], reliability: float
) -> None:
    """Run one chain and fill its rows of the record.

    Parameters
    ----------
    warmup
        Sweeps that are thrown away.
    rows
        First draw of this chain, and one past its last.
    reliability
        Power of the opinions on a case in the severity that its plausibilities come from; the chain has power one.
    """
    state, streams = new_state(given, record.limits.shape[1] + 1, reliability), new_streams()
    first, last = rows
    sweep_chain(given, state, record, streams, key, warmup, first, last)
