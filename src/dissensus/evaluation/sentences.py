"""What came out, in sentences: the same ones in the report, in a terminal and in a notebook.

Sentences are plain text, from better to worse; whoever shows them makes names in them safe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy.special import ndtri

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating, MedianRating, PlackettLuceML
from dissensus.core.arrays import ROUGH
from dissensus.core.errors import listing
from dissensus.core.screen import counted, number, p_values, percent
from dissensus.core.spec import distinct_names
from dissensus.draws import Plausibilities
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, are_crossed
from dissensus.evaluation.comparison import Comparison, Difference
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL, Estimate
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.sums import ALL, Sums
from dissensus.evaluation.tally import TRUTH

# So many metrics are named in a sentence; more are counted.
MOST_NAMED = 4

# With this power a larger study should tell two models apart; studies larger than so many times are not counted.
POWER, MOST_TIMES = 0.8, 100

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

# What was evaluated ---------------------------------------------------------------------------------------


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


def joined(parts: Sequence[str], last: str = "and") -> str:
    """List things in a sentence.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def named(names: Sequence[str]) -> str:
    """List names in a sentence; of many, the last ones are counted.

    >>> named(["A", "B", "C"]), named("ABCDEF")
    ('A, B and C', 'A, B, C and 3 more')
    """
    more = [f"{len(names) - MOST_NAMED + 1} more"] if len(names) > MOST_NAMED else []
    return joined([*names[: MOST_NAMED - len(more)], *more])


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


def cautions(evaluation: Evaluation) -> tuple[str, ...]:
    """Say what could change how results are read: models that repeat annotators, cases left out, too few draws."""
    found = [] if evaluation.prior is None else list(evaluation.prior.warnings)
    if evaluation.n_excluded:
        verb = "has no opinion and is" if evaluation.n_excluded == 1 else "have no opinion and are"
        left_out = counted(evaluation.n_excluded, *rows_of(evaluation))
        found.append(f"{left_out} {verb} left out: {listing(evaluation.excluded, total=evaluation.n_excluded)}")
    if len(evaluation.models) > 1:
        one = deciding(evaluation)
        errors = {row["model"]: row["mc_error"] for row in one.rows() if row["metric"] == evaluation.primary}
        for pair in duels(one).values():
            error = math.hypot(errors[pair.first], errors[pair.second])
            if min(abs(pair.low), abs(pair.high)) < error:
                told = f"the Monte Carlo error ({error:.2g}) could change the verdict on {pair.first} and {pair.second}"
                found.append(f"{told}; more draws would help")
    return (*found, *evaluation.remarks)


def roughness(evaluation: Evaluation) -> str:
    """Say how many certainties have a large Monte Carlo error; empty if none has."""
    counts, reference = evaluation.certainty_counts, evaluation.reference
    if not counts or not counts[reference].n_rough:
        return ""
    n_rough = counts[reference].n_rough
    errors = evaluation.profiles[reference].errors if evaluation.profiles else np.empty((0, 0))  # first: top 1
    names = [evaluation.case_names[i] for i in np.flatnonzero(errors[0] > ROUGH)] if len(errors) else []
    return (
        f"Under {evaluation.run_label(reference)}, the certainty of {counted(n_rough, *rows_of(evaluation))} has a "
        f"Monte Carlo error above {ROUGH:g}; more draws would help{f': {listing(names)}' if names else ''}."
    )


# What numbers rest on ---------------------------------------------------------------------------------------


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


def no_panel(evaluation: Evaluation) -> list[str]:
    """Say why there is no estimate of what a large panel would say, unless there is one."""
    if evaluation.panel is not None or evaluation.prior is None or not evaluation.prior.reason:
        return []
    return [f"What a large panel would say is not estimated: {evaluation.prior.reason}."]


def shares(evaluation: Evaluation, row: Result) -> list[str]:
    """Say which part of the variance of an interval comes from where, and which part is missing."""
    variances = {name: row[name] ** 2 for name in PARTS if row[name] and not math.isnan(row[name])}
    total = sum(variances.values())
    if not variances:
        return []
    parts = ", ".join(f"{PARTS[name]} {percent(own / total)}" for name, own in variances.items())
    found = [f"Sources of uncertainty: {parts}."]
    if row["annotator_sd"] == 0:
        found.append("There is no detectable variation between annotators.")
    elif math.isnan(row["annotator_sd"]):
        why = "they count as fixed"
        if not evaluation.study.panel.annotator_names:
            why = "they have no names"
        elif not are_crossed(evaluation.study):
            why = f"fewer than {LEAST_ANNOTATORS} of them share {LEAST_COMMON} cases with another one"
        found.append(f"Variation between annotators is not included: {why}.")
    return found


