"""Which cases to show to one more annotator: those whose answer is expected to settle the conclusion most.

The conclusion is the difference of two models' agreement with annotators, or the metric of one. It is a mean over cases
of g = sum_k u_k theta_k, with the plausibilities theta of a case and the value u_k of the answer k. One more opinion b
on a case reduces the variance of the conclusion by Var(g) - E_b[Var(g | b)] = Var_b(E[g | b]), times the squared weight
of the case: draws are weighted by how likely they make b. Cases on which both models say the same have nothing to give,
however uncertain they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.dirichlet import Dirichlet
from dissensus.core.arrays import FloatArray
from dissensus.core.arrays import Path as AnyPath
from dissensus.core.checks import check_count, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import product
from dissensus.core.screen import Rows
from dissensus.core.spec import one_spec
from dissensus.decisions.judges import values_against
from dissensus.decisions.planning import compared_models
from dissensus.metrics.base import Metric
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from dissensus.predictions.lists import Predictions

# An answer that draws make less likely than this counts as if it had this chance, so that it can be weighed.
LEAST = 1e-6

# By default, this share of the cases is recommended.
SHARE = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Relabel(Rows):
    """Hold which cases to ask about again, the most useful first.

    Attributes
    ----------
    rows
        A row per case: ``rank``, ``case``, ``gain`` (the share of the variance of the conclusion that one more opinion
        is expected to remove), ``opinions`` so far, ``certainty`` that the first condition is first, and
        ``by_certainty``, the rank where the least certain come first.
    about
        The conclusion.
    n
        How many of the cases are recommended.
    """

    rows: tuple[dict[str, Any], ...]
    about: str
    n: int
    notes: tuple[str, ...]

    def words(self) -> list[str]:
        """Say how much the recommended cases are expected to give."""
        gains = np.array([row["gain"] for row in self.rows])
        uncertain = np.array([row["by_certainty"] for row in self.rows]) <= self.n
        told = f"one more opinion on each of {self.n:,} of {len(gains):,} cases is expected to remove"
        return [
            f"cases to ask about again: {self.about}",
            f"{told} {gains[: self.n].sum():.1%} of the variance of the conclusion; the {self.n:,} least certain "
            f"cases {gains[uncertain].sum():.1%}, a random choice {self.n * gains.mean():.1%}",
        ]

    def summary(self) -> pl.DataFrame:
        """Return the recommended cases."""
        return self.to_frame().head(self.n)

    def to_label_studio(self) -> list[dict[str, Any]]:
        """Return the recommended cases as tasks that Label Studio imports.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=30, n_conditions=4, seed=1)
        >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=2)
        >>> [sorted(task["data"]) for task in found.to_label_studio()]
        [['case', 'opinions', 'rank'], ['case', 'opinions', 'rank']]
        """
        return [{"data": {name: row[name] for name in ("case", "rank", "opinions")}} for row in self.rows[: self.n]]

    def write(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write the recommended cases: tasks for Label Studio (.json), or a table for a spreadsheet (.csv).

        Examples
        --------
        >>> import dissensus as ds, tempfile, pathlib
        >>> study = ds.simulate.study(n_cases=30, n_conditions=4, seed=1)
        >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = pathlib.Path(folder) / "again.csv"
        ...     found.write(place)
        ...     len(place.read_text().splitlines())
        3
        """
        import json
        from pathlib import Path

        from dissensus.core.output import written_whole

        place = Path(path)
        if place.suffix.lower() not in (".csv", ".json"):
            raise DissensusError(
                "the list is a table or tasks", expected="a name that ends in .csv or .json", got=str(path)
            )
        with written_whole(place, overwrite=overwrite) as temporary:
            if place.suffix.lower() == ".csv":
                self.summary().write_csv(temporary)
            else:
                Path(temporary).write_text(json.dumps(self.to_label_studio(), indent=2), encoding="utf-8")


