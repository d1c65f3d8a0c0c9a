"""The exact likelihood of rankings under the Plackett-Luce model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.errors import DissensusError
from dissensus.study.opinions import check_several_conditions
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def plackett_luce_log_likelihood(annotations: Annotations, weights: ArrayLike) -> FloatArray:
    """Return the exact log-probability of the rankings of each case under the Plackett-Luce model.

    Parameters
    ----------
    annotations
        The rankings; a tie stands for all orders within it, and ``unranked`` says who competes. Weights of rankings
        multiply their log-probabilities.
    weights : (K,) or (n_cases, K)
        Positive weights of the conditions on any scale, for example plausibilities.

    Returns
    -------
    (n_cases,)
        Log-probabilities; 0 for a case without rankings.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    >>> np.exp(plackett_luce_log_likelihood(said, [3.0, 2.0, 1.0])).round(6)
    array([0.333333])
    """
    from dissensus.kernels.likelihood import LATTICE_MOST, log_likelihood

    check_several_conditions(Annotations.checked(annotations, "the likelihood"))
    return log_likelihood(
        (annotations.ranking_offsets, annotations.block_offsets, annotations.code_offsets),
        annotations.codes,
        annotations.weights,
        checked_weights(annotations, weights),
        int(annotations.unranked == "below"),
        LATTICE_MOST,
    )


def checked_weights(annotations: Annotations, weights: ArrayLike) -> FloatArray:
    """Return weights as a matrix of one row or one row per case, or say what is wrong with them."""
    given = np.ascontiguousarray(weights, dtype=np.float64)
    expected = ((annotations.n_conditions,), (annotations.n_cases, annotations.n_conditions))
    if given.shape not in expected:
        raise DissensusError(
            "the weights have the wrong shape", expected=" or ".join(map(str, expected)), got=str(given.shape)
        )
    if not ((given > 0) & np.isfinite(given)).all():
        wrong = given[~((given > 0) & np.isfinite(given))][0]
        raise DissensusError("weights must be positive and finite", got=str(wrong))
    return np.atleast_2d(given)
