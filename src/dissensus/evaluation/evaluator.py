"""Evaluate models against uncertain annotations, in one pass over the cases; one number alone; the paper's settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.case_prior import REFITS, known_prior
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating, MedianRating, PlackettLuceML
from dissensus.certainty.categories import Categories
from dissensus.core.aliases import FloatArray, Path, Readable
from dissensus.core.checks import check_choice, check_count, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import in_order_of_keys, known_name
from dissensus.core.output import expect
from dissensus.draws import Plausibilities
from dissensus.evaluation.annotators import AnnotatorsAre, Design, LeftOut, Piece, are_crossed
from dissensus.evaluation.assembly import assembled
from dissensus.evaluation.estimates import AGREEMENT, leading_runs
from dissensus.evaluation.expert_comparison.experts import experts_unless_incomparable
from dissensus.evaluation.plan import Plan, common_conditions, informed_by, prior_for, refuse_whole
from dissensus.evaluation.protocol import Protocol
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.request import (
    IMAGES,
    ONE,
    Questions,
    asked_questions,
    check_request,
    chosen_aggregations,
    chosen_metrics,
    default_metrics,
    listed_metrics,
    why_all_trained,
    why_no_panel,
    with_panel_unless,
)
from dissensus.evaluation.results import Evaluation, Leads, PriorRecord
from dissensus.evaluation.sums import CaseWeights, Sums
from dissensus.metrics.accuracy import AverageOverlap, SetAccuracy, TopKAccuracy
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.reading import as_study
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.calibration import Calibration

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
    truth: Mapping[str, Any] | Study | None = None,
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
        findings that are present; or a study of such answers. Models are then compared with it as well, under the run
        and the estimand ``truth``.
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
        refuse_whole([spec for spec in chosen if not spec.is_informed])
    how: dict[str, Any] = {"metrics": metrics, "primary": primary, "draws": draws, "seed": seed}
    how["categories"] = categories
    how["truth"] = None if truth is None else Questions.of(truth_of(truth, said), {}).study
    known: dict[str, Any] = {"strata": asked.strata, "trained_on": trained_on}
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


def truth_of(given: Mapping[str, Any] | Study, study: Study) -> Study:
    """Return what is known to be true as a study with an opinion per case.

    Parameters
    ----------
    given
        By name of the case a condition, of ratings a number, of checklists the findings that are present; or a study.
    study
        Whose cases it is about.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1]], ["a", "b"], case_names=["x"])
    >>> truth_of({"x": "b"}, said).n_opinions
    1
    """
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
    """Write down how much each model informs the prior; by finding, if there are findings."""
    records = {
        name: PriorRecord(
            tuple(prior.table().to_dicts()), prior.quartiles, "", prior.warnings, prior.held_out_gain, prior.are_labels
        )
        for name, prior in priors.items()
        if prior is not None
    }
    return joined_records(records) if records else PriorRecord(reason=reason)


def joined_records(records: Mapping[str, PriorRecord]) -> PriorRecord:
    """Put what is known of the priors of several findings together; of one study, it stays as it is.

    Of how many votes the priors of cases are worth, the least and the most are those of all findings, and the quartiles
    are in the middle of those of the findings.
    """
    if list(records) == [""]:
        return records[""]
    rows = [{**row, "model": f"{row['model']}, {name}"} for name, one in records.items() for row in one.models]
    worth = np.array([one.concentrations for one in records.values()])
    middle = np.median(worth[:, 1:4], axis=0).tolist()
    told = tuple(f"{name}: {text}" for name, one in records.items() for text in one.warnings)
    gains = [one.held_out_gain for one in records.values() if one.held_out_gain is not None]
    gain = float(np.mean(gains)) if len(gains) == len(records) else None
    extent = (float(worth[:, 0].min()), *middle, float(worth[:, 4].max()))
    return PriorRecord(tuple(rows), extent, "", told, gain, any(one.are_labels for one in records.values()))


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
