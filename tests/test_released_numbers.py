"""Numbers that the tests of the authors' released code (google-deepmind/uncertain_ground_truth) expect, as our tests.

Only the numbers are theirs. Where this package gives others on purpose, a test says which, and why.
"""

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import ProbabilisticInverseRank, plackett_luce_log_likelihood
from dissensus.agreement import annotator_agreement, mean_average_overlap
from dissensus.certainty import rank_certainty, rank_shares
from dissensus.certainty.regions import PlausibilityRegions, conformities
from dissensus.core.arrays import FloatArray
from dissensus.metrics import ExpectedAccuracy, ExpectedCoverage, SetSize
from dissensus.plugins import Batch, Drawn, Metric, Predicted

Blocks = list[list[int]]


def normalised(values: object) -> FloatArray:
    """Divide by the sum of each draw: draws of this package are distributions."""
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(array / array.sum(axis=-1, keepdims=True))


def ranking(order: list[int], groups: list[int]) -> Blocks:
    """Turn an order and its groups into blocks."""
    return [[code for code, group in zip(order, groups, strict=True) if group == g] for g in range(max(groups) + 1)]


# eval_utils_test ------------------------------------------------------------------------------------------

TEN = [[0, 0.1, 0.9, 0]] * 4 + [[0, 0.9, 0.1, 0], [0, 0.9, 0, 0.1], [0, 0.9, 0.1, 0]]
TEN += [[0.9, 0.1, 0, 0], [0.9, 0, 0, 0.1], [0, 0, 0.1, 0.9]]


@pytest.mark.parametrize(
    ("rank", "expected"), [(1, [[0.2, 0.3, 0.4, 0.1], [0, 1, 0, 0]]), (2, [[0, 0.5, 0.3, 0.2], [0, 0, 0, 1]])]
)
def test_shares_of_a_place(rank: int, expected: list[list[float]]) -> None:
    drawn = ds.Plausibilities.from_draws(normalised([TEN, [[1, 4, 2, 3]] * 10]))
    found = np.zeros((2, 4))
    for case, condition, share in rank_shares(drawn, rank=rank).rows():
        found[int(case), int(condition)] = share
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(rank_certainty(drawn, rank=rank).values, np.max(expected, axis=1), atol=1e-12)


def test_the_condition_that_most_draws_have_in_a_place() -> None:
    cases = [[[0, 2, 1], [0, 0.5, 1], [0, 1, 0.5]], [[0, 2, 3], [0, 0.5, 1], [0, 1, 0.5]]]
    drawn = ds.Plausibilities.from_draws(normalised(cases))
    assert rank_certainty(drawn, rank=1).winners == (("1",), ("2",))
    assert rank_certainty(drawn, rank=2).winners == (("2",), ("1",))


# ranking_metrics_test -------------------------------------------------------------------------------------


