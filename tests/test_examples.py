"""The examples do what they say: scripts and commands run, in a directory of their own."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
COMMANDS = re.findall(r"^dissensus .*$", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
SCRIPTS = {
    "label_again.py": "of them are not certain",
    "soft_labels.py": "wrote targets.npz",
    "compare_models.py": "not distinguishable",
    "own_metric.py": "missed plausibility",
}


def run(place: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, *words], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_listed_and_tested() -> None:
    listed = re.findall(r"\| \[(.*?)\]", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == sorted(SCRIPTS) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts(script: str, tmp_path: Path) -> None:
    assert SCRIPTS[script] in run(tmp_path, str(EXAMPLES / script))


def test_commands(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    call = "import sys; from dissensus.cli import main; main()"
    said = [run(tmp_path, "-c", call, *shlex.split(command)[1:]) for command in COMMANDS]
    assert len(said) == 5
    assert re.search(r"cases\s+40\b", said[0])
    assert "Birch" in said[-1]
    for name in ("uncertain.csv", "soft.parquet", "results/report.html"):
        assert (tmp_path / name).stat().st_size > 0


def test_the_data_are_those_of_the_simulated_study() -> None:
    from dissensus import read_annotations, simulate_study

    assert read_annotations(EXAMPLES / "data" / "opinions.csv") == simulate_study(n_cases=40, seed=3).annotations
