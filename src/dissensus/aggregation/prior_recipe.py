"""How the informed prior of any case is made: fitted to the sums over the parts of a study, and written down.

The first fit is made on a sample of the cases. From there, sums over all cases of likelihood and slope lead to the fit
of all cases in a few steps; the curvature is that of the sample. Whoever drives the fit evaluates requests on every
part, wherever it is, and adds the results up. Sums are exact, and what a case adds depends on nothing but the case and
the request: the recipe has the same bits whatever the parts and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from dissensus.aggregation._evidence import N_BREAKS, SAYINGS, Evidence, ScoreRange, Whole
from dissensus.aggregation._leaks import leaking_models
from dissensus.aggregation._prior_fit import LEAST_SHAPE, Centre, PriorLikelihood, moved, raw_covariates
from dissensus.aggregation.learned import Lessons
from dissensus.core.aliases import FloatArray
from dissensus.core.exact import Exact
from dissensus.core.names import in_order_of_keys, sampled_cases
from dissensus.core.value import Value
from dissensus.predictions.alignment import aligned_models
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import Opinions
from dissensus.study.study import Study

LEARNING_CASES = 20_000
"""On how many cases the first fit is made, and leaks and the gains by models are judged."""

MOST_TOLD = 1000
"""On how many cases it is found what each model adds."""

MOST_PASSES = 20
"""How often the sums over all cases are asked for, at most, in each of two fits."""

REFITS = 40
"""How often the prior is fitted again to resampled cases."""

SETTLED = 5e-3
"""The search over all cases ends when slopes are below this in units of standard errors."""

UNSETTLED = f"the fit of the prior did not settle within {MOST_PASSES} passes over all cases"


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

    def evidence(self, opinions: Opinions, models: Mapping[str, Predictions]) -> Evidence:
        """Lay out what the models that inform the prior say about cases."""
        own = {name: models[name] for name in self.models}
        return Evidence.of(opinions, own, Whole(self.counts, self.ranges, self.turns))

    def likelihood(self, opinions: Opinions, models: Mapping[str, Predictions]) -> PriorLikelihood:
        """Return the likelihood of cases, with covariates as far as they are known."""
        evidence = self.evidence(opinions, models)
        plain = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0)))
        if not len(self.means):
            return plain
        raw = raw_covariates(plain, self.plain)
        return replace(plain, covariates=Centre(self.means, self.spread).applied(raw))


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
        if not opinions.n_cases:
            return self._nothing(0 if weights is None else weights.shape[1])
        likelihood = self.recipe.likelihood(opinions, models)
        if self.sought == "refits":
            assert weights is not None
            return likelihood.pushes(self.coefficients, weights)
        if self.sought == "slopes":
            return Exact.of(likelihood.values_and_slopes(self.coefficients)).summed(0)
        raw = raw_covariates(likelihood, self.coefficients)
        return Exact.of(np.column_stack([np.square(raw[:, 0]), raw])).summed(0)

    def _nothing(self, n_refits: int) -> Exact:
        """Return the sum over no case."""
        n_coefficients = len(self.coefficients)
        if self.sought == "refits":
            return Exact.zeros(n_refits, n_coefficients)
        n_plain = len(SAYINGS) * len(self.recipe.models) + 2
        return Exact.zeros(1 + n_coefficients if self.sought == "slopes" else 2 + n_coefficients - n_plain)


Total: TypeAlias = Callable[[Request], Exact]
"""Evaluate a request on every part of a study and add the results up."""


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
        curvature = positive(likelihood.curvature(here, self.weights), float(likelihood.ridge.min()))
        value, slope = self._penalised(recipe, likelihood, here)
        for _ in range(MOST_PASSES):
            if np.abs(np.linalg.solve(np.linalg.cholesky(curvature), slope)).max() < SETTLED:
                return here, True
            there = here + np.linalg.solve(curvature, slope)
            reached, ahead = self._penalised(recipe, likelihood, there)
            curvature = secant(curvature, there - here, slope - ahead)
            if reached > value:
                here, value, slope = there, reached, ahead
            elif curvature_is_blind(there - here, slope - ahead):
                curvature = 4.0 * curvature
        return here, False

    def _penalised(
        self, recipe: PriorRecipe, likelihood: PriorLikelihood, coefficients: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the penalised log-likelihood of all cases, and its slope."""
        value, *slope = self.total(Request("slopes", recipe, coefficients)).rounded()
        gap = coefficients - likelihood.centre
        return float(value - 0.5 * (likelihood.ridge * gap**2).sum()), np.array(slope) - likelihood.ridge * gap

    def centre(self, recipe: PriorRecipe) -> Centre:
        """Find means and spread of the covariates of all cases."""
        if self.is_whole:
            return Centre.of(raw_covariates(recipe.likelihood(self.opinions, self.models), recipe.plain))
        return Centre.of_sums(self.total(Request("covariates", recipe, recipe.plain)).rounded(), self.n_cases)


def positive(curvature: FloatArray, least: float) -> FloatArray:
    """Raise curvatures below the least to it.

    >>> positive(np.diag([4.0, -1.0]), 0.5)
    array([[4. , 0. ],
           [0. , 0.5]])
    """
    values, axes = np.linalg.eigh(curvature)
    return curvature if values.min() >= least else np.asarray(axes * np.maximum(values, least) @ axes.T)


