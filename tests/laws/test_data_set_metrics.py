"""Laws that hold for the evaluation of every metric of a whole data set; they run on each of them by reflection."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.aggregations import Dirichlet, MajorityVote, NormalInverseGamma, NormalInverseGammaPrior
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation import tally
from dissensus.metrics.data_set import DataSetMetric
from dissensus.plugins import Metric
from metrics.data_set_studies import CHOSEN
from pieces.random_files import Files, differences
from rare import rare

pytestmark = pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")

N_CASES, DRAWS = 48, 8
CASES = [f"case {number}" for number in range(N_CASES)]
CONDITIONS = ("a", "b", "c")
FINDINGS = ("cyst", "node")
KINDS = [kind for kind in Metric.family.known().values() if issubclass(kind, DataSetMetric)]


def chosen(truths: tuple[str, ...], *, numbers: bool) -> list[DataSetMetric]:
    """Give every metric of conditions, or of numbers, against the top label or against plausibilities."""
    own = [kind for kind in KINDS if (kind.accepts == ("numbers",)) == numbers]
    return [kind.from_parameters({**CHOSEN.get(kind.id, [{}])[0], "truth": truth}) for kind in own for truth in truths]


@dataclass(frozen=True, eq=False)
class Example:
    """A study, what models say about it, and all metrics that it can be judged by.

    One of the examples has annotators who are a sample, and a panel; the others cost less.
    """

    study: ds.Study
    scores: Mapping[str, FloatArray]
    names: tuple[str, ...] = ()
    truths: tuple[str, ...] = ("top", "soft")
    how: Mapping[str, Any] = field(default_factory=lambda: {"annotators": "fixed", "panel": False})

    @property
    def metrics(self) -> list[DataSetMetric]:
        return chosen(self.truths, numbers=self.study.kind == "ratings")

    def models(self, cases: list[int] | None = None) -> dict[str, ds.Predictions]:
        rows = list(range(N_CASES)) if cases is None else cases
        how: dict[str, Any] = {"case_names": [CASES[row] for row in rows]}
        if self.study.kind == "ratings":
            return {name: ds.Predictions.from_numbers(one[rows], name=name, **how) for name, one in self.scores.items()}
        made = ds.Predictions.from_scores
        return {name: made(one[rows], self.names, name=name, **how) for name, one in self.scores.items()}

    def evaluated(self, cases: list[int] | None = None, **how: Any) -> ds.Evaluation:
        rows = list(range(N_CASES)) if cases is None else cases
        study = how.pop("study", self.study).select([CASES[row] for row in rows])
        sites = {"site": [SITES[row] for row in rows]}
        return ds.evaluate(study, self.models(rows), **{**self.asked, "strata": sites, "threads": 1, **how})

    @property
    def asked(self) -> dict[str, Any]:
        return {"aggregations": aggregations(self.study), "metrics": self.metrics, "draws": DRAWS, **self.how}


SITES = ["rare" if number == 7 else f"site {number % 2}" for number in range(N_CASES)]


def aggregations(study: ds.Study) -> list[Any]:
    """Return what draws case by case and learns nothing from others."""
    if study.kind == "ratings":
        return [NormalInverseGamma(prior=NormalInverseGammaPrior(0.0, 1.0, 2.0, 1.0))]
    return [Dirichlet(1, alpha=1.0), MajorityVote()]


def _labels(rng: np.random.Generator, n_conditions: int) -> tuple[IntArray, dict[str, FloatArray]]:
    theta = rng.dirichlet(np.full(n_conditions, 0.6), size=N_CASES)
    votes = np.stack([rng.choice(n_conditions, size=3, p=row) for row in theta])
    seen = {name: theta**sharp * rng.uniform(0.5, 1.5, theta.shape) for name, sharp in (("A", 1.0), ("B", 0.4))}
    rounded = {name: (one / one.sum(axis=1, keepdims=True)).round(2) + 0.001 for name, one in seen.items()}
    return votes, {name: one / one.sum(axis=1, keepdims=True) for name, one in rounded.items()}


def _table(votes: IntArray, names: tuple[str, ...], rng: np.random.Generator) -> pl.DataFrame:
    weights = rng.integers(1, 5, N_CASES).astype(float)
    rows = [
        (CASES[case], f"reader {(case + place) % 5}", names[int(label)], f"P{case // 2}", weights[case])
        for (case, place), label in np.ndenumerate(votes)
    ]
    return pl.DataFrame(rows, ["case", "annotator", "condition", "group", "case_weight"], orient="row")


def _choices(names: tuple[str, ...], question: Any, seed: int) -> Example:
    rng = np.random.default_rng(seed)
    votes, scores = _labels(rng, len(names))
    said = ds.Study.from_long(_table(votes, names, rng), conditions=names, question=question)
    return Example(said, scores, names)


def _checklists() -> Example:
    rng = np.random.default_rng(3)
    rows, scores = [], {name: np.empty((N_CASES, len(FINDINGS))) for name in "AB"}
    for place, finding in enumerate(FINDINGS):
        votes, said = _labels(rng, 2)
        for name in scores:
            scores[name][:, place] = said[name][:, 1]
        every = np.ndenumerate(votes)
        rows += [(CASES[case], f"reader {(case + place) % 5}", finding, int(one)) for (case, place), one in every]
    table = pl.DataFrame(rows, schema=["case", "annotator", "finding", "present"], orient="row")
    return Example(ds.Study.from_long(table, FINDINGS), scores, FINDINGS, ("top",))


def _ratings() -> Example:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=N_CASES)
    said = [(one + 0.5 * rng.normal(size=3)).tolist() for one in truth]
    scores = {name: truth + noise * rng.normal(size=N_CASES) for name, noise in (("A", 0.3), ("B", 0.9))}
    return Example(ds.Study.from_scores(said, case_names=CASES), scores)


MADE: dict[str, Callable[[], Example]] = {
    "binary": lambda: replace(_choices(("no", "yes"), "binary", 1), truths=("top",)),
    "sampled": lambda: replace(_choices(("no", "yes"), "binary", 1), truths=("top",), how={}),
    "conditions": lambda: replace(_choices(CONDITIONS, "conditions", 2), truths=("soft",)),
    "findings": _checklists,
    "numbers": _ratings,
}
RARE = rare(["sampled", "conditions", "findings"])
"""What costs more: a panel with annotators who are a sample, and many questions."""
EVERY = pytest.mark.parametrize("name", ["binary", "numbers", *RARE])
SPLIT = pytest.mark.parametrize("name", ["binary", *RARE])
"""Of ratings all cases are needed at once: categories are cut at their median."""


@cache
def example(name: str) -> Example:
    return MADE[name]()


@cache
def once(name: str) -> ds.Evaluation:
    return example(name).evaluated()


def test_every_metric_of_a_whole_data_set_is_judged_on_some_study() -> None:
    """Most of them with values: were all undefined, every law would hold."""
    assert {type(metric) for name in MADE for metric in example(name).metrics} == set(KINDS)
    for name in MADE:
        table = once(name).to_frame()
        asked = {metric.name for metric in example(name).metrics}
        assert {metric if metric in asked else metric.replace(" at 0.5", "") for metric in table["metric"]} == asked
        assert np.isfinite(table["mean"].to_numpy()).mean() > 0.8


@pytest.mark.parametrize("name", [name if name != "conditions" else RARE[1] for name in MADE])
def test_threads_batches_and_the_order_of_cases_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, order = once(name), np.random.default_rng(0).permutation(N_CASES).tolist()  # before anything is changed
    monkeypatch.setattr(tally, "BATCH_CASES", 7)
    monkeypatch.setattr(tally, "BATCH_DRAWS", 150)
    assert not list(differences(whole, example(name).evaluated(order, threads=3)))


@pytest.mark.parametrize("name", ["binary", RARE[0]])
def test_parts_that_an_executor_evaluates_are_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = once(name)  # in pieces of the usual size: what is kept for other tests must not depend on this one
    monkeypatch.setattr(tally, "PIECE", 24)
    with ThreadPoolExecutor(2) as executor:
        assert not list(differences(whole, example(name).evaluated(executor=executor)))


@EVERY
def test_what_was_saved_is_loaded_again_and_another_seed_says_something_else(name: str, tmp_path: Path) -> None:
    once(name).save(tmp_path / "saved")
    loaded = ds.load(tmp_path / "saved")
    assert loaded == once(name)
    assert not list(differences(once(name), loaded))
    loaded.save(tmp_path / "again")
    first, second = ((tmp_path / place / "summary.json").read_bytes() for place in ("saved", "again"))
    assert first == second
    other = example(name).evaluated(seed=1, annotators="fixed", panel=False).to_frame()
    assert not other.filter(estimand="adjusted").equals(once(name).to_frame().filter(estimand="adjusted"))


@SPLIT
def test_halves_that_are_merged_are_the_whole(name: str) -> None:
    halves = [list(range(N_CASES // 2)), list(range(N_CASES // 2, N_CASES))]
    alike: dict[str, Any] = {"panel": False, "annotators": "fixed"}
    one, other = (example(name).evaluated(cases, **alike) for cases in halves)
    whole = example(name).evaluated(**alike) if name == "sampled" else once(name)
    found = one.merge(other)
    for table in ("to_frame", "per_draw", "point_estimates"):
        assert_frame_equal(getattr(found, table)(), getattr(whole, table)(), rel_tol=1e-9, abs_tol=1e-12)
    assert_frame_equal(found.compare().to_frame(), whole.compare().to_frame(), rel_tol=1e-9, abs_tol=1e-12)
    assert_frame_equal(found.by_group("site"), whole.by_group("site"), rel_tol=1e-9, abs_tol=1e-12)


@EVERY
def test_weights_that_are_all_doubled_change_nothing(name: str) -> None:
    study = example(name).study
    panel = replace(study.panel, case_weights=2 * study.case_weights)
    heavy = example(name).evaluated(study=replace(study, panel=panel))
    for column in ("mean", "low", "high", "point_estimate"):
        found, wanted = (each.to_frame()[column].cast(pl.Float64).to_numpy() for each in (heavy, once(name)))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "size"), [("binary", 20), *rare([("conditions", 20), ("binary", 1000)])])
def test_studies_in_shards_say_what_they_say_in_memory(name: str, size: int, tmp_path: Path) -> None:
    own = example(name)
    rng = np.random.default_rng(1 if name == "binary" else 2)
    votes, _ = _labels(rng, len(own.names))
    models = {
        key: pl.DataFrame({"case": CASES, **dict(zip(own.names, one.T, strict=True))})
        for key, one in own.scores.items()
    }
    strata = pl.DataFrame({"case": CASES, "site": SITES})
    reading = {"conditions": own.names, "question": own.study.question}
    files = Files(_table(votes, own.names, rng), models, strata, reading)
    memory = files.at_once(tmp_path / "once", **own.asked)
    assert not list(differences(memory, files.in_pieces(tmp_path / "pieces", shard_size=size, **own.asked)))
