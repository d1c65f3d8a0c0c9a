"""Families of the informed prior, judged by one annotator of every case whom the prior and the case have not heard.

The first choice of the annotator who is left out has a probability: that of the next vote, given the other votes of the
case and a prior that was fitted to the cases of other folds. The mean of its logarithm orders the families.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregations.prior_fit import FIRMNESS, SAYINGS, Evidence, PriorLikelihood, covariates_of
from dissensus.agreement.coefficients import remains
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.names import case_keys
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.evaluation.calibration import check_some_remain, without
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

Depends: TypeAlias = Literal["nothing", "entropy", "entropy and classes"]
"""What the concentration of a case depends on."""

Parts: TypeAlias = tuple[tuple[FloatArray, FloatArray], ...]
"""Components of a mixture: the weight and the concentration of every case, shapes (n_cases,)."""

FOLDS, QUARTERS = 5, 4


@dataclass(frozen=True)
class Family:
    """Say what a prior is made of.

    Attributes
    ----------
    name
        What it is called.
    sayings
        Which of the features of a model it weighs.
    depends
        What the concentration depends on.
    raked
        Whether the first place of a model counts by how confident the model is, a coefficient for every quarter of its
        cases: predicted and observed shares of first choices then agree in each.
    mixed
        Whether a case has one of two concentrations.
    firm
        How many times as firmly the coefficients of models are held near zero.
    """

    name: str
    sayings: tuple[str, ...] = SAYINGS
    depends: Depends = "entropy and classes"
    raked: bool = False
    mixed: bool = False
    firm: float = 1.0


USED = Family("log score, score, first; entropy, classes (used)")
CONSTANT = Family("used, but one concentration", depends="nothing")
WITHOUT_FIRST = Family("used, but without first", ("log score", "score"))
RAKING = Family("used, but raking in place of score and first", ("log score",), raked=True)
MIXTURE = Family("used, with a mixture of two concentrations", mixed=True)
FAMILIES: tuple[Family, ...] = (
    Family("log score; one concentration", ("log score",), "nothing"),
    Family("log score; entropy", ("log score",), "entropy"),
    Family("log score, first; entropy (first prototype)", ("log score", "first"), "entropy"),
    Family("log score, score, first; entropy", depends="entropy"),
    USED,
    CONSTANT,
    WITHOUT_FIRST,
    RAKING,
    Family("used, with raking", raked=True),
    MIXTURE,
    Family("used, but half the ridge", firm=0.5),
    Family("used, but twice the ridge", firm=2.0),
)


# What a family makes of the evidence --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FamilyLikelihood(PriorLikelihood):
    """Evaluate coefficients under a ridge of the models' features that may be another than the usual one."""

    firm: float = 1.0

    @cached_property
    def ridge(self) -> FloatArray:
        """How firmly: precisions of the coefficients."""
        usual = super().ridge
        return np.where(np.arange(len(usual)) < self.sizes[0], self.firm * usual, usual)


def evidence_of(family: Family, evidence: Evidence) -> Evidence:
    """Give a family the features that it weighs."""
    wanted = [SAYINGS.index(name) for name in family.sayings]
    columns = [len(SAYINGS) * place + which for place in range(len(evidence.models)) for which in wanted]
    raked = raked_features(evidence) if family.raked else np.empty((len(evidence.codes), 0))
    return replace(
        evidence,
        features=np.concatenate([evidence.features[:, columns], raked], axis=1),
        firmness=np.concatenate([evidence.firmness[columns], np.full(raked.shape[1], FIRMNESS[0])]),
    )


