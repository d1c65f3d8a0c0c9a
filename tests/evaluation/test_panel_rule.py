"""When the panel estimate may stand in the first table, and why it is withheld otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import Evaluation, Predictions, Study, evaluate, load
from dissensus.aggregations.priors import ScoreRange
from dissensus.evaluation.first_screen import n_groups, why_panel_is_withheld

LABELS = ("a", "b", "c")
LABELS_ONLY = "all models give labels without scores"
UNFITTED = "the interval lacks the uncertainty of the fitted prior"


def evaluated(n_cases: int = 400, votes: int = 3, *, hard: Sequence[str] = (), **how: Any) -> Evaluation:
    """Evaluate two models that see plausibilities through noise, some of which give labels only."""
    rng = np.random.default_rng(7)
    theta = rng.dirichlet(np.full(3, 0.4), size=n_cases)
    said = Study.from_counts([rng.multinomial(votes, row) for row in theta], LABELS)
    scores = {
        name: theta * np.exp(noise * rng.standard_normal(theta.shape)) for name, noise in {"A": 0.3, "B": 1}.items()
    }
    scores |= {name: np.eye(3)[scores[name].argmax(axis=1)] for name in hard}
    given = {"aggregations": ["majority-vote"], "metrics": ["top-k-accuracy:1"], "draws": 50, **how}
    return evaluate(said, scores, **given)


@pytest.fixture(scope="module")
def usual() -> Evaluation:
    return evaluated(strata={"site": ["north"] * 320 + ["south"] * 80})


def test_a_usual_study_may_show_it(usual: Evaluation) -> None:
    assert usual.panel is not None
    assert why_panel_is_withheld(usual) == ()


def test_a_stratum_of_few_cases_may_not_and_only_that_one(usual: Evaluation) -> None:
    assert why_panel_is_withheld(usual, ("site", "south"))[0] == "there are 80 cases in the stratum"
    assert why_panel_is_withheld(usual, ("site", "north")) == ()


def test_in_a_stratum_the_interval_has_the_parts_of_fit_and_family() -> None:
    result = evaluated(
        150, metrics=["top-k-accuracy:1", "cohen-kappa"], strata={"site": ["north"] * 110 + ["south"] * 40}
    )
    rows = result.by_group("site").filter(estimand="panel")
    for part in ("fit_sd", "family_sd"):
        assert not rows[part].is_nan().any()
    # all cases in one stratum have the parts of all cases
    alone = evaluated(150, metrics=["top-k-accuracy:1", "cohen-kappa"], strata={"site": ["north"] * 150})
    one, all_of_them = alone.by_group("site"), alone.to_frame()
    for part in ("fit_sd", "family_sd"):
        own, other = (table.filter(estimand="panel")[part].to_numpy() for table in (one, all_of_them))
        assert own == pytest.approx(other, abs=0.004)


def test_it_is_withheld_where_the_interval_lacks_a_part(usual: Evaluation) -> None:
    lacking = usual.sums.only(lambda name: name[0] != "fit")
    assert UNFITTED in why_panel_is_withheld(replace(usual, sums=lacking))


def test_the_interval_is_that_of_the_cases_that_are_shown(usual: Evaluation) -> None:
    sure = replace(usual, level=0.999)
    table = sure.by_group("site").filter(estimand="panel", stratum="south")
    width = 100 * float((table["high"] - table["low"]).to_numpy().max())
    assert width > 15
    assert f"the interval is {width:.0f} points wide" in why_panel_is_withheld(sure, ("site", "south"))


def test_an_interval_that_is_too_wide_is_told_in_points() -> None:
    sure = evaluated(n_cases=120, level=0.9999)
    table = sure.to_frame().filter(estimand="panel")
    width = 100 * float((table["high"] - table["low"]).to_numpy().max())
    assert why_panel_is_withheld(sure) == (f"the interval is {width:.0f} points wide",)


@pytest.mark.parametrize(("hard", "reasons"), [("AB", {LABELS_ONLY}), ("A", set()), ("B", set())])
def test_labels_are_told_from_scores_also_once_they_are_loaded(hard: str, reasons: set[str], tmp_path: Path) -> None:
    found = evaluated(hard=hard)
    assert set(why_panel_is_withheld(found)) == reasons
    found.save(tmp_path / "results")
    assert why_panel_is_withheld(load(tmp_path / "results")) == why_panel_is_withheld(found)


@pytest.mark.parametrize(
    ("said", "is_label"),
    [
        (Predictions.from_scores([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), True),
        (Predictions.from_scores([[0.0, 1.0], [0.9, 0.1]], ["a", "b"]), False),
        (Predictions.from_rankings([["a"], ["b"]]), True),
        (Predictions.from_rankings([["a", "b"], ["b"]]), False),
        (Predictions.from_sets([["a"], []], ["a", "b"]), True),
    ],
)
def test_a_model_that_says_one_thing_of_every_case_gives_labels(said: Predictions, is_label: bool) -> None:
    assert ScoreRange.of(said).is_label == is_label
    parts = [ScoreRange.of(said.select([place])) for place in range(2)]
    assert (ScoreRange(None) + parts[0] + parts[1]).is_label == is_label


def test_with_many_opinions_the_majority_vote_is_simpler() -> None:
    assert why_panel_is_withheld(evaluated(votes=12)) == (
        "there are 12 opinions per case, and the majority vote is simpler",
    )
    assert why_panel_is_withheld(evaluated(votes=9)) == ()


def test_where_there_is_no_panel_estimate_its_reason_is_told(usual: Evaluation) -> None:
    few = evaluated(n_cases=60)
    assert few.prior is not None
    assert why_panel_is_withheld(few) == (few.prior.reason,)
    assert why_panel_is_withheld(evaluated(panel=False)) == ("it was not asked for",)
    assert why_panel_is_withheld(replace(usual, prior=None)) == ("there is no panel estimate",)


def test_a_model_that_has_seen_the_answers_is_named(usual: Evaluation) -> None:
    assert usual.prior is not None
    rows = ({**usual.prior.models[0], "left_out": "it repeats an annotator"}, *usual.prior.models[1:])
    seen = replace(usual, prior=replace(usual.prior, models=rows))
    assert why_panel_is_withheld(seen) == ("these annotations were seen by 'A'",)


def hospitals(cases: Sequence[int], *, linking: int = 0) -> Evaluation:
    """Let every hospital read so many cases, and one annotator of the first some cases of the second."""
    who = [[f"hospital {place}, {name}" for name in ("Ada", "Bo")] for place, n in enumerate(cases) for _ in range(n)]
    for place in range(linking):
        who[cases[0] + place] = [who[0][0], who[cases[0] + place][1]]
    said = [[[["a"]], [["b"]]] for _ in who]
    return evaluate(Study.from_rankings(said, LABELS, annotator_names=who), {}, aggregations=["majority-vote"])


def test_annotators_who_share_no_case_are_counted_as_groups() -> None:
    assert n_groups(hospitals([10, 10, 10])) == 3
    assert n_groups(hospitals([10, 10], linking=1)) == 1
    assert n_groups(hospitals([95, 5])) == 1, "nearly all cases are those of one group"
    assert n_groups(hospitals([85, 15])) == 2
    assert n_groups(evaluated(n_cases=20)) == 1, "nobody is named"


def test_abstentions_join_no_groups() -> None:
    who = [["Ada", "Bo"]] * 5 + [["Cy", "Di", "Ada"]] * 5
    said = [[[["a"]], [["b"]]]] * 5 + [[[["a"]], [["b"]], []]] * 5
    assert (
        n_groups(evaluate(Study.from_rankings(said, LABELS, annotator_names=who), {}, aggregations=["majority-vote"]))
        == 2
    )
