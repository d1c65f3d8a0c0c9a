"""Slow, obvious twins of the metrics, by enumeration.

A case is written out over all K conditions: the values of one draw, the scores of the model, and which conditions were
mentioned. Every way to hand the values of the unmentioned conditions out among them is equally likely, and so is every
way to break the ties, on both sides. A twin goes through all of them.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, groupby, permutations, product
from typing import TypeVar

Values = tuple[float, ...]
Mentioned = tuple[int, ...]
Order = tuple[int, ...]
Outcome = TypeVar("Outcome", bound=Hashable)


@lru_cache(maxsize=200)
def orders(values: tuple[float, ...]) -> tuple[Order, ...]:
    """Give every order of the conditions, best first, that a random break of the ties may give; equally likely."""
    ranked = sorted(range(len(values)), key=lambda c: -values[c])
    blocks = [list(block) for _, block in groupby(ranked, key=lambda c: values[c])]
    return tuple(tuple(chain(*broken)) for broken in product(*(permutations(block) for block in blocks)))


@lru_cache(maxsize=200)
def exchanged(values: tuple[float, ...], mentioned: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    """Hand the values of the unmentioned conditions out among them in every different way; equally likely."""
    others = [c for c in range(len(values)) if c not in mentioned]
    found: dict[tuple[float, ...], None] = {}
    for shuffled in permutations(values[c] for c in others):
        given = list(values)
        for c, value in zip(others, shuffled, strict=True):
            given[c] = value
        found[tuple(given)] = None
    return tuple(found)


def distribution(outcomes: Iterable[Outcome]) -> dict[Outcome, Fraction]:
    counts = Counter(outcomes)
    return {outcome: Fraction(count, counts.total()) for outcome, count in counts.items()}


Look = Callable[[Order, Values], Hashable]


def expectation(
    draw: Values, scores: Values, mentioned: Mentioned, of_draw: Look, of_model: Look, value: Callable[..., Fraction]
) -> float:
    """Average over everything that is random; ``of_draw`` and ``of_model`` say what matters of an order."""
    drawn = distribution(of_draw(order, given) for given in exchanged(draw, mentioned) for order in orders(given))
    model = distribution(of_model(order, scores) for order in orders(scores))
    return float(sum(p * q * value(one, other) for one, p in drawn.items() for other, q in model.items()))


# Orders --------------------------------------------------------------------------------------------------


def top_set(k: int) -> Look:
    return lambda order, _: frozenset(order[:k])


def top_k_accuracy(draw: Values, scores: Values, mentioned: Mentioned, k: int, j: int) -> float:
    return expectation(draw, scores, mentioned, top_set(j), top_set(k), lambda best, named: Fraction(best <= named))


def set_accuracy(draw: Values, scores: Values, mentioned: Mentioned, k: int | None) -> float:
    return of_named_sets(draw, scores, mentioned, k, lambda one, other: Fraction(one == other))


def overlap(draw: Values, scores: Values, mentioned: Mentioned, k: int | None) -> float:
    return of_named_sets(draw, scores, mentioned, k, lambda one, other: Fraction(len(one & other), len(other)))


def of_named_sets(
    draw: Values, scores: Values, mentioned: Mentioned, k: int | None, value: Callable[..., Fraction]
) -> float:
    """Compare the model's first k, or without k the conditions that it names, with as many of the draw."""
    inside = frozenset(c for c, score in enumerate(scores) if score > 0)
    if k is not None:
        return expectation(draw, scores, mentioned, top_set(k), top_set(k), value)
    if not inside:
        return 0.0
    return expectation(draw, scores, mentioned, top_set(len(inside)), lambda _, __: inside, value)


def average_overlap(draw: Values, scores: Values, mentioned: Mentioned, depth: int) -> float:
    return sum(overlap(draw, scores, mentioned, k) for k in range(1, depth + 1)) / depth


def rank_biased_overlap(draw: Values, scores: Values, mentioned: Mentioned, persistence: float, depth: int) -> float:
    weights = [persistence ** (k - 1) for k in range(1, depth + 1)]
    overlaps = [overlap(draw, scores, mentioned, k) for k in range(1, depth + 1)]
    return sum(w * o for w, o in zip(weights, overlaps, strict=True)) / sum(weights)


def category_accuracy(
    draw: Values, scores: Values, mentioned: Mentioned, categories: Sequence[Hashable], k: int
) -> float:
    return expectation(
        draw,
        scores,
        mentioned,
        lambda order, _: categories[order[0]],
        lambda order, _: frozenset(categories[c] for c in order[:k]),
        lambda category, named: Fraction(category in named),
    )


def places(k: int) -> Look:
    """Give the mean place of every condition in the list of the first k; ties within it stay ties."""

    def look(order: Order, values: Values) -> tuple[Fraction, ...]:
        found = [Fraction(k + 1 + len(order), 2)] * len(order)
        for c in order[:k]:
            tie = [i + 1 for i, other in enumerate(order[:k]) if values[other] == values[c]]
            found[c] = Fraction(sum(tie), len(tie))
        return tuple(found)

    return look


def pair_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """Count pairs: 1 if ordered oppositely, 1/2 if tied on one side only."""
    total = Fraction(0)
    for i, j in combinations(range(len(one)), 2):
        signs = (one[i] > one[j]) - (one[i] < one[j]), (other[i] > other[j]) - (other[i] < other[j])
        total += Fraction(abs(signs[0] - signs[1]), 2)
    return total


