"""What is seen first of a page: four questions have an answer in it, whatever was asked of whom, and it is short."""

from __future__ import annotations

import re
from html import unescape

import pytest

import dissensus as ds
from dissensus.report.page import report_html
from first_studies import KINDS, evaluated

# What each question is answered by.
ANSWERS = {
    "which model": r"outperforms|(?:N|n)ot distinguishable|No model is distinguishable|same predictions",
    "as good as an annotator": r"minus one \w+[^:]*: [+-]\d|Beside one \w+",
    "how sure": r"\(-?\d[\d.]* to -?\d[\d.]*\)|\(95 % -?\S+ to|margin 0\.1",
    "what to look at": r"settle \d[\d,]* of \d[\d,]* (?:cases|findings of cases) \(mean certainty",
}


def words_of(page: str, *, charts: bool = True) -> str:
    """Return what a page says, without what is only seen when pointed at."""
    hidden = r"<(style|script|title)\b.*?</\1>" if charts else r"<(style|script|title|svg)\b.*?</\1>"
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(hidden, " ", page, flags=re.DOTALL))).split())


def n_words(text: str) -> int:
    """Count what has a letter in it: numbers are no words."""
    return sum(bool(re.search(r"[^\W\d_]", one)) for one in text.split())


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_begins_with_an_answer_to_four_questions(kind: str) -> None:
    page = report_html(evaluated(kind))
    first = (
        page[page.index("<h1>") : page.index("</header>")]
        + page[page.index('<section id="summary"') :].split('<section id="cases"')[0]
    )
    told = words_of(first, charts=False)
    for question, answer in ANSWERS.items():
        assert re.search(answer, told), (question, told)
    assert n_words(told) <= 150
    if kind == "ratings":
        assert "condition" not in words_of(page[: page.index('<section id="methods"')])


def test_the_report_of_five_models_has_at_most_2500_words_before_the_appendix() -> None:
    """Everything counts, numbers, charts and what is folded within sections too, but for sections that are folded."""
    study = ds.simulate.study(n_cases=120, seed=1)
    known = {"categories": study.categories, "strata": study.strata, "draws": 60}
    page = report_html(ds.evaluate(study.annotations, study.predictions, **known))  # type: ignore[arg-type]
    parts = re.split(r'(?=<section id=")', page[page.index("<body>") : page.index('<script type="application/json"')])
    told = [part for part in parts if '<details class="fold">' not in part]
    assert len(parts) - len(told) == 3  # sensitivity analyses, methods, glossary
    assert len(words_of(" ".join(told)).split()) <= 2500
