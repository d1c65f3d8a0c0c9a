"""The first screen, the same in a terminal, a notebook and the report: models beside annotators, what that decides.

It answers, in this order: which model, is it as good as one annotator, how sure is that, and what to look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from dissensus.core.names import visible
from dissensus.evaluation.estimates import ADJUSTED
from dissensus.evaluation.panel_rule import why_panel_is_withheld
from dissensus.evaluation.sentences import MOST_NAMED, decision, other_leaders, ranked, rows_of, subjects
from dissensus.evaluation.tables import Beside, side_by_side
from dissensus.evaluation.words import MINUS, NOTHING, counted
from dissensus.evaluation.words import number as written
from dissensus.metrics.base import Metric

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

# So many models are shown, and so many warnings; the rest is counted.
MOST_MODELS, MOST_WARNINGS = 8, 2

# So long is a warning; the report says it in full.
MOST_LETTERS = 150

# Stands in the table where there is no value.
ABSENT = "-"

# Sentences are wrapped at so many columns.
WIDTH = 80


class FirstScreen(NamedTuple):
    """Hold what is seen first.

    Attributes
    ----------
    title, heading
        What was evaluated, and what the table shows.
    table
        Columns of text by their headings, one entry per row; the first column names the rows.
    decisions
        Which model is better, and each beside one annotator.
    cautions
        What to know before use.
    """

    title: str
    heading: str
    table: Mapping[str, Sequence[str]]
    decisions: tuple[str, ...]
    cautions: tuple[str, ...]

    def __str__(self) -> str:
        rows = [[visible(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        told = [fill(visible(one), WIDTH, subsequent_indent="  ") for one in self.sentences]
        return "\n".join([self.title, *([self.heading] if lines else []), *lines, *told])

    @property
    def sentences(self) -> list[str]:
        """The decisions, and what to know before use, marked as such."""
        return [*self.decisions, *(f"! {one}" for one in self.cautions)]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table, its headings first; none if there is no table."""
        return [tuple(self.table), *zip(*self.table.values(), strict=True)] if self.table else []

    def html(self) -> Markup:
        """Write it for a notebook; names are escaped."""
        kinds = ["th", *["td"] * (len(self.rows) - 1)]
        line = Markup("").join
        rows = [
            Markup("<tr>{}</tr>").format(line(Markup("<{0}>{1}</{0}>").format(kind, cell) for cell in row))
            for kind, row in zip(kinds, self.rows, strict=False)
        ]
        told = line(Markup("<p>{}</p>").format(one) for one in self.sentences)
        return Markup("<p>{}</p><table><caption>{}</caption>{}</table>{}").format(
            self.title, self.heading, line(rows), told
        )


def first_screen(evaluation: Evaluation) -> FirstScreen:
    """Say what came out.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> print(first_screen(evaluate(said, {"A": [[0.9, 0.1], [0.2, 0.8]] * 10}, aggregations=["majority-vote"])))
    20 cases, 80 opinions of annotators without names; 1 model
    top-1 accuracy, 95 % intervals
               with one annotator  worth        majority  adjusted
    annotator  0.75 [0.62, 0.88]   1            -         -
    A          0.88 [0.80, 0.95]   >3 [>3, >3]  1.00      1.00
    A minus one annotator: +0.12 (0.00 to 0.25); a margin (--margin) gives a
      verdict.
    ! The annotations settle 20 of 20 cases (mean certainty 1.00).
    ! No panel estimate: there are 20 annotated cases, and at least 100 are needed.
    """
    about = subject(evaluation)
    if not evaluation.models:
        return FirstScreen(about, "", {}, (), (*certainty(evaluation), *warnings(evaluation)))
    metric = evaluation.metrics[0]
    rows = {one.model: one for one in side_by_side(evaluation, evaluation.to_frame()) if one.metric.name == metric.name}
    found = [rows[model] for model in ranked(evaluation)]
    withheld = why_panel_is_withheld(evaluation)
    return FirstScreen(
        about,
        f"{metric.name}, {100 * evaluation.level:g} % intervals",
        table(evaluation, metric, found, with_panel=evaluation.panel is not None and not withheld),
        (*decision(evaluation), *beside_annotators(evaluation, found)),
        tuple(cautions(evaluation, found[0].model, withheld)),
    )


def subject(evaluation: Evaluation) -> str:
    """Count what was evaluated."""
    people = evaluation.n_annotators
    who = "very many annotators" if people is None else counted(people, "annotator")
    opinions = counted(evaluation.n_votes, "answer" if evaluation.asked_findings else "opinion")
    who = f"{opinions}, {who}" if people != 0 else f"{opinions} of annotators without names"
    models = f"; {counted(len(evaluation.models), 'model')}" if evaluation.models else ""
    return f"{subjects(evaluation)}, {who}{models}"


