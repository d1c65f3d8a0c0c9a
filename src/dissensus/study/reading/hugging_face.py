"""Hugging Face style records: a list of labels per case, and a list of who gave them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dissensus.core.errors import DissensusError, FormatError, listing, suggestion
from dissensus.core.files import Source
from dissensus.core.receipt import AS_SAID, Column
from dissensus.study.reading.argilla import SUBMITTED, is_ranked, ranked_blocks, several_questions
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.json_values import (
    as_block,
    as_list,
    as_name,
    checked_records,
    key_columns,
    objects_of,
    optional_list,
    optional_name,
    wrong_shape,
)
from dissensus.study.reading.lists import LABELS, RESPONSES, holds_lists, meaning, unpacked

CASES = (
    "id",
    "case",
    "case_id",
    "case_name",
    "item",
    "task",
    "example",
    "sample",
    "item_id",
    "task_id",
    "example_id",
    "image_id",
    "sample_id",
    "uid",
    "idx",
    "index",
)
ANNOTATORS = (
    "annotator_ids",
    "annotators",
    "annotator_id",
    "annotator",
    "worker_ids",
    "workers",
    "rater_ids",
    "raters",
)


class HuggingFace(Format):
    """Records with a list of labels and a list of annotators per case."""

    id = "hugging-face"
    title = "records with a list of labels and a list of annotators per case"

    def recognises(self, source: Source) -> bool:
        """Tell records that hold a list (or a comma-separated text) of labels, or Argilla's response columns."""
        return holds_lists(source) or any(_has_labels(record) for record in objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per entry of the list; an entry that is a list itself is a tie, null is no opinion."""
        said = Collection()
        places = checked_records(unpacked(source), "record")
        records = [record for _, record in places]
        labels = _labels_column(records, options)
        annotators = _annotators_column(records, labels, options)
        lists = meaning(records, labels, annotators, options.lists)
        case_key = _case_key(records, options)
        cases = _case_names(places, case_key, said, may_repeat=lists != "votes" and annotators is not None)
        for (where, record), case in zip(places, cases, strict=True):
            said.add_case(case)
            add = _add_record if lists == "votes" else _add_order if lists == "order" else _add_tie
            add(record, labels, annotators, case, f"{where}, case {case!r}", said)
        if annotators is None and lists == "votes":
            said.assume("there is no list of annotators: every label is an opinion of its own")
        return said.parsed(columns=_columns(records, case_key, labels, annotators, options))


def _columns(
    records: list[dict[str, Any]], case: str | None, labels: str, annotators: str | None, options: Options
) -> tuple[Column, ...]:
    found = {"case": case, "condition": labels, "annotator": annotators}
    roles = {key: role for role, key in found.items() if key is not None}
    said = {key: AS_SAID for key, role in roles.items() if options.columns.get(role) is not None}
    status = {f"{labels}.status": "state of the response"} if labels.endswith(RESPONSES) else {}
    return key_columns(records, {**roles, **status}, said)


def _case_key(records: list[dict[str, Any]], options: Options) -> str | None:
    chosen = options.columns.get("case")
    return _first_present(CASES, records) if chosen is None else _given(chosen, records, ("",))


def _has_labels(record: dict[str, Any]) -> bool:
    lists = [record[name] for name in LABELS if isinstance(record.get(name), list)]
    if any(items and not any(isinstance(item, dict) for item in items) for items in lists):
        return True
    texts = any(isinstance(record.get(name), str) for name in LABELS[:2])
    named = any(isinstance(record.get(name), list | str) for name in ANNOTATORS[:2])
    return ((texts or bool(lists)) and named) or bool(_questions([record]))


def _questions(records: Iterable[dict[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for record in records for name in record if name.endswith(RESPONSES))
    return [name.removesuffix(RESPONSES) for name in names]


# Columns ----------------------------------------------------------------------------------------------


def _labels_column(records: list[dict[str, Any]], options: Options) -> str:
    chosen = options.columns.get("condition")
    if chosen is not None:
        return _given(chosen, records, ("", RESPONSES))
    questions = _questions(records)
    if len(questions) > 1:
        raise several_questions(questions)
    if questions:
        return questions[0] + RESPONSES
    found = _first_present(LABELS, records)
    if found is None:
        raise FormatError(
            "the records have no labels",
            expected=f"a list of labels under {listing(LABELS)}, or a column such as 'question.responses'",
            got=f"keys {listing(records[0], most=12)}",
            advice='say which key it is: columns={"condition": NAME} (--column condition=NAME)',
        )
    return found


def _annotators_column(records: list[dict[str, Any]], labels: str, options: Options) -> str | None:
    chosen = options.columns.get("annotator")
    if chosen is not None:
        return _given(chosen, records, ("",))
    if labels.endswith(RESPONSES):
        return _first_present((f"{labels}.users",), records)
    return _first_present(ANNOTATORS, records)


def _given(chosen: str, records: list[dict[str, Any]], endings: Sequence[str]) -> str:
    found = _first_present([chosen + ending for ending in endings], records)
    if found is None:
        keys = list(dict.fromkeys(key for record in records for key in record))
        raise DissensusError(
            f"no record has the key {chosen!r}",
            expected=f"one of {listing(keys, most=12)}",
            advice=suggestion(chosen, keys),
        )
    return found


def _first_present(names: Sequence[str], records: list[dict[str, Any]]) -> str | None:
    return next((name for name in names if any(name in record for record in records)), None)


def _case_names(
    places: list[tuple[str, dict[str, Any]]], column: str | None, said: Collection, *, may_repeat: bool
) -> list[str]:
    if column is None:
        said.assume("the records have no id and are numbered from 0")
        return [str(number) for number in range(len(places))]
    names = [as_name(record.get(column), f"the {column} of a record", where) for where, record in places]
    first: dict[str, str] = {}
    for name, (where, _) in zip(names, places, strict=True):
        if first.setdefault(name, where) != where and not may_repeat:
            raise DissensusError(
                f"case {name!r} stands in several records",
                expected="one record per case, with a list of labels",
                got=f"{first[name]} and {where}",
            )
    return names


# Records ----------------------------------------------------------------------------------------------


def _add_record(
    record: dict[str, Any], column: str, annotators: str | None, case: str, where: str, said: Collection
) -> None:
    labels = _entries(record.get(column), column, where)
    names = _names(record, annotators, len(labels), where)
    statuses = _statuses(record, column, len(labels), where)
    for label, name, status in zip(labels, names, statuses, strict=True):
        if status != SUBMITTED:
            said.skip(f"responses with the status {status!r:.40}", case)
        elif label is None or label != label:
            said.note("labels that are null", "taken as no opinion", case)
        else:
            said.add_ranking(case, name, _blocks(label, where))


def _add_order(
    record: dict[str, Any], column: str, annotator: str | None, case: str, where: str, said: Collection
) -> None:
    """Add a list as the ranking of one annotator, best first; a list in it is a tie."""
    labels = record.get(column)
    if labels is not None:
        blocks = [as_block(label, where) for label in _entries(labels, column, where)]
        said.add_ranking(case, _one_name(record, annotator, where), blocks)


def _add_tie(
    record: dict[str, Any], column: str, annotator: str | None, case: str, where: str, said: Collection
) -> None:
    """Add a list as the ranking of one annotator in which all labels are alike."""
    labels = record.get(column)
    if labels is not None:
        block = [name for label in _entries(labels, column, where) for name in as_block(label, where)]
        said.add_ranking(case, _one_name(record, annotator, where), [block])


def _one_name(record: dict[str, Any], column: str | None, where: str) -> str | None:
    value = record.get(column or "")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return optional_name(value, "the one annotator of a list", where)


def _blocks(label: Any, where: str) -> list[list[str]]:
    return ranked_blocks(label, where) if is_ranked(label) else [as_block(label, where)]


def _entries(value: Any, column: str, where: str) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return optional_list(value, f"the value of {column!r}", where)


def _names(record: dict[str, Any], column: str | None, n_labels: int, where: str) -> Sequence[str | None]:
    if column is None or (column not in record and not n_labels):
        return [None] * n_labels
    names = _entries(record.get(column), column, where)
    _same_length(n_labels, len(names), "annotators", where)
    return [optional_name(name, "an annotator", where) for name in names]


def _statuses(record: dict[str, Any], column: str, n_labels: int, where: str) -> list[str]:
    given = record.get(f"{column}.status") if column.endswith(RESPONSES) else None
    if given is None:
        return [SUBMITTED] * n_labels
    statuses = as_list(given, "the list of statuses", where)
    _same_length(n_labels, len(statuses), "statuses", where)
    if not all(status is None or isinstance(status, str) for status in statuses):
        raise wrong_shape(statuses, "the list of statuses", "words such as 'submitted'", where)
    return [str(status) for status in statuses]


def _same_length(n_labels: int, n_others: int, others: str, where: str) -> None:
    if n_labels != n_others:
        raise FormatError(
            f"the labels and the {others} of a record do not match",
            expected=f"as many {others} as labels",
            got=f"{n_labels} labels, {n_others} {others}",
            where=where,
        )
