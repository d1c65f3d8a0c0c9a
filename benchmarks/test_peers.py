"""The textbook sampler, in NumPy and in JAX, against ours: seconds for one effective draw, on a few cases."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias

import numpy as np
import pytest

from dissensus import Study
from dissensus.aggregations import PlackettLuce
from dissensus.aggregations.base import CaseSampler
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.chains import diagnose
from dissensus.kernels.race_sampler import Posterior, sample_plackett_luce
from dissensus.simulate.differential_study import simulate_study
from measuring import Record, seconds
from peers.textbook import sample_textbook
from studies import DATA, published_or_simulated

RELIABILITY, WARMUP, CHAINS = 3, 100, 3
PUBLISHED = {"a tie of three": 1026, "two conditions": 892, "typical": 21}
SIMULATED = {"a tie of three": 190, "two conditions": 319, "typical": 135}
NEEDS_JAX = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed (group peers)")


@dataclass(frozen=True)
class Case:
    """One case, as our sampler takes it and as a peer does."""

    said: Study
    rankings: list[list[list[int]]]

    @cached_property
    def support(self) -> IntArray:
        """The mentioned conditions."""
        return np.unique(list(chain.from_iterable(chain.from_iterable(self.rankings))))

    @cached_property
    def shapes(self) -> FloatArray:
        """Prior shapes under which the K conditions of a peer have our posterior: the rest shares a shape of one."""
        shapes = np.full(self.said.n_conditions, 1.0 / (self.said.n_conditions - len(self.support)))
        shapes[self.support] = 1.0
        return shapes


Peer: TypeAlias = Callable[[Case, int, int], FloatArray]
"""Draw the plausibilities of a case, (draws, K), given the number of draws and a seed."""


@dataclass(frozen=True)
class Run:
    """Draws of some chains, (chains, draws, U + 1) with the rest last, and what one sweep took."""

    draws: FloatArray
    seconds_per_sweep: float

    @property
    def seconds_per_effective_draw(self) -> float:
        """Seconds for one effective draw of whether the leading condition is above all other mentioned ones."""
        winners = self.draws[:, :, :-1].argmax(axis=2)
        is_top = (winners == np.bincount(winners.ravel()).argmax()).astype(np.float64)
        ess = diagnose(is_top[None]).mean_ess[0]
        return float(self.seconds_per_sweep * is_top.size / ess)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    """Give three of the published differential diagnoses where they are at hand, and simulated ones elsewhere."""
    if DATA.is_dir():
        said, positions = published_or_simulated(), PUBLISHED
    else:
        said = simulate_study(n_cases=400, n_conditions=419, seed=0).annotations
        positions = SIMULATED
    code = {name: k for k, name in enumerate(said.conditions)}
    alone = {kind: said.select([position]) for kind, position in positions.items()}
    return {
        kind: Case(one, [[[code[name] for name in block] for block in ranking] for ranking in one.to_rankings()[0]])
        for kind, one in alone.items()
    }


def our_sampling(case: Case, *, draws: int = 20_000) -> tuple[Callable[[], object], FloatArray]:
    """Return a function that runs one chain in one thread, and the (draws, U + 1) array that it fills."""
    aggregation = PlackettLuce(reliability=RELIABILITY, chains=1, warmup=WARMUP, alpha=1.0, prior="observed")
    sampler = aggregation.sample(case.said, draws=draws).sampler
    assert isinstance(sampler, CaseSampler)
    assert isinstance(sampler.fill, partial)
    _, posterior, keys, *_ = sampler.fill.args
    assert isinstance(posterior, Posterior)
    values = np.empty((draws, len(case.support) + 1))
    return lambda: sample_plackett_luce(posterior, keys, np.arange(1), 1, WARMUP, values.reshape(-1)), values


def work_seconds(function: Callable[[], object]) -> float:
    """Time one call by the clock or the processor, whichever is less: other programs disturb long calls more."""
    began, began_work = time.perf_counter(), time.process_time()
    function()
    return min(time.perf_counter() - began, time.process_time() - began_work)


def run_ours(case: Case) -> Run:
    draw, values = our_sampling(case)
    draw()
    best = min(work_seconds(draw) for _ in range(20))
    return Run(values[None], best / (WARMUP + len(values)))


def run_peer(sample: Peer, case: Case, *, draws: int) -> Run:
    chains = np.empty((CHAINS, draws, len(case.support) + 1))

    def run(chain: int) -> None:
        dense = sample(case, draws, chain)
        chains[chain, :, :-1] = dense[:, case.support]
        chains[chain, :, -1] = np.delete(dense, case.support, axis=1).sum(axis=1)

    best = min(work_seconds(partial(run, chain)) for chain in range(CHAINS))
    return Run(chains, best / (WARMUP + draws))


def numpy_textbook(case: Case, draws: int, seed: int) -> FloatArray:
    return sample_textbook(
        case.rankings,
        case.said.n_conditions,
        reliability=RELIABILITY,
        alpha=case.shapes,
        draws=draws,
        warmup=WARMUP,
        rng=np.random.default_rng(seed),
    )


def jax_textbook(case: Case, draws: int, seed: int) -> FloatArray:
    from peers.textbook_jax import sample_textbook_jax

    return sample_textbook_jax(
        case.rankings,
        case.said.n_conditions,
        reliability=RELIABILITY,
        alpha=case.shapes,
        draws=draws,
        warmup=WARMUP,
        seed=seed,
    )


def mean_and_error(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the posterior means and their Monte Carlo standard errors, (U + 1,) both."""
    return draws.mean(axis=(0, 1)), diagnose(np.ascontiguousarray(np.moveaxis(draws, 2, 0))).standard_error


def assert_agreement(a: Run, b: Run) -> None:
    (ours, our_error), (theirs, their_error) = mean_and_error(a.draws), mean_and_error(b.draws)
    assert (np.abs(ours - theirs) < 4.0 * np.hypot(our_error, their_error)).all()


def compare(record: Record, cases: dict[str, Case], sample: Peer, *, name: str, draws: int, **measured: object) -> None:
    """Check that the posteriors agree, and record how much longer a peer takes for one effective draw."""
    ratios, took = {}, {}
    for kind, case in cases.items():
        ours, theirs = run_ours(case), run_peer(sample, case, draws=draws)
        assert_agreement(ours, theirs)
        took[kind] = {"ours": ours.seconds_per_effective_draw, "theirs": theirs.seconds_per_effective_draw}
        ratios[kind] = took[kind]["theirs"] / took[kind]["ours"]
    record(
        what=f"{name} / ours, seconds per effective draw, geometric mean of {len(cases)} cases",
        value=float(np.exp(np.mean(np.log(list(ratios.values()))))),
        unit="times",
        ratios=ratios,
        seconds_per_effective_draw=took,
        **measured,
    )


def test_the_textbook_sampler_in_numpy(cases: dict[str, Case], record: Record) -> None:
    compare(record, cases, numpy_textbook, name="textbook sampler in NumPy", draws=300)


@NEEDS_JAX
def test_the_textbook_sampler_in_jax(cases: dict[str, Case], record: Record) -> None:
    draws = 1000
    first = {kind: seconds(partial(jax_textbook, case, draws, 0)) for kind, case in cases.items()}  # compiles
    name = "textbook sampler in JAX"
    compare(record, cases, jax_textbook, name=name, draws=draws, first_call_seconds=first)
