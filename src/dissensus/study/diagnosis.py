"""What is inside a study, in numbers a person can check, and what looks wrong with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, overload

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.errors import listing
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.question import question_in_words

if TYPE_CHECKING:
    from dissensus.study.checklists import Checklists
    from dissensus.study.rankings import Annotations
    from dissensus.study.ratings import Ratings
    from dissensus.study.study import Study


def plural(count: int, noun: str) -> str:
    """Count a noun, with separators.

    >>> plural(1, "case"), plural(1200, "case")
    ('1 case', '1,200 cases')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def span(values: IntArray) -> str:
    """Write the range of some counts."""
    if not len(values):
        return "none"
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def spread(values: IntArray, votes: IntArray | None = None) -> str:
    """Write the range and the middle of some counts, each of which occurs once or as often as it has votes.

    >>> spread(np.array([1, 2, 6])), spread(np.array([1, 2, 6]), np.array([1, 1, 4])), spread(np.array([2, 2]))
    ('1 to 6, median 2', '1 to 6, median 6', '2')
    """
    if not len(values) or values.min() == values.max():
        return span(values)
    return f"{span(values)}, median {median(values, votes):g}"


def median(values: IntArray, votes: IntArray | None = None) -> float:
    """Return the middle of some counts, each of which occurs once or as often as it has votes.

    >>> median(np.array([5, 1]), np.array([1, 3])), median(np.array([5, 1]), np.array([2, 2]))
    (1.0, 3.0)
    """
    if votes is None:
        return float(np.median(values))
    order = np.argsort(values)
    ends = np.cumsum(votes[order])
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(values[order][middle].mean())


