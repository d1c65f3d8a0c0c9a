"""CIFAR-10H: about fifty people's labels for each image of the CIFAR-10 test set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.errors import DissensusError
from dissensus.core.files import open_source
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_predictions
from dissensus.study.study import Study
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    from dissensus.core.arrays import Path
    from dissensus.core.receipt import Note

COMMIT = "597cbc5f07266c9405b830ee4a53463539124c4f"
COUNTS = "cifar10h-counts.npy"
CIFAR10H = Publication(
    title="CIFAR-10H data",
    name="cifar10h",
    folder="cifar10h",
    files=(
        PublishedFile(
            COUNTS,
            "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
            f"https://raw.githubusercontent.com/jcpeterson/cifar-10h/{COMMIT}/data/{COUNTS}",
        ),
    ),
    origin="github.com/jcpeterson/cifar-10h, folder data",
    licence="CC BY-NC-SA 4.0",
)
LABEL_FILES = ("true_labels.npy", "cifar10_test_set_original_labels.npy")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True, eq=False)
class Cifar10h:
    """Hold the CIFAR-10H data.

    Attributes
    ----------
    annotations
        One anonymous single label per vote; cases are named by the position of the image in the test set, from "0".
    labels
        The original label of each image; empty if there is no file of them.
    predictions
        Scores of models, one per file ``scores_NAME.npy``.
    notes
        What deserves a look.
    """

    annotations: Study
    labels: tuple[str, ...] = ()
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def load_cifar10h(path: Path) -> Cifar10h:
    """Load CIFAR-10H from a directory.

    Parameters
    ----------
    path
        Directory with ``cifar10h-counts.npy``, votes of shape (images, 10); optionally the original labels as
        ``true_labels.npy`` or ``cifar10_test_set_original_labels.npy``, and scores of models as ``scores_NAME.npy``.
    """
    directory = CIFAR10H.located(path)
    said = Study.from_counts(_counts(directory / COUNTS), CLASSES)
    scores = sorted(directory.glob("scores_*.npy"))
    models = {place.stem.removeprefix("scores_"): place for place in scores}
    predictions = {
        name: read_predictions(place, conditions=CLASSES, cases=said.case_names, name=name, kind="scores")
        for name, place in models.items()
    }
    return Cifar10h(said, _labels(directory, said.n_cases), predictions, CIFAR10H.notes([directory / COUNTS]))


def _counts(place: FilePath) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    counts = open_source(place).content
    if not isinstance(counts, np.ndarray) or counts.ndim != 2 or counts.shape[1] != len(CLASSES):
        raise DissensusError(
            "these are not the votes of CIFAR-10H",
            expected=f"an array of shape (images, {len(CLASSES)})",
            got=f"shape {getattr(counts, 'shape', None)}",
            where=str(place),
        )
    return counts


def _labels(directory: FilePath, n_cases: int) -> tuple[str, ...]:
    """Read the original labels, if there is a file of them, as names of classes."""
    found = [directory / name for name in LABEL_FILES if (directory / name).is_file()]
    if not found:
        return ()
    codes = open_source(found[0]).content
    if not isinstance(codes, np.ndarray) or codes.dtype.kind not in "iu" or codes.shape != (n_cases,):
        got = f"{getattr(codes, 'dtype', 'several arrays')} of shape {getattr(codes, 'shape', None)}"
        raise DissensusError(
            "these are not the labels of the images",
            expected=f"{n_cases} integers, one per image",
            got=got,
            where=str(found[0]),
        )
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(CLASSES):
        raise DissensusError(
            "a label is out of range", expected=f"0 to {len(CLASSES) - 1}", got=str(codes.max()), where=str(found[0])
        )
    return tuple(CLASSES[int(code)] for code in codes)


def fetch_cifar10h(directory: Path | None = None) -> FilePath:
    """Download the votes, check them, and return their directory; needs pooch.

    The original labels are not fetched.
    """
    return CIFAR10H.fetch(directory)
