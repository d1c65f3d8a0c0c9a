"""CONTRIBUTING.md tells the truth: the walk of one case is that of a trace, files exist, layers are those checked."""

import re
import tomllib
from pathlib import Path

from command_calls import printed

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK = TEXT.partition("## The walk of one case")[2].partition("```text\n")[2].partition("```")[0]


def test_the_walk_is_that_of_a_trace(tmp_path: Path) -> None:
    """In a process of its own, since modules that are imported already run none of their functions on the way in."""
    told = printed(ROOT / "tests" / "walk.py", place=tmp_path, PYTHONPATH=str(ROOT / "src"))
    traced = [line.split(".py")[0] for line in told.splitlines() if re.match(r"[\w/]+\.py", line)]
    assert len(traced) > 60
    assert [line.split(".py")[0] for line in WALK.splitlines()] == traced


def test_files_that_are_named_anywhere_on_the_page_exist() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", TEXT)
    assert len(named) >= 8
    wanted = [name for name in named if "NAME" not in name]
    assert not [name for name in wanted if not (ROOT / name).exists()]


def test_the_table_of_packages_is_that_of_the_linter() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]][::-1]
    rows = re.findall(r"^\| (`[^|]+) \|", TEXT.partition("## The tree is the flow")[2], flags=re.MULTILINE)
    assert [sorted(re.findall(r"\w+", row)) for row in rows] == [sorted(layer) for layer in layers]
