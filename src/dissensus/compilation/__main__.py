"""Do the exercises that are named, and print the name of each when it is done."""

from __future__ import annotations

import gc
import sys

gc.disable()  # compiling makes many objects that stay, and looking through them takes an eighth of the time

from dissensus.compilation.exercises import EXERCISES  # noqa: E402

for name in sys.argv[1:]:
    EXERCISES[name]()
    print(name, flush=True)
