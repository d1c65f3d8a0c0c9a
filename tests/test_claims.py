"""No page, docstring, template or sentence claims what the data do not tell."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.core.aliases import FloatArray
from dissensus.evaluation import sentences
from dissensus.evaluation.words import MINUS
from dissensus.metrics import TopKAccuracy, UserMetric
from dissensus.plugins import Metric

ROOT = Path(__file__).parents[1]
WRITTEN = {".md", ".py", ".jinja", ".js", ".svg", ".toml", ".cff"}

CLAIMS = (
    r"over-?stat(?!e\()",
    r"under-?stat(?!e\()",
    r"optimis(?:m|tic)",
    r"inflat",
    r"exaggerat",
    r"flatter",
    r"too (?:optimistic|pessimistic|high|good)\b",
    r"(?:true|real) (?:accuracy|performance|value of)",
    r"real difference|difference is real|really (?:better|worse)",
    r"100 ?%[^.\n]{0,60}probab|probab[^.\n]{0,60}\b100 ?%",
)
"""Words for what is not known: that a number is wrong, that another one is right, that anything is certain."""

ALLOWED: dict[tuple[str, str], str] = {}
"""Where a word is used in another sense, by file and word, and in which sense."""


def pages() -> list[Path]:
    places = [ROOT / "README.md", *(ROOT / part for part in ("docs", "examples", "src"))]
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [path for path in files if path.suffix in WRITTEN]


def claims(text: str) -> set[str]:
    plain = text.replace("&#160;", " ").replace("\N{NO-BREAK SPACE}", " ")
    return {found.group().lower() for claim in CLAIMS for found in re.finditer(claim, plain, re.IGNORECASE)}


def test_no_page_docstring_or_template_claims_what_is_not_known() -> None:
    found = {(str(path.relative_to(ROOT)), word) for path in pages() for word in claims(path.read_text("utf-8"))}
    assert found == set(ALLOWED)


def test_such_claims_are_found() -> None:
    assert claims("usual practice overstates accuracy")
    assert claims("the optimism of the point estimate reads too high, inflated")
    assert claims("the true accuracy is 0.9, and A is better with probability 100 %")


# Sentences ------------------------------------------------------------------------------------------------


def misses(scores: FloatArray, draws: FloatArray) -> FloatArray:
    return np.asarray(scores.argmax(axis=1)[:, None] != draws.argmax(axis=2), dtype=float)


LOSS = UserMetric("misses", misses, higher_is_better=False)
METRICS: list[Metric | str] = [TopKAccuracy(1), "set-accuracy:2", "brier-score", "log-score:0.001", LOSS]


def divided(scores: list[float], metric: Metric | str) -> ds.Evaluation:
    """Evaluate a model that always says the same where three of five annotators say a and two say b."""
    said = ds.Study.from_counts([[3, 2, 0]] * 40, ["a", "b", "c"])
    runs = [PlackettLuce(1), PlackettLuce(5)]
    return ds.evaluate(said, {"A": [scores] * 40}, aggregations=runs, metrics=[metric], draws=200)


def simulated(metric: Metric | str, *, seed: int, n_cases: int = 40) -> ds.Evaluation:
    study = ds.simulate.study(n_cases=n_cases, n_conditions=12, seed=seed)
    runs = [PlackettLuce(1), PlackettLuce(3)]
    return ds.evaluate(study.annotations, study.predictions, aggregations=runs, metrics=[metric], draws=60)


STUDIES = {
    "the majority is right": lambda metric: divided([0.7, 0.2, 0.1], metric),
    "the minority is right": lambda metric: divided([0.2, 0.7, 0.1], metric),
    "one simulated study": lambda metric: simulated(metric, seed=1),
    "another": lambda metric: simulated(metric, seed=2),
    "one with a panel": lambda metric: simulated(metric, seed=1, n_cases=120),
}
SAID = re.compile(
    rf"is ({MINUS}?[\d.]+): (the same as|(\S+)( percentage points?)? (above|below)) "
    rf"(?:adjusted under [^()]*|panel )\(({MINUS}?[\d.]+)\)"
)


def number_of(text: str) -> float:
    return float(text.replace(MINUS, "-"))


@pytest.mark.parametrize(
    ("study", "metric"),
    [(study, metric) for study in STUDIES for metric in METRICS[: 1 if "panel" in study else None]],
    ids=lambda one: getattr(one, "id", str(one)),
)
def test_every_difference_has_the_right_direction_and_no_size_is_negative(study: str, metric: Metric | str) -> None:
    result = STUDIES[study](metric)
    (found,) = sentences.practice(result, result.to_frame())
    text = " ".join(sentences.plain(one) for one in found.sentences).replace("\N{NO-BREAK SPACE}", " ")
    practice, _, size, points, direction, adjusted = SAID.search(text).groups()  # type: ignore[union-attr]
    gap = number_of(practice) - number_of(adjusted)
    if direction is None:
        assert abs(gap) < 0.0021
        assert found.figure[0] not in "+" + MINUS
    else:
        assert (direction == "above") == (gap > 0)
        assert number_of(size) == pytest.approx(abs(gap) * (100 if points else 1), abs=0.11 if points else 0.0011)
        assert found.figure[0] == ("+" if gap > 0 else MINUS)
    assert f": {MINUS}" not in text
    assert "ority is right" not in study or metric is not METRICS[0] or (direction == "above") == ("maj" in study)
    assert claims(repr(result) + result._repr_html_()) == set()


def test_ranges_go_from_the_least_to_the_greatest() -> None:
    text = sentences.headline(simulated(TopKAccuracy(1), seed=1)).replace("\N{NO-BREAK SPACE}", " ")
    ranges = re.findall(rf"goes from ([+{MINUS}]?[\d.]+) points? to ([+{MINUS}]?[\d.]+) points?", text)
    assert len(ranges) == 2
    assert all(number_of(least) < number_of(most) for least, most in ranges)


# What stands beside a number ---------------------------------------------------------------------------------


def test_the_headline_begins_with_both_estimands_their_intervals_and_what_adjusted_assumes() -> None:
    agreement, adjusted, *_ = sentences.statements(simulated(TopKAccuracy(1), seed=1))
    texts = [" ".join(sentences.plain(one) for one in card.sentences) for card in (agreement, adjusted)]
    assert texts[0].startswith("The agreement of ")
    assert "No prior is part of it." in texts[0]
    assert "under plackett-luce 1 (reliability 1) is " in texts[1]
    assert "the draws know nothing of the model, and its prior pulls towards chance where opinions are few" in texts[1]
    assert all(re.search(r"95 % interval 0\.\d+ to 0\.\d+", text) for text in texts)


def told(named: int | None, **options: str) -> str:
    """Say what the uncertainty of one model owes to what, with so many annotators, or with anonymous ones."""
    rng = np.random.default_rng(1)
    choices = rng.choice(3, size=(40, 4), p=[0.6, 0.3, 0.1])
    rankings = [[[["abc"[code]]] for code in row] for row in choices]
    names = (
        None
        if named is None
        else [[f"Dr {(case + k) % named if named > 4 else k}" for k in range(4)] for case in range(40)]
    )
    said = ds.Study.from_rankings(rankings, ["a", "b", "c"], annotator_names=names)
    result = ds.evaluate(said, {"A": [[0.6, 0.3, 0.1]] * 40}, aggregations=[PlackettLuce(1)], draws=60, **options)  # type: ignore[arg-type]
    return sentences.headline(result)


def test_intervals_without_the_part_of_the_annotators_say_why() -> None:
    lacking = "Variation between annotators is not included: "
    assert f"{lacking}they have no names." in told(None)
    assert f"{lacking}they count as fixed." in told(4, annotators="fixed")
    assert f"{lacking}fewer than 3 of them share 10 cases" in told(150)
    assert lacking not in told(4)


def test_shares_of_the_variance_add_up_and_name_their_parts() -> None:
    row = {"case_sd": 0.03, "annotator_sd": 0.02, "draw_sd": 0.01, "fit_sd": math.nan, "family_sd": math.nan}
    result = simulated(TopKAccuracy(1), seed=1)
    (said,) = sentences.shares(result, row)
    assert sentences.plain(said).replace("\N{NO-BREAK SPACE}", " ") == (
        "Sources of uncertainty: cases 64 %, annotators 29 %, draws 7 %."
    )
    alone = sentences.shares(result, {**row, "annotator_sd": math.nan, "draw_sd": 0.0})
    assert sentences.plain(alone[0]).replace("\N{NO-BREAK SPACE}", " ") == "Sources of uncertainty: cases 100 %."


# Phrases ------------------------------------------------------------------------------------------------

# Where a standard term exists, words of our own are not used.
BANNED = (
    *("foretell", "foretold", "leaves zero out", "points lower than", "points higher than", "told from chance"),
    *("who the annotators were", "what the opinions leave open", "by Holm's method"),
)


def test_words_of_our_own_do_not_take_the_place_of_standard_terms() -> None:
    root = Path(__file__).parents[1]
    pages = [page for page in (root / "docs").glob("*.md") if page.name != "which-number.md"]
    sources = [file for file in (root / "src").rglob("*") if file.suffix in (".py", ".jinja", ".js", ".pyi")]
    assert len(pages) > 5
    assert len(sources) > 100
    for file in (*pages, *sources, root / "README.md"):
        text = " ".join(file.read_text(encoding="utf-8").lower().split())
        assert not [phrase for phrase in BANNED if phrase.lower() in text], file
