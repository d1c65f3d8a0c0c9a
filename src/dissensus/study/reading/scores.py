"""Numeric ratings: a table with one row per score."""

from __future__ import annotations

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.core.receipt import columns_of
from dissensus.study.reading.columns import column_names, has_role
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_rivals
from dissensus.study.tables import ALIASES, SCORE_NAMES, roles_of_ratings, with_roles


class Scores(Format):
    """Table with one row per numeric rating."""

    id = "ratings"
    title = "table with one row per numeric rating"
    study = "ratings"

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a score column, and no condition column."""
        has_scores = source.is_table and not column_names(source).isdisjoint(SCORE_NAMES)
        return has_scores and has_role(source, "case") and not has_role(source, "condition")

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        if not source.is_table:
            raise DissensusError("this is not a table of ratings", expected="CSV, TSV or Parquet", got=source.kind)
        roles = roles_of_ratings(source.table, options.columns)
        refuse_rivals(source.table, roles, options.columns, {**ALIASES, "score": SCORE_NAMES})
        columns = columns_of(source.table.columns, roles, options.columns)
        nobody = () if "annotator" in roles else ("there is no annotator column: every row is a rating of its own",)
        return Parsed(with_roles(source.table, roles), columns=columns, assumed=nobody)
