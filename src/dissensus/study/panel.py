"""Who gave an opinion on which case: what rankings and ratings have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dissensus.core import ragged
from dissensus.core.arrays import FloatArray, Forwarded, IntArray, Value
from dissensus.core.checks import check_fields, check_length, check_offsets, check_weights
from dissensus.core.errors import DissensusError
from dissensus.core.names import Cases, case_positions, check_names, check_not_empty
from dissensus.core.ragged import frozen

# The code of an annotator without a name.
ANONYMOUS = -1

# Votes of a study add up to at most this: up to here every whole number is a float that no other one becomes.
MOST_VOTES = 2**53 - 1


def any_but_one(numbers: IntArray | FloatArray) -> bool:
    """Tell whether any weight, or number of votes, is not one."""
    return bool((numbers != 1).any())


@dataclass(frozen=True, eq=False)
class Panel(Value):
    """Hold the cases of a study and the opinions given on each, whatever their content.

    Attributes
    ----------
    case_names
        One name per case, all different.
    opinion_offsets : (n_cases + 1,)
        The opinions on case ``i`` are ``opinion_offsets[i]:opinion_offsets[i + 1]``.
    annotators : (n_opinions,)
        Code of the annotator behind each opinion, -1 where nobody is named.
    annotator_names
        Names of the annotators; empty when all are anonymous.
    weights : (n_opinions,)
        Weight of each opinion; it multiplies the reliability.
    groups
        The group (for example the patient) of each case; empty when cases stand alone.
    case_weights : (n_cases,)
        Weight of each case in averages over cases.
    votes : (n_opinions,)
        How many annotators gave each opinion; more than one only where nobody is named.
    annotator_groups
        The group of each named annotator, such as a hospital; empty when they stand alone.
    """

    case_names: tuple[str, ...]
    opinion_offsets: IntArray
    annotators: IntArray
    annotator_names: tuple[str, ...] = ()
    weights: FloatArray = field(default_factory=lambda: np.empty(0))
    groups: tuple[str, ...] = ()
    case_weights: FloatArray = field(default_factory=lambda: np.empty(0))
    votes: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    annotator_groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        votes = frozen(self.votes)
        own = {
            "opinion_offsets": frozen(self.opinion_offsets),
            "annotators": frozen(self.annotators),
            "weights": frozen(self.weights if len(self.weights) else np.ones(len(self.annotators)), np.float64),
            "case_weights": frozen(self.case_weights if len(self.case_weights) else np.ones(self.n_cases), np.float64),
            # one vote each takes no memory
            "votes": votes if (votes != 1).any() else np.broadcast_to(np.int64(1), len(votes) or len(self.annotators)),
        }
        for name, array in own.items():
            object.__setattr__(self, name, array)
        check_names("case", self.case_names)
        check_names("annotator", self.annotator_names)
        check_offsets("opinion offset", self.opinion_offsets, len(self.case_names), len(self.annotators))
        last = len(self.annotator_names) - 1
        if len(self.annotators) and not -1 <= self.annotators.min() <= self.annotators.max() <= last:
            raise DissensusError("an annotator code has no name", expected=f"-1 (nobody) to {last}")
        for what, groups, owners in (
            ("group", self.groups, self.case_names),
            ("group of annotators", self.annotator_groups, self.annotator_names),
        ):
            check_length(what, len(groups), len(owners) if groups else 0)
            check_not_empty(what, groups)
        for what, weights, n_weights in (
            ("weight", self.weights, self.n_opinions),
            ("case weight", self.case_weights, self.n_cases),
        ):
            check_length(what, len(weights), n_weights)
            check_weights(f"{what}s", weights)
        votes = self.votes
        check_length("vote", len(votes), self.n_opinions)
        wrong = np.flatnonzero((votes < 1) | (votes > MOST_VOTES))
        if len(wrong):
            raise DissensusError(
                "votes must be whole numbers, one or more",
                expected=f"1 to {MOST_VOTES:,}",
                got=f"{votes[wrong[0]]} at position {wrong[0] + 1}",
                advice="leave opinions that nobody gave out",
            )
        check_sum_of_votes(votes)
        named = np.flatnonzero((votes != 1) & (self.annotators != ANONYMOUS))
        if len(named):
            got = f"{votes[named[0]]} votes at position {named[0] + 1}"
            advice = "give an opinion that should count for more a weight, or leave the names of annotators out"
            raise DissensusError("an annotator with a name has one vote", got=got, advice=advice)

    n_cases = Forwarded[int]("case_names", "Number of cases, annotated or not.", len)
    n_opinions = Forwarded[int]("annotators", "Number of opinions; one that several annotators share counts once.", len)
    opinions_per_case = Forwarded[IntArray](
        "opinion_offsets", "Number of opinions, (n_cases,); shared ones count once.", np.diff
    )

    @property
    def n_votes(self) -> int:
        """Number of times that an annotator gave an opinion, on all cases."""
        return int(self.votes.sum())

    @property
    def votes_per_case(self) -> IntArray:
        """Number of annotators who gave an opinion on each case, shape (n_cases,)."""
        if not self.has_votes:
            return self.opinions_per_case
        return np.diff(ragged.offsets_from_lengths(self.votes)[self.opinion_offsets])

    @property
    def annotators_per_case(self) -> IntArray:
        """Number of annotators on each case, shape (n_cases,); one with a name counts once, however many opinions."""
        named = self.annotators != ANONYMOUS
        case = self.case_of_opinion[named]
        who = np.unique(case * max(len(self.annotator_names), 1) + self.annotators[named])
        nameless = ragged.weighted_counts(self.case_of_opinion[~named], self.votes[~named], self.n_cases)
        distinct = np.bincount(who // max(len(self.annotator_names), 1), minlength=self.n_cases)
        return np.asarray(nameless + distinct, dtype=np.int64)

    case_of_opinion = Forwarded[IntArray]("opinion_offsets", "Case of each opinion, (n_opinions,).", ragged.row_of_each)

    @property
    def clusters(self) -> IntArray:
        """Number of the group of each case, or of the case where cases stand alone, shape (n_cases,)."""
        names = np.array(self.groups or self.case_names, dtype=object).astype(str)
        return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.int64)

    @property
    def unit_names(self) -> tuple[str, ...]:
        """Names of the annotators, or of their groups, by the codes of :attr:`units`."""
        return tuple(sorted(set(self.annotator_groups))) if self.annotator_groups else self.annotator_names

    @property
    def units(self) -> IntArray:
        """Who is left out together, of each opinion, (n_opinions,): the annotator, or their group; -1 for nobody."""
        if not self.annotator_groups:
            return self.annotators
        code = {name: place for place, name in enumerate(self.unit_names)}
        return np.array([*(code[name] for name in self.annotator_groups), ANONYMOUS])[self.annotators]

    is_weighted = Forwarded[bool]("weights", "Whether any opinion has a weight other than one.", any_but_one)
    has_votes = Forwarded[bool]("votes", "Whether several annotators share any opinion.", any_but_one)
    has_case_weights = Forwarded[bool]("case_weights", "Whether any case has a weight other than one.", any_but_one)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.case_names)}

    def positions(self, cases: Cases) -> IntArray:
        """Turn names, positions, a slice or a mask into positions of cases."""
        return case_positions(cases, self._positions)

    def select(self, cases: IntArray) -> tuple[Panel, IntArray]:
        """Keep some cases, by position: the smaller panel, and the positions of its opinions."""
        offsets, opinions = ragged.take_rows(self.opinion_offsets, cases)
        panel = replace(
            self,
            case_names=tuple(self.case_names[i] for i in cases),
            groups=tuple(self.groups[i] for i in cases) if self.groups else (),
            case_weights=self.case_weights[cases],
            **self._of_opinions(offsets, opinions),
        )
        return panel, opinions

    def keep(self, opinions: IntArray) -> Panel:
        """Keep some opinions, by ascending position, and all cases."""
        sizes = np.bincount(self.case_of_opinion[opinions], minlength=self.n_cases)
        return replace(self, **self._of_opinions(ragged.offsets_from_lengths(sizes), opinions))

    def _of_opinions(self, offsets: IntArray, opinions: IntArray) -> dict[str, Any]:
        per_opinion = {name: getattr(self, name)[opinions] for name in ("annotators", "weights", "votes")}
        return {"opinion_offsets": offsets, **per_opinion}


def place_of(panel: Panel, opinion: int, noun: str = "ranking") -> str:
    """Say on which case, and by whom, an opinion was given."""
    case = int(np.searchsorted(panel.opinion_offsets, opinion, side="right")) - 1
    annotator = panel.annotators[opinion]
    nobody = f"{noun} {opinion - panel.opinion_offsets[case] + 1}"
    who = nobody if annotator == ANONYMOUS else f"annotator {panel.annotator_names[annotator]!r}"
    return f"case {panel.case_names[case]!r}, {who}"


def concatenate_panels(panels: Sequence[Panel]) -> Panel:
    """Put panels of different cases one after the other; annotators are matched by name."""
    annotator_names = tuple(dict.fromkeys(name for panel in panels for name in panel.annotator_names))
    codes = {name: code for code, name in enumerate(annotator_names)}
    recoded = [
        np.array([*(codes[name] for name in panel.annotator_names), ANONYMOUS])[panel.annotators] for panel in panels
    ]
    grouped = any(panel.groups for panel in panels)
    named = [
        zip(panel.annotator_names, panel.annotator_groups or panel.annotator_names, strict=True) for panel in panels
    ]
    group_of = dict(pair for pairs in named for pair in pairs)
    has_groups = any(panel.annotator_groups for panel in panels)
    return Panel(
        case_names=tuple(name for panel in panels for name in panel.case_names),
        opinion_offsets=ragged.join_offsets(panel.opinion_offsets for panel in panels),
        annotators=np.concatenate(recoded),
        annotator_names=annotator_names,
        weights=np.concatenate([panel.weights for panel in panels]),
        groups=tuple(g for panel in panels for g in (panel.groups or panel.case_names)) if grouped else (),
        case_weights=np.concatenate([panel.case_weights for panel in panels]),
        votes=np.concatenate([panel.votes for panel in panels]),
        annotator_groups=tuple(group_of[name] for name in annotator_names) if has_groups else (),
    )


def check_sum_of_votes(votes: IntArray | FloatArray) -> None:
    """Refuse so many votes that their sum is not exact."""
    total = votes.sum(dtype=np.float64)
    if total > MOST_VOTES:
        raise DissensusError("there are too many votes", expected=f"at most {MOST_VOTES:,}", got=f"{total:.3g}")
