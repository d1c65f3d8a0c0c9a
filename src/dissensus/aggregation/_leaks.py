"""Models that have seen the answers: those that repeat an annotator, and those that agree with the panel too well."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dissensus.aggregation._evidence import first_shares
from dissensus.core.aliases import FloatArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations

LEAST_CASES = 20
"""An annotator must have read so many cases to be recognised."""

SAME = 0.999
"""Share of an annotator's cases in which a model that repeats it says the same."""


def first_matches(study: Annotations, model: Predictions) -> FloatArray:
    """Return how much of a model's first place every opinion names first, shape (n_opinions,); ties share it."""
    first = first_shares(model)
    n_conditions = study.n_conditions
    table = dict(
        zip(
            (model.case_of_entry * n_conditions + model.codes)[first > 0].tolist(),
            first[first > 0].tolist(),
            strict=True,
        )
    )
    blocks = study.block_offsets[:-1]
    starts, sizes = study.code_offsets[blocks], np.diff(study.code_offsets)[blocks]
    offsets = np.append(0, np.cumsum(sizes))
    ranking = row_of_each(offsets)
    codes = study.codes[starts[ranking] + np.arange(offsets[-1]) - offsets[ranking]]
    keys = study.panel.case_of_opinion[ranking] * n_conditions + codes
    shares = np.array([table.get(key, 0.0) for key in keys.tolist()])
    return weighted_counts(ranking, shares / sizes[ranking], len(blocks))


def copied_annotators(study: Annotations, models: Mapping[str, Predictions]) -> dict[str, str]:
    """Name the models that say first what an annotator said first on all cases of that annotator, and the annotator.

    An annotator whom the others repeat as well says nothing special, and is not looked at.
    """
    said = study.counted
    n_annotators = len(said.annotator_names)
    named = said.annotators != ANONYMOUS
    sizes = np.bincount(said.annotators[named], minlength=n_annotators)
    found = {}
    for name, model in models.items():
        matches = first_matches(said, model.align(said.case_names, said.conditions))
        own = weighted_counts(said.annotators[named], matches[named], n_annotators)
        others = (matches[named].sum() - own) / np.maximum(named.sum() - sizes, 1)
        is_copied = (sizes >= LEAST_CASES) & (own >= SAME * sizes) & (others < SAME)
        if is_copied.any():
            found[name] = said.annotator_names[int(np.flatnonzero(is_copied)[0])]
    return found
