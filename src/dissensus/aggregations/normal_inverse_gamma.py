"""Ratings: a normal distribution of scores per case, with a normal-inverse-gamma posterior, and the priors of it.

In the informed prior, the mean that is expected of a case is a regression on the numbers of the models. Annotators may
rate higher or lower than others, by a shift each, partially pooled: a rating is the number of its case, plus the shift
of its annotator, plus noise. Cases are free; shifts are normal around zero with a variance that is estimated by
restricted maximum likelihood, and each is the mean of its posterior.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dissensus.aggregations.base import Aggregation, plausibilities_of
from dissensus.aggregations.point_estimates import checked_thresholds, interval_names
from dissensus.aggregations.priors import (
    DECLARED,
    FOLDS,
    InformedPrior,
    check_trained_on,
    left_out_warnings,
    rows_of_models,
)
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import GREATEST, check_fields, check_length, check_positive, checked
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.names import check_names
from dissensus.core.ragged import product, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.opinions import Moments
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

# How many annotators can have a shift: their covariance is held in full.
MOST_ANNOTATORS = 3000

# How much annotators know of shifts on average, as ratios of variances that are tried first.
RATIOS = np.concatenate([[0.0], np.geomspace(1e-4, 1e8, 121)])

# Eigenvalues below this part of the largest are zero: nothing is known in that direction.
TINY = 1e-9


class Shifts(NamedTuple):
    """Hold how far above others each annotator rates.

    Attributes
    ----------
    values, errors : (n_annotators,)
        Means and standard deviations of the posterior of each shift.
    variance
        Variance of shifts between annotators.
    noise
        Variance of a rating beside the case and the shift.
    """

    values: FloatArray
    errors: FloatArray
    variance: float
    noise: float


@checked
def annotator_shifts(ratings: Study) -> pl.DataFrame:
    """Estimate how far above or below others each annotator rates, from the cases that several rated.

    Columns: ``annotator``, ``n_ratings``, ``shift``, and its standard error ``se``. Shifts are shrunk towards zero, the
    more the fewer ratings there are; those of annotators who share cases average zero.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [(f"c{i}", name, i % 4 + above + (i * 7 % 5) / 10) for i in range(20)
    ...         for name, above in (("A", 1.5), ("B", -0.5), ("C", -1.0))]
    >>> said = Study.from_long(pl.DataFrame(rows, schema=["case", "annotator", "score"], orient="row"))
    >>> annotator_shifts(said)["shift"].round(2).to_list()
    [1.5, -0.5, -1.0]
    """
    import polars as pl

    rated = require_kind(ratings, "ratings", "annotator_shifts").opinions
    found = estimated_shifts(rated)
    counts = np.bincount(rated.annotators[rated.annotators != ANONYMOUS], minlength=len(rated.annotator_names))
    return pl.DataFrame(
        {"annotator": rated.annotator_names, "n_ratings": counts, "shift": found.values, "se": found.errors}
    )


def estimated_shifts(rated: Moments) -> Shifts:
    """Estimate the shifts of all annotators; see :func:`annotator_shifts`."""
    count = len(rated.annotator_names)
    if not count:
        raise DissensusError(
            "shifts of annotators need their names",
            expected="ratings of which it is known who gave them",
            got="ratings of nobody in particular",
            advice="name the column of annotators, or leave shifts out",
        )
    if count > MOST_ANNOTATORS:
        raise DissensusError(
            "there are too many annotators to give each a shift", expected=f"at most {MOST_ANNOTATORS}", got=str(count)
        )
    information, sums, squares, freedom = _within_cases(rated)
    size, directions = np.linalg.eigh(information)
    known = size > TINY * max(float(size[-1]), 1e-300)
    along = directions.T @ sums
    explained = float((along[known] ** 2 / size[known]).sum())
    ratio, noise = _variances(size[known], along[known], max(squares - explained, 0.0), freedom)
    shrunk = np.where(known, ratio * along / (1.0 + ratio * np.where(known, size, 0.0)), 0.0)
    spread = ratio * noise / (1.0 + ratio * np.where(known, size, 0.0))
    return Shifts(directions @ shrunk, np.sqrt((directions**2) @ spread), ratio * noise, noise)


def without_shifts(rated: Moments, shifts: FloatArray) -> Moments:
    """Take the shift of its annotator away from every rating; ratings of nobody in particular stay as they are."""
    return rated.with_scores(rated.scores - np.append(shifts, 0.0)[rated.annotators])


def _within_cases(rated: Moments) -> tuple[FloatArray, FloatArray, float, int]:
    """Return what ratings say about shifts once the numbers of cases are free.

    Information of shifts (n_annotators, n_annotators), sums of deviations (n_annotators,), the sum of their squares,
    and how many ratings there are beyond one per case.
    """
    from scipy.sparse import coo_array

    named = rated.annotators != ANONYMOUS
    cases, who, weights, scores = (x[named] for x in (rated.cases, rated.annotators, rated.weights, rated.scores))
    n_names, (present, cases) = len(rated.annotator_names), np.unique(cases, return_inverse=True)
    totals = np.maximum(weighted_counts(cases, weights, len(present)), 1e-300)
    gaps = scores - (weighted_counts(cases, weights * scores, len(present)) / totals)[cases]
    given = coo_array((weights, (cases, who)), shape=(len(present), n_names)).tocsr()
    readings = (given.T @ given.multiply(1.0 / totals[:, None])).toarray()
    information = np.diag(weighted_counts(who, weights, n_names)) - readings
    sums = weighted_counts(who, weights * gaps, n_names)
    return information, sums, float((weights * gaps**2).sum()), len(scores) - len(present)


def _variances(size: FloatArray, along: FloatArray, rest: float, freedom: int) -> tuple[float, float]:
    """Return the ratio of variances of the highest restricted likelihood, and the variance of noise.

    ``size`` and ``along`` are information and sums in directions in which shifts are independent, ``rest`` is what
    shifts do not explain. The ratio is searched on a grid, then between its neighbours.
    """
    from scipy.optimize import minimize_scalar

    def noise(ratio: float) -> float:
        return float((rest + (along**2 / (size * (1.0 + ratio * size))).sum()) / max(freedom, 1))

    def badness(ratio: float) -> float:
        return float(0.5 * (freedom * np.log(max(noise(ratio), 1e-300)) + np.log1p(ratio * size).sum()))

    tried = RATIOS / size.mean() if len(size) else np.zeros(1)
    best = int(np.argmin([badness(ratio) for ratio in tried]))
    if best == 0:
        return 0.0, noise(0.0)
    low, high = np.log(tried[max(best - 1, 1)]), np.log(tried[min(best + 1, len(tried) - 1)])
    found = minimize_scalar(lambda log: badness(float(np.exp(log))), bounds=(low, high), method="bounded")
    return float(np.exp(found.x)), noise(float(np.exp(found.x)))


# The prior shape when variances differ between cases no more than by chance.
LARGEST_SHAPE = 1000.0

# Slopes are held near zero as if by so many cases, of numbers in units of their standard deviation.
RIDGE = 1.0

# How often cases are weighed anew by how far they may be from the regression; further rounds change nothing.
ROUNDS = 4

# A model has seen answers if it is nearer to them, over so many cases, than the truth is, by so many standard errors.
LEAST_READ, TOO_NEAR = 20, 5.0

SEEN = "it is nearer to the ratings than anybody could be who had not seen them"


@dataclass(frozen=True, eq=False, repr=False)
class RatingPrior(InformedPrior):
    """Prior of every case, its mean by regression on what models say; see :func:`rating_prior`.

    Ratings of case i are N(mu_i, sigma_i^2), mu_i ~ N(x_i beta, sigma_i^2 / kappa), sigma_i^2 ~ InverseGamma(a, b).

    Attributes
    ----------
    models, case_names
        Who informs it, and the rated cases that it is about.
    features : (n_cases, 1 + n_models)
        One, and the numbers of the models in standard deviations from their means.
    scales : (n_models,)
        These standard deviations; 1 where a model always gives the same number.
    coefficients : (1 + n_models,)
        Of the features.
    kappa, a, b
        As above; ``kappa`` says how many ratings the prior of a case is worth.
    ratings : (3, n_cases)
        Number, mean and sum of squares of the ratings that it was fitted to.
    shifts
        Whether shifts of annotators were taken away from these ratings.
    left_out
        Models that have seen the answers, and by what that is known: they do not inform the prior.
    centres : (n_models,)
        Means of the numbers of the models.
    held_out_gain
        By how much models raise the mean log-density of a rating, given the others of its case, under a line that owes
        nothing to the case; missing if too few cases have several ratings.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5, "B": 0.8}, seed=1)
    >>> prior = ds.aggregations.rating_prior(study.ratings, study.predictions)
    >>> prior
    RatingPrior: 120 cases, informed by 'A', 'B'
    >>> ds.aggregations.NormalInverseGamma(prior=prior).sample(study.ratings, draws=100).n_cases
    120
    """

    models: tuple[str, ...]
    case_names: tuple[str, ...]
    features: FloatArray
    scales: FloatArray
    coefficients: FloatArray
    kappa: float
    a: float
    b: float
    ratings: FloatArray
    shifts: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    centres: FloatArray = field(default_factory=lambda: np.empty(0))
    held_out_gain: float | None = None

    maker = "rating_prior"
    coefficient_names = ("coefficient",)

    @property
    def means(self) -> FloatArray:
        """What is expected of each case before its own ratings are counted, shape (n_cases,)."""
        return along(self.features, self.coefficients[None])[:, 0]

    @property
    def quartiles(self) -> tuple[float, ...]:
        """How many ratings the prior of a case is worth: least, quartiles, most; all cases have the same."""
        return (self.kappa,) * 5

    @property
    def warnings(self) -> tuple[str, ...]:
        """What deserves a look, in sentences."""
        return left_out_warnings(self.left_out)

    def repeated(self, cases: Sequence[str], names: Sequence[str]) -> RatingPrior:
        """Give cases other names, and some of them several: ``names[p]`` has the prior of ``cases[p]``.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
        >>> ds.aggregations.rating_prior(study.ratings, study.predictions).repeated(["case 1"], ["one"]).case_names
        ('one',)
        """
        rows = self.positions(cases)
        return replace(self, case_names=tuple(names), features=self.features[rows], ratings=self.ratings[:, rows])

    def about(self, study: Study, models: Mapping[str, Predictions]) -> RatingPrior:
        """Return the same prior of other cases: the rated ones of a study, by what models say about them.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
        >>> prior = ds.aggregations.rating_prior(study.ratings, study.predictions)
        >>> other = prior.about(study.ratings, study.predictions)
        >>> bool(np.allclose(other.means, prior.means))
        True
        """
        rated: Any = study.opinions
        said = [models[name].select(list(rated.case_names)).numbers for name in self.models]
        numbers = np.array(said).reshape(len(said), rated.n_cases).T
        features = np.column_stack([np.ones(rated.n_cases), (numbers - self.centres) / self.scales])
        return replace(self, case_names=rated.case_names, features=features, ratings=moments_of(rated))

    def refitted(self, weights: FloatArray) -> FloatArray:
        """Return coefficients and kappa of weighted cases (n_refits, n_cases), shape (n_refits, 2 + n_models).

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
        >>> prior = ds.aggregations.rating_prior(study.ratings, study.predictions)
        >>> bool(np.allclose(prior.refitted(np.ones((1, 120)))[0], [*prior.coefficients, prior.kappa]))
        True
        """
        return np.array([fitted_line(self.features, self.ratings, row).row for row in weights])

    def log_ratios(self, names: Sequence[str], numbers: FloatArray, refits: FloatArray) -> FloatArray:
        """Return the log-density of draws under refits over that of this prior, shape (n_cases, n_refits, n_draws).

        It is known up to a number for each case and refit.

        Parameters
        ----------
        numbers : (n_cases, n_draws, 2)
            Mean and standard deviation of every draw.
        refits : (n_refits, 2 + n_models)
            What :meth:`refitted` returns.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
        >>> prior = ds.aggregations.rating_prior(study.ratings, study.predictions)
        >>> prior.log_ratios(["case 1"], np.ones((1, 2, 2)), prior.refitted(np.ones((1, 120)))).round(9).any()
        np.False_
        """
        features, draws = self.features[self.positions(names)], numbers[:, None, :, 0]
        new = refits[:, -1, None] * (draws - along(features, refits[:, :-1])[:, :, None]) ** 2
        old = self.kappa * (draws - along(features, self.coefficients[None])[:, :, None]) ** 2
        return np.asarray((old - new) / (2 * numbers[:, None, :, 1] ** 2) + 0.5 * np.log(refits[:, -1:] / self.kappa))

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Write down how much each model informs the prior; see :meth:`table`."""
        slopes = (self.coefficients[1:] / self.scales).tolist()
        told = {name: {"coefficient": slope} for name, slope in zip(self.models, slopes, strict=True)}
        return rows_of_models(told, self.left_out, self._log_score)

    def _log_score(self, models: Sequence[str]) -> float:
        """Return the mean log-density of a case's mean rating, by the intercept and some of the models."""
        features = self.features[:, [0, *(1 + self.models.index(name) for name in models)]]
        line, (totals, means, _) = fitted_line(features, self.ratings, np.ones(len(features))), self.ratings
        spread = line.between + line.within / totals
        gaps = means - product(features, line.coefficients)
        return float(-0.5 * (np.log(spread) + gaps**2 / spread).mean())


