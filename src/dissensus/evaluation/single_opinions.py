"""Every opinion as an answer of its own: how often one annotator, taken at random, says what a model said.

No prior and no posterior: the share of annotators is what it is. Tied conditions share a place, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.point_estimates import InverseRank, MeanRating
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import take_rows, weighted_counts
from dissensus.metrics.base import OrderMetric
from dissensus.metrics.numbers import NumberMetric
from dissensus.predictions.lists import Predictions

if TYPE_CHECKING:
    from dissensus.evaluation.tally import Tallier

OPINIONS_AT_ONCE = 2000
"""How many opinions are compared at a time: each has the predictions of its case at its side."""


@dataclass(frozen=True, eq=False)
class SingleOpinions:
    """What every metric of every model is worth against every single opinion.

    Attributes
    ----------
    study
        The opinions that count.
    values : (models, metrics, n_opinions)
        Values; nan for metrics that need more than an order.
    """

    study: Any
    values: FloatArray

    @staticmethod
    def of(tallier: Tallier) -> SingleOpinions:
        """Compare every opinion with every model."""
        said, kind = tallier.study.counted, NumberMetric if tallier.has_numbers else OrderMetric
        values = np.full((len(tallier.models), len(tallier.metrics), said.n_opinions), np.nan)
        ordered = [place for place, metric in enumerate(tallier.metrics) if isinstance(metric, kind)]
        if ordered:
            own = replace(tallier, plan=replace(tallier.plan, metrics=tuple(tallier.metrics[k] for k in ordered)))
            for start in range(0, said.n_opinions, OPINIONS_AT_ONCE):
                chosen = np.arange(start, min(start + OPINIONS_AT_ONCE, said.n_opinions))
                values[:, ordered, chosen[0] : chosen[-1] + 1] = _compared(own, said, chosen)
        return SingleOpinions(said, values)

    @property
    def weights(self) -> FloatArray:
        """How much each opinion counts, shape (n_opinions,)."""
        return np.asarray(self.study.weights * self.study.votes)

    def means(self, cases: IntArray | None = None, *, kept: IntArray | None = None) -> FloatArray:
        """Average over the opinions on each case, shape (models, metrics, n_cases); nan where nobody said anything.

        Parameters
        ----------
        cases
            Positions of cases, by default all.
        kept
            Positions of the opinions that count, by default all.
        """
        everyone = np.arange(self.study.n_opinions) if kept is None else kept
        of_opinion = self.study.panel.case_of_opinion[everyone]
        weights = self.weights[everyone]
        n_cases = self.study.n_cases
        totals = weighted_counts(of_opinion, weights, n_cases)
        flat = self.values.reshape(-1, self.values.shape[-1])[:, everyone]
        sums = np.array([weighted_counts(of_opinion, weights * row, n_cases) for row in flat]).reshape(-1, n_cases)
        means = np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=totals > 0)
        shaped = means.reshape(*self.values.shape[:2], n_cases)
        return np.asarray(shaped if cases is None else shaped[..., cases])


def _compared(tallier: Tallier, said: Any, chosen: IntArray) -> FloatArray:
    """Evaluate some opinions, each as a case of its own; shape (models, metrics, n_chosen)."""
    names = tuple(map(str, range(len(chosen))))
    of_case = said.panel.case_of_opinion[chosen]
    alone, cases = said.each_alone(chosen, names), [said.case_names[i] for i in of_case]
    rows = {name: _repeated(model, cases, names) for name, model in tallier.models.items()}
    spec: Aggregation = MeanRating() if tallier.has_numbers else InverseRank("each")
    return replace(tallier, study=alone, models=rows).compared(spec.sample(alone))[0]


def _repeated(model: Predictions, cases: list[str], names: tuple[str, ...]) -> Predictions:
    """Give the predictions of a case to every opinion on it."""
    position = {name: place for place, name in enumerate(model.case_names)}
    offsets, entries = take_rows(model.offsets, np.array([position[case] for case in cases], dtype=np.int64))
    return replace(model, case_names=names, offsets=offsets, codes=model.codes[entries], values=model.values[entries])
