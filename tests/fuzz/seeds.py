"""One good file of every format, or several: what the fuzzer starts from. All of it is made up."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import polars as pl

from format_examples import EXAMPLES

LONG = """\
case,annotator,condition,rank
c1,Ann,oak,1
c1,Ann,elm,2
c1,Bo,"ash, white",1
c1,Bo,oak,1
c2,Ann,elm,1
c2,Bo,,
c3,,,
"""
CONFIDENCE = "image;reader;label;confidence\np1;R1;moth;4\np1;R1;wasp;4\np1;R1;bee;0\np1;R2;bee;2.5\np2;R2;moth;1\n"
CANONICAL = """\
case,annotation,annotator,condition,rank,weight,group,case_weight
,,,ash,,,,
,,,elm,,,,
,,,oak,,,,
c1,1,Ann,oak,1,1,g1,1
c1,1,Ann,elm,2,1,g1,1
c1,2,Ann,ash,1,0.5,g1,1
c2,1,,elm,1,1,g2,2
c3,,,,,,g2,1
"""
ANONYMOUS = "case\tlabel\nc1\toak\nc1\telm\nc2\toak\n"
WIDE = 'case,Ann,Bo,Cy\nc1,oak>elm=ash,oak,\nc2,"elm",ash > oak,elm\nc3,,,\nc4,oak,ash,oak\n'
CODES = "case,Ann,Bo\nc1,0,1\nc2,1,\nc3,2,2.0\n"
RATINGS = "case,rater,score\nc1,ann,4\nc1,bob,5\nc2,ann,3.5\nc2,bob,\n"
NESTED = {
    "conditions": ["ant", "bee", "cat", "dog"],
    "case_names": ["den", "hive", "yard", "barn"],
    "rankings": [[[[0, 3], [2]], [["bee"], ["ant"]]], [[[2], [0, 1]], []], [], [[["dog"]]]],
}
NAMED = [[[["oak"], ["elm", "ash"]], [["elm"]]], [[["ash"]]], []]
LONG_LINES = [
    {"case": "c1", "annotator": "A", "label": "oak", "rank": 1},
    {"case": "c1", "annotator": "A", "label": "elm", "rank": 2.0},
    {"case": "c1", "annotator": "B", "label": "oak", "rank": "1"},
    {"case": 2, "annotator": "B", "label": "ash", "rank": 1},
    {"case": 2, "annotator": "A", "label": None},
]
PREDICTED_LINES = [
    {"case_id": "c1", "ranked": ["oak", ["elm", "ash"]]},
    {"case_id": "c2", "ranked": ["ash"]},
    {"case_id": "c3", "ranked": []},
]
PREDICTED_SETS = [
    {"case_id": "c1", "set": ["oak", "elm"]},
    {"case_id": "c2", "set": []},
    {"case_id": "c3", "set": ["ash"]},
]
PREDICTED_SCORES = [
    {"case_id": "c1", "scores": {"oak": 0.5, "elm": 0.25}},
    {"case_id": "c2", "scores": {"oak": 1.5}},
    {"case_id": "c3", "scores": {"ash": 1}},
]
SCORES = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
STUDY = {"conditions": ["ash", "elm", "oak"], "cases": ["c1", "c2", "c3"]}
TWO = {"conditions": ["elm", "oak"], "cases": ["c1", "c2"], "positive": "oak"}


@dataclass(frozen=True)
class Seed:
    """A good file: what it holds, its format and name, its bytes, and the options to read it with.

    A directory has several files, of which the first is mutated.
    """

    holds: Literal["annotations", "predictions"]
    format: str
    name: str
    files: dict[str, bytes]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.holds}-{self.format}-{self.name.replace('.', '-')}"

    @property
    def content(self) -> bytes:
        return next(iter(self.files.values()))

    @property
    def is_directory(self) -> bool:
        return list(self.files) != [self.name]

    def renamed(self, name: str) -> Seed:
        """Return the same file under another name, which may have another ending."""
        return replace(self, name=name, files={name: self.content})

    def written(self, folder: Path, content: bytes) -> Path:
        """Write the file, or the directory, with another content of its first file."""
        files = {**self.files, next(iter(self.files)): content}
        for name, data in files.items():
            place = folder / name
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        return folder / self.name


def _lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _parquet(text: str) -> bytes:
    file = io.BytesIO()
    pl.read_csv(text.encode()).write_parquet(file)
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _one(holds: Any, format: str, name: str, content: str | bytes, **options: Any) -> Seed:  # noqa: A002
    return Seed(holds, format, name, {name: content if isinstance(content, bytes) else content.encode()}, options)


@cache
def seeds() -> tuple[Seed, ...]:
    """Return all seeds: those of the laws of formats, and richer ones."""
    return (*_examples(), *_annotations(), *_predictions())


def _examples() -> list[Seed]:
    found = []
    with TemporaryDirectory() as folder:
        for example in EXAMPLES:
            place = example.file(Path(folder))
            inside = sorted(place.iterdir()) if place.is_dir() else [place]
            files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in inside}
            found.append(Seed("annotations", example.format, example.name, files, example.options))
    return found


def _annotations() -> list[Seed]:
    return [
        _one("annotations", "long", "rich.csv", LONG),
        _one("annotations", "long", "confidence.csv", CONFIDENCE),
        _one("annotations", "long", "canonical.csv", CANONICAL),
        _one("annotations", "long", "anonymous.tsv", ANONYMOUS),
        _one("annotations", "long", "rich.jsonl", _lines(LONG_LINES)),
        _one("annotations", "long", "rich.parquet", _parquet(LONG)),
        _one("annotations", "wide", "rich.csv", WIDE),
        _one("annotations", "cleanlab", "rich.csv", CODES, conditions=["oak", "elm", "ash"]),
        _one("annotations", "ratings", "rich.csv", RATINGS),
        _one("annotations", "nested", "rich.json", json.dumps(NESTED)),
        _one("annotations", "nested", "named.json", json.dumps(NAMED, indent=1)),
    ]


def _predictions() -> list[Seed]:
    wide = "case,oak,elm,ash\n" + "".join(f"c{n},{','.join(map(str, row))}\n" for n, row in enumerate(SCORES, 1))
    long = "case,condition,score\nc1,oak,0.5\nc1,elm,0.25\nc2,ash,1\nc3,oak,0.125\n"
    ranks = "case,condition,rank\nc1,oak,1\nc1,elm,2\nc2,ash,1\nc3,oak,1\nc3,ash,1\n"
    names = {"case_ids": np.array(["c1", "c2", "c3"]), "classes": np.array(["oak", "elm", "ash"])}
    return [
        _one("predictions", "npy", "scores.npy", _npy(SCORES), **STUDY),
        _one("predictions", "npy", "sets.npy", _npy(SCORES[:, :, None] > 0.2), **STUDY),
        _one("predictions", "npz", "named.npz", _npz(probs=SCORES, **names), **STUDY),
        _one("predictions", "matrix", "scores.txt", "0.5 0.25 0.25\n0.1 0.2 0.7\n1 0 0\n", **STUDY),
        _one("predictions", "matrix", "headless.csv", "0.5,0.25,0.25\n0.1,0.2,0.7\n1,0,0\n", **STUDY),
        _one("predictions", "matrix", "rows.json", json.dumps(SCORES.tolist()), **STUDY),
        _one("predictions", "wide", "scores.csv", wide, **STUDY),
        _one("predictions", "wide", "scores.parquet", _parquet(wide), **STUDY),
        _one("predictions", "long", "scores.csv", long, **STUDY),
        _one("predictions", "long", "ranks.tsv", ranks.replace(",", "\t"), cases=STUDY["cases"]),
        _one("predictions", "binary", "chances.csv", b"case,prob\nc1,0.25\nc2,1\n", **TWO),
        _one("predictions", "numbers", "numbers.csv", b"case,prediction\nc1,0.25\nc2,-1.5\n", kind="numbers"),
        _one("predictions", "jsonl", "ranked.jsonl", _lines(PREDICTED_LINES), **STUDY),
        _one("predictions", "jsonl", "sets.jsonl", _lines(PREDICTED_SETS), **STUDY),
        _one("predictions", "jsonl", "scores.jsonl", _lines(PREDICTED_SCORES), cases=STUDY["cases"]),
    ]
