"""How the rows of a piece become a study and predictions.

Pieces are read by the same readers, with the same options, as a study that fits into memory. What a reader finds out
from its rows, such as the list of conditions or whether a table of numbers holds sets, is found out of all pieces first
and then said to every one of them. A study of integers and words for labels, some of whose pieces hold nothing but
integers, needs the list of conditions, as integers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Limits, Source
from dissensus.core.names import known_name
from dissensus.core.receipt import Receipt
from dissensus.evaluation.evaluator import truth_of
from dissensus.evaluation.plan import Strata
from dissensus.evaluation.request import Questions
from dissensus.pieces.inputs import STRATA, STUDY, TRUTH, Input
from dissensus.predictions import reader
from dissensus.predictions.forms import case_column
from dissensus.predictions.lists import PredictionKind, Predictions
from dissensus.predictions.reader import PredictionOptions
from dissensus.study import reading as study_reading
from dissensus.study.reading.format import Options
from dissensus.study.study import Study
from dissensus.study.tables import ALIASES, find_columns, labels_of_cases, missing_column

CASE = {"case": ALIASES["case"]}

# Roles of columns whose names occur in several pieces.
SHARED_NAMES = ("annotator", "condition", "group")

# Rows that are looked at to tell which column holds the cases.
SEEN = 1000

# A number of a row, which is that of the piece and says nothing about the user's files.
ROWS = re.compile(r"(data )?rows? [0-9]+")


@dataclass(frozen=True)
class Reading:
    """How the rows of a piece become a study and predictions: the options of the ordinary readers.

    Attributes
    ----------
    places
        What the user gave for every input, by its name (``study``, ``model 0``, ``strata``): errors name it.
    models
        Names of the models.
    options
        How the study is read; conditions and the positive one of two are those of predictions, too.
    format, ignore
        As in :func:`dissensus.read`.
    kinds, allow_missing
        Kind of predictions by model, and as in :func:`dissensus.read_predictions`.

    Examples
    --------
    >>> reading = Reading({"study": "opinions/", "model 0": "scores/"}, ("A",))
    >>> study = reading.study(pl.DataFrame({"case": ["c1"], "annotator": ["Ann"], "label": ["Eczema"]}))
    >>> reading.model(0, pl.DataFrame({"case": ["c1"], "Eczema": [0.2], "Tinea": [0.8]}), study).receipt.path
    'scores/'
    """

    places: Mapping[str, str]
    models: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    format: str | None = None
    ignore: tuple[str, ...] = ()
    kinds: Mapping[str, PredictionKind] = field(default_factory=dict)
    allow_missing: bool = False

    @staticmethod
    def of(places: Mapping[str, str], models: Sequence[str], given: Mapping[str, Any]) -> Reading:
        """Take options of readers by name."""
        of_study = {part.name for part in fields(Options)}
        known = of_study | {"format", "ignore", "kinds", "allow_missing"}
        for name in given:
            known_name("option", name, sorted(known), purpose="of reading")
        told = {**given, "limits": Limits.given(given.get("limits"))}
        options: Any = {name: value for name, value in told.items() if name in of_study}
        own = {name: value for name, value in given.items() if name not in of_study}
        return Reading(places, tuple(models), Options(**options), **own)

    def record(self) -> dict[str, Any]:
        """Return all options as plain values.

        Examples
        --------
        >>> Reading({"study": "opinions/"}, options=Options(("a", "b"))).record()["conditions"]
        ('a', 'b')
        """
        found = asdict(self)
        return {**found.pop("options"), **found}

    def case_column(self, name: str, table: Input) -> str:
        """Find the column of an input that names the cases; of a study as said, by its name, or the first one."""
        columns, given = list(table.schema), self.options.columns if name == STUDY else {}
        with placed(self.places[name]):
            if name.startswith("model"):
                of_model = case_column(table.head(SEEN), self.options.conditions)
                if of_model is None:
                    raise missing_column(["case"], CASE, columns)
                return of_model
            taken = {*(column for role, column in given.items() if role != "case"), *self.ignore}
            names = [column for column in columns if name != STUDY or column not in taken]
            required = ("case",) if name == STRATA else ()
            found = find_columns(names, {"case": given.get("case")}, aliases=CASE, required=required)
            return found.get("case", columns[0])

    def study(self, frame: pl.DataFrame) -> Study:
        """Read the study of a piece; errors name what the user gave, and the case."""
        place, options = self.places[STUDY], self.options
        if options.conditions is None and options.question != "grades":
            # a piece need not have both conditions of a binary question until all are known
            options = replace(options, question=None, positive=None)
        said = {role: name for role, name in options.columns.items() if role in ALIASES}
        with placed(place):
            options.limits.check("columns", len(frame.columns), where=place)
            for role, name in find_columns(frame.columns, said, required=()).items():
                known = frame[name].drop_nulls()
                # whole numbers beside those with a fraction would be integers in some pieces only
                if role in SHARED_NAMES and known.dtype.is_float() and (known != known.round()).any():
                    raise DissensusError(
                        f"the {role} of a row is a number with a fraction",
                        expected="text, or whole numbers",
                        got=f"{known.filter(known != known.round())[0]} in the column {name!r}",
                        advice="write the names as text",
                    )
            source = Source(FilePath(place), "parquet", frame)
            how: dict[str, Any] = {"options": options, "ignore": self.ignore, "place": place}
            found = study_reading.examine_source(source, self.format, **how)
        return found.study.with_receipt(replace(found.receipt, path=place))

    def model(self, number: int, frame: pl.DataFrame, study: Study) -> Predictions:
        """Read the predictions of a model on the cases of a piece.

        As long as the conditions of all pieces are not known, the model names them itself: what it says of conditions
        that are in no piece's study is found out later. A piece for which a model has nothing is empty predictions;
        whether they may be missing was asked before any piece is read.
        """
        place, name, conditions = self.places[f"model {number}"], self.models[number], self.options.conditions
        if not len(frame):
            known = conditions if conditions is not None else study.conditions
            nobody, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
            said = Predictions(name, self.kinds.get(name, "scores"), known, (), nobody, nothing, np.empty(0))
            return said.with_receipt(Receipt(place, ""))
        source = Source(FilePath(place), "parquet", frame)
        options = PredictionOptions(
            name,
            conditions,
            study.case_names,
            kind=self.kinds.get(name),
            positive=self.options.positive,
            findings=study.kind == "checklists",
            binary=study.question == "binary",
        )
        tried = [options]
        if conditions is None and study.conditions:  # codes, and one number per case, need the names of the study
            own = replace(options, conditions=study.conditions)
            tried = [own] if len(frame.columns) == 2 else [options, own]
        with placed(place):
            for one in tried:
                try:
                    found = reader.examine_source(source, options=one, allow_missing=self.allow_missing)
                    break
                except DissensusError:
                    if one is tried[-1]:
                        raise
        return found.predictions.with_receipt(replace(found.receipt, path=place))

    def truth(self, frame: pl.DataFrame, study: Study) -> Study:
        """Read what is known to be true of the cases of a piece, with the conditions of all."""
        place, form = self.places[TRUTH], {"ratings": "ratings", "checklists": "checklist"}.get(study.kind)
        how: dict[str, Any] = {"nothing": self.options.nothing if study.kind == "checklists" else None}
        how |= {"question": study.question if study.kind == "rankings" else None, "limits": self.options.limits}
        options = Options(study.conditions or None, format_is_given=form is not None, **how)
        with placed(place):
            known = truth_of({}, study) if not len(frame) else None
            source = Source(FilePath(place), "parquet", frame)
            found = known or study_reading.examine_source(source, form, options=options, place=place).study
            return Questions.of(truth_of(found, study), {}).study


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Let errors name what the user gave, and cases, but neither rows of a piece nor files inside."""
    try:
        yield
    except DissensusError as error:
        within = error.where.replace(str(FilePath(place)), place).removeprefix(place).lstrip(", ")
        parts = [ROWS.sub("", part).strip() for part in within.split(", ")]
        got = "several rows" if ROWS.match(error.got) else error.got
        where = ", ".join(part for part in (place, *parts) if part)
        raise type(error)(error.problem, expected=error.expected, got=got, where=where, advice=error.advice) from None


