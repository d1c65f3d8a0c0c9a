"""Bring predictions into the order of a study, matching cases and conditions by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import check_names
from dissensus.core.ragged import take_rows
from dissensus.core.receipt import Note
from dissensus.predictions.lists import Predictions
from dissensus.study.builders import unknown_condition
from dissensus.study.question import ANSWERS, PAIR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dissensus.core.arrays import IntArray


# How many cases that one side lacks are kept by name.
EXAMPLES = 5


def aligned(
    predictions: Predictions, case_names: Sequence[str] | None, conditions: Sequence[str] | None, *, allow_missing: bool
) -> tuple[Predictions, tuple[Note, ...]]:
    """Match cases and conditions by name, and note what only one side had; see :meth:`Predictions.align`."""
    notes: tuple[Note, ...] = ()
    names = predictions.conditions if conditions is None else tuple(conditions)
    if predictions.kind == "numbers" and names and names != predictions.conditions:
        raise DissensusError(
            "the model gives a number per case, but the study asks for conditions",
            expected=f"scores, rankings or sets over {listing(names)}",
            got="numbers",
            where=f"model {predictions.name!r}",
            advice="numbers are for studies of ratings; for a probability of one of two conditions read the file with "
            "kind='scores' and positive=... (--kind scores --positive NAME)",
        )
    if predictions.kind != "numbers" and names != predictions.conditions:
        predictions = with_conditions(predictions, names)
    if case_names is not None and tuple(case_names) != predictions.case_names:
        check_names("case", tuple(case_names))
        match = Match.of(case_names, predictions.case_names)
        notes = match.notes(predictions.name, allow_missing=allow_missing)
        own = set(predictions.case_names)
        predictions = predictions.select([name for name in case_names if name in own])
    return predictions, notes


def repeated(model: Predictions, rows: IntArray, names: Sequence[str]) -> Predictions:
    """Give the predictions at some positions new names; a position may occur several times.

    >>> said = Predictions.from_rankings([["a"], ["b"]], ["a", "b"])
    >>> repeated(said, np.array([1, 1]), ["x", "y"]).to_lists()
    [[['b']], [['b']]]
    """
    offsets, entries = take_rows(model.offsets, rows)
    codes, values = model.codes[entries], model.values[entries]
    return replace(model, case_names=tuple(names), offsets=offsets, codes=codes, values=values)


def aligned_models(
    predictions: Mapping[str, ArrayLike | Predictions],
    case_names: tuple[str, ...],
    conditions: tuple[str, ...],
    *,
    allow_missing: bool = False,
    question: str = "",
) -> dict[str, Predictions]:
    """Return what every model says of the cases and conditions of a study; bare scores are in their order already.

    Files, frames, dictionaries and labelled vectors are read, as :func:`read_predictions` does. A vector holds a number
    per case: a rating, or, where the question is ``"binary"``, the probability of the positive answer.

    Examples
    --------
    >>> models = aligned_models({"A": [[0.7, 0.3], [0.2, 0.8]]}, ("x", "y"), ("cat", "dog"))
    >>> models["A"].case_names, models["A"].conditions
    (('x', 'y'), ('cat', 'dog'))
    """
    from dissensus.predictions.reader import read_predictions

    models = {}
    how: dict[str, Any] = {"findings": question == "findings", "binary": question == "binary"}
    for name, given in predictions.items():
        said: Any = given
        if hasattr(said, "to_frame") and hasattr(said, "dtype"):  # a series, whose index may name the cases
            index = [str(label) for label in getattr(said, "index", ())]
            said = dict(zip(index, said.tolist(), strict=True)) if {*index} & {*case_names} else np.asarray(said)
        is_vector = isinstance(said, np.ndarray | list | tuple) and np.ndim(np.asarray(said, dtype=object)) == 1
        if is_vector and how["binary"]:
            check_length("score", len(said), len(case_names))
            said = dict(zip(case_names, np.asarray(said).tolist(), strict=True))
        if isinstance(said, Predictions):
            pass
        elif is_vector and not conditions:
            said = Predictions.from_numbers(said, case_names=case_names, name=str(name))
        elif isinstance(said, str | PathLike | Mapping) or hasattr(said, "columns"):
            how |= {"conditions": conditions or None, "cases": case_names, "allow_missing": allow_missing}
            said = read_predictions(said, name=str(name), **how)
        else:
            names, findings = conditions or None, how["findings"]
            said = Predictions.from_scores(said, names, case_names=case_names, name=str(name), findings=findings)
        models[str(name)] = said.align(case_names, conditions or None, allow_missing=allow_missing)
    check_names("model", tuple(models))
    return models


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
        sums = (getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        cut: Any = (one[:EXAMPLES] if isinstance(one, tuple) else one for one in sums)
        return Match(*cut)

    def notes(self, name: str, *, allow_missing: bool) -> tuple[Note, ...]:
        """Note what only one side has, or refuse it."""
        where = f"model {name!r}"
        if not self.n_common:
            absent = listing(self.absent, most=3, total=self.n_study)
            raise DissensusError(
                "no case of the study is among the predictions",
                expected=f"the names of {self.n_study} cases, such as {absent}",
                got=f"{self.n_model} cases, such as {listing(self.extra, most=3, total=self.n_model)}",
                where=where,
                advice="use the same names for the cases of the study and of the predictions",
            )
        found = {
            "cases without a prediction": (self.n_study - self.n_common, self.absent),
            "predictions on cases outside the study": (self.n_model - self.n_common, self.extra),
        }
        notes = [Note(what, count, "skipped", names, lost=True) for what, (count, names) in found.items() if count]
        if notes and not allow_missing:
            told = "; ".join(f"{note.count} {note.found} ({listing(note.examples, most=3)})" for note in notes)
            raise DissensusError(
                "the cases of the study and of the predictions differ",
                expected=f"a prediction for each of {self.n_study} cases, and no others",
                got=f"{self.n_model} cases: {told}",
                where=where,
                advice="correct the names, or evaluate the common cases only (allow_missing=True, --allow-missing)",
            )
        return tuple(notes)


# Conditions -------------------------------------------------------------------------------------------


def with_conditions(predictions: Predictions, conditions: tuple[str, ...]) -> Predictions:
    """Put the vocabulary into another order, or add conditions that the model never lists."""
    from dissensus.predictions.forms import Subject

    check_names("condition", conditions)
    known = {name: code for code, name in enumerate(conditions)}
    recoded = np.array([known.get(name, -1) for name in predictions.conditions], dtype=np.int64)
    listed = np.bincount(predictions.codes, minlength=len(recoded)) > 0
    unknown = [predictions.conditions[code] for code in np.flatnonzero(listed & (recoded < 0))]
    if unknown:
        where = f"model {predictions.name!r}; {len(unknown)} unknown: {listing(unknown)}"
        raise unknown_condition(unknown[0], conditions, where)
    # zeros alone were refused before, or are findings
    subject = Subject(predictions.name, conditions, predictions.case_names, findings=True)
    case, codes, values = predictions.case_of_entry, recoded[predictions.codes], predictions.values
    if predictions.complete and len(conditions) == predictions.n_conditions:
        matrix = np.empty((predictions.n_cases, len(conditions)))
        matrix[case, codes] = values
        found = subject.with_all(matrix)
    else:
        found = subject.with_some(predictions.kind, case, codes, values)
    return found.with_receipt(predictions.receipt)


# Findings ---------------------------------------------------------------------------------------------


def predictions_of_finding(model: Predictions, finding: str, case_names: Sequence[str]) -> Predictions:
    """Return what a model says about one finding, for the study that :meth:`Study.of_finding` gives.

    Scores from 0 to 1 are probabilities: what is not present is absent. Where a model has any score outside, for
    whichever finding, its scores are taken as they are, and absent has the opposite. A set is a decision: a finding
    outside it is absent.

    Examples
    --------
    >>> model = Predictions.from_scores([[0.9, 0.0], [0.2, 0.7]], ["AF", "ST"], case_names=["x", "y"], findings=True)
    >>> said = predictions_of_finding(model, "AF", ["x", "y"])
    >>> said.case_names, said.conditions, said.to_scores().tolist()
    (('x / AF', 'y / AF'), ('absent', 'present'), [[0.09999999999999998, 0.9], [0.8, 0.2]])
    """
    from dissensus.predictions.forms import Subject

    if model.kind == "ranking":
        raise DissensusError(
            "an order of findings does not say which are present",
            expected="a score per finding, or the set of those that are present",
            where=f"model {model.name!r}",
        )
    of_cases = model.select(list(case_names))
    listed = of_cases.codes == model.conditions.index(known_name("finding", finding, model.conditions))
    scores = np.zeros(of_cases.n_cases)
    scores[of_cases.case_of_entry[listed]] = of_cases.values[listed]
    subject = Subject(model.name, ANSWERS, tuple(f"{case}{PAIR}{finding}" for case in case_names), findings=True)
    if model.kind == "set":
        answers = (scores > 0).astype(np.int64)  # the answer comes first, and a decision is what comes first
        return subject.with_some("ranking", np.arange(len(scores)), answers, np.ones(len(scores)))
    are_probabilities = bool(((model.values >= 0) & (model.values <= 1)).all())
    absent = 1 - scores if are_probabilities else -scores
    return subject.with_all(np.column_stack([absent, scores]))
