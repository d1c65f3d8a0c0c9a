"""Held-out annotators choose among aggregations: against enumeration of all orders and panels, and quadrature."""

import json
import math
import pickle
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    DawidSkene,
    Dirichlet,
    InverseRank,
    MajorityVote,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
)
from dissensus.core.ragged import clustered
from dissensus.evaluation.calibration import (
    MOST_PER_CASE,
    HeldOut,
    PanelSplit,
    bins_of,
    calibration_error,
    candidates,
    first_choices,
    judged,
    leading_conditions,
    restored_calibration,
    shares,
    without,
)
from dissensus.kernels.predictive import Panels, winning_chances
from dissensus.plugins import Aggregation, Batch
from naive_plackett_luce import Array, Ranking, ranking_probability, rankings_of, simplex_grid
from refusals import refused
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
    refused("different calibration", given.merge, other)


def test_evaluate_calibrates_by_itself_if_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = (PlackettLuce(2.0), PlackettLuce(20.0))
    monkeypatch.setattr("dissensus.evaluation.calibration.candidates", lambda *_, **__: usual)
    study = ds.simulate.study(n_cases=20, n_conditions=6, seed=1)
    result = ds.evaluate(study.annotations, {}, draws=20, aggregations=["plackett-luce:1"], reference="calibrated")
    assert result.calibration is not None
    assert result.calibration.specs == usual
    assert result.runs[result.reference].spec == result.calibration.best == usual[0]
    refused("reference", ds.evaluate, study.annotations, {}, reference="best")


def test_a_calibration_comes_back_from_disk(found: ds.Calibration, tmp_path: Path) -> None:
    found.save(tmp_path / "trust")
    again = ds.Calibration.load(tmp_path / "trust")
    assert again.specs == found.specs
    assert again.scores.equals(found.scores, null_equal=True)
    assert again.panel_split.equals(found.panel_split)
    assert repr(again) == repr(found)
    assert pickle.loads(pickle.dumps(found)).record() == found.record()


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
    refused(message, ask)


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


THREE = ["a", "b", "c"]
HOW: dict[str, Any] = {"draws": 200, "seed": 0, "threads": 1}


def naive_predictive(
    others: Sequence[Ranking], rankings: Sequence[Ranking], alpha: float, *, reliability: float = 1, below: bool = True
) -> list[float]:
    """Integrate the probability of each ranking over the posterior of others, under a symmetric prior."""
    theta: Array = simplex_grid(3, *((0.25, 34.0) if alpha > 0.5 else (0.8, 200.0)))
    log_density = alpha * np.log(theta).sum(axis=-1)
    for other in others:
        log_density += reliability * np.log(ranking_probability(theta, other, below=below))
    density = np.exp(log_density - log_density.max())
    return [float(density @ ranking_probability(theta, one, below=below) / density.sum()) for one in rankings]


def predictive(
    spec: Aggregation, others: Sequence[Ranking], rankings: Sequence[Ranking], *, draws: int, unranked: str = "below"
) -> tuple[Array, Array]:
    """Say how likely draws from some opinions make each of several rankings, and its first block."""
    cases = [str(i) for i in range(len(rankings))]
    said = ds.Study.from_rankings([others] * len(rankings), THREE, case_names=cases, unranked=unranked)  # type: ignore[arg-type]
    left_out = ds.Study.from_rankings([[one] for one in rankings], THREE, case_names=cases, unranked=unranked)  # type: ignore[arg-type]
    parts = [judged(batch, left_out, {name: int(name) for name in cases}) for batch in spec.sample(said, draws=draws)]
    return np.concatenate([one for one, _ in parts]), np.concatenate([first for _, first in parts])


@pytest.mark.parametrize("unranked", ["below", "unobserved"])
@pytest.mark.parametrize("others", [[[[0]]], [[[0], [1]], [[1, 2]]], [[[2]], [[2], [0, 1]]]])
def test_every_ranking_of_three_conditions_is_as_likely_as_by_quadrature(others: list[Ranking], unranked: str) -> None:
    everything = rankings_of(3)
    spec = PlackettLuce(1.0, alpha=0.8, prior="symmetric")
    found, first = predictive(spec, others, everything, draws=20_000, unranked=unranked)
    exact = naive_predictive(others, everything, 0.8, below=unranked == "below")
    assert np.exp(found) == pytest.approx(exact, rel=0.05)
    if unranked == "below":
        alone = dict(zip((0, 1, 2), naive_predictive(others, [[[0]], [[1]], [[2]]], 0.8), strict=True))
        assert np.exp(first) == pytest.approx([sum(alone[k] for k in one[0]) for one in everything], rel=0.05)


