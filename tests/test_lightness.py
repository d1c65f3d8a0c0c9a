"""What must stay light: importing the package, and the command line up to its help."""

import pytest

from command_calls import printed

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
        (HELP.format(["evaluate", "--help"]), (HEAVY | {"pydantic"}) - TABLES),
    ],
)
def test_nothing_heavy_is_imported(statement: str, heavy: set[str]) -> None:
    assert not {name.partition(".")[0] for name in imported_by(statement)} & heavy


def imported_by(statement: str) -> set[str]:
    return set(printed("-c", f"import sys\n{statement}\nprint(*sys.modules)").split("\n")[-2].split())


def test_a_metric_is_found_by_its_id_without_the_others() -> None:
    found = imported_by('from dissensus.metrics.base import Metric\nMetric.family.find("auroc")')
    assert "dissensus.metrics.ranking" in found
    assert not {"dissensus.metrics.numbers", "dissensus.metrics.accuracy"} & found
