"""What a format is: how it is recognised, and how it becomes a long table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dissensus.core.aliases import Confidence, Duplicates, Lists, Question, Unranked
from dissensus.core.files import LIMITS, Kind, Source
from dissensus.core.limits import Limits
from dissensus.core.notes import Note
from dissensus.core.receipt import Column
from dissensus.core.spec import Family, Registered

if TYPE_CHECKING:
    import polars as pl

# Kinds of files that hold records, and of those that hold a table or records that may form one.
RECORDS: tuple[Kind, ...] = ("json", "jsonl")
TABLES: tuple[Kind, ...] = ("table", "parquet", *RECORDS)


@dataclass(frozen=True)
class Options:
    """What a user says about a file beyond its content.

    Attributes
    ----------
    conditions
        Names of all conditions, in the order of their codes.
    columns
        The column of each role where it does not go by a usual name.
    only
        The rows to read: those with this value in a column.
    tie_separator
        Text at which a cell is split into tied conditions.
    bucket_order
        Names of ranked groups, best first, where a format does not say (Label Studio's Ranker).
    unranked
        What it means not to be mentioned.
    duplicates, confidence, lists
        What to do with repeated mentions, what confidences are used for, and what lists of labels mean, where anything
        is said.
    nothing
        The name that says that nothing was found, on checklists.
    question, positive
        What annotators were asked, and the positive one of two conditions, where anything is said.
    format_is_given
        Whether the user named the format, which confirms what would otherwise be a guess.
    limits
        What a file may ask for.
    """

    conditions: tuple[str, ...] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    tie_separator: str | None = None
    bucket_order: tuple[str, ...] | None = None
    unranked: Unranked | None = None
    duplicates: Duplicates = "refuse"
    confidence: Confidence | None = None
    lists: Lists | None = None
    nothing: str | None = None
    question: Question | None = None
    positive: str | None = None
    format_is_given: bool = False
    limits: Limits = LIMITS


@dataclass(frozen=True)
class Parsed:
    """A file as a long table whose columns are named by their roles (see ``tables.ALIASES``).

    Rows without a case declare names, rows without a condition are abstentions, rows with a case alone are
    unannotated cases. ``columns`` and ``assumed`` go into the receipt: the role of every column or key of the file,
    and what the file does not say and was taken for granted.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    conditions: tuple[str, ...] | None = None
    tie_separator: str | None = None
    columns: tuple[Column, ...] = ()
    assumed: tuple[str, ...] = ()


class Format(Registered, ABC):
    """A format of annotations; declaring a subclass with an ``id`` makes it known.

    Attributes
    ----------
    id, title
        The name on the command line, and what it is.
    study
        The kind of study that is built from the table: ``"rankings"``, ``"ratings"`` or ``"checklists"``.
    kinds
        The kinds of files that may be of this format (:class:`Source`), so that others need not be asked about; any,
        unless said.
    takes_lists
        Whether cells of tables may hold lists.

    Examples
    --------
    >>> Format.family.find("wide").title
    'table with one column per annotator, cells such as a>b=c'
    """

    family: ClassVar[Family[Format]] = Family("format", "dissensus.study.reading", "dissensus.formats")
    title: ClassVar[str]
    study: ClassVar[str] = "rankings"
    kinds: ClassVar[tuple[Kind, ...]] = ()
    takes_lists: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, source: Source) -> bool:
        """Tell from its content whether a file is of this format, and of no other."""

    @abstractmethod
    def parse(self, source: Source, options: Options) -> Parsed:
        """Turn a file into a long table, and count what is skipped."""
