"""The grid of populations on which intervals and verdicts are tried."""

from dataclasses import replace

from simulation.populations import Population

EASY = Population(0, right=0.95, better=0.04, apart=0.03, skill=0.98)
HARD = Population(0, right=0.6, better=0.2, apart=0.15, skill=0.75)
GROUPED = Population(0, right=0.8, better=0.1, apart=0.1, skill=0.9)
CROSSED = Population(0, right=0.85, better=0.1, apart=0.1, skill=0.7)
SIZES = (10, 20, 50, 200)
SKILL_SDS = (0.04, 0.12)


def alone(n_cases: int, *, easy: bool) -> Population:
    """Return cases that stand alone, each with three annotators of its own."""
    return replace(EASY if easy else HARD, n_cases=n_cases)


def grouped(n_groups: int, size: int, correlation: float) -> Population:
    """Return cases in groups."""
    return replace(GROUPED, n_cases=n_groups * size, n_groups=n_groups, correlation=correlation)


def crossed(n_annotators: int, skill_sd: float, *, pool: int = 0, n_cases: int = 200) -> Population:
    """Return cases that the same annotators read, all of them or panels out of a pool."""
    pool = pool or n_annotators
    return replace(CROSSED, n_cases=n_cases, skill_sd=skill_sd, n_annotators=n_annotators, pool=pool)


def cells() -> dict[str, Population]:
    """Return the whole grid, each population with what it is called."""
    return {
        **{f"{n} {'easy' if easy else 'hard'} cases": alone(n, easy=easy) for easy in (True, False) for n in SIZES},
        **{
            f"{n} groups of {size}, correlation {correlation}": grouped(n, size, correlation)
            for n in (4, 10, 50)
            for size in (3, 10)
            for correlation in (0.05, 0.3)
        },
        **{f"{n} annotators, skill sd {sd}": crossed(n, sd) for n in (3, 6, 12) for sd in SKILL_SDS},
        **{f"panels of 3 of 12 annotators, skill sd {sd}": crossed(3, sd, pool=12) for sd in SKILL_SDS},
        "panels of 3 of 40 annotators, skill sd 0.12": crossed(3, 0.12, pool=40),
        "10 groups of 10, correlation 0.3, 6 annotators, skill sd 0.12": replace(
            crossed(6, 0.12, n_cases=100), n_groups=10, correlation=0.3
        ),
    }
