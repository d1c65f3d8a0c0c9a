"""Results in plain words."""

from __future__ import annotations

from html import escape

import numpy as np

from dissensus.core.errors import listing
from dissensus.core.thresholds import CERTAIN
from dissensus.evaluation.comparison import difference
from dissensus.evaluation.results import Evaluation

ROUGH = 0.03
"""Monte Carlo errors of certainties above this deserve a warning."""


def headline(evaluation: Evaluation) -> str:
    """Say in a few lines what was evaluated, how much usual practice overstates, and whether the best is the best."""
    counts = {
        "model": len(evaluation.models),
        "case": evaluation.n_cases,
        "aggregation": len(evaluation.runs),
        "metric": len(evaluation.metrics),
    }
    lines = ["Evaluation: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())]
    sentences = (*certainty(evaluation), *overstatement(evaluation), *contest(evaluation))
    lines += [f"  {sentence}" for sentence in sentences]
    return "\n".join(lines)


def certainty(evaluation: Evaluation) -> list[str]:
    """Say how certain the annotations are."""
    run = evaluation.reference
    if not evaluation.findings or not len(evaluation.findings[run].certainties):
        return []
    values = evaluation.findings[run].certainties[0]
    unsure = float((values < CERTAIN).mean())
    return [
        f"the annotations leave the most plausible condition uncertain in {unsure:.0%} of the cases "
        f"(certainty below {CERTAIN:g}, {evaluation.run_label(run)}; mean certainty {values.mean():.2f})"
    ]


def headline_html(evaluation: Evaluation) -> str:
    """Say the same as a small HTML table, for notebooks; names are escaped."""
    rows = evaluation.to_frame()
    run = evaluation.runs[evaluation.reference]
    cells = [
        (row["model"], row["metric"], f"{row['mean']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}")
        for row in rows.iter_rows(named=True)
        if row["run"] == run.label
    ]
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
    head = "".join(f"<th>{name}</th>" for name in ("model", "metric", f"under {escape(run.label)}", "interval"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if cells else ""
    return f"<pre>{escape(headline(evaluation))}</pre>{table}"


def cautions(evaluation: Evaluation) -> tuple[str, ...]:
    """Say what a reader should know first: cases left out, and numbers that need more draws."""
    found = []
    if evaluation.excluded:
        count = len(evaluation.excluded)
        found.append(
            f"{count} case{'s have' if count > 1 else ' has'} no opinion and {'are' if count > 1 else 'is'} left out: "
            f"{listing(evaluation.excluded)}"
        )
    errors = [findings.errors.max(axis=0, initial=0.0) for findings in evaluation.findings]
    rough = np.flatnonzero(np.max(errors, axis=0) > ROUGH) if errors else ()
    if len(rough):
        names = listing([evaluation.case_names[i] for i in rough])
        found.append(
            f"the certainty of {len(rough)} case{'s' if len(rough) > 1 else ''} has a Monte Carlo error "
            f"above {ROUGH:g}; more draws would help: {names}"
        )
    return tuple(found)


def overstatement(evaluation: Evaluation) -> list[str]:
    """Say how much the point estimate of the first metric overstates the best model, from least to most trust."""
    if not evaluation.models:
        return []
    rows = evaluation.to_frame()
    metric = evaluation.metrics[0].name
    found = rows.filter((rows["metric"] == metric) & rows["optimism"].is_not_null())
    if not len(found):
        return []
    most = found.sort("optimism", descending=True).row(0, named=True)
    return [
        f"usual practice overstates the {metric} of {most['model']} by up to {100 * most['optimism']:.1f} points "
        f"({most['point_estimate']:.3f} against {most['mean']:.3f}, {_named(most)})"
    ]


def contest(evaluation: Evaluation) -> list[str]:
    """Say for each metric which model leads, and whether it can be told from the next one."""
    if len(evaluation.models) < 2:
        return []
    return [_leader(evaluation, number) for number in range(len(evaluation.metrics))]


def _leader(evaluation: Evaluation, number: int) -> str:
    tally, measure = evaluation.tallies[evaluation.reference], evaluation.metrics[number]
    sign = 1.0 if measure.higher_is_better else -1.0
    first, second = np.argsort(-sign * tally.means[:, number].mean(axis=-1), kind="stable")[:2]
    found = difference(evaluation, evaluation.reference, number, int(first), int(second))
    share = f"better in {found.probability_better:.0%} of the resamples"
    if found.is_distinguishable:
        return f"{measure.name}: {found.first} is best, then {found.second} ({share})"
    return f"{measure.name}: {found.first} leads, not distinguishable from {found.second} ({share})"


def _named(row: dict[str, object]) -> str:
    reliability = "" if row["reliability"] is None else f" at reliability {row['reliability']:g}"
    return f"{row['aggregation']}{reliability}"
