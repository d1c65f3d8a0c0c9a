"""``dissensus experts``: every model beside the annotators, on the same cases against the same others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from dissensus.cli import options, terminal
from dissensus.cli.options import option
from dissensus.core.screen import Screen


@options.bundled
def experts(
    *,
    file: options.AnnotationFile,
    models: Mapping[str, Any],
    metric: options.Metrics = None,
    verdicts: Mapping[str, Any],
    strata: Annotated[Path | None, option("Table with a case column and columns to group cases by.")] = None,
    show_all: options.ShowAll = False,
    out: Annotated[Path | None, option("A CSV file for all numbers.")] = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> Screen:
    """Put models beside the annotators: what each is worth.

    Agreement with one annotator, and how many annotators a model is worth.

    Examples
    --------
    dissensus experts opinions.csv --predictions A=a.csv --predictions B=b.csv
    dissensus experts opinions.csv --predictions A=a.csv --margin 0.05 --called radiologist --out experts.csv
    dissensus experts opinions.csv --predictions A=a.csv --strata patients.csv
    """
    import polars as pl

    from dissensus.cli.evaluate import labels_in
    from dissensus.core.files import open_source
    from dissensus.core.output import checked_file_target, written_whole
    from dissensus.evaluation.expert_comparison.experts import experts as compared

    if out is not None:
        inputs = (file, said["conditions"], strata, *options.model_places(models).values())
        checked_file_target(out, overwrite=overwrite, inputs=inputs)
    reading = options.examine_for([], file, said)
    readings = options.read_models(models, reading.study, said)
    columns = None if strata is None else labels_in(open_source(strata), reading.study.case_names)
    if columns is not None:
        columns.pop("image", None)
    terminal.compile_on_first_use("evaluation")
    found = compared(
        reading.study,
        {name: model.predictions for name, model in readings.items()},
        allow_missing=bool(models["allow_missing"]),
        **options.passed_on(metrics=metric or None, strata=columns),
        **verdicts,
    )
    if out is not None:
        with written_whole(out, overwrite=overwrite) as temporary:
            parts = [found.to_frame(), *([found.by_stratum()] if found.strata_rows else [])]
            pl.concat(parts, how="diagonal").write_csv(temporary)
    return replace(found.screen(show_all=show_all), place=f"-> {out}" if out is not None else "")
