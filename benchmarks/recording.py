"""Every benchmark writes its row at once, so that a run that is interrupted keeps what it measured."""

from __future__ import annotations

import json
import os

import pytest

from measuring import Record


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """Write a row to the file that ``MEASURED`` names, with the name of the benchmark."""

    def write(**row: object) -> None:
        line = json.dumps({"benchmark": request.node.name, **row})
        print(f"\n{line}")
        if path := os.environ.get("MEASURED"):
            with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - a name that the Makefile gives
                file.write(f"{line}\n")

    return write
