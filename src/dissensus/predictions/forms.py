"""The forms in which predictions come: each is brought to entries of case, condition and value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import polars as pl

from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import is_number, polars_frame
from dissensus.core.names import Said
from dissensus.core.ragged import begins_run, offsets_from_lengths
from dissensus.predictions.lists import Conditions, PredictionKind, Predictions, in_order
from dissensus.study import tables
from dissensus.study.builders import condition_codes, condition_names, numbered_names, numeric_array, unknown_condition

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    from dissensus.core.arrays import BoolArray, FloatArray, IntArray

# The roles a column of a long table can have, and the names it goes by, first choice first.
ALIASES: dict[str, tuple[str, ...]] = {
    "case": tables.ALIASES["case"],
    "condition": (*tables.ALIASES["condition"], *tables.ONLY_FINDINGS),
    "score": ("score", "probability", "prob", "confidence", "logit", "scores", "probs"),
    "rank": tables.ALIASES["rank"],
}

# Names of a column that holds what a model answers, where no column goes by a name of a condition.
ANSWERS = frozenset(
    (
        *(
            "prediction",
            "predictions",
            "predicted",
            "predicted_label",
            "predicted_class",
            "predicted_condition",
            "pred",
        ),
        *(
            "pred_label",
            "pred_class",
            "y_pred",
            "yhat",
            "y_hat",
            "answer",
            "response",
            "output",
            "grade",
            "predicted_grade",
        ),
    )
)

KIND_OF_ROLE: dict[str, PredictionKind] = {"score": "scores", "rank": "ranking"}

# The column in which pandas writes an index without a name to Parquet.
PANDAS_INDEX = "__index_level_0__"

NOT_SEEN = "leave out the cases that the model did not see"


# Why a matrix is of neither kind, and what to do.
NO_MATRIX = {
    "numbers": ("one number per case", "give the numbers in one column beside the case"),
    "ranking": ("rankings", "the order of scores is a ranking already; give ranks as a long table"),
}


@dataclass(frozen=True)
class PredictionOptions:
    """What is said about predictions beyond their content; see :func:`read_predictions`."""

    name: str = "model"
    conditions: Conditions = None
    cases: Sequence[str] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    kind: PredictionKind | None = None
    alpha_index: int | None = None
    positive: str | None = None
    findings: bool = False
    binary: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the conditions, where they are known."""
        return None if self.conditions is None else condition_names([], self.conditions)


