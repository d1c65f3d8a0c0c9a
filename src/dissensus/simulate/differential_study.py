"""Simulated studies: differential diagnoses by annotators who see the truth through a race, and models that guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.certainty.categories import Categories
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_count, check_most, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.draws import Plausibilities
from dissensus.predictions.lists import Predictions
from dissensus.simulate.answers import known_models, numbered, opinion_chances
from dissensus.study.study import Study

ADJECTIVES = ("Acute", "Chronic", "Linear", "Nodular", "Solar", "Cold", "Dry", "Blue", "Mixed", "Late")

# What conditions are called, and how much is at risk.
NOUNS = {
    "macule": "low",
    "eczema": "low",
    "keratosis": "medium",
    "papule": "low",
    "vasculitis": "medium",
    "scale": "low",
    "carcinoma": "high",
    "naevus": "low",
    "ulcer": "medium",
    "lymphoma": "high",
}

# Shares in the released differential diagnoses of 1947 cases [stutz]: 9602 rankings.
ANNOTATORS_PER_CASE = (0.01, 0.07, 0.18, 0.22, 0.15, 0.19, 0.05, 0.05, 0.04, 0.04)
CONDITIONS_PER_RANKING = (0.54, 0.30, 0.145, 0.012, 0.003)

# Probability that neighbours are tied, by the number of conditions in the ranking: long lists are rarely sorted.
TIE_PER_STEP = (0.0, 0.19, 0.36, 0.65, 0.75)

# How many conditions a case may be confused with, and how much plausibility all conditions share.
CONFUSABLE, TRACE = 8, 0.1

# How evenly plausibility is spread over the conditions that a case may be confused with: clear to open cases.
CLARITY = (0.05, 0.3, 1.5)

# Conditions that a model lists for a case.
LISTED = 10

SITES = {"university clinic": 0.4, "private practice": 0.35, "teledermatology": 0.25}
SKIN_TYPES = {"I-II": 0.45, "III-IV": 0.4, "V-VI": 0.15}
AGES = {"under 40": 0.4, "40 to 64": 0.35, "65 and over": 0.25}
STRATA = {"site": SITES, "skin type": SKIN_TYPES, "age": AGES}


@dataclass(frozen=True)
class Expertise:
    """What a simulated model sees of the plausibilities.

    Attributes
    ----------
    first
        Weight of being the most plausible condition: what training on one label per case teaches.
    others
        Weight of the logarithm of the plausibilities: what training on whole differential diagnoses teaches.
    habit
        Weight of the logarithm of the frequency of conditions.
    noise
        Size of its errors.
    confusion
        How much it takes similar conditions, those of the same noun, for each other: 1 if it cannot tell them apart.

    Examples
    --------
    >>> Expertise.blurred(0.4).noise
    0.4
    """

    first: float
    others: float
    habit: float
    noise: float
    confusion: float = 0.0

    @classmethod
    def blurred(cls, noise: float, *, confidence: float = 1.0, confusion: float = 0.0) -> Expertise:
        """Return a model that errs like a classifier: it sees the logarithms of the plausibilities through noise.

        Where two conditions are nearly as plausible, noise decides between them: nothing in such a model knows the
        winner of a near-tie. Without noise it would know all; with noise 1 it says as much as one annotator.

        Parameters
        ----------
        noise
            Size of the noise on every logarithm.
        confidence
            Factor of the logits: above 1, it is surer of itself than it should be; the order does not change.
        confusion
            How much it takes similar conditions for each other, from 0 to 1.

        Examples
        --------
        >>> Expertise.blurred(0.5, confidence=2.0)
        Expertise(first=0.0, others=2.0, habit=0.0, noise=1.0, confusion=0.0)
        """
        return cls(first=0.0, others=confidence, habit=0.0, noise=confidence * noise, confusion=confusion)


# All err like classifiers, and none has seen what annotators say. Aster sees most, but takes similar conditions for
# each other, and is far too sure. Birch and Clover are nearly as good as each other, and calibrated; so is Elder, with
# less skill. Dahlia sees least, and is too sure.
MODELS: Mapping[str, Expertise] = {
    "Aster": Expertise.blurred(0.35, confidence=2.0, confusion=0.25),
    "Birch": Expertise.blurred(0.55, confidence=0.9),
    "Clover": Expertise.blurred(0.6, confidence=0.9),
    "Dahlia": Expertise.blurred(1.2, confidence=1.5),
    "Elder": Expertise.blurred(0.8, confidence=0.8),
}

# Models that show a limit. Aster has learnt single labels, the next three whole differential diagnoses, each less of
# them than the one before. What they know of the first place they know even where it is a near-tie, Aster most of all:
# no number of opinions below a crowd can confirm it. Elder sees all conditions through the same noise.
NEAR_TIES: Mapping[str, Expertise] = {
    "Aster": Expertise(first=5.0, others=0.35, habit=0.4, noise=1.0),
    "Birch": Expertise(first=1.2, others=1.0, habit=0.1, noise=1.0),
    "Clover": Expertise(first=1.0, others=0.8, habit=0.1, noise=1.0),
    "Dahlia": Expertise(first=0.8, others=0.6, habit=0.3, noise=1.0),
    "Elder": Expertise.blurred(0.8, confidence=1.5),
}

# Factor of the models' errors for skin types V and VI, of which they have seen fewer.
DARK_SKIN_NOISE = 1.8

MODEL_STREAM, STRATUM_STREAM = 1, 2


@dataclass(frozen=True)
class SimulatedStudy:
    """Simulated annotations and predictions beside the plausibilities they were drawn from.

    Attributes
    ----------
    annotations
        What the annotators said.
    theta : (n_cases, K)
        The true plausibilities of each case.
    categories
        The risk of every condition: low, medium or high.
    predictions
        Models by name: scores of their ten favourite conditions of every case.
    strata
        Columns of cases: name to one label per case.
    """

    annotations: Study
    theta: FloatArray
    categories: Categories
    predictions: Mapping[str, Predictions]
    strata: Mapping[str, tuple[str, ...]]

    @property
    def truth(self) -> Plausibilities:
        """The true plausibilities, as a single draw of every case.

        Examples
        --------
        >>> simulate_study(n_cases=3).truth
        Plausibilities: 3 cases, 1 draws, 60 conditions
        """
        said = self.annotations
        return Plausibilities.from_draws(
            self.theta[:, None], conditions=list(said.conditions), case_names=list(said.case_names)
        )


def condition_names(count: int) -> tuple[str, ...]:
    """Invent names of conditions.

    >>> condition_names(3)
    ('Acute macule', 'Chronic eczema', 'Linear keratosis')
    """
    names = []
    for position in range(count):
        turn, place = divmod(position, len(NOUNS))
        rounds, shift = divmod(turn, len(ADJECTIVES))
        again = f" {rounds + 1}" if rounds else ""
        names.append(f"{ADJECTIVES[(place + shift) % len(ADJECTIVES)]} {tuple(NOUNS)[place]}{again}")
    return tuple(names)


@checked
def simulate_study(
    *,
    n_cases: int = 200,
    n_conditions: int = 60,
    n_annotators: int = 30,
    opinions: tuple[int, int] | None = None,
    models: Mapping[str, Expertise] | None = None,
    seed: int = 0,
) -> SimulatedStudy:
    """Simulate a study: long-tailed conditions, 1 to 10 annotators a case, partial rankings with ties, five models.

    Each annotator draws an order of the conditions by a race with the true plausibilities (Plackett-Luce), writes down
    its first few, and ties some neighbours. Numbers of annotators, lengths of rankings and ties are as frequent as in
    the released differential diagnoses of [stutz]: 54 % of the rankings hold one condition, 16 % hold a tie. The models
    see the true plausibilities through noise, as classifiers do, and nothing of what annotators say. One of them,
    Aster, takes similar conditions for each other; Aster and Dahlia are surer of themselves than they should be.

    Parameters
    ----------
    n_cases, n_conditions, n_annotators
        Size of the study; at least 1 case, 2 conditions and 10 annotators.
    opinions
        Least and greatest number of annotators of a case, all numbers between them as frequent; by default 1 to 10, as
        frequent as in the released data.
    models
        What each model sees of the truth; by default Aster, Birch, Clover, Dahlia and Elder.
    seed
        The same seed gives the same study, and case ``i`` does not depend on the number of cases.

    Examples
    --------
    >>> study = simulate_study(n_cases=3)
    >>> study.annotations.n_cases, list(study.predictions), list(study.strata)
    (3, ['Aster', 'Birch', 'Clover', 'Dahlia', 'Elder'], ['site', 'skin type', 'age'])
    >>> study.categories
    Categories: low 30, medium 18, high 12 of 60 conditions; levels 0, 1, 2
    """
    check_seed(seed)
    check_count(n_conditions=n_conditions)
    check_most("conditions", n_conditions)
    check_most("n_annotators", n_annotators)
    check_most("n_cases * n_conditions", n_cases * n_conditions)
    if n_cases < 1 or n_conditions < 2 or n_annotators < 10:
        raise DissensusError(
            "a simulated study needs at least 1 case, 2 conditions and 10 annotators",
            got=f"{n_cases} cases, {n_conditions} conditions, {n_annotators} annotators",
        )
    chances = np.array(ANNOTATORS_PER_CASE) if opinions is None else opinion_chances(opinions, n_annotators)
    streams = [np.random.default_rng((seed, case)) for case in range(n_cases)]
    theta = np.stack([_truth(rng, n_conditions) for rng in streams])
    said = _annotations(streams, theta, n_annotators, chances)
    strata = _strata(seed, n_cases)
    guessed = _predictions(
        seed, theta, strata["skin type"], said, known_models(MODELS if models is None else models, Expertise)
    )
    risks = tuple(NOUNS.values())
    categories = Categories.from_labels([risks[code % len(risks)] for code in range(n_conditions)], said.conditions)
    return SimulatedStudy(said, theta, categories, guessed, strata)


def frequencies(n_conditions: int) -> FloatArray:
    """Return how frequent conditions are: a long tail, in the order of their codes."""
    shares = 1 / np.arange(1, n_conditions + 1)
    return np.asarray(shares / shares.sum())


def _truth(rng: np.random.Generator, n_conditions: int) -> FloatArray:
    """Draw plausibilities: a leading condition from a long tail, a few it is confused with, a trace of all."""
    frequency = frequencies(n_conditions)
    likely = rng.choice(n_conditions, size=min(CONFUSABLE, n_conditions), replace=False, p=frequency)
    theta = TRACE * frequency
    clarity = rng.choice(CLARITY)
    theta[likely] += (1 - TRACE) * rng.dirichlet(clarity / np.arange(1, len(likely) + 1) + 0.02)
    return np.asarray(theta / theta.sum(), dtype=np.float64)


# What the annotators say ------------------------------------------------------------------------------


def _annotations(
    streams: list[np.random.Generator], theta: FloatArray, n_annotators: int, chances: FloatArray
) -> Study:
    doctors = numbered("Dr", n_annotators)
    counts = [1 + int(rng.choice(len(chances), p=chances)) for rng in streams]
    chosen = [rng.choice(n_annotators, size=n, replace=False).tolist() for rng, n in zip(streams, counts, strict=True)]
    rankings = [[_ranking(rng, truth) for _ in who] for rng, truth, who in zip(streams, theta, chosen, strict=True)]
    return Study.from_rankings(
        rankings,
        condition_names(theta.shape[1]),
        case_names=numbered("case", len(theta)),
        annotator_names=[[doctors[code] for code in who] for who in chosen],
    )


def _ranking(rng: np.random.Generator, theta: FloatArray) -> list[list[int]]:
    """Race the conditions, keep the first few, and tie some neighbours."""
    order = np.argsort(rng.exponential(size=len(theta)) / theta)
    length = 1 + int(rng.choice(len(CONDITIONS_PER_RANKING), p=CONDITIONS_PER_RANKING))
    blocks: list[list[int]] = []
    for code in order[:length].tolist():
        if blocks and rng.random() < TIE_PER_STEP[length - 1]:
            blocks[-1].append(code)
        else:
            blocks.append([code])
    return blocks


# Whose cases, and what the models say -----------------------------------------------------------------


def _strata(seed: int, n_cases: int) -> dict[str, tuple[str, ...]]:
    """Draw where the cases come from, each from a stream of its own."""
    chances = np.stack(
        [np.random.default_rng((seed, case, STRATUM_STREAM)).random(len(STRATA)) for case in range(n_cases)]
    )
    strata = {}
    for (column, shares), chance in zip(STRATA.items(), chances.T, strict=True):
        bounds = np.cumsum(list(shares.values()))[:-1]
        labels = tuple(shares)
        strata[column] = tuple(labels[place] for place in np.searchsorted(bounds, chance, side="right"))
    return strata


def _predictions(
    seed: int, theta: FloatArray, skin_types: tuple[str, ...], said: Study, models: Mapping[str, Expertise]
) -> dict[str, Predictions]:
    factors = [DARK_SKIN_NOISE if skin == "V-VI" else 1.0 for skin in skin_types]
    streams = [np.random.default_rng((seed, case, MODEL_STREAM)) for case in range(len(theta))]
    seen = zip(streams, theta, factors, strict=True)
    listed = [_guesses(*case, list(models.values())) for case in seen] if models else []
    offsets = min(LISTED, theta.shape[1]) * np.arange(len(theta) + 1)
    predictions = {}
    for number, name in enumerate(models):
        codes, values = (np.concatenate([case[part][number] for case in listed]) for part in (0, 1))
        predictions[name] = Predictions(name, "scores", said.conditions, said.case_names, offsets, codes, values)
    return predictions


def _guesses(
    rng: np.random.Generator, theta: FloatArray, noise_factor: float, models: Sequence[Expertise]
) -> tuple[IntArray, FloatArray]:
    """Return the conditions that each model lists, best first, and their scores, both (models, LISTED)."""
    errors = rng.gumbel(size=(len(models), len(theta)))
    is_first, habit, kind = theta == theta.max(), np.log(frequencies(len(theta))), np.arange(len(theta)) % len(NOUNS)
    alike = (np.bincount(kind, theta) / np.bincount(kind))[kind]
    logits = np.stack(
        [
            model.first * is_first
            + model.others * np.log((1 - model.confusion) * theta + model.confusion * alike)
            + model.habit * habit
            + noise_factor * model.noise * error
            for model, error in zip(models, errors, strict=True)
        ]
    )
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : min(LISTED, len(theta))]
    return order, np.take_along_axis(scores, order, axis=1)
