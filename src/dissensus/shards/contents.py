"""How the rows of a shard become a study and predictions, and what must be known of all shards before any is evaluated.

Shards are read by the same readers, with the same options, as a study that fits into memory. What a reader finds out
from its rows, such as the list of conditions or whether a table of numbers holds sets, is found out of all shards first
and then said to every one of them (:meth:`Reading.knowing`). A study of integers and words for labels, some of whose
shards hold nothing but integers, needs the list of conditions, as integers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

import numpy as np
import polars as pl

from dissensus.core.aliases import Confidence, Duplicates, Lists, Question, Unranked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import Source
from dissensus.core.limits import Limits
from dissensus.core.notes import Note
from dissensus.core.receipt import Receipt
from dissensus.predictions import reader
from dissensus.predictions.forms import case_column
from dissensus.predictions.lists import PredictionKind, Predictions, common_kind
from dissensus.predictions.reader import PredictionOptions, PredictionReading
from dissensus.shards.tables import Tables
from dissensus.study import reading as study_reading
from dissensus.study.question import chosen_question, conditions_asked
from dissensus.study.reading.format import Options
from dissensus.study.study import Study
from dissensus.study.tables import ALIASES, find_columns, labels_of_cases, missing_column

Value = TypeVar("Value")

MOST_NAMES = 100_000
"""So many annotators are counted by name; of more it is only known that there are more."""

MOST_EXAMPLES = 5
CASE = {"case": ALIASES["case"]}
SHARED_NAMES = ("annotator", "condition", "group")
"""Roles of columns whose names occur in several shards."""

SEEN = 1000
"""Rows that are looked at to tell which column holds the cases."""

ROWS = re.compile(r"(data )?rows? [0-9]+")
"""A number of a row, which is that of the shard and says nothing about the user's files."""

UNSCORED = "conditions without a score"
NEGATIVE, SUMS = "cases with negative scores", "cases whose scores do not sum to 1"
BINARY = "cases with scores of 0 and 1 only"