class Subject(NamedTuple):
    """Whose predictions, about which cases and conditions; they are built from values of all conditions, or of some.

    What is not listed has the score 0, which all conditions of a case may have only if they are ``findings``.
    """

    name: str
    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    findings: bool = False

    def place(self, case: int, code: int | None = None) -> str:
        """Say where a value stands: its row, its case and its condition."""
        condition = "" if code is None else f", condition {self.conditions[code]!r}"
        return f"row {case + 1}, case {self.case_names[case]!r}{condition}"

    def with_all(self, matrix: FloatArray, kind: PredictionKind = "scores") -> Predictions:
        """Build from a value for every case and condition, shape (n_cases, K)."""
        wrong = np.argwhere(~np.isfinite(matrix))
        if len(wrong):
            row, column = map(int, wrong[0])
            are_scores = kind == "scores"
            raise DissensusError(
                "a score is not a finite number" if are_scores else f"a {self.conditions[column]} is not finite",
                expected=f"a number for every case{' and condition' * are_scores}",
                got=f"{matrix[row, column]}; {len(wrong)} such in all",
                where=self.place(row, column if are_scores else None),
                advice="" if are_scores else NOT_SEEN,
            )
        if kind == "scores":
            self._refuse_zeros(np.asarray(~matrix.any(axis=1)))
        order = np.argsort(-matrix, axis=1, kind="stable")
        offsets = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        values = np.take_along_axis(matrix, order, axis=1).ravel()
        return Predictions(self.name, kind, *self[1:3], offsets, order.ravel(), values, complete=True)

    def with_some(self, kind: PredictionKind, case: IntArray, codes: IntArray, values: FloatArray) -> Predictions:
        """Build from listed conditions in any order: on which case, which one, how good; ranks become counts of blocks.

        Scores may be negative only where all conditions have one.
        """
        n_conditions, lengths = len(self.conditions), np.bincount(case, minlength=len(self.case_names))
        keys = np.sort(case * n_conditions + codes)
        twice = keys[1:][~begins_run(keys)[1:]]
        if len(twice):
            row, code = divmod(int(twice[0]), n_conditions)
            raise DissensusError(
                f"condition {self.conditions[code]!r} is listed twice on one case",
                expected="every condition at most once per case",
                got=f"{len(twice)} repeated",
                where=f"case {self.case_names[row]!r}",
            )
        if kind == "scores" and (values < 0).any():
            if (lengths < n_conditions).any():
                negative = int((values < 0).argmax())
                raise DissensusError(
                    "a score is negative although some conditions have none",
                    expected=f"scores of zero or more, or a score for all {n_conditions} conditions on every case",
                    got=str(values[negative]),
                    where=self.place(int(case[negative]), int(codes[negative])),
                    advice="what has no score counts as 0: give probabilities, or the logits of all conditions",
                )
            matrix = np.empty((len(lengths), n_conditions))
            matrix[case, codes] = values
            return self.with_all(matrix)
        if kind == "scores":
            case, codes, values = case[values != 0], codes[values != 0], values[values != 0]
            lengths = np.bincount(case, minlength=len(lengths))
            self._refuse_zeros(lengths == 0)
        if not in_order(case, codes, values):
            by = {"case": case, "minus_value": 0.0 - values, "code": codes}
            order = pl.DataFrame(by).select(pl.arg_sort_by(*by)).to_series().to_numpy()
            case, codes, values = case[order], codes[order], values[order]
        if kind == "ranking":  # count the blocks from that of each condition to the last of its case
            block = np.cumsum(begins_run(case, values))
            last = np.zeros(len(lengths), dtype=np.int64)
            last[case] = block
            values = (last[case] - block + 1).astype(np.float64)
        return Predictions(self.name, kind, *self[1:3], offsets_from_lengths(lengths), codes, values)

    def _refuse_zeros(self, empty: BoolArray) -> None:
        if empty.any() and not self.findings:
            cases = np.flatnonzero(empty)
            raise DissensusError(
                "all scores of a case are zero",
                expected="at least one score that is not zero for every case",
                got=f"{len(cases)} of {len(empty)} cases: {listing(self.case_names[case] for case in cases)}",
                where=self.place(int(cases[0])),
                advice=NOT_SEEN,
            )


# Matrices ---------------------------------------------------------------------------------------------


def from_matrix(values: ArrayLike, options: PredictionOptions) -> Predictions:
    """Build scores, sets of 0 and 1, or numbers; see the methods of :class:`Predictions`."""
    what = {"set": "sets", "numbers": "numbers"}.get(str(options.kind), "scores")
    if hasattr(values, "columns"):
        raise DissensusError(
            f"{what} must be a matrix without names",
            got="a data frame, whose columns could be in another order",
            advice="use Predictions.from_wide, which goes by the names of the columns",
        )
    matrix = numeric_array(values, what)
    n_cases, n_conditions = matrix.shape
    columns = options.names or condition_names([], n_conditions)
    rows = tuple(map(str, options.cases)) if options.cases is not None else numbered_names(None, n_cases)
    if (len(rows), len(columns)) != matrix.shape:
        turned = (len(columns), len(rows)) == matrix.shape
        raise DissensusError(
            "the matrix does not fit the names",
            expected=f"{len(rows)} rows (cases) and {len(columns)} columns (conditions)",
            got=f"{n_cases} rows and {n_conditions} columns",
            advice="transpose the matrix" if turned else "give one case per row and one condition per column",
        )
    subject = Subject(options.name, columns, rows, options.findings)
    fits = {"sets": (matrix == 0) | (matrix == 1), "numbers": (matrix >= 0) | (np.arange(n_conditions) == 0)}
    wrong = np.argwhere(~fits.get(what, np.ones((1, 1), dtype=np.bool_)))
    if len(wrong):
        problem = "a matrix of sets must hold 0 and 1 only" if what == "sets" else "an sd is negative"
        raise DissensusError(problem, got=f"{matrix[tuple(wrong[0])]:g}", where=subject.place(*map(int, wrong[0])))
    if what == "sets":
        case, codes = np.nonzero(matrix)
        return subject.with_some("set", case, codes, np.ones(len(codes)))
    return subject.with_all(matrix.astype(np.float64), options.kind or "scores")


# Nested lists -----------------------------------------------------------------------------------------


