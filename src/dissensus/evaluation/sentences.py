"""What came out, in sentences: the same ones in the report, in a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from dissensus.core.errors import listing
from dissensus.core.thresholds import CERTAIN, ROUGH
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, are_crossed
from dissensus.evaluation.comparison import Comparison, Difference, difference
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL
from dissensus.evaluation.intervals import RESAMPLES
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.tables import Beside, Result, called, of_estimand, side_by_side
from dissensus.evaluation.words import (
    NOTHING,
    amount,
    counted,
    is_visible,
    number,
    percent,
    probability,
    signed,
    small_probability,
    term,
    value,
)
from dissensus.metrics.base import Metric

if TYPE_CHECKING:
    import polars as pl

# A larger share of uncertain cases is shown in a warm colour.
MANY = 0.2

UNBROKEN = 24

# So many metrics are named in a sentence; more are counted.
MOST_NAMED = 4

# What makes an interval wide, by the columns of tables.
PARTS = {
    "case_sd": "the cases",
    "annotator_sd": "who the annotators were",
    "draw_sd": "what the opinions leave open",
    "fit_sd": "the fit of the prior",
}


@dataclass(frozen=True)
class Statement:
    """One of the things to know first: a number, what it is, and the sentences that explain it."""

    figure: str
    title: Markup
    sentences: tuple[Markup, ...]
    tone: str = "plain"


def statements(evaluation: Evaluation) -> tuple[Statement, ...]:
    r"""Give panel, agreement and adjusted value, what is usually reported, how certain annotations are, and who leads.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> [one.figure for one in statements(evaluate(said, {}, aggregations=["majority-vote"]))]
    ['0\xa0%', '0']
    """
    results = evaluation.to_frame()
    return (
        *estimands(evaluation, results),
        *practice(evaluation, results),
        *certainty(evaluation),
        *contest(evaluation, results),
    )


def headline(evaluation: Evaluation) -> str:
    """Say the same in plain lines, after what was evaluated.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> print(headline(evaluate(said, {}, aggregations=["majority-vote"])))
    Evaluation: 0 models, 2 cases, 1 aggregation, 0 metrics
      In all 2 cases the draws of majority-vote agree on the most plausible condition at least 99 % of the time. ...
      No predictions were given, so nothing is said about models.
    """
    counts = (
        counted(len(evaluation.models), "model"),
        subjects(evaluation),
        counted(len(evaluation.runs), "aggregation"),
        counted(len(evaluation.metrics), "metric"),
    )
    head = "Evaluation: " + ", ".join(counts)
    return "\n".join([head, *(f"  {plain(one)}" for said in statements(evaluation) for one in said.sentences)])


def subjects(evaluation: Evaluation) -> str:
    """Count what was evaluated: cases, or findings of cases.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_sets([[{"AF"}, set()], [{"AF", "ST"}]], ["AF", "ST"])
    >>> subjects(evaluate(said, {}, aggregations=["majority-vote"]))
    '2 findings of 2 cases'
    """
    cases, findings = counted(evaluation.n_items, "case"), evaluation.asked_findings
    return f"{counted(len(findings), 'finding')} of {cases}" if findings else cases


def rows_of(evaluation: Evaluation) -> tuple[str, str]:
    """Name what tables count, one of it and several: cases, or findings of cases."""
    return ("finding of a case", "findings of cases") if evaluation.asked_findings else ("case", "cases")


def headline_html(evaluation: Evaluation) -> str:
    """Say the same for notebooks, with a small table of all estimands side by side; names are escaped."""
    found = evaluation.to_frame()
    labels = [evaluation.run_label(run) for run in (evaluation.reference, evaluation.headline)]
    shown = found.filter((found["estimand"] == AGREEMENT) | found["run"].is_in(labels))
    row = Markup("<tr><td>{model}</td><td>{metric}</td><td>{estimand}</td><td>{run}</td><td>{}</td><td>{}</td></tr>")
    rows = [
        row.format(value(values["mean"]), between(values), **values)
        for values in shown.sort("model", "metric", "estimand", maintain_order=True).iter_rows(named=True)
    ]
    names = ("model", "metric", "estimand", "run", "value", f"{100 * evaluation.level:g} % interval")
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in names)
    body = Markup("").join(rows)
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)
    return str(Markup("<pre>{}</pre>{}").format(headline(evaluation), table if rows else ""))


def cautions(evaluation: Evaluation) -> tuple[str, ...]:
    """Say what a reader should know first: models that repeat annotators, cases left out, too few draws."""
    found = [] if evaluation.prior is None else list(evaluation.prior.warnings)
    if evaluation.n_excluded:
        verb = "has no opinion and is" if evaluation.n_excluded == 1 else "have no opinion and are"
        left_out = counted(evaluation.n_excluded, *rows_of(evaluation))
        found.append(f"{left_out} {verb} left out: {listing(evaluation.excluded, total=evaluation.n_excluded)}")
    counts, reference = evaluation.certainty_counts, evaluation.reference
    if counts and counts[reference].n_rough:
        n_rough = counts[reference].n_rough
        errors = evaluation.profiles[reference].errors if evaluation.profiles else np.empty((0, 0))  # first: top 1
        names = [evaluation.case_names[i] for i in np.flatnonzero(errors[0] > ROUGH)] if len(errors) else []
        found.append(
            f"under {evaluation.run_label(reference)}, the certainty of the first condition of "
            f"{counted(n_rough, *rows_of(evaluation))} has a Monte Carlo error above {ROUGH:g}; more draws would "
            f"help{f': {listing(names)}' if len(names) == n_rough else ''}"
        )
    return (*found, *evaluation.remarks)


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


# Panel, agreement and adjusted value ----------------------------------------------------------------------


# The title and the sentence of every estimand, with what it says about a model.
TOLD = {
    PANEL: (
        "{Panel} {metric} of {model}",
        "The {panel} {metric}{oriented} of {model} is {value} ({interval}), {meaning}",
    ),
    AGREEMENT: (
        "{Agreement} with single annotators: {metric} of {model}",
        "The {agreement} of {model} with single annotators is {value} ({interval}): its {metric} against one annotator "
        "of each case, taken at random. No prior is part of it.",
    ),
    ADJUSTED: (
        "{Adjusted} {metric} of {model}, under {run}",
        "The {adjusted} {metric}{oriented} of {model} under {under} is {value} ({interval}).",
    ),
}


def estimands(evaluation: Evaluation, results: pl.DataFrame) -> list[Statement]:
    """Give the first metric of the leading model: against a large panel, against single annotators, and adjusted."""
    if not evaluation.models:
        return []
    one, run = leading(evaluation, results)[0], evaluation.runs[evaluation.reference]
    better, worse = one.metric.goodness(np.array([1.0, -1.0]))
    oriented = "" if one.metric.higher_is_better else " (lower is better)"
    words = {
        **{name: term(name) for name in TOLD},
        **{name.capitalize(): term(name, name.capitalize()) for name in TOLD},
        "metric": unbroken(one.metric.name),
        "model": one.model,
        "oriented": " (closest to zero is best)" if better == worse else oriented,
        "meaning": panel_meaning(),
        "run": run.label,
        "under": run.label if run.reliability is None else f"{run.label} (reliability {run.reliability:g})",
    }
    found = []
    for name, (title, said) in TOLD.items():
        row, more = getattr(one, name), []
        if row is None:
            continue
        own = {"value": strong(value(row["mean"])), "interval": f"{100 * evaluation.level:g} % interval {between(row)}"}
        if name == ADJUSTED:
            more = [] if one.agreement else [Markup("There is no {agreement} with single annotators by this metric.")]
            more = [*(part.format(**words) for part in more), *no_panel(evaluation)]
        assumed = [Markup(assumption(evaluation))] if name == ADJUSTED else []
        sentences = (Markup(said).format(**words, **own), *assumed, *shares(evaluation, row), *more)
        found.append(Statement(value(row["mean"], 2), Markup(title).format(**words), sentences))
    return found


def leading(evaluation: Evaluation, results: pl.DataFrame) -> list[Beside]:
    """Return the models by the first metric in the run that sentences are about, the best first, undefined last."""
    name = evaluation.metrics[0].name
    found = {one.model: one for one in side_by_side(evaluation, results) if one.metric.name == name}
    return [found[row["model"]] for row in best_first(evaluation, results, evaluation.metrics[0])]


def panel_meaning() -> Markup:
    """Say what the panel estimand is, and what it takes for granted."""
    return Markup(
        "against what a large panel of annotators like these would say. Models inform the {} as far as they foretell "
        "annotators; it assumes that they foretell a large panel as they foretell these annotators."
    ).format(term("informed prior", "prior"))


def no_panel(evaluation: Evaluation) -> list[Markup]:
    """Say why there is no estimate of what a large panel would say, unless there is one."""
    if evaluation.panel is not None or evaluation.prior is None or not evaluation.prior.reason:
        return []
    return [Markup("What a large {} would say is not estimated: {}.").format(term("panel"), evaluation.prior.reason)]


def between(row: Result) -> str:
    """Write the limits of an interval, or a dash where there is none.

    >>> between({"low": 0.25, "high": 0.5}), between({"low": math.nan, "high": math.nan}) == NOTHING
    ('0.250 to 0.500', True)
    """
    return NOTHING if math.isnan(row["low"]) else f"{number(row['low'])} to {number(row['high'])}"


def assumption(evaluation: Evaluation) -> str:
    """Say what an adjusted value of the reference run takes for granted."""
    spec = evaluation.runs[evaluation.reference].spec
    if not evaluation.adjusted_runs:
        return ""
    if spec.limit == spec:
        return f"It takes the answer of {called(spec.plain_name)} for certain."
    known = "It assumes that the draws know nothing of the model"
    has_prior = {"alpha", "prior"} & set(spec.parameters())
    pulled = "the average case" if spec.needs == "ratings" else "chance"
    return f"{known}, and its prior pulls towards {pulled} where opinions are few." if has_prior else f"{known}."


def shares(evaluation: Evaluation, row: Result) -> list[Markup]:
    """Say which part of the variance of an interval comes from where, and which part is missing."""
    variances = {name: row[name] ** 2 for name in PARTS if row[name] and not math.isnan(row[name])}
    total = sum(variances.values())
    if not variances:
        return []
    parts = [f"{percent(own / total)} from {PARTS[name]}" for name, own in variances.items()]
    told = Markup("Of the variance of this {}, {}.").format(
        term("interval"), joined([parts[0].replace(" from", " comes from", 1), *parts[1:]])
    )
    if len(parts) == 1:
        told = Markup("The variance of this {} comes from {}.").format(term("interval"), *map(PARTS.get, variances))
    found = [told]
    if row["annotator_sd"] == 0:
        found.append(Markup("Who the annotators were makes no difference that could be told from chance."))
    elif math.isnan(row["annotator_sd"]):
        why = "they count as fixed"
        if not evaluation.study.panel.annotator_names:
            why = "they have no names"
        elif not are_crossed(evaluation.study):
            why = f"fewer than {LEAST_ANNOTATORS} of them share {LEAST_COMMON} cases with another one"
        found.append(Markup("Who the annotators were is missing in it: {}.").format(why))
    return found


# What is usually reported ----------------------------------------------------------------------------------


def practice(evaluation: Evaluation, results: pl.DataFrame) -> list[Statement]:
    """Compare what is usually reported, by name, with panel, or with the adjusted value where there is no panel."""
    known = [one for one in leading(evaluation, results) if one.gaps] if evaluation.models else []
    if not known:
        return []
    one, metric = known[0], evaluation.metrics[0]
    (name, gap), *others = one.gaps.items()
    sentences = [
        Markup("Against {}, the {} of {} is {}: it {} {} {} ({}).").format(
            called(name),
            unbroken(metric.name),
            one.model,
            strong(number(one.practices[name])),
            strong(reads(gap, metric)),
            "than" if is_visible(gap, is_share=metric.is_share) else "as",
            named_estimand(evaluation, one.headline),
            number(one.headline["mean"]),
        )
    ]
    if others:
        told = [
            f"against {called(each)} it {reads(own, metric)} ({number(one.practices[each])})" for each, own in others
        ]
        sentences.append(Markup("{}.").format(capital(joined(told))))
    gaps = [other.gaps[name] for other in known if name in other.gaps]
    sentences += [*_ranges(evaluation, results, name, gaps), *_nearer(one)]
    names = name, term(one.headline["estimand"]), unbroken(metric.name), one.model
    title = Markup("{} minus {}: {} of {}").format(*names)
    return [Statement(signed(gap, is_share=metric.is_share), title, tuple(sentences))]


def named_estimand(evaluation: Evaluation, row: Result) -> Markup:
    """Name what a row estimates, and its run unless there is but one such run."""
    told = term(row["estimand"])
    is_alone = row["estimand"] == PANEL and len(evaluation.runs) - len(evaluation.adjusted_runs) == 1
    return told if is_alone else Markup("{} under {}").format(told, row["run"])


def capital(text: Markup) -> Markup:
    """Begin a sentence."""
    return Markup(text[:1].upper()) + text[1:]


def _nearer(one: Beside) -> Iterable[Markup]:
    """Say what is known about the truth: nothing beyond the panel estimate, unless it is given or simulated."""
    if one.truth is not None:
        held = ""
        if one.panel is not None and not math.isnan(one.panel["low"]):
            is_inside = one.panel["low"] <= one.truth <= one.panel["high"]
            held = f", {'inside' if is_inside else 'outside'} the interval of panel"
        told = Markup("Known here, {}: against the {}, it is {}{}.")
        yield told.format(one.truth_reason, term("truth"), strong(number(one.truth)), held)
    elif one.panel is None:
        yield Markup("Which of them is nearer to what a larger panel would say, these data do not tell.")


def best_first(evaluation: Evaluation, results: pl.DataFrame, metric: Metric) -> list[Result]:
    """Return the rows of a metric in the run that sentences are about, the best model first, undefined values last."""
    found = evaluation.of_run(results.filter(results["metric"] == metric.name), evaluation.headline)
    return sorted_rows(found.to_dicts(), metric)


def sorted_rows(rows: list[Result], metric: Metric) -> list[Result]:
    """Put the best model first, undefined values last."""
    return sorted(rows, key=lambda row: (math.isnan(row["mean"]), -float(metric.goodness(np.array(row["mean"])))))


def reads(gap: float | None, metric: Metric) -> str:
    r"""Say how a practice compares with panel, or with the adjusted value.

    >>> from dissensus.metrics import TopKAccuracy
    >>> reads(0.031, TopKAccuracy(1)), reads(0.0, TopKAccuracy(1))
    ('reads 3.1\xa0points higher', 'reads the same')
    """
    if gap is None:
        return NOTHING
    if not is_visible(gap, is_share=metric.is_share):
        return "reads the same"
    return f"reads {amount(gap, is_share=metric.is_share)} {'higher' if gap > 0 else 'lower'}"


def _ranges(evaluation: Evaluation, results: pl.DataFrame, name: str, own: Sequence[float]) -> Iterable[Markup]:
    """Say how far the difference depends on the model, the aggregation and how much annotators are trusted."""
    metric = evaluation.metrics[0]
    values = {one.model: one.practices[name] for one in leading(evaluation, results)}
    rows = of_estimand(results.filter(results["metric"] == metric.name), ADJUSTED)
    every = [gap for row in rows if math.isfinite(gap := values[row["model"]] - row["mean"])]
    swept = Markup("all {}, {} and models").format(
        term("aggregation", "aggregations"), term("reliability", "reliabilities")
    )
    kinds = [(f"the {len(own)} models", evaluation.runs[evaluation.headline].estimand, own)]
    kinds += [(swept, ADJUSTED, every)] if len(evaluation.adjusted_runs) > 1 else []
    for what, estimand, gaps in kinds:
        if len(gaps) > 1:
            least, most = (signed(gap, is_share=metric.is_share) for gap in (min(gaps), max(gaps)))
            goes = f"is {least}" if least == most else f"goes from {least} to {most}"
            yield Markup("Over {}, {} minus {} {}.").format(what, called(name), estimand, goes)


# How certain the annotations are --------------------------------------------------------------------------


def uncertain_shares(evaluation: Evaluation) -> list[float]:
    """Return for every run the share of cases whose certainty is below the threshold."""
    return [found.n_open / found.n_cases for found in evaluation.certainty_counts]


def certainty(evaluation: Evaluation) -> list[Statement]:
    """Say in how many cases the annotations leave the answer open."""
    if not evaluation.certainty_counts:
        return []
    found, several = evaluation.certainty_counts[evaluation.reference], rows_of(evaluation)[1]
    cases: Markup | str = "the one case" if found.n_cases == 1 else f"all {found.n_cases:,} {several}"
    if found.n_open:
        cases = Markup("{} of {}").format(strong(f"{found.n_open:,}"), counted(found.n_cases, *rows_of(evaluation)))
    agreed = Markup(
        "In {} the {} of {} agree on the most plausible {} {} 99 % of the time. The average {} is {}."
    ).format(
        cases,
        term("draw", "draws"),
        evaluation.runs[evaluation.reference].label,
        term("condition"),
        "less than" if found.n_open else "at least",
        term("certainty"),
        strong(number(found.mean, 2)),
    )
    if found.n_cases == 1:
        title = Markup("{} of the one case").format(term("certainty"))
        return [Statement(number(found.mean, 2), title, (agreed,), "warm" if found.n_open else "calm")]
    sentences = (agreed, *_open_sweep(evaluation), *_open_categories(evaluation))
    title = Markup("of {} are open: {} below {}").format(several, term("certainty"), CERTAIN)
    tone = "warm" if found.n_open > MANY * found.n_cases else "calm"
    return [Statement(percent(found.n_open / found.n_cases), title, sentences, tone)]


def _open_sweep(evaluation: Evaluation) -> Iterable[Markup]:
    every = uncertain_shares(evaluation)
    shares, such = [every[run] for run in evaluation.adjusted_runs], rows_of(evaluation)[1]
    if len(shares) > 1:
        least, most = percent(min(shares)), percent(max(shares))
        by = Markup("{} and {}").format(term("aggregation"), term("reliability"))
        told = Markup("Depending on {}, the share of such {} is between {} and {}.").format(by, such, least, most)
        same = "is the same" if min(shares) == max(shares) else f"rounds to {least}"
        yield Markup("The share of such {} {} for every {}.").format(such, same, by) if least == most else told


def _open_categories(evaluation: Evaluation) -> Iterable[Markup]:
    found, category = evaluation.certainty_counts[evaluation.reference], term("category")
    if evaluation.categories is not None and found.n_open_categories:
        share = strong(percent(found.n_open_categories / found.n_cases))
        cases = Markup("{} of the cases ({})").format(share, f"{found.n_open_categories:,}")
        yield Markup("On the {}, they agree less than 99 % of the time in {}.").format(category, cases)
    elif evaluation.categories is not None:
        yield Markup("On the {}, they agree at least 99 % of the time in every case.").format(category)


# Which model leads ------------------------------------------------------------------------------------------


def contest(evaluation: Evaluation, results: pl.DataFrame) -> list[Statement]:
    """Say which model leads, how sure that is, and which one other estimands and the majority vote would name."""
    if not evaluation.models:
        sentence = Markup("No predictions were given, so nothing is said about models.")
        return [Statement("0", Markup("models evaluated"), (sentence,))]
    if len(evaluation.models) == 1:
        return []
    rows = best_first(evaluation, results, evaluation.metrics[0])
    duel = duel_of(evaluation, rows, evaluation.headline)
    is_panel = duel.estimand == PANEL and named_estimand(evaluation, rows[0]) == term(PANEL)
    sentences = (
        Markup("{}{} has the best {} {} ({}), then {} ({}).").format(
            "" if is_panel else f"Under {duel.run}, ",
            strong(rows[0]["model"]),
            term(duel.estimand),
            unbroken(duel.metric),
            number(rows[0]["mean"]),
            rows[1]["model"],
            number(rows[1]["mean"]),
        ),
        judged(duel),
        *_beside_leaders(evaluation, results),
        *_usual_leader(evaluation, results),
        *_other_leaders(evaluation, results, duel.first),
    )
    run = "" if duel.run == duel.estimand else f", {duel.run}"
    title = Markup("probability that {} is better than {}: {} {}{}").format(
        duel.first, duel.second, term(duel.estimand), unbroken(duel.metric), run
    )
    tone = "calm" if duel.is_distinguishable else "warm"
    return [Statement(probability_better(duel), title, sentences, tone)]


def duel_of(evaluation: Evaluation, rows: Sequence[Result], place: int) -> Difference:
    """Compare the first two models of some rows by the first metric under one estimate."""
    return difference(evaluation.estimates[place], 0, *(evaluation.models.index(row["model"]) for row in rows[:2]))


def probability_better(found: Difference) -> str:
    """Write the probability that the first of two models is better, as far as resampling can tell."""
    return NOTHING if found.are_same else probability(found.probability_better, RESAMPLES)


def judged(duel: Difference) -> Markup:
    """Say whether two models can be told apart, with the probability and what all comparisons make of it."""
    if duel.are_same:
        return Markup("{}.").format(duel.verdict)
    chance = Markup("the probability that {} is better is {}").format(duel.first, strong(probability_better(duel)))
    if not duel.is_decided:
        return Markup("There are {}; {}.").format(duel.verdict, chance)
    adjusted = small_probability(duel.p_adjusted)
    many = Markup("the p-value by {} method is {}").format(term("Holm", "Holm's"), adjusted)
    if duel.is_distinguishable:
        return Markup("The {} of their difference leaves zero out; {}, and {}.").format(term("interval"), chance, many)
    return Markup("The two are {}: {}, and {}.").format(term("not distinguishable"), chance, many)


def _beside_leaders(evaluation: Evaluation, results: pl.DataFrame) -> Iterable[Markup]:
    """Say which model has the best adjusted value, beside a large panel, and which agrees most with annotators."""
    place, metric, n_runs = evaluation.reference, evaluation.metrics[0], len(evaluation.runs)
    own = results.filter(results["metric"] == metric.name)
    kinds = [(Markup("By {} with single annotators").format(term("agreement")), of_estimand(own, AGREEMENT), n_runs)]
    if evaluation.panel is not None and evaluation.adjusted_runs:
        told = Markup("{} under {}").format(term("adjusted", "Adjusted"), evaluation.run_label(place))
        kinds.insert(0, (told, evaluation.of_run(own, place).to_dicts(), place))
    for told, found, which in kinds:
        if len(found) > 1:
            first, second = sorted_rows(found, metric)[:2]
            leads = Markup("{}, {} leads ({}), then {} ({}). {}")
            duel = judged(duel_of(evaluation, (first, second), which))
            names = strong(first["model"]), number(first["mean"]), second["model"], number(second["mean"])
            yield leads.format(told, *names, duel)


def _usual_leader(evaluation: Evaluation, results: pl.DataFrame) -> Iterable[Markup]:
    metric, rows = evaluation.metrics[0], leading(evaluation, results)
    known = [one for one in rows if one.gaps]
    if known:
        name = next(iter(known[0].gaps))
        best = max(known, key=lambda one: float(metric.goodness(np.array(one.practices[name]))))
        leads = Markup("{} leads instead").format(strong(best.model))
        told = Markup("the same model leads") if best is rows[0] else leads
        yield Markup("Against {}, {} ({}).").format(called(name), told, number(best.practices[name]))


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
        few = {
            model: joined(names) if len(names) <= MOST_NAMED else f"{len(names)} metrics"
            for model, names in leaders.items()
        }
        parts = [Markup("{} in {}").format(strong(model), names) for model, names in few.items()]
        yield Markup("Which model leads depends on the metric: {}.").format(joined(parts))


def verdict(found: Difference) -> Markup:
    """Say how two models compare, with the numbers."""
    if found.are_same:
        return Markup("{}.").format(found.verdict)
    return Markup(
        "{}: the difference {} minus {} is {} ({} to {}), the probability that {} is better is {}, and the p-value is "
        "{} alone and {} by Holm's method."
    ).format(
        capital(Markup.escape(found.verdict)) if found.verdict.startswith("too") else found.verdict,
        found.first,
        found.second,
        *map(number, (found.difference, found.low, found.high)),
        found.first,
        probability_better(found),
        *map(small_probability, (found.p_value, found.p_adjusted)),
    )


def flips(comparison: Comparison) -> list[Markup]:
    """Say which models change order between metrics or aggregations."""
    return [
        Markup("{first} leads {second} in {first_better}. {second} leads in {second_better}.").format(
            **{**row, "first": strong(row["first"]), "second": strong(row["second"])}
        )
        for row in comparison.flips().iter_rows(named=True)
    ]
