"""The section "Attacks" of the page on panel estimates, written from simulated studies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from dissensus.core.screen import MINUS
from paper.trials.attacks import CLEAR, N_HOSPITALS, NUMBERS
from paper.trials.coverage import MODEL, summary

BEGIN, END = "<!-- trials: attacks -->", "<!-- end of attacks -->"
PLACE = re.compile(f"{BEGIN}\n.*?{END}\n", re.DOTALL)
"""Where the section stands in the page, so that it can be written alone."""

POINTS, LEAST, ERRORS, OFTEN = 2.0, 0.85, 2.0, 0.95
"""A panel estimate stands up to an attack if it is off by at most so many points, and the share of its 90 % intervals
that hold is not below this one by more than so many standard errors. It is withheld if the rule says so in this share
of the studies."""

HELD, WITHHELD, FOOLED = "stands", "withheld", "fooled"
PUBLISHED = ("panel", "agreement", "majority vote", "adjusted, PL 1")

OPENING = f"""## Attacks

Simulated studies in which what the panel estimate assumes fails: 400 cases unless it says otherwise, 4 conditions,
3 votes a case. The plausibilities of every case are known, and with them what the plurality of an endless panel would
say (the truth of *panel*, *majority vote* and *adjusted*) and how often one annotator, taken at random, agrees with the
model (the truth of *with one annotator*). Each cell has the bias in points and the share of 90 % intervals that hold.

```sh
python -m paper.trials DIR paper/docs/panel.md --only attacks     # writes this section; half an hour
```

*good*, *bad*, *honest*: models that see the logarithms of plausibilities through noise. *second*: names the best
condition where it has {100 * CLEAR:.0f} % of the opinions, and the second best elsewhere. *knows winners*: is told
the best condition, however narrow its lead. *trained*: has learned from the very votes it is judged by. *order
reversed*: the rows are those of a fifth of the cases, in which the better model is the worse one. *one hospital*: all
opinions on a case come from one of {N_HOSPITALS} hospitals, each of which sees the case in its own way; the truth is
that of a panel from all hospitals.
*withheld*: the share of studies in which the
[rule](../../docs/explanation/panel.md#when-the-panel-estimate-is-withheld) keeps the panel estimate out of the first
table, and its most frequent reason.
"""
PUBLISHED_WORDS = """Published data with 3 votes a case, drawn as above, once with the scores of the models and once
with their labels only: {} studies each. The rule withholds the latter.
"""


def section(simulated: pl.DataFrame, published: pl.DataFrame) -> str:
    """Return the section as Markdown, between its markers."""
    studies, words = simulated["study"].n_unique(), PUBLISHED_WORDS.format(published["study"].n_unique())
    told = f"{studies} studies of each attack. {verdict(simulated)}"
    return "\n".join([BEGIN, OPENING, told, attack_table(simulated), words, published_table(published), END, ""])


def attack_table(rows: pl.DataFrame) -> str:
    """Return bias and share that holds of every number, attack by attack and model by model."""
    lines = [
        "| attack | model | panel | with one annotator | majority vote | adjusted | withheld |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for title, name in told_models(rows):
        own = rows.filter(experiment=title, name=name)
        lines.append(f"| {title} | {name} | {' | '.join(cells(own, NUMBERS))} | {withheld_words(own)} |")
    return "\n".join([*lines, ""])


def guide_section(rows: pl.DataFrame) -> str:
    """Return a short table for the guide, between its markers: of every attack, the model that it hits hardest."""
    lines = ["| attack | model | panel | with one annotator | withheld |", "|---|---|---:|---:|---|"]
    bias = summary(rows.filter(number="panel"), ["experiment", "name"]).with_columns(hit=pl.col("bias").abs())
    for (title,), part in bias.group_by("experiment", maintain_order=True):
        name = part.sort("hit", descending=True)["name"][0]
        own = rows.filter(experiment=title, name=name)
        lines.append(f"| {title} | {name} | {' | '.join(cells(own, NUMBERS[:2]))} | {withheld_words(own)} |")
    return "\n".join([BEGIN, *lines, END, ""])


def published_table(rows: pl.DataFrame) -> str:
    """Return the same of published data, all models together."""
    lines = ["| data | panel | with one annotator | majority vote | adjusted |", "|---|---:|---:|---:|---:|"]
    for title in rows["experiment"].unique(maintain_order=True):
        own = rows.filter(experiment=title, kind=MODEL)
        lines.append(f"| {title} | {' | '.join(cells(own, PUBLISHED))} |")
    return "\n".join([*lines, ""])


def told_models(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """List attacks and their models in the order in which they were tried."""
    return rows.select("experiment", "name").unique(maintain_order=True).rows()


def cells(rows: pl.DataFrame, numbers: tuple[str, ...]) -> list[str]:
    """Write bias in points and share that holds, number by number; a dash where there is none."""
    found = {row["number"]: row for row in summary(rows, ["number"]).iter_rows(named=True)}
    return [_cell(found[number]) if number in found else "-" for number in numbers]


def _cell(row: Mapping[str, Any]) -> str:
    if row["holds"] is None:  # the truth is not known
        return "-"
    bias = round(100 * row["bias"], 1)
    return f"{bias or 0.0:{'+' * bool(bias)}.1f}; {100 * row['holds']:.0f} %".replace("-", MINUS)


def withheld_words(rows: pl.DataFrame) -> str:
    """Say in which share of the studies panel is withheld, and why in most of them."""
    reasons = rows.group_by("study").agg(pl.col("withheld").first())["withheld"]
    given = reasons.filter(reasons != "")
    if not len(given):
        return "no"
    first = [re.sub(r"\d+", "…", text.split("; ")[0]) for text in given]
    return f"{100 * len(given) / len(reasons):.0f} %: {max(sorted(set(first)), key=first.count)}"


def fate(rows: pl.DataFrame) -> str:
    """Say what became of the panel estimate of one model under one attack."""
    (panel,) = summary(rows.filter(number="panel"), ["number"]).to_dicts()
    if rows.filter(rows["withheld"] != "")["study"].n_unique() >= OFTEN * rows["study"].n_unique():
        return WITHHELD
    holds = panel["holds"] >= LEAST - ERRORS * (panel["error"] or 0.0)
    return HELD if abs(100 * panel["bias"]) <= POINTS and holds else FOOLED


def verdict(rows: pl.DataFrame) -> str:
    """Say under how many attacks panel stands, is withheld, or is fooled, by its worst model."""
    worst: dict[str, str] = {}
    for title, name in told_models(rows):
        found = fate(rows.filter(experiment=title, name=name))
        worst[title] = max(worst.get(title, HELD), found, key=(HELD, WITHHELD, FOOLED).index)
    named = {what: [title for title, found in worst.items() if found == what] for what in (HELD, WITHHELD, FOOLED)}
    text = f"Of {len(worst)} attacks, panel stands up to {len(named[HELD])} (bias of every model at most {POINTS:g} "
    text += f"points; at least {100 * LEAST:.0f} % hold, or {ERRORS:g} standard errors less) and is withheld under "
    text += f"{len(named[WITHHELD])}."
    fooled = f" It is fooled, and not withheld, by {len(named[FOOLED])}: {'; '.join(named[FOOLED])}." * bool(
        named[FOOLED]
    )
    return f"{text}{fooled}\n"
