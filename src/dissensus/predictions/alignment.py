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


EXAMPLES = 5
"""How many cases that one side lacks are kept by name."""


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
    if predictions.kind == "numbers":
        _check_no_conditions(predictions, tuple(conditions or ()))
        conditions = None
    if conditions is not None and tuple(conditions) != predictions.conditions:
        predictions = with_conditions(predictions, tuple(conditions))
    if case_names is not None and tuple(case_names) != predictions.case_names:
        check_names("case", tuple(case_names))
        match = Match.of(case_names, predictions.case_names)
        notes = match.notes(predictions.name, allow_missing=allow_missing)
        own = set(predictions.case_names)
        predictions = predictions.select([name for name in case_names if name in own])
    return Aligned(predictions, notes)


def aligned_models(
    predictions: Mapping[str, ArrayLike | Predictions],
    case_names: tuple[str, ...],
    conditions: tuple[str, ...],
    *,
    allow_missing: bool = False,
    findings: bool = False,
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
            said = _from_array(said, case_names, conditions, str(name), findings=findings)
        models[str(name)] = said.align(case_names, conditions or None, allow_missing=allow_missing)
    check_names("model", tuple(models))
    return models


def _from_array(
    given: ArrayLike, case_names: tuple[str, ...], conditions: tuple[str, ...], name: str, *, findings: bool
) -> Predictions:
    """Take bare scores of conditions, or one number per case where the study knows no conditions."""
    if not conditions and not hasattr(given, "columns") and np.ndim(given) == 1:
        return Predictions.from_numbers(given, case_names=case_names, name=name)
    return Predictions.from_scores(given, conditions or None, case_names=case_names, name=name, findings=findings)


# Cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """How the cases of a model fit those of the study.

    Attributes
    ----------
    n_study, n_model, n_common
        Cases of the study, of the model, and of both.
    absent, extra
        The first few names of cases without a prediction, and of predictions on cases outside the study.

    Examples
    --------
    >>> print(*Match(3, 2, 2, absent=("c",)).notes("A", allow_missing=True))
    cases without a prediction: 1, skipped (for example 'c')
    """

    n_study: int = 0
    n_model: int = 0
    n_common: int = 0
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @staticmethod
    def of(study: Sequence[str], model: Sequence[str]) -> Match:
        """Compare the names of cases, all different on each side."""
        known, listed = set(study), set(model)
        absent = tuple(name for name in study if name not in listed)
        extra = tuple(name for name in model if name not in known)
        return Match(len(study), len(model), len(known & listed), absent[:EXAMPLES], extra[:EXAMPLES])

    def __add__(self, other: Match) -> Match:
        return Match(
            self.n_study + other.n_study,
            self.n_model + other.n_model,
            self.n_common + other.n_common,
            (*self.absent, *other.absent)[:EXAMPLES],
            (*self.extra, *other.extra)[:EXAMPLES],
        )

    def notes(self, name: str, *, allow_missing: bool) -> tuple[Note, ...]:
        """Note what only one side has, or refuse it."""
        if not self.n_common:
            raise DissensusError(
                "no case of the study is among the predictions",
                expected=f"the names of {self.n_study} cases, such as {self._some(self.absent, self.n_study)}",
                got=f"{self.n_model} cases, such as {self._some(self.extra, self.n_model)}",
                where=f"model {name!r}",
                advice="use the same names for the cases of the study and of the predictions",
            )
        found = (
            Note("cases without a prediction", self.n_study - self.n_common, "skipped", self.absent, lost=True),
            Note(
                "predictions on cases outside the study", self.n_model - self.n_common, "skipped", self.extra, lost=True
            ),
        )
        notes = tuple(note for note in found if note.count)
        if notes and not allow_missing:
            raise self._refused(name, notes)
        return notes

    def _some(self, names: tuple[str, ...], total: int) -> str:
        return listing(names, most=3, total=total)

    def _refused(self, name: str, notes: tuple[Note, ...]) -> DissensusError:
        found = "; ".join(f"{note.count} {note.found} ({listing(note.examples, most=3)})" for note in notes)
        return DissensusError(
            "the cases of the study and of the predictions differ",
            expected=f"a prediction for each of {self.n_study} cases, and no others",
            got=f"{self.n_model} cases: {found}",
            where=f"model {name!r}",
            advice="correct the names, or evaluate the common cases only (allow_missing=True, --allow-missing)",
        )


# Conditions -------------------------------------------------------------------------------------------


def _check_no_conditions(predictions: Predictions, conditions: tuple[str, ...]) -> None:
    """Refuse numbers about a study of conditions."""
    if conditions and conditions != predictions.conditions:
        raise DissensusError(
            "the model gives a number per case, but the study asks for conditions",
            expected=f"scores, rankings or sets over {listing(conditions)}",
            got="numbers",
            where=f"model {predictions.name!r}",
            advice="numbers are for studies of ratings; for a probability of one of two conditions read the file with "
            "kind='scores' and positive=... (--kind scores --positive NAME)",
        )


def with_conditions(predictions: Predictions, conditions: tuple[str, ...]) -> Predictions:
    """Put the vocabulary into another order, or add conditions that the model never lists."""
    check_names("condition", conditions)
    recoded = _recoded(predictions, conditions)
    entries = Entries(predictions.case_of_entry, recoded[predictions.codes], predictions.values)
    if predictions.complete and len(conditions) > predictions.n_conditions:
        subject = Subject(predictions.name, conditions, predictions.case_names)
        return assembled_scores(entries, subject, findings=True)  # zeros alone were refused before, or are findings
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
