"""Prior shapes of conditions, and what aggregations learn from a whole study: it adds up over parts.

A part that is drawn by an aggregation that was taught has the draws that its cases have in the whole, bit for bit.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.point_estimates import votes
from dissensus.core.arrays import FloatArray, Forwarded, IntArray, Value
from dissensus.core.checks import check_positive
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.ragged import begins_run, row_of_each, weighted_counts
from dissensus.predictions.lists import PredictionKind, Predictions, common_kind
from dissensus.study.opinions import Opinions, kept_opinions

if TYPE_CHECKING:
    import polars as pl

    from dissensus.study.study import Study


Prior: TypeAlias = Literal["observed", "symmetric", "frequency", "informed"]
Alpha: TypeAlias = float | Literal["fitted"]

# Limits of a fitted prior mass of all conditions together.
LEAST_MASS, MOST_MASS = 1e-3, 1e3

# Before any case is seen, the logarithm of that mass is normal around 0 with this standard deviation.
MASS_SPREAD = 2.0

# How many mentions are added to those of every condition.
SMOOTHING = 0.5


@dataclass(frozen=True, eq=False)
class Shapes:
    """Hold the prior shapes of the conditions of every case.

    Attributes
    ----------
    mentioned : (sum of U,)
        Of the mentioned conditions of all cases, side by side.
    rest : (n_cases,)
        Of all others together.
    split : (n_cases,)
        Of an unmentioned condition when the rest is split, per unit of its weight.
    sums : (K + 1,), optional
        Sums of the weights of the conditions before each one; by default all weigh the same.
    """

    mentioned: FloatArray
    rest: FloatArray
    split: FloatArray
    sums: FloatArray | None = None


def prior_shapes(opinions: Opinions, prior: Prior, alpha: float, counts: FloatArray | None = None) -> Shapes:
    """Return the shapes that a prior gives the conditions of every case; see :class:`PlackettLuce`.

    ``counts`` (K,) says how many cases mention each condition; by default, of these opinions.
    """
    is_observed, case = prior == "observed", row_of_each(opinions.support_offsets)
    if prior != "frequency":
        members = np.minimum(opinions.rest_sizes, 1) if is_observed else opinions.rest_sizes
        split = np.full(opinions.n_cases, 1.0 if is_observed else alpha)
        rest = np.asarray(alpha * members, dtype=np.float64)
        return Shapes(np.full(len(opinions.support), float(alpha)), rest, split)
    # The case itself is left out: what it mentions would count twice, and the rest is counted in other cases only.
    weights = (mention_counts(opinions) if counts is None else counts) + SMOOTHING
    per_weight = alpha / (weights.sum() - opinions.support_sizes)
    own = (weights[opinions.support] - 1.0) * per_weight[case]
    unmentioned = weights.sum() - weighted_counts(case, weights[opinions.support], opinions.n_cases)
    rest = np.where(opinions.rest_sizes > 0, per_weight * unmentioned, 0.0)
    return Shapes(own, rest, per_weight, np.append(0.0, np.cumsum(weights)))


def mention_counts(opinions: Opinions) -> FloatArray:
    """Count the cases that mention each condition, shape (K,)."""
    return np.bincount(opinions.support, minlength=len(opinions.conditions)).astype(np.float64)


# What was chosen ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearnedPrior(Value):
    """Hold what a prior has learned from the whole study, so that parts of it can be drawn from.

    Attributes
    ----------
    conditions
        Of the study.
    mentions : (K,)
        How many cases mention each condition.
    alpha
        What was fitted, if it was.
    """

    conditions: tuple[str, ...]
    mentions: FloatArray
    alpha: float | None = None


def given_alpha(alpha: Alpha, prior: object) -> Alpha:
    """Return alpha; refuse one that is wrong or cannot be fitted."""
    if prior == "informed" and alpha != "fitted":
        raise DissensusError(
            "alpha cannot be given with the prior 'informed', whose strength is fitted case by case",
            expected="alpha left out",
            got=f"{alpha!r:.40}",
        )
    if not isinstance(alpha, str):
        check_positive(alpha=alpha)
    elif alpha != "fitted":
        raise DissensusError("alpha is not understood", expected="a positive number or 'fitted'", got=repr(alpha))
    elif prior == "observed":
        raise DissensusError(
            "alpha cannot be fitted under the prior 'observed', which depends on what was mentioned",
            expected="prior='frequency' or prior='symmetric'",
        )
    return alpha


def alpha_words(alpha: Alpha | None) -> str:
    """Write alpha in a sentence.

    >>> alpha_words(0.5), alpha_words("fitted")
    ('0.5', 'fitted to the first choices of the study')
    """
    return "fitted to the first choices of the study" if alpha is None or isinstance(alpha, str) else f"{alpha:g}"


# Scores below this share say no more than that a condition was not listed.
FLOOR = 1e-3

# What the numbers of a model are taken for.
Reading: TypeAlias = Literal["ranking", "set", "logarithms", "probabilities", "scores"]


@dataclass(frozen=True)
class ScoreRange:
    """Know between which limits the scores of a model are: they tell what its numbers mean. Ranges add up.

    ``is_label`` says whether no case has more than one condition whose score is not zero.

    Examples
    --------
    >>> one, other = (Predictions.from_scores([row], ["a", "b"]) for row in ([0.5, 0.5], [3.0, 1.0]))
    >>> ScoreRange.of(one).reading, (ScoreRange.of(one) + ScoreRange.of(other)).reading
    ('probabilities', 'scores')
    """

    kind: PredictionKind | None
    lowest: float = 0.0
    most: float = 0.0
    is_label: bool = True

    @staticmethod
    def of(model: Predictions) -> ScoreRange:
        """Find the lowest score, at most zero, the largest sum of a case, and whether a case has one score at most."""
        sums = weighted_counts(model.case_of_entry, model.values, model.n_cases)
        told = weighted_counts(model.case_of_entry, (model.values != 0).astype(np.float64), model.n_cases)
        limits = float(model.values.min(initial=0.0)), float(sums.max(initial=0.0))
        return ScoreRange(model.kind, *limits, bool((told <= 1).all()))

    def __add__(self, other: ScoreRange) -> ScoreRange:
        return ScoreRange(
            common_kind(self.kind, other.kind),
            min(self.lowest, other.lowest),
            max(self.most, other.most),
            self.is_label and other.is_label,
        )

    @property
    def reading(self) -> Reading:
        """Probabilities are taken as they are, other scores for shares, negative ones for logarithms."""
        if self.kind == "ranking" or self.kind == "set":
            return self.kind
        if self.lowest < 0:
            return "logarithms"
        return "probabilities" if self.most <= 1 + FLOOR else "scores"


@dataclass(frozen=True, eq=False)
class Lessons(Value):
    """Hold what the aggregations of an evaluation need to know of the whole study; lessons of parts add up.

    Attributes
    ----------
    conditions
        Names of the conditions.
    n_cases
        Number of annotated cases.
    mentions : (K,)
        How many cases mention each condition.
    kinds : (n_kinds, 4)
        Code of a condition, number of conditions mentioned, and votes for this one: how many cases with more than one
        vote have them; in ascending order.
    totals : (n_totals, 2)
        Votes in all, and how many of these cases have so many; in ascending order.
    ranges
        Between which limits the scores of every model are, by its name.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate.study(n_cases=40).annotations
    >>> parts = [Lessons.of(said.select(part)) for part in (slice(0, 9), slice(9, 40))]
    >>> parts[1] + parts[0] == Lessons.of(said)
    True
    """

    conditions: tuple[str, ...]
    n_cases: int
    mentions: FloatArray
    kinds: FloatArray
    totals: FloatArray
    ranges: Mapping[str, ScoreRange] = field(default_factory=dict)

    @staticmethod
    def of(study: Study, models: Mapping[str, Predictions] | None = None) -> Lessons:
        """Learn from a part of a study, and from what models say about it; the part may have no opinions.

        Parameters
        ----------
        study
            A part of the study, or all of it.
        models
            Predictions by name of the model; of other cases as well.

        Examples
        --------
        >>> from dissensus import Study
        >>> Lessons.of(Study.from_counts([[3, 1]], ["a", "b"])).n_cases
        1
        """
        if study.kind != "rankings":
            n_cases = int((study.counted.panel.votes_per_case > 0).sum())
            return Lessons((), n_cases, np.empty(0), np.empty((0, 4)), np.empty((0, 2)))
        opinions = kept_opinions(study.counted)
        ranges = {}
        for name, model in (models or {}).items():
            known = set(model.case_names)
            ranges[name] = ScoreRange.of(model.select([case for case in opinions.case_names if case in known]))
        return replace(Lessons.of_opinions(opinions), ranges=ranges)

    @staticmethod
    def of_opinions(opinions: Opinions) -> Lessons:
        """Count the first choices of every case."""
        counts, case = votes(opinions), row_of_each(opinions.support_offsets)
        totals = weighted_counts(case, counts, opinions.n_cases)
        several = totals > 1.0  # a single vote is as likely under any alpha
        kinds = np.column_stack([opinions.support, opinions.support_sizes[case], counts, np.ones(len(case))])
        of_cases = np.column_stack([totals, np.ones(len(totals))])
        found = _distinct(kinds[several[case]]), _distinct(of_cases[several])
        return Lessons(opinions.conditions, opinions.n_cases, mention_counts(opinions), *found)

    def __add__(self, other: Lessons) -> Lessons:
        are_same = self.conditions == other.conditions
        names = self.conditions if are_same else tuple(sorted({*self.conditions, *other.conditions}))
        one, another, none = self.recoded(names), other.recoded(names), ScoreRange(None)
        return Lessons(
            names,
            self.n_cases + other.n_cases,
            one.mentions + another.mentions,
            _distinct(np.concatenate([one.kinds, another.kinds])),
            _distinct(np.concatenate([one.totals, another.totals])),
            {
                name: self.ranges.get(name, none) + other.ranges.get(name, none)
                for name in {**self.ranges, **other.ranges}
            },
        )

    def recoded(self, conditions: Sequence[str]) -> Lessons:
        """Give conditions other codes, and add some that nobody mentions.

        Examples
        --------
        >>> from dissensus import Study
        >>> said = Study.from_counts([[2, 1, 0]], ["a", "b", "c"])
        >>> Lessons.of(said).recoded(["d", "b", "a"]).mentions
        array([0., 1., 1.])
        """
        if tuple(conditions) == self.conditions:
            return self
        place = {name: code for code, name in enumerate(conditions)}
        codes = np.array([place.get(name, -1) for name in self.conditions], dtype=np.int64)
        lost = [self.conditions[code] for code in np.flatnonzero((self.mentions > 0) & (codes < 0))]
        if lost:
            raise DissensusError("a mentioned condition is not among the conditions", got=listing(lost))
        mentions = np.zeros(len(conditions))
        mentions[codes[codes >= 0]] = self.mentions[codes >= 0]
        kinds = np.column_stack([codes[self.kinds[:, 0].astype(np.int64)], self.kinds[:, 1:]])
        return replace(self, conditions=tuple(conditions), mentions=mentions, kinds=_distinct(kinds))

    def learned(self, prior: Prior, alpha: Alpha | None) -> LearnedPrior:
        """Say what a prior has learned."""
        fits = alpha is None or isinstance(alpha, str)
        return LearnedPrior(self.conditions, self.mentions, self.fitted_alpha(prior) if fits else None)

    def fitted_alpha(self, prior: Prior) -> float:
        """Find the alpha under which these first choices are most likely, case by case.

        The likelihood is that of Dirichlet-multinomial counts of first choices, weights of rankings counting as numbers
        of votes and tied conditions sharing theirs. With ties broken, as the informed prior has it, the mass would be
        smaller (1.2 rather than 1.6 on the published differential diagnoses), which held-out rankings like less there
        (-3.83 rather than -3.79). It is multiplied by a log-normal density of the mass of all conditions together,
        which weighs less than a case or two, so that studies with little to tell give something near 1; the mass stays
        between 0.001 and 1000.
        """
        from scipy.optimize import minimize_scalar
        from scipy.special import gammaln

        weights, n_parts = self.mentions + SMOOTHING, 1.0 if prior == "frequency" else float(len(self.conditions))
        (codes, sizes, counts, numbers), (totals, cases) = self.kinds.T, self.totals.T
        shares = np.full(len(codes), 1 / n_parts)  # of every kind of choice in the mass of n_parts alphas
        if prior == "frequency":
            shares = (weights[codes.astype(np.int64)] - 1.0) * (1.0 / (weights.sum() - sizes))

        def badness(log_mass: float) -> float:
            mass = np.exp(log_mass)
            of_members = numbers * (gammaln(mass * shares + counts) - gammaln(mass * shares))
            of_cases = cases * (gammaln(mass) - gammaln(mass + totals))
            likelihood = float(of_members.sum() + of_cases.sum())
            return float(0.5 * (log_mass / MASS_SPREAD) ** 2 - likelihood)

        limits = np.log(LEAST_MASS), np.log(MOST_MASS)
        found = float(np.exp(minimize_scalar(badness, bounds=limits, method="bounded", options={"xatol": 1e-6}).x))
        problem = ""
        if not len(totals):
            problem = "alpha is not learned, as no case has two opinions to compare: the prior mass is 1"
        elif not 1.01 * LEAST_MASS < found < MOST_MASS / 1.01:
            problem = f"the fitted prior mass is at its limit, {found:.2g}: annotators always agree, or only by chance"
        if problem:
            warnings.warn(problem, DissensusWarning, stacklevel=2)
        return found / n_parts


def _distinct(rows: FloatArray) -> FloatArray:
    """Return the different rows, but for their last number, which is added up; ascending."""
    rows = rows[np.lexsort(rows.T[-2::-1])]
    begins = np.flatnonzero(begins_run(*rows.T[:-1]))
    sums = np.add.reduceat(rows[:, -1], begins) if len(rows) else rows[:, -1]
    return np.column_stack([rows[begins, :-1], sums])


def taught(spec: Aggregation, lessons: Lessons, conditions: Sequence[str]) -> Aggregation:
    """Fix everything that an aggregation learns; one that learns nothing comes back as it is.

    So does one that models inform: its prior is fitted by :func:`fitted_recipe`, and given case by case.

    Parameters
    ----------
    lessons
        Of the whole study.
    conditions
        Of the whole study, in the order of their codes.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate.study(n_cases=40).annotations
    >>> plain = ds.aggregations.PlackettLuce()
    >>> spec = taught(plain, Lessons.of(said), said.conditions)
    >>> whole, part = (one.sample(said.select(["case 7"]), draws=9).dense() for one in (plain, spec))
    >>> bool((plain.sample(said, draws=9).select(["case 7"]).dense() == part).all()), (whole == part).all()
    (True, np.False_)
    """
    if spec.needs_whole and not spec.is_informed:
        problem = f"{spec.id} cannot be drawn part by part"
        raise DissensusError(problem, got=spec.needs_whole, advice="draw all cases at once")
    if not spec.learns or spec.is_informed:
        return spec
    prior: Any = spec.parameters()["prior"]
    return spec.with_learned(lessons.recoded(conditions).learned(prior, spec.parameters()["alpha"]))


# Informed by models -------------------------------------------------------------------------------------


class InformedPrior(ABC):
    """Be a prior of cases by name that models inform, but not those that have seen the answers."""

    case_names: tuple[str, ...]
    models: tuple[str, ...] | Forwarded[tuple[str, ...]]
    # The function that fits it.
    maker: ClassVar[str]

    # What every model has in :meth:`table`.
    coefficient_names: ClassVar[tuple[str, ...]]

    # Whether the models that inform it give labels, and no scores.
    are_labels: bool | Forwarded[bool] = False

    def __repr__(self) -> str:
        conditions = getattr(self, "conditions", ())
        extent = f"{len(self.case_names)} cases" + (f", {len(conditions)} conditions" if conditions else "")
        return f"{type(self).__name__}: {extent}, informed by {listing(self.models) if self.models else 'no model'}"

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each case stands, by name."""
        return {name: place for place, name in enumerate(self.case_names)}

    def positions(self, names: Sequence[str], *, other_conditions: Sequence[str] = ()) -> IntArray:
        """Return where cases stand; refuse those that it does not know, and conditions that are not its own.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.ratings(n_cases=120, models={"A": 0.5}, seed=1)
        >>> ds.aggregations.rating_prior(study.ratings, study.predictions).positions(["case 3", "case 1"])
        array([2, 0])
        """
        missing = [name for name in names if name not in self.place]
        if missing or other_conditions:
            raise DissensusError(
                "the prior does not know these cases" if missing else "the prior has other conditions",
                expected=f"cases and conditions of the study that it was fitted to ({len(self.case_names)} cases)",
                got=listing(missing or other_conditions),
                advice=f"fit it to this study: {self.maker}(study, predictions)",
            )
        return np.array([self.place[name] for name in names], dtype=np.int64)

    def table(self) -> pl.DataFrame:
        """Return how much each model informs the prior: one row per model.

        First come its coefficients: of a prior of conditions ``log_score``, ``score`` and ``first``, of one of ratings
        ``coefficient``, by how much the mean that is expected of a case rises with the model's number. ``alone`` is by
        how much the mean log-probability of a first choice, or log-density of a case's mean rating, rises if this model
        alone informs the prior, ``beyond`` by how much beyond all others; for conditions, both are found on at most a
        thousand cases. ``left_out`` says why a model does not inform it.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> ds.aggregations.informed_prior(study.annotations, study.predictions).table().columns
        ['model', 'log_score', 'score', 'first', 'alone', 'beyond', 'left_out']
        >>> study = ds.simulate.ratings(n_cases=300, models={"A": 0.3, "B": 30}, seed=1)
        >>> prior = ds.aggregations.rating_prior(study.ratings, study.predictions)
        >>> prior.table()["coefficient"].round(1).abs().to_list()
        [0.8, 0.0]
        """
        return self.table_of(self.rows())

    @classmethod
    def table_of(cls, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        """Make the table of rows that were kept; what a row lacks is missing."""
        import polars as pl

        numbers = dict.fromkeys((*cls.coefficient_names, "alone", "beyond"), pl.Float64)
        return pl.DataFrame(rows, schema={"model": pl.String, **numbers, "left_out": pl.String})

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Write down how much each model informs the prior; see :meth:`table`."""


def rows_of_models(
    coefficients: Mapping[str, Mapping[str, float]],
    left_out: Mapping[str, str],
    score: Callable[[Sequence[str]], float],
) -> list[Mapping[str, Any]]:
    """Write down how much each model informs a prior; see :meth:`InformedPrior.table`.

    Parameters
    ----------
    coefficients
        Of each model, by name.
    left_out
        Why others do not inform it.
    score
        How well the prior predicts annotators if some of the models inform it.
    """
    names, known = tuple(coefficients), dict[tuple[str, ...], float]()
    others = {name: tuple(other for other in names if other != name) for name in names}
    for some in ((), names, *((name,) for name in names), *others.values()):
        known[some] = known[some] if some in known else score(some)
    rows: list[Mapping[str, Any]] = []
    for name, numbers in coefficients.items():
        gains = {"alone": known[name,] - known[()], "beyond": known[names] - known[others[name]]}
        rows.append({"model": name, **numbers, **gains})
    return [*rows, *({"model": name, "left_out": why} for name, why in left_out.items())]


# Into how many folds cases are put, to see whether models help to predict opinions on cases that were not seen.
FOLDS = 5

# Why models do not inform a prior that are declared as trained on the annotations.
DECLARED = "it was trained on these annotations"


def check_trained_on(trained_on: Sequence[str], models: Mapping[str, Any]) -> None:
    """Refuse names that are no models.

    >>> check_trained_on(["C"], {"A": 0, "B": 0})
    Traceback (most recent call last):
    ...
    dissensus.core.errors.DissensusError: a model that was trained on the annotations is not among the models
      expected: 'A', 'B'
      got: 'C'
    """
    unknown = [name for name in trained_on if name not in models]
    if unknown:
        problem = "a model that was trained on the annotations is not among the models"
        raise DissensusError(problem, expected=listing(list(models)) if models else "predictions", got=listing(unknown))


def left_out_warnings(left_out: Mapping[str, str]) -> tuple[str, ...]:
    """Say which models do not inform a prior, but for those that were declared."""
    told = {name: reason for name, reason in left_out.items() if reason != DECLARED}
    return tuple(f"model {name!r} does not inform the prior: {reason}" for name, reason in told.items())
