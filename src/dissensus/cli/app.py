"""The commands, together, with what they share in their help."""

from __future__ import annotations

import ast
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dissensus.cli.decisions import conformal, experts, judges, plan, relabel
from dissensus.cli.evaluate import demo, evaluate
from dissensus.cli.opinion_files import aggregate, calibrate, certainty, convert, validate
from dissensus.cli.options import Overwrite, bundled, option
from dissensus.cli.saved_results import cases, compare, plot, report
from dissensus.cli.terminal import compile_with_progress
from dissensus.core.output import checked_file_target, written_whole
from dissensus.core.screen import Screen

# What typer raises at wrong words: some versions bring their own copy of it, without a public name.
UsageError: Any = typer.BadParameter.__bases__[0]


class Commands(TyperGroup):
    """The commands."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return --help, which is off by default: to make sure of a value that is none takes imports."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.default = False
        return found


# Options that the help of every command shows; --help-all shows the others.
COMMON = {
    *("predictions", "out", "metric", "primary", "margin", "called", "protocol", "positive", "column", "strata"),
    *("aggregation", "reliability", "show_all", "cases", "case", "overwrite", "json", "quiet", "help", "help_all"),
}


class Command(TyperCommand):
    """A command whose help shows the options that most people need, and with --help-all the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, what the command does, options, and examples."""
        text, _, examples = (self.help or "").partition("Examples\n--------\n")
        defaults = python_defaults(FUNCTIONS[self.name]) if self.name in FUNCTIONS else {}
        optional = [one for one in self.get_params(ctx) if isinstance(one, TyperOption)]
        for one in optional:
            one.hidden = one.name not in COMMON and not ctx.meta.get("all")
            if one.default is None and one.name in defaults:
                one.default = defaults[one.name]
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(text)
        self.format_options(ctx, formatter)
        with formatter.section("Examples"):
            for line in examples.splitlines():
                formatter.write(f"  {line}\n")


# Where the defaults of a command's options are declared: module and function.
FUNCTIONS = {
    "aggregate": "dissensus.aggregations.base:sample",
    "certainty": "dissensus.aggregations.base:sample",
    "calibrate": "dissensus.evaluation.calibration:calibrate",
    "evaluate": "dissensus.evaluation.evaluator:evaluate",
    "experts": "dissensus.evaluation.expert_comparison.experts:experts",
    "plan": "dissensus.decisions.planning:plan",
    "relabel": "dissensus.decisions.planning:relabel",
    "judges": "dissensus.decisions.judges:judges",
    "conformal": "dissensus.decisions.conformal:conformal",
}


def python_defaults(place: str) -> dict[str, Any]:
    """Read the defaults of a function from its source, which costs less than importing it.

    >>> python_defaults("dissensus.evaluation.evaluator:evaluate")["level"]
    0.95
    """
    module, _, name = place.partition(":")
    found = find_spec(module)
    tree = ast.parse(Path(str(found and found.origin)).read_text(encoding="utf-8"))
    (signature, *_) = (node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    values = zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
    return {one.arg: value.value for one, value in values if isinstance(value, ast.Constant)}


app = typer.Typer(
    cls=Commands,
    name="dissensus",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dissensus {version('dissensus')}")
        raise typer.Exit


@app.callback(epilog="Begin with: dissensus demo, or dissensus validate opinions.csv")
def _dissensus(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Evaluate models when the experts disagree."""


@bundled
def metrics() -> Screen:
    """List the metrics, a line each.

    Examples
    --------
    dissensus metrics
    """
    return listed("dissensus.metrics.base", "Metric")


@bundled
def aggregations() -> Screen:
    """List the aggregations: how opinions become plausibilities.

    Examples
    --------
    dissensus aggregations
    """
    return listed("dissensus.aggregations.base", "Aggregation")


@bundled
def formats() -> Screen:
    """List the formats of annotations.

    Files are recognised by their content; --format NAME decides. Predictions have tables, JSON and arrays.

    Examples
    --------
    dissensus formats
    """
    return listed("dissensus.study.reading.format", "Format")


def listed(module: str, kind: str) -> Screen:
    """List a family, those of installed packages included, a line each."""
    known = getattr(import_module(module), kind).family.known()
    means = {name: one.title if kind == "Format" else one.meaning for name, one in known.items()}
    usage = {name: name if kind == "Format" else one.usage() for name, one in known.items()}
    records = [{"name": name, "usage": usage[name], "means": means[name]} for name in known]
    return Screen("", "", {"name": [*known], "means": [*means.values()]}, n_names=2, is_whole=True, records=records)


@bundled
def protocol(out: Annotated[Path, option("Where to.")] = Path("protocol.toml"), overwrite: Overwrite = False) -> Screen:
    """Write a protocol to fill in before the data are seen.

    Examples
    --------
    dissensus protocol
    dissensus evaluate opinions.csv --predictions A=a.csv --protocol protocol.toml
    """
    from dissensus.evaluation.protocol import TEMPLATE

    checked_file_target(out, overwrite=overwrite)
    with written_whole(out, overwrite=overwrite) as temporary:
        temporary.write_text(TEMPLATE, encoding="utf-8")
    return Screen(f"-> {out}")


@bundled
def compile_now(
    workers: Annotated[int | None, option("Processes at once; by default one per processor, at most 3.")] = None,
    force: Annotated[bool, option("Compile anew what is compiled already.", "--force")] = False,
) -> Screen:
    """Compile all kernels now, so that no command waits.

    For setting up machines and images.

    Examples
    --------
    dissensus compile
    dissensus compile --force
    NUMBA_CACHE_DIR=/var/cache/dissensus dissensus compile
    """
    from dissensus.compilation import EXERCISES, needed
    from dissensus.core.checks import check_count

    if workers is not None:
        check_count(workers=workers)
    if not needed() and not force:
        return Screen("all kernels are compiled already")
    begin = time.perf_counter()
    compile_with_progress(EXERCISES, workers, force=force)
    return Screen(f"all kernels are compiled ({time.perf_counter() - begin:.0f} s)")


for command in (
    *(demo, validate, evaluate, compare, cases, experts, plan, relabel, judges, conformal, certainty, calibrate),
    *(aggregate, report, plot, convert, protocol, metrics, aggregations, formats),
):
    app.command(command.__name__.lower(), cls=Command)(command)
app.command("compile", cls=Command)(compile_now)
