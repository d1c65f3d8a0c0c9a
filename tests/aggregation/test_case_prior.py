"""The informed prior, against naive twins written case by case; fitted to sums over parts, it is that of the whole."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

import dissensus as ds
from dissensus.aggregations import Dirichlet, PlackettLuce, case_prior, informed_prior
from dissensus.aggregations.case_prior import (
    REFITS,
    Labels,
    PriorRecipe,
    Request,
    fitted_recipe,
    large_strata,
    learning_sample,
    prior_of,
    with_refits,
)
from dissensus.aggregations.point_estimates import votes
from dissensus.aggregations.prior_fit import (
    Evidence,
    PriorLikelihood,
    broken_votes,
    covariates_of,
    fitted_likelihood,
    moved,
    raw_covariates,
    score_shares,
)
from dissensus.aggregations.priors import FLOOR, Lessons, ScoreRange, mention_counts
from dissensus.core.arrays import FloatArray
from dissensus.core.bundle import bundled, restored
from dissensus.core.names import in_order_of_keys
from dissensus.evaluation.sums import CaseWeights
from dissensus.simulate.differential_study import NEAR_TIES
from dissensus.study.opinions import kept_opinions
from refusals import refused

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
    for code in range(len(evidence.log_weights)):
        place = entries.get(code)
        base = evidence.log_weights[code] if place is None else evidence.log_frequency[place]
        features = 0.0 if place is None else float(evidence.features[place] @ told)
        logits.append(features + frequency * base + own.get(code, 0.0))
    weights = np.exp(np.array(logits) - max(logits))
    return np.asarray(weights / weights.sum())


def likelihood_of(n_cases: int = 60) -> tuple[PriorLikelihood, FloatArray]:
    study, models = small_study(n_cases)
    plain = PriorLikelihood(Evidence.of(study.opinions, models), np.empty((n_cases, 0)))
    coefficients = np.random.default_rng(0).normal(scale=0.3, size=len(plain.centre)) + plain.centre
    whole = replace(plain, covariates=covariates_of(plain, coefficients))
    return whole, np.random.default_rng(1).normal(scale=0.3, size=len(whole.centre)) + whole.centre


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
    refused("does not know these cases", PlackettLuce(prior=again).sample, study)
    for kind in (PlackettLuce, Dirichlet):
        refused("needs to know what the models say", kind(prior="informed").sample, study)
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
        ds.DissensusWarning, match="model 'copy' does not inform the prior: it says what annotator 'Bob' said"
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
    with pytest.warns(ds.DissensusWarning, match="model 'seen' does not inform the prior: it agrees with"):
        prior = informed_prior(study, {"seen": seen, "knowing": knowing})
    assert prior.models == ("knowing",)


def test_single_opinions_cannot_tell_the_strength_of_the_prior() -> None:
    study, models = small_study(80)
    single = ds.Study.from_rankings([[[["a"]]]] * 80, NAMES, case_names=study.case_names)
    with pytest.warns(ds.DissensusWarning, match="no case has two opinions"):
        informed_prior(single, models)


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
    wider, (shapes,) = prior.applied(study.annotations.opinions)
    own = np.add.reduceat(shapes.mentioned, wider.support_offsets[:-1])
    assert own + shapes.rest == pytest.approx(prior.concentrations)
    assert shapes.rest.min() > 0
    assert prior.means().sum(axis=1) == pytest.approx(1.0)
    assert PlackettLuce(prior=prior).sample(study.annotations, draws=50).mean().sum(axis=1) == pytest.approx(1.0)


# Nothing of a case's own votes --------------------------------------------------------------------------


def naive_covariates(evidence: Evidence, coefficients: FloatArray) -> FloatArray:
    """Write out the entropy of every case over all conditions, and the shares of free ones, with dense arrays."""
    means = np.array([naive_mean(evidence, coefficients, case) for case in range(evidence.n_cases)])
    return np.column_stack([-(means * np.log(means)).sum(axis=1), means[:, evidence.free]])


@pytest.mark.parametrize("n_conditions", [6, 40])
def test_covariates_are_those_of_all_conditions_written_out(n_conditions: int) -> None:
    rng, n_cases = np.random.default_rng(2), 90
    names = [f"c{k}" for k in range(n_conditions)]
    theta = rng.dirichlet(np.full(n_conditions, 0.3), size=n_cases)
    study = ds.Study.from_counts(np.array([rng.multinomial(3, row) for row in theta]), names)
    listed = [[names[k] for k in np.argsort(-row)[:3]] for row in theta]
    model = ds.Predictions.from_rankings(listed, names, case_names=study.case_names)
    plain = PriorLikelihood(Evidence.of(study.opinions, {"A": model}), np.empty((n_cases, 0)))
    coefficients = rng.normal(scale=0.3, size=len(plain.centre)) + plain.centre
    found = raw_covariates(plain, coefficients)
    assert found == pytest.approx(naive_covariates(plain.evidence, coefficients), abs=1e-12)


@pytest.mark.parametrize("is_hard", [True, False])
def test_the_votes_of_a_case_do_not_move_its_own_prior(is_hard: bool) -> None:
    rng, n_cases = np.random.default_rng(4), 150
    names = [f"c{k}" for k in range(25)]
    theta = rng.dirichlet(np.full(25, 0.2), size=n_cases)
    counts = np.array([rng.multinomial(3, row) for row in theta])
    scores = np.eye(25)[theta.argmax(axis=1)] if is_hard else theta
    models = {"A": ds.Predictions.from_scores(scores, names)}
    study = ds.Study.from_counts(counts, names)
    prior = informed_prior(study, models)
    free = prior.likelihood.evidence.free
    for case in (0, 7, 60):
        changed = counts.copy()
        changed[case] = np.append(rng.permutation(np.delete(counts[case], free)), counts[case][free])[
            np.argsort(np.append(np.delete(np.arange(25), free), free))
        ]  # those that have a coefficient of their own keep theirs, so that coefficients stay what they are
        assert not np.array_equal(changed[case], counts[case])
        other = ds.Study.from_counts(changed, names)
        assert np.array_equal(Evidence.of(other.opinions, models).free, free)
        # coefficients stay, and frequencies are those of the other cases, which are the same
        moved_votes = prior_of(replace(prior.recipe, counts=mention_counts(other.opinions)), other.opinions, models)
        assert moved_votes.means()[case] == pytest.approx(prior.means()[case], abs=1e-12)
        assert moved_votes.concentrations[case] == pytest.approx(prior.concentrations[case], rel=1e-12)
        # nor the shapes that are drawn with, also of a condition of little mass that an annotator mentions
        wider, (shapes,) = moved_votes.applied(other.opinions)
        own = slice(wider.support_offsets[case], wider.support_offsets[case + 1])
        expected = prior.concentrations[case] * prior.means()[case][wider.support[own]]
        assert shapes.mentioned[own] == pytest.approx(expected, rel=1e-9)


# Strata -------------------------------------------------------------------------------------------------


def reversed_stratum(
    n_cases: int = 400, seed: int = 0
) -> tuple[ds.Study, dict[str, FloatArray], list[str], dict[str, FloatArray]]:
    """Votes, two models of which the better is the worse in a fifth of the cases, its label, and hits of each."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_cases, 5))
    theta = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    study = ds.Study.from_counts(np.array([rng.multinomial(3, row) for row in theta]), list("abcde"))
    good, bad = (np.exp(logits + noise * rng.normal(size=logits.shape)) for noise in (0.5, 2.5))
    is_other = np.arange(n_cases) % 5 == 0
    models = {"A": np.where(is_other[:, None], bad, good), "B": np.where(is_other[:, None], good, bad)}
    models = {name: one / one.sum(axis=1, keepdims=True) for name, one in models.items()}
    hits = {name: one.argmax(axis=1) == theta.argmax(axis=1) for name, one in models.items()}
    return study, models, ["other" if one else "usual" for one in is_other], hits


