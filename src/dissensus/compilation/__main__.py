"""Do the exercises that are named, and print the name of each when it is done."""

from __future__ import annotations

import gc
import os
import signal
import sys
from threading import Thread

signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever started this process says that it was interrupted


def leave_with_parent() -> None:
    """Wait for the end of the standard input: it ends when the process that started this one does."""
    os.read(0, 1)
    os._exit(1)


Thread(target=leave_with_parent, daemon=True).start()

gc.disable()  # compiling makes many objects that stay, and looking through them takes an eighth of the time

from dissensus.compilation.exercises import EXERCISES  # noqa: E402

for name in sys.argv[1:]:
    EXERCISES[name]()
    print(name, flush=True)
