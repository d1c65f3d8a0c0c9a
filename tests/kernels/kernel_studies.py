"""Small studies for the tests of the kernels, from nested lists to posteriors and draws."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt

from dissensus.kernels.jit import RULES
from dissensus.kernels.race_sampler import (
    LATTICE_MOST,
    plackett_luce_posterior,
    sample_plackett_luce,
    tempered_posterior,
)
from dissensus.kernels.races import Rankings, group_rankings
from dissensus.kernels.randomness import stream_keys

Nested = Sequence[Sequence[Sequence[Sequence[int]]]]
Array = npt.NDArray[np.float64]


CHAINS, DRAWS = 40, 1500
"""Error bounds are 4 standard errors, estimated from 40 independent chains: a false alarm has a probability of 3e-4 per
number compared (t distribution, 39 degrees of freedom). Seeds are fixed."""


def assert_close(means: Array, expected: Array) -> None:
    """Compare the average of (chains, ...) with the truth."""
    error = means.mean(axis=0) - expected
    standard_error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    assert (np.abs(error) <= 4 * standard_error + 1e-12).all(), error / standard_error


def assert_same(one: Array, other: Array) -> None:
    """Compare two averages of (chains, ...)."""
    error = one.mean(axis=0) - other.mean(axis=0)
    variance = one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other)
    assert (np.abs(error) <= 4 * np.sqrt(variance) + 1e-12).all(), error / np.sqrt(variance)


def from_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that only kernels call a way in from Python."""
    return cast(Callable[..., Any], numba.njit(**RULES)(getattr(kernel, "py_func", kernel)))


def offsets(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """Turn lengths into offsets."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)


def rankings_of_cases(cases: Nested, n_conditions: int, reliability: float = 1.0) -> Rankings:
    """Number the conditions of each case by their place in its support."""
    supports = [sorted({k for r in case for b in r for k in b}) for case in cases]
    local = [
        support.index(k) for case, support in zip(cases, supports, strict=True) for r in case for b in r for k in b
    ]
    return Rankings(
        support_offsets=offsets([len(support) for support in supports]),
        ranking_offsets=offsets([len(case) for case in cases]),
        block_offsets=offsets([len(r) for case in cases for r in case]),
        code_offsets=offsets([len(b) for case in cases for r in case for b in r]),
        codes=np.array(local, dtype=np.int64),
        multiplicities=np.full(sum(len(case) for case in cases), reliability),
        n_unmentioned=np.array([n_conditions - len(support) for support in supports], dtype=np.int64),
    )


def posterior_of(
    cases: Nested,
    n_conditions: int,
    reliability: float = 1.0,
    *,
    prior: str = "observed",
    alpha: float = 1.0,
    below: bool = True,
    lattice_most: int = LATTICE_MOST,
    power: float | None = None,
) -> Any:
    """Group the rankings and join them with the prior; with a power, the posterior is the tempered one."""
    rankings = rankings_of_cases(cases, n_conditions, reliability)
    races = group_rankings(rankings, below=below)
    shapes = np.full(races.column_offsets[-1], alpha)
    rest = alpha * (rankings.n_unmentioned > 0 if prior == "observed" else rankings.n_unmentioned)
    shapes[races.column_offsets[1:] - 1] = rest
    if power is not None:
        return tempered_posterior(races, shapes, power, lattice_most=lattice_most)
    return plackett_luce_posterior(races, shapes, lattice_most=lattice_most)


def sample(posterior: Any, *, chains: int = 1, draws: int, warmup: int = 100, seed: int = 1) -> Array:
    """Draw the only case, shape (chains, draws, U + 1)."""
    keys = stream_keys(np.uint64(seed), np.zeros(1, dtype=np.uint64), chains)
    values = np.empty(chains * draws * len(posterior.shapes))
    sample_plackett_luce(posterior, keys, np.arange(1), chains, warmup, values)
    return values.reshape(chains, draws, -1)


def chain_means(posterior: Any, *, seed: int, draws: int = DRAWS, moment: int = 1) -> tuple[Array, Array]:
    """Mean plausibilities, or other moments, and top-1 frequencies of each of several chains, (chains, U + 1) both."""
    values = sample(posterior, chains=CHAINS, draws=draws, seed=seed)
    is_top = values == values.max(axis=-1, keepdims=True)
    return (values**moment).mean(axis=1), is_top.mean(axis=1)
