"""Label Studio's JSON export: tasks with several annotations by choices, a ranker or a taxonomy."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source
from dissensus.core.receipt import AS_SAID
from dissensus.study.reading import records as read
from dissensus.study.reading.format import Format, Options, Parsed

RANKING_TYPES = ("choices", "ranker", "taxonomy")
UNRANKED_BUCKET = "_"


class _Annotation(NamedTuple):
    """One annotation of one task, and where it stands."""

    case: str
    annotator: str | None
    results: list[dict[str, Any]]
    task: dict[str, Any]
    where: str


class LabelStudio(Format):
    """Label Studio's JSON export: choices, ranker, taxonomy."""

    id = "label-studio"
    title = "Label Studio's JSON export: choices, ranker, taxonomy"

    def recognises(self, source: Source) -> bool:
        """Tell tasks by their list of annotations beside their data, or by the results inside."""
        return any(_is_task(record) for record in read.objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per annotation.

        Several choices are one tie; their order is not a ranking. A ranker's list is a ranking; its buckets are
        blocks in the order that ``bucket_order`` gives. Of a taxonomy's path the leaf is the condition. An
        annotation without a result is an abstention; cancelled and repeated ones are skipped and counted.
        """
        return parsed_tasks(source, options, "condition")


def _is_task(record: dict[str, Any]) -> bool:
    annotations = record.get("annotations")
    if not isinstance(annotations, list):
        return False
    return isinstance(record.get("data"), dict) or any("result" in a for a in annotations if isinstance(a, dict))


def parsed_tasks(source: Source, options: Options, role: str) -> Parsed:
    """Read a ranking per annotation, or a checklist (role ``"finding"``): no choice at all is nothing found."""
    said = read.Collection()
    annotations = list(_annotations(source, said))
    results = [(annotation, result) for annotation in annotations for result in annotation.results]
    asked: dict[str, bool] = {}
    for annotation, result in results:
        if result.get("type") in RANKING_TYPES:
            asked[read.as_name(result.get("from_name"), "the control of a result (from_name)", annotation.where)] = True
    others = {reprlib.repr(result.get("type")): False for _, result in results}
    expected = f"results of the type {', '.join(RANKING_TYPES)}"
    control = read.question_to_read("control", asked or others, options, expected=expected)
    leaves: dict[str, tuple[str, ...]] = {}
    for annotation in annotations:
        answer = _only_answer(annotation, control, said)
        blocks = [] if answer is None else _blocks(answer, annotation, options, said, leaves, role)
        if role == "finding":
            said.add_checklist(annotation.case, annotation.annotator, blocks[0] if blocks else [])
        else:
            said.add_ranking(annotation.case, annotation.annotator, blocks)
    roles = {"id": "case", "annotations.completed_by": "annotator"}
    names = [str(result.get("from_name")) for _, result in results]
    roles |= {f"annotations.result.{name}": role if name == control else "" for name in names}
    reason = AS_SAID if options.columns.get("condition") is not None else "the only control that names conditions"
    columns = read.key_columns(read.objects_of(source), roles, {f"annotations.result.{control}": reason})
    return said.parsed(columns=columns)


def _annotations(source: Source, said: read.Collection) -> Iterator[_Annotation]:
    """Go through the annotations of all tasks, and count those that are not used."""
    seen: set[str | None] = set()
    for place, task in read.checked_records(source, "task"):
        case = read.as_name(task.get("id"), "the id of a task", place)
        of_task = f"task {case}"
        said.add_case(case)
        for kind in ("drafts", "predictions"):
            if isinstance(unused := task.get(kind), list) and unused:
                said.note(kind, "not used", of_task, count=len(unused))
        given = read.optional_list(task.get("annotations"), "the list of annotations", place)
        for number, item in enumerate(given, start=1):
            annotation = read.as_object(item, "an annotation", f"{of_task}, annotation {number}")
            name = read.optional_name(annotation.get("id"), "the id of an annotation", of_task)
            if name is not None and name in seen:
                said.skip("annotations whose id came before", of_task, action="skipped as repeated")
            elif annotation.get("was_cancelled"):
                said.skip("cancelled annotations", of_task)
            else:
                yield _annotation(annotation, case, task, f"{of_task}, annotation {name or number}", said)
            seen.add(name)


def _annotation(
    annotation: dict[str, Any], case: str, task: dict[str, Any], where: str, said: read.Collection
) -> _Annotation:
    if annotation.get("ground_truth"):
        said.note("ground truth annotations", "kept like any other", f"task {case}")
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("id") if who.get("email") in (None, "") else who["email"]
    annotator = read.optional_name(who, "the annotator (completed_by)", where)
    results = read.optional_list(annotation.get("result"), "the result of an annotation", where)
    return _Annotation(case, annotator, [read.as_object(one, "a result", where) for one in results], task, where)


# Results ----------------------------------------------------------------------------------------------


def _only_answer(annotation: _Annotation, control: str | None, said: read.Collection) -> dict[str, Any] | None:
    """Return the result of the control that is read; none if the annotator left it empty."""
    answers = []
    for result in annotation.results:
        is_ranking = result.get("type") in RANKING_TYPES
        if is_ranking and result.get("from_name") == control:
            answers.append(result)
        else:
            what, key = ("control", "from_name") if is_ranking else ("type", "type")
            said.note(f"results of the {what} {reprlib.repr(result.get(key))}", "not used", annotation.case)
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
    said: read.Collection,
    leaves: dict[str, tuple[str, ...]],
    role: str,
) -> list[list[str]]:
    kind, where = str(result["type"]), annotation.where
    if kind == "ranker" and role == "finding":
        raise FormatError(
            "a ranker orders conditions, and is no checklist",
            expected="results of the type choices or taxonomy",
            where=where,
            advice="read it as rankings (--format label-studio), or choose another control (--column finding=NAME)",
        )
    value = read.as_object(result.get("value"), "the value of a result", where).get(kind)
    if kind == "ranker":
        return _ranked(value, str(result["from_name"]), annotation, options, said)
    if role == "condition":
        said.assume(f"several {kind} of one annotation are tied: their order is not a ranking")
    paths = [read.as_block(item, where) for item in read.as_list(value, f"the {kind} of a result", where)]
    for path in paths:
        if not path:
            raise FormatError("a path in a taxonomy is empty", expected="names from root to leaf", where=where)
        if leaves.setdefault(path[-1], tuple(path)) != tuple(path):
            said.note("choices with the name of a leaf on another branch", "read as one condition", path[-1])
    return [[path[-1] for path in paths]]


def _ranked(
    value: Any, control: str, annotation: _Annotation, options: Options, said: read.Collection
) -> list[list[str]]:
    """Read an order, or buckets in the order that is given for them."""
    where, order = annotation.where, options.bucket_order or ()
    if isinstance(value, dict) and list(value) == [control]:
        value = value[control]
    if not isinstance(value, dict):
        items = read.as_list(value, "the ranker of a result", where)
        ranking = [read.as_condition(item, where) for item in items]
        data = annotation.task.get("data")
        shown = [one for one in data.values() if isinstance(one, list)] if isinstance(data, dict) else []
        if ranking and ranking in [[str(one.get("id")) for one in items if isinstance(one, dict)] for items in shown]:
            said.note("rankings in the order shown", "kept; an untouched ranker submits that order", annotation.case)
        return [[name] for name in ranking]
    names = [name for name in value if name != UNRANKED_BUCKET]
    unplaced = [name for name in names if name not in order]
    if unplaced:
        example = [*order, *unplaced]
        raise DissensusError(
            "the order of the ranker's buckets is not known" if not order else "a bucket has no place in the order",
            expected="the names of all buckets, best first",
            got=f"buckets {listing(names, most=12)}" + (f", order {listing(order, most=12)}" if order else ""),
            where=where,
            advice=f"give the order: bucket_order={example!r} (--bucket-order {','.join(example)})",
        )
    buckets = [read.as_list(value[name], f"the bucket {name!r}", where) for name in order if name in value]
    return [[read.as_condition(item, where) for item in bucket] for bucket in buckets]
