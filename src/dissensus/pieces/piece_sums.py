"""The sums of a piece as a file, and those of all pieces together, of which only what is asked for is in memory."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from dissensus.core.errors import FormatError
from dissensus.core.names import case_keys
from dissensus.evaluation.influences import data_set_metrics
from dissensus.evaluation.plan import Plan
from dissensus.evaluation.sums import JOINED, Array, Name, Sums, side_by_side
from dissensus.study.study import Study

MOST_DISPUTED = 500
"""How many cases with the least certainty are kept to be looked at."""

MOST_NAMED = 20
"""How many cases without any opinion are kept by name."""

EXCLUDED = ("rows", "excluded")
DISPUTED = (("rows", "disputed names"), ("rows", "disputed certainties"))
DAMAGE = (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile, zlib.error)


def sums_of_piece(plan: Plan, sums: Sums, study: Study, reference: int) -> Sums:
    """Keep what all pieces together need: sums, groups, the least certain cases, and those without an opinion.

    Metrics of a whole data set need labels of draws, names and certainties of all cases as well.
    """
    has_labels = bool(data_set_metrics(plan.metrics))
    kept = sums.only(lambda name: name[0] not in JOINED or is_kept(name, has_labels=has_labels))
    names = sums["rows", "names"]
    known = set(names.tolist())
    found: dict[Name, Array] = {**excluded([name for name in study.case_names if name not in known]).arrays}
    certainties = ("profile", f"run {reference}", "certainties")
    if certainties in sums and len(sums[certainties]):
        found |= zip(DISPUTED, least(names, sums[certainties][0]), strict=True)
    return Sums({**kept.arrays, **found})


def is_kept(name: Name, *, has_labels: bool) -> bool:
    """Tell what is kept of single cases: groups always, labels and what belongs to them where they are needed."""
    if name[1] in ("group keys", "group sums"):
        return True
    return has_labels and (name[0] == "rows" or (name[0] == "profile" and name[-1] == "certainties"))


def excluded(names: Sequence[str]) -> Sums:
    """Count cases without any opinion, and name the first ones.

    >>> float((excluded(["b", "a"]) + excluded(["c"]))["excluded",])
    3.0
    """
    return Sums({("excluded",): np.array(float(len(names))), EXCLUDED: np.array(sorted(names)[:MOST_NAMED], np.str_)})


def least(names: Array, certainties: Array) -> tuple[Array, Array]:
    """Keep the cases with the least certainty, beginning with the least; equal ones in the order of their keys.

    >>> least(np.array(["a", "b"]), np.array([0.9, 0.2]))[0].tolist()
    ['b', 'a']
    """
    order = np.lexsort((case_keys(names.tolist()), certainties))[:MOST_DISPUTED]
    return names[order], certainties[order]


def written(sums: Sums) -> bytes:
    """Write sums as an npz file; the same sums give the same bytes."""
    file = io.BytesIO()
    names = json.dumps(list(sums.arrays)).encode()
    np.savez_compressed(file, *sums.arrays.values(), names=np.frombuffer(names, dtype=np.uint8))
    return file.getvalue()


@dataclass(frozen=True, eq=False)
class AllPieces(Mapping[Name, Array]):
    """Sums of all pieces: what adds up is in memory, and what grows with the cases is read when it is asked for.

    Attributes
    ----------
    added
        Sums over all cases.
    files
        In the order of pieces: of what is put side by side, where the files have it.
    """

    added: Mapping[Name, Array]
    files: Mapping[Name, Mapping[FilePath, int]]

    @staticmethod
    def of(places: Sequence[FilePath]) -> AllPieces:
        """Add up the files of all pieces, in their order."""
        total, files = Sums(), dict[Name, dict[FilePath, int]]()
        for place in places:
            with _opened(place) as content:
                own: dict[Name, Array] = {}
                for number, words in enumerate(json.loads(content["names"].tobytes())):
                    name = tuple(words)
                    if name[0] in JOINED:
                        files.setdefault(name, {})[place] = number
                    else:
                        own[name] = content[f"arr_{number}"]
            total = total + Sums(own)
        return AllPieces(total.arrays, files)

    def __getitem__(self, name: Name) -> Array:
        if name not in self.files:
            return self.added[name]
        parts = []
        for place, number in self.files[name].items():
            with _opened(place) as content:
                parts.append(content[f"arr_{number}"])
        return side_by_side(parts, JOINED[str(name[0])])

    def __iter__(self) -> Iterator[Name]:
        return iter((*self.added, *self.files))

    def __len__(self) -> int:
        return len(self.added) + len(self.files)


@contextmanager
def _opened(place: FilePath) -> Iterator[Mapping[str, Array]]:
    """Open the file of a piece, or say that it is damaged."""
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as content:
            yield content
    except DAMAGE as error:
        advice = "remove it and run again with --resume: it is computed again"
        raise FormatError("a finished piece is damaged", got=repr(error), where=str(place), advice=advice) from error
