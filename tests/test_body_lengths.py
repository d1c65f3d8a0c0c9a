"""Function bodies are short: 90 % of them at most 25 lines, under 3 % above 40."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

PACKAGE = Path(__file__).parents[1] / "src" / "dissensus"
USUAL, MOST = 25, 40


def bodies() -> Iterator[tuple[str, int]]:
    """Give the place and the length of every function body; compiled kernels may be longer and are left out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_kernel(path, node):
                yield f"{path.relative_to(PACKAGE.parent)}:{node.lineno} {node.name}", length(node)


def is_kernel(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return PACKAGE / "kernels" in path.parents and bool(node.decorator_list)


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a body below its docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_bodies_are_short() -> None:
    found = dict(bodies())
    lengths = list(found.values())
    long = {place: lines for place, lines in found.items() if lines > USUAL}
    offenders = "\n".join(f"{lines:4} {place}" for place, lines in sorted(long.items(), key=lambda i: -i[1]))
    report = f"median {median(lengths)} lines of {len(lengths)} bodies; longer than {USUAL}:\n{offenders}"
    print(report)
    assert len(long) <= 0.10 * len(lengths), report
    assert sum(lines > MOST for lines in lengths) < 0.03 * len(lengths), report
    assert median(lengths) <= 10, report