def test_a_stratum_in_which_the_order_is_the_other_way_round_is_found() -> None:
    apart: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(5):
        study, models, labels, hits = reversed_stratum(seed=seed)
        is_other = np.array(labels) == "other"
        for by_stratum, gaps in apart.items():
            prior = informed_prior(study, models, strata={"site": labels} if by_stratum else None)
            shapes = prior.concentrations[:, None] * prior.means()
            rng = np.random.default_rng(seed)
            counts = np.zeros((400, 5))
            counts[np.repeat(np.arange(400), study.opinions.support_sizes), study.opinions.support] = votes(
                study.opinions
            )
            tops = np.array([rng.standard_gamma(shapes + counts).argmax(axis=1) for _ in range(200)])
            means = {name: (tops == one.argmax(axis=1)).mean(axis=0) for name, one in models.items()}
            gaps.append(float(np.mean((means["A"] - hits["A"] - means["B"] + hits["B"])[is_other])))
    assert np.mean(apart[False]) > 0.25
    assert abs(np.mean(apart[True])) < 0.08


def test_strata_are_crossed_as_far_as_they_are_large() -> None:
    study, models, labels, _ = reversed_stratum()
    assert large_strata([(one,) for one in labels]) == ((), ("other",), ("usual",))
    assert large_strata([("all", one) for one in labels]) == ((), ("all", "other"), ("all", "usual"))
    assert large_strata([(str(i),) for i in range(400)]) == ((),)
    sexes = ["m" if i % 2 else "f" for i in range(400)]
    prior = informed_prior(study, models, strata={"site": labels, "sex": sexes})
    assert prior.recipe.strata == ((), ("other",), ("usual",), ("usual", "f"), ("usual", "m"))
    assert np.bincount(prior.row).tolist() == [0, 80, 0, 160, 160]
    again = informed_prior(study, models, start=prior)  # cases stay in their strata
    assert np.array_equal(again.row, prior.row)
    assert again.coefficients == pytest.approx(prior.coefficients, abs=0.1)
    refused("folds or strata, not both", informed_prior, study, models, strata={"site": labels}, folds=2)
    refused("label", informed_prior, study, models, strata={"site": labels[:-1]})


