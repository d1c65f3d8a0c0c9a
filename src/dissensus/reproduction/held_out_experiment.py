"""Beyond the paper: adjusted accuracy beside what a much larger panel says of the same cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.reproduction.rows import Row, Section, Settings
from dissensus.trials.coverage import MODEL, summary
from dissensus.trials.crowds import Crowd
from dissensus.trials.plan import Effort, crowd_arms, tried

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
    return Section(TITLE, tuple(row for part in table.iter_rows(named=True) for row in _rows(part)))


def _rows(found: Mapping[str, Any]) -> list[Row]:
    """Tell how far a number is from what the large panel says, and how often its interval holds that."""
    told = f"{found['experiment']}, {VOTES} a case, {STUDIES} studies, all models, top-1 accuracy"
    name = NUMBERS[found["number"]]
    return [
        Row(TITLE, f"{name}: less what the large panel says", found["bias"], None, told, form="+.1%"),
        Row(TITLE, f"{name}: 90 % intervals that hold it", found["holds"], found["error"], told, form=".0%"),
    ]
