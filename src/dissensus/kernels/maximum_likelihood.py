"""Maximum likelihood of the Plackett-Luce model, per case, exact at the boundary.

Where the maximum lies. Say that i beats j when somebody ranks i strictly above j (with unranked "below",
mentioned conditions beat those that are not mentioned). If some conditions are never beaten by the others,
shrinking the weights of the others never lowers the likelihood, which then falls apart into one factor for
each group; so the supremum has all mass on the *top components*: groups of conditions connected by beating
each other in both directions, and beaten by nobody else. A tie connects nothing: it has probability one in
the limit, whichever of its members is the heavier one. Within a top component the likelihood of the rankings
restricted to it has its maximum inside, and it is unique: log-probabilities are concave in log(lam). Between
several top components no ranking tells anything, and the estimate gives each its share of the votes for first
blocks (a tied block divides its vote).

What order is kept. Conditions of mass zero do not vanish together: with a prior of fixed shapes and rankings that
count r times, whoever is beaten by a condition, and does not beat it back, is lighter by a factor like r. A component
is as heavy as all that beat it allow, so it falls with the *level* of the component: how many components lie above one
another over it, on the longest way. Within a level the same holds as at the top, for the rankings with all higher
levels struck out: a maximum within each component, and shares of the votes for first blocks between components that
nobody compared. With unranked "below" the latter happens only to conditions that everybody ties, which stay tied.
Orders compare first levels and then these values; whoever no ranking mentions comes last.

How it is found. The EM (MM) step of the race view, lam_k = wins_k / expected exposure_k, accelerated by
squared extrapolation (Varadhan and Roland, 2008) that is taken back when it lowers the likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each, weighted_counts
from dissensus.kernels.jit import compiled, inlined, inner
from dissensus.kernels.likelihood import DEPTH, LATTICE_MOST, STEP, fill_lattice, log_density, mode, ratio
from dissensus.kernels.races import Races, Rankings, group_rankings, offsets_of


class Estimate(NamedTuple):
    """Hold the maximum of the likelihood of each case.

    Attributes
    ----------
    values : (sum of U + 1,)
        Plausibilities of the support and, last, of the rest of each case.
    order : (sum of U + 1,)
        Numbers that grow with level and value: what to compare conditions by; zero for what nobody mentioned.
    is_converged : (n_cases,)
        Whether the largest |wins_k - theta_k exposure_k|, divided by the number of wins, came below the tolerance.
    """

    values: FloatArray
    order: FloatArray
    is_converged: BoolArray


# Who beats whom ---------------------------------------------------------------------------------------------


class Components(NamedTuple):
    """Hold the groups of conditions that beat each other in both directions, and how deep each group lies.

    Attributes
    ----------
    first : (sum of U,)
        The first member of the component of each condition, counted over all cases.
    level : (sum of U,)
        The most components that lie one above the other over it; those of level 0 are the top components.
    is_lost : (sum of U,)
        Whether no ranking mentions the condition although some ranking of the case mentions anything.
    """

    first: IntArray
    level: IntArray
    is_lost: BoolArray


def find_components(rankings: Rankings, below: bool) -> Components:
    """Find the components of all conditions, and their levels."""
    n_conditions = int(rankings.support_offsets[-1])
    source, target, member = defeats(rankings, below)
    size = n_conditions + len(rankings.code_offsets) - 1
    graph = coo_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(size, size))
    n_components, component = connected_components(graph.tocsr(), directed=True, connection="strong")
    depth = np.zeros(n_components, dtype=np.int64)
    own = component[:n_conditions]
    first = np.full(n_components, -1, dtype=np.int64)
    first[own[::-1]] = np.arange(n_conditions)[::-1]
    above, below_it = component[source].astype(np.int64), component[target].astype(np.int64)
    leads = above != below_it
    above, below_it = above[leads], below_it[leads]
    length = (first[below_it] >= 0).astype(np.int64)  # the edge of a block is no level
    # Every target lies the length of each of its steps below the source of the step.
    while (depth[above] + length > depth[below_it]).any():
        np.maximum.at(depth, below_it, depth[above] + length)
    is_mentioned = np.zeros(n_conditions, dtype=np.bool_)
    is_mentioned[member] = True
    case = row_of_each(rankings.support_offsets)
    is_heard = np.bincount(case[is_mentioned], minlength=len(rankings.n_unmentioned)) > 0
    return Components(first[own], depth[own], ~is_mentioned & is_heard[case])


def defeats(rankings: Rankings, below: bool) -> tuple[IntArray, IntArray, IntArray]:
    """Return sources and targets of a graph whose paths lead from a condition to all that it beats; and all mentions.

    The members of a block point to its edge, a node of its own behind the conditions, and its edge points to the
    members of the next block. Rankings that do not count are left out.
    """
    case_of_ranking, ranking_of_block, block_of_mention = parts_of(rankings)
    n_conditions = int(rankings.support_offsets[-1])
    is_used = rankings.multiplicities[ranking_of_block[block_of_mention]] > 0.0
    block = block_of_mention[is_used]
    ranking = ranking_of_block[block]
    member = rankings.support_offsets[case_of_ranking[ranking]] + rankings.codes[is_used]
    edge, is_first = n_conditions + block, block == rankings.block_offsets[ranking]
    sources, targets = [member, edge[~is_first] - 1], [edge, member[~is_first]]
    if below:
        last, unmentioned = never_mentioned(rankings, ranking, member)
        sources.append(n_conditions + rankings.block_offsets[last + 1] - 1)
        targets.append(unmentioned)
    return np.concatenate(sources), np.concatenate(targets), member


def never_mentioned(rankings: Rankings, ranking: IntArray, member: IntArray) -> tuple[IntArray, IntArray]:
    """Pair each ranking that mentions anything with the conditions that only others mention; shape (n,), (n,).

    ``ranking`` and ``member`` are its mentions: the rankings, ascending, and the conditions, counted over all cases.
    """
    used = np.unique(ranking)
    case = np.searchsorted(rankings.ranking_offsets, used, side="right") - 1
    first, sizes = rankings.support_offsets[case], np.diff(rankings.support_offsets)[case]
    begin = offsets_from_lengths(sizes)
    is_other = np.ones(begin[-1], dtype=np.bool_)
    place = np.searchsorted(used, ranking)
    is_other[begin[place] + member - first[place]] = False
    others = np.flatnonzero(is_other)
    owner = np.repeat(np.arange(len(used)), sizes)[others]
    return used[owner], first[owner] + others - begin[owner]


def parts_of(rankings: Rankings) -> tuple[IntArray, IntArray, IntArray]:
    """Return the case of each ranking, the ranking of each block and the block of each mention."""
    offsets = (rankings.ranking_offsets, rankings.block_offsets, rankings.code_offsets)
    case, ranking, block = (row_of_each(each) for each in offsets)
    return case, ranking, block


def split_rankings(rankings: Rankings, part: IntArray, members: IntArray, n_parts: int) -> Rankings:
    """Make a case of each part of the conditions, its rankings those of its conditions among each other.

    ``part`` has shape (sum of U,), -1 for conditions that are left out; ``members`` are all others, part after part.
    Nothing is unmentioned any more.
    """
    case_of_ranking, ranking_of_block, block_of_mention = parts_of(rankings)
    column = rankings.support_offsets[case_of_ranking[ranking_of_block[block_of_mention]]] + rankings.codes
    mention = np.flatnonzero(part[column] >= 0)
    mention = mention[np.argsort(part[column[mention]], kind="stable")]
    column, block = column[mention], block_of_mention[mention]
    begins_block = begins_run(part[column], block)
    begins_ranking = begins_run(part[column], ranking_of_block[block])
    offsets = offsets_of(part[members], n_parts)
    place = np.zeros(len(part), dtype=np.int64)
    place[members] = np.arange(len(members)) - offsets[part[members]]
    return Rankings(
        support_offsets=offsets,
        ranking_offsets=offsets_of(part[column[begins_ranking]], n_parts),
        block_offsets=np.append(np.flatnonzero(begins_ranking[begins_block]), begins_block.sum()),
        code_offsets=np.append(np.flatnonzero(begins_block), len(column)),
        codes=place[column],
        multiplicities=rankings.multiplicities[ranking_of_block[block[begins_ranking]]],
        n_unmentioned=np.zeros(n_parts, dtype=np.int64),
    )


def first_votes(rankings: Rankings, level: IntArray) -> FloatArray:
    """Count the votes for first blocks once all higher levels are struck out; shape (sum of U,).

    Each vote is divided among what is left of its block. As nobody is ranked before a condition of a higher level, the
    levels of a ranking ascend from block to block.
    """
    case_of_ranking, ranking_of_block, block = parts_of(rankings)
    ranking = ranking_of_block[block]
    column = rankings.support_offsets[case_of_ranking[ranking]] + rankings.codes
    column = column[np.lexsort((level[column], block))]
    begins = begins_run(ranking, level[column])
    start = np.flatnonzero(begins)[np.cumsum(begins) - 1] if len(begins) else np.empty(0, dtype=np.int64)
    votes = block == block[start]
    shares = rankings.multiplicities[ranking] / (rankings.code_offsets[block + 1] - start)
    return weighted_counts(column[votes], shares[votes], rankings.support_offsets[-1])


# The maximum within components ----------------------------------------------------------------------------


class Expected(NamedTuple):
    """Hold the arrays that expectations are worked out in."""

    exposure: FloatArray
    masses: FloatArray
    pending: FloatArray
    lam: FloatArray
    tau: FloatArray
    table: FloatArray
    mass: FloatArray
    flow: FloatArray


@inner
def expected_by_lattice(count: float, room: Expected, size: int) -> float:
    """Send the expected count of a block through its lattice, see ``pass_lattice`` of the sampler."""
    lam, tau, table, mass, flow = room.lam, room.tau, room.table, room.mass, room.flow
    whole = (1 << size) - 1
    for subset in range(whole):
        flow[subset] = 0.0
    flow[whole] = count
    behind = 0.0
    for subset in range(whole, 0, -1):
        wait = flow[subset] / mass[subset] if subset != whole else 0.0
        behind += wait
        for k in range(size):
            if subset >> k & 1:
                tau[k] += wait
                share = lam[k] * table[subset ^ (1 << k)] / (mass[subset] * table[subset])
                flow[subset ^ (1 << k)] += flow[subset] * share
    return behind


@inner
def expected_by_quadrature(count: float, lam: FloatArray, z: float, tau: FloatArray) -> tuple[float, float]:
    """Return the expected time of all behind, and the log-probability of a large block.

    With s = lam_k t and ratio(s) = s / (exp(s) - 1), the expected time of member k is that of
    (1 - ratio(s)) / lam_k, and the expected time of all behind is that of the sum of ratio(s) / z.
    """
    centre, width = mode(lam, z)
    top = log_density(lam, z, centre)
    step = STEP * min(width, 1.0)
    total, behind = 0.0, 0.0
    for direction in (-1.0, 1.0):
        x = centre if direction > 0.0 else centre - step
        while True:
            height = log_density(lam, z, x) - top
            if height < -DEPTH:
                break
            weight, t = math.exp(height), math.exp(x)
            total += weight
            for k in range(len(lam)):
                s = t * (lam[k] / z)
                phi = ratio(s)
                late = s * (0.5 - s / 12.0 + s * s * s / 720.0) if s < 1e-2 else 1.0 - phi
                tau[k] += weight * late
                behind += weight * phi
            x += direction * step
    for k in range(len(lam)):
        tau[k] *= count / (total * lam[k])
    return count * behind / (total * z), top + math.log(total * step)


@inlined
def expect_exposure(races: Races, case: int, theta: FloatArray, room: Expected) -> float:
    """Compute the expected exposures given the weights, and return the log-likelihood."""
    begin, end, column = races.race_offsets[case], races.race_offsets[case + 1], races.column_offsets[case]
    counts, successors, wins = races.counts[begin:end], races.successors[begin:end], races.wins[column:]
    step_offsets, steps = races.step_offsets[begin : end + 1], races.steps
    exposure, masses, pending, lam, tau = room.exposure, room.masses, room.pending, room.lam, room.tau
    log_likelihood = 0.0
    for k in range(len(theta)):
        exposure[k] = 0.0
        if wins[k] > 0.0:
            log_likelihood += wins[k] * math.log(theta[k])
    for race in range(len(counts) - 1, -1, -1):
        mass = masses[successors[race]] if successors[race] >= 0 else 0.0
        for j in range(step_offsets[race], step_offsets[race + 1]):
            mass += theta[steps[j]]
        masses[race] = mass
        pending[race] = counts[race] / mass
        log_likelihood -= counts[race] * math.log(mass)
    for tie in range(races.tie_offsets[case], races.tie_offsets[case + 1]):
        codes = races.tie_codes[races.tie_code_offsets[tie] : races.tie_code_offsets[tie + 1]]
        before, behind = races.tie_races[tie], races.tie_successors[tie]
        count, size, z = races.tie_counts[tie], len(codes), masses[behind]
        for k in range(size):
            lam[k], tau[k] = theta[codes[k]], 0.0
        probability = fill_lattice(lam[:size], z, room.table, room.mass) if size <= LATTICE_MOST else 0.0
        if probability > 1e-280:
            log_likelihood += count * math.log(probability)
            pending[before] += count / masses[before]
            pending[behind] += expected_by_lattice(count, room, size)
        else:
            wait, log_p = expected_by_quadrature(count, lam[:size], z, tau)
            log_likelihood += count * log_p
            pending[behind] += wait
        for k in range(size):
            exposure[codes[k]] += tau[k]
    for race in range(len(counts)):
        for j in range(step_offsets[race], step_offsets[race + 1]):
            exposure[steps[j]] += pending[race]
        if successors[race] >= 0:
            pending[successors[race]] += pending[race]
    return log_likelihood


@inner
def normalise(labels: IntArray, theta: FloatArray, totals: FloatArray) -> None:
    """Make the weights of each component sum to one; ``totals`` is worked in."""
    for k in range(len(theta)):
        totals[k] = 0.0
    for k in range(len(theta)):
        totals[labels[k]] += theta[k]
    for k in range(len(theta)):
        theta[k] /= totals[labels[k]]


@inner
def extrapolate(x: FloatArray, labels: IntArray, out: FloatArray, totals: FloatArray) -> None:
    """Extrapolate three successive iterates, the first rows of x, in logarithms; squared, steplength S3."""
    r_norm, v_norm = 0.0, 0.0
    for k in range(len(out)):
        r = math.log(x[1, k] / x[0, k])
        v = math.log(x[2, k] / x[1, k]) - r
        r_norm += r * r
        v_norm += v * v
    length = max(1.0, math.sqrt(r_norm / v_norm)) if v_norm > 0.0 else 1.0
    for k in range(len(out)):
        r = math.log(x[1, k] / x[0, k])
        v = math.log(x[2, k] / x[1, k]) - r
        out[k] = math.exp(math.log(x[0, k]) + 2.0 * length * r + length * length * v)
    normalise(labels, out, totals)


@compiled
def maximise(
    races: Races, wins: FloatArray, labels: IntArray, tolerance: float, most: int
) -> tuple[FloatArray, BoolArray]:
    """Iterate each case to its maximum, normalised within components; tell which got there.

    ``labels`` are those of :func:`top_components`, restricted. Rows of x: the iterate, what one and two EM steps
    make of it, the extrapolation of the three, and what an EM step makes of that.
    """
    n_cases, columns, n_races, n_tied = len(races.race_offsets) - 1, len(wins), len(races.counts), len(races.tie_codes)
    x, totals, exposure, subsets = np.empty((5, columns)), np.empty(columns), np.empty(columns), 1 << LATTICE_MOST
    tied, lattice = (np.empty(n_tied), np.empty(n_tied)), (np.empty(subsets), np.empty(subsets), np.empty(subsets))
    room = Expected(exposure, np.empty(n_races), np.empty(n_races), *tied, *lattice)
    values, is_settled = np.zeros(columns), np.ones(n_cases, np.bool_)
    for i in range(n_cases):
        begin, end = races.column_offsets[i], races.column_offsets[i + 1] - 1
        wins_here, labels_here, theta = wins[begin:end], labels[begin:end], values[begin:end]
        n = end - begin
        for k in range(n):
            x[0, k] = 1.0
        normalise(labels_here, x[0][:n], totals)
        row, steps, gradient, height = 0, 0, np.inf, -np.inf
        while row > 0 or steps < most:
            before, height = height, expect_exposure(races, i, x[row][:n], room)
            change, n_wins = 0.0, 0.0
            for k in range(n):
                change = max(change, abs(wins_here[k] - x[row, k] * exposure[k]))
                n_wins += wins_here[k]
                x[row + 1, k] = wins_here[k] / exposure[k] if wins_here[k] > 0.0 else x[row, k]
            normalise(labels_here, x[row + 1][:n], totals)
            steps += 1
            if row == 0:
                row, gradient = 1, change / max(n_wins, 1e-300)
                if gradient < tolerance:
                    break
            elif row == 1:
                row = 3
                extrapolate(x, labels_here, x[row][:n], totals)
            else:
                row = 0
                for k in range(n):
                    x[0, k] = x[4, k] if height >= before else x[2, k]
        for k in range(n):
            theta[k] = x[0, k]
        is_settled[i] = gradient < tolerance
    return values, is_settled


def fit_stages(
    rankings: Rankings, found: Components, stage: IntArray, below: bool, limits: tuple[float, int]
) -> tuple[FloatArray, BoolArray]:
    """Find the maximum within the components of each stage; shape (sum of U,), one for a component of its own.

    And whether all stages of each case converged, shape (n_cases,).
    """
    is_open = np.zeros(int(stage.max(initial=-1)) + 1, dtype=np.bool_)
    is_open[stage[np.bincount(found.first, minlength=len(stage))[found.first] > 1]] = True
    part = np.where(is_open, np.cumsum(is_open) - 1, -1)[stage]
    members = np.flatnonzero(part >= 0)
    members = members[np.argsort(part[members], kind="stable")]
    split = split_rankings(rankings, part, members, int(is_open.sum()))
    races = group_rankings(split, below=below)
    column, place = np.arange(len(members)) + part[members], np.zeros(len(stage), dtype=np.int64)
    place[members] = np.arange(len(members)) - split.support_offsets[part[members]]
    labels = np.zeros(races.column_offsets[-1], dtype=np.int64)
    labels[column] = place[found.first[members]]
    # the races that each condition won, alone or as one of a tied block
    sizes = np.diff(races.tie_code_offsets)
    winners = races.tie_codes + np.repeat(np.repeat(races.column_offsets[:-1], np.diff(races.tie_offsets)), sizes)
    wins = races.wins + weighted_counts(winners, np.repeat(races.tie_counts, sizes), len(races.wins))
    theta, is_settled = maximise(races, wins, labels, *limits)
    inside, is_converged = np.ones(len(stage)), np.ones(len(rankings.n_unmentioned), dtype=np.bool_)
    inside[members] = theta[column]
    case = row_of_each(rankings.support_offsets)[members[split.support_offsets[:-1]]]
    is_converged[case[~is_settled]] = False
    return inside, is_converged


def maximum_likelihood(rankings: Rankings, *, below: bool, tolerance: float = 1e-10, most: int = 100_000) -> Estimate:
    """Find the plausibilities that maximise the likelihood of the rankings of each case.

    Conditions outside the top components, unmentioned ones among them, get exactly zero: the likelihood
    approaches its supremum as their weights vanish; their order is kept. A case without usable rankings gets
    the uniform distribution on its support, or all mass on the rest when it has no support.

    Parameters
    ----------
    rankings
        Flat arrays; multiplicities are weights, their common scale does not matter.
    below
        Whether conditions that are not mentioned rank below those that are.
    tolerance
        Bound on the gradient relative to the number of wins.
    most
        EM steps after which a case is left as not converged.
    """
    found = find_components(rankings, below)
    n_cases, case = len(rankings.n_unmentioned), row_of_each(rankings.support_offsets)
    n_levels = np.zeros(n_cases, dtype=np.int64)
    np.maximum.at(n_levels, case, found.level + 1)
    stage = offsets_from_lengths(n_levels)[case] + found.level  # every level of every case, those of a case in a row
    inside, is_converged = fit_stages(rankings, found, stage, below, (tolerance, most))
    # The mass of each stage is divided among its components by votes; without any vote, by their sizes.
    votes, first = first_votes(rankings, found.level), found.first
    in_component, in_stage = weighted_counts(first, votes, len(votes))[first], weighted_counts(stage, votes, 0)[stage]
    by_size = np.bincount(first, minlength=len(votes))[first] / np.bincount(stage)[stage]
    within = inside * np.where(in_stage > 0.0, in_component / np.maximum(in_stage, 1e-300), by_size)
    column = np.arange(len(case)) + case  # after the columns of each case comes that of its rest, which is empty
    values = np.zeros(len(case) + n_cases)
    values[rankings.support_offsets[1:] + np.arange(n_cases)] = np.diff(rankings.support_offsets) == 0
    order = values.copy()
    values[column] = np.where(found.level == 0, within, 0.0)
    order[column] = np.where(found.is_lost, 0.0, order_numbers(case, found.level, within))
    return Estimate(values, order, is_converged)


# Orders ------------------------------------------------------------------------------------------------------


def order_numbers(case: IntArray, level: IntArray, within: FloatArray) -> FloatArray:
    """Count from 1 per case, from the deepest level upwards and within it by value; equal ones have one number."""
    order = np.lexsort((within, -level, case))
    begins = begins_run(case[order], level[order], within[order])
    number, begins_case = np.cumsum(begins), begins_run(case[order])
    before = (number[begins_case] - 1)[np.cumsum(begins_case) - 1]
    numbers = np.empty(len(case))
    numbers[order] = number - before
    return numbers