@dataclass(frozen=True)
class Reading:
    """How the tables of a shard become a study and predictions: the options of the ordinary readers.

    Attributes
    ----------
    place, models, strata_place
        What the user gave for the study, for every model by its name, and for the strata: errors name it.
    format, format_is_given
        The format of the study, and whether the user named it or it was recognised.
    conditions, columns, ignore, tie_separator, bucket_order, unranked, duplicates, confidence, lists, nothing
        As in :func:`dissensus.examine_annotations`.
    question, limits
        As there.
    kinds, positive, allow_missing
        Kind of predictions by model, and as in :func:`dissensus.read_predictions`; the positive condition is that of
        the study, too.

    Examples
    --------
    >>> reading = Reading("opinions/", models={"A": "scores/"})
    >>> study = reading.study(pl.DataFrame({"case": ["c1"], "annotator": ["Ann"], "label": ["Eczema"]})).study
    >>> reading.model("A", pl.DataFrame({"case": ["c1"], "Eczema": [0.2], "Tinea": [0.8]}), study).receipt.path
    'scores/'
    """

    place: str
    models: Mapping[str, str] = field(default_factory=dict)
    strata_place: str = ""
    format: str | None = None
    format_is_given: bool = False
    conditions: tuple[str, ...] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    tie_separator: str | None = None
    bucket_order: tuple[str, ...] | None = None
    unranked: Unranked | None = None
    duplicates: Duplicates = "refuse"
    confidence: Confidence | None = None
    lists: Lists | None = None
    nothing: str | None = None
    question: Question | None = None
    limits: Mapping[str, int | str] = field(default_factory=dict)
    kinds: Mapping[str, PredictionKind] = field(default_factory=dict)
    positive: str | None = None
    allow_missing: bool = False

    # Which columns ------------------------------------------------------------------------------------

    def case_column(self, tables: Tables) -> str:
        """Find the column of a study that names the cases: as said, by its name, or the first one."""
        taken = {name for role, name in self.columns.items() if role != "case"}
        names = [name for name in tables.columns if name not in taken and name not in self.ignore]
        with _Told(self.place):
            found = find_columns(names, {"case": self.columns.get("case")}, aliases=CASE, required=())
        return found.get("case", tables.columns[0])

    def case_column_of_model(self, name: str, tables: Tables) -> str:
        """Find the column of predictions that names the cases."""
        with _Told(self.models[name]):
            found = case_column(tables.head(SEEN), self.conditions)
            if found is None:
                raise missing_column("case", CASE["case"], tables.columns)
            return found

    def case_column_of_strata(self, tables: Tables) -> str:
        """Find the column of strata that names the cases."""
        with _Told(self.strata_place):
            return find_columns(tables.columns, {}, required=("case",))["case"]

    # Reading ------------------------------------------------------------------------------------------

    def study(self, frame: pl.DataFrame) -> study_reading.Reading:
        """Read the study of a shard; errors name what the user gave, and the case."""
        limits = Limits.given(self.limits)
        with _Told(self.place):
            limits.check("columns", len(frame.columns), where=self.place)
            self._refuse_fractions(frame)
            source = Source(FilePath(self.place), "parquet", frame)
            found = study_reading.examine_source(
                source, self.format, options=self._options(limits), ignore=self.ignore, place=self.place
            )
        receipt = replace(found.receipt, path=self.place)
        return replace(found, study=found.study.with_receipt(receipt), receipt=receipt)

    def _refuse_fractions(self, frame: pl.DataFrame) -> None:
        """Refuse names that are numbers with a fraction: whole ones beside them are integers in some shards only."""
        given = {role: name for role, name in self.columns.items() if role in ALIASES}
        for role, name in find_columns(frame.columns, given, required=()).items():
            known = frame[name].drop_nulls()
            if role in SHARED_NAMES and known.dtype.is_float() and (known != known.round()).any():
                raise DissensusError(
                    f"the {role} of a row is a number with a fraction",
                    expected="text, or whole numbers",
                    got=f"{known.filter(known != known.round())[0]} in the column {name!r}",
                    advice="write the names as text",
                )

    def _options(self, limits: Limits) -> Options:
        return Options(
            conditions=self.conditions,
            columns=self.columns,
            tie_separator=self.tie_separator,
            bucket_order=self.bucket_order,
            unranked=self.unranked,
            duplicates=self.duplicates,
            confidence=self.confidence,
            lists=self.lists,
            nothing=self.nothing,
            **self._asked(),
            format_is_given=self.format_is_given,
            limits=limits,
        )

    def _asked(self) -> dict[str, Any]:
        """Return what was asked; a shard need not have both conditions of a binary question until all are known."""
        if self.conditions is None and self.question != "grades":
            return {}
        return {"question": self.question, "positive": self.positive}

    def model(self, name: str, frame: pl.DataFrame, study: Study) -> PredictionReading:
        """Read the predictions of a model on the cases of a shard.

        As long as the conditions of the whole study are not known (:meth:`knowing`), the model names them itself: what
        it says of conditions that are in no shard's study is found out later. A shard for which a model has nothing is
        empty predictions, if they may be missing.
        """
        place = self.models[name]
        with _Told(place):
            source = Source(FilePath(place), "parquet", frame)
            if not len(frame):
                return self._nothing(name, source, study)
            found = self._examined(name, source, study)
        receipt = replace(found.receipt, path=place)
        return replace(found, predictions=found.predictions.with_receipt(receipt), receipt=receipt)

    def _examined(self, name: str, source: Source, study: Study) -> PredictionReading:
        options = PredictionOptions(
            name,
            self.conditions,
            study.case_names,
            kind=self.kinds.get(name),
            positive=self.positive,
            findings=study.kind == "checklists",
        )
        how: Any = {"allow_missing": self.allow_missing}
        are_known = self.conditions is not None or not study.conditions
        own = options if are_known else replace(options, conditions=study.conditions)
        if are_known or len(source.table.columns) == 2:  # one number per case does not name conditions
            return reader.examine_source(source, options=own, **how)
        try:
            return reader.examine_source(source, options=options, **how)
        except DissensusError:
            return reader.examine_source(source, options=own, **how)  # codes need names

    def _nothing(self, name: str, source: Source, study: Study) -> PredictionReading:
        note = Note("cases without a prediction", study.n_cases, "skipped", study.case_names[:MOST_EXAMPLES], lost=True)
        if not self.allow_missing:
            raise DissensusError(
                "the cases of the study and of the predictions differ",
                expected="a prediction for each case, and no others",
                got=f"{note.count} {note.found} ({listing(note.examples, most=3)})",
                where=f"model {name!r}",
                advice="correct the names, or evaluate the common cases only (allow_missing=True, --allow-missing)",
            )
        nobody, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
        conditions = self.conditions if self.conditions is not None else study.conditions
        kind = self.kinds.get(name, "scores")
        empty = Predictions(name, kind, conditions, (), nobody, nothing, np.empty(0))
        receipt = Receipt(self.models[name], "", notes=(note,))
        return PredictionReading(empty.with_receipt(receipt), receipt, replace(source, content=None))

    def strata(self, frame: pl.DataFrame, study: Study) -> dict[str, tuple[str, ...]]:
        """Read the columns that group cases, aligned to the cases of a shard by name."""
        with _Told(self.strata_place):
            return labels_of_cases(frame, study.case_names)

    # What is known of the whole -----------------------------------------------------------------------

    def knowing(self, contents: Contents) -> Reading:
        """Say to every shard what was found out of all: the format, the conditions and the kinds of predictions."""
        found = {name: model.kind for name, model in contents.models.items() if model.kind is not None}
        return replace(
            self,
            format=contents.format or self.format,
            conditions=contents.conditions or None,
            kinds={**self.kinds, **found},
        )

    def in_order(self, contents: Contents) -> Contents:
        """Put the conditions of all shards into the order of what was asked.

        Examples
        --------
        >>> from dissensus import Annotations
        >>> found = Contents.of(Annotations.from_rankings([[[["Melanoma"]], [["Nevus"]]]]), {})
        >>> Reading("opinions/", positive="Melanoma").in_order(found).conditions
        ('Nevus', 'Melanoma')
        """
        if not contents.conditions:
            return contents
        asked = chosen_question(self.question, self.positive) or "conditions"
        with _Told(self.place):
            order = conditions_asked(asked, contents.conditions, self.positive, are_ordered=self.conditions is not None)
        return replace(contents, conditions=order)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold.

        Examples
        --------
        >>> Reading("opinions/", conditions=("a", "b")).to_dict()["conditions"]
        ['a', 'b']
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


