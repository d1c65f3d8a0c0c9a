"""One number with its interval: a metric of one model, without anything else."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from dissensus.core.aliases import Readable
from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError
from dissensus.evaluation.estimates import AGREEMENT
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.request import ONE
from dissensus.metrics.base import Metric
from dissensus.study.reading import as_study

# What a score is against: one annotator, taken at random, or the majority vote (of ratings, their mean).
Against: TypeAlias = Literal["annotator", "majority"]


class Score(NamedTuple):
    """The value of a metric, and the interval in which it lies on cases like these."""

    value: float
    low: float
    high: float


def score(
    study: Readable,
    predictions: Any,
    metric: Metric | str,
    *,
    against: Against = "annotator",
    level: float = 0.95,
    seed: int = 0,
) -> Score:
    """Return a metric of one model with its interval.

    Parameters
    ----------
    study, predictions
        As in :func:`evaluate`, of one model.
    metric
        A spec or any of its names, such as ``"accuracy"``, ``"auc"`` or ``"top-3 accuracy"``.
    against
        One ``"annotator"`` of each case, taken at random, or the ``"majority"`` vote (of ratings, their mean).
    level
        Probability that the interval holds.
    seed
        Same seed, same resamples.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["no", "yes"], question="binary")
    >>> found = ds.score(said, [0.1, 0.8] * 10, "accuracy")
    >>> found.value, found.low < found.value < found.high
    (0.875, True)
    """
    check_choice("against", against, get_args(Against))
    said = as_study(study)
    point = "mean-rating" if said.kind == "ratings" else "majority-vote"
    one = {ONE: predictions}
    result = evaluate(said, one, aggregations=[point], metrics=[metric], panel=False, level=level, seed=seed)
    rows = [row for row in result.to_frame().to_dicts() if (row["estimand"] == AGREEMENT) == (against == "annotator")]
    if not rows or math.isnan(rows[0]["mean"]):
        raise DissensusError(
            f"{result.metrics[0].name} has no value against one {against}",
            advice="say against='majority'" if against == "annotator" else "choose another metric",
        )
    return Score(*(float(rows[0][name]) for name in ("mean", "low", "high")))
