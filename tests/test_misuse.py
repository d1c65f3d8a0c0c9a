"""Whatever is passed to a public function, it answers or says in a DissensusError what is wrong: nothing else, soon."""

from __future__ import annotations

import inspect
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.core.files import open_source
from dissensus.metrics.data_set import DataSetMetric
from dissensus.simulate.checklist_study import SKILLS
from dissensus.simulate.differential_study import MODELS

SOON = 20
"""Seconds that a call may take; nearly all take thousandths."""

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**63, 2**70, 10**9, 1e308, 0.5, float("nan"), float("inf"), 1j),
    *("text", "", "\x00", b"bytes", [], (), {}, set(), [None], [[]], [1, "a"], [["a"], 2], {"a": 1}, {1: None}),
    *(object(), lambda *_: None, int, np.zeros((2, 2, 2)), np.array(["a", "b"]), np.array(5), np.array([np.nan])),
    *(pl.DataFrame({"a": [1]}), slice(2), range(3), Path("nowhere"), iter(())),
)

EXEMPT = {
    *("Aggregation", "Format", "Metric", "PointAggregation", "ReportSection", "Sampler", "Study", "Collection"),
    *("DissensusError", "DissensusWarning"),
}
"""What is there to be inherited from, or to be raised."""

METHODS = ("sample", "select", "align", "save")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public callable by its name, with arguments that work."""
    folder = tmp_path_factory.mktemp("misuse")
    return {name: (function, given) for name, function, given in _calls(folder)}


def _calls(folder: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    known = _arguments(folder)
    for name in sorted(set(ds.__all__) - EXEMPT):
        thing = getattr(ds, name)
        if not (is_dataclass(thing) and name in RECORDS):
            yield name, thing, known[name]
        if inspect.isclass(thing):
            yield from _methods(name, thing, known)


def _methods(name: str, kind: type, known: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    for method, function in inspect.getmembers(kind, callable):
        if method.startswith("from_"):
            yield f"{name}.{method}", function, known.get(f"{name}.{method}", {"parameters": {}})
        elif method in METHODS:
            yield f"{name}.{method}", getattr(known["an"][name], method), known.get(f"{name}.{method}", known[method])


RECORDS = {
    *(
        "Agreement",
        "AgreementMeasure",
        "Alpha",
        "Batch",
        "Calibration",
        "CasePrior",
        "Certainty",
        "Comparison",
    ),
    *("Diagnostics", "Difference", "Drawn", "Evaluation", "Plausibilities", "PlausibilityRegions", "Predicted"),
    *("RatingPrior", "Run"),
}
"""What functions give; nobody makes one by hand."""


def _data_set_metrics() -> dict[str, dict[str, Any]]:
    """Return the defaults of every metric of a whole data set, and numbers where there is none."""
    kinds = [kind for kind in ds.Metric.family.known().values() if issubclass(kind, DataSetMetric)]
    return {
        kind.__name__: {part.name: 0.2 if part.default is MISSING else part.default for part in kind.parameter_fields()}
        for kind in kinds
    }


def _arguments(folder: Path) -> dict[str, Any]:
    """Return arguments that work, by the name of the function; under ``an``, one object of every class."""
    said = ds.Annotations.from_rankings(
        [[[["a"], ["b", "c"]], [["b"]]], [[["c"]], [["a"]]]], ["a", "b", "c"], annotator_names=["A", "B"]
    )
    graded = said.asked("grades")
    listed = ds.Checklists.from_sets([[["a"], []], [["b"]]], ["a", "b"])
    rated = ds.Ratings.from_scores([[1, 2], [3]])
    predicted = ds.Predictions.from_scores(np.eye(3)[:2] / 2 + 0.1, said.conditions)
    drawn = ds.Dirichlet().sample(said, draws=8)
    categories = ds.Categories.from_labels(["low", "high", "low"], said.conditions)
    result = ds.evaluate(said, {"A": predicted}, aggregations=["dirichlet"], metrics=["top-k-accuracy:1"], draws=8)
    result.save(folder / "results")
    trust = ds.calibrate(said, ["dirichlet"], draws=8)
    trust.save(folder / "trust")
    opinions, model, ratings = folder / "opinions.csv", folder / "model.csv", folder / "ratings.csv"
    ds.write_annotations(said, opinions)
    ds.write_annotations(listed, folder / "checklists.csv")
    shared = pl.DataFrame({"case": ["0", "0", "1"], "annotator": ["A", "B", "A"], "condition": ["a", "b", "b"]})
    shared.write_parquet(folder / "study.parquet")
    pl.DataFrame({"case": ["0", "1"], "a": [0.2, 0.2], "b": [0.3, 0.3]}).write_parquet(folder / "model.parquet")
    model.write_text("case,a,b,c\n0,0.2,0.3,0.5\n1,0.2,0.3,0.5\n", encoding="utf-8")
    ratings.write_text("case,annotator,score\n0,x,1.5\n1,y,2\n", encoding="utf-8")
    risks = folder / "risks.txt"
    risks.write_text("low\nhigh\nlow\n", encoding="utf-8")
    long = pl.DataFrame({"case": ["x", "x"], "condition": ["a", "b"], "rank": [1, 2], "score": [0.5, 0.25]})
    aggregations = {
        name: getattr(ds, name)()
        for name in ds.__all__
        if name not in EXEMPT and isinstance(getattr(ds, name), type) and issubclass(getattr(ds, name), ds.Aggregation)
        if name != "GivenDraws"
    }
    names = {"case_names": ["x", "y"]}
    roles = long.select("case", "condition", "rank").with_columns(annotator=pl.lit("A"))
    return _data_set_metrics() | {
        "an": {
            **aggregations,
            "Annotations": said,
            "Ratings": rated,
            "Checklists": listed,
            "Predictions": predicted,
            "Plausibilities": drawn,
            "GivenDraws": ds.GivenDraws(drawn),
            "Evaluation": result,
            "Calibration": trust,
        },
        "sample": {"annotations": said, "draws": 8, "seed": 1, "threads": 1, "precision": None},
        **{
            f"{name}.sample": {"annotations": rated, "draws": 8, "seed": 1, "threads": 1, "precision": None}
            for name in ("NormalInverseGamma", "MeanRating", "MedianRating")
        },
        "select": {"cases": ["1"]},
        "align": {"case_names": ["1", "0"], "conditions": ["b", "a", "c"], "allow_missing": False},
        "save": {"directory": folder / "again", "overwrite": True},
        "Calibration.save": {"directory": folder / "trust again", "overwrite": True},
        "Annotations": _parts(said),
        "Annotations.from_confidences": {"confidences": [[[2, 0, 1]], [[1, 1, 1]]], "conditions": ["a", "b", "c"]}
        | {**names, "unranked": "below", "question": None, "positive": None},
        "Annotations.from_ranking_arrays": {"rankings": [[[0, 1]], [[1, 0]]], "groups": [[[0, -1]], [[0, 0]]]}
        | {"conditions": ["a", "b"], **names, "unranked": "below", "question": None, "positive": None},
        "Annotations.from_counts": {"counts": [[1, 2]], "conditions": ["a", "b"], "case_names": ["x"], "groups": ["g"]}
        | {"unranked": "below", "question": None, "positive": None},
        "Annotations.from_long": {"frame": long, "conditions": None}
        | dict.fromkeys(["case", "annotator", "condition", "rank", "confidence", "annotation", "weight", "group"])
        | dict.fromkeys(["case_weight", "votes", "tie_separator", "unranked", "confidence_as"])
        | {"duplicates": "refuse", "question": None, "positive": None},
        "Annotations.from_rankings": {"rankings": [[[["a"]]], [[["b"]]]], "conditions": ["a", "b"], **names}
        | {"annotator_names": ["A"], "weights": [1.0], "groups": ["g", "h"], "case_weights": [1, 2]}
        | {"unranked": "below", "question": None, "positive": None},
        "Annotations.from_roles": {"table": roles, "conditions": None, "tie_separator": None, "unranked": None}
        | {"duplicates": "refuse", "confidence": None, "question": None, "positive": None},
        "AnnotatorBootstrap": {"model": ds.InverseRank(), "size": 2},
        "AverageOverlap": {"depth": 2},
        "Batch.from_dense": {"draws": np.full((1, 2, 4), 0.25), "case_names": ["x"], "n_chains": 1},
        "BrierScore": {},
        "Categories": _parts(categories),
        "Categories.from_file": {"path": risks, "conditions": ["a", "b", "c"], "levels": None},
        "Categories.from_labels": {"labels": ["u", "v"], "conditions": ["a", "b"], "levels": {"u": 1, "v": 2}},
        "Categories.from_mapping": {"categories": {"a": "u"}, "conditions": ["a"], "levels": {"u": 1}},
        "Categories.from_source": {"source": open_source(risks), "conditions": ["a", "b", "c"], "levels": None},
        "CategoryAccuracy": {"categories": ["u", "v"], "k": 1},
        "Checklists": _parts(listed),
        "Checklists.from_long": {"frame": long, "findings": None, "nothing": None}
        | dict.fromkeys(["case", "annotator", "annotation", "finding", "present", "weight", "votes", "group"])
        | {"case_weight": None},
        "Checklists.from_matrix": {"answers": [[[1, 0]], [[0, -1]]], "findings": ["a", "b"], **names}
        | {"annotator_names": ["A"], "groups": ["g", "h"]},
        "Checklists.from_roles": {"table": roles, "conditions": None, "tie_separator": None, "unranked": None}
        | {"duplicates": "refuse", "confidence": None},
        "Checklists.from_sets": {"sets": [[["a"]], [[]]], "findings": ["a", "b"], "assessed": None, **names}
        | {"annotator_names": ["A"], "groups": ["g", "h"]},
        "Coverage": {},
        "DawidSkene": {"reliability": 1.0, "target": "votes", "gold": {"1": "a"}, "chains": 2, "warmup": 10},
        "Dirichlet": {"reliability": 1.0, "alpha": 1.0, "prior": "symmetric", "case_prior": None} | {"learned": None},
        "ExpectedAccuracy": {"k": 1},
        "ExpectedCoverage": {},
        "GivenDraws": {"plausibilities": drawn, "name": "mine"},
        "InverseRank": {"ties": "shared"},
        "KendallTau": {"k": 2},
        "LogScore": {"floor": 0.1},
        "MajorityVote": {},
        "NormalInverseGamma": {"thresholds": (0.0,), "prior": None, "reliability": 1.0, "conditions": ("a", "b")}
        | {"shifts": False, "rating_prior": None},
        **{
            name: {"truth": "soft"}
            for name in ("MeanAbsoluteError", "CRPS", "RMSE", "Correlation", "ConcordanceCorrelation")
        },
        "BlandAltman": {"limit": "upper", "truth": "soft"},
        "MeanRating": {"thresholds": (0.0,)},
        "MedianRating": {"thresholds": (0.0,)},
        "WassersteinNumbers": {},
        "simulate_ratings": {"n_cases": 4, "n_annotators": 3, "opinions": 2, "spread": 1.0, "noise": 0.5, "shift": 0.1}
        | {"models": {"A": 0.5}, "seed": 1},
        "rating_prior": {"study": rated, "predictions": {"A": [1.0, 3.0]}, "shifts": False, "left_out": {}},
        "annotator_shifts": {"ratings": ds.read_ratings(ratings)},
        "Predictions.from_numbers": {"numbers": [1.0, 2.0], "deviations": [1.0, 0.5], **names, "name": "A"},
        "NormalInverseGammaPrior": {"mu": 0.0, "kappa": 1.0, "a": 1.0, "b": 1.0},
        "Overlap": {"k": 2},
        "PlackettLuce": {
            "reliability": 1.0,
            "alpha": 1.0,
            "prior": "observed",
            "chains": 4,
            "warmup": 10,
            "tempered": False,
        }
        | {"case_prior": None, "learned": None},
        "PlackettLuceML": {},
        "Plausibilities.from_draws": {
            "draws": np.full((2, 2, 2), 0.5),
            "conditions": ["a", "b"],
            **names,
            "n_chains": 1,
        },
        "Predictions": _parts(predicted),
        "Predictions.from_long": {"frame": long.drop("rank"), "conditions": ["a", "b"], "kind": None, "name": "model"}
        | {"findings": False}
        | dict.fromkeys(["case", "condition", "score", "rank"]),
        "Predictions.from_rankings": {"rankings": [[["a"]], [["b"]]], "conditions": ["a", "b"], **names, "name": "m"},
        "Predictions.from_scores": {"scores": np.eye(2), "conditions": ["a", "b"], **names, "name": "m"}
        | {"findings": False},
        "Predictions.from_sets": {"sets": [["a"], ["b"]], "conditions": ["a", "b"], **names, "name": "m"},
        "Predictions.from_wide": {"frame": pl.DataFrame({"case": ["x"], "a": [0.1], "b": [0.2]}), "conditions": None}
        | {"case": None, "kind": None, "name": "m", "findings": False},
        "ProbabilisticInverseRank": {"reliability": 30.0, "ties": "shared", "alpha": 0.0, "scale": "case"},
        "RankBiasedOverlap": {"persistence": 0.9, "depth": 2},
        "GradeError": {"truth": "top"},
        "RankedProbabilityScore": {"truth": "soft"},
        "WassersteinDistance": {},
        "WithinGrades": {"distance": 1, "truth": "top"},
        "Ratings": _parts(rated),
        "Ratings.from_counts": {"counts": [[1, 2]], "levels": [0.0, 1.0], "case_names": ["x"], "groups": ["g"]},
        "Ratings.from_long": {"frame": long}
        | dict.fromkeys(["case", "annotator", "score", "weight", "votes", "group"]),
        "Ratings.from_roles": {"table": long.select("case", "score"), "conditions": None}
        | {"tie_separator": None, "unranked": None, "duplicates": "refuse", "confidence": None},
        "Ratings.from_scores": {"scores": [[1, 2], [3]], **names, "groups": ["g", "h"]},
        "SetAccuracy": {"k": 2},
        "SetSize": {},
        "SpearmanFootrule": {"k": 2},
        "TopKAccuracy": {"k": 2, "j": 1},
        "UserDataSetMetric": {"name": "mine", "function": lambda *_: 0.0, "higher_is_better": True, "range": (0.0, 1.0)}
        | {"meaning": "one", "truth": "top"},
        "UserMetric": {"name": "mine", "function": lambda *_: 0.0, "higher_is_better": True, "range": (0.0, 1.0)}
        | {"meaning": "one"},
        "annotation_certainty": {"plausibilities": drawn, "top": 1, "unranked": "identify", "categories": None}
        | {"via": "top", "advance": None},
        "annotator_agreement": {"annotations": said, "ties": "shared", "within": "ranking"},
        "annotator_confusion": {"annotations": said, "gold": {"1": "a"}, "draws": 8, "seed": 1},
        "annotator_gradings": {"annotations": graded, "draws": 8, "seed": 1, "level": 0.9},
        "OrderedProbit": {"reliability": 1.0, "chains": 2, "warmup": 10},
        "OrderedProbit.sample": {"annotations": graded, "draws": 8, "seed": 1, "threads": 1, "precision": None},
        "annotator_quality": {"annotations": said, "gold": {"1": "a"}, "draws": 8, "seed": 1, "level": 0.9},
        "calibrate": {"study": said, "aggregations": ["dirichlet"], "predictions": {"A": predicted}}
        | {"max_pairs": 8, "draws": 8, "seed": 1, "threads": 1, "refine": False, "allow_missing": False}
        | {"advance": None},
        "certainty_of": {"plausibilities": drawn, "sets": [["a"], ["b"]], "top": 1, "rank": None}
        | {"unranked": "identify", "advance": None},
        "certainty_profile": {"plausibilities": drawn, "tops": (1, 2), "unranked": "identify", "advance": None},
        "diagnose": {"study": said},
        "evaluate": {"annotations": said, "predictions": {"A": predicted}, "aggregations": ["dirichlet"]}
        | {"metrics": ["top-k-accuracy:1"], "draws": 8, "seed": 1, "threads": 1, "categories": categories}
        | {"strata": {"site": ["u", "v"]}, "images": ["u", "v"], "level": 0.9, "allow_missing": False, "advance": None}
        | {"annotators": "fixed", "panel": None, "reference": None, "executor": None},
        "evaluate_files": {"study": folder / "study.parquet", "predictions": {"A": folder / "model.parquet"}}
        | {"directory": folder / "run", "reading": None, "aggregations": ["dirichlet"], "metrics": ["top-k-accuracy:1"]}
        | {"draws": 8, "seed": 1, "threads": 1, "categories": None, "strata": None, "level": 0.9}
        | {"annotators": "fixed", "panel": None, "reference": None, "shard_size": 9, "resume": False}
        | {"learn_again": False, "overwrite": True, "executor": None, "watch": None},
        "examine_annotations": {"path": opinions, "format": "long", "conditions": None, "columns": None, "ignore": ()}
        | {"tie_separator": None, "bucket_order": None, "unranked": None, "duplicates": "refuse", "confidence": None}
        | {"lists": None, "nothing": None, "limits": {"columns": 9}, "question": None, "positive": None},
        "informed_prior": {"study": said, "predictions": {"A": predicted}, "folds": 1, "start": None},
        "expected_risk": {"plausibilities": drawn, "categories": categories, "advance": None},
        "agreement_measures": {"study": said, "measures": ["fleiss-kappa"], "seed": 1, "level": 0.9},
        "cohen_kappa": {"annotations": said, "annotators": ("A", "B"), "credit": "none", "seed": 1, "level": 0.9},
        "krippendorff_alpha": {"annotations": said, "distance": "first-choice", "depth": 2, "draws": 8, "seed": 1}
        | {"level": 0.9},
        "load_calibration": {"directory": folder / "trust"},
        "load_evaluation": {"directory": folder / "results"},
        "mean_average_overlap": {"a": [[0], [1]], "b": [[1]], "depth": 2, "n_conditions": 3},
        "pairwise_agreement": {"annotations": said, "depth": 2},
        "plackett_luce_log_likelihood": {"annotations": said, "weights": np.ones((2, 3))},
        "plausibility_regions": {"plausibilities": drawn, "predictions": predicted, "coverage": 0.5, "advance": None},
        "rank_certainty": {"plausibilities": drawn, "rank": 2, "unranked": "identify", "categories": None}
        | {"advance": None},
        "rank_shares": {"plausibilities": drawn, "rank": 2, "categories": None, "advance": None},
        "read_annotations": {"path": opinions, "format": "long", "conditions": None, "columns": None, "ignore": ()}
        | {"tie_separator": None, "bucket_order": None, "unranked": None, "duplicates": "refuse", "confidence": None}
        | {"lists": None, "limits": {"columns": 9}, "question": None, "positive": None},
        "read_checklists": {
            "path": folder / "checklists.csv",
            "findings": None,
            "nothing": None,
            "columns": None,
            "ignore": (),
        }
        | {"tie_separator": None, "duplicates": "refuse", "limits": None},
        "read_models": {"paths": [f"A={model}"], "conditions": ["a", "b", "c"], "cases": ["0", "1"], "format": None}
        | {
            "columns": None,
            "kind": None,
            "alpha_index": None,
            "positive": None,
            "findings": False,
            "allow_missing": False,
            "limits": None,
        },
        "read_predictions": {"path": model, "conditions": ["a", "b", "c"], "cases": ["0", "1"], "name": "A"}
        | {
            "format": None,
            "columns": None,
            "kind": None,
            "alpha_index": None,
            "positive": None,
            "findings": False,
            "allow_missing": False,
            "limits": None,
        },
        "read_ratings": {"path": ratings, "columns": None, "limits": None},
        "sampling_diagnostics": {"plausibilities": drawn},
        "simulate_binary": {"n_cases": 4, "n_annotators": 3, "prevalence": 0.3, "strictness": 0.5, "clarity": 3.0}
        | {"opinions": (2, 3), "models": SKILLS, "seed": 1},
        "simulate_checklists": {"n_cases": 4, "n_annotators": 3, "findings": 2, "prevalence": 0.3, "together": 0.2}
        | {"strictness": 0.5, "clarity": 3.0, "not_assessed": 0.1, "opinions": (2, 3), "models": SKILLS, "seed": 1},
        "simulate_study": {
            "n_cases": 4,
            "n_conditions": 6,
            "n_annotators": 12,
            "opinions": (2, 3),
            "models": MODELS,
            "seed": 1,
        },
        "to_xarray": {"plausibilities": drawn},
        "write_annotations": {"annotations": said, "path": folder / "written.csv", "overwrite": True},
        "write_report": {"evaluation": result, "path": folder / "report.html", "title": "T", "explorer_cases": 5}
        | {"remote_images": False, "overwrite": True},
    }


def _parts(one: Any) -> dict[str, Any]:
    return {part.name: getattr(one, part.name) for part in fields(one) if part.init}


@contextmanager
def soon() -> Iterator[None]:
    """Raise if what is inside takes too long."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SOON)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(function: Callable[..., Any], given: dict[str, Any]) -> str:
    """Say what a call came to, or nothing if it answered or refused as it should."""
    try:
        with soon(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.DissensusWarning)
            function(**given)
    except ds.DissensusError:
        return ""
    except BaseException as error:  # noqa: BLE001 - Rust panics are no exceptions
        return f"{type(error).__name__}: {error}"[:150]
    return ""


