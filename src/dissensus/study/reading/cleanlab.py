"""cleanlab's table: one column per annotator, one integer code per cell."""

from __future__ import annotations

import polars as pl

from dissensus.core.files import Source
from dissensus.study.reading.columns import as_table
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_findings
from dissensus.study.reading.wide import is_integer_matrix, is_matrix_of_labels, layout
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
        case, annotators = found.case, found.annotators
        refuse_findings(table, case, annotators, options)
        codes = pl.col("condition").cast(pl.String).str.strip_chars().str.replace(r"\.0*$", "")
        numbers = [str(number) for number in range(len(annotators))]  # no name of an annotator gets in the way
        melted = (
            table.select(case=pl.col(case).cast(pl.String), **dict(zip(numbers, map(pl.col, annotators), strict=True)))
            .with_row_index("position")
            .unpivot(numbers, index=["position", "case"], variable_name="annotator", value_name="condition")
            .with_columns(codes, pl.col("annotator").cast(pl.Int64))
        )
        opinions = melted.drop_nulls("condition").sort("position", "annotator", maintain_order=True)
        silent = melted.filter(pl.col("condition").is_null().all().over("position"))
        unannotated = silent.unique("position", maintain_order=True).with_columns(annotator=pl.lit(None, pl.Int64))
        rows = pl.concat([opinions, unannotated]).sort("position", maintain_order=True)
        rows = rows.with_columns(annotator=pl.Series(annotators, dtype=pl.String).gather(rows["annotator"]))
        if options.conditions is None and not (options.question == "grades" and options.format_is_given):
            codes_found = rows["condition"].drop_nulls().unique().sort().to_list()
            raise integers_need_names(codes_found, CODES_OR_VOTES)
        opinions = rows.select("case", "annotator", "condition")
        frame = opinions.join(found.of_case, on="case", how="left", maintain_order="left")
        return Parsed(frame, columns=found.columns, assumed=found.assumed)
