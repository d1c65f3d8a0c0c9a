"""Measure evaluations of up to a million cases: ``make bench-scale``, or ``SIZES=10000,30000 make bench-scale``.

The numbers go to ``results.json`` and into ``docs/evidence/scale.md``; with ``SIZES``, to ``tried.json``.
The exit code is 1 if one is above its limit. It takes half an hour and some GB of disk, below ``SCALE_DIR`` if given.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from scale.constants import PROCESSORS
from scale.measurement import failures, measure, say
from scale.runs import Bench
from scale.sizing import RESULTS, TABLES
from scale.sizing import main as fill_page

SIZES = (10_000, 100_000, 1_000_000)
TRIED = RESULTS.with_name("tried.json")
"""Where results of other sizes go; nobody else sees them."""


def main() -> int:
    """Measure, and write what came out."""
    given = os.environ.get("SIZES")
    sizes = tuple(map(int, given.split(","))) if given else SIZES
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCALE_DIR")) as place:
        found = measure(Bench(Path(place)), sizes)
    about = {"processors": os.cpu_count(), "threads": PROCESSORS, "python": platform.python_version()}
    results = {"machine": about, **found}
    file = TRIED if given else RESULTS
    file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if not given:
        fill_page()
    print("\n".join(table(results) for table in TABLES.values()))
    above = failures(found["measured"])
    for what in above:
        say(f"above its limit: {what}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
