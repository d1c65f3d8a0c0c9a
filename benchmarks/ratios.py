"""Collect what the benchmarks measured, row by row, into a small JSON file and the page of the documentation."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def main(measured: Path, results: Path, old: Path | None = None) -> int:
    """Write the results, print them, and return 1 if one is above its limit.

    ``old`` is what pytest-benchmark wrote of the benchmarks of version 0.2, which have the same names.
    """
    rows: list[dict[str, Any]] = [json.loads(line) for line in measured.read_text(encoding="utf-8").splitlines()]
    before = {}
    if old is not None:
        told = [one for one in json.loads(old.read_text())["benchmarks"] if "what" in one["extra_info"]]
        before = {one["name"]: number(one["extra_info"]) for one in told}
    for row in rows:
        if row["benchmark"] in before:
            row["version 0.2"] = before[row["benchmark"]]
    about = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    results.write_text(json.dumps({"machine": about, "measured": rows}, indent=2) + "\n")
    lines = ["| measured | value | version 0.2 | limit |", "|---|---|---|---|", *map(line_of, rows)]
    print("\n".join(lines))
    page = PAGE.read_text()
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2])
    return int(any(number(row) > row["limit"] for row in rows if "limit" in row))


def number(row: dict[str, Any]) -> float:
    """Return what was measured."""
    return float(row["ratio"] if "ratio" in row else row["value"])


def processor() -> str:
    """Name the processor, where Linux does."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def line_of(row: dict[str, Any]) -> str:
    """Write a row of the table; beside the number, that of version 0.2, if it was measured in the same run."""
    unit, before = row.get("unit", ""), row.get("version 0.2")
    limit = f"≤ {row['limit']} {unit}".strip() if "limit" in row else unit
    shown = "" if before is None else f"{before:,.3g}"
    return f"| {row['what']} | {number(row):,.3g} | {shown} | {limit} |"


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
