"""Run the code of the pages; ``python tests/documentation.py PAGE...`` writes what it prints into them.

Blocks of ``python`` share their names within a page; a block of ``text`` right behind one shows what it prints. In a
block of ``console``, lines after ``$`` are commands, and what follows is what they print on a terminal.
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from command_calls import told

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^[$] ((?:.*\\\n)*.*)", re.MULTILINE)
COLUMNS = 88


def has_code(page: Path) -> bool:
    """Tell whether a page has anything to run."""
    return BLOCK.search(page.read_text(encoding="utf-8")) is not None


def run(page: Path) -> str:
    """Run a page in a folder with the files of the first report, and return its text with what was printed."""
    names: dict[str, object] = {"__name__": "page"}
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.chdir(folder):
        warnings.simplefilter("error")
        for file in (DOCS / "start" / "files").glob("*.csv"):
            shutil.copy(file, folder)
        return BLOCK.sub(lambda block: shown(block, names, page.name), text)


def shown(block: re.Match[str], names: dict[str, object], page: str) -> str:
    """Run one block, and write it with what it printed; without a place for it, it prints to nobody."""
    kind, code, shows = block.groups()
    if kind == "console":
        return "```console\n" + "".join(map(answered, COMMAND.findall(code))) + "```\n"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    text = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
    return f"```python\n{code}```\n" if shows is None else f"```python\n{code}```\n\n```text\n{text}\n```\n"


def answered(command: str) -> str:
    """Write a command and what it prints: one of ours, or the first lines of a file."""
    words = shlex.split(command.replace("\\\n", " "))
    if words[0] == "head":
        lines = Path(words[2]).read_text(encoding="utf-8").splitlines()[: int(words[1].strip("-"))]
    else:
        assert words[0] == "dissensus", command
        outcome = told(Path.cwd(), *words[1:], columns=COLUMNS).done()
        lines = [line.rstrip() for line in outcome.out.splitlines()]
    return "\n".join([f"$ {command}", *lines, ""])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        page.write_text(run(page), encoding="utf-8")
