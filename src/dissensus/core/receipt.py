"""Receipts: what a reader understood of a file, with notes on what was found: nothing is dropped silently."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from dissensus.core.arrays import IntArray, Value
from dissensus.core.checks import check_fields, check_kind
from dissensus.core.errors import DissensusError, DissensusWarning, known_name, listing
from dissensus.core.names import Said

# The usual reasons why a column has a role.
BY_NAME, AS_SAID = "by its name", "as said"

IGNORED = "ignored, as said"

# Two words for one role.
SAME = {"finding": ("condition",), "condition": ("finding",)}

# Longer examples are cut off.
LONGEST = 160


@dataclass(frozen=True)
class Note:
    """Count one kind of finding and say what was done with it; ``lost`` if it did not reach the study.

    Examples
    --------
    >>> print(Note("cancelled annotations", 2, "skipped", ("task 1", "task 7")))
    cancelled annotations: 2, skipped (for example 'task 1', 'task 7')
    """

    found: str
    count: int
    action: str
    examples: tuple[str, ...] = ()
    lost: bool = False

    def __add__(self, other: Note) -> Note:
        examples = tuple(dict.fromkeys((*self.examples, *other.examples)))[:3]
        return replace(self, count=self.count + other.count, examples=examples, lost=self.lost or other.lost)

    def __str__(self) -> str:
        examples = f" (for example {listing(self.examples, most=3)})" if self.examples else ""
        return f"{self.found}: {self.count}, {self.action}{examples}"


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

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.name!r} is {f'the {self.role}' if self.role else 'not used'}{reason}"


@dataclass(frozen=True)
class Receipt:
    r"""What was understood of one file.

    Attributes
    ----------
    path, format, is_given
        The file, the name of its format, and whether the user named the format or it was recognised.
    columns
        The role of every column or key, in the order of the file; empty for formats without any.
    assumed
        What the file does not say and was taken for granted, one sentence each.
    notes
        What was skipped, or deserves a look.
    examples
        A few opinions or predictions in words.

    Examples
    --------
    >>> columns = (Column("image", "case", "by its name"), Column("dx", "condition", "as said"), Column("age", ""))
    >>> receipt = Receipt("opinions.csv", "long", columns=columns, assumed=("every row is an opinion of its own",))
    >>> print(*receipt.lines(), sep="\n")
    opinions.csv: read as long (recognised)
      case: 'image'; condition: 'dx'
      not used: 'age'
      assumed: every row is an opinion of its own
    """

    path: str
    format: str
    is_given: bool = False
    columns: tuple[Column, ...] = ()
    assumed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def understood(self) -> str:
        """What the file was read as, and why."""
        return f"{self.format} ({AS_SAID if self.is_given else 'recognised'})"

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns without a role."""
        return tuple(column.name for column in self.columns if not column.role)

    @property
    def lost(self) -> tuple[Note, ...]:
        """What did not become part of the study."""
        return tuple(note for note in self.notes if note.lost)

    @property
    def everything_was_used(self) -> bool:
        """Whether every column has a role and nothing was lost."""
        return not self.unused and not self.lost

    def roles(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the columns of every role and reason, those without a role last.

        Examples
        --------
        >>> columns = (Column("age", ""), Column("Ann", "annotator"), Column("Bo", "annotator"))
        >>> Receipt("a.csv", "wide", columns=columns).roles()
        {('annotator', ''): ('Ann', 'Bo'), ('', ''): ('age',)}
        """
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for column in sorted(self.columns, key=lambda one: not one.role):
            key = (column.role, column.reason)
            found[key] = (*found.get(key, ()), column.name)
        return found

    def lines(self) -> list[str]:
        """Tell it in a few lines: the format, the roles, what was not used, assumed and lost.

        Examples
        --------
        >>> Receipt("votes.npy", "counts", is_given=True).lines()
        ['votes.npy: read as counts (as said)']
        """
        named: dict[str, list[str]] = {}
        for (role, _), names in self.roles().items():
            named.setdefault(role, []).extend(names)
        told = {
            "": "; ".join(f"{role}: {listing(names, most=3)}" for role, names in named.items() if role),
            "not used: ": listing(self.unused),
            "assumed: ": "; ".join(self.assumed),
            "! ": "; ".join(map(str, self.lost)),
        }
        found = [f"  {label}{text}" for label, text in told.items() if text]
        return [f"{self.path}: read as {self.understood}", *found]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold.

        Examples
        --------
        >>> Receipt("a.npy", "counts").to_dict()["everything_was_used"]
        True
        """
        return {**asdict(self), "everything_was_used": self.everything_was_used}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Receipt:
        """Restore what :meth:`to_dict` gave.

        Examples
        --------
        >>> receipt = Receipt("a.csv", "wide", columns=(Column("Ann", "annotator"),), notes=(Note("rows", 1, "kept"),))
        >>> Receipt.from_dict(receipt.to_dict()) == receipt
        True
        """
        check_kind("given", given, "Mapping")
        for name in (part.name for part in fields(cls)):
            known_name("part", name, given, purpose="of a receipt")
        columns = tuple(Column(**column) for column in given["columns"])
        notes = tuple(Note(**{**note, "examples": _texts("examples", note)}) for note in given["notes"])
        for note in notes:
            check_fields(note)
        texts = {name: _texts(name, given) for name in ("assumed", "examples")}
        return cls(given["path"], given["format"], given["is_given"], columns=columns, notes=notes, **texts)


def _texts(name: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    check_kind(name, given[name], "Sequence[str]")
    return tuple(given[name])


class Received(Value):
    """A value that keeps the receipt of the file it was read from; the receipt is neither compared nor hashed."""

    @property
    def receipt(self) -> Receipt | None:
        """What was understood of the file; none for what was built in memory."""
        found: Receipt | None = self.__dict__.get("_receipt")
        return found

    def with_receipt(self, receipt: Receipt | None) -> Self:
        """Return the same value with another receipt."""
        again = object.__new__(type(self))
        again.__dict__.update(self.__dict__)
        again.__dict__["_receipt"] = receipt
        return again

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"_receipt": self.receipt})


