"""The informed prior p(lambda | x): what models say about a case, weighed by how well it foretells annotators.

It is fitted to sums over the parts of a study, and its recipe written down. The first fit is made on a sample of the
cases. From there, sums over all cases of likelihood and slope lead to the fit of all cases in a few steps; the
curvature is that of the sample. Whoever drives the fit evaluates requests on every part, wherever it is, and adds the
results up. Sums are exact, and what a case adds depends on nothing but the case and the request: the recipe has the
same bits whatever the parts and their order. Models that have seen the answers do not inform it: those that repeat an
annotator, and those that agree with the panel too well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dissensus.aggregations.base import Aggregation, with_support
from dissensus.aggregations.prior_fit import (
    LEAST_SHAPE,
    N_BREAKS,
    SAYINGS,
    Evidence,
    PriorLikelihood,
    first_shares,
    fitted_likelihood,
    means_and_spread,
    moved,
    raw_covariates,
    standardised,
)
from dissensus.aggregations.priors import (
    InformedPrior,
    LearnedPrior,
    Lessons,
    ScoreRange,
    Shapes,
    learned_shapes,
    left_out_warnings,
    rows_of_models,
)
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_choice, check_count, checked
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.exact import Exact
from dissensus.core.names import case_keys, in_order_of_keys, sampled_cases
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.core.value import Value
from dissensus.predictions.alignment import aligned_models
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dissensus.study.study import Study


# An annotator must have read so many cases to be recognised.
LEAST_CASES = 20

# By how many standard errors a model must agree too well to be taken for one that has seen the answers.
SURE = 3.0

# Share of an annotator's cases in which a model that repeats it says the same.
SAME = 0.999


def first_matches(study: Study, model: Predictions) -> FloatArray:
    """Return how much of a model's first place every opinion names first, shape (n_opinions,); ties share it."""
    first = first_shares(model)
    n_conditions = study.n_conditions
    table = dict(
        zip(
            (model.case_of_entry * n_conditions + model.codes)[first > 0].tolist(),
            first[first > 0].tolist(),
            strict=True,
        )
    )
    offsets, mentions = take_rows(study.code_offsets, study.block_offsets[:-1])
    ranking = row_of_each(offsets)
    keys = study.panel.case_of_opinion[ranking] * n_conditions + study.codes[mentions]
    shares = np.array([table.get(key, 0.0) for key in keys.tolist()])
    return weighted_counts(ranking, shares / np.diff(offsets)[ranking], len(offsets) - 1)


def leaking_models(study: Study, models: Mapping[str, Predictions]) -> dict[str, str]:
    """Name the models that have seen the answers, and say by what that is known.

    Either a model agrees with annotators more than anybody could who had not seen their answers: whoever knows the
    plausibilities theta of a case, but not the answers, names the most plausible condition, and agrees with a share
    max theta of the annotators. Two annotators agree with probability sum theta^2, and the mean of max theta over cases
    is at most the square root of the mean of sum theta^2. Or it says first what an annotator said first on all cases of
    that annotator; one whom the others repeat as well says nothing special, and is not looked at.
    """
    said = study.counted
    totals, agreed = pair_agreement(said)
    several, named, n_annotators = totals > 1, said.annotators != ANONYMOUS, len(said.annotator_names)
    totals, pairs, annotators = totals[several], agreed[several], said.annotators[named]
    sizes = np.bincount(annotators, minlength=n_annotators)
    seen, copied = {}, {}
    for name, model in models.items():
        shares = first_matches(said, model.align(said.case_names, said.conditions))
        if len(pairs) >= LEAST_CASES:
            most = float(np.sqrt(pairs.mean()))
            own = weighted_counts(said.panel.case_of_opinion, shares * said.votes, said.n_cases)[several] / totals
            gaps = own - pairs / (2 * max(most, SAME))
            error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
            if own.mean() - most > SURE * error:
                seen[name] = (
                    f"it agrees with {own.mean():.2f} of the annotators, and nobody could with more than {most:.2f} "
                    "without having seen their answers"
                )
        repeated = weighted_counts(annotators, shares[named], n_annotators)
        others = (shares[named].sum() - repeated) / np.maximum(named.sum() - sizes, 1)
        is_copied = (sizes >= LEAST_CASES) & (repeated >= SAME * sizes) & (others < SAME)
        if is_copied.any():
            who = said.annotator_names[int(np.flatnonzero(is_copied)[0])]
            copied[name] = f"it says what annotator {who!r} said on every case"
    return {**seen, **copied}


