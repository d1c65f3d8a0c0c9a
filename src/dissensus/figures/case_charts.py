"""Figures of a study and its cases: what was said, how certain it is, risks, and the plausibilities of one case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.thresholds import CERTAIN, is_uncertain
from dissensus.figures import theme
from dissensus.figures.charts import (
    CERTAINTY,
    SHARE_OF_CASES,
    Axis,
    Band,
    Bars,
    Chart,
    Line,
    Pane,
    Points,
    diagonal,
    dodged,
    even_edges,
    in_order,
    kept_places,
    named_places,
    quantile_curve,
    sampled_places,
    sampling_note,
    shortened,
    told,
)

if TYPE_CHECKING:
    import polars as pl

    from dissensus.study.diagnosis import Distribution
    from dissensus.study.study import Study

BINS = 25

# Half the width of a 90 % interval, in standard errors.
SPREAD = 1.645

MOST_CONDITIONS = 15

# All conditions that nobody mentioned, together.
OTHERS = "any other"

# Counts above this share one bar.
MOST = 12

MOST_CATEGORIES = 5
ALL = "all"

# Certainty ----------------------------------------------------------------------------------------------


def run_of(rows: pl.DataFrame) -> str:
    """Return the label of the run that some rows belong to."""
    return str(rows["run"][0])


def by_aggregation(frame: pl.DataFrame) -> Iterator[tuple[str, list[tuple[float | None, pl.DataFrame]]]]:
    """Give every aggregation with the rows of each of its reliabilities, in ascending order."""
    for (aggregation,), rows in frame.group_by("aggregation", maintain_order=True):
        runs = rows.sort("reliability", maintain_order=True).group_by("reliability", maintain_order=True)
        yield str(aggregation), [(reliability, part) for (reliability,), part in runs]


def reliabilities(known: list[float | None]) -> Axis:
    """Return the axis of the reliabilities of an aggregation, evenly spaced."""
    names = ["none" if reliability is None else f"{reliability:g}" for reliability in known]
    return named_places(names, "reliability", margin=0.35)


def _sorted_line(rows: pl.DataFrame, name: str, colour: str, dash: int) -> Line:
    """Sort cases by certainty."""
    return Line(*quantile_curve(rows["certainty"].to_numpy()), name, colour, dash=dash, steps=True)


def certainty_curves(certainties: pl.DataFrame, *, top: int = 1) -> Chart:
    """Sort the cases by certainty: one panel per aggregation, one line per reliability."""
    panels = []
    for aggregation, runs in by_aggregation(certainties.filter(certainties["top"] == top)):
        named = [(run_of(rows), rows) for _, rows in runs]
        lines = [_sorted_line(rows, run, theme.shade(i, len(runs)), i) for i, (run, rows) in enumerate(named)]
        panels.append(Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY, aggregation))
    caption = (
        "Certainty is the share of draws that agree on the most plausible condition. Read: at 25 % on the horizontal "
        "axis, a quarter of the cases are at most as certain as the curve says."
    )
    return Chart("Certainty of every case", tuple(panels), caption, columns=min(len(panels), 2))


def certainty_histogram(certainties: pl.DataFrame, *, run: str, top: int = 1) -> Chart:
    """Count the cases of one run by certainty."""
    values = certainties.filter(certainties["top"] == top)["certainty"].to_numpy()
    counts, edges = np.histogram(values, BINS, (0.0, 1.0))
    told = "{} cases with a certainty of {:.2f} to {:.2f}".format
    texts = tuple(map(told, counts, edges[:-1], edges[1:]))
    bars = Bars((edges[:-1] + edges[1:]) / 2, counts.astype(np.float64), 0.9 / BINS, colour=theme.hue(0), texts=texts)
    title = f"{np.mean(is_uncertain(values)):.1%} of {len(values)} cases below {CERTAIN}"
    panel = Pane((bars,), CERTAINTY, Axis("cases", form=",.0f"), title)
    return Chart(f"Certainty under {run}", (panel,), "How many cases have which certainty.")


def certainty_by_top(certainties: pl.DataFrame, *, run: str) -> Chart:
    """Sort the cases of one run by the certainty of the first condition, the first two, the first three."""
    tops = sorted(certainties["top"].unique().to_list())
    own = [certainties.filter(certainties["top"] == top) for top in tops]
    lines = [_sorted_line(own[i], f"top {top}", theme.hue(i), i) for i, top in enumerate(tops)]
    caption = (
        "Top 2 and top 3: the share of draws that agree on the set of the two or three most plausible conditions, "
        "each curve sorted by itself."
    )
    panel = Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY)
    return Chart(f"Certainty of the first conditions under {run}", (panel,), caption)


def share_below(certainties: pl.DataFrame, *, threshold: float = CERTAIN) -> Chart:
    """Tell for every run and top which share of cases is less certain than a threshold."""
    tops = sorted(certainties["top"].unique().to_list())
    title = Axis(f"cases with certainty below {threshold:g}", (0.0, 1.02), form=".1%")
    panels = []
    for aggregation, runs in by_aggregation(certainties):
        lines = []
        for place, top in enumerate(tops):
            shares = [_share_below(rows.filter(rows["top"] == top), threshold) for _, rows in runs]
            told = f"{{}}, top {top}: {{:.1%}} of cases below {threshold:g}".format
            texts = tuple(map(told, (run_of(rows) for _, rows in runs), shares))
            x, y = np.arange(len(runs), dtype=np.float64), np.array(shares)
            lines.append(Line(x, y, f"top {top}", theme.hue(place), place, symbol=place, texts=texts))
        panels.append(Pane(tuple(lines), reliabilities([run for run, _ in runs]), title, aggregation))
    caption = f"Share of cases in which fewer than {threshold:.0%} of the draws agree on the first conditions."
    return Chart("Cases that are not certain", tuple(panels), caption, columns=min(len(panels), 2))


def _share_below(rows: pl.DataFrame, threshold: float) -> float:
    return float(np.mean(is_uncertain(rows["certainty"].to_numpy(), threshold))) if len(rows) else float("nan")


def confirmation_curve(curve: pl.DataFrame, *, run: str) -> Chart:
    """Plot what was stated, and what was expected of panels of their size, against what held-out panels confirmed."""
    confirmed, error = curve["confirmed"].to_numpy(), np.nan_to_num(curve["confirmed_se"].to_numpy())
    low, high = np.maximum(confirmed - SPREAD * error, 0.0), np.minimum(confirmed + SPREAD * error, 1.0)
    marks: list[Line | Points] = [diagonal()]
    for place, (column, name) in enumerate((("predicted", "expected of such panels"), ("stated", "certainty"))):
        stated, values = curve[column].to_numpy(), f"{name}: {{{column}:.2f}}\nconfirmed: {{confirmed:.2f}}"
        texts = told(curve, f"certainty {{low:g}} to {{high:g}}: {{n_cases:,}} cases\n{values}")
        marks.append(Points(stated, confirmed, name, theme.hue(place), place, low=low, high=high, texts=texts))
    panel = Pane(tuple(marks), Axis("stated", (0, 1.02)), Axis("confirmed by held-out panels", (0, 1.02)))
    caption = (
        "Each point is a bin of cases: half of the annotators of a case say how certain its first condition is, and "
        "the others say whether it won; bars are 90 % intervals. Small panels are a lottery even where certainty is "
        "right, so it is what is expected of panels of their size that should lie on the dotted line."
    )
    return Chart(f"Certainty and what held-out annotators said, under {run}", (panel,), caption, height=420)


def categories_against_conditions(
    certainties: pl.DataFrame, by_category: pl.DataFrame, *, run: str, order: Sequence[str] = ()
) -> Chart:
    """Plot the certainty of the category of every case against the certainty of its condition."""
    first = certainties.filter(certainties["top"] == 1).select("case", "certainty")
    both = first.join(by_category.select("case", "category", of_category="certainty"), on="case", maintain_order="left")
    drawn = both[sampled_places(len(both))]
    marks: list[Line | Points] = [diagonal()]
    for place, category in enumerate(in_order(drawn["category"], order)):
        rows = drawn.filter(drawn["category"] == category)
        texts = told(rows, "case {case}\ncondition: {certainty:.3f}\ncategory {category}: {of_category:.3f}")
        x, y = rows["certainty"].to_numpy(), rows["of_category"].to_numpy()
        marks.append(Points(x, y, category, theme.hue(place), place, 6, opacity=0.55, texts=texts))
    axes = Axis("certainty of the condition", (0, 1.02)), Axis("certainty of the category", (0, 1.02))
    below = [_share_below(frame, CERTAIN) for frame in (first, by_category)]
    caption = (
        f"Below {CERTAIN}: {below[0]:.1%} of cases by condition, {below[1]:.1%} by category. A case above the dotted "
        "line is more certain in its category than in its condition; colours tell the most frequent category."
    ) + sampling_note(len(both))
    title = f"Certainty of categories and conditions under {run}"
    return Chart(title, (Pane(tuple(marks), *axes),), caption, height=420)


def agreement_scatter(agreement: pl.DataFrame, certainties: pl.DataFrame, *, run: str) -> Chart:
    """Plot the agreement among the annotators of every case against its certainty, with the line of least squares."""
    first = certainties.filter(certainties["top"] == 1).select("case", "certainty")
    known = agreement.drop_nulls("agreement").filter(agreement.drop_nulls("agreement")["agreement"].is_not_nan())
    both = first.join(known.select("case", "agreement"), on="case", maintain_order="left")
    x, y = both["certainty"].to_numpy(), both["agreement"].to_numpy()
    kept = sampled_places(len(both))
    texts = told(both[kept], "case {case}\ncertainty: {certainty:.3f}\nagreement among annotators: {agreement:.3f}")
    marks: list[Line | Points] = [Points(x[kept], y[kept], "cases", theme.hue(0), size=6, opacity=0.45, texts=texts)]
    correlation = "undefined"  # where one side does not vary
    if len(x) > 1 and np.ptp(x) >= 1e-12 and np.ptp(y) >= 1e-12:
        slope, intercept = np.polyfit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        marks.append(Line(ends, slope * ends + intercept, "least squares", theme.hue(1), dash=1))
        correlation = f"{np.corrcoef(x, y)[0, 1]:.2f}"
    axes = Axis("certainty", (0, 1.02)), Axis("agreement among annotators", (-0.03, 1.03))
    caption = (
        "Agreement among annotators: leave one of them out, and ask how often the first condition of the others is in "
        "the opinion left out. Cases with one annotator have none."
    ) + sampling_note(len(both))
    panel = Pane(tuple(marks), *axes, f"correlation {correlation}, {len(x)} cases")
    return Chart(f"Agreement among annotators, and certainty under {run}", (panel,), caption, height=420)


# Cases --------------------------------------------------------------------------------------------------


def risk_ranges(risks: pl.DataFrame, *, run: str, levels: Sequence[tuple[float, str]] = ()) -> Chart:
    """Sort the cases by expected risk, with the range over draws."""
    ordered = risks.filter(risks["mean"].is_not_nan()).sort("mean", maintain_order=True)
    places = kept_places(len(ordered)) if len(ordered) != 1 else np.zeros(2, dtype=np.int64)
    kept = ordered[places]
    x = np.linspace(0, 1, len(ordered))[places] if len(ordered) != 1 else np.array([0.0, 1.0])
    low, mean, high = (kept[name].to_numpy() for name in ("min", "mean", "max"))
    texts = told(kept, "case {case}\nexpected risk: {mean:.2f}\nover draws: {min:.2f} to {max:.2f}")
    band = Band(x, low, high, theme.hue(0), 0.25, "range over draws")
    ticks = tuple((level, f"{shortened(name, 16)} ({level:g})") for level, name in levels)
    axes = Axis("share of cases, least risk first", (0, 1), form=".1%"), Axis("risk level", None, ticks)
    panel = Pane((band, Line(x, mean, "expected risk", theme.hue(0), texts=texts)), *axes)
    caption = (
        "The risk level of a case, averaged over its plausible conditions in each draw: mean over draws, and the least "
        "and the greatest value of any draw."
    ) + (f" {len(kept)} of {len(ordered)} cases are drawn, evenly spaced." if len(kept) < len(ordered) else "")
    return Chart(f"Expected risk of every case under {run}", (panel,), caption)


def case_plausibilities(plausibilities: pl.DataFrame, case: str, *, run: str) -> Chart:
    """Show what one case may be: a bar for the mean plausibility of each condition, a dot for each draw."""
    import polars as pl

    rows = plausibilities.filter(plausibilities["case"] == case)
    others = rows["condition"].is_null()
    mentioned = rows.filter(~others).sort("mean", descending=True, maintain_order=True)
    kept = pl.concat([mentioned.head(MOST_CONDITIONS), rows.filter(others)])
    kept = kept.with_columns(pl.col("condition").fill_null(OTHERS))
    texts = told(kept, "{condition}\nmean plausibility: {mean:.3f}\nmost plausible in {top:.1%} of draws")
    places = np.arange(len(kept), dtype=np.float64)
    bars = Bars(places, kept["mean"].to_numpy(), 0.7, "mean", theme.hue(4), across=True, texts=texts)
    draws = kept.select("condition", "draws").explode("draws")
    heights = dot_heights(len(kept), len(draws) // max(len(kept), 1), room=0.5)
    said = told(draws, "{condition}\nin one draw: {draws:.3f}")
    dots = Points(draws["draws"].to_numpy(), heights, "single draws", theme.hue(1), size=5, opacity=0.6, texts=said)
    names = [shortened(name) for name in kept["condition"]]
    panel = Pane((bars, dots), Axis("plausibility", (0.0, 1.02)), named_places(names))
    left = len(rows) - len(kept)
    caption = "Bars: mean plausibility of each condition. Dots: single draws." + (
        f" {left} less plausible conditions are not shown." if left else ""
    )
    return Chart(f"Case {case} under {run}", (panel,), caption, height=max(120, 26 * len(kept)))


def dot_heights(n_bars: int, n_dots: int, *, room: float) -> FloatArray:
    """Spread as many dots over the height of every bar, in the same order for all; ``room`` is the part they take.

    >>> dot_heights(2, 2, room=0.55).round(2).tolist()
    [-0.28, 0.06, 0.72, 1.06]
    """
    shift = ((np.arange(n_dots) * 0.618034) % 1 - 0.5) * room
    return np.asarray(np.add.outer(np.arange(n_bars, dtype=np.float64), shift).ravel())


# The study ----------------------------------------------------------------------------------------------


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
    labels = list(categories) or [ALL] * study.n_cases
    often = sorted(dict.fromkeys(labels), key=lambda label: -labels.count(label))
    if len(often) > MOST_CATEGORIES + 1:
        labels = [label if label in often[:MOST_CATEGORIES] else "other categories" for label in labels]
    groups = in_order(labels, order)
    panes = []
    for one in study.distributions():
        places = np.arange(study.n_cases) if one.per_case else study.panel.case_of_opinion
        panes.append(_counts(one, [labels[i] for i in places], groups) if one.are_counts else _scores(one))
    caption = f"{study.n_cases} {noun} with {study.n_votes} opinions." + (
        " Shares are within each category of the most plausible condition." if len(groups) > 1 else ""
    )
    return Chart("What the annotators said", tuple(panes), caption, columns=2, height=240)


def _counts(one: Distribution, labels: list[str], groups: list[str]) -> Pane:
    """Draw how often each number occurs, side by side for each label."""
    capped = np.minimum(one.values, MOST + 1)
    shown = np.arange(int(capped.min(initial=MOST + 1)), int(capped.max(initial=0)) + 1)
    group_of, bars = np.array([groups.index(label) for label in labels], dtype=np.int64), []
    for place, group in enumerate(groups):
        own = [(group_of == place) & (capped == number) for number in shown]
        counts = np.array([mask.sum() if one.votes is None else one.votes[mask].sum() for mask in own], dtype=float)
        shares = counts / max(counts.sum(), 1)
        name = "" if group == ALL else str(group)
        whose = f"{one.unit} ({name})" if name else one.unit
        texts = tuple(
            f"{share:.1%} of {whose}\n{one.title}: {number if number <= MOST else f'more than {MOST}'}"
            for number, share in zip(shown, shares, strict=True)
        )
        at = np.arange(len(shown), dtype=np.float64) + dodged(place, len(groups), room=0.8)
        bars.append(Bars(at, shares, 0.8 / len(groups), name, theme.hue(place), pattern=place, texts=texts))
    names = [f"{number}" if number <= MOST else f"{MOST + 1}+" for number in shown]
    return Pane(tuple(bars), named_places(names, one.title), Axis(f"share of {one.unit}", form=".1%"))


def _scores(one: Distribution) -> Pane:
    edges = even_edges(np.asarray(one.values, dtype=np.float64), number=20)
    counts = np.histogram(one.values, edges, weights=one.votes)[0]
    shares = counts / max(counts.sum(), 1)
    bars = Bars((edges[:-1] + edges[1:]) / 2, shares, 0.9 * float(edges[1] - edges[0]), colour=theme.hue(0))
    return Pane((bars,), Axis(one.title, form=".2f"), Axis(f"share of {one.unit}", form=".1%"))
