"""Collect what the benchmarks measured into a small JSON file and the page of the documentation."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def main(raw: Path, results: Path) -> int:
    """Write the results, print them, and return 1 if a ratio is above its limit."""
    measured = json.loads(raw.read_text())
    rows = [entry["extra_info"] for entry in measured["benchmarks"] if "what" in entry["extra_info"]]
    machine = measured["machine_info"]
    about = {"processor": machine["cpu"].get("brand_raw", ""), "cores": machine["cpu"].get("count")}
    about["python"] = machine["python_version"]
    results.write_text(json.dumps({"machine": about, "measured": rows}, indent=2) + "\n")
    lines = ["| measured | value | limit |", "|---|---|---|", *(_row(row) for row in rows)]
    print("\n".join(lines))
    page = PAGE.read_text()
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2])
    return int(any(row.get("ratio", row.get("value")) > row["limit"] for row in rows if "limit" in row))


def _row(row: dict[str, object]) -> str:
    value = row["ratio"] if "ratio" in row else row["value"]
    shown = f"{value:,.3g}" if isinstance(value, float) else str(value)
    limit = f"≤ {row['limit']} {row.get('unit', '')}".strip() if "limit" in row else row.get("unit", "")
    return f"| {row['what']} | {shown} | {limit} |"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
