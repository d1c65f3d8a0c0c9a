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
from dissensus.core.ragged import begins_run, offsets_from_lengths, take_rows, weighted_counts
from dissensus.kernels.jit import compiled, inner, plain_parts
from dissensus.kernels.randomness import Keys, subkey


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


@inner
def with_or_without(keys: tuple[np.uint64, np.uint64], code: int) -> tuple[np.uint64, np.uint64]:
    """Put a condition into a set, or take it out: its random-looking keys combine by exclusive or."""
    return keys[0] ^ subkey(np.uint64(0), np.uint64(code)), keys[1] ^ subkey(np.uint64(1), np.uint64(code))


@compiled
def trace_boundaries(rankings: Rankings, below: int, found: Boundaries) -> int:
    """List the sets that each ranking passes through, leaving out those that nothing depends on; return how many."""
    support_offsets, ranking_offsets, block_offsets, code_offsets, codes, multiplicities, n_unmentioned = rankings
    cases, rows, blocks, sizes, keys, stages, goes_on = found
    n = 0
    for i in range(len(n_unmentioned)):
        n_running = support_offsets[i + 1] - support_offsets[i] + (1 if n_unmentioned[i] > 0 else 0)
        for r in range(ranking_offsets[i], ranking_offsets[i + 1]):
            first, last = block_offsets[r], block_offsets[r + 1]
            if first == last or multiplicities[r] <= 0.0:
                continue
            key = (np.uint64(0), np.uint64(0))
            size = n_running if below else code_offsets[last] - code_offsets[first]
            for j in range(size):
                key = with_or_without(key, j if below else codes[code_offsets[first] + j])
            was_tied, previous_kept = False, False
            for b in range(first, last + 1):
                block = code_offsets[b + 1] - code_offsets[b] if b < last else 0
                is_stage = b < last and size > block
                kept = is_stage or (was_tied and size > 0)
                if kept:
                    cases[n], rows[n], blocks[n], sizes[n], stages[n] = i, r, b, size, is_stage
                    keys[n, 0], keys[n, 1] = key
                    goes_on[n] = False
                    if previous_kept:
                        goes_on[n - 1] = True
                    n += 1
                previous_kept, was_tied = kept, block > 1
                for j in range(code_offsets[b], code_offsets[b] + block):
                    key = with_or_without(key, codes[j])
                size -= block
    return n


@compiled
def fill_steps(
    rankings: Rankings, boundaries: Boundaries, chosen: IntArray, below: int, steps: IntArray, arrived: BoolArray
) -> None:
    """Write out the step of each race, as its chosen boundary has it; ``arrived`` is False before and after."""
    support_offsets, _, block_offsets, code_offsets, codes, _, n_unmentioned = rankings
    n = 0
    for race in range(len(chosen)):
        row = chosen[race]
        b, r, i = boundaries.blocks[row], boundaries.rankings[row], boundaries.cases[row]
        begin, end = code_offsets[block_offsets[r]], code_offsets[b]
        if boundaries.goes_on[row] or not below:
            last = b + 1 if boundaries.goes_on[row] else block_offsets[r + 1]
            for j in range(end, code_offsets[last]):
                steps[n] = codes[j]
                n += 1
            continue
        for j in range(begin, end):
            arrived[codes[j]] = True
        for k in range(support_offsets[i + 1] - support_offsets[i] + (1 if n_unmentioned[i] > 0 else 0)):
            if not arrived[k]:
                steps[n] = k
                n += 1
        for j in range(begin, end):
            arrived[codes[j]] = False


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
    rankings = plain_parts(rankings)
    most = len(rankings.codes) + 2 * len(rankings.multiplicities) + 1
    cases, of_ranking, blocks, sizes = np.empty((4, most), dtype=np.int64)
    is_stage, goes_on = np.empty((2, most), dtype=np.bool_)
    found = Boundaries(cases, of_ranking, blocks, sizes, np.empty((most, 2), dtype=np.uint64), is_stage, goes_on)
    n_rows = trace_boundaries(rankings, int(below), found)
    rows = Boundaries._make(column[:n_rows] for column in found)
    n_cases = len(rankings.n_unmentioned)
    race, chosen = identify_races(rows)
    race_offsets = offsets_of(rows.cases[chosen], n_cases)
    local = np.append(race - race_offsets[rows.cases], -1)
    block_sizes = np.append(np.diff(rankings.code_offsets), 0)
    goes_on = rows.goes_on[chosen]
    step_offsets = offsets_from_lengths(np.where(goes_on, block_sizes[rows.blocks[chosen]], rows.sizes[chosen]))
    steps = np.empty(step_offsets[-1], dtype=np.int64)
    arrived = np.zeros(rankings.support_offsets[-1] + 1, dtype=np.bool_)
    fill_steps(rankings, rows, chosen, int(below), steps, arrived)
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
        steps=steps,
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
