"""Mean average overlap: how much two partial rankings have in common near the top, ties and all.

A ranking is a vector: the expected share of each condition in the first l places, for l = 1 to depth. Only mentioned
conditions have numbers of their own; all others share one, so no vector is ever written out over the K conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, Ranking
from dissensus.core.checks import check_count, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import offsets_from_lengths, row_of_each
from dissensus.study.study import Study

# Rows of numbers: a sparse array of SciPy, or a dense one of NumPy.
Matrix: TypeAlias = Any


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
    blocks = [*_blocks(a, "a"), *_blocks(b, "b")]
    codes = _common_codes(blocks, n_conditions)
    n_blocks = [len(a), len(b)]
    if not all(n_blocks):
        return 0.0
    code_offsets = offsets_from_lengths([len(block) for block in blocks])
    vectors, signs = soft_vectors(codes, code_offsets, offsets_from_lengths(n_blocks), depth, n_conditions)
    own, common = (vectors * vectors) @ signs, ((vectors[[0]] * vectors[[1]]) @ signs)[0]
    return min(1.0, float(common / np.sqrt(own.prod())))


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


# Checks --------------------------------------------------------------------------------------------------


def _listed(value: Any, place: str) -> list[Any]:
    """Return the members of a list, or say what a ranking is."""
    is_one = isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0
    if is_one or not isinstance(value, Sequence | np.ndarray | set | frozenset):
        raise DissensusError(
            "a ranking must be a list of blocks",
            expected="blocks of tied conditions, best first: [['Eczema'], ['Psoriasis', 'Tinea']] or [[3], [0, 2]]",
            got=f"{value!r:.60}",
            where=f"ranking {place}",
            advice="a single label is [['name']]: one block with one condition",
        )
    return list(value)


def _blocks(ranking: Any, name: str) -> list[list[Any]]:
    """Take a ranking apart, or say why it is none."""
    blocks: list[list[Any]] = []
    seen: set[Any] = set()
    for number, value in enumerate(_listed(ranking, name), start=1):
        blocks.append(_listed(value, f"{name}, block {number}"))
        if not blocks[-1]:
            raise DissensusError("a block is empty", where=f"ranking {name}, block {number}", advice="leave it out")
        for condition in blocks[-1]:
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
    return blocks


def _common_codes(blocks: list[list[Any]], n_conditions: int) -> IntArray:
    """Translate the conditions of both rankings into codes that mean the same in both."""
    flat = [condition for block in blocks for condition in block]
    everything = list(dict.fromkeys(flat))
    named = [isinstance(condition, str) for condition in everything]
    by_name = any(named)
    if by_name and not all(named):
        raise DissensusError(
            "names and codes of conditions are mixed",
            expected="names in both rankings, or codes in both",
            got=listing([everything[named.index(True)], everything[named.index(False)]]),
        )
    outside = [] if by_name else [code for code in everything if not 0 <= int(code) < n_conditions]
    if outside:
        raise DissensusError(
            "a condition code is out of range",
            expected=f"0 to {n_conditions - 1}, as there are {n_conditions} conditions",
            got=str(outside[0]),
        )
    if len(everything) > n_conditions:
        raise DissensusError(
            "the rankings mention more conditions than there are",
            expected=f"at most {n_conditions} different names",
            got=f"{len(everything)}: {listing(everything)}",
            advice="raise n_conditions, or look for one condition that is spelled in two ways",
        )
    known = {condition: code if by_name else int(condition) for code, condition in enumerate(everything)}
    return np.array([known[condition] for condition in flat], dtype=np.int64)


# Vectors ------------------------------------------------------------------------------------------------


def soft_rankings(said: Study, depth: int) -> tuple[Matrix, FloatArray]:
    """Turn every ranking of a study into a vector; see :func:`soft_vectors`. Abstentions are left out before."""
    return soft_vectors(said.codes, said.code_offsets, said.block_offsets, depth, said.n_conditions)


def soft_vectors(
    codes: IntArray, code_offsets: IntArray, block_offsets: IntArray, depth: int, n_conditions: int
) -> tuple[Matrix, FloatArray]:
    """Turn rankings into vectors of length one whose inner products are mean average overlaps at ``depth``.

    For l places, the shares of a ranking are those of an unmentioned condition, r, plus the excess of the mentioned
    ones, and sum to l. With K conditions and m = l - K r / 2, the inner product of two rankings is r m' + r' m, which
    is half of (r + m) (r' + m') - (r - m) (r' - m'), plus the product of their excesses.

    Returns
    -------
    vectors, signs
        A sparse row per ranking, and the sign with which each component counts.
    """
    from scipy.sparse import csr_array, hstack

    places = np.arange(1, depth + 1)

    def shares(before: IntArray, sizes: IntArray) -> FloatArray:
        """Return the chance that a condition of a block is in the first places, shape (n_blocks, depth)."""
        return np.clip((places - before[:, None]) / sizes[:, None], 0.0, 1.0)

    offsets, before = code_offsets[block_offsets], code_offsets[:-1]
    before = before - np.repeat(offsets[:-1], np.diff(block_offsets))
    ranking, mentioned = row_of_each(offsets), np.diff(offsets)
    rest = shares(mentioned, np.maximum(n_conditions - mentioned, 1))
    excess = shares(before, np.diff(code_offsets))[row_of_each(code_offsets)] - rest[ranking]
    within = 2 * places * rest - n_conditions * rest**2
    np.add.at(within, ranking, excess**2)
    scale = 1 / np.sqrt(places) / np.sqrt((within / places).sum(axis=1, keepdims=True))
    different, position = np.unique(codes, return_inverse=True)
    columns = (position[:, None] * depth + np.arange(depth)).ravel()
    shape = (len(mentioned), len(different) * depth)
    named = csr_array(((excess * scale[ranking]).ravel(), columns, offsets * depth), shape=shape)
    half = places - n_conditions * rest / 2
    crossed = np.stack([rest + half, rest - half], axis=-1) * (scale / np.sqrt(2))[..., None]
    signs = np.append(np.tile([1.0, -1.0], depth), np.ones(shape[1]))
    return hstack([csr_array(crossed.reshape(len(mentioned), 2 * depth)), named], format="csr"), signs
