"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

import dissensus as ds
from dissensus.cli.options import ROLES, column_roles, condition_list


def test_roles_of_columns() -> None:
    assert column_roles(None) == {}
    assert column_roles(["case=image", "annotator=a=b"]) == {"case": "image", "annotator": "a=b"}
    with pytest.raises(ds.DissensusError) as caught:
        column_roles(["conditon=x"])
    assert caught.value.advice == "did you mean 'condition'?"
    assert all(role in caught.value.expected for role in ROLES)


def test_lists_of_conditions_skip_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes(b"\xef\xbb\xbfEczema\r\n\r\n Tinea \r\n")
    assert condition_list(path) == ("Eczema", "Tinea")
    assert condition_list(None) is None
