"""What holds for all predictions: nothing is lost by building, aligning, writing and reading."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_predictions

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from dissensus.core.arrays import FloatArray

LEVELS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.5])
TEXT = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=6)


def names(size: int) -> SearchStrategy[list[str]]:
    usable = TEXT.filter(lambda name: name == name.strip() and not name.isdecimal())
    return st.lists(usable, min_size=size, max_size=size, unique=True)


@st.composite
def matrices(draw: DrawFn, lowest: float = 0.0) -> FloatArray:
    n_cases, n_conditions = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rows = st.lists(LEVELS, min_size=n_conditions, max_size=n_conditions).filter(any)
    matrix = np.array(draw(st.lists(rows, min_size=n_cases, max_size=n_cases)))
    return np.asarray(np.where(matrix == 0.25, lowest, matrix)) if lowest < 0 else matrix


@st.composite
def predictions(draw: DrawFn) -> Predictions:
    matrix = draw(matrices())
    n_cases, n_conditions = matrix.shape
    case_names, conditions = draw(names(n_cases)), draw(names(n_conditions))
    kind = draw(st.sampled_from(["scores", "sparse", "ranking", "set"]))
    if kind == "scores":
        return Predictions.from_scores(matrix, conditions, case_names=case_names)
    if kind == "set":
        return Predictions.from_sets(matrix > 0, conditions, case_names=case_names)
    case, code = np.nonzero(matrix)
    rows = {"case": [case_names[i] for i in case], "condition": [conditions[k] for k in code]}
    values = {"score" if kind == "sparse" else "rank": matrix[case, code]}
    return Predictions.from_long(pl.DataFrame({**rows, **values}), conditions)


@given(matrices(lowest=-1.5))
def test_scores_come_back_from_the_matrix(matrix: FloatArray) -> None:
    assert np.array_equal(Predictions.from_scores(matrix).to_scores(), matrix)


@given(predictions(), st.randoms(use_true_random=False))
def test_aligning_there_and_back_changes_nothing(said: Predictions, random: object) -> None:
    assert hasattr(random, "sample")
    cases = random.sample(said.case_names, said.n_cases)
    conditions = random.sample(said.conditions, said.n_conditions)
    there = said.align(cases, conditions)
    assert there.align(said.case_names, said.conditions) == said
    rows = [said.case_names.index(case) for case in cases]
    columns = [said.conditions.index(condition) for condition in conditions]
    assert np.array_equal(there.to_scores(), said.to_scores()[rows][:, columns])


@given(predictions())
def test_lists_say_what_values_say(said: Predictions) -> None:
    scores = said.to_scores()
    for row, blocks in zip(scores, said.to_lists(), strict=True):
        best = [max(row[said.conditions.index(name)] for name in block) for block in blocks]
        assert best == sorted(set(best), reverse=True)
        if not said.complete:
            assert sum(map(len, blocks)) == np.count_nonzero(row)


@given(predictions().filter(lambda said: said.kind == "ranking"))
def test_rankings_come_back_from_nested_lists(said: Predictions) -> None:
    again = Predictions.from_rankings(said.to_lists(), said.conditions, case_names=said.case_names)
    assert again == said


@settings(deadline=None)
@given(predictions())
def test_a_long_csv_loses_nothing(said: Predictions) -> None:
    values, rows = said.values, said.to_frame().drop("value")
    column = {"ranking": {"rank": -values + values.max(initial=0) + 1}, "set": {}}.get(said.kind, {"score": values})
    frame = rows.with_columns(pl.Series(name, own) for name, own in column.items())
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.csv")
        frame.write_csv(path)
        again = read_predictions(path, conditions=said.conditions, cases=said.case_names, kind=said.kind)
    assert np.array_equal(again.to_scores(), said.to_scores())
    if not said.complete:
        assert again == said


@settings(deadline=None)
@given(matrices())
def test_wide_tables_and_matrices_agree(matrix: FloatArray) -> None:
    columns = {f"k{code}": matrix[:, code] for code in range(matrix.shape[1])}
    cases = [f"c{row}" for row in range(len(matrix))]
    wide = Predictions.from_wide(pl.DataFrame({"case": cases, **columns}))
    assert wide == Predictions.from_scores(matrix, list(columns), case_names=cases)
