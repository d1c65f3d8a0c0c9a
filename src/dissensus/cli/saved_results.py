"""Commands on results that ``dissensus evaluate`` wrote: ``compare``, ``report`` and ``plot``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dissensus.cli import options
from dissensus.cli.options import option
from dissensus.cli.terminal import say, show
from dissensus.core.errors import DissensusError

if TYPE_CHECKING:
    from dissensus.evaluation.comparison import Difference


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
    show_all: Annotated[bool, option("Show every metric and estimand, not only those that decide.", "--all")] = False,
    out: Annotated[Path | None, option("Write the table: .csv, .tsv, .parquet or .jsonl.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Compare models, from better to worse, by agreement with one annotator: one row per pair, and who leads.

    Verdicts are about the primary metric, Holm-adjusted over its pairs. --all shows the rest: secondary metrics, whose
    p-values are not adjusted, and other estimands. Below 30 cases, or 5 groups of them, there is no verdict.

    [bold]Examples[/bold]

      dissensus compare results

      dissensus compare results --metric "top-3 accuracy" --out comparison.csv
    """
    from dissensus.core.output import checked_table_target, write_table
    from dissensus.evaluation.estimates import AGREEMENT
    from dissensus.evaluation.sentences import deciding, decision, flips, probability_better
    from dissensus.evaluation.store import FILES, load
    from dissensus.evaluation.words import p_values

    if out is not None:
        checked_table_target(out, overwrite=overwrite, inputs=[results / name for name in FILES])
    result = load(results)
    metric = None if metric is None else result.metric(metric).name
    comparison = result.compare(margin=margin)
    if out is not None:
        table = comparison.to_frame()
        write_table(table.filter(table["metric"] == metric) if metric is not None else table, out, overwrite=overwrite)
    wanted = [found for found in comparison.differences if metric in (None, found.metric)]
    if not show_all and wanted:
        run = deciding(result).identity["run"]
        wanted = [found for found in wanted if found.run == run and (found.is_primary or metric is not None)]
    wanted.sort(key=lambda found: (not found.is_primary, found.estimand != AGREEMENT))
    names = (f"difference [{100 * result.level:g} %]", "first better", "p-value", "verdict")
    for title, of_place in groupby(wanted, key=placed):
        rows = [
            (
                f"{found.first} - {found.second}: {found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
                probability_better(found),
                p_values(found.p_value, found.p_adjusted),
                found.verdict,
            )
            for found in of_place
        ]
        show(names, rows, title=title)
    for sentence in decision(result) if len(result.models) > 1 else ():
        say(sentence)
    for sentence in flips(comparison):
        say(f"  ! the order flips: {sentence}")


def placed(found: Difference) -> str:
    """Say by what models are compared: metric, estimand and run.

    >>> from dissensus.evaluation.comparison import Difference
    >>> placed(Difference("dirichlet 1", "dirichlet", 1.0, "adjusted", "top-1 accuracy", "A", "B", 0.02, -0.01, 0.05,
    ...                   0.88, 0.24, 0.24))
    'top-1 accuracy: adjusted, dirichlet 1'
    """
    from dissensus.evaluation.estimates import AGREEMENT

    run = "" if found.estimand in (AGREEMENT, found.run) else f", {found.run}"
    secondary = "" if found.is_primary else " (secondary)"
    return f"{found.metric}{secondary}: {found.estimand}{run}"


def report(
    results: options.ResultsDirectory,
    out: Annotated[Path | None, option("Where to; report.html among the results.")] = None,
    title: Annotated[str | None, option("Heading of the page.")] = None,
    static: Annotated[Path | None, option("Write the figures as SVG into this new directory, for a paper.")] = None,
    remote_images: options.RemoteImages = False,
    overwrite: options.Overwrite = False,
    open_page: Annotated[bool, option("Open the page in a browser.", "--open")] = False,
) -> None:
    """Write the report: headline, figures, every case, methods and provenance in one file without network.

    The report.html among the results is written anew; another file that exists is replaced with --overwrite only.

    [bold]Examples[/bold]

      dissensus report results

      dissensus report results --title "Reader study 2" --out study.html --open

      dissensus report results --static figures
    """
    from dissensus.core.output import checked_directory_target, checked_file_target
    from dissensus.evaluation.store import FILES, REPORT, load
    from dissensus.report.page import write_report

    evaluation = load(results)
    page = results / REPORT if out is None else out
    overwrite = overwrite or page.resolve() == results.resolve() / REPORT
    checked_file_target(page, overwrite=overwrite, inputs=[results / name for name in FILES])
    if static is not None:
        checked_directory_target(static)
        written = evaluation.plot.write(static)
        say(f"-> {static} ({len(written)} figures)")
    write_report(evaluation, page, title=title, remote_images=remote_images, overwrite=overwrite)
    say(f"-> {page} ({page.stat().st_size / 1e6:.1f} MB)")
    if open_page:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            say("  no browser could be opened; open the file yourself")


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
) -> None:
    """Draw a figure of an evaluation: SVG, PDF or PNG for a paper, or a page that works offline.

    [bold]Examples[/bold]

      dissensus plot results --list

      dissensus plot results reliability --metric "top-3 accuracy" --out accuracy.pdf

      dissensus plot results case --case 1026 --run "plackett-luce 3" --out case.html
    """
    from dissensus.core.output import checked_file_target
    from dissensus.evaluation.plots import FIGURES, Plots, found_figure
    from dissensus.evaluation.store import FILES, load
    from dissensus.figures.vega import checked_ending, write_chart

    if not show_list:  # what would fail only after the results are loaded
        if figure is None or out is None:
            missing = "the figure to draw" if figure is None else "--out"
            raise DissensusError(f"{missing} is missing", advice="dissensus plot RESULTS --list shows the figures")
        found_figure(figure)
        checked_ending(out)
        checked_file_target(out, overwrite=overwrite, inputs=[results / name for name in FILES])
    evaluation = load(results)
    if show_list or figure is None or out is None:
        rows = []
        for name, sort in FIGURES.items():
            lacking, taken = sort.lacking(evaluation), " ".join(f"--{one}" for one in sort.options)
            rows.append((name, sort.shows, taken, f"no: needs {lacking}" if lacking else "yes"))
        show(("figure", "shows", "options", "here"), rows)
        say(f"metrics: {', '.join(one.name for one in evaluation.metrics)}")
        say(f"runs: {', '.join(one.label for one in evaluation.runs)}")
        return
    write_chart(Plots(evaluation).chart(figure, metric=metric, run=run, case=case), out, overwrite=overwrite)
    say(f"  -> {out}")
