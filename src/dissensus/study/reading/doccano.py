"""doccano's export: a directory with one file of JSON lines per annotator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source, open_source
from dissensus.study.reading import records as read
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.hugging_face import ANNOTATORS

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
        return source.kind == "jsonl" and any(_is_document(record) for record in read.objects_of(source))

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one ranking per line; the file's name is the annotator.

        Several labels are a tie, and a document without a label is an abstention.
        """
        said = read.Collection()
        said.assume("the name of a file is the annotator")
        said.assume("several labels of a document are tied")
        roles = {"username": "annotator"}
        records: list[dict[str, Any]] = []
        for path in read.files_ending((ENDING,), source, said, "one .jsonl file per annotator"):
            if source.kind == "directory" and not path.stat().st_size:
                said.note("empty files", "taken as annotators without an opinion", path.name)
                continue
            if path.stem == SHARED:
                said.note(f"file {path.name!r}", "read as one annotator; doccano merges shared annotations there")
            opened = open_source(path) if source.kind == "directory" else source
            if opened.kind != "jsonl":
                raise FormatError("the file does not hold JSON lines", got=f"{opened.kind}", where=str(path))
            records += opened.content
            _add_file(opened.content, path, said)
        for record in records:
            roles |= {read.first_key(record, CASES): "case", next(filter(record.__contains__, LABELS)): "condition"}
        return said.parsed(columns=read.key_columns(records, roles))


def _is_document(record: dict[str, Any]) -> bool:
    shown = isinstance(record.get("text"), str) or isinstance(record.get("filename"), str)
    alone = not any(name in record for name in (*ANNOTATORS, "answer"))
    return shown and alone and any(isinstance(record.get(name), list) for name in LABELS)


def _add_file(records: list[dict[str, Any]], path: Path, said: read.Collection) -> None:
    seen: set[str] = set()
    for number, record in enumerate(records, start=1):
        where = f"{path}, record {number}"
        case = read.as_name(record.get(read.first_key(record, CASES)), "the id of a document", where)
        if case in seen:
            raise DissensusError(
                f"case {case!r} stands in one file twice",
                expected="one line per case and annotator",
                where=where,
                advice="remove one of the two lines",
            )
        seen.add(case)
        said.add_case(case)
        users = _labels_by_user(record, path.stem, where)
        if not users and path.stem == NOBODY:
            said.note(f"documents in {NOBODY}{ENDING} without a label", "kept as cases without an opinion", case)
            continue
        for user, labels in (users or {path.stem: []}).items():
            said.add_ranking(case, user, [labels])


def _labels_by_user(record: dict[str, Any], annotator: str, where: str) -> dict[str, list[str]]:
    """Collect labels by annotator; old exports name the user in every annotation."""
    key = next((name for name in LABELS if name in record), None)
    if key is None:
        raise FormatError(
            "a document has no labels",
            expected=f"a key {', '.join(map(repr, LABELS))}",
            got=f"keys {listing(record, most=12)}",
            where=where,
        )
    users: dict[str, list[str]] = {}
    value, annotator = record[key], record.get("username") or annotator
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        user, label = annotator, item
        if isinstance(item, dict):
            user, label = item.get("user") or annotator, item.get("label")
        if isinstance(label, int) and not isinstance(label, bool):
            raise FormatError(
                "a label is a number in doccano's database",
                expected="the name of a label",
                got=str(label),
                where=where,
                advice="export again as JSONL with text labels",
            )
        if not isinstance(label, str) or not label.strip() or not read.is_text(label):
            raise read.wrong_shape(label, "a label", "the name of a label for the whole document", where)
        users.setdefault(read.as_name(user, "the annotator", where), []).append(label)
    return users
