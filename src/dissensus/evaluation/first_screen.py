"""The first screen, the same in a terminal, a notebook and the report: models beside annotators, what that decides.

It answers, in this order: which model, is it as good as one annotator, how sure is that, and what to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import BoolArray, IntArray, is_uncertain
from dissensus.core.errors import listing
from dissensus.core.ragged import row_of_each
from dissensus.core.screen import MINUS, NOTHING, Screen, counted, interval
from dissensus.core.screen import number as written
from dissensus.evaluation import sentences
from dissensus.evaluation.annotators import of_one_group
from dissensus.evaluation.estimates import ADJUSTED
from dissensus.evaluation.sums import ALL
from dissensus.evaluation.tally import TRUTH
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation
    from dissensus.predictions.lists import Predictions

# So many models are shown, and so many warnings; the rest is counted.
MOST_MODELS, MOST_WARNINGS = 10, 2

# So long is a warning; the report says it in full.
MOST_LETTERS = 150

# Stands in the table where there is no value.
ABSENT = "-"

# Estimates of a model, by the names that records give them, and what is known of it beside one annotator.
ESTIMATED = ("adjusted", "panel")
EXPERTS = ("experts", "experts_low", "experts_high")
BESIDE_ONE = (*EXPERTS, "difference", "difference_low", "difference_high", "verdict")


def first_screen(evaluation: Evaluation) -> Screen:
    """Say what came out.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> print(first_screen(evaluate(said, {"A": [[0.9, 0.1], [0.2, 0.8]] * 10}, aggregations=["majority-vote"])))
    20 cases, 80 opinions of annotators without names; 1 model
    top-1 accuracy, 95 % intervals
               with one annotator  worth         majority  adjusted
    annotator  0.75 [0.62, 0.88]   1             -         -
    A          0.88 [0.80, 0.95]   >3 [1.1, >3]  1.00      1.00
    A minus one annotator: +0.12 (0.00 to 0.25); give --margin for a verdict.
    ! The annotations settle 20 of 20 cases (mean certainty 1.00).
    ! No panel estimate: there are 20 annotated cases, and at least 100 are needed.
    """
    about = subject(evaluation)
    if not evaluation.models:
        counts = [one._asdict() for one in evaluation.certainty_counts]
        return Screen(about, decisions=certainties(evaluation), cautions=warnings(evaluation), records=counts)
    metric, names = evaluation.metrics[0], sentences.ranked(evaluation)
    rows = {row["model"]: row for row in records(evaluation) if row["metric"] == metric.name}
    withheld, needed = why_panel_is_withheld(evaluation), tuple(sentences.settling(evaluation))
    agreed = f"; protocol {evaluation.protocol.sha256[:8]}" if evaluation.protocol is not None else ""
    return Screen(
        about,
        f"{metric.name}, {100 * evaluation.level:g} % intervals{agreed}",
        table(evaluation, [rows[name] for name in names], with_panel=evaluation.panel is not None and not withheld),
        (*sentences.decision(evaluation), *needed, *beside_annotators(evaluation, names)),
        tuple(cautions(evaluation, names[0], withheld, MOST_WARNINGS - len(needed))),
        records=[rows[name] for name in names],
    )


def subject(evaluation: Evaluation) -> str:
    """Count what was evaluated, and name the file that it was read from."""
    people, receipt = evaluation.n_annotators, evaluation.study.receipt
    who = "very many annotators" if people is None else counted(people, "annotator")
    opinions = counted(evaluation.n_votes, "answer" if evaluation.asked_findings else "opinion")
    who = f"{opinions}, {who}" if people != 0 else f"{opinions} of annotators without names"
    models = f"; {counted(len(evaluation.models), 'model')}" if evaluation.models else ""
    file = f"{Path(receipt.path).name} ({receipt.format}): " if receipt is not None else ""
    return f"{file}{sentences.subjects(evaluation)}, {who}{models}"


def records(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row per metric and model with all that is estimated of it, as far as it is known."""
    experts = evaluation.experts
    known = {(row["metric"], row["model"]): row for row in experts.rows} if experts else {}
    found = []
    for one in sentences.side_by_side(evaluation, evaluation.to_frame()) if evaluation.models else ():
        name, beside = one.metric, known.get((one.metric, one.model), {})
        agreed = beside or one.agreement or {}
        row = {"metric": name, "model": one.model, "agreement": agreed.get("agreement", agreed.get("mean"))}
        row |= {part: agreed.get(part) for part in ("low", "high")}
        row |= {part: beside.get(part) for part in BESIDE_ONE}
        worth = experts.worth.get(one.model) if experts is not None and name == evaluation.primary else None
        row |= {"worth": worth and worth.value, "worth_low": worth and worth.low, "worth_high": worth and worth.high}
        row |= {practice.replace(" ", "_"): value for practice, value in list(one.practices.items())[:1]}
        for estimand in ESTIMATED:
            own = getattr(one, estimand) or {}
            row |= {estimand: own.get("mean"), f"{estimand}_low": own.get("low"), f"{estimand}_high": own.get("high")}
        found.append({**row, "truth": one.truth})
    return found


