"""Van Dyke et al. (1993): five readers rate 114 patients under two treatments; areas under the curve as published.

Franken's data and this set are the worked examples of multi-reader studies (Obuchowski and Rockette 1995, Hillis 2007):
the mean trapezoidal area is 0.897 under the first treatment and 0.941 under the second.
"""

from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.metrics import AUROC
from shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")]


@cache
def ratings() -> pl.DataFrame:
    return pl.read_csv(SHARED / "vandyke" / "vandyke.csv").sort("case")


def truth() -> pl.DataFrame:
    return ratings().select("case", "truth").unique().sort("case")


def readers() -> dict[str, np.ndarray]:
    """Return the ratings of every reader under every treatment, as scores of the two conditions."""
    found = {}
    for (treatment, reader), rows in ratings().group_by("treatment", "reader", maintain_order=True):
        rating = rows.sort("case")["rating"].to_numpy().astype(float)
        found[f"treatment {treatment}, reader {reader}"] = np.stack([5 - rating, rating], axis=1)
    return dict(sorted(found.items()))


@cache
def areas() -> dict[str, float]:
    known = truth()["truth"].to_numpy()
    said = ds.Study.from_counts(np.stack([1 - known, known], axis=1), ["healthy", "ill"], question="binary")
    result = ds.evaluate(said, readers(), aggregations=[MajorityVote()], metrics=[AUROC()], panel=False)
    table = result.to_frame().filter(run="majority-vote")
    return dict(zip(table["model"], table["mean"], strict=True))


def test_there_are_five_readers_two_treatments_and_45_of_114_patients_are_ill() -> None:
    assert len(readers()) == 10
    assert (len(truth()), truth()["truth"].sum()) == (114, 45)


def test_the_area_of_every_reader_is_that_of_scikit_learn() -> None:
    known = truth()["truth"].to_numpy()
    for name, scores in readers().items():
        assert areas()[name] == pytest.approx(roc_auc_score(known, scores[:, 1]), abs=1e-12)


def test_mean_areas_and_their_difference_are_those_that_were_published() -> None:
    means = [np.mean([area for name, area in areas().items() if f"treatment {one}" in name]) for one in (1, 2)]
    assert round(float(means[0]), 3) == 0.897
    assert round(float(means[1]), 3) == 0.941
    assert round(float(means[0] - means[1]), 4) == -0.0438
