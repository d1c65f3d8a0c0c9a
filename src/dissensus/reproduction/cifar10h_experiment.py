"""CIFAR-10H: how many images people disagree on, and how the original labels fare against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation.dirichlet import Dirichlet
from dissensus.core.aliases import FloatArray
from dissensus.core.thresholds import CERTAIN
from dissensus.datasets.cifar10h import Cifar10h
from dissensus.evaluation.certainty import Certainty, annotation_certainty, certainty_of
from dissensus.reproduction.rows import Printed, Row, Section, Settings, shaken_error

if TYPE_CHECKING:
    import polars as pl

TITLE = "CIFAR-10H"
LEAST_CERTAIN = 1000
AGGREGATION = Dirichlet(reliability=1.0, alpha=1.0)
MISPRINT = "178 of 10 000 images are 1.8 %; the paper's 0.2 % must be a slip"


def cifar10h_section(data: Cifar10h, settings: Settings) -> Section:
    """Count uncertain images, and adjust the accuracy of the original labels."""
    drawn = AGGREGATION.sample(data.annotations, draws=settings.draws, seed=settings.seed, threads=settings.threads)
    certainty = annotation_certainty(drawn)
    told = f"Dirichlet(counts + 1), {settings.draws} draws"
    rows = [*_certainty_rows(certainty, told), _annotators(data)]
    correct = None
    if data.labels:
        correct = certainty_of(drawn, data.labels)
        rows += _label_rows(data, certainty, correct, told)
    return Section(TITLE, tuple(rows), {"cifar10h": _least_certain(certainty, correct)})


def _certainty_rows(certainty: Certainty, told: str) -> list[Row]:
    def count(values: FloatArray) -> float:
        return float((values < CERTAIN).sum())

    ours, n_images = count(certainty.values), len(certainty.values)
    error = shaken_error(count, certainty.values, certainty.errors)
    return [
        Row(TITLE, f"images with certainty below {CERTAIN}", ours, error, told, Printed(178, 8), form=",.0f"),
        Row(
            TITLE,
            f"share of images with certainty below {CERTAIN}",
            ours / n_images,
            error / n_images,
            told,
            Printed(0.002, 0.001),
            MISPRINT,
            form=".1%",
        ),
    ]


def _annotators(data: Cifar10h) -> Row:
    votes = float(data.annotations.votes_per_case.mean())
    return Row(TITLE, "annotators per image, mean", votes, None, "the votes", Printed(50, 2), form=".1f")


def _label_rows(data: Cifar10h, certainty: Certainty, correct: Certainty, told: str) -> list[Row]:
    """Treat the original labels as predictions, and ask how often they are the top-1 of a draw."""
    least = np.argsort(certainty.values, kind="stable")[:LEAST_CERTAIN]
    figure = "the paper shows a figure without numbers"
    voted = "accuracy of the original labels against the most frequent vote"
    adjusted = "adjusted accuracy of the original labels"
    of_least, error = (
        float(correct.values[least].mean()),
        float(np.sqrt((correct.errors[least] ** 2).sum()) / len(least)),
    )
    return [
        Row(TITLE, voted, _plain_accuracy(data), None, "the votes", form=".4f"),
        Row(TITLE, adjusted, correct.mean, correct.mean_error, told, None, figure, form=".4f"),
        Row(TITLE, f"{adjusted}, {len(least)} least certain images", of_least, error, told, None, figure, form=".4f"),
    ]


def _plain_accuracy(data: Cifar10h) -> float:
    """Return how often the original label is the most frequent vote; ties count by their share."""
    from dissensus.aggregation.majority_vote import MajorityVote

    return certainty_of(MajorityVote().sample(data.annotations), data.labels).mean


def _least_certain(certainty: Certainty, correct: Certainty | None) -> pl.DataFrame:
    """Return the least certain images in order, as the paper's figure shows them."""
    import polars as pl

    least = np.argsort(certainty.values, kind="stable")[:LEAST_CERTAIN]
    columns = {"place": np.arange(1, len(least) + 1), "certainty": certainty.values[least]}
    if correct is not None:
        columns["accuracy"] = correct.values[least]
    return pl.DataFrame(columns)