NAMES = sorted(
    f"{name}.{method}" if method else name
    for name in set(ds.__all__) - EXEMPT
    for method in [
        "",
        *(
            found
            for found, _ in inspect.getmembers(getattr(ds, name), callable)
            if inspect.isclass(getattr(ds, name)) and (found.startswith("from_") or found in METHODS)
        ),
    ]
    if method or name not in RECORDS
)


def test_arguments_that_work_are_known_of_every_public_callable(calls: dict[str, Any]) -> None:
    assert sorted(calls) == NAMES
    for name, (function, given) in calls.items():
        assert given.keys() == inspect.signature(function).parameters.keys(), name
        if not name.endswith(".from_parameters"):
            function(**given)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_values_are_refused_with_one_kind_of_error(
    name: str, calls: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = calls[name]
    found = {
        f"{parameter}={wrong!r:.40}": said
        for parameter in given
        for wrong in WRONG
        if (said := outcome(function, {**given, parameter: wrong}))
    }
    assert not found, "\n".join(f"{what}: {said}" for what, said in found.items())


# Limits -------------------------------------------------------------------------------------------------

RANKINGS = [
    [[["a"], ["b", "c"]], [["b"]], [["c"], ["a"]]],
    [[["c"], ["a"]], [["a"], ["c"]], [["a", "b"], ["d"]]],
    [[["d"]], [["a"]], [["e"], ["a"], ["b"], ["c"], ["d"]]],
]
EDGES = (1e-9, 1.0, 1e9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [(0.0, 1e-9, 1e9), (1e9, 1e9, 1e9), (1e-9, 1e-9, 1e-9)])
@pytest.mark.parametrize("unranked", ["below", "unobserved"])
def test_draws_are_sound_up_to_the_limits(weights: tuple[float, ...], unranked: Any) -> None:
    said = ds.Annotations.from_rankings(RANKINGS, list("abcde"), weights=list(weights), unranked=unranked)
    kinds: list[Callable[..., ds.Aggregation]] = [ds.Dirichlet, ds.ProbabilisticInverseRank, ds.PlackettLuce]
    chosen = [kind(reliability, alpha=alpha) for kind in kinds for reliability in EDGES for alpha in EDGES]
    symmetric = [ds.PlackettLuce(reliability, 1e-9, "symmetric") for reliability in EDGES]
    points = [ds.MajorityVote(), ds.InverseRank(), ds.PlackettLuceML(), ds.AnnotatorBootstrap()]
    confused = [ds.DawidSkene(reliability, target) for reliability in EDGES for target in ("truth", "votes")]
    graded = [ds.OrderedProbit(reliability, warmup=20) for reliability in EDGES]
    for aggregation in (*chosen, *symmetric, *points, *confused, *graded):
        study = said.asked("grades") if isinstance(aggregation, ds.OrderedProbit) else said
        drawn = aggregation.sample(study, draws=20, threads=1).dense()
        assert np.isfinite(drawn).all(), aggregation
        assert (drawn >= 0).all(), aggregation
        assert np.abs(drawn.sum(axis=2) - 1).max() < 1e-6, aggregation


@pytest.mark.parametrize("value", [1e-10, 1e10, 1e300, 5e-324])
@pytest.mark.parametrize("kind", [ds.Dirichlet, ds.ProbabilisticInverseRank, ds.PlackettLuce, ds.NormalInverseGamma])
def test_reliabilities_beyond_the_limits_are_refused_with_the_range(kind: Any, value: float) -> None:
    with pytest.raises(ds.DissensusError) as caught:
        kind(reliability=value)
    assert caught.value.expected == "1e-09 to 1e+09"


@pytest.mark.parametrize("value", [1e308, 1e-300, -1.0])
@pytest.mark.parametrize("what", ["weights", "case_weights"])
def test_weights_beyond_the_limits_are_refused_with_the_range(what: str, value: float) -> None:
    with pytest.raises(ds.DissensusError) as caught:
        ds.Annotations.from_rankings([[[["a"]]]], ["a", "b"], **{what: [value]})  # type: ignore[arg-type]
    assert caught.value.expected == "0, or 1e-09 to 1e+09"


def test_draws_are_limited_by_the_case_with_the_most_conditions() -> None:
    said = ds.Annotations.from_counts(np.ones((1, 200), dtype=int))
    with pytest.raises(ds.DissensusError, match="too many draws") as caught:
        ds.Dirichlet().sample(said, draws=2_000_000)
    assert caught.value.expected == "at most 995,024 draws, as it has 200 mentioned conditions"


@pytest.mark.parametrize(("name", "value"), [("draws", 10**7 + 1), ("threads", 1025), ("draws", 2**62)])
def test_counts_beyond_the_limits_are_refused_with_the_limit(name: str, value: int) -> None:
    said = ds.Annotations.from_counts([[1, 2]])
    with pytest.raises(ds.DissensusError) as caught:
        ds.evaluate(said, {}, aggregations=["dirichlet"], **{name: value})  # type: ignore[arg-type]
    assert caught.value.expected.startswith("at most ")
