"""Write the tables that take long to compute into the pages; other tables are made when the site is built.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``. Run: python docs/tables.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from four_numbers import numbers_of_demo, written

from dissensus import Study, simulate
from dissensus.certainty import annotation_certainty
from dissensus.core.spec import one_spec
from dissensus.plugins import Aggregation

PAGES = Path(__file__).parent
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write the tables of all pages anew."""
    for page in PAGES.rglob("*.md"):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """Put the tables between their marks."""
    tables = {"four_numbers": four_numbers, "one_annotator": one_annotator}
    return PLACE.sub(lambda found: f"{found[1]}{tables[found[2]]()}{found[3]}", text)


def one_annotator() -> str:
    """Tell what each prior makes of one annotator who names one of 419 conditions, among 400 cases with several."""
    others = simulate.study(n_cases=400, n_conditions=419, seed=1).annotations
    named = [others.conditions[60]]
    rankings = [*(case for case in others.to_rankings() if len(case) > 1), [[named]]]
    said = Study.from_rankings(rankings, others.conditions)
    specs = ("plackett-luce:1:prior=observed:alpha=1", "plackett-luce:1:prior=symmetric", "plackett-luce:1",
             "dirichlet:1:alpha=1", "dirichlet:1:alpha=fitted", "dirichlet:1:prior=frequency:alpha=fitted",
             "probabilistic-inverse-rank:30")  # fmt: skip
    return table(("aggregation", "alpha", "mean plausibility of what was named", "certainty"), map(row_of(said), specs))


def row_of(said: Study) -> Callable[[str], tuple[str, ...]]:
    """Draw the last case of a study, and summarise it."""

    def row(text: str) -> tuple[str, ...]:
        spec = one_spec(Aggregation.family, text)
        drawn = spec.sample(said, draws=4000, seed=1)
        last = drawn.select([drawn.n_cases - 1])
        alpha = drawn.fitted.get("alpha", spec.parameters()["alpha"])
        certainty = annotation_certainty(last).values[0]
        return f"`{text}`", f"{alpha:.2g}", f"{last.mean().max():.2f}", f"{certainty:.2f}"

    return row


def four_numbers() -> str:
    """Put the numbers of every model of the demo beside the truth."""
    head = ("model", "truth", "majority vote", "agreement", "adjusted (PL 1)", "panel")
    return table(head, ((row.model, *map(written, row.values())) for row in numbers_of_demo()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


if __name__ == "__main__":
    main()
