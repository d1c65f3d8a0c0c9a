"""Results on disk: a directory that people, tables and this package can read, written whole or not at all.

Tables and JSON are for people and other programs. What is read back is ``run.json`` (names and settings) and
``arrays.npz`` (numbers), so that an evaluation comes back exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError
from dissensus.core.files import checked_path, directory_written_whole, open_source
from dissensus.evaluation.batches import EDGES
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.material import Material
from dissensus.evaluation.results import Evaluation, Measure, Run
from dissensus.evaluation.tally import Tally
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import Panel
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings

Arrays = Mapping[str, npt.NDArray[Any]]

FILES = ("summary.json", "per_case.parquet", "per_draw.parquet", "certainty.parquet", "run.json", "arrays.npz")
PANEL = ("opinion_offsets", "annotators", "weights", "case_weights")
RANKINGS = ("block_offsets", "code_offsets", "codes")
LISTS = ("offsets", "codes", "values")


def save_evaluation(evaluation: Evaluation, directory: Path, *, overwrite: bool = False) -> None:
    """Write an evaluation into a directory."""
    with directory_written_whole(directory, overwrite=overwrite) as place:
        write_files(evaluation, place)


def write_files(evaluation: Evaluation, place: FilePath) -> None:
    """Write the files of an evaluation into a directory that exists."""
    (place / "summary.json").write_text(_json(summary_rows(evaluation)), encoding="utf-8")
    (place / "run.json").write_text(_json(_described(evaluation)), encoding="utf-8")
    evaluation.per_case().write_parquet(place / "per_case.parquet")
    evaluation.per_draw().write_parquet(place / "per_draw.parquet")
    evaluation.certainties().write_parquet(place / "certainty.parquet")
    np.savez(place / "arrays.npz", allow_pickle=False, **_arrays(evaluation))


def load_evaluation(directory: Path) -> Evaluation:
    """Read back what :meth:`Evaluation.save` wrote, exactly."""
    place = checked_path(directory)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise FormatError(
            "this is not a directory of results",
            expected=f"the files {', '.join(FILES)}",
            got=f"no {', '.join(missing)}",
            where=str(directory),
        )
    described = open_source(place / "run.json").content
    arrays = open_source(place / "arrays.npz").content
    return _restored(described, arrays)


def summary_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the tidy rows of the summary, with the interval as a pair."""
    rows = evaluation.to_frame().to_dicts()
    return [{**row, "interval": [row["low"], row["high"]]} for row in rows]


