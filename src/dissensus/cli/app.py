"""The commands, together, with what they share in their help."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dissensus.cli.demo import demo
from dissensus.cli.evaluate import Evaluate
from dissensus.cli.experts import experts
from dissensus.cli.opinion_files import aggregate, calibrate, certainty, convert, validate
from dissensus.cli.options import bundled, option
from dissensus.cli.saved_results import compare, plot, report
from dissensus.cli.terminal import compile_with_progress

# What typer raises at wrong words: some versions bring their own copy of it, without a public name.
UsageError: Any = typer.BadParameter.__bases__[0]


@contextmanager
def _visible_mistakes() -> Iterator[None]:
    try:
        yield
    except Exception as mistake:
        if isinstance(mistake, UsageError):
            from dissensus.core.names import visible

            mistake.message = visible(mistake.message)
        raise


class VisibleGroup(TyperGroup):
    """The commands; what was typed wrongly is shown without anything that a terminal obeys or hides."""

    parse_args = _visible_mistakes()(TyperGroup.parse_args)
    invoke = _visible_mistakes()(TyperGroup.invoke)


class ListingCommand(TyperCommand):
    """A command whose help lists what can be chosen, plug-ins included, and the defaults of the Python function."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        defaults = python_defaults(FUNCTIONS[self.name]) if self.name in FUNCTIONS else {}
        for one in self.params:
            if one.name in FAMILIES and isinstance(one, TyperOption):
                module, kind = FAMILIES[one.name]
                known = getattr(import_module(module), kind).family.known()
                one.help = f"{one.help} There are: {', '.join(known)}."
            if one.default is None and one.name in defaults:
                one.default = defaults[one.name]
        super().format_help(ctx, formatter)


# Options that choose one of a family, and where the family is.
FAMILIES = {
    "aggregation": ("dissensus.aggregations.base", "Aggregation"),
    "metric": ("dissensus.metrics.base", "Metric"),
    "format": ("dissensus.study.reading.format", "Format"),
}

# Where the defaults of a command's options are declared: module and function.
FUNCTIONS = {
    "aggregate": "dissensus.aggregations.base:sample",
    "certainty": "dissensus.aggregations.base:sample",
    "calibrate": "dissensus.evaluation.calibration:calibrate",
    "evaluate": "dissensus.evaluation.evaluator:evaluate",
    "experts": "dissensus.evaluation.expert_comparison.experts:experts",
}


def python_defaults(place: str) -> dict[str, Any]:
    """Read the defaults of a function from its source, which costs less than importing it.

    >>> python_defaults("dissensus.evaluation.evaluator:evaluate")["level"]
    0.95
    """
    module, _, name = place.partition(":")
    found = find_spec(module)
    tree = ast.parse(Path(str(found and found.origin)).read_text(encoding="utf-8"))
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    (signature, *_) = (node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    values = {one.arg: value for one, value in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if value}
    known = {one: constants.get(value.id) if isinstance(value, ast.Name) else value for one, value in values.items()}
    return {one: value.value for one, value in known.items() if isinstance(value, ast.Constant)}


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
for listing in (validate, convert, aggregate, certainty, calibrate, experts, bundled(Evaluate)):
    app.command(listing.__name__.lower(), cls=ListingCommand)(listing)
for plain in (compare, report, plot):
    app.command()(plain)


@app.command("compile")
def compile_now(
    workers: Annotated[int | None, option("Processes at once; by default one per processor, at most 3.")] = None,
    force: Annotated[bool, option("Compile anew what is compiled already.", "--force")] = False,
) -> None:
    """Compile all kernels now, so that no later command has to wait; for setting up machines and images.

    [bold]Examples[/bold]

      dissensus compile

      dissensus compile --force

      NUMBA_CACHE_DIR=/var/cache/dissensus dissensus compile
    """
    from dissensus.compilation import EXERCISES, needed
    from dissensus.core.checks import check_count

    if workers is not None:
        check_count(workers=workers)
    if not needed() and not force:
        typer.echo("all kernels are compiled already")
        return
    begin = time.perf_counter()
    compile_with_progress(EXERCISES, workers, force=force)
    typer.echo(f"all kernels are compiled ({time.perf_counter() - begin:.0f} s)")
