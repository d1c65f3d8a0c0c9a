"""Sections about models: the decision, all metrics in one table, parts of the study, sensitivity, calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from dissensus.core.screen import NOTHING, counted, interval, number, percent, small_probability
from dissensus.evaluation import sentences
from dissensus.evaluation.calibration import best, certainty, informed, models, plateau
from dissensus.evaluation.estimates import ADJUSTED, PANEL
from dissensus.evaluation.first_screen import WRONG, first_screen, missed, triage, why_panel_is_withheld
from dissensus.evaluation.sums import FINDING
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation, PriorRecord

# So many cases are linked to in one line.
MOST_LINKED = 5

# Of more models, secondary metrics are seen on request.
MANY_MODELS = 5

# A factor nearer to one than this is none.
LEAST_GAIN = 0.005

# So many remarks are seen at once.
MOST_REMARKS = 5

# Stands where a metric has no value.
UNDEFINED = "undefined"

Table = Mapping[str, Any]


def called(evaluation: Evaluation) -> str:
    """Return what an annotator is called."""
    return "annotator" if evaluation.experts is None else evaluation.experts.called


class Summary(ReportSection):
    """Say which model, whether it is as good as one annotator, and what to look at before use."""

    id = "summary"
    title = "Decision"
    place = 10
    shows = ("estimands",)

    def has(self, evaluation: Evaluation) -> bool:
        """Tell that there is always something to say first."""
        return evaluation.n_cases > 0

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the first screen, and the cases to look at."""
        evaluation, screen = subject.evaluation, first_screen(subject.evaluation)
        told = set(missed(evaluation, sentences.ranked(evaluation)[0])) if evaluation.models else ()
        return {
            "screen": screen,
            "cautions": [one for one in screen.cautions if one not in told],  # these are linked to
            "looks": list(looks(evaluation)) if evaluation.models and not evaluation.is_sample else [],
            "has_panel": evaluation.panel is not None,
        }


def looks(evaluation: Evaluation) -> Iterator[tuple[str, list[tuple[str, str]], int]]:
    """Say which cases the leading model is wrong on although the annotations settle them, those of high risk first."""
    leader, found = sentences.ranked(evaluation)[0], triage(evaluation)
    place = evaluation.models.index(leader)
    risky = found.agreed_and_missed(place)
    others = np.setdiff1d(found.of_rule(WRONG, place), risky)
    kinds = {f"High risk, settled, and {leader} is wrong": risky, f"Settled, and {leader} is wrong": others}
    for told, cases in kinds.items():
        names = [evaluation.case_names[i] for i in cases[:MOST_LINKED]]
        if names:
            yield told, [(name, f"#case={quote(name, safe='')}") for name in names], len(cases) - len(names)


# All metrics ----------------------------------------------------------------------------------------------


class Models(ReportSection):
    """Put all models, metrics and references into one table, and pairs of models behind it."""

    id = "models"
    title = "Models"
    place = 30

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there are models."""
        return bool(evaluation.models)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the table of the primary metric, that of the others, all pairs, and what intervals are made of."""
        evaluation, results = subject.evaluation, subject.tables.to_frame()
        order, every = sentences.ranked(evaluation), sentences.side_by_side(evaluation, results)
        leader = next(one for one in every if one.model == order[0])
        names = {"agreement": f"with one {called(evaluation)}", ADJUSTED: "uncertainty-adjusted", PANEL: "large panel"}
        sources = [
            f"{sentences.capital(name)}, {leader.model}: {' '.join(sentences.shares(evaluation, row))}"
            for kind, name in names.items()
            if (row := getattr(leader, kind)) is not None and sentences.shares(evaluation, row)
        ]
        are_many = len(order) > MANY_MODELS
        first, others = (evaluation.metrics[:1], evaluation.metrics[1:]) if are_many else (evaluation.metrics, ())
        return {
            "metrics": beside_table(evaluation, every, first, order),
            "secondary": beside_table(evaluation, every, others, order) if others else None,
            "pairs": pair_table(evaluation) if len(order) > 1 else None,
            "n_pairs": len(order) * (len(order) - 1) // 2,
            "sources": sources,
            "has_panel": evaluation.panel is not None,
            "usual": next(iter(leader.practices), ""),
            "called": called(evaluation),
            "assumption": sentences.assumption(evaluation) if leader.adjusted else "",
        }


