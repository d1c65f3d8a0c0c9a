"""What metrics refuse: predictions that do not fit, and parameters out of range."""

from functools import partial
from typing import Any

import numpy as np

import dissensus as ds
from dissensus import metrics as m
from dissensus.aggregations import MajorityVote
from dissensus.plugins import Drawn, Metric, Predicted
from metrics.metric_studies import one_batch
from refusals import refused

N, N_CASES = 50, 12
NAMES = [f"c{i}" for i in range(N)]
RNG = np.random.default_rng(4)
SCORES = RNG.dirichlet(np.ones(N), size=N_CASES)
MODEL = ds.Predictions.from_scores(SCORES, NAMES)


TWO = ds.Predictions.from_sets([["a", "b"], ["c"]], ["a", "b", "c"], case_names=["x", "y"], name="net")
LOGITS = ds.Predictions.from_scores([[1.0, 2.0], [0.5, -2.0]], ["a", "b"], name="net")
RANKED = ds.Predictions.from_rankings([["a"]], ["a", "b"])
NOTHING = ds.Predictions("net", "scores", ("a", "b"), ("0",), np.array([0, 0]), np.empty(0, np.int64), np.empty(0))
WRONG: list[tuple[Metric, ds.Predictions, str]] = [
    (m.TopKAccuracy(N), MODEL, "looks at 50 conditions of 50"),
    (m.SetAccuracy(N), MODEL, "1 to 49"),
    (m.Overlap(N + 1), MODEL, "looks at 51"),
    (m.AverageOverlap(N + 1), MODEL, "1 to 50"),
    (m.RankBiasedOverlap(depth=60), MODEL, "1 to 50"),
    (m.KendallTau(N + 1), MODEL, "1 to 50"),
    (m.CategoryAccuracy([0, 1]), MODEL, "number of categories"),
    (m.SetAccuracy(), MODEL, r"set accuracy needs sets(.|\n)*got: +scores(.|\n)*set-accuracy:3"),
    (m.Overlap(), MODEL, r"overlap needs sets(.|\n)*got: +scores(.|\n)*overlap:3"),
    (m.Coverage(), MODEL, r"coverage needs sets(.|\n)*Predictions.from_sets(.|\n)*top-k-accuracy"),
    (m.SetAccuracy(2), TWO, r"needs sets of 2 conditions\n.*a set of 1\n.*'net', case 'y'\n.*: set-accuracy compares"),
    (m.Overlap(2), TWO, r"top-2 overlap needs sets of 2(.|\n)*leave the number out"),
    (m.TopKAccuracy(1), TWO, r"needs scores or rankings\n.*sets of cond(.|\n)*scores behind(.|\n)*coverage, exp"),
    (m.LogScore(), LOGITS, r"needs probabilities\n.*\n.*-2\n.*'net', case '1'\n.*softmax"),
    (m.BrierScore(), NOTHING, "at least one score above 0"),
    (m.BrierScore(), RANKED, r"Brier score needs scores\n.*rankings"),
]


def test_predictions_that_do_not_fit_are_refused() -> None:
    batch = one_batch(MajorityVote().sample(ds.Study.from_rankings([[[[0]]]] * N_CASES, NAMES)))
    for metric, predictions, message in WRONG:
        refused(message, metric.check, predictions)
    refused("different conditions", Predicted, ds.Predictions.from_scores([[0.1, 0.9]]), batch)
    other = ds.Predictions.from_scores(SCORES, NAMES, case_names=[f"x{i}" for i in range(N_CASES)])
    refused("unknown case '0'", m.TopKAccuracy(1).values, Drawn(batch, 1), Predicted(other, batch))


def test_parameters_out_of_range_are_refused() -> None:
    places: tuple[Any, ...] = (m.TopKAccuracy, m.SetAccuracy, m.Overlap, m.AverageOverlap, m.KendallTau)
    wrong: list[tuple[Any, Any, str]] = [
        *(
            (kind, k, "whole number, one or more")
            for kind in (*places, m.ExpectedAccuracy)
            for k in (0, -1, 1.5, True, "3")
        ),
        *((m.RankBiasedOverlap, persistence, "above 0 and below 1") for persistence in (0, 1, 2, "much")),
        (m.LogScore, -0.1, "floor must be"),
        (partial(m.TopKAccuracy, j=3), 2, r"j must be at most k\n.*1 to 2\n.*3"),
        (partial(m.TopKAccuracy, j=0), 2, "j must be a whole number"),
    ]
    for make, value, message in wrong:
        refused(message, make, value)