class _Told:
    """Let errors name what the user gave, and cases, but neither rows of a shard nor files inside."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, DissensusError):
            raise _placed(error, self.place) from None


def _placed(error: DissensusError, place: str) -> DissensusError:
    """Put the place in front, and take numbers of rows out."""
    within = error.where.replace(str(FilePath(place)), place).removeprefix(place).lstrip(", ")
    parts = [ROWS.sub("", part).strip() for part in within.split(", ")]
    got = "several rows" if ROWS.match(error.got) else error.got
    where = ", ".join(part for part in (place, *parts) if part)
    return type(error)(error.problem, expected=error.expected, got=got, where=where, advice=error.advice)


# What is inside -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelContents:
    """What must be known of all predictions of a model.

    Attributes
    ----------
    kind
        ``"scores"``, ``"ranking"`` or ``"set"``; nothing if there are no predictions.
    n_cases
        Cases with a prediction.
    complete
        Whether every case has a score for every condition.
    listed
        The conditions that any case lists, in alphabetical order.
    """

    kind: PredictionKind | None = None
    n_cases: int = 0
    complete: bool = True
    listed: tuple[str, ...] = ()

    @staticmethod
    def of(model: Predictions) -> ModelContents:
        """Look at the predictions of a shard."""
        if not model.n_cases:
            return ModelContents()
        return ModelContents(
            model.kind,
            model.n_cases,
            model.complete,
            tuple(sorted(model.conditions[code] for code in np.unique(model.codes))),
        )

    def __add__(self, other: ModelContents) -> ModelContents:
        return ModelContents(
            common_kind(self.kind, other.kind),
            self.n_cases + other.n_cases,
            self.complete and other.complete,
            _union(self.listed, other.listed),
        )


@dataclass(frozen=True)
class Contents:
    """What must be known of all shards before any is evaluated; it adds up, in any order to the same.

    Attributes
    ----------
    kind, format, unranked
        Rankings or ratings, how they are written, and what it means not to be mentioned.
    conditions
        All conditions: as they are given where all shards have the same, in alphabetical order otherwise.
    n_cases, n_opinions, n_votes, n_annotated_cases
        Cases, opinions, votes, and cases with an opinion that counts.
    excluded
        The first few cases without one, in alphabetical order.
    has_groups
        Whether cases are grouped.
    largest_case_weight
        The largest weight of a case with an opinion that counts.
    annotator_names
        In alphabetical order; nothing where there are more than 100 000.
    scale
        The lowest and the highest rating.
    models, strata
        What is known of every model, and the labels of every column of strata.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> one = Annotations.from_rankings([[[["b"]], [["c"]]]], annotator_names=["A", "B"], case_names=["x"])
    >>> other = Annotations.from_rankings([[[["a"]]]], annotator_names=["A"], case_names=["y"])
    >>> found = Contents.of(one, {}) + Contents.of(other, {})
    >>> found.conditions, found.n_cases, found.n_annotators
    (('a', 'b', 'c'), 2, 2)
    """

    kind: str
    format: str | None
    unranked: Unranked | None
    conditions: tuple[str, ...]
    n_cases: int
    n_opinions: int
    n_votes: int
    n_annotated_cases: int
    excluded: tuple[str, ...]
    has_groups: bool
    largest_case_weight: float
    annotator_names: tuple[str, ...] | None
    scale: tuple[float, float] | None = None
    models: Mapping[str, ModelContents] = field(default_factory=dict)
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(
        study: Study,
        models: Mapping[str, Predictions],
        strata: Mapping[str, Sequence[str] | Mapping[str, str]] | None = None,
    ) -> Contents:
        """Look at a shard: its study, the predictions on it by model, and the labels of its cases by column.

        The labels of a column are in the order of cases, or by their names.
        """
        counted = np.bincount(study.counted.panel.case_of_opinion, minlength=study.n_cases) > 0
        annotated = [study.case_names[case] for case in np.flatnonzero(counted)]
        others = sorted(study.case_names[case] for case in np.flatnonzero(~counted))
        return Contents(
            study.kind,
            None if study.receipt is None else study.receipt.format,
            study.unranked if study.kind == "rankings" else None,
            study.conditions,
            study.n_cases,
            study.n_opinions,
            study.n_votes,
            len(annotated),
            tuple(others[:MOST_EXAMPLES]),
            bool(study.groups),
            float(study.case_weights[counted].max(initial=0.0)),
            _few(study.annotator_names),
            study.scale,
            {name: ModelContents.of(model) for name, model in models.items()},
            {column: _labels(labels) for column, labels in (strata or {}).items()},
        )

    @property
    def n_excluded(self) -> int:
        """Number of cases without an opinion that counts."""
        return self.n_cases - self.n_annotated_cases

    @property
    def n_annotators(self) -> int | None:
        """Number of annotators with a name; nothing where there are more than 100 000."""
        return None if self.annotator_names is None else len(self.annotator_names)

    @property
    def kinds(self) -> dict[str, PredictionKind]:
        """Kind of predictions by model, where there are any."""
        return {name: model.kind for name, model in self.models.items() if model.kind is not None}

    def unlisted(self, model: str) -> tuple[str, ...]:
        """Name the conditions that a model lists on no case."""
        listed = set(self.models[model].listed)
        return tuple(name for name in self.conditions if name not in listed)

    def __add__(self, other: Contents) -> Contents:
        conditions = self.conditions
        if conditions != other.conditions:
            conditions = _union(conditions, other.conditions)
        return Contents(
            _same("kind", self.kind, other.kind, "say which it is (--format)"),
            _same("format", self.format, other.format, "say which it is (--format)"),
            _same("meaning of not being mentioned", self.unranked, other.unranked, "say it (--unranked)"),
            conditions,
            self.n_cases + other.n_cases,
            self.n_opinions + other.n_opinions,
            self.n_votes + other.n_votes,
            self.n_annotated_cases + other.n_annotated_cases,
            _union(self.excluded, other.excluded)[:MOST_EXAMPLES],
            _both_grouped(self.has_groups, other.has_groups),
            max(self.largest_case_weight, other.largest_case_weight),
            _few(_joined(self.annotator_names, other.annotator_names)),
            _span(self.scale, other.scale),
            _added(self.models, other.models, ModelContents.__add__),
            _added(self.strata, other.strata, _union),
        )


def _labels(labels: Sequence[str] | Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(set(map(str, labels.values() if isinstance(labels, Mapping) else labels))))


def _union(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))


def _joined(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if one is None or other is None else (*one, *other)


def _few(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return different names in alphabetical order; nothing if they are too many to be kept."""
    different = set(names or ())
    return None if names is None or len(different) > MOST_NAMES else tuple(sorted(different))


