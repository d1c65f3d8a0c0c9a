"""Sections about models: in short, across reliabilities, the prior they inform, whole data sets, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.evaluation.comparison import LEAST_CASES, LEAST_GROUPS
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL
from dissensus.evaluation.first_screen import first_screen
from dissensus.evaluation.sentences import (
    apart,
    assumption,
    capital,
    flips,
    joined,
    leading,
    named_estimand,
    no_panel,
    panel_meaning,
    probability_better,
    statements,
    strong,
    verdict,
)
from dissensus.evaluation.sums import FINDING
from dissensus.evaluation.tables import Beside, Result, side_by_side
from dissensus.evaluation.words import NOTHING, counted, number, small_probability, term, value
from dissensus.metrics.data_set import DataSetMetric
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation, PriorRecord

# Empty room at both ends of the scale, as a share of it.
MARGIN = 0.04

# What the scoreboard shows of a model, from top to bottom.
ESTIMANDS = (PANEL, AGREEMENT, ADJUSTED)

# What the scoreboard draws of an estimand, and the columns that hold it.
NAMES = {"": "mean", "_low": "low", "_high": "high"}

# A factor nearer to one than this is none.
LEAST_GAIN = 0.005

# In short -----------------------------------------------------------------------------------------------


class Summary(ReportSection):
    """Say what came out in a few sentences, and put the models on a common scale."""

    id = "summary"
    title = "In short"
    place = 10

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the statements, and the first metric of all models."""
        evaluation, results = subject.evaluation, subject.tables.to_frame()
        found = leading(evaluation, results) if evaluation.models else []
        values = [one for each in found for one in drawn(each).values() if one is not None and one == one] or [0.0, 1.0]
        every = side_by_side(evaluation, results) if evaluation.models else []
        return {
            "screen": first_screen(evaluation),
            "statements": statements(evaluation),
            "scores": [score(one, min(values), max(values)) for one in found],
            "metric": evaluation.metrics[0].name if evaluation.metrics else "",
            "practices": list(found[0].practices) if found else [],
            "has_truth": bool(found) and found[0].truth is not None,
            "truth_reason": found[0].truth_reason if found else "",
            "every": [score(one, 0.0, 1.0) for one in every],
            "assumption": assumption(evaluation),
            "panel_meaning": panel_meaning(),
            "shown": [name for name in ESTIMANDS if found and getattr(found[0], name) is not None],
            "headline_estimand": evaluation.runs[evaluation.headline].estimand,
            "estimate": estimate,
            "level": f"{100 * evaluation.level:g} %",
        }


def estimate(row: Result | None) -> Markup:
    """Write a value with its interval.

    >>> str(estimate({"mean": 0.5, "low": 0.25, "high": 0.75}))
    '<strong>0.500</strong> (0.250 to 0.750)'
    """
    if row is None:
        return Markup(NOTHING)
    if math.isnan(row["mean"]):
        return Markup(value(row["mean"]))
    return Markup("{} ({} to {})").format(strong(number(row["mean"])), number(row["low"]), number(row["high"]))


def score(one: Beside, least: float, most: float) -> dict[str, Any]:
    """Describe a model by all estimands and by every practice, in words and on the scale.

    Words say how the first practice compares with panel or the adjusted value; values are placed between two others.
    """
    name, gap = next(iter(one.gaps.items()), ("", None))
    told = apart(gap, one.metric) if name else ""
    return {"beside": one, "places": placed(drawn(one), least, most), "verdict": told}


def drawn(one: Beside) -> dict[str, float | None]:
    """Return what the scale shows of a model: all estimands with their intervals, the first practice, the truth."""
    rows = {name: getattr(one, name) for name in ESTIMANDS}
    estimated = {
        name + ending: row[column] for name, row in rows.items() if row is not None for ending, column in NAMES.items()
    }
    return {**estimated, "practice": next(iter(one.practices.values()), None), "truth": one.truth}


def placed(values: Mapping[str, float | None], least: float, most: float) -> dict[str, float]:
    """Return where values stand between two others, in percent of the width with its margins; none for nothing.

    >>> placed({"low": 0.5, "truth": None}, 0.0, 1.0), placed({"low": 1.0}, 1.0, 1.0)
    ({'low': 50.0}, {'low': 50.0})
    """
    known = {name: value for name, value in values.items() if value is not None and value == value}
    shares = {name: (value - least) / (most - least) if most > least else 0.5 for name, value in known.items()}
    return {name: round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2) for name, share in shares.items()}


