"""Predictions of one finding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.predictions.lists import Predictions


def predictions_of_finding(model: Predictions, finding: str, case_names: Sequence[str]) -> Predictions:
    """Return predictions of one finding."""
    p = model.select(list(case_names)).to_scores()[:, model.conditions.index(finding)]
    s = np.column_stack([1 - p, p])
    return Predictions.from_scores(
        s, ["absent", "present"], case_names=[f"{c} / {finding}" for c in case_names], name=model.name
    )
