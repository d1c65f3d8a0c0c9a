"""Guesses about tables that could be wrong: each is an error which names the choices and how to confirm one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dissensus.core.errors import FormatError, listing
from dissensus.core.names import Aliases, Said
from dissensus.study.reading.format import Options
from dissensus.study.tables import ALIASES, normalised

# What a number looks like in a cell, with a decimal point or comma.
NUMBER = r"^\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*$"

DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?\s*$"

# A list or an object in a cell: in brackets or braces, with something quoted or separated, or nothing.
LIST = r"""(?s)^\s*(\[([^\[\]]*["',].*|\s*)\]|\{([^{}]*["',:].*|\s*)\})\s*$"""

# Names of columns that hold what is taken for true, rather than one annotator's opinion.
REFERENCES = frozenset(
    (
        *("truth", "ground_truth", "true_label", "y_true", "gold", "gold_label", "gold_standard", "reference"),
        *("reference_standard", "consensus", "majority", "majority_vote", "histology", "histopathology", "final_label"),
    )
)

# The share of an annotator's labels that others must use, too.
LEAST_SHARED = 0.1


# Numbers ------------------------------------------------------------------------------------------------


def holds_numbers(column: pl.Series) -> bool:
    """Tell whether every filled cell is a number, also as text and with a decimal comma.

    >>> holds_numbers(pl.Series(["0,5", None, "1"])), holds_numbers(pl.Series(["1", "x"]))
    (True, False)
    """
    return _all_like(column, NUMBER)


def _all_like(column: pl.Series, pattern: str) -> bool:
    if column.dtype.is_nested() or column.dtype == pl.Boolean:
        return False
    cells = column.cast(pl.String).drop_nulls()
    cells = cells.filter(cells.str.strip_chars() != "")
    return bool(len(cells)) and bool(cells.str.contains(pattern).all())


def refuse_numbers_without_role(table: pl.DataFrame, spare: Sequence[str], opinion: Sequence[str]) -> None:
    """Refuse columns of numbers that nobody asked for where an opinion, told by some columns, has several rows.

    A column that numbers the rows through several opinions is no order.
    """
    several, found = table.select(opinion).n_unique() > 1, []
    for name in (name for name in spare if holds_numbers(table[name])):
        numbers = table[name].cast(pl.Float64, strict=False)  # an index of a data frame counts from 0 or 1
        counts = len(numbers) > 1 and not numbers.null_count() and bool((numbers.diff()[1:] == 1).all())
        if not (several and counts and numbers[0] in (0, 1)):
            found.append(name)
    if not found:
        return
    verb = "holds numbers and has" if len(found) == 1 else "hold numbers and have"
    choices = ", ".join(f"--column {role}={found[0]}" for role in ("rank", "confidence", "weight", "votes"))
    ignored = " ".join(f"--ignore {name}" for name in found)
    raise FormatError(
        f"the column{'s' * (len(found) > 1)} {listing(found)} {verb} no role, and there are several rows per opinion",
        expected="a rank, a confidence, votes or a weight by one of their usual names, or word of what the numbers are",
        got=f"columns {listing(table.columns, most=12)}",
        advice=f"say which it is ({choices}), or that it does not matter ({ignored})",
    )


# Two columns for one role -------------------------------------------------------------------------------


def refuse_rivals(table: pl.DataFrame, found: Mapping[str, str], given: Said, aliases: Aliases = ALIASES) -> None:
    """Refuse two columns that could both have a role and do not say the same; the role's own name decides."""
    for role, chosen in found.items():
        if given.get(role) is not None or normalised(chosen).startswith(role):
            continue
        for rival in rivals_of(role, table.columns, found, aliases):
            numbers_rows = role == "case" and table[rival].n_unique() == len(table)
            counts = {table.select(names).n_unique() for names in ([chosen], [rival], [chosen, rival])}
            if not numbers_rows and len(counts) > 1:  # they divide the rows in different ways
                choices = f"--column {role}={chosen} or --column {role}={rival}"
                raise FormatError(
                    f"two columns could be the {role}",
                    expected="one of them",
                    got=f"{chosen!r} and {rival!r}, which do not say the same",
                    advice=f"say which it is: {choices} (columns={{{role!r}: ...}})",
                )


def rivals_of(role: str, names: Sequence[str], found: Mapping[str, str], aliases: Aliases = ALIASES) -> list[str]:
    """Name the columns that go by a usual name of a role which another column has."""
    free = [name for name in names if name not in found.values()]
    return [name for name in free if role in found and normalised(name) in aliases[role]]


# One column per annotator -------------------------------------------------------------------------------


def refuse_strangers(table: pl.DataFrame, case: str, annotators: Sequence[str], options: Options) -> None:
    """Refuse columns that do not look like annotators of one question, unless the format was said."""
    refuse_lists(table, annotators)
    if options.format_is_given:
        return
    labels = {name: labels_of(table[name]) for name in annotators}
    reasons = {name: reason for name in annotators if (reason := _oddity(name, table[name], options))}
    heard = {name: said for name, said in labels.items() if name not in reasons and len(said)}
    if _is_case_by_position(case, options):
        names = labels_of(table[case]).to_list()
        used = [annotator for annotator, said in heard.items() if said.is_in(names).any()]
        if used:
            raise _no_case_column(case, f"holds labels that {listing(used, most=3)} uses, too")
    reasons |= _without_shared_labels(table, heard, options)
    if reasons:
        told = [f"{name!r} {reason}" for name, reason in list(reasons.items())[:4]]
        more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
        ignored = " ".join(f"--ignore {name}" for name in list(reasons)[:4])
        choices = f"leave out what is no annotator ({ignored}), give it its role (--column group=NAME)"
        if len(annotators) == 1:
            choices = f"say that {annotators[0]!r} holds conditions (--column condition={annotators[0]})"
        raise FormatError(
            "the columns do not look like annotators of one question",
            expected="one column per annotator, with conditions that other annotators use, too",
            got="; ".join(told) + more,
            advice=f"{choices}, or confirm that every column is an annotator (--format wide)",
        )


def _is_case_by_position(case: str, options: Options) -> bool:
    """Tell a column that was taken for the cases because it is the first."""
    return bool(case) and normalised(case) not in ALIASES["case"] and options.columns.get("case") is None


def _no_case_column(case: str, why: str) -> FormatError:
    return FormatError(
        "the table has no case column",
        expected=f"a column named {', '.join(map(repr, ALIASES['case'][:4]))} or the like",
        got=f"the first column, {case!r}, {why}",
        advice=f"say which column names the cases: --column case=NAME ({case} if it is this one)",
    )


def labels_of(column: pl.Series) -> pl.Series:
    """Return every label in the cells of a column, taken out of rankings such as ``a>b=c``."""
    if column.dtype.is_nested():
        return pl.Series([], dtype=pl.String)
    cells = column.cast(pl.String).drop_nulls().str.replace_all("=", ">").str.split(">").explode()
    labels = cells.str.strip_chars().str.to_lowercase()
    return labels.filter(labels != "").drop_nulls()


def _oddity(name: str, column: pl.Series, options: Options) -> str:
    if normalised(name) in REFERENCES:
        return "is called like a reference, not like an annotator"
    if options.conditions is None and holds_numbers(column):
        return "holds numbers"
    return "holds dates" if _all_like(column, DATE) else ""


def _without_shared_labels(table: pl.DataFrame, heard: Mapping[str, pl.Series], options: Options) -> dict[str, str]:
    """Find the columns whose labels nobody else uses; rankings such as ``a>b`` speak for themselves.

    A column of few labels may share none by chance, where every annotator saw a few of the cases only.
    """
    if options.conditions is not None:
        known = [name.strip().lower() for name in options.conditions]
        strange = [name for name, labels in heard.items() if not labels.is_in(known).any()]
        return dict.fromkeys(strange, "holds none of the given conditions")
    ranked = {name for name in heard if table[name].cast(pl.String).str.contains(">").any()}
    if not heard:
        return {}
    if len(heard) == 1 and not ranked:
        return dict.fromkeys(heard, "stands alone: nobody else uses its labels")
    groups = columns_by_shared_labels(heard, ranked)
    strange = [name for group in groups[1:] for name in group]
    if len(groups) > 1 and len(groups[0]) == 1 and not ranked:
        strange = list(heard)
    elif strange and len(groups[0]) > 2:
        said = pl.concat(heard[other] for other in groups[0])
        alone = 1 - int(said.is_duplicated().sum()) / len(said)
        if np.median([len(heard[other]) for other in groups[0]]) / len(table) < 0.5:
            strange = [name for name in strange if alone ** len(heard[name]) < 0.05]
    reasons = {}
    for name in strange:
        others = [other for group in groups if name not in group for other in group]
        reasons[name] = "shares hardly a label with the others"
        if len(heard[name]) >= 10 and heard[name].n_unique() > 0.8 * len(heard[name]):
            reasons[name] = "holds free text, nearly all of it different"
        elif others:
            reasons[name] = f"shares no labels with {listing([other for other in heard if other in others], most=3)}"
    return reasons


def columns_by_shared_labels(heard: Mapping[str, pl.Series], ranked: set[str]) -> list[list[str]]:
    """Put columns together that share labels, rankings or else the largest group first; rankings belong together.

    >>> heard = {"Ann": pl.Series(["a", "b"]), "Bo": pl.Series(["b", "c"]), "sex": pl.Series(["f", "m"])}
    >>> columns_by_shared_labels(heard, set())
    [['Ann', 'Bo'], ['sex']]
    """
    pairs = pl.concat(pl.DataFrame({"label": labels, "column": [name] * len(labels)}) for name, labels in heard.items())
    users = pairs.unique().group_by("label").agg("column").filter(pl.col("column").list.len() > 1)
    shared = pairs.with_columns(pl.col("label").is_in(users["label"].to_list()).alias("shared"))
    share = dict(shared.group_by("column").agg(pl.col("shared").mean()).iter_rows())
    joined = {name for name in heard if share.get(name, 0.0) >= LEAST_SHARED}
    links = [[name for name in names if name in joined] for names in users["column"].to_list()]
    group = {name: name for name in heard}
    for linked in (*links, sorted(ranked)):
        olds = {group[name] for name in linked}
        if len(olds) > 1:
            group = {name: min(olds) if old in olds else old for name, old in group.items()}
    groups = [[name for name in heard if group[name] == one] for one in dict.fromkeys(group.values())]
    return sorted(groups, key=lambda group: (ranked.isdisjoint(group), -len(group)))


def refuse_lists(table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Refuse cells that hold several values where one label should be."""
    names = [
        name
        for name in columns
        if table[name].dtype.is_nested()
        or (table[name].dtype == pl.String and table[name].unique().str.contains(LIST).any())
    ]
    if names:
        raise FormatError(
            "cells hold lists or objects",
            expected="one label per cell",
            got=f"lists in the column{'s' * (len(names) > 1)} {listing(names)}",
            advice=f"give every label a row of its own (the long form), or leave the column out (--ignore {names[0]})",
        )


# Codes --------------------------------------------------------------------------------------------------


def refuse_findings(table: pl.DataFrame, case: str, annotators: Sequence[str], options: Options) -> None:
    """Refuse columns of codes that look like findings or votes rather than annotators, unless the format was said."""
    if options.format_is_given or options.conditions is None:
        return
    known = {normalised(name) for name in options.conditions}
    alike = [name for name in annotators if normalised(name) in known]
    codes = {code for name in annotators for code in _codes(table[name])}
    references = [name for name in annotators if normalised(name) in REFERENCES]
    got = ""
    if alike:
        got = f"columns that are called like conditions: {listing(alike)}"
    elif codes <= {0.0, 1.0} and len(options.conditions) > 2:
        got = f"nothing but 0 and 1, although there are {len(options.conditions)} conditions"
    elif references:
        got = f"columns that are called like a reference, not like an annotator: {listing(references)}"
    if got:
        raise FormatError(
            "the columns may be findings rather than annotators",
            expected="one column per annotator, whose cells are codes of conditions",
            got=got,
            advice="say which it is: --format cleanlab if every column is an annotator and every cell the code of a "
            "condition, --format counts if every column is a condition and every cell a number of votes; if every cell "
            "tells whether a finding is there, write a row per finding (the long form: case, condition)",
        )
    if _is_case_by_position(case, options) and _codes(table[case]) <= set(map(float, range(len(options.conditions)))):
        raise _no_case_column(case, "which could hold the codes of an annotator")


def _codes(column: pl.Series) -> set[float | None]:
    return set(column.drop_nulls().cast(pl.Float64, strict=False).unique().to_list())
