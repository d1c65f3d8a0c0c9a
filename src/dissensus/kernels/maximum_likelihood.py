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

How it is found. The EM (MM) step of the race view, lam_k = wins_k / expected exposure_k, accelerated by
squared extrapolation (Varadhan and Roland, 2008) that is taken back when it lowers the likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.kernels.jit import compiled, inner
from dissensus.kernels.likelihood import DEPTH, LATTICE_MOST, STEP, fill_lattice, log_density, mode, ratio
from dissensus.kernels.races import Races, Rankings, group_rankings, plain_rankings


class Estimate(NamedTuple):
    """Hold the maximum of the likelihood of each case.

    Attributes
    ----------
    values : (sum of U + 1,)
        Plausibilities of the support and, last, of the rest of each case.
    iterations : (n_cases,)
        Evaluations of the EM step.
    gradients : (n_cases,)
        Largest |wins_k - theta_k exposure_k|, divided by the number of wins.
    is_converged : (n_cases,)
        Whether the gradient came below the tolerance.
    """

    values: FloatArray
    iterations: IntArray
    gradients: FloatArray
    is_converged: BoolArray


# Which conditions have any mass -------------------------------------------------------------------------


def top_components(rankings: Rankings, below: bool) -> IntArray:
    """Label the conditions of top components by their first member, all others by -1; shape (sum of U,).

    In the graph the members of a block point to its edge, and its edge to the members of the next one, so that a path
    leads from i to j when i beats j, or beats someone who does.
    """
    case_of_ranking, ranking_of_block, block_of_mention = parts_of(rankings)
    n_conditions, n_blocks = int(rankings.support_offsets[-1]), len(ranking_of_block)
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
    source, target = np.concatenate(sources), np.concatenate(targets)
    size = n_conditions + n_blocks
    graph = coo_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(size, size))
    _, component = connected_components(graph.tocsr(), directed=True, connection="strong")
    is_beaten = np.zeros(size, dtype=np.bool_)
    is_beaten[component[target[component[source] != component[target]]]] = True
    top = np.flatnonzero(~is_beaten[component[:n_conditions]])
    _, first, group = np.unique(component[top], return_index=True, return_inverse=True)
    labels = np.full(n_conditions, -1, dtype=np.int64)
    labels[top] = top[first][group] - np.repeat(rankings.support_offsets[:-1], np.diff(rankings.support_offsets))[top]
    return labels


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


def restrict(rankings: Rankings, labels: IntArray) -> Rankings:
    """Keep the labelled conditions of each case only; nothing is unmentioned any more."""
    case_of_ranking, ranking_of_block, block_of_mention = parts_of(rankings)
    case_of_mention = case_of_ranking[ranking_of_block[block_of_mention]]
    kept_before = offsets_from_lengths((labels >= 0).astype(np.int64))
    column = rankings.support_offsets[case_of_mention] + rankings.codes
    kept = labels[column] >= 0
    block_sizes = np.bincount(block_of_mention[kept], minlength=len(ranking_of_block))
    n_blocks = np.bincount(ranking_of_block[block_sizes > 0], minlength=len(rankings.multiplicities))
    support_offsets = kept_before[rankings.support_offsets]
    return rankings._replace(
        support_offsets=support_offsets,
        block_offsets=offsets_from_lengths(n_blocks),
        code_offsets=offsets_from_lengths(block_sizes[block_sizes > 0]),
        codes=kept_before[column[kept]] - support_offsets[case_of_mention[kept]],
        n_unmentioned=np.zeros_like(rankings.n_unmentioned),
    )


def first_votes(rankings: Rankings) -> FloatArray:
    """Count the votes for first blocks, each divided among its conditions; shape (sum of U,)."""
    voting = np.flatnonzero(np.diff(rankings.block_offsets))
    offsets, mentions = take_rows(rankings.code_offsets, rankings.block_offsets[voting])
    sizes = np.diff(offsets)
    case = np.searchsorted(rankings.ranking_offsets, voting, side="right") - 1
    columns = np.repeat(rankings.support_offsets[case], sizes) + rankings.codes[mentions]
    return weighted_counts(
        columns, np.repeat(rankings.multiplicities[voting] / sizes, sizes), rankings.support_offsets[-1]
    )


# The maximum within components ----------------------------------------------------------------------------


class Expected(NamedTuple):
    """Hold the arrays that expectations are worked out in, and five iterates of the weights."""

    iterates: FloatArray
    totals: FloatArray
    exposure: FloatArray
    masses: FloatArray
    pending: FloatArray
    lam: FloatArray
    tau: FloatArray
    table: FloatArray
    mass: FloatArray
    flow: FloatArray


def expectation_room(races: Races) -> Expected:
    """Make room for the largest case."""
    columns, n_races = np.diff(races.column_offsets).max(initial=1), np.diff(races.race_offsets).max(initial=1)
    size = np.diff(races.tie_code_offsets).max(initial=1)
    subsets = 1 << min(size, LATTICE_MOST)
    sizes = (columns, columns, n_races, n_races, size, size, subsets, subsets, subsets)
    return Expected(np.empty((5, columns)), *(np.empty(n) for n in sizes))


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


