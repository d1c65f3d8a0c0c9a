"""The command line: thin wrappers around the Python side; heavy imports happen inside the commands."""

from __future__ import annotations

import sys

from dissensus.core.output import told_when_interrupted


def main() -> None:
    """Run the command line.

    A :class:`~dissensus.core.errors.DissensusError` is printed in one block, exit code 2; Ctrl-C ends with one line
    that says what was written, exit code 130.
    """
    with told_when_interrupted():
        _run()


def _run() -> None:
    from dissensus.cli.app import UsageError, app
    from dissensus.cli.terminal import prepare, say
    from dissensus.core.errors import DissensusError
    from dissensus.core.screen import visible

    prepare()
    try:
        app(prog_name="dissensus", standalone_mode=False)
    except UsageError as mistake:
        if mistake.message != (mistake.ctx and mistake.ctx.get_help()):
            mistake.message = visible(mistake.message)
        mistake.show()
        sys.exit(mistake.exit_code)
    except DissensusError as error:
        parts = {name: visible(getattr(error, name)) for name in ("problem", "expected", "got", "where", "advice")}
        say(str(type(error)(**parts)), error="error: ")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
