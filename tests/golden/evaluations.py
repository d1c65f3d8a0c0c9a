"""Tables of small evaluations that must not move: what is evaluated, and how the tables are written and compared.

``python -m golden.evaluations`` writes ``evaluations.json.gz`` again, with ``NAME`` these cases only; the tests
directory must be on the path.
"""

import gzip
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.simulate.differential_study import NEAR_TIES

Tables: TypeAlias = dict[str, pl.DataFrame]
Stored: TypeAlias = dict[str, list[Any]]

FILE = Path(__file__).parent / "evaluations.json.gz"
CASES: dict[str, Callable[[], Tables]] = {}
"""What is evaluated, by name."""

TOLERANCE = 1e-9

# Where the search for the prior of a panel ends depends on the last digits of a processor's logarithms: 6e-8 was seen.
FITTED, OF_FIT = 1e-6, ("fit_sd", "low", "high")
DRAWS, LEVEL = 60, 0.9

# What is asked for --------------------------------------------------------------------------------------

SAMPLED = [
    *("plackett-luce:1", "plackett-luce:3:prior=observed:alpha=1", "plackett-luce:2:tempered=true"),
    *("probabilistic-inverse-rank:30", "probabilistic-inverse-rank:10:alpha=0.1:ties=each"),
    *("dirichlet:2", "dirichlet:1:prior=frequency"),
]
LEARNED = ["dawid-skene:1:warmup=50", "dawid-skene:1:target=votes:warmup=50"]
POINTS = ["majority-vote", "inverse-rank", "inverse-rank:each", "plackett-luce-ml", "annotator-bootstrap"]
GRADED = ["ordered-probit:1:warmup=50", "plackett-luce:3"]
NUMBERS = ["normal-inverse-gamma", "normal-inverse-gamma:shifts=true", "mean-rating", "median-rating"]
INFORMED = ["plackett-luce:1:prior=informed", "dirichlet:1:prior=informed"]
INFORMED_NUMBERS = ["normal-inverse-gamma:prior=informed"]

RANKED = [
    *("top-k-accuracy:1", "top-k-accuracy:3", "top-k-accuracy:3:2", "set-accuracy:2", "overlap:3"),
    *("average-overlap:3", "rank-biased-overlap:0.8:4", "kendall-tau:3", "spearman-footrule:3"),
    *("expected-accuracy:2",),
]
SCORED = ["log-score:1e-6", "brier-score", "wasserstein-distance"]
SETS = ["coverage", "expected-coverage", "set-size", "set-accuracy", "overlap"]
DECIDED = [
    *("sensitivity", "sensitivity:0.3", "specificity", "ppv", "npv", "f-beta", "f-beta:2:0.4", "jaccard"),
    *("positive-likelihood-ratio", "negative-likelihood-ratio", "net-benefit:0.3", "balanced-accuracy"),
    *("matthews", "cohen-kappa", "sensitivity:truth=soft", "cohen-kappa:truth=soft"),
]
ORDERED = [
    *("auroc", "auroc:truth=soft", "average-precision", "partial-auroc:0.3", "sensitivity-at-specificity:0.8"),
    *("specificity-at-sensitivity:0.8", "brier-reliability:5", "brier-resolution:5", "brier-uncertainty:5"),
    *("calibration-error:5", "calibration-error:5:debiased=true", "calibration-error:5:truth=soft"),
]
AVERAGED = ["auroc:micro", "auroc:weighted", "f-beta:average=micro", "sensitivity:average=weighted", "subset-accuracy"]
GRADES = [
    *("top-k-accuracy:1", "within-grades:1", "grade-error", "grade-error:truth=soft", "cohen-kappa:linear"),
    *("cohen-kappa:quadratic", "ranked-probability-score", "wasserstein-distance"),
]
NUMBERED = [
    *("mean-absolute-error", "rmse", "rmse:truth=soft", "correlation", "concordance-correlation", "crps"),
    *("bland-altman:mean", "bland-altman:lower", "bland-altman:upper", "wasserstein-numbers"),
    *("mean-absolute-error:truth=soft",),
]
CATEGORISED = ["category-accuracy"]
"""Needs the labels of categories, so a case builds it."""

AGGREGATIONS = [*SAMPLED, *LEARNED, *POINTS, *GRADED, *NUMBERS, *INFORMED, *INFORMED_NUMBERS]
METRICS = [*RANKED, *SCORED, *SETS, *DECIDED, *ORDERED, *AVERAGED, *GRADES, *NUMBERED, *CATEGORISED]


def case(function: Callable[[], Tables]) -> Callable[[], Tables]:
    """Enter a case by the name of its function."""
    CASES[function.__name__] = function
    return function


# Studies ------------------------------------------------------------------------------------------------


@cache
def ranked_study(n_cases: int = 40) -> Any:
    return ds.simulate.study(
        n_cases=n_cases, n_conditions=12, n_annotators=10, opinions=(2, 4), models=NEAR_TIES, seed=7
    )


