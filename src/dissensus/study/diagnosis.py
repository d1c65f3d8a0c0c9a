"""What a study says about itself, in numbers that a person can check and in words, and what looks wrong with it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_position, checked
from dissensus.core.errors import listing
from dissensus.core.names import spelt
from dissensus.core.ragged import first_of_most, row_of_each
from dissensus.core.receipt import shortened, spaced, tied_in_words
from dissensus.core.screen import counted
from dissensus.study.panel import ANONYMOUS
from dissensus.study.question import NOT_ASSESSED, PRESENT, question_in_words

if TYPE_CHECKING:
    from dissensus.study.study import Study


# Signs that tell apart what they end: HER2+ and HER2-.
SIGNS = tuple("+-\N{MINUS SIGN}\N{EN DASH}*#%")

# Numbers in words -----------------------------------------------------------------------------------------


def span(values: IntArray) -> str:
    """Write the range of some counts."""
    if not len(values):
        return "none"
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def spread(values: IntArray) -> str:
    """Write the range and the middle of some counts.

    >>> spread(np.array([1, 2, 6])), spread(np.array([2, 2]))
    ('1 to 6, median 2', '2')
    """
    found = Spread.of(values)
    return span(values) if found.least == found.most else f"{span(values)}, median {found.median:g}"


def percent(part: int, whole: int) -> str:
    """Write a share, or a dash where there is nothing to share."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


class Spread(NamedTuple):
    """The least, the middle and the most of some counts.

    >>> Spread.of(np.array([5, 1]), np.array([1, 3])).median, Spread.of(np.array([5, 1]), np.array([2, 2])).median
    (1.0, 3.0)
    """

    least: int
    median: float
    most: int
    mean: float

    @staticmethod
    def of(counts: IntArray, votes: IntArray | None = None) -> Spread:
        """Summarise counts, each of which occurs once or as often as it has votes; of nothing, everything is zero."""
        if not len(counts):
            return Spread(0, 0.0, 0, 0.0)
        order = np.argsort(counts)
        ends = np.cumsum(np.ones_like(counts) if votes is None else votes[order])
        middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
        median, mean = float(counts[order][middle].mean()), float(np.average(counts, weights=votes))
        return Spread(int(counts.min()), median, int(counts.max()), mean)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}, median {self.median:g}, mean {self.mean:.2f}"


# What looks wrong -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnosis:
    """What a file of opinions holds, for people and for machines.

    Attributes
    ----------
    numbers
        Everything that was counted, by name; each is an attribute, too.
    table
        The same for people: a label and a value for each line.
    concerns
        What deserves a look, and what was done about it.
    """

    numbers: Mapping[str, Any]
    table: Mapping[str, str]
    concerns: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("numbers", {})
        if name not in found:
            raise AttributeError(f"a diagnosis of this kind of study has no number {name!r}")
        return found[name]

    def lines(self) -> dict[str, str]:
        """Say what is inside: a label and a value for each line of a table."""
        return dict(self.table)

    def remarks(self) -> list[str]:
        """Say what deserves a look, and what was done about it."""
        return list(self.concerns)

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return {name: value._asdict() if isinstance(value, Spread) else value for name, value in self.numbers.items()}


@checked
def diagnose(study: Study) -> Diagnosis:
    """Count what is inside a study and look for what may be wrong.

    Parameters
    ----------
    study
        Rankings, ratings or checklists.

    Examples
    --------
    >>> from dissensus import Study
    >>> found = diagnose(Study.from_rankings([[[["Eczema"]], [["eczema "]]], []]))
    >>> found.unannotated_cases, found.similar_conditions
    (('1',), (('Eczema', 'eczema '),))
    """
    numbers, is_list = numbers_of(study), study.kind == "checklists"
    people = {"case": study.case_names, "annotator": study.annotator_names}
    numbers |= {f"similar_{what}s": similar_names(names) for what, names in people.items()}
    noun, verb = "finding" if is_list else "condition", {"rankings": "ranked", "ratings": "rated"}.get(study.kind)
    never = numbers.get(f"{noun}s_never_used", ())
    repeated = numbers[f"repeated_{study.kind}"]
    found: tuple[tuple[int, str, str, Sequence[str]], ...] = (
        (numbers["abstentions"], "abstention", f": kept, without {noun}s", ()),
        (len(study.unannotated), "unannotated case", ": kept, excluded from aggregation", study.unannotated),
        (repeated, study.opinion, f" by an annotator who {verb or 'assessed'} the case before: kept", ()),
        (len(never), noun, f" never {'present' if is_list else 'used'}", never),
    )
    told = [
        f"{counted(count, what)}{text}" + (f" ({listing(names, most=3)})" if names else "")
        for count, what, text, names in found
        if count
    ]
    alike = [(what, pair) for what in (noun, *people) for pair in numbers.get(f"similar_{what}s", ())[:5]]
    told += [f"{what}s {spelt(*pair)} look alike: one name spelt twice?" for what, pair in alike]
    return Diagnosis(numbers, lines_of(study), tuple(told))


