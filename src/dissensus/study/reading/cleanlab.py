"""cleanlab's table: one column per annotator, one integer code per cell."""

from __future__ import annotations

import polars as pl

from dissensus.core.files import Source
from dissensus.study.reading.columns import as_table
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_findings
from dissensus.study.reading.wide import filled, is_integer_matrix, is_matrix_of_labels, layout
from dissensus.study.tables import GIVE_CONDITIONS, integers_need_names

CODES_OR_VOTES = (
    f"if columns are annotators and cells are codes (--format cleanlab), {GIVE_CONDITIONS}; if columns are conditions "
    "and cells are votes, say --format counts (format='counts')"
)


class Cleanlab(Format):
    """Table with one column per annotator whose cells are codes."""

    id = "cleanlab"
    title = "table with one column per annotator, cells are codes"

    def recognises(self, source: Source) -> bool:
        """Tell a table with one column per annotator whose cells are integer codes."""
        return is_matrix_of_labels(source) and is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one integer code per annotator and case; an empty cell is no opinion."""
        table = as_table(source)
        found = layout(table, options)
        refuse_findings(table, found.case, found.columns, options)
        codes = pl.col("condition").str.strip_chars().str.replace(r"\.0*$", "")
        cells = found.cells("annotator", "condition").with_columns(codes)
        said = filled(cells, pl.col("condition").is_not_null(), "annotator")
        if options.conditions is None and not (options.question == "grades" and options.format_is_given):
            raise integers_need_names(said["condition"].drop_nulls().unique().sort().to_list(), CODES_OR_VOTES)
        return Parsed(said, columns=found.roles, assumed=found.assumed)
