"""Draws from anywhere go through certainty, evaluation, comparison and the report like those of an aggregation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import dissensus as ds
from dissensus.aggregations import Dirichlet, GivenDraws, PlackettLuce, to_xarray
from refusals import refused

STUDY = ds.simulate.study(n_cases=25, n_conditions=6, seed=9)
SAID = STUDY.annotations
DRAWN = Dirichlet().sample(SAID, draws=60, seed=2)
DENSE = DRAWN.dense()
GIVEN = ds.Plausibilities.from_draws(DENSE, conditions=DRAWN.conditions, case_names=DRAWN.case_names)
ANNOTATED = SAID.select(list(DRAWN.case_names))


def test_they_are_evaluated_compared_reported_and_stored(tmp_path: Path) -> None:
    runs: list[Any] = [GIVEN, PlackettLuce(3, alpha=1.0, prior="observed")]
    result = ds.evaluate(ANNOTATED, STUDY.predictions, aggregations=runs, metrics=["top-k-accuracy:1"], draws=80)
    assert [run.label for run in result.runs] == ["given-draws", "plackett-luce 3"]
    assert [run.n_draws for run in result.runs] == [60, 80]
    model, scores = next(iter(STUDY.predictions.items()))
    best = scores.align(DRAWN.case_names, DRAWN.conditions).to_scores().argmax(axis=1)
    plain = (best[:, None] == DENSE.argmax(axis=2)).mean()
    row = result.to_frame().row(0, named=True)
    assert row["model"] == model
    assert row["mean"] == pytest.approx(plain)
    assert len(result.compare().differences) == 3 * 10
    assert len(result.plausibilities().filter(result.plausibilities()["run"] == "given-draws")) == 7 * 25
    result.save(tmp_path / "results")
    assert ds.load(tmp_path / "results") == result
    ds.write_report(result, tmp_path / "report.html")
    assert "given-draws" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_xarray_of_chains_is_understood_whatever_the_order_of_its_dimensions() -> None:
    drawn = PlackettLuce(chains=2, alpha=1.0, prior="observed").sample(SAID, draws=40)
    array = to_xarray(drawn)["plausibility"]
    for dims in (("chain", "draw", "case", "condition"), ("condition", "draw", "case", "chain")):
        again = ds.Plausibilities.from_draws(array.transpose(*dims))
        assert again.case_names == drawn.case_names
        assert again.conditions == drawn.conditions
        assert again.n_chains == 2
        np.testing.assert_allclose(again.dense(), drawn.dense(), atol=1e-12)
    np.testing.assert_array_equal(ds.Plausibilities.from_draws(to_xarray(drawn)).dense(), again.dense())
    alone = ds.Plausibilities.from_draws(array.isel(chain=0))
    np.testing.assert_allclose(alone.dense(), drawn.dense()[:, :20], atol=1e-12)
    assert alone.n_chains == 1


def test_given_draws_their_chains_and_selections_are_what_was_given() -> None:
    np.testing.assert_allclose(GIVEN.dense(), DENSE, atol=1e-15)
    np.testing.assert_allclose(GIVEN.mean(), DENSE.mean(axis=1), atol=1e-15)
    twice = GIVEN.select(slice(5, 15)).select([3, 1])
    assert twice.case_names == (GIVEN.case_names[8], GIVEN.case_names[6])
    np.testing.assert_array_equal(twice.dense(), GIVEN.dense()[[8, 6]])
    drawn = ds.Plausibilities.from_draws(DENSE, n_chains=3)
    assert drawn.conditions == tuple("012345")
    assert drawn.n_chains == 3
    assert {batch.n_chains for batch in drawn} == {3}
    assert ds.Plausibilities.from_draws([[[0.5, 0.5]]], n_chains=4).n_chains == 1


@pytest.mark.parametrize(
    ("draws", "options", "problem"),
    [
        ([[0.5, 0.5]], {}, "wrong shape"),
        (np.zeros((2, 0, 3)), {}, "wrong shape"),
        ([[[0.5, 0.6]]], {}, "must sum to one"),
        ([[[1.5, -0.5]]], {}, "finite and not negative"),
        ([[[np.nan, 1.0]]], {}, "finite and not negative"),
        ([[["a", "b"]]], {}, "array of numbers"),
        ([[[0.5, 0.5]]], {"conditions": ["a"]}, "number of conditions does not fit"),
        ([[[0.5, 0.5]]], {"conditions": ["a", "a"]}, "must all be different"),
        ([[[0.5, 0.5]]], {"case_names": ["a", "b"]}, "number of case names does not fit"),
        ([[[0.5, 0.5]]], {"n_chains": 0}, "n_chains must be a whole number"),
        (xarray.DataArray(np.ones((1, 1, 1)), dims=("a", "b", "c")), {}, "dimensions of the draws"),
        (xarray.Dataset({"a": ("x", [1.0]), "b": ("x", [1.0])}), {}, "several variables"),
        (xarray.Dataset(), {}, "data set is empty"),
    ],
)
def test_bad_draws_are_refused(draws: Any, options: dict[str, Any], problem: str) -> None:
    refused(problem, ds.Plausibilities.from_draws, draws, **options)


def test_cases_without_draws_are_named() -> None:
    more = ds.Study.from_rankings([[[["a"]]]], list("ab"), case_names=["unseen"])
    drawn = ds.Plausibilities.from_draws([[[0.5, 0.5]]], conditions=["a", "b"], case_names=["seen"])
    caught = refused("no draws", ds.evaluate, more, {}, aggregations=[drawn])
    assert "'unseen'" in caught.got
    refused("not draws", GivenDraws, np.ones((1, 1, 1)))