def test_conditions_that_nobody_mentioned_are_integrated_over_the_split_of_the_rest() -> None:
    everything = rankings_of(3)
    found, _ = predictive(Dirichlet(1.0, alpha=0.1), [[[0]]], everything, draws=8000)
    assert np.exp(found) == pytest.approx(naive_predictive([[[0]]], everything, 0.1), rel=0.06)
    # one new condition in the last place is exact in every draw
    one, _ = predictive(Dirichlet(1.0, alpha=0.1), [[[0]]], [[[1]], [[0], [2]]], draws=1)
    drawn = Dirichlet(1.0, alpha=0.1).sample(ds.Study.from_rankings([[[[0]]]] * 2, THREE), draws=1)
    (_, rest), (known, _) = (batch.of_case(0)[0] for batch in drawn)
    assert np.exp(one) == pytest.approx([rest / 2, known / 2])
    # all complete orders together have probability one
    orders = [one for one in everything if len(one) == 3]
    found, _ = predictive(PlackettLuce(2.0, prior="observed"), [[[1], [0]]], orders, draws=30_000)
    assert np.exp(found).sum() == pytest.approx(1, abs=0.01)


def test_leaving_annotators_out_gives_the_scores_of_a_plain_loop() -> None:
    cases: list[list[Ranking]] = [[[[0]], [[0], [1]], [[1, 2]]], [[[2], [0, 1]], [[2]]], [[[1]]]]
    pairs = HeldOut.of(ds.Study.from_rankings(cases, THREE), max_pairs=100, seed=3)
    spec = PlackettLuce(2.0, alpha=0.7, prior="symmetric")
    found, _, _ = pairs.log_scores(spec, draws=20_000, seed=1, threads=2)
    exact = [
        np.log(naive_predictive([*said[:i], *said[i + 1 :]], [said[i]], 0.7, reliability=2)[0])
        for said in cases
        if len(said) > 1
        for i in range(len(said))
    ]
    assert pairs.opinions.tolist() == [0, 1, 2, 3, 4]
    assert found == pytest.approx(exact, abs=0.05)


def test_votes_are_left_out_one_at_a_time_and_count_as_so_many_annotators() -> None:
    counted = ds.Study.from_counts([[3, 1, 0], [0, 2, 0]], THREE)
    listed = ds.Study.from_rankings(counted.to_rankings(), THREE)
    exact = (3 * np.log(2.5 / 4.5) + np.log(0.5 / 4.5) + 2 * np.log(1.5 / 2.5)) / 6
    for said in (counted, listed):
        pairs = HeldOut.of(said, max_pairs=100, seed=0)
        found = pairs.log_scores(Dirichlet(1.0, alpha=0.5), draws=40_000, seed=0, threads=1)
        assert pairs.weights.sum() == 6
        means = [clustered(one, pairs.weights, pairs.clusters).mean for one in found[:2]]
        assert means == pytest.approx([exact] * 2, abs=0.01)


def study_of(n_cases: int, seed: int, *, names: bool = False) -> ds.Study:
    rng = np.random.default_rng(seed)
    cases = [
        [[[int(k)] for k in rng.permutation(3)[: rng.integers(1, 4)]] for _ in range(rng.integers(1, 9))]
        for _ in range(n_cases)
    ]
    who = [[f"A{rng.integers(4)}" for _ in case] for case in cases] if names else None
    return ds.Study.from_rankings(cases, THREE, annotator_names=who)


@pytest.mark.parametrize("named", [False, True])
def test_no_opinion_has_a_part_in_the_study_that_it_judges(named: bool) -> None:
    said = study_of(40, 0, names=named)
    pairs = HeldOut.of(said, max_pairs=10_000, seed=0)
    numbered = said.with_weights(np.arange(1.0, said.n_opinions + 1))  # so that opinions can be told apart
    for opinion, case, number in zip(pairs.opinions, pairs.cases, pairs.rounds, strict=True):
        study = without(numbered, pairs.opinions[pairs.rounds == number]).left
        left = study.weights[study.panel.case_of_opinion == case]
        own = set(numbered.weights[said.panel.case_of_opinion == case]) - set(left)
        who = said.annotators[opinion]
        same = (said.panel.case_of_opinion == case) & ((said.annotators == who) if named else False)
        assert own == {float(opinion + 1)} | set(numbered.weights[same])
        assert len(left)


def test_whole_cases_are_chosen_until_there_are_enough_pairs() -> None:
    said = study_of(60, 1)
    everything, some = (HeldOut.of(said, max_pairs=most, seed=5) for most in (10_000, 40))
    assert 30 < some.n_pairs <= 40
    for case in np.unique(some.cases):
        assert (some.cases == case).sum() == (everything.cases == case).sum() <= MOST_PER_CASE
    sizes = np.bincount(everything.cases, weights=everything.weights, minlength=60)
    assert sizes == pytest.approx(np.where(said.rankings_per_case > 1, said.rankings_per_case, 0))
    assert not np.array_equal(some.opinions, HeldOut.of(said, max_pairs=40, seed=6).opinions)


