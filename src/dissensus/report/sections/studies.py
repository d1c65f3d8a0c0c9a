"""Sections about the study: its cases, the certainty of its annotations, the annotators, and the glossary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from dissensus.core.screen import NOTHING, interval, visible
from dissensus.evaluation.first_screen import MISSED, RULES, WRONG, triage
from dissensus.evaluation.sentences import ranked, rows_of, settled
from dissensus.evaluation.sums import FINDING
from dissensus.report.explorer import case_file, explored, remote_images
from dissensus.report.section import ReportSection, ReportSubject, glossary
from dissensus.report.sections.models import MOST_LINKED, Table, called

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

# Conditions times (conditions times annotators, plus opinions) that are estimated within a second or two.
MOST_CELLS = 100_000

# Two annotators cannot tell who of them is right; more than a hundred are for a table of one's own.
LEAST_ANNOTATORS, MOST_ANNOTATORS = 3, 100

# Of annotators with fewer cases, the place among the others says little.
FEW_READ = 20

# More annotators are seen on request.
MANY_ANNOTATORS = 12

# Draws of the posterior of annotators: enough for two digits.
DRAWS = 400


class Cases(ReportSection):
    """Let single cases be looked at: those that need it by rule, and every case one by one."""

    id = "cases"
    title = "Cases"
    place = 20
    is_wide = True

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the rules name, how many cases are shown, and a file of all of them."""
        evaluation = subject.explored.evaluation
        return {
            "rules": rule_table(evaluation) if evaluation.models else None,
            "shown": min(subject.explorer_cases, evaluation.n_cases),
            "total": subject.evaluation.n_cases,
            "remote": remote_images(subject.explored),
            "file": case_file(subject.explored),
            "several": rows_of(evaluation)[1],
        }

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all that the explorer shows."""
        return {"explorer": {**explored(subject.explored), "total": subject.evaluation.n_cases}}


def rule_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Count the cases of every rule, by model where it is about one, and link to the first of the leader, if any."""
    found, order = triage(evaluation), ranked(evaluation)
    rows = []
    for rule, told in RULES.items():
        models = order if rule in (WRONG, MISSED) else []
        of_model = {model: found.of_rule(rule, evaluation.models.index(model)) for model in models}
        own = found.of_rule(rule)
        of_leader = of_model[order[0]] if models else own
        names = [evaluation.case_names[i] for i in (of_leader if len(of_leader) else own)[:MOST_LINKED]]
        counts = {model: len(cases) for model, cases in of_model.items()}
        links = [(name, f"#case={quote(name, safe='')}") for name in names]
        rows.append({"rule": rule, "told": told, "n": len(own), "counts": counts, "links": links})
    return [row for row in rows if row["n"]]


class CertaintySection(ReportSection):
    """Show how far the annotations settle the cases."""

    id = "certainty"
    title = "Certainty of the annotations"
    place = 40
    looks_at_cases = True
    shows = ("certainty_by_top",)
    template = """
  <p>{{ settled }} {{ term("certainty", "Certainty") }} is the share of {{ term("draw", "draws") }} that agree.</p>
  {{ figures }}
"""

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether certainties are known."""
        return bool(evaluation.certainty_counts)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what is settled."""
        return {"settled": settled(subject.evaluation)}


class AnnotatorsSection(ReportSection):
    """Show how far annotators agree, and each named one beside the leading model."""

    id = "annotators"
    title = "Annotators and their agreement"
    place = 50
    looks_at_cases = True

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether any case has annotators who could agree."""
        return bool((evaluation.study.counted.votes_per_case > 1).any())

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the measures of agreement, and a table of the annotators."""
        evaluation = subject.evaluation
        people = annotator_table(evaluation)
        return {
            "measures": measure_table(evaluation),
            "people": people,
            "are_many": people is not None and len(people["rows"]) > MANY_ANNOTATORS,
            "few": 0 if people is None else sum(one < FEW_READ for one in people["cases"]),
            "least": FEW_READ,
            "called": called(evaluation),
        }


def measure_table(evaluation: Evaluation) -> Table:
    """Tabulate agreement beyond chance, by finding if there are any."""
    from dissensus.agreement.coefficients import KNOWN, agreement_measures

    found = agreement_measures(evaluation.study, seed=evaluation.seed, level=evaluation.level)
    value = f"value, {100 * evaluation.level:g} % interval"
    head = [*(["finding"] if "finding" in found.columns else []), "measure", value, "cases", "note"]
    rows: list[tuple[str, ...]] = []
    for row in found.to_dicts():
        note = row["note"].replace("undefined: ", "not defined, as ")
        cells = (KNOWN[row["measure"]].title, interval(row, "value"), f"{row['n_cases']:,}", note)
        rows.append((visible(row["finding"]), *cells) if "finding" in row else cells)
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return {"caption": "Agreement beyond chance", "head": head, "rows": rows}


