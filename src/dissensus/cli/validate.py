"""``dissensus validate``: understand a file of opinions, or say precisely what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from dissensus.cli import options
from dissensus.core.errors import HoldsRatingsError

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.study.diagnosis import Diagnosis, RatingsDiagnosis


def validate(
    file: options.AnnotationFile,
    format: options.FormatOption = None,  # noqa: A002 - the word users expect
    conditions: options.ConditionsOption = None,
    column: options.ColumnOption = None,
    tie_separator: options.TieOption = None,
    bucket_order: options.BucketOption = None,
    unranked: options.UnrankedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the diagnosis as JSON.")] = False,
) -> None:
    """Read opinions and print what was found: counts, ties, duplicates, and what was skipped.

    [bold]Examples[/bold]

      dissensus validate opinions.csv

      dissensus validate labels.csv --column case=image --tie-separator '|'

      dissensus validate selectors.json --conditions conditions.txt --json
    """
    found: Diagnosis | RatingsDiagnosis
    if format == "ratings" or "score" in options.column_roles(column):
        found = _diagnose_ratings(file, column)
    else:
        try:
            found = _diagnose_rankings(
                file,
                format=format,
                conditions=conditions,
                column=column,
                tie_separator=tie_separator,
                bucket_order=bucket_order,
                unranked=unranked,
            )
        except HoldsRatingsError:
            found = _diagnose_ratings(file, column)
    if as_json:
        typer.echo(json.dumps({"file": str(file), **found.to_dict()}, indent=2, ensure_ascii=False))
    else:
        show(file, found)


def _diagnose_rankings(file: Path, **said: Unpack[options.Said]) -> Diagnosis:
    from dissensus.study.diagnosis import diagnose

    reading = options.examine(file, **said)
    return diagnose(reading.annotations, format=reading.format, notes=reading.notes)


def _diagnose_ratings(file: Path, column: list[str] | None) -> RatingsDiagnosis:
    from dissensus.study.diagnosis import diagnose_ratings
    from dissensus.study.ratings import read_ratings

    return diagnose_ratings(read_ratings(file, columns=options.column_roles(column)))


def show(file: Path, found: Diagnosis | RatingsDiagnosis) -> None:
    """Print a diagnosis as a table, the notes, and a closing word."""
    from rich.console import Console
    from rich.text import Text

    from dissensus.study.diagnosis import Diagnosis

    console = Console()
    console.print(Text(f"{file}: understood as {found.format}", style="bold"))
    console.print(_table(found))
    remarks = _remarks(found) if isinstance(found, Diagnosis) else _remarks_on_ratings(found)
    for remark in remarks:
        console.print(Text(f"  ! {remark}", style="yellow"), soft_wrap=True)
    lost = isinstance(found, Diagnosis) and any(note.lost for note in found.notes)
    console.print(Text("  everything else was used" if lost else "  everything was used", style="green"))


def _table(found: Diagnosis | RatingsDiagnosis) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
    for label, value in _facts(found).items():
        table.add_row(label, Text(value))
    return table


def _facts(found: Diagnosis | RatingsDiagnosis) -> dict[str, str]:
    from dissensus.study.diagnosis import Diagnosis, percent

    if not isinstance(found, Diagnosis):
        return {
            "cases": str(found.cases),
            "ratings": str(found.ratings),
            "annotators": str(found.annotators or "anonymous"),
            "ratings per case": str(found.annotators_per_case),
            "scores": _scores(found),
        }
    spoken = found.rankings - found.abstentions
    return {
        "cases": str(found.cases),
        "rankings": str(found.rankings),
        "conditions": f"{found.conditions}, of which {found.conditions_mentioned} mentioned",
        "not mentioned means": found.unranked,
        "annotators": str(found.annotators or "anonymous"),
        "annotators per case": str(found.annotators_per_case),
        "conditions per ranking": str(found.conditions_per_ranking),
        "conditions per case": str(found.conditions_per_case),
        "one condition only": f"{found.single_condition_rankings} ({percent(found.single_condition_rankings, spoken)})",
        "with a tie": f"{found.rankings_with_tie} ({percent(found.rankings_with_tie, spoken)}), "
        f"largest block {found.largest_tie}",
        "weights": "yes" if found.weighted else "none",
        "groups of cases": str(found.groups or "none"),
    }


def _scores(found: RatingsDiagnosis) -> str:
    if found.mean is None:
        return "none"
    return f"{found.lowest:g} to {found.highest:g}, mean {found.mean:.3g}, sd {found.sd:.3g}"


def _remarks_on_ratings(found: RatingsDiagnosis) -> list[str]:
    from dissensus.core.errors import listing
    from dissensus.study.diagnosis import plural

    remarks = []
    if found.unannotated_cases:
        cases = plural(len(found.unannotated_cases), "case")
        remarks.append(f"{cases} without a rating: kept ({listing(found.unannotated_cases, most=3)})")
    if found.repeated_ratings:
        remarks.append(f"{plural(found.repeated_ratings, 'rating')} by an annotator who rated the case before: kept")
    return remarks


def _remarks(found: Diagnosis) -> list[str]:
    from dissensus.core.errors import listing
    from dissensus.study.diagnosis import plural

    remarks = [str(note) for note in found.notes]
    if found.abstentions:
        remarks.append(f"{plural(found.abstentions, 'abstention')}: kept, without conditions")
    if found.unannotated_cases:
        cases = plural(len(found.unannotated_cases), "unannotated case")
        remarks.append(f"{cases}: kept, excluded from aggregation ({listing(found.unannotated_cases, most=3)})")
    if found.repeated_rankings:
        remarks.append(f"{plural(found.repeated_rankings, 'ranking')} by an annotator who ranked the case before: kept")
    if found.conditions_never_used:
        count = plural(len(found.conditions_never_used), "condition")
        remarks.append(f"{count} never used ({listing(found.conditions_never_used, most=3)})")
    for one, other in found.similar_conditions[:5]:
        remarks.append(f"conditions {one!r} and {other!r} look alike: one name spelt twice?")
    return remarks
