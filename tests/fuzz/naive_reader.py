"""A second reader of long, wide and nested files: csv, json and plain loops, from docs/reference/formats.md alone.

It shares nothing with the readers of the package, and is as slow as it is simple. Where a file can be doubted, it
raises ``DoubtError``; the package may refuse more than it does, but must not accept less carefully.
"""

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

Block = tuple[str, ...]
Said = list[tuple[str, list[tuple[str | None, list[Block]]]]]
"""Cases in order, each with its rankings in order: who (or how many), and the blocks of conditions, best first."""

USUAL_NAMES = {
    "case": "case case_id caseid case_name item item_id task task_id example example_id image image_id sample "
    "sample_id record_id id",
    "annotator": "annotator annotator_id annotator_name reader reader_id readerid rater rater_id worker worker_id "
    "performer labeller labeler expert user",
    "annotation": "annotation annotation_id round",
    "condition": "condition condition_name label label_name class class_name diagnosis diagnoses option",
    "rank": "rank position",
    "confidence": "confidence",
    "weight": "weight",
    "votes": "votes n_votes num_votes vote_count",
    "group": "group group_id patient patient_id",
    "case_weight": "case_weight",
    "unranked": "unranked",
}
NUMBERS = ("rank", "confidence", "score", "weight", "votes", "case_weight")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
INTEGER = re.compile(r"\s*[+-]?\d+(\.0*)?\s*")
csv.field_size_limit(10**9)
Row = dict[str, str | None]


class DoubtError(Exception):
    """The file cannot be understood, or only by guessing."""


# Tables -------------------------------------------------------------------------------------------------


def rows_of(data: bytes, name: str) -> tuple[list[str], list[Row]]:
    """Return the columns of a table and its rows, cell by cell; an empty cell is nothing."""
    try:
        text = unicodedata.normalize("NFC", data.decode("utf-8-sig"))  # letters and accents are composed
    except UnicodeDecodeError as error:
        raise DoubtError("encoding") from error
    return _csv_rows(text, name) if name.endswith((".csv", ".tsv")) else _json_rows(text, name)


def _csv_rows(text: str, name: str) -> tuple[list[str], list[Row]]:
    first = next((line for line in text.split("\n") if line.strip()), "")
    mark = "\t" if name.endswith(".tsv") else max(",\t;|", key=first.count)
    if re.search(r"\r(?!\n)", re.sub(r'"[^"]*"', "", text)) or "\0" in text:
        raise DoubtError("line ends")
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True) if row]
    except (csv.Error, ValueError) as error:
        raise DoubtError("quotes") from error
    width = len(header)
    if any(len(row) != width for row in rows):
        raise DoubtError("a row of another length")
    numbers = [place for place, name in enumerate(header) if name in NUMBERS]
    rows = [[cell.strip() if place in numbers else cell for place, cell in enumerate(row)] for row in rows]
    unnamed = [place for place in range(1, width) if not header[place].strip()]
    if any(row[place] for place in unnamed for row in rows):
        raise DoubtError("a column without a name")
    kept = [place for place in range(width) if place not in unnamed]
    names = [header[place] for place in kept]
    if len(set(names)) < len(names):
        raise DoubtError("a name twice")
    return names, [{header[place]: row[place] or None for place in kept} for row in rows if any(row)]


def _json_rows(text: str, name: str) -> tuple[list[str], list[Row]]:
    content = _json(text, lines=name.endswith(".jsonl"))
    if isinstance(content, dict):
        if not all(isinstance(value, dict) for value in content.values()):
            raise DoubtError("no records")
        content = [{"id": key, **value} for key, value in content.items()]
    if not isinstance(content, list) or not content or not all(isinstance(record, dict) for record in content):
        raise DoubtError("no records")
    names = list(dict.fromkeys(key for record in content for key in record))
    return names, [{key: _cell(record.get(key)) for key in names} for record in content]


def _json(text: str, *, lines: bool) -> Any:
    written = [line for line in text.split("\n") if line.strip()]
    try:
        if not lines and not (len(written) > 1 and _is_object(written[0])):
            return _composed(json.loads(text, object_pairs_hook=_once))
        return _composed([json.loads(line, object_pairs_hook=_once) for line in written])
    except (ValueError, RecursionError) as error:
        raise DoubtError("JSON") from error


