"""Mean average overlap: how much two partial rankings have in common near the top, ties and all.

A ranking is a vector: the expected share of each condition in the first l places, for l = 1 to depth. Only mentioned
conditions have numbers of their own; all others share one, so no vector is ever written out over the K conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, Ranking
from dissensus.core.arguments import checked
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import offsets_from_lengths, row_of_each
from dissensus.study.rankings import Annotations

Matrix: TypeAlias = Any
"""Rows of numbers: a sparse array of SciPy, or a dense one of NumPy."""


@checked
def mean_average_overlap(a: Ranking, b: Ranking, *, depth: int, n_conditions: int) -> float:
    """Compare two partial rankings: 1 if they are the same, 0 if they share nothing down to the depth.

    The average overlap of two full rankings is the mean over l = 1 to depth of the share that their first l places have
    in common. For partial rankings the places of tied conditions are averaged over all orders of the tie, and the
    result is divided by the geometric mean of each ranking's overlap with itself ([stutz], appendix "Average overlap
    with partial rankings": meanAO@L).

    Parameters
    ----------
    a, b
        Blocks of conditions, best first, as codes from 0 or as names. Conditions that are not mentioned form a last
        block, written out or not. A ranking without blocks says nothing, and overlaps with nothing: 0, even with
        itself. Someone who finds all conditions equally likely says so in one block of all of them.
    depth
        How many places count, L: 1 to ``n_conditions``. An average over no places is refused.
    n_conditions
        Number of conditions in all, K.

    Notes
    -----
    Time and memory are proportional to the mentioned conditions times the depth, whatever K is. Two rankings without a
    common condition still overlap a little when the depth reaches conditions that they do not mention. The authors'
    released code has 0 for an empty ranking too; for a depth of 0 it has 0, where this function asks for a depth.
    Abstentions of a study never come so far: :func:`pairwise_agreement` and :func:`krippendorff_alpha` leave them out.

    Examples
    --------
    >>> round(mean_average_overlap([["Eczema"], ["Tinea"]], [["Tinea"], ["Eczema"]], depth=2, n_conditions=419), 3)
    0.5
    >>> round(mean_average_overlap([[0], [1, 2]], [[0], [1], [2]], depth=2, n_conditions=5), 3)
    0.935
    """
    check_depth(depth, n_conditions)
    blocks = _blocks(a, "a"), _blocks(b, "b")
    codes = _common_codes(*blocks, n_conditions)
    if not all(blocks):
        return 0.0
    one, other = (_soft(*ranking, depth, n_conditions) for ranking in zip(codes, blocks, strict=True))
    self_overlaps = _overlap(one, one, n_conditions) * _overlap(other, other, n_conditions)
    return min(1.0, _overlap(one, other, n_conditions) / float(np.sqrt(self_overlaps)))


def check_depth(depth: int, n_conditions: int) -> None:
    """Refuse a depth that is not between one and the number of conditions."""
    check_count(depth=depth, n_conditions=n_conditions)
    if depth > n_conditions:
        raise DissensusError(
            "the depth is larger than the number of conditions",
            expected=f"1 to {n_conditions}",
            got=str(depth),
            advice=f"pass depth={n_conditions} or less",
        )


# Two rankings --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Soft:
    """Hold the expected shares of one ranking in the first l places.

    ``excess`` (mentioned, depth) is the share of each mentioned condition minus that of an unmentioned one, which is
    ``rest`` (depth,).
    """

    codes: IntArray
    excess: FloatArray
    rest: FloatArray


def _soft(codes: IntArray, blocks: list[list[Any]], depth: int, n_conditions: int) -> _Soft:
    sizes = np.array([len(block) for block in blocks], dtype=np.int64)
    before = offsets_from_lengths(sizes)[:-1]
    rest = _rest_shares(np.array([len(codes)]), n_conditions, depth)
    excess = np.repeat(_shares(before, sizes, depth), sizes, axis=0) - rest
    return _Soft(codes, excess, rest[0])


def _shares(before: IntArray, sizes: IntArray, depth: int) -> FloatArray:
    """Return the chance that a condition of a block is in the first 1 to ``depth`` places, shape (n_blocks, depth)."""
    places = np.arange(1, depth + 1)
    return np.clip((places - before[:, None]) / sizes[:, None], 0.0, 1.0)


def _rest_shares(mentioned: IntArray, n_conditions: int, depth: int) -> FloatArray:
    """Return the same for a condition that is not mentioned, per ranking; zero where there is none."""
    return _shares(mentioned, np.maximum(n_conditions - mentioned, 1), depth)


def _overlap(one: _Soft, other: _Soft, n_conditions: int) -> float:
    """Return the average overlap before it is normalised, UAO: shares of each sum to l in the first l places."""
    places = np.arange(1, len(one.rest) + 1)
    _, at_one, at_other = np.intersect1d(one.codes, other.codes, assume_unique=True, return_indices=True)
    common = (one.excess[at_one] * other.excess[at_other]).sum(axis=0)
    spread = places * (one.rest + other.rest) - n_conditions * one.rest * other.rest
    return float(((common + spread) / places).mean())


def _blocks(ranking: Any, name: str) -> list[list[Any]]:
    """Take a ranking apart, or say why it is none."""
    if not _is_list(ranking):
        raise _not_a_ranking(ranking, name)
    blocks = []
    for number, block in enumerate(ranking, start=1):
        if not _is_list(block):
            raise _not_a_ranking(block, f"{name}, block {number}")
        if not len(block):
            raise DissensusError("a block is empty", where=f"ranking {name}, block {number}", advice="leave it out")
        blocks.append(list(block))
    _check_conditions([condition for block in blocks for condition in block], name)
    return blocks


def _is_list(value: object) -> bool:
    is_one = isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Sequence | np.ndarray | set | frozenset) and not is_one


def _not_a_ranking(value: object, place: str) -> DissensusError:
    return DissensusError(
        "a ranking must be a list of blocks",
        expected="blocks of tied conditions, best first: [['Eczema'], ['Psoriasis', 'Tinea']] or [[3], [0, 2]]",
        got=f"{value!r:.60}",
        where=f"ranking {place}",
        advice="a single label is [['name']]: one block with one condition",
    )


def _check_conditions(conditions: list[Any], name: str) -> None:
    """Refuse conditions that are neither names nor codes, and conditions that are mentioned twice."""
    seen: set[Any] = set()
    for condition in conditions:
        if not isinstance(condition, str | Integral) or isinstance(condition, bool):
            raise DissensusError(
                "a condition is neither a name nor a code",
                expected="text or a whole number, two lists deep: block > condition",
                got=f"{condition!r:.60}",
                where=f"ranking {name}",
            )
        if condition in seen:
            raise DissensusError(
                f"condition {condition!r} is mentioned twice",
                expected="every condition at most once in a ranking",
                where=f"ranking {name}",
            )
        seen.add(condition)


def _common_codes(a: list[list[Any]], b: list[list[Any]], n_conditions: int) -> tuple[IntArray, IntArray]:
    """Translate the conditions of both rankings into codes that mean the same in both."""
    flat = [[condition for block in ranking for condition in block] for ranking in (a, b)]
    everything = list(dict.fromkeys(flat[0] + flat[1]))
    named = [isinstance(condition, str) for condition in everything]
    by_name = any(named)
    if by_name and not all(named):
        raise DissensusError(
            "names and codes of conditions are mixed",
            expected="names in both rankings, or codes in both",
            got=listing([everything[named.index(True)], everything[named.index(False)]]),
        )
    (_check_vocabulary if by_name else _check_codes)(everything, n_conditions)
    known = {condition: code if by_name else int(condition) for code, condition in enumerate(everything)}
    one, other = (np.array([known[condition] for condition in part], dtype=np.int64) for part in flat)
    return one, other


def _check_vocabulary(names: list[str], n_conditions: int) -> None:
    if len(names) > n_conditions:
        raise DissensusError(
            "the rankings mention more conditions than there are",
            expected=f"at most {n_conditions} different names",
            got=f"{len(names)}: {listing(names)}",
            advice="raise n_conditions, or look for one condition that is spelled in two ways",
        )


def _check_codes(codes: list[Any], n_conditions: int) -> None:
    outside = [code for code in codes if not 0 <= int(code) < n_conditions]
    if outside:
        raise DissensusError(
            "a condition code is out of range",
            expected=f"0 to {n_conditions - 1}, as there are {n_conditions} conditions",
            got=str(outside[0]),
        )


# All rankings of a study ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SoftRankings:
    """Hold vectors whose inner products are mean average overlaps, or sums of such vectors.

    Attributes
    ----------
    totals : (n, depth)
        Sum of the vector over all conditions, for each number of places.
    rests : (n, depth)
        Its value at a condition that is not mentioned.
    excess : (n, mentioned conditions * depth)
        Its value at the mentioned conditions minus ``rests``, sparse (or dense for sums of many).
    n_conditions
        K.
    """

    totals: FloatArray
    rests: FloatArray
    excess: Matrix
    n_conditions: int

    def take(self, rows: IntArray) -> SoftRankings:
        """Select vectors by position."""
        return SoftRankings(self.totals[rows], self.rests[rows], self.excess[rows], self.n_conditions)

    def combined(self, weights: Matrix) -> SoftRankings:
        """Add vectors up, with weights (n_sums, n)."""
        return SoftRankings(
            np.asarray(weights @ self.totals),
            np.asarray(weights @ self.rests),
            weights @ self.excess,
            self.n_conditions,
        )

    def inner(self, other: SoftRankings) -> FloatArray:
        """Return the inner products of corresponding vectors, shape (n,)."""
        crossed = self.rests * other.totals + other.rests * self.totals - self.n_conditions * self.rests * other.rests
        common = np.asarray((self.excess * other.excess).sum(axis=1))
        return np.asarray(crossed.sum(axis=1) + common.ravel())


def soft_rankings(said: Annotations, depth: int) -> SoftRankings:
    """Turn every ranking into a vector of length one; their inner products are mean average overlaps at ``depth``.

    No ranking may be empty: abstentions are left out before.
    """
    places = np.arange(1, depth + 1)
    block, ranking = row_of_each(said.code_offsets), said.ranking_of_mention
    before = said.code_offsets[:-1] - said.code_offsets[said.block_offsets[:-1]][row_of_each(said.block_offsets)]
    rests = _rest_shares(said.mentions_per_ranking, said.n_conditions, depth)
    excess = _shares(before, said.block_sizes, depth)[block] - rests[ranking]
    within = 2 * places * rests - said.n_conditions * rests**2
    np.add.at(within, ranking, excess**2)
    scale = 1 / np.sqrt(places)
    length = np.sqrt((within / places).sum(axis=1, keepdims=True))
    return SoftRankings(
        places * scale / length,
        rests * scale / length,
        _sparse_rows(excess * scale / length[ranking], said.codes, said.code_offsets[said.block_offsets]),
        said.n_conditions,
    )


def _sparse_rows(values: FloatArray, codes: IntArray, offsets: IntArray) -> Matrix:
    """Lay out ``depth`` numbers per mention as rows, one per ranking, with columns for the mentioned conditions."""
    from scipy.sparse import csr_array

    depth = values.shape[1]
    mentioned, position = np.unique(codes, return_inverse=True)
    columns = position[:, None] * depth + np.arange(depth)
    shape = (len(offsets) - 1, len(mentioned) * depth)
    return csr_array((values.ravel(), columns.ravel(), offsets * depth), shape=shape)
