"""What a format is, and what all share: records of JSON, the tables they form, and what is collected from them."""

from __future__ import annotations

import ast
import json
import re
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import LIMITS, Kind, Limits, Source
from dissensus.core.names import Confidence, Duplicates, Lists, Question, Said, Unranked, composed
from dissensus.core.receipt import BY_NAME, Column, Note
from dissensus.core.spec import Family, Registered
from dissensus.study.tables import ALIASES, ONLY_FINDINGS, ROW, ROW_NUMBER, normalised

# Kinds of files that hold records, and of those that hold a table or records that may form one.
RECORDS: tuple[Kind, ...] = ("json", "jsonl")
TABLES: tuple[Kind, ...] = ("table", "parquet", *RECORDS)


@dataclass(frozen=True)
class Options:
    """What a user says about a file beyond its content.

    Attributes
    ----------
    conditions
        Names of all conditions, in the order of their codes.
    columns
        The column of each role where it does not go by a usual name.
    only
        The rows to read: those with this value in a column.
    tie_separator
        Text at which a cell is split into tied conditions.
    bucket_order
        Names of ranked groups, best first, where a format does not say (Label Studio's Ranker).
    unranked
        What it means not to be mentioned.
    duplicates, confidence, lists
        What to do with repeated mentions, what confidences are used for, and what lists of labels mean, where anything
        is said.
    nothing
        The name that says that nothing was found, on checklists.
    question, positive
        What annotators were asked, and the positive one of two conditions, where anything is said.
    format_is_given
        Whether the user named the format, which confirms what would otherwise be a guess.
    limits
        What a file may ask for.
    is_truth
        Whether the file holds what is known to be true, in a column that may be called like that.
    """

    conditions: tuple[str, ...] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    tie_separator: str | None = None
    bucket_order: tuple[str, ...] | None = None
    unranked: Unranked | None = None
    duplicates: Duplicates = "refuse"
    confidence: Confidence | None = None
    lists: Lists | None = None
    nothing: str | None = None
    question: Question | None = None
    positive: str | None = None
    format_is_given: bool = False
    limits: Limits = LIMITS
    is_truth: bool = False


