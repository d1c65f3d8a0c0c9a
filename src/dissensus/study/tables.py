"""From a long table, one row per mentioned condition, score or finding, to a study; no Python loop over rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, get_args

import numpy as np
import polars as pl

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_choice, checked, texts
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import Aliases, AnyQuestion, Confidence, Duplicates, Question, Said, Unranked, different_names
from dissensus.core.ragged import begins_run, offsets_from_lengths
from dissensus.core.receipt import Note
from dissensus.study.builders import ANSWER, assemble, soft_votes, unknown_condition, without_repeats
from dissensus.study.panel import ANONYMOUS, MOST_VOTES, Panel
from dissensus.study.question import ABSENT, NOT_ASSESSED, PRESENT, asked_of, chosen_question
from dissensus.study.study import Study

# The roles a column can have, and the names by which it is recognised, first choice first.
ALIASES: dict[str, tuple[str, ...]] = {
    "case": (
        *("case", "case_id", "caseid", "case_name", "item", "item_id", "task", "task_id"),
        *("example", "example_id", "image", "image_id", "sample", "sample_id", "record_id", "id"),
    ),
    "annotator": (
        *("annotator", "annotator_id", "annotator_name", "reader", "reader_id", "readerid", "rater"),
        *("rater_id", "worker", "worker_id", "performer", "labeller", "labeler", "expert", "user"),
    ),
    "annotator_group": ("annotator_group", "annotator_site", "reader_group", "reader_site"),
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

NAMES = ("case", "annotator", "annotator_group", "annotation", "condition", "group", "unranked", "kind_of_question")
NUMBERS = ("rank", "confidence", "score", "weight", "votes", "case_weight")

# What an integer label looks like, also where a missing value has turned it into a float.
INTEGER = r"^\s*[+-]?\d+(\.0*)?\s*$"
EXPECTED_RANK = "1 for the best, then larger numbers; equal ranks are ties, gaps do not matter"
EXPECTED_VOTES = "how many annotators gave the opinion: a whole number, 0 for none"
EXPECTED_CONFIDENCE = "a higher number for a better condition; 0 or an empty cell if it is not mentioned"

# Roles of an opinion, which a row without votes does not hold.
SAID = ("annotator", "annotator_group", "annotation", "condition", "rank", "confidence", "score", "weight")

# The name that stands for no column of cases: every row is a case, numbered from 1.
ROW_NUMBER = "row-number"

# A column that keeps the number of each row where rows are split or left out; missing if rows are made up.
ROW = "row number in the source"


# Names by which a column of scores is recognised.
SCORE_NAMES = ("score", "rating", "toxicity_score")

# Names by which nothing but a column of findings goes.
ONLY_FINDINGS = ("finding", "findings", "finding_name")
FINDING_NAMES = (*ONLY_FINDINGS, *ALIASES["condition"])
# The roles of the columns of ratings and of checklists, and the names by which they are recognised.
RATING_ALIASES = {role: ALIASES[role] for role in ("case", "annotator", "annotator_group", "weight", "votes", "group")}
RATING_ALIASES["score"] = SCORE_NAMES
ROLES = ("case", "annotator", "annotator_group", "annotation", "weight", "votes", "group", "case_weight")
CHECKLIST_ALIASES: dict[str, tuple[str, ...]] = {
    **{role: ALIASES[role] for role in ROLES},
    "condition": FINDING_NAMES,
    "present": ("present", "is_present", "presence", "answer", "value"),
}

# The names of columns, and those that are needed, where annotators gave numbers or findings.
OF_QUESTION: dict[str, tuple[Aliases, tuple[str, ...]]] = {
    "numbers": (RATING_ALIASES, ("case", "score")),
    "findings": (CHECKLIST_ALIASES, ("case", "condition")),
}

# What the words of a cell say about a finding.
SAYS = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "t", "present", "positive"), PRESENT),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "f", "absent", "negative"), ABSENT),
    **dict.fromkeys(("", "nan", "not assessed"), NOT_ASSESSED),
}

SAID_NOTHING = "checklists that say {!r}"
EXPECTED_ANSWER = "1, yes, true or present; 0, no, false or absent; an empty cell if it was not assessed"
GIVE_CONDITIONS = (
    "give the list (conditions=[...], --conditions FILE with one name per line), or say that the numbers are grades "
    "(--question grades)"
)


# The code of each row, and the names by code.
Codes: TypeAlias = "tuple[IntArray, tuple[str, ...]]"


def normalised(name: str) -> str:
    """Fold a column name so that spelling variants compare equal."""
    return name.strip().lstrip("\ufeff").casefold().replace(" ", "_").replace("-", "_").replace(".", "_")


def find_columns(
    names: Sequence[str], given: Said, *, aliases: Aliases = ALIASES, required: Sequence[str] = ("case", "condition")
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
    missing = [role for role in required if role not in found]
    if missing:
        raise missing_column(missing, aliases, names)
    return found


def without_second_order(roles: Mapping[str, str], given: Said, confidence: Confidence | None = None) -> dict[str, str]:
    """Settle which column orders the conditions: the one asked for, else the rank before the confidence.

    To say what confidences are used for is to ask for them.
    """
    if confidence is not None and "confidence" in roles:
        given = {**given, "confidence": roles["confidence"]}
    if given.get("rank") is not None and given.get("confidence") is not None:
        expected = "one of them to order the conditions of a ranking"
        got = f"rank={given['rank']!r}, confidence={given['confidence']!r}"
        raise DissensusError("a rank column and a confidence column are both asked for", expected=expected, got=got)
    if "rank" not in roles or "confidence" not in roles:
        return dict(roles)
    spare = "rank" if given.get("confidence") is not None else "confidence"
    return {role: column for role, column in roles.items() if role != spare}


def missing_column(roles: Sequence[str], aliases: Aliases, names: Sequence[str], got: str = "") -> DissensusError:
    """Build the error for a table that lacks columns, one or several; it got its columns, or what is said of one."""
    usual = (f"{role} ({', '.join(map(repr, aliases[role][:4]))} or the like)" for role in roles)
    said = " ".join(f"--column {role}=NAME" for role in roles)
    unnamed = f"; number the rows where nothing names the cases (--case {ROW_NUMBER})" if "case" in roles else ""
    return DissensusError(
        f"the table has no {' and no '.join(roles)} column",
        expected=f"a column for the {' and for the '.join(usual)}",
        got=got or f"columns {listing(names, most=12)}",
        advice=f"rename columns, or say which it is: {said} (columns={{{roles[0]!r}: NAME}}){unnamed}",
    )


def refuse_repeated_cases(names: Sequence[str], what: str = "row", *, advice: str = "", where: str = "") -> None:
    """Refuse that a case has several rows, or records, where each has one."""
    again = ~pl.Series(names, dtype=pl.String).is_first_distinct()
    if again.any():
        row = again.arg_max() or 0
        got = f"{what}s {names.index(names[row]) + 1} and {row + 1}; {again.sum()} repeated in all"
        problem, expected = f"case {names[row]!r} stands in several {what}s", f"one {what} per case"
        raise DissensusError(problem, expected=expected, got=got, advice=advice, where=where)


def one_row_each(table: pl.DataFrame, advice: str = "") -> list[str]:
    """Return the name of the case of every row, all different, or say which row has none or that of another."""
    nameless, expected = table["case"].is_null() | (table["case"] == ""), "the name of a case in every row"
    refuse_rows(table, nameless, "case", "a row has no case", expected=expected)
    names = table["case"].to_list()
    refuse_repeated_cases(names, advice=advice)
    return names


def with_roles(table: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """Keep the columns that have a role, under the role's name."""
    return table.select(pl.col(column).alias(role) for role, column in roles.items())