@inner
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
def improve(wins: FloatArray, room: Expected, labels: IntArray, theta: FloatArray, better: FloatArray) -> float:
    """Take one EM step, each component normalised, and return the largest relative gradient before it."""
    exposure, gradient, n_wins = room.exposure, 0.0, 0.0
    for k in range(len(theta)):
        gradient = max(gradient, abs(wins[k] - theta[k] * exposure[k]))
        n_wins += wins[k]
        better[k] = wins[k] / exposure[k] if wins[k] > 0.0 else theta[k]
    normalise(labels, better, room.totals)
    return gradient / max(n_wins, 1e-300)


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
    races: Races,
    wins: FloatArray,
    labels: IntArray,
    limits: tuple[float, int],
    estimate: Estimate,
    room: Expected,
) -> None:
    """Iterate each case to its maximum, normalised within components.

    ``labels`` are those of :func:`top_components`, restricted. Rows of x: the iterate, what one and two EM steps
    make of it, the extrapolation of the three, and what an EM step makes of that.
    """
    tolerance, most = limits
    x, totals = room.iterates, room.totals
    for i in range(len(races.race_offsets) - 1):
        begin, end = races.column_offsets[i], races.column_offsets[i + 1] - 1
        wins_here, labels_here, theta = wins[begin:end], labels[begin:end], estimate.values[begin:end]
        n = end - begin
        for k in range(n):
            x[0, k] = 1.0
        normalise(labels_here, x[0][:n], totals)
        row, steps, gradient, height = 0, 0, np.inf, -np.inf
        while row > 0 or steps < most:
            before, height = height, expect_exposure(races, i, x[row][:n], room)
            change = improve(wins_here, room, labels_here, x[row][:n], x[row + 1][:n])
            steps += 1
            if row == 0:
                row, gradient = 1, change
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
        estimate.iterations[i], estimate.gradients[i] = steps, gradient
        estimate.is_converged[i] = gradient < tolerance


def maximum_likelihood(rankings: Rankings, *, below: bool, tolerance: float = 1e-10, most: int = 100_000) -> Estimate:
    """Find the plausibilities that maximise the likelihood of the rankings of each case.

    Conditions outside the top components, unmentioned ones among them, get exactly zero: the likelihood
    approaches its supremum as their weights vanish. A case without usable rankings gets the uniform
    distribution on its support, or all mass on the rest when it has no support.

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
    rankings = plain_rankings(rankings)
    labels = top_components(rankings, below)
    restricted = restrict(rankings, labels)
    races = group_rankings(restricted, below=below)
    n_cases, n_columns = len(rankings.n_unmentioned), races.column_offsets[-1]
    top = np.flatnonzero(labels >= 0)
    case = row_of_each(rankings.support_offsets)[top]
    column = np.arange(len(top)) + case  # after the columns of each case comes that of its rest, which is empty
    inner_labels = np.zeros(n_columns, dtype=np.int64)
    first_member = np.searchsorted(top, rankings.support_offsets[case] + labels[top])
    inner_labels[column] = first_member - restricted.support_offsets[case]
    estimate = Estimate(
        values=np.zeros(n_columns),
        iterations=np.zeros(n_cases, dtype=np.int64),
        gradients=np.zeros(n_cases),
        is_converged=np.ones(n_cases, dtype=np.bool_),
    )
    maximise(races, all_wins(races), inner_labels, (tolerance, most), estimate, expectation_room(races))
    shares = component_shares(first_votes(rankings)[top], case, first_member, np.diff(restricted.support_offsets))
    values = np.zeros(rankings.support_offsets[-1] + n_cases)
    values[rankings.support_offsets[1:] + np.arange(n_cases)] = np.diff(rankings.support_offsets) == 0
    values[top + case] = estimate.values[column] * shares
    return estimate._replace(values=values)


def all_wins(races: Races) -> FloatArray:
    """Count the races that each condition won, alone or as one of a tied block; shape (sum of U + 1,)."""
    sizes = np.diff(races.tie_code_offsets)
    columns = np.repeat(races.column_offsets[:-1], np.diff(races.tie_offsets))
    members = races.tie_codes + np.repeat(columns, sizes)
    return races.wins + weighted_counts(members, np.repeat(races.tie_counts, sizes), len(races.wins))


def component_shares(votes: FloatArray, case: IntArray, first_member: IntArray, n_members: IntArray) -> FloatArray:
    """Divide the mass of each case among its components by votes; without any vote, by their sizes."""
    in_component = weighted_counts(first_member, votes, len(votes))[first_member]
    in_case = weighted_counts(case, votes, len(n_members))[case]
    size = np.bincount(first_member, minlength=len(votes))[first_member]
    return np.where(in_case > 0.0, in_component / np.maximum(in_case, 1e-300), size / n_members[case])
