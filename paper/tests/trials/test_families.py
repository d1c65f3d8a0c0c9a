"""Families of the informed prior are judged by annotators whom neither the prior nor the case has heard."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from dissensus import Predictions, Study, simulate
from dissensus.aggregations import informed_prior
from dissensus.aggregations.prior_fit import SAYINGS, Evidence, PriorLikelihood, fitted_likelihood
from dissensus.simulate.differential_study import SimulatedStudy
from paper.trials.families import (
    FAMILIES,
    FOLDS,
    USED,
    Family,
    FamilyLikelihood,
    LeftOutFirsts,
    evidence_of,
    fitted_family,
    fitted_mixture,
    mixture,
    one_of_each_case,
    raked_features,
)
from paper.trials.family_page import BEGIN, END, section, with_section, write_section
from paper.trials.family_scores import (
    DataSet,
    FamilyScores,
    annotated_data_sets,
    load_electrocardiograms,
    load_task,
    mean_gain,
    mean_score,
    scores_of,
)


@pytest.fixture(scope="module")
def study() -> SimulatedStudy:
    return simulate.study(n_cases=80, n_conditions=8, seed=3)


@pytest.fixture(scope="module")
def left(study: SimulatedStudy) -> LeftOutFirsts:
    return LeftOutFirsts.of(study.annotations, study.predictions, seed=(1,))


@pytest.fixture(scope="module")
def evidence(study: SimulatedStudy) -> Evidence:
    return Evidence.of(study.annotations.opinions, study.predictions)


# Who is left out ----------------------------------------------------------------------------------------


def test_one_annotator_of_every_case_with_two_is_left_out() -> None:
    said = Study.from_counts([[2, 1, 0], [0, 1, 0], [1, 1, 5]], ["a", "b", "c"], case_names=["x", "y", "z"])
    models = {"A": Predictions.from_scores(np.eye(3), said.conditions, case_names=said.case_names)}
    found = LeftOutFirsts.of(said, models, seed=(2,))
    assert found.case_names == ("x", "z")
    assert found.study.votes_per_case.tolist() == [2, 1, 6]
    both = found.evidence.totals.sum() + len(found.codes)
    assert both == 11


def test_annotators_are_left_out_by_their_number_of_votes() -> None:
    said = Study.from_counts([[9, 1]] * 4000, ["a", "b"])
    chosen = one_of_each_case(said, np.random.default_rng(1))
    assert np.mean(said.codes[chosen] == 1) == pytest.approx(0.1, abs=0.02)


def test_folds_are_those_of_the_informed_prior_and_none_is_empty(left: LeftOutFirsts, study: SimulatedStudy) -> None:
    prior = informed_prior(left.study, study.predictions, folds=FOLDS)
    assert np.array_equal(left.fold, prior.row)
    assert set(left.fold.tolist()) == set(range(FOLDS))


# Scores -------------------------------------------------------------------------------------------------


def test_the_score_of_the_family_that_is_used_is_that_of_the_informed_prior(
    left: LeftOutFirsts, study: SimulatedStudy
) -> None:
    prior = informed_prior(left.study, study.predictions, folds=FOLDS)
    means, masses = prior.means(), prior.concentrations
    opinions, wanted = left.study.opinions, []
    for number, case in enumerate(left.cases):
        votes = np.zeros(len(opinions.conditions))
        for ranking in range(*opinions.ranking_offsets[case : case + 2]):
            block = opinions.block_offsets[ranking]
            members = opinions.local[opinions.code_offsets[block] : opinions.code_offsets[block + 1]]
            votes[opinions.support[opinions.support_offsets[case] + members]] += 1 / len(members)
        chosen = left.codes[left.offsets[number] : left.offsets[number + 1]]
        shapes = votes + masses[case] * means[case]
        wanted.append(np.log(shapes[chosen].sum() / shapes.sum()))
    assert left.log_scores(USED) == pytest.approx(np.array(wanted), abs=0.03)
    assert left.log_scores(USED).mean() == pytest.approx(np.mean(wanted), abs=1e-3)


def test_the_score_of_single_labels_against_a_direct_computation() -> None:
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.ones(3), size=40)
    names = [f"case {number}" for number in range(40)]
    said = Study.from_counts([rng.multinomial(4, row) for row in theta], ["a", "b", "c"], case_names=names)
    models = {"A": Predictions.from_scores(theta, said.conditions, case_names=names)}
    left = LeftOutFirsts.of(said, models, seed=(4,))
    prior = informed_prior(left.study, models, folds=FOLDS)
    counts = np.zeros((40, 3))
    np.add.at(counts, (left.study.panel.case_of_opinion, left.study.codes), left.study.votes)
    shapes = counts + prior.concentrations[:, None] * prior.means()
    wanted = np.log(shapes / shapes.sum(axis=1, keepdims=True))[left.cases, left.codes]
    assert left.log_scores(USED) == pytest.approx(wanted)


def test_what_is_left_out_has_no_part_in_the_prior_of_its_case(left: LeftOutFirsts) -> None:
    own = left.fold == 0
    turned = left.evidence.votes.copy()
    turned[:, own[left.evidence.case[left.evidence.mentioned]]] += 3.0
    other = replace(left.evidence, votes=turned)
    weights = (~own).astype(np.float64)
    first, second = (fitted_family(USED, one.counted_in(~own), weights)[1] for one in (left.evidence, other))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_scores_every_first_choice(family: Family, left: LeftOutFirsts) -> None:
    scores = left.log_scores(family)
    assert len(scores) == len(left.cases) > 60
    assert np.isfinite(scores).all()
    assert (scores <= 1e-12).all()
    chance = np.log(np.diff(left.offsets) / len(left.evidence.log_weights))
    assert scores.mean() > chance.mean()


# Families -----------------------------------------------------------------------------------------------


def test_the_family_that_is_used_is_the_fit_of_the_package(evidence: Evidence) -> None:
    weights = np.ones(evidence.n_cases)
    likelihood, coefficients, ((share, mass),) = fitted_family(USED, evidence, weights)
    theirs, wanted = fitted_likelihood(evidence, weights)
    assert coefficients == pytest.approx(wanted)
    assert mass == pytest.approx(theirs.concentrations(wanted))
    assert (share == 1).all()
    assert likelihood.ridge == pytest.approx(theirs.ridge)


def test_a_ridge_is_one_of_the_coefficients_of_models_only(evidence: Evidence) -> None:
    usual = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0))).ridge
    firm = FamilyLikelihood(evidence, np.empty((evidence.n_cases, 0)), firm=4.0).ridge
    n_features = evidence.features.shape[1]
    assert firm[:n_features] == pytest.approx(4.0 * usual[:n_features])
    assert np.array_equal(usual[n_features:], firm[n_features:])


def test_a_family_weighs_its_own_features(evidence: Evidence) -> None:
    found = evidence_of(Family("A", ("log score", "first")), evidence)
    wanted = [column for column in range(evidence.features.shape[1]) if column % 3 != SAYINGS.index("score")]
    assert np.array_equal(found.features, evidence.features[:, wanted])


def test_raking_splits_first_places_into_quarters_of_confidence(evidence: Evidence) -> None:
    raked = raked_features(evidence).reshape(len(evidence.codes), len(evidence.models), 4)
    assert np.array_equal(raked.sum(axis=2), evidence.features[:, 2::3])
    cases = [np.unique(evidence.case[raked[:, 0, quarter] > 0]) for quarter in range(4)]
    assert [len(one) for one in cases] == pytest.approx([evidence.n_cases / 4] * 4, abs=2)
    score = np.zeros(evidence.n_cases)
    np.maximum.at(score, evidence.case, evidence.features[:, 1])
    assert all(score[low].max() <= score[high].min() for low, high in pairwise(cases))


def test_a_mixture_of_equal_components_is_one_concentration(left: LeftOutFirsts) -> None:
    likelihood, coefficients, ((_, mass),) = fitted_family(USED, left.evidence, np.ones(left.evidence.n_cases))
    equal = mixture(likelihood, coefficients, 0.0, 0.0, 1.3)
    assert all(one == pytest.approx(mass) for _, one in equal)
    assert sum(share for share, _ in equal) == pytest.approx(np.ones(len(mass)))
    one, two = (
        left._probabilities(likelihood, coefficients, parts) for parts in (((np.ones(len(mass)), mass),), equal)
    )
    assert one == pytest.approx(two)


def test_the_weights_of_a_mixture_are_those_given_the_votes(evidence: Evidence) -> None:
    likelihood, coefficients, ((_, mass),) = fitted_family(USED, evidence, np.ones(evidence.n_cases))
    (share, low), (_, high) = mixture(likelihood, coefficients, 0.2, 0.7, -0.4)
    assert low == pytest.approx(mass * np.exp(-0.5))
    assert high == pytest.approx(mass * np.exp(0.9))
    case, mean = evidence.case[evidence.mentioned], likelihood.shares(coefficients).entries[evidence.mentioned]
    logs = []
    for own in (low, high):
        shapes = own[case] * mean
        members = (gammaln(shapes + evidence.votes) - gammaln(shapes)).mean(axis=0)
        logs.append(np.bincount(case, members) + gammaln(own) - gammaln(own + evidence.totals))
    odds = np.exp(-0.4 + logs[0] - logs[1])
    assert share == pytest.approx(odds / (1 + odds))


def test_two_concentrations_are_found_where_there_are_two() -> None:
    rng = np.random.default_rng(1)
    mass = np.where(np.arange(600) % 2, 0.5, 50.0)
    scores = rng.dirichlet(np.ones(4), size=600)
    theta = np.array([rng.dirichlet(own * row + 1e-6) for own, row in zip(mass, scores, strict=True)])
    said = Study.from_counts([rng.multinomial(10, row) for row in theta], list("abcd"))
    model = Predictions.from_scores(scores, said.conditions)
    evidence = Evidence.of(said.opinions, {"A": model})
    weights = np.ones(600)
    likelihood, coefficients, _ = fitted_family(USED, evidence, weights)
    _, half, _ = fitted_mixture(likelihood, coefficients, weights)
    (share, _), _ = mixture(likelihood, coefficients, *fitted_mixture(likelihood, coefficients, weights))
    assert 1.2 < half < 4
    assert share[mass < 1].mean() > share[mass > 1].mean() + 0.3


# Tables -------------------------------------------------------------------------------------------------


def scores(title: str, cases: tuple[str, ...], gains: list[float]) -> FamilyScores:
    return FamilyScores(title, cases, np.array([[-1.0] * len(gains), np.array(gains) - 1.0]), (USED.name, "B"))


def test_data_sets_count_alike_and_cases_are_independent() -> None:
    one, other = scores("one", ("x", "x", "y"), [0.1, 0.1, 0.4]), scores("other", ("z",) * 2, [0.0, 0.6])
    gain, error = mean_gain([one, other], "B")
    assert gain == pytest.approx((0.2 + 0.3) / 2)
    pulls = {"x": 2 * (0.1 - 0.2) / 3 / 2, "y": (0.4 - 0.2) / 3 / 2, "z": 0.0}
    assert error == pytest.approx(np.sqrt(sum(pull**2 for pull in pulls.values()) * 3 / 2))
    assert mean_score([one, other], "B") == pytest.approx(-0.75)
    assert mean_gain([one], USED.name) == (0.0, 0.0)


def test_all_studies_of_a_data_set_are_scored_and_their_cases_told_apart(study: SimulatedStudy) -> None:
    heard: list[int] = []
    chosen = (USED, FAMILIES[0])
    data = DataSet("A", 2, lambda _: (study.annotations, study.predictions), lambda number: f"study {number}")
    found = scores_of(data, chosen, seed=1, watch=heard.append)
    assert heard == [0, 1]
    assert found.values.shape == (2, len(found.cases))
    assert found.families == tuple(family.name for family in chosen)
    assert len(set(found.cases)) == len(found.cases) == 2 * len({name[9:] for name in found.cases})


def test_the_section_stands_between_its_markers_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    first, second = [scores("one", ("x", "y"), [0.1, 0.3])], [scores("two", ("x", "y"), [-0.1, -0.4])]
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nWords.\n", encoding="utf-8")
    assert write_section(section(first), page) == page
    written = page.read_text(encoding="utf-8")
    assert written == f"# Page\n\nWords.\n\n{section(first)}"
    assert with_section(f"{written}\nMore.\n", section(second)) == f"# Page\n\nWords.\n\n{section(second)}\nMore.\n"
    assert written.count(BEGIN) == written.count(END) == 1


def test_the_section_tells_scores_gains_and_which_is_highest() -> None:
    better, worse = section([scores("one", ("x", "y"), [0.1, 0.3])]), section([scores("one", ("x", "y"), [0.0, -0.4])])
    assert "| B | \N{MINUS SIGN}0.8000 | +200.0 (100.0) |" in better
    assert "Highest over 1 data sets: *B*, by 0.2000 (standard error 0.1000)." in better
    assert f"Highest over 1 data sets: *{USED.name}*." in worse
    assert "2 cases, 2 first choices" in better


# Data sets ----------------------------------------------------------------------------------------------


def test_labels_of_people_and_judges_are_read_case_by_case(tmp_path: Path) -> None:
    people = {"p": {"x": "yes", "y": "no", "z": "yes"}, "q": {"x": "no", "y": None}}
    judges = {"A": {"x": "yes", "y": "maybe"}, "B": {"x": "no", "y": "no", "z": "no"}}
    (tmp_path / "human_annotations.json").write_text(json.dumps(people), encoding="utf-8")
    (tmp_path / "llm_annotations.json").write_text(json.dumps(judges), encoding="utf-8")
    said, models = load_task(tmp_path)
    assert said.case_names == ("x", "y")
    assert said.to_rankings() == [[[["yes"]], [["no"]]], [[["no"]]]]
    assert said.conditions == ("maybe", "no", "yes")
    assert models["A"].to_lists() == [[["yes"]], [["maybe"]]]


def test_all_that_one_finds_in_an_electrocardiogram_is_tied(tmp_path: Path) -> None:
    (tmp_path / "opinions_ties.csv").write_text("case,annotator,condition\nx,p,AF\nx,p,ST\nx,q,ST\ny,p,none\n", "utf-8")
    for name in ("model", "model_1", "model_5"):
        (tmp_path / f"pred7_{name}.csv").write_text("case,AF,ST,none\ny,0,0.1,0.9\nx,0.6,0.5,0.1\n", "utf-8")
    said, models = load_electrocardiograms(tmp_path)
    assert said.to_rankings() == [[[["AF", "ST"]], [["ST"]]], [[["none"]]]]
    assert models["model"].case_names == said.case_names == ("x", "y")
    assert models["model_1"].to_scores()[0].tolist() == [0.6, 0.5, 0.1]


def test_data_sets_that_are_not_there_are_not_tried(tmp_path: Path) -> None:
    assert annotated_data_sets(tmp_path, 3) == []
