"""Draw the pictures of the README and the documentation: what the demo prints, as a person sees it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100


def main() -> None:
    """Run the demo in a terminal of fixed width and save what it prints as an SVG."""
    command = [sys.executable, "-c", "from dissensus.cli import main; main()", "demo"]
    surroundings = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "PATH": "", "TERM": "xterm-256color"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed))
    drawn = console.export_svg(title="dissensus demo")
    alone = re.sub(r"@font-face \{.*?\}|<!--.*?-->", "", drawn, flags=re.DOTALL)  # nothing fetched when looked at
    (Path(__file__).parent / "images" / "demo.svg").write_text(alone, encoding="utf-8")


if __name__ == "__main__":
    main()
