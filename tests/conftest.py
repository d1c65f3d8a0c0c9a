"""Profiles of hypothesis: the same examples on every machine, and no clock; and files to be read.

``make test-all`` tries more examples than ``make test``, and so does ``make mutants``, which needs no small ones.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from format_examples import written

quiet = settings(derandomize=True, deadline=None, max_examples=20, database=None)
settings.register_profile("dissensus", quiet, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("dissensus"), max_examples=60)
settings.register_profile("mutants", settings.get_profile("thorough"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dissensus"))


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a content into a new file, see :func:`written`, and returns its path."""
    return lambda content, name="opinions.csv": written(tmp_path / name, content)