def test_coefficients_of_strata_are_the_best_near_the_pooled_ones_and_move_as_whole_refits_do() -> None:
    study, models, labels, _ = reversed_stratum(300)
    prior = informed_prior(study, models, strata={"site": labels})
    recipe, everyone = prior.recipe, np.ones(300)
    parts = list(recipe.by_stratum(prior.likelihood, prior.row, prior.coefficients[0]))
    assert [len(cases) for cases, _ in parts] == [300, 60, 240]
    for row, (cases, part) in zip(prior.coefficients, parts, strict=True):
        best, slope = part.badness(row, everyone[cases])
        assert np.abs(slope).max() < 0.1
        assert best <= part.badness(prior.coefficients[0], everyone[cases])[0]
    weights = np.random.default_rng(0).exponential(size=(12, 300))
    quick = prior.refitted(weights).reshape(12, 3, -1)
    for number, own in enumerate(weights):
        pooled = prior.likelihood.fitted(own, prior.coefficients[0])
        for row, (cases, _) in enumerate(parts[1:], 1):
            whole = prior.likelihood.take(cases, pooled).fitted(own[cases], prior.coefficients[row])
            apart = np.abs(quick[number, row] - whole).mean() / np.abs(whole - prior.coefficients[row]).mean()
            assert apart < 0.75
    still = prior.refitted(everyone[None]).reshape(prior.coefficients.shape)
    assert still == pytest.approx(prior.coefficients)


# Declared, and held out ---------------------------------------------------------------------------------


def test_a_model_that_is_declared_as_trained_on_the_answers_does_not_inform_the_prior() -> None:
    study, models = small_study(80)
    prior = informed_prior(study, models, trained_on=["A"])  # without a warning
    alone = informed_prior(study, {"B": models["B"]})
    assert prior.models == ("B",)
    assert prior.coefficients == pytest.approx(alone.coefficients)
    assert prior.table().filter(model="A")["left_out"].item() == "it was trained on these annotations"
    caught = refused("is not among the models", informed_prior, study, models, trained_on=["C"])
    assert "'A', 'B'" in str(caught)


def test_the_held_out_gain_is_that_of_whole_fits_to_other_cases() -> None:
    rng = np.random.default_rng(1)
    theta = rng.dirichlet([1.0, 0.7, 0.5, 0.3], size=150)
    counts = np.array([rng.multinomial(3, row) for row in theta])
    study = ds.Study.from_counts(counts, ["a", "b", "c", "d"])
    noisy = {"knowing": theta, "shuffled": theta[rng.permutation(150)]}
    found = {name: informed_prior(study, {name: one}).held_out_gain or 0.0 for name, one in noisy.items()}
    assert found["knowing"] > 0.1
    assert -0.02 < found["shuffled"] < 0.01
    models = {"knowing": ds.Predictions.from_scores(theta, ["a", "b", "c", "d"])}
    place, scores = np.argsort(in_order_of_keys(study.case_names)), []
    for own in (models, {}):
        evidence, total = Evidence.of(study.opinions, own), 0.0
        whole = fitted_likelihood(evidence)[0] if own else PriorLikelihood(evidence, np.empty((150, 0)))
        for number in range(5):
            left = place % 5 != number
            coefficients = whole.fitted(left.astype(float))
            for case in np.flatnonzero(~left).tolist():
                shapes = whole.concentrations(coefficients)[case] * naive_mean(evidence, coefficients, case)
                for code in np.repeat(np.arange(4), counts[case]):
                    others = counts[case] - np.eye(4)[code]
                    total += math.log((shapes[code] + others[code]) / (shapes.sum() + others.sum()))
        scores.append(total / counts.sum())
    assert found["knowing"] == pytest.approx(scores[0] - scores[1], abs=0.01)


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
        (wider, shapes), (same, alike) = own.applied(opinions), whole.applied(opinions)
        for found, expected in ((wider, same), (shapes[0], alike[0])):
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
