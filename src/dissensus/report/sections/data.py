"""The data: what the study holds, in numbers, the whole of it and by category of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.core.aliases import IntArray
from dissensus.evaluation.sentences import joined
from dissensus.evaluation.words import counted
from dissensus.report._study import facts, opinion_noun
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


class Data(ReportSection):
    """Count what annotators said."""

    id = "data"
    title = "The data"
    place = 20
    shows = ("study",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the introduction, and a table: what is counted, for all cases and for every group of them."""
        groups = {"all cases": np.arange(subject.evaluation.study.n_cases), **cases_by_category(subject)}
        counts = [facts(subject.evaluation.study.select(cases)) for cases in groups.values()]
        rows = [(label, [one[label] for one in counts]) for label in counts[0]]
        return {"introduction": introduction(subject.evaluation), "columns": list(groups), "rows": rows}


def cases_by_category(subject: ReportSubject) -> Mapping[str, IntArray]:
    """Return the positions of the cases of each category: that of most draws in the reference run."""
    categories, evaluation = subject.evaluation.categories, subject.evaluation
    rows = evaluation.of_run(subject.tables.category_certainties(), evaluation.reference)
    if categories is None or not len(rows):
        return {}
    labels = rows["category"].to_numpy()
    groups = {name: np.flatnonzero(labels == name) for name in categories.names}
    return {name: cases for name, cases in groups.items() if len(cases)}


def introduction(evaluation: Evaluation) -> Markup:
    """Say in a sentence or two what was evaluated."""
    panel = evaluation.study.panel
    people = len(panel.annotator_names)
    opinions = counted(panel.n_opinions, opinion_noun(evaluation.study))
    who = f"by {counted(people, 'named annotator')}" if people else "by anonymous annotators"
    parts = [
        Markup("The study has {} with {} {}.").format(counted(evaluation.n_cases, "case"), opinions, who),
        Markup("There are {} to choose from.").format(counted(len(evaluation.conditions), "condition")),
    ]
    if panel.groups:
        groups = counted(len(set(panel.groups)), "group")
        parts.append(Markup("Cases belong to {}, such as patients, and are resampled together.").format(groups))
    if evaluation.categories is not None:
        parts.append(Markup("Conditions fall into the categories {}.").format(joined(evaluation.categories.names)))
    if evaluation.excluded:
        verb = "has no opinion and is" if len(evaluation.excluded) == 1 else "have no opinion and are"
        parts.append(Markup("{} {} left out.").format(counted(len(evaluation.excluded), "case"), verb))
    return Markup(" ").join(parts)
