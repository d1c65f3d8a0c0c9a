"""Sections about the study: its data, certainty, trust, risk, agreement among annotators, cases, and the glossary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.core.errors import listing
from dissensus.core.screen import visible
from dissensus.evaluation.calibration import agreed, best, informed, models, plateau
from dissensus.evaluation.sentences import joined, rows_of, subjects
from dissensus.evaluation.sums import FINDING
from dissensus.evaluation.words import GLOSSARY, NOTHING, counted, term
from dissensus.report.explorer import explored, remote_images
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.results import Evaluation

# How many columns of one role are named.
MOST_NAMES = 12

# Conditions times (conditions times annotators, plus opinions) that are estimated within a second or two.
MOST_CELLS = 100_000

# Two annotators cannot tell who of them is right; more than a hundred are for a table of one's own.
LEAST_ANNOTATORS, MOST_ANNOTATORS = 3, 100

# Of annotators with fewer cases, the place among the others says little.
FEW_READ = 20

# Draws of the posterior of annotators: enough for two digits.
DRAWS = 400


class Data(ReportSection):
    """Count what annotators said, the whole of it and by category of the cases."""

    id = "data"
    title = "The data"
    place = 20
    looks_at_cases = True
    shows = ("study",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the introduction, and a table: what is counted, for all cases and for every group of them."""
        evaluation = subject.evaluation
        many, study, categories = rows_of(evaluation)[1], evaluation.study, evaluation.categories
        groups = {f"{many} of the sample" if evaluation.is_sample else f"all {many}": np.arange(study.n_cases)}
        rows = evaluation.of_run(subject.tables.category_certainties(), evaluation.reference)
        if categories is not None and len(rows):  # the category of most draws in the reference run
            labels = rows["category"].to_numpy()
            found = {name: np.flatnonzero(labels == name) for name in categories.names}
            groups |= {name: cases for name, cases in found.items() if len(cases)}
        table = []
        for facts in zip(*(study.select(cases).facts() for cases in groups.values()), strict=True):
            label = Markup.escape(facts[0].label)
            if facts[0].term:  # the word that needs an explanation leads to it
                before, _, after = facts[0].label.partition(facts[0].word)
                label = Markup("{}{}{}").format(before, term(facts[0].term, facts[0].word), after)
            table.append((label, [fact.value for fact in facts]))
        return {
            "introduction": introduction(evaluation),
            "columns": list(groups),
            "rows": table,
            "receipts": [_told(receipt) for receipt in evaluation.receipts],
        }


def _told(receipt: Receipt) -> dict[str, Any]:
    """Write a receipt as a title and lists of sentences; characters that hide are shown."""
    roles = [f"{role or 'not used'}: {listing(names, most=MOST_NAMES)}" for (role, _), names in receipt.roles().items()]
    notes = [str(note) for note in receipt.notes]
    lists = {"Columns": roles, "Assumed": receipt.assumed, "Noted": notes, "For example": receipt.examples}
    return {
        "title": visible(f"{FilePath(receipt.path).name}: read as {receipt.understood}"),
        "lists": {name: [visible(line) for line in lines] for name, lines in lists.items() if lines},
    }


def introduction(evaluation: Evaluation) -> Markup:
    """Say in a sentence or two what was evaluated, and what annotators had to choose from."""
    people, findings = evaluation.n_annotators, evaluation.asked_findings
    named = "very many named annotators" if people is None else counted(people, "named annotator")
    opinions = counted(evaluation.n_votes, "answer" if findings else evaluation.study.opinion)
    who = "by anonymous annotators" if people == 0 else f"by {named}"
    parts = [Markup("The study has {} with {} {}.").format(subjects(evaluation), opinions, who)]
    if findings:
        told = Markup(
            "Every {} of a case is a question of its own, to which the answer is {}, and a row of its own, named by "
            "case and finding: {}. Where tables and figures count cases, they count these rows. Findings of one case "
            "are resampled together."
        )
        answers, rows = joined(evaluation.conditions, "or"), counted(evaluation.n_cases, "row")
        parts.append(told.format(term("finding"), answers, rows))
    else:
        n_conditions = counted(len(evaluation.conditions), "condition")
        parts.append(Markup("There are {} to choose from.").format(n_conditions))
    if evaluation.study.panel.groups and not findings:
        groups = counted(evaluation.n_groups, "group")
        parts.append(Markup("Cases belong to {}, such as patients, and are resampled together.").format(groups))
    if evaluation.categories is not None:
        parts.append(Markup("Conditions fall into the categories {}.").format(joined(evaluation.categories.names)))
    if evaluation.n_excluded:
        verb = "has no opinion and is" if evaluation.n_excluded == 1 else "have no opinion and are"
        parts.append(Markup("{} {} left out.").format(counted(evaluation.n_excluded, *rows_of(evaluation)), verb))
    return Markup(" ").join(parts)


