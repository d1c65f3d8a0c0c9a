"""Options that several commands share, and what they mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.core.errors import DissensusError, suggestion

if TYPE_CHECKING:
    from dissensus.aggregation.base import Aggregation
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.categories import Categories
    from dissensus.study.reading import Reading
    from dissensus.study.study import Study

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
CategoriesOption = Annotated[
    Path | None,
    typer.Option(
        help="Categories such as risks: one per line in the order of conditions, or a table with the columns condition "
        "and category.",
        rich_help_panel="What to compare",
        readable=False,
    ),
]
READING: dict[str, Any] = {
    "format": Annotated[
        str | None,
        typer.Option("--format", help="Name of the format, if it is not recognised.", rich_help_panel=INPUT),
    ],
    "conditions": Annotated[
        Path | None,
        typer.Option(
            "--conditions",
            help="File with the names of all conditions, one per line, in order.",
            rich_help_panel=INPUT,
            readable=False,  # opening it says more
        ),
    ],
    "column": Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="ROLE=NAME",
            help="Which column is which, e.g. case=image. Repeat as needed.",
            rich_help_panel=INPUT,
        ),
    ],
    "ignore": Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="COLUMN", help="A column to leave out. Repeat as needed.", rich_help_panel=INPUT
        ),
    ],
    "tie_separator": Annotated[
        str | None,
        typer.Option(
            "--tie-separator", help="Text between tied conditions in one cell, e.g. '|'.", rich_help_panel=INPUT
        ),
    ],
    "bucket_order": Annotated[
        str | None,
        typer.Option(
            "--bucket-order", help="Ranked groups, best first, comma-separated (Label Studio).", rich_help_panel=INPUT
        ),
    ],
    "unranked": Annotated[
        str | None,
        typer.Option(
            "--unranked", help="What not being mentioned means: below (default) or unobserved.", rich_help_panel=INPUT
        ),
    ],
    "duplicates": Annotated[
        str | None,
        typer.Option(
            "--duplicates",
            help="A condition mentioned again in a ranking: refuse (default), keep the first, or the best.",
            rich_help_panel=INPUT,
        ),
    ],
    "confidence": Annotated[
        str | None,
        typer.Option(
            "--confidence",
            help="What confidences do: order conditions (default), or share one vote among them.",
            rich_help_panel=INPUT,
        ),
    ],
    "lists": Annotated[
        str | None,
        typer.Option(
            "--lists",
            help="What lists of labels are: votes of several annotators, or the order or the tie of one.",
            rich_help_panel=INPUT,
        ),
    ],
    "nothing": Annotated[
        str | None,
        typer.Option(
            "--nothing",
            metavar="NAME",
            help="The name that says that nothing was found (--format checklist).",
            rich_help_panel=INPUT,
        ),
    ],
    "question": Annotated[
        str | None,
        typer.Option(
            "--question",
            metavar="conditions|binary|grades",
            help="What annotators were asked: which conditions, whether the positive of two holds, or which grade.",
            rich_help_panel=INPUT,
        ),
    ],
    "positive": Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="NAME",
            help="The positive one of two conditions: annotators were asked for it, and a model's file of one number "
            "per case holds its probability.",
            rich_help_panel=INPUT,
        ),
    ],
    "limit": Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=SIZE",
            help="What a file may ask for, e.g. columns=200000 or memory=32GB. Repeat as needed.",
            rich_help_panel=INPUT,
        ),
    ],
}
"""What a user can say about a file of opinions."""

SPEC: dict[str, Any] = {
    "aggregation": Annotated[
        str | None,
        typer.Option(
            "--aggregation",
            help="How opinions become plausibilities: by itself plackett-luce, for ratings normal-inverse-gamma.",
            rich_help_panel=MODEL,
        ),
    ],
    "reliability": Annotated[
        float | None, typer.Option(help="How much to trust annotators; larger is more.", rich_help_panel=MODEL)
    ],
    "alpha": Annotated[
        str | None, typer.Option(help="Prior mass of each condition, or fitted.", rich_help_panel=MODEL)
    ],
    "prior": Annotated[
        str | None,
        typer.Option(
            help="Prior of conditions: observed, symmetric or frequency (informed needs models: dissensus evaluate).",
            rich_help_panel=MODEL,
        ),
    ],
    "scale": Annotated[
        str | None, typer.Option(help="Concentration of PrIRN: per case or annotator.", rich_help_panel=MODEL)
    ],
    "ties": Annotated[
        str | None, typer.Option(help="Weight of tied conditions in IRN: shared or each.", rich_help_panel=MODEL)
    ],
    "chains": Annotated[int | None, typer.Option(help="Chains of the sampler.", rich_help_panel=MODEL)],
    "warmup": Annotated[int | None, typer.Option(help="Sweeps that each chain throws away.", rich_help_panel=MODEL)],
    "tempered": Annotated[
        bool | None,
        typer.Option(
            "--tempered", help="Race at plausibilities to the power of the reliability.", rich_help_panel=MODEL
        ),
    ],
    "thresholds": Annotated[
        str | None, typer.Option(help="Limits between intervals of ratings, comma-separated.", rich_help_panel=MODEL)
    ],
}
"""An aggregation and its parameters."""

BUNDLES = {"said": READING, "spec": SPEC}
"""Options that belong together, by the name under which a command takes all of them."""

USUAL = {"ratings": "normal-inverse-gamma"}
"""How opinions of a kind become plausibilities if nobody says otherwise; those of other kinds by Plackett-Luce."""


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the options of a bundle as one mapping: a parameter ``said`` or ``spec`` stands for them."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    taken = [parameter.name for parameter in parameters if parameter.name in BUNDLES]

    @wraps(command)
    def expanded(**given: Any) -> None:
        own = {name: {option: given.pop(option) for option in BUNDLES[name]} for name in taken}
        command(**given, **own)

    options = [one for parameter in parameters for one in _expanded(parameter)]
    expanded.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what typer looks at
    expanded.__annotations__ = {one.name: one.annotation for one in options}
    return expanded


def _expanded(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Put the options of a bundle in the place of the parameter that stands for them."""
    if parameter.name not in BUNDLES:
        return [parameter]
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in BUNDLES[parameter.name].items()
    ]


