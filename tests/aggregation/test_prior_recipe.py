"""The informed prior fitted to sums over parts: the same bits whatever the parts, and the fit that all cases give."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import case_prior, informed_prior
from dissensus.aggregations.case_prior import (
    REFITS,
    CasePrior,
    PriorRecipe,
    Request,
    fitted_recipe,
    learning_sample,
    prior_of,
    secant,
    with_refits,
)
from dissensus.aggregations.prior_fit import Evidence, fitted_likelihood, raw_covariates, standardised
from dissensus.aggregations.priors import Lessons, ScoreRange
from dissensus.core.bundle import bundled, restored
from dissensus.core.exact import Exact
from dissensus.core.names import in_order_of_keys
from dissensus.evaluation.sums import CaseWeights
from dissensus.study.opinions import kept_opinions

CLASSES = (PriorRecipe, Request, ScoreRange)
N_CASES = 300
STUDY = ds.simulate.study(n_cases=N_CASES, n_conditions=30, seed=3)
SAID, MODELS = STUDY.annotations, {name: STUDY.predictions[name] for name in ("Aster", "Birch", "Clover")}


def random_parts(seed: int, n_parts: int) -> list[ds.Study]:
    rng = np.random.default_rng(seed)
    part = rng.integers(0, n_parts, size=N_CASES)
    return [SAID.select(rng.permutation(np.flatnonzero(part == own))) for own in rng.permutation(np.unique(part))]


def totals(parts: Sequence[ds.Study]) -> Callable[[Request], Exact]:
    """Sum over parts, each of which knows no other case; requests go there as bytes."""

    def total(request: Request) -> Exact:
        sent = bundled(request)
        found = [of_part(restored(sent, CLASSES), part) for part in parts]
        return sum(found[1:], start=found[0])

    return total


def of_part(request: Request, part: ds.Study) -> Exact:
    opinions = kept_opinions(part.counted)
    models = {name: model.select(list(part.case_names)) for name, model in MODELS.items()}
    weights = CaseWeights.of(part.panel, 7).bootstrap(np.arange(part.n_cases), REFITS)
    return request.of_part(opinions, models, weights if request.sought == "refits" else None)


def recipe_of(seed: int, n_parts: int) -> PriorRecipe:
    parts = random_parts(seed, n_parts)
    lessons = [Lessons.of(part, MODELS) for part in parts]
    sample = learning_sample(ds.Study.concatenate([learning_sample(part) for part in parts]))
    whole = sum(lessons[1:], start=lessons[0])
    recipe = fitted_recipe(sample, MODELS, whole, total=totals(parts))
    return with_refits(recipe, totals(parts[::-1]))


def plain_fit(said: ds.Study) -> CasePrior:
    """Fit to all cases at once."""
    likelihood, found = fitted_likelihood(Evidence.of(said.opinions, MODELS))
    nothing = np.zeros(said.n_cases, dtype=np.int64)
    return CasePrior(said.conditions, said.case_names, (likelihood,), found[None], nothing)


@pytest.fixture(scope="module")
def full() -> CasePrior:
    return plain_fit(SAID)


@pytest.fixture(scope="module")
def recipe() -> PriorRecipe:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case_prior, "LEARNING_CASES", 120)
        return recipe_of(0, 3)


@pytest.mark.parametrize(("seed", "n_parts"), [(1, 1), (2, 8), (3, 60)])
def test_the_recipe_has_the_same_bits_whatever_the_parts_and_their_order(
    recipe: PriorRecipe, monkeypatch: pytest.MonkeyPatch, seed: int, n_parts: int
) -> None:
    monkeypatch.setattr(case_prior, "LEARNING_CASES", 120)
    assert recipe_of(seed, n_parts) == recipe
    assert recipe.warnings == ()


def test_the_recipe_is_the_fit_to_all_cases(recipe: PriorRecipe, full: CasePrior) -> None:
    curvature = full.likelihood.curvature(full.coefficients[0], np.ones(N_CASES))
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    assert np.abs((recipe.coefficients - full.coefficients[0]) / errors).max() < 0.02
    prior = prior_of(recipe, SAID.opinions, MODELS)
    assert prior.means() == pytest.approx(full.means(), abs=1e-3)
    assert prior.concentrations == pytest.approx(full.concentrations, rel=0.01)
    assert recipe.models == full.models
    assert prior.quartiles == pytest.approx(full.quartiles, rel=0.5)


def test_refits_are_near_those_of_the_plain_fit(recipe: PriorRecipe, full: CasePrior) -> None:
    weights = CaseWeights.of(SAID.panel, 7).bootstrap(np.arange(N_CASES), REFITS)
    plain = full.refitted(weights.T)
    assert recipe.refits.shape == plain.shape
    # the curvature is that of two fifths of the cases
    apart = np.abs(recipe.refits - plain).mean(axis=0) / plain.std(axis=0)
    assert np.median(apart) < 0.3
    again = prior_of(recipe, SAID.opinions, MODELS).refitted(weights.T)
    assert np.array_equal(again, recipe.refits)


def test_parts_have_the_prior_of_the_whole_bit_for_bit(recipe: PriorRecipe) -> None:
    whole = prior_of(recipe, SAID.opinions, MODELS)
    for part in random_parts(5, 60):
        opinions = part.opinions
        own = prior_of(recipe, opinions, {n: model.select(list(part.case_names)) for n, model in MODELS.items()})
        places = [whole.place[name] for name in opinions.case_names]
        assert np.array_equal(own.concentrations, whole.concentrations[places])
        for found, expected in zip(own.applied(opinions), whole.applied(opinions), strict=True):
            for name in ("support", "mentioned", "rest", "split", "sums"):
                assert np.array_equal(getattr(found, name, 0), getattr(expected, name, 0))
        again = whole.repeated(opinions.case_names, opinions.case_names)
        one, other = (prior.shifted(opinions, recipe.refits) for prior in (own, again))
        assert np.array_equal(one, other)


def test_many_cases_in_memory_have_the_prior_of_the_recipe(
    recipe: PriorRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_prior, "LEARNING_CASES", 120)
    prior = informed_prior(SAID, MODELS)
    assert prior.recipe == replace(recipe, refits=np.empty((0, 0)))
    assert np.array_equal(prior.coefficients[0], recipe.coefficients)
    assert prior.table().columns == ["model", "log_score", "score", "first", "alone", "beyond", "left_out"]
    again = informed_prior(SAID.select(slice(None, None, -1)), MODELS, start=prior)
    assert np.array_equal(again.coefficients, prior.coefficients)


def test_few_cases_in_the_order_of_their_keys_have_the_plain_fit() -> None:
    said = SAID.select(in_order_of_keys(SAID.case_names))
    found = fitted_recipe(SAID, MODELS, Lessons.of(SAID, MODELS), total=totals([SAID]))
    plain = plain_fit(said)
    assert np.array_equal(found.coefficients, plain.coefficients[0])
    assert informed_prior(SAID, MODELS).recipe == found
    assert found.concentrations == plain.quartiles
    assert [dict(row) for row in found.rows] == [
        {name: value for name, value in row.items() if name != "left_out"} for row in plain.table().to_dicts()
    ]


def test_a_recipe_survives_as_bytes(recipe: PriorRecipe) -> None:
    assert restored(bundled(recipe), CLASSES) == recipe


def test_parts_without_opinions_add_nothing(recipe: PriorRecipe) -> None:
    empty = ds.Study.from_rankings([[]], SAID.conditions, case_names=["nobody"])
    nothing = kept_opinions(empty.counted)
    blank = replace(recipe, means=np.empty(0))
    requests = [
        Request("slopes", recipe, recipe.coefficients),
        Request("covariates", blank, recipe.plain),
        Request("refits", recipe, recipe.coefficients),
    ]
    for request in requests:
        weights = np.ones((0, REFITS)) if request.sought == "refits" else None
        some = of_part(request, SAID)
        assert request.of_part(nothing, MODELS, weights) + some == some


def test_covariates_have_the_means_and_the_spread_of_all_cases(recipe: PriorRecipe) -> None:
    blank = replace(recipe, means=np.empty(0))
    raw = raw_covariates(blank.likelihood(SAID.opinions, MODELS), recipe.plain)
    assert recipe.means == pytest.approx(raw.mean(axis=0))
    assert recipe.spread == pytest.approx(raw[:, 0].std())
    standard = standardised(raw, recipe.means, recipe.spread)
    assert standard.mean(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert standard[:, 0].std() == pytest.approx(1.0)


def test_the_numbers_of_a_model_mean_the_same_in_every_part() -> None:
    scores = [[0.5, 0.3, 0.1], [6.0, 3.0, 1.0], [0.2, 0.2, 0.2]] * 40
    model = ds.Predictions.from_scores(np.array(scores), ["a", "b", "c"])
    rng = np.random.default_rng(0)
    said = ds.Study.from_counts(rng.multinomial(3, [0.5, 0.3, 0.2], size=120), ["a", "b", "c"])
    lessons = Lessons.of(said.select(slice(0, 1)), {"A": model}) + Lessons.of(said.select(slice(1, 120)), {"A": model})
    assert lessons.ranges["A"].reading == "scores"
    found = fitted_recipe(
        said, {"A": model}, lessons, total=lambda request: request.of_part(said.opinions, {"A": model})
    )
    evidence = found.likelihood(said.select(["0"]).opinions, {"A": model}).evidence
    assert evidence.features[evidence.codes == 0, 1] == pytest.approx(0.5 / 0.9)


def test_a_fit_that_does_not_settle_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_prior, "LEARNING_CASES", 120)
    monkeypatch.setattr(case_prior, "MOST_PASSES", 1)
    with pytest.warns(ds.DissensusWarning, match="did not settle"):
        informed_prior(SAID, MODELS)


def test_a_curvature_learns_from_a_step() -> None:
    rng = np.random.default_rng(0)
    truth, guess = (one @ one.T + np.eye(4) for one in rng.normal(size=(2, 4, 4)))
    for step in np.eye(4):
        guess = secant(guess, step, truth @ step)
        assert guess @ step == pytest.approx(truth @ step)
    assert np.linalg.eigvalsh(guess).min() > 0
