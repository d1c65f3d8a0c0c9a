"""Tables of small evaluations stay what they were, for every aggregation, metric, question and estimand."""

import pytest

from dissensus.plugins import Aggregation, Metric
from golden import evaluations
from rare import some

GOLDEN = evaluations.golden()
LONG = ("files_with_a_panel", "files_of_findings", "rankings_of_sampled_annotators")
"""That pieces are the whole is tried elsewhere every time."""


@pytest.mark.parametrize("name", some(evaluations.CASES, *(name for name in evaluations.CASES if name not in LONG)))
def test_tables_stay_what_they_were(name: str) -> None:
    evaluations.check(name, GOLDEN[name])


def test_all_is_covered() -> None:
    assert set(GOLDEN) == set(evaluations.CASES)
    for family, texts in ((Aggregation.family, evaluations.AGGREGATIONS), (Metric.family, evaluations.METRICS)):
        assert set(family.known()) == {text.partition(":")[0] for text in texts}
