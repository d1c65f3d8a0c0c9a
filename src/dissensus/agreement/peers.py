"""Annotators beside each other: how far each agrees with all the others and with each, and how good each is.

How good they are is what Dawid-Skene and the ordered probit model learn from how they agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from dissensus.aggregations.annotator_models import (
    DawidSkene,
    check_grades,
    first_votes,
    gold_pairs,
    graded_record,
    known_truths,
    learned_record,
)
from dissensus.agreement.coefficients import Table, check_depth, inner, pairs_within, seats_of, soft_rankings
from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_choice, check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, suggestion
from dissensus.core.ragged import product, row_of_each, take_rows, weighted_counts
from dissensus.core.screen import repr_html
from dissensus.study.opinions import TIES, Opinions, Ties, inverse_ranks
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

    from dissensus.kernels.dawid_skene import Record

Within: TypeAlias = Literal["ranking", "first-block"]

# Sums of inverse ranks are tied when they differ by less than this share of the case's sum: weights may be thirds.
TIED = 1e-9

PAIRS_AT_ONCE = 200_000

# How the posterior of the gradings of annotators is drawn.
CHAINS, WARMUP = 4, 300


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Hold the agreement of the annotators of every case.

    Attributes
    ----------
    case_names
        The cases, annotated or not.
    values : (n_cases,)
        Between 0 and 1; nan where fewer than two annotators gave an opinion.
    n_annotators : (n_cases,)
        How many annotators gave an opinion.
    case_weights : (n_cases,)
        Weight of each case in the mean.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]], [[["a"]]]], case_names=["x", "y"])
    >>> found = annotator_agreement(said)
    >>> found
    Agreement: mean 0.333 over 1 of 2 cases; 1 with fewer than two annotators left out
    >>> round(found.mean, 3), found.is_defined, found.n_undefined
    (0.333, array([ True, False]), 1)
    """

    case_names: tuple[str, ...]
    values: FloatArray
    n_annotators: IntArray
    case_weights: FloatArray

    @property
    def is_defined(self) -> BoolArray:
        """Whether a case has at least two annotators, so that they can agree, shape (n_cases,)."""
        return self.n_annotators > 1

    @property
    def n_undefined(self) -> int:
        """Number of cases without agreement; they are left out of the mean."""
        return int((~self.is_defined).sum())

    @property
    def mean(self) -> float:
        """Average over the cases that have an agreement, by case weight; nan if there is none."""
        weights = np.where(self.is_defined, self.case_weights, 0.0)
        return float(product(weights, np.nan_to_num(self.values)) / weights.sum()) if weights.any() else float("nan")

    def correlation(self, values: Mapping[str, float]) -> float:
        """Correlate the agreement with other numbers by case name, for example certainties (Pearson).

        Cases in which either number is missing or nan are left out. The correlation is nan if fewer than two cases are
        left or one side does not vary.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["a"]], [["b"]]]], case_names=["x", "y"])
        >>> round(annotator_agreement(said).correlation({"x": 0.9, "y": 0.5}), 6)
        1.0
        """
        if not isinstance(values, Mapping):
            got = type(values).__name__
            raise DissensusError("values must have case names", expected="{case name: number}", got=got)
        if self.case_names and not any(name in values for name in self.case_names):
            raise DissensusError(
                "no case has both an agreement and a value",
                expected=f"names of cases such as {self.case_names[0]!r}",
                got=f"{len(values)} values" + (f" for names such as {next(iter(values))!r}" if values else ""),
                advice=suggestion(str(next(iter(values), "")), self.case_names),
            )
        other = np.array([values.get(name, np.nan) for name in self.case_names], dtype=np.float64)
        both = np.isfinite(self.values) & np.isfinite(other)
        x, y = self.values[both], other[both]
        return float("nan") if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0 else float(np.corrcoef(x, y)[0, 1])

    def to_frame(self) -> pl.DataFrame:
        """Return a row per case: ``case``, ``agreement`` (nan where undefined), ``n_annotators``.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["a"]], [["b"]]]], case_names=["x", "y"])
        >>> annotator_agreement(said).to_frame().rows()
        [('x', 1.0, 2), ('y', 0.0, 2)]
        """
        import polars as pl

        return pl.DataFrame({"case": self.case_names, "agreement": self.values, "n_annotators": self.n_annotators})

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        n_cases = len(self.case_names)
        undefined = f"; {self.n_undefined} with fewer than two annotators left out" if self.n_undefined else ""
        return f"Agreement: mean {self.mean:.3f} over {n_cases - self.n_undefined} of {n_cases} cases{undefined}"


