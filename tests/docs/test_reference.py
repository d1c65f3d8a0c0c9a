"""Nothing public is undocumented: names, commands and options, metrics, aggregations, warnings."""

import json
import re
from pathlib import Path

import pytest
import reference_pages as pages

import dissensus as ds
from dissensus.evaluation.plots import FIGURES
from dissensus.plugins import Aggregation, Metric
from documentation import DOCS
from public_names import NAMESPACES, PUBLIC


@pytest.fixture(scope="module")
def python() -> dict[str, str]:
    return {name: pages.python_page(name) for name in ("", *NAMESPACES)}


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
    text = pages.command_list()
    for name, command in pages.commands().items():
        section = text.partition(f"## dissensus {name}\n")[2].partition("\n## ")[0]
        wanted = [
            one.opts[0]
            for one in command.params
            if one.opts[0].startswith("--") and one.name not in ("help", "help_all")
        ]
        assert [option for option in wanted if f"`{option}" not in section] == [], name
        assert all(words.strip() for _, words, _ in pages.options_of(command)), name


@pytest.mark.parametrize(("family", "kind"), [(Metric, "metrics"), (Aggregation, "aggregations")])
def test_every_metric_and_aggregation_has_an_equation_and_a_use(family: type, kind: str) -> None:
    words = pages.WORDS[kind]
    assert set(words) == set(pages.own(family.family))  # type: ignore[attr-defined]
    assert all(one["equation"].endswith(".") and one["use"].endswith(".") for one in words.values())


def literal(text: str) -> str:
    return re.sub(r"⟨.*?⟩", "…", text)


def test_every_warning_is_explained_and_none_that_is_gone() -> None:
    raised = {literal(problem) for _, problem, _ in pages.messages("warn")}
    told = {one["match"] for one in pages.WORDS["warnings"]}
    assert len(raised) >= 7
    assert raised - told == set()
    source = "".join(path.read_text(encoding="utf-8") for path in pages.SOURCES.rglob("*.py"))
    assert [part for one in told for part in one.split("…") if len(part) > 5 and part not in source] == []


def test_errors_are_listed_with_advice() -> None:
    text = pages.error_list()
    assert text.count("\n| ") > 300
    assert "did you mean" not in text.split("### ")[0]
    assert "there are too many folds" in text


def test_every_key_and_column_of_results_on_disk_is_told(tmp_path: Path) -> None:
    said = ds.Study.from_counts([[3, 1], [1, 3]], ["a", "b"])
    result = ds.evaluate(said, {"A": [[0.9, 0.1], [0.2, 0.8]]}, draws=20)
    result.save(tmp_path / "results")
    keys = set(json.loads((tmp_path / "results" / "run.json").read_text(encoding="utf-8")))
    rows = json.loads((tmp_path / "results" / "summary.json").read_text(encoding="utf-8"))
    tables = (result.per_case(), result.per_draw(), result.certainties())
    page = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    told = {word for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)}
    assert told >= keys | set(rows[0]) | {column for table in tables for column in table.columns}
    assert f"version {json.loads((tmp_path / 'results' / 'run.json').read_text())['version']}" in page


def test_what_the_map_of_the_paper_calls_ours_exists() -> None:
    page = (DOCS / "reference" / "paper-map.md").read_text(encoding="utf-8")
    ours = " ".join(row.rpartition(" | ")[2] for row in page.splitlines() if row.startswith("| "))
    called = set(re.findall(r"`(?:ds\.|result\.plot\.|study\.)?(\w+)\(", ours))
    homes = (ds, ds.Study, *(getattr(ds, name) for name in NAMESPACES))
    assert len(called) > 20
    assert called - {name for home in homes for name in dir(home)} - set(FIGURES) == set()