class CertaintySection(ReportSection):
    """Show how certain the annotations are: how far the draws of each aggregation agree."""

    id = "certainty"
    title = "How certain the annotations are"
    place = 30
    looks_at_cases = True
    shows = ("certainty", "certainty_histogram", "certainty_by_top", "share_below", "categories")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the aggregations do."""
        runs, shown = subject.evaluation.runs, subject.evaluation.adjusted_runs or range(len(subject.evaluation.runs))
        return {"aggregations": {runs[place].aggregation: runs[place].spec.meaning for place in shown}}


class Trust(ReportSection):
    """Compare what was stated with what held-out annotators confirmed."""

    id = "trust"
    title = "Can these numbers be trusted?"
    place = 35
    shows = ("confirmation",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return one sentence about certainty, what else was found, and the tables."""
        found = subject.evaluation.calibration
        assert found is not None, "checked by the needs of the figure"
        whole = next(row for row in reversed(found.split_rows) if row["aggregation"] == found.labels[found.best_place])
        return {
            "sentence": agreed(whole),
            "others": [best(found), plateau(found), *informed(found), *models(found)],
            "bins": found.curve().to_dicts(),
            "scores": sorted(found.score_rows, key=lambda row: -float(row["score"])),
            "agreements": found.model_rows,
            "counts": found.counts,
        }


class Risk(ReportSection):
    """Show the expected risk of the cases, and the metrics within categories."""

    id = "risk"
    title = "Risk"
    place = 60
    shows = ("risk", "category_metrics")
    template = """
  <p>Mistakes do not weigh the same. The {{ term("expected risk") }} of a case averages the levels of its conditions by
  their {{ term("plausibilities") }}; its range shows how far the opinions leave the risk open.
  Metrics within a {{ term("category") }} count a case as often as its draws fall into that category.</p>
  {{ figures }}
"""


class AgreementSection(ReportSection):
    """Show agreement among annotators in numbers, and beside certainty."""

    id = "agreement"
    title = "Agreement among annotators"
    place = 70
    looks_at_cases = True
    shows = ("agreement",)

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether any case has annotators who could agree."""
        return bool((evaluation.study.counted.votes_per_case > 1).any())

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the rows of the table: title, value, interval, cases, and what each measure says."""
        from dissensus.agreement.measures import KNOWN, agreement_measures

        table = agreement_measures(subject.evaluation.study, seed=subject.evaluation.seed)
        rows = [
            {
                "finding": visible(row.get("finding", "")),
                "title": KNOWN[row["measure"]].title,
                "value": f"{row['value']:.2f}" if np.isfinite(row["value"]) else NOTHING,
                "interval": f"{row['low']:.2f} to {row['high']:.2f}" if np.isfinite(row["low"]) else NOTHING,
                "cases": f"{row['n_cases']:,}",
                "meaning": KNOWN[row["measure"]].meaning,
                "note": row["note"].replace("undefined: ", "not defined, as "),
            }
            for row in table.to_dicts()
        ]
        return {"rows": rows, "findings": "finding" in table.columns}


class AnnotatorsSection(ReportSection):
    """Show how often each named annotator names the true condition, as far as their agreement tells."""

    id = "annotators"
    title = "Annotators"
    place = 72
    looks_at_cases = True

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether a few annotators are named, and the study is small enough to be quick."""
        study = evaluation.study
        if study.kind != "rankings":
            return False
        people, n_conditions = len(set(study.counted.annotators.tolist()) - {-1}), study.n_conditions
        cells = n_conditions * (n_conditions * people + study.n_rankings)
        return LEAST_ANNOTATORS <= people <= MOST_ANNOTATORS and cells <= MOST_CELLS

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the rows of the table, by finding if there are any, the most accurate annotator first."""
        from dissensus.agreement.peers import quality_by_finding

        evaluation = subject.evaluation
        study, findings = evaluation.study, evaluation.asked_findings
        parts = {name: study.select([one == name for one in evaluation.strata[FINDING]]) for name in findings}
        how: dict[str, Any] = {"draws": DRAWS, "seed": evaluation.seed, "level": evaluation.level}
        table = quality_by_finding(parts or {"": study}, **how)
        ordered = table.sort("finding", "accuracy", descending=[False, True], maintain_order=True).rows()
        rows = [(visible(finding), visible(name), *numbers) for finding, name, *numbers in ordered]
        few = sum(cases < FEW_READ for _, _, cases, *_ in rows)
        return {"rows": rows, "findings": findings, "few": few, "least": FEW_READ}


class Cases(ReportSection):
    """Let single cases be looked at: a table that can be searched, sorted and filtered, and every case one by one."""

    id = "cases"
    title = "Case explorer"
    place = 80
    is_wide = True

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return how many cases there are, how many of them are shown, and how many pictures a network holds."""
        shown = min(subject.explorer_cases, subject.explored.evaluation.n_cases)
        return {"shown": shown, "total": subject.evaluation.n_cases, "remote": remote_images(subject.explored)}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all that the explorer shows."""
        return {"explorer": {**explored(subject.explored), "total": subject.evaluation.n_cases}}


class GlossarySection(ReportSection):
    """Explain the words, and every metric and aggregation of the evaluation."""

    id = "glossary"
    title = "Glossary"
    place = 100
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
        """Return the terms, and what metrics and aggregations say about themselves."""
        evaluation = subject.evaluation
        metrics = {metric.name: metric.meaning for metric in evaluation.metrics}
        return {"terms": GLOSSARY, "specs": {**metrics, **{run.spec.id: run.spec.meaning for run in evaluation.runs}}}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:  # noqa: ARG002 - the same for every evaluation
        """Return what is shown beside a term."""
        return {"glossary": GLOSSARY}
