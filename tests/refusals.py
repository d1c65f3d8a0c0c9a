"""What has to be refused."""

from collections.abc import Callable
from typing import Any

import pytest

from dissensus import DissensusError


def refused(problem: str, call: Callable[..., object], /, *given: Any, **how: Any) -> DissensusError:
    """Expect that a call is refused with an error in which a regular expression, if any, is found; return it."""
    with pytest.raises(DissensusError, match=problem or None) as caught:
        call(*given, **how)
    return caught.value
