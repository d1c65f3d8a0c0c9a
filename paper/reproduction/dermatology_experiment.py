"""Dermatology: how certain the differential diagnoses are, what that means for risks, and who annotated what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dissensus.aggregations.base import Aggregation
from dissensus.agreement.peers import annotator_agreement
from dissensus.certainty.categories import expected_risk
from dissensus.certainty.top_sets import Certainty, annotation_certainty, certainty_profile
from dissensus.study.study import Study
from paper.data.dermatology import Dermatology
from paper.reproduction import certainty_claims
from paper.reproduction.certainty_claims import certainty_frame, mean_certainties
from paper.reproduction.dermatology_claims import (
    agreement_rows,
    annotator_rows,
    correlation_rows,
    expected_risk_rows,
    mean_rows,
    risk_rows,
    saturated_rows,
    share_rows,
    study_rows,
)
from paper.reproduction.paper_runs import FAR, MEDIUM, POINTS, SHORT, SWEEP
from paper.reproduction.printed_experiment import MEDIUM_PL, MEDIUM_PRIRN, RACES, SHARED_PRIRN
from paper.reproduction.rows import Row, Section, Settings

if TYPE_CHECKING:
    import polars as pl

    from dissensus.draws import Plausibilities

TITLE = certainty_claims.TITLE
TOPS = (1, 2, 3)


def dermatology_section(data: Dermatology, settings: Settings) -> Section:
    """Measure certainty of conditions and risks, what it correlates with, and the annotators of low and high risk."""
    said, told = data.annotations, f"PL, reliability 3, alpha 1, {settings.draws} draws"
    race = _sampled(MEDIUM_PL, said, settings)
    by_risk = annotation_certainty(race, categories=data.categories)
    by_mass = annotation_certainty(race, categories=data.categories, via="mass")
    profiles = [certainty_profile(race, tops=TOPS), _profile(MEDIUM_PRIRN, said, settings.draws, settings)]
    (conditions, *_), (inverse, *_) = profiles
    shared = annotation_certainty(_sampled(SHARED_PRIRN, said, settings))
    reliable = annotation_certainty(_sampled(RACES[-1], said, settings))
    risks = expected_risk(race, data.categories)
    cases = _case_frame(data, conditions, inverse, by_risk)
    sweep = certainty_frame((one, _profile(one, said, settings.sweep_draws, settings)) for one in SWEEP)
    points = {name: certainty_profile(one.sample(said), tops=TOPS) for name, one in POINTS.items()}
    medium = mean_certainties(certainty_frame(zip(MEDIUM, profiles, strict=True)))
    rows = [
        *study_rows(said),
        *share_rows(conditions, by_risk, by_mass, told),
        *mean_rows(profiles[0], told),
        certainty_claims.lower_row(medium, f"PL 3 and PrIRN 30, {settings.draws} draws"),
        certainty_claims.rise_row(
            mean_certainties(sweep), f"PL 1 to 10, PrIRN 10 to 100; {settings.sweep_draws} draws"
        ),
        *_limit_rows(said, points, settings),
        *correlation_rows(conditions, {"each": inverse, "shared": shared}, settings),
        *agreement_rows(said, conditions, told),
        *saturated_rows(conditions, reliable, settings),
        *annotator_rows(cases),
        *risk_rows(conditions, by_risk, told),
        *expected_risk_rows(risks, told),
    ]
    frames = {
        "dermatology_cases": cases,
        "dermatology_risks": risks,
        "certainty_by_reliability": sweep,
        "certainty_of_points": _point_frame(points),
    }
    return Section(TITLE, tuple(rows), frames)


def _sampled(aggregation: Aggregation, said: Study, settings: Settings) -> Plausibilities:
    return aggregation.sample(said, draws=settings.draws, seed=settings.seed, threads=settings.threads)


def _profile(aggregation: Aggregation, said: Study, draws: int, settings: Settings) -> tuple[Certainty, ...]:
    drawn = aggregation.sample(said, draws=draws, seed=settings.seed, threads=settings.threads)
    return certainty_profile(drawn, tops=TOPS)


def _limit_rows(said: Study, points: Mapping[str, tuple[Certainty, ...]], settings: Settings) -> list[Row]:
    """Judge what certainty tends to, at a reliability that is as good as infinite."""
    far = {
        name: annotation_certainty(
            one.sample(said, draws=settings.sweep_draws, seed=settings.seed, threads=settings.threads)
        )
        for name, one in FAR.items()
    }
    first = {name: profile[0] for name, profile in points.items()}
    return certainty_claims.limit_rows(far, first, f"PL and PrIRN, {settings.sweep_draws} draws")


def _case_frame(data: Dermatology, conditions: Certainty, inverse: Certainty, by_risk: Certainty) -> pl.DataFrame:
    """Return a row per case: its certainties, how its annotators agree, how many they are, and what they name."""
    import polars as pl

    said, point = data.annotations, POINTS["PrIRN"].sample(data.annotations)
    winners = annotation_certainty(point, categories=data.categories).winners
    by_case: dict[str, tuple[tuple[str, ...], object]] = {
        "certainty": (conditions.case_names, conditions.values),
        "inverse_certainty": (inverse.case_names, inverse.values),
        "risk_certainty": (by_risk.case_names, by_risk.values),
        "risk": (point.case_names, [names[0] for names in winners]),
        "agreement": (said.case_names, annotator_agreement(said, ties="each").values),
        "annotators": (said.case_names, said.votes_per_case),
        "conditions": (said.case_names, said.support.sizes),
    }
    frame = pl.DataFrame({"case": conditions.case_names})
    for name, (cases, values) in by_case.items():
        frame = frame.join(pl.DataFrame({"case": cases, name: values}), on="case", how="left", maintain_order="left")
    return frame


def _point_frame(points: Mapping[str, tuple[Certainty, ...]]) -> pl.DataFrame:
    """Return the mean certainty of each point estimate, which is below one where conditions tie."""
    import polars as pl

    ids = {short: name for name, short in SHORT.items()}
    rows = [(ids[name], one.top, one.mean) for name, profile in points.items() for one in profile]
    return pl.DataFrame(rows, schema=["aggregation", "top", "mean"], orient="row")
