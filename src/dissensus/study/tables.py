"""From a long table, one row per mentioned condition or finding, to a study; no Python loop over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import narwhals as nw
import numpy as np
import polars as pl

from dissensus.core.aliases import (
    AnyQuestion,
    BoolArray,
    Confidence,
    Duplicates,
    FloatArray,
    IntArray,
    Question,
    Unranked,
)
from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import known_name
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run, offsets_from_lengths
from dissensus.study.builders import assemble, soft_votes, unknown_condition, unknown_finding, without_repeats
from dissensus.study.panel import ANONYMOUS, MOST_VOTES, Panel
from dissensus.study.question import ABSENT, NOT_ASSESSED, PRESENT, AnswerArray, asked_of, chosen_question
from dissensus.study.study import Study

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# The roles a column can have, and the names by which it is recognised, first choice first.
ALIASES: dict[str, tuple[str, ...]] = {
    "case": (
        *("case", "case_id", "caseid", "case_name", "item", "item_id", "task", "task_id"),
        *("example", "example_id", "image", "image_id", "sample", "sample_id", "id"),
    ),
    "annotator": (
        *("annotator", "annotator_id", "annotator_name", "reader", "reader_id", "readerid", "rater"),
        *("rater_id", "worker", "worker_id", "performer", "labeller", "labeler", "expert", "user"),
    ),
    "annotation": ("annotation", "annotation_id", "round"),
    "condition": (
        *("condition", "condition_name", "label", "label_name", "class", "class_name", "diagnosis"),
        *("diagnoses", "option"),
    ),
    "rank": ("rank", "position"),
    "confidence": ("confidence",),
    "weight": ("weight",),
    "votes": ("votes", "n_votes", "num_votes", "vote_count"),
    "group": ("group", "group_id", "patient", "patient_id"),
    "case_weight": ("case_weight",),
    "unranked": ("unranked",),
    "kind_of_question": ("kind_of_question",),
}

NAMES = ("case", "annotator", "annotation", "condition", "group", "unranked", "kind_of_question")
NUMBERS = ("rank", "confidence", "score", "weight", "votes", "case_weight")

# What an integer label looks like, also where a missing value has turned it into a float.
INTEGER = r"^\s*[+-]?\d+(\.0*)?\s*$"
EXPECTED_RANK = "1 for the best, then larger numbers; equal ranks are ties, gaps do not matter"
EXPECTED_VOTES = "how many annotators gave the opinion: a whole number, 0 for none"
EXPECTED_CONFIDENCE = "a higher number for a better condition; 0 or an empty cell if it is not mentioned"

# Roles of an opinion, which a row without votes does not hold.
SAID = ("annotator", "annotation", "condition", "rank", "confidence", "score", "weight")

# A column that keeps the number of each row where rows are split or left out; missing if rows are made up.
ROW = "row number in the source"


# Names by which a column of scores is recognised.
SCORE_NAMES = ("score", "rating", "toxicity_score")

# Names by which nothing but a column of findings goes.
ONLY_FINDINGS = ("finding", "findings", "finding_name")
FINDING_NAMES = (*ONLY_FINDINGS, *ALIASES["condition"])
PRESENT_NAMES = ("present", "is_present", "presence", "answer", "value")
ROLES = ("case", "annotator", "annotation", "weight", "votes", "group", "case_weight")
# The roles of the columns of checklists, and the names by which they are recognised.
CHECKLIST_ALIASES: dict[str, tuple[str, ...]] = {
    **{role: ALIASES[role] for role in ROLES},
    "condition": FINDING_NAMES,
    "present": PRESENT_NAMES,
}

# What the words of a cell say about a finding.
SAYS = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "t", "present", "positive"), PRESENT),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "f", "absent", "negative"), ABSENT),
    **dict.fromkeys(("", "nan", "not assessed"), NOT_ASSESSED),
}

SAID_NOTHING = "checklists that say {!r}"
EXPECTED_ANSWER = "1, yes, true or present; 0, no, false or absent; an empty cell if it was not assessed"
DECIDE = "write 1 or 0, or leave the cell empty where the finding was not assessed"


# The code of each row, and the names by code.
Codes: TypeAlias = "tuple[IntArray, tuple[str, ...]]"


def polars_frame(frame: IntoDataFrame) -> pl.DataFrame:
    """Take a data frame of any library and return it as a polars one."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        lazy = type(frame).__name__ == "LazyFrame"
        raise DissensusError(
            "this is not a table",
            expected="a pandas, polars or arrow data frame",
            got=type(frame).__name__,
            advice="collect it first: frame.collect()" if lazy else "",
        ) from error
    try:
        return table.to_polars()
    except (TypeError, ValueError) as error:
        mixed = ""
        for name in table.columns:
            with suppress(TypeError, ValueError):
                table.get_column(name).to_polars()
                continue
            mixed = mixed or name
        raise DissensusError(
            f"the column {mixed!r} mixes different types",
            expected="columns that hold text only or numbers only",
            got=str(error).splitlines()[0],
            advice=f"convert it first: frame[{mixed!r}] = frame[{mixed!r}].astype(str)",
        ) from error


