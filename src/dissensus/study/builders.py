"""From nested lists and counts to annotations: check every level, then flatten it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, NestedRankings, Unranked
from dissensus.core.checks import check_length, check_most
from dissensus.core.errors import DissensusError, suggestion
from dissensus.core.ragged import offsets_from_lengths, row_of_each
from dissensus.study.panel import ANONYMOUS, Panel, check_sum_of_votes, place_of
from dissensus.study.rankings import Annotations
from dissensus.study.repeats import check_mentioned_once

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEVELS = ("cases", "rankings of a case", "blocks of a ranking", "conditions of a block")
STEPS = ("case", "ranking", "block", "condition")


def annotations_from_rankings(
    rankings: NestedRankings,
    conditions: Sequence[str] | int | None,
    *,
    case_names: Sequence[str] | None,
    annotator_names: Sequence[str | None] | Sequence[Sequence[str | None]] | None,
    weights: Sequence[float] | Sequence[Sequence[float]] | None,
    groups: Sequence[str] | None,
    case_weights: Sequence[float] | None,
    unranked: Unranked,
) -> Annotations:
    """Check and flatten nested lists; see :meth:`Annotations.from_rankings`."""
    cases, ranked, blocks, mentions = _levels(rankings)
    names = condition_names(mentions, conditions)
    sizes = [len(case) for case in cases]
    annotators, known = annotator_codes(per_opinion(annotator_names, sizes, "annotator name"), len(ranked))
    panel = Panel(
        case_names=numbered_names(case_names, len(cases)),
        opinion_offsets=offsets_from_lengths(sizes),
        annotators=annotators,
        annotator_names=known,
        weights=_weights(per_opinion(weights, sizes, "weight"), len(ranked)),
        groups=group_names(groups),
        case_weights=as_numbers("case weights", case_weights),
    )
    block_offsets = offsets_from_lengths(len(ranking) for ranking in ranked)
    code_offsets = offsets_from_lengths(len(block) for block in blocks)
    first_mentions = code_offsets[block_offsets]
    codes = condition_codes(
        mentions, names, lambda at: place_of(panel, int(np.searchsorted(first_mentions, at, side="right")) - 1)
    )
    return assemble(names, panel, block_offsets, code_offsets, codes, unranked)


def annotations_from_counts(
    counts: ArrayLike,
    conditions: Sequence[str] | None,
    *,
    case_names: Sequence[str] | None,
    groups: Sequence[str] | None,
    unranked: Unranked,
) -> Annotations:
    """Build an anonymous ranking for every condition that has votes; see :meth:`Annotations.from_counts`."""
    matrix = checked_counts(counts)
    n_cases, n_conditions = matrix.shape
    names = condition_names([], n_conditions if conditions is None else conditions)
    check_length("condition", len(names), n_conditions)
    panel = voted_panel(matrix, numbered_names(case_names, n_cases), groups)
    one_each = np.arange(panel.n_opinions + 1, dtype=np.int64)
    return Annotations(names, panel, one_each, one_each, np.nonzero(matrix)[1], unranked)


def voted_panel(matrix: IntArray, case_names: tuple[str, ...], groups: Sequence[str] | None) -> Panel:
    """Return who gave the opinions of a matrix of votes: nobody in particular, one opinion for each number above 0."""
    votes = matrix[matrix > 0]
    return Panel(
        case_names=case_names,
        opinion_offsets=offsets_from_lengths((matrix > 0).sum(axis=1)),
        annotators=np.full(len(votes), ANONYMOUS, dtype=np.int64),
        groups=group_names(groups),
        votes=votes,
    )


def checked_counts(counts: ArrayLike) -> IntArray:
    """Return a matrix of votes as integers, or say what is wrong with it."""
    try:
        votes = np.asarray(counts)
    except ValueError as error:
        raise DissensusError(
            "counts must be a matrix", expected="rows of one length, one number per condition", got="ragged rows"
        ) from error
    if votes.ndim != 2:
        raise DissensusError("counts must be a matrix", expected="shape (cases, K)", got=f"shape {votes.shape}")
    if votes.dtype.kind not in "iufb":
        raise DissensusError("counts must be numbers", got=f"an array of {votes.dtype}")
    wrong = np.argwhere(~((votes >= 0) & (votes == np.floor(votes))))
    if len(wrong):
        row, column = wrong[0]
        raise DissensusError(
            "counts must be whole numbers, zero or more",
            got=str(votes[row, column]),
            where=f"row {row + 1}, column {column + 1}",
        )
    check_sum_of_votes(votes)
    return votes.astype(np.int64)


def assemble(
    conditions: tuple[str, ...],
    panel: Panel,
    block_offsets: IntArray,
    code_offsets: IntArray,
    codes: IntArray,
    unranked: Unranked,
) -> Annotations:
    """Put the codes of each block in order and refuse what no ranking can say."""
    if (np.diff(code_offsets) == 0).any():
        block = int(np.flatnonzero(np.diff(code_offsets) == 0)[0])
        ranking = int(row_of_each(block_offsets)[block])
        raise DissensusError(
            "a block is empty",
            expected="at least one condition in every block",
            where=place_of(panel, ranking),
            advice="leave the empty block out; an annotator who mentions nothing has no blocks at all",
        )
    if len(code_offsets) <= len(codes):
        first_key = row_of_each(code_offsets) * len(conditions)
        codes = np.sort(first_key + codes) - first_key
    check_mentioned_once(conditions, panel, row_of_each(code_offsets[block_offsets]), codes)
    return Annotations(conditions, panel, block_offsets, code_offsets, codes, unranked)


def condition_names(mentions: Sequence[Any], conditions: Sequence[str] | int | None) -> tuple[str, ...]:
    """Settle the vocabulary: given, counted, or found among the mentions."""
    if isinstance(conditions, Integral):
        check_most("conditions", int(conditions))
        return tuple(str(code) for code in range(int(conditions)))
    if conditions is not None:
        return tuple(str(name) for name in conditions)  # type: ignore[union-attr]
    if any(isinstance(mention, Integral) for mention in mentions):
        raise DissensusError(
            "integer codes need a list of conditions",
            expected="conditions=[name of code 0, name of code 1, ...]",
            got="codes without names",
            advice="pass the list, or the number of conditions if they have no names",
        )
    return tuple(sorted({str(mention) for mention in mentions}))


def condition_codes(
    mentions: Sequence[Any], names: tuple[str, ...], where: Callable[[int], str] = lambda _: ""
) -> IntArray:
    """Translate mentions, names or codes, into codes; ``where`` tells the place of a wrong one."""
    known = {name: code for code, name in enumerate(names)}
    codes = np.empty(len(mentions), dtype=np.int64)
    for position, mention in enumerate(mentions):
        code = known.get(mention) if isinstance(mention, str) else mention
        if not isinstance(code, Integral) or isinstance(code, bool) or not 0 <= int(code) < len(names):
            raise _unusable(mention, names, where(position))
        codes[position] = int(code)
    return codes


def _unusable(mention: object, names: tuple[str, ...], where: str) -> DissensusError:
    if isinstance(mention, str):
        return unknown_condition(mention, names, where)
    if isinstance(mention, Integral) and not isinstance(mention, bool):
        expected = f"0 to {len(names) - 1}, as there are {len(names)} conditions"
        return DissensusError("a condition code is out of range", expected=expected, got=str(mention), where=where)
    return DissensusError(
        "a condition is neither a name nor a code",
        expected="the name of a condition, or its code, at this depth of the lists",
        got=f"{mention!r:.60}",
        where=where,
    )


def unknown_condition(name: str, names: Iterable[str], where: str = "") -> DissensusError:
    """Build the error for a condition that is not in the vocabulary."""
    names = tuple(names)
    advice = suggestion(name, names) or "add it to the list of conditions, or correct the name"
    return DissensusError(
        f"unknown condition {name!r}",
        expected=f"one of the {len(names)} listed conditions",
        got=repr(name),
        where=where,
        advice=advice,
    )


def numbered_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Use the names given, or count from 0 as the codes do."""
    if names is None:
        return tuple(str(number) for number in range(count))
    check_length("case name", len(names), count)
    return tuple(str(name) for name in names)


