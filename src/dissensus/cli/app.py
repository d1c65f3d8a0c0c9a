"""The commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

from dissensus.cli.aggregate import aggregate
from dissensus.cli.certainty import certainty
from dissensus.cli.compare import compare
from dissensus.cli.compile import compile_now
from dissensus.cli.convert import convert
from dissensus.cli.demo import demo
from dissensus.cli.evaluate import evaluate
from dissensus.cli.plot import plot
from dissensus.cli.report import report
from dissensus.cli.reproduce import reproduce
from dissensus.cli.validate import validate

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