@cache
def binary_study(n_cases: int = 60) -> Any:
    return ds.simulate.binary(n_cases=n_cases, n_annotators=5, opinions=(2, 4), seed=3)


@cache
def checked_study() -> Any:
    return ds.simulate.checklists(n_cases=30, n_annotators=4, findings=3, prevalence=0.3, not_assessed=0.1, seed=4)


@cache
def rated_study(n_cases: int = 50) -> Any:
    return ds.simulate.ratings(
        n_cases=n_cases, n_annotators=5, opinions=3, shift=0.4, models={"A": 0.4, "B": 0.8}, seed=5
    )


def few(models: Mapping[str, Any], n: int = 2) -> dict[str, Any]:
    """Take the first models."""
    return dict(list(models.items())[:n])


def sites(n_cases: int, n_sites: int = 2) -> dict[str, list[str]]:
    """Label cases in turn."""
    return {"site": [f"site {n % n_sites}" for n in range(n_cases)]}


def patients(n_cases: int) -> list[str]:
    """Group cases in pairs."""
    return [f"P{n // 2}" for n in range(n_cases)]


def opinions(rng: np.random.Generator, n_cases: int, said: Callable[[int], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make rows of one to four named annotators per case, two cases per patient."""
    return [
        {"case": f"case {n}", "annotator": f"reader {who}", "group": f"P{n // 2}", **said(n)}
        for n in range(n_cases)
        for who in rng.permutation(4)[: rng.integers(1, 5)]
    ]


def wide(values: np.ndarray[Any, Any], names: Sequence[str]) -> pl.DataFrame:
    """Make a table of what a model says of each case."""
    cases = pl.Series("case", [f"case {n}" for n in range(len(values))])
    return pl.DataFrame(values, schema=list(names)).insert_column(0, cases)


def two_models(n_cases: int, n_conditions: int, seed: int) -> dict[str, Any]:
    """Make the scores of two models."""
    return {name: scores(n_cases, n_conditions, seed + place) for place, name in enumerate("AB")}


def tied_study(unranked: str = "below") -> ds.Study:
    """Build rankings with ties, abstentions, an unannotated case, weights, groups and weights of cases."""
    rng = np.random.default_rng(11)
    names = [f"c{number}" for number in range(6)]
    rankings: list[list[list[list[str]]]] = []
    people: list[list[str | None]] = []
    weights: list[list[float]] = []
    for number in range(30):
        n_opinions = 0 if number == 13 else int(rng.integers(1, 5))
        rankings.append([_tied_ranking(rng, names) for _ in range(n_opinions)])
        chosen = rng.permutation(5)[:n_opinions]
        people.append([None if person == 4 else f"reader {person}" for person in chosen])
        weights.append([float(weight) for weight in rng.choice([0.5, 1.0, 2.0], n_opinions)])
    return ds.Study.from_rankings(
        rankings,
        names,
        case_names=[f"case {number}" for number in range(30)],
        annotator_names=people,
        weights=weights,
        groups=[f"patient {number // 2}" for number in range(30)],
        case_weights=[float(weight) for weight in rng.choice([0.5, 1.0, 3.0], 30)],
        unranked=unranked,  # type: ignore[arg-type]
    )


def _tied_ranking(rng: np.random.Generator, names: Sequence[str]) -> list[list[str]]:
    blocks: list[list[str]] = []
    for code in rng.permutation(6)[: rng.integers(0, 5)]:
        if blocks and rng.random() < 0.3:
            blocks[-1].append(names[code])
        else:
            blocks.append([names[code]])
    return blocks


def scores(n_cases: int, n_conditions: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Make probabilities with ties of two digits, which sum to one."""
    made = np.random.default_rng(seed).dirichlet(np.full(n_conditions, 0.7), size=n_cases).round(2) + 0.001
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def graded_study() -> ds.Study:
    """Build grades of named annotators, some of several grades in order."""
    rng = np.random.default_rng(8)
    rows = [
        {"case": f"case {number}", "annotator": f"reader {person}", "condition": str(grade), "group": f"P{number // 2}"}
        for number in range(50)
        for person in rng.permutation(5)[: rng.integers(2, 5)]
        for grade in [int(np.clip(round(2 + 1.2 * np.sin(number) + 0.7 * rng.normal()), 0, 4))]
    ]
    return ds.Study.from_long(pl.DataFrame(rows), [str(grade) for grade in range(5)], question="grades")


# Tables of an evaluation --------------------------------------------------------------------------------

FIXED: dict[str, Any] = {"annotators": "fixed"}
SAMPLE: dict[str, Any] = {"annotators": "sample"}


def evaluated(study: Any, models: Mapping[str, Any], aggregations: Any, metrics: Any, **how: Any) -> ds.Evaluation:
    """Evaluate at few draws."""
    how = {"draws": DRAWS, "level": LEVEL, **how}
    return ds.evaluate(study, models, aggregations=aggregations, metrics=metrics, **how)


def tables_of(result: ds.Evaluation, *, margin: float | None = None, cases: bool = True, draws: bool = False) -> Tables:
    """Return what an evaluation says, table by table; those by case and by draw only if asked, they are long."""
    found = {
        "summary": result.to_frame(),
        "points": result.point_estimates(),
        "agreement": result.agreement(),
        "by_certainty": first_of(result.by_certainty(), 250),
    }
    parts = {"by_category": result.by_category(), **{f"by_group {one}": result.by_group(one) for one in result.strata}}
    for name, frame in parts.items():
        of_runs = frame["estimand"].is_in(["adjusted", "panel"])
        found |= {name: first_of(frame.filter(of_runs), 250), f"{name}, others": first_of(frame.filter(~of_runs), 120)}
    if len(result.models) > 1:
        compared = result.compare(margin=margin)
        found |= {"compare": compared.to_frame(), "flips": compared.flips()}
        found["ranks"] = first_of(compared.rank_frame(), 250)
    if cases:
        found |= {"per_case": first_of(result.per_case(), 400), "certainties": first_of(result.certainties(), 150)}
        found |= {"plausibilities": first_of(result.plausibilities(), 150), "risks": first_of(result.risks(), 60)}
        found["category_certainties"] = first_of(result.category_certainties(), 60)
    if draws:
        found |= {"per_draw": first_of(result.per_draw(), 600), "per_resample": first_of(result.per_resample(), 600)}
    return {name: frame for name, frame in found.items() if frame.width}


def curves_of(result: ds.Evaluation, n: int = 200) -> Tables:
    """Return curves of every kind that there is, and the confusion."""
    kinds = result.curves()["kind"].unique(maintain_order=True)
    curves = {f"curves {kind}": first_of(result.curves(kind), n) for kind in kinds}
    return {**curves, "confusion": result.confusion()}


def named(parts: Mapping[str, Tables]) -> Tables:
    """Put tables of several parts together."""
    return {f"{kind} {name}": frame for kind, tables in parts.items() for name, frame in tables.items()}


def first_of(frame: pl.DataFrame, n: int) -> pl.DataFrame:
    """Take about ``n`` rows from all over a long table, always the same ones whatever the order of its rows."""
    keys = sorted(name for name, kind in frame.schema.items() if not kind.is_float() and not kind.is_nested())
    ordered = frame.sort(keys, maintain_order=True) if keys else frame
    return ordered.gather_every(max(1, -(-len(frame) // n)))


def attributes(thing: object, names: str) -> pl.DataFrame:
    """Make a table of one row of what a result says in single numbers."""
    return pl.DataFrame([{name: getattr(thing, name) for name in names.split()}])


# Evaluations --------------------------------------------------------------------------------------------

Asked: TypeAlias = Callable[[], tuple[Any, Mapping[str, Any]]]
"""Makes a study and its models."""


def enter(name: str, asked: Asked, aggregations: Any, metrics: Any, *shown: str, **how: Any) -> None:
    """Enter a case that evaluates a study; texts of specs are split, functions among the options are called later.

    ``shown`` says what is shown besides the usual tables: draws, curves or only what is "short".
    """
    specs, wanted = (one.split() if isinstance(one, str) else one for one in (aggregations, metrics))

    def made() -> Tables:
        given = {key: value() if callable(value) else value for key, value in how.items() if key != "margin"}
        result = evaluated(*asked(), specs, wanted() if callable(wanted) else wanted, **given)
        curves = curves_of(result, 300 if name == "binary" else 200) if "curves" in shown else {}
        show: dict[str, Any] = {"cases": "short" not in shown, "draws": "draws" in shown, "margin": how.get("margin")}
        return {**tables_of(result, **show), **curves}

    CASES[name] = made


def ranked(n_models: int = 2) -> tuple[Any, Mapping[str, Any]]:
    return ranked_study().annotations, few(ranked_study().predictions, n_models)


def answered(n_cases: int = 60) -> tuple[Any, Mapping[str, Any]]:
    return binary_study(n_cases).annotations, few(binary_study(n_cases).predictions)


def checked() -> tuple[Any, Mapping[str, Any]]:
    return checked_study().checklists, few(checked_study().predictions)


def rated() -> tuple[Any, Mapping[str, Any]]:
    return rated_study().ratings, few(rated_study().predictions)


def counted(seed: int, shares: Sequence[float], n_votes: int, n_cases: int, **how: Any) -> ds.Study:
    """Draw votes, two cases per patient."""
    counts = np.random.default_rng(seed).multinomial(n_votes, shares, size=n_cases)
    known = how or {"conditions": list("abcd"[: len(shares)])}
    return ds.Study.from_counts(counts, groups=patients(n_cases), **known)


def missing() -> tuple[Any, Mapping[str, Any]]:
    said, models = ranked()
    return said, {name: model.select(slice(at, None)) for at, (name, model) in enumerate(models.items())}


def weighted_findings() -> tuple[Any, Mapping[str, Any]]:
    rng = np.random.default_rng(16)
    rows = [
        {**row, "finding": name, "present": bool(rng.random() < 0.4), "weight": 1.0 + (n % 2), "case_weight": 2.0}
        for n, row in enumerate(opinions(rng, 24, lambda _: {}))
        for name in ("cyst", "node")
    ]
    models = {name: np.random.default_rng(seed).random((24, 2)).round(2) for name, seed in (("A", 1), ("B", 2))}
    return ds.Study.from_long(pl.DataFrame(rows)), models


def weighted_numbers() -> tuple[Any, Mapping[str, Any]]:
    rng = np.random.default_rng(17)
    said = enumerate(opinions(rng, 24, lambda _: {}))
    rows = [{**row, "score": float(rng.normal()), "weight": 1.0 + n % 2} for n, row in said]
    return ds.Study.from_long(pl.DataFrame(rows)), {"A": rng.normal(size=24), "B": rng.normal(size=24)}


def more_findings() -> tuple[Any, Mapping[str, Any]]:
    study = ds.simulate.checklists(n_cases=100, n_annotators=4, findings=2, prevalence=0.3, seed=6)
    return study.checklists, few(study.predictions)


def categorised() -> list[Any]:
    return [*RANKED, *SCORED, ds.metrics.CategoryAccuracy(ranked_study().categories.labels)]


WHOLE: dict[str, Any] = {"strata": lambda: ranked_study().strata}
RISKS = ds.Categories.from_labels(["low", "low", "high", "high"], list("abcd"), levels={"low": 0, "high": 2})
KNOWN = {"categories": lambda: ranked_study().categories, "strata": lambda: {"site": ranked_study().strata["site"]}}
CUT = [ds.aggregations.NormalInverseGamma(thresholds=(-0.5, 0.5)), ds.aggregations.MeanRating(thresholds=(-0.5, 0.5))]
LINES = {"A": np.linspace(1.0, 4.0, 30), "B": np.linspace(3.0, 2.0, 30)}
PANEL: dict[str, Any] = {"draws": 50, "panel": True}

enter("rankings", lambda: ranked(3), SAMPLED, categorised, "draws", margin=0.05, seed=5, **KNOWN, **FIXED)
text = "top-k-accuracy:1 average-overlap:3 auroc"
enter(
    "rankings_of_sampled_annotators", ranked, "plackett-luce:1 dirichlet:1", text, "short", level=0.8, **WHOLE, **SAMPLE
)
text = "top-k-accuracy:1 expected-accuracy:2 balanced-accuracy"
enter("rankings_learned_from_all_cases", ranked, [*LEARNED, *POINTS], text, **FIXED)
text = "top-k-accuracy:1 average-overlap:3 auroc sensitivity"
tied_specs = "plackett-luce:3 probabilistic-inverse-rank:30"
enter("ties_of_sampled_annotators", lambda: (tied_study(), two_models(30, 6, 1)), tied_specs, text, "short", **SAMPLE)
enter(
    "votes",
    lambda: (counted(9, [0.5, 0.3, 0.15, 0.05], 7, 40), two_models(40, 4, 3)),
    "dirichlet:1 plackett-luce:2 majority-vote",
    "top-k-accuracy:1 brier-score wasserstein-distance calibration-error:5",
    "draws",
    categories=RISKS,
)
enter("missing_cases", missing, "plackett-luce:1", "top-k-accuracy:1", allow_missing=True)
decisions, text = [*DECIDED, *ORDERED], "plackett-luce:1 dirichlet:1 majority-vote"
both = [*decisions, "top-k-accuracy:1", "brier-score"]
enter("binary", answered, text, both, "draws", "curves", margin=0.1, strata=sites(60), **FIXED)
text = "auroc sensitivity cohen-kappa calibration-error:5 sensitivity-at-specificity:0.8"
enter("binary_of_sampled_annotators", answered, "dirichlet:1", text, "short", strata=sites(60), **SAMPLE)
# metrics of a whole data set with more than two conditions, averaged over them
enter(
    "conditions_as_decisions",
    lambda: (counted(6, [0.5, 0.3, 0.2], 5, 40), two_models(40, 3, 7)),
    "dirichlet:1",
    [*AVERAGED[:4], *decisions],
    "curves",
    strata=sites(40),
)
more = [*AVERAGED, "auroc", "average-precision", "sensitivity", "specificity", "brier-score", "matthews"]
enter("findings", checked, "plackett-luce:1 dirichlet:1", more, "curves", strata=sites(30), **FIXED)
text = "top-k-accuracy:1 auroc sensitivity:average=weighted subset-accuracy"
enter("findings_of_sampled_annotators", checked, "plackett-luce:1", text, "short", draws=50, **SAMPLE)
enter("weighted_findings", weighted_findings, "dirichlet:1", "top-k-accuracy:1 auroc")
enter("weighted_numbers", weighted_numbers, None, "mean-absolute-error rmse")
text = "mean-absolute-error rmse correlation"
enter("numbers_of_sampled_annotators", rated, NUMBERS[:1], text, "short", **SAMPLE)
text = "top-k-accuracy:1 brier-score auroc"
enter("numbers_cut_at_thresholds", lambda: (rated_study().ratings, two_models(50, 3, 12)), CUT, text, **FIXED)
levels = counted(2, [0.2, 0.3, 0.3, 0.2], 6, 30, levels=[1.0, 2.0, 3.0, 4.0])
enter("numbers_as_counts", lambda: (levels, LINES), None, "mean-absolute-error rmse")
text, hundred = "top-k-accuracy:1 auroc sensitivity", partial(answered, 100)
enter("panel_of_sampled_annotators", hundred, "plackett-luce:1", text, "short", **PANEL, **SAMPLE)
text = "top-k-accuracy:1 brier-score"
enter("priors_that_models_inform", hundred, INFORMED, text, "draws", draws=50, panel=False, **FIXED)
enter("panel_of_findings", more_findings, "plackett-luce:1", "top-k-accuracy:1 auroc", "short", **PANEL, **FIXED)


# Several tables -----------------------------------------------------------------------------------------


@case
def ties() -> Tables:
    names, cases = [f"c{n}" for n in range(6)], [f"case {n}" for n in range(30)]
    models = {"A": ds.Predictions.from_scores(scores(30, 6, 1), names, case_names=cases), "B": scores(30, 6, 2)}
    metrics = ["top-k-accuracy:1", "set-accuracy:2", "average-overlap:3", "brier-score", "auroc", "matthews"]
    how: dict[str, Any] = {"seed": 2, "strata": sites(30, 3)}
    specs = {"below": ["plackett-luce:1,5", "dirichlet:1"], "unobserved": ["plackett-luce:1,5"]}
    return named({kind: tables_of(evaluated(tied_study(kind), models, specs[kind], metrics, **how)) for kind in specs})


@case
def sets_and_lists() -> Tables:
    study, _ = ranked()
    names, cases, chosen = study.conditions, study.case_names, scores(40, 12, 5)
    order = [[names[code] for code in np.argsort(-row, kind="stable")] for row in chosen]
    sets = {"small": 0.2, "large": 0.05}
    lists = {"short": 2, "long": 5}
    models = {
        "sets": {name: ds.Predictions.from_sets(chosen > cut, names, case_names=cases) for name, cut in sets.items()},
        "lists": {
            name: ds.Predictions.from_rankings([one[:k] for one in order], names, case_names=cases)
            for name, k in lists.items()
        },
    }
    asked = {"sets": SETS, "lists": RANKED[:4]}
    how: dict[str, Any] = {"aggregations": ["plackett-luce:1"], **FIXED}
    return named({kind: tables_of(evaluated(study, models[kind], metrics=asked[kind], **how)) for kind in asked})


@case
def defaults() -> Tables:
    """Whatever is not said: metrics and panel; and the sweep, of which the reference run is the first."""
    ranked, binary, rated, checked = ranked_study(), binary_study(), rated_study(), checked_study()
    studies = {
        "rankings": (ranked.annotations, ranked.predictions),
        "binary": (binary.annotations, binary.predictions),
        "grades": (graded_study(), {"A": scores(50, 5, 6)}),
        "ratings": (rated.ratings, rated.predictions),
        "checklists": (checked.checklists, checked.predictions),
    }
    return {
        name: ds.evaluate(study, few(models, 1), sweep=True, draws=50, annotators="fixed", level=LEVEL).to_frame()
        for name, (study, models) in studies.items()
    }


@case
def no_models() -> Tables:
    result = ds.evaluate(tied_study(), {}, aggregations=["plackett-luce:1,5"], draws=DRAWS)
    return {"certainties": result.certainties(), "by_certainty": result.by_certainty()}


# Yes or no, grades, findings ----------------------------------------------------------------------------


@case
def grades() -> Tables:
    study = graded_study()
    result = evaluated(study, two_models(50, 5, 9), GRADED, GRADES, **FIXED)
    own = {
        "gradings": ds.agreement.annotator_gradings(study, draws=100),
        "measures": ds.agreement.agreement_measures(study),
    }
    return {**tables_of(result), "confusion": result.confusion(), **own}


# Ratings ------------------------------------------------------------------------------------------------


@case
def numbers() -> Tables:
    study = rated_study()
    cases = study.ratings.case_names
    spread = ds.Predictions.from_numbers(study.truth + 0.2, np.full(50, 0.5), case_names=cases)
    models = {**few(study.predictions), "spread": spread}
    result = evaluated(study.ratings, models, NUMBERS, NUMBERED, strata=sites(50), **FIXED)
    return {**tables_of(result, draws=True), "shifts": ds.aggregations.annotator_shifts(study.ratings)}


# The panel ----------------------------------------------------------------------------------------------


@case
def panel_of_rankings() -> Tables:
    study = ranked_study(110)
    said, models = study.annotations, few(study.predictions)
    specs, metrics = ["plackett-luce:1", "dirichlet:1"], ["top-k-accuracy:1", "average-overlap:3", "auroc"]
    result = evaluated(said, models, specs, metrics, draws=50, strata=study.strata, panel=True, **FIXED)
    priors = {
        "prior": ds.aggregations.informed_prior(said, models),
        "prior of two folds": ds.aggregations.informed_prior(said, models, folds=2),
    }
    return {**tables_of(result, margin=0.02), **{name: prior.table() for name, prior in priors.items()}}


@case
def panel_of_numbers() -> Tables:
    study = rated_study(110)
    said, models, metrics = study.ratings, few(study.predictions), ["mean-absolute-error", "rmse"]
    result = evaluated(said, models, NUMBERS[:1], metrics, draws=50, panel=True, **FIXED)
    informed = evaluated(said, models, INFORMED_NUMBERS, metrics, draws=50, panel=False, **FIXED)
    return {
        **tables_of(result),
        "informed": informed.to_frame(),
        "prior": ds.aggregations.rating_prior(said, models).table(),
        "prior with shifts": ds.aggregations.rating_prior(said, models, shifts=True).table(),
    }


# Calibration --------------------------------------------------------------------------------------------


@case
def calibration() -> Tables:
    study = ranked_study()
    said, models, specs = study.annotations, few(study.predictions), ["plackett-luce:1,3", "dirichlet:1"]
    found = ds.calibrate(said, specs, models, draws=DRAWS, seed=1)
    result = evaluated(said, models, specs, ["top-k-accuracy:1"], reference=found, **FIXED)
    refined = ds.calibrate(said, specs[:1], draws=DRAWS, seed=1, refine=True)
    return {**calibration_of(found), "refined": refined.to_frame(), "evaluated": result.to_frame()}


def calibration_of(found: ds.Calibration) -> Tables:
    tables = {
        "calibrated": found.to_frame(),
        "curve": found.curve(),
        "scores": found.scores,
        "panel_split": found.panel_split,
        "models": found.models,
    }
    return {name: frame for name, frame in tables.items() if frame.width}


@case
def calibration_of_other_questions() -> Tables:
    binary, rated, checked = binary_study(), rated_study(), checked_study().checklists
    one = checked.of_finding(checked.findings[0])
    found = {
        "binary": ds.calibrate(binary.annotations, ["dirichlet:1,3"], few(binary.predictions), draws=DRAWS),
        "ratings": ds.calibrate(rated.ratings, ["normal-inverse-gamma"], few(rated.predictions), draws=DRAWS),
        "finding": ds.calibrate(one, ["plackett-luce:1,3"], draws=DRAWS),
        "ties": ds.calibrate(tied_study(), ["plackett-luce:1,3", "probabilistic-inverse-rank:30"], draws=DRAWS),
    }
    return named({kind: calibration_of(one) for kind, one in found.items()})


# Draws --------------------------------------------------------------------------------------------------


@case
def certainty() -> Tables:
    study = ranked_study()
    draws = ds.aggregations.PlackettLuce(1).sample(study.annotations, draws=100, seed=3)
    found = {
        "summary": first_of(draws.summary(), 100),
        "mean": pl.DataFrame(draws.mean()[:10]),
        "one": ds.certainty.annotation_certainty(draws).to_frame(),
        "three": ds.certainty.annotation_certainty(draws, top=3).to_frame(),
        "categories": ds.certainty.annotation_certainty(draws, categories=study.categories).to_frame(),
        "given": ds.certainty.certainty_of(draws, [[study.annotations.conditions[0]]] * 40).to_frame(),
        "rank": ds.certainty.rank_certainty(draws, rank=2).to_frame(),
        "shares": first_of(ds.certainty.rank_shares(draws, rank=2), 100),
        "risk": ds.certainty.expected_risk(draws, study.categories),
        "diagnostics": ds.aggregations.sampling_diagnostics(draws).to_frame(),
    }
    for one in ds.certainty.certainty_profile(draws):
        found[f"profile {one.top}"] = one.to_frame()
        found[f"profile {one.top} in all"] = attributes(one, "mean mean_error")
    return found


@case
def regions() -> Tables:
    study = binary_study()
    draws, said = (
        ds.aggregations.Dirichlet(1).sample(study.annotations, draws=100, seed=3),
        next(iter(study.predictions.values())),
    )
    found = ds.certainty.plausibility_regions(draws, said, coverage=0.8)
    return {
        "regions": attributes(found, "threshold coverage n_cases n_draws"),
        "contains": pl.DataFrame({"share": found.contains(draws, said)}),
        "sets": pl.DataFrame({"set": [str(sets) for sets in found.top_sets(draws, said).to_lists()]}),
    }


@case
def given_draws() -> Tables:
    made = np.random.default_rng(4).dirichlet(np.ones(4), size=(60, 20))
    given = ds.Plausibilities.from_draws(made, conditions=list("abcd"), n_chains=2)
    study = ds.Study.from_counts(np.random.default_rng(5).multinomial(3, [0.25] * 4, size=20), list("abcd"))
    metrics = ["top-k-accuracy:1", "auroc"]
    result = ds.evaluate(study, two_models(20, 4, 14), aggregations=[given], metrics=metrics, level=LEVEL)
    return {**tables_of(result), "diagnostics": ds.aggregations.sampling_diagnostics(given).to_frame()}


@case
def own_metrics() -> Tables:
    def first(given: Any, plausibilities: Any) -> Any:
        return 1 - abs(given[:, None, 0] - plausibilities[:, :, 0])

    def hits(given: Any, labels: Any, weights: Any) -> Any:
        return np.average(given.argmax(axis=1) == labels, axis=1, weights=weights)

    study = binary_study()
    own = [ds.metrics.UserMetric("first", first), ds.metrics.UserDataSetMetric("hits", hits)]
    return tables_of(evaluated(study.annotations, few(study.predictions), ["dirichlet:1"], own, draws=50, **FIXED))


# Annotators ---------------------------------------------------------------------------------------------


@case
def agreement() -> Tables:
    tied, graded, rated = tied_study(), graded_study(), rated_study().ratings
    ranked, binary = ranked_study().annotations, binary_study().annotations
    numbers = "value low high observed expected n_cases"
    alphas = [
        attributes(ds.agreement.krippendorff_alpha(study, distance=distance, draws=200), numbers).with_columns(  # type: ignore[arg-type]
            study=pl.lit(name), distance=pl.lit(distance)
        )
        for name, study, distances in (
            ("ties", tied, ("first-choice", "overlap", "set", "masi")),
            ("grades", graded, ("first-choice", "ordinal")),
            ("ratings", rated, ("interval", "ordinal")),
        )
        for distance in distances
    ]
    kappa = ds.agreement.cohen_kappa(binary, tuple(binary.annotator_names[:2]))
    measured = {"ranked": ranked, "binary": binary, "ratings": rated, "tied": tied}
    return {
        "alphas": pl.concat(alphas),
        "kappa": attributes(kappa, "measure value low high n_cases n_annotators"),
        "tied": ds.agreement.annotator_agreement(tied).to_frame(),
        "tied within": ds.agreement.annotator_agreement(tied, ties="each", within="first-block").to_frame(),
        "ranked": ds.agreement.annotator_agreement(ranked).to_frame(),
        "pairs": first_of(ds.agreement.pairwise_agreement(ranked, depth=2), 100),
        "pairs tied": first_of(ds.agreement.pairwise_agreement(tied), 100),
        **{f"measures {name}": ds.agreement.agreement_measures(study) for name, study in measured.items()},
        "overlap": overlaps(),
    }


def overlaps() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    names = [f"c{number}" for number in range(6)]
    pairs = [(_tied_ranking(rng, names), _tied_ranking(rng, names)) for _ in range(30)]
    depths = (1, 3)
    return pl.DataFrame(
        {
            f"at {depth}": [ds.agreement.mean_average_overlap(*pair, depth=depth, n_conditions=9) for pair in pairs]
            for depth in depths
        }
    )


@case
def annotator_quality() -> Tables:
    said = binary_study().annotations
    return {
        "quality": ds.agreement.annotator_quality(said, draws=100),
        "confusion": ds.agreement.annotator_confusion(said, draws=100),
        "gold": ds.agreement.annotator_quality(said, draws=100, gold={said.case_names[0]: said.conditions[1]}),
    }


# Halves, shards, files ----------------------------------------------------------------------------------


@case
def files() -> Tables:
    rng, names = np.random.default_rng(12), list("abcd")
    said = opinions(rng, 60, lambda n: {"condition": str(rng.choice(names)), "case_weight": 1.0 + n % 3})
    models = {name: wide(scores(60, 4, seed), names) for name, seed in (("A", 1), ("B", 2))}
    how = {
        "reading": {"conditions": names},
        "aggregations": ["plackett-luce:1", "dirichlet:1:alpha=1", "majority-vote"],
        "metrics": ["top-k-accuracy:1", "set-accuracy:2", "auroc", "sensitivity", "brier-score"],
    }
    return evaluated_files(said, models, 25, **how, **SAMPLE)


@case
def files_with_a_panel() -> Tables:
    rng, names = np.random.default_rng(13), ["no", "yes"]
    said = opinions(rng, 100, lambda n: {"condition": "yes" if rng.random() < (n % 10) / 10 else "no"})
    chance = np.clip(np.arange(100) % 10 / 10 + rng.normal(0, 0.1, 100), 0.01, 0.99).round(2)
    models = {"A": wide(np.column_stack([1 - chance, chance]), names), "B": wide(scores(100, 2, 3), names)}
    how = {
        "reading": {"question": "binary", "positive": "yes"},
        "aggregations": ["plackett-luce:1"],
        "metrics": ["top-k-accuracy:1", "auroc", "sensitivity"],
        "panel": True,
        "reference": "calibrated",
    }
    return evaluated_files(said, models, 40, **how, **FIXED)


@case
def files_of_numbers() -> Tables:
    rng = np.random.default_rng(14)
    said = opinions(rng, 40, lambda n: {"score": n / 10 + float(rng.normal())})
    errors = {"A": 0.5, "B": 1.0}
    models = {
        name: wide((np.arange(40) / 10 + rng.normal(0, error, 40))[:, None], ["number"])
        for name, error in errors.items()
    }
    metrics = ["mean-absolute-error", "rmse", "correlation"]
    known = ds.aggregations.NormalInverseGamma(
        thresholds=(2.0,), prior=ds.aggregations.NormalInverseGammaPrior(2.0, 1.0, 2.0, 1.0)
    )
    return evaluated_files(said, models, 15, aggregations=[known], metrics=metrics, **FIXED)


@case
def files_of_findings() -> Tables:
    rng, names = np.random.default_rng(15), ["cyst", "node"]
    said = [
        {**row, "finding": name, "present": bool(rng.random() < 0.4)}
        for row in opinions(rng, 30, lambda _: {})
        for name in names
    ]
    models = {
        name: wide(np.random.default_rng(seed).random((30, 2)).round(2), names) for name, seed in (("A", 1), ("B", 2))
    }
    metrics = ["top-k-accuracy:1", "auroc", "subset-accuracy"]
    return evaluated_files(said, models, 12, aggregations=["plackett-luce:1"], metrics=metrics, **FIXED)


def evaluated_files(
    said: Sequence[Mapping[str, Any]], models: Mapping[str, pl.DataFrame], size: int, **how: Any
) -> Tables:
    """Write files, evaluate them shard by shard, and return the tables."""
    cases = list(dict.fromkeys(row["case"] for row in said))
    tables = {"study": pl.DataFrame(said), "sites": pl.DataFrame({"case": cases, **sites(len(cases))}), **models}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.parquet" for name in tables}
        for name, table in tables.items():
            table.write_parquet(paths[name])
        how |= {"strata": paths["sites"], "draws": DRAWS, "shard_size": size, "level": LEVEL}
        result = ds.evaluate_files(paths["study"], {name: paths[name] for name in models}, Path(folder) / "run", **how)
        return tables_of(result, cases=False)


# Writing and comparing ----------------------------------------------------------------------------------


def computed(name: str) -> dict[str, Stored]:
    """Compute the tables of a case, as they are stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {table: stored(frame) for table, frame in CASES[name]().items()}


def stored(frame: pl.DataFrame) -> Stored:
    """Turn a table into lists of plain values, with rows in the order of the columns that are not fractions."""
    flat = frame.with_columns(
        pl.col(name).map_elements(str, return_dtype=pl.String, skip_nulls=True)
        for name, kind in frame.schema.items()
        if kind.is_nested() or kind == pl.Object
    )
    keys = sorted(name for name, kind in flat.schema.items() if not kind.is_float())
    ordered = flat.sort(keys, maintain_order=True) if keys else flat
    return {name: [_plain(value) for value in ordered[name].to_list()] for name in sorted(ordered.columns)}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def check(name: str, was: Mapping[str, Stored]) -> None:
    """Compute a case, and expect of every table what is stored; what is printed says which table is another one."""
    now = computed(name)
    assert now.keys() == was.keys()
    for table, before in was.items():
        print(f"{name}, {table}")
        both = [pl.DataFrame(one, strict=False, infer_schema_length=None) for one in (before, now[table])]
        is_found = pl.col("run").ne_missing("panel") if "run" in before else pl.lit(value=True)
        for rows, columns, near in (
            (pl.lit(value=True), pl.all(), FITTED),
            (is_found, pl.all(), TOLERANCE),
            (pl.lit(value=True), pl.exclude(OF_FIT), TOLERANCE),
        ):
            old, new = (one.filter(rows).select(columns) for one in both)
            assert_frame_equal(old, new, rel_tol=near, abs_tol=near)


def golden() -> dict[str, dict[str, Stored]]:
    """Read the stored tables."""
    found: dict[str, dict[str, Stored]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def main(names: Sequence[str]) -> None:
    """Write the tables of the named cases, or of all."""
    found = (golden() if names else {}) | {name: computed(name) for name in names or CASES}
    FILE.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