def from_lists(kind: PredictionKind, lists: Any, options: PredictionOptions) -> Predictions:
    """Flatten case > block > condition, or the members of one set per case; sets may be a matrix, too.

    See :meth:`Predictions.from_rankings` and :meth:`Predictions.from_sets`.
    """
    if kind == "set" and isinstance(lists, np.ndarray):
        return from_matrix(lists, replace(options, kind=kind))
    if kind == "set":
        unfit = [row for row in lists if not isinstance(row, Collection)]
        if unfit:
            raise DissensusError("a set must be a list of conditions", got=f"{unfit[0]!r:.60}")
        first = next((row for row in lists if len(row)), ())
        if not isinstance(first, str) and any(isinstance(member, bool | np.bool_) for member in first):
            return from_matrix(lists, replace(options, kind=kind))
    cases = [_items(one, kind) for one in lists]
    blocks = [[one] for one in cases]
    if kind == "ranking":
        single = (str, Integral, np.bool_, float, type(None))
        blocks = [[[item] if isinstance(item, single) else _items(item, "block") for item in one] for one in cases]
    mentions = [mention for one in blocks for block in one for mention in block]
    names = condition_names(mentions, options.conditions)
    subject = Subject(options.name, names, numbered_names(options.cases, len(cases)))
    empty = [case for case, one in enumerate(blocks) if kind == "ranking" and not all(one)]
    if empty:
        where = subject.place(empty[0])
        raise DissensusError("a block is empty", expected="at least one condition in every block", where=where)
    sizes = np.array([len(block) for one in blocks for block in one], dtype=np.int64)
    case = np.repeat(np.repeat(np.arange(len(blocks)), [len(one) for one in blocks]), sizes)
    rank = np.array([rank for one in blocks for rank in range(len(one))], dtype=np.float64)
    values = -np.repeat(rank, sizes) if kind == "ranking" else np.ones(len(mentions))
    codes = condition_codes(mentions, names, lambda at: subject.place(int(case[at])))
    return subject.with_some(kind, case, codes, values)


def _items(value: Any, what: str) -> list[Any]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Sequence | set | frozenset | np.ndarray):
        expected = "case > condition or block of tied conditions"
        raise DissensusError(f"a {what} must be a list", expected=expected, got=f"{value!r:.60}")
    return list(value)


# Long tables ------------------------------------------------------------------------------------------


def from_long(frame: IntoDataFrame, options: PredictionOptions) -> Predictions:
    """Build from any data frame, without a Python loop over rows; see :meth:`Predictions.from_long`."""
    table = polars_frame(frame)
    roles = tables.find_columns(table.columns, options.columns, aliases=ALIASES)
    kind = _kind_of_rows(table, roles, options)
    needed = {role: column for role, column in roles.items() if KIND_OF_ROLE.get(role, kind) == kind}
    table, _ = tables.without_declarations(tables.tidied(tables.with_roles(table, needed)))
    case, case_names = tables.case_codes(table["case"])
    codes, known = tables.label_codes(table, options.names)
    role, is_ranking = ("rank", True) if kind == "ranking" else ("score", False)
    # a number per row that is larger for better conditions
    values = -np.arange(len(table), dtype=np.float64) if is_ranking else np.ones(len(table))
    if kind != "set" and role in table.columns:
        numbers, silent = table[role], table["condition"].is_null()
        tables.refuse_rows(table, numbers.is_not_null() & silent, role, f"a row has a {role} but no condition")
        fits = numbers.is_finite() & (numbers > 0) if is_ranking else numbers.is_finite()
        problem = "a rank must be a positive number; 1 is best" if is_ranking else "a score is not a finite number"
        tables.refuse_rows(table, ~fits.fill_null(False) & ~silent, role, problem)
        values = (-1.0 if is_ranking else 1.0) * numbers.fill_null(0.0).to_numpy()
    subject, listed = Subject(options.name, known, case_names, options.findings), codes >= 0
    return subject.with_some(kind, case[listed], codes[listed], values[listed])


