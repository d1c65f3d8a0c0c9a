"""The paper's main figure against sampling alone; growth with cases and with conditions; memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dissensus import Predictions, Study, calibrate, evaluate, simulate
from dissensus.aggregations import PlackettLuce, ProbabilisticInverseRank
from dissensus.aggregations.case_prior import REFITS
from dissensus.evaluation.annotators import MOST_GROUPS, AnnotatorsAre
from dissensus.metrics import AverageOverlap, SetAccuracy, TopKAccuracy
from dissensus.plugins import Aggregation
from measuring import Record, in_turn, peak_memory, seconds
from studies import published_or_simulated
from test_aggregation import DRAWS, sampling

METRICS = (TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3))
SWEEP: tuple[Aggregation, ...] = (
    *(PlackettLuce(reliability=gamma, alpha=1.0, prior="observed") for gamma in (1, 2, 3, 5, 10)),
    *(ProbabilisticInverseRank(reliability=gamma, ties="each") for gamma in (10, 20, 30, 50, 100)),
)
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def said() -> Study:
    return published_or_simulated()


def noisy_models(said: Study, *, listed: int | None = None) -> dict[str, Predictions]:
    """Simulate four models that see the opinions through noise; with ``listed``, only their first conditions."""
    models = {}
    for seed, noise in enumerate((0.05, 0.1, 0.2, 0.4)):
        rng = np.random.default_rng(seed)
        scores = noise * rng.random((said.n_cases, said.n_conditions))
        case = said.panel.case_of_opinion[said.ranking_of_mention]
        np.add.at(scores, (case, said.codes), rng.random(len(said.codes)))
        if listed is not None:
            scores = np.where(scores >= np.partition(scores, -listed, axis=1)[:, -listed, None], scores, 0.0)
        model = Predictions.from_scores(scores, said.conditions, case_names=said.case_names)
        models[f"model {seed}"] = model if listed is None else shortened(model)
    return models


def shortened(model: Predictions) -> Predictions:
    """Write down only what has a score, as a list of the first conditions does."""
    keep = model.values > 0
    counts = np.add.reduceat(keep.astype(np.int64), model.offsets[:-1])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Predictions(
        model.name, "scores", model.conditions, model.case_names, offsets, model.codes[keep], model.values[keep]
    )


def evaluating(
    said: Study, models: dict[str, Predictions], *sweep: Aggregation, annotators: AnnotatorsAre = "fixed"
) -> Callable[[], object]:
    return lambda: evaluate(
        said, models, aggregations=sweep, metrics=METRICS, draws=DRAWS, threads=1, annotators=annotators, panel=False
    )


def test_main_figure_against_sampling(said: Study, record: Record) -> None:
    draws = [sampling(aggregation, said) for aggregation in SWEEP]
    figure = evaluating(said, noisy_models(said), *SWEEP)
    pair = in_turn(figure, lambda: [draw() for draw in draws], rounds=3)
    record(
        what="main figure (10 aggregations, prior observed, 4 models, 4 metrics, certainty of top 1 to 3) / sampling",
        ratio=pair.ratio,
        limit=2.2,
        seconds=pair.ours,
    )


@pytest.mark.parametrize(("n_annotators", "pool"), [(6, 6), (3, 40)], ids=["6 of 6", "3 of 40"])
def test_annotators_left_out_against_fixed_ones(n_annotators: int, pool: int, record: Record) -> None:
    said = crossed(n_annotators, pool)
    models, few = noisy_models(said, listed=10), PlackettLuce(reliability=3)
    sample = evaluating(said, models, few, annotators="sample")
    pair = in_turn(sample, evaluating(said, models, few), rounds=3)
    record(
        what=f"annotators as a sample / fixed, {n_annotators} of {pool} a case; the limit is the number of groups",
        ratio=pair.ratio,
        limit=float(min(pool, MOST_GROUPS)),
        seconds=pair.ours,
    )


@pytest.mark.parametrize("annotators", ["fixed", "sample"])
def test_informed_against_adjusted(annotators: AnnotatorsAre, record: Record) -> None:
    study = simulate.study(n_cases=1947, n_conditions=419, seed=0)
    said, models = study.annotations, dict(study.predictions)
    informed = evaluating(said, models, PlackettLuce(prior="informed"), annotators=annotators)
    adjusted = evaluating(said, models, PlackettLuce(), annotators=annotators)
    pair = in_turn(informed, adjusted, rounds=3)
    record(
        what=f"evaluation with an informed prior and {REFITS} refits / adjusted, annotators {annotators}",
        ratio=pair.ratio,
        limit=3.0,
        seconds=pair.ours,
    )


def test_cost_of_an_informed_evaluation_is_linear_in_cases(record: Record) -> None:
    sizes = (500, 2000, 8000)
    study = simulate.study(n_cases=max(sizes), n_conditions=60, seed=0)
    times = []
    for size in sizes:
        models = {name: model.select(slice(0, size)) for name, model in study.predictions.items()}
        run = evaluating(study.annotations.select(slice(0, size)), models, PlackettLuce(prior="informed"))
        run()
        times.append(min(seconds(run) for _ in range(2)))
    record(
        what="exponent of the cost of an informed evaluation in cases, 500 to 8000",
        ratio=float(np.polyfit(np.log(sizes), np.log(times), 1)[0]),
        limit=1.1,
        seconds=dict(zip(map(str, sizes), times, strict=True)),
    )


def test_calibration_against_sampling(said: Study, record: Record) -> None:
    grid = len(calibrate(said, max_pairs=50, draws=10).scores)
    pair = in_turn(lambda: calibrate(said, threads=1), sampling(PlackettLuce(), said), rounds=1)
    record(
        what=f"calibrate, default grid of {grid} / one sampling of the study for each",
        ratio=pair.ratio / grid,
        limit=10.0,
        seconds=pair.ours,
    )


def crossed(n_annotators: int, pool: int) -> Study:
    """Simulate rankings of three conditions by annotators who share many cases."""
    rng = np.random.default_rng(pool)
    plausible = rng.dirichlet(np.full(60, 0.1), size=400)[:, None]
    orders = (rng.exponential(size=(400, n_annotators, 60)) / plausible).argsort(axis=2)[..., :3]
    readers = rng.random((400, pool)).argsort(axis=1)[:, :n_annotators]
    return Study.from_rankings(
        [[[[code] for code in order] for order in case] for case in orders.tolist()],
        60,
        annotator_names=[[f"annotator {j}" for j in row] for row in readers.tolist()],
    )


def test_memory_of_the_main_figure(record: Record) -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    before, after = (int(word) for word in done.stdout.split())
    record(
        what="memory of the main figure above interpreter, libraries and data, MB",
        ratio=(after - before) / MEGABYTE,
        limit=400.0,
    )


def test_cost_is_linear_in_cases(record: Record) -> None:
    sizes = (500, 2000, 8000, 20_000)
    said = simulate.study(n_cases=max(sizes), n_conditions=60, seed=0).annotations
    models = noisy_models(said, listed=10)
    times = []
    for size in sizes:
        part = said.select(slice(0, size))
        few = {name: model.select(slice(0, size)) for name, model in models.items()}
        run = evaluating(part, few, PlackettLuce(reliability=3, alpha=1.0, prior="observed"))
        run()
        times.append(min(seconds(run) for _ in range(3)))
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    record(
        what="exponent of the cost of one run in cases, prior observed, 500 to 20 000",
        ratio=exponent,
        limit=1.1,
        seconds=dict(zip(map(str, sizes), times, strict=True)),
    )


def test_cost_does_not_follow_conditions(said: Study, record: Record) -> None:
    more = said.with_conditions([*said.conditions, *(f"other {i}" for i in range(20_000 - said.n_conditions))])
    few = noisy_models(said, listed=10)
    many = {name: model.align(more.case_names, more.conditions) for name, model in few.items()}
    large, small = (
        evaluating(*pair, PlackettLuce(reliability=3, alpha=1.0, prior="observed"))
        for pair in ((more, many), (said, few))
    )
    pair = in_turn(large, small, rounds=3)
    what = "evaluation of one run, prior observed: 20 000 conditions / 419, lists of ten, same opinions"
    record(what=what, ratio=pair.ratio, limit=1.2)


def test_cost_of_the_default_evaluation_does_not_follow_conditions(said: Study, record: Record) -> None:
    said = said.select(slice(0, 300))
    more = said.with_conditions([*said.conditions, *(f"other {i}" for i in range(100 * 419 - said.n_conditions))])
    few = dict(list(noisy_models(said, listed=10).items())[:2])
    many = {name: model.align(more.case_names, more.conditions) for name, model in few.items()}
    pair = in_turn(lambda: evaluate(more, many, threads=1), lambda: evaluate(said, few, threads=1), rounds=2)
    what = "default evaluation, 300 cases, two models: 41 900 conditions / 419, lists of ten, same opinions"
    record(what=what, ratio=pair.ratio, limit=1.5, seconds=pair.ours)


def test_comparison_of_many_models(record: Record) -> None:
    said = simulate.study(n_cases=500, n_conditions=60, seed=0).annotations
    models = {
        f"{name} {number}": Predictions.from_scores(
            model.to_scores() * np.random.default_rng(number).uniform(0.5, 1.0, (said.n_cases, 60)),
            said.conditions,
            case_names=said.case_names,
        )
        for number in range(10)
        for name, model in noisy_models(said).items()
    }
    found = evaluate(said, models, draws=200, panel=False, annotators="fixed")
    taken, n_pairs = seconds(found.compare), len(models) * (len(models) - 1) // 2
    what = f"compare {len(models)} models, {n_pairs} pairs, 500 cases, without panel, annotators fixed"
    record(what=what, value=taken, unit="s", limit=2.0)


OLD = os.environ.get("DISSENSUS_OLD", "")
DEFAULT = """
import time, dissensus
from studies import published_or_simulated
from test_evaluation import noisy_models
said = published_or_simulated()
models = dict(list(noisy_models(said).items())[:2])
few = {name: model.select(slice(0, 40)) for name, model in models.items()}
dissensus.evaluate(said.select(slice(0, 40)), few, threads=1)
began = time.process_time()
dissensus.evaluate(said, models, threads=1)
print(time.process_time() - began)
"""


@pytest.mark.skipif(
    not OLD, reason="DISSENSUS_OLD is not set: a checkout of version 0.2 (4f97abf), beside the same data"
)
def test_the_default_evaluation_against_version_0_2(record: Record) -> None:
    """Run each in a process of its own, with its own benchmarks."""
    times = {}
    for version, root in (("0.2", OLD), ("ours", str(Path(__file__).parent.parent))):
        paths = os.pathsep.join(str(Path(root) / part) for part in ("src", "benchmarks"))
        environment = {**os.environ, "PYTHONPATH": paths}
        command = [sys.executable, "-c", DEFAULT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        times[version] = float(done.stdout)
    what = "default evaluation, 1947 cases, two models, one thread, processor time / that of version 0.2"
    record(what=what, ratio=times["ours"] / times["0.2"], limit=0.2, seconds=times)


if __name__ == "__main__":  # in a process of its own, so that nothing else counts
    opinions = published_or_simulated()
    lists = noisy_models(opinions)
    small_study = opinions.select(slice(0, 5))
    evaluating(small_study, {name: model.select(slice(0, 5)) for name, model in lists.items()}, *SWEEP)()
    start = peak_memory()
    evaluate(opinions, lists, aggregations=SWEEP, metrics=METRICS, draws=DRAWS, panel=False)
    print(start, peak_memory())
