"""Results on disk: a directory that people, tables and this package can read, written whole or not at all.

Tables and JSON are for people and other programs. What is read back is ``run.json`` (names, specs and settings) and
``arrays.npz`` (numbers), so that an evaluation comes back exactly.

Schema, version 1. ``run.json`` says its format and version, the versions of the packages that computed the numbers, the
specs of all runs and metrics, the receipts of the files that were read (without the directories they were in), and the
SHA-256 of every file of numbers beside it; ``checksum`` is the SHA-256 of everything else in it. What does not fit is
refused. Results of an earlier version of the schema pass through :data:`MIGRATIONS`, one step per version.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path as FilePath
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dissensus.aggregation.base import restored_aggregation
from dissensus.core.aliases import Path
from dissensus.core.arguments import checked
from dissensus.core.bundle import bundled
from dissensus.core.bundle import restored as restored_bundle
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import checked_path, open_source
from dissensus.core.output import directory_written_whole, foreign_entry, write_parquet
from dissensus.core.receipt import Receipt
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.basis import Basis
from dissensus.evaluation.batches import EDGES
from dissensus.evaluation.calibration import Calibration, restored_calibration
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.curves import Curve
from dissensus.evaluation.data_set import Kept
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.labels import Labels
from dissensus.evaluation.material import Material
from dissensus.evaluation.refits import FitSums
from dissensus.evaluation.results import Evaluation, PriorRecord, Run, Shared
from dissensus.evaluation.tally import Resamples, Sums, Tally
from dissensus.evaluation.whole import Certainties, Whole
from dissensus.metrics.base import restored_metric
from dissensus.predictions.lists import DEVIATION, NUMBER, Predictions
from dissensus.study.panel import Panel
from dissensus.study.study import Study, restored_study

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Described: TypeAlias = dict[str, Any]
Added = TypeVar("Added", bound=Sums)

FORMAT, VERSION = "dissensus results", 1
"""What ``run.json`` says it is, and the version of the schema that is written."""

NUMBERS = ("summary.json", "per_case.parquet", "per_draw.parquet", "certainty.parquet", "arrays.npz")
FILES = (*NUMBERS, "run.json")
WHOLE, DISPUTED = "whole.bundle", "disputed"
"""Of more cases than are held: what is known of all of them, and the results of those with the least certainty. Their
tables by case are written shard by shard, into directories."""

DATA_SET = "data_set.bundle"
"""What metrics of a whole data set need, where there are any: labels of all draws, unless only some cases are held."""

OF_WHOLE = ("summary.json", "per_draw.parquet", "arrays.npz", WHOLE)
CLASSES = (Whole, Basis, Resamples, Tally, Certainties, Kept, Labels, Curve)
REPORT = "report.html"
PANEL = ("opinion_offsets", "annotators", "weights", "case_weights", "votes")
LISTS = ("offsets", "codes", "values")

Migration: TypeAlias = Callable[[Described, Arrays], tuple[Described, Arrays]]

MIGRATIONS: dict[int, Migration] = {}
"""By version of the schema: what turns its content into that of the next version."""


def save_evaluation(evaluation: Evaluation, directory: Path, *, overwrite: bool = False) -> None:
    """Write an evaluation into a directory."""
    with directory_written_whole(directory, overwrite=overwrite, foreign=not_results) as place:
        write_files(evaluation, place)


def not_results(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds results, perhaps their report, and nothing else."""
    try:
        described = json.loads((place / "run.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        described = None
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        return f"no run.json with the format {FORMAT!r}"
    return foreign_entry(place, (*FILES, DATA_SET, REPORT))


def write_files(evaluation: Evaluation, place: FilePath) -> None:
    """Write the files of an evaluation into a directory that exists."""
    (place / "summary.json").write_text(_json(summary_rows(evaluation)), encoding="utf-8")
    write_parquet(evaluation.per_draw(), place / "per_draw.parquet")
    if evaluation.whole is None:
        write_parquet(evaluation.per_case(), place / "per_case.parquet")
        write_parquet(evaluation.certainties(), place / "certainty.parquet")
    else:
        _write_whole(evaluation.whole, place)
    if evaluation.kept is not None:
        (place / DATA_SET).write_bytes(bundled(evaluation.kept))
    np.savez_compressed(place / "arrays.npz", allow_pickle=False, **_arrays(evaluation))
    described = _plain(
        {
            "format": FORMAT,
            "version": VERSION,
            **_described(evaluation),
            "files": _hashes(place, numbers_of(evaluation.whole is not None, evaluation.kept is not None)),
        }
    )
    (place / "run.json").write_text(_json({**described, "checksum": checksum(described)}), encoding="utf-8")


def numbers_of(is_whole: bool, has_data_set: bool) -> tuple[str, ...]:
    """Name the files of numbers: others where only some of the cases are held, or metrics see all of them."""
    return (*(OF_WHOLE if is_whole else NUMBERS), *([DATA_SET] if has_data_set else []))


def _write_whole(whole: Whole, place: FilePath) -> None:
    (place / WHOLE).write_bytes(bundled(replace(whole, disputed=None)))
    if whole.disputed is not None:
        (place / DISPUTED).mkdir()
        write_files(whole.disputed, place / DISPUTED)


@checked
def load_evaluation(directory: Path) -> Evaluation:
    """Read back what :meth:`Evaluation.save` wrote, exactly.

    Raises
    ------
    DissensusError
        If a file is missing, was changed after it was written, or belongs to a later version of the schema.

    Examples
    --------
    >>> import dissensus as ds, tempfile
    >>> said = ds.Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
    >>> result = ds.evaluate(said, {"A": [[0.7, 0.3]]}, aggregations=["dirichlet:1"], metrics=["top-k-accuracy:1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/results")
    ...     load_evaluation(f"{folder}/results") == result
    True
    """
    place = checked_path(directory)
    files = (*numbers_of((place / WHOLE).is_file(), (place / DATA_SET).is_file()), "run.json")
    missing = [name for name in files if not (place / name).is_file()]
    if missing:
        unfinished = "run.json" in missing and (place / "manifest.json").is_file()
        raise FormatError(
            "this is not a directory of results",
            expected=f"the files {', '.join(files)}",
            got="a run that is not finished" if unfinished else f"no {', '.join(missing)}",
            where=str(directory),
            advice="evaluate with --resume to finish it" if unfinished else "",
        )
    described = _verified(open_source(place / "run.json").content, place)
    return _restored_from(described, open_source(place / "arrays.npz").content, place)


def summary_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the tidy rows of the summary, with the interval as a pair."""
    rows = evaluation.to_frame().to_dicts()
    return [{**row, "interval": [row["low"], row["high"]]} for row in rows]


def _json(value: object) -> str:
    return json.dumps(_plain(value), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Replace what JSON cannot hold: a number that is not finite is missing."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Verification --------------------------------------------------------------------------------------------


def _hashes(place: FilePath, names: Iterable[str]) -> dict[str, str]:
    return {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in names}


def checksum(described: Mapping[str, Any]) -> str:
    """Hash everything that a file of JSON says but its checksum, whatever its spaces and the order of its keys."""
    rest = {key: value for key, value in described.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _verified(described: Any, place: FilePath) -> Described:
    """Return what ``run.json`` says if it is whole and fits the files beside it."""
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise FormatError(
            "these results have no format that is known",
            expected=f"a run.json with the format {FORMAT!r}",
            where=str(place),
            advice="results of versions before 0.2 cannot be read: evaluate again",
        )
    _check_version(described.get("version"), place)
    if described.get("checksum") != checksum(described):
        raise _changed("run.json", place)
    hashes = described.get("files")
    for name, found in _hashes(place, _named_numbers(described, place)).items():
        if not isinstance(hashes, dict) or hashes.get(name) != found:
            raise _changed(name, place)
    return described


def _named_numbers(described: Described, place: FilePath) -> tuple[str, ...]:
    """Name the files of numbers that ``run.json`` speaks of; one that is missing is told."""
    names = numbers_of(described.get("whole") is True, described.get("data_set") is True)
    missing = [name for name in names if not (place / name).is_file()]
    if missing:
        raise _changed(missing[0], place)
    return names


def _check_version(version: Any, place: FilePath) -> None:
    oldest = min(MIGRATIONS, default=VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or not oldest <= version <= VERSION:
        later = isinstance(version, int) and version > VERSION
        raise FormatError(
            "these results were written in another version of the schema",
            expected=f"{oldest} to {VERSION}" if oldest < VERSION else str(VERSION),
            got=repr(version),
            where=str(place / "run.json"),
            advice="update Dissensus" if later else "evaluate again",
        )


def _changed(name: str, place: FilePath) -> FormatError:
    return FormatError(
        "the results were changed or damaged after they were written",
        got="a checksum that does not fit",
        where=str(place / name),
        advice="evaluate again, or get the directory from where it was written",
    )


def _restored_from(described: Described, arrays: Any, place: FilePath) -> Evaluation:
    """Bring content up to the present version and restore it; whatever does not fit is one error."""
    try:
        for version in range(described["version"], VERSION):
            described, arrays = MIGRATIONS[version](described, arrays)
        restored = _restored(described, arrays)
        if described.get("data_set"):
            restored = replace(restored, kept=_restored_kept(place))
        return replace(restored, whole=_restored_whole(place)) if described.get("whole") else restored
    except DissensusError as error:
        raise error.at(str(place)) from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("the results do not fit together", got=repr(error), where=str(place)) from error


# What is written -----------------------------------------------------------------------------------------


def _described(evaluation: Evaluation) -> Described:
    return {
        "versions": dict(evaluation.versions),
        "seed": evaluation.seed,
        "level": evaluation.level,
        "runs": [run.record() for run in evaluation.runs],
        "points": [point.record() for point in evaluation.points],
        "metrics": [metric.record() for metric in evaluation.metrics],
        "excluded": list(evaluation.excluded),
        "labels": [list(key) for key in sorted(evaluation.stratum_tallies)],
        "findings": len(evaluation.findings),
        "annotators": [None if one is None else _spread_settings(one) for one in evaluation.annotators],
        "fits": [one is not None for one in evaluation.fits],
        "prior": None if evaluation.prior is None else asdict(evaluation.prior),
        "calibration": None if evaluation.calibration is None else evaluation.calibration.record(),
        "shared": evaluation.shared is not None,
        **({} if evaluation.whole is None else {"whole": True}),
        **({} if evaluation.kept is None else {"data_set": True}),
        "shared_annotators": _spread_settings(evaluation.shared.annotators)
        if evaluation.shared is not None and evaluation.shared.annotators is not None
        else None,
        **_described_material(evaluation.material),
    }


def _spread_settings(spread: AnnotatorSpread) -> Described:
    return {"scale": spread.scale, "n_annotators": spread.n_annotators}


def _described_material(material: Material) -> Described:
    study, categories = material.study, material.categories
    return {
        "inputs": dict(material.inputs),
        "study": {
            "kind": study.kind,
            "settings": study.settings(),
            "conditions": list(study.conditions),
            "receipt": _described_receipt(study.receipt),
        },
        "case_names": list(study.panel.case_names),
        "annotator_names": list(study.panel.annotator_names),
        "groups": list(study.panel.groups),
        "conditions": list(material.conditions),
        "categories": None
        if categories is None
        else {"names": list(categories.names), "levels": list(categories.levels)},
        "models": [
            {
                "name": name,
                "title": said.name,
                "kind": said.kind,
                "complete": said.complete,
                "receipt": _described_receipt(said.receipt),
            }
            for name, said in material.predictions.items()
        ],
        "strata": {column: list(labels) for column, labels in material.strata.items()},
        "images": list(material.images),
    }


def _described_receipt(receipt: Receipt | None) -> Described | None:
    return None if receipt is None else {**receipt.to_dict(), "path": FilePath(receipt.path).name}


def _arrays(evaluation: Evaluation) -> dict[str, npt.NDArray[Any]]:
    arrays = {f"case_{name}": getattr(evaluation, f"case_{name}") for name in ("means", "deviations", "shares")}
    for kind, sums in _named_sums(evaluation):
        arrays.update({f"{kind} {part.name}": getattr(sums, part.name) for part in fields(sums)})
    for name, resamples in _named_resamples(evaluation):
        arrays.update({f"{name} {part.name}": np.float32(getattr(resamples, part.name)) for part in fields(resamples)})
    for name, spread in _named_spreads(evaluation):
        arrays.update({f"{name} effects": spread.effects, f"{name} noise": spread.noise})
    if evaluation.shared is not None:
        arrays["shared means"] = evaluation.shared.means
    known: dict[bytes, str] = {}
    for number, found in enumerate(evaluation.findings):
        for part in fields(found):
            _add_once(arrays, f"findings {number} {part.name}", getattr(found, part.name), known)
    return {**arrays, **_material_arrays(evaluation.material)}


def _add_once(arrays: dict[str, npt.NDArray[Any]], name: str, array: npt.NDArray[Any], known: dict[bytes, str]) -> None:
    """Add an array; if the same one is there already, what is added is its name."""
    content = hashlib.sha256(repr((array.shape, array.dtype.str)).encode() + array.tobytes()).digest()
    first = known.setdefault(content, name)
    arrays[name] = array if first == name else np.array(first)


def _named_sums(evaluation: Evaluation) -> Iterator[tuple[str, Sums]]:
    named: dict[str, tuple[Sums | None, ...]] = {
        "run": evaluation.tallies,
        "point": evaluation.point_tallies,
        **{f"stratum {i}": evaluation.stratum_tallies[key] for i, key in enumerate(sorted(evaluation.stratum_tallies))},
        **{f"category {i}": tallies for i, tallies in enumerate(evaluation.category_tallies.values())},
        **{f"bin {i}": tallies for i, tallies in enumerate(evaluation.bin_tallies)},
        "fit": evaluation.fits,
    }
    places = ((kind, i, one) for kind, sums in named.items() for i, one in enumerate(sums))
    return ((f"{kind} {i}", one) for kind, i, one in places if one is not None)


def _named_resamples(evaluation: Evaluation) -> Iterator[tuple[str, Resamples]]:
    of_categories = enumerate(evaluation.category_resamples.values())
    return ((f"resamples {c} {i}", one) for c, of_runs in of_categories for i, one in enumerate(of_runs))


def _named_spreads(evaluation: Evaluation) -> Iterator[tuple[str, AnnotatorSpread]]:
    named = {f"annotators {place}": one for place, one in enumerate(evaluation.annotators)}
    named["shared annotators"] = None if evaluation.shared is None else evaluation.shared.annotators
    return ((name, spread) for name, spread in named.items() if spread is not None)


def _material_arrays(material: Material) -> dict[str, npt.NDArray[Any]]:
    arrays = {f"panel {name}": getattr(material.study.panel, name) for name in PANEL}
    arrays.update({f"study {name}": array for name, array in material.study.arrays().items()})
    for number, said in enumerate(material.predictions.values()):
        arrays.update({f"model {number} {name}": getattr(said, name) for name in LISTS})
    if material.categories is not None:
        arrays["categories"] = material.categories.codes
    return arrays


# What is read back ---------------------------------------------------------------------------------------


def _restored(described: Described, arrays: Arrays) -> Evaluation:
    material = _restored_material(described, arrays)
    runs = tuple(
        Run(
            restored_aggregation(run["spec"]),
            run["aggregation"],
            run["n_draws"],
            run["n_chains"],
            run.get("fitted", {}),
        )
        for run in described["runs"]
    )
    held = sorted({(column, label) for column, labels in material.strata.items() for label in labels})
    keys = [(column, label) for column, label in described.get("labels", held)]
    names = () if material.categories is None else material.categories.names
    n_findings = described["findings"]
    return Evaluation(
        runs=runs,
        points=tuple(restored_aggregation(point) for point in described["points"]),
        metrics=tuple(restored_metric(metric) for metric in described["metrics"]),
        material=material,
        excluded=tuple(described["excluded"]),
        tallies=_sums(Tally, arrays, "run", len(runs)),
        point_tallies=_sums(Tally, arrays, "point", len(described["points"])),
        case_means=arrays["case_means"],
        case_deviations=arrays["case_deviations"],
        case_shares=arrays["case_shares"],
        findings=tuple(_restored_findings(arrays, run) for run in range(n_findings)),
        stratum_tallies={key: _sums(Tally, arrays, f"stratum {i}", len(runs)) for i, key in enumerate(keys)},
        category_tallies={name: _sums(Tally, arrays, f"category {i}", len(runs)) for i, name in enumerate(names)},
        category_resamples={
            name: _sums(Resamples, arrays, f"resamples {i}", len(runs)) for i, name in enumerate(names)
        },
        bin_tallies=tuple(_sums(Tally, arrays, f"bin {i}", len(runs)) for i in range(len(EDGES) - 1) if n_findings),
        annotators=tuple(
            _restored_spread(one, arrays, f"annotators {place}") for place, one in enumerate(described["annotators"])
        ),
        fits=tuple(
            _restored_sums(FitSums, arrays, f"fit {place}") if there else None
            for place, there in enumerate(described.get("fits", ()))
        ),
        prior=_restored_prior(described.get("prior")),
        shared=_restored_shared(described, arrays),
        calibration=_restored_calibration(described.get("calibration")),
        level=described["level"],
        seed=described["seed"],
        versions=described["versions"],
    )


def _restored_whole(place: FilePath) -> Whole:
    found = restored_bundle((place / WHOLE).read_bytes(), CLASSES)
    if not isinstance(found, Whole):
        raise FormatError("the results do not fit together", got=f"a {type(found).__name__}", where=str(place / WHOLE))
    disputed = place / DISPUTED
    return replace(found, disputed=load_evaluation(disputed) if disputed.is_dir() else None)


def _restored_kept(place: FilePath) -> Kept:
    found = restored_bundle((place / DATA_SET).read_bytes(), CLASSES)
    if not isinstance(found, Kept):
        kind = type(found).__name__
        raise FormatError("the results do not fit together", got=f"a {kind}", where=str(place / DATA_SET))
    return found


def _restored_spread(settings: Described | None, arrays: Arrays, name: str) -> AnnotatorSpread | None:
    if settings is None:
        return None
    return AnnotatorSpread(
        arrays[f"{name} effects"], arrays[f"{name} noise"], settings["scale"], settings["n_annotators"]
    )


def _restored_shared(described: Described, arrays: Arrays) -> Shared | None:
    if not described["shared"]:
        return None
    spread = _restored_spread(described["shared_annotators"], arrays, "shared annotators")
    return Shared(arrays["shared means"], spread)


def _restored_material(described: Described, arrays: Arrays) -> Material:
    conditions = tuple(described["conditions"])
    grouping = described["categories"]
    return Material(
        study=_restored_study(described, arrays),
        conditions=conditions,
        predictions={
            model["name"]: _restored_lists(described, arrays, number)
            for number, model in enumerate(described["models"])
        },
        categories=None
        if grouping is None
        else Categories(conditions, tuple(grouping["names"]), arrays["categories"], tuple(grouping["levels"])),
        strata={column: tuple(labels) for column, labels in described["strata"].items()},
        images=tuple(described["images"]),
        inputs=described["inputs"],
    )


def _restored_study(described: Described, arrays: Arrays) -> Study:
    offsets, annotators, weights, case_weights, votes = (arrays[f"panel {name}"] for name in PANEL)
    names, groups = tuple(described["annotator_names"]), tuple(described["groups"])
    panel = Panel(tuple(described["case_names"]), offsets, annotators, names, weights, groups, case_weights, votes)
    study = described["study"]
    own = {name.removeprefix("study "): array for name, array in arrays.items() if name.startswith("study ")}
    parts = {"conditions": study["conditions"], "settings": study["settings"], "arrays": own}
    return restored_study(study["kind"], panel, **parts).with_receipt(_restored_receipt(study))


def _restored_receipt(described: Described) -> Receipt | None:
    """Restore the receipt of a study or of a model; results from before there were any have none."""
    given = described.get("receipt")
    return None if given is None else Receipt.from_dict(given)


def _restored_lists(described: Described, arrays: Arrays, number: int) -> Predictions:
    model = described["models"][number]
    offsets, codes, values = (arrays[f"model {number} {name}"] for name in LISTS)
    names, conditions = tuple(described["case_names"]), tuple(described["conditions"])
    if model["kind"] == "numbers":
        conditions = (NUMBER, DEVIATION) if len(codes) > len(names) else (NUMBER,)
    parts = (model["title"], model["kind"], conditions, names, offsets, codes, values, model["complete"])
    return Predictions(*parts).with_receipt(_restored_receipt(model))


def _sums(kind: type[Added], arrays: Arrays, name: str, count: int) -> tuple[Added, ...]:
    return tuple(_restored_sums(kind, arrays, f"{name} {number}") for number in range(count))


def _restored_sums(kind: type[Added], arrays: Arrays, name: str) -> Added:
    return kind(*(np.float64(arrays[f"{name} {part.name}"]) for part in fields(kind)))


def _restored_prior(described: Described | None) -> PriorRecord | None:
    """Restore how models inform the prior; results from before there was one have none."""
    if described is None:
        return None
    lists = {name: tuple(described[name]) for name in ("models", "concentrations", "warnings")}
    return PriorRecord(reason=described["reason"], **lists)


def _restored_calibration(described: Described | None) -> Calibration | None:
    return None if described is None else restored_calibration(described)


def _restored_findings(arrays: Arrays, run: int) -> Findings:
    return Findings(*(_followed(arrays, f"findings {run} {part.name}") for part in fields(Findings)))


def _followed(arrays: Arrays, name: str) -> npt.NDArray[Any]:
    array = arrays[name]
    return arrays[str(array)] if array.dtype.kind == "U" else array
