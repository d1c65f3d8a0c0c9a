"""The informed prior p(lambda | x): what models say about a case, weighed by how well it predicts annotators.

It is fitted to sums over the parts of a study, and its recipe written down. The first fit is made on a sample of the
cases. From there, sums over all cases of likelihood and slope lead to the fit of all cases in a few steps; the
curvature is that of the sample. Whoever drives the fit evaluates requests on every part, wherever it is, and adds the
results up in the order of parts. Strata of cases have coefficients of their own, held near those of all cases and
fitted to the sample. Models that have seen the answers do not inform it: those that were declared as such, those that
repeat an annotator, and those that agree with the panel too well.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from dissensus.aggregations.base import Aggregation, with_support
from dissensus.aggregations.prior_fit import (
    HELD,
    LEAST_SHAPE,
    N_BREAKS,
    SAYINGS,
    Evidence,
    PriorLikelihood,
    broken_votes,
    first_shares,
    fitted_likelihood,
    moved,
    raw_covariates,
    standardised,
)
from dissensus.aggregations.priors import (
    DECLARED,
    FOLDS,
    Alpha,
    InformedPrior,
    LearnedPrior,
    Lessons,
    Prior,
    ScoreRange,
    Shapes,
    check_trained_on,
    given_alpha,
    left_out_warnings,
    prior_shapes,
    rows_of_models,
)
from dissensus.core.arrays import FloatArray, Forwarded, IntArray, Value
from dissensus.core.checks import check_choice, check_count, check_length, check_positive, checked
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.names import case_keys, in_order_of_keys, sampled_cases
from dissensus.core.ragged import product, row_of_each, take_rows, weighted_counts
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from dissensus.aggregations.normal_inverse_gamma import RatingPrior

# An annotator must have read so many cases to be recognised.
LEAST_CASES = 20

# By how many standard errors a model must agree too well to be taken for one that has seen the answers.
SURE = 3.0

# Share of an annotator's cases in which a model that repeats it says the same.
SAME = 0.999


def leaking_models(study: Study, models: Mapping[str, Predictions], trained_on: Sequence[str]) -> dict[str, str]:
    """Name the models that have seen the answers, and say by what that is known; some are declared to have.

    Either a model agrees with annotators more than anybody could who had not seen their answers: whoever knows the
    plausibilities theta of a case, but not the answers, names the most plausible condition, and agrees with a share
    max theta of the annotators. Two annotators agree with probability sum theta^2, and the mean of max theta over cases
    is at most the square root of the mean of sum theta^2. Or it says first what an annotator said first on all cases of
    that annotator; one whom the others repeat as well says nothing special, and is not looked at.
    """
    said, n_conditions = study.counted, study.n_conditions
    offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
    ranking, of_opinion = row_of_each(offsets), said.panel.case_of_opinion
    share = (1.0 / np.diff(offsets))[ranking]
    case, weights = of_opinion[ranking], said.votes[ranking] * share
    keys, place = np.unique(case * n_conditions + said.codes[mentions], return_inverse=True)
    # the annotators of each case, and the share of pairs of them who name the same first
    totals = weighted_counts(of_opinion, said.votes.astype(np.float64), said.n_cases)
    squares = np.square(weighted_counts(place, weights, len(keys)))
    alike = weighted_counts(keys // n_conditions, squares, said.n_cases)
    alike -= weighted_counts(case, weights * share, said.n_cases)
    several, named, n_annotators = totals > 1, said.annotators != ANONYMOUS, len(said.annotator_names)
    pairs, annotators = (alike / np.maximum(totals * (totals - 1), 1.0))[several], said.annotators[named]
    sizes = np.bincount(annotators, minlength=n_annotators)
    seen, copied = {}, {}
    for name, model in models.items():
        own = model.align(said.case_names, said.conditions)
        first = first_shares(own)
        is_first = np.flatnonzero(first)
        said_first = (own.case_of_entry[is_first] * n_conditions + own.codes[is_first]).tolist()
        table = dict(zip(said_first, first[is_first].tolist(), strict=True))
        of_keys = np.array([table.get(key, 0.0) for key in keys.tolist()])
        # how much of the model's first place every opinion names first; ties share it
        shares = weighted_counts(ranking, of_keys[place] * share, len(of_opinion))
        if len(pairs) >= LEAST_CASES:
            most = float(np.sqrt(pairs.mean()))
            agreed = weighted_counts(of_opinion, shares * said.votes, said.n_cases)[several] / totals[several]
            gaps = agreed - pairs / (2 * max(most, SAME))
            error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
            if agreed.mean() - most > SURE * error:
                seen[name] = (
                    f"it agrees with {agreed.mean():.2f} of the annotators, and nobody could with more than {most:.2f} "
                    "without having seen their answers"
                )
        repeated = weighted_counts(annotators, shares[named], n_annotators)
        others = (shares[named].sum() - repeated) / np.maximum(named.sum() - sizes, 1)
        is_copied = (sizes >= LEAST_CASES) & (repeated >= SAME * sizes) & (others < SAME)
        if is_copied.any():
            who = said.annotator_names[int(np.flatnonzero(is_copied)[0])]
            copied[name] = f"it says what annotator {who!r} said on every case"
    return {**seen, **copied, **dict.fromkeys(trained_on, DECLARED)}


# On how many cases the first fit is made, and leaks and the gains by models are judged.
LEARNING_CASES = 20_000

# On how many cases it is found what each model adds, and all of them together; and on how many, how wide the other
# family of priors is: one of a few spreads.
MOST_TOLD, MOST_SPREAD = 1000, 500

# How many cases a stratum has at the least, to have coefficients of its own.
LEAST_STRATUM = 50

# How often the sums over all cases are asked for, at most, in each of two fits.
MOST_PASSES = 20

# How often the prior is fitted again to resampled cases.
REFITS = 40

# What is told about concentrations: least, quartiles, most.
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

# The search over all cases ends when slopes are below this in units of standard errors.
SETTLED = 5e-3

UNSETTLED = f"the fit of the prior did not settle within {MOST_PASSES} passes over all cases"


# Names of the coefficients of a model.
COEFFICIENTS = tuple(saying.replace(" ", "_") for saying in SAYINGS)


# Labels of cases in every column of strata, by name of the case.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]


def large_strata(labels: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Find the strata that have coefficients of their own; the first one, without a label, are all cases.

    They are the labels of the first column, and their crossings with those of the columns after it, as far as at least
    50 cases share them, and not all cases that share what comes before.

    Examples
    --------
    >>> large_strata([("N", "m")] * 60 + [("N", "f")] * 10 + [("S", "m")] * 20)
    ((), ('N',), ('N', 'm'))
    """
    counts = Counter(label[:depth] for label in labels for depth in range(len(label) + 1))
    return tuple(sorted(key for key, count in counts.items() if not key or LEAST_STRATUM <= count < counts[key[:-1]]))


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
    strata
        Labels of the strata that have coefficients of their own, the first one of all cases; see :func:`large_strata`.
    coefficients, curvature : (n_strata, n_coefficients), (n_strata, n_coefficients, n_coefficients)
        Those of the whole fit.
    held : (n_coefficients,)
        How firmly the coefficients of strata are held near those of all cases.
    refits : (n_refits, n_strata * n_coefficients)
        What resamples of the cases would have, if they were asked for; see :func:`with_refits`.
    concentrations
        How many votes the prior of a case is worth: least, quartiles, most.
    rows, warnings
        How much each model informs the prior, and what deserves a look.
    log_sd
        Of the other family of priors, logistic-normal with the same location: standard deviation of logarithms.
    held_out_gain
        By how much models raise the mean log-probability of a first choice, given the others of its case, under
        coefficients of all cases that owe nothing to it; missing if it was not asked for.
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
    strata: tuple[tuple[str, ...], ...] = ((),)
    coefficients: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    curvature: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    held: FloatArray = field(default_factory=lambda: np.empty(0))
    refits: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    concentrations: tuple[float, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    held_out_gain: float | None = None
    log_sd: float = 0.0

    quartiles = Forwarded[tuple[float, ...]]("concentrations", "What a prior that is made of it says they are.")

    def table(self) -> pl.DataFrame:
        """Tabulate how much each model informs the prior."""
        return CasePrior.table_of(self.rows)

    @property
    def are_labels(self) -> bool:
        """Whether the models that inform the prior give labels, and no scores."""
        return bool(self.models) and all(self.ranges[name].is_label for name in self.models if name in self.ranges)

    def likelihood(self, opinions: Opinions, models: Mapping[str, Predictions]) -> PriorLikelihood:
        """Lay out what the models that inform the prior say about cases, with covariates as far as they are known."""
        own = {name: models[name] for name in self.models}
        evidence = Evidence.of(opinions, own, counts=self.counts, ranges=self.ranges, turns=self.turns)
        return self.extended(PriorLikelihood(evidence, np.empty((evidence.n_cases, 0))))

    def extended(self, plain: PriorLikelihood) -> PriorLikelihood:
        """Add covariates as far as they are known."""
        if not len(self.means):
            return plain
        return replace(plain, covariates=standardised(raw_covariates(plain, self.plain), self.means, self.spread))

    def stratum(self, names: Sequence[str], labels: Labels) -> IntArray:
        """Say whose coefficients each case has: those of the smallest stratum that it belongs to."""
        if len(self.strata) == 1:
            return np.zeros(len(names), dtype=np.int64)
        place = {key: row for row, key in enumerate(self.strata)}
        known = (labels.get(name, ()) for name in names)
        rows = [max(place.get(label[:depth], 0) for depth in range(len(label) + 1)) for label in known]
        return np.array(rows, dtype=np.int64)

    def by_stratum(
        self, likelihood: PriorLikelihood, stratum: IntArray, pooled: FloatArray
    ) -> Iterator[tuple[IntArray, PriorLikelihood]]:
        """Split a likelihood into that of all cases and that of every other stratum; also say which cases it has."""
        yield np.arange(len(stratum)), likelihood
        for key in self.strata[1:]:
            inside = np.array([other[: len(key)] == key for other in self.strata])
            cases = np.flatnonzero(inside[stratum])
            yield cases, likelihood.take(cases, pooled)

    def curvatures(self, likelihood: PriorLikelihood, stratum: IntArray, weights: FloatArray) -> FloatArray:
        """Return minus the second derivatives of weighted cases, (n_strata, n_coefficients, n_coefficients)."""
        parts = zip(self.coefficients, self.by_stratum(likelihood, stratum, self.coefficients[0]), strict=True)
        return np.stack([part.curvature(row, weights[cases]) for row, (cases, part) in parts])

    def pushes(self, likelihood: PriorLikelihood, stratum: IntArray, weights: FloatArray) -> FloatArray:
        """Sum what weights (n_refits, n_cases) add to slopes, shape (n_refits, n_strata, n_coefficients)."""
        parts = zip(self.coefficients, self.by_stratum(likelihood, stratum, self.coefficients[0]), strict=True)
        return np.stack([part.pushes(row, weights[:, cases]) for row, (cases, part) in parts], axis=1)


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
        self,
        opinions: Opinions,
        models: Mapping[str, Predictions],
        weights: FloatArray | None = None,
        labels: Labels | None = None,
    ) -> FloatArray:
        """Sum over the cases of a part, in their order.

        Parameters
        ----------
        opinions
            Of the part, with the conditions of the whole.
        models
            Predictions of its cases, and of others, on the same conditions.
        weights : (n_cases, n_refits)
            Weights of the annotated cases in the first resamples; needed where refits are sought.
        labels
            Labels of its cases in the columns of strata; they matter where refits are sought.
        """
        likelihood = self.recipe.likelihood(opinions, models)
        if self.sought != "refits":
            return self.of_cases(likelihood)
        assert weights is not None
        stratum = self.recipe.stratum(opinions.case_names, labels or {})
        return self.recipe.pushes(likelihood, stratum, weights.T)

    def of_cases(self, likelihood: PriorLikelihood) -> FloatArray:
        """Sum slopes or covariates over the cases of a likelihood."""
        if self.sought == "slopes":
            state = likelihood.state(self.coefficients)
            return np.asarray(np.column_stack([likelihood.of_cases(state), likelihood.slopes(state)]).sum(axis=0))
        raw = raw_covariates(likelihood, self.coefficients)
        return np.asarray(np.column_stack([np.square(raw[:, 0]), raw]).sum(axis=0))


