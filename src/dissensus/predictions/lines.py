"""From JSON lines to predictions: one object per case with a ranking, a set or scores by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.ragged import offsets_from_lengths, row_of_each
from dissensus.predictions.entries import (
    Entries,
    Subject,
    assembled_scores,
    check_one_row_each,
    coded,
    predictions_from_rankings,
    predictions_from_sets,
)
from dissensus.predictions.frames import column_conditions
from dissensus.study.builders import condition_names
from dissensus.study.tables import ALIASES, normalised

if TYPE_CHECKING:
    from dissensus.predictions.lists import PredictionKind, Predictions

KEYS: dict[PredictionKind, tuple[str, ...]] = {
    "ranking": ("ranked", "ranking"),
    "set": ("set", "prediction_set"),
    "scores": ("scores", "probs", "probabilities"),
}
"""The keys that hold a prediction, and what kind it is."""

Record = Mapping[str, Any]


def is_list_per_case(rows: Sequence[Record]) -> bool:
    """Tell objects that hold a ranking, a set or scores."""
    return bool(rows) and bool(_offered(rows[0]))


def predictions_from_lines(
    rows: Sequence[Record],
    conditions: Sequence[str] | None,
    *,
    kind: PredictionKind | None,
    name: str,
    findings: bool = False,
) -> Predictions:
    """Build from one object per case, such as ``{"case_id": "c1", "ranked": ["a", ["b", "c"]]}``."""
    if kind == "numbers":
        raise FormatError(
            "the rows do not hold a number each",
            expected="a number under the key 'prediction'",
            got=f"keys {listing(rows[0] if rows else ())}",
        )
    kind = kind or _kind_of(rows)
    cases = tuple(_case(row, number) for number, row in enumerate(rows, start=1))
    check_one_row_each(cases)
    lists = [_content(row, kind, number) for number, row in enumerate(rows, start=1)]
    if kind == "ranking":
        return predictions_from_rankings(lists, conditions, case_names=cases, name=name)
    if kind == "set":
        return predictions_from_sets(lists, conditions, case_names=cases, name=name)
    return _scores(lists, conditions, cases, name, findings=findings)


def _offered(row: Record) -> dict[PredictionKind, str]:
    """Find the keys of a row that hold a prediction."""
    folded = {normalised(key): key for key in row}
    return {kind: folded[key] for kind, keys in KEYS.items() for key in keys if key in folded}


def _kind_of(rows: Sequence[Record]) -> PredictionKind:
    kinds = {kind: number for number, row in reversed([*enumerate(rows, start=1)]) for kind in _offered(row)}
    if len(kinds) == 1:
        return next(iter(kinds))
    first = "; ".join(f"{kind} in row {number}" for kind, number in sorted(kinds.items()))
    raise FormatError(
        "the file mixes kinds of predictions" if kinds else "the rows hold no predictions",
        expected=f"in every row one of the keys {listing(keys[0] for keys in KEYS.values())}",
        got=first or f"keys {listing(rows[0] if rows else ())}",
        advice="write one file per kind, or say kind=... if every row has several" if kinds else "",
    )


def _case(row: Record, number: int) -> str:
    folded = {normalised(key): key for key in row}
    key = next((folded[alias] for alias in ALIASES["case"] if alias in folded), None)
    if key is None or row[key] in (None, ""):
        raise FormatError(
            "a row has no case",
            expected="the name of a case under the key 'case_id'",
            got=f"keys {listing(row)}",
            where=f"row {number}",
        )
    return str(row[key])


def _content(row: Record, kind: PredictionKind, number: int) -> Any:
    key = _offered(row).get(kind)
    content = row[key] if key is not None else None
    right = isinstance(content, dict) if kind == "scores" else isinstance(content, list)
    if not right:
        wanted = 'an object such as {"Eczema": 0.7}' if kind == "scores" else "a list of names"
        raise FormatError(
            f"a row has no {kind}" if content is None else f"the {kind} of a row cannot be read",
            expected=f"{wanted} under the key {KEYS[kind][0]!r}",
            got=f"keys {listing(row)}" if content is None else f"{content!r:.60}",
            where=f"row {number}, case {_case(row, number)!r}",
        )
    return content


def _scores(
    rows: Sequence[Mapping[str, Any]],
    conditions: Sequence[str] | None,
    cases: tuple[str, ...],
    name: str,
    *,
    findings: bool,
) -> Predictions:
    case = row_of_each(offsets_from_lengths(len(row) for row in rows))
    mentions = [key for row in rows for key in row]
    values = [value for row in rows for value in row.values()]
    if mentions and all(mention.isdecimal() for mention in set(mentions)):
        unique = tuple(dict.fromkeys(mentions))
        name_of = dict(zip(unique, column_conditions(unique, conditions), strict=True))
        mentions = [name_of[mention] for mention in mentions]
    subject = Subject(name, condition_names(mentions, conditions), cases)
    entries = Entries(case, coded(mentions, case, subject), _numbers(values, mentions, case, subject))
    return assembled_scores(entries, subject, findings=findings)


def _numbers(values: Sequence[Any], mentions: Sequence[str], case: Any, subject: Subject) -> Any:
    """Return the values as floats, or say which is not a finite number."""
    real = [isinstance(value, Real) and not isinstance(value, bool) for value in values]
    numbers = np.array([value if ok else np.nan for value, ok in zip(values, real, strict=True)], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        first = int(wrong[0])
        raise DissensusError(
            "a score is not a finite number" if real[first] else "a score is not a number",
            expected="a number",
            got=repr(values[first]),
            where=f"{subject.place(int(case[first]))}, condition {mentions[first]!r}",
        )
    return numbers
