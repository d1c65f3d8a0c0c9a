"""Another way in which files go wrong: what they hold is of another type. Parquet columns, JSON trees, arrays of npz.

The other generator spoils bytes, lines and cells; most of what it makes of Parquet and npz is damaged. These files are
whole: only their types, shapes, names and values are not what a reader expects.
"""

import datetime as dt
import decimal
import io
import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import polars as pl

from fuzz.seeds import Seed, seeds

WORDS = (
    *("oak", "elm", "ash", "", " ", "1", "0", "2", "1.5", "nan", "c1", "c2", "Ann", "yes", "no", "e\u0301"),
    *("[1]", "{}", "accept", "submitted", "a>b", "\u202e"),
)
BIG = (2**31, -1, 0, 1, 2, 2**53 + 1, 2**63 - 1)
FLOATS = (0.0, 0.5, 1.0, 2.0, -1.0, float("nan"), float("inf"), 1e308, 1e-320)
TEXTS = ("case", "annotator", "label", "rank", "score", "votes", "confidence", "present", "finding", "weight", "x___1")

# How a column of a table may be filled: a type, and a value of it.
COLUMNS: dict[Any, Callable[[Random], Any]] = {
    pl.String: lambda chance: chance.choice(WORDS),
    pl.Int64: lambda chance: chance.choice(BIG),
    pl.Int8: lambda chance: chance.randrange(-2, 3),
    pl.UInt64: lambda chance: chance.choice((0, 1, 2, 2**64 - 1)),
    pl.Float64: lambda chance: chance.choice(FLOATS),
    pl.Float32: lambda chance: chance.choice((0.0, 0.5, 1.0, float("nan"))),
    pl.Boolean: lambda chance: chance.random() < 0.5,
    pl.Binary: lambda chance: chance.choice(WORDS).encode(),
    pl.Date: lambda _: dt.date(2020, 1, 2),
    pl.Datetime: lambda _: dt.datetime(2020, 1, 2),
    pl.Duration: lambda _: dt.timedelta(1),
    pl.Time: lambda _: dt.time(1),
    pl.Categorical: lambda chance: chance.choice(WORDS),
    pl.Decimal(10, 2): lambda chance: decimal.Decimal(chance.randrange(5)),
    pl.List(pl.String): lambda chance: [chance.choice(WORDS) for _ in range(chance.randrange(3))],
    pl.List(pl.Int64): lambda chance: [chance.choice(BIG) for _ in range(chance.randrange(3))],
    pl.List(pl.List(pl.String)): lambda chance: [[chance.choice(WORDS)] for _ in range(chance.randrange(3))],
    pl.Array(pl.Int64, 2): lambda chance: [chance.randrange(2), 1],
    pl.Struct({"a": pl.Int64}): lambda chance: {"a": chance.randrange(2)},
    pl.List(pl.Struct({"value": pl.String, "rank": pl.Int64})): lambda chance: [
        {"value": chance.choice(WORDS), "rank": 1}
    ],
    pl.Null: lambda _: None,
}


