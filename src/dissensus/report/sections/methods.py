"""Methods: a paragraph that a paper can use, what reporting guidelines ask, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.aggregations.case_prior import REFITS
from dissensus.core.arrays import CERTAIN
from dissensus.core.errors import listing
from dissensus.core.screen import visible
from dissensus.core.spec import written
from dissensus.evaluation.curves import RESAMPLES
from dissensus.evaluation.sentences import capital, joined, roughness, rows_of, subjects
from dissensus.evaluation.words import counted, number, percent
from dissensus.metrics.data_set import DataSetMetric
from dissensus.report.section import ReportSection, ReportSubject
from dissensus.report.sections.models import weight
from dissensus.study.diagnosis import spread
from dissensus.study.question import KINDS

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.estimates import Run
    from dissensus.evaluation.results import Evaluation

LABELS = {"top": "its most plausible condition", "soft": "its plausibilities"}

# How the prior of rankings was fitted, and that of ratings.
PRIORS = (
    "The informed prior of a case is a Dirichlet distribution to which {who} contributed: scores, their logarithms and "
    "first places of the models, and the frequency of conditions, enter its mean by coefficients that maximise the "
    "Dirichlet-multinomial likelihood of the annotators' first choices, with a ridge.",
    "The informed prior of a case is a normal-inverse-gamma distribution to which {who} contributed: its mean is a "
    "regression of the mean ratings of cases on the numbers of the models, by least squares that count cases by their "
    "number of ratings, with a ridge; its spread is that of cases around the regression beyond the noise of their "
    "ratings, by moments.",
)

# How many columns of one role are named.
MOST_NAMES = 12

AUTHORS = "to be filled in by the authors."
CITATION = "Stutz, Cemgil, Roy and others, Evaluating medical AI systems in dermatology under uncertain ground truth"


class Methods(ReportSection):
    """Say how the numbers were made, and what they were made from."""

    id = "methods"
    title = "Methods and provenance"
    place = 90
    is_folded = True
    looks_at_cases = True
    shows = ("study",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the data, diagnostics, paragraph, guideline items and provenance."""
        evaluation, rows = subject.evaluation, []
        for place, run in enumerate(evaluation.runs):
            error: Any = evaluation.of_run(subject.tables.to_frame(), place)["mc_error"].max()
            parameters = ", ".join(f"{name}={written(value)}" for name, value in run.spec.parameters().items())
            rows.append((run.label, parameters, f"{run.n_draws:,}", str(run.n_chains), number(error, 4)))
        head = ["run", "parameters", "draws", "chains", "largest Monte Carlo error"]
        return {
            "introduction": introduction(evaluation),
            "facts": fact_table(subject),
            "receipts": [_told(receipt) for receipt in evaluation.receipts],
            "diagnostics": [one for one in (*evaluation.warnings, roughness(evaluation)) if one],
            "runs": {"caption": "Aggregations and draws", "head": head, "rows": rows},
            "paragraph": methods_paragraph(evaluation),
            "items": guideline_items(evaluation),
            "provenance": provenance(evaluation),
            "protocol": evaluation.protocol,
        }


# The data -------------------------------------------------------------------------------------------------


def fact_table(subject: ReportSubject) -> dict[str, Any]:
    """Count what annotators said, for all cases and by the category of the case."""
    evaluation = subject.evaluation
    many, study, categories = rows_of(evaluation)[1], evaluation.study, evaluation.categories
    groups = {f"{many} of the sample" if evaluation.is_sample else f"all {many}": np.arange(study.n_cases)}
    rows = evaluation.of_run(subject.tables.category_certainties(), evaluation.reference)
    if categories is not None and len(rows):  # the category of most draws in the reference run
        labels = rows["category"].to_numpy()
        found = {name: np.flatnonzero(labels == name) for name in categories.names}
        groups |= {name: cases for name, cases in found.items() if len(cases)}
    facts = zip(*(study.select(cases).facts() for cases in groups.values()), strict=True)
    table = [(own[0].label, *(fact.value for fact in own)) for own in facts]
    by = ", by category of the case" if len(groups) > 1 else ""
    return {"caption": f"What annotators said{by}", "head": ["", *groups], "rows": table}


