"""Small, strange and large studies all give a page that makes sense."""

import re
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import dissensus as ds
from dissensus.aggregations import NormalInverseGamma, PlackettLuce
from dissensus.metrics import BrierScore, LogScore
from dissensus.report.page import report_html
from report.report_studies import Opened, observed

MOST_BYTES = 12_000_000


TWELVE = ds.simulate.study(n_cases=12, n_conditions=6, seed=1).annotations


FIRST = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
SIX = ds.simulate.study(n_cases=110, n_conditions=6, seed=1)
GROUPS = ds.Categories.from_labels(["skin", "vessel"] * 3, TWELVE.conditions)
RATED = ds.Study.from_scores([[0.1, 0.9], [0.5], [0.7, 0.8, 0.9]], case_names=["p", "q", "r"])
PRIORS = [*observed(3), PlackettLuce(3, prior="symmetric"), PlackettLuce(3, alpha=0.5, prior="observed")]
DIRICHLETS = dict(zip("AB", np.random.default_rng(1).dirichlet(np.ones(6), (2, 12)), strict=True))
CERTAIN, ONE = "How certain are the annotations?", "Is A as good as an annotator?"
SURE = [[0.3, 0.7], [0.2, 0.8], [0.9, 0.1]]
THREE = {"aggregations": PRIORS, "metrics": [LogScore(), BrierScore()]}
CUT = {"aggregations": [NormalInverseGamma(thresholds=(0.5,))]}
GROUPED = {"aggregations": observed(3), "categories": GROUPS}
# A study, models and how they are evaluated; what the page is called, and which sections have nothing to show.
EDGES: dict[str, tuple[ds.Study, Any, dict[str, Any], str, str]] = {
    "one of everything": (FIRST, {"A": [[3, 2, 1]]}, {"aggregations": observed(3)}, ONE, "calibration annotators"),
    "without models": (TWELVE, {}, {"aggregations": observed(1, 3)}, CERTAIN, "models calibration strata"),
    "categories without levels": (TWELVE, {}, GROUPED, CERTAIN, "models sensitivity"),
    "ratings": (RATED, {"A": SURE}, CUT, ONE, "calibration"),
    "three priors": (TWELVE, DIRICHLETS, THREE, "A or B?", "calibration"),
    "beside a sweep": (
        SIX.annotations,
        SIX.predictions,
        {"aggregations": ["plackett-luce:1,3"]},
        "Which of 5 models?",
        "calibration",
    ),
}
EVERY = pytest.mark.parametrize("study", EDGES)
NO_WORDS = {"nan", "None", "undefined", "null"}


@cache
def edge(study: str) -> ds.Evaluation:
    said, models, how, *_ = EDGES[study]
    return ds.evaluate(said, models, **how, draws=40)


def check(study: str, sections: set[str], words: str) -> None:
    assert EDGES[study][-2] in words
    assert not sections & {*EDGES[study][-1].split()}
    assert {"summary", "cases", "certainty", "methods", "glossary"} <= sections
    assert not NO_WORDS & set(words.replace(",", " ").replace(".", " ").split())


@EVERY
def test_a_strange_study_gives_a_page(study: str) -> None:
    page = report_html(edge(study))
    text = re.sub(r"<[^>]+>", " ", page[: page.index('id="page-data"')].partition("</style>")[2])
    check(study, set(re.findall('<section id="([^"]*)"', page)), unescape(text))


@pytest.mark.slow
@EVERY
def test_the_page_of_a_strange_study_works(study: str, tmp_path: Path, open_page: Callable[..., Opened]) -> None:
    ds.write_report(edge(study), tmp_path / "report.html")
    opened = open_page(tmp_path / "report.html", drawn=True, viewport={"width": 375, "height": 800})
    page = opened.page
    page.locator("#case-table tbody tr").first.click()
    expect(page.locator("#case h3")).to_have_text(page.locator("#case-table tbody th").first.inner_text())
    assert page.locator("#case .bars svg").count() >= 1
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
    assert opened.wrong == []
    sections = set(page.locator("main > section").evaluate_all("all => all.map((one) => one.id)"))
    check(study, sections, page.locator("body").inner_text())


@pytest.mark.slow
def test_every_one_of_twenty_thousand_cases_can_be_reached(tmp_path: Path, open_page: Callable[..., Opened]) -> None:
    generator = np.random.default_rng(2)
    shares = generator.dirichlet(np.full(8, 0.3), 20_000)
    said = ds.Study.from_counts(generator.multinomial(4, shares), [f"condition {k}" for k in range(8)])
    models = {name: generator.dirichlet(np.ones(8), 20_000) * 0.3 + shares for name in "ABCDE"}
    result = ds.evaluate(said, models, aggregations=observed(3), metrics=["top-k-accuracy:1"], draws=20)
    path = tmp_path / "report.html"
    ds.write_report(result, path)
    assert path.stat().st_size < MOST_BYTES
    opened = open_page(path, drawn=True, fragment=f"#case={said.case_names[-1]}")
    expect(opened.page.locator("#case h3")).to_have_text(said.case_names[-1])
    expect(opened.page.locator("#count")).to_have_text("20,000 cases")
    for case in (0, 249, 250, 12_345):
        opened.page.evaluate(f"location.hash = '#case={said.case_names[case]}'")
        expect(opened.page.locator("#case h3")).to_have_text(said.case_names[case])
    assert opened.wrong == []


def test_what_was_stored_and_the_same_evaluation_give_the_same_bytes(tmp_path: Path) -> None:
    edge("without models").save(tmp_path / "results")
    assert report_html(ds.load(tmp_path / "results")) == report_html(edge("without models"))
    assert report_html(edge("one of everything")) == report_html(edge.__wrapped__("one of everything"))
    assert "the 5 most uncertain ones" in report_html(edge("without models"), explorer_cases=5)


def test_runs_that_differ_in_their_prior_alone_are_three_everywhere() -> None:
    evaluation = edge("three priors")
    labels = [run.label for run in evaluation.runs]
    own = report_html(evaluation)
    assert all(own.count(f'<tr><th scope="row">{label}</th>') == 2 for label in labels)  # sensitivity, methods
