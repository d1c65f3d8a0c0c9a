"""The section about ranking, decisions and calibration, and words about findings."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

import dissensus as ds
from dissensus.report.page import report_html
from dissensus.report.section import ReportSubject
from dissensus.report.sections.methods import methods_paragraph
from dissensus.report.sections.models import Calibration, expected_positives, finding_tables

METRICS = ["auroc", "sensitivity", "matthews", "positive-likelihood-ratio"]


@cache
def checklists() -> ds.Evaluation:
    rng = np.random.default_rng(7)
    chances = {"AF": 0.4, "ST": 0.3, "rare": 0.0}
    sets = [[{name for name, chance in chances.items() if rng.random() < chance} for _ in range(3)] for _ in range(25)]
    said = ds.Study.from_sets(sets, list(chances))
    models = {name: ds.Predictions.from_scores(rng.random((25, 3)), list(chances)) for name in ("One", "Two")}
    return ds.evaluate(said, models, aggregations=["majority-vote"], metrics=METRICS)


def words_of(page: str) -> str:
    shown = re.sub(r"<svg.*?</svg>", "", page[: page.index('id="page-data"')], flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", shown))


def test_findings_are_counted_as_findings_of_cases() -> None:
    page = words_of(report_html(checklists()))
    assert "3 findings of 25 cases" in page
    assert "75 rows" in page
    assert "75 cases" not in page
    assert "3 findings of 25 cases" in repr(checklists())
    assert "nan" not in page.split()
    text = methods_paragraph(checklists())
    assert all(part in text for part in ("pseudo-value", "3 findings", "100 resamples"))


def test_every_finding_has_a_row_with_its_expected_positives() -> None:
    table, undefined = finding_tables(checklists())[:2]
    assert [row[0] for row in table["rows"]] == ["AF", "ST", "rare"]
    expected = expected_positives(checklists())
    assert expected["rare"] == 0
    assert 0 < expected["AF"] < 25
    known = checklists().by_group("finding").filter(stratum="AF", model="One", metric="AUROC")["mean"][0]
    column = table["head"].index("One")
    assert table["rows"][0][column].startswith(f"{known:.2f} [")
    assert undefined["caption"].startswith("sensitivity at 0.5 by finding")
    assert undefined["rows"][2][column] == "undefined"


def test_remarks_are_said_once_for_all_models() -> None:
    remarks = Calibration().words(ReportSubject(checklists()))["remarks"]
    assert len(remarks) == len(set(remarks)) > 0
    assert any("questions fewer than 5 cases are positive" in remark for remark in remarks)


def test_the_section_is_left_out_without_such_metrics() -> None:
    said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["majority-vote"])
    assert not Calibration().has(result)
    assert Calibration().has(checklists())
