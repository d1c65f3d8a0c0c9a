"""The alternative annotator test: the published values on four data sets, and bad input."""

import json

import polars as pl
import pytest

import dissensus as ds
from dissensus.expert_comparison.alternative_annotator import alternative_annotator_test
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


def test_a_model_that_is_always_wrong_wins_nobody() -> None:
    found = alternative_annotator_test(labels(), model(n_wrong=40))
    assert (found.winning_rate, found.advantage, found.passes) == (0.0, 0.0, False)
    assert found.rows.select("annotator", "n_cases").rows() == [("a0", 40), ("a1", 40), ("a2", 40)]


@pytest.mark.parametrize(
    ("study", "epsilon", "words"),
    [
        (labels(), 0.0, "epsilon must lie between 0 and 1"),
        (labels(), 1.0, "epsilon must lie between 0 and 1"),
        (labels(n_annotators=1), 0.2, "no annotator shares enough cases"),
        (labels(n_cases=29), 0.2, "no annotator shares enough cases"),
        (ds.Study.from_counts([[2, 1]] * 40, ["a", "b"], case_names=NAMES), 0.2, "by name"),
    ],
)
def test_bad_input_is_one_clear_error(study: ds.Study, epsilon: float, words: str) -> None:
    with pytest.raises(ds.DissensusError, match=words):
        alternative_annotator_test(study, model(), epsilon=epsilon)
