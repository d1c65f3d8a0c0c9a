"""Compile kernels before they are needed, in several processes at once; they are found on disk from then on.

A kernel is compiled when it is first called, and Numba compiles one after another within a process. An *exercise* calls
kernels that are needed together, through the functions that users call, on a study of two cases. When it is done, a
file in the folder of the kernels says so.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dissensus as ds
from dissensus.aggregations.base import Aggregation
from dissensus.core.errors import DissensusError
from dissensus.core.spec import one_spec
from dissensus.kernels import jit

CONDITIONS = ("a", "b", "c", "d", "e", "f")
RANKINGS = [[[["a", "b", "c"], ["d"]], [["b"], ["c", "a"]]], [[["e"], ["a"]], [["a", "e"]]]]
SCORES = [[0.3, 0.3, 0.1, 0.1, 0.1, 0.1], [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]]

# More would wait for the longest exercise.
MOST_WORKERS = 3

# Exercises --------------------------------------------------------------------------------------------------


def draws_of(spec: str, question: Any = "conditions") -> ds.Plausibilities:
    """Draw from an aggregation."""
    said = ds.Study.from_rankings(RANKINGS, CONDITIONS).asked(question)
    return one_spec(Aggregation.family, spec).sample(said, draws=20)


def draw(*specs: str, question: Any = "conditions") -> None:
    """Draw from aggregations."""
    for spec in specs:
        list(draws_of(spec, question))


def split_rests(drawn: ds.Plausibilities) -> None:
    """Ask draws for conditions that nobody mentioned."""
    for batch in drawn:
        batch.dense()
        batch.greatest_worth(0, np.arange(batch.n_conditions, dtype=float))
        batch.plausibility_of(0, 5, np.arange(3))


def draw_rests() -> None:
    """Draw from Dirichlet distributions, and ask for conditions that nobody mentioned, alike or not."""
    draw("probabilistic-inverse-rank:10")
    for spec in ("dirichlet", "dirichlet:prior=frequency:alpha=5"):
        split_rests(draws_of(spec))


def estimate() -> None:
    """Ask for the likelihood and for what maximises it."""
    ds.aggregations.plackett_luce_log_likelihood(ds.Study.from_rankings(RANKINGS, CONDITIONS), np.arange(1.0, 7.0))
    draw("plackett-luce-ml")


def rate() -> None:
    """Draw from what ratings say, and diagnose the draws."""
    drawn = ds.aggregations.NormalInverseGamma().sample(ds.Study.from_scores([[-2.0, -1.0], [1.0, 2.0, 0.5]]), draws=40)
    drawn.summary()
    drawn.dense()


def ask_for_certainty() -> None:
    """Ask how certain draws without ties are, of what nobody mentioned too, summarise and diagnose them."""
    drawn = draws_of("dirichlet:prior=frequency:alpha=5")
    drawn.summary()
    split_rests(drawn)
    ds.certainty.annotation_certainty(drawn, top=2)
    ds.aggregations.sampling_diagnostics(drawn)


def ask_for_ties() -> None:
    """Ask how certain draws with ties are, also by category and of one condition."""
    drawn = draws_of("inverse-rank")
    ds.certainty.annotation_certainty(drawn, top=2)
    categories = ds.Categories.from_labels(["rare", "rare", "common"] * 2, CONDITIONS)
    ds.certainty.annotation_certainty(drawn, categories=categories)
    ds.certainty.certainty_of(drawn, "a", unranked="pool")


def judge(*metrics: str, models: Any = SCORES) -> None:
    """Evaluate a model; without metrics, by those of the first figure."""
    said, known = ds.Study.from_rankings(RANKINGS, CONDITIONS), ds.Categories.from_labels([*"xxxyyy"], CONDITIONS)
    wanted: dict[str, Any] = {"metrics": metrics} if metrics else {"categories": known}
    ds.evaluate(said, {"model": models}, aggregations=["majority-vote"], draws=8, **wanted).to_frame()


def judge_beside_annotators() -> None:
    """Evaluate a model by the metrics of the first figure, and put it beside annotators."""
    judge()
    ds.experts(ds.Study.from_counts([[2, 1]] * 10, ["a", "b"]), {"model": [[0.9, 0.1]] * 10})


def judge_otherwise() -> None:
    """Evaluate models by all other metrics: of scores, of sets and of whole data sets."""
    judge("top-k-accuracy:2:2", "overlap:2", "rank-biased-overlap:0.9:3", "kendall-tau:3", "spearman-footrule:3")
    judge("expected-accuracy", "log-score", "brier-score", "auroc", "average-precision", "partial-auroc")
    judge("sensitivity", "cohen-kappa", "calibration-error")
    sets = ds.Predictions.from_sets([["a", "f"], ["b"]], CONDITIONS)
    judge("coverage", "expected-coverage", "set-size", models=sets)
    said = ds.Study.from_counts([[2, 1], [1, 2]], ["no", "yes"], question="binary")  # labels that draws are sure of
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]] * 8, [[0.2, 0.8]] * 8], conditions=said.conditions)
    ds.evaluate(said, {"model": [[0.3, 0.7]] * 2}, aggregations=[drawn], metrics=["auroc"])


def hold_out() -> None:
    """Leave annotators out and cut panels in two."""
    ds.calibrate(ds.Study.from_rankings(RANKINGS, CONDITIONS), ["dirichlet"], draws=20)


# What is compiled together; what aggregations need has their names. Neighbours share functions that every process
# compiles for itself, so processes begin at either end, and meet where little is left to do.
EXERCISES: dict[str, Callable[[], None]] = {
    "dawid-skene": partial(draw, "dawid-skene:warmup=1", "dawid-skene:target=votes:warmup=1"),
    "ordered-probit": partial(draw, "ordered-probit:warmup=1", question="grades"),
    "tempered": partial(draw, "plackett-luce:2:tempered=true:warmup=1"),
    "plackett-luce": partial(draw, "plackett-luce:1.3:warmup=1"),
    "plackett-luce-ml": estimate,
    "normal-inverse-gamma": rate,
    "annotator-bootstrap": partial(draw, "annotator-bootstrap"),
    "calibration": hold_out,
    "evaluation": judge_beside_annotators,
    "metrics": judge_otherwise,
    "dirichlet": draw_rests,
    "ties": ask_for_ties,
    "certainty": ask_for_certainty,
}


# Processes --------------------------------------------------------------------------------------------------


def needed(names: Iterable[str] = tuple(EXERCISES)) -> list[str]:
    """Return the exercises, among those named, that were not done yet; none when ``NUMBA_DISABLE_JIT`` is set."""
    where = jit.folder()
    if jit.settings.DISABLE_JIT:
        return []
    return [name for name in EXERCISES if name in set(names) and not (where and (where / f"{name}.done").exists())]


def compile_kernels(
    names: Iterable[str] = tuple(EXERCISES),
    *,
    workers: int | None = None,
    force: bool = False,
    done: Callable[[str], object] | None = None,
) -> None:
    """Do the exercises that were not done yet, and so compile what they need.

    Parameters
    ----------
    names
        Exercises; other names are left out.
    workers
        Number of processes; by default that of the processors, at most 3.
    force
        Remove all kernels before.
    done
        Receives the name of every exercise that was just done.

    Raises
    ------
    DissensusError
        When there is nowhere to keep kernels, or a process fails.
    """
    where = jit.folder()
    if where is None:
        advice = "set the environment variable NUMBA_CACHE_DIR to one that can be written"
        raise DissensusError("there is no folder in which compiled kernels can be kept", advice=advice)
    if force:
        shutil.rmtree(where, ignore_errors=True)
        jit.is_ready(where)
    jit.remove_older(where)
    waiting = deque(needed(names))
    n_workers = min(workers or min(os.cpu_count() or 1, MOST_WORKERS), len(waiting))
    with ThreadPoolExecutor(max(n_workers, 1)) as pool:
        takes = (deque.popleft, deque.pop)  # of the workers in turn
        running = [pool.submit(_work, where, waiting, takes[worker % 2], done) for worker in range(n_workers)]
    for each in running:
        each.result()


def compile_missing() -> None:
    """Compile all kernels if there is a folder for them, as workers of a cluster do."""
    if jit.folder() is not None:
        compile_kernels()


def _work(
    where: Path, waiting: deque[str], take: Callable[[deque[str]], str], done: Callable[[str], object] | None
) -> None:
    """Let a process do one waiting exercise after the other; it ends when this one closes its input, or ends."""
    path = os.pathsep.join(filter(None, (str(Path(ds.__file__).parents[1]), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(where.parent), "PYTHONPATH": path}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process: Any = subprocess.Popen([sys.executable, "-P", "-m", __name__], env=environment, text=True, **pipes)
    with process:
        while waiting:
            name = take(waiting)
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            if not process.stdout.readline():
                waiting.clear()
                said = process.stderr.read().strip().split("\n")[-1]
                raise DissensusError("a process that compiles kernels failed", got=said or name)
            if done:
                done(name)


def main() -> None:
    """Do the exercises that are named line by line, and print the name of each when it is done."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever started this process says that it was interrupted
    gc.disable()  # compiling makes many objects that stay, and looking through them takes an eighth of the time
    for line in sys.stdin:
        name = line.strip()
        EXERCISES[name]()
        if where := jit.folder():
            (where / f"{name}.done").touch()
        print(name, flush=True)


if __name__ == "__main__":
    main()
