"""Simulated studies: reproducible, shaped like published ones; the truth is known, and all else follows from it."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import Study, evaluate, simulate
from dissensus.aggregations import PlackettLuce
from dissensus.agreement import annotator_agreement
from dissensus.certainty import annotation_certainty
from dissensus.core.arrays import FloatArray
from dissensus.metrics import SetAccuracy, TopKAccuracy
from dissensus.simulate.answers import SKILLS, Skill
from dissensus.simulate.differential_study import (
    MODELS,
    NEAR_TIES,
    STRATA,
    Expertise,
    SimulatedStudy,
    condition_names,
    frequencies,
)
from refusals import refused
from shared_data import SHARED, needs_shared


@pytest.fixture(scope="module")
def large() -> SimulatedStudy:
    return simulate.study(n_cases=1500, seed=0)


def test_the_same_seed_gives_the_same_cases_however_many_there_are(large: SimulatedStudy) -> None:
    small, different = simulate.study(n_cases=5, seed=0), simulate.study(n_cases=5, seed=4)
    shared = large.annotations.select(slice(0, 5))
    assert shared.to_rankings() == small.annotations.to_rankings()
    assert shared.case_names == small.annotations.case_names
    assert np.array_equal(large.theta[:5], small.theta)
    for part in ("annotations", "predictions", "strata"):
        assert getattr(different, part) != getattr(small, part)
    assert {name: said.select(slice(0, 5)) for name, said in large.predictions.items()} == small.predictions
    assert {column: labels[:5] for column, labels in large.strata.items()} == small.strata


def shape(said: Study) -> dict[str, float]:
    certainty = annotation_certainty(PlackettLuce(3, alpha=1.0, prior="observed").sample(said, draws=300))
    sizes = said.mentions_per_ranking
    support = [len({name for ranking in case for block in ranking for name in block}) for case in said.to_rankings()]
    means = {"annotators": said.rankings_per_case, "conditions in a ranking": sizes, "single conditions": sizes == 1}
    means |= {"three conditions": sizes == 3, "ties": said.has_tie, "conditions of a case": np.array(support)}
    of_draws = {"certainty": certainty.mean, "uncertain cases": certainty.share_below(0.99)}
    found = {name: float(values.mean()) for name, values in means.items()}
    return {**found, **of_draws, "agreement": annotator_agreement(said).mean}


@needs_shared
def test_statistics_are_close_to_those_of_the_released_annotations(large: SimulatedStudy) -> None:
    rankings = json.loads((SHARED / "dermatology_ddx" / "dermatology_selectors.json").read_text(encoding="utf-8"))
    released = shape(Study.from_rankings(rankings, 419))
    simulated = shape(large.annotations)
    within = {"annotators": 0.2, "conditions in a ranking": 0.04, "conditions of a case": 0.3, "certainty": 0.03}
    within |= dict.fromkeys(("single conditions", "three conditions", "ties"), 0.02)
    within |= dict.fromkeys(("uncertain cases", "agreement"), 0.05)
    assert released["single conditions"] == pytest.approx(0.54, abs=0.005)
    assert released["ties"] == pytest.approx(0.16, abs=0.005)
    for name, tolerance in within.items():
        assert simulated[name] == pytest.approx(released[name], abs=tolerance), name


def test_the_shape_is_that_of_published_differential_diagnoses(large: SimulatedStudy) -> None:
    said, theta = large.annotations, large.theta
    assert 0.52 < (said.mentions_per_ranking == 1).mean() < 0.56
    assert 0.14 < said.has_tie.mean() < 0.18
    assert (said.rankings_per_case.min(), said.rankings_per_case.max(), said.unannotated) == (1, 10, ())
    pairs = np.column_stack([said.panel.case_of_opinion, said.annotators])
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (theta.shape, len(np.unique(theta, axis=0))) == ((1500, 60), 1500)
    assert (theta > 0).all()
    assert np.allclose(theta.sum(axis=1), 1)
    assert len(np.unique(large.predictions["Aster"].values)) == 15_000
    first = theta[said.panel.case_of_opinion, said.codes[said.code_offsets[said.block_offsets[:-1]]]]
    assert first.mean() > 5 * theta.mean()


def test_conditions_have_a_long_tail_every_risk_and_strata_their_shares(large: SimulatedStudy) -> None:
    said, categories = large.annotations, large.categories
    counts = np.bincount(said.codes, minlength=60)
    assert counts[:6].sum() > 2 * counts[30:].sum() > 0
    assert (categories.names, categories.levels) == (("low", "medium", "high"), (0, 1, 2))
    assert categories.conditions == said.conditions
    assert np.bincount(categories.codes[said.codes]) / said.codes.size == pytest.approx([0.53, 0.37, 0.1], abs=0.12)
    for column, shares in STRATA.items():
        assert sum(shares.values()) == pytest.approx(1)
        for label, share in shares.items():
            assert large.strata[column].count(label) / 1500 == pytest.approx(share, abs=0.05)
    assert len(set(condition_names(1234))) == 1234
    assert frequencies(50).sum() == pytest.approx(1)
    assert (np.diff(frequencies(50)) < 0).all()


def test_models_list_ten_conditions_each_with_falling_scores() -> None:
    study = simulate.study(n_cases=30)
    assert list(study.predictions) == list(MODELS)
    for name, said in study.predictions.items():
        assert (said.name, said.kind, said.case_names) == (name, "scores", study.annotations.case_names)
        assert (said.entries_per_case == 10).all()
        assert (said.to_scores().sum(axis=1) <= 1 + 1e-12).all()


@pytest.mark.slow
def test_the_model_that_looks_best_is_not_the_best_at_whole_differential_diagnoses() -> None:
    study = simulate.study(n_cases=400, models=NEAR_TIES, seed=1)
    metrics = [TopKAccuracy(1), SetAccuracy(2), SetAccuracy(3)]
    paper = [PlackettLuce(3, alpha=1.0, prior="observed")]
    result = evaluate(study.annotations, study.predictions, aggregations=paper, metrics=metrics, draws=200)
    usual = result.point_estimates().filter(pl.col("metric") == "top-1 accuracy")
    for _, found in usual.group_by("aggregation"):
        assert found.sort("point_estimate", descending=True)["model"][0] == "Aster"
    adjusted = [gap for gap in result.compare().differences if gap.estimand == "adjusted"]
    sets = [gap for gap in adjusted if {gap.first, gap.second} == {"Aster", "Birch"}][1:]
    assert [gap.verdict for gap in sets] == ["Birch is better than Aster (secondary, not adjusted)"] * 2
    rows = result.to_frame().filter(metric="top-2 set accuracy", estimand="adjusted")
    order = rows.sort("mean", descending=True)["model"].to_list()
    assert order[:2] == ["Elder", "Birch"]
    assert order.index("Aster") > 2


def test_models_are_worse_for_the_skin_types_they_have_seen_less_of() -> None:
    study = simulate.study(n_cases=1500, seed=2)
    is_dark = np.array(study.strata["skin type"]) == "V-VI"
    for said in study.predictions.values():
        is_right = said.codes[said.offsets[:-1]] == study.theta.argmax(axis=1)
        assert is_right[is_dark].mean() < is_right[~is_dark].mean() - 0.05


def test_impossible_sizes_and_numbers_of_opinions_are_refused() -> None:
    for name, size in {"n_cases": 0, "n_conditions": 1, "n_annotators": 9}.items():
        refused("at least 1 case, 2 conditions and 10 annotators", simulate.study, **{name: size})
    for opinions in ((0, 3), (4, 3), (3, 31)):
        refused("so many opinions", simulate.study, opinions=opinions)


@pytest.mark.parametrize("n_conditions", [2, 300])
def test_few_and_many_conditions_work(n_conditions: int) -> None:
    study = simulate.study(n_cases=10, n_conditions=n_conditions)
    assert study.annotations.n_conditions == study.categories.codes.size == n_conditions
    assert (study.predictions["Birch"].entries_per_case == min(10, n_conditions)).all()


# Models that err like classifiers ------------------------------------------------------------------------


def rightness(expertise: Expertise) -> tuple[FloatArray, FloatArray]:
    """Return for 600 cases whether a model names the first condition, and how far it leads the second one."""
    study = simulate.study(n_cases=600, models={"A": expertise}, seed=4)
    said, ordered = study.predictions["A"], np.sort(study.theta, axis=1)
    return said.codes[said.offsets[:-1]] == study.theta.argmax(axis=1), np.log(ordered[:, -1] / ordered[:, -2])


def test_more_noise_is_a_worse_model() -> None:
    found = [rightness(Expertise.blurred(noise))[0].mean() for noise in (0.0, 0.3, 0.7, 1.2)]
    assert found[0] == 1.0
    assert all(better > worse + 0.05 for better, worse in pairwise(found))


def test_nothing_but_noise_decides_near_ties_for_a_classifier_while_another_model_knows_them() -> None:
    is_right, lead = rightness(Expertise.blurred(0.5))
    near = lead < 0.2
    assert near.sum() > 30
    assert is_right[near].mean() < 0.7
    assert is_right[lead > 2].mean() > 0.9
    assert rightness(NEAR_TIES["Aster"])[0][near].mean() > 0.8


def test_confidence_changes_scores_and_not_the_order() -> None:
    models = [{"A": Expertise.blurred(0.5, confidence=confidence)} for confidence in (3.0, 0.5)]
    one, other = (simulate.study(n_cases=50, models=own, seed=1).predictions["A"] for own in models)
    assert np.array_equal(one.codes, other.codes)
    assert (one.values[one.offsets[:-1]] > other.values[other.offsets[:-1]]).all()


def test_numbers_of_opinions_can_be_chosen() -> None:
    study = simulate.study(n_cases=300, opinions=(3, 5), seed=1)
    counts = np.bincount(study.annotations.rankings_per_case, minlength=6)
    assert counts[:3].tolist() == [0, 0, 0]
    assert (counts[3:] > 70).all()
    assert (simulate.study(n_cases=9, opinions=(2, 2)).annotations.rankings_per_case == 2).all()


def test_more_models_leave_the_others_as_they_are() -> None:
    few, more = simulate.study(n_cases=5, models=dict(list(MODELS.items())[:2])), simulate.study(n_cases=5)
    assert dict(few.predictions) == {name: more.predictions[name] for name in ("Aster", "Birch")}
    assert few.annotations == more.annotations
    assert simulate.study(n_cases=5, models={}).predictions == {}


def test_no_model_of_the_demo_knows_near_ties_and_only_some_are_too_sure() -> None:
    study = simulate.study(n_cases=2000, seed=5)
    ordered, truth = np.sort(study.theta, axis=1), study.theta.argmax(axis=1)
    near = np.log(ordered[:, -1] / ordered[:, -2]) < 0.1
    excess, right = {}, {}
    for name, said in study.predictions.items():
        first = said.offsets[:-1]
        agreed = study.theta[np.arange(2000), said.codes[first]].mean()
        excess[name], right[name] = said.values[first].mean() - agreed, (said.codes[first] == truth).mean()
        assert (said.codes[first] == truth)[near].mean() < 0.62
    assert {name for name, by in excess.items() if by > 0.12} == {"Aster", "Dahlia"}
    assert max(abs(excess[name]) for name in ("Birch", "Clover", "Elder")) < 0.06
    assert sorted(right, key=lambda name: -right[name]) == ["Aster", "Birch", "Clover", "Elder", "Dahlia"]


def test_a_model_that_confuses_similar_conditions_names_them_in_the_place_of_each_other() -> None:
    kinds = {"plain": Expertise.blurred(0.0), "confused": Expertise.blurred(0.0, confusion=1.0)}
    study = simulate.study(n_cases=200, models=kinds, seed=2)
    plain, confused = study.predictions.values()
    alike = confused.codes.reshape(200, -1)[:, :6] % 10
    assert (plain.codes[plain.offsets[:-1]] == study.theta.argmax(axis=1)).all()
    assert (alike == alike[:, :1]).all(), "the six conditions of one noun have the same score"


# Answers ------------------------------------------------------------------------------------------------


def test_the_prevalence_is_that_of_what_a_large_panel_says() -> None:
    for prevalence in (0.05, 0.4):
        study = simulate.binary(n_cases=20_000, n_annotators=3, prevalence=prevalence)
        assert study.labels.mean() == pytest.approx(prevalence, abs=0.01)
    assert study.annotations.question == "binary"
    assert study.annotations.conditions == ("absent", "present")
    assert study.truth.dense()[:, 0, 1] == pytest.approx(study.chances)


def test_annotators_say_yes_as_often_as_the_chances_have_it() -> None:
    study = simulate.binary(n_cases=4000, n_annotators=40, strictness=1.0, seed=5)
    said = study.annotations.codes.reshape(4000, 40)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        cases = (study.chances > low) & (study.chances <= high)
        assert said[cases].mean() == pytest.approx(study.chances[cases].mean(), abs=0.04)
    rates = said.mean(axis=0)
    assert np.corrcoef(rates, study.strictness)[0, 1] < -0.95


def test_calibrated_models_are_calibrated_and_others_are_not() -> None:
    study = simulate.binary(n_cases=60_000, n_annotators=2, prevalence=0.2, seed=2)
    gaps = {}
    for name, model in study.predictions.items():
        scores = model.to_scores()[:, 1]
        bins = np.digitize(scores, np.linspace(0, 1, 11)[1:-1])
        gaps[name] = max(abs(scores[bins == k].mean() - study.chances[bins == k].mean()) for k in range(10))
    assert max(gaps["Fir"], gaps["Gorse"]) < 0.02
    assert min(gaps["Hazel"], gaps["Iris"]) > 0.1


def test_a_model_without_noise_knows_the_chances_and_more_noise_knows_less() -> None:
    models = {"all": Skill(0.0), "some": Skill(1.0), "little": Skill(5.0)}
    study = simulate.binary(n_cases=3000, n_annotators=2, models=models)
    scores = {name: model.to_scores()[:, 1] for name, model in study.predictions.items()}
    assert scores["all"] == pytest.approx(study.chances)
    right = {name: ((score > 0.5) == study.labels).mean() for name, score in scores.items()}
    assert 1 == right["all"] > right["some"] > right["little"]


def test_the_same_seed_gives_the_same_answers_however_many_cases_there_are() -> None:
    few = simulate.checklists(n_cases=20, not_assessed=0.2, opinions=(2, 4), seed=9)
    many = simulate.checklists(n_cases=50, not_assessed=0.2, opinions=(2, 4), seed=9)
    assert many.checklists.select(slice(0, 20)) == few.checklists
    assert many.predictions["Iris"].select(slice(0, 20)) == few.predictions["Iris"]
    assert simulate.checklists(n_cases=20, seed=10).checklists != simulate.checklists(n_cases=20, seed=9).checklists


def test_opinions_are_as_many_as_asked_for_and_some_answers_are_missing() -> None:
    study = simulate.checklists(n_cases=400, n_annotators=6, opinions=(1, 3), not_assessed=0.25)
    per_case = study.checklists.panel.annotators_per_case
    assert set(per_case.tolist()) == {1, 2, 3}
    assert (study.checklists.answers == -1).mean() == pytest.approx(0.25, abs=0.02)
    assert list(study.predictions) == list(SKILLS)


def test_findings_have_their_own_prevalence_and_come_together() -> None:
    how: dict[str, Any] = {"n_cases": 20_000, "n_annotators": 1, "prevalence": [0.1, 0.4]}
    study = simulate.checklists(findings=["AF", "ST"], together=0.6, **how)
    assert study.labels.mean(axis=0) == pytest.approx([0.1, 0.4], abs=0.01)
    assert study.labels.all(axis=1).mean() > 0.06
    apart = simulate.checklists(findings=2, together=0.0, **how)
    assert apart.labels.all(axis=1).mean() == pytest.approx(0.04, abs=0.01)


WRONG: list[dict[str, Any]] = [
    *({"prevalence": 0.0}, {"prevalence": [0.1]}, {"together": 1.0}, {"strictness": -1.0}, {"clarity": 0.0}),
    *({"not_assessed": 1.0}, {"opinions": (3, 9)}, {"findings": 0}, {"models": {"A": 1.0}}, {"n_cases": 0}),
    {"seed": -1},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_answers_that_cannot_be_simulated_are_refused(wrong: dict[str, Any]) -> None:
    refused("", simulate.checklists, **{"n_cases": 5, "n_annotators": 5, **wrong})
