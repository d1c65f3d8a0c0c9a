"""How certain the annotations of a case are: how often the draws agree on the first conditions, or on one place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dissensus.certainty import categories as by_category
from dissensus.certainty.categories import VIA, Advance, Categories, Via
from dissensus.core.arrays import CERTAIN, FloatArray, IntArray, is_uncertain
from dissensus.core.checks import check_choice, check_count, check_length, checked
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.ragged import first_of_most, row_of_each
from dissensus.core.screen import repr_html
from dissensus.draws import Batch, Plausibilities
from dissensus.metrics.base import Drawn

if TYPE_CHECKING:
    import polars as pl

Unmentioned: TypeAlias = Literal["identify", "pool"]
UNMENTIONED: tuple[Unmentioned, ...] = ("identify", "pool")

# A label for all cases, or one label or set of labels per case, in their order or by name of the case.
Sets: TypeAlias = "str | Sequence[str | Collection[str]] | Mapping[str, str | Collection[str]]"

# Certainties, their Monte Carlo standard errors and winning sets of the cases of a batch.
Found: TypeAlias = tuple[FloatArray, FloatArray, Iterable[tuple[str, ...]]]

# Stands for a condition that nobody mentioned.
ANY_OTHER = "any other"

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Certainty:
    """Hold the certainty of every case.

    Attributes
    ----------
    case_names
        The cases that have draws.
    top
        How many first places were compared; missing where the sets differ in size.
    values : (n_cases,)
        Share of draws that agree on the set, between 0 and 1.
    errors : (n_cases,)
        Monte Carlo standard errors of the values, from the effective sample size of the draws.
    winners
        The set of each case, as names; ``"any other"`` stands for a condition that nobody mentioned.
    n_draws
        Draws per case.
    rank
        Which single place was compared, if any; there is no ``top`` then.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_counts([[9, 1], [5, 5]], ["cat", "dog"], case_names=["clear", "open"])
    >>> found = annotation_certainty(MajorityVote().sample(said))
    >>> found
    Certainty of the top 1: mean 0.750, 50.0% of 2 cases below 0.99; 1 draws
    >>> found.values, found.winners, found.mean
    (array([1. , 0.5]), (('cat',), ('cat',)), 0.75)
    """

    case_names: tuple[str, ...]
    top: int | None
    values: FloatArray
    errors: FloatArray
    winners: tuple[tuple[str, ...], ...]
    n_draws: int
    rank: int | None = None

    @property
    def mean(self) -> float:
        """Average over cases: the certainty of the data set; nan without cases."""
        return float(self.values.mean()) if len(self.values) else float("nan")

    @property
    def mean_error(self) -> float:
        """Monte Carlo standard error of the mean; cases are drawn independently."""
        return float(np.sqrt((self.errors**2).sum()) / len(self.errors)) if len(self.errors) else float("nan")

    def share_below(self, threshold: float = CERTAIN) -> float:
        """Return the share of cases whose certainty is below a threshold; nan without cases.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> said = Study.from_counts([[9, 1], [5, 5]], ["cat", "dog"])
        >>> annotation_certainty(MajorityVote().sample(said)).share_below(0.9)
        0.5
        """
        return float(is_uncertain(self.values, threshold).mean()) if len(self.values) else float("nan")

    def quantiles(self, probabilities: Sequence[float] = QUANTILES) -> dict[float, float]:
        """Return quantiles of the certainty over cases, by probability.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> said = Study.from_counts([[9, 1], [5, 5]], ["cat", "dog"])
        >>> annotation_certainty(MajorityVote().sample(said)).quantiles([0, 0.5, 1])
        {0.0: 0.5, 0.5: 0.75, 1.0: 1.0}
        """
        if not all(0 <= p <= 1 for p in probabilities):
            raise DissensusError("probabilities of quantiles are from 0 to 1", got=str(tuple(probabilities)))
        found = np.quantile(self.values, probabilities) if len(self.values) else np.full(len(probabilities), np.nan)
        return dict(zip(map(float, probabilities), found.tolist(), strict=True))

    def to_frame(self) -> pl.DataFrame:
        """Return a row per case, the most uncertain first: ``case``, ``certainty``, ``error``, ``winner``.

        The members of a winning set are joined by ``" + "``. Equally certain cases keep their order.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> said = Study.from_counts([[9, 1], [5, 5]], ["cat", "dog"], case_names=["clear", "open"])
        >>> annotation_certainty(MajorityVote().sample(said)).to_frame().select("case", "certainty").rows()
        [('open', 0.5), ('clear', 1.0)]
        """
        import polars as pl

        order = np.argsort(self.values, kind="stable")
        joined = [" + ".join(self.winners[i]) for i in order]
        names = [self.case_names[i] for i in order]
        schema = {"case": pl.String, "certainty": pl.Float64, "error": pl.Float64, "winner": pl.String}
        return pl.DataFrame([names, self.values[order], self.errors[order], joined], schema=schema)

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        place = f" of rank {self.rank}" if self.rank else "" if self.top is None else f" of the top {self.top}"
        return (
            f"Certainty{place}: mean {self.mean:.3f}, {self.share_below():.1%} of {len(self.case_names)} cases "
            f"below {CERTAIN}; {self.n_draws} draws"
        )


# First places --------------------------------------------------------------------------------------------


@checked
def annotation_certainty(
    plausibilities: Plausibilities,
    *,
    top: int = 1,
    unranked: Unmentioned = "identify",
    categories: Categories | None = None,
    via: Via = "top",
    advance: Advance = None,
) -> Certainty:
    """Find, for each case, the set of first conditions that most draws agree on, and how many do ([stutz]).

    Exact ties within a draw count by expectation over random tie-breaking.

    Parameters
    ----------
    plausibilities
        Draws of every case.
    top
        How many first places are compared.
    unranked
        What a first condition counts as that nobody mentioned. ``"identify"``: itself; unless the prior tells
        unmentioned conditions apart, it could be any of them, so no set that has one is certain. ``"pool"``: one
        outcome, "any other".
    categories
        Compare categories of conditions, for example levels of risk, instead of conditions; needs ``top=1``.
    via
        The category of a draw: that of its first condition (``"top"``; an unmentioned one has the category of a random
        one of them) or the one with the most mass (``"mass"``; unmentioned conditions share the rest mass equally).
    advance
        Is told the number of cases of each batch done.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import Dirichlet
    >>> said = Study.from_counts([[9, 1], [5, 5]], ["cat", "dog"], case_names=["clear", "open"])
    >>> certainty = annotation_certainty(Dirichlet(alpha=1).sample(said, draws=2000))
    >>> certainty.winners[0], certainty.values.round(1)
    (('cat',), array([1. , 0.5]))
    """
    if categories is None:
        return certainty_profile(plausibilities, tops=(top,), unranked=unranked, advance=advance)[0]
    check_choice("via", via, VIA)
    check_count(top=top)
    if top != 1:
        raise DissensusError("categories are compared by the first place only", expected="top=1", got=f"top={top}")
    return _of_categories(plausibilities, categories, via, advance, top=1)


@checked
def certainty_profile(
    plausibilities: Plausibilities,
    *,
    tops: Sequence[int] = (1, 2, 3),
    unranked: Unmentioned = "identify",
    advance: Advance = None,
) -> tuple[Certainty, ...]:
    """Find the certainty for several numbers of first places in one pass; see :func:`annotation_certainty`.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b", "c"], ["d"]]]], ["a", "b", "c", "d", "e"])
    >>> [one.values[0] for one in certainty_profile(InverseRank(ties="each").sample(said))]
    [np.float64(1.0), np.float64(0.5), np.float64(1.0)]
    """
    check_choice("unranked", unranked, UNMENTIONED)
    for top in tops:
        check_top(top, plausibilities.n_conditions)
    conditions, chosen, deepest = plausibilities.conditions, np.array(tops, dtype=np.int64), max(tops, default=1)

    def judged(batch: Batch) -> list[Found]:
        drawn = told_apart(batch, deepest, unranked)
        values, errors, members_of = batch_certainty(drawn, chosen, unranked)
        winners = []
        for is_member, top in zip(members_of, tops, strict=True):
            members = np.flatnonzero(is_member)
            bounds = np.searchsorted(members, drawn.batch.support_offsets).tolist()
            named = tuple(conditions[code] for code in drawn.batch.support[members])
            sets = [named[start:stop] for start, stop in pairwise(bounds)]
            winners.append([mentioned + (ANY_OTHER,) * (top - len(mentioned)) for mentioned in sets])
        return list(zip(values, errors, winners, strict=True))

    parts = list(plausibilities.map(judged, advance=advance))
    return tuple(_joined(plausibilities, [part[i] for part in parts], top=int(top)) for i, top in enumerate(tops))


def _joined(
    plausibilities: Plausibilities, parts: Iterable[Found], *, top: int | None = None, rank: int | None = None
) -> Certainty:
    """Put what was found in batches one after the other; there may be no batch."""
    values, errors, winners = zip((np.empty(0), np.empty(0), ()), *parts, strict=True)
    numbers = np.concatenate(values), np.concatenate(errors)
    named = tuple(chain.from_iterable(winners))
    return Certainty(plausibilities.case_names, top, *numbers, named, plausibilities.n_draws, rank)


def _of_categories(
    plausibilities: Plausibilities, categories: Categories, via: Via, advance: Advance, **places: int
) -> Certainty:
    """Find the category of every case that most draws agree on, in one place or by mass."""
    aligned, rank = categories.aligned(plausibilities.conditions), places.get("rank", 1)

    def judged(batch: Batch) -> Found:
        drawn = told_apart(batch, rank)
        if via == "mass":
            chances = by_category.leading_chances(drawn, aligned)
        else:
            chances = np.stack([drawn.of_draws(one) for one in by_category.order_chances(drawn, aligned, rank)])
        values, errors, codes = by_category.category_certainty(chances, batch.n_chains)
        return values, errors, [(aligned.names[code],) for code in codes]

    return _joined(plausibilities, plausibilities.map(judged, advance=advance), **places)


def told_apart(batch: Batch, depth: int, unranked: Unmentioned = "identify") -> Drawn:
    """Find the first conditions of draws, with unmentioned ones by name where they differ, unless they are pooled."""
    return Drawn(batch if unranked == "pool" else batch.identified(depth), depth)


def check_top(top: int, n_conditions: int) -> None:
    """Refuse numbers of first places that are below one, or that leave no condition out."""
    check_count(top=top)
    _check_place("top must be smaller than the number of conditions", top, n_conditions - 1, n_conditions)


def check_rank(rank: int, n_conditions: int) -> None:
    """Refuse places that are not there."""
    check_count(rank=rank)
    _check_place("rank must be a place that a condition can have", rank, n_conditions, n_conditions)


def _check_place(message: str, value: int, most: int, n_conditions: int) -> None:
    if value > most or n_conditions < 2:
        expected = f"1 to {most}" if n_conditions > 1 else "at least two conditions"
        raise DissensusError(message, expected=expected, got=str(value))


def batch_certainty(
    drawn: Drawn, tops: IntArray, unranked: Unmentioned = "identify"
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Find the certainty of the cases of a batch for several numbers of first places, none beyond the depth.

    Returns
    -------
    values, errors : (n_tops, n_cases)
        Certainties and their Monte Carlo standard errors.
    is_member : (n_tops, sum of U)
        One for the conditions of the support that belong to the winning set of their case, zero for the others.
    """
    from dissensus.kernels.winning_sets import winning_members

    batch, is_pooled = drawn.batch, unranked == "pool"
    is_member = winning_members(drawn.layout, drawn.orders, tops, is_pooled)
    values, errors = np.empty((len(tops), batch.n_cases)), np.empty((len(tops), batch.n_cases))
    for i, top in enumerate(tops):
        values[i], errors[i] = _judged(drawn, np.full(batch.n_cases, top), is_member[i], is_pooled)
    return values, errors, is_member


