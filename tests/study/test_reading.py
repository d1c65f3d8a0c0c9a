"""Files of opinions: what each says, what its receipt tells, and how whatever is wrong is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, DissensusWarning, Study, examine, read
from dissensus.core.files import Source
from dissensus.study.reading import Reading
from dissensus.study.reading.format import Format
from dissensus.study.reading.wide import Wide
from format_examples import (
    ANNOTATOR_FILES,
    ARGILLA,
    COUNTS,
    DOCCANO,
    HUGGING_FACE,
    KEYED,
    LABEL_STUDIO,
    LONG_RECORDS,
    NESTED,
    PREFLIB,
    PRODIGY,
)
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

LONG = "case,annotator,condition,rank\n"
SECOND_ORDER = "case,annotator,condition,rank,confidence,age\nc,A,x,1,2,40\nc,A,y,2,9,40\n"
TIED = "the conditions that an annotator gives on a case are tied"
BELOW = "what an annotator does not mention ranks below what they mention"
BY_ORDER = "confidences order the conditions; their values are not used (--confidence share uses them)"
OF_FILE = "the name of a file is its annotator"
FOUR = ["Melanoma", "Nevus", "Acne", "Wart"]
SKIN = FOUR[:3]
CODES = "integers are codes of the given conditions: 0 is Melanoma, 1 is Nevus, 2 is Acne and so on"
NUMBERED = "case,annotator,label,{}\nc1,A,x,{}\nc1,A,y,{}\nc2,A,x,{}\n"
RANG = NUMBERED.format("Rang", 2, 1, 1)
IMAGES = "image,item,annotator,label\np1,i1,A,x\np1,i2,A,y\np2,i2,A,x\n"
SEX, STRANGERS = "case,sex\nc1,f\nc2,m\n", "case,Ann,Bo\nc1,x,y\nc2,z,w\n"
SPEAKERS, PHOTOS = "Ann,Bo,Cy\nx,x,y\ny,z,z\n", "photo,Ann,Bo\n0,0,1\n1,2,1\n"
CHAOS = {
    "uid": "144n",
    "label_counter": {"e": 76, "n": 20},
    "majority_label": "e",
    "label_count": [76, 20, 0],
    "example": {"uid": "144n", "premise": "a premise"},
    "old_labels": ["e", "e", "n"],
}
GRADES = "case,annotator,label\nc1,A,2\nc1,B,10\nc2,A,0\nc2,B,2\n"
MOLES = "case,annotator,label\nc1,A,Melanoma\nc1,B,Nevus\nc2,A,Nevus\n"
SURE = "case,reader,confidence\nx,A,0.75\nx,B,1\ny,A,0.2\n"
AGAIN = f"{LONG}c1,A,x,2\nc1,A,y,1\nc1,A,x,1\nc1,A,x,3\nc1,B,y,1\nc2,A,z,2\nc2,A,x,1\nc2,A,z,1\n"
AGAIN += "c3,B,y,1\nc3,B,y,2\nc4,A,y,2\nc4,A,y,1\n"
TWICE_MENTIONED: dict[str, Any] = {
    "wide.csv": "case,A,B\nc1,x>y>x,y\n",
    "nested.json": [[[["x"], ["y"], ["x"]], [["y"]]]],
    "huggingface.jsonl": [{"id": "c1", "labels": [["x", "y", "x"], "y"], "annotator_ids": ["A", "B"]}],
    "records.jsonl": [{"case": "c1", "annotator": "A", "label": name, "rank": 1} for name in "xyx"],
}
HOW_SURE = "case,annotator,label,confidence\n"
SURENESS = HOW_SURE + "c1,A,x,1\nc1,A,y,3\nc1,B,x,5\nc1,B,y,0\nc2,A,z,\nc3,B,y,2\nc3,B,x,2\n"
BOTH_ORDERS = "case,annotator,label,rank,confidence\nc1,A,x,1,1\nc1,A,y,2,3\n"
RANKED_TREES = "case,label,rank\nc1,oak,1\nc1,elm,2\n"
TREES = pl.DataFrame({"image": ["c1", "c1"], "diagnosis": ["oak", "elm"], "rank": [1, 2]})
CHECKED = {"format": "checklist"}
FOUND = "case,annotator,finding\nc1,Ann,AF\nc1,Ann,ST\nc1,Bo,normal\nc2,Bo,RBBB\n"
AGES = "case,annotator,age,AF,ST\nc1,Ann,71,1,0\nc2,Ann,30,0,0\n"
NOTHING = "case,annotator,AF,ST,No Finding\nc1,Ann,,,1\nc1,Bo,1,,0\nc2,Bo,1,,\n"
READERS = {"ann.csv": "case,AF,ST\nc1,1,0\nc2,0,0\n", "bo.csv": "case,AF,RBBB\nc1,,1\n"}
SIGNS = "pic,doc,sign,there\nc1,Ann,AF,y\nc1,Ann,ST,n\n"
SIGN_ROLES = {"case": "pic", "annotator": "doc", "finding": "sign", "present": "there"}
TIES = "case,annotator,label\n" + "".join(f"c{i},Ann,AF\nc{i},Ann,ST\nc{i},Bo,AF\n" for i in range(3))
TURNED = (
    PREFLIB.replace("NAME 1: Leek", "NAME 1: Pea", 1).replace("NAME 2: Pea", "NAME 2: Leek", 1).replace("\n", "\r\n")
)
SOUPS = "{0}>{1}=Borscht: hot; {0}>{1}=Borscht: hot; Borscht: hot; -"


def chosen(*names: list[str] | None) -> list[Any]:
    """Results of Label Studio's choices, of which None is none."""
    return [{"from_name": "seen", "type": "choices", "value": {"choices": one}} for one in names if one is not None]


