"""The data: what the study holds, in numbers, the whole of it and by category of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.core.aliases import IntArray
from dissensus.core.errors import listing
from dissensus.core.names import visible
from dissensus.core.receipt import Receipt
from dissensus.evaluation.glossary import term
from dissensus.evaluation.sentences import joined, rows_of, subjects
from dissensus.evaluation.words import counted
from dissensus.report.section import ReportSection, ReportSubject
from dissensus.study.diagnosis import Fact

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


MOST_NAMES = 12
"""How many columns of one role are named."""


class Data(ReportSection):
    """Count what annotators said."""

    id = "data"
    title = "The data"
    place = 20
    looks_at_cases = True
    shows = ("study",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the introduction, and a table: what is counted, for all cases and for every group of them."""
        rows = rows_of(subject.evaluation)[1]
        everyone = f"{rows} of the sample" if subject.evaluation.is_sample else f"all {rows}"
        groups = {everyone: np.arange(subject.evaluation.study.n_cases), **cases_by_category(subject)}
        counts = [subject.evaluation.study.select(cases).facts() for cases in groups.values()]
        table = [(_linked(facts[0]), [fact.value for fact in facts]) for facts in zip(*counts, strict=True)]
        return {
            "introduction": introduction(subject.evaluation),
            "columns": list(groups),
            "rows": table,
            "receipts": [_told(receipt) for receipt in subject.evaluation.receipts],
        }


def _told(receipt: Receipt) -> dict[str, Any]:
    """Write a receipt as a title and lists of sentences; characters that hide are shown."""
    roles = [f"{role or 'not used'}: {listing(names, most=MOST_NAMES)}" for (role, _), names in receipt.roles().items()]
    lists = {
        "Columns": roles,
        "Assumed": receipt.assumed,
        "Noted": [str(note) for note in receipt.notes],
        "For example": receipt.examples,
    }
    title = f"{FilePath(receipt.path).name}: read as {receipt.understood}"
    return {
        "title": visible(title),
        "lists": {name: [visible(line) for line in lines] for name, lines in lists.items() if lines},
    }


def _linked(fact: Fact) -> Markup:
    """Write the label of a fact; the word that needs an explanation leads to it."""
    if not fact.term:
        return Markup.escape(fact.label)
    before, _, after = fact.label.partition(fact.word)
    return Markup("{}{}{}").format(before, term(fact.term, fact.word), after)


def cases_by_category(subject: ReportSubject) -> Mapping[str, IntArray]:
    """Return the positions of the cases of each category: that of most draws in the reference run."""
    categories, evaluation = subject.evaluation.categories, subject.evaluation
    rows = evaluation.of_run(subject.tables.category_certainties(), evaluation.reference)
    if categories is None or not len(rows):
        return {}
    labels = rows["category"].to_numpy()
    groups = {name: np.flatnonzero(labels == name) for name in categories.names}
    return {name: cases for name, cases in groups.items() if len(cases)}


def _asked(evaluation: Evaluation) -> list[Markup]:
    """Say what annotators had to choose from."""
    if not evaluation.asked_findings:
        return [Markup("There are {} to choose from.").format(counted(len(evaluation.conditions), "condition"))]
    return [
        Markup(
            "Every {} of a case is a question of its own, to which the answer is {}, and a row of its own, named by "
            "case and finding: {}. Where tables and figures count cases, they count these rows. Findings of one case "
            "are resampled together."
        ).format(
            term("finding"),
            joined(evaluation.conditions, "or"),
            counted(evaluation.n_cases, "row"),
        )
    ]


def introduction(evaluation: Evaluation) -> Markup:
    """Say in a sentence or two what was evaluated."""
    panel, people = evaluation.study.panel, evaluation.n_annotators
    named = "very many named annotators" if people is None else counted(people, "named annotator")
    opinions = counted(evaluation.n_votes, "answer" if evaluation.asked_findings else evaluation.study.opinion)
    who = "by anonymous annotators" if people == 0 else f"by {named}"
    parts = [
        Markup("The study has {} with {} {}.").format(subjects(evaluation), opinions, who),
        *_asked(evaluation),
    ]
    if panel.groups and not evaluation.asked_findings:
        groups = counted(evaluation.n_groups, "group")
        parts.append(Markup("Cases belong to {}, such as patients, and are resampled together.").format(groups))
    if evaluation.categories is not None:
        parts.append(Markup("Conditions fall into the categories {}.").format(joined(evaluation.categories.names)))
    if evaluation.n_excluded:
        verb = "has no opinion and is" if evaluation.n_excluded == 1 else "have no opinion and are"
        parts.append(Markup("{} {} left out.").format(counted(evaluation.n_excluded, *rows_of(evaluation)), verb))
    return Markup(" ").join(parts)
