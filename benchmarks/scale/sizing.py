"""What a study of any size needs, by arithmetic from the constants that were measured, and the tables of the guide.

Run: ``python -m scale.sizing`` writes the tables into ``docs/scale.md`` from ``results.json``.
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
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
PLACE = re.compile(r"(<!-- scale: (\w+) -->\n).*?(<!-- end of scale -->)", re.DOTALL)
SIZES = tuple(10**power for power in range(3, 10))
CORES = (2, 32, 512)
SHARDS = (10_000, 100_000)
"""Cases of a shard that the tables show: the default, and ten times as many."""

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
        """Time of all passes on one processor."""
        return self.n_cases * (self.known.first_seconds + self.known.second_seconds)

    @property
    def alone_seconds(self) -> float:
        """Time of what one process does whatever the number of processors: start, splitting, sums put together."""
        known = self.known
        return known.fixed_seconds + self.n_cases * known.alone_seconds + self.n_shards * known.end_seconds

    def seconds(self, cores: int) -> float:
        """Time of the run on so many processors, as far as they can be fed; one shard is done by two at most."""
        at_work = min(cores, max(PROCESSORS, self.n_shards))
        return self.alone_seconds + max(self.core_seconds / at_work, self.fed_seconds if cores > PROCESSORS else 0.0)

    @property
    def disk(self) -> float:
        """Bytes of the run directory."""
        return self.n_cases * (self.known.split_bytes + self.known.table_bytes) + self.n_shards * self.known.sum_bytes

    @property
    def n_files(self) -> float:
        """Files of the run directory."""
        return self.n_shards * self.known.files

    @property
    def network(self) -> float:
        """Bytes that are sent to workers and back; what is sent by case grows with the shard, sums do not."""
        known = self.known
        larger = self.shard_size / known.cases_per_shard
        sent = known.passes * known.payload_bytes * larger
        back = self.shard_size * known.table_bytes + known.sum_bytes
        return self.n_shards * (sent + back)

    @property
    def scheduler_seconds(self) -> float:
        """Time that the scheduler needs for its tasks alone, a shard a task in every pass."""
        return self.known.passes * self.n_shards / self.known.tasks_per_second

    @property
    def transfer_seconds(self) -> float:
        """Time that what is sent needs to go through the scheduler."""
        return self.network / self.known.bytes_per_second

    @property
    def reading_seconds(self) -> float:
        """Time that one process needs to read what is sent."""
        known = self.known
        return self.n_cases / known.cases_per_shard * known.passes * known.payload_seconds

    @property
    def fed_seconds(self) -> float:
        """Time below which no number of processors can be fed."""
        return max(self.scheduler_seconds, self.transfer_seconds, self.reading_seconds)

    @property
    def most_cores(self) -> float:
        """How many processors can be fed: more would wait."""
        return self.core_seconds / self.fed_seconds


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
        ("evaluation, one processor", f"{significant(1 / known.second_seconds)} cases/s"),
        ("first look at the shards, one processor", f"{significant(1 / known.first_seconds)} cases/s"),
        ("splitting, hashing and learning, one process", f"{significant(1 / known.alone_seconds)} cases/s"),
        ("reading what is sent, one process", f"{significant(1000 * known.payload_seconds)} ms a shard, in each pass"),
        ("putting sums together, one process", f"{significant(1000 * known.end_seconds)} ms a shard"),
        ("start, imports and report", duration(known.fixed_seconds)),
        ("disk: split input", f"{significant(known.split_bytes)} bytes a case"),
        ("disk: per-case tables", f"{significant(known.table_bytes)} bytes a case"),
        ("disk: sums", f"{size(known.sum_bytes)} a shard"),
        ("network: to a worker, in each of two passes", f"{size(known.payload_bytes)} a shard"),
        ("network: back from a worker, in both passes together", f"{size(known.result_bytes)} a shard"),
        ("scheduler: tasks that do nothing", f"{significant(known.tasks_per_second)} tasks/s"),
        ("scheduler: bytes that go through it", f"{size(known.bytes_per_second)}/s"),
    ]
    return table(("what it costs", f"shards of {known.cases_per_shard:,.0f} cases"), rows)


def sizes(results: Mapping[str, Any]) -> str:
    """Write what studies of different sizes need."""
    needs = [Need(count, Constants(**results["constants"])) for count in SIZES]
    head = ("cases", "shards", *(f"{cores} processors" for cores in CORES), "disk", "files")
    return table(
        head,
        (
            (
                counted(need.n_cases),
                counted(need.n_shards),
                *(duration(need.seconds(cores)) for cores in CORES),
                size(need.disk),
                counted(round(need.n_files)),
            )
            for need in needs
        ),
    )


def limits(results: Mapping[str, Any]) -> str:
    """Write where one process, the scheduler and the network become the limit, for two sizes of shards."""
    known = Constants(**results["constants"])
    needs = [Need(count, known, shard_size) for count in SIZES[3:] for shard_size in SHARDS]
    head = ("cases", "cases a shard", "one process", "reading", "tasks", "network", "processors that can be fed")
    return table(
        head,
        (
            (
                counted(need.n_cases),
                counted(need.shard_size),
                duration(need.alone_seconds),
                duration(need.reading_seconds),
                duration(need.scheduler_seconds),
                f"{size(need.network)}, {duration(need.transfer_seconds)}",
                counted(int(need.most_cores)),
            )
            for need in needs
        ),
    )


TABLES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "measured": measured,
    "costs": costs,
    "sizes": sizes,
    "limits": limits,
}


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
