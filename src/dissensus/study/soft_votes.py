"""Soft votes: an annotator's confidences share one vote among the conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run, offsets_from_lengths, weighted_counts
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

SHARED = (
    "shared by their confidences: each mention is a ranking of its own, its weight its share, and numbers of "
    "rankings and Krippendorff's alpha count every mention"
)


def soft_votes(said: Study, confidences: FloatArray) -> tuple[Study, tuple[Note, ...]]:
    """Split every ranking into one ranking per mention, whose weight is its share of the confidences.

    Parameters
    ----------
    said
        Rankings by named annotators: a name is what tells that several rankings are the vote of one person.
    confidences : (n_mentions,)
        Positive numbers in the order of ``said.codes``.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], annotator_names=["Ann"])
    >>> votes, _ = soft_votes(said, np.array([3.0, 1.0]))
    >>> votes.to_rankings(), votes.weights
    ([[[['a']], [['b']]]], array([0.75, 0.25]))
    """
    spoken = said.mentions_per_ranking
    if (said.annotators[spoken > 1] == ANONYMOUS).any():
        raise DissensusError(
            "a soft vote needs the name of its annotator",
            expected="an annotator in every row, so that several rankings are known to be the vote of one person",
            got="confidences of nobody in particular",
            advice="name the column (annotator=..., --column annotator=NAME), or let confidences order (order)",
        )
    parts = np.maximum(spoken, 1)
    opinion = np.repeat(np.arange(said.n_rankings), parts)
    weights = said.weights[opinion].copy()
    is_mention = np.repeat(spoken > 0, parts)
    weights[is_mention] *= _shares(said.ranking_of_mention, confidences)
    panel = replace(
        said.panel,
        opinion_offsets=offsets_from_lengths(parts)[said.ranking_offsets],
        annotators=said.annotators[opinion],
        weights=weights,
        votes=said.votes[opinion],
    )
    one_each = np.arange(len(said.codes) + 1, dtype=np.int64)
    block_offsets = offsets_from_lengths(is_mention)
    votes = replace(said, panel=panel, block_offsets=block_offsets, code_offsets=one_each)
    return votes, (Note("soft votes", int((spoken > 0).sum()), SHARED),)


def _shares(ranking: IntArray, confidences: FloatArray) -> FloatArray:
    """Divide confidences, descending within rankings, by their sum; by the largest first, as huge ones have no sum."""
    begins = begins_run(ranking)
    scaled = confidences / confidences[begins][np.cumsum(begins) - 1]
    return np.asarray(scaled / weighted_counts(ranking, scaled, int(ranking.max(initial=0)) + 1)[ranking])
