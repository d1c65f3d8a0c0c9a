"""The vocabulary of types: a handful of aliases carry the whole package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
SmallFloatArray: TypeAlias = npt.NDArray[np.float16]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
KeyArray: TypeAlias = npt.NDArray[np.uint64]

# The column of each role, where anything is said; and the names by which columns are recognised, by role.
Said: TypeAlias = "Mapping[str, str | None]"
Aliases: TypeAlias = "Mapping[str, tuple[str, ...]]"

# A place on disk.
Path: TypeAlias = "str | PathLike[str]"

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
