"""What a model says about one finding of a checklist: absent or present."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.core.aliases import BoolArray, FloatArray
from dissensus.core.errors import DissensusError
from dissensus.core.names import known_name
from dissensus.predictions.lists import Predictions
from dissensus.study.checklists import ANSWERS, PAIR


def predictions_of_finding(model: Predictions, finding: str, case_names: Sequence[str]) -> Predictions:
    """Return what a model says about one finding, for the study that :meth:`Checklists.of_finding` gives.

    Scores from 0 to 1 are probabilities: what is not present is absent. Where a model has any score outside, for
    whichever finding, its scores are taken as they are, and absent has the opposite. A set is a decision: a finding
    outside it is absent.

    Examples
    --------
    >>> model = Predictions.from_scores([[0.9, 0.0], [0.2, 0.7]], ["AF", "ST"], case_names=["x", "y"], findings=True)
    >>> said = predictions_of_finding(model, "AF", ["x", "y"])
    >>> said.case_names, said.conditions, said.to_scores().tolist()
    (('x / AF', 'y / AF'), ('absent', 'present'), [[0.09999999999999998, 0.9], [0.8, 0.2]])
    """
    if model.kind == "ranking":
        raise DissensusError(
            "an order of findings does not say which are present",
            expected="a score per finding, or the set of those that are present",
            where=f"model {model.name!r}",
        )
    scores = _scores_of(model.select(list(case_names)), known_name("finding", finding, model.conditions))
    names = tuple(f"{case}{PAIR}{finding}" for case in case_names)
    if model.kind == "set":
        return _decisions(model.name, names, scores > 0)
    absent = 1 - scores if _are_probabilities(model) else -scores
    return _two_scores(model.name, names, absent, scores)


def _scores_of(model: Predictions, finding: str) -> FloatArray:
    """Return the score of one finding on every case, 0 where it is not listed, shape (n_cases,)."""
    listed = model.codes == model.conditions.index(finding)
    scores = np.zeros(model.n_cases)
    scores[model.case_of_entry[listed]] = model.values[listed]
    return scores


def _are_probabilities(model: Predictions) -> bool:
    return bool(((model.values >= 0) & (model.values <= 1)).all())


def _decisions(name: str, case_names: tuple[str, ...], is_present: BoolArray) -> Predictions:
    n_cases = len(case_names)
    offsets = np.arange(n_cases + 1, dtype=np.int64)
    return Predictions(name, "set", ANSWERS, case_names, offsets, is_present.astype(np.int64), np.ones(n_cases))


def _two_scores(name: str, case_names: tuple[str, ...], absent: FloatArray, present: FloatArray) -> Predictions:
    """List both answers of every case, the better one first."""
    first = (present > absent).astype(np.int64)
    codes = np.column_stack([first, 1 - first])
    values = np.take_along_axis(np.column_stack([absent, present]), codes, axis=1)
    offsets = 2 * np.arange(len(case_names) + 1, dtype=np.int64)
    return Predictions(name, "scores", ANSWERS, case_names, offsets, codes.ravel(), values.ravel(), complete=True)