@checked
def relabel(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    metric: Metric | str | None = None,
    *,
    models: Sequence[str] | None = None,
    n: int | None = None,
    aggregation: Aggregation | str | None = None,
    draws: int = 1000,
    seed: int = 0,
    allow_missing: bool = False,
) -> Relabel:
    """Rank cases by how much one more opinion is expected to settle the conclusion.

    Parameters
    ----------
    study, predictions
        As in :func:`evaluate`; labels, rankings, grades or findings.
    metric
        What agreement is measured by; by default the first metric of the kind of question.
    models
        Two models whose difference is the conclusion, or one whose metric is; by default all, if they are one or two.
    n
        How many cases are recommended; by default a tenth.
    aggregation
        What plausibilities are drawn by, such as ``"plackett-luce:1"``; by default a Dirichlet posterior of first
        choices whose prior is fitted to all cases.
    draws, seed
        Draws per case.
    allow_missing
        Take the cases that all models have, instead of refusing models that lack some.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60, n_conditions=4, seed=1)
    >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"])
    >>> found.n, found.rows[0]["gain"] >= found.rows[-1]["gain"]
    (6, True)
    """
    check_count(draws=draws)
    check_seed(seed)
    if study.kind != "checklists":
        require_kind(study, "rankings", "asking again")
    asked, own, spec = compared_models(study, predictions, metric, models, allow_missing=allow_missing)
    said = asked.study.counted
    annotated = said.select((said.votes_per_case > 0) & (said.case_weights > 0))
    if not annotated.n_cases:
        raise DissensusError("no case has an opinion", expected="at least one annotated case")
    n = max(round(SHARE * annotated.n_cases), 1) if n is None else n
    check_count(n=n)
    if n > annotated.n_cases:
        raise DissensusError("there are not so many cases", expected=f"at most {annotated.n_cases}", got=str(n))
    drawn_by = one_spec(Aggregation.family, Dirichlet(alpha="fitted") if aggregation is None else aggregation)
    drawn = drawn_by.sample(annotated, draws=draws, seed=seed)  # again for the gains: kept, they grow with cases and K
    means = np.concatenate([batch.dense().mean(axis=1) for batch in drawn])
    answers = every_answer(annotated, means)
    worth = [values_against(spec, one.select(list(annotated.case_names)), answers) for one in own.values()]
    values = (worth[0] - worth[1] if len(worth) == 2 else worth[0]).reshape(means.shape)
    weights = np.square(annotated.case_weights / annotated.case_weights.sum())
    parts, place = [], 0
    for batch in drawn:
        parts.append(np.stack(expected_gains(batch.dense(), values[place : place + batch.n_cases])))
        place += batch.n_cases
    spread, gains, certainty = np.concatenate(parts, axis=1)
    total = float(product(weights, spread))
    shares = weights * gains / total if total > 0 else np.zeros_like(gains)
    order = np.argsort(-shares, kind="stable")
    by_certainty = np.argsort(np.argsort(certainty, kind="stable"), kind="stable") + 1
    rows = [
        {
            "rank": rank,
            "case": annotated.case_names[i],
            "gain": float(shares[i]),
            "opinions": int(annotated.votes_per_case[i]),
            "certainty": float(certainty[i]),
            "by_certainty": int(by_certainty[i]),
        }
        for rank, i in enumerate(order.tolist(), start=1)
    ]
    about = f"{spec.name}, {' minus '.join(own)}"
    left_out = said.n_cases - annotated.n_cases
    notes = (f"{left_out} cases have no opinion yet: they are not ranked",) if left_out else ()
    if total == 0:
        notes = (*notes, "no opinion can change the conclusion: the models say the same")
    return Relabel(tuple(rows), about, n, notes)


def every_answer(said: Study, means: FloatArray) -> Study:
    """Return a study in which every condition of every case is an answer, weighted by its plausibility."""
    n, k = means.shape
    panel = Panel(
        said.case_names, np.arange(0, n * k + 1, k), np.full(n * k, ANONYMOUS), weights=np.maximum(means, LEAST).ravel()
    )
    single = np.arange(n * k + 1)
    return Study(said.conditions, panel, single, single, np.tile(np.arange(k), n), said.unranked, said.question)


def expected_gains(theta: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variance of g, what one more opinion is expected to take off it, and the certainty of each case.

    Parameters
    ----------
    theta : (n_cases, n_draws, K)
        Draws of plausibilities.
    values : (n_cases, K)
        What each answer is worth.

    Examples
    --------
    >>> theta = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> [part.round(3).tolist() for part in expected_gains(theta, np.array([[1.0, -1.0], [1.0, -1.0]]))[:2]]
    [[0.64, 0.0], [0.41, 0.0]]
    """
    g = np.einsum("isk,ik->is", theta, values)
    chances = np.maximum(theta.mean(axis=1), LEAST)
    given = np.einsum("is,isk->ik", g, theta) / theta.shape[1] / chances
    gains = (chances * np.square(given - g.mean(axis=1)[:, None])).sum(axis=1)
    first = theta == theta.max(axis=2, keepdims=True)
    certainty = (first / first.sum(axis=2, keepdims=True)).mean(axis=1).max(axis=1)
    return g.var(axis=1), np.minimum(gains, g.var(axis=1)), certainty