CHOICES = [
    {
        "id": number,
        "data": {"image": "x"},
        "annotations": [
            {"id": 100 * number + who, "completed_by": who, "was_cancelled": who == 9, "result": chosen(one)}
            for who, one in given
        ],
    }
    for number, given in ((1, [(7, ["AF", "ST"]), (8, None), (9, None)]), (2, [(8, ["normal"])]), (3, []))
]
RANKERS = [{**CHOICES[1], "annotations": [{"id": 1, "completed_by": 7, "result": [ranker(["AF"])]}]}]


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
    # tables with a row per opinion
    "marks, quotes and line breaks": says(
        "a.csv",
        f'\ufeff{LONG}c1,Ann,"two\nlines",1\nc1,Ann,"a ""quote"", 🦠 <b>",2\nc2,,,\n',
        rankings='two\nlines>a "quote", 🦠 <b> | ',
    ),
    "gaps between ranks": says("a.csv", f"{LONG}c,A,x,3\nc,A,y,1\nc,A,z,7\n", rankings="y>x>z", assumed_all=()),
    "confidences and ties": says(
        "a.csv",
        "image_id,reader,diagnosis,confidence\n1,A,x,10\n1,A,y,10\n1,A,z,3\n1,B,x,0\n1,B,y,\n",
        rankings="x=y>z; -",
        notes=["rows with confidence 0 or missing: 2, kept as not mentioned"],
    ),
    "cells with bars": says(
        "a.csv", "task,worker,label\nt,w,Rosacea| Lupus\n", {"tie_separator": "|"}, rankings="Lupus=Rosacea"
    ),
    "columns as said": says(
        "a.csv",
        "photo,who,dx,order\np1,A,x,2\np1,A,y,1\n",
        {"columns": {"case": "photo", "annotator": "who", "condition": "dx", "rank": "order"}},
        rankings="y>x",
    ),
    "columns of a receipt": says(
        "a.csv",
        "image,who,dx,rank,age\np1,A,x,1,40\np1,A,y,2,40\n",
        {"columns": {"annotator": "who", "condition": "dx"}},
        columns=[
            "'image' is the case (by its name)",
            "'who' is the annotator (as said)",
            "'dx' is the condition (as said)",
            "'rank' is the rank (by its name)",
            "'age' is not used",
        ],
        unused="age",
    ),
    "a second order": says(
        "a.csv",
        SECOND_ORDER,
        column="'confidence' is not used (the rank decides)",
        assumed="the rank orders the conditions of an annotator, not the confidence",
        unused="confidence age",
    ),
    "the other order": says("a.csv", SECOND_ORDER, {"columns": {"confidence": "confidence"}}, rankings="y>x"),
    "types of parquet": says(
        "a.parquet",
        pl.DataFrame({"case": [1, 2], "annotator": [7, 8], "condition": ["x", "y"], "rank": [1, 1]}),
        cases="1 2",
        annotators="7 8",
        rankings="x | y",
    ),
    **{
        f"what is assumed of {text[:20]}": says("a.csv", text, assumed=sentence)
        for text, sentence in (
            ("case,annotator,label\nc,A,x\nc,A,y\n", f"there is no rank and no confidence: {TIED}"),
            ("case,label\nc,x\nc,y\n", "there is no annotator column: every row is an opinion of its own"),
            ("case,label,rank\nc,x,1\nc,y,2\n", "there is no annotator column: the rows of a case are one ranking"),
            ("case,annotator,label,rank\nc,A,x,1\nc,B,y,1\n", BELOW),
            ("photo,Ann,Bo\np1,x,x\np2,y,x\n", "the first column, 'photo', names the cases"),
        )
    },
    **{
        f"codes in {file}": says(file, content, {"conditions": FOUR, "lists": "votes"}, assumed=CODES)
        for file, content in (
            ("long.csv", "case,annotator,label\nc1,A,0\nc2,A,3\n"),
            ("codes.csv", "case,Ann,Bo\nc1,0,3\nc2,1,2\n"),
            ("nested.json", [[[[0], [1]]]]),
            ("lists.jsonl", [{"id": "c1", "labels": [0, 2]}]),
        )
    },
    "what is said is not assumed": says("a.csv", f"{LONG}c,A,x,1\nc,B,y,1\n", {"unranked": "below"}, assumed_all=()),
    "every row used": says("a.csv", f"{LONG}c,A,x,1\n", used=True),
    # numbers without a role
    "a rank as said": says("a.csv", RANG, {"columns": {"rank": "Rang"}}, rankings="y>x | x"),
    "a confidence as said": says("a.csv", RANG, {"columns": {"confidence": "Rang"}}, rankings="x>y | x"),
    "numbers ignored": says(
        "a.csv",
        RANG,
        {"ignore": ["Rang"]},
        rankings="x=y | x",
        column="'Rang' is not used (ignored, as said)",
        used=False,
    ),
    **{
        f"no order in {text[:30]}": says("a.csv", text, unused=name)
        for text, name in (
            ("case,annotator,label,age\nc1,A,x,40\nc1,B,y,40\nc2,A,x,38\n", "age"),
            ("case,annotator,label,rank,age\nc1,A,x,1,40\nc1,A,y,2,40\n", "age"),
            ("case,annotator,label,site\nc1,A,x,arm\nc1,A,y,leg\n", "site"),
            (",case,annotator,label\n1,c1,A,x\n2,c1,A,y\n3,c2,A,y\n", ""),
        )
    },
    **{
        f"the case of {text[:20]}": says(
            "a.csv", text, cases=cases, column=f"{other!r} is not used ({case!r} is the case)"
        )
        for text, cases, case, other in (
            ("case,image,annotator,label\nc1,p1,A,x\nc1,p2,B,y\n", "c1", "case", "image"),
            ("id,image,annotator,label\n1,p1,A,x\n2,p1,B,y\n", "p1", "image", "id"),
            ("image,item,annotator,label\np1,i1,A,x\np2,i2,A,y\np1,i1,B,y\n", "i1 i2", "item", "image"),
        )
    },
    "the case as said": says("a.csv", IMAGES, {"columns": {"case": "image"}}, cases="p1 p2"),
    # a column per annotator
    "wide": says("a.csv", "case,Ann,Bo\nc1,x > y = z,\nc2,,x\n", rankings="x>y=z | x", annotators="Ann Bo"),
    "integer codes": says(
        "a.csv",
        "id,Ann,Bo\n1,0,1.0\n2,,\n3,1,\n",
        {"conditions": ["cat", "dog"]},
        rankings="cat; dog |  | dog",
        annotators="Ann Bo",
    ),
    "any name of an annotator": says("a.csv", "case,row,Ann\nc1,x,x\n", annotators="row Ann"),
    "one ranking annotator": says("a.csv", "case,Ann\nc1,x>y\nc2,z\n", annotators="Ann"),
    "one column of conditions": says("a.csv", SEX, {"columns": {"condition": "sex"}}, annotators="", rankings="f | m"),
    "one annotator as said": says("a.csv", SEX, {"format": "wide"}, annotators="sex"),
    "brackets in labels": says("a.csv", "case,Ann,Bo\nc1,[sic] x,[sic] x\n", names="[sic] x"),
    "labels of the given conditions": says("a.csv", STRANGERS, {"conditions": ["w", "x", "y", "z"]}, n=4),
    "a first column of labels": says("a.csv", SPEAKERS, {"columns": {"case": "Ann"}}, cases="x y"),
    **{
        f"codes of {text[:30]}": says("a.csv", text, {"conditions": names, **options}, rankings=rankings, cases=cases)
        for text, names, options, cases, rankings in (
            ("case,Ann,Bo\nc1,0,1\nc2,2,1\n", SKIN, {}, "c1 c2", "Melanoma; Nevus | Acne; Nevus"),
            ("case,Ann,Bo\nc1,0,1\n", SKIN[:2], {}, "c1", "Melanoma; Nevus"),
            (",Ann,Bo\n0,0,1\n1,2,1\n", SKIN, {}, "0 1", "Melanoma; Nevus | Acne; Nevus"),
            (PHOTOS, SKIN, {"columns": {"case": "photo"}}, "0 1", "Melanoma; Nevus | Acne; Nevus"),
            ("photo,Ann,Bo\n7,0,1\n8,2,1\n", SKIN, {}, "7 8", "Melanoma; Nevus | Acne; Nevus"),
        )
    },
    # votes
    "a matrix of votes": says(
        "votes.npy",
        COUNTS,
        {"conditions": ["cat", "dog", "frog"]},
        rankings="cat; cat; frog | ",
        notes=["votes of annotators without a name: 3, counted"],
    ),
    "columns and rows by number": says(
        "votes.npy",
        COUNTS,
        names="0 1 2",
        assumed_all=(
            "rows are cases, numbered from 0",
            "columns are conditions, numbered from 0, and cells are votes",
            BELOW,
        ),
    ),
    "whole numbers stored as floats": says("votes.npy", COUNTS.astype(float), {"format": "counts"}, votes=[2, 1]),
    "a table of votes": says(
        "votes.csv",
        "case,cat,dog,frog,patient\nx,2,0,1,p\ny,0,,0,q\n",
        {"format": "counts"},
        rankings="cat; cat; frog | ",
        names="cat dog frog",
        groups="p q",
        notes=["votes of annotators without a name: 3, counted", "empty cells: 1, taken as 0 votes"],
        column="'dog' is the votes for the condition of this name",
        assumed="a cell is the number of annotators who gave the condition of its column",
    ),
    "columns that are the conditions": says(
        "a.csv",
        "case,cat,dog\nx,2,1\ny,0,0\n",
        {"conditions": ["dog", "cat"]},
        format="counts",
        rankings="cat; cat; dog | ",
    ),
    "records of votes": says(
        "votes.jsonl",
        [{"case": "c1", "label_count": {"b": 1, "a": 3}}, {"case": "c2", "label_count": {"c": 0}}],
        format="counts",
        names="a b c",
        votes=[1, 3],
        unannotated="c2",
    ),
    "records as chaosnli has them": says(
        "votes.jsonl", [CHAOS], {"conditions": ["e", "n", "c"]}, votes=[76, 20], cases="144n", names="e n c"
    ),
    "used keys of them": says("votes.jsonl", [CHAOS], unused="majority_label label_count example old_labels"),
    "a list of votes": says(
        "a.json", [{"id": 7, "label_count": [1, 0, 4]}], {"conditions": ["e", "n", "c"]}, votes=[1, 4]
    ),
    "rows without votes": says(
        "a.csv",
        "case,label,n_votes\nx,a,3\nx,b,0\n",
        names="a b",
        notes=["rows with 0 votes: 1, kept as conditions that nobody chose"],
    ),
    # ratings
    "ratings": says(
        "a.csv",
        "item,rater,stars\nx,A,3\nx,B,4\ny,A,\n",
        {"format": "ratings", "columns": {"score": "stars"}},
        scores=[3, 4],
        unannotated="y",
    ),
    # questions
    "grades by their size": says("a.csv", GRADES, {"question": "grades"}, names="0 2 10", rankings="2; 10 | 0; 2"),
    "grades as listed": says(
        "a.csv", GRADES, {"question": "grades", "conditions": [*"9210", "10"]}, names="9 2 1 0 10"
    ),
    "grades said in words": says(
        "a.csv", GRADES, {"question": "grades"}, assumed="annotators were graded from 0 to 10: '0', '2', '10'"
    ),
    "grades of votes": says(
        "a.csv",
        "case,10,2,0\nx,1,2,0\ny,0,0,3\n",
        {"format": "counts", "question": "grades"},
        names="0 2 10",
        rankings="10; 2; 2 | 0; 0; 0",
    ),
    "confidences that are grades": says(
        "a.csv",
        "case,reader,confidence\nx,A,5\nx,B,4\ny,A,1\n",
        {"question": "grades", "columns": {"condition": "confidence"}},
        names="1 4 5",
    ),
    "grades of annotators": says(
        "a.csv", "case,A,B\nx,1,2\ny,0,3\n", {"format": "cleanlab", "question": "grades"}, names="0 1 2 3"
    ),
    "a positive condition": says("a.csv", MOLES, {"positive": "Melanoma"}, names="Nevus Melanoma", question="binary"),
    "shares of a positive condition": says(
        "a.csv",
        SURE,
        {"positive": "Melanoma", "confidence": "share"},
        names="not Melanoma Melanoma",
        rankings="Melanoma; not Melanoma; Melanoma | not Melanoma; Melanoma",
        weights=[0.75, 0.25, 1.0, 0.8, 0.2],
    ),
    "an order of two": says(
        "a.csv",
        SURE,
        {"positive": "Melanoma", "conditions": ["Nevus", "Melanoma"]},
        rankings="Melanoma>Nevus; Melanoma | Nevus>Melanoma",
    ),
    # repeated mentions, and confidences
    "the first mention": says(
        "a.csv", AGAIN, {"duplicates": "first"}, rankings="y>x; y | x>z | y | y", lost=[(5, "the first mention counts")]
    ),
    "the best mention": says(
        "a.csv",
        AGAIN,
        {"duplicates": "best"},
        rankings="x=y; y | x=z | y | y",
        lost=[(5, "the mention with the best rank counts")],
    ),
    **{
        f"{duplicates} of {file}": says(
            file, content, {"duplicates": duplicates}, lost=[(1, duplicates)], mentioned="x y"
        )
        for duplicates in ("first", "best")
        for file, content in TWICE_MENTIONED.items()
    },
    **{
        f"confidences order ({confidence})": says(
            "a.csv", SURENESS, {"confidence": confidence}, rankings="y>x; x | - | x=y", weights=[1.0] * 4, **more
        )
        for confidence, more in ((None, {"assumed": BY_ORDER}), ("order", {"assumed_all": (BELOW,)}))
    },
    "confidences share": says(
        "a.csv",
        SURENESS,
        {"confidence": "share"},
        rankings="y; x; x | - | x; y",
        weights=[0.75, 0.25, 1.0, 1.0, 0.5, 0.5],
        found=["rows with confidence 0 or missing", "soft votes"],
    ),
    "shares of a weight": says(
        "a.csv",
        "case,annotator,label,confidence,weight\nc1,A,x,1,4\nc1,A,y,3,4\n",
        {"confidence": "share"},
        rankings="y; x",
        weights=[3.0, 1.0],
    ),
    "scattered shares": says(
        "a.csv",
        f"{HOW_SURE}c2,A,y,1\nc1,A,x,1\nc2,A,x,4\nc1,A,y,9\n",
        {"confidence": "share"},
        rankings="x; y | y; x",
        weights=[0.8, 0.2, 0.9, 0.1],
    ),
    "huge shares": says(
        "a.csv", f"{HOW_SURE}c1,A,x,1e308\nc1,A,y,1e308\n", {"confidence": "share"}, weights=[0.5, 0.5]
    ),
    "shares of the best mention": says(
        "a.csv",
        f"{HOW_SURE}c1,A,x,1\nc1,A,x,3\nc1,A,y,1\n",
        {"confidence": "share", "duplicates": "best"},
        rankings="x; y",
        weights=[0.75, 0.25],
    ),
    "confidences beside ranks": says("a.csv", BOTH_ORDERS, rankings="x>y"),
    "confidences asked for": says("a.csv", BOTH_ORDERS, {"confidence": "order"}, rankings="y>x"),
    "shares asked for": says("a.csv", BOTH_ORDERS, {"confidence": "share"}, weights=[0.75, 0.25]),
    # a file per annotator
    "tables and json": says(
        "trees", ANNOTATOR_FILES, annotators="ann bo", rankings="oak>elm; elm | ash; oak>ash=elm", cases="c1 c2"
    ),
    "tables of every kind": says(
        "trees",
        {
            "a.csv": TREES.write_csv(),
            "b.tsv": TREES.write_csv(separator="\t"),
            "c.parquet": TREES,
            "d.json": TREES.write_json(),
        },
        rankings="oak>elm; oak>elm; oak>elm; oak>elm",
    ),
    "lines of annotators": says(
        "lines",
        {"ann": [{"case": "c1", "label": "oak"}], "bo": [{"case": "c1", "label": "elm"}]},
        {"format": "annotator-files"},
        annotators="ann bo",
        rankings="oak; elm",
    ),
    "labels without ranks": says(
        "trees",
        {"ann.csv": "case,label\nc1,oak\nc1,elm\n", "bo.csv": "case,label\nc1,elm\n"},
        rankings="elm=oak; elm",
        assumed_all=(OF_FILE, "several labels that an annotator gave a case without a rank are tied", BELOW),
        columns=["'case' is the case (by its name)", "'label' is the condition (by its name)"],
    ),
    "shares over all files": says(
        "trees",
        {"ann.csv": "case,label,confidence\nc1,oak,1\nc1,elm,3\n", "bo.csv": "case,label\nc1,oak\n"},
        {"confidence": "share"},
        weights=[0.75, 0.25, 1.0],
    ),
    "columns of files as said": says(
        "trees",
        {"ann.csv": "picture,mine\n7,0|1\n", "bo.csv": "picture,mine\n7,1\n"},
        {"columns": {"case": "picture", "condition": "mine"}, "conditions": ["oak", "elm"], "tie_separator": "|"},
        rankings="oak=elm; elm",
    ),
    "no opinion and an abstention": says(
        "trees", {"ann.json": '{"c1": null, "c2": [], "c3": "oak"}'}, rankings=" | - | oak"
    ),
    "columns without a role": says(
        "trees", dict.fromkeys(("ann.csv", "bo.csv"), "case,label,age\nc1,oak,7\n"), unused="age", used=False
    ),
    # checklists
    "long checklists": says(
        "a.csv", FOUND, {**CHECKED, "nothing": "normal"}, names="AF ST RBBB", sets="AF+ST; - | RBBB"
    ),
    **{
        f"wide checklists of {yes}": says(
            "a.csv",
            f"case,annotator,AF,ST,RBBB\nc1,Ann,{yes},{yes},{no}\nc1,Bo,{no},{no},{no}\nc2,Bo,{no},{no},{yes}\n",
            CHECKED,
            names="AF ST RBBB",
            sets="AF+ST; - | RBBB",
        )
        for yes, no in (("1", "0"), ("yes", "absent"))
    },
    "empty cells": says(
        "a.csv",
        "case,annotator,AF,ST\nc1,Ann,1,\nc1,Bo,,\nc2,Bo,no,yes\n",
        CHECKED,
        answers=[[1, -1], [-1, -1], [0, 1]],
        assumed="an empty cell is a finding that was not assessed",
    ),
    "findings as listed": says(
        "a.csv",
        AGES,
        {**CHECKED, "conditions": ["ST", "AF", "RBBB"]},
        answers=[[0, 1, -1], [0, 0, -1]],
        unused="age",
        notes=["findings without a column: 1, kept as not assessed (for example 'RBBB')"],
    ),
    "what is no finding": says("a.csv", AGES, {**CHECKED, "ignore": ["age"]}, names="AF ST"),
    "a column of nothing": says(
        "a.csv", NOTHING, {**CHECKED, "nothing": "No Finding"}, names="AF ST", answers=[[0, 0], [1, -1], [1, -1]]
    ),
    "a checklist per row": says(
        "a.csv", "case,AF,ST\nc1,1,0\nc1,0,0\nc2,0,1\n", CHECKED, sets="AF; - | ST", annotators=""
    ),
    "rounds": says("a.csv", "case,annotator,round,AF\nc1,Ann,1,1\nc1,Ann,2,0\n", CHECKED, sets="AF; -"),
    "several findings in a cell": says(
        "a.csv", "case,annotator,finding\nc1,Ann,AF|ST\nc1,Bo,\n", {**CHECKED, "tie_separator": "|"}, sets="AF+ST; -"
    ),
    "checklists by annotator": says(
        "readers",
        READERS,
        CHECKED,
        names="AF ST RBBB",
        annotators="ann bo",
        answers=[[1, 0, -1], [-1, -1, 1], [0, 0, -1]],
        assumed=OF_FILE,
        note="findings without a column: 2, kept as not assessed (for example 'RBBB', 'ST')",
    ),
    "long and wide files": says(
        "readers",
        {"ann.csv": "case,finding\nc1,AF\nc2,none\n", "bo.csv": "case,AF,ST\nc1,0,1\n"},
        {**CHECKED, "nothing": "none"},
        sets="AF; ST | -",
    ),
    "choices are findings": says(
        "a.json",
        CHOICES,
        {**CHECKED, "nothing": "normal"},
        sets="AF+ST; - | - | ",
        annotators="7 8",
        unannotated="3",
        note="checklists without a finding: 1, kept as nothing found (for example '1')",
        column="'annotations.result.seen' is the finding (the only control that names conditions)",
    ),
    "choices are labels": says("a.json", CHOICES, rankings="AF=ST; - | normal | "),
    "answers are recognised": says(
        "a.csv", "case,annotator,finding,present\nc1,Ann,AF,1\n", format="checklist", sets="AF"
    ),
    "findings as conditions": says("a.csv", FOUND, {"columns": {"condition": "finding"}}, format="long", n=3),
    "roles of findings": says("a.csv", SIGNS, {"columns": SIGN_ROLES}, format="checklist", answers=[[1, 0]]),
    "ties may be findings": says(
        "a.csv", TIES, notes=["several conditions in no order: 3, tied (findings? --format checklist)"], lost=[]
    ),
    "orders are none": says(
        "a.csv", f"{LONG}{TIES.partition(chr(10))[2].replace('AF', 'AF,1').replace('ST', 'ST,2')}", notes=[]
    ),
    # PrefLib
    "counted voters": says(
        "soup.toi",
        PREFLIB,
        rankings="Leek>Pea=Borscht: hot; Leek>Pea=Borscht: hot; Borscht: hot; -",
        names="Leek Pea Borscht: hot",
        cases="soup",
        annotators="",
        notes=[
            "empty braces in orders: 1, read as nothing (for example 'soup.toi')",
            "rankings without a condition: 1, kept as abstentions (for example 'soup')",
        ],
    ),
    "a case per file": says(
        "soups",
        {"noon.toi": PREFLIB, "night.toi": TURNED, "README.txt": "about soup"},
        cases="night noon",
        names="Pea Leek Borscht: hot",
        rankings=f"{SOUPS.format('Pea', 'Leek')} | {SOUPS.format('Leek', 'Pea')}",
    ),
    "a header is enough": says("soup.txt", PREFLIB, format="preflib"),
    "billions of voters": says(
        "soup.toi",
        PREFLIB.replace("VOTERS: 4", "VOTERS: 9000000002").replace("2: 1", "9000000000: 1"),
        votes=[9_000_000_000, 1, 1],
    ),
}