def shared_receipt(parts: list[Any]) -> Receipt | None:
    """Return the receipt of values that were read from one file; none if they come from several."""
    receipts = [part.receipt for part in parts]
    return receipts[0] if all(receipt == receipts[0] for receipt in receipts) else None


def shortened(text: str) -> str:
    """Cut off what is too long for an example.

    >>> shortened("x" * 200)[-5:]
    'xx...'
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def tied_in_words(blocks: Iterable[Sequence[str]]) -> str:
    """Write a ranking in words, block by block.

    >>> tied_in_words([["Melanoma"], ["Nevus", "Acne", "Wart"]])
    'Melanoma, then Nevus, Acne and Wart tied'
    """
    named = [block[0] if len(block) == 1 else f"{', '.join(block[:-1])} and {block[-1]} tied" for block in blocks]
    return ", then ".join(named) or "no condition"


def spaced(positions: IntArray, most: int) -> list[int]:
    """Choose a few positions: the first, the last, and some between them.

    >>> spaced(np.arange(10), 3)
    [0, 4, 9]
    """
    steps = np.linspace(0, len(positions) - 1, max(0, min(most, len(positions)))).astype(np.int64)
    return [int(position) for position in positions[steps]]


def codes_in_words(names: tuple[str, ...]) -> str:
    """Say which condition each code stands for.

    >>> codes_in_words(("Melanoma", "Nevus", "Acne", "Wart"))
    'integers are codes of the given conditions: 0 is Melanoma, 1 is Nevus, 2 is Acne and so on'
    """
    shown = ", ".join(f"{code} is {name}" for code, name in enumerate(names[:3]))
    return f"integers are codes of the given conditions: {shown}{' and so on' if len(names) > 3 else ''}"


def warn_of_losses(path: object, receipt: Receipt) -> None:
    """Warn, on behalf of a public reader, of what did not become part of the study."""
    if receipt.lost:
        warnings.warn(f"{path}: {'; '.join(map(str, receipt.lost))}", DissensusWarning, stacklevel=4)


def columns_of(
    names: Iterable[str], roles: Mapping[str, str], given: Said, *, why: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """Tell the role of every column, and the reason: by its name or as said, unless ``why`` has another.

    >>> print(*columns_of(["image", "dx"], {"case": "image", "condition": "dx"}, {"condition": "dx"}), sep=", ")
    'image' is the case (by its name), 'dx' is the condition (as said)
    """
    role_of = {column: role.replace("_", " ") for role, column in roles.items()}
    said = {column for role, column in given.items() if column is not None and roles.get(role) == column}
    reasons = {name: AS_SAID if name in said else BY_NAME for name in role_of}
    return tuple(Column(name, role_of.get(name, ""), {**reasons, **(why or {})}.get(name, "")) for name in names)


def refuse_unheard(given: Said, columns: Iterable[Column], what: str) -> None:
    """Refuse a role that a user gave a column, and that was not taken from it."""
    told = [column for column in columns if column.reason == AS_SAID and column.role]
    heard = {word for column in told for word in (column.name, *SAME.get(column.role, ()), column.role)}
    roles = {role: name for role, name in given.items() if name is not None}
    unheard = [role for role, name in roles.items() if heard.isdisjoint((role.replace("_", " "), name))]
    if unheard:
        problem, got = f"{what} has no use for the role {unheard[0]!r}", f"--column {unheard[0]}={roles[unheard[0]]}"
        known = listing(dict.fromkeys(column.role for column in told))
        advice = "leave it out, or say another format (--format NAME)"
        expected = f"one of the roles {known}" if told else "no role"
        raise DissensusError(problem, expected=expected, got=got, advice=advice)
