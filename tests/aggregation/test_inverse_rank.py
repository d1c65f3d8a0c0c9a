"""Inverse ranks add up exactly, so that ties are ties."""

import numpy as np
import pytest

from dissensus import Study
from dissensus.aggregations import Dirichlet, InverseRank, MajorityVote, ProbabilisticInverseRank
from dissensus.certainty import annotation_certainty
from dissensus.study.opinions import TIES, Ties


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("rank", [3, 5, 6, 7, 9, 11, 13])
def test_as_many_parts_as_the_rank_are_a_whole(ties: Ties, rank: int) -> None:
    others = [[f"other {i}"] for i in range(rank - 1)]
    rankings = [[["first"]], *([[*others, ["late"]]] * rank)]
    weights = InverseRank(ties).sample(Study.from_rankings([rankings])).summary()
    by_name = dict(weights.select("condition", "mean").iter_rows())
    assert by_name["first"] == by_name["late"]
    assert ProbabilisticInverseRank(ties=ties).limit == InverseRank(ties)


def test_tied_conditions_share_a_weight_or_have_it_each() -> None:
    said = Study.from_rankings([[[["a", "b"], ["c"]], [["c"]]]], ["a", "b", "c", "d"])
    np.testing.assert_allclose(InverseRank("shared").sample(said).mean(), [[0.2, 0.2, 0.6, 0]])
    np.testing.assert_allclose(InverseRank("each").sample(said).mean(), np.array([[1, 1, 1.5, 0]]) / 3.5)
    np.testing.assert_allclose(MajorityVote().sample(said).mean(), [[0.25, 0.25, 0.5, 0]])


def test_a_tie_by_thirds_is_uncertain() -> None:
    rankings = [[["a"]], *([[["x"], ["y"], ["b"]], [["y"], ["z"], ["b"]], [["z"], ["x"], ["b"]]])]
    study = Study.from_rankings([[*rankings, [["a"]], *rankings[1:]]], unranked="below")
    certainty = annotation_certainty(InverseRank().sample(study))
    assert certainty.values[0] == pytest.approx(1 / 3)  # x, y and z have three each, a and b have two


def test_selecting_no_case_leaves_nothing() -> None:
    study = Study.from_rankings([[[["a"]]], [[["b"]]]])
    for aggregation in (MajorityVote(), Dirichlet()):
        nothing = aggregation.sample(study, draws=5).select([])
        assert nothing.n_cases == 0
        assert nothing.summary().height == 0
        assert nothing.mean().shape == (0, 2)
