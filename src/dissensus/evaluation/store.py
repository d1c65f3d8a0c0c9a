"""Results on disk: a directory that people, tables and this package can read, written whole or not at all.

Tables and JSON are for people and other programs. What is read back is ``run.json`` (names, specs and settings) and
``arrays.parquet`` (numbers: a row per array, with its name, type and shape), so that an evaluation comes back exactly.

Schema, version 2. ``run.json`` says its format and version, the versions of the packages that computed the numbers, the
specs of all runs and metrics, the receipts of the files that were read (without the directories they were in), and the
SHA-256 of every file of numbers beside it; ``checksum`` is the SHA-256 of everything else in it. What does not fit is
refused, as are results of another version of the schema.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.aggregations.base import restored_aggregation
from dissensus.certainty.categories import Categories
from dissensus.core.arrays import Path
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import checked_path, open_source
from dissensus.core.output import foreign_content, write_parquet
from dissensus.core.receipt import Receipt
from dissensus.core.screen import plain_json
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.estimates import Run
from dissensus.evaluation.expert_comparison.experts import Experts
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES
from dissensus.evaluation.protocol import Protocol
from dissensus.evaluation.results import Evaluation, PriorRecord
from dissensus.evaluation.sums import ALL, DATA_SET, EACH, Name, Sums, block_places
from dissensus.evaluation.tally import is_of_places, with_places
from dissensus.metrics.base import restored_metric
from dissensus.predictions.lists import DEVIATION, NUMBER, Predictions
from dissensus.study.panel import Panel
from dissensus.study.study import Study

Arrays: TypeAlias = Mapping[Name, npt.NDArray[Any]]
Described: TypeAlias = dict[str, Any]

# What ``run.json`` says it is, and the version of the schema that is written.
FORMAT, VERSION = "dissensus results", 3

ARRAYS = "arrays.parquet"
BY_CASE = ("per_case.parquet", "certainty.parquet")
FILES = ("summary.json", "per_draw.parquet", *BY_CASE, ARRAYS, "run.json")

# Of more cases than are held, the results of those with the least certainty; tables by case are directories.
DISPUTED = "disputed"

# Files of earlier versions of the schema, which may be replaced.
EARLIER = ("arrays.npz", "data_set.bundle")

# Shapes of arrays by what they are: m models, k metrics, n cases that are held; "?" is n, or nothing, and "." anything.
# What another letter stands for is the same throughout a reference and place, a profile, or a curve.
SHAPES: dict[str, str] = dict(
    re.findall(
        r"(\w+):(\S*)",
        "n: votes: certainty:5 weight:d draws:2mkd resampled:2mkr squares:mk least:mk greatest:mk reach:mk fit:3fmk "
        "moments:5.k cases:mkn same:mm data:n means:nl moved:n.l support_sizes:n support:s certainties:tn errors:tn "
        "is_member:ts plausibilities:u tops:u sketch:.u category_certainties:? category_errors:? category_winners:? "
        "risks:3? x:p y:p low:p high:p sizes:. effects:.mk noise:mmk parts:3mk category_fit:4fmk",
    )
)

# What is never negative; of draws and resamples that is the second half.
COUNTS = ("n", "votes", "certainty", "weight", "squares", "reach", "support_sizes", "support", "certainties", "errors")

REPORT = "report.html"
NAMED = ("case_names", "annotator_names", "groups", "annotator_groups")
PANEL = ("opinion_offsets", "annotators", "weights", "case_weights", "votes")
LISTS = ("offsets", "codes", "values")

# Fields of a run that are written as they are.
COUNTED = ("aggregation", "n_draws", "n_chains")

# Fields of an evaluation that are written as they are.
PLAIN = ("versions", "seed", "level", "leads", "n_excluded", "n_annotators", "inputs")

# Fields that are tuples of words.
LISTED = ("excluded", "remarks", "images", "trained_on")

WHOSE, POINTS = ("kind", "run", "model", "question", "truth", "given"), ("x", "y", "low", "high", "sizes")
FITTED = ("models", "concentrations", "warnings")
SPREAD, NOISE, PARTS = ("scale", "n_annotators"), ("effects", "noise"), "parts"


# Says what in a directory must not be lost; nothing if it holds results, perhaps their report, and nothing else.
not_results = partial(foreign_content, file="run.json", form=FORMAT, known=(*FILES, *EARLIER, REPORT))


def write_files(evaluation: Evaluation, place: FilePath) -> None:
    """Write the files of an evaluation into a directory that exists."""
    summary = [{**row, "interval": [row["low"], row["high"]]} for row in evaluation.to_frame().to_dicts()]
    (place / "summary.json").write_text(_json(summary), encoding="utf-8")
    write_parquet(evaluation.per_draw(), place / "per_draw.parquet")
    if not evaluation.is_sample:
        write_parquet(evaluation.per_case(), place / BY_CASE[0])
        write_parquet(evaluation.certainties(), place / BY_CASE[1])
    if evaluation.disputed is not None:
        (place / DISPUTED).mkdir()
        write_files(evaluation.disputed, place / DISPUTED)
    write_arrays(_arrays(evaluation), place / ARRAYS)
    files = {"files": _hashes(place, is_sample=evaluation.is_sample)}
    described = plain_json({"format": FORMAT, "version": VERSION, **_described(evaluation), **files})
    (place / "run.json").write_text(_json({**described, "checksum": checksum(described)}), encoding="utf-8")


def write_arrays(arrays: Arrays, file: FilePath) -> None:
    """Write named arrays as a table: the same arrays give the same bytes."""
    import polars as pl

    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    table = {
        "name": [json.dumps(name) for name in plain],
        "type": [array.dtype.newbyteorder("<").str for array in plain.values()],
        "shape": pl.Series([list(array.shape) for array in plain.values()], dtype=pl.List(pl.Int64)),
        "data": [array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in plain.values()],
    }
    write_parquet(pl.DataFrame(table), file)


def read_arrays(file: FilePath) -> dict[Name, npt.NDArray[Any]]:
    """Read what :func:`write_arrays` wrote.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays({("a", 1): np.arange(3)}, FilePath(folder) / "x.parquet")
    ...     read_arrays(FilePath(folder) / "x.parquet")
    {('a', 1): array([0, 1, 2])}
    """
    import polars as pl

    found: dict[Name, npt.NDArray[Any]] = {}
    for name, kind, shape, data in pl.read_parquet(file).iter_rows():
        dtype = np.dtype(kind)
        found[tuple(json.loads(name))] = np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    return found


@checked
def load(directory: Path) -> Evaluation:
    """Read back what :meth:`Evaluation.save` wrote, exactly.

    Raises
    ------
    DissensusError
        If a file is missing, was changed after it was written, or belongs to a later version of the schema.

    Examples
    --------
    >>> import dissensus as ds, tempfile
    >>> said = ds.Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
    >>> result = ds.evaluate(said, {"A": [[0.7, 0.3]]}, aggregations=["dirichlet:1"], metrics=["top-k-accuracy:1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/results")
    ...     load(f"{folder}/results") == result
    True
    """
    place = checked_path(directory)
    described = _verified(place, str(directory))
    try:
        arrays = read_arrays(place / ARRAYS)
        found = _restored(described, arrays, place)
        keys = {str(name[1]) for name in found.sums.names("draws")}
        points = sum(key.startswith("point") for key in keys)
        shape = found.estimates[0].tally.sums.shape[:2] if found.models else (0, 0)
        had = (len(found.sums.names("least", "draws")), points, *shape)
        said = (len(found.runs), len(found.points), len(found.models), len(found.metrics) if found.models else 0)
        if had != said:
            raise ValueError(f"numbers of runs, points, models and metrics: {said}, and of their sums: {had}")
        check_arrays(arrays, found)
    except DissensusError as error:
        raise error.at(str(place)) from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("the results do not fit together", got=repr(error), where=str(place)) from error
    return found


def _json(value: object) -> str:
    return json.dumps(plain_json(value), indent=1, ensure_ascii=False) + "\n"


# Verification --------------------------------------------------------------------------------------------


def _hashes(place: FilePath, *, is_sample: bool) -> dict[str, str]:
    """Return the hashes of the files that hold numbers, empty where there is none; of very many cases fewer files."""
    files = (place / name for name in FILES if name != "run.json" and not (is_sample and name in BY_CASE))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "" for file in files}


def checksum(described: Mapping[str, Any]) -> str:
    """Hash everything that a file of JSON says but its checksum, whatever its spaces and the order of its keys."""
    rest = {key: value for key, value in described.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _verified(place: FilePath, shown: str) -> Described:
    """Return what ``run.json`` says if it is whole and fits the files beside it."""
    files = ("run.json", ARRAYS) if (place / DISPUTED).is_dir() else FILES
    missing = [name for name in files if not (place / name).is_file()]
    described: Any = None if "run.json" in missing else open_source(place / "run.json").content
    is_known = isinstance(described, dict) and described.get("format") == FORMAT
    version = described.get("version") if is_known else VERSION
    is_present = version == VERSION and not isinstance(version, bool)
    if missing and is_present:
        unfinished = "run.json" in missing and (place / "manifest.json").is_file()
        raise FormatError(
            "this is not a directory of results",
            expected=f"the files {', '.join(files)}",
            got="a run that is not finished" if unfinished else f"no {', '.join(missing)}",
            where=shown,
            advice="evaluate with --resume to finish it" if unfinished else "",
        )
    if not is_known:
        raise FormatError(
            "these results have no format that is known",
            expected=f"a run.json with the format {FORMAT!r}",
            where=str(place),
            advice="results of versions before 0.2 cannot be read: evaluate again",
        )
    if not is_present:
        again = "evaluate again: dissensus evaluate OPINIONS --predictions NAME=FILE --out DIRECTORY"
        raise FormatError(
            "these results were written in another version of the schema",
            expected=str(VERSION),
            got=repr(version),
            where=str(place / "run.json"),
            advice="update Dissensus" if isinstance(version, int) and version > VERSION else again,
        )
    known, hashes = described.get("files"), _hashes(place, is_sample=described.get("sample") is True)
    changed = [name for name, own in hashes.items() if not isinstance(known, dict) or known.get(name) != own]
    if described.get("checksum") != checksum(described):
        changed = ["run.json"]
    if changed:
        raise FormatError(
            "the results were changed or damaged after they were written",
            got="a checksum that does not fit",
            where=str(place / changed[0]),
            advice="evaluate again, or get the directory from where it was written",
        )
    return dict(described)


# What is written -----------------------------------------------------------------------------------------


def _described(evaluation: Evaluation) -> Described:
    study, panel, categories = evaluation.study, evaluation.study.panel, evaluation.categories
    return {
        **{name: getattr(evaluation, name) for name in (*PLAIN, *LISTED)},
        "sample": evaluation.is_sample,
        **{name: [one.record() for one in getattr(evaluation, name)] for name in ("runs", "points", "metrics")},
        "annotators": {key: {name: getattr(one, name) for name in SPREAD} for key, one in evaluation.moved.items()},
        "prior": evaluation.prior and asdict(evaluation.prior),
        "protocol": evaluation.protocol and {**asdict(evaluation.protocol), "sha256": evaluation.protocol.sha256},
        "calibration": evaluation.calibration and evaluation.calibration.record(),
        "experts": evaluation.experts and evaluation.experts.to_json(),
        "curves": [{name: getattr(one, name) for name in WHOSE} for one in evaluation.lines],
        "study": {**_known_of(study, "kind", "conditions"), "settings": study.settings()},
        **{name: getattr(panel, name) for name in NAMED},
        "conditions": evaluation.conditions,
        "categories": categories and {"names": categories.names, "levels": categories.levels},
        "models": [
            {"name": name, "title": said.name, **_known_of(said, "kind", "complete")}
            for name, said in evaluation.predictions.items()
        ],
        "strata": evaluation.strata,
    }


def _known_of(read: Study | Predictions, *names: str) -> Described:
    """Return some attributes, and what was understood of the file, without its place."""
    kept = read.receipt
    receipt = None if kept is None else {**kept.to_dict(), "path": FilePath(kept.path).name}
    return {**{name: getattr(read, name) for name in names}, "receipt": receipt}


def _arrays(evaluation: Evaluation) -> dict[Name, npt.NDArray[Any]]:
    """Name all arrays of an evaluation; the first word of a name says what it belongs to."""
    kept = evaluation.sums if evaluation.is_sample else evaluation.sums.only(lambda name: not is_of_places(name))
    found: dict[Name, npt.NDArray[Any]] = {("sums", *name): array for name, array in kept.arrays.items()}
    for key, one in evaluation.moved.items():
        found |= {("annotators", key, name): getattr(one, name) for name in NOISE}
        found |= {("annotators", key, *place, PARTS): parts for place, parts in one.places.items()}
    for number, line in enumerate(evaluation.lines):
        found |= {("curve", number, name): getattr(line, name) for name in POINTS}
    found |= {("panel", name): getattr(evaluation.study.panel, name) for name in PANEL}
    found |= {("study", name): array for name, array in evaluation.study.arrays().items()}
    for number, said in enumerate(evaluation.predictions.values()):
        found |= {("model", number, name): getattr(said, name) for name in LISTS}
    if evaluation.categories is not None:
        found["categories",] = evaluation.categories.codes
    return found


# What is read back ---------------------------------------------------------------------------------------


def _restored(described: Described, arrays: Arrays, place: FilePath) -> Evaluation:
    conditions, grouping, prior = tuple(described["conditions"]), described["categories"], described["prior"]
    told, agreed = described["study"], described.get("protocol")
    seats: Described = {name: tuple(described.get(name, ())) for name in NAMED}
    panel = Panel(**seats | {name: arrays["panel", name] for name in PANEL})
    own: Described = {str(name[1]): array for name, array in arrays.items() if name[0] == "study"}
    study = Study(tuple(told["conditions"]), panel, **told["settings"], **own).with_receipt(_receipt(told))
    sums = Sums({name[1:]: array for name, array in arrays.items() if name[0] == "sums"})
    if not described["sample"]:  # what follows from the values of cases is not written
        named = Sums({**sums.arrays, ("rows", "names"): np.array(study.case_names, dtype=np.str_)})
        strata = {column: dict(zip(study.case_names, of, strict=True)) for column, of in described["strata"].items()}
        sums = with_places(named, study, strata, described["seed"]).only(lambda name: name != ("rows", "names"))
    predictions = {}
    for i, model in enumerate(described["models"]):
        offsets, codes, values = (arrays["model", i, name] for name in LISTS)
        known = conditions
        if model["kind"] == "numbers":
            known = (NUMBER, DEVIATION) if len(codes) > len(panel.case_names) else (NUMBER,)
        parts = (model["title"], model["kind"], known, panel.case_names, offsets, codes, values, model["complete"])
        predictions[model["name"]] = Predictions(*parts).with_receipt(_receipt(model))
    fitted: Described = {name: tuple(of) if name in FITTED else of for name, of in (prior or {}).items()}
    plain: Described = {
        **{name: described[name] for name in PLAIN},
        **{name: tuple(described[name]) for name in LISTED},
    }
    from dissensus.evaluation.calibration import restored_calibration
    from dissensus.evaluation.curves import Curve

    return Evaluation(
        runs=tuple(
            Run(
                restored_aggregation(one["spec"]), fitted=one.get("fitted", {}), **{name: one[name] for name in COUNTED}
            )
            for one in described["runs"]
        ),
        points=tuple(restored_aggregation(point) for point in described["points"]),
        metrics=tuple(restored_metric(metric) for metric in described["metrics"]),
        study=study,
        conditions=conditions,
        predictions=predictions,
        sums=sums,
        categories=grouping
        and Categories(conditions, tuple(grouping["names"]), arrays["categories",], tuple(grouping["levels"])),
        strata={column: tuple(labels) for column, labels in described["strata"].items()},
        **plain,
        moved={
            key: AnnotatorSpread(
                arrays["annotators", key, "effects"],
                arrays["annotators", key, "noise"],
                places={n[2:-1]: of for n, of in arrays.items() if n[:2] == ("annotators", key) and n[-1] == PARTS},
                **one,
            )
            for key, one in described["annotators"].items()
        },
        prior=prior and PriorRecord(**fitted),
        calibration=described["calibration"] and restored_calibration(described["calibration"]),
        protocol=agreed and Protocol(agreed["text"], tuple(agreed["deviations"])),
        experts=described["experts"] and Experts.from_json(described["experts"]),
        lines=tuple(
            Curve(*(one[name] for name in WHOSE), *(arrays["curve", i, name] for name in POINTS))
            for i, one in enumerate(described["curves"])
        ),
        disputed=load(place / DISPUTED) if (place / DISPUTED).is_dir() else None,
    )


def check_arrays(arrays: Arrays, evaluation: Evaluation) -> None:
    """Refuse arrays whose shapes, types or signs cannot be those of the evaluation."""
    sizes: dict[Any, int] = {"m": len(evaluation.models), "n": len(evaluation.case_names)}
    sizes |= {("k", block): len(block_places(evaluation.metrics, block)) for block in (EACH, DATA_SET)}
    sizes |= {("k", last): len(evaluation.metrics) for last in (*NOISE, PARTS)}
    for (group, *rest), array in arrays.items():
        name, last = tuple(rest), str(rest[-1]) if rest else group
        is_of_block = last in (EACH, DATA_SET)
        is_sum = group == "sums" and (is_of_block or name[0] not in ("rows", "profile", "least"))
        what = "plausibilities" if name[:1] == ("profile",) and last == "means" else str(name[0]) if is_sum else last
        if group not in ("sums", "curve", "annotators") or what not in SHAPES:
            continue
        where = name[1:] if what == "weight" else name[1:-1] if group == "sums" else name[:-1]
        fits = array.dtype.kind in "biuf" and (array.ndim == len(SHAPES[what]) or what == "data")
        for letter, size in zip(SHAPES[what], array.shape, strict=False):
            key = (letter, last) if letter == "k" else letter if letter in "mn" else (letter, group, where)
            if letter == "r":
                sizes[key] = RESAMPLES if where[1:] == ALL else GROUP_RESAMPLES
            known = sizes["n"] * (size > 0) if letter == "?" else size if letter == "." else sizes.setdefault(key, size)
            fits &= size == (int(letter) if letter.isdecimal() else known) or (size == 1 and what == "cases")
        counts = array[1] if fits and what in ("draws", "resampled") else array if what in COUNTS else np.zeros(1)
        if not fits or not bool((counts >= 0).all()):
            raise ValueError(f"{' '.join(map(str, name))}: {array.dtype} of shape {array.shape}")
    categories = () if evaluation.categories is None else evaluation.categories.names
    for one in evaluation.profiles:
        n_rows = len(one.support) + len(one.support_sizes)
        codes = (one.support, evaluation.conditions), (one.category_winners, categories), (one.is_member, "01")
        is_known = all(((array >= 0) & (array < len(names))).all() for array, names in codes)
        if not is_known or (one.support_sizes.sum(), len(one.means)) != (len(one.support), n_rows):
            raise ValueError("what the draws say about cases is about other conditions")


def _receipt(described: Described) -> Receipt | None:
    return described.get("receipt") and Receipt.from_dict(described["receipt"])