@checked
def study_from_table(
    table: pl.DataFrame,
    conditions: Sequence[str] | None = None,
    *,
    tie_separator: str | None = None,
    unranked: Unranked | None = None,
    duplicates: Duplicates = "refuse",
    confidence: Confidence | None = None,
    question: AnyQuestion | None = None,
    positive: str | None = None,
) -> tuple[Study, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles, with notes on its rows.

    *Rankings*: rows without a condition are abstentions, and rows with a case alone are unannotated cases; so are rows
    with 0 votes, whose conditions are known nevertheless. In a table that numbers its annotations and has ranks, as the
    canonical one does, rows that hold nothing but a condition or nothing but an annotator declare names. Names that
    are numbers are in the order of the question, if there is one, where nothing else gives their order.

    *Ratings* have a ``score``; a missing one is no rating. *Checklists*: one with any row has assessed every finding; a
    row without a finding says that nothing was found, and rows whose ``present`` is empty say that their finding was
    not assessed. Rows with a case alone are cases that nobody assessed, unless there is no column of annotators: then
    the rows of a case are the checklist of one.

    Examples
    --------
    >>> study_from_table(pl.DataFrame({"case": ["x"], "score": [3.0]}))[0]
    Ratings: 1 case, 1 rating from 3 to 3
    """
    check_choice("duplicates", duplicates, get_args(Duplicates))
    question = question or ("numbers" if "score" in table.columns else None)
    question = question or ("findings" if "present" in table.columns else None)
    table = tidied(table, None if question == "numbers" else tie_separator)
    meaning, declared_question = unranked or _declared(table, "unranked"), _declared(table, "kind_of_question")
    table, declared = without_declarations(table)
    known = tuple(map(str, conditions)) if conditions is not None else declared.get("condition")
    asked = None
    if question != "numbers" and question != "findings":
        asked = chosen_question(question, positive) or declared_question
    are_named, are_findings = asked in ("binary", "grades"), question == "findings"
    with ThreadPoolExecutor(1) as pool:  # columns are coded while rows are gathered
        naming = pool.submit(name_codes, table, "annotator", declared.get("annotator"))
        if question != "numbers":
            labelling = pool.submit(label_codes, table, known, are_named=are_named, are_findings=are_findings)
        cases, annotators = case_codes(table["case"]), naming.result()
        try:
            table, notes = without_zero_votes(table)
            panel, opinion = gathered(table, cases, annotators, question)
        finally:  # what is wrong with labels is said first
            codes, names = labelling.result() if question != "numbers" else (np.empty(0, dtype=np.int64), ())
    if question == "numbers":
        scored = np.argsort(opinion, kind="stable")[int((opinion < 0).sum()) :]
        return Study((), panel, scores=table["score"].to_numpy()[scored], question="numbers"), notes
    if are_findings:
        answers, repeated = _answers(table, panel, opinion, (codes, names), duplicates)
        return Study(names, panel, answers=answers, question="findings"), notes + repeated
    rank, mentioned, silent = _order(table, confidence)
    notes += silent
    if not mentioned.all():
        opinion, rank, codes = opinion[mentioned], rank[mentioned], codes[mentioned]
    if duplicates != "refuse":
        again, repeated = without_repeats(names, panel, opinion, codes, duplicates, rank)
        notes += repeated
        opinion, rank, codes = np.delete(opinion, again), np.delete(rank, again), np.delete(codes, again)
    said = assemble(names, panel, opinion, rank, codes, meaning or "below")
    if confidence == "share":
        said, shared = soft_votes(said, -rank[np.lexsort((codes, rank, opinion))])
        notes += shared
    are_ordered = conditions is not None or (asked == declared_question and known is not None)
    return asked_of(said, asked, positive, are_ordered=are_ordered), notes


# Tidying ----------------------------------------------------------------------------------------------


def tidied(table: pl.DataFrame, tie_separator: str | None = None) -> pl.DataFrame:
    """Return names as text and numbers as floats, with blank cells as missing."""
    names = [role for role in NAMES if role in table.columns]
    if "case" not in names:
        raise DissensusError("the table has no column called case", got=listing(table.columns))
    table = table.with_columns(_tidied_column(table, role) for role in names)
    if tie_separator == "":
        raise DissensusError("the tie separator is empty", expected="the text between tied conditions")
    if tie_separator is not None:
        table = numbered(table).with_columns(pl.col("condition").str.split(tie_separator))
        table = table.explode("condition", empty_as_null=True, keep_nulls=True)
        table = table.with_columns(pl.col("condition").str.strip_chars())
    blank = [role for role in names if (table[role] == "").any()]
    table = table.with_columns(pl.col(role).replace("", None) for role in blank)
    return table.with_columns(_tidied_column(table, role) for role in NUMBERS if role in table.columns)


def _tidied_column(table: pl.DataFrame, role: str) -> pl.Series:
    """Return names as text, and numbers as numbers, also those that were written as text."""
    column, is_name = table[role], role in NAMES
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DissensusError(
            f"the {role.replace('_', ' ')} column holds more than one value per row",
            expected=f"a {'name' if is_name else 'number'} in every row",
            got=f"{column.dtype}, for example {column.head(1).to_list()[0]!r:.60}",
            advice="give every value a row of its own" if role == "condition" else "",
        )
    if not is_name:
        column = column.str.strip_chars().replace("", None) if column.dtype == pl.String else column
        number = column.cast(pl.Float64, strict=False)
        wrong = number.is_null() & column.is_not_null()
        refuse_rows(table, wrong, role, f"a {in_words(role)} is not a number", expected="a number")
        return number
    if column.dtype.is_float():  # a missing value turns whole numbers into floats
        refuse_rows(table, ~column.is_finite(), role, f"the {role} of a row is not a name")
        problem = f"the {role} of a row is too large a number to be sure of"
        refuse_rows(table, column.abs() > MOST_VOTES, role, problem, expected=f"text, or a number up to {MOST_VOTES}")
        if (column.drop_nulls() == column.drop_nulls().round()).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String)


def in_words(role: str) -> str:
    """Return the name of a role in the singular.

    >>> in_words("votes"), in_words("case_weight")
    ('number of votes', 'case weight')
    """
    return "number of votes" if role == "votes" else role.replace("_", " ")


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
        shared, expected = (votes > 1) & table["annotator"].is_not_null(), "votes only where annotators have no names"
        advice = "if the number says how much an opinion counts, it is a weight: --column weight=NAME (weight=NAME)"
        problem = "an annotator with a name has one vote"
        refuse_rows(table, shared, "votes", problem, expected=expected, advice=advice)
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
            f"{role!r} must be one word for the whole study", expected=" or ".join(map(repr, known)), got=listing(found)
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


def case_codes(column: pl.Series) -> Codes:
    """Give the cases, each of which has a name, numbers in order of appearance."""
    codes = column.rle_id().to_numpy().astype(np.int64)
    named = column.filter(begins_run(codes))
    if (named[1:] > named[:-1]).all() or named.n_unique() == len(named):
        names = tuple(named.to_list())
    else:
        codes, names = name_codes(pl.DataFrame({"case": column}), "case")
    different_names.add(names)  # so that nobody has to look again
    texts.add(names)
    return codes, names


def categories(column: pl.Series) -> tuple[pl.Series, pl.Series, list[str]]:
    """Return a column of text as categories of its own, and the different ones in order of appearance, as text too."""
    category = column.cast(pl.Categorical(pl.Categories.random()))
    present = category.drop_nulls().unique(maintain_order=True)
    return category, present, present.cast(pl.String).to_list()


def numbers_of(category: pl.Series, present: pl.Series, numbers: Sequence[int]) -> IntArray:
    """Return the number of the category in each row, -1 where there is none; ``numbers`` are of those present."""
    number_of = np.full(len(present) + 1, ANONYMOUS, dtype=np.int64)
    number_of[present.to_physical().to_numpy()] = numbers
    return np.asarray(number_of[category.to_physical().fill_null(len(present)).to_numpy()])


def name_codes(table: pl.DataFrame, role: str, declared: tuple[str, ...] | None = None) -> Codes:
    """Give the names of a role numbers, declared ones first, then as they appear; -1 where there is none."""
    if role not in table.columns:
        return np.full(len(table), ANONYMOUS, dtype=np.int64), declared or ()
    category, present, found = categories(table[role])
    names = tuple(dict.fromkeys([*(declared or ()), *found]))
    number = {name: code for code, name in enumerate(names)}
    return numbers_of(category, present, [number[name] for name in found]), names


def label_codes(
    table: pl.DataFrame, known: tuple[str, ...] | None, *, are_named: bool = False, are_findings: bool = False
) -> Codes:
    """Give conditions numbers as listed, or in alphabetical order, findings as they appear; -1 where there is none.

    Integers stand for names that must be listed, unless they are names themselves, as grades are.
    """
    category, present, labels = categories(table["condition"])
    integers = bool(labels) and bool(pl.Series(labels).str.contains(INTEGER).all())
    if known is None:
        if integers and not are_named and not {*labels} == {"0", "1"}:
            raise integers_need_names(sorted(labels))
        known = tuple(labels if are_findings else sorted(labels))
    code_of = {name: code for code, name in enumerate(known)}
    if integers and code_of.keys().isdisjoint(labels):
        code_of = {label: int(float(label)) for label in labels if 0 <= float(label) < len(known)}
    unknown = sorted(label for label in labels if label not in code_of)
    if unknown:
        row = (table["condition"] == unknown[0]).arg_max() or 0
        what = "finding" if are_findings else "condition"
        raise unknown_condition(unknown[0], known, place(table, row), what)
    return numbers_of(category, present, [code_of[label] for label in labels]), known


def integers_need_names(labels: Sequence[str], advice: str = GIVE_CONDITIONS) -> DissensusError:
    """Build the error for integer labels that come without the names they stand for."""
    expected = "the names of the conditions in the order of their codes"
    got = f"labels {listing(labels)} without a list"
    return DissensusError("integer labels need a list of conditions", expected=expected, got=got, advice=advice)


# Rankings ---------------------------------------------------------------------------------------------


def gathered(
    table: pl.DataFrame, cases: Codes, annotators: Codes, question: AnyQuestion | None
) -> tuple[Panel, IntArray]:
    """Gather the rows of each opinion: the panel that gave them, and the opinion of each row, -1 where there is none.

    Opinions are in order of case, then of appearance.
    """
    case, case_names = cases
    of_row, first = _runs(_opinion_keys(table, case, annotators, question), case)
    groups: tuple[str, ...] = ()
    if "group" in table.columns and table["group"].null_count() < len(table):
        problem, expected = "a case has no group although others have one", "a group for every case, or for none"
        advice = "give a case that stands alone a group of its own"
        refuse_rows(table, table["group"].is_null(), "group", problem, expected=expected, advice=advice)
        group, names = name_codes(table, "group")
        groups = tuple(names[code] for code in _constant(table, "group", group, case))
    panel = Panel(
        case_names,
        offsets_from_lengths(np.bincount(case[first], minlength=len(case_names))),
        annotators[0][first],
        annotators[1],
        weights=repeated_number(table, "weight", of_row),
        groups=groups,
        case_weights=repeated_number(table, "case_weight", case),
        votes=repeated_number(table, "votes", of_row).astype(np.int64),
        annotator_groups=_annotator_groups(table, annotators),
    )
    return panel, of_row


def _annotator_groups(table: pl.DataFrame, annotators: Codes) -> tuple[str, ...]:
    """Return the group of each annotator, if there are groups; one who says nothing stands alone."""
    if "annotator_group" not in table.columns or table["annotator_group"].null_count() == len(table):
        return ()
    codes, names = annotators
    group, known = name_codes(table, "annotator_group")
    nobody, expected = pl.Series((codes >= 0) != (group >= 0)), "an annotator and a group in every row with an opinion"
    refuse_rows(table, nobody, "annotator_group", "an annotator or their group is missing", expected=expected)
    own = _constant(table, "annotator_group", group, codes)
    of_annotator = dict(zip(np.unique(codes[codes >= 0]).tolist(), own.tolist(), strict=True))
    return tuple(known[of_annotator[code]] if code in of_annotator else name for code, name in enumerate(names))


def _opinion_keys(table: pl.DataFrame, case: IntArray, annotators: Codes, question: AnyQuestion | None) -> IntArray:
    """Give the rows of one opinion one key, ascending with the case where rows are tied to it; -1 for no opinion.

    Every score is an opinion. Where there is neither a column of annotators nor one of annotations, so is every row
    without an order, and the rows of a case are one ranking or one checklist.
    """
    if question == "numbers":
        return np.where(table["score"].is_not_null(), np.arange(len(case)), -1)
    named = [role for role in ("annotator", "annotation") if role in table.columns]
    if question == "findings" and not named:
        return case
    nobody = _all_null(table, [*named, "condition"])
    if not named:
        anonymous = "rank" in table.columns or "confidence" in table.columns
        return np.where(nobody, -1, case if anonymous else np.arange(len(case), dtype=np.int64))
    key = case * (len(annotators[1]) + 1) + 1
    key += annotators[0]
    if "annotation" in table.columns:
        annotation, names = name_codes(table, "annotation")
        key = key * (len(names) + 1) + annotation + 1
    orphan, expected = pl.Series(_all_null(table, named) & ~nobody), "an annotator in every row with a condition"
    advice = "name the annotator, or number the annotations of each case in a column 'annotation'"
    refuse_rows(table, orphan, named[0], "a row has no annotator", expected=expected, advice=advice)
    return np.where(nobody, -1, key) if nobody.any() else key


def _all_null(table: pl.DataFrame, roles: Sequence[str]) -> np.ndarray:
    if any(not table[role].null_count() for role in roles):
        return np.zeros(len(table), dtype=np.bool_)
    return table.select(pl.all_horizontal(pl.col(roles).is_null())).to_series().to_numpy()


def _runs(key: IntArray, case: IntArray) -> tuple[IntArray, IntArray]:
    """Return the opinion of each row, -1 where there is none, and the first row of each; a key is that of one case."""
    begins = begins_run(key)
    first, of_row = np.flatnonzero(begins), np.cumsum(begins) - 1
    is_whole = begins_run(np.sort(key[first], kind="stable")).all()  # fast where keys nearly ascend
    if not is_whole or not (np.diff(case[first]) >= 0).all():  # rows are scattered
        present, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        order = np.lexsort((first, case[first]))
        position = np.empty(len(present), dtype=np.int64)
        position[order] = np.arange(len(present))
        first, of_row = first[order], position[of_row]
    real = key[first] != -1
    if real.all():
        return of_row, first
    return np.where(real, np.cumsum(real) - 1, -1)[of_row], first[real]


def _order(table: pl.DataFrame, confidence_as: Confidence | None) -> tuple[FloatArray, np.ndarray, tuple[Note, ...]]:
    """Return a number per row that is smaller for better conditions, which rows mention one, and what others are.

    The number is the rank, or minus the confidence, of which 0 mentions nothing.
    """
    if confidence_as is not None:
        check_choice("confidence", confidence_as, get_args(Confidence))
        if "confidence" not in table.columns:
            expected = "a column 'confidence', or one that is named (--column confidence=NAME)"
            got = f"columns {listing((name for name in table.columns if name != ROW), most=12)}"
            raise DissensusError("there are no confidences to use", expected=expected, got=got)
    named = table["condition"].is_not_null()
    if "rank" in table.columns:
        rank = table["rank"]
        refuse_rows(table, rank.is_not_null() & ~named, "rank", "a row has a rank but no condition")
        wrong = named & ~rank.is_between(0, np.inf, closed="none").fill_null(False)
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


# Properties of rankings and cases that every row repeats ------------------------------------------------


def repeated_number(table: pl.DataFrame, role: str, ids: IntArray) -> FloatArray:
    """Return the number of each id, which all its rows must repeat; empty where there is no such column."""
    if role not in table.columns:
        return np.empty(0)
    wrong = (table[role] < 0) | ~table[role].is_finite()
    refuse_rows(table, wrong, role, f"a {role.replace('_', ' ')} is not a finite number, zero or more")
    return _constant(table, role, table[role].fill_null(1.0).to_numpy(), ids)


def _constant(table: pl.DataFrame, role: str, values: np.ndarray, ids: IntArray) -> np.ndarray:
    """Return the value of each id, -1 is none, or say where it changes."""
    present, first, own = np.unique(ids, return_index=True, return_inverse=True)
    differs = (ids >= 0) & (values != values[first][own])
    if differs.any():
        row, what = int(differs.argmax()), in_words(role)
        whole = {"weight": "ranking", "votes": "ranking", "annotator_group": "annotator"}.get(role, "case")
        raise DissensusError(
            f"the {what} changes within one {whole}",
            expected=f"one {what} for all rows of a {whole}",
            got=repr(table[role][row]),
            where=place(table, row),
        )
    return values[first[present >= 0]]


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
        expected = "the name that says that nothing was found, as it stands among the findings"
        advice = "leave it out if every checklist has a finding, or correct the name"
        raise DissensusError(f"no checklist says {nothing!r}", expected=expected, advice=advice)


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
        raise DissensusError(
            f"the answer for {finding!r} is not understood",
            expected=EXPECTED_ANSWER,
            got=repr(table[role][row]),
            where=place(table, row),
            advice="write 1 or 0, or leave the cell empty where the finding was not assessed; if "
            f"{finding!r} is no finding, leave it out (--ignore) or list the findings (--conditions)",
        )
    return answers.to_numpy()


def _answers(
    table: pl.DataFrame, panel: Panel, opinion: IntArray, findings: Codes, duplicates: Duplicates
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Write the answers of each checklist about each finding; without a column that says so, named ones are present."""
    says = answers_of_cells(table, "present") if "present" in table.columns else np.full(len(table), PRESENT)
    named = table["condition"].is_not_null().to_numpy() & (opinion >= 0)
    row, (codes, names) = np.flatnonzero(named), findings
    kept: Duplicates = "first" if duplicates == "first" else "refuse"
    again, notes = without_repeats(names, panel, opinion[row], codes[row], kept, nouns=ANSWER)
    row = np.delete(row, again)
    answers = np.full((panel.n_opinions, len(names)), ABSENT, dtype=np.int8)
    answers[opinion[row], codes[row]] = says[row]
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