def _span(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _added(one: Mapping[str, Value], other: Mapping[str, Value], add: Any) -> dict[str, Value]:
    """Add what both have under the same name; what one has stays."""
    names = sorted({*one, *other})
    return {
        name: add(one[name], other[name]) if name in one and name in other else {**one, **other}[name] for name in names
    }


def _same(what: str, one: Value, other: Value, advice: str) -> Value:
    if one == other:
        return one
    raise DissensusError(
        f"the {what} is not the same in all parts of the study",
        expected=f"one {what}",
        got=listing(sorted(map(str, (one, other)))),
        advice=advice,
    )


def _both_grouped(one: bool, other: bool) -> bool:
    if one == other:
        return one
    raise DissensusError(
        "a case has no group although others have one",
        expected="a group for every case, or for none",
        advice="give a case that stands alone a group of its own",
    )


# Receipts -----------------------------------------------------------------------------------------------


def merged_receipts(
    receipts: Iterable[Receipt], *, notes: Sequence[Note] = (), unlisted: Sequence[str] | None = None
) -> Receipt:
    """Put the receipts of all shards of an input, in the order of shards, together: the files are one input.

    Parameters
    ----------
    receipts
        Of the shards; the examples are those of the first, notes add up.
    notes
        What is known of the whole, such as cases that a model alone has; a note takes the place of those of shards.
    unlisted
        The conditions that a model lists nowhere, see :meth:`Contents.unlisted`; shards only tell how many there are at
        most.

    Examples
    --------
    >>> one = Receipt("opinions/", "long", notes=(Note("rows with 0 votes", 2, "kept"),))
    >>> print(merged_receipts([one, one]).notes[0])
    rows with 0 votes: 4, kept
    """
    known = list(receipts)
    told = [receipt for receipt in known if receipt.format] or known
    first = told[0]
    _refuse_several({receipt.format for receipt in told}, first.path)
    sums = {**_summed(known), **{note.found: note for note in notes}}
    if UNSCORED in sums and unlisted is not None:
        sums[UNSCORED] = replace(sums[UNSCORED], count=len(unlisted), examples=tuple(unlisted[:3]))
    if NEGATIVE in sums:
        sums.pop(SUMS, None)
    for found in (UNSCORED, BINARY):
        if not all(any(note.found == found for note in receipt.notes) for receipt in told):
            sums.pop(found, None)
    assumed = tuple(dict.fromkeys(sentence for receipt in told for sentence in receipt.assumed))
    return replace(first, assumed=assumed, notes=tuple(note for note in sums.values() if note.count))


def _refuse_several(formats: set[str], path: str) -> None:
    if len(formats) > 1:
        raise DissensusError(
            "the parts of the input fit several formats",
            expected="one format",
            got=listing(sorted(formats)),
            where=path,
            advice="say which it is, for example --format long (format='long')",
        )


def _summed(receipts: Sequence[Receipt]) -> dict[str, Note]:
    """Add notes up; of conditions without a score, which are the same in many shards, the fewest count."""
    sums: dict[str, Note] = {}
    for note in (note for receipt in receipts for note in receipt.notes):
        before = sums.get(note.found)
        if before is None or (note.found == UNSCORED and note.count < before.count):
            sums[note.found] = note
        elif note.found != UNSCORED:
            most = max(len(before.examples), len(note.examples))
            examples = tuple(dict.fromkeys((*before.examples, *note.examples)))[:most]
            sums[note.found] = replace(before, count=before.count + note.count, examples=examples)
    return sums
