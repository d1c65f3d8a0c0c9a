"""Reproducing: with no data, with some, with wrong data; as frame, JSON, page and figures."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dissensus.core.errors import DissensusError
from paper.data.dermatology import Dermatology
from paper.reproduction import Reproduction, reproduce
from paper.reproduction.__main__ import main
from paper.reproduction.charts_of_paper import FIGURES, charts_of
from paper.reproduction.page import HEAVY, page_text, write_page
from paper.tests.data.published_files import SCORES, write_ava, write_cifar10h, write_dermatology, write_toxicity

quickly = partial(reproduce, draws=60, sweep_draws=10)


@pytest.fixture(scope="module")
def bare() -> Reproduction:
    return quickly()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small file of every data set, each in its folder."""
    top = tmp_path_factory.mktemp("published")
    write_dermatology(top / "dermatology_ddx")
    for number in range(4):
        scores = np.roll(SCORES, number, axis=1)
        np.savetxt(top / "dermatology_ddx" / f"dermatology_predictions{number}.txt", scores, fmt="%.3e")
    write_cifar10h(top / "cifar10h")
    np.save(top / "cifar10h" / "true_labels.npy", np.array([3, 8, 9]))
    write_ava(top / "ava")
    write_toxicity(top / "wikipedia_toxicity")
    return top


@pytest.fixture(scope="module")
def full(everything: Path) -> Reproduction:
    return quickly(everything)


def test_without_data_the_toy_problem_and_the_printed_cases_run(bare: Reproduction) -> None:
    assert [section.title for section in bare.sections] == ["Toy problem", "Printed cases"]
    assert [each.title for each in bare.missing] == [
        "CIFAR-10H data",
        "AVA ratings",
        "Wikipedia toxicity annotations",
        "dermatology data",
        "large panels beyond the paper",
    ]
    assert all("get it from" in str(each) for each in bare.missing)


def test_every_data_set_is_found_in_its_folder(full: Reproduction) -> None:
    titles = [section.title for section in full.sections]
    assert len(titles) == len(set(titles)) == 8
    assert [each.title for each in full.missing] == ["large panels beyond the paper"]
    assert len(full.notes) == 4
    assert sum("other contents than the published ones" in note for note in full.notes) == 3
    assert sum("not those that the paper prints" in note for note in full.notes) == 1


def test_data_may_lie_in_the_directory_itself(tmp_path: Path) -> None:
    result = quickly(write_toxicity(tmp_path))
    assert "Wikipedia toxicity ratings" in [section.title for section in result.sections]
    assert "dermatology data" in [each.title for each in result.missing]


def test_models_that_are_not_the_published_ones_are_stood_in_for(full: Reproduction) -> None:
    rows = [row for row in full.rows if row.section.startswith("Models")]
    assert {row.verdict for row in rows} <= {"not comparable", "not in the paper"}
    assert any("stand-in" in row.explanation for row in rows)


def test_published_models_are_compared_and_not_stood_in_for(everything: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dermatology, "has_published_models", True)
    rows = [row for row in quickly(everything / "dermatology_ddx").rows if row.section.startswith("Models")]
    assert {"A: ", "B: ", "C: ", "D: "} <= {row.quantity[:3] for row in rows}
    assert not any("stand-in" in row.explanation or row.verdict == "not comparable" for row in rows)


def test_missing_models_are_said(tmp_path: Path) -> None:
    result = quickly(write_dermatology(tmp_path))
    assert "predictions of the four models" in [each.title for each in result.missing]
    assert any(row.verdict == "not comparable" for row in result.rows)


def test_every_difference_has_a_reason(bare: Reproduction, full: Reproduction) -> None:
    for row in (*bare.rows, *full.rows):
        assert row.explanation or row.verdict != "differs"
        assert row.settings


def test_the_frame_has_a_row_per_number(full: Reproduction) -> None:
    frame = full.to_frame()
    assert len(frame) == len(full.rows)
    assert frame.columns[:6] == ["section", "quantity", "paper", "paper_value", "tolerance", "ours"]
    assert sum(full.counts.values()) == len(full.rows)


