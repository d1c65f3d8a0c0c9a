"""The settings of Stutz et al., Evaluating medical AI systems in dermatology under uncertain ground truth."""

from __future__ import annotations

from typing import Any

from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.metrics.accuracy import AverageOverlap, SetAccuracy, TopKAccuracy


def paper() -> dict[str, Any]:
    """Return the settings of the paper as arguments of :func:`evaluate`.

    Plackett-Luce with shape 1 of the observed conditions and of all others together, and probabilistic inverse ranks
    that give every tied condition the full weight of its rank (as the printed numbers do; the equation of the paper
    shares it), each at five reliabilities; the metrics of its main figure; no panel estimate; annotators as they are.
    Uncertainty-adjusted metrics lead, at the middle reliability, which the paper calls medium. Draws per case are 1000
    as by default. The paper has no intervals over cases: their level is the default.

    Examples
    --------
    >>> import dissensus as ds
    >>> simulated = ds.simulate.study(n_cases=20)
    >>> result = ds.evaluate(simulated.annotations, simulated.predictions, draws=100, **ds.paper())
    >>> [run.label for run in result.runs][:3], result.run_label(result.headline)
    (['plackett-luce 1', 'plackett-luce 2', 'plackett-luce 3'], 'plackett-luce 3')
    >>> [metric.name for metric in result.metrics]
    ['top-3 accuracy', 'top-2 set accuracy', 'top-3 set accuracy', 'average overlap at 3']
    """
    return {
        "aggregations": (
            *(PlackettLuce(reliability=gamma, alpha=1.0, prior="observed") for gamma in (1, 2, 3, 5, 10)),
            *(ProbabilisticInverseRank(reliability=gamma, ties="each") for gamma in (10, 20, 30, 50, 100)),
        ),
        "metrics": (TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3)),
        "annotators": "fixed",
        "panel": False,
        "leads": "adjusted",
    }
