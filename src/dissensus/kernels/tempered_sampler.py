"""Draw from the tempered Plackett-Luce posterior: races are run at the rates lam^gamma, lam having gamma priors.

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
from dissensus.kernels.jit import compiled, fill, inlined, plain
from dissensus.kernels.likelihood import log_block_probability
from dissensus.kernels.race_sampler import (
    LATTICE_MOST,
    TINY,
    ChainRoom,
    Posterior,
    TieRoom,
    add_masses,
    hold_pair,
    hold_tie,
    make_room,
    plackett_luce_posterior,
)
from dissensus.kernels.races import Races
from dissensus.kernels.randomness import (
    Keys,
    Stream,
    Streams,
    exponential,
    fill_gammas,
    log_gamma,
    new_streams,
    start,
    tallies,
    uniform,
)

# How often a sweep jumps in every direction, and its largest number of jumps; where there are more, they take turns.
# Each costs a likelihood of the case. One round halves the effective sample size at large powers; four cost as much as
# they give.
ROUNDS, MOST_JUMPS = 2, 32

# Logarithm of the weight of a rest without members.
NOBODY = -1e300


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


# One sweep --------------------------------------------------------------------------------------------


@inlined
def hold_ties(
    stream: Stream,
    ties: tuple[IntArray, IntArray, IntArray, IntArray],
    rates: FloatArray,
    masses: FloatArray,
    lattice_most: int,
    times: tuple[FloatArray, FloatArray],
    lam: FloatArray,
    room: TieRoom,
) -> None:
    """Hold what follows the first arrival of every tied block of a case, given the rates of its conditions.

    ``ties`` are their repeats, the races behind them, and where their members are; ``times`` receive how long races
    have been waiting for, and how long conditions have run.
    """
    (repeats, behind_ties, tie_offsets, tie_codes), (pending, exposure) = ties, times
    for tie in range(len(repeats)):
        j, behind, n = tie_offsets[tie], behind_ties[tie], repeats[tie]
        size, z = tie_offsets[tie + 1] - j, masses[behind]
        if size == 2:
            a, b = tie_codes[j], tie_codes[j + 1]
            with_a, with_b = z + rates[a], z + rates[b]
            time_a, time_b = hold_pair(stream, n, with_b / (with_a + with_b))
            wait_a, wait_b = time_a / with_a, time_b / with_b
            exposure[a] += wait_a
            exposure[b] += wait_b
            pending[behind] += wait_a + wait_b
        elif n > 0:
            for k in range(size):
                lam[k], room.tau[k] = rates[tie_codes[j + k]], 0.0
            pending[behind] += hold_tie(stream, lam[:size], z, n, lattice_most, room)
            for k in range(size):
                exposure[tie_codes[j + k]] += room.tau[k]


@inlined
def run_races(
    steps: tuple[IntArray, IntArray, IntArray],
    drawn: FloatArray,
    masses: FloatArray,
    times: tuple[FloatArray, FloatArray],
) -> None:
    """Run all races of a case; ``drawn`` has their waiting times in units of their means from place 1.

    See :func:`hold_ties`; nothing is waited for afterwards.
    """
    (successors, step_offsets, members), (pending, exposure) = steps, times
    for race in range(len(successors)):
        wait = pending[race] + drawn[1 + race] / masses[race]
        pending[race] = 0.0
        for j in range(step_offsets[race], step_offsets[race + 1]):
            exposure[members[j]] += wait
        pending[successors[race]] += wait
    pending[len(successors)] = 0.0


@compiled
def run_tempered_chains(  # noqa: C901 - calls would count references to every array, in every sweep
    tempered: Tempered,
    keys: Keys,
    cases: tuple[int, int],
    sweeps: tuple[int, int],
    values: FloatArray,
    streams: Streams,
    room: ChainRoom,
    logs: FloatArray,
) -> None:
    """Run the chains of a range of cases, see :func:`sample_tempered`; ``logs`` (2, columns) is worked in."""
    posterior, power, (warmup, draws), sizes = tempered.posterior, tempered.power, sweeps, tempered.steps
    races, lattice_most, lam, tie_room = posterior.races, posterior.lattice_most, room.lam, room.tie_room
    table, mass, tie_codes, steps = tie_room.table, tie_room.mass, races.tie_codes, races.steps
    stream, row = streams[0], 0
    for case in range(cases[0], cases[1]):
        begin, end = races.race_offsets[case], races.race_offsets[case + 1]
        first, last = races.column_offsets[case], races.column_offsets[case + 1]
        first_tie, last_tie = races.tie_offsets[case], races.tie_offsets[case + 1]
        n_races, columns, is_direct = end - begin, last - first, tempered.is_direct[case]
        tie_offsets, behind = races.tie_code_offsets[first_tie : last_tie + 1], races.tie_successors[first_tie:last_tie]
        ties = posterior.tie_repeats[first_tie:last_tie], behind, tie_offsets, tie_codes
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
                    hold_ties(stream, ties, rates, masses, lattice_most, (pending, exposure), lam, tie_room)
                    run_races((successors, step_offsets, steps), drawn, masses, (pending, exposure))
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


def sample_tempered(
    tempered: Tempered, keys: Keys, cases: tuple[int, int], chains: int, warmup: int, values: FloatArray
) -> Keys:
    """Draw the plausibilities of a range of cases, as :func:`dissensus.kernels.race_sampler.sample_plackett_luce` does.

    ``tempered`` is from :func:`tempered_posterior`; all else, and what is returned, is the same. A sweep also costs up
    to :data:`MOST_JUMPS` likelihoods of the case. Neither the number of conditions K nor the power plays a part.
    """
    races = tempered.posterior.races
    columns = int(races.column_offsets[cases[1]] - races.column_offsets[cases[0]])
    draws = len(values) // (chains * max(1, columns))
    streams, room = new_streams(), make_room(tempered.posterior, cases)
    logs = np.empty((2, len(room.theta)))
    run_tempered_chains(tempered, plain(keys[:, :chains]), cases, (warmup, draws), values, streams, room, logs)
    return tallies(streams)