@dataclass(frozen=True)
class Parsed:
    """A file as a long table whose columns are named by their roles (see ``tables.ALIASES``).

    Rows without a case declare names, rows without a condition are abstentions, rows with a case alone are
    unannotated cases. ``columns`` and ``assumed`` go into the receipt: the role of every column or key of the file,
    and what the file does not say and was taken for granted.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    conditions: tuple[str, ...] | None = None
    tie_separator: str | None = None
    columns: tuple[Column, ...] = ()
    assumed: tuple[str, ...] = ()


class Format(Registered, ABC):
    """A format of annotations; declaring a subclass with an ``id`` makes it known.

    Attributes
    ----------
    id, title
        The name on the command line, and what it is.
    study
        The kind of study that is built from the table: ``"rankings"``, ``"ratings"`` or ``"checklists"``.
    kinds
        The kinds of files that may be of this format (:class:`Source`), so that others need not be asked about; any,
        unless said.
    takes_lists
        Whether cells of tables may hold lists.

    Examples
    --------
    >>> Format.family.find("wide").title
    'table with one column per annotator, cells such as a>b=c'
    """

    family: ClassVar[Family[Format]] = Family("format", "dissensus.study.reading", "dissensus.formats")
    title: ClassVar[str]
    study: ClassVar[str] = "rankings"
    kinds: ClassVar[tuple[Kind, ...]] = ()
    takes_lists: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, source: Source) -> bool:
        """Tell from its content whether a file is of this format, and of no other."""

    @abstractmethod
    def parse(self, source: Source, options: Options) -> Parsed:
        """Turn a file into a long table, and count what is skipped."""


# Names of columns that only checklists have.
IS_PRESENT = ("present", "is_present", "presence")

LABELS = ("labels", "annotations", *ALIASES["condition"], "conditions")
RESPONSES = ".responses"
ROLE_NAMES = frozenset(name for names in ALIASES.values() for name in names)
TASK_HASHES = ("_task_hash", "_input_hash")
ANNOTATORS = (
    *("annotator_ids", "annotators", "annotator_id", "annotator"),
    *("worker_ids", "workers", "rater_ids", "raters"),
)

# Records of which so few keys are filled, one of so many, are no table.
SCATTERED = 1000

# So many rows are looked at first.
FIRST_ROWS = 64

_ITEM = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[+-]?\d+(?:\.\d*)?|None)"
_FLAT = rf"\[\s*(?:{_ITEM}\s*(?:,\s*{_ITEM}\s*)*,?\s*)?\]"
_EITHER = rf"(?:{_ITEM}|{_FLAT})"

# A list as Python writes it, at most two deep; without commas, as NumPy writes them, neighbours would run together.
PYTHON_LIST = re.compile(rf"\[\s*(?:{_EITHER}\s*(?:,\s*{_EITHER}\s*)*,?\s*)?\]", re.DOTALL)
PYTHON_DICT = re.compile(rf"\{{\s*(?:{_ITEM}\s*:\s*{_ITEM}\s*(?:,\s*{_ITEM}\s*:\s*{_ITEM}\s*)*,?\s*)?\}}", re.DOTALL)

# What stands between the field and the choice in the name of a checkbox of REDCap.
BOX = "___"


def as_list(value: Any, what: str, where: str, *, may_lack: bool = False) -> list[Any]:
    """Return a value that must be a list; where it ``may_lack``, nothing counts as an empty one."""
    if value is None and may_lack:
        return []
    if not isinstance(value, list):
        raise wrong_shape(value, what, "a list", where)
    return value


def as_object(value: Any, what: str, where: str) -> dict[str, Any]:
    """Return a value that must be an object with keys."""
    if not isinstance(value, dict):
        raise wrong_shape(value, what, "an object with keys", where)
    return value


def as_name(value: Any, what: str, where: str) -> str:
    """Return a name: text that is not empty, or a whole number.

    >>> as_name(7, "the id", "task 1")
    '7'
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise wrong_shape(value, what, "a name or a whole number", where)
    return value


def optional_name(value: Any, what: str, where: str) -> str | None:
    """Return a name, or nothing where there is none."""
    return None if value is None else as_name(value, what, where)


def as_condition(value: Any, where: str) -> str:
    """Return the name or the code of a condition; codes count from 0."""
    if isinstance(value, int | float) and value < 0:
        expected = "the name of a condition, or its code from 0"
        advice = "write null where an annotator gave no label"
        raise FormatError(
            "a condition code is negative", expected=expected, got=reprlib.repr(value), where=where, advice=advice
        )
    return as_name(value, "a condition", where)


def as_block(value: Any, where: str) -> list[str]:
    """Return tied conditions from a list, or from one condition that stands alone."""
    return [as_condition(item, where) for item in (value if isinstance(value, list) else [value])]


def as_ranking(value: Any, where: str) -> list[list[str]]:
    """Return a ranking from one label, or from a list of blocks; a plain list of labels could mean two things.

    >>> as_ranking("a", "case 'c1'"), as_ranking([["a"], ["b", "c"]], "case 'c1'")
    ([['a']], [['a'], ['b', 'c']])
    """
    if not isinstance(value, list):
        return [[as_condition(value, where)]]
    plain = [item for item in value if not isinstance(item, list)]
    if plain:
        names = [str(item) for item in value if not isinstance(item, list | dict)][:3]
        raise FormatError(
            "a list of labels can be an order or a tie",
            expected="a list of blocks, best first; the labels of one block are tied",
            got=reprlib.repr(value),
            where=where,
            advice=f"write {[[name] for name in names]} for an order, or {[names]} for a tie",
        )
    return [[as_condition(item, where) for item in block] for block in value]


