"""CIFAR-10H: votes, original labels and models, each in a file of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dissensus.core.errors import DissensusError
from paper.data import load_cifar10h
from paper.tests.data.published_files import write_cifar10h
from shared_data import SHARED, needs_shared


def test_votes_become_single_labels(tmp_path: Path) -> None:
    data = load_cifar10h(write_cifar10h(tmp_path))
    assert data.annotations.votes_per_case.tolist() == [50, 50, 49]
    assert data.annotations.select(["2"]).to_rankings()[0][0] == [["truck"]]
    assert data.labels == ()
    assert data.predictions == {}


@pytest.mark.parametrize("name", ["true_labels.npy", "cifar10_test_set_original_labels.npy"])
def test_labels_are_named(tmp_path: Path, name: str) -> None:
    write_cifar10h(tmp_path)
    np.save(tmp_path / name, np.array([3, 8, 9], dtype=np.uint16))
    assert load_cifar10h(tmp_path).labels == ("cat", "ship", "truck")


def test_models_are_named_after_their_files(tmp_path: Path) -> None:
    write_cifar10h(tmp_path)
    scores = np.linspace(0.1, 1.0, 30, dtype=np.float32).reshape(3, 10)
    np.save(tmp_path / "scores_mine.npy", scores)
    found = load_cifar10h(tmp_path).predictions
    assert np.allclose(found["mine"].to_scores(), scores)


def test_votes_of_another_shape_are_refused(tmp_path: Path) -> None:
    write_cifar10h(tmp_path, np.zeros((3, 9), dtype=np.int64))
    with pytest.raises(DissensusError, match="not the votes of CIFAR-10H") as caught:
        load_cifar10h(tmp_path)
    assert "cifar10h-counts.npy" in caught.value.where
    assert "(3, 9)" in caught.value.got


@pytest.mark.parametrize("labels", [[3, 8], [[3, 8, 9]], [0.5, 1.0, 2.0], [3, 8, 10]])
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, labels: list[float]) -> None:
    write_cifar10h(tmp_path)
    np.save(tmp_path / "true_labels.npy", np.array(labels))
    with pytest.raises(DissensusError) as caught:
        load_cifar10h(tmp_path)
    assert "true_labels.npy" in caught.value.where


def test_a_directory_without_votes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=r"cifar10h-counts\.npy"):
        load_cifar10h(tmp_path)


@needs_shared
def test_the_release_is_what_was_published() -> None:
    data = load_cifar10h(SHARED / "cifar10h")
    votes = data.annotations.votes_per_case
    assert (len(votes), int(votes.min()), int(votes.max())) == (10_000, 47, 63)
    assert data.notes == ()
    assert data.labels[:4] == ("cat", "ship", "ship", "airplane")
    accuracies = {
        name: np.mean(model.to_scores().argmax(axis=1) == [data.annotations.conditions.index(x) for x in data.labels])
        for name, model in data.predictions.items()
    }
    assert {name: round(float(value), 3) for name, value in accuracies.items()} == {
        "densenet": 0.967,
        "preresnet": 0.951,
        "resnet": 0.939,
    }
