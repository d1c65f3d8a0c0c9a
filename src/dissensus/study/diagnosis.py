"""What is inside a study, in numbers a person can check, and what looks wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.aliases import IntArray
from dissensus.core.arguments import checked
from dissensus.core.errors import listing
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.question import NOT_ASSESSED, PRESENT, question_in_words

if TYPE_CHECKING:
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
        return {name: asdict(value) if isinstance(value, Spread) else value for name, value in self.numbers.items()}


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
    numbers = {
        "cases": study.n_cases,
        "annotators": len(study.annotator_names),
        "annotators_per_case": Spread.of(study.votes_per_case),
        "unannotated_cases": study.unannotated,
        study.kind: study.n_votes,
        f"repeated_{study.kind}": repeated_opinions(study.panel),
    }
    look = {"rankings": _rankings, "ratings": _ratings, "checklists": _checklists}[study.kind]
    return look(study, numbers)


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


def _remark(count: int, noun: str, text: str, names: Sequence[str] = ()) -> list[str]:
    """Say what deserves a look, with the first of the names that it is about; nothing where there is none."""
    shown = f" ({listing(names, most=3)})" if names else ""
    return [f"{plural(count, noun)}{text}{shown}"] if count else []


def _alike(noun: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{noun}s {a!r} and {b!r} look alike: one name spelt twice?" for a, b in pairs[:5]]


def _rankings(study: Study, numbers: Mapping[str, Any]) -> Diagnosis:
    given, votes = study.mentions_per_ranking, study.votes
    used = np.isin(np.arange(study.n_conditions), study.codes)
    single, tied, silent = (int(votes[of].sum()) for of in (given == 1, study.has_tie, given == 0))
    spoken, never = study.n_votes - silent, tuple(study.conditions[code] for code in np.flatnonzero(~used))
    found: dict[str, Any] = {
        **numbers,
        "conditions": study.n_conditions,
        "unranked": study.unranked,
        "anonymous_rankings": int(votes[study.annotators == ANONYMOUS].sum()),
        "conditions_per_ranking": Spread.of(given, votes),
        "conditions_per_case": Spread.of(study.support.sizes),
        "single_condition_rankings": single,
        "rankings_with_tie": tied,
        "largest_tie": int(study.block_sizes.max(initial=0)),
        "abstentions": silent,
        "weighted": study.panel.is_weighted,
        "groups": len(set(study.groups)),
        "conditions_mentioned": int(used.sum()),
        "conditions_never_used": never,
        "similar_conditions": similar_names(study.conditions),
        "question": question_in_words(study),
    }
    lines = {
        "cases": str(study.n_cases),
        "rankings": str(study.n_votes),
        **({"annotators were": found["question"]} if found["question"] else {}),
        "conditions": f"{study.n_conditions}, of which {found['conditions_mentioned']} mentioned",
        "not mentioned means": study.unranked,
        "annotators": str(found["annotators"] or "anonymous"),
        "annotators per case": str(found["annotators_per_case"]),
        "conditions per ranking": str(found["conditions_per_ranking"]),
        "conditions per case": str(found["conditions_per_case"]),
        "one condition only": f"{single} ({percent(single, spoken)})",
        "with a tie": f"{tied} ({percent(tied, spoken)}), largest block {found['largest_tie']}",
        "weights": "yes" if found["weighted"] else "none",
        "groups of cases": str(found["groups"] or "none"),
    }
    cases = study.unannotated
    concerns = (
        *_remark(silent, "abstention", ": kept, without conditions"),
        *_remark(len(cases), "unannotated case", ": kept, excluded from aggregation", cases),
        *_remark(found["repeated_rankings"], "ranking", " by an annotator who ranked the case before: kept"),
        *_remark(len(never), "condition", " never used", never),
        *_alike("condition", found["similar_conditions"]),
    )
    return Diagnosis(found, lines, concerns)


def _ratings(study: Study, numbers: Mapping[str, Any]) -> Diagnosis:
    """Summarise the scores; where nobody rated anything there is no lowest score and no mean."""
    low, high = study.scale or (None, None)
    mean, sd = None, None
    if study.scale:
        mean = float(np.average(study.scores, weights=study.votes))
        sd = float(np.sqrt(np.average((study.scores - mean) ** 2, weights=study.votes)))
    lines = {
        "cases": str(study.n_cases),
        "ratings": str(study.n_votes),
        "annotators": str(numbers["annotators"] or "anonymous"),
        "ratings per case": str(numbers["annotators_per_case"]),
        "scores": f"{low:g} to {high:g}, mean {mean:.3g}, sd {sd:.3g}" if study.scale else "none",
    }
    concerns = (
        *_remark(len(study.unannotated), "case", " without a rating: kept", study.unannotated),
        *_remark(numbers["repeated_ratings"], "rating", " by an annotator who rated the case before: kept"),
    )
    return Diagnosis({**numbers, "lowest": low, "highest": high, "mean": mean, "sd": sd}, lines, concerns)


def _checklists(study: Study, numbers: Mapping[str, Any]) -> Diagnosis:
    """Count findings; ``present`` are the checklists on which each finding is present."""
    votes, spoken, found = study.votes, ~study.is_abstention, study.present_per_checklist
    present = dict(zip(study.findings, (votes @ (study.answers == PRESENT)).tolist(), strict=True))
    silent, nothing = int(votes[~spoken].sum()), int(votes[spoken & (found == 0)].sum())
    missing = int((votes @ (study.answers == NOT_ASSESSED)).sum())
    per_checklist, groups = Spread.of(found[spoken], votes[spoken]), len(set(study.groups))
    counted: dict[str, Any] = {
        **numbers,
        "findings": study.n_findings,
        "nothing_found": nothing,
        "abstentions": silent,
        "not_assessed": missing,
        "weighted": study.panel.is_weighted,
        "groups": groups,
        "findings_per_checklist": per_checklist,
        "present": present,
        "similar_findings": similar_names(study.findings),
    }
    lines = {
        "cases": str(study.n_cases),
        "checklists": str(study.n_votes),
        "findings": str(study.n_findings),
        "annotators": str(numbers["annotators"] or "anonymous"),
        "annotators per case": str(numbers["annotators_per_case"]),
        "present per checklist": str(per_checklist),
        "nothing found": f"{nothing} ({percent(nothing, study.n_votes - silent)})",
        "not assessed": f"{missing} ({percent(missing, study.n_votes * study.n_findings)} of answers)",
        "weights": "yes" if counted["weighted"] else "none",
        "groups of cases": str(groups or "none"),
    }
    never = [name for name, count in present.items() if not count]
    concerns = (
        *_remark(silent, "checklist", " without an answer: kept, as abstentions"),
        *_remark(len(study.unannotated), "case", " that nobody assessed: kept", study.unannotated),
        *_remark(numbers["repeated_checklists"], "checklist", " by an annotator who assessed the case before: kept"),
        *_remark(len(never), "finding", " never present", never),
        *_alike("finding", counted["similar_findings"]),
    )
    return Diagnosis(counted, lines, concerns)
