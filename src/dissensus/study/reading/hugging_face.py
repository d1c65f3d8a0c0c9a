"""Hugging Face style records: a list of labels per case, and a list of who gave them."""

from __future__ import annotations

import ast
import json
import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
_ITEM = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[+-]?\d+(?:\.\d*)?|None)"
_FLAT = rf"\[\s*(?:{_ITEM}\s*(?:,\s*{_ITEM}\s*)*,?\s*)?\]"
_EITHER = rf"(?:{_ITEM}|{_FLAT})"

# A list as Python writes it, at most two deep; without commas, as NumPy writes them, neighbours would run together.
PYTHON_LIST = re.compile(rf"\[\s*(?:{_EITHER}\s*(?:,\s*{_EITHER}\s*)*,?\s*)?\]", re.DOTALL)


class HuggingFace(Format):
    """Records with a list of labels and a list of annotators per case."""

    id = "hugging-face"
    title = "records with a list of labels and a list of annotators per case"
    kinds = TABLES

    def recognises(self, source: Source) -> bool:
        """Tell records that hold a list (or a comma-separated text) of labels, or Argilla's response columns."""
        if source.is_table and {"case", "annotation", "condition"} <= set(source.table.columns):
            return False  # the canonical form, whose names may look like lists
        return read.holds_lists(source) or any(_has_labels(record) for record in read.objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per entry of the list; an entry that is a list itself is a tie, null is no opinion."""
        said = read.Collection()
        placed = read.checked_records(_unpacked(source), "record")
        records = [record for _, record in placed]
        labels = _labels_key(records, options)
        has_responses = labels.endswith(RESPONSES)
        who = (f"{labels}.users",) if has_responses else ANNOTATORS
        annotators, case_key = _key("annotator", who, records, options), _key("case", CASES, records, options)
        lists = _meaning(records, labels, annotators, options.lists)
        cases = [str(number) for number in range(len(placed))]
        if case_key is None:
            said.assume("the records have no id and are numbered from 0")
        else:
            what = f"the {case_key} of a record"
            cases = [read.as_name(record.get(case_key), what, where) for where, record in placed]
        if case_key is not None and (lists == "votes" or annotators is None):
            refuse_repeated_cases(cases, "record", advice="write one record per case, with a list of labels")
        for (where, record), case in zip(placed, cases, strict=True):
            said.add_case(case)
            where = f"{where}, case {case!r}"  # noqa: PLW2901
            if lists == "votes":
                _add_votes(record, labels, annotators, case, where, said)
            elif record.get(labels) is not None:  # best first, where a list in it is a tie, or all labels alike
                blocks = [read.as_block(label, where) for label in _items(record[labels], labels, where)]
                blocks = blocks if lists == "order" else [[name for block in blocks for name in block]]
                one = record.get(annotators or "")
                one = one[0] if isinstance(one, list) and len(one) == 1 else one
                said.add_ranking(case, read.optional_name(one, "the one annotator of a list", where), blocks)
        if annotators is None and lists == "votes":
            said.assume("there is no list of annotators: every label is an opinion of its own")
        found = {case_key: "case", labels: "condition", annotators: "annotator"}
        roles = {key: role for key, role in found.items() if key is not None}
        given = {key: AS_SAID for key, role in roles.items() if options.columns.get(role) is not None}
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


def _items(value: Any, key: str, where: str) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return read.optional_list(value, f"the value of {key!r}", where)


# Lists in the cells of tables -------------------------------------------------------------------------


def _unpacked(source: Source) -> Source:
    """Take a table with lists in its cells for records; lists may be written as JSON or Python writes them."""
    if not source.is_table:
        return source
    table = source.table
    table = table.with_columns(
        table[name].cast(pl.List(dtype.inner)) for name, dtype in table.schema.items() if isinstance(dtype, pl.Array)
    )
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String and read.is_list(table[name])]
    records = table.to_dicts()
    for number, record in enumerate(records, start=1):
        record.update({name: _list(record[name], name, number) for name in texts})
    return replace(source, kind="jsonl", content=records)


def _list(cell: str | None, column: str, number: int) -> Any:
    if cell is None:
        return None
    text = cell.strip()
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, SyntaxError, RecursionError):
        if PYTHON_LIST.fullmatch(text):
            return ast.literal_eval(text)
    raise FormatError(
        "a list in a cell is not understood",
        expected="a list such as [\"a\", \"b\"] or ['a', 'b'], with commas between its labels",
        got=f"{cell:.60}",
        where=f"data row {number}, column {column!r}",
    )


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
