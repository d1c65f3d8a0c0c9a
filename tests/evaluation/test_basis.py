"""What intervals are found from adds up, in any order and any parts, to the same bits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dissensus.evaluation import basis as module
from dissensus.evaluation.basis import Basis, CaseSums, GroupSums, Measured, case_sums, merged
from dissensus.evaluation.tally import CaseWeights


def measured(seed: int, n_cases: int) -> tuple[Measured, CaseWeights]:
    rng = np.random.default_rng(seed)
    means = rng.choice([0.0, 0.3, 1.0, 2.5], size=(3, 2, n_cases))
    shares = rng.choice([0.0, 0.5, 1.0], size=(3, 2, n_cases), p=[0.1, 0.2, 0.7])
    weights = rng.choice([0.5, 1.0, 3.0], size=n_cases)
    names = tuple(f"group {group}" for group in rng.integers(0, max(2, n_cases // 4), size=n_cases))
    return Measured(np.where(shares > 0, means, np.nan), shares), CaseWeights(5, weights, names, is_grouped=True)


def part(one: tuple[Measured, CaseWeights], cases: np.ndarray) -> tuple[Measured, CaseWeights]:
    values, weights = one
    names = tuple(weights.names[i] for i in cases)
    own = CaseWeights(weights.seed, weights.weights[cases], names, weights.is_grouped)
    return Measured(values.means[..., cases], values.shares[..., cases]), own


def summed(one: tuple[Measured, CaseWeights]) -> tuple[CaseSums, GroupSums]:
    (sums,), (groups,) = case_sums(*one, n_resamples=50, pairs=True)
    assert groups is not None
    return sums, groups


def basis_of(sums: CaseSums, groups: GroupSums) -> Basis:
    return sums.basis(groups.squares(sums.masses))


def plain_designs(values: np.ndarray, masses: np.ndarray, names: tuple[str, ...]) -> float:
    """Compute a design effect by the definition, case by case."""
    total = masses.sum()
    centre = float((masses * values).sum() / total) if total else 0.0
    groups = {name: [i for i, own in enumerate(names) if own == name] for name in names}
    if len(groups) in (1, len(names)):
        return 1.0
    apart = sum((m * (v - centre)) ** 2 for m, v in zip(masses, values, strict=True))
    together = sum(sum(masses[i] * (values[i] - centre) for i in cases) ** 2 for cases in groups.values())
    most = max(sum(masses[cases].sum() ** 2 for cases in groups.values()) / (masses**2).sum(), 1.0)
    ratio = together * len(groups) / (len(groups) - 1) / apart if apart > 1e-12 else most
    return float(np.clip(ratio, 1.0, most))


@pytest.mark.parametrize("seed", range(6))
def test_parts_in_any_order_give_the_bits_of_the_whole(seed: int) -> None:
    one = measured(seed, 60)
    order = np.random.default_rng(seed).permutation(60)
    parts = [summed(part(one, cases)) for cases in np.array_split(order, 1 + seed)]
    whole = summed(one)
    together = merged(sums for sums, _ in parts), merged(groups for _, groups in parts)
    assert basis_of(*together) == basis_of(*whole)
    squares = [whole[1].part(number, 3).squares(whole[0].masses) for number in range(3)]
    assert whole[0].basis(merged(squares)) == basis_of(*whole)


@pytest.mark.parametrize("seed", range(4))
def test_designs_of_models_and_of_pairs_follow_their_definition(seed: int) -> None:
    values, weights = one = measured(seed, 40)
    found = basis_of(*summed(one))
    masses = values.shares * weights.weights
    known = np.where(masses > 0, values.means, 0.0)
    for m, k in np.ndindex(3, 2):
        assert found.designs[m, k] == pytest.approx(plain_designs(known[m, k], masses[m, k], weights.names))
    for (a, b), k in ((pair, k) for pair in combinations(range(3), 2) for k in range(2)):
        least = np.minimum(masses[a, k], masses[b, k])
        expected = plain_designs(known[a, k] - known[b, k], least, weights.names)
        assert found.pair_designs[a, b, k] == found.pair_designs[b, a, k] == pytest.approx(expected)
    assert np.array_equal(found.limits[0], np.nanmin(values.means, axis=-1))
    assert np.array_equal(found.limits[1], np.nanmax(values.means, axis=-1))
    assert (found.n_cases, found.n_groups) == (40, len(set(weights.names)))


def test_labels_are_summed_on_their_own() -> None:
    one = measured(1, 50)
    labels = np.random.default_rng(2).integers(0, 3, size=50)
    found, groups = case_sums(*one, n_resamples=50, labels=labels, n_labels=4)
    for label in range(3):
        (alone,), (own,) = case_sums(*part(one, np.flatnonzero(labels == label)), n_resamples=50)
        assert found[label] == alone
        assert groups[label] == own
    assert found[3].n_cases == 0
    assert np.isnan(found[3].limits).all()


def test_groups_of_more_cases_than_low_parts_have_room_for_are_summed_exactly() -> None:
    n_cases = 40_000
    values = Measured(np.full((1, 1, n_cases), 1 - 2.0**-53), np.ones((1, 1, n_cases)))
    weights = CaseWeights(0, np.ones(n_cases), ("one",) * (n_cases - 1) + ("two",), is_grouped=True)
    _, (groups,) = case_sums(values, weights, n_resamples=1)
    assert groups is not None
    assert sorted(groups.sums.rounded()[:, 1, 0].tolist()) == [1.0, n_cases - 1.0]
    assert groups.sums.rounded()[:, 0, 0].max() == pytest.approx((n_cases - 1) * (1 - 2.0**-53), rel=1e-15)


def test_cases_that_stand_alone_have_no_groups() -> None:
    values, weights = measured(0, 20)
    alone = CaseWeights(5, weights.weights, tuple(map(str, range(20))))
    (sums,), (groups,) = case_sums(values, alone, n_resamples=10, pairs=True)
    assert groups is None
    found = sums.basis(None)
    assert found.n_groups is None
    assert (found.designs == 1).all()
    assert (found.pair_designs == 1).all()


def test_many_parts_are_added_in_pairs() -> None:
    depth: list[int] = []

    class Counted:
        def __init__(self, size: int, level: int) -> None:
            self.size, self.level = size, level

        def __add__(self, other: Counted) -> Counted:
            depth.append(max(self.level, other.level) + 1)
            return Counted(self.size + other.size, depth[-1])

    assert module.merged(Counted(1, 0) for _ in range(1000)).size == 1000
    assert max(depth) <= 2 * 10  # a tree of about ten levels, not a chain of a thousand
