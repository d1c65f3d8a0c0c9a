"""Arithmetic of ragged arrays, against lists of lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.core import ragged

lengths = st.lists(st.integers(0, 4), min_size=1, max_size=8)


@given(lengths, st.data())
def test_rows_are_those_of_a_list_of_lists(sizes: list[int], data: st.DataObject) -> None:
    offsets = ragged.offsets_from_lengths(sizes)
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    assert ragged.offsets_from_lengths(np.array(sizes, dtype=np.int64)).tolist() == offsets.tolist()
    assert ragged.row_of_each(offsets).tolist() == [row for row, size in enumerate(sizes) for _ in range(size)]
    assert ragged.join_offsets([offsets, offsets]).tolist() == ragged.offsets_from_lengths([*sizes, *sizes]).tolist()
    rows = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=6))
    selected, elements = ragged.take_rows(offsets, np.array(rows, dtype=np.int64))
    assert selected.tolist() == ragged.offsets_from_lengths([sizes[row] for row in rows]).tolist()
    assert elements.tolist() == [element for row in rows for element in range(offsets[row], offsets[row + 1])]


def test_a_run_begins_where_any_column_changes_and_frozen_arrays_are_copies_that_cannot_be_written() -> None:
    assert ragged.begins_run(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6])).tolist() == [True, False, True, True]
    assert ragged.begins_run(np.array([], dtype=np.int64)).tolist() == []
    for dtype in (np.int64, np.float64):
        source = np.array([1, 2], dtype=dtype)
        frozen = ragged.frozen(source, dtype)
        source[0] = 9
        assert frozen.tolist() == [1, 2]
        with pytest.raises(ValueError, match="read-only"):
            frozen[0] = 7
