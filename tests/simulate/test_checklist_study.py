"""Simulated binary questions and checklists: the truth is known, and everything else follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dissensus import DissensusError, simulate
from dissensus.simulate.answers import SKILLS, Skill


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
    assert gaps["Fir"] < 0.02
    assert gaps["Gorse"] < 0.02
    assert gaps["Hazel"] > 0.1
    assert gaps["Iris"] > 0.1


def test_a_model_without_noise_knows_the_chances_and_more_noise_knows_less() -> None:
    models = {"all": Skill(0.0), "some": Skill(1.0), "little": Skill(5.0)}
    study = simulate.binary(n_cases=3000, n_annotators=2, models=models)
    scores = {name: model.to_scores()[:, 1] for name, model in study.predictions.items()}
    assert scores["all"] == pytest.approx(study.chances)
    right = {name: ((score > 0.5) == study.labels).mean() for name, score in scores.items()}
    assert right["all"] == 1
    assert right["all"] > right["some"] > right["little"]


def test_the_same_seed_gives_the_same_cases_however_many_there_are() -> None:
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
    study = simulate.checklists(
        n_cases=20_000, n_annotators=1, findings=["AF", "ST"], prevalence=[0.1, 0.4], together=0.6
    )
    assert study.labels.mean(axis=0) == pytest.approx([0.1, 0.4], abs=0.01)
    assert study.labels.all(axis=1).mean() > 0.06
    apart = simulate.checklists(n_cases=20_000, n_annotators=1, findings=2, prevalence=[0.1, 0.4], together=0.0)
    assert apart.labels.all(axis=1).mean() == pytest.approx(0.04, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"prevalence": 0.0},
        {"prevalence": [0.1]},
        {"together": 1.0},
        {"strictness": -1.0},
        {"clarity": 0.0},
        {"not_assessed": 1.0},
        {"opinions": (3, 9)},
        {"findings": 0},
        {"models": {"A": 1.0}},
        {"n_cases": 0},
        {"seed": -1},
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DissensusError):
        simulate.checklists(**{"n_cases": 5, "n_annotators": 5, **wrong})
