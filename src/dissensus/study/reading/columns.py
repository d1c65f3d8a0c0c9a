"""Tables by what their columns hold: a row per opinion, a column per annotator, or votes; and what could be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import INSPECT, Source, read_text
from dissensus.core.names import Aliases, Said, check_names
from dissensus.core.receipt import AS_SAID, BY_NAME, Column, Note, columns_of
from dissensus.study import tables
from dissensus.study.builders import checked_counts
from dissensus.study.panel import MOST_VOTES
from dissensus.study.question import check_question
from dissensus.study.reading import format as read
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.tables import ALIASES, normalised

# Guesses: each is an error that names the choices and how to confirm one -------------------------------


# What a number looks like in a cell, with a decimal point or comma.
NUMBER = r"^\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*$"

DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?\s*$"

# A list or an object in a cell: in brackets or braces, with something quoted or separated, or nothing.
LIST = r"""(?s)^\s*(\[([^\[\]]*["',].*|\s*)\]|\{([^{}]*["',:].*|\s*)\})\s*$"""

# Names of columns that hold what is taken for true, rather than one annotator's opinion.
REFERENCES = frozenset(
    (
        *("truth", "ground_truth", "true_label", "y_true", "gold", "gold_label", "gold_standard", "reference"),
        *("reference_standard", "consensus", "majority", "majority_vote", "histology", "histopathology", "final_label"),
    )
)

# The share of an annotator's labels that others must use, too.
LEAST_SHARED = 0.1


# Numbers ------------------------------------------------------------------------------------------------


def all_like(column: pl.Series, pattern: str) -> bool:
    """Tell whether every filled cell has a form, such as that of a number, also as text and with a decimal comma.

    >>> all_like(pl.Series(["0,5", None, "1"]), NUMBER), all_like(pl.Series(["1", "x"]), NUMBER)
    (True, False)
    """
    if column.dtype.is_nested() or column.dtype == pl.Boolean:
        return False
    cells = column.cast(pl.String).drop_nulls()
    cells = cells.filter(cells.str.strip_chars() != "")
    return bool(len(cells)) and bool(cells.str.contains(pattern).all())


def refuse_numbers_without_role(table: pl.DataFrame, spare: Sequence[str], opinion: Sequence[str]) -> None:
    """Refuse columns of numbers that nobody asked for where an opinion, told by some columns, has several rows.

    A column that numbers the rows through several opinions is no order.
    """
    several, found = table.select(opinion).n_unique() > 1, []
    for name in (name for name in spare if all_like(table[name], NUMBER)):
        numbers = table[name].cast(pl.Float64, strict=False)  # an index of a data frame counts from 0 or 1
        counts = len(numbers) > 1 and not numbers.null_count() and bool((numbers.diff()[1:] == 1).all())
        if not (several and counts and numbers[0] in (0, 1)):
            found.append(name)
    if not found:
        return
    verb = "holds numbers and has" if len(found) == 1 else "hold numbers and have"
    choices = ", ".join(f"--column {role}={found[0]}" for role in ("rank", "confidence", "weight", "votes"))
    ignored = " ".join(f"--ignore {name}" for name in found)
    raise FormatError(
        f"the column{'s' * (len(found) > 1)} {listing(found)} {verb} no role, and there are several rows per opinion",
        expected="a rank, a confidence, votes or a weight by one of their usual names, or word of what the numbers are",
        got=f"columns {listing(table.columns, most=12)}",
        advice=f"say which it is ({choices}), or that it does not matter ({ignored})",
    )


# Two columns for one role -------------------------------------------------------------------------------


def refuse_rivals(table: pl.DataFrame, found: Mapping[str, str], given: Said, aliases: Aliases = ALIASES) -> None:
    """Refuse two columns that could both have a role and do not say the same; the role's own name decides."""
    for role, chosen in found.items():
        if given.get(role) is not None or normalised(chosen).startswith(role):
            continue
        for rival in rivals_of(role, table.columns, found, aliases):
            numbers_rows = role == "case" and table[rival].n_unique() == len(table)
            counts = {table.select(names).n_unique() for names in ([chosen], [rival], [chosen, rival])}
            if not numbers_rows and len(counts) > 1:  # they divide the rows in different ways
                choices = f"--column {role}={chosen} or --column {role}={rival}"
                got = f"{chosen!r} and {rival!r}, which do not say the same"
                advice = f"say which it is: {choices} (columns={{{role!r}: ...}})"
                raise FormatError(f"two columns could be the {role}", expected="one of them", got=got, advice=advice)


def rivals_of(role: str, names: Sequence[str], found: Mapping[str, str], aliases: Aliases = ALIASES) -> list[str]:
    """Name the columns that go by a usual name of a role which another column has."""
    free = [name for name in names if name not in found.values()]
    return [name for name in free if role in found and normalised(name) in aliases[role]]


# One column per annotator -------------------------------------------------------------------------------


def refuse_strangers(table: pl.DataFrame, case: str, annotators: Sequence[str], options: Options) -> None:
    """Refuse columns that do not look like annotators of one question, unless the format was said."""
    refuse_lists(table, annotators)
    if options.format_is_given:
        return
    reasons = {name: reason for name in annotators if (reason := _oddity(name, table[name], options))}
    labels = {name: labels_of(table[name]) for name in annotators if name not in reasons}
    heard = {name: said for name, said in labels.items() if len(said)}
    if _is_case_by_position(case, options):
        names = labels_of(table[case]).to_list()
        used = [annotator for annotator, said in heard.items() if said.is_in(names).any()]
        if used:
            got = f"the first column, {case!r}, holds labels that {listing(used, most=3)} uses, too"
            raise tables.missing_column(["case"], ALIASES, table.columns, got)
    reasons |= _without_shared_labels(table, heard, options)
    if reasons:
        told = [f"{name!r} {reason}" for name, reason in list(reasons.items())[:4]]
        more = f"; and {len(reasons) - 4} more" if len(reasons) > 4 else ""
        ignored = " ".join(f"--ignore {name}" for name in list(reasons)[:4])
        choices = f"leave out what is no annotator ({ignored}), give it its role (--column group=NAME)"
        if len(annotators) == 1:
            choices = f"say that {annotators[0]!r} holds conditions (--column condition={annotators[0]})"
        raise FormatError(
            "the columns do not look like annotators of one question",
            expected="one column per annotator, with conditions that other annotators use, too",
            got="; ".join(told) + more,
            advice=f"{choices}, or confirm that every column is an annotator (--format wide)",
        )


def _is_case_by_position(case: str, options: Options) -> bool:
    """Tell a column that was taken for the cases because it is the first."""
    return bool(case) and normalised(case) not in ALIASES["case"] and options.columns.get("case") is None


def labels_of(column: pl.Series) -> pl.Series:
    """Return every label in the cells of a column, taken out of rankings such as ``a>b=c``."""
    if column.dtype.is_nested():
        return pl.Series([], dtype=pl.String)
    cells = column.cast(pl.String).drop_nulls().str.replace_all("=", ">").str.split(">").explode()
    labels = cells.str.strip_chars().str.to_lowercase()
    return labels.filter(labels != "").drop_nulls()


def _oddity(name: str, column: pl.Series, options: Options) -> str:
    if normalised(name) in REFERENCES and not options.is_truth:
        return "is called like a reference, not like an annotator"
    if options.conditions is None and all_like(column, NUMBER):
        return "holds numbers"
    return "holds dates" if all_like(column, DATE) else ""


def _without_shared_labels(table: pl.DataFrame, heard: Mapping[str, pl.Series], options: Options) -> dict[str, str]:
    """Find the columns whose labels nobody else uses; rankings such as ``a>b`` speak for themselves.

    A column of few labels may share none by chance, where every annotator saw a few of the cases only.
    """
    if options.conditions is not None:
        known = [name.strip().lower() for name in options.conditions]
        strange = [name for name, labels in heard.items() if not labels.is_in(known).any()]
        return dict.fromkeys(strange, "holds none of the given conditions")
    ranked = {name for name in heard if table[name].cast(pl.String).str.contains(">").any()}
    if not heard:
        return {}
    if len(heard) == 1 and not ranked:
        return dict.fromkeys(heard, "stands alone: nobody else uses its labels")
    groups = columns_by_shared_labels(heard, ranked)
    strange = [name for group in groups[1:] for name in group]
    if len(groups) > 1 and len(groups[0]) == 1 and not ranked:
        strange = list(heard)
    elif strange and len(groups[0]) > 2:
        said = pl.concat(heard[other] for other in groups[0])
        alone = 1 - int(said.is_duplicated().sum()) / len(said)
        if np.median([len(heard[other]) for other in groups[0]]) / len(table) < 0.5:
            strange = [name for name in strange if alone ** len(heard[name]) < 0.05]
    reasons = {}
    for name in strange:
        others = [other for group in groups if name not in group for other in group]
        reasons[name] = "shares hardly a label with the others"
        if len(heard[name]) >= 10 and heard[name].n_unique() > 0.8 * len(heard[name]):
            reasons[name] = "holds free text, nearly all of it different"
        elif others:
            reasons[name] = f"shares no labels with {listing([other for other in heard if other in others], most=3)}"
    return reasons


def columns_by_shared_labels(heard: Mapping[str, pl.Series], ranked: set[str]) -> list[list[str]]:
    """Put columns together that share labels, rankings or else the largest group first; rankings belong together.

    >>> heard = {"Ann": pl.Series(["a", "b"]), "Bo": pl.Series(["b", "c"]), "sex": pl.Series(["f", "m"])}
    >>> columns_by_shared_labels(heard, set())
    [['Ann', 'Bo'], ['sex']]
    """
    pairs = pl.concat(pl.DataFrame({"label": labels, "column": [name] * len(labels)}) for name, labels in heard.items())
    users = pairs.unique().group_by("label").agg("column").filter(pl.col("column").list.len() > 1)
    shared = pairs.with_columns(pl.col("label").is_in(users["label"].to_list()).alias("shared"))
    share = dict(shared.group_by("column").agg(pl.col("shared").mean()).iter_rows())
    joined = {name for name in heard if share.get(name, 0.0) >= LEAST_SHARED}
    links = [[name for name in names if name in joined] for names in users["column"].to_list()]
    group = {name: name for name in heard}
    for linked in (*links, sorted(ranked)):
        olds = {group[name] for name in linked}
        if len(olds) > 1:
            group = {name: min(olds) if old in olds else old for name, old in group.items()}
    groups = [[name for name in heard if group[name] == one] for one in dict.fromkeys(group.values())]
    return sorted(groups, key=lambda group: (ranked.isdisjoint(group), -len(group)))


def refuse_lists(table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Refuse cells that hold several values where one label should be."""
    texts = [one.name for one in table.select(columns) if one.dtype == pl.String]
    names = [name for name in texts if table[name].unique().str.contains(LIST).any()]
    names += [name for name in columns if table[name].dtype.is_nested()]
    if names:
        got = f"lists in the column{'s' * (len(names) > 1)} {listing(names)}"
        advice = f"give every label a row of its own (the long form), or leave the column out (--ignore {names[0]})"
        raise FormatError("cells hold lists or objects", expected="one label per cell", got=got, advice=advice)


# Codes --------------------------------------------------------------------------------------------------


def refuse_findings(table: pl.DataFrame, case: str, annotators: Sequence[str], options: Options) -> None:
    """Refuse columns of codes that look like findings or votes rather than annotators, unless the format was said."""
    if options.format_is_given or options.conditions is None:
        return
    known = {normalised(name) for name in options.conditions}
    alike = [name for name in annotators if normalised(name) in known]
    codes = {code for name in annotators for code in _codes(table[name])}
    references = [name for name in annotators if normalised(name) in REFERENCES and not options.is_truth]
    got = ""
    if alike:
        got = f"columns that are called like conditions: {listing(alike)}"
    elif codes <= {0.0, 1.0} and len(options.conditions) > 2:
        got = f"nothing but 0 and 1, although there are {len(options.conditions)} conditions"
    elif references:
        got = f"columns that are called like a reference, not like an annotator: {listing(references)}"
    if got:
        raise FormatError(
            "the columns may be findings rather than annotators",
            expected="one column per annotator, whose cells are codes of conditions",
            got=got,
            advice="say which it is: --format cleanlab if every column is an annotator and every cell the code of a "
            "condition, --format counts if every column is a condition and every cell a number of votes; if every cell "
            "tells whether a finding is there, write a row per finding (the long form: case, condition)",
        )
    if _is_case_by_position(case, options) and _codes(table[case]) <= set(map(float, range(len(options.conditions)))):
        got = f"the first column, {case!r}, which could hold the codes of an annotator"
        raise tables.missing_column(["case"], ALIASES, table.columns, got)


def _codes(column: pl.Series) -> set[float | None]:
    return set(column.drop_nulls().cast(pl.Float64, strict=False).unique().to_list())


# A row per opinion -------------------------------------------------------------------------------------


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
    kinds = read.TABLES

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a condition column."""
        is_long = read.has_role(source, "case") and read.has_role(source, "condition") and not read.holds_lists(source)
        return is_long and not CrowdKit().recognises(source)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        table = read.as_table(source)
        known = tables.find_columns(table.columns, options.columns, required=())
        if options.positive is not None and "condition" not in known and {"case", "confidence"} <= known.keys():
            return _of_positive(table, options)
        found = tables.find_columns(table.columns, options.columns)
        roles = tables.without_second_order(found, options.columns, options.confidence)
        named = tables.with_roles(table, roles)
        refuse_rivals(table, found, options.columns)
        may_hold_lists = not source.is_delimited or b"[" in source.data or b"{" in source.data
        if may_hold_lists and "annotation" not in roles:  # the canonical form holds any name, also one like a list
            refuse_lists(table, [roles["condition"]])
        several = not order_of(named) and has_several_rows(named)
        if several and "votes" not in roles:
            spare_columns = [name for name in table.columns if name not in found.values()]
            refuse_numbers_without_role(table, spare_columns, [roles[role] for role in OPINION if role in roles])
        spare = next(iter(found.keys() - roles.keys()), "")
        unused = {
            name: f"{found[role]!r} is the {role}" for role in found for name in rivals_of(role, table.columns, found)
        }
        unused |= {found[spare]: f"the {order_of(named)} decides"} if spare else {}
        columns = columns_of(table.columns, roles, options.columns, why=unused)
        assumed = _assumed(named, spare, options, several=several)
        return Parsed(named, tie_separator=options.tie_separator, columns=columns, assumed=assumed)


class CrowdKit(Long):
    """Table of task, worker and label, as crowd-kit has it."""

    id = "crowd-kit"
    title = "table of task, worker, label"

    def recognises(self, source: Source) -> bool:
        """Tell crowd-kit's table by its columns: task, worker (formerly performer) and label."""
        names = read.column_names(source)
        has_columns = {"task", "label"} <= names and not names.isdisjoint(("worker", "performer"))
        return has_columns and "rank" not in names and not read.holds_lists(source)


class Scores(Format):
    """Table with one row per numeric rating."""

    id = "ratings"
    title = "table with one row per numeric rating"
    study = "ratings"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case and a score column, and no condition column."""
        names = read.column_names(source) if source.is_table else set()
        is_rated = not names.isdisjoint(tables.SCORE_NAMES) and names.isdisjoint(MODALITIES)
        return is_rated and read.has_role(source, "case") and not read.has_role(source, "condition")

    def parse(self, source: Source, options: Options) -> Parsed:
        """Name the columns by their roles and leave the rest to the builder."""
        table, (aliases, needed) = read.as_table(source), tables.OF_QUESTION["numbers"]
        roles = tables.find_columns(table.columns, options.columns, aliases=aliases, required=needed)
        refuse_rivals(table, roles, options.columns, {**ALIASES, "score": tables.SCORE_NAMES})
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
    check_question("binary", [*others, str(options.positive)])
    sure = named["confidence"]
    problem = "a confidence of the positive condition is not a probability"
    wrong = ~sure.is_between(0, 1)
    tables.refuse_rows(named, wrong, "confidence", problem, expected=PROBABILITY, advice=OTHER_SCALES)
    said = {options.positive: sure, others[0]: 1 - sure}
    both = [named.with_columns(condition=pl.lit(name), confidence=chance) for name, chance in said.items()]
    assumed = [f"confidence is the probability of {options.positive}, the rest that of the other condition"]
    if options.confidence is None:
        assumed.append(BY_ORDER)
    columns = columns_of(table.columns, roles, options.columns)
    return Parsed(pl.concat(both).sort(tables.ROW, maintain_order=True), columns=columns, assumed=tuple(assumed))


def order_of(table: pl.DataFrame) -> str:
    """Return the role that orders the conditions of a ranking, if there is one."""
    return next((role for role in ORDERS if role in table.columns), "")


def _assumed(table: pl.DataFrame, spare: str, options: Options, *, several: bool) -> tuple[str, ...]:
    """Say what follows from the columns that are missing, or of which there are too many."""
    order = order_of(table)
    sentences = [f"the {order} orders the conditions of an annotator, not the {spare}"] if spare else []
    if order == "confidence" and options.confidence is None:
        sentences.append(BY_ORDER)
    if not {"annotator", "annotation"} & set(table.columns):
        rows = "the rows of a case are one ranking" if order else "every row is an opinion of its own"
        sentences.append(f"there is no annotator column: {rows}")
    elif several:
        tied = "the conditions that an annotator gives on a case are tied"
        sentences.append(f"there is no rank and no confidence: {tied}")
    return tuple(sentences)


def has_several_rows(table: pl.DataFrame) -> bool:
    """Tell whether one annotator (or one case, if nobody is named) has several rows with a condition."""
    keys = [role for role in OPINION if role in table.columns]
    said = table.filter(pl.col("condition").is_not_null()).select(keys)
    # rows whose hashes differ differ, and hashes are quick to compare
    return said.hash_rows().n_unique() < len(said) and said.n_unique() < len(said)


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
        if all_like(values, NUMBER) and not set(values.drop_nulls()) <= {"0", "1", "0.0", "1.0"}:
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
        names = read.column_names(source) if source.is_table else set()
        is_rated = not names.isdisjoint(tables.SCORE_NAMES) and read.has_role(source, "case")
        return is_rated and read.has_role(source, "annotator") and not names.isdisjoint(MODALITIES)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the scores of readers in one modality, and count the rows that tell the truth."""
        table, aliases = read.as_table(source), tables.RATING_ALIASES
        reader = tables.find_columns(table.columns, options.columns, aliases=aliases, required=("annotator",))
        is_truth = table[reader["annotator"]].cast(pl.String).str.to_lowercase() == TRUTH
        rows, named = table.filter(~is_truth.fill_null(False)), {normalised(name): name for name in table.columns}
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
        told = {name: Column(name, role, BY_NAME) for name, role in roles.items() if name}
        columns = tuple(told.get(one.name, one) for one in parsed.columns)
        note = Note("rows that tell the truth", int(is_truth.sum()), "not opinions (agreement.reader_study takes them)")
        return replace(parsed, columns=columns, notes=(note,) if note.count else ())


# A row per case ----------------------------------------------------------------------------------------


LONG_FORM_ONLY = frozenset((*ALIASES["annotator"], *ALIASES["rank"], *ALIASES["confidence"], *tables.SCORE_NAMES))
CODES_OR_VOTES = (
    f"if columns are annotators and cells are codes (--format cleanlab), {tables.GIVE_CONDITIONS}; if columns are "
    "conditions and cells are votes, say --format counts (format='counts')"
)

# Keys under which records hold their votes, first choice first.
COUNTS = ("label_counter", "label_count")

# Keys under which records hold shares, which need not be whole numbers.
SHARES = ("label_weights", "label_shares", "soft_label", "soft_labels")

# Names of the column that counts the cases of a pattern, and how many cases patterns may come to.
COUNTED = ("count", "counts", "n", "freq", "frequency", "n_cases")
MOST_CASES = 10_000_000

CASES = (*ALIASES["case"], "uid")

# Roles that tell of a case where every row is one.
OF_CASES = {role: ALIASES[role] for role in ("case", "group", "case_weight")}


class Wide(Format):
    """Table with one column per annotator whose cells are rankings."""

    id = "wide"
    title = "table with one column per annotator, cells such as a>b=c"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case column, no condition column, and cells that are not all integers."""
        return is_matrix_of_labels(source) and not is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read ``a>b=c`` cells: ``>`` separates ranks, ``=`` ties; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_strangers(table, case, columns, options)
        said = filled(cells, pl.col("condition").replace("", None), "annotator")
        blocks = said.with_columns(pl.col("condition").str.split(">"))
        blocks = blocks.with_columns(rank=pl.int_ranges(1, pl.col("condition").list.len() + 1))
        ranked = blocks.explode("condition", "rank").with_columns(pl.col("condition").str.split("="))
        ranked = ranked.explode("condition").with_columns(pl.col("condition").str.strip_chars())
        return Parsed(ranked, tie_separator=options.tie_separator, columns=roles, assumed=assumed)


class Cleanlab(Format):
    """Table with one column per annotator whose cells are codes."""

    id = "cleanlab"
    title = "table with one column per annotator, cells are codes"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with one column per annotator whose cells are integer codes."""
        return is_matrix_of_labels(source) and is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one integer code per annotator and case; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_findings(table, case, columns, options)
        codes = pl.col("condition").str.strip_chars().str.replace(r"\.0*$", "")
        said = filled(cells, codes, "annotator")
        if options.conditions is None and options.question != "grades":
            raise tables.integers_need_names(said["condition"].drop_nulls().unique().sort().to_list(), CODES_OR_VOTES)
        if options.conditions is None and not options.format_is_given:
            raise FormatError(
                "the cells could be grades or votes",
                expected="word of which: a column per annotator holds grades, a column per grade holds votes",
                got=f"columns {listing(table.columns, most=12)}",
                advice="say --format cleanlab (format='cleanlab') for grades, or --format counts for votes",
            )
        return Parsed(said, columns=roles, assumed=assumed)


class Patterns(Format):
    """Counts of response patterns: a column per annotator, and how many cases have the pattern of a row."""

    id = "patterns"
    title = "table of response patterns: a column per annotator, and a count of cases"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table without cases, but with a column of whole numbers that is called count, n or the like."""
        return source.is_table and _counted_by(source.table) is not None

    def parse(self, source: Source, options: Options) -> Parsed:
        """Make every pattern as many cases as it counts, and read them like a column per annotator."""
        table, said = read.as_table(source), dict(options.columns)
        given = said.pop("count", None)
        name = _counted_by(table) if given is None else known_name("column", given, table.columns)
        if name is None:
            raise tables.missing_column(["count"], {"count": COUNTED}, table.columns)
        counts = table[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        wrong = ~((counts >= 0) & (counts <= MOST_CASES) & (counts == counts.floor())).fill_null(False)
        expected = f"a whole number of cases in every row, at most {MOST_CASES:,}"
        shown = table.with_columns(counts.alias("count"))
        tables.refuse_rows(shown, wrong, "count", "a count of cases is not a whole number", expected=expected)
        times = counts.cast(pl.Int64).to_numpy()
        row = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        names = [f"pattern {pattern + 1}, case {number + 1}" for pattern, number in zip(row, nth, strict=True)]
        cases = table.drop(name)[row].insert_column(0, pl.Series("case", names, dtype=pl.String))
        is_coded = is_integer_matrix(cases)
        parsed = (Cleanlab() if is_coded else Wide()).parse(
            replace(source, content=cases), replace(options, columns={**said, "case": "case"}, format_is_given=True)
        )
        told = {one.name: one for one in parsed.columns}
        told[name] = Column(name, "count", AS_SAID if given is not None else BY_NAME)
        columns = tuple(told[one] for one in table.columns)
        return replace(parsed, columns=columns, assumed=("a row is as many cases as it counts", *parsed.assumed))


def _counted_by(table: pl.DataFrame) -> str | None:
    """Find the column that counts cases in a table that names none."""
    folded = {normalised(name): name for name in table.columns}
    name = next((folded[one] for one in COUNTED if one in folded), None)
    others = LONG_FORM_ONLY.union(CASES, ALIASES["condition"])
    if name is None or len(folded) < 3 or not folded.keys().isdisjoint(others):
        return None
    return name if is_integer_matrix(table.select(pl.lit("").alias("case"), name)) else None


def is_matrix_of_labels(source: Source) -> bool:
    """Tell a table that names neither conditions nor annotators in a column, nor ranks or scores."""
    return (
        source.is_table
        and _counted_by(source.table) is None
        and not read.has_role(source, "condition")
        and not read.holds_checklists(source)
        and not read.holds_lists(source)
        and len(source.table.columns) > 1
        and read.column_names(source).isdisjoint(LONG_FORM_ONLY)
    )


def is_integer_matrix(table: pl.DataFrame) -> bool:
    """Tell a table whose cells are integer codes, apart from the column of cases."""
    if any(dtype.is_nested() for dtype in table.dtypes):
        return False
    case = tables.find_columns(table.columns, {}, required=()).get("case", table.columns[0])
    filled_cells = [column.cast(pl.String).drop_nulls().str.strip_chars() for column in table.drop(case)]
    return any(len(column) for column in filled_cells) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled_cells
    )


def filled(cells: pl.DataFrame, held: pl.Expr, *emptied: str) -> pl.DataFrame:
    """Keep the cells that hold something, and one for a case that has none, emptied so that only the case is left."""
    cells, is_filled = cells.with_columns(held), pl.col(held.meta.output_name()).is_not_null()
    kept = cells.filter(is_filled | (~is_filled.any().over(tables.ROW) & pl.col(tables.ROW).is_first_distinct()))
    return kept.with_columns(pl.when(is_filled).then(pl.col(role)).alias(role) for role in emptied)


def layout(
    table: pl.DataFrame, options: Options, column: str, cell: str
) -> tuple[pl.DataFrame, str, list[str], tuple[Column, ...], tuple[str, ...]]:
    """Give every cell a row of its own, in the order of the rows: its case and group, its column and what it holds.

    Also tell the column of cases and the others, which are annotators unless something else is said, and, for the
    receipt, the roles of all and what was assumed.
    """
    found, why, assumed = with_cases(table, options, OF_CASES)
    case = found["case"]
    others = [name for name in table.columns if name not in found.values()]
    if not others:
        expected, got = f"one column per {column}", f"column {case!r}"
        raise DissensusError("the table has no column beside the case", expected=expected, got=got)
    named = {one.name: one for one in columns_of(table.columns, found, options.columns, why=why)}
    named |= {name: Column(name, "annotator", "as every other column") for name in others}
    cases = tables.numbered(tables.with_roles(table, found).cast(pl.String))
    tables.one_row_each(cases, advice="merge the rows, or use the long form with one row per opinion")
    return molten(cases, table.select(others), column, cell), case, others, tuple(named.values()), assumed


def molten(rows: pl.DataFrame, cells: pl.DataFrame, column: str, cell: str) -> pl.DataFrame:
    """Give every cell a row of its own, in the order of the rows: the name of its column, and what it holds as text."""
    codes = {f"\0{code}": name for code, name in enumerate(cells.columns)}  # no name of a column gets in the way
    texts = cells.cast(pl.String).rename({name: code for code, name in codes.items()})
    long = rows.hstack(texts).unpivot([*codes], index=rows.columns, variable_name=column, value_name=cell)
    return long.sort(tables.ROW, maintain_order=True).with_columns(pl.col(column).replace_strict(codes))


def with_cases(
    table: pl.DataFrame, options: Options, aliases: Aliases
) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """Find the columns of a table whose first names the cases if no other does; the reason, and what was assumed."""
    found = tables.find_columns(table.columns, options.columns, aliases=aliases, required=())
    if "case" in found:
        return found, {}, ()
    first = table.to_series(0)
    if first.n_unique() < len(first):
        got = f"the first column, {first.name!r}, holds {first.n_unique()} different values in {len(first)} rows"
        raise tables.missing_column(["case"], ALIASES, table.columns, got)
    told = f"the first column, {first.name!r}, names the cases"
    return {**found, "case": first.name}, {first.name: "as the first column"}, (told,)


# Votes -----------------------------------------------------------------------------------------------


class Counts(Format):
    """Votes of anonymous annotators: cases by conditions."""

    id = "counts"
    title = "votes: a matrix (.npy) or table of cases by conditions, or records with label_count"
    kinds = ("npy", *read.RECORDS)
    takes_lists = True

    def recognises(self, source: Source) -> bool:
        """Tell a matrix of integers, or records that hold counts by condition; a table needs the list of conditions."""
        if source.kind == "npy":
            return bool(source.content.ndim == 2 and source.content.dtype.kind in "iu")
        records = read.records_of(source)
        return bool(records) and all(_counts_key(record, None) is not None for record in records)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one anonymous ranking, with its votes, for every number above 0; a case without votes is unannotated."""
        if source.kind == "npy":
            votes = checked_counts(source.content)
            cases, told = names_beside(source.path, "cases", None, votes.shape[0])
            names, named = names_beside(source.path, "conditions", options.conditions, votes.shape[1])
            padded = np.column_stack([votes, votes.sum(axis=1) == 0])  # a case without votes has a row, too
            case, condition = np.nonzero(padded)
            named_row = pl.Series("condition", [*names, None], dtype=pl.String).gather(condition)
            rows = pl.DataFrame({"case": pl.Series(cases, dtype=pl.String).gather(case), "condition": named_row})
            given = pl.lit(pl.Series(padded[case, condition]))
            rows = rows.with_columns(votes=pl.when(named_row.is_not_null()).then(given))
            assumed = (f"rows are cases, {told}", f"columns are conditions, {named}, and cells are votes")
            return Parsed(rows, (_counted_votes(rows),), tuple(names), assumed=assumed)
        key = options.columns.get("weight") or options.columns.get("votes")
        if key is not None and source.is_table:
            source = read.unpacked(source)
        if source.is_table or not (key or self.recognises(source)):
            return _from_table(read.as_table(source), options)
        return _from_records(source, options, key)


def is_table_of_votes(source: Source, conditions: Sequence[str] | None) -> bool:
    """Tell a table of whole numbers, some above 1, whose columns, apart from case and group, are the conditions.

    A table of nothing but 0 and 1 may as well hold findings, so it has to be said.
    """
    if conditions is None or not is_matrix_of_labels(source):
        return False
    found = tables.find_columns(source.table.columns, {}, required=())
    apart = (found.get("case", source.table.columns[0]), found.get("group"))
    columns = [name for name in source.table.columns if name not in apart]
    if len(columns) != len(conditions) or set(columns) != set(conditions) or not is_integer_matrix(source.table):
        return False
    numbers = source.table.select(pl.col(columns).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False))
    return any(number is not None and number > 1 for number in numbers.max().row(0))


def _counted_votes(rows: pl.DataFrame) -> Note:
    finite = rows["votes"].cast(pl.Float64).is_finite().fill_null(False)  # others are refused later
    return Note("votes of annotators without a name", int(rows["votes"].filter(finite).sum()), "counted")


# A matrix ---------------------------------------------------------------------------------------------


def names_beside(path: Path, what: str, given: Sequence[str] | None, count: int) -> tuple[Sequence[str], str]:
    """Return the names that are given, or stand in a file beside, or are numbers, and say which."""
    beside = path.with_suffix(f".{what}.txt")
    if given is None and not beside.is_file():
        return [str(number) for number in range(count)], "numbered from 0"
    if given is None:
        given = [line.strip() for line in read_text(beside).splitlines() if line.strip()]
        check_length(what.removesuffix("s"), len(given), count, where=str(beside))
        return given, f"named by {beside.name!r}"
    check_length(what.removesuffix("s"), len(given), count)
    return given, "named as given"


# A table ----------------------------------------------------------------------------------------------


def _from_table(table: pl.DataFrame, options: Options) -> Parsed:
    cells, _, columns, roles, assumed = layout(table, options, "condition", "votes")
    cells, given = tables.tidied(cells), options.conditions
    if given is not None and set(columns) != set(given):
        raise DissensusError(
            "the columns of votes are not the conditions",
            expected=f"the columns {listing(given)}",
            got=listing(columns),
            advice="name the columns as the conditions are named, or leave the list of conditions out",
        )
    empty = Note("empty cells", cells["votes"].null_count(), "taken as 0 votes")
    rows = filled(cells, pl.when(pl.col("votes") != 0).then("votes"), "condition")
    votes = {name: Column(name, "votes for the condition of this name") for name in columns}
    return Parsed(
        rows,
        (_counted_votes(rows), *((empty,) if empty.count else ())),
        tuple(given or columns),
        columns=tuple(votes.get(one.name, one) for one in roles),
        assumed=(*assumed, "a cell is the number of annotators who gave the condition of its column"),
    )


# Records ----------------------------------------------------------------------------------------------


def _from_records(source: Source, options: Options, votes: str | None) -> Parsed:
    """Read records such as ``{"case": "c1", "label_count": {"a": 3, "b": 1}}``, or shares of opinions."""
    placed = read.checked_records(source, "record")
    records = [record for _, record in placed]
    single = [
        name for name in records[0] if all(isinstance(one.get(name), str | int | float | None) for one in records)
    ]
    said_case = {"case": options.columns.get("case")}
    key = tables.find_columns(single, said_case, aliases={"case": CASES}, required=("case",))["case"]
    cases = [read.as_name(record.get(key), f"the case ({key})", where) for where, record in placed]
    check_names("case", cases)
    keys = {_counts_key(record, votes) for record in records} - {None}
    is_share = options.columns.get("weight") is not None or not keys.isdisjoint(SHARES)
    counted = [_counted(record, votes, where, options.conditions, is_share=is_share) for where, record in placed]
    above: list[list[Any]] = [[vote for vote in one.items() if vote[1]] or [(None, None)] for one in counted]
    rows = [(case, *vote) for case, some in zip(cases, above, strict=True) for vote in some]
    role = "weight" if is_share else "votes"
    frame = pl.DataFrame(rows, schema={"case": pl.String, "condition": pl.String, role: pl.Float64}, orient="row")
    told = "a number is the weight of an opinion of nobody in particular"
    said = {name: AS_SAID for one, name in options.columns.items() if name and one in ("case", role)}
    roles = {key: "case", **dict.fromkeys(map(str, keys), role)}
    return Parsed(
        frame,
        () if is_share else (_counted_votes(frame),),
        options.conditions or tuple(sorted({name for one in counted for name in one})),
        columns=read.key_columns(records, roles, said),
        assumed=(told if is_share else "a number is how many annotators gave the condition",),
    )


def _counts_key(record: Any, given: str | None) -> str | None:
    """Return the key under which a record holds votes, by condition or in the order of conditions."""
    if not isinstance(record, dict):
        return None
    shares = SHARES if set(read.LABELS).isdisjoint(record) else ()  # which stand beside labels, too
    return next((key for key in (given, *COUNTS, *shares) if isinstance(record.get(key), dict | list)), None)


def _counted(
    record: Mapping[str, Any], key: str | None, where: str, conditions: Sequence[str] | None, *, is_share: bool
) -> dict[str, float]:
    """Return the votes, or the shares, of one record by condition; nothing is none."""
    counts = record.get(str(_counts_key(record, key))) or {}
    if isinstance(counts, list) and conditions is None:
        raise FormatError(
            "a list of votes needs a list of conditions",
            expected="the names of the conditions in the order of the votes",
            got=f"{counts!r:.60}",
            where=where,
            advice=tables.GIVE_CONDITIONS,
        )
    if isinstance(counts, list):
        check_length("vote", len(counts), len(conditions or ()), where=where)
        counts = dict(zip(conditions or (), counts, strict=True))
    for count in counts.values():
        fits = isinstance(count, int | float) and not isinstance(count, bool) and 0 <= count <= MOST_VOTES
        if count is not None and not (fits and (is_share or count == int(count))):
            what, expected = ("a share", "a number") if is_share else ("a number of votes", "a whole number")
            raise read.wrong_shape(count, what, f"{expected}, zero or more", where)
    return {read.as_name(name, "a condition", where): float(count or 0) for name, count in counts.items()}
