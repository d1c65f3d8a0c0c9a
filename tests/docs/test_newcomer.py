"""The newcomer's path: the wheel, installed elsewhere, runs the commands of "Your first report"."""

import os
import shlex
import shutil
import venv
from functools import partial
from pathlib import Path

import pytest

from command_calls import printed
from documentation import COMMAND, DOCS, ROOT

PAGE = (DOCS / "start" / "first-report.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(one) for one in COMMAND.findall(PAGE) if one.startswith("dissensus")]


def test_start_has_at_most_four_commands_of_which_two_are_enough() -> None:
    assert [words[1] for words in COMMANDS] == ["validate", "evaluate", "compare", "cases"]


@pytest.mark.slow
def test_the_wheel_in_a_clean_environment_walks_the_newcomers_path(tmp_path: Path) -> None:
    """Needs a package index that pip can reach; nothing of the repository is on the path."""
    work = shutil.copytree(DOCS / "start" / "files", tmp_path / "work")
    clean = partial(printed, place=work, PYTHONPATH=None)
    clean("-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT, PIP_CONSTRAINT=None)
    (wheel,) = tmp_path.glob("dissensus-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    clean(programs / "python", "-m", "pip", "install", wheel, PIP_CONSTRAINT=str(ROOT / "constraints.txt"))
    for words in COMMANDS:
        clean(programs / words[0], *words[1:])
    assert "reader" in (work / "results" / "report.html").read_text(encoding="utf-8")
    assert wheel.name.split("-")[1] in clean(programs / "dissensus", "--version")
    where = clean(programs / "python", "-c", "import dissensus; print(dissensus.__file__)")
    assert Path(where.strip()).is_relative_to(tmp_path / "env")
