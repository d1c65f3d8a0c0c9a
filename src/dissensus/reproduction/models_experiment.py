"""The main figure: four models over all reliabilities, their spread over draws, and whether their order holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.inverse_rank import InverseRank
from dissensus.aggregation.plackett_luce import PlackettLuce
from dissensus.aggregation.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.core.aliases import FloatArray
from dissensus.datasets.dermatology import MODELS, Dermatology
from dissensus.evaluation.certainty import certainty_profile
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.results import ADJUSTED
from dissensus.metrics.accuracy import TopKAccuracy
from dissensus.metrics.base import Metric
from dissensus.metrics.overlap import AverageOverlap
from dissensus.metrics.sets import SetAccuracy
from dissensus.predictions.lists import Predictions
from dissensus.reproduction.printed_experiment import MEDIUM_PL, MEDIUM_PRIRN
from dissensus.reproduction.rows import AtLeast, Claim, Printed, Row, Section, Settings
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.results import Evaluation

TITLE = "Models under all reliabilities"
RACES = tuple(PlackettLuce(reliability=gamma, alpha=1.0, prior="observed") for gamma in (1, 2, 3, 5, 10))
INVERSES = tuple(ProbabilisticInverseRank(reliability=gamma, ties="each") for gamma in (10, 20, 30, 50, 100))
MEDIUM: tuple[Aggregation, ...] = (MEDIUM_PL, MEDIUM_PRIRN)
METRICS: tuple[Metric, ...] = (TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3))
TOP3, SET3 = TopKAccuracy(3).name, SetAccuracy(3).name
FAR_BELOW = 0.9
STANDINGS_IN = "computed with simulated stand-ins: the published predictions are not in the data"
QUALITIES: Mapping[str, tuple[float, float]] = {
    "stand-in A": (1.6, 60.0),
    "stand-in B": (1.6, 4.0),
    "stand-in C": (1.9, 150.0),
    "stand-in D": (2.2, 12.0),
}
"""How seldom each stand-in sees what a case shows (larger is more seldom), and how sharply it sees it."""

PREVALENT = 25.0


def stand_ins(annotations: Annotations, *, seed: int = 0) -> dict[str, FloatArray]:
    """Simulate four models of different quality from the annotations themselves.

    Each mixes one draw from the case's own plausibilities with noise that favours frequent conditions. They stand in
    for models whose predictions are not at hand; nothing about real models can be learnt from them.

    Returns
    -------
    dict
        Name to scores (n_cases, K), in the order of the annotations; cases without opinions have noise only.
    """
    shape = (annotations.n_cases, annotations.n_conditions)
    point = InverseRank("each").sample(annotations)
    places = [annotations.case_names.index(name) for name in point.case_names] if point.excluded else slice(None)
    prevalence = point.mean().mean(axis=0) + 1e-4
    found = {}
    for number, (name, (seldom, sharp)) in enumerate(QUALITIES.items()):
        rng = np.random.default_rng((seed, number))
        seen = np.zeros(shape)
        aggregation = ProbabilisticInverseRank(reliability=sharp, ties="each")
        # a seed of their own: models must not share random numbers with the draws that they are evaluated against
        own = int(rng.integers(1 << 32, 1 << 40))
        seen[places] = aggregation.sample(annotations, draws=1, seed=own).dense()[:, 0]
        noise = rng.gamma(PREVALENT * prevalence / prevalence.sum(), size=shape) + 1e-9
        weight = rng.random((shape[0], 1)) ** seldom
        found[name] = weight * seen + (1 - weight) * noise / noise.sum(axis=1, keepdims=True)
    return found


def models_section(data: Dermatology, settings: Settings) -> Section:
    """Evaluate the published models, or stand-ins, over all reliabilities."""
    said = data.annotations
    is_published = len(data.predictions) == len(MODELS)
    models: Mapping[str, FloatArray | Predictions] = (
        data.predictions if is_published else stand_ins(said, seed=settings.seed)
    )
    medium = _evaluated(said, models, MEDIUM, settings.draws, settings)
    others = [one for one in (*RACES, *INVERSES) if one not in MEDIUM]
    sweep = _evaluated(said, models, others, settings.sweep_draws, settings)
    rows = _rows(medium, is_published, settings)
    frames = {
        "models": _joined(_adjusted(medium), _adjusted(sweep)),
        "models_draws": _shown(medium.per_draw()),
        "models_resamples": _shown(medium.per_resample()),
        "certainty_by_reliability": _certainties(said, settings),
    }
    return Section(TITLE, tuple(rows), frames)


def _evaluated(
    said: Annotations,
    models: Mapping[str, FloatArray | Predictions],
    aggregations: tuple[Aggregation, ...] | list[Aggregation],
    draws: int,
    settings: Settings,
) -> Evaluation:
    return evaluate(
        said,
        models,
        aggregations=aggregations,
        metrics=METRICS,
        draws=draws,
        seed=settings.seed,
        threads=settings.threads,
        panel=False,
    )


def _adjusted(evaluation: Evaluation) -> pl.DataFrame:
    return evaluation.to_frame().filter(estimand=ADJUSTED)


def _joined(*frames: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return pl.concat(frames).sort("aggregation", "reliability", maintain_order=True)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep top-3 accuracy under Plackett-Luce, which the histogram shows."""
    return rows.filter((rows["metric"] == TOP3) & (rows["aggregation"] == "plackett-luce"))


