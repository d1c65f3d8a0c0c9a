"""Evaluate models against uncertain annotations, in one pass over the cases; one number alone; the paper's settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.aggregations.case_prior import REFITS, known_prior
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating, MedianRating, PlackettLuceML
from dissensus.certainty.categories import Categories
from dissensus.core.arrays import FloatArray, Path
from dissensus.core.checks import check_choice, check_count, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.files import open_source
from dissensus.core.names import Readable, case_positions, check_names, in_order_of_keys
from dissensus.core.output import expect
from dissensus.core.ragged import offsets_from_lengths
from dissensus.draws import Plausibilities
from dissensus.evaluation.annotators import AnnotatorsAre, Design, LeftOut, Piece, are_crossed
from dissensus.evaluation.estimates import AGREEMENT, Run, leading_runs, run_names
from dissensus.evaluation.expert_comparison.experts import experts_unless_incomparable
from dissensus.evaluation.intervals import InformedPrior
from dissensus.evaluation.labels import data_set_metrics
from dissensus.evaluation.protocol import Protocol
from dissensus.evaluation.request import (
    IMAGES,
    ONE,
    Questions,
    asked_questions,
    check_request,
    chosen_aggregations,
    chosen_metrics,
    default_metrics,
    joined_predictions,
    listed_metrics,
    why_all_trained,
    why_no_panel,
    with_panel_unless,
)
from dissensus.evaluation.results import Evaluation, Leads, PriorRecord
from dissensus.evaluation.sums import DATA_SET, Array, CaseWeights, Name, Sums, is_of_cases
from dissensus.evaluation.tally import (
    ANNOTATORS,
    TRUTH,
    Plan,
    Profiles,
    common_conditions,
    informed_by,
    is_of_places,
    prior_for,
    refuse_whole,
    table_entries,
    with_places,
)
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.reading import as_study, examine_truth
from dissensus.study.reading.format import Options
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.calibration import Calibration


# How many conditions of a model are kept for each case.
LISTED = 10

# Why merged evaluations say nothing about a large panel: its prior is fitted to all cases at once.
MERGED = "evaluations of parts of the cases were merged"

SETTINGS = ("metrics", "runs", "points", "models", "level", "leads", "seed", "conditions", "categories", "calibration")

# Numbers of first places whose certainty is found.
TOPS = (1, 2, 3)

POINTS: tuple[Aggregation, ...] = (MajorityVote(), InverseRank("shared"), InverseRank("each"), PlackettLuceML())
# The deterministic aggregations that usual practice evaluates against.
NUMBER_POINTS: tuple[Aggregation, ...] = (MeanRating(), MedianRating())


@checked
def evaluate(
    study: Readable,
    predictions: Any = None,
    *,
    aggregations: Sequence[Aggregation | Plausibilities | str] | None = None,
    sweep: bool = False,
    metrics: Sequence[Metric | str] | None = None,
    primary: Metric | str | None = None,
    draws: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    categories: Categories | None = None,
    strata: Mapping[str, Sequence[str]] | None = None,
    images: Sequence[str] | None = None,
    level: float = 0.95,
    annotators: AnnotatorsAre | None = None,
    panel: bool | None = None,
    leads: Leads = "agreement",
    reference: Calibration | Literal["calibrated"] | None = None,
    truth: Readable | None = None,
    trained_on: Sequence[str] = (),
    margin: float | None = None,
    called: str = "annotator",
    protocol: Path | Protocol | None = None,
    allow_missing: bool = False,
    executor: object | None = None,
    advance: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate models against draws of the plausibilities rather than against one label.

    Parameters
    ----------
    study
        What the annotators said: a :class:`Study`, or whatever :func:`read` takes.
    predictions
        Model name to a path, a data frame, or :class:`Predictions`, which are aligned by the names of cases and
        conditions; or to scores (n_cases, K) in the order of the study. Of ratings, and of two answers, one number per
        case is enough: a vector, a Series or a mapping by case. Without any model, only the certainty is found.
    aggregations
        Specs, their text such as ``"plackett-luce:1,3"``, or draws that come from elsewhere
        (:meth:`Plausibilities.from_draws`). By default Plackett-Luce at reliability 1; for ratings,
        normal-inverse-gamma.
    sweep
        Evaluate against other aggregations and reliabilities as well, to see how far results depend on them:
        Plackett-Luce (1, 2, 3, 5, 10) and probabilistic inverse ranks (10, 20, 30, 50, 100); Plackett-Luce (1, 3, 10)
        where annotators choose one of two answers, or a grade. It takes about as many times longer.
    metrics
        Specs or their text such as ``"top-k-accuracy:3"``. By default top-1 and top-3 accuracy, set accuracy of 2 and
        3, average overlap of 3, and the accuracy of categories where there are any; for numbers, the mean absolute
        error, RMSE and correlation.
    primary
        The metric that verdicts are about, by its name or as in ``metrics``; the others are secondary. By default the
        first.
    draws, seed, threads
        As in :meth:`Aggregation.sample`. Models share draws and resampled cases, so differences are paired.
    categories
        Categories of conditions, such as risks, for :meth:`Evaluation.by_category`, certainty and expected risk.
    strata
        Columns of cases: name to one label per case, for :meth:`Evaluation.by_group`. The prior of the panel estimate
        has coefficients by stratum, held near those of all cases (:func:`informed_prior`); that of ratings has not.
    images
        A path or address of a picture of each case, for the report.
    level
        Probability that intervals hold.
    annotators
        ``"sample"``: other annotators like these might have been asked, and intervals say so; groups of them are left
        out in turn, of the panel estimate, the reference run and the agreement with one annotator, which takes about
        as long again; in other runs they count as fixed.
        ``"fixed"``: intervals are about these very annotators. By default a sample if at least three named annotators
        read at least ten cases that another one read as well.
    panel
        Whether to estimate what a large panel of such annotators would say, by a prior that models inform
        (:func:`informed_prior`, :func:`rating_prior`). By default if there are models and at least 100 annotated cases
        with two or more opinions on average; ``Evaluation.prior.reason`` says why not.
    leads
        What results lead with: the agreement with single annotators, or uncertainty-adjusted metrics as in the paper
        (:func:`paper`), at the middle reliability of the first aggregation.
    reference
        ``"calibrated"``: annotators who are held out choose the aggregation of the reference run (:func:`calibrate`);
        or what :func:`calibrate` found before. By default reliability 1 of the first aggregation.
    truth
        What is known to be true, by name of the case: a condition or grade, of ratings a number, of checklists the
        findings that are present; or a study, a file, a data frame or a series of such answers. Models are then
        compared with it as well, under the run and the estimand ``truth``.
    trained_on
        Names of models that were trained on these annotations, or on some of them. They are evaluated, but do not
        inform the prior of the panel estimate, and ``Evaluation.trained_on`` names them.
    margin
        How much worse than one annotator a model may be to count as non-inferior, in units of the primary metric; see
        :func:`experts`, which every evaluation with models holds (``Evaluation.experts``).
    called
        What an annotator is called, such as "radiologist".
    protocol
        A file that was written before the data were seen (``dissensus protocol`` writes one): what it settles holds
        where nothing else is given here, its text is kept, and what deviates from it is said.
    allow_missing
        Evaluate the cases that all models have, instead of refusing models that lack some.
    executor
        Where cases are evaluated: an executor of :mod:`concurrent.futures` or a client of :mod:`dask.distributed`; by
        default in this process. It changes the speed only.
    advance
        Told the number of cases done, aggregation by aggregation; how many there are is told to its ``expect``, if it
        has one (:class:`~dissensus.core.output.Watched`).

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import PlackettLuce
    >>> from dissensus.metrics import TopKAccuracy
    >>> said = Study.from_rankings([[[["a"], ["b"]], [["b"]]], [[["c"]]]], ["a", "b", "c"])
    >>> result = evaluate(said, {"A": [[3, 2, 1], [0, 1, 2]]}, aggregations=[PlackettLuce(3)],
    ...                   metrics=[TopKAccuracy(1)], draws=2000)
    >>> row = result.to_frame().row(0, named=True)
    >>> round(row["mean"], 1), row["point_estimate"]
    (0.6, 0.75)
    """
    if protocol is not None:
        given = {name: value for name, value in locals().items() if name != "protocol"}
        settled, agreed = Protocol.of(protocol).settled(given)
        return replace(evaluate(**{**given, **settled}), protocol=agreed)
    check_choice("leads", leads, get_args(Leads))
    if threads is not None:
        check_count(threads=threads)
    if primary is not None:
        listed_metrics([primary])
    columns = {**(strata or {}), **({} if images is None else {IMAGES: images})}
    said = as_study(study)
    asked = asked_questions(said, predictions, columns, allow_missing=allow_missing)
    study, models = asked.study, asked.models
    chosen, trust = chosen_aggregations(aggregations, said.question, sweep=sweep), None
    if reference is not None:
        from dissensus.evaluation.calibration import calibrated

        trust = calibrated(reference, study, models, chosen, seed=seed, threads=threads, advance=advance)
        chosen = chosen if trust.best in chosen else (trust.best, *chosen)
    reasons = [why_all_trained(trained_on, models)]
    reasons += [why_no_panel(*asked.of_part(rows)) for rows in asked.parts.values()]
    chosen, reason = with_panel_unless(next(filter(None, reasons), ""), study, chosen, panel)
    if executor is not None:
        refuse_whole([spec for spec in chosen if not spec.is_informed], "by an executor", "leave the executor out")
    known: dict[str, Any] = {"strata": asked.strata, "trained_on": trained_on}
    how: dict[str, Any] = {"metrics": metrics, "primary": primary, "draws": draws, "seed": seed}
    how |= {"categories": categories, "truth": None if truth is None else Questions.of(truth_of(truth, said), {}).study}
    pieces = [learned_from(*asked.of_part(rows), chosen, known, **how) for rows in asked.parts.values()]
    plan = pieces[0].plan
    check_request(plan.metrics, models, level)
    how = {"margin": margin, "called": called, "level": level, **known}
    beside = experts_unless_incomparable(study, models, plan.metrics, **how) if models else None
    design = design_of(study, annotators) if models else None
    leading = sorted({*leading_runs(chosen, leads, None if trust is None else trust.best)})
    again = 0 if design is None else len(leading) * len(design.case)
    expect(advance, "evaluating", len(chosen) * study.n_cases + again, again=again)
    run: dict[str, Any] = {"threads": threads, "executor": executor, "advance": advance, "places": False}
    sums = Sums.joined(one.plan.tally(one.study, one.models, asked.strata, **run) for one in pieces)
    left = None if design is None else LeftOut(pieces, models, design, asked.strata, leading, threads)
    evaluated = set(sums["rows", "names"].tolist())
    lost = tuple(name for name in study.case_names if name not in evaluated)
    priors = {name: one.prior for name, one in zip(asked.parts, pieces, strict=True)}
    return assembled(
        plan,
        chosen,
        sums,
        study=study,
        models=models,
        labels=asked.labels,
        threads=threads,
        excluded=lost,
        n_excluded=len(lost),
        n_annotators=len(study.panel.annotator_names),
        moved={} if left is None else left.spreads(advance),
        prior=prior_record(priors, reason) if models else None,
        calibration=trust,
        trained_on=tuple(trained_on),
        experts=beside,
        level=level,
        leads=leads,
    )


