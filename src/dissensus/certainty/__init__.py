"""Certainty: how far the annotations of a case settle its answer."""

from dissensus.certainty.categories import expected_risk
from dissensus.certainty.regions import PlausibilityRegions, plausibility_regions
from dissensus.certainty.top_sets import (
    Certainty,
    annotation_certainty,
    certainty_of,
    certainty_profile,
    rank_certainty,
    rank_shares,
)

__all__ = [
    "Certainty",
    "PlausibilityRegions",
    "annotation_certainty",
    "certainty_of",
    "certainty_profile",
    "expected_risk",
    "plausibility_regions",
    "rank_certainty",
    "rank_shares",
]
