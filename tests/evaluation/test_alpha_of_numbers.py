"""Alpha of grades and ratings equals published values, and every pair of values written out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_agreement as naive
from dissensus import Annotations, DissensusError, Ratings
from dissensus.evaluation import krippendorff
from dissensus.evaluation.krippendorff import krippendorff_alpha

LEVELS = ("first-choice", "ordinal", "interval", "ratio")
NUMBERS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 1e-6, 4e5])
CASES = st.lists(st.lists(NUMBERS, max_size=4), min_size=1, max_size=5)
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def observed(*observers: str) -> list[list[float]]:
    """Read one row of digits per observer; a full stop is missing."""
    return [[float(digit) for digit in column if digit != "."] for column in zip(*observers, strict=True)]


def simulated(n_cases: int, seed: int) -> Ratings:
    rng = np.random.default_rng(seed)
    scores = rng.gamma(4.0, size=(n_cases, 1)) * np.exp(0.4 * rng.normal(size=(n_cases, 3)))
    return Ratings.from_scores(np.round(scores, 1).tolist())


@pytest.mark.parametrize(
    ("distance", "published"), [("first-choice", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_four_observers_have_the_published_alphas(distance: Any, published: float) -> None:
    """Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C and sections D to F."""
    alpha = krippendorff_alpha(Ratings.from_scores(observed(*OBSERVERS)), distance=distance, draws=2)
    assert alpha.value == pytest.approx(published, abs=0.0005)
    assert (alpha.n_cases, alpha.n_rankings) == (11, 40)


@pytest.mark.parametrize("distance", LEVELS[:3])
def test_grades_count_as_their_numbers(distance: Any) -> None:
    digits = [[[[str(int(digit))]] for digit in case] for case in observed(*OBSERVERS)]
    grades = Annotations.from_rankings(digits, ["1", "2", "3", "4", "5"])
    as_numbers = krippendorff_alpha(Ratings.from_scores(observed(*OBSERVERS)), distance=distance, draws=20)
    as_grades = krippendorff_alpha(grades, distance=distance, draws=20)
    np.testing.assert_allclose([as_grades.value, as_grades.low], [as_numbers.value, as_numbers.low], atol=1e-12)


@pytest.mark.parametrize("distance", LEVELS)
@given(cases=CASES)
def test_it_equals_all_pairs_of_values_written_out(distance: Any, cases: list[list[float]]) -> None:
    found = krippendorff_alpha(Ratings.from_scores(cases), distance=distance, draws=1).value
    np.testing.assert_allclose(found, naive.alpha_of_numbers(cases, distance), atol=1e-9)


@pytest.mark.parametrize("distance", LEVELS)
@given(cases=CASES, times=st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_resampled_ratings_are_the_ratings_with_their_cases_repeated(
    distance: Any, cases: list[list[float]], times: list[int]
) -> None:
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    kept = krippendorff.paired(Ratings.from_scores(cases))
    counts = np.array([[count for case, count in zip(cases, times, strict=False) if len(case) > 1]], dtype=float)
    value = krippendorff.alphas_of(kept, krippendorff.alpha_distances(kept, distance), counts)[0]
    np.testing.assert_allclose(value, naive.alpha_of_numbers(repeated, distance), atol=1e-9)


@pytest.mark.parametrize("distance", LEVELS)
def test_shared_ratings_count_for_each_who_gave_them(distance: Any) -> None:
    counts, levels = [[3, 1, 0], [0, 2, 2], [1, 0, 4]], [0.0, 1.0, 4.0]
    listed = [[level for level, n in zip(levels, row, strict=True) for _ in range(n)] for row in counts]
    shared = krippendorff_alpha(Ratings.from_counts(counts, levels=levels), distance=distance, draws=5)
    assert shared.n_rankings == 13
    assert shared.value == pytest.approx(naive.alpha_of_numbers(listed, distance))


@pytest.mark.parametrize(
    ("distance", "change"),
    [
        ("first-choice", lambda x: -(x**3)),
        ("ordinal", np.exp),
        ("ordinal", np.negative),
        ("interval", lambda x: 1000 - 3 * x),
        ("ratio", lambda x: 1000 * x),
    ],
)
def test_what_a_level_does_not_know_changes_nothing(distance: Any, change: Any) -> None:
    said = simulated(40, 0)
    other = replace(said, scores=np.asarray(change(said.scores)))
    ours, theirs = (krippendorff_alpha(one, distance=distance, draws=20) for one in (said, other))
    np.testing.assert_allclose([ours.value, ours.low, ours.high], [theirs.value, theirs.low, theirs.high], atol=1e-10)


@pytest.mark.parametrize("distance", LEVELS)
def test_the_order_of_cases_changes_nothing_and_twice_the_cases_only_the_pairs_with_oneself(distance: Any) -> None:
    said = simulated(30, 1)
    backwards = said.select(list(range(30))[::-1])
    alpha = krippendorff_alpha(said, distance=distance, draws=1)
    assert krippendorff_alpha(backwards, distance=distance, draws=1).value == pytest.approx(alpha.value, abs=1e-12)
    copy = Ratings.from_scores(
        [list(case) for case in np.split(said.scores, 30)], case_names=[f"c{i}" for i in range(30)]
    )
    twice = krippendorff_alpha(Ratings.concatenate([said, copy]), distance=distance, draws=1)
    n = said.n_ratings
    ratio = (n / (n - 1)) / (2 * n / (2 * n - 1))
    assert 1 - twice.value == pytest.approx((1 - alpha.value) * ratio, abs=1e-12)


@pytest.mark.parametrize("distance", LEVELS)
def test_perfect_agreement_is_one_and_no_difference_is_undefined(distance: Any) -> None:
    agreed = Ratings.from_scores([[1, 1], [2, 2, 2], [0, 0]])
    assert krippendorff_alpha(agreed, distance=distance, draws=1).value == pytest.approx(1, abs=1e-12)
    assert np.isnan(krippendorff_alpha(Ratings.from_scores([[3, 3], [3, 3]]), distance=distance, draws=1).value)
    assert np.isnan(krippendorff_alpha(Ratings.from_scores([[0, 0], [0, 0]]), distance=distance, draws=1).value)
    assert np.isnan(krippendorff_alpha(Ratings.from_scores([[1], []]), distance=distance, draws=1).value)


def test_tied_first_grades_count_as_their_mean() -> None:
    tied = Annotations.from_rankings([[[["b", "c"]], [["b", "c"]]], [[["a"]], [["d"]]]], ["a", "b", "c", "d"])
    as_numbers = Ratings.from_scores([[1.5, 1.5], [0, 3]])
    expected = krippendorff_alpha(as_numbers, distance="interval", draws=1).value
    assert krippendorff_alpha(tied, distance="interval", draws=1).value == pytest.approx(expected)
    assert krippendorff_alpha(tied, distance="ordinal", draws=1).value == pytest.approx(expected)


def test_the_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said = simulated(40, 2)
    whole = [krippendorff_alpha(said, distance=distance, draws=30) for distance in LEVELS]  # type: ignore[arg-type]
    monkeypatch.setattr(krippendorff, "NUMBERS_AT_ONCE", 100)
    parts = [krippendorff_alpha(said, distance=distance, draws=30) for distance in LEVELS]  # type: ignore[arg-type]
    np.testing.assert_allclose([a.low for a in parts], [a.low for a in whole], rtol=1e-12)


@pytest.mark.parametrize("distance", LEVELS[1:])
def test_the_interval_covers_the_value_of_a_large_study(distance: Any) -> None:
    target = krippendorff_alpha(simulated(20_000, 0), distance=distance, draws=1).value
    found = [krippendorff_alpha(simulated(150, s), distance=distance, draws=100, seed=s) for s in range(1, 401)]
    covered = np.mean([alpha.low <= target <= alpha.high for alpha in found])
    assert 0.83 <= covered <= 0.94  # 150 cases: 88 % in the long run, within three binomial errors of 400


def test_distances_that_a_study_does_not_have_are_refused() -> None:
    said = Annotations.from_rankings([[[["a"]], [["b"]]]])
    with pytest.raises(DissensusError, match="ratios need ratings"):
        krippendorff_alpha(said, distance="ratio")
    for distance in ("overlap", "set", "masi"):
        with pytest.raises(DissensusError, match=f"{distance} needs rankings"):
            krippendorff_alpha(Ratings.from_scores([[1, 2]]), distance=distance)
    with pytest.raises(DissensusError, match="ratios need ratings of zero or more"):
        krippendorff_alpha(Ratings.from_scores([[-1, 2]]), distance="ratio")


def test_ratings_of_weight_zero_are_missing() -> None:
    frame = pl.DataFrame({"case": ["x", "x", "x", "y", "y"], "score": [1, 2, 9, 4, 4], "weight": [1, 1, 0, 1, 1]})
    with_zero = krippendorff_alpha(Ratings.from_long(frame), distance="interval", draws=1)
    assert with_zero.value == pytest.approx(naive.alpha_of_numbers([[1, 2], [4, 4]], "interval"))
