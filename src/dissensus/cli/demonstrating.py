"""``dissensus demo``: see it work on a study that ships as code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from dissensus.annotations.rankings import Annotations

SHOWN = 5


def demo() -> None:
    """Simulate a study of differential diagnoses, infer plausibilities, and show where the experts disagree.

    [bold]Example[/bold]

      dissensus demo
    """
    from rich.console import Console

    from dissensus.aggregation import PlackettLuce
    from dissensus.annotations.checking import diagnose
    from dissensus.cli.progress import announce_compilation, progress_of_cases
    from dissensus.cli.validating import show
    from dissensus.datasets.simulation import simulate_study

    said = simulate_study(seed=1).annotations
    show(Path("a simulated study"), diagnose(said, format="differential diagnoses"))
    announce_compilation()
    aggregation = PlackettLuce(reliability=3)
    posterior = aggregation.sample(said, draws=1000, seed=1)
    with progress_of_cases("drawing plausibilities", posterior.n_cases) as advance:
        soft = posterior.summary(advance=advance)
    console = Console()
    console.print(f"\n[bold]Posterior of {aggregation}[/bold], 1000 draws per case")
    console.print(_headline(soft))
    console.print(_disputed(said, soft))
    console.print("Try it on your own: [bold]dissensus aggregate opinions.csv --out soft.parquet[/bold]")


def _headline(soft: pl.DataFrame) -> str:
    import polars as pl

    certainty = soft.group_by("case").agg(pl.col("top").max())["top"]
    unsure = (certainty < 0.99).sum() / len(certainty)
    return f"  In {unsure:.0%} of the cases the draws do not agree on the most plausible condition. The least certain:"


def _disputed(said: Annotations, soft: pl.DataFrame) -> Table:
    """Show the cases whose most frequent top-1 condition is least frequent, with what was said about them."""
    import polars as pl
    from rich.table import Table
    from rich.text import Text

    least = soft.group_by("case").agg(pl.col("top").max()).sort("top", "case").head(SHOWN)
    table = Table("case", "on top in", "most plausible conditions", "what the experts said", show_lines=True)
    for case, certainty in least.iter_rows():
        rows = soft.filter((pl.col("case") == case) & (pl.col("top") >= 0.05)).sort("top", descending=True)
        leading = "\n".join(f"{top:.0%} {name or 'any other'}" for name, top in rows.select("condition", "top").rows())
        rankings = said.select([case]).to_rankings()[0]
        opinions = "\n".join(" > ".join(" = ".join(block) for block in ranking) for ranking in rankings)
        table.add_row(Text(case), f"{certainty:.0%}", Text(leading), Text(opinions))
    return table