def pair_agreement(study: Study) -> tuple[FloatArray, FloatArray]:
    """Return the annotators of each case, and the share of pairs of them who name the same first; both (n_cases,)."""
    offsets, mentions = take_rows(study.code_offsets, study.block_offsets[:-1])
    ranking, codes = row_of_each(offsets), study.codes[mentions]
    share = (1.0 / np.diff(offsets))[ranking]
    case, weights = study.panel.case_of_opinion[ranking], study.votes[ranking] * share
    keys, place = np.unique(case * study.n_conditions + codes, return_inverse=True)
    squares = np.square(weighted_counts(place, weights, len(keys)))
    alike = weighted_counts(keys // study.n_conditions, squares, study.n_cases)
    alone = weighted_counts(case, weights * share, study.n_cases)
    totals = weighted_counts(study.panel.case_of_opinion, study.votes.astype(np.float64), study.n_cases)
    return totals, (alike - alone) / np.maximum(totals * (totals - 1), 1.0)


# On how many cases the first fit is made, and leaks and the gains by models are judged.
LEARNING_CASES = 20_000

# On how many cases it is found what each model adds.
MOST_TOLD = 1000

# How often the sums over all cases are asked for, at most, in each of two fits.
MOST_PASSES = 20

# How often the prior is fitted again to resampled cases.
REFITS = 40

# The search over all cases ends when slopes are below this in units of standard errors.
SETTLED = 5e-3

UNSETTLED = f"the fit of the prior did not settle within {MOST_PASSES} passes over all cases"


# Names of the coefficients of a model.
COEFFICIENTS = tuple(saying.replace(" ", "_") for saying in SAYINGS)


# The recipe ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PriorRecipe(Value):
    """Hold everything that makes the prior of a case, given its opinions and what models say about it.

    Attributes
    ----------
    conditions, models
        What the prior is about, and the models that inform it.
    left_out
        Models that have seen the answers, and by what that is known.
    ranges
        Between which limits the scores of each model are.
    counts : (K,)
        How many cases mention each condition.
    n_cases, turns
        Number of annotated cases, and in how many ways ties of theirs are broken.
    plain : (n_plain,)
        Coefficients of the fit with one concentration of all cases; empty as long as there are none.
    means, spread : (1 + n_free,), a number
        Of the covariates that this fit gives; empty as long as they are not known.
    coefficients, curvature : (n_coefficients,), (n_coefficients, n_coefficients)
        Those of the whole fit.
    refits : (n_refits, n_coefficients)
        What resamples of the cases would have, if they were asked for; see :func:`with_refits`.
    concentrations
        How many votes the prior of a case is worth: least, quartiles, most.
    rows, warnings
        How much each model informs the prior, and what deserves a look.
    """

    conditions: tuple[str, ...]
    models: tuple[str, ...]
    left_out: Mapping[str, str]
    ranges: Mapping[str, ScoreRange]
    counts: FloatArray
    n_cases: int
    turns: int
    plain: FloatArray = field(default_factory=lambda: np.empty(0))
    means: FloatArray = field(default_factory=lambda: np.empty(0))
    spread: float = 0.0
    coefficients: FloatArray = field(default_factory=lambda: np.empty(0))
    curvature: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    refits: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    concentrations: tuple[float, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    def likelihood(self, opinions: Opinions, models: Mapping[str, Predictions]) -> PriorLikelihood:
        """Lay out what the models that inform the prior say about cases, with covariates as far as they are known."""
        own = {name: models[name] for name in self.models}
        evidence = Evidence.of(opinions, own, counts=self.counts, ranges=self.ranges, turns=self.turns)
        plain = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0)))
        if not len(self.means):
            return plain
        return replace(plain, covariates=standardised(raw_covariates(plain, self.plain), self.means, self.spread))


# Sums over parts ----------------------------------------------------------------------------------------

Sought: TypeAlias = Literal["slopes", "covariates", "refits"]


