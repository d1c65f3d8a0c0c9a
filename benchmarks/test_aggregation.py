"""Sampling, against the random numbers alone, across reliability, conditions, ties and threads, and against peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from dissensus import Study
from dissensus.aggregations import Dirichlet, PlackettLuce, ProbabilisticInverseRank, sampling_diagnostics
from dissensus.aggregations.base import CaseSampler
from dissensus.aggregations.plackett_luce import chained_draws
from dissensus.plugins import Aggregation
from measuring import Record, in_turn, seconds
from studies import published_or_simulated

DRAWS, WARMUP = 1000, 100


@pytest.fixture(scope="module")
def said() -> Study:
    return published_or_simulated()


def sampling(aggregation: Aggregation, said: Study, *, threads: int = 1) -> Callable[[], None]:
    """Return a function that draws every case once and keeps nothing."""
    plausibilities = aggregation.sample(said, draws=DRAWS, threads=threads)

    def draw() -> None:
        for _ in plausibilities:
            pass

    return draw


def plackett_luce(reliability: float) -> PlackettLuce:
    return PlackettLuce(reliability=reliability, chains=1, warmup=WARMUP, alpha=1.0, prior="observed")


def floor(aggregation: Aggregation, said: Study, *, tight: bool) -> Callable[[], object]:
    """Return a function that draws what the sampler says it draws, and does nothing with it.

    Gammas of shape one are drawn, and counted, as exponentials; the shapes of the others are those of the posterior.
    """
    from dissensus.kernels.race_sampler import Posterior, sample_plackett_luce
    from dissensus.kernels.randomness import new_streams
    from dissensus.kernels.simplex import sample_dirichlet
    from floor import draw_variates, draw_variates_tightly

    sampler = aggregation.sample(said, draws=DRAWS).sampler
    assert isinstance(sampler, CaseSampler)
    fill = sampler.fill
    assert isinstance(fill, partial)
    keys, n_cases = np.ascontiguousarray(fill.args[2]), sampler.whole.n_cases
    values = np.empty(DRAWS * (len(sampler.whole.support) + n_cases))
    if fill.func is chained_draws:
        posterior = fill.args[1]
        assert isinstance(posterior, Posterior)
        shapes = posterior.shapes
        counts = sample_plackett_luce(posterior, keys, np.arange(n_cases), 1, WARMUP, values)
    else:
        shapes, columns = fill.args[:2]
        counts = sample_dirichlet(shapes, columns, keys, (0, n_cases), values)
    shapes = np.resize(shapes[shapes > 1.0], 1024)
    streams = new_streams()
    spreads = np.empty_like(shapes)
    draw = draw_variates_tightly if tight else draw_variates
    return lambda: draw(counts.astype(np.int64), shapes, spreads, streams)


@pytest.mark.parametrize("tight", [False, True], ids=["calls", "tight"])
def test_plackett_luce_against_its_random_numbers(said: Study, record: Record, tight: bool) -> None:
    draw = sampling(plackett_luce(3), said)
    pair = in_turn(draw, floor(plackett_luce(3), said, tight=tight))
    record_floor(
        record, "Plackett-Luce, prior observed, reliability 3, 100 + 1000 sweeps", pair.ratio, 1.6, tight=tight
    )


def record_floor(record: Record, what: str, ratio: float, limit: float, *, tight: bool) -> None:
    """Hold the sampler to the floor of one call per variate, and show the other one beside it."""
    if tight:
        record(what=f"{what} / its variates in the tightest loop", value=ratio, unit="times")
    else:
        record(what=f"{what} / its variates alone, one call each", ratio=ratio, limit=limit)


def test_effective_draws_per_second(said: Study, record: Record) -> None:
    aggregation = plackett_luce(3)
    draw = sampling(aggregation, said)
    draw()
    best = min(seconds(draw) for _ in range(5))
    ess = sampling_diagnostics(aggregation.sample(said, draws=DRAWS)).top_ess
    record(
        what="effective draws of the top-1 indicator per second, prior observed, reliability 3",
        value=float(ess.sum() / best),
        unit="1/s",
        seconds=best,
    )


@pytest.mark.parametrize("tight", [False, True], ids=["calls", "tight"])
@pytest.mark.parametrize("aggregation", [Dirichlet(), ProbabilisticInverseRank(reliability=30)], ids=["D", "PrIRN"])
def test_dirichlets_against_their_random_numbers(
    said: Study, record: Record, aggregation: Aggregation, tight: bool
) -> None:
    draw = sampling(aggregation, said)
    pair = in_turn(draw, floor(aggregation, said, tight=tight))
    record_floor(record, f"{type(aggregation).__name__}, 1000 draws", pair.ratio, 1.5, tight=tight)


def test_cost_does_not_follow_reliability(said: Study, record: Record) -> None:
    ten, one = sampling(plackett_luce(10), said), sampling(plackett_luce(1), said)
    pair = in_turn(ten, one)
    record(what="sampling, prior observed: reliability 10 / reliability 1", ratio=pair.ratio, limit=1.6)


def test_cost_does_not_follow_the_number_of_conditions(said: Study, record: Record) -> None:
    more = said.with_conditions([*said.conditions, *(f"other {i}" for i in range(100_000 - said.n_conditions))])
    many, few = sampling(plackett_luce(3), more), sampling(plackett_luce(3), said)
    pair = in_turn(many, few, rounds=12)
    record(
        what="sampling, prior observed: 100 000 conditions / as many as there are (419), same opinions",
        ratio=pair.ratio,
        limit=1.1,
    )


def tied(size: int) -> Study:
    """Build cases in which one annotator ties many conditions and another one prefers some of them."""
    rankings = [[[list(range(size))], [[case % size], [(case + 1) % size]]] for case in range(20)]
    return Study.from_rankings(rankings, 300)


def test_cost_of_a_tie_is_linear(record: Record) -> None:
    large, small = sampling(plackett_luce(1), tied(200)), sampling(plackett_luce(1), tied(20))
    pair = in_turn(large, small, rounds=3)
    record(what="sampling, prior observed: a tie of 200 conditions / of 20", ratio=pair.ratio, limit=15.0)


def test_two_threads(said: Study, record: Record) -> None:
    two, one = sampling(plackett_luce(3), said, threads=2), sampling(plackett_luce(3), said)
    pair = in_turn(two, one)
    record(what="sampling, prior observed: two threads / one thread", ratio=pair.ratio, limit=0.6)
