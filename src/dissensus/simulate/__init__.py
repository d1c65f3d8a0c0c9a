"""Simulated studies, of which the truth is known."""

from dissensus.simulate.answers import Skill
from dissensus.simulate.answers import simulate_binary as binary
from dissensus.simulate.answers import simulate_checklists as checklists
from dissensus.simulate.answers import simulate_ratings as ratings
from dissensus.simulate.differential_study import NEAR_TIES as NEAR_TIES
from dissensus.simulate.differential_study import Expertise
from dissensus.simulate.differential_study import simulate_study as study

__all__ = ["Expertise", "Skill", "binary", "checklists", "ratings", "study"]
