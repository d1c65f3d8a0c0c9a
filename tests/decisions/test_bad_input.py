"""What decisions refuse: bad input is one clear error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from refusals import refused

PAIR = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
FEW = ds.Study.from_counts([[2, 1], [0, 3]] * 10, ["a", "b"])
THREE = ds.Study.from_counts([[3, 1, 0], [0, 4, 1]] * 10, ["a", "b", "c"])
NUMBERS, NOBODY = ds.Study.from_scores([[1.0]] * 20), ds.Study.from_rankings([[], []], ["a", "b"])
CHECKED = ds.Study.from_sets([[{"a"}]] * 20, ["a", "b"])
MODEL = [[0.9, 0.1], [0.2, 0.8]] * 10
OF_THREE = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1]] * 10
RISKS = ds.Categories.from_mapping({"a": "low", "b": "high", "c": "high"})
SETS = ds.Predictions.from_sets([["a"]] * 20, ["a", "b", "c"])
EMPTY = ds.Categories(("a", "b", "c"), ("low", "high"), np.zeros(3, dtype=int))
TRUE = {"pilot": {"case_sd": 0.5}, "effect": 0.1}
MANY = {"A": MODEL, "B": MODEL, "C": MODEL}

# By function: what is usually given, and what is given otherwise with what is said of it.
REFUSED: list[tuple[Callable[..., object], dict[str, Any], list[tuple[dict[str, Any], str]]]] = [
    (
        ds.conformal,
        {"study": THREE, "predictions": OF_THREE},
        [
            *(({"alpha": alpha}, "alpha must be between 0 and 1") for alpha in (0.0, 1.0)),
            ({"alpha": 0.04}, "too few calibration cases"),
            ({"alpha": 0.04, "method": "corrected"}, "too few calibration cases"),
            ({"alpha": {"low": 0.1}, "categories": RISKS}, "categories have no alpha"),
            ({"alpha": {"lov": 0.1}, "categories": RISKS}, "lov"),
            ({"categories": EMPTY}, "no members"),
            ({"categories": ds.Categories.from_mapping({"a": "low"})}, "about other conditions"),
            ({"score": "raps"}, "score is not understood"),
            ({"m": 0}, "m must be a whole number"),
            ({"predictions": [[-1.0, 0.5, 2.0]] * 20}, "needs probabilities"),
            ({"predictions": SETS}, "needs scores"),
            ({"study": NUMBERS, "predictions": [1.0] * 20}, "rankings"),
        ],
    ),
    (
        ds.judges,
        {"study": PAIR, "judgements": {"judge": MODEL}, "condition": "a"},
        [
            ({"study": PAIR.select(range(5)), "judgements": {"judge": MODEL[:5]}}, "too few judged cases"),
            ({"judgements": {}}, "there is no judge"),
            ({"judgements": {"judge": []}}, "gave no answer"),
            ({"level": 1.5}, "level must be between 0 and 1"),
            ({"width": 0.0}, "width must be a positive, finite number"),
            ({"costs": {"opinion": 0.0}}, "the cost of one opinion must be positive"),
            ({"metric": "auroc"}, "a metric needs the predictions"),
            ({"strata": {"0": "a"}}, "cases have no stratum"),
            ({"strata": {str(i): str(i) for i in range(20)}}, "strata have too few labelled cases"),
            ({"condition": "maybe"}, "maybe"),
            ({"study": THREE, "judgements": {"A": OF_THREE}, "condition": None}, "the condition is not known"),
            ({"study": CHECKED, "judgements": {"A": np.ones((20, 2))}}, "one question at a time"),
        ],
    ),
    (
        ds.plan,
        {},
        [
            ({**TRUE, "costs": {"case": 0}}, "the cost of one case must be positive"),
            ({**TRUE, "costs": {"cases": 1}}, "cost"),
            ({**TRUE, "power": 1.0}, "power must be between 0 and 1"),
            ({"pilot": {"case_sd": 0.5}}, "the difference is not known"),
            ({**TRUE, "pilot": {"case_sd": -1}}, "case_sd must be a number"),
            ({**TRUE, "pilot": {"case_sd": 0}}, "nothing varies"),
            ({**TRUE, "pilot": {"sd": 1}}, "component"),
            ({**TRUE, "annotators": [1], "opinions": [1]}, "too few annotators"),
            ({**TRUE, "annotators": [5], "opinions": [2], "design": "nested"}, "form panels"),
            ({**TRUE, "cases": [0]}, "cases must be a whole number"),
            ({**TRUE, "margin": -0.1}, "margin must be a positive, finite number"),
            ({"pilot": PAIR.select([0, 1]), "predictions": {"A": MODEL[:2]}}, "too few cases with two annotators"),
            ({"pilot": PAIR, "predictions": MANY}, "one model or two"),
            ({"pilot": PAIR, "predictions": MANY, "models": ["Z"]}, "Z"),
            (
                {"pilot": FEW, "predictions": {"A": MODEL}, "metric": "top-k-accuracy:1", "opinions": [5]},
                "too few opinions per case",
            ),
        ],
    ),
    (
        ds.relabel,
        {"study": PAIR, "predictions": {"A": MODEL}},
        [
            ({"predictions": MANY}, "one model or two"),
            ({"models": ["Z"]}, "Z"),
            ({"n": 0}, "n must be a whole number"),
            ({"n": 21}, "not so many cases"),
            ({"draws": 0}, "draws"),
            ({"study": NUMBERS, "predictions": {"A": [1.0] * 20}}, "rankings"),
            ({"study": NOBODY, "predictions": {"A": MODEL[:2]}}, "no case has an opinion"),
        ],
    ),
]
EACH = [(act, {**usual, **more}, told) for act, usual, refused in REFUSED for more, told in refused]


@pytest.mark.parametrize(("act", "given", "told"), EACH)
def test_bad_input_is_one_clear_error(act: Callable[..., object], given: dict[str, Any], told: str) -> None:
    refused(told, act, **given)
