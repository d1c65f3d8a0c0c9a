"""Hugging Face style records: a list of labels per case, and a list of who gave them."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

import polars as pl

from dissensus.core.aliases import Lists
from dissensus.core.checks import check_choice
from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source
from dissensus.core.names import known_name
from dissensus.core.receipt import AS_SAID
from dissensus.study.reading import records as read
from dissensus.study.reading.format import TABLES, Format, Options, Parsed
from dissensus.study.reading.records import ANNOTATORS, LABELS, RESPONSES
from dissensus.study.reading.tool_exports import SUBMITTED, is_ranked, ranked_blocks
from dissensus.study.tables import refuse_repeated_cases

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
        said = read.Collection()
        placed = read.checked_records(read.unpacked(source), "record")
        records = [record for _, record in placed]
        labels = _labels_key(records, options)
        has_responses = labels.endswith(RESPONSES)
        who = (f"{labels}.users",) if has_responses else ANNOTATORS
        annotators, case_key = _key("annotator", who, records, options), _key("case", CASES, records, options)
        beside = {role: _key(role, keys, records, options) for role, keys in BESIDE.items()}
        numbers = {
            role: key for role, key in beside.items() if key and any(isinstance(one.get(key), list) for one in records)
        }
        lists = "votes" if numbers else _meaning(records, labels, annotators, options.lists)
        cases = [str(number) for number in range(len(placed))]
        if case_key is None:
            said.assume("the records have no id and are numbered from 0")
        else:
            what = f"the {case_key} of a record"
            cases = [read.as_name(record.get(case_key), what, where) for where, record in placed]
        if case_key is not None and (lists == "votes" or annotators is None):
            refuse_repeated_cases(cases, "record", advice="write one record per case, with a list of labels")
        found = {case_key: "case", labels: "condition", annotators: "annotator"}
        found |= {key: role for role, key in numbers.items()}
        roles = {key: role for key, role in found.items() if key is not None}
        given = {key: AS_SAID for key, role in roles.items() if options.columns.get(role) is not None}
        if numbers:
            role, key = next((role, str(key)) for role, key in numbers.items())
            rows = [
                (case, read.optional_name(_alone(record.get(annotators or "")), "the annotator of a list", where), *one)
                for (where, record), case in zip(placed, cases, strict=True)
                for one in _pairs(record, labels, key, f"{where}, case {case!r}")
            ]
            schema = {"case": pl.String, "annotator": pl.String, "condition": pl.String, role: pl.Float64}
            frame = pl.DataFrame(rows, schema=schema, orient="row")
            frame = frame if annotators is not None else frame.drop("annotator")
            columns = read.key_columns(records, roles, given)
            return Parsed(
                frame, columns=columns, assumed=(f"the list {key!r} holds the {role} of each label", OF[role])
            )
        for (where, record), case in zip(placed, cases, strict=True):
            said.add_case(case)
            where = f"{where}, case {case!r}"  # noqa: PLW2901
            if lists == "votes":
                _add_votes(record, labels, annotators, case, where, said)
            elif record.get(labels) is not None:  # best first, where a list in it is a tie, or all labels alike
                blocks = [read.as_block(label, where) for label in _items(record[labels], labels, where)]
                blocks = blocks if lists == "order" else [[name for block in blocks for name in block]]
                one = _alone(record.get(annotators or ""))
                said.add_ranking(case, read.optional_name(one, "the one annotator of a list", where), blocks)
        if annotators is None and lists == "votes":
            said.assume("there is no list of annotators: every label is an opinion of its own")
        roles |= {f"{labels}.status": "state of the response"} if has_responses else {}
        return said.parsed(columns=read.key_columns(records, roles, given))


def _has_labels(record: dict[str, Any]) -> bool:
    lists = [record[name] for name in LABELS if isinstance(record.get(name), list)]
    if any(items and not any(isinstance(item, dict) for item in items) for items in lists):
        return True
    texts = any(isinstance(record.get(name), str) for name in LABELS[:2])
    named = any(isinstance(record.get(name), list | str) for name in ANNOTATORS[:2])
    return ((texts or bool(lists)) and named) or any(name.endswith(RESPONSES) for name in record)


# Keys -------------------------------------------------------------------------------------------------


def _labels_key(records: list[dict[str, Any]], options: Options) -> str:
    names = dict.fromkeys(name for record in records for name in record if name.endswith(RESPONSES))
    if options.columns.get("condition") is None and names:
        questions = {name.removesuffix(RESPONSES): True for name in names}
        return f"{read.question_to_read('question', questions, options)}{RESPONSES}"
    found = _key("condition", LABELS, records, options, endings=("", RESPONSES))
    if found is None:
        raise FormatError(
            "the records have no labels",
            expected=f"a list of labels under {listing(LABELS)}, or a column such as 'question.responses'",
            got=f"keys {listing(records[0], most=12)}",
            advice='say which key it is: columns={"condition": NAME} (--column condition=NAME)',
        )
    return found


def _key(
    role: str, names: Sequence[str], records: list[dict[str, Any]], options: Options, *, endings: Sequence[str] = ("",)
) -> str | None:
    """Find the key of a role: the one given, or the first of some usual names that any record has."""
    given = options.columns.get(role)
    wanted = names if given is None else [given + ending for ending in endings]
    keys = dict.fromkeys(key for record in records for key in record)
    found = next((name for name in wanted if name in keys), None)
    return found if found is not None or given is None else known_name("key", given, keys)


# Records ----------------------------------------------------------------------------------------------


def _add_votes(
    record: dict[str, Any], key: str, annotators: str | None, case: str, where: str, said: read.Collection
) -> None:
    """Add every label of a list as the opinion of the annotator who stands in the same place."""
    labels = _items(record.get(key), key, where)
    names: list[str | None] = [None] * len(labels)
    if annotators is not None and (annotators in record or labels):
        given = _items(record.get(annotators), annotators, where)
        names = [read.optional_name(name, "an annotator", where) for name in given]
    statuses: list[Any] = [SUBMITTED] * len(labels)
    if key.endswith(RESPONSES) and record.get(f"{key}.status") is not None:
        statuses = read.as_list(record[f"{key}.status"], "the list of statuses", where)
    for what, others in {"annotators": names, "statuses": statuses}.items():
        if len(others) != len(labels):
            raise FormatError(
                f"the labels and the {what} of a record do not match",
                expected=f"as many {what} as labels",
                got=f"{len(labels)} labels, {len(others)} {what}",
                where=where,
            )
    if not all(status is None or isinstance(status, str) for status in statuses):
        raise read.wrong_shape(statuses, "the list of statuses", "words such as 'submitted'", where)
    for label, name, status in zip(labels, names, map(str, statuses), strict=True):
        if status != SUBMITTED:
            said.skip(f"responses with the status {status!r:.40}", case)
        elif label is None or label != label:
            said.note("labels that are null", "taken as no opinion", case)
        else:
            blocks = ranked_blocks(label, where) if is_ranked(label) else [read.as_block(label, where)]
            said.add_ranking(case, name, blocks)


def _alone(value: Any) -> Any:
    """Return the one item of a list, or what stands alone."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _pairs(record: dict[str, Any], labels: str, key: str, where: str) -> list[tuple[str | None, float | None]]:
    """Return every label with its number, from two lists of one length; a case without any has nothing."""
    names, numbers = (_items(record.get(one), one, where) for one in (labels, key))
    if len(names) != len(numbers):
        got = f"{len(names)} labels, {len(numbers)} numbers under {key!r}"
        raise FormatError("the lists of a record do not match", expected="a number per label", got=got, where=where)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 2**1023:
            raise read.wrong_shape(number, f"a number under {key!r}", "a number of zero or more", where)
    found = [(read.as_condition(name, where), float(number)) for name, number in zip(names, numbers, strict=True)]
    return [*found] or [(None, None)]


def _items(value: Any, key: str, where: str) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return read.optional_list(value, f"the value of {key!r}", where)


# What a list of labels means ----------------------------------------------------------------------------


def _meaning(records: Sequence[Mapping[str, Any]], labels: str, annotators: str | None, given: Lists | None) -> Lists:
    """Tell what lists are: as said, or votes if a list of annotators stands beside; anything else would be a guess."""
    if given is not None:
        check_choice("lists", given, get_args(Lists))
        return given
    doubtful = [record for record in records if _is_doubtful(record.get(labels), record.get(annotators or ""))]
    if labels.endswith(RESPONSES) or not doubtful:
        return "votes"
    beside = "" if annotators is None else f" beside {annotators!r}: {reprlib.repr(doubtful[0].get(annotators))}"
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
