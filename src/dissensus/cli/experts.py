"""``dissensus experts``: every model beside the annotators, on the same cases against the same others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

from dissensus.cli import options, terminal
from dissensus.cli.options import option
from dissensus.cli.terminal import say, show_filled

# How many metrics beside the first, and rows of subgroups, are shown; all are in the file.
MOST_METRICS, MOST_ROWS = 5, 8


@options.bundled
def experts(
    *,
    file: options.AnnotationFile,
    models: Mapping[str, Any],
    metric: options.Metrics = None,
    verdicts: Mapping[str, Any],
    strata: Annotated[Path | None, option("Table with a case column and columns to group cases by.")] = None,
    out: Annotated[Path | None, option("A CSV file for all numbers.")] = None,
    overwrite: options.Overwrite = False,
    said: Mapping[str, Any],
) -> None:
    """Put models beside the annotators: agreement with one annotator, and how many annotators a model is worth.

    [bold]Examples[/bold]

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
    first = found.rows[0]
    cells = {
        "": "{model}",
        f"with one {found.called}": "{agreement:.2f} [{low:.2f}, {high:.2f}]",
        "worth": "{worth}",
        "difference": "{gap}",
    }
    own = {**first, "agreement": first["experts"], "low": first["experts_low"], "high": first["experts_high"]}
    shown = [{**own, "model": f"one {found.called}", "worth": "1", "gap": ""}]
    primary = [row for row in found.rows if row["metric"] == first["metric"]]
    gaps = ["{difference:+.2f} [{difference_low:.2f}, {difference_high:.2f}]".format(**row) for row in primary]
    shown += [
        {**row, "worth": str(found.worth[row["model"]]), "gap": gap} for row, gap in zip(primary, gaps, strict=True)
    ]
    title = f"{first['metric']} on {found.n_cases:,} cases; {100 * found.level:g} % intervals"
    show_filled(cells, shown, title=title)
    others = dict.fromkeys(
        row["metric"] for row in found.rows if row["metric"] != first["metric"] and not math.isnan(row["experts"])
    )
    if others:
        rows = [row for row in found.rows if row["metric"] in list(others)[:MOST_METRICS]]
        beside = {
            "metric": "{metric}",
            "model": "{model}",
            f"one {found.called}": "{experts:.3f}",
            "agreement": "{agreement:.3f}",
            "difference": "{difference:+.3f} [{difference_low:+.3f}, {difference_high:+.3f}]",
        }
        show_filled(beside, rows, words=2, title="other metrics")
    groups = [row for row in found.strata_rows if row["metric"] == first["metric"]]
    if groups:
        each = {
            "subgroup": "{column} {stratum} ({n_cases})",
            "model": "{model}",
            f"one {found.called}": "{experts:.2f}",
            "difference": "{difference:+.2f} [{difference_low:+.2f}, {difference_high:+.2f}]",
            "p (Holm)": "{p_adjusted:.2g}",
        }
        show_filled(each, groups[:MOST_ROWS], words=2, title="by subgroup")
        if len(groups) > MOST_ROWS:
            say(f"  not in this table: {len(groups) - MOST_ROWS} more rows; --out writes all")
    for note in found.notes:
        say(fill(f"! {note}", 80, subsequent_indent="  "), style="yellow")
    if found.n_left_out:
        say(f"! {found.n_left_out:,} cases have a single {found.called}: left out", style="yellow")
    for row in primary if found.margin is not None else ():
        if not row["verdict"]:
            continue
        shown_as = "non-inferiority is not shown" if row["verdict"] == "not shown" else row["verdict"]
        say(f"{row['model']} against one {found.called}, margin {found.margin:g}: {shown_as}")
    if found.margin is None:
        say("No verdict without a margin: give --margin.")
    if out is not None:
        with written_whole(out, overwrite=overwrite) as temporary:
            parts = [found.to_frame(), *([found.by_stratum()] if found.strata_rows else [])]
            pl.concat(parts, how="diagonal").write_csv(temporary)
        say(f"-> {out}")