def truth_of(given: Readable, study: Study) -> Study:
    """Return what is known to be true as a study with an opinion per case.

    Parameters
    ----------
    given
        By name of the case a condition, of ratings a number, of checklists the findings that are present; or a study, a
        file, a data frame, or a series whose index names the cases.
    study
        Whose cases it is about.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1]], ["a", "b"], case_names=["x"])
    >>> truth_of({"x": "b"}, said).n_opinions
    1
    """
    if isinstance(given, str | PathLike) or hasattr(given, "columns"):
        given = examine_truth(open_source(given), study, options=Options()).study
    elif hasattr(given, "index") and hasattr(given, "dtype"):
        given = dict(zip(map(str, given.index), given.tolist(), strict=True))
    if not isinstance(given, Mapping | Study):
        expected = "a mapping from cases, a study, a file, a data frame, or a series whose index names the cases"
        raise DissensusError("truth is not of the right kind", expected=expected, got=type(given).__name__)
    counts = study.counted.panel.votes_per_case
    known = set(given.case_names if isinstance(given, Study) else given)
    lacking = [name for name, n in zip(study.case_names, counts, strict=True) if n and name not in known]
    if lacking:
        raise DissensusError(
            "the truth of some cases is not given",
            got=f"{len(lacking)} without: {listing(lacking)}",
            advice="leave these cases out, or leave truth out",
        )
    if isinstance(given, Study):
        panel = given.counted.panel
        again = [name for name, n in zip(given.case_names, panel.votes_per_case, strict=True) if n > 1]
        if given.kind != study.kind or again:
            raise DissensusError(
                "the truth is not one answer per case",
                expected=f"{study.kind} of one annotator, as the study holds {study.kind}",
                got=f"several answers for {listing(again)}" if again else given.kind,
            )
        return given
    names = [name for name in study.case_names if name in given]
    found: list[Any] = [given[name] for name in names]
    if study.kind == "ratings":
        return Study.from_scores([[float(value)] for value in found], case_names=names)
    if study.kind == "checklists":
        return Study.from_sets([[set(values)] for values in found], study.findings, case_names=names)
    for value in found:
        known_name("condition", str(value), study.conditions)
    said, question = [[[[str(value)]]] for value in found], cast("Any", study.question)
    return Study.from_rankings(said, study.conditions, case_names=names, question=question)


