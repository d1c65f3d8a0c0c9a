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

The tempered posterior. Its races are run at the rates lam^gamma, lam having gamma priors.

Conjugacy is lost, but not the race: given the exposures E of the conditions in races at rates lam^gamma, the weights
are independent, and x = log lam has the log-density (a + gamma wins) x - e^x - E e^(gamma x), strictly concave, from
which :func:`log_weight` draws exactly. A sweep is made of steps that each leave the posterior of lam as it is:

- A fresh total of lam, which is independent of their ratios and of the rankings: Gamma(sum of a).
- Exposures given lam, then lam given exposures: a two-block Gibbs sampler, whose marginal chain in lam is reversible.
  Where a tied block has a multiplicity that is not a whole number, this step is a proposal for the posterior with the
  nearest whole number of repeats; being reversible, it is accepted with the ratio of what the repeats leave out.
- Jumps. The exposures hold x within about 1 / gamma of where it is, while the posterior of x may be as wide as the
  prior, so that the steps above alone would need gamma^2 sweeps. Therefore x is moved on the posterior without
  exposures: that of one condition after the other; and that of a condition together with all larger ones, which widens
  or closes the gap below them and keeps what is contested above it. The step has a random size between 2 / gamma and
  the width of the prior: a symmetric proposal, accepted with the ratio of posteriors (and refused where it would change
  who the larger ones are, as no such step leads back). Nothing has to be tuned: some steps have the right size.

Rates are taken relative to the largest of the case; those smaller than :data:`TINY` are taken to be this.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.kernels.jit import compiled, fill, inlined, inner
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
    log_gamma,
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

# How often a sweep jumps in every direction, and its largest number of jumps; where there are more, they take turns.
# Each costs a likelihood of the case. One round halves the effective sample size at large powers; four cost as much as
# they give.
ROUNDS, MOST_JUMPS = 2, 32

# Logarithm of the weight of a rest without members.
NOBODY = -1e300


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


def make_room(posterior: Posterior, cases: IntArray) -> ChainRoom:
    """Make room for any of some cases."""
    races, subsets = posterior.races, 1 << posterior.lattice_most
    columns = int(np.diff(races.column_offsets)[cases].max(initial=0))
    n_races = int(np.diff(races.race_offsets)[cases].max(initial=0)) + 1
    lengths = columns, columns, columns, n_races, n_races, n_races + columns, len(races.tie_codes)
    tie_room = TieRoom(
        np.empty(len(races.tie_codes)), np.empty(subsets), np.empty(subsets), np.zeros(subsets, dtype=np.int64)
    )
    theta, previous, exposure, masses, pending, drawn, lam = (np.empty(n) for n in lengths)
    return ChainRoom(theta, previous, exposure, masses, pending, drawn, lam, np.empty((3, columns)), tie_room)


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
    cases: IntArray,
    sweeps: tuple[int, int],
    values: FloatArray,
    streams: Streams,
    room: ChainRoom,
) -> None:
    """Run the chains of some cases, see :func:`sample_plackett_luce`; chains are the columns of ``keys``."""
    races, (warmup, draws), lattice_most = posterior.races, sweeps, posterior.lattice_most
    column_offsets, tie_codes, steps = races.column_offsets, races.tie_codes, races.steps
    previous, exposure, masses, pending = room.previous, room.exposure, room.masses, room.pending
    drawn, lam = room.drawn, room.lam
    table, mass, tau = room.tie_room.table, room.tie_room.mass, room.tie_room.tau
    stream, row, tilt = streams[0], 0, 0.0
    for case in cases:
        begin, end = races.race_offsets[case], races.race_offsets[case + 1]
        first, last = column_offsets[case], column_offsets[case + 1]
        first_tie, last_tie = races.tie_offsets[case], races.tie_offsets[case + 1]
        n_races, columns = end - begin, last - first
        in_logs, is_tilted = posterior.in_logs[case], posterior.is_tilted[case]
        tie_offsets, behind = races.tie_code_offsets[first_tie : last_tie + 1], races.tie_successors[first_tie:last_tie]
        repeats = posterior.tie_repeats[first_tie:last_tie]
        fractions = posterior.tie_fractions[first_tie:last_tie]
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
                for tie in range(len(repeats)):
                    j, z, n = tie_offsets[tie], masses[behind[tie]], repeats[tie]
                    size = tie_offsets[tie + 1] - j
                    if size == 2:
                        a, b = tie_codes[j], tie_codes[j + 1]
                        with_a, with_b = z + theta[a], z + theta[b]
                        time_a, time_b = hold_pair(stream, n, with_b / (with_a + with_b))
                        wait_a, wait_b = time_a / with_a, time_b / with_b
                        exposure[a] += wait_a
                        exposure[b] += wait_b
                        pending[behind[tie]] += wait_a + wait_b
                    elif n > 0:
                        for k in range(size):
                            lam[k], tau[k] = theta[tie_codes[j + k]], 0.0
                        pending[behind[tie]] += hold_tie(stream, lam[:size], z, n, lattice_most, room.tie_room)
                        for k in range(size):
                            exposure[tie_codes[j + k]] += tau[k]
                fill_gammas(stream, demand, spreads, drawn)
                for race in range(n_races):
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
                    for tie in range(len(fractions)):
                        if fractions[tie] != 0.0:
                            j, z = tie_offsets[tie], masses[behind[tie]]
                            size = tie_offsets[tie + 1] - j
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


