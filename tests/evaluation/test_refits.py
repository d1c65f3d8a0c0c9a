"""The fit of an informed prior in intervals, and panel estimates of numbers: against new draws and naive sums."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import (
    Dirichlet,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    PlackettLuce,
    RatingPrior,
    informed_prior,
    rating_prior,
)
from dissensus.aggregations.normal_inverse_gamma import fitted_line
from dissensus.core.arrays import FloatArray
from dissensus.evaluation.intervals import APART, FamilySpread, FitSpread, other_family, refit_weights, reweighted
from dissensus.evaluation.request import why_no_panel
from dissensus.evaluation.sums import CaseWeights
from dissensus.metrics import TopKAccuracy
from dissensus.simulate.answers import SimulatedRatings
from refusals import refused

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
    assert sums.part().variance[0, 0] == pytest.approx(expected)
    gap = [part[:, 0, 0] - part[:, 1, 0] for part in (still, moved)]
    expected = np.var(gap[1], ddof=1) - np.var(gap[0], ddof=1)
    assert sums.part((np.array([0]), np.array([1]))).variance[0, 0] == pytest.approx(expected)
    assert FitSpread(np.stack([moved, still, np.ones_like(still)])).part().variance.max() == 0.0


def test_half_the_distance_of_families_is_a_standard_deviation() -> None:
    still, moved = np.array([[[0.6], [0.5]]]), np.array([[[0.7], [0.52]]])
    family = FamilySpread(np.stack([still, moved, np.ones_like(still)]))
    assert np.sqrt(family.part().variance)[:, 0] == pytest.approx([0.05, 0.01])
    assert np.sqrt(family.part((np.array([0]), np.array([1]))).variance)[0] == pytest.approx([0.04])


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


SKILLS = {"good": 0.5, "fair": 0.8}


def simulated(seed: int, n_cases: int = 150) -> tuple[SimulatedRatings, dict[str, ds.Predictions]]:
    study = ds.simulate.ratings(n_cases=n_cases, models=SKILLS, seed=seed)
    told = np.random.default_rng(1000 + seed).normal(size=n_cases)
    nonsense = ds.Predictions.from_numbers(told, case_names=study.ratings.case_names, name="nonsense")
    return study, {**study.predictions, "nonsense": nonsense}


RATED, RATERS = simulated(1)


def fitted() -> RatingPrior:
    return rating_prior(RATED.ratings, RATERS)


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return ds.evaluate(RATED.ratings, RATERS, draws=200, annotators="fixed")


def errors(numbers: FloatArray, truth: FloatArray) -> dict[str, float]:
    gaps = numbers - truth
    found = {"mean absolute error": np.abs(gaps).mean(), "RMSE": np.sqrt((gaps**2).mean())}
    return {**found, "correlation": float(np.corrcoef(numbers, truth)[0, 1])}


def row(result: ds.Evaluation, model: str, metric: str, estimand: str) -> Mapping[str, float]:
    return result.to_frame().filter(model=model, metric=metric, estimand=estimand).row(0, named=True)


def test_the_panel_is_the_headline_and_its_prior_is_written_down(result: ds.Evaluation, tmp_path: Path) -> None:
    assert [run.aggregation for run in result.runs] == ["normal-inverse-gamma", "panel"]
    assert result.panel is not None
    assert result.prior is not None
    slopes = {one["model"]: one["coefficient"] for one in result.prior.models}
    assert slopes["good"] > slopes["fair"] > 0.1 > abs(slopes["nonsense"])
    assert result.prior.models[0]["alone"] > result.prior.models[0]["beyond"] > 0.1
    assert row(result, "good", "RMSE", "panel")["fit_sd"] > 0
    result.save(tmp_path / "kept")
    assert ds.load(tmp_path / "kept").prior == result.prior


@pytest.mark.slow
def test_errors_are_those_against_the_truth_where_adjusted_ones_are_far_off() -> None:
    gaps: dict[str, list[float]] = {"panel": [], "adjusted": []}
    held = []
    for seed in range(8):
        study, models = simulated(seed)
        found = ds.evaluate(study.ratings, models, draws=100, annotators="fixed", level=0.9)
        for model in SKILLS:
            for metric, truth in errors(models[model].numbers, study.truth).items():
                rows = {name: row(found, model, metric, name) for name in gaps}
                sign = -1 if metric == "correlation" else 1
                for name, one in rows.items():
                    gaps[name].append(sign * (one["mean"] - truth))
                held.append(rows["panel"]["low"] <= truth <= rows["panel"]["high"])
    assert abs(np.mean(gaps["panel"])) < 0.02
    assert np.mean(gaps["adjusted"]) > 0.1
    assert np.mean(held) > 0.85


def test_the_posterior_is_the_prior_times_the_likelihood() -> None:
    prior, rated = fitted(), RATED.ratings.opinions
    case, draws = 3, 20_000
    drawn = NormalInverseGamma(prior=prior).sample(RATED.ratings.select([rated.case_names[case]]), draws=draws)
    numbers = next(iter(drawn)).numbers
    assert numbers is not None
    mu, spread = np.meshgrid(np.linspace(-6, 6, 1201), np.exp(np.linspace(-4, 2, 601)), indexing="ij")
    log = stats.norm.logpdf(mu, prior.means[case], spread / np.sqrt(prior.kappa))
    log += stats.invgamma.logpdf(spread**2, prior.a, scale=prior.b) + 2 * np.log(spread)
    for score in rated.scores[rated.cases == case]:
        log += stats.norm.logpdf(score, mu, spread)
    weights = np.exp(log - log.max())
    for drawn_one, grid in ((numbers[0, :, 0], mu), (numbers[0, :, 1], spread)):
        mean = float((weights * grid).sum() / weights.sum())
        deviation = float(np.sqrt((weights * (grid - mean) ** 2).sum() / weights.sum()))
        assert drawn_one.mean() == pytest.approx(mean, abs=5 * deviation / np.sqrt(draws))
        assert drawn_one.std() == pytest.approx(deviation, rel=0.03)


def test_weighed_draws_are_draws_of_the_other_prior() -> None:
    prior, draws = fitted(), 20_000
    names = list(prior.case_names[:3])
    weights = np.random.default_rng(2).exponential(size=(2, len(prior.case_names)))
    refits = prior.refitted(weights)
    study = RATED.ratings.select(names)
    rated, apart = study.opinions, []
    for case, batch in enumerate(NormalInverseGamma(prior=prior).sample(study, draws=draws)):
        assert batch.numbers is not None
        assert batch.n_cases == 1
        [found] = refit_weights(prior, rated, refits, batch, 1)
        own, drawn = refits[:, -1], batch.numbers[0, :, 0]
        told = own * (refits[:, :-1] @ prior.features[case]) + rated.totals[case] * rated.means[case]
        expected = told / (own + rated.totals[case])
        assert found[:-1] @ drawn == pytest.approx(expected, abs=0.02)
        apart.append(np.abs(drawn.mean() - expected).max())
        both = prior.kappa * np.cosh(APART) * np.exp([APART, -APART])
        line, n, mean = prior.means[case], rated.totals[case], rated.means[case]
        # with the spread known, the mean is normal; the ratings say how probable each kappa is
        spread = batch.numbers[0, :, 1][:, None]
        odds = np.sqrt(both * n / (both + n)) * np.exp(-0.5 * (mean - line) ** 2 / spread**2 * both * n / (both + n))
        centres = (both * line + n * mean) / (both + n)
        own_odds = prior.kappa * n / (prior.kappa + n)
        ratio = odds / (np.sqrt(own_odds) * np.exp(-0.5 * (mean - line) ** 2 / spread**2 * own_odds))
        assert found[-1] @ drawn == pytest.approx((ratio * centres).sum() / ratio.sum(), abs=0.02)
    assert max(apart) > 0.05


def test_the_variance_around_the_line_has_no_bias_from_noise_or_coefficients() -> None:
    rng, found = np.random.default_rng(3), []
    for _ in range(400):
        totals = rng.integers(2, 6, size=40).astype(float)
        features = np.column_stack([np.ones(40), rng.normal(size=(40, 6))])
        truth = features @ np.ones(7) + 0.6 * rng.normal(size=40)
        means = truth + 0.5 * rng.normal(size=40) / np.sqrt(totals)
        squares = 0.25 * rng.chisquare(totals - 1)
        found.append(fitted_line(features, np.array([totals, means, squares]), np.ones(40)).between)
    assert np.mean(found) == pytest.approx(0.36, rel=0.06)
    prior = fitted()  # where all cases have as many ratings, the line is that of least squares
    plain = np.linalg.lstsq(prior.features, prior.ratings[1], rcond=None)[0]
    assert prior.coefficients == pytest.approx(plain, abs=0.01)


def test_a_model_that_has_seen_ratings_is_left_out() -> None:
    rated = RATED.ratings.opinions
    with pytest.warns(ds.DissensusWarning, match="'copy' does not inform the prior: it is nearer"):
        prior = rating_prior(RATED.ratings, {**RATERS, "copy": rated.means})
    assert prior.models == tuple(RATERS)
    repeated = rated.means.copy() + 0.5
    own = rated.annotators == 0
    repeated[rated.cases[own]] = rated.scores[own]
    with pytest.warns(ds.DissensusWarning, match="repeats annotator"):
        rating_prior(RATED.ratings, {"repeats": repeated})


def test_thresholds_and_shifts_are_those_of_the_first_aggregation_of_ratings() -> None:
    first = NormalInverseGamma((0.0, 1.0), shifts=True, reliability=3.0)
    specs = [first, NormalInverseGamma((0.0, 1.0))]
    found = ds.evaluate(RATED.ratings, RATERS, aggregations=specs, draws=20, annotators="sample")
    assert found.runs[-1].spec == NormalInverseGamma((0.0, 1.0), prior="informed", shifts=True)
    # annotators who are left out are left out of the fit
    assert row(found, "good", "RMSE", "panel")["annotator_sd"] >= 0
    assert found.estimates[len(found.runs) - 1].annotators is not None


def test_without_enough_ratings_or_numbers_it_is_said_why_there_is_no_panel() -> None:
    few = RATED.ratings.select(list(RATED.ratings.case_names[:60]))
    models = {name: model.select(list(few.case_names)) for name, model in RATERS.items()}
    found = ds.evaluate(few, models, draws=20, annotators="fixed")
    assert found.prior is not None
    assert "60 annotated cases" in found.prior.reason
    refused("needs to know what the models say", NormalInverseGamma(prior="informed").sample, few)
    with pytest.raises(ds.DissensusError, match="does not know these cases"):
        NormalInverseGamma(prior=fitted()).sample(ds.Study.from_scores([[1, 2]], case_names=["new"]))
    agreed = ds.Study.from_scores([[1.0, 1.0]] * 120)
    known = NormalInverseGamma(prior=NormalInverseGammaPrior(mu=0.0, kappa=1.0, a=2.0, b=1.0))
    told = ds.evaluate(agreed, {"A": np.arange(120.0)}, aggregations=[known], draws=20)
    assert told.prior is not None
    assert told.prior.reason == "no two ratings of a case differ"
