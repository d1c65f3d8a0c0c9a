"""The repository keeps its promises: names resolve, targets exist, versions are plain, the README runs."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dissensus

ROOT = Path(__file__).parents[1]
MACHINE_PATHS = re.compile(rb"(?<![\w.~$}])/(?:home|Users|work|root)/[\w.-]+")
SHORT_README = 20


def test_every_public_name_resolves() -> None:
    for name in dissensus.__all__:
        assert getattr(dissensus, name).__name__ == name
    assert set(dissensus.__all__) <= set(dir(dissensus))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dissensus.nonsense  # noqa: B018 - the access is the test


def test_the_makefile_has_the_promised_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "check", "bench", "docs", "help"} <= targets


def test_constraints_are_plain_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    plain = re.compile(r"(#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+)?")
    assert [line for line in lines if not plain.fullmatch(line)] == []
    assert not any("://" in line for line in lines)


def tracked_files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    outcome = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if outcome.returncode:
        pytest.skip("git cannot list the files here")
    return [ROOT / name for name in outcome.stdout.decode().split("\0") if name]


def test_no_tracked_file_names_a_directory_of_one_machine() -> None:
    found = {
        str(path.relative_to(ROOT)): match.group().decode()
        for path in tracked_files()
        if path.is_file() and path != Path(__file__) and (match := MACHINE_PATHS.search(path.read_bytes()))
    }
    assert found == {}


def readme_examples() -> list[tuple[str, str]]:
    """Give the Python examples of the README, each with the output shown in the block that follows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.compile(r"```python\n(.*?)```(?:\s*```(?:text|console|output)?\n(.*?)```)?", re.DOTALL)
    return [(match[1], match[2] or "") for match in block.finditer(text)]


def test_the_example_of_the_readme_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= SHORT_README:
        pytest.skip("the README is still a stub")
    ((code, shown),) = readme_examples()
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue().split() == shown.split()
