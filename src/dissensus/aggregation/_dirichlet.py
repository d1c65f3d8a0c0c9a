"""Draw from Dirichlet distributions on support and rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.aggregation._priors import Shapes
from dissensus.aggregation.base import REST_STREAM, batch_of, stream_keys_of
from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.ragged import take_rows
from dissensus.draws import Batch
from dissensus.study.opinions import Opinions


@dataclass(frozen=True, eq=False)
class DirichletSampler:
    """Draw independently from Dirichlet(concentrations), the rest being one component.

    Attributes
    ----------
    concentrations : (sum of (U + 1),)
        Case after case, the rest last; all others positive.
    prior
        How the rest is split among the unmentioned conditions.
    keys : (n_cases, 2)
        Keys of the streams of the rest's split and of the draws.
    """

    opinions: Opinions
    concentrations: FloatArray
    prior: Shapes
    keys: KeyArray
    draws: int

    @staticmethod
    def of(opinions: Opinions, evidence: FloatArray, prior: Shapes, *, draws: int, seed: int) -> DirichletSampler:
        """Add the shapes of the prior to the evidence for each mentioned condition, and to nothing for the rest."""
        concentrations = np.insert(evidence + prior.mentioned, opinions.support_offsets[1:], prior.rest)
        return DirichletSampler(opinions, concentrations, prior, stream_keys_of(opinions, seed), draws)

    def __call__(self, cases: IntArray) -> Batch:
        """Draw the cases at these positions."""
        from dissensus.kernels.simplex import sample_dirichlet

        columns = self.opinions.support_offsets + np.arange(self.opinions.n_cases + 1)
        offsets, chosen = take_rows(columns, cases)
        values = np.empty(self.draws * offsets[-1])
        keys = np.ascontiguousarray(self.keys[cases, 1:])
        sample_dirichlet(self.concentrations[chosen], offsets, keys, (0, len(cases)), values)
        return batch_of(
            self.opinions,
            cases,
            values,
            draws=self.draws,
            rest_shapes=self.prior.split,
            rest_keys=self.keys[:, REST_STREAM],
            rest_sums=self.prior.sums,
        )
