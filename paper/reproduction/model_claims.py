"""What the paper says in words about its four models: a row per claim, with the model that it hangs on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray
from paper.reproduction.certainty_claims import Finding
from paper.reproduction.paper_runs import FAR_BELOW, GENERALLY, MEDIUM, SHORT, clearly
from paper.reproduction.rows import AtLeast, AtMost, Claim, Row, Settings

if TYPE_CHECKING:
    import polars as pl

TITLE = "Models under all reliabilities"
TOP1, TOP3 = "top-1 accuracy", "top-3 accuracy"
SET2, SET3, OVERLAP = "top-2 set accuracy", "top-3 set accuracy", "average overlap at 3"
FIGURE = (TOP3, SET2, SET3, OVERLAP)
"""The metrics of the main figure."""

FALL, SEVERAL, THIRD, LARGER, LESS, BEST_TO_WORST = 0.02, 0.02, 1 / 3, 0.05, 0.75, 0.045
"""What is taken as falling, several points, dramatic, significantly larger, less variation, and up to 4 %."""

STANDING_IN = "computed with simulated stand-ins: the published predictions are not in the data"
FALLS = (
    "less than two points from the highest to the lowest reliability, or within five Monte Carlo errors, would not be"
)
TYPICAL = f"typically is taken as at least {GENERALLY} of all models, metrics of the main figure and reliabilities"
POINTS = "several is taken as at least two, for the model and metric of the main figure with the largest at medium"
DRAMATIC = "dramatically is taken as at least a third lower; the smallest fall of any model is judged"
DROP = (
    f"significantly is taken as at least {LARGER} more, or five Monte Carlo errors; from top-3 accuracy, which the "
    "main figure shows, to top-3 set accuracy, against the certainty of the top 1 and of the top 3"
)
LIKE = "the same from top-1 accuracy, which is like for like with certainty, but not in the main figure"
ORDER = "one pair of models whose order changes is enough"
HIGHER = f"generally is taken as at least {GENERALLY} of all models, set accuracies and reliabilities"
VARIATION = f"significantly is taken as at most {LESS} of the standard deviation over draws of any of the others"
LOWER = f"generally is taken as at least {GENERALLY} of models and metrics"
MADE = (
    "it proves nothing: the stand-ins are made from draws of PrIRN of the very annotations, and what they are made "
    "from judges them kindly; the next row has stand-ins from draws of PL"
)
RANGE = "the paper gives an upper bound over models; 4.5 % still rounds to 4 %, and more draws would widen it"
QUARTER = f"the paper says that they are well below 1; that is taken as below {FAR_BELOW}"
MAIN = "the paper shows it in a figure, without numbers"
OTHERWISE = "stand-ins made from draws of PL, to show that the answer follows from what they are made of"

Cell: TypeAlias = Mapping[str, Any]
"""A row of the table of results."""


def by_run(table: pl.DataFrame) -> dict[str, dict[float, dict[str, dict[str, Cell]]]]:
    """Look up the rows of a table by aggregation, as the paper calls it, reliability, model and metric."""
    found: dict[str, dict[float, dict[str, dict[str, Cell]]]] = {}
    for row in table.iter_rows(named=True):
        runs = found.setdefault(SHORT[row["aggregation"]], {})
        runs.setdefault(row["reliability"], {}).setdefault(row["model"], {})[row["metric"]] = row
    return found


def lower_share(table: pl.DataFrame) -> float:
    """Return the share of models and metrics whose mean is lower under PrIRN than under PL, at medium reliability."""
    race, inverse = (by_run(table)[SHORT[one.id]][one.reliability] for one in MEDIUM)
    pairs = [(race[model][metric]["mean"], inverse[model][metric]["mean"]) for model in race for metric in FIGURE]
    return float(np.mean([other < one for one, other in pairs]))


def other_stand_ins_row(table: pl.DataFrame, settings: Settings) -> Row:
    """Tell what stand-ins that are made from draws of Plackett-Luce say of PrIRN."""
    told = f"stand-ins from draws of PL; PL 3 and PrIRN 30, {settings.sweep_draws} draws"
    quantity = "share of models and metrics with lower values under PrIRN than under PL, other stand-ins"
    return Row(TITLE, quantity, lower_share(table), None, told, None, OTHERWISE, is_comparable=False, form=".1%")


@dataclass(frozen=True, eq=False)
class ModelClaims:
    """Judge what the paper says about its models.

    Attributes
    ----------
    table
        Adjusted values: a row per aggregation, reliability, model and metric.
    certainties
        Mean certainty of the first one, two and three conditions under both aggregations at medium reliability.
    first_model : (n_cases,)
        Adjusted top-3 accuracy of the first model, case by case.
    changed
        Pairs of models whose order changes between metrics or aggregations.
    are_published
        Whether the models are those of the paper; stand-ins are never compared.
    settings
        Draws.
    """

    table: pl.DataFrame
    certainties: pl.DataFrame
    first_model: FloatArray
    changed: int
    are_published: bool
    settings: Settings

    def rows(self) -> list[Row]:
        """Give the accuracies, and a row per claim."""
        return [
            *self.accuracy_rows(),
            self.falling_row(),
            self.overestimating_row(),
            self.several_points_row(),
            self.set_accuracy_row(),
            self.reduction_row(TOP3, DROP),
            self.reduction_row(TOP1, LIKE),
            self.order_row(),
            self.overlap_row(),
            self.variation_row(),
            self.range_row(),
            self.quarter_row(),
            self.lower_row(),
        ]

    def _row(
        self, quantity: str, found: Finding, claim: Claim | None, reason: str, *, told: str = "", form: str = ".1%"
    ) -> Row:
        where = f" ({found.where})" if found.where else ""
        words = told or f"PL 3 and PrIRN 30, {self.settings.draws} draws"
        error = None if np.isnan(found.error) else found.error
        why = reason if self.are_published else f"{reason}; {STANDING_IN}"
        return Row(TITLE, f"{quantity}{where}", found.value, error, words, claim, why, self.are_published, form)

    def _medium(self) -> Iterator[tuple[str, str, Mapping[str, Cell]]]:
        """Give both aggregations at medium reliability with every model and the rows of its metrics."""
        found = by_run(self.table)
        for one in MEDIUM:
            for model, cells in found[SHORT[one.id]][one.reliability].items():
                yield SHORT[one.id], model, cells

    def _everywhere(self) -> Iterator[Mapping[str, Cell]]:
        """Give the rows of every aggregation, reliability and model."""
        for runs in by_run(self.table).values():
            for models in runs.values():
                yield from models.values()

    def accuracy_rows(self) -> list[Row]:
        """Tell the adjusted top-3 accuracy of every model under both aggregations."""
        told = {"PL": "PL, reliability 3", "PrIRN": 'PrIRN, reliability 30, ties="each"'}
        return [
            self._row(
                f"{model}: adjusted top-3 accuracy",
                Finding(cells[TOP3]["mean"], cells[TOP3]["mc_error"], ""),
                None,
                MAIN,
                told=f"{told[short]}, {self.settings.draws} draws",
            )
            for short, model, cells in self._medium()
        ]

    def falling_row(self) -> Row:
        """Judge whether top-3 accuracy falls with reliability, for the model with the smallest fall."""
        falls = []
        for short, runs in by_run(self.table).items():
            low, high = runs[min(runs)], runs[max(runs)]
            falls += [_less(high[model][TOP3], low[model][TOP3], f"{model}, {short}") for model in low]
        least = min(falls)
        claim = clearly(FALL, least.error, "reduces significantly")
        told = f"PL 10 and 1, PrIRN 100 and 10; {self.settings.sweep_draws} draws"
        quantity = "fall of top-3 accuracy from the highest to the lowest reliability, smallest"
        return self._row(quantity, least, claim, f"{FALLS} significant", told=told)

    def overestimating_row(self) -> Row:
        """Judge whether point estimates are typically above adjusted values."""
        higher = [
            cells[metric]["difference"] > 2 * cells[metric]["mc_error"]
            for cells in self._everywhere()
            for metric in FIGURE
        ]
        found = Finding(float(np.mean(higher)), float("nan"), "")
        claim, told = (
            AtLeast(GENERALLY, "typically overestimate"),
            f"all reliabilities, {self.settings.sweep_draws} draws or more",
        )
        return self._row("share of point estimates that are above the adjusted value", found, claim, TYPICAL, told=told)

    def several_points_row(self) -> Row:
        """Judge by how much a point estimate is above the adjusted value at most."""
        most = max(
            Finding(cells[metric]["difference"], cells[metric]["mc_error"], f"{model}, {metric}, {short}")
            for short, model, cells in self._medium()
            for metric in FIGURE
        )
        claim = clearly(SEVERAL, most.error, "several percentage points")
        return self._row("what the point estimate adds, largest", most, claim, POINTS)

    def set_accuracy_row(self) -> Row:
        """Judge how much lower set accuracy is than accuracy, for the model with the smallest fall."""
        least = min(
            Finding(1 - cells[metric]["mean"] / cells[TOP3]["mean"], float("nan"), f"{model}, {metric}, {short}")
            for short, model, cells in self._medium()
            for metric in (SET2, SET3)
        )
        quantity = "how much lower set accuracy is than top-3 accuracy, in parts of it, smallest"
        return self._row(quantity, least, AtLeast(THIRD, "dramatically lower"), DRAMATIC)

    def reduction_row(self, accuracy: str, reason: str) -> Row:
        """Judge whether accuracy falls further than certainty when three places are asked for instead of one."""
        drops = self._certainty_drops()
        least = min(
            Finding(fall.value - drops[short].value, float(np.hypot(fall.error, drops[short].error)), fall.where)
            for short, model, cells in self._medium()
            for fall in [_less(cells[accuracy], cells[SET3], f"{model}, {short}")]
        )
        claim = clearly(LARGER, least.error, "significantly larger")
        quantity = f"fall from {accuracy} to {SET3}, less the fall of certainty, smallest"
        return self._row(quantity, least, claim, reason)

    def _certainty_drops(self) -> dict[str, Finding]:
        found: dict[str, dict[int, Cell]] = {}
        for row in self.certainties.iter_rows(named=True):
            found.setdefault(SHORT[row["aggregation"]], {})[row["top"]] = row
        return {
            short: Finding(
                tops[1]["mean"] - tops[3]["mean"], float(np.hypot(tops[1]["error"], tops[3]["error"])), short
            )
            for short, tops in found.items()
        }

    def order_row(self) -> Row:
        """Judge whether the order of models hangs on metric or aggregation."""
        models = self.table["model"].n_unique()
        pairs = models * (models - 1) // 2
        quantity = f"pairs of models whose order changes between metrics or aggregations, of {pairs}"
        found = Finding(self.changed, float("nan"), "")
        return self._row(quantity, found, AtLeast(1, "impacts the ranking"), ORDER, form=",.0f")

    def overlap_row(self) -> Row:
        """Judge whether average overlap is generally higher than set accuracy."""
        higher = [
            cells[OVERLAP]["mean"] > cells[metric]["mean"] for cells in self._everywhere() for metric in (SET2, SET3)
        ]
        found = Finding(float(np.mean(higher)), float("nan"), "")
        claim = AtLeast(GENERALLY, "generally higher numbers")
        told = f"all reliabilities, {self.settings.sweep_draws} draws or more"
        return self._row("share of set accuracies below the average overlap", found, claim, HIGHER, told=told)

    def variation_row(self) -> Row:
        """Judge whether average overlap varies less over draws, for the model and metric where it gains least."""
        most = max(
            Finding(_ratio(cells[OVERLAP]["sd"], cells[metric]["sd"]), float("nan"), f"{model}, {metric}, {short}")
            for short, model, cells in self._medium()
            for metric in (TOP3, SET2, SET3)
        )
        quantity = "standard deviation over draws of average overlap, in parts of that of another metric, largest"
        return self._row(quantity, most, AtMost(LESS, "reduces variation significantly"), VARIATION, form=".2f")

    def range_row(self) -> Row:
        """Judge how far the best draw is from the worst, for the model where it is furthest."""
        most = max(
            Finding(cells[TOP3]["max"] - cells[TOP3]["min"], float("nan"), model)
            for short, model, cells in self._medium()
            if short == "PL"
        )
        told = f"PL, reliability 3, {self.settings.draws} draws"
        claim = AtMost(BEST_TO_WORST, "up to 4 %")
        return self._row("best less worst draw, top-3 accuracy, largest over models", most, claim, RANGE, told=told)

    def quarter_row(self) -> Row:
        """Judge whether a quarter of the cases have an adjusted accuracy well below 1."""
        model = self.table["model"][0]
        found = Finding(float(np.mean(self.first_model < FAR_BELOW)), float("nan"), "")
        told = f"PL, reliability 3, {self.settings.draws} draws"
        quantity = f"{model}: share of cases with adjusted top-3 accuracy below {FAR_BELOW}"
        return self._row(quantity, found, AtLeast(0.25, "at least a quarter"), QUARTER, told=told)

    def lower_row(self) -> Row:
        """Judge whether models generally do worse under PrIRN than under PL."""
        found = Finding(lower_share(self.table), float("nan"), "")
        reason = LOWER if self.are_published else f"{LOWER}; {MADE}"
        quantity = "share of models and metrics with lower values under PrIRN than under PL"
        return self._row(quantity, found, AtLeast(GENERALLY, "generally lower performance"), reason)


def _less(one: Cell, other: Cell, where: str) -> Finding:
    return Finding(one["mean"] - other["mean"], float(np.hypot(one["mc_error"], other["mc_error"])), where)


def _ratio(one: float, other: float) -> float:
    """Divide; beside what does not vary at all, nothing varies less."""
    return one / other if other > 0 else float("inf")
