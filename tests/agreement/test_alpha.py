"""Krippendorff's alpha equals published values, and every pair written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_agreement as naive
from dissensus import DissensusError, Study
from dissensus.agreement import coefficients
from dissensus.agreement.coefficients import Alpha, Table, disagreement_of, krippendorff_alpha
from shared_data import dermatology, needs_shared
from strategies import rankings

DISTANCES: tuple[Any, ...] = ("first-choice", "overlap", "set", "masi")
LEVELS: tuple[Any, ...] = ("first-choice", "ordinal", "interval", "ratio")
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
TIMES = st.lists(st.integers(0, 3), min_size=5, max_size=5)
NUMBERS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 1e-6, 4e5])
EMPTY: list[Any] = [[], [[]], [[[[0]]], [[[1]]]], [[[[0]], []]]]
CASES = st.lists(st.lists(NUMBERS, max_size=4), min_size=1, max_size=5)


def digits(*observers: str) -> list[list[str]]:
    """Read one row of digits per observer; a full stop is missing."""
    return [[digit for digit in column if digit != "."] for column in zip(*observers, strict=True)]


def labels(*observers: str) -> Study:
    return Study.from_rankings([[[[digit]] for digit in case] for case in digits(*observers)], list("12345"))


def rated(*observers: str) -> Study:
    return Study.from_scores([[float(digit) for digit in case] for case in digits(*observers)])


def disputed(n_cases: int, seed: int = 0, **more: Any) -> Study:
    """Simulate three annotators who give the true one of four labels 70 % of the time, or guess."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=(n_cases, 1))
    said = np.where(rng.random((n_cases, 3)) < 0.7, truth, rng.integers(4, size=(n_cases, 3)))
    return Study.from_rankings([[[[int(code)]] for code in case] for case in said], 4, **more)


