"""The command line: thin wrappers around the Python side; heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.core.errors import DissensusError


def main() -> None:
    """Run the command line; a :class:`~dissensus.core.errors.DissensusError` is printed in one block, exit code 2."""
    from dissensus.cli.app import app
    from dissensus.cli.terminal import prepare
    from dissensus.core.errors import DissensusError

    prepare()

    try:
        app(prog_name="dissensus")
    except DissensusError as error:
        _print_error(error)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _print_error(error: DissensusError) -> None:
    from rich.console import Console
    from rich.text import Text

    from dissensus.core.names import visible

    console = Console(stderr=True, soft_wrap=True)
    parts = {name: visible(getattr(error, name)) for name in ("problem", "expected", "got", "where", "advice")}
    console.print(Text("error: ", style="bold red").append(str(type(error)(**parts)), style="default"))
