"""Names of cases, conditions, models: all different, looked up by name, and hashed to keys of random streams.

The words in which studies are described have their types here too.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import BoolArray, IntArray, KeyArray
from dissensus.core.checks import Recent, check_length, is_list
from dissensus.core.errors import DissensusError, known_name, listing, suggestion

# A choice of cases: names, positions, a slice or a mask.
Cases: TypeAlias = "Sequence[str] | Sequence[int] | slice | IntArray | BoolArray"

# The column of each role, where anything is said; and the names by which columns are recognised, by role.
Said: TypeAlias = "Mapping[str, str | None]"
Aliases: TypeAlias = "Mapping[str, tuple[str, ...]]"

# What a study can be read from: a path, several, a data frame of any library, a dictionary, or a study.
Readable: TypeAlias = Any

# What it means not to be mentioned: below all that is mentioned, or not compared at all.
Unranked: TypeAlias = Literal["below", "unobserved"]

# What annotators were asked: which conditions, whether the last of two holds, or which of ordered grades.
Question: TypeAlias = Literal["conditions", "binary", "grades"]

# What annotators were asked, in any study: one of the above, which findings are present, or for a number.
AnyQuestion: TypeAlias = Literal["conditions", "binary", "grades", "findings", "numbers"]

# What to do with a condition that a ranking mentions again: nothing, keep the first mention, or the best one.
Duplicates: TypeAlias = Literal["refuse", "first", "best"]

# What confidences are used for: to order conditions, or to share one vote among them.
Confidence: TypeAlias = Literal["order", "share"]

# What a list of labels means: votes of several annotators, or the order or the tie of one.
Lists: TypeAlias = Literal["votes", "order", "tie"]

Block: TypeAlias = "Sequence[str] | Sequence[int] | IntArray"
Ranking: TypeAlias = Sequence[Block]
# case > annotator > block > condition, conditions as names or codes.
NestedRankings: TypeAlias = Sequence[Sequence[Ranking]]

# Tuples of names that are known to be all different, and none of them empty.
different_names = Recent()


def composed(name: object) -> str:
    """Return a name with its letters and accents put together (NFC), as names of files are read.

    >>> composed("e\u0301") == "\u00e9"
    True
    """
    return unicodedata.normalize("NFC", str(name))


def spelt(one: str, other: str) -> str:
    """Write two names, by their code points too where they look the same.

    >>> spelt("a", "A"), spelt("a", "\u0430")
    ("'a' and 'A'", "'a' (U+0061) and '\u0430' (U+0430)")
    """
    if one.isascii() and other.isascii():
        return f"{one!r} and {other!r}"
    return " and ".join(f"{name!r} ({' '.join(f'U+{ord(sign):04X}' for sign in name)})" for name in (one, other))


def check_names(what: str, names: Sequence[str]) -> None:
    """Refuse empty and repeated names."""
    if names in different_names:
        return
    different = set(names)
    if len(different) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        got, advice = f"{len(twice)} used more than once: {listing(twice)}", f"give every {what} a name of its own"
        raise DissensusError(f"{what} names must all be different", got=got, advice=advice)
    if "" in different:
        check_not_empty(what, names)
    different_names.add(names)


def check_not_empty(what: str, names: Sequence[str]) -> None:
    """Refuse a name without a letter, which no file could tell from a missing one."""
    if "" in names:
        article = "an" if what[0] in "aeiou" else "a"
        raise DissensusError(f"{article} {what} has an empty name", where=f"{what} {names.index('') + 1}")


def case_positions(cases: Cases, known: Mapping[str, int]) -> IntArray:
    """Turn names, positions, a slice or a mask into positions of cases."""
    everyone = np.arange(len(known), dtype=np.int64)
    if isinstance(cases, slice):
        return everyone[cases]
    try:
        chosen: npt.NDArray[Any] = np.asarray(cases) if is_list(cases) else np.empty(0)
    except ValueError:
        chosen = np.empty((0, 0))
    if chosen.ndim == 1 and not chosen.size and is_list(cases):
        return everyone[:0]
    if chosen.ndim != 1 or chosen.dtype.kind not in "Uiub":
        expected = "a list of names or of positions, a slice, or a mask with one entry per case"
        problem, got = "the choice of cases is not understood", f"{cases!r:.60}"
        advice = f"for one case, write [{cases!r}]" if isinstance(cases, str | int) else ""
        raise DissensusError(problem, expected=expected, got=got, advice=advice)
    if chosen.dtype.kind == "U":
        try:
            return np.fromiter(map(known.__getitem__, chosen.tolist()), dtype=np.int64, count=len(chosen))
        except KeyError as error:
            case, expected = error.args[0], f"one of {len(known)} cases"
            advice = suggestion(case, known)
            raise DissensusError(f"unknown case {case!r}", expected=expected, advice=advice) from None
    if chosen.dtype.kind == "b":
        check_length("mask value", len(chosen), len(known))
        return np.flatnonzero(chosen)
    outside = chosen[(chosen < -len(known)) | (chosen >= len(known))]
    if len(outside):
        expected = f"0 to {len(known) - 1}, or negative numbers that count from the end"
        raise DissensusError("there is no case at this position", expected=expected, got=str(outside[0]))
    return np.take(everyone, chosen)


def case_keys(names: Sequence[str]) -> KeyArray:
    """Hash names of cases to 64 bits, the same on every machine.

    >>> case_keys(["case 1"])
    array([...], dtype=uint64)
    """
    return _case_keys(tuple(names)).copy()


@lru_cache(maxsize=16)
def _case_keys(names: tuple[str, ...]) -> KeyArray:
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def in_order_of_keys(names: Sequence[str]) -> IntArray:
    """Return positions of cases by their keys, those of equal keys by name: an order that any list of them has.

    >>> one, other = ["case 2", "case 1", "case 3"], ["case 3", "case 2", "case 1"]
    >>> [one[place] for place in in_order_of_keys(one)] == [other[place] for place in in_order_of_keys(other)]
    True
    """
    return np.lexsort((np.array(names, dtype=np.str_), case_keys(names)))


def sampled_cases(names: Sequence[str], most: int) -> IntArray:
    """Choose cases by their keys, the smallest, and return their positions, ascending.

    Which ones does not depend on the order of the names, and those of a whole are found among those of its parts.

    >>> names = [f"case {i}" for i in range(9)]
    >>> chosen = {names[place] for place in sampled_cases(names, 4)}
    >>> chosen == {names[::-1][place] for place in sampled_cases(names[::-1], 4)}
    True
    """
    return np.sort(in_order_of_keys(names)[:most])


def checked_costs(costs: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """Return what a case, an opinion and so on cost, 1 by default; each must be positive.

    >>> checked_costs({"opinion": 5}, ("case", "opinion"))
    {'case': 1.0, 'opinion': 5.0}
    """
    found = dict.fromkeys(names, 1.0)
    for name, value in (costs or {}).items():
        if not 0 < value < float("inf"):
            problem, expected = f"the cost of one {name} must be positive", "a positive number"
            advice = "costs are relative: give what is cheap a small number, such as 0.01"
            raise DissensusError(problem, expected=expected, got=f"{float(value):g}", advice=advice)
        found[known_name("cost", name, names)] = float(value)
    return found
