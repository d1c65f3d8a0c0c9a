"""Tables of single cases, draws and curves, and all estimands beside what is usually reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating, MedianRating, PlackettLuceML
from dissensus.certainty.top_sets import ANY_OTHER
from dissensus.core.aliases import FloatArray
from dissensus.core.ragged import row_of_each
from dissensus.core.spec import distinct_names
from dissensus.draws import Plausibilities
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL
from dissensus.evaluation.plan import TRUTH
from dissensus.evaluation.profiles import Profiles
from dissensus.evaluation.sums import ALL, Sums
from dissensus.metrics.base import Metric

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

# Columns that say which run a row belongs to, and what it estimates.
RUN = {"run": pl.String, "aggregation": pl.String, "reliability": pl.Float64, "estimand": pl.String}

# Columns of the tidy table.
SUMMARY = {
    **RUN,
    "model": pl.String,
    "metric": pl.String,
    **dict.fromkeys(("mean", "sd", "low", "high", "annotation_low", "annotation_high", "min", "max"), pl.Float64),
    **dict.fromkeys(
        ("case_sd", "annotator_sd", "draw_sd", "fit_sd", "family_sd", "mc_error", "point_estimate", "difference"),
        pl.Float64,
    ),
    "n_cases": pl.Int64,
    "n_draws": pl.Int64,
}


def of_runs(evaluation: Evaluation, found: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Put the columns of all runs together, and say before them which run each is of."""
    parts = []
    for run, columns in zip(evaluation.runs, found, strict=True):
        labels = (pl.lit(run.identity[name], dtype=kind).alias(name) for name, kind in RUN.items())
        parts.append(pl.DataFrame(columns).select(*labels, pl.all()))
    return pl.concat(parts)


