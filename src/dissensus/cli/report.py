"""``dissensus report``: the results as one page that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dissensus.cli import options
from dissensus.cli.options import option
from dissensus.cli.terminal import say


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
    from dissensus.evaluation.store import FILES, REPORT, load_evaluation
    from dissensus.report.page import write_report

    evaluation = load_evaluation(results)
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
