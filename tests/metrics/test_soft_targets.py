"""Soft targets: unbiased for few votes, target panels, single annotators, and bad input."""

import math
import sys
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.metrics.soft_targets import entropy
from refusals import refused
from shared_data import SHARED, needs_shared

soft_targets = ds.metrics.soft_targets


def test_squared_distance_is_the_debiased_one_and_cross_entropy_the_mean_log() -> None:
    rng = np.random.default_rng(1)
    counts = rng.multinomial(4, [0.5, 0.3, 0.2], 30)
    p = rng.dirichlet(np.ones(3), 30)
    row = soft_targets(ds.Study.from_counts(counts, ["a", "b", "c"]), {"A": p}, draws=2).rows[0]
    q = counts / 4
    squared = np.square(p - q).sum(axis=1) - (q * (1 - q)).sum(axis=1) / 3
    assert row["squared_distance"] == pytest.approx(squared.mean())
    assert row["cross_entropy"] == pytest.approx(np.mean(-(q * np.log(p)).sum(axis=1)))
    assert row["squared_distance_low"] < row["squared_distance"] < row["squared_distance_high"]


def test_the_average_over_all_triples_of_votes_is_the_distance_from_all_of_them() -> None:
    votes, p = [0, 0, 1, 2, 2, 2], np.array([0.2, 0.5, 0.3])
    some = [np.bincount([votes[i] for i in three], minlength=3) for three in combinations(range(6), 3)]
    found = soft_targets(ds.Study.from_counts(some, ["a", "b", "c"]), {"A": np.tile(p, (len(some), 1))}, draws=2)
    whole = soft_targets(ds.Study.from_counts([np.bincount(votes)] * 2, ["a", "b", "c"]), {"A": [p, p]}, draws=2)
    for column in ("squared_distance", "cross_entropy"):
        assert found.rows[0][column] == pytest.approx(whole.rows[0][column])


@pytest.mark.slow
@needs_shared
def test_three_votes_of_chaosnli_give_what_a_hundred_give_within_a_point() -> None:
    folder = SHARED / "chaosnli_snli"
    counts = pl.read_csv(folder / "counts.csv").select(pl.col(pl.Int64)).to_numpy()[:, -3:]
    conditions = ["e", "n", "c"]
    paths = sorted(folder.glob("pred_*.csv"))
    models = {one.stem: pl.read_csv(one).select(pl.col(pl.Float64)).to_numpy()[:, -3:] + 1e-6 for one in paths}
    rng = np.random.default_rng(2)
    whole = soft_targets(ds.Study.from_counts(counts, conditions), models, draws=1).rows
    drawn = (np.array([rng.multivariate_hypergeometric(row, 3) for row in counts]) for _ in range(8))  # three of all
    few = [soft_targets(ds.Study.from_counts(some, conditions), models, draws=1) for some in drawn]
    for place, row in enumerate(whole):
        found = np.mean([one.rows[place]["squared_distance"] for one in few])
        assert found == pytest.approx(row["squared_distance"], abs=0.01)
        naive = np.mean([one.rows[place]["cross_entropy"] for one in few])
        assert naive == pytest.approx(row["cross_entropy"], rel=0.02)


def test_estimates_over_draws_come_close_to_the_truth_with_many_votes() -> None:
    rng = np.random.default_rng(3)
    truth, p = rng.dirichlet(np.ones(3), 300), rng.dirichlet(np.ones(3), 300)
    counts = np.array([rng.multinomial(400, row) for row in truth])
    study = ds.Study.from_counts(counts, ["0", "1", "2"], question="grades")
    row = soft_targets(study, {"A": p}).rows[0]
    middle = (p + truth) / 2
    assert row["manhattan"] == pytest.approx(np.abs(p - truth).sum(axis=1).mean(), abs=0.01)
    shannon = entropy(middle) - (entropy(p) + entropy(truth)) / 2
    assert row["jensen_shannon"] == pytest.approx(shannon.mean(), abs=0.01)
    assert row["wasserstein"] == pytest.approx(np.abs(np.cumsum(p - truth, axis=1)).sum(axis=1).mean(), abs=0.01)
    assert row["entropy_correlation"] == pytest.approx(np.corrcoef(entropy(p), entropy(truth))[0, 1], abs=0.03)