def test_json_is_valid_and_whole(full: Reproduction) -> None:
    told = json.loads(full.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert len(told["rows"]) == len(full.rows)
    assert told["settings"]["draws"] == 60
    assert told["verdicts"] == full.counts
    assert {"section", "quantity", "paper", "ours", "monte_carlo_error", "settings", "verdict", "reason"} <= set(
        told["rows"][0]
    )


def test_the_same_seed_gives_the_same_numbers(bare: Reproduction) -> None:
    assert quickly().to_json() == bare.to_json()
    assert [row.ours for row in quickly(seed=1).rows] != [row.ours for row in bare.rows]


def test_who_watches_is_told_of_every_experiment() -> None:
    seen: list[tuple[str, int, int]] = []
    quickly(watch=lambda *told: seen.append(told))
    assert seen == [("toy problem", 0, 2), ("printed cases", 1, 2), ("done", 2, 2)]


def test_a_directory_without_the_files_lists_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_text("x", encoding="utf-8")
    with pytest.raises(DissensusError, match="none of the data") as caught:
        reproduce(tmp_path)
    for name in (
        "dermatology_selectors.json",
        "cifar10h-counts.npy",
        "ava_labels_test.json",
        "toxicity_annotations.tsv",
    ):
        assert name in caught.value.expected
    assert "holiday.jpg" in caught.value.got
    with pytest.raises(DissensusError, match="no such directory"):
        reproduce(tmp_path / "nowhere")


def test_a_file_of_another_shape_is_named(tmp_path: Path) -> None:
    write_cifar10h(tmp_path, np.ones((4, 7), dtype=np.int64))
    with pytest.raises(DissensusError, match=r"cifar10h-counts\.npy"):
        quickly(tmp_path)


def test_half_a_data_set_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    (tmp_path / "dermatology_conditions.txt").unlink()
    with pytest.raises(DissensusError, match=r"dermatology_conditions\.txt"):
        quickly(tmp_path)


def test_there_are_figures_of_what_there_is(bare: Reproduction, full: Reproduction) -> None:
    titles = {section.title for section in bare.sections}
    possible = {figure.name for figure in FIGURES if figure.section in titles}
    assert {"toy", "case_1026", "case_153"} <= possible
    assert set(charts_of(bare.frames)) == possible
    assert set(charts_of(full.frames)) == {figure.name for figure in FIGURES}


def test_the_page_holds_every_number_and_its_figures(full: Reproduction, tmp_path: Path) -> None:
    page, *images = write_page(full, tmp_path / "reproduction.md")
    text = page.read_text(encoding="utf-8")
    for row in full.rows:
        assert row.quantity.replace("|", "\\|") in text
        assert row.ours_text in text
    linked = re.findall(r"\]\((images/[^)]+)\)", text)
    assert {tmp_path / name for name in linked} == set(images)
    assert all(image.stat().st_size < HEAVY for image in images)
    assert "Two rules for ties" in text


def test_tables_of_the_page_are_whole(full: Reproduction) -> None:
    text = page_text(full)
    folded = text.split("## All numbers")[1]
    rows = [re.split(r"(?<!\\)\|", line) for line in folded.splitlines() if line.startswith("| ")]
    assert len(rows) == len(full.rows) + len(full.sections)
    assert {len(cells) for cells in rows} == {8}
    assert folded.count("<details") == folded.count("</details>") == len(full.sections)


def test_every_claim_in_words_stands_in_the_list_once(full: Reproduction) -> None:
    (told,) = re.findall(r"## What the paper says in words\n(.+?)\n## ", page_text(full), flags=re.DOTALL)
    claims = re.findall(r'^- ".+$', told, flags=re.MULTILINE)
    assert len(claims) == len(set(claims)) == sum(bool(row.words) for row in full.rows)
    first = told.partition("**Agrees:**")[0]
    differing = [row for row in full.rows if row.words and row.verdict == "differs"]
    assert differing
    assert all(row.explanation[1:] in first for row in differing)


def test_a_printed_number_stands_in_the_table_once(full: Reproduction) -> None:
    (told,) = re.findall(r"## What it prints\n(.+?)\n## ", page_text(full), flags=re.DOTALL)
    lines = [line for line in told.splitlines() if line.startswith("| case 1026, model A")]
    assert [("PL" in line, 'ties="each"' in line) for line in lines] == [(True, False), (False, True)]
    assert told.index("**Differs:**") < told.index("<details")


def test_the_page_is_written_from_the_command_line(
    everything: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "page.md")]) == 2
    assert "no such directory" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()
    monkeypatch.setattr("paper.reproduction.__main__.reproduce", quickly)
    assert main([str(everything / "wikipedia_toxicity"), str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith("# Reproducing the paper")
