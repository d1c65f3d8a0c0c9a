"""How the rows of a piece become a study and predictions.

Pieces are read by the same readers, with the same options, as a study that fits into memory. What a reader finds out
from its rows, such as the list of conditions or whether a table of numbers holds sets, is found out of all pieces first
and then said to every one of them. A study of integers and words for labels, some of whose pieces hold nothing but
integers, needs the list of conditions, as integers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import Confidence, Duplicates, Lists, Question, Unranked
from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.core.limits import Limits
from dissensus.core.receipt import Receipt
from dissensus.evaluation.plan import Strata
from dissensus.evaluation.questions import Questions
from dissensus.pieces.inputs import Input
from dissensus.pieces.partition import STRATA, STUDY, frames_from
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
    place, models, strata_place
        What the user gave for the study, for every model by its name, and for the strata: errors name it.
    format, format_is_given
        The format of the study, and whether the user named it or it was recognised.
    conditions, columns, ignore, tie_separator, bucket_order, unranked, duplicates, confidence, lists, nothing
        As in :func:`dissensus.examine`.
    question, limits
        As there.
    kinds, positive, allow_missing
        Kind of predictions by model, and as in :func:`dissensus.read_predictions`; the positive condition is that of
        the study, too.

    Examples
    --------
    >>> reading = Reading("opinions/", models={"A": "scores/"})
    >>> study, _ = reading.study(pl.DataFrame({"case": ["c1"], "annotator": ["Ann"], "label": ["Eczema"]}))
    >>> reading.model("A", pl.DataFrame({"case": ["c1"], "Eczema": [0.2], "Tinea": [0.8]}), study)[1].path
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

    def case_column(self, name: str, table: Input) -> str:
        """Find the column of an input that names the cases; of a study as said, by its name, or the first one."""
        columns = list(table.schema)
        if name == STRATA:
            with placed(self.strata_place):
                return find_columns(columns, {}, required=("case",))["case"]
        if name == STUDY:
            taken = {column for role, column in self.columns.items() if role != "case"}
            names = [column for column in columns if column not in taken and column not in self.ignore]
            with placed(self.place):
                found = find_columns(names, {"case": self.columns.get("case")}, aliases=CASE, required=())
            return found.get("case", columns[0])
        with placed(list(self.models.values())[int(name.partition(" ")[2])]):
            of_model = case_column(table.head(SEEN), self.conditions)
            if of_model is None:
                raise missing_column("case", CASE["case"], columns)
            return of_model

    def study(self, frame: pl.DataFrame) -> tuple[Study, Receipt]:
        """Read the study of a piece; errors name what the user gave, and the case."""
        limits = Limits.given(self.limits)
        names = ("conditions", "columns", "tie_separator", "bucket_order", "unranked", "duplicates", "confidence")
        given: dict[str, Any] = {name: getattr(self, name) for name in (*names, "lists", "nothing", "format_is_given")}
        # a piece need not have both conditions of a binary question until all are known
        if self.conditions is not None or self.question == "grades":
            given |= {"question": self.question, "positive": self.positive}
        said = {role: name for role, name in self.columns.items() if role in ALIASES}
        with placed(self.place):
            limits.check("columns", len(frame.columns), where=self.place)
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
            source, options = Source(FilePath(self.place), "parquet", frame), Options(**given, limits=limits)
            found = study_reading.examine_source(
                source, self.format, options=options, ignore=self.ignore, place=self.place
            )
        receipt = replace(found.receipt, path=self.place)
        return found.study.with_receipt(receipt), receipt

    def model(self, name: str, frame: pl.DataFrame, study: Study) -> tuple[Predictions, Receipt]:
        """Read the predictions of a model on the cases of a piece.

        As long as the conditions of all pieces are not known, the model names them itself: what it says of conditions
        that are in no piece's study is found out later. A piece for which a model has nothing is empty predictions;
        whether they may be missing was asked before any piece is read.
        """
        place = self.models[name]
        with placed(place):
            if len(frame):
                found = self._examined(name, Source(FilePath(place), "parquet", frame), study)
                said, receipt = found.predictions, replace(found.receipt, path=place)
            else:
                conditions = self.conditions if self.conditions is not None else study.conditions
                nobody, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
                kind = self.kinds.get(name, "scores")
                said = Predictions(name, kind, conditions, (), nobody, nothing, np.empty(0))
                receipt = Receipt(place, "")
        return said.with_receipt(receipt), receipt

    def _examined(self, name: str, source: Source, study: Study) -> reader.PredictionReading:
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold.

        Examples
        --------
        >>> Reading("opinions/", conditions=("a", "b")).to_dict()["conditions"]
        ['a', 'b']
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


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
    receipts
        What was understood of the files: of opinions, then of each model.
    """

    study: Study
    models: Mapping[str, Predictions]
    labels: Strata
    receipts: tuple[Receipt, ...]

    @staticmethod
    def read(payload: bytes | Mapping[str, pl.DataFrame], reading: Reading) -> Piece | None:
        """Read the rows of a piece; nothing if it has no case that all models have."""
        frames = frames_from(payload) if isinstance(payload, bytes) else payload
        study, receipt = reading.study(frames[STUDY])
        models = {
            name: reading.model(name, frames[f"model {number}"], study) for number, name in enumerate(reading.models)
        }
        said = {name: one for name, (one, _) in models.items()}
        shared = set(study.case_names).intersection(*(one.case_names for one in said.values()))
        kept = [name for name in study.case_names if name in shared]
        if not kept:
            return None
        labels: Strata = {}
        if STRATA in frames:
            with placed(reading.strata_place):
                columns = labels_of_cases(frames[STRATA], study.case_names)
            labels = {name: dict(zip(study.case_names, own, strict=True)) for name, own in columns.items()}
        receipts = (receipt, *(one for _, one in models.values()))
        return Piece(study, said, labels, receipts).select(kept)

    @cached_property
    def questions(self) -> Questions:
        """What is evaluated: these cases, or their findings."""
        return Questions.of(self.study, self.models, self.labels)

    def select(self, names: list[str]) -> Piece:
        """Keep some cases, in this order."""
        models = {name: model.select(names) for name, model in self.models.items()}
        return replace(self, study=self.study.select(names), models=models)
