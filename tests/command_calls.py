"""Call a command of the command line within the tests."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from dissensus.cli import main


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def called(patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str], *words: str) -> Outcome:
    """Run ``dissensus`` with these words."""
    patch.setattr(sys, "argv", ["dissensus", *words])
    code = exit_code()
    written = captured.readouterr()
    return Outcome(code, written.out, written.err)


def exit_code() -> int:
    """Run the command that the words of this process name, and return its exit code."""
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code or 0
    assert isinstance(code, int)
    return code
