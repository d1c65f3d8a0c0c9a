"""Numeric ratings: the sibling of rankings for studies in which annotators give a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dissensus.core.aliases import BoolArray, Confidence, Duplicates, FloatArray, IntArray, KeyArray, Unranked
from dissensus.core.arguments import check_fields, checked
from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_keys
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run, frozen_numbers, offsets_from_lengths, weighted_counts
from dissensus.study.builders import as_numbers, checked_counts, group_names, numbered_names, voted_panel
from dissensus.study.diagnosis import RatingsDiagnosis, diagnosis_of_ratings, plural, spread
from dissensus.study.panel import ANONYMOUS, Panel, concatenate_panels, place_of
from dissensus.study.study import Distribution, Fact, Study

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

SCORE_NAMES = ("score", "rating", "toxicity_score")
"""Names by which a column of scores is recognised."""

NO_SCORES = "\N{EN DASH}"

NEAR = 1e-10
"""Weights this close to one half of all, in parts of them, count as one half."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Hold what the ratings of each rated case amount to.

    Attributes
    ----------
    case_names, excluded
        The cases with a rating of positive weight, and the others.
    keys : (n_cases,)
        Hash of the name of each case.
    totals, means, squares : (n_cases,)
        Total weight, weighted mean, and weighted sum of squared deviations from it.
    cases, annotators : (n_ratings,)
        Position of the rated case of each rating that counts, and code of its annotator, -1 where nobody is named.
    scores, weights : (n_ratings,)
        The ratings themselves, and how much each counts.
    annotator_names
        Names of the annotators, in the order of their codes.
    """

    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    keys: KeyArray
    totals: FloatArray
    means: FloatArray
    squares: FloatArray
    cases: IntArray
    annotators: IntArray
    scores: FloatArray
    weights: FloatArray
    annotator_names: tuple[str, ...]

    @property
    def n_cases(self) -> int:
        """Number of rated cases."""
        return len(self.case_names)

    @property
    def median(self) -> float:
        """The median of all ratings, by their weights."""
        return float(weighted_medians(np.zeros_like(self.cases), self.scores, self.weights)[0])

    @property
    def medians(self) -> FloatArray:
        """The median of the ratings of each case, by their weights, shape (n_cases,)."""
        return weighted_medians(self.cases, self.scores, self.weights)

    def with_scores(self, scores: FloatArray) -> Moments:
        """Put other scores in the place of the ratings, shape (n_ratings,).

        Examples
        --------
        >>> rated = Ratings.from_scores([[1, 3], [5]]).opinions
        >>> rated.with_scores(rated.scores + 1).means
        array([3., 6.])
        """
        means, squares = mean_squares(self.cases, scores, self.weights, self.totals)
        return replace(self, means=means, squares=squares, scores=scores)


def mean_squares(
    cases: IntArray, scores: FloatArray, weights: FloatArray, totals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean of each case, and the weighted sum of squared deviations from it, twice (n_cases,)."""
    means = weighted_counts(cases, weights * scores, len(totals)) / totals
    return means, weighted_counts(cases, weights * (scores - means[cases]) ** 2, len(totals))


