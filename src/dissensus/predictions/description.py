"""What is inside predictions, and what about them deserves a look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.notes import Note
from dissensus.study.diagnosis import percent, plural, span

if TYPE_CHECKING:
    from dissensus.core.aliases import BoolArray
    from dissensus.predictions.lists import Predictions

SUM_TOLERANCE = 1e-3
"""How far the scores of a case may be from a sum of one: text with three decimals is not exact."""


def check_predictions(predictions: Predictions, *, findings: bool = False) -> tuple[Note, ...]:
    """Look for what is allowed but may be a mistake; scores of findings need not add up to anything.

    Examples
    --------
    >>> from dissensus.predictions.lists import Predictions
    >>> for note in check_predictions(Predictions.from_scores([[2.0, -1.0], [0.5, 0.5]])):
    ...     print(note)
    cases with the same score for every condition: 1, kept, all are tied (for example '1')
    cases with negative scores: 1, kept; logits need a softmax to be probabilities (for example '0')
    """
    if predictions.kind == "numbers" or (findings and predictions.kind != "scores"):
        return ()
    if predictions.kind == "scores":
        notes = _notes_on_findings(predictions) if findings else _notes_on_scores(predictions)
    else:
        sizes, is_ranking = predictions.entries_per_case, predictions.kind == "ranking"
        tied = "kept, all conditions are tied" if is_ranking else "kept"
        every = (sizes == predictions.n_conditions) & (not is_ranking)
        notes = [
            _note(predictions, "empty rankings" if is_ranking else "empty sets", sizes == 0, tied),
            _note(predictions, "sets of all conditions", every, "kept"),
        ]
    return tuple(note for note in notes if note.count)


def _note(predictions: Predictions, what: str, cases: BoolArray, action: str) -> Note:
    examples = tuple(predictions.case_names[case] for case in np.flatnonzero(cases)[:3])
    return Note(what, int(cases.sum()), action, examples)


def _unlisted(predictions: Predictions) -> list[str]:
    listed = np.bincount(predictions.codes, minlength=predictions.n_conditions) > 0
    return [predictions.conditions[code] for code in np.flatnonzero(~listed)]


def _notes_on_findings(predictions: Predictions) -> list[Note]:
    outside = np.zeros(predictions.n_cases, dtype=np.bool_)
    outside[predictions.case_of_entry[(predictions.values < 0) | (predictions.values > 1)]] = True
    unlisted = _unlisted(predictions)
    action = "kept; the scores of all findings are taken as scores, not as probabilities"
    return [
        _note(predictions, "cases with scores below 0 or above 1", outside, action),
        Note("findings without a score above 0", len(unlisted), "taken as absent on every case", tuple(unlisted[:3])),
    ]


def _notes_on_scores(predictions: Predictions) -> list[Note]:
    n_conditions, complete = predictions.n_conditions, predictions.complete
    highest, lowest = predictions.values[predictions.offsets[:-1]], predictions.values[predictions.offsets[1:] - 1]
    constant = (predictions.entries_per_case == n_conditions) & (highest == lowest) & (n_conditions > 1)
    logits = "kept; logits need a softmax to be probabilities"
    notes = [
        _note(predictions, "cases with the same score for every condition", constant, "kept, all are tied"),
        _note(predictions, "cases with negative scores", lowest < 0, logits),
    ]
    if not (lowest < 0).any():
        sums = np.bincount(predictions.case_of_entry, weights=predictions.values, minlength=predictions.n_cases)
        below = (sums < 1 - SUM_TOLERANCE) & complete  # a short list may leave some of the mass out
        off = below | (sums > 1 + SUM_TOLERANCE)
        notes.append(_note(predictions, "cases whose scores do not sum to 1", off, "kept as scores, not probabilities"))
    if not complete:
        notes += coverage(predictions)
    elif bool(np.isin(predictions.values, (0, 1)).all()):
        action = "kept as scores; say kind='set' if the ones are a set"
        notes.append(Note("cases with scores of 0 and 1 only", predictions.n_cases, action))
    return notes


def coverage(predictions: Predictions) -> list[Note]:
    """Tell of conditions without a score; 0 counts as none, as both are last."""
    unlisted = _unlisted(predictions)
    everywhere = f"of {predictions.n_conditions}, taken as not predicted: below all that have one"
    partly = predictions.entries_per_case < predictions.n_conditions - len(unlisted)
    some, there = "cases on which some of the other conditions have no score", "taken as not predicted there"
    return [
        Note("conditions without a score", len(unlisted), everywhere, tuple(unlisted[:3])),
        _note(predictions, some, partly, f"{there}: below all that have one"),
    ]


def description(predictions: Predictions) -> str:
    """Tell a person what is inside; the ``repr`` of :class:`Predictions`."""
    n_cases, n_conditions = predictions.n_cases, predictions.n_conditions
    cases, lines = plural(n_cases, "case"), {}
    if predictions.kind == "numbers":
        said = f"numbers on {cases}"
        numbers, deviations = predictions.numbers, predictions.deviations
        if n_cases:
            lines["lowest to highest"] = f"{numbers.min():g} to {numbers.max():g}; mean {numbers.mean():.3g}"
        if n_cases and deviations is not None:
            lines["standard deviation"] = f"{deviations.min():g} to {deviations.max():g}"
    else:
        said = f"scores on {cases}" if predictions.kind == "scores" else plural(n_cases, predictions.kind)
        said = f"{said} over {plural(n_conditions, 'condition')}"
        n_listed = n_conditions - len(_unlisted(predictions))
        lines["conditions listed"] = f"{n_listed} of {n_conditions}; {span(predictions.entries_per_case)} per case"
        if predictions.kind != "set":
            ties = percent(int(predictions.has_tie.sum()), n_cases)
            lines["with a tie"] = f"{ties} of cases" if n_cases else ties
        empty = int((predictions.entries_per_case == 0).sum())
        if empty:
            lines["empty"] = f"{percent(empty, n_cases)} of cases"
    told = [f"  {label:<22}{text}" for label, text in lines.items()]
    return "\n".join([f"Predictions of {predictions.name!r}: {said}", *told])