def settled(evaluation: Evaluation) -> str:
    """Say how far the annotations settle what they were asked, in the words of the question."""
    counts = evaluation.certainty_counts[evaluation.reference]
    answer = {"ratings": "the interval that the value is in"}.get(evaluation.study.kind, "the most plausible condition")
    answer = "the answer" if evaluation.asked_findings or evaluation.study.question == "binary" else answer
    rows = counted(counts.n_cases, *rows_of(evaluation))
    told = (
        f"The annotations settle {counts.n_cases - counts.n_open:,} of {rows}: at least 99 % of the draws of "
        f"{evaluation.run_label(evaluation.reference)} agree on {answer}. "
        f"The mean certainty is {number(counts.mean, 2)}."
    )
    if evaluation.categories is None:
        return told
    return f"{told} The category is settled in {counts.n_cases - counts.n_open_categories:,} of them."


def settled_shares(evaluation: Evaluation) -> dict[str, float]:
    """Return the share of cases that the annotations settle under every run that models have no part in."""
    counts = evaluation.certainty_counts
    return {evaluation.run_label(run): 1 - counts[run].n_open / counts[run].n_cases for run in evaluation.adjusted_runs}


# Which model leads ------------------------------------------------------------------------------------------


def deciding(evaluation: Evaluation) -> Estimate:
    """Return what verdicts are about: agreement with one annotator, or the adjusted value where there is none."""
    shared, leads = evaluation.shared, evaluation.leads
    if leads == AGREEMENT and shared is not None and not np.isnan(shared.tally.means[:, 0]).all():
        return shared
    return evaluation.estimates[evaluation.reference]


def ranked(evaluation: Evaluation) -> list[str]:
    """Return the models by the primary metric, the best first, undefined values last."""
    goodness = evaluation.metrics[0].goodness(deciding(evaluation).tally.means[:, 0].mean(axis=-1))
    order = np.argsort(-np.nan_to_num(goodness, nan=-np.inf), kind="stable")
    return [evaluation.models[model] for model in order]


def duels(one: Estimate) -> dict[str, Difference]:
    """Compare the leader by the primary metric with every other model, the next one first.

    Models that were trained on these annotations have no part in it, nor have those without a value.
    """
    found = [each for each in one.differences if each.is_primary and not (each.trained or math.isnan(each.difference))]
    beaten = {each.second for each in found}
    pairs = [each for each in found if each.first not in beaten]
    return {each.second: each for each in sorted(pairs, key=lambda each: abs(each.difference))}


def decision(evaluation: Evaluation) -> tuple[str, ...]:
    """Say which model leads by the primary metric, from better to worse, or that nobody can tell.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[5, 0]] * 40, ["a", "b"])
    >>> result = evaluate(said, {"A": [[0.8, 0.2]] * 40, "B": [[0.3, 0.7]] * 40}, aggregations=["majority-vote"])
    >>> print(*decision(result))
    A outperforms B by 1.000 (95 % 0.873 to 1.000; p < 0.001).
    """
    one, trained = deciding(evaluation), [m for m in evaluation.models if m in evaluation.trained_on]
    pairs = duels(one)
    told = [f"{joined(trained)} trained on these annotations: no verdict."] if trained else []
    if not pairs:
        return tuple(told)
    leader = next(iter(pairs.values())).first
    tied = [name for name, each in pairs.items() if not each.is_distinguishable]
    beside = evaluation.experts.rows if evaluation.experts and one is evaluation.shared else ()
    shown = {row["model"]: row["agreement"] for row in beside if row["metric"] == evaluation.primary}  # as in the table
    value = number(shown.get(leader, float(one.tally.means[evaluation.models.index(leader), 0].mean())))
    if len(pairs) > 1 and len(tied) == len(pairs) and all(each.is_decided for each in pairs.values()):
        told.insert(0, f"No model is distinguishable from the leader, {leader} ({value}).")
    elif len(pairs) > 1 and tied:
        told.insert(0, f"Not distinguishable from the leader, {leader} ({value}): {named(tied)}.")
    else:
        told.insert(0, verdict(next(iter(pairs.values()))))
    return (*told, *_reversed(evaluation, one), *_usual_leader(evaluation, pairs))


