"""Random studies as tables of rows, evaluated at once in memory and piece by piece; everything that must be equal."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dissensus as ds
from dissensus.evaluation.sentences import decision, settled
from dissensus.pieces.evaluation import evaluate_files
from voted_studies import CONDITIONS, voted_study


@dataclass(frozen=True)
class Files:
    """Tables of a study, of models and of labels, in the order of their rows.

    Attributes
    ----------
    study, models, strata, truth
        The rows.
    reading
        Options of the readers.
    """

    study: pl.DataFrame
    models: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    strata: pl.DataFrame | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    truth: pl.DataFrame | None = None

    def at_once(self, folder: Path, **asked: Any) -> ds.Evaluation:
        """Evaluate in memory what single files hold."""
        folder.mkdir(parents=True, exist_ok=True)
        own = ("allow_missing", "kinds", "positive")
        missing, kinds, positive = (self.reading.get(name) for name in own)
        self.study.write_parquet(folder / "study.parquet")
        study = ds.read(folder / "study.parquet", **{name: self.reading[name] for name in {*self.reading} - {*own}})
        how: dict[str, Any] = {"conditions": study.conditions or None, "cases": study.case_names, "positive": positive}
        how["allow_missing"], models = bool(missing), dict[str, ds.Predictions]()
        for name, frame in self.models.items():
            frame.write_parquet(folder / "model.parquet")
            kind = (kinds or {}).get(name)
            models[name] = ds.read_predictions(folder / "model.parquet", name=name, kind=kind, **how)
        asked["truth"] = None if self.truth is None else dict(self.truth.iter_rows())
        return ds.evaluate(study, models, strata=self.labels(study.case_names), allow_missing=bool(missing), **asked)

    def labels(self, names: tuple[str, ...]) -> dict[str, list[str]] | None:
        """Return the labels of cases in their order."""
        if self.strata is None:
            return None
        rows = {str(row["case"]): row for row in self.strata.iter_rows(named=True)}
        columns = self.strata.drop("case").columns
        return {column: [str(rows[name][column]) for name in names] for column in columns}

    def written(self, folder: Path, n_files: int = 2) -> dict[str, Any]:
        """Write every table into some files of a directory of its own; arguments of :func:`evaluate_files`."""
        tables = {"study": self.study, **{f"{name} said": frame for name, frame in self.models.items()}}
        beside = {name: one for name, one in (("strata", self.strata), ("truth", self.truth)) if one is not None}
        for name, frame in (tables | beside).items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for number in range(n_files):
                first, end = number * len(frame) // n_files, (number + 1) * len(frame) // n_files
                frame[first:end].write_parquet(folder / name / f"{number}.parquet")
        return {
            "study": folder / "study",
            "predictions": {name: folder / f"{name} said" for name in self.models},
            **{name: folder / name for name in beside},
            "reading": dict(self.reading),
        }

    def in_pieces(self, folder: Path, *, n_files: int = 2, **asked: Any) -> ds.Evaluation:
        """Evaluate piece by piece; the run is in the directory ``run``."""
        given = self.written(folder, n_files)
        return evaluate_files(given.pop("study"), given.pop("predictions"), folder / "run", **given, **asked)


# What must be equal -------------------------------------------------------------------------------------


def tables_of(result: ds.Evaluation) -> dict[str, Any]:
    """Return everything that is said about all cases, by name."""
    found = {
        "runs": [(run.label, run.n_draws, run.n_chains, dict(run.fitted)) for run in result.runs],
        "cases": (result.n_cases, result.n_excluded, result.n_groups, result.conditions),
        "point_estimates": result.point_estimates(),
        "per_draw": result.per_draw(),
        "certainty_counts": [counts._asdict() for counts in result.certainty_counts],
        "by_certainty": result.by_certainty(),
        "warnings": [EXAMPLES.sub("", warning) for warning in result.warnings],
        "told": (settled(result), *(decision(result) if result.models else ())),
    }
    if result.models:
        found |= {"to_frame": result.to_frame(), "per_resample": result.per_resample()}
        found |= {f"by_group {column}": result.by_group(column) for column in result.strata}
        found["prior"] = result.prior
    if result.models and result.categories is not None:
        found["by_category"] = result.by_category()
    if len(result.models) > 1:
        compared = result.compare()
        found |= {"compared": compared.to_frame(), "ranks": compared.rank_frame()}
    return found


EXAMPLES = re.compile(r": '[^\n]*$")
"""Names of cases, which are the first ones of the files, or of the sample."""


def differences(one: ds.Evaluation, other: ds.Evaluation) -> Iterator[str]:
    """Say which of the tables differ, beyond what another order of adding does to the last digits."""
    first, second = tables_of(one), tables_of(other)
    assert first.keys() == second.keys()
    for name, table in first.items():
        where = apart(plain(table), plain(second[name]))
        if where is not None:
            yield f"{name}: {where:.1500}"


def plain(value: Any) -> Any:
    """Return a table as lists and mappings, and other values as they are."""
    return [*value.to_dicts(), list(map(str, value.dtypes))] if isinstance(value, pl.DataFrame) else value


def apart(one: Any, other: Any, least: float = 1e-12) -> str | None:
    """Say where two values differ by more than the least; nothing if they do not."""
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=1e-9, abs_tol=least) or (math.isnan(one) and math.isnan(other))
        return None if same else f"{one!r} != {other!r}"
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        # refits are found by finite differences: what they add is known to so many digits
        found = ((key, apart(one[key], other[key], 1e-7 if key == "fit_sd" else 1e-12)) for key in one)
        return next((f"{key}: {told} in {one}" for key, told in found if told is not None), None)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return next((told for told in map(apart, one, other) if told is not None), None)
    return None if repr(one) == repr(other) else f"{one!r} != {other!r}"


def by_case(run: Path, kind: str) -> pl.DataFrame:
    """Read the tables by case of all pieces, in the order of their columns."""
    return sorted_rows(pl.concat([pl.read_parquet(file) for file in sorted((run / kind).glob("*.parquet"))]))


def sorted_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Sort rows, so that the order of cases does not matter; categories are text."""
    plain = table.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return plain.sort(plain.columns)


