"""Make the reference from the code: public names, commands, metrics, aggregations, warnings and errors.

Nothing of it is committed: ``docs/assembly.py`` puts it in the place of marks such as ``<!-- generated: metrics -->``
when the site is built. What code cannot say (equations, when to use a metric, what to do about a warning) stands in
``docs/reference/words.toml``, and tests see that nothing is missing there.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

import dissensus
from dissensus.core.spec import Spec
from dissensus.plugins import Aggregation, Metric

SOURCES = Path(dissensus.__file__).parent
WORDS = tomllib.loads((Path(__file__).parent / "reference" / "words.toml").read_text(encoding="utf-8"))
NAMESPACES = ("metrics", "aggregations", "agreement", "certainty", "simulate", "plugins")
KINDS = {"scores": "scores", "ranking": "rankings", "set": "sets", "numbers": "numbers"}
ERRORS = ("DissensusError", "FormatError", "MissingExtraError")


# Public names --------------------------------------------------------------------------------------------


def public(namespace: str) -> dict[str, Any]:
    """Return what a namespace holds by name; the empty one is the package itself."""
    home = importlib.import_module(f"dissensus.{namespace}" if namespace else "dissensus")
    return {name: getattr(home, name) for name in home.__all__ if name not in NAMESPACES}


def python_page(namespace: str) -> str:
    """Write the page of a namespace from its docstrings."""
    title = f"dissensus.{namespace}" if namespace else "dissensus"
    home = importlib.import_module(title)
    parts = [f"# {title}", prose((inspect.getdoc(home) or "").partition(";")[0].rstrip(".") + ".")]
    names = public(namespace)
    seen = [one.lower() for one in names]
    anchors = [f"{one}_{seen[:place].count(one)}" if one in seen[:place] else one for place, one in enumerate(seen)]
    rows = [(f"[`{one}`](#{anchor})", first_line(names[one])) for one, anchor in zip(names, anchors, strict=True)]
    parts.append(table(("name", "what it does"), rows))
    for name, found in names.items():
        parts += described(f"## {name}", f"{title}.{name}", found)
        parts += [part for own, member in members(found) for part in described(f"### {name}.{own}", own, member)]
    return "\n\n".join(part for part in parts if part) + "\n"


def members(found: Any) -> Iterator[tuple[str, Any]]:
    """Give the public methods and properties of a class; metrics and aggregations are told by their parameters."""
    if not inspect.isclass(found) or (issubclass(found, Spec) and found.id):
        return
    known = set(dir(Exception))
    for own, member in inspect.getmembers(found):
        plain = member.fget if isinstance(member, property) else inspect.unwrap(getattr(member, "func", member))
        is_ours = str(getattr(plain, "__module__", "")).startswith("dissensus")
        if not own.startswith("_") and own not in known and is_ours and callable(plain) and inspect.getdoc(plain):
            yield own, member


def described(heading: str, called: str, found: Any) -> list[str]:
    """Write heading, signature and docstring of a name."""
    sections = numpydoc(inspect.getdoc(found) or "")
    parts = [heading, signature(called, found), prose(sections.pop("", ""))]
    for title, text in sections.items():
        if title == "Examples":
            parts += ["**Examples**", f"```pycon\n{text.strip()}\n```"]
        elif title in ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"):
            parts += [
                f"**{title}**",
                "\n".join(f"- {name}: {prose(words, one_line=True)}" for name, words in entries(text)),
            ]
        else:
            parts += [f"**{title}**", prose(text)]
    return parts


def signature(called: str, found: Any) -> str:
    """Write how a function or a class is called; nothing for a property."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return ""
    if not inspect.isclass(found) and [one.name for one in parameters] == ["self"]:
        return f"```py\n{called.rpartition('.')[2]}()\n```"
    shown = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name not in ("self", "cls")]
    words = [re.sub(r"<.*? object at .*?>", "...", str(one)) for one in shown]
    starred = next((place for place, one in enumerate(shown) if one.kind is one.KEYWORD_ONLY), None)
    if starred is not None and not any(one.kind is one.VAR_POSITIONAL for one in shown):
        words.insert(starred, "*")
    flat = f"{called}({', '.join(words)})"
    return (
        f"```py\n{flat}\n```"
        if len(flat) < 100
        else "```py\n" + f"{called}(\n    " + ",\n    ".join(words) + ",\n)\n```"
    )


def numpydoc(text: str) -> dict[str, str]:
    """Split a docstring into its sections; what comes first has no title."""
    pieces = re.split(r"^(\S[^\n]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Give names and words of a section such as Parameters."""
    for name, words in re.findall(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)*)", text + "\n", flags=re.MULTILINE):
        yield f"`{name.strip()}`", inspect.cleandoc(words)


