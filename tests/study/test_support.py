"""The support of a case: what anybody mentioned."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dissensus import Annotations
from dissensus.study.opinions import support_of
from strategies import studies


@given(studies())
def test_support_is_the_set_of_mentioned_conditions(said: Annotations) -> None:
    support = support_of(said)
    for case, rankings in enumerate(said.to_rankings()):
        mentioned = {name for ranking in rankings for block in ranking for name in block}
        codes = support.codes[support.offsets[case] : support.offsets[case + 1]]
        assert {said.conditions[code] for code in codes} == mentioned
        assert (np.diff(codes) > 0).all()
    assert support.sizes.sum() == len(support.codes)


@given(studies())
def test_local_positions_lead_back_to_the_codes(said: Annotations) -> None:
    support = support_of(said)
    case = said.panel.case_of_opinion[said.ranking_of_mention]
    assert np.array_equal(support.codes[support.offsets[case] + support.local], said.codes)


def test_a_study_without_cases_has_no_support() -> None:
    assert support_of(Annotations.from_rankings([])).offsets.tolist() == [0]
