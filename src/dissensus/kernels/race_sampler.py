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

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.kernels.jit import compiled, inlined, inner, plain
from dissensus.kernels.likelihood import fill_lattice, log_block_probability, log_density, mode, slope
from dissensus.kernels.races import Races
from dissensus.kernels.randomness import (
    Keys,
    Stream,
    Streams,
    binomial,
    exponential,
    fill_gammas,
    gamma,
    new_streams,
    next_exponential,
    next_uniform,
    put_back,
    start,
    state_of,
    tallies,
    uniform,
)
from dissensus.kernels.simplex import SMALL_SHAPE, draw_small_weights, fill_dirichlet

# Weights and masses that are smaller relative to the total are taken to be this.
TINY = 1e-290

# Up to this number of repeats a tied pair is held one by one, which spares the processor a choice it cannot guess.
FEW_REPEATS = 4

# Largest tied block that is sent through the lattice by default, rather than raced: measured.
LATTICE_MOST = 8


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
    demand : (sum of 1 + n_races + U + 1,)
        Shapes of the gamma variates of every sweep, which are independent given what tied blocks do: of the total,
        of the waiting times of the races, and of the weights.
    spreads
        The :func:`dissensus.kernels.randomness.spread` of each.
    successors : (n_races,)
        Those of the races; one more race, of nothing, follows where nothing is left.
    in_logs : (n_cases,)
        Whether some shapes are so small that weights are drawn as logarithms instead.
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
    demand: FloatArray
    spreads: FloatArray
    successors: IntArray
    in_logs: BoolArray
    is_direct: BoolArray
    is_tilted: BoolArray
    lattice_most: int


