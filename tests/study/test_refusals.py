"""What studies cannot be built from is refused, with words that say what is wrong, and where.

``refusals.json`` holds, for every way to build, what is given, options, and a pattern that the error matches; of some
tables also a part of what was got, and how the place begins.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import Study
from dissensus.study.panel import Panel
from refusals import refused

CASES = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))
FITTING = {
    "case_names": ["x", "y"],
    "opinion_offsets": [0, 2, 3],
    "annotators": [-1, 0, -1],
    "annotator_names": ["Ann"],
}
FITTING["votes"] = [5, 1, 2]


def _panel(**changes: list[Any]) -> Panel:
    given: dict[str, Any] = {**FITTING, **changes}
    given = {name: tuple(one) if isinstance(one[0], str) else np.array(one) for name, one in given.items()}
    return Panel(**given)


BUILDERS: dict[str, Callable[..., Any]] = {
    "from_long": lambda columns, **options: Study.from_long(pl.DataFrame(columns, strict=False), **options),
    "Panel": _panel,
}


@pytest.mark.parametrize(("build", "case"), [(build, case) for build, cases in CASES.items() for case in cases])
def test_what_cannot_be_built_is_refused_with_its_place(build: str, case: list[Any]) -> None:
    given, options, problem, *more = case
    caught = refused(problem, BUILDERS.get(build) or getattr(Study, build), *given, **options)
    got, where = more or ("", "")
    assert got in caught.got
    assert caught.where.startswith(where)
