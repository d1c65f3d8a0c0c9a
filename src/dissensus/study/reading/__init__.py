"""Read annotations from every format people really have; the format is recognised from the content."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec

from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import INSPECT, Limits, Source, open_source
from dissensus.core.names import AnyQuestion, Confidence, Duplicates, Lists, Question, Unranked, composed
from dissensus.core.receipt import (
    AS_SAID,
    IGNORED,
    Column,
    Note,
    Receipt,
    codes_in_words,
    refuse_unheard,
    warn_of_losses,
)
from dissensus.study.question import asked_of, chosen_question, question_in_words, recognised_question
from dissensus.study.reading.annotator_files import listed_files
from dissensus.study.reading.format import Format, Options, Parsed, has_role, prepared, refuse_types
from dissensus.study.study import Study
from dissensus.study.tables import INTEGER, RATING_ALIASES, find_columns, refuse_unsaid, study_from_table

__all__ = ["Reading", "examine", "read"]


OTHERWISE = "by how they are called (--question conditions says otherwise)"

# The share of opinions that name several conditions in no order from which on they may be checklists.
LEAST_TIED = 0.01


@dataclass(frozen=True)
class Reading:
    """What was read, and what was understood of it.

    Attributes
    ----------
    study
        Annotations, ratings or checklists, whichever the file holds.
    receipt
        The format, the role of every column, what was skipped or assumed, and a few opinions in words.
    source
        The file as it was read, without what was made of it.
    """

    study: Study
    receipt: Receipt
    source: Source = field(repr=False)

    @property
    def rankings(self) -> Study:
        """The study, known to hold rankings; an error if it holds something else."""
        if self.study.kind == "rankings":
            return self.study
        raise FormatError(
            f"the file holds {self.study.kind}, not rankings",
            expected="a column of conditions",
            where=str(self.source.path),
            advice="say which column holds the conditions: columns={'condition': ...}",
        )


@checked
def examine(
    path: Any,
    format: str | None = None,  # noqa: A002 - the word users expect
    *,
    conditions: Sequence[str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    ignore: Sequence[str] = (),
    only: Mapping[str, str] | None = None,
    sheet: str | None = None,
    tie_separator: str | None = None,
    bucket_order: Sequence[str] | None = None,
    unranked: Unranked | None = None,
    duplicates: Duplicates = "refuse",
    confidence: Confidence | None = None,
    lists: Lists | None = None,
    nothing: str | None = None,
    question: Question | None = None,
    positive: str | None = None,
    limits: Mapping[str, int | str] | None = None,
) -> Reading:
    r"""Read rankings, ratings or checklists, whichever a file holds, and tell what was understood of it.

    The parameters are those of :func:`read` and :func:`read`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "stars.csv")
    ...     _ = file.write_text("case,annotator,score\nc1,Ann,4\n", encoding="utf-8")
    ...     reading = examine(file)
    >>> reading.receipt.format, reading.study
    ('ratings', Ratings: 1 case, 1 rating from 4 to 4)
    """
    given = {name: value for name, value in locals().items() if name not in ("path", "format", "ignore", "sheet")}
    listed = {"conditions": conditions, "bucket_order": bucket_order}
    given |= {name: tuple(map(composed, names)) for name, names in listed.items() if names is not None}
    given |= {"columns": columns or {}, "question": chosen_question(question, positive), "limits": Limits.given(limits)}
    options = Options(**{**given, "only": only or {}}, format_is_given=format is not None)
    are_files = isinstance(path, list | tuple) and all(isinstance(one, str | PathLike) for one in path)
    source = listed_files(path) if are_files else open_source(path, options.limits, sheet=sheet)
    reading = examine_source(source, format, options=options, ignore=ignore)
    refuse_unsaid(nothing, reading.receipt.notes)
    return reading


def as_study(given: Any) -> Study:
    """Return a study as it is, and read anything else."""
    return given if isinstance(given, Study) else read(given)


Asked = ParamSpec("Asked")


def _studies(examining: Callable[Asked, Reading]) -> Callable[Asked, Study]:
    """Make a reader of studies from one that tells what it understood: what was skipped becomes a warning."""

    @wraps(examining, assigned=("__module__",))
    def read(*given: Asked.args, **named: Asked.kwargs) -> Study:
        r"""Read a study, whatever was asked and whichever format it is in.

        Parameters
        ----------
        path
            CSV, TSV, Parquet, JSON, JSON lines, npy, PrefLib, a spreadsheet, an Inspect log; ``"-"`` for standard
            input; a data frame (pandas, polars, Arrow), a dictionary of columns, or what JSON would hold; a directory
            of PrefLib or doccano files; a directory, or a list of files, with one table or JSON file per annotator.
        format
            Name of the format; by default it is recognised from the content.
        conditions
            Names of all conditions in order; needed when the file holds integer codes.
        columns
            Column of each role where it goes by an unusual name, for example ``{"case": "image"}``; the case
            ``"row-number"`` numbers the rows of a table that names no cases.
        ignore
            Columns (or keys of records) to leave out, as if the file did not have them.
        only
            Rows (or records) to read: those with this value in a column, for example ``{"modality": "MRI"}``.
        sheet
            Name of the sheet of a spreadsheet, where several hold anything.
        tie_separator
            Split condition cells at this text into tied conditions, for example ``"|"``.
        bucket_order
            Names of ranked groups, best first, for Label Studio's Ranker with buckets.
        unranked
            ``"below"`` or ``"unobserved"``; by default what the file says, else ``"below"``.
        duplicates
            What to do where a ranking mentions a condition again: ``"refuse"``, keep the ``"first"`` mention in the
            file, or the one with the ``"best"`` rank.
        confidence
            What a confidence column is used for. ``"order"`` (by default): it orders the conditions of a ranking.
            ``"share"``: a soft vote; each annotator's confidences on a case are divided by their sum, and every
            mentioned condition becomes a ranking of its own with that weight.
        lists
            What a list of labels means where no list of annotators stands beside it: ``"votes"`` of several annotators,
            or the ``"order"`` (best first) or the ``"tie"`` of one.
        nothing
            Of findings, the name that says that nothing was found.
        question
            What annotators were asked: which ``"conditions"`` (by default, unless the file says otherwise), a
            ``"binary"`` question of two conditions, or ``"grades"``. Grades are ordered as ``conditions`` says, or by
            number.
        positive
            The positive one of two conditions; to name it is to say that the question is binary.
        limits
            What a file may ask for, for example ``{"columns": 200_000, "memory": "32GB"}``; see the page on formats.

        Raises
        ------
        DissensusError
            If the file cannot be understood; the message says what, where, and what to do.

        Warns
        -----
        DissensusWarning
            If something in the file had to be skipped; ``examine`` tells what.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "opinions.csv")
        ...     _ = file.write_text("case,annotator,label,rank\nc1,Ann,Eczema,1\nc1,Ann,Tinea,2\n", encoding="utf-8")
        ...     read(file).to_rankings()
        [[[['Eczema'], ['Tinea']]]]
        """
        reading = examining(*given, **named)
        warn_of_losses(str(reading.source.path), reading.receipt)
        return reading.study

    read.__qualname__ = "read"
    return read


read = _studies(examine)


def examine_source(
    source: Source,
    format: str | None = None,  # noqa: A002 - the word users expect
    *,
    options: Options,
    ignore: Sequence[str] = (),
    place: str = "",
) -> Reading:
    """Read what is open already, as :func:`examine` does; errors name the ``place``.

    Examples
    --------
    >>> import polars as pl
    >>> from pathlib import Path
    >>> table = pl.DataFrame({"case": ["c1"], "annotator": ["Ann"], "label": ["Eczema"]})
    >>> examine_source(Source(Path("opinions"), "parquet", table), options=Options()).rankings.to_rankings()
    [[[['Eczema']]]]
    """
    source = prepared(source, options.columns, ignore=ignore, only=options.only)
    chosen = Format.family.find(format)() if format else recognised_format(source, options.columns, options.conditions)
    try:
        if source.is_table:
            refuse_types(source.table, str(source.path), lists=chosen.takes_lists)
        study, receipt = _parsed(chosen, source, options)
        chosen_rows = {
            name: Column(name, "", f"rows with {value!r}, {AS_SAID}") for name, value in options.only.items()
        }
        columns = (chosen_rows.get(one.name, one) if not one.role else one for one in receipt.columns)
        receipt = replace(receipt, columns=(*columns, *(Column(name, "", IGNORED) for name in ignore)))
    except DissensusError as error:
        files = source.content if source.kind == "directory" else ()
        named = any(str(path) in error.where for path in files)
        raise error if named else error.at(place or str(source.path)) from None
    return Reading(study.with_receipt(receipt), receipt, replace(source, content=None))


def examine_truth(
    source: Source, study: Study, *, options: Options, ignore: Sequence[str] = (), place: str = ""
) -> Reading:
    """Read what is known to be true, like the opinions of one annotator, with the conditions of a study.

    The file may lack what is to be ignored, and what roles are given. A number stands in the one column beside the
    cases, whatever it is called.

    Examples
    --------
    >>> import polars as pl
    >>> from pathlib import Path
    >>> study = Study.from_scores([[3.0, 4.0]], case_names=["c1"])
    >>> source = Source(Path("biopsies"), "parquet", pl.DataFrame({"case": ["c1"], "depth": [3.5]}))
    >>> examine_truth(source, study, options=Options()).study
    Ratings: 1 case, 1 rating from 3.5 to 3.5
    """
    source = prepared(source, {}, ignore=ignore, may_lack=True)
    names: Sequence[str] = source.table.columns if source.is_table else ()
    columns = {role: name for role, name in options.columns.items() if name in names}
    if study.kind == "ratings" and "score" not in columns and source.is_table:
        roles = find_columns(names, columns, required=(), aliases=RATING_ALIASES)
        case = columns["case"] = roles.get("case", source.table.columns[0])
        others = [name for name in names if name != case]
        columns |= {"score": others[0]} if "score" not in roles and len(others) == 1 else {}
    form = {"ratings": "ratings", "checklists": "checklist"}.get(study.kind)
    asked: dict[str, Any] = {"conditions": study.conditions or None, "columns": columns}
    asked |= {"nothing": options.nothing if study.kind == "checklists" else None, "is_truth": True}
    asked |= {"question": study.question if study.kind == "rankings" else None, "limits": options.limits}
    return examine_source(source, form, options=Options(**asked, format_is_given=form is not None), place=place)


def _parsed(chosen: Format, source: Source, options: Options) -> tuple[Study, Receipt]:
    parsed = chosen.parse(source, options)
    refuse_unheard(options.columns, parsed.columns, f"the format {chosen.id}")
    known = options.conditions if options.conditions is not None else parsed.conditions
    question: AnyQuestion | None = options.question
    if chosen.study != "rankings":  # other kinds have no conditions to choose from
        if question is not None and options.positive is None:  # which may be that of predictions alone
            raise DissensusError(
                f"{chosen.study} do not answer the question {question!r}",
                expected="a column of conditions or grades",
                got=f"a file of {chosen.study}",
                advice="say which column holds the grades: --column condition=NAME (columns={'condition': NAME})",
            )
        question = "numbers" if chosen.study == "ratings" else "findings"
    how: dict[str, Any] = {"duplicates": options.duplicates, "confidence": options.confidence, "question": question}
    how |= {"tie_separator": parsed.tie_separator, "unranked": options.unranked}
    how |= {"positive": options.positive} if chosen.study == "rankings" else {}
    study, notes = study_from_table(parsed.frame, known, **how)
    assumed = list(parsed.assumed)
    if options.conditions is not None and "condition" in parsed.frame.columns:
        found = parsed.frame["condition"].drop_nulls().unique().cast(str)
        if len(found) and found.str.contains(INTEGER).all() and set(options.conditions).isdisjoint(found):
            assumed.append(codes_in_words(options.conditions))
    if study.kind == "rankings":
        study, more, sentences = _ranked(study, parsed, options)
        notes, assumed = (*notes, *more), [*assumed, *sentences]
    said, told = tuple(dict.fromkeys(assumed)), (*parsed.notes, *notes)
    names = (str(source.path), chosen.id, options.format_is_given)
    return study, Receipt(*names, parsed.columns, said, told, study.examples())


def _ranked(study: Study, parsed: Parsed, options: Options) -> tuple[Study, list[Note], list[str]]:
    """Return the study with its conditions in the order of its question, and what there is to note and was assumed.

    Names that a file lists for another purpose than their order are put in order; silence means below; ties without any
    order may be findings that are all present.
    """
    is_listed = options.conditions is None and parsed.conditions is not None
    if is_listed and "kind_of_question" not in parsed.frame.columns:
        study = asked_of(study, options.question, options.positive, are_ordered=False)
    assumed, notes = [], []
    is_declared = options.question is not None or "kind_of_question" in parsed.frame.columns
    mentions, has_order = study.mentions_per_ranking, bool((study.blocks_per_ranking > 1).any())
    kind = None if is_declared or (mentions > 1).any() else recognised_question(study.conditions)
    if kind is not None:
        study = asked_of(study.with_conditions(kind[1]), kind[0], are_ordered=True)
        assumed.append(f"the answers are {'yes or no' if kind[0] == 'binary' else 'grades'}, {OTHERWISE}")
    is_said = options.unranked is not None or "unranked" in parsed.frame.columns
    if study.question == "conditions" and not is_said and (mentions < study.n_conditions).any():
        assumed.append("what an annotator does not mention ranks below what they mention")
    if asked := question_in_words(study):
        assumed.append(f"annotators were {asked}: {listing(study.conditions, most=8)}")
    tied = 0 if has_order else int(study.votes[study.has_tie].sum())
    if tied >= max(2, LEAST_TIED * study.n_votes):
        notes.append(Note("several conditions in no order", tied, "tied (findings? --format checklist)"))
    return study, notes, assumed


def recognised_format(
    source: Source, columns: Mapping[str, str | None] | None = None, conditions: Sequence[str] | None = None
) -> Format:
    """Recognise the format of a file, among those for files of its kind; none or several are an error.

    Columns that a user gave a role count as named by it. A table that has some of the columns of the long
    form is taken for one, so that reading it says which column is missing.
    """
    from dissensus.study.reading.columns import Counts, Long, Scores, is_table_of_votes
    from dissensus.study.reading.orders import refuse_two_readings

    given = columns or {}
    if source.path.suffix.lower() == INSPECT and given.get("score") is None:
        return Format.family.find("inspect")()
    if given.get("score") is not None:
        return Scores()
    seen = source
    if source.is_table:
        named = {name: role for role, name in given.items() if name and name in source.table.columns}
        crowded = [role for name, role in named.items() if name != role]
        seen = replace(source, content=source.table.drop(crowded, strict=False).rename(named))
    if is_table_of_votes(seen, conditions):
        return Counts()
    known = [one() for _, one in sorted(Format.family.known().items())]
    fitting = [one for one in known if source.kind in (one.kinds or (source.kind,)) and one.recognises(seen)]
    is_partly_long = source.is_table and any(has_role(seen, role) for role in ("case", "condition", "annotator"))
    if len(fitting) == 1 or (not fitting and is_partly_long):
        return fitting[0] if fitting else Long()
    if not fitting:
        refuse_two_readings(source)
    name = fitting[0].id if fitting else "NAME"
    advice = f"say which it is, for example --format {name} (format={name!r})"
    if source.kind == "text" and not fitting:
        advice = "if it is a table, let its name end in .csv or .tsv; else say --format NAME (format=NAME)"
    got = f"{source.kind}: {reprlib.repr(source.content)[:60]}"
    if source.kind == "directory":
        got = f"a directory with {len(source.content)} files"
    elif source.is_table or source.kind == "jsonl":
        keys = source.table.columns if source.is_table else list(source.content[0])
        what = "a table with the columns" if source.is_table else "JSON lines with the keys"
        got = f"{what} {', '.join(map(repr, keys[:8]))}"
    raise FormatError(
        "the file fits several formats" if fitting else "no known format fits the file",
        expected=f"{'one' if fitting else 'any'} of {', '.join(one.id for one in fitting or known)}",
        got=got,
        where=str(source.path),
        advice=advice,
    )