def named(rng: np.random.Generator) -> tuple[ds.Study, dict[str, str]]:
    """Draw two specialists, who always say a, and six others, who say b in nine of ten."""
    members = {f"s{j}": "specialist" for j in range(2)} | {f"o{j}": "other" for j in range(6)}
    rows = [
        (str(i), who, "a" if group == "specialist" or rng.random() < 0.1 else "b")
        for i in range(60)
        for who, group in members.items()
    ]
    return ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row")), members


def test_cases_looked_at_one_by_one_give_what_all_together_give(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    study = ds.Study.from_counts(rng.multinomial(5, [0.5, 0.3, 0.2], 12), ["a", "b", "c"])
    models = {name: rng.dirichlet(np.ones(3), 12) for name in "AB"}
    together = soft_targets(study, models, draws=20, seed=1).rows
    monkeypatch.setitem(vars(sys.modules[entropy.__module__]), "MOST_NUMBERS", 1)
    for one, other in zip(together, soft_targets(study, models, draws=20, seed=1).rows, strict=True):
        assert one.pop("model") == other.pop("model")
        assert one == pytest.approx(other, rel=1e-12, nan_ok=True)


def test_a_target_panel_says_what_these_specialists_would_say() -> None:
    study, members = named(np.random.default_rng(4))
    models = {"like specialists": [[0.99, 0.01]] * 60, "like others": [[0.1, 0.9]] * 60}
    everybody = soft_targets(study, models).rows
    wanted = soft_targets(study, models, panel={"specialist": 1.0}, members=members)
    mixed = soft_targets(study, models, panel={"specialist": 3.0, "other": 1.0}, members=members)
    assert everybody[1]["squared_distance"] < everybody[0]["squared_distance"]
    assert wanted.rows[0]["squared_distance"] == pytest.approx(0.0002)
    assert wanted.rows[0]["manhattan"] < wanted.rows[1]["manhattan"]
    assert "100 % specialist" in wanted.about
    # 0.75 + 0.25 x 0.1 of this panel say a
    assert mixed.rows[0]["squared_distance"] == pytest.approx(2 * (0.99 - 0.775) ** 2, abs=0.01)


def test_every_annotator_has_an_error() -> None:
    study, _ = named(np.random.default_rng(5))
    rows = soft_targets(study, {"A": [[0.9, 0.1]] * 60}).annotators()
    own = rows.filter(annotator="s0").row(0, named=True)
    assert (own["n_cases"], round(own["error"], 9), own["error_rate"]) == (60, 0.1, 0.0)
    assert rows.filter(annotator="o0")["error"][0] > 0.6


def test_zero_probability_of_what_somebody_says_is_infinite_and_few_votes_are_noted() -> None:
    study = ds.Study.from_counts([[2, 1], [0, 3], [1, 0]], ["a", "b"])
    found = soft_targets(study, {"A": [[1.0, 0.0]] * 3})
    assert found.rows[0]["cross_entropy"] == math.inf
    assert "1 cases have fewer than two opinions" in found.notes
    assert len(repr(found).splitlines()) <= 20


NAMED, MEMBERS = named(np.random.default_rng(6))
SCORES = {"A": [[0.5, 0.5]] * 60}


@pytest.mark.parametrize(
    ("study", "models", "more", "told"),
    [
        (NAMED, SCORES, {"panel": {"speciallist": 1}, "members": MEMBERS}, "speciallist"),
        (NAMED, SCORES, {"panel": {"specialist": -1}, "members": MEMBERS}, "zero or more"),
        (NAMED, SCORES, {"panel": {"x": 1}, "members": {"nobody": "x"}}, "have no members"),
        (NAMED, SCORES, {"members": MEMBERS}, "needs weights"),
        (NAMED, {"A": [[-0.5, 1.5]] * 60}, {}, "need probabilities"),
        (NAMED, {"A": [[0.0, 0.0]] * 60}, {}, "scores of a case are zero"),
        (NAMED, SCORES, {"level": 0.0}, "level must be between 0 and 1"),
        (ds.Study.from_counts([[1, 0]] * 5, ["a", "b"]), {"A": [[0.5, 0.5]] * 5}, {}, "too few cases"),
        (ds.Study.from_counts([[2, 1]] * 5), {"A": [[0.5, 0.5]] * 5}, {"panel": {"x": 1}}, "named annotators"),
    ],
)
def test_bad_input_is_one_clear_error(study: ds.Study, models: Any, more: dict[str, Any], told: str) -> None:
    refused(told, soft_targets, study, models, **more)
