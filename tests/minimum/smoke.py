"""What a user does, once and on a small study: it must work with the oldest versions that are declared.

Files of several formats are written and read again, and the scripts and commands of ``examples/`` run.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import narwhals as nw
import polars as pl

import dissensus as ds

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMANDS = re.findall(r"^dissensus (.*)$", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


def read_and_write(place: Path) -> None:
    """Give a study to files and tables, and take it back."""
    said = ds.simulate.study(n_cases=12, n_conditions=8, seed=1).annotations
    for suffix in ("csv", "parquet"):
        path = place / f"opinions.{suffix}"
        ds.write(said, path)
        assert ds.read(path) == said, suffix
    labels = pl.DataFrame({"case": ["p", "p", "q"], "annotator": ["x", "y", "x"], "condition": ["a|b", "b", ""]})
    labels.write_ndjson(place / "labels.jsonl")
    built = ds.Study.from_long(nw.from_native(labels), tie_separator="|")
    assert built.to_rankings() == [[[["a", "b"]], [["b"]]], [[]]]
    assert ds.read(place / "labels.jsonl", tie_separator="|") == built


def main() -> None:
    """Do everything, in a directory of its own."""
    dissensus = Path(sys.executable).with_name("dissensus")
    scripts = [[sys.executable, str(path)] for path in sorted(EXAMPLES.glob("*.py"))]
    with tempfile.TemporaryDirectory() as name:
        read_and_write(Path(name))
        shutil.copytree(EXAMPLES / "data", Path(name) / "data")
        for command in (*scripts, *([str(dissensus), *shlex.split(words)] for words in COMMANDS)):
            subprocess.run(command, cwd=name, capture_output=True, check=True)
        assert (Path(name) / "results" / "report.html").stat().st_size > 100_000


if __name__ == "__main__":
    main()
