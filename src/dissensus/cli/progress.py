"""Progress on the terminal: shown while long work goes on, silent when nobody watches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dissensus.cli.terminal import say

if TYPE_CHECKING:
    from dissensus.aggregations.base import Aggregation


class Bar:
    """A bar with its speed on standard error; calling it tells how much was just done."""

    def __init__(self, *, tells_cost: bool = False) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class Speed(ProgressColumn):
            def render(self, task: Task) -> Text:
                speed = task.finished_speed or task.speed
                return Text(f"{speed:,.0f} {task.fields['unit']}/s" if speed else "")

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn())
        self.tells_cost = tells_cost
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)

    def expect(self, what: str, total: int, *, again: int = 0, unit: str = "cases") -> None:
        """Begin anew; what it costs to leave annotators out in turn is said before it starts."""
        from dissensus.evaluation.left_out import LEFT_OUT_DRAWS

        if again and self.tells_cost:
            say(
                f"annotators count as a sample: {again:,} cases are evaluated again without some of them, with "
                f"{LEFT_OUT_DRAWS} draws ({total - again:,} with all; --annotators fixed saves this)",
                stderr=True,
            )
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        self.bar.add_task(what, total=total, unit=unit)

    def __call__(self, done: int, /) -> None:
        """Take how much was just done."""
        for task in self.bar.task_ids:
            self.bar.advance(task, done)


@contextmanager
def shown(what: str = "", total: int = 0, unit: str = "cases", *, tells_cost: bool = False) -> Iterator[Bar]:
    """Show how far work is, of this size if it is known before; and say what it costs to leave annotators out."""
    bar = Bar(tells_cost=tells_cost)
    if what:
        bar.expect(what, total, unit=unit)
    with _if_watched(bar.bar):
        yield bar


def _if_watched(shown: Any) -> Any:
    """Show nothing where nobody looks: older versions of rich end even a disabled bar with an empty line."""
    return shown if shown.console.is_terminal else nullcontext()


def compile_on_first_use(*purposes: str, aggregations: Iterable[Aggregation] = ()) -> None:
    """Compile the kernels that a command needs, as far as this was not done yet, and say so.

    Parameters
    ----------
    purposes, aggregations
        Exercises of :mod:`dissensus.compilation`, and aggregations that are to be drawn from. A kernel that neither of
        them calls is compiled when it is called.
    """
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

    bar = Progress(console=Console(stderr=True), transient=True)
    with _if_watched(bar):
        task = bar.add_task("compiling", total=len(names))
        compile_kernels(names, workers=workers, force=force, done=lambda _: bar.advance(task))
