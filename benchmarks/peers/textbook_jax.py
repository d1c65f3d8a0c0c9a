"""The textbook sampler in JAX: the algorithm of textbook.py, compiled for the processor in double precision.

Every ranking is repeated as often as its reliability says, and every complete order of its mentioned conditions is
written out, padded to the same number and length; ``vmap`` goes over annotators and orders, ``scan`` over sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import permutations, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ranking = Sequence[Sequence[int]]


class Races(NamedTuple):
    """Hold the complete orders of all repeated rankings.

    Attributes
    ----------
    orders : (rankings, orders, length)
        Mentioned conditions in order of arrival; K where there is none.
    is_order : (rankings, orders)
        False for orders that only pad.
    is_behind : (rankings, K)
        Which conditions are not mentioned.
    shapes : (K,)
        Prior shape plus how often each condition was mentioned.
    """

    orders: jax.Array
    is_order: jax.Array
    is_behind: jax.Array
    shapes: jax.Array


def complete_orders(ranking: Ranking) -> list[list[int]]:
    """Write out every order of the mentioned conditions that a ranking allows."""
    return [[k for block in blocks for k in block] for blocks in product(*map(permutations, ranking))]


def races_of(rankings: Sequence[Ranking], n_conditions: int, reliability: int, alpha: float | Array) -> Races:
    """Repeat the rankings, write out their orders and pad them."""
    orders = [complete_orders(ranking) for ranking in rankings for _ in range(reliability)]
    most, length = max(map(len, orders)), max(len(some[0]) for some in orders)
    padded = np.full((len(orders), most, length), n_conditions)
    is_behind = np.ones((len(orders), n_conditions), dtype=np.bool_)
    shapes = np.zeros(n_conditions) + alpha
    for i, some in enumerate(orders):
        padded[i, : len(some), : len(some[0])] = some
        is_behind[i, some[0]] = False
        shapes[some[0]] += 1.0
    is_order = np.array([[j < len(some) for j in range(most)] for some in orders])
    return Races(jnp.asarray(padded), jnp.asarray(is_order), jnp.asarray(is_behind), jnp.asarray(shapes))


def exposure_of(
    lam: jax.Array, key: jax.Array, orders: jax.Array, is_order: jax.Array, is_behind: jax.Array
) -> jax.Array:
    """Draw how long each of the K conditions has run when the last mentioned one of a ranking arrives."""
    n_conditions = len(lam)
    order_key, time_key = jax.random.split(key)
    behind = jnp.sum(jnp.where(is_behind, lam, 0.0))
    padded = jnp.append(lam, 0.0)

    def running_of(order: jax.Array) -> jax.Array:
        running = behind + jnp.cumsum(padded[order][::-1])[::-1]
        return jnp.where(order < n_conditions, running, jnp.inf)

    running = jax.vmap(running_of)(orders)
    log_p = -jnp.sum(jnp.where(jnp.isfinite(running), jnp.log(running), 0.0), axis=1)  # prod(lam) is common to all
    chosen = jax.random.categorical(order_key, jnp.where(is_order, log_p, -jnp.inf))
    arrivals = jnp.cumsum(jax.random.exponential(time_key, orders.shape[1:]) / running[chosen])
    return jnp.full(n_conditions + 1, arrivals[-1]).at[orders[chosen]].set(arrivals)[:n_conditions]


def sweep(races: Races, lam: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Draw orders, times and then weights; return the weights as they are and normalised."""
    keys = jax.random.split(key, 1 + len(races.orders))
    exposure = jax.vmap(exposure_of, in_axes=(None, 0, 0, 0, 0))(
        lam, keys[1:], races.orders, races.is_order, races.is_behind
    )
    lam = jax.random.gamma(keys[0], races.shapes) / (1.0 + exposure.sum(axis=0))
    return lam, lam / lam.sum()


def run(races: Races, key: jax.Array, sweeps: int) -> jax.Array:
    """Run one chain; return the plausibilities of every sweep, (sweeps, K)."""
    keys = jax.random.split(key, sweeps)
    return jax.lax.scan(partial(sweep, races), jnp.ones_like(races.shapes), keys)[1]


run_compiled = jax.jit(run, static_argnames="sweeps")


def sample_textbook_jax(
    rankings: Sequence[Ranking],
    n_conditions: int,
    *,
    reliability: int,
    alpha: float | Array,
    draws: int,
    warmup: int,
    seed: int,
) -> Array:
    """Draw plausibilities of one case, (draws, K), see :func:`sample_textbook`; the first call compiles."""
    with jax.enable_x64(True):
        races = races_of(rankings, n_conditions, reliability, alpha)
        return np.asarray(run_compiled(races, jax.random.key(seed), sweeps=warmup + draws))[warmup:]
