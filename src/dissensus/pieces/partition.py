"""The input split by case, in one pass and little memory: a file for every piece, with the rows of all inputs.

Cases go to pieces by a hash of their names, so that rows of a case meet whichever file they come from; they stand in
the order of files, then rows. Memory is that of a chunk and of a piece, however large the input; the disk needs room
for it twice. Rows of cases that first came with files that were added later are pieces of their own, so that earlier
pieces stay as they are. A partition gets its name when it is whole: what is not whole never counts.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import FormatError, listing, suggestion
from dissensus.core.output import told
from dissensus.pieces.inputs import MOST_ROWS, Input
from dissensus.predictions.alignment import Match

STUDY, STRATA = "study", "strata"
INDEX = "index.json"

# Bytes of a chunk, and the rows that it has at least.
CHUNK_BYTES, LEAST_ROWS = 1 << 26, 1_000

GENERATION, BUCKET = "generation of the row", "bucket of the row"

# Bytes that say how long a table is, in front of it.
SIZE = 8


@dataclass(frozen=True)
class Partition:
    """Pieces of all inputs, below a directory.

    Attributes
    ----------
    place
        The directory.
    n_buckets
        Into how many parts the names of cases are hashed.
    columns
        By input: the column that names the case.
    digests
        By piece, in order: the hash of what its rows say. A piece is called after the generation of files with which
        its cases came, and the part of their hash.
    matches
        By input of a model: how its cases fit those of the study.
    """

    place: FilePath
    n_buckets: int
    columns: Mapping[str, str]
    digests: Mapping[str, str]
    matches: Mapping[str, Match]

    def payload(self, piece: str) -> bytes:
        """Return the rows of a piece as bytes, see :func:`frames_from`."""
        try:
            return (self.place / piece).read_bytes()
        except OSError as error:
            raise _damaged(self.place, str(error.strerror)) from error

    def rows_about(self, cases: Sequence[str]) -> dict[str, pl.DataFrame]:
        """Return the rows of every input about some cases, case by case in this order, however they are split."""
        order = pl.DataFrame({"": cases}, schema={"": pl.String}).with_row_index(GENERATION)
        wanted = set(buckets_of(order[""], self.n_buckets).tolist())
        parts: dict[str, list[pl.DataFrame]] = {}
        for piece in self.digests:
            if int(piece.partition("-")[2]) in wanted:
                for name, rows in frames_from(self.payload(piece)).items():
                    named = rows.with_columns(case_names(rows[self.columns[name]]).alias(""))
                    parts.setdefault(name, []).append(named.join(order, on="", how="inner", maintain_order="left"))
        return {
            name: pl.concat(found, how="vertical_relaxed").sort(GENERATION, maintain_order=True).drop("", GENERATION)
            for name, found in parts.items()
        }


def frames_from(payload: bytes) -> dict[str, pl.DataFrame]:
    """Return the rows of a piece, by input: ``study``, ``model 0`` and so on, ``strata``.

    Examples
    --------
    >>> frames_from(bundled({"study": parquet(pl.DataFrame({"case": ["a"]}))}))["study"].rows()
    [('a',)]
    """
    try:
        return {name: pl.read_parquet(io.BytesIO(document)) for name, document in restored(payload, []).items()}
    except (FormatError, pl.exceptions.PolarsError) as error:
        raise FormatError("the bytes of a piece are damaged or cut off", got=str(error).partition("\n")[0]) from error


def case_names(column: pl.Series, text: str = "") -> pl.Series:
    """Return the names of cases as the readers make them; missing where there is none."""
    try:
        names = column.cast(pl.Int64) if text == "whole" else column
        return names.cast(pl.String).replace("", None)
    except pl.exceptions.PolarsError as error:
        raise FormatError("the case of a row is not a name", got=f"{column.dtype} in {column.name!r}") from error


def buckets_of(names: pl.Series, n_buckets: int) -> IntArray:
    """Return the part of each name of a case by its hash; one more where there is none.

    Examples
    --------
    >>> buckets_of(pl.Series(["a", "a", None]), 1)
    array([0, 0, 1])
    """
    found = (names.hash() % n_buckets).to_numpy().astype(np.int64)
    return np.where(names.is_null().to_numpy(), n_buckets, found)


def partitioned(
    generations: Mapping[str, Sequence[Input]],
    columns: Mapping[str, str],
    place: FilePath,
    *,
    n_buckets: int,
    advance: Callable[[int], None],
) -> Partition:
    """Split inputs by case, unless that has been done before.

    Parameters
    ----------
    generations
        By input, files in the order in which they were added: ``"study"``, ``"model 0"``, ``"strata"``.
    columns
        The column of each input that names the case.
    place
        A directory that is there once the partition is whole.
    n_buckets
        Into how many parts the names of cases are hashed.
    advance
        Told the number of rows done.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"case": ["a", "b", "a"], "label": ["x", "y", "z"]}).write_parquet(f"{folder}/1.parquet")
    ...     files, to = {"study": [Input.of(f"{folder}/1.parquet")]}, FilePath(folder, "split")
    ...     found = partitioned(files, {"study": "case"}, to, n_buckets=2, advance=lambda _: None)
    ...     found.rows_about(["b", "a"])["study"].rows()
    [('b', 'y'), ('a', 'x'), ('a', 'z')]
    """
    if not (place / INDEX).is_file():
        room = place.with_name(f"{place.name}-unfinished")
        advice = "make room, or choose another place; what is finished is not done again"
        with told("the split input cannot be written", place, advice):
            for old in (room, place):
                shutil.rmtree(old, ignore_errors=True)
            room.mkdir(parents=True)
            work = _Splitting(room, generations, columns, n_buckets)
            index = work.assembled({name: work.scattered(name, advance) for name in generations})
            (room / INDEX).write_text(json.dumps(index), encoding="utf-8")
            room.rename(place)
    try:
        index = json.loads((place / INDEX).read_bytes())
        plain: dict[str, list[Any]] = {
            name: [tuple(value) if isinstance(value, list) else value for value in one.values()]
            for name, one in index["matches"].items()
        }
        matches = {name: Match(*values) for name, values in plain.items()}
        return Partition(place, n_buckets, columns, index["digests"], matches)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _damaged(place, repr(error)) from error


def _damaged(place: FilePath, got: str) -> FormatError:
    return FormatError(
        "the split input is damaged",
        got=got,
        where=str(place),
        advice=f"remove {place} and start again with --resume: it is split again, finished pieces stay",
    )


@dataclass(frozen=True)
class _Splitting:
    """Split inputs into a directory: first their rows by the hash of the case, then all inputs piece by piece."""

    room: FilePath
    generations: Mapping[str, Sequence[Input]]
    columns: Mapping[str, str]
    n_buckets: int

    def scattered(self, name: str, advance: Callable[[int], None]) -> pl.DataFrame:
        """Append the rows of an input to the files of their parts; return a table without rows."""
        inputs, case = self.generations[name], self.columns[name]
        together = Input(tuple(place for one in inputs for place in one.places))
        schema, text = together.schema, self._text(together, case)
        rows = together.n_rows()
        if not rows:
            raise FormatError("the table has no rows", expected="at least one row", where=listing(together.places))
        head = together.head(LEAST_ROWS)
        n_rows = min(MOST_ROWS, max(LEAST_ROWS, CHUNK_BYTES * len(head) // max(1, int(head.estimated_size()))))
        for generation, one in enumerate(inputs):
            for chunk in one.chunks(n_rows, schema=schema):
                names = case_names(chunk[case], text)
                if text:  # a piece of whole numbers only would be read as another name
                    chunk = chunk.with_columns(names.alias(case))  # noqa: PLW2901 - the same rows
                bucket = pl.Series(BUCKET, buckets_of(names, self.n_buckets))
                noted = chunk.with_columns(pl.lit(generation).alias(GENERATION), bucket)
                for own in noted.partition_by(BUCKET, maintain_order=True):
                    self._append(name, own[BUCKET][0], own.drop(BUCKET))
                advance(len(chunk))
        types: Any = {**schema, case: pl.String()} if text else schema
        return pl.DataFrame(schema={**types, GENERATION: pl.Int32})

    def _text(self, input_: Input, case: str) -> str:
        """Tell how numbers with a decimal point are names: readers take whole ones for integers if all are whole."""
        if case not in input_.schema:
            raise FormatError(
                f"there is no column {case!r} for the case",
                expected=f"one of the columns {listing(input_.schema, most=12)}",
                where=input_.places[0],
                advice=suggestion(case, input_.schema),
            )
        if not input_.schema[case].is_float():
            return ""
        are_whole = True
        for chunk in input_.chunks(MOST_ROWS, [case]):
            known = chunk[case].drop_nulls()
            if not known.is_finite().all():
                got = f"{known.filter(~known.is_finite())[0]} in the column {case!r}"
                raise FormatError("the case of a row is not a name", got=got, where=listing(input_.places))
            are_whole &= bool((known == known.round()).all())
        return "whole" if are_whole else "decimal"

    def _append(self, name: str, bucket: int, rows: pl.DataFrame) -> None:
        written = io.BytesIO()
        rows.write_ipc_stream(written, compression="lz4")
        document = written.getvalue()
        with (self.room / f"{name}-{bucket}").open("ab") as file:
            file.write(len(document).to_bytes(SIZE, "little") + document)

    def _taken(self, name: str, bucket: int, empty: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a part in order, and forget them."""
        file, parts = self.room / f"{name}-{bucket}", [empty]
        if file.exists():
            with file.open("rb") as opened:
                while size := opened.read(SIZE):
                    parts.append(pl.read_ipc_stream(io.BytesIO(opened.read(int.from_bytes(size, "little")))))
            file.unlink()
        return pl.concat(parts, how="vertical_relaxed")

    def assembled(self, empty: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
        """Put the rows of all inputs together, piece by piece; return hashes of pieces, and how cases match."""
        nameless = {name: self._taken(name, self.n_buckets, rows) for name, rows in empty.items()}
        digests: dict[str, str] = {}
        matches = {name: Match() for name in empty if name.startswith("model")}
        for bucket in range(self.n_buckets):
            frames = {name: self._taken(name, bucket, rows) for name, rows in empty.items()}
            names = {name: case_names(rows[self.columns[name]]) for name, rows in frames.items()}
            known = names[STUDY].unique(maintain_order=True).to_list()
            for name in matches:
                matches[name] += Match.of(known, names[name].unique(maintain_order=True).to_list())
            # cases are in the piece of the generation of files that they first came with
            came = frames[STUDY].group_by(names[STUDY].alias("case"), maintain_order=True).agg(pl.col(GENERATION).min())
            for generation in sorted(came[GENERATION].unique().to_list()):
                cases = came.filter(pl.col(GENERATION) == generation)["case"]
                payload = self._payload(frames, names, nameless, cases)
                piece = f"{generation}-{bucket:05d}"
                digests[piece] = hashlib.sha256(payload).hexdigest()
                (self.room / piece).write_bytes(payload)
        if not digests and len(nameless[STUDY]):  # a reader says what is missing
            digests["0-00000"] = ""
            (self.room / "0-00000").write_bytes(self._payload(empty, {}, nameless, pl.Series([], dtype=pl.String)))
        return {
            "digests": dict(sorted(digests.items())),
            "matches": {name: asdict(one) for name, one in matches.items()},
        }

    def _payload(
        self,
        frames: Mapping[str, pl.DataFrame],
        names: Mapping[str, pl.Series],
        nameless: Mapping[str, pl.DataFrame],
        cases: pl.Series,
    ) -> bytes:
        """Write the rows about some cases; rows without a case come first: they declare names, or a reader refuses."""
        found = {}
        for name, rows in frames.items():
            own = rows.filter(names[name].is_in(cases.implode())) if name in names else rows
            found[name] = parquet(
                pl.concat([nameless[name], own]).drop(GENERATION), compression="lz4", statistics=False
            )
        return bundled(found)


def parquet(rows: pl.DataFrame, **how: Any) -> bytes:
    """Write a table as Parquet that depends on its rows only."""
    written = io.BytesIO()
    rows.rechunk().write_parquet(written, **how)
    return written.getvalue()