def prose(text: str, *, one_line: bool = False) -> str:
    """Turn reStructuredText of docstrings into Markdown: roles, literals, keys of the bibliography."""
    plain = re.sub(r":\w+:`~?\.?([^`<]+?)(?: <[^`]*>)?`", r"`\1`", text)
    plain = re.sub(r"``(.+?)``", r"`\1`", plain, flags=re.DOTALL)
    plain = re.sub(r"::$", ":", plain, flags=re.MULTILINE)
    return " ".join(plain.split()) if one_line else plain.strip()


def first_line(found: Any) -> str:
    """Return the first sentence of a docstring."""
    return prose((inspect.getdoc(found) or "").partition("\n")[0], one_line=True)


# Commands ------------------------------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Return the commands by name, in the order of the help."""
    from dissensus.cli.app import app

    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def options_of(command: Any) -> list[tuple[str, str, str]]:
    """Return name, words and default of every argument and option of a command."""
    from dissensus.cli.app import FUNCTIONS, python_defaults

    defaults = python_defaults(FUNCTIONS[command.name]) if command.name in FUNCTIONS else {}
    rows = []
    for one in command.params:
        if one.name in ("help", "help_all"):
            continue
        value = one.default if one.default is not None else defaults.get(one.name)
        told = one.metavar or ("" if getattr(one, "is_flag", False) else "VALUE")
        is_option = one.opts[0].startswith("-")
        shown = (
            f"`{' / '.join([*one.opts[:1], *one.secondary_opts])} {told}".strip() + "`" if is_option else f"`{told}`"
        )
        rows.append(
            (
                shown.replace("|", "\\|"),
                escaped(one.help or ""),
                "" if callable(value) or value in (None, False, ()) else f"`{value}`",
            )
        )
    return rows


def command_list() -> str:
    """Write every command with its options and examples."""
    parts = []
    for name, command in commands().items():
        text, _, examples = (command.help or "").partition("Examples\n--------\n")
        parts += [
            f"## dissensus {name}",
            prose(text),
            table(("option", "what it does", "default"), options_of(command)),
        ]
        parts += [f"```text\n{inspect.cleandoc(examples)}\n```"] if examples.strip() else []
    return "\n\n".join(parts) + "\n"


# Metrics and aggregations ---------------------------------------------------------------------------------


def own(family: Any) -> dict[str, Any]:
    """Keep those that ship with Dissensus."""
    return {name: kind for name, kind in family.known().items() if kind.__module__.startswith("dissensus.")}


