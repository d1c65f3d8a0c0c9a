"""Values as bytes come back as they were, and nothing else comes out of bytes."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import FormatError
from dissensus.core.receipt import Note

NUMBERS = st.one_of(*(arrays(kind, array_shapes(min_dims=0, min_side=0)) for kind in (np.float64, np.int64, np.uint64)))
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), NUMBERS)
PLAIN |= arrays(np.bool_, array_shapes(min_side=0))
KEYED = st.tuples(st.text(), st.integers())
VALUES = st.recursive(
    PLAIN, lambda one: st.one_of(st.lists(one), st.tuples(one, one), st.dictionaries(KEYED, one)), max_leaves=8
)


def same(one: Any, other: Any) -> bool:
    """Compare kinds, shapes and bits; zeros may lose their sign."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))


@given(VALUES)
def test_values_come_back_and_give_the_same_bytes_again(value: Any) -> None:
    data = bundled(value)
    back = restored(data, [])
    assert same(value, back)
    assert bundled(back) == data


def test_objects_come_back_as_the_classes_that_are_named_and_as_no_other() -> None:
    note = Note("cancelled annotations", 2, "skipped", ("task 1",))
    data = bundled([note])
    assert restored(data, [Note]) == [note]
    with pytest.raises(FormatError, match="damaged"):
        restored(data, [])


def test_arrays_of_zeros_take_no_room() -> None:
    assert len(bundled(np.zeros(10_000))) < 1000


@dataclass
class Unknown:
    """What nobody can write."""


def test_other_values_and_other_bytes_are_refused() -> None:
    for value in (object(), {1, 2}, np.float32(1.0), len, np.array([object()])):
        with pytest.raises(TypeError, match="cannot be bundled"):
            bundled(value)
    forged = io.BytesIO()
    np.savez(forged, np.array([object()]), value=np.frombuffer(b'{"array": 0}', dtype=np.uint8))
    data = bundled({"a": np.arange(1, 40), "b": np.ones(7)})
    cut = [data[:-size] for size in (1, 15, 16, 17, 100)]
    for wrong in (*cut, bundled(Unknown()), forged.getvalue(), b"", b"PK\x03\x04", b"\x80\x04.", b"{"):
        with pytest.raises(FormatError, match="a bundle is damaged"):
            restored(wrong, [])
