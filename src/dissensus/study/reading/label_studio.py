"""Label Studio's JSON export: tasks with several annotations by choices, a ranker or a taxonomy."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source
from dissensus.core.receipt import AS_SAID
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.json_values import (
    as_block,
    as_condition,
    as_list,
    as_name,
    as_object,
    checked_records,
    key_columns,
    objects_of,
    optional_list,
    optional_name,
    question_to_read,
)

RANKING_TYPES = ("choices", "ranker", "taxonomy")
UNRANKED_BUCKET = "_"


class _Annotation(NamedTuple):
    """One annotation of one task, and where it stands."""

    case: str
    annotator: str | None
    results: list[dict[str, Any]]
    data: dict[str, Any]
    where: str


class LabelStudio(Format):
    """Label Studio's JSON export: choices, ranker, taxonomy."""

    id = "label-studio"
    title = "Label Studio's JSON export: choices, ranker, taxonomy"

    def recognises(self, source: Source) -> bool:
        """Tell tasks by their list of annotations beside their data, or by the results inside."""
        return any(_is_task(record) for record in objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per annotation.

        Several choices are one tie; their order is not a ranking. A ranker's list is a ranking; its buckets are
        blocks in the order that ``bucket_order`` gives. Of a taxonomy's path the leaf is the condition. An
        annotation without a result is an abstention; cancelled and repeated ones are skipped and counted.
        """
        return _parsed(source, options, "condition")


def checklists_of_tasks(source: Source, options: Options) -> Parsed:
    """Read one checklist per annotation: what was chosen is present, and no choice at all is nothing found."""
    return _parsed(source, options, "finding")


def _parsed(source: Source, options: Options, role: str) -> Parsed:
    said = Collection()
    annotations = list(_annotations(source, said))
    control = _control(annotations, options)
    leaves: dict[str, tuple[str, ...]] = {}
    for annotation in annotations:
        result = _only_answer(annotation, control, said)
        blocks = [] if result is None else _blocks(result, annotation, options, said, leaves, role)
        if role == "finding":
            said.add_checklist(annotation.case, annotation.annotator, blocks[0] if blocks else [])
        else:
            said.add_ranking(annotation.case, annotation.annotator, blocks)
    controls = dict.fromkeys(
        str(result.get("from_name")) for annotation in annotations for result in annotation.results
    )
    roles = {"id": "case", "annotations.completed_by": "annotator"}
    roles |= {f"annotations.result.{name}": role if name == control else "" for name in controls}
    reason = AS_SAID if options.columns.get("condition") is not None else "the only control that names conditions"
    return said.parsed(columns=key_columns(objects_of(source), roles, {f"annotations.result.{control}": reason}))


def _is_task(record: dict[str, Any]) -> bool:
    annotations = record.get("annotations")
    if not isinstance(annotations, list):
        return False
    return isinstance(record.get("data"), dict) or any("result" in a for a in annotations if isinstance(a, dict))


# Tasks and their annotations --------------------------------------------------------------------------


def _annotations(source: Source, said: Collection) -> Iterator[_Annotation]:
    seen: set[str] = set()
    for place, task in checked_records(source, "task"):
        case = as_name(task.get("id"), "the id of a task", place)
        said.add_case(case)
        for kind in ("drafts", "predictions"):
            unused = task.get(kind)
            if isinstance(unused, list) and unused:
                said.note(kind, "not used", f"task {case}", count=len(unused))
        for number, item in enumerate(optional_list(task.get("annotations"), "the list of annotations", place), 1):
            annotation = as_object(item, "an annotation", f"task {case}, annotation {number}")
            if _is_used(annotation, case, seen, said):
                yield _annotation(annotation, case, task, number, said)


def _is_used(annotation: dict[str, Any], case: str, seen: set[str], said: Collection) -> bool:
    name = optional_name(annotation.get("id"), "the id of an annotation", f"task {case}")
    repeated = name in seen
    seen.update(() if name is None else (name,))
    if repeated:
        said.skip("annotations whose id came before", f"task {case}", action="skipped as repeated")
    elif annotation.get("was_cancelled"):
        said.skip("cancelled annotations", f"task {case}")
    return not repeated and not annotation.get("was_cancelled")


def _annotation(
    annotation: dict[str, Any], case: str, task: dict[str, Any], number: int, said: Collection
) -> _Annotation:
    name, data, who = annotation.get("id"), task.get("data"), annotation.get("completed_by")
    where = f"task {case}, annotation {number if name is None else name}"
    if annotation.get("ground_truth"):
        said.note("ground truth annotations", "kept like any other", f"task {case}")
    if isinstance(who, dict):
        who = who.get("id") if who.get("email") in (None, "") else who["email"]
    annotator = optional_name(who, "the annotator (completed_by)", where)
    results = optional_list(annotation.get("result"), "the result of an annotation", where)
    objects = [as_object(result, "a result", where) for result in results]
    return _Annotation(case, annotator, objects, data if isinstance(data, dict) else {}, where)


def _control(annotations: list[_Annotation], options: Options) -> str | None:
    """Choose the control tag to read: the one the user names, or the only one that ranks or chooses."""
    asked: dict[str, bool] = {}
    for annotation in annotations:
        for result in annotation.results:
            if result.get("type") in RANKING_TYPES:
                asked[as_name(result.get("from_name"), "the control of a result (from_name)", annotation.where)] = True
    others = {reprlib.repr(result.get("type")): False for annotation in annotations for result in annotation.results}
    expected = f"results of the type {', '.join(RANKING_TYPES)}"
    return question_to_read("control", asked or others, options, expected=expected)


# Results ----------------------------------------------------------------------------------------------


def _only_answer(annotation: _Annotation, control: str | None, said: Collection) -> dict[str, Any] | None:
    """Return the result of the control that is read; none if the annotator left it empty."""
    answers = []
    for result in annotation.results:
        if result.get("type") in RANKING_TYPES and result.get("from_name") == control:
            answers.append(result)
        elif result.get("type") in RANKING_TYPES:
            said.note(f"results of the control {reprlib.repr(result.get('from_name'))}", "not used", annotation.case)
        else:
            said.note(f"results of the type {reprlib.repr(result.get('type'))}", "not used", annotation.case)
    if len(answers) > 1:
        raise FormatError(
            f"an annotation answers the control {control!r} {len(answers)} times",
            expected="one answer for the whole task",
            where=annotation.where,
            advice="answers per region are not opinions on the case; choose another control",
        )
    return answers[0] if answers else None


def _blocks(
    result: dict[str, Any],
    annotation: _Annotation,
    options: Options,
    said: Collection,
    leaves: dict[str, tuple[str, ...]],
    role: str,
) -> list[list[str]]:
    kind = str(result["type"])
    if kind == "ranker" and role == "finding":
        raise FormatError(
            "a ranker orders conditions, and is no checklist",
            expected="results of the type choices or taxonomy",
            where=annotation.where,
            advice="read it as rankings (--format label-studio), or choose another control (--column finding=NAME)",
        )
    value = as_object(result.get("value"), "the value of a result", annotation.where).get(kind)
    if kind == "ranker":
        return _ranked(value, str(result["from_name"]), annotation, options, said)
    if role == "condition":
        said.assume(f"several {kind} of one annotation are tied: their order is not a ranking")
    items = as_list(value, f"the {kind} of a result", annotation.where)
    return [[_leaf(item, annotation, said, leaves) for item in items]]


def _leaf(item: Any, annotation: _Annotation, said: Collection, leaves: dict[str, tuple[str, ...]]) -> str:
    path = as_block(item, annotation.where)
    if not path:
        raise FormatError("a path in a taxonomy is empty", expected="names from root to leaf", where=annotation.where)
    if leaves.setdefault(path[-1], tuple(path)) != tuple(path):
        said.note("choices with the name of a leaf on another branch", "read as one condition", path[-1])
    return path[-1]


def _ranked(value: Any, control: str, annotation: _Annotation, options: Options, said: Collection) -> list[list[str]]:
    if isinstance(value, dict) and list(value) == [control]:
        value = value[control]
    if not isinstance(value, dict):
        items = as_list(value, "the ranker of a result", annotation.where)
        ranking = [as_condition(item, annotation.where) for item in items]
        shown = [value for value in annotation.data.values() if isinstance(value, list)]
        if ranking and ranking in [[str(one.get("id")) for one in items if isinstance(one, dict)] for items in shown]:
            said.note("rankings in the order shown", "kept; an untouched ranker submits that order", annotation.case)
        return [[name] for name in ranking]
    return _bucketed(value, annotation, options)


def _bucketed(value: dict[str, Any], annotation: _Annotation, options: Options) -> list[list[str]]:
    names = [name for name in value if name != UNRANKED_BUCKET]
    order = options.bucket_order or ()
    unplaced = [name for name in names if name not in order]
    if unplaced:
        example = names if not order else [*order, *unplaced]
        raise DissensusError(
            "the order of the ranker's buckets is not known" if not order else "a bucket has no place in the order",
            expected="the names of all buckets, best first",
            got=f"buckets {listing(names, most=12)}" + (f", order {listing(order, most=12)}" if order else ""),
            where=annotation.where,
            advice=f"give the order: bucket_order={example!r} (--bucket-order {','.join(example)})",
        )
    buckets = [as_list(value[name], f"the bucket {name!r}", annotation.where) for name in order if name in value]
    return [[as_condition(item, annotation.where) for item in bucket] for bucket in buckets]
