"""Packages that people take otherwise, in the same run, and what it costs to install this one and to start it."""

from __future__ import annotations

import csv
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement

from dissensus import Study, evaluate
from dissensus.aggregations import DawidSkene, MajorityVote, PlackettLuceML
from measuring import Record, in_turn, seconds
from studies import DATA
from test_data_set import binary_study
from test_evaluation import MEGABYTE, crossed

CROWD, RESAMPLES = DATA.parent / "crowd", 2000
COMMAND = str(Path(sys.executable).with_name("dissensus"))


@pytest.mark.skipif(not CROWD.is_dir(), reason="the published data is not beside the project")
@pytest.mark.filterwarnings("ignore")  # of the peer
@pytest.mark.parametrize("name", ["dog", "face"])
def test_dawid_skene_against_crowd_kit(name: str, record: Record) -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("crowdkit.aggregation")
    with next((CROWD / name).glob("answer*.csv")).open() as file:
        rows = [(row["question"], row["worker"], f"label {row['answer']}") for row in csv.DictReader(file)]
    table = pandas.DataFrame(rows, columns=["task", "worker", "label"])
    said = Study.from_long(table, case="task", annotator="worker", condition="label")
    drawn = DawidSkene().sample(said)

    def ours() -> np.ndarray:
        return DawidSkene().sample(said).mean()

    def theirs() -> Any:
        return peer.DawidSkene(n_iter=100).fit(table).labels_

    labels = theirs()
    codes = zip(drawn.case_names, ours().argmax(axis=1), strict=True)
    same = np.mean([labels[case] == said.conditions[code] for case, code in codes])
    record(
        what=f"Dawid-Skene, defaults, 1000 draws, all processors / crowd-kit's EM, {name}; {same:.1%} same labels",
        ratio=in_turn(ours, theirs, rounds=3).ratio,
        limit=1.0,
    )


def test_maximum_likelihood_against_choix(record: Record) -> None:
    peer, said = pytest.importorskip("choix"), crossed(6, 6).select(slice(0, 100)).with_unranked("unobserved")
    orders = said.codes.reshape(said.n_cases, 6, 3)  # six rankings of three conditions, without ties
    rankings = []
    for case in orders:
        support, local = np.unique(case, return_inverse=True)
        rankings.append((len(support), local.reshape(case.shape).tolist()))
    ours = lambda: PlackettLuceML().sample(said).mean()  # noqa: E731
    theirs = lambda: [peer.ilsr_rankings(size, lists, alpha=0.01) for size, lists in rankings]  # noqa: E731
    what = "maximum likelihood of Plackett-Luce, 100 cases / choix's I-LSR (regularised), case by case"
    record(what=what, ratio=in_turn(ours, theirs, rounds=3).ratio, limit=1.0)


def test_intervals_against_a_bootstrap_around_scikit_learn(record: Record) -> None:
    from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score

    said, models = binary_study(1000)
    score = next(iter(models.values()))[:, 1]
    truth = MajorityVote().sample(said).mean()[:, 1] > 0.5
    draws = np.random.default_rng(0).integers(len(score), size=(RESAMPLES, len(score)))

    def theirs() -> None:
        for rows in draws:
            own, guess = truth[rows], score[rows] >= 0.5
            roc_auc_score(own, score[rows]), f1_score(own, guess), cohen_kappa_score(own, guess)

    def ours() -> object:
        metrics = ["auroc", "f-beta:1:threshold=0.5", "cohen-kappa:threshold=0.5"]
        one = {"model": next(iter(models.values()))}
        return evaluate(said, one, aggregations=["majority-vote"], metrics=metrics, panel=False, threads=1).to_frame()

    what = f"AUROC, F1 and kappa with intervals, 1000 cases, one model / scikit-learn in {RESAMPLES} resamples"
    record(what=what, ratio=in_turn(ours, theirs, rounds=1).ratio, limit=1.0)


def required(name: str, found: set[str]) -> set[str]:
    """Collect what a package needs to be installed, itself included, extras excepted."""
    if name not in found:
        found.add(name)
        for line in metadata.requires(name) or ():
            one = Requirement(line)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                required(one.name.lower(), found)
    return found


def test_size_of_what_is_installed(record: Record) -> None:
    names = required("dissensus", set())
    files = [Path(str(one.locate())) for name in names for one in metadata.files(name) or ()]
    megabytes = sum(path.stat().st_size for path in files if path.is_file()) / MEGABYTE
    what = f"size of the package and the {len(names) - 1} others that it needs, without extras"
    record(what=what, value=megabytes, unit="MB")


@pytest.mark.parametrize(
    ("what", "command"),
    [
        ("import dissensus", [sys.executable, "-c", "import dissensus"]),
        ("dissensus --help", [COMMAND, "--help"]),
        ("dissensus metrics, a command that evaluates nothing", [COMMAND, "metrics"]),
    ],
    ids=["import", "help", "command"],
)
def test_time_to_start(what: str, command: list[str], record: Record) -> None:
    def run() -> None:
        subprocess.run(command, check=True, capture_output=True)

    run()
    alone = min(seconds(lambda: subprocess.run([sys.executable, "-c", ""], check=True)) for _ in range(3))
    record(what=f"{what}, above Python alone", value=min(map(seconds, [run] * 3)) - alone, unit="s")
