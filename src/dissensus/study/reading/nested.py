"""Opinions inside each other: case > annotator > block > condition, in lists, arrays, or under the names of either."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source
from dissensus.core.names import check_names
from dissensus.core.receipt import BY_NAME, Column, Note, codes_in_words
from dissensus.study.builders import (
    Rows,
    from_confidences,
    from_ranking_arrays,
    nested_levels,
    nested_mentions,
    stacked,
)
from dissensus.study.canonical import long_table
from dissensus.study.reading import format as read
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.wide import names_beside
from dissensus.study.study import Study
from dissensus.study.tables import ROW

RANKINGS = "rankings"
DECLARED = {"unranked": "meaning of not being mentioned", "kind_of_question": "what annotators were asked"}
ROLES = {"conditions": "conditions", "case_names": "case", **DECLARED}

# Names of arrays in an npz file: two that belong together, or one of two.
ARRAYS, KEYS = ("rankings", "groups"), ("opinions", "confidences")


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
        names, listed = (_listed_names(content, key, str(source.path)) for key in ("case_names", "conditions"))
        known = listed if options.conditions is None else options.conditions
        conditions, panel, ranking, block, codes = nested_mentions(content.get(RANKINGS), known, case_names=names)
        cases, named = pl.Series("case", panel.case_names, pl.String), pl.Series(conditions, dtype=pl.String)
        opinions = pl.DataFrame({"case": cases.gather(panel.case_of_opinion), "annotation": range(panel.n_opinions)})
        said = pl.DataFrame({"annotation": ranking, "condition": named.gather(codes), "rank": block + 1.0})
        said = opinions.join(said, on="annotation", how="left", maintain_order="left_right")
        silent = said.filter(pl.col("condition").is_null())["case"]
        examples = tuple(silent.unique(maintain_order=True)[:3])
        note = Note("rankings without a condition", len(silent), "kept as abstentions", examples)
        told = ["the cases have no names and are numbered from 0"] if names is None else []
        told.append("every list of blocks is the ranking of one annotator without a name")
        if any(isinstance(mention, int) for mention in nested_levels(content.get(RANKINGS))[-1]):
            told.append(codes_in_words(conditions))
        frame = pl.concat([cases.to_frame(), said], how="diagonal")
        return _parsed(frame, conditions, source, {RANKINGS: "rankings"}, told, note)


def _listed_names(content: dict[str, Any], key: str, where: str) -> list[str] | None:
    """Return the names that a file lists, if it does; blank ones, too, as a study may have them and write them here."""
    if content.get(key) is None:
        return None
    what = key.removesuffix("s").replace("_", " ")
    given = read.as_list(content[key], f"the list of {what}s", where)
    names = [name if isinstance(name, str) and name else read.as_name(name, f"a {what}", where) for name in given]
    check_names(what.removesuffix(" name"), names)
    return names


class RankingArrays(Format):
    """Two arrays of cases by annotators by places: conditions in order, and which of them are tied."""

    id = "ranking-arrays"
    title = "npz with the arrays rankings (orders of all conditions) and groups (their ties, -1 for unranked)"
    kinds = ("npz",)

    def recognises(self, source: Source) -> bool:
        """Tell an npz file with arrays of these names."""
        return source.kind == "npz" and all(name in source.content for name in ARRAYS)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the rankings of annotators without a name; rows that rank nothing are nobody's."""
        rankings, groups = (_array_named(source, name) for name in ARRAYS)
        roles = {"rankings": "order of the conditions", "groups": "ties of the order"}
        build = partial(from_ranking_arrays, rankings, groups)
        return _of_rows(source, options, stacked("groups", groups, "iu"), build, roles)


class Confidences(Format):
    """A confidence per condition, annotator and case: larger is better, equal is a tie, 0 is not ranked."""

    id = "confidences"
    title = "array (.npy, or opinions in .npz) of cases by annotators by conditions: larger is better, 0 is unranked"
    kinds = ("npy", "npz")

    def recognises(self, source: Source) -> bool:
        """Tell whole numbers in an npy file with three axes, or an npz file with an array of such a name."""
        if source.kind == "npy":
            return bool(source.content.ndim == 3 and source.content.dtype.kind in "iu")
        return source.kind == "npz" and sum(key in source.content for key in KEYS) == 1

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the rankings of annotators without a name; rows that rank nothing are nobody's."""
        key = next((key for key in KEYS if source.kind == "npz" and key in source.content), KEYS[0])
        array = source.content if source.kind == "npy" else _array_named(source, key)
        rows, build = stacked("confidences", array, "iuf"), partial(from_confidences, array)
        told = "confidences order the conditions; their values are not used"
        return _of_rows(source, options, rows, build, {key: "confidence of each condition"}, told)


def _array_named(source: Source, name: str) -> NDArray[Any]:
    """Return an array of an npz file, or say that it is not there."""
    arrays = source.content if source.kind == "npz" else {}
    if name not in arrays:
        raise FormatError(
            f"there is no array {name!r}",
            expected="an npz file with this array",
            got=f"arrays {listing(arrays)}" if arrays else f"a file of {source.kind}",
            where=str(source.path),
        )
    return np.asarray(arrays[name])


def _of_rows(
    source: Source, options: Options, rows: Rows, build: Callable[..., Study], roles: dict[str, str], *more: str
) -> Parsed:
    """Build with the names of conditions and cases that are given, in the file or beside it, and say which they are."""
    arrays = source.content if source.kind == "npz" else {}
    named, told = {}, ["every row is the ranking of one annotator without a name"]
    for key, what, count in (
        ("conditions", "conditions", rows.cells.shape[1]),
        ("case_names", "cases", len(rows.offsets) - 1),
    ):
        own: Sequence[str] | None = options.conditions if key == "conditions" else None
        if own is None and key in arrays:
            if arrays[key].ndim != 1 or arrays[key].dtype.kind != "U":
                raise read.wrong_shape(arrays[key].dtype, f"the array {key!r}", "one axis of text", str(source.path))
            own = [str(name) for name in arrays[key]]
        named[key], how = names_beside(source.path, what, own, count)
        told += [f"the {what} are {how}"] if own is None else []
        check_names(what.removesuffix("s"), list(named[key]))
    said = build(**named)
    absent = Note("rows that rank nothing", len(rows.cells) - said.n_rankings, "taken as annotators who are not there")
    return _parsed(long_table(said), said.conditions, source, roles, [*told, *more], absent)


def _parsed(
    rows: pl.DataFrame, names: tuple[str, ...], source: Source, roles: dict[str, str], told: Sequence[str], note: Note
) -> Parsed:
    """Return rankings of annotators without a name, with what the file says of all and a note on those who say nothing.

    None of the rows is a row of a file.
    """
    known, content = {**roles, **ROLES}, source.content if isinstance(source.content, dict) else {}
    reason = BY_NAME if source.kind == "json" else ""
    columns = tuple(Column(key, known.get(key, ""), reason if key in known else "") for key in content)
    said = {role: pl.lit(str(content[role])) for role in DECLARED if content.get(role) is not None}
    rows = rows.with_columns(pl.lit(None, pl.Int64).alias(ROW), **said)
    return Parsed(rows, (note,) if note.count else (), names, columns=columns, assumed=tuple(told))


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
                said.add_opinion(case, annotator, value)
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