def learned_from(
    study: Study,
    models: Mapping[str, Predictions],
    chosen: tuple[Aggregation, ...],
    known: Mapping[str, Any],
    **how: Any,
) -> Piece:
    """Learn what is learned from all of these cases, and settle what is computed.

    What is ``known`` is passed to :func:`prior_for`, ``how`` to :func:`plan_of`.
    """
    study = study.select(in_order_of_keys(study.case_names))
    prior = known_prior(chosen)
    if prior is None and any(spec.is_informed for spec in chosen):
        if not models:
            raise DissensusError("the prior 'informed' needs models", expected="predictions of at least one model")
        prior = prior_for(chosen, study, models, **known)
    informed = tuple(informed_by(spec, prior) for spec in chosen)
    sampling = {"draws": how["draws"], "seed": how["seed"], "threads": 1}
    conditions = common_conditions([spec.sample(study, **sampling) for spec in informed])
    refits = refits_of(informed, study, models, how["seed"])
    return Piece(plan_of(informed, study, models, conditions, refits=refits, **how), study, models, prior)


def plan_of(
    aggregations: tuple[Aggregation, ...],
    study: Study,
    models: Mapping[str, Predictions],
    conditions: tuple[str, ...],
    *,
    metrics: Sequence[Metric | str] | None,
    primary: Metric | str | None = None,
    categories: Categories | None,
    draws: int,
    seed: int,
    refits: FloatArray | None,
    truth: Study | None = None,
) -> Plan:
    """Settle what is computed on a study, or pieces of it; models say how many places of a draw matter."""
    grouping = None if categories is None else categories.aligned(conditions)
    numeric = any(model.kind == "numbers" for model in models.values())
    known = {} if grouping is None else {"categories": grouping.labels}
    wanted = default_metrics(study, models, conditions, grouping) if metrics is None else listed_metrics(metrics)
    measured = chosen_metrics(wanted, primary, study, models, known) if models else ()
    tops = np.array([top for top in TOPS if top < len(conditions)], dtype=np.int64)
    usual = [*(POINTS if study.question == "conditions" else POINTS[:1]), *(NUMBER_POINTS if numeric else ())]
    usual += [spec.limit for spec in aggregations if spec.limit is not None]
    points = tuple(dict.fromkeys(spec for spec in usual if spec.needs == study.kind)) if models else ()
    deepest = (metric.depth_for(model) for metric in measured for model in models.values())
    depth = int(max([1, *tops, *deepest]))
    alone = bool(models) and study.kind in ("rankings", "ratings") and (study.kind == "ratings") == numeric
    settled = (aggregations, points, measured, tops, depth, grouping, draws, seed, refits)
    return Plan(*settled, agreement=alone, truth=truth if models else None, conditions=conditions)


