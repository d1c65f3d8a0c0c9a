"""Arrays of cases by annotators by conditions: orders and their ties, or confidences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source
from dissensus.core.names import check_names
from dissensus.core.notes import Note
from dissensus.core.receipt import Column
from dissensus.study.builders import Rows, from_confidences, from_ranking_arrays, stacked
from dissensus.study.canonical import long_table
from dissensus.study.reading.counts import names_beside
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.records import DECLARED, declaration, wrong_shape
from dissensus.study.study import Study
from dissensus.study.tables import ROW

ARRAYS = ("rankings", "groups")
NAMES = {"conditions": "conditions", "case_names": "cases"}


# Names of the array in an npz file; only one of them may be there.
KEYS = ("opinions", "confidences")


class RankingArrays(Format):
    """Two arrays of cases by annotators by places: conditions in order, and which of them are tied."""

    id = "ranking-arrays"
    title = "npz with the arrays rankings (orders of all conditions) and groups (their ties, -1 for unranked)"
    kinds = ("npz",)

    def recognises(self, source: Source) -> bool:
        """Tell an npz file with arrays of these names."""
        return source.kind == "npz" and all(name in source.content for name in ARRAYS)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the rankings of annotators without a name; rows that rank nothing are nobody's."""
        rankings, groups = (array_named(source, name) for name in ARRAYS)
        rows = stacked("groups", groups, "iu")
        conditions, cases, assumed = names_of(source, options, rows)
        meaning, question = (declaration(source.content, key, str(source.path)) for key in DECLARED)
        said = from_ranking_arrays(
            rankings, groups, conditions=conditions, case_names=cases, unranked=meaning or "below"
        ).asked(question or "conditions")
        roles = {"rankings": "order of the conditions", "groups": "ties of the order"}
        return parsed_rows(source, said, rows, roles, assumed)


class Confidences(Format):
    """A confidence per condition, annotator and case: larger is better, equal is a tie, 0 is not ranked."""

    id = "confidences"
    title = "array (.npy, or opinions in .npz) of cases by annotators by conditions: larger is better, 0 is unranked"
    kinds = ("npy", "npz")

    def recognises(self, source: Source) -> bool:
        """Tell whole numbers in an npy file with three axes, or an npz file with an array of such a name."""
        if source.kind == "npy":
            return bool(source.content.ndim == 3 and source.content.dtype.kind in "iu")
        return source.kind == "npz" and sum(key in source.content for key in KEYS) == 1

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the rankings of annotators without a name; rows that rank nothing are nobody's."""
        key = next((key for key in KEYS if source.kind == "npz" and key in source.content), KEYS[0])
        array = source.content if source.kind == "npy" else array_named(source, key)
        rows = stacked("confidences", array, "iuf")
        conditions, cases, assumed = names_of(source, options, rows)
        said = from_confidences(array, conditions=conditions, case_names=cases, unranked="below")
        order = "confidences order the conditions; their values are not used"
        return parsed_rows(source, said, rows, {key: "confidence of each condition"}, (*assumed, order))


def array_named(source: Source, name: str) -> NDArray[Any]:
    """Return an array of an npz file, or say that it is not there."""
    arrays = source.content if source.kind == "npz" else {}
    if name not in arrays:
        raise FormatError(
            f"there is no array {name!r}",
            expected="an npz file with this array",
            got=f"arrays {listing(arrays)}" if arrays else f"a file of {source.kind}",
            where=str(source.path),
        )
    return np.asarray(arrays[name])


def names_of(source: Source, options: Options, rows: Rows) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Return the names of conditions and cases, given, of the file or of a file beside it, and sentences about them."""
    counts = {"conditions": rows.cells.shape[1], "case_names": len(rows.offsets) - 1}
    arrays = source.content if source.kind == "npz" else {}
    found, told = {}, []
    for key, what in NAMES.items():
        own: Sequence[str] | None = options.conditions if key == "conditions" else None
        if own is None and key in arrays:
            if arrays[key].ndim != 1 or arrays[key].dtype.kind != "U":
                raise wrong_shape(arrays[key].dtype, f"the array {key!r}", "one axis of text", str(source.path))
            own = [str(name) for name in arrays[key]]
        found[key], how = names_beside(source.path, what, own, counts[key])
        told += [f"the {what} are {how}"] if own is None else []
        check_names(what.removesuffix("s"), list(found[key]))
    return list(found["conditions"]), list(found["case_names"]), tuple(told)


def parsed_rows(source: Source, said: Study, rows: Rows, roles: dict[str, str], assumed: Sequence[str]) -> Parsed:
    """Return a study as the long table that readers give, with a note on rows that rank nothing."""
    n_absent = len(rows.cells) - said.n_rankings
    notes = (Note("rows that rank nothing", n_absent, "taken as annotators who are not there"),) if n_absent else ()
    known = {**roles, "conditions": "conditions", "case_names": "case", **DECLARED}
    arrays = source.content if source.kind == "npz" else {}
    frame = long_table(said).with_columns(pl.lit(None, pl.Int64).alias(ROW))
    columns = tuple(Column(name, known.get(name, "")) for name in arrays)
    sentence = "every row is the ranking of one annotator without a name"
    return Parsed(frame, notes, said.conditions, columns=columns, assumed=(sentence, *assumed))
