"""Priors that are learned from the study: frequencies and fitted masses, which add up over parts, bit for bit."""

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import dissensus as ds
from dissensus.aggregations import (
    Dirichlet,
    GivenDraws,
    MajorityVote,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    PlackettLuce,
    ProbabilisticInverseRank,
)
from dissensus.aggregations.point_estimates import votes
from dissensus.aggregations.priors import LearnedPrior, Lessons, ScoreRange, prior_shapes
from dissensus.certainty import annotation_certainty, certainty_of
from dissensus.core.bundle import bundled, restored
from dissensus.core.names import case_keys, sampled_cases
from dissensus.core.ragged import row_of_each
from dissensus.draws import identified
from dissensus.metrics import (
    BrierScore,
    Coverage,
    ExpectedAccuracy,
    ExpectedCoverage,
    KendallTau,
    LogScore,
    Overlap,
    SetAccuracy,
    TopKAccuracy,
)
from dissensus.metrics.base import Drawn, OrderMetric, Predicted
from dissensus.plugins import Aggregation, Batch
from rare import some
from refusals import refused

CONDITIONS = [f"c{k}" for k in range(25)]
STUDY = ds.simulate.study(n_cases=40, n_conditions=25, seed=4)
SAID = STUDY.annotations
FREQUENT = [PlackettLuce(prior="frequency", alpha=3.0), Dirichlet(prior="frequency", alpha=5.0)]


