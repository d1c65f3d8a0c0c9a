"""Label Studio's JSON export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, DissensusWarning, FormatError
from dissensus.study.reading import Reading, examine_annotations, read_annotations
from format_examples import LABEL_STUDIO, write_json


def task(*results: dict[str, Any], number: int = 1, data: dict[str, Any] | None = None) -> dict[str, Any]:
    annotations = [{"id": f"{number}-{i}", "completed_by": i, "result": [r]} for i, r in enumerate(results, start=1)]
    return {"id": number, "data": data or {}, "annotations": annotations}


def ranker(value: Any) -> dict[str, Any]:
    return {"from_name": "order", "to_name": "list", "type": "ranker", "value": {"ranker": value}}


def taxonomy(*paths: list[str]) -> dict[str, Any]:
    return {"from_name": "tree", "type": "taxonomy", "value": {"taxonomy": list(paths)}}


def examine(folder: Path, *tasks: dict[str, Any], **options: Any) -> Reading:
    return examine_annotations(write_json(folder / "export.json", list(tasks)), **options)


def test_choices_by_several_annotators(tmp_path: Path) -> None:
    path = write_json(tmp_path / "export.json", LABEL_STUDIO)
    with pytest.warns(DissensusWarning, match="cancelled annotations"):
        said = read_annotations(path)
    assert said.to_rankings() == [[[["Butterfly", "Moth"]], [["Beetle"]], []], []]
    assert said.case_names == ("41", "42")
    assert said.annotator_names == ("3", "ada@example.org", "9")
    assert said.unannotated == ("42",)


def test_everything_is_counted(tmp_path: Path) -> None:
    notes = {note.found: (note.count, note.action) for note in examine(tmp_path, *LABEL_STUDIO).receipt.notes}
    assert notes == {
        "drafts": (1, "not used"),
        "predictions": (2, "not used"),
        "ground truth annotations": (1, "kept like any other"),
        "cancelled annotations": (1, "skipped"),
        "results of the type 'rating'": (1, "not used"),
        "rankings without a condition": (1, "kept as abstentions"),
    }


def test_repeated_annotation_ids_count_once(tmp_path: Path) -> None:
    reading = examine(tmp_path, LABEL_STUDIO[0], LABEL_STUDIO[0])
    assert reading.rankings.n_rankings == 3
    notes = [str(note) for note in reading.receipt.notes]
    assert "annotations whose id came before: 4, skipped as repeated (for example 'task 41')" in notes


@pytest.mark.parametrize("value", [{"order": ["fir", "yew"]}, ["fir", "yew"]])
def test_a_ranker_without_buckets_is_a_ranking(value: Any, tmp_path: Path) -> None:
    said = examine(tmp_path, task(ranker(value))).rankings
    assert said.to_rankings() == [[[["fir"], ["yew"]]]]


def test_an_untouched_ranker_is_noted(tmp_path: Path) -> None:
    shown = {"trees": [{"id": "fir", "title": "Fir"}, {"id": "yew", "title": "Yew"}]}
    reading = examine(tmp_path, task(ranker({"order": ["fir", "yew"]}), ranker({"order": ["yew", "fir"]}), data=shown))
    assert [(note.found, note.count) for note in reading.receipt.notes] == [("rankings in the order shown", 1)]


def test_buckets_are_blocks_in_the_order_given(tmp_path: Path) -> None:
    value = {"good": ["yew"], "best": ["fir", "elm"], "_": ["oak"]}
    said = examine(tmp_path, task(ranker(value)), bucket_order=["best", "good"]).rankings
    assert said.to_rankings() == [[[["elm", "fir"], ["yew"]]]]


def test_everything_left_outside_the_buckets_is_an_abstention(tmp_path: Path) -> None:
    value = {"good": [], "best": [], "_": ["oak"]}
    said = examine(tmp_path, task(ranker(value)), bucket_order=["best", "good"]).rankings
    assert said.to_rankings() == [[[]]]


def test_buckets_without_an_order_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="order of the ranker's buckets") as caught:
        examine(tmp_path, task(ranker({"good": ["yew"], "best": ["fir"], "_": []})))
    assert "'good', 'best'" in caught.value.got
    assert "bucket_order=['good', 'best'] (--bucket-order good,best)" in caught.value.advice
    assert "task 1, annotation 1-1" in caught.value.where


def test_a_bucket_outside_the_order_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="a bucket has no place"):
        examine(tmp_path, task(ranker({"good": ["yew"], "fair": ["fir"]})), bucket_order=["good"])


def test_the_leaf_of_a_taxonomy_is_the_condition(tmp_path: Path) -> None:
    said = examine(tmp_path, task(taxonomy(["Insect", "Moth"], ["Bird", "Owl"]), taxonomy(["Bird"]))).rankings
    assert said.to_rankings() == [[[["Moth", "Owl"]], [["Bird"]]]]


def test_one_leaf_on_two_branches_is_noted(tmp_path: Path) -> None:
    reading = examine(tmp_path, task(taxonomy(["Skin", "Other"]), taxonomy(["Hair", "Other"])))
    assert [(note.found, note.examples) for note in reading.receipt.notes] == [
        ("choices with the name of a leaf on another branch", ("Other",))
    ]


def test_several_controls_need_a_choice(tmp_path: Path) -> None:
    both = task(ranker({"order": ["fir", "yew"]}), taxonomy(["Tree", "Fir"]))
    with pytest.raises(DissensusError, match="several controls") as caught:
        examine(tmp_path, both)
    assert caught.value.got == "'order', 'tree'"
    assert "--column condition=order" in caught.value.advice
    reading = examine(tmp_path, both, columns={"condition": "tree"})
    assert reading.rankings.to_rankings() == [[[], [["Fir"]]]]
    assert "results of the control 'order': 1, not used (for example '1')" in map(str, reading.receipt.notes)


def test_an_unknown_control_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="did you mean 'tree'"):
        examine(tmp_path, task(taxonomy(["Tree"])), columns={"condition": "treee"})


def test_boxes_are_not_opinions(tmp_path: Path) -> None:
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Moth"]}}
    with pytest.raises(FormatError, match="no control asks for conditions"):
        examine(tmp_path, task(box))


def test_answers_per_region_are_an_error(tmp_path: Path) -> None:
    twice = task(taxonomy(["Tree"]))
    twice["annotations"][0]["result"] *= 2
    with pytest.raises(FormatError, match="answers the control 'tree' 2 times"):
        examine(tmp_path, twice)


def test_a_wrong_shape_says_where(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the ranker of a result is not understood") as caught:
        examine(tmp_path, task(ranker({"order": "fir"})))
    assert "export.json, task 1, annotation 1-1" in caught.value.where
