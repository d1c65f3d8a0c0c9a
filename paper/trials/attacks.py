"""Attacks on the panel estimate: simulated studies in which its assumptions fail, and what each number makes of them.

The plausibilities of every case are known, and so is the truth: what the plurality of an endless panel says, and how
often one annotator, taken at random, agrees with a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import MajorityVote
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.first_screen import why_panel_is_withheld
from dissensus.metrics.accuracy import TopKAccuracy
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from paper.trials.coverage import MODEL, with_endless_cases
from paper.trials.crowds import Trial, Truth, first_choices

if TYPE_CHECKING:
    import polars as pl

Watch: TypeAlias = Callable[[str, int, int], None]
Models: TypeAlias = Callable[[np.random.Generator, FloatArray, IntArray], Mapping[str, FloatArray]]
"""From a stream, plausibilities (n, K) and votes (n, K) to the scores (n, K) of models by name."""

SPREAD = 2.0
"""Standard deviation of the logarithms of plausibilities: the leading condition has 0.68 of the opinions on average."""

GOOD, FAIR, BAD = 0.4, 0.8, 2.0
"""Noise on these logarithms, as models see them."""

SATURATED = 12.0
"""Factor of the logits of a model that is nearly always sure."""

CLEAR = 0.6
"""A case is clear if the leading condition has this share of the opinions; otherwise it is hard."""

N_HOSPITALS, N_EFFECTS = 8, 400
"""Hospitals that read the cases, and how many their average is taken over."""

REPORTED = "reversed"
"""The stratum that is looked at, where there are two."""

NUMBERS = ("panel", "agreement", "majority vote", "adjusted")


# What models say ----------------------------------------------------------------------------------------


def softmax(logits: FloatArray) -> FloatArray:
    """Return shares of each row."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def seen(rng: np.random.Generator, theta: FloatArray, noise: float, confidence: float = 1.0) -> FloatArray:
    """See the logarithms of plausibilities through noise, as a classifier does."""
    return softmax(confidence * (np.log(theta) + noise * rng.standard_normal(theta.shape)))


def hardened(scores: FloatArray) -> FloatArray:
    """Keep the first condition and nothing else.

    >>> hardened(np.array([[0.2, 0.5, 0.3]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    return np.asarray(np.eye(scores.shape[1])[scores.argmax(axis=1)])


def soft_pair(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Give soft scores: a good model and a bad one."""
    return {"good": seen(rng, theta, GOOD), "bad": seen(rng, theta, BAD)}


