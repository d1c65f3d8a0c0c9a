"""Simulated studies have the truth they say, every estimate stands beside it, and the page has the tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics as peers

from dissensus import DissensusError
from dissensus.metrics import AUROC, CohenKappa
from paper.trials import data_set_page as page
from paper.trials.data_set_trials import (
    MAJORITY,
    DataSetProof,
    Effort,
    data_set_proof,
    majority_estimates,
    rows_of_study,
    settings,
    truths_of,
)
from paper.trials.severity import DISTORTED, Setting, counted

BINARY = Setting("plain", "binary", 3, 0.4, n_cases=120)
GRADES = Setting("grades", "grades", 3, 0.4, n_cases=120)
DOCS = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "data-set-metrics.md"


@pytest.mark.parametrize("setting", settings(), ids=lambda one: f"{one.title} {one.n_annotators} {one.prevalence}")
def test_as_many_cases_are_above_the_first_limit_as_is_said(setting: Setting) -> None:
    cases = setting.drawn(20_000, (5,))
    # 0.016: over four standard errors of a share of 20 000 cases
    assert (cases.severity > setting.limits[0]).mean() == pytest.approx(setting.prevalence, abs=0.016)
    np.testing.assert_allclose(cases.shares.sum(axis=1), 1)


@pytest.mark.parametrize("setting", [BINARY, GRADES, Setting("strict", "binary", 400, 0.4, strictness=0.4)])
def test_a_large_panel_says_what_its_shares_say(setting: Setting) -> None:
    many = Setting(setting.title, setting.asked, 4000, 0.4, strictness=setting.strictness)
    cases = many.drawn(30, (6,))
    shares = counted(many.votes(cases, (6,)), len(many.conditions)) / 4000
    # 0.04: over four standard errors of a share of 4000 votes, of annotators who are as strict as they come
    np.testing.assert_allclose(shares, cases.shares, atol=0.04)


def test_honest_models_say_what_is_the_case_and_others_say_too_much_or_too_little() -> None:
    for models, bounds in ((BINARY.models, {"sharp": (-0.02, 0.02), "dull": (-0.02, 0.02)}), (DISTORTED, None)):
        cases = Setting("any", "binary", 3, 0.4, models=models).drawn(20_000, (7,))
        for name, said in cases.said.items():
            sure = said.scores[:, 1] > 0.7
            gap = float((said.scores[sure, 1] - cases.labels[sure, 1]).mean())
            low, high = bounds[name] if bounds else ((0.02, 0.5) if name == "too sure" else (-0.5, -0.02))
            assert low < gap < high


def test_truths_are_those_of_scikit_learn() -> None:
    cases = BINARY.drawn(500, (8,))
    found = truths_of(BINARY, cases)["AUROC", "model"]["sharp"]
    assert found == pytest.approx(peers.roc_auc_score(cases.labels[:, 1], cases.said["sharp"].scores[:, 1]))
    graded = GRADES.drawn(500, (8,))
    kappa = peers.cohen_kappa_score(
        graded.labels.argmax(axis=1), graded.said["dull"].scores.argmax(axis=1), weights="quadratic"
    )
    assert truths_of(GRADES, graded)[CohenKappa("quadratic").name, "model"]["dull"] == pytest.approx(kappa)


def test_a_majority_vote_and_its_bootstrap_by_hand() -> None:
    cases = BINARY.drawn(BINARY.n_cases, (9,))
    counts = counted(BINARY.votes(cases, (9,)), 2)
    rows = list(majority_estimates([AUROC()], cases, counts, seed=(9,)))
    label = (counts[:, 1] > counts[:, 0]).astype(int)
    scores = {name: said.scores[:, 1] for name, said in cases.said.items()}
    assert [row["name"] for row in rows] == ["sharp", "dull", "sharp - dull"]
    assert rows[0]["estimate"] == pytest.approx(peers.roc_auc_score(label, scores["sharp"]))
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        chosen = rng.integers(0, len(label), len(label))
        found.append(peers.roc_auc_score(label[chosen], scores["sharp"][chosen]))
    # 0.008: quantiles of 400 resamples of standard deviation 0.02 differ by more once in 1000 times
    assert np.quantile(found, [0.05, 0.95]) == pytest.approx([rows[0]["low"], rows[0]["high"]], abs=0.008)


def test_differences_stand_beside_differences_of_truths() -> None:
    truths = truths_of(BINARY, BINARY.drawn(2000, (0,)))
    rows = rows_of_study(BINARY, truths, seed=(3,), draws=40)
    of = {(row["number"], row["metric"], row["name"]): row for row in rows}
    for (number, metric, name), row in of.items():
        if name == "sharp - dull":
            one, other = (of[number, metric, model] for model in ("sharp", "dull"))
            assert row["everywhere"] == pytest.approx(one["everywhere"] - other["everywhere"])
            assert row["estimate"] == pytest.approx(one["estimate"] - other["estimate"], abs=1e-9)
    assert of["agreement", "AUROC", "sharp"]["everywhere"] < of["panel", "AUROC", "sharp"]["everywhere"]


@pytest.fixture(scope="module")
def proof() -> DataSetProof:
    return data_set_proof(Effort(studies=2, draws=30, seed=2), chosen=[BINARY, GRADES])


def test_tables_have_a_row_for_every_metric_of_every_setting(proof: DataSetProof, tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    text = page.write_tables(proof, target).read_text(encoding="utf-8")
    assert "\nold\n" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert text.count("| plain, 120 cases, 3 annotators, prevalence 40 % |") == 6
    assert text.count("| quadratic kappa |") == 2
    assert MAJORITY in text


def test_a_page_without_a_place_is_refused(proof: DataSetProof, tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    target.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="no place for the tables"):
        page.write_tables(proof, target)


def test_the_documentation_shows_all_settings_on_enough_studies() -> None:
    text = DOCS.read_text(encoding="utf-8")
    studies = int(text.split(f"{page.BEGIN}\n")[1].split()[0])
    assert studies >= 60
    for setting in settings():
        place = f"{setting.title}, {setting.n_cases} cases, {setting.n_annotators} annotators"
        where = f"| {place}, prevalence {100 * setting.prevalence:.0f} % |"
        assert text.count(where) == (2 if setting.asked == "grades" else 6)
