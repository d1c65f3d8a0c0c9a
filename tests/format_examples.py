"""One small valid file of every format, for the readers' tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

RECORDS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Exports of annotation tools, as short as they can be and hold everything that matters."""

LABEL_STUDIO, HUGGING_FACE, ARGILLA, PRODIGY, DOCCANO, NESTED, LONG_RECORDS = RECORDS.values()

PREFLIB = """\
# FILE NAME: soup.toi
# TITLE: Soup of the day
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Leek
# ALTERNATIVE NAME 2: Pea
# ALTERNATIVE NAME 3: Borscht: hot
2: 1, {2, 3}
1: 3
1: {}
"""

ANNOTATOR_FILES = {
    "ann.csv": "case,label,rank\nc1,oak,1\nc1,elm,2\nc2,ash,1\n",
    "bo.json": '{"c1": "elm", "c2": [["oak"], ["ash", "elm"]]}',
}

KEYED = {"A": {"B": "oak", "C": [["elm"], ["oak", "ash"]]}, "D": {"B": "elm", "C": None}}

LISTS = """id,text,labels,annotator_ids
s1,hm,"[""joy"", ""awe""]","[""kim"", ""lou""]"
s2,oh,"['fear']","['lou']"
"""

COUNT_RECORDS: list[Any] = [
    {"uid": "c1", "label_count": {"oak": 3, "elm": 1}, "entropy": 0.8},
    {"uid": "c2", "label_count": {"ash": 0}, "entropy": 0.0},
]

COUNTS = np.array([[2, 0, 1], [0, 0, 0]])


ORDERS = {
    "rankings": np.array([[[0, 3, 2, 1], [1, 0, 2, 3]], [[0, 1, 2, 3], [2, 0, 1, 3]], [[0, 1, 2, 3], [0, 1, 2, 3]]]),
    "groups": np.array([[[0, 0, 1, -1], [0, 1, -1, -1]], [[-1] * 4, [0, 1, 1, -1]], [[-1] * 4, [-1] * 4]]),
    "conditions": np.array(["ant", "bee", "cat", "dog"]),
    "case_names": np.array(["den", "hive", "yard"]),
}
CONFIDENCES = np.array([[[5, 0, 3, 5], [1, 2, 0, 0]], [[0, 0, 0, 0], [2, 2, 3, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]]])


SHARES = [{"id": "c1", "soft_label": {"oak": 0.75, "elm": 0.25}}, {"id": "c2", "soft_label": {"elm": 1}}]
PARALLEL = [
    {"id": "c1", "labels": ["oak", "elm"], "confidences": [5, 3]},
    {"id": "c2", "labels": [], "confidences": []},
]
IMRMC = "readerID,caseID,modalityID,score\ntruth,c1,truth,1\ntruth,c2,truth,0\nann,c1,film,5\nann,c2,film,2\n"


def written(path: Path, content: Any) -> Path:
    """Write text, bytes, a frame, arrays, or what JSON can hold, and return the path.

    A list goes into a file of JSON lines if its name says so; a name without an ending is a directory of such files.
    """
    if isinstance(content, dict) and not path.suffix:
        path.mkdir(exist_ok=True)
        for name, inner in content.items():
            written(path / (name if "." in name else f"{name}.jsonl"), inner)
    elif isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    elif path.suffix == ".npz":
        np.savez(path, **content)
    elif isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        lines = path.suffix == ".jsonl" and isinstance(content, list)
        text = "".join(json.dumps(one) + "\n" for one in content) if lines else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Example:
    """A valid file: its format, its name and content, and the options to read it with."""

    format: str
    name: str
    content: Any
    options: dict[str, Any] = field(default_factory=dict)

    def file(self, folder: Path) -> Path:
        return written(folder / self.name, self.content)

    def __str__(self) -> str:
        return f"{self.format}-{self.name}"


EXAMPLES = (
    Example("label-studio", "export.json", LABEL_STUDIO),
    Example("hugging-face", "train.jsonl", HUGGING_FACE),
    Example("hugging-face", "train.json", HUGGING_FACE),
    Example("argilla", "records.json", ARGILLA),
    Example("argilla", "page.json", {"items": ARGILLA, "total": 2}),
    Example("prodigy", "tasks.jsonl", PRODIGY),
    Example("doccano", "weather", DOCCANO),
    Example("nested", "nested.json", NESTED),
    Example("nested", "bare.json", NESTED["rankings"], {"conditions": NESTED["conditions"]}),
    Example("counts", "votes.jsonl", COUNT_RECORDS),
    Example("long", "long.jsonl", LONG_RECORDS),
    Example("long", "long.json", LONG_RECORDS),
    Example("annotator-json", "people.json", {"annotators": KEYED}),
    Example("case-json", "trees.json", {"cases": KEYED}),
    Example("annotator-files", "trees", ANNOTATOR_FILES),
    Example("preflib", "soup.toi", PREFLIB),
    Example("counts", "votes.npy", COUNTS),
    Example("ranking-arrays", "orders.npz", ORDERS),
    Example("confidences", "confidences.npy", CONFIDENCES),
    Example("confidences", "confidences.npz", {"opinions": CONFIDENCES, "case_names": ORDERS["case_names"]}),
    Example("hugging-face", "lists.csv", LISTS),
    Example("long", "voted.csv", "case_id,label,votes\nc1,oak,3\nc1,elm,1\n"),
    Example("long", "long.csv", "case_id,annotator_id,label,rank\nc1,A,oak,1\n"),
    Example("crowd-kit", "crowd.csv", "task,worker,label\nt1,w1,oak\n"),
    Example("checklist", "findings.csv", "case,reader,finding,present\nc1,ann,AF,1\nc1,bob,AF,0\n"),
    Example("ratings", "stars.csv", "case,rater,score\nc1,ann,4\nc1,bob,5\n"),
    Example("wide", "wide.csv", "case_id,ann,bob\nc1,oak>elm=ash,oak\n"),
    Example("checklist", "boxes.csv", "record_id,dx___1,dx___2,age\nc1,1,0,33\nc2,0,0,34\n"),
    Example("counts", "shares.jsonl", SHARES),
    Example("hugging-face", "sure.json", PARALLEL),
    Example("patterns", "patterns.csv", "ann,bob,n\noak,oak,3\noak,elm,2\n"),
    Example("reader-study", "imrmc.csv", IMRMC),
    Example("reader-study", "mrmcaov.csv", "reader,treatment,case,truth,rating\n1,1,1,0,3\n2,1,1,0,4\n"),
    Example("cleanlab", "codes.csv", "case_id,ann,bob\nc1,0,1\n", {"conditions": ["oak", "elm"]}),
)
