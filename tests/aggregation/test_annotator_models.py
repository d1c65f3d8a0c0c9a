"""Dawid-Skene and ordered probit: against other routes, slow samplers and published labels, and calibrated."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import DawidSkene, MajorityVote, OrderedProbit, annotator_models, sampling_diagnostics
from dissensus.aggregations.annotator_models import graded_record
from dissensus.aggregations.base import restored_aggregation
from dissensus.agreement import annotator_confusion, annotator_gradings, annotator_quality
from dissensus.kernels.ordered_probit import log_chance
from naive_dawid_skene import Vote, exact_truths, grid_of_two, log_row, maximised, naive_chain
from naive_ordered_probit import Opinion, chances, drawn_prior, weighted_means
from refusals import refused
from shared_data import SHARED, needs_shared

WHOLE: list[Vote] = [(0, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, 1), (1, 1, 0, 1), (2, 0, 1, 1), (2, 1, 1, 1)]
PARTS: list[Vote] = [
    *((0, 0, 0, 1.0), (0, 0, 1, 1.0), (0, 1, 0, 0.5), (1, 0, 1, 2.5), (1, 1, 0, 1.0)),
    *((1, None, 0, 0.7), (2, 0, 1, 0.3), (2, 1, 1, 1.0), (2, None, 0, 1.0)),
]
THREE: list[Vote] = [
    (case, who, (case + (who == 2 and case % 4 == 1)) % 3, 1.0) for case in range(9) for who in range(3)
]
THREE += [(case, 3, (case + (case % 3 == 1)) % 3, 1.0) for case in range(0, 9, 2)]


def study_of(votes: Sequence[Vote], n_cases: int, n_conditions: int) -> ds.Study:
    of_case = [[vote for vote in votes if vote[0] == case] for case in range(n_cases)]
    return ds.Study.from_rankings(
        [[[[label]] for _, _, label, _ in case] for case in of_case],
        n_conditions,
        annotator_names=[[None if who is None else f"A{who}" for _, who, _, _ in case] for case in of_case],
        weights=[[float(weight) for *_, weight in case] for case in of_case],
    )


def simulated(
    accuracies: Sequence[float], n_cases: int, n_conditions: int, seed: int, *, share: float = 1.0
) -> tuple[ds.Study, np.ndarray]:
    """Annotators name the truth as often as they are accurate, otherwise any other condition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_conditions, size=n_cases)
    rankings, names = [], []
    for true in truth:
        reads = np.flatnonzero(rng.random(len(accuracies)) < share)
        right = rng.random(len(reads)) < np.array(accuracies)[reads]
        wrong = (true + rng.integers(1, n_conditions, size=len(reads))) % n_conditions
        rankings.append([[[int(label)]] for label in np.where(right, true, wrong)])
        names.append([f"A{who}" for who in reads])
    return ds.Study.from_rankings(rankings, n_conditions, annotator_names=names), truth


# Against other routes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", [WHOLE, PARTS], ids=["whole votes", "parts of votes"])
@pytest.mark.parametrize("known", [{}, {1: 0}], ids=["nothing known", "one truth known"])
def test_plausibilities_of_the_truth_are_those_of_sums_over_all_truths(
    votes: list[Vote], known: dict[int, int]
) -> None:
    gold = {str(case): str(true) for case, true in known.items()}
    drawn = DawidSkene(gold=gold).sample(study_of(votes, 3, 2), draws=60_000, seed=3)
    # sd of a draw up to 0.4, about 10 draws per independent one: errors of 0.005, so this is 3 or 4 of them
    np.testing.assert_allclose(drawn.mean(), exact_truths(votes, 3, known), atol=0.018)


@pytest.fixture(scope="module")
def slow() -> dict[str, np.ndarray]:
    return naive_chain(THREE, 9, 3, sweeps=3000, seed=1, power=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "power"), [("truth", 1.0), ("truth", 0.3), ("votes", 1.0)])
def test_a_slow_sampler_by_another_route_finds_the_same_means(
    slow: dict[str, np.ndarray], target: str, power: float
) -> None:
    drawn = DawidSkene(power, target).sample(study_of(THREE, 9, 3), draws=20_000, seed=5)  # type: ignore[arg-type]
    name = "votes" if target == "votes" else "truths" if power == 1.0 else "tempered"
    # 3000 sweeps of the slow one are worth some 300 draws of sd 0.2: errors of 0.012 in 27 numbers
    np.testing.assert_allclose(drawn.mean(), slow[name], atol=0.045)