def numbers_of(study: Study) -> dict[str, Any]:
    """Count everything that there is to count, by name."""
    panel, votes = study.panel, study.votes
    named = panel.annotators != ANONYMOUS
    opinions = (panel.case_of_opinion * (len(panel.annotator_names) + 1) + panel.annotators)[named]
    numbers = {
        "cases": study.n_cases,
        study.kind: study.n_votes,
        "annotators": len(study.annotator_names),
        "annotators_per_case": Spread.of(panel.annotators_per_case),
        "unannotated_cases": study.unannotated,
        "abstentions": int(votes[study.is_abstention].sum()),
        f"repeated_{study.kind}": len(opinions) - len(np.unique(opinions)),
        "weighted": panel.is_weighted,
        "groups": len(set(study.groups)),
    }
    if study.kind == "ratings":
        if study.scale is None:  # where nobody rated anything, there is no lowest score and no mean
            return numbers | dict.fromkeys(("lowest", "highest", "mean", "sd"))
        mean = float(np.average(study.scores, weights=votes))
        sd = float(np.sqrt(np.average((study.scores - mean) ** 2, weights=votes)))
        return numbers | {"lowest": study.scale[0], "highest": study.scale[1], "mean": mean, "sd": sd}
    if study.kind == "checklists":
        times = dict(zip(study.findings, (votes @ (study.answers == PRESENT)).tolist(), strict=True))
        found, spoken = study.present_per_checklist, ~study.is_abstention
        return numbers | {
            "findings": study.n_findings,
            "nothing_found": int(votes[spoken & (found == 0)].sum()),
            "not_assessed": int((votes @ (study.answers == NOT_ASSESSED)).sum()),
            "findings_per_checklist": Spread.of(found[spoken], votes[spoken]),
            "present": times,
            "findings_never_used": tuple(name for name, count in times.items() if not count),
            "similar_findings": similar_names(study.findings),
        }
    given, unused = study.mentions_per_ranking, np.setdiff1d(np.arange(study.n_conditions), study.codes)
    return numbers | {
        "conditions": study.n_conditions,
        "unranked": study.unranked,
        "anonymous_rankings": int(votes[study.annotators == ANONYMOUS].sum()),
        "conditions_per_ranking": Spread.of(given, votes),
        "conditions_per_case": Spread.of(study.support.sizes),
        "single_condition_rankings": int(votes[given == 1].sum()),
        "rankings_with_tie": int(votes[study.has_tie].sum()),
        "largest_tie": int(study.block_sizes.max(initial=0)),
        "conditions_mentioned": study.n_mentioned,
        "conditions_never_used": tuple(study.conditions[code] for code in unused),
        "similar_conditions": similar_names(study.conditions),
        "question": question_in_words(study),
    }


