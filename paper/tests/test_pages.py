"""One command writes all pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paper import __main__ as command


@pytest.mark.parametrize(("failing", "run"), [(None, 3), ("panel_trials", 2)])
def test_one_command_writes_every_page_until_something_fails(
    monkeypatch: pytest.MonkeyPatch, failing: str | None, run: int
) -> None:
    called: list[list[str]] = []

    def instead(name: str) -> Callable[[list[str]], int]:
        def main(words: list[str]) -> int:
            called.append(words)
            return 2 if name == failing else 0

        return main

    for name in ("reproduction", "panel_trials", "data_set_trials"):
        monkeypatch.setattr(command, name, instead(name))
    assert command.main(["somewhere", "--studies", "3"]) == (2 if failing else 0)
    assert len(called) == run
    assert called[0][0] == called[1][0] == "somewhere"
    assert called[1][2:] == ["--studies", "3"]
    assert all(Path(words[-1] if len(words) == 2 else words[-3]).is_file() for words in called[:2])
