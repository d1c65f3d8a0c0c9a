"""CIFAR-10H with three real classifiers: known accuracies, and every adjusted number against plain NumPy."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, top_k_accuracy_score

import dissensus as ds
from dissensus.aggregations import Dirichlet, MajorityVote
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.metrics import BrierScore, ExpectedAccuracy, LogScore, Overlap, SetAccuracy, TopKAccuracy
from dissensus.plugins import Metric
from shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]

MODELS = ("densenet", "preresnet", "resnet")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ACCURACIES = [0.9668, 0.9506, 0.9389]
ACCURATE = (TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2), Overlap(2), ExpectedAccuracy(1))
METRICS: tuple[Metric, ...] = (*ACCURATE, BrierScore())
N_DRAWS = 200
ERRORS = 4.5
"""Differences are refused beyond this many Monte Carlo standard errors: one in 100 000 by chance."""


@cache
def array(name: str) -> FloatArray:
    return np.asarray(np.load(SHARED / "cifar10h" / f"{name}.npy"))


def scores() -> dict[str, FloatArray]:
    return {model: array(f"scores_{model}").astype(np.float64) for model in MODELS}


def labels() -> IntArray:
    return array("true_labels").astype(np.int64)


@pytest.fixture(scope="module")
def adjusted() -> ds.Evaluation:
    said = ds.Study.from_counts(array("cifar10h-counts"), CLASSES)
    how = {"draws": N_DRAWS, "seed": 4, "panel": False, "level": 0.9}
    return ds.evaluate(said, scores(), aggregations=[Dirichlet(1, alpha=1)], metrics=METRICS, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plain() -> FloatArray:
    """Compute every metric by NumPy alone, (draws, models, metrics, cases)."""
    rng = np.random.default_rng(8)
    given = list(scores().values())
    orders = [np.argsort(-matrix, axis=1) for matrix in given]
    probabilities = [matrix / matrix.sum(axis=1, keepdims=True) for matrix in given]
    found = np.empty((N_DRAWS, len(MODELS), len(METRICS), 10_000))
    for draw in range(N_DRAWS):
        theta = rng.gamma(array("cifar10h-counts") + 1.0)
        theta /= theta.sum(axis=1, keepdims=True)
        for m, (order, probability) in enumerate(zip(orders, probabilities, strict=True)):
            found[draw, m] = plain_values(theta, order, probability)
    return found


def plain_values(theta: FloatArray, order: IntArray, probability: FloatArray) -> FloatArray:
    best = np.argsort(-theta, axis=1)[:, :2]
    shared = (best[:, :, None] == order[:, None, :2]).sum(axis=(1, 2))
    mass = np.take_along_axis(theta, order[:, :1], axis=1)[:, 0]
    firsts = best[:, 0] == order[:, 0], (best[:, :1] == order[:, :3]).any(axis=1)
    brier = 1 - 2 * (theta * probability).sum(axis=1) + (probability**2).sum(axis=1)
    return np.stack([*firsts, shared == 2, shared / 2, mass, brier])


@pytest.fixture(scope="module")
def labelled() -> ds.Evaluation:
    """Evaluate against one certain label per image, as is usual."""
    said = ds.Study.from_counts(np.eye(10, dtype=np.int64)[labels()], CLASSES)
    metrics = (TopKAccuracy(1), TopKAccuracy(3), LogScore())
    return ds.evaluate(said, scores(), aggregations=[MajorityVote()], metrics=metrics, draws=1, panel=False)


def means(result: ds.Evaluation, metric: str) -> FloatArray:
    chosen = result.to_frame().filter(metric=metric, estimand="adjusted")
    assert chosen["model"].to_list() == list(MODELS)
    return chosen["mean"].to_numpy()


@pytest.mark.parametrize(
    ("metric", "oracle"),
    [
        ("top-1 accuracy", lambda truth, given: accuracy_score(truth, given.argmax(axis=1))),
        ("top-3 accuracy", lambda truth, given: top_k_accuracy_score(truth, given, k=3)),
        ("log score", lambda truth, given: -log_loss(truth, given / given.sum(axis=1, keepdims=True))),
    ],
)
def test_certain_labels_agree_with_scikit_learn(
    labelled: ds.Evaluation, metric: str, oracle: Callable[[IntArray, FloatArray], float]
) -> None:
    expected = [oracle(labels(), given) for given in scores().values()]
    np.testing.assert_allclose(means(labelled, metric), expected, rtol=1e-9)
    if metric == "top-1 accuracy":  # the known ones
        np.testing.assert_allclose(expected, ACCURACIES, rtol=0, atol=1e-12)


def test_adjusted_values_are_in_the_range_that_numpy_finds(adjusted: ds.Evaluation, plain: FloatArray) -> None:
    table = adjusted.to_frame().filter(estimand="adjusted")
    shape = (len(MODELS), len(METRICS))
    per_draw = plain.mean(axis=3)
    errors = np.hypot(per_draw.std(axis=0) / N_DRAWS**0.5, table["mc_error"].to_numpy().reshape(shape))
    assert (np.abs(table["mean"].to_numpy().reshape(shape) - per_draw.mean(axis=0)) < ERRORS * errors + 1e-6).all()
    assert (means(adjusted, "top-1 accuracy") < ACCURACIES).all()
    assert (table.filter(metric="top-1 accuracy")["difference"] > 0).all()


def test_comparisons_are_in_the_range_that_numpy_finds(adjusted: ds.Evaluation, plain: FloatArray) -> None:
    """Resample the cases' means over draws in NumPy; a quantile of draws has an error of about twice that of a mean."""
    by_case = plain.mean(axis=0)
    weights = np.random.default_rng(9).exponential(size=(10_000, 1000))
    resampled = (by_case @ weights) / weights.sum(axis=0)
    places = {name: place for place, name in enumerate(MODELS)}
    names = {metric.name: place for place, metric in enumerate(METRICS)}
    for gap in (one for one in adjusted.compare().differences if one.estimand == "adjusted"):
        first, second, metric = places[gap.first], places[gap.second], names[gap.metric]
        expected = resampled[first, metric] - resampled[second, metric]
        error = ERRORS * 2.2 * expected.std() * (1 / N_DRAWS + 1 / 1000) ** 0.5
        low, high = np.quantile(expected, [0.05, 0.95])
        assert abs(gap.difference - (by_case[first, metric] - by_case[second, metric]).mean()) < error
        assert abs(gap.low - low) < error
        assert abs(gap.high - high) < error


def test_the_order_of_the_classifiers_stands(adjusted: ds.Evaluation) -> None:
    """Accuracies differ by more than 1 % of 10 000 images: beyond all doubt about labels and images."""
    gaps = [gap for gap in adjusted.compare().differences if gap.metric == "top-1 accuracy"]
    accuracy = [gap for gap in gaps if gap.estimand == "adjusted"]
    pairs = [("densenet", "preresnet"), ("densenet", "resnet"), ("preresnet", "resnet")]
    assert [gap.verdict for gap in accuracy] == [f"{one} is better than {other}" for one, other in pairs]
    assert min(gap.probability_better for gap in accuracy) > 0.99