def metric_list() -> str:
    """Tell of every metric what it means, its equation, when to use it, and its parameters."""
    kinds = own(Metric.family)
    index = table(
        ("metric", "as text", "takes", "meaning"),
        (
            (f"[`{kind.__name__}`](#{kind.__name__.lower()})", f"`{kind.usage()}`", takes(kind), kind.meaning)
            for kind in kinds.values()
        ),
    )
    parts = [index]
    for name, kind in kinds.items():
        words = WORDS["metrics"][name]
        better = "higher is better" if kind.higher_is_better else "lower is better"
        also = (
            f"Also called {', '.join(f'`{one.partition(chr(58))[0]}`' for one in kind.aliases)}."
            if kind.aliases
            else ""
        )
        sees = "Sees all cases at once." if kind.sees == "data set" else "Has a value for every case."
        parts += [
            f"## {kind.__name__}",
            f"`{kind.usage()}`: {takes(kind)}; {span(*kind.range)}, {better}. {sees} {also}".strip(),
            kind.meaning,
            f"*Equation.* {words['equation']}",
            f"*When to use.* {words['use']}",
            parameters(kind),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def aggregation_list() -> str:
    """Tell of every aggregation what it does, its equation, when to use it, and its parameters."""
    parts = []
    for name, kind in own(Aggregation.family).items():
        words = WORDS["aggregations"][name]
        limit = kind().limit
        stands = "" if limit is None or limit == kind() else f" With unlimited trust it becomes `{limit.id}`."
        parts += [
            f"### {kind.__name__}",
            f"`{kind.usage()}`: takes {kind.needs}.{stands}",
            kind.meaning,
            f"*Equation.* {words['equation']}",
            f"*When to use.* {words['use']}",
            parameters(kind),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def takes(kind: Any) -> str:
    """Name the kinds of predictions that a metric takes."""
    return ", ".join(KINDS[accepted] for accepted in kind.accepts)


def parameters(kind: type) -> str:
    """List the parameters of a spec with their defaults, from its docstring or that of its base."""
    told = {}
    for base in reversed(kind.__mro__):
        sections = numpydoc(inspect.cleandoc(vars(base).get("__doc__") or ""))
        for names, words in entries(sections.get("Parameters", "")):
            elsewhere = re.match(r"As of :class:`(\w+)`", words)
            for name in re.findall(r"\w+", names):
                told[name] = told_of(elsewhere[1], name) if elsewhere else prose(words, one_line=True)
    fields = [one for one in dataclasses.fields(kind) if one.init]
    return "\n".join(f"- `{one.name}` {default_of(one)}: {told.get(one.name, '')}" for one in fields)


def told_of(kind: str, parameter: str) -> str:
    """Return what another metric says about a parameter."""
    sections = numpydoc(inspect.getdoc(getattr(dissensus.metrics, kind)) or "")
    return next(
        prose(words, one_line=True) for name, words in entries(sections["Parameters"]) if f"`{parameter}`" == name
    )


def default_of(field: dataclasses.Field[Any]) -> str:
    """Write the default of a parameter."""
    return "(needed)" if field.default is dataclasses.MISSING else f"(default `{field.default!r}`)"


def span(low: float, high: float) -> str:
    """Write a range.

    >>> span(0.0, 1.0), span(0.0, float("inf"))
    ('0 to 1', '0 to ∞')
    """
    return f"{low:g} to {high:g}".replace("inf", "∞")


# Warnings and errors --------------------------------------------------------------------------------------


@cache
def messages(*names: str) -> list[tuple[str, str, str]]:
    """Return module, problem and advice wherever the sources build one of these; what varies is in angle brackets."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not any(f"{name}(" in source for name in names):
            continue
        functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
        for nodes in map(own_nodes, functions):
            known: dict[str, list[ast.AST]] = {}
            for node in nodes:
                for target in node.targets if isinstance(node, ast.Assign) else ():
                    if isinstance(target, ast.Name):
                        known.setdefault(target.id, []).append(node.value)  # type: ignore[attr-defined]
            for node in nodes:
                if isinstance(node, ast.Call) and called(node) in names and node.args:
                    advice = next((word.value for word in node.keywords if word.arg == "advice"), None)
                    told = next(iter(templates(advice, known)), "") if advice else ""
                    module = path.relative_to(SOURCES).as_posix()
                    found += [(module, problem, told) for problem in templates(node.args[0], known) if problem]
    return found


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return the nodes of a function without those of functions inside it."""
    found, waiting = [], [*ast.iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef):
            found.append(node)
            waiting += ast.iter_child_nodes(node)
    return found


def called(node: ast.Call) -> str:
    """Name what is called."""
    return (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )


def templates(node: ast.AST, known: dict[str, list[ast.AST]]) -> list[str]:
    """Write the texts that an expression can be."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts: list[Any] = node.values
        shown = (
            str(part.value) if isinstance(part, ast.Constant) else f"⟨{ast.unparse(part.value)}⟩" for part in parts
        )
        return ["".join(shown)]
    if isinstance(node, ast.IfExp):
        return [*templates(node.body, known), *templates(node.orelse, known)]
    if isinstance(node, ast.Name) and node.id in known:
        others = {name: values for name, values in known.items() if name != node.id}
        return [text for value in known[node.id] for text in templates(value, others)]
    return []


def error_list() -> str:
    """List every error that the sources can raise, by part of the package, with what to do about it."""
    found: dict[str, dict[str, str]] = {}
    for module, problem, advice in messages(*ERRORS):
        if re.search(r"[a-z]{3}", re.sub(r"⟨.*?⟩", "", problem)):
            part = module.partition("/")[0].removesuffix(".py") if "/" in module else "elsewhere"
            found.setdefault(part, {}).setdefault(problem, advice)
    parts = []
    for part, rows in sorted(found.items()):
        parts += [
            f"### {part}",
            table(
                ("error", "advice"),
                (
                    (escaped(short(one)), escaped(short(do)))
                    for one, do in sorted(rows.items(), key=lambda row: row[0].lower())
                ),
            ),
        ]
    return "\n\n".join(parts) + "\n"


def short(text: str) -> str:
    """Replace the code of what varies by a few of its names."""
    return re.sub(r"⟨(.*?)⟩", lambda found: f"[{' '.join(re.findall(r'[a-z_]{3,}', found[1])[:1]) or '…'}]", text)


def warning_list() -> str:
    """List the warnings, with what each means and what to do."""
    return table(
        ("warning", "what it means", "what to do"),
        ((escaped(one["text"]), one["meaning"], one["do"]) for one in WORDS["warnings"]),
    )


def glossary_list() -> str:
    """Explain the words of the report, as it does itself."""
    words = tomllib.loads((SOURCES / "report" / "templates" / "glossary.toml").read_text(encoding="utf-8"))
    return table(("word", "meaning"), ((word, escaped(meaning)) for word, meaning in sorted(words.items(), key=str)))


# Markdown ------------------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table of Markdown."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Keep text as it is inside a cell."""
    return (
        " ".join(text.split())
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
        .replace("_", "\\_")
        .replace("[", "\\[")
    )


GENERATED = {
    "metrics": metric_list,
    "aggregations": aggregation_list,
    "commands": command_list,
    "errors": error_list,
    "warnings": warning_list,
    "glossary": glossary_list,
}
"""What stands in the place of a mark, by its name."""
