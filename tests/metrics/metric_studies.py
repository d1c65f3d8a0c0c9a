"""Small studies and predictions for the tests of metrics, and every metric with the parameters that fit them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dissensus as ds
from dissensus.core.arrays import FloatArray
from dissensus.metrics import CategoryAccuracy, KendallTau, LogScore, SpearmanFootrule
from dissensus.metrics.data_set import DataSetMetric
from dissensus.metrics.grades import GradeMetric
from dissensus.metrics.lists import SetMetric
from dissensus.plugins import Aggregation, Batch, Drawn, Metric, Predicted
from strategies import rankings

AGGREGATIONS: tuple[Aggregation, ...] = (
    ds.aggregations.PlackettLuce(reliability=2, alpha=1.0, prior="observed"),
    ds.aggregations.PlackettLuce(reliability=0.5, prior="symmetric", alpha=0.3),
    ds.aggregations.Dirichlet(alpha=0.5),
    ds.aggregations.Dirichlet(reliability=0.3, alpha=2.0),
    ds.aggregations.ProbabilisticInverseRank(reliability=5),
    ds.aggregations.MajorityVote(),
    ds.aggregations.InverseRank(),
    ds.aggregations.InverseRank(ties="each"),
    ds.aggregations.PlackettLuceML(),
    ds.aggregations.AnnotatorBootstrap(ds.aggregations.PlackettLuceML()),
)

KINDS = tuple(
    kind
    for kind in Metric.family.known().values()
    if not issubclass(kind, DataSetMetric) and kind.accepts != ("numbers",)
)
"""Metrics of conditions that have a value of every case and draw."""


def metrics_for(n_conditions: int, *, some: Sequence[int] | None = None) -> list[Metric]:
    """Give every metric with some numbers of places, or with all that K conditions allow."""
    wanted = range(1, n_conditions + 1) if some is None else some
    found = [kind.from_parameters(chosen) for kind in KINDS for chosen in parameters_for(kind, n_conditions, wanted)]
    return [*found, LogScore(floor=0.01)]


def parameters_for(kind: type[Metric], n_conditions: int, wanted: Sequence[int]) -> list[dict[str, Any]]:
    """Choose parameters of a kind of metric by their names."""
    names = [part.name for part in kind.parameter_fields()]
    last = n_conditions if kind in (KendallTau, SpearmanFootrule) else n_conditions - 1
    within = [k for k in wanted if k <= last]
    if "truth" in names and issubclass(kind, GradeMetric):
        near = [{"distance": d} for d in (0, 1, 2)] if "distance" in names else [{}]
        return [{**one, "truth": truth} for one in near for truth in ("top", "soft")]
    if "j" in names:
        return [{"k": k, "j": j} for k in within for j in {1, 2, k - 1, k} if 1 <= j <= k]
    if "k" in names:
        fixed = {"categories": [i // 2 for i in range(n_conditions)]} if kind is CategoryAccuracy else {}
        return [{**fixed, "k": k} for k in [*within, *([None] if issubclass(kind, SetMetric) else [])]]
    return [{"depth": depth} for depth in wanted] if "depth" in names else [{}]


def fits(metric: Metric, predictions: ds.Predictions) -> bool:
    """Tell whether a metric is made for such predictions."""
    if isinstance(metric, SetMetric) and metric.k is None:
        return predictions.kind == "set"
    if isinstance(metric, SetMetric) and predictions.kind == "set":
        return bool((predictions.entries_per_case == metric.k).all())
    return predictions.kind in metric.accepts


def measured(metric: Metric, batch: Batch, predictions: ds.Predictions) -> FloatArray:
    metric.check(predictions)
    return metric.values(Drawn(batch, metric.depth_for(predictions)), Predicted(predictions, batch))


def all_values(metric: Metric, drawn: ds.Plausibilities, predictions: ds.Predictions) -> FloatArray:
    return np.concatenate([measured(metric, batch, predictions) for batch in drawn])


def one_batch(drawn: ds.Plausibilities) -> Batch:
    """Draw all cases at once."""
    return drawn.sampler(np.arange(drawn.n_cases))


def dense_order(batch: Batch) -> FloatArray:
    """Return what the conditions of dense draws are compared by, shape (n_cases, n_draws, K)."""
    return replace(batch, values=batch.compared).dense()


def names_of(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


@st.composite
def small_studies(draw: st.DrawFn, *, most: int = 5) -> ds.Study:
    """Draw a few cases over 2 to 5 conditions, each with at least one opinion."""
    n_conditions = draw(st.integers(2, most))
    opinion = rankings(n_conditions).filter(bool)
    nested = draw(st.lists(st.lists(opinion, min_size=1, max_size=3), min_size=1, max_size=2))
    return ds.Study.from_rankings(nested, names_of(n_conditions))


@st.composite
def predictions_for(draw: st.DrawFn, study: ds.Study) -> ds.Predictions:
    """Draw what a model says: scores, short lists of scores, rankings or sets, with many ties."""
    conditions, cases = study.conditions, study.case_names
    kind = draw(st.sampled_from(("scores", "list", "ranking", "set")))
    if kind == "set":
        members = st.lists(st.sampled_from(conditions), unique=True)
        return ds.Predictions.from_sets([draw(members) for _ in cases], conditions, case_names=cases)
    if kind == "ranking":
        ranked: list[Sequence[Sequence[int]]] = [draw(rankings(len(conditions))) for _ in cases]
        return ds.Predictions.from_rankings(ranked, conditions, case_names=cases)
    row = st.lists(st.integers(0, 3), min_size=len(conditions), max_size=len(conditions)).filter(any)
    scores = np.array([draw(row) for _ in cases], dtype=np.float64)
    if kind == "scores":
        return ds.Predictions.from_scores(scores, conditions, case_names=cases)
    return short_lists(ds.Predictions.from_scores(scores, conditions, case_names=cases))


def short_lists(complete: ds.Predictions) -> ds.Predictions:
    """Leave out the scores of zero."""
    kept = complete.values > 0
    counts = np.bincount(complete.case_of_entry[kept], minlength=complete.n_cases)
    return ds.Predictions(
        complete.name,
        "scores",
        complete.conditions,
        complete.case_names,
        np.concatenate([[0], np.cumsum(counts)]),
        complete.codes[kept],
        complete.values[kept],
    )
