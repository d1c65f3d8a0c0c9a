"""Plausibility regions: sets of plausibilities that hold those of a new case with a chosen probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from dissensus.certainty.categories import Advance
from dissensus.certainty.top_sets import check_top, told_apart
from dissensus.core.arrays import BoolArray, FloatArray
from dissensus.core.checks import check_count, check_share, checked
from dissensus.core.errors import DissensusError
from dissensus.draws import Batch, Plausibilities
from dissensus.metrics.base import KINDS, Drawn, Predicted
from dissensus.predictions.lists import Predictions

# How many cases times points a grid may have.
MOST_CELLS = 20_000_000


@dataclass(frozen=True)
class PlausibilityRegions:
    """Say which plausibilities of a case belong to the region of what a model says about it.

    The *conformity* of plausibilities is the sum of the model's scores, weighted by them: how well they fit what the
    model says. The region of a case holds all plausibilities whose conformity reaches the threshold.

    Attributes
    ----------
    threshold
        The least conformity of the region; minus infinity if there are too few cases to leave anything out.
    coverage
        The probability that was asked for.
    n_cases, n_draws
        Cases, and draws per case, that the threshold comes from.

    Examples
    --------
    >>> drawn = Plausibilities.from_draws([[[0.9, 0.1]], [[0.6, 0.4]], [[0.2, 0.8]]], conditions=["a", "b"])
    >>> model = Predictions.from_scores([[1.0, 0.0], [0.8, 0.2], [0.5, 0.5]], ["a", "b"])
    >>> regions = plausibility_regions(drawn, model, coverage=0.5)
    >>> regions
    PlausibilityRegions(threshold=0.56, coverage=0.5, n_cases=3, n_draws=1)
    >>> regions.guarantee
    0.5
    """

    threshold: float
    coverage: float
    n_cases: int
    n_draws: int

    @property
    def guarantee(self) -> float:
        """The probability that is proven: the coverage with one draw per case, otherwise 1 - 2 (1 - coverage)."""
        missed = 1 - Fraction(str(self.coverage))
        return float(1 - missed) if self.n_draws == 1 else float(max(Fraction(0), 1 - 2 * missed))

    def contains(
        self, plausibilities: Plausibilities, predictions: Predictions, *, advance: Advance = None
    ) -> FloatArray:
        """Return the share of draws of each case that are in its region, shape (n_cases,).

        The mean over cases that the threshold does not come from is the coverage as it turned out.

        Examples
        --------
        >>> drawn = Plausibilities.from_draws([[[0.9, 0.1], [0.1, 0.9]]], conditions=["a", "b"])
        >>> model = Predictions.from_scores([[0.8, 0.2]], ["a", "b"])
        >>> PlausibilityRegions(0.5, 0.9, 100, 1).contains(drawn, model)
        array([0.5])
        """
        return np.asarray((conformities(plausibilities, predictions, advance) >= self.threshold).mean(axis=1))

    def grid(self, predictions: Predictions, *, points: int = 11) -> tuple[FloatArray, BoolArray]:
        """Lay a grid over all plausibilities, and say which points are in the region of each case.

        Parameters
        ----------
        predictions
            Scores of few conditions.
        points
            How many points there are from 0 to 1 along each condition.

        Returns
        -------
        (n_points, K), (n_cases, n_points)
            The points, all of which sum to one, and whether they are in the region.

        Examples
        --------
        >>> model = Predictions.from_scores([[0.8, 0.2]], ["a", "b"])
        >>> points, is_inside = PlausibilityRegions(0.5, 0.9, 100, 1).grid(model, points=3)
        >>> points.tolist(), is_inside.tolist()
        ([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [[False, True, True]])
        """
        _check_scores(predictions)
        check_count(points=points)
        steps, n_conditions = max(1, points - 1), predictions.n_conditions
        n_cells = math.comb(steps + n_conditions - 1, n_conditions - 1) * max(predictions.n_cases, n_conditions)
        if n_cells > MOST_CELLS:
            got = f"{n_cells:,}, as there are {n_conditions} conditions and {predictions.n_cases} cases"
            advice = "ask for fewer points or cases, or for contains(...) of draws"
            expected = f"at most {MOST_CELLS:,} points times cases"
            raise DissensusError("the grid is too large", expected=expected, got=got, advice=advice)
        # all whole numbers, zero or more, that sum to the steps: bars among stars
        bars = combinations(range(steps + n_conditions - 1), n_conditions - 1)
        edges = np.array([(-1, *one, steps + n_conditions - 1) for one in bars])
        found = (np.diff(edges) - 1) / steps
        return found, predictions.to_scores() @ found.T >= self.threshold

    def top_sets(
        self, plausibilities: Plausibilities, predictions: Predictions, *, top: int = 1, advance: Advance = None
    ) -> Predictions:
        """Name the conditions that are among the first ones of any draw in the region, as sets.

        A condition in a tie across the last place counts, as it can be among the first. Conditions that nobody
        mentioned are named only where the prior tells them apart; otherwise a set would have to hold all of them.

        Parameters
        ----------
        plausibilities, predictions
            Draws of cases, and what the model says about them.
        top
            How many first conditions count.
        advance
            Is told the number of cases of each batch done.

        Examples
        --------
        >>> drawn = Plausibilities.from_draws([[[0.7, 0.3, 0.0], [0.2, 0.7, 0.1], [0.0, 0.2, 0.8]]], case_names=["x"])
        >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], case_names=["x"])
        >>> PlausibilityRegions(0.3, 0.9, 100, 1).top_sets(drawn, model).to_lists()
        [[['0', '1']]]
        """
        check_top(top, plausibilities.n_conditions)
        model = _aligned(predictions, plausibilities)

        def sets_of(batch: Batch) -> list[list[str]]:
            drawn, is_inside = told_apart(batch, top), _of_batch(batch, model) >= self.threshold
            orders, sets = drawn.orders, []
            is_used = np.zeros(len(orders.counts), dtype=np.bool_)
            is_used[orders.of_draw[is_inside]] = True
            for case, size in enumerate(drawn.batch.support_sizes):
                is_early = (orders.above[orders.starts[case] : orders.starts[case + 1]] < top).reshape(-1, size)
                used = is_used[orders.offsets[case] : orders.offsets[case + 1]]
                codes = drawn.batch.support_of(case)[is_early[used].any(axis=0)]
                sets.append([plausibilities.conditions[code] for code in codes])
            return sets

        named = [names for part in plausibilities.map(sets_of, advance=advance) for names in part]
        return Predictions.from_sets(
            named, plausibilities.conditions, case_names=plausibilities.case_names, name=predictions.name
        )


@checked
def plausibility_regions(
    plausibilities: Plausibilities, predictions: Predictions, *, coverage: float = 0.9, advance: Advance = None
) -> PlausibilityRegions:
    """Find how well plausibilities must fit a model's scores so that those of a new case do with a given probability.

    This is conformal prediction of plausibilities instead of labels ([ambiguous]): the threshold is an order statistic
    of the conformities (see :class:`PlausibilityRegions`) of all draws of all cases.

    Parameters
    ----------
    plausibilities
        Draws of cases that are like the new ones, and that the model was not fitted to.
    predictions
        Scores of the model, such as probabilities; a condition without a score has 0. Only the order of conformities
        matters, so that any scores will do.
    coverage
        The probability, between 0 and 1.
    advance
        Is told the number of cases of each batch done.

    Notes
    -----
    With n cases of m draws each and a = 1 - coverage, the threshold is the r-th smallest conformity, where r is the
    whole part of a m (n + 1) - m + 1, or minus infinity if r is below 1. With one draw per case, r is the whole part of
    a (n + 1), and a new case (exchangeable with these) is in its region with probability ``coverage`` or more. With
    several, a single draw of a new case is in it with probability 1 - 2a or more: a draw is left out if its p-values
    against the first draws of all cases, the second draws and so on have a mean of at most a, and twice such a mean is
    a p-value. In practice it is close to 1 - a. Both are statements about cases of this kind on average, not about
    each single one.

    The authors' released code takes the middle between this order statistic and the next one, which may cost 1 in
    n + 1 of the coverage; its grid also has points that sum to less than one, which are no plausibilities.

    Unmentioned conditions share the rest of a draw by their weights, as in all metrics of plausibilities, so that cost
    follows what was mentioned and what the model lists.

    Examples
    --------
    >>> from dissensus import simulate
    >>> from dissensus.aggregations import Dirichlet
    >>> study = simulate.study(n_cases=200, n_conditions=8, seed=1)
    >>> drawn, model = Dirichlet().sample(study.annotations, draws=50), next(iter(study.predictions.values()))
    >>> regions = plausibility_regions(drawn.select(slice(100)), model.select(slice(100)), coverage=0.9)
    >>> others = regions.contains(drawn.select(slice(100, 200)), model.select(slice(100, 200)))
    >>> bool(others.mean() > 0.8), regions.guarantee
    (True, 0.8)
    """
    check_share("coverage", coverage)
    found = conformities(plausibilities, predictions, advance)
    n_cases, n_draws = found.shape
    missed = 1 - Fraction(str(float(coverage)))
    place = math.floor(missed * n_draws * (n_cases + 1)) - n_draws + 1
    threshold = float(np.partition(found, place - 1, axis=None)[place - 1]) if place > 0 else -math.inf
    return PlausibilityRegions(threshold, float(coverage), n_cases, n_draws)


def conformities(plausibilities: Plausibilities, predictions: Predictions, advance: Advance = None) -> FloatArray:
    """Return the sum of scores, weighted by plausibilities, of every case and draw, shape (n_cases, n_draws)."""
    model = _aligned(predictions, plausibilities)
    parts = plausibilities.map(lambda batch: _of_batch(batch, model), advance=advance)
    return np.concatenate([np.empty((0, plausibilities.n_draws)), *parts])


def _of_batch(batch: Batch, predictions: Predictions) -> FloatArray:
    predicted = Predicted(predictions, batch)
    rest = predicted.weighted_rest_means(predicted.entries[2], 0.0, predicted.scores)
    return Drawn(batch, 0).expected(predicted.scores, rest)


def _aligned(predictions: Predictions, plausibilities: Plausibilities) -> Predictions:
    """Put a model into the order of the draws, or say what it lacks."""
    _check_scores(predictions)
    return predictions.align(plausibilities.case_names, plausibilities.conditions)


def _check_scores(predictions: Predictions) -> None:
    if predictions.kind != "scores":
        found = {"got": KINDS[predictions.kind], "where": f"model {predictions.name!r}"}
        raise DissensusError("plausibility regions need scores", **found, advice="give the scores behind them")
