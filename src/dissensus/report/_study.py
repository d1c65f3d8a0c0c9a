"""What studies of one kind or another say about themselves, as long as they cannot do it themselves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from dissensus.core.aliases import IntArray
from dissensus.evaluation.glossary import term
from dissensus.evaluation.words import NOTHING, counted
from dissensus.study.diagnosis import percent, span
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings
from dissensus.study.support import support_of


def spread(values: IntArray) -> str:
    """Write the range and the middle of some counts.

    >>> spread(np.array([1, 2, 6])), spread(np.array([2, 2]))
    ('1 to 6, median 2', '2')
    """
    if not len(values) or values.min() == values.max():
        return span(values)
    return f"{span(values)}, median {np.median(values):g}"


def opinion_noun(study: Annotations | Ratings) -> str:
    """Say what one opinion is called."""
    return "ranking" if isinstance(study, Annotations) else "rating"


def described(study: Annotations | Ratings) -> str:
    """Say what the opinions are."""
    return "partial rankings of conditions" if isinstance(study, Annotations) else "numeric ratings"


def scale(study: Annotations | Ratings) -> list[float]:
    """Return the lowest and the highest score, where opinions are scores."""
    has_scores = isinstance(study, Ratings) and len(study.scores)
    return [float(study.scores.min()), float(study.scores.max())] if has_scores else []  # type: ignore[union-attr]


def said(study: Annotations | Ratings, opinion: int, code: Callable[[int], int]) -> list[int] | list[float]:
    """Write one opinion as a flat list; a condition tied with the one before it is minus its code minus one."""
    if isinstance(study, Ratings):
        return [round(float(study.scores[opinion]), 6)]
    bounds = study.code_offsets[study.block_offsets[opinion] : study.block_offsets[opinion + 1] + 1]
    blocks = ([code(one) for one in study.codes[start:stop].tolist()] for start, stop in pairwise(bounds.tolist()))
    return [number for first, *tied in blocks for number in (first, *(-other - 1 for other in tied))]


def methods(study: Annotations | Ratings) -> str:
    """Write the sentence of a methods section about the opinions."""
    cases = "The one case was" if study.n_cases == 1 else f"Each of {counted(study.n_cases, 'case')} was"
    per_case = spread(study.panel.opinions_per_case)
    if isinstance(study, Ratings):
        return f"{cases} rated by annotators ({per_case} per case)."
    below = "ranked last" if study.unranked == "below" else "taken as not compared"
    return (
        f"{cases} ranked by annotators ({per_case} per case); a ranking may hold ties and need not mention every one "
        f"of the {counted(study.n_conditions, 'condition')}, and those that were not mentioned were {below}."
    )


def facts(study: Annotations | Ratings) -> dict[Markup, str]:
    """Count cases, annotators and opinions, for a table."""
    return _ranking_facts(study) if isinstance(study, Annotations) else _rating_facts(study)


def _ranking_facts(study: Annotations) -> dict[Markup, str]:
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


def _rating_facts(study: Ratings) -> dict[Markup, str]:
    scores = study.scores
    return {
        term("case", "Cases"): f"{study.n_cases:,}",
        term("rating", "Ratings"): f"{study.n_ratings:,}",
        term("annotator", "Annotators") + " per case": spread(study.panel.opinions_per_case),
        Markup("Lowest and highest rating"): f"{scores.min():g} to {scores.max():g}" if len(scores) else NOTHING,
        Markup("Average rating"): f"{scores.mean():.3g}" if len(scores) else NOTHING,
    }
