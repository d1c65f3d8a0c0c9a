"""``dissensus reproduce``: the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.reproduction import Reproduction, Row

COLOURS = {"agrees": "green", "differs": "red", "not comparable": "yellow", "not in the paper": "dim"}


def reproduce(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Directory with the published data, in it or in folders of it.", readable=False),
    ] = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON, for machines.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Directory to write the figures into.")] = None,
    draws: options.DrawsOption = 1000,
    sweep_draws: Annotated[
        int, typer.Option("--sweep-draws", help="Draws at the reliabilities that only the main figure needs.")
    ] = 250,
    everything: Annotated[
        bool, typer.Option("--all", help="Print also what the paper has no number or words for.")
    ] = False,
    seed: options.SeedOption = 0,
    threads: options.ThreadsOption = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace the JSON, and a directory that holds nothing but these figures."),
    ] = False,
) -> None:
    """Run the experiments of the source paper, and print what it says beside what comes out.

    Without data, the toy problem and the seven printed cases still run. With --json, everything is in the file.

    [bold]Examples[/bold]

      dissensus reproduce

      dissensus reproduce --data published --json reproduction.json --out figures
    """
    from rich.console import Console

    from dissensus.cli.progress import compile_on_first_use
    from dissensus.cli.terminal import say
    from dissensus.reproduction import reproduce as reproduced

    _check_targets(as_json, out, data, overwrite=overwrite)
    compile_on_first_use("certainty", "evaluation")
    with _progress() as watch:
        result = reproduced(data, draws=draws, sweep_draws=sweep_draws, seed=seed, threads=threads, watch=watch)
    written = _write(result, as_json, out, overwrite=overwrite)
    console = Console()
    for section in result.sections:
        shown = section if everything or not section.judged.rows else section.judged
        say(f"\n{section.title}: {len(shown.rows)} of {len(section.rows)} numbers", style="bold")
        for told in dict.fromkeys(row.settings for row in shown.rows):
            console.print(_table(told, [row for row in shown.rows if row.settings == told], shown.reasons))
        for number, reason in enumerate(shown.reasons, start=1):
            say(f"  ({number}) {reason}", style="dim")
    _close(result, written)


def _check_targets(as_json: Path | None, out: Path | None, data: Path | None, *, overwrite: bool) -> None:
    """Refuse what could not be written before anything is computed."""
    from dissensus.core.output import checked_directory_target, checked_file_target
    from dissensus.reproduction.charts_of_paper import not_figures

    if as_json is not None:
        checked_file_target(as_json, overwrite=overwrite, inputs=[data])
    if out is not None:
        checked_directory_target(out, overwrite=overwrite, foreign=not_figures, inputs=[data])


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show which experiment is under way on standard error, if somebody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn("line"),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    # Older versions of rich end even a disabled bar with an empty line.
    with bar if console.is_terminal else nullcontext():
        task = bar.add_task("reading", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)


def _write(result: Reproduction, as_json: Path | None, out: Path | None, *, overwrite: bool) -> list[Path]:
    from dissensus.core.output import written_whole

    written: list[Path] = []
    if out is not None:
        from dissensus.reproduction.charts_of_paper import write_figures

        written += write_figures(result.frames, out, overwrite=overwrite)
    if as_json is not None:
        with written_whole(as_json, overwrite=overwrite) as temporary:
            temporary.write_text(result.to_json(), encoding="utf-8")
        written.append(as_json)
    return written


def _table(settings: str, rows: Sequence[Row], reasons: tuple[str, ...]) -> Table:
    """Show rows below their settings; a verdict has the number of its reason."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    title = Text(settings, style="dim italic")
    table = Table(title=title, title_justify="left", expand=True, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("quantity", ratio=1)
    table.add_column("paper", justify="right", max_width=18)
    table.add_column("ours", justify="right", no_wrap=True)
    table.add_column("verdict", max_width=11)
    for row in rows:
        mark = f" ({reasons.index(row.explanation) + 1})" if row.explanation else ""
        verdict = Text(f"{row.verdict}{mark}", style=COLOURS[row.verdict])
        table.add_row(Text(row.quantity), Text(row.paper_text), Text(row.ours_text), verdict)
    return table


def _close(result: Reproduction, written: list[Path]) -> None:
    """Say what was missing, what deserves a look, how it ended, and what was written."""
    from dissensus.cli.terminal import say

    for each in (*result.missing, *result.notes):
        say(f"  ! {each}", style="yellow")
    told = ", ".join(f"{verdict} {count}" for verdict, count in result.counts.items() if count)
    say(f"  {len(result.rows)} numbers: {told}")
    for place in written:
        say(f"  -> {place}")
