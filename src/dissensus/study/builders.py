"""From lists and arrays to studies: check every level, then flatten it.

Arrays of cases by annotators by conditions are those of the released code of [stutz]: either two, an order of all
conditions and the group of each place, or one of confidences. They have a row for as many annotators as the case with
the most of them has; a row that ranks nothing is an annotator who is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Sized
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_length, check_most, checked, is_list
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import Duplicates, Question, Unranked, composed, spelt
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each, weighted_counts
from dissensus.core.receipt import Note
from dissensus.core.screen import counted
from dissensus.study.panel import ANONYMOUS, Panel, check_sum_of_votes, place_of
from dissensus.study.question import ABSENT, NOT_ASSESSED, AnswerArray, asked_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dissensus.study.study import Study

    Rows3: TypeAlias = ArrayLike | Sequence[Sequence[ArrayLike]]
    """Rows by case and annotator: an array with three axes, or lists of any number of rows per case."""

LEVELS = ("cases", "rankings of a case", "blocks of a ranking", "conditions of a block")
STEPS = ("case", "ranking", "block", "condition")

# What to do about a name that is not listed.
ADVICE = {
    "condition": "add it to the list of conditions, or correct the name",
    "finding": "add it to the list, correct the name, or say that it means that nothing was found (nothing=NAME, "
    "--nothing NAME)",
}

# The group of conditions that an annotator does not rank.
UNRANKED = -1

# What errors call a finding, what is said about it, and where.
ANSWER = ("finding", "answer", "checklist")

# What to do with an array of too many axes.
OTHER_AXES = {
    2: "scores of conditions go to Predictions.from_scores",
    3: "average an ensemble over its members first; sets for several values of alpha are arrays of booleans",
}
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
    votes: IntArray | Sequence[int] = (),
) -> Panel:
    """Say who gave how many opinions on which case; names and weights are nested by case, or serve every case."""
    names = per_opinion(annotator_names, sizes, "annotator name") or []
    known = tuple(dict.fromkeys(str(name) for name in names if name is not None))
    codes = {name: code for code, name in enumerate(known)}
    coded = [ANONYMOUS if name is None else codes[str(name)] for name in names]
    return Panel(
        case_names=numbered_names(case_names, len(sizes)),
        opinion_offsets=offsets_from_lengths(sizes),
        annotators=np.array(coded, dtype=np.int64) if known else np.full(sum(sizes), ANONYMOUS, dtype=np.int64),
        annotator_names=known,
        weights=as_numbers("weights", per_opinion(weights, sizes, "weight")),
        groups=() if groups is None else tuple(map(str, groups)),
        case_weights=as_numbers("case weights", case_weights),
        votes=np.asarray(votes, dtype=np.int64),
    )


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


def numbered_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Use the names given, or count from 0 as the codes do."""
    if names is not None:
        check_length("case name", len(names), count)
    return tuple(map(str, range(count) if names is None else names))


