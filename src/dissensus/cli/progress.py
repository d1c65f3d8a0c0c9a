"""Progress on the terminal: shown while long work goes on, silent when nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text


@contextmanager
def progress_of_cases(what: str, n_cases: int) -> Iterator[Callable[[int], None]]:
    """Show a bar with cases per second on standard error; yield a function that takes the cases just done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _speed_column()(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=n_cases)
        yield lambda done: bar.advance(task, done)


def _speed_column() -> type:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class CasesPerSecond(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} cases/s" if speed else "")

    return CasesPerSecond


def announce_compilation() -> None:
    """Say once that the first use compiles, if it will."""
    from rich.console import Console

    from dissensus.kernels.compiling import is_cached

    if not is_cached():
        Console(stderr=True).print(
            "compiling the kernels for first use: once, about half a minute, then cached on disk"
        )
