"""The informed prior p(lambda | x): what models say about a case, weighed by how well it foretells annotators."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation import prior_recipe
from dissensus.aggregation._evidence import SAYINGS, Evidence
from dissensus.aggregation._leaks import leaking_models
from dissensus.aggregation._prior_fit import LEAST_SHAPE, PriorLikelihood, fitted_likelihood
from dissensus.aggregation._priors import Alpha, LearnedPrior, Prior, Shapes, learned_shapes
from dissensus.aggregation.base import with_support
from dissensus.aggregation.learned import Lessons
from dissensus.aggregation.prior_recipe import (
    PriorRecipe,
    Request,
    fitted_recipe,
    informing,
    learning_sample,
    left_out_rows,
    log_score,
    told_problems,
)
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, checked
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.exact import Exact
from dissensus.core.names import case_keys
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.predictions.alignment import aligned_models
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import Opinions
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from dissensus.study.study import Study

NOTICEABLE = 0.005
"""A condition that nobody mentions is a case's own if the prior gives it at least this share."""

MOST_FOLDS = 100


@dataclass(frozen=True, eq=False)
class CasePrior:
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
    >>> study = ds.simulate_study(n_cases=120)
    >>> prior = ds.informed_prior(study.annotations, study.predictions)
    >>> prior
    CasePrior: 120 cases, 60 conditions, informed by 'Aster', 'Birch', 'Clover', 'Dahlia', 'Elder'
    >>> drawn = ds.PlackettLuce(prior=prior).sample(study.annotations, draws=100)
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
        return tuple(np.quantile(self.concentrations, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist())

    @property
    def _fits(self) -> list[tuple[PriorLikelihood, FloatArray]]:
        return list(zip(self.likelihoods, self.coefficients, strict=True))

    def means(self) -> FloatArray:
        """Return the mean of the prior of every case, shape (n_cases, K); mind the memory.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate_study(n_cases=120)
        >>> ds.informed_prior(study.annotations, study.predictions).means().sum(axis=1).round(6).min()
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
        >>> study = ds.simulate_study(n_cases=120)
        >>> prior = ds.informed_prior(study.annotations, study.predictions)
        >>> wider, shapes = prior.applied(study.annotations.opinions)
        >>> len(wider.support) == len(shapes.mentioned) > len(study.annotations.opinions.support)
        True
        """
        cases = self._positions(opinions)
        wider, places = widened(opinions, *self._noticeable(cases))
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

    def _positions(self, opinions: Opinions) -> IntArray:
        missing = [name for name in opinions.case_names if name not in self.place]
        if missing or opinions.conditions != self.conditions:
            raise DissensusError(
                "the prior does not know these cases" if missing else "the prior has other conditions",
                expected=f"cases and conditions of the study that it was fitted to ({self.n_cases} cases)",
                got=listing(missing) if missing else listing(opinions.conditions),
                advice="fit it to this study: informed_prior(study, predictions)",
            )
        return np.array([self.place[name] for name in opinions.case_names], dtype=np.int64)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each case stands, by name."""
        return {name: place for place, name in enumerate(self.case_names)}

    @cached_property
    def _shares(self) -> FloatArray:
        """Shares of the entries, each by the coefficients of its case, shape (n_entries,)."""
        every = np.array([one.shares(row).entries for one, row in self._fits])
        return np.asarray(every[self.fold[self.likelihood.evidence.case], np.arange(every.shape[1])])

    def _noticeable(self, cases: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return offsets, codes and positions of the entries of some cases that have noticeable mass."""
        offsets, entries = take_rows(self.likelihood.evidence.offsets, cases)
        kept = self._shares[entries] >= NOTICEABLE
        counts = np.append(0, np.cumsum(kept))[offsets]
        return counts, self.likelihood.evidence.codes[entries[kept]], entries[kept]

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
        >>> study = ds.simulate_study(n_cases=120)
        >>> prior = ds.informed_prior(study.annotations, study.predictions)
        >>> prior.shifted(study.annotations.opinions, prior.coefficients).any()
        np.False_
        """
        cases = self._positions(opinions)
        wider, places = widened(opinions, *self._noticeable(cases))
        rows = [
            _with_rest(self._shapes(self.likelihood, row, cases, wider, places), wider)
            for row in (self.coefficients[0], *refits)
        ]
        return np.asarray(np.array(rows[1:]) - rows[0])

    def refitted(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of weighted cases (n_refits, n_cases), shape (n_refits, n_coefficients).

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate_study(n_cases=120)
        >>> prior = ds.informed_prior(study.annotations, study.predictions)
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
        >>> study = ds.simulate_study(n_cases=120)
        >>> prior = ds.informed_prior(study.annotations, study.predictions)
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

    def table(self) -> pl.DataFrame:
        """Return how much each model informs the prior: one row per model.

        ``log_score``, ``score`` and ``first`` are its coefficients. ``alone`` is by how much the mean log-probability
        of a first choice rises if this model alone informs the prior, ``beyond`` by how much beyond all others, both
        found on at most a thousand cases; ``left_out`` says why a model does not inform it.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate_study(n_cases=120)
        >>> table = ds.informed_prior(study.annotations, study.predictions).table()
        >>> table.columns
        ['model', 'log_score', 'score', 'first', 'alone', 'beyond', 'left_out']
        """
        return table_of_models(self._rows())

    def _rows(self) -> list[Mapping[str, Any]]:
        if self.recipe is not None:
            return list(self.recipe.rows)
        return [*informing(self.likelihood, self.coefficients[0]), *left_out_rows(self.left_out)]


def table_of_models(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Make a table of what each model informs, see :meth:`CasePrior.table`; what a row lacks is missing.

    >>> table_of_models([{"model": "A", "left_out": "it repeats an annotator"}])["alone"].to_list()
    [None]
    """
    import polars as pl

    schema: dict[str, Any] = {"model": pl.String}
    schema |= dict.fromkeys((*(saying.replace(" ", "_") for saying in SAYINGS), "alone", "beyond"), pl.Float64)
    return pl.DataFrame(rows, schema={**schema, "left_out": pl.String})


def taken_prior(
    prior: str | CasePrior, known: CasePrior | None, learned: LearnedPrior | None
) -> tuple[str, CasePrior | None]:
    """Take a prior by name, or one that was fitted, which goes by the name ``"informed"``."""
    _check_prior("case_prior", known)
    if learned is not None and not isinstance(learned, LearnedPrior):
        raise DissensusError("learned is not of the right kind", expected="what taught gives", got=f"{learned!r:.60}")
    return ("informed", prior) if isinstance(prior, CasePrior) else (prior, known)


def _check_prior(name: str, given: object) -> None:
    if given is not None and not isinstance(given, CasePrior):
        raise DissensusError(
            f"{name} is not of the right kind",
            expected="what informed_prior returns",
            got=f"{given!r:.60}, a {type(given).__name__}",
        )


def prepared_prior(
    opinions: Opinions,
    prior: Prior | CasePrior,
    alpha: Alpha | None,
    known: CasePrior | None,
    learned: LearnedPrior | None,
) -> tuple[Opinions, Shapes, dict[str, float]]:
    """Return the opinions with the support that a prior gives them, its shapes, and which numbers were fitted."""
    if not isinstance(prior, CasePrior) and prior != "informed":
        return opinions, *learned_shapes(opinions, prior, alpha, learned)
    if known is None:
        raise DissensusError(
            "the prior 'informed' needs to know what the models say",
            expected="prior=informed_prior(study, predictions), or evaluate(study, predictions), which fits one",
        )
    return *known.applied(opinions), {}


def _with_rest(shapes: Shapes, opinions: Opinions) -> FloatArray:
    """Put the shape of the rest behind those of the support of each case, shape (sum of (U + 1),)."""
    return np.insert(shapes.mentioned, opinions.support_offsets[1:], shapes.rest)


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
    >>> study = ds.simulate_study(n_cases=120)
    >>> prior = informed_prior(study.annotations, study.predictions)
    >>> prior.means().shape, bool(prior.log_score < 0)
    ((120, 60), True)
    """
    said = require_kind(study, "rankings", "the informed prior")
    check_count(folds=folds)
    if folds > MOST_FOLDS:
        raise DissensusError("there are too many folds", expected=f"at most {MOST_FOLDS}", got=str(folds))
    _check_prior("start", start)
    models = aligned_models(predictions, said.case_names, said.conditions)
    found = _fitted(said, models, folds=folds, start=start)
    for problem in found.warnings if start is None else ():
        warnings.warn(problem, DissensusWarning, stacklevel=3)
    return found


def _fitted(said: Study, models: Mapping[str, Predictions], *, folds: int, start: CasePrior | None) -> CasePrior:
    """Fit to all cases at once, or, if they are many, to a sample first and to their sums then."""
    opinions = said.opinions
    if folds == 1 and (start is None or opinions.n_cases > prior_recipe.LEARNING_CASES):
        known_leaks = None if start is None else start.left_out
        return prior_of(_recipe_of(said, models, known_leaks), opinions, models)
    leaks = leaking_models(said, models) if start is None else start.left_out
    evidence = Evidence.of(opinions, {name: model for name, model in models.items() if name not in leaks})
    known = start is not None and start.models == evidence.models
    first = start.coefficients[0] if start is not None and known else None
    fold = (case_keys(opinions.case_names) % np.uint64(folds)).astype(np.int64)
    return CasePrior(opinions.conditions, opinions.case_names, *_by_fold(evidence, fold, first), fold, leaks)


def _recipe_of(said: Study, models: Mapping[str, Predictions], left_out: Mapping[str, str] | None) -> PriorRecipe:
    """Fit to a study that is in memory, a part at a time."""
    opinions, size = said.opinions, prior_recipe.LEARNING_CASES
    parts = [np.arange(first, min(first + size, opinions.n_cases)) for first in range(0, opinions.n_cases, size)]

    def total(request: Request) -> Exact:
        found = [request.of_part(opinions.take(part), models) for part in parts]
        return sum(found[1:], start=found[0])

    return fitted_recipe(learning_sample(said), models, Lessons.of(said, models), total=total, left_out=left_out)


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
    >>> study = ds.simulate_study(n_cases=120)
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


def _by_fold(
    evidence: Evidence, fold: IntArray, start: FloatArray | None
) -> tuple[tuple[PriorLikelihood, ...], FloatArray]:
    """Fit to the cases of all other folds, for every fold; to all cases if there is one."""
    n_folds = int(fold.max(initial=0)) + 1
    if n_folds == 1:
        likelihood, coefficients = fitted_likelihood(evidence, start=start)
        return (likelihood,), coefficients[None]
    others = [fold != number for number in range(n_folds)]
    fits = [fitted_likelihood(evidence.counted_in(own), own.astype(np.float64), start) for own in others]
    return tuple(likelihood for likelihood, _ in fits), np.array([coefficients for _, coefficients in fits])
