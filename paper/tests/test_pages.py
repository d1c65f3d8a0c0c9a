"""One command writes all pages; the notebook runs where the data are, and ships without what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from notebooks import code_cells, outputs
from paper import __main__ as command
from shared_data import SHARED, needs_shared


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


NOTEBOOK = json.loads((Path(__file__).parents[1] / "docs" / "figures.ipynb").read_text(encoding="utf-8"))


def test_the_notebook_holds_nothing_of_the_data() -> None:
    assert len(code_cells(NOTEBOOK)) == 9
    assert all(cell["outputs"] == [] for cell in code_cells(NOTEBOOK))


@needs_shared
def test_the_notebook_draws_the_figures_of_the_paper() -> None:
    text = (
        json.dumps(NOTEBOOK).replace("data/dermatology_ddx", str(SHARED / "dermatology_ddx")).replace("= 1000", "= 50")
    )
    shown = outputs(json.loads(text))
    assert "1947 cases, 419 conditions" in shown[0][0]["text"][0]
    assert sum("Chart" in str(one) for cell in shown for one in cell) >= 7
