"""The alternative annotator test: the published values on four data sets, and bad input."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import dissensus as ds
from dissensus.evaluation.expert_comparison.experts import alternative_annotator_test
from shared_data import SHARED, needs_shared

NAMES = [f"c{i}" for i in range(40)]


def labels(n_annotators: int = 3, n_cases: int = 40) -> ds.Study:
    rows = [(name, f"a{who}", "ab"[i % 2]) for i, name in enumerate(NAMES[:n_cases]) for who in range(n_annotators)]
    return ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row"), ["a", "b"])


def model(n_wrong: int = 0) -> ds.Predictions:
    said = [["ab"[(i + (i < n_wrong)) % 2]] for i in range(40)]
    return ds.Predictions.from_rankings(said, ["a", "b"], case_names=NAMES)


@needs_shared
@pytest.mark.parametrize("name", ["wax", "lgbteen", "cebab_aspects", "cebab_stars"])
def test_published_values_are_reproduced(name: str) -> None:
    folder = SHARED / "alttest"
    expected = json.loads((folder / "reference.json").read_text())[name]
    humans, models = (json.loads((folder / name / f"{who}_annotations.json").read_text()) for who in ("human", "llm"))
    is_number = name == "cebab_stars"
    rows = [
        (case, who, float(one) if is_number else str(one)) for who, own in humans.items() for case, one in own.items()
    ]
    every = sorted({str(one) for own in (*humans.values(), *models.values()) for one in own.values()})
    value = "score" if is_number else "condition"
    table = pl.DataFrame(rows, ["case", "annotator", value], orient="row")
    study = ds.Study.from_long(table, score="score") if is_number else ds.Study.from_long(table, every)
    for which, values in expected.items():
        own, cases = models[which], list(models[which])
        said = (
            ds.Predictions.from_numbers([float(one) for one in own.values()], case_names=cases)
            if is_number
            else ds.Predictions.from_rankings([[str(one)] for one in own.values()], every, case_names=cases)
        )
        found = alternative_annotator_test(study, said, epsilon=values["epsilon"])
        assert found.winning_rate == pytest.approx(values["winning_rate"], abs=1e-9)
        assert found.advantage == pytest.approx(values["advantage"], abs=1e-9)


def test_the_outcome_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=40)
    skill = (0.85, 0.8, 0.75, 0.7, 0.6, 0.55)
    said = np.array([[t if rng.random() < own else rng.integers(3) for own in skill] for t in truth])
    guess = np.array([t if rng.random() < 0.8 else rng.integers(3) for t in truth])
    rows = [(NAMES[i], f"a{j}", "abc"[said[i, j]]) for i in range(40) for j in range(6)]
    study = ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row"), ["a", "b", "c"])
    model = ds.Predictions.from_rankings([["abc"[k]] for k in guess], ["a", "b", "c"], case_names=NAMES)
    p_values, advantages = [], []
    for j in range(6):
        others = np.delete(said, j, axis=1)
        theirs, own = (others == said[:, [j]]).mean(axis=1), (others == guess[:, None]).mean(axis=1)
        apart = (theirs >= own).astype(float) - (own >= theirs)
        t = (apart.mean() - 0.1) / (apart.std(ddof=1) / np.sqrt(40))
        p_values.append(stats.t.cdf(t, 39))
        advantages.append((own >= theirs).mean())
    limits = 0.05 * np.arange(1, 7) / 6 / sum(1 / k for k in range(1, 7))
    passed = np.flatnonzero(np.sort(p_values) <= limits)
    found = alternative_annotator_test(study, model, epsilon=0.1)
    assert found.rows["p_value"].to_list() == pytest.approx(p_values, abs=1e-12)
    assert found.advantage == pytest.approx(np.mean(advantages))
    assert found.winning_rate == (passed[-1] + 1 if len(passed) else 0) / 6
    independent = np.sum(np.sort(p_values) <= 0.05 * np.arange(1, 7) / 6)
    assert 0 < found.winning_rate < independent / 6, p_values  # so that the harmonic sum matters


def test_a_model_that_is_always_wrong_wins_nobody() -> None:
    found = alternative_annotator_test(labels(), model(n_wrong=40))
    assert (found.winning_rate, found.advantage, found.passes) == (0.0, 0.0, False)
    assert found.rows.select("annotator", "n_cases").rows() == [("a0", 40), ("a1", 40), ("a2", 40)]


@pytest.mark.parametrize(
    ("study", "epsilon", "words"),
    [
        (labels(), 0.0, "epsilon must be between 0 and 1"),
        (labels(), 1.0, "epsilon must be between 0 and 1"),
        (labels(n_annotators=1), 0.2, "no annotator shares enough cases"),
        (labels(n_cases=29), 0.2, "no annotator shares enough cases"),
        (ds.Study.from_counts([[2, 1]] * 40, ["a", "b"], case_names=NAMES), 0.2, "by name"),
    ],
)
def test_bad_input_is_one_clear_error(study: ds.Study, epsilon: float, words: str) -> None:
    with pytest.raises(ds.DissensusError, match=words):
        alternative_annotator_test(study, model(), epsilon=epsilon)
