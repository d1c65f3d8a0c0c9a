"""The support of a case: the conditions that at least one annotator mentioned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import IntArray
from dissensus.core.ragged import offsets_from_lengths

if TYPE_CHECKING:
    from dissensus.study.rankings import Annotations


@dataclass(frozen=True, eq=False)
class Support:
    """Hold the mentioned conditions of every case, ascending, and where each mention stands among them.

    Attributes
    ----------
    offsets : (n_cases + 1,)
        The support of case ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    codes : (sum of U,)
        Codes of the mentioned conditions.
    local : (n_mentions,)
        Position of each mention of the annotations within the support of its case, from 0.
    """

    offsets: IntArray
    codes: IntArray
    local: IntArray

    @property
    def sizes(self) -> IntArray:
        """Number of mentioned conditions of each case, U, shape (n_cases,)."""
        return np.diff(self.offsets)


def support_of(annotations: Annotations) -> Support:
    """Find the support of every case.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> said = Annotations.from_rankings([[[["b"], ["d"]], [["d"]]], [[["a"]]]])
    >>> support = support_of(said)
    >>> support.offsets, support.codes, support.local
    (array([0, 2, 3]), array([1, 2, 0]), array([0, 1, 1, 0]))
    """
    case = annotations.panel.case_of_opinion[annotations.ranking_of_mention]
    keys, position = np.unique(case * annotations.n_conditions + annotations.codes, return_inverse=True)
    sizes = np.bincount(keys // max(annotations.n_conditions, 1), minlength=annotations.n_cases)
    offsets = offsets_from_lengths(sizes)
    return Support(offsets, keys % max(annotations.n_conditions, 1), position - offsets[case])
