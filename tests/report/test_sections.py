"""Sections: those of installed packages, of annotators, and how files were understood; whatever names hold is text."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.plugins import ReportSection
from dissensus.report.page import report_html
from dissensus.report.section import ReportSubject, sections
from dissensus.report.sections.studies import accuracies
from report.report_studies import SCRIPT


def evaluated(*models: str) -> ds.Evaluation:
    said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    scores = {name: [[0.9, 0.1], [0.4, 0.6]] for name in models}
    return ds.evaluate(said, scores, aggregations=["dirichlet"], metrics=["top-k-accuracy:1"], draws=40)


@pytest.fixture
def funding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A section of somebody else, which is forgotten afterwards."""
    monkeypatch.setattr(ReportSection.family, "_declared", dict(ReportSection.family.known()))

    class Funding(ReportSection):
        id = "funding"
        title = "Who paid for <this>"
        place = 75
        shows = ("study",)
        template = (
            "<p>{{ counted(models | length, 'model') }}: {{ models | join(', ') }} {{ term('draw') }}</p>{{figures}}"
        )

        def has(self, evaluation: ds.Evaluation) -> bool:
            return bool(evaluation.models)

        def words(self, subject: ReportSubject) -> dict[str, Any]:
            return {"models": subject.evaluation.models}

        def data(self, subject: ReportSubject) -> dict[str, Any]:
            return {"funding": {"cases": subject.evaluation.n_cases}}


@pytest.mark.usefixtures("funding")
def test_a_section_of_somebody_else_is_in_the_contents_and_in_the_page_if_it_has_something_to_say() -> None:
    page = report_html(evaluated("A", "<script>alert(1)</script>"))
    contents = page[page.index("<nav") : page.index("</nav>")]
    order = re.findall('href="#([^"]*)"', contents)
    assert order[order.index("funding") + 1] == "methods"
    assert '<a href="#funding">Who paid for &lt;this&gt;</a>' in contents
    section = page[page.index('<section id="funding"') :]
    section = section[: section.index("</section>")]
    assert '<h2 id="funding-title">Who paid for &lt;this&gt;</h2>' in section
    assert '<p>2 models: A, &lt;script&gt;alert(1)&lt;/script&gt; <a class="term"' in section
    assert 'data-figure="study"' in section
    assert '"funding":{"cases":2}' in page
    silent = report_html(evaluated())
    assert "funding" not in silent[: silent.index('id="page-data"')]
    assert all(section.title and section.source().strip() for section in sections())
    assert [section.id for section in sections()] == [
        *("summary", "cases", "models", "certainty", "annotators", "strata", "sensitivity"),
        *("funding", "calibration", "methods", "glossary"),
    ]


# Annotators -----------------------------------------------------------------------------------------------


def annotated_by(names: list[str], n_conditions: int = 3) -> ds.Evaluation:
    rng = np.random.default_rng(3)
    truth = rng.integers(n_conditions, size=40)
    skills = np.linspace(0.95, 0.4, len(names))
    said = [[[[int(t if rng.random() < skill else rng.integers(n_conditions))]] for skill in skills] for t in truth]
    study = ds.Study.from_rankings(said, n_conditions, annotator_names=names or None)
    return ds.evaluate(study, {}, aggregations=["majority-vote"])


def test_annotators_are_shown_the_most_accurate_first_and_names_are_escaped() -> None:
    page = report_html(annotated_by([SCRIPT, "Ben", "Cem", "Dora"]))
    section = page[page.index('id="annotators"') :]
    table = section.split("<tbody>")[2].split("</tbody>")[0]  # after the measures of agreement
    assert SCRIPT not in page
    assert table.index("&lt;script&gt;") < table.index("Dora")
    assert (table.count("<tr>"), "<td>40</td>" in table) == (4, True)
    assert "value, 95 % interval" in section
    assert " was read: " not in page  # this study is from memory


def test_annotators_of_findings_are_shown_by_finding_and_few_cases_are_said() -> None:
    rng = np.random.default_rng(5)
    present = rng.random((30, 2)) < 0.5
    skills = np.array([[0.95, 0.55], [0.9, 0.9], [0.55, 0.95]])  # who is best at one finding is worst at the other
    right = rng.random((30, 3, 2)) < skills
    study = ds.Study.from_matrix(
        np.where(right, present[:, None], ~present[:, None]).astype(int), ["AF", "ST"], annotator_names=["A", "B", "C"]
    )
    section = report_html(ds.evaluate(study, {}, aggregations=["majority-vote"]))
    section = section[section.index('id="annotators"') :]
    table = section.split("<tbody>")[2].split("</tbody>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in table.split("<tr>")[1:]]
    assert [row[0] for row in rows] == ["AF"] * 3 + ["ST"] * 3
    assert (rows[2][1], rows[5][1]) == ("C", "A")
    assert "Nothing is pooled over findings" in section
    few = report_html(ds.evaluate(study.select(slice(15)), {}, aggregations=["majority-vote"]))
    assert "6 of 6 rows rest on fewer than 20 cases" in " ".join(few.split())
    assert "rows rest on fewer" not in section[: section.index("</section>")]


def test_it_is_left_out_where_it_cannot_be_told_who_is_right_or_would_take_long() -> None:
    anonymous, rated = ds.Study.from_counts([[3, 1, 2]] * 3), ds.Study.from_scores([[1.0, 2.0, 3.0], [2.0, 1.0]])
    absent = (
        annotated_by(["A", "B"]),
        annotated_by(["A", "B", "C"], n_conditions=200),
        ds.evaluate(anonymous, {}, aggregations=["majority-vote"]),
        ds.evaluate(rated, {}, aggregations=["normal-inverse-gamma"]),
    )
    assert accuracies(annotated_by(["A", "B", "C"]))
    assert not any(accuracies(one) for one in absent)


# How files were understood --------------------------------------------------------------------------------


def test_receipts_are_in_the_section_about_the_data(tmp_path: Path) -> None:
    opinions, model = tmp_path / "opinions.csv", tmp_path / "A.csv"
    table = "case,annotator,label,<script>alert(1)</script>\nc1,Ann,x,arm\nc1,Ann,<b>y</b>,leg\nc2,Bo,x,arm\n"
    opinions.write_text(table, encoding="utf-8")
    model.write_text("case,x,<b>y</b>\nc1,0.3,0.7\nc2,0.6,0.4\n", encoding="utf-8")
    said = ds.read(opinions)
    models = {"A": ds.read_predictions(model, conditions=said.conditions, cases=said.case_names)}
    result = ds.evaluate(said, models, aggregations=["dirichlet"], metrics=["top-k-accuracy:1"], draws=20)
    text = report_html(result)
    section = text[text.index("How opinions.csv was read") :]
    section = unescape(section[: section.index("</section>")])
    for part in (
        "opinions.csv was read: long (recognised)",
        "A.csv was read: wide (recognised)",
        "case: 'case'",
        "the conditions that an annotator gives on a case are tied",
        "annotator Ann on case c1 said: <b>y</b> and x tied",
        "on case c2: x 0.6, <b>y</b> 0.4",
    ):
        assert part in section
    assert str(tmp_path) not in text
    assert "not used: &#39;&lt;script&gt;alert(1)&lt;/script&gt;&#39;" in text
    assert "<script>alert(1)" not in text
    assert "<b>y</b>" not in text
