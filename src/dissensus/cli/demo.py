"""``dissensus demo``: see the whole evaluation work on a study that ships as code."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, terminal
from dissensus.cli.options import option
from dissensus.cli.terminal import say, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dissensus.aggregations.base import Aggregation
    from dissensus.evaluation.results import Evaluation
    from dissensus.simulate.differential_study import SimulatedStudy
    from dissensus.simulate.printed_cases import PrintedCases

# What the demo calls its input; directories of results that name it may be replaced by the next demo.
ORIGIN = "simulated study"

PRINTED_DRAWS = 4000
PRINTED = (
    "three cases printed by Stutz et al.: how often a model's top 3 holds the most plausible condition of a draw "
    "(PL at reliability 3, PrIRN at 30, as printed)"
)


def demo(
    out: Annotated[Path, option("Directory to write the results into.")] = Path("demo-results"),
    cases: Annotated[int, option("Cases of the simulated study.", min=1)] = 400,
    draws: Annotated[int, option("Draws per case.")] = 1000,
    seed: Annotated[int, option("Same seed, same study and results.", min=0)] = 1,
    paper: options.Paper = False,
    overwrite: options.OverwriteDirectory = False,
) -> None:
    """Simulate a study of differential diagnoses and five models, evaluate them, and write the report.

    The study is simulated, so the truth is known: it stands beside what is reported.

    The results of an earlier demo are replaced.

    [bold]Examples[/bold]

      dissensus demo

      dissensus demo --cases 2000 --out larger-demo

      dissensus demo --paper
    """
    from dissensus.cli.evaluate import show_results, write_results
    from dissensus.cli.opinion_files import show_diagnosis
    from dissensus.core.output import checked_directory_target
    from dissensus.evaluation.request import default_aggregations
    from dissensus.evaluation.store import not_results
    from dissensus.simulate.differential_study import simulate_study
    from dissensus.simulate.printed_cases import printed_cases
    from dissensus.study.diagnosis import diagnose

    overwrite = overwrite or was_written_by_demo(out)
    checked_directory_target(out, overwrite=overwrite, foreign=not_results)
    study = simulate_study(n_cases=cases, seed=seed)
    show_diagnosis(f"a {ORIGIN} of differential diagnoses", diagnose(study.annotations))
    asked: dict[str, Any] = {"draws": draws, "seed": seed}
    asked = options.as_in_paper(asked, {}) if paper else {**asked, "aggregations": default_aggregations()}
    kernels = ("certainty", "evaluation", "plackett-luce-ml")
    terminal.compile_on_first_use(*kernels, aggregations=asked["aggregations"])
    result = evaluated(study, asked, origin=f"simulate_study(n_cases={cases}, seed={seed})")
    write_results(result, out, overwrite=overwrite, page={})
    show_results(result, out)
    say(f"\n{lesson(result)}\n")
    names = ("case", "certainty", "model", "its top 3", "PL", "paper", "PrIRN", "paper")
    show(names, printed_rows(printed_cases()), numbers=4, title=PRINTED)
    report = (out / "report.html").absolute()
    say(f"\nLook at the report:  {Path(sys.executable).name} -m webbrowser {report.as_uri()}")
    say(f"Compare the models:  dissensus compare {out}")
    say("Try it on your own:  dissensus evaluate opinions.csv --predictions A=a.csv --out results")


def was_written_by_demo(out: Path) -> bool:
    """Tell whether a directory holds the results of an earlier demo."""
    import json

    try:
        described = json.loads((out / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and ORIGIN in described.get("inputs", {})


def evaluated(study: SimulatedStudy, asked: Mapping[str, Any], *, origin: str) -> Evaluation:
    """Evaluate the study as it is asked for, with its risks, strata and truth, and note where it comes from."""
    from dissensus.evaluation.evaluator import evaluate
    from dissensus.evaluation.tables import with_truth

    with terminal.progress_shown() as advance:
        result = evaluate(
            study.annotations,
            study.predictions,
            categories=study.categories,
            strata=study.strata,
            advance=advance,
            **asked,
        )
    return with_truth(replace(result, inputs={ORIGIN: origin}), study.truth)


def lesson(result: Evaluation) -> str:
    """Say which model leads by the majority vote, and whether it also leads at whole differential diagnoses."""
    from dissensus.evaluation.tables import USUAL, side_by_side
    from dissensus.metrics.accuracy import SetAccuracy

    usual, sets = result.metrics[0].name, SetAccuracy(2).name
    found = side_by_side(result, result.to_frame())
    counted = {one.model: one.practices[USUAL[0].plain_name] for one in found if one.metric.name == usual}
    values = {one.model: one.headline["mean"] for one in found if one.metric.name == sets}
    first, best = (max(known, key=lambda model: known[model]) for known in (counted, values))
    but = "and so it does" if first == best else f"but {best} does"
    against = "" if first == best else f" against {values[first]:.3f}"
    estimand = result.runs[result.headline].estimand
    return (
        f"{first} leads by {usual} against the majority vote ({counted[first]:.3f}), {but} by {estimand} {sets} "
        f"({values[best]:.3f}{against}).\n\n{truth_told(result)}"
    )


def truth_told(result: Evaluation) -> str:
    """Say what the estimands are, and whether the intervals of panel hold the truth, which a simulation knows."""
    from dissensus.evaluation.sentences import leading, no_panel
    from dissensus.evaluation.words import number

    found = leading(result, result.to_frame())
    lines = [
        f"Estimands of {found[0].metric.name}, beside the truth, which a simulation knows:",
        "  agreement  the chance that one annotator says what the model says",
        "  adjusted   over draws that know nothing of the model, as in the paper",
    ]
    if result.panel is None:
        return "\n".join([*lines, *no_panel(result)])
    lines.append("  panel      against what a large panel of such annotators would say")
    outside = [
        f"{one.model} ({number(one.truth)}, not {number(one.panel['low'])} to {number(one.panel['high'])})"
        for one in found
        if one.panel and one.truth is not None and not one.panel["low"] <= one.truth <= one.panel["high"]
    ]
    but = f", but not that of {', '.join(outside)}" if outside else ""
    held = f"{len(found) - len(outside)} of {len(found)} models{but}"
    return "\n".join([*lines, f"The intervals of panel hold the truth of {held}."])


# Printed cases ----------------------------------------------------------------------------------------


def printed_rows(printed: PrintedCases) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the printed cases, two rows each: what comes out here beside what is printed."""
    from dissensus.evaluation.paper_settings import paper

    medium = [spec for spec in paper()["aggregations"] if spec.reliability in (3, 30)]
    races, ranks = (_values(printed, aggregation) for aggregation in medium)
    for case in printed.cases:
        for number, prediction in enumerate(case.predictions):
            race, rank = races[case.name, number], ranks[case.name, number]
            yield (
                case.name if not number else "",
                f"PL {races[case.name]:.2f}" if not number else f"PrIRN {ranks[case.name]:.2f}",
                prediction.model,
                ", ".join(prediction.conditions),
                f"{race:.2f}",
                f"{prediction.plackett_luce:.2f}",
                f"{rank:.2f}",
                f"{prediction.inverse_rank:.2f}",
            )


def _values(printed: PrintedCases, aggregation: Aggregation) -> dict[Any, float]:
    """Return the certainty of every case, by name, and the value of its sets, by name and number."""
    from dissensus.evaluation.evaluator import evaluate
    from dissensus.metrics.accuracy import Coverage

    sets = {str(number): printed.predictions(number) for number in (0, 1)}
    said = printed.annotations.select(sets["0"].case_names)
    result = evaluate(said, sets, aggregations=[aggregation], metrics=[Coverage()], draws=PRINTED_DRAWS)
    tops = result.certainties()
    certainties = tops.filter(tops["top"] == 1).select("case", "certainty").rows()
    values = result.per_case().select("case", "model", "mean").rows()
    return {**dict(certainties), **{(case, int(number)): value for case, number, value in values}}
