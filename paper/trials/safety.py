"""What must not happen: models that know nothing, or nothing new, move the panel estimates of the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.aggregations.case_prior import informed_prior
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import MajorityVote
from dissensus.core.errors import DissensusWarning
from dissensus.evaluation.estimates import ADJUSTED, PANEL
from dissensus.evaluation.evaluator import evaluate
from dissensus.metrics.accuracy import TopKAccuracy
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from paper.trials.crowds import Crowd, Trial

if TYPE_CHECKING:
    import polars as pl

Models: TypeAlias = Mapping[str, Predictions]
Change: TypeAlias = Callable[[Trial, int], Models]
Row: TypeAlias = dict[str, Any]

FEW, MANY = 3, 50
"""Votes of a case: as in many studies, and as in hardly any."""

PERMUTED, REPEATED = "permuted", "repeats an annotator"

RANDOM_MOVES = "a random model is added: largest move, in widths of the interval"
COPY_MOVES = "a model is added again: largest move, in widths of the interval"
GAIN = "gain of log score by a model alone"
PERMUTED_GAIN = "the same if its cases are permuted"
PERMUTED_COEFFICIENT = "coefficient of its log scores then"
RECOGNISED = "a model repeats an annotator: recognised"
MANY_VOTES = f"{MANY} votes a case, distance from the truth"


# Models that know nothing, or nothing new ---------------------------------------------------------------


def with_random(trial: Trial, seed: int) -> Models:
    """Add a model whose scores are drawn without a look at the cases."""
    said = trial.annotations
    scores = np.random.default_rng((seed, 7)).dirichlet(np.full(said.n_conditions, 0.5), size=said.n_cases)
    model = Predictions.from_scores(scores, said.conditions, case_names=said.case_names, name="random")
    return {**trial.predictions, "random": model}


def with_copy(trial: Trial, seed: int) -> Models:
    """Add one of the models again, another one for every seed."""
    name = list(trial.predictions)[seed % len(trial.predictions)]
    return {**trial.predictions, "copy": trial.predictions[name].rename("copy")}


def with_permuted(trial: Trial, seed: int) -> Models:
    """Let one of the models say of every case what it says of another one."""
    name, said = list(trial.predictions.items())[seed % len(trial.predictions)]
    order = np.random.default_rng((seed, 8)).permutation(said.n_cases)
    moved = Predictions.from_scores(said.to_scores()[order], said.conditions, case_names=said.case_names, name=PERMUTED)
    return {**{other: one for other, one in trial.predictions.items() if other != name}, PERMUTED: moved}


def with_annotator(trial: Trial, seed: int) -> tuple[Study, Models]:
    """Name the annotators, and add a model that says what the first of them says.

    Votes have no names: those of a case are given to three people in a random order.
    """
    said, rng = trial.annotations, np.random.default_rng((seed, 9))
    labels = [[block[0] for ranking in case for block in ranking] for case in said.to_rankings()]
    shuffled = [[votes[place] for place in rng.permutation(len(votes))] for votes in labels]
    named = Study.from_rankings(
        [[[[label]] for label in votes] for votes in shuffled],
        said.conditions,
        case_names=said.case_names,
        annotator_names=[[f"annotator {place + 1}" for place in range(len(votes))] for votes in shuffled],
    )
    scores = np.array([[float(label == votes[0]) for label in said.conditions] for votes in shuffled])
    model = Predictions.from_scores(scores, said.conditions, case_names=said.case_names, name=REPEATED)
    return named, {**trial.predictions, REPEATED: model}


# What they do -------------------------------------------------------------------------------------------


def results_of(said: Study, models: Models, *, draws: int, seed: int) -> pl.DataFrame:
    """Evaluate the top-1 accuracy of models: panel, adjusted and majority vote."""
    return evaluate(
        said,
        models,
        aggregations=[PlackettLuce(1), MajorityVote()],
        metrics=[TopKAccuracy(1)],
        draws=draws,
        seed=seed,
        annotators="fixed",
        level=0.9,
    ).to_frame()


def largest_move(trial: Trial, change: Change, *, draws: int, seed: int) -> float:
    """Return how far a change moves the panel estimate of any model that stays, in widths of its interval."""
    before, after = (
        results_of(trial.annotations, models, draws=draws, seed=seed).filter(estimand=PANEL)
        for models in (trial.predictions, change(trial, seed))
    )
    moved = {row["model"]: row["mean"] for row in after.iter_rows(named=True)}
    known = [row for row in before.iter_rows(named=True) if row["model"] in moved]
    return float(max(abs(moved[row["model"]] - row["mean"]) / (row["high"] - row["low"]) for row in known))


def information(said: Study, models: Models, name: str) -> dict[str, float]:
    """Return what a model is worth to the prior: its coefficients, and the gain if it alone informs the prior."""
    table = informed_prior(said, models).table().filter(model=name)
    return {key: float(table[key][0]) for key in ("log_score", "score", "first", "alone", "beyond")}


def is_recognised(said: Study, models: Models, name: str) -> bool:
    """Tell whether a model is said to repeat an annotator, in a warning and in the table."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", DissensusWarning)
        prior = informed_prior(said, models)
    return name in prior.left_out and any(repr(name) in str(one.message) for one in heard)


def distances(trial: Trial, *, draws: int, seed: int) -> dict[str, float]:
    """Return how far panel, adjusted and majority vote are from the truth and from each other, means over models."""
    table = results_of(trial.annotations, trial.predictions, draws=draws, seed=seed)
    panel = table.filter(estimand=PANEL)["mean"].to_numpy()
    majority = table.filter(run=MajorityVote.id)["mean"].to_numpy()
    adjusted = table.filter(table["estimand"] == ADJUSTED, table["run"] != MajorityVote.id)["mean"].to_numpy()
    return {
        "panel": float(np.abs(panel - trial.here.panel).mean()),
        "adjusted": float(np.abs(adjusted - trial.here.panel).mean()),
        "majority vote": float(np.abs(majority - trial.here.panel).mean()),
        "apart": float(np.abs(panel - adjusted).mean()),
    }


def safety_rows(crowd: Crowd, *, n_cases: int, number: int, draws: int, seed: int) -> list[Row]:
    """Try all of this on one study: a row for every question, with an answer."""
    few = crowd.trial(n_cases, FEW, seed=(seed, FEW, number))
    many = crowd.trial(n_cases, MANY, seed=(seed, MANY, number))
    name = list(few.predictions)[number % len(few.predictions)]
    before = information(few.annotations, few.predictions, name)
    after = information(few.annotations, with_permuted(few, number), PERMUTED)
    named, models = with_annotator(few, number)
    answers = {
        RANDOM_MOVES: largest_move(few, with_random, draws=draws, seed=number),
        COPY_MOVES: largest_move(few, with_copy, draws=draws, seed=number),
        GAIN: before["alone"],
        PERMUTED_GAIN: after["alone"],
        PERMUTED_COEFFICIENT: abs(after["log_score"]),
        RECOGNISED: float(is_recognised(named, models, REPEATED)),
        **{f"{MANY_VOTES}: {what}": value for what, value in distances(many, draws=draws, seed=number).items()},
    }
    return [{"question": question, "study": number, "answer": answer} for question, answer in answers.items()]