def table(evaluation: Evaluation, rows: Sequence[Mapping[str, Any]], *, with_panel: bool) -> dict[str, list[str]]:
    """Put the models beside one annotator; what has no value anywhere is left out."""
    experts, shown = evaluation.experts, rows[:MOST_MODELS]
    called, worth = (experts.called, experts.worth) if experts else ("annotator", {})
    first = shown[0] if shown[0]["experts"] is not None else None
    usual = list(shown[0])[list(shown[0]).index("worth_high") + 1]
    columns = {
        "": [called, *(row["model"] for row in shown)],
        f"with one {called}": [between(first, *EXPERTS), *(between(row, "agreement") for row in shown)],
        "worth": ["1", *(str(worth[row["model"]]) if row["worth"] is not None else ABSENT for row in shown)],
        usual.removesuffix("_vote").replace("_", " "): [ABSENT, *(short(row[usual]) for row in shown)],
        "adjusted": [ABSENT, *(short(row["adjusted"]) for row in shown)],
        "panel (est.)": [ABSENT, *(short(row["panel"]) if with_panel else ABSENT for row in shown)],
        "truth": [ABSENT, *(short(row["truth"]) for row in shown)],
    }
    if evaluation.leads == ADJUSTED:  # the paper's measure first, with its interval
        columns[ADJUSTED] = [ABSENT, *(between(row, "adjusted", "adjusted_low", "adjusted_high") for row in shown)]
        columns = {name: columns[name] for name in ("", ADJUSTED, *columns)}
    if any(one.key == TRUTH for one in evaluation.estimates):  # it was given, and says the most
        columns = {name: columns[name] for name in ("", f"with one {called}", "truth", *columns)}
    if first is None:  # nobody is left out in turn
        columns = {name: cells[1:] for name, cells in columns.items()}
        columns["worth"] = []
    if len(rows) > len(shown):
        columns = {n: [*cells, "..." if n else f"{len(rows) - len(shown)} more"] for n, cells in columns.items()}
    return {name: cells for name, cells in columns.items() if any(cell not in (ABSENT, "...") for cell in cells)}


def between(row: Mapping[str, Any] | None, name: str = "mean", low: str = "low", high: str = "high") -> str:
    """Write a value with its interval.

    >>> between({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.50 [0.25, 0.75]'
    """
    return interval(row, name, low, high).replace(MINUS, "-").replace(NOTHING, ABSENT)


