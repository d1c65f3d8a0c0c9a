"""What reaches the terminal: text, tables and progress, with nothing hidden in them, in an encoding that it has."""

from __future__ import annotations

import codecs
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from io import TextIOWrapper
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from dissensus.core.errors import DissensusError
from dissensus.core.screen import Screen, visible

if TYPE_CHECKING:
    from dissensus.aggregations.base import Aggregation

# Signs of our own that an ASCII terminal shows in another way.
PLAIN = str.maketrans(
    {"\u2212": "-", "\u2013": "-", "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~", "…": "...", "\u00d7": "x"}
)


def prepare() -> None:
    """Let no character end a command: what the terminal cannot show is written in plain signs or as an escape."""
    codecs.register_error("dissensus.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="dissensus.plain")

    # in one line, without the place in the code that only a programmer looks for
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {visible(str(message))}", style="yellow")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


# Whether messages are wanted; results always are.
messages: ContextVar[bool] = ContextVar("messages", default=True)


def say(text: str, *, style: str = "", is_result: bool = False, error: str = "") -> None:
    r"""Print lines, messages and what begins with ``error`` to standard error; names in them are shown, never obeyed.

    >>> say("model \x1b[31mA", is_result=True)
    model \x1b[31mA
    """
    from rich.console import Console
    from rich.text import Text

    if is_result or error or messages.get():
        lines = "\n".join(map(visible, text.split("\n")))
        Console(stderr=not is_result, soft_wrap=True).print(Text(error, "bold red").append(lines, style or "default"))


def show(screen: Screen, *, as_json: bool = False) -> None:
    """Print a result: as JSON, as a person reads it, or for a pipe, which gets rows while sentences are messages."""
    if as_json or not sys.stdout.isatty():
        sys.stdout.write((screen.json() if as_json else screen.tabbed()) + "\n")
        for sentence in filter(None, (*screen.sentences, screen.place) if screen.records and not as_json else ()):
            say(sentence)
        return
    for place, line in enumerate(screen.text(get_terminal_size().columns).split("\n")):
        style = "bold" if screen.title and not place else "yellow" if line.startswith("! ") else ""
        say(line, style=style, is_result=True)


# Progress: shown while long work goes on, silent when nobody watches ------------------------------------------


class Bar:
    """A bar with its speed on standard error; calling it tells how much was just done."""

    def __init__(self, *, tells_cost: bool = False) -> None:
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Speed(progress.ProgressColumn):
            def render(self, task: progress.Task) -> Text:
                speed = task.finished_speed or task.speed
                return Text(f"{speed:,.0f} {task.fields['unit']}/s" if speed else "")

        columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
        remaining, console = progress.TimeRemainingColumn(), Console(stderr=True)
        self.tells_cost = tells_cost
        self.bar = progress.Progress(*columns, Speed(), remaining, console=console, transient=True)

    def expect(self, what: str, total: int, *, again: int = 0, unit: str = "cases") -> None:
        """Begin anew; what it costs to leave annotators out in turn is said before it starts."""
        if again and self.tells_cost:
            from dissensus.evaluation.annotators import LEFT_OUT_DRAWS

            say(
                f"annotators count as a sample: {again:,} cases are evaluated again without some of them, with "
                f"{LEFT_OUT_DRAWS} draws ({total - again:,} with all; --annotators fixed saves this)"
            )
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        self.bar.add_task(what, total=total, unit=unit)

    def __call__(self, done: int, /) -> None:
        """Take how much was just done."""
        for task in self.bar.task_ids:
            self.bar.advance(task, done)


@contextmanager
def progress_shown(what: str = "", total: int = 0, unit: str = "cases", *, tells_cost: bool = False) -> Iterator[Bar]:
    """Show how far work is, of this size if it is known before; and say what it costs to leave annotators out."""
    bar = Bar(tells_cost=tells_cost)
    if what:
        bar.expect(what, total, unit=unit)
    # where nobody looks, older versions of rich end even a disabled bar with an empty line
    with bar.bar if bar.bar.console.is_terminal and messages.get() else nullcontext():
        yield bar


def compile_on_first_use(*purposes: str, aggregations: Iterable[Aggregation] = ()) -> None:
    """Compile the kernels that a command needs, as far as this was not done yet, and say so.

    Parameters
    ----------
    purposes, aggregations
        Exercises of :mod:`dissensus.compilation`, and aggregations that are to be drawn from. A kernel that neither of
        them calls is compiled when it is called.
    """
    from dissensus.compilation import needed

    names = needed([*purposes, *(str(aggregation.id) for aggregation in aggregations)])
    if not names:
        return
    say("compiling kernels for first use: once, some seconds, then kept on disk")
    try:
        compile_with_progress(names)
    except DissensusError as error:
        say(f"{error}\nso they are compiled one after another, when they are needed")


def compile_with_progress(names: Collection[str], workers: int | None = None, *, force: bool = False) -> None:
    """Compile the kernels of some exercises, and show how far it is."""
    from dissensus.compilation import compile_kernels

    with progress_shown("compiling", len(names), "exercises") as advance:
        compile_kernels(names, workers=workers, force=force, done=lambda _: advance(1))
