"""Where annotators are unanimous, evaluations by metrics of a whole data set give what scikit-learn gives, all the way.

Weights of cases, tied scores, several conditions one against the rest, strata in which a class is absent, categories.
"""

import re
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


def called(name: str, **how: Any) -> Peer:
    """Judge first choices by a function of scikit-learn."""
    function = getattr(peers, name)
    return lambda y, s, w: float(function(y, s.argmax(axis=1), sample_weight=w, **how))


def one_against_the_rest(name: str) -> Peer:
    function = getattr(peers, name)
    return lambda y, s, w: float(
        np.mean([function((y == k).astype(int), s[:, k], sample_weight=w) for k in range(s.shape[1])])
    )


# By the number of conditions.
WANTED: Mapping[int, Mapping[str, Peer]] = {
    2: {
        "auroc": lambda y, s, w: float(peers.roc_auc_score(y, s[:, 1], sample_weight=w)),
        "sensitivity": called("recall_score"),
        "specificity": called("recall_score", pos_label=0),
        "ppv": called("precision_score"),
        "f-beta:2": called("fbeta_score", beta=2),
        "cohen-kappa": called("cohen_kappa_score"),
    },
    4: {
        "auroc": one_against_the_rest("roc_auc_score"),
        "f-beta": called("f1_score", average="macro"),
        "matthews": called("matthews_corrcoef"),
        "cohen-kappa": called("cohen_kappa_score"),
        "cohen-kappa:quadratic": called("cohen_kappa_score", weights="quadratic", labels=range(4)),
    },
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


def cases(n_conditions: int, seed: int) -> tuple[IntArray, dict[str, FloatArray], FloatArray]:
    rng = np.random.default_rng(seed)
    truth, weights = rng.integers(0, n_conditions, N), rng.uniform(0.3, 3.0, N)
    return truth, {name: scores_of(rng, truth, n_conditions, n) for name, n in (("tied", 1), ("fine", 9))}, weights


@pytest.mark.parametrize("n_conditions", WANTED)
def test_unanimous_annotators_give_what_scikit_learn_gives(n_conditions: int) -> None:
    """Of all cases, those of a site, and of matrices those of a category."""
    truth, scores, weights = cases(n_conditions, 3)
    sites, wanted = np.array(["north", "south"])[np.random.default_rng(1).integers(0, 2, N)], WANTED[n_conditions]
    how: dict[str, Any] = {"strata": {"site": sites.tolist()}}
    if n_conditions == 4:
        how["categories"] = ds.Categories.from_labels(["low", "low", "high", "high"], CONDITIONS)
    result = evaluated(truth, scores, list(wanted), weights, **how)
    # agreement with unanimous annotators is the metric itself
    places = [(result.to_frame().filter(estimand=one), truth >= 0, "") for one in ("adjusted", "agreement")]
    of_sites, of_risks = (
        table.filter(estimand="adjusted") for table in (result.by_group("site"), result.by_category())
    )
    places += [(of_sites.filter(stratum=site), sites == site, "") for site in ("north", "south")]
    risks = {"low": truth < 2, "high": truth >= 2} if n_conditions == 4 else {}
    places += [(of_risks.filter(pl.col("category") == risk), own, "kappa|matthews") for risk, own in risks.items()]
    for table, own, some in places:
        for metric, (text, peer) in zip(result.metrics, wanted.items(), strict=True):
            for model, given in scores.items() if re.search(some, text) else ():
                found = table.filter(metric=metric.name, model=model)["mean"].item()
                assert found == pytest.approx(peer(truth[own], given[own], weights[own]), rel=EXACT, abs=EXACT), text


def test_a_group_without_positive_cases_is_undefined_where_the_metric_needs_them() -> None:
    truth, scores, weights = cases(2, 9)
    truth[:20] = 0
    sites = ["calm"] * 20 + ["busy"] * 40
    result = evaluated(truth, scores, ["auroc", "sensitivity", "specificity"], weights, strata={"site": sites})
    calm = result.by_group("site").filter(estimand="adjusted", model="fine", stratum="calm")
    means = {row["metric"]: row["mean"] for row in calm.iter_rows(named=True)}
    expected = WANTED[2]["specificity"](truth[:20], scores["fine"][:20], weights[:20])
    assert list(means.values()) == pytest.approx([np.nan, np.nan, expected], nan_ok=True)
    assert calm.filter(pl.col("metric") != "specificity at 0.5").select("low", "high").to_numpy() == pytest.approx(
        np.full((2, 2), np.nan), nan_ok=True
    )
    nobody = evaluated(0 * truth, scores, ["auroc"], np.ones(N))
    assert np.isnan(nobody.to_frame()["mean"].to_numpy()).all()
    assert any("only 0 of 60 cases are positive" in warning for warning in nobody.warnings)