@checked
def annotator_agreement(annotations: Study, *, ties: Ties = "shared", within: Within = "ranking") -> Agreement:
    """Leave one annotator out, aggregate the others, and ask whether the left-out annotator mentions their top-1.

    The others are aggregated by inverse rank normalisation (IRN). The agreement of a case is the average over its
    annotators ([stutz], appendix "Additional results": the top-1 IRN label "is included in the conditions provided by
    annotator r", anywhere in the ranking).

    Parameters
    ----------
    annotations
        Rankings. Abstentions and rankings of weight zero do not count.
    ties
        How tied conditions weigh in IRN, as in :class:`dissensus.aggregations.InverseRank`.
    within
        ``"ranking"``: it counts if the left-out annotator mentions the top-1 of the others at any rank, as published.
        ``"first-block"``: only if it is among the first choices.

    Notes
    -----
    If several conditions share the top of the others, the value is the expectation over a random choice among them.
    Weights of rankings count in the IRN of the others and in the average over annotators. All rankings that one named
    annotator gave on a case are left out together; of annotators who share an opinion, each is left out alone.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["b"], ["a"]], [["b"]]], [[["a"]]]])
    >>> agreement = annotator_agreement(said)
    >>> agreement
    Agreement: mean 0.333 over 1 of 2 cases; 1 with fewer than two annotators left out
    >>> agreement.values.round(3), agreement.n_annotators
    (array([0.333,   nan]), array([3, 1]))
    """
    check_choice("ties", ties, TIES)
    check_choice("within", within, get_args(Within))
    said = require_kind(annotations, "rankings", "agreement").counted
    counted = np.ones(len(said.codes), dtype=np.bool_)
    if within == "first-block":
        is_first = np.zeros(len(said.block_sizes), dtype=np.bool_)
        is_first[said.block_offsets[:-1]] = True
        counted = is_first[row_of_each(said.code_offsets)]
    # A seat holds the rankings of one annotator on one case, who are left out together; nameless ones stand alone.
    keys, first, seat = np.unique(seats_of(said), return_index=True, return_inverse=True)
    case, votes = said.panel.case_of_opinion[first], said.votes[first].astype(np.float64)
    sums = weighted_counts(seat, said.weights, len(keys))
    # Cells are the pairs of a seat and a condition of its case's support.
    support, ranks, of_mention = said.support, inverse_ranks(said, ties), seat[said.ranking_of_mention]
    cells, member = take_rows(support.offsets, case)
    of_cell = row_of_each(cells)
    cell = cells[of_mention] + support.local
    of_all = ranks * votes[of_mention]
    totals = weighted_counts(support.offsets[case[of_mention]] + support.local, of_all, len(support.codes))
    others = totals[member] - weighted_counts(cell, ranks, len(of_cell))
    mass = weighted_counts(case[of_mention], of_all, said.n_cases)[case]
    top = np.maximum.reduceat(others, cells[:-1]) if len(of_cell) else others
    is_top = others >= (top - TIED * mass)[of_cell]
    named = weighted_counts(cell, (said.weights / sums[seat])[said.ranking_of_mention] * counted, len(of_cell))
    hits = weighted_counts(of_cell, np.where(is_top, named, 0.0), len(keys))
    hits /= np.bincount(of_cell[is_top], minlength=len(keys))
    weights = sums / np.bincount(seat) * votes
    n_annotators = weighted_counts(case, votes, said.n_cases).astype(np.int64)
    sums, values = weighted_counts(case, weights, said.n_cases), np.full(said.n_cases, np.nan)
    np.divide(weighted_counts(case, weights * hits, said.n_cases), sums, out=values, where=n_annotators > 1)
    return Agreement(said.case_names, values, n_annotators, said.case_weights)


