"""When a case counts as certain: one rule for tables, figures and sentences."""

from __future__ import annotations

from typing import Any

# Cases below this certainty count as uncertain.
CERTAIN = 0.99

# Sums that differ by no more than this are equal: they are rounded.
NEAR = 1e-12

# Monte Carlo errors of certainties above this deserve a warning.
ROUGH = 0.03


def is_uncertain(certainties: Any, threshold: float = CERTAIN) -> Any:
    """Tell which certainties, in an array or a column, are below the threshold.

    >>> import numpy as np
    >>> is_uncertain(np.array([0.5, 0.99, 1.0]))
    array([ True, False, False])
    """
    return certainties < threshold - NEAR
