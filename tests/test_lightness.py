"""What must stay light: importing the package, and the command line up to its help."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "polars", "numba", "scipy", "pandas", "pyarrow", "plotly", "jinja2", "matplotlib"}


def imported_by(statement: str) -> set[str]:
    """Name the top-level modules that a statement brings in, in a process of its own."""
    script = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(outcome.stdout.split("\n")[-2].split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not imported_by("import dissensus") & (HEAVY | {"rich", "typer", "narwhals"})


def test_the_command_line_imports_nothing_heavy() -> None:
    assert not imported_by("import dissensus.cli.app") & HEAVY


TABLES = {"numpy", "polars"}
"""What declares aggregations, metrics and formats works on arrays and tables; a command's help lists them."""


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["report", "--help"], set()),
        (["validate", "--help"], TABLES),
        (["evaluate", "--help"], TABLES),
    ],
)
def test_help_imports_nothing_heavy(words: list[str], allowed: set[str]) -> None:
    statement = (
        f"sys.argv = ['dissensus', *{words!r}]\n"
        "from dissensus.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
    )
    script = f"import sys\n{statement}print(*{{name.partition('.')[0] for name in sys.modules}})"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(outcome.stdout.split("\n")[-2].split()) & (HEAVY - allowed)
