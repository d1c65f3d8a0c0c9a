"""Two small studies of each kind: all that is planned is tried, with the seeds that were said, and told on a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dissensus import Predictions, Study
from paper.trials import __main__ as command
from paper.trials import plan
from paper.trials.attacks import ATTACKS, attacked
from paper.trials.crowds import Crowd
from paper.trials.families import USED
from paper.trials.family_scores import FamilyScores
from paper.trials.panel_page import OPENING, TOLD, page_text
from paper.trials.plan import Effort, Proof, crowd_arms, family_data_sets, simulated_arms, tried

QUICK = Effort(studies=2, draws=40, seed=3, most_cases=60)


def crowd(n_conditions: int) -> Crowd:
    rng = np.random.default_rng(n_conditions)
    theta = rng.dirichlet(np.ones(n_conditions), size=90)
    names, labels = [str(case) for case in range(90)], [f"label {code}" for code in range(n_conditions)]
    said = Study.from_counts(np.stack([rng.multinomial(50, row) for row in theta]), labels, case_names=names)
    scores = {name: theta ** rng.uniform(0.5, 2.0, size=(90, 1)) for name in ("one", "other")}
    models = {name: Predictions.from_scores(one, labels, case_names=names, name=name) for name, one in scores.items()}
    return Crowd.of(said, models)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    arms = [*crowd_arms(crowd(3), crowd(10), QUICK), *simulated_arms(QUICK)]
    return tried([arms[1], arms[-3], arms[-1]], QUICK)


def test_all_that_is_planned_has_a_place_on_the_page() -> None:
    arms = [*crowd_arms(crowd(3), crowd(10), QUICK), *simulated_arms(QUICK)]
    assert {arm.experiment for arm in arms} == set(TOLD)
    assert [arm.opinions for arm in arms[:6]] == [f"{votes} votes" for votes in (2, 3, 5, 10, 3, 5)]
    assert [arm.opinions for arm in arms[6:]] == ["60 conditions", "419 conditions", "60 conditions"]


def test_studies_have_the_planned_votes_and_differ_by_number() -> None:
    arm = crowd_arms(crowd(3), crowd(10), QUICK)[2]
    assert (arm.trial(0).annotations.votes_per_case == 5).all()
    assert arm.trial(0).annotations.n_cases == 60
    assert arm.trial(0).annotations == arm.trial(0).annotations
    assert arm.trial(0).annotations != arm.trial(1).annotations


def test_every_study_gives_rows_with_a_known_truth(rows: pl.DataFrame) -> None:
    counts = rows.filter(kind="model").group_by("experiment", "study").len()
    assert len(counts) == 6
    known = rows.filter(pl.col("estimand") != "agreement")
    assert not known.select(pl.col("here", "everywhere").is_nan().any()).row(0)[0]
    assert known["low"].le(known["high"]).all()


def test_the_same_seed_gives_the_same_rows(rows: pl.DataFrame) -> None:
    again = tried([crowd_arms(crowd(3), crowd(10), QUICK)[1]], QUICK)
    assert rows.filter(experiment=plan.CHAOS_TITLE).equals(again)


def test_the_watch_is_told_of_every_study() -> None:
    heard: list[tuple[str, int, int]] = []
    tried(crowd_arms(crowd(3), crowd(10), QUICK)[:1], QUICK, watch=lambda *words: heard.append(words))
    assert heard == [("ChaosNLI, 2 votes", 0, 2), ("ChaosNLI, 2 votes", 1, 2)]


def test_the_page_has_a_table_of_models_and_of_differences_for_every_kind_of_study(rows: pl.DataFrame) -> None:
    safety = pl.DataFrame({"question": ["Q", "Q"], "study": [0, 1], "answer": [0.25, 0.75]})
    families = FamilyScores("A", ("x",), np.array([[-0.5]]), (USED.name,))
    simulated = attacked(ATTACKS[:1], studies=2, draws=20)
    page = page_text(Proof(rows, safety, (families,), (simulated, rows), QUICK, 1.0))
    assert "## Attacks" in page
    assert "## Families that were tried" in page
    assert "| Q | 0.500 | 0.250 | 0.750 |" in page
    assert page.startswith(OPENING)
    assert page.count("| of a model |") == page.count("| of two models |") == 3
    assert "### ChaosNLI: 3 votes" in page
    assert "| majority vote |" in page
    assert "2 studies of each kind, 40 draws of every case, seed 3" in page


def test_families_are_compared_on_all_that_is_planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(plan, "crowds", lambda _: (crowd(3), crowd(10)))
    found = family_data_sets(tmp_path, Effort(studies=40, most_cases=60))
    assert [one.title for one in found][:2] == ["ChaosNLI, 2 votes", "ChaosNLI, 3 votes"]
    assert len({one.title for one in found}) == 9
    assert {one.studies for one in found} == {plan.FAMILY_STUDIES}
    assert found[0].cases_of(0) == found[1].cases_of(3), "the same sentences, however many votes"
    assert found[-1].cases_of(0) != found[-1].cases_of(1), "simulated cases of two studies are not the same"
    said, models = found[0].study(1)
    assert (said.votes_per_case == 2).all()
    assert set(models) == {"one", "other"}


def test_the_section_on_families_is_written_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n", encoding="utf-8")
    scores = (FamilyScores("A", ("x", "y"), np.array([[-0.5, -0.25]]), (USED.name,)),)
    asked: list[Effort] = []

    def tried_families(data: str, effort: Effort, **_: object) -> tuple[FamilyScores, ...]:
        assert data == str(tmp_path)
        asked.append(effort)
        return scores

    monkeypatch.setattr(command, "tried_families", tried_families)
    assert command.main([str(tmp_path), str(page), "--only", "families", "--studies", "7"]) == 0
    assert [effort.studies for effort in asked] == [7]
    assert page.read_text(encoding="utf-8").startswith("# Page\n\n<!-- trials: families -->\n## Families")
    assert str(page) in capsys.readouterr().out