def test_accuracies_are_those_of_who_was_right_where_the_truth_is_known() -> None:
    said, truth = simulated([0.9, 0.5, 0.7], 60, 3, 8)
    gold = {name: str(t) for name, t in zip(said.case_names, truth, strict=True)}
    table = annotator_quality(said, gold=gold, draws=8000)
    labels = said.codes.reshape(60, 3)
    right = (labels == truth[:, None]).sum(axis=0)
    for row, hits in zip(table.rows(named=True), right, strict=True):
        exact = stats.beta(hits + 0.5, 60 - hits + 0.5)
        assert row["accuracy"] == pytest.approx(exact.mean(), abs=0.01)
        assert (row["low"], row["high"]) == pytest.approx(exact.interval(0.95), abs=0.02)


def test_rows_of_annotators_are_those_of_integrals_where_votes_are_parts() -> None:
    votes: list[Vote] = [(0, who, who % 2, 0.5) for who in range(8)]
    table = annotator_confusion(study_of(votes, 1, 2), gold={"0": "0"}, draws=40_000)
    shapes, log_prior = grid_of_two(0)
    counts = [np.where(np.arange(2) == label, weight, 0.0) for _, _, label, weight in votes]
    terms = log_prior + log_row(shapes, counts, np.zeros(2))
    weights = np.exp(terms - terms.max()) / np.exp(terms - terms.max()).sum()
    of_first = table.filter(pl.col("truth") == "0", pl.col("said") == "0")
    assert of_first.height == 8
    for row, own in zip(of_first.sort("annotator").to_dicts(), counts, strict=True):
        exact = float((weights * (shapes + own)[..., 0] / (shapes.sum(axis=-1) + own.sum())).sum())
        assert row["probability"] == pytest.approx(exact, abs=0.004)  # sd of a draw 0.2: errors of 0.001 to 0.002


def test_conditions_that_nobody_named_may_be_left_together_or_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    said = study_of(THREE, 9, 5)
    apart = DawidSkene().sample(said, draws=20_000)
    monkeypatch.setattr(annotator_models, "FEW_CONDITIONS", 2)
    together = DawidSkene().sample(said, draws=20_000, seed=1)
    assert together.support_offsets[-1] < apart.support_offsets[-1] == 45
    rest = np.array([draws[:, -1].mean() for batch in together for draws in map(batch.of_case, range(batch.n_cases))])
    for case in range(9):
        codes = together.support[together.support_offsets[case] : together.support_offsets[case + 1]]
        np.testing.assert_allclose(together.mean()[case, codes], apart.mean()[case, codes], atol=0.03)
        assert rest[case] == pytest.approx(np.delete(apart.mean()[case], codes).sum(), abs=0.03)


# What annotators are like -------------------------------------------------------------------------------------


def test_accuracies_are_found_and_their_intervals_hold() -> None:
    held, errors = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = rng.dirichlet([4.0, 1.0, 1.0], size=(6, 3))  # of annotators and truths: what is right comes first
        truth = rng.integers(3, size=120)
        rankings = [[[[int((t + rng.choice(3, p=rows[who, t])) % 3)]] for who in range(6)] for t in truth]
        said = ds.Study.from_rankings(rankings, 3, annotator_names=[f"A{who}" for who in range(6)])
        table = annotator_quality(said, draws=400, seed=seed)
        true = rows[:, :, 0].mean(axis=1)
        held += int(((table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy())).sum())
        errors.append(table["accuracy"].to_numpy() - true)
        assert table["cases"].to_list() == [120] * 6
    # 72 intervals of 90 %: 56 or fewer have a chance of 1 in 500 if they were independent
    assert held >= 57
    assert np.abs(errors).mean() < 0.06


def test_confusions_are_probabilities_and_name_the_mistake() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=120)
    swap = np.array([0, 2, 1])
    rankings = [[[[t]], [[t]], [[t]], [[swap[t]]]] for t in truth.tolist()]
    said = ds.Study.from_rankings(rankings, ["a", "b", "c"], annotator_names=["A", "B", "C", "swaps"])
    assert annotator_quality(study_of(PARTS, 3, 2), draws=50)["annotator"].to_list() == ["A0", "A1"]
    for function in (annotator_quality, annotator_confusion):
        refused("no names", function, ds.Study.from_counts([[2, 1]], ["a", "b"]))
    table = annotator_confusion(said, draws=300)
    sums = table.group_by("annotator", "truth").agg(pl.col("probability").sum())["probability"]
    np.testing.assert_allclose(sums, 1.0, atol=1e-6)
    own = {(row["truth"], row["said"]): row["probability"] for row in table.filter(annotator="swaps").to_dicts()}
    assert own["b", "c"] > 0.8
    assert own["c", "b"] > 0.8
    assert own["a", "a"] > 0.8