def refits_of(
    specs: Sequence[Aggregation], study: Study, models: Mapping[str, Predictions], seed: int
) -> FloatArray | None:
    """Refit the prior that models inform to resampled cases, shape (n_refits, n_coefficients), if there is one."""
    prior = known_prior(specs)
    if prior is None or not models:
        return None
    cases = study.panel.positions(list(prior.case_names))
    return prior.refitted(CaseWeights.of(study.panel, seed).bootstrap(cases, REFITS).T)


def prior_record(priors: Mapping[str, InformedPrior | None], reason: str) -> PriorRecord:
    """Write down how much each model informs the prior; by finding, if there are findings.

    Of how many votes the priors of cases are worth, the least and the most are those of all findings, and the quartiles
    are in the middle of those of the findings.
    """
    known = {name: prior for name, prior in priors.items() if prior is not None}
    if not known:
        return PriorRecord(reason=reason)
    rows = [(name, row) for name, one in known.items() for row in one.table().to_dicts()]
    named = ({**row, "model": f"{row['model']}, {name}"} if name else row for name, row in rows)
    worth = np.array([one.quartiles for one in known.values()])
    extent = (float(worth[:, 0].min()), *np.median(worth[:, 1:4], axis=0).tolist(), float(worth[:, 4].max()))
    told = tuple(f"{name}: {text}" if name else text for name, one in known.items() for text in one.warnings)
    gains = [one.held_out_gain for one in known.values() if one.held_out_gain is not None]
    gain = float(np.mean(gains)) if len(gains) == len(known) else None
    return PriorRecord(tuple(named), extent, "", told, gain, any(one.are_labels for one in known.values()))