# The tempered posterior -------------------------------------------------------------------------------


class Tempered(NamedTuple):
    """Hold what the sampler needs to know.

    Attributes
    ----------
    posterior
        That of the same rankings at gamma 1, which says what races are held.
    power
        The power gamma of the weights.
    prior_shapes, shapes : (sum of U + 1,)
        Shapes of the priors, and these plus gamma times the number of wins; rest last, zero when it has no members.
    is_direct : (n_cases,)
        Whether no race was held: the posterior is the prior, Dirichlet(prior_shapes).
    steps : (2,)
        The smallest and the largest jump.
    """

    posterior: Posterior
    power: float
    prior_shapes: FloatArray
    shapes: FloatArray
    is_direct: BoolArray
    steps: tuple[float, float]


def tempered_posterior(
    races: Races, prior_shapes: FloatArray, power: float, *, lattice_most: int = LATTICE_MOST
) -> Tempered:
    """Join the races with the prior.

    Parameters
    ----------
    races
        From :func:`dissensus.kernels.races.group_rankings`.
    prior_shapes : (sum of U + 1,)
        Shapes of the gamma priors of the support and, last, of the rest; zero when it has no members.
    power
        The races are run at rates to this power.
    lattice_most
        Larger tied blocks are raced.
    """
    posterior = plackett_luce_posterior(races, prior_shapes, lattice_most=lattice_most)
    smallest = float(prior_shapes[prior_shapes > 0.0].min(initial=1e9))
    return Tempered(
        posterior=posterior,
        power=float(power),
        prior_shapes=prior_shapes,
        shapes=prior_shapes + power * (posterior.shapes - prior_shapes),
        is_direct=np.diff(races.race_offsets) == 0,
        steps=(min(1.0, 2.0 / float(power)), 1.4 * math.sqrt(1.0 / smallest + 1.0 / smallest**2)),
    )


# One weight -------------------------------------------------------------------------------------------


@inlined
def peak(shape: float, power: float, log_exposure: float) -> float:
    """Find the maximum of shape x - e^x - e^(power x + log_exposure).

    The two exponentials, times their powers, sum to the shape there: one is at least half of it, neither is more.
    """
    high = min(math.log(shape), (math.log(shape / power) - log_exposure) / power)
    x = high - 0.5 * math.log(2.0) * max(1.0, 1.0 / power)
    low = high - math.log(2.0) * max(1.0, 1.0 / power)
    for _ in range(60):
        first, second = math.exp(x), power * math.exp(power * x + log_exposure)
        rise, curvature = shape - first - second, first + power * second
        if rise > 0.0:
            low = x
        else:
            high = x
        new = x + rise / curvature
        if not low <= new <= high:
            new = 0.5 * (low + high)
        is_near = abs(new - x) * math.sqrt(curvature) < 1e-8
        x = new
        if is_near:
            break
    return x


@inlined
def log_weight(stream: Stream, shape: float, power: float, log_exposure: float) -> float:
    """Draw x whose log-density is shape x - e^x - e^(power x + log_exposure), exactly.

    The log-density is concave, so that tangents left and right of the mode and a flat top bound it. They touch where it
    has fallen by about one, found from what each exponential alone would make of it (between one and two for both).
    """
    centre = peak(shape, power, log_exposure)
    p, s = math.exp(centre), math.exp(power * centre + log_exposure)
    one, other = math.sqrt(2.0 / max(p, TINY)), math.sqrt(2.0 / max(s, TINY))
    left = -min(one + 0.25 * one * one, (other + 0.25 * other * other) / power)
    right = min(math.log(1.0 + one + 0.5 * one * one), math.log(1.0 + other + 0.5 * other * other) / power)
    rise = shape - p * math.exp(left) - power * s * math.exp(power * left)
    fall = power * s * math.exp(power * right) + p * math.exp(right) - shape
    left -= fallen(shape, power, p, s, left) / rise
    right += fallen(shape, power, p, s, right) / fall
    while True:
        place = uniform(stream) * (1.0 / rise + (right - left) + 1.0 / fall) - 1.0 / rise
        x, hull = left + place, 0.0
        if place < 0.0:
            hull = -exponential(stream)
            x = left + hull / rise
        elif x > right:
            hull = -exponential(stream)
            x = right - hull / fall
        if hull - exponential(stream) <= fallen(shape, power, p, s, x):
            return centre + x