def laid_out(
    evaluation: Evaluation,
    name: str,
    names: pl.Series | None,
    found: Iterable[Mapping[str, FloatArray]],
    metrics: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Lay out arrays (models, metrics, last) of every run; the last axis has a name, and names or numbers."""
    measures = [one.name for one in evaluation.metrics] if metrics is None else metrics
    parts = []
    for columns in list(found) or [{"mean": np.empty((0, 0, 0))} for _ in evaluation.runs]:
        model, measure, last = np.indices(next(iter(columns.values())).shape).reshape(3, -1)
        labels = {
            "model": pl.Series(evaluation.models, dtype=pl.String).gather(model),
            "metric": pl.Series(measures, dtype=pl.String).gather(measure),
            name: pl.Series(last) if names is None else names.gather(last),
        }
        parts.append({**labels, **{column: values.ravel() for column, values in columns.items()}})
    return of_runs(evaluation, parts)


def winners(conditions: tuple[str, ...], known: Profiles, top: int) -> pl.Series:
    """Name the winning set of every case; what it lacks is some unmentioned condition."""
    chosen, offsets = np.flatnonzero(known.is_member[top - 1]), known.support_offsets
    cases = row_of_each(offsets)[chosen]
    lacking = np.repeat(np.arange(len(offsets) - 1), top - np.bincount(cases, minlength=len(offsets) - 1))
    names = pl.Series([*conditions, ANY_OTHER], dtype=pl.String)
    codes = np.concatenate([known.support[chosen], np.full(len(lacking), len(conditions))])
    rows = pl.DataFrame({"case": np.concatenate([cases, lacking]), "winner": names.gather(codes)})
    return rows.sort("case", maintain_order=True).group_by("case", maintain_order=True).agg("winner")["winner"]


# Estimands and practices ----------------------------------------------------------------------------------

# The practices that every table shows, the most usual first.
USUAL: tuple[Aggregation, ...] = (MajorityVote(), InverseRank("shared"), PlackettLuceML(), MeanRating(), MedianRating())

# Why the truth is known.
SIMULATED, GIVEN = "because the study is simulated", "because it was given"

# A row of :meth:`Evaluation.to_frame`.
Result: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Beside:
    """All that is said about one model and metric, side by side.

    Attributes
    ----------
    model, metric
        What it is about.
    agreement, adjusted, panel
        The rows of the estimands, the second in the reference run; each is missing where it is not defined.
    practices
        The value against each deterministic aggregation, by its name.
    truth, truth_reason
        The value against the truth, where it is known, and why it is.
    """

    model: str
    metric: Metric
    agreement: Result | None
    adjusted: Result | None
    panel: Result | None
    practices: Mapping[str, float]
    truth: float | None
    truth_reason: str = ""

    @property
    def headline(self) -> Result:
        """The row that sentences are about: what a large panel would say, otherwise the adjusted value."""
        found = self.panel or self.adjusted
        assert found is not None, "every evaluation has a run of either kind"
        return found


def side_by_side(evaluation: Evaluation, results: pl.DataFrame) -> list[Beside]:
    """Put estimands and practices together for every model and metric, in the order of the table of results.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> result = evaluate(said, {"A": [[1, 0], [1, 0]]}, aggregations=["dirichlet:1"], draws=50)
    >>> (one,) = side_by_side(result, result.to_frame())
    >>> one.agreement["mean"], dict(one.practices)
    (0.375, {'majority vote': 0.5, 'inverse rank': 0.5, 'Plackett-Luce maximum likelihood': 0.5})
    """
    adjusted, leading = (evaluation.of_run(results, run) for run in (evaluation.reference, evaluation.headline))
    kinds = {AGREEMENT: results, ADJUSTED: adjusted, PANEL: leading, TRUTH: results}
    rows = {
        (name, row["model"], row["metric"]): row for name, frame in kinds.items() for row in of_estimand(frame, name)
    }
    known, metrics = practices(evaluation), [one.name for one in evaluation.metrics]
    simulated = [place for place, spec in enumerate(evaluation.points) if spec.id == "given-draws"]
    found = []
    for row in leading.to_dicts():
        model, name = row["model"], row["metric"]
        place = evaluation.models.index(model), metrics.index(name)
        values = [float(one[place]) for one in evaluation.point_values]
        agreed, over_draws, panel, given = (rows.get((estimand, model, name)) for estimand in kinds)
        usual = {practice: values[number] for practice, number in known.items()}
        truth = (None, "") if given is None else (given["mean"], GIVEN)
        if simulated:
            truth = values[simulated[0]], SIMULATED
        found.append(Beside(model, evaluation.metric(name), agreed, over_draws, panel, usual, *truth))
    return found


def single_values(evaluation: Evaluation, results: pl.DataFrame, metric: str) -> dict[str, dict[str, float]]:
    """Return what has no interval, by name and model: the value of the most usual practice, and the truth if known."""
    found = [one for one in side_by_side(evaluation, results) if one.metric.name == metric]
    name = next(iter(found[0].practices), "") if found else ""
    usual = {name: {one.model: one.practices[name] for one in found}} if name else {}
    truth = {one.model: one.truth for one in found if one.truth is not None}
    return {**usual, **({TRUTH: truth} if truth else {})}


def of_estimand(results: pl.DataFrame, estimand: str) -> list[Result]:
    """Return the rows of a table that estimate one thing."""
    return results.filter(results["estimand"] == estimand).to_dicts()


def practices(evaluation: Evaluation) -> dict[str, int]:
    """Name the deterministic aggregations that are shown, with their places among all that were evaluated.

    They are the usual ones, and the one that the reference run tends to.
    """
    points = evaluation.points
    wanted = [*USUAL, evaluation.runs[evaluation.reference].spec.limit]
    places = list(dict.fromkeys(points.index(spec) for spec in wanted if spec in points))
    specs = [points[place] for place in places]
    names = (told.replace(one.id, one.plain_name, 1) for told, one in zip(distinct_names(specs), specs, strict=True))
    return dict(zip(names, places, strict=True))


def called(practice: str) -> str:
    """Name a practice in a sentence.

    >>> called("majority vote"), called("inverse rank")
    ('the majority vote', 'inverse rank')
    """
    named = {spec.plain_name for spec in (MajorityVote(), MeanRating(), MedianRating())}
    return f"the {practice}" if practice in named else practice


def with_truth(evaluation: Evaluation, theta: Plausibilities) -> Evaluation:
    """Add the truth where it is known, as in a simulated study: every table of practices then shows it.

    Parameters
    ----------
    evaluation
        An evaluation with models.
    theta
        The true plausibilities of its cases, a single draw each.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["majority-vote"])
    >>> theta = ds.Plausibilities.from_draws([[[0.4, 0.6]], [[0.1, 0.9]]], conditions=["a", "b"], case_names=["x", "y"])
    >>> known = with_truth(result, theta)
    >>> side_by_side(known, known.to_frame())[0].truth
    0.5
    """
    from dissensus.aggregations.given_draws import GivenDraws
    from dissensus.evaluation.evaluator import evaluate

    given = GivenDraws(theta, name=TRUTH)
    found = evaluate(
        evaluation.study,
        evaluation.predictions,
        aggregations=[given],
        metrics=evaluation.metrics,
        annotators="fixed",
        panel=False,
    )
    key = f"point {len(evaluation.points)}"
    own = {
        ("draws", key, *name[2:]): array
        for name, array in found.sums.arrays.items()
        if name[:3] == ("draws", "run 0", *ALL)
    }
    sums = Sums({**evaluation.sums.arrays, **own})
    return replace(evaluation, points=(*evaluation.points, given), sums=sums)
