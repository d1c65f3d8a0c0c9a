"""Models against a truth that is given: one more reference beside the panel, adjusted runs and single annotators."""

from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus import DissensusError

N = 40
RNG = np.random.default_rng(5)
NAMES = [f"case {number}" for number in range(N)]
LABELS = RNG.integers(2, size=N)
SCORES = np.clip(LABELS[:, None] * [[-0.4, 0.4]] + RNG.normal(0.5, 0.3, (N, 1)) * [[-1, 1]] + [[1, 0]], 0.01, 0.99)
SAID = ds.Study.from_counts(RNG.multinomial(3, [0.5, 0.5], size=N), ["no", "yes"], case_names=NAMES, question="binary")
TRUTH = {name: ("no", "yes")[label] for name, label in zip(NAMES, LABELS, strict=True)}
ASKED: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": 30, "panel": False}


def of_truth(result: ds.Evaluation) -> dict[str, float]:
    rows = result.to_frame().filter(estimand="truth")
    assert set(rows["run"]) == {"truth"}
    assert ((rows["low"] < rows["mean"]) & (rows["mean"] < rows["high"])).all()
    return dict(rows.select("metric", "mean").iter_rows())


def test_values_against_the_truth_are_plain_values() -> None:
    metrics = ["top-k-accuracy:1", "auroc", "sensitivity", "brier-score"]
    result = ds.evaluate(SAID, {"A": SCORES}, truth=TRUTH, metrics=metrics, **ASKED)
    found = of_truth(result)
    called, shares = SCORES.argmax(axis=1), SCORES / SCORES.sum(axis=1, keepdims=True)
    gaps = SCORES[LABELS == 1, 1][:, None] - SCORES[LABELS == 0, 1]
    assert found["top-1 accuracy"] == pytest.approx((called == LABELS).mean())
    assert found["AUROC"] == pytest.approx((gaps > 0).mean() + (gaps == 0).mean() / 2)
    assert found["sensitivity at 0.5"] == pytest.approx((called == 1)[LABELS == 1].mean())
    assert found["Brier score"] == pytest.approx(((shares - np.eye(2)[LABELS]) ** 2).sum(axis=1).mean())
    plain = ds.evaluate(SAID, {"A": SCORES}, metrics=metrics, **ASKED).to_frame()
    assert result.to_frame().filter(run="dirichlet 1").equals(plain.filter(run="dirichlet 1"))
    assert [found.estimand for found in result.compare().differences] == []


def test_numbers_and_findings_have_a_truth_too() -> None:
    rated = ds.Study.from_scores(RNG.normal(3.0, 1.0, (N, 3)).tolist(), case_names=NAMES)
    values = RNG.normal(3.0, 1.0, N)
    known = dict(zip(NAMES, values.tolist(), strict=True))
    numbers = ds.evaluate(rated, {"A": np.full(N, 2.5)}, truth=known, metrics=["mean-absolute-error"], panel=False)
    assert of_truth(numbers)["mean absolute error"] == pytest.approx(np.abs(values - 2.5).mean())
    ticked = ds.Study.from_sets([[{"AF"}, set()] for _ in NAMES], ["AF", "ST"], case_names=NAMES)
    present = {name: {"AF"} if label else set() for name, label in zip(NAMES, LABELS, strict=True)}
    scores = ds.Predictions.from_scores(np.tile([0.9, 0.2], (N, 1)), ["AF", "ST"], case_names=NAMES)
    findings = ds.evaluate(ticked, {"A": scores}, truth=present, metrics=["top-k-accuracy:1"], **ASKED)
    assert of_truth(findings)["top-1 accuracy"] == pytest.approx((LABELS.mean() + 1) / 2)


def test_a_truth_that_is_no_condition_or_lacks_cases_is_refused() -> None:
    with pytest.raises(DissensusError, match="no condition 'perhaps'"):
        ds.evaluate(SAID, {"A": SCORES}, truth={**TRUTH, "case 3": "perhaps"}, **ASKED)
    with pytest.raises(DissensusError, match="truth of some cases is not given"):
        ds.evaluate(SAID, {"A": SCORES}, truth={"case 3": "yes"}, **ASKED)
