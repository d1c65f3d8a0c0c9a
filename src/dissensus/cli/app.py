"""The commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

from dissensus.cli.aggregating import aggregate
from dissensus.cli.certifying import certainty
from dissensus.cli.compiling import compile_now
from dissensus.cli.converting import convert
from dissensus.cli.demonstrating import demo
from dissensus.cli.evaluating import compare, evaluate
from dissensus.cli.plotting import plot
from dissensus.cli.reporting import report
from dissensus.cli.reproducing import reproduce
from dissensus.cli.validating import validate

app = typer.Typer(
    name="dissensus",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dissensus {version('dissensus')}")
        raise typer.Exit


@app.callback(epilog="Examples:  dissensus demo  |  dissensus validate opinions.csv  |  dissensus aggregate --help")
def _dissensus(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Evaluate models when the experts disagree."""


app.command()(demo)
app.command()(validate)
app.command()(convert)
app.command()(aggregate)
app.command()(certainty)
app.command()(evaluate)
app.command()(compare)
app.command()(report)
app.command()(plot)
app.command()(reproduce)
app.command("compile")(compile_now)
