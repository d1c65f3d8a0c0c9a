"""Ordered probit: against weighted draws of the prior, against a slow sampler, and calibrated by simulation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import OrderedProbit, sampling_diagnostics
from dissensus.aggregations.ordered_probit import graded_record
from dissensus.agreement import annotator_gradings
from dissensus.kernels.ordered_probit import log_chance
from naive_ordered_probit import Opinion, chances, drawn_prior, perceived_chain, weighted_means

TINY: list[Opinion] = [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, 2, 1.0)]
PARTS: list[Opinion] = [(0, 0, 0, 1.0), (0, None, 1, 2.5), (1, 0, 2, 0.5), (1, None, 2, 1.0), (1, 1, 1, 1.0)]


def study_of(opinions: list[Opinion], n_cases: int, n_grades: int) -> ds.Study:
    of_case = [[one for one in opinions if one[0] == case] for case in range(n_cases)]
    return ds.Study.from_rankings(
        [[[[grade]] for _, _, grade, _ in case] for case in of_case],
        n_grades,
        annotator_names=[[None if who is None else f"A{who}" for _, who, _, _ in case] for case in of_case],
        weights=[[power for *_, power in case] for case in of_case],
        question="grades",
    )


def simulated(
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
    [pytest.param(TINY, id="whole opinions", marks=pytest.mark.slow), pytest.param(PARTS, id="parts of opinions")],
)
def test_plausibilities_and_shifts_are_those_of_weighted_draws_of_the_prior(opinions: list[Opinion]) -> None:
    """Two cases, two annotators, three grades; errors are of the order of 0.003 on either side."""
    expected, shifts, worth = weighted_means(opinions, 2, 2, 3, n=2_000_000, seed=1)
    assert worth > 20_000
    said = study_of(opinions, 2, 3)
    drawn = OrderedProbit().sample(said, draws=20_000, seed=2)
    np.testing.assert_allclose(drawn.mean(), expected, atol=0.015)
    found = annotator_gradings(said, draws=20_000, seed=3)["shift"].to_numpy()
    np.testing.assert_allclose(found, shifts, atol=0.04)


@pytest.mark.slow
def test_a_sampler_of_what_annotators_perceive_finds_the_same() -> None:
    shifts, spreads, limits = np.array([-0.5, 0.1, 0.6]), np.array([0.4, 0.5, 0.8]), np.array([-0.4, 0.7])
    opinions, _ = simulated(shifts, spreads, limits, 12, seed=4)
    slow = perceived_chain(opinions, 12, 3, 3, sweeps=6000, seed=5)
    record, _ = graded_record(study_of(opinions, 12, 3).opinions, draws=4000, chains=4, warmup=300, seed=6)
    for name in ("shifts", "limits", "spreads"):
        drawn, kept = getattr(record, name), slow[name]
        batches = kept[: len(kept) // 20 * 20].reshape(20, -1, kept.shape[1]).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / np.sqrt(20)
        # eight numbers, each within five errors of the slow sampler: a false alarm in a million
        assert (np.abs(drawn.mean(axis=0) - kept.mean(axis=0)) < 5 * error + 0.02).all(), name


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
        said, seed = study_of(opinions, n_cases, n_grades).opinions, int(rng.integers(2**31))
        record, _ = graded_record(said, draws=60 * thin, chains=1, warmup=150, seed=seed)
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
    keys = study_of(opinions, n_cases, n_grades).opinions.keys
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
    opinions, severities = simulated(shifts, spreads, np.array([-1.0, -0.2, 0.6, 1.4]), 250, seed=8)
    said = study_of(opinions, 250, 5)
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
    opinions, _ = simulated(np.array([-0.5, 0.0, 0.5]), np.array([0.4, 0.5, 0.6]), np.array([-0.5, 0.5]), 80, seed=2)
    found = sampling_diagnostics(OrderedProbit().sample(study_of(opinions, 80, 3), draws=1000))
    assert found.rhat.max() < 1.05
    assert found.ess.min() > 200


# Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["conditions", "binary"])
def test_a_study_that_did_not_ask_for_grades_is_refused_with_advice(question: str) -> None:
    said = ds.Study.from_counts([[1, 2]], question=question)  # type: ignore[arg-type]
    with pytest.raises(ds.DissensusError, match="--question grades"):
        OrderedProbit().sample(said)
    with pytest.raises(ds.DissensusError, match="--question grades"):
        annotator_gradings(said)
    with pytest.raises(ds.DissensusError, match="no names"):
        annotator_gradings(said.asked("grades"))
