"""Options that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

import typer

from dissensus.errors import DissensusError, suggestion

if TYPE_CHECKING:
    from dissensus.annotations.reading import Reading

INPUT = "What to read"

AnnotationFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Annotations: CSV, TSV, Parquet, JSON, JSON lines, PrefLib, a directory.",
        readable=False,  # opening it says more
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="Name of the format, if it is not recognised.", rich_help_panel=INPUT),
]
ConditionsOption = Annotated[
    Path | None,
    typer.Option(
        "--conditions",
        help="File with the names of all conditions, one per line, in order.",
        rich_help_panel=INPUT,
        readable=False,  # opening it says more
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="Which column is which, e.g. case=image. Repeat as needed.",
        rich_help_panel=INPUT,
    ),
]
TieOption = Annotated[
    str | None,
    typer.Option("--tie-separator", help="Text between tied conditions in one cell, e.g. '|'.", rich_help_panel=INPUT),
]
BucketOption = Annotated[
    str | None,
    typer.Option(
        "--bucket-order", help="Ranked groups, best first, comma-separated (Label Studio).", rich_help_panel=INPUT
    ),
]
UnrankedOption = Annotated[
    str | None,
    typer.Option(
        "--unranked", help="What not being mentioned means: below (default) or unobserved.", rich_help_panel=INPUT
    ),
]
ROLES = (
    *("case", "annotator", "annotation", "condition", "rank", "confidence", "score"),
    *("weight", "group", "case_weight"),
)


def column_roles(columns: list[str] | None) -> dict[str, str | None]:
    """Turn ``ROLE=NAME`` into a mapping.

    >>> column_roles(["case=image", "annotator=reader"])
    {'case': 'image', 'annotator': 'reader'}
    """
    roles: dict[str, str | None] = {}
    for column in columns or []:
        role, equals, name = column.partition("=")
        if not equals or role not in ROLES:
            raise DissensusError(
                "--column is not understood",
                expected=f"ROLE=NAME with one of the roles {', '.join(ROLES)}",
                got=repr(column),
                advice=suggestion(role, ROLES),
            )
        roles[role] = name
    return roles


def condition_list(path: Path | None) -> tuple[str, ...] | None:
    """Read a list of names, one per line."""
    if path is None:
        return None
    from dissensus.files import checked_path, read_text

    place = checked_path(path)
    if place.is_dir():
        raise DissensusError("the list of conditions is a directory", expected="a file", where=str(path))
    names = tuple(line.strip() for line in read_text(place).splitlines() if line.strip())
    if not names:
        raise DissensusError("the list of conditions is empty", where=str(path))
    return names


class Said(TypedDict):
    """What the options of the command line say about a file."""

    format: str | None
    conditions: Path | None
    column: list[str] | None
    tie_separator: str | None
    bucket_order: str | None
    unranked: str | None


def examine(file: Path, **said: Unpack[Said]) -> Reading:
    """Read annotations as the options of the command line say."""
    from dissensus.annotations.reading import examine_annotations

    buckets = said["bucket_order"]
    return examine_annotations(
        file,
        said["format"],
        conditions=condition_list(said["conditions"]),
        columns=column_roles(said["column"]),
        tie_separator=said["tie_separator"],
        bucket_order=[name.strip() for name in buckets.split(",")] if buckets else None,
        unranked=said["unranked"],  # type: ignore[arg-type]  # checked where annotations are built
    )
