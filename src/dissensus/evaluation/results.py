"""What came out: an immutable result that answers questions in the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.annotations.panel import equal_fields
from dissensus.errors import DissensusError, listing, suggestion
from dissensus.evaluation.tally import Tally
from dissensus.typing import FloatArray, Path

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.comparing import Comparison


@dataclass(frozen=True)
class Run:
    """One aggregation at one reliability, as it was sampled."""

    aggregation: str
    reliability: float | None
    parameters: str
    n_draws: int
    n_chains: int
    point: str | None = None
    """Name of the deterministic aggregation that is its limit, if there is one."""


@dataclass(frozen=True)
class Measure:
    """One metric, by name, and whether more of it is better."""

    name: str
    higher_is_better: bool


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Hold every metric of every model under every aggregation.

    Attributes
    ----------
    runs, points
        The aggregations that were sampled, and the deterministic ones that point estimates come from.
    models, measures
        Names of the models, and the metrics.
    case_names
        The evaluated cases.
    excluded
        Cases without any opinion.
    tallies
        For each run, sums of shape (models, metrics, n_draws).
    point_tallies
        For each deterministic aggregation, sums of shape (models, metrics, 1).
    case_means, case_deviations : (runs, models, metrics, cases)
        Mean and standard deviation over draws of every case.
    strata
        Cases by stratum: for every column, the label of each case.
    stratum_tallies
        Tallies of the runs by (column, label).
    level
        Probability that intervals hold.
    seed
        The seed of all draws.
    """

    runs: tuple[Run, ...]
    points: tuple[Run, ...]
    models: tuple[str, ...]
    measures: tuple[Measure, ...]
    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    tallies: tuple[Tally, ...]
    point_tallies: tuple[Tally, ...]
    case_means: FloatArray
    case_deviations: FloatArray
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stratum_tallies: Mapping[tuple[str, str], tuple[Tally, ...]] = field(default_factory=dict)
    level: float = 0.9
    seed: int = 0

    @property
    def n_cases(self) -> int:
        """Number of evaluated cases."""
        return len(self.case_names)

    @property
    def overall(self) -> pl.DataFrame:
        """One row per aggregation, model and metric; the same as :meth:`to_frame`."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return one tidy row per aggregation, model and metric.

        ``mean`` is the uncertainty-adjusted value. ``sd``, ``min`` and ``max`` tell how far the annotations alone move
        it, ``low`` to ``high`` is an interval for annotations and cases together, ``case_sd`` the part of the cases,
        ``mc_error`` the Monte Carlo error of ``mean``. ``optimism`` is what the point estimate adds.
        """
        import polars as pl

        rows = [row for run in range(len(self.runs)) for row in self._rows(run, self.tallies[run], self.n_cases)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def by_group(self, column: str) -> pl.DataFrame:
        """Return the same rows for each stratum of a column of cases, with the number of cases in it."""
        import polars as pl

        if column not in self.strata:
            raise DissensusError(
                f"cases have no column {column!r}",
                expected=f"one of {listing(self.strata)}" if self.strata else "evaluate(..., strata={...})",
                advice=suggestion(column, self.strata),
            )
        labels = sorted(set(self.strata[column]))
        rows = [
            {"stratum": label, **row}
            for label in labels
            for run, tally in enumerate(self.stratum_tallies[column, label])
            for row in self._rows(run, tally, self.strata[column].count(label))
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _rows(self, run: int, tally: Tally, n_cases: int) -> Iterable[dict[str, Any]]:
        point = self._point(run) if tally is self.tallies[run] else None
        for m, model in enumerate(self.models):
            for k, measure in enumerate(self.measures):
                means, resampled = tally.means[m, k], tally.resampled_means[m, k]
                row = summary_row(means, resampled, self.runs[run].n_chains, self.level)
                estimate = float(point[m, k]) if point is not None else None
                yield {
                    "aggregation": self.runs[run].aggregation,
                    "reliability": self.runs[run].reliability,
                    "model": model,
                    "metric": measure.name,
                    **row,
                    "point_estimate": estimate,
                    "optimism": self._optimism(estimate, row["mean"], measure),
                    "n_cases": n_cases,
                    "n_draws": self.runs[run].n_draws,
                }

    def _point(self, run: int) -> FloatArray | None:
        names = [point.parameters for point in self.points]
        limit = self.runs[run].point
        return self.point_tallies[names.index(limit)].means[..., 0] if limit in names else None

    @staticmethod
    def _optimism(estimate: float | None, mean: float, measure: Measure) -> float | None:
        if estimate is None:
            return None
        return estimate - mean if measure.higher_is_better else mean - estimate

    def point_estimates(self) -> pl.DataFrame:
        """Return every metric against every deterministic aggregation: what usual practice reports."""
        import polars as pl

        rows = [
            {
                "aggregation": point.parameters,
                "model": model,
                "metric": measure.name,
                "point_estimate": float(tally.means[m, k, 0]),
            }
            for point, tally in zip(self.points, self.point_tallies, strict=True)
            for m, model in enumerate(self.models)
            for k, measure in enumerate(self.measures)
        ]
        return pl.DataFrame(rows)

    def per_case(self) -> pl.DataFrame:
        """Return the mean and spread over draws of every case: one row per case, aggregation, model and metric."""
        import polars as pl

        columns = self._labels(self.case_names, "case")
        numbers = {"mean": self.case_means.ravel(), "sd": self.case_deviations.ravel()}
        return pl.DataFrame({**columns, **numbers})

    def per_draw(self) -> pl.DataFrame:
        """Return the mean over cases of every draw: one row per aggregation, model, metric and draw."""
        import polars as pl

        parts = []
        for run, tally in enumerate(self.tallies):
            draws = [str(draw) for draw in range(self.runs[run].n_draws)]
            columns = self._labels(draws, "draw", runs=[run])
            values = {"mean": tally.means.ravel(), "resampled_mean": tally.resampled_means.ravel()}
            parts.append(pl.DataFrame({**columns, **values}).with_columns(pl.col("draw").cast(pl.Int64)))
        return pl.concat(parts)

    def _labels(self, last: Sequence[str], name: str, *, runs: Sequence[int] | None = None) -> dict[str, pl.Series]:
        """Name the rows of arrays (runs, models, metrics, last) laid out flat."""
        import polars as pl

        chosen = range(len(self.runs)) if runs is None else runs
        shape = (len(chosen), len(self.models), len(self.measures), len(last))
        run, model, measure, place = (axis.ravel() for axis in np.indices(shape))
        reliability = [self.runs[r].reliability for r in chosen]
        return {
            "aggregation": pl.Series([self.runs[r].aggregation for r in chosen], dtype=pl.String).gather(run),
            "reliability": pl.Series(reliability, dtype=pl.Float64).gather(run),
            "model": pl.Series(self.models, dtype=pl.String).gather(model),
            "metric": pl.Series([measure.name for measure in self.measures], dtype=pl.String).gather(measure),
            name: pl.Series(last, dtype=pl.String).gather(place),
        }

    def compare(self) -> Comparison:
        """Compare the models with each other on the same draws and the same resampled cases."""
        from dissensus.evaluation.comparing import compared

        return compared(self)

    def merge(self, other: Evaluation) -> Evaluation:
        """Put evaluations of different cases together; models, metrics and settings must agree."""
        from dissensus.evaluation.merging import merged

        return merged(self, other)

    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Write the results into a new directory, whole or not at all; see :func:`load_evaluation`."""
        from dissensus.evaluation.storing import save_evaluation

        save_evaluation(self, directory, overwrite=overwrite)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    def __repr__(self) -> str:
        from dissensus.evaluation.wording import headline

        return headline(self)


def summary_row(means: FloatArray, resampled: FloatArray, n_chains: int, level: float) -> dict[str, float]:
    """Summarise the means over cases of every draw, as they are and with resampled cases.

    The interval of a few cases is never empty: resampling keeps the spread that single cases have.
    """
    from dissensus.aggregation.diagnostics import standard_error_of_mean

    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(resampled, tails) if not np.isnan(resampled).any() else (np.nan, np.nan)
    annotation_low, annotation_high = np.quantile(means, tails) if not np.isnan(means).any() else (np.nan, np.nan)
    case_variance = float(np.var(resampled) - np.var(means))
    return {
        "mean": float(np.mean(means)),
        "sd": float(np.std(means)),
        "low": float(low),
        "high": float(high),
        "annotation_low": float(annotation_low),
        "annotation_high": float(annotation_high),
        "min": float(np.min(means)),
        "max": float(np.max(means)),
        "case_sd": max(case_variance, 0.0) ** 0.5,
        "mc_error": standard_error_of_mean(means, n_chains),
    }