def beside_table(
    evaluation: Evaluation, every: Sequence[sentences.Beside], metrics: Sequence[Metric], order: Sequence[str]
) -> Table:
    """Tabulate metrics: one annotator and every model, by every reference that has a value for any of them."""
    usual, experts, who = next(iter(every[0].practices), ""), evaluation.experts, called(evaluation)
    head = ("", f"with one {who}", "worth", usual, "uncertainty-adjusted", "large panel (estimate)", "truth")
    groups: dict[str, list[tuple[str, ...]]] = {}
    for metric in metrics:
        own = {one.model: one for one in every if one.metric == metric.name}
        beside = experts.rows if experts is not None else ()
        known = {row["model"]: row for row in beside if row["metric"] == metric.name}
        worth = experts.worth if experts is not None and metric.name == evaluation.primary else {}
        rows = groups.setdefault(f"{metric.name}{'' if metric.higher_is_better else ', lower is better'}", [])
        first = next(iter(known.values()), None)
        if first is not None and not math.isnan(first["experts"]):
            value = interval(first, "experts", "experts_low", "experts_high")
            rows.append((f"one {who}", value, "1" if worth else NOTHING, *[NOTHING] * 4))
        for model in order:
            one = own[model]
            agreement = interval(known[model], "agreement") if model in known else interval(one.agreement)
            estimates = (interval(found, undefined=UNDEFINED) for found in (one.adjusted, one.panel))
            usually, truth = number(one.practices.get(usual), 2), number(one.truth, 2)
            rows.append((model, agreement, str(worth.get(model, NOTHING)), usually, *estimates, truth))
    every_row = [row for group in groups.values() for row in group]
    shown = [0, *(k for k in range(1, 7) if any(row[k] not in (NOTHING, "1") for row in every_row))]
    return {
        "caption": f"{100 * evaluation.level:g} % intervals in brackets",
        "head": [head[k] for k in shown],
        "groups": {told: [[row[k] for k in shown] for row in group] for told, group in groups.items()},
    }


def pair_table(evaluation: Evaluation) -> Table:
    """Tabulate all pairs by the primary metric, each from the better model to the worse."""
    found = [each for each in sentences.deciding(evaluation).differences if each.is_primary]
    rows = []
    for each in found:
        interval_of = f"{number(each.difference)} [{number(each.low)}, {number(each.high)}]"
        chances = map(small_probability, (each.p_value, each.p_adjusted))
        rows.append((f"{each.first} {NOTHING} {each.second}", interval_of, *chances, each.verdict))
    head = ["better and worse", "difference", "p", "Holm-adjusted", "verdict"]
    return {"caption": f"Pairs of models by {evaluation.primary}", "head": head, "rows": rows}


# Parts of the study ---------------------------------------------------------------------------------------


class Strata(ReportSection):
    """Show the primary metric by stratum, category, finding and certainty."""

    id = "strata"
    title = "By stratum, category and certainty"
    place = 60
    shows = ("by_certainty", "category_metrics", "risk")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return a table for every column of cases, and for findings one of every metric."""
        evaluation = subject.evaluation
        order = sentences.ranked(evaluation) if evaluation.models else []
        several = [one for one in evaluation.strata if len(evaluation.labels_of(one)) > 1 and one != FINDING]
        found = [stratum_table(evaluation, column, order) for column in several] if order else []
        findings = finding_tables(evaluation) if evaluation.asked_findings and order else []
        return {"tables": [*findings[:1], *found], "others": findings[1:]}


def stratum_table(evaluation: Evaluation, column: str, order: Sequence[str]) -> Table:
    """Tabulate the primary metric by the labels of a column: with one annotator, or in the headline run."""
    experts, run, metric = evaluation.experts, evaluation.headline, evaluation.primary
    found = [row for row in experts.strata_rows if row["column"] == column] if experts is not None else []
    if experts is not None and found:
        metric, who, value = experts.primary, [f"one {experts.called}"], "agreement"
        caption = f"{metric} with one {experts.called}, by {column}"
    else:
        found, who, value = evaluation.of_run(evaluation.by_group(column), run).to_dicts(), [], "mean"
        caption = f"{metric} by {column}, {evaluation.runs[run].estimand} ({evaluation.run_label(run)})"
    of = {(row["stratum"], row["model"]): row for row in found if row["metric"] == metric}
    rows = []
    for label in dict.fromkeys(label for label, _ in of):
        first = of[label, order[0]]
        beside = [interval(first, "experts", "experts_low", "experts_high")] if who else []
        values = (interval(of[label, model], value) for model in order)
        rows.append((label, f"{first['n_cases']:,.0f}", *beside, *values))
    return {"caption": caption, "head": [column, "cases", *who, *order], "rows": rows}


def finding_tables(evaluation: Evaluation) -> list[Table]:
    """Tabulate every metric finding by finding, with the expected number of positive cases."""
    run, order, expected = evaluation.headline, sentences.ranked(evaluation), expected_positives(evaluation)
    found = evaluation.of_run(evaluation.by_group(FINDING), run).to_dicts()
    known = {(row["metric"], row["stratum"], row["model"]): row for row in found}
    tables: list[Table] = []
    head = ["finding", "expected positive cases", *order]
    for metric in evaluation.metrics:
        rows = []
        for one in evaluation.asked_findings:
            values = (interval(known.get((metric.name, one, model)), undefined=UNDEFINED) for model in order)
            rows.append((one, number(expected.get(one), 1), *values))
        caption = f"{metric.name} by finding, {evaluation.runs[run].estimand}"
        tables.append({"caption": caption, "head": head, "rows": rows})
    return tables


def expected_positives(evaluation: Evaluation) -> dict[str, float]:
    """Return the expected number of positive cases by finding, or of the one question; nothing if it is not kept.

    Of a study in pieces, labels are not kept.
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


