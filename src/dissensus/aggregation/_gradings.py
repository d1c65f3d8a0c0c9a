"""Lay out who gave which grade for the chains of the ordered probit model, and run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation._confusions import check_kept, first_votes
from dissensus.aggregation.base import REST_STREAM
from dissensus.core.aliases import IntArray
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.kernels.ordered_probit import Given, Record

CHAIN_KEY = np.array([0x4F72646572656450], dtype=np.uint64)
"""Stands where other aggregations have the key of a case: the chains belong to the study."""


@dataclass(frozen=True, eq=False)
class Gradings:
    """Hold what chains over a whole study need.

    Attributes
    ----------
    given
        Which grades were given, as kernels take it; cases in the order of their keys, so that their order in the study
        makes no difference.
    n_grades
        Number of grades, K.
    annotators : (n_annotators,)
        Codes of those who are named and said something.
    """

    given: Given
    n_grades: int
    annotators: IntArray

    @staticmethod
    def of(opinions: Opinions) -> Gradings:
        """Lay out what was said, cases in the order of their keys."""
        from dissensus.kernels.ordered_probit import Given

        n_grades = len(opinions.conditions)
        case, annotator, grade, power = first_votes(opinions.take(np.argsort(opinions.keys, kind="stable")))
        people = np.unique(annotator[annotator != ANONYMOUS])
        who = np.where(annotator == ANONYMOUS, len(people), np.searchsorted(people, annotator))
        by_annotator, by_grade = np.argsort(who, kind="stable"), np.argsort(grade, kind="stable")
        given = Given(
            case_offsets=np.searchsorted(case, np.arange(opinions.n_cases + 1)),
            cases=case,
            annotators=who,
            grades=grade,
            powers=power,
            by_annotator=by_annotator,
            annotator_offsets=np.searchsorted(who[by_annotator], np.arange(len(people) + 2)),
            by_grade=by_grade,
            grade_offsets=np.searchsorted(grade[by_grade], np.arange(n_grades + 1)),
        )
        return Gradings(given, n_grades, people)

    @property
    def n_cases(self) -> int:
        """Number of annotated cases."""
        return len(self.given.case_offsets) - 1

    def run(
        self, *, draws: int, chains: int, warmup: int, seed: int, reliability: float = 1.0, keeps_cases: bool = True
    ) -> Record:
        """Run the chains one after the other; the first have a draw more where draws do not divide evenly."""
        from dissensus.kernels.ordered_probit import run_chain
        from dissensus.kernels.randomness import stream_keys

        record = self._record(draws, keeps_cases)
        keys = stream_keys(np.uint64(seed), CHAIN_KEY, 1 + chains)[0, REST_STREAM + 1 :]
        length, longer = divmod(draws, chains)
        first = 0
        for chain, key in enumerate(keys):
            rows = first, first + length + (chain < longer)
            run_chain(self.given, record, key=key, warmup=warmup, rows=rows, reliability=reliability)
            first = rows[1]
        return record

    def _record(self, draws: int, keeps_cases: bool) -> Record:
        from dissensus.kernels.ordered_probit import Record

        n_values = draws * self.n_cases * (self.n_grades + 1) if keeps_cases else 0
        check_kept(n_values, draws)
        n_people = len(self.annotators)
        return Record(
            values=np.empty(n_values),
            shifts=np.empty((draws, n_people)),
            spreads=np.empty((draws, n_people)),
            limits=np.empty((draws, self.n_grades - 1)),
            pooled=np.empty((draws, 3)),
        )
