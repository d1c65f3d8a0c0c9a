"""The section on annotators: when it is there, what it shows, and names that are no harm."""

from __future__ import annotations

import numpy as np

import dissensus as ds
from dissensus.report.page import report_html
from dissensus.report.sections.studies import AnnotatorsSection

SCRIPT = "<script>alert(1)</script>"


def evaluated(names: list[str], n_conditions: int = 3) -> ds.Evaluation:
    rng = np.random.default_rng(3)
    truth = rng.integers(n_conditions, size=40)
    skills = np.linspace(0.95, 0.4, len(names))
    said = [[[[int(t if rng.random() < skill else rng.integers(n_conditions))]] for skill in skills] for t in truth]
    study = ds.Annotations.from_rankings(said, n_conditions, annotator_names=names or None)
    return ds.evaluate(study, {}, aggregations=["majority-vote"])


def test_annotators_are_shown_the_most_accurate_first_and_names_are_escaped() -> None:
    page = report_html(evaluated([SCRIPT, "Ben", "Cem", "Dora"]))
    section = page[page.index('id="annotators"') :]
    table = section[section.index("<tbody>") : section.index("</tbody>")]
    assert SCRIPT not in page
    assert table.index("&lt;script&gt;") < table.index("Dora")
    assert table.count("<tr>") == 4
    assert "<td>40</td>" in table


def test_it_is_left_out_where_it_cannot_be_told_who_is_right_or_would_take_long() -> None:
    section = AnnotatorsSection()
    assert section.has(evaluated(["A", "B", "C"]))
    assert not section.has(evaluated(["A", "B"]))
    assert not section.has(evaluated(["A", "B", "C"], n_conditions=200))
    anonymous = ds.evaluate(ds.Annotations.from_counts([[3, 1, 2]] * 3), {}, aggregations=["majority-vote"])
    assert not section.has(anonymous)
    rated = ds.evaluate(
        ds.Ratings.from_scores([[1.0, 2.0, 3.0], [2.0, 1.0]]), {}, aggregations=["normal-inverse-gamma"]
    )
    assert not section.has(rated)
