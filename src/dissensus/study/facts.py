"""What a study says about itself: facts for a table, a sentence for a methods section, numbers to draw, and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import first_of_most, row_of_each
from dissensus.core.receipt import shortened, spaced, tied_in_words
from dissensus.study.diagnosis import percent, plural, span, spread
from dissensus.study.question import NOT_ASSESSED, PRESENT, question_in_words

if TYPE_CHECKING:
    from dissensus.study.study import Study

NO_SCORES = "\N{EN DASH}"
NOTHING_FOUND = "nothing found"


@dataclass(frozen=True)
class Fact:
    """One line of a table about a study: ``word`` is the part of the label that means the glossary's ``term``.

    Examples
    --------
    >>> Fact("Annotators per case", "1 to 6, median 2", "annotator", "Annotators").label
    'Annotators per case'
    """

    label: str
    value: str
    term: str = ""
    word: str = ""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Numbers of a study to be drawn as a histogram.

    Attributes
    ----------
    title
        What the numbers are.
    values : (n_cases,) or (n_opinions,)
        The numbers.
    unit
        What has one number each, in the plural: ``"cases"``, ``"rankings"``.
    votes : (n_opinions,)
        How often each number of an opinion counts; nothing for once each.
    per_case, are_counts
        Whether each case has a number, or each opinion; whether they are counts, or scores on a scale.
    """

    title: str
    values: IntArray | FloatArray
    unit: str = "cases"
    votes: IntArray | None = None
    per_case: bool = True
    are_counts: bool = True


def facts_of(study: Study) -> tuple[Fact, ...]:
    """Count cases, annotators and opinions, for a table."""
    name = study.kind.capitalize()
    own = {"rankings": _facts_of_rankings, "ratings": _facts_of_ratings, "checklists": _facts_of_checklists}
    return (
        Fact("Cases", f"{study.n_cases:,}", "case", "Cases"),
        Fact(name, f"{study.n_votes:,}", study.opinion, name),
        Fact("Annotators per case", spread(study.panel.annotators_per_case), "annotator", "Annotators"),
        *own[study.kind](study),
    )


def _facts_of_rankings(study: Study) -> list[Fact]:
    given, votes, asked = study.mentions_per_ranking, study.votes, question_in_words(study)
    spoken = int(votes[given > 0].sum())
    return [
        Fact("Conditions per ranking", spread(given[given > 0], votes[given > 0]), "condition", "Conditions"),
        Fact("Conditions per case (support)", spread(study.support.sizes), "support", "support"),
        Fact("Rankings with one condition", percent(int(votes[given == 1].sum()), spoken)),
        Fact("Rankings with a tie", percent(int(votes[study.has_tie].sum()), spoken), "tie", "tie"),
        Fact("Different conditions mentioned", f"{study.n_mentioned:,} of {study.n_conditions:,}"),
        *([Fact("Question", f"annotators were {asked}")] if asked else []),
    ]


def _facts_of_ratings(study: Study) -> list[Fact]:
    low_and_high = "{:g} to {:g}".format(*study.scale) if study.scale else NO_SCORES
    average = f"{np.average(study.scores, weights=study.votes):.3g}" if study.scale else NO_SCORES
    return [Fact("Lowest and highest rating", low_and_high), Fact("Average rating", average)]


def _facts_of_checklists(study: Study) -> list[Fact]:
    spoken, votes, found = ~study.is_abstention, study.votes, study.present_per_checklist
    missing = int((votes * (study.answers == NOT_ASSESSED).sum(axis=1)).sum())
    return [
        Fact("Findings on the list", f"{study.n_findings:,}", "finding", "Findings"),
        Fact("Findings present per checklist", spread(found[spoken], votes[spoken])),
        Fact("Checklists with nothing found", percent(_nothing_found(study), int(votes[spoken].sum()))),
        Fact("Answers not assessed", percent(missing, study.n_votes * study.n_findings)),
    ]


def _nothing_found(study: Study) -> int:
    return int(study.votes[~study.is_abstention & (study.present_per_checklist == 0)].sum())


def methods_of(study: Study) -> str:
    """Write the sentence of a methods section about the opinions."""
    cases = "The one case was" if study.n_cases == 1 else f"Each of {study.n_cases:,} cases was"
    people = f"by annotators ({spread(study.panel.annotators_per_case)} per case)"
    below = "ranked last" if study.unranked == "below" else "taken as not compared"
    asked = question_in_words(study)
    return {
        "conditions": f"{cases} ranked {people}; a ranking may hold ties and need not mention every one of the "
        f"{plural(study.n_conditions, 'condition')}, and those that were not mentioned were {below}.",
        "binary": f"{cases} judged {people}, who were {asked}.",
        "grades": f"{cases} {asked} {people}.",
        "numbers": f"{cases} rated {people}.",
        "findings": f"{cases} assessed {people} for {plural(study.n_conditions, 'finding')}; every finding was a "
        "question of its own, present or absent, and what was not assessed was no opinion.",
    }[study.question]


def distributions_of(study: Study) -> tuple[Distribution, ...]:
    """Return the numbers that show what kind of study this is."""

    def per_opinion(title: str, values: IntArray | FloatArray, *, are_counts: bool = True) -> Distribution:
        return Distribution(title, values, study.kind, study.votes, per_case=False, are_counts=are_counts)

    annotators = Distribution("annotators per case", study.panel.annotators_per_case)
    if study.kind == "ratings":
        return annotators, per_opinion("score", study.scores, are_counts=False)
    if study.kind == "checklists":
        return annotators, per_opinion("findings present per checklist", study.present_per_checklist)
    largest = np.zeros(study.n_rankings, dtype=np.int64)
    np.maximum.at(largest, row_of_each(study.block_offsets), study.block_sizes)
    return (
        annotators,
        Distribution("different conditions per case", study.support.sizes),
        per_opinion("conditions per ranking", study.mentions_per_ranking),
        per_opinion("largest tie of a ranking (1: no tie)", largest),
    )


