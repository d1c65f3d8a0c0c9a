"""Arithmetic of ragged arrays, against lists of lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.core.ragged import (
    begins_run,
    frozen_integers,
    frozen_numbers,
    join_offsets,
    offsets_from_lengths,
    row_of_each,
    take_rows,
)

lengths = st.lists(st.integers(0, 4), max_size=8)


@given(lengths)
def test_offsets_say_where_rows_begin_and_end_and_every_element_knows_its_row(sizes: list[int]) -> None:
    offsets = offsets_from_lengths(sizes)
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    assert offsets_from_lengths(np.array(sizes, dtype=np.int64)).tolist() == offsets.tolist()
    assert row_of_each(offsets).tolist() == [row for row, size in enumerate(sizes) for _ in range(size)]
    assert join_offsets([offsets, offsets]).tolist() == offsets_from_lengths([*sizes, *sizes]).tolist()


@given(lengths.filter(bool), st.data())
def test_taking_rows_is_indexing_a_list_of_lists(sizes: list[int], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=6))
    offsets = offsets_from_lengths(sizes)
    nested = [list(range(offsets[i], offsets[i + 1])) for i in range(len(sizes))]
    selected, elements = take_rows(offsets, np.array(rows, dtype=np.int64))
    assert selected.tolist() == offsets_from_lengths([sizes[row] for row in rows]).tolist()
    assert elements.tolist() == [element for row in rows for element in nested[row]]


def test_a_run_begins_where_any_column_changes() -> None:
    one, other = np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6])
    assert begins_run(one, other).tolist() == [True, False, True, True]
    assert begins_run(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("freeze", [frozen_integers, frozen_numbers])
def test_frozen_arrays_are_copies_that_cannot_be_written(freeze: object) -> None:
    source = np.array([1, 2], dtype=np.int64 if freeze is frozen_integers else np.float64)
    frozen = freeze(source)  # type: ignore[operator]
    source[0] = 9
    assert frozen.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 7