def _told(receipt: Receipt) -> dict[str, Any]:
    """Write a receipt as a title and lists of sentences; characters that hide are shown."""
    roles = [f"{role or 'not used'}: {listing(names, most=MOST_NAMES)}" for (role, _), names in receipt.roles().items()]
    notes = [str(note) for note in receipt.notes]
    lists = {"Columns": roles, "Assumed": receipt.assumed, "Noted": notes, "For example": receipt.examples}
    return {
        "title": visible(f"{FilePath(receipt.path).name} was read: {receipt.understood}"),
        "lists": {name: [visible(line) for line in lines] for name, lines in lists.items() if lines},
    }


def introduction(evaluation: Evaluation) -> str:
    """Say in a sentence or two what was evaluated, and what annotators had to choose from."""
    people, findings = evaluation.n_annotators, evaluation.asked_findings
    named = "very many named annotators" if people is None else counted(people, "named annotator")
    opinions = counted(evaluation.n_votes, "answer" if findings else evaluation.study.opinion)
    who = "anonymous annotators" if people == 0 else named
    parts = [f"The study has {subjects(evaluation)} with {opinions} by {who}."]
    if findings:
        rows = counted(evaluation.n_cases, "row")
        parts.append(
            f"Every finding of a case is a question of its own ({joined(evaluation.conditions, 'or')}) and a row, "
            f"named by case and finding: {rows}. Findings of one case are resampled together."
        )
    elif evaluation.study.kind != "ratings":
        parts.append(f"There are {counted(len(evaluation.conditions), 'condition')} to choose from.")
    if evaluation.study.panel.groups and not findings:
        groups = counted(evaluation.n_groups, "group")
        parts.append(f"Cases belong to {groups}, such as patients, and are resampled together.")
    if evaluation.categories is not None:
        parts.append(f"Conditions fall into the categories {joined(evaluation.categories.names)}.")
    return " ".join(parts)


# The paragraph ------------------------------------------------------------------------------------------


def methods_paragraph(evaluation: Evaluation) -> str:
    """Write the methods as a paper would, filled in from the evaluation."""
    parts = []
    if evaluation.is_sample:
        held, total = (counted(many, "case") for many in (len(evaluation.case_names), evaluation.n_cases))
        parts.append(f"The study has {total}, of which a random sample of {held} is described here.")
    if evaluation.asked_findings:
        told = joined(evaluation.conditions, "or")
        many = f"{spread(evaluation.study.panel.votes_per_case)} per finding of a case"
        parts.append(f"Annotators said of {subjects(evaluation)} whether it is {told} ({many}).")
    else:
        parts.append(evaluation.study.methods())
    parts += [aggregation_sentence(list(runs)) for _, runs in groupby(evaluation.runs, key=lambda r: r.aggregation)]
    parts += [*prior_sentences(evaluation), *model_sentences(evaluation)]
    run, mean = evaluation.runs[evaluation.reference].label, evaluation.certainty_counts[evaluation.reference].mean
    return " ".join(
        [
            *parts,
            "The certainty of a case is the largest share of draws that agree on its most plausible condition; it was "
            f"{number(mean, 2)} on average and below {CERTAIN} in {uncertain_share(evaluation)} of the "
            f"{rows_of(evaluation)[1]} ({run}).",
            f"The analysis follows {CITATION}, and was run with Dissensus {evaluation.versions.get('dissensus', '')} "
            f"(seed {evaluation.seed}).",
        ]
    )


def aggregation_sentence(runs: Sequence[Run]) -> str:
    """Describe one aggregation and the reliabilities that were tried."""
    one = runs[0]
    reliabilities = [f"{run.reliability:g}" for run in runs if run.reliability is not None]
    noun = "reliability" if len(reliabilities) == 1 else "reliabilities"
    trust = f" at {noun} {joined(reliabilities)}" if reliabilities else ""
    draws = f", {counted(one.n_draws, 'draw')} per case" if one.n_draws > 1 else ""
    warmup = one.spec.parameters().get("warmup")
    chains = f" in {one.n_chains} chains" + (f" after {warmup} warm-up iterations each" if warmup is not None else "")
    told = ", ".join(f"{name} = {value:.3g}" for name, value in one.fitted.items())
    fitted = f"; fitted: {told}" if told else ""
    in_chains = chains if one.n_chains > 1 else ""
    return f"Opinions were aggregated with {one.spec.methods}{trust}{draws}{in_chains}{fitted}."


