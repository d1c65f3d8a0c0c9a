"""Tables of small evaluations stay what they were, for every aggregation, metric, question and estimand."""

import pytest

from dissensus.plugins import Aggregation, Metric
from golden import evaluations

GOLDEN = evaluations.golden()


@pytest.mark.parametrize("name", evaluations.CASES)
def test_tables_stay_what_they_were(name: str) -> None:
    told = evaluations.compared(name, GOLDEN[name])
    assert not told, "\n".join(told)


def test_all_is_covered() -> None:
    assert set(GOLDEN) == set(evaluations.CASES)
    for family, texts in ((Aggregation.family, evaluations.AGGREGATIONS), (Metric.family, evaluations.METRICS)):
        assert set(family.known()) == {text.partition(":")[0] for text in texts}