def told_by(reading: Reading) -> dict[str, Callable[[], Any]]:
    """What can be expected of a file that was read, each found when it is asked for."""
    said, receipt = reading.study, reading.receipt

    def lists(cases: list[list[Any]], write: Callable[[Any], str]) -> str:
        return " | ".join("; ".join(write(one) or "-" for one in case) for case in cases)

    return {
        "rankings": lambda: lists(said.to_rankings(), lambda one: ">".join(map("=".join, one))),
        "sets": lambda: lists(said.to_sets(), lambda one: "+".join(sorted(one))),
        "mentioned": lambda: " ".join(sorted(name for block in said.to_rankings()[0][0] for name in block)),
        "answers": said.answers.tolist,
        "scores": said.scores.tolist,
        "weights": lambda: pytest.approx(said.weights.tolist()),
        "votes": said.votes.tolist,
        "cases": lambda: " ".join(said.case_names),
        "annotators": lambda: " ".join(said.annotator_names),
        "names": lambda: " ".join(said.conditions),
        "groups": lambda: " ".join(said.groups),
        "unannotated": lambda: " ".join(said.unannotated),
        "question": lambda: said.question,
        "n": lambda: said.n_rankings,
        "notes": lambda: sorted(map(str, receipt.notes)),
        "found": lambda: [note.found for note in receipt.notes],
        "lost": lambda: [(note.count, str(note)) for note in receipt.lost],
        "unused": lambda: " ".join(receipt.unused),
        "used": lambda: receipt.everything_was_used,
        "format": lambda: receipt.format,
        "columns": lambda: list(map(str, receipt.columns)),
        "column": lambda: list(map(str, receipt.columns)),
        "note": lambda: list(map(str, receipt.notes)),
        "assumed": lambda: receipt.assumed,
        "assumed_all": lambda: receipt.assumed,
    }


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name: str, put: Any) -> None:
    file, content, options, expected = READ[name]
    told = told_by(examine(put(content, file), **options))
    for what, wanted in expected.items():
        found = told[what]()
        if what in ("note", "column", "assumed"):  # one of several
            assert wanted in found
        elif what == "lost":
            assert [count for count, _ in found] == [count for count, _ in wanted]
            assert all(words in note for (_, words), (_, note) in zip(wanted, found, strict=True))
        else:
            assert found == (sorted(wanted) if what == "notes" else wanted), what


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
        ("soups", {"a.toi": PREFLIB, "README.txt": "about soup"}, "files with another ending: 1, skipped"),
        ("trees", {"ann.csv": RANKED_TREES, "README.md": "hm", ".DS_Store": "x"}, r"ending: 1, .* 'README.md'\)"),
        ("trees", {"ann.csv": RANKED_TREES, "old": {}}, r"folders: 1, skipped \(for example 'old'\)"),
    ],
)
def test_what_is_skipped_is_warned_of(file: str, content: Any, warning: str, put: Any) -> None:
    path = put(
        {name: one for name, one in content.items() if one != {}} if isinstance(content, dict) else content, file
    )
    for name in (name for name in content if isinstance(content, dict) and content[name] == {}):
        (path / name).mkdir()
    with pytest.warns(DissensusWarning, match=warning):
        read(path)
    assert not any(note.lost for note in examine(path).receipt.notes if note.found == "hidden files")