def curvature_is_blind(step: FloatArray, change: FloatArray) -> bool:
    """Tell whether the slope did not fall along a step, so that nothing is learned from it."""
    return bool(step @ change <= 0)


def secant(curvature: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """Let a curvature agree with how far the slope fell along a step (BFGS).

    >>> secant(np.eye(2), np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    array([[3., 0.],
           [0., 1.]])
    """
    if curvature_is_blind(step, change):
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
    >>> study = ds.simulate_study(n_cases=120)
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
    if search.is_whole:
        votes = Evidence.of(search.opinions, {}).votes
        recipe = replace(recipe, turns=len(votes))
    return completed(searched(recipe, search), search)


def searched(recipe: PriorRecipe, search: Search) -> PriorRecipe:
    """Fit twice: with one concentration of all cases, and with one that depends on what the first fit says."""
    of_sample, plain, first = search.fitted(recipe)
    centre = search.centre(replace(recipe, plain=plain))
    recipe = replace(recipe, plain=plain, means=centre.means, spread=centre.spread)
    more = np.zeros(len(centre.means))
    shift = np.append(plain - of_sample, more)
    _, coefficients, second = search.fitted(recipe, np.append(of_sample, more), shift)
    return replace(recipe, coefficients=coefficients, warnings=() if first and second else (UNSETTLED,))


def completed(recipe: PriorRecipe, search: Search) -> PriorRecipe:
    """Add what is told about a fit, all found on the sample."""
    likelihood = recipe.likelihood(search.opinions, search.models)
    shares = np.quantile(likelihood.concentrations(recipe.coefficients), [0.0, 0.25, 0.5, 0.75, 1.0])
    return replace(
        recipe,
        curvature=likelihood.curvature(recipe.coefficients, search.weights),
        concentrations=tuple(shares.tolist()),
        rows=(*informing(likelihood, recipe.coefficients), *left_out_rows(recipe.left_out)),
        warnings=(*told_problems(recipe.left_out, likelihood.evidence), *recipe.warnings),
    )


def with_refits(recipe: PriorRecipe, total: Total) -> PriorRecipe:
    """Refit a prior to resampled cases; parts are asked with the weights of their cases in the resamples."""
    pushes = total(Request("refits", recipe, recipe.coefficients))
    return replace(recipe, refits=moved(recipe.coefficients, recipe.curvature, pushes))


def learning_sample(study: Study) -> Study:
    """Choose the cases of a study on which the first fit is made; those of a whole are among those of its parts.

    Examples
    --------
    >>> import dissensus as ds
    >>> learning_sample(ds.simulate_study(n_cases=12).annotations).n_cases
    12
    """
    annotated = np.flatnonzero(study.counted.panel.votes_per_case > 0)
    names = [study.case_names[place] for place in annotated]
    return study.select([names[place] for place in sampled_cases(names, LEARNING_CASES)])


# What is told about it ----------------------------------------------------------------------------------


def told_problems(left_out: Mapping[str, str], evidence: Evidence) -> tuple[str, ...]:
    """Say what deserves a look."""
    leaks = [f"model {name!r} does not inform the prior: {reason}" for name, reason in left_out.items()]
    alone = (evidence.totals <= 1).all()
    return (*leaks, *(["the strength of the prior is not learned, as no case has two opinions"] if alone else []))


def left_out_rows(left_out: Mapping[str, str]) -> list[dict[str, Any]]:
    """Write down which models do not inform the prior."""
    return [{"model": name, "left_out": why} for name, why in left_out.items()]


def informing(likelihood: PriorLikelihood, coefficients: FloatArray) -> list[dict[str, Any]]:
    """Write down how much each model informs the prior; see :meth:`CasePrior.table`."""
    n_cases = likelihood.evidence.n_cases
    chosen = np.unique(np.linspace(0, n_cases - 1, min(n_cases, MOST_TOLD)).astype(np.int64))
    evidence, names = likelihood.evidence.take(chosen), likelihood.evidence.models
    nothing, everyone = (_fitted_score(part) for part in (evidence.without(names), evidence))
    rows = []
    for place, name in enumerate(names):
        told = coefficients[len(SAYINGS) * place : len(SAYINGS) * (place + 1)]
        alone = _fitted_score(evidence.without([other for other in names if other != name]))
        others = _fitted_score(evidence.without([name]))
        numbers = dict(zip((saying.replace(" ", "_") for saying in SAYINGS), told.tolist(), strict=True))
        rows.append({"model": name, **numbers, "alone": alone - nothing, "beyond": everyone - others})
    return rows


def _fitted_score(evidence: Evidence) -> float:
    """Fit a prior with one concentration of all cases."""
    plain = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0)))
    return log_score(plain, plain.fitted(np.ones(evidence.n_cases)))


def log_score(likelihood: PriorLikelihood, coefficients: FloatArray) -> float:
    """Return the mean log-probability of a first choice, given those of nobody else on the case."""
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    votes = evidence.votes.mean(axis=0)
    return float(votes @ np.log(np.maximum(shares.entries[evidence.mentioned], LEAST_SHAPE)) / votes.sum())