def as_numbers(what: str, values: ArrayLike | None) -> FloatArray:
    """Return values as floats, or say that they are none."""
    try:
        return np.asarray(() if values is None else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError(f"the {what} are not numbers", got=f"{values!r:.60}") from error


def numeric_array(values: ArrayLike, what: str, form: str = "a matrix", expected: str = "(cases, K)") -> NDArray[Any]:
    """Return numbers as an array with the axes of a list or a matrix, or say what they are instead."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DissensusError(f"the {what} differ in length", expected=form, got=str(error)) from error
    n_axes = 2 if "K" in expected else 1
    if array.ndim != n_axes or array.dtype.kind not in "iufb":
        raise DissensusError(
            f"{what} must be {form}",
            expected=f"numbers in the shape {expected}",
            got=f"shape {array.shape} of {array.dtype}",
            advice=OTHER_AXES.get(array.ndim, "") if what != "counts" and array.ndim > n_axes else "",
        )
    return array


def checked_counts(counts: ArrayLike) -> IntArray:
    """Return a matrix of votes as integers, or say what is wrong with it."""
    votes = numeric_array(counts, "counts")
    wrong = np.argwhere(~((votes >= 0) & (votes == np.floor(votes))))
    if len(wrong):
        row, column = wrong[0]
        where = f"row {row + 1}, column {column + 1}"
        raise DissensusError("counts must be whole numbers, zero or more", got=str(votes[row, column]), where=where)
    check_sum_of_votes(votes)
    return votes.astype(np.int64)


# Conditions -------------------------------------------------------------------------------------------


def condition_names(mentions: Sequence[Any], conditions: Sequence[str] | int | None) -> tuple[str, ...]:
    """Settle the vocabulary: given, counted, or found among the mentions."""
    if isinstance(conditions, Integral):
        check_most("conditions", int(conditions))
        return numbered_names(None, int(conditions))
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


def is_code(one: Any) -> bool:
    """Tell a code of a condition: a whole number, and no answer."""
    return isinstance(one, Integral) and not isinstance(one, bool)


def condition_codes(
    mentions: Sequence[Any], names: tuple[str, ...], where: Callable[[int], str] = lambda _: ""
) -> IntArray:
    """Translate mentions, names or codes, into codes; ``where`` tells the place of a wrong one."""
    known = {name: code for code, name in enumerate(names)}

    def code(one: Any) -> int:
        if isinstance(one, str):
            return known.get(one, -1)
        return int(one) if is_code(one) and 0 <= int(one) < len(names) else -1

    codes = [code(one) for one in mentions]
    if -1 in codes:
        mention, place = mentions[codes.index(-1)], where(codes.index(-1))
        if isinstance(mention, str):
            raise unknown_condition(mention, names, place)
        problem = "a condition is neither a name nor a code"
        expected = "the name of a condition, or its code, at this depth of the lists"
        if is_code(mention):
            problem = "a condition code is out of range"
            expected = f"0 to {len(names) - 1}, as there are {len(names)} conditions"
        raise DissensusError(problem, expected=expected, got=f"{mention!r:.60}", where=place)
    return np.array(codes, dtype=np.int64)


def unknown_condition(name: str, names: Iterable[str], where: str = "", what: str = "condition") -> DissensusError:
    """Build the error for a condition, or a finding, that is not listed."""
    known = tuple(names)
    twin = next((f"{spelt(name, one)} look alike" for one in known if composed(one) == composed(name)), "")
    expected = f"one of the {len(known)} listed {what}s"
    advice = twin or suggestion(name, known) or ADVICE[what]
    return DissensusError(f"unknown {what} {name!r}", expected=expected, got=repr(name), where=where, advice=advice)


def nested_levels(rankings: object) -> tuple[list[Any], ...]:
    """Take the nested lists apart: all cases, all rankings, all blocks, all mentions."""
    levels: list[list[Any]] = [[rankings]]
    for what in LEVELS:
        for position, parent in enumerate(levels[-1]):
            is_text = isinstance(parent, str | bytes | dict) or getattr(parent, "ndim", 1) == 0
            if is_text or not isinstance(parent, Sequence | np.ndarray):
                steps: list[str] = []  # counted from 1, as people do
                for step, above in reversed([*zip(STEPS, levels[:-1], strict=False)]):
                    starts = offsets_from_lengths(map(len, above))
                    owner = int(np.searchsorted(starts, position, side="right")) - 1
                    steps.insert(0, f"{step} {position - starts[owner] + 1}")
                    position = owner  # noqa: PLW2901
                raise DissensusError(
                    "rankings are nested to the wrong depth",
                    expected="case > annotator > block > condition, four lists deep",
                    got=f"{parent!r:.60} where a list of the {what} should be",
                    where=", ".join(steps),
                    advice="a ranking that is a single label is [['name']]: one block with one condition",
                )
        levels.append([child for parent in levels[-1] for child in parent])
    return tuple(levels[1:])


def nested_mentions(
    rankings: object, conditions: Sequence[str] | int | None, **who: Any
) -> tuple[tuple[str, ...], Panel, IntArray, IntArray, IntArray]:
    """Flatten nested lists: the conditions, who speaks, and of each mention its ranking, its block and its code."""
    cases, ranked, blocks, mentions = nested_levels(rankings)
    names = condition_names(mentions, conditions)
    panel = panel_of([len(case) for case in cases], **who)
    ranking_of_block = row_of_each(offsets_from_lengths(map(len, ranked)))
    block = row_of_each(offsets_from_lengths(map(len, blocks)))
    empty = np.flatnonzero(np.bincount(block, minlength=len(blocks)) == 0)
    if len(empty):
        raise DissensusError(
            "a block is empty",
            expected="at least one condition in every block",
            where=place_of(panel, int(ranking_of_block[empty[0]])),
            advice="leave the empty block out; an annotator who mentions nothing has no blocks at all",
        )
    ranking = ranking_of_block[block]
    codes = condition_codes(mentions, names, lambda at: place_of(panel, int(ranking[at])))
    return names, panel, ranking, block, codes


# Rankings from mentions ---------------------------------------------------------------------------------


def assemble(
    names: tuple[str, ...], panel: Panel, ranking: IntArray, level: NDArray[Any], codes: IntArray, unranked: Unranked
) -> Study:
    """Put mentions into rankings: which each belongs to, a number that is smaller for better ones, its condition."""
    from dissensus.study.study import Study

    ascending = (ranking[1:] > ranking[:-1]) | ((ranking[1:] == ranking[:-1]) & (level[1:] >= level[:-1]))
    if not ascending.all():
        order = np.lexsort((level, ranking))
        ranking, level, codes = ranking[order], level[order], codes[order]
    without_repeats(names, panel, ranking, codes)
    code_offsets = np.flatnonzero(np.append(begins_run(ranking, level), True))
    first = code_offsets[:-1]
    if len(first) < len(codes):  # the codes of a block ascend
        first_key = row_of_each(code_offsets) * len(names)
        codes = np.sort(first_key + codes, kind="stable") - first_key
    of_block = ranking[first] if len(first) < len(codes) else ranking
    block_offsets = offsets_from_lengths(np.bincount(of_block, minlength=panel.n_opinions))
    return Study(names, panel, block_offsets, code_offsets, codes, unranked)


def without_repeats(
    names: tuple[str, ...],
    panel: Panel,
    opinion: IntArray,
    codes: IntArray,
    duplicates: Duplicates = "refuse",
    rank: FloatArray | None = None,
    *,
    nouns: tuple[str, str, str] = ("condition", "mention", "ranking"),
) -> tuple[IntArray, tuple[Note, ...]]:
    """Refuse that an opinion mentions a condition again, or tell which mentions do not count, with a note on them.

    All arrays have one entry per mention; a smaller rank is better.
    """
    keys = opinion * len(names) + codes
    keys.sort(kind="stable")  # in place, and fast where mentions of a ranking stand together
    if begins_run(keys).all():
        return np.empty(0, dtype=np.int64), ()
    keys = opinion * len(names) + codes
    order = np.lexsort((rank, keys)) if duplicates == "best" and rank is not None else np.argsort(keys, kind="stable")
    again = order[~begins_run(keys[order])]
    opinions, first = np.unique(opinion[again], return_index=True)
    what, mention, noun = nouns
    shown = [(place_of(panel, int(opinion[at]), noun), names[codes[at]]) for at in again[first[:SHOWN]]]
    places = tuple(f"{place}, {what} {name!r}" for place, name in shown)
    if duplicates != "refuse":
        return again, (Note(f"repeated {mention}s of a {what}", len(again), KEPT[duplicates], places, lost=True),)
    raise DissensusError(
        f"{what} {shown[0][1]!r} is {mention}ed twice by one annotator",
        expected=f"every {what} at most once in a {noun}",
        got=f"{counted(len(again), f'repeated {mention}')} in {counted(len(opinions), noun)}",
        where="; ".join(places) + (f"; and {len(opinions) - SHOWN:,} more" if len(opinions) > SHOWN else ""),
        advice=f"tell repeated {noun}s apart (annotation column), or say which {mention} counts: duplicates='first'"
        + (" or 'best'" if what == "condition" else "")
        + " (--duplicates first)",
    )


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
    opinion, is_mention = np.repeat(np.arange(said.n_rankings), parts), np.repeat(spoken > 0, parts)
    ranking, weights = said.ranking_of_mention, said.weights[opinion]
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
    votes = replace(said, panel=panel, block_offsets=offsets_from_lengths(is_mention), code_offsets=one_each)
    return votes, (Note("soft votes", int((spoken > 0).sum()), SHARED),)


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


def marked_findings(sets: Sequence[Any], names: tuple[str, ...], panel: Panel) -> BoolArray:
    """Mark the findings that each set names, shape (n_opinions, n_findings), or say where one is none of the names."""
    known = {name: code for code, name in enumerate(names)}
    marks = np.zeros((len(sets), len(names)), dtype=np.bool_)
    for opinion, given in enumerate(sets):
        if isinstance(given, str) or not isinstance(given, Collection):
            raise DissensusError(
                "a checklist is not a set of findings",
                expected="names of findings, three lists deep: case > annotator > finding",
                got=f"{given!r:.60}",
                where=place_of(panel, opinion, "checklist"),
            )
        codes = [known.get(name, -1) if isinstance(name, str) else -1 for name in given]
        if -1 in codes:
            unknown = str(list(given)[codes.index(-1)])
            raise unknown_condition(unknown, names, place_of(panel, opinion, "checklist"), "finding")
        marks[opinion, codes] = True
    return marks


# Arrays of rankings -------------------------------------------------------------------------------------

# The rows of all annotators, one below the other, and how many each case has.
Rows: TypeAlias = tuple[NDArray[Any], list[int]]


@checked
def from_ranking_arrays(
    rankings: Rows3,
    groups: Rows3,
    *,
    conditions: Sequence[str] | int | None = None,
    case_names: Sequence[str] | None = None,
    unranked: Unranked = "below",
    question: Question | None = None,
    positive: str | None = None,
) -> Study:
    """Build from orders of all conditions, and the group of each place, as the released code of [stutz] has them.

    Parameters
    ----------
    rankings : (n_cases, n_annotators, K)
        The codes 0 to K - 1 in the order of each annotator, best first. Cases may have different numbers of
        annotators: lists of rows, one list per case.
    groups
        Of the same shape: 0 for the first block of tied conditions, then 1, 2 and so on; -1, at the end, for
        conditions that are not ranked. A row of nothing but -1 is an annotator who is not there, and is left out.
    conditions, case_names, unranked, question, positive
        As in :meth:`Study.from_rankings`; by default conditions and cases are numbered from 0.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_ranking_arrays(
    ...     [[[0, 3, 2, 1], [1, 0, 2, 3]]], [[[0, 0, 1, -1], [-1, -1, -1, -1]]], conditions=["a", "b", "c", "d"])
    >>> said.to_rankings()
    [[[['a', 'd'], ['c']]]]
    """
    found = (codes, sizes), (levels, own) = stacked("rankings", rankings, "iu"), stacked("groups", groups, "iu")
    if codes.shape != levels.shape or sizes != own:
        both = [f"{len(each)} cases, {len(rows)} rows, {rows.shape[1]} conditions" for rows, each in found]
        raise DissensusError(
            "rankings and groups have different shapes",
            expected="one group for every place of every ranking",
            got=" and ".join(both),
        )
    codes, levels, everyone = codes.astype(np.int64), levels.astype(np.int64), panel_of(sizes, case_names=case_names)
    n_conditions = codes.shape[1]
    is_there = (levels != UNRANKED).any(axis=1)  # of annotators who are not there nothing is read
    before, after = levels[:, :-1], levels[:, 1:]
    goes_on = (before >= 0) & ((after == before) | (after == before + 1))
    are_groups = (levels[:, 0] == 0) & (goes_on | (after == UNRANKED)).all(axis=1)
    is_order = (np.sort(codes, axis=1) == np.arange(n_conditions)).all(axis=1)
    grouping = "0 for the first place, then the same or one more, and -1 at the end for what is not ranked"
    ordering = f"every code from 0 to {n_conditions - 1} once, ranked or not"
    for fits, cells, problem, expected in (
        (are_groups, levels, "the groups of a ranking are no groups", grouping),
        (is_order, codes, "a ranking is no order of all conditions", ordering),
    ):
        if (is_there & ~fits).any():
            wrong = int((is_there & ~fits).argmax())
            got, where = listing(cells[wrong].tolist(), most=12), place_of(everyone, wrong, "annotator")
            raise DissensusError(problem, expected=expected, got=got, where=where)
    row, place = np.nonzero(levels >= 0)
    confidences = np.zeros_like(levels)
    confidences[row, codes[row, place]] = n_conditions - levels[row, place]
    return _from_rows(confidences, everyone, conditions, unranked, question, positive)


@checked
def from_confidences(
    confidences: Rows3,
    conditions: Sequence[str] | int | None = None,
    *,
    case_names: Sequence[str] | None = None,
    unranked: Unranked = "below",
    question: Question | None = None,
    positive: str | None = None,
) -> Study:
    """Build from a confidence per case, annotator and condition, which the released code of [stutz] calls opinions.

    Parameters
    ----------
    confidences : (n_cases, n_annotators, K)
        The larger comes first, equal ones are tied, and 0 is not ranked. A row of nothing but 0 is an annotator
        who is not there, and is left out. Cases may have different numbers of annotators: lists of rows.
    conditions, case_names, unranked, question, positive
        As in :meth:`Study.from_rankings`; by default conditions and cases are numbered from 0.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_confidences([[[5, 0, 3, 5]], [[0, 0, 0, 0], [2, 2, 3, 0]]]).to_rankings()
    [[[['0', '3'], ['2']]], [[['2'], ['0', '1']]]]
    """
    rows, sizes = stacked("confidences", confidences, "iuf")
    return _from_rows(rows, panel_of(sizes, case_names=case_names), conditions, unranked, question, positive)


def _from_rows(
    rows: NDArray[Any],
    everyone: Panel,
    conditions: Sequence[str] | int | None,
    unranked: Unranked,
    question: Question | None,
    positive: str | None,
) -> Study:
    """Build from a confidence per condition in every row, which is what one annotator says, or nobody."""
    names = condition_names([], rows.shape[1] if conditions is None else conditions)
    check_length("condition", len(names), rows.shape[1])
    wrong = np.argwhere(~((rows >= 0) & (rows < np.inf)))
    if len(wrong):
        place, column = wrong[0]
        raise DissensusError(
            "confidences must be finite and not negative",
            expected="0 for a condition that is not ranked, more for one that is",
            got=str(rows[place, column]),
            where=f"{place_of(everyone, place, 'annotator')}, condition {names[column]!r}",
        )
    row, code = np.nonzero(rows)
    spoken, ranking = np.unique(row, return_inverse=True)
    said = assemble(names, everyone.keep(spoken), ranking, -rows[row, code].astype(np.float64), code, unranked)
    return asked_of(said, question, positive, are_ordered=True)


def stacked(what: str, values: Rows3, kind: str) -> Rows:
    """Put the rows of all cases one below the other, and count those of each; or say why they are none."""
    expected = "(cases, annotators, K), or a list per case of rows of K numbers"
    parts: list[NDArray[Any]] = []
    axes = getattr(values, "ndim", 0)
    width = values.shape[2] if axes == 3 else 0  # type: ignore[union-attr]
    cases: Any = values if axes > 1 or is_list(values) else ()
    for number, case in enumerate(cases, start=1):
        try:
            part, got = np.asarray(case), ""
        except (ValueError, TypeError, OverflowError):
            part, got = np.empty(0), "rows of different lengths"
        parts.append(part)
        if not part.size and part.ndim < 2 and not got:
            continue  # a case without rows
        width = width or (part.shape[1] if part.ndim == 2 else 0)
        if part.ndim != 2 or part.shape[1] != width:
            got, where = got or f"shape {part.shape}", f"case {number}"
            raise DissensusError(f"{what} have the wrong shape", expected=expected, got=got, where=where)
        if part.dtype.kind not in kind:
            numbers = "whole numbers" if kind == "iu" else "numbers"
            raise DissensusError(f"{what} must be {numbers}", got=f"an array of {part.dtype}")
    if not width:
        raise DissensusError(f"{what} have the wrong shape", expected=expected, got=f"{values!r:.60}")
    rows = [part for part in parts if part.ndim == 2] or [np.empty((0, width), dtype=np.int64)]
    return np.concatenate(rows), [len(part) for part in parts]


def to_ranking_arrays(said: Study) -> tuple[IntArray, IntArray]:
    """Write out as two arrays (n_cases, n_annotators, K), which :meth:`from_ranking_arrays` reads.

    Orders of all conditions, those that are not ranked last, and the group of each place. Cases with fewer
    annotators than others end with rows that rank nothing. So does an abstention, which does not come back.

    Examples
    --------
    >>> from dissensus import Study
    >>> rankings, groups = Study.from_rankings([[[[2], [0, 1]]]], conditions=4).to_ranking_arrays()
    >>> rankings.tolist(), groups.tolist()
    ([[[2, 0, 1, 3]]], [[[0, 1, 1, -1]]])
    """
    from dissensus.study.study import require_kind

    require_kind(said, "rankings", "to_ranking_arrays")
    n_conditions, block = said.n_conditions, row_of_each(said.code_offsets)
    ranking = row_of_each(said.block_offsets)[block]
    levels = np.full((said.n_rankings, n_conditions), n_conditions, dtype=np.int64)
    levels[ranking, said.codes] = block - said.block_offsets[ranking]
    orders = np.argsort(levels, axis=1, kind="stable")
    levels = np.take_along_axis(levels, orders, axis=1)
    levels[levels == n_conditions] = UNRANKED
    row = np.repeat(np.arange(said.n_rankings), said.votes)
    case = said.panel.case_of_opinion[row]
    place = np.arange(len(row)) - offsets_from_lengths(said.votes_per_case)[case]
    shape = (said.n_cases, int(said.votes_per_case.max(initial=0)), n_conditions)
    rankings, groups = np.tile(np.arange(n_conditions), (*shape[:2], 1)), np.full(shape, UNRANKED, dtype=np.int64)
    rankings[case, place], groups[case, place] = orders[row], levels[row]
    return rankings, groups
