"""Choose runs and rows: which part of an evaluation a picture or a sentence is about."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.results import Evaluation, Run


class OfRun(Protocol):
    """Anything that names the run it belongs to."""

    @property
    def aggregation(self) -> str:
        """Name of the aggregation."""

    @property
    def reliability(self) -> float | None:
        """Reliability, where there is one."""


def of_run(row: OfRun, run: Run) -> bool:
    """Tell whether something belongs to a run."""
    return row.aggregation == run.aggregation and row.reliability == run.reliability


def run_frame(evaluation: Evaluation, frame: pl.DataFrame, run: int) -> pl.DataFrame:
    """Keep the rows of one run."""
    import polars as pl

    one = evaluation.runs[run]
    same = pl.col("aggregation") == one.aggregation
    return frame.filter(same & pl.col("reliability").eq_missing(pl.lit(one.reliability, dtype=pl.Float64)))


def shown_runs(evaluation: Evaluation) -> list[int]:
    """Choose the runs whose cases can be looked at: the reference, and the middle run of every other aggregation."""
    own = evaluation.runs[evaluation.reference].aggregation
    sweeps: dict[str, list[int]] = {}
    for run, one in enumerate(evaluation.runs):
        sweeps.setdefault(one.aggregation, []).append(run)
    return [evaluation.reference, *(runs[len(runs) // 2] for name, runs in sweeps.items() if name != own)]


TABLES = frozenset(
    {
        "agreement",
        "by_category",
        "by_certainty",
        "category_certainties",
        "certainties",
        "compare",
        "per_draw",
        "plausibilities",
        "risks",
        "to_frame",
    }
)
"""What an evaluation computes anew whenever it is asked, and a page asks for again and again."""


class Remembered:
    """Answer like an evaluation, but compute every table only once."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._evaluation, name)
        kept = cache(answer) if name in TABLES else answer
        setattr(self, name, kept)
        return kept


def remembered(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation that computes every table only once; it must not be kept longer than the work takes."""
    return cast("Evaluation", Remembered(evaluation))