# Sensitivity ----------------------------------------------------------------------------------------------


class Sensitivity(ReportSection):
    """Show what other reliabilities, aggregations and conventional labels would give, and what panel rests on."""

    id = "sensitivity"
    title = "Sensitivity analyses"
    place = 70
    is_folded = True
    shows = ("reliability", "certainty")

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there are several runs, a panel estimate, or a reason why there is none."""
        has_prior = evaluation.prior is not None and bool(evaluation.models)
        return len(evaluation.adjusted_runs) > 1 or has_prior

    def charts(self, subject: ReportSubject) -> dict[str, Any]:
        """Draw the sweep over reliabilities, where there is one."""
        return super().charts(subject) if len(subject.evaluation.adjusted_runs) > 1 else {}

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return tables of the sweep and of conventional labels, where orders flip, and what panel rests on."""
        evaluation, results = subject.evaluation, subject.tables.to_frame()
        order = sentences.ranked(evaluation) if evaluation.models else []
        every = sentences.side_by_side(evaluation, results) if order else []
        found = [one for one in every if one.metric == evaluation.primary]
        prior = evaluation.prior if evaluation.panel is not None else None
        gain = None if prior is None else prior.held_out_gain
        several = len(evaluation.adjusted_runs) > 1
        return {
            "sweep": sweep_table(evaluation, results, order) if several else None,
            "labels": label_table(evaluation, found, order) if found and len(found[0].practices) > 1 else None,
            "flips": sentences.flips(subject.tables.compare()) if len(order) > 1 and several else [],
            "no_panel": sentences.no_panel(evaluation),
            "withheld": why_panel_is_withheld(evaluation) if prior is not None else (),
            "prior": prior,
            "gains": [] if prior is None else [(str(row["model"]), *gains(row)) for row in prior.models],
            "weight": weight(prior, evaluation.study.kind) if prior is not None and prior.concentrations else "",
            "opinions": f"{evaluation.n_votes / evaluation.n_cases:.3g}",
            "held_out": "" if gain is None else f"{number(math.exp(gain), 2)} times as probable as without the models",
            "is_rated": evaluation.study.kind == "ratings",
        }


def sweep_table(evaluation: Evaluation, results: Any, order: Sequence[str]) -> Table:
    """Tabulate the adjusted primary metric under every run, beside the share of cases that are settled."""
    known = {(row["run"], row["model"]): row for row in results.to_dicts() if row["metric"] == evaluation.primary}
    rows = [
        (run, percent(share), *(interval(known[run, model]) for model in order))
        for run, share in sentences.settled_shares(evaluation).items()
    ]
    told = f"Uncertainty-adjusted {evaluation.primary}" if order else "Certainty"
    head = ["aggregation and reliability", f"settled {sentences.rows_of(evaluation)[1]}", *order]
    return {"caption": f"{told} across aggregations and reliabilities", "head": head, "rows": rows}


def label_table(evaluation: Evaluation, found: Sequence[sentences.Beside], order: Sequence[str]) -> Table:
    """Tabulate the primary metric against every conventional label."""
    by_model = {one.model: one.practices for one in found}
    rows = [(name, *(number(by_model[model][name], 2) for model in order)) for name in found[0].practices]
    caption = f"{evaluation.primary} against conventional labels, each taken for certain"
    return {"caption": caption, "head": ["label", *order], "rows": rows}


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