def raked_features(evidence: Evidence) -> FloatArray:
    """Split the first places of every model by its confidence, the greatest score: shape (n_entries, 4 * models)."""
    found = []
    for place in range(len(evidence.models)):
        _, score, first = evidence.features[:, len(SAYINGS) * place : len(SAYINGS) * (place + 1)].T
        confidence = np.zeros(evidence.n_cases)
        np.maximum.at(confidence, evidence.case, score)
        bounds = np.quantile(confidence, np.arange(1, QUARTERS) / QUARTERS)
        quarter = np.searchsorted(bounds, confidence)[evidence.case]
        found += [first * (quarter == number) for number in range(QUARTERS)]
    return np.stack(found, axis=1)


def fitted_family(
    family: Family, evidence: Evidence, weights: FloatArray
) -> tuple[FamilyLikelihood, FloatArray, Parts]:
    """Fit a family to weighted cases; return its likelihood, coefficients, and the concentrations of all cases."""
    plain = FamilyLikelihood(evidence, np.empty((evidence.n_cases, 0)), firm=family.firm)
    likelihood, found = plain, plain.fitted(weights)
    if family.depends != "nothing":
        every = covariates_of(plain, found)
        likelihood = replace(plain, covariates=every[:, :1] if family.depends == "entropy" else every)
        found = likelihood.fitted(weights, np.append(found, np.zeros(likelihood.covariates.shape[1])))
    if family.mixed:
        return likelihood, found, mixture(likelihood, found, *fitted_mixture(likelihood, found, weights))
    return likelihood, found, ((np.ones(evidence.n_cases), likelihood.concentrations(found)),)


def fitted_mixture(
    likelihood: PriorLikelihood, coefficients: FloatArray, weights: FloatArray
) -> tuple[float, float, float]:
    """Find the shift, half the distance, and the log-odds of two concentrations around those of one."""
    from scipy.optimize import minimize

    def badness(numbers: FloatArray) -> float:
        shift, log_half, odds = numbers
        logs = _log_components(likelihood, coefficients, shift, np.exp(log_half), odds)
        return float(0.5 * numbers @ numbers - weights @ np.logaddexp(*logs))

    shift, log_half, odds = minimize(badness, np.array([0.0, -0.5, 0.0]), method="Nelder-Mead").x
    return float(shift), float(np.exp(log_half)), float(odds)


def mixture(likelihood: PriorLikelihood, coefficients: FloatArray, shift: float, half: float, odds: float) -> Parts:
    """Return two concentrations of every case, and how probable each is given the votes."""
    first, second = _log_components(likelihood, coefficients, shift, half, odds)
    low, high = (likelihood.concentrations(_moved(likelihood, coefficients, by)) for by in (shift - half, shift + half))
    share = np.exp(first - np.logaddexp(first, second))
    return (share, low), (1.0 - share, high)


