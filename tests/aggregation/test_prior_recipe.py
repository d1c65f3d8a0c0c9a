"""The informed prior fitted to sums over parts: the same whatever the parts, and the fit that all cases give."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import case_prior, informed_prior
from dissensus.aggregations.case_prior import (
    REFITS,
    Labels,
    PriorRecipe,
    Request,
    fitted_recipe,
    learning_sample,
    prior_of,
    with_refits,
)
from dissensus.aggregations.prior_fit import Evidence, PriorLikelihood, fitted_likelihood, moved, raw_covariates
from dissensus.aggregations.priors import Lessons, ScoreRange
from dissensus.core.arrays import FloatArray
from dissensus.core.bundle import bundled, restored
from dissensus.evaluation.sums import CaseWeights
from dissensus.simulate.differential_study import NEAR_TIES
from dissensus.study.opinions import kept_opinions

CLASSES = (PriorRecipe, Request, ScoreRange)
N_CASES = 300
STUDY = ds.simulate.study(n_cases=N_CASES, n_conditions=30, models=NEAR_TIES, seed=3)
SAID, MODELS = STUDY.annotations, {name: STUDY.predictions[name] for name in ("Aster", "Birch", "Clover")}


def random_parts(seed: int, n_parts: int) -> list[ds.Study]:
    rng = np.random.default_rng(seed)
    part = rng.integers(0, n_parts, size=N_CASES)
    return [SAID.select(rng.permutation(np.flatnonzero(part == own))) for own in rng.permutation(np.unique(part))]


LABELS = {name: ("N" if place % 3 else "S",) for place, name in enumerate(SAID.case_names)}


def totals(parts: Sequence[ds.Study], labels: Labels | None = None) -> Callable[[Request], FloatArray]:
    """Sum over parts, each of which knows no other case; requests go there as bytes."""

    def total(request: Request) -> FloatArray:
        sent = bundled(request)
        return np.asarray(sum(of_part(restored(sent, CLASSES), part, labels) for part in parts))

    return total


def of_part(request: Request, part: ds.Study, labels: Labels | None = None) -> FloatArray:
    opinions = kept_opinions(part.counted)
    models = {name: model.select(list(part.case_names)) for name, model in MODELS.items()}
    weights = CaseWeights.of(part.panel, 7).bootstrap(np.arange(part.n_cases), REFITS)
    own = None if labels is None else {name: labels[name] for name in part.case_names}
    return request.of_part(opinions, models, weights if request.sought == "refits" else None, own)


def recipe_of(seed: int, n_parts: int) -> PriorRecipe:
    parts = random_parts(seed, n_parts)
    lessons = [Lessons.of(part, MODELS) for part in parts]
    sample = learning_sample(ds.Study.concatenate([learning_sample(part) for part in parts]))
    whole = sum(lessons[1:], start=lessons[0])
    recipe = fitted_recipe(sample, MODELS, whole, total=totals(parts))
    return with_refits(recipe, totals(parts[::-1]))


@pytest.fixture(scope="module")
def full() -> tuple[PriorLikelihood, FloatArray]:
    """The fit to all cases at once, in the order of the study."""
    return fitted_likelihood(Evidence.of(SAID.opinions, MODELS))


@pytest.fixture(scope="module")
def recipe() -> PriorRecipe:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case_prior, "LEARNING_CASES", 120)
        return recipe_of(0, 3)


@pytest.mark.parametrize(("seed", "n_parts"), [(1, 1), (3, 12)])
def test_the_recipe_is_the_same_whatever_the_parts(
    recipe: PriorRecipe, monkeypatch: pytest.MonkeyPatch, seed: int, n_parts: int
) -> None:
    monkeypatch.setattr(case_prior, "LEARNING_CASES", 120)
    other = recipe_of(seed, n_parts)
    for name in ("plain", "means", "coefficients", "refits", "concentrations"):
        assert getattr(other, name) == pytest.approx(getattr(recipe, name), rel=1e-6, abs=1e-6)
    assert (other.models, other.ranges, other.warnings) == (recipe.models, recipe.ranges, ())
    assert restored(bundled(recipe), CLASSES) == recipe


def test_the_recipe_is_the_fit_to_all_cases(recipe: PriorRecipe, full: tuple[PriorLikelihood, FloatArray]) -> None:
    likelihood, found = full
    errors = np.sqrt(np.diag(np.linalg.inv(likelihood.curvature(found, np.ones(N_CASES)))))
    assert np.abs((recipe.coefficients[0] - found) / errors).max() < 0.02
    blank = replace(recipe, means=np.empty(0))
    raw = raw_covariates(blank.likelihood(SAID.opinions, MODELS), recipe.plain)
    assert recipe.means == pytest.approx(raw.mean(axis=0))
    assert recipe.spread == pytest.approx(raw[:, 0].std())
    prior = prior_of(recipe, SAID.opinions, MODELS)
    shares, evidence = likelihood.shares(found), likelihood.evidence
    assert prior.means()[evidence.case, evidence.codes] == pytest.approx(shares.entries, abs=1e-3)
    assert prior.concentrations == pytest.approx(likelihood.concentrations(found), rel=0.01)
    assert prior.quartiles == pytest.approx(np.quantile(prior.concentrations, [0, 0.25, 0.5, 0.75, 1]), rel=0.5)
    weights = CaseWeights.of(SAID.panel, 7).bootstrap(np.arange(N_CASES), REFITS).T
    again = prior.refitted(weights)
    assert again == pytest.approx(recipe.refits, abs=1e-9)
    curvature, pushes = likelihood.curvature(found, np.ones(N_CASES)), likelihood.pushes(found, weights)
    plain = moved(found[None], curvature[None], pushes[:, None], likelihood.ridge)
    # the curvature is that of two fifths of the cases
    assert np.median(np.abs(again - plain).mean(axis=0) / plain.std(axis=0)) < 0.3


def test_parts_have_the_prior_of_the_whole_bit_for_bit(recipe: PriorRecipe) -> None:
    whole = prior_of(recipe, SAID.opinions, MODELS)
    for part in random_parts(5, 60)[:12]:
        opinions = part.opinions
        own = prior_of(recipe, opinions, {n: model.select(list(part.case_names)) for n, model in MODELS.items()})
        places = [whole.place[name] for name in opinions.case_names]
        assert np.array_equal(own.concentrations, whole.concentrations[places])
        for found, expected in zip(own.applied(opinions), whole.applied(opinions), strict=True):
            for name in ("support", "mentioned", "rest", "split", "sums"):
                assert np.array_equal(getattr(found, name, 0), getattr(expected, name, 0))
        again = whole.repeated(opinions.case_names, opinions.case_names)
        one, other = (prior.shapes(opinions, recipe.refits)[0] for prior in (own, again))
        assert np.array_equal(one, other)


def test_parts_have_the_strata_of_the_whole_bit_for_bit() -> None:
    parts = random_parts(4, 40)
    total = totals(parts, LABELS)
    recipe = with_refits(fitted_recipe(SAID, MODELS, Lessons.of(SAID, MODELS), total=total, labels=LABELS), total)
    assert recipe.strata == ((), ("N",), ("S",))
    strata = {"site": [LABELS[name][0] for name in SAID.case_names]}
    whole = informed_prior(SAID, MODELS, strata=strata)
    assert whole.coefficients == pytest.approx(recipe.coefficients, abs=1e-12)
    weights = CaseWeights.of(SAID.panel, 7).bootstrap(np.arange(N_CASES), REFITS).T
    assert whole.refitted(weights) == pytest.approx(recipe.refits, abs=1e-9)
    for part in parts[:5]:
        own = prior_of(recipe, part.opinions, MODELS, LABELS)
        places = [whole.place[name] for name in own.case_names]
        assert np.array_equal(own.concentrations, whole.concentrations[places])
        assert np.array_equal(own.means(), whole.means()[places])


def test_many_cases_in_memory_have_the_prior_of_the_recipe(
    recipe: PriorRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_prior, "LEARNING_CASES", 120)
    prior = informed_prior(SAID, MODELS)
    assert prior.coefficients == pytest.approx(recipe.coefficients, abs=1e-7)
    assert prior.table().columns == ["model", "log_score", "score", "first", "alone", "beyond", "left_out"]
    again = informed_prior(SAID.select(slice(None, None, -1)), MODELS, start=prior)
    assert np.array_equal(again.coefficients, prior.coefficients)
    monkeypatch.setattr(case_prior, "MOST_PASSES", 1)
    with pytest.warns(ds.DissensusWarning, match="did not settle"):
        informed_prior(SAID, MODELS)


def test_few_cases_have_the_plain_fit(full: tuple[PriorLikelihood, FloatArray]) -> None:
    found = informed_prior(SAID, MODELS)
    assert found.coefficients[0] == pytest.approx(full[1], abs=1e-5)
    assert found.recipe == fitted_recipe(SAID, MODELS, Lessons.of(SAID, MODELS), total=totals([]))
    again = informed_prior(SAID, MODELS, start=found)
    assert again.coefficients[0] == pytest.approx(full[1], abs=0.05)
    assert [row["model"] for row in again.rows()] == list(MODELS)
    assert again.refitted(np.ones((1, N_CASES))) == pytest.approx(again.coefficients)


def test_the_numbers_of_a_model_mean_the_same_in_every_part() -> None:
    scores = [[0.5, 0.3, 0.1], [6.0, 3.0, 1.0], [0.2, 0.2, 0.2]] * 40
    model = ds.Predictions.from_scores(np.array(scores), ["a", "b", "c"])
    rng = np.random.default_rng(0)
    said = ds.Study.from_counts(rng.multinomial(3, [0.5, 0.3, 0.2], size=120), ["a", "b", "c"])
    lessons = Lessons.of(said.select(slice(0, 1)), {"A": model}) + Lessons.of(said.select(slice(1, 120)), {"A": model})
    assert lessons.ranges["A"].reading == "scores"
    found = fitted_recipe(said, {"A": model}, lessons, total=totals([]))
    evidence = found.likelihood(said.select(["0"]).opinions, {"A": model}).evidence
    assert evidence.features[evidence.codes == 0, 1] == pytest.approx(0.5 / 0.9)
