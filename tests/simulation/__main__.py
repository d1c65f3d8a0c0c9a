"""See whether intervals hold and verdicts are right, on the whole grid of simulated studies: ``make simulate``.

The tables go to ``docs/evidence/intervals.md`` and ``docs/evidence/experts.md`` with ``--write``. The exit code is 1
if a number is not as it should be::

    python -m simulation --studies 1000 --write
"""

import argparse
import math
import re
import sys
from pathlib import Path

from dissensus.evaluation.comparison import LEAST_CASES, LEAST_GROUPS
from simulation import experts
from simulation.coverage import Found, faults, simulated
from simulation.grid import cells
from simulation.populations import Population

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
EXPERTS = ("| model beside annotators | interval holds | called non-inferior | median |", "|---|---|---|---|")
PLACE = re.compile(r"(<!-- simulated: begin -->\n).*?(<!-- simulated: end -->)", re.DOTALL)
HEAD = (
    "| studies | mean holds | difference holds | false before Holm | false after Holm | after Holm, in any pair |",
    "|---|---|---|---|---|---|",
)


def main() -> int:
    """Try every population for both estimands, print the table, and tell what is outside of what is allowed."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description="Try intervals on simulated studies.")
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the tables into the documentation")
    given = parser.parse_args()
    print(*HEAD, sep="\n")
    rows, wrong = [], []
    for name, population in cells().items():
        how = {"agreement": False, "adjusted": True}
        found = {word: simulated(population, given.studies, seed=given.seed, adjusted=how[word]) for word in how}
        rows.append(row(name, list(found.values()), population))
        wrong += [f"{name}, {word}: {what}" for word, one in found.items() for what in faults(one, population)]
        print(rows[-1], flush=True)
    print(error_sentence(given.studies), "", *EXPERTS, sep="\n")
    beside, number = [], max(1, given.studies // 2)
    for name, tried in experts.cells().items():
        one = tried(number, given.seed)
        told = "" if math.isnan(one.told) else f"{100 * one.told:.1f}"
        beside.append(f"| {name} | {100 * one.holds:.1f} | {told} | {one.median:.3f} |")
        wrong += experts.faults(name, one)
        print(beside[-1], flush=True)
    print(error_sentence(number), *wrong, sep="\n")
    if given.write:
        write("intervals.md", [*HEAD, *rows, "", error_sentence(given.studies), ""])
        write("experts.md", [*EXPERTS, *beside, "", error_sentence(number), ""])
    return 1 if wrong else 0


def write(page: str, lines: list[str]) -> None:
    """Put a table into a page of the documentation."""
    place, text = DOCS / page, "\n".join(lines)
    place.write_text(PLACE.sub(rf"\g<1>{text}\g<2>", place.read_text(encoding="utf-8")), encoding="utf-8")


def row(name: str, found: list[Found], population: Population) -> str:
    """Write a row of the table, in per cent, the estimands side by side."""
    words = [
        " / ".join(f"{100 * share:.1f}" for share in column) for column in zip(*(one[:5] for one in found), strict=True)
    ]
    has_verdict = population.n_cases >= LEAST_CASES and not 0 < population.n_groups < LEAST_GROUPS
    told = words if has_verdict else [*words[:3], "no verdict", "no verdict"]
    return "| " + " | ".join([name, *told]) + " |"


def error_sentence(number: int) -> str:
    """Say how exact the numbers are."""
    error = math.ceil(1000 * (0.9 * 0.1 / number) ** 0.5) / 10
    return f"{number} studies a row; the Monte Carlo error of a number is at most {error} points."


if __name__ == "__main__":
    sys.exit(main())
