"""What came out, in sentences: the same ones in the report, in a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from markupsafe import Markup

from dissensus.core.errors import listing
from dissensus.core.thresholds import CERTAIN, is_uncertain
from dissensus.evaluation.comparison import Comparison, Difference, difference
from dissensus.evaluation.glossary import term
from dissensus.evaluation.intervals import RESAMPLES
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.words import NOTHING, amount, counted, is_visible, number, percent, probability, signed
from dissensus.metrics.base import Metric

if TYPE_CHECKING:
    import polars as pl

ROUGH = 0.03
"""Monte Carlo errors of certainties above this deserve a warning."""

MANY = 0.2
"""A larger share of uncertain cases is shown in a warm colour."""

UNBROKEN = 24

Result: TypeAlias = dict[str, Any]
"""A row of :meth:`Evaluation.to_frame`."""


@dataclass(frozen=True)
class Statement:
    """One of the things to know first: a number, what it is, and the sentences that explain it."""

    figure: str
    title: Markup
    sentences: tuple[Markup, ...]
    tone: str = "plain"


def statements(evaluation: Evaluation) -> tuple[Statement, ...]:
    r"""Compare with usual practice, say how certain the annotations are, and which model leads.

    >>> from dissensus import Annotations, evaluate
    >>> said = Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> [one.figure for one in statements(evaluate(said, {}, aggregations=["majority-vote"]))]
    ['0\xa0%', '0']
    """
    results = evaluation.to_frame()
    return (*practice(evaluation, results), *certainty(evaluation), *contest(evaluation, results))


def headline(evaluation: Evaluation) -> str:
    """Say the same in plain lines, after what was evaluated.

    >>> from dissensus import Annotations, evaluate
    >>> said = Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> print(headline(evaluate(said, {}, aggregations=["majority-vote"])))
    Evaluation: 0 models, 2 cases, 1 aggregation, 0 metrics
      In all 2 cases the draws of majority-vote agree on the most plausible condition at least 99 % of the time. ...
      No predictions were given, so nothing is said about models.
    """
    counts = {
        "model": len(evaluation.models),
        "case": evaluation.n_cases,
        "aggregation": len(evaluation.runs),
        "metric": len(evaluation.metrics),
    }
    head = "Evaluation: " + ", ".join(counted(count, noun) for noun, count in counts.items())
    return "\n".join([head, *(f"  {plain(one)}" for said in statements(evaluation) for one in said.sentences)])


def headline_html(evaluation: Evaluation) -> str:
    """Say the same for notebooks, with a small table of the reference run; names are escaped."""
    label = evaluation.runs[evaluation.reference].label
    rows = [
        Markup("<tr><td>{model}</td><td>{metric}</td><td>{mean:.3f}</td><td>{low:.3f} to {high:.3f}</td></tr>").format(
            **row
        )
        for row in evaluation.of_run(evaluation.to_frame(), evaluation.reference).iter_rows(named=True)
    ]
    head = Markup("<tr><th>model</th><th>metric</th><th>under {}</th><th>interval</th></tr>").format(label)
    body = Markup("").join(rows)
    table = Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(head, body) if rows else Markup("")
    return str(Markup("<pre>{}</pre>{}").format(headline(evaluation), table))


def cautions(evaluation: Evaluation) -> tuple[str, ...]:
    """Say what a reader should know first: cases left out, and numbers that need more draws."""
    found = []
    if evaluation.excluded:
        verb = "has no opinion and is" if len(evaluation.excluded) == 1 else "have no opinion and are"
        left_out = counted(len(evaluation.excluded), "case")
        found.append(f"{left_out} {verb} left out: {listing(evaluation.excluded)}")
    errors = [findings.errors.max(axis=0, initial=0.0) for findings in evaluation.findings]
    rough = np.flatnonzero(np.max(errors, axis=0) > ROUGH) if errors else ()
    if len(rough):
        names = listing([evaluation.case_names[i] for i in rough])
        cases = counted(len(rough), "case")
        found.append(
            f"the certainty of {cases} has a Monte Carlo error above {ROUGH:g}; more draws would help: {names}"
        )
    return tuple(found)


# Words ------------------------------------------------------------------------------------------------


def plain(sentence: Markup) -> str:
    """Write a sentence without its links, for a terminal.

    >>> plain(Markup("{} of {}").format(term("draw", "draws"), "<b>&amp;"))
    'draws of <b>&amp;'
    """
    return sentence.striptags()


def joined(parts: Sequence[Markup | str], last: str = "and") -> Markup:
    """List things in a sentence; text is escaped.

    >>> joined(["a", "b", "<c>"])
    Markup('a, b and &lt;c&gt;')
    """
    safe = [Markup.escape(part) for part in parts]
    if len(safe) < 2:
        return Markup("").join(safe)
    return Markup("{} {} {}").format(Markup(", ").join(safe[:-1]), last, safe[-1])


def strong(text: object) -> Markup:
    """Set a name or a number in bold; text is escaped.

    >>> strong("<b>")
    Markup('<strong>&lt;b&gt;</strong>')
    """
    return Markup("<strong>{}</strong>").format(text)


def unbroken(name: str) -> Markup:
    """Keep a short name on one line; the name is escaped.

    >>> unbroken("top-1 accuracy")
    Markup('<span class="unbroken">top-1 accuracy</span>')
    """
    return Markup('<span class="unbroken">{}</span>').format(name) if len(name) <= UNBROKEN else Markup.escape(name)


# Usual practice beside the draws ------------------------------------------------------------------------


def practice(evaluation: Evaluation, results: pl.DataFrame) -> list[Statement]:
    """Compare the first metric against one answer per case with that against the draws of the reference run."""
    if not evaluation.models:
        return []
    metric, label = evaluation.metrics[0], evaluation.runs[evaluation.reference].label
    rows = best_first(evaluation, results, metric)
    known = [(row, gap) for row in rows if (gap := gap_of(row)) is not None]
    if not known:
        return [_adjusted_alone(evaluation, rows, metric)]
    name = practice_name(evaluation)
    row, gap = known[0]
    sentence = Markup("The {} against {} {} against the {} of {} ({} against {}, model {}).").format(
        unbroken(metric.name),
        name,
        strong(f"{reads(gap, metric)} {'than' if is_visible(gap, is_share=metric.is_share) else 'as'}"),
        term("draw", "draws"),
        label,
        *(number(row["point_estimate"]), number(row["mean"])),
        row["model"],
    )
    title = Markup("{} against {}, compared with the {}").format(metric.name, name, term("draw", "draws"))
    ranges = _ranges(evaluation, results, [gap for _, gap in known])
    return [Statement(signed(gap, is_share=metric.is_share), title, (sentence, *ranges))]


def practice_name(evaluation: Evaluation) -> str:
    """Name the deterministic aggregation that the reference run is compared with; nothing if there is none."""
    limit = evaluation.runs[evaluation.reference].spec.limit
    return "" if limit is None else limit.plain_name


def best_first(evaluation: Evaluation, results: pl.DataFrame, metric: Metric) -> list[Result]:
    """Return the rows of a metric in the reference run, the best model first, undefined values last."""
    rows = evaluation.of_run(results.filter(results["metric"] == metric.name), evaluation.reference).to_dicts()
    sign = -1 if metric.higher_is_better else 1
    return sorted(rows, key=lambda row: (math.isnan(row["mean"]), sign * row["mean"]))


def gap_of(row: Result) -> float | None:
    """Return how much higher the point estimate reads than the mean over draws; nothing if one is not known.

    >>> gap_of({"point_estimate": 0.75, "mean": 0.5}), gap_of({"point_estimate": None, "mean": 0.5})
    (0.25, None)
    """
    if row["point_estimate"] is None:
        return None
    gap = float(row["point_estimate"] - row["mean"])
    return gap if math.isfinite(gap) else None


def reads(gap: float | None, metric: Metric) -> str:
    r"""Say how a point estimate compares with the value against draws.

    >>> from dissensus import TopKAccuracy
    >>> reads(0.031, TopKAccuracy(1)), reads(0.0, TopKAccuracy(1))
    ('reads 3.1\xa0points higher', 'reads the same')
    """
    if gap is None:
        return NOTHING
    if not is_visible(gap, is_share=metric.is_share):
        return "reads the same"
    return f"reads {amount(gap, is_share=metric.is_share)} {'higher' if gap > 0 else 'lower'}"


def _ranges(evaluation: Evaluation, results: pl.DataFrame, own: Sequence[float]) -> list[Markup]:
    """Say how far the difference depends on the model, the aggregation and how much annotators are trusted."""
    metric = evaluation.metrics[0]
    rows = results.filter(results["metric"] == metric.name).iter_rows(named=True)
    every = [gap for row in rows if (gap := gap_of(row)) is not None]
    found = []
    if len(own) > 1:
        found.append(_range(f"the {len(own)} models", own, metric))
    if len(evaluation.runs) > 1 and len(every) > 1:
        swept = Markup("all {}, {} and models").format(
            term("aggregation", "aggregations"), term("reliability", "reliabilities")
        )
        found.append(_range(swept, every, metric))
    return found


def _range(what: Markup | str, gaps: Sequence[float], metric: Metric) -> Markup:
    least, most = (signed(gap, is_share=metric.is_share) for gap in (min(gaps), max(gaps)))
    if least == most:
        return Markup("Over {}, this difference is {}.").format(what, least)
    return Markup("Over {}, this difference goes from {} to {}.").format(what, least, most)


def _adjusted_alone(evaluation: Evaluation, rows: Sequence[Result], metric: Metric) -> Statement:
    """Give the values against draws where there is nothing to compare them with."""
    label = evaluation.runs[evaluation.reference].label
    values = [
        Markup("{} for {} ({} to {})").format(
            strong(number(row["mean"])), row["model"], number(row["low"]), number(row["high"])
        )
        for row in rows
    ]
    said = Markup("The {} {} under {} is {}.").format(term("adjusted"), unbroken(metric.name), label, joined(values))
    title = Markup("{} {}").format(term("adjusted", "Adjusted"), unbroken(metric.name))
    if practice_name(evaluation):
        return Statement(number(rows[0]["mean"], 2), title, (said,))
    note = Markup("No deterministic {} belongs to {}, so there is no {} to compare it with.").format(
        term("aggregation"), label, term("point estimate")
    )
    return Statement(number(rows[0]["mean"], 2), title, (said, note))


# How certain the annotations are --------------------------------------------------------------------------


def uncertain_shares(evaluation: Evaluation) -> list[float]:
    """Return for every run the share of cases whose certainty is below the threshold."""
    return [float(np.mean(is_uncertain(found.certainties[0]))) for found in evaluation.findings]


def certainty(evaluation: Evaluation) -> list[Statement]:
    """Say in how many cases the annotations leave the answer open."""
    if not evaluation.findings or not len(evaluation.findings[evaluation.reference].certainties):
        return []
    values = evaluation.findings[evaluation.reference].certainties[0]
    n_open = int(is_uncertain(values).sum())
    sentences = [_open_sentence(evaluation, n_open)]
    if len(values) == 1:
        tone = "warm" if n_open else "calm"
        return [
            Statement(number(values[0], 2), Markup("{} of the one case").format(term("certainty")), (*sentences,), tone)
        ]
    sentences += [*_open_sweep(evaluation), *_open_categories(evaluation)]
    title = Markup("of cases are open: {} below {}").format(term("certainty"), CERTAIN)
    tone = "warm" if n_open > MANY * len(values) else "calm"
    return [Statement(percent(n_open / len(values)), title, tuple(sentences), tone)]


def _open_sentence(evaluation: Evaluation, n_open: int) -> Markup:
    values = evaluation.findings[evaluation.reference].certainties[0]
    label, draws = evaluation.runs[evaluation.reference].label, term("draw", "draws")
    agree = Markup("the {} of {} agree on the most plausible {}").format(draws, label, term("condition"))
    mean = Markup("The average {} is {}.").format(term("certainty"), strong(number(float(values.mean()), 2)))
    if not n_open:
        cases = "the one case" if len(values) == 1 else f"all {len(values):,} cases"
        return Markup("In {} {} at least 99 % of the time. {}").format(cases, agree, mean)
    share = Markup("{} of {}").format(strong(f"{n_open:,}"), counted(len(values), "case"))
    return Markup("In {} {} less than 99 % of the time. {}").format(share, agree, mean)


def _open_sweep(evaluation: Evaluation) -> list[Markup]:
    if len(evaluation.runs) < 2:
        return []
    shares = uncertain_shares(evaluation)
    least, most = percent(min(shares)), percent(max(shares))
    by = Markup("{} and {}").format(term("aggregation"), term("reliability"))
    if least == most:
        return [Markup("The share of such cases is the same for every {}.").format(by)]
    return [Markup("Depending on {}, the share of such cases is between {} and {}.").format(by, least, most)]


def _open_categories(evaluation: Evaluation) -> list[Markup]:
    values = evaluation.findings[evaluation.reference].category_certainties
    if not len(values):
        return []
    n_open, category = int(is_uncertain(values).sum()), term("category")
    if not n_open:
        return [Markup("On the {}, they agree at least 99 % of the time in every case.").format(category)]
    cases = Markup("{} of the cases ({})").format(strong(percent(n_open / len(values))), f"{n_open:,}")
    return [Markup("On the {}, they agree less than 99 % of the time in {}.").format(category, cases)]


# Which model leads ------------------------------------------------------------------------------------------


def contest(evaluation: Evaluation, results: pl.DataFrame) -> list[Statement]:
    """Say which model leads, how sure that is, and which one usual practice would name."""
    if not evaluation.models:
        sentence = Markup("No predictions were given, so nothing is said about models.")
        return [Statement("0", Markup("models evaluated"), (sentence,))]
    if len(evaluation.models) == 1:
        return []
    metric = evaluation.metrics[0]
    rows = best_first(evaluation, results, metric)
    places = [evaluation.models.index(row["model"]) for row in rows[:2]]
    duel = difference(evaluation, evaluation.reference, 0, *places)
    sentences = (
        *_leader(rows, duel),
        *_usual_leader(evaluation, rows, metric),
        *_other_leaders(evaluation, results, duel.first),
    )
    title = Markup("probability that {} is better than {}").format(duel.first, duel.second)
    tone = "calm" if duel.is_distinguishable else "warm"
    return [Statement(probability_better(duel), title, sentences, tone)]


def probability_better(found: Difference) -> str:
    """Write the probability that the first of two models is better, as far as resampling can tell."""
    return NOTHING if found.are_same else probability(found.probability_better, RESAMPLES)


def _leader(rows: Sequence[Result], duel: Difference) -> Iterable[Markup]:
    first, second = rows[0], rows[1]
    yield Markup("Under {}, {} has the best {} {} ({}), then {} ({}).").format(
        duel.run,
        strong(first["model"]),
        term("adjusted"),
        unbroken(duel.metric),
        number(first["mean"]),
        second["model"],
        number(second["mean"]),
    )
    chance = Markup("the probability that {} is better is {}").format(duel.first, strong(probability_better(duel)))
    if duel.is_distinguishable:
        yield Markup("The {} of their difference leaves zero out; {}.").format(term("interval"), chance)
    else:
        yield Markup("The two are {}: {}.").format(term("not distinguishable"), chance)


def _usual_leader(evaluation: Evaluation, rows: Sequence[Result], metric: Metric) -> Iterable[Markup]:
    known = [row for row in rows if gap_of(row) is not None]
    if not known:
        return
    best = (max if metric.higher_is_better else min)(known, key=lambda row: row["point_estimate"])
    same = best["model"] == rows[0]["model"]
    yield Markup("Against {}, {} ({}).").format(
        practice_name(evaluation),
        Markup("the same model leads") if same else Markup("{} leads instead").format(strong(best["model"])),
        number(best["point_estimate"]),
    )


def _other_leaders(evaluation: Evaluation, results: pl.DataFrame, leader: str) -> Iterable[Markup]:
    """Say whether other metrics have another leader."""
    leaders: dict[str, list[str]] = {}
    for metric in evaluation.metrics:
        best = best_first(evaluation, results, metric)[0]
        if not math.isnan(best["mean"]):
            leaders.setdefault(best["model"], []).append(metric.name)
    if len(evaluation.metrics) < 2 or not leaders:
        return
    if list(leaders) == [leader]:
        yield Markup("{} leads in all {} metrics.").format(leader, len(evaluation.metrics))
    else:
        parts = [Markup("{} in {}").format(strong(model), joined(metrics)) for model, metrics in leaders.items()]
        yield Markup("Which model leads depends on the metric: {}.").format(joined(parts))


def verdict(found: Difference) -> Markup:
    """Say how two models compare, with the numbers."""
    return Markup(
        "{}: the difference {} minus {} is {} ({} to {}), and the probability that {} is better is {}."
    ).format(
        found.verdict,
        found.first,
        found.second,
        *map(number, (found.difference, found.low, found.high)),
        found.first,
        probability_better(found),
    )


def flips(comparison: Comparison) -> list[Markup]:
    """Say which models change order between metrics or aggregations."""
    return [
        Markup("{first} leads {second} in {first_better}. {second} leads in {second_better}.").format(
            **{**row, "first": strong(row["first"]), "second": strong(row["second"])}
        )
        for row in comparison.flips().iter_rows(named=True)
    ]
