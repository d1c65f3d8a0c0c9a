"""Bring predictions into the order of a study, matching cases and conditions by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import check_names
from dissensus.core.notes import Note
from dissensus.predictions.entries import Entries, Subject, assembled_scores
from dissensus.predictions.lists import Predictions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from dissensus.core.aliases import IntArray


@dataclass(frozen=True)
class Aligned:
    """Predictions in the order of a study, and notes on what only one side had."""

    predictions: Predictions
    notes: tuple[Note, ...] = ()


def aligned(
    predictions: Predictions,
    case_names: Sequence[str] | None,
    conditions: Sequence[str] | None,
    *,
    allow_missing: bool,
) -> Aligned:
    """Match cases and conditions by name; see :meth:`Predictions.align`."""
    notes: tuple[Note, ...] = ()
    if conditions is not None and tuple(conditions) != predictions.conditions:
        predictions = with_conditions(predictions, tuple(conditions))
    if case_names is not None and tuple(case_names) != predictions.case_names:
        notes = _unmatched_cases(predictions, tuple(case_names))
        if notes and not allow_missing:
            raise _missing_cases(predictions, tuple(case_names), notes)
        own = set(predictions.case_names)
        predictions = predictions.select([name for name in case_names if name in own])
    return Aligned(predictions, notes)


def aligned_models(
    predictions: Mapping[str, ArrayLike | Predictions],
    case_names: tuple[str, ...],
    conditions: tuple[str, ...],
    *,
    allow_missing: bool = False,
) -> dict[str, Predictions]:
    """Return what every model says of the cases and conditions of a study; bare scores are in their order already.

    Examples
    --------
    >>> models = aligned_models({"A": [[0.7, 0.3], [0.2, 0.8]]}, ("x", "y"), ("cat", "dog"))
    >>> models["A"].case_names, models["A"].conditions
    (('x', 'y'), ('cat', 'dog'))
    """
    models = {}
    for name, given in predictions.items():
        said = given
        if not isinstance(said, Predictions):
            said = Predictions.from_scores(said, conditions or None, case_names=case_names, name=str(name))
        models[str(name)] = said.align(case_names, conditions or said.conditions, allow_missing=allow_missing)
    check_names("model", tuple(models))
    return models


# Cases ------------------------------------------------------------------------------------------------


def _unmatched_cases(predictions: Predictions, case_names: tuple[str, ...]) -> tuple[Note, ...]:
    check_names("case", case_names)
    own, wanted = set(predictions.case_names), set(case_names)
    if not own & wanted:
        raise DissensusError(
            "no case of the study is among the predictions",
            expected=f"the names of {len(wanted)} cases, such as {listing(case_names, most=3)}",
            got=f"{len(own)} cases, such as {listing(predictions.case_names, most=3)}",
            where=f"model {predictions.name!r}",
            advice="use the same names for the cases of the study and of the predictions",
        )
    absent = tuple(name for name in case_names if name not in own)
    extra = tuple(name for name in predictions.case_names if name not in wanted)
    found = {"cases without a prediction": absent, "predictions on cases outside the study": extra}
    return tuple(Note(what, len(names), "skipped", names[:5], lost=True) for what, names in found.items() if names)


def _missing_cases(predictions: Predictions, case_names: tuple[str, ...], notes: tuple[Note, ...]) -> DissensusError:
    found = "; ".join(f"{note.count} {note.found} ({listing(note.examples, most=3)})" for note in notes)
    return DissensusError(
        "the cases of the study and of the predictions differ",
        expected=f"a prediction for each of {len(case_names)} cases, and no others",
        got=f"{predictions.n_cases} cases: {found}",
        where=f"model {predictions.name!r}",
        advice="correct the names, or evaluate the common cases only (allow_missing=True, --allow-missing)",
    )


# Conditions -------------------------------------------------------------------------------------------


def with_conditions(predictions: Predictions, conditions: tuple[str, ...]) -> Predictions:
    """Put the vocabulary into another order, or add conditions that the model never lists."""
    check_names("condition", conditions)
    recoded = _recoded(predictions, conditions)
    entries = Entries(predictions.case_of_entry, recoded[predictions.codes], predictions.values)
    if predictions.complete and len(conditions) > predictions.n_conditions:
        return assembled_scores(entries, Subject(predictions.name, conditions, predictions.case_names))
    entries = entries.sorted()
    return Predictions(
        predictions.name,
        predictions.kind,
        conditions,
        predictions.case_names,
        predictions.offsets,
        entries.codes,
        entries.values,
        predictions.complete,
    ).with_receipt(predictions.receipt)


def _recoded(predictions: Predictions, conditions: tuple[str, ...]) -> IntArray:
    known = {name: code for code, name in enumerate(conditions)}
    codes = np.array([known.get(name, -1) for name in predictions.conditions], dtype=np.int64)
    listed = np.bincount(predictions.codes, minlength=len(codes)) > 0
    unknown = [predictions.conditions[code] for code in np.flatnonzero(listed & (codes < 0))]
    if unknown:
        raise DissensusError(
            f"unknown condition {unknown[0]!r}",
            expected=f"one of the {len(conditions)} conditions of the study",
            got=f"{len(unknown)} unknown: {listing(unknown)}",
            where=f"model {predictions.name!r}",
            advice=suggestion(unknown[0], conditions) or "correct the names, or add them to the conditions",
        )
    return codes
