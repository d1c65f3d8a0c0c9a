"""The page on trials is written from the code, and the guide shows a few of its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dissensus.trials import plan
from dissensus.trials.panel_page import FIGURE, OPENING, PLACE, SAFETY_WORDS, TOLD

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "panel.md").read_text(encoding="utf-8")


def test_the_page_has_the_words_of_the_code_and_all_that_is_planned(page: str) -> None:
    assert page.startswith(OPENING)
    assert all(words in page for words in (*TOLD.values(), SAFETY_WORDS))
    titles = re.findall(r"^### (.+)$", page, flags=re.MULTILINE)
    votes = [f"{plan.CHAOS_TITLE}: {votes} votes" for votes in plan.CHAOS_VOTES]
    votes += [f"{plan.CIFAR_TITLE}: {votes} votes" for votes in plan.CIFAR_VOTES]
    assert titles[:6] == votes
    assert len(titles) == 9
    assert page.count("| panel |") == 18


def test_the_page_was_written_with_at_least_twenty_studies_of_each_kind(page: str) -> None:
    (studies,) = {int(number) for number in re.findall(r"^(\d+) studies\.$", page, flags=re.MULTILINE)}
    assert studies >= 20


def test_the_guide_shows_the_numbers_of_the_page(page: str) -> None:
    guide = (DOCS / "which-number.md").read_text(encoding="utf-8")
    found = PLACE.search(guide)
    assert found is not None
    row = next(line for line in found[0].splitlines() if line.startswith("| panel |"))
    bias, holds = row.split(" | ")[1].split(", ")
    assert f"| panel | {bias} | {holds} (" in page


def test_figures_are_there() -> None:
    assert (DOCS / FIGURE).is_file()
    assert (DOCS / "images" / "four-numbers.svg").is_file()