def prior_sentences(evaluation: Evaluation) -> Iterable[str]:
    """Say how the informed prior was fitted, how much it weighs, and which models had a say."""
    if evaluation.panel is None or evaluation.prior is None or not evaluation.prior.concentrations:
        return
    informed = [str(row["model"]) for row in evaluation.prior.models if row.get("left_out") is None]
    who, kind = joined(informed) or "no model", evaluation.study.kind
    yield (
        f"{PRIORS[kind == 'ratings'].format(who=who)} It weighs {weight(evaluation.prior, kind)}. It was "
        f"fitted again to {REFITS} resamples of the cases, and what this moves is part of the intervals."
    )


def model_sentences(evaluation: Evaluation) -> Iterable[str]:
    """Say how the models were evaluated and compared, and what the metrics are."""
    if not evaluation.models:
        return
    models = counted(len(evaluation.models), "model was", "models were")
    known = (evaluation.panel is not None, evaluation.shared is not None, bool(evaluation.adjusted_runs))
    several = {2: "two estimands that answer different questions", 3: "three estimands that answer different questions"}
    by = f", by {several[sum(known)]}" if sum(known) > 1 else ""
    yield f"{models} evaluated with {metric_names(evaluation)}{by}."
    trained, none = joined(evaluation.trained_on), "no other model" if evaluation.trained_on else "no model"
    declared = f"{trained} had been trained on these annotations and has no verdict; " if trained else ""
    yield (
        f"{capital(declared + none)} had seen them before [to be confirmed by the authors; the automatic check notices "
        "gross copies only]."
    )
    if not evaluation.study.panel.annotator_groups:
        yield "Sites of annotators were not given: habits that annotators of one site share cannot be seen in the data."
    if evaluation.panel is not None:
        yield (
            "Panel is the value against what a large panel of such annotators would say, averaged over draws under the "
            "informed prior; it assumes that the models predict a large panel as well as these annotators."
        )
    if evaluation.shared is not None:
        yield "Agreement is the average over annotators of the value against one annotator's answer, without any prior."
    if evaluation.adjusted_runs:
        yield (
            "Adjusted values are averages over draws; they assume that the draws know nothing of the model, and depend "
            "on the aggregation and its reliability."
        )
    moved = list(evaluation.moved.values())
    who = "with the annotators as fixed, so that their variation is not included"
    if moved:
        many = counted(moved[0].n_annotators, "annotator")
        who = f"and a jackknife over {many}, who count as a sample as well (panel, reference run, agreement)"
    yield (
        f"All come with {100 * evaluation.level:g} % intervals for the value on cases like these, annotated likewise: "
        f"Bayesian bootstrap of the cases with two pseudo-cases at the ends of the range, {who}."
    )
    yield from data_set_sentences(evaluation)
    yield (
        "The same metrics against deterministic aggregation (point estimates) are given by name beside them; where "
        "conditions tie for the majority, each counts in equal shares."
    )
    yield from (metric.methods for metric in evaluation.metrics if metric.meaning)
    if len(evaluation.models) > 1:
        yield (
            "Models were compared on the same draws and the same resampled cases, by agreement with one annotator "
            f"where it is defined. The primary metric is {evaluation.primary}: its p-values, from Student's t with a "
            "correction for skewness, were adjusted over all pairs (Holm), and two models are called not "
            "distinguishable unless the interval of their difference excludes zero and the adjusted p-value is below "
            f"{1 - evaluation.level:.2g}. Other metrics are secondary; their p-values are not adjusted."
        )


def data_set_sentences(evaluation: Evaluation) -> Iterable[str]:
    """Say how metrics of a whole data set and their intervals were found, and how findings were treated."""
    own = [metric for metric in evaluation.metrics if isinstance(metric, DataSetMetric)]
    if own:
        truths = dict.fromkeys(metric.truth for metric in own)
        labels = joined([LABELS[truth] for truth in truths])
        yield (
            f"{capital(joined([metric.name for metric in own]))} were computed on all cases of every "
            f"draw, with {labels} as labels, and averaged over draws. For their intervals every case was given a "
            "pseudo-value, from the derivatives of the metric by the masses of its labels, and these were resampled as "
            "above, on the logit scale for shares and areas, with pseudo-cases that weigh as much as the effective "
            "number of cases that the metric rests on asks for."
        )
    if evaluation.asked_findings:
        yield (
            f"Each of {counted(len(evaluation.asked_findings), 'finding')} was a binary question of its own, with a "
            "posterior and a prior of its own; findings of one case were resampled together."
        )
    if evaluation.lines:
        yield (
            f"Curves are means over draws with pointwise {100 * evaluation.level:g} % bands from {RESAMPLES} resamples "
            "of the cases, each with the labels of one draw."
        )