def similar_names(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Find names that differ only in case, white space, zeros in front or punctuation: often one name spelt twice.

    A plus or minus that ends a name is part of it.

    >>> similar_names(["HER2+", "HER2-", "her2 +", "1", "01"])
    (('HER2+', 'her2 +'), ('1', '01'))
    """
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        plain = unicodedata.normalize("NFKC", name).casefold().strip()
        ending = plain[-1] if plain[-1:] in SIGNS else ""
        letters = "".join(sign for sign in plain if sign.isalnum()).lstrip("0")
        folded = letters + ending if letters else plain or name
        if folded in first:
            pairs.append((first[folded], name))
        first.setdefault(folded, name)
    return tuple(pairs)


# Facts and words --------------------------------------------------------------------------------------------


class Fact(NamedTuple):
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


class Distribution(NamedTuple):
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
    """Count cases, annotators and opinions, for a table.

    Examples
    --------
    >>> from dissensus import Study
    >>> [fact.value for fact in Study.from_scores([[1, 2], [5]]).facts()]
    ['2', '3', '1 to 2, median 1.5, mean 1.50', '1 to 5, mean 2.67, sd 1.7']
    """
    found, name = numbers_of(study), study.kind.capitalize()
    spoken = study.n_votes - found["abstentions"]

    def share(part: int, whole: int = spoken) -> str:
        return f"{part:,} ({percent(part, whole)})"

    if study.kind == "rankings":
        mentioned, ties = found["conditions_mentioned"], found["rankings_with_tie"]
        own = [
            Fact("Conditions", f"{study.n_conditions:,}, of which {mentioned:,} mentioned", "condition", "Conditions"),
            Fact("Conditions per ranking", str(found["conditions_per_ranking"])),
            Fact("Conditions per case (support)", str(found["conditions_per_case"]), "support", "support"),
            Fact("Rankings with one condition", share(found["single_condition_rankings"])),
            Fact("Rankings with a tie", f"{share(ties)}, largest block {found['largest_tie']}", "tie", "tie"),
            *([Fact("Question", f"annotators were {found['question']}")] if found["question"] else []),
        ]
    elif study.kind == "ratings":
        scores = "{lowest:g} to {highest:g}, mean {mean:.3g}, sd {sd:.3g}"
        own = [Fact("Scores", scores.format(**found) if study.scale else "\N{EN DASH}")]
    else:
        own = [
            Fact("Findings on the list", f"{study.n_findings:,}", "finding", "Findings"),
            Fact("Findings present per checklist", str(found["findings_per_checklist"])),
            Fact("Checklists with nothing found", share(found["nothing_found"])),
            Fact("Answers not assessed", share(found["not_assessed"], study.n_votes * study.n_findings)),
        ]
    return (
        Fact("Cases", f"{study.n_cases:,}", "case", "Cases"),
        Fact(name, f"{study.n_votes:,}", study.opinion, name),
        Fact("Annotators per case", str(found["annotators_per_case"]), "annotator", "Annotators"),
        *own,
    )


def lines_of(study: Study) -> dict[str, str]:
    """Write the facts, and what else there is to say about a study: a label and a value for each line of a table."""
    found = numbers_of(study)
    also = {
        "not mentioned means": study.unranked if study.kind == "rankings" else "",
        "annotators": str(found["annotators"] or "anonymous"),
        "abstentions": f"{found['abstentions']:,}",
        "unannotated cases": f"{len(study.unannotated):,}",
        "groups of cases": f"{found['groups']:,}",
        "weights": "yes" if found["weighted"] else "",
    }
    said = {fact.label.lower(): fact.value for fact in facts_of(study)}
    return said | {label: text for label, text in also.items() if text not in ("", "0")}


def methods_of(study: Study) -> str:
    """Write the sentence of a methods section about the opinions.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_scores([[1, 2], [5, 3]]).methods()
    'Each of 2 cases was rated by annotators (2 per case).'
    """
    cases = "The one case was" if study.n_cases == 1 else f"Each of {study.n_cases:,} cases was"
    people = f"by annotators ({spread(study.panel.annotators_per_case)} per case)"
    below = "ranked last" if study.unranked == "below" else "taken as not compared"
    asked = question_in_words(study)
    return {
        "conditions": f"{cases} ranked {people}; a ranking may hold ties and need not mention every one of the "
        f"{counted(study.n_conditions, 'condition')}, and those that were not mentioned were {below}.",
        "binary": f"{cases} judged {people}, who were {asked}.",
        "grades": f"{cases} {asked} {people}.",
        "numbers": f"{cases} rated {people}.",
        "findings": f"{cases} assessed {people} for {counted(study.n_conditions, 'finding')}; every finding was a "
        "question of its own, present or absent, and what was not assessed was no opinion.",
    }[study.question]


def distributions_of(study: Study) -> tuple[Distribution, ...]:
    """Return the numbers that show what kind of study this is.

    Examples
    --------
    >>> from dissensus import Study
    >>> [one.title for one in Study.from_scores([[1, 2], [5, 3]]).distributions()]
    ['annotators per case', 'score']
    """

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
    """Write one opinion as a flat list of numbers; ``code`` gives conditions their numbers.

    In a ranking, a condition tied with the one before it is minus its code minus 1. Of a checklist, they are the
    findings present, and minus the code minus 1 if not assessed.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_rankings([[[["a"], ["b", "c"]]]]).said(0, lambda condition: condition + 5)
    [5, 6, -8]
    >>> said = Study.from_matrix([[[1, 0, -1]]], ["AF", "RBBB", "ST"])
    >>> said.said(0, lambda finding: finding + 5)
    [5, -8]
    """
    check_position(study.opinion, opinion, study.n_opinions)
    if study.kind == "ratings":
        return [round(float(study.scores[opinion]), 6)]
    if study.kind == "checklists":
        present, missing = _blocks(study, opinion)
        return [*map(code, present), *(-code(finding) - 1 for finding in missing)]
    coded = ([code(condition) for condition in block] for block in _blocks(study, opinion))
    return [number for first, *tied in coded for number in (first, *(-other - 1 for other in tied))]


def words_of_opinion(study: Study, opinion: int) -> str:
    """Write one opinion in words.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_rankings([[[["Melanoma"], ["Hemangioma", "Nevus"]]]]).words(0)
    'Melanoma, then Hemangioma and Nevus tied'
    >>> Study.from_counts([[0, 1, 0]], question="grades").words(0)
    'grade 1'
    >>> Study.from_matrix([[[1, 1, -1]]], ["AF", "RBBB", "ST"]).words(0)
    'AF, RBBB; not assessed: ST'
    """
    check_position(study.opinion, opinion, study.n_opinions)
    if study.kind == "ratings":
        return f"{study.scores[opinion]:g}"
    blocks = [[study.conditions[code] for code in block] for block in _blocks(study, opinion)]
    if study.kind == "checklists":
        if len(blocks[1]) == study.n_findings:
            return "nothing assessed"
        present, missing = map(", ".join, blocks)
        return (present or "nothing found") + (f"; not assessed: {missing}" if missing else "")
    ranked = tied_in_words(blocks)
    return f"grade {ranked}" if study.question == "grades" and ranked else ranked


def _blocks(study: Study, opinion: int) -> list[list[int]]:
    """Return the codes of every block; of a checklist, of what is present and of what was not assessed."""
    if study.kind == "checklists":
        return [np.flatnonzero(study.answers[opinion] == one).tolist() for one in (PRESENT, NOT_ASSESSED)]
    offsets = study.code_offsets[study.block_offsets[opinion] : study.block_offsets[opinion + 1] + 1]
    return [study.codes[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]


# The whole study ----------------------------------------------------------------------------------------


def headline(study: Study) -> str:
    """Tell a person in a line what is inside."""
    head = f"{counted(study.n_cases, 'case')}, {counted(study.n_votes, study.opinion)}"
    missing = f"; {counted(len(study.unannotated), 'case')} {{}}" if study.unannotated else ""
    if study.kind == "ratings":
        scores = " from {:g} to {:g}".format(*study.scale) if study.scale else ""
        return f"Ratings: {head}{scores}{missing.format('without a rating')}"
    if study.kind == "checklists":
        nothing, listed = numbers_of(study)["nothing_found"], counted(study.n_findings, "finding")
        found = f"; {nothing:,} found nothing" if nothing else ""
        return f"Checklists: {head} of {listed}{found}{missing.format('not assessed')}"
    return f"Annotations: {head}, {counted(study.n_conditions, 'condition')} (not mentioned = {study.unranked})"


def examples_of(study: Study, most: int = 3) -> tuple[str, ...]:
    """Write one opinion on each of a few cases in words: the first, the middle and the last of the telling ones.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_scores([[1, 2], [5]], case_names=["x", "y"]).examples()
    ('an annotator on case x said: 1', 'an annotator on case y said: 5')
    """
    detail = {
        "rankings": study.blocks_per_ranking,
        "ratings": np.ones(study.n_opinions, dtype=np.int64),
        "checklists": study.present_per_checklist + 1,
    }[study.kind]
    said = np.where(study.is_abstention, 0, detail)
    best = first_of_most(said, study.panel.opinion_offsets)
    telling, others = best[said[best] > 1], best[said[best] == 1]
    chosen = [*spaced(telling, most), *spaced(others, max(0, most - len(telling)))]
    sentences = []
    for opinion in sorted(chosen):
        annotator, votes = int(study.annotators[opinion]), int(study.votes[opinion])
        nobody = "an annotator" if votes == 1 else f"{votes} annotators"
        who = nobody if annotator < 0 else f"annotator {study.annotator_names[annotator]}"
        case = study.case_names[np.searchsorted(study.panel.opinion_offsets, opinion, side="right") - 1]
        sentences.append(shortened(f"{who} on case {case} said: {words_of_opinion(study, opinion)}"))
    return tuple(sentences)