def test_findings_are_judged_one_by_one_and_not_pooled() -> None:
    rng = np.random.default_rng(4)
    present = rng.random((150, 2)) < 0.5
    skills = np.array([[0.95, 0.6], [0.85, 0.85], [0.8, 0.8], [0.6, 0.95]])
    right = rng.random((150, 4, 2)) < skills
    answers = np.where(right, present[:, None], ~present[:, None]).astype(int)
    answers[:, 3, 0] = -1  # who has not assessed a finding has no row of it
    said = ds.Study.from_matrix(answers, ["AF", "ST"], annotator_names=list("ABCD"))
    table = annotator_quality(said, draws=400)
    assert table.columns == ["finding", "annotator", "cases", "accuracy", "low", "high"]
    assert [" ".join(row) for row in table.select("finding", "annotator").rows()] == [
        *("AF A", "AF B", "AF C", "ST A", "ST B", "ST C", "ST D")
    ]
    true = np.array([0.95, 0.85, 0.8, 0.6, 0.85, 0.8, 0.95])
    assert np.abs(table["accuracy"].to_numpy() - true).max() < 0.1
    assert (table["accuracy"][0] > table["accuracy"][2], table["accuracy"][3] < table["accuracy"][6]) == (True, True)
    alone = said.of_finding("ST")
    assert table.filter(finding="ST").drop("finding").equals(annotator_quality(alone, draws=400))
    gold = {f"{said.case_names[case]} / ST": "present" for case in np.flatnonzero(present[:, 1])}
    known = annotator_quality(said, gold=gold, draws=400)
    assert known.filter(finding="AF").equals(table.filter(finding="AF"))
    assert known.filter(finding="ST").drop("finding").equals(annotator_quality(alone, gold=gold, draws=400))


@pytest.mark.parametrize(
    ("n_conditions", "skills", "n_cases", "share"),
    [(2, np.linspace(0.95, 0.7, 5), 120, 1.0), (5, np.linspace(0.95, 0.7, 30), 120, 1.0), (2, [0.9] * 30, 40, 0.3)],
    ids=["few annotators", "many annotators", "annotators who are alike"],
)
def test_chains_mix_at_the_defaults(n_conditions: int, skills: Sequence[float], n_cases: int, share: float) -> None:
    said, _ = simulated(skills, n_cases, n_conditions, 3, share=share)
    found = sampling_diagnostics(DawidSkene().sample(said, draws=1000))
    assert not found.has_not_converged.any()
    assert found.ess.min() > 60
    assert np.median(found.ess) > 150


def test_no_condition_collects_what_weak_annotators_disagree_on() -> None:
    said, truths = simulated([0.5] * 5, 200, 10, 1)
    drawn = DawidSkene().sample(said, draws=400)
    assert not sampling_diagnostics(drawn).has_not_converged.any()
    majority = (MajorityVote().sample(said).mean().argmax(axis=1) == truths).mean()
    assert (drawn.mean().argmax(axis=1) == truths).mean() > majority - 0.05


# Gold labels, ties, weights -----------------------------------------------------------------------------------


def test_gold_labels_are_certain_even_where_nobody_mentions_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotator_models, "FEW_CONDITIONS", 0)
    said = study_of(THREE, 9, 4)
    drawn = DawidSkene(gold={"0": "3", "2": "1"}).sample(said, draws=100).dense()
    assert (drawn[0, :, 3] == 1).all()
    assert (drawn[2, :, 1] == 1).all()


def test_gold_names_conditions_of_the_study_and_some_of_its_cases() -> None:
    aggregation = DawidSkene(gold={"y": "b", "x": "a"})
    assert hash(aggregation) == hash(DawidSkene(gold=(("x", "a"), ("y", "b"))))
    assert restored_aggregation(aggregation.record()) == aggregation
    assert "gold" not in DawidSkene.usage()
    assert "2 cases" in aggregation.methods
    said = study_of(WHOLE, 3, 2)
    refused("does not have: 'eczema'", DawidSkene(gold={"0": "eczema"}).sample, said)
    with pytest.warns(ds.DissensusWarning, match="none of the cases"):
        DawidSkene(gold={"elsewhere": "0"}).sample(said, draws=4)


