"""Predictions as people hold them in a session: paths, data frames, Series, vectors and mappings by case."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import PredictionOptions, examine_source, read_predictions
from dissensus.study.reading.records import has_role
from dissensus.study.tables import polars_frame

if TYPE_CHECKING:
    from dissensus.core.aliases import FloatArray
    from dissensus.study.study import Study

# What a lone model is called.
ONE = "model"


def given_models(given: Any, study: Study, *, allow_missing: bool = False) -> dict[str, Any]:
    """Return predictions by model: what holds names is matched by them, and arrays stay as they are.

    Parameters
    ----------
    given
        Model name to :class:`Predictions`, a path, a data frame, scores (n_cases, K), or one number or label per case
        as a list, an array, a Series or a mapping by case; what is no mapping is of one model. Nothing is no model.
    study
        Whose cases and conditions they are about; of two answers, a number is the probability of the positive one.
    allow_missing
        Whether files may lack cases.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["no", "yes"], question="binary", case_names=["x", "y"])
    >>> given_models({"A": [0.25, 0.75]}, said)["A"].to_scores()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or (given and all(name in study.case_names for name in given)):
        given = {ONE: given}
    return {str(name): _given(one, study, str(name), allow_missing=allow_missing) for name, one in given.items()}


def _given(given: Any, study: Study, name: str, *, allow_missing: bool) -> Any:
    """Turn what is given into predictions; arrays with a row per case are taken later, with the names of the study."""
    if isinstance(given, Predictions):
        return given
    positive = study.conditions[-1] if study.question == "binary" else None
    findings = study.kind == "checklists"
    names: dict[str, Any] = {"conditions": study.conditions or None, "cases": study.case_names, "findings": findings}
    if isinstance(given, str | PathLike):
        return read_predictions(given, name=name, positive=positive, allow_missing=allow_missing, **names)
    if hasattr(given, "columns") or hasattr(given, "column_names"):  # a data frame
        source = Source(FilePath(name), "parquet", polars_frame(given))
        options = PredictionOptions(name, positive=positive, **names)
        return (
            examine_source(source, options=options, allow_missing=allow_missing).predictions
            if has_case(source)
            else given
        )
    case_names = study.case_names
    if isinstance(given, Mapping) or _index(given):
        by_case = {str(case): value for case, value in (given.items() if isinstance(given, Mapping) else _index(given))}
        case_names, given = tuple(by_case), list(by_case.values())
    try:
        values = np.asarray(given)
    except ValueError as error:
        got = f"{given!r:.60}"
        raise DissensusError(
            "these are not predictions",
            expected="one number or label per case, or scores",
            got=got,
            where=f"model {name!r}",
        ) from error
    if values.ndim != 1 or findings:
        return given
    if values.dtype.kind in "USO":
        labels = [[str(label)] for label in values.tolist()]
        return Predictions.from_rankings(labels, study.conditions, case_names=case_names, name=name)
    if study.kind == "ratings":
        return Predictions.from_numbers(values, case_names=case_names, name=name)
    if positive is None:
        raise DissensusError(
            "one number per case says nothing about several conditions",
            expected=f"scores of all {len(study.conditions)} conditions per case, or the name of one",
            got=f"a vector of {len(values)} numbers",
            where=f"model {name!r}",
            advice="of two answers, say which is positive: ds.read(..., positive=NAME)",
        )
    check_length("prediction", len(values), len(case_names), where=f"model {name!r}")
    return Predictions.from_scores(_both(values), study.conditions, case_names=case_names, name=name)


def has_case(source: Source) -> bool:
    """Tell a table with a column of cases."""
    return has_role(source, "case")


def _index(given: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a Series whose index holds names; nothing where rows are counted."""
    index: Any = getattr(given, "index", None)
    is_named = index is not None and not callable(index) and index.dtype.kind not in "iuf"
    return list(zip(index.tolist(), given.tolist(), strict=True)) if is_named else []


def _both(values: Any) -> FloatArray:
    """Return scores of the negative and the positive answer: probabilities add up to one, others are opposite."""
    positive = np.asarray(values, dtype=np.float64)
    are_probabilities = bool(((positive >= 0) & (positive <= 1)).all())
    return np.column_stack([1 - positive if are_probabilities else -positive, positive])
