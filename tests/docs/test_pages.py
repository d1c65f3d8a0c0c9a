"""Pages are true: links lead somewhere, options exist, code runs and prints what is shown; and they are short."""

import os
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import assembly
import pytest
import reference_pages
from gallery_figures import FOLDER

from dissensus.evaluation.plots import FIGURES
from dissensus.study.reading.format import Format
from documentation import BLOCK, PAGES, ROOT, has_code, run
from public_names import NAMESPACES

IMPORTED = {"dissensus", *(f"dissensus.{name}" for name in NAMESPACES)}
LIGHT = {
    *("agreement", "certainty", "differences-from-the-paper", "files", "first-report", "metrics"),
    *("own-posterior", "simulate", "soft-labels"),
}
"""Pages whose code takes little; `make test-all` runs all."""

MOST_WORDS, MOST_LINES_OF_README = 30_000, 120


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    return assembly.pages()


def test_links_of_the_site_lead_somewhere(site: dict[str, str]) -> None:
    drawn = {f"{FOLDER}/{name}.svg" for name in FIGURES}
    places = {*site, *drawn, *(place.as_posix() for place in assembly.sources().values())}
    anchors = {name: anchors_of(text) for name, text in site.items()}
    wrong = []
    for name, text in site.items():
        for link, anchor in links_of(text):
            target = os.path.normpath(Path(name).parent / link) if link else name
            if target not in places or (anchor and anchor not in anchors[target]):
                wrong.append(f"{name}: {link}#{anchor}")
    assert wrong == [], "\n".join(wrong)


def test_links_of_the_readme_lead_to_files_or_pages(site: dict[str, str]) -> None:
    for link, _ in links_of((ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / link).exists() or link.removeprefix("docs/") in site, link


def links_of(text: str) -> list[tuple[str, str]]:
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    plain = re.sub(r"`[^`\n]*`", "", plain)
    return re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", plain)


def anchors_of(text: str) -> set[str]:
    """Name the headings of a page as its links do."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    plain = [re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles]
    return {f"{one}_{plain[:place].count(one)}" if one in plain[:place] else one for place, one in enumerate(plain)}


SEARCHED = {
    "install": "start/install.md",
    "csv": "start/first-report.md",
    "majority vote": "explanation/which-number.md",
    "kappa": "explanation/agreement.md",
    "auroc": "reference/metrics.md",
    "sensitivity": "tutorials/two-classifiers.md",
    "non-inferiority": "explanation/comparisons.md",
    "margin": "explanation/comparisons.md",
    "differential diagnosis": "tutorials/differential-diagnosis.md",
    "ties": "reference/aggregations.md",
    "findings": "tutorials/findings.md",
    "grades": "tutorials/grades-and-numbers.md",
    "llm judges": "tutorials/llm-judges.md",
    "sample size": "how-to/plan-a-study.md",
    "soft labels": "how-to/soft-labels.md",
    "guarantee": "how-to/conformal-sets.md",
    "dask": "how-to/large-studies.md",
    "label studio": "how-to/files.md",
    "reliability": "explanation/reliability.md",
    "plackett-luce": "reference/aggregations.md",
}
"""Words that people type into the search, and a page that it must be able to find."""


def test_pages_hold_the_words_that_people_search_for(site: dict[str, str]) -> None:
    assert [word for word, page in SEARCHED.items() if word not in site[page].lower()] == []


def test_every_page_is_in_the_navigation_once(site: dict[str, str]) -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert sorted(leaves(nav)) == sorted(site)


def leaves(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:  # type: ignore[attr-defined]
            yield from leaves(one)


def test_outside_reference_and_evidence_there_are_at_most_30_000_words(site: dict[str, str]) -> None:
    counted = [len(text.split()) for name, text in site.items() if not name.startswith(("reference/", "evidence/"))]
    assert sum(counted) <= MOST_WORDS
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_README


def test_commands_on_pages_have_the_options_that_are_shown() -> None:
    known = {
        name: {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        for name, command in reference_pages.commands().items()
    }
    found = 0
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for name, rest in re.findall(r"(?:^|`|[$] )dissensus ([a-z]+)((?: [^`\n|&#]*)?)", text, re.MULTILINE):
            assert name in known, f"{page.name}: dissensus {name}"
            for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest):
                found += 1
                assert option in {*known[name], "--help", "--help-all"}, f"{page.name}: dissensus {name} {option}"
    assert found > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_import_public_names_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:from|import) (dissensus[\w.]*)", text, re.MULTILINE)) <= IMPORTED


RUN = [
    pytest.param(page, id=page.stem, marks=[] if page.stem in LIGHT else [pytest.mark.slow])
    for page in PAGES
    if has_code(page)
]


@pytest.mark.parametrize("page", RUN)
def test_code_of_pages_runs_and_prints_what_is_shown(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    now, shown = (["".join(block.group().split()) for block in BLOCK.finditer(one)] for one in (run(page), text))
    assert now == shown, "python tests/documentation.py writes what is printed into the page"


@pytest.mark.slow
def test_tables_of_pages_are_what_code_says() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    names = re.findall(r"<!-- table: (\w+) -->", "".join(texts))
    assert sorted(names) == ["four_numbers", "one_annotator"]
    assert list(map(runpy.run_path(str(ROOT / "docs" / "tables.py"))["filled"], texts)) == texts, "docs/tables.py"


def test_every_format_is_in_the_page_of_formats() -> None:
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    own = [name for name, kind in Format.family.known().items() if kind.__module__.startswith("dissensus.")]
    assert own
    assert [name for name in own if f"| `{name}` |" not in page] == []
