"""Random studies as tables of rows, evaluated at once in memory and piece by piece; everything that must be equal."""

import json
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

GROUPS = ("none", "few", "many", "own", "one")
MODELS = ("scores", "probabilities", "logits", "ranking", "set", "short")


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
        "summary": json.dumps(result.to_frame().to_dicts()),
        "runs": [(run.label, run.n_draws, run.n_chains, dict(run.fitted)) for run in result.runs],
        "cases": (result.n_cases, result.n_excluded, result.n_groups, result.conditions),
        "point_estimates": result.point_estimates(),
        "per_draw": result.per_draw(),
        "certainty_counts": [counts._asdict() for counts in result.certainty_counts],
        "by_certainty": result.by_certainty(),
        "warnings": without_examples(result.warnings),
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


def without_examples(warnings: tuple[str, ...]) -> list[str]:
    """Cut off the names of cases, which are the first ones of the files, or of the sample."""
    return [EXAMPLES.sub("", warning) for warning in warnings]


def differences(one: ds.Evaluation, other: ds.Evaluation) -> Iterator[str]:
    """Say which of the tables differ, beyond what another order of adding does to the last digits."""
    first, second = tables_of(one), tables_of(other)
    assert first.keys() == second.keys()
    for name, table in first.items():
        if isinstance(table, pl.DataFrame) and table.equals(second[name]):
            continue
        where = apart(plain(table), plain(second[name]))
        if where is not None:
            yield f"{name}: {where:.1500}"


def plain(value: Any) -> Any:
    """Return a value as lists, mappings, numbers and text."""
    if isinstance(value, pl.DataFrame):
        return [{**dict(zip(value.columns, map(str, value.dtypes), strict=True))}, *value.to_dicts()]
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value


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


def random_files(seed: int) -> Files:
    """Make a study: ties, abstentions, cases without opinions, weights, votes, groups, and models of every kind."""
    rng = np.random.default_rng(seed)
    n_cases = int(rng.choice([1, 3, 12, 40, 110, 160]))
    n_conditions = int(rng.choice([2, 3, 5, 17, 60]))
    conditions = [f"K{place:02}" for place in range(n_conditions)]
    cases = _case_names(rng, n_cases)
    study = _study(rng, cases, conditions)
    is_listed = rng.random() < 0.5
    if not is_listed:
        conditions = sorted(study["condition"].drop_nulls().unique())
    allow = bool(rng.random() < 0.3)
    some = ["set"] if rng.random() < 0.15 else [kind for kind in MODELS if kind != "set"]
    kinds = [str(kind) for kind in rng.permutation(some)[: rng.integers(0, 4)]]
    models = {f"M {kind}": _model(rng, kind, cases, conditions, lacking=allow) for kind in kinds}
    strata = None
    if rng.random() < 0.5:
        labels = np.where(rng.random(n_cases) < 0.05, "rare", rng.choice(["north", "south"], n_cases))
        strata = pl.DataFrame({"case": cases, "site": labels, "sex": rng.choice(["f", "m"], n_cases)})
    reading: dict[str, Any] = {"allow_missing": True} if allow else {}
    if rng.random() < 0.3:
        reading["unranked"] = "unobserved"
    if is_listed:
        reading["conditions"] = tuple(conditions)
    reading["kinds"] = {"M set": "set"} if "set" in kinds else {}
    return Files(_shuffled(rng, study), {n: _shuffled(rng, m) for n, m in models.items()}, strata, reading)


def _shuffled(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    return frame[rng.permutation(len(frame))] if rng.random() < 0.7 else frame


def _case_names(rng: np.random.Generator, n_cases: int) -> list[Any]:
    style = rng.integers(4)
    if style == 0:
        return [int(number) for number in rng.choice(10 * n_cases, n_cases, replace=False)]
    if style == 1:
        return [f"Fäll {number} 🦠" * int(1 + 20 * (number == 2)) for number in range(n_cases)]
    return [f"case {number}" for number in range(n_cases)]


def _study(rng: np.random.Generator, cases: list[Any], conditions: list[str]) -> pl.DataFrame:
    named, weighted, voted = rng.random(3) < [0.7, 0.3, 0.3]
    grouping, largest = str(rng.choice(GROUPS)), float(rng.choice([0, 3, 1e4, 1e7]))
    n_people, rows = int(rng.choice([3, 30])), []
    for place, case in enumerate(cases):
        weight = float(np.round(rng.random() * largest, 3)) + 0.001 if largest else 1.0
        of_case = {"case": case, "group": _group(grouping, place), "case_weight": weight}
        for opinion in range(int(rng.integers(0, 5)) or (place == 0)):
            of_opinion = {
                **of_case,
                "annotation": opinion + 1,
                "annotator": f"Dr {(place + 7 * opinion) % n_people}" if named and rng.random() < 0.9 else None,
                "weight": float(rng.choice([0.5, 1.0, 2.25])) if weighted else 1.0,
                "votes": 1,
            }
            if of_opinion["annotator"] is None and voted:
                of_opinion["votes"] = int(rng.integers(1, 6))
            order = rng.permutation(min(len(conditions), 8))[: rng.integers(1, 5)]
            ranks = np.sort(rng.integers(1, 4, len(order)))
            for code, rank in zip(order, ranks, strict=True):
                rows.append({**of_opinion, "condition": conditions[code], "rank": int(rank)})
            if not len(order):
                rows.append({**of_opinion, "condition": None, "rank": None})
        if not rows or rows[-1]["case"] != case:
            rows.append(of_case)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    unused = [*(["group"] if grouping == "none" else []), *(["case_weight"] if not largest else [])]
    return frame.drop(unused)


def _group(grouping: str, place: int) -> str:
    return {"few": f"P{place % 3}", "many": f"P{place // 2}", "own": f"P{place}", "one": "P"}.get(grouping, "")


def _model(rng: Any, kind: str, cases: list[Any], conditions: list[str], *, lacking: bool) -> pl.DataFrame:
    said = [case for case in cases if not (lacking and rng.random() < 0.15)] or cases
    size = (len(said), len(conditions))
    scores = rng.random(size)
    if kind == "probabilities":
        scores = scores**3 + 1e-6
        scores /= scores.sum(axis=1, keepdims=True)
    if kind == "logits":
        scores = rng.normal(size=size) * 3
    if kind == "set":
        scores = (scores < 0.4).astype(np.float64)
        scores[:, 0] = 1.0
    if kind in ("ranking", "short"):
        return _listed(rng, said, conditions, scores, is_ranking=kind == "ranking")
    return pl.DataFrame({"case": said, **{name: scores[:, place] for place, name in enumerate(conditions)}})


def _listed(rng: Any, cases: list[Any], conditions: list[str], scores: Any, *, is_ranking: bool) -> pl.DataFrame:
    rows = []
    for place, case in enumerate(cases):
        order = np.argsort(-scores[place])[: int(rng.integers(1, min(6, len(conditions)) + 1))]
        for rank, code in enumerate(order, start=1):
            said = {"rank": rank} if is_ranking else {"score": float(scores[place, code])}
            rows.append({"case": case, "condition": conditions[code], **said})
    return pl.DataFrame(rows)


def share_of_hits(scores: Any, labels: Any, weights: Any) -> Any:
    """Be a metric of a user: how often the label has the highest score."""
    return np.average(labels == scores.argmax(axis=1), axis=1, weights=weights)