@dataclass(frozen=True, eq=False)
class Request(Value):
    """Ask all parts of a study for a sum over their cases.

    Attributes
    ----------
    sought
        ``"slopes"``: the log-likelihood and its derivatives. ``"covariates"``: squared entropies, entropies and shares
        of free conditions. ``"refits"``: what resampled cases add to the slope.
    recipe
        What is known so far.
    coefficients
        Where it is evaluated.
    """

    sought: Sought
    recipe: PriorRecipe
    coefficients: FloatArray

    def of_part(
        self, opinions: Opinions, models: Mapping[str, Predictions], weights: FloatArray | None = None
    ) -> Exact:
        """Sum over the cases of a part.

        Parameters
        ----------
        opinions
            Of the part, with the conditions of the whole; there may be none.
        models
            Predictions of its cases, and of others, on the same conditions.
        weights : (n_cases, n_refits)
            Weights of the annotated cases in the first resamples; needed where refits are sought.
        """
        n_coefficients, n_plain = len(self.coefficients), len(SAYINGS) * len(self.recipe.models) + 2
        if not opinions.n_cases and self.sought == "refits":
            return Exact.zeros(0 if weights is None else weights.shape[1], n_coefficients)
        if not opinions.n_cases:
            return Exact.zeros(1 + n_coefficients if self.sought == "slopes" else 2 + n_coefficients - n_plain)
        likelihood = self.recipe.likelihood(opinions, models)
        if self.sought == "refits":
            assert weights is not None
            return likelihood.pushes(self.coefficients, weights)
        if self.sought == "slopes":
            at = self.coefficients, likelihood.state(self.coefficients)
            return Exact.of(np.column_stack([likelihood.of_cases(*at), likelihood.slopes(*at)])).summed(0)
        raw = raw_covariates(likelihood, self.coefficients)
        return Exact.of(np.column_stack([np.square(raw[:, 0]), raw])).summed(0)


# Evaluate a request on every part of a study and add the results up.
Total: TypeAlias = Callable[[Request], Exact]


# The fit ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Search:
    """Know the sample on which a fit begins, and how to sum over all cases."""

    opinions: Opinions
    models: Mapping[str, Predictions]
    total: Total
    n_cases: int

    @property
    def is_whole(self) -> bool:
        """Whether the sample is all there is."""
        return self.opinions.n_cases == self.n_cases

    @property
    def weights(self) -> FloatArray:
        """How many cases each one of the sample stands for, shape (n_sample,)."""
        return np.full(self.opinions.n_cases, self.n_cases / self.opinions.n_cases)

    def recipe(self, recipe: PriorRecipe) -> PriorRecipe:
        """Fit twice: with one concentration of all cases, and with one that depends on what the first fit says.

        What is told about the fit is found on the sample.
        """
        of_sample, plain, first = self.fitted(recipe)
        if self.is_whole:
            centre = means_and_spread(raw_covariates(recipe.likelihood(self.opinions, self.models), plain))
        else:
            sums = self.total(Request("covariates", replace(recipe, plain=plain), plain)).rounded()
            square, *means = sums / self.n_cases
            centre = np.array(means), float(np.sqrt(max(square - means[0] ** 2, 0.0)))
        recipe, more = replace(recipe, plain=plain, means=centre[0], spread=centre[1]), np.zeros(len(centre[0]))
        start, shift = np.append(of_sample, more), np.append(plain - of_sample, more)
        _, coefficients, second = self.fitted(recipe, start, shift)
        likelihood = recipe.likelihood(self.opinions, self.models)
        unsettled = () if first and second else (UNSETTLED,)
        return replace(
            recipe,
            coefficients=coefficients,
            curvature=likelihood.curvature(coefficients, self.weights),
            concentrations=quartiles_of(likelihood.concentrations(coefficients)),
            rows=tuple(informing(likelihood, coefficients, recipe.left_out)),
            warnings=(*told_problems(recipe.left_out, likelihood.evidence), *unsettled),
        )

    def fitted(
        self, recipe: PriorRecipe, start: FloatArray | None = None, shift: FloatArray | float = 0.0
    ) -> tuple[FloatArray, FloatArray, bool]:
        """Fit coefficients to the sample, then to all cases; return both, and whether the latter settled.

        ``shift`` is how far all cases are expected to be from the sample.
        """
        likelihood = recipe.likelihood(self.opinions, self.models)
        found = likelihood.fitted(self.weights, start)
        return (found, found, True) if self.is_whole else (found, *self._refined(recipe, likelihood, found + shift))

    def _refined(self, recipe: PriorRecipe, likelihood: PriorLikelihood, here: FloatArray) -> tuple[FloatArray, bool]:
        """Move coefficients by Newton steps, the curvature learning from each; too large a step is not taken."""

        def penalised(coefficients: FloatArray) -> tuple[float, FloatArray]:
            """Return the penalised log-likelihood of all cases, and its slope."""
            value, *slope = self.total(Request("slopes", recipe, coefficients)).rounded()
            gap = coefficients - likelihood.centre
            return float(value - 0.5 * (likelihood.ridge * gap**2).sum()), np.array(slope) - likelihood.ridge * gap

        curvature, least = likelihood.curvature(here, self.weights), float(likelihood.ridge.min())
        sizes, axes = np.linalg.eigh(curvature)
        curvature = curvature if sizes.min() >= least else np.asarray(axes * np.maximum(sizes, least) @ axes.T)
        value, slope = penalised(here)
        for _ in range(MOST_PASSES):
            if np.abs(np.linalg.solve(np.linalg.cholesky(curvature), slope)).max() < SETTLED:
                return here, True
            there = here + np.linalg.solve(curvature, slope)
            reached, ahead = penalised(there)
            step, change = there - here, slope - ahead
            curvature = secant(curvature, step, change)
            if reached > value:
                here, value, slope = there, reached, ahead
            elif step @ change <= 0:
                curvature = 4.0 * curvature
        return here, False


