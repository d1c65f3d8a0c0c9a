"""Figures of the study itself: how many annotators, conditions and ties there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import row_of_each
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Bars, Chart, Pane, dodged, in_order, named_places
from dissensus.figures.samples import even_edges
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings
from dissensus.study.support import support_of

MOST = 12
"""Counts above this share one bar."""

MOST_CATEGORIES = 5
ObjectArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.object_]]
ALL = "all"


def study_statistics(
    study: Annotations | Ratings, *, categories: Sequence[str] = (), order: Sequence[str] = ()
) -> Chart:
    """Count annotators and conditions per case, the lengths of rankings and their ties, by category if there are any.

    Parameters
    ----------
    study
        What was said.
    categories
        Category of each case, for example the risk of its most plausible condition; empty for no split.
    order
        The categories in their order; by default in the order of the alphabet.
    """
    labels = _few(list(categories)) if categories else [ALL] * study.n_cases
    per_case, groups = np.array(labels, dtype=object), in_order(labels, order)
    annotators = _counts("annotators per case", study.panel.opinions_per_case, per_case, groups)
    if isinstance(study, Ratings):
        panels: tuple[Pane, ...] = (annotators, _scores(study.scores))
    else:
        per_ranking = per_case[study.panel.case_of_opinion]
        panels = (
            annotators,
            _counts("different conditions per case", support_of(study).sizes, per_case, groups),
            _counts("conditions per ranking", study.mentions_per_ranking, per_ranking, groups),
            _counts("largest tie of a ranking (1: no tie)", _largest_ties(study), per_ranking, groups),
        )
    caption = f"{study.n_cases} cases with {study.panel.n_opinions} opinions." + (
        " Shares are within each category of the most plausible condition." if len(groups) > 1 else ""
    )
    return Chart("What the annotators said", panels, caption, columns=2, height=240)


def _few(labels: list[str]) -> list[str]:
    """Put all but the most frequent categories together."""
    often = sorted(dict.fromkeys(labels), key=lambda label: -labels.count(label))
    if len(often) <= MOST_CATEGORIES + 1:
        return labels
    return [label if label in often[:MOST_CATEGORIES] else "other categories" for label in labels]


def _largest_ties(study: Annotations) -> IntArray:
    """Return the size of the largest block of each ranking, shape (n_rankings,); 0 for abstentions."""
    largest = np.zeros(study.n_rankings, dtype=np.int64)
    np.maximum.at(largest, row_of_each(study.block_offsets), study.block_sizes)
    return largest


def _counts(title: str, numbers: IntArray, labels: ObjectArray, groups: list[str]) -> Pane:
    """Draw how often each number occurs, side by side for each label."""
    capped = np.minimum(numbers, MOST + 1)
    shown = np.arange(int(capped.min(initial=MOST + 1)), int(capped.max(initial=0)) + 1)
    what = "rankings" if "ranking" in title else "cases"
    bars = []
    for place, group in enumerate(groups):
        counts = np.array([np.sum(capped[labels == group] == number) for number in shown], dtype=np.float64)
        shares = counts / max(counts.sum(), 1)
        name = "" if group == ALL else str(group)
        texts = tuple(_told(int(n), share, name, title, what) for n, share in zip(shown, shares, strict=True))
        at = np.arange(len(shown), dtype=np.float64) + dodged(place, len(groups), room=0.8)
        bars.append(Bars(at, shares, 0.8 / len(groups), name, theme.hue(place), pattern=place, texts=texts))
    names = [f"{number}" if number <= MOST else f"{MOST + 1}+" for number in shown]
    return Pane(tuple(bars), named_places(names, title), Axis(f"share of {what}", form=".1%"))


def _told(number: int, share: float, group: str, title: str, what: str) -> str:
    many = f"{number}" if number <= MOST else f"more than {MOST}"
    return f"{share:.1%} of {what}{f' ({group})' if group else ''}\n{title}: {many}"


def _scores(scores: FloatArray) -> Pane:
    edges = even_edges(scores, number=20)
    shares = np.histogram(scores, edges)[0] / max(len(scores), 1)
    bars = Bars((edges[:-1] + edges[1:]) / 2, shares, 0.9 * float(edges[1] - edges[0]), colour=theme.hue(0))
    return Pane((bars,), Axis("score", form=".2f"), Axis("share of ratings", form=".1%"))
