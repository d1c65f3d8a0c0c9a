"""Orders: in lists and arrays inside each other, under names as keys, and in the files of PrefLib."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source, checked_path, read_text
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
from dissensus.study.reading.columns import names_beside
from dissensus.study.reading.format import Collection, Format, Options, Parsed, files_of
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
        expected = "an npz file with this array"
        got = f"arrays {listing(arrays)}" if arrays else f"a file of {source.kind}"
        raise FormatError(f"there is no array {name!r}", expected=expected, got=got, where=str(source.path))
    return np.asarray(arrays[name])


def _of_rows(
    source: Source, options: Options, stack: Rows, build: Callable[..., Study], roles: dict[str, str], *more: str
) -> Parsed:
    """Build with the names of conditions and cases that are given, in the file or beside it, and say which they are."""
    arrays, (rows, sizes) = source.content if source.kind == "npz" else {}, stack
    named, told = {}, ["every row is the ranking of one annotator without a name"]
    for key, what, count in (("conditions", "conditions", rows.shape[1]), ("case_names", "cases", len(sizes))):
        own: Sequence[str] | None = options.conditions if key == "conditions" else None
        if own is None and key in arrays:
            if arrays[key].ndim != 1 or arrays[key].dtype.kind != "U":
                raise read.wrong_shape(arrays[key].dtype, f"the array {key!r}", "one axis of text", str(source.path))
            own = [str(name) for name in arrays[key]]
        named[key], how = names_beside(source.path, what, own, count)
        told += [f"the {what} are {how}"] if own is None else []
        check_names(what.removesuffix("s"), list(named[key]))
    said = build(**named)
    absent = Note("rows that rank nothing", len(rows) - said.n_rankings, "taken as annotators who are not there")
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
        content = source.content if source.kind == "json" else None
        if not isinstance(content, dict) or list(content) != [self.wrapper]:
            return False
        return _first_label(content[self.wrapper]) is not None

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read a label, or a list of blocks, per annotator and case; null is no opinion, an empty list abstains."""
        said = read.Collection()
        outer_role, inner_role = self.levels
        content = read.as_object(source.content, "the file", str(source.path))
        content = content[self.wrapper] if self.recognises(source) else content
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


# PrefLib: files of orders, one per case, with counted anonymous voters ---------------------------------


KINDS = ("soc", "soi", "toc", "toi")
ENDINGS = tuple(f".{kind}" for kind in KINDS)
TYPE, ALTERNATIVES = "DATA TYPE", "NUMBER ALTERNATIVES"
VOTERS, ORDERS = "NUMBER VOTERS", "NUMBER UNIQUE ORDERS"

NAME = re.compile(r"ALTERNATIVE NAME (\d{1,9})")

# The blocks of an order: alternatives, or several in braces, between commas.
BLOCK = re.compile(r"(\s*\{[^{}]*\}\s*|[^{},]*),")
ORDER = re.compile(r"(\s*\{[^{}]*\}\s*|[^{},]*)(,(\s*\{[^{}]*\}\s*|[^{},]*))*")

Blocks: TypeAlias = list[list[int]]


