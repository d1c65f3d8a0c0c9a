"""What the page says and holds, without a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

import dissensus as ds
from dissensus.core.arrays import FloatArray
from dissensus.evaluation import sentences
from dissensus.metrics import TopKAccuracy, UserMetric
from dissensus.report import page as page_module
from dissensus.report.explorer import ALPHABET, BLOCK, csv_link, explored, kept_cases, listed, one_letter_each
from dissensus.report.page import content_policy, report_html, script_json
from dissensus.report.section import ReportSubject, glossary
from dissensus.report.sections import methods
from report.report_studies import SCRIPT, demo_study, nasty_study

TEMPLATES = Path(page_module.__file__).parent / "templates"


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> ds.Evaluation:
    return demo_study(tmp_path_factory.mktemp("demo"), n_cases=30)


@pytest.fixture(scope="module")
def page(evaluation: ds.Evaluation) -> str:
    return report_html(evaluation)


RIGHT, WRONG = [1.0, 0.0], [0.0, 1.0]


# Data inside the page -----------------------------------------------------------------------------------


def test_no_name_ends_the_data_and_the_policy_knows_the_scripts_that_run() -> None:
    names = ["</script>", "<!--", "&amp;", "\u2028\u2029", '"\\', "é"]
    text = script_json(names)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == names
    found = re.findall(r"<script([^>]*)>(.*?)</script>", report_html(nasty_study()), flags=re.DOTALL)
    assert ["application/json" in kind for kind, _ in found] == [True, False]
    running = [text for _, text in found[1:]]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert all(f"'sha256-{mark}'" in content_policy(running) for mark in hashes)
    assert SCRIPT in json.loads(found[0][1])["explorer"]["conditions"]


def test_nothing_points_elsewhere_and_the_script_never_reads_markup(page: str) -> None:
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "http://" not in re.sub(r"http://www.w3.org/(?:2000/svg|1999/xlink)", "", page)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)


def test_draws_take_one_letter_each() -> None:
    values = np.linspace(0, 1, 57)
    letters = one_letter_each(values)
    back = [ALPHABET.index(letter) / (len(ALPHABET) - 1) for letter in letters]
    np.testing.assert_allclose(back, values, atol=0.5 / (len(ALPHABET) - 1) + 1e-12)
    assert not set(ALPHABET) & set('"\\<>&')


# The explorer's cases -----------------------------------------------------------------------------------


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_the_explorer_holds_what_was_said_and_what_follows(evaluation: ds.Evaluation) -> None:
    data = explored(ReportSubject(evaluation, 100))
    names, said, table = data["conditions"], evaluation.study, unpacked(data["table"])
    (block,) = map(unpacked, data["blocks"])
    assert (said.kind, data["block"]) == ("rankings", BLOCK)
    for i, rankings in enumerate(said.to_rankings()):
        told = sorted(unfolded(flat, names) for flat, people, *_ in block["opinions"][i] for _ in people)
        assert told == sorted([sorted(one) for one in ranking] for ranking in rankings)
    label = evaluation.run_label(evaluation.reference)
    wanted = evaluation.certainties().filter(top=1, run=label)
    np.testing.assert_allclose(np.array(table["certainty"]) / 1000, wanted["certainty"], atol=0.0005)
    scores = np.array(table["scores"], dtype=float) / 1000
    np.testing.assert_allclose(scores.ravel(), evaluation.per_case().filter(run=label)["mean"], atol=0.0005)
    assert [names[code] for code in table["winner"]] == [one[0] for one in wanted["winner"].to_list()]
    for m, (model, predicted) in enumerate(evaluation.predictions.items()):
        best = predicted.to_scores().max(axis=1)
        np.testing.assert_allclose(np.array(table["own"][m]) / 1000, best, atol=0.0005)
        firsts = [unfolded(one[m][0], names)[0] for one in block["said"]]
        assert firsts == [blocks[0] for blocks in predicted.to_lists()], model
        is_wrong = [winner[0] not in first for winner, first in zip(wanted["winner"].to_list(), firsts, strict=True)]
        assert [bool(int(one) & 1) for one in table["wrong"][m]] == is_wrong
    settled = wanted["certainty"].to_numpy() >= 0.99
    assert [bool(int(one) & 1) for one in table["rules"]] == settled.tolist()


def test_a_file_of_cases_holds_no_formula_and_one_row_per_case() -> None:
    link = csv_link(["case", "n"], [["=1+1", 2], ["a\r\nb", -1.5], ['say "x", y', 3]])
    text = base64.b64decode(link.partition("base64,")[2]).decode("utf-8-sig")
    assert text.split("\r\n") == ["case,n", "'=1+1,2", "a b,-1.5", '"say ""x"", y",3', ""]


def unfolded(flat: list[int], names: list[str]) -> list[list[str]]:
    """Undo how lists with ties are written."""
    blocks: list[list[str]] = []
    for code in flat:
        if code < 0:
            blocks[-1] = sorted([*blocks[-1], names[-code - 1]])
        else:
            blocks.append([names[code]])
    return blocks


def test_the_most_uncertain_cases_are_kept_in_their_order(evaluation: ds.Evaluation) -> None:
    kept = kept_cases(ReportSubject(evaluation, 7))
    certainty = np.array(unpacked(explored(ReportSubject(evaluation, 100))["table"])["certainty"])
    assert list(kept) == sorted(kept)
    assert certainty[kept].max() <= np.delete(certainty, kept).min()


def test_as_many_conditions_of_a_model_are_listed_as_the_deepest_metric_compares() -> None:
    said = ds.Study.from_counts(np.ones((2, 14), dtype=int), [f"c{k}" for k in range(14)])
    many = {"top-k-accuracy:1": 3, "top-k-accuracy:5": 5, "average-overlap:12": 10}
    for metric, depth in many.items():
        result = ds.evaluate(said, {"A": np.ones((2, 14))}, aggregations=["inverse-rank"], metrics=[metric], draws=1)
        assert listed(result) == depth


# Words --------------------------------------------------------------------------------------------------


def test_models_that_lead_in_different_metrics_are_named_with_them() -> None:
    said = ds.Study.from_rankings([[[["a"], ["b"]]]] * 20, ["a", "b", "c"])
    models = {"first": [[0.6, 0.1, 0.3]] * 20, "sets": [[0.3, 0.6, 0.1]] * 20}
    metrics = ["top-k-accuracy:1", "overlap:2", "overlap:1"]
    result = ds.evaluate(said, models, aggregations=["inverse-rank"], metrics=metrics, draws=20)
    assert "By secondary metrics, others lead: sets in top-2 overlap." in " ".join(
        sentences.other_leaders(result, "first")
    )


def test_a_case_that_is_rough_in_one_run_is_named() -> None:
    said = ds.Study.from_counts([[1, 1], [99, 0]], ["a", "b"], case_names=["open", "closed"])
    result = ds.evaluate(said, {}, aggregations=["dirichlet", "majority-vote"], draws=60)
    assert result.warnings == ()  # it changes no verdict
    warning = sentences.roughness(result)
    assert warning.startswith("Under dirichlet 1, the certainty of 1 case has a Monte Carlo error above 0.03")
    assert "'open'" in warning
    assert warning.replace("'", "&#39;") in report_html(result)


def hits(scores: FloatArray, draws: FloatArray) -> FloatArray:
    return np.asarray(scores.argmax(axis=1)[:, None] == draws.argmax(axis=2), dtype=float)


def test_the_methods_name_what_was_done_and_what_nobody_told_the_tool(evaluation: ds.Evaluation) -> None:
    text = methods.methods_paragraph(evaluation)
    for part in (
        "30 cases",
        "Bayesian Plackett-Luce model",
        "reliabilities 1 and 3",
        "Gamma prior of shape fitted to the first choices of the study on all conditions together",
        "fitted: alpha = ",
        "80 draws per case in 4 chains after 100 warm-up iterations",
        "4 models were evaluated with top-1 accuracy and top-2 set accuracy",
        "95 % intervals",
        "not distinguishable",
    ):
        assert part in text, part
    assert "<" not in text
    items = {item["code"]: item for item in methods.guideline_items(evaluation)}
    assert {"14", "15", "16", "17", "18", "28", "29", "30"} <= set(items)
    for code in ("15", "16", "17"):
        assert not items[code]["is_known"]
        assert "filled in by the authors" in items[code]["answer"]
    assert "Agreement among annotators" in items["18"]["answer"]


def test_statistics_count_all_cases_and_each_category(evaluation: ds.Evaluation) -> None:
    table = methods.fact_table(ReportSubject(evaluation))
    assert table["head"] == ["", "all cases", "low", "medium", "high"]
    counts = {label: cells for label, *cells in table["rows"]}
    assert int(counts["Cases"][0]) == 30 == sum(int(cell) for cell in counts["Cases"][1:])
    assert int(counts["Rankings"][0]) == evaluation.study.panel.n_opinions


def test_metrics_aggregations_and_terms_are_explained(evaluation: ds.Evaluation, page: str) -> None:
    known = {metric.name: metric for metric in evaluation.metrics} | {run.spec.id: run.spec for run in evaluation.runs}
    for name, one in known.items():
        assert f"<dt>{name}</dt><dd>{escape(one.meaning)}</dd>" in page
        assert one.methods in methods.methods_paragraph(evaluation)
    assert set(re.findall('data-term="([^"]*)"', page)) <= set(glossary())
    metric = UserMetric("balanced accuracy", hits, meaning="What the user says it is.")
    own = report_html(ds.evaluate(ds.Study.from_counts([[3, 2]] * 5, ["a", "b"]), {"A": [RIGHT] * 5}, metrics=[metric]))
    assert "<dt>balanced accuracy</dt><dd>What the user says it is.</dd>" in own
    assert TopKAccuracy.meaning not in own


def test_the_page_says_which_version_computed_the_results_and_its_title_is_text(evaluation: ds.Evaluation) -> None:
    older = replace(evaluation, versions={"dissensus": "0.0.7", "numpy": "2.1.0"})
    text = report_html(older, title="A & <i>B</i>")
    assert "computed with Dissensus 0.0.7" in text
    assert "dissensus 0.0.7, numpy 2.1.0" in text
    assert f"page written by Dissensus {version('dissensus')}" in text
    assert "<title>A &amp; &lt;i&gt;B&lt;/i&gt;</title>" in text


# Writing ------------------------------------------------------------------------------------------------