def design_of(study: Study, annotators: AnnotatorsAre | None) -> Design | None:
    """Return how annotators are left out; nothing if they count as fixed."""
    if annotators is not None:
        check_choice("annotators", annotators, get_args(AnnotatorsAre))
    if annotators == "fixed" or (annotators is None and not are_crossed(study)):
        return None
    design = Design.of(study)
    if len(np.unique(design.group)) < 2:
        raise DissensusError(
            "these annotators cannot be taken as a sample",
            expected="at least two named annotators, each of whom read a case that others read too",
            advice="say annotators='fixed' (--annotators fixed)",
        )
    return design


# Sums put together -------------------------------------------------------------------------------------


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
        sums = with_places(sums, study, strata, plan.seed, threads)
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


# One number, and the paper ------------------------------------------------------------------------------

# What a score is against: one annotator, taken at random, or the majority vote (of ratings, their mean).
Against: TypeAlias = Literal["annotator", "majority"]


class Score(NamedTuple):
    """The value of a metric, and the interval in which it lies on cases like these."""

    value: float
    low: float
    high: float


def score(
    study: Readable,
    predictions: Any,
    metric: Metric | str,
    *,
    against: Against = "annotator",
    level: float = 0.95,
    seed: int = 0,
) -> Score:
    """Return a metric of one model with its interval.

    Parameters
    ----------
    study, predictions
        As in :func:`evaluate`, of one model.
    metric
        A spec or any of its names, such as ``"accuracy"``, ``"auc"`` or ``"top-3 accuracy"``.
    against
        One ``"annotator"`` of each case, taken at random, or the ``"majority"`` vote (of ratings, their mean).
    level
        Probability that the interval holds.
    seed
        Same seed, same resamples.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["no", "yes"], question="binary")
    >>> found = ds.score(said, [0.1, 0.8] * 10, "accuracy")
    >>> found.value, found.low < found.value < found.high
    (0.875, True)
    """
    check_choice("against", against, get_args(Against))
    said = as_study(study)
    point = "mean-rating" if said.kind == "ratings" else "majority-vote"
    one = {ONE: predictions}
    result = evaluate(said, one, aggregations=[point], metrics=[metric], panel=False, level=level, seed=seed)
    rows = [row for row in result.to_frame().to_dicts() if (row["estimand"] == AGREEMENT) == (against == "annotator")]
    if not rows or math.isnan(rows[0]["mean"]):
        raise DissensusError(
            f"{result.metrics[0].name} has no value against one {against}",
            advice="say against='majority'" if against == "annotator" else "choose another metric",
        )
    return Score(*(float(rows[0][name]) for name in ("mean", "low", "high")))


def paper() -> dict[str, Any]:
    """Return the settings of the paper as arguments of :func:`evaluate`.

    Plackett-Luce with shape 1 of the observed conditions and of all others together, and probabilistic inverse ranks
    that give every tied condition the full weight of its rank (as the printed numbers do; the equation of the paper
    shares it), each at five reliabilities; the metrics of its main figure; no panel estimate; annotators as they are.
    Uncertainty-adjusted metrics lead, at the middle reliability, which the paper calls medium. Draws per case are 1000
    as by default. The paper has no intervals over cases: their level is the default.

    Examples
    --------
    >>> import dissensus as ds
    >>> simulated = ds.simulate.study(n_cases=20)
    >>> result = ds.evaluate(simulated.annotations, simulated.predictions, draws=100, **ds.paper())
    >>> [run.label for run in result.runs][:3], result.run_label(result.headline)
    (['plackett-luce 1', 'plackett-luce 2', 'plackett-luce 3'], 'plackett-luce 3')
    >>> [metric.name for metric in result.metrics]
    ['top-3 accuracy', 'top-2 set accuracy', 'top-3 set accuracy', 'average overlap at 3']
    """
    from dissensus.aggregations.dirichlet import ProbabilisticInverseRank
    from dissensus.metrics import AverageOverlap, SetAccuracy, TopKAccuracy

    return {
        "aggregations": (
            *(PlackettLuce(reliability=gamma, alpha=1.0, prior="observed") for gamma in (1, 2, 3, 5, 10)),
            *(ProbabilisticInverseRank(reliability=gamma, ties="each") for gamma in (10, 20, 30, 50, 100)),
        ),
        "metrics": (TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3)),
        "annotators": "fixed",
        "panel": False,
        "leads": "adjusted",
    }
