"""Ratings under the normal-inverse-gamma model: photographs that are poor or good, comments that are toxic or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from dissensus.aggregations.normal_inverse_gamma import NormalInverseGamma, estimated_prior, posterior_parameters
from dissensus.certainty.top_sets import Certainty, annotation_certainty
from dissensus.core.arrays import CERTAIN, BoolArray, FloatArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.study import Study
from paper.reproduction.gamma_variance import GammaVariancePrior, chance_below, conjugate_chance_below
from paper.reproduction.rows import AtLeast, Between, Claim, Printed, Row, Section, Settings, shaken_error

if TYPE_CHECKING:
    import polars as pl

AVA_TITLE, TOXICITY_TITLE = "AVA ratings", "Wikipedia toxicity ratings"
AVA_CASES, TOXICITY_CASES = 10_000, 1000
"""How many of the first photographs and comments the paper looks at."""

POOR, TOXIC = 5.0, 0.0
"""Means up to these are poor, and toxic."""

SHOWN_DRAWS = 150
"""Draws of an example that its figure shows."""

TENTH = (
    "the paper counts the first 10 000 photographs of the full data set; these are the first of a tenth of it, whose "
    "mean number of votes is the 210 that is known for all of AVA"
)
INVERSE = (
    "the paper names a normal-inverse-gamma prior, and its footnote has sigma^2 ~ Gamma. Inverse gamma is what the "
    "name means, and it is conjugate. A gamma prior of the variance is not, and leaves no posterior for a case with "
    "many equal ratings. Both are compared exactly, without draws, at the same mean and variance of mu and of sigma^2"
)
BOUNDARY = (
    "the paper calls a photograph poor below 5 in its text and up to 5 in its formulas; here it is up to 5. For the "
    "certainty that makes no difference: the mean of a draw is 5 with probability zero"
)
READING = (
    "another reading of the paper's sentence on certainty, the larger of both probabilities instead of how often it is "
    "the same one; most photographs would not be certain then"
)
LOW = f"the paper calls certainty low without a limit; that is taken as below {CERTAIN}"


@dataclass(frozen=True, eq=False)
class Rated:
    """Ratings, and how certain it is on which side of a threshold their means are."""

    title: str
    ratings: Study
    threshold: float
    settings: Settings
    certainty: Certainty

    @staticmethod
    def of(title: str, ratings: Study, threshold: float, settings: Settings) -> Rated:
        """Draw."""
        aggregation = NormalInverseGamma(thresholds=(threshold,))
        drawn = aggregation.sample(ratings, draws=settings.draws, seed=settings.seed, threads=settings.threads)
        return Rated(title, ratings, threshold, settings, annotation_certainty(drawn))

    @property
    def told(self) -> str:
        """How it was computed."""
        cases = f"first {self.ratings.n_cases} cases, {self.settings.draws} draws"
        return f"normal-inverse-gamma, threshold {self.threshold:g}, prior estimated, {cases}"

    @property
    def posterior(self) -> FloatArray:
        """The parameters mu, kappa, a and b of every case, shape (4, n_cases)."""
        rated = self.ratings.opinions
        return posterior_parameters(rated, estimated_prior(rated), 1.0).T

    def share_below(self, what: str, chosen: BoolArray, claim: Claim | None, reason: str = "") -> Row:
        """Return the share of uncertain cases among some."""

        def share(values: FloatArray) -> float:
            return float((values < CERTAIN).mean())

        values, errors = self.certainty.values[chosen], self.certainty.errors[chosen]
        quantity = f"share of {what} with certainty below {CERTAIN}"
        error = shaken_error(share, values, errors)
        return Row(self.title, quantity, share(values), error, self.told, claim, reason, form=".1%")

    @property
    def mean_row(self) -> Row:
        """The mean certainty."""
        found = self.certainty
        return Row(self.title, "certainty, mean", found.mean, found.mean_error, self.told, form=".3f")

    def example(self, name: str, case: int) -> dict[str, pl.DataFrame]:
        """Return the scores of one case, and draws of its mean and precision."""
        import polars as pl

        case_name = self.certainty.case_names[case]
        said = self.ratings.select([case_name])
        labels = {"case": pl.lit(case_name), "certainty": pl.lit(self.certainty.values[case])}
        scores = pl.DataFrame({"score": said.scores, "votes": said.votes}).group_by("score").sum().sort("score")
        mean, precision = self._moments(case)
        return {
            f"{name}_scores": scores.with_columns(**labels),
            f"{name}_draws": pl.DataFrame({"mean": mean, "precision": precision}),
        }

    def _moments(self, case: int) -> tuple[FloatArray, FloatArray]:
        """Draw the mean and the precision of one case from its posterior."""
        rng = np.random.default_rng(self.settings.seed)
        mu, kappa, a, b = self.posterior[:, case]
        precision = rng.gamma(a, size=SHOWN_DRAWS) / b
        return mu + rng.standard_normal(SHOWN_DRAWS) / np.sqrt(kappa * precision), precision


# Photographs -----------------------------------------------------------------------------------------------


def ava_section(ratings: Study, settings: Settings) -> Section:
    """Find how certain it is whether the first photographs are poor or good."""
    rated = Rated.of(AVA_TITLE, ratings, POOR, settings)
    votes = float(ratings.panel.votes_per_case.mean())
    rows = (
        Row(AVA_TITLE, "ratings per photograph, mean", votes, None, "the votes", Printed(222, 5), TENTH, form=".1f"),
        _certain_share(rated),
        rated.mean_row,
        *_reading_rows(rated),
        *_prior_rows(rated),
    )
    middle = np.argsort(ratings.opinions.means, kind="stable")[ratings.opinions.n_cases // 2]
    frames = {"ava": rated.certainty.to_frame().select("certainty"), **rated.example("ava", int(middle))}
    return Section(AVA_TITLE, rows, frames)


def _certain_share(rated: Rated) -> Row:
    def share(values: FloatArray) -> float:
        return float((values >= CERTAIN).mean())

    found = rated.certainty
    error = shaken_error(share, found.values, found.errors)
    quantity = f"share of cases with certainty of at least {CERTAIN}"
    claim = AtLeast(0.5, "most examples receive high certainty")
    return Row(AVA_TITLE, quantity, share(found.values), error, rated.told, claim, form=".1%")


def _reading_rows(rated: Rated) -> tuple[Row, Row]:
    """Tell what the boundary and another reading of certainty would change."""
    mu, kappa, a, b = rated.posterior
    next_below = stdtr(2 * a, (rated.threshold - mu) / np.sqrt(b * (kappa + 1) / (a * kappa)))
    likelier = _exact_certainty(next_below)
    on_it = int((rated.ratings.opinions.means == rated.threshold).sum())
    return (
        Row(
            AVA_TITLE,
            f"share of cases whose likelier side has a probability of at least {CERTAIN} for the next score",
            float((likelier >= CERTAIN).mean()),
            None,
            _exactly(rated),
            reason=READING,
            form=".1%",
        ),
        Row(AVA_TITLE, "photographs with a mean of exactly 5", on_it, None, "the votes", None, BOUNDARY, form=",.0f"),
    )


def _prior_rows(rated: Rated) -> list[Row]:
    """Compare the certainty under both priors of the variance."""
    said = rated.ratings.opinions
    prior = estimated_prior(said)
    inverse = _exact_certainty(conjugate_chance_below(said, prior, rated.threshold))
    gamma = _exact_certainty(chance_below(said, GammaVariancePrior.matched(prior), rated.threshold))
    apart = np.abs(gamma - inverse)

    def row(quantity: str, ours: float, form: str) -> Row:
        return Row(AVA_TITLE, quantity, ours, None, _exactly(rated), None, INVERSE, form=form)

    share = f"share of cases with certainty of at least {CERTAIN}, variance"
    return [
        row(
            "certainty under a gamma and an inverse gamma prior: mean difference, unsigned", float(apart.mean()), ".4f"
        ),
        row("certainty under a gamma and an inverse gamma prior: largest difference", float(apart.max()), ".3f"),
        row(f"{share} inverse gamma", float((inverse >= CERTAIN).mean()), ".2%"),
        row(f"{share} gamma", float((gamma >= CERTAIN).mean()), ".2%"),
    ]


def _exactly(rated: Rated) -> str:
    return f"exact, threshold {rated.threshold:g}, prior estimated, first {rated.ratings.n_cases} cases"


def _exact_certainty(below: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(below, 1 - below))


# Comments --------------------------------------------------------------------------------------------------


def toxicity_section(ratings: Study, settings: Settings) -> Section:
    """Find how certain it is whether the first comments are toxic, and how certain among the toxic ones."""
    import polars as pl

    with_ratings = ratings.select(ratings.panel.votes_per_case > 0)
    rated = Rated.of(TOXICITY_TITLE, with_ratings, TOXIC, settings)
    is_toxic = _mostly(with_ratings)
    rows = [*_comment_rows(ratings, is_toxic), rated.mean_row, *_uncertain_rows(rated, is_toxic)]
    frame = pl.DataFrame({"certainty": rated.certainty.values, "is_toxic": is_toxic}).sort("certainty")
    frames = {"wikipedia_toxicity": frame, **rated.example("wikipedia_toxicity", _middle(rated, is_toxic))}
    return Section(TOXICITY_TITLE, tuple(rows), frames)


def _comment_rows(ratings: Study, is_toxic: BoolArray) -> list[Row]:
    votes = float(ratings.panel.votes_per_case.mean())
    toxic = "share of comments that most annotators find toxic"
    told = "more than half of the ratings are -2 or -1"
    claim = Between(0.005, 0.015, "roughly 1 %")
    return [
        Row(TOXICITY_TITLE, "ratings per comment, mean", votes, None, "the ratings", Printed(10, 1), form=".1f"),
        Row(TOXICITY_TITLE, toxic, float(is_toxic.mean()), None, told, claim, form=".1%"),
    ]


def _uncertain_rows(rated: Rated, is_toxic: BoolArray) -> list[Row]:
    """Judge what the paper says of certainty, among all comments and among the toxic ones if there are any."""
    everyone = np.ones(len(is_toxic), dtype=np.bool_)
    of_all = rated.share_below("comments", everyone, AtLeast(0.1, "a significant part is highly uncertain"), LOW)
    if not is_toxic.any():
        return [of_all]
    of_toxic = rated.share_below("toxic comments", is_toxic, Between(0.4, 0.6, "approximately 50 %"), LOW)
    more = of_toxic.ours - of_all.ours
    quantity = "share of uncertain comments, toxic ones less all"
    claim = AtLeast(0.1, "especially among the toxic cases")
    return [of_all, of_toxic, Row(TOXICITY_TITLE, quantity, more, None, rated.told, claim, LOW, form=".1%")]


def _middle(rated: Rated, is_toxic: BoolArray) -> int:
    """Choose the toxic comment in the middle by certainty; of all comments if none is toxic."""
    order = np.argsort(rated.certainty.values, kind="stable")
    among = order[is_toxic[order]] if is_toxic.any() else order
    return int(among[len(among) // 2])


def _mostly(ratings: Study) -> BoolArray:
    """Tell which comments more than half of their annotators rate below zero."""
    case = row_of_each(ratings.rating_offsets)
    below = weighted_counts(case, ((ratings.scores < 0) * ratings.votes).astype(np.float64), ratings.n_cases)
    return np.asarray(below > ratings.panel.votes_per_case / 2)