def beside_annotators(evaluation: Evaluation, names: Sequence[str]) -> list[str]:
    """Say how models compare with one annotator: with a margin the verdicts, otherwise the leader's difference."""
    experts = evaluation.experts
    if experts is None or not experts.rows:
        return []
    told = "" if experts.primary == evaluation.primary else f", by {experts.primary}"
    if experts.margin is not None:
        verdicts: dict[str, list[str]] = {}
        for name in names:
            verdicts.setdefault(experts.row(name)["verdict"] or "no verdict", []).append(name)
        kinds = "; ".join(f"{verdict}: {sentences.named(of_kind)}" for verdict, of_kind in verdicts.items())
        return [f"Beside one {experts.called}{told}, margin {experts.margin:g}: {kinds}."]
    row = experts.row(names[0])
    gap = f"{row['difference']:+.2f} ({short(row['difference_low'])} to {short(row['difference_high'])})"
    return [f"{names[0]} minus one {experts.called}{told}: {gap}; give --margin for a verdict."]


def short(value: float | None) -> str:
    """Write a number with two decimals, in plain signs.

    >>> short(-0.126), short(None)
    ('-0.13', '-')
    """
    return written(value, 2).replace(MINUS, "-").replace(NOTHING, ABSENT)


def certainties(evaluation: Evaluation) -> tuple[str, ...]:
    """Say how many cases the annotations settle."""
    if not evaluation.certainty_counts:
        return ()
    counts = evaluation.certainty_counts[evaluation.reference]
    settled = counts.n_cases - counts.n_open
    rows = counted(counts.n_cases, *sentences.rows_of(evaluation))
    return (f"The annotations settle {settled:,} of {rows} (mean certainty {counts.mean:.2f}).",)


def missed(evaluation: Evaluation, leader: str) -> Iterator[str]:
    """Name the cases of high risk on which annotators agree and the leading model is wrong."""
    found = triage(evaluation).agreed_and_missed(evaluation.models.index(leader)) if evaluation.profiles else ()
    names = [evaluation.case_names[place] for place in found]
    if names:
        called = f"{evaluation.experts.called}s" if evaluation.experts else "annotators"
        cases = counted(len(names), "high-risk case")
        yield f"{cases} on which the {called} agree and {leader} is wrong: {sentences.named(names)}"


def cautions(evaluation: Evaluation, leader: str, withheld: Sequence[str], most: int) -> Iterator[str]:
    """Say what to know before use, what could change the reading first, with the warnings for which there is room."""
    experts = evaluation.experts
    if evaluation.protocol is not None and evaluation.protocol.deviations:
        yield f"This deviates from the protocol: {'; '.join(evaluation.protocol.deviations)}."
    yield from missed(evaluation, leader)
    if experts is not None and not experts.rows:
        yield f"No comparison with one {experts.called}: {experts.notes[0]}."
    yield from certainties(evaluation)
    if withheld and evaluation.leads != ADJUSTED:
        known = "The panel estimate is a sensitivity analysis" if evaluation.panel is not None else "No panel estimate"
        yield f"{known}: {withheld[0]}."
    yield from sentences.other_leaders(evaluation, leader)
    yield from warnings(evaluation, most)


def warnings(evaluation: Evaluation, most: int = MOST_WARNINGS) -> tuple[str, ...]:
    """Return the first warnings, cut short, and count the rest, which the report says in full."""
    known = evaluation.warnings
    found = [shorten(one, MOST_LETTERS, placeholder=" ...") for one in known[:most]]
    more = len(known) - len(found)
    return (*found, f"{counted(more, 'more warning')} in the report.") if more else tuple(found)


# The rules, and what each says of a case.
WRONG, MISSED, SPLIT, UNSETTLED = "confidently wrong", "high risk and missed", "models disagree", "unsettled"
RULES = {
    WRONG: "the annotations settle the case, and the first choice of the model is another",
    MISSED: "most draws put the case into the category of the highest risk, and the model does not",
    SPLIT: "the first choices of the models differ",
    UNSETTLED: "the annotations do not settle the case",
}


