"""Files to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """A function that writes text into a new file, and returns its path."""

    def write(text: str, name: str = "opinions.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
