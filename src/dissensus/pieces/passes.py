"""What is done on a piece, wherever that is: it is read, looked at, summed over for a prior, and evaluated.

Pieces are read by the same readers, with the same options, as a study that fits into memory. What a reader finds out
from its rows, such as the list of conditions or whether a table of numbers holds sets, is found out of all pieces first
and then said to every one of them. A study of integers and words for labels, some of whose pieces hold nothing but
integers, needs the list of conditions, as integers do.

The first look finds out what has to be known of all cases before any is evaluated. The sums of an evaluated piece are a
file; what grows with the cases is read from it a piece at a time.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path as FilePath
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.case_prior import LEARNING_CASES, REFITS, prior_of
from dissensus.aggregations.normal_inverse_gamma import RatingPrior
from dissensus.aggregations.priors import Lessons, ScoreRange, taught
from dissensus.core.arrays import FloatArray
from dissensus.core.bundle import DAMAGE, bundled, restored
from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import Limits, Source
from dissensus.core.names import Unranked, case_keys, in_order_of_keys
from dissensus.core.receipt import Column, Note, Receipt
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, MOST_CASES, shared_cases
from dissensus.evaluation.annotators import Piece as Cases
from dissensus.evaluation.evaluator import assembled, truth_of
from dissensus.evaluation.intervals import InformedPrior
from dissensus.evaluation.labels import data_set_metrics
from dissensus.evaluation.request import Questions
from dissensus.evaluation.results import Evaluation, Leads
from dissensus.evaluation.sums import GROUPS, Array, CaseWeights, Name, Sums, is_of_cases
from dissensus.evaluation.tally import Plan, Strata, informed_by
from dissensus.pieces.inputs import STRATA, STUDY, TRUTH, Input
from dissensus.pieces.partition import parquet
from dissensus.pieces.run_directory import Storage, piece_of, table_of
from dissensus.predictions import reader
from dissensus.predictions.lists import PredictionKind, PredictionOptions, Predictions, common_kind
from dissensus.predictions.reader import case_column, roles_here
from dissensus.study import reading as study_reading
from dissensus.study.opinions import kept_opinions
from dissensus.study.reading.format import Options
from dissensus.study.study import Study
from dissensus.study.tables import ALIASES, find_columns, labels_of_cases, missing_column

Value = TypeVar("Value")

# So many annotators are counted by name; of more it is only known that there are more.
MOST_NAMES = 100_000

# How many cases with the least certainty are kept to be looked at.
MOST_DISPUTED = 500

# How many cases without any opinion are kept by name.
MOST_NAMED = 20

# What pieces keep of their cases is read once where it has fewer bytes, and again and again otherwise.
LITTLE = 128_000_000

EXCLUDED = ("rows", "excluded")
DISPUTED = (("rows", "disputed names"), ("rows", "disputed certainties"))

UNSCORED = "conditions without a score"
NEGATIVE, SUMS = "cases with negative scores", "cases whose scores do not sum to 1"
BINARY = "cases with scores of 0 and 1 only"
SAY_FORMAT = "say which it is, for example --format long (format='long')"


# How pieces are read -----------------------------------------------------------------------------------

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
        of_study, own = {part.name for part in fields(Options)}, {"format", "ignore", "kinds", "allow_missing"}
        for name in given:
            known_name("option", name, sorted(of_study | own), purpose="of reading")
        told: Any = {**given, "limits": Limits.given(given.get("limits"))}
        options = Options(**{name: told[name] for name in told if name in of_study})
        return Reading(places, tuple(models), options, **{name: told[name] for name in given if name in own})

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
                seen, here = table.head(SEEN).drop(self.ignore, strict=False), roles_here(self.options.columns, columns)
                of_model = case_column(seen, self.options.conditions, given=here.get("case"))
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
        source = Source(FilePath(place), "parquet", frame)
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
            found = study_reading.examine_source(source, self.format, options=options, ignore=self.ignore, place=place)
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
        frame = frame.drop(self.ignore, strict=False)
        source = Source(FilePath(place), "parquet", frame)
        asked: dict[str, Any] = {"findings": study.kind == "checklists", "binary": study.question == "binary"}
        asked |= {"kind": self.kinds.get(name), "positive": self.options.positive}
        asked |= {"columns": roles_here(self.options.columns, frame.columns)}
        options = PredictionOptions(name, conditions, study.case_names, **asked)
        # codes, and one number per case, need the names of the study
        own, examine = replace(options, conditions=conditions or study.conditions or None), reader.examine_source
        with placed(place):
            try:
                first = own if len(frame.columns) == 2 else options
                found = examine(source, options=first, allow_missing=self.allow_missing)
            except DissensusError:
                found = examine(source, options=own, allow_missing=self.allow_missing)
        return found.predictions.with_receipt(replace(found.receipt, path=place))

    def truth(self, frame: pl.DataFrame, study: Study) -> Study:
        """Read what is known to be true of the cases of a piece, with the conditions of all."""
        place = self.places[TRUTH]
        with placed(place):
            source = Source(FilePath(place), "parquet", frame)
            how: dict[str, Any] = {"options": self.options, "ignore": self.ignore, "place": place}
            found = truth_of({}, study) if not len(frame) else None
            found = found or study_reading.examine_truth(source, study, **how).study
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
        columns: Mapping[str, Sequence[str]] = {}
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


# The first look -----------------------------------------------------------------------------------------


def _same(what: str, advice: str, one: Value, other: Value) -> Value:
    """Return what two pieces both say, or refuse that they differ."""
    if one == other:
        return one
    raise DissensusError(
        f"the {what} is not the same in all pieces of the study",
        expected=f"one {what}",
        got=listing(sorted(map(str, (one, other)))),
        advice=advice,
    )


def _names(one: Iterable[str], other: Iterable[str] = ()) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))


def _few(one: Iterable[str] | None, other: Iterable[str] | None = ()) -> tuple[str, ...] | None:
    """Name annotators as long as they are few."""
    found = None if one is None or other is None else _names(one, other)
    return None if found is None or len(found) > MOST_NAMES else found


def _sampled(most: int, one: Sequence[str], other: Sequence[str] = ()) -> tuple[str, ...]:
    names = (*one, *other)
    return tuple(names[place] for place in in_order_of_keys(names)[:most])


def _joined(plus: Callable[[Any, Any], Any], one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """Add what both have under the same name; what one has stays."""
    both = {**one, **other, **{name: plus(one[name], other[name]) for name in one.keys() & other.keys()}}
    return dict(sorted(both.items()))


def _unsettled(one: Mapping[str, int] | None, other: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Add counts until enough annotators share enough cases."""
    found = None if one is None or other is None else _joined(add, one, other)
    is_settled = found is None or sum(count >= LEAST_COMMON for count in found.values()) >= LEAST_ANNOTATORS
    return None if is_settled else found


