"""One hypothesis profile for all tests: the same examples on every machine, and no clock; and files to be read.

The other one is for those who want to know whether a test fails, and need no small example: ``make mutants``.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "dissensus",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("mutants", settings.get_profile("dissensus"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dissensus"))


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """A function that writes text, a frame, arrays, or what JSON can hold, into a new file, and returns its path.

    A list goes into a file of JSON lines if its name says so; a name without an ending is a directory of such files.
    """

    def write(content: Any, name: str = "opinions.csv") -> Path:
        path = tmp_path / name
        if isinstance(content, dict) and not path.suffix:
            path.mkdir(exist_ok=True)
            for inner, records in content.items():
                write(records, f"{name}/{inner}" if "." in inner else f"{name}/{inner}.jsonl")
        elif isinstance(content, pl.DataFrame):
            content.write_parquet(path)
        elif isinstance(content, np.ndarray):
            np.save(path, content)
        elif path.suffix == ".npz":
            np.savez(path, **content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            lines = path.suffix == ".jsonl" and isinstance(content, list)
            text = "".join(json.dumps(one) + "\n" for one in content) if lines else json.dumps(content)
            path.write_text(text, encoding="utf-8")
        return path

    return write
