"""Formats in JSON: what a file says, what its receipt tells, and how whatever is wrong is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from dissensus.core.errors import DissensusError, DissensusWarning
from dissensus.study.reading import examine, read
from format_examples import ARGILLA, DOCCANO, HUGGING_FACE, KEYED, LABEL_STUDIO, LONG_RECORDS, NESTED, PRODIGY
from shared_data import SHARED, needs_shared

# Records of each tool -----------------------------------------------------------------------------------


def task(*results: dict[str, Any], data: dict[str, Any] | None = None) -> list[Any]:
    """One task of Label Studio, which several annotators answered."""
    annotations = [{"id": f"1-{i}", "completed_by": i, "result": [one]} for i, one in enumerate(results, start=1)]
    return [{"id": 1, "data": data or {}, "annotations": annotations}]


def ranker(value: Any) -> dict[str, Any]:
    return {"from_name": "order", "to_name": "list", "type": "ranker", "value": {"ranker": value}}


def taxonomy(*paths: list[str]) -> dict[str, Any]:
    return {"from_name": "tree", "type": "taxonomy", "value": {"taxonomy": list(paths)}}


def record(*answers: Any, question: str = "dx", **more: Any) -> list[Any]:
    """One record of Argilla, which several users answered."""
    values = [{question: {"value": answer}, **more} for answer in answers]
    responses = [{"user_id": f"u{n}", "status": "submitted", "values": one} for n, one in enumerate(values, start=1)]
    return [{"id": "r1", "fields": {"text": "hm"}, "responses": responses}]


def choice(**changes: Any) -> dict[str, Any]:
    """One line of Prodigy."""
    options = [{"id": 0, "text": "Flat"}, {"id": 1, "text": "Sharp"}]
    own = {"_task_hash": 71, "_annotator_id": "anna", "answer": "accept", "options": options, "accept": [1]}
    return {**own, **changes}


BOX = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Moth"]}}
BOTH = task(ranker({"order": ["fir", "yew"]}), taxonomy(["Tree", "Fir"]))
SHOWN = {"trees": [{"id": "fir", "title": "Fir"}, {"id": "yew", "title": "Yew"}]}
TWO_ANSWERS = record("Acne", mood={"value": "calm"})
SECOND_SDK = [{"value": ["Tinea", "Acne"], "user_id": "u1"}, {"value": ["Acne"], "user_id": "u2"}]
RANKED = [{"value": "b", "rank": 2}, {"value": "a", "rank": 1}, {"value": "c", "rank": 2}]
LE_WI_DI = {"annotations": "1,0", "annotators": "Ann1,Ann4", "soft_label": {"0": 0.5, "1": 0.5}, "text": "hm"}
STATES = ["submitted", "draft", "submitted"]
RESPONSES = {"dx.responses": ["Eczema", "Tinea", ["Tinea", "Acne"]], "dx.responses.users": ["u1", "u2", "u3"]}
QUESTIONS = {"id": "s1", "dx.responses": ["Eczema"], "mood.responses": ["calm"]}
UNUSUAL = [{"name": "s1", "votes": ["joy"], "who": ["kim"]}]
ICE = {"id": 0, "label": ["ice"]}
BUCKETS = {"good": ["yew"], "best": ["fir", "elm"], "_": ["oak"]}
UNUSED = "answers to the question 'sure': 1, not used (for example 'rash-1')"
NO_TIES = "lists without ranks: 1, read as strict orders; this export has lost any ties (for example 'r1')"
ABSTAINED = "rankings without a condition: {}, kept as abstentions (for example {!r})"


# What is read -------------------------------------------------------------------------------------------


def says(file: str, content: Any, options: dict[str, Any] | None = None, **expected: Any) -> tuple[Any, ...]:
    """A name of a file and its content, options to read it with, and what to expect of the study and of the receipt.

    Rankings are written as ``a>b=c; - | d``: opinions, of which ``-`` abstains, case by case.
    """
    return file, content, options or {}, expected


READ = {
    "several annotators": says(
        "e.json",
        LABEL_STUDIO,
        rankings="Butterfly=Moth; Beetle; - | ",
        cases="41 42",
        annotators="3 ada@example.org 9",
        notes=[
            "drafts: 1, not used (for example 'task 41')",
            "predictions: 2, not used (for example 'task 41')",
            "ground truth annotations: 1, kept like any other (for example 'task 41')",
            "cancelled annotations: 1, skipped (for example 'task 41')",
            ABSTAINED.format(1, "41"),
            "results of the type 'rating': 1, not used (for example '41')",
        ],
    ),
    "repeated ids count once": says(
        "e.json",
        [LABEL_STUDIO[0], LABEL_STUDIO[0]],
        n=3,
        note="annotations whose id came before: 4, skipped as repeated (for example 'task 41')",
    ),
    "ranker": says("e.json", task(ranker({"order": ["fir", "yew"]})), rankings="fir>yew"),
    "bare ranker": says("e.json", task(ranker(["fir", "yew"])), rankings="fir>yew"),
    "untouched ranker": says(
        "e.json",
        task(ranker({"order": ["fir", "yew"]}), ranker({"order": ["yew", "fir"]}), data=SHOWN),
        found=["rankings in the order shown"],
    ),
    "buckets are blocks in the order given": says(
        "e.json",
        task(ranker(BUCKETS), ranker({"good": [], "best": [], "_": ["oak"]})),
        {"bucket_order": ["best", "good"]},
        rankings="elm=fir>yew; -",
    ),
    "leaves": says(
        "e.json", task(taxonomy(["Insect", "Moth"], ["Bird", "Owl"]), taxonomy(["Bird"])), rankings="Moth=Owl; Bird"
    ),
    "a control without a name": says(
        "e.json",
        task(taxonomy(["Bird"]), {"from_name": [], "type": "rating", "value": {"rating": 4}}),
        rankings="Bird; -",
    ),
    "one leaf on two branches": says(
        "e.json",
        task(taxonomy(["Skin", "Other"]), taxonomy(["Hair", "Other"])),
        found=["choices with the name of a leaf on another branch"],
    ),
    "chosen control": says(
        "e.json",
        BOTH,
        {"columns": {"condition": "tree"}},
        rankings="-; Fir",
        note="results of the control 'order': 1, not used (for example '1')",
    ),
    "argilla's ranks keep ties": says(
        "r.json", ARGILLA, rankings="Eczema=Psoriasis>Tinea | ", cases="rash-1 1f", annotators="u-one", note=UNUSED
    ),
    "argilla's labels": says(
        "r.json",
        record("Acne", ["Tinea", "Acne"], [], None),
        rankings="Acne; Acne=Tinea; -; -",
        notes=[ABSTAINED.format(2, "r1")],
    ),
    "no rank is not ranked": says(
        "r.json", record([{"value": "Acne", "rank": 1}, {"value": "Tinea", "rank": None}]), rankings="Acne"
    ),
    "lists of the second sdk are orders": says(
        "r.json",
        [{"id": "r1", "fields": {"text": "hm"}, "suggestions": {}, "responses": {"dx": SECOND_SDK}}],
        rankings="Tinea>Acne; Acne",
        annotators="u1 u2",
        notes=[NO_TIES],
    ),
    "chosen question": says("r.json", TWO_ANSWERS, {"columns": {"condition": "mood"}}, rankings="calm"),
    "codes of a rating question": says(
        "r.json", record(0, 1), {"columns": {"condition": "dx"}, "conditions": ["no", "yes"]}, rankings="no; yes"
    ),
    "prodigy": says(
        "t.jsonl",
        PRODIGY,
        rankings="flat=sharp; - | ",
        names="flat sharp fine",
        cases="71 72",
        annotators="db-anna db-bert",
    ),
    "options by their text": says(
        "t.jsonl",
        [choice(), choice(options=[{"id": "Fine"}], accept=["Fine"])],
        rankings="Sharp; Fine",
        names="Flat Sharp Fine",
    ),
    "input hash and session": says(
        "t.jsonl",
        [choice(_input_hash=7, _session_id="night", _task_hash=None, _annotator_id=None)],
        cases="7",
        annotators="night",
    ),
    "a second answer": says(
        "t.jsonl",
        [choice(), choice(accept=[0])],
        rankings="Sharp; Flat",
        found=["further rankings of a case by one annotator"],
    ),
    "doccano": says(
        "weather",
        DOCCANO,
        rankings="ice=rain; ice | -; mist",
        cases="5 6",
        annotators="ines jon",
        notes=[ABSTAINED.format(1, "6")],
    ),
    **{
        f"doccano's {key}": ("weather", {"ines": [one]}, {}, {"rankings": "ice", "annotators": (who)})
        for key, one, who in (
            ("labels", {"id": 1, "labels": ["ice"]}, "ines"),
            ("user name", {"doc_id": 1, "labels": ["ice"], "username": "kai"}, "kai"),
            ("annotations", {"id": 1, "annotations": [{"label": "ice", "user": 4}]}, "4"),
            ("file name", {"filename": "1", "label": ["ice"]}, "ines"),
        )
    },
    "documents of nobody": says(
        "weather", {"ines": [ICE], "unknown": [{"id": 2, "label": []}]}, rankings="ice | ", annotators="ines"
    ),
    "a shared file": says("weather", {"all": [ICE]}, found=["file 'all.jsonl'"]),
    "other and empty files": says(
        "weather",
        {**DOCCANO, "lea.jsonl": "", "notes.txt": "hm", ".hidden": "hm"},
        annotators="ines jon",
        note="empty files: 1, taken as annotators without an opinion (for example 'lea.jsonl')",
    ),
    "a label per annotator": says(
        "t.jsonl",
        HUGGING_FACE,
        rankings="joy; awe=joy | fear | ",
        cases="s1 s2 s3",
        annotators="kim lou",
        notes=["labels that are null: 1, taken as no opinion (for example 's1')"],
    ),
    "a missing code as pandas writes it": says(
        "t.jsonl",
        [{"id": "s1", "labels": [1.0, float("nan")]}],
        {"conditions": ["awe", "fear"], "lists": "votes"},
        rankings="fear",
        found=["labels that are null"],
    ),
    "codes": says(
        "t.jsonl",
        [{"id": "s1", "labels": [2, 2, 0], "annotator_ids": ["a", "b", "c"]}],
        {"conditions": ["awe", "fear", "joy"]},
        rankings="joy; joy; awe",
    ),
    "commas in texts": says(
        "dev.json",
        {"17": LE_WI_DI, "18": {**LE_WI_DI, "annotations": "", "annotators": ""}},
        {"conditions": ["calm", "rude"]},
        rankings="rude; calm | ",
        cases="17 18",
        annotators="Ann1 Ann4",
        unused="soft_label text",
    ),
    "submitted responses": says(
        "t.jsonl",
        [{"id": "s1", **RESPONSES, "dx.responses.status": STATES}, {"id": "s2", "dx.responses": None}],
        rankings="Eczema; Acne=Tinea | ",
        annotators="u1 u3",
    ),
    "responses with ranks": says(
        "t.jsonl", [{"id": 1, "dx.responses": [RANKED], "dx.responses.users": ["u1"]}], rankings="a>b=c"
    ),
    "chosen responses": says("t.jsonl", [QUESTIONS], {"columns": {"condition": "mood"}}, rankings="calm"),
    "unusual keys": says(
        "t.jsonl",
        UNUSUAL,
        {"format": "hugging-face", "columns": {"case": "name", "condition": "votes", "annotator": "who"}},
        cases="s1",
        annotators="kim",
    ),
    "records without an id": says(
        "t.jsonl",
        [{"labels": ["joy"]}, {"labels": ["awe"]}],
        cases="0 1",
        assumed="the records have no id and are numbered from 0",
    ),
    "lists of one label": says(
        "a.jsonl", [{"id": "c1", "labels": ["oak"]}, {"id": "c2", "labels": []}], rankings="oak | "
    ),
    "a list of one annotator per row": says(
        "a.csv",
        "case,annotator,labels\nc1,ann,\"['oak', ['elm', 'ash']]\"\nc1,bo,['elm']\nc2,bo,\nc3,bo,[]\n",
        {"lists": "order"},
        rankings="oak>ash=elm; elm |  | -",
        annotators="ann bo",
    ),
    "quotes and commas in lists": says(
        "a.csv", "id,labels\nc1,\"['it\\'s', ']']\"\n", {"lists": "tie"}, rankings="]=it's"
    ),
    "a label in brackets": says(
        "a.csv", "case,annotator,label\nc1,ann,[other]\nc2,ann,oak\n", format="long", rankings="[other] | oak"
    ),
    "a list of rows": says("l.json", LONG_RECORDS, rankings="oak>elm | ash"),
    "columns of objects do no harm": says(
        "long.jsonl",
        [{"case": "c1", "condition": "oak", "meta": {"x": [1]}}, {"case": "c2", "condition": "elm"}],
        format="long",
        n=2,
        unused="meta",
    ),
    "crowd-kit's records": says(
        "crowd.jsonl",
        [{"task": "t1", "worker": "w1", "label": "oak"}, {"task": "t1", "worker": "w2", "label": "elm"}],
        format="crowd-kit",
        rankings="oak; elm",
    ),
    "people and their cases": says(
        "a.json", KEYED, {"format": "annotator-json"}, annotators="A D", cases="B C", rankings="oak; elm | elm>ash=oak"
    ),
    "cases and their people": says(
        "a.json",
        KEYED,
        {"format": "case-json"},
        annotators="B C",
        cases="A D",
        rankings="oak; elm>ash=oak | elm",
        assumed="the outer keys are cases, the inner keys annotators",
    ),
    "cases without an opinion": says(
        "a.json",
        {"cases": {"c1": {}, "c2": {"ann": None}, "c3": {"ann": "oak", "bo": []}}},
        format="case-json",
        rankings=" |  | oak; -",
    ),
    "codes under keys": says(
        "a.json",
        {"annotators": {"ann": {"c1": 1, "c2": [[0, 1]]}}},
        {"conditions": ["oak", "elm"]},
        format="annotator-json",
        rankings="elm | oak=elm",
    ),
    "nested lists": says(
        "n.json",
        {**NESTED, "annotators": ["Ann"]},
        rankings="ant=dog>cat; bee>ant | cat>ant=bee; - | ",
        names="ant bee cat dog",
        cases="den hive yard",
        unused="annotators",
    ),
    "a bare list numbers its cases": says(
        "n.json", [[[[1]]], [], [[[0, 1]]]], {"conditions": ["1", "0"]}, rankings="0 |  | 1=0", cases="0 1 2"
    ),
    "nested names": says("n.json", [[[["b"], ["a"]]]], names="a b", rankings="b>a"),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_of_records(name: str, put: Any) -> None:
    file, content, options, expected = READ[name]
    reading = examine(put(content, file), **options)
    said, receipt = reading.rankings, reading.receipt
    cases = said.to_rankings()
    notes = [str(note) for note in receipt.notes]
    found = {
        "rankings": " | ".join("; ".join(">".join(map("=".join, one)) or "-" for one in case) for case in cases),
        "cases": " ".join(said.case_names),
        "annotators": " ".join(said.annotator_names),
        "names": " ".join(said.conditions),
        "n": said.n_rankings,
        "notes": sorted(notes),
        "found": [note.found for note in receipt.notes],
        "unused": " ".join(receipt.unused),
        "format": receipt.format,
        "note": next((note for note in notes if note == expected.get("note")), notes),
        "assumed": next((one for one in receipt.assumed if one == expected.get("assumed")), receipt.assumed),
    }
    expected = {what: sorted(value) if what == "notes" else value for what, value in expected.items()}
    assert {what: found[what] for what in expected} == expected


@pytest.mark.parametrize(
    ("file", "content", "warning"),
    [
        ("e.json", LABEL_STUDIO, "cancelled annotations"),
        ("r.json", ARGILLA, "'draft': 1, skipped.*'discarded': 1, skipped"),
        ("t.jsonl", PRODIGY, "answers 'reject': 1, skipped.*answers 'ignore': 1, skipped"),
        ("t.jsonl", [{"id": 1, **RESPONSES, "dx.responses.status": STATES}], "status 'draft': 1, skipped"),
        (
            "weather",
            {**DOCCANO, "notes.txt": "hm"},
            r"files with another ending: 1, skipped \(for example 'notes.txt'\)",
        ),
    ],
)
def test_what_is_skipped_is_warned_of(file: str, content: Any, warning: str, put: Any) -> None:
    with pytest.warns(DissensusWarning, match=warning):
        read(put(content, file))


# What is refused ----------------------------------------------------------------------------------------

TWICE = task(taxonomy(["Tree"]))
TWICE[0]["annotations"][0]["result"] *= 2
AMBIGUOUS = "a list of labels can be votes, an order or a tie"
DEPTH = "nested to the wrong depth"
A = [[["a"]]]
OAK = [[["oak"], ["elm"]]]
LISTS = "annotator-json"

REFUSED: list[tuple[str, Any, dict[str, Any], str, str]] = [
    # a name of a file and its content, options, the problem, and a place or another part of the message
    ("e.json", task(ranker({"good": ["yew"], "best": ["fir"]})), {}, "order of the ranker's buckets", "'good', 'best'"),
    ("e.json", task(ranker({"good": [], "fair": []})), {"bucket_order": ["good"]}, "a bucket has no place", ""),
    ("e.json", task(ranker({"good": [], "best": []})), {}, "buckets", "(--bucket-order good,best)"),
    ("e.json", BOTH, {}, "several controls could give the conditions", "'order', 'tree'"),
    ("e.json", BOTH, {}, "several controls could give the conditions", "--column condition=order"),
    ("e.json", task(taxonomy(["Tree"])), {"columns": {"condition": "treee"}}, "'treee'", "did you mean 'tree'"),
    ("e.json", task(BOX), {}, "no control asks for conditions", "choices, ranker, taxonomy"),
    ("e.json", TWICE, {}, "answers the control 'tree' 2 times", "task 1, annotation 1-1"),
    ("e.json", task(ranker({"order": "fir"})), {}, "the ranker of a result is not understood", "annotation 1-1"),
    ("r.json", TWO_ANSWERS, {}, "several questions", "'dx', 'mood'"),
    ("r.json", TWO_ANSWERS, {}, "several questions", "--column condition=dx"),
    ("r.json", record(4, 5), {}, "no question asks for conditions", "label, multi-label or ranking"),
    ("r.json", record("Acne"), {"columns": {"condition": "dxx"}}, "'dxx'", "did you mean 'dx'"),
    *(
        ("r.json", record([{"value": "Acne", "rank": rank}]), {}, "a rank is not understood", "case 'r1', response 1")
        for rank in (0, -1, "first", True, [1])
    ),
    *(
        ("t.jsonl", [choice(), choice(**changes)], {"format": "prodigy"}, problem, "t.jsonl, record 2")
        for changes, problem in (
            ({"_task_hash": None}, "the hash of a task is not understood"),
            ({"answer": None}, "the answer is not understood"),
            ({"accept": [2]}, "there is no option '2' to accept"),
            ({"accept": "Flat"}, "the accepted options is not understood"),
            ({"options": [{"text": "Flat"}]}, "a condition is not understood"),
        )
    ),
    ("t.jsonl", [{"_task_hash": 1, "answer": "accept"}], {}, "neither options nor accepted options", "record 1"),
    *(
        ("weather", {"ines": [ICE, wrong]}, {}, problem, "ines.jsonl, record 2")
        for wrong, problem in (
            (ICE, "case '0' stands in one file twice"),
            ({"id": 1, "label": [[0, 2, "ice"]]}, "a label is not understood"),
            ({"id": 1, "annotations": [{"label": 7, "user": 1}]}, "a number in doccano"),
            ({"id": 1, "text": "hail"}, "a document has no labels"),
            ({"text": "hail", "label": []}, "the id of a document"),
        )
    ),
    ("weather", {**DOCCANO, "kim.jsonl": "hello"}, {}, "does not hold JSON lines", "kim.jsonl"),
    ("t.jsonl", [{"id": 1, "labels": [0]}], {}, "integer labels need a list of conditions", ""),
    ("t.jsonl", [{"id": "s1", "labels": [0, -1]}], {"lists": "votes"}, "code is negative", "record 1, case 's1'"),
    ("t.jsonl", [QUESTIONS], {}, "several questions", "'dx', 'mood'"),
    ("t.jsonl", UNUSUAL, {"format": "hugging-face", "columns": {"condition": "vote"}}, "no column 'vote'", "votes"),
    *(
        ("t.jsonl", records, {}, problem, "")
        for records, problem in (
            ([{"id": 1, "labels": ["a", "b"], "annotators": ["x"]}], "the labels and the annotators of a record"),
            ([{"id": 1, "q.responses": ["a"], "q.responses.status": []}], "the labels and the statuses"),
            ([{"id": 1, "labels": ["a"]}] * 2, "case '1' stands in several records"),
            ([{"id": 1, "labels": ["a"]}, {"labels": ["b"]}], "the id of a record is not understood"),
            ([{"id": 1, "labels": ["a"]}, {"id": 2, "labels": 7}], "the value of 'labels'"),
            ([{"id": 1, "labels": ["a", True], "annotators": ["x", "y"]}], "a condition is not understood"),
            ([{"id": 1, "labels": [["oak", "elm"]]}], AMBIGUOUS),
            ([{"case": "c1", "condition": "\ud800"}], "half a character"),
        )
    ),
    ("a.csv", "case,annotator,labels\nc1,ann,\"['a', 'b']\"\n", {}, AMBIGUOUS, "beside 'annotator': 'ann'"),
    ("a.csv", "id,labels,annotators\nc1,\"['a', 'b']\",['x']\n", {}, "the labels and the annotators of a record", ""),
    *(
        (
            "a.csv",
            f'id,labels\nc0,[]\nc1,"{cell}"\n',
            {"lists": "votes"},
            "a list in a cell",
            "data row 2, column 'labels'",
        )
        for cell in ("['oak' 'elm']", "[0 1]", "[oak, elm]", "['oak', {'a': 1}]", "[__import__('os')]")
    ),
    *(
        ("long.jsonl", [{"case": "c1", "condition": value}], {"format": "long"}, "this is not a table", "")
        for value in (["oak"], {"name": "oak"})
    ),
    ("a.json", KEYED, {}, "can be annotators or cases", "annotator-json (annotator 'A' said 'oak' on case 'B')"),
    ("a.json", KEYED, {}, "can be annotators or cases", "case-json (annotator 'B' said 'oak' on case 'A')"),
    ("a.json", KEYED, {}, "can be annotators or cases", "--format annotator-json or --format case-json"),
    ("a.json", {n: dict.fromkeys(map(str, range(500)), "oak") for n in "AB"}, {}, "can be annotators or cases", ""),
    *(
        ("a.json", content, {"format": LISTS}, problem, place)
        for content, problem, place in (
            (
                {"ann": {"c1": ["oak", "elm"]}},
                "a list of labels can be an order or a tie",
                "case 'c1', annotator 'ann'",
            ),
            ({"ann": {"c1": {"oak": 1}}}, "a condition is not understood", "case 'c1', annotator 'ann'"),
            ({"ann": {"c1": True}}, "a condition is not understood", "case 'c1', annotator 'ann'"),
            ({"ann": "oak"}, "what stands under 'ann' is not understood", "annotator 'ann'"),
            ({"": {"c1": "oak"}}, "the name of the annotator is not understood", ""),
            ({"ann": {" ": "oak"}}, "the name of the case is not understood", "annotator 'ann'"),
            ([], "the file is not understood", ""),
            ({"ann": {"c1": [["oak"], ["oak"]]}}, "'oak' is mentioned twice", "case 'c1', annotator 'ann'"),
        )
    ),
    ("n.json", [[[[0]]]], {}, "integer codes need a list of conditions", ""),
    *(
        ("n.json", [A, wrong], {}, DEPTH, f"n.json, case 2{place}")
        for wrong, place in (("a", ""), (["a"], ", ranking 1"), ([[["a"]], ["a"]], ", ranking 2"))
    ),
    *(
        ("n.json", [A, wrong], {}, problem, f"n.json, case '1'{place}")
        for wrong, problem, place in (
            ([[["a"]], [[["a"]]]], "a condition is neither a name nor a code", ", ranking 2"),
            ([[["a"], []]], "a block is empty", ", ranking 1"),
            ([[["b", "a"]], [[None]]], "a condition is neither a name nor a code", ", ranking 2"),
            ([[["b", "a"]], [["a"], ["a"]]], "mentioned twice", ", ranking 2, condition 'a'"),
        )
    ),
    *(
        ("n.json", [[[[mention]]]], {"conditions": ["ants", "bees"]}, problem, "case '0', ranking 1")
        for mention, problem in ((2, "out of range"), (-1, "out of range"), ("beee", "did you mean 'bees'"))
    ),
    *(
        ("n.json", {**NESTED, **change}, {}, problem, "")
        for change, problem in (
            ({"case_names": ["den"]}, "number of case names does not fit"),
            ({"case_names": ["den", "den", "yard"]}, "case names must all be different"),
            ({"conditions": ["ant", "ant"]}, "condition names must all be different"),
            ({"conditions": "ant"}, "the list of conditions is not understood"),
            ({"unranked": "last"}, "'unranked' must be one word"),
        )
    ),
]


@pytest.mark.parametrize(("file", "content", "options", "problem", "part"), REFUSED)
def test_what_is_wrong_with_records_is_named_with_its_place(
    file: str, content: Any, options: dict[str, Any], problem: str, part: str, put: Any
) -> None:
    path = put(content, file)
    with pytest.raises(DissensusError) as caught:
        examine(path, **options)
    assert problem in str(caught.value)
    assert part in str(caught.value)
    assert str(path) in caught.value.where


# Lists in tables ----------------------------------------------------------------------------------------


def test_parquet_csv_and_json_lines_agree(put: Any) -> None:
    records = [
        {"id": "c1", "labels": ["oak", "elm"], "annotators": ["ann", "bo"]},
        {"id": "c2", "labels": ["elm"], "annotators": ["bo"]},
        {"id": "c3", "labels": [], "annotators": []},
    ]
    path = put(records, "a.jsonl")
    expected = read(path)
    pl.DataFrame(records).write_parquet(path.with_suffix(".parquet"))
    rows = "".join(f'{one["id"]},"{one["labels"]}","{one["annotators"]}"\n' for one in records)
    assert expected.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"]]], []]
    assert read(path.with_suffix(".parquet")) == expected
    assert read(put(f"id,labels,annotators\n{rows}", "a.csv")) == expected


def test_a_list_without_annotators_means_what_is_said(put: Any) -> None:
    lines = put([{"id": "c1", "labels": ["oak", "elm"]}], "a.jsonl")
    table = put('id,labels\nc1,"[""oak"", ""elm""]"\n', "a.csv")
    packed = table.with_suffix(".parquet")
    pl.DataFrame({"id": ["c1"], "labels": [["oak", "elm"]]}).write_parquet(packed)
    meanings: dict[Any, Any] = {"votes": [[["oak"]], [["elm"]]], "order": OAK, "tie": [[["elm", "oak"]]]}
    for path in (lines, table, packed):
        with pytest.raises(DissensusError, match=AMBIGUOUS) as caught:
            read(path)
        assert "['oak', 'elm']" in caught.value.got
        assert "--lists votes" in caught.value.advice
        for lists, rankings in meanings.items():
            assert read(path, lists=lists).to_rankings() == [rankings]


def test_codes_in_arrays_of_parquet_need_names(put: Any) -> None:
    frame = pl.DataFrame({"case": ["c1", "c2"], "label": [[0, 2], [1, 1]], "annotator_ids": [["a", "b"], ["a", "b"]]})
    path = put("", "a.csv").with_suffix(".parquet")
    frame.with_columns(pl.col("label").cast(pl.Array(pl.Int64, 2))).write_parquet(path)
    with pytest.raises(DissensusError, match="integer labels need a list of conditions"):
        read(path)
    said = read(path, conditions=["oak", "elm", "ash"])
    assert said.to_rankings() == [[[["oak"]], [["ash"]]], [[["elm"]], [["elm"]]]]


# Published files ----------------------------------------------------------------------------------------


@needs_shared
def test_published_diagnoses_joined_by_bars() -> None:
    said = read(SHARED / "dermxdb" / "dermxdb_diagnoses.csv", tie_separator="|")
    assert (said.n_cases, said.n_rankings, len(said.annotator_names)) == (630, 5528, 8)
    assert (said.mentions_per_ranking == 0).sum() == 59


@needs_shared
def test_published_dermatology_annotations() -> None:
    folder = SHARED / "dermatology_ddx"
    conditions = (folder / "dermatology_conditions.txt").read_text(encoding="utf-8").splitlines()
    said = read(folder / "dermatology_selectors.json", conditions=conditions)
    assert (said.n_cases, said.n_rankings, said.n_conditions) == (1947, 9602, 419)
    assert round(100 * said.has_tie.mean(), 1) == 15.8
    assert round(100 * (said.mentions_per_ranking == 1).mean()) == 54
