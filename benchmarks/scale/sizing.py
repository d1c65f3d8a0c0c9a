"""What a study of any size needs, by arithmetic from the constants that were measured, and the tables of the guide.

Run: ``python -m scale.sizing`` writes the tables into ``docs/evidence/scale.md`` from ``results.json``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale.constants import PROCESSORS, Constants

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "scale.md"
PLACE = re.compile(r"(<!-- scale: (\w+) -->\n).*?(<!-- end of scale -->)", re.DOTALL)
SIZES = (*(10**power for power in range(4, 9)), 2 * 10**8, 10**9)
CORES = (2, 32, 1000)
SHARDS = (10_000, 100_000)
"""Cases of a shard that the tables show: the default, and ten times as many where there are very many cases."""

SHARDED = 10**8

UNITS = ((86400 * 2, 86400, "days"), (7200, 3600, "h"), (120, 60, "min"), (0, 1, "s"))


@dataclass(frozen=True)
class Need:
    """What the evaluation of some cases takes.

    Attributes
    ----------
    n_cases
        Cases of the study.
    known
        What a case, a shard and a task cost.
    shard_size
        Cases of a shard.
    """

    n_cases: int
    known: Constants
    shard_size: int = SHARDS[0]

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return math.ceil(self.n_cases / self.shard_size)

    @property
    def core_seconds(self) -> float:
        """Time of all that is done by case and by shard, on one processor."""
        known = self.known
        by_case = known.split_seconds + known.first_seconds + known.second_seconds
        return self.n_cases * by_case + self.n_shards * known.end_seconds

    @property
    def scheduler_seconds(self) -> float:
        """Time that the scheduler needs for its tasks alone: below it, no number of processors can be fed."""
        return self.known.passes * self.n_shards / self.known.tasks_per_second

    def seconds(self, cores: int) -> float:
        """Time of the run on so many processors, as far as they can be fed; one shard is done by two at most."""
        at_work = min(cores, max(PROCESSORS, self.n_shards))
        tasks = self.scheduler_seconds if cores > PROCESSORS else 0.0
        return self.known.fixed_seconds + max(self.core_seconds / at_work, tasks)

    @property
    def disk(self) -> float:
        """Bytes of the run directory until the run is finished."""
        return self.n_cases * (self.known.split_bytes + self.known.table_bytes) + self.n_shards * self.known.sum_bytes

    @property
    def n_files(self) -> float:
        """Files of the run directory."""
        return self.n_shards * self.known.files

    @property
    def most_cores(self) -> float:
        """How many processors can be fed: more would wait."""
        return self.core_seconds / self.scheduler_seconds


# Tables --------------------------------------------------------------------------------------------------


def measured(results: Mapping[str, Any]) -> str:
    """Write what was measured, with its limits, and notes."""
    rows = table(("measured", "value", "limit"), map(measured_row, results["measured"]))
    return rows + "".join(f"\n{note}\n" for note in results["notes"])


def measured_row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Write a row of what was measured.

    >>> measured_row({"what": "memory", "value": 312.0, "unit": "MB", "limit": 1000})
    ('memory', '312 MB', '≤ 1000 MB')
    """
    unit = f" {row['unit']}" if row.get("unit") else ""
    limit = f"≤ {row['limit']:g}{unit}" if "limit" in row else ""
    return row["what"], f"{significant(row['value'])}{unit}", limit


def costs(results: Mapping[str, Any]) -> str:
    """Write the constants that the other tables follow from."""
    known = Constants(**results["constants"])
    rows = [
        ("evaluation, one processor", rate(known.second_seconds)),
        ("first look at the shards, one processor", rate(known.first_seconds)),
        ("splitting, hashing and learning, one processor", rate(known.split_seconds)),
        ("putting sums together, one processor", f"{significant(1000 * known.end_seconds)} ms a shard"),
        ("start, imports and report", duration(known.fixed_seconds)),
        ("disk: split input, until the run is finished", f"{significant(known.split_bytes)} bytes a case"),
        ("disk: per-case tables", f"{significant(known.table_bytes)} bytes a case"),
        ("disk: sums", f"{size(known.sum_bytes)} a shard"),
        ("scheduler: tasks that do nothing", f"{significant(known.tasks_per_second)} tasks/s"),
    ]
    return table(("what it costs", f"shards of {known.cases_per_shard:,.0f} cases"), rows)


def sizes(results: Mapping[str, Any]) -> str:
    """Write what studies of different sizes need."""
    known = Constants(**results["constants"])
    needs = [Need(count, known, shard_size) for count in SIZES for shard_size in SHARDS[: 1 + (count >= SHARDED)]]
    head = ("cases", "pieces", *(f"{cores} processors" for cores in CORES), "tasks alone", "disk", "files")
    return table(
        head,
        (
            (
                counted(need.n_cases),
                counted(need.n_shards),
                *(duration(need.seconds(cores)) for cores in CORES),
                duration(need.scheduler_seconds),
                size(need.disk),
                counted(round(need.n_files)),
            )
            for need in needs
        ),
    )


TABLES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {"measured": measured, "costs": costs, "sizes": sizes}


def filled(text: str, results: Mapping[str, Any]) -> str:
    """Put the tables between their marks."""
    return PLACE.sub(lambda found: f"{found[1]}{TABLES[found[2]](results)}{found[3]}", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of Markdown."""
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:], ""])


def significant(value: float) -> str:
    """Write a number with three digits, and no more.

    >>> significant(6123.4), significant(0.98765), significant(12.0)
    ('6,120', '0.988', '12')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def rate(seconds: float) -> str:
    """Write how many cases are done in a second if one takes so long.

    >>> rate(0.0005), rate(0.0)
    ('2,000 cases/s', 'too fast to tell')
    """
    return f"{significant(1 / seconds)} cases/s" if seconds else "too fast to tell"


def counted(number: int) -> str:
    """Write a count in words where it is large.

    >>> counted(10_000), counted(3_000_000), counted(1_234_567)
    ('10 000', '3 million', '1.23 million')
    """
    if number < 10**6:
        return f"{number:,}".replace(",", " ")
    power, word = (10**9, "billion") if number >= 10**9 else (10**6, "million")
    return f"{significant(number / power)} {word}"


def duration(seconds: float) -> str:
    """Write a time.

    >>> duration(4.2), duration(300), duration(9000), duration(400_000)
    ('4.2 s', '5 min', '2.5 h', '4.6 days')
    """
    unit = next(unit for unit in UNITS if seconds >= unit[0])
    return f"{float(f'{seconds / unit[1]:.2g}'):,g} {unit[2]}"


def size(number: float) -> str:
    """Write a number of bytes.

    >>> size(500), size(12_345), size(3.2e9)
    ('500 bytes', '12 kB', '3.2 GB')
    """
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if number >= 10**power:
            return f"{float(f'{number / 10**power:.2g}'):g} {unit}"
    return f"{number:.0f} bytes"


def main() -> None:
    """Write the tables of the guide."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
