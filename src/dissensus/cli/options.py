"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import typer

from dissensus.core.errors import DissensusError, suggestion

if TYPE_CHECKING:
    from dissensus.aggregation.base import Aggregation
    from dissensus.evaluation.categories import Categories
    from dissensus.study.reading import Reading

INPUT = "What to read"
MODEL = "The aggregation"

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
AggregationOption = Annotated[
    str,
    typer.Option(
        "--aggregation",
        help="How opinions become plausibilities.",
        rich_help_panel=MODEL,
    ),
]
ReliabilityOption = Annotated[
    float | None, typer.Option(help="How much to trust annotators; larger is more.", rich_help_panel=MODEL)
]
AlphaOption = Annotated[float | None, typer.Option(help="Prior mass of each condition.", rich_help_panel=MODEL)]
PriorOption = Annotated[
    str | None, typer.Option(help="Prior of Plackett-Luce: observed or symmetric.", rich_help_panel=MODEL)
]
TiesOption = Annotated[
    str | None, typer.Option(help="Weight of tied conditions in IRN: shared or each.", rich_help_panel=MODEL)
]
ChainsOption = Annotated[int | None, typer.Option(help="Chains of the sampler.", rich_help_panel=MODEL)]
WarmupOption = Annotated[int | None, typer.Option(help="Sweeps that each chain throws away.", rich_help_panel=MODEL)]
ThresholdsOption = Annotated[
    str | None, typer.Option(help="Limits between intervals of ratings, comma-separated.", rich_help_panel=MODEL)
]
CategoriesOption = Annotated[
    Path | None,
    typer.Option(
        help="Categories such as risks: one per line in the order of conditions, or a table with the columns condition "
        "and category.",
        rich_help_panel="What to compare",
        readable=False,
    ),
]
DrawsOption = Annotated[int, typer.Option(help="Draws per case.")]
SeedOption = Annotated[int, typer.Option(help="Same seed, same draws.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads; all processors by default.")]
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
    from dissensus.core.files import checked_path, read_text

    place = checked_path(path)
    if place.is_dir():
        raise DissensusError("the list of conditions is a directory", expected="a file", where=str(path))
    names = tuple(line.strip() for line in read_text(place).splitlines() if line.strip())
    if not names:
        raise DissensusError("the list of conditions is empty", where=str(path))
    return names


def categories_from(path: Path | None, conditions: tuple[str, ...]) -> Categories | None:
    """Read the categories of conditions, if a file is given."""
    from dissensus.evaluation.categories import Categories

    return None if path is None else Categories.from_file(path, conditions)


class Said(TypedDict):
    """What the options of the command line say about a file."""

    format: str | None
    conditions: Path | None
    column: list[str] | None
    tie_separator: str | None
    bucket_order: str | None
    unranked: str | None


def examine(file: Path, **said: Unpack[Said]) -> Reading:
    """Read opinions, of whichever kind, as the options of the command line say."""
    from dissensus.study.reading import examine_annotations

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


def chosen_aggregation(name: str, **given: Any) -> Aggregation:
    """Make an aggregation with the parameters that were given."""
    from dissensus.aggregation.base import Aggregation
    from dissensus.core.spec import one_spec

    spec = one_spec(Aggregation.family, name)
    own = {part.name: getattr(spec, part.name) for part in spec.parameter_fields()}
    parameters = {**given, "thresholds": threshold_list(given.pop("thresholds"))}
    known = {key: value for key, value in parameters.items() if value is not None}
    return type(spec).from_parameters({**own, **known})


def threshold_list(text: str | None) -> tuple[float, ...] | None:
    """Read numbers separated by commas.

    >>> threshold_list("0, 2.5")
    (0.0, 2.5)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise DissensusError(
            "--thresholds is not understood", expected="numbers separated by commas", got=repr(text)
        ) from None


def examine_for(aggregations: Sequence[Aggregation], file: Path, **said: Unpack[Said]) -> Reading:
    """Read what aggregations need; a table of numbers is one of ratings if that is what they take."""
    if all(spec.needs == "ratings" for spec in aggregations):
        said = {**said, "format": said["format"] or "ratings"}
    return examine(file, **said)
