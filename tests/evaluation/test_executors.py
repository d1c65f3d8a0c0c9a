"""An executor changes the speed of an evaluation, and nothing else."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

import dissensus as ds
from dissensus.evaluation import plan
from dissensus.metrics import UserMetric
from dissensus.simulate.differential_study import SimulatedStudy


@pytest.fixture(scope="module")
def study() -> SimulatedStudy:
    return ds.simulate.study(n_cases=130, n_conditions=6, seed=2)


ASKED: dict[str, Any] = {"aggregations": ["plackett-luce:1", "dirichlet:1", "annotator-bootstrap"], "draws": 20}


def test_parts_that_processes_evaluate_are_the_whole(study: SimulatedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are tried for every metric of a whole data set, among the laws."""
    monkeypatch.setattr(plan, "PIECE", 40)
    strata = {"site": ["rare" if place == 3 else "often" for place in range(130)]}
    models = dict(list(study.predictions.items())[:2])
    once = ds.evaluate(study.annotations, models, strata=strata, **ASKED)
    assert once.panel is not None
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        found = ds.evaluate(study.annotations, models, strata=strata, executor=executor, **ASKED)
    assert found == once
    assert found.by_group("site").equals(once.by_group("site"))


def test_what_learns_from_all_cases_is_refused(study: SimulatedStudy) -> None:
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ds.DissensusError, match="dawid-skene cannot be evaluated by"),
    ):
        ds.evaluate(study.annotations, study.predictions, aggregations=["dawid-skene"], draws=10, executor=executor)


def test_a_metric_that_cannot_be_sent_is_one_clear_error(study: SimulatedStudy) -> None:
    own = UserMetric("own", lambda scores, drawn: drawn[:, :, 0] * scores[:, :1])
    with ThreadPoolExecutor(1) as executor, pytest.raises(ds.DissensusError, match="cannot be sent to workers"):
        ds.evaluate(study.annotations, study.predictions, metrics=[own], executor=executor, **ASKED)