# Opinions -----------------------------------------------------------------------------------------------


def numbers_of_opinion(study: Study, opinion: int, code: Callable[[int], int]) -> list[float] | list[int]:
    """Write one opinion as a flat list of numbers; see :meth:`Study.said`."""
    if study.kind == "ratings":
        return [round(float(study.scores[opinion]), 6)]
    if study.kind == "checklists":
        present, missing = (np.flatnonzero(study.answers[opinion] == one).tolist() for one in (PRESENT, NOT_ASSESSED))
        return [*map(code, present), *(-code(finding) - 1 for finding in missing)]
    coded = ([code(condition) for condition in block] for block in _blocks(study, opinion))
    return [number for first, *tied in coded for number in (first, *(-other - 1 for other in tied))]


def words_of_opinion(study: Study, opinion: int) -> str:
    """Write one opinion in words; see :meth:`Study.words`."""
    names = study.conditions
    if study.kind == "ratings":
        return f"{study.scores[opinion]:g}"
    if study.kind == "checklists":
        row = study.answers[opinion]
        if (row == NOT_ASSESSED).all():
            return "nothing assessed"
        present, missing = (
            ", ".join(names[code] for code in np.flatnonzero(row == one)) for one in (PRESENT, NOT_ASSESSED)
        )
        return (present or NOTHING_FOUND) + (f"; not assessed: {missing}" if missing else "")
    ranked = tied_in_words([names[code] for code in block] for block in _blocks(study, opinion))
    return f"grade {ranked}" if study.question == "grades" and ranked else ranked


def _blocks(study: Study, opinion: int) -> list[list[int]]:
    offsets = study.code_offsets[study.block_offsets[opinion] : study.block_offsets[opinion + 1] + 1]
    return [study.codes[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]


# The whole study ----------------------------------------------------------------------------------------


def description(study: Study) -> tuple[str, dict[str, str]]:
    """Tell a person what is inside: a line, and of rankings a label and a text for each of the lines below it."""
    cases, opinions = plural(study.n_cases, "case"), plural(study.n_votes, study.opinion)
    n_missing = len(study.unannotated)
    if study.kind == "ratings":
        scores = " from {:g} to {:g}".format(*study.scale) if study.scale else ""
        missing = f"; {plural(n_missing, 'case')} without a rating" if n_missing else ""
        return f"Ratings: {cases}, {opinions}{scores}{missing}", {}
    if study.kind == "checklists":
        nothing = f"; {_nothing_found(study):,} found nothing" if _nothing_found(study) else ""
        missing = f"; {plural(n_missing, 'case')} not assessed" if n_missing else ""
        return f"Checklists: {cases}, {opinions} of {plural(study.n_findings, 'finding')}{nothing}{missing}", {}
    conditions = f"{plural(study.n_conditions, 'condition')} (not mentioned = {study.unranked})"
    return f"Annotations: {cases}, {opinions}, {conditions}", _lines_of_rankings(study)


def _lines_of_rankings(study: Study) -> dict[str, str]:
    given, votes, asked = study.mentions_per_ranking, study.votes, question_in_words(study)
    spoken = int(votes[given > 0].sum())
    always = {
        "rankings per case": span(study.votes_per_case),
        "conditions mentioned": f"{study.n_mentioned} of {study.n_conditions}; {span(given[given > 0])} per ranking",
        "one condition only": f"{percent(int(votes[given == 1].sum()), spoken)} of rankings",
        "with a tie": f"{percent(int(votes[study.has_tie].sum()), spoken)} of rankings",
        "annotators": str(len(study.annotator_names) or "anonymous"),
    }
    sometimes = {
        "abstentions": str(int(votes[given == 0].sum())),
        "unannotated cases": str(len(study.unannotated)),
        "groups of cases": str(len(set(study.groups))),
        "weights": "yes" if study.panel.is_weighted else "0",
    }
    shown = {label: text for label, text in sometimes.items() if text != "0"}
    return {**({"annotators were": asked} if asked else {}), **always, **shown}


def examples_of(study: Study, most: int) -> tuple[str, ...]:
    """Write one opinion on each of a few cases in words; see :meth:`Study.examples`."""
    detail = {
        "rankings": study.blocks_per_ranking,
        "ratings": np.ones(study.n_opinions, dtype=np.int64),
        "checklists": study.present_per_checklist + 1,
    }[study.kind]
    said = np.where(study.is_abstention, 0, detail)
    best = first_of_most(said, study.panel.opinion_offsets)
    telling, others = best[said[best] > 1], best[said[best] == 1]
    chosen = [*spaced(telling, most), *spaced(others, max(0, most - len(telling)))]
    return tuple(shortened(_sentence(study, opinion)) for opinion in sorted(chosen))


def _sentence(study: Study, opinion: int) -> str:
    annotator, votes = int(study.annotators[opinion]), int(study.votes[opinion])
    nobody = "an annotator" if votes == 1 else f"{votes} annotators"
    who = nobody if annotator < 0 else f"annotator {study.annotator_names[annotator]}"
    case = study.case_names[study.panel.case_of_opinion[opinion]]
    return f"{who} on case {case} said: {words_of_opinion(study, opinion)}"
