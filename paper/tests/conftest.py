"""The same examples on every machine, and no clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("paper", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("paper")