def plackett_luce_posterior(races: Races, prior_shapes: FloatArray, *, lattice_most: int = LATTICE_MOST) -> Posterior:
    """Join the races with the prior.

    Parameters
    ----------
    races
        From :func:`dissensus.kernels.races.group_rankings`.
    prior_shapes : (sum of U + 1,)
        Shapes of the gamma priors of the support and, last, of the rest; zero when it has no members.
    lattice_most
        Larger tied blocks are raced.
    """
    n_cases = len(races.race_offsets) - 1
    repeats = np.rint(races.tie_counts)
    fractions = races.tie_counts - repeats
    fractions[np.abs(fractions) < 1e-9] = 0.0
    case_of_tie = row_of_each(races.tie_offsets)
    sizes = np.diff(races.tie_code_offsets)
    members = races.tie_codes + np.repeat(races.column_offsets[case_of_tie], sizes)
    tie_wins = weighted_counts(members, np.repeat(repeats, sizes), len(prior_shapes))
    n_running = np.add.reduceat(prior_shapes > 0.0, races.column_offsets[:-1], dtype=np.int64)
    n_races = np.diff(races.race_offsets)
    first_race = np.minimum(races.race_offsets[:-1], len(races.counts) - 1)
    holds_all = np.append(np.diff(races.step_offsets), 0)[first_race] == n_running
    untied = np.diff(races.tie_offsets) == 0
    shapes = prior_shapes + races.wins + tie_wins
    pairs = np.flatnonzero(sizes == 2)
    pair_races = races.tie_races[pairs] + races.race_offsets[case_of_tie[pairs]]
    counts = races.counts + weighted_counts(pair_races, repeats[pairs], len(races.counts))
    case_of_race = row_of_each(races.race_offsets)
    case_of_column = row_of_each(races.column_offsets)
    in_logs = np.bincount(case_of_column[(shapes > 0.0) & (shapes < SMALL_SHAPE)], minlength=n_cases) > 0
    weights = np.where(in_logs[case_of_column], 0.0, shapes)
    by_case = np.argsort(np.concatenate([np.arange(n_cases), case_of_race, case_of_column]), kind="stable")
    totals = np.add.reduceat(prior_shapes, races.column_offsets[:-1])
    demand = np.concatenate([totals, counts, weights])[by_case]
    return Posterior(
        races=races,
        tie_repeats=repeats.astype(np.int64),
        tie_fractions=fractions,
        shapes=shapes,
        demand=demand,
        spreads=1.0 / np.sqrt(9.0 * np.maximum(demand, 1.0) - 3.0),
        successors=np.where(races.successors < 0, n_races[case_of_race], races.successors),
        in_logs=in_logs,
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


class ChainRoom(NamedTuple):
    """Hold the arrays that one case after the other is worked out in."""

    theta: FloatArray
    previous: FloatArray
    exposure: FloatArray
    masses: FloatArray
    pending: FloatArray
    drawn: FloatArray
    lam: FloatArray
    dirichlet_room: FloatArray
    tie_room: TieRoom


def make_room(posterior: Posterior, cases: tuple[int, int]) -> ChainRoom:
    """Make room for the largest of a range of cases."""
    races, (first, last) = posterior.races, cases
    columns = largest(np.diff(races.column_offsets[first : last + 1]))
    n_races = largest(np.diff(races.race_offsets[first : last + 1]))
    ties = slice(races.tie_offsets[first], races.tie_offsets[last] + 1)
    size = largest(np.diff(races.tie_code_offsets[ties]))
    subsets = 1 << min(size, posterior.lattice_most)
    lengths = columns, columns, columns, n_races + 1, n_races + 1, 1 + n_races + columns, size
    tie_room = TieRoom(np.empty(size), np.empty(subsets), np.empty(subsets), np.zeros(subsets, dtype=np.int64))
    theta, previous, exposure, masses, pending, drawn, lam = (np.empty(n) for n in lengths)
    return ChainRoom(theta, previous, exposure, masses, pending, drawn, lam, np.empty((3, columns)), tie_room)


def largest(sizes: IntArray) -> int:
    """Return the largest of some sizes, at least one."""
    return int(max(1, sizes.max(initial=0)))


# Tied blocks ------------------------------------------------------------------------------------------


@inner
def pass_lattice(stream: Stream, lam: FloatArray, repeats: int, room: TieRoom) -> float:
    """Send the repeats of a tied block through the lattice of its subsets, all at once.

    ``tau`` receives the time that each member has run, in all repeats together; what is behind the block has
    run for the time that is returned. The room holds the probability and the mass of each subset; ``here`` is
    zero before and after.
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
        wait = gamma(stream, float(count)) / mass[subset]
        behind += wait
        for k in range(size):
            if subset >> k & 1:
                tau[k] += wait
        if subset & (subset - 1) == 0:
            continue
        flow = table[subset] * mass[subset]
        if count == 1:
            left, chosen = uniform(stream) * flow, 0
            for k in range(size):
                if subset >> k & 1 and left >= 0.0:
                    chosen = k
                    left -= lam[k] * table[subset ^ (1 << k)]
            here[subset ^ (1 << chosen)] += 1
            continue
        for k in range(size):
            if subset >> k & 1 and count > 0:
                weight = lam[k] * table[subset ^ (1 << k)]
                share = binomial(stream, count, weight / flow)
                here[subset ^ (1 << k)] += share
                count -= share
                flow -= weight
    return behind


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


@inner
def hold_pair(stream: Stream, n: int, p: float) -> tuple[float, float]:
    """Hold what follows the first arrival of a tied pair n times: with probability p, a is the one left to run.

    Returned is how long, in units of the mean wait, a ran in all repeats together, and how long b did.
    """
    if n > FEW_REPEATS:
        n_a = binomial(stream, n, p)
        return gamma(stream, float(n_a)), gamma(stream, float(n - n_a))
    state, time_a, time_b = state_of(stream), 0.0, 0.0
    for _ in range(n):
        u, state = next_uniform(state)
        wait, state = next_exponential(state)
        time_a += wait if u < p else 0.0
        time_b += wait if u >= p else 0.0
    put_back(stream, state)
    stream.uniforms += np.uint64(n)
    stream.exponentials += np.uint64(n)
    return time_a, time_b


@inner
def hold_tie(stream: Stream, lam: FloatArray, z: float, repeats: int, lattice_most: int, room: TieRoom) -> float:
    """Run the repeats of one tied block.

    ``room.tau``, zero before, receives the time that each member has run; all behind have run for the time that is
    returned.
    """
    if len(lam) <= lattice_most and fill_lattice(lam, z, room.table, room.mass) > 1e-280:
        return pass_lattice(stream, lam, repeats, room)
    return race_block(stream, lam, z, repeats, room.tau)


# One sweep --------------------------------------------------------------------------------------------


@inlined
def add_masses(
    successors: IntArray, step_offsets: IntArray, steps: IntArray, theta: FloatArray, masses: FloatArray
) -> None:
    """Sum the weights that run in each race, small sets first: nothing is ever subtracted."""
    for race in range(len(successors) - 1, -1, -1):
        mass = masses[successors[race]]
        for j in range(step_offsets[race], step_offsets[race + 1]):
            mass += theta[steps[j]]
        masses[race] = mass


@compiled
def run_chains(  # noqa: C901 - calls would count references to every array, in every sweep
    posterior: Posterior,
    keys: Keys,
    cases: tuple[int, int],
    sweeps: tuple[int, int],
    values: FloatArray,
    streams: Streams,
    room: ChainRoom,
) -> None:
    """Run the chains of a range of cases, see :func:`sample_plackett_luce`; chains are the columns of ``keys``."""
    races, (warmup, draws), lattice_most = posterior.races, sweeps, posterior.lattice_most
    column_offsets, tie_codes, steps = races.column_offsets, races.tie_codes, races.steps
    previous, exposure, masses, pending = room.previous, room.exposure, room.masses, room.pending
    drawn, lam = room.drawn, room.lam
    table, mass, tau = room.tie_room.table, room.tie_room.mass, room.tie_room.tau
    tie_code_offsets, tie_successors, repeats = races.tie_code_offsets, races.tie_successors, posterior.tie_repeats
    stream, row, tilt = streams[0], 0, 0.0
    for case in range(cases[0], cases[1]):
        begin, end = races.race_offsets[case], races.race_offsets[case + 1]
        first, last = column_offsets[case], column_offsets[case + 1]
        first_tie, last_tie = races.tie_offsets[case], races.tie_offsets[case + 1]
        n_races, columns = end - begin, last - first
        in_logs, is_tilted, fractions = posterior.in_logs[case], posterior.is_tilted[case], posterior.tie_fractions
        successors, step_offsets = posterior.successors[begin:end], races.step_offsets[begin : end + 1]
        shapes, theta = posterior.shapes[first:last], room.theta[:columns]
        demand = posterior.demand[begin + first + case : end + last + case + 1]
        spreads = posterior.spreads[begin + first + case : end + last + case + 1]
        for chain in range(keys.shape[1]):
            start(stream, keys[case, chain])
            if posterior.is_direct[case]:
                fill_dirichlet(stream, shapes, values[row : row + draws * columns], room.dirichlet_room)
                row += draws * columns
                continue
            for race in range(n_races + 1):
                pending[race], masses[race] = 0.0, TINY
            for k in range(columns):
                exposure[k] = 1.0
            draw_small_weights(stream, shapes, exposure, TINY, theta)
            add_masses(successors, step_offsets, steps, theta, masses)
            for k in range(columns):
                exposure[k] = 0.0
            for sweep in range(-warmup, draws):
                for tie in range(first_tie, last_tie):  # the repeats of tied blocks
                    j, behind, n = tie_code_offsets[tie], tie_successors[tie], repeats[tie]
                    size, z = tie_code_offsets[tie + 1] - j, masses[behind]
                    if size == 2:
                        a, b = tie_codes[j], tie_codes[j + 1]
                        with_a, with_b = z + theta[a], z + theta[b]
                        time_a, time_b = hold_pair(stream, n, with_b / (with_a + with_b))
                        wait_a, wait_b = time_a / with_a, time_b / with_b
                        exposure[a] += wait_a
                        exposure[b] += wait_b
                        pending[behind] += wait_a + wait_b
                    elif n > 0:
                        for k in range(size):
                            lam[k], tau[k] = theta[tie_codes[j + k]], 0.0
                        pending[behind] += hold_tie(stream, lam[:size], z, n, lattice_most, room.tie_room)
                        for k in range(size):
                            exposure[tie_codes[j + k]] += tau[k]
                fill_gammas(stream, demand, spreads, drawn)
                for race in range(n_races):  # all waits of a race
                    wait = pending[race] + drawn[1 + race] / masses[race]
                    pending[race] = 0.0
                    for j in range(step_offsets[race], step_offsets[race + 1]):
                        exposure[steps[j]] += wait
                    pending[successors[race]] += wait
                if is_tilted:
                    for k in range(columns):
                        previous[k] = theta[k]
                total = max(drawn[0], TINY)
                if in_logs:
                    for k in range(columns):
                        exposure[k] += total
                    draw_small_weights(stream, shapes, exposure, TINY, theta)
                    for k in range(columns):
                        exposure[k] = 0.0
                else:
                    norm = 0.0
                    for k in range(columns):
                        theta[k] = drawn[1 + n_races + k] / (total + exposure[k])
                        norm += theta[k]
                        exposure[k] = 0.0
                    norm = 1.0 / norm
                    for k in range(columns):
                        theta[k] *= norm
                add_masses(successors, step_offsets, steps, theta, masses)
                if is_tilted:  # by the likelihood of what the repeats leave out of tied blocks
                    proposed = 0.0
                    for tie in range(first_tie, last_tie):
                        if fractions[tie] != 0.0:
                            j, z = tie_code_offsets[tie], masses[tie_successors[tie]]
                            size = tie_code_offsets[tie + 1] - j
                            for k in range(size):
                                lam[k] = theta[tie_codes[j + k]]
                            log_p = log_block_probability(lam[:size], z, lattice_most, table, mass)
                            proposed += fractions[tie] * log_p
                    if sweep == -warmup or exponential(stream) >= tilt - proposed:
                        tilt = proposed
                    else:
                        for k in range(columns):
                            theta[k] = previous[k]
                        add_masses(successors, step_offsets, steps, theta, masses)
                if sweep >= 0:
                    for k in range(columns):
                        values[row + k] = theta[k]
                    row += columns


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
    streams, room = new_streams(), make_room(posterior, cases)
    run_chains(posterior, plain(keys[:, :chains]), cases, (warmup, draws), values, streams, room)
    return tallies(streams)
