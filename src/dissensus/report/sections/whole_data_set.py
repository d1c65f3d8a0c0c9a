"""Ranking, decisions and calibration: curves, confusion matrices, and results finding by finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.evaluation.glossary import term
from dissensus.evaluation.influences import FINDING
from dissensus.evaluation.sentences import joined, named_estimand, strong
from dissensus.evaluation.words import counted
from dissensus.metrics.data_set import DataSetMetric
from dissensus.report.pictures import Picture, picture
from dissensus.report.section import ReportSection, ReportSubject
from dissensus.report.sections.summary import estimate

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


class WholeDataSet(ReportSection):
    """Show what metrics of a whole data set are made of."""

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
        return {
            "introduction": introduction(evaluation),
            "has_curves": bool(set(self.shows) & set(subject.plots.names())),
            "remarks": evaluation.remarks,
            "tables": finding_tables(evaluation),
        }

    def pictures(self, subject: ReportSubject) -> Iterable[Picture]:
        """Draw the curves of the run that sentences are about, and those of the reference run."""
        evaluation, known = subject.evaluation, subject.plots.names()
        runs = list(dict.fromkeys((evaluation.headline, evaluation.reference)))
        return [picture(name, subject.plots, runs=runs) for name in self.shows if name in known]


def introduction(evaluation: Evaluation) -> Markup:
    """Say what such metrics compare, and how many cases are expected to be positive."""
    names = [metric.name for metric in evaluation.metrics if isinstance(metric, DataSetMetric)]
    head = Markup("{} {} all cases of a {} at once.").format(
        _first_capital(joined(names)), "sees" if len(names) == 1 else "see", term("draw")
    )
    return Markup(" ").join([head, *_positive(evaluation)])


def _first_capital(text: Markup) -> Markup:
    return Markup(text[:1].upper()) + text[1:]


def _positive(evaluation: Evaluation) -> Iterable[Markup]:
    """Say which condition is the positive one, and of how many cases."""
    if evaluation.asked_findings:
        yield Markup("Every {} is a question of its own; metrics are averaged over them as their names say.").format(
            term("finding")
        )
    elif evaluation.study.question != "binary":
        if len(evaluation.conditions):
            yield Markup(
                "Each {} is set against all others in turn, and metrics are averaged as their names say."
            ).format(term("condition"))
    else:
        positive, last = term("positive", "Positive"), strong(evaluation.conditions[-1])
        yield Markup("{} cases are those with the answer {}{}").format(positive, last, _expected(evaluation))


def _expected(evaluation: Evaluation) -> Markup:
    """Say how many cases are expected to be positive, if that is known."""
    found = expected_positives(evaluation).get("")
    if found is None:
        return Markup(".")
    run = named_estimand(evaluation, evaluation.runs[evaluation.headline].identity)
    return Markup(": {} of {} are expected to be ({}).").format(
        f"{found:.1f}", counted(evaluation.n_cases, "case"), run
    )


def expected_positives(evaluation: Evaluation) -> dict[str, float]:
    """Return the expected number of positive cases by finding, or of the one question; nothing if it is not kept.

    Of a study in shards, labels are not kept.
    """
    kept = evaluation.label_masses(evaluation.headline)
    if not kept:
        return {}
    labels = next(iter(kept.values()))
    masses = labels.means[:, -1] * evaluation.study.case_weights
    findings = evaluation.asked_findings
    if not findings:
        return {"": float(masses.sum())}
    own = np.array(evaluation.strata[FINDING])
    return {finding: float(masses[own == finding].sum()) for finding in findings}


@dataclass(frozen=True)
class FindingTable:
    """One metric of every model, finding by finding.

    Attributes
    ----------
    metric, models
        What columns show.
    rows
        Finding, expected number of positive cases, and the value of every model with its interval.
    """

    metric: str
    models: tuple[str, ...]
    rows: tuple[tuple[str, float | None, tuple[Markup, ...]], ...]


def finding_tables(evaluation: Evaluation) -> list[FindingTable]:
    """Tabulate all metrics finding by finding; nothing where rows are cases."""
    if not evaluation.asked_findings:
        return []
    found = evaluation.of_run(evaluation.by_group(FINDING), evaluation.headline).to_dicts()
    known = {(row["metric"], row["stratum"], row["model"]): row for row in found}
    expected = expected_positives(evaluation)
    return [
        FindingTable(
            metric.name,
            evaluation.models,
            tuple(
                (
                    finding,
                    expected.get(finding),
                    tuple(estimate(known.get((metric.name, finding, model))) for model in evaluation.models),
                )
                for finding in evaluation.asked_findings
            ),
        )
        for metric in evaluation.metrics
    ]