def _log_components(
    likelihood: PriorLikelihood, coefficients: FloatArray, shift: float, half: float, odds: float
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of weight times likelihood of both components, shapes (n_cases,)."""
    low, high = (
        likelihood.of_cases(likelihood.state(_moved(likelihood, coefficients, by)))
        for by in (shift - half, shift + half)
    )
    return low - np.logaddexp(0.0, -odds), high - np.logaddexp(0.0, odds)


def _moved(likelihood: PriorLikelihood, coefficients: FloatArray, by: float) -> FloatArray:
    """Add a number to the logarithm of all concentrations."""
    moved = coefficients.copy()
    moved[sum(likelihood.sizes[:3])] += by
    return moved


# Who is left out ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeftOutFirsts:
    """Hold a study without one annotator of every case that has two, and what those chose first.

    Attributes
    ----------
    study
        What is left.
    evidence
        What models say about its annotated cases, beside the votes that are left.
    cases : (n_left_out,)
        Positions of the cases, among the annotated ones, that an annotator is left out of.
    offsets, codes
        What each of these chose first, several conditions if they tie.

    Examples
    --------
    >>> said = Study.from_counts([[2, 1], [1, 0]], ["a", "b"])
    >>> model = Predictions.from_scores([[0.9, 0.1], [0.5, 0.5]], ["a", "b"])
    >>> found = LeftOutFirsts.of(said, {"A": model}, seed=(1,))
    >>> found.cases, found.evidence.totals
    (array([0]), array([2., 1.]))
    """

    study: Study
    evidence: Evidence
    cases: IntArray
    offsets: IntArray
    codes: IntArray

    @staticmethod
    def of(study: Study, models: Mapping[str, Predictions], *, seed: tuple[int, ...]) -> LeftOutFirsts:
        """Leave one annotator of each case out, taken at random."""
        said = study.counted
        check_some_remain(said)
        chosen = one_of_each_case(said, np.random.default_rng(seed))
        left = without(said, chosen).left
        place = {name: number for number, name in enumerate(left.opinions.case_names)}
        cases = [place[said.case_names[case]] for case in said.panel.case_of_opinion[chosen]]
        offsets, mentions = take_rows(said.code_offsets, said.block_offsets[chosen])
        return LeftOutFirsts(left, Evidence.of(left.opinions, models), np.array(cases), offsets, said.codes[mentions])

    @cached_property
    def fold(self) -> IntArray:
        """The fold of each annotated case, by its name as :func:`informed_prior` has it, shape (n_cases,)."""
        return (case_keys(self.study.opinions.case_names) % np.uint64(FOLDS)).astype(np.int64)

    @property
    def case_names(self) -> tuple[str, ...]:
        """Names of the cases that an annotator is left out of."""
        return tuple(self.study.opinions.case_names[case] for case in self.cases)

    def log_scores(self, family: Family) -> FloatArray:
        """Return the log-probability of what each left-out annotator chose first, shape (n_left_out,)."""
        evidence, found = evidence_of(family, self.evidence), np.empty(len(self.cases))
        for number in range(FOLDS):
            own = self.fold[self.cases] == number
            others = self.fold != number
            counted = evidence.counted_in(others)
            likelihood, coefficients, parts = fitted_family(family, counted, others.astype(np.float64))
            found[own] = np.log(self._probabilities(likelihood, coefficients, parts)[own])
        return found

    def _probabilities(self, likelihood: PriorLikelihood, coefficients: FloatArray, parts: Parts) -> FloatArray:
        evidence, shares, pair = likelihood.evidence, likelihood.shares(coefficients), row_of_each(self.offsets)
        case, totals = self.cases[pair], evidence.totals
        place, is_entry = self._entries
        votes = np.zeros(len(evidence.codes))
        votes[evidence.mentioned] = evidence.votes.mean(axis=0)
        mean = np.where(is_entry, shares.entries[place], shares.scale[case] * shares.weights[self.codes])
        own = np.where(is_entry, votes[place], 0.0)
        each = sum(part[case] * (own + mass[case] * mean) / (totals + mass)[case] for part, mass in parts)
        return weighted_counts(pair, np.asarray(each), len(self.cases))

    @cached_property
    def _entries(self) -> tuple[IntArray, IntArray]:
        """Where the chosen conditions stand among the entries, and whether they do."""
        evidence, pair = self.evidence, row_of_each(self.offsets)
        keys = evidence.case * len(evidence.log_weights) + evidence.codes
        wanted = self.cases[pair] * len(evidence.log_weights) + self.codes
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return place, keys[place] == wanted


def one_of_each_case(study: Study, rng: np.random.Generator) -> IntArray:
    """Choose one annotator of every case that would keep another one; return the positions of the opinions.

    >>> said = Study.from_counts([[2, 1], [1, 0], [0, 3]], ["a", "b"])
    >>> one_of_each_case(said, np.random.default_rng(1)).tolist() in ([0, 3], [1, 3])
    True
    """
    able = np.flatnonzero(remains(study))
    everyone = rng.permutation(np.repeat(able, study.votes[able]))
    _, first = np.unique(study.panel.case_of_opinion[everyone], return_index=True)
    return np.asarray(everyone[first])
