"""Nested JSON: case > annotator > block > condition, in lists, or under the names of cases and annotators."""

from __future__ import annotations

import reprlib
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import Source
from dissensus.core.names import check_names
from dissensus.core.receipt import codes_in_words
from dissensus.study.builders import condition_codes, condition_names, nested_levels
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
        cases, _, _, mentions = nested_levels(content.get(RANKINGS))
        names = _listed_names(content, "case_names", where)
        if names is None:
            said.assume("the cases have no names and are numbered from 0")
            names = [str(number) for number in range(len(cases))]
        check_length("case name", len(names), len(cases))
        placed = [
            (f"case {name!r}, ranking {number}", ranking)
            for name, case in zip(names, cases, strict=True)
            for number, ranking in enumerate(case, start=1)
        ]
        empty = next((place for place, ranking in placed if not all(ranking)), None)
        if empty is not None:
            raise DissensusError(
                "a block is empty",
                expected="at least one condition in every block",
                where=empty,
                advice="leave the empty block out; an annotator who mentions nothing has no blocks at all",
            )
        places = [place for place, ranking in placed for block in ranking for _ in block]
        listed = _listed_names(content, "conditions", where) if options.conditions is None else options.conditions
        conditions = condition_names(mentions, listed)
        codes = iter(condition_codes(mentions, conditions, places.__getitem__).tolist())
        said.assume("every list of blocks is the ranking of one annotator without a name")
        if any(isinstance(mention, int) for mention in mentions):
            said.assume(codes_in_words(conditions))
        for name, case in zip(names, cases, strict=True):
            said.add_case(name)
            for ranking in case:
                said.add_ranking(name, None, [[conditions[next(codes)] for _ in block] for block in ranking])
        keys = [source.content] if isinstance(source.content, dict) else []
        parsed = said.parsed(conditions, columns=read.key_columns(keys, ROLES))
        for role in read.DECLARED:
            if (declared := read.declaration(content, role, where)) is not None:
                parsed = replace(parsed, frame=parsed.frame.with_columns(pl.lit(declared).alias(role)))
        return parsed


def _listed_names(content: dict[str, Any], key: str, where: str) -> list[str] | None:
    """Return the names that a file lists, if it does; blank ones, too, as a study may have them and write them here."""
    if content.get(key) is None:
        return None
    what = key.removesuffix("s").replace("_", " ")
    given = read.as_list(content[key], f"the list of {what}s", where)
    names = [name if isinstance(name, str) and name else read.as_name(name, f"a {what}", where) for name in given]
    check_names(what.removesuffix(" name"), names)
    return names


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
