"""Small exercises that call every kernel, through the functions that users call."""

from __future__ import annotations

import numpy as np

from dissensus.aggregation.annotator_bootstrap import AnnotatorBootstrap
from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.dawid_skene import DawidSkene
from dissensus.aggregation.diagnostics import sampling_diagnostics
from dissensus.aggregation.dirichlet import Dirichlet
from dissensus.aggregation.inverse_rank import InverseRank
from dissensus.aggregation.majority_vote import MajorityVote
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.aggregation.ordered_probit import OrderedProbit
from dissensus.aggregation.plackett_luce import PlackettLuce, plackett_luce_log_likelihood
from dissensus.aggregation.plackett_luce_ml import PlackettLuceML
from dissensus.aggregation.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.evaluation.calibration import calibrate
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.certainty import annotation_certainty, certainty_of
from dissensus.evaluation.evaluator import evaluate
from dissensus.metrics.accuracy import ExpectedAccuracy, TopKAccuracy
from dissensus.metrics.calibration_error import CalibrationError
from dissensus.metrics.category_accuracy import CategoryAccuracy
from dissensus.metrics.confusion import CohenKappa
from dissensus.metrics.data_set import Said
from dissensus.metrics.decisions import Sensitivity
from dissensus.metrics.overlap import AverageOverlap, Overlap, RankBiasedOverlap
from dissensus.metrics.probabilities import BrierScore, LogScore
from dissensus.metrics.ranking import AUROC, AveragePrecision, PartialAUROC
from dissensus.metrics.sets import Coverage, ExpectedCoverage, SetAccuracy, SetSize
from dissensus.metrics.similarity import KendallTau, SpearmanFootrule
from dissensus.predictions.lists import Predictions
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings

CONDITIONS = ("a", "b", "c", "d", "e", "f")
SAID = Annotations.from_rankings(
    [[[["a", "b", "c"], ["d"]], [["b"], ["c", "a"]]], [[["e"], ["a"]], [["a", "e"]]]], CONDITIONS
)
SCORES = [[0.3, 0.3, 0.1, 0.1, 0.1, 0.1], [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]]
METRICS_OF_SCORES = (
    TopKAccuracy(2),
    TopKAccuracy(2, j=2),
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
METRICS_OF_DATA_SETS = (AUROC(), AveragePrecision(), PartialAUROC(), Sensitivity(), CohenKappa(), CalibrationError())


def draw(*aggregations: Aggregation) -> None:
    """Draw from each."""
    for aggregation in aggregations:
        for _ in aggregation.sample(SAID, draws=20):
            pass


def sample_plackett_luce() -> None:
    """Take the longest way: a reliability that is no whole number; and races at plausibilities to a power."""
    draw(PlackettLuce(reliability=1.3), PlackettLuce(reliability=2, tempered=True))


def learn_annotators() -> None:
    """Draw from what learns how annotators err."""
    draw(DawidSkene(warmup=1), DawidSkene(target="votes", warmup=1))


def grade() -> None:
    """Draw from what learns limits between grades."""
    for _ in OrderedProbit(warmup=1).sample(SAID.asked("grades"), draws=8):
        pass


def maximise_likelihood() -> None:
    """Ask for the likelihood and for what maximises it."""
    plackett_luce_log_likelihood(SAID, np.arange(1.0, 7.0))
    draw(PlackettLuceML(), AnnotatorBootstrap(PlackettLuceML()))


def count_opinions() -> None:
    """Draw from what needs no chain."""
    draw(MajorityVote(), InverseRank(ties="each"), AnnotatorBootstrap(InverseRank()))
    draw(Dirichlet(), ProbabilisticInverseRank(reliability=10))
    drawn = Dirichlet(prior="frequency", alpha=5.0).sample(SAID, draws=20)
    annotation_certainty(drawn)
    for batch in drawn:
        batch.dense()
        batch.plausibility_of(0, 5, np.arange(3))


def summarise() -> None:
    """Summarise draws of plausibilities and of ratings, and diagnose them."""
    ratings = Ratings.from_scores([[-2.0, -1.0], [1.0, 2.0, 0.5]])
    for plausibilities in (Dirichlet().sample(SAID, draws=40), NormalInverseGamma().sample(ratings, draws=40)):
        plausibilities.summary()
        plausibilities.dense()
        sampling_diagnostics(plausibilities)


def ask_for_certainty() -> None:
    """Ask how certain annotations are, of draws that differ and of draws with ties."""
    for aggregation in (MajorityVote(), InverseRank()):
        annotation_certainty(aggregation.sample(SAID, draws=20), top=2)


def hold_out() -> None:
    """Leave annotators out and cut panels in two."""
    calibrate(SAID, [Dirichlet()], draws=20)


def judge() -> None:
    """Evaluate models by what needs no draws."""
    aggregations = (MajorityVote(), InverseRank())
    sets = Predictions.from_sets([["a", "f"], ["b"]], CONDITIONS)
    evaluate(SAID, {"scores": SCORES}, aggregations=aggregations, metrics=METRICS_OF_SCORES, draws=5).to_frame()
    evaluate(SAID, {"sets": sets}, aggregations=aggregations, metrics=METRICS_OF_SETS, draws=5).to_frame()
    categories = Categories.from_labels(["rare", "rare", "common"] * 2, CONDITIONS)
    annotation_certainty(InverseRank().sample(SAID, draws=20), categories=categories)
    certainty_of(InverseRank().sample(SAID, draws=20), "a", unranked="pool")
    rank_cases()


def rank_cases() -> None:
    """Ask all cases at once whether a condition is the one."""
    said, labels = Said.of_scores(np.array(SCORES)), np.full((2, len(CONDITIONS), len(SCORES)), 1 / len(CONDITIONS))
    for metric in METRICS_OF_DATA_SETS:
        metric.of_draws(said, labels)
        metric.slopes(said, labels[0])


EXERCISES = {
    "certainty": ask_for_certainty,
    "maximum likelihood": maximise_likelihood,
    "plackett-luce": sample_plackett_luce,
    "dawid-skene": learn_annotators,
    "ordered probit": grade,
    "evaluation": judge,
    "counts": count_opinions,
    "summaries": summarise,
    "held out": hold_out,
}
