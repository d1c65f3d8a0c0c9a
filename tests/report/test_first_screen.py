"""What is seen first: four questions have an answer in it, whatever was asked of whom, and it is short."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape

import numpy as np
import pytest

import dissensus as ds
from dissensus.evaluation.first_screen import first_screen
from dissensus.report.page import report_html

RNG = np.random.default_rng(4)
FEW = {"draws": 40, "annotators": "fixed", "panel": False}


def named(n_cases: int, each: int) -> list[list[str]]:
    return [[f"R{(case + k) % 7}" for k in range(each)] for case in range(n_cases)]


def simulated(qualities: list[float], n_cases: int = 60) -> ds.Evaluation:
    study = ds.simulate.study(n_cases=n_cases, n_conditions=6, seed=4)
    models = {
        f"model {k}": np.exp(quality * np.log(study.theta + 1e-9) + np.random.default_rng(k).gumbel(size=(n_cases, 6)))
        for k, quality in enumerate(qualities, start=1)
    }
    risks = ds.Categories.from_labels(["low", "high"] * 3, study.annotations.conditions)
    return ds.evaluate(study.annotations, models, categories=risks, **FEW)  # type: ignore[arg-type]


def five() -> ds.Evaluation:
    study = ds.simulate.study(n_cases=120, seed=1)
    return ds.evaluate(study.annotations, study.predictions, categories=study.categories, strata=study.strata, draws=60)


def binary() -> ds.Evaluation:
    chance = RNG.beta(0.7, 0.9, 60)
    said = [[[["yes" if RNG.random() < one else "no"]] for _ in range(4)] for one in chance]
    study = ds.Study.from_rankings(said, ["no", "yes"], annotator_names=named(60, 4), question="binary")
    models = {name: np.stack([1 - chance, chance], 1) ** power for name, power in (("A", 1.0), ("B", 0.1))}
    return ds.evaluate(study, models, **FEW)  # type: ignore[arg-type]


def checklist() -> ds.Evaluation:
    findings, present = ["effusion", "nodule"], RNG.random((40, 2)) < 0.4
    said = [
        [{name for k, name in enumerate(findings) if RNG.random() < (0.85 if row[k] else 0.1)} for _ in range(4)]
        for row in present
    ]
    study = ds.Study.from_sets(said, findings, annotator_names=named(40, 4))
    models = {
        name: ds.Predictions.from_scores(np.clip(0.6 * present + RNG.normal(0.2, noise, (40, 2)), 0.01, 0.99), findings)
        for name, noise in (("A", 0.1), ("B", 0.5))
    }
    return ds.evaluate(study, models, **FEW)  # type: ignore[arg-type]


def grades() -> ds.Evaluation:
    truth, names = RNG.integers(0, 4, 60), [f"grade {k}" for k in range(4)]
    said = [[[[names[int(np.clip(one + RNG.integers(-1, 2), 0, 3))]]] for _ in range(4)] for one in truth]
    study = ds.Study.from_rankings(said, names, annotator_names=named(60, 4), question="grades")
    models = {
        name: np.exp(-np.abs(np.arange(4) - (truth + RNG.normal(0, noise, 60))[:, None]))
        for name, noise in (("A", 0.3), ("B", 2.0))
    }
    return ds.evaluate(study, models, **FEW)  # type: ignore[arg-type]


def ratings() -> ds.Evaluation:
    truth = RNG.normal(50, 15, 60)
    cases = [f"film {k}" for k in range(60)]
    study = ds.Study.from_scores([(one + RNG.normal(0, 6, 4)).tolist() for one in truth], case_names=cases)
    models = {
        name: ds.Predictions.from_numbers(truth + RNG.normal(0, noise, 60), case_names=cases)
        for name, noise in (("A", 4.0), ("B", 15.0))
    }
    return ds.evaluate(study, models, **FEW)  # type: ignore[arg-type]


def dead_heat() -> ds.Evaluation:
    return simulated([1.0, 1.0])


def ten() -> ds.Evaluation:
    return simulated([0.2 * k for k in range(1, 11)])


ALL: tuple[Callable[[], ds.Evaluation], ...] = (five, binary, checklist, grades, ratings, dead_heat, ten)
STUDIES = {study.__name__: cache(study) for study in ALL}
EVERY = pytest.mark.parametrize("name", STUDIES)

# What each question is answered by.
ANSWERS = {
    "which model": r"outperforms|(?:N|n)ot distinguishable|No model is distinguishable|same predictions",
    "as good as an annotator": r"minus one annotator[^:]*: [+-]\d|Beside one annotator",
    "how sure": r"\(-?\d[\d.]* to -?\d[\d.]*\)|\(95 % -?\S+ to",
    "what to look at": r"settle \d[\d,]* of \d[\d,]* (?:cases|findings of cases) \(mean certainty",
}


def words_of(page: str, *, charts: bool = True) -> str:
    """Return what a page says, without what is only seen when pointed at."""
    hidden = r"<(style|script|title)\b.*?</\1>" if charts else r"<(style|script|title|svg)\b.*?</\1>"
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(hidden, " ", page, flags=re.DOTALL))).split())


def n_words(text: str) -> int:
    """Count what has a letter in it: numbers are no words."""
    return sum(bool(re.search(r"[^\W\d_]", one)) for one in text.split())


@EVERY
def test_four_questions_have_an_answer_and_no_more_than_150_words(name: str) -> None:
    text = str(first_screen(STUDIES[name]()))
    for question, answer in ANSWERS.items():
        assert re.search(answer, " ".join(text.split())), (question, text)
    assert n_words(text) <= 150


@EVERY
def test_the_page_begins_with_them(name: str) -> None:
    page = report_html(STUDIES[name]())
    first = (
        page[page.index("<h1>") : page.index("</header>")]
        + page[page.index('<section id="summary"') :].split('<section id="cases"')[0]
    )
    told = words_of(first, charts=False)
    for question, answer in ANSWERS.items():
        assert re.search(answer, told), (question, told)
    assert n_words(told) <= 150
    if name == "ratings":
        assert "condition" not in words_of(page[: page.index('<section id="methods"')])


def test_the_report_of_five_models_has_at_most_2500_words_before_the_appendix() -> None:
    """Everything counts, numbers, charts and what is folded within sections too, but for sections that are folded."""
    page = report_html(STUDIES["five"]())
    parts = re.split(r'(?=<section id=")', page[page.index("<body>") : page.index('<script type="application/json"')])
    told = [part for part in parts if '<details class="fold">' not in part]
    assert len(parts) - len(told) == 3  # sensitivity analyses, methods, glossary
    assert len(words_of(" ".join(told)).split()) <= 2500
