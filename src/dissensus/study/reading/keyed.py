"""JSON of two levels: annotators and their cases, or cases and their annotators."""

from __future__ import annotations

import reprlib
from typing import Any, ClassVar

from dissensus.core.errors import FormatError
from dissensus.core.files import Source
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.records import Collection, as_name, as_object, as_ranking


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
        outer_role, inner_role = self.levels
        content = as_object(source.content, "the file", str(source.path))
        content = content[self.wrapper] if _is_wrapped(source, self.wrapper) else content
        for outer, under in content.items():
            as_name(outer, f"the name of the {outer_role}", str(source.path))
            where = f"{outer_role} {outer!r}"
            inner = as_object(under, f"what stands under {outer!r}", f"{source.path}, {where}")
            if outer_role == "case":
                said.add_case(outer)
            for key, value in inner.items():
                as_name(key, f"the name of the {inner_role}", where)
                case, annotator = (outer, key) if outer_role == "case" else (key, outer)
                if value is None:
                    said.add_case(case)
                else:
                    said.add_ranking(case, annotator, as_ranking(value, f"case {case!r}, annotator {annotator!r}"))
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
