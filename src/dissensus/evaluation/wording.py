"""Results in plain words."""

from __future__ import annotations

from dissensus.evaluation.results import Evaluation


def headline(evaluation: Evaluation) -> str:
    """Say in a few lines what was evaluated, how much usual practice overstates, and whether the best is the best."""
    models, cases = len(evaluation.models), evaluation.n_cases
    lines = [
        f"Evaluation: {models} model{'s' if models > 1 else ''}, {cases} cases, "
        f"{len(evaluation.runs)} aggregations, {len(evaluation.measures)} metrics"
    ]
    lines += [f"  {sentence}" for sentence in (*overstatement(evaluation), *contest(evaluation))]
    return "\n".join(lines)


def overstatement(evaluation: Evaluation) -> list[str]:
    """Say how much the point estimate of the first metric overstates the best model, from least to most trust."""
    rows = evaluation.to_frame()
    metric = evaluation.measures[0].name
    found = rows.filter((rows["metric"] == metric) & rows["optimism"].is_not_null())
    if not len(found):
        return []
    most = found.sort("optimism", descending=True).row(0, named=True)
    return [
        f"usual practice overstates the {metric} of {most['model']} by up to {100 * most['optimism']:.1f} points "
        f"({most['point_estimate']:.3f} against {most['mean']:.3f}, {_named(most)})"
    ]


def contest(evaluation: Evaluation) -> list[str]:
    """Say for each metric whether the leading model can be told from the next one, under the last aggregation."""
    if len(evaluation.models) < 2:
        return []
    run = evaluation.runs[-1]
    rows = evaluation.compare().differences
    sentences = []
    for measure in evaluation.measures:
        last = [
            d
            for d in rows
            if d.metric == measure.name and (d.aggregation, d.reliability) == (run.aggregation, run.reliability)
        ]
        closest = min(last, key=lambda d: abs(d.probability_better - 0.5))
        sentences.append(f"{measure.name}: {closest.verdict} (P = {closest.probability_better:.2f})")
    return sentences


def _named(row: dict[str, object]) -> str:
    reliability = "" if row["reliability"] is None else f" at reliability {row['reliability']:g}"
    return f"{row['aggregation']}{reliability}"
