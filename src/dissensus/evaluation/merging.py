"""Put evaluations of different cases together: tallies add, cases follow each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dissensus.annotations.panel import check_names
from dissensus.errors import DissensusError
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.tally import Tally

SETTINGS = ("runs", "points", "models", "measures", "level", "seed")


def merged(one: Evaluation, other: Evaluation) -> Evaluation:
    """Return the evaluation of the cases of both; see :meth:`Evaluation.merge`."""
    for setting in SETTINGS:
        if getattr(one, setting) != getattr(other, setting):
            raise DissensusError(
                f"evaluations with different {setting} cannot be merged",
                expected=f"{getattr(one, setting)!r:.200}",
                got=f"{getattr(other, setting)!r:.200}",
            )
    check_names("case", (*one.case_names, *other.case_names))
    if one.strata.keys() != other.strata.keys():
        raise DissensusError("evaluations with different strata cannot be merged")
    return replace(
        one,
        case_names=(*one.case_names, *other.case_names),
        excluded=(*one.excluded, *other.excluded),
        tallies=_added(one.tallies, other.tallies),
        point_tallies=_added(one.point_tallies, other.point_tallies),
        case_means=np.concatenate([one.case_means, other.case_means], axis=-1),
        case_deviations=np.concatenate([one.case_deviations, other.case_deviations], axis=-1),
        strata={column: (*labels, *other.strata[column]) for column, labels in one.strata.items()},
        stratum_tallies=_merged_strata(one, other),
    )


def _added(one: tuple[Tally, ...], other: tuple[Tally, ...]) -> tuple[Tally, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _merged_strata(one: Evaluation, other: Evaluation) -> dict[tuple[str, str], tuple[Tally, ...]]:
    both = {**one.stratum_tallies, **other.stratum_tallies}
    shared = one.stratum_tallies.keys() & other.stratum_tallies.keys()
    return {**both, **{key: _added(one.stratum_tallies[key], other.stratum_tallies[key]) for key in shared}}