def alone(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Have one model only."""
    return {"good": seen(rng, theta, GOOD)}


def near_duplicates(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Have a model three times, with hardly any noise between them, and a bad one."""
    first = seen(rng, theta, GOOD)
    again = {f"twin {place}": seen(rng, first, 0.05) for place in (2, 3)}
    return {"good": first, **again, "bad": seen(rng, theta, BAD)}


def saturated(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Have a model that is nearly always sure."""
    return {"good": seen(rng, theta, GOOD, SATURATED)}


def hard(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Have a model that gives labels without scores."""
    return {"good": hardened(seen(rng, theta, GOOD))}


def hard_pair(rng: np.random.Generator, theta: FloatArray, votes: IntArray) -> Mapping[str, FloatArray]:
    """Give labels without scores: a good model and a bad one."""
    return {name: hardened(scores) for name, scores in soft_pair(rng, theta, votes).items()}


def second_choice(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Name the best condition of clear cases, and the second best of hard ones; labels without scores."""
    order = np.argsort(-theta, axis=1)
    named = np.where(theta.max(axis=1) >= CLEAR, order[:, 0], order[:, 1])
    return {"second": np.eye(theta.shape[1])[named], "bad": hardened(seen(rng, theta, BAD))}


def near_ties(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Know the best condition even where the next one is nearly as good."""
    told = 5.0 * hardened(theta) + 0.35 * np.log(theta) + rng.standard_normal(theta.shape)
    return {"knows winners": softmax(told), "good": seen(rng, theta, GOOD)}


def trained_on_half(rng: np.random.Generator, theta: FloatArray, votes: IntArray) -> Mapping[str, FloatArray]:
    """Have learned what most annotators said of every other case; see the others like a classifier."""
    own, shares = np.log(seen(rng, theta, FAIR)), votes / votes.sum(axis=1, keepdims=True)
    learned = np.arange(len(theta))[:, None] % 2 == 0
    return {"trained": softmax(own + np.where(learned, 6.0 * shares, 0.0)), "honest": seen(rng, theta, FAIR)}


def trained_mildly(rng: np.random.Generator, theta: FloatArray, votes: IntArray) -> Mapping[str, FloatArray]:
    """Have learned a little from the votes of every case."""
    own, shares = np.log(seen(rng, theta, FAIR)), votes / votes.sum(axis=1, keepdims=True)
    return {"trained": softmax(own + 1.5 * shares), "honest": seen(rng, theta, FAIR)}


def reversed_order(rng: np.random.Generator, theta: FloatArray, _: IntArray) -> Mapping[str, FloatArray]:
    """Let the better model be the worse one in a fifth of the cases."""
    better, worse, others = seen(rng, theta, GOOD), seen(rng, theta, BAD), in_stratum(len(theta))[:, None]
    return {"better elsewhere": np.where(others, worse, better), "better here": np.where(others, better, worse)}


def in_stratum(n_cases: int) -> np.ndarray:
    """Tell which cases are in the stratum in which the order is reversed: every fifth.

    >>> in_stratum(10).sum().item()
    2
    """
    return np.asarray(np.arange(n_cases) % 5 == 0)


# Attacks ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """A way in which what the panel estimate assumes may fail.

    Attributes
    ----------
    title
        What it is called.
    models
        What the models say.
    n_cases
        How many cases a study has.
    trained_on
        Models that are declared as trained on these annotations.
    has_strata
        Whether a stratum is looked at rather than all cases; see :func:`in_stratum`.
    hospital_sd
        How far a hospital sees a case in its own way: standard deviation on the logarithms of plausibilities. All
        opinions on a case are from the same hospital.
    are_named
        Whether annotators have names, by which their hospital is known.
    """

    title: str
    models: Models
    n_cases: int = 400
    trained_on: tuple[str, ...] = ()
    has_strata: bool = False
    hospital_sd: float = 0.0
    are_named: bool = False

    def trial(self, seed: int, n_cases: int | None = None, votes: int = 3, n_conditions: int = 4) -> Trial:
        """Simulate a study, its models and what is true of them.

        >>> one = ATTACKS[0].trial(1, n_cases=50)
        >>> one.annotations.n_cases, one.here.panel.round(2).tolist()
        (50, [0.82, 0.5])
        """
        rng, size = np.random.default_rng((seed, 25)), (n_cases or self.n_cases, n_conditions)
        theta = softmax(SPREAD * rng.standard_normal(size))
        local = softmax(np.log(theta) + self.hospital_sd * rng.standard_normal(size))
        counts = np.stack([rng.multinomial(votes, row) for row in local])
        names, labels = (
            [f"case {place}" for place in range(size[0])],
            [f"condition {place}" for place in range(size[1])],
        )
        said = {
            name: Predictions.from_scores(scores, labels, case_names=names, name=name)
            for name, scores in self.models(rng, theta, counts).items()
        }
        kept = in_stratum(size[0]) if self.has_strata else np.ones(size[0], dtype=np.bool_)
        truth = Truth.of(self._shares(rng, theta)[kept], first_choices(said)[:, kept])
        if self.are_named:
            return Trial(_by_hospital(rng, counts, labels, names), said, truth)
        return Trial(Study.from_counts(counts, labels, case_names=names), said, truth)

    def _shares(self, rng: np.random.Generator, theta: FloatArray) -> FloatArray:
        """Return what an endless panel from all hospitals says, shape (n, K)."""
        if not self.hospital_sd:
            return theta
        effects = self.hospital_sd * rng.standard_normal((N_EFFECTS, *theta.shape))
        return np.asarray(softmax(np.log(theta) + effects).mean(axis=0))

    def evaluated(self, trial: Trial, *, draws: int, seed: int) -> Iterator[dict[str, Any]]:
        """Evaluate one study; give every number of every model beside the truth, and why the panel is withheld."""
        strata = np.where(in_stratum(trial.annotations.n_cases), REPORTED, "usual").tolist()
        result = evaluate(
            trial.annotations,
            trial.predictions,
            aggregations=[PlackettLuce(1), MajorityVote()],
            metrics=[TopKAccuracy(1)],
            draws=draws,
            seed=seed,
            threads=1,
            level=0.9,
            annotators="fixed",
            panel=True,
            strata={"order": strata} if self.has_strata else None,
            trained_on=self.trained_on,
        )
        where = ("order", REPORTED) if self.has_strata else None
        table = result.by_group("order").filter(stratum=REPORTED) if self.has_strata else result.to_frame()
        withheld = "; ".join(why_panel_is_withheld(result, where))
        for row in table.iter_rows(named=True):
            place = result.models.index(row["model"])
            yield {
                **{name: row[name] for name in ("low", "high", "estimand")},
                "number": "majority vote" if row["aggregation"] == MajorityVote.id else row["estimand"],
                "name": row["model"],
                "estimate": row["mean"],
                "here": float(trial.here.named(row["estimand"])[place]),
                "everywhere": float("nan"),
                "withheld": withheld,
            }


def _by_hospital(rng: np.random.Generator, counts: IntArray, labels: list[str], names: list[str]) -> Study:
    """Name who gave the votes of every case: readers of one hospital."""
    hospitals = rng.integers(N_HOSPITALS, size=len(counts))
    votes = [np.repeat(np.arange(len(labels)), row) for row in counts]
    return Study.from_rankings(
        [[[[labels[code]]] for code in rng.permutation(row)] for row in votes],
        labels,
        case_names=names,
        annotator_names=[
            [f"hospital {hospital}, reader {place}" for place in range(len(row))]
            for hospital, row in zip(hospitals, votes, strict=True)
        ],
    )


ATTACKS: tuple[Attack, ...] = (
    Attack("soft scores, good and bad", soft_pair),
    Attack("soft scores, one model alone", alone),
    Attack("soft scores, near-duplicates", near_duplicates),
    Attack("soft scores, 100 cases", soft_pair, n_cases=100),
    Attack("saturated scores", saturated),
    Attack("labels without scores", hard),
    Attack("labels without scores, good and bad", hard_pair),
    Attack("second choice where cases are hard", second_choice),
    Attack("knows the winner of near-ties", near_ties),
    Attack("trained on half of the cases", trained_on_half),
    Attack("the same, declared", trained_on_half, trained_on=("trained",)),
    Attack("trained mildly on these votes", trained_mildly),
    Attack("the same mildly, declared", trained_mildly, trained_on=("trained",)),
    Attack("order reversed in 80 of 400 cases", reversed_order, has_strata=True),
    Attack("order reversed in 120 of 600 cases", reversed_order, n_cases=600, has_strata=True),
    Attack("one hospital a case, sd 1", soft_pair, hospital_sd=1.0, are_named=True),
    Attack("one hospital a case, sd 2", soft_pair, hospital_sd=2.0, are_named=True),
    Attack("the same, annotators without names", soft_pair, hospital_sd=2.0),
)


def attacked(
    attacks: tuple[Attack, ...] = ATTACKS, *, studies: int, draws: int = 250, seed: int = 1, watch: Watch | None = None
) -> pl.DataFrame:
    """Simulate and evaluate studies of all attacks: a row for every study, model and number."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for place, attack in enumerate(attacks):
        for number in range(studies):
            if watch is not None:
                watch(attack.title, place * studies + number, len(attacks) * studies)
            where = {"experiment": attack.title, "opinions": "", "kind": MODEL, "study": number}
            trial = attack.trial(10_000 * seed + number)
            rows += [{**where, **row} for row in attack.evaluated(trial, draws=draws, seed=number)]
    return with_endless_cases(pl.DataFrame(rows, infer_schema_length=None))
