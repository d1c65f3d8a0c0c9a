"""Whatever is wrong with a file, a reader returns annotations or says what is wrong."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.core.errors import DissensusError
from dissensus.study.reading import examine
from format_examples import EXAMPLES, PREFLIB, Example, write_text

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2, 3.5, 2.0, math.nan, math.inf, 10**30),
    *("", " ", "x", "1,0", "\ud800", "submitted"),
    *([], [[]], [None], [1], ["x", "x"], [{}], {}, {"x": 1}, {"rank": "x"}, {"id": None}),
)
DELETED = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk to every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Replace or delete one inner value of a copy, if it is still there."""
    value = copy.deepcopy(value)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    if new is DELETED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = copy.deepcopy(new)
    return value


@st.composite
def deviations(draw: st.DrawFn, value: Any) -> Any:
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(value))
        if paths:
            value = changed(value, draw(st.sampled_from(paths)), draw(st.sampled_from([*ODD_VALUES, DELETED])))
    return value


def check_outcome(path: Any, name: str | None, options: dict[str, Any]) -> None:
    """Read a file; no error but one that names the file may come of it."""
    try:
        assert examine(path, name, **options).receipt.format
    except DissensusError as error:
        assert str(path) in error.where  # noqa: PT017 - the file may be fine


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "json" in one.name or one.format == "doccano"], ids=str)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_json_of_another_shape(example: Example, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = data.draw(deviations(example.content))
    folder = tmp_path_factory.mktemp("odd")
    path = example.write(folder / example.name, content)
    check_outcome(path, example.format, example.options)
    check_outcome(path, None, example.options)


@given(
    start=st.integers(0, len(PREFLIB)),
    length=st.integers(0, 40),
    new=st.text("0123{},:# \n\u2028", max_size=6),
)
@settings(max_examples=200, deadline=None)
def test_preflib_with_changed_characters(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, new: str
) -> None:
    text = PREFLIB[:start] + new + PREFLIB[start + length :]
    path = write_text(tmp_path_factory.mktemp("odd") / "soup.toi", text)
    check_outcome(path, "preflib", {})