# Each with each ------------------------------------------------------------------------------------------


@checked
def pairwise_agreement(annotations: Study, *, depth: int = 3) -> pl.DataFrame:
    """Compare every two named annotators on the cases that both have seen.

    Parameters
    ----------
    annotations
        Rankings by named annotators; nameless ones, abstentions and rankings of weight zero do not count.
    depth
        How many places count in the mean average overlap.

    Returns
    -------
    frame
        A row per pair with a common case: ``annotator_a``, ``annotator_b``, ``n_cases`` (common cases), ``overlap``
        (mean of :func:`mean_average_overlap`, where what is not mentioned ranks last) and ``same_first`` (how often
        their first choices are the same; with tied first choices, the chance that a random one of each is). Both are
        averages over the common cases by case weight; several rankings of one annotator on a case are averaged first.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"], ["b"]], [["a"]]], [[["b"]], [["a", "b"]]]], annotator_names=["Ada", "Bo"], conditions=["a", "b"])
    >>> pairwise_agreement(said, depth=1).rows()
    [('Ada', 'Bo', 2, 0.853..., 0.75)]
    """
    import polars as pl

    said = require_kind(annotations, "rankings", "agreement").counted
    check_depth(depth, said.n_conditions)
    check_named(annotations)
    # Pairs of rankings on one case by two different named annotators, the lower code first.
    named = np.flatnonzero(said.annotators != ANONYMOUS)
    pairs = named[np.stack(pairs_within(said.panel.case_of_opinion[named]))]
    who = said.annotators[pairs]
    one, other = np.where(who[0] < who[1], pairs, pairs[::-1])[:, who[0] != who[1]]
    vectors, signs = soft_rankings(said, depth, said.n_conditions)
    table = Table.of(said)
    firsts = table.shares[table.kind]
    parts = [slice(start, start + PAIRS_AT_ONCE) for start in range(0, len(one), PAIRS_AT_ONCE)] or [slice(0)]
    overlap = np.concatenate([(vectors[one[part]] * vectors[other[part]]) @ signs for part in parts])
    same = np.concatenate([inner(firsts[one[part]], firsts[other[part]]) for part in parts])
    case = said.panel.case_of_opinion[one]
    pair = pl.DataFrame({"a": said.annotators[one], "b": said.annotators[other], "case": case})
    pair = pair.with_columns(overlap=np.clip(overlap, 0.0, 1.0), same_first=same, weight=said.case_weights[case])
    by_case = pair.group_by("a", "b", "case", maintain_order=True).mean()
    measures = ("overlap", "same_first")
    means = [((pl.col(name) * pl.col("weight")).sum() / pl.col("weight").sum()).alias(name) for name in measures]
    by_pair = by_case.group_by("a", "b").agg(pl.len().cast(pl.Int64).alias("n_cases"), *means).sort("a", "b")
    names = np.array([*said.annotator_names, None], dtype=object)
    people = {f"annotator_{side}": pl.Series(names[by_pair[side]], dtype=pl.String) for side in ("a", "b")}
    return pl.DataFrame(people).with_columns(by_pair["n_cases"], *(by_pair[name] for name in measures))


# How good each is ----------------------------------------------------------------------------------------


