"""What an aggregation is: a small frozen dataclass that turns opinions into plausibilities."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count, check_positive, check_seed
from dissensus.core.ragged import take_rows
from dissensus.draws import Batch, Plausibilities, Sampler
from dissensus.study.opinions import Opinions
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings

REST_STREAM = 0
"""Number of the random stream that splits the rest mass; chains have the numbers from 1."""


class Aggregation(ABC):
    """Turn opinions into a posterior over plausibilities."""

    def sample(
        self,
        annotations: Annotations | Ratings,
        *,
        draws: int = 1000,
        seed: int = 0,
        threads: int | None = None,
        precision: float | None = None,
    ) -> Plausibilities:
        """Draw plausibilities of every annotated case.

        Nothing is drawn yet: the result draws batch after batch when it is iterated over.

        Parameters
        ----------
        annotations
            Rankings, or ratings for aggregations of ratings.
        draws
            Draws per case. Deterministic aggregations give one.
        seed
            Same seed, same draws of a case, whatever the threads, the batches and the other cases.
        threads
            Threads that draw; by default as many as there are processors. It changes the speed only.
        precision
            Raise the number of draws until the Monte Carlo error of every case's top-1 certainty is at most this.
        """
        check_count(draws=draws)
        check_seed(seed)
        if threads is not None:
            check_count(threads=threads)
        prepared = self._prepare(annotations, draws=draws, seed=seed)
        prepared = replace(prepared, threads=threads or available_threads())
        if precision is None or prepared.n_draws == 1 < draws:
            return prepared
        return self._sharpened(annotations, prepared, seed=seed, precision=precision)

    def _sharpened(
        self, annotations: Annotations | Ratings, drawn: Plausibilities, *, seed: int, precision: float
    ) -> Plausibilities:
        """Double the draws, or more if the error calls for it, until the error is small enough."""
        from dissensus.aggregation.diagnostics import sampling_diagnostics

        check_positive(precision=precision)
        while (error := sampling_diagnostics(drawn).certainty_mcse.max(initial=0.0)) > precision:
            factor = max(2, int(np.ceil((error / precision) ** 2)))
            more = self._prepare(annotations, draws=factor * drawn.n_draws, seed=seed)
            drawn = replace(more, threads=drawn.threads)
        return drawn

    @abstractmethod
    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:
        """Check the annotations and say how each case is drawn."""


def available_threads() -> int:
    """Count the processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plausibilities_of(opinions: Opinions, sampler: Sampler, *, draws: int, chains: int = 1) -> Plausibilities:
    """Wrap a sampler of the annotated cases."""
    return Plausibilities(
        conditions=opinions.conditions,
        case_names=opinions.case_names,
        excluded=opinions.excluded,
        n_draws=draws,
        n_chains=chains,
        support_offsets=opinions.support_offsets,
        support=opinions.support,
        sampler=sampler,
    )


def stream_keys_of(opinions: Opinions, seed: int, *, chains: int = 1) -> KeyArray:
    """Return the keys of all random streams, shape (n_cases, 1 + chains); the first is that of the rest."""
    from dissensus.kernels.randomness import stream_keys

    return stream_keys(np.uint64(seed), opinions.keys, 1 + chains)


@dataclass(frozen=True, eq=False)
class PointSampler:
    """Give every case the one plausibility vector that a deterministic aggregation found for it.

    ``theta`` holds the plausibilities of the mentioned conditions of all cases side by side, shape (sum of U,).
    """

    opinions: Opinions
    theta: FloatArray

    def __call__(self, cases: IntArray) -> Batch:
        """Return the one draw of each case."""
        offsets, members = take_rows(self.opinions.support_offsets, cases)
        values = np.insert(self.theta[members], offsets[1:], 0.0)
        return batch_of(self.opinions, cases, values, draws=1)


def batch_of(
    opinions: Opinions,
    cases: IntArray,
    values: FloatArray,
    *,
    draws: int,
    chains: int = 1,
    rest_shapes: FloatArray | None = None,
    rest_keys: KeyArray | None = None,
) -> Batch:
    """Wrap the draws of some cases."""
    offsets, members = take_rows(opinions.support_offsets, cases)
    return Batch(
        case_names=tuple(opinions.case_names[i] for i in cases),
        n_conditions=len(opinions.conditions),
        n_draws=draws,
        n_chains=chains,
        support_offsets=offsets,
        support=opinions.support[members],
        values=values,
        rest_shapes=np.zeros(len(cases)) if rest_shapes is None else rest_shapes[cases],
        rest_keys=np.zeros(len(cases), dtype=np.uint64) if rest_keys is None else rest_keys[cases],
    )
