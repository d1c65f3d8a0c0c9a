"""Nested JSON: case > annotator > block > condition."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import polars as pl

from dissensus.core.aliases import Question, Unranked
from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import Source
from dissensus.core.names import check_names
from dissensus.core.receipt import codes_in_words
from dissensus.study.builders import LEVELS, condition_codes, condition_names
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.json_values import as_list, as_name, is_text, key_columns, wrong_shape

RANKINGS = "rankings"
ROLES = {
    RANKINGS: "rankings",
    "conditions": "conditions",
    "case_names": "case",
    "unranked": "meaning of not being mentioned",
    "kind_of_question": "what annotators were asked",
}


class Nested(Format):
    """Nested JSON: case > annotator > block > condition."""

    id = "nested"
    title = "nested JSON: case > annotator > block > condition"

    def recognises(self, source: Source) -> bool:
        """Tell a list of lists, or an object that holds one under "rankings"."""
        if source.kind != "json":
            return False
        cases = source.content.get(RANKINGS) if isinstance(source.content, dict) else source.content
        return isinstance(cases, list) and any(isinstance(case, list) for case in cases)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read anonymous rankings of conditions by name or by code.

        Cases are numbered from 0 unless the file names them; a case without rankings is unannotated.
        """
        content = source.content if isinstance(source.content, dict) else {RANKINGS: source.content}
        where = str(source.path)
        cases = _children(content.get(RANKINGS), 0, where)
        said = Collection()
        names = _case_names(content, len(cases), where, said)
        mentions = _mentions(cases, names)
        conditions = condition_names(mentions, _conditions(content, options, where))
        known = frozenset(conditions)
        said.assume("every list of blocks is the ranking of one annotator without a name")
        if any(isinstance(mention, int) for mention in mentions):
            said.assume(codes_in_words(conditions))
        for name, case in zip(names, cases, strict=True):
            said.add_case(name)
            for number, ranking in enumerate(case, start=1):
                place = f"case {name!r}, ranking {number}"
                said.add_ranking(name, None, [_block(block, conditions, known, place) for block in ranking])
        keys = [source.content] if isinstance(source.content, dict) else []
        parsed = said.parsed(conditions, columns=key_columns(keys, ROLES))
        return _with_question(_with_unranked(parsed, content.get("unranked"), where), content, where)


def _with_unranked(parsed: Parsed, meaning: object, where: str) -> Parsed:
    """Let every row say what it means not to be mentioned, as the long form does."""
    if meaning is None:
        return parsed
    if meaning not in get_args(Unranked):
        raise wrong_shape(meaning, "the meaning of 'unranked'", "'below' or 'unobserved'", where)
    return replace(parsed, frame=parsed.frame.with_columns(unranked=pl.lit(str(meaning))))


def _with_question(parsed: Parsed, content: dict[str, Any], where: str) -> Parsed:
    """Let every row say what was asked, as the long form does."""
    asked = content.get("kind_of_question")
    if asked is None:
        return parsed
    if asked not in get_args(Question):
        raise wrong_shape(asked, "the kind of question", " or ".join(map(repr, get_args(Question))), where)
    return replace(parsed, frame=parsed.frame.with_columns(kind_of_question=pl.lit(str(asked))))


def _conditions(content: dict[str, Any], options: Options, where: str) -> Sequence[str] | None:
    if options.conditions is not None or content.get("conditions") is None:
        return options.conditions
    given = as_list(content["conditions"], "the list of conditions", where)
    names = [_as_written(name, "a condition", where) for name in given]
    check_names("condition", names)
    return names


def _case_names(content: dict[str, Any], n_cases: int, where: str, said: Collection) -> list[str]:
    if content.get("case_names") is None:
        said.assume("the cases have no names and are numbered from 0")
        return [str(number) for number in range(n_cases)]
    names = as_list(content["case_names"], "the list of case names", where)
    check_length("case name", len(names), n_cases)
    named = [_as_written(name, "a case name", where) for name in names]
    check_names("case", named)
    return named


def _mentions(cases: list[Any], names: list[str]) -> list[Any]:
    mentions: list[Any] = []
    for name, case in zip(names, cases, strict=True):
        for number, ranking in enumerate(_children(case, 1, f"case {name!r}"), start=1):
            place = f"case {name!r}, ranking {number}"
            for block in _children(ranking, 2, place):
                mentions.extend(_mention(mention, place) for mention in _children(block, 3, place))
    return mentions


def _children(parent: Any, depth: int, where: str) -> list[Any]:
    if not isinstance(parent, list):
        raise FormatError(
            "rankings are nested to the wrong depth",
            expected="case > annotator > block > condition, four lists deep",
            got=f"{reprlib.repr(parent)} where a list of the {LEVELS[depth]} should be",
            where=where,
            advice="a single label is [['name']]: one block that holds one condition",
        )
    return parent


def _block(block: list[Any], conditions: tuple[str, ...], known: frozenset[str], where: str) -> list[str]:
    if not block:
        raise DissensusError(
            "a block is empty",
            expected="at least one condition in every block",
            where=where,
            advice="leave the empty block out; an annotator who mentions nothing has no blocks at all",
        )
    return [_name(mention, conditions, known, where) for mention in block]


def _name(mention: str | int, conditions: tuple[str, ...], known: frozenset[str], where: str) -> str:
    if isinstance(mention, str) and mention in known:
        return mention
    if isinstance(mention, int) and 0 <= mention < len(conditions):
        return conditions[mention]
    try:
        return conditions[int(condition_codes([mention], conditions)[0])]
    except DissensusError as error:
        raise error.at(where) from None


def _mention(mention: Any, where: str) -> str | int:
    if isinstance(mention, int) and not isinstance(mention, bool):
        return mention
    if isinstance(mention, list):
        raise FormatError(
            "rankings are nested to the wrong depth",
            expected="case > annotator > block > condition, four lists deep",
            got=f"{reprlib.repr(mention)} where a condition should be",
            where=where,
        )
    return _as_written(mention, "a condition", where)


def _as_written(value: Any, what: str, where: str) -> str:
    """Return a name; blank ones, too, as a study may have them and this form is written, too."""
    return value if isinstance(value, str) and value and is_text(value) else as_name(value, what, where)
