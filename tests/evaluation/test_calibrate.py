"""Held-out annotators choose among aggregations."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import DawidSkene, Dirichlet, InverseRank, PlackettLuce, ProbabilisticInverseRank
from dissensus.core.ragged import clustered
from dissensus.evaluation.calibration import candidates, restored_calibration
from dissensus.evaluation.folds import HeldOut
from watched import Watch

NAMES = ["a", "b", "c", "d"]


def simulated(n_cases: int = 400, n_votes: int = 4, seed: int = 0) -> ds.Study:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.5] * 4, size=n_cases)
    return ds.Study.from_counts([rng.multinomial(n_votes, row) for row in theta], NAMES)


@pytest.fixture(scope="module")
def found() -> ds.Calibration:
    return ds.calibrate(simulated(), [*(Dirichlet(r, alpha=0.5) for r in (0.2, 1.0, 10.0)), InverseRank()], draws=300)


def test_annotators_who_follow_the_model_ask_for_reliability_one(found: ds.Calibration) -> None:
    assert found.best == Dirichlet(1.0, alpha=0.5)
    assert found.plateau == (found.best,)
    scores = found.scores["score"].to_list()
    assert scores[1] > max(scores[0], scores[2])
    rows = found.scores.rows(named=True)
    assert rows[2]["predicted"] > rows[2]["confirmed"] + 0.05  # too sure
    assert abs(rows[1]["predicted"] - rows[1]["confirmed"]) < 0.05
    assert rows[1]["calibration_error"] < rows[2]["calibration_error"]


def test_what_gives_something_no_chance_is_called_impossible_and_never_chosen(found: ds.Calibration) -> None:
    pairs = HeldOut.of(simulated(), max_pairs=5000, seed=0)
    alone = int((pairs.study.votes[pairs.opinions] == 1).sum())  # nobody else said so
    row = found.row_of(InverseRank())
    assert row["score"] == -math.inf
    assert row["impossible"] == alone
    assert not row["on_plateau"]
    told = f"Inverse-rank gives no chance to what annotators said in {alone:,} of {pairs.n_pairs:,} pairs."
    assert told in " ".join(repr(found).split())
    nothing = ds.calibrate(simulated(20), [InverseRank()])
    assert "gives no chance" in repr(nothing)
    assert nothing.plateau == ()
    with pytest.raises(ds.DissensusError, match="no aggregation gives everything"):
        _ = nothing.best


def test_differences_are_paired_and_clustered(found: ds.Calibration) -> None:
    pairs = HeldOut.of(simulated(), max_pairs=5000, seed=0)
    best, other = (pairs.log_scores(Dirichlet(r, alpha=0.5), draws=300, seed=0, threads=1)[0] for r in (1.0, 10.0))
    exact = clustered(other - best, pairs.weights, pairs.clusters)
    row = found.scores.row(2, named=True)
    assert (row["difference"], row["difference_se"]) == pytest.approx((exact.mean, exact.error))
    assert row["difference_se"] < row["se"]


def test_held_out_annotators_choose_the_reference_run(found: ds.Calibration, tmp_path: Path) -> None:
    said, models, how = simulated(30), {"A": np.eye(4)[np.arange(30) % 4]}, {"draws": 20, "reference": found}
    plain = ds.evaluate(said, models, aggregations=["dirichlet:1,3:alpha=2"], draws=20)
    assert plain.calibration is None
    result = ds.evaluate(said, models, aggregations=["dirichlet:1,3:alpha=2"], **how)  # type: ignore[arg-type]
    assert result.runs[result.reference].spec == found.best
    assert [run.spec for run in result.runs[1:]] == [run.spec for run in plain.runs]
    result.save(tmp_path / "results")
    again = ds.load(tmp_path / "results")
    assert again == result
    assert again.reference == result.reference
    assert repr(again.calibration) == repr(found)
    given = ds.evaluate(said, models, aggregations=[found.best], **how)  # type: ignore[arg-type]
    assert len(given.runs) == 1
    assert "confirmation" not in plain.plot.names()
    assert len(result.plot.chart("confirmation").panels[0].marks) == 3
    other = ds.evaluate(simulated(5, seed=9).select([0]), {"A": np.eye(4)[:1]}, aggregations=[found.best], draws=20)
    with pytest.raises(ds.DissensusError, match="different calibration"):
        given.merge(other)


def test_evaluate_calibrates_by_itself_if_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = (PlackettLuce(2.0), PlackettLuce(20.0))
    monkeypatch.setattr("dissensus.evaluation.calibration.candidates", lambda *_, **__: usual)
    study = ds.simulate.study(n_cases=20, n_conditions=6, seed=1)
    result = ds.evaluate(study.annotations, {}, draws=20, aggregations=["plackett-luce:1"], reference="calibrated")
    assert result.calibration is not None
    assert result.calibration.specs == usual
    assert result.runs[result.reference].spec == result.calibration.best == usual[0]
    with pytest.raises(ds.DissensusError, match="reference"):
        ds.evaluate(study.annotations, {}, reference="best")  # type: ignore[arg-type]


def test_a_calibration_comes_back_from_disk(found: ds.Calibration, tmp_path: Path) -> None:
    found.save(tmp_path / "trust")
    again = ds.Calibration.load(tmp_path / "trust")
    assert again.specs == found.specs
    assert again.scores.equals(found.scores, null_equal=True)
    assert again.panel_split.equals(found.panel_split)
    assert repr(again) == repr(found)
    assert pickle.loads(pickle.dumps(found)).record() == found.record()
    with pytest.raises(ds.DissensusError):
        found.save(tmp_path / "trust")
    found.save(tmp_path / "trust", overwrite=True)
    (tmp_path / "trust" / "mine.txt").write_text("kept")
    with pytest.raises(ds.DissensusError, match="mine"):
        found.save(tmp_path / "trust", overwrite=True)


TWO = ds.Study.from_counts([[1, 1]], ["a", "b"])
"""Two annotators who disagree on one case."""


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        ("not a calibration", lambda: restored_calibration({"format": "dissensus results", "version": 1})),
        (
            r"two annotators(.*\n)+.*report the range",
            lambda: ds.calibrate(ds.Study.from_rankings([[[["a"]]], [[["b"], ["a"]]]], NAMES, annotator_names=["A"])),
        ),
        (
            "two annotators",
            lambda: ds.calibrate(ds.Study.from_rankings([[[["a"]], [["b"]]]], NAMES, annotator_names=["A", "A"])),
        ),
        ("two annotators", lambda: ds.calibrate(ds.Study.from_scores([[1], [3]]))),
        (
            "cannot be judged",
            lambda: ds.calibrate(TWO, [ds.Plausibilities.from_draws([[[0.5, 0.5]]], conditions=["a", "b"])]),  # type: ignore[list-item]
        ),
        ("cannot be judged", lambda: ds.calibrate(TWO, ["normal-inverse-gamma"])),
        ("needs models", lambda: ds.calibrate(TWO, [PlackettLuce(prior="informed")])),
        ("nothing to judge", lambda: ds.calibrate(TWO, [])),
    ],
)
def test_what_cannot_be_held_out_is_refused(message: str, ask: Callable[[], object]) -> None:
    with pytest.raises(ds.DissensusError, match=message):
        ask()


def test_finer_steps_find_what_the_coarse_ones_missed() -> None:
    said, specs = simulated(300), [Dirichlet(4.0, alpha=2.0), Dirichlet(0.5, alpha=2.0)]
    coarse, fine = (ds.calibrate(said, specs, draws=200, refine=refine) for refine in (False, True))
    assert fine.specs[:2] == coarse.specs
    assert len(fine.specs) > 8
    assert fine.row_of(fine.best)["score"] > coarse.row_of(coarse.best)["score"]
    ratio = fine.best.alpha / fine.best.reliability  # type: ignore[attr-defined]
    assert 0.25 < ratio < 1.0  # the two are confounded: the posterior depends little on more than their ratio


def test_progress_counts_every_pair_and_panel_and_threads_change_no_bit() -> None:
    said, watch = ds.simulate.study(n_cases=25, n_conditions=8, seed=2).annotations, Watch()
    how: dict[str, Any] = {"draws": 60, "max_pairs": 20}
    one = ds.calibrate(said, ["plackett-luce:1.5,2"], threads=1, advance=watch, **how)
    assert watch.announced == {"holding annotators out": watch.done}
    assert watch.done > 2 * 20
    assert json.dumps(one.record()) == json.dumps(
        ds.calibrate(said, ["plackett-luce:1.5,2"], threads=3, **how).record()
    )


def test_a_prior_that_models_inform_is_judged_without_those_who_are_held_out() -> None:
    study = ds.simulate.study(n_cases=200, n_conditions=20, seed=4)
    models = {"Clover": study.predictions["Clover"]}
    specs = [PlackettLuce(), PlackettLuce(prior="informed")]
    result = ds.calibrate(study.annotations, specs, models, draws=100)
    assert result.best == PlackettLuce()
    assert result.plateau == (PlackettLuce(),)
    assert result.labels == ("plackett-luce 1", "panel 1")
    adjusted, panel = result.scores.rows(named=True)
    assert panel["score"] > adjusted["score"]
    assert panel["difference"] > 0
    rows = {row["estimand"]: row for row in result.models.rows(named=True)}
    assert abs(rows["panel"]["gap"]) < abs(rows["adjusted"]["gap"]) / 2
    assert rows["panel"]["observed"] == rows["adjusted"]["observed"]
    assert "A prior that the models inform (panel 1) raises the score" in " ".join(repr(result).split())


def test_the_usual_candidates_suit_the_kind_of_opinions() -> None:
    labels, rankings = candidates(simulated(5)), candidates(ds.simulate.study(n_cases=5).annotations)
    assert any(isinstance(spec, Dirichlet) for spec in labels)
    assert not any(isinstance(spec, ProbabilisticInverseRank) for spec in labels)
    assert not any(isinstance(spec, DawidSkene) for spec in (*labels, *rankings))
    named = ds.Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"])
    assert {spec.target for spec in candidates(named) if isinstance(spec, DawidSkene)} == {"truth", "votes"}
    assert any(isinstance(spec, ProbabilisticInverseRank) for spec in rankings)
    for specs in (labels, rankings):
        assert len(set(specs)) == len(specs)
        assert PlackettLuce() in specs
