"""What is inside predictions, and what about them deserves a look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.notes import Note
from dissensus.study.diagnosis import percent, plural, span

if TYPE_CHECKING:
    from dissensus.core.aliases import BoolArray, FloatArray
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
    if predictions.kind == "numbers":
        return ()
    if findings:
        notes = _notes_on_findings(predictions)
    else:
        notes = _notes_on_scores(predictions) if predictions.kind == "scores" else _notes_on_lists(predictions)
    return tuple(note for note in notes if note.count)


def _note(predictions: Predictions, what: str, cases: BoolArray, action: str) -> Note:
    examples = tuple(predictions.case_names[case] for case in np.flatnonzero(cases)[:3])
    return Note(what, int(cases.sum()), action, examples)


def _notes_on_findings(predictions: Predictions) -> list[Note]:
    if predictions.kind != "scores":
        return []
    outside = np.zeros(predictions.n_cases, dtype=np.bool_)
    outside[predictions.case_of_entry[(predictions.values < 0) | (predictions.values > 1)]] = True
    listed = np.bincount(predictions.codes, minlength=predictions.n_conditions) > 0
    unlisted = tuple(predictions.conditions[code] for code in np.flatnonzero(~listed))
    action = "kept; the scores of all findings are taken as scores, not as probabilities"
    return [
        _note(predictions, "cases with scores below 0 or above 1", outside, action),
        Note("findings without a score above 0", len(unlisted), "taken as absent on every case", unlisted[:3]),
    ]


def _notes_on_lists(predictions: Predictions) -> list[Note]:
    sizes = predictions.entries_per_case
    empty = "kept, all conditions are tied" if predictions.kind == "ranking" else "kept"
    what = "empty rankings" if predictions.kind == "ranking" else "empty sets"
    whole = sizes == predictions.n_conditions
    notes = [_note(predictions, what, sizes == 0, empty)]
    if predictions.kind == "set":
        notes.append(_note(predictions, "sets of all conditions", whole, "kept"))
    return notes


def _notes_on_scores(predictions: Predictions) -> list[Note]:
    negative = _lowest(predictions) < 0
    notes = [
        _note(
            predictions,
            "cases with the same score for every condition",
            _constant(predictions),
            "kept, all are tied",
        ),
        _note(
            predictions,
            "cases with negative scores",
            negative,
            "kept; logits need a softmax to be probabilities",
        ),
    ]
    if not negative.any():
        off = _sums_off(predictions)
        notes.append(_note(predictions, "cases whose scores do not sum to 1", off, "kept as scores, not probabilities"))
    if not predictions.complete:
        notes += coverage(predictions)
    if predictions.complete and bool(np.isin(predictions.values, (0, 1)).all()):
        action = "kept as scores; say kind='set' if the ones are a set"
        notes.append(Note("cases with scores of 0 and 1 only", predictions.n_cases, action))
    return notes


def coverage(predictions: Predictions) -> list[Note]:
    """Tell of conditions without a score; 0 counts as none, as both are last."""
    listed = np.bincount(predictions.codes, minlength=predictions.n_conditions) > 0
    unlisted = [predictions.conditions[code] for code in np.flatnonzero(~listed)]
    everywhere = f"of {predictions.n_conditions}, taken as not predicted: below all that have one"
    partly = predictions.entries_per_case < listed.sum()
    return [
        Note("conditions without a score", len(unlisted), everywhere, tuple(unlisted[:3])),
        _note(
            predictions,
            "cases on which some of the other conditions have no score",
            partly,
            "taken as not predicted there: below all that have one",
        ),
    ]


def _lowest(predictions: Predictions) -> FloatArray:
    """Return the lowest listed score of each case; scores list at least one."""
    return predictions.values[predictions.offsets[1:] - 1]


def _constant(predictions: Predictions) -> BoolArray:
    every = predictions.entries_per_case == predictions.n_conditions
    highest = predictions.values[predictions.offsets[:-1]]
    constant: BoolArray = every & (highest == _lowest(predictions)) & (predictions.n_conditions > 1)
    return constant


def _sums_off(predictions: Predictions) -> BoolArray:
    """Mark sums other than one; a short list may leave some of the mass out."""
    sums = np.bincount(predictions.case_of_entry, weights=predictions.values, minlength=predictions.n_cases)
    below = (sums < 1 - SUM_TOLERANCE) & predictions.complete
    return below | (sums > 1 + SUM_TOLERANCE)


def description(predictions: Predictions) -> str:
    """Tell a person what is inside; the ``repr`` of :class:`Predictions`."""
    if predictions.kind == "numbers":
        return _description_of_numbers(predictions)
    n_listed = len(np.unique(predictions.codes))
    listed = f"{n_listed} of {predictions.n_conditions}; {span(predictions.entries_per_case)} per case"
    lines = {"conditions listed": listed}
    if predictions.kind != "set":
        ties = percent(int(predictions.has_tie.sum()), predictions.n_cases)
        lines["with a tie"] = f"{ties} of cases" if predictions.n_cases else ties
    empty = int((predictions.entries_per_case == 0).sum())
    if empty:
        lines["empty"] = f"{percent(empty, predictions.n_cases)} of cases"
    head = (
        f"Predictions of {predictions.name!r}: {_counted(predictions)} "
        f"over {plural(predictions.n_conditions, 'condition')}"
    )
    return "\n".join([head, *(f"  {label:<22}{text}" for label, text in lines.items())])


def _description_of_numbers(predictions: Predictions) -> str:
    head = f"Predictions of {predictions.name!r}: numbers on {plural(predictions.n_cases, 'case')}"
    if not predictions.n_cases:
        return head
    numbers, deviations = predictions.numbers, predictions.deviations
    lines = {"lowest to highest": f"{numbers.min():g} to {numbers.max():g}; mean {numbers.mean():.3g}"}
    if deviations is not None:
        lines["standard deviation"] = f"{deviations.min():g} to {deviations.max():g}"
    return "\n".join([head, *(f"  {label:<22}{text}" for label, text in lines.items())])


def _counted(predictions: Predictions) -> str:
    if predictions.kind == "scores":
        return f"scores on {plural(predictions.n_cases, 'case')}"
    return plural(predictions.n_cases, predictions.kind)
