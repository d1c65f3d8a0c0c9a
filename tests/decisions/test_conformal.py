"""Sets with guarantees: coverage on simulated truth, with ties and copies, by category, and on disputed images."""

import math
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.decisions.conformal import conformity, threshold
from rare import some

SCORES = ("lac", "aps", "rank")


def naive_threshold(scores: list[float], alpha: float, m: int) -> float:
    """Return the least score whose averaged p-value is above alpha."""
    n = len(scores) // m
    for one in sorted(scores):
        if (m + sum(other <= one for other in scores)) / (m * (n + 1)) > alpha:
            return one
    return math.inf


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_that_of_averaged_p_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n, alpha = int(rng.integers(1, 5)), int(rng.integers(20, 40)), float(rng.uniform(0.06, 0.4))
    scores = rng.integers(0, 30, n * m) / 7  # some are tied
    found = threshold(scores, alpha, m)
    wanted = naive_threshold(scores.tolist(), alpha, m)
    new = np.arange(-1, 31) / 7
    assert ((new >= found) == (new >= wanted)).all()


def test_equal_scores_are_in_a_set_together() -> None:
    model = ds.Predictions.from_scores([[0.4, 0.4, 0.2], [0.25, 0.25, 0.5]])
    assert np.allclose(conformity(model, "aps"), [[-0.8, -0.8, -1.0], [-1.0, -1.0, -0.5]])
    said = ds.Study.from_counts([[1, 0, 0]] * 20, ["a", "b", "c"])
    found = ds.conformal(said, [[0.4, 0.4, 0.2]] * 20, alpha=0.1, m=1)
    assert found.predict([[0.4, 0.4, 0.2]]).to_lists() == [[["a", "b"]]]


def simulated(rng: np.random.Generator, n: int, sharpness: float, digits: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw how annotators of each case answer, and a model's scores, of which many are equal if digits are few."""
    p = rng.dirichlet(np.full(4, sharpness), n)
    scores = np.round(0.7 * p + 0.3 * rng.dirichlet(np.ones(4), n), digits) + 0.01
    return p, scores / scores.sum(axis=1, keepdims=True)


def labels_of(rng: np.random.Generator, p: np.ndarray, m: int) -> np.ndarray:
    return np.asarray((rng.random((len(p), m, 1)) > p.cumsum(axis=1)[:, None, :-1]).sum(axis=2))


@pytest.mark.parametrize("sharpness", [0.02, 1.0])  # with few opinions that differ, labels of a case are copies
@pytest.mark.parametrize("m", some((1, 8), 8))
@pytest.mark.parametrize("score", SCORES)
def test_a_new_label_is_covered_as_guaranteed_with_ties_and_copies(score: Any, m: int, sharpness: float) -> None:
    rng, runs, alpha, n, covered, sizes = np.random.default_rng(3), 400, 0.2, 25, 0.0, 0.0
    for _ in range(runs):
        p, scores = simulated(rng, n + 40, sharpness)
        of_condition = conformity(ds.Predictions.from_scores(scores), score)
        drawn = labels_of(rng, p, m)
        limit = threshold(np.take_along_axis(of_condition[:n], drawn[:n], axis=1).ravel(), alpha, m)
        new = np.take_along_axis(of_condition[n:], drawn[n:, :1], axis=1)
        covered += float((new >= limit).mean())
        sizes += float((of_condition[n:] >= limit).sum(axis=1).mean())
    assert covered / runs >= 1 - alpha - 0.012
    assert sizes / runs < 3.9


@pytest.mark.parametrize("method", ["monte-carlo", "corrected"])
def test_sets_cover_an_annotator_and_each_category_as_asked(method: Any) -> None:
    rng = np.random.default_rng(4)
    p, scores = simulated(rng, 4000, 0.6, 9)
    votes = labels_of(rng, p, 4)
    conditions = ["a", "b", "c", "d"]
    counts = np.array([np.bincount(row[:3], minlength=4) for row in votes])
    risks = ds.Categories.from_mapping({"a": "low", "b": "low", "c": "high", "d": "high"})
    said = ds.Study.from_counts(counts[:2000], conditions)
    asked = {"low": 0.3, "high": 0.05}
    found = ds.conformal(said, scores[:2000], alpha=asked, categories=risks, method=method)
    sets = found.predict(scores[2000:])
    inside = np.zeros((2000, 4), dtype=bool)
    inside[sets.case_of_entry, sets.codes] = True
    new = votes[2000:, 3]  # somebody who was not asked
    is_covered = inside[np.arange(2000), new]
    for name, own in (("low", new < 2), ("high", new >= 2)):
        assert is_covered[own].mean() == pytest.approx(1 - asked[name], abs=0.03)
    assert "guarantee" in repr(found)
    assert len(repr(found).splitlines()) <= 20
    first = ds.Study.from_counts(counts[2000:2100], conditions).asked("conditions")
    some = sets.select(list(first.case_names))
    told = ds.evaluate(
        first, {"sets": some}, aggregations=["majority-vote"], metrics=["expected-coverage"], panel=False
    )
    wanted = np.mean((inside[:100] * counts[2000:2100]).sum(axis=1) / 3)
    assert told.to_frame().filter(estimand="adjusted")["mean"][0] == pytest.approx(wanted)


def test_one_seed_gives_one_threshold_and_labels_come_from_an_aggregation_too() -> None:
    study = ds.simulate.study(n_cases=120, n_conditions=5, seed=2)
    model = study.predictions["Aster"]
    one, same, other = (ds.conformal(study.annotations, model, m=1, seed=seed).rows[0] for seed in (1, 1, 2))
    assert one == same
    assert one != other
    shuffled = study.annotations.select(list(study.annotations.case_names)[::-1])
    assert ds.conformal(shuffled, model, m=1, seed=1).rows[0] == one
    found = ds.conformal(study.annotations, model, labels="dirichlet")
    assert "plausibilities of dirichlet" in repr(found)