@checked
def annotator_quality(
    annotations: Study, *, gold: Mapping[str, str] | None = None, draws: int = 1000, seed: int = 0, level: float = 0.95
) -> pl.DataFrame:
    """Estimate how often each named annotator names the true condition first.

    The accuracy is the chance to name the true condition of a case like those that the annotator read. The truth is
    drawn as :class:`DawidSkene` knows it, from how annotators agree and from ``gold``; given a draw of it, an annotator
    who was right in r and wrong in w cases has an accuracy drawn from Beta(r + 1/2, w + 1/2). It owes nothing to what
    the others are like, except through the truth, so that intervals hold for annotators who are good or bad throughout.

    Parameters
    ----------
    annotations
        Rankings by annotators who are named, of which first blocks count, or checklists: every finding is a study of
        its own, since who is good at one may be bad at another.
    gold
        The true condition of cases where it is known, by name of the case; of checklists, ``"present"`` or
        ``"absent"`` by ``"case / finding"``.
    draws, seed
        Of the posterior.
    level
        How much the intervals hold.

    Returns
    -------
    polars.DataFrame
        A row per annotator who said anything, of checklists per ``finding`` and annotator: ``annotator``, ``cases``,
        ``accuracy`` (the posterior mean), ``low`` and ``high``.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 8 + [[[["b"]], [["b"]], [["b"]]]] * 8, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> table = annotator_quality(said)
    >>> table.sort("accuracy")["annotator"][0], table["cases"].to_list()
    ('C', [16, 16, 16])
    """
    check_share("level", level)
    if annotations.kind == "checklists":
        return quality_by_finding(annotations.by_finding(), gold=gold, draws=draws, seed=seed, level=level)
    opinions, record = _learned(annotations, gold, draws=draws, seed=seed)
    return _frame(annotations, opinions, _summary(record.accuracies, level, "accuracy", "low", "high"))


def quality_by_finding(
    parts: Mapping[str, Study], *, gold: Mapping[str, str] | None = None, draws: int, seed: int, level: float
) -> pl.DataFrame:
    """Estimate the quality of annotators in the study of each finding alone; see :func:`annotator_quality`."""
    import polars as pl

    tables = []
    answered = {finding: part for finding, part in parts.items() if part.counted.n_opinions} or parts
    for finding, part in answered.items():
        known = {name: (gold or {})[name] for name in part.case_names if name in (gold or {})}
        table = annotator_quality(part, gold=known, draws=draws, seed=seed, level=level)
        tables.append(table.insert_column(0, pl.Series("finding", [finding] * len(table), dtype=pl.String)))
    return pl.concat(tables)


