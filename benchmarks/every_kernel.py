"""Call every kernel once, through the public functions, and say what compiling them took.

Run as a program in a fresh process: it prints the seconds of processor time as JSON, those of aggregation and all
together, and the kernels that were compiled never, or more than once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from numba.core.dispatcher import Dispatcher

import dissensus.kernels
from dissensus import (
    Annotations,
    AnnotatorBootstrap,
    Categories,
    Dirichlet,
    InverseRank,
    MajorityVote,
    NormalInverseGamma,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
    Ratings,
    annotation_certainty,
    certainty_of,
    evaluate,
    plackett_luce_log_likelihood,
    sampling_diagnostics,
)
from dissensus.aggregation import Aggregation
from dissensus.metrics import (
    AverageOverlap,
    BrierScore,
    CategoryAccuracy,
    Coverage,
    ExpectedAccuracy,
    ExpectedCoverage,
    KendallTau,
    LogScore,
    Overlap,
    RankBiasedOverlap,
    SetAccuracy,
    SetSize,
    SpearmanFootrule,
    TopKAccuracy,
)
from dissensus.predictions.lists import Predictions

CONDITIONS = ("a", "b", "c", "d", "e", "f")
RANKINGS = [[[["a", "b", "c"], ["d"]], [["b"], ["c", "a"]]], [[["e"], ["a"]], [["a", "e"]]]]
RATINGS = [[-2.0, -1.0], [1.0, 2.0, 0.5]]
SCORES = [[0.3, 0.3, 0.1, 0.1, 0.1, 0.1], [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]]
SETS = [["a", "f"], ["b"]]
METRICS_OF_SCORES = (
    TopKAccuracy(2),
    SetAccuracy(2),
    Overlap(2),
    AverageOverlap(3),
    RankBiasedOverlap(0.9, 3),
    KendallTau(3),
    SpearmanFootrule(3),
    CategoryAccuracy(["x", "x", "x", "y", "y", "y"]),
    ExpectedAccuracy(),
    LogScore(),
    BrierScore(),
)
METRICS_OF_SETS = (Coverage(), ExpectedCoverage(), SetSize())


def aggregations() -> list[Aggregation]:
    """Give one of each that draws from rankings; a reliability that is no whole number takes the longest way."""
    points = (MajorityVote(), InverseRank(ties="each"), PlackettLuceML())
    drawn = (PlackettLuce(reliability=1.3), Dirichlet(), ProbabilisticInverseRank(reliability=10))
    return [*points, *drawn, AnnotatorBootstrap(InverseRank()), AnnotatorBootstrap(PlackettLuceML())]


def aggregate() -> None:
    """Draw, summarise and diagnose two small cases in every way."""
    said = Annotations.from_rankings(RANKINGS, CONDITIONS)
    for aggregation in aggregations():
        plausibilities = aggregation.sample(said, draws=40)
        plausibilities.summary()
        plausibilities.dense()
        sampling_diagnostics(plausibilities)
    plackett_luce_log_likelihood(said, np.arange(1.0, 7.0))
    intervals = NormalInverseGamma().sample(Ratings.from_scores(RATINGS), draws=20)
    intervals.summary()
    sampling_diagnostics(intervals)


def judge() -> None:
    """Evaluate models and ask for certainty in every way."""
    said = Annotations.from_rankings(RANKINGS, CONDITIONS)
    scores = evaluate(said, {"scores": SCORES}, aggregations=aggregations(), metrics=METRICS_OF_SCORES, draws=5)
    scores.to_frame()
    sets = {"sets": Predictions.from_sets(SETS, CONDITIONS)}
    evaluate(said, sets, aggregations=aggregations(), metrics=METRICS_OF_SETS, draws=5)
    categories = Categories.from_labels(["rare", "rare", "common"] * 2, CONDITIONS)
    annotation_certainty(PlackettLuce().sample(said, draws=20), categories=categories)
    certainty_of(PlackettLuce().sample(said, draws=20), "a", unranked="pool")


def first_time_only(function: Callable[[], None]) -> float:
    """Return the processor time of a first call less that of a second one."""
    times = [time.process_time()]
    for _ in range(2):
        function()
        times.append(time.process_time())
    first, second = np.diff(times)
    return float(first - second)


def kernels() -> dict[str, Dispatcher]:
    """Find all functions that Numba compiles, by module and name."""
    names = [module.name for module in iter_modules(dissensus.kernels.__path__)]
    modules = {name: import_module(f"dissensus.kernels.{name}") for name in names}
    return {
        f"{name}.{key}": value
        for name, module in modules.items()
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }


def main() -> None:
    """Print what compiling took."""
    found = kernels()
    aggregating, judging = first_time_only(aggregate), first_time_only(judge)
    how_often = {name: len(kernel.signatures) for name, kernel in found.items()}
    print(
        json.dumps(
            {
                "aggregating": aggregating,
                "all": aggregating + judging,
                "kernels": len(found),
                "never": [name for name, times in how_often.items() if times == 0],
                "repeatedly": [name for name, times in how_often.items() if times > 1],
            }
        )
    )


if __name__ == "__main__":
    main()
