"""The pages on reproduction and data sets: written from the code, and not left behind by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import paper.data as datasets
from paper.data.ava import AVA
from paper.data.chaosnli import CHAOSNLI
from paper.data.cifar10h import CIFAR10H
from paper.data.dermatology import DERMATOLOGY
from paper.data.dermxdb import DERMXDB
from paper.data.publication import Publication
from paper.data.wikipedia_toxicity import WIKIPEDIA_TOXICITY
from paper.reproduction.held_out_experiment import TITLE as HELD_OUT
from paper.reproduction.page import CLOSING, HEAVY, OPENING, TOLD
from paper.reproduction.printed_experiment import printed_section
from paper.reproduction.rows import Settings

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "reproduction.md").read_text(encoding="utf-8")


def test_the_page_has_the_words_and_the_numbers_of_the_code(page: str) -> None:
    assert page.startswith(OPENING)
    assert CLOSING in page
    titles = re.findall(r"<summary>(.+): \d+ numbers</summary>", page)
    assert set(titles) <= set(TOLD)
    assert len(titles) >= 6
    assert page.index(CLOSING) < page.index(f"### {HELD_OUT}")
    for row in printed_section(Settings(draws=10)).rows:
        assert f"| {row.quantity} | {row.paper_text} |" in page


def test_linked_figures_are_there_and_light(page: str) -> None:
    linked = re.findall(r"\]\((images/[^)]+)\)", page)
    assert len(linked) >= 5
    assert {DOCS / name for name in linked} == set((DOCS / "images" / "reproduction").iterdir())
    assert all((DOCS / name).stat().st_size < HEAVY for name in linked)


@pytest.mark.parametrize("publication", [AVA, CHAOSNLI, CIFAR10H, DERMATOLOGY, DERMXDB, WIKIPEDIA_TOXICITY])
def test_the_guide_tells_of_every_data_set(publication: Publication) -> None:
    guide = (DOCS / "datasets.md").read_text(encoding="utf-8")
    assert f"`load_{publication.name}`" in guide
    assert publication.licence.split(" (")[0] in guide
    assert hasattr(datasets, f"load_{publication.name}")
    assert hasattr(datasets, f"fetch_{publication.name}")


def test_examples_of_the_guide_name_what_exists() -> None:
    guide = (DOCS / "datasets.md").read_text(encoding="utf-8")
    names = {name for line in re.findall(r"from paper\.data import (.+)", guide) for name in line.split(", ")}
    assert names
    assert names <= set(datasets.__all__)