FULL = [
    ([2, 0, 1, 4, 3], [0, 1, 2, 4, 3], 3, 0.5),
    ([2, 0, 1, 4, 3], [1, 0, 2, 4, 3], 4, 0.625),
    ([2, 0, 1, 4, 3], [1, 0, 2, 4, 3], 5, 0.7),
    ([3, 4, 1, 0, 2], [4, 1, 3, 0, 2], 1, 0.0),
    ([3, 4, 1, 0, 2], [3, 4, 1, 0, 2], 2, 1.0),
]
PARTIAL = [
    ([0, 1, 2, 3], [0, 1, 1, -1], [0, 1, 2, 3], [0, 1, 1, -1], 4, 0.9375, 1.0),
    ([0, 1, 2, 3], [0, 1, 2, -1], [2, 0, 1, 3], [0, 0, 1, 2], 2, 0.5, 0.5773503),
    ([0, 1, 2, 3], [0, 1, 2, -1], [2, 0, 1, 3], [0, 1, 1, 2], 3, 0.5, 0.5222330),
    ([0, 1, 2, 3], [0, 1, 2, -1], [2, 0, 1, 3], [0, 0, 0, 1], 3, 0.6666667, 0.8164966),
    ([2, 0, 1, 3], [0, 1, 1, 2], [0, 1, 2, 3], [0, 1, -1, -1], 3, 0.4444445, 0.4776652),
    ([2, 0, 1, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 4, 0.625, 0.625),
    ([2, 0, 1, 3], [-1] * 4, [0, 1, 2, 3], [0, 1, -1, -1], 3, 0.0, 0.0),
    ([2, 0, 1, 3], [0, 1, 1, 2], [0, 1, 2, 3], [-1] * 4, 3, 0.0, 0.0),
]


def test_average_overlap_of_full_and_partial_rankings() -> None:
    for a, b, depth, expected in FULL:
        one, other = [[code] for code in a], [[code] for code in b]
        assert mean_average_overlap(one, other, depth=depth, n_conditions=5) == pytest.approx(expected)
    for a, a_groups, b, b_groups, depth, unnormalised, expected in PARTIAL:
        one, other = ranking(a, a_groups), ranking(b, b_groups)
        assert mean_average_overlap(one, other, depth=depth, n_conditions=4) == pytest.approx(expected, abs=1e-7)
        found = mean_average_overlap(one, other, depth=depth, n_conditions=4, normalised=False)
        assert found == pytest.approx(unnormalised, abs=1e-7)


# pl_exhaustive_test ---------------------------------------------------------------------------------------

FIRST, SECOND = [0.3, 0.15, 0.4, 0.1, 0.05], [0.1, 0.3, 0.1, 0.15, 0.35]
TIES = (0.1 * 0.3 / 0.9 + 0.3 * 0.1 / 0.7) * (0.15 / 0.6 * 0.4 / 0.45 + 0.4 / 0.6 * 0.15 / 0.2)


@pytest.mark.parametrize(
    ("blocks", "weights", "expected"),
    [
        ([[0], [1], [2]], [3, 2, 4, 3], (3 / 12) * (2 / 9) * (4 / 7)),
        ([[1, 2]], [1, 0.5, 3, 1.5], (0.5 / 6) * (3 / 5.5) + (3 / 6) * (0.5 / 3)),
        ([[3, 0], [1, 2]], FIRST, TIES),
        ([[3, 0], [1, 2], [4]], FIRST, TIES),
        ([[2], [1], [4]], FIRST, 0.4 * (0.15 / 0.6) * (0.05 / 0.45)),
        ([[1, 4], [3]], SECOND, (0.3 * 0.35 / 0.7 + 0.35 * 0.3 / 0.65) * (0.15 / 0.35)),
    ],
)
def test_likelihoods_of_partial_rankings(blocks: Blocks, weights: list[float], expected: float) -> None:
    said = ds.Study.from_rankings([[blocks]], len(weights))
    for scale in (1.0, np.e):  # theirs are logarithms, shifted by one
        found = plackett_luce_log_likelihood(said, np.array(weights) * scale)
        assert found[0] == pytest.approx(np.log(expected), abs=1e-12)


# irn_test -------------------------------------------------------------------------------------------------


def test_probabilistic_inverse_ranks_concentrate() -> None:
    said = ds.Study.from_counts([[4, 3, 2, 1], [16, 2, 1, 1]])
    draws = ProbabilisticInverseRank(reliability=1e6).sample(said, draws=10).dense()
    expected = np.array([[0.4, 0.3, 0.2, 0.1], [0.8, 0.1, 0.05, 0.05]])
    assert draws.shape == (2, 10, 4)
    assert np.abs(draws - expected[:, None]).max() < 0.015


# formats_test, selectors_utils_test -----------------------------------------------------------------------


def test_rankings_become_orders_and_groups() -> None:
    """Theirs keeps the order in which a tie was written, 0, 4, 1, 2; here a tie has none and is written ascending."""
    said = ds.Study.from_rankings([[[[3], [1], [2]], [[0], [4, 1, 2]]]], 5)
    orders, groups = said.to_ranking_arrays()
    assert orders.tolist() == [[[3, 1, 2, 0, 4], [0, 1, 2, 4, 3]]]
    assert groups.tolist() == [[[0, 1, 2, -1, -1], [0, 1, 1, 1, -1]]]
    as_theirs = ds.Study.from_ranking_arrays([[[3, 1, 2, 0, 4], [0, 4, 1, 2, 3]]], groups)
    assert as_theirs == said


# classification_metrics_test ------------------------------------------------------------------------------

DISTRIBUTION = np.array([0.1, 0.2, 0.05, 0.4, 0.3])
"""Theirs sums to 1.05; what it gives is divided by that here."""


def against_distribution(metric: Metric, model: ds.Predictions) -> FloatArray:
    """Return the metric of every case, each of which has this distribution."""
    batch = Batch.from_dense(np.tile(normalised(DISTRIBUTION), (model.n_cases, 1, 1)), model.case_names)
    return metric.values(Drawn(batch, 0), Predicted(model, batch))[:, 0]


def test_coverage_of_a_distribution_and_sizes_of_sets() -> None:
    """Theirs also takes sets with parts and negative parts of conditions, which are no sets."""
    sets = np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 0]])
    covered = against_distribution(ExpectedCoverage(), ds.Predictions.from_sets(sets, 5))
    np.testing.assert_allclose(covered * 1.05, [0.35, 0.6, 0.4])
    sized = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 1]])
    assert against_distribution(SetSize(), ds.Predictions.from_sets(sized, 5)).tolist() == [0, 1, 5, 2]


