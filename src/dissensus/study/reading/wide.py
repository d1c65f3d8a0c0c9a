"""One row per case: a column per annotator, also of codes, as cleanlab has it, or votes per condition, in any form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import Source, read_text
from dissensus.core.names import Aliases, check_names
from dissensus.core.receipt import AS_SAID, BY_NAME, Column, Note, columns_of
from dissensus.study import tables
from dissensus.study.builders import checked_counts
from dissensus.study.panel import MOST_VOTES
from dissensus.study.reading import format as read
from dissensus.study.reading.format import RECORDS, Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_findings, refuse_strangers

LONG_FORM_ONLY = frozenset(
    (*tables.ALIASES["annotator"], *tables.ALIASES["rank"], *tables.ALIASES["confidence"], *tables.SCORE_NAMES)
)
CODES_OR_VOTES = (
    f"if columns are annotators and cells are codes (--format cleanlab), {tables.GIVE_CONDITIONS}; if columns are "
    "conditions and cells are votes, say --format counts (format='counts')"
)

# Keys under which records hold their votes, first choice first.
COUNTS = ("label_counter", "label_count")

# Keys under which records hold shares, which need not be whole numbers.
SHARES = ("label_weights", "label_shares", "soft_label", "soft_labels")

# Names of the column that counts the cases of a pattern, and how many cases patterns may come to.
COUNTED = ("count", "counts", "n", "freq", "frequency", "n_cases")
MOST_CASES = 10_000_000

CASES = (*tables.ALIASES["case"], "uid")

# Roles that tell of a case where every row is one.
OF_CASES = {role: tables.ALIASES[role] for role in ("case", "group", "case_weight")}


class Wide(Format):
    """Table with one column per annotator whose cells are rankings."""

    id = "wide"
    title = "table with one column per annotator, cells such as a>b=c"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case column, no condition column, and cells that are not all integers."""
        return is_matrix_of_labels(source) and not is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read ``a>b=c`` cells: ``>`` separates ranks, ``=`` ties; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_strangers(table, case, columns, options)
        cells = cells.with_columns(pl.col("condition").replace("", None))
        said = filled(cells, pl.col("condition").is_not_null(), "annotator")
        blocks = said.with_columns(pl.col("condition").str.split(">"))
        blocks = blocks.with_columns(rank=pl.int_ranges(1, pl.col("condition").list.len() + 1))
        ranked = blocks.explode("condition", "rank").with_columns(pl.col("condition").str.split("="))
        ranked = ranked.explode("condition").with_columns(pl.col("condition").str.strip_chars())
        return Parsed(ranked, tie_separator=options.tie_separator, columns=roles, assumed=assumed)


