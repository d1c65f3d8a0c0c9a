"""Plackett-Luce: maximum likelihood of partial rankings with ties."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation.base import PointAggregation
from dissensus.core.aliases import FloatArray
from dissensus.core.errors import DissensusWarning, listing
from dissensus.study.opinions import Opinions

if TYPE_CHECKING:
    from dissensus.kernels.races import Rankings


@dataclass(frozen=True)
class PlackettLuceML(PointAggregation):
    """Maximum likelihood of the Plackett-Luce model.

    Deterministic. Where the likelihood has no maximum inside the simplex, the limit of its maximising sequence is
    given: a condition that never comes before another one, directly or through a chain of others, has plausibility
    zero beside it. Its order is kept, see the notes.

    Notes
    -----
    On the way to the limit some conditions vanish faster than others. Conditions that beat each other in both
    directions, directly or through others, are on one *level*; a level below are those that only they beat, and so on.
    Wherever conditions are put in order, the level decides first, and within it the maximum likelihood of the rankings
    with all higher levels struck out. This is the order that draws of :class:`PlackettLuce` tend to.

    With ``unranked="below"`` unmentioned conditions lost against all mentioned ones and have plausibility zero. With
    ``"unobserved"`` they were not compared and have plausibility zero as well, by convention; groups of conditions
    that nobody compared with each other share the mass in proportion to their first-choice votes. A condition that
    nobody mentions comes last either way.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]]], ["a", "b", "c"])
    >>> PlackettLuceML().sample(said).mean().round(6)
    array([[0.666667, 0.333333, 0.      ]])
    >>> ranked = Study.from_rankings([[[["a"], ["b"], ["c"]]]], ["a", "b", "c", "d"])
    >>> [batch] = PlackettLuceML().sample(ranked)
    >>> batch.values, batch.order_values
    (array([1., 0., 0., 0.]), array([3., 2., 1., 0.]))
    """

    id = "plackett-luce-ml"
    meaning = "Takes the single best fit of the race model; nothing stays open."
    plain_name = "Plackett-Luce maximum likelihood"

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return self.ordered_point(opinions)[0]

    def ordered_point(self, opinions: Opinions) -> tuple[FloatArray, FloatArray]:
        """Return the plausibilities, and numbers that grow with the level of a condition and its value within."""
        from dissensus.kernels.maximum_likelihood import maximum_likelihood

        estimate = maximum_likelihood(kernel_rankings(opinions, opinions.weights), below=opinions.unranked == "below")
        if not estimate.is_converged.all():
            slow = [opinions.case_names[case] for case in np.flatnonzero(~estimate.is_converged)]
            warnings.warn(
                f"the likelihood is not quite at its maximum: {listing(slow)}", DissensusWarning, stacklevel=4
            )
        rest = opinions.support_offsets[1:] + np.arange(opinions.n_cases)
        return np.delete(estimate.values, rest), np.delete(estimate.order, rest)


def kernel_rankings(opinions: Opinions, multiplicities: FloatArray) -> Rankings:
    """Return the arrays that kernels take, each ranking counted as often as given."""
    from dissensus.kernels.races import Rankings

    return Rankings(
        opinions.support_offsets,
        opinions.ranking_offsets,
        opinions.block_offsets,
        opinions.code_offsets,
        opinions.local,
        np.ascontiguousarray(multiplicities, dtype=np.float64),
        opinions.rest_sizes,
    )
