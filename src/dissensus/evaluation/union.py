"""Put evaluations of different cases together: tallies add, cases follow each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import check_names
from dissensus.evaluation.completion import completed
from dissensus.evaluation.data_set import Kept
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.labels import joined_labels
from dissensus.evaluation.material import joined
from dissensus.evaluation.results import Evaluation, PriorRecord, Run, Shared
from dissensus.evaluation.tally import Resamples, Sums

MERGED = "evaluations of parts of the cases were merged"
"""Why merged evaluations say nothing about a large panel: its prior is fitted to all cases at once."""

SETTINGS = ("runs", "points", "models", "level", "seed")

Key = TypeVar("Key", bound=Hashable)
Added = TypeVar("Added", bound=Sums)


def merged(one: Evaluation, other: Evaluation) -> Evaluation:
    """Return the evaluation of the cases of both; see :meth:`Evaluation.merge`."""
    _check_held(one, other)
    _check_alike("metrics", *([metric.record() for metric in each.metrics] for each in (one, other)))
    for setting in SETTINGS:
        _check_alike(setting, getattr(one, setting), getattr(other, setting))
    _check_alike("calibration", *(each.calibration and each.calibration.record() for each in (one, other)))
    _check_independent(one.runs)
    check_names("case", (*one.case_names, *other.case_names))
    both = replace(
        one,
        material=joined(one.material, other.material),
        excluded=(*one.excluded, *other.excluded),
        tallies=_added(one.tallies, other.tallies),
        point_tallies=_added(one.point_tallies, other.point_tallies),
        case_means=np.concatenate([one.case_means, other.case_means], axis=-1),
        case_deviations=np.concatenate([one.case_deviations, other.case_deviations], axis=-1),
        case_shares=_joined_shares(one, other),
        findings=tuple(Findings.concatenate(pair) for pair in zip(one.findings, other.findings, strict=True)),
        stratum_tallies=_merged(one.stratum_tallies, other.stratum_tallies),
        category_tallies=_merged(one.category_tallies, other.category_tallies),
        category_resamples=_rounded(_merged(one.category_resamples, other.category_resamples)),
        bin_tallies=tuple(_added(*pair) for pair in zip(one.bin_tallies, other.bin_tallies, strict=True)),
        annotators=tuple(None for _ in one.runs),
        fits=tuple(None for _ in one.runs),
        prior=None if one.prior is None else PriorRecord(reason=MERGED),
        shared=_shared(one.shared, other.shared),
        kept=None,
    )
    return both if one.kept is None or other.kept is None else completed(both, _kept(one.kept, other.kept))


def _kept(one: Kept, other: Kept) -> Kept:
    """Put the labels of draws of different cases together."""
    return Kept(
        tuple(joined_labels(*pair) for pair in zip(one.runs, other.runs, strict=True)),
        tuple(joined_labels(*pair) for pair in zip(one.points, other.points, strict=True)),
        None if one.votes is None or other.votes is None else one.votes + other.votes,
    )


def _shared(one: Shared | None, other: Shared | None) -> Shared | None:
    """Put the cases side by side; how far annotators move means over all cases is not known from the parts."""
    if one is None or other is None:
        return None
    return Shared(np.concatenate([one.means, other.means], axis=-1), None)


def _check_held(*parts: Evaluation) -> None:
    if any(part.whole is not None for part in parts):
        raise DissensusError(
            "evaluations of studies in shards cannot be merged",
            got="an evaluation that holds sums over all cases, and some of the cases",
            advice="add the files of the other cases to those of the study, and resume the run (--resume)",
        )


def _check_independent(runs: Sequence[Run]) -> None:
    learned = [run.label for run in runs if run.spec.learns]
    if learned:
        raise DissensusError(
            "evaluations cannot be merged where something was learned from all cases",
            got=listing(learned),
            advice="evaluate all cases at once, or say panel=False and give alpha a number and another prior",
        )


def _check_alike(setting: str, one: object, other: object) -> None:
    if one != other:
        raise DissensusError(
            f"evaluations with different {setting} cannot be merged", expected=f"{one!r:.200}", got=f"{other!r:.200}"
        )


def _rounded(resamples: Mapping[str, tuple[Resamples, ...]]) -> dict[str, tuple[Resamples, ...]]:
    return {name: tuple(one.in_single_precision() for one in of_runs) for name, of_runs in resamples.items()}


def _joined_shares(one: Evaluation, other: Evaluation) -> FloatArray:
    """Put the shares of draws side by side, in full where either side has them in full."""
    if one.case_shares.shape[:3] == other.case_shares.shape[:3]:
        return np.concatenate([one.case_shares, other.case_shares], axis=-1)
    full = [np.broadcast_to(each.case_shares, each.case_means.shape) for each in (one, other)]
    return np.concatenate(full, axis=-1)


def _added(one: tuple[Added, ...], other: tuple[Added, ...]) -> tuple[Added, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _merged(
    one: Mapping[Key, tuple[Added, ...]], other: Mapping[Key, tuple[Added, ...]]
) -> dict[Key, tuple[Added, ...]]:
    shared = one.keys() & other.keys()
    return {**one, **other, **{key: _added(one[key], other[key]) for key in shared}}