# Evaluate a request on every part of a study and add the results up.
Total: TypeAlias = Callable[[Request], FloatArray]


# The fit ------------------------------------------------------------------------------------------------


def refined(
    recipe: PriorRecipe, likelihood: PriorLikelihood, weights: FloatArray, here: FloatArray, total: Total
) -> tuple[FloatArray, bool]:
    """Move coefficients of a weighted sample to where sums over all cases put them; say whether they settled there.

    They move by Newton steps, the curvature learning from each; too large a step is not taken.
    """

    def penalised(coefficients: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised log-likelihood of all cases, and its slope."""
        value, *slope = total(Request("slopes", recipe, coefficients))
        gap = coefficients - likelihood.centre
        return float(value - 0.5 * (likelihood.ridge * gap**2).sum()), np.array(slope) - likelihood.ridge * gap

    curvature, least = likelihood.curvature(here, weights), float(likelihood.ridge.min())
    sizes, axes = np.linalg.eigh(curvature)
    curvature = curvature if sizes.min() >= least else np.asarray(axes * np.maximum(sizes, least) @ axes.T)
    value, slope = penalised(here)
    for _ in range(MOST_PASSES):
        if np.abs(np.linalg.solve(np.linalg.cholesky(curvature), slope)).max() < SETTLED:
            return here, True
        there = here + np.linalg.solve(curvature, slope)
        reached, ahead = penalised(there)
        step, change = there - here, slope - ahead
        if step @ change > 0:  # let the curvature agree with how far the slope fell along the step (BFGS)
            pull = curvature @ step
            learned = np.outer(change, change) / (change @ step) - np.outer(pull, pull) / (step @ pull)
            curvature = np.asarray(curvature + learned)
        elif reached <= value:
            curvature = 4.0 * curvature
        if reached > value:
            here, value, slope = there, reached, ahead
    return here, False


def fitted_recipe(
    study: Study,
    models: Mapping[str, Predictions],
    lessons: Lessons,
    *,
    total: Total,
    start: PriorRecipe | None = None,
    labels: Labels | None = None,
    trained_on: Sequence[str] = (),
) -> PriorRecipe:
    """Fit an informed prior to a study of which a sample is in memory, and everything else is asked for.

    It is fitted twice: with one concentration of all cases, and with one that depends on what the first fit says. What
    is told about the fit is found on the sample.

    Parameters
    ----------
    study
        The cases of :func:`learning_sample`, in any order, with the conditions of the whole.
    models
        Predictions of these cases by name of the model.
    lessons
        Of the whole study and of all models.
    total
        Evaluates a request on every part of the study and adds the results up; asked if the sample is not all there is.
    start
        Of a similar study: its models that have seen the answers are taken for granted. The search starts there, if it
        has the same models and the sample is all there is, and what is told about it stays untold. Its strata are kept.
    labels
        Labels of cases in the columns of strata.
    trained_on
        Models that are declared as trained on these annotations.

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
    leaks = leaking_models(said, own, trained_on) if start is None else dict(start.left_out)
    opinions, n_cases = said.opinions, lessons.n_cases
    is_whole, weights = opinions.n_cases == n_cases, np.full(opinions.n_cases, n_cases / opinions.n_cases)
    recipe = PriorRecipe(
        said.conditions,
        tuple(name for name in own if name not in leaks),
        leaks,
        lessons.ranges,
        lessons.recoded(said.conditions).mentions,
        n_cases,
        len(broken_votes(opinions)) if is_whole else N_BREAKS,
    )
    likelihood = recipe.likelihood(opinions, own)
    n_plain, n_more = sum(likelihood.sizes), 1 + likelihood.sizes[2]
    known = start.coefficients if start is not None else np.empty((0, 0))
    is_known = start is not None and is_whole and start.models == recipe.models and known.shape[1] == n_plain + n_more
    plain = of_sample = known[0, :n_plain] if is_known else likelihood.fitted(weights)
    is_settled = also = True
    if is_whole:
        sums = Request("covariates", recipe, plain).of_cases(likelihood)
    else:
        plain, is_settled = refined(recipe, likelihood, weights, of_sample, total)
        sums = total(Request("covariates", replace(recipe, plain=plain), plain))
    square, *means = sums / n_cases
    spread = float(np.sqrt(max(square - means[0] ** 2, 0.0)))
    recipe = replace(recipe, plain=plain, means=np.array(means), spread=spread)
    likelihood = recipe.extended(likelihood)
    found = likelihood.fitted(weights, known[0] if is_known else np.append(of_sample, np.zeros(n_more)))
    if not is_whole:  # all cases are expected as far from the sample as before
        shift = np.append(plain - of_sample, np.zeros(n_more))
        found, also = refined(recipe, likelihood, weights, found + shift, total)
    unsettled = () if is_settled and also else (UNSETTLED,)
    given, names = labels or {}, opinions.case_names
    strata = large_strata([given.get(name, ()) for name in names]) if start is None else start.strata
    recipe = replace(recipe, strata=strata, warnings=(*told_problems(leaks, likelihood.evidence), *unsettled))
    stratum, rows = recipe.stratum(names, given), [found]
    for row, (cases, part) in enumerate(recipe.by_stratum(likelihood, stratum, found)):
        if row > 0:
            rows.append(part.fitted(weights[cases], known[row] if is_known else found))
    masses = np.array([likelihood.concentrations(row) for row in rows])[stratum, np.arange(len(names))]
    worth = tuple(np.quantile(masses, QUARTILES).tolist())
    recipe = replace(recipe, coefficients=np.array(rows), held=HELD * likelihood.ridge, concentrations=worth)
    if start is not None and is_whole:
        return replace(recipe, log_sd=start.log_sd)
    curvature = recipe.curvatures(likelihood, stratum, weights)
    gain = held_out_gain(likelihood, found, curvature[0])
    told, few = tuple(informing(likelihood, found, leaks)), likelihood.take(told_cases(likelihood, MOST_SPREAD))
    return replace(recipe, curvature=curvature, rows=told, held_out_gain=gain, log_sd=few.log_sd(found))


def with_refits(recipe: PriorRecipe, total: Total) -> PriorRecipe:
    """Refit a prior to resampled cases; parts are asked with the weights of their cases in the resamples."""
    pushes = total(Request("refits", recipe, recipe.coefficients[0]))
    return replace(recipe, refits=moved(recipe.coefficients, recipe.curvature, pushes, recipe.held))


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


def told_cases(likelihood: PriorLikelihood, most: int = MOST_TOLD) -> IntArray:
    """Choose the cases on which it is found what models add."""
    n_cases = likelihood.evidence.n_cases
    return np.unique(np.linspace(0, n_cases - 1, min(n_cases, most)).astype(np.int64))


def fitted_to(evidence: Evidence, models: Sequence[str]) -> tuple[PriorLikelihood, FloatArray]:
    """Fit what some of the models say, with one concentration of all cases."""
    own = evidence.of_models(models)
    plain = PriorLikelihood(own, np.empty((own.n_cases, 0)))
    return plain, plain.fitted(np.ones(own.n_cases))


def informing(
    likelihood: PriorLikelihood, coefficients: FloatArray, left_out: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """Write down how much each model informs the prior, by fits with one concentration of all cases."""
    names, evidence = likelihood.evidence.models, likelihood.evidence.take(told_cases(likelihood))
    told = coefficients[: len(SAYINGS) * len(names)].reshape(len(names), len(SAYINGS)).tolist()
    numbers = {name: dict(zip(COEFFICIENTS, row, strict=True)) for name, row in zip(names, told, strict=True)}
    return rows_of_models(numbers, left_out, lambda some: log_score(*fitted_to(evidence, some)))


def held_out_gain(likelihood: PriorLikelihood, coefficients: FloatArray, curvature: FloatArray) -> float:
    """Say by how much models raise the score of held-out first choices; see :func:`held_out_score`."""
    informed = likelihood.take(told_cases(likelihood))
    alone, found = fitted_to(informed.evidence, [])
    score = held_out_score(alone, found, alone.curvature(found, np.ones(alone.evidence.n_cases)))
    return held_out_score(informed, coefficients, curvature) - score


def held_out_score(likelihood: PriorLikelihood, coefficients: FloatArray, curvature: FloatArray) -> float:
    """Return the mean log-probability of a first choice, given the others of its case.

    Coefficients owe nothing to the case: the cases of a fold are left out by one Newton step.
    """
    evidence, total = likelihood.evidence, 0.0
    slopes, case = likelihood.slopes(likelihood.state(coefficients)), evidence.case[evidence.mentioned]
    fold, before = np.arange(evidence.n_cases) % FOLDS, np.maximum(evidence.totals - 1.0, 0.0)
    for number in range(FOLDS):
        without = coefficients - np.linalg.solve(curvature, slopes[fold == number].sum(axis=0))
        _, mass, shapes = likelihood.state(without)
        logs = np.log((shapes + np.maximum(evidence.votes - 1.0, 0.0)) / (mass + before)[case])
        total += float((evidence.votes * logs)[:, fold[case] == number].sum())
    return total / float(evidence.votes.sum())


def log_score(likelihood: PriorLikelihood, coefficients: FloatArray) -> float:
    """Return the mean log-probability of a first choice, given those of nobody else on the case."""
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    votes = evidence.votes.mean(axis=0)
    return float(product(votes, np.log(np.maximum(shares.entries[evidence.mentioned], LEAST_SHAPE))) / votes.sum())


# A condition that nobody mentions is a case's own if the prior gives it at least this share.
NOTICEABLE = 0.005

MOST_FOLDS = 100


@dataclass(frozen=True, eq=False, repr=False)
class CasePrior(InformedPrior):
    """Prior shapes of every case, fitted to the first choices of annotators; see :func:`informed_prior`.

    Attributes
    ----------
    conditions, case_names
        What the prior is about: the annotated cases of the study.
    likelihoods
        Features of conditions, and how coefficients turn into shapes; one, or one for each fold of cases.
    coefficients : (n_rows, n_coefficients)
        What was fitted, stratum by stratum or fold by fold.
    row : (n_cases,)
        Which of these belongs to each case.
    recipe
        How it was made, perhaps from more cases than these; see :func:`prior_of`.

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
    row: IntArray
    recipe: PriorRecipe

    maker = "informed_prior"
    coefficient_names = COEFFICIENTS

    @property
    def likelihood(self) -> PriorLikelihood:
        """The first of the likelihoods."""
        return self.likelihoods[0]

    models = Forwarded[tuple[str, ...]]("recipe.models", "The models that inform it.")
    left_out = Forwarded[Mapping[str, str]](
        "recipe.left_out", "Models that have seen the answers, and how it is known."
    )
    warnings = Forwarded[tuple[str, ...]]("recipe.warnings", "What deserves a look, in sentences.")
    are_labels = Forwarded[bool]("recipe.are_labels", "Whether the models that inform it give labels, and no scores.")
    quartiles = Forwarded[tuple[float, ...]]("recipe.concentrations", "How many votes the prior of a case is worth.")
    held_out_gain = Forwarded[float | None]("recipe.held_out_gain", "What models add to the score of held-out choices.")

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.case_names)

    # Shapes ------------------------------------------------------------------------------------------------

    @cached_property
    def concentrations(self) -> FloatArray:
        """How many votes the prior of each case is worth, shape (n_cases,)."""
        return self._made(self.coefficients)[3]

    @cached_property
    def _parts(self) -> list[tuple[IntArray, IntArray, PriorLikelihood]]:
        """Of every row of coefficients, its cases, their entries, and their likelihood."""
        found = []
        for number in range(len(self.coefficients)):
            cases, likelihood = np.flatnonzero(self.row == number), self.likelihoods[number % len(self.likelihoods)]
            entries = take_rows(likelihood.evidence.offsets, cases)[1]
            found.append((cases, entries, likelihood if len(cases) == self.n_cases else likelihood.take(cases)))
        return found

    def _made(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return what coefficients (n_rows, n_coefficients) make of every case.

        Shares of entries, scales of other shares (n_cases,), weights of conditions (n_rows, K), and concentrations.
        """
        entries, (scale, mass) = np.empty(len(self.likelihood.evidence.codes)), np.empty((2, self.n_cases))
        weights = np.empty((len(rows), len(self.conditions)))
        for number, (cases, places, likelihood) in enumerate(self._parts):
            entries[places], _, scale[cases], weights[number] = likelihood.shares(rows[number])
            mass[cases] = likelihood.concentrations(rows[number])
        return entries, scale, weights, mass

    def means(self) -> FloatArray:
        """Return the mean of the prior of every case, shape (n_cases, K); mind the memory.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> ds.aggregations.informed_prior(study.annotations, study.predictions).means().sum(axis=1).round(6).min()
        np.float64(1.0)
        """
        evidence, (entries, scale, weights, _) = self.likelihood.evidence, self._made(self.coefficients)
        full = scale[:, None] * weights[self.row]
        full[evidence.case, evidence.codes] = entries
        return full

    def applied(self, opinions: Opinions, *refits: FloatArray) -> tuple[Opinions, list[Shapes]]:
        """Give the cases of a study their prior shapes, with a support that holds all conditions of noticeable mass.

        Behind these shapes come those under other coefficients, with the same support.

        Parameters
        ----------
        opinions
            Of cases that the prior knows, by name, in any order; not necessarily the opinions it was fitted to.
        *refits : (n_rows, n_coefficients)
            Other coefficients.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> wider, (shapes,) = prior.applied(study.annotations.opinions)
        >>> len(wider.support) == len(shapes.mentioned) > len(study.annotations.opinions.support)
        True
        """
        others = () if opinions.conditions == self.conditions else opinions.conditions
        cases, evidence = self.positions(opinions.case_names, other_conditions=others), self.likelihood.evidence
        made, n_conditions = [self._made(rows) for rows in (self.coefficients, *refits)], len(self.conditions)
        offsets, entries = take_rows(evidence.offsets, cases)
        kept, case, codes = made[0][0][entries] >= NOTICEABLE, row_of_each(offsets), evidence.codes[entries]
        wider = with_support(opinions, case[kept], codes[kept])
        keys, case = case * n_conditions + codes, row_of_each(wider.support_offsets)
        wanted, has_rest, found = case * n_conditions + wider.support, wider.rest_sizes > 0, []
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        # by these weights conditions that are no entries share the rest
        weights = np.maximum(made[0][2][0], LEAST_SHAPE)
        weight = weights.sum() - weighted_counts(case, weights[wider.support], len(cases))
        weight = np.where(has_rest, np.maximum(weight, LEAST_SHAPE), 1.0)
        for own_entries, scale, own_weights, masses in made:
            outside = scale[cases][case] * own_weights[self.row[cases][case], wider.support]
            own = np.where(keys[place] == wanted, own_entries[entries[place]], outside)
            left = np.maximum(1.0 - weighted_counts(case, own, len(cases)), LEAST_SHAPE)
            mass = masses[cases]
            rest = np.where(has_rest, np.maximum(mass * left, LEAST_SHAPE), 0.0)
            mentioned, sums = np.maximum(mass[case] * own, LEAST_SHAPE), np.append(0.0, np.cumsum(weights))
            found.append(Shapes(mentioned, rest, rest / weight, sums))
        return wider, found

    # Refits ------------------------------------------------------------------------------------------------

    def shapes(self, opinions: Opinions, refits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the shapes of :meth:`applied` and of refitted coefficients, and the first choices of annotators.

        The shapes are (1 + n_refits, sum of (U + 1)) and (sum of (U + 1),), the last of each case being the rest.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> (here, there), votes = prior.shapes(study.annotations.opinions, prior.coefficients)
        >>> (here - there).any(), len(votes) == len(here)
        (np.False_, True)
        """
        wider, found = self.applied(opinions, *refits.reshape(-1, *self.coefficients.shape))
        ends = wider.support_offsets[1:]
        shapes = np.array([np.insert(own.mentioned, ends, own.rest) for own in found])
        return shapes, np.insert(broken_votes(wider, 1)[0], ends, 0.0)

    def refitted(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of weighted cases (n_refits, n_cases), shape (n_refits, n_rows * n_coefficients).

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=120)
        >>> prior = ds.aggregations.informed_prior(study.annotations, study.predictions)
        >>> bool(np.allclose(prior.refitted(np.ones((1, 120))), prior.coefficients))
        True
        """
        recipe, where = self.recipe, (self.likelihood, self.row)
        curvature = recipe.curvature if len(recipe.curvature) else recipe.curvatures(*where, np.ones(self.n_cases))
        return moved(self.coefficients, curvature, recipe.pushes(*where, weights), recipe.held)

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
        likelihoods = tuple(one.take(rows) for one in self.likelihoods)
        return replace(self, case_names=tuple(names), likelihoods=likelihoods, row=self.row[rows])

    # Words -------------------------------------------------------------------------------------------------

    @cached_property
    def log_score(self) -> float:
        """Mean log-probability of a first choice, given those of nobody else on the case."""
        return log_score(self.likelihood, self.coefficients[0])

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Write down how much each model informs the prior; see :meth:`table`."""
        return self.recipe.rows or informing(self.likelihood, self.coefficients[0], self.left_out)


def known_prior(specs: Sequence[Aggregation]) -> CasePrior | RatingPrior | None:
    """Return the prior that was given to an aggregation, if any was."""
    given = (getattr(spec, name, None) for spec in specs for name in ("case_prior", "rating_prior"))
    return next((prior for prior in given if prior is not None), None)


def check_case_prior(name: str, given: object) -> None:
    """Refuse what is no prior of cases."""
    if given is not None and not isinstance(given, CasePrior):
        raise DissensusError(
            f"{name} is not of the right kind",
            expected="what informed_prior returns",
            got=f"{given!r:.60}, a {type(given).__name__}",
        )


@dataclass(frozen=True)
class ShapedAggregation(Aggregation):
    """Be an aggregation whose prior shapes of conditions have a name, or were fitted to what models say.

    A fitted prior is given as ``prior`` or ``case_prior``, and goes by the name ``"informed"``.
    """

    kept_apart = ("case_prior", "learned")

    # Priors that have a name, and those of them under which alpha is 1 by default; under others, it is fitted.
    priors: ClassVar[tuple[str, ...]]
    unit_priors: ClassVar[tuple[str, ...]]

    reliability: float = 1.0
    alpha: Alpha | None = None
    prior: Prior | CasePrior | None = None
    case_prior: CasePrior | None = field(default=None, repr=False, compare=False, kw_only=True)
    learned: LearnedPrior | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def needs_whole(self) -> str:
        """Nothing: what it learns adds up over parts of a study."""
        return ""

    def with_learned(self, learned: LearnedPrior) -> Aggregation:
        """Fix what it learns."""
        return replace(self, learned=learned)

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_case_prior("case_prior", self.case_prior)
        if self.learned is not None and not isinstance(self.learned, LearnedPrior):
            got = f"{self.learned!r:.60}"
            raise DissensusError("learned is not of the right kind", expected="what taught gives", got=got)
        if isinstance(self.prior, CasePrior):
            object.__setattr__(self, "case_prior", self.prior)
            object.__setattr__(self, "prior", "informed")
        check_choice("prior", self.prior, self.priors)
        default: Alpha = 1.0 if self.prior in self.unit_priors else "fitted"
        object.__setattr__(self, "alpha", given_alpha(default if self.alpha is None else self.alpha, self.prior))

    def _shaped(self, opinions: Opinions) -> tuple[Opinions, Shapes, dict[str, float]]:
        """Return the opinions with the support that the prior gives them, its shapes, and which numbers were fitted."""
        prior, alpha, known = cast("Prior", self.prior), self.alpha, self.learned
        if prior != "informed":
            if known is None and isinstance(alpha, str):
                known = Lessons.of_opinions(opinions).learned(prior, "fitted")
            if known is None:
                return opinions, prior_shapes(opinions, prior, float(cast("float", alpha))), {}
            if opinions.conditions != known.conditions:
                problem = "what was learned is about other conditions"
                raise DissensusError(problem, expected=listing(known.conditions), got=listing(opinions.conditions))
            fitted = {} if known.alpha is None else {"alpha": known.alpha}
            shape = float(cast("float", fitted.get("alpha", alpha)))
            return opinions, prior_shapes(opinions, prior, shape, known.mentions), fitted
        if self.case_prior is None:
            raise DissensusError(
                "the prior 'informed' needs to know what the models say",
                expected="prior=informed_prior(study, predictions), or evaluate(study, predictions), which fits one",
            )
        opinions, (shapes,) = self.case_prior.applied(opinions)
        return opinions, shapes, {}


@checked
def informed_prior(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    *,
    folds: int = 1,
    start: CasePrior | None = None,
    strata: Mapping[str, Sequence[str]] | None = None,
    trained_on: Sequence[str] = (),
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
        A prior of a similar study with the same models, from which the search starts; cases stay in its strata.
    strata
        Columns of cases: name to one label per case. A stratum of at least 50 cases has coefficients of its own, which
        a ridge holds near those of all cases: every label of the first column and, as far as they are large enough, its
        crossings with those of further columns. A case has those of the smallest stratum that it belongs to.
    trained_on
        Models that were trained on these annotations: they do not inform the prior.

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
    if folds > 1 and strata:
        raise DissensusError("a prior has folds or strata, not both", expected="strata left out, or folds=1")
    models = aligned_models(predictions, said.case_names, said.conditions)
    check_trained_on(trained_on, models)
    labels = case_labels(said.case_names, strata or {})
    if folds > 1:
        found = _folded(said, models, folds, start, trained_on)
    else:
        found = _fitted(said, models, start, labels, trained_on)
    for problem in found.warnings if start is None else ():
        warnings.warn(problem, DissensusWarning, stacklevel=3)
    return found


def case_labels(names: Sequence[str], strata: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Put the labels of every case together, column by column.

    >>> case_labels(["x", "y"], {"site": ["N", "S"], "sex": ["m", "f"]})
    {'x': ('N', 'm'), 'y': ('S', 'f')}
    """
    for column, of_cases in strata.items():
        check_length(f"{column} label", len(of_cases), len(names))
    return dict(zip(names, zip(*strata.values(), strict=True), strict=True)) if strata else {}


def _fitted(
    said: Study, models: Mapping[str, Predictions], start: CasePrior | None, labels: Labels, trained_on: Sequence[str]
) -> CasePrior:
    """Fit to all cases at once, or, if they are many, to a sample first and to their sums then."""
    opinions, order = said.opinions, in_order_of_keys(said.opinions.case_names)
    parts = [order[first : first + LEARNING_CASES] for first in range(0, opinions.n_cases, LEARNING_CASES)]
    known = None
    if start is not None:
        known = start.recipe
        labels = {name: known.strata[row] for name, row in zip(start.case_names, start.row.tolist(), strict=True)}

    def total(request: Request) -> FloatArray:
        return np.asarray(sum(request.of_part(opinions.take(part), models) for part in parts))

    how: dict[str, Any] = {"total": total, "start": known, "labels": labels, "trained_on": trained_on}
    recipe = fitted_recipe(learning_sample(said), models, Lessons.of(said, models), **how)
    return prior_of(recipe, opinions, models, labels)


def _folded(
    said: Study, models: Mapping[str, Predictions], folds: int, start: CasePrior | None, trained_on: Sequence[str]
) -> CasePrior:
    """Fit to the cases of all folds but one, in turn."""
    opinions = said.opinions
    leaks = leaking_models(said, models, trained_on) if start is None else dict(start.left_out)
    evidence = Evidence.of(opinions, {name: model for name, model in models.items() if name not in leaks})
    fold = (case_keys(opinions.case_names) % np.uint64(folds)).astype(np.int64)
    n_folds = int(fold.max(initial=0)) + 1
    others = [(fold != number) | (n_folds == 1) for number in range(n_folds)]
    fits = [fitted_likelihood(evidence.counted_in(own), own.astype(np.float64)) for own in others]
    likelihoods, coefficients = tuple(one for one, _ in fits), np.array([row for _, row in fits])
    names, size = (opinions.conditions, evidence.models), (opinions.n_cases, len(evidence.votes))
    recipe = PriorRecipe(*names, leaks, {}, np.empty(0), *size, warnings=told_problems(leaks, evidence))
    found = CasePrior(opinions.conditions, opinions.case_names, likelihoods, coefficients, fold, recipe)
    worth = tuple(np.quantile(found.concentrations, QUARTILES).tolist())
    return replace(found, recipe=replace(recipe, concentrations=worth))


def prior_of(
    recipe: PriorRecipe, opinions: Opinions, models: Mapping[str, Predictions], labels: Labels | None = None
) -> CasePrior:
    """Make the prior of some cases, such as a part of a study: bit for bit the one that they have in the whole.

    Parameters
    ----------
    recipe
        Fitted to the whole study.
    opinions
        Of these cases, with the conditions of the whole.
    models
        Predictions by name of the model, of these cases and perhaps of others, on the same conditions.
    labels
        Labels of cases in the columns of strata.

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
        recipe.coefficients,
        recipe.stratum(opinions.case_names, labels or {}),
        recipe,
    )
