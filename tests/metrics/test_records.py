"""Metrics that are written down come back; those that nobody provides are stood for."""

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dissensus as ds
from dissensus.metrics import LogScore
from dissensus.metrics.base import RecordedMetric, restored_metric
from dissensus.plugins import Metric
from metrics.data_set_studies import every_metric
from metrics.metric_studies import metrics_for


def test_every_metric_comes_back_from_its_record_which_holds_what_tables_and_reports_say() -> None:
    for metric in [*metrics_for(5), *every_metric()]:
        record = json.loads(json.dumps(metric.record(), allow_nan=False))
        assert record == metric.record()
        assert restored_metric(record) == metric
        stored = RecordedMetric.of(metric.record())
        assert stored.record() == metric.record()
        for part in ("id", "name", "meaning", "methods", "higher_is_better", "range", "is_share"):
            assert getattr(stored, part) == getattr(metric, part), metric.name
        assert stored.parameters() == metric.parameters()


def test_less_is_better_for_distances_and_sizes_only() -> None:
    assert {kind.id for kind in Metric.family.known().values() if not kind.higher_is_better} == {
        *("bland-altman", "brier-reliability", "brier-score", "brier-uncertainty", "calibration-error", "crps"),
        *("negative-likelihood-ratio", "mean-absolute-error", "rmse", "set-size", "grade-error"),
        *("ranked-probability-score", "wasserstein-distance", "wasserstein-numbers"),
    }


def test_a_metric_that_nobody_provides_is_stood_for() -> None:
    record = {**LogScore().record(), "id": "elsewhere", "name": "own score", "parameters": {"floor": 0.5}}
    stored = restored_metric(record)
    assert isinstance(stored, RecordedMetric)
    assert (stored.id, stored.name, stored.range) == ("elsewhere", "own score", (-np.inf, 0.0))
    assert stored.parameters() == {"floor": 0.5}
    assert stored == restored_metric(record)
    assert stored != restored_metric({**record, "name": "another"})
    assert pickle.loads(pickle.dumps(stored)) == stored
    with pytest.raises(FrozenInstanceError):
        stored.name = "mine"  # type: ignore[misc]
    assert "elsewhere" not in Metric.family.known()


def test_a_record_with_a_parameter_that_the_metric_does_not_have_is_refused() -> None:
    record = LogScore().record()
    with pytest.raises(ds.DissensusError, match=r"log-score has no flor\n.*floor\n.*did you mean 'floor'"):
        restored_metric({**record, "parameters": {"flor": 0.1}})
