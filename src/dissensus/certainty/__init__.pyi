from .categories import expected_risk as expected_risk
from .regions import PlausibilityRegions as PlausibilityRegions
from .regions import plausibility_regions as plausibility_regions
from .top_sets import Certainty as Certainty
from .top_sets import annotation_certainty as annotation_certainty
from .top_sets import certainty_of as certainty_of
from .top_sets import certainty_profile as certainty_profile
from .top_sets import rank_certainty as rank_certainty
from .top_sets import rank_shares as rank_shares

__all__: list[str]