def _kind_of_rows(table: pl.DataFrame, roles: Mapping[str, str], options: PredictionOptions) -> PredictionKind:
    """Settle what the rows mean: what is asked for, or what the one column of numbers says.

    Rows without a number are certain if a case has one label; several need a word, unless they are findings, which are
    all present.
    """
    kind = options.kind
    check_choice("kind", kind or "scores", get_args(PredictionKind))
    offered = [KIND_OF_ROLE[role] for role in roles if role in KIND_OF_ROLE]
    if not offered and kind is None and options.findings:
        return "set"
    spare = [column for column in table.drop(roles.values()) if len(column.drop_nulls()) and not holds_text(column)]
    if not offered and kind != "set" and not spare:  # a spare column of numbers may be the score
        several = table.drop_nulls(roles["condition"])[roles["case"]].is_duplicated()
        if not several.any() or kind == "ranking":
            return kind or "ranking"
        raise DissensusError(
            "a case has several labels, and no score or rank",
            expected="one label per case, a column 'score' or 'rank', or a word: set or ranking (by the order of rows)",
            got=f"{several.sum()} such rows; columns {listing(table.columns, most=12)}",
            advice="say kind='set' or kind='ranking' (--kind set)",
        )
    if kind in KIND_OF_ROLE.values() and kind not in offered:
        role = "score" if kind == "scores" else "rank"
        raise tables.missing_column([role], ALIASES, table.columns)
    if kind is not None or len(offered) == 1:
        return kind or offered[0]
    both = ("the table has scores and ranks", "one of them", "say which counts: kind='scores' or kind='ranking'")
    none = "the table has no score column and no rank column", "a column named 'score' or 'rank' or the like"
    rename = "rename the column, or say kind='set' if the rows of a case are a set"
    problem, expected, advice = both if offered else (*none, rename)
    raise DissensusError(problem, expected=expected, got=f"columns {listing(table.columns, most=12)}", advice=advice)


# Wide tables ------------------------------------------------------------------------------------------


def from_wide(frame: IntoDataFrame, options: PredictionOptions) -> Predictions:
    """Build from one row per case and one column per condition; see :meth:`Predictions.from_wide`.

    Without a column for the case, ``options.cases`` names the rows.
    """
    table = polars_frame(frame)
    column = case_column(table, options.names, given=options.columns.get("case"))
    rows = row_names(table, column, options.cases)
    cells, conditions = table if column is None else table.drop(column), options.names
    columns, known = cells.columns, conditions or cells.columns
    repeated = [name.rpartition("_duplicated_")[0] for name in columns if name.rpartition("_duplicated_")[0] in columns]
    if repeated:
        raise DissensusError(f"condition {repeated[0]!r} has several columns", expected="one column per condition")
    are_codes = all(map(is_number, columns)) and not set(columns) <= set(conditions or ())  # which need a list
    if are_codes and not all(name.isdecimal() for name in columns):
        got, expected = f"numbers: {listing(columns)}", "the names of conditions in the first row"
        raise DissensusError("the table seems to have no header", expected=expected, got=got)
    if are_codes and conditions is None:
        raise tables.integers_need_names(columns)
    named = {str(code): name for code, name in enumerate(known)} if are_codes else {name: name for name in known}
    keys = {name: str(int(name)) if are_codes else name for name in columns}
    unknown = [name for name, key in keys.items() if key not in named]
    if unknown:
        raise unknown_condition(unknown[0], conditions or (), f"columns {listing(unknown)}")
    names = tuple(named[key] for key in keys.values())
    binary, matrix = numbers_in(cells, rows)
    kind = kind_of_matrix(options, are_binary=binary)
    return from_matrix(matrix, replace(options, conditions=names, cases=rows, kind=kind))


def kind_of_matrix(options: PredictionOptions, *, are_binary: bool) -> PredictionKind:
    """Tell scores from sets, as said or by what cells hold; a matrix is neither rankings nor one number per case."""
    kind = options.kind or ("set" if are_binary else "scores")
    check_choice("kind", kind, get_args(PredictionKind))
    if kind in NO_MATRIX:
        what, advice = NO_MATRIX[kind]
        expected = "kind='scores' or kind='set'"
        raise DissensusError(f"a matrix holds scores or sets, not {what}", expected=expected, advice=advice)
    return kind


def case_column(
    table: pl.DataFrame, conditions: Sequence[str] | None = None, *, given: str | None = None
) -> str | None:
    """Find the column with the names of cases: given, by a usual name, or the first if it holds text."""
    free = [column for column in table.columns if column not in set(conditions or ())]
    found = tables.find_columns(free, {"case": given}, aliases={"case": ALIASES["case"]}, required=())
    usual = found.get("case") or (PANDAS_INDEX if PANDAS_INDEX in free else None)
    if usual is not None or not free or free[0] != table.columns[0]:
        return usual
    return free[0] if free[0] == "" or holds_text(table[free[0]]) else None


