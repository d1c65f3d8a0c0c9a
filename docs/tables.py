"""Write the tables of aggregations and metrics into the pages, from what these say about themselves.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``. Run: python docs/tables.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dissensus import Aggregation, Metric

PAGES = Path(__file__).parent
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
KINDS = {"scores": "scores", "ranking": "rankings", "set": "sets"}


def main() -> None:
    """Write the tables of all pages anew."""
    for page in PAGES.glob("*.md"):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """Put the tables between their marks."""
    tables = {"aggregations": aggregations(), "metrics": metrics()}
    return PLACE.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", text)


def aggregations() -> str:
    """Tell of every aggregation what it takes, what its point estimate is, and what it does."""
    head = ("aggregation", "as text", "takes", "point estimate", "meaning")
    return table(
        head,
        (
            (f"`{kind.__name__}`", f"`{kind.usage()}`", kind.needs, limit_of(kind()), kind.meaning)
            for kind in own(Aggregation.family.known().values())
        ),
    )


def limit_of(spec: Aggregation) -> str:
    """Name the deterministic aggregation that stands for unlimited trust."""
    if spec.limit is None:
        return "-"
    return "itself" if spec.limit == spec else f"`{spec.limit.id}`"


def metrics() -> str:
    """Tell of every metric what it takes, which values it has, and what it measures."""
    head = ("metric", "as text", "takes", "values", "better", "meaning")
    return table(
        head,
        (
            (
                f"`{kind.__name__}`",
                f"`{kind.usage()}`",
                ", ".join(KINDS[accepted] for accepted in kind.accepts),
                span(*kind.range),
                "higher" if kind.higher_is_better else "lower",
                kind.meaning,
            )
            for kind in own(Metric.family.known().values())
        ),
    )


def own(kinds: Iterable[type]) -> list:
    """Keep those that ship with Dissensus."""
    return [kind for kind in kinds if kind.__module__.startswith("dissensus.")]


def span(low: float, high: float) -> str:
    """Write a range.

    >>> span(0.0, 1.0), span(0.0, float("inf"))
    ('0 to 1', '0 to ∞')
    """
    return f"{low:g} to {high:g}".replace("inf", "∞")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


if __name__ == "__main__":
    main()
