"""Put an evaluation together from sums over its cases: in memory, in pieces, or from evaluations of different cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import case_positions, check_names
from dissensus.core.ragged import offsets_from_lengths
from dissensus.core.spec import distinct_names
from dissensus.evaluation.estimates import PANEL, Run
from dissensus.evaluation.labels import data_set_metrics
from dissensus.evaluation.plan import ANNOTATORS, TRUTH, Plan
from dissensus.evaluation.request import IMAGES, joined_predictions
from dissensus.evaluation.results import Evaluation, PriorRecord
from dissensus.evaluation.sums import DATA_SET, Array, CaseWeights, Name, Sums, is_of_cases
from dissensus.evaluation.tally import Profiles, is_of_places, table_entries, with_places
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

# How many conditions of a model are kept for each case.
LISTED = 10

# Why merged evaluations say nothing about a large panel: its prior is fitted to all cases at once.
MERGED = "evaluations of parts of the cases were merged"

SETTINGS = ("metrics", "runs", "points", "models", "level", "leads", "seed", "conditions", "categories", "calibration")


def assembled(
    plan: Plan,
    specs: Sequence[Aggregation],
    sums: Sums,
    *,
    study: Study,
    models: Mapping[str, Predictions],
    labels: Mapping[str, Mapping[str, str]],
    held: Sums | None = None,
    pieces: Sequence[Sums] = (),
    threads: int | None = None,
    **known: Any,
) -> Evaluation:
    """Put together what is known of all cases.

    Parameters
    ----------
    plan, specs
        What was computed, and the aggregations as they were asked for.
    sums
        Of all pieces: see :meth:`Plan.tally`.
    study, models, labels
        Opinions, predictions, and labels of cases by column, pictures among them: of the cases that are held.
    held
        Where not all cases are held, the sums of those that are.
    pieces
        Where not all cases are held, what metrics of a whole data set see of the cases of every piece.
    known
        Other fields of the evaluation.
    """
    strata = {column: of_cases for column, of_cases in labels.items() if column != IMAGES}
    if held is None:  # otherwise pieces have found what intervals are found from
        names = sums["rows", "names"].tolist()
        own_labels = {column: [of[name] for name in names] for column, of in strata.items()}
        sums = places_again(sums, study.select(names), own_labels, plan.seed)
    cases, own = None, sums
    if held is not None:  # the sums over all cases, and what is known of those that are held
        of_cases = held.only(lambda name: is_of_cases(name) and name[1] != "labels")
        own = Sums({**sums.only(lambda name: not is_of_cases(name)).arrays, **of_cases.arrays})
    if data_set_metrics(plan.metrics) and models:
        from dissensus.evaluation.influences import AllCases

        how = (len(models), study.question == "binary", own["rows", "names"].tolist(), threads or available_threads())
        cases = AllCases(plan, sums, pieces or [sums], *how)
        own = Sums({**own.arrays, **cases.entries()})
    kept = set(own["rows", "names"].tolist())
    names = [name for name in study.case_names if name in kept]
    images = labels.get(IMAGES, {})
    most = max(len(plan.conditions), LISTED) if cases else LISTED
    result = Evaluation(
        runs=_runs(specs, sums),
        points=plan.points,
        metrics=plan.metrics,
        study=study.select(names),
        conditions=plan.conditions,
        predictions={model: first_listed(said, names, most) for model, said in models.items()},
        sums=_kept(own, names),
        categories=plan.categories,
        strata={column: tuple(of[name] for name in names) for column, of in strata.items()},
        images=tuple(images[name] for name in names) if images else (),
        seed=plan.seed,
        **known,
    )
    if cases is None:
        return result
    # curves are drawn of the runs that sentences are about
    shown, named = sorted({result.headline, result.reference}), (result.models, result.conditions)
    lines = (cases.curves(result.keys[run], *named, result.runs[run].label, result.level) for run in shown)
    remarks = cases.remarks(result.keys[result.headline], result.models)
    return replace(result, lines=tuple(one for of_run in lines for one in of_run), remarks=remarks)


def places_again(sums: Sums, study: Study, strata: Mapping[str, Sequence[str]], seed: int) -> Sums:
    """Find what intervals are found from; opinions and labels are of the cases of the sums, in their order."""
    known = Sums({**sums.arrays, ("rows", "names"): np.array(study.case_names, dtype=np.str_)})
    arrays = {column: np.array(labels, dtype=np.str_) for column, labels in strata.items()}
    return with_places(known, CaseWeights.of(study.panel, seed), arrays)


def _kept(sums: Sums, names: Sequence[str]) -> Sums:
    """Put what is known of single cases into the order of these names.

    What can be found again from opinions and predictions is left out; of categories, single precision is enough.
    """
    cases, found = (
        case_positions(names, {one: i for i, one in enumerate(sums["rows", "names"].tolist())}),
        dict[Name, Array](),
    )
    for name, array in sums.arrays.items():
        if name[0] == "profile" or name[:2] in (("rows", "table"), ("rows", "names")):
            continue
        if name[0] in ("resampled", "squares") and name[2] == "category":
            found[name] = array.astype(np.float32)
        elif is_of_cases(name):
            found[name] = array[cases] if name[0] == "rows" else np.ascontiguousarray(array[..., cases])
        else:
            found[name] = array
    for key in dict.fromkeys(str(name[1]) for name in sums.names("profile")):
        parts = {str(name[2]): sums[name] for name in sums.names("profile", key)}
        found = Profiles(**parts).take(cases).entries(key) | found
    return Sums(found)


def _runs(specs: Sequence[Aggregation], sums: Sums) -> tuple[Run, ...]:
    found = []
    for place, (spec, name) in enumerate(zip(specs, run_names(specs), strict=True)):
        key = f"run {place}"
        drawn, chains = map(int, sums["least", "draws", key])
        fitted = {str(one[-1]): float(sums[one]) for one in sums.names("least", "fitted", key)}
        found.append(Run(spec, name, drawn, chains, fitted))
    return tuple(found)


def run_names(specs: Sequence[Aggregation]) -> tuple[str, ...]:
    """Name aggregations; those that models inform are called after what they estimate.

    >>> from dissensus.aggregations import PlackettLuce
    >>> run_names([PlackettLuce(), PlackettLuce(prior="informed")])
    ('plackett-luce', 'panel')
    """
    others = iter(distinct_names([spec for spec in specs if not spec.is_informed]))
    informed = [spec for spec in specs if spec.is_informed]
    several = len({spec.id for spec in informed}) > 1
    return tuple((f"{PANEL} {spec.id}" if several else PANEL) if spec.is_informed else next(others) for spec in specs)


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


# Evaluations of different cases ---------------------------------------------------------------------------


def merged(one: Evaluation, other: Evaluation) -> Evaluation:
    """Return the evaluation of the cases of both; see :meth:`Evaluation.merge`."""
    _check_mergeable(one, other)
    study = Study.concatenate([one.study, other.study])
    kept = (part.sums.only(lambda name: name[-1] != DATA_SET and not is_of_places(name)) for part in (one, other))
    named = {column: (*labels, *other.strata[column]) for column, labels in one.strata.items()}
    labels = {column: dict(zip(study.case_names, of_cases, strict=True)) for column, of_cases in named.items()}
    models = {name: joined_predictions([said, other.predictions[name]]) for name, said in one.predictions.items()}
    both = {**Sums.joined(kept).arrays, ("rows", "names"): np.array(study.case_names, dtype=np.str_)}
    if data_set_metrics(one.metrics):
        both |= table_entries(study, models, labels, study.case_names)
    images = {IMAGES: dict(zip(study.case_names, (*one.images, *other.images), strict=True))} if one.images else {}
    specs, no_tops = tuple(run.spec for run in one.runs), np.empty(0, dtype=np.int64)
    settled = (specs, one.points, one.metrics, no_tops, 1, one.categories, 0, one.seed)
    truth, alone = one.study if one.sums.names("draws", TRUTH) else None, bool(one.sums.names("draws", ANNOTATORS))
    return assembled(
        Plan(*settled, agreement=alone, truth=truth, conditions=one.conditions),
        specs,
        Sums(both),
        study=study,
        models=models,
        labels={**labels, **images},
        inputs={**one.inputs, **other.inputs},
        excluded=(*one.excluded, *other.excluded),
        n_excluded=one.n_excluded + other.n_excluded,
        n_annotators=len(study.panel.annotator_names),
        prior=None if one.prior is None else PriorRecord(reason=MERGED),
        trained_on=tuple(dict.fromkeys((*one.trained_on, *other.trained_on))),
        **{name: getattr(one, name) for name in ("calibration", "level", "leads", "versions")},
    )


def _check_mergeable(one: Evaluation, other: Evaluation) -> None:
    if one.is_sample or other.is_sample:
        raise DissensusError(
            "evaluations of studies in pieces cannot be merged",
            got="an evaluation that holds sums over all cases, and some of the cases",
            advice="add the files of the other cases to those of the study, and resume the run (--resume)",
        )
    for setting in SETTINGS:
        own, others = (_plain(getattr(each, setting)) for each in (one, other))
        if own != others:
            told = {"expected": f"{own!r:.200}", "got": f"{others!r:.200}"}
            raise DissensusError(f"evaluations with different {setting} cannot be merged", **told)
    if one.strata.keys() != other.strata.keys() or bool(one.images) != bool(other.images):
        raise DissensusError("evaluations with different columns of cases cannot be merged")
    learned = [run.label for run in one.runs if run.spec.learns]
    if learned:
        raise DissensusError(
            "evaluations cannot be merged where something was learned from all cases",
            got=listing(learned),
            advice="evaluate all cases at once, or say panel=False and give alpha a number and another prior",
        )
    check_names("case", (*one.case_names, *other.case_names))


def _plain(setting: Any) -> Any:
    """Put records in the place of specs: what stands for a metric that is not at hand equals it."""
    if isinstance(setting, tuple):
        return [_plain(one) for one in setting]
    return setting.record() if hasattr(setting, "record") else setting
