"""A row per opinion: a condition, also as crowd-kit has it, or a rating, also of a reader study or an Inspect log."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import INSPECT, Source
from dissensus.core.receipt import AS_SAID, BY_NAME, Column, Note, columns_of
from dissensus.study import tables
from dissensus.study.reading.format import (
    TABLES,
    Format,
    Options,
    Parsed,
    as_table,
    column_names,
    has_role,
    holds_lists,
)
from dissensus.study.reading.guesses import (
    holds_numbers,
    refuse_lists,
    refuse_numbers_without_role,
    refuse_rivals,
    rivals_of,
)

BY_ORDER = "confidences order the conditions; their values are not used (--confidence share uses them)"
PROBABILITY = "the probability of the positive condition, from 0 to 1"
OTHER_SCALES = (
    "divide other scales so that 0 is surely not and 1 surely yes ((x - 1) / 4 for 1 to 5), or read them as grades "
    "(--question grades --column condition=NAME)"
)

# Names of the column of modalities, which only reader studies have.
MODALITIES = ("modality", "modalityid", "modality_id", "treatment", "test")

# What tells the rows of one opinion.
OPINION = ("case", "annotator", "annotation")

# Roles that order the conditions of a ranking, first choice first.
ORDERS = ("rank", "confidence")


class Long(Format):
    """Table with one row per mentioned condition."""

    id = "long"
    title = "table with one row per mentioned condition"
    kinds = TABLES

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a condition column."""
        is_long = has_role(source, "case") and has_role(source, "condition") and not holds_lists(source)
        return is_long and not CrowdKit().recognises(source)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        table = as_table(source)
        known = tables.find_columns(table.columns, options.columns, required=())
        if options.positive is not None and "condition" not in known and {"case", "confidence"} <= known.keys():
            return _of_positive(table, options)
        found = tables.find_columns(table.columns, options.columns)
        roles = tables.without_second_order(found, options.columns, options.confidence)
        named = tables.with_roles(table, roles)
        refuse_rivals(table, found, options.columns)
        if "annotation" not in roles:  # the canonical form holds any name, also one that looks like a list
            refuse_lists(table, [roles["condition"]])
        if not order_of(named) and "votes" not in roles and has_several_rows(named):
            spare_columns = [name for name in table.columns if name not in found.values()]
            refuse_numbers_without_role(table, spare_columns, [roles[role] for role in OPINION if role in roles])
        spare = next(iter(found.keys() - roles.keys()), "")
        unused = {
            name: f"{found[role]!r} is the {role}" for role in found for name in rivals_of(role, table.columns, found)
        }
        unused |= {found[spare]: f"the {order_of(named)} decides"} if spare else {}
        columns = columns_of(table.columns, roles, options.columns, why=unused)
        return Parsed(
            named, tie_separator=options.tie_separator, columns=columns, assumed=_assumed(named, spare, options)
        )


class CrowdKit(Long):
    """Table of task, worker and label, as crowd-kit has it."""

    id = "crowd-kit"
    title = "table of task, worker, label"

    def recognises(self, source: Source) -> bool:
        """Tell crowd-kit's table by its columns: task, worker (formerly performer) and label."""
        names = column_names(source)
        has_columns = {"task", "label"} <= names and not names.isdisjoint(("worker", "performer"))
        return has_columns and "rank" not in names and not holds_lists(source)


