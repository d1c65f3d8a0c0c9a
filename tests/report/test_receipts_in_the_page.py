"""The page tells, folded away, how the files were understood; whatever names hold is text."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import dissensus as ds
from dissensus.report.page import report_html


def page(folder: Path) -> str:
    opinions, model = folder / "opinions.csv", folder / "A.csv"
    opinions.write_text(
        "case,annotator,label,<script>alert(1)</script>\nc1,Ann,x,arm\nc1,Ann,<b>y</b>,leg\nc2,Bo,x,arm\n",
        encoding="utf-8",
    )
    model.write_text("case,x,<b>y</b>\nc1,0.3,0.7\nc2,0.6,0.4\n", encoding="utf-8")
    said = ds.read_annotations(opinions)
    models = {"A": ds.read_predictions(model, conditions=said.conditions, cases=said.case_names)}
    return report_html(ds.evaluate(said, models, aggregations=["dirichlet"], metrics=["top-k-accuracy:1"], draws=20))


def test_receipts_are_in_the_section_about_the_data(tmp_path: Path) -> None:
    text = page(tmp_path)
    section = text[text.index("How the files were understood") :]
    section = unescape(section[: section.index("</details>")])
    for part in (
        "opinions.csv: read as long (recognised)",
        "A.csv: read as wide (recognised)",
        "case: 'case'",
        "the conditions that an annotator gives on a case are tied",
        "annotator Ann on case c1 said: <b>y</b> and x tied",
        "on case c2: x 0.6, <b>y</b> 0.4",
    ):
        assert part in section
    assert str(tmp_path) not in text


def test_names_in_receipts_are_escaped(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "not used: &#39;&lt;script&gt;alert(1)&lt;/script&gt;&#39;" in text
    assert "<script>alert(1)" not in text
    assert "<b>y</b>" not in text


def test_a_study_from_memory_has_no_receipt_to_show() -> None:
    from dissensus import Annotations

    said = Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"])
    text = report_html(ds.evaluate(said, {}, aggregations=["dirichlet"], draws=20))
    assert "How the files were understood" not in text
