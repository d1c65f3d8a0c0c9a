"""Trace one ``dissensus evaluate`` and list the modules it passes through: ``python tests/walk.py`` prints the walk."""

import csv
import re
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "dissensus"
SKIPPED = ("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")


def traced(folder: Path) -> dict[str, int]:
    """Evaluate one small study by the command line, without a report; give the modules in the order of the walk.

    The number is how many functions of the module are called. Kernels count as their callers; what runs
    while a module is imported, or kernels are compiled, does not count.
    """
    from dissensus.cli import main

    with (folder / "opinions.csv").open("w", newline="") as file:
        rows = [(f"case {n}", who, "ab"[(n + len(who)) % 2]) for n in range(12) for who in ("A", "Bo")]
        csv.writer(file).writerows([("case", "annotator", "label"), *rows])
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("case", "a", "b"), *((f"case {n}", 0.4, 0.6) for n in range(12))])
    seen: dict[tuple[str, str], None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name not in SKIPPED and code.co_filename.startswith(str(PACKAGE)):
            called = str(Path(code.co_filename).relative_to(PACKAGE)), code.co_qualname
            if called not in seen and not is_apart(frame):
                seen[called] = None

    command = ["dissensus", "evaluate", "opinions.csv", "--predictions", "A=a.csv", "--out", "r", "--no-report"]
    before, sys.argv = sys.argv, [*command, "--draws", "20", "--threads", "1"]
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        main()
    except SystemExit as leaving:
        if leaving.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sys.argv = before
    return dict(Counter(module for module, _ in seen))


def is_apart(frame: FrameType) -> bool:
    """Tell what runs while a module of the package is imported, or while kernels are compiled before first use."""
    caller = frame.f_back
    while caller is not None:
        code = caller.f_code
        if code.co_filename == str(PACKAGE / "compilation.py"):
            return True
        if code.co_name == "<module>" and code.co_filename.startswith(str(PACKAGE)):
            return True
        caller = caller.f_back
    return False


def walk(modules: dict[str, int]) -> str:
    """Write the walk: every module with the first line of what it says about itself."""
    lines = []
    for module in modules:
        text = (PACKAGE / module).read_text(encoding="utf-8")
        said = re.match(r'r?"""(.*?)(?:"""|\n\n)', text, re.DOTALL)
        lines.append(f"{module:<42}{' '.join(said[1].split()) if said else ''}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        import os

        os.chdir(place)
        found = traced(Path(place))
    sys.stdout.write(f"{walk(found)}\n")
    sys.stderr.write(f"{len(found)} modules, {sum(found.values())} functions\n")
