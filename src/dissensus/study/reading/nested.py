"""Nested JSON: case > annotator > block > condition, in lists, or under the names of cases and annotators."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

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
    kinds = ("json",)

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
        names = _listed_names(content, "case_names", "case name", where)
        if names is None:
            said.assume("the cases have no names and are numbered from 0")
            names = [str(number) for number in range(len(cases))]
        check_length("case name", len(names), len(cases))
        rankings = [list(_rankings(case, name)) for case, name in zip(cases, names, strict=True)]
        placed = [(place, one) for case in rankings for place, blocks in case for block in blocks for one in block]
        mentions = [mention for _, mention in placed]
        listed = _listed_names(content, "conditions", "condition", where) if options.conditions is None else None
        conditions = condition_names(mentions, listed if options.conditions is None else options.conditions)
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


def _listed_names(content: dict[str, Any], key: str, what: str, where: str) -> list[str] | None:
    """Return the names that a file lists, if it does."""
    if content.get(key) is None:
        return None
    given = read.as_list(content[key], f"the list of {key.replace('_', ' ')}", where)
    names = [_as_written(name, f"a {what}", where) for name in given]
    check_names(what.removesuffix(" name"), names)
    return names


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
        raise _wrong_depth(parent, f"a list of the {LEVELS[depth]}", where)
    return parent


def _wrong_depth(value: Any, wanted: str, where: str) -> FormatError:
    return FormatError(
        "rankings are nested to the wrong depth",
        expected="case > annotator > block > condition, four lists deep",
        got=f"{reprlib.repr(value)} where {wanted} should be",
        where=where,
        advice="a single label is [['name']]: one block that holds one condition",
    )


def _mention(mention: Any, where: str) -> str | int:
    if isinstance(mention, int) and not isinstance(mention, bool):
        return mention
    if isinstance(mention, list):
        raise _wrong_depth(mention, "a condition", where)
    return _as_written(mention, "a condition", where)


def _as_written(value: Any, what: str, where: str) -> str:
    """Return a name; blank ones, too, as a study may have them and this form is written, too."""
    return value if isinstance(value, str) and value else read.as_name(value, what, where)


# Names as keys -----------------------------------------------------------------------------------------


class AnnotatorKeys(Format):
    """JSON {annotator: {case: label or ranking}}."""

    id = "annotator-json"
    title = "JSON {annotator: {case: label or ranking}}"
    kinds = ("json",)
    wrapper: ClassVar[str] = "annotators"
    levels: ClassVar[tuple[str, str]] = ("annotator", "case")

    def recognises(self, source: Source) -> bool:
        """Tell an object that says what its keys are; without that word, there are two ways to read it."""
        return _is_wrapped(source, self.wrapper)

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read a label, or a list of blocks, per annotator and case; null is no opinion, an empty list abstains."""
        said = read.Collection()
        outer_role, inner_role = self.levels
        content = read.as_object(source.content, "the file", str(source.path))
        content = content[self.wrapper] if _is_wrapped(source, self.wrapper) else content
        for outer, under in content.items():
            read.as_name(outer, f"the name of the {outer_role}", str(source.path))
            where = f"{outer_role} {outer!r}"
            inner = read.as_object(under, f"what stands under {outer!r}", f"{source.path}, {where}")
            if outer_role == "case":
                said.add_case(outer)
            for key, value in inner.items():
                read.as_name(key, f"the name of the {inner_role}", where)
                case, annotator = (outer, key) if outer_role == "case" else (key, outer)
                if value is None:
                    said.add_case(case)
                else:
                    said.add_ranking(case, annotator, read.as_ranking(value, f"case {case!r}, annotator {annotator!r}"))
        said.assume(f"the outer keys are {outer_role}s, the inner keys {inner_role}s")
        return said.parsed()


class CaseKeys(AnnotatorKeys):
    """JSON {case: {annotator: label or ranking}}."""

    id = "case-json"
    title = "JSON {case: {annotator: label or ranking}}"
    wrapper = "cases"
    levels = ("case", "annotator")


def _is_wrapped(source: Source, wrapper: str) -> bool:
    content = source.content if source.kind == "json" else None
    return isinstance(content, dict) and list(content) == [wrapper] and _first_label(content[wrapper]) is not None


def _first_label(content: Any) -> tuple[str, str, Any] | None:
    """Return the first label of an object of two levels, and the keys that lead to it; None if it is not such."""
    if not isinstance(content, dict) or not all(isinstance(inner, dict) for inner in content.values()):
        return None
    labels = [(outer, key, value) for outer, inner in content.items() for key, value in inner.items()]
    if not all(value is None or isinstance(value, str | int | list) for _, _, value in labels):
        return None
    return next((label for label in labels if label[2] is not None), None)


def refuse_two_readings(source: Source) -> None:
    """Refuse an object of two levels that does not say which is which; the error tells what either would mean."""
    label = _first_label(source.content) if source.kind == "json" else None
    if label is None:
        return
    outer, inner, value = label
    said = f"said {reprlib.repr(value)}"
    raise FormatError(
        "the outer keys of the file can be annotators or cases",
        expected=f"annotator-json (annotator {outer!r} {said} on case {inner!r}) or "
        f"case-json (annotator {inner!r} {said} on case {outer!r})",
        got=f"{len(source.content):,} outer keys, without a word what they are",
        where=str(source.path),
        advice="say which it is: --format annotator-json or --format case-json (format='annotator-json' or "
        "format='case-json')",
    )
