"""Panel estimates of numbers: models inform the prior mean of ratings, and errors are those against the truth."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import NormalInverseGamma, NormalInverseGammaPrior, RatingPrior, rating_prior
from dissensus.aggregations.normal_inverse_gamma import fitted_line
from dissensus.core.aliases import FloatArray
from dissensus.evaluation.refits import APART, refit_weights
from dissensus.simulate.answers import SimulatedRatings

SKILLS = {"good": 0.5, "fair": 0.8}


def simulated(seed: int, n_cases: int = 150) -> tuple[SimulatedRatings, dict[str, ds.Predictions]]:
    study = ds.simulate.ratings(n_cases=n_cases, models=SKILLS, seed=seed)
    told = np.random.default_rng(1000 + seed).normal(size=n_cases)
    nonsense = ds.Predictions.from_numbers(told, case_names=study.ratings.case_names, name="nonsense")
    return study, {**study.predictions, "nonsense": nonsense}


STUDY, MODELS = simulated(1)


def fitted() -> RatingPrior:
    return rating_prior(STUDY.ratings, MODELS)


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return ds.evaluate(STUDY.ratings, MODELS, draws=200, annotators="fixed")


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
    prior, rated = fitted(), STUDY.ratings.opinions
    case, draws = 3, 20_000
    drawn = NormalInverseGamma(prior=prior).sample(STUDY.ratings.select([rated.case_names[case]]), draws=draws)
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
    study = STUDY.ratings.select(names)
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
    rated = STUDY.ratings.opinions
    with pytest.warns(ds.DissensusWarning, match="'copy' does not inform the prior: it is nearer"):
        prior = rating_prior(STUDY.ratings, {**MODELS, "copy": rated.means})
    assert prior.models == tuple(MODELS)
    repeated = rated.means.copy() + 0.5
    own = rated.annotators == 0
    repeated[rated.cases[own]] = rated.scores[own]
    with pytest.warns(ds.DissensusWarning, match="repeats annotator"):
        rating_prior(STUDY.ratings, {"repeats": repeated})


def test_thresholds_and_shifts_are_those_of_the_first_aggregation_of_ratings() -> None:
    first = NormalInverseGamma((0.0, 1.0), shifts=True, reliability=3.0)
    specs = [first, NormalInverseGamma((0.0, 1.0))]
    found = ds.evaluate(STUDY.ratings, MODELS, aggregations=specs, draws=20, annotators="sample")
    assert found.runs[-1].spec == NormalInverseGamma((0.0, 1.0), prior="informed", shifts=True)
    # annotators who are left out are left out of the fit
    assert row(found, "good", "RMSE", "panel")["annotator_sd"] >= 0
    assert found.estimates[len(found.runs) - 1].annotators is not None


def test_without_enough_ratings_or_numbers_it_is_said_why_there_is_no_panel() -> None:
    few = STUDY.ratings.select(list(STUDY.ratings.case_names[:60]))
    models = {name: model.select(list(few.case_names)) for name, model in MODELS.items()}
    found = ds.evaluate(few, models, draws=20, annotators="fixed")
    assert found.prior is not None
    assert "60 annotated cases" in found.prior.reason
    with pytest.raises(ds.DissensusError, match="needs to know what the models say"):
        NormalInverseGamma(prior="informed").sample(few)
    with pytest.raises(ds.DissensusError, match="does not know these cases"):
        NormalInverseGamma(prior=fitted()).sample(ds.Study.from_scores([[1, 2]], case_names=["new"]))
    agreed = ds.Study.from_scores([[1.0, 1.0]] * 120)
    known = NormalInverseGamma(prior=NormalInverseGammaPrior(mu=0.0, kappa=1.0, a=2.0, b=1.0))
    told = ds.evaluate(agreed, {"A": np.arange(120.0)}, aggregations=[known], draws=20)
    assert told.prior is not None
    assert told.prior.reason == "no two ratings of a case differ"
