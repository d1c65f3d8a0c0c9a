"""The page on trials is written from the code, and the guide shows a few of its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper.trials import family_page, plan
from paper.trials.families import FAMILIES, MIXTURE, RAKING, WITHOUT_FIRST
from paper.trials.panel_page import FIGURE, OPENING, PLACE, SAFETY_WORDS, TOLD

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = Path(__file__).parents[3] / "docs"


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
    assert page.count("\n| panel |") == 18


def test_the_page_was_written_with_at_least_twenty_studies_of_each_kind(page: str) -> None:
    (studies,) = {int(number) for number in re.findall(r"^(\d+) studies\.$", page, flags=re.MULTILINE)}
    assert studies >= 20


def test_the_guide_shows_the_numbers_of_the_page(page: str) -> None:
    guide = (GUIDES / "explanation" / "panel.md").read_text(encoding="utf-8")
    found = PLACE.search(guide)
    assert found is not None
    row = next(line for line in found[0].splitlines() if line.startswith("| panel |"))
    bias, holds = row.split(" | ")[1].split(", ")
    assert f"| panel | {bias} | {holds} (" in page


def test_the_figure_is_there() -> None:
    assert (DOCS / FIGURE).is_file()


@pytest.fixture(scope="module")
def families(page: str) -> str:
    found = family_page.PLACE.search(page)
    assert found is not None
    return found[0]


def gains(families: str, family: str, table: int) -> list[float]:
    """Read the gains of a family, in thousandths, from the means over data sets (0) or from a table of data sets."""
    row = [line for line in families.splitlines() if line.startswith(f"| {family} |")][table]
    return [float(gain.replace("\N{MINUS SIGN}", "-")) for gain in re.findall(r"(\S+) \([\d.]+\)", row)]


def test_the_page_tells_of_all_families(families: str) -> None:
    assert family_page.OPENING in families
    assert all(f"\n| {family.name} |" in families for family in FAMILIES)
    assert families.count("| *judged by* |") == 3


def test_what_is_said_about_families_is_what_the_numbers_say(families: str) -> None:
    (mixture,), (first,), (raking,) = (gains(families, one.name, 0) for one in (MIXTURE, WITHOUT_FIRST, RAKING))
    assert 0 < mixture < 2
    assert 0 < first < 2
    assert raking < 0
    few = gains(families, RAKING.name, 1)
    assert max(few[:2]) < -2
    assert min(few[2:4]) > -2
    assert gains(families, RAKING.name, 2)[-1] > 0
    assert max(gains(families, RAKING.name, 3)) < -2
    assert gains(families, MIXTURE.name, 1)[-1] > 2
    assert gains(families, MIXTURE.name, 2)[0] > 2