def weight(prior: PriorRecord, kind: str = "rankings") -> str:
    """Say how many votes, or ratings, the prior of a case is worth.

    >>> from dissensus.evaluation.results import PriorRecord
    >>> weight(PriorRecord(concentrations=(0.5, 1.0, 2.0, 4.0, 32.0)))
    'median 2 votes (IQR 1 to 4, range 0.5 to 32)'
    >>> weight(PriorRecord(concentrations=(2.5,) * 5), "ratings")
    '2.5 ratings in every case'
    """
    least, low, middle, high, most = (f"{one:.2g}" if one < 10 else f"{one:,.0f}" for one in prior.concentrations)
    votes = ("rating" if kind == "ratings" else "vote") + ("" if middle == "1" else "s")
    if least == most:
        return f"{middle} {votes} in every case"
    return f"median {middle} {votes} (IQR {low} to {high}, range {least} to {most})"


# Calibration ----------------------------------------------------------------------------------------------


class Calibration(ReportSection):
    """Show curves and confusion of metrics of a whole data set, and what held-out annotators confirm."""

    id = "calibration"
    title = "Curves and calibration"
    place = 80
    shows = ("roc", "precision_recall", "reliability_diagram", "decision_curve", "confusion", "confirmation")

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there are curves, remarks about such metrics, or held-out annotators."""
        return bool(evaluation.lines or evaluation.remarks) or super().has(evaluation)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what is positive, remarks, and what held-out annotators confirmed."""
        evaluation, found = subject.evaluation, subject.evaluation.calibration
        is_whole = any(isinstance(metric, DataSetMetric) for metric in evaluation.metrics)
        return {
            "introduction": positive_cases(evaluation) if is_whole and evaluation.models else "",
            "remarks": evaluation.remarks,
            "most": MOST_REMARKS,
            "trust": None if found is None or not found.split_rows else trust(found),
        }


def positive_cases(evaluation: Evaluation) -> str:
    """Say which condition is the positive one, and how many cases are expected to be positive, if that is known."""
    if evaluation.asked_findings:
        return "Every finding is a question of its own; metrics are averaged over findings as their names say."
    if evaluation.study.question != "binary":
        return "Each condition is set against all others in turn; metrics are averaged as their names say."
    found, positive = expected_positives(evaluation).get(""), evaluation.conditions[-1]
    known = "" if found is None else f"; {found:.1f} of {counted(evaluation.n_cases, 'case')} are expected to be"
    return f"Positive cases are those with the answer {positive}{known} ({evaluation.run_label(evaluation.headline)})."


def trust(found: Any) -> dict[str, Any]:
    """Say what held-out annotators confirmed, with tables of bins, of models and of aggregations."""
    bins = [
        (f"{row['low']:g} to {row['high']:g}", row["n_cases"], *(number(row[name], 2) for name in BINS.values()))
        for row in found.curve().to_dicts()
    ]
    agreements = [
        (row["model"], row["estimand"], number(row["predicted"]), number(row["observed"]), interval(row, "gap"))
        for row in found.model_rows
    ]
    scores = [
        (row["aggregation"], f"zero probability in {row['impossible']} pairs", NOTHING, NOTHING)
        if row["impossible"]
        else (row["aggregation"], number(row["score"]), number(row["difference"]), "yes" if row["on_plateau"] else "")
        for row in sorted(found.score_rows, key=lambda row: -float(row["score"]))
    ]
    told = (certainty(found)[-1], best(found), plateau(found), *informed(found), *models(found))
    captions = {"bins": "Certainty, stated and confirmed", "scores": "Scores of all aggregations"}
    captions["agreements"] = "Agreement of models with held-out annotators"
    heads = {"bins": ["certainty", "cases", *BINS], "agreements": AGREEMENTS, "scores": SCORES}
    rows = {"bins": bins, "agreements": agreements, "scores": scores}
    tables = {name: {"caption": captions[name], "head": heads[name], "rows": rows[name]} for name in rows}
    return {"told": [*map(sentences.capital, told)], "counts": found.counts, **tables}


# Columns of the table of held-out panels, by their headings.
BINS = {"stated": "stated", "expected of such panels": "predicted", "confirmed": "confirmed", "SE": "confirmed_se"}

# Headings of the tables of models beside held-out annotators, and of aggregations.
AGREEMENTS = ["model", "estimand", "predicted", "observed", "difference, 90 % interval"]
SCORES = ["aggregation", "mean log score of a ranking", "to the best", "as good"]