def _composed(value: Any) -> Any:
    """Put letters and accents together that were written as escapes."""
    if isinstance(value, list):
        return [_composed(one) for one in value]
    if isinstance(value, dict):
        return _once([(_composed(key), _composed(one)) for key, one in value.items()])
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise DoubtError("a key twice")
    return dict(pairs)


def _cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DoubtError("half a character")
    return text


def _column(role: str, names: Sequence[str]) -> str | None:
    folded = [re.sub(r"[ .-]", "_", name.strip().lstrip("\ufeff").casefold()) for name in names]
    return next((names[folded.index(usual)] for usual in USUAL_NAMES[role].split() if usual in folded), None)


def _number(text: str) -> float:
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise DoubtError("not a number")
    return float(text)


# Long ---------------------------------------------------------------------------------------------------


def long_form(data: bytes, name: str, conditions: Sequence[str] | None) -> Said:
    """Read a row per mentioned condition."""
    names, table = rows_of(data, name)
    found = {role: _column(role, names) for role in USUAL_NAMES}
    if found["case"] is None or found["condition"] is None:
        raise DoubtError("columns")
    columns = {role: column for role, column in found.items() if column is not None}
    rows = [{role: row[column] for role, column in columns.items()} for row in table]
    for row in rows:
        row.update({role: (row[role] or "").strip() or None for role in NUMBERS if role in row})
    rows, declared = _without_declarations(rows, columns)
    label = _labels([row["condition"] for row in rows], conditions or declared or None)
    said: dict[str, dict[object, tuple[str | None, list[tuple[float, str]]]]] = {}
    for place, (row, votes) in enumerate(_with_votes(row) for row in rows):
        rankings = said.setdefault(str(row["case"]), {})
        key = _who(row, columns, place)
        rank = _rank(row, columns)
        if key is not None:
            who = row.get("annotator") or votes
            told, mentions = rankings.setdefault(key, (who, []))
            if told != who:
                raise DoubtError("votes of one ranking differ")
            if row["condition"] is not None and rank is not None:
                mentions.append((rank, label(row["condition"])))
    return [(case, [(who, _blocks(told)) for who, told in rankings.values()]) for case, rankings in said.items()]


def _with_votes(row: Row) -> tuple[Row, str | None]:
    """Say how many gave an opinion if it is not one; a row without votes names its case alone."""
    votes = 1.0 if row.get("votes") is None else _number(str(row["votes"]))
    if votes < 0 or votes >= 2**53 or votes != int(votes) or (votes > 1 and row.get("annotator")):
        raise DoubtError("votes")
    if votes == 0:
        return {role: cell if role in ("case", "group", "case_weight") else None for role, cell in row.items()}, None
    return row, None if votes == 1 else f"{int(votes)} voters"


def _without_declarations(rows: list[Row], columns: dict[str, str]) -> tuple[list[Row], list[str]]:
    """Take rows without a case for declarations of names, in tables with annotations and ranks; else doubt them."""
    nameless = [row for row in rows if row["case"] is None]
    for row in nameless:
        filled = [role for role, cell in row.items() if cell is not None and role != "unranked"]
        if not {"annotation", "rank"} <= columns.keys() or filled not in (["condition"], ["annotator"]):
            raise DoubtError("no case")
    declared = [row["condition"] for row in nameless if row["condition"] is not None]
    return [row for row in rows if row["case"] is not None], declared


def _labels(labels: list[str | None], conditions: Sequence[str] | None) -> Callable[[str], str]:
    """Take labels as names; integers are codes, and codes need names."""
    given = {label for label in labels if label is not None}
    codes = bool(given) and all(INTEGER.fullmatch(label) for label in given)
    if conditions is None:
        if codes and given != {"0", "1"}:  # which are no and yes
            raise DoubtError("codes without names")
        return str
    if codes and given.isdisjoint(conditions):
        if not all(0 <= int(float(label)) < len(conditions) for label in given):
            raise DoubtError("a code without a name")
        return lambda label: conditions[int(float(label))]
    if not given <= set(conditions):
        raise DoubtError("unknown conditions")
    return str


def _who(row: Row, columns: dict[str, str], place: int) -> object | None:
    """Return what tells the ranking of a row from others of its case; nothing if the row names a case alone."""
    who = [row[role] for role in ("annotator", "annotation") if role in columns]
    if not any(who) and row["condition"] is None:
        return None
    if who and not any(who):
        raise DoubtError("no annotator")
    if not who:
        return "nobody" if "rank" in columns or "confidence" in columns else place
    return tuple(who)


