"""``dissensus plot``: single figures of an evaluation, for a paper or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import options
from dissensus.core.errors import DissensusError

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.evaluation.plots import Plots
    from dissensus.figures.charts import Chart


def plot(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Directory that `dissensus evaluate` wrote.")],
    figure: Annotated[
        str | None, typer.Argument(metavar="[FIGURE]", help="Name of the figure; see --list.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the figure: .svg, .pdf, .png or .html.")] = None,
    overwrite: options.OverwriteOption = False,
    metric: Annotated[str | None, typer.Option("--metric", help="Name of the metric; the first one.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", help='Label of the run, such as "plackett-luce 3" or "panel".')
    ] = None,
    case: Annotated[str | None, typer.Option("--case", help="Name of the case, for the figure of one case.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the figures, runs and metrics.")] = False,
) -> None:
    """Draw a figure of an evaluation: SVG, PDF or PNG for a paper, or a page that works offline.

    [bold]Examples[/bold]

      dissensus plot results --list

      dissensus plot results reliability --metric "top-3 accuracy" --out accuracy.pdf

      dissensus plot results case --case 1026 --run "plackett-luce 3" --out case.html
    """
    from dissensus.cli.terminal import say, show
    from dissensus.core.names import visible

    if not show_list:
        _check(figure, out, results, overwrite=overwrite)
    plots = _loaded(results)
    if show_list or figure is None or out is None:
        show(_listing(plots))
        for what, names in _known_names(plots).items():
            say(f"{what}: {', '.join(map(visible, names))}")
        return
    _write(plots.chart(figure, metric=metric, run=run, case=case), out, overwrite=overwrite)
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


def _loaded(results: Path) -> Plots:
    from dissensus.evaluation.plots import Plots
    from dissensus.evaluation.store import load_evaluation

    return Plots(load_evaluation(results))


def _write(chart: Chart, out: Path, *, overwrite: bool) -> None:
    from dissensus.core.output import written_whole
    from dissensus.figures.matplotlib_renderer import write_chart
    from dissensus.figures.plotly_renderer import page

    if out.suffix.lower() != ".html":
        write_chart(chart, out, overwrite=overwrite)
        return
    with written_whole(out, overwrite=overwrite) as temporary:
        temporary.write_text(page(chart), encoding="utf-8")


def _listing(plots: Plots) -> Table:
    from dissensus.cli.grid import grid
    from dissensus.evaluation.plots import FIGURES

    rows = []
    for name, sort in FIGURES.items():
        lacking = sort.lacking(plots.evaluation)
        taken = " ".join(f"--{option}" for option in sort.options)
        rows.append((name, sort.shows, taken, f"no: needs {lacking}" if lacking else "yes"))
    return grid(("figure", "shows", "options", "here"), rows)


def _known_names(plots: Plots) -> dict[str, list[str]]:
    evaluation = plots.evaluation
    return {
        "metrics": [metric.name for metric in evaluation.metrics],
        "runs": [run.label for run in evaluation.runs],
    }
