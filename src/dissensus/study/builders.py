"""From lists and arrays to studies: check every level, then flatten it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Sized
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from dissensus.core.aliases import BoolArray, Duplicates, FloatArray, IntArray, Unranked
from dissensus.core.checks import check_choice, check_length, check_most
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each, weighted_counts
from dissensus.study.panel import ANONYMOUS, Panel, check_sum_of_votes, place_of
from dissensus.study.question import ABSENT, NOT_ASSESSED, PRESENT, AnswerArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dissensus.study.study import Study

LEVELS = ("cases", "rankings of a case", "blocks of a ranking", "conditions of a block")
STEPS = ("case", "ranking", "block", "condition")

# Longer rankings are sorted to find a condition that is mentioned twice.
SHORT_RANKING = 12

SHOWN = 3
KEPT = {"first": "left out, the first mention counts", "best": "left out, the mention with the best rank counts"}

SHARED = (
    "shared by their confidences: each mention is a ranking of its own, its weight its share, and numbers of "
    "rankings and Krippendorff's alpha count every mention"
)


def panel_of(
    sizes: Sequence[int],
    *,
    case_names: Sequence[str] | None = None,
    annotator_names: Sequence[Any] | None = None,
    weights: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    case_weights: Sequence[float] | None = None,
    votes: IntArray | None = None,
) -> Panel:
    """Say who gave how many opinions on which case; names and weights are nested by case, or serve every case."""
    names = per_opinion(annotator_names, sizes, "annotator name") or [None] * sum(sizes)
    known = tuple(dict.fromkeys(str(name) for name in names if name is not None))
    codes = {name: code for code, name in enumerate(known)}
    return Panel(
        case_names=numbered_names(case_names, len(sizes)),
        opinion_offsets=offsets_from_lengths(sizes),
        annotators=np.array([ANONYMOUS if name is None else codes[str(name)] for name in names], dtype=np.int64),
        annotator_names=known,
        weights=as_numbers("weights", per_opinion(weights, sizes, "weight")),
        groups=() if groups is None else tuple(map(str, groups)),
        case_weights=as_numbers("case weights", case_weights),
        votes=np.empty(0, dtype=np.int64) if votes is None else votes,
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
) -> Study:
    """Put the codes of each block in order, refuse what no ranking can say, and make a study of them."""
    from dissensus.study.study import Study

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
    return Study(conditions, panel, block_offsets, code_offsets, codes, unranked)


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
    known, n_names = {name: code for code, name in enumerate(names)}, len(names)
    codes = np.array(
        [
            known.get(one, -1)
            if isinstance(one, str)
            else (
                int(one) if isinstance(one, Integral) and not isinstance(one, bool) and 0 <= int(one) < n_names else -1
            )
            for one in mentions
        ],
        dtype=np.int64,
    )
    wrong = np.flatnonzero(codes < 0)
    if len(wrong):
        mention, place = mentions[wrong[0]], where(int(wrong[0]))
        if isinstance(mention, str):
            raise unknown_condition(mention, names, place)
        is_code = isinstance(mention, Integral) and not isinstance(mention, bool)
        raise DissensusError(
            "a condition code is out of range" if is_code else "a condition is neither a name nor a code",
            expected=f"0 to {len(names) - 1}, as there are {len(names)} conditions"
            if is_code
            else "the name of a condition, or its code, at this depth of the lists",
            got=f"{mention!r:.60}",
            where=place,
        )
    return codes


def unknown_condition(name: str, names: Iterable[str], where: str = "") -> DissensusError:
    """Build the error for a condition that is not in the vocabulary."""
    return _unlisted("condition", name, tuple(names), where, "add it to the list of conditions, or correct the name")


def unknown_finding(name: str, findings: Sequence[str], where: str = "") -> DissensusError:
    """Build the error for a finding that is not on the list."""
    nothing = "say that it means that nothing was found (nothing=NAME, --nothing NAME)"
    return _unlisted("finding", name, findings, where, f"add it to the list, correct the name, or {nothing}")


def _unlisted(what: str, name: str, names: Sequence[str], where: str, advice: str) -> DissensusError:
    return DissensusError(
        f"unknown {what} {name!r}",
        expected=f"one of the {len(names)} listed {what}s",
        got=repr(name),
        where=where,
        advice=suggestion(name, names) or advice,
    )


def numbered_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Use the names given, or count from 0 as the codes do."""
    if names is None:
        return tuple(str(number) for number in range(count))
    check_length("case name", len(names), count)
    return tuple(str(name) for name in names)


