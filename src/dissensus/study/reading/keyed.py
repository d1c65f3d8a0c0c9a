"""JSON of two levels: annotators and their cases, or cases and their annotators."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from dissensus.core.errors import FormatError
from dissensus.core.files import Source
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.json_values import as_name, as_object, as_ranking


class AnnotatorKeys(Format):
    """JSON {annotator: {case: label or ranking}}."""

    id = "annotator-json"
    title = "JSON {annotator: {case: label or ranking}}"
    wrapper: ClassVar[str] = "annotators"
    levels: ClassVar[tuple[str, str]] = ("annotator", "case")

    def recognises(self, source: Source) -> bool:
        """Tell an object that says what its keys are; without that word, there are two ways to read it."""
        return _is_wrapped(source, self.wrapper)

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read a label, or a list of blocks, per annotator and case; null is no opinion, an empty list abstains."""
        said = Collection()
        for outer, inner, value in _entries(source, self.wrapper, self.levels):
            named = dict(zip(self.levels, (outer, inner), strict=True))
            case, annotator = named["case"], named["annotator"]
            if value is None or annotator is None:
                said.add_case(str(case))
            elif case is not None:
                said.add_ranking(case, annotator, as_ranking(value, f"case {case!r}, annotator {annotator!r}"))
        return replace(
            said.parsed(), assumed=(f"the outer keys are {self.levels[0]}s, the inner keys {self.levels[1]}s",)
        )


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


def _entries(source: Source, wrapper: str, levels: tuple[str, str]) -> Iterator[tuple[str | None, str | None, Any]]:
    """Walk through both levels; an outer key without any inner one has no entry but itself."""
    content = as_object(source.content, "the file", str(source.path))
    content = content[wrapper] if _is_wrapped(source, wrapper) else content
    for outer, inner in content.items():
        name = as_name(outer, f"the name of the {levels[0]}", str(source.path))
        entries = as_object(inner, f"what stands under {outer!r}", f"{source.path}, {levels[0]} {outer!r}")
        if not entries and levels[0] == "case":
            yield name, None, None
        for key, value in entries.items():
            yield name, as_name(key, f"the name of the {levels[1]}", f"{levels[0]} {outer!r}"), value


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
