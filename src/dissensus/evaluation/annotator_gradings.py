"""How strict and how steady each annotator is with grades, as the ordered probit model learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation._gradings import Gradings
from dissensus.aggregation.ordered_probit import check_grades
from dissensus.core.aliases import FloatArray
from dissensus.core.arguments import checked
from dissensus.core.checks import check_count, check_seed
from dissensus.core.errors import DissensusError
from dissensus.evaluation.annotator_quality import CHAINS, WARMUP, cases_of, check_level
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations
from dissensus.study.study import require_kind

if TYPE_CHECKING:
    import polars as pl


@checked
def annotator_gradings(
    annotations: Annotations, *, draws: int = 1000, seed: int = 0, level: float = 0.9
) -> pl.DataFrame:
    """Estimate how far each named annotator shifts grades, and how much their grades scatter.

    As :class:`OrderedProbit` learns it. The unit is the standard deviation of the severities of cases. Someone of shift
    0.5 sees every case half a deviation more severe than annotators do on average; someone of spread 1 perceives a case
    with an error as large as cases differ.

    Parameters
    ----------
    annotations
        Grades by annotators who are named; only first blocks count.
    draws, seed
        Of the posterior.
    level
        How much the intervals hold.

    Returns
    -------
    polars.DataFrame
        A row per annotator who said anything: ``annotator``, ``cases``, ``shift`` (the posterior mean), ``shift_low``,
        ``shift_high``, ``spread``, ``spread_low`` and ``spread_high``.

    Examples
    --------
    >>> grades = [[[[0]], [[0]], [[1]]]] * 6 + [[[[1]], [[1]], [[2]]]] * 6
    >>> said = Annotations.from_rankings(grades, 3, annotator_names=["A", "B", "C"], question="grades")
    >>> table = annotator_gradings(said, draws=400)
    >>> table.sort("shift")["annotator"][-1], table["cases"].to_list()
    ('C', [12, 12, 12])
    """
    import polars as pl

    check_level(level)
    check_count(draws=draws)
    check_seed(seed)
    opinions = _named(annotations)
    study = Gradings.of(opinions)
    record = study.run(draws=draws, chains=min(CHAINS, draws), warmup=WARMUP, seed=seed, keeps_cases=False)
    names = {"annotator": [annotations.annotator_names[code] for code in study.annotators]}
    shifts, spreads = _summary("shift", record.shifts, level), _summary("spread", record.spreads, level)
    return pl.DataFrame({**names, "cases": cases_of(opinions, study.annotators), **shifts, **spreads})


def _named(annotations: Annotations) -> Opinions:
    opinions: Opinions = require_kind(annotations, "rankings", "the shift of annotators").opinions
    check_grades(opinions)
    if not (opinions.annotators != ANONYMOUS).any():
        raise DissensusError(
            "annotators have no names, so they cannot be told apart",
            expected="names of annotators",
            advice="give the column that names them: read_annotations(..., columns={'annotator': ...})",
        )
    return opinions


def _summary(name: str, draws: FloatArray, level: float) -> dict[str, FloatArray]:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {name: draws.mean(axis=0), f"{name}_low": low, f"{name}_high": high}