@dataclass(frozen=True, eq=False)
class Triage:
    """Tell which cases that are held fall under which rule, in the reference run.

    Attributes
    ----------
    is_settled, is_high, is_split : (n_cases,)
        Whether the annotations settle the case, whether its category is the one of the highest risk, and whether models
        differ in their first choices.
    is_wrong, is_missed : (n_models, n_cases)
        Whether the first choice of a model is not the most plausible condition, and whether it is of a lower risk than
        a case of the highest.
    """

    is_settled: BoolArray
    is_high: BoolArray
    is_split: BoolArray
    is_wrong: BoolArray
    is_missed: BoolArray

    def of_rule(self, rule: str, model: int | None = None) -> IntArray:
        """Return the places of the cases that a rule names: for one model, or for any of them."""
        some = slice(None) if model is None else [model]
        found = {
            WRONG: self.is_settled & self.is_wrong[some].any(axis=0),
            MISSED: self.is_missed[some].any(axis=0),
            SPLIT: self.is_split,
            UNSETTLED: ~self.is_settled,
        }
        return np.flatnonzero(found[rule])

    def agreed_and_missed(self, model: int) -> IntArray:
        """Return the places of the cases of the highest risk that the annotations settle and the model misses."""
        return np.flatnonzero(self.is_settled & self.is_missed[model] & self.is_wrong[model])