def annotator_table(evaluation: Evaluation) -> Table | None:
    """Tabulate the named annotators: agreement with the others beside that of the leading model, estimated accuracy."""
    experts, accuracy = evaluation.experts, accuracies(evaluation)
    rows_of_model, leader = {}, ""
    if experts is not None and experts.annotator_rows:
        leader = ranked(evaluation)[0]
        metric = experts.annotator_rows[0]["metric"]
        known = (row for row in experts.annotator_rows if (row["metric"], row["model"]) == (metric, leader))
        rows_of_model = {row["annotator"]: row for row in sorted(known, key=lambda row: -row["agreement"])}
    if not accuracy and not rows_of_model:
        return None
    findings, rows, sizes = evaluation.asked_findings, [], []
    for finding, name in accuracy or [("", name) for name in rows_of_model]:
        cases, *numbers = accuracy.get((finding, name), (rows_of_model.get(name, {}).get("n_cases", 0), *[np.nan] * 3))
        beside = rows_of_model.get(name)
        pair = [] if not rows_of_model or findings else [interval(beside, "agreement")]
        pair += [] if not pair else [NOTHING if beside is None else f"{beside['model_agreement']:.2f}"]
        told = interval(dict(zip(("mean", "low", "high"), numbers, strict=True)))
        own = [told] if accuracy else []
        rows.append((*([visible(finding)] if findings else []), visible(name), f"{cases:,}", *pair, *own))
        sizes.append(cases)
    beside_names = ["agreement with the others", f"{leader} with the same others"] if rows_of_model else []
    head = [*(["finding"] if findings else []), called(evaluation), "cases", *([] if findings else beside_names)]
    head += ["estimated accuracy (Dawid-Skene)"] if accuracy else []
    return {"head": head, "rows": rows, "cases": sizes}


def accuracies(evaluation: Evaluation) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Estimate how often each named annotator names the true condition, by finding if any, the most accurate first.

    Nothing where fewer than three, or very many, have names, or where it would take long.
    """
    from dissensus.agreement.peers import quality_by_finding

    study = evaluation.study
    if study.kind != "rankings":
        return {}
    people, n_conditions = len(set(study.counted.annotators.tolist()) - {-1}), study.n_conditions
    cells = n_conditions * (n_conditions * people + study.n_rankings)
    if not LEAST_ANNOTATORS <= people <= MOST_ANNOTATORS or cells > MOST_CELLS:
        return {}
    labels = evaluation.strata.get(FINDING, ())
    parts = {name: study.select([one == name for one in labels]) for name in evaluation.asked_findings}
    how: dict[str, Any] = {"draws": DRAWS, "seed": evaluation.seed, "level": evaluation.level}
    table = quality_by_finding(parts or {"": study}, **how)
    ordered = table.sort("finding", "accuracy", descending=[False, True], maintain_order=True).rows()
    return {(finding, name): tuple(numbers) for finding, name, *numbers in ordered}


class GlossarySection(ReportSection):
    """Explain the words of the page, and every metric, aggregation and measure of agreement."""

    id = "glossary"
    title = "Glossary"
    place = 100
    is_folded = True
    template = """
  <dl class="glossary">
    {% for word, text in terms | dictsort %}
    <div id="{{ anchor(word) }}"><dt>{{ word }}</dt><dd>{{ text }}</dd></div>
    {% endfor %}
    {% for word, text in specs.items() if text %}
    <div><dt>{{ word }}</dt><dd>{{ text }}</dd></div>
    {% endfor %}
  </dl>
"""

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the terms, and what metrics, aggregations and measures say about themselves."""
        from dissensus.agreement.coefficients import KNOWN, agreement_measures

        evaluation = subject.evaluation
        metrics = {metric.name: metric.meaning for metric in evaluation.metrics}
        runs = {run.spec.id: run.spec.meaning for run in evaluation.runs}
        measured = agreement_measures(evaluation.study, seed=evaluation.seed)["measure"].unique(maintain_order=True)
        measures = {KNOWN[name].title: KNOWN[name].meaning for name in measured}
        return {"terms": glossary(), "specs": {**metrics, **runs, **measures}}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:  # noqa: ARG002 - the same for every evaluation
        """Return what is shown beside a term."""
        return {"glossary": glossary()}