def _json(value: object) -> str:
    return json.dumps(_plain(value), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Replace what JSON cannot hold: a number that is not finite is missing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# What is written -----------------------------------------------------------------------------------------


def _described(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "versions": evaluation.versions,
        "seed": evaluation.seed,
        "level": evaluation.level,
        "runs": [asdict(run) for run in evaluation.runs],
        "points": [asdict(run) for run in evaluation.points],
        "metrics": [asdict(measure) for measure in evaluation.metrics],
        "excluded": list(evaluation.excluded),
        **_described_material(evaluation.material),
    }


def _described_material(material: Material) -> dict[str, Any]:
    study, panel, categories = material.study, material.study.panel, material.categories
    return {
        "inputs": dict(material.inputs),
        "case_names": list(panel.case_names),
        "annotator_names": list(panel.annotator_names),
        "groups": list(panel.groups),
        "unranked": study.unranked if isinstance(study, Annotations) else None,
        "conditions": list(material.conditions),
        "categories": None
        if categories is None
        else {"names": list(categories.names), "levels": list(categories.levels)},
        "models": [
            {"name": name, "title": said.name, "kind": said.kind, "complete": said.complete}
            for name, said in material.predictions.items()
        ],
        "strata": {column: list(labels) for column, labels in material.strata.items()},
        "images": list(material.images),
    }


def _arrays(evaluation: Evaluation) -> dict[str, npt.NDArray[Any]]:
    arrays = {"case_means": evaluation.case_means, "case_deviations": evaluation.case_deviations}
    named = {
        "run": evaluation.tallies,
        "point": evaluation.point_tallies,
        **{f"stratum {i}": evaluation.stratum_tallies[key] for i, key in enumerate(sorted(evaluation.stratum_tallies))},
        **{f"category {i}": tallies for i, tallies in enumerate(evaluation.category_tallies.values())},
        **{f"bin {i}": tallies for i, tallies in enumerate(evaluation.bin_tallies)},
    }
    for kind, tallies in named.items():
        for number, tally in enumerate(tallies):
            arrays.update({f"{kind} {number} {part.name}": getattr(tally, part.name) for part in fields(tally)})
    for number, found in enumerate(evaluation.findings):
        arrays.update({f"findings {number} {part.name}": getattr(found, part.name) for part in fields(found)})
    return {**arrays, **_material_arrays(evaluation.material)}


def _material_arrays(material: Material) -> dict[str, npt.NDArray[Any]]:
    study = material.study
    arrays = {"support_offsets": material.support_offsets, "support": material.support}
    arrays.update({f"panel {name}": getattr(study.panel, name) for name in PANEL})
    arrays.update({f"study {name}": getattr(study, name) for name in _parts_of(study)})
    for number, said in enumerate(material.predictions.values()):
        arrays.update({f"model {number} {name}": getattr(said, name) for name in LISTS})
    if material.categories is not None:
        arrays["categories"] = material.categories.codes
    return arrays


def _parts_of(study: Annotations | Ratings) -> Sequence[str]:
    return RANKINGS if isinstance(study, Annotations) else ("scores",)


# What is read back ---------------------------------------------------------------------------------------


def _restored(described: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    material = _restored_material(described, arrays)
    runs = tuple(Run(**run) for run in described["runs"])
    points = tuple(Run(**run) for run in described["points"])
    keys = sorted({(column, label) for column, labels in material.strata.items() for label in labels})
    names = () if material.categories is None else material.categories.names
    has_findings = f"findings 0 {fields(Findings)[0].name}" in arrays
    return Evaluation(
        runs=runs,
        points=points,
        measures=tuple(Measure(**measure) for measure in described["metrics"]),
        material=material,
        excluded=tuple(described["excluded"]),
        tallies=_tallies(arrays, "run", len(runs)),
        point_tallies=_tallies(arrays, "point", len(points)),
        case_means=arrays["case_means"],
        case_deviations=arrays["case_deviations"],
        findings=tuple(_restored_findings(arrays, run) for run in range(len(runs) if has_findings else 0)),
        stratum_tallies={key: _tallies(arrays, f"stratum {i}", len(runs)) for i, key in enumerate(keys)},
        category_tallies={name: _tallies(arrays, f"category {i}", len(runs)) for i, name in enumerate(names)},
        bin_tallies=tuple(_tallies(arrays, f"bin {i}", len(runs)) for i in range(len(EDGES) - 1) if has_findings),
        level=described["level"],
        seed=described["seed"],
    )


def _restored_material(described: Mapping[str, Any], arrays: Arrays) -> Material:
    conditions = tuple(described["conditions"])
    grouping = described["categories"]
    return Material(
        study=_restored_study(described, arrays),
        conditions=conditions,
        support_offsets=arrays["support_offsets"],
        support=arrays["support"],
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


def _restored_study(described: Mapping[str, Any], arrays: Arrays) -> Annotations | Ratings:
    offsets, annotators, weights, case_weights = (arrays[f"panel {name}"] for name in PANEL)
    names, groups = tuple(described["annotator_names"]), tuple(described["groups"])
    panel = Panel(tuple(described["case_names"]), offsets, annotators, names, weights, groups, case_weights)
    if described["unranked"] is None:
        return Ratings(panel, arrays["study scores"])
    blocks, mentions, codes = (arrays[f"study {name}"] for name in RANKINGS)
    return Annotations(tuple(described["conditions"]), panel, blocks, mentions, codes, described["unranked"])


def _restored_lists(described: Mapping[str, Any], arrays: Arrays, number: int) -> Predictions:
    model = described["models"][number]
    offsets, codes, values = (arrays[f"model {number} {name}"] for name in LISTS)
    names, conditions = tuple(described["case_names"]), tuple(described["conditions"])
    return Predictions(model["title"], model["kind"], conditions, names, offsets, codes, values, model["complete"])


def _tallies(arrays: Arrays, kind: str, count: int) -> tuple[Tally, ...]:
    names = [part.name for part in fields(Tally)]
    return tuple(Tally(*(arrays[f"{kind} {number} {name}"] for name in names)) for number in range(count))


def _restored_findings(arrays: Arrays, run: int) -> Findings:
    return Findings(*(arrays[f"findings {run} {part.name}"] for part in fields(Findings)))
