"""Records of tools: Argilla, Label Studio, Prodigy, doccano, and lists of labels as Hugging Face has them."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import polars as pl

from dissensus.core.checks import check_choice, check_length
from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import Source, open_source
from dissensus.core.names import Lists
from dissensus.core.receipt import AS_SAID, Column, columns_of
from dissensus.study.reading import format as read
from dissensus.study.reading.format import ANNOTATORS, LABELS, RECORDS, RESPONSES, TABLES, Format, Options, Parsed
from dissensus.study.tables import find_columns, normalised, refuse_repeated_cases


class _Answers(NamedTuple):
    """What one annotator answered about one case, by question, and where and in which record it stands."""

    case: str
    annotator: str | None
    answers: Any
    where: str
    record: dict[str, Any]


# Argilla ----------------------------------------------------------------------------------------------

SUBMITTED = "submitted"
WRAPPERS = ("items", "records")
RECORD_NAMES = ("external_id", "id")


class Argilla(Format):
    """Argilla's records with responses to a label or ranking question."""

    id = "argilla"
    title = "Argilla's records with responses to a label or ranking question"
    kinds = RECORDS

    def recognises(self, source: Source) -> bool:
        """Tell records by their responses beside their fields, or by the values inside."""
        for record in read.objects_of(source, inside=WRAPPERS):
            responses = record.get("responses")
            if isinstance(record.get("fields"), dict) and isinstance(responses, list | dict):
                return True
            given = responses if isinstance(responses, list) else []
            if any("values" in response for response in given if isinstance(response, dict)):
                return True
        return False

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per submitted response.

        A ranking with ranks keeps its ties, and several labels are one tie. Version 2 of the SDK exports rankings
        as lists without ranks: they are read as strict orders, with a note.
        """
        said = read.Collection()
        responses = list(_responses(source, said))
        asked: dict[str, bool] = {}
        for name, value in (answer for response in responses for answer in response.answers.items()):
            listed = isinstance(value, list) and all(isinstance(item, str) for item in value) and bool(value)
            asked[name] = asked.get(name, False) or isinstance(value, str) or listed or is_ranked(value)
        expected = "answers to a label, multi-label or ranking question"
        question = read.question_to_read("question", asked, options, expected=expected)
        for response in responses:
            for name in response.answers:
                if name != question:
                    said.note(f"answers to the question {reprlib.repr(name)}", "not used", response.case)
            value, where = response.answers.get(question), response.where
            blocks = [] if value is None else ranked_blocks(value, where) if is_ranked(value) else None
            if blocks is None:
                blocks = [read.as_block(value, where)]
                if len(blocks[0]) > 1 and isinstance(response.record["responses"], dict):
                    lost = "read as strict orders; this export has lost any ties"
                    said.assume("a list of labels is an order, best first")
                    said.note("lists without ranks", lost, response.case)
                    blocks = [[name] for name in blocks[0]]
                elif len(blocks[0]) > 1:
                    said.assume("several labels of one response are tied")
            said.add_ranking(response.case, response.annotator, blocks)
        records = read.objects_of(source, inside=WRAPPERS)
        has_external = any(record.get("external_id") is not None for record in records)
        roles = dict.fromkeys(RECORD_NAMES if has_external else ("id",), "case")
        roles |= {"responses.user_id": "annotator"}
        roles |= {f"responses.{name}": "condition" if name == question else "" for name in asked}
        is_said = options.columns.get("condition") is not None
        reasons = {f"responses.{question}": AS_SAID if is_said else "the only question that asks for conditions"}
        reasons |= {"id": "where there is no external_id"} if has_external else {}
        return said.parsed(columns=read.key_columns(records, roles, reasons))


def _responses(source: Source, said: read.Collection) -> Iterator[_Answers]:
    """Go through what users submitted.

    The REST interface and version 1 have one response per user, with all its values; version 2 has a list of answers
    per question.
    """
    for place, record in read.checked_records(source, "record", inside=WRAPPERS):
        case = read.as_name(record.get(read.first_key(record, RECORD_NAMES)), "the id of a record", place)
        said.add_case(case)
        given = record.get("responses")
        if not isinstance(given, dict):
            for where, response in read.placed_objects(given, "response", f"case {case!r}"):
                if _is_submitted(response.get("status", SUBMITTED), case, said):
                    values = {} if response.get("values") is None else response["values"]
                    values = read.as_object(values, "the values of a response", where)
                    asked = {key: read.as_object(one, "the answer to a question", where) for key, one in values.items()}
                    user = read.optional_name(response.get("user_id"), "the user of a response", where)
                    yield _Answers(case, user, {key: one.get("value") for key, one in asked.items()}, where, record)
            continue
        by_user: dict[str | None, dict[str, Any]] = {}
        for question, answers in given.items():
            for where, answer in read.placed_objects(answers, "answer", f"case {case!r}, question {question!r}"):
                if _is_submitted(answer.get("status", SUBMITTED), case, said):
                    user = read.optional_name(answer.get("user_id"), "the user of an answer", where)
                    if question in by_user.setdefault(user, {}):
                        raise FormatError("a user answers a question twice", got=repr(user), where=where)
                    by_user[user][question] = answer.get("value")
        for user, values in by_user.items():
            yield _Answers(case, user, values, f"case {case!r}, user {user!r}", record)


def _is_submitted(status: Any, case: str, said: read.Collection) -> bool:
    if status != SUBMITTED:
        said.note(f"responses with the status {reprlib.repr(status)}", "skipped", case, lost=True)
    return bool(status == SUBMITTED)


def is_ranked(value: Any) -> bool:
    """Tell a list of objects with a value and a rank."""
    return isinstance(value, list) and any(isinstance(item, dict) and "rank" in item for item in value)


def ranked_blocks(value: list[Any], where: str) -> list[list[str]]:
    """Put values with ranks into blocks; equal ranks are a tie, no rank means not ranked.

    >>> ranked_blocks([{"value": "a", "rank": 2}, {"value": "b", "rank": 1}, {"value": "c", "rank": 2}], "")
    [['b'], ['a', 'c']]
    """
    blocks: dict[float, list[str]] = {}
    for _, one in read.placed_objects(value, "ranked value", where):
        rank = one.get("rank")
        if rank is None:
            continue
        if isinstance(rank, bool) or not isinstance(rank, int | float) or not 0 < rank < 2**63:
            raise read.wrong_shape(rank, "a rank", "a positive number; 1 is best", where)
        blocks.setdefault(rank, []).append(read.as_condition(one.get("value"), where))
    return [blocks[rank] for rank in sorted(blocks)]


# Label Studio -----------------------------------------------------------------------------------------

RANKING_TYPES = ("choices", "ranker", "taxonomy")


class LabelStudio(Format):
    """Label Studio's JSON export: choices, ranker, taxonomy."""

    id = "label-studio"
    title = "Label Studio's JSON export: choices, ranker, taxonomy"
    kinds = RECORDS

    def recognises(self, source: Source) -> bool:
        """Tell tasks by their list of annotations beside their data, or by the results inside."""
        tasks = [record for record in read.objects_of(source) if isinstance(record.get("annotations"), list)]
        return any(
            isinstance(task.get("data"), dict)
            or any("result" in one for one in task["annotations"] if isinstance(one, dict))
            for task in tasks
        )

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per annotation.

        Several choices are one tie; their order is not a ranking. A ranker's list is a ranking; its buckets are
        blocks in the order that ``bucket_order`` gives. Of a taxonomy's path the leaf is the condition. An
        annotation without a result is an abstention; cancelled and repeated ones are skipped and counted.
        """
        return parsed_tasks(source, options, "condition")


def parsed_tasks(source: Source, options: Options, role: str) -> Parsed:
    """Read a ranking per annotation, or a checklist (role ``"finding"``): no choice at all is nothing found."""
    said = read.Collection()
    annotations = list(_annotations(source, said))
    results = [(annotation.where, result) for annotation in annotations for result in annotation.answers]
    named = [(where, one.get("from_name")) for where, one in results if one.get("type") in RANKING_TYPES]
    asked = {read.as_name(name, "the control of a result (from_name)", where): True for where, name in named}
    others = {reprlib.repr(result.get("type")): False for _, result in results}
    expected = f"results of the type {', '.join(RANKING_TYPES)}"
    control = read.question_to_read("control", asked or others, options, expected=expected)
    leaves: dict[str, tuple[str, ...]] = {}
    for annotation in annotations:
        answer = _only_answer(annotation, control, said)
        where = annotation.where
        if answer is None:
            blocks = []
        elif answer["type"] == "ranker" and role == "finding":
            raise FormatError(
                "a ranker orders conditions, and is no checklist",
                expected="results of the type choices or taxonomy",
                where=where,
                advice="read it as rankings (--format label-studio), or choose another control (--column finding=NAME)",
            )
        else:
            kind = str(answer["type"])
            value = read.as_object(answer.get("value"), "the value of a result", where).get(kind)
            if kind == "ranker":
                blocks = _ranked(value, str(control), annotation, options, said)
            else:
                blocks = [_leaves(value, kind, where, leaves, said)]
                if role == "condition":
                    said.assume(f"several {kind} of one annotation are tied: their order is not a ranking")
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


def _annotations(source: Source, said: read.Collection) -> Iterator[_Answers]:
    """Go through the annotations of all tasks, and count those that are not used."""
    seen: set[str | None] = set()
    for place, task in read.checked_records(source, "task"):
        case = read.as_name(task.get("id"), "the id of a task", place)
        of_task = f"task {case}"
        said.add_case(case)
        for kind in ("drafts", "predictions"):
            if isinstance(unused := task.get(kind), list) and unused:
                said.note(kind, "not used", of_task, count=len(unused))
        for where, annotation in read.placed_objects(task.get("annotations"), "annotation", of_task):
            name = read.optional_name(annotation.get("id"), "the id of an annotation", of_task)
            if name is not None and name in seen:
                said.note("annotations whose id came before", "skipped as repeated", of_task, lost=True)
            elif annotation.get("was_cancelled"):
                said.note("cancelled annotations", "skipped", of_task, lost=True)
            else:
                if annotation.get("ground_truth"):
                    said.note("ground truth annotations", "kept like any other", of_task)
                known, who = f"{of_task}, annotation {name}" if name else where, annotation.get("completed_by")
                if isinstance(who, dict):
                    who = who.get("id") if who.get("email") in (None, "") else who["email"]
                annotator = read.optional_name(who, "the annotator (completed_by)", known)
                answers = [one for _, one in read.placed_objects(annotation.get("result"), "result", known)]
                yield _Answers(case, annotator, answers, known, task)
            seen.add(name)


def _only_answer(annotation: _Answers, control: str | None, said: read.Collection) -> dict[str, Any] | None:
    """Return the result of the control that is read; none if the annotator left it empty."""
    answers = []
    for result in annotation.answers:
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


def _leaves(value: Any, kind: str, where: str, known: dict[str, tuple[str, ...]], said: read.Collection) -> list[str]:
    """Return what was chosen, of a path through a taxonomy its end."""
    paths = [read.as_block(item, where) for item in read.as_list(value, f"the {kind} of a result", where)]
    for path in paths:
        if not path:
            raise FormatError("a path in a taxonomy is empty", expected="names from root to leaf", where=where)
        if known.setdefault(path[-1], tuple(path)) != tuple(path):
            said.note("choices with the name of a leaf on another branch", "read as one condition", path[-1])
    return [path[-1] for path in paths]


def _ranked(value: Any, control: str, annotation: _Answers, options: Options, said: read.Collection) -> list[list[str]]:
    """Read an order, or buckets in the order that is given for them."""
    where, order = annotation.where, options.bucket_order or ()
    if isinstance(value, dict) and list(value) == [control]:
        value = value[control]
    if not isinstance(value, dict):
        ranking = [read.as_condition(item, where) for item in read.as_list(value, "the ranker of a result", where)]
        data = annotation.record.get("data")
        shown = [one for one in data.values() if isinstance(one, list)] if isinstance(data, dict) else []
        if ranking and ranking in [[str(one.get("id")) for one in items if isinstance(one, dict)] for items in shown]:
            said.note("rankings in the order shown", "kept; an untouched ranker submits that order", annotation.case)
        return [[name] for name in ranking]
    names = [name for name in value if name != "_"]
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


# Prodigy ----------------------------------------------------------------------------------------------


class Prodigy(Format):
    """Prodigy's JSON lines of choice tasks."""

    id = "prodigy"
    title = "Prodigy's JSON lines of choice tasks"
    kinds = RECORDS

    def recognises(self, source: Source) -> bool:
        """Tell tasks by a hash and an answer."""
        tasks = (record for record in read.objects_of(source) if "answer" in record)
        return any(not record.keys().isdisjoint(read.TASK_HASHES) for record in tasks)

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one ranking per accepted line; several accepted options are a tie, none is an abstention.

        Lines that were rejected or ignored are skipped and counted. The options of all lines are the conditions.
        """
        said = read.Collection()
        vocabulary: dict[str, None] = {}
        roles = {"options": "conditions", "accept": "condition", "answer": "state of the answer"}
        for where, record in read.checked_records(source, "record"):
            task = read.first_key(record, read.TASK_HASHES)
            user = read.first_key(record, ("_annotator_id", "_session_id"))
            case = read.as_name(record.get(task), "the hash of a task", where)
            said.add_case(case)
            roles |= {task: "case", **({user: "annotator"} if user else {})}
            choices = {}  # the condition of each option: its id, or its text if the id is only a number
            for _, option in read.placed_objects(record.get("options"), "option", where):
                key = read.as_condition(option.get("id"), where)
                text = None if isinstance(option["id"], str) else option.get("text")
                choices[key] = key if text is None else read.as_condition(text, where)
            vocabulary.update(dict.fromkeys(choices.values()))
            answer = read.as_name(record.get("answer"), "the answer", where)
            if answer != "accept":
                said.note(f"answers {answer!r:.40}", "skipped", case, lost=True)
                continue
            annotator = read.optional_name(record.get(user), "the annotator", where)
            if "accept" not in record and not choices:
                raise FormatError(
                    "a record has neither options nor accepted options",
                    expected='a choice task: {"options": [...], "accept": [...]}',
                    got=f"keys {listing(record, most=12)}",
                    where=where,
                )
            given = read.as_list(record.get("accept"), "the accepted options", where, may_lack=True)
            accepted = [read.as_condition(item, where) for item in given]
            for key in accepted if choices else ():
                known_name("option", key, choices, purpose="to accept", where=where)
            said.add_ranking(case, annotator, [[choices.get(key, key) for key in accepted]])
        said.assume("several accepted options are tied")
        return said.parsed(tuple(vocabulary) or None, columns=read.key_columns(read.objects_of(source), roles))


# doccano ----------------------------------------------------------------------------------------------

ENDING = ".jsonl"
DOCUMENT_NAMES = ("id", "doc_id", "filename")
DOCUMENT_LABELS = ("label", "labels", "annotations")
SHARED, NOBODY = "all", "unknown"


class Doccano(Format):
    """Doccano's export: one .jsonl file per annotator."""

    id = "doccano"
    title = "doccano's export: one .jsonl file per annotator"
    kinds = ("directory", "jsonl")

    def recognises(self, source: Source) -> bool:
        """Tell a directory with files of JSON lines, or one such file with documents and their labels."""
        if source.kind == "directory":
            return any(path.suffix.lower() == ENDING for path in source.content)
        for record in read.objects_of(source) if source.kind == "jsonl" else ():
            shown = isinstance(record.get("text"), str) or isinstance(record.get("filename"), str)
            alone = not any(name in record for name in (*read.ANNOTATORS, "answer"))
            if shown and alone and any(isinstance(record.get(name), list) for name in DOCUMENT_LABELS):
                return True
        return False

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one ranking per line; the file's name is the annotator.

        Several labels are a tie, and a document without a label is an abstention.
        """
        files, notes = read.files_of(source, (ENDING,), "one .jsonl file per annotator")
        said = read.Collection(notes)
        said.assume("the name of a file is the annotator")
        said.assume("several labels of a document are tied")
        roles = {"username": "annotator"}
        records: list[dict[str, Any]] = []
        for path in files:
            if source.kind == "directory" and not path.stat().st_size:
                said.note("empty files", "taken as annotators without an opinion", path.name)
                continue
            if path.stem == SHARED:
                said.note(f"file {path.name!r}", "read as one annotator; doccano merges shared annotations there")
            opened = open_source(path) if source.kind == "directory" else source
            if opened.kind != "jsonl":
                raise FormatError("the file does not hold JSON lines", got=f"{opened.kind}", where=str(path))
            cases = []
            for number, record in enumerate(opened.content, start=1):
                where = f"{path}, record {number}"
                name = record.get(read.first_key(record, DOCUMENT_NAMES))
                cases.append(read.as_name(name, "the id of a document", where))
                said.add_case(cases[-1])
                _add_document(record, cases[-1], path.stem, where, said)
            refuse_repeated_cases(cases, "record", advice="remove one of the two", where=str(path))
            records += opened.content
        for record in records:
            key = next(filter(record.__contains__, DOCUMENT_LABELS))
            roles |= {read.first_key(record, DOCUMENT_NAMES): "case", key: "condition"}
        return said.parsed(columns=read.key_columns(records, roles))


def _add_document(record: dict[str, Any], case: str, owner: str, where: str, said: read.Collection) -> None:
    """Add the labels of each annotator: the owner of the file, unless old exports name the user of an annotation."""
    key = next((name for name in DOCUMENT_LABELS if name in record), None)
    if key is None:
        expected = f"a key {', '.join(map(repr, DOCUMENT_LABELS))}"
        got = f"keys {listing(record, most=12)}"
        raise FormatError("a document has no labels", expected=expected, got=got, where=where)
    users: dict[str, list[str]] = {}
    value, annotator = record[key], record.get("username") or owner
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        given = item if isinstance(item, dict) else {"label": item}
        user, label = given.get("user") or annotator, given.get("label")
        if isinstance(label, int) and not isinstance(label, bool):
            raise FormatError(
                "a label is a number in doccano's database",
                expected="the name of a label",
                got=str(label),
                where=where,
                advice="export again as JSONL with text labels",
            )
        if not isinstance(label, str) or not label.strip():
            raise read.wrong_shape(label, "a label", "the name of a label for the whole document", where)
        users.setdefault(read.as_name(user, "the annotator", where), []).append(label)
    if not users and owner == NOBODY:
        said.note(f"documents in {NOBODY}{ENDING} without a label", "kept as cases without an opinion", case)
        return
    for user, labels in (users or {owner: []}).items():
        said.add_ranking(case, user, [labels])


CASES = (
    *("id", "case", "case_id", "case_name", "item", "task", "example", "sample"),
    *("item_id", "task_id", "example_id", "image_id", "sample_id", "uid", "idx", "index"),
)

# Lists of numbers that may stand beside a list of labels, and what they make of it.
BESIDE = {"confidence": ("confidences", "confidence"), "weight": ("weights", "weight")}
OF = {
    "confidence": "the labels of a record are the ranking of one annotator, ordered by confidence",
    "weight": "every label is an opinion of its own, which counts as much as its weight",
}


class HuggingFace(Format):
    """Records with a list of labels and a list of annotators per case."""

    id = "hugging-face"
    title = "records with a list of labels and a list of annotators per case"
    kinds = TABLES
    takes_lists = True

    def recognises(self, source: Source) -> bool:
        """Tell records that hold a list (or a comma-separated text) of labels, or Argilla's response columns."""
        if source.is_table and {"case", "annotation", "condition"} <= set(source.table.columns):
            return False  # the canonical form, whose names may look like lists
        return read.holds_lists(source) or any(_has_labels(record) for record in read.objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per entry of the list; an entry that is a list itself is a tie, null is no opinion."""
        placed = read.checked_records(read.unpacked(source), "record")
        records, said = [record for _, record in placed], read.Collection()
        found, columns = _keys(records, options)
        labels, annotators = found["condition"], found.get("annotator", "")
        numbers = next((role for role in BESIDE if role in found), "")
        lists = "votes" if numbers else _meaning(records, labels, annotators, options.lists)
        cases = [str(number) for number in range(len(placed))]
        if "case" in found:
            what = f"the {found['case']} of a record"
            cases = [read.as_name(record.get(found["case"]), what, where) for where, record in placed]
        else:
            said.assume("the records have no id and are numbered from 0")
        if "case" in found and (lists == "votes" or not annotators):
            refuse_repeated_cases(cases, "record", advice="write one record per case, with a list of labels")
        rows: list[tuple[str | float | None, ...]] = []
        for (place, record), case in zip(placed, cases, strict=True):
            said.add_case(case)
            where, given = f"{place}, case {case!r}", record.get(annotators)
            if lists == "votes" and not numbers:
                _add_votes(record, labels, annotators, case, where, said)
            elif numbers or record.get(labels) is not None:
                alone = given[0] if isinstance(given, list) and len(given) == 1 else given
                annotator = read.optional_name(alone, "the one annotator of a list", where)
                if numbers:
                    rows += [(case, annotator, *one) for one in _pairs(record, labels, found[numbers], where)]
                else:  # best first, where a list in it is a tie, or all labels alike
                    blocks = [read.as_block(label, where) for label in _items(record[labels], labels, where)]
                    blocks = blocks if lists == "order" else [[name for block in blocks for name in block]]
                    said.add_ranking(case, annotator, blocks)
        if numbers:
            schema = {"case": pl.String, "annotator": pl.String, "condition": pl.String, numbers: pl.Float64}
            frame = pl.DataFrame(rows, schema=schema, orient="row")
            told = f"the list {found[numbers]!r} holds the {numbers} of each label", OF[numbers]
            return Parsed(frame if annotators else frame.drop("annotator"), columns=columns, assumed=told)
        if not annotators and lists == "votes":
            said.assume("there is no list of annotators: every label is an opinion of its own")
        return said.parsed(columns=columns)


def _has_labels(record: dict[str, Any]) -> bool:
    lists = [record[name] for name in LABELS if isinstance(record.get(name), list)]
    if any(items and not any(isinstance(item, dict) for item in items) for items in lists):
        return True
    texts = any(isinstance(record.get(name), str) for name in LABELS[:2])
    named = any(isinstance(record.get(name), list | str) for name in ANNOTATORS[:2])
    return ((texts or bool(lists)) and named) or any(name.endswith(RESPONSES) for name in record)


def _keys(records: Sequence[Mapping[str, Any]], options: Options) -> tuple[dict[str, str], tuple[Column, ...]]:
    """Find the key of each role, of numbers only where they are lists, and tell the roles of all keys."""
    keys = list(dict.fromkeys(key for record in records for key in record))
    questions = {key.removesuffix(RESPONSES): True for key in keys if key.endswith(RESPONSES)}
    given, aliases = dict(options.columns), {"condition": LABELS, "annotator": ANNOTATORS, "case": CASES, **BESIDE}
    if questions and given.get("condition") not in keys:
        labels = f"{read.question_to_read('question', questions, options)}{RESPONSES}"
        given, aliases = {**given, "condition": labels}, {**aliases, "annotator": (normalised(f"{labels}.users"),)}
    found = find_columns(keys, given, aliases=aliases, required=("condition",))
    for role in BESIDE.keys() & found.keys():
        if not any(isinstance(record.get(found[role]), list) for record in records):
            del found[role]
    roles = {**found, "state of the response": f"{found['condition']}.status"}
    is_said = options.columns.get("condition") is not None
    return found, columns_of(keys, roles, given if is_said else {**given, "condition": None})


# Records ----------------------------------------------------------------------------------------------


def _add_votes(
    record: Mapping[str, Any], key: str, annotators: str, case: str, where: str, said: read.Collection
) -> None:
    """Add every label of a list as the opinion of the annotator who stands in the same place."""
    labels = _items(record.get(key), key, where)
    given: list[Any] = [None] * len(labels)
    if annotators and (annotators in record or labels):
        given = _items(record.get(annotators), annotators, where)
    names = [read.optional_name(name, "an annotator", where) for name in given]
    statuses: list[Any] = [SUBMITTED] * len(labels)
    if key.endswith(RESPONSES) and record.get(f"{key}.status") is not None:
        statuses = read.as_list(record[f"{key}.status"], "the list of statuses", where)
    check_length("annotator", len(names), len(labels), where=where)
    check_length("state", len(statuses), len(labels), where=where)
    for label, name, status in zip(labels, names, statuses, strict=True):
        if not _is_submitted(status, case, said):
            continue
        if label is None or label != label:
            said.note("labels that are null", "taken as no opinion", case)
        else:
            blocks = ranked_blocks(label, where) if is_ranked(label) else [read.as_block(label, where)]
            said.add_ranking(case, name, blocks)


def _pairs(record: dict[str, Any], labels: str, key: str, where: str) -> list[tuple[str | None, float | None]]:
    """Return every label with its number, from two lists of one length; a case without any has nothing."""
    names, numbers = (_items(record.get(one), one, where) for one in (labels, key))
    check_length(f"number under {key!r}", len(numbers), len(names), where=where)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 2**1023:
            raise read.wrong_shape(number, f"a number under {key!r}", "a number of zero or more", where)
    found = [(read.as_condition(name, where), float(number)) for name, number in zip(names, numbers, strict=True)]
    return [*found] or [(None, None)]


def _items(value: Any, key: str, where: str) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return read.as_list(value, f"the value of {key!r}", where, may_lack=True)


# What a list of labels means ----------------------------------------------------------------------------


def _meaning(records: Sequence[Mapping[str, Any]], labels: str, annotators: str, given: Lists | None) -> Lists:
    """Tell what lists are: as said, or votes if a list of annotators stands beside; anything else would be a guess."""
    if given is not None:
        check_choice("lists", given, get_args(Lists))
        return given
    doubtful = [record for record in records if _is_doubtful(record.get(labels), record.get(annotators))]
    if labels.endswith(RESPONSES) or not doubtful:
        return "votes"
    beside = f" beside {annotators!r}: {reprlib.repr(doubtful[0].get(annotators))}" if annotators else ""
    raise FormatError(
        "a list of labels can be votes, an order or a tie",
        expected="a list of as many annotators beside it, or a word: votes (of several annotators, a label each), "
        "order (of one annotator, best first) or tie (of one annotator, all alike)",
        got=f"{labels!r}: {reprlib.repr(doubtful[0][labels])}{beside}; {len(doubtful):,} such lists",
        advice="say which it is: lists='votes', lists='order' or lists='tie' (--lists votes)",
    )


def _is_doubtful(labels: Any, annotators: Any) -> bool:
    """Tell a list of several labels (or one of blocks) beside which no list of annotators stands."""
    if not isinstance(labels, Collection) or isinstance(labels, str | Mapping):
        return False
    several = len(labels) > 1 or any(isinstance(label, list) and len(label) > 1 for label in labels)
    return several and not isinstance(annotators, list) and not (isinstance(annotators, str) and "," in annotators)