def test_a_tied_first_block_is_half_a_vote_for_each_and_later_blocks_are_none() -> None:
    names, conditions = ["A", "B"], ["a", "b"]
    tied = ds.Study.from_rankings([[[["a", "b"]], [["a"], ["b"]]]], conditions, annotator_names=names)
    halves = ds.Study.from_rankings(
        [[[["a"]], [["b"]], [["a"]]]], conditions, annotator_names=["A", "A", "B"], weights=[0.5, 0.5, 1.0]
    )
    one, other = (DawidSkene().sample(said, draws=50).dense() for said in (tied, halves))
    np.testing.assert_array_equal(one, other)


def test_reliability_is_the_power_of_what_was_said_about_a_case() -> None:
    said = study_of(THREE, 9, 3)
    drawn = np.array([DawidSkene(power).sample(said, draws=40).dense() for power in (1, 2, 3)])
    logs = np.log(np.maximum(drawn, 1e-300))[..., :2][:, (drawn > 1e-200).all(axis=(0, 3))]
    odds = logs[..., 0] - logs[..., 1]
    np.testing.assert_allclose(odds[2] - odds[1], odds[1] - odds[0], atol=1e-6)
    assert np.abs(odds[1] - odds[0]).max() > 0.5


def test_votes_tend_to_the_shares_of_the_case_where_there_are_many() -> None:
    said = ds.Study.from_counts([[700, 200, 100], [5, 5, 990]], ["a", "b", "c"])
    drawn = DawidSkene(target="votes").sample(said, draws=400).mean()
    np.testing.assert_allclose(drawn, [[0.7, 0.2, 0.1], [0.005, 0.005, 0.99]], atol=0.02)


# Limits -------------------------------------------------------------------------------------------------------


def test_confusions_weights_and_draws_that_are_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy = ds.Study.from_rankings([[[[0]]]], 2, annotator_names=["A"], weights=[1e9])
    refused("count too often", DawidSkene().sample, heavy)
    said = study_of(THREE, 9, 3)
    with monkeypatch.context() as patch:
        patch.setattr(annotator_models, "MOST_CELLS", 20)
        caught = refused("do not fit into memory", DawidSkene().sample, said)
        assert "45 for 4 named annotators and 3 conditions" in caught.got
    monkeypatch.setattr(annotator_models, "MOST_VALUES", 1000)
    caught = refused("kept in memory", DawidSkene().sample, said, draws=100)
    assert caught.expected.startswith("at most 27 draws")


# Published labels ---------------------------------------------------------------------------------------------


def crowd(name: str) -> tuple[ds.Study, dict[str, str]]:
    folder = SHARED / "crowd" / name
    table, truth = (pl.read_csv(folder / f"{part}.csv", infer_schema=False) for part in ("answer", "truth"))
    said = ds.Study.from_long(table, list("0123"), case="question", annotator="worker", condition="answer")
    return said, dict(truth.iter_rows())


def anesthesia() -> ds.Study:
    table = pl.read_csv(SHARED / "anesthesia" / "anesthesia.csv", infer_schema=False).with_row_index("reading")
    return ds.Study.from_long(
        table, list("1234"), case="item", annotator="rater", condition="rating", annotation="reading"
    )


@needs_shared
@pytest.mark.parametrize(("name", "least"), [("dog", 0.825), ("face", 0.645)])
def test_labels_of_crowds_are_better_than_those_of_the_majority(name: str, least: float) -> None:
    said, truth = crowd(name)
    drawn = DawidSkene().sample(said, draws=400)
    codes = np.array([int(truth[case]) if case in truth else -1 for case in drawn.case_names])
    voted = MajorityVote().sample(said).mean()
    best = (voted == voted.max(axis=1, keepdims=True)) / (voted == voted.max(axis=1, keepdims=True)).sum(1)[:, None]
    majority = best[np.arange(len(codes)), codes][codes >= 0].mean()
    learned = (drawn.mean().argmax(axis=1) == codes)[codes >= 0].mean()
    assert learned > max(majority, least)  # measured: 0.836 against 0.822, and 0.658 against 0.637


