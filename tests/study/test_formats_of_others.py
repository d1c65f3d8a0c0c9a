"""A format that another package declares, the one that CONTRIBUTING shows, is known to Python and the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def skeleton() -> str:
    """Return the format that CONTRIBUTING shows."""
    section = CONTRIBUTING.read_text(encoding="utf-8").partition("## Adding a format")[2].partition("\n## ")[0]
    return section.partition("```python\n")[2].partition("```")[0]


BALLOTS = "ballots\nc1: Eczema, Tinea\nc2: Tinea\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Install a package of one module beside a file in its format."""
    (tmp_path / "ballot_format.py").write_text(skeleton(), encoding="utf-8")
    about = tmp_path / "ballot_format-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ballot-format\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[dissensus.formats]\nballots = ballot_format:Ballots\n", encoding="utf-8")
    (tmp_path / "votes.txt").write_text(BALLOTS, encoding="utf-8")
    return tmp_path


def run(place: Path, script: str) -> str:
    """Run a script in a process of its own, in which the package is installed."""
    code = f"import sys; sys.path.insert(0, {str(place)!r})\n{script}"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=place, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_it_is_recognised_from_python(place: Path) -> None:
    script = "from dissensus import read_annotations\nprint(read_annotations('votes.txt').to_rankings())"
    assert run(place, script).strip() == "[[[['Eczema'], ['Tinea']]], [[['Tinea']]]]"


@pytest.mark.parametrize("words", [[], ["--format", "ballots"]])
def test_it_is_known_to_the_command_line(place: Path, words: list[str]) -> None:
    script = f"sys.argv = ['dissensus', 'validate', 'votes.txt', *{words!r}]\nfrom dissensus.cli import main\nmain()"
    assert "understood as ballots" in run(place, script)


def test_it_is_named_where_formats_are_listed(place: Path) -> None:
    script = (
        "from dissensus import read_annotations\n"
        "try:\n    read_annotations('votes.txt', 'balots')\nexcept ValueError as error:\n    print(error.advice)"
    )
    assert run(place, script).strip() == "did you mean 'ballots'?"