def _judged(drawn: Drawn, sizes: IntArray, is_member: IntArray, is_pooled: bool) -> tuple[FloatArray, FloatArray]:
    """Return the certainty of one set per case, and its Monte Carlo standard error."""
    from dissensus.kernels.winning_sets import set_chances

    marks = drawn.of_draws(set_chances(drawn.layout, drawn.orders, sizes, is_pooled, is_member))
    return by_category.share_of_draws(marks, drawn.batch.n_chains)


def rank_judged(drawn: Drawn, winners: IntArray, rank: int, unranked: Unmentioned) -> tuple[FloatArray, FloatArray]:
    """Return how often one condition per case has a place, and the Monte Carlo standard error.

    ``winners`` (n_cases,) are positions in the support of each case, or U for an unmentioned condition, which is any of
    them if they are pooled.
    """
    from dissensus.kernels.orders import place_marks

    marks = place_marks(drawn.layout, drawn.orders, winners, rank)
    if unranked == "identify":
        is_other = winners == drawn.batch.support_sizes
        marks[is_other] /= drawn.batch.rest_sizes[is_other, None]
    return by_category.share_of_draws(marks, drawn.batch.n_chains)


# One place -----------------------------------------------------------------------------------------------


@checked
def rank_certainty(
    plausibilities: Plausibilities,
    *,
    rank: int = 1,
    unranked: Unmentioned = "identify",
    categories: Categories | None = None,
    advance: Advance = None,
) -> Certainty:
    """Find, for each case, the condition that most draws have in one place, and how many do ([stutz]).

    The first place is what :func:`annotation_certainty` is about with ``top=1``. Further down, the certainty of a place
    is no certainty of what stands above it: draws that agree on the second condition may differ in the first. Exact
    ties within a draw count by expectation over random tie-breaking; of several conditions that are as frequent, the
    first one is named, a mentioned one before all others.

    Parameters
    ----------
    plausibilities
        Draws of every case.
    rank
        The place, from 1 to the number of conditions.
    unranked
        What a condition in this place counts as that nobody mentioned; see :func:`annotation_certainty`.
    categories
        Compare the categories of the conditions in this place, for example levels of risk; an unmentioned one has the
        category of a random one of them.
    advance
        Is told the number of cases of each batch done.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"], ["c"]]], [[["a"], ["b", "c"]]]], ["a", "b", "c", "d"])
    >>> second = rank_certainty(InverseRank(ties="each").sample(said), rank=2)
    >>> second.values, second.winners
    (array([1. , 0.5]), (('b',), ('b',)))
    """
    check_choice("unranked", unranked, UNMENTIONED)
    check_rank(rank, plausibilities.n_conditions)
    if categories is not None:
        return _of_categories(plausibilities, categories, "top", advance, rank=rank)
    names = (*plausibilities.conditions, ANY_OTHER)

    def judged(batch: Batch) -> Found:
        drawn = told_apart(batch, rank, unranked)
        codes, shares = _shares(drawn, rank)
        columns, rests = drawn.batch.columns, drawn.batch.columns[1:] - 1
        if unranked == "identify":
            shares[rests] /= np.maximum(1, drawn.batch.rest_sizes)
        chosen = first_of_most(shares, columns)
        values, errors = rank_judged(drawn, chosen - columns[:-1], rank, unranked)
        return values, errors, [(names[code],) for code in codes[chosen]]

    return _joined(plausibilities, plausibilities.map(judged, advance=advance), rank=rank)


