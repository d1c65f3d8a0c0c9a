"""The alternative annotator test: whether a model may take the place of an annotator (Calderon and others 2025).

Every annotator is left out in turn. On each of their cases, the model and the annotator are compared by how well they
agree with the others; the model wins an annotator if it is at least as good on enough of the cases, allowing for
``epsilon``, what it saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.agreement.coefficients import Table, inner, sparse
from dissensus.agreement.overlap import Matrix
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_share, checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import weighted_counts
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    import polars as pl

    from dissensus.predictions.lists import Predictions
    from dissensus.study.study import Study

# An annotator is compared on so many cases at least.
LEAST_CASES = 30

# Agreements that differ by less are equal: shares of tied first choices may be thirds.
ROUNDED = 1e-12


@dataclass(frozen=True)
class AlternativeAnnotator:
    """Hold the outcome of the alternative annotator test for one model.

    Attributes
    ----------
    rows
        A row per annotator who was compared: ``annotator``, ``n_cases``, ``advantage`` (how often the model is at least
        as good), ``p_value``, ``won``.
    epsilon
        By how much the annotator may be the better one.

    Examples
    --------
    >>> import dissensus as ds, polars as pl
    >>> rows = [(f"c{i}", who, "ab"[i % 2]) for i in range(40) for who in ("Ada", "Bo", "Cy")]
    >>> said = ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row"))
    >>> model = ds.Predictions.from_rankings([["a"], ["b"]] * 20, case_names=[f"c{i}" for i in range(40)])
    >>> found = alternative_annotator_test(said, model)
    >>> found.winning_rate, found.advantage, found.passes
    (1.0, 1.0, True)
    """

    rows: pl.DataFrame
    epsilon: float

    @property
    def winning_rate(self) -> float:
        """Share of the annotators whom the model wins, by the procedure of Benjamini and Yekutieli at 0.05."""
        return float(self.rows["won"].mean())  # type: ignore[arg-type]

    @property
    def advantage(self) -> float:
        """How often the model is at least as good as the annotator, on average over annotators."""
        return float(self.rows["advantage"].mean())  # type: ignore[arg-type]

    @property
    def passes(self) -> bool:
        """Whether the model wins at least half of the annotators."""
        return self.winning_rate >= 0.5


@checked
def alternative_annotator_test(study: Study, model: Predictions, *, epsilon: float = 0.2) -> AlternativeAnnotator:
    """Test whether a model may take the place of an annotator, as published.

    Parameters
    ----------
    study
        Labels, rankings (their first choices count) or ratings of named annotators.
    model
        What the model says; its first choice counts, or its number.
    epsilon
        By how much the annotator may be the better one, between 0 and 1: 0.2 for experts, 0.1 for crowds.
    """
    import polars as pl
    from scipy.stats import false_discovery_control, ttest_1samp

    check_share("epsilon", epsilon)
    said = study.counted
    said = said.select([name for name in said.case_names if name in set(model.case_names)])
    if not said.annotator_names or (said.annotators == ANONYMOUS).any():
        raise DissensusError(
            "the alternative annotator test leaves annotators out by name",
            expected="a name for the annotator of every opinion",
            got=f"{int((said.annotators == ANONYMOUS).sum())} anonymous opinions",
        )
    case, (theirs, own) = said.panel.case_of_opinion, agreement_with_others(said, model)
    several = said.votes_per_case[case] > 1
    found = []
    for code, name in enumerate(said.annotator_names):
        chosen = several & (said.annotators == code)
        if chosen.sum() >= LEAST_CASES:
            wins, loses = own[chosen] >= theirs[chosen] - ROUNDED, theirs[chosen] >= own[chosen] - ROUNDED
            apart = loses.astype(float) - wins
            p = ttest_1samp(apart, epsilon, alternative="less").pvalue if np.ptp(apart) else float(apart[0] >= epsilon)
            found.append({"annotator": name, "n_cases": len(apart), "advantage": wins.mean(), "p_value": float(p)})
    if not found:
        raise DissensusError(
            "no annotator shares enough cases with another one",
            expected=f"at least {LEAST_CASES} cases with two opinions",
            got=f"at most {max(np.bincount(said.annotators[several], minlength=1))}",
        )
    rows = pl.DataFrame(found)
    won = false_discovery_control(rows["p_value"].to_numpy(), method="by") <= 0.05
    return AlternativeAnnotator(rows.with_columns(won=pl.Series(won)), epsilon)


def agreement_with_others(said: Study, model: Predictions) -> tuple[FloatArray, FloatArray]:
    """Return how well each opinion agrees with the others on its case, and how well the model does, (n_opinions,) each.

    It is the share of the others with the same label, or minus the root mean square distance of ratings.
    """
    case = said.panel.case_of_opinion
    others = np.maximum(said.votes_per_case[case] - 1.0, 1.0)
    placed = model.align(said.case_names, said.conditions, allow_missing=True)
    if said.kind == "ratings":
        scores, number = said.scores, placed.numbers[case]

        def distance(value: FloatArray) -> FloatArray:
            sums = [weighted_counts(case, scores**power, said.n_cases)[case] for power in (0, 1, 2)]
            squares = sums[0] * value**2 - 2 * value * sums[1] + sums[2] - (value - scores) ** 2
            return np.asarray(-np.sqrt(np.maximum(squares, 0.0) / others))

        return distance(scores), distance(number)
    table = Table.of(said)
    shares, totals = table.shares[table.kind], table.by_value[case]
    first = first_shares(placed, said.n_conditions)[case]
    theirs, own = ((inner(one, totals) - inner(one, shares)) / others for one in (shares, first))
    return theirs, own


def first_shares(model: Predictions, n_conditions: int) -> Matrix:
    """Return how a model shares its first choice among conditions, shape (n_cases, K); sparse."""
    case = model.case_of_entry
    best = np.full(model.n_cases, -np.inf)
    np.maximum.at(best, case, model.values)
    first = model.values == best[case]
    share = 1.0 / np.bincount(case[first], minlength=model.n_cases)[case[first]]
    return sparse(share, case[first], model.codes[first], (model.n_cases, n_conditions))