def wrong_shape(value: Any, what: str, expected: str, where: str) -> FormatError:
    """Build the error for a value that is not what the format promises."""
    got = "nothing" if value is None else reprlib.repr(value)
    return FormatError(f"{what} is not understood", expected=expected, got=got, where=where)


def records_of(source: Source, *, inside: tuple[str, ...] = ()) -> list[Any]:
    """Return the records of a JSON or JSON lines file, unchecked; none if it holds something else.

    A list is taken as it stands. An object is a list under one of the names in ``inside``, or one record per
    key; the key then serves as the ``id`` of a record that has none.
    """
    content = source.content
    if source.kind not in ("json", "jsonl"):
        return []
    if isinstance(content, dict):
        listed = next((content[name] for name in inside if isinstance(content.get(name), list)), None)
        are_keyed = listed is None and all(isinstance(value, dict) for value in content.values())
        content = [{"id": key, **value} for key, value in content.items()] if are_keyed else listed
    return content if isinstance(content, list) else []


def objects_of(source: Source, *, inside: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return those records that are objects, for recognition."""
    return [record for record in records_of(source, inside=inside) if isinstance(record, dict)]


def checked_records(source: Source, what: str, *, inside: tuple[str, ...] = ()) -> list[tuple[str, dict[str, Any]]]:
    """Return the records, each with the words that say where it stands."""
    records = records_of(source, inside=inside)
    if not records:
        expected = f"a JSON list of {what}s, or one {what} per line"
        got = reprlib.repr(source.content)
        raise FormatError(f"the file holds no {what}s", expected=expected, got=got, where=str(source.path))
    return placed_objects(records, what)


def placed_objects(value: Any, what: str, where: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a list, each with the words that say where it stands; nothing counts as an empty list.

    >>> placed_objects([{"id": 7}], "annotation", "task 1")
    [('task 1, annotation 1', {'id': 7})]
    """
    listed = as_list(value, f"the list of {what}s", where, may_lack=True)
    places = [f"{where and f'{where}, '}{what} {number}" for number in range(1, len(listed) + 1)]
    return [(place, as_object(item, f"the {what}", place)) for place, item in zip(places, listed, strict=True)]


def key_columns(
    records: Iterable[Any], roles: Mapping[str, str], reasons: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """Tell the role of every key of some records; a key inside another is written with a dot.

    >>> records = [{"id": 1, "data": {}, "by": {"user": 2}}]
    >>> print(*key_columns(records, {"id": "case", "by.user": "annotator"}), sep=", ")
    'id' is the case (by its name), 'data' is not used, 'by.user' is the annotator (by its name)
    """
    keys = dict.fromkeys(key for record in records if isinstance(record, dict) for key in record)
    known = {name: BY_NAME for name, role in roles.items() if role} | dict(reasons or {})
    columns = []
    for key in keys:
        inside = [name for name in roles if name == key or name.startswith(f"{key}.")] or [key]
        columns += [Column(name, roles.get(name, ""), known.get(name, "")) for name in inside]
    return tuple(dict.fromkeys(columns))


def question_to_read(what: str, asked: Mapping[str, bool], options: Options, *, expected: str = "") -> str | None:
    """Choose what to read the conditions from: what the user names, or the only one whose answers name conditions.

    ``asked`` tells of every question (or control) that has an answer whether an answer names conditions.
    """
    names = [name for name, gives_conditions in asked.items() if gives_conditions]
    if (chosen := options.columns.get("condition")) is not None:
        return known_name(what, chosen, asked, purpose="with answers")
    if len(names) > 1:
        raise DissensusError(
            f"several {what}s could give the conditions",
            expected=f"one {what} to read the conditions from",
            got=listing(names, most=12),
            advice=f'choose one: columns={{"condition": "{names[0]}"}} (--column condition={names[0]})',
        )
    if asked and not names:
        raise FormatError(f"no {what} asks for conditions", expected=expected, got=f"{what}s {listing(asked, most=12)}")
    return next(iter(names), None)


def first_key(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of some keys under which a record holds anything; an empty text if there is none."""
    return next((name for name in names if record.get(name) is not None), "")


# Columns ----------------------------------------------------------------------------------------------


def prepared(
    source: Source,
    columns: Said,
    *,
    ignore: Sequence[str] = (),
    only: Mapping[str, str] | None = None,
    lists: bool = True,
    may_lack: bool = False,
) -> Source:
    """Leave out what a user does not want of a table or of records, and number the cases where nothing names them.

    What is ignored must be there, unless the file ``may_lack`` it.
    """
    rows, where = objects_of(source), str(source.path)
    known = source.table.columns if source.is_table else list(dict.fromkeys(key for row in rows for key in row))
    ignore = [name for name in ignore if name in known] if may_lack else ignore
    for names, purpose in ((ignore, "to ignore"), (only or (), "to choose rows by")):
        for name in names:
            known_name("column", name, known, purpose=purpose, where=where)
    is_numbered = columns.get("case") == ROW_NUMBER and ROW_NUMBER not in known
    if not (source.is_table or len(ignore) or only or (is_numbered and rows)):
        return source
    table = plain_table(source, ignore, lists=lists) if source.is_table else pl.DataFrame()
    for name, value in (only or {}).items():
        values = table[name].cast(pl.String) if source.is_table else pl.Series([str(row.get(name)) for row in rows])
        different = values.drop_nulls().unique(maintain_order=True)
        known_name("value", str(value), different, purpose=f"in the column {name!r}", where=where)
        kept = (values == str(value)).fill_null(False)
        table = table.filter(kept) if source.is_table else table
        rows = [row for row, is_meant in zip(rows, kept, strict=False) if is_meant]
    if is_numbered:
        table = table.with_row_index(ROW_NUMBER, offset=1).cast({ROW_NUMBER: pl.String})
        rows = [{ROW_NUMBER: number, **row} for number, row in enumerate(rows, start=1)]
    left = [{key: row[key] for key in row if key not in ignore} for row in rows]
    return replace(source, content=table if source.is_table else left)


def refuse_types(table: pl.DataFrame, where: str, *, lists: bool = False) -> None:
    """Name the columns that hold neither text nor numbers; lists are fine where a reader takes them."""
    strange = (pl.Binary, pl.Duration, pl.Object, pl.Struct)
    odd = [name for name, dtype in table.schema.items() if dtype in strange or (not lists and dtype.is_nested())]
    if odd:
        raise FormatError(
            f"the column{'s' * (len(odd) > 1)} {listing(odd)} hold{'s' * (len(odd) == 1)} neither text nor numbers",
            expected="one word or number in every cell",
            got=listing([table.schema[name] for name in odd]),
            where=where,
            advice=f"leave out what does not matter: --ignore {odd[0]} (ignore={odd[:3]})",
        )


def plain_table(source: Source, ignore: Sequence[str] = (), *, lists: bool = True) -> pl.DataFrame:
    """Return columns of text, numbers and lists, without those to ignore."""
    table = source.table.drop(list(ignore), strict=False)
    refuse_types(table, str(source.path), lists=lists)
    texts, changed = (pl.Categorical, pl.Enum, pl.Date, pl.Datetime, pl.Time, pl.Null), []
    for column in table:
        if column.dtype in texts:
            changed.append(column.cast(pl.String))
        elif isinstance(column.dtype, pl.Decimal):
            changed.append(column.cast(pl.Float64))
        elif isinstance(column.dtype, pl.Array):
            changed.append(column.cast(pl.List(column.dtype.inner)))
        elif (
            not source.is_delimited
            and column.dtype == pl.String
            and (column.str.len_bytes() != column.str.len_chars()).any()
        ):
            changed.append(column.str.normalize("NFC"))
    names = [composed(name) for name in table.columns]
    table = table.with_columns(changed)
    return table if len(set(names)) < len(names) else table.rename(dict(zip(table.columns, names, strict=True)))


def column_names(source: Source) -> set[str]:
    """Name the columns of a source, folded so that spelling variants compare equal; none if it is no table."""
    return {normalised(name) for name in (source.table.columns if source.is_table else _flat_keys(source))}


def has_role(source: Source, role: str) -> bool:
    """Tell whether a column goes by a usual name of a role."""
    return not column_names(source).isdisjoint(ALIASES[role])


def holds_checklists(source: Source) -> bool:
    """Tell a long table of a case, a finding, and whether it is present, or one with checkboxes of REDCap.

    Those are columns called ``field___1`` and the like, all of 0 and 1.
    """
    if not any(map(column_names(source).isdisjoint, (ALIASES["case"], ONLY_FINDINGS, IS_PRESENT))):
        return True
    boxes = [source.table[name] for name in (source.table.columns if source.is_table else ()) if BOX in name]
    if not boxes or any(box.dtype.is_nested() for box in boxes):
        return False
    return all(box.cast(pl.String, strict=False).drop_nulls().is_in(("0", "1")).all() for box in boxes)


def as_table(source: Source) -> pl.DataFrame:
    """Return a table, or JSON records as a table of text."""
    if source.is_table:
        return source.table
    keys = _flat_keys(source)
    if not keys:
        expected = "CSV, TSV, Parquet, or JSON records whose values are single words and numbers"
        raise DissensusError("this is not a table", expected=expected, got=source.kind, where=str(source.path))
    records = records_of(source)
    filled = sum(map(len, records))
    if len(keys) * len(records) > SCATTERED * filled + 10**7:  # a table of nearly nothing but empty cells
        raise FormatError(
            "the records have hardly a key in common",
            expected="records with the same keys",
            got=f"{len(keys)} different keys in {len(records)} records, {filled // len(records)} in each",
            where=str(source.path),
            advice="give all records the same keys",
        )
    texts: dict[str, list[str | None]] = {key: [None] * len(records) for key in keys}
    for number, record in enumerate(records):
        for key, value in record.items():
            texts[key][number] = value if value is None or isinstance(value, str) else json.dumps(value)
    return pl.DataFrame(texts, schema=dict.fromkeys(keys, pl.String))


def _flat_keys(source: Source) -> list[str]:
    """Name the keys of JSON records that form a table: what has a role is a single value everywhere."""
    records = records_of(source)
    if not records or not all(isinstance(record, dict) for record in records):
        return []
    keys = list(dict.fromkeys(key for record in records for key in record))
    named = [key for key in keys if normalised(key) in ROLE_NAMES]
    flat = all(isinstance(record.get(key), str | int | float | None) for key in named for record in records)
    return keys if flat and not any(key in keys for key in TASK_HASHES) else []


def holds_lists(source: Source) -> bool:
    """Tell a table with lists in a column of labels, or of responses."""
    names = source.table.columns if source.is_table else []
    return any(is_list(source.table[name]) for name in names if normalised(name) in LABELS or name.endswith(RESPONSES))


def is_list(column: pl.Series, opening: str = "[") -> bool:
    """Tell cells that hold lists, also written as text; or dictionaries, if their brace is among the opening signs."""
    if column.dtype != pl.String or column.null_count() == len(column):
        return isinstance(column.dtype, pl.List | pl.Array)
    some = (column.head(FIRST_ROWS), column)  # the first rows clear nearly every column
    cells = (cell.strip() for rows in some for cell in rows.drop_nulls().to_list())
    return all(cell[:1] in {*opening} and cell[-1:] in {"]", "}"} for cell in cells)


# Lists in the cells of tables -------------------------------------------------------------------------


def unpacked(source: Source) -> Source:
    """Take a table with lists in its cells for records; lists may be written as JSON or Python writes them."""
    if not source.is_table:
        return source
    texts = [one.name for one in source.table if one.dtype == pl.String and is_list(one, "[{")]
    records = source.table.to_dicts()
    for number, record in enumerate(records, start=1):
        record.update({name: _list(record[name], name, number) for name in texts})
    return replace(source, kind="jsonl", content=records)


def _list(cell: str | None, column: str, number: int) -> Any:
    if cell is None:
        return None
    text = cell.strip()
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, SyntaxError, RecursionError):
        if PYTHON_LIST.fullmatch(text) or PYTHON_DICT.fullmatch(text):
            return ast.literal_eval(text)
    expected = "a list such as [\"a\", \"b\"] or ['a', 'b'], with commas between its labels"
    where = f"data row {number}, column {column!r}"
    raise FormatError("a list in a cell is not understood", expected=expected, got=f"{cell:.60}", where=where)


# What is collected -----------------------------------------------------------------------------------


class Collection:
    """Collect rankings one at a time, and count whatever deserves a note.

    Examples
    --------
    >>> said = Collection()
    >>> said.add_ranking("c1", "Ann", [["Eczema"], ["Tinea"]])
    >>> said.add_ranking("c1", "Bo", [])
    >>> print(*said.parsed().notes)
    rankings without a condition: 1, kept as abstentions (for example 'c1')
    """

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        self._rows: list[tuple[str, str | None, int | None, str | None, float | None, int | None]] = []
        self._opinions: dict[str, int] = {}
        self._notes = {(note.found, note.action): note for note in notes}
        self._seen: set[tuple[str, str | None]] = set()
        self._assumed: dict[str, None] = {}

    def assume(self, sentence: str) -> None:
        """Say what the file does not, and is taken for granted; the same sentence counts once.

        >>> said = Collection()
        >>> said.assume("several labels of a document are tied")
        >>> said.parsed().assumed
        ('several labels of a document are tied',)
        """
        self._assumed[sentence] = None

    def note(self, found: str, action: str, example: str = "", *, count: int = 1, lost: bool = False) -> None:
        """Count a finding, and keep the first few examples of it; what is lost does not become part of the study.

        >>> said = Collection()
        >>> said.note("empty lines", "kept as abstentions", "line 7", count=2)
        >>> print(*said.parsed().notes)
        empty lines: 2, kept as abstentions (for example 'line 7')
        """
        self.add_note(Note(found, count, action, (example,) if example else (), lost=lost))

    def add_note(self, note: Note) -> None:
        """Add a note to one that says the same of others, if there is one.

        >>> said = Collection([Note("drafts", 1, "skipped")])
        >>> said.add_note(Note("drafts", 2, "skipped"))
        >>> print(*said.parsed().notes)
        drafts: 3, skipped
        """
        key = (note.found, note.action)
        self._notes[key] = self._notes[key] + note if key in self._notes else note

    def add_case(self, case: str) -> None:
        """Add a case even if nobody gives an opinion on it.

        >>> said = Collection()
        >>> said.add_case("c1")
        >>> said.parsed().frame["case"].to_list()
        ['c1']
        """
        if case not in self._opinions:
            self._opinions[case] = 0
            self._rows.append((case, None, None, None, None, None))

    def add_ranking(self, case: str, annotator: str | None, blocks: Sequence[Sequence[str]], *, votes: int = 1) -> None:
        """Add one ranking, best block first, and how many gave it; without a condition it is an abstention.

        >>> said = Collection()
        >>> said.add_ranking("c1", "Ann", [["Eczema"], ["Tinea", "Wart"]])
        >>> said.parsed().frame["rank"].to_list()
        [1.0, 2.0, 2.0]
        """
        blocks = [block for block in blocks if block]
        if not blocks:
            self.note("rankings without a condition", "kept as abstentions", case, count=votes)
        self._add(case, annotator, blocks, votes, "rankings")

    def add_opinion(self, case: str, annotator: str, value: Any) -> None:
        """Add a label, or a list of blocks; null is no opinion, and an empty list abstains.

        >>> said = Collection()
        >>> said.add_opinion("c1", "Ann", None)
        >>> said.parsed().frame["annotator"].to_list()
        [None]
        """
        if value is None:
            self.add_case(case)
        else:
            self.add_ranking(case, annotator, as_ranking(value, f"case {case!r}, annotator {annotator!r}"))

    def add_checklist(self, case: str, annotator: str | None, findings: Sequence[str]) -> None:
        """Add the findings that one annotator saw; without any, nothing was found.

        >>> said = Collection()
        >>> said.add_checklist("c1", "Ann", [])
        >>> print(*said.parsed().notes)
        checklists without a finding: 1, kept as nothing found (for example 'c1')
        """
        if not findings:
            self.note("checklists without a finding", "kept as nothing found", case)
        self._add(case, annotator, [findings] if findings else [], 1, "checklists")

    def _add(self, case: str, annotator: str | None, blocks: Sequence[Sequence[str]], votes: int, noun: str) -> None:
        if annotator is not None and (case, annotator) in self._seen:
            self.note(f"further {noun} of a case by one annotator", f"kept as {noun} of their own", case)
        self._seen.add((case, annotator))
        number = self._opinions[case] = self._opinions.get(case, 0) + 1
        if not blocks:
            self._rows.append((case, annotator, number, None, None, votes))
        for rank, block in enumerate(blocks, start=1):
            self._rows.extend((case, annotator, number, str(name), float(rank), votes) for name in block)

    def parsed(self, conditions: Sequence[str] | None = None, *, columns: Sequence[Column] = ()) -> Parsed:
        """Return what was collected; ``conditions`` are all names in order, where a file gives them.

        ``columns`` are the roles of the keys of the file, for the receipt.

        >>> Collection().parsed(["Eczema", "Tinea"]).conditions
        ('Eczema', 'Tinea')
        """
        names = {"case": pl.String, "annotator": pl.String, "annotation": pl.Int64, "condition": pl.String}
        rows = pl.DataFrame(self._rows, schema={**names, "rank": pl.Float64, "votes": pl.Int64}, orient="row")
        rows = rows.with_columns(pl.lit(None, pl.Int64).alias(ROW))  # no row of a file
        rows = rows if (rows["votes"] > 1).any() else rows.drop("votes")
        known = None if conditions is None else tuple(conditions)
        return Parsed(rows, (*self._notes.values(),), known, columns=tuple(columns), assumed=(*self._assumed,))


def files_of(source: Source, endings: Sequence[str], expected: str) -> tuple[list[Path], tuple[Note, ...]]:
    """Return the files of a directory that have one of some endings, and notes on the others; all of a list are meant.

    A file stands for itself.
    """
    if not source.path.is_dir():
        return list(source.content) if source.kind == "directory" else [source.path], ()
    shown = [path for path in source.content if not path.name.startswith(".")]
    files = [path for path in shown if path.suffix.lower() in endings]
    if not files:
        got = f"files {listing(path.name for path in shown)}" if shown else "no files"
        raise FormatError(
            f"the directory holds no {' or '.join(endings)} files", expected=expected, got=got, where=str(source.path)
        )
    found = {
        "hidden files": [path.name for path in source.content if path not in shown],
        "files with another ending": [path.name for path in shown if path not in files],
        "folders": sorted(path.name for path in source.path.iterdir() if path.is_dir()),
    }
    told = {what: tuple(names) for what, names in found.items() if names}
    notes = (Note(what, len(names), "skipped", names[:3], lost=what != "hidden files") for what, names in told.items())
    return files, tuple(notes)
