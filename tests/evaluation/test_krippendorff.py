"""Krippendorff's alpha equals published values, and every pair written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_agreement as naive
from dissensus import Annotations, DissensusError, read_annotations
from dissensus.evaluation import krippendorff
from dissensus.evaluation.krippendorff import Alpha, krippendorff_alpha
from shared_data import SHARED, needs_shared
from strategies import rankings

DISTANCES = ("first-choice", "overlap", "set", "masi")
"""Distances between rankings; those between numbers are in test_alpha_of_numbers.py."""


def labels(*observers: str) -> Annotations:
    """Build single labels from one row of digits per observer; a full stop is missing."""
    cases = [[[[digit]] for digit in column if digit != "."] for column in zip(*observers, strict=True)]
    return Annotations.from_rankings(cases)


def disputed(n_cases: int, seed: int = 0, **more: Any) -> Annotations:
    """Simulate three annotators who give the true one of four labels 70 % of the time, or guess."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=(n_cases, 1))
    said = np.where(rng.random((n_cases, 3)) < 0.7, truth, rng.integers(4, size=(n_cases, 3)))
    return Annotations.from_rankings([[[[int(code)]] for code in case] for case in said], 4, **more)


@st.composite
def studies(draw: st.DrawFn) -> Annotations:
    """Draw a study with ties, abstentions and rankings without weight."""
    n_conditions = draw(st.integers(2, 5))
    nested = draw(st.lists(st.lists(rankings(n_conditions), max_size=4), min_size=1, max_size=4))
    weights = [[draw(st.sampled_from([0.0, 1.0, 1.0, 2.0])) for _ in case] for case in nested]
    return Annotations.from_rankings(nested, n_conditions, weights=weights)


def naive_distance(distance: str, n_conditions: int) -> naive.Distance:
    known = {
        "first-choice": naive.first_choice_distance,
        "set": naive.jaccard_distance,
        "masi": naive.masi_distance,
        "overlap": naive.overlap_distance(2, n_conditions),
    }
    return known[distance]


def numbers(alpha: Alpha) -> list[float]:
    return [alpha.value, alpha.low, alpha.high, alpha.observed, alpha.expected]


