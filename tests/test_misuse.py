"""Whatever is passed to a public function, it answers or says in a DissensusError what is wrong: nothing else, soon."""

import inspect
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus import aggregations as ag
from dissensus.core.files import open_source
from dissensus.plugins import Aggregation
from public_names import PUBLIC
from rare import rare
from refusals import refused

SOON = 20
"""Seconds that a call may take; nearly all take thousandths."""

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**63, 2**70, 10**9, 1e308, 0.5, float("nan"), float("inf"), 1j),
    *("text", "", "\x00", b"bytes", [], (), {}, set(), [None], [[]], [1, "a"], [["a"], 2], {"a": 1}, {1: None}),
    *(object(), lambda *_: None, int, np.zeros((2, 2, 2)), np.array(["a", "b"]), np.array(5), np.array([np.nan])),
    *(pl.DataFrame({"a": [1]}), slice(2), range(3), Path("nowhere"), iter(())),
)

EXEMPT = {
    *("Aggregation", "Format", "Metric", "PointAggregation", "ReportSection", "Sampler", "Collection"),
    *("DissensusError", "DissensusWarning", "Expertise", "Skill"),
}
"""What is there to be inherited from, or to be raised, and what simulated models see."""

LONG = ("evaluate_files", "write_report")
"""Most wrong values are refused by what ``evaluate`` refuses them by; where none is, much is written."""

METHODS = ("sample", "select", "align", "save", "load")


RECORDS = {
    *("Agreement", "AgreementMeasure", "Alpha", "Batch", "Calibration", "CasePrior", "Certainty", "Comparison"),
    *("Diagnostics", "Difference", "Drawn", "Evaluation", "Experts", "Plausibilities", "PlausibilityRegions"),
    *("Predicted", "RatingPrior", "Run"),
}
"""What functions give; nobody makes one by hand."""

PLACES = {
    f"{name}.{method}" if method else name: (name, method)
    for name in sorted(set(PUBLIC) - EXEMPT)
    for method in ("", *(found for found, _ in inspect.getmembers(PUBLIC[name], callable)))
    if not (method or name in RECORDS)
    or (inspect.isclass(PUBLIC[name]) and (method.startswith("from_") or method in METHODS))
}
"""Every public callable: the class or function, and the method if it is one."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public callable by its name, with arguments that work."""
    known, found = _arguments(tmp_path_factory.mktemp("misuse")), {}
    for place, (name, method) in PLACES.items():
        is_own = not method or method.startswith("from_")
        owner = PUBLIC[name] if is_own else known["an"][name]
        function = getattr(owner, method) if method else owner
        usual = known.get(method, {"parameters": {}} if method else {})
        found[place] = (function, _filled(function, known.get(place, usual)))
    return found


SMALL: dict[str, Any] = {"draws": 8, "seed": 1, "threads": 1, "level": 0.9, "warmup": 10, "n_cases": 4}
SMALL |= {"n_annotators": 12, "overwrite": True, "k": 1, "depth": 2, "max_pairs": 8, "coverage": 0.5, "tops": (1, 2)}
"""What is passed in place of defaults wherever there is such a parameter."""