# What is refused ----------------------------------------------------------------------------------------

NO_VOTES = (-1, 1.5, True, 10**400)
HUGE = "9" * 400
TWICE = task(taxonomy(["Tree"]))
TWICE[0]["annotations"][0]["result"] *= 2
AMBIGUOUS = "a list of labels can be votes, an order or a tie"
DEPTH = "nested to the wrong depth"
A = [[["a"]]]
OAK = [[["oak"], ["elm"]]]
LISTS = "annotator-json"

REFUSED: list[tuple[Any, ...]] = [  # a name of a file and its content, options, and parts of the message
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
    # tables with a row per opinion
    ("a.csv", f"{LONG}c1,A,x,first\n", {}, "a rank is not a number", "'first'", "data row 1, case 'c1', annotator 'A'"),
    ("a.csv", f"{LONG}c1,A,x,1\nc1,A,y,NaN\n", {}, "a rank is not a positive number", "nan", "data row 2"),
    (
        "a.csv",
        "case,annotation,condition,rank\n,,x,\n,,y,\nc1,1,x,1\nc1,1,y,0\n",
        {},
        "data row 4",
    ),  # declarations count
    *(
        (
            "a.csv",
            f"{header}\n1,1,1,1\n",
            {},
            f"the table has no {role} column",
            f"'{role}'",
            f"--column {role}=NAME",
            first,
        )
        for header, role, first in (
            ("photo,annotator,condition,rank", "case", "photo"),
            ("case,annotator,dx,rank", "condition", "dx"),
        )
    ),
    ("a.csv", f"{LONG}c1,A,x,1\n", {"columns": {"case": "cas"}}, "did you mean 'case'?"),
    (
        "a.csv",
        f"{LONG}c1,A,x,1\n",
        {"columns": {"conditon": "condition"}},
        "no role 'conditon'",
        "did you mean 'condition'?",
    ),
    ("a.csv", "x\n1\n", {}, "no known format fits the file", "a table with the columns 'x'", "--format"),
    ("a.txt", f"{LONG}c1,A,x,1\n", {}, "no known format fits the file", ".csv"),
    *(("a.json", {"a": [1]}, {"format": name}, "not a table") for name in ("long", "wide", "cleanlab", "crowd-kit")),
    ("folder", {"a.txt": ""}, {"format": "long"}, "not a table"),
    *(
        (
            "a.csv",
            NUMBERED.format(name, *(f'"{number}"' for number in numbers)),
            {},
            f"the column {name!r} holds numbers and has no role",
            *(f"--column {role}={name}" for role in ("rank", "confidence", "weight")),
            f"--ignore {name}",
        )
        for name, numbers in (
            ("Rang", ("1", "2", "1")),
            ("votes2", ("0.5", "0.25", "1")),
            ("confiance", ("0,5", "0,25", "1")),
            ("score", ("50 %", "", "1")),
        )
    ),
    (
        "a.csv",
        "case,annotator,label,a,b\nc1,A,x,3,4\nc1,A,y,4,4\n",
        {},
        "the columns 'a', 'b' hold numbers and have no role",
        "--ignore a --ignore b",
    ),
    (
        "a.csv",
        f"{LONG}c1,A,x,1\n",
        {"ignore": ["ranks"]},
        "there is no column 'ranks' to ignore",
        "did you mean 'rank'?",
    ),
    ("a.json", [[[["x"]]]], {"ignore": ["age"]}, "there is no column 'age' to ignore"),
    ("a.csv", IMAGES, {}, "two columns could be the case", "--column case=image"),
    ("a.csv", "case,annotator,class,diagnosis\nc1,A,x,y\nc2,A,x,z\n", {}, "two columns could be the condition"),
    ("a.csv", "case,rater,rating,toxicity_score\nc1,A,1,2\nc1,B,1,3\n", {}, "two columns could be the score"),
    # a column per annotator
    *(
        (
            "a.csv",
            f"case,Ann,Bo\nc1,{c}\nc2,{c}\nc1,{c}\n",
            {"conditions": [*"xy"]},
            "'c1' stands in several rows",
            "rows 1 and 3",
        )
        for c in ("x,y", "0,1")
    ),
    *(
        ("a.csv", f"case,Ann,Bo\nc1,x,y\nc2,{cell},y\nc3,y,x\n", {}, "case 'c2'", "annotator 'Ann'")
        for cell in ("x>>y", "x=", ">x", "x>y>x")
    ),
    ("a.csv", "case,Ann\nc1,x\n,y\n", {}, "data row 2"),
    ("a.csv", "case,Ann,Bo\nc1,0,1\n", {}, "integer labels need a list of conditions", "--conditions FILE"),
    (
        "a.csv",
        "case,Ann,Bo\nc1,0,1\nc2,7,\n",
        {"conditions": [*"xy"]},
        "unknown condition '7'",
        "data row 2, case 'c2', annotator 'Ann'",
    ),
    *(
        (
            "a.csv",
            f"case,Ann,Bo,Cy,{a}\nc1,nevus,nevus,melanoma,{b}\nc2,melanoma,acne,acne,{c}\nc3,nevus,melanoma,nevus,{d}\n",
            {},
            "the columns do not look like annotators of one question",
            f"got:      {reason}",
            f"--ignore {a}",
            "--format wide",
        )
        for a, b, c, d, reason in (
            ("age", "41", "38", "60", "'age' holds numbers"),
            ("size", '"1,5"', '"2,0"', "", "'size' holds numbers"),
            ("seen", "2024-05-01", "2024-05-02", "2024-06-01", "'seen' holds dates"),
            ("seen", "1.5.2024", "2.5.2024 10:00", "1.6.2024", "'seen' holds dates"),
            ("sex", "f", "m", "f", "'sex' shares no labels with 'Ann', 'Bo', 'Cy'"),
            ("comment", "blurred", "see again in a year", "", "'comment' shares no labels"),
            ("ground truth", "nevus", "acne", "nevus", "'ground truth' is called like a reference"),
        )
    ),
    ("a.csv", "case,age,sex\nc1,old,f\nc2,young,m\n", {}, "'age' ", "'sex' "),
    ("a.csv", STRANGERS, {}, "'Ann' ", "'Bo' "),
    ("a.csv", SEX, {}, "--column condition=sex", "--format wide"),
    *(
        ("a.csv", f"case,labels,weights\nc1,{cell},{cell}\n", {"format": "wide"}, "cells hold lists or objects")
        for cell in ("\"['x', 'y']\"", '"{""x"": 0.5}"', "[]", '"[1, 2]"')
    ),
    (
        "a.csv",
        "case,Ann,sex\nc1,x,f\nc2,z,m\n",
        {"conditions": [*"xz"]},
        "got:      'sex' holds none of the given conditions",
    ),
    ("a.csv", SPEAKERS, {}, "the table has no case column", "'Ann', holds labels that 'Bo', 'Cy' uses"),
    *(
        (
            "a.csv",
            text,
            {"conditions": SKIN},
            "may be findings rather than annotators",
            got,
            "--format cleanlab",
            "long form",
        )
        for text, got in (
            ("case,Melanoma,Nevus,Acne\nc1,1,0,1\n", "called like conditions: 'Melanoma', 'Nevus', 'Acne'"),
            ("case,melanoma,other\nc1,1,2\n", "called like conditions: 'melanoma'"),
            ("case,erythema,scaling\nc1,1,0\nc2,0,0\n", "nothing but 0 and 1, although there are 3 conditions"),
            ("case,Ann,Bo,gold\nc1,1,0,2\n", "called like a reference, not like an annotator: 'gold'"),
        )
    ),
    ("a.csv", PHOTOS, {"conditions": SKIN}, "the table has no case column"),
    # votes
    ("a.npy", COUNTS.astype(float), {}, "no known format fits"),
    *(
        ("a.npy", votes, {"format": "counts", "conditions": ["cat", "dog"]}, problem)
        for votes, problem in (
            *((np.array([[1, many]]), "too many votes") for many in (np.inf, 2**53 + 3, 2**63 - 1)),
            (np.array([[2**64 - 1]], dtype=np.uint64), "too many votes"),
            *((np.zeros((2, 2), kind), "must be numbers") for kind in ([("a", np.int64)], "M8[s]", np.complex128)),
            *((np.zeros(shape, dtype=np.int64), "counts must be a matrix") for shape in ((), (1, 1, 1))),
            (np.zeros((0, 2), dtype=np.int64), "the table has no rows"),
            (np.array([[1, 1, 1]]), "the number of conditions does not fit"),
        )
    ),
    ("a.csv", "case,cat,dog\nx,1,1\ny,0,0\n", {}, "--format cleanlab", "--format counts"),
    (
        "a.csv",
        "case,cat,dog\nx,2,1\ny,0,0\n",
        {"conditions": ["bird", "cat", "dog"]},
        "may be findings",
        "--format counts",
    ),
    *(
        ("a.csv", text, {"format": "counts", "conditions": ["cat", "dog"]}, problem)
        for text, problem in (
            ("case,cat,dog\nx,1,-1\n", "votes are not a whole number"),
            ("case,cat,dog\nx,1,0.5\n", "votes are not a whole number"),
            ("case,cat,dog\nx,1,few\n", "a number of votes is not a number"),
            ("case,cat,frog\nx,1,2\n", "the columns of votes are not the conditions"),
            ("case,cat,dog\nx,1,2\nx,1,2\n", "stands in several rows"),
        )
    ),
    ("a.json", [{"id": 7, "label_count": [1, 0, 4]}], {}, "a list of votes needs a list of conditions"),
    *(
        ("a.json", records, {"format": "counts", "conditions": [*"en"]}, problem)
        for records, problem in (
            *(([{"id": 1, "label_count": {"e": one}}], "a number of votes is not understood") for one in NO_VOTES),
            ([{"id": 1, "label_count": {"x": 1}}], "unknown condition 'x'"),
            ([{"id": 1, "label_count": [1]}], "the number of votes does not fit"),
            ([{"id": 1, "label_count": {"e": 1}}] * 2, "case names must all be different"),
            ([{"name": 1, "label_count": {"e": 1}}], "the table has no case column"),
            ([{"id": None, "label_count": {"e": 1}}], "the case (id) is not understood"),
        )
    ),
    *(
        ("a.csv", f"{text}\n", {}, problem, "case 'x'")
        for text, problem in (
            ("case,label,votes\nx,a,1.5", "not a whole number"),
            ("case,label,votes\nx,a,-1", "not a whole number"),
            ("case,label,votes\nx,a,1e16", "not a whole number"),
            ("case,label,votes\nx,a,9007199254740993", "not a whole number"),
            ("case,label,votes\nx,a,many", "is not a number"),
            ("case,annotator,label,votes\nx,Ann,a,2", "an annotator with a name has one vote"),
            ("case,label,rank,votes\nx,a,1,2\nx,b,2,3", "the number of votes changes within one ranking"),
        )
    ),
    # ratings
    ("a.csv", "item,rater,stars\nx,A,3\n", {"format": "ratings"}, "no score column"),
    ("a.csv", "item,score\n,3\n", {"format": "ratings"}, "a row has no case"),
    ("a.json", [1], {"format": "ratings"}, "this is not a table"),
    # questions
    ("a.csv", "case,A,B\nx,1,2\ny,0,3\n", {"question": "grades"}, "--format counts"),
    ("a.csv", MOLES, {"question": "grades"}, "--conditions"),
    ("a.csv", f"{MOLES}c3,A,Eczema\n", {"positive": "Melanoma"}, "two conditions"),
    ("a.csv", "case,annotator,score\nx,A,3.5\n", {"question": "grades"}, "--column condition=NAME"),
    ("a.csv", "case,annotator,label,kind_of_question\nc1,A,1,ordinal\n", {}, "kind_of_question"),
    ("a.csv", "case,reader,confidence\nx,A,0.75\nx,B,4\n", {"positive": "Melanoma"}, "data row 2", "--question grades"),
    # repeated mentions, and confidences
    (
        "a.csv",
        AGAIN,
        {},
        "'x' is mentioned twice",
        "got:      5 repeated mentions in 4 rankings\n",
        "case 'c1', annotator 'A', condition 'x'; case 'c2', annotator 'A', condition 'z'",
        "case 'c3', annotator 'B', condition 'y'; and 1 more\n",
        "--duplicates first",
    ),
    *(
        (file, one, {}, "'x' is mentioned twice", "1 repeated mention in 1 ranking\n")
        for file, one in TWICE_MENTIONED.items()
    ),
    ("a.csv", f"{HOW_SURE}c1,A,x,1\nc1,A,x,3\nc1,A,y,1\n", {"confidence": "share"}, "mentioned twice"),
    ("a.csv", "case,label,confidence\nc1,x,1\nc1,y,3\n", {"confidence": "share"}, "needs the name of its annotator"),
    ("a.csv", f"{LONG}c1,A,x,1\n", {"confidence": "share"}, "there are no confidences to use"),
    ("a.csv", SURENESS, {"confidence": "shares"}, "confidence is not understood"),
    # a file per annotator
    *(
        ("trees", {"ann.csv": RANKED_TREES, name: content}, {}, problem, "bo", "do: ")
        for name, content, problem in (
            ("bo.csv", "case,reader,label\nc1,Bo,oak\n", "a file of one annotator has an annotator column"),
            ("bo.csv", "photo,label\nc1,oak\n", "the table has no case column"),
            ("bo.csv", "case,rank\nc1,1\n", "the table has no condition column"),
            ("bo.csv", "", "the file is empty"),
            ("bo.csv", "case,label\nc1,oak\nc1,elm\n", "a file has no rank although others have"),
            ("bo.csv", "case,label,rank\nc1,oak,first\n", "a rank is not a number"),
            ("bo.json", "{", "the JSON is"),
            ("bo.json", "[[[[1]]]]", "this is not a table"),
            ("bo.json", '{"c1": ["oak", "elm"]}', "a list of labels can be an order or a tie"),
            ("bo.json", '{"c1": {"oak": 1}}', "a condition is not understood"),
            ("bo.json", '{"": "oak"}', "a case has no name"),
            ("bo.xlsx", "PK", "the spreadsheet cannot be read"),
            ("bo.csv", "case,label,rank\nc1,oak,1\nc1,oak,2\n", "'oak' is mentioned twice"),
            ("bo.csv", "case,label,confidence\nc1,oak,1\nc1,elm,3\n", "ann.csv (rank) and bo.csv (confidence)"),
        )
    ),
    ("trees", {"ann.csv": RANKED_TREES, "ann.json": '{"c1": "oak"}'}, {}, "two files would be annotator 'ann'"),
    # checklists
    ("a.csv", AGES, CHECKED, "the answer for 'age' is not", "--ignore", "data row 1, case 'c1', annotator 'Ann'"),
    *(
        (
            "a.csv",
            f"case,annotator,AF,ST\nc1,Ann,1,0\nc1,Bo,1,{w}\n",
            CHECKED,
            "the answer for 'ST' is not",
            f"'{w}'",
            "leave the cell empty",
        )
        for w in ("uncertain", "-1", "2", "0.5")
    ),
    (
        "a.csv",
        f"{NOTHING}c3,Bo,1,0,1\n",
        {**CHECKED, "nothing": "No Finding"},
        "nothing was found, and names a finding",
    ),
    ("a.csv", "case,annotator,AF\nc1,Ann,1\nc1,Ann,0\n", CHECKED, "'AF' is answered twice"),
    ("readers", {**READERS, "cy.csv": "case,AF,ST\nc1,maybe,0\n"}, CHECKED, "the answer for 'AF' is not", "cy.csv"),
    ("readers", {**READERS, "cy.csv": "case,annotator,AF\nc1,Di,0\n"}, CHECKED, "has an annotator column"),
    ("a.json", RANKERS, CHECKED, "a ranker orders conditions"),
    ("a.csv", FOUND, {}, "no condition column"),
    # PrefLib
    (
        "soups",
        {"a.toi": PREFLIB, "b.toi": PREFLIB.replace("Leek", "Onion")},
        {},
        "different alternatives",
        "'Leek', 'Onion' in",
        "b.toi",
    ),
    *(
        (f"soup.{kind}", PREFLIB.replace("TYPE: toi", f"TYPE: {kind}"), {}, problem)
        for kind, problem in (("soi", "an order has a tie, but"), ("toc", "an order is incomplete, but"))
    ),
    *(
        ("soup.toi", PREFLIB.replace(old, new), {}, *parts)
        for old, new, *parts in (
            ("TYPE: toi", "TYPE: soc", "the data type does not fit", "DATA TYPE"),
            ("TYPE: toi", "TYPE: wmd", "the data type does not fit", "DATA TYPE"),
            ("# DATA TYPE: toi\n", "", "no PrefLib header", "line 1"),
            ("VOTERS: 4", "VOTERS: 5", "NUMBER VOTERS does not fit"),
            ("VOTERS: 4", "VOTERS: many", "NUMBER VOTERS is not a number", "toi, NUMBER VOTERS"),
            ("ORDERS: 3", "ORDERS: 2", "NUMBER UNIQUE ORDERS does not fit"),
            ("ALTERNATIVES: 3", "ALTERNATIVES: 4", "the names of the alternatives"),
            ("NAME 2: Pea", "NAME 2: Leek", "alternatives need different names"),
            ("{2, 3}", "{2, 2}", "alternative 2 stands twice", "line 10"),
            ("1: 3", "1: 4", "an alternative is not known", "line 11"),
            ("1: 3", "1: Leek", "an alternative is not known", "line 11"),
            ("1: 3", "1: 3,", "an alternative is not known", "line 11"),
            ("1: 3", "1; 3", "a line is not an order", "line 11"),
            ("{2, 3}", "{2, 3", "the braces of an order do not fit", "line 10"),
            ("{2, 3}", "2, 3}", "the braces of an order do not fit", "line 10"),
        )
    ),
    # small files that were read wrongly, or ended in the exception of a library
    *(
        ("a.csv", text, options, "")
        for text, options in (
            ("case,A,B\nc1, ,x\nc2,x,x\n", {}),
            ("case,a,b\nc1,-inf,1\nc2,0,3\n", {"format": "counts"}),
            ("case,a,b\nc1,inf,1\nc2,0,3\n", {"format": "counts"}),
            (f"case,reader,label,rank\nc1,A,x,{HUGE}\n", {}),
            (f"case,reader,score\nc1,A,{HUGE}\n", {}),
        )
    ),
    ("a.json", task({"from_name": ["x"], "type": "choices", "value": {"choices": ["a"]}}), {}, ""),
    ("a.json", record([{"value": "a", "rank": int(HUGE)}]), {}, ""),
]


