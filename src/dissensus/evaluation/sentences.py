"""What came out, in sentences: the same ones in the report, in a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from dissensus.core.errors import listing
from dissensus.core.thresholds import CERTAIN, ROUGH
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, are_crossed
from dissensus.evaluation.comparison import Comparison, Difference
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL, Estimate
from dissensus.evaluation.intervals import RESAMPLES
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.tables import Beside, Result, called, of_estimand, practices, side_by_side
from dissensus.evaluation.words import (
    NOTHING,
    amount,
    counted,
    is_visible,
    number,
    p_values,
    percent,
    probability,
    signed,
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
    "case_sd": "cases",
    "annotator_sd": "annotators",
    "draw_sd": "draws",
    "fit_sd": "prior",
    "family_sd": "family of priors",
}

# Estimates that stand beside the one that decides, as sentences begin with them.
BESIDE = {PANEL: "The panel estimate", ADJUSTED: "The uncertainty-adjusted value"}


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
        *contest(evaluation),
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
        "against what a large panel of annotators like these would say. Models inform the {} as far as they predict "
        "annotators; it assumes that they predict a large panel as well as these annotators."
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
    parts = ", ".join(f"{PARTS[name]} {percent(own / total)}" for name, own in variances.items())
    found = [Markup("Sources of uncertainty: {}.").format(parts)]
    if row["annotator_sd"] == 0:
        found.append(Markup("There is no detectable variation between annotators."))
    elif math.isnan(row["annotator_sd"]):
        why = "they count as fixed"
        if not evaluation.study.panel.annotator_names:
            why = "they have no names"
        elif not are_crossed(evaluation.study):
            why = f"fewer than {LEAST_ANNOTATORS} of them share {LEAST_COMMON} cases with another one"
        found.append(Markup("Variation between annotators is not included: {}.").format(why))
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
        Markup("Against {}, the {} of {} is {}: {} {} ({}).").format(
            called(name),
            unbroken(metric.name),
            one.model,
            strong(number(one.practices[name])),
            strong(apart(gap, metric)),
            named_estimand(evaluation, one.headline),
            number(one.headline["mean"]),
        )
    ]
    if others:
        told = [
            f"against {called(each)}, {apart(own, metric)} it ({number(one.practices[each])})" for each, own in others
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


def apart(gap: float | None, metric: Metric) -> str:
    r"""Say how a practice compares with panel, or with the adjusted value.

    >>> from dissensus.metrics import TopKAccuracy
    >>> apart(0.031, TopKAccuracy(1)), apart(0.0, TopKAccuracy(1))
    ('3.1\xa0percentage points above', 'the same as')
    """
    if gap is None or not is_visible(gap, is_share=metric.is_share):
        return NOTHING if gap is None else "the same as"
    told = amount(gap, is_share=metric.is_share).replace("point", "percentage point")
    return f"{told} {'above' if gap > 0 else 'below'}"


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


def contest(evaluation: Evaluation) -> list[Statement]:
    """Say which model leads, how sure that is, and what other estimands and metrics say."""
    if not evaluation.models:
        sentence = Markup("No predictions were given, so nothing is said about models.")
        return [Statement("0", Markup("models evaluated"), (sentence,))]
    if len(evaluation.models) == 1:
        return []
    pairs = duels(deciding(evaluation))
    if not pairs:
        return [Statement(NOTHING, Markup("no model has a verdict"), decision(evaluation))]
    first = next(iter(pairs.values()))
    sentences = (*decision(evaluation), *other_leaders(evaluation, first.first))
    title = Markup("probability that {} is better than {}: {} {}").format(
        first.first, first.second, term(first.estimand), unbroken(first.metric)
    )
    return [Statement(probability_better(first), title, sentences, "calm" if first.is_distinguishable else "warm")]


def deciding(evaluation: Evaluation) -> Estimate:
    """Return what verdicts are about: agreement with one annotator, or the adjusted value where there is none."""
    shared, leads = evaluation.shared, evaluation.leads
    if leads == AGREEMENT and shared is not None and not np.isnan(shared.tally.means[:, 0]).all():
        return shared
    return evaluation.estimates[evaluation.reference]


def duels(one: Estimate) -> dict[str, Difference]:
    """Compare the leader by the primary metric with every other model, the next one first.

    Models that were trained on these annotations have no part in it, nor have those without a value.
    """
    found = [each for each in one.differences if each.is_primary and not (each.trained or math.isnan(each.difference))]
    beaten = {each.second for each in found}
    pairs = [each for each in found if each.first not in beaten]
    return {each.second: each for each in sorted(pairs, key=lambda each: abs(each.difference))}


def decision(evaluation: Evaluation) -> tuple[Markup, ...]:
    """Say which model leads by the primary metric, from better to worse, or that nobody can tell.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[5, 0]] * 40, ["a", "b"])
    >>> result = evaluate(said, {"A": [[0.8, 0.2]] * 40, "B": [[0.3, 0.7]] * 40}, aggregations=["majority-vote"])
    >>> print(*map(plain, decision(result)))
    A outperforms B by 1.000 (95 % 0.873 to 1.000; p < 0.001).
    """
    one, trained = deciding(evaluation), [m for m in evaluation.models if m in evaluation.trained_on]
    pairs = duels(one)
    told = [Markup("{} trained on these annotations: no verdict.").format(joined(trained))] if trained else []
    if not pairs:
        return tuple(told)
    leader = next(iter(pairs.values())).first
    tied = [name for name, each in pairs.items() if not each.is_distinguishable]
    value = number(float(one.tally.means[evaluation.models.index(leader), 0].mean()))
    if len(pairs) > 1 and len(tied) == len(pairs) and all(each.is_decided for each in pairs.values()):
        told.insert(0, Markup("No model is distinguishable from the leader, {} ({}).").format(leader, value))
    elif len(pairs) > 1 and tied:
        told.insert(0, Markup("Not distinguishable from the leader, {} ({}): {}.").format(leader, value, joined(tied)))
    else:
        told.insert(0, verdict(next(iter(pairs.values()))))
    return (*told, *_reversed(evaluation, one), *_usual_leader(evaluation, pairs))


def _reversed(evaluation: Evaluation, one: Estimate) -> Iterable[Markup]:
    """Say which verdicts another estimand reverses, both beyond doubt."""
    places = [place for place in (evaluation.panel, evaluation.reference) if place is not None]
    ours = {(each.first, each.second) for each in one.differences if each.is_primary and each.is_distinguishable}
    for other in dict.fromkeys(evaluation.estimates[place] for place in places):
        found = [each for each in other.differences if each.is_primary and each.is_distinguishable]
        turned = [verdict(each)[:-1] for each in found if (each.second, each.first) in ours]
        if turned and other.key != one.key:
            yield Markup("{} reverses the order: {}.").format(BESIDE[other.identity["estimand"]], joined(turned))


def probability_better(found: Difference) -> str:
    """Write the probability that the first of two models is better, as far as resampling can tell."""
    return NOTHING if found.are_same else probability(found.probability_better, RESAMPLES)


def _usual_leader(evaluation: Evaluation, pairs: Mapping[str, Difference]) -> Iterable[Markup]:
    """Say whether usual practice, which has no interval, puts a model first that is worse."""
    metric, name = evaluation.metrics[0], next(iter(practices(evaluation)), None)
    if name is None:
        return
    values = evaluation.point_values[practices(evaluation)[name]][:, 0]
    goodness = dict(zip(evaluation.models, metric.goodness(values).tolist(), strict=True))
    leader = next(iter(pairs.values())).first
    above = [other for other, each in pairs.items() if each.is_distinguishable and goodness[other] > goodness[leader]]
    if above:
        told = Markup("Against {}, without an interval, the order is reversed: {} above {}.")
        yield told.format(called(name), joined(above), leader)


def other_leaders(evaluation: Evaluation, leader: str) -> Iterable[Markup]:
    """Say which other model leads by a secondary metric, under the same estimate."""
    means, leaders = deciding(evaluation).tally.means.mean(axis=-1), dict[str, list[str]]()
    for metric, values in zip(evaluation.metrics[1:], means[:, 1:].T, strict=True):
        if not np.isnan(values).all():
            best = evaluation.models[int(np.nanargmax(metric.goodness(values)))]
            leaders.setdefault(best, []).append(metric.name)
    leaders.pop(leader, None)
    if leaders:
        few = {
            model: joined(names) if len(names) <= MOST_NAMED else f"{len(names)} metrics"
            for model, names in leaders.items()
        }
        parts = [Markup("{} in {}").format(strong(model), names) for model, names in few.items()]
        yield Markup("By secondary metrics, others lead: {}.").format(joined(parts))


def verdict(found: Difference) -> Markup:
    """Say how two models compare, from the better to the worse, with the numbers."""
    if found.are_same or math.isnan(found.difference):
        return Markup("{}.").format(found.verdict)
    gap, low, high = found.difference, found.low, found.high
    if not found.higher_is_better:
        gap, low, high = -gap, -high, -low
    sure = f"{100 * found.level:g} % {number(low)} to {number(high)}; {p_values(found.p_value, found.p_adjusted)}"
    if found.is_distinguishable and gap > 0:
        return Markup("{} outperforms {} by {} ({}).").format(found.first, found.second, number(gap), sure)
    told = Markup.escape(found.verdict)
    told = told if found.verdict.startswith((found.first, found.second)) else capital(told)
    return Markup("{} ({}, {}).").format(told, number(gap), sure)


def flips(comparison: Comparison) -> list[Markup]:
    """Say which models change order between metrics or aggregations."""
    return [
        Markup("{first} leads {second} in {first_better}; {second} leads in {second_better}.").format(
            **{**row, "first": strong(row["first"]), "second": strong(row["second"])}
        )
        for row in comparison.flips().iter_rows(named=True)
    ]