# Across reliabilities -----------------------------------------------------------------------------------


class Models(ReportSection):
    """Follow the models across reliabilities."""

    id = "models"
    title = "Models across reliability"
    place = 40
    shows = ("estimands", "reliability", "draws", "by_certainty")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the metrics measure, those that measure alike together, and all results."""
        meanings: dict[str, list[str]] = {}
        for metric in subject.evaluation.metrics:
            meanings.setdefault(metric.meaning, []).append(metric.name)
        return {
            "meanings": [(", ".join(names), text) for text, names in meanings.items() if text],
            "results": sorted(subject.tables.to_frame().to_dicts(), key=lambda row: row["estimand"] != PANEL),
            "assumption": assumption(subject.evaluation),
            "has_panel": subject.evaluation.panel is not None,
            "panel_meaning": panel_meaning(),
            "no_panel": no_panel(subject.evaluation),
        }


# The informed prior -------------------------------------------------------------------------------------


class InformedPrior(ReportSection):
    """Show how much each model says about what a large panel would say, as the annotators decide."""

    id = "prior"
    title = "How much each model informed the prior"
    place = 45

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there is a panel estimate."""
        return evaluation.panel is not None and evaluation.prior is not None and bool(evaluation.prior.models)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what was fitted of every model, in numbers and in words, and how many opinions the prior is worth."""
        evaluation = subject.evaluation
        assert evaluation.prior is not None, "checked by has"
        return {
            "rows": [(row, *gains(row)) for row in evaluation.prior.models],
            "is_rated": evaluation.study.kind == "ratings",
            "worth": worth(evaluation.prior, evaluation.study.kind),
            "opinions": f"{evaluation.n_votes / evaluation.n_cases:.3g}",
            "prior_warnings": evaluation.prior.warnings,
        }


def gains(row: Mapping[str, Any]) -> tuple[str, str]:
    """Say how much more probable a model makes what annotators chose, alone and beyond the others.

    Gains are those of the mean logarithm of a probability, and are written as factors.

    >>> gains({"alone": 0.5, "beyond": 0.0, "left_out": None})
    ('1.65 times as probable', 'nothing')
    >>> gains({"alone": None, "beyond": None, "left_out": "it has seen the answers"})[1]
    'left out: it has seen the answers'
    """
    if row.get("left_out") is not None:
        return NOTHING, f"left out: {row['left_out']}"
    alone, beyond = (math.exp(row[name]) for name in ("alone", "beyond"))
    told = [f"{number(one, 2)} times as probable" if one >= 1 + LEAST_GAIN else "nothing" for one in (alone, beyond)]
    return told[0], told[1]


def worth(prior: PriorRecord, kind: str = "rankings") -> str:
    """Say how many votes, or ratings, the prior of a case is worth.

    >>> from dissensus.evaluation.results import PriorRecord
    >>> worth(PriorRecord(concentrations=(0.5, 1.0, 2.0, 4.0, 32.0)))
    'is worth 2 votes in the middle case, 1 to 4 in half of the cases, and 0.5 to 32 in all'
    >>> worth(PriorRecord(concentrations=(2.5,) * 5), "ratings")
    'is worth 2.5 ratings in every case'
    """
    least, low, middle, high, most = (f"{one:.2g}" if one < 10 else f"{one:,.0f}" for one in prior.concentrations)
    votes = ("rating" if kind == "ratings" else "vote") + ("" if middle == "1" else "s")
    if least == most:
        return f"is worth {middle} {votes} in every case"
    half = f"{low} to {high} in half of the cases"
    return f"is worth {middle} {votes} in the middle case, {half}, and {least} to {most} in all"


# Ranking, decisions and calibration -----------------------------------------------------------------------


class WholeDataSet(ReportSection):
    """Show what metrics of a whole data set are made of: curves, confusion matrices, and results finding by finding."""

    id = "whole-data-set"
    title = "Ranking, decisions and calibration"
    place = 47
    shows = ("roc", "precision_recall", "reliability_diagram", "decision_curve", "confusion")

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there is more to show of such a metric than its value."""
        is_whole = any(isinstance(metric, DataSetMetric) for metric in evaluation.metrics)
        has_more = bool(evaluation.lines or evaluation.remarks or evaluation.asked_findings)
        return bool(evaluation.models) and is_whole and has_more

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what is positive, remarks, and the results of every finding."""
        evaluation = subject.evaluation
        names = [metric.name for metric in evaluation.metrics if isinstance(metric, DataSetMetric)]
        head = Markup("{} {} all cases of a {} at once.").format(
            capital(joined(names)), "sees" if len(names) == 1 else "see", term("draw")
        )
        return {
            "introduction": Markup(" ").join([head, *positive_cases(evaluation)]),
            "has_curves": bool(set(self.shows) & set(subject.plots.names())),
            "remarks": evaluation.remarks,
            "tables": finding_tables(evaluation),
        }


def positive_cases(evaluation: Evaluation) -> Iterable[Markup]:
    """Say which condition is the positive one, and how many cases are expected to be positive, if that is known."""
    if evaluation.asked_findings:
        told = Markup("Every {} is a question of its own; metrics are averaged over them as their names say.")
        yield told.format(term("finding"))
    elif evaluation.study.question != "binary":
        if len(evaluation.conditions):
            told = Markup("Each {} is set against all others in turn, and metrics are averaged as their names say.")
            yield told.format(term("condition"))
    else:
        found, known = expected_positives(evaluation).get(""), Markup(".")
        if found is not None:
            run = named_estimand(evaluation, evaluation.runs[evaluation.headline].identity)
            cases = counted(evaluation.n_cases, "case")
            known = Markup(": {} of {} are expected to be ({}).").format(f"{found:.1f}", cases, run)
        told = Markup("{} cases are those with the answer {}{}")
        yield told.format(term("positive", "Positive"), strong(evaluation.conditions[-1]), known)


def expected_positives(evaluation: Evaluation) -> dict[str, float]:
    """Return the expected number of positive cases by finding, or of the one question; nothing if it is not kept.

    Of a study in shards, labels are not kept.
    """
    kept = evaluation.label_masses(evaluation.headline)
    if not kept:
        return {}
    masses = next(iter(kept.values())).means[:, -1] * evaluation.study.case_weights
    findings = evaluation.asked_findings
    if not findings:
        return {"": float(masses.sum())}
    own = np.array(evaluation.strata[FINDING])
    return {finding: float(masses[own == finding].sum()) for finding in findings}


def finding_tables(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Tabulate all metrics finding by finding; nothing where rows are cases.

    Rows hold the finding, the expected number of its positive cases, and the value of every model with its interval.
    """
    if not evaluation.asked_findings:
        return []
    found = evaluation.of_run(evaluation.by_group(FINDING), evaluation.headline).to_dicts()
    known = {(row["metric"], row["stratum"], row["model"]): row for row in found}
    expected, models = expected_positives(evaluation), evaluation.models

    def values(metric: str, finding: str) -> Sequence[Markup]:
        return [estimate(known.get((metric, finding, model))) for model in models]

    tables = []
    for metric in evaluation.metrics:
        rows = [(one, expected.get(one), values(metric.name, one)) for one in evaluation.asked_findings]
        tables.append({"metric": metric.name, "models": models, "rows": rows})
    return tables


# Comparison ---------------------------------------------------------------------------------------------


class ComparisonSection(ReportSection):
    """Compare all pairs of models: which one is better, or that nobody can tell."""

    id = "comparison"
    title = "Which model is better"
    place = 50
    shows = ("comparison", "ranks")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all differences by every estimand, adjusted in the reference run, and where orders flip."""
        evaluation, comparison = subject.evaluation, subject.tables.compare()
        labels = {evaluation.run_label(run) for run in (evaluation.headline, evaluation.reference)}
        order = (PANEL, ADJUSTED, AGREEMENT)
        own = [found for found in comparison.differences if found.run in labels or found.estimand == AGREEMENT]
        own.sort(key=lambda found: order.index(found.estimand))
        return {
            "differences": [(found, verdict(found), probability_better(found)) for found in own],
            "main_metric": evaluation.metrics[0].name,
            "estimands": [name for name in order if any(found.estimand == name for found in own)],
            "flips": flips(comparison),
            "p_value": small_probability,
            "chance": 1 - evaluation.level,
            "least_cases": LEAST_CASES,
            "least_groups": LEAST_GROUPS,
        }
