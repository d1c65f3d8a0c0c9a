"""The informed prior: features, likelihood, fit, refits and shapes, against naive twins written case by case."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

import dissensus as ds
from dissensus.aggregations import Dirichlet, PlackettLuce, informed_prior, plackett_luce_log_likelihood
from dissensus.aggregations.point_estimates import votes
from dissensus.aggregations.prior_fit import (
    Evidence,
    PriorLikelihood,
    broken_votes,
    covariates_of,
    fitted_likelihood,
    moved,
    score_shares,
)
from dissensus.aggregations.priors import FLOOR, ScoreRange
from dissensus.core.aliases import FloatArray
from dissensus.core.errors import DissensusError, DissensusWarning

NAMES = ("a", "b", "c", "d", "e", "f")


def small_study(n_cases: int = 60, seed: int = 3) -> tuple[ds.Study, dict[str, ds.Predictions]]:
    """Rankings with ties by two to four annotators, and two models that know a little."""
    rng = np.random.default_rng(seed)
    cases = [f"x{i}" for i in range(n_cases)]
    theta = rng.dirichlet(np.full(len(NAMES), 0.6), size=n_cases)
    rankings: list[list[list[list[str]]]] = []
    models: dict[str, list[FloatArray]] = {name: [] for name in ("A", "B")}
    for truth in theta:
        said = []
        for _ in range(rng.integers(2, 5)):
            order = rng.choice(len(NAMES), size=3, replace=False, p=(truth + 1e-6) / (truth + 1e-6).sum())
            blocks = [[NAMES[k]] for k in order[: rng.integers(1, 4)]]
            if len(blocks) > 1 and rng.random() < 0.3:
                blocks = [[*blocks[0], *blocks[1]], *blocks[2:]]
            said.append(blocks)
        rankings.append(said)
        for noise, scores in zip((0.5, 2.0), models.values(), strict=True):
            logits = np.log(truth + 1e-3) + noise * rng.normal(size=len(NAMES))
            scores.append(np.exp(logits) / np.exp(logits).sum())
    study = ds.Study.from_rankings(rankings, NAMES, case_names=cases)
    return study, {
        name: ds.Predictions.from_scores(np.array(rows), NAMES, case_names=cases, name=name)
        for name, rows in models.items()
    }


def naive_mean(evidence: Evidence, coefficients: FloatArray, case: int) -> FloatArray:
    """Write out the softmax over all conditions of one case, with features of zero where nobody says anything."""
    n_features, n_free = evidence.features.shape[1], len(evidence.free)
    told, frequency = coefficients[:n_features], coefficients[n_features]
    own = dict(zip(evidence.free.tolist(), coefficients[n_features + 1 : n_features + 1 + n_free], strict=True))
    entries = {int(evidence.codes[place]): place for place in range(evidence.offsets[case], evidence.offsets[case + 1])}
    logits = []
    for code in range(evidence.n_conditions):
        place = entries.get(code)
        base = evidence.log_weights[code] if place is None else evidence.log_frequency[place]
        features = 0.0 if place is None else float(evidence.features[place] @ told)
        logits.append(features + frequency * base + own.get(code, 0.0))
    weights = np.exp(np.array(logits) - max(logits))
    return np.asarray(weights / weights.sum())


def likelihood_of(n_cases: int = 60) -> tuple[PriorLikelihood, FloatArray]:
    study, models = small_study(n_cases)
    plain = PriorLikelihood(Evidence.of(study.opinions, models), np.empty((n_cases, 0)))
    coefficients = np.random.default_rng(0).normal(scale=0.3, size=len(plain.start)) + plain.start
    whole = replace(plain, covariates=covariates_of(plain, coefficients))
    return whole, np.random.default_rng(1).normal(scale=0.3, size=len(whole.start)) + whole.start


# What models say ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (ds.Predictions.from_scores([[0.5, 0.3, 0.1]], ["a", "b", "c"]), [0.5, 0.3, 0.1]),
        (ds.Predictions.from_scores([[6.0, 3.0, 1.0]], ["a", "b", "c"]), [0.6, 0.3, 0.1]),
        (ds.Predictions.from_scores([[math.log(4), 0.0, -50.0]], ["a", "b", "c"]), [0.8, 0.2, 0.0]),
        (ds.Predictions.from_rankings([["a", ["b", "c"]]]), [0.5, 0.25, 0.25]),
        (ds.Predictions.from_sets([["a", "b"]], ["a", "b", "c"]), [0.5, 0.5]),
    ],
    ids=["probabilities", "scores", "logarithms", "ranking", "set"],
)
def test_every_kind_of_prediction_becomes_shares(model: ds.Predictions, expected: list[float]) -> None:
    assert score_shares(model, ScoreRange.of(model).reading) == pytest.approx(expected, abs=1e-12)


def test_a_model_that_lists_nothing_for_a_case_says_nothing_there() -> None:
    model = ds.Predictions.from_rankings([["a"], []], ["a", "b"], case_names=["x", "y"])
    study = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    evidence = Evidence.of(study.opinions, {"A": model})
    assert not evidence.features[evidence.offsets[1] :].any()
    assert evidence.features[0] == pytest.approx([math.log(1 / FLOOR), 1.0, 1.0])
    scores = np.full((1, 2000), 1e-5)  # below the floor
    scores[0, 7] = 0.9
    wide = ds.Study.from_rankings([[[[3]], [[5]]]], 2000, case_names=["x"])
    listed = Evidence.of(wide.opinions, {"A": ds.Predictions.from_scores(scores, 2000, case_names=["x"])})
    assert listed.codes.tolist() == [3, 5, 7]


# Votes --------------------------------------------------------------------------------------------------


def test_broken_votes_share_ties_fairly_on_average_and_are_whole_in_every_turn() -> None:
    study, _ = small_study()
    found = broken_votes(study.opinions)
    assert len(found) == 6
    assert found == pytest.approx(np.round(found))
    assert found.mean(axis=0) == pytest.approx(votes(study.opinions))
    assert found.std(axis=0).max() > 0


# Likelihood ---------------------------------------------------------------------------------------------


def test_shares_are_the_softmax_over_all_conditions() -> None:
    likelihood, coefficients = likelihood_of()
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    for case in range(0, 60, 7):
        naive = naive_mean(evidence, coefficients, case)
        entries = slice(evidence.offsets[case], evidence.offsets[case + 1])
        codes = evidence.codes[entries]
        assert shares.entries[entries] == pytest.approx(naive[codes])
        others = np.delete(np.arange(6), codes)
        assert shares.rest[case] == pytest.approx(naive[others].sum(), abs=1e-12)
        assert shares.scale[case] * shares.weights[others] == pytest.approx(naive[others])


def test_likelihood_is_that_of_dirichlet_multinomial_votes() -> None:
    likelihood, coefficients = likelihood_of()
    evidence, mass = likelihood.evidence, likelihood.concentrations(coefficients)
    found = likelihood.of_cases(likelihood.state(coefficients))
    case_of_mention = evidence.case[evidence.mentioned]
    for case in range(0, 60, 7):
        naive = naive_mean(evidence, coefficients, case) * mass[case]
        own = case_of_mention == case
        codes = evidence.codes[evidence.mentioned[own]]
        values = []
        for turn in evidence.votes:
            counts = np.zeros(6)
            counts[codes] = turn[own]
            parts = gammaln(naive + counts) - gammaln(naive)
            values.append(gammaln(mass[case]) - gammaln(mass[case] + counts.sum()) + parts.sum())
        assert found[case] == pytest.approx(np.mean(values))


def test_slopes_are_those_of_the_likelihood() -> None:
    likelihood, coefficients = likelihood_of()
    step, slopes = 1e-6, likelihood.slopes(likelihood.state(coefficients))
    for place in range(len(coefficients)):
        move = step * np.eye(len(coefficients))[place]
        ahead, behind = (likelihood.of_cases(likelihood.state(at)) for at in (coefficients + move, coefficients - move))
        assert slopes[:, place] == pytest.approx((ahead - behind) / (2 * step), abs=1e-5)


def test_nothing_near_the_fit_is_better() -> None:
    likelihood, _ = likelihood_of()
    everyone = np.ones(60)
    found = likelihood.fitted(everyone)
    best = likelihood.badness(found, everyone)[0]
    for seed in range(20):
        near = found + 0.05 * np.random.default_rng(seed).normal(size=len(found))
        assert likelihood.badness(near, everyone)[0] > best


def test_refits_are_near_what_a_whole_fit_would_give() -> None:
    study, models = small_study(300)
    likelihood, found = fitted_likelihood(Evidence.of(study.opinions, models))
    weights = np.random.default_rng(0).exponential(size=(25, 300))
    curvature, pushes = likelihood.curvature(found, np.ones(300)), likelihood.pushes(found, weights)
    quick = moved(found[None], curvature[None], pushes[:, None], likelihood.ridge)
    whole = np.array([likelihood.fitted(own, found) for own in weights])
    apart = np.abs(quick - whole).mean(axis=0) / whole.std(axis=0)
    assert np.median(apart) < 0.3


# The prior ----------------------------------------------------------------------------------------------


def test_single_labels_have_the_posterior_of_their_shapes() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(3, [0.5, 0.3, 0.2], size=150)
    study = ds.Study.from_counts(counts, ["a", "b", "c"])
    prior = informed_prior(study, {"A": rng.dirichlet([1, 1, 1], size=150)})
    shapes = prior.concentrations[:, None] * prior.means() + counts
    exact = shapes / shapes.sum(axis=1, keepdims=True)
    for spec in (PlackettLuce(prior=prior), Dirichlet(prior=prior)):
        assert spec.sample(study, draws=4000).mean() == pytest.approx(exact, abs=0.04)  # 5 standard errors


def test_rankings_have_the_posterior_that_weighted_draws_of_the_prior_give() -> None:
    study, models = small_study(40)
    prior = informed_prior(study, models)
    found = PlackettLuce(prior=prior).sample(study, draws=4000).mean()
    rng = np.random.default_rng(1)
    for case in (0, 9, 21):
        theta = rng.dirichlet(prior.concentrations[case] * prior.means()[case] + 1e-9, size=60_000) + 1e-300
        one = study.select([study.case_names[case]])
        repeated = [plackett_luce_log_likelihood(one, row)[0] for row in theta[:6000]]
        weights = np.exp(np.array(repeated) - max(repeated))
        expected = weights @ theta[:6000] / weights.sum()
        assert found[case] == pytest.approx(expected, abs=0.05)


def test_folds_owe_nothing_to_the_votes_of_the_case() -> None:
    study, models = small_study(120)
    counts = np.random.default_rng(0).multinomial(3, np.full(6, 1 / 6), size=120)
    one = ds.Study.from_counts(counts, NAMES, case_names=study.case_names)
    changed = counts.copy()
    changed[0] = np.roll(counts[0], 1)
    other = ds.Study.from_counts(changed, NAMES, case_names=study.case_names)
    priors = [informed_prior(said, models, folds=4) for said in (one, other)]
    whole = [informed_prior(said, models) for said in (one, other)]
    apart, together = (
        np.abs(np.subtract(*(prior.coefficients[prior.row[0]] for prior in pair))).max() for pair in (priors, whole)
    )
    assert apart < 1e-3 * together


def test_a_prior_goes_by_the_names_of_cases() -> None:
    study, models = small_study()
    prior = informed_prior(study, models)
    chosen = ["x7", "x3"]
    whole = PlackettLuce(prior=prior).sample(study, draws=50).select(chosen).dense()
    assert np.array_equal(PlackettLuce(prior=prior).sample(study.select(chosen), draws=50).dense(), whole)
    again = prior.repeated(["x7", "x3", "x7"], ["one", "two", "three"])
    assert again.means() == pytest.approx(prior.means()[[7, 3, 7]])
    with pytest.raises(DissensusError, match="does not know these cases"):
        PlackettLuce(prior=again).sample(study)
    for kind in (PlackettLuce, Dirichlet):
        with pytest.raises(DissensusError, match="needs to know what the models say"):
            kind(prior="informed").sample(study)
    spec = PlackettLuce(prior=prior)
    assert spec == PlackettLuce(prior="informed")
    assert spec.parameters()["prior"] == "informed"
    assert spec.learns


def test_a_model_that_repeats_an_annotator_is_left_out() -> None:
    study, models = small_study(80)
    rng = np.random.default_rng(0)
    labels = rng.choice(6, size=(80, 3))
    said = ds.Study.from_rankings(
        [[[[NAMES[k]]] for k in row] for row in labels],
        NAMES,
        case_names=study.case_names,
        annotator_names=[["Ann", "Bob", "Cid"]] * 80,
    )
    copy = ds.Predictions.from_rankings([[NAMES[k]] for k in labels[:, 1]], NAMES, case_names=study.case_names)
    with pytest.warns(
        DissensusWarning, match="model 'copy' does not inform the prior: it says what annotator 'Bob' said"
    ):
        prior = informed_prior(said, {**models, "copy": copy})
    assert prior.models == ("A", "B")
    assert "Bob" in prior.table().filter(model="copy")["left_out"].item()


def test_a_model_that_was_fitted_to_the_answers_is_left_out() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([1.5, 1.0, 0.5, 0.5], size=300)
    counts = np.array([rng.multinomial(3, row) for row in theta])
    study = ds.Study.from_counts(counts, ["a", "b", "c", "d"])
    seen, knowing = (counts + 0.1) / (counts + 0.1).sum(axis=1, keepdims=True), theta
    with pytest.warns(DissensusWarning, match="model 'seen' does not inform the prior: it agrees with"):
        prior = informed_prior(study, {"seen": seen, "knowing": knowing})
    assert prior.models == ("knowing",)


def test_single_opinions_cannot_tell_the_strength_of_the_prior() -> None:
    study, models = small_study(80)
    single = ds.Study.from_rankings([[[["a"]]]] * 80, NAMES, case_names=study.case_names)
    with pytest.warns(DissensusWarning, match="no case has two opinions"):
        informed_prior(single, models)


def test_a_model_whose_cases_are_shuffled_informs_nothing() -> None:
    study = ds.simulate.study(n_cases=400, seed=2)
    scores = study.predictions["Birch"].to_scores()
    rng = np.random.default_rng(0)
    shuffled = scores[rng.permutation(400)]
    table = informed_prior(study.annotations, {"right": scores, "shuffled": shuffled}).table()
    right, wrong = table.rows(named=True)
    assert right["alone"] > 0.5
    assert wrong["beyond"] < 0.02
    assert abs(wrong["log_score"]) < 0.1 * right["log_score"]


def test_a_condition_is_as_frequent_as_other_cases_mention_it() -> None:
    study, models = small_study()
    evidence = Evidence.of(study.opinions, models)
    opinions = study.opinions
    bounds = zip(opinions.support_offsets[:-1], opinions.support_offsets[1:], strict=True)
    mentioned = [set(opinions.support[start:stop].tolist()) for start, stop in bounds]
    counted = np.arange(60) % 3 > 0
    for own, found in ((np.ones(60, dtype=bool), evidence), (counted, evidence.counted_in(counted))):
        for case, code, value in zip(found.case.tolist(), found.codes.tolist(), found.log_frequency, strict=True):
            others = sum(code in mentioned[i] for i in range(60) if own[i] and i != case)
            assert value == pytest.approx(math.log(others + 0.5))


def test_the_shapes_of_a_case_add_up_to_its_concentration() -> None:
    study = ds.simulate.study(n_cases=150, n_conditions=419)
    prior = informed_prior(study.annotations, study.predictions)
    wider, shapes = prior.applied(study.annotations.opinions)
    own = np.add.reduceat(shapes.mentioned, wider.support_offsets[:-1])
    assert own + shapes.rest == pytest.approx(prior.concentrations)
    assert shapes.rest.min() > 0
    assert prior.means().sum(axis=1) == pytest.approx(1.0)
    assert PlackettLuce(prior=prior).sample(study.annotations, draws=50).mean().sum(axis=1) == pytest.approx(1.0)
