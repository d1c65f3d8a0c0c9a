"""One hypothesis profile for all tests: the same examples on every machine, and no clock."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dissensus",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dissensus")
