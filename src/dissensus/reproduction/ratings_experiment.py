"""Ratings under the normal-inverse-gamma model: photographs that are poor or good, comments that are toxic or not."""

from __future__ import annotations

import numpy as np

from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.core.aliases import BoolArray, FloatArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.core.thresholds import CERTAIN
from dissensus.evaluation.certainty import Certainty, annotation_certainty
from dissensus.reproduction.rows import AtLeast, Printed, Row, Section, Settings, shaken_error
from dissensus.study.ratings import Ratings

AVA_TITLE, TOXICITY_TITLE = "AVA ratings", "Wikipedia toxicity ratings"
AVA_CASES, TOXICITY_CASES = 10_000, 1000
"""How many of the first photographs and comments the paper looks at."""

TENTH = (
    "the paper counts the first 10 000 photographs of the full data set; these are the first of a tenth of it, whose "
    "mean number of votes is the 210 that is known for all of AVA"
)


def ava_section(ratings: Ratings, settings: Settings) -> Section:
    """Find how certain it is whether the first photographs are poor or good."""
    certainty, told = _certainty(ratings, 5.0, settings)
    votes = float(ratings.panel.votes_per_case.mean())
    rows = (
        Row(AVA_TITLE, "ratings per photograph, mean", votes, None, "the votes", Printed(222, 5), TENTH, form=".1f"),
        _share(AVA_TITLE, certainty, told, AtLeast(0.5, "most examples receive high certainty"), ""),
        Row(AVA_TITLE, "certainty, mean", certainty.mean, certainty.mean_error, told, form=".3f"),
    )
    return Section(AVA_TITLE, rows, {"ava": certainty.to_frame().select("certainty")})


def toxicity_section(ratings: Ratings, settings: Settings) -> Section:
    """Find how certain it is whether the first comments are toxic, and how certain among the toxic ones."""
    rated = ratings.select(ratings.panel.votes_per_case > 0)
    certainty, told = _certainty(rated, 0.0, settings)
    is_toxic = _mostly(rated)
    votes = float(ratings.panel.votes_per_case.mean())
    words = "the paper calls certainty low without a limit; that is taken as below 0.99"
    rows = [
        Row(TOXICITY_TITLE, "ratings per comment, mean", votes, None, "the ratings", Printed(10, 1), form=".1f"),
        Row(
            TOXICITY_TITLE,
            "share of comments that most annotators find toxic",
            float(is_toxic.mean()),
            None,
            "more than half of the ratings are -2 or -1",
            Printed(0.01, 0.01),
            form=".1%",
        ),
        Row(TOXICITY_TITLE, "certainty, mean", certainty.mean, certainty.mean_error, told, form=".3f"),
    ]
    if is_toxic.any():
        rows.append(_low_among(certainty, is_toxic, told, words))
    return Section(TOXICITY_TITLE, tuple(rows), {"wikipedia_toxicity": certainty.to_frame().select("certainty")})


def _certainty(ratings: Ratings, threshold: float, settings: Settings) -> tuple[Certainty, str]:
    aggregation = NormalInverseGamma(thresholds=(threshold,))
    drawn = aggregation.sample(ratings, draws=settings.draws, seed=settings.seed, threads=settings.threads)
    told = (
        f"normal-inverse-gamma, threshold {threshold:g}, prior estimated, first {ratings.n_cases} cases, "
        f"{settings.draws} draws"
    )
    return annotation_certainty(drawn), told


def _share(title: str, certainty: Certainty, told: str, claim: AtLeast, reason: str) -> Row:
    def share(values: FloatArray) -> float:
        return float((values >= CERTAIN).mean())

    error = shaken_error(share, certainty.values, certainty.errors)
    quantity = f"share of cases with certainty of at least {CERTAIN}"
    return Row(title, quantity, share(certainty.values), error, told, claim, reason, form=".1%")


def _mostly(ratings: Ratings) -> BoolArray:
    """Tell which comments more than half of their annotators rate below zero."""
    case = row_of_each(ratings.rating_offsets)
    below = weighted_counts(case, ((ratings.scores < 0) * ratings.votes).astype(np.float64), ratings.n_cases)
    return np.asarray(below > ratings.panel.votes_per_case / 2)


def _low_among(certainty: Certainty, chosen: BoolArray, told: str, reason: str) -> Row:
    def share(values: FloatArray) -> float:
        return float((values < CERTAIN).mean())

    values, errors = certainty.values[chosen], certainty.errors[chosen]
    quantity = f"share of toxic comments with certainty below {CERTAIN}"
    error = shaken_error(share, values, errors)
    return Row(TOXICITY_TITLE, quantity, share(values), error, told, Printed(0.5, 0.15), reason, form=".1%")
