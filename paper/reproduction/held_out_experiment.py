"""Beyond the paper: adjusted accuracy beside what a much larger panel says of the same cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reproduction.rows import Row, Section, Settings
from paper.trials.coverage import MODEL, summary
from paper.trials.crowds import Crowd
from paper.trials.plan import Effort, crowd_arms, tried

if TYPE_CHECKING:
    import polars as pl

TITLE = "Against larger panels"
STUDIES = 10
"""Sub-studies of each kind."""

VOTES = "3 votes"
NUMBERS: Mapping[str, str] = {
    "adjusted, PL 3, observed prior": "adjusted accuracy as in the paper (PL, reliability 3)",
    "majority vote": "accuracy against the majority vote",
    "panel": "panel estimate (prior informed by the models)",
}
"""What is held against the large panel, in the words of the rows."""


def held_out_section(chaos: Crowd, disputed: Crowd, settings: Settings) -> Section:
    """Draw small studies from data with 50 to 100 labels a case, and hold numbers against what all labels say."""
    most = min(len(crowd.case_names) for crowd in (chaos, disputed))
    effort = Effort(STUDIES, settings.sweep_draws, settings.seed + 1, settings.threads, most_cases=most)
    arms = [arm for arm in crowd_arms(chaos, disputed, effort) if arm.opinions == VOTES]
    found = tried(arms, effort).filter(kind=MODEL)
    chosen = found.filter(found["number"].is_in(list(NUMBERS)))
    table = summary(chosen, ["experiment", "number"])
    rows = tuple(row for part in table.iter_rows(named=True) for row in _rows(part))
    return Section(TITLE, rows, {"held_out": table})


def held_out_table(found: pl.DataFrame) -> str:
    """Write what was found as a table in Markdown: a row per number, two columns per data set.

    Examples
    --------
    >>> import polars as pl
    >>> row = {"experiment": "crowd", "number": "panel", "bias": 0.014, "holds": 0.9, "error": 0.1}
    >>> print(held_out_table(pl.DataFrame([row])))
    | number | crowd | intervals that hold |
    |---|---:|---:|
    | panel estimate (prior informed by the models) | +1.4 points | 90 % ± 10 % |
    """
    experiments = found["experiment"].unique(maintain_order=True).to_list()
    cells = {(row["number"], row["experiment"]): row for row in found.iter_rows(named=True)}
    lines = [["number", *(part for name in experiments for part in (name, "intervals that hold"))]]
    for number, words in NUMBERS.items():
        parts = (cells[number, name] for name in experiments if (number, name) in cells)
        told = [(f"{100 * one['bias']:+.1f} points", f"{one['holds']:.0%} ± {one['error']:.0%}") for one in parts]
        lines += [[words, *(text.replace("%", " %") for pair in told for text in pair)]] if told else []
    head, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|---|" + "---:|" * (len(lines[0]) - 1), *rest])


def _rows(found: Mapping[str, Any]) -> list[Row]:
    """Tell how far a number is from what the large panel says, and how often its interval holds that."""
    told = f"{found['experiment']}, {VOTES} a case, {STUDIES} studies, all models, top-1 accuracy"
    name = NUMBERS[found["number"]]
    return [
        Row(TITLE, f"{name}: less what the large panel says", found["bias"], None, told, form="+.1%"),
        Row(TITLE, f"{name}: 90 % intervals that hold it", found["holds"], found["error"], told, form=".0%"),
    ]