def mutated_table(table: pl.DataFrame, chance: Random) -> bytes:
    """Give a column other types or another name, or add one, and write the table as Parquet."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        dtype, fill = chance.choice(list(COLUMNS.items()))
        values = [None if chance.random() < 0.1 else fill(chance) for _ in range(table.height)]
        column = pl.Series(chance.choice((*table.columns, *TEXTS)), values, dtype=dtype, strict=False)
        act = chance.randrange(4)
        if act == 0 and table.width > 1:
            table = table.drop(chance.choice(table.columns))
        elif act == 1:
            old, new = chance.choice(table.columns), chance.choice(TEXTS)
            table = table if new in table.columns else table.rename({old: new})
        elif act == 2:
            table = table[[chance.randrange(table.height) for _ in range(table.height)]]
        else:
            table = table.with_columns(column)
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()


TREE: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2.5, 10**30, 10**400, float("nan"), "", " ", "oak", "elm", "c1", "0", "e\u0301", "1e400"),
    *("\ud800", "x" * 70_000, [], {}, [[]], [None], ["oak"], ["oak", "oak"], [["oak"], ["elm"]], {"": ""}),
    *({"id": None}, {"oak": 1}, {"oak": "elm"}, {"a": {"b": "oak"}}, [[[[]]]], {"value": "oak"}),
)
KEYS = (
    *("id", "case", "label", "labels", "annotator", "annotations", "rank", "score", "scores", "ranked", "set"),
    *("weights", "value", ""),
)


def mutated_tree(value: Any, chance: Random) -> Any:
    """Replace, wrap, drop, double or rename something, at any depth of a JSON value."""
    if isinstance(value, dict | list) and value and chance.random() < 0.75:
        keys: Any = list(value) if isinstance(value, dict) else range(len(value))
        key = chance.choice(keys)
        changed: Any = dict(value) if isinstance(value, dict) else list(value)
        act = chance.randrange(8)
        if act == 0:
            del changed[key]
        elif act == 1 and isinstance(changed, dict):
            changed[chance.choice((*KEYS, *changed))] = changed.pop(key)
        elif act == 1:
            changed.insert(key, changed[key])
        elif act == 2 and isinstance(changed, dict):
            changed[chance.choice(KEYS)] = chance.choice(TREE)
        else:
            changed[key] = mutated_tree(changed[key], chance)
        return changed
    return chance.choice((chance.choice(TREE), [value], {"oak": value}, str(value), value))


def mutated_arrays(arrays: dict[str, Any], chance: Random) -> bytes:
    """Give an array of an npz file another type, shape, name or values."""
    arrays = dict(arrays)
    for _ in range(chance.choice((1, 1, 2))):
        name = chance.choice(list(arrays))
        array = np.asarray(arrays[name])
        act = chance.randrange(7)
        if act == 0 and len(arrays) > 1:
            del arrays[name]
        elif act == 1:
            kinds = ("i1", "u8", "f2", "f8", "?", "U3", "S3", "c8", "M8[s]", "m8[s]", "i4,f4")
            arrays[name] = np.zeros(array.shape, dtype=np.dtype(chance.choice(kinds)))
        elif act == 2:
            news = (array.shape[::-1], (array.size,), (1, array.size), (*array.shape, 1))
            arrays[name] = array.reshape(chance.choice(news))
        elif act == 3:
            arrays[name] = array[: chance.randrange(len(array) + 1)] if array.ndim else array
        elif act == 4 and array.dtype.kind in "iuf" and array.size:
            spoiled = array.astype(np.float64)
            spoiled.flat[chance.randrange(array.size)] = chance.choice(FLOATS)
            arrays[name] = spoiled
        elif act == 5 and array.dtype.kind == "U" and array.size:
            spoiled_names = array.astype("U9")
            spoiled_names.flat[chance.randrange(array.size)] = chance.choice(WORDS)
            arrays[name] = spoiled_names
        else:
            other = chance.choice(("probs", "scores", "classes", "case_ids", "rankings", "conditions"))
            arrays[other] = arrays.pop(name)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def typed_mutant(number: int, seed: int) -> tuple[Seed, bytes, bool]:
    """Make one mutant, the same for the same numbers: its seed, its bytes, and whether its format is told."""
    chance = Random(f"typed {seed}/{number}")
    sources = typed_seeds()
    chosen, content = sources[number % len(sources)]
    if isinstance(content, pl.DataFrame):
        return chosen, mutated_table(content, chance), chance.random() < 0.3
    if chosen.name.endswith(".npz"):
        return chosen, mutated_arrays(content, chance), chance.random() < 0.3
    for _ in range(chance.choice((1, 1, 2, 3))):
        content = mutated_tree(content, chance)
    if chosen.name.endswith(".jsonl"):
        lines = content if isinstance(content, list) else [content]
        return chosen, "".join(json.dumps(line) + "\n" for line in lines).encode(), chance.random() < 0.3
    return chosen, json.dumps(content).encode(), chance.random() < 0.3


@cache
def typed_seeds() -> list[tuple[Seed, Any]]:
    """Return seeds with what they hold: tables as frames, JSON as values, npz as arrays."""
    found: list[tuple[Seed, Any]] = []
    for seed in seeds():
        if seed.is_directory:
            continue
        if seed.name.endswith((".csv", ".tsv")):
            try:
                table = pl.read_csv(seed.content, separator="\t" if seed.name.endswith(".tsv") else _mark(seed.content))
            except pl.exceptions.PolarsError:
                continue
            found.append((seed.renamed(f"{seed.name.rpartition('.')[0]}.parquet"), table))
        elif seed.name.endswith(".jsonl"):
            found.append((seed, [json.loads(line) for line in seed.content.splitlines() if line.strip()]))
        elif seed.name.endswith(".json"):
            found.append((seed, json.loads(seed.content)))
        elif seed.name.endswith(".npz"):
            with np.load(io.BytesIO(seed.content)) as arrays:
                found.append((seed, dict(arrays)))
    return found


def _mark(content: bytes) -> str:
    first = content.split(b"\n")[0].decode()
    return max(",\t;|", key=first.count)
