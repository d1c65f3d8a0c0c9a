"""Small, strange and large studies all give a page that makes sense."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

import dissensus as ds
from dissensus.aggregations import NormalInverseGamma, PlackettLuce, ProbabilisticInverseRank
from dissensus.evaluation.sentences import statements
from dissensus.metrics import BrierScore, LogScore
from dissensus.report.page import report_html
from report.report_studies import Opened, observed, simulated_models

MOST_BYTES = 8_000_000


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
def panel_alone() -> ds.Evaluation:
    study = ds.simulate.study(n_cases=110, n_conditions=6, seed=1)
    models = {"<i>A</i>": study.predictions["Aster"], "B": study.predictions["Birch"]}
    runs = ["plackett-luce:1:prior=informed"]
    return ds.evaluate(study.annotations, models, aggregations=runs, metrics=["top-k-accuracy:1"], draws=40)


@cache
def panel_beside_a_sweep() -> ds.Evaluation:
    study = ds.simulate.study(n_cases=110, n_conditions=6, seed=1)
    return ds.evaluate(study.annotations, study.predictions, aggregations=["plackett-luce:1,3"], draws=40)


EDGES: dict[Callable[[], ds.Evaluation], tuple[str, set[str]]] = {
    one_of_everything: ("1 model evaluated", {"comparison", "risk", "agreement"}),
    without_models: ("How certain the annotations are", {"models", "comparison", "risk"}),
    categories_without_levels: ("How certain the annotations are", {"models", "comparison", "risk"}),
    ratings: ("1 model evaluated", {"comparison", "risk"}),
    three_priors: ("2 models evaluated", {"risk", "prior"}),
    panel_alone: ("2 models evaluated", {"risk"}),
    panel_beside_a_sweep: ("models evaluated", {"risk"}),
}
"""What the page is called, and which sections have nothing to show."""


EVERY = pytest.mark.parametrize("study", EDGES, ids=lambda study: study.__name__)
NO_WORDS = {"nan", "None", "undefined", "null"}


def check(study: Callable[[], ds.Evaluation], sections: set[str], words: str) -> None:
    assert EDGES[study][0] in words
    assert not sections & EDGES[study][1]
    assert {"summary", "data", "certainty", "cases", "methods", "glossary"} <= sections
    assert not NO_WORDS & set(words.replace(",", " ").replace(".", " ").split())


@EVERY
def test_a_strange_study_gives_a_page_and_a_headline(study: Callable[[], ds.Evaluation]) -> None:
    page = report_html(study())
    text = re.sub(r"<[^>]+>", " ", page[: page.index('id="page-data"')].partition("</style>")[2])
    check(study, set(re.findall('<section id="([^"]*)"', page)), text)
    found = statements(study())
    assert 2 <= len(found) <= 6
    assert all(statement.sentences and statement.figure for statement in found)


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
def test_two_thousand_cases_stay_below_eight_megabytes(tmp_path: Path) -> None:
    study = ds.simulate.study(n_cases=2000, n_conditions=100, seed=2)
    said = study.annotations
    evaluation = ds.evaluate(
        said,
        simulated_models(study.theta, dict.fromkeys(("A", "B", "C", "D"), 1.0)),
        aggregations=[*map(PlackettLuce, (1, 2, 3, 5, 10)), *map(ProbabilisticInverseRank, (10, 20, 30, 50, 100))],
        draws=40,
        categories=ds.Categories.from_labels(["low", "medium", "high", "low"] * 25, said.conditions),
        strata={"site": [f"site {i % 7}" for i in range(2000)]},
        annotators="fixed",
    )
    ds.write_report(evaluation, tmp_path / "report.html")
    size = (tmp_path / "report.html").stat().st_size
    print(f"{size / 1e6:.2f} MB")
    assert size < MOST_BYTES


@pytest.mark.slow
def test_a_large_study_keeps_the_most_uncertain_cases_and_says_so(
    tmp_path: Path, open_page: Callable[..., Opened]
) -> None:
    generator = np.random.default_rng(2)
    shares = generator.dirichlet(np.full(8, 0.3), 20_000)
    said = ds.Study.from_counts(generator.multinomial(4, shares), [f"condition {k}" for k in range(8)])
    evaluation = ds.evaluate(said, {"A": shares}, aggregations=observed(3), draws=20)
    path = tmp_path / "report.html"
    ds.write_report(evaluation, path)
    assert path.stat().st_size < MOST_BYTES
    page = open_page(path).page
    expect(page.locator("#cases .note")).to_contain_text("20,000 cases")
    expect(page.locator("#cases .note")).to_contain_text("2,000 most uncertain")
    expect(page.locator("#count")).to_have_text("2,000 cases")
    certainties = evaluation.certainties()
    kept = set(certainties.filter(certainties["top"] == 1).sort("certainty", maintain_order=True).head(2000)["case"])
    assert set(page.locator("#case-table tbody th").all_inner_texts()) <= kept


def test_what_was_stored_and_the_same_evaluation_give_the_same_bytes(tmp_path: Path) -> None:
    without_models().save(tmp_path / "results")
    assert report_html(ds.load(tmp_path / "results")) == report_html(without_models())
    assert report_html(one_of_everything()) == report_html(one_of_everything.__wrapped__())
    assert "only the 5 most uncertain ones" in report_html(without_models(), explorer_cases=5)


def test_runs_that_differ_in_their_prior_alone_are_three_everywhere() -> None:
    evaluation = three_priors()
    labels = [run.label for run in evaluation.runs]
    own = report_html(evaluation)
    for label in labels:
        assert f"<tr><td>adjusted</td><td>{label}</td><td>log score</td>" in own
        assert f'<tr><th scope="row">{label}</th>' in own
    data = json.loads(own.split('id="page-data">')[1].split("</script>")[0])
    assert sorted(run["label"] for run in data["explorer"]["runs"]) == sorted(labels)
