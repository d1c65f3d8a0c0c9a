"""``dissensus convert``: any format in, the canonical long form out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from dissensus.cli import options
from dissensus.cli.terminal import say


@options.bundled
def convert(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, options.argument("Where to: .csv, .tsv, .parquet, .jsonl, .json or .npz.", "OUT")],
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> None:
    """Write opinions in the canonical long form, one row per mentioned condition or finding; nothing is lost.

    [bold]Examples[/bold]

      dissensus convert export.json opinions.csv

      dissensus convert selectors.json opinions.parquet --conditions conditions.txt

      dissensus convert findings.csv checklists.csv --format checklist --nothing normal
    """
    from dissensus.core.output import checked_file_target
    from dissensus.study.canonical import check_annotations_ending, write_annotations
    from dissensus.study.diagnosis import plural

    check_annotations_ending(out)
    checked_file_target(out, overwrite=overwrite, inputs=(file, said["conditions"]))
    reading = options.examine(file, said)
    study = reading.study if reading.study.kind == "checklists" else reading.rankings
    write_annotations(study, out, overwrite=overwrite)
    options.say_receipt(reading.receipt)
    what = f"{plural(study.n_cases, 'case')}, {plural(study.n_votes, study.opinion)}"
    say(f"{file} ({reading.receipt.format}) -> {out}: {what}")