def notes_of(result: ds.Evaluation) -> list[Any]:
    """Return what receipts say, but for the paths, the rows that are shown, and the order of notes and examples."""
    told = [sorted((one.found, one.count, one.action, one.lost) for one in own.notes) for own in result.receipts]
    return [(own.format, notes, sorted(own.assumed)) for own, notes in zip(result.receipts, told, strict=True)]


# Random studies -----------------------------------------------------------------------------------------


def random_files(seed: int, **reading: Any) -> Files:
    """Make a study of ties, abstentions, weights, votes and groups, with large weights of cases, and models."""
    rng, n_cases = np.random.default_rng(seed), 60
    study = voted_study(seed, n_cases=n_cases).to_frame().with_columns(pl.col("case_weight") * 1e6)
    cases, scores = [str(place) for place in range(n_cases)], rng.random((n_cases, len(CONDITIONS)))
    chances = scores**3 / np.sum(scores**3, axis=1, keepdims=True)
    tables = {"scores": scores, "logits": 3 * rng.normal(size=scores.shape), "probabilities": chances}
    models = {
        name: pl.DataFrame(own, CONDITIONS).insert_column(0, pl.Series("case", cases)) for name, own in tables.items()
    }
    rows = models["scores"].unpivot(index="case", variable_name="condition", value_name="score")
    place = pl.col("score").rank("ordinal", descending=True).over("case").alias("rank")
    models["short"] = rows.filter(place <= 1 + pl.col("case").cast(int) % 3)
    models["ranking"] = rows.select("case", "condition", place).filter(pl.col("rank") < 4)
    if reading.get("allow_missing"):
        lacking = {name: pl.col("case").cast(int) % (5 + place) > 0 for place, name in enumerate(models)}
        models = {name: one.filter(lacking[name]) for name, one in models.items()}
    strata = pl.DataFrame({"case": cases, "site": ["rare", *rng.choice(["north", "south"], n_cases - 1)]})
    return Files(_shuffled(rng, study), {name: _shuffled(rng, one) for name, one in models.items()}, strata, reading)


def _shuffled(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    return frame[rng.permutation(len(frame))]


def share_of_hits(scores: Any, labels: Any, weights: Any) -> Any:
    """Be a metric of a user: how often the label has the highest score."""
    return np.average(labels == scores.argmax(axis=1), axis=1, weights=weights)
