"""The walk of one case in CONTRIBUTING.md leads along files that exist, in the order of the layers."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK = TEXT.partition("## The walk of one case")[2].partition("```text\n")[2].partition("```")[0]


def files_of_the_walk() -> list[str]:
    return re.findall(r"[\w/]+\.py\b", WALK)


def test_the_walk_leads_from_files_to_the_page() -> None:
    named = files_of_the_walk()
    assert len(named) >= 25
    assert (named[0], named[-2]) == ("core/files.py", "report/page.py")


def test_every_file_of_the_walk_exists() -> None:
    missing = [name for name in files_of_the_walk() if not (ROOT / "src" / "dissensus" / name).is_file()]
    assert not missing


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
