"""Mentions of a ranking: one that is made again is refused or left out, and confidences order or share one vote."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from dissensus import DissensusError, Study, read
from dissensus.agreement import annotator_agreement
from dissensus.core.files import open_source
from dissensus.study.tables import study_from_table


def test_scattered_rows_and_long_rankings_of_a_table_in_python_are_found() -> None:
    names = [f"n{number:02}" for number in range(30)]
    frame = pl.DataFrame({"case": ["c"] * 31, "annotator": ["A"] * 31, "label": [*names, "n00"], "rank": range(1, 32)})
    with pytest.raises(DissensusError, match="'n00' is mentioned twice"):
        Study.from_long(frame)
    assert Study.from_long(frame.reverse(), duplicates="best").to_rankings() == [[[[name] for name in names]]]
    with pytest.raises(DissensusError, match="duplicates is not understood"):
        Study.from_long(frame, duplicates="last")  # type: ignore[arg-type]
    sure = pl.DataFrame({"case": ["c"] * 3, "annotator": ["A"] * 3, "label": [*"xyx"], "confidence": [1, 2, 3]})
    assert Study.from_long(sure, duplicates="best").to_rankings() == [[[["x"], ["y"]]]]
    assert Study.from_long(sure, duplicates="first").to_rankings() == [[[["y"], ["x"]]]]
    assert not study_from_table(sure[1:].rename({"label": "condition"}), duplicates="first")[1]


TEXT = "case,annotator,label,confidence\nc1,A,x,1\nc1,A,y,3\nc1,B,x,5\nc1,B,y,0\nc2,A,z,\nc3,B,y,2\nc3,B,x,2\n"


def test_a_soft_vote_is_one_annotator_wherever_annotators_are_counted(put: Any) -> None:
    path = put(TEXT)
    order, share = read(path), read(path, confidence="share")
    assert annotator_agreement(share).n_annotators.tolist() == [2, 0, 1]
    assert share.panel.annotators_per_case.tolist() == order.panel.annotators_per_case.tolist() == [2, 1, 1]
    assert [fact.value for fact in share.facts() if fact.label == "Annotators per case"] == [
        "1 to 2, median 1, mean 1.33"
    ]
    assert Study.from_long(open_source(path).table, confidence_as="share") == share
