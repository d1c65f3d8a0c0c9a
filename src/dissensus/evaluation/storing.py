"""Results on disk: a directory that people, tables and this package can read, written whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.metadata import version
from typing import Any

import numpy as np

from dissensus.errors import FormatError
from dissensus.evaluation.results import Evaluation, Measure, Run
from dissensus.evaluation.tally import Tally
from dissensus.files import checked_path, directory_written_whole, open_source
from dissensus.typing import FloatArray, Path

FILES = ("summary.json", "per_case.parquet", "per_draw.parquet", "run.json", "tally.npz")
VERSIONED = ("dissensus", "numpy", "numba", "polars", "scipy")
PARTS = tuple(part.name for part in fields(Tally))


def save_evaluation(
    evaluation: Evaluation, directory: Path, *, overwrite: bool = False, inputs: Mapping[str, str] | None = None
) -> None:
    """Write an evaluation into a directory; ``inputs`` are hashes of the files it came from."""
    with directory_written_whole(directory, overwrite=overwrite) as place:
        (place / "summary.json").write_text(_json(summary_rows(evaluation)), encoding="utf-8")
        (place / "run.json").write_text(_json(_described(evaluation, inputs or {})), encoding="utf-8")
        evaluation.per_case().write_parquet(place / "per_case.parquet")
        evaluation.per_draw().write_parquet(place / "per_draw.parquet")
        np.savez(place / "tally.npz", allow_pickle=False, **_arrays(evaluation))


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
    arrays = open_source(place / "tally.npz").content
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


def _described(evaluation: Evaluation, inputs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "versions": {name: version(name) for name in VERSIONED},
        "seed": evaluation.seed,
        "level": evaluation.level,
        "inputs": dict(inputs),
        "runs": [asdict(run) for run in evaluation.runs],
        "points": [asdict(run) for run in evaluation.points],
        "models": list(evaluation.models),
        "metrics": [asdict(measure) for measure in evaluation.measures],
        "case_names": list(evaluation.case_names),
        "excluded": list(evaluation.excluded),
        "strata": {column: list(labels) for column, labels in evaluation.strata.items()},
    }


def _arrays(evaluation: Evaluation) -> dict[str, FloatArray]:
    arrays = {"case_means": evaluation.case_means, "case_deviations": evaluation.case_deviations}
    for kind, tallies in (("run", evaluation.tallies), ("point", evaluation.point_tallies)):
        for number, tally in enumerate(tallies):
            arrays.update({f"{kind} {number} {part}": getattr(tally, part) for part in PARTS})
    for stratum, key in enumerate(sorted(evaluation.stratum_tallies)):
        for number, tally in enumerate(evaluation.stratum_tallies[key]):
            arrays.update({f"stratum {stratum} {number} {part}": getattr(tally, part) for part in PARTS})
    return arrays


def _restored(described: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> Evaluation:
    runs = tuple(Run(**run) for run in described["runs"])
    points = tuple(Run(**run) for run in described["points"])
    strata = {column: tuple(labels) for column, labels in described["strata"].items()}
    keys = sorted({(column, label) for column, labels in strata.items() for label in labels})
    return Evaluation(
        runs=runs,
        points=points,
        models=tuple(described["models"]),
        measures=tuple(Measure(**measure) for measure in described["metrics"]),
        case_names=tuple(described["case_names"]),
        excluded=tuple(described["excluded"]),
        tallies=tuple(_tally(arrays, f"run {number}") for number in range(len(runs))),
        point_tallies=tuple(_tally(arrays, f"point {number}") for number in range(len(points))),
        case_means=arrays["case_means"],
        case_deviations=arrays["case_deviations"],
        strata=strata,
        stratum_tallies={
            key: tuple(_tally(arrays, f"stratum {stratum} {number}") for number in range(len(runs)))
            for stratum, key in enumerate(keys)
        },
        level=described["level"],
        seed=described["seed"],
    )


def _tally(arrays: Mapping[str, FloatArray], name: str) -> Tally:
    return Tally(*(arrays[f"{name} {part}"] for part in PARTS))
