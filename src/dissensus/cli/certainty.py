"""``dissensus certainty``: how certain the opinions are, and which cases deserve a second look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, progress
from dissensus.cli.options import COMPARED, option
from dissensus.cli.terminal import grid, say, show
from dissensus.core.errors import DissensusError, listing

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from dissensus.certainty.categories import Categories
    from dissensus.certainty.top_sets import Certainty
    from dissensus.draws import Plausibilities

SHOWN = 10
USUAL_TOP = 3

# Columns that the terminal does not show.
HIDDEN = ("error", "winner_top", "category_error", "risk_min", "risk_max")


@options.bundled
def certainty(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path | None, option("Write a row per case: .csv, .tsv, .parquet or .jsonl.")] = None,
    overwrite: options.Overwrite = False,
    top: Annotated[int | None, option("Compare the first 1 to this many conditions; 3.", panel=COMPARED)] = None,
    rank: Annotated[
        int | None, option("Compare the condition in this place instead, such as the second.", panel=COMPARED)
    ] = None,
    unmentioned: Annotated[
        str, option("Conditions nobody mentioned: identify each, or pool them.", panel=COMPARED)
    ] = "identify",
    categories: options.CategoriesFile = None,
    via: Annotated[str, option("Category of a draw: of its top condition, or of most mass.", panel=COMPARED)] = "top",
    spec: Mapping[str, Any],
    how: Mapping[str, Any],
    said: Mapping[str, Any],
) -> None:
    """Find how certain the opinions on every case are: how often draws agree on the first conditions.

    [bold]Examples[/bold]

      dissensus certainty opinions.csv

      dissensus certainty opinions.csv --reliability 3 --top 3 --out uncertain.csv

      dissensus certainty opinions.csv --rank 2

      dissensus certainty opinions.csv --categories risks.txt --conditions conditions.txt
    """
    from dissensus.certainty.categories import VIA, Categories
    from dissensus.certainty.top_sets import UNMENTIONED, certainty_profile, check_top, rank_certainty
    from dissensus.core.checks import check_choice
    from dissensus.core.output import checked_table_target, write_table

    check_choice("--unmentioned", unmentioned, UNMENTIONED)
    check_choice("--via", via, VIA)
    if rank is not None and (top is not None or via != "top"):
        raise DissensusError(
            "--rank asks about one place",
            expected="no --top, which asks about the first places, and no --via mass, which asks about none",
            got=f"--rank {rank}" + (f" --top {top}" if top is not None else "") + (f" --via {via}" * (via != "top")),
        )
    if out is not None:
        checked_table_target(out, overwrite=overwrite, inputs=(file, said["conditions"], categories))
    study, chosen = options.read_for(spec, file, said)
    drawn = chosen.sample(study, **how)
    groups = None if categories is None else Categories.from_file(categories, drawn.conditions)
    most = max(1, min(USUAL_TOP, drawn.n_conditions - 1)) if top is None else top
    check_top(most, drawn.n_conditions)
    progress.compile_on_first_use("certainty")
    if rank is not None:
        profile = (_found("comparing draws", rank_certainty, drawn, rank=rank, unranked=unmentioned),)
    else:
        profile = _found("comparing draws", certainty_profile, drawn, tops=range(1, most + 1), unranked=unmentioned)
    table = _side_by_side(profile)
    named = {f"rank {one.rank}" if one.rank else f"top {one.top}": one for one in profile}
    if groups is not None:
        named["category"], table = _with_categories(table, drawn, groups, via=via, rank=rank)
    ordered = table.sort([name for name in table.columns if name.startswith("certainty")], maintain_order=True)
    if out is not None:
        write_table(ordered, out, overwrite=overwrite)
    say(f"{chosen}", style="bold")
    say(f"  {drawn}")
    if drawn.excluded:
        say(f"  ! without any opinion, left out: {listing(drawn.excluded)}", style="yellow")
    show(_summary(named))
    say(f"the {min(SHOWN, len(ordered))} most uncertain of {len(ordered)} cases:")
    names = [name for name in ordered.columns if not name.startswith(HIDDEN)]
    rows = (
        [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in ordered.select(names).head(SHOWN).iter_rows()
    )
    show(grid([name.replace("_", " ") for name in names], rows))
    if out is not None:
        say(f"  -> {out}")


def _found(what: str, function: Callable[..., Any], drawn: Plausibilities, *given: Any, **named: Any) -> Any:
    """Call a function of draws, and show how far it is."""
    with progress.shown(what, drawn.n_cases) as advance:
        return function(drawn, *given, advance=advance, **named)


def _side_by_side(profile: tuple[Certainty, ...]) -> pl.DataFrame:
    """Put the certainties of a case side by side: ``certainty``, ``certainty_top2`` ..., or ``certainty_rank2``."""
    import polars as pl

    columns: dict[str, object] = {"case": profile[0].case_names}
    for one in profile:
        ending = f"_rank{one.rank}" if one.rank else "" if one.top == 1 else f"_top{one.top}"
        columns[f"certainty{ending}"] = one.values
        columns[f"error{ending}"] = one.errors
        columns[f"winner{ending}"] = [" + ".join(names) for names in one.winners]
    return pl.DataFrame(columns)


def _with_categories(
    table: pl.DataFrame, drawn: Plausibilities, categories: Categories, *, via: str, rank: int | None
) -> tuple[Certainty, pl.DataFrame]:
    """Find the certainty of categories; add it and, if categories have levels, the expected risk."""
    import polars as pl

    from dissensus.certainty.categories import expected_risk
    from dissensus.certainty.top_sets import annotation_certainty, rank_certainty

    how = (annotation_certainty, {"via": via}) if rank is None else (rank_certainty, {"rank": rank})
    found = _found("comparing categories", how[0], drawn, categories=categories, **how[1])
    table = table.with_columns(
        pl.Series("category", [names[0] for names in found.winners]),
        pl.Series("category_certainty", found.values),
        pl.Series("category_error", found.errors),
    )
    if categories.levels:
        risks = _found("averaging risks", expected_risk, drawn, categories).drop("case")
        table = table.with_columns(risks.rename(lambda name: f"risk_{name}").iter_columns())
    return found, table


def _summary(named: dict[str, Certainty]) -> Table:
    from dissensus.core.thresholds import CERTAIN

    names = ("certainty of", "mean", "Monte Carlo error", f"below {CERTAIN}", "5 %", "25 %", "median", "least")
    rows = []
    for name, one in named.items():
        quantiles = one.quantiles((0.05, 0.25, 0.5, 0.0)).values()
        numbers = (f"{one.mean:.3f}", f"{one.mean_error:.4f}", f"{one.share_below():.1%}")
        rows.append((name, *numbers, *(f"{value:.2f}" for value in quantiles)))
    return grid(names, rows)