def simulated(n_cases: int, seed: int) -> Study:
    rng = np.random.default_rng(seed)
    scores = rng.gamma(4.0, size=(n_cases, 1)) * np.exp(0.4 * rng.normal(size=(n_cases, 3)))
    return Study.from_scores(np.round(scores, 1).tolist())


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Draw a study with ties, abstentions and rankings without weight."""
    n_conditions = draw(st.integers(2, 5))
    nested = draw(st.lists(st.lists(rankings(n_conditions), max_size=4), min_size=1, max_size=4))
    weights = [[draw(st.sampled_from([0.0, 1.0, 1.0, 2.0])) for _ in case] for case in nested]
    return Study.from_rankings(nested, n_conditions, weights=weights)


def numbers(alpha: Alpha) -> list[float]:
    return [alpha.value, alpha.low, alpha.high, alpha.observed, alpha.expected]


def value(study: Any, distance: Any = "first-choice", depth: int = 2) -> float:
    return krippendorff_alpha(study, distance=distance, depth=depth, draws=1).value


# Published, and written out ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "published"), [("first-choice", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_four_observers_have_the_published_alphas_as_grades_and_as_numbers(distance: Any, published: float) -> None:
    """Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C and sections D to F."""
    alpha = krippendorff_alpha(rated(*OBSERVERS), distance=distance, draws=20)
    assert alpha.value == pytest.approx(published, abs=0.0005)
    assert (alpha.n_cases, alpha.n_rankings) == (11, 40)
    if distance != "ratio":
        graded = krippendorff_alpha(labels(*OBSERVERS), distance=distance, draws=20)
        np.testing.assert_allclose([graded.value, graded.low], [alpha.value, alpha.low], atol=1e-12)


@given(said=studies(), times=TIMES)
def test_it_equals_all_pairs_of_rankings_written_out_also_with_repeated_cases(said: Study, times: list[int]) -> None:
    cases, counts = naive.blocks_by_case(said), np.array([times[: said.n_cases]], dtype=float)
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    apart = (naive.first_choice_distance, naive.overlap_distance(2, said.n_conditions))
    for distance, of in zip(DISTANCES, (*apart, naive.jaccard_distance, naive.masi_distance), strict=True):
        np.testing.assert_allclose(value(said, distance), naive.alpha(cases, of), atol=1e-10)
        found = disagreement_of(Table.of(said.counted), distance, 2).values(counts)[0]
        np.testing.assert_allclose(found, naive.alpha(repeated, of), atol=1e-10)


@given(cases=CASES, times=TIMES)
def test_it_equals_all_pairs_of_numbers_written_out_also_with_repeated_cases(
    cases: list[list[float]], times: list[int]
) -> None:
    said, counts = Study.from_scores(cases), np.array([times[: len(cases)]], dtype=float)
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    for distance in LEVELS:
        np.testing.assert_allclose(value(said, distance), naive.alpha_of_numbers(cases, distance), atol=1e-9)
        found = disagreement_of(Table.of(said), distance).values(counts)[0]
        np.testing.assert_allclose(found, naive.alpha_of_numbers(repeated, distance), atol=1e-9)


@pytest.mark.parametrize("distance", LEVELS)
def test_shared_ratings_count_for_each_who_gave_them(distance: Any) -> None:
    counts, levels = [[3, 1, 0], [0, 2, 2], [1, 0, 4]], [0.0, 1.0, 4.0]
    listed = [[level for level, n in zip(levels, row, strict=True) for _ in range(n)] for row in counts]
    shared = krippendorff_alpha(Study.from_counts(counts, levels=levels), distance=distance, draws=5)
    assert shared.n_rankings == 13
    assert shared.value == pytest.approx(naive.alpha_of_numbers(listed, distance))


def test_ratings_of_weight_zero_are_missing() -> None:
    frame = pl.DataFrame({"case": ["x", "x", "x", "y", "y"], "score": [1, 2, 9, 4, 4], "weight": [1, 1, 0, 1, 1]})
    expected = naive.alpha_of_numbers([[1, 2], [4, 4]], "interval")
    assert value(Study.from_long(frame), "interval") == pytest.approx(expected)


# Laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "change"),
    [
        ("first-choice", lambda x: -(x**3)),
        ("ordinal", np.exp),
        ("ordinal", np.negative),
        ("interval", lambda x: 1e6 - 3 * x),
        ("ratio", lambda x: 1000 * x),
    ],
)
def test_what_a_level_does_not_know_changes_nothing(distance: Any, change: Any) -> None:
    said = simulated(40, 0)
    other = Study.from_scores([change(np.asarray(case)).tolist() for case in np.split(said.scores, 40)])
    ours, theirs = (krippendorff_alpha(one, distance=distance, draws=20) for one in (said, other))
    np.testing.assert_allclose(numbers(ours)[:3], numbers(theirs)[:3], atol=1e-10)


def test_without_any_disagreement_or_any_pair_it_is_undefined() -> None:
    same = Study.from_rankings([[[["a"], ["b"]]] * 2] * 3, ["a", "b", "c"])
    for distance in DISTANCES:
        alpha = krippendorff_alpha(same, distance=distance, draws=10)
        assert np.isnan(numbers(alpha)[:3]).all()
        assert "undefined, as no two rankings differ" in repr(alpha)
        for nested in EMPTY:
            alpha = krippendorff_alpha(Study.from_rankings(nested, 3), distance=distance, draws=10)
            assert np.isnan(numbers(alpha)).all()
            assert (alpha.n_cases, alpha.n_rankings) == (0, 0)
            assert "undefined, as no case has two rankings" in repr(alpha)
    for distance in LEVELS:
        for scores in ([[3, 3], [3, 3]], [[0, 0], [0, 0]], [[1], []]):
            assert np.isnan(value(Study.from_scores(scores), distance))


# Intervals -----------------------------------------------------------------------------------------------


def test_one_case_or_one_group_has_no_interval_and_groups_are_resampled_whole() -> None:
    for said in (Study.from_rankings([[[["a"]], [["b"]], [["a"]]]]), disputed(20, groups=["patient"] * 20)):
        alpha = krippendorff_alpha(said)
        assert np.isfinite(alpha.value)
        assert np.isnan([alpha.low, alpha.high]).all()
    nested, names = disputed(40).to_rankings() * 2, [str(i) for i in range(80)]
    alone, together = (
        krippendorff_alpha(Study.from_rankings(nested, case_names=names, groups=groups))
        for groups in (None, [str(i % 40) for i in range(80)])
    )
    assert together.value == alone.value
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def test_weights_of_cases_count_and_their_scale_does_not() -> None:
    said = disputed(10, case_weights=[1.0] * 9 + [0.0])
    fewer = disputed(10).select(range(9))
    np.testing.assert_allclose(numbers(krippendorff_alpha(said)), numbers(krippendorff_alpha(fewer)))
    heavier, lighter = (disputed(10, case_weights=[scale] * 9 + [3 * scale]) for scale in (1.0, 1e-6))
    np.testing.assert_allclose(numbers(krippendorff_alpha(heavier)), numbers(krippendorff_alpha(lighter)))


def test_the_seed_decides_and_the_portions_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, Any]] = [(disputed(40), distance) for distance in DISTANCES]
    asked += [(simulated(40, 2), distance) for distance in LEVELS]

    def found(seed: int = 0) -> list[list[float]]:
        return [numbers(krippendorff_alpha(said, distance=distance, draws=50, seed=seed)) for said, distance in asked]

    first = found()
    assert first == found()
    assert all(one[1] != other[1] for one, other in zip(first, found(1), strict=True))
    monkeypatch.setattr(coefficients, "NUMBERS_AT_ONCE", 200)
    monkeypatch.setattr(coefficients, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(coefficients, "DENSE", 1.0)
    np.testing.assert_allclose(found(), first, rtol=1e-12)


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("study", "options", "message"),
    [
        (disputed(3), {"distance": "euclid"}, "distance is not understood"),
        (disputed(3), {"draws": 0}, "draws must be a whole number"),
        (disputed(3), {"seed": -1}, "seed"),
        (disputed(3), {"level": 1.0}, "level must be between 0 and 1"),
        (disputed(3), {"level": "0.9"}, "level must be between 0 and 1"),
        (disputed(3), {"distance": "overlap", "depth": 5}, "depth is larger than the number of conditions"),
        (disputed(3), {"distance": "overlap", "depth": 0}, "depth must be a whole number"),
        (disputed(3), {"distance": "ratio"}, "ratios need ratings"),
        *((simulated(3, 0), {"distance": one}, f"{one} needs rankings") for one in DISTANCES[1:]),
        (Study.from_scores([[-1, 2]]), {"distance": "ratio"}, "ratios need ratings of zero or more"),
    ],
)
def test_what_is_not_defined_is_refused(study: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        krippendorff_alpha(study, **options)


@needs_shared
def test_alpha_of_the_published_differential_diagnoses() -> None:
    said = dermatology()
    alpha = krippendorff_alpha(said)
    assert (alpha.n_cases, alpha.n_rankings) == (1922, 9577)
    assert alpha.value == pytest.approx(0.499, abs=0.001)
    assert 0.47 < alpha.low < alpha.value < alpha.high < 0.53