def _rows(medium: Evaluation, is_published: bool, settings: Settings) -> list[Row]:
    table = _adjusted(medium)
    told = {"plackett-luce": "PL, reliability 3", "probabilistic-inverse-rank": 'PrIRN, reliability 30, ties="each"'}
    rows = []
    for name, words in told.items():
        part = table.filter(table["aggregation"] == name)
        for model in medium.models:
            mine = {row["metric"]: row for row in part.filter(part["model"] == model).iter_rows(named=True)}
            of_model = _model_rows(model, mine, f"{words}, {settings.draws} draws", is_published)
            rows += of_model if name == "plackett-luce" else of_model[:1]
    return [*rows, *_order_rows(medium, is_published, settings)]


def _model_rows(model: str, found: dict[str, dict[str, float]], told: str, is_published: bool) -> list[Row]:
    """Compare accuracy, what the point estimate adds, the range over draws, and set accuracy."""
    top, whole = found[TOP3], found[SET3]
    who = "" if is_published else STANDINGS_IN

    def row(quantity: str, ours: float, error: float | None, claim: Claim | None = None, form: str = ".1%") -> Row:
        return Row(TITLE, f"{model}: {quantity}", ours, error, told, claim, who, is_published, form)

    return [
        row("adjusted top-3 accuracy", top["mean"], top["mc_error"]),
        row(
            "what the point estimate adds to top-3 accuracy",
            top["difference"],
            top["mc_error"],
            AtLeast(0.01, "several percentage points"),
        ),
        row("best less worst draw, top-3 accuracy", top["max"] - top["min"], None, Printed(0.04, 0.015)),
        row("top-3 set accuracy less top-3 accuracy", whole["mean"] - top["mean"], whole["mc_error"]),
    ]


def _changed_pairs(medium: Evaluation) -> int:
    """Count the pairs of models whose order by mean is not the same everywhere, whether or not it can be told."""
    signs: dict[tuple[str, str], set[bool]] = {}
    for found in medium.compare().differences:
        if found.estimand == ADJUSTED and found.probability_better != 0.5:
            signs.setdefault((found.first, found.second), set()).add(found.probability_better > 0.5)
    return sum(len(both) > 1 for both in signs.values())


def _order_rows(medium: Evaluation, is_published: bool, settings: Settings) -> list[Row]:
    """Count the pairs of models whose order changes between metrics or aggregations."""
    low = _share_below(medium)
    who = "" if is_published else STANDINGS_IN
    told = f"PL 3 and PrIRN 30, {settings.draws} draws"
    words = f"the paper says that they are well below 1; that is taken as below {FAR_BELOW}"
    quarter = f"{words}; {who}" if who else words
    changed = f"pairs of models whose order changes between metrics or aggregations, of {_pairs(medium)}"
    return [
        Row(
            TITLE,
            changed,
            _changed_pairs(medium),
            None,
            told,
            AtLeast(1, "impacts the ranking"),
            who,
            is_published,
            ",.0f",
        ),
        Row(
            TITLE,
            f"{medium.models[0]}: share of cases with adjusted top-3 accuracy below {FAR_BELOW}",
            low,
            None,
            f"PL, reliability 3, {settings.draws} draws",
            AtLeast(0.25, "at least a quarter"),
            quarter,
            is_published,
            ".1%",
        ),
    ]


def _pairs(medium: Evaluation) -> int:
    return len(medium.models) * (len(medium.models) - 1) // 2


def _share_below(medium: Evaluation) -> float:
    rows = medium.per_case()
    chosen = rows.filter(
        (rows["metric"] == TOP3) & (rows["aggregation"] == "plackett-luce") & (rows["model"] == medium.models[0])
    )
    return float(np.mean(chosen["mean"].to_numpy() < FAR_BELOW))


def _certainties(said: Annotations, settings: Settings) -> pl.DataFrame:
    """Return the certainty of every case at every reliability, for the first one, two and three conditions."""
    import polars as pl

    from dissensus.evaluation.results import Run

    parts = []
    sweep: tuple[PlackettLuce | ProbabilisticInverseRank, ...] = (*RACES, *INVERSES)
    for aggregation in sweep:
        drawn = aggregation.sample(said, draws=settings.sweep_draws, seed=settings.seed, threads=settings.threads)
        for one in certainty_profile(drawn, tops=(1, 2, 3)):
            columns = {"case": one.case_names, "top": one.top, "certainty": one.values}
            run = Run(aggregation, aggregation.id, drawn.n_draws, drawn.n_chains)
            parts.append(
                pl.DataFrame(columns).with_columns(**{name: pl.lit(value) for name, value in run.identity.items()})
            )
    return pl.concat(parts)
