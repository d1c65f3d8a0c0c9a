"""The aggregations that are judged unless others are given, and finer steps around the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.dawid_skene import DawidSkene
from dissensus.aggregation.dirichlet import Dirichlet
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.aggregation.plackett_luce import PlackettLuce
from dissensus.aggregation.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.study.study import Study, require_kind

RELIABILITIES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""How often an opinion counts, from distrust to what the source paper calls high trust."""

SOME = (0.5, 1.0, 2.0)

MOST_CONFUSIONS = 100_000
"""What each annotator says for each condition is learned by itself up to so many numbers: it takes time."""

GOLDEN = (math.sqrt(5) - 1) / 2


def candidates(study: Study, *, informed: bool = False) -> tuple[Aggregation, ...]:
    """Return what is judged by default: aggregations by reliability and strength of the prior.

    >>> said = Study.from_counts([[2, 1]], ["a", "b"])
    >>> len(candidates(said)), len({type(one).__name__ for one in candidates(said)})
    (23, 2)
    """
    if study.kind == "ratings":
        return of_ratings(study)
    said = require_kind(study, "rankings", "calibrate")
    specs = of_labels(said) if (said.counted.mentions_per_ranking == 1).all() else of_rankings(said)
    return (*specs, *(informed_ones(said) if informed else ()))


def of_ratings(study: Study, thresholds: tuple[float, ...] | None = None) -> tuple[Aggregation, ...]:
    """Return what is judged by default where opinions are ratings: by reliability, with shifts where there are names.

    >>> from dissensus import Study
    >>> len(of_ratings(Study.from_scores([[1, 2]])))
    8
    """
    plain = [NormalInverseGamma(thresholds, reliability=gamma) for gamma in RELIABILITIES]
    return (*plain, *(replace(spec, shifts=True) for spec in plain if study.annotator_names))


def judged_beside(study: Study, chosen: Sequence[Aggregation]) -> tuple[Aggregation, ...] | None:
    """Return what is judged where others are evaluated too: ratings are cut where those cut them.

    >>> from dissensus import Study
    >>> judged_beside(Study.from_scores([[1, 2]]), [NormalInverseGamma((2.5,))])[0].thresholds
    (2.5,)
    """
    cuts = [spec.thresholds for spec in chosen if isinstance(spec, NormalInverseGamma)]
    return of_ratings(study, cuts[0]) if study.kind == "ratings" and cuts else None


def of_rankings(study: Study) -> Iterator[Aggregation]:
    """Go through Plackett-Luce by reliability under every prior, and inverse ranks with a prior mass of a half."""
    yield from (PlackettLuce(gamma) for gamma in RELIABILITIES)
    yield from (PlackettLuce(gamma, alpha=alpha) for alpha in (0.5, 2.0, 4.0) for gamma in SOME)
    yield from (PlackettLuce(gamma, prior="observed") for gamma in RELIABILITIES)
    yield from (PlackettLuce(gamma, prior="observed", alpha=0.3) for gamma in SOME)
    yield from (PlackettLuce(gamma, prior="symmetric") for gamma in SOME)
    mass = 0.5 / study.n_conditions
    yield from (ProbabilisticInverseRank(gamma, alpha=mass) for gamma in (1.0, 3.0, 10.0, 30.0))
    yield from (ProbabilisticInverseRank(gamma, alpha=mass, scale="annotator") for gamma in (0.25, 0.5, 1.0, 2.0))
    yield ProbabilisticInverseRank()


def of_labels(study: Study) -> Iterator[Aggregation]:
    """Count by reliability under every prior; where annotators have names, weigh how good each is."""
    yield from (PlackettLuce(gamma) for gamma in RELIABILITIES)
    yield from (PlackettLuce(gamma, prior="observed") for gamma in SOME)
    yield from (Dirichlet(gamma, alpha="fitted") for gamma in SOME)
    yield from (Dirichlet(gamma, alpha=alpha) for alpha in (0.01, 0.1, 1.0) for gamma in SOME)
    if study.annotator_names and len(study.annotator_names) * study.n_conditions**2 <= MOST_CONFUSIONS:
        yield from (DawidSkene(gamma) for gamma in (0.25, 1.0))
        yield DawidSkene(target="votes")


def informed_ones(study: Study) -> Iterator[Aggregation]:
    """Let predictions inform the prior; they are judged beside the others, but estimate something of their own."""
    kind = Dirichlet if study.unranked == "unobserved" else PlackettLuce
    yield from (kind(gamma, prior="informed") for gamma in SOME)


def refine(spec: Aggregation, score: Callable[[Aggregation], float], fitted: Mapping[str, float]) -> None:
    """Ask for the score of finer steps of reliability around a spec, and then of the strength of its prior.

    Parameters
    ----------
    score
        Told every step; remembers it.
    fitted
        What a fitted parameter came to.
    """
    if getattr(spec, "reliability", None) is None:
        return
    spec = golden_section(spec, "reliability", score, factor=2.0)
    alpha = getattr(spec, "alpha", None)
    if isinstance(alpha, str) and "alpha" in fitted:
        spec = replace(spec, alpha=rounded(fitted["alpha"]))  # type: ignore[type-var]  # specs are dataclasses
    if isinstance(getattr(spec, "alpha", None), float) and spec.alpha > 0:  # type: ignore[attr-defined]
        golden_section(spec, "alpha", score, factor=4.0)


def golden_section(
    spec: Aggregation, name: str, score: Callable[[Aggregation], float], *, factor: float, steps: int = 6
) -> Aggregation:
    """Search a parameter on a logarithmic scale, within a factor of where it is; return the best that was found."""

    def at(place: float) -> tuple[float, Aggregation]:
        tried: Aggregation = replace(spec, **{name: rounded(math.exp(place))})  # type: ignore[type-var]
        return score(tried), tried

    middle = math.log(getattr(spec, name))
    low, high = middle - math.log(factor), middle + math.log(factor)
    inner = [at(high - GOLDEN * (high - low)), at(low + GOLDEN * (high - low))]
    found = [(score(spec), spec), *inner]
    for _ in range(steps - 2):
        if inner[0][0] >= inner[1][0]:
            high = low + GOLDEN * (high - low)
            inner = [at(high - GOLDEN * (high - low)), inner[0]]
        else:
            low = high - GOLDEN * (high - low)
            inner = [inner[1], at(low + GOLDEN * (high - low))]
        found.extend(inner)
    return max(found, key=lambda one: one[0])[1]


def rounded(value: float) -> float:
    """Keep three digits: more are not known.

    >>> rounded(1.23456), rounded(0.0123456)
    (1.23, 0.0123)
    """
    return float(f"{value:.3g}")