def triage(evaluation: Evaluation) -> Triage:
    """Find the cases that need a look; a model that gives numbers is wrong where its number is of another answer.

    Examples
    --------
    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[9, 0], [5, 4]], ["a", "b"])
    >>> found = triage(evaluate(said, {"A": [[0, 1], [0, 1]], "B": [[1, 0], [0, 1]]}, aggregations=["dirichlet:10"]))
    >>> {rule: found.of_rule(rule).tolist() for rule in RULES}
    {'confidently wrong': [0], 'high risk and missed': [], 'models disagree': [0], 'unsettled': [1]}
    """
    profile, categories = evaluation.profiles[evaluation.reference], evaluation.categories
    n_cases, n_conditions = len(evaluation.case_names), len(evaluation.conditions)
    members = np.flatnonzero(profile.is_member[0])
    best = row_of_each(profile.support_offsets)[members] * n_conditions + profile.support[members]
    is_high, highest = np.zeros(n_cases, dtype=np.bool_), np.zeros(n_conditions, dtype=np.bool_)
    if categories is not None and categories.levels:
        top = int(np.argmax(categories.levels))
        is_high, highest = profile.category_winners == top, categories.codes == top
    chosen = [first_choices(one, evaluation) for one in evaluation.predictions.values()]
    said = np.zeros((len(chosen), n_cases), dtype=np.bool_)
    is_right, is_found = said.copy(), said.copy()
    for m, pairs in enumerate(chosen):
        said[m, pairs // n_conditions] = True
        is_right[m, pairs[np.isin(pairs, best)] // n_conditions] = True
        is_found[m, pairs[highest[pairs % n_conditions]] // n_conditions] = True
    pairs, n_models = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *chosen]), return_counts=True)
    is_split = np.zeros(n_cases, dtype=np.bool_)
    is_split[pairs[n_models < said.sum(axis=0)[pairs // n_conditions]] // n_conditions] = True
    is_settled = ~is_uncertain(profile.certainties[0])
    return Triage(is_settled, is_high, is_split, said & ~is_right, is_high & said & ~is_found)


def first_choices(predicted: Predictions, evaluation: Evaluation) -> IntArray:
    """Return what a model names first on every case, ties together: the case times all conditions plus the code."""
    n_conditions = len(evaluation.conditions)
    if predicted.kind == "numbers":  # the interval between thresholds that the number is in
        run = evaluation.runs[evaluation.reference]
        edges = getattr(run.spec, "thresholds", None) or tuple(run.fitted.values())[:1]
        if len(edges) + 1 != n_conditions:
            return np.empty(0, dtype=np.int64)
        return np.arange(predicted.n_cases) * n_conditions + np.searchsorted(edges, predicted.numbers, side="right")
    case, starts = predicted.case_of_entry, predicted.offsets[:-1]
    first = np.flatnonzero(predicted.values == predicted.values[starts[case]])
    return np.asarray(case[first] * n_conditions + predicted.codes[first])


# What is asked of a study: cases in all and in every stratum, fewer opinions per case, a narrower interval.
LEAST_CASES, MOST_OPINIONS, MOST_WIDTH = 100, 10, 0.15

# So many cases may have opinions of one group of annotators only, where groups are known.
MOST_ALONE = 0.5

# Annotators who share no case count as several groups unless one of them has this share of the cases.
MOST_SHARE = 0.9


def why_panel_is_withheld(evaluation: Evaluation, stratum: tuple[str, str] | None = None) -> tuple[str, ...]:
    """Say why the panel estimate does not stand in the first table; empty if it may.

    The width of the interval is that of the first metric, where its values are between -1 and 1. Whether annotators
    share cases is looked at where all cases are held.

    Parameters
    ----------
    evaluation
        What came out.
    stratum
        Column and label of the cases that are shown; all cases by default.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60)
    >>> why_panel_is_withheld(ds.evaluate(study.annotations, study.predictions, aggregations=["majority-vote"]))
    ('there are 60 annotated cases, and at least 100 are needed',)
    """
    prior, place = evaluation.prior, ALL if stratum is None else ("stratum", *stratum)
    if evaluation.panel is None or prior is None or prior.reason:
        return ((prior and prior.reason) or "there is no panel estimate",)
    seen = [str(row["model"]) for row in prior.models if row.get("left_out") is not None]
    declared = [*evaluation.trained_on, *seen]
    shown, gain = evaluation.estimates[evaluation.panel].at(place), prior.held_out_gain or 0.0
    rows, n_cases = shown.rows(), evaluation.n_items if stratum is None else shown.n_cases
    mean, width, groups = evaluation.n_votes / evaluation.n_cases, widest(evaluation, rows), n_groups(evaluation)
    one_group = of_one_group(evaluation.study.counted)
    alone = float(one_group.mean()) if len(one_group) else 0.0
    reasons = {
        f"these annotations were seen by {listing(dict.fromkeys(declared))}": bool(declared),
        "all models give labels without scores": prior.are_labels,
        "held-out annotators are predicted better without the models": gain < 0,
        f"there are {n_cases} cases{'' if stratum is None else ' in the stratum'}": n_cases < LEAST_CASES,
        f"there are {mean:.0f} opinions per case, and the majority vote is simpler": mean >= MOST_OPINIONS,
        f"the interval is {100 * width:.0f} points wide": width >= MOST_WIDTH,
        "the interval lacks the uncertainty of the fitted prior": any(np.isnan(row["fit_sd"]) for row in rows),
        f"the annotators form {groups} groups that share no case": groups > 1,
        f"{100 * alone:.0f} % of the cases have opinions of one group of annotators only": alone > MOST_ALONE,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def widest(evaluation: Evaluation, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the width of the widest interval of any model, by the first metric; 0 where it has no points."""
    metric = evaluation.metrics[0]
    if not -1.0 <= metric.range[0] <= metric.range[1] <= 1.0:
        return 0.0
    return float(max(row["high"] - row["low"] for row in rows if row["metric"] == metric.name))


def n_groups(evaluation: Evaluation) -> int:
    """Count the groups of named annotators that share no case; 1 if one of them has nearly all cases.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = [[[["a"]], [["b"]]]] * 4
    >>> study = ds.Study.from_rankings(said, ["a", "b"], annotator_names=[["Ada", "Bo"]] * 2 + [["Cy", "Di"]] * 2)
    >>> n_groups(ds.evaluate(study, {}, aggregations=["majority-vote"]))
    2
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    panel = evaluation.study.counted.panel
    if evaluation.is_sample or not len(panel.annotators) or (panel.annotators == ANONYMOUS).any():
        return 1
    n_annotators = len(panel.annotator_names)
    edges = (panel.units, n_annotators + panel.case_of_opinion)
    size = n_annotators + evaluation.study.n_cases
    count, member = connected_components(coo_array((np.ones(len(edges[0])), edges), shape=(size, size)), directed=False)
    cases = np.bincount(member[np.unique(edges[1])], minlength=count)
    return 1 if cases.max() >= MOST_SHARE * cases.sum() else int((cases > 0).sum())