def group_names(groups: Sequence[str] | None) -> tuple[str, ...]:
    """Return the groups as text."""
    return () if groups is None else tuple(str(group) for group in groups)


def as_numbers(what: str, values: ArrayLike | None) -> FloatArray:
    """Return values as floats, or say that they are none."""
    try:
        return np.asarray(() if values is None else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError(f"the {what} are not numbers", got=f"{values!r:.60}") from error


def _levels(rankings: object) -> tuple[list[Any], ...]:
    """Take the nested lists apart: all cases, all rankings, all blocks, all mentions."""
    levels: list[list[Any]] = [[rankings]]
    for what in LEVELS:
        for position, parent in enumerate(levels[-1]):
            is_text = isinstance(parent, str | bytes | dict) or getattr(parent, "ndim", 1) == 0
            if is_text or not isinstance(parent, Sequence | np.ndarray):
                raise DissensusError(
                    "rankings are nested to the wrong depth",
                    expected="case > annotator > block > condition, four lists deep",
                    got=f"{parent!r:.60} where a list of the {what} should be",
                    where=_place_in(levels, position),
                    advice="a ranking that is a single label is [['name']]: one block with one condition",
                )
        levels.append([child for parent in levels[-1] for child in parent])
    return tuple(levels[1:])


def _place_in(levels: Sequence[list[Any]], position: int) -> str:
    """Say where the last level's item at a position stands, counting from 1 as people do."""
    steps = []
    for depth in range(len(levels) - 1, 0, -1):
        starts = offsets_from_lengths(len(parent) for parent in levels[depth - 1])
        parent = int(np.searchsorted(starts, position, side="right")) - 1
        steps.append(f"{STEPS[depth - 1]} {position - starts[parent] + 1}")
        position = parent
    return ", ".join(reversed(steps))


def per_opinion(values: Sequence[Any] | None, sizes: list[int], what: str) -> list[Any] | None:
    """Return one value per opinion, from lists nested by case or from one list that serves every case."""
    if values is None:
        return None
    nested = any(isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) for value in values)
    by_case = list(values) if nested else [values] * len(sizes)
    if not all(isinstance(given, Sized) for given in by_case):
        raise DissensusError(f"the {what}s mix lists and single ones", expected="one list, or one list per case")
    check_length(f"case's {what} list", len(by_case), len(sizes))
    for case, (given, size) in enumerate(zip(by_case, sizes, strict=True), start=1):
        check_length(what, len(given), size, where=f"case {case}")
    return [value for given in by_case for value in given]


def annotator_codes(names: list[Any] | None, n_rankings: int) -> tuple[IntArray, tuple[str, ...]]:
    """Give the annotators numbers in order of appearance; ``None`` is nobody in particular."""
    if names is None:
        return np.full(n_rankings, ANONYMOUS, dtype=np.int64), ()
    known = tuple(dict.fromkeys(str(name) for name in names if name is not None))
    codes = {name: code for code, name in enumerate(known)}
    return np.array([ANONYMOUS if name is None else codes[str(name)] for name in names], dtype=np.int64), known


def _weights(weights: list[Any] | None, n_rankings: int) -> FloatArray:
    return np.ones(n_rankings) if weights is None else as_numbers("weights", weights)