def normalised(name: str) -> str:
    """Fold a column name so that spelling variants compare equal."""
    return name.strip().lstrip("\ufeff").casefold().replace(" ", "_").replace("-", "_").replace(".", "_")


def find_columns(
    names: Sequence[str],
    given: Mapping[str, str | None],
    *,
    aliases: Mapping[str, tuple[str, ...]] = ALIASES,
    required: Sequence[str] = ("case", "condition"),
) -> dict[str, str]:
    """Find the column of each role: the one given, or the first that goes by a usual name."""
    for role in (role for role, column in given.items() if column is not None):
        known_name("role", role, aliases, purpose="for a column here")
    by_name = {normalised(name): name for name in reversed(names) if name not in given.values()}
    found: dict[str, str] = {}
    for role in aliases:
        usual = next((by_name[alias] for alias in aliases[role] if alias in by_name), None)
        chosen = usual if given.get(role) is None else given[role]
        if chosen is not None:
            found[role] = known_name("column", chosen, names, purpose=f"for the {role}")
    for role in required:
        if role not in found:
            raise missing_column(role, aliases[role], names)
    return found


def without_second_order(
    roles: Mapping[str, str], given: Mapping[str, str | None], confidence: Confidence | None = None
) -> dict[str, str]:
    """Settle which column orders the conditions: the one asked for, else the rank before the confidence.

    To say what confidences are used for is to ask for them.
    """
    if confidence is not None and "confidence" in roles:
        given = {**given, "confidence": roles["confidence"]}
    if given.get("rank") is not None and given.get("confidence") is not None:
        raise DissensusError(
            "a rank column and a confidence column are both asked for",
            expected="one of them to order the conditions of a ranking",
            got=f"rank={given['rank']!r}, confidence={given['confidence']!r}",
        )
    if "rank" not in roles or "confidence" not in roles:
        return dict(roles)
    spare = "rank" if given.get("confidence") is not None else "confidence"
    return {role: column for role, column in roles.items() if role != spare}


def missing_column(role: str, aliases: Sequence[str], names: Sequence[str]) -> DissensusError:
    """Build the error for a table that lacks a column."""
    return DissensusError(
        f"the table has no {role} column",
        expected=f"a column named {', '.join(map(repr, aliases[:4]))} or the like",
        got=f"columns {listing(names, most=12)}",
        advice=f"rename the column, or say which it is ({role}=..., --column {role}=NAME)",
    )


def refuse_repeated_cases(names: Sequence[str], what: str = "row", *, advice: str = "") -> None:
    """Refuse that a case has several rows, or records, where each has one."""
    if len(set(names)) < len(names):
        first: dict[str, int] = {}
        row, name = next(one for one in enumerate(names, start=1) if first.setdefault(one[1], one[0]) != one[0])
        raise DissensusError(
            f"case {name!r} stands in several {what}s",
            expected=f"one {what} per case",
            got=f"{what}s {first[name]} and {row}; {len(names) - len(set(names))} repeated in all",
            advice=advice,
        )