@needs_shared
def test_anesthetists_are_graded_as_published() -> None:
    said = anesthesia()
    readings = zip(said.panel.case_of_opinion.tolist(), said.annotators.tolist(), said.codes.tolist(), strict=True)
    truths, frequencies = maximised([(*reading, 1.0) for reading in readings], 45, 4)
    np.testing.assert_allclose(frequencies, [0.40, 0.42, 0.11, 0.07], atol=0.006)  # as published
    drawn = DawidSkene().sample(said, draws=1000)
    same = drawn.mean().argmax(axis=1) == truths.argmax(axis=1)
    assert same.sum() >= 42  # of 45; maximum likelihood calls three patients grade 4, of whom all say so on one


TINY: list[Opinion] = [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, 2, 1.0)]
GRADED_PARTS: list[Opinion] = [(0, 0, 0, 1.0), (0, None, 1, 2.5), (1, 0, 2, 0.5), (1, None, 2, 1.0), (1, 1, 1, 1.0)]


def graded(opinions: list[Opinion], n_cases: int, n_grades: int) -> ds.Study:
    return study_of(opinions, n_cases, n_grades).asked("grades")


def graded_answers(
    shifts: np.ndarray, spreads: np.ndarray, limits: np.ndarray, n_cases: int, seed: int
) -> tuple[list[Opinion], np.ndarray]:
    rng = np.random.default_rng(seed)
    severities = rng.normal(size=n_cases)
    seen = severities[:, None] + shifts + spreads * rng.normal(size=(n_cases, len(shifts)))
    grades = (seen[:, :, None] > limits).sum(axis=2)
    return [(i, j, int(grades[i, j]), 1.0) for i in range(n_cases) for j in range(len(shifts))], severities


# Against other routes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opinions",
    [pytest.param(TINY, id="whole opinions", marks=pytest.mark.slow), pytest.param(GRADED_PARTS, id="parts")],
)
def test_plausibilities_and_shifts_are_those_of_weighted_draws_of_the_prior(opinions: list[Opinion]) -> None:
    """Two cases, two annotators, three grades; errors are of the order of 0.003 on either side."""
    expected, shifts, worth = weighted_means(opinions, 2, 2, 3, n=2_000_000, seed=1)
    assert worth > 20_000
    said = graded(opinions, 2, 3)
    drawn = OrderedProbit().sample(said, draws=20_000, seed=2)
    np.testing.assert_allclose(drawn.mean(), expected, atol=0.015)
    found = annotator_gradings(said, draws=20_000, seed=3)["shift"].to_numpy()
    np.testing.assert_allclose(found, shifts, atol=0.04)


def test_probabilities_of_intervals_are_those_of_scipy_even_far_away() -> None:
    ends = np.array([-np.inf, -45.0, -8.0, -1.0, -1e-8, 0.3, 0.30000001, 9.0, 40.0, 41.0, np.inf])
    for low, high in pairwise(ends):
        below, above = sorted([(low, high), (-high, -low)])[0]
        expected = stats.norm.logcdf(above) + np.log1p(-np.exp(stats.norm.logcdf(below) - stats.norm.logcdf(above)))
        assert log_chance(low, high) == pytest.approx(expected, rel=1e-3)


# Calibration --------------------------------------------------------------------------------------------------


def ranks(n_cases: int, n_people: int, n_grades: int, n_anonymous: int, *, times: int, seed: int) -> np.ndarray:
    """Draw parameters and grades from the model, and count draws of the posterior below the parameters, of 60."""
    rng, thin, found = np.random.default_rng(seed), 6, []
    for _ in range(times):
        true = {name: value[0] for name, value in drawn_prior(rng, 1, n_cases, n_people, n_grades).items()}
        middles = np.concatenate([true["shifts"], np.zeros(n_anonymous)])
        typical = np.hypot(true["d"], true["s"])
        spreads = np.concatenate([true["spreads"], np.full(n_anonymous, typical)])
        seen = true["severities"][:, None] + middles + spreads * rng.normal(size=(n_cases, len(middles)))
        grades = (seen[:, :, None] > true["limits"]).sum(axis=2)
        opinions: list[Opinion] = [
            (i, j if j < n_people else None, int(grades[i, j]), 1.0)
            for i in range(n_cases)
            for j in range(len(middles))
        ]
        said, seed = graded(opinions, n_cases, n_grades).opinions, int(rng.integers(2**31))
        record = graded_record(said, draws=60 * thin, chains=1, warmup=150, seed=seed)
        rows = slice(thin - 1, None, thin)
        pooled = [(record.pooled[rows, 0], true["d"]), (record.pooled[rows, 1], true["s"])]
        named = [
            (getattr(record, name)[rows, j], true[name][j]) for name in ("shifts", "spreads") for j in range(n_people)
        ]
        limits = [(record.limits[rows, k], true["limits"][k]) for k in (0, -1)]
        case = gradings_place(opinions, n_cases, n_grades)
        values = record.values.reshape(n_cases, 60 * thin, n_grades + 1)[case, rows, 0]
        typical_chance = chances(np.array([true["severities"][0]]), np.array([typical]), true["limits"][None])[0, 0]
        pairs = [*pooled, *named, *limits, (values, typical_chance)]
        found.append([int((drawn < truth).sum()) for drawn, truth in pairs])
    return np.array(found)


