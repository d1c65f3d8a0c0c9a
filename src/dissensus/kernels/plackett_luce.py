"""Draw from the Plackett-Luce posterior: an augmented Gibbs sampler on the support and one rest mass.

In the race view, condition k arrives at an Exp(lam_k) time and a ranking is the order of arrival. Given the
total exposure of each condition (how long it has been running in all races), the weights are independent:
lam_k ~ Gamma(a_k + wins_k) / (1 + exposure_k). One sweep draws exposures given weights, then weights.

Only ratios of the weights matter, so the state is theta = lam / total. Its total is independent of theta a
priori and of the rankings, Gamma(sum of a); with waiting times in units of that total, a fresh total takes
the place of the 1 in 1 + exposure. The marginal chain in theta is that of a two-block Gibbs sampler, thus
reversible, which the accept step below relies on.

Multiplicities that are not whole numbers: races won by one condition take any multiplicity, their total
waiting time being Gamma(multiplicity). A tied block takes whole repeats; when its multiplicity is another
number, the sweep with the nearest whole number of repeats is a proposal, accepted with the ratio of
p(block | theta)^(multiplicity - repeats).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiling import compiled, inlined, inner, merged, plain
from dissensus.kernels.dirichlet import draw_small_weights, fill_dirichlet, has_small_shape
from dissensus.kernels.grouping import Races, sums_by
from dissensus.kernels.likelihood import fill_lattice, log_block_probability, log_density, mode, slope
from dissensus.kernels.randomness import (
    STREAM,
    Keys,
    Stream,
    binomial,
    exponential,
    fill_gammas,
    gamma,
    start,
    tallies,
    uniform,
)
from dissensus.typing import BoolArray, FloatArray, IntArray

TINY = 1e-290
"""Weights and masses that are smaller relative to the total are taken to be this."""

LATTICE_MOST = 8
"""Largest tied block that is sent through the lattice by default, rather than raced: measured."""


class Posterior(NamedTuple):
    """Hold what the sampler needs to know.

    Attributes
    ----------
    races
        The races of all cases.
    tie_repeats : (n_ties,)
        Whole number of repeats of each tied block.
    tie_fractions : (n_ties,)
        Its multiplicity minus the repeats, -0.5 to 0.5.
    shapes : (sum of U + 1,)
        Prior shape plus number of wins of each condition; rest last, zero when it has no members.
    prior_totals : (n_cases,)
        Sum of the prior shapes of each case.
    is_direct : (n_cases,)
        Whether nothing but races of all conditions was held: the posterior is Dirichlet(shapes).
    is_tilted : (n_cases,)
        Whether any tied block has a multiplicity that is not a whole number.
    lattice_most
        Largest tied block that is sent through the lattice.
    """

    races: Races
    tie_repeats: IntArray
    tie_fractions: FloatArray
    shapes: FloatArray
    prior_totals: FloatArray
    is_direct: BoolArray
    is_tilted: BoolArray
    lattice_most: int


def plackett_luce_posterior(races: Races, prior_shapes: FloatArray, *, lattice_most: int = LATTICE_MOST) -> Posterior:
    """Join the races with the prior.

    Parameters
    ----------
    races
        From :func:`dissensus.kernels.grouping.group_rankings`.
    prior_shapes : (sum of U + 1,)
        Shapes of the gamma priors of the support and, last, of the rest; zero when it has no members.
    lattice_most
        Larger tied blocks are raced.
    """
    n_cases = len(races.race_offsets) - 1
    repeats = np.rint(races.tie_counts)
    fractions = races.tie_counts - repeats
    fractions[np.abs(fractions) < 1e-9] = 0.0
    case_of_tie = np.repeat(np.arange(n_cases), np.diff(races.tie_offsets))
    sizes = np.diff(races.tie_code_offsets)
    members = races.tie_codes + np.repeat(races.column_offsets[case_of_tie], sizes)
    tie_wins = sums_by(members, np.repeat(repeats, sizes), len(prior_shapes))
    n_running = np.add.reduceat(prior_shapes > 0.0, races.column_offsets[:-1], dtype=np.int64)
    n_races = np.diff(races.race_offsets)
    first_race = np.minimum(races.race_offsets[:-1], len(races.counts) - 1)
    holds_all = np.append(np.diff(races.step_offsets), 0)[first_race] == n_running
    untied = np.diff(races.tie_offsets) == 0
    return Posterior(
        races=races,
        tie_repeats=repeats.astype(np.int64),
        tie_fractions=fractions,
        shapes=prior_shapes + races.wins + tie_wins,
        prior_totals=np.add.reduceat(prior_shapes, races.column_offsets[:-1]),
        is_direct=(n_races == 0) | ((n_races == 1) & untied & holds_all),
        is_tilted=np.bincount(case_of_tie[fractions != 0.0], minlength=n_cases) > 0,
        lattice_most=lattice_most,
    )


class TieRoom(NamedTuple):
    """Hold the arrays that a tied block is worked out in: times of its members, and two per subset."""

    tau: FloatArray
    table: FloatArray
    mass: FloatArray
    here: IntArray


class Room(NamedTuple):
    """Hold the arrays that one case after the other is worked out in."""

    theta: FloatArray
    previous: FloatArray
    exposure: FloatArray
    masses: FloatArray
    pending: FloatArray
    demand: FloatArray
    drawn: FloatArray
    lam: FloatArray
    tie_room: TieRoom


def make_room(posterior: Posterior, cases: tuple[int, int]) -> Room:
    """Make room for the largest of a range of cases."""
    races, (first, last) = posterior.races, cases
    columns = largest(np.diff(races.column_offsets[first : last + 1]))
    n_races = largest(np.diff(races.race_offsets[first : last + 1]))
    n_ties = largest(np.diff(races.tie_offsets[first : last + 1]))
    ties = slice(races.tie_offsets[first], races.tie_offsets[last] + 1)
    size = largest(np.diff(races.tie_code_offsets[ties]))
    subsets = 1 << min(size, posterior.lattice_most)
    n_drawn = 1 + n_races + columns + 2 * n_ties
    return Room(
        theta=np.empty(columns),
        previous=np.empty(columns),
        exposure=np.empty(columns),
        masses=np.empty(n_races),
        pending=np.empty(n_races),
        demand=np.empty(n_drawn),
        drawn=np.empty(n_drawn),
        lam=np.empty(size),
        tie_room=TieRoom(np.empty(size), np.empty(subsets), np.empty(subsets), np.zeros(subsets, dtype=np.int64)),
    )


def largest(sizes: IntArray) -> int:
    """Return the largest of some sizes, at least one."""
    return int(max(1, sizes.max(initial=0)))


# Tied blocks ------------------------------------------------------------------------------------------


@inlined
def pass_lattice(stream: Stream, lam: FloatArray, repeats: int, room: TieRoom) -> float:
    """Send the repeats of a tied block through the lattice of its subsets, all at once.

    The race of the whole block is not held here. ``tau`` receives the time that each member has run after
    it, in all repeats together; what is behind the block has run for the time that is returned. The room
    holds the probability and the mass of each subset; ``here`` is zero before and after.
    """
    size = len(lam)
    tau, table, mass, here = room
    whole = (1 << size) - 1
    here[whole] = repeats
    behind = 0.0
    for subset in range(whole, 0, -1):
        count = here[subset]
        if count == 0:
            continue
        here[subset] = 0
        if subset != whole:
            wait = gamma(stream, float(count)) / mass[subset]
            behind += wait
            for k in range(size):
                if subset >> k & 1:
                    tau[k] += wait
        if subset & (subset - 1) == 0:
            continue
        flow = table[subset] * mass[subset]
        if count == 1:
            here[subset ^ (1 << choose_child(stream, lam, table, subset, flow))] += 1
            continue
        for k in range(size):
            if subset >> k & 1 and count > 0:
                weight = lam[k] * table[subset ^ (1 << k)]
                share = binomial(stream, count, weight / flow)
                here[subset ^ (1 << k)] += share
                count -= share
                flow -= weight
    return behind


@inlined
def choose_child(stream: Stream, lam: FloatArray, table: FloatArray, subset: int, flow: float) -> int:
    """Choose which member of a subset arrives first."""
    left = uniform(stream) * flow
    chosen = 0
    for k in range(len(lam)):
        if subset >> k & 1:
            chosen = k
            left -= lam[k] * table[subset ^ (1 << k)]
            if left < 0.0:
                break
    return chosen


@inner
def race_block(stream: Stream, lam: FloatArray, z: float, repeats: int, tau: FloatArray) -> float:
    """Race a tied block against what is behind it, repeat by repeat.

    Draw the time t at which the first condition behind would arrive, given that all members came before:
    its density exp(-z t) prod(1 - exp(-lam_k t)) is log-concave in log(t), so tangents left and right of
    the mode and a flat top bound it, and rejection is exact (about five in six are accepted). Members then
    arrive at Exp(lam_k) times truncated to [0, t]. Cost: repeats times size.

    ``tau`` receives the time that each member has run; what is behind, the time that is returned.
    """
    centre, width = mode(lam, z)
    top = log_density(lam, z, centre)
    left, right = centre - 1.4 * width, centre + 1.4 * width
    rise, fall = slope(lam, z, left), -slope(lam, z, right)
    left += (top - log_density(lam, z, left)) / rise
    right -= (top - log_density(lam, z, right)) / fall
    behind = 0.0
    for _ in range(repeats):
        while True:
            place = uniform(stream) * (1.0 / rise + (right - left) + 1.0 / fall) - 1.0 / rise
            x, hull = left + place, top
            if place < 0.0:
                drop = exponential(stream)
                x, hull = left - drop / rise, top - drop
            elif x > right:
                drop = exponential(stream)
                x, hull = right + drop / fall, top - drop
            if hull - exponential(stream) <= log_density(lam, z, x):
                break
        t = math.exp(x) / z
        latest = 0.0
        for k in range(len(lam)):
            arrival = min(t, -math.log1p(uniform(stream) * math.expm1(-lam[k] * t)) / lam[k])
            tau[k] += arrival
            latest = max(latest, arrival)
        behind += latest
    return behind


@inlined
def hold_tie(
    stream: Stream, lam: FloatArray, z: float, repeats: int, lattice_most: int, room: TieRoom
) -> tuple[float, int]:
    """Run the repeats of one tied block.

    ``room.tau`` receives the time that each member has run. Returned are the time that all behind have
    run, and how many repeats of the race of the whole block have still to be held.
    """
    for k in range(len(lam)):
        room.tau[k] = 0.0
    if len(lam) <= lattice_most and fill_lattice(lam, z, room.table, room.mass) > 1e-280:
        return pass_lattice(stream, lam, repeats, room), repeats
    return race_block(stream, lam, z, repeats, room.tau), 0


# One sweep --------------------------------------------------------------------------------------------


@inlined
def add_masses(
    successors: IntArray, step_offsets: IntArray, steps: IntArray, theta: FloatArray, masses: FloatArray
) -> None:
    """Sum the weights that run in each race, small sets first: nothing is ever subtracted."""
    for race in range(len(successors) - 1, -1, -1):
        mass = masses[successors[race]] if successors[race] >= 0 else TINY
        for j in range(step_offsets[race], step_offsets[race + 1]):
            mass += theta[steps[j]]
        masses[race] = mass


@inner
def draw_theta(stream: Stream, shapes: FloatArray, rates: FloatArray, theta: FloatArray) -> None:
    """Draw theta_k proportional to Gamma(shape_k) / rate_k for shapes however small."""
    draw_small_weights(stream, shapes, rates, theta)
    for k in range(len(shapes)):
        theta[k] = max(theta[k], TINY) if shapes[k] > 0.0 else 0.0


@inner
def log_tilt(posterior: Posterior, case: int, room: Room) -> float:
    """Return the log-likelihood of what the repeats leave out of the tied blocks."""
    races = posterior.races
    total = 0.0
    for tie in range(races.tie_offsets[case], races.tie_offsets[case + 1]):
        if posterior.tie_fractions[tie] == 0.0:
            continue
        codes = races.tie_codes[races.tie_code_offsets[tie] : races.tie_code_offsets[tie + 1]]
        lam = room.lam[: len(codes)]
        for k in range(len(codes)):
            lam[k] = room.theta[codes[k]]
        z = room.masses[races.tie_successors[tie]]
        log_p = log_block_probability(lam, z, posterior.lattice_most, room.tie_room.table, room.tie_room.mass)
        total += posterior.tie_fractions[tie] * log_p
    return total


@merged
def run_chain(  # noqa: C901 - calls would count references to every array, in every sweep
    posterior: Posterior, case: int, stream: Stream, sweeps: tuple[int, int], out: FloatArray, room: Room
) -> None:
    """Run one chain for its warm-up and draws, and write the draws to ``out``, (draws, U + 1) row by row."""
    warmup, draws = sweeps
    races = posterior.races
    begin, end = races.race_offsets[case], races.race_offsets[case + 1]
    n_races = end - begin
    counts, successors = races.counts[begin:end], races.successors[begin:end]
    step_offsets, steps = races.step_offsets[begin : end + 1], races.steps
    first_tie, last_tie = races.tie_offsets[case], races.tie_offsets[case + 1]
    tie_code_offsets, tie_codes, repeats = races.tie_code_offsets, races.tie_codes, posterior.tie_repeats
    tie_races, tie_successors = races.tie_races, races.tie_successors
    shapes = posterior.shapes[races.column_offsets[case] : races.column_offsets[case + 1]]
    columns = len(shapes)
    theta, exposure, previous = room.theta[:columns], room.exposure[:columns], room.previous[:columns]
    masses, pending, lam, tie_room = room.masses[:n_races], room.pending[:n_races], room.lam, room.tie_room
    in_logs, is_tilted, tilt = has_small_shape(shapes), posterior.is_tilted[case], 0.0
    lattice_most = posterior.lattice_most
    # Given their shapes the gamma variates of a sweep are independent, so one loop draws them: the total, the
    # waiting times of the races, the weights, and the waiting times after the first of each tied pair.
    at_weights, at_pairs = 1 + n_races, 1 + n_races + columns
    n_drawn = at_pairs + 2 * (last_tie - first_tie)
    demand, drawn = room.demand[:n_drawn], room.drawn[:n_drawn]
    for j in range(n_drawn):
        demand[j] = 0.0
    demand[0] = posterior.prior_totals[case]
    for k in range(columns):
        demand[at_weights + k] = 0.0 if in_logs else shapes[k]
        exposure[k] = 1.0
    draw_theta(stream, shapes, exposure, theta)
    add_masses(successors, step_offsets, steps, theta, masses)
    for sweep in range(-warmup, draws):
        for race in range(n_races):
            pending[race], demand[1 + race] = 0.0, counts[race]
        for k in range(columns):
            exposure[k] = 0.0
        for tie in range(first_tie, last_tie):
            j, z, n = tie_code_offsets[tie], masses[tie_successors[tie]], repeats[tie]
            size, pair = tie_code_offsets[tie + 1] - j, at_pairs + 2 * (tie - first_tie)
            if size == 2:
                with_a, with_b = z + theta[tie_codes[j]], z + theta[tie_codes[j + 1]]
                n_a = binomial(stream, n, with_b / (with_a + with_b))
                demand[pair], demand[pair + 1] = n_a, n - n_a
                demand[1 + tie_races[tie]] += n
            elif n > 0:
                for k in range(size):
                    lam[k] = theta[tie_codes[j + k]]
                wait, left = hold_tie(stream, lam[:size], z, n, lattice_most, tie_room)
                for k in range(size):
                    exposure[tie_codes[j + k]] += tie_room.tau[k]
                pending[tie_successors[tie]] += wait
                demand[1 + tie_races[tie]] += left
        fill_gammas(stream, demand, drawn)
        for tie in range(first_tie, last_tie):
            j, pair = tie_code_offsets[tie], at_pairs + 2 * (tie - first_tie)
            if tie_code_offsets[tie + 1] - j == 2:
                a, b, z = tie_codes[j], tie_codes[j + 1], masses[tie_successors[tie]]
                wait_a, wait_b = drawn[pair] / (z + theta[a]), drawn[pair + 1] / (z + theta[b])
                exposure[a] += wait_a
                exposure[b] += wait_b
                pending[tie_successors[tie]] += wait_a + wait_b
        for race in range(n_races):
            wait = pending[race] + drawn[1 + race] / masses[race]
            for j in range(step_offsets[race], step_offsets[race + 1]):
                exposure[steps[j]] += wait
            if successors[race] >= 0:
                pending[successors[race]] += wait
        total = max(drawn[0], TINY)
        if is_tilted:
            for k in range(columns):
                previous[k] = theta[k]
        if in_logs:
            for k in range(columns):
                exposure[k] += total
            draw_theta(stream, shapes, exposure, theta)
        else:
            norm = 0.0
            for k in range(columns):
                theta[k] = drawn[at_weights + k] / (total + exposure[k])
                norm += theta[k]
            norm = 1.0 / norm
            for k in range(columns):
                theta[k] *= norm
        add_masses(successors, step_offsets, steps, theta, masses)
        if is_tilted:
            proposed = log_tilt(posterior, case, room)
            if sweep == -warmup or exponential(stream) >= tilt - proposed:
                tilt = proposed
            else:
                for k in range(columns):
                    theta[k] = previous[k]
                add_masses(successors, step_offsets, steps, theta, masses)
        if sweep >= 0:
            for k in range(columns):
                out[sweep * columns + k] = theta[k]


@compiled
def run_chains(
    posterior: Posterior, keys: Keys, cases: tuple[int, int], sweeps: tuple[int, int], values: FloatArray, room: Room
) -> Keys:
    """Run the chains of a range of cases, see :func:`sample_plackett_luce`; chains are the columns of ``keys``."""
    first, last = cases
    draws, columns = sweeps[1], posterior.races.column_offsets
    streams = np.zeros(1, dtype=STREAM)
    stream = streams[0]
    offset = 0
    for i in range(first, last):
        n_columns = columns[i + 1] - columns[i]
        for chain in range(keys.shape[1]):
            out = values[offset : offset + draws * n_columns]
            start(stream, keys[i, chain])
            if posterior.is_direct[i]:
                fill_dirichlet(stream, posterior.shapes[columns[i] : columns[i + 1]], out)
            else:
                run_chain(posterior, i, stream, sweeps, out, room)
            offset += draws * n_columns
    return tallies(streams)


def sample_plackett_luce(
    posterior: Posterior, keys: Keys, cases: tuple[int, int], chains: int, warmup: int, values: FloatArray
) -> Keys:
    """Draw the plausibilities of a range of cases.

    Parameters
    ----------
    posterior
        From :func:`plackett_luce_posterior`.
    keys : (n_cases, at least chains)
        One stream per case and chain.
    cases
        First case, and one past the last.
    chains
        Chains per case; each gives the same number of draws.
    warmup
        Sweeps of each chain that are thrown away before.
    values : (chains * draws * columns of these cases,)
        Receives for each case its (chains * draws, U + 1) draws, row by row, one chain after the other; rows
        sum to one, rest last.

    Returns
    -------
    (3,)
        How many gamma, exponential and uniform variates were drawn.

    Notes
    -----
    The GIL is released while chains run. A sweep costs what the case says: its support, its races and their
    steps; for ties, 2^size up to ``lattice_most``, then size times repeats. The number of conditions K plays
    no part, and neither does the reliability, except through repeats of large ties.
    """
    columns = posterior.races.column_offsets[cases[1]] - posterior.races.column_offsets[cases[0]]
    draws = len(values) // (chains * max(1, int(columns)))
    room = make_room(posterior, cases)
    return run_chains(posterior, plain(keys[:, :chains]), cases, (warmup, draws), values, room)
