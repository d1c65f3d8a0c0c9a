"""No page, docstring, template or sentence claims what the data do not tell."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.evaluation import sentences
from dissensus.metrics import TopKAccuracy
from dissensus.plugins import Metric
from dissensus.report.page import report_html

ROOT = Path(__file__).parents[1]
WRITTEN = {".md", ".py", ".jinja", ".js", ".svg", ".toml", ".cff"}

CLAIMS = (
    r"over-?stat(?!e\()|under-?stat(?!e\()|optimis(?:m|tic)|inflat|exaggerat|flatter",
    r"too (?:optimistic|pessimistic|high|good)\b|(?:true|real) (?:accuracy|performance|value of)",
    r"real difference|difference is real|really (?:better|worse)",
    r"100 ?%[^.\n]{0,60}probab|probab[^.\n]{0,60}\b100 ?%",
)
"""Words for what is not known: that a number is wrong, that another one is right, that anything is certain."""

# Where a standard term exists, words of our own are not used.
BANNED = (
    *("foretell", "foretold", "leaves zero out", "points lower than", "points higher than", "told from chance"),
    *("who the annotators were", "what the opinions leave open", "by Holm's method"),
)


def pages() -> list[Path]:
    places = [ROOT / "README.md", *(ROOT / part for part in ("docs", "examples", "src"))]
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [path for path in files if path.suffix in WRITTEN]


def claims(text: str) -> set[str]:
    plain = text.replace("&#160;", " ").replace("\N{NO-BREAK SPACE}", " ")
    return {found.group().lower() for claim in CLAIMS for found in re.finditer(claim, plain, re.IGNORECASE)}


def test_no_page_docstring_or_template_claims_what_is_not_known_or_has_words_of_its_own() -> None:
    assert len(pages()) > 100
    for path in pages():
        text = path.read_text("utf-8")
        plain = " ".join(text.lower().split())
        assert (path, claims(text), [word for word in BANNED if word.lower() in plain]) == (path, set(), [])


def test_such_claims_are_found() -> None:
    assert claims("usual practice overstates accuracy")
    assert claims("the optimism of the point estimate reads too high, inflated")
    assert claims("the true accuracy is 0.9, and A is better with probability 100 %")


# Sentences ------------------------------------------------------------------------------------------------


@cache
def simulated(metric: Metric | str, *, seed: int, n_cases: int = 40) -> ds.Evaluation:
    study = ds.simulate.study(n_cases=n_cases, n_conditions=12, seed=seed)
    runs = [PlackettLuce(1), PlackettLuce(3)]
    return ds.evaluate(study.annotations, study.predictions, aggregations=runs, metrics=[metric], draws=60)


@pytest.mark.parametrize("n_cases", [40, 120], ids=["without a panel", "with a panel"])
def test_no_result_claims_to_know_the_truth(n_cases: int) -> None:
    result = simulated(TopKAccuracy(1), seed=1, n_cases=n_cases)
    assert claims(repr(result) + result._repr_html_() + report_html(result)) == set()


# What stands beside a number ---------------------------------------------------------------------------------


def test_an_adjusted_value_says_what_it_assumes() -> None:
    said = sentences.assumption(simulated(TopKAccuracy(1), seed=1))
    assert "the draws know nothing of the model, and its prior pulls towards chance where opinions are few" in said


def told(named: int | None, **options: str) -> str:
    """Say what the uncertainty of one model owes to what, with so many annotators, or with anonymous ones."""
    rng = np.random.default_rng(1)
    choices = rng.choice(3, size=(40, 4), p=[0.6, 0.3, 0.1])
    rankings = [[[["abc"[code]]] for code in row] for row in choices]
    own = [[f"Dr {(case + k) % (named or 1) if (named or 0) > 4 else k}" for k in range(4)] for case in range(40)]
    names = None if named is None else own
    said = ds.Study.from_rankings(rankings, ["a", "b", "c"], annotator_names=names)
    result = ds.evaluate(said, {"A": [[0.6, 0.3, 0.1]] * 40}, aggregations=[PlackettLuce(1)], draws=60, **options)  # type: ignore[arg-type]
    one = sentences.side_by_side(result, result.to_frame())[0]
    return " ".join(sentences.shares(result, one.adjusted or {}))


def test_intervals_without_the_part_of_the_annotators_say_why() -> None:
    lacking = "Variation between annotators is not included: "
    assert f"{lacking}they have no names." in told(None)
    assert f"{lacking}they count as fixed." in told(4, annotators="fixed")
    assert f"{lacking}fewer than 3 of them share 10 cases" in told(150)
    assert lacking not in told(4)
