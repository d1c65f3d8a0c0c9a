"""The commands, one module each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dissensus.cli.aggregate import aggregate
from dissensus.cli.calibrate import calibrate
from dissensus.cli.certainty import certainty
from dissensus.cli.compare import compare
from dissensus.cli.compile import compile_now
from dissensus.cli.convert import convert
from dissensus.cli.demo import demo
from dissensus.cli.evaluate import evaluate
from dissensus.cli.plot import plot
from dissensus.cli.report import report
from dissensus.cli.validate import validate

UsageError: Any = typer.BadParameter.__bases__[0]
"""What typer raises at wrong words: some versions bring their own copy of it, without a public name."""


class VisibleGroup(TyperGroup):
    """The commands; what was typed wrongly is shown without anything that a terminal obeys or hides."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words before the command."""
        with _visible_mistakes():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of the command, and run it."""
        with _visible_mistakes():
            return super().invoke(ctx)


@contextmanager
def _visible_mistakes() -> Iterator[None]:
    try:
        yield
    except Exception as mistake:
        if isinstance(mistake, UsageError):
            from dissensus.core.names import visible

            mistake.message = visible(mistake.message)
        raise


class ListingCommand(TyperCommand):
    """A command whose help lists what can be chosen, those of installed packages included."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        for option in self.params:
            if option.name in FAMILIES and isinstance(option, TyperOption):
                module, kind = FAMILIES[option.name]
                known = getattr(import_module(module), kind).family.known()
                option.help = f"{option.help} There are: {', '.join(known)}."
        super().format_help(ctx, formatter)


FAMILIES = {
    "aggregation": ("dissensus.aggregation.base", "Aggregation"),
    "metric": ("dissensus.metrics.base", "Metric"),
    "format": ("dissensus.study.reading.format", "Format"),
}
"""Options that choose one of a family, and where the family is."""

app = typer.Typer(
    cls=VisibleGroup,
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
app.command(cls=ListingCommand)(validate)
app.command(cls=ListingCommand)(convert)
app.command(cls=ListingCommand)(aggregate)
app.command(cls=ListingCommand)(certainty)
app.command(cls=ListingCommand)(calibrate)
app.command(cls=ListingCommand)(evaluate)
app.command()(compare)
app.command()(report)
app.command()(plot)
app.command("compile")(compile_now)
