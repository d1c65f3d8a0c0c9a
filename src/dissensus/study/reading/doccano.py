"""doccano's export: a directory with one file of JSON lines per annotator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source, open_source
from dissensus.core.receipt import Column
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.hugging_face import ANNOTATORS
from dissensus.study.reading.json_values import as_name, is_text, key_columns, objects_of, wrong_shape

ENDING = ".jsonl"
CASES = ("id", "doc_id", "filename")
LABELS = ("label", "labels", "annotations")
SHARED = "all"
NOBODY = "unknown"


class Doccano(Format):
    """Doccano's export: one .jsonl file per annotator."""

    id = "doccano"
    title = "doccano's export: one .jsonl file per annotator"

    def recognises(self, source: Source) -> bool:
        """Tell a directory with files of JSON lines, or one such file with documents and their labels."""
        if source.kind == "directory":
            return any(path.suffix.lower() == ENDING for path in source.content)
        return source.kind == "jsonl" and any(_is_document(record) for record in objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one ranking per line; the file's name is the annotator.

        Several labels are a tie, and a document without a label is an abstention.
        """
        said = Collection()
        said.assume("the name of a file is the annotator")
        said.assume("several labels of a document are tied")
        records: list[dict[str, Any]] = []
        for path in _files(source, said):
            annotator = path.stem
            if annotator == SHARED:
                said.note(f"file {path.name!r}", "read as one annotator; doccano merges shared annotations there")
            seen: set[str] = set()
            for number, record in enumerate(_records(source, path), start=1):
                records.append(record)
                where = f"{path}, record {number}"
                case = _case(record, where)
                _refuse_repeated(case, seen, where)
                _add(record, case, annotator, where, said)
        return said.parsed(columns=_columns(records))


def _columns(records: list[dict[str, Any]]) -> tuple[Column, ...]:
    cases = dict.fromkeys((next((key for key in CASES if r.get(key) is not None), "") for r in records), "case")
    labels = dict.fromkeys((next((key for key in LABELS if key in r), "") for r in records), "condition")
    return key_columns(records, {**cases, **labels, "username": "annotator"})


def _is_document(record: dict[str, Any]) -> bool:
    shown = isinstance(record.get("text"), str) or isinstance(record.get("filename"), str)
    alone = not any(name in record for name in (*ANNOTATORS, "answer"))
    return shown and alone and any(isinstance(record.get(name), list) for name in LABELS)


def _files(source: Source, said: Collection) -> list[Path]:
    if source.kind != "directory":
        return [source.path]
    shown = [path for path in source.content if not path.name.startswith(".")]
    files = [path for path in shown if path.suffix.lower() == ENDING]
    for path in shown:
        if path not in files:
            said.skip("files with another ending", path.name)
        elif not path.stat().st_size:
            said.note("empty files", "taken as annotators without an opinion", path.name)
    if not files:
        raise FormatError(
            f"the directory holds no {ENDING} files",
            expected=f"one {ENDING} file per annotator",
            got=f"files {listing(path.name for path in shown)}" if shown else "no files",
            where=str(source.path),
        )
    return [path for path in files if path.stat().st_size]


def _records(source: Source, path: Path) -> Iterator[dict[str, Any]]:
    opened = open_source(path) if source.kind == "directory" else source
    if opened.kind != "jsonl":
        raise FormatError("the file does not hold JSON lines", got=f"{opened.kind}", where=str(path))
    return iter(opened.content)


def _case(record: dict[str, Any], where: str) -> str:
    name = next((record[key] for key in CASES if record.get(key) is not None), None)
    return as_name(name, "the id of a document", where)


def _refuse_repeated(case: str, seen: set[str], where: str) -> None:
    if case in seen:
        raise DissensusError(
            f"case {case!r} stands in one file twice",
            expected="one line per case and annotator",
            where=where,
            advice="remove one of the two lines",
        )
    seen.add(case)


def _add(record: dict[str, Any], case: str, annotator: str, where: str, said: Collection) -> None:
    said.add_case(case)
    key = next((name for name in LABELS if name in record), None)
    if key is None:
        raise FormatError(
            "a document has no labels",
            expected=f"a key {', '.join(map(repr, LABELS))}",
            got=f"keys {listing(record, most=12)}",
            where=where,
        )
    users = _labels_by_user(record[key], record.get("username") or annotator, where)
    if not users and annotator == NOBODY:
        said.note(f"documents in {NOBODY}{ENDING} without a label", "kept as cases without an opinion", case)
        return
    for user, labels in (users or {annotator: []}).items():
        said.add_ranking(case, user, [labels])


def _labels_by_user(value: Any, annotator: Any, where: str) -> dict[str, list[str]]:
    """Collect labels by annotator; old exports name the user in every annotation."""
    users: dict[str, list[str]] = {}
    items = value if isinstance(value, list) else [] if value is None else [value]
    for item in items:
        user, label = annotator, item
        if isinstance(item, dict):
            user, label = item.get("user") or annotator, item.get("label")
        users.setdefault(as_name(user, "the annotator", where), []).append(_label(label, where))
    return users


def _label(label: Any, where: str) -> str:
    if isinstance(label, int) and not isinstance(label, bool):
        raise FormatError(
            "a label is a number in doccano's database",
            expected="the name of a label",
            got=str(label),
            where=where,
            advice="export again as JSONL with text labels",
        )
    if not isinstance(label, str) or not label.strip() or not is_text(label):
        raise wrong_shape(label, "a label", "the name of a label for the whole document", where)
    return label