def _by(how: Callable[..., Any], *given: Any) -> Any:
    """Say how a field of two surveys becomes that of both."""
    return field(metadata={"add": partial(how, *given)})


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of some pieces; surveys add up, in any order to the same.

    Attributes
    ----------
    kind, format, unranked
        Rankings, ratings or checklists, how they are written, and what it means not to be mentioned.
    conditions
        All conditions: as they are given where all pieces have the same, in alphabetical order otherwise.
    n_cases, grouping
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

    kind: str = _by(_same, "kind", "say which it is (--format)")
    format: str | None = _by(_same, "format", SAY_FORMAT)
    unranked: Unranked | None = _by(_same, "meaning of not being mentioned", "say it (--unranked)")  # noqa: RUF009 - a field
    conditions: tuple[str, ...] = _by(lambda one, other: one if one == other else _names(one, other))
    n_cases: int = _by(add)
    grouping: str = _by(_same, "grouping of cases", "give a case that stands alone a group of its own")
    annotators: tuple[str, ...] | None = _by(_few)
    crossed: Mapping[str, int] | None = _by(_unsettled)
    kinds: Mapping[str, PredictionKind] = _by(_joined, common_kind)
    listed: Mapping[str, tuple[str, ...]] = _by(_joined, _names)
    widest: Mapping[str, int] = _by(_joined, max)
    lessons: Mapping[str, Lessons] = _by(_joined, add)
    n_counted: Mapping[str, int] = _by(_joined, add)
    everyone: tuple[str, ...] = _by(_sampled, MOST_CASES)
    annotated: tuple[str, ...] = _by(_sampled, LEARNING_CASES)
    receipts: tuple[Receipt, ...] = _by(lambda *both: tuple(map(merged_receipts, zip(*both, strict=True))))

    @staticmethod
    def of(piece: Piece) -> Survey:
        """Look at the cases of a piece."""
        study, asked = piece.study, piece.questions
        counted = study.counted.panel.votes_per_case > 0
        parts = {finding: asked.of_part(rows) for finding, rows in asked.parts.items()}
        known = {name: model for name, model in piece.models.items() if model.n_cases}
        people = zip(asked.study.counted.panel.unit_names, shared_cases(asked.study), strict=False)
        return Survey(
            study.kind,
            None if study.receipt is None else study.receipt.format,
            getattr(study, "unranked", None),
            study.conditions,
            study.n_cases,
            "every case has a group" if study.groups else "no case has a group",
            _few(study.annotator_names),
            _unsettled({name: int(count) for name, count in people if count}, {}),
            {name: model.kind for name, model in known.items()},
            {name: _names(model.conditions[code] for code in np.unique(model.codes)) for name, model in known.items()},
            {name: int(model.entries_per_case.max(initial=0)) for name, model in asked.models.items()},
            {finding: Lessons.of(*part) for finding, part in parts.items()},
            {finding: int(rows.counted.panel.votes_per_case.sum()) for finding, (rows, _) in parts.items()},
            _sampled(MOST_CASES, study.case_names),
            _sampled(LEARNING_CASES, [name for name, count in zip(study.case_names, counted, strict=True) if count]),
            piece.receipts,
        )

    def __add__(self, other: Survey) -> Survey:
        both = ((part, getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return Survey(*(part.metadata["add"](*values) for part, *values in both))

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings of checklists; none for a study of cases."""
        return tuple(filter(None, self.lessons))

    def unlisted(self, model: str) -> tuple[str, ...]:
        """Name the conditions that a model lists on no case."""
        return tuple(name for name in self.conditions if name not in self.listed.get(model, ()))

    def said_to(self, reading: Reading) -> Reading:
        """Say to every piece what was found out of all: the format, the conditions and the kinds of predictions."""
        options, kinds = replace(reading.options, conditions=self.conditions or None), {**reading.kinds, **self.kinds}
        return replace(reading, format=self.format or reading.format, options=options, kinds=kinds)


# How the file of a piece that was looked at ends, and what may be in it.
SURVEY = ".survey"
CLASSES = (Survey, Lessons, ScoreRange, Receipt, Column, Note)


def survey_piece(settings: bytes, given: tuple[str, str]) -> None:
    """Look at the cases of a piece and write what is known of them; nothing if it has none that all models have."""
    (partition, reading), (name, target) = pickle.loads(settings), given
    piece = Piece.read(partition.frames(name), reading, with_truth=False)
    partition.storage.write(target, bundled(None if piece is None else Survey.of(piece)))


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
        _same("format", SAY_FORMAT, told[0].format, receipt.format)
    sums: dict[str, Note] = {}
    for note in (note for receipt in known for note in receipt.notes):
        before = sums.get(note.found)
        if before is None or (note.found == UNSCORED and note.count < before.count):  # many pieces have the same ones
            sums[note.found] = note
        elif note.found != UNSCORED:
            sums[note.found] = before + note
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


# Evaluation ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from all cases.

    Attributes
    ----------
    key
        Digest of what it was learned for and from.
    conditions
        Of the study.
    lessons
        What aggregations learn, by finding; under the name "" of a study of cases.
    recipes
        How the prior that models inform is made, by finding; empty if there is none. Of ratings, the prior of a sample
        of the cases.
    refits : (n_refits, n_coefficients)
        What resamples of the cases would have, for each of them.
    """

    key: str
    conditions: tuple[str, ...]
    lessons: Mapping[str, Lessons]
    recipes: Mapping[str, Any]
    refits: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Settings:
    """What the evaluation of a piece needs to know.

    Attributes
    ----------
    reading
        How pieces are read.
    plan
        What is computed.
    specs
        The aggregations as they were asked for.
    learned
        What was learned from all cases.
    level
        Probability that intervals hold.
    threads
        How many threads draw.
    reference
        The run that says which cases have the least certainty.
    leads
        What results lead with.
    """

    reading: Reading
    plan: Plan
    specs: tuple[Aggregation, ...]
    learned: Learned
    level: float
    threads: int | None = None
    reference: int = 0
    leads: Leads = "agreement"

    def informed(self, finding: str, asked: Questions) -> Cases:
        """Give the aggregations what they learned of a part, and those that ask for it the prior of its cases.

        The cases come back in the order of their keys, in which a plan and its prior take them.
        """
        study, models = asked.of_part(asked.parts[finding])
        learned, names = self.learned, [study.case_names[i] for i in in_order_of_keys(study.case_names)]
        study = study.select(names)
        said = {name: model.select(names) for name, model in models.items()}
        recipe, prior = learned.recipes.get(finding), cast("InformedPrior | None", None)
        if isinstance(recipe, RatingPrior):
            prior = recipe.about(study, said)
        elif recipe is not None:
            prior = prior_of(recipe, study.opinions, said, asked.labels_by_case)
        specs = (taught(spec, learned.lessons[finding], study.conditions) for spec in self.specs)
        informed = tuple(informed_by(spec, prior) for spec in specs)
        plan = replace(self.plan, aggregations=informed, refits=learned.refits.get(finding))
        return Cases(plan, study, said, prior)

    def tally(self, asked: Questions, truth: Study | None) -> Sums:
        """Sum over the rows of every part on which somebody said anything."""
        found = []
        for finding, rows in asked.parts.items():
            if asked.of_part(rows)[0].counted.panel.votes_per_case.any():
                own = self.informed(finding, asked)
                plan = replace(own.plan, truth=truth if own.models else None)
                found.append(plan.tally(own.study, own.models, asked.strata, threads=self.threads))
        return Sums.joined(found)

    def assembled(self, asked: Questions, sums: Sums, **known: Any) -> Evaluation:
        """Put what came out for rows together; what intervals are found from is among the sums."""
        given = {"study": asked.study, "models": asked.models, "labels": asked.labels, "held": sums}
        given |= {"level": self.level, "leads": self.leads, "threads": self.threads}
        return assembled(self.plan, self.specs, sums, **{**given, **known})


def evaluate_piece(settings: bytes, given: tuple[str, str]) -> Any:
    """Evaluate the cases of a piece and write tables, what is kept of its cases, and last its sums.

    Of single cases, all pieces together need groups, the least certain ones, and those without an opinion; metrics of a
    whole data set need labels of draws, names and certainties of all cases as well.
    """
    (partition, how), (name, key) = pickle.loads(settings), given
    how, write = replace(how, plan=replace(how.plan, sketches=False)), partition.storage.write
    piece = Piece.read(partition.frames(name), how.reading)
    if piece is None or not piece.questions.study.counted.panel.votes_per_case.any():
        nobody = excluded(() if piece is None else piece.questions.study.case_names)
        return write(piece_of(key, "sums"), written(nobody.arrays))
    asked, metrics = piece.questions, how.plan.metrics
    for metric in metrics:
        for model in asked.models.values():
            metric.check(model)
    sums = how.tally(asked, piece.truth)
    each = tuple(metric for metric in metrics if metric.sees != "data set")  # of others, a piece alone says nothing
    result = replace(how, plan=replace(how.plan, metrics=each)).assembled(asked, sums)
    write(table_of("certainty", name), parquet(result.certainties()))
    if result.metrics or not asked.models:
        write(table_of("per_case", name), parquet(result.per_case()))
    names, certainties = sums["rows", "names"], ("profile", f"run {how.reference}", "certainties")
    known = set(names.tolist())
    kept = sums.only(lambda name: not is_of_cases(name)).arrays
    kept = {**kept, **excluded([one for one in asked.study.case_names if one not in known]).arrays}
    if certainties in sums and len(sums[certainties]):
        kept |= zip(DISPUTED, least(names, sums[certainties][0]), strict=True)
    if data_set_metrics(metrics):
        seen = sums.only(lambda name: name[-1] == "certainties" or (name[0] == "rows" and name[:2] not in GROUPS))
        write(piece_of(key, "cases"), written(seen.arrays))
    return write(piece_of(key, "sums"), written(kept))


def sum_piece(settings: bytes, name: str) -> FloatArray | None:
    """Sum over the cases of a piece what the fit of an informed prior asks for: the work of its passes."""
    partition, reading, request, seed, finding = pickle.loads(settings)
    piece = Piece.read(partition.frames(name), reading)
    if piece is None:
        return None
    asked = piece.questions
    study, models = asked.of_part(asked.parts[finding])
    study = study.select(in_order_of_keys(study.case_names))  # the order of rows changes no bit of the sums
    opinions, weights = kept_opinions(study.counted), None
    if request.sought == "refits":  # each case counts as in the first resamples
        cases = study.panel.positions(list(opinions.case_names))
        weights = CaseWeights.of(study.panel, seed).bootstrap(cases, REFITS)
    return request.of_part(opinions, models, weights, asked.labels_by_case) if opinions.n_cases else None


# Sums ----------------------------------------------------------------------------------------------------


def excluded(names: Sequence[str]) -> Sums:
    """Count cases without any opinion, and name the first ones.

    >>> float((excluded(["b", "a"]) + excluded(["c"]))["excluded",])
    3.0
    """
    return Sums({("excluded",): np.array(float(len(names))), EXCLUDED: np.array(sorted(names)[:MOST_NAMED], np.str_)})


def least(names: Array, certainties: Array) -> tuple[Array, Array]:
    """Keep the cases with the least certainty, beginning with the least; equal ones in the order of their keys.

    >>> least(np.array(["a", "b"]), np.array([0.9, 0.2]))[0].tolist()
    ['b', 'a']
    """
    order = np.lexsort((case_keys(names.tolist()), certainties))[:MOST_DISPUTED]
    return names[order], certainties[order]


def written(arrays: Mapping[Name, Array]) -> bytes:
    """Write named arrays as an npz file; the same arrays give the same bytes."""
    file, named = io.BytesIO(), {json.dumps(name): array for name, array in arrays.items()}
    np.savez_compressed(file, **cast("dict[str, Any]", named))
    return file.getvalue()


class PieceFile(Mapping[Name, Array]):
    """Arrays of a finished piece, read from its file one by one when they are asked for."""

    def __init__(self, storage: Storage, file: str) -> None:
        self.storage, self.file = storage, file
        with self.opened() as content:
            self.names: dict[Name, str] = {tuple(json.loads(name)): name for name in content.files}
            self.size = sum(one.file_size for one in content.zip.infolist())

    def __getitem__(self, name: Name) -> Array:
        where = self.names[name]
        with self.opened() as content:
            return np.asarray(content[where])

    def __iter__(self) -> Iterator[Name]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def read(self) -> dict[Name, Array]:
        """Read all of them."""
        with self.opened() as content:
            return {name: content[where] for name, where in self.names.items()}

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file, or say that it is damaged."""
        try:
            with self.storage.opened(self.file) as file, np.load(file, allow_pickle=False) as content:
                yield content
        except DAMAGE as error:
            where = f"{self.storage.root}/{self.file}"
            advice = "remove it and run again with --resume: it is computed again"
            raise FormatError("a finished piece is damaged", got=repr(error), where=where, advice=advice) from error


def together(storage: Storage, files: Sequence[str]) -> Any:
    """Add up what is known of some pieces: surveys, or sums; it does not grow with the cases."""
    if files[0].endswith(SURVEY):
        found = [restored(storage.read(file), CLASSES) for file in files]
        known = [one for one in found if one is not None]
        return reduce(add, known) if known else None
    sums = dict(Sums.joined(Sums(PieceFile(storage, file).read()) for file in files).arrays)
    sums[EXCLUDED] = np.sort(sums[EXCLUDED])[:MOST_NAMED]
    if DISPUTED[0] in sums:
        sums |= zip(DISPUTED, least(*(sums[name] for name in DISPUTED)), strict=True)
    return Sums(sums)


def cases_in(storage: Storage, files: Sequence[str]) -> list[Sums]:
    """Return what metrics of a whole data set see of the cases of every piece: in memory if that is little."""
    found = [PieceFile(storage, file) for file in files]
    is_little = sum(file.size for file in found) < LITTLE
    return [Sums(file.read() if is_little else file) for file in found]


def merge_files(settings: bytes, given: tuple[str, Sequence[str]]) -> None:
    """Put what is known of some pieces into one file, unless that has been done before."""
    storage, (target, files) = pickle.loads(settings), given
    if not storage.has(target):
        found = together(storage, files)
        storage.write(target, written(found.arrays) if isinstance(found, Sums) else bundled(found))
