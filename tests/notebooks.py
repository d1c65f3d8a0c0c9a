"""Run the notebooks of ``examples/`` without Jupyter; ``python tests/notebooks.py`` writes what they show into them."""

import ast
import io
import json
import os
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run all cells in a directory of their own, one after another, and return what each shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before, found = Path.cwd(), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for count, cell in enumerate(code_cells(notebook), start=1):
                found.append(shown("".join(cell["source"]), names, count))
        finally:
            os.chdir(before)
    return found


def shown(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run one cell, and return what it prints and the value of its last expression, as a notebook keeps them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_") and not hasattr(value, "to_dict"):
            data["text/html"] = lines(value._repr_html_())
        result = {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
        found.append(result)
    return found


def lines(text: str) -> list[str]:
    """Split text as notebooks do; addresses of objects are left out."""
    return re.sub(r"0x[0-9a-f]+", "0x", text).splitlines(keepends=True)


def main() -> None:
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for count, (cell, found) in enumerate(zip(code_cells(notebook), outputs(notebook), strict=True), start=1):
            cell |= {"outputs": found, "execution_count": count}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
