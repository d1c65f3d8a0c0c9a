"""What the fit of an informed prior adds to intervals, against new draws and naive sums."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import Dirichlet, PlackettLuce, informed_prior
from dissensus.evaluation.refits import FamilySpread, FitSpread, other_family, refit_weights, reweighted
from dissensus.evaluation.request import why_no_panel
from dissensus.evaluation.sums import CaseWeights
from dissensus.metrics import TopKAccuracy

STUDY = ds.simulate.study(n_cases=120, n_conditions=20, seed=5)
TOP = [TopKAccuracy(1)]


def labelled(n_cases: int, n_votes: int, seed: int = 0) -> tuple[ds.Study, dict[str, ds.Predictions], np.ndarray]:
    """Votes of a Dirichlet-multinomial model whose means two models know through noise."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    signal = rng.normal(size=(n_cases, 4)) * 1.5
    mean = np.exp(signal) / np.exp(signal).sum(axis=1, keepdims=True)
    theta = np.array([rng.dirichlet(4 * row + 1e-3) for row in mean])
    counts = np.array([rng.multinomial(n_votes, row) for row in theta])
    study = ds.Study.from_counts(counts, names)
    models = {}
    for name, noise in (("good", 0.4), ("poor", 1.5)):
        logits = signal + noise * rng.normal(size=signal.shape)
        models[name] = ds.Predictions.from_scores(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), names)
    return study, models, theta


def test_reweighted_draws_are_draws_of_the_other_prior() -> None:
    study, models, _ = labelled(110, 3)
    prior = informed_prior(study, models)
    other = prior.coefficients + 0.15 * np.random.default_rng(1).normal(size=prior.coefficients.shape)
    drawn = PlackettLuce(prior=prior).sample(study, draws=20_000)
    exact = PlackettLuce(prior=replace(prior, coefficients=other)).sample(study, draws=20_000, seed=9).mean()
    for batch in drawn.select(["3", "50", "99"]).map(lambda one: one, batch_cases=1):
        case = study.case_names.index(batch.case_names[0])
        [[weights]] = refit_weights(prior, study.select([batch.case_names[0]]).opinions, other, batch, 1)
        assert weights @ batch.dense()[0] == pytest.approx(exact[case], abs=0.02)


def test_reweighted_leave_out_what_is_undefined() -> None:
    values = np.array([[[0.0, np.nan, 1.0]], [[np.nan, np.nan, np.nan]]])
    still, moved, counted = reweighted(values, np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]]))
    assert still[:, 0, 0] == pytest.approx([0.5, 0.5])
    assert moved[:, 0, 0] == pytest.approx([0.6, 1.0])
    assert counted[:, :, 0].tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_sums_over_resamples_are_those_of_cases_one_by_one() -> None:
    how: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "metrics": TOP, "draws": 100, "annotators": "fixed"}
    result = ds.evaluate(STUDY.annotations, STUDY.predictions, **how)
    prior = informed_prior(STUDY.annotations, STUDY.predictions)
    weights = CaseWeights.of(result.study.panel, 0).bootstrap(np.arange(120), 40)
    fit, family = result.estimates[1].fit
    assert fit is not None
    assert family is not None
    means = result.case_means[1][:, 0]
    assert fit.sums[2, :, 0, 0] == pytest.approx(weights.sum(axis=0))
    assert fit.sums[0, :, :, 0] == pytest.approx(weights.T @ means.T)
    refits = prior.refitted(weights.T)
    moved = np.zeros((40, len(STUDY.predictions)))
    for batch in PlackettLuce(prior=prior).sample(STUDY.annotations, draws=100).map(lambda one: one, batch_cases=1):
        place = STUDY.annotations.case_names.index(batch.case_names[0])
        leading = batch.dense()[0].argmax(axis=1)
        [own] = refit_weights(prior, STUDY.annotations.select([batch.case_names[0]]).opinions, refits, batch, 1)
        for number, model in enumerate(STUDY.predictions.values()):
            hits = own @ (leading == model.codes[model.offsets[place]])
            moved[:, number] += weights[place] * hits
    assert fit.sums[1][:, :, 0] == pytest.approx(moved, abs=1.0)  # rare ties of unmentioned conditions differ
    assert family.sums[0][0, :, 0] == pytest.approx(means.sum(axis=1))
    assert result.estimates[0].fit == (None, None)
    for part in ("fit_sd", "family_sd"):
        shown = {estimand: rows[part].to_numpy().max() for (estimand,), rows in result.to_frame().group_by("estimand")}
        assert shown["panel"] > 0
        assert np.isnan([shown["adjusted"], shown["agreement"]]).all()


def test_variance_of_the_fit_is_what_refits_add() -> None:
    rng = np.random.default_rng(0)
    still, moved = rng.normal(size=(2, 40, 2, 1)) * np.array([1.0, 2.0])[:, None, None, None]
    sums = FitSpread(np.stack([still, moved, np.ones_like(still)]))
    expected = np.var(moved[:, 0, 0], ddof=1) - np.var(still[:, 0, 0], ddof=1)
    assert sums.of_models().variance[0, 0] == pytest.approx(expected)
    gap = [part[:, 0, 0] - part[:, 1, 0] for part in (still, moved)]
    expected = np.var(gap[1], ddof=1) - np.var(gap[0], ddof=1)
    assert sums.of_difference(0, 1).variance[0] == pytest.approx(expected)
    assert FitSpread(np.stack([moved, still, np.ones_like(still)])).of_models().variance.max() == 0.0


