"""CIFAR-10H: how many images people disagree on, and how the original labels fare against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregations.dirichlet import Dirichlet
from dissensus.certainty.top_sets import Certainty, annotation_certainty, certainty_of
from dissensus.core.arrays import CERTAIN, FloatArray
from dissensus.draws import Plausibilities
from dissensus.figures.charts import kept_places, quantile_curve
from paper.data.cifar10h import Cifar10h
from paper.reproduction.rows import AtLeast, Printed, Row, Section, Settings, shaken_error

if TYPE_CHECKING:
    import polars as pl

TITLE = "CIFAR-10H"
LEAST_CERTAIN = 1000
AGGREGATION = Dirichlet(reliability=1.0, alpha=1.0)
SHOWN_DRAWS = 30
"""Draws of an example that the figure shows."""

POORLY, OFTEN = 0.5, 0.2
"""A label that is the top-1 of fewer draws performs poorly; that share of labels and more is often."""

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
    frames = {
        "cifar10h": _least_certain(certainty, correct),
        "cifar10h_all": _all_images(certainty, correct),
        "cifar10h_examples": _examples(data, drawn, certainty),
    }
    return Section(TITLE, tuple(rows), frames)


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
        Row(
            TITLE,
            f"share of images with certainty of at least {CERTAIN}",
            1 - ours / n_images,
            error / n_images,
            told,
            AtLeast(0.5, "annotators agree for the majority of examples"),
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
        *_poor_rows(certainty, correct, told),
    ]


def _poor_rows(certainty: Certainty, correct: Certainty, told: str) -> list[Row]:
    """Judge that the original labels often perform poorly where annotators are uncertain; nothing if they never are."""
    chosen = certainty.values < CERTAIN
    if not chosen.any() or chosen.all():
        return []
    uncertain, certain = correct.values[chosen], correct.values[~chosen]
    words = "often perform poorly for examples with high annotation uncertainty"
    where = f"certainty below {CERTAIN}"
    limits = f"poorly is taken as the top-1 of fewer than {POORLY:.0%} of the draws, often as {OFTEN:.0%} of the images"

    def share(values: FloatArray) -> float:
        return float((values < POORLY).mean())

    error = shaken_error(share, uncertain, correct.errors[chosen])
    poor = f"share of original labels with an adjusted accuracy below {POORLY}, images with {where}"
    less = f"adjusted accuracy of the original labels, other images less those with {where}"
    apart = float(certain.mean() - uncertain.mean())
    return [
        Row(TITLE, poor, share(uncertain), error, told, AtLeast(OFTEN, words), limits, form=".1%"),
        Row(TITLE, less, apart, None, told, AtLeast(0.1, words), "", form=".3f"),
    ]


def _plain_accuracy(data: Cifar10h) -> float:
    """Return how often the original label is the most frequent vote; ties count by their share."""
    from dissensus.aggregations.point_estimates import MajorityVote

    return certainty_of(MajorityVote().sample(data.annotations), data.labels).mean


def _least_certain(certainty: Certainty, correct: Certainty | None) -> pl.DataFrame:
    """Return the least certain images in order, as the paper's figure shows them."""
    import polars as pl

    least = np.argsort(certainty.values, kind="stable")[:LEAST_CERTAIN]
    columns = {"place": np.arange(1, len(least) + 1), "certainty": certainty.values[least]}
    if correct is not None:
        columns["accuracy"] = correct.values[least]
    return pl.DataFrame(columns)


def _all_images(certainty: Certainty, correct: Certainty | None) -> pl.DataFrame:
    """Return certainty and adjusted accuracy over all images, each sorted by itself."""
    import polars as pl

    x, y = quantile_curve(certainty.values)
    columns = {"share": x, "certainty": y}
    if correct is not None:
        columns["accuracy"] = quantile_curve(correct.values)[1]
    return pl.DataFrame(columns)


def _examples(data: Cifar10h, drawn: Plausibilities, certainty: Certainty) -> pl.DataFrame:
    """Return votes and draws of the least certain image, and of the one in the middle of those that are uncertain."""
    import polars as pl

    order = np.argsort(certainty.values, kind="stable")
    middle = int((certainty.values < CERTAIN).sum()) // 2
    parts = []
    for place in dict.fromkeys((int(order[0]), int(order[middle]))):
        name = certainty.case_names[place]
        draws = drawn.select([name]).dense()[0]
        columns = {
            "class": drawn.conditions,
            "share": _shares(data, name),
            "draws": pl.Series(draws[kept_places(len(draws), SHOWN_DRAWS)].T.tolist(), dtype=pl.List(pl.Float64)),
        }
        label = data.labels[data.annotations.case_names.index(name)] if data.labels else ""
        parts.append(
            pl.DataFrame(columns).with_columns(
                image=pl.lit(name), certainty=pl.lit(certainty.values[place]), label=pl.lit(label)
            )
        )
    return pl.concat(parts)


def _shares(data: Cifar10h, name: str) -> FloatArray:
    """Return the share of votes of every class for one image."""
    from dissensus.aggregations.point_estimates import InverseRank

    # a single label weighs one: inverse ranks of single labels are their shares
    return np.asarray(InverseRank().sample(data.annotations.select([name])).mean()[0])
