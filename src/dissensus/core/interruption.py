"""Ctrl-C: what is under way is removed, what was written is told, and steps that belong together stay together."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Temporary places that this process is filling, and how each is removed.
UNDERWAY: dict[str, Callable[[], object]] = {}

# What the command that runs has written so far, as the user calls it.
WRITTEN: list[str] = []

EXIT_CODE = 130

# Clear the line of a progress bar, and show the cursor that it hid.
CLEAN_LINE = b"\r\x1b[2K\x1b[?25h"


@contextmanager
def told_when_interrupted() -> Iterator[None]:
    """Leave at once on Ctrl-C, with one line that says what was written.

    The process ends within the handler: an exception could be caught by others on its way, and would wait for threads.
    """
    WRITTEN.clear()
    if not _can_be_handled() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    previous = signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # all is done, and leaving takes a moment
        signal.signal(signal.SIGINT, previous)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until a few steps are done."""
    if not _can_be_handled():
        yield
        return
    came: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if came:
            signal.raise_signal(signal.SIGINT)


def _can_be_handled() -> bool:
    """Tell whether handlers can be set and put back: in the main thread, unless a foreign one is there."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is not None


def _leave(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for remove in list(UNDERWAY.values()):
        remove()
    kept = f"written before: {', '.join(WRITTEN)}" if WRITTEN else "nothing was written"
    line = f"interrupted; {kept}\n".encode(errors="backslashreplace")
    os.write(2, CLEAN_LINE + line if os.isatty(2) else line)
    os._exit(EXIT_CODE)
