"""Where annotators are unanimous, evaluations by metrics of a whole data set give what scikit-learn gives, all the way.

Weights of cases, tied scores, several conditions one against the rest, strata in which a class is absent, categories.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as peers

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.core.arrays import FloatArray, IntArray

pytestmark = pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")

N, EXACT = 60, 1e-12
CONDITIONS = ("a", "b", "c", "d")
Peer = Callable[[IntArray, FloatArray, FloatArray], float]


def decided(s: FloatArray) -> IntArray:
    return (s[:, 1] > s[:, 0]).astype(np.int64)


def peer_of(name: str, see: Callable[[FloatArray], Any], **how: Any) -> Peer:
    """Judge what is seen of scores by a function of scikit-learn."""
    function = getattr(peers, name)
    return lambda y, s, w: float(function(y, see(s), sample_weight=w, **how))


def positive(name: str, **how: Any) -> Peer:
    """Judge decisions of the last of two conditions."""
    return peer_of(name, decided, **how)


def scored(name: str, **how: Any) -> Peer:
    """Judge scores of the last of two conditions."""
    return peer_of(name, lambda s: s[:, 1], **how)


BINARY: Mapping[str, Peer] = {
    "auroc": scored("roc_auc_score"),
    "sensitivity": positive("recall_score"),
    "specificity": positive("recall_score", pos_label=0),
    "ppv": positive("precision_score"),
    "f-beta:2": positive("fbeta_score", beta=2),
    "cohen-kappa": positive("cohen_kappa_score"),
}


def called(name: str, **how: Any) -> Peer:
    """Judge first choices of several conditions."""
    return peer_of(name, lambda s: s.argmax(axis=1), **how)


def one_against_the_rest(name: str) -> Peer:
    function = getattr(peers, name)
    return lambda y, s, w: float(
        np.mean([function((y == k).astype(int), s[:, k], sample_weight=w) for k in range(s.shape[1])])
    )


SEVERAL: Mapping[str, Peer] = {
    "auroc": one_against_the_rest("roc_auc_score"),
    "f-beta": called("f1_score", average="macro"),
    "matthews": called("matthews_corrcoef"),
    "cohen-kappa": called("cohen_kappa_score"),
    "cohen-kappa:quadratic": called("cohen_kappa_score", weights="quadratic"),
}


def scores_of(rng: np.random.Generator, truth: IntArray, n_conditions: int, decimals: int) -> FloatArray:
    """Make scores that follow the truth; with one decimal, many are tied between cases, none within one."""
    drawn = rng.dirichlet(np.ones(n_conditions), size=N) + 0.5 * np.eye(n_conditions)[truth]
    rounded = (drawn / drawn.sum(axis=1, keepdims=True)).round(decimals)
    rounded[np.arange(N), rounded.argmax(axis=1)] += 0.05
    return np.asarray((rounded + 0.01) / 1.1)  # as no probability is above one


def evaluated(
    truth: IntArray, scores: Mapping[str, FloatArray], metrics: list[str], weights: FloatArray, **how: Any
) -> ds.Evaluation:
    """Let four annotators agree on every case, one vote each."""
    names = CONDITIONS[: next(iter(scores.values())).shape[1]]
    said = ds.Study.from_rankings(
        [[[[names[label]]]] * 4 for label in truth],
        names,
        case_weights=weights.tolist(),
        question="binary" if len(names) == 2 else "grades",
    )
    asked: dict[str, Any] = {"aggregations": [MajorityVote()], "metrics": metrics, **how}
    return ds.evaluate(said, scores, panel=False, annotators="fixed", **asked)


def cases(n_conditions: int, seed: int, *, weighted: bool) -> tuple[IntArray, dict[str, FloatArray], FloatArray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_conditions, N)
    weights = rng.uniform(0.3, 3.0, N) if weighted else np.ones(N)
    scores = {name: scores_of(rng, truth, n_conditions, decimals) for name, decimals in (("tied", 1), ("fine", 9))}
    return truth, scores, weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_conditions", "wanted"), [(2, BINARY), (4, SEVERAL)], ids=["two", "several"])
def test_unanimous_annotators_give_what_scikit_learn_gives(
    n_conditions: int, wanted: Mapping[str, Peer], weighted: bool
) -> None:
    truth, scores, weights = cases(n_conditions, 3, weighted=weighted)
    result = evaluated(truth, scores, list(wanted), weights)
    table = result.to_frame().filter(run="majority-vote")
    for metric, (text, peer) in zip(result.metrics, wanted.items(), strict=True):
        for model, given in scores.items():
            found = table.filter(metric=metric.name, model=model)["mean"].item()
            assert found == pytest.approx(peer(truth, given, weights), rel=EXACT, abs=EXACT), text
    if n_conditions == 2:  # agreement with unanimous annotators is the metric itself
        alone = result.to_frame().filter(run="annotators")["mean"]
        np.testing.assert_allclose(alone, table["mean"], rtol=EXACT, atol=EXACT)


def test_groups_are_what_scikit_learn_gives_on_their_cases_alone() -> None:
    truth, scores, weights = cases(2, 7, weighted=True)
    sites = np.array(["north", "south", "east"])[np.random.default_rng(1).integers(0, 3, N)]
    result = evaluated(truth, scores, list(BINARY), weights, strata={"site": sites.tolist()})
    table = result.by_group("site").filter(estimand="adjusted", model="fine")
    for metric, (text, peer) in zip(result.metrics, BINARY.items(), strict=True):
        for site in np.unique(sites):
            own = sites == site
            found = table.filter(metric=metric.name, stratum=site)["mean"].item()
            assert found == pytest.approx(peer(truth[own], scores["fine"][own], weights[own]), rel=EXACT), text


def test_a_group_without_positive_cases_is_undefined_where_the_metric_needs_them() -> None:
    truth, scores, weights = cases(2, 9, weighted=False)
    truth[:20] = 0
    sites = ["calm"] * 20 + ["busy"] * 40
    result = evaluated(truth, scores, ["auroc", "sensitivity", "specificity"], weights, strata={"site": sites})
    calm = result.by_group("site").filter(estimand="adjusted", model="fine", stratum="calm")
    rows = {row["metric"]: row for row in calm.iter_rows(named=True)}
    for name in ("AUROC", "sensitivity at 0.5"):
        assert all(np.isnan(rows[name][column]) for column in ("mean", "low", "high"))
    assert rows["specificity at 0.5"]["mean"] == pytest.approx(
        BINARY["specificity"](truth[:20], scores["fine"][:20], weights[:20])
    )
    nobody = evaluated(0 * truth, scores, ["auroc"], weights)
    assert np.isnan(nobody.to_frame()["mean"].to_numpy()).all()
    assert any("only 0 of 60 cases are positive" in warning for warning in nobody.warnings)


def test_categories_are_what_scikit_learn_gives_on_their_cases_alone() -> None:
    truth, scores, weights = cases(4, 11, weighted=True)
    groups = ds.Categories.from_labels(["low", "low", "high", "high"], CONDITIONS)
    wanted = {text: SEVERAL[text] for text in ("cohen-kappa", "cohen-kappa:quadratic", "matthews")}
    result = evaluated(truth, scores, list(wanted), weights, categories=groups)
    table = result.by_category().filter(estimand="adjusted", model="fine")
    for metric, (text, peer) in zip(result.metrics, wanted.items(), strict=True):
        for category, codes in (("low", (0, 1)), ("high", (2, 3))):
            own = np.isin(truth, codes)
            found = table.filter(pl.col("category") == category, metric=metric.name)["mean"].item()
            assert found == pytest.approx(peer(truth[own], scores["fine"][own], weights[own]), rel=EXACT), text
