"""What only ``make test-all`` tries: some values of a parametrisation, where others stand for them every time."""

from collections.abc import Iterable
from typing import Any

import pytest


def rare(values: Iterable[Any]) -> list[Any]:
    """Mark values, or tuples of several, as slow."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow) for one in values]


def some(values: Iterable[Any], *often: Any) -> list[Any]:
    """Mark all values as slow but for some of them."""
    return [one if one in often else rare([one])[0] for one in values]
