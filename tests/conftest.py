"""One hypothesis profile for all tests: the same examples on every machine, and no clock.

The other one is for those who want to know whether a test fails, and need no small example: ``make mutants``.
"""

import os

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "dissensus",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("mutants", settings.get_profile("dissensus"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dissensus"))
