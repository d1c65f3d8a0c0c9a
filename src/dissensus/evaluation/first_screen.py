"""The first screen, the same in a terminal, a notebook and the report: models beside annotators, what that decides.

It answers, in this order: which model, is it as good as one annotator, how sure is that, and what to look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from dissensus.core.screen import Screen
from dissensus.evaluation.estimates import ADJUSTED
from dissensus.evaluation.panel_rule import why_panel_is_withheld
from dissensus.evaluation.plan import TRUTH
from dissensus.evaluation.sentences import MOST_NAMED, decision, other_leaders, ranked, rows_of, settling, subjects
from dissensus.evaluation.tables import side_by_side
from dissensus.evaluation.triage import triage
from dissensus.evaluation.words import MINUS, NOTHING, counted
from dissensus.evaluation.words import number as written

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

# So many models are shown, and so many warnings; the rest is counted.
MOST_MODELS, MOST_WARNINGS = 10, 2

# So long is a warning; the report says it in full.
MOST_LETTERS = 150

# Stands in the table where there is no value.
ABSENT = "-"

# Estimates of a model, by the names that records give them, and what is known of it beside one annotator.
ESTIMATED = ("adjusted", "panel")
BESIDE_ONE = ("experts", "experts_low", "experts_high", "difference", "difference_low", "difference_high", "verdict")


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
        counts = evaluation.certainty_counts
        told = certainties(evaluation)
        return Screen(
            about, decisions=told[:1], cautions=warnings(evaluation), records=[one._asdict() for one in counts]
        )
    metric, names = evaluation.metrics[0], ranked(evaluation)
    rows = {row["model"]: row for row in records(evaluation) if row["metric"] == metric.name}
    withheld, needed = why_panel_is_withheld(evaluation), tuple(settling(evaluation))
    agreed = f"; protocol {evaluation.protocol.sha256[:8]}" if evaluation.protocol is not None else ""
    return Screen(
        about,
        f"{metric.name}, {100 * evaluation.level:g} % intervals{agreed}",
        table(evaluation, [rows[name] for name in names], with_panel=evaluation.panel is not None and not withheld),
        (*decision(evaluation), *needed, *beside_annotators(evaluation, names)),
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
    return f"{file}{subjects(evaluation)}, {who}{models}"


def records(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row per metric and model with all that is estimated of it, as far as it is known."""
    experts = evaluation.experts
    known = {(row["metric"], row["model"]): row for row in experts.rows} if experts else {}
    found = []
    for one in side_by_side(evaluation, evaluation.to_frame()) if evaluation.models else ():
        name, beside = one.metric.name, known.get((one.metric.name, one.model), {})
        agreed = beside or one.agreement or {}
        row = {"metric": name, "model": one.model, "agreement": agreed.get("agreement", agreed.get("mean"))}
        row |= {part: agreed.get(part) for part in ("low", "high")}
        row |= {part: beside.get(part) for part in BESIDE_ONE}
        is_first = experts is not None and one.model in experts.worth and name == evaluation.primary
        worth = experts.worth[one.model] if experts is not None and is_first else None
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
    called = experts.called if experts else "annotator"
    first = shown[0] if shown[0]["experts"] is not None else None
    usual = list(shown[0])[list(shown[0]).index("worth_high") + 1]
    columns = {
        "": [called, *(row["model"] for row in shown)],
        f"with one {called}": [
            between(first, "experts", "experts_low", "experts_high"),
            *(between(row, "agreement") for row in shown),
        ],
        "worth": [
            "1",
            *(str(experts.worth[row["model"]]) if experts and row["worth"] is not None else ABSENT for row in shown),
        ],
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
        columns = {
            name: [*cells, "..." if name else f"{len(rows) - len(shown)} more"] for name, cells in columns.items()
        }
    return {name: cells for name, cells in columns.items() if any(cell not in (ABSENT, "...") for cell in cells)}


def between(row: Mapping[str, Any] | None, name: str = "mean", low: str = "low", high: str = "high") -> str:
    """Write a value with its interval.

    >>> between({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.50 [0.25, 0.75]'
    """
    if row is None or row[name] is None or math.isnan(row[name]):
        return ABSENT
    return f"{short(row[name])} [{short(row[low])}, {short(row[high])}]"


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
        kinds = "; ".join(f"{verdict}: {named(of_kind)}" for verdict, of_kind in verdicts.items())
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


def named(names: Sequence[str]) -> str:
    """List names in a sentence; of many, the last ones are counted.

    >>> named(["A", "B", "C"]), named("ABCDEF")
    ('A, B and C', 'A, B, C and 3 more')
    """
    shown = (
        list(names) if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    )
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def certainties(evaluation: Evaluation) -> tuple[str, ...]:
    """Say how many cases the annotations settle."""
    if not evaluation.certainty_counts:
        return ()
    counts = evaluation.certainty_counts[evaluation.reference]
    settled = counts.n_cases - counts.n_open
    rows = counted(counts.n_cases, *rows_of(evaluation))
    return (f"The annotations settle {settled:,} of {rows} (mean certainty {counts.mean:.2f}).",)


def missed(evaluation: Evaluation, leader: str) -> Iterator[str]:
    """Name the cases of high risk on which annotators agree and the leading model is wrong."""
    found = triage(evaluation).agreed_and_missed(evaluation.models.index(leader)) if evaluation.profiles else ()
    names = [evaluation.case_names[place] for place in found]
    if names:
        called = f"{evaluation.experts.called}s" if evaluation.experts else "annotators"
        cases = counted(len(names), "high-risk case")
        yield f"{cases} on which the {called} agree and {leader} is wrong: {named(names)}"


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
    yield from other_leaders(evaluation, leader)
    yield from warnings(evaluation, most)


def warnings(evaluation: Evaluation, most: int = MOST_WARNINGS) -> tuple[str, ...]:
    """Return the first warnings, cut short, and count the rest, which the report says in full."""
    known = evaluation.warnings
    found = [shorten(one, MOST_LETTERS, placeholder=" ...") for one in known[:most]]
    more = len(known) - len(found)
    return (*found, f"{counted(more, 'more warning')} in the report.") if more else tuple(found)
