"""One probability per case, for studies of two conditions: the other condition has the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.predictions.frames import ALIASES, case_column, predictions_from_wide
from dissensus.study.tables import normalised, refuse_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dissensus.predictions.lists import Predictions

SCORES = (*ALIASES["score"], "p")


def probability_column(
    table: pl.DataFrame, conditions: Sequence[str] | None, columns: Mapping[str, str | None]
) -> str | None:
    """Find the one column beside the cases: named like one of two conditions, or like a score."""
    known = set(conditions or ())
    case = case_column(table, conditions, given=columns.get("case"))
    others = [column for column in table.columns if column != case]
    if len(others) != 1 or columns.get("score") not in (None, others[0]):
        return None
    is_named = others[0] in known and len(known) == 2
    is_score = normalised(others[0]) in SCORES or columns.get("score") == others[0]
    return others[0] if is_named or (is_score and others[0] not in known) else None


def predictions_from_probabilities(
    table: pl.DataFrame,
    conditions: Sequence[str] | None,
    *,
    columns: Mapping[str, str | None],
    positive: str | None,
    name: str,
    case_names: Sequence[str] | None,
) -> Predictions:
    """Build scores of both conditions from the probability of one.

    Examples
    --------
    >>> table = pl.DataFrame({"case": ["c1"], "prob": [0.75]})
    >>> said = predictions_from_probabilities(
    ...     table, ["Nevus", "Melanoma"], columns={}, positive="Melanoma", name="A", case_names=None)
    >>> said.align(["c1"], ["Nevus", "Melanoma"]).to_scores()
    array([[0.25, 0.75]])
    """
    column = probability_column(table, conditions, columns)
    count = "no list of" if conditions is None else len(conditions)
    if column is None or conditions is None or len(conditions) != 2:
        raise DissensusError(
            "one score per case is enough for two conditions only",
            expected="a study of two conditions, or a score for each condition",
            got=f"{count} conditions, columns {listing(table.columns)}",
            advice="write a row per case and condition (case, condition, score), or a column per condition",
        )
    chosen = _positive(column, tuple(conditions), positive)
    other = next(condition for condition in conditions if condition != chosen)
    case = case_column(table, conditions, given=columns.get("case"))
    share = _probabilities(table, column)
    cases = [] if case is None else [table[case]]
    both = pl.DataFrame([*cases, share.alias(chosen), (1 - share).alias(other)])
    return predictions_from_wide(both, conditions, case=case, kind="scores", name=name, case_names=case_names)


def _positive(column: str, conditions: tuple[str, ...], positive: str | None) -> str:
    """Tell the condition whose probability a column holds."""
    if column in conditions and positive in (None, column):
        return column
    if column in conditions:
        raise DissensusError(
            f"the column {column!r} is said to hold the probability of {positive!r}",
            expected=f"positive={column!r}, or nothing",
            advice="rename the column, or leave --positive out",
        )
    if positive is None:
        one, other = conditions
        raise DissensusError(
            f"the column {column!r} does not say whose probability it is",
            expected=f"--positive {one!r} (0.9 means 0.9 for {one!r}, 0.1 for {other!r}) or --positive {other!r}",
            got="no word",
            advice=f"say positive={one!r} or positive={other!r} (--positive), or call the column like the condition",
        )
    if positive not in conditions:
        raise DissensusError(
            f"there is no condition {positive!r}",
            expected=f"one of {listing(conditions)}",
            advice=suggestion(positive, conditions),
        )
    return positive


def _probabilities(table: pl.DataFrame, column: str) -> pl.Series:
    numbers = table[column].cast(pl.Float64, strict=False)
    shown = table.with_columns(table[column].alias("probability"))
    wrong = ~(numbers.is_between(0, 1)).fill_null(False)
    refuse_rows(
        shown,
        wrong,
        "probability",
        f"a number in the column {column!r} is not a probability",
        expected="a number from 0 to 1 in every row; the other condition has the rest",
        advice="give logits and other scores for both conditions, in a column each",
    )
    return numbers