def metric_names(evaluation: Evaluation) -> str:
    """List the metrics in a sentence."""
    return joined([one.name for one in evaluation.metrics])


def uncertain_share(evaluation: Evaluation) -> str:
    """Write the share of uncertain cases in the reference run."""
    counts = evaluation.certainty_counts[evaluation.reference]
    return percent(counts.n_open / counts.n_cases)


# What guidelines ask ------------------------------------------------------------------------------------


def guideline_items(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Answer what the CLAIM checklist asks about the reference standard and its uncertainty, as far as the data know.

    The questions are in our own words; the numbers are those of the 2020 list.
    """
    kind, runs = KINDS[evaluation.study.kind].described, ", ".join(run.label for run in evaluation.runs)
    reference = f"Not one label per case, but draws of plausibilities inferred from {kind} ({runs})."
    why = (
        "No certain answer is available; the opinions disagree, and the disagreement is kept instead of resolved. "
        f"Why opinions serve as the reference: {AUTHORS}"
    )
    n_named = evaluation.n_annotators
    people = "Very many named annotators" if n_named is None else counted(n_named, "named annotator")
    people = people if n_named != 0 else "Anonymous annotators"
    per_case = "per case of a random sample" if evaluation.is_sample else "per case"
    many = f"{spread(evaluation.study.panel.votes_per_case)} {per_case}"
    who = f"{people}, {many}. Qualifications and training: {AUTHORS}"
    label, rows = evaluation.runs[evaluation.reference].label, rows_of(evaluation)
    variability = f"Share of {rows[1]} with certainty below {CERTAIN}: {uncertain_share(evaluation)} ({label})."
    known = evaluation.agreement()["agreement"].drop_nulls().to_numpy()
    if len(known):
        average, cases = number(float(known.mean()), 2), counted(len(known), *rows)
        variability += f" Agreement among annotators, of one with the others: {average} on average over {cases}."
    variability += " Disagreement was not resolved; it is carried into every result."
    items = [
        ("14", "How is the reference standard defined?", reference, True),
        ("15", "Why was this reference standard chosen?", why, False),
        ("16", "Who made the annotations, and how qualified were they?", who, False),
        ("17", "Which tools were used to annotate?", AUTHORS.capitalize(), False),
        ("18", "How much do annotators vary, and what was done about it?", variability, True),
    ]
    if evaluation.models:
        fit = " and from the fit of the prior" if evaluation.panel is not None else ""
        uncertainty = (
            f"{100 * evaluation.level:g} % intervals for cases like these, annotated likewise; what comes from cases, "
            f"from annotators, from draws{fit}, and the Monte Carlo error, are given apart."
        )
        names, swept = metric_names(evaluation), len(evaluation.adjusted_runs)
        sweep = f"Results are shown for {counted(swept, 'combination')} of aggregation and reliability."
        failures = "Cases can be sorted by their score and looked at one by one in the case explorer."
        items += [
            ("28", "Which metrics measure performance?", f"{names[:1].upper()}{names[1:]}.", True),
            ("29", "How is statistical uncertainty measured?", uncertainty, True),
            ("30", "How robust are the results?", sweep, swept > 1),
            ("37", "Which cases fail?", failures, True),
        ]
    return [dict(zip(("code", "asks", "answer", "is_known"), item, strict=True)) for item in items]


# Where the numbers come from ----------------------------------------------------------------------------


def provenance(evaluation: Evaluation) -> list[tuple[str, Markup]]:
    """List the versions that computed the results, seed, options and the hashes of the input files."""
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    rows = {
        "Computed with": versions or "unknown versions",
        "Seed": str(evaluation.seed),
        "Options": f"level {evaluation.level:g}, {counted(len(evaluation.runs), 'run')}",
    }
    inputs = [Markup("{} <code>{}</code>").format(name, mark or "no hash") for name, mark in evaluation.inputs.items()]
    return [*((label, Markup.escape(text)) for label, text in rows.items()), *(("Input", one) for one in inputs)]
