"""Tables of one confidence per case and annotator: how sure they are that the positive one of two conditions holds."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.study.reading.format import Options
from dissensus.study.tables import ROW, find_columns, numbered, refuse_rows, tidied, with_roles

EXPECTED = "the probability of the positive condition, from 0 to 1"
ADVICE = (
    "divide other scales so that 0 is surely not and 1 surely yes ((x - 1) / 4 for 1 to 5), or read them as grades "
    "(--question grades --column condition=NAME)"
)


def are_confidences_of_positive(columns: Sequence[str], options: Options) -> bool:
    """Tell whether a table without conditions holds a confidence of the positive one.

    Examples
    --------
    >>> are_confidences_of_positive(["case", "reader", "confidence"], Options(positive="Melanoma"))
    True
    """
    found = find_columns(columns, options.columns, required=())
    return options.positive is not None and "condition" not in found and {"case", "confidence"} <= found.keys()


def with_both_conditions(table: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Give every confidence of the positive condition a row, and what is left of it a row of the other condition.

    Examples
    --------
    >>> table = pl.DataFrame({"case": ["x"], "reader": ["A"], "confidence": [0.75]})
    >>> with_both_conditions(table, Options(positive="Melanoma")).drop("row number in the source").rows()
    [('x', 'A', 0.75, 'Melanoma'), ('x', 'A', 0.25, 'not Melanoma')]
    """
    named = tidied(numbered(with_roles(table, find_columns(table.columns, options.columns, required=()))))
    sure = named["confidence"]
    wrong = ~((sure >= 0) & (sure <= 1))
    problem = "a confidence of the positive condition is not a probability"
    refuse_rows(named, wrong, "confidence", problem, expected=EXPECTED, advice=ADVICE)
    both = [
        named.with_columns(condition=pl.lit(name), confidence=sign * sure + offset)
        for name, sign, offset in ((options.positive, 1, 0), (_other(options), -1, 1))
    ]
    return pl.concat(both).sort(ROW, maintain_order=True)


def _other(options: Options) -> str:
    """Name the condition that is not the positive one."""
    if options.conditions is None:
        return f"not {options.positive}"
    others = [name for name in options.conditions if name != options.positive]
    if len(others) == 1:
        return others[0]
    raise DissensusError(
        "a binary question has two conditions", expected=f"{options.positive} and one other", got=str(len(others))
    )