class PrefLib(Format):
    """PrefLib's .soc, .soi, .toc, .toi files, or a directory of them."""

    id = "preflib"
    title = "PrefLib's .soc, .soi, .toc, .toi files, or a directory of them"
    kinds = ("directory", "text")

    def recognises(self, source: Source) -> bool:
        """Tell a file by its ending or its header, and a directory by such endings."""
        if source.kind == "directory":
            return any(path.suffix.lower() in ENDINGS for path in source.content)
        if source.kind != "text":
            return False
        return source.path.suffix.lower() in ENDINGS or f"# {TYPE}:" in source.content[:10_000]

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one case per file, named by the file; every order has as many votes as voters gave it."""
        files, notes = files_of(source, ENDINGS, f"files ending in {', '.join(ENDINGS)}")
        said = Collection(notes)
        said.assume("every file is a case, named after it")
        said.assume("every voter is an annotator without a name")
        conditions: tuple[str, ...] | None = None
        for path in files:
            text = read_text(checked_path(path)) if source.kind == "directory" else source.text
            names, orders = _profile(text, path, said)
            differing = sorted(set(names) ^ set(conditions or names))
            if differing:
                raise FormatError(
                    "the files of the directory have different alternatives",
                    expected=f"the same {len(conditions or ())} alternatives in every file",
                    got=f"{listing(differing)} in some files only",
                    where=str(path),
                    advice="read the files one by one",
                )
            conditions = conditions or names
            said.add_case(path.stem)
            for count, blocks in orders:
                named = [[names[number - 1] for number in block] for block in blocks]
                if count:
                    said.add_ranking(path.stem, None, named, votes=count)
        return said.parsed(conditions)


# One file ---------------------------------------------------------------------------------------------


def _profile(text: str, path: Path, said: Collection) -> tuple[tuple[str, ...], list[tuple[int, Blocks]]]:
    """Return the names of the alternatives of a file, and how many voters gave each order."""
    lines = [(number, line) for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1) if line.strip()]
    pairs = [line[1:].partition(":") for _, line in lines if line.startswith("#")]
    header = {key.strip().upper(): value.strip() for key, _, value in pairs}
    if TYPE not in header or ALTERNATIVES not in header:
        raise FormatError(
            "the file has no PrefLib header",
            expected=f"lines such as '# {TYPE}: toi' and '# {ALTERNATIVES}: 3'",
            got=repr(text.lstrip()[:40]),
            where=f"{path}, line 1",
            advice="download the file again; PrefLib's format of before 2022 is not read",
        )
    numbers = {key: _number(header[key], key, path) for key in (ALTERNATIVES, VOTERS, ORDERS) if key in header}
    kind, ending, names = header[TYPE].lower(), path.suffix.lower(), _names(header, numbers[ALTERNATIVES], path)
    if kind not in KINDS or (ending in ENDINGS and ending != f".{kind}"):
        expected = ending[1:] if ending in ENDINGS else f"one of {', '.join(KINDS)}"
        where = f"{path}, {TYPE}"
        raise FormatError("the data type does not fit", expected=expected, got=repr(header[TYPE]), where=where)
    ordered = [(number, line) for number, line in lines if not line.startswith("#")]
    orders = [_order(line, kind, len(names), f"{path}, line {number}") for number, line in ordered]
    empty = sum(count for count, blocks in orders for block in blocks if not block)
    if empty:
        said.note("empty braces in orders", "read as nothing", path.name, count=empty)
    for key, found in ((VOTERS, sum(count for count, _ in orders)), (ORDERS, len(orders))):
        if numbers.get(key, found) != found:
            raise FormatError(
                f"{key} does not fit the orders",
                expected=f"{header[key]}, as the header says",
                got=str(found),
                where=str(path),
                advice="the file may be cut off; download it again",
            )
    return names, [(count, [block for block in blocks if block]) for count, blocks in orders]


def _number(value: str, key: str, path: Path) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", value):
        raise FormatError(f"{key} is not a number", expected="a whole number", got=repr(value), where=f"{path}, {key}")
    return int(value)


def _names(header: dict[str, str], n_alternatives: int, path: Path) -> tuple[str, ...]:
    found = {int(match[1]): value for key, value in header.items() if (match := NAME.fullmatch(key))}
    names = tuple(found[number] for number in sorted(found))
    if sorted(found) != list(range(1, len(found) + 1)) or len(found) != n_alternatives:
        raise FormatError(
            "the names of the alternatives do not fit their number",
            expected=f"one line '# ALTERNATIVE NAME i: ...' for each of the {n_alternatives} alternatives",
            got=f"names for {listing(sorted(found), most=8)}" if found else "no names",
            where=str(path),
        )
    twice = [name for name, count in Counter(names).items() if count > 1 or not name]
    if twice:
        raise FormatError("alternatives need different names", got=listing(twice), where=str(path))
    return names


def _order(line: str, kind: str, n_alternatives: int, where: str) -> tuple[int, Blocks]:
    """Read how many voters gave an order, and its blocks; ``{2, 3}`` is a tie."""
    count, colon, order = line.partition(":")
    wrong: tuple[str, str, str] | None = None
    if not colon or not re.fullmatch(r"\s*[0-9]{1,12}\s*", count):
        wrong = "a line is not an order", "count: order, such as '2: 1, {2, 3}'", line[:60]
    elif not ORDER.fullmatch(order):
        wrong = "the braces of an order do not fit", "{2, 3} for a tie", order[:60]
    parts = [] if wrong or not order.strip() else [match[1].strip() for match in BLOCK.finditer(f"{order},")]
    inside = [part.strip("{}").strip() for part in parts]
    texts = [
        [text.strip() for text in one.split(",")] if one or not part else []
        for one, part in zip(inside, parts, strict=True)
    ]
    for text in (text for block in texts for text in block):
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= n_alternatives:
            wrong = wrong or ("an alternative is not known", f"a number from 1 to {n_alternatives}", text[:40])
    if wrong:
        problem, expected, got = wrong
        raise FormatError(problem, expected=expected, got=repr(got), where=where)
    blocks = [[int(text) for text in block] for block in texts]
    given = Counter(number for block in blocks for number in block)
    problem = ""
    if given and max(given.values()) > 1:
        problem = f"alternative {given.most_common(1)[0][0]} stands twice in one order"
    elif kind.startswith("s") and any(len(block) > 1 for block in blocks):
        problem = f"an order has a tie, but the data type is {kind} (strict orders)"
    elif kind.endswith("c") and len(given) < n_alternatives:
        problem = f"an order is incomplete, but the data type is {kind} (complete orders)"
    if problem:
        raise FormatError(problem, got=f"{given.total()} of {n_alternatives} alternatives", where=where)
    return int(count), blocks