ThresholdsOption = Annotated[
    str | None,
    typer.Option("--thresholds", help="Cut ratings into conditions here, comma-separated; by itself at their median."),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists; never an input.")]
OverwriteResultsOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace earlier results; never a directory that holds anything else.")
]
DrawsOption = Annotated[int, typer.Option(help="Draws per case.")]
SeedOption = Annotated[int, typer.Option(help="Same seed, same draws.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads; all processors by default.")]
ROLES = (
    *("case", "annotator", "annotation", "condition", "finding", "present", "rank", "confidence", "score"),
    *("weight", "votes", "group", "case_weight"),
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


def limit_sizes(limits: list[str] | None) -> dict[str, int | str]:
    """Turn ``NAME=SIZE`` into a mapping.

    >>> limit_sizes(["columns=200000", "memory=32GB"])
    {'columns': '200000', 'memory': '32GB'}
    """
    return {name: size for name, _, size in (limit.partition("=") for limit in limits or [])}


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


def examine(file: Path, said: Mapping[str, Any]) -> Reading:
    """Read opinions, of whichever kind, as the options of the command line say."""
    from dissensus.study.reading import examine_annotations

    return examine_annotations(file, said["format"], **reading_options(said))


def reading_options(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return how opinions are read, as the options of the command line say."""
    buckets = said["bucket_order"]
    return {
        "conditions": condition_list(said["conditions"]),
        "columns": column_roles(said["column"]),
        "ignore": tuple(said["ignore"] or ()),
        "tie_separator": said["tie_separator"],
        "bucket_order": tuple(name.strip() for name in buckets.split(",")) if buckets else None,
        "unranked": said["unranked"],
        "duplicates": said["duplicates"] or "refuse",
        "confidence": said["confidence"],
        "lists": said["lists"],
        "nothing": said["nothing"],
        "question": said["question"],
        "positive": said["positive"],
        "limits": limit_sizes(said["limit"]),
    }


def read_for(spec: Mapping[str, Any], file: Path, said: Mapping[str, Any]) -> tuple[Study, Aggregation]:
    """Read opinions, and make the aggregation that is asked for, or the one that their kind usually has."""
    if spec["aggregation"] is None and spec["thresholds"] is None:
        study = examine_for([], file, said).study
        return study, chosen_aggregation(spec, study.kind)
    chosen = chosen_aggregation(spec, "rankings" if spec["thresholds"] is None else "ratings")
    return examine_for([chosen], file, said).study, chosen


def chosen_aggregation(given: Mapping[str, Any], kind: str = "rankings") -> Aggregation:
    """Make an aggregation from its text, or that of a kind of study, and the parameters that were given beside it."""
    from dissensus.aggregation.base import Aggregation
    from dissensus.core.spec import one_spec

    spec = one_spec(Aggregation.family, given["aggregation"] or USUAL.get(kind, "plackett-luce"))
    plain = one_spec(Aggregation.family, spec.id)  # what was left out depends on what is given beside
    names = (part.name for part in spec.parameter_fields())
    own = {name: getattr(spec, name) for name in names if getattr(spec, name) != getattr(plain, name)}
    beside = {**given, "thresholds": threshold_list(given["thresholds"]), "alpha": alpha_of(given["alpha"])}
    known = {key: value for key, value in beside.items() if value is not None and key != "aggregation"}
    return type(spec).from_parameters({**own, **known})


def alpha_of(text: str | None) -> float | str | None:
    """Read a number, or the word for one that is to be fitted.

    >>> alpha_of("0.5"), alpha_of("fitted")
    (0.5, 'fitted')
    """
    if text is None or text == "fitted":
        return text
    try:
        return float(text)
    except ValueError:
        raise DissensusError("--alpha is not understood", expected="a number, or fitted", got=repr(text)) from None


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


def cut_at(aggregations: Sequence[Aggregation], thresholds: str | None) -> tuple[Aggregation, ...]:
    """Give thresholds to all aggregations of ratings."""
    cuts = threshold_list(thresholds)
    if cuts is None:
        return tuple(aggregations)
    if any(spec.needs != "ratings" for spec in aggregations):
        raise DissensusError(
            "--thresholds cut ratings into conditions",
            expected="aggregations of ratings, such as normal-inverse-gamma",
            got=", ".join(spec.id for spec in aggregations if spec.needs != "ratings"),
            advice="leave --thresholds out",
        )
    return tuple(type(spec).from_parameters({**spec.parameters(), "thresholds": cuts}) for spec in aggregations)


def say_receipt(receipt: Receipt) -> None:
    """Tell, on standard error, in a few lines what was understood of a file, and what of it was not used."""
    from dissensus.cli.terminal import say

    for line in receipt.lines():
        say(line, style="yellow" if line.startswith("  !") else "dim", stderr=True)


def say_receipt_of_model(receipt: Receipt) -> None:
    """Tell the same of a file of predictions in one line."""
    from dissensus.cli.terminal import say

    line = "; ".join(line.strip() for line in receipt.lines())
    say(line, style="yellow" if receipt.lost else "dim", stderr=True)


def examine_for(aggregations: Sequence[Aggregation], file: Path, said: Mapping[str, Any]) -> Reading:
    """Read what aggregations need; a table of numbers is one of ratings if that is what they take."""
    if aggregations and all(spec.needs == "ratings" for spec in aggregations):
        said = {**said, "format": said["format"] or "ratings"}
    reading = examine(file, said)
    say_receipt(reading.receipt)
    return reading
