"""Pages are true: links lead somewhere, options exist, code prints what is shown; nothing public is left out."""

import json
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

import dissensus as ds
from dissensus.evaluation.plots import FIGURES
from dissensus.plugins import Aggregation, Metric
from dissensus.study.reading.format import Format
from documentation import BLOCK, DOCS, PAGES, ROOT, has_code, run
from public_names import NAMESPACES, PUBLIC

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
    pytest.param(one, id=one.stem, marks=[pytest.mark.slow] * (one.stem not in LIGHT)) for one in PAGES if has_code(one)
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


# The reference: nothing public is undocumented -----------------------------------------------------------


@pytest.fixture(scope="module")
def python() -> dict[str, str]:
    return {name: reference_pages.python_page(name) for name in ("", *NAMESPACES)}


def test_every_public_name_has_a_heading_a_sentence_and_an_example(python: dict[str, str]) -> None:
    texts = "\n".join(python.values())
    missing = [name for name in PUBLIC if f"\n## {name.removeprefix('simulate.')}\n" not in texts]
    assert missing == []
    for name, text in python.items():
        for title, words in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
            assert re.search(r"\w{3}.*\.", words), f"{name}.{title}"


def test_headings_lead_to_members_of_classes(python: dict[str, str]) -> None:
    assert "\n### Evaluation.compare\n" in python[""]
    assert "\n### Study.from_long\n" in python[""]
    assert "compare(first=None" in python[""].replace("\n    ", "")


def test_every_option_of_every_command_is_told() -> None:
    text = reference_pages.command_list()
    for name, command in reference_pages.commands().items():
        section = text.partition(f"## dissensus {name}\n")[2].partition("\n## ")[0]
        wanted = {one.opts[0] for one in command.params if one.opts[0].startswith("--")} - {"--help", "--help-all"}
        assert [option for option in wanted if f"`{option}" not in section] == [], name
        assert all(words.strip() for _, words, _ in reference_pages.options_of(command)), name


@pytest.mark.parametrize(("family", "kind"), [(Metric, "metrics"), (Aggregation, "aggregations")])
def test_every_metric_and_aggregation_has_an_equation_and_a_use(family: type, kind: str) -> None:
    words = reference_pages.WORDS[kind]
    assert set(words) == set(reference_pages.own(family.family))  # type: ignore[attr-defined]
    assert all(one["equation"].endswith(".") and one["use"].endswith(".") for one in words.values())


def literal(text: str) -> str:
    return re.sub(r"⟨.*?⟩", "…", text)


def test_every_warning_is_explained_and_none_that_is_gone() -> None:
    raised = {literal(problem) for _, problem, _ in reference_pages.messages("warn")}
    told = {one["match"] for one in reference_pages.WORDS["warnings"]}
    assert len(raised) >= 7
    assert raised - told == set()
    source = "".join(path.read_text(encoding="utf-8") for path in reference_pages.SOURCES.rglob("*.py"))
    assert [part for one in told for part in one.split("…") if len(part) > 5 and part not in source] == []


def test_errors_are_listed_with_advice() -> None:
    text = reference_pages.error_list()
    assert text.count("\n| ") > 300
    assert "did you mean" not in text.split("### ")[0]
    assert "there are too many folds" in text


def test_every_key_and_column_of_results_on_disk_is_told(tmp_path: Path) -> None:
    said = ds.Study.from_counts([[3, 1], [1, 3]], ["a", "b"])
    result = ds.evaluate(said, {"A": [[0.9, 0.1], [0.2, 0.8]]}, draws=20)
    result.save(tmp_path / "results")
    names = ("run.json", "summary.json")
    run, rows = (json.loads((tmp_path / "results" / name).read_text(encoding="utf-8")) for name in names)
    tables = (result.per_case(), result.per_draw(), result.certainties())
    page = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    told = {word for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)}
    assert told >= set(run) | set(rows[0]) | {column for table in tables for column in table.columns}
    assert f"version {run['version']}" in page


def test_what_the_map_of_the_paper_calls_ours_exists() -> None:
    page = (DOCS / "reference" / "paper-map.md").read_text(encoding="utf-8")
    ours = " ".join(row.rpartition(" | ")[2] for row in page.splitlines() if row.startswith("| "))
    called = set(re.findall(r"`(?:ds\.|result\.plot\.|study\.)?(\w+)\(", ours))
    homes = (ds, ds.Study, *(getattr(ds, name) for name in NAMESPACES))
    assert len(called) > 20
    assert called - {name for home in homes for name in dir(home)} - set(FIGURES) == set()