def holds_text(column: pl.Series) -> bool:
    """Tell whether a cell of a column is no number."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return False
    text = column.cast(pl.String)
    return text.cast(pl.Float64, strict=False).null_count() > text.null_count()


def roles_here(given: Said, names: Collection[str]) -> dict[str, str]:
    """Keep what is said of columns that a file has, in roles that predictions have.

    >>> roles_here({"case": "patient", "condition": "dx", "annotator": "reader"}, ["patient", "reader", "score"])
    {'case': 'patient'}
    """
    return {role: name for role, name in given.items() if role in ALIASES and name is not None and name in names}


def column_of_answers(table: pl.DataFrame, options: PredictionOptions) -> dict[str, str]:
    """Find the role of the one column that is called like an answer, or stands alone beside the cases.

    Text, and whole numbers, are conditions; numbers with fractions are scores. There is none where a column goes by the
    name of a condition, or by that of the role.

    >>> asked = PredictionOptions(conditions=["Eczema", "Tinea"])
    >>> column_of_answers(pl.DataFrame({"case": ["c1"], "model_a": ["Tinea"]}), asked)
    {'condition': 'model_a'}
    """
    names, given = set(options.names or ()), options.columns
    case = case_column(table, options.names, given=given.get("case"))
    others = [name for name in table.columns if name != case]
    is_settled = (
        options.findings or case is None or not names or not given.keys().isdisjoint(("condition", *KIND_OF_ROLE))
    )
    if is_settled or not names.isdisjoint(others):
        return {}
    called = [name for name in others if tables.normalised(name) in ANSWERS]
    rivals = [name for name in others if tables.normalised(name) in ALIASES["condition"]]
    if called and rivals:
        raise DissensusError(
            "two columns could be the answers of the model",
            expected="one of them",
            got=f"{rivals[0]!r} and {called[0]!r}",
            advice=f"leave out what is no answer (--ignore {rivals[0]} or --ignore {called[0]}), or rename it",
        )
    has_role = {tables.normalised(name) for name in others} & {*ALIASES["score"], *ALIASES["rank"], "p"}
    found = called or ([] if rivals or has_role else others)
    if len(found) != 1 or is_number(found[0]):
        return {}
    numbers = None if holds_text(table[found[0]]) else table[found[0]].cast(pl.Float64, strict=False).drop_nulls()
    is_scored = numbers is not None and bool((numbers != numbers.round()).any())
    return {("score" if is_scored else "condition"): found[0]}


def row_names(table: pl.DataFrame, column: str | None, given: Sequence[str] | None) -> tuple[str, ...]:
    """Name the case of each row: by a column, or as given where there is none."""
    if column is None:
        if given is None:
            raise tables.missing_column(["case"], ALIASES, table.columns)
        return tuple(given)
    return tuple(tables.one_row_each(table.select(pl.col(column).cast(pl.String).alias("case"))))


def numbers_in(cells: pl.DataFrame, case_names: Sequence[str]) -> tuple[bool, FloatArray]:
    """Return the cells as a matrix, and whether they are booleans or the integers 0 and 1."""
    nested = [column for column, dtype in cells.schema.items() if dtype.is_nested()]
    if nested:
        raise DissensusError("a cell holds several values", expected="a number", where=f"column {nested[0]!r}")
    text = [column for column, dtype in cells.schema.items() if dtype == pl.String]
    if text:
        tidy = pl.col(text).str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0", "": None})
        cells = cells.with_columns(tidy)
    whole = [name for name, dtype in cells.schema.items() if dtype.is_integer() or dtype == pl.Boolean or name in text]
    is_binary = (cells[name].cast(pl.String).is_in(("0", "1", "true", "false")).all() for name in whole)
    binary = len(whole) == cells.width and all(is_binary)
    numbers = cells.select(pl.all().cast(pl.Float64, strict=False))
    for column in (name for name in cells.columns if numbers[name].null_count()):
        row = numbers[column].is_null().arg_max() or 0
        value = cells[column][row]
        case = f", case {case_names[row]!r}" if row < len(case_names) else ""
        raise DissensusError(
            "a score is missing" if value is None else "a score is not a number",
            expected="a number for every case and condition",
            got="an empty cell" if value is None else repr(value),
            where=f"row {row + 1}{case}, column {column!r}",
        )
    return binary, numbers.to_numpy().astype(np.float64)
