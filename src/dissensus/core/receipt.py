"""Receipts: what a reader understood of a file, so that a person can see whether it is what they meant."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.core.notes import Note


@dataclass(frozen=True)
class Column:
    """A column (or key) of a file and its role; no role if it was not used.

    Attributes
    ----------
    name
        As the file has it.
    role
        What it was taken for; empty if it was not used.
    reason
        Why: ``"by its name"``, ``"as said"``, or another few words.

    Examples
    --------
    >>> str(Column("image", "case", "by its name")), str(Column("age", ""))
    ("'image' is the case (by its name)", "'age' is not used")
    """

    name: str
    role: str
    reason: str = ""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.name!r} is {f'the {self.role}' if self.role else 'not used'}{reason}"


@dataclass(frozen=True)
class Receipt:
    """What was understood of one file.

    Attributes
    ----------
    path, format, is_given
        The file, the name of its format, and whether the user named the format or it was recognised.
    columns
        The role of every column, in the order of the file; empty for formats without columns.
    assumed
        What the file does not say and was taken for granted, one sentence each.
    notes
        What was skipped, or deserves a look.
    examples
        A few opinions or predictions in words.
    """

    path: str
    format: str
    is_given: bool = False
    columns: tuple[Column, ...] = ()
    assumed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def everything_was_used(self) -> bool:
        """Whether every column has a role and nothing was lost."""
        return all(column.role for column in self.columns) and not any(note.lost for note in self.notes)
