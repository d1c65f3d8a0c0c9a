"""The same seed gives the same bits as it always did: SHA-256 of draws on small studies of every kind."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    NormalInverseGamma,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
)

EXPECTED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("draw_hashes.json").read_text())

RANKINGS = [
    [[["a"], ["b", "c"]], [["a", "b"]], []],
    [[["d"]], [["d"]], [["c"], ["a", "b"]]],
    [],
    [[[condition] for condition in "abcdefgh"], [list("abcdefghi")]],
]
WEIGHTS = [[1.0, 0.5, 1.0], [2.0, 1.0, 0.3], [], [1.0, 1.5]]
WEIGHTED = ds.Study.from_rankings(
    RANKINGS, list("abcdefghij"), case_names=["one", "two", "three", "four"], weights=WEIGHTS
)
STUDIES = {
    "simulated": ds.simulate.study(n_cases=40, seed=7).annotations,
    "weighted": WEIGHTED,
    "unobserved": WEIGHTED.with_unranked("unobserved"),
}
RATINGS = ds.Study.from_scores([[1, 2, 2], [5, 4], [3, 3, 1, 2], [2]], case_names=["a", "b", "c", "d"])

AGGREGATIONS = {
    "Plackett-Luce": PlackettLuce(alpha=1.0, prior="observed"),
    "Plackett-Luce, reliability 3": PlackettLuce(3, alpha=1.0, prior="observed"),
    "Plackett-Luce, reliability 2.5, alpha 0.5": PlackettLuce(2.5, alpha=0.5, prior="observed"),
    "Plackett-Luce, reliability 10, symmetric, alpha 0.02": PlackettLuce(10, prior="symmetric", alpha=0.02),
    "Plackett-Luce, 3 chains, warm-up 10": PlackettLuce(1, chains=3, warmup=10, alpha=1.0, prior="observed"),
    "Plackett-Luce, by frequency": PlackettLuce(2.5, alpha=2.0, prior="frequency"),
    "probabilistic inverse rank": ProbabilisticInverseRank(),
    "probabilistic inverse rank, reliability 10, ties each": ProbabilisticInverseRank(10, ties="each", alpha=0.1),
    "Dirichlet": Dirichlet(),
    "Dirichlet, reliability 2.5, alpha 0.1": Dirichlet(2.5, alpha=0.1),
    "majority vote": MajorityVote(),
    "inverse rank": InverseRank(),
    "inverse rank, ties each": InverseRank("each"),
    "maximum likelihood": PlackettLuceML(),
    "annotator bootstrap": AnnotatorBootstrap(),
    "annotator bootstrap of majority votes, size 5": AnnotatorBootstrap(MajorityVote(), size=5),
}
NORMAL = {
    "normal-inverse-gamma": NormalInverseGamma((0.0,)),
    "normal-inverse-gamma, 2 thresholds, reliability 2": NormalInverseGamma((1.5, 3.0), reliability=2),
}


def digest(plausibilities: ds.Plausibilities) -> str:
    """Hash the draws of all batches, one after the other."""
    content = hashlib.sha256()
    for batch in plausibilities:
        content.update(np.ascontiguousarray(batch.values).tobytes())
    return content.hexdigest()


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_draws_have_the_bits_they_always_had(name: str, study: str) -> None:
    plausibilities = AGGREGATIONS[name].sample(STUDIES[study], draws=50, seed=11, threads=1)
    assert digest(plausibilities) == EXPECTED["draws"][f"{name} on {study}"]


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_draws_of_all_conditions_have_the_bits_they_always_had(name: str) -> None:
    dense = AGGREGATIONS[name].sample(WEIGHTED, draws=20, seed=3).dense()
    assert hashlib.sha256(dense.tobytes()).hexdigest() == EXPECTED["dense"][name]


@pytest.mark.parametrize("name", NORMAL)
def test_draws_of_ratings_have_the_bits_they_always_had(name: str) -> None:
    assert digest(NORMAL[name].sample(RATINGS, draws=50, seed=11)) == EXPECTED["draws"][f"{name} on ratings"]


def test_every_recorded_hash_is_compared() -> None:
    of_rankings = {f"{name} on {study}" for name in AGGREGATIONS for study in STUDIES}
    assert set(EXPECTED["draws"]) == of_rankings | {f"{name} on ratings" for name in NORMAL}
    assert set(EXPECTED["dense"]) == set(AGGREGATIONS)
