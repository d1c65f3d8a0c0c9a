"""Agreement of annotators who share opinions is that of the same study with every vote written out."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.agreement import annotator_agreement, krippendorff_alpha, pairwise_agreement
from dissensus.figures.evaluation_charts import study_statistics
from voted_studies import voted_study, written_out

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_agreement_and_alpha_of_votes(seed: int) -> None:
    said = voted_study(seed)
    both: Any = (said, written_out(said))
    choices: Any = product(("ranking", "first-block"), ("shared", "each"))
    for within, ties in choices:
        found, expected = (annotator_agreement(one, ties=ties, within=within) for one in both)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
        np.testing.assert_array_equal(found.n_annotators, expected.n_annotators)
        assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    for distance in ("first-choice", "overlap", "set", "masi"):
        alpha, same = (krippendorff_alpha(one, distance=distance, draws=50) for one in both)
        for name in ("value", "low", "high", "observed", "expected"):
            assert getattr(alpha, name) == pytest.approx(getattr(same, name), rel=1e-10, nan_ok=True), name
        assert (alpha.n_cases, alpha.n_rankings) == (same.n_cases, same.n_rankings)


def test_pairs_and_figures_are_not_changed_by_votes() -> None:
    said = voted_study(3)
    assert pairwise_agreement(said).equals(pairwise_agreement(written_out(said)))
    assert repr(study_statistics(said)) == repr(study_statistics(written_out(said)))


def test_agreement_of_so_many_votes_that_pairs_cannot_be_listed() -> None:
    said = ds.Study.from_counts(np.array([[3, 1], [0, 4]]) * 10**12, ["a", "b"])
    assert annotator_agreement(said).values == pytest.approx([0.75, 1.0])
    assert krippendorff_alpha(said, draws=10).observed == pytest.approx(0.1875)
