"""Progress on the terminal: shown while long work goes on, silent when nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

    from dissensus.aggregation.base import Aggregation


def progress_of_cases(what: str, n_cases: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show a bar with cases per second on standard error; give a function that takes the cases just done."""
    return progress_of(what, n_cases, "cases")


@contextmanager
def progress_of(what: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a bar with the speed in a unit on standard error; yield a function that takes how much was just done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _speed_column(unit)(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    # Older versions of rich end even a disabled bar with an empty line.
    with bar if console.is_terminal else nullcontext():
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def _speed_column(unit: str) -> type:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {unit}/s" if speed else "")

    return Speed


def compile_on_first_use(*purposes: str, aggregations: Iterable[Aggregation] = ()) -> None:
    """Compile the kernels that a command needs, as far as this was not done yet, and say so.

    Parameters
    ----------
    purposes, aggregations
        Exercises of :mod:`dissensus.compilation`, and aggregations that are to be drawn from. A kernel that neither of
        them calls is compiled when it is called.
    """
    from dissensus.cli.terminal import say
    from dissensus.compilation import needed
    from dissensus.core.errors import DissensusError

    names = needed([*purposes, *(str(aggregation.id) for aggregation in aggregations)])
    if not names:
        return
    say("compiling kernels for first use: once, some seconds, then kept on disk", stderr=True)
    try:
        compile_with_progress(names)
    except DissensusError as error:
        say(f"{error}\nso they are compiled one after another, when they are needed", stderr=True)


def compile_with_progress(names: Collection[str], workers: int | None = None, *, force: bool = False) -> None:
    """Compile the kernels of some exercises, and show how far it is."""
    from rich.console import Console
    from rich.progress import Progress

    from dissensus.compilation import compile_kernels

    console = Console(stderr=True)
    bar = Progress(console=console, transient=True)
    with bar if console.is_terminal else nullcontext():
        task = bar.add_task("compiling", total=len(names))
        compile_kernels(names, workers=workers, force=force, done=lambda _: bar.advance(task))
