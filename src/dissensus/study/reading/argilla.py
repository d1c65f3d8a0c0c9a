"""Argilla's records: responses by several users to label, multi-label and ranking questions."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dissensus.core.errors import DissensusError, FormatError, listing, suggestion
from dissensus.core.files import Source
from dissensus.core.receipt import AS_SAID, Column
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
    optional_name,
    wrong_shape,
)

SUBMITTED = "submitted"
WRAPPERS = ("items", "records")


@dataclass(frozen=True)
class _Response:
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
        return any(_is_record(record) for record in objects_of(source, inside=WRAPPERS))

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one ranking per submitted response.

        A ranking with ranks keeps its ties, and several labels are one tie. Version 2 of the SDK exports rankings
        as lists without ranks: they are read as strict orders, with a note.
        """
        said = Collection()
        responses = list(_responses(source, said))
        question = _question(responses, options)
        for response in responses:
            said.add_ranking(response.case, response.user, _blocks(response, question, said))
        return said.parsed(columns=_columns(source, responses, question, options))


def _columns(source: Source, responses: list[_Response], question: str | None, options: Options) -> tuple[Column, ...]:
    records = objects_of(source, inside=WRAPPERS)
    case = "external_id" if any(record.get("external_id") is not None for record in records) else "id"
    spare = {"id": "where there is no external_id"} if case == "external_id" else {}
    answer = f"responses.{question}"
    roles = {case: "case", **dict.fromkeys(spare, "case"), "responses.user_id": "annotator"}
    questions = dict.fromkeys(name for response in responses for name in response.answers)
    roles |= {f"responses.{name}": "condition" if name == question else "" for name in questions}
    reason = AS_SAID if options.columns.get("condition") is not None else "the only question that asks for conditions"
    return key_columns(records, roles, {**spare, answer: reason})


def _is_record(record: dict[str, Any]) -> bool:
    responses = record.get("responses")
    if isinstance(responses, list):
        inside = any("values" in response for response in responses if isinstance(response, dict))
        return inside or isinstance(record.get("fields"), dict)
    return isinstance(responses, dict) and isinstance(record.get("fields"), dict)


# Records and their responses --------------------------------------------------------------------------


def _responses(source: Source, said: Collection) -> Iterator[_Response]:
    for where, record in checked_records(source, "record", inside=WRAPPERS):
        name = record.get("id") if record.get("external_id") is None else record["external_id"]
        case = as_name(name, "the id of a record", where)
        said.add_case(case)
        given = record.get("responses")
        if isinstance(given, dict):
            yield from _by_question(given, case, said)
        elif given is not None:
            yield from _by_user(as_list(given, "the list of responses", where), case, said)


def _by_user(responses: list[Any], case: str, said: Collection) -> Iterator[_Response]:
    """Read the form of the REST interface and of version 1: one response per user, with all its values."""
    for number, item in enumerate(responses, start=1):
        where = f"case {case!r}, response {number}"
        response = as_object(item, "a response", where)
        if _is_submitted(response, case, said):
            user = optional_name(response.get("user_id"), "the user of a response", where)
            values = response.get("values")
            answers = {} if values is None else as_object(values, "the values of a response", where)
            yield _Response(case, user, {name: _value(answers[name], where) for name in answers}, where, False)


def _value(answer: Any, where: str) -> Any:
    return as_object(answer, "the answer to a question", where).get("value")


def _by_question(questions: dict[str, Any], case: str, said: Collection) -> Iterator[_Response]:
    """Read the form of version 2: a list of answers per question."""
    answers: dict[str | None, dict[str, Any]] = {}
    for question, given in questions.items():
        where = f"case {case!r}, question {question!r}"
        for item in as_list(given, "the list of answers", where):
            response = as_object(item, "an answer", where)
            if _is_submitted(response, case, said):
                user = optional_name(response.get("user_id"), "the user of an answer", where)
                if question in answers.setdefault(user, {}):
                    raise FormatError("a user answers a question twice", got=repr(user), where=where)
                answers[user][question] = response.get("value")
    for user, values in answers.items():
        yield _Response(case, user, values, f"case {case!r}, user {user!r}", True)


def _is_submitted(response: dict[str, Any], case: str, said: Collection) -> bool:
    status = response.get("status", SUBMITTED)
    if status != SUBMITTED:
        said.skip(f"responses with the status {reprlib.repr(status)}", case)
    return bool(status == SUBMITTED)


# The question that is read ----------------------------------------------------------------------------


def _question(responses: list[_Response], options: Options) -> str | None:
    """Choose the question to read: the one the user names, or the only one that names conditions."""
    answers = [answer for response in responses for answer in response.answers.items()]
    names = list(dict.fromkeys(name for name, value in answers if _names_conditions(value)))
    chosen = options.columns.get("condition")
    if chosen is not None:
        known = list(dict.fromkeys(name for name, _ in answers))
        if chosen not in known:
            raise DissensusError(
                f"no response answers a question named {chosen!r}",
                expected=f"one of {listing(known, most=12)}",
                advice=suggestion(chosen, known),
            )
        return chosen
    if len(names) > 1:
        raise several_questions(names)
    if answers and not names:
        raise FormatError(
            "no question asks for conditions",
            expected="answers to a label, multi-label or ranking question",
            got=f"questions {listing(dict.fromkeys(name for name, _ in answers), most=12)}",
        )
    return next(iter(names), None)


def several_questions(names: list[str]) -> DissensusError:
    """Build the error for a file that answers more than one question."""
    return DissensusError(
        "several questions could give the conditions",
        expected="one question to read the conditions from",
        got=listing(names, most=12),
        advice=f'choose one: columns={{"condition": "{names[0]}"}} (--column condition={names[0]})',
    )


def _names_conditions(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (is_ranked(value) or all(isinstance(item, str) for item in value))
    return isinstance(value, str)


# Answers ----------------------------------------------------------------------------------------------


def _blocks(response: _Response, question: str | None, said: Collection) -> list[list[str]]:
    for name in response.answers:
        if name != question:
            said.note(f"answers to the question {reprlib.repr(name)}", "not used", response.case)
    value = None if question is None else response.answers.get(question)
    if value is None:
        return []
    if is_ranked(value):
        return ranked_blocks(value, response.where)
    if isinstance(value, list) and len(value) > 1 and not response.lists_are_ordered:
        said.assume("several labels of one response are tied")
    if isinstance(value, list) and response.lists_are_ordered and len(value) > 1:
        said.assume("a list of labels is an order, best first")
        said.note("lists without ranks", "read as strict orders; this export has lost any ties", response.case)
        return [[as_condition(item, response.where)] for item in value]
    return [as_block(value, response.where)]


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
        entry = as_object(item, "an entry of a ranking", where)
        rank = entry.get("rank")
        if rank is not None:
            blocks.setdefault(_rank(rank, where), []).append(as_condition(entry.get("value"), where))
    return [blocks[rank] for rank in sorted(blocks)]


def _rank(rank: Any, where: str) -> float:
    if isinstance(rank, bool) or not isinstance(rank, int | float) or not isfinite(rank) or rank <= 0:
        raise wrong_shape(rank, "a rank", "a positive number; 1 is best", where)
    return rank