def with_roles(table: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """Keep the columns that have a role, under the role's name."""
    return table.select(pl.col(column).alias(role) for role, column in roles.items())


def build_from_table(
    table: pl.DataFrame,
    conditions: Sequence[str] | None,
    *,
    tie_separator: str | None = None,
    unranked: Unranked | None = None,
    duplicates: Duplicates = "refuse",
    confidence: Confidence | None = None,
    question: Question | None = None,
    positive: str | None = None,
) -> tuple[Study, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles.

    Rows without a condition are abstentions, and rows with a case alone are unannotated cases; so are rows with 0
    votes, whose conditions are known nevertheless. In a table that numbers its annotations and has ranks, as the
    canonical one does, rows that hold nothing but a condition or nothing but an annotator declare names. Names that
    are numbers are in the order of the question, if there is one, where nothing else gives their order.
    """
    if confidence is not None:
        check_choice("confidence", confidence, get_args(Confidence))
    if confidence is not None and "confidence" not in table.columns:
        raise DissensusError(
            "there are no confidences to use",
            expected="a column 'confidence', or one that is named (--column confidence=NAME)",
            got=f"columns {listing((name for name in table.columns if name != ROW), most=12)}",
        )
    table = tidied(table, tie_separator)
    meaning, declared_question = unranked or _declared(table, "unranked"), _declared(table, "kind_of_question")
    asked = chosen_question(question, positive) or declared_question
    table, declared = without_declarations(table)
    known = tuple(map(str, conditions)) if conditions is not None else declared.get("condition")
    with ThreadPoolExecutor(1) as pool:  # polars looks names up without the lock, while NumPy goes on here
        annotators_found = pool.submit(name_codes, table, "annotator", declared.get("annotator"))
        conditions_found = pool.submit(label_codes, table, known, are_named=asked in ("binary", "grades"))
        table, notes = without_zero_votes(table)
        panel, ranking = gathered(table, annotators_found.result)
        rank, mentioned, silent = _order(table)
        codes, names = conditions_found.result()
    mentioned, repeated = without_repeats(duplicates, names, panel, ranking, rank, codes, mentioned)
    if not mentioned.all():
        ranking, rank, codes = ranking[mentioned], rank[mentioned], codes[mentioned]
    said = _assembled(ranking, rank, codes, names, panel, meaning or "below")
    shared: tuple[Note, ...] = ()
    if confidence == "share":
        said, shared = soft_votes(said, -rank[np.lexsort((codes, rank, ranking))])
    are_ordered = conditions is not None or (asked == declared_question and known is not None)
    return asked_of(said, asked, positive, are_ordered=are_ordered), (*notes, *silent, *repeated, *shared)


# Tidying ----------------------------------------------------------------------------------------------


def tidied(table: pl.DataFrame, tie_separator: str | None = None) -> pl.DataFrame:
    """Return names as text and numbers as floats, with blank cells as missing."""
    names = [role for role in NAMES if role in table.columns]
    if "case" not in names:
        raise DissensusError("the table has no column called case", got=listing(table.columns))
    table = table.with_columns(_as_name(table, role) for role in names)
    if tie_separator == "":
        raise DissensusError("the tie separator is empty", expected="the text between tied conditions")
    if tie_separator is not None:
        table = numbered(table).with_columns(pl.col("condition").str.split(tie_separator))
        table = table.explode("condition", empty_as_null=True, keep_nulls=True)
        table = table.with_columns(pl.col("condition").str.strip_chars())
    blank = [role for role in names if (table[role] == "").any()]
    table = table.with_columns(pl.col(role).replace("", None) for role in blank)
    return table.with_columns(_number(table, role) for role in NUMBERS if role in table.columns)


def _as_name(table: pl.DataFrame, role: str) -> pl.Series:
    """Return names as text; whole numbers that a missing value has turned into floats are whole again."""
    column = _single(table, role, "a name")
    if column.dtype.is_float():
        refuse_rows(table, ~column.is_finite(), role, f"the {role} of a row is not a name")
        if (column.drop_nulls() == column.drop_nulls().round()).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String)


def _number(table: pl.DataFrame, role: str) -> pl.Series:
    column = _single(table, role, "a number")
    number = column.cast(pl.Float64, strict=False)
    if number.null_count() > column.null_count() and column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
        number = column.cast(pl.Float64, strict=False)
    wrong = number.is_null() & column.is_not_null()
    refuse_rows(table, wrong, role, f"a {in_words(role)} is not a number", expected="a number")
    return number


def in_words(role: str) -> str:
    """Return the name of a role in the singular.

    >>> in_words("votes"), in_words("case_weight")
    ('number of votes', 'case weight')
    """
    return "number of votes" if role == "votes" else role.replace("_", " ")


def _single(table: pl.DataFrame, role: str, expected: str) -> pl.Series:
    column = table[role]
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DissensusError(
            f"the {role.replace('_', ' ')} column holds more than one value per row",
            expected=f"{expected} in every row",
            got=f"{column.dtype}, for example {column.head(1).to_list()[0]!r:.60}",
            advice="give every value a row of its own" if role == "condition" else "",
        )
    return column


def numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Keep the numbers of the rows before some are split or left out."""
    return table if ROW in table.columns else table.with_row_index(ROW, offset=1)


def place(table: pl.DataFrame, row: int) -> str:
    """Say where a row stands: its number below the header, its case and its annotator."""
    number = table[ROW][row] if ROW in table.columns else row + 1
    known = [(role, table[role][row]) for role in ("case", "annotator") if role in table.columns]
    named = [f"{role} {name!r}" for role, name in known if name is not None]
    return ", ".join(named if number is None else [f"data row {number}", *named])


def without_declarations(table: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, tuple[str, ...]]]:
    """Take out the rows that only declare names: the other rows, and the names of each role."""
    if not len(table):
        raise DissensusError("the table has no rows", expected="at least one row below the header")
    nameless = table["case"].is_null()
    if not nameless.any():
        return table, {}
    declares = [role for role in ("condition", "annotator") if role in table.columns]
    alone = pl.repeat(False, len(table), eager=True)
    if "annotation" in table.columns and not {"rank", "present"}.isdisjoint(table.columns):  # as in the canonical form
        given = [role for role in table.columns if role not in ("case", "unranked", "kind_of_question", ROW)]
        filled = pl.sum_horizontal(pl.col(role).is_not_null() for role in given)
        has_name = pl.any_horizontal(pl.col(declares).is_not_null())
        alone = nameless & table.select((filled == 1) & has_name).to_series()
    refuse_rows(table, nameless & ~alone, "case", "a row has no case", expected="the name of a case in every row")
    table = numbered(table)
    names = {role: tuple(table.filter(alone)[role].drop_nulls().to_list()) for role in declares}
    return table.filter(~alone), {role: found for role, found in names.items() if found}


def without_zero_votes(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Empty the rows that nobody voted for, so that only their case is left, and note how many there are."""
    if "votes" not in table.columns:
        return table, ()
    votes = table["votes"].fill_null(1.0)
    wrong = ~((votes >= 0) & (votes <= MOST_VOTES) & (votes == votes.floor()))
    refuse_rows(table, wrong, "votes", "votes are not a whole number, zero or more", expected=EXPECTED_VOTES)
    if "annotator" in table.columns:
        refuse_rows(
            table,
            (votes > 1) & table["annotator"].is_not_null(),
            "votes",
            "an annotator with a name has one vote",
            expected="votes only where annotators have no names",
            advice="if the number says how much an opinion counts, it is a weight: --column weight=NAME (weight=NAME)",
        )
    nobody = table["votes"] == 0
    if not nobody.any():
        return table, ()
    said = [role for role in SAID if role in table.columns]
    table = table.with_columns(pl.when(pl.col("votes") != 0).then(pl.col(role)).alias(role) for role in said)
    return table, (Note("rows with 0 votes", int(nobody.sum()), "kept as conditions that nobody chose"),)


def _declared(table: pl.DataFrame, role: str) -> Any:
    """Return what a column says about the whole table, the same in every row that says anything."""
    if role not in table.columns or not len(table):
        return None
    found = table[role].unique().drop_nulls().to_list()
    known = get_args(Unranked if role == "unranked" else Question)
    if len(found) > 1 or any(name not in known for name in found):
        raise DissensusError(
            f"the column {role!r} must be the same in the whole table",
            expected=" or ".join(map(repr, known)),
            got=listing(found),
        )
    return found[0] if found else None


def labels_of_cases(table: pl.DataFrame, case_names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a table that group cases, aligned to the cases by name.

    >>> labels_of_cases(pl.DataFrame({"case": ["y", "x"], "site": ["S", "N"]}), ["x", "y"])
    {'site': ('N', 'S')}
    """
    case = find_columns(table.columns, {}, required=("case",))["case"]
    rows = {str(row[case]): row for row in table.iter_rows(named=True)}
    missing = [name for name in case_names if name not in rows]
    if missing:
        raise DissensusError("some cases have no stratum", got=f"{len(missing)} cases: {listing(missing)}")
    return {name: tuple(str(rows[one][name]) for one in case_names) for name in table.columns if name != case}


# Codes of cases, annotators and conditions ------------------------------------------------------------


def case_codes(column: pl.Series) -> tuple[IntArray, tuple[str, ...]]:
    """Give the cases numbers in order of appearance."""
    runs = column.rle_id().cast(pl.Int64).to_numpy()
    names = column.filter(pl.Series(begins_run(runs)))
    if (names[1:] > names[:-1]).all() or names.n_unique() == len(names):
        return runs, tuple(names.to_list())
    codes, found = encoded(column)
    return codes, tuple(found)


def encoded(column: pl.Series) -> tuple[IntArray, list[str]]:
    """Give the texts of a column numbers in order of appearance, -1 where there is none, in one pass over it."""
    category = column.cast(pl.Categorical(pl.Categories.random()))
    present = category.drop_nulls().unique(maintain_order=True)
    position = np.full(len(present) + 1, ANONYMOUS, dtype=np.int64)
    position[present.to_physical().to_numpy()] = np.arange(len(present))
    codes = category.to_physical().fill_null(len(present)).to_numpy()
    return position[codes], present.cast(pl.String).to_list()


def name_codes(
    table: pl.DataFrame, role: str, declared: tuple[str, ...] | None = None
) -> tuple[IntArray, tuple[str, ...]]:
    """Give the names of a role numbers, declared ones first, then as they appear; -1 where there is none."""
    if role not in table.columns:
        return np.full(len(table), ANONYMOUS, dtype=np.int64), declared or ()
    codes, found = encoded(table[role])
    names = tuple(dict.fromkeys([*(declared or ()), *found]))
    if not declared:
        return codes, names
    number = {name: code for code, name in enumerate(names)}
    return np.array([*(number[name] for name in found), ANONYMOUS], dtype=np.int64)[codes], names


def label_codes(
    table: pl.DataFrame, known: tuple[str, ...] | None, *, are_named: bool = False
) -> tuple[IntArray, tuple[str, ...]]:
    """Give the conditions numbers as listed, or in alphabetical order; -1 where there is none.

    Integers stand for names that must be listed, unless they are names themselves, as grades are.
    """
    codes, labels = encoded(table["condition"])
    integers = bool(labels) and bool(pl.Series(labels).str.contains(INTEGER).all())
    if known is None:
        if integers and not are_named:
            raise integers_need_names(sorted(labels))
        known = tuple(sorted(labels))
    code_of = {name: code for code, name in enumerate(known)}
    if integers and code_of.keys().isdisjoint(labels):
        code_of = {label: int(float(label)) for label in labels if 0 <= float(label) < len(known)}
    unknown = sorted(label for label in labels if label not in code_of)
    if unknown:
        row = (table["condition"] == unknown[0]).arg_max() or 0
        raise unknown_condition(unknown[0], known, place(table, row))
    return np.array([*(code_of[label] for label in labels), ANONYMOUS], dtype=np.int64)[codes], known


GIVE_CONDITIONS = "give the list (conditions=[...], --conditions FILE with one name per line)"


def integers_need_names(labels: Sequence[str], advice: str = GIVE_CONDITIONS) -> DissensusError:
    """Build the error for integer labels that come without the names they stand for."""
    return DissensusError(
        "integer labels need a list of conditions",
        expected="the names of the conditions in the order of their codes",
        got=f"labels {listing(labels)} without a list",
        advice=advice,
    )


# Rankings ---------------------------------------------------------------------------------------------


def gathered(
    table: pl.DataFrame, annotators: Callable[[], tuple[IntArray, tuple[str, ...]]], *, by_case: bool = False
) -> tuple[Panel, IntArray]:
    """Gather the rows of each opinion: the panel that gave them, and the opinion of each row, -1 where there is none.

    Opinions are in order of case, then of appearance. Where there is neither a column of annotators nor one of
    annotations, the rows of a case may be one opinion (``by_case``).
    """
    case, case_names = case_codes(table["case"])
    annotator, annotator_names = annotators()
    is_named = "annotator" in table.columns or "annotation" in table.columns
    key = case if by_case and not is_named else _opinion_keys(table, case, annotator, len(annotator_names))
    of_row, first = _runs(key, case)
    return _panel(table, (case, case_names), (annotator, annotator_names), of_row, first), of_row


def _panel(table: pl.DataFrame, cases: Codes, annotators: Codes, of_row: IntArray, first: IntArray) -> Panel:
    """Say who gave the opinion of each row, and which row is its first."""
    case, case_names = cases
    return Panel(
        case_names=case_names,
        opinion_offsets=offsets_from_lengths(np.bincount(case[first], minlength=len(case_names))),
        annotators=annotators[0][first],
        annotator_names=annotators[1],
        weights=repeated_number(table, "weight", of_row),
        groups=case_groups(table, case),
        case_weights=repeated_number(table, "case_weight", case),
        votes=repeated_number(table, "votes", of_row).astype(np.int64),
    )


def _opinion_keys(table: pl.DataFrame, case: IntArray, annotator: IntArray, n_annotators: int) -> IntArray:
    """Give the rows of one ranking one key, ascending with the case; -1 where there is no ranking."""
    named = [role for role in ("annotator", "annotation") if role in table.columns]
    nobody = _all_null(table, [*named, "condition"])
    if not named:
        anonymous = "rank" in table.columns or "confidence" in table.columns
        key = case if anonymous else np.arange(len(case), dtype=np.int64)
        return np.where(nobody, -1, key)
    key = case * (n_annotators + 1)
    key += annotator + 1
    if "annotation" in table.columns:
        annotation, names = name_codes(table, "annotation")
        key = key * (len(names) + 1) + annotation + 1
    orphan, expected = pl.Series(_all_null(table, named) & ~nobody), "an annotator in every row with a condition"
    advice = "name the annotator, or number the annotations of each case in a column 'annotation'"
    refuse_rows(table, orphan, named[0], "a row has no annotator", expected=expected, advice=advice)
    key[nobody] = -1
    return key


def _all_null(table: pl.DataFrame, roles: Sequence[str]) -> BoolArray:
    if any(not table[role].null_count() for role in roles):
        return np.zeros(len(table), dtype=np.bool_)
    return table.select(pl.all_horizontal(pl.col(roles).is_null())).to_series().to_numpy()


def _runs(key: IntArray, case: IntArray) -> tuple[IntArray, IntArray]:
    """Return the opinion of each row, -1 where there is none, and the first row of each; a key is that of one case."""
    begins = begins_run(key)
    first, of_row = np.flatnonzero(begins), np.cumsum(begins) - 1
    if pl.Series(key[first]).n_unique() < len(first) or not (np.diff(case[first]) >= 0).all():  # rows are scattered
        present, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        order = np.lexsort((first, case[first]))
        position = np.empty(len(present), dtype=np.int64)
        position[order] = np.arange(len(present))
        first, of_row = first[order], position[of_row]
    real = key[first] != -1
    if real.all():
        return of_row, first
    return np.where(real, np.cumsum(real) - 1, -1)[of_row], first[real]


def _order(table: pl.DataFrame) -> tuple[FloatArray, BoolArray, tuple[Note, ...]]:
    """Return a number per row that is smaller for better conditions, which rows mention one, and what others are.

    The number is the rank, or minus the confidence, of which 0 mentions nothing.
    """
    named = table["condition"].is_not_null()
    if "rank" in table.columns:
        rank = table["rank"]
        wrong = (~(rank > 0) | ~rank.is_finite()).fill_null(False) | (rank.is_null() & named)
        refuse_rows(table, rank.is_not_null() & ~named, "rank", "a row has a rank but no condition")
        refuse_rows(table, wrong, "rank", "a rank is not a positive number", expected=EXPECTED_RANK)
        return rank.fill_null(0.0).to_numpy(), named.to_numpy(), ()
    if "confidence" not in table.columns:
        return np.zeros(len(table)), named.to_numpy(), ()
    confidence = table["confidence"]
    stated = (confidence != 0).fill_null(False)
    refuse_rows(table, stated & ~named, "confidence", "a row has a confidence but no condition")
    wrong = (confidence < 0) | ~confidence.is_finite()
    problem = "a confidence is not a number, zero or more"
    refuse_rows(table, wrong, "confidence", problem, expected=EXPECTED_CONFIDENCE)
    silent = int((named & ~stated).sum())
    notes = (Note("rows with confidence 0 or missing", silent, "kept as not mentioned"),) if silent else ()
    return -confidence.fill_null(0.0).to_numpy(), (named & stated).to_numpy(), notes


def refuse_rows(
    table: pl.DataFrame, wrong: pl.Series, role: str, problem: str, *, expected: str = "", advice: str = ""
) -> None:
    """Raise an error about the first of the wrong rows, if there is any."""
    wrong = wrong.fill_null(False)
    if wrong.any():
        row = wrong.arg_max() or 0
        value = table[role][row]
        got = "nothing" if value is None else f"{value:g}" if isinstance(value, float) else repr(value)
        raise DissensusError(problem, expected=expected, got=got, where=place(table, row), advice=advice)


def _assembled(
    ranking: IntArray, rank: FloatArray, codes: IntArray, names: tuple[str, ...], panel: Panel, unranked: Unranked
) -> Study:
    """Put mentions into rankings: which ranking each belongs to, a number that is smaller for better ones, its code."""
    ascending = (ranking[1:] > ranking[:-1]) | ((ranking[1:] == ranking[:-1]) & (rank[1:] >= rank[:-1]))
    if not ascending.all():
        order = np.lexsort((rank, ranking))
        ranking, rank, codes = ranking[order], rank[order], codes[order]
    first = np.flatnonzero(begins_run(ranking, rank))
    blocks_per_ranking = np.bincount(ranking[first], minlength=panel.n_opinions)
    code_offsets = np.append(first, len(codes)).astype(np.int64)
    return assemble(names, panel, offsets_from_lengths(blocks_per_ranking), code_offsets, codes, unranked)


# Properties of rankings and cases that every row repeats ------------------------------------------------


def repeated_number(table: pl.DataFrame, role: str, ids: IntArray) -> FloatArray:
    """Return the number of each id, which all its rows must repeat; empty where there is no such column."""
    if role not in table.columns:
        return np.empty(0)
    wrong = (table[role] < 0) | ~table[role].is_finite()
    refuse_rows(table, wrong, role, f"a {role.replace('_', ' ')} is not a finite number, zero or more")
    return _constant(table, role, table[role].fill_null(1.0).to_numpy(), ids)


def case_groups(table: pl.DataFrame, case: IntArray) -> tuple[str, ...]:
    """Return the group of each case, which all its rows must repeat; empty where there is no such column."""
    if "group" not in table.columns or table["group"].null_count() == len(table):
        return ()
    problem, expected = "a case has no group although others have one", "a group for every case, or for none"
    advice = "give a case that stands alone a group of its own"
    refuse_rows(table, table["group"].is_null(), "group", problem, expected=expected, advice=advice)
    group, names = name_codes(table, "group")
    return tuple(names[code] for code in _constant(table, "group", group, case))


def _constant(table: pl.DataFrame, role: str, values: np.ndarray, ids: IntArray) -> np.ndarray:
    """Return the value of each id, -1 is none, or say where it changes."""
    present, first = np.unique(ids, return_index=True)
    first = first[present >= 0]
    differs = (ids >= 0) & (values != values[first][ids]) if len(first) else np.zeros(len(ids), np.bool_)
    if differs.any():
        row, what = int(differs.argmax()), in_words(role)
        whole = "ranking" if role in ("weight", "votes") else "case"
        raise DissensusError(
            f"the {what} changes within one {whole}",
            expected=f"one {what} for all rows of a {whole}",
            got=repr(table[role][row]),
            where=place(table, row),
        )
    return values[first]


# Checklists ---------------------------------------------------------------------------------------------


def without_nothing(table: pl.DataFrame, nothing: str | None) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Leave the finding empty where it goes by the name that says that nothing was found; a note counts how often.

    >>> without_nothing(pl.DataFrame({"case": ["x"], "condition": ["none"]}), "none")[0]["condition"].to_list()
    [None]
    """
    if nothing is None:
        return table, ()
    is_nothing = (table["condition"].cast(pl.String).str.strip_chars() == nothing).fill_null(False)
    says = np.ones(len(table), np.bool_)
    if "present" in table.columns:
        says = answers_of_cells(table, "present") == PRESENT
    denied = is_nothing & ~pl.Series(says)
    kept = numbered(table).with_columns(pl.when(~is_nothing).then(pl.col("condition")).alias("condition"))
    note = Note(SAID_NOTHING.format(nothing), int((is_nothing & ~denied).sum()), "kept as nothing found")
    return kept.filter(~denied), (note,)


def refuse_unsaid(nothing: str | None, notes: Iterable[Note]) -> None:
    """Refuse a name for nothing found that stands nowhere."""
    if nothing is not None and any(note.found == SAID_NOTHING.format(nothing) and not note.count for note in notes):
        raise DissensusError(
            f"no checklist says {nothing!r}",
            expected="the name that says that nothing was found, as it stands among the findings",
            advice="leave it out if every checklist has a finding, or correct the name",
        )


def answers_of_cells(table: pl.DataFrame, role: str) -> IntArray:
    """Translate the cells of a column into answers, or refuse a word that is not understood.

    >>> answers_of_cells(pl.DataFrame({"case": ["x"] * 3, "present": ["Yes", "0", None]}), "present")
    array([ 1,  0, -1])
    """
    column = table[role]
    if column.dtype.is_nested():
        raise DissensusError("a cell holds several values", expected=EXPECTED_ANSWER, got=str(column.dtype))
    words = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    answers = words.replace_strict(SAYS, default=None, return_dtype=pl.Int64)
    if answers.null_count():
        row = answers.is_null().arg_max() or 0
        finding = table["condition"][row] if "condition" in table.columns else role
        rest = f"if {finding!r} is no finding, leave it out (--ignore) or list the findings (--conditions)"
        raise DissensusError(
            f"the answer for {finding!r} is not understood",
            expected=EXPECTED_ANSWER,
            got=repr(table[role][row]),
            where=place(table, row),
            advice=f"{DECIDE}; {rest}",
        )
    return answers.to_numpy()


def checklists_from_roles(
    table: pl.DataFrame,
    findings: Sequence[str] | None = None,
    *,
    separator: str | None = None,
    duplicates: Duplicates = "refuse",
) -> tuple[Study, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles.

    A checklist with any row has assessed every finding; a row without a finding says that nothing was found, and rows
    whose ``present`` is empty say that their finding was not assessed. Rows with a case alone are cases that nobody
    assessed, unless there is no column of annotators: then the rows of a case are the checklist of one.
    """
    table, declared = without_declarations(tidied(table, separator))
    table, notes = without_zero_votes(table)
    given = findings if findings is not None else declared.get("condition")
    codes, labels = encoded(table["condition"])
    names = tuple(labels) if given is None else tuple(map(str, given))
    if given is None and labels and pl.Series(labels).str.contains(INTEGER).all():
        raise integers_need_names(labels)
    if given is not None:
        unknown = [label for label in labels if label not in names]
        if unknown and len(unknown) < len(labels):
            row = (table["condition"] == unknown[0]).arg_max() or 0
            raise unknown_finding(unknown[0], names, place(table, row))
        codes, _ = label_codes(table, names)
    annotators = partial(name_codes, table, "annotator", declared.get("annotator"))
    panel, opinion = gathered(table, annotators, by_case=True)
    answers, repeated = _answers(table, opinion, codes, (panel.n_opinions, len(names)), duplicates)
    return Study(names, panel, answers=answers, question="findings"), (*notes, *repeated)


def _answers(
    table: pl.DataFrame, opinion: IntArray, codes: IntArray, shape: tuple[int, int], duplicates: Duplicates
) -> tuple[AnswerArray, tuple[Note, ...]]:
    says = answers_of_cells(table, "present") if "present" in table.columns else np.full(len(table), PRESENT)
    named = (codes >= 0) & (opinion >= 0)
    kept, notes = _without_repeats(table, opinion * shape[1] + codes, named, duplicates)
    answers = np.full(shape, ABSENT, dtype=np.int8)
    answers[opinion[kept], codes[kept]] = says[kept]
    found = (answers == PRESENT).any(axis=1)
    wrong = np.flatnonzero(~named & (opinion >= 0) & np.append(found, False)[opinion])
    if len(wrong):
        raise DissensusError(
            "a checklist says that nothing was found, and names a finding",
            expected="either",
            where=place(table, int(wrong[0])),
            advice="correct the rows, or tell two checklists of one annotator apart (annotation column)",
        )
    return answers, notes


def _without_repeats(
    table: pl.DataFrame, key: IntArray, named: np.ndarray, duplicates: Duplicates
) -> tuple[IntArray, tuple[Note, ...]]:
    """Return the rows that count, one per checklist and finding."""
    rows = np.flatnonzero(named)
    order = np.argsort(key[rows], kind="stable")
    again = rows[order[~begins_run(key[rows][order])]]
    if not len(again):
        return rows, ()
    first = int(again.min())
    if duplicates != "first":
        raise DissensusError(
            f"finding {table['condition'][first]!r} is answered twice on one checklist",
            expected="every finding at most once for a case and an annotator",
            got=f"{len(again):,} repeated answer{'s' * (len(again) > 1)}",
            where=place(table, first),
            advice="tell repeated checklists apart (annotation column), or keep the first answers: duplicates='first' "
            "(--duplicates first)",
        )
    note = Note("repeated answers", len(again), "left out, the first counts", (place(table, first),), lost=True)
    return np.setdiff1d(rows, again), (note,)


# Any long table -----------------------------------------------------------------------------------------


def question_of_table(columns: Sequence[str]) -> AnyQuestion | None:
    """Tell from its columns what a long table answers: numbers or findings only if it has no conditions."""
    known = set(map(normalised, columns))
    if known.intersection(ALIASES["condition"]):
        return None
    if known.intersection(ONLY_FINDINGS):
        return "findings"
    return "numbers" if known.intersection(SCORE_NAMES) else None


def roles_of_table(
    table: pl.DataFrame,
    columns: Mapping[str, str | None],
    question: AnyQuestion | None,
    confidence: Confidence | None = None,
) -> dict[str, str]:
    """Find the column of each role in a table that answers a question."""
    if question == "numbers":
        return roles_of_ratings(table, columns)
    if question == "findings":
        return find_columns(table.columns, columns, aliases=CHECKLIST_ALIASES)
    return without_second_order(find_columns(table.columns, columns), columns, confidence)


def roles_of_ratings(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """Find the column of each role in a table of ratings."""
    aliases = {role: ALIASES[role] for role in ("case", "annotator", "weight", "votes", "group")}
    aliases["score"] = SCORE_NAMES
    return find_columns(table.columns, columns, aliases=aliases, required=("case", "score"))


def ratings_from_roles(table: pl.DataFrame) -> tuple[Study, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles, with notes on its rows."""
    table, notes = without_zero_votes(without_declarations(tidied(table))[0])
    cases = case_codes(table["case"])
    scored = np.argsort(cases[0], kind="stable")
    scored = scored[table["score"].is_not_null().to_numpy()[scored]]
    of_row = np.full(len(table), -1, dtype=np.int64)
    of_row[scored] = np.arange(len(scored))
    panel = _panel(table, cases, name_codes(table, "annotator"), of_row, scored)
    return Study((), panel, scores=table["score"].fill_null(0.0).to_numpy()[scored], question="numbers"), notes
