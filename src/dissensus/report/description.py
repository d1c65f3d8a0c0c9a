"""What the study holds, in numbers: the whole of it, and by category of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from dissensus.core.aliases import IntArray
from dissensus.report.glossary import term
from dissensus.report.selection import run_frame
from dissensus.report.sentences import NOTHING, counted, joined
from dissensus.study.diagnosis import percent, span
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings
from dissensus.study.support import support_of

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


@dataclass(frozen=True)
class Statistics:
    """A table: what is counted, for all cases and for every group of them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Markup, tuple[str, ...]], ...]


def statistics(evaluation: Evaluation) -> Statistics:
    """Count annotators, conditions and ties, for all cases and by category where there are categories."""
    groups = {"all cases": np.arange(evaluation.study.n_cases), **cases_by_category(evaluation)}
    parts = [_counts(evaluation.study.select(cases)) for cases in groups.values()]
    rows = tuple((label, tuple(part[label] for part in parts)) for label in parts[0])
    return Statistics(tuple(groups), rows)


def cases_by_category(evaluation: Evaluation) -> Mapping[str, IntArray]:
    """Return the positions of the cases of each category: that of most draws in the reference run."""
    rows = run_frame(evaluation, evaluation.category_certainties(), evaluation.reference)
    if evaluation.categories is None or not len(rows):
        return {}
    found = dict(rows.select("case", "category").iter_rows())
    labels = np.array([found.get(name) for name in evaluation.case_names], dtype=object)
    groups = {name: np.flatnonzero(labels == name) for name in evaluation.categories.names}
    return {name: cases for name, cases in groups.items() if len(cases)}


def _counts(study: Annotations | Ratings) -> dict[Markup, str]:
    return _ranking_counts(study) if isinstance(study, Annotations) else _rating_counts(study)


def _ranking_counts(study: Annotations) -> dict[Markup, str]:
    given = study.mentions_per_ranking
    spoken = int((given > 0).sum())
    return {
        term("case", "Cases"): f"{study.n_cases:,}",
        term("ranking", "Rankings"): f"{study.n_rankings:,}",
        term("annotator", "Annotators") + " per case": spread(study.rankings_per_case),
        term("condition", "Conditions") + " per ranking": spread(given[given > 0]),
        Markup("Conditions per case (") + term("support") + ")": spread(support_of(study).sizes),
        Markup("Rankings with one condition"): percent(int((given == 1).sum()), spoken),
        Markup("Rankings with a ") + term("tie"): percent(int(study.has_tie.sum()), spoken),
        Markup("Different conditions mentioned"): f"{study.n_mentioned:,} of {study.n_conditions:,}",
    }


def _rating_counts(study: Ratings) -> dict[Markup, str]:
    scores = study.scores
    return {
        term("case", "Cases"): f"{study.n_cases:,}",
        term("rating", "Ratings"): f"{study.n_ratings:,}",
        term("annotator", "Annotators") + " per case": spread(study.panel.opinions_per_case),
        Markup("Lowest and highest rating"): f"{scores.min():g} to {scores.max():g}" if len(scores) else NOTHING,
        Markup("Average rating"): f"{scores.mean():.3g}" if len(scores) else NOTHING,
    }


def spread(values: IntArray) -> str:
    """Write the range and the middle of some counts.

    >>> spread(np.array([1, 2, 6])), spread(np.array([2, 2]))
    ('1 to 6, median 2', '2')
    """
    if not len(values) or values.min() == values.max():
        return span(values)
    return f"{span(values)}, median {np.median(values):g}"


def introduction(evaluation: Evaluation) -> Markup:
    """Say in a sentence or two what was evaluated."""
    study = evaluation.study
    people = len(study.panel.annotator_names)
    opinions = counted(study.panel.n_opinions, "ranking" if isinstance(study, Annotations) else "rating")
    who = f"by {counted(people, 'named annotator')}" if people else "by anonymous annotators"
    parts = [
        Markup("The study has {} with {} {}.").format(counted(study.n_cases, "case"), opinions, who),
        Markup("There are {} to choose from.").format(counted(len(evaluation.conditions), "condition")),
    ]
    if study.panel.groups:
        groups = counted(len(set(study.panel.groups)), "group")
        parts.append(Markup("Cases belong to {}, such as patients, and are resampled together.").format(groups))
    if evaluation.categories is not None:
        parts.append(Markup("Conditions fall into the categories {}.").format(joined(evaluation.categories.names)))
    if evaluation.excluded:
        verb = "has no opinion and is" if len(evaluation.excluded) == 1 else "have no opinion and are"
        parts.append(Markup("{} {} left out.").format(counted(len(evaluation.excluded), "case"), verb))
    return Markup(" ").join(parts)