def test_accuracy_of_the_first_four_against_a_distribution() -> None:
    logits = np.array([[5, 4, 3, 2, 1], [0, 0.5, 0.1, 0.3, 0.2], [1, -2, -0.1, -1, -3], [0.5, 0.9, -0.1, -1, 0]])
    found = against_distribution(ExpectedAccuracy(4), ds.Predictions.from_scores(logits))
    np.testing.assert_allclose(found * 1.05, [0.75, 0.95, 0.75, 0.65])


@pytest.mark.parametrize(
    ("logits", "k", "expected"),
    [
        ([5, 3, 4, 4.5, 2], 3, [1, 0, 1, 1, 0]),
        ([-4, 1, 3, -1, -0.5], 3, [0, 1, 1, 0, 1]),
        ([5, 3, 4, 4, 2], 3, [1, 0, 1, 1, 0]),
        ([-4, -0.5, 3, -1, -0.5], 3, [0, 1, 1, 0, 1]),
        ([5, 3, 4, 4, 2], 2, [1, 0, 0.5, 0.5, 0]),
        ([-4, -0.5, 3, -1, -0.5], 2, [0, 0.5, 1, 0, 0.5]),
    ],
)
def test_the_first_conditions_of_a_model(logits: list[float], k: int, expected: list[float]) -> None:
    """Theirs breaks a tie across the last place by the lower index; here each has it in half of all tie-breaks."""
    [batch] = ds.Plausibilities.from_draws(np.full((1, 1, 5), 0.2))
    shares, _ = Predicted(ds.Predictions.from_scores([logits]), batch).top_shares(k)
    assert shares.tolist() == expected


@pytest.mark.parametrize(
    ("values", "rank", "expected"),
    [
        ([5, 3, 4, 4.5, 2], 3, {"2": 1.0}),
        ([0, 5, 7, 3, 3.5], 3, {"4": 1.0}),
        ([5, 3, 4, 4, 2], 3, {"2": 0.5, "3": 0.5}),
        ([5, 3, 4, 4, 2], 2, {"2": 0.5, "3": 0.5}),
    ],
)
def test_the_condition_in_a_place(values: list[float], rank: int, expected: dict[str, float]) -> None:
    """Of tied conditions theirs has the lower index in the earlier place; here either has either half the time."""
    drawn = ds.Plausibilities.from_draws(normalised([[values]]))
    assert dict(rank_shares(drawn, rank=rank).select("condition", "share").iter_rows()) == expected


