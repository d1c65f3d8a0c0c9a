"""``dissensus plot``: single figures of an evaluation, for a paper or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dissensus.cli import options
from dissensus.cli.options import option
from dissensus.cli.terminal import grid, say, show
from dissensus.core.errors import DissensusError

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.evaluation.results import Evaluation


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
    from dissensus.core.output import written_whole
    from dissensus.evaluation.plots import Plots
    from dissensus.evaluation.store import load_evaluation
    from dissensus.figures.matplotlib_renderer import write_chart
    from dissensus.figures.plotly_renderer import page

    if not show_list:
        _check(figure, out, results, overwrite=overwrite)
    evaluation = load_evaluation(results)
    if show_list or figure is None or out is None:
        show(_listing(evaluation))
        say(f"metrics: {', '.join(one.name for one in evaluation.metrics)}")
        say(f"runs: {', '.join(one.label for one in evaluation.runs)}")
        return
    chart = Plots(evaluation).chart(figure, metric=metric, run=run, case=case)
    if out.suffix.lower() != ".html":
        write_chart(chart, out, overwrite=overwrite)
    else:
        with written_whole(out, overwrite=overwrite) as temporary:
            temporary.write_text(page(chart), encoding="utf-8")
    say(f"  -> {out}")


def _check(figure: str | None, out: Path | None, results: Path, *, overwrite: bool) -> None:
    """Refuse what would fail only after the results are loaded."""
    from dissensus.core.output import checked_file_target
    from dissensus.evaluation.plots import found_figure
    from dissensus.evaluation.store import FILES
    from dissensus.figures.matplotlib_renderer import checked_ending

    if figure is None or out is None:
        missing = "the figure to draw" if figure is None else "--out"
        raise DissensusError(f"{missing} is missing", advice="dissensus plot RESULTS --list shows the figures")
    found_figure(figure)
    if out.suffix.lower() != ".html":
        checked_ending(out, others=(".html",))
    checked_file_target(out, overwrite=overwrite, inputs=[results / name for name in FILES])


def _listing(evaluation: Evaluation) -> Table:
    from dissensus.evaluation.plots import FIGURES

    rows = []
    for figure, sort in FIGURES.items():
        lacking = sort.lacking(evaluation)
        taken = " ".join(f"--{name}" for name in sort.options)
        rows.append((figure, sort.shows, taken, f"no: needs {lacking}" if lacking else "yes"))
    return grid(("figure", "shows", "options", "here"), rows)