@dataclass(frozen=True, eq=False)
class Piece:
    """Hold the cases of a piece.

    Attributes
    ----------
    study
        The opinions, on the cases that all models have.
    models
        What each model says about them, on the same conditions.
    labels
        Labels of cases by column, pictures among them.
    truth
        What is known to be true of the rows that are evaluated, if it was given.
    """

    study: Study
    models: Mapping[str, Predictions]
    labels: Strata = field(default_factory=dict)
    truth: Study | None = None

    @staticmethod
    def read(frames: Mapping[str, pl.DataFrame], reading: Reading, *, with_truth: bool = True) -> Piece | None:
        """Read the rows of a piece; nothing if it has no case that all models have."""
        study = reading.study(frames[STUDY])
        said = {
            name: reading.model(number, frames[f"model {number}"], study) for number, name in enumerate(reading.models)
        }
        shared = set(study.case_names).intersection(*(one.case_names for one in said.values()))
        kept = [name for name in study.case_names if name in shared]
        if not kept:
            return None
        labels: Strata = {}
        if STRATA in frames:
            with placed(reading.places[STRATA]):
                columns = labels_of_cases(frames[STRATA], study.case_names)
            labels = {name: dict(zip(study.case_names, own, strict=True)) for name, own in columns.items()}
        known = study.select(kept)
        truth = reading.truth(frames[TRUTH], known) if with_truth and TRUTH in frames else None
        return Piece(known, {name: one.select(kept) for name, one in said.items()}, labels, truth)

    @cached_property
    def questions(self) -> Questions:
        """What is evaluated: these cases, or their findings."""
        return Questions.of(self.study, self.models, self.labels)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model."""
        return tuple(one.receipt for one in (self.study, *self.models.values()) if one.receipt is not None)

    def select(self, names: list[str]) -> Piece:
        """Keep some cases, in this order."""
        models = {name: model.select(names) for name, model in self.models.items()}
        return replace(self, study=self.study.select(names), models=models)
