"""Call a command of the command line within the tests, or a program as a process of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dissensus.cli import main


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    def refused(self, *parts: str) -> bool:
        """Tell whether the words were refused in one block of text that holds these parts, however it is wrapped."""
        text = " ".join(self.err.split())
        is_error = self.code == 2 and "error: " in text and "Traceback" not in text
        return is_error and all(part in text for part in parts)

    def done(self) -> "Outcome":
        """Expect that the command did what it was told, and return this."""
        assert self.code == 0, self.err
        return self


Run = Callable[..., Outcome]


class Terminal(io.StringIO):
    """What a person looks at, without colours."""

    def isatty(self) -> bool:
        return True


def exit_code() -> int:
    """Run the command that the words of this process name, and return its exit code."""
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code or 0
    assert isinstance(code, int)
    return code


def told(place: Path, *words: object, columns: int | None = None, piped: bool = False) -> Outcome:
    """Run ``dissensus`` with these words in a folder, on a terminal or in a pipe; what it says is caught here."""
    out, err = io.StringIO() if piped else Terminal(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(place)
        patch.setenv("TERM", "dumb")
        if columns is not None:
            patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "argv", ["dissensus", *map(str, words)])
        code = exit_code()
    return Outcome(code, out.getvalue(), err.getvalue())


def printed(*words: object, place: Path | None = None, **environment: Any) -> str:
    """Run a program, or Python where the first word is an option of it or a script, and return what it prints.

    The environment is that of the tests, with what is given in place of it, or taken away if that is nothing.
    """
    command = [str(word) for word in words]
    if command[0].startswith("-") or command[0].endswith(".py"):
        command.insert(0, sys.executable)
    here = {name: value for name, value in (os.environ | environment).items() if value is not None}
    done = subprocess.run(command, cwd=place, env=here, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
