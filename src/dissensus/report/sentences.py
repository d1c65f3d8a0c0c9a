"""The headline: what came out, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.core.thresholds import CERTAIN
from dissensus.report.glossary import term
from dissensus.report.selection import of_run, run_frame

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.comparison import Difference
    from dissensus.evaluation.results import Evaluation

NEGLIGIBLE = 0.005
"""Differences below half a percentage point are not worth a word."""

NEAR = 1e-12
UNBROKEN = 24

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
"""Stands where there is no number."""


@dataclass(frozen=True)
class Finding:
    """One of the statements at the top of the page: a number, what it is, and the sentences that explain it."""

    figure: str
    title: Markup
    sentences: tuple[Markup, ...]
    tone: str = "plain"


def headline(evaluation: Evaluation) -> list[Finding]:
    """Say how much usual practice overstates, how certain the annotations are, and whether the best is the best."""
    found = [overstatement(evaluation), openness(evaluation), contest(evaluation)]
    return [finding for finding in found if finding is not None]


# Words ------------------------------------------------------------------------------------------------


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """Count a noun, with separators.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "category", "categories")
    ('1 case', '1,200 cases', '2 categories')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def joined(parts: Sequence[Markup | str], last: str = "and") -> Markup:
    """List things in a sentence; text is escaped.

    >>> joined(["a", "b", "<c>"])
    Markup('a, b and &lt;c&gt;')
    """
    safe = [Markup.escape(part) for part in parts]
    if len(safe) < 2:
        return Markup("").join(safe)
    return Markup("{} {} {}").format(Markup(", ").join(safe[:-1]), last, safe[-1])