def settling(evaluation: Evaluation) -> Iterator[str]:
    """Say how many times the cases (and annotators) would distinguish the leader from the next model, unless it is.

    All parts of the variance fall in proportion then. The chance is that of a two-sided test at the level of the
    interval, divided by the number of pairs as Holm's first step does, if the difference is what it is estimated to be.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 2], [2, 3]] * 20, ["a", "b"])
    >>> models = {"A": [[0.9, 0.1], [0.2, 0.8]] * 20, "B": [[0.9, 0.1], [0.2, 0.8]] * 19 + [[0.1, 0.9], [0.2, 0.8]]}
    >>> print(*settling(evaluate(said, models, aggregations=["majority-vote"])))
    More than 100 times the cases would distinguish A from B with 80 % power, if the difference is 0.005.
    """
    found = next(iter(duels(deciding(evaluation)).values()), None)
    if found is None or found.are_same or found.is_distinguishable or not found.is_decided or not found.difference:
        return
    alpha, pairs = 1 - found.level, math.comb(len(evaluation.models) - len(evaluation.trained_on), 2)
    error = (found.high - found.low) / (2 * ndtri(1 - alpha / 2))
    times = ((ndtri(1 - alpha / (2 * pairs)) + ndtri(POWER)) * error / found.difference) ** 2
    few = f"{math.ceil(times):,}" if times <= MOST_TIMES else f"more than {MOST_TIMES}"
    power, gap = f"{100 * POWER:g} % power", number(abs(found.difference))
    what = "the cases and annotators" if evaluation.n_annotators else "the cases"
    told = f"{few} times {what} would distinguish {found.first} from {found.second}"
    yield capital(f"{told} with {power}, if the difference is {gap}.")


def _reversed(evaluation: Evaluation, one: Estimate) -> Iterator[str]:
    """Say which verdicts another estimand reverses, both beyond doubt."""
    places = [place for place in (evaluation.panel, evaluation.reference) if place is not None]
    ours = {(each.first, each.second) for each in one.differences if each.is_primary and each.is_distinguishable}
    for other in dict.fromkeys(evaluation.estimates[place] for place in places):
        found = [each for each in other.differences if each.is_primary and each.is_distinguishable]
        turned = [verdict(each)[:-1] for each in found if (each.second, each.first) in ours]
        if turned and other.key != one.key:
            yield f"{BESIDE[other.identity['estimand']]} reverses the order: {joined(turned)}."


def _usual_leader(evaluation: Evaluation, pairs: Mapping[str, Difference]) -> Iterator[str]:
    """Say whether usual practice, which has no interval, puts a model first that is worse."""
    metric, name = evaluation.metrics[0], next(iter(practices(evaluation)), None)
    if name is None:
        return
    values = evaluation.point_values[practices(evaluation)[name]][:, 0]
    goodness = dict(zip(evaluation.models, metric.goodness(values).tolist(), strict=True))
    leader = next(iter(pairs.values())).first
    above = [other for other, each in pairs.items() if each.is_distinguishable and goodness[other] > goodness[leader]]
    if above:
        yield f"Against {called(name)}, without an interval, the order is reversed: {joined(above)} above {leader}."


def other_leaders(evaluation: Evaluation, leader: str) -> Iterator[str]:
    """Say which other model leads by a secondary metric, under the same estimate."""
    means, leaders = deciding(evaluation).tally.means.mean(axis=-1), dict[str, list[str]]()
    for metric, values in zip(evaluation.metrics[1:], means[:, 1:].T, strict=True):
        if not np.isnan(values).all():
            best = evaluation.models[int(np.nanargmax(metric.goodness(values)))]
            leaders.setdefault(best, []).append(metric.name)
    leaders.pop(leader, None)
    if leaders:
        few = {m: joined(of) if len(of) <= MOST_NAMED else f"{len(of)} metrics" for m, of in leaders.items()}
        yield f"By secondary metrics, others lead: {joined([f'{model} in {told}' for model, told in few.items()])}."


def verdict(found: Difference) -> str:
    """Say how two models compare, from the better to the worse, with the numbers."""
    if found.are_same or math.isnan(found.difference):
        return f"{found.verdict}."
    gap, low, high = found.difference, found.low, found.high
    if not found.higher_is_better:
        gap, low, high = -gap, -high, -low
    sure = f"{100 * found.level:g} % {number(low)} to {number(high)}; {p_values(found.p_value, found.p_adjusted)}"
    if found.is_distinguishable and gap > 0:
        return f"{found.first} outperforms {found.second} by {number(gap)} ({sure})."
    told = found.verdict if found.verdict.startswith((found.first, found.second)) else capital(found.verdict)
    return f"{told} ({number(gap)}, {sure})."


def flips(comparison: Comparison) -> list[str]:
    """Say which models change order between metrics or aggregations."""
    told = "{first} leads {second} in {first_better}; {second} leads in {second_better}."
    return [told.format(**row) for row in comparison.flips().iter_rows(named=True)]


# Estimands and practices ----------------------------------------------------------------------------------

