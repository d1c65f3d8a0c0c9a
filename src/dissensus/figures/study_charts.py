"""Figures of the study itself: how many annotators, conditions and ties there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dissensus.core.aliases import IntArray
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Bars, Chart, Pane, dodged, in_order, named_places
from dissensus.figures.samples import even_edges
from dissensus.study.diagnosis import Distribution
from dissensus.study.study import Study

MOST = 12
"""Counts above this share one bar."""

MOST_CATEGORIES = 5
ObjectArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.object_]]
ALL = "all"


def study_statistics(
    study: Study, *, categories: Sequence[str] = (), order: Sequence[str] = (), noun: str = "cases"
) -> Chart:
    """Count what there is per case and per opinion, by category if there are any.

    Parameters
    ----------
    study
        What was said.
    categories
        Category of each case, for example the risk of its most plausible condition; empty for no split.
    order
        The categories in their order; by default in the order of the alphabet.
    noun
        What is counted: cases, or findings of cases.
    """
    labels = _few(list(categories)) if categories else [ALL] * study.n_cases
    per_case, groups = np.array(labels, dtype=object), in_order(labels, order)
    per_opinion = per_case[study.panel.case_of_opinion]
    panes = tuple(
        _counts(one, per_case if one.per_case else per_opinion, groups) if one.are_counts else _scores(one)
        for one in study.distributions()
    )
    caption = f"{study.n_cases} {noun} with {study.n_votes} opinions." + (
        " Shares are within each category of the most plausible condition." if len(groups) > 1 else ""
    )
    return Chart("What the annotators said", panes, caption, columns=2, height=240)


def _few(labels: list[str]) -> list[str]:
    """Put all but the most frequent categories together."""
    often = sorted(dict.fromkeys(labels), key=lambda label: -labels.count(label))
    if len(often) <= MOST_CATEGORIES + 1:
        return labels
    return [label if label in often[:MOST_CATEGORIES] else "other categories" for label in labels]


def _counts(one: Distribution, labels: ObjectArray, groups: list[str]) -> Pane:
    """Draw how often each number occurs, side by side for each label."""
    capped, votes = np.minimum(one.values, MOST + 1), _votes(one)
    shown = np.arange(int(capped.min(initial=MOST + 1)), int(capped.max(initial=0)) + 1)
    bars = []
    for place, group in enumerate(groups):
        counts = np.array([votes[(labels == group) & (capped == number)].sum() for number in shown], dtype=np.float64)
        shares = counts / max(counts.sum(), 1)
        name = "" if group == ALL else str(group)
        texts = tuple(_told(int(n), share, name, one) for n, share in zip(shown, shares, strict=True))
        at = np.arange(len(shown), dtype=np.float64) + dodged(place, len(groups), room=0.8)
        bars.append(Bars(at, shares, 0.8 / len(groups), name, theme.hue(place), pattern=place, texts=texts))
    names = [f"{number}" if number <= MOST else f"{MOST + 1}+" for number in shown]
    return Pane(tuple(bars), named_places(names, one.title), Axis(f"share of {one.unit}", form=".1%"))


def _told(number: int, share: float, group: str, one: Distribution) -> str:
    many = f"{number}" if number <= MOST else f"more than {MOST}"
    return f"{share:.1%} of {one.unit}{f' ({group})' if group else ''}\n{one.title}: {many}"


def _votes(one: Distribution) -> IntArray:
    return np.ones(len(one.values), dtype=np.int64) if one.votes is None else one.votes


def _scores(one: Distribution) -> Pane:
    edges = even_edges(np.asarray(one.values, dtype=np.float64), number=20)
    shares = np.histogram(one.values, edges, weights=_votes(one))[0] / max(_votes(one).sum(), 1)
    bars = Bars((edges[:-1] + edges[1:]) / 2, shares, 0.9 * float(edges[1] - edges[0]), colour=theme.hue(0))
    return Pane((bars,), Axis(one.title, form=".2f"), Axis(f"share of {one.unit}", form=".1%"))