@inlined
def fallen(shape: float, power: float, p: float, s: float, x: float) -> float:
    """Return the log-density at a distance x from where the exponentials are p and s, minus that at zero."""
    return shape * x - p * math.expm1(min(x, 700.0)) - s * math.expm1(min(power * x, 700.0))


# Jumps ------------------------------------------------------------------------------------------------


@inlined
def fill_rates(x: FloatArray, shapes: FloatArray, power: float, rates: FloatArray) -> float:
    """Turn logarithms of weights into rates relative to the largest one; return the logarithm of that weight."""
    highest = -np.inf
    for k in range(len(x)):
        if shapes[k] > 0.0:
            highest = max(highest, x[k])
    for k in range(len(x)):
        rates[k] = max(math.exp(power * (x[k] - highest)), TINY) if shapes[k] > 0.0 else 0.0
    return highest


@compiled
def run_tempered_chains(  # noqa: C901 - calls would count references to every array, in every sweep
    tempered: Tempered,
    keys: Keys,
    cases: IntArray,
    sweeps: tuple[int, int],
    values: FloatArray,
    streams: Streams,
    room: ChainRoom,
    logs: FloatArray,
) -> None:
    """Run the chains of some cases, see :func:`sample_plackett_luce`; ``logs`` (2, columns) is worked in."""
    posterior, power, (warmup, draws), sizes = tempered.posterior, tempered.power, sweeps, tempered.steps
    races, lattice_most, lam, tie_room = posterior.races, posterior.lattice_most, room.lam, room.tie_room
    table, mass, tau, tie_codes, steps = tie_room.table, tie_room.mass, tie_room.tau, races.tie_codes, races.steps
    stream, row = streams[0], 0
    for case in cases:
        begin, end = races.race_offsets[case], races.race_offsets[case + 1]
        first, last = races.column_offsets[case], races.column_offsets[case + 1]
        first_tie, last_tie = races.tie_offsets[case], races.tie_offsets[case + 1]
        n_races, columns, is_direct = end - begin, last - first, tempered.is_direct[case]
        tie_offsets, behind = races.tie_code_offsets[first_tie : last_tie + 1], races.tie_successors[first_tie:last_tie]
        repeats = posterior.tie_repeats[first_tie:last_tie]
        tie_counts, fractions = races.tie_counts[first_tie:last_tie], posterior.tie_fractions[first_tie:last_tie]
        successors, step_offsets = posterior.successors[begin:end], races.step_offsets[begin : end + 1]
        wins, counts = races.wins[first:last], races.counts[begin:end]
        prior, starts = tempered.prior_shapes[first:last], posterior.shapes[first:last]
        shapes = tempered.shapes[first:last]
        demand = posterior.demand[begin + first + case : end + first + case + 1]
        spreads = posterior.spreads[begin + first + case : end + first + case + 1]
        x, before, drawn = logs[0, :columns], logs[1, :columns], room.drawn[: n_races + 1]
        rates, exposure = room.theta[:columns], room.exposure[:columns]
        masses, pending = room.masses[: n_races + 1], room.pending[: n_races + 1]
        fill(pending, 0.0)
        masses[n_races] = TINY
        for chain in range(keys.shape[1]):
            start(stream, keys[case, chain])
            turn, tilt, highest = 0, -np.inf, 0.0
            fill(exposure, 0.0)
            for sweep in range(-warmup - 1, draws):
                is_start = sweep < -warmup
                if not (is_start or is_direct):
                    fill_gammas(stream, demand, spreads, drawn)
                    total = 0.0  # the weights get another one, and keep their ratios
                    for k in range(columns):
                        if prior[k] > 0.0:
                            total += math.exp(x[k] - highest)
                        exposure[k] = 0.0
                    rise = math.log(max(drawn[0], TINY)) - highest - math.log(total)
                    for k in range(columns):
                        x[k] += rise
                    highest += rise
                    for tie in range(len(repeats)):
                        j, z, n = tie_offsets[tie], masses[behind[tie]], repeats[tie]
                        size = tie_offsets[tie + 1] - j
                        if size == 2:
                            a, b = tie_codes[j], tie_codes[j + 1]
                            with_a, with_b = z + rates[a], z + rates[b]
                            time_a, time_b = hold_pair(stream, n, with_b / (with_a + with_b))
                            wait_a, wait_b = time_a / with_a, time_b / with_b
                            exposure[a] += wait_a
                            exposure[b] += wait_b
                            pending[behind[tie]] += wait_a + wait_b
                        elif n > 0:
                            for k in range(size):
                                lam[k], tau[k] = rates[tie_codes[j + k]], 0.0
                            pending[behind[tie]] += hold_tie(stream, lam[:size], z, n, lattice_most, tie_room)
                            for k in range(size):
                                exposure[tie_codes[j + k]] += tau[k]
                    for race in range(n_races):
                        wait = pending[race] + drawn[1 + race] / masses[race]
                        pending[race] = 0.0
                        for j in range(step_offsets[race], step_offsets[race + 1]):
                            exposure[steps[j]] += wait
                        pending[successors[race]] += wait
                for k in range(columns):
                    before[k] = x[k]
                    if exposure[k] > 0.0:
                        log_exposure = math.log(min(exposure[k], 1.0 / TINY)) - power * highest
                        x[k] = log_weight(stream, shapes[k], power, log_exposure)
                    else:
                        shape = starts[k] if is_start else shapes[k]
                        x[k] = log_gamma(stream, shape) if shape > 0.0 else NOBODY
                # What the exposures proposed is accepted or refused, then jumps are tried, direction by direction.
                current, number, n_jumps = 0.0, -1, -1 if is_direct else min(ROUNDS * 2 * columns, MOST_JUMPS)
                while number < n_jumps:
                    is_same = True
                    if number >= 0:
                        for k in range(columns):
                            before[k] = x[k]
                        place = 2.0 * uniform(stream) - 1.0
                        step = math.copysign(sizes[0] * (sizes[1] / sizes[0]) ** abs(place), place)
                        pivot = x[turn % columns]
                        if turn < columns:
                            x[turn] += step
                        else:  # all larger ones move too; is the step that leads back the same?
                            for k in range(columns):
                                if x[k] >= pivot:
                                    x[k] += step
                                else:
                                    is_same &= x[k] < pivot + step
                        turn = (turn + 1) % (2 * columns)
                    fill_rates(x, prior, power, rates)
                    add_masses(successors, step_offsets, steps, rates, masses)
                    found, left_out = 0.0, 0.0  # log-likelihoods of all, and of what repeats leave out of tied blocks
                    for tie in range(len(fractions)):
                        size = tie_offsets[tie + 1] - tie_offsets[tie]
                        for k in range(size):
                            lam[k] = rates[tie_codes[tie_offsets[tie] + k]]
                        log_p = log_block_probability(lam[:size], masses[behind[tie]], lattice_most, table, mass)
                        found += tie_counts[tie] * log_p
                        left_out += fractions[tie] * log_p
                    for race in range(n_races):
                        found -= counts[race] * math.log(masses[race])
                    for k in range(columns):
                        if prior[k] > 0.0:
                            found += prior[k] * x[k] - math.exp(min(x[k], 700.0)) + wins[k] * math.log(rates[k])
                    gain = found - current if number >= 0 else left_out - tilt
                    if is_same and exponential(stream) >= -gain:
                        current, tilt = found, left_out
                    else:
                        for k in range(columns):
                            x[k] = before[k]
                        if number < 0:
                            tilt, number = -np.inf, -2
                    number += 1
                highest = fill_rates(x, prior, power, rates)
                add_masses(successors, step_offsets, steps, rates, masses)
                if sweep >= 0:
                    total = 0.0
                    for k in range(columns):
                        values[row + k] = max(math.exp(x[k] - highest), TINY) if prior[k] > 0.0 else 0.0
                        total += values[row + k]
                    for k in range(columns):
                        values[row + k] /= total
                    row += columns


# Draws ------------------------------------------------------------------------------------------------


def sample_plackett_luce(
    posterior: Posterior | Tempered, keys: Keys, cases: IntArray, chains: int, warmup: int, values: FloatArray
) -> Keys:
    """Draw the plausibilities of some cases.

    Parameters
    ----------
    posterior
        From :func:`plackett_luce_posterior` or :func:`tempered_posterior`.
    keys : (n_cases, at least chains)
        One stream per case and chain.
    cases
        Their positions.
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
    no part, and neither does the reliability, except through repeats of large ties. A sweep of a tempered posterior
    also costs up to :data:`MOST_JUMPS` likelihoods of the case.
    """
    joined = posterior.posterior if isinstance(posterior, Tempered) else posterior
    columns = int(np.diff(joined.races.column_offsets)[cases].sum())
    sweeps = warmup, len(values) // (chains * max(1, columns))
    streams, room = new_streams(), make_room(joined, cases)
    if isinstance(posterior, Tempered):
        logs = np.empty((2, len(room.theta)))
        run_tempered_chains(posterior, keys[:, :chains], cases, sweeps, values, streams, room, logs)
    else:
        run_chains(posterior, keys[:, :chains], cases, sweeps, values, streams, room)
    return tallies(streams)
