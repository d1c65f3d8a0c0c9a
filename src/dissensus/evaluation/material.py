"""What was evaluated: opinions, what the models said first, and what is known about cases and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from dissensus.core.errors import DissensusError
from dissensus.core.names import case_positions
from dissensus.core.ragged import join_offsets, offsets_from_lengths
from dissensus.core.receipt import shared_receipt
from dissensus.core.value import Value
from dissensus.evaluation.categories import Categories
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

LISTED = 10
"""How many conditions of a model are kept for each case."""

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Material(Value):
    """Hold what single cases look like.

    Attributes
    ----------
    study
        The opinions on the evaluated cases.
    conditions
        Names of the K conditions.
    predictions
        The first conditions that each model named.
    categories
        Categories of the conditions, if there are any.
    strata
        For every column, the label of each case.
    images
        A path or address of a picture of each case; empty if there are none.
    inputs
        Hashes of the files it came from.
    """

    study: Study
    conditions: tuple[str, ...]
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    categories: Categories | None = None
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)


def first_listed(predictions: Predictions, case_names: Sequence[str], most: int = LISTED) -> Predictions:
    """Keep some cases of a model, and of each the first conditions that it lists."""
    rows = case_positions(list(case_names), predictions._positions)
    lengths = np.minimum(predictions.entries_per_case[rows], most)
    offsets = offsets_from_lengths(lengths)
    entries = np.arange(offsets[-1]) + np.repeat(predictions.offsets[rows] - offsets[:-1], lengths)
    return replace(
        predictions,
        case_names=tuple(case_names),
        offsets=offsets,
        codes=predictions.codes[entries],
        values=predictions.values[entries],
        complete=predictions.complete and predictions.n_conditions <= most,
    ).with_receipt(predictions.receipt)


def joined(one: Material, other: Material) -> Material:
    """Put the material of different cases together."""
    for what in ("conditions", "categories"):
        if getattr(one, what) != getattr(other, what):
            raise DissensusError(f"evaluations with different {what} cannot be merged")
    if one.strata.keys() != other.strata.keys() or bool(one.images) != bool(other.images):
        raise DissensusError("evaluations with different columns of cases cannot be merged")
    return Material(
        Study.concatenate([one.study, other.study]),
        one.conditions,
        {name: _joined_lists(listed, other.predictions[name]) for name, listed in one.predictions.items()},
        one.categories,
        {column: (*labels, *other.strata[column]) for column, labels in one.strata.items()},
        (*one.images, *other.images),
        {**one.inputs, **other.inputs},
    )


def _joined_lists(one: Predictions, other: Predictions) -> Predictions:
    return replace(
        one,
        case_names=(*one.case_names, *other.case_names),
        offsets=join_offsets([one.offsets, other.offsets]),
        codes=np.concatenate([one.codes, other.codes]),
        values=np.concatenate([one.values, other.values]),
        complete=one.complete and other.complete,
    ).with_receipt(shared_receipt([one, other]))