def _rank(row: Row, columns: dict[str, str]) -> float | None:
    """Return a number that is smaller for better conditions, or nothing if the condition is not mentioned."""
    has_condition = row["condition"] is not None
    if "rank" in columns:
        written = (row["rank"] or "").strip()
        if bool(written) != has_condition or (written and _number(written) <= 0):
            raise DoubtError("rank")
        return _number(written) if written else None
    if "confidence" in columns:
        written = (row["confidence"] or "").strip()
        value = _number(written) if written else 0.0
        if value < 0 or (value and not has_condition):
            raise DoubtError("confidence")
        return -value if value else None
    return 0.0


def _blocks(mentions: list[tuple[float, str]]) -> list[Block]:
    if len({name for _, name in mentions}) < len(mentions):
        raise DoubtError("a condition twice")
    ranks = sorted({rank for rank, _ in mentions})
    return [tuple(sorted(name for rank, name in mentions if rank == this)) for this in ranks]


# Wide ---------------------------------------------------------------------------------------------------


def wide_form(data: bytes, name: str, conditions: Sequence[str] | None) -> Said:
    """Read a row per case and a column per annotator, cells such as ``a>b=c``."""
    names, rows = rows_of(data, name)
    case = _column("case", names) or names[0]
    apart = (case, _column("group", names), _column("case_weight", names))
    annotators = [column for column in names if column not in apart]
    cases = [row[case] for row in rows]
    if None in cases or len(set(cases)) < len(cases):
        raise DoubtError("cases")
    said = [(str(row[case]), [(who, _split(row[who] or "")) for who in annotators if row[who]]) for row in rows]
    label = _labels(
        [name for _, told in said for _, ranking in told for block in ranking for name in block], conditions
    )
    return [
        (case, [(who, [tuple(sorted(map(label, block))) for block in ranking]) for who, ranking in told])
        for case, told in said
    ]


def _split(cell: str) -> list[Block]:
    blocks = [tuple(name.strip() for name in block.split("=")) for block in cell.split(">")]
    mentioned = [name for block in blocks for name in block]
    if not all(mentioned) or len(set(mentioned)) < len(mentioned):
        raise DoubtError("a condition twice, or none")
    return blocks


# Nested -------------------------------------------------------------------------------------------------


def nested_form(data: bytes, _name: str, conditions: Sequence[str] | None) -> Said:
    """Read lists: case > annotator > block > condition, by name or by code."""
    try:
        text = unicodedata.normalize("NFC", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DoubtError("encoding") from error
    content = _json(text, lines=False)
    content = content if isinstance(content, dict) else {"rankings": content}
    cases = _list(content.get("rankings"))
    names = [_name_of(one) for one in _list(content.get("case_names") or list(range(len(cases))))]
    listed = content.get("conditions")
    known = conditions or (None if listed is None else [_name_of(one) for one in _list(listed)])
    if len(names) != len(cases) or len(set(names)) < len(names):
        raise DoubtError("case names")
    told = [
        (name, [(None, [_nested_block(block, known) for block in _list(ranking)]) for ranking in _list(case)])
        for name, case in zip(names, cases, strict=True)
    ]
    if any(len(set(found := sum(blocks, ()))) < len(found) for _, rankings in told for _, blocks in rankings):
        raise DoubtError("a condition twice")
    return [(name, [(who, list(blocks)) for who, blocks in rankings]) for name, rankings in told]


def _nested_block(block: Any, known: Sequence[str] | None) -> Block:
    if not _list(block):
        raise DoubtError("an empty block")
    return tuple(sorted(_nested_name(mention, known) for mention in block))


def _nested_name(mention: Any, known: Sequence[str] | None) -> str:
    if isinstance(mention, int) and not isinstance(mention, bool):
        if known is None or not 0 <= mention < len(known):
            raise DoubtError("code")
        return known[mention]
    name = mention if isinstance(mention, str) and mention else _name_of(mention)  # text is a name as it is written
    if known is not None and name not in known:
        raise DoubtError("unknown condition")
    return name


def _name_of(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise DoubtError("name")
    return str(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DoubtError("depth")
    return value


READERS: dict[str, Callable[[bytes, str, Sequence[str] | None], Said]] = {
    "long": long_form,
    "crowd-kit": long_form,
    "wide": wide_form,
    "nested": nested_form,
}
"""The formats that are read twice."""
