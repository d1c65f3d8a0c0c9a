"""``dissensus demo``: see the whole evaluation work on a study that ships as code."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dissensus.cli import options, terminal
from dissensus.cli.options import option
from dissensus.core.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dissensus.evaluation.results import Evaluation
    from dissensus.simulate.differential_study import SimulatedStudy

# What the demo calls its input; directories of results that name it may be replaced by the next demo.
ORIGIN = "simulated study"


@options.bundled
def demo(
    out: Annotated[Path, option("Directory to write the results into.")] = Path("demo-results"),
    cases: Annotated[int, option("Cases of the simulated study.", min=1)] = 400,
    draws: Annotated[int, option("Draws per case.")] = 1000,
    seed: Annotated[int, option("Same seed, same study and results.", min=0)] = 1,
    paper: options.Paper = False,
    overwrite: options.OverwriteDirectory = False,
) -> Screen:
    """Simulate a study, evaluate five models, write a report.

    The study is one of differential diagnoses. It is simulated, so the truth is known, and stands beside the models.

    The results of an earlier demo are replaced.

    Examples
    --------
    dissensus demo
    dissensus demo --cases 2000 --out larger-demo
    dissensus demo --paper
    """
    from dissensus.cli.evaluate import write_results
    from dissensus.core.output import checked_directory_target
    from dissensus.evaluation.request import default_aggregations
    from dissensus.evaluation.store import not_results
    from dissensus.simulate.differential_study import simulate_study

    overwrite = overwrite or was_written_by_demo(out)
    checked_directory_target(out, overwrite=overwrite, foreign=not_results)
    study = simulate_study(n_cases=cases, seed=seed)
    asked: dict[str, Any] = {"draws": draws, "seed": seed}
    asked = options.as_in_paper(asked, {}) if paper else {**asked, "aggregations": default_aggregations()}
    kernels = ("certainty", "evaluation", "plackett-luce-ml")
    terminal.compile_on_first_use(*kernels, aggregations=asked["aggregations"])
    result = evaluated(study, asked, origin=f"simulate_study(n_cases={cases}, seed={seed})")
    write_results(result, out, overwrite=overwrite, page={})
    page = (out / "report.html").absolute().as_uri()
    lines = (
        "Next:",
        f"  {Path(sys.executable).name} -m webbrowser {page}",
        f"  dissensus compare {out}",
        f"  dissensus cases {out}",
        "  dissensus evaluate opinions.csv --predictions A=a.csv",
    )
    first = result.screen()
    return replace(first, title=f"Simulated: {first.title}", place="\n".join(lines))


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
    from dissensus.evaluation.sentences import with_truth

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