def along(features: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the height of every line at every case, (n_cases, n_lines): the same bits whatever the other cases.

    >>> along(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11., 2.]])
    """
    return np.asarray((features[:, None, :] * coefficients).sum(axis=-1))


class Line(NamedTuple):
    """A regression of means of cases: coefficients, and the variances within cases and between them and the line."""

    coefficients: FloatArray
    within: float
    between: float

    @property
    def row(self) -> FloatArray:
        """The coefficients, and how many ratings the line is worth."""
        return np.append(self.coefficients, self.within / self.between)


def moments_of(rated: Moments) -> FloatArray:
    """Return number, mean and sum of squares of the ratings of each case, shape (3, n_cases)."""
    return np.array([rated.totals, rated.means, rated.squares])


def fitted_line(features: FloatArray, ratings: FloatArray, weights: FloatArray) -> Line:
    """Fit a line to the means of cases, which lie around it with a variance beyond the noise of their ratings.

    Parameters
    ----------
    features : (n_cases, n_coefficients)
        One, and numbers of models in standard units.
    ratings : (3, n_cases)
        Number, mean and sum of squares of the ratings of each case.
    weights : (n_cases,)
        How much each case counts.

    Examples
    --------
    >>> features = np.column_stack([np.ones(4), [-1.0, 1.0, -1.0, 1.0]])
    >>> line = fitted_line(features, np.array([[9.0] * 4, [2.1, 4.0, 1.9, 4.0], [1.0] * 4]), np.ones(4))
    >>> line.coefficients.round(1)
    array([3. , 0.8])
    """
    totals, means, squares = ratings
    several = totals > 1
    within = float((weights * squares)[several].sum() / (weights * (totals - 1))[several].sum())
    ridge = RIDGE * np.diag(np.append(0.0, np.ones(features.shape[1] - 1)))
    noise, between = within / totals, within
    for _ in range(ROUNDS):
        own = weights / (between + noise)
        inverse = np.linalg.inv(product(features.T * own, features) + ridge * own.mean())
        coefficients = inverse @ product(features.T, own * means)
        # By moments, less what coefficients take up: the mean of a normal distribution around the estimate of which the
        # negative part is cut off, so that a line on which all cases seem to lie still leaves them some room.
        taken = own**2 * np.einsum("ij,jk,ik->i", features, inverse, features)
        freedom = (own - taken).sum()
        gaps = means - product(features, coefficients)
        found = float(((own * gaps**2).sum() - ((own - taken) * noise).sum()) / freedom)
        error = math.sqrt(2.0 * len(own)) / float(own.sum())
        beyond = max(found / error, -8.0)
        density = math.exp(-0.5 * beyond**2) / math.sqrt(2 * math.pi)
        between = error * (beyond + density / (0.5 * math.erfc(-beyond / math.sqrt(2))))
    return Line(coefficients, within, max(between, within / LARGEST_SHAPE))


def held_out_gain(features: FloatArray, rated: Moments) -> float | None:
    """Say by how much models raise the mean log-density of a rating, given the others of its case.

    The line is fitted to the cases of other folds, with the numbers of the models and without.
    """
    if (rated.totals > 1).sum() < LEAST_READ:
        return None
    fold, case = np.arange(rated.n_cases) % FOLDS, rated.cases
    others = rated.totals[case] - rated.weights
    sums, scores = (rated.totals * rated.means)[case] - rated.weights * rated.scores, []
    for own in (features, features[:, :1]):
        logs = np.empty(len(case))
        for number in range(FOLDS):
            weights = (fold != number).astype(np.float64)
            line = fitted_line(own, moments_of(rated), weights)
            worth = line.row[-1] + others
            gaps = rated.scores - (line.row[-1] * product(own, line.coefficients)[case] + sums) / worth
            spread = line.within * (1.0 + 1.0 / worth)
            logs = np.where(fold[case] == number, -0.5 * (np.log(spread) + gaps**2 / spread), logs)
        scores.append(float(np.average(logs, weights=rated.weights)))
    return scores[0] - scores[1]


def variances_of(rated: Moments) -> tuple[float, float]:
    """Return the mean variance within cases, and the shape of the inverse gamma distribution of variances."""
    several = rated.totals > 1
    freedom, squares = rated.totals[several] - 1, rated.squares[several]
    if not several.any() or not squares.any():
        raise DissensusError(
            "the prior cannot be estimated",
            expected="at least one case whose ratings differ",
            got="one rating per case, or ratings that always agree",
            advice="give it: NormalInverseGamma(prior=NormalInverseGammaPrior(mu, kappa, a, b))",
        )
    within = squares.sum() / freedom.sum()
    variances = squares / freedom
    fourth = (freedom * variances**2 / (1 + 2 / freedom)).sum() / freedom.sum()
    excess = fourth - within**2
    a = min(2 + within**2 / excess, LARGEST_SHAPE) if excess > 0 else LARGEST_SHAPE
    return within, a


@checked
def rating_prior(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    *,
    shifts: bool = False,
    left_out: Mapping[str, str] | None = None,
    trained_on: Sequence[str] = (),
) -> RatingPrior:
    """Fit a prior of every case to the numbers that models give it, so that the ratings are predicted best.

    No truth is needed, and none is used: a model that says nothing about ratings gets a coefficient near zero. A model
    that has seen the answers is left out with a warning: one that repeats an annotator with a name, or is nearer to the
    mean ratings than the truth could be.

    Parameters
    ----------
    study
        Ratings.
    predictions
        Model name to one number per case, or :class:`Predictions` of the kind ``"numbers"``.
    shifts
        Whether shifts of annotators are taken away from the ratings first (:func:`annotator_shifts`).
    left_out
        Models that are known to have seen the answers, and why; by default this is found out.
    trained_on
        Models that were trained on these annotations: they do not inform the prior.

    Returns
    -------
    RatingPrior
        For ``NormalInverseGamma(prior=...)``. :func:`evaluate` fits one by itself.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
    >>> prior = rating_prior(study.ratings, study.predictions)
    >>> bool(np.corrcoef(prior.means, study.truth)[0, 1] > 0.8)
    True
    """
    rated = require_kind(study, "ratings", "the prior of ratings").opinions
    models = aligned_models(predictions, study.case_names, study.conditions)
    numbers = {name: model.select(list(rated.case_names)).numbers for name, model in models.items()}
    own = without_shifts(rated, estimated_shifts(rated).values) if shifts else rated
    check_trained_on(trained_on, models)
    leaks = leaking_numbers(rated, numbers) if left_out is None else dict(left_out)
    leaks.update(dict.fromkeys(trained_on, DECLARED))
    within, a = variances_of(own)
    names = tuple(name for name in numbers if name not in leaks)
    said = np.array([numbers[name] for name in names]).reshape(len(names), rated.n_cases).T
    scales = said.std(axis=0)
    scales = np.where(scales > 0, scales, 1.0)
    features = np.column_stack([np.ones(rated.n_cases), (said - said.mean(axis=0)) / scales])
    line = fitted_line(features, moments_of(own), np.ones(rated.n_cases))
    found = RatingPrior(
        models=names,
        case_names=rated.case_names,
        features=features,
        scales=scales,
        coefficients=line.coefficients,
        kappa=float(line.row[-1]),
        a=float(a),
        b=float(within * (a - 1)),
        ratings=moments_of(own),
        shifts=shifts,
        left_out=leaks,
        centres=said.mean(axis=0),
        held_out_gain=held_out_gain(features, own) if left_out is None else None,
    )
    for problem in found.warnings if left_out is None else ():
        warnings.warn(problem, DissensusWarning, stacklevel=3)
    return found


def leaking_numbers(rated: Moments, numbers: Mapping[str, FloatArray]) -> dict[str, str]:
    """Find models that have seen the ratings, and say by what that is known.

    >>> from dissensus import simulate
    >>> rated = simulate.ratings(n_cases=120, seed=1).ratings.opinions
    >>> list(leaking_numbers(rated, {"copy": rated.means, "none": 0 * rated.means}))
    ['copy']
    """
    several, found = rated.totals > 1, {}
    variances = np.divide(rated.squares, rated.totals - 1, out=np.zeros(rated.n_cases), where=several)
    named = (rated.annotators != ANONYMOUS) & several[rated.cases]
    for name, told in numbers.items():
        # The truth itself is as far from ratings as these are from each other, and a model is no nearer to them.
        apart = (told[rated.cases] - rated.scores) ** 2 - variances[rated.cases]
        if _too_near((rated.totals * (told - rated.means) ** 2 - variances)[several]):
            found[name] = SEEN
            continue
        for annotator in np.unique(rated.annotators[named]):
            if _too_near(apart[named & (rated.annotators == annotator)]):
                found[name] = f"it repeats annotator {rated.annotator_names[annotator]!r}"
                break
    return found


def _too_near(gaps: FloatArray) -> bool:
    if len(gaps) < LEAST_READ:
        return False
    return bool(gaps.mean() < -TOO_NEAR * max(gaps.std(ddof=1) / math.sqrt(len(gaps)), 1e-300))


@dataclass(frozen=True)
class NormalInverseGammaPrior:
    """Prior of the mean and variance of a case: sigma^2 ~ InverseGamma(a, b), mean ~ N(mu, sigma^2 / kappa).

    Examples
    --------
    >>> from dissensus import Study
    >>> prior = NormalInverseGammaPrior(mu=0.0, kappa=1.0, a=2.0, b=1.0)
    >>> draws = NormalInverseGamma((0.0,), prior).sample(Study.from_scores([[1, 2, 2]]), draws=2000)
    >>> draws.mean().round(1)
    array([[0.1, 0.9]])
    """

    mu: float
    kappa: float
    a: float
    b: float

    def __post_init__(self) -> None:
        check_positive(kappa=self.kappa, a=self.a, b=self.b)
        check_fields(self)
        if not abs(self.mu) <= GREATEST:
            raise DissensusError("mu must be finite", expected=f"-{GREATEST:g} to {GREATEST:g}", got=repr(self.mu))


@dataclass(frozen=True)
class NormalInverseGamma(Aggregation):
    """Posterior of normally distributed scores, as plausibilities of the intervals between thresholds.

    Every draw is a mean and a variance from the conjugate posterior of a case; the plausibility of an interval is its
    probability under that normal distribution.

    Parameters
    ----------
    thresholds
        Increasing; K - 1 of them make K intervals. A score equal to a threshold belongs to the interval below it. By
        default ratings are numbers and nothing else; where conditions are shown, they are cut at their median.
    prior
        Given, or estimated from the scores of all cases by the method of moments (default). ``"informed"``: the mean
        that is expected of a case is a regression on the numbers of the models; inside :func:`evaluate`, or given as
        what :func:`rating_prior` returns.
    reliability
        How often each rating counts; any positive number. Weights of ratings multiply it.
    conditions
        Names of the K intervals; by default made from the thresholds.
    shifts
        Whether annotators with names rate higher or lower than others, each by an amount of their own, which is
        estimated from the cases that several rated and taken away from their ratings (:func:`annotator_shifts`).

    Notes
    -----
    Shifts are shrunk towards none as far as the ratings leave them open, and are taken as known: draws do not contain
    their uncertainty. Intervals of an evaluation do, if annotators count as a sample: shifts are then estimated again
    without each of them.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_scores([[-2, -1, -1], [1, 2, 2, 1], [-1, 0, 2]])
    >>> draws = NormalInverseGamma(thresholds=(0.0,)).sample(said, draws=2000)
    >>> draws.conditions, draws.mean()[:, 0].round(1)
    (('<= 0', '> 0'), array([0.8, 0.1, 0.4]))
    """

    id = "normal-inverse-gamma"
    meaning = "Takes ratings as measurements with an unknown mean and spread."
    needs = "ratings"

    thresholds: tuple[float, ...] | None = None
    prior: NormalInverseGammaPrior | Literal["informed"] | RatingPrior | None = None
    reliability: float = 1.0
    conditions: tuple[str, ...] | None = None
    shifts: bool = False
    rating_prior: RatingPrior | None = field(default=None, repr=False, compare=False)

    kept_apart = ("rating_prior",)

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        if isinstance(self.prior, Mapping):
            if set(self.prior) != {"mu", "kappa", "a", "b"}:
                raise DissensusError("the prior is incomplete", expected="mu, kappa, a and b", got=listing(self.prior))
            object.__setattr__(self, "prior", NormalInverseGammaPrior(**self.prior))
        if isinstance(self.prior, RatingPrior):
            object.__setattr__(self, "rating_prior", self.prior)
            object.__setattr__(self, "prior", "informed")
        check_fields(self)
        given = self.prior
        if not (given is None or isinstance(given, NormalInverseGammaPrior) or str(given) == "informed"):
            raise DissensusError(
                "prior is not of the right kind",
                expected="a NormalInverseGammaPrior, 'informed', or what rating_prior returns",
                got=f"{given!r:.60}, a {type(given).__name__}",
            )
        object.__setattr__(self, "thresholds", checked_thresholds(self.thresholds))
        if self.conditions is not None:
            check_length("condition", len(self.conditions), len(self.thresholds or (0.0,)) + 1)
            check_names("condition", self.conditions)
            object.__setattr__(self, "conditions", tuple(self.conditions))

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        shifted = ", less a shift per annotator" if self.shifts else ""
        informed = " whose prior mean is a regression on the numbers of the models" if self.is_informed else ""
        cut = "at the median rating where conditions are shown"
        if self.thresholds is not None:
            cut = f"into conditions at {', '.join(f'{at:g}' for at in self.thresholds)}"
        return f"a normal-inverse-gamma model of the ratings{informed}{shifted}, cut {cut}"

    @property
    def learns(self) -> bool:
        """Whether the draws of a case depend on other cases: by the prior, the shifts or the median."""
        return bool(self.needs_whole)

    @property
    def needs_whole(self) -> str:
        """Only if something is estimated."""
        if self.prior is None or (self.is_informed and self.rating_prior is None):
            return "its prior is estimated from the scores of all cases at once"
        if self.shifts:
            return "the shifts of annotators are estimated from all cases at once"
        return "" if self.thresholds else "ratings are cut at the median of all cases"

    def _prepare(self, opinions: Moments, *, draws: int, seed: int) -> Plausibilities:
        from dissensus.kernels.randomness import stream_keys

        thresholds = self.thresholds or (opinions.median,)
        found = estimated_shifts(opinions) if self.shifts else None
        opinions = opinions if found is None else without_shifts(opinions, found.values)
        fitted = {} if self.thresholds else {"median rating": thresholds[0]}
        fitted |= {} if found is None else {"spread of shifts": float(np.sqrt(found.variance))}
        keys = np.ascontiguousarray(stream_keys(np.uint64(seed), opinions.keys, 2)[:, 1])
        draw = partial(_drawn, self._posterior(opinions), np.array(thresholds), keys, draws)
        names = self.conditions or interval_names(thresholds)
        return plausibilities_of(opinions, draw, draws=draws, conditions=names, fitted=fitted)

    def _posterior(self, opinions: Moments) -> FloatArray:
        """Return mu, kappa, a, b of the posterior of each case, shape (n_cases, 4)."""
        if isinstance(self.prior, NormalInverseGammaPrior) or self.prior is None:
            return posterior_parameters(opinions, self.prior or estimated_prior(opinions), self.reliability)
        known = self.rating_prior
        if known is None:
            raise DissensusError(
                "the prior 'informed' needs to know what the models say",
                expected="prior=rating_prior(study, predictions), or evaluate(study, predictions), which fits one",
            )
        means = known.means[known.positions(opinions.case_names)]
        return posterior_parameters(opinions, known, self.reliability, means)


def _drawn(
    posteriors: FloatArray, thresholds: FloatArray, keys: KeyArray, draws: int, cases: IntArray
) -> tuple[FloatArray, None, FloatArray]:
    """Draw the plausibilities of all intervals, and numbers, for some cases."""
    from dissensus.kernels.simplex import sample_intervals

    theta, numbers = sample_intervals(posteriors[cases], thresholds, keys[cases], draws)
    return theta.ravel(), None, numbers


def posterior_parameters(
    rated: Moments, prior: NormalInverseGammaPrior | RatingPrior, reliability: float, means: Any = None
) -> FloatArray:
    """Return mu, kappa, a, b of the posterior of each case, shape (n_cases, 4).

    ``means`` (n_cases,) are those of the prior, if it has one for every case.
    """
    centre = prior.mu if isinstance(prior, NormalInverseGammaPrior) else means
    n, mean, squares = reliability * rated.totals, rated.means, reliability * rated.squares
    kappa = prior.kappa + n
    mu = (prior.kappa * centre + n * mean) / kappa
    b = prior.b + squares / 2 + prior.kappa * n * (mean - centre) ** 2 / (2 * kappa)
    return np.stack([mu, kappa, prior.a + n / 2, b], axis=1)


def estimated_prior(rated: Moments) -> NormalInverseGammaPrior:
    """Estimate the prior from the scores of all cases by the method of moments.

    The mean variance within cases, its spread between cases and the spread of case means, each less what sampling
    alone explains, are matched to the moments of the prior. Cases with many ratings count for more.
    """
    total, mean = rated.totals, rated.means
    within, a = variances_of(rated)
    centre = float(np.average(mean, weights=total))
    noise = within * len(total) / total.sum()
    between = max(float(np.average((mean - centre) ** 2, weights=total)) - noise, within / LARGEST_SHAPE)
    return NormalInverseGammaPrior(mu=centre, kappa=float(within / between), a=float(a), b=float(within * (a - 1)))