def percent(share: float) -> str:
    r"""Write a share in whole percent, without claiming all or nothing where that is not so.

    The space before the sign does not break.

    >>> percent(0.591), percent(0.9999), percent(1.0), percent(0.002)
    ('59\xa0%', 'over 99\xa0%', '100\xa0%', 'under 1\xa0%')
    """
    if 0 < share < 0.005:
        return "under 1\xa0%"
    if 0.995 <= share < 1:
        return "over 99\xa0%"
    return f"{100 * share:.0f}\xa0%"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a dash where there is none."""
    return NOTHING if value is None or value != value else f"{value:.{digits}f}".replace("-", MINUS)


def strong(text: object) -> Markup:
    """Set a name or a number in bold; text is escaped."""
    return Markup("<strong>{}</strong>").format(text)


def unbroken(name: str) -> Markup:
    """Keep a short name on one line; the name is escaped."""
    return Markup('<span class="unbroken">{}</span>').format(name) if len(name) <= UNBROKEN else Markup.escape(name)


def run_name(evaluation: Evaluation, run: int) -> str:
    """Name a run in a sentence.

    A reliability is worth saying only where there is one.
    """
    one = evaluation.runs[run]
    return one.aggregation if one.reliability is None else f"{one.aggregation} at reliability {one.reliability:g}"


# How much standard evaluation overstates ----------------------------------------------------------------


def is_share(rows: pl.DataFrame) -> bool:
    """Tell metrics between 0 and 1, whose differences are percentage points."""
    return bool(rows["min"].min() >= 0 and rows["max"].max() <= 1) if len(rows) else False  # type: ignore[operator]


def amount(difference: float, *, share: bool) -> str:
    """Write a difference: in percentage points for shares."""
    if not share:
        return f"{abs(difference):.3f}"
    points = round(100 * abs(difference), 1)
    return f"{points:.1f}\xa0{'point' if points == 1 else 'points'}"


def overstatement(evaluation: Evaluation) -> Finding | None:
    """Say how much the point estimates of the first metric overstate each model in the reference run."""
    if not evaluation.models:
        return None
    rows = metric_rows(evaluation, evaluation.metrics[0].name)
    known = [row for row in rows.iter_rows(named=True) if row["optimism"] is not None]
    if not known:
        return _without_standard(rows, evaluation)
    share, most = is_share(rows), max(known, key=lambda row: row["optimism"])
    gaps = [row["optimism"] for row in known]
    figure = ("+" if most["optimism"] >= 0 else MINUS) + amount(most["optimism"], share=share)
    sentences = [_overall(gaps, evaluation, share=share)]
    sentences += _sweep(evaluation, share=share)
    title = Markup("{} of {}").format(term("optimism", "Optimism"), term("standard evaluation"))
    return Finding(figure, title, tuple(sentences), "warm" if most["optimism"] > NEGLIGIBLE else "calm")


def metric_rows(evaluation: Evaluation, metric: str) -> pl.DataFrame:
    """Return the rows of one metric in the reference run: one per model."""
    rows = run_frame(evaluation, evaluation.to_frame(), evaluation.reference)
    return rows.filter(rows["metric"] == metric)


def _without_standard(rows: pl.DataFrame, evaluation: Evaluation) -> Finding:
    parts = [
        Markup("{}: {} ({:.3f} to {:.3f})").format(row["model"], strong(number(row["mean"])), row["low"], row["high"])
        for row in rows.iter_rows(named=True)
    ]
    metric = unbroken(evaluation.metrics[0].name)
    sentence = Markup("The {} {}: {}.").format(term("adjusted"), metric, joined(parts))
    note = Markup("Nothing like {} exists for these opinions, so nothing is compared with it.").format(
        term("standard evaluation")
    )
    best = rows.sort("mean", descending=evaluation.metrics[0].higher_is_better).row(0, named=True)
    return Finding(
        number(best["mean"], 2), Markup("{} {}").format(term("adjusted", "Adjusted"), metric), (sentence, note)
    )


def _overall(gaps: Sequence[float], evaluation: Evaluation, *, share: bool) -> Markup:
    """Say in one sentence which way usual practice errs, over all models."""
    metric = unbroken(evaluation.metrics[0].name)
    over = sum(gap > NEGLIGIBLE for gap in gaps)
    standard = term("standard evaluation", "Standard evaluation")
    if not over and all(abs(gap) <= NEGLIGIBLE for gap in gaps):
        return Markup("{} of the {} is about right here.").format(standard, metric)
    if not over:
        return Markup("{} does not overstate the {} here.").format(standard, metric)
    if len(gaps) == 1:
        return Markup("{} overstates the {} by {}.").format(standard, metric, strong(amount(gaps[0], share=share)))
    models = "every model" if over == len(gaps) else f"{over} of {len(gaps)} models"
    least, most = min(gap for gap in gaps if gap > NEGLIGIBLE), max(gaps)
    span = amount(most, share=share) if over == 1 else f"{_bare(least, share=share)} to {amount(most, share=share)}"
    return Markup("{} overstates the {} of {}, by {}.").format(standard, metric, models, strong(span))


def _bare(difference: float, *, share: bool) -> str:
    return amount(difference, share=share).split("\xa0")[0]


def _sweep(evaluation: Evaluation, *, share: bool) -> list[Markup]:
    """Say how far the optimism depends on the aggregation and how much annotators are trusted."""
    rows = evaluation.to_frame()
    rows = rows.filter((rows["metric"] == evaluation.metrics[0].name) & rows["optimism"].is_not_null())
    if len(evaluation.runs) < 2 or not len(rows):
        return []
    least, most = rows["optimism"].min(), rows["optimism"].max()
    return [
        Markup("This is for {}. Over all {}, {} and models, {} goes from {} to {}.").format(
            run_name(evaluation, evaluation.reference),
            term("aggregation", "aggregations"),
            term("reliability", "reliabilities"),
            term("optimism"),
            _signed(least, share=share),
            _signed(most, share=share),
        )
    ]


def _signed(difference: Any, *, share: bool) -> str:
    sign = "" if abs(difference) < NEGLIGIBLE / 10 else "+" if difference > 0 else MINUS
    return sign + amount(difference, share=share)


# How certain the annotations are --------------------------------------------------------------------------


def certainty_of(evaluation: Evaluation, run: int) -> pl.DataFrame:
    """Return the certainty of the most plausible condition of every case in one run."""
    frame = run_frame(evaluation, evaluation.certainties(), run)
    return frame.filter(frame["top"] == 1)


def open_cases(values: pl.Series) -> int:
    """Count the cases whose certainty is below the threshold."""
    return int((values < CERTAIN - NEAR).sum())


def open_share(values: pl.Series) -> str:
    """Write the share of cases whose certainty is below the threshold."""
    return percent(open_cases(values) / len(values)) if len(values) else NOTHING


def openness(evaluation: Evaluation) -> Finding:
    """Say in how many cases the annotations leave the answer open."""
    values = certainty_of(evaluation, evaluation.reference)["certainty"]
    n_open, n_cases = open_cases(values), len(values)
    if n_cases == 1:
        return _one_case(values[0], n_open)
    sentences = [_open_sentence(n_open, n_cases, float(values.mean()))]  # type: ignore[arg-type]
    sentences += _open_sweep(evaluation)
    sentences += _open_categories(evaluation)
    share = n_open / n_cases if n_cases else 0.0
    title = Markup("of cases are open: {} below {}").format(term("certainty"), CERTAIN)
    return Finding(percent(share), title, tuple(sentences), "warm" if share > 0.2 else "calm")


def _one_case(certainty: float, n_open: int) -> Finding:
    verb, tone = ("leave open", "warm") if n_open else ("settle", "calm")
    sentence = Markup("The annotations {} what the most plausible {} is.").format(verb, term("condition"))
    return Finding(number(certainty, 2), Markup("{} of the one case").format(term("certainty")), (sentence,), tone)


def _open_sentence(n_open: int, n_cases: int, mean: float) -> Markup:
    if not n_open:
        return Markup("The annotations settle the most plausible condition of all {} cases.").format(f"{n_cases:,}")
    verb = "case leaves" if n_open == 1 else "cases leave"
    return Markup(
        "{} of {} {} the most plausible {} open: the {} agree on it less than 99 % of the time. The average {} is {}."
    ).format(
        strong(f"{n_open:,}"),
        f"{n_cases:,}",
        verb,
        term("condition"),
        term("draw", "draws"),
        term("certainty"),
        strong(number(mean, 2)),
    )


def _open_sweep(evaluation: Evaluation) -> list[Markup]:
    if len(evaluation.runs) < 2:
        return []
    shares = [
        open_cases(values) / max(len(values), 1)
        for values in (certainty_of(evaluation, run)["certainty"] for run in range(len(evaluation.runs)))
    ]
    least, most = percent(min(shares)), percent(max(shares))
    if least == most:
        return [Markup("This share is the same for every {} and {}.").format(term("aggregation"), term("reliability"))]
    return [
        Markup("Depending on {} and {}, this share is between {} and {}.").format(
            term("aggregation"), term("reliability"), least, most
        )
    ]


def _open_categories(evaluation: Evaluation) -> list[Markup]:
    rows = run_frame(evaluation, evaluation.category_certainties(), evaluation.reference)
    if not len(rows):
        return []
    n_open = open_cases(rows["certainty"])
    if not n_open:
        return [Markup("The {} is settled in every case.").format(term("category"))]
    return [
        Markup("Even the {} is open in {} of the cases ({}).").format(
            term("category"), strong(percent(n_open / len(rows))), f"{n_open:,}"
        )
    ]


# Whether the best model is the best -------------------------------------------------------------------------


def contest(evaluation: Evaluation) -> Finding | None:
    """Say whether the model that leads can be told from the next, and whether usual practice names the same one."""
    if not evaluation.models:
        return Finding(
            "0",
            Markup("models evaluated"),
            (Markup("No predictions were given: this page is about the annotations alone."),),
        )
    if len(evaluation.models) == 1:
        return None
    measure = evaluation.metrics[0]
    rows = metric_rows(evaluation, measure.name).sort("mean", descending=measure.higher_is_better, nulls_last=True)
    first, second = rows["model"][0], rows["model"][1]
    duel = difference_of(evaluation, evaluation.reference, measure.name, pair=(first, second))
    chance = duel.probability_better if duel.first == first else 1 - duel.probability_better
    sentences = [_leader(rows, measure.name, duel, chance), *_usual_best(rows, measure.higher_is_better)]
    sentences += _other_metrics(evaluation)
    title = Markup("probability that {} is better than {}").format(first, second)
    return Finding(percent(chance), title, tuple(sentences), "calm" if duel.is_distinguishable else "warm")


def difference_of(evaluation: Evaluation, run: int, metric: str, *, pair: Iterable[str]) -> Difference:
    """Find the comparison of two models under one run and metric."""
    one, wanted = evaluation.runs[run], set(pair)
    return next(
        d
        for d in evaluation.compare().differences
        if d.metric == metric and {d.first, d.second} == wanted and of_run(d, one)
    )


def _leader(rows: pl.DataFrame, metric: str, duel: Difference, chance: float) -> Markup:
    first, second = rows.row(0, named=True), rows.row(1, named=True)
    start = Markup("{} has the best {} {} ({:.3f}), then {} ({:.3f}).").format(
        strong(first["model"]), term("adjusted"), unbroken(metric), first["mean"], second["model"], second["mean"]
    )
    if duel.is_distinguishable:
        return Markup("{} The difference is real: {} is better with a probability of {}.").format(
            start, first["model"], percent(chance)
        )
    return Markup("{} But the two are {}: the probability that {} is better is {}.").format(
        start, term("not distinguishable"), first["model"], percent(chance)
    )


def _usual_best(rows: pl.DataFrame, higher_is_better: bool) -> list[Markup]:
    known = rows.filter(rows["point_estimate"].is_not_null())
    if not len(known):
        return []
    usual = known.sort("point_estimate", descending=higher_is_better, maintain_order=True).row(0, named=True)
    if usual["model"] == rows["model"][0]:
        return [Markup("{} names the same leader.").format(term("standard evaluation", "Standard evaluation"))]
    return [
        Markup("{} would have named {} instead ({:.3f}).").format(
            term("standard evaluation", "Standard evaluation"), strong(usual["model"]), usual["point_estimate"]
        )
    ]


def _other_metrics(evaluation: Evaluation) -> list[Markup]:
    """Say whether other metrics have another leader."""
    leaders: dict[str, list[str]] = {}
    for measure in evaluation.metrics:
        rows = metric_rows(evaluation, measure.name).drop_nans("mean")
        if len(rows):
            best = rows.sort("mean", descending=measure.higher_is_better)["model"][0]
            leaders.setdefault(best, []).append(measure.name)
    if len(evaluation.metrics) < 2 or not leaders:
        return []
    if len(leaders) == 1:
        return [Markup("It leads in all {} metrics.").format(len(evaluation.metrics))]
    parts = [Markup("{} in {}").format(strong(model), joined(metrics)) for model, metrics in leaders.items()]
    return [Markup("Which model leads depends on the metric: {}.").format(joined(parts))]