def test_four_observers_have_the_published_nominal_alpha() -> None:
    """Krippendorff, "Computing Krippendorff's alpha-reliability", example C: twelve units, missing data, 0.743."""
    said = labels("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    alpha = krippendorff_alpha(said)
    assert alpha.value == pytest.approx(0.743, abs=0.0005)
    assert (alpha.n_cases, alpha.n_rankings) == (11, 40)


def test_three_observers_have_the_published_nominal_alpha() -> None:
    """The example that encyclopaedias compute: fifteen units, three observers, missing data, 0.691."""
    said = labels(".....34121133.3", "1.213343.......", "..21344.21133.4")
    assert krippendorff_alpha(said).value == pytest.approx(0.691, abs=0.0005)


def test_all_distances_agree_on_single_labels_at_depth_one() -> None:
    said = disputed(30)
    values = [krippendorff_alpha(said, distance=distance, depth=1, draws=1).value for distance in DISTANCES]  # type: ignore[arg-type]
    np.testing.assert_allclose(values, values[0], atol=1e-12)


@pytest.mark.parametrize("distance", DISTANCES)
@given(said=studies())
def test_it_equals_all_pairs_written_out(distance: Any, said: Annotations) -> None:
    expected = naive.alpha(naive.blocks_by_case(said), naive_distance(distance, said.n_conditions))
    found = krippendorff_alpha(said, distance=distance, depth=2, draws=1)
    np.testing.assert_allclose(found.value, expected, atol=1e-10)


@pytest.mark.parametrize("distance", DISTANCES)
@given(said=studies(), times=st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_a_resampled_study_is_the_study_with_its_cases_repeated(
    distance: Any, said: Annotations, times: list[int]
) -> None:
    cases = naive.blocks_by_case(said)
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    expected = naive.alpha(repeated, naive_distance(distance, said.n_conditions))
    paired = [i for i, case in enumerate(cases) if len(case) > 1]
    kept = krippendorff.paired(said.counted)
    likeness = krippendorff.alpha_distances(kept, distance, 2)
    counts = np.array([[times[i] for i in paired]], dtype=np.float64)
    value = krippendorff._alpha(*krippendorff._disagreement(kept, likeness, counts))[0]
    np.testing.assert_allclose(value, expected, atol=1e-10)


def test_perfect_agreement_is_one_and_systematic_disagreement_is_negative() -> None:
    agreed = Annotations.from_rankings([[[["a"]], [["a"]]], [[["b", "c"]], [["c", "b"]]]])
    for distance in DISTANCES:
        assert krippendorff_alpha(agreed, distance=distance).value == pytest.approx(1, abs=1e-12)  # type: ignore[arg-type]
    opposed = Annotations.from_rankings([[[["a"]], [["b"]]]] * 2)
    assert krippendorff_alpha(opposed).value < 0


def test_random_labels_have_an_alpha_of_about_zero() -> None:
    codes = np.random.default_rng(1).integers(3, size=(2000, 4))
    said = Annotations.from_rankings([[[[int(code)]] for code in case] for case in codes], 3)
    alpha = krippendorff_alpha(said, draws=200)
    assert abs(alpha.value) < 0.02
    assert alpha.low < 0 < alpha.high


@pytest.mark.parametrize("distance", DISTANCES)
def test_without_any_disagreement_it_is_undefined(distance: Any) -> None:
    same = Annotations.from_rankings([[[["a"], ["b"]]] * 2] * 3, ["a", "b", "c"])
    alpha = krippendorff_alpha(same, distance=distance, draws=10)
    assert np.isnan([alpha.value, alpha.low, alpha.high]).all()
    assert "undefined, as no two rankings differ" in repr(alpha)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("nested", [[], [[]], [[[[0]]], [[[1]]]], [[[[0]], []]]])
def test_without_two_rankings_on_any_case_it_is_undefined(distance: Any, nested: Any) -> None:
    alpha = krippendorff_alpha(Annotations.from_rankings(nested, 3), distance=distance, draws=10)
    assert np.isnan(numbers(alpha)).all()
    assert (alpha.n_cases, alpha.n_rankings) == (0, 0)
    assert "undefined, as no case has two rankings" in repr(alpha)


def test_one_case_has_no_interval() -> None:
    alpha = krippendorff_alpha(Annotations.from_rankings([[[["a"]], [["b"]], [["a"]]]]))
    assert np.isfinite(alpha.value)
    assert np.isnan([alpha.low, alpha.high]).all()


def test_one_group_has_no_interval_and_groups_are_resampled_whole() -> None:
    one = krippendorff_alpha(disputed(20, groups=["patient"] * 20))
    assert np.isnan([one.low, one.high]).all()
    doubled = disputed(40)
    twice = Annotations.concatenate([doubled, _renamed(doubled)])
    alone = krippendorff_alpha(twice)
    together = krippendorff_alpha(_grouped(twice, [str(i % 40) for i in range(80)]))
    assert together.value == alone.value
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def _renamed(said: Annotations) -> Annotations:
    names = [f"copy of {name}" for name in said.case_names]
    return Annotations.from_rankings(said.to_rankings(), said.conditions, case_names=names)


def _grouped(said: Annotations, groups: list[str]) -> Annotations:
    return Annotations.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names, groups=groups)


def test_weights_of_cases_count_and_their_scale_does_not() -> None:
    said = disputed(10, case_weights=[1.0] * 9 + [0.0])
    fewer = disputed(10).select(range(9))
    np.testing.assert_allclose(numbers(krippendorff_alpha(said)), numbers(krippendorff_alpha(fewer)))
    heavier, lighter = (disputed(10, case_weights=[scale] * 9 + [3 * scale]) for scale in (1.0, 1e-6))
    np.testing.assert_allclose(numbers(krippendorff_alpha(heavier)), numbers(krippendorff_alpha(lighter)))


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_seed_decides_and_the_portions_do_not(distance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = disputed(40)
    first = krippendorff_alpha(said, distance=distance, draws=50)
    assert first == krippendorff_alpha(said, distance=distance, draws=50)
    assert first.low != krippendorff_alpha(said, distance=distance, draws=50, seed=1).low
    monkeypatch.setattr(krippendorff, "NUMBERS_AT_ONCE", 200)
    monkeypatch.setattr(krippendorff, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(krippendorff, "DENSE", 1.0)
    portions = krippendorff_alpha(said, distance=distance, draws=50)
    np.testing.assert_allclose(numbers(portions), numbers(first), rtol=1e-12)


def test_the_interval_covers_the_value_of_a_large_study() -> None:
    target = krippendorff_alpha(disputed(20_000), draws=1).value
    found = [krippendorff_alpha(disputed(150, seed), draws=200, seed=seed) for seed in range(1, 201)]
    covered = np.mean([alpha.low <= target <= alpha.high for alpha in found])
    assert 0.84 <= covered <= 0.96  # 90 % of 200, within three binomial errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": "euclid"}, "distance is not understood"),
        ({"draws": 0}, "draws must be a whole number"),
        ({"seed": -1}, "seed"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"level": "0.9"}, "level must be between 0 and 1"),
        ({"distance": "overlap", "depth": 5}, "depth is larger than the number of conditions"),
        ({"distance": "overlap", "depth": 0}, "depth must be a whole number"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        krippendorff_alpha(disputed(3), **options)


@needs_shared
def test_alpha_of_the_published_differential_diagnoses() -> None:
    folder = SHARED / "dermatology_ddx"
    conditions = (folder / "dermatology_conditions.txt").read_text(encoding="utf-8").splitlines()
    said = read_annotations(folder / "dermatology_selectors.json", conditions=conditions)
    alpha = krippendorff_alpha(said)
    assert (alpha.n_cases, alpha.n_rankings) == (1922, 9577)
    assert alpha.value == pytest.approx(0.499, abs=0.001)
    assert 0.47 < alpha.low < alpha.value < alpha.high < 0.53