@pytest.mark.parametrize("spec", [InverseRank(), MajorityVote(), ProbabilisticInverseRank(5.0)])
def test_what_has_no_mass_has_no_chance(spec: Aggregation) -> None:
    cases: list[list[Ranking]] = [[[[0]], [[0]]], [[[0], [1]], [[1], [0]]], [[[0]], [[2]]]]
    pairs = HeldOut.of(ds.Study.from_rankings(cases, THREE), max_pairs=100, seed=0)
    found, first, _ = pairs.log_scores(spec, **HOW)
    assert np.isneginf([found[4:], first[4:]]).all()
    assert found[0] == found[1] == 0.0
    is_vote = isinstance(spec, MajorityVote)
    assert np.isneginf(found[2:4]).tolist() == [is_vote, is_vote]


def test_what_has_no_mass_does_not_come_before_what_has_none_and_shares_a_first_block_with_what_has() -> None:
    for spec, others in ((MajorityVote(), [[[0]]]), (PlackettLuceML(), [[[0], [1]]])):
        found, _ = predictive(spec, others, [[[0], [1]], [[0, 1]], [[1], [0]]], draws=1)
        assert np.isneginf(found).all()
    found, first = predictive(MajorityVote(), [[[0]], [[1]]], [[[0, 2]], [[0], [1, 2]]], draws=1)
    assert np.exp(first) == pytest.approx([0.5, 0.5])
    assert np.exp(found) == pytest.approx([0.0, 0.5])


def test_standard_errors_let_the_pairs_of_a_case_depend_on_each_other() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), rng.integers(1, 5, size=30))
    values = rng.normal(size=30)[clusters] + 0.1 * rng.normal(size=len(clusters))
    weights = rng.integers(1, 4, size=len(clusters)).astype(float)
    found = clustered(values, weights, clusters)
    mean = (weights * values).sum() / weights.sum()
    squares = sum((weights * (values - mean))[clusters == cluster].sum() ** 2 for cluster in range(30))
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx((squares * 30 / 29) ** 0.5 / sum(weights))
    assert found.error > 1.3 * clustered(values, weights, np.arange(len(values))).error
    said = ds.Study.from_rankings([[[[0]], [[1]]]] * 4, THREE, groups=["x", "y", "x", "y"])
    assert HeldOut.of(said, max_pairs=100, seed=0).clusters.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


# Panels cut in two --------------------------------------------------------------------------------------


def naive_chances(theta: np.ndarray, n_seats: int) -> np.ndarray:
    """Enumerate what a panel of single first choices may say; those who tie share the win."""
    wins = np.zeros(len(theta))
    for said in product(range(len(theta)), repeat=n_seats):
        votes = np.bincount(said, minlength=len(theta))
        winners = votes == votes.max()
        wins += np.prod(theta[list(said)]) * winners / winners.sum()
    return wins


def chances(batch: Batch, n_seats: int, size: int = 1) -> np.ndarray:
    n = batch.n_cases
    seats, wanted = np.full(n * n_seats, size), np.tile(np.arange(3), n)
    panels = Panels(n_seats * np.arange(n + 1), seats, 3 * np.arange(n + 1), wanted, np.arange(n, dtype=np.uint64))
    return winning_chances(batch.layout(), batch.values, panels).reshape(n, 3)


def test_simulated_panels_elect_whom_enumerated_panels_elect() -> None:
    theta = np.array([0.5, 0.3, 0.2])
    batch = Batch.from_dense(np.tile(theta, (1, 40_000, 1)), ["x"])
    for n_seats in (1, 2, 3, 4):
        assert chances(batch, n_seats)[0] == pytest.approx(naive_chances(theta, n_seats), abs=0.01)


@pytest.mark.parametrize("n_seats", [2, 3])
@pytest.mark.parametrize("prior", ["symmetric", "frequency"])
def test_what_nobody_mentioned_is_elected_as_often_as_if_the_rest_were_split(n_seats: int, prior: str) -> None:
    said = ds.Study.from_rankings([[[["a"]]], [[["b"]], [["b"]]]], THREE)
    spec = Dirichlet(1.0, alpha=0.6, prior="frequency") if prior == "frequency" else Dirichlet(1.0, alpha=0.6)
    batch = next(iter(spec.sample(said, draws=3000)))
    assert batch.support_of(0).tolist() == [0]
    exact = np.mean([naive_chances(theta, n_seats) for theta in batch.dense()[0]], axis=0)
    assert chances(batch, n_seats)[0] == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("named", [False, True])
