"""Metrics of a whole data set against sampling alone, and many findings in one run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from dissensus import Study, evaluate, simulate
from dissensus.aggregations import PlackettLuce
from measuring import Record, in_turn, seconds
from test_aggregation import DRAWS, sampling
from test_evaluation import MEGABYTE

N_CASES = 100_000
METRICS = ("auroc", "sensitivity", "f-beta:1")
SPEC = PlackettLuce(1, prior="symmetric", alpha=0.5)


def binary_study(n_cases: int) -> tuple[Study, dict[str, np.ndarray]]:
    """Simulate three answers to a yes-or-no question on every case, and two models."""
    rng = np.random.default_rng(0)
    chance = rng.beta(0.3, 0.9, n_cases)
    yes = rng.binomial(3, chance)
    said = Study.from_counts(np.column_stack([3 - yes, yes]), ["no", "yes"], question="binary")
    scores = [np.clip(chance + rng.normal(0, noise, n_cases), 0.001, 0.999) for noise in (0.2, 0.4)]
    return said, {f"model {number}": np.column_stack([1 - one, one]) for number, one in enumerate(scores)}


def judge(n_cases: int) -> None:
    """Evaluate both models."""
    said, models = binary_study(n_cases)
    evaluate(said, models, aggregations=[SPEC], metrics=METRICS, draws=DRAWS, panel=False)


def test_metrics_of_a_whole_data_set_against_sampling_alone(record: Record) -> None:
    said, models = binary_study(N_CASES)

    def ours() -> object:
        return evaluate(said, models, aggregations=[SPEC], metrics=METRICS, draws=DRAWS, panel=False)

    pair = in_turn(ours, sampling(SPEC, said, threads=2), rounds=2)
    what = "AUROC, sensitivity and F1 of two models on 100 000 cases / sampling alone"
    record(what=what, ratio=pair.ratio, limit=3.0)


def test_memory_of_metrics_of_a_whole_data_set(record: Record) -> None:
    code = f"from test_data_set import judge; from measuring import peak_memory; judge({N_CASES}); print(peak_memory())"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="benchmarks")
    value = int(found.stdout) / MEGABYTE
    record(what="the same, peak memory", value=value, unit="MB", limit=1000)


def test_fourteen_findings_of_ten_thousand_cases(record: Record) -> None:
    study = simulate.checklists(n_cases=10_000, findings=14, seed=1)
    models = dict(list(study.predictions.items())[:2])

    def ours() -> object:
        return evaluate(
            study.checklists, models, aggregations=[SPEC], metrics=METRICS, draws=200, panel=False, annotators="fixed"
        )

    what = "14 findings of 10 000 cases, two models, 200 draws, one run"
    record(what=what, value=seconds(ours), unit="s")