@pytest.mark.parametrize(("file", "content", "options", "parts"), [(*one[:3], one[3:]) for one in REFUSED])
def test_what_is_wrong_is_named_with_its_place(
    file: str, content: Any, options: dict[str, Any], parts: tuple[str, ...], put: Any
) -> None:
    path = put(content, file)
    with pytest.raises(DissensusError) as caught:
        examine(path, **options)
    assert [part for part in parts if part not in str(caught.value)] == []
    assert str(path) in caught.value.where


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "the list of files is empty"),
        (["."], "a directory is among the files"),
        (["none.csv"], "no such file"),
        (["ann.csv", "notes.txt"], "this is not a table[^$]*notes.txt"),  # none of a list is skipped
    ],
)
def test_a_wrong_list_of_files_is_refused(
    given: list[str], problem: str, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read([put(RANKED_TREES, "b.csv"), str(put(RANKED_TREES, "a.csv"))]).annotator_names == ("b", "a")
    monkeypatch.chdir(put(RANKED_TREES, "ann.csv").parent)
    put("oak", "notes.txt")
    with pytest.raises(DissensusError, match=problem):
        read(given)


def test_formats_that_do_not_exist_or_fit_beside_others_are_named(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DissensusError, match=r"unknown format 'wid'[^$]*long, [^$]*did you mean 'wide'\?"):
        read(put(f"{LONG}c1,A,x,1\n"), "wid")
    with pytest.raises(DissensusError, match="no checklist says 'none'"):
        read(put(FOUND), "checklist", nothing="none")
    monkeypatch.setattr(Format.family, "_declared", Format.family.known())

    class Greedy(Wide):
        id = "greedy"
        title = "takes everything"

        def recognises(self, source: Source) -> bool:  # noqa: ARG002
            return True

    with pytest.raises(DissensusError, match=r"fits several formats[^$]*one of greedy, wide[^$]*--format greedy"):
        read(put("case,Ann\nc1,x\n"))


def test_names_beside_a_matrix_are_used(put: Any) -> None:
    path = put(COUNTS, "votes.npy")
    put("cat\ndog\nfrog\n", "votes.conditions.txt")
    put("x\ny\n", "votes.cases.txt")
    reading = examine(path)
    assert reading.study == Study.from_counts(COUNTS, ["cat", "dog", "frog"], case_names=["x", "y"])
    assert reading.receipt.assumed[:2] == (
        "rows are cases, named by 'votes.cases.txt'",
        "columns are conditions, named by 'votes.conditions.txt', and cells are votes",
    )
    assert read(path, conditions=["a", "b", "c"]).conditions == ("a", "b", "c")
    put("x\n", "votes.cases.txt")
    with pytest.raises(DissensusError, match=r"the number of cases does not fit[^$]*votes\.cases\.txt"):
        read(path)


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


@needs_shared
def test_published_votes_on_photographs() -> None:
    start = time.perf_counter()
    said = read(SHARED / "cifar10h" / "cifar10h-counts.npy")
    assert time.perf_counter() - start < 2
    assert (said.n_cases, said.n_conditions, said.n_votes) == (10_000, 10, 511_000)
    assert (said.votes_per_case.min(), said.votes_per_case.max()) == (47, 63)


@needs_shared
@pytest.mark.parametrize(
    ("name", "n_voters", "n_alternatives", "n_ties"),
    [("00016-00000002.toi", 2527, 5, 7), ("00034-00000001.soi", 392, 36, 0)],
)
def test_published_elections(name: str, n_voters: int, n_alternatives: int, n_ties: int) -> None:
    said = read(SHARED / "preflib" / name)
    assert (said.n_cases, said.n_votes, said.n_conditions) == (1, n_voters, n_alternatives)
    assert said.votes[said.has_tie].sum() == n_ties
