"""A matrix of votes: how many annotators gave each condition on each case."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray
from dissensus.core.checks import check_length
from dissensus.core.errors import FormatError
from dissensus.core.files import Source
from dissensus.core.notes import Note
from dissensus.study.builders import checked_counts
from dissensus.study.reading.format import Format, Options, Parsed

MOST_VOTES = 100_000_000


class Counts(Format):
    """Matrix of votes (.npy): cases by conditions."""

    id = "counts"
    title = "matrix of votes (.npy): cases by conditions"

    def recognises(self, source: Source) -> bool:
        """Tell a matrix of integers."""
        return source.kind == "npy" and source.content.ndim == 2 and source.content.dtype.kind in "iu"

    def parse(self, source: Source, options: Options) -> Parsed:
        """Expand every vote into an anonymous ranking of one condition; a case without votes is unannotated."""
        if source.kind != "npy":
            raise FormatError("this is not a matrix of votes", expected="an .npy file", got=source.kind)
        votes = _bounded(source.content)
        n_conditions = votes.shape[1]
        numbers = tuple(str(code) for code in range(n_conditions))
        names = numbers if options.conditions is None else options.conditions
        check_length("condition", len(names), n_conditions)
        note = Note("votes in a matrix", int(votes.sum()), "expanded to one anonymous ranking each")
        return Parsed(_expanded(votes, names), (note,), names, assumed=_assumed(options))


def _assumed(options: Options) -> tuple[str, ...]:
    given = "the given conditions, in their order" if options.conditions is not None else "conditions without a name"
    rows = "the rows are cases, numbered from 0"
    return (rows, f"the columns are {given}", "every vote is an annotator without a name")


def _bounded(counts: Any) -> IntArray:
    if counts.dtype.kind in "iufb" and not counts.sum(dtype=np.float64) <= MOST_VOTES and not np.isnan(counts).any():
        raise FormatError(
            "there are too many votes to expand",
            expected=f"at most {MOST_VOTES:,} votes",
            got=f"{counts.sum(dtype=np.float64):.3g}",
            advice="check that the matrix holds votes",
        )
    return checked_counts(counts)


def _expanded(votes: IntArray, names: tuple[str, ...]) -> pl.DataFrame:
    """Write one row per vote, and one row without a condition for a case without votes."""
    n_cases, n_conditions = votes.shape
    padded = np.column_stack([votes, votes.sum(axis=1) == 0])
    codes = np.repeat(np.tile(np.arange(n_conditions + 1), n_cases), padded.ravel())
    cases = np.repeat(np.arange(n_cases), padded.sum(axis=1))
    named = pl.Series("condition", [*names, None], dtype=pl.String)
    return pl.DataFrame({"case": pl.Series(cases).cast(pl.String), "condition": named.gather(codes)})