def test_halves_hold_every_annotator_once_and_the_first_is_the_larger_one(named: bool) -> None:
    rng = np.random.default_rng(0)
    cases = [[[[int(rng.integers(3))]] for _ in range(rng.integers(1, 8))] for _ in range(50)]
    who = [[f"A{i}" for i in range(len(case))] for case in cases] if named else None
    said = ds.Study.from_rankings(cases, THREE, annotator_names=who)
    split = PanelSplit.of(said, max_cases=1000, seed=0)
    sizes = said.rankings_per_case
    assert split.cases.tolist() == np.flatnonzero(sizes > 1).tolist()
    case = said.panel.case_of_opinion
    first, second = (np.bincount(case, weights=half, minlength=50) for half in (split.first, split.second))
    assert first[split.cases].tolist() == ((sizes + 1) // 2)[split.cases].tolist()
    assert second[split.cases].tolist() == (sizes // 2)[split.cases].tolist()
    assert second[sizes == 1].sum() == 0


def test_somebody_with_two_opinions_is_on_one_side_and_votes_are_cut_like_annotators_who_are_listed() -> None:
    said = ds.Study.from_rankings([[[["a"]], [["b"]], [["c"]]]] * 30, THREE, annotator_names=[["A", "A", "B"]] * 30)
    split = PanelSplit.of(said, max_cases=100, seed=0)
    assert {tuple(row) for row in split.first.reshape(30, 3).tolist()} == {(1, 1, 0), (0, 0, 1)}
    split = PanelSplit.of(ds.Study.from_counts([[7, 4, 0]] * 40, THREE), max_cases=100, seed=0)
    firsts = split.first.reshape(40, 2)
    assert (firsts.sum(axis=1) == 6).all()
    assert firsts[:, 0].mean() == pytest.approx(6 * 7 / 11, abs=0.6)
    assert firsts[:, 0].std() > 0.5


def test_those_who_tie_share_the_win_and_a_tied_block_shares_its_vote() -> None:
    said = ds.Study.from_rankings([[[["a", "b"]], [["c"]], [["b"]]], [[["a"]], [["b"]]]], THREE)
    split = PanelSplit(said, np.array([0, 1]), np.zeros(5, dtype=np.int64), np.zeros(2, dtype=np.int64))
    for targets, wins in (([1, 0], [1.0, 0.5]), ([2, 2], [0.0, 0.0]), ([-1, 1], [0.0, 0.5])):
        assert split.wins(np.array(targets)).tolist() == wins
    assert shares(split.votes, np.array([1, 1])).tolist() == [0.5, 0.5]


def test_the_leader_may_be_a_condition_that_nobody_mentioned() -> None:
    others = [[[["b"]], [["b"]]]] * 30
    said = ds.Study.from_rankings([[[["a"]]], *others], THREE, case_names=[f"c{i}" for i in range(31)])
    drawn = PlackettLuce(0.05, alpha=200.0).sample(said, draws=300).select(["c0"])
    certainty, leader = leading_conditions(next(iter(drawn)))
    assert leader.tolist() == [1]
    assert certainty[0] > 0.9
    assert first_choices(ds.Predictions.from_rankings([["c", "a"], [], ["b"]], THREE)).tolist() == [2, -1, 1]


def first_choices_of(n_cases: int, n_votes: int, seed: int) -> ds.Study:
    """Draw plausibilities from a known prior, and first choices from them."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.5] * 4, size=n_cases)
    return ds.Study.from_counts([rng.multinomial(n_votes, row) for row in theta], ["a", "b", "c", "d"])


def test_certainty_that_is_stated_is_confirmed_if_the_model_is_right_and_not_if_it_trusts_too_much() -> None:
    said, rng = first_choices_of(1500, 61, 0), np.random.default_rng(3)
    few = np.concatenate(
        [rng.multivariate_hypergeometric(part, 3) for part in np.split(said.votes, said.ranking_offsets[1:-1])]
    )
    small = PanelSplit(said, np.arange(1500), few, rng.integers(2, size=1500))  # three against a panel that knows
    right, trusting = (small.expected(Dirichlet(reliability, alpha=0.5), {}, **HOW) for reliability in (1.0, 10.0))
    for row in bins_of(right, small):
        assert abs(row["stated"] - row["confirmed"]) < 3 * row["confirmed_se"] + 0.02
    assert calibration_error(bins_of(right, small)) < 0.05
    whole = bins_of(trusting, small)[-1]
    assert whole["gap"] > 5 * whole["gap_se"]
    assert whole["stated"] > whole["confirmed"] + 0.1