def test_half_the_distance_of_families_is_a_standard_deviation() -> None:
    still, moved = np.array([[[0.6], [0.5]]]), np.array([[[0.7], [0.52]]])
    family = FamilySpread(np.stack([still, moved, np.ones_like(still)]))
    assert np.sqrt(family.of_models().variance)[:, 0] == pytest.approx([0.05, 0.01])
    assert np.sqrt(family.of_difference(0, 1).variance) == pytest.approx([0.04])


def test_the_other_family_is_logistic_normal_with_the_spread_that_suits_the_votes() -> None:
    """Votes of logistic-normal plausibilities: the spread is found again, and draws count as they suit the votes."""
    rng, n, names = np.random.default_rng(3), 600, ["a", "b", "c", "d"]
    signal, noise = 1.5 * rng.normal(size=(n, 4)), 0.75 * rng.normal(size=(n, 4))
    counts = np.array([rng.multinomial(5, row / row.sum()) for row in np.exp(signal + noise)])
    shares = np.exp(signal) / np.exp(signal).sum(axis=1, keepdims=True)
    study = ds.Study.from_counts(counts, names)
    prior = informed_prior(study, {"knows": ds.Predictions.from_scores(shares, names)})
    assert 0.5 <= prior.recipe.log_sd <= 1.0
    chosen = study.select(slice(0, 40))
    (batch,) = Dirichlet(prior=prior).sample(chosen, draws=20).map(lambda one: one, batch_cases=40)
    found = other_family(prior, chosen.opinions, batch, 0)
    assert found is not None
    drawn, weights = found
    centre = np.log(prior.means()[[prior.case_names.index(name) for name in batch.case_names]])
    errors = []
    for case, dense in enumerate(drawn.dense()):
        own = np.exp(centre[case] + prior.recipe.log_sd * rng.normal(size=(20_000, 4)))
        own /= own.sum(axis=1, keepdims=True)
        likely = np.exp(np.log(own) @ counts[study.case_names.index(batch.case_names[case])])
        errors.append(weights[case][0] @ dense - likely @ own / likely.sum())
    assert np.abs(np.mean(errors, axis=0)).max() < 0.01
    assert np.abs(errors).mean() < 0.03


def test_models_that_were_trained_on_the_annotations_are_evaluated_but_inform_nothing(tmp_path: Path) -> None:
    how: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "metrics": TOP, "draws": 50, "annotators": "fixed"}
    result = ds.evaluate(STUDY.annotations, STUDY.predictions, trained_on=["Birch"], **how)
    result.save(tmp_path / "results")
    assert result.prior is not None
    assert (result.prior.held_out_gain or 0.0) > 0
    for one in (result, ds.load(tmp_path / "results")):
        assert one.trained_on == ("Birch",)
        assert one.prior is not None
        assert one.prior.held_out_gain == result.prior.held_out_gain
        assert {row["model"] for row in one.prior.models if row["left_out"] is not None} == {"Birch"}
        assert "Birch" in one.models
    everyone = ds.evaluate(STUDY.annotations, STUDY.predictions, trained_on=list(STUDY.predictions), **how)
    assert everyone.prior is not None
    assert everyone.prior.reason == "all models were trained on these annotations"
    with pytest.raises(ds.DissensusError, match="is not among the models") as caught:
        ds.evaluate(STUDY.annotations, STUDY.predictions, trained_on=["Nobody"], **how)
    assert "'Aster', 'Birch'" in str(caught.value)


def test_a_prior_that_is_given_goes_by_names_whatever_the_order_of_cases() -> None:
    prior = informed_prior(STUDY.annotations, STUDY.predictions)
    how: dict[str, Any] = {"metrics": TOP, "draws": 50, "annotators": "fixed"}
    given = ds.evaluate(STUDY.annotations, STUDY.predictions, aggregations=[PlackettLuce(prior=prior)], **how)
    fitted = ds.evaluate(STUDY.annotations, STUDY.predictions, aggregations=[PlackettLuce(prior="informed")], **how)
    for part in ("mean", "fit_sd", "family_sd"):
        one, other = (result.to_frame()[part].to_numpy() for result in (given, fitted))
        assert one == pytest.approx(other, abs=0.02, nan_ok=True)


def test_reasons_for_no_panel() -> None:
    single = ds.Study.from_counts(np.eye(2, dtype=int)[[0, 1] * 60], ["a", "b"])
    cases: list[tuple[ds.Study, Any, str]] = [
        (STUDY.annotations, {}, "no predictions"),
        (STUDY.annotations.select(slice(0, 99)), STUDY.predictions, "99 annotated cases"),
        (single, {"A": 1}, "opinions per case is 1,"),
    ]
    for study, models, reason in cases:
        assert reason in why_no_panel(study, models)
