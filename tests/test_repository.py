"""The repository keeps its promises: names resolve, targets exist, versions agree, pages are true, their code runs."""

import contextlib
import io
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dissensus
from dissensus.study.reading.format import Format
from public_names import NAMESPACES, PUBLIC

ROOT = Path(__file__).parents[1]
MACHINE_PATHS = re.compile(rb"(?<![\w.~$}])/(?:home|Users|work|root)/[\w.-]+")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
IMPORTED = {"dissensus", *(f"dissensus.{name}" for name in NAMESPACES)}


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


def test_the_example_of_the_readme_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = r"```python\n(.*?)```(?:\s*```(?:text|console|output)?\n(.*?)```)?"
    ((code, shown),) = re.findall(block, text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue().split() == shown.split()


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# Pages ---------------------------------------------------------------------------------------------------


def test_tables_are_what_aggregations_and_metrics_say_about_themselves() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    names = re.findall(r"<!-- table: (\w+) -->", "".join(texts))
    assert sorted(names) == ["aggregations", "four_numbers", "metrics", "one_annotator"]
    assert list(map(runpy.run_path(str(ROOT / "docs" / "tables.py"))["filled"], texts)) == texts, "docs/tables.py"


def test_every_format_is_in_the_page_of_formats() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    own = [name for name, kind in Format.family.known().items() if kind.__module__.startswith("dissensus.")]
    assert own
    assert [name for name in own if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_import_public_names_only_and_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:from|import) (dissensus[\w.]*)", text, re.MULTILINE)) <= IMPORTED
    links_lead_somewhere(page)


def links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), f"{link}#{anchor}"


def anchors_of(page: Path) -> set[str]:
    """Name the headings of a page as its links do."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def code_of(page: Path) -> str:
    """Put the Python examples of a page together, without those that download."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return "\n".join(block for block in blocks if "fetch_" not in block)


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if code_of(page)], ids=lambda page: page.stem)
def test_examples_of_the_pages_run(page: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", code_of(page)]  # what it declares must not stay here
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
