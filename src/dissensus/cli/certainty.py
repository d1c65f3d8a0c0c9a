"""``dissensus certainty``: how certain the opinions are, and which cases deserve a second look."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import options

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from dissensus.draws import Plausibilities
    from dissensus.evaluation.categories import Categories, Via
    from dissensus.evaluation.certainty import Certainty, Unmentioned

SHOWN = 10
USUAL_TOP = 3
WHAT = "What to compare"


@options.bundled
def certainty(
    *,
    file: options.AnnotationFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a row per case: .csv, .tsv, .parquet or .jsonl.")
    ] = None,
    overwrite: options.OverwriteOption = False,
    top: Annotated[
        int | None, typer.Option(help="Compare the first 1 to this many conditions; 3.", rich_help_panel=WHAT)
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="Compare the condition in this place instead, such as the second.", rich_help_panel=WHAT),
    ] = None,
    unmentioned: Annotated[
        str,
        typer.Option(help="Conditions nobody mentioned: identify each, or pool them.", rich_help_panel=WHAT),
    ] = "identify",
    categories: options.CategoriesOption = None,
    via: Annotated[
        str, typer.Option(help="Category of a draw: of its top condition, or of most mass.", rich_help_panel=WHAT)
    ] = "top",
    spec: Mapping[str, Any],
    draws: options.DrawsOption = 1000,
    seed: options.SeedOption = 0,
    threads: options.ThreadsOption = None,
    said: Mapping[str, Any],
) -> None:
    """Find how certain the opinions on every case are: how often draws agree on the first conditions.

    [bold]Examples[/bold]

      dissensus certainty opinions.csv

      dissensus certainty opinions.csv --reliability 3 --top 3 --out uncertain.csv

      dissensus certainty opinions.csv --rank 2

      dissensus certainty opinions.csv --categories risks.txt --conditions conditions.txt
    """
    from dissensus.core.output import checked_table_target

    _check(unmentioned, via, top, rank)
    if out is not None:
        checked_table_target(out, overwrite=overwrite, inputs=(file, said["conditions"], categories))
    study, chosen = options.read_for(spec, file, said)
    plausibilities = chosen.sample(study, draws=draws, seed=seed, threads=threads)
    _run(
        plausibilities,
        f"{chosen}",
        out,
        overwrite=overwrite,
        top=top,
        rank=rank,
        unmentioned=unmentioned,
        categories=categories,
        via=via,
    )


def _check(unmentioned: str, via: str, top: int | None, rank: int | None) -> None:
    """Refuse what would fail only after all the work."""
    from dissensus.core.checks import check_choice
    from dissensus.core.errors import DissensusError
    from dissensus.evaluation.categories import VIA
    from dissensus.evaluation.certainty import UNMENTIONED

    check_choice("--unmentioned", unmentioned, UNMENTIONED)
    check_choice("--via", via, VIA)
    if rank is not None and (top is not None or via != "top"):
        raise DissensusError(
            "--rank asks about one place",
            expected="no --top, which asks about the first places, and no --via mass, which asks about none",
            got=f"--rank {rank}" + (f" --top {top}" if top is not None else "") + (f" --via {via}" * (via != "top")),
        )


def _run(
    plausibilities: Plausibilities,
    title: str,
    out: Path | None,
    *,
    overwrite: bool,
    top: int | None,
    rank: int | None,
    unmentioned: str,
    categories: Path | None,
    via: str,
) -> None:
    from dissensus.cli.progress import compile_on_first_use
    from dissensus.cli.terminal import say
    from dissensus.core.output import write_table

    groups = options.categories_from(categories, plausibilities.conditions)
    tops = _tops(top, plausibilities.n_conditions) if rank is None else rank
    compile_on_first_use("certainty")
    profile = _profile(plausibilities, tops, unmentioned)  # type: ignore[arg-type]  # checked
    table = _side_by_side(profile)
    by_category = None
    if groups is not None:
        by_category = _by_category(plausibilities, groups, via, rank)  # type: ignore[arg-type]  # checked
        table = _with_categories(table, by_category, plausibilities, groups)
    ordered = table.sort([name for name in table.columns if name.startswith("certainty")], maintain_order=True)
    if out is not None:
        write_table(ordered, out, overwrite=overwrite)
    say(title, style="bold")
    _show(plausibilities, profile, by_category, ordered)
    if out is not None:
        say(f"  -> {out}")


def _tops(top: int | None, n_conditions: int) -> range:
    """Return the numbers of first places to compare: 1 to ``top``."""
    from dissensus.evaluation.certainty import check_top

    most = max(1, min(USUAL_TOP, n_conditions - 1)) if top is None else top
    check_top(most, n_conditions)
    return range(1, most + 1)


def _profile(plausibilities: Plausibilities, places: range | int, unmentioned: Unmentioned) -> tuple[Certainty, ...]:
    """Find the certainty of several numbers of first places, or of one place."""
    from dissensus.cli.progress import progress_of_cases
    from dissensus.evaluation.certainty import certainty_profile, rank_certainty

    with progress_of_cases("comparing draws", plausibilities.n_cases) as advance:
        if isinstance(places, int):
            return (rank_certainty(plausibilities, rank=places, unranked=unmentioned, advance=advance),)
        return certainty_profile(plausibilities, tops=places, unranked=unmentioned, advance=advance)


def _by_category(plausibilities: Plausibilities, categories: Categories, via: Via, rank: int | None) -> Certainty:
    from dissensus.cli.progress import progress_of_cases
    from dissensus.evaluation.certainty import annotation_certainty, rank_certainty

    with progress_of_cases("comparing categories", plausibilities.n_cases) as advance:
        if rank is not None:
            return rank_certainty(plausibilities, rank=rank, categories=categories, advance=advance)
        return annotation_certainty(plausibilities, categories=categories, via=via, advance=advance)


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
    table: pl.DataFrame, by_category: Certainty, plausibilities: Plausibilities, categories: Categories
) -> pl.DataFrame:
    """Add category and, if categories have levels, the expected risk."""
    import polars as pl

    from dissensus.cli.progress import progress_of_cases
    from dissensus.evaluation.categories import expected_risk

    added = table.with_columns(
        pl.Series("category", [names[0] for names in by_category.winners]),
        pl.Series("category_certainty", by_category.values),
        pl.Series("category_error", by_category.errors),
    )
    if not categories.levels:
        return added
    with progress_of_cases("averaging risks", plausibilities.n_cases) as advance:
        risks = expected_risk(plausibilities, categories, advance=advance).drop("case")
    return added.with_columns(risks.rename(lambda name: f"risk_{name}").iter_columns())


def _show(
    plausibilities: Plausibilities,
    profile: tuple[Certainty, ...],
    by_category: Certainty | None,
    table: pl.DataFrame,
) -> None:
    """Print the summary, and the most uncertain cases."""
    from dissensus.cli.terminal import say, show
    from dissensus.core.errors import listing

    say(f"  {plausibilities}")
    if plausibilities.excluded:
        say(f"  ! without any opinion, left out: {listing(plausibilities.excluded)}", style="yellow")
    named = {f"rank {one.rank}" if one.rank else f"top {one.top}": one for one in profile}
    show(_summary(named if by_category is None else {**named, "category": by_category}))
    say(f"the {min(SHOWN, len(table))} most uncertain of {len(table)} cases:")
    show(_uncertain(table))


def _summary(named: dict[str, Certainty]) -> Table:
    from dissensus.cli.grid import grid
    from dissensus.core.thresholds import CERTAIN

    names = ("certainty of", "mean", "Monte Carlo error", f"below {CERTAIN}", "5 %", "25 %", "median", "least")
    rows = []
    for name, one in named.items():
        quantiles = one.quantiles((0.05, 0.25, 0.5, 0.0)).values()
        numbers = (f"{one.mean:.3f}", f"{one.mean_error:.4f}", f"{one.share_below():.1%}")
        rows.append((name, *numbers, *(f"{value:.2f}" for value in quantiles)))
    return grid(names, rows)


def _uncertain(table: pl.DataFrame) -> Table:
    """Show the first rows: the certainties, the usual first condition, and the category."""
    from dissensus.cli.grid import grid

    hidden = ("error", "winner_top", "category_error", "risk_min", "risk_max")
    names = [name for name in table.columns if not name.startswith(hidden)]
    rows = (
        [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.select(names).head(SHOWN).iter_rows()
    )
    return grid([name.replace("_", " ") for name in names], rows)
