"""Long tables: what they answer, and from a row per score to ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import AnyQuestion, Confidence
from dissensus.core.errors import DissensusError
from dissensus.core.notes import Note
from dissensus.core.ragged import offsets_from_lengths
from dissensus.study.opinions import Moments as Moments
from dissensus.study.opinions import weighted_medians as weighted_medians
from dissensus.study.panel import Panel
from dissensus.study.study import Ratings as Ratings
from dissensus.study.study import Study

if TYPE_CHECKING:
    import polars as pl

SCORE_NAMES = ("score", "rating", "toxicity_score")
"""Names by which a column of scores is recognised."""

FINDING_NAMES = ("finding", "findings", "finding_name")
"""Names by which nothing but a column of findings goes."""


def question_of_table(columns: Sequence[str]) -> AnyQuestion | None:
    """Tell from its columns what a long table answers: numbers or findings only if it has no conditions."""
    from dissensus.study.tables import ALIASES, normalised

    known = set(map(normalised, columns))
    if known.intersection(ALIASES["condition"]):
        return None
    if known.intersection(FINDING_NAMES):
        return "findings"
    return "numbers" if known.intersection(SCORE_NAMES) else None


def roles_of_table(
    table: pl.DataFrame,
    columns: Mapping[str, str | None],
    question: AnyQuestion | None,
    confidence: Confidence | None = None,
) -> dict[str, str]:
    """Find the column of each role in a table that answers a question."""
    from dissensus.study.tables import CHECKLIST_ALIASES, find_columns, without_second_order

    if question == "numbers":
        return roles_of_ratings(table, columns)
    if question == "findings":
        return find_columns(table.columns, columns, aliases=CHECKLIST_ALIASES)
    return without_second_order(find_columns(table.columns, columns), columns, confidence)


def roles_of_ratings(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """Find the column of each role in a table of ratings."""
    from dissensus.study import tables

    aliases = {role: tables.ALIASES[role] for role in ("case", "annotator", "weight", "votes", "group")}
    aliases["score"] = SCORE_NAMES
    return tables.find_columns(table.columns, columns, aliases=aliases, required=("case", "score"))


def ratings_from_roles(table: pl.DataFrame) -> tuple[Study, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles, with notes on its rows."""
    from dissensus.study import tables

    table, notes = tables.without_zero_votes(tables.tidied(table))
    if not len(table):
        raise DissensusError("the table has no rows", expected="at least one row below the header")
    tables.refuse_rows(table, table["case"].is_null(), "case", "a row has no case")
    case, names = tables.case_codes(table["case"])
    annotator, annotator_names = tables.name_codes(table, "annotator")
    order = np.argsort(case, kind="stable")
    order = order[table["score"].is_not_null().to_numpy()[order]]
    weights = table["weight"].fill_null(1.0).to_numpy()[order] if "weight" in table.columns else np.empty(0)
    votes = table["votes"].fill_null(1.0).to_numpy()[order] if "votes" in table.columns else np.empty(0)
    panel = Panel(
        case_names=names,
        opinion_offsets=offsets_from_lengths(np.bincount(case[order], minlength=len(names))),
        annotators=annotator[order],
        annotator_names=annotator_names,
        weights=weights,
        groups=tables.case_groups(table, case),
        votes=votes.astype(np.int64),
    )
    return Study((), panel, scores=table["score"].fill_null(0.0).to_numpy()[order], question="numbers"), notes
