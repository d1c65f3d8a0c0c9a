"""Numeric ratings: the sibling of rankings for studies in which annotators give a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, Path
from dissensus.core.checks import check_length, equal_fields
from dissensus.core.errors import DissensusError
from dissensus.core.names import Cases
from dissensus.core.ragged import frozen_numbers, offsets_from_lengths
from dissensus.study.builders import as_numbers, checked_counts, group_names, numbered_names, place_of
from dissensus.study.panel import ANONYMOUS, Panel, concatenate_panels

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    from dissensus.core.files import Source

SCORE_NAMES = ("score", "rating", "toxicity_score")
"""Names by which a column of scores is recognised."""


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
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

    panel: Panel
    scores: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", frozen_numbers(self.scores))
        check_length("score", len(self.scores), self.panel.n_opinions)
        wrong = np.flatnonzero(~np.isfinite(self.scores))
        if len(wrong):
            raise DissensusError(
                "a score is not a finite number",
                got=str(self.scores[wrong[0]]),
                where=place_of(self.panel, int(wrong[0])).replace("ranking", "rating"),
                advice="leave ratings that are missing out",
            )

    @classmethod
    def from_scores(
        cls,
        scores: Sequence[Sequence[float]],
        *,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Ratings:
        """Build from one list of scores per case."""
        sizes = [len(given) for given in scores]
        panel = _anonymous_panel(numbered_names(case_names, len(sizes)), np.array(sizes, dtype=np.int64), groups)
        return cls(panel, as_numbers("scores", [score for given in scores for score in given]))

    @classmethod
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
        >>> Ratings.from_counts([[2, 1]], levels=[0.0, 1.0]).scores
        array([0., 0., 1.])
        """
        votes = checked_counts(counts)
        check_length("level", len(levels), votes.shape[1])
        scores = np.repeat(np.tile(np.asarray(levels, dtype=np.float64), len(votes)), votes.ravel())
        names = numbered_names(case_names, len(votes))
        return cls(_anonymous_panel(names, votes.sum(axis=1), groups), scores)

    @classmethod
    def from_long(
        cls,
        frame: IntoDataFrame,
        *,
        case: str | None = None,
        annotator: str | None = None,
        score: str | None = None,
        weight: str | None = None,
        group: str | None = None,
    ) -> Ratings:
        """Build from a table with one row per rating (pandas, polars or arrow); a missing score is no rating."""
        from dissensus.study.tables import polars_frame

        columns = {"case": case, "annotator": annotator, "score": score, "weight": weight, "group": group}
        return ratings_from_table(polars_frame(frame), columns)

    @property
    def case_names(self) -> tuple[str, ...]:
        """One name per case."""
        return self.panel.case_names

    @property
    def n_cases(self) -> int:
        """Number of cases, rated or not."""
        return self.panel.n_cases

    @property
    def n_ratings(self) -> int:
        """Number of ratings on all cases."""
        return self.panel.n_opinions

    @property
    def rating_offsets(self) -> IntArray:
        """The ratings of case ``i`` are ``rating_offsets[i]:rating_offsets[i + 1]``."""
        return self.panel.opinion_offsets

    @property
    def unannotated(self) -> tuple[str, ...]:
        """Names of the cases that nobody rated."""
        return tuple(self.case_names[i] for i in np.flatnonzero(self.panel.opinions_per_case == 0))

    def __len__(self) -> int:
        return self.n_cases

    def select(self, cases: Cases) -> Ratings:
        """Keep some cases, in the order given: names, positions, a slice or a mask."""
        panel, opinions = self.panel.select(self.panel.positions(cases))
        return Ratings(panel, self.scores[opinions])

    @classmethod
    def concatenate(cls, parts: Sequence[Ratings]) -> Ratings:
        """Put studies of different cases together."""
        if not parts:
            raise DissensusError("there is nothing to concatenate", expected="at least one Ratings")
        panel = concatenate_panels([part.panel for part in parts])
        return cls(panel, np.concatenate([part.scores for part in parts]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ratings) and equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    def __repr__(self) -> str:
        from dissensus.study.diagnosis import plural

        span = f" from {self.scores.min():g} to {self.scores.max():g}" if len(self.scores) else ""
        missing = f"; {plural(len(self.unannotated), 'case')} without a rating" if self.unannotated else ""
        return f"Ratings: {plural(self.n_cases, 'case')}, {plural(self.n_ratings, 'rating')}{span}{missing}"


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

    aliases = {role: tables.ALIASES[role] for role in ("case", "annotator", "weight", "group")}
    aliases["score"] = SCORE_NAMES
    roles = tables.find_columns(table.columns, columns, aliases=aliases, required=("case", "score"))
    table = tables.tidied(tables.with_roles(table, roles))
    if not len(table):
        raise DissensusError("the table has no rows", expected="at least one row below the header")
    tables.refuse_rows(table, table["case"].is_null(), "case", "a row has no case")
    case, names = tables.case_codes(table["case"])
    annotator, annotator_names = tables.name_codes(table, "annotator")
    order = np.argsort(case, kind="stable")
    order = order[table["score"].is_not_null().to_numpy()[order]]
    weights = table["weight"].fill_null(1.0).to_numpy()[order] if "weight" in table.columns else np.empty(0)
    panel = Panel(
        case_names=names,
        opinion_offsets=offsets_from_lengths(np.bincount(case[order], minlength=len(names))),
        annotators=annotator[order],
        annotator_names=annotator_names,
        weights=weights,
        groups=tables.case_groups(table, case),
    )
    return Ratings(panel, table["score"].fill_null(0.0).to_numpy()[order])


def read_ratings(path: Path, *, columns: Mapping[str, str | None] | None = None) -> Ratings:
    """Read ratings from a CSV, TSV or Parquet file with one row per rating.

    Parameters
    ----------
    path
        The file; columns ``case``, ``annotator`` (optional), ``score`` and the like are found by name.
    columns
        Column of each role where it goes by an unusual name, for example ``{"score": "stars"}``.
    """
    from dissensus.core.files import open_source

    source = open_source(path)
    if not source.is_table:
        raise DissensusError("this is not a table of ratings", expected="CSV, TSV or Parquet", where=str(path))
    try:
        return ratings_from_table(source.table, columns or {})
    except DissensusError as error:
        raise error.at(str(path)) from None


def holds_ratings(source: Source) -> bool:
    """Tell a table of ratings: a case and a score column, and no condition column."""
    from dissensus.study.tables import ALIASES, normalised

    if not source.is_table:
        return False
    names = {normalised(name) for name in source.table.columns}
    has = {role: not names.isdisjoint(ALIASES[role]) for role in ("case", "condition")}
    return has["case"] and not has["condition"] and not names.isdisjoint(SCORE_NAMES)