def secant(curvature: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """Let a curvature agree with how far the slope fell along a step (BFGS); if it did not fall, nothing is learned.

    >>> secant(np.eye(2), np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    array([[3., 0.],
           [0., 1.]])
    """
    if step @ change <= 0:
        return curvature
    pull = curvature @ step
    return np.asarray(curvature + np.outer(change, change) / (change @ step) - np.outer(pull, pull) / (step @ pull))


def fitted_recipe(
    study: Study,
    models: Mapping[str, Predictions],
    lessons: Lessons,
    *,
    total: Total,
    left_out: Mapping[str, str] | None = None,
) -> PriorRecipe:
    """Fit an informed prior to a study of which a sample is in memory, and everything else is asked for.

    Parameters
    ----------
    study
        The cases of :func:`learning_sample`, in any order, with the conditions of the whole.
    models
        Predictions of these cases by name of the model.
    lessons
        Of the whole study and of all models.
    total
        Evaluates a request on every part of the study and adds the results up.
    left_out
        Models that are known to have seen the answers; by default they are found in the sample.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=120)
    >>> said, models = study.annotations, study.predictions
    >>> recipe = fitted_recipe(
    ...     said, models, Lessons.of(said, models), total=lambda request: request.of_part(said.opinions, models))
    >>> recipe.models, recipe.n_cases
    (('Aster', 'Birch', 'Clover', 'Dahlia', 'Elder'), 120)
    """
    said = study.select(in_order_of_keys(study.case_names))
    own = aligned_models(
        {name: model.select(list(said.case_names)) for name, model in models.items()}, said.case_names, said.conditions
    )
    leaks = dict(leaking_models(said, own) if left_out is None else left_out)
    search = Search(said.opinions, own, total, lessons.n_cases)
    recipe = PriorRecipe(
        said.conditions,
        tuple(name for name in own if name not in leaks),
        leaks,
        lessons.ranges,
        lessons.choices.recoded(said.conditions).mentions,
        lessons.n_cases,
        N_BREAKS,
    )
    turns = len(Evidence.of(search.opinions, {}).votes) if search.is_whole else N_BREAKS
    return search.recipe(replace(recipe, turns=turns))


def with_refits(recipe: PriorRecipe, total: Total) -> PriorRecipe:
    """Refit a prior to resampled cases; parts are asked with the weights of their cases in the resamples."""
    pushes = total(Request("refits", recipe, recipe.coefficients))
    return replace(recipe, refits=moved(recipe.coefficients, recipe.curvature, pushes))


def learning_sample(study: Study) -> Study:
    """Choose the cases of a study on which the first fit is made; those of a whole are among those of its parts.

    Examples
    --------
    >>> import dissensus as ds
    >>> learning_sample(ds.simulate.study(n_cases=12).annotations).n_cases
    12
    """
    annotated = np.flatnonzero(study.counted.panel.votes_per_case > 0)
    names = [study.case_names[place] for place in annotated]
    return study.select([names[place] for place in sampled_cases(names, LEARNING_CASES)])


# What is told about it ----------------------------------------------------------------------------------


def told_problems(left_out: Mapping[str, str], evidence: Evidence) -> tuple[str, ...]:
    """Say what deserves a look."""
    alone = ("the strength of the prior is not learned, as no case has two opinions",)
    return (*left_out_warnings(left_out), *(alone if (evidence.totals <= 1).all() else ()))


def quartiles_of(concentrations: FloatArray) -> tuple[float, ...]:
    """Return how many votes the prior of a case is worth: least, quartiles, most."""
    return tuple(np.quantile(concentrations, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist())


def informing(
    likelihood: PriorLikelihood, coefficients: FloatArray, left_out: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """Write down how much each model informs the prior, by fits with one concentration of all cases."""
    n_cases, names = likelihood.evidence.n_cases, likelihood.evidence.models
    chosen = np.unique(np.linspace(0, n_cases - 1, min(n_cases, MOST_TOLD)).astype(np.int64))
    evidence = likelihood.evidence.take(chosen)

    def score(some: Sequence[str]) -> float:
        own = evidence.of_models(some)
        plain = PriorLikelihood(own, np.empty((own.n_cases, 0)))
        return log_score(plain, plain.fitted(np.ones(own.n_cases)))

    told = coefficients[: len(SAYINGS) * len(names)].reshape(len(names), len(SAYINGS)).tolist()
    numbers = {name: dict(zip(COEFFICIENTS, row, strict=True)) for name, row in zip(names, told, strict=True)}
    return rows_of_models(numbers, left_out, score)


def log_score(likelihood: PriorLikelihood, coefficients: FloatArray) -> float:
    """Return the mean log-probability of a first choice, given those of nobody else on the case."""
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    votes = evidence.votes.mean(axis=0)
    return float(votes @ np.log(np.maximum(shares.entries[evidence.mentioned], LEAST_SHAPE)) / votes.sum())


# A condition that nobody mentions is a case's own if the prior gives it at least this share.
NOTICEABLE = 0.005

MOST_FOLDS = 100


@dataclass(frozen=True, eq=False)
class CasePrior(InformedPrior):
    """Prior shapes of every case, fitted to the first choices of annotators; see :func:`informed_prior`.

    Attributes
    ----------
    conditions, case_names
        What the prior is about: the annotated cases of the study.
    likelihoods
        Features of conditions, and how coefficients turn into shapes; one, or one for each fold of cases.
    coefficients : (n_folds, n_coefficients)
        What was fitted.
    fold : (n_cases,)
        Which of these belongs to each case.
    left_out
        Models that have seen the answers, and by what that is known: they do not inform the prior.
    recipe
        How it was made, where it was fitted to more cases than these; see :func:`prior_of`.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=120)
    >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
    >>> prior
    CasePrior: 120 cases, 60 conditions, informed by 'Aster', 'Birch', 'Clover', 'Dahlia', 'Elder'
    >>> drawn = ds.aggregations.PlackettLuce(prior=prior).sample(study.annotations, draws=100)
    >>> drawn.n_cases
    120
    """

    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    likelihoods: tuple[PriorLikelihood, ...]
    coefficients: FloatArray
    fold: IntArray
    left_out: Mapping[str, str] = field(default_factory=dict)
    recipe: PriorRecipe | None = None

    maker = "informed_prior"
    coefficient_names = COEFFICIENTS

    @property
    def likelihood(self) -> PriorLikelihood:
        """The first of the likelihoods."""
        return self.likelihoods[0]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that inform it."""
        return self.likelihood.evidence.models

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.case_names)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What deserves a look, in sentences."""
        if self.recipe is not None:
            return self.recipe.warnings
        return told_problems(self.left_out, self.likelihood.evidence)

    def __repr__(self) -> str:
        informed = f"informed by {listing(self.models)}" if self.models else "informed by no model"
        return f"CasePrior: {self.n_cases} cases, {len(self.conditions)} conditions, {informed}"

    # Shapes ------------------------------------------------------------------------------------------------

    @cached_property
    def concentrations(self) -> FloatArray:
        """How many votes the prior of each case is worth, shape (n_cases,)."""
        found = np.array([one.concentrations(row) for one, row in self._fits])
        return np.asarray(found[self.fold, np.arange(self.n_cases)])

    @property
    def quartiles(self) -> tuple[float, ...]:
        """How many votes the prior of a case is worth: least, quartiles, most."""
        if self.recipe is not None:
            return self.recipe.concentrations
        return quartiles_of(self.concentrations)

    @property
    def _fits(self) -> list[tuple[PriorLikelihood, FloatArray]]:
        return list(zip(self.likelihoods, self.coefficients, strict=True))

    def means(self) -> FloatArray:
        """Return the mean of the prior of every case, shape (n_cases, K); mind the memory.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> ds.aggregations.informed_prior(study.annotations, study.predictions).means().sum(axis=1).round(6).min()
        np.float64(1.0)
        """
        evidence = self.likelihood.evidence
        full = np.empty((self.n_cases, len(self.conditions)))
        for number, (one, row) in enumerate(self._fits):
            shares, own = one.shares(row), self.fold == number
            full[own] = (shares.scale[:, None] * shares.weights)[own]
            inside = own[evidence.case]
            full[evidence.case[inside], evidence.codes[inside]] = shares.entries[inside]
        return full

    def applied(self, opinions: Opinions) -> tuple[Opinions, Shapes]:
        """Give the cases of a study their prior shapes, with a support that holds all conditions of noticeable mass.

        Parameters
        ----------
        opinions
            Of cases that the prior knows, by name, in any order; not necessarily the opinions it was fitted to.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> wider, shapes = prior.applied(study.annotations.opinions)
        >>> len(wider.support) == len(shapes.mentioned) > len(study.annotations.opinions.support)
        True
        """
        cases, wider, places = self._support(opinions)
        shapes = self._shapes(*self._fits[0], cases, wider, places)
        for number, fit in enumerate(self._fits[1:], start=1):
            other, own = self._shapes(*fit, cases, wider, places), self.fold[cases] == number
            member = own[row_of_each(wider.support_offsets)]
            shapes = replace(
                shapes,
                mentioned=np.where(member, other.mentioned, shapes.mentioned),
                rest=np.where(own, other.rest, shapes.rest),
                split=np.where(own, other.split, shapes.split),
            )
        return wider, shapes

    def _support(self, opinions: Opinions) -> tuple[IntArray, Opinions, IntArray]:
        """Return where cases stand, their opinions with all conditions of noticeable mass, and entries of these."""
        others = () if opinions.conditions == self.conditions else opinions.conditions
        cases, evidence = self.positions(opinions.case_names, other_conditions=others), self.likelihood.evidence
        every = np.array([one.shares(row).entries for one, row in self._fits])
        offsets, entries = take_rows(evidence.offsets, cases)
        fold = np.repeat(self.fold[cases], np.diff(offsets))
        kept = every[fold, entries] >= NOTICEABLE
        counts = np.append(0, np.cumsum(kept))[offsets]
        return cases, *widened(opinions, counts, evidence.codes[entries[kept]], entries[kept])

    @cached_property
    def _weights(self) -> FloatArray:
        """Weights by which conditions that are no entries share the rest, shape (K,)."""
        return np.maximum(self.likelihood.shares(self.coefficients[0]).weights, LEAST_SHAPE)

    def _shapes(
        self, one: PriorLikelihood, coefficients: FloatArray, cases: IntArray, wider: Opinions, places: IntArray
    ) -> Shapes:
        """Return the shapes of a wider support; ``places`` are the entries of its conditions, -1 if they have none."""
        shares, mass = one.shares(coefficients), one.concentrations(coefficients)[cases]
        case, is_entry = row_of_each(wider.support_offsets), places >= 0
        others = shares.scale[cases][case] * shares.weights[wider.support]
        own = np.where(is_entry, shares.entries[np.maximum(places, 0)], others)
        left = np.maximum(1.0 - weighted_counts(case, own, len(cases)), LEAST_SHAPE)
        weight = self._weights.sum() - weighted_counts(case, self._weights[wider.support], len(cases))
        weight = np.where(wider.rest_sizes > 0, np.maximum(weight, LEAST_SHAPE), 1.0)
        rest = np.where(wider.rest_sizes > 0, np.maximum(mass * left, LEAST_SHAPE), 0.0)
        sums = np.append(0.0, np.cumsum(self._weights))
        return Shapes(np.maximum(mass[case] * own, LEAST_SHAPE), rest, rest / weight, sums)

    # Refits ------------------------------------------------------------------------------------------------

    def shifted(self, opinions: Opinions, refits: FloatArray) -> FloatArray:
        """Return how far refitted coefficients move the shapes of :meth:`applied`, shape (n_refits, sum of (U + 1)).

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> prior.shifted(study.annotations.opinions, prior.coefficients).any()
        np.False_
        """
        cases, wider, places = self._support(opinions)
        rows = []
        for row in (self.coefficients[0], *refits):
            shapes = self._shapes(self.likelihood, row, cases, wider, places)
            rows.append(np.insert(shapes.mentioned, wider.support_offsets[1:], shapes.rest))
        return np.asarray(np.array(rows[1:]) - rows[0])

    def refitted(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of weighted cases (n_refits, n_cases), shape (n_refits, n_coefficients).

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> bool(np.allclose(prior.refitted(np.ones((1, 120))), prior.coefficients))
        True
        """
        curvature = None if self.recipe is None else self.recipe.curvature
        return self.likelihood.refitted(self.coefficients[0], weights, curvature)

    def repeated(self, cases: Sequence[str], names: Sequence[str]) -> CasePrior:
        """Give cases other names, and some of them several: ``names[p]`` has the prior of ``cases[p]``.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> prior.repeated(["case 1", "case 1"], ["one", "another"]).case_names
        ('one', 'another')
        """
        rows = np.array([self.place[name] for name in cases], dtype=np.int64)
        likelihoods = tuple(PriorLikelihood(one.evidence.take(rows), one.covariates[rows]) for one in self.likelihoods)
        return replace(self, case_names=tuple(names), likelihoods=likelihoods, fold=self.fold[rows])

    # Words -------------------------------------------------------------------------------------------------

    @cached_property
    def log_score(self) -> float:
        """Mean log-probability of a first choice, given those of nobody else on the case."""
        return log_score(self.likelihood, self.coefficients[0])

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Write down how much each model informs the prior; see :meth:`table`."""
        if self.recipe is not None:
            return self.recipe.rows
        return informing(self.likelihood, self.coefficients[0], self.left_out)


def check_case_prior(name: str, given: object) -> None:
    """Refuse what is no prior of cases."""
    if given is not None and not isinstance(given, CasePrior):
        raise DissensusError(
            f"{name} is not of the right kind",
            expected="what informed_prior returns",
            got=f"{given!r:.60}, a {type(given).__name__}",
        )


class ShapedAggregation(Aggregation):
    """Be an aggregation whose prior shapes of conditions have a name, or were fitted to what models say.

    Its parameters are ``prior``, ``alpha``, ``case_prior`` and ``learned``; a fitted prior is given as either of the
    first and third, and goes by the name ``"informed"``.
    """

    kept_apart = ("case_prior", "learned")

    @property
    def needs_whole(self) -> str:
        """Nothing: what it learns adds up over parts of a study."""
        return ""

    def with_learned(self, learned: LearnedPrior) -> Aggregation:
        """Fix what it learns."""
        own: Any = self
        taught: Aggregation = replace(own, learned=learned)
        return taught

    def _take_prior(self, prior: Any, choices: Sequence[str]) -> None:
        """Take a prior by name, or one that was fitted."""
        own: Any = self
        check_case_prior("case_prior", own.case_prior)
        if own.learned is not None and not isinstance(own.learned, LearnedPrior):
            got = f"{own.learned!r:.60}"
            raise DissensusError("learned is not of the right kind", expected="what taught gives", got=got)
        if isinstance(prior, CasePrior):
            object.__setattr__(self, "case_prior", prior)
        object.__setattr__(self, "prior", "informed" if isinstance(prior, CasePrior) else prior)
        check_choice("prior", own.prior, choices)

    def _shaped(self, opinions: Opinions) -> tuple[Opinions, Shapes, dict[str, float]]:
        """Return the opinions with the support that the prior gives them, its shapes, and which numbers were fitted."""
        own: Any = self
        if own.prior != "informed":
            return opinions, *learned_shapes(opinions, own.prior, own.alpha, own.learned)
        if own.case_prior is None:
            raise DissensusError(
                "the prior 'informed' needs to know what the models say",
                expected="prior=informed_prior(study, predictions), or evaluate(study, predictions), which fits one",
            )
        return *own.case_prior.applied(opinions), {}


def widened(opinions: Opinions, offsets: IntArray, codes: IntArray, entries: IntArray) -> tuple[Opinions, IntArray]:
    """Add conditions to the support of each case.

    Parameters
    ----------
    offsets, codes, entries
        The conditions that each case is to have, ascending, and a number of each.

    Returns
    -------
    wider
        The same opinions.
    places : (sum of U,)
        The number of each condition of the wider support, -1 of those that were there but are not to be added.
    """
    n_conditions, case = len(opinions.conditions), row_of_each(offsets)
    wider, added = with_support(opinions, case, codes), case * n_conditions + codes
    places = np.full(len(wider.support), -1, dtype=np.int64)
    places[np.searchsorted(row_of_each(wider.support_offsets) * n_conditions + wider.support, added)] = entries
    return wider, places


@checked
def informed_prior(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    *,
    folds: int = 1,
    start: CasePrior | None = None,
) -> CasePrior:
    """Fit a prior of every case to what models say about it, so that first choices of annotators are most likely.

    No truth is needed, and none is used: a model that says nothing about what annotators choose gets coefficients near
    zero, whatever it claims. A model that has seen the answers is left out with a warning: one that repeats an
    annotator, or agrees with the annotators more than anybody could who had not seen what they said. Of more than
    20 000 annotated cases, a sample is fitted first, on which models are judged, and sums over all cases then.

    Parameters
    ----------
    study
        Rankings.
    predictions
        Model name to scores (n_cases, K) or :class:`Predictions`: scores, ranked lists, single labels or sets.
    folds
        With several, the prior of a case comes from a fit to the cases of the other folds, so that it owes nothing to
        the case's own annotators. Cases are put into folds by their names.
    start
        A prior of a similar study with the same models, from which the search starts.

    Returns
    -------
    CasePrior
        For ``PlackettLuce(prior=...)`` and ``Dirichlet(prior=...)``. :func:`evaluate` fits one by itself.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=120)
    >>> prior = informed_prior(study.annotations, study.predictions)
    >>> prior.means().shape, bool(prior.log_score < 0)
    ((120, 60), True)
    """
    said = require_kind(study, "rankings", "the informed prior")
    check_count(folds=folds)
    if folds > MOST_FOLDS:
        raise DissensusError("there are too many folds", expected=f"at most {MOST_FOLDS}", got=str(folds))
    check_case_prior("start", start)
    models = aligned_models(predictions, said.case_names, said.conditions)
    found = _fitted(said, models, folds=folds, start=start)
    for problem in found.warnings if start is None else ():
        warnings.warn(problem, DissensusWarning, stacklevel=3)
    return found


def _fitted(said: Study, models: Mapping[str, Predictions], *, folds: int, start: CasePrior | None) -> CasePrior:
    """Fit to all cases at once, or, if they are many, to a sample first and to their sums then."""
    opinions, size = said.opinions, LEARNING_CASES
    if folds == 1 and (start is None or opinions.n_cases > size):
        parts = [np.arange(first, min(first + size, opinions.n_cases)) for first in range(0, opinions.n_cases, size)]

        def total(request: Request) -> Exact:
            found = [request.of_part(opinions.take(part), models) for part in parts]
            return sum(found[1:], start=found[0])

        known_leaks, lessons = None if start is None else start.left_out, Lessons.of(said, models)
        recipe = fitted_recipe(learning_sample(said), models, lessons, total=total, left_out=known_leaks)
        return prior_of(recipe, opinions, models)
    leaks = leaking_models(said, models) if start is None else start.left_out
    evidence = Evidence.of(opinions, {name: model for name, model in models.items() if name not in leaks})
    first = start.coefficients[0] if start is not None and start.models == evidence.models else None
    fold = (case_keys(opinions.case_names) % np.uint64(folds)).astype(np.int64)
    n_folds = int(fold.max(initial=0)) + 1
    if n_folds == 1:
        fits = [fitted_likelihood(evidence, start=first)]
    else:
        others = [fold != number for number in range(n_folds)]
        fits = [fitted_likelihood(evidence.counted_in(own), own.astype(np.float64), first) for own in others]
    likelihoods, coefficients = tuple(one for one, _ in fits), np.array([row for _, row in fits])
    return CasePrior(opinions.conditions, opinions.case_names, likelihoods, coefficients, fold, leaks)


def prior_of(recipe: PriorRecipe, opinions: Opinions, models: Mapping[str, Predictions]) -> CasePrior:
    """Make the prior of some cases, such as a part of a study: bit for bit the one that they have in the whole.

    Parameters
    ----------
    recipe
        Fitted to the whole study.
    opinions
        Of these cases, with the conditions of the whole.
    models
        Predictions by name of the model, of these cases and perhaps of others, on the same conditions.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=120)
    >>> said, models = study.annotations, study.predictions
    >>> recipe = fitted_recipe(
    ...     said, models, Lessons.of(said, models), total=lambda request: request.of_part(said.opinions, models))
    >>> prior_of(recipe, said.select(["case 3", "case 1"]).opinions, models).case_names
    ('case 3', 'case 1')
    """
    return CasePrior(
        opinions.conditions,
        opinions.case_names,
        (recipe.likelihood(opinions, models),),
        recipe.coefficients[None],
        np.zeros(opinions.n_cases, dtype=np.int64),
        recipe.left_out,
        recipe,
    )