class Scores(Format):
    """Table with one row per numeric rating."""

    id = "ratings"
    title = "table with one row per numeric rating"
    study = "ratings"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a score column, and no condition column."""
        names = column_names(source) if source.is_table else set()
        is_rated = not names.isdisjoint(tables.SCORE_NAMES) and names.isdisjoint(MODALITIES)
        return is_rated and has_role(source, "case") and not has_role(source, "condition")

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        table, (aliases, needed) = as_table(source), tables.OF_QUESTION["numbers"]
        roles = tables.find_columns(table.columns, options.columns, aliases=aliases, required=needed)
        refuse_rivals(table, roles, options.columns, {**tables.ALIASES, "score": tables.SCORE_NAMES})
        columns = columns_of(table.columns, roles, options.columns)
        nobody = () if "annotator" in roles else ("there is no annotator column: every row is a rating of its own",)
        return Parsed(tables.with_roles(table, roles), columns=columns, assumed=nobody)


def _of_positive(table: pl.DataFrame, options: Options) -> Parsed:
    """Read how sure annotators are that the positive condition holds: what is left goes to the other condition."""
    roles = tables.find_columns(table.columns, options.columns, required=())
    named = tables.tidied(tables.numbered(tables.with_roles(table, roles)))
    others = [f"not {options.positive}"]
    if options.conditions is not None:
        others = [name for name in options.conditions if name != options.positive]
    if len(others) != 1:
        expected = f"{options.positive} and one other"
        raise DissensusError("a binary question has two conditions", expected=expected, got=str(len(others)))
    sure = named["confidence"]
    problem = "a confidence of the positive condition is not a probability"
    wrong = ~((sure >= 0) & (sure <= 1))
    tables.refuse_rows(named, wrong, "confidence", problem, expected=PROBABILITY, advice=OTHER_SCALES)
    both = [
        named.with_columns(condition=pl.lit(name), confidence=sign * sure + offset)
        for name, sign, offset in ((options.positive, 1, 0), (others[0], -1, 1))
    ]
    assumed = [f"confidence is the probability of {options.positive}, the rest that of the other condition"]
    if options.confidence is None:
        assumed.append(BY_ORDER)
    columns = columns_of(table.columns, roles, options.columns)
    return Parsed(pl.concat(both).sort(tables.ROW, maintain_order=True), columns=columns, assumed=tuple(assumed))


def order_of(table: pl.DataFrame) -> str:
    """Return the role that orders the conditions of a ranking, if there is one."""
    return next((role for role in ORDERS if role in table.columns), "")


def _assumed(table: pl.DataFrame, spare: str, options: Options) -> tuple[str, ...]:
    """Say what follows from the columns that are missing, or of which there are too many."""
    order = order_of(table)
    sentences = [f"the {order} orders the conditions of an annotator, not the {spare}"] if spare else []
    if order == "confidence" and options.confidence is None:
        sentences.append(BY_ORDER)
    if not {"annotator", "annotation"} & set(table.columns):
        rows = "the rows of a case are one ranking" if order else "every row is an opinion of its own"
        sentences.append(f"there is no annotator column: {rows}")
    elif not order and has_several_rows(table):
        tied = "the conditions that an annotator gives on a case are tied"
        sentences.append(f"there is no rank and no confidence: {tied}")
    return tuple(sentences)


def has_several_rows(table: pl.DataFrame) -> bool:
    """Tell whether one annotator (or one case, if nobody is named) has several rows with a condition."""
    keys = [role for role in OPINION if role in table.columns]
    said = table.filter(pl.col("condition").is_not_null()).select(keys)
    return said.n_unique() < len(said)


class InspectLog(Long):
    """Scores of samples, a row per sample, epoch and scorer."""

    id = "inspect"
    title = "Inspect log (.eval): samples are cases, scorers annotators (or --column annotator=epoch)"
    kinds = ("table",)

    def recognises(self, source: Source) -> bool:
        """Tell a log by the ending of its name."""
        return source.path.suffix.lower() == INSPECT

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read a score (or, if said, an answer) as an opinion; further epochs are further opinions of a scorer."""
        by_epoch = options.columns.get("annotator") == "epoch"
        usual = {"annotator": "scorer", "annotation": "scorer" if by_epoch else "epoch", "condition": "value"}
        said = {**usual, **options.columns}
        names = source.table.columns if source.is_table else ()
        name = known_name("column", str(said["condition"]), names, purpose="for the condition")
        values = source.table[name]
        if holds_numbers(values) and not set(values.drop_nulls()) <= {"0", "1", "0.0", "1.0"}:
            raise FormatError(
                "the scores of the log are numbers",
                expected="words such as C and I, or 0 and 1",
                got=f"for example {values[0]}",
                advice="read them as ratings: --format ratings --column score=value --column annotator=scorer",
            )
        parsed = super().parse(source, replace(options, columns=said))
        own = {name for name in options.columns.values() if name}
        columns = tuple(
            replace(one, reason="of the log") if one.reason == AS_SAID and one.name not in own else one
            for one in parsed.columns
        )
        return replace(parsed, columns=columns)


# What iMRMC calls the reader of rows that hold the truth, and names of a column that holds it.
TRUTH = "truth"


class ReaderStudy(Scores):
    """Ratings of readers in one modality; what is true is no opinion."""

    id = "reader-study"
    title = "reader study: reader, modality (or treatment), case, score, maybe truth (iMRMC, MRMCaov)"

    def recognises(self, source: Source) -> bool:
        """Tell a table of scores by its columns of readers and modalities."""
        names = column_names(source) if source.is_table else set()
        is_rated = not names.isdisjoint(tables.SCORE_NAMES) and has_role(source, "case")
        return is_rated and has_role(source, "annotator") and not names.isdisjoint(MODALITIES)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the scores of readers in one modality, and count the rows that tell the truth."""
        table, aliases = as_table(source), tables.RATING_ALIASES
        reader = tables.find_columns(table.columns, options.columns, aliases=aliases, required=("annotator",))
        is_truth = table[reader["annotator"]].cast(pl.String).str.to_lowercase() == TRUTH
        rows, named = (
            table.filter(~is_truth.fill_null(False)),
            {tables.normalised(name): name for name in table.columns},
        )
        modality = next((named[one] for one in MODALITIES if one in named), None)
        modalities = [] if modality is None else rows[modality].cast(pl.String).unique(maintain_order=True).to_list()
        if len(modalities) > 1:
            raise FormatError(
                "the file holds several modalities",
                expected="one, as each makes a study of its own",
                got=listing(modalities),
                where=f"column {modality!r}",
                advice=f"say which: --only {modality}={modalities[0]} (only={{{modality!r}: {modalities[0]!r}}})",
            )
        parsed = super().parse(replace(source, kind="table", content=rows), options)
        roles = {modality: "modality", named.get(TRUTH): TRUTH}
        columns = tuple(
            Column(one.name, roles[one.name], BY_NAME) if one.name in roles else one for one in parsed.columns
        )
        note = Note("rows that tell the truth", int(is_truth.sum()), "not opinions (agreement.reader_study takes them)")
        return replace(parsed, columns=columns, notes=(note,) if note.count else ())
