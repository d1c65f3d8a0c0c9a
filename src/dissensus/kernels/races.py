"""Group the rankings of a case by what still runs: the races that a Plackett-Luce kernel has to hold.

A stage of a ranking is a race among the conditions that are not yet ranked. Its waiting time depends on
nothing but that set, so stages of different rankings with the same set are held as one race, whose
multiplicity is the sum of theirs; identical rankings coincide in all their races. The races of a case form
a graph: a race leads to a smaller one, when the conditions of a block have arrived (its *step*).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.kernels.randomness import Keys, subkeys


class Rankings(NamedTuple):
    """Hold the rankings of a study with conditions numbered within the support of their case.

    Attributes
    ----------
    support_offsets : (n_cases + 1,)
        Case ``i`` mentions ``U = support_offsets[i + 1] - support_offsets[i]`` conditions.
    ranking_offsets : (n_cases + 1,)
        Rankings of each case.
    block_offsets : (n_rankings + 1,)
        Blocks of each ranking; none for an abstention.
    code_offsets : (n_blocks + 1,)
        Conditions of each block.
    codes : (n_mentions,)
        Positions in the support of the case, 0 to U - 1.
    multiplicities : (n_rankings,)
        How often each ranking counts: reliability times weight. Zero drops it.
    n_unmentioned : (n_cases,)
        Members of the rest. When positive, the rest takes part as condition number U.
    """

    support_offsets: IntArray
    ranking_offsets: IntArray
    block_offsets: IntArray
    code_offsets: IntArray
    codes: IntArray
    multiplicities: FloatArray
    n_unmentioned: IntArray


class Races(NamedTuple):
    """Hold the races of all cases.

    Attributes
    ----------
    race_offsets : (n_cases + 1,)
        The races of each case; larger sets of running conditions first.
    counts : (n_races,)
        How often each race is won by a single condition.
    successors : (n_races,)
        A later race of the case, counted from its first, whose set is this one without the step; -1 when
        the step is the whole set.
    step_offsets : (n_races + 1,)
        The steps of the races.
    steps : (sum of step sizes,)
        Conditions in this race and not in its successor, 0 to U - 1, and U for the rest.
    tie_offsets : (n_cases + 1,)
        The tied blocks of each case.
    tie_races, tie_successors : (n_ties,)
        The race in which the block runs, and the race of all that is behind the block, counted from the
        first of the case.
    tie_counts : (n_ties,)
        How often each tied block was given.
    tie_code_offsets : (n_ties + 1,)
        The members of the tied blocks.
    tie_codes : (sum of tie sizes,)
        Conditions, 0 to U - 1.
    wins : (sum of U + 1,)
        How often each condition won a race as a single condition (ties not counted); rest last, 0.
    column_offsets : (n_cases + 1,)
        The U + 1 columns of each case: support, then rest.
    """

    race_offsets: IntArray
    counts: FloatArray
    successors: IntArray
    step_offsets: IntArray
    steps: IntArray
    tie_offsets: IntArray
    tie_races: IntArray
    tie_successors: IntArray
    tie_counts: FloatArray
    tie_code_offsets: IntArray
    tie_codes: IntArray
    wins: FloatArray
    column_offsets: IntArray


class Boundaries(NamedTuple):
    """Hold the sets of running conditions that the rankings pass through, one row per set and ranking.

    ``cases``, ``sizes`` and two ``keys`` identify a set; ``blocks`` is the block that comes next;
    ``is_stage`` tells whether that block competes with anything behind it; ``goes_on`` tells whether the
    next row is the set that remains after it.
    """

    cases: IntArray
    rankings: IntArray
    blocks: IntArray
    sizes: IntArray
    keys: Keys
    is_stage: BoolArray
    goes_on: BoolArray


def trace_boundaries(rankings: Rankings, below: bool) -> Boundaries:
    """List the sets that each ranking passes through, leaving out those that nothing depends on.

    A condition is put into a set, or taken out of it, by exclusive or with its random-looking keys.
    """
    block_offsets, code_offsets, codes = rankings.block_offsets, rankings.code_offsets, rankings.codes
    used = np.flatnonzero((np.diff(block_offsets) > 0) & (rankings.multiplicities > 0.0))
    row, blocks = spans(block_offsets[used], block_offsets[used + 1] + 1)
    cases, ranking = row_of_each(rankings.ranking_offsets)[used][row], used[row]
    first, last = block_offsets[ranking], block_offsets[ranking + 1]
    begin, here, end = code_offsets[first], code_offsets[blocks], code_offsets[last]
    n_running = running(rankings)
    sizes = (n_running[cases] if below else end - begin) - (here - begin)
    block = np.where(blocks < last, np.append(np.diff(code_offsets), 0)[blocks], 0)
    is_stage = (blocks < last) & (sizes > block)
    is_kept = is_stage | ((np.roll(block, 1) > 1) & (blocks > first) & (sizes > 0))
    goes_on = np.append(is_kept[:-1] & is_kept[1:] & (row[:-1] == row[1:]), np.zeros(len(row[:1]), dtype=np.bool_))
    numbers = np.arange(n_running.max(initial=0), dtype=np.uint64)
    own = np.stack([subkeys(np.full(1, part, dtype=np.uint64), numbers) for part in range(2)], axis=1)
    everyone, mentioned = (np.bitwise_xor.accumulate(np.insert(one, 0, 0, axis=0)) for one in (own, own[codes]))
    whole = everyone[n_running[cases]] if below else mentioned[begin] ^ mentioned[end]
    keys = whole ^ mentioned[begin] ^ mentioned[here]
    return Boundaries._make(column[is_kept] for column in (cases, ranking, blocks, sizes, keys, is_stage, goes_on))


def running(rankings: Rankings) -> IntArray:
    """Count the conditions of each case that run at first, the rest being one of them."""
    return np.diff(rankings.support_offsets) + (rankings.n_unmentioned > 0)


def spans(starts: IntArray, stops: IntArray) -> tuple[IntArray, IntArray]:
    """Name the row of each number of some ranges, and the number."""
    offsets = offsets_from_lengths(stops - starts)
    row = row_of_each(offsets)
    return row, np.arange(len(row)) + (starts - offsets[:-1])[row]


def steps_of(rankings: Rankings, chosen: Boundaries, below: bool) -> IntArray:
    """Write out the step of each race, as its chosen boundary has it: the next block, or all that still runs."""
    code_offsets, codes, blocks = rankings.code_offsets, rankings.codes, chosen.blocks
    first, last = (rankings.block_offsets[chosen.rankings + more] for more in range(2))
    is_listed = chosen.goes_on | (not below)
    stops = np.where(chosen.goes_on, np.minimum(blocks + 1, last), np.where(is_listed, last, blocks))
    race, listed = spans(code_offsets[blocks], code_offsets[stops])
    others = np.flatnonzero(~is_listed)
    begin = offsets_from_lengths(running(rankings)[chosen.cases[others]])
    owner, arrived = spans(code_offsets[first[others]], code_offsets[blocks[others]])
    is_left = np.ones(begin[-1], dtype=np.bool_)
    is_left[begin[owner] + codes[arrived]] = False
    left = np.flatnonzero(is_left)
    owner = row_of_each(begin)[left]
    order = np.argsort(np.concatenate([race, others[owner]]), kind="stable")
    return np.concatenate([codes[listed], left - begin[owner]])[order]


def offsets_of(rows: IntArray, n_rows: int) -> IntArray:
    """Turn the ascending row of each element into the offsets of the rows."""
    return np.searchsorted(rows, np.arange(n_rows + 1)).astype(np.int64)


def group_rankings(rankings: Rankings, *, below: bool) -> Races:
    """Find the races that the rankings of each case consist of.

    Parameters
    ----------
    rankings
        Flat arrays, conditions numbered within the support of their case.
    below
        Whether conditions that are not mentioned run in every race of the case (unranked "below"), or
        only the conditions that the ranking mentions run (unranked "unobserved").

    Notes
    -----
    Abstentions and rankings of multiplicity zero are left out. A block behind which nothing remains has
    probability one and is no stage. Sets are recognised by 128 bits, so two different ones are confused
    with a probability below 1e-25 even for a million of them.
    """
    rows = trace_boundaries(rankings, below)
    n_cases = len(rankings.n_unmentioned)
    race, chosen = identify_races(rows)
    race_offsets = offsets_of(rows.cases[chosen], n_cases)
    local = np.append(race - race_offsets[rows.cases], -1)
    block_sizes = np.append(np.diff(rankings.code_offsets), 0)
    goes_on = rows.goes_on[chosen]
    step_offsets = offsets_from_lengths(np.where(goes_on, block_sizes[rows.blocks[chosen]], rows.sizes[chosen]))
    column_offsets = rankings.support_offsets + np.arange(n_cases + 1)
    won = np.flatnonzero(rows.is_stage & (block_sizes[rows.blocks] == 1))
    winners = rankings.codes[rankings.code_offsets[rows.blocks[won]]] + column_offsets[rows.cases[won]]
    multiplicities = rankings.multiplicities[rows.rankings]
    tied, tie_counts = distinct_ties(rows, race, block_sizes, multiplicities)
    tie_code_offsets, mentions = take_rows(rankings.code_offsets, rows.blocks[tied])
    return Races(
        race_offsets=race_offsets,
        counts=weighted_counts(race[won], multiplicities[won], len(chosen)),
        successors=local[np.where(goes_on, chosen + 1, -1)],
        step_offsets=step_offsets,
        steps=steps_of(rankings, Boundaries._make(column[chosen] for column in rows), below),
        tie_offsets=offsets_of(rows.cases[tied], n_cases),
        tie_races=local[tied],
        tie_successors=local[tied + 1],
        tie_counts=tie_counts,
        tie_code_offsets=tie_code_offsets,
        tie_codes=rankings.codes[mentions],
        wins=weighted_counts(winners, multiplicities[won], column_offsets[-1]),
        column_offsets=column_offsets,
    )


def identify_races(rows: Boundaries) -> tuple[IntArray, IntArray]:
    """Find the distinct sets: the race of each row, and one row of each race, if possible one that goes on."""
    order = np.lexsort((~rows.goes_on, rows.keys[:, 1], rows.keys[:, 0], -rows.sizes, rows.cases))
    begins = begins_run(*(column[order] for column in (rows.cases, rows.sizes, *rows.keys.T)))
    race = np.empty(len(order), dtype=np.int64)
    race[order] = np.cumsum(begins) - 1
    return race, order[begins]


def distinct_ties(
    rows: Boundaries, race: IntArray, block_sizes: IntArray, multiplicities: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Find the distinct tied blocks, known by the races before and after: one row of each, and their counts."""
    tied = np.flatnonzero(rows.is_stage & (block_sizes[rows.blocks] > 1))
    ends = np.stack([race[tied], race[tied + 1]], axis=1)
    pairs, first, member = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    return tied[first], weighted_counts(member.ravel(), multiplicities[tied], len(pairs))
