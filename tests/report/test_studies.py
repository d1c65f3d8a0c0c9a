"""Small, strange and large studies all give a page that makes sense."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path

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


@cache
def one_of_everything() -> ds.Evaluation:
    said = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    return ds.evaluate(said, {"A": [[3.0, 2.0, 1.0]]}, aggregations=observed(3), draws=40)


@cache
def without_models() -> ds.Evaluation:
    return ds.evaluate(TWELVE, {}, aggregations=observed(1, 3), draws=40)


@cache
def categories_without_levels() -> ds.Evaluation:
    groups = ds.Categories.from_labels(["skin", "vessel"] * 3, TWELVE.conditions)
    return ds.evaluate(TWELVE, {}, aggregations=observed(3), draws=40, categories=groups)


@cache
def ratings() -> ds.Evaluation:
    scores = ds.Study.from_scores([[0.1, 0.9], [0.5], [0.7, 0.8, 0.9]], case_names=["p", "q", "r"])
    models = {"A": [[0.3, 0.7], [0.2, 0.8], [0.9, 0.1]]}
    return ds.evaluate(scores, models, aggregations=[NormalInverseGamma(thresholds=(0.5,))], draws=40)


@cache
def three_priors() -> ds.Evaluation:
    generator = np.random.default_rng(1)
    models = {name: generator.dirichlet(np.ones(6), 12) for name in ("A", "B")}
    runs = [*observed(3), PlackettLuce(3, prior="symmetric"), PlackettLuce(3, alpha=0.5, prior="observed")]
    return ds.evaluate(TWELVE, models, aggregations=runs, metrics=[LogScore(), BrierScore()], draws=40)


@cache
def panel_beside_a_sweep() -> ds.Evaluation:
    study = ds.simulate.study(n_cases=110, n_conditions=6, seed=1)
    return ds.evaluate(study.annotations, study.predictions, aggregations=["plackett-luce:1,3"], draws=40)


EDGES: dict[Callable[[], ds.Evaluation], tuple[str, set[str]]] = {
    one_of_everything: ("Is A as good as an annotator?", {"calibration", "annotators"}),
    without_models: ("How certain are the annotations?", {"models", "calibration", "strata"}),
    categories_without_levels: ("How certain are the annotations?", {"models", "sensitivity"}),
    ratings: ("Is A as good as an annotator?", {"calibration"}),
    three_priors: ("A or B?", {"calibration"}),
    panel_beside_a_sweep: ("Which of 5 models?", {"calibration"}),
}
"""What the page is called, and which sections have nothing to show."""


EVERY = pytest.mark.parametrize("study", EDGES, ids=lambda study: study.__name__)
NO_WORDS = {"nan", "None", "undefined", "null"}


def check(study: Callable[[], ds.Evaluation], sections: set[str], words: str) -> None:
    assert EDGES[study][0] in words
    assert not sections & EDGES[study][1]
    assert {"summary", "cases", "certainty", "methods", "glossary"} <= sections
    assert not NO_WORDS & set(words.replace(",", " ").replace(".", " ").split())


@EVERY
def test_a_strange_study_gives_a_page(study: Callable[[], ds.Evaluation]) -> None:
    page = report_html(study())
    text = re.sub(r"<[^>]+>", " ", page[: page.index('id="page-data"')].partition("</style>")[2])
    check(study, set(re.findall('<section id="([^"]*)"', page)), unescape(text))


@pytest.mark.slow
@EVERY
def test_the_page_of_a_strange_study_works(
    study: Callable[[], ds.Evaluation], tmp_path: Path, open_page: Callable[..., Opened]
) -> None:
    ds.write_report(study(), tmp_path / "report.html")
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
    without_models().save(tmp_path / "results")
    assert report_html(ds.load(tmp_path / "results")) == report_html(without_models())
    assert report_html(one_of_everything()) == report_html(one_of_everything.__wrapped__())
    assert "the 5 most uncertain ones" in report_html(without_models(), explorer_cases=5)


def test_runs_that_differ_in_their_prior_alone_are_three_everywhere() -> None:
    evaluation = three_priors()
    labels = [run.label for run in evaluation.runs]
    own = report_html(evaluation)
    assert all(own.count(f'<tr><th scope="row">{label}</th>') == 2 for label in labels)  # sensitivity, methods
