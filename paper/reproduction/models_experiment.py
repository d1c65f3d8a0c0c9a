"""The main figure: four models over all reliabilities, their spread over draws, and whether their order holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dissensus.aggregations.base import Aggregation
from dissensus.core.arrays import FloatArray
from dissensus.evaluation.estimates import ADJUSTED
from dissensus.evaluation.evaluator import evaluate, paper
from dissensus.metrics.accuracy import TopKAccuracy
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from paper.data.dermatology import Dermatology
from paper.reproduction import model_claims
from paper.reproduction.certainty_claims import mean_certainties
from paper.reproduction.model_claims import TOP3, ModelClaims, other_stand_ins_row
from paper.reproduction.paper_runs import MEDIUM, SWEEP
from paper.reproduction.rows import Row, Section, Settings
from paper.reproduction.stand_ins import by_races, stand_ins

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.results import Evaluation

TITLE = model_claims.TITLE
METRICS: tuple[Metric, ...] = (*paper()["metrics"], TopKAccuracy(1))
"""Those of the main figure, and top-1 accuracy, which is like for like with certainty."""


def models_section(data: Dermatology, settings: Settings) -> Section:
    """Evaluate the published models, or stand-ins, over all reliabilities."""
    said, published = data.annotations, data.has_published_models
    models = data.predictions if published else stand_ins(said, seed=settings.seed)
    medium = _evaluated(said, models, MEDIUM, settings.draws, settings)
    others = [one for one in SWEEP if one not in MEDIUM]
    table = _joined(_adjusted(medium), _adjusted(_evaluated(said, models, others, settings.sweep_draws, settings)))
    cases = _shown(medium.per_case())
    claims = ModelClaims(
        table,
        mean_certainties(medium.certainties()),
        cases.filter(cases["model"] == medium.models[0])["mean"].to_numpy(),
        changed_pairs(medium),
        are_published=published,
        settings=settings,
    )
    rows = claims.rows() if published else [*claims.rows(), _made_otherwise(said, settings)]
    return Section(
        TITLE, tuple(rows), {"models": table, "models_draws": _shown(medium.per_draw()), "models_cases": cases}
    )


def _evaluated(
    said: Study,
    models: Mapping[str, FloatArray | Predictions] | Mapping[str, FloatArray] | Mapping[str, Predictions],
    aggregations: Sequence[Aggregation],
    draws: int,
    settings: Settings,
) -> Evaluation:
    asked = {**paper(), "aggregations": aggregations, "metrics": METRICS}
    return evaluate(said, models, draws=draws, seed=settings.seed, threads=settings.threads, **asked)


def _adjusted(evaluation: Evaluation) -> pl.DataFrame:
    return evaluation.to_frame().filter(estimand=ADJUSTED)


def _joined(*frames: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return pl.concat(frames).sort("aggregation", "reliability", maintain_order=True)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep top-3 accuracy under Plackett-Luce, which the paper shows per case and per draw."""
    return rows.filter((rows["metric"] == TOP3) & (rows["aggregation"] == MEDIUM[0].id))


def changed_pairs(medium: Evaluation) -> int:
    """Count the pairs of models whose order by mean is not the same everywhere, whether or not it can be told."""
    leaders: dict[frozenset[str], set[str]] = {}
    for found in medium.compare().differences:
        if found.estimand == ADJUSTED and found.probability_better != 0.5:
            best = found.first if found.probability_better > 0.5 else found.second
            leaders.setdefault(frozenset((found.first, found.second)), set()).add(best)
    return sum(len(both) > 1 for both in leaders.values())


def _made_otherwise(said: Study, settings: Settings) -> Row:
    """Evaluate stand-ins that are made from draws of Plackett-Luce: what they say of PrIRN depends on their making."""
    models = stand_ins(said, seed=settings.seed, seen_by=by_races)
    return other_stand_ins_row(_adjusted(_evaluated(said, models, MEDIUM, settings.sweep_draws, settings)), settings)
