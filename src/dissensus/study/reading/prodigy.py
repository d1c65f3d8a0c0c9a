"""Prodigy's JSON lines: one line per task and annotator, with the accepted options."""

from __future__ import annotations

from typing import Any

from dissensus.core.errors import FormatError, listing, suggestion
from dissensus.core.files import Source
from dissensus.study.reading import records as read
from dissensus.study.reading.format import Format, Options, Parsed

HASHES = ("_task_hash", "_input_hash")
ANNOTATORS = ("_annotator_id", "_session_id")


class Prodigy(Format):
    """Prodigy's JSON lines of choice tasks."""

    id = "prodigy"
    title = "Prodigy's JSON lines of choice tasks"

    def recognises(self, source: Source) -> bool:
        """Tell tasks by a hash and an answer."""
        return any("answer" in record and any(name in record for name in HASHES) for record in read.objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one ranking per accepted line; several accepted options are a tie, none is an abstention.

        Lines that were rejected or ignored are skipped and counted. The options of all lines are the conditions.
        """
        said = read.Collection()
        vocabulary: dict[str, None] = {}
        roles = {"options": "conditions", "accept": "condition", "answer": "state of the answer"}
        for where, record in read.checked_records(source, "record"):
            task, user = read.first_key(record, HASHES), read.first_key(record, ANNOTATORS)
            case = read.as_name(record.get(task), "the hash of a task", where)
            said.add_case(case)
            roles |= {task: "case", **({user: "annotator"} if user else {})}
            choices = _choices(record, where)
            vocabulary.update(dict.fromkeys(choices.values()))
            answer = read.as_name(record.get("answer"), "the answer", where)
            if answer != "accept":
                said.skip(f"answers {answer!r:.40}", case)
                continue
            annotator = read.optional_name(record.get(user), "the annotator", where)
            said.add_ranking(case, annotator, [_accepted(record, choices, where)])
        said.assume("several accepted options are tied")
        return said.parsed(tuple(vocabulary) or None, columns=read.key_columns(read.objects_of(source), roles))


def _choices(record: dict[str, Any], where: str) -> dict[str, str]:
    """Name the condition of each option: its id, or its text if the id is only a number."""
    choices = {}
    for item in read.optional_list(record.get("options"), "the list of options", where):
        option = read.as_object(item, "an option", where)
        key = read.as_condition(option.get("id"), where)
        by_text = not isinstance(option["id"], str) and option.get("text") is not None
        choices[key] = read.as_condition(option["text"], where) if by_text else key
    return choices


def _accepted(record: dict[str, Any], choices: dict[str, str], where: str) -> list[str]:
    if "accept" not in record and not choices:
        raise FormatError(
            "a record has neither options nor accepted options",
            expected='a choice task: {"options": [...], "accept": [...]}',
            got=f"keys {listing(record, most=12)}",
            where=where,
        )
    given = read.optional_list(record.get("accept"), "the accepted options", where)
    accepted = [read.as_condition(item, where) for item in given]
    unknown = [key for key in accepted if choices and key not in choices]
    if unknown:
        raise FormatError(
            f"an accepted option {unknown[0]!r} is not among the options",
            expected=f"one of {listing(choices, most=12)}",
            where=where,
            advice=suggestion(unknown[0], choices),
        )
    return [choices.get(key, key) for key in accepted]