def weighted_medians(rows: IntArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the median of each row by weight; rows are numbered from zero, and none is empty.

    >>> weighted_medians(np.array([0, 0, 0, 1, 1]), np.array([3.0, 1.0, 2.0, 4.0, 6.0]), np.ones(5))
    array([2., 5.])
    """
    order = np.lexsort((values, rows))
    rows, values, weights = rows[order], values[order], weights[order]
    first = np.flatnonzero(begins_run(rows))
    sums = np.cumsum(weights)
    before = (sums - weights)[first]
    half = before + weighted_counts(rows, weights, len(first)) / 2
    last = np.append(first[1:], len(rows)) - 1
    low, high = (np.clip(np.searchsorted(sums, part * half), first, last) for part in (1 - NEAR, 1 + NEAR))
    return np.asarray((values[low] + values[high]) / 2)


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(Study):
    """Hold the scores that annotators gave on the cases of a study.

    Attributes
    ----------
    panel
        The cases and who gave an opinion on them.
    scores : (n_ratings,)
        The scores, case by case; all finite.

    Examples
    --------
    >>> Ratings.from_scores([[1, 2, 2], [5]], case_names=["a", "b"])
    Ratings: 2 cases, 4 ratings from 1 to 5
    """

    kind: ClassVar[str] = "ratings"
    opinion: ClassVar[str] = "rating"
    described: ClassVar[str] = "numeric ratings"
    aggregated_by: ClassVar[str] = "NormalInverseGamma"
    conditions = ()

    panel: Panel
    scores: FloatArray

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "scores", frozen_numbers(self.scores))
        check_length("score", len(self.scores), self.panel.n_opinions)
        wrong = np.flatnonzero(~np.isfinite(self.scores))
        if len(wrong):
            raise DissensusError(
                "a score is not a finite number",
                got=str(self.scores[wrong[0]]),
                where=place_of(self.panel, int(wrong[0]), self.opinion),
                advice="leave ratings that are missing out",
            )

    @classmethod
    @checked
    def from_scores(
        cls,
        scores: Sequence[Sequence[float]],
        *,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Ratings:
        """Build from one list of scores per case.

        Examples
        --------
        >>> Ratings.from_scores([[1, 2], [5]], case_names=["a", "b"]).scores
        array([1., 2., 5.])
        """
        sizes = [len(given) for given in scores]
        panel = _anonymous_panel(numbered_names(case_names, len(sizes)), np.array(sizes, dtype=np.int64), groups)
        return cls(panel, as_numbers("scores", [score for given in scores for score in given]))

    @classmethod
    @checked
    def from_counts(
        cls,
        counts: ArrayLike,
        levels: Sequence[float],
        *,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Ratings:
        """Build from votes: ``counts[i, l]`` anonymous annotators gave case ``i`` the score ``levels[l]``.

        Examples
        --------
        >>> said = Ratings.from_counts([[2, 1]], levels=[0.0, 1.0])
        >>> said.scores, said.votes
        (array([0., 1.]), array([2, 1]))
        """
        matrix = checked_counts(counts)
        numbers = as_numbers("levels", levels)
        check_length("level", numbers.size, matrix.shape[1])
        panel = voted_panel(matrix, numbered_names(case_names, len(matrix)), groups)
        return cls(panel, numbers[np.nonzero(matrix)[1]])

    @classmethod
    @checked
    def from_long(
        cls,
        frame: IntoDataFrame,
        *,
        case: str | None = None,
        annotator: str | None = None,
        score: str | None = None,
        weight: str | None = None,
        votes: str | None = None,
        group: str | None = None,
    ) -> Ratings:
        """Build from a table with one row per rating (pandas, polars or arrow); a missing score is no rating.

        A column of votes says how many annotators gave the score, 0 for none.

        Examples
        --------
        >>> import polars as pl
        >>> Ratings.from_long(pl.DataFrame({"case": ["a", "a", "b"], "score": [1, 2, None]}))
        Ratings: 2 cases, 2 ratings from 1 to 2; 1 case without a rating
        """
        from dissensus.study.tables import polars_frame

        columns = {
            "case": case,
            "annotator": annotator,
            "score": score,
            "weight": weight,
            "votes": votes,
            "group": group,
        }
        return ratings_from_table(polars_frame(frame), columns)

    @classmethod
    @checked
    def from_roles(
        cls,
        table: pl.DataFrame,
        conditions: Sequence[str] | None = None,  # noqa: ARG003 - scores name no conditions
        *,
        tie_separator: str | None = None,  # noqa: ARG003
        unranked: Unranked | None = None,  # noqa: ARG003
        duplicates: Duplicates = "refuse",  # noqa: ARG003
        confidence: Confidence | None = None,  # noqa: ARG003
    ) -> tuple[Ratings, tuple[Note, ...]]:
        """Build from a table whose columns are named by their roles, with notes on its rows."""
        return _ratings_from_roles(table)

    @property
    def n_ratings(self) -> int:
        """Number of ratings on all cases; one that several annotators share counts once."""
        return self.n_opinions

    @property
    def rating_offsets(self) -> IntArray:
        """The ratings of case ``i`` are ``rating_offsets[i]:rating_offsets[i + 1]``."""
        return self.panel.opinion_offsets

    @property
    def is_abstention(self) -> BoolArray:
        """Whether each rating says nothing: none does, shape (n_ratings,)."""
        return np.zeros(self.n_ratings, dtype=np.bool_)

    @cached_property
    def opinions(self) -> Moments:
        """Total weight, mean and spread of the ratings of each rated case.

        Examples
        --------
        >>> found = Ratings.from_scores([[1, 3], []]).opinions
        >>> found.case_names, found.excluded, found.totals, found.means, found.squares
        (('0',), ('1',), array([2.]), array([2.]), array([2.]))
        """
        said = self.counted
        if not said.n_ratings:
            raise DissensusError("no case has any rating", got=f"{self.n_cases} cases without ratings")
        case = said.panel.case_of_opinion
        rated, case = np.unique(case, return_inverse=True)
        weights = said.weights * said.votes
        totals = weighted_counts(case, weights, len(rated))
        names = np.array(self.case_names, dtype=object)
        kept, others = tuple(names[rated].tolist()), tuple(np.delete(names, rated).tolist())
        means, squares = mean_squares(case, said.scores, weights, totals)
        given = (case, said.annotators, said.scores, weights, said.annotator_names)
        return Moments(kept, others, case_keys(kept), totals, means, squares, *given)

    def each_alone(self, opinions: IntArray, names: Sequence[str]) -> Ratings:
        """Make every one of some ratings a case of its own, under new names.

        Examples
        --------
        >>> Ratings.from_scores([[1, 3], [5]]).each_alone(np.array([1]), ["second"]).scores
        array([3.])
        """
        panel = Panel(
            case_names=tuple(names),
            opinion_offsets=np.arange(len(opinions) + 1),
            annotators=self.annotators[opinions],
            annotator_names=self.annotator_names,
        )
        return self._with_opinions(panel, opinions)

    def _with_opinions(self, panel: Panel, opinions: IntArray) -> Ratings:
        return Ratings(panel, self.scores[opinions])

    def _joined(self, parts: Sequence[Ratings]) -> Ratings:
        panel = concatenate_panels([part.panel for part in parts])
        return Ratings(panel, np.concatenate([part.scores for part in parts]))

    # Telling ------------------------------------------------------------------------------------------

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest score; none if there is no rating."""
        return (float(self.scores.min()), float(self.scores.max())) if len(self.scores) else None

    def facts(self) -> tuple[Fact, ...]:
        """Count cases, ratings and annotators, and summarise the scores, for a table."""
        low_and_high = "{:g} to {:g}".format(*self.scale) if self.scale else NO_SCORES
        return (
            Fact("Cases", f"{self.n_cases:,}", "case", "Cases"),
            Fact("Ratings", f"{self.n_votes:,}", "rating", "Ratings"),
            Fact("Annotators per case", spread(self.panel.votes_per_case), "annotator", "Annotators"),
            Fact("Lowest and highest rating", low_and_high),
            Fact("Average rating", f"{np.average(self.scores, weights=self.votes):.3g}" if self.scale else NO_SCORES),
        )

    def methods(self) -> str:
        """Write the sentence of a methods section about the ratings."""
        cases = "The one case was" if self.n_cases == 1 else f"Each of {self.n_cases:,} cases was"
        return f"{cases} rated by annotators ({spread(self.panel.votes_per_case)} per case)."

    def distributions(self) -> tuple[Distribution, ...]:
        """Return how many annotators there are, and the scores."""
        return (
            Distribution("annotators per case", self.panel.votes_per_case),
            Distribution("score", self.scores, "ratings", self.votes, per_case=False, are_counts=False),
        )

    def said(self, opinion: int, code: Callable[[int], int]) -> list[float]:  # noqa: ARG002 - scores name no conditions
        """Write one rating as a list of one number."""
        return [round(float(self.scores[opinion]), 6)]

    def words(self, opinion: int) -> str:
        """Write one rating in words."""
        return f"{self.scores[opinion]:g}"

    def diagnosis(self) -> RatingsDiagnosis:
        """Count ratings and summarise the scores."""
        return diagnosis_of_ratings(self)

    def __repr__(self) -> str:
        span = " from {:g} to {:g}".format(*self.scale) if self.scale else ""
        missing = f"; {plural(len(self.unannotated), 'case')} without a rating" if self.unannotated else ""
        return f"Ratings: {plural(self.n_cases, 'case')}, {plural(self.n_votes, 'rating')}{span}{missing}"


def _anonymous_panel(names: tuple[str, ...], sizes: IntArray, groups: Sequence[str] | None) -> Panel:
    return Panel(
        case_names=names,
        opinion_offsets=offsets_from_lengths(sizes),
        annotators=np.full(int(sizes.sum()), ANONYMOUS, dtype=np.int64),
        groups=group_names(groups),
    )


def ratings_from_table(table: pl.DataFrame, columns: Mapping[str, str | None]) -> Ratings:
    """Build ratings from a table; see :meth:`Ratings.from_long`."""
    from dissensus.study import tables

    return _ratings_from_roles(tables.with_roles(table, roles_of_ratings(table, columns)))[0]


def roles_of_ratings(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """Find the column of each role in a table of ratings."""
    from dissensus.study import tables

    aliases = {role: tables.ALIASES[role] for role in ("case", "annotator", "weight", "votes", "group")}
    aliases["score"] = SCORE_NAMES
    return tables.find_columns(table.columns, columns, aliases=aliases, required=("case", "score"))


def _ratings_from_roles(table: pl.DataFrame) -> tuple[Ratings, tuple[Note, ...]]:
    from dissensus.study import tables

    table, notes = tables.without_zero_votes(tables.tidied(table))
    if not len(table):
        raise DissensusError("the table has no rows", expected="at least one row below the header")
    tables.refuse_rows(table, table["case"].is_null(), "case", "a row has no case")
    case, names = tables.case_codes(table["case"])
    annotator, annotator_names = tables.name_codes(table, "annotator")
    order = np.argsort(case, kind="stable")
    order = order[table["score"].is_not_null().to_numpy()[order]]
    weights = table["weight"].fill_null(1.0).to_numpy()[order] if "weight" in table.columns else np.empty(0)
    votes = table["votes"].fill_null(1.0).to_numpy()[order] if "votes" in table.columns else np.empty(0)
    panel = Panel(
        case_names=names,
        opinion_offsets=offsets_from_lengths(np.bincount(case[order], minlength=len(names))),
        annotators=annotator[order],
        annotator_names=annotator_names,
        weights=weights,
        groups=tables.case_groups(table, case),
        votes=votes.astype(np.int64),
    )
    return Ratings(panel, table["score"].fill_null(0.0).to_numpy()[order]), notes
