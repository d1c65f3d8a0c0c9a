"""What the paper says about the dermatology study at medium reliability, claim by claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dissensus.agreement.peers import annotator_agreement
from dissensus.certainty.top_sets import Certainty
from dissensus.core.arrays import CERTAIN, FloatArray, is_uncertain
from dissensus.study.study import Study
from paper.data.printed_cases import CASES, N_CONDITIONS
from paper.reproduction.certainty_claims import TITLE, uncertain_share
from paper.reproduction.paper_runs import FAR_BELOW, GENERALLY, clearly
from paper.reproduction.printed_experiment import PASSED_OVER, cases_found
from paper.reproduction.rows import AtLeast, AtMost, Claim, Printed, Row, Settings, shaken_error

if TYPE_CHECKING:
    import polars as pl

SHARE, CORRELATION = 0.02, 0.03
"""How far shares and correlations may be from the printed ones."""

CRISP = (0.1, 0.2)
"""Expected risks this near to a level are taken as crisp, by a strict and by a generous reading."""

RISE, HIGHER, MANY, APART = 0.05, 0.05, 0.1, 0.2
"""What is taken as a rise of one case, as clearly higher on average, as many cases, and as far apart."""

RELEASED = "the release has 1947 cases, the paper's test set 1939; the eight cases are not told apart"
FEW = "the paper says that every case has at least three annotators; the release has some with one or two"
READING = "another reading of the category of a draw; it is not the one that gives the printed share"
ABSTRACT = "condition, claim of the abstract"
MOST = "the abstract sets no limit, and the answer depends on it: fewer than half of the cases are far below 1"
WELL_BELOW = f"the paper says that they are well below 1; that is taken as below {FAR_BELOW}"
SHOWN = "the paper shows it in a figure, without numbers"
TIES = "both tie rules of inverse ranks are within the tolerance here"
EACH = "the tie rule that gives the paper's printed cases"
SHARED = (
    "this is with the tie rule of the paper's equation; its printed numbers come from giving each tied condition the "
    "full weight"
)
INDIVIDUAL = f"a largest difference of less than {APART} would not be significant on any case"
SORTED = "the paper reads it off curves that are each sorted by themselves; case by case, most certainties still rise"
NEAR_ONE = "this reading counts cases that are so certain already that they hardly can rise by so much"
FEWER = "no limit is needed: the paper claims the sign alone"
CLEARLY = "clearly is taken as more than two standard errors over cases"
ON_AVERAGE = (
    f"less than {HIGHER} on average would not be clear; no case can fall, because draws that agree on a condition "
    "agree on its risk"
)
GENERAL = f"generally is taken as at least {GENERALLY} of these cases"
REMAINS = f"low is taken as below {FAR_BELOW}, and many as at least a tenth of the cases"
LEVELS = "the paper sets no limit, and the answer depends on it"
HISTOGRAM = "the paper shows a histogram, without numbers"


def study_rows(said: Study) -> list[Row]:
    """Compare the release with what the paper says of its test set."""

    def row(quantity: str, ours: float, claim: Claim, reason: str = "") -> Row:
        return Row(TITLE, quantity, ours, None, "the release", claim, reason, form=",.0f")

    return [
        row("cases", said.n_cases, Printed(1939, 0), RELEASED),
        row("conditions", said.n_conditions, Printed(N_CONDITIONS, 0)),
        row("cases with fewer than three annotators", int((said.votes_per_case < 3).sum()), Printed(0, 0), FEW),
        row("printed cases found in the release", cases_found(said), Printed(len(CASES), 0), PASSED_OVER),
    ]


def share_rows(conditions: Certainty, by_risk: Certainty, by_mass: Certainty, told: str) -> list[Row]:
    """Count the cases that are not certain, by condition and by risk."""
    first = "risk category of the top-1 condition"
    return [
        _share_row("condition", conditions, CERTAIN, told, Printed(0.59, SHARE)),
        _share_row(first, by_risk, CERTAIN, told, Printed(0.382, SHARE)),
        _share_row("risk category with the most mass", by_mass, CERTAIN, told, None, READING),
        _share_row("condition", conditions, FAR_BELOW, told, AtLeast(0.25, "at least a quarter"), WELL_BELOW),
        *(
            _share_row(ABSTRACT, conditions, limit, told, AtLeast(0.5, "most data points"), MOST)
            for limit in (CERTAIN, FAR_BELOW)
        ),
    ]


def _share_row(what: str, certainty: Certainty, limit: float, told: str, claim: Claim | None, reason: str = "") -> Row:
    quantity = f"share of cases with certainty below {limit} ({what})"
    return Row(TITLE, quantity, *uncertain_share(certainty, limit), told, claim, reason, form=".1%")


def mean_rows(profile: Iterable[Certainty], told: str) -> list[Row]:
    """Tell the mean certainty of the first one, two and three conditions."""
    return [
        Row(TITLE, f"mean top-{one.top} certainty", one.mean, one.mean_error, told, None, SHOWN, form=".3f")
        for one in profile
    ]


def _correlation(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def correlation_rows(race: Certainty, inverses: Mapping[str, Certainty], settings: Settings) -> list[Row]:
    """Correlate the certainties of PL and of PrIRN under both tie rules, and tell how far apart they are on a case."""
    rows = [_correlation_row(race, inverse, ties, settings) for ties, inverse in inverses.items()]
    inverse = inverses["each"]
    apart = np.abs(race.values - inverse.values)
    place = int(apart.argmax())
    error = float(np.hypot(race.errors[place], inverse.errors[place]))
    claim = clearly(APART, error, "a significant difference")
    quantity = f"largest difference of certainty on one case, PL and PrIRN (case {race.case_names[place]})"
    return [*rows, Row(TITLE, quantity, float(apart[place]), error, _both("each", settings), claim, INDIVIDUAL)]


def _correlation_row(race: Certainty, inverse: Certainty, ties: str, settings: Settings) -> Row:
    both = np.concatenate([race.values, inverse.values])
    errors = np.concatenate([race.errors, inverse.errors])
    error = shaken_error(lambda values: _correlation(*np.split(values, 2)), both, errors)
    return Row(
        TITLE,
        "correlation of certainty, PL and PrIRN",
        _correlation(race.values, inverse.values),
        error,
        _both(ties, settings),
        Printed(0.9, CORRELATION),
        EACH if ties == "each" else SHARED,
    )


def _both(ties: str, settings: Settings) -> str:
    return f'PL, reliability 3; PrIRN, reliability 30, ties="{ties}"; {settings.draws} draws'


def agreement_rows(said: Study, certainty: Certainty, told: str) -> list[Row]:
    """Correlate certainty and agreement under both tie rules of the inverse ranks that agreement is made of."""
    rows = []
    for ties in ("each", "shared"):
        agreement = annotator_agreement(said, ties=ties)
        agreed = dict(zip(agreement.case_names, agreement.values, strict=True))
        known = np.array([agreed[name] for name in certainty.case_names])
        kept = np.isfinite(known)
        values, errors = certainty.values[kept], certainty.errors[kept]
        error = shaken_error(lambda moved, other=known[kept]: _correlation(moved, other), values, errors)  # type: ignore[misc]
        rows.append(
            Row(
                TITLE,
                f'correlation of certainty and agreement (IRN, ties="{ties}")',
                _correlation(values, known[kept]),
                error,
                f"{told}; {int(kept.sum())} cases with two annotators or more",
                Printed(0.85, CORRELATION),
                TIES,
            )
        )
    return rows


def saturated_rows(medium: Certainty, high: Certainty, settings: Settings) -> list[Row]:
    """Count the cases that stay uncertain, by two readings of uncertain: the answer depends on it."""
    return [
        _saturated_row(medium, high, FAR_BELOW, SORTED, settings),
        _saturated_row(medium, high, CERTAIN, NEAR_ONE, settings),
    ]


def _saturated_row(medium: Certainty, high: Certainty, limit: float, reason: str, settings: Settings) -> Row:
    def count(values: FloatArray) -> float:
        before, after = np.split(values, 2)
        return float(((after - before < RISE) & (before < limit)).sum())

    both = np.concatenate([medium.values, high.values])
    error = shaken_error(count, both, np.concatenate([medium.errors, high.errors]))
    return Row(
        TITLE,
        f"cases with certainty below {limit} that rise by less than {RISE} from reliability 3 to 10",
        count(both),
        error,
        f"PL, alpha 1, {settings.draws} draws",
        AtLeast(250, "at least 250 cases"),
        reason,
        form=",.0f",
    )


def annotator_rows(cases: pl.DataFrame) -> list[Row]:
    """Compare annotators and different conditions between cases of low and high risk."""
    low, high = (cases.filter(cases["risk"] == name) for name in ("low", "high"))
    told = 'risk of the top-1 condition by IRN, ties="each"'
    rows = []
    for what, column in (("annotators", "annotators"), ("different conditions", "conditions")):
        numbers = {name: rows[column].to_numpy() for name, rows in (("low", low), ("high", high)) if len(rows)}
        rows += [
            Row(TITLE, f"{what} per case, {name} risk", float(values.mean()), None, told)
            for name, values in numbers.items()
        ]
        if len(numbers) == 2:
            gap = float(numbers["high"].mean() - numbers["low"].mean())
            error = float(np.sqrt(sum(values.var() / len(values) for values in numbers.values())))
            more = column == "conditions"
            claim = (
                AtLeast(2 * error, "clearly yielding more unique conditions")
                if more
                else AtMost(0.0, "less annotators")
            )
            reason = CLEARLY if more else FEWER
            rows.append(Row(TITLE, f"{what} per case, high less low risk", gap, None, told, claim, reason))
    return rows


def risk_rows(conditions: Certainty, by_risk: Certainty, told: str) -> list[Row]:
    """Judge whether risks are more certain than conditions, and whether many remain uncertain."""
    higher = by_risk.mean - conditions.mean
    error = float(np.hypot(by_risk.mean_error, conditions.mean_error))
    uncertain = is_uncertain(conditions.values)
    is_higher = (by_risk.values > conditions.values)[uncertain]
    share = float(is_higher.mean()) if len(is_higher) else float("nan")
    low = _share_row("risk", by_risk, FAR_BELOW, told, AtLeast(MANY, "low for many cases"), REMAINS)
    increases, generally = clearly(HIGHER, error, "clearly increases"), AtLeast(GENERALLY, "generally higher")
    of_these = f"share of the cases with certainty below {CERTAIN} whose risk is more certain than their condition"
    return [
        Row(TITLE, "mean certainty, risk less condition", higher, error, told, increases, ON_AVERAGE, form=".3f"),
        Row(TITLE, of_these, share, None, told, generally, GENERAL, form=".1%"),
        low,
    ]


def expected_risk_rows(risks: pl.DataFrame, told: str) -> list[Row]:
    """Tell how far expected risks are from the levels, and how much they move over draws."""
    mean = risks["mean"].to_numpy()
    distance = np.abs(mean - np.round(mean))
    spread = float((risks["max"] - risks["min"]).to_numpy().mean())
    return [
        Row(TITLE, "expected risk, mean over cases", float(mean.mean()), None, told, None, HISTOGRAM, form=".3f"),
        Row(
            TITLE, "range of expected risk over draws, mean over cases", spread, None, told, None, HISTOGRAM, form=".3f"
        ),
        *(
            Row(
                TITLE,
                f"share of cases whose expected risk is more than {limit} from every level",
                float((distance > limit).mean()),
                None,
                told,
                AtLeast(0.5, "most cases"),
                LEVELS,
                form=".1%",
            )
            for limit in CRISP
        ),
    ]
