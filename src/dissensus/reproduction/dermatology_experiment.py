"""Dermatology: how certain the differential diagnoses are, what that means for risks, and who annotated what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.inverse_rank import InverseRank
from dissensus.aggregation.plackett_luce import PlackettLuce
from dissensus.core.aliases import FloatArray
from dissensus.core.thresholds import CERTAIN
from dissensus.datasets.dermatology import Dermatology
from dissensus.datasets.printed_cases import CASES, N_CONDITIONS
from dissensus.evaluation.agreement import annotator_agreement
from dissensus.evaluation.categories import expected_risk
from dissensus.evaluation.certainty import Certainty, annotation_certainty, certainty_profile
from dissensus.reproduction.printed_experiment import MEDIUM_PL, MEDIUM_PRIRN, cases_found
from dissensus.reproduction.rows import AtLeast, AtMost, Claim, Printed, Row, Section, Settings, shaken_error
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    import polars as pl

    from dissensus.draws import Plausibilities

TITLE = "Dermatology"
SHARE, CORRELATION = 0.02, 0.03
"""How far shares and correlations may be from the printed ones."""

FAR_BELOW = 0.9
"""Certainties below this are taken as well below one."""

CRISP = (0.1, 0.2)
"""Expected risks this near to a level are taken as crisp, by a strict and by a generous reading."""

RISE = 0.05
MORE_RELIABLE = PlackettLuce(reliability=10, alpha=1.0, prior="observed")
TOP = 3
RELEASED = "the release has 1947 cases, the paper's test set 1939; the eight cases are not told apart"
FEW = "the paper says that every case has at least three annotators; the release has some with one or two"
READING = "another reading of the category of a draw; it is not the one that gives the printed share"
TIES = "both tie rules of inverse ranks are within the tolerance here"
SORTED = "the paper reads it off curves that are each sorted by themselves; case by case, most certainties still rise"


def dermatology_section(data: Dermatology, settings: Settings) -> Section:
    """Measure certainty of conditions and risks, what it correlates with, and the annotators of low and high risk."""
    said = data.annotations
    race, inverse = _sampled(MEDIUM_PL, said, settings), _sampled(MEDIUM_PRIRN, said, settings)
    profile = certainty_profile(race, tops=range(1, TOP + 1))
    by_risk = annotation_certainty(race, categories=data.categories)
    by_mass = annotation_certainty(race, categories=data.categories, via="mass")
    risks = expected_risk(race, data.categories)
    told = f"PL, reliability 3, alpha 1, {settings.draws} draws"
    rows = [
        *_study_rows(said),
        *_share_rows(profile[0], by_risk, by_mass, told),
        *(_mean_row(one, told) for one in profile),
        _correlation_row(profile[0], annotation_certainty(inverse), settings),
        *_agreement_rows(said, profile[0], told),
        *_saturated_rows(profile[0], annotation_certainty(_sampled(MORE_RELIABLE, said, settings)), settings),
        *_annotator_rows(data),
        *_risk_rows(risks, told),
    ]
    frames = {"dermatology_certainty": _certainty_frame(profile, by_risk), "dermatology_risks": risks}
    return Section(TITLE, tuple(rows), frames)


def _sampled(aggregation: Aggregation, said: Annotations, settings: Settings) -> Plausibilities:
    return aggregation.sample(said, draws=settings.draws, seed=settings.seed, threads=settings.threads)


def _study_rows(said: Annotations) -> list[Row]:
    """Compare the release with what the paper says of its test set."""

    def row(quantity: str, ours: float, claim: Claim, reason: str = "") -> Row:
        return Row(TITLE, quantity, ours, None, "the release", claim, reason, form=",.0f")

    return [
        row("cases", said.n_cases, Printed(1939, 0), RELEASED),
        row("conditions", said.n_conditions, Printed(N_CONDITIONS, 0)),
        row("cases with fewer than three annotators", int((said.votes_per_case < 3).sum()), Printed(0, 0), FEW),
        row("printed cases found in the release", cases_found(said), Printed(len(CASES), 0)),
    ]


def _share_rows(conditions: Certainty, by_risk: Certainty, by_mass: Certainty, told: str) -> list[Row]:
    words = f"the paper says that they are well below 1; that is taken as below {FAR_BELOW}"
    return [
        _share_row("condition", conditions, CERTAIN, told, Printed(0.59, SHARE)),
        _share_row("risk category of the top-1 condition", by_risk, CERTAIN, told, Printed(0.382, SHARE)),
        _share_row("risk category with the most mass", by_mass, CERTAIN, told, None, READING),
        _share_row("condition", conditions, FAR_BELOW, told, AtLeast(0.25, "at least a quarter"), words),
    ]


def _share_row(what: str, certainty: Certainty, limit: float, told: str, claim: Claim | None, reason: str = "") -> Row:
    def share(values: FloatArray) -> float:
        return float((values < limit - 1e-12).mean())

    error = shaken_error(share, certainty.values, certainty.errors)
    quantity = f"share of cases with certainty below {limit} ({what})"
    return Row(TITLE, quantity, share(certainty.values), error, told, claim, reason, form=".1%")


def _mean_row(certainty: Certainty, told: str) -> Row:
    figure = "the paper shows it in a figure, without numbers"
    quantity = f"mean top-{certainty.top} certainty"
    return Row(TITLE, quantity, certainty.mean, certainty.mean_error, told, None, figure, form=".3f")


def _correlation(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def _correlation_row(race: Certainty, inverse: Certainty, settings: Settings) -> Row:
    both = np.concatenate([race.values, inverse.values])
    errors = np.concatenate([race.errors, inverse.errors])
    error = shaken_error(lambda values: _correlation(*np.split(values, 2)), both, errors)
    told = f'PL, reliability 3; PrIRN, reliability 30, ties="each"; {settings.draws} draws'
    ours = _correlation(race.values, inverse.values)
    return Row(TITLE, "correlation of certainty, PL and PrIRN", ours, error, told, Printed(0.9, CORRELATION))


def _agreement_rows(said: Annotations, certainty: Certainty, told: str) -> list[Row]:
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


def _saturated_rows(medium: Certainty, high: Certainty, settings: Settings) -> list[Row]:
    """Count the cases that stay uncertain, by two readings of uncertain: the answer depends on it."""
    near = "this reading counts cases that are so certain already that they hardly can rise by so much"
    return [
        _saturated_row(medium, high, FAR_BELOW, SORTED, settings),
        _saturated_row(medium, high, CERTAIN, near, settings),
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


def _annotator_rows(data: Dermatology) -> list[Row]:
    """Compare annotators and different conditions between cases of low and high risk."""
    said = data.annotations
    point = InverseRank("each").sample(said)
    winners = annotation_certainty(point, categories=data.categories).winners
    risk = dict(zip(point.case_names, (names[0] for names in winners), strict=True))
    labels = np.array([risk.get(name, "") for name in said.case_names])
    told = 'risk of the top-1 condition by IRN, ties="each"'
    rows = []
    for what, numbers, claim in (
        ("annotators per case", said.votes_per_case, AtMost(0.0, "less annotators")),
        ("different conditions per case", said.support.sizes, AtLeast(0.0, "more unique conditions")),
    ):
        means = {name: float(numbers[labels == name].mean()) for name in ("low", "high") if (labels == name).any()}
        rows += [Row(TITLE, f"{what}, {name} risk", mean, None, told) for name, mean in means.items()]
        if len(means) == 2:
            gap = means["high"] - means["low"]
            rows.append(Row(TITLE, f"{what}, high less low risk", gap, None, told, claim))
    return rows


def _risk_rows(risks: pl.DataFrame, told: str) -> list[Row]:
    mean = risks["mean"].to_numpy()
    distance = np.abs(mean - np.round(mean))
    spread = float((risks["max"] - risks["min"]).to_numpy().mean())
    figure = "the paper shows a histogram, without numbers"
    words = "the paper sets no limit, and the answer depends on it"
    return [
        Row(TITLE, "expected risk, mean over cases", float(mean.mean()), None, told, None, figure, form=".3f"),
        Row(TITLE, "range of expected risk over draws, mean over cases", spread, None, told, None, figure, form=".3f"),
        *(
            Row(
                TITLE,
                f"share of cases whose expected risk is more than {limit} from every level",
                float((distance > limit).mean()),
                None,
                told,
                AtLeast(0.5, "most cases"),
                words,
                form=".1%",
            )
            for limit in CRISP
        ),
    ]


def _certainty_frame(profile: tuple[Certainty, ...], by_risk: Certainty) -> pl.DataFrame:
    import polars as pl

    parts = [
        pl.DataFrame({"case": one.case_names, "what": name, "top": one.top, "certainty": one.values})
        for name, one in (*((f"top {one.top}", one) for one in profile), ("risk", by_risk))
    ]
    return pl.concat(parts)