def _filled(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Complete arguments by small numbers and by the defaults of the function."""
    parameters = inspect.signature(function).parameters
    assert given.keys() <= parameters.keys(), function
    return {
        name: given.get(name, SMALL.get(name, one.default))
        for name, one in parameters.items()
        if one.kind is not one.VAR_KEYWORD
    }


def _arguments(folder: Path) -> dict[str, Any]:
    """Return arguments that work, by the name of the function; under ``an``, one object of every class."""
    said = ds.Study.from_rankings(
        [[[["a"], ["b", "c"]], [["b"]]], [[["c"]], [["a"]]]], ["a", "b", "c"], annotator_names=["A", "B"]
    )
    graded = said.asked("grades")
    listed = ds.Study.from_sets([[["a"], []], [["b"]]], ["a", "b"])
    rated = ds.Study.from_scores([[1, 2], [3]])
    predicted = ds.Predictions.from_scores(np.eye(3)[:2] / 2 + 0.1, said.conditions)
    drawn = ag.Dirichlet().sample(said, draws=8)
    categories = ds.Categories.from_labels(["low", "high", "low"], said.conditions)
    result = ds.evaluate(said, {"A": predicted}, aggregations=["dirichlet"], metrics=["top-k-accuracy:1"], draws=8)
    result.save(folder / "results")
    trust = ds.calibrate(said, ["dirichlet"], draws=8)
    trust.save(folder / "trust")
    opinions, model, ratings = folder / "opinions.csv", folder / "model.csv", folder / "ratings.csv"
    ds.write(said, opinions)
    ds.write(listed, folder / "checklists.csv")
    shared = pl.DataFrame({"case": ["0", "0", "1"], "annotator": ["A", "B", "A"], "condition": ["a", "b", "b"]})
    shared.write_parquet(folder / "study.parquet")
    pl.DataFrame({"case": ["0", "1"], "a": [0.2, 0.2], "b": [0.3, 0.3]}).write_parquet(folder / "model.parquet")
    model.write_text("case,a,b,c\n0,0.2,0.3,0.5\n1,0.2,0.3,0.5\n", encoding="utf-8")
    ratings.write_text("case,annotator,score\n0,x,1.5\n1,y,2\n", encoding="utf-8")
    risks = folder / "risks.txt"
    risks.write_text("low\nhigh\nlow\n", encoding="utf-8")
    long = pl.DataFrame({"case": ["x", "x"], "condition": ["a", "b"], "rank": [1, 2], "score": [0.5, 0.25]})
    aggregations = {
        name: kind(**{"warmup": 10} if "warmup" in inspect.signature(kind).parameters else {})
        for name, kind in PUBLIC.items()
        if name not in EXEMPT and isinstance(kind, type) and issubclass(kind, Aggregation)
        if name != "GivenDraws"
    }
    names, both = {"case_names": ["x", "y"]}, {"conditions": ["a", "b"]}
    scored = {"conditions": ["a", "b", "c"], "cases": ["0", "1"]}
    own = {"name": "mine", "function": lambda *_: 0.0, "range": (0.0, 1.0), "meaning": "one"}
    study, models = {"study": said}, {"A": predicted}
    many = ds.Study.from_counts([[2, 1, 0], [0, 3, 1]] * 6, ["a", "b", "c"])
    two = {"A": np.eye(3)[[0, 1] * 6], "B": np.eye(3)[[0, 0] * 6]}
    both_readers = {"x": [1.0, 3.0, 2.0, 4.0], "y": [2.0, 1.0, 3.0, 4.0]}
    of_draws = ("annotation_certainty", "certainty_profile", "sampling_diagnostics")
    of_opinions = ("annotator_agreement", "krippendorff_alpha", "pairwise_agreement", "annotator_confusion")
    return {
        "an": aggregations
        | {"Study": said, "Predictions": predicted, "Plausibilities": drawn, "GivenDraws": ag.GivenDraws(drawn)}
        | {"Evaluation": result, "Calibration": trust},
        "sample": {"annotations": said},
        "OrderedProbit.sample": {"annotations": graded},
        **{f"{name}.sample": {"annotations": rated} for name in ("NormalInverseGamma", "MeanRating", "MedianRating")},
        **{name: {"plausibilities": drawn} for name in (*of_draws, "GivenDraws", "to_xarray")},
        **{name: {"annotations": said} for name in of_opinions},
        "select": {"cases": ["1"]},
        "align": {"case_names": ["1", "0"], "conditions": ["b", "a", "c"]},
        "save": {"directory": folder / "again"},
        "Calibration.save": {"directory": folder / "trust again"},
        "Study": _parts(said),
        "Study.from_confidences": {"confidences": [[[2, 0, 1]], [[1, 1, 1]]], "conditions": ["a", "b", "c"]},
        "Study.from_ranking_arrays": {"rankings": [[[0, 1]], [[1, 0]]], "groups": [[[0, -1]], [[0, 0]]], **both},
        "Study.from_counts": {"counts": [[1, 2]], **both, "case_names": ["x"], "groups": ["g"]},
        "Study.from_long": {"frame": long},
        "Study.from_rankings": {"rankings": [[[["a"]]], [[["b"]]]], **both, **names, "weights": [1.0]},
        "Study.from_scores": {"scores": [[1, 2], [3]], **names, "groups": ["g", "h"]},
        "Study.from_matrix": {"answers": [[[1, 0]], [[0, -1]]], "findings": ["a", "b"], **names},
        "Study.from_sets": {"sets": [[["a"]], [[]]], "findings": ["a", "b"], **names, "groups": ["g", "h"]},
        "Batch.from_dense": {"draws": np.full((1, 2, 4), 0.25), "case_names": ["x"], "n_chains": 1},
        "Categories": _parts(categories),
        "Categories.from_file": {"path": risks, "conditions": ["a", "b", "c"]},
        "Categories.from_labels": {"labels": ["u", "v"], **both, "levels": {"u": 1, "v": 2}},
        "Categories.from_mapping": {"categories": {"a": "u"}, "conditions": ["a"], "levels": {"u": 1}},
        "Categories.from_source": {"source": open_source(risks), "conditions": ["a", "b", "c"]},
        "CategoryAccuracy": {"categories": ["u", "v"]},
        "DawidSkene": {"gold": {"1": "a"}, "chains": 2},
        "NetBenefit": {"threshold": 0.2},
        "NormalInverseGamma": {"thresholds": (0.0,), **both},
        "NormalInverseGammaPrior": {"mu": 0.0, "kappa": 1.0, "a": 1.0, "b": 1.0},
        "Plausibilities.from_draws": {"draws": np.full((2, 2, 2), 0.5), **both, **names},
        "Predictions": _parts(predicted),
        "Predictions.from_long": {"frame": long.drop("rank"), **both},
        "Predictions.from_numbers": {"numbers": [1.0, 2.0], "deviations": [1.0, 0.5], **names},
        "Predictions.from_rankings": {"rankings": [[["a"]], [["b"]]], **both, **names},
        "Predictions.from_scores": {"scores": np.eye(2), **both, **names},
        "Predictions.from_sets": {"sets": [["a"], ["b"]], **both, **names},
        "Predictions.from_wide": {"frame": pl.DataFrame({"case": ["x"], "a": [0.1], "b": [0.2]})},
        "UserDataSetMetric": own,
        "UserMetric": own,
        "agreement_measures": {**study, "measures": ["fleiss-kappa"]},
        "annotator_gradings": {"annotations": graded},
        "annotator_quality": {"annotations": said, "gold": {"1": "a"}},
        "annotator_shifts": {"ratings": ds.read(ratings, "ratings")},
        "calibrate": {**study, "aggregations": ["dirichlet"], "predictions": models, "refine": False},
        "certainty_of": {"plausibilities": drawn, "sets": [["a"], ["b"]]},
        "cohen_kappa": {"annotations": said, "annotators": ("A", "B"), "credit": "none"},
        "diagnose": study,
        "evaluate": {"study": said, "predictions": models, "aggregations": ["dirichlet"]}
        | {"metrics": ["top-k-accuracy:1"], "categories": categories, "images": ["u", "v"], "annotators": "fixed"}
        | {"strata": {"site": ["u", "v"]}},
        "score": {"study": said, "predictions": predicted, "metric": "accuracy"},
        "Protocol": {"text": "margin = 0.1"},
        "Protocol.of": {"given": ds.Protocol("margin = 0.1")},
        "Protocol.settled": {"given": {"level": 0.9}},
        "Evaluation.report": {"path": folder / "own.html", "overwrite": True},
        "evaluate_files": {"study": folder / "study.parquet", "predictions": {"A": folder / "model.parquet"}}
        | {"directory": folder / "run", "aggregations": ["dirichlet"], "metrics": ["top-k-accuracy:1"]}
        | {"annotators": "fixed", "shard_size": 9, "resume": False},
        "examine": {"path": opinions, "format": "long", "limits": {"columns": 9}},
        "expected_risk": {"plausibilities": drawn, "categories": categories},
        "judges": {"study": many, "judgements": {"J": np.eye(3)[[0, 1] * 6]}, "condition": "a"},
        "plan": {"pilot": many, "predictions": two, "opinions": [2, 3]},
        "relabel": {"study": many, "predictions": two},
        "conformal": {"study": many, "predictions": np.eye(3)[[0, 1] * 6]},
        "soft_targets": {"study": many, "predictions": two},
        "experts": {"study": many, "predictions": {"A": np.eye(3)[[0, 1] * 6]}, "metrics": ["top-k-accuracy:1"]},
        "Experts.from_json": {"given": ds.experts(many, {"A": np.eye(3)[[0, 1] * 6]}, ["top-k-accuracy:1"]).to_json()},
        "reader_study": {"ratings": {"A": [1.0, 2.0, 3.0, 4.0], "B": both_readers}, "truth": [0, 0, 1, 1]},
        "informed_prior": {**study, "predictions": models, "folds": 1},
        "Calibration.load": {"directory": folder / "trust"},
        "load": {"directory": folder / "results"},
        "mean_average_overlap": {"a": [[0], [1]], "b": [[1]], "n_conditions": 3},
        "plackett_luce_log_likelihood": {"annotations": said, "weights": np.ones((2, 3))},
        "plausibility_regions": {"plausibilities": drawn, "predictions": predicted},
        **{name: {"plausibilities": drawn, "rank": 2} for name in ("rank_certainty", "rank_shares")},
        "rating_prior": {"study": rated, "predictions": {"A": [1.0, 3.0]}},
        "read": {"path": opinions, "format": "long", "limits": {"columns": 9}},
        "read_models": {"paths": [f"A={model}"]},
        "read_predictions": {"path": model, **scored},
        "simulate.binary": {"opinions": (2, 3), "n_annotators": 3},
        "simulate.checklists": {"opinions": (2, 3), "n_annotators": 3},
        "simulate.ratings": {"opinions": 2, "n_annotators": 3},
        "simulate.study": {"n_conditions": 6, "opinions": (2, 3)},
        "write": {"annotations": said, "path": folder / "written.csv"},
        "write_report": {"evaluation": result, "path": folder / "report.html", "explorer_cases": 5},
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


def test_arguments_that_work_are_known_of_every_public_callable(calls: dict[str, Any]) -> None:
    assert len(calls) > 100
    for name, (function, given) in calls.items():
        if not name.endswith(".from_parameters"):
            function(**given)


@pytest.mark.parametrize("name", [*rare(LONG), *(name for name in PLACES if name not in LONG)])
def test_wrong_values(name: str, calls: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = calls[name]
    found = {
        f"{parameter}={wrong!r:.40}": said
        for parameter in given
        for wrong in WRONG
        if (said := outcome(function, {**given, parameter: wrong}))
    }
    assert not found, "\n".join(f"{what}: {said}" for what, said in found.items())


def test_methods_refuse_wrong_values_too(calls: dict[str, Any]) -> None:
    """Every public method of what people hold in their hands, with the wrong value for each argument."""
    said = calls["write"][1]["annotations"]
    held = {
        "Study": said,
        "checklists": ds.Study.from_sets([[["a"], []], [["b"]]], ["a", "b"]),
        "ratings": ds.Study.from_scores([[1, 2], [3]]),
        "Predictions": calls["evaluate"][1]["predictions"]["A"],
        "Plausibilities": calls["GivenDraws"][1]["plausibilities"],
        "Evaluation": calls["write_report"][1]["evaluation"],
        "Categories": calls["evaluate"][1]["categories"],
        "Receipt": ds.examine({"case": ["c"], "reader": ["a"], "label": ["x"]}).receipt,
        "Diagnosis": ds.diagnose(said),
    }
    n_calls, found = 0, {}
    for name, one in held.items():
        for method in (word for word in dir(type(one)) if not word.startswith("_") and word not in ("save", "report")):
            if not callable(getattr(type(one), method)) or not hasattr(getattr(type(one), method), "__module__"):
                continue
            function = getattr(one, method)
            parts = inspect.signature(function).parameters.values()
            kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            needed = [part.name for part in parts if part.default is part.empty and part.kind not in kinds]
            others = [part.name for part in parts if part.default is not part.empty]
            for wrong, other in product(WRONG, [None, *others]):
                given = dict.fromkeys([*needed, *([other] if other else [])], wrong)
                n_calls += bool(given)
                if given and (told := outcome(function, given)):
                    found[f"{name}.{method}({given!r:.60})"] = told
    assert n_calls > 3000
    assert not found, "\n".join(f"{what}: {told}" for what, told in found.items())


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
    said = ds.Study.from_rankings(RANKINGS, list("abcde"), weights=list(weights), unranked=unranked)
    kinds: list[Callable[..., Aggregation]] = [ag.Dirichlet, ag.ProbabilisticInverseRank, ag.PlackettLuce]
    chosen = [kind(reliability, alpha=alpha) for kind in kinds for reliability in EDGES for alpha in EDGES]
    symmetric = [ag.PlackettLuce(reliability, 1e-9, "symmetric") for reliability in EDGES]
    points = [ag.MajorityVote(), ag.InverseRank(), ag.PlackettLuceML(), ag.AnnotatorBootstrap()]
    confused = [ag.DawidSkene(reliability, target) for reliability in EDGES for target in ("truth", "votes")]
    graded = [ag.OrderedProbit(reliability, warmup=20) for reliability in EDGES]
    for aggregation in (*chosen, *symmetric, *points, *confused, *graded):
        study = said.asked("grades") if isinstance(aggregation, ag.OrderedProbit) else said
        drawn = aggregation.sample(study, draws=20, threads=1).dense()
        assert np.isfinite(drawn).all(), aggregation
        assert (drawn >= 0).all(), aggregation
        assert np.abs(drawn.sum(axis=2) - 1).max() < 1e-6, aggregation


BEYOND: list[tuple[str, Callable[[], object]]] = [
    *(
        ("1e-09 to 1e+09", partial(kind, reliability=value))
        for kind in (ag.Dirichlet, ag.ProbabilisticInverseRank, ag.PlackettLuce, ag.NormalInverseGamma)
        for value in (1e-10, 1e10, 1e300, 5e-324)
    ),
    *(
        ("0, or 1e-09 to 1e+09", partial(ds.Study.from_rankings, [[[["a"]]]], ["a", "b"], **{what: [value]}))  # type: ignore[arg-type]
        for what in ("weights", "case_weights")
        for value in (1e308, 1e-300, -1.0)
    ),
    *(
        ("at most ", partial(ds.evaluate, ds.Study.from_counts([[1, 2]]), {}, aggregations=["dirichlet"], **given))  # type: ignore[arg-type]
        for given in ({"draws": 10**7 + 1}, {"threads": 1025}, {"draws": 2**62})
    ),
    (
        "at most 995,024 draws, as it has 200 mentioned conditions",
        partial(ag.Dirichlet().sample, ds.Study.from_counts(np.ones((1, 200), dtype=int)), draws=2_000_000),
    ),
]


def test_numbers_beyond_the_limits_are_refused_with_the_limit() -> None:
    for expected, call in BEYOND:
        caught = refused("", call)
        assert caught.expected.startswith(expected)
