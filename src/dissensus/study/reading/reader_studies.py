"""Reader studies: iMRMC's list and MRMCaov's table of readers, modalities, cases and scores, also with a truth."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source
from dissensus.core.notes import Note
from dissensus.core.receipt import BY_NAME, Column
from dissensus.study import tables
from dissensus.study.reading.format import Options, Parsed
from dissensus.study.reading.long import MODALITIES, Scores
from dissensus.study.reading.records import column_names, has_role

# What iMRMC calls the reader of rows that hold the truth, and names of a column that holds it.
TRUTH = "truth"


class ReaderStudy(Scores):
    """Ratings of readers in one modality; what is true is no opinion."""

    id = "reader-study"
    title = "reader study: reader, modality (or treatment), case, score, maybe truth (iMRMC, MRMCaov)"

    def recognises(self, source: Source) -> bool:
        """Tell a table of scores by its columns of readers and modalities."""
        names = column_names(source) if source.is_table else set()
        is_rated = not names.isdisjoint(tables.SCORE_NAMES) and has_role(source, "case")
        return is_rated and has_role(source, "annotator") and not names.isdisjoint(MODALITIES)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the scores of readers in one modality, and count the rows that tell the truth."""
        if not source.is_table:
            raise FormatError("this is not a table of ratings", expected="CSV, TSV or Parquet", got=source.kind)
        table, named = source.table, {tables.normalised(name): name for name in source.table.columns}
        reader = tables.find_columns(
            table.columns, options.columns, aliases=tables.RATING_ALIASES, required=("annotator",)
        )
        is_truth = table[reader["annotator"]].cast(pl.String).str.to_lowercase() == TRUTH
        rows, modality = (
            table.filter(~is_truth.fill_null(False)),
            next((named[one] for one in MODALITIES if one in named), None),
        )
        modalities = [] if modality is None else rows[modality].cast(pl.String).unique(maintain_order=True).to_list()
        if len(modalities) > 1:
            raise FormatError(
                "the file holds several modalities",
                expected="one, as each makes a study of its own",
                got=listing(modalities),
                where=f"column {modality!r}",
                advice=f"say which: --only {modality}={modalities[0]} (only={{{modality!r}: {modalities[0]!r}}})",
            )
        parsed = super().parse(replace(source, content=rows), options)
        roles = {modality: "modality", named.get(TRUTH): TRUTH}
        columns = tuple(
            Column(one.name, roles[one.name], BY_NAME) if one.name in roles else one for one in parsed.columns
        )
        note = Note("rows that tell the truth", int(is_truth.sum()), "not opinions (agreement.reader_study takes them)")
        return replace(parsed, columns=columns, notes=(note,) if note.count else ())
