"""Argilla's records: responses by several users to label, multi-label and ranking questions."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

from dissensus.core.errors import FormatError
from dissensus.core.files import Source
from dissensus.core.receipt import AS_SAID
from dissensus.study.reading import records as read
from dissensus.study.reading.format import Format, Options, Parsed

SUBMITTED = "submitted"
WRAPPERS = ("items", "records")
CASES = ("external_id", "id")


class _Response(NamedTuple):
    """One user's answers to the questions of one record."""

    case: str
    user: str | None
    answers: dict[str, Any]
    where: str
    lists_are_ordered: bool


class Argilla(Format):
    """Argilla's records with responses to a label or ranking question."""

    id = "argilla"
    title = "Argilla's records with responses to a label or ranking question"

    def recognises(self, source: Source) -> bool:
        """Tell records by their responses beside their fields, or by the values inside."""
        return any(_is_record(record) for record in read.objects_of(source, inside=WRAPPERS))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per submitted response.

        A ranking with ranks keeps its ties, and several labels are one tie. Version 2 of the SDK exports rankings
        as lists without ranks: they are read as strict orders, with a note.
        """
        said = read.Collection()
        responses = list(_responses(source, said))
        asked: dict[str, bool] = {}
        for name, value in (answer for response in responses for answer in response.answers.items()):
            asked[name] = asked.get(name, False) or _names_conditions(value)
        expected = "answers to a label, multi-label or ranking question"
        question = read.question_to_read("question", asked, options, expected=expected)
        for response in responses:
            said.add_ranking(response.case, response.user, _blocks(response, question, said))
        records = read.objects_of(source, inside=WRAPPERS)
        has_external = any(record.get("external_id") is not None for record in records)
        roles = dict.fromkeys(CASES if has_external else CASES[1:], "case") | {"responses.user_id": "annotator"}
        roles |= {f"responses.{name}": "condition" if name == question else "" for name in asked}
        is_said = options.columns.get("condition") is not None
        reasons = {f"responses.{question}": AS_SAID if is_said else "the only question that asks for conditions"}
        reasons |= {"id": "where there is no external_id"} if has_external else {}
        return said.parsed(columns=read.key_columns(records, roles, reasons))


def _is_record(record: dict[str, Any]) -> bool:
    responses = record.get("responses")
    has_fields = isinstance(record.get("fields"), dict)
    if isinstance(responses, list):
        return has_fields or any("values" in response for response in responses if isinstance(response, dict))
    return isinstance(responses, dict) and has_fields


def _responses(source: Source, said: read.Collection) -> Iterator[_Response]:
    """Go through what users submitted.

    The REST interface and version 1 have one response per user, with all its values; version 2 has a list of answers
    per question.
    """
    for where, record in read.checked_records(source, "record", inside=WRAPPERS):
        case = read.as_name(record.get(read.first_key(record, CASES)), "the id of a record", where)
        said.add_case(case)
        given = record.get("responses")
        if isinstance(given, dict):
            yield from _by_question(given, case, said)
            continue
        for number, item in enumerate(read.optional_list(given, "the list of responses", where), start=1):
            where = f"case {case!r}, response {number}"
            response = read.as_object(item, "a response", where)
            if _is_submitted(response, case, said):
                values = {} if response.get("values") is None else response["values"]
                answers = {
                    name: read.as_object(answer, "the answer to a question", where).get("value")
                    for name, answer in read.as_object(values, "the values of a response", where).items()
                }
                user = read.optional_name(response.get("user_id"), "the user of a response", where)
                yield _Response(case, user, answers, where, False)


def _by_question(questions: dict[str, Any], case: str, said: read.Collection) -> Iterator[_Response]:
    answers: dict[str | None, dict[str, Any]] = {}
    for question, given in questions.items():
        where = f"case {case!r}, question {question!r}"
        for item in read.as_list(given, "the list of answers", where):
            response = read.as_object(item, "an answer", where)
            if _is_submitted(response, case, said):
                user = read.optional_name(response.get("user_id"), "the user of an answer", where)
                if question in answers.setdefault(user, {}):
                    raise FormatError("a user answers a question twice", got=repr(user), where=where)
                answers[user][question] = response.get("value")
    for user, values in answers.items():
        yield _Response(case, user, values, f"case {case!r}, user {user!r}", True)


def _is_submitted(response: dict[str, Any], case: str, said: read.Collection) -> bool:
    status = response.get("status", SUBMITTED)
    if status != SUBMITTED:
        said.skip(f"responses with the status {reprlib.repr(status)}", case)
    return bool(status == SUBMITTED)


# Answers ----------------------------------------------------------------------------------------------


def _names_conditions(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (is_ranked(value) or all(isinstance(item, str) for item in value))
    return isinstance(value, str)


def _blocks(response: _Response, question: str | None, said: read.Collection) -> list[list[str]]:
    for name in response.answers:
        if name != question:
            said.note(f"answers to the question {reprlib.repr(name)}", "not used", response.case)
    value = None if question is None else response.answers.get(question)
    if value is None:
        return []
    if is_ranked(value):
        return ranked_blocks(value, response.where)
    if not isinstance(value, list) or len(value) < 2:
        return [read.as_block(value, response.where)]
    if not response.lists_are_ordered:
        said.assume("several labels of one response are tied")
        return [read.as_block(value, response.where)]
    said.assume("a list of labels is an order, best first")
    said.note("lists without ranks", "read as strict orders; this export has lost any ties", response.case)
    return [[read.as_condition(item, response.where)] for item in value]


def is_ranked(value: Any) -> bool:
    """Tell a list of objects with a value and a rank."""
    return isinstance(value, list) and any(isinstance(item, dict) and "rank" in item for item in value)


def ranked_blocks(value: list[Any], where: str) -> list[list[str]]:
    """Put values with ranks into blocks; equal ranks are a tie, no rank means not ranked.

    >>> ranked_blocks([{"value": "a", "rank": 2}, {"value": "b", "rank": 1}, {"value": "c", "rank": 2}], "")
    [['b'], ['a', 'c']]
    """
    blocks: dict[float, list[str]] = {}
    for item in value:
        one = read.as_object(item, "an entry of a ranking", where)
        rank = one.get("rank")
        if rank is None:
            continue
        if isinstance(rank, bool) or not isinstance(rank, int | float) or not isfinite(rank) or rank <= 0:
            raise read.wrong_shape(rank, "a rank", "a positive number; 1 is best", where)
        blocks.setdefault(rank, []).append(read.as_condition(one.get("value"), where))
    return [blocks[rank] for rank in sorted(blocks)]
