"""Which cases again: gains in closed form, on votes of ChaosNLI, lists that others take, and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.decisions.planning import expected_gains


def closed_form(counts: np.ndarray, alpha: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the gain under a Dirichlet posterior: the variance of the mean after one more answer."""
    mass = counts + alpha
    total = mass.sum(axis=1, keepdims=True)
    p = mass / total
    mean = (p * values).sum(axis=1, keepdims=True)
    return np.asarray((p * np.square((values - mean) / (total + 1))).sum(axis=1))


def test_gains_are_those_of_a_dirichlet_posterior_in_closed_form() -> None:
    rng = np.random.default_rng(1)
    counts, alpha = rng.multinomial(4, [0.5, 0.3, 0.2], 12), np.full(3, 0.7)
    values = rng.normal(size=(12, 3))
    theta = np.array([rng.dirichlet(row + alpha, 40_000) for row in counts])
    spread, gains, certainty = expected_gains(theta, values)
    assert gains == pytest.approx(closed_form(counts, alpha, values), rel=0.06)
    assert (gains <= spread).all()
    assert ((certainty > 0.3) & (certainty <= 1)).all()


def test_cases_on_which_models_agree_have_nothing_to_give() -> None:
    said = ds.Study.from_counts([[2, 2, 0], [2, 2, 0], [4, 0, 0], [2, 1, 1]], ["a", "b", "c"])
    models = {"A": [[0.9, 0.1, 0.0]] * 4, "B": [[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]]}
    found = ds.relabel(said, models, "top-k-accuracy:1", n=2)
    gain = {row["case"]: row["gain"] for row in found.rows}
    assert gain["1"] == pytest.approx(0.0, abs=1e-12)
    assert found.rows[0]["case"] == "0"
    assert gain["0"] > gain["2"]
    assert sum(gain.values()) < 1


def test_metrics_of_the_data_set_and_of_one_model_lead_to_conclusions_too() -> None:
    study = ds.simulate.binary(n_cases=80, seed=1)
    said, models = study.annotations, study.predictions
    name = next(iter(models))
    for metric in ("auroc", "top-k-accuracy:1"):
        found = ds.relabel(said, models, metric, models=[name], draws=200)
        assert found.rows[0]["gain"] > 0
        assert len(found.rows) == 80


def test_lists_are_taken_by_label_studio_and_spreadsheets(tmp_path: Path) -> None:
    study = ds.simulate.study(n_cases=40, n_conditions=4, seed=1)
    found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=5)
    found.write(tmp_path / "again.csv")
    found.write(tmp_path / "again.json")
    table = pl.read_csv(tmp_path / "again.csv", schema_overrides={"case": pl.String})
    tasks = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert table["case"].to_list() == [task["data"]["case"] for task in tasks]
    assert table["rank"].to_list() == [1, 2, 3, 4, 5]
    assert len(repr(found).splitlines()) <= 20
    with pytest.raises(ds.DissensusError):
        found.write(tmp_path / "again.csv")
    with pytest.raises(ds.DissensusError, match=r"\.csv or \.json"):
        found.write(tmp_path / "again.txt")


def test_the_order_of_cases_does_not_matter_and_unannotated_ones_are_noted() -> None:
    said = ds.Study.from_rankings([[[["a"]], [["b"]]], [[["a"]]], []], ["a", "b"])
    models = {"A": [[0.9, 0.1]] * 3, "B": [[0.1, 0.9]] * 3}
    found = ds.relabel(said, models, "top-k-accuracy:1")
    assert "1 cases have no opinion yet: they are not ranked" in found.notes
    names = ["1", "0"]
    others = {name: ds.Predictions.from_scores(one[:2], ["a", "b"], case_names=names) for name, one in models.items()}
    turned = ds.relabel(said.select([1, 0]), others, "top-k-accuracy:1")
    assert {row["case"]: row["gain"] for row in found.rows} == pytest.approx(
        {row["case"]: row["gain"] for row in turned.rows}
    )
    same = ds.relabel(said, {"A": models["A"], "B": models["A"]}, "top-k-accuracy:1")
    assert any("say the same" in note for note in same.notes)


STUDY = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
MODEL = [[0.9, 0.1], [0.2, 0.8]] * 10


@pytest.mark.parametrize(
    ("study", "models", "more", "told"),
    [
        (STUDY, {"A": MODEL, "B": MODEL, "C": MODEL}, {}, "one model or two"),
        (STUDY, {"A": MODEL}, {"models": ["Z"]}, "Z"),
        (STUDY, {"A": MODEL}, {"n": 0}, "n must be a whole number"),
        (STUDY, {"A": MODEL}, {"n": 21}, "not so many cases"),
        (STUDY, {"A": MODEL}, {"draws": 0}, "draws"),
        (ds.Study.from_scores([[1.0, 2.0]] * 5), {"A": [1.0] * 5}, {}, "rankings"),
        (ds.Study.from_rankings([[], []], ["a", "b"]), {"A": MODEL[:2]}, {}, "no case has an opinion"),
    ],
)
def test_bad_input_is_one_clear_error(study: ds.Study, models: Any, more: dict[str, Any], told: str) -> None:
    with pytest.raises(ds.DissensusError, match=told):
        ds.relabel(study, models, **more)
