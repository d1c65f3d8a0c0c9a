"""The paper, number by number: run its experiments, and see what it printed beside what comes out."""

from __future__ import annotations

from paper.reproduction.experiments import Missing, Reproduction, reproduce
from paper.reproduction.rows import AtLeast, AtMost, Between, Printed, Row, Section, Settings

__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "Missing",
    "Printed",
    "Reproduction",
    "Row",
    "Section",
    "Settings",
    "reproduce",
]
