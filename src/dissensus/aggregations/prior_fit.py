"""Fit a prior of every case to the first choices of annotators: what models say is weighed, annotators decide how much.

The prior of case i is Dirichlet(s_i mu_i). The logarithm of mu_ik is a sum of what each model says about condition k
times a coefficient, of the logarithm of the condition's frequency times one, and of a number of its own for the most
frequent conditions; the logarithm of s_i is a number plus one times the entropy of mu_i and one for every frequent
condition times its share. Coefficients maximise the Dirichlet-multinomial likelihood of the votes, with a ridge. The
entropy and the shares are those of a first fit in which all cases have the same s, so that the likelihood stays simple.
A stratum of cases may have coefficients of its own, which a ridge holds near those of all cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dissensus.aggregations.point_estimates import first_choices
from dissensus.aggregations.priors import FLOOR, SMOOTHING, Reading, ScoreRange, mention_counts
from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import begins_run, product, row_of_each, take_rows, weighted_counts
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import Opinions

# How many conditions of a case a model may say something about, the best ones.
MOST_LISTED = 50

# What every model says about a condition: three features each.
SAYINGS = ("log score", "score", "first")

# Precisions of their coefficients around zero: what few votes cannot tell is not believed. Beside the score, the first
# place is rarely needed, and held-out annotators like it held firmly; it is all there is to know of a model whose
# scores are nearly flat.
FIRMNESS = (2.0, 2.0, 8.0)

# In how many ways tied first blocks are broken: a multiple of the usual sizes, 2 and 3.
N_BREAKS = 6

# Multiples of it are spread evenly between 0 and 1.
GOLDEN = (5**0.5 - 1) / 2

# A condition has a coefficient of its own if so many cases mention it, and if it is one of so many.
LEAST_MENTIONED, MOST_FREE = 20, 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Hold the features of all conditions that a case's models list or its annotators mention; all others have none.

    Attributes
    ----------
    models
        Names of the models.
    offsets, codes
        The listed or mentioned conditions of each case, ascending.
    features : (n_entries, 3 * models)
        Logarithm of the score over its floor, score, and share of the first place, model after model.
    firmness : (3 * models,)
        Precisions of the coefficients of features around zero.
    log_frequency : (n_entries,)
        Logarithm of the number of other cases that mention the condition, plus a half.
    log_weights : (K,)
        The same over all cases.
    mentioned : (n_mentioned,)
        Positions of the entries that an annotator mentions.
    votes : (n_breaks, n_mentioned)
        First choices of the annotators, ties broken in several ways; see :func:`broken_votes`.
    free
        Codes of the conditions that have a coefficient of their own, ascending.
    """

    models: tuple[str, ...]
    offsets: IntArray
    codes: IntArray
    features: FloatArray
    firmness: FloatArray
    log_frequency: FloatArray
    log_weights: FloatArray
    mentioned: IntArray
    votes: FloatArray
    free: IntArray

    @staticmethod
    def of(
        opinions: Opinions,
        models: Mapping[str, Predictions],
        *,
        counts: FloatArray | None = None,
        ranges: Mapping[str, ScoreRange] | None = None,
        turns: int | None = None,
    ) -> Evidence:
        """Lay out the models' predictions of the annotated cases.

        Parameters
        ----------
        counts : (K,)
            How many cases mention each condition; by default, of these.
        ranges
            Limits of scores by name of the model; by default, those of these cases.
        turns
            In how many ways tied first blocks are broken; by default as it needs.
        """
        n_conditions, names = len(opinions.conditions), list(opinions.case_names)
        own = {name: model.select(names) for name, model in models.items()}
        counts = mention_counts(opinions) if counts is None else counts
        ranges = {name: ScoreRange.of(model) for name, model in own.items()} if ranges is None else ranges
        said = [_sayings(model, ranges[name].reading) for name, model in own.items()]
        told = row_of_each(opinions.support_offsets) * n_conditions + opinions.support
        keys = np.sort(np.concatenate([told, *(keys for keys, _ in said)]))
        keys = keys[begins_run(keys)]
        case, codes = np.divmod(keys, n_conditions)
        features = np.zeros((len(keys), len(SAYINGS) * len(said)), order="F")  # columns are added one by one
        for place, (listed, values) in enumerate(said):
            features[np.searchsorted(keys, listed), len(SAYINGS) * place : len(SAYINGS) * (place + 1)] = values
        is_mentioned = np.isin(keys, told, assume_unique=True)
        often = np.argsort(-counts, kind="stable")[:MOST_FREE]
        return Evidence(
            tuple(models),
            np.searchsorted(case, np.arange(opinions.n_cases + 1)),
            codes,
            features,
            np.tile(FIRMNESS, len(said)),
            np.log(counts[codes] - is_mentioned + SMOOTHING),
            np.log(counts + SMOOTHING),
            np.flatnonzero(is_mentioned),
            broken_votes(opinions, turns),
            np.sort(often[counts[often] >= LEAST_MENTIONED]),
        )

    @property
    def n_cases(self) -> int:
        """Number of annotated cases."""
        return len(self.offsets) - 1

    @cached_property
    def case(self) -> IntArray:
        """The case of each entry, shape (n_entries,)."""
        return row_of_each(self.offsets)

    @cached_property
    def totals(self) -> FloatArray:
        """Number of votes of each case, shape (n_cases,)."""
        return weighted_counts(self.case[self.mentioned], self.votes[0], self.n_cases)

    @cached_property
    def choices(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Different numbers of votes that turns give mentioned conditions: which one, how many, and in which share."""
        n_breaks, n_mentioned = self.votes.shape
        given, member = np.sort(self.votes, axis=0).T.ravel(), np.repeat(np.arange(n_mentioned), n_breaks)
        begins = np.flatnonzero(begins_run(member, given))
        return member[begins], given[begins], np.diff(begins, append=len(given)) / n_breaks

    @cached_property
    def free_entries(self) -> tuple[IntArray, IntArray]:
        """Positions of the entries of free conditions, and where these conditions stand among the free ones."""
        places = np.full(len(self.log_weights), -1, dtype=np.int64)
        places[self.free] = np.arange(len(self.free))
        at = np.flatnonzero(places[self.codes] >= 0)
        return at, places[self.codes[at]]

    def by_case(self, entries: FloatArray) -> FloatArray:
        """Add up what the entries of each case have, shape (n_cases,); no case is without any."""
        return np.add.reduceat(entries, self.offsets[:-1])

    def outside(self, numbers: FloatArray) -> FloatArray:
        """Add up numbers (K,) of the conditions that are no entries of a case, zero if all are, shape (n_cases,)."""
        is_whole = np.diff(self.offsets) == len(numbers)
        return np.where(is_whole, 0.0, numbers.sum() - self.by_case(numbers[self.codes]))

    def by_free(self, others: FloatArray, weights: FloatArray, entries: FloatArray) -> FloatArray:
        """Lay out what the free conditions of each case have, (n_cases, n_free): an entry, or others times a weight."""
        found, (at, place) = others[:, None] * weights[self.free], self.free_entries
        found[self.case[at], place] = entries[at]
        return found

    def counted_in(self, cases: BoolArray) -> Evidence:
        """Count how frequent conditions are in some cases only."""
        is_counted = cases[self.case[self.mentioned]]
        counts = np.bincount(self.codes[self.mentioned][is_counted], minlength=len(self.log_weights)).astype(np.float64)
        own = np.zeros(len(self.codes))
        own[self.mentioned[is_counted]] = 1.0
        return replace(
            self, log_frequency=np.log(counts[self.codes] - own + SMOOTHING), log_weights=np.log(counts + SMOOTHING)
        )

    def take(self, cases: IntArray) -> Evidence:
        """Select cases by position, which may repeat."""
        offsets, entries = take_rows(self.offsets, cases)
        mentioned = np.flatnonzero(np.isin(entries, self.mentioned))
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[entries],
            features=np.asfortranarray(self.features[entries]),
            log_frequency=self.log_frequency[entries],
            mentioned=mentioned,
            votes=self.votes[:, np.searchsorted(self.mentioned, entries[mentioned])],
        )

    def of_models(self, models: Sequence[str]) -> Evidence:
        """Keep what some models say; conditions of which they say nothing, and no annotator does, are no entries."""
        is_kept = np.array([name in models for name in self.models], dtype=np.bool_)
        columns = np.repeat(is_kept, len(SAYINGS))
        features = self.features[:, columns]
        is_entry = np.asarray(features.any(axis=1))
        is_entry[self.mentioned] = True
        before = np.append(0, np.cumsum(is_entry))
        return replace(
            self,
            models=tuple(compress(self.models, is_kept)),
            offsets=before[self.offsets],
            codes=self.codes[is_entry],
            features=np.asfortranarray(features[is_entry]),
            firmness=self.firmness[columns],
            log_frequency=self.log_frequency[is_entry],
            mentioned=before[self.mentioned],
        )


def broken_votes(opinions: Opinions, turns: int | None = None) -> FloatArray:
    """Give the vote of a tied first block to one of its conditions, in several ways that share it fairly on average.

    A vote that is shared by halves looks as if annotators agreed on the halves: with one tie in six, the fitted
    concentration of a simulated study was 1500 rather than 20. Which condition gets the vote depends on nothing but the
    name of the case and the place of the ranking in it.

    Parameters
    ----------
    turns
        In how many ways; by default once if there are no ties.

    Returns
    -------
    (n_breaks, sum of U)
        Weighted votes for the mentioned conditions of all cases, side by side.

    Examples
    --------
    >>> from dissensus import Study
    >>> broken_votes(Study.from_rankings([[[["a"]], [["a", "b"]]]], ["a", "b", "c"]).opinions).T
    array([[1., 1., 2., 2., 2., 1.],
           [1., 1., 0., 0., 0., 1.]])
    """
    ranking, members, size = first_choices(opinions)
    within = np.arange(len(ranking)) - np.flatnonzero(begins_run(ranking))[ranking]
    given = opinions.votes[ranking]
    each = opinions.weights[ranking] / given
    case = opinions.case_of_ranking
    place = np.arange(len(case)) - opinions.ranking_offsets[case] + 1
    of_case = (opinions.keys[case] >> np.uint64(11)).astype(np.float64) / 2.0**53
    rows = []
    for turn in range(turns or (N_BREAKS if (size > 1).any() else 1)):
        fractions = (of_case + GOLDEN * place + turn / N_BREAKS) % 1.0  # of rankings, evenly spread over the turns
        favoured = (fractions[ranking] * size).astype(np.int64)
        chosen = given // size + ((within - favoured) % size < given % size)
        rows.append(weighted_counts(members, each * chosen, len(opinions.support)))
    return np.array(rows)


def _sayings(model: Predictions, reading: Reading) -> tuple[IntArray, FloatArray]:
    """Return what a model says: keys (case, condition) of the conditions it lists, and three features of each."""
    shares, first = score_shares(model, reading), first_shares(model)
    rank = np.arange(model.n_entries) - model.offsets[model.case_of_entry]
    is_told = ((shares > FLOOR) | (first > FLOOR)) & (rank < MOST_LISTED)
    keys = (model.case_of_entry * model.n_conditions + model.codes)[is_told]
    shares, first = shares[is_told], first[is_told]
    features = np.stack([np.log(np.maximum(shares, FLOOR) / FLOOR), shares, first], axis=1)
    order = np.argsort(keys)
    return keys[order], features[order]


def score_shares(model: Predictions, reading: Reading) -> FloatArray:
    """Turn what a model lists into shares of each case, shape (n_entries,): probabilities are taken as they are.

    Other scores that are not negative are divided by their sum, negative ones are taken for logarithms; a ranking has
    inverse ranks, and the conditions of a set share alike.

    Examples
    --------
    >>> score_shares(Predictions.from_rankings([["a", "b"]]), "ranking").round(2)
    array([0.67, 0.33])
    """
    case, values = model.case_of_entry, model.values
    if reading == "probabilities":
        return values
    if reading == "ranking":
        values = 1.0 / _ranks(model)
    elif reading == "set":
        values = np.ones(model.n_entries)
    elif reading == "logarithms":
        values = np.exp(values - values[model.offsets[:-1].clip(max=model.n_entries - 1)][case])
    return _normalised(values, case, model.n_cases)


def first_shares(model: Predictions) -> FloatArray:
    """Return the share of each entry in the first place of its case, shape (n_entries,).

    >>> first_shares(Predictions.from_scores([[0.4, 0.4, 0.2]], ["a", "b", "c"]))
    array([0.5, 0.5, 0. ])
    """
    return _normalised((_ranks(model) == 1).astype(np.float64), model.case_of_entry, model.n_cases)


def _ranks(model: Predictions) -> FloatArray:
    """Return the rank of each entry within its case, tied ones alike, shape (n_entries,)."""
    case = model.case_of_entry
    block = np.cumsum(begins_run(case, model.values))
    return np.asarray(block - block[model.offsets[:-1].clip(max=max(len(block) - 1, 0))][case] + 1.0)


def _normalised(values: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    sums = weighted_counts(case, values, n_cases)[case]
    return np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)


# The logarithm of a concentration stays between minus and plus this.
MASS_LIMIT = 8.0

# No prior shape is smaller, and no weight of a condition.
LEAST_SHAPE, LEAST = 1e-9, 1e-300

# When the search ends: after so many steps, or when slopes are below this in units of standard errors.
MOST_STEPS, PRECISION = 300, 1e-3

# Precision of what is known before any vote about the concentration: its logarithm has standard deviation 2.
BROAD = 0.25

# Spreads of logarithms that are tried, and how many draws of each.
LOG_SDS, LOG_DRAWS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0, 2.8), 100

# How far coefficients are moved to find the curvature.
STEP = 1e-5

# How many times as firmly the coefficients of a stratum are held near those of all cases as these are near the centre.
HELD = 3.0


class Shares(NamedTuple):
    """Hold the means mu of all cases.

    Attributes
    ----------
    entries : (n_entries,)
        Of the conditions that are entries.
    rest : (n_cases,)
        Of all others together.
    scale : (n_cases,)
        Share of an other condition over its weight.
    weights : (K,)
        Those weights.
    """

    entries: FloatArray
    rest: FloatArray
    scale: FloatArray
    weights: FloatArray


# What coefficients make: means, concentrations (n_cases,), and shapes of the mentioned conditions (n_mentioned,).
State: TypeAlias = tuple[Shares, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class PriorLikelihood:
    """Evaluate coefficients: (features, frequency, free conditions, concentration, its covariates), one after another.

    Attributes
    ----------
    evidence
        Features and votes.
    covariates : (n_cases, Q)
        What the logarithm of the concentration depends on, besides a constant.
    pooled : (n_coefficients,), optional
        Of a stratum: the coefficients of all cases, which its own are held near.
    """

    evidence: Evidence
    covariates: FloatArray
    pooled: FloatArray | None = None

    def take(self, cases: IntArray, pooled: FloatArray | None = None) -> PriorLikelihood:
        """Select cases by position, which may repeat."""
        return PriorLikelihood(self.evidence.take(cases), self.covariates[cases], pooled)

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """How many coefficients there are of each kind."""
        return self.evidence.features.shape[1], 1, len(self.evidence.free), 1, self.covariates.shape[1]

    def parts(self, coefficients: FloatArray) -> list[FloatArray]:
        """Split coefficients by kind."""
        return np.split(coefficients, np.cumsum(self.sizes)[:-1])

    @property
    def centre(self) -> FloatArray:
        """What coefficients are before any vote: none, but conditions as frequent as they are; or as pooled."""
        return np.repeat((0.0, 1.0, 0.0, 0.0, 0.0), self.sizes) if self.pooled is None else self.pooled

    @cached_property
    def ridge(self) -> FloatArray:
        """How firmly: precisions of the coefficients."""
        others = np.repeat((1.0, 1.0, BROAD, 1.0), self.sizes[1:])
        return np.append(self.evidence.firmness, others) * (1.0 if self.pooled is None else HELD)

    def shares(self, coefficients: FloatArray) -> Shares:
        """Return mu."""
        told, frequency, own, _, _ = self.parts(coefficients)
        evidence, (at, place) = self.evidence, self.evidence.free_entries
        base = frequency[0] * evidence.log_weights
        base[evidence.free] += own
        weights = np.exp(base - base.max())
        logits = combined(evidence.features, told) + frequency[0] * evidence.log_frequency
        logits[at] += own[place]
        logits -= base.max()
        highest = np.maximum(np.maximum.reduceat(logits, evidence.offsets[:-1]), 0.0)
        masses = np.exp(logits - highest[evidence.case])
        others = np.maximum(evidence.outside(weights), 0.0) * np.exp(-highest)
        totals = evidence.by_case(masses) + others
        return Shares(masses / totals[evidence.case], others / totals, np.exp(-highest) / totals, weights)

    def concentrations(self, coefficients: FloatArray) -> FloatArray:
        """Return s, shape (n_cases,)."""
        *_, constant, slopes = self.parts(coefficients)
        logs = constant[0] + combined(self.covariates, slopes)
        return np.asarray(np.exp(np.clip(logs, -MASS_LIMIT, MASS_LIMIT)))

    def state(self, coefficients: FloatArray) -> State:
        """Return what coefficients make."""
        shares, mass, mentioned = self.shares(coefficients), self.concentrations(coefficients), self.evidence.mentioned
        shapes = mass[self.evidence.case[mentioned]] * shares.entries[mentioned]
        return shares, mass, np.maximum(shapes, LEAST_SHAPE)

    def of_cases(self, state: State) -> FloatArray:
        """Return the log-likelihood of the votes of each case, shape (n_cases,)."""
        from scipy.special import gammaln

        evidence, (_, mass, shapes) = self.evidence, state
        member, given, share = evidence.choices
        members = weighted_counts(member, share * gammaln(shapes[member] + given), len(shapes)) - gammaln(shapes)
        own = gammaln(mass) - gammaln(mass + evidence.totals)
        return weighted_counts(evidence.case[evidence.mentioned], members, evidence.n_cases) + own

    def pulls(self, state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the derivatives of :meth:`of_cases` by the logit of each entry and by the log-concentration of a case.

        Between them comes that by the logit of any condition that is no entry, over its weight, shape (n_cases,).
        """
        from scipy.special import digamma

        evidence, (shares, mass, shapes) = self.evidence, state
        member, given, share = evidence.choices
        rises = weighted_counts(member, share * digamma(shapes[member] + given), len(shapes)) - digamma(shapes)
        pull = weighted_counts(evidence.case[evidence.mentioned], shapes * rises, evidence.n_cases)
        entries = -pull[evidence.case] * shares.entries
        entries[evidence.mentioned] += shapes * rises
        return entries, -pull * shares.scale, pull + mass * (digamma(mass) - digamma(mass + evidence.totals))

    def slopes(self, state: State) -> FloatArray:
        """Return the derivatives of :meth:`of_cases` by coefficients, shape (n_cases, n_coefficients)."""
        evidence, (entries, others, by_mass) = self.evidence, self.pulls(state)
        told = np.add.reduceat(entries[:, None] * evidence.features, evidence.offsets[:-1], axis=0)
        outside = evidence.outside(state[0].weights * evidence.log_weights)
        frequency = evidence.by_case(entries * evidence.log_frequency) + others * outside
        own, masses = evidence.by_free(others, state[0].weights, entries), by_mass[:, None]
        return np.concatenate([told, frequency[:, None], own, masses, masses * self.covariates], 1)

    def slope(self, state: State, weights: FloatArray) -> FloatArray:
        """Return the derivatives of the sum of :meth:`of_cases` over weighted cases, shape (n_coefficients,)."""
        evidence, (entries, others, by_mass) = self.evidence, self.pulls(state)
        entries, others, by_mass = entries * weights[evidence.case], others * weights, by_mass * weights
        told, frequency = product(entries, evidence.features), product(entries, evidence.log_frequency)
        frequency += product(others, evidence.outside(state[0].weights * evidence.log_weights))
        at, place = evidence.free_entries  # those that are no entry of a case have their part of the others
        instead = entries[at] - others[evidence.case[at]] * state[0].weights[evidence.codes[at]]
        own = others.sum() * state[0].weights[evidence.free] + np.bincount(place, instead, len(evidence.free))
        return np.concatenate([told, [frequency], own, [by_mass.sum()], product(by_mass, self.covariates)])

    def log_sd(self, coefficients: FloatArray) -> float:
        """Return the spread of logarithms, of a logistic-normal prior around mu, that makes the votes most likely.

        It is the first maximum among a few; the probability of votes is the mean over draws, the same for all of them.
        """
        evidence, shares = self.evidence, self.shares(coefficients)
        rng, n_cases = np.random.default_rng(0), evidence.n_cases
        noise, rests = rng.standard_normal((LOG_DRAWS, len(evidence.codes))), rng.standard_normal((LOG_DRAWS, n_cases))
        case, votes, mentioned = evidence.case[evidence.mentioned], evidence.votes[0], evidence.mentioned
        logs, likely, found = np.log(np.maximum(shares.entries, LEAST_SHAPE)), np.empty((LOG_DRAWS, n_cases)), -np.inf
        best = LOG_SDS[0]
        for sd in LOG_SDS:
            for draw, (own, other) in enumerate(zip(noise, rests, strict=True)):
                drawn = logs + sd * own
                totals = np.log(evidence.by_case(np.exp(drawn)) + np.maximum(shares.rest, 0.0) * np.exp(sd * other))
                likely[draw] = weighted_counts(case, votes * (drawn[mentioned] - totals[case]), n_cases)
            highest = likely.max(axis=0)
            value = float((highest + np.log(np.exp(likely - highest).mean(axis=0))).sum())
            if value < found:  # beyond the maximum
                break
            best, found = sd, value
        return best

    def badness(self, coefficients: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the penalised log-likelihood of weighted cases, and its derivatives."""
        gap, state = coefficients - self.centre, self.state(coefficients)
        value = 0.5 * (self.ridge * gap**2).sum() - product(weights, self.of_cases(state))
        return float(value), self.ridge * gap - self.slope(state, weights)

    def fitted(self, weights: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the coefficients under which the votes are most likely.

        They are searched on axes along which the likelihood is about equally curved, judged by the slopes of cases.
        """
        from scipy.optimize import minimize

        (n_features, *_), first = self.sizes, start
        if first is None or len(first) != sum(self.sizes):  # then all models count alike
            first = np.zeros(sum(self.sizes))
            first[: n_features : len(SAYINGS)] = 1.0 / max(n_features, 1)
            first[n_features] = 1.0
        slopes = self.slopes(self.state(first))
        curvature = np.diag(self.ridge) + product((weights[:, None] * slopes).T, slopes)
        axes = np.linalg.inv(np.linalg.cholesky(curvature)).T

        def badness(steps: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.badness(first + axes @ steps, weights)
            return value, slope @ axes

        options: Any = {"maxiter": MOST_STEPS, "gtol": PRECISION}
        found = minimize(badness, np.zeros(len(first)), jac=True, method="BFGS", options=options)
        return np.asarray(first + axes @ found.x)

    def curvature(self, coefficients: FloatArray, weights: FloatArray) -> FloatArray:
        """Return minus the second derivatives of the penalised log-likelihood of weighted cases."""
        steps = STEP * np.eye(len(coefficients), dtype=np.float64)
        here, *ahead = (self.slope(self.state(coefficients + step), weights) for step in (0.0, *steps))
        found = np.diag(self.ridge) - (np.array(ahead) - here) / STEP
        return np.asarray((found + found.T) / 2)

    def pushes(self, coefficients: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum over cases what weights (n_refits, n_cases) add to the slope beyond one: (n_refits, n_coefficients)."""
        return product(weights - 1.0, self.slopes(self.state(coefficients)))


def moved(coefficients: FloatArray, curvatures: FloatArray, pushes: FloatArray, ridge: FloatArray) -> FloatArray:
    """Move coefficients by one Newton step to where each push is balanced by the curvature.

    Parameters
    ----------
    coefficients, curvatures : (n_rows, n_coefficients), (n_rows, n_coefficients, n_coefficients)
        Of all cases, and of strata, which are held near them.
    pushes : (n_refits, n_rows, n_coefficients)
        What every refit adds to the slopes.
    ridge : (n_coefficients,)
        How firmly strata are held.

    Returns
    -------
    (n_refits, n_rows * n_coefficients)
    """
    first = np.linalg.solve(curvatures[0], pushes[:, 0].T).T
    pulled = pushes[:, 1:] + (ridge * first)[:, None]
    others = [np.linalg.solve(own, pulled[:, row].T).T for row, own in enumerate(curvatures[1:])]
    return np.asarray(coefficients + np.stack([first, *others], axis=1)).reshape(len(pushes), -1)


def combined(columns: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Multiply columns (n, m) by coefficients and add them one after another: a row does not depend on other rows.

    >>> combined(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    total = np.zeros(len(columns))
    for column, coefficient in zip(columns.T, coefficients, strict=True):
        total += coefficient * column
    return total


def raw_covariates(likelihood: PriorLikelihood, coefficients: FloatArray) -> FloatArray:
    """Return what concentrations may depend on: the entropy of mu over all K, and the shares of the free conditions.

    Which conditions are entries makes no difference: the votes of a case do not enter its own prior.

    Returns
    -------
    (n_cases, 1 + n_free)
    """
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    parts = -shares.entries * np.log(np.maximum(shares.entries, LEAST_SHAPE))
    # of all conditions that are no entries: scale * weight has the logarithm log(scale) + log(weight)
    logs = shares.weights * np.log(np.maximum(shares.weights, LEAST))
    outside = evidence.outside(logs)
    rest = -shares.scale * outside - shares.rest * np.log(np.maximum(shares.scale, LEAST))
    entropy = evidence.by_case(parts) + rest
    return np.column_stack([entropy, evidence.by_free(shares.scale, shares.weights, shares.entries)])


def standardised(raw: FloatArray, means: FloatArray, spread: float) -> FloatArray:
    """Centre raw covariates, and divide the entropy by its standard deviation."""
    scale = np.append(spread if spread > 0 else 1.0, np.ones(raw.shape[1] - 1))
    return np.asarray((raw - means) / scale)


def covariates_of(likelihood: PriorLikelihood, coefficients: FloatArray) -> FloatArray:
    """Return the covariates of all cases, the entropy in units of its standard deviation."""
    raw = raw_covariates(likelihood, coefficients)
    return standardised(raw, raw.mean(axis=0), float(raw[:, 0].std()))


def fitted_likelihood(evidence: Evidence, weights: FloatArray | None = None) -> tuple[PriorLikelihood, FloatArray]:
    """Fit twice: with one concentration of all cases, and with one that depends on what the first fit says.

    ``weights`` (n_cases,) say how much the votes of each case count; by default all alike. A case of weight zero has a
    prior that owes nothing to its votes.
    """
    weights = np.ones(evidence.n_cases) if weights is None else weights
    plain = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0)))
    first = plain.fitted(weights)
    whole = replace(plain, covariates=covariates_of(plain, first))
    return whole, whole.fitted(weights, np.append(first, np.zeros(whole.covariates.shape[1])))
