"""Panel, agreement and adjusted side by side: what is said about which, and why there is no panel."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

import dissensus as ds
from dissensus.evaluation import sentences
from dissensus.evaluation.sentences import side_by_side, with_truth
from dissensus.report.page import report_html
from dissensus.report.sections.methods import methods_paragraph
from refusals import refused

STUDY = ds.simulate.study(n_cases=120, n_conditions=12, seed=3)
NAMES = {"Aster": "<b>Aster</b> & co"}
MODELS = {NAMES.get(name, name): said for name, said in list(STUDY.predictions.items())[:3]}
RUNS = ["plackett-luce:1,3", "probabilistic-inverse-rank:10,30"]
METRICS = ["top-k-accuracy:1", "set-accuracy:2", "brier-score"]


def evaluated(
    *, panel: bool | None = None, aggregations: Sequence[str] = RUNS, study: ds.Study = STUDY.annotations
) -> ds.Evaluation:
    models = {name: said.select(list(study.case_names)) for name, said in MODELS.items()}
    return ds.evaluate(study, models, aggregations=aggregations, metrics=METRICS, draws=60, panel=panel)


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return evaluated()


@pytest.fixture(scope="module")
def without() -> ds.Evaluation:
    return evaluated(panel=False)


DRAWN = ("with one annotator", "uncertainty-adjusted")

# Words ------------------------------------------------------------------------------------------------


def test_without_a_panel_estimate_nothing_is_said_about_one_but_the_reason(
    result: ds.Evaluation, without: ds.Evaluation
) -> None:
    assert without.panel is None
    assert sentences.no_panel(without) == ["What a large panel would say is not estimated: it was not asked for."]
    nobody = ds.evaluate(STUDY.annotations, {}, aggregations=["dirichlet:1"], draws=20)
    assert sentences.no_panel(result) == sentences.no_panel(nobody) == []


def test_a_panel_that_cannot_be_estimated_is_refused_with_the_reason() -> None:
    study = STUDY.annotations.select(list(STUDY.annotations.case_names[:30]))
    refused("30 annotated cases, and at least 100", evaluated, panel=True, study=study)
    ratings = ds.Study.from_scores([[1.0, 2.0]] * 3)
    refused("no predictions", ds.evaluate, ratings, {}, aggregations=["normal-inverse-gamma:thresholds=0"], panel=True)


def test_the_leader_and_the_verdict_are_those_of_agreement(result: ds.Evaluation) -> None:
    rows = result.to_frame().filter(estimand="agreement", metric=result.primary).sort("mean", descending=True)
    pairs = sentences.duels(sentences.deciding(result))
    assert {one.estimand for one in pairs.values()} == {"agreement"}
    assert {one.first for one in pairs.values()} == {rows["model"][0]}
    assert list(pairs) == rows["model"].to_list()[1:]
    assert sentences.ranked(result) == rows["model"].to_list()


def test_sweeps_over_reliability_and_certainty_leave_panel_out(result: ds.Evaluation, without: ds.Evaluation) -> None:
    assert sentences.settled(result) == sentences.settled(without)
    assert sentences.settled_shares(result) == sentences.settled_shares(without)
    assert result.adjusted_runs == without.adjusted_runs == (0, 1, 2, 3)
    for name in ("certainty", "share_below"):
        found, plain = (one.plot.chart(name) for one in (result, without))
        assert [pane.title for pane in found.panels] == [pane.title for pane in plain.panels]
        assert found.names() == plain.names()


def test_the_share_of_the_fit_is_part_of_the_variance(result: ds.Evaluation) -> None:
    row = {"case_sd": 0.03, "annotator_sd": 0.02, "draw_sd": 0.01, "fit_sd": 0.02, "family_sd": 0.0}
    (said,) = sentences.shares(result, row)
    assert said.replace("\N{NO-BREAK SPACE}", " ") == (
        "Sources of uncertainty: cases 50 %, annotators 22 %, draws 6 %, prior 22 %."
    )
    first, second = sentences.shares(result, {**row, "annotator_sd": 0.0})
    assert "prior 29" in first
    assert second == "There is no detectable variation between annotators."
    adjusted = side_by_side(result, result.to_frame())[0].adjusted
    assert adjusted is not None
    assert all("prior" not in one for one in sentences.shares(result, adjusted))


def test_the_truth_is_drawn_where_it_is_known(result: ds.Evaluation, without: ds.Evaluation) -> None:
    known = with_truth(result, STUDY.truth)
    one = side_by_side(known, known.to_frame())[0]
    assert one.panel is not None
    assert one.truth is not None
    assert known.to_frame().equals(result.to_frame())
    assert known.plot.chart("estimands").names() == (*DRAWN, "large panel (estimate)", "majority vote", "truth")
    assert without.plot.chart("estimands").names() == (*DRAWN, "majority vote")
    assert DRAWN[0] not in result.plot.chart("estimands", metric="Brier score").names()


def test_a_model_that_repeats_an_annotator_is_told_and_its_name_is_shown_as_text() -> None:
    rng = np.random.default_rng(1)
    codes = rng.choice(4, size=(120, 4), p=[0.5, 0.2, 0.2, 0.1])
    rankings = [[[["abcd"[code]]] for code in row] for row in codes]
    said = ds.Study.from_rankings(rankings, list("abcd"), annotator_names=[["Dr <i>", "Dr B", "Dr C", "Dr D"]] * 120)
    copy = ds.Predictions.from_scores(np.eye(4)[codes[:, 0]], list("abcd"), case_names=said.case_names)
    other = ds.Predictions.from_scores(rng.random((120, 4)), list("abcd"), case_names=said.case_names)
    models = {"<script>": copy, "other": other}
    with pytest.warns(ds.DissensusWarning, match="does not inform the prior"):
        found = ds.evaluate(said, models, aggregations=["plackett-luce:1"], draws=20, annotators="fixed")
    assert any("'<script>' does not inform the prior: it " in warning for warning in found.warnings)
    page = report_html(found)
    assert re.search("left out: it says what annotator .*Dr &lt;i&gt;|left out: it agrees with", page)
    assert "Dr <i>" not in page.split("<script", 1)[0]
    assert "<script>" not in found._repr_html_()


# Tables -----------------------------------------------------------------------------------------------


def test_merged_evaluations_say_why_they_have_no_panel(result: ds.Evaluation) -> None:
    names = list(STUDY.annotations.case_names)
    study = STUDY.annotations.select(names[:20]), STUDY.annotations.select(names[20:40])
    one, other = (evaluated(study=part, aggregations=["dirichlet:1:alpha=1"]) for part in study)
    assert "is not estimated: evaluations of parts of the cases were merged." in sentences.no_panel(one.merge(other))[0]
    refused("panel=False", result.merge, result)


# Report -----------------------------------------------------------------------------------------------


def test_report_and_methods_tell_how_the_prior_was_fitted(result: ds.Evaluation, without: ds.Evaluation) -> None:
    page, absent = report_html(result), report_html(without)
    for part in ("Is this circular?", "dissensus calibrate", "&lt;b&gt;Aster&lt;/b&gt; &amp; co"):
        assert part in page
    assert "<b>Aster" not in page
    assert "Is this circular?" not in absent
    assert "it was not asked for" in absent
    text, plain = methods_paragraph(result), methods_paragraph(without)
    for part in ("by three estimands", "maximise the Dirichlet-multinomial likelihood", "40 resamples of the cases"):
        assert part in text
    assert re.search(r"weighs median [\d.,]+ votes? \(IQR ", text)
    assert "informed" not in plain
    assert "by two estimands" in plain