def voted(n_cases: int, n_votes: int, alpha: float, n_conditions: int = 10, seed: int = 0) -> ds.Study:
    """Simulate first choices of annotators who draw from plausibilities that are Dirichlet(alpha)."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_conditions, alpha), size=n_cases)
    return ds.Study.from_counts([rng.multinomial(n_votes, row) for row in theta], CONDITIONS[:n_conditions])


def test_shapes_follow_the_number_of_other_cases_that_mention_a_condition() -> None:
    said = ds.Study.from_rankings([[[["a"], ["b"]]], [[["a"]], [["c"]]], [[["a"]]]], ["a", "b", "c", "d"])
    shapes = prior_shapes(said.opinions, "frequency", 2.0)
    # other cases mention a 2, 2 and 2 times, b 0, 1 and 1, c 1, 0 and 1, d never; half a mention is added to each
    first = 2.0 * np.array([2.5, 0.5, 1.5, 0.5]) / 5.0
    second = 2.0 * np.array([2.5, 1.5, 0.5, 0.5]) / 5.0
    third = 2.0 * np.array([2.5, 1.5, 1.5, 0.5]) / 6.0
    np.testing.assert_allclose(shapes.mentioned, [first[0], first[1], second[0], second[2], third[0]])
    np.testing.assert_allclose(shapes.rest, [first[2:].sum(), second[[1, 3]].sum(), third[1:].sum()])
    # a case does not inform its own prior
    alone = prior_shapes(ds.Study.from_rankings([[[["a"]], [["a"]]]], ["a", "b", "c"]).opinions, "frequency", 3.0)
    np.testing.assert_allclose(np.append(alone.mentioned, alone.rest), [1.0, 2.0])


def test_the_posterior_of_single_labels_is_the_dirichlet_distribution_of_votes_and_shapes() -> None:
    said = ds.Study.from_counts([[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 2, 0]], ["a", "b", "c", "d"])
    weights = np.array([[1.5, 0.5, 1.5, 0.5], [1.5, 1.5, 1.5, 0.5], [2.5, 1.5, 0.5, 0.5]])
    shapes = 4.0 * weights / weights.sum(axis=1, keepdims=True) + [[2, 1, 0, 0], [3, 0, 0, 0], [0, 0, 2, 0]]
    for spec in (Dirichlet(prior="frequency", alpha=4.0), PlackettLuce(prior="frequency", alpha=4.0)):
        dense = spec.sample(said, draws=4000, seed=3).dense()
        for case in range(3):
            for k in range(4):
                beta = stats.beta(shapes[case, k], shapes[case].sum() - shapes[case, k])
                # 24 tests at 1e-5 with a fixed seed: a false alarm once in 4000 changes of the streams
                assert stats.kstest(dense[case, :, k], beta.cdf).pvalue > 1e-5


@pytest.mark.parametrize("spec", FREQUENT, ids=lambda spec: spec.id)
def test_the_mean_shares_the_rest_by_frequency(spec: Aggregation) -> None:
    drawn = spec.sample(SAID, draws=4000, seed=1)
    assert np.abs(drawn.mean() - drawn.dense().mean(axis=1)).max() < 0.02  # over 5 standard errors of 0.25 / sqrt(4000)


@pytest.mark.parametrize("spec", FREQUENT, ids=lambda spec: spec.id)
def test_metrics_of_orders_are_those_of_all_conditions_written_out(spec: Aggregation) -> None:
    drawn = spec.sample(SAID, draws=50, seed=2)  # of 50 draws, one is 2 %: all that lead are told apart
    for batch in drawn:
        wide, full = batch.identified(3), Batch.from_dense(batch.dense(), batch.case_names)
        np.testing.assert_array_equal(wide.dense(), batch.dense())
        for metric in (TopKAccuracy(1), TopKAccuracy(3, j=2), SetAccuracy(2), Overlap(3), KendallTau(3)):
            assert isinstance(metric, OrderMetric)
            for model in STUDY.predictions.values():
                compact = metric.values(Drawn(wide, 3), Predicted(model, wide.outline()))
                written = metric.values(Drawn(full, 3), Predicted(model, full.outline()))
                np.testing.assert_allclose(compact, written, atol=1e-9)


def test_batches_of_the_same_cases_are_told_apart_together_as_each_alone() -> None:
    for batch in FREQUENT[0].sample(SAID, draws=50, seed=2):
        few = np.concatenate([0.9 * batch.of_case(case)[:20] + 0.01 for case in range(batch.n_cases)], axis=None)
        other = replace(batch, n_draws=20, values=few)
        for found, alone in zip(identified([batch, other], 3), (batch, other), strict=True):
            expected = alone.identified(3)
            np.testing.assert_array_equal(found.support, expected.support)
            np.testing.assert_array_equal(found.compared, expected.compared)
            assert found.others is not None
            assert expected.others is not None
            np.testing.assert_array_equal(found.others[1], expected.others[1])


@pytest.mark.parametrize("spec", FREQUENT, ids=lambda spec: spec.id)
def test_conditions_that_rarely_lead_are_exchangeable_below_the_first_place_only(spec: Aggregation) -> None:
    for batch in spec.sample(SAID, draws=1000, seed=2):
        batches = batch.identified(3), Batch.from_dense(batch.dense(), batch.case_names)
        assert len(batches[0].support) < batch.n_conditions * batch.n_cases
        for model in STUDY.predictions.values():
            for metric in (TopKAccuracy(1), TopKAccuracy(3), Overlap(3)):
                compact, written = (metric.values(Drawn(some, 3), Predicted(model, some.outline())) for some in batches)
                if metric.depth == 1:
                    np.testing.assert_allclose(compact, written, atol=1e-9)
                assert np.abs(compact.mean(axis=1) - written.mean(axis=1)).max() < 0.02


@pytest.mark.parametrize("spec", some(FREQUENT, FREQUENT[0]), ids=lambda spec: spec.id)
def test_metrics_of_masses_are_their_expectation_over_the_split(spec: Aggregation) -> None:
    drawn = spec.sample(SAID, draws=4000, seed=2)
    for batch in drawn:
        full = Batch.from_dense(batch.dense(), batch.case_names)
        for metric in (ExpectedAccuracy(2), BrierScore(), LogScore(0.01)):
            for model in STUDY.predictions.values():
                said = ds.Predictions.from_scores(
                    model.to_scores() + 1e-3, model.conditions, case_names=model.case_names
                )
                compact = metric.values(Drawn(batch, 1), Predicted(said, batch.outline())).mean(axis=1)
                wide = batch.identified(1)
                widened = metric.values(Drawn(wide, 1), Predicted(said, wide.outline())).mean(axis=1)
                written = metric.values(Drawn(full, 1), Predicted(said, full.outline()))
                np.testing.assert_allclose(widened, compact, rtol=1e-9)
                error = written.std(axis=1) / np.sqrt(4000)
                # at 6 errors of correlated draws, less than one false alarm in a million
                assert (np.abs(compact - written.mean(axis=1)) < 8 * error + 1e-9).all()


@pytest.mark.parametrize("spec", FREQUENT, ids=lambda spec: spec.id)
def test_certainty_names_conditions_that_nobody_mentioned(spec: Aggregation) -> None:
    drawn = spec.sample(SAID, draws=200, seed=2)
    dense = drawn.dense()
    certainty = annotation_certainty(drawn)
    for case, first in enumerate(dense.argmax(axis=2)):
        counts = np.bincount(first, minlength=25)
        assert certainty.values[case] == pytest.approx(counts.max() / 200)
        assert counts[drawn.conditions.index(certainty.winners[case][0])] == counts.max()
    shares = [(first == 4).mean() for first in dense.argmax(axis=2)]
    np.testing.assert_allclose(certainty_of(drawn, drawn.conditions[4]).values, shares)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_alpha_is_recovered_from_votes(alpha: float) -> None:
    drawn = Dirichlet(alpha="fitted").sample(voted(3000, 3, alpha), draws=10)
    assert drawn.fitted["alpha"] == pytest.approx(alpha, rel=0.2)
    assert f"alpha fitted: {drawn.fitted['alpha']:.3g}" in repr(drawn)


def test_the_fit_maximises_the_likelihood_written_out() -> None:
    counts = np.array([[3, 1, 0], [0, 2, 2], [4, 0, 0], [1, 1, 2]])
    said = ds.Study.from_counts(counts, ["a", "b", "c"])

    def posterior(alpha: float) -> float:
        members = (gammaln(alpha + counts) - gammaln(alpha)).sum()
        totals = (gammaln(3 * alpha) - gammaln(3 * alpha + counts.sum(axis=1))).sum()
        return float(members + totals - 0.5 * (np.log(3 * alpha) / 2) ** 2)

    grid = np.exp(np.linspace(-6, 5, 20001))
    best = grid[np.argmax([posterior(alpha) for alpha in grid])]
    assert Lessons.of(said).fitted_alpha("symmetric") == pytest.approx(best, rel=1e-3)
    twice = ds.Study.from_rankings([[[["a"]], [["a"]], [["b"]]], [[["c"]], [["c"]]]], ["a", "b", "c"])
    heavy = ds.Study.from_rankings([[[["a"]], [["b"]]], [[["c"]]]], ["a", "b", "c"], weights=[[2, 1], [2]])
    one, other = (Lessons.of(study).fitted_alpha("frequency") for study in (heavy, twice))
    assert one == pytest.approx(other)


def test_studies_that_teach_nothing_or_too_much_say_so() -> None:
    said = ds.Study.from_rankings([[[["a"]]], [[["a", "b"]]]], ["a", "b", "c"])
    with pytest.warns(ds.DissensusWarning, match="no case has two opinions"):
        assert PlackettLuce(prior="frequency", alpha="fitted").sample(said).fitted == {"alpha": pytest.approx(1.0)}
    unanimous = ds.Study.from_counts([[50, 0]] * 2000 + [[0, 50]] * 2000, ["a", "b"])
    with pytest.warns(ds.DissensusWarning, match="at its limit"):
        assert 2 * Lessons.of(unanimous).fitted_alpha("symmetric") == pytest.approx(1e-3, rel=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PlackettLuce(prior="frequency", alpha="fitted").sample(SAID)


def test_what_was_fitted_is_part_of_results_and_words(tmp_path) -> None:  # type: ignore[no-untyped-def]
    said = voted(60, 3, 0.3)
    result = ds.evaluate(said, {}, aggregations=["dirichlet:1:alpha=fitted"], metrics=[], draws=20)
    fitted = Lessons.of(said).fitted_alpha("symmetric")
    assert result.runs[0].fitted == {"alpha": fitted}
    result.save(tmp_path / "results")
    assert ds.load(tmp_path / "results").runs[0].fitted == {"alpha": fitted}
    from dissensus.report.sections.methods import aggregation_sentence

    assert f"fitted: alpha = {fitted:.3g}" in aggregation_sentence(result.runs)


def test_inverse_ranks_per_annotator_add_up_and_their_spread_follows_the_number_of_annotators() -> None:
    said = ds.Study.from_rankings([[[["a"], ["b"]]], [[["a"], ["b"]]] * 4], ["a", "b", "c"], weights=[[2.0], [1.0] * 4])
    drawn = ProbabilisticInverseRank(3, scale="annotator").sample(said, draws=4000)
    for case, n in enumerate((2, 4)):
        beta = stats.beta(3 * n * 2 / 3, 3 * n / 3)
        assert stats.kstest(drawn.dense()[case, :, 0], beta.cdf).pvalue > 1e-5
    case_scale = ProbabilisticInverseRank(3).sample(said, draws=4000).dense()
    assert stats.kstest(case_scale[1, :, 0], stats.beta(2, 1).cdf).pvalue > 1e-5


@pytest.mark.parametrize("spec", FREQUENT, ids=lambda spec: spec.id)
def test_metrics_of_sets_know_how_likely_unmentioned_conditions_are(spec: Aggregation) -> None:
    drawn = spec.sample(SAID, draws=4000, seed=2)
    sets = ds.Predictions.from_sets([list(SAID.conditions[:4])] * 40, SAID.conditions, case_names=SAID.case_names)
    for batch in drawn:
        wide, dense = batch.identified(1), batch.dense()
        inside = Coverage().values(Drawn(wide, 1), Predicted(sets, wide.outline()))
        np.testing.assert_allclose(inside, dense.argmax(axis=2) < 4, atol=1e-9)
        mass, written = (
            ExpectedCoverage().values(Drawn(wide, 1), Predicted(sets, wide.outline())),
            dense[:, :, :4].sum(2),
        )
        # 8 errors: correlated draws have at most 4 times the variance
        assert (np.abs(mass.mean(1) - written.mean(1)) < 8 * written.std(1) / np.sqrt(4000) + 1e-9).all()


def test_conditions_that_parts_do_not_know_are_joined_by_name() -> None:
    study = ds.Study.from_rankings([[[["b"]], [["a"]]], [[["c"], ["b"]], [["c"]]], [[["b"]], [["b"]]]], ["a", "b", "c"])
    narrow = [
        ds.Study.from_rankings(part.to_rankings(), case_names=part.case_names)
        for part in (study.select([place]) for place in (2, 0, 1))
    ]
    assert [part.conditions for part in narrow] == [("b",), ("a", "b"), ("b", "c")]
    found = sum(map(Lessons.of, narrow[1:]), start=Lessons.of(narrow[0]))
    assert found == Lessons.of(study)
    assert found.recoded(["c", "z", "b", "a"]).mentions.tolist() == [1.0, 0.0, 3.0, 1.0]
    refused("not among the conditions", found.recoded, ["a", "b"])


def test_kinds_of_choices_are_those_counted_case_by_case() -> None:
    trust = [[(1.0, 0.3, 2.0)[place % 3] for place, _ in enumerate(case)] for case in SAID.to_rankings()]
    study = ds.Study.from_rankings(SAID.to_rankings(), SAID.conditions, weights=trust)
    opinions, found = study.opinions, Lessons.of(study)
    case, counts = row_of_each(opinions.support_offsets), votes(opinions)
    expected: Counter[tuple[float, ...]] = Counter()
    for code, own, count in zip(opinions.support.tolist(), case.tolist(), counts.tolist(), strict=True):
        if counts[case == own].sum() > 1.0 + 1e-9:
            expected[code, (case == own).sum(), round(count, 9)] += 1
    kinds: Counter[tuple[float, ...]] = Counter()
    for code, size, count, number in found.kinds.tolist():
        kinds[code, size, round(count, 9)] += int(number)
    assert kinds == expected
    assert restored(bundled(found), [Lessons, ScoreRange]) == found


def test_draws_from_elsewhere_and_unknown_learners_are_not_split() -> None:
    class Learner(MajorityVote):
        @property
        def learns(self) -> bool:
            return True

    drawn = ds.Plausibilities.from_draws([[[0.5, 0.5]]], conditions=["a", "b"], case_names=["x"])
    assert "made elsewhere" in GivenDraws(drawn).needs_whole
    assert "depend on other cases" in Learner().needs_whole
    prior = NormalInverseGammaPrior(0.0, 1.0, 2.0, 1.0)
    assert "estimated" in NormalInverseGamma().needs_whole
    assert "shifts" in NormalInverseGamma((0.0,), prior, shifts=True).needs_whole
    assert "median" in NormalInverseGamma(prior=prior).needs_whole
    assert not NormalInverseGamma((0.0,), prior).needs_whole


def test_what_was_learned_about_other_conditions_is_refused() -> None:
    study = ds.simulate.study(n_cases=30).annotations
    spec = PlackettLuce().with_learned(LearnedPrior(("a", "b"), np.ones(2), 1.0))
    refused("about other conditions", spec.sample, study)


def test_sampled_cases_are_those_of_the_smallest_keys_whatever_the_order_and_the_parts() -> None:
    names = [f"case {i}" for i in range(50)]
    chosen = {names[place] for place in sampled_cases(names, 12)}
    keys = dict(zip(names, case_keys(names).tolist(), strict=True))
    assert chosen == set(sorted(names, key=keys.__getitem__)[:12])
    parts = [names[30:], names[:30][::-1]]
    some = [part[place] for part in parts for place in sampled_cases(part, 12)]
    assert {some[place] for place in sampled_cases(some, 12)} == chosen
    assert sampled_cases(names, 60).tolist() == list(range(50))
