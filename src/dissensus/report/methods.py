"""A paragraph of methods that a paper can use, what reporting guidelines ask, and where the numbers come from."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.report.description import spread
from dissensus.report.sentences import NOTHING, certainty_of, counted, joined, number, open_share
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation, Run

AUTHORS = "To be filled in by the authors."
CITATION = "Stutz, Cemgil, Roy and others, Evaluating medical AI systems in dermatology under uncertain ground truth"


@dataclass(frozen=True)
class Item:
    """One thing that a guideline asks for, and the answer as far as the data know it."""

    code: str
    asks: str
    answer: str
    is_known: bool


# The paragraph ------------------------------------------------------------------------------------------


def methods_paragraph(evaluation: Evaluation) -> str:
    """Write the methods as a paper would, filled in from the evaluation."""
    return " ".join(
        [
            _opinions_sentence(evaluation),
            *(_aggregation_sentence(list(runs)) for _, runs in groupby(evaluation.runs, key=lambda r: r.aggregation)),
            *_model_sentences(evaluation),
            _certainty_sentence(evaluation),
            _software_sentence(evaluation),
        ]
    )


def _opinions_sentence(evaluation: Evaluation) -> str:
    study = evaluation.study
    per_case = spread(study.panel.opinions_per_case)
    cases = "The one case was" if study.n_cases == 1 else f"Each of {counted(study.n_cases, 'case')} was"
    if isinstance(study, Annotations):
        below = "ranked last" if study.unranked == "below" else "taken as not compared"
        return (
            f"{cases} ranked by annotators ({per_case} per case); a ranking may hold ties and need not mention every "
            f"one of the {counted(study.n_conditions, 'condition')}, and those that were not mentioned were {below}."
        )
    return f"{cases} rated by annotators ({per_case} per case)."


def parameters_of(run: Run) -> dict[str, Any]:
    """Read the parameters of a run from how it was described.

    Parameters that are not plain values are given as text.
    """
    call = ast.parse(run.parameters, mode="eval").body
    if not isinstance(call, ast.Call):
        return {}
    return {word.arg: _value(word.value) for word in call.keywords if word.arg is not None}


def kind_of(run: Run) -> str:
    """Return the name of the aggregation behind a run, whatever the run is called."""
    from dissensus.aggregation.naming import hyphenated

    return hyphenated(run.parameters.partition("(")[0])


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _aggregation_sentence(runs: list[Run]) -> str:
    """Describe one aggregation and the reliabilities that were tried."""
    one, given = runs[0], parameters_of(runs[0])
    reliabilities = [f"{run.reliability:g}" for run in runs if run.reliability is not None]
    trust = ""
    if reliabilities:
        noun = "reliability" if len(reliabilities) == 1 else "reliabilities"
        trust = f" at {noun} {joined(reliabilities).striptags()}"
    draws = f", {counted(one.n_draws, 'draw')} per case" if one.n_draws > 1 else ""
    chains = f" in {counted(one.n_chains, 'chain')}" if one.n_chains > 1 else ""
    warm = f" after {given['warmup']} warm-up iterations each" if one.n_chains > 1 and "warmup" in given else ""
    return f"Opinions were aggregated with {_model_words(kind_of(one), given)}{trust}{draws}{chains}{warm}."


def _model_words(name: str, given: dict[str, Any]) -> str:
    """Name an aggregation and its prior."""
    alpha = given.get("alpha")
    match name:
        case "plackett-luce":
            prior = (
                "the mentioned conditions and one for all others"
                if given.get("prior") == "observed"
                else "all conditions"
            )
            shape = f"Gamma prior of shape {alpha:g} on {prior}"
            return f"a Bayesian Plackett-Luce model of partial rankings with ties ({shape})"
        case "probabilistic-inverse-rank":
            ties = (
                "shared among tied conditions"
                if given.get("ties") == "shared"
                else "given in full to each tied condition"
            )
            return f"Dirichlet distributions around normalised inverse ranks (weights {ties}; added mass {alpha:g})"
        case "dirichlet":
            return f"Dirichlet distributions of the counts of first choices (added mass {alpha:g})"
        case "normal-inverse-gamma":
            cuts = ", ".join(f"{cut:g}" for cut in given.get("thresholds") or ())
            return f"a normal-inverse-gamma model of the ratings, cut into conditions at {cuts}"
        case "annotator-bootstrap":
            return f"a bootstrap over annotators of {given.get('model', 'a deterministic aggregation')}"
    return f"{name.replace('-', ' ')} (deterministic)"


def _model_sentences(evaluation: Evaluation) -> list[str]:
    if not evaluation.models:
        return []
    models, metrics = len(evaluation.models), joined([one.name for one in evaluation.metrics]).striptags()
    level = f"{100 * evaluation.level:g} %"
    compared = (
        [
            "Models were compared on the same draws and the same resampled cases; two models whose interval of the "
            "difference includes zero are called not distinguishable."
        ]
        if models > 1
        else []
    )
    return [
        f"{counted(models, 'model was', 'models were')} evaluated with {metrics} against every draw; we report "
        f"averages over draws with {level} intervals for the value on cases like these, annotated likewise "
        "(Bayesian bootstrap of the cases), and the same metrics against deterministic aggregation as standard "
        "evaluation.",
        *compared,
    ]


def _certainty_sentence(evaluation: Evaluation) -> str:
    values = certainty_of(evaluation, evaluation.reference)["certainty"]
    mean: Any = values.mean()
    return (
        "The certainty of a case is the largest share of draws that agree on its most plausible condition; it was "
        f"{number(mean, 2)} on average and below 0.99 in {open_share(values)} of the cases "
        f"({evaluation.run_label(evaluation.reference)})."
    )


def _software_sentence(evaluation: Evaluation) -> str:
    own = evaluation.versions.get("dissensus", "")
    return f"The analysis follows {CITATION}, and was run with Dissensus {own} (seed {evaluation.seed})."


# What guidelines ask ------------------------------------------------------------------------------------


def guideline_items(evaluation: Evaluation) -> list[Item]:
    """Answer what the CLAIM checklist asks about the reference standard and its uncertainty.

    The questions are in our own words; the numbers are those of the 2020 list.
    """
    said = isinstance(evaluation.study, Annotations)
    kind = "partial rankings of conditions" if said else "numeric ratings"
    runs = ", ".join(evaluation.run_label(run) for run in range(len(evaluation.runs)))
    reference = f"Not one label per case, but draws of plausibilities inferred from {kind} ({runs})."
    why = (
        "No certain answer is available; the opinions disagree, and the disagreement is kept instead of resolved. "
        f"Why opinions serve as the reference: {AUTHORS[0].lower()}{AUTHORS[1:]}"
    )
    return [
        Item("14", "How is the reference standard defined?", reference, is_known=True),
        Item("15", "Why was this reference standard chosen?", why, is_known=False),
        Item("16", "Who made the annotations, and how qualified were they?", _who(evaluation), is_known=False),
        Item("17", "Which tools were used to annotate?", AUTHORS, is_known=False),
        Item("18", "How much do annotators vary, and what was done about it?", _variability(evaluation), is_known=True),
        *_performance_items(evaluation),
    ]


def _who(evaluation: Evaluation) -> str:
    panel = evaluation.study.panel
    people = counted(len(panel.annotator_names), "named annotator") if panel.annotator_names else "Anonymous annotators"
    return (
        f"{people}, {spread(panel.opinions_per_case)} per case. Qualifications and training: "
        f"{AUTHORS[0].lower()}{AUTHORS[1:]}"
    )


def _variability(evaluation: Evaluation) -> str:
    values = certainty_of(evaluation, evaluation.reference)["certainty"]
    agreement = evaluation.agreement()
    known = agreement["agreement"].drop_nulls() if len(agreement) else None
    text = (
        f"Share of cases with certainty below 0.99: {open_share(values)} "
        f"({evaluation.run_label(evaluation.reference)})."
    )
    if known is not None and len(known):
        average: Any = known.mean()
        cases = counted(len(known), "case")
        text += f" Agreement of one annotator with the others: {number(average, 2)} on average over {cases}."
    return text + " Disagreement was not resolved; it is carried into every result."


def _performance_items(evaluation: Evaluation) -> list[Item]:
    if not evaluation.models:
        return []
    metrics = joined([one.name for one in evaluation.metrics]).striptags()
    uncertainty = (
        f"{100 * evaluation.level:g} % intervals for cases like these, annotated likewise; the spread over draws alone "
        "and the Monte Carlo error are given apart."
    )
    runs = counted(len(evaluation.runs), "combination")
    sweep = f"Results are shown for {runs} of aggregation and reliability."
    failures = "Cases can be sorted by their score and looked at one by one in the case explorer."
    return [
        Item("28", "Which metrics measure performance?", f"{metrics[:1].upper()}{metrics[1:]}.", is_known=True),
        Item("29", "How is statistical uncertainty measured?", uncertainty, is_known=True),
        Item("30", "How robust are the results?", sweep, is_known=len(evaluation.runs) > 1),
        Item("37", "Which cases fail?", failures, is_known=True),
    ]


# Where the numbers come from ----------------------------------------------------------------------------


def run_rows(evaluation: Evaluation) -> list[tuple[str, str, str, str, str]]:
    """Describe every run: label, parameters, draws, chains, and the largest Monte Carlo error of any result."""
    from dissensus.report.selection import run_frame

    frame = evaluation.to_frame() if evaluation.models else None
    rows = []
    for i, run in enumerate(evaluation.runs):
        error: Any = run_frame(evaluation, frame, i)["mc_error"].max() if frame is not None else None
        known = error is not None and error == error
        rows.append(
            (
                evaluation.run_label(i),
                run.parameters,
                f"{run.n_draws:,}",
                str(run.n_chains),
                f"{error:.4f}" if known else NOTHING,
            )
        )
    return rows


def provenance(evaluation: Evaluation) -> list[tuple[str, Markup]]:
    """List versions, seed, options and the hashes of the input files."""
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    options = f"level {evaluation.level:g}, {counted(len(evaluation.runs), 'run')}"
    rows = [
        ("Versions", Markup.escape(versions or "unknown")),
        ("Seed", Markup.escape(str(evaluation.seed))),
        ("Options", Markup.escape(options)),
    ]
    return [*rows, *(("Input", _input(name, mark)) for name, mark in evaluation.inputs.items())]


def _input(name: str, mark: str) -> Markup:
    return Markup("{} <code>{}</code>").format(name, mark or "no hash")


def excluded_sentence(names: Iterable[str], most: int = 10) -> Markup:
    """Name cases that were left out, and count the rest."""
    listed = list(names)
    rest = len(listed) - most
    shown = joined(listed[:most]) if rest <= 0 else Markup(", ").join(listed[:most]) + f" and {rest:,} more"
    return Markup("Without any opinion, left out: {}.").format(shown)
