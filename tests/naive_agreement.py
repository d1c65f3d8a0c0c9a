"""Agreement by other routes: full K x K matrices, dictionaries with exact fractions, and every pair written out."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import dissensus as ds

Ranking = Sequence[Sequence[int]]
Array = npt.NDArray[np.float64]


# Mean average overlap ------------------------------------------------------------------------------------


def completed(ranking: Ranking, n_conditions: int) -> list[list[int]]:
    """Write the block of the unmentioned conditions out."""
    mentioned = {code for block in ranking for code in block}
    rest = [code for code in range(n_conditions) if code not in mentioned]
    return [list(block) for block in ranking] + ([rest] if rest else [])


def soft_permutation(ranking: Ranking, n_conditions: int) -> Array:
    """P_sigma B^T diag(1 / c) B, for any order sigma that the ranking allows."""
    blocks = completed(ranking, n_conditions)
    b = np.zeros((len(blocks), n_conditions))
    for row, block in enumerate(blocks):
        b[row, block] = 1
    order = [code for block in blocks for code in block]
    p_sigma = np.eye(n_conditions)[order]
    return np.asarray(p_sigma @ b.T @ np.diag(1 / b.sum(axis=1)) @ b)


def unnormalised_overlap(a: Ranking, b: Ranking, depth: int, n_conditions: int) -> float:
    """UAO@L: the trace of (T P')^T D_L (T P)."""
    t = np.tril(np.ones((n_conditions, n_conditions)))
    places = np.arange(1, n_conditions + 1)
    d = np.diag(np.where(places <= depth, 1 / (places * depth), 0.0))
    return float(np.trace((t @ soft_permutation(b, n_conditions)).T @ d @ (t @ soft_permutation(a, n_conditions))))


def mean_average_overlap(a: Ranking, b: Ranking, depth: int, n_conditions: int) -> float:
    """UAO over the geometric mean of each ranking's own; 0 if either says nothing."""
    if not (a and b):
        return 0.0
    own = unnormalised_overlap(a, a, depth, n_conditions) * unnormalised_overlap(b, b, depth, n_conditions)
    return unnormalised_overlap(a, b, depth, n_conditions) / float(np.sqrt(own))


# Leave one annotator out ---------------------------------------------------------------------------------


class Opinion:
    """One ranking that counts: who gave it (a number of its own if nobody in particular), its weight, its blocks."""

    def __init__(self, annotator: object, weight: float, blocks: list[list[int]]) -> None:
        self.annotator = annotator
        self.weight = Fraction(weight)
        self.blocks = [set(block) for block in blocks]


def opinions_by_case(said: ds.Study) -> list[list[Opinion]]:
    """Take the study apart into rankings that say something and weigh something."""
    codes = {name: code for code, name in enumerate(said.conditions)}
    cases, position = [], 0
    for rankings in said.to_rankings():
        opinions = []
        for ranking in rankings:
            annotator = int(said.annotators[position])
            who = ("nobody", position) if annotator == -1 else ("named", annotator)
            if ranking and said.weights[position] > 0:
                blocks = [[codes[name] for name in block] for block in ranking]
                opinions.append(Opinion(who, float(said.weights[position]), blocks))
            position += 1
        cases.append(opinions)
    return cases


def inverse_ranks(opinions: list[Opinion], ties: str) -> dict[int, Fraction]:
    """Sum the inverse ranks, exactly."""
    sums: dict[int, Fraction] = {}
    for opinion in opinions:
        for rank, block in enumerate(opinion.blocks, start=1):
            for code in block:
                share = Fraction(1, len(block) if ties == "shared" else 1)
                sums[code] = sums.get(code, Fraction(0)) + opinion.weight * share / rank
    return sums


def case_agreement(opinions: list[Opinion], ties: str, within: str) -> float:
    """The agreement of one case."""
    people = list(dict.fromkeys(opinion.annotator for opinion in opinions))
    if len(people) < 2:
        return float("nan")
    top, bottom = Fraction(0), Fraction(0)
    for person in people:
        own = [opinion for opinion in opinions if opinion.annotator == person]
        sums = inverse_ranks([opinion for opinion in opinions if opinion.annotator != person], ties)
        winners = [code for code, value in sums.items() if value == max(sums.values())]
        hits = Fraction(0)
        for opinion in own:
            named = set().union(*opinion.blocks) if within == "ranking" else opinion.blocks[0]
            hits += opinion.weight * Fraction(sum(code in named for code in winners), len(winners))
        total = sum((opinion.weight for opinion in own), Fraction(0))
        weight = total / len(own)
        top, bottom = top + weight * hits / total, bottom + weight
    return float(top / bottom)


def annotator_agreement(said: ds.Study, ties: str, within: str) -> list[float]:
    """The agreement of every case."""
    return [case_agreement(opinions, ties, within) for opinions in opinions_by_case(said)]


# Each with each ------------------------------------------------------------------------------------------


def pairwise_agreement(said: ds.Study, depth: int) -> list[tuple[str, str, int, float, float]]:
    """Compare every two annotators, ranking by ranking."""
    rows = []
    cases = opinions_by_case(said)
    for a, b in combinations(range(len(said.annotator_names)), 2):
        overlaps, same, weights = [], [], []
        for opinions, weight in zip(cases, said.case_weights, strict=True):
            pairs = [
                ([sorted(block) for block in one.blocks], [sorted(block) for block in other.blocks])
                for one in opinions
                for other in opinions
                if one.annotator == ("named", a) and other.annotator == ("named", b)
            ]
            if pairs:
                overlaps.append(np.mean([mean_average_overlap(*pair, depth, said.n_conditions) for pair in pairs]))
                same.append(np.mean([len({*x[0]} & {*y[0]}) / (len(x[0]) * len(y[0])) for x, y in pairs]))
                weights.append(float(weight))
        if weights:
            w = np.array(weights) / (sum(weights) or np.nan)
            names = said.annotator_names
            rows.append((names[a], names[b], len(weights), float(w @ overlaps), float(w @ same)))
    return rows


# Krippendorff's alpha ------------------------------------------------------------------------------------

Blocks = list[set[int]]
Distance = Callable[[Any, Any], float]


def first_choice_distance(a: Blocks, b: Blocks) -> float:
    """Half the sum of the absolute differences between two shared votes."""
    codes = a[0] | b[0]
    return sum(abs((k in a[0]) / len(a[0]) - (k in b[0]) / len(b[0])) for k in codes) / 2


def jaccard_distance(a: Blocks, b: Blocks) -> float:
    one, other = set().union(*a), set().union(*b)
    return 1 - len(one & other) / len(one | other)


def masi_distance(a: Blocks, b: Blocks) -> float:
    one, other = set().union(*a), set().union(*b)
    if one == other:
        monotonicity = 1.0
    elif one < other or other < one:
        monotonicity = 2 / 3
    else:
        monotonicity = 1 / 3
    return 1 - (1 - jaccard_distance(a, b)) * monotonicity


def overlap_distance(depth: int, n_conditions: int) -> Distance:
    def distance(a: Blocks, b: Blocks) -> float:
        one, other = ([sorted(block) for block in ranking] for ranking in (a, b))
        return 1 - mean_average_overlap(one, other, depth, n_conditions)

    return distance


def alpha(cases: Sequence[Sequence[Any]], distance: Distance) -> float:
    """One minus observed over expected disagreement, over all ordered pairs of different opinions."""
    units = [unit for unit in cases if len(unit) > 1]
    n = sum(len(unit) for unit in units)
    observed = 0.0
    for unit in units:
        pairs = sum(distance(unit[i], unit[j]) for i in range(len(unit)) for j in range(len(unit)) if i != j)
        observed += pairs / (len(unit) - 1) / n
    pooled = [ranking for unit in units for ranking in unit]
    total = sum(distance(pooled[i], pooled[j]) for i in range(n) for j in range(n) if i != j)
    expected = total / (n * (n - 1)) if n else 0.0
    return 1 - observed / expected if expected > 1e-14 else float("nan")


def blocks_by_case(said: ds.Study) -> list[list[Blocks]]:
    """The rankings that count, case by case."""
    return [[opinion.blocks for opinion in opinions] for opinions in opinions_by_case(said)]


def number_distance(distance: str, pooled: list[float]) -> Callable[[float, float], float]:
    """Krippendorff's squared differences as printed; the ordinal one counts values from one to the other."""

    def ordinal(a: float, b: float) -> float:
        between = sum(min(a, b) <= value <= max(a, b) for value in pooled)
        return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2

    return {
        "first-choice": lambda a, b: float(a != b),
        "ordinal": ordinal,
        "interval": lambda a, b: (a - b) ** 2,
        "ratio": lambda a, b: ((a - b) / (a + b)) ** 2 if a != b else 0.0,
    }[distance]


def alpha_of_numbers(cases: Sequence[Sequence[float]], distance: str) -> float:
    """The same of numbers."""
    units = [list(unit) for unit in cases if len(unit) > 1]
    return alpha(units, number_distance(distance, [value for unit in units for value in unit]))


# Kappas and correlations ---------------------------------------------------------------------------------

Table = list[dict[str, int]]
"""Of every case, the code that each annotator chose."""


def credit_of(a: int, b: int, n_conditions: int, credit: str) -> float:
    steps = abs(a - b) / (n_conditions - 1)
    return {"none": float(a == b), "linear": 1 - steps, "quadratic": 1 - steps**2}[credit]


def _pair_credit(table: Table, n_conditions: int, credit: str) -> float:
    """The mean over cases of the mean over pairs of their annotators."""
    by_case = [
        np.mean([credit_of(a, b, n_conditions, credit) for a, b in combinations(case.values(), 2)])
        for case in table
        if len(case) > 1
    ]
    return float(np.mean(by_case)) if by_case else float("nan")


def _prevalence(table: Table, n_conditions: int) -> list[float]:
    spoken = [list(case.values()) for case in table if case]
    return [float(np.mean([case.count(k) / len(case) for case in spoken])) for k in range(n_conditions)]


def _beyond(observed: float, chance: float) -> float:
    return (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else float("nan")


def fleiss_kappa(table: Table, n_conditions: int) -> float:
    chance = sum(share**2 for share in _prevalence(table, n_conditions))
    return _beyond(_pair_credit(table, n_conditions, "none"), chance)


def gwet_coefficient(table: Table, n_conditions: int, credit: str) -> float:
    codes = range(n_conditions)
    worth = sum(credit_of(a, b, n_conditions, credit) for a in codes for b in codes)
    guess = sum(share * (1 - share) for share in _prevalence(table, n_conditions))
    chance = worth * guess / (n_conditions * (n_conditions - 1))
    return _beyond(_pair_credit(table, n_conditions, credit), chance)


def cohen_kappa(table: Table, pair: tuple[str, str], n_conditions: int, credit: str) -> float:
    """Observed over all cases; chance over all pairs of a case of the one with a case of the other."""
    both = [(case[pair[0]], case[pair[1]]) for case in table if pair[0] in case and pair[1] in case]
    if not both:
        return float("nan")
    observed = np.mean([credit_of(a, b, n_conditions, credit) for a, b in both])
    chance = np.mean([credit_of(a, b, n_conditions, credit) for a, _ in both for _, b in both])
    return _beyond(float(observed), float(chance))


def mean_cohen_kappa(table: Table, least: int, n_conditions: int, credit: str) -> float:
    people = sorted({name for case in table for name in case})
    pairs = [pair for pair in combinations(people, 2) if sum(set(pair) <= set(case) for case in table) >= least]
    values = [cohen_kappa(table, pair, n_conditions, credit) for pair in pairs]
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def variance_components(rows: list[tuple[int, int, float]]) -> Array:
    """Henderson's first method with design matrices: traces are the expectations of quadratic forms."""
    cases, people = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
    y = np.array([row[2] for row in rows])
    z_case = np.array([[float(row[0] == case) for case in cases] for row in rows])
    z_who = np.array([[float(row[1] == who) for who in people] for row in rows])
    ones = np.ones((len(y), 1))
    onto_case, onto_who, onto_mean = (z @ np.linalg.inv(z.T @ z) @ z.T for z in (z_case, z_who, ones))
    forms = [onto_case - onto_mean, onto_who - onto_mean, np.eye(len(y)) - onto_case - onto_who + onto_mean]
    spreads = [z_case @ z_case.T, z_who @ z_who.T, np.eye(len(y))]
    expected = np.array([[np.trace(form @ spread) for spread in spreads] for form in forms])
    return np.asarray(np.linalg.solve(expected, [y @ form @ y for form in forms]))
