"""The examples do what they say: scripts and commands run, in a directory of their own."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from command_calls import printed, told
from notebooks import code_cells, outputs

EXAMPLES = Path(__file__).parent.parent / "examples"
COMMANDS = re.findall(r"^dissensus .*$", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
SCRIPTS = {
    "label_again.py": "of them are not certain",
    "soft_labels.py": "wrote targets.npz",
    "compare_models.py": "not distinguishable",
    "own_metric.py": "missed plausibility",
}


def test_every_script_and_notebook_is_listed_and_tested() -> None:
    listed = re.findall(r"\| \[(.*?)\]", (EXAMPLES / "README.md").read_text())
    assert sorted(SCRIPTS) == sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert sorted(listed) == sorted([*SCRIPTS, *(path.name for path in EXAMPLES.glob("*.ipynb"))])


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts(script: str, tmp_path: Path) -> None:
    assert SCRIPTS[script] in printed(EXAMPLES / script, place=tmp_path)  # what it declares must not stay


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_and_show_what_they_hold(path: Path) -> None:
    """What is held is written by ``python tests/notebooks.py``; first lines are compared, which count what came out."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    held = [cell["outputs"] for cell in code_cells(notebook)]
    found = outputs(notebook)
    kinds, first = ([[one["output_type"] for one in cell] for cell in all_of] for all_of in (held, found))
    assert kinds == first
    assert len(path.read_bytes()) < 60_000
    for old, new in zip(held, found, strict=True):
        for one, other in zip(old, new, strict=True):
            before, after = (each.get("text") or each["data"]["text/plain"] for each in (one, other))
            assert before[0] == after[0]
            assert "text/html" not in one.get("data", {}) or "<script" not in "".join(one["data"]["text/html"])


def test_commands(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    said = [told(tmp_path, *shlex.split(command)[1:], piped=True).done().out for command in COMMANDS]
    assert len(said) == 5
    assert re.search(r"cases\s+40\b", said[0])
    assert "Birch" in said[-1]
    for name in ("uncertain.csv", "soft.parquet", "results/report.html"):
        assert (tmp_path / name).stat().st_size > 0


def test_the_data_are_those_of_the_simulated_study() -> None:
    from dissensus import read, simulate

    assert read(EXAMPLES / "data" / "opinions.csv") == simulate.study(n_cases=40, seed=3).annotations
