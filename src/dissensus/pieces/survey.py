"""The first look at every piece: what has to be known of all cases before any is evaluated."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dissensus.aggregations.case_prior import LEARNING_CASES
from dissensus.aggregations.priors import Lessons, ScoreRange
from dissensus.core.aliases import Unranked
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import in_order_of_keys
from dissensus.core.notes import Note
from dissensus.core.receipt import Column, Receipt
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, MOST_CASES, shared_cases
from dissensus.pieces.piece import Piece, Reading, placed
from dissensus.predictions.lists import PredictionKind, common_kind
from dissensus.study.question import chosen_question, conditions_asked

Value = TypeVar("Value")

# So many annotators are counted by name; of more it is only known that there are more.
MOST_NAMES = 100_000

UNSCORED = "conditions without a score"
NEGATIVE, SUMS = "cases with negative scores", "cases whose scores do not sum to 1"
BINARY = "cases with scores of 0 and 1 only"
SAY_FORMAT = "say which it is, for example --format long (format='long')"


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of some pieces; surveys add up, in any order to the same.

    Attributes
    ----------
    kind, format, unranked
        Rankings, ratings or checklists, how they are written, and what it means not to be mentioned.
    conditions
        All conditions: as they are given where all pieces have the same, in alphabetical order otherwise.
    n_cases, has_groups
        Cases, and whether they are grouped.
    annotators
        Their names in alphabetical order; nothing where there are more than 100 000.
    crossed
        How many cases each annotator shares with another one; nothing once it is known that enough do.
    kinds, listed, widest
        By model: the kind of its predictions, the conditions that any case lists, and how many a case lists at most.
    lessons, n_counted
        What aggregations learn, and the number of opinions that count, by finding; under the name "" for a study of
        cases.
    everyone, annotated
        Samples of all cases, and of those with an opinion: those with the smallest keys, in the order of keys.
    receipts
        What was understood of the files: of opinions, then of each model.
    """

    kind: str
    format: str | None
    unranked: Unranked | None
    conditions: tuple[str, ...]
    n_cases: int
    has_groups: bool
    annotators: tuple[str, ...] | None
    crossed: Mapping[str, int] | None
    kinds: Mapping[str, PredictionKind]
    listed: Mapping[str, tuple[str, ...]]
    widest: Mapping[str, int]
    lessons: Mapping[str, Lessons]
    n_counted: Mapping[str, int]
    everyone: tuple[str, ...]
    annotated: tuple[str, ...]
    receipts: tuple[Receipt, ...]

    @staticmethod
    def of(piece: Piece) -> Survey:
        """Look at the cases of a piece."""
        study, asked = piece.study, piece.questions
        counted = study.counted.panel.votes_per_case > 0
        parts = {finding: asked.of_part(rows) for finding, rows in asked.parts.items()}
        known = {name: model for name, model in piece.models.items() if model.n_cases}
        people = zip(asked.study.counted.panel.annotator_names, shared_cases(asked.study), strict=False)
        return Survey(
            study.kind,
            None if study.receipt is None else study.receipt.format,
            getattr(study, "unranked", None),
            study.conditions,
            study.n_cases,
            bool(study.groups),
            _few(study.annotator_names),
            _unsettled({name: int(count) for name, count in people if count}),
            {name: model.kind for name, model in known.items()},
            {name: _names(model.conditions[code] for code in np.unique(model.codes)) for name, model in known.items()},
            {name: int(model.entries_per_case.max(initial=0)) for name, model in asked.models.items()},
            {finding: Lessons.of(*part) for finding, part in parts.items()},
            {finding: int(rows.counted.panel.votes_per_case.sum()) for finding, (rows, _) in parts.items()},
            _sampled(study.case_names, MOST_CASES),
            _sampled([name for name, count in zip(study.case_names, counted, strict=True) if count], LEARNING_CASES),
            piece.receipts,
        )

    def __add__(self, other: Survey) -> Survey:
        if self.has_groups != other.has_groups:
            raise DissensusError(
                "a case has no group although others have one",
                expected="a group for every case, or for none",
                advice="give a case that stands alone a group of its own",
            )
        same = self.conditions == other.conditions
        people = None if None in (self.annotators, other.annotators) else (*self.annotators, *other.annotators)  # type: ignore[misc]  # neither is missing
        return Survey(
            _same("kind", self.kind, other.kind, "say which it is (--format)"),
            _same("format", self.format, other.format, SAY_FORMAT),
            _same("meaning of not being mentioned", self.unranked, other.unranked, "say it (--unranked)"),
            self.conditions if same else _names((*self.conditions, *other.conditions)),
            self.n_cases + other.n_cases,
            self.has_groups,
            _few(people),
            None
            if self.crossed is None or other.crossed is None
            else _unsettled(_joined(self.crossed, other.crossed, int.__add__)),
            _joined(self.kinds, other.kinds, common_kind),
            _joined(self.listed, other.listed, lambda one, more: _names((*one, *more))),
            _joined(self.widest, other.widest, max),
            _joined(self.lessons, other.lessons, Lessons.__add__),
            _joined(self.n_counted, other.n_counted, int.__add__),
            _sampled((*self.everyone, *other.everyone), MOST_CASES),
            _sampled((*self.annotated, *other.annotated), LEARNING_CASES),
            tuple(merged_receipts(pair) for pair in zip(self.receipts, other.receipts, strict=True)),
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings of checklists; none for a study of cases."""
        return tuple(filter(None, self.lessons))

    def unlisted(self, model: str) -> tuple[str, ...]:
        """Name the conditions that a model lists on no case."""
        listed = set(self.listed.get(model, ()))
        return tuple(name for name in self.conditions if name not in listed)

    def said_to(self, reading: Reading) -> Reading:
        """Say to every piece what was found out of all: the format, the conditions and the kinds of predictions."""
        found = {**reading.kinds, **self.kinds}
        return replace(reading, format=self.format or reading.format, conditions=self.conditions or None, kinds=found)

    def in_order_of(self, reading: Reading) -> Survey:
        """Put the conditions into the order of what was asked.

        Examples
        --------
        >>> from dissensus import Study
        >>> study = Study.from_rankings([[[["Melanoma"]], [["Nevus"]]]])
        >>> Survey.of(Piece(study, {}, {}, ())).in_order_of(Reading("opinions/", positive="Melanoma")).conditions
        ('Nevus', 'Melanoma')
        """
        if not self.conditions:
            return self
        asked = chosen_question(reading.question, reading.positive) or "conditions"
        ordered = reading.conditions is not None
        with placed(reading.place):
            return replace(
                self, conditions=conditions_asked(asked, self.conditions, reading.positive, are_ordered=ordered)
            )


# What may be in the file of a piece that was looked at.
CLASSES = (Survey, Lessons, ScoreRange, Receipt, Column, Note)


def survey_piece(settings: bytes, payload: bytes) -> bytes:
    """Look at the cases of a piece: the work of the first pass; nothing if it has none that all models have."""
    piece = Piece.read(payload, pickle.loads(settings))
    return bundled(None if piece is None else Survey.of(piece))


def survey_from(data: bytes) -> Survey | None:
    """Read what :func:`survey_piece` gave."""
    found: Any = restored(data, CLASSES)
    assert found is None or isinstance(found, Survey)
    return found


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _few(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    different = _names(names or ())
    return None if names is None or len(different) > MOST_NAMES else different


def _sampled(names: Sequence[str], most: int) -> tuple[str, ...]:
    return tuple(names[place] for place in in_order_of_keys(names)[:most])


def _unsettled(counts: Mapping[str, int]) -> Mapping[str, int] | None:
    """Keep counts until enough annotators share enough cases."""
    enough = sum(count >= LEAST_COMMON for count in counts.values()) >= LEAST_ANNOTATORS
    return None if enough else dict(sorted(counts.items()))


def _joined(one: Mapping[str, Value], other: Mapping[str, Value], add: Any) -> dict[str, Value]:
    """Add what both have under the same name; what one has stays."""
    both = {**one, **other}
    return {name: add(one[name], other[name]) if name in one and name in other else both[name] for name in sorted(both)}


def _same(what: str, one: Value, other: Value, advice: str) -> Value:
    if one == other:
        return one
    raise DissensusError(
        f"the {what} is not the same in all pieces of the study",
        expected=f"one {what}",
        got=listing(sorted(map(str, (one, other)))),
        advice=advice,
    )


# Receipts -----------------------------------------------------------------------------------------------


def merged_receipts(
    receipts: Iterable[Receipt], *, notes: Sequence[Note] = (), unlisted: Sequence[str] | None = None
) -> Receipt:
    """Put the receipts of all pieces of an input, in the order of pieces, together: the files are one input.

    Parameters
    ----------
    receipts
        Of the pieces; the examples are those of the first, notes add up.
    notes
        What is known of all cases, such as those that a model alone has; a note takes the place of those of pieces.
    unlisted
        The conditions that a model lists nowhere; pieces only tell how many there are at most.

    Examples
    --------
    >>> one = Receipt("opinions/", "long", notes=(Note("rows with 0 votes", 2, "kept"),))
    >>> print(merged_receipts([one, one]).notes[0])
    rows with 0 votes: 4, kept
    """
    known = list(receipts)
    told = [receipt for receipt in known if receipt.format] or known
    for receipt in told[1:]:
        _same("format", told[0].format, receipt.format, SAY_FORMAT)
    sums: dict[str, Note] = {}
    for note in (note for receipt in known for note in receipt.notes):
        before = sums.get(note.found)
        if before is None or (note.found == UNSCORED and note.count < before.count):  # many pieces have the same ones
            sums[note.found] = note
        elif note.found != UNSCORED:
            most = max(len(before.examples), len(note.examples))
            examples = tuple(dict.fromkeys((*before.examples, *note.examples)))[:most]
            sums[note.found] = replace(before, count=before.count + note.count, examples=examples)
    sums |= {note.found: note for note in notes}
    if UNSCORED in sums and unlisted is not None:
        sums[UNSCORED] = replace(sums[UNSCORED], count=len(unlisted), examples=tuple(unlisted[:3]))
    if NEGATIVE in sums:
        sums.pop(SUMS, None)
    for found in (UNSCORED, BINARY):
        if not all(any(note.found == found for note in receipt.notes) for receipt in told):
            sums.pop(found, None)
    assumed = tuple(dict.fromkeys(sentence for receipt in told for sentence in receipt.assumed))
    return replace(told[0], assumed=assumed, notes=tuple(note for note in sums.values() if note.count))
