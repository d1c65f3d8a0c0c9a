"""What must stay light: importing the package, and the command line up to its help."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "polars", "numba", "scipy", "pandas", "pyarrow", "altair", "vl_convert", "jinja2"}


TABLES = {"numpy", "polars"}
"""What declares aggregations, metrics and formats works on arrays and tables; a command's help lists them."""

HELP = """sys.argv = ["dissensus", *{!r}]
from dissensus.cli import main
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import dissensus", HEAVY | {"rich", "typer", "narwhals"}),
        ("import dissensus.cli.app", HEAVY),
        (HELP.format(["--help"]), HEAVY),
        (HELP.format(["--version"]), HEAVY),
        (HELP.format(["report", "--help"]), HEAVY),
        (HELP.format(["validate", "--help"]), HEAVY - TABLES),
        (HELP.format(["evaluate", "--help"]), HEAVY - TABLES),
    ],
)
def test_nothing_heavy_is_imported(statement: str, heavy: set[str]) -> None:
    script = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(outcome.stdout.split("\n")[-2].split()) & heavy
