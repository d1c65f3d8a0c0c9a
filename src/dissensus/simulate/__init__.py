"""Simulated studies, of which the truth is known, and three cases that [stutz] prints."""

from __future__ import annotations

from dissensus.simulate.checklist_study import Skill, simulate_binary, simulate_checklists
from dissensus.simulate.differential_study import Expertise, simulate_study
from dissensus.simulate.rating_study import simulate_ratings

__all__ = ["Expertise", "Skill", "simulate_binary", "simulate_checklists", "simulate_ratings", "simulate_study"]
