"""Weights of annotators: their slope, what they find, and that useless differences vanish."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.evaluation.annotator_weights import FirstChoices
from shared_data import SHARED, needs_shared


def study(accuracies: list[float], n_cases: int, seed: int) -> ds.Annotations:
    rng = np.random.default_rng(seed)
    rankings = []
    for true in rng.integers(4, size=n_cases):
        right = rng.random(len(accuracies)) < accuracies
        wrong = (true + rng.integers(1, 4, size=len(accuracies))) % 4
        rankings.append([[[int(label)]] for label in np.where(right, true, wrong)])
    return ds.Annotations.from_rankings(rankings, 4, annotator_names=[f"A{who}" for who in range(len(accuracies))])


def mixed() -> ds.Annotations:
    """Ties, lower ranks, nobody in particular, weights, and a case with one opinion only."""
    names: list[list[str | None]] = [["A", "B", None], ["A", "C", None], ["B"], ["C", "A"]]
    return ds.Annotations.from_rankings(
        [[[["a", "b"]], [["a"], ["c"]], [["b"]]], [[["c"]], [["c"]], [["a"]]], [[["b"]]], [[["d"]], [["a", "d"]]]],
        ["a", "b", "c", "d", "e"],
        annotator_names=names,
        weights=[[1.0, 2.0, 1.0], [0.5, 1.0, 1.0], [1.0], [1.0, 1.0]],
    )


def naive_score(said: ds.Annotations, logs: dict[str | None, float], mass: float) -> float:
    """Leave each opinion out in turn and score it, case by case, as the documentation says."""
    total, rankings = 0.0, said.to_rankings()
    mentioned = [{name for ranking in case for block in ranking for name in block} for case in rankings]
    for case, opinions in enumerate(rankings):
        start = said.ranking_offsets[case]
        others = [sum(name in m for i, m in enumerate(mentioned) if i != case) + 0.5 for name in said.conditions]
        prior = {name: mass * other / sum(others) for name, other in zip(said.conditions, others, strict=True)}
        names = [[*said.annotator_names, None][said.annotators[start + i]] for i in range(len(opinions))]
        weights = [said.weights[start + i] * np.exp(logs.get(name, 0.0)) for i, name in enumerate(names)]
        for left, ranking in enumerate(opinions):
            rest = [i for i in range(len(opinions)) if i != left]
            if not rest:
                continue
            votes = dict(prior)
            for i in rest:
                for name in opinions[i][0]:
                    votes[name] += weights[i] / len(opinions[i][0])
            total += np.log(sum(votes[name] for name in ranking[0]) / sum(votes.values()))
    return float(total)


def test_scores_are_those_of_leaving_each_opinion_out() -> None:
    said = mixed()
    logs: dict[str | None, float] = {"A": 0.3, "B": -0.7, "C": 0.1}
    scores, _ = FirstChoices.of(said.opinions).scores(np.array([*logs.values(), np.log(0.8)]))
    assert scores.sum() == pytest.approx(naive_score(said, logs, 0.8), rel=1e-12)


def test_slopes_are_those_of_small_steps() -> None:
    choices = FirstChoices.of(mixed().opinions)
    logs = np.array([0.3, -0.7, 0.1, -0.2])
    steps = 1e-6 * np.eye(4)
    expected = [(choices.scores(logs + h)[0].sum() - choices.scores(logs - h)[0].sum()) / 2e-6 for h in steps]
    np.testing.assert_allclose(choices.scores(logs)[1], expected, rtol=1e-6)


def test_those_who_guess_weigh_less_and_the_others_are_foretold_better() -> None:
    found = ds.annotator_weights(study([0.9, 0.9, 0.9, 0.25, 0.25], 150, 1))
    assert found.weights.mean() == pytest.approx(1.0)
    assert found.weights[:3].min() > 1.2 > 0.7 > found.weights[3:].max()
    assert found.gain > 2 * found.gain_error > 0


def test_differences_that_foretell_nothing_vanish() -> None:
    found = ds.annotator_weights(study([0.7] * 5, 120, 2))
    assert found.spread == 0.0
    np.testing.assert_allclose(found.weights, 1.0, atol=1e-9)
    assert found.gain == found.gain_error == 0.0
    assert "all one" in repr(found)


def test_weights_multiply_those_of_opinions_and_leave_strangers_alone() -> None:
    said = mixed()
    found = ds.AnnotatorWeights(("A", "C"), np.array([0.5, 1.5]), 0.4, 0.0, 0.0)
    np.testing.assert_array_equal(found.apply(said).weights, [0.5, 2.0, 1.0, 0.25, 1.5, 1.0, 1.0, 1.5, 0.5])


@needs_shared
def test_dermatologists_gain_a_little() -> None:
    table = pl.read_csv(SHARED / "dermxdb" / "dermxdb_diagnoses.csv", infer_schema=False)
    table = table.filter((pl.col("round") == "1") & pl.col("diagnoses").is_not_null())
    said = ds.Annotations.from_long(table, case="image", annotator="labeller", condition="diagnoses", tie_separator="|")
    found = ds.annotator_weights(said)
    assert 0.001 < found.gain < 0.01  # measured: 0.0038, with an error of 0.0009
    assert found.gain > 2 * found.gain_error
