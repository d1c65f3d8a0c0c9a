"""Methods: a paragraph that a paper can use, what reporting guidelines ask, and where the numbers come from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from dissensus.aggregations.case_prior import REFITS
from dissensus.core.arrays import CERTAIN
from dissensus.core.errors import listing
from dissensus.core.screen import counted, number, percent, visible
from dissensus.core.spec import written
from dissensus.evaluation.curves import RESAMPLES
from dissensus.evaluation.sentences import capital, joined, roughness, rows_of
from dissensus.metrics.data_set import DataSetMetric
from dissensus.report.section import ReportSection, ReportSubject, own_text, paragraph
from dissensus.report.sections.models import weight
from dissensus.study.diagnosis import spread
from dissensus.study.question import KINDS

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.estimates import Run
    from dissensus.evaluation.results import Evaluation

LABELS = {"top": "its most plausible condition", "soft": "its plausibilities"}

# From this item on, the checklist is about models.
FIRST_ABOUT_MODELS = 28

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
            "introduction": paragraph(
                "introduction.txt.jinja", evaluation=evaluation, people=named(evaluation.n_annotators)
            ),
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


def named(people: int | None) -> str:
    """Say how many annotators there are, if they have names and are not too many to be counted."""
    if people == 0:
        return "anonymous annotators"
    return "very many named annotators" if people is None else counted(people, "named annotator")


# The paragraph ------------------------------------------------------------------------------------------


def methods_paragraph(evaluation: Evaluation) -> str:
    """Write the methods as a paper would, filled in from the evaluation."""
    prior = evaluation.prior if evaluation.panel is not None else None
    informed = [str(row["model"]) for row in prior.models if row.get("left_out") is None] if prior else []
    whole = [metric for metric in evaluation.metrics if isinstance(metric, DataSetMetric)]
    estimands = (evaluation.panel is not None, evaluation.shared is not None, bool(evaluation.adjusted_runs))
    return paragraph(
        "paragraph.txt.jinja",
        evaluation=evaluation,
        aggregations=[
            aggregation_sentence(list(runs)) for _, runs in groupby(evaluation.runs, lambda r: r.aggregation)
        ],
        prior=prior if prior and prior.concentrations else None,
        informed=joined(informed) or "no model",
        weight=weight,
        refits=REFITS,
        resamples=RESAMPLES,
        n_estimands=sum(estimands),
        trained=joined(evaluation.trained_on),
        moved=next(iter(evaluation.moved.values()), None),
        whole=joined([metric.name for metric in whole]),
        labels=joined([LABELS[truth] for truth in dict.fromkeys(metric.truth for metric in whole)]),
        metrics=joined([metric.name for metric in evaluation.metrics]),
        mean=number(evaluation.certainty_counts[evaluation.reference].mean, 2),
        uncertain=uncertain_share(evaluation),
        certain=CERTAIN,
        citation=CITATION,
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


def uncertain_share(evaluation: Evaluation) -> str:
    """Write the share of uncertain cases in the reference run."""
    counts = evaluation.certainty_counts[evaluation.reference]
    return percent(counts.n_open / counts.n_cases)


# What guidelines ask ------------------------------------------------------------------------------------


def guideline_items(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Answer what the CLAIM checklist asks about the reference standard and its uncertainty, as far as the data know.

    The questions are in our own words; the numbers are those of the 2020 list.
    """
    label, (row, rows) = evaluation.runs[evaluation.reference].label, rows_of(evaluation)
    names, swept = joined([one.name for one in evaluation.metrics]), len(evaluation.adjusted_runs)
    known = evaluation.agreement()["agreement"].drop_nulls().to_numpy()
    agreed = f"{number(float(known.mean()), 2)} on average over {counted(len(known), row, rows)}" if len(known) else ""
    words = {
        "kind": KINDS[evaluation.study.kind].described,
        "runs": ", ".join(run.label for run in evaluation.runs),
        "authors": AUTHORS,
        "people": capital(named(evaluation.n_annotators)),
        "many": spread(evaluation.study.panel.votes_per_case) + " per case",
        "sample": " of a random sample" if evaluation.is_sample else "",
        "uncertain": f"{rows} with certainty below {CERTAIN}: {uncertain_share(evaluation)} ({label})",
        "agreed": f" Agreement among annotators, of one with the others: {agreed}." if agreed else "",
        "level": 100 * evaluation.level,
        "fit": " and from the fit of the prior" if evaluation.panel is not None else "",
        "metrics": f"{names[:1].upper()}{names[1:]}",
        "swept": counted(swept, "combination"),
    }
    is_known = {"always": True, "never": False, "swept": swept > 1}
    return [
        {**item, "answer": item["answer"].format(**words), "is_known": is_known[item["is_known"]]}
        for item in tomllib.loads(own_text("guideline.toml"))["items"]
        if evaluation.models or int(item["code"]) < FIRST_ABOUT_MODELS
    ]


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
