"""Simulated studies, of which the truth is known."""

from dissensus.simulate.checklist_study import Skill
from dissensus.simulate.checklist_study import simulate_binary as binary
from dissensus.simulate.checklist_study import simulate_checklists as checklists
from dissensus.simulate.differential_study import Expertise
from dissensus.simulate.differential_study import simulate_study as study
from dissensus.simulate.rating_study import simulate_ratings as ratings

__all__ = ["Expertise", "Skill", "binary", "checklists", "ratings", "study"]