def place_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(one, other, strict=True)), Fraction(0))


Distance = Callable[[Sequence[Fraction], Sequence[Fraction]], Fraction]


@lru_cache
def farthest(n_conditions: int, k: int, distance: Distance) -> Fraction:
    """Try all pairs of lists without ties."""
    bottom = Fraction(k + 1 + n_conditions, 2)

    def placed(chosen: Sequence[int]) -> list[Fraction]:
        return [Fraction(chosen.index(c) + 1) if c in chosen else bottom for c in range(n_conditions)]

    first = placed(range(k))
    return max(distance(first, placed(chosen)) for chosen in permutations(range(n_conditions), k))


def list_similarity(draw: Values, scores: Values, mentioned: Mentioned, k: int, distance: Distance) -> float:
    most = farthest(len(draw), k, distance)
    return expectation(
        draw,
        scores,
        mentioned,
        places(k),
        places(k),
        lambda one, other: 1 - distance(one, other) / most if most else Fraction(1),
    )


# Plausibilities ------------------------------------------------------------------------------------------


def mean_over_exchanges(draw: Values, mentioned: Mentioned, value: Callable[[Values], float]) -> float:
    found = [value(given) for given in exchanged(draw, mentioned)]
    return math.fsum(found) / len(found)


def expected_accuracy(draw: Values, scores: Values, mentioned: Mentioned, k: int) -> float:
    tops = [order[:k] for order in orders(scores)]
    return mean_over_exchanges(
        draw, mentioned, lambda given: math.fsum(given[c] for top in tops for c in top) / len(tops)
    )


def probabilities(scores: Values) -> list[float]:
    total = math.fsum(scores)
    return [score / total for score in scores]


def log_score(draw: Values, scores: Values, mentioned: Mentioned, floor: float) -> float:
    raised = [max(p, floor) for p in probabilities(scores)]
    logs = [math.log(p) if p > 0 else -math.inf for p in raised]
    return mean_over_exchanges(
        draw, mentioned, lambda given: sum(theta * log for theta, log in zip(given, logs, strict=True) if theta > 0)
    )


def brier_score(draw: Values, scores: Values, mentioned: Mentioned) -> float:
    p = probabilities(scores)

    def expected(given: Values) -> float:
        return math.fsum(
            theta * math.fsum((p[c] - (c == label)) ** 2 for c in range(len(p))) for label, theta in enumerate(given)
        )

    return mean_over_exchanges(draw, mentioned, expected)


# Sets ----------------------------------------------------------------------------------------------------


def coverage(draw: Values, scores: Values, mentioned: Mentioned) -> float:
    inside = frozenset(c for c, score in enumerate(scores) if score > 0)
    drawn = distribution(order[0] for given in exchanged(draw, mentioned) for order in orders(given))
    return float(sum(p for best, p in drawn.items() if best in inside))


def expected_coverage(draw: Values, scores: Values, mentioned: Mentioned) -> float:
    return mean_over_exchanges(
        draw, mentioned, lambda given: math.fsum(theta for theta, s in zip(given, scores, strict=True) if s > 0)
    )


# Grades --------------------------------------------------------------------------------------------------


def of_true_grade(draw: Values, mentioned: Mentioned, truth: str, value: Callable[[int], float]) -> float:
    """Average a number of the true grade: the first of every order, or drawn in proportion to the plausibilities."""
    if truth == "soft":
        return mean_over_exchanges(
            draw, mentioned, lambda given: sum(p * value(grade) for grade, p in enumerate(given) if p)
        )
    firsts = distribution(order[0] for given in exchanged(draw, mentioned) for order in orders(given))
    return sum(float(p) * value(grade) for grade, p in firsts.items())


def first_of_model(scores: Values, value: Callable[[int], float]) -> float:
    return sum(float(p) * value(grade) for grade, p in distribution(order[0] for order in orders(scores)).items())


def grade_error(draw: Values, scores: Values, mentioned: Mentioned, truth: str) -> float:
    def error(true: int) -> float:
        return first_of_model(scores, lambda said: abs(said - true))

    return of_true_grade(draw, mentioned, truth, error)


def within_grades(draw: Values, scores: Values, mentioned: Mentioned, distance: int, truth: str) -> float:
    def near(true: int) -> float:
        return first_of_model(scores, lambda said: float(abs(said - true) <= distance))

    return of_true_grade(draw, mentioned, truth, near)


def ranked_probability_score(draw: Values, scores: Values, mentioned: Mentioned, truth: str) -> float:
    model = probabilities(scores)

    def score(true: int) -> float:
        limits = range(len(model) - 1)
        return sum((sum(model[: k + 1]) - (true <= k)) ** 2 for k in limits) / (len(model) - 1)

    return of_true_grade(draw, mentioned, truth, score)


def wasserstein_distance(draw: Values, scores: Values, _: Mentioned) -> float:
    """Move probability from the left to the right, grade by grade."""
    carried, moved = 0.0, 0.0
    for has, wanted in zip(probabilities(scores), draw, strict=True):
        carried += has - wanted
        moved += abs(carried)
    return moved
