"""Commands on results that ``dissensus evaluate`` wrote: ``compare``, ``cases``, ``report`` and ``plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import dissensus as ds
from dissensus.cli import options
from dissensus.cli.options import option, with_rows
from dissensus.cli.terminal import say
from dissensus.core.errors import DissensusError
from dissensus.core.output import checked_directory_target, checked_file_target
from dissensus.core.screen import Screen

# How many cases are shown of each rule.
MOST_OF_RULE = 4


@with_rows("Write the table: .csv, .tsv, .parquet or .jsonl.", is_table=True)
def compare(
    results: options.ResultsDirectory,
    metric: options.MetricName = None,
    margin: Annotated[
        float | None,
        option(
            "Largest difference that does not matter: verdicts then also say whether a model is not worse by more than "
            "that, or both are equivalent."
        ),
    ] = None,
    show_all: options.ShowAll = False,
) -> options.ScreenAndRows:
    """Compare models pairwise, from better to worse.

    By agreement with one annotator: one row per pair, and who leads. Verdicts are about the primary metric,
    Holm-adjusted over its pairs. --all shows the rest: secondary metrics, whose p-values are not adjusted, and other
    estimands. Below 30 cases, or 5 groups of them, there is no verdict.

    Examples
    --------
    dissensus compare results
    dissensus compare results --metric "top-3 accuracy" --out comparison.csv
    """
    result = ds.load(results)
    metric = None if metric is None else result.metric(metric).name
    comparison = result.compare(margin=margin)
    table = comparison.to_frame()
    kept = table if metric is None else table.filter(table["metric"] == metric)
    return comparison.screen(metric=metric, show_all=show_all), kept


@with_rows("Write all of them: .csv, .tsv, .parquet or .jsonl.", is_table=True)
def cases(results: options.ResultsDirectory, show_all: options.ShowAll = False) -> options.ScreenAndRows:
    """List the cases that need a look, by rule.

    Rules: confidently wrong where annotations settle the case, high risk and missed, models disagree, unsettled.

    Examples
    --------
    dissensus cases results
    dissensus cases results --out cases.csv
    """
    import polars as pl

    from dissensus.evaluation.first_screen import RULES

    result = ds.load(results)
    found = result.cases()
    counts = {rule: int((found["reason"] == rule).sum()) for rule in RULES}
    shown = found if show_all else pl.concat([found.filter(reason=rule).head(MOST_OF_RULE) for rule in RULES])
    cells = shown.with_columns(pl.col("certainty").round(2)).cast(pl.String).fill_null("")
    screen = Screen(
        f"cases that need a look, of {len(result.case_names):,}",
        "",
        {name: cells[name].to_list() for name in ("case", "models", "annotators", "reason", "certainty")},
        tuple(f"{rule}: {counts[rule]:,} ({told})" for rule, told in RULES.items() if counts[rule]),
        n_names=3,
        is_whole=show_all,
        records=found.to_dicts(),
    )
    return screen, found


@options.bundled
def report(
    results: options.ResultsDirectory,
    out: Annotated[Path | None, option("Where to; report.html among the results.")] = None,
    title: Annotated[str | None, option("Heading of the page.")] = None,
    static: Annotated[Path | None, option("Write the figures as SVG into this new directory, for a paper.")] = None,
    remote_images: options.RemoteImages = False,
    overwrite: options.Overwrite = False,
    open_page: Annotated[bool, option("Open the page in a browser.", "--open")] = False,
) -> Screen:
    """Write the report: one page that needs no network.

    The report.html among the results is written anew; another file that exists is replaced with --overwrite only.

    Examples
    --------
    dissensus report results
    dissensus report results --title "Reader study 2" --out study.html --open
    dissensus report results --static figures
    """
    from dissensus.evaluation.store import FILES, REPORT

    evaluation = ds.load(results)
    page = results / REPORT if out is None else out
    overwrite = overwrite or page.resolve() == results.resolve() / REPORT
    checked_file_target(page, overwrite=overwrite, inputs=[results / name for name in FILES])
    if static is not None:
        checked_directory_target(static)
        written = evaluation.plot.write(static)
        say(f"-> {static} ({len(written)} figures)")
    ds.write_report(evaluation, page, title=title, remote_images=remote_images, overwrite=overwrite)
    if open_page:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            say("no browser could be opened; open the file yourself")
    return Screen(f"-> {page} ({page.stat().st_size / 1e6:.1f} MB)")


@options.bundled
def plot(
    results: options.ResultsDirectory,
    figure: Annotated[
        str | None, options.argument("Name of the figure; see --list.", "[FIGURE]", show_default=False)
    ] = None,
    out: Annotated[Path | None, option("Write the figure: .svg, .pdf, .png or .html.")] = None,
    overwrite: options.Overwrite = False,
    metric: options.MetricName = None,
    run: Annotated[str | None, option('Label of the run, such as "plackett-luce 3" or "panel".')] = None,
    case: Annotated[str | None, option("Name of the case, for the figure of one case.")] = None,
    show_list: Annotated[bool, option("List the figures, runs and metrics.", "--list")] = False,
) -> Screen:
    """Draw a figure: SVG, PDF, PNG or an offline page.

    Examples
    --------
    dissensus plot results --list
    dissensus plot results reliability --metric "top-3 accuracy" --out accuracy.pdf
    dissensus plot results case --case 1026 --run "plackett-luce 3" --out case.html
    """
    from dissensus.evaluation.plots import FIGURES, Plots, found_figure
    from dissensus.evaluation.store import FILES
    from dissensus.figures.charts import checked_ending, write_chart

    if show_list:
        evaluation = ds.load(results)
        lacking = {name: sort.lacking(evaluation) for name, sort in FIGURES.items()}
        table = {
            "figure": list(FIGURES),
            "shows": [sort.shows for sort in FIGURES.values()],
            "here": [f"no: needs {lacks}" if lacks else "yes" for lacks in lacking.values()],
            "options": [" ".join(f"--{one}" for one in sort.options) for sort in FIGURES.values()],
        }
        told = f"metrics: {', '.join(one.name for one in evaluation.metrics)}"
        known = f"runs: {', '.join(one.label for one in evaluation.runs)}"
        records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        return Screen("", "", table, (told, known), n_names=2, is_whole=True, records=records)
    if figure is None or out is None:
        missing = "the figure to draw" if figure is None else "--out"
        raise DissensusError(f"{missing} is missing", advice="dissensus plot RESULTS --list shows the figures")
    found_figure(figure)
    checked_ending(out)
    checked_file_target(out, overwrite=overwrite, inputs=[results / name for name in FILES])
    chart = Plots(ds.load(results)).chart(figure, metric=metric, run=run, case=case)
    write_chart(chart, out, overwrite=overwrite)
    return Screen(f"-> {out}")