@checked
def rank_shares(
    plausibilities: Plausibilities, *, rank: int = 1, categories: Categories | None = None, advance: Advance = None
) -> pl.DataFrame:
    """Count how often each condition of a case has one place: ``case``, ``condition``, ``share``.

    There is a row per condition that ever has the place, and one (condition missing) for all others together; which of
    them it is stays open, unless the prior tells them apart. The shares of a case sum to one.

    Parameters
    ----------
    plausibilities, rank, advance
        See :func:`rank_certainty`.
    categories
        Count categories, in a column ``category`` instead of ``condition``; see :func:`rank_certainty`.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b", "c"]]]], ["a", "b", "c", "d", "e"], case_names=["x"])
    >>> rank_shares(InverseRank(ties="each").sample(said), rank=2).rows()
    [('x', 'b', 0.5), ('x', 'c', 0.5)]
    >>> rank_shares(InverseRank(ties="each").sample(said), rank=4).rows()
    [('x', None, 1.0)]
    """
    import polars as pl

    check_rank(rank, plausibilities.n_conditions)
    aligned = None if categories is None else categories.aligned(plausibilities.conditions)
    named = ("condition", (*plausibilities.conditions, None))
    column, names = named if aligned is None else ("category", aligned.names)

    def counted(batch: Batch) -> pl.DataFrame:
        drawn = told_apart(batch, rank)
        if aligned is None:
            case, (codes, shares) = row_of_each(drawn.batch.columns), _shares(drawn, rank)
        else:
            by_case = drawn.means(np.stack(by_category.order_chances(drawn, aligned, rank))).T
            case, codes, shares = *(axis.ravel() for axis in np.indices(by_case.shape)), by_case.ravel()
        rows = np.flatnonzero(shares > 0.0)
        said = {"case": [batch.case_names[i] for i in case[rows]], column: [names[code] for code in codes[rows]]}
        return pl.DataFrame({**said, "share": shares[rows]}, schema=schema)

    schema = {"case": pl.String, column: pl.String, "share": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *plausibilities.map(counted, advance=advance)])