def percent(part: int, whole: int) -> str:
    """Write a share, or a dash where there is nothing to share."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def description(annotations: Annotations) -> str:
    """Tell a person what is inside; the ``repr`` of :class:`Annotations`."""
    head, shown = _described(annotations)
    return "\n".join([head, *(f"  {label:<22}{text}" for label, text in shown.items())])


def description_html(annotations: Annotations) -> str:
    """Tell the same as a small HTML table, for notebooks."""
    head, shown = _described(annotations)
    rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in shown.items())
    return f"<table><caption>{escape(head)}</caption><tbody>{rows}</tbody></table>"


def _described(annotations: Annotations) -> tuple[str, dict[str, str]]:
    given, votes = annotations.mentions_per_ranking, annotations.votes
    spoken = int(votes[given > 0].sum())
    mentioned = f"{annotations.n_mentioned} of {annotations.n_conditions}"
    lines = {
        "rankings per case": span(annotations.votes_per_case),
        "conditions mentioned": f"{mentioned}; {span(given[given > 0])} per ranking",
        "one condition only": f"{percent(int(votes[given == 1].sum()), spoken)} of rankings",
        "with a tie": f"{percent(int(votes[annotations.has_tie].sum()), spoken)} of rankings",
        "annotators": str(len(annotations.annotator_names)) if annotations.annotator_names else "anonymous",
        "abstentions": str(int(votes[given == 0].sum())),
        "unannotated cases": str(len(annotations.unannotated)),
        "groups of cases": str(len(set(annotations.groups))),
        "weights": "yes" if annotations.panel.is_weighted else "0",
    }
    always = ("rankings per case", "conditions mentioned", "one condition only", "with a tie", "annotators")
    shown = {label: text for label, text in lines.items() if label in always or text != "0"}
    head = (
        f"Annotations: {plural(annotations.n_cases, 'case')}, {plural(annotations.n_votes, 'ranking')}, "
        f"{plural(annotations.n_conditions, 'condition')} (not mentioned = {annotations.unranked})"
    )
    asked = question_in_words(annotations)
    return head, {"annotators were": asked, **shown} if asked else shown


@dataclass(frozen=True)
class Spread:
    """The least, the middle and the most of some counts."""

    least: int
    median: float
    most: int
    mean: float

    @staticmethod
    def of(counts: IntArray, votes: IntArray | None = None) -> Spread:
        """Summarise counts, each of which occurs once or as often as it has votes; of nothing, everything is zero."""
        if not len(counts):
            return Spread(0, 0.0, 0, 0.0)
        mean = float(np.average(counts, weights=votes))
        return Spread(int(counts.min()), median(counts, votes), int(counts.max()), mean)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}, median {self.median:g}, mean {self.mean:.2f}"


@dataclass(frozen=True, kw_only=True)
class Diagnosis(ABC):
    """What a file of opinions holds, for people and for machines."""

    cases: int
    annotators: int
    annotators_per_case: Spread
    unannotated_cases: tuple[str, ...]

    @abstractmethod
    def lines(self) -> dict[str, str]:
        """Say what is inside: a label and a value for each line of a table."""

    @abstractmethod
    def remarks(self) -> list[str]:
        """Say what deserves a look, and what was done about it."""

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return asdict(self)


@overload
def diagnose(study: Annotations) -> RankingsDiagnosis: ...


@overload
def diagnose(study: Ratings) -> RatingsDiagnosis: ...


@overload
def diagnose(study: Checklists) -> ChecklistsDiagnosis: ...


@overload
def diagnose(study: Study) -> Diagnosis: ...


@checked
def diagnose(study: Study) -> Diagnosis:
    """Count what is inside a study and look for what may be wrong.

    Parameters
    ----------
    study
        Annotations, ratings or checklists.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> found = diagnose(Annotations.from_rankings([[[["Eczema"]], [["eczema "]]], []]))
    >>> found.unannotated_cases, found.similar_conditions
    (('1',), (('Eczema', 'eczema '),))
    """
    return study.diagnosis()


def repeated_opinions(panel: Panel) -> int:
    """Count the opinions that a named annotator gave on a case beyond the first."""
    named = panel.annotators != ANONYMOUS
    keys = (panel.case_of_opinion * (len(panel.annotator_names) + 1) + panel.annotators)[named]
    return len(keys) - len(np.unique(keys))


def similar_names(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Find names that differ only in case, white space or punctuation: often one name spelt twice."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        folded = "".join(letter for letter in name.casefold() if letter.isalnum()) or name
        if folded in first:
            pairs.append((first[folded], name))
        first.setdefault(folded, name)
    return tuple(pairs)


# Rankings ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RankingsDiagnosis(Diagnosis):
    """What a file of rankings holds."""

    rankings: int
    conditions: int
    unranked: str
    anonymous_rankings: int
    conditions_per_ranking: Spread
    conditions_per_case: Spread
    single_condition_rankings: int
    rankings_with_tie: int
    largest_tie: int
    abstentions: int
    repeated_rankings: int
    weighted: bool
    groups: int
    conditions_mentioned: int
    conditions_never_used: tuple[str, ...]
    similar_conditions: tuple[tuple[str, str], ...]
    question: str = ""

    def lines(self) -> dict[str, str]:
        """Count cases, rankings, conditions and ties."""
        spoken = self.rankings - self.abstentions
        ties = f"{self.rankings_with_tie} ({percent(self.rankings_with_tie, spoken)})"
        return {
            "cases": str(self.cases),
            "rankings": str(self.rankings),
            **({"annotators were": self.question} if self.question else {}),
            "conditions": f"{self.conditions}, of which {self.conditions_mentioned} mentioned",
            "not mentioned means": self.unranked,
            "annotators": str(self.annotators or "anonymous"),
            "annotators per case": str(self.annotators_per_case),
            "conditions per ranking": str(self.conditions_per_ranking),
            "conditions per case": str(self.conditions_per_case),
            "one condition only": f"{self.single_condition_rankings} "
            f"({percent(self.single_condition_rankings, spoken)})",
            "with a tie": f"{ties}, largest block {self.largest_tie}",
            "weights": "yes" if self.weighted else "none",
            "groups of cases": str(self.groups or "none"),
        }

    def remarks(self) -> list[str]:
        """Tell of skipped rows, abstentions, repetitions, and names that look alike."""
        remarks = []
        if self.abstentions:
            remarks.append(f"{plural(self.abstentions, 'abstention')}: kept, without conditions")
        if self.unannotated_cases:
            cases = plural(len(self.unannotated_cases), "unannotated case")
            remarks.append(f"{cases}: kept, excluded from aggregation ({listing(self.unannotated_cases, most=3)})")
        if self.repeated_rankings:
            again = plural(self.repeated_rankings, "ranking")
            remarks.append(f"{again} by an annotator who ranked the case before: kept")
        if self.conditions_never_used:
            count = plural(len(self.conditions_never_used), "condition")
            remarks.append(f"{count} never used ({listing(self.conditions_never_used, most=3)})")
        alike = (f"conditions {a!r} and {b!r} look alike: one name spelt twice?" for a, b in self.similar_conditions)
        return [*remarks, *list(alike)[:5]]


def diagnosis_of_rankings(annotations: Annotations) -> RankingsDiagnosis:
    """Count what is inside a study of rankings."""
    given, votes = annotations.mentions_per_ranking, annotations.votes
    used = np.isin(np.arange(annotations.n_conditions), annotations.codes)
    return RankingsDiagnosis(
        cases=annotations.n_cases,
        rankings=annotations.n_votes,
        conditions=annotations.n_conditions,
        unranked=annotations.unranked,
        annotators=len(annotations.annotator_names),
        anonymous_rankings=int(votes[annotations.annotators == ANONYMOUS].sum()),
        annotators_per_case=Spread.of(annotations.votes_per_case),
        conditions_per_ranking=Spread.of(given, votes),
        conditions_per_case=Spread.of(annotations.support.sizes),
        single_condition_rankings=int(votes[given == 1].sum()),
        rankings_with_tie=int(votes[annotations.has_tie].sum()),
        largest_tie=int(annotations.block_sizes.max(initial=0)),
        abstentions=int(votes[given == 0].sum()),
        repeated_rankings=repeated_opinions(annotations.panel),
        weighted=annotations.panel.is_weighted,
        groups=len(set(annotations.groups)),
        conditions_mentioned=int(used.sum()),
        conditions_never_used=tuple(annotations.conditions[code] for code in np.flatnonzero(~used)),
        unannotated_cases=annotations.unannotated,
        similar_conditions=similar_names(annotations.conditions),
        question=question_in_words(annotations),
    )


# Ratings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RatingsDiagnosis(Diagnosis):
    """What a file of ratings holds; where nobody rated anything there is no lowest score and no mean."""

    ratings: int
    repeated_ratings: int
    lowest: float | None
    highest: float | None
    mean: float | None
    sd: float | None

    def lines(self) -> dict[str, str]:
        """Count cases and ratings, and summarise the scores."""
        known = self.mean is not None
        return {
            "cases": str(self.cases),
            "ratings": str(self.ratings),
            "annotators": str(self.annotators or "anonymous"),
            "ratings per case": str(self.annotators_per_case),
            "scores": f"{self.lowest:g} to {self.highest:g}, mean {self.mean:.3g}, sd {self.sd:.3g}"
            if known
            else "none",
        }

    def remarks(self) -> list[str]:
        """Tell of cases without a rating, and of repetitions."""
        remarks = []
        if self.unannotated_cases:
            cases = plural(len(self.unannotated_cases), "case")
            remarks.append(f"{cases} without a rating: kept ({listing(self.unannotated_cases, most=3)})")
        if self.repeated_ratings:
            again = plural(self.repeated_ratings, "rating")
            remarks.append(f"{again} by an annotator who rated the case before: kept")
        return remarks


def _mean_and_sd(scores: FloatArray, votes: IntArray) -> tuple[float, float]:
    mean = np.average(scores, weights=votes)
    return float(mean), float(np.sqrt(np.average((scores - mean) ** 2, weights=votes)))


def diagnosis_of_ratings(ratings: Ratings) -> RatingsDiagnosis:
    """Count what is inside a study of ratings."""
    low, high = ratings.scale or (None, None)
    mean, sd = _mean_and_sd(ratings.scores, ratings.votes) if len(ratings.scores) else (None, None)
    return RatingsDiagnosis(
        cases=ratings.n_cases,
        ratings=ratings.n_votes,
        annotators=len(ratings.annotator_names),
        annotators_per_case=Spread.of(ratings.votes_per_case),
        repeated_ratings=repeated_opinions(ratings.panel),
        lowest=low,
        highest=high,
        mean=mean,
        sd=sd,
        unannotated_cases=ratings.unannotated,
    )


# Checklists -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ChecklistsDiagnosis(Diagnosis):
    """What a file of checklists holds; ``present`` counts the checklists on which each finding is present."""

    checklists: int
    findings: int
    nothing_found: int
    abstentions: int
    not_assessed: int
    repeated_checklists: int
    weighted: bool
    groups: int
    findings_per_checklist: Spread
    present: dict[str, int]
    similar_findings: tuple[tuple[str, str], ...]

    def lines(self) -> dict[str, str]:
        """Count cases, checklists and findings."""
        spoken = self.checklists - self.abstentions
        answers = self.checklists * self.findings
        return {
            "cases": str(self.cases),
            "checklists": str(self.checklists),
            "findings": str(self.findings),
            "annotators": str(self.annotators or "anonymous"),
            "annotators per case": str(self.annotators_per_case),
            "present per checklist": str(self.findings_per_checklist),
            "nothing found": f"{self.nothing_found} ({percent(self.nothing_found, spoken)})",
            "not assessed": f"{self.not_assessed} ({percent(self.not_assessed, answers)} of answers)",
            "weights": "yes" if self.weighted else "none",
            "groups of cases": str(self.groups or "none"),
        }

    def remarks(self) -> list[str]:
        """Tell of findings that nobody saw, of cases that nobody assessed, repetitions, and names that look alike."""
        remarks = []
        if self.abstentions:
            remarks.append(f"{plural(self.abstentions, 'checklist')} without an answer: kept, as abstentions")
        if self.unannotated_cases:
            cases = plural(len(self.unannotated_cases), "case")
            remarks.append(f"{cases} that nobody assessed: kept ({listing(self.unannotated_cases, most=3)})")
        if self.repeated_checklists:
            again = plural(self.repeated_checklists, "checklist")
            remarks.append(f"{again} by an annotator who assessed the case before: kept")
        never = [name for name, count in self.present.items() if not count]
        if never:
            remarks.append(f"{plural(len(never), 'finding')} never present ({listing(never, most=3)})")
        alike = (f"findings {a!r} and {b!r} look alike: one name spelt twice?" for a, b in self.similar_findings)
        return [*remarks, *list(alike)[:5]]


def diagnosis_of_checklists(said: Checklists) -> ChecklistsDiagnosis:
    """Count what is inside a study of checklists."""
    votes, spoken, found = said.votes, ~said.is_abstention, said.present_per_checklist
    present = (votes[:, None] * (said.answers == 1)).sum(axis=0)
    return ChecklistsDiagnosis(
        cases=said.n_cases,
        checklists=said.n_votes,
        findings=said.n_findings,
        annotators=len(said.annotator_names),
        annotators_per_case=Spread.of(said.votes_per_case),
        nothing_found=int(votes[spoken & (found == 0)].sum()),
        abstentions=int(votes[~spoken].sum()),
        not_assessed=int((votes[:, None] * (said.answers == -1)).sum()),
        repeated_checklists=repeated_opinions(said.panel),
        weighted=said.panel.is_weighted,
        groups=len(set(said.groups)),
        findings_per_checklist=Spread.of(found[spoken], votes[spoken]),
        present=dict(zip(said.findings, present.tolist(), strict=True)),
        unannotated_cases=said.unannotated,
        similar_findings=similar_names(said.findings),
    )
