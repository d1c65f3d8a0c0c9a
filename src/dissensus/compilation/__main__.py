"""Do the exercises that are named, and print the name of each when it is done."""

from __future__ import annotations

import sys

from dissensus.compilation.exercises import EXERCISES

for name in sys.argv[1:]:
    EXERCISES[name]()
    print(name, flush=True)