def _shares(drawn: Drawn, rank: int) -> tuple[IntArray, FloatArray]:
    """Return codes, -1 for the unmentioned ones together, and shares side by side for all cases, (sum of (U + 1),)."""
    from dissensus.kernels.orders import place_shares

    codes = np.insert(drawn.batch.support, drawn.batch.support_offsets[1:], -1)
    return codes, place_shares(drawn.layout, drawn.orders, rank)


# Given sets ----------------------------------------------------------------------------------------------


@checked
def certainty_of(
    plausibilities: Plausibilities,
    sets: Sets,
    *,
    top: int | None = None,
    rank: int | None = None,
    unranked: Unmentioned = "identify",
    advance: Advance = None,
) -> Certainty:
    """Find how certain a given label, or set of labels, of each case is: the share of draws that have it on top.

    Parameters
    ----------
    plausibilities
        Draws of every case.
    sets
        One label for all cases; or a label or set of labels per case, in the order of cases or by name of the case.
        Sets may differ in size.
    top
        How many labels each set must have, if they should not differ.
    rank
        Count the draws that have the label in this place, from 1 to the number of conditions; every case then has a
        single label, and there is no ``top``. See :func:`rank_certainty`.
    unranked
        See :func:`annotation_certainty`; with ``"pool"`` an unmentioned member stands for any other one.
    advance
        Is told the number of cases of each batch done.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_counts([[3, 1, 0], [1, 1, 0]], ["cat", "dog", "cow"], case_names=["x", "y"])
    >>> draws = MajorityVote().sample(said)
    >>> certainty_of(draws, "cat").values
    array([1. , 0.5])
    >>> certainty_of(draws, {"x": "dog", "y": {"cat", "dog"}}).values
    array([0., 1.])
    >>> certainty_of(draws, "dog", rank=2).values
    array([1. , 0.5])
    """
    check_choice("unranked", unranked, UNMENTIONED)
    if rank is not None:
        check_rank(rank, plausibilities.n_conditions)
        if top is not None:
            expected = "top for sets of first conditions, or rank for the condition in one place"
            raise DissensusError("top and rank are two questions", expected=expected, got=f"top={top} and rank={rank}")
    given = _codes_of_sets(plausibilities, sets, top if rank is None else 1)
    conditions = plausibilities.conditions

    def judged(batch: Batch) -> Found:
        codes = [given[case] for case in batch.case_names]
        sizes = np.array([len(members) for members in codes], dtype=np.int64)
        drawn = told_apart(batch, rank or int(sizes.max()), unranked)
        is_member = [np.isin(drawn.batch.support_of(case), members) for case, members in enumerate(codes)]
        if rank is None:
            found = _judged(drawn, sizes, np.concatenate(is_member).astype(np.int64), unranked == "pool")
        else:
            places = [int(own.argmax()) if own.any() else len(own) for own in is_member]
            found = rank_judged(drawn, np.array(places, dtype=np.int64), rank, unranked)
        return *found, [tuple(conditions[code] for code in members) for members in codes]

    sizes = {len(codes) for codes in given.values()}
    common = top if top is not None or len(sizes) != 1 or rank is not None else sizes.pop()
    return _joined(plausibilities, plausibilities.map(judged, advance=advance), top=common, rank=rank)