def gradings_place(opinions: list[Opinion], n_cases: int, n_grades: int) -> int:
    """Return where the chains have the first case: they go by the keys of names."""
    keys = graded(opinions, n_cases, n_grades).opinions.keys
    return int(np.argsort(np.argsort(keys, kind="stable"))[0])


@pytest.mark.slow
@pytest.mark.parametrize(("n_cases", "n_people", "n_grades", "n_anonymous"), [(6, 2, 4, 1), (8, 3, 3, 0), (8, 0, 3, 3)])
def test_the_posterior_is_calibrated_by_simulation(
    n_cases: int, n_people: int, n_grades: int, n_anonymous: int
) -> None:
    """Ranks of the truth among draws are uniform: the seed is fixed; another would raise a false alarm once in 500."""
    found = ranks(n_cases, n_people, n_grades, n_anonymous, times=150, seed=11)
    spread = (found + np.random.default_rng(0).random(found.shape)) / 61
    chance = [stats.kstest(spread[:, k], "uniform").pvalue for k in range(found.shape[1])]
    assert min(chance) > 0.002 / len(chance), chance


# What it learns -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_shifts_and_spreads_of_annotators_are_recovered() -> None:
    shifts, spreads = np.array([-0.7, -0.2, 0.0, 0.2, 0.7]), np.array([0.3, 0.4, 0.5, 0.7, 1.0])
    opinions, severities = graded_answers(shifts, spreads, np.array([-1.0, -0.2, 0.6, 1.4]), 250, seed=8)
    said = graded(opinions, 250, 5)
    table = annotator_gradings(said, level=0.99)
    assert table["annotator"].to_list() == [f"A{j}" for j in range(5)]
    for name, truth in (("shift", shifts - shifts.mean()), ("spread", spreads)):
        # shifts have the unit of severities of these cases, whose deviation is not quite 1
        low, high = (table[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
        scaled = truth / severities.std()
        assert ((low < scaled + 0.08) & (scaled - 0.08 < high)).all(), name
    assert (table["shift_low"] <= table["shift"]).all()


def test_more_reliable_opinions_leave_less_doubt_about_the_severity_of_a_case() -> None:
    said = ds.Study.from_counts([[0, 1, 2, 0], [2, 1, 0, 0], [0, 0, 1, 2]] * 5, question="grades")
    spread = [OrderedProbit(trust).sample(said, draws=2000).dense().std(axis=1).mean() for trust in (1, 10)]
    assert spread[0] > spread[1]


def test_chains_mix() -> None:
    shifts, spreads, limits = np.array([-0.5, 0.0, 0.5]), np.array([0.4, 0.5, 0.6]), np.array([-0.5, 0.5])
    opinions, _ = graded_answers(shifts, spreads, limits, 80, seed=2)
    found = sampling_diagnostics(OrderedProbit().sample(graded(opinions, 80, 3), draws=1000))
    assert found.rhat.max() < 1.05
    assert found.ess.min() > 200


# Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["conditions", "binary"])
def test_a_study_that_did_not_ask_for_grades_is_refused_with_advice(question: str) -> None:
    said = ds.Study.from_counts([[1, 2]], question=question)  # type: ignore[arg-type]
    refused("--question grades", OrderedProbit().sample, said)
    refused("--question grades", annotator_gradings, said)
    refused("no names", annotator_gradings, said.asked("grades"))
