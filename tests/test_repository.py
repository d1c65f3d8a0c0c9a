"""The repository keeps its promises: names resolve, targets exist, versions agree."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import dissensus
from public_names import PUBLIC

ROOT = Path(__file__).parents[1]
MACHINE_PATHS = re.compile(rb"(?<![\w.~$}])/(?:home|Users|work|root)/[\w.-]+")


def test_every_public_name_resolves() -> None:
    for name, thing in PUBLIC.items():
        assert thing.__name__ in (name, f"simulate_{name.removeprefix('simulate.')}")
    with pytest.raises(AttributeError, match=r"since version 0\.3 it is dissensus\.metrics\.TopKAccuracy"):
        dissensus.TopKAccuracy  # type: ignore[attr-defined]  # noqa: B018 - the access is the test
    with pytest.raises(AttributeError, match=r"since version 0\.3 it is dissensus\.Study"):
        dissensus.Annotations  # type: ignore[attr-defined]  # noqa: B018
    assert set(dissensus.__all__) <= set(dir(dissensus))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dissensus.nonsense  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


def test_the_makefile_has_the_promised_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "check", "bench", "docs", "dist", "help"} <= targets


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
    files = [path for path in tracked_files() if path.is_file() and path != Path(__file__)]
    found = {path: match.group().decode() for path in files if (match := MACHINE_PATHS.search(path.read_bytes()))}
    assert found == {}


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
