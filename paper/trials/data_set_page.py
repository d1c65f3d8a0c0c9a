"""The tables of the page on metrics of a whole data set: ``python -m paper.trials.data_set_page PAGE``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import FormatError
from dissensus.core.files import read_text
from dissensus.core.output import written_whole
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL
from paper.trials.coverage import DIFFERENCE, MODEL, summary
from paper.trials.data_set_trials import MAJORITY, DataSetProof, Effort, data_set_proof
from paper.trials.panel_page import points, share

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path

BEGIN, END = "<!-- trials: data sets -->", "<!-- end of data sets -->"
PLACE = re.compile(f"{BEGIN}\n.*?{END}\n", re.DOTALL)
"""Where the tables stand in the page."""

LEAST, MOST = 0.86, 0.94
"""How often 90 % intervals of the panel should hold."""

NUMBERS = (PANEL, AGREEMENT, ADJUSTED, MAJORITY)
BY = ("setting", "title", "cases", "annotators", "prevalence", "metric")
TITLES = {MODEL: "### Single models", DIFFERENCE: "### Differences of two models"}


def write_tables(proof: DataSetProof, page: Path) -> FilePath:
    """Put the tables into a page, at their place, and leave all else as it is."""
    target = FilePath(page)
    text = read_text(target)
    if not PLACE.search(text):
        raise FormatError("a page has no place for the tables", expected=f"{BEGIN} and {END}", where=str(target))
    with written_whole(target, overwrite=True) as temporary:
        temporary.write_text(PLACE.sub(lambda _: f"{BEGIN}\n{tables(proof)}\n{END}\n", text), encoding="utf-8")
    return target


def tables(proof: DataSetProof) -> str:
    """Return all tables as Markdown."""
    effort = proof.effort
    told = (
        f"{effort.studies} studies of each kind, {effort.draws} draws of every case, seed {effort.seed}; "
        f"{proof.minutes:.0f} minutes."
    )
    parts = [told, verdict(proof.rows)]
    parts += [f"{title}\n\n{table(proof.rows, kind)}" for kind, title in TITLES.items()]
    return "\n\n".join(parts)


def verdict(rows: pl.DataFrame) -> str:
    """Say in which rows intervals of the panel hold too rarely or too often, beyond what chance does to so few studies.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"setting": 0, "title": "plain", "cases": 400, "annotators": 3, "prevalence": 0.4,
    ...     "metric": "AUROC", "kind": "model", "number": "panel", "study": [0, 1, 2], "estimate": 0.5, "low": 0.4,
    ...     "high": 0.6, "here": 0.5, "everywhere": 0.9})
    >>> print(verdict(rows))
    Of 1 rows on panel estimates, 0 hold in 86 % to 94 % of studies within two standard errors.
    - plain, 400 cases, 3 annotators, prevalence 40 %, AUROC, models: 0 % (0); 0.0; 20.0
    """
    found = summary(rows.filter(number=PANEL), [*BY, "kind"]).to_dicts()
    wrong = [row for row in found if not LEAST - 2 * error(row) <= row["holds"] <= MOST + 2 * error(row)]
    told = f"Of {len(found)} rows on panel estimates, {len(found) - len(wrong)} hold in {100 * LEAST:.0f} % to "
    told += f"{100 * MOST:.0f} % of studies within two standard errors."
    lines = [f"\n- {_place(row)}, {row['metric']}, {row['kind']}s: {_cell(row)}" for row in wrong]
    return told + "".join(lines)


def error(row: Mapping[str, Any]) -> float:
    """Return the standard error of a share; where all studies are alike, there is none to be told from them."""
    return float(row["error"] or 0.0)


def table(rows: pl.DataFrame, kind: str) -> str:
    """Return a row for every setting and metric: how often intervals of each number hold, bias and width."""
    import polars as pl

    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in summary(rows.filter(pl.col("kind") == kind), [*BY, "number"]).iter_rows(named=True):
        cells.setdefault(tuple(row[name] for name in BY), {})[row["number"]] = _cell(row)
    lines = [f"| studies | metric | {' | '.join(NUMBERS)} |", "|---|---|" + "---|" * len(NUMBERS)]
    for key, found in cells.items():
        where = _place(dict(zip(BY, key, strict=True)))
        lines.append(f"| {where} | {key[-1]} | {' | '.join(found.get(one, '-') for one in NUMBERS)} |")
    return "\n".join(lines)


def _place(row: Mapping[str, Any]) -> str:
    return (
        f"{row['title']}, {row['cases']} cases, {row['annotators']} annotators, "
        f"prevalence {100 * row['prevalence']:.0f} %"
    )


def _cell(row: Mapping[str, Any]) -> str:
    bias = None if row["bias"] is None or row["bias"] != row["bias"] else row["bias"]
    return f"{share(row['holds'])} ({100 * error(row):.0f}); {points(bias)}; {100 * row['width']:.1f}"


def main(words: list[str] | None = None) -> int:
    """Try metrics of a whole data set on simulated studies, and write the tables into the page."""
    parser = argparse.ArgumentParser(prog="python -m paper.trials.data_set_page", description="See what holds.")
    parser.add_argument("page", help="a page with a place for the tables, such as docs/evidence/data-set-metrics.md")
    parser.add_argument("--studies", type=int, default=100, help="studies of each kind")
    parser.add_argument("--draws", type=int, default=200, help="draws of every case")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    print(write_tables(data_set_proof(Effort(given.studies, given.draws, given.seed), watch=_say), given.page))
    return 0


def _say(what: str, done: int, total: int) -> None:
    print(f"\r{done}/{total} {what:<60}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