class Cleanlab(Format):
    """Table with one column per annotator whose cells are codes."""

    id = "cleanlab"
    title = "table with one column per annotator, cells are codes"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with one column per annotator whose cells are integer codes."""
        return is_matrix_of_labels(source) and is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one integer code per annotator and case; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_findings(table, case, columns, options)
        codes = pl.col("condition").str.strip_chars().str.replace(r"\.0*$", "")
        said = filled(cells.with_columns(codes), pl.col("condition").is_not_null(), "annotator")
        if options.conditions is None and not (options.question == "grades" and options.format_is_given):
            raise tables.integers_need_names(said["condition"].drop_nulls().unique().sort().to_list(), CODES_OR_VOTES)
        return Parsed(said, columns=roles, assumed=assumed)


class Patterns(Format):
    """Counts of response patterns: a column per annotator, and how many cases have the pattern of a row."""

    id = "patterns"
    title = "table of response patterns: a column per annotator, and a count of cases"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table without cases, but with a column of whole numbers that is called count, n or the like."""
        return source.is_table and _counted_by(source.table) is not None

    def parse(self, source: Source, options: Options) -> Parsed:
        """Make every pattern as many cases as it counts, and read them like a column per annotator."""
        table, said = read.as_table(source), dict(options.columns)
        given = said.pop("count", None)
        name = _counted_by(table) if given is None else known_name("column", given, table.columns)
        if name is None:
            raise tables.missing_column(["count"], {"count": COUNTED}, table.columns)
        counts = table[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        wrong = ~((counts >= 0) & (counts <= MOST_CASES) & (counts == counts.floor())).fill_null(False)
        expected = f"a whole number of cases in every row, at most {MOST_CASES:,}"
        shown = table.with_columns(counts.alias("count"))
        tables.refuse_rows(shown, wrong, "count", "a count of cases is not a whole number", expected=expected)
        times = counts.cast(pl.Int64).to_numpy()
        row = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        names = [f"pattern {pattern + 1}, case {number + 1}" for pattern, number in zip(row, nth, strict=True)]
        cases = table.drop(name)[row].insert_column(0, pl.Series("case", names, dtype=pl.String))
        is_coded = is_integer_matrix(cases)
        parsed = (Cleanlab() if is_coded else Wide()).parse(
            replace(source, content=cases), replace(options, columns={**said, "case": "case"}, format_is_given=True)
        )
        told = Column(name, "count", AS_SAID if given is not None else BY_NAME)
        places = {column: place for place, column in enumerate(table.columns)}
        columns = tuple(
            sorted((told, *(one for one in parsed.columns if one.name in places)), key=lambda one: places[one.name])
        )
        return replace(parsed, columns=columns, assumed=("a row is as many cases as it counts", *parsed.assumed))


def _counted_by(table: pl.DataFrame) -> str | None:
    """Find the column that counts cases in a table that names none."""
    folded = {tables.normalised(name): name for name in table.columns}
    name = next((folded[one] for one in COUNTED if one in folded), None)
    if (
        name is None
        or len(folded) < 3
        or not folded.keys().isdisjoint(LONG_FORM_ONLY.union(CASES, tables.ALIASES["condition"]))
    ):
        return None
    return name if is_integer_matrix(table.select(pl.lit("").alias("case"), name)) else None


def is_matrix_of_labels(source: Source) -> bool:
    """Tell a table that names neither conditions nor annotators in a column, nor ranks or scores."""
    return (
        source.is_table
        and _counted_by(source.table) is None
        and not read.has_boxes(source)
        and not read.has_role(source, "condition")
        and not read.has_answers(source)
        and not read.holds_lists(source)
        and len(source.table.columns) > 1
        and read.column_names(source).isdisjoint(LONG_FORM_ONLY)
    )


def is_integer_matrix(table: pl.DataFrame) -> bool:
    """Tell a table whose cells are integer codes, apart from the column of cases."""
    if any(dtype.is_nested() for dtype in table.dtypes):
        return False
    case = tables.find_columns(table.columns, {}, required=()).get("case", table.columns[0])
    filled_cells = [column.cast(pl.String).drop_nulls().str.strip_chars() for column in table.drop(case)]
    return any(len(column) for column in filled_cells) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled_cells
    )


def filled(cells: pl.DataFrame, is_filled: pl.Expr, *emptied: str) -> pl.DataFrame:
    """Keep the cells that hold an opinion, and one for a case that has none, emptied so that only the case is left."""
    kept = cells.filter(is_filled | (~is_filled.any().over(tables.ROW) & pl.col(tables.ROW).is_first_distinct()))
    return kept.with_columns(pl.when(is_filled).then(pl.col(role)).alias(role) for role in emptied)


def layout(
    table: pl.DataFrame, options: Options, column: str, cell: str
) -> tuple[pl.DataFrame, str, list[str], tuple[Column, ...], tuple[str, ...]]:
    """Give every cell a row of its own, in the order of the rows: its case and group, its column and what it holds.

    Also tell the column of cases and the others, which are annotators unless something else is said, and, for the
    receipt, the roles of all and what was assumed.
    """
    found, why, assumed = with_cases(table, options, OF_CASES)
    case = found["case"]
    others = [name for name in table.columns if name not in found.values()]
    if not others:
        expected, got = f"one column per {column}", f"column {case!r}"
        raise DissensusError("the table has no column beside the case", expected=expected, got=got)
    named = {one.name: one for one in columns_of(table.columns, found, options.columns, why=why)}
    named |= {name: Column(name, "annotator", "as every other column") for name in others}
    cases = tables.numbered(tables.with_roles(table, found).cast(pl.String))
    tables.one_row_each(cases, advice="merge the rows, or use the long form with one row per opinion")
    return molten(cases, table.select(others), column, cell), case, others, tuple(named.values()), assumed


def molten(rows: pl.DataFrame, cells: pl.DataFrame, column: str, cell: str) -> pl.DataFrame:
    """Give every cell a row of its own, in the order of the rows: the name of its column, and what it holds as text."""
    codes = {f"\0{code}": name for code, name in enumerate(cells.columns)}  # no name of a column gets in the way
    texts = cells.cast(pl.String).rename({name: code for code, name in codes.items()})
    long = rows.hstack(texts).unpivot([*codes], index=rows.columns, variable_name=column, value_name=cell)
    return long.sort(tables.ROW, maintain_order=True).with_columns(pl.col(column).replace_strict(codes))


