"""Mean average overlap: how much two partial rankings have in common near the top, ties and all.

A ranking is a vector: the expected share of each condition in the first l places, for l = 1 to depth. Only mentioned
conditions have numbers of their own; all others share one, so no vector is ever written out over the K conditions.
"""

from __future__ import annotations

from collections import Counter
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
def mean_average_overlap(a: Ranking, b: Ranking, *, depth: int, n_conditions: int, normalised: bool = True) -> float:
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
    normalised
        Whether to divide by that geometric mean. Without it (UAO@L), a ranking with ties overlaps with itself by less
        than 1.

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
    >>> round(mean_average_overlap([[0, 1]], [[0, 1]], depth=2, n_conditions=5, normalised=False), 3)
    0.75
    """
    check_depth(depth, n_conditions)
    blocks = [*_blocks(a, "a"), *_blocks(b, "b")]
    flat = [condition for block in blocks for condition in block]
    known = {condition: code for code, condition in enumerate(dict.fromkeys(flat))}
    names, numbers = ([one for one in known if isinstance(one, str) == is_name] for is_name in (True, False))
    outside = [code for code in numbers if not 0 <= int(code) < n_conditions]
    mixed = listing([names[0], numbers[0]]) if names and numbers else ""
    many = f"{len(known)}: {listing(known)}" if len(known) > n_conditions else ""
    spelt = "raise n_conditions, or look for one condition that is spelled in two ways"
    for got, message, expected, advice in (
        (mixed, "names and codes of conditions are mixed", "names in both rankings, or codes in both", ""),
        (str(*outside[:1]), "a condition code is out of range", f"0 to {n_conditions - 1}", ""),
        (many, "the rankings mention more conditions than there are", f"at most {n_conditions} different names", spelt),
    ):
        if got:
            raise DissensusError(message, expected=expected, got=got, advice=advice)
    n_blocks = [len(a), len(b)]
    if not all(n_blocks):
        return 0.0
    codes = np.array([known[condition] for condition in flat], dtype=np.int64)
    code_offsets = offsets_from_lengths([len(block) for block in blocks])
    offsets = offsets_from_lengths(n_blocks)
    vectors, signs = soft_vectors(codes, code_offsets, offsets, depth, n_conditions, normalised=normalised)
    own, common = (vectors * vectors) @ signs, ((vectors[[0]] * vectors[[1]]) @ signs)[0]
    return min(1.0, float(common / np.sqrt(own.prod()) if normalised else common))


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
    blocks = [_listed(block, f"{name}, block {number}") for number, block in enumerate(_listed(ranking, name), start=1)]
    flat = [condition for block in blocks for condition in block]
    wrong = [one for one in flat if not isinstance(one, str | Integral) or isinstance(one, bool)]
    twice = [] if wrong else [one for one, count in Counter(flat).items() if count > 1]
    for bad, message, expected in (
        ([block for block in blocks if not block], "a block is empty", "at least one condition in every block"),
        (wrong, "a condition is neither a name nor a code", "text or whole numbers, two lists deep: block > condition"),
        (twice, f"condition {str(twice[:1])[1:-1]} is mentioned twice", "every condition at most once in a ranking"),
    ):
        if bad:
            raise DissensusError(message, expected=expected, got=f"{bad[0]!r:.60}", where=f"ranking {name}")
    return blocks


# Vectors ------------------------------------------------------------------------------------------------


def soft_rankings(said: Study, depth: int) -> tuple[Matrix, FloatArray]:
    """Turn every ranking of a study into a vector; see :func:`soft_vectors`. Abstentions are left out before."""
    return soft_vectors(said.codes, said.code_offsets, said.block_offsets, depth, said.n_conditions)


def soft_vectors(
    codes: IntArray,
    code_offsets: IntArray,
    block_offsets: IntArray,
    depth: int,
    n_conditions: int,
    *,
    normalised: bool = True,
) -> tuple[Matrix, FloatArray]:
    """Turn rankings into vectors, of length one if normalised, whose inner products are average overlaps.

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
    own = (within / places).sum(axis=1, keepdims=True)
    scale = 1 / np.sqrt(places) / np.sqrt(own if normalised else np.full_like(own, depth))
    different, position = np.unique(codes, return_inverse=True)
    columns = (position[:, None] * depth + np.arange(depth)).ravel()
    shape = (len(mentioned), len(different) * depth)
    named = csr_array(((excess * scale[ranking]).ravel(), columns, offsets * depth), shape=shape)
    half = places - n_conditions * rest / 2
    crossed = np.stack([rest + half, rest - half], axis=-1) * (scale / np.sqrt(2))[..., None]
    signs = np.append(np.tile([1.0, -1.0], depth), np.ones(shape[1]))
    return hstack([csr_array(crossed.reshape(len(mentioned), 2 * depth)), named], format="csr"), signs