@checked
def annotator_confusion(
    annotations: Study, *, gold: Mapping[str, str] | None = None, draws: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Estimate what each named annotator names first, by the true condition.

    Parameters
    ----------
    annotations, gold, draws, seed
        As in :func:`annotator_quality`.

    Returns
    -------
    polars.DataFrame
        A row per annotator, true condition and named condition: ``annotator``, ``truth``, ``said`` and ``probability``,
        the posterior mean.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 8 + [[[["b"]], [["b"]], [["b"]]]] * 8, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> table = annotator_confusion(said)
    >>> [row[:3] for row in table.head(2).rows()]
    [('A', 'a', 'a'), ('A', 'a', 'b')]
    >>> table.filter(annotator="C", truth="a", said="b")["probability"][0] > 0.5
    True
    """
    import polars as pl

    opinions, record = _learned(annotations, gold, draws=draws, seed=seed)
    *_, people = first_votes(opinions)
    names, conditions = np.array(annotations.annotator_names), np.array(annotations.conditions)
    shape = (len(people), len(conditions) + 1, len(conditions))  # one row of each annotator is for what nobody named
    confusions = record.confusions[: shape[0] * shape[1]].reshape(shape)
    rows = np.moveaxis(confusions[:, :-1], 1, 2) / draws
    who, truth, said = (axis.ravel() for axis in np.indices(rows.shape))
    columns = {"annotator": names[people[who]], "truth": conditions[truth], "said": conditions[said]}
    return pl.DataFrame({name: column.astype(object) for name, column in columns.items()}, strict=False).with_columns(
        pl.all().cast(pl.String), probability=pl.Series(rows.ravel())
    )


@checked
def annotator_gradings(annotations: Study, *, draws: int = 1000, seed: int = 0, level: float = 0.95) -> pl.DataFrame:
    """Estimate how far each named annotator shifts grades, and how much their grades scatter.

    As :class:`OrderedProbit` learns it. The unit is the standard deviation of the severities of cases. Someone of shift
    0.5 sees every case half a deviation more severe than annotators do on average; someone of spread 1 perceives a case
    with an error as large as cases differ.

    Parameters
    ----------
    annotations
        Grades by annotators who are named; only first blocks count.
    draws, seed
        Of the posterior.
    level
        How much the intervals hold.

    Returns
    -------
    polars.DataFrame
        A row per annotator who said anything: ``annotator``, ``cases``, ``shift`` (the posterior mean), ``shift_low``,
        ``shift_high``, ``spread``, ``spread_low`` and ``spread_high``.

    Examples
    --------
    >>> grades = [[[[0]], [[0]], [[1]]]] * 6 + [[[[1]], [[1]], [[2]]]] * 6
    >>> said = Study.from_rankings(grades, 3, annotator_names=["A", "B", "C"], question="grades")
    >>> table = annotator_gradings(said, draws=400)
    >>> table.sort("shift")["annotator"][-1], table["cases"].to_list()
    ('C', [12, 12, 12])
    """
    check_share("level", level)
    check_grades(require_kind(annotations, "rankings", "the shift of annotators").opinions)
    opinions = _opinions_of(annotations, "the shift of annotators", draws=draws, seed=seed)
    chains = min(CHAINS, draws)
    record = graded_record(opinions, draws=draws, chains=chains, warmup=WARMUP, seed=seed, keeps_cases=False)
    shifts = _summary(record.shifts, level, "shift", "shift_low", "shift_high")
    spreads = _summary(record.spreads, level, "spread", "spread_low", "spread_high")
    return _frame(annotations, opinions, {**shifts, **spreads})


def _learned(annotations: Study, gold: Mapping[str, str] | None, *, draws: int, seed: int) -> tuple[Opinions, Record]:
    """Draw what annotators are like; return the opinions and the draws."""
    opinions = _opinions_of(annotations, "the quality of annotators", draws=draws, seed=seed)
    truths = known_truths(opinions, dict(gold_pairs(gold or {})))
    order = np.argsort(opinions.keys, kind="stable")
    how = {"draws": draws, "chains": min(DawidSkene.chains, draws), "warmup": DawidSkene.warmup, "seed": seed}
    return opinions, learned_record(opinions.take(order), truths[order], "annotators", **how)


def _opinions_of(annotations: Study, what: str, *, draws: int, seed: int) -> Opinions:
    """Return the opinions; refuse those of nobody who has a name."""
    check_count(draws=draws)
    check_seed(seed)
    opinions: Opinions = require_kind(annotations, "rankings", what).opinions
    check_named(annotations)
    return opinions


def check_named(annotations: Study) -> None:
    """Refuse opinions of nobody who has a name."""
    if not (annotations.annotators != ANONYMOUS).any():
        raise DissensusError(
            "the annotators have no names, so they cannot be told apart",
            expected="named annotators",
            got=f"{annotations.n_votes} anonymous rankings",
            advice="say who gave each ranking (annotator_names=[...], or read(..., columns={'annotator': ...})); "
            "annotator_agreement needs no names",
        )


def _summary(draws: FloatArray, level: float, *columns: str) -> dict[str, FloatArray]:
    """Return the mean and the ends of the interval of draws (n_draws, n_people), under these names."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return dict(zip(columns, (draws.mean(axis=0), low, high), strict=True))


def _frame(annotations: Study, opinions: Opinions, columns: dict[str, FloatArray]) -> pl.DataFrame:
    """Write a row per annotator, with the number of cases on which each said something."""
    import polars as pl

    case, who, *_, people = first_votes(opinions)
    named = who < len(people)
    pairs = np.unique(who[named] * opinions.n_cases + case[named])
    cases = np.bincount(pairs // opinions.n_cases, minlength=len(people))
    return pl.DataFrame(
        {"annotator": [annotations.annotator_names[code] for code in people], "cases": cases, **columns}
    )