def with_cases(
    table: pl.DataFrame, options: Options, aliases: Aliases
) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """Find the columns of a table whose first names the cases if no other does; the reason, and what was assumed."""
    found = tables.find_columns(table.columns, options.columns, aliases=aliases, required=())
    if "case" in found:
        return found, {}, ()
    first = table.to_series(0)
    if first.n_unique() < len(first):
        raise DissensusError(
            "the table has no case column",
            expected=f"a column named {', '.join(map(repr, tables.ALIASES['case'][:3]))} or the like",
            got=f"the first column, {first.name!r}, holds {first.n_unique()} different values in {len(first)} rows",
            advice=f"say which names the cases (--column case=NAME), or number the rows (--case {tables.ROW_NUMBER})",
        )
    told = f"the first column, {first.name!r}, names the cases"
    return {**found, "case": first.name}, {first.name: "as the first column"}, (told,)


# Votes -----------------------------------------------------------------------------------------------


class Counts(Format):
    """Votes of anonymous annotators: cases by conditions."""

    id = "counts"
    title = "votes: a matrix (.npy) or table of cases by conditions, or records with label_count"
    kinds = ("npy", *RECORDS)
    takes_lists = True

    def recognises(self, source: Source) -> bool:
        """Tell a matrix of integers, or records that hold counts by condition; a table needs the list of conditions."""
        if source.kind == "npy":
            return bool(source.content.ndim == 2 and source.content.dtype.kind in "iu")
        records = read.records_of(source)
        return bool(records) and all(_counts_key(record, None) is not None for record in records)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one anonymous ranking, with its votes, for every number above 0; a case without votes is unannotated."""
        if source.kind == "npy":
            votes = checked_counts(source.content)
            cases, told = names_beside(source.path, "cases", None, votes.shape[0])
            names, named = names_beside(source.path, "conditions", options.conditions, votes.shape[1])
            padded = np.column_stack([votes, votes.sum(axis=1) == 0])  # a case without votes has a row, too
            case, condition = np.nonzero(padded)
            named_row = pl.Series("condition", [*names, None], dtype=pl.String).gather(condition)
            rows = pl.DataFrame({"case": pl.Series(cases, dtype=pl.String).gather(case), "condition": named_row})
            given = pl.lit(pl.Series(padded[case, condition]))
            rows = rows.with_columns(votes=pl.when(named_row.is_not_null()).then(given))
            assumed = (f"rows are cases, {told}", f"columns are conditions, {named}, and cells are votes")
            return Parsed(rows, (_counted_votes(rows),), tuple(names), assumed=assumed)
        key = options.columns.get("weight") or options.columns.get("votes")
        if key is not None and source.is_table:
            source = read.unpacked(source)
        if source.is_table or not (key or self.recognises(source)):
            return _from_table(read.as_table(source), options)
        return _from_records(source, options, key)


def is_table_of_votes(source: Source, conditions: Sequence[str] | None) -> bool:
    """Tell a table of whole numbers, some above 1, whose columns, apart from case and group, are the conditions.

    A table of nothing but 0 and 1 may as well hold findings, so it has to be said.
    """
    if conditions is None or not is_matrix_of_labels(source):
        return False
    found = tables.find_columns(source.table.columns, {}, required=())
    apart = (found.get("case", source.table.columns[0]), found.get("group"))
    columns = [name for name in source.table.columns if name not in apart]
    if len(columns) != len(conditions) or set(columns) != set(conditions) or not is_integer_matrix(source.table):
        return False
    numbers = source.table.select(pl.col(columns).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False))
    return any(number is not None and number > 1 for number in numbers.max().row(0))


def _counted_votes(rows: pl.DataFrame) -> Note:
    finite = rows["votes"].cast(pl.Float64).is_finite().fill_null(False)  # others are refused later
    return Note("votes of annotators without a name", int(rows["votes"].filter(finite).sum()), "counted")


# A matrix ---------------------------------------------------------------------------------------------


def names_beside(path: Path, what: str, given: Sequence[str] | None, count: int) -> tuple[Sequence[str], str]:
    """Return the names that are given, or stand in a file beside, or are numbers, and say which."""
    beside = path.with_suffix(f".{what}.txt")
    if given is None and not beside.is_file():
        return [str(number) for number in range(count)], "numbered from 0"
    if given is None:
        given = [line.strip() for line in read_text(beside).splitlines() if line.strip()]
        check_length(what.removesuffix("s"), len(given), count, where=str(beside))
        return given, f"named by {beside.name!r}"
    check_length(what.removesuffix("s"), len(given), count)
    return given, "named as given"


# A table ----------------------------------------------------------------------------------------------


def _from_table(table: pl.DataFrame, options: Options) -> Parsed:
    cells, _, columns, roles, assumed = layout(table, options, "condition", "votes")
    cells, given = tables.tidied(cells), options.conditions
    if given is not None and set(columns) != set(given):
        raise DissensusError(
            "the columns of votes are not the conditions",
            expected=f"the columns {listing(given)}",
            got=listing(columns),
            advice="name the columns as the conditions are named, or leave the list of conditions out",
        )
    empty = Note("empty cells", cells["votes"].null_count(), "taken as 0 votes")
    rows = filled(cells.with_columns(pl.col("votes").fill_null(0.0)), pl.col("votes") != 0, "condition", "votes")
    votes = {name: Column(name, "votes for the condition of this name") for name in columns}
    return Parsed(
        rows,
        (_counted_votes(rows), *((empty,) if empty.count else ())),
        tuple(given or columns),
        columns=tuple(votes.get(one.name, one) for one in roles),
        assumed=(*assumed, "a cell is the number of annotators who gave the condition of its column"),
    )


# Records ----------------------------------------------------------------------------------------------


def _from_records(source: Source, options: Options, votes: str | None) -> Parsed:
    """Read records such as ``{"case": "c1", "label_count": {"a": 3, "b": 1}}``, or shares of opinions."""
    placed = read.checked_records(source, "record")
    records = [record for _, record in placed]
    single = [name for name in records[0] if all(read.is_scalar(record.get(name)) for record in records)]
    key = tables.find_columns(
        single, {"case": options.columns.get("case")}, aliases={"case": CASES}, required=("case",)
    )["case"]
    cases = [read.as_name(record.get(key), f"the case ({key})", where) for where, record in placed]
    check_names("case", cases)
    keys = {_counts_key(record, votes) for record in records} - {None}
    is_share = options.columns.get("weight") is not None or not keys.isdisjoint(SHARES)
    counted = [_counted(record, votes, where, options.conditions, is_share=is_share) for where, record in placed]
    above: list[list[Any]] = [[vote for vote in one.items() if vote[1]] or [(None, None)] for one in counted]
    rows = [(case, *vote) for case, some in zip(cases, above, strict=True) for vote in some]
    role = "weight" if is_share else "votes"
    frame = pl.DataFrame(rows, schema={"case": pl.String, "condition": pl.String, role: pl.Float64}, orient="row")
    told = "a number is the weight of an opinion of nobody in particular"
    said = {name: AS_SAID for one, name in options.columns.items() if name and one in ("case", role)}
    roles = {key: "case", **dict.fromkeys(map(str, keys), role)}
    return Parsed(
        frame,
        () if is_share else (_counted_votes(frame),),
        options.conditions or tuple(sorted({name for one in counted for name in one})),
        columns=read.key_columns(records, roles, said),
        assumed=(told if is_share else "a number is how many annotators gave the condition",),
    )


def _counts_key(record: Any, given: str | None) -> str | None:
    """Return the key under which a record holds votes, by condition or in the order of conditions."""
    if not isinstance(record, dict):
        return None
    shares = SHARES if set(read.LABELS).isdisjoint(record) else ()  # which stand beside labels, too
    return next((key for key in (given, *COUNTS, *shares) if isinstance(record.get(key), dict | list)), None)


def _counted(
    record: Mapping[str, Any], key: str | None, where: str, conditions: Sequence[str] | None, *, is_share: bool
) -> dict[str, float]:
    """Return the votes, or the shares, of one record by condition; nothing is none."""
    counts = record.get(str(_counts_key(record, key))) or {}
    if isinstance(counts, list) and conditions is None:
        raise FormatError(
            "a list of votes needs a list of conditions",
            expected="the names of the conditions in the order of the votes",
            got=f"{counts!r:.60}",
            where=where,
            advice=tables.GIVE_CONDITIONS,
        )
    if isinstance(counts, list):
        check_length("vote", len(counts), len(conditions or ()), where=where)
        counts = dict(zip(conditions or (), counts, strict=True))
    for count in counts.values():
        fits = isinstance(count, int | float) and not isinstance(count, bool) and 0 <= count <= MOST_VOTES
        if count is not None and not (fits and (is_share or count == int(count))):
            what, expected = ("a share", "a number") if is_share else ("a number of votes", "a whole number")
            raise read.wrong_shape(count, what, f"{expected}, zero or more", where)
    return {read.as_name(name, "a condition", where): float(count or 0) for name, count in counts.items()}