def _codes_of_sets(plausibilities: Plausibilities, sets: Sets, top: int | None) -> dict[str, IntArray]:
    """Turn the names of given sets into codes, by name of the case."""
    cases = plausibilities.case_names
    if top is not None:
        check_top(top, plausibilities.n_conditions)
    if isinstance(sets, str):
        sets = dict.fromkeys(cases, sets)
    if not isinstance(sets, Mapping):
        check_length("set", len(sets), len(cases))
        sets = dict(zip(cases, sets, strict=True))
    drawn, known = set(cases), {name: code for code, name in enumerate(plausibilities.conditions)}
    unknown, missing = [name for name in sets if name not in drawn], [name for name in cases if name not in sets]
    if unknown:
        advice = suggestion(unknown[0], cases) or "is it annotated?"
        raise DissensusError(f"no draws of case {unknown[0]!r}", advice=advice)
    if missing:
        got, advice = f"{len(missing)} cases without one: {listing(missing)}", "plausibilities.select([...])"
        raise DissensusError("every case needs a set", got=got, advice=f"select the others first: {advice}")
    given = {case: [one] if isinstance(one := sets[case], str) else list(one) for case in cases}
    least, most = (top, top) if top is not None else (1, len(known) - 1)
    for case, names in given.items():
        where = f"case {case!r}"
        for name in names:
            if name not in known:
                raise DissensusError(f"unknown condition {name!r}", where=where, advice=suggestion(str(name), known))
        if len(set(names)) < len(names):
            raise DissensusError("a set has a condition twice", got=listing(names), where=where)
        if not least <= len(names) <= most:
            expected = f"{least} to {most} conditions" if top is None else f"{top} conditions"
            raise DissensusError("a set has the wrong size", expected=expected, got=str(len(names)), where=where)
    return {case: np.sort(np.array([known[name] for name in names], dtype=np.int64)) for case, names in given.items()}
