"""Nested JSON: case > annotator > block > condition."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import Source
from dissensus.core.names import check_names
from dissensus.core.receipt import codes_in_words
from dissensus.study.builders import LEVELS, condition_codes, condition_names
from dissensus.study.reading import records as read
from dissensus.study.reading.format import Format, Options, Parsed

RANKINGS = "rankings"
ROLES = {RANKINGS: "rankings", "conditions": "conditions", "case_names": "case", **read.DECLARED}


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
        said = read.Collection()
        cases = _children(content.get(RANKINGS), 0, where)
        names = _case_names(content, len(cases), where, said)
        rankings = [list(_rankings(case, name)) for case, name in zip(cases, names, strict=True)]
        placed = [(place, one) for case in rankings for place, blocks in case for block in blocks for one in block]
        mentions = [mention for _, mention in placed]
        conditions = condition_names(mentions, _conditions(content, options, where))
        codes = iter(condition_codes(mentions, conditions, lambda at: placed[at][0]).tolist())
        said.assume("every list of blocks is the ranking of one annotator without a name")
        if any(isinstance(mention, int) for mention in mentions):
            said.assume(codes_in_words(conditions))
        for name, case in zip(names, rankings, strict=True):
            said.add_case(name)
            for _, blocks in case:
                said.add_ranking(name, None, [[conditions[next(codes)] for _ in block] for block in blocks])
        keys = [source.content] if isinstance(source.content, dict) else []
        parsed = said.parsed(conditions, columns=read.key_columns(keys, ROLES))
        for role in read.DECLARED:
            if (declared := read.declaration(content, role, where)) is not None:
                parsed = replace(parsed, frame=parsed.frame.with_columns(pl.lit(declared).alias(role)))
        return parsed


def _conditions(content: dict[str, Any], options: Options, where: str) -> Sequence[str] | None:
    if options.conditions is not None or content.get("conditions") is None:
        return options.conditions
    given = read.as_list(content["conditions"], "the list of conditions", where)
    names = [_as_written(name, "a condition", where) for name in given]
    check_names("condition", names)
    return names


def _case_names(content: dict[str, Any], n_cases: int, where: str, said: read.Collection) -> list[str]:
    if content.get("case_names") is None:
        said.assume("the cases have no names and are numbered from 0")
        return [str(number) for number in range(n_cases)]
    names = read.as_list(content["case_names"], "the list of case names", where)
    check_length("case name", len(names), n_cases)
    named = [_as_written(name, "a case name", where) for name in names]
    check_names("case", named)
    return named


def _rankings(case: Any, name: str) -> Iterator[tuple[str, list[list[str | int]]]]:
    """Walk through the rankings of one case: where each stands, and the mentions of its blocks."""
    for number, ranking in enumerate(_children(case, 1, f"case {name!r}"), start=1):
        place = f"case {name!r}, ranking {number}"
        blocks = [_children(block, 3, place) for block in _children(ranking, 2, place)]
        if not all(blocks):
            raise DissensusError(
                "a block is empty",
                expected="at least one condition in every block",
                where=place,
                advice="leave the empty block out; an annotator who mentions nothing has no blocks at all",
            )
        yield place, [[_mention(mention, place) for mention in block] for block in blocks]


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
    return value if isinstance(value, str) and value and read.is_text(value) else read.as_name(value, what, where)