# plausibility_regions_test --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ([[0, 0, 0.5, 0.5], [1, 0, 0, 0]], [0.75, 0.4]),
        ([[0.1, 0.9, 0, 0], [0.2, 0.2, 0.3, 0.2]], [3.6, 0.22 / 0.9]),  # theirs sums to 0.9 here
    ],
)
def test_expected_conformity(draws: list[list[float]], expected: list[float]) -> None:
    drawn = ds.Plausibilities.from_draws(normalised(draws)[:, None])
    model = ds.Predictions.from_scores([[0, 4, 1, 0.5], [0.4, 0.1, 0.2, 0.3]])
    np.testing.assert_allclose(conformities(drawn, model)[:, 0], expected)


SIMPLEX = {(0, 0, 1), (0, 0.5, 0.5), (0, 1, 0), (0.5, 0, 0.5), (0.5, 0.5, 0), (1, 0, 0)}


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (
            0.5,
            [
                {(0.5, 0, 0.5), (1, 0, 0), (0.5, 0.5, 0)},
                {(0, 0.5, 0.5), (0.5, 0.5, 0), (0, 1, 0)},
                {(0, 0, 1), (0.5, 0, 0.5), (0, 0.5, 0.5)},
            ],
        ),
        (1.0, [{(1, 0, 0)}, {(0, 1, 0)}, {(0, 0, 1)}]),
        (0.0, [SIMPLEX] * 3),
    ],
)
def test_regions_on_a_grid(threshold: float, expected: list[set[tuple[float, ...]]]) -> None:
    """Theirs also lists (0, 0, 0), (0, 0, 0.5) and others that sum to less than one, and are no plausibilities."""
    points, is_inside = PlausibilityRegions(threshold, 0.9, 10, 1).grid(ds.Predictions.from_scores(np.eye(3)), points=3)
    assert {tuple(point) for point in points.tolist()} == SIMPLEX
    for row, region in zip(is_inside, expected, strict=True):
        assert {tuple(point) for point in points[row].tolist()} == region


@pytest.mark.parametrize(
    ("top", "expected"), [(1, [["0", "2"], ["2"], ["1", "2"]]), (2, [["0", "1", "2"], ["1", "2"], ["0", "1", "2"]])]
)
def test_regions_become_sets_of_first_conditions(top: int, expected: list[list[str]]) -> None:
    """The scores put the first two draws, the second, and the last two into the regions."""
    draws = np.array([[1, 0, 0], [0, 0.2, 0.8], [0.2, 0.7, 0.1]])
    drawn = ds.Plausibilities.from_draws(np.tile(draws, (3, 1, 1)))
    model = ds.Predictions.from_scores(np.array([[1, 0, 1], [0, 0, 1], [0, 1, 0.6]]))
    regions = PlausibilityRegions(0.5, 0.9, 10, 1)
    np.testing.assert_allclose(regions.contains(drawn, model), [2 / 3, 1 / 3, 2 / 3])
    assert [sorted(case[0]) for case in regions.top_sets(drawn, model, top=top).to_lists()] == expected


# agreement_test -------------------------------------------------------------------------------------------


def test_agreement_is_a_share_for_every_case() -> None:
    """Theirs has a number per annotator; here they are averaged, and annotators who are not there do not count."""
    orders = [[[0, 1, 2]] * 3] * 2
    same = annotator_agreement(ds.Study.from_ranking_arrays(orders, [[[0, 1, -1]] * 3] * 2))
    assert same.values.tolist() == [1.0, 1.0]
    groups = [[[0, -1, -1], [0, 1, -1], [0, 0, -1]], [[0, -1, -1], [0, 1, -1], [-1, -1, -1]]]
    found = annotator_agreement(ds.Study.from_ranking_arrays(orders, groups))
    assert found.n_annotators.tolist() == [3, 2]
    assert ((found.values >= 0) & (found.values <= 1)).all()