def table(evaluation: Evaluation, metric: Metric, found: Sequence[Beside], *, with_panel: bool) -> dict[str, list[str]]:
    """Put the models beside one annotator; what has no value anywhere is left out."""
    experts = evaluation.experts
    known = {row["model"]: row for row in experts.rows if row["metric"] == metric.name} if experts else {}
    called = experts.called if experts else "annotator"
    first = next(iter(known.values()), None)
    usual = next(iter(found[0].practices), "")
    shown = found[:MOST_MODELS]
    agreed = [known.get(one.model) or one.agreement for one in shown]
    columns = {
        "": [called, *(one.model for one in shown)],
        f"with one {called}": [
            between(first, "experts", "experts_low", "experts_high"),
            *(between(row, "agreement" if row and "agreement" in row else "mean") for row in agreed),
        ],
        "worth": [
            "1",
            *(str(experts.worth[one.model]) if experts and one.model in experts.worth else ABSENT for one in shown),
        ],
        usual.removesuffix(" vote"): [ABSENT, *(short(one.practices.get(usual)) for one in shown)],
        "adjusted": [ABSENT, *(short((one.adjusted or {}).get("mean")) for one in shown)],
        "panel (est.)": [ABSENT, *(short((one.panel or {}).get("mean")) if with_panel else ABSENT for one in shown)],
        "truth": [ABSENT, *(short(one.truth) for one in shown)],
    }
    if evaluation.leads == ADJUSTED:  # the paper's measure first, with its interval
        columns[ADJUSTED] = [ABSENT, *(between(one.adjusted) for one in shown)]
        columns = {name: columns[name] for name in ("", ADJUSTED, *columns)}
    if first is None:  # nobody is left out in turn
        columns = {name: cells[1:] for name, cells in columns.items()}
        columns["worth"] = []
    return {name: cells for name, cells in columns.items() if any(cell != ABSENT for cell in cells)}


def between(row: Mapping[str, Any] | None, name: str = "mean", low: str = "low", high: str = "high") -> str:
    """Write a value with its interval.

    >>> between({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.50 [0.25, 0.75]'
    """
    if row is None or math.isnan(row[name]):
        return ABSENT
    return f"{short(row[name])} [{short(row[low])}, {short(row[high])}]"


def beside_annotators(evaluation: Evaluation, found: Sequence[Beside]) -> list[str]:
    """Say how models compare with one annotator: with a margin the verdicts, otherwise the leader's difference."""
    experts = evaluation.experts
    if experts is None or not experts.rows:
        return []
    told = "" if experts.primary == found[0].metric.name else f", by {experts.primary}"
    if experts.margin is not None:
        verdicts: dict[str, list[str]] = {}
        for one in found:
            verdicts.setdefault(experts.row(one.model)["verdict"] or "no verdict", []).append(one.model)
        kinds = "; ".join(f"{verdict}: {named(names)}" for verdict, names in verdicts.items())
        return [f"Beside one {experts.called}{told}, margin {experts.margin:g}: {kinds}."]
    row = experts.row(found[0].model)
    gap = f"{row['difference']:+.2f} ({short(row['difference_low'])} to {short(row['difference_high'])})"
    return [f"{found[0].model} minus one {experts.called}{told}: {gap}; a margin (--margin) gives a verdict."]


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


def certainty(evaluation: Evaluation) -> list[str]:
    """Say how many cases the annotations settle."""
    if not evaluation.certainty_counts:
        return []
    counts = evaluation.certainty_counts[evaluation.reference]
    settled = counts.n_cases - counts.n_open
    rows = counted(counts.n_cases, *rows_of(evaluation))
    return [f"The annotations settle {settled:,} of {rows} (mean certainty {counts.mean:.2f})."]


def cautions(evaluation: Evaluation, leader: str, withheld: Sequence[str]) -> Iterator[str]:
    """Say what to know before use, what could change the reading first."""
    experts = evaluation.experts
    if experts is not None and not experts.rows:
        yield f"No comparison with one {experts.called}: {experts.notes[0]}."
    yield from certainty(evaluation)
    if withheld and evaluation.leads != ADJUSTED:
        known = "The panel estimate is a sensitivity analysis" if evaluation.panel is not None else "No panel estimate"
        yield f"{known}: {withheld[0]}."
    yield from other_leaders(evaluation, leader)
    yield from warnings(evaluation)


def warnings(evaluation: Evaluation) -> list[str]:
    """Return the first warnings, cut short, and count the rest, which the report says in full."""
    known = evaluation.warnings
    found = [shorten(one, MOST_LETTERS, placeholder=" ...") for one in known[:MOST_WARNINGS]]
    more = len(known) - len(found)
    return [*found, f"{counted(more, 'more warning')} in the report."] if more else found