# The practices that every table shows, the most usual first.
USUAL: tuple[Aggregation, ...] = (MajorityVote(), InverseRank("shared"), PlackettLuceML(), MeanRating(), MedianRating())

# A row of :meth:`Evaluation.to_frame`.
Result: TypeAlias = dict[str, Any]


class Beside(NamedTuple):
    """All that is said about one model and metric, side by side.

    Attributes
    ----------
    model, metric
        Names of what it is about.
    agreement, adjusted, panel
        The rows of the estimands, the second in the reference run; each is missing where it is not defined.
    practices
        The value against each deterministic aggregation, by its name.
    truth
        The value against the truth, where it is known.
    """

    model: str
    metric: str
    agreement: Result | None
    adjusted: Result | None
    panel: Result | None
    practices: Mapping[str, float]
    truth: float | None


def side_by_side(evaluation: Evaluation, results: pl.DataFrame) -> list[Beside]:
    """Put estimands and practices together for every model and metric, in the order of the table of results.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> result = evaluate(said, {"A": [[1, 0], [1, 0]]}, aggregations=["dirichlet:1"], draws=50)
    >>> (one,) = side_by_side(result, result.to_frame())
    >>> one.agreement["mean"], dict(one.practices)
    (0.375, {'majority vote': 0.5, 'inverse rank': 0.5, 'Plackett-Luce maximum likelihood': 0.5})
    """
    adjusted, leading = (evaluation.of_run(results, run) for run in (evaluation.reference, evaluation.headline))
    frames = {AGREEMENT: results, ADJUSTED: adjusted, PANEL: leading, TRUTH: results}
    estimated = {name: frame.filter(frame["estimand"] == name).to_dicts() for name, frame in frames.items()}
    rows = {(name, row["model"], row["metric"]): row for name, every in estimated.items() for row in every}
    known, points = practices(evaluation), zip(evaluation.points, evaluation.point_values, strict=True)
    simulated = [values for spec, values in points if spec.id == "given-draws"]
    found = []
    for place in np.ndindex(len(evaluation.models), len(evaluation.metrics)):
        names = evaluation.models[place[0]], evaluation.metrics[place[1]].name
        agreed, over_draws, panel, given = (rows.get((estimand, *names)) for estimand in frames)
        usual = {practice: float(evaluation.point_values[number][place]) for practice, number in known.items()}
        truth = None if given is None else given["mean"]
        truth = float(simulated[0][place]) if simulated else truth
        found.append(Beside(*names, agreed, over_draws, panel, usual, truth))
    return found


def practices(evaluation: Evaluation) -> dict[str, int]:
    """Name the deterministic aggregations that are shown, with their places among all that were evaluated.

    They are the usual ones, and the one that the reference run tends to.
    """
    points = evaluation.points
    wanted = [*USUAL, evaluation.runs[evaluation.reference].spec.limit]
    places = list(dict.fromkeys(points.index(spec) for spec in wanted if spec in points))
    specs = [points[place] for place in places]
    names = (told.replace(one.id, one.plain_name, 1) for told, one in zip(distinct_names(specs), specs, strict=True))
    return dict(zip(names, places, strict=True))


def called(practice: str) -> str:
    """Name a practice in a sentence.

    >>> called("majority vote"), called("inverse rank")
    ('the majority vote', 'inverse rank')
    """
    named = {spec.plain_name for spec in (MajorityVote(), MeanRating(), MedianRating())}
    return f"the {practice}" if practice in named else practice


def with_truth(evaluation: Evaluation, theta: Plausibilities) -> Evaluation:
    """Add the truth where it is known, as in a simulated study: every table of practices then shows it.

    Parameters
    ----------
    evaluation
        An evaluation with models.
    theta
        The true plausibilities of its cases, a single draw each.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["majority-vote"])
    >>> theta = ds.Plausibilities.from_draws([[[0.4, 0.6]], [[0.1, 0.9]]], conditions=["a", "b"], case_names=["x", "y"])
    >>> known = with_truth(result, theta)
    >>> side_by_side(known, known.to_frame())[0].truth
    0.5
    """
    from dissensus.aggregations.base import GivenDraws
    from dissensus.evaluation.evaluator import evaluate

    given = GivenDraws(theta, name=TRUTH)
    how: dict[str, Any] = {"metrics": evaluation.metrics, "annotators": "fixed", "panel": False}
    found = evaluate(evaluation.study, evaluation.predictions, aggregations=[given], **how).sums.arrays
    key = f"point {len(evaluation.points)}"
    own = {("draws", key, *name[2:]): of for name, of in found.items() if name[:3] == ("draws", "run 0", *ALL)}
    sums = Sums({**evaluation.sums.arrays, **own})
    return replace(evaluation, points=(*evaluation.points, given), sums=sums)
