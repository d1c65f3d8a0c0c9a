"""Simulated binary questions, checklists and ratings: annotators of different strictness, models of different skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_count, check_length, check_most, check_positive, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.core.names import check_names
from dissensus.core.ragged import offsets_from_lengths
from dissensus.draws import Plausibilities
from dissensus.predictions.lists import Predictions
from dissensus.study.builders import as_numbers
from dissensus.study.panel import Panel
from dissensus.study.question import ABSENT, ANSWERS, NOT_ASSESSED, PRESENT
from dissensus.study.study import Study

Seen = TypeVar("Seen")

# With less noise than this a model sees the evidence itself.
LEAST_NOISE = 0.05

# The largest standard deviation of simulated ratings: their squares are finite.
LARGEST = 1e100

# Evidence over clarity at which averages over cases are computed; between two of its points they are interpolated.
GRID = np.linspace(-5.0, 5.0, 600)

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(40)

EVIDENCE_STREAM, SIGN_STREAM, STRICTNESS_STREAM, ANSWER_STREAM, CHOICE_STREAM, MISSING_STREAM, MODEL_STREAM = range(7)


@dataclass(frozen=True)
class Skill:
    """What a simulated model sees of the evidence, and how it writes its probabilities.

    Attributes
    ----------
    noise
        Size of the error with which it sees the evidence of a case, on the logit scale: 0 knows all that annotators
        together know, 1 is good, 5 knows little.
    confidence, shift
        Distortion of its logits, times and plus: with 1 and 0 its probabilities are calibrated, so that of the cases
        with probability p a share p of annotators says yes; a confidence above 1 is surer than it should be, and a
        positive shift says yes too often.

    Examples
    --------
    >>> Skill(1.0), Skill(1.0, confidence=2.0)
    (Skill(noise=1.0, confidence=1.0, shift=0.0), Skill(noise=1.0, confidence=2.0, shift=0.0))
    """

    noise: float
    confidence: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_positive(confidence=self.confidence)
        if not (0 <= self.noise <= 100 and abs(self.shift) <= 100):
            raise DissensusError(
                "a model cannot be simulated", expected="noise 0 to 100, shift -100 to 100", got=str(self)
            )


# Fir and Gorse are calibrated; Hazel is as good as Fir, but too sure; Iris knows little, and says yes too often.
SKILLS: Mapping[str, Skill] = {
    "Fir": Skill(1.0),
    "Gorse": Skill(2.0),
    "Hazel": Skill(1.0, confidence=2.5),
    "Iris": Skill(3.0, shift=1.0),
}


@dataclass(frozen=True)
class SimulatedAnswers:
    """Simulated answers to a binary question, or checklists, and predictions beside the chances they were drawn from.

    Attributes
    ----------
    annotations
        What the annotators said; of checklists, they are called ``checklists`` as well.
    chances : (n_cases,) or (n_cases, n_findings)
        The true probability that an annotator, one of all there could be, says present.
    strictness : (n_annotators,)
        How much evidence, on the logit scale, each annotator wants beyond the others before saying yes.
    predictions
        Models by name: the probabilities of both conditions, or of every finding.
    """

    annotations: Study
    chances: FloatArray
    strictness: FloatArray
    predictions: Mapping[str, Predictions]

    @property
    def checklists(self) -> Study:
        """What the annotators said."""
        return self.annotations

    @property
    def labels(self) -> BoolArray:
        """What most of a very large panel would say, of the shape of the chances.

        Examples
        --------
        >>> simulate_checklists(n_cases=2, seed=1).labels.shape, simulate_binary(n_cases=3).labels.shape
        ((2, 6), (3,))
        """
        return np.asarray(self.chances > 0.5)

    @cached_property
    def truth(self) -> Plausibilities:
        """The true chances of both conditions, as a single draw of every case, or of every finding of every case.

        Examples
        --------
        >>> simulate_binary(n_cases=3).truth
        Plausibilities: 3 cases, 1 draws, 2 conditions
        """
        chances, names = self.chances.T.ravel(), self.annotations.items().case_names
        theta = np.column_stack([1 - chances, chances])[:, None]
        return Plausibilities.from_draws(theta, conditions=list(ANSWERS), case_names=list(names))


@checked
def simulate_binary(
    *,
    n_cases: int = 200,
    n_annotators: int = 8,
    prevalence: float = 0.3,
    strictness: float = 0.5,
    clarity: float = 3.0,
    opinions: tuple[int, int] | None = None,
    models: Mapping[str, Skill] | None = None,
    seed: int = 0,
) -> SimulatedAnswers:
    """Simulate a binary question with known truth.

    Every case has evidence for a positive answer on the logit scale, above 0 with the probability ``prevalence``, and
    an annotator says yes with the probability of the evidence less their strictness.

    Parameters
    ----------
    n_cases, n_annotators
        Size of the study.
    prevalence
        The probability that a very large panel would call a case positive.
    strictness
        How different annotators are: the standard deviation of their strictness.
    clarity
        How far most cases are from undecided, on the logit scale.
    opinions
        Least and greatest number of annotators of a case; by default all read every case.
    models
        What each model sees; by default Fir, Gorse, Hazel and Iris.
    seed
        The same seed gives the same study, and case ``i`` does not depend on the number of cases.

    Examples
    --------
    >>> study = simulate_binary(n_cases=50, n_annotators=3, prevalence=0.2)
    >>> study.annotations.conditions, study.annotations.n_rankings, list(study.predictions)
    (('absent', 'present'), 150, ['Fir', 'Gorse', 'Hazel', 'Iris'])
    """
    given: dict[str, Any] = {"opinions": opinions, "models": models, "seed": seed}
    people = Population(strictness, clarity)
    panel, answers, _, truth, scores = _made(n_cases, n_annotators, np.array([prevalence]), people, **given)
    one_each = np.arange(len(answers) + 1, dtype=np.int64)
    said = Study(ANSWERS, panel, one_each, one_each, answers[:, 0].astype(np.int64), question="binary")
    predictions = {
        name: Predictions.from_scores(np.column_stack([1 - yes, yes]), ANSWERS, case_names=said.case_names, name=name)
        for name, yes in scores.items()
    }
    return SimulatedAnswers(said, truth[0][:, 0], truth[1], predictions)


@checked
def simulate_checklists(
    *,
    n_cases: int = 200,
    n_annotators: int = 5,
    findings: Sequence[str] | int = 6,
    prevalence: float | Sequence[float] = 0.15,
    together: float = 0.2,
    strictness: float = 0.5,
    clarity: float = 3.0,
    not_assessed: float = 0.0,
    opinions: tuple[int, int] | None = None,
    models: Mapping[str, Skill] | None = None,
    seed: int = 0,
) -> SimulatedAnswers:
    """Simulate checklists with known truth: every finding as in :func:`simulate_binary`, several on some cases.

    Parameters
    ----------
    findings
        Names of the findings, or how many there are.
    prevalence
        The probability that a very large panel would see each finding; one for all, or one each.
    together
        How much findings come together on the same cases: 0 for independent ones, below 1.
    not_assessed
        The share of answers that are missing, at random.
    n_cases, n_annotators, strictness, clarity, opinions, models, seed
        As in :func:`simulate_binary`; annotators are as strict with one finding as with another.

    Examples
    --------
    >>> study = simulate_checklists(n_cases=40, findings=["AF", "ST"], prevalence=[0.1, 0.3])
    >>> study.checklists.findings, study.checklists.n_opinions, study.chances.shape
    (('AF', 'ST'), 200, (40, 2))
    """
    is_count = isinstance(findings, int | np.integer)
    count = int(findings) if is_count else len(findings)  # type: ignore[arg-type]
    check_count(findings=count)
    check_most("conditions", count)
    names = numbered("finding", count) if is_count else tuple(map(str, findings))  # type: ignore[arg-type]
    shares = np.full(count, prevalence) if isinstance(prevalence, int | float) else as_numbers("shares", prevalence)
    check_length("prevalence", len(shares), len(names))
    given: dict[str, Any] = {"opinions": opinions, "models": models, "seed": seed}
    people = Population(strictness, clarity, together)
    panel, answers, reads, truth, scores = _made(n_cases, n_annotators, shares, people, **given)
    draws = _stream(seed, MISSING_STREAM).random((n_cases, n_annotators, len(names)))[reads]
    answers = np.where(draws < _share("not_assessed", not_assessed), NOT_ASSESSED, answers)
    said = Study(names, panel, answers=answers.astype(np.int8), question="findings")
    predictions = {
        name: Predictions.from_scores(values, names, case_names=said.case_names, name=name, findings=True)
        for name, values in scores.items()
    }
    return SimulatedAnswers(said, *truth, predictions)


def _share(name: str, share: float) -> float:
    if not 0 <= share < 1:
        raise DissensusError(f"{name} must be a share", expected="0 or more, below 1", got=repr(share))
    return share


# How it is made -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """What cases and annotators are like: how different annotators are, how clear cases, and findings how connected."""

    strictness: float
    clarity: float
    together: float = 0.0

    def __post_init__(self) -> None:
        check_positive(clarity=self.clarity)
        _share("together", self.together)
        if not 0 <= self.strictness <= 10 or self.clarity > 100:
            raise DissensusError(
                "there are no such annotators",
                expected="strictness 0 to 10, clarity up to 100",
                got=f"strictness {self.strictness!r}, clarity {self.clarity!r}",
            )


def _made(
    n_cases: int,
    n_annotators: int,
    prevalence: FloatArray,
    people: Population,
    *,
    opinions: tuple[int, int] | None,
    models: Mapping[str, Skill] | None,
    seed: int,
) -> tuple[Panel, IntArray, BoolArray, tuple[FloatArray, FloatArray], dict[str, FloatArray]]:
    """Make what both kinds of studies need.

    Returns
    -------
    panel
        Who reads which case.
    answers : (n_opinions, n_findings)
    reads : (n_cases, n_annotators)
        Whether each annotator reads each case.
    truth : (n_cases, n_findings) and (n_annotators,)
        The chances, and the strictness of annotators.
    scores
        By model: the probability of every finding, (n_cases, n_findings).
    """
    check_seed(seed)
    check_count(n_cases=n_cases, n_annotators=n_annotators)
    check_most("n_cases * n_annotators * n_findings", n_cases * n_annotators * len(prevalence))
    if prevalence.ndim != 1 or prevalence.dtype.kind not in "if" or not ((prevalence > 0) & (prevalence < 1)).all():
        raise DissensusError("prevalence must be a share", expected="above 0, below 1", got=f"{prevalence!r:.60}")
    # evidence is above 0 where a large panel says yes
    draws = _stream(seed, SIGN_STREAM).standard_normal((n_cases, len(prevalence) + 1))
    tendency = np.sqrt(people.together) * draws[:, :1] + np.sqrt(1 - people.together) * draws[:, 1:]
    limits = np.array([NormalDist().inv_cdf(1 - share) for share in prevalence.tolist()])
    pairs = _stream(seed, EVIDENCE_STREAM).standard_normal((*tendency.shape, 2))
    size = people.clarity * np.hypot(pairs[..., 0], pairs[..., 1])
    evidence = np.where(tendency > limits, size, -size)
    strictness = people.strictness * _stream(seed, STRICTNESS_STREAM).standard_normal(n_annotators)
    reads = np.ones((n_cases, n_annotators), dtype=np.bool_)
    if opinions is not None:
        chances = np.cumsum(opinion_chances(opinions, n_annotators))
        draws = _stream(seed, CHOICE_STREAM).random((n_cases, n_annotators + 1))
        counts = 1 + np.searchsorted(chances[:-1], draws[:, 0], side="right")
        reads = np.asarray(draws[:, 1:].argsort(axis=1).argsort(axis=1) < counts[:, None])
    says_yes = _sigmoid(evidence[:, None] - strictness[:, None])
    answers = _stream(seed, ANSWER_STREAM).random(says_yes.shape) < says_yes
    scores = {}
    for number, (name, skill) in enumerate(known_models(SKILLS if models is None else models, Skill).items()):
        noise = _stream(seed, MODEL_STREAM, number).standard_normal(evidence.shape)
        scores[name] = _scores(skill, evidence + skill.noise * noise, prevalence, people)
    panel = crossed(reads.sum(axis=1), np.nonzero(reads)[1], numbered("Dr", n_annotators))
    truth = _chances(evidence, people.strictness), strictness
    return panel, np.where(answers, PRESENT, ABSENT)[reads], reads, truth, scores


def _stream(seed: int, *purpose: int) -> np.random.Generator:
    """Return the random numbers of one purpose: the first of them are those of the first cases, however many."""
    return np.random.default_rng((seed, *purpose))


def _sigmoid(logits: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def _chances(evidence: FloatArray, spread: float) -> FloatArray:
    """Average over annotators: the probability that one of all there could be says yes."""
    share = NODE_WEIGHTS / NODE_WEIGHTS.sum()
    return np.asarray(sum(w * _sigmoid(evidence - spread * node) for node, w in zip(NODES, share, strict=True)))


def _scores(skill: Skill, seen: FloatArray, prevalence: FloatArray, people: Population) -> FloatArray:
    """Return what a model says: the chance that an annotator says yes given what it sees, distorted."""
    # calibrated: the logit of the average chance of all cases that look like this
    logits = np.column_stack(
        [
            _logit(_chances(column, people.strictness))
            if skill.noise < LEAST_NOISE
            else np.interp(column, *_averages(skill.noise, share, people))
            for column, share in zip(seen.T, prevalence.tolist(), strict=True)
        ]
    )
    return _sigmoid(skill.confidence * logits + skill.shift)


@lru_cache(maxsize=64)
def _averages(noise: float, prevalence: float, people: Population) -> tuple[FloatArray, FloatArray]:
    """Return what a case may look like, and the logit of the average chance of all that look so."""
    grid = people.clarity * GRID
    looks = np.linspace(grid[0] - 5 * noise, grid[-1] + 5 * noise, len(grid))
    share = np.log(np.where(GRID > 0, prevalence, 1 - prevalence) * np.abs(GRID)) - 0.5 * GRID**2
    weight = share - 0.5 * ((looks[:, None] - grid) / noise) ** 2
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    average = weight @ _chances(grid, people.strictness) / weight.sum(axis=1)
    return looks, _logit(average)


def _logit(chance: FloatArray) -> FloatArray:
    return np.asarray(np.log(chance) - np.log1p(-chance))


# Ratings -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulatedRatings:
    """Hold a simulated study of ratings, of which the truth is known.

    Attributes
    ----------
    ratings
        What the annotators said.
    truth : (n_cases,)
        What a large panel would say on average.
    predictions
        What the models said.
    shifts : (n_annotators,)
        How far above others each annotator rates.
    """

    ratings: Study
    truth: FloatArray
    predictions: Mapping[str, Predictions]
    shifts: FloatArray


@checked
def simulate_ratings(
    *,
    n_cases: int = 200,
    n_annotators: int = 8,
    opinions: int = 3,
    spread: float = 1.0,
    noise: float = 0.7,
    shift: float = 0.0,
    models: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SimulatedRatings:
    """Simulate annotators who rate the same cases, and models that give a number per case.

    Parameters
    ----------
    n_cases, n_annotators, opinions
        How many cases and annotators there are, and how many of them rate each case.
    spread, noise, shift
        Standard deviations of the truth between cases, of a rating around the truth, and of shifts of annotators.
    models
        Name to the standard deviation of the errors of a model.
    seed
        Same seed, same study.

    Examples
    --------
    >>> study = simulate_ratings(n_cases=20, models={"A": 0.5}, seed=1)
    >>> study.ratings.n_ratings, study.predictions["A"].kind, study.truth.shape
    (60, 'numbers', (20,))
    """
    check_count(n_cases=n_cases, n_annotators=n_annotators, opinions=opinions)
    if opinions > n_annotators:
        raise DissensusError("there are too few annotators", expected=f"at least {opinions}", got=str(n_annotators))
    check_seed(seed)
    check_most("n_cases * n_annotators", 20 * n_cases * n_annotators)
    for name, size in {"spread": spread, "noise": noise, "shift": shift, **(models or {})}.items():
        if not 0 <= size <= LARGEST:
            raise DissensusError(f"{name} must be from 0 to {LARGEST:g}", got=repr(size))
    rng = np.random.default_rng((seed, 0))
    truth, shifts = spread * rng.normal(size=n_cases), shift * rng.normal(size=n_annotators)
    who = np.argsort(rng.random((n_cases, n_annotators)), axis=1)[:, :opinions]
    scores = truth[:, None] + shifts[who] + noise * rng.normal(size=who.shape)
    panel = crossed(np.full(n_cases, opinions), who.ravel(), numbered("annotator", n_annotators))
    said = {
        name: Predictions.from_numbers(truth + error * rng.normal(size=n_cases), case_names=panel.case_names, name=name)
        for name, error in (models or {}).items()
    }
    return SimulatedRatings(Study((), panel, scores=scores.ravel(), question="numbers"), truth, said, shifts)


# What simulators share --------------------------------------------------------------------------------------


def numbered(title: str, count: int) -> tuple[str, ...]:
    """Name things by their number, from one.

    >>> numbered("case", 2)
    ('case 1', 'case 2')
    """
    return tuple(f"{title} {number + 1}" for number in range(count))


def crossed(readers_per_case: IntArray, annotators: IntArray, names: tuple[str, ...]) -> Panel:
    """Return who reads which case: how many annotators each case has, and who they are, case by case."""
    cases, offsets = numbered("case", len(readers_per_case)), offsets_from_lengths(readers_per_case)
    return Panel(cases, offsets, annotators, annotator_names=names)


def opinion_chances(opinions: tuple[int, int], n_annotators: int) -> FloatArray:
    """Return the chance of 1, 2, ... annotators: the same from the least to the greatest number."""
    is_pair = len(opinions) == 2 and all(isinstance(number, int) for number in opinions)
    if not is_pair or not 1 <= opinions[0] <= opinions[1] <= n_annotators:
        raise DissensusError(
            "there cannot be so many opinions on a case",
            expected=f"two whole numbers, 1 <= least <= most <= {n_annotators}",
            got=repr(opinions),
        )
    least, most = opinions
    return np.asarray((np.arange(1, most + 1) >= least) / (most - least + 1))


def known_models(models: Mapping[str, Seen], kind: type[Seen]) -> Mapping[str, Seen]:
    """Refuse what is no model that can be simulated."""
    check_names("model", tuple(models))
    for name, one in models.items():
        if not isinstance(one, kind):
            raise DissensusError(
                "this is not what a model sees", expected=f"{kind.__name__}(...)", got=f"{name}: {one!r:.60}"
            )
    return models