def as_numbers(what: str, values: ArrayLike | None) -> FloatArray:
    """Return values as floats, or say that they are none."""
    try:
        return np.asarray(() if values is None else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError(f"the {what} are not numbers", got=f"{values!r:.60}") from error


def nested_levels(rankings: object) -> tuple[list[Any], ...]:
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


def per_opinion(values: Sequence[Any] | None, sizes: Sequence[int], what: str) -> list[Any] | None:
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


# Findings ---------------------------------------------------------------------------------------------


def checked_answers(answers: object, shape: tuple[int, ...], axes: Sequence[str]) -> AnswerArray:
    """Return answers as a read-only array of its own, or say what is wrong; any size fits a -1 in the ``shape``."""
    try:
        given = np.asarray(answers)
        given = given if given.dtype.kind in "iub" else np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError(
            "the answers are not an array of numbers", expected="1, 0, and -1 or nan", got=f"{answers!r:.60}"
        ) from error
    if given.ndim != len(shape) or any(size not in (-1, own) for size, own in zip(shape, given.shape, strict=True)):
        sizes = [f"{axis}s" if size < 0 else str(size) for axis, size in zip(axes, shape, strict=True)]
        expected = f"shape ({', '.join(sizes)}): by {', '.join(axes)}"
        raise DissensusError("the answers do not fit", expected=expected, got=f"shape {given.shape}")
    wrong = np.argwhere(~((np.abs(given) == 1) | (given == ABSENT) | np.isnan(given)))
    if len(wrong):
        raise DissensusError(
            "an answer is not understood",
            expected="1 (present), 0 (absent), -1 or nan (not assessed)",
            got=f"{given[tuple(wrong[0])]:g}",
            where=", ".join(f"{axis} {place + 1}" for axis, place in zip(axes, wrong[0], strict=True)),
        )
    frozen: AnswerArray = np.where(np.isnan(given), NOT_ASSESSED, given).astype(np.int8)
    frozen.flags.writeable = False
    return frozen


def checked_sizes(sets: Sequence[Any]) -> list[int]:
    """Count the checklists of each case, or say which case has none that could be counted."""
    for number, case in enumerate(sets, start=1):
        if isinstance(case, str) or not isinstance(case, Sequence):
            raise DissensusError(
                "the checklists of a case are not a list",
                expected="one set of findings per annotator, three lists deep: case > annotator > finding",
                got=f"{case!r:.60}",
                where=f"case {number}",
            )
    return [len(case) for case in sets]


def answers_of_set(present: Any, assessed: Any, names: tuple[str, ...], where: str) -> AnswerArray:
    """Answer for every finding, given those present and those assessed, ``None`` for all of them."""
    if present is None:
        return np.full(len(names), NOT_ASSESSED, dtype=np.int8)
    answers = np.full(len(names), ABSENT if assessed is None else NOT_ASSESSED, dtype=np.int8)
    if assessed is not None:
        answers[_finding_codes(assessed, names, where)] = ABSENT
    found = _finding_codes(present, names, where)
    unlooked = [names[code] for code in found if answers[code] == NOT_ASSESSED]
    if unlooked:
        raise DissensusError("a finding is present that was not assessed", got=listing(unlooked), where=where)
    answers[found] = PRESENT
    return answers


def _finding_codes(given: Any, names: tuple[str, ...], where: str) -> list[int]:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise DissensusError(
            "a checklist is not a set of findings",
            expected="names of findings, three lists deep: case > annotator > finding",
            got=f"{given!r:.60}",
            where=where,
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise unknown_finding(str(unknown[0]), names, where)
    return [names.index(name) for name in given]


# Mentions ---------------------------------------------------------------------------------------------


def check_mentioned_once(
    conditions: tuple[str, ...], panel: Panel, ranking_of_mention: IntArray, codes: IntArray
) -> None:
    """Refuse rankings that mention one condition twice; the mentions of a ranking stand together."""
    # To compare each mention with the next few clears short rankings, which nearly all are, without sorting.
    for shift in range(1, SHORT_RANKING):
        together = ranking_of_mention[shift:] == ranking_of_mention[:-shift]
        if not together.any():
            return
        if (together & (codes[shift:] == codes[:-shift])).any():
            break
    keys = np.sort(ranking_of_mention * len(conditions) + codes)
    twice = keys[1:][~begins_run(keys)[1:]]
    if len(twice):
        rankings, first = np.unique(twice // len(conditions), return_index=True)
        places = [_place(conditions, panel, int(key)) for key in twice[first[:SHOWN]]]
        mentions = f"{len(twice):,} repeated mention{'s' if len(twice) > 1 else ''}"
        raise DissensusError(
            f"condition {conditions[int(twice[0]) % len(conditions)]!r} is mentioned twice by one annotator",
            expected="every condition at most once in a ranking",
            got=f"{mentions} in {len(rankings):,} ranking{'s' if len(rankings) > 1 else ''}",
            where="; ".join(places) + (f"; and {len(rankings) - SHOWN:,} more" if len(rankings) > SHOWN else ""),
            advice="tell repeated rankings apart (annotation column), or say which mention counts: duplicates='first' "
            "or 'best' (--duplicates first)",
        )


def _place(conditions: tuple[str, ...], panel: Panel, key: int) -> str:
    ranking, code = divmod(key, len(conditions))
    return f"{place_of(panel, ranking)}, condition {conditions[code]!r}"


def without_repeats(
    duplicates: Duplicates,
    conditions: tuple[str, ...],
    panel: Panel,
    ranking: IntArray,
    rank: FloatArray,
    codes: IntArray,
    mentioned: BoolArray,
) -> tuple[BoolArray, tuple[Note, ...]]:
    """Mark the mentions that count, one per ranking and condition, and note how many others there are.

    All arrays have one entry per row; a smaller rank is better.
    """
    check_choice("duplicates", duplicates, get_args(Duplicates))
    if duplicates == "refuse":
        return mentioned, ()
    rows = np.flatnonzero(mentioned)
    keys = ranking[rows] * len(conditions) + codes[rows]
    order = np.lexsort((rank[rows], keys)) if duplicates == "best" else np.argsort(keys, kind="stable")
    again = order[~begins_run(keys[order])]
    if not len(again):
        return mentioned, ()
    kept = mentioned.copy()
    kept[rows[again]] = False
    places = tuple(_place(conditions, panel, int(key)) for key in np.unique(keys[again])[:SHOWN])
    return kept, (Note("repeated mentions of a condition", len(again), KEPT[duplicates], places, lost=True),)


def soft_votes(said: Study, confidences: FloatArray) -> tuple[Study, tuple[Note, ...]]:
    """Split every ranking into one ranking per mention, whose weight is its share of the confidences.

    Parameters
    ----------
    said
        Rankings by named annotators: a name is what tells that several rankings are the vote of one person.
    confidences : (n_mentions,)
        Positive numbers in the order of ``said.codes``.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], annotator_names=["Ann"])
    >>> votes, _ = soft_votes(said, np.array([3.0, 1.0]))
    >>> votes.to_rankings(), votes.weights
    ([[[['a']], [['b']]]], array([0.75, 0.25]))
    """
    spoken = said.mentions_per_ranking
    if (said.annotators[spoken > 1] == ANONYMOUS).any():
        raise DissensusError(
            "a soft vote needs the name of its annotator",
            expected="an annotator in every row, so that several rankings are known to be the vote of one person",
            got="confidences of nobody in particular",
            advice="name the column (annotator=..., --column annotator=NAME), or let confidences order (order)",
        )
    parts = np.maximum(spoken, 1)
    opinion = np.repeat(np.arange(said.n_rankings), parts)
    weights = said.weights[opinion].copy()
    is_mention = np.repeat(spoken > 0, parts)
    ranking = said.ranking_of_mention
    begins = begins_run(ranking)
    # by the largest, the first of each ranking, before by the sum: huge ones have none
    scaled = confidences / confidences[begins][np.cumsum(begins) - 1]
    weights[is_mention] *= scaled / weighted_counts(ranking, scaled, said.n_rankings)[ranking]
    panel = replace(
        said.panel,
        opinion_offsets=offsets_from_lengths(parts)[said.ranking_offsets],
        annotators=said.annotators[opinion],
        weights=weights,
        votes=said.votes[opinion],
    )
    one_each = np.arange(len(said.codes) + 1, dtype=np.int64)
    block_offsets = offsets_from_lengths(is_mention)
    votes = replace(said, panel=panel, block_offsets=block_offsets, code_offsets=one_each)
    return votes, (Note("soft votes", int((spoken > 0).sum()), SHARED),)
