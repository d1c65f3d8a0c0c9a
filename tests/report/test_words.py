"""What the page says and holds, first of all and everywhere, without a browser."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

import dissensus as ds
from dissensus.evaluation import sentences
from dissensus.metrics import TopKAccuracy, UserMetric
from dissensus.report import explorer
from dissensus.report import page as page_module
from dissensus.report.page import content_policy, report_html, script_json
from dissensus.report.section import ReportSubject, glossary
from dissensus.report.sections import methods
from dissensus.report.sections.models import Calibration, expected_positives, finding_tables
from first_studies import KINDS, evaluated
from report.report_studies import SCRIPT, demo_study, nasty_study

TEMPLATES = Path(page_module.__file__).parent / "templates"


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> ds.Evaluation:
    return demo_study(tmp_path_factory.mktemp("demo"), n_cases=30)


@pytest.fixture(scope="module")
def page(evaluation: ds.Evaluation) -> str:
    return report_html(evaluation)


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
    letters = explorer.one_letter_each(values)
    back = [explorer.ALPHABET.index(letter) / (len(explorer.ALPHABET) - 1) for letter in letters]
    np.testing.assert_allclose(back, values, atol=0.5 / (len(explorer.ALPHABET) - 1) + 1e-12)
    assert not set(explorer.ALPHABET) & set('"\\<>&')


# The explorer's cases -----------------------------------------------------------------------------------


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_the_explorer_holds_what_was_said_and_what_follows(evaluation: ds.Evaluation) -> None:
    data = explorer.explored(ReportSubject(evaluation, 100))
    names, said, table = data["conditions"], evaluation.study, unpacked(data["table"])
    (block,) = map(unpacked, data["blocks"])
    assert (said.kind, data["block"]) == ("rankings", explorer.BLOCK)
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
    link = explorer.csv_link(["case", "n"], [["=1+1", 2], ["a\r\nb", -1.5], ['say "x", y', 3]])
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
    kept = explorer.kept_cases(ReportSubject(evaluation, 7))
    certainty = np.array(unpacked(explorer.explored(ReportSubject(evaluation, 100))["table"])["certainty"])
    assert list(kept) == sorted(kept)
    assert certainty[kept].max() <= np.delete(certainty, kept).min()


def test_as_many_conditions_of_a_model_are_listed_as_the_deepest_metric_compares() -> None:
    said = ds.Study.from_counts(np.ones((2, 14), dtype=int), [f"c{k}" for k in range(14)])
    many = {"top-k-accuracy:1": 3, "top-k-accuracy:5": 5, "average-overlap:12": 10}
    for metric, depth in many.items():
        result = ds.evaluate(said, {"A": np.ones((2, 14))}, aggregations=["inverse-rank"], metrics=[metric], draws=1)
        assert explorer.listed(result) == depth


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
    metric = UserMetric("balanced accuracy", lambda _, draws: draws[..., 0], meaning="What the user says it is.")
    own = report_html(
        ds.evaluate(ds.Study.from_counts([[3, 2]] * 5, ["a", "b"]), {"A": [[1.0, 0.0]] * 5}, metrics=[metric])
    )
    assert "<dt>balanced accuracy</dt><dd>What the user says it is.</dd>" in own
    assert TopKAccuracy.meaning not in own


def test_the_page_says_which_version_computed_the_results_and_its_title_is_text(evaluation: ds.Evaluation) -> None:
    older = replace(evaluation, versions={"dissensus": "0.0.7", "numpy": "2.1.0"})
    text = report_html(older, title="A & <i>B</i>")
    assert "computed with Dissensus 0.0.7" in text
    assert "dissensus 0.0.7, numpy 2.1.0" in text
    assert f"page written by Dissensus {version('dissensus')}" in text
    assert "<title>A &amp; &lt;i&gt;B&lt;/i&gt;</title>" in text


# What is seen first ------------------------------------------------------------------------------------------


# What each question is answered by.
ANSWERS = {
    "which model": r"outperforms|(?:N|n)ot distinguishable|No model is distinguishable|same predictions",
    "as good as an annotator": r"minus one \w+[^:]*: [+-]\d|Beside one \w+",
    "how sure": r"\(-?\d[\d.]* to -?\d[\d.]*\)|\(95 % -?\S+ to|margin 0\.1",
    "what to look at": r"settle \d[\d,]* of \d[\d,]* (?:cases|findings of cases) \(mean certainty",
}


def words_of(page: str, *, charts: bool = True) -> str:
    """Return what a page says, without what is only seen when pointed at."""
    hidden = r"<(style|script|title)\b.*?</\1>" if charts else r"<(style|script|title|svg)\b.*?</\1>"
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(hidden, " ", page, flags=re.DOTALL))).split())


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_begins_with_an_answer_to_four_questions(kind: str) -> None:
    page = report_html(evaluated(kind))
    summary = page[page.index('<section id="summary"') :].split('<section id="cases"')[0]
    told = words_of(page[page.index("<h1>") : page.index("</header>")] + summary, charts=False)
    for question, answer in ANSWERS.items():
        assert re.search(answer, told), (question, told)
    assert len(re.findall(r"\S*[^\W\d_]\S*", told)) <= 150  # numbers are no words
    if kind == "ratings":
        assert "condition" not in words_of(page[: page.index('<section id="methods"')])


def test_the_report_of_five_models_has_at_most_2500_words_before_the_appendix() -> None:
    """Everything counts, numbers, charts and what is folded within sections too, but for sections that are folded."""
    study = ds.simulate.study(n_cases=120, seed=1)
    known = {"categories": study.categories, "strata": study.strata, "draws": 60}
    page = report_html(ds.evaluate(study.annotations, study.predictions, **known))  # type: ignore[arg-type]
    parts = re.split(r'(?=<section id=")', page[page.index("<body>") : page.index('<script type="application/json"')])
    told = [part for part in parts if '<details class="fold">' not in part]
    assert len(parts) - len(told) == 3  # sensitivity analyses, methods, glossary
    assert len(words_of(" ".join(told)).split()) <= 2500


# Images ------------------------------------------------------------------------------------------------------


ADDRESS = "https://example.org/3.png"


LOCAL = ("a.png", "pictures/a b.png", "/srv/a.png", "C:\\a.png", "data:image/png;base64,AAAA")
ELSEWHERE = (
    *(
        "http://host/x",
        "HTTPS://host/x",
        "//host/x",
        "\\\\host\\x",
        "/\\host/x",
        "\\/host/x",
        " //host/x",
        "/\t/host/x",
    ),
    *("ht\ntps://host/x", "\x00//host/x", "file://host/x", "file:////host/x", "ftp://host/x", "javascript:alert(1)"),
)


def test_files_are_told_from_whatever_a_browser_would_look_for_elsewhere() -> None:
    for text in LOCAL:
        for around in ("", " ", "\n"):
            assert explorer.is_local(explorer.picture_address(around + text))
            assert explorer.picture_address(around + text) == text
    assert [text for text in ELSEWHERE if explorer.is_local(explorer.picture_address(text))] == []
    for text in ("/.//host/x", "../..//host/x", "a\\\\host", "/..\\/host/x"):  # no path climbs to a host
        assert explorer.is_local(explorer.picture_address(text))
        assert "//" not in explorer.picture_address(text).replace("\\", "/")


@pytest.mark.parametrize("is_asked", [False, True])
def test_nothing_is_loaded_from_a_network_unless_asked_for(is_asked: bool) -> None:
    said = ds.Study.from_counts([[3, 1], [0, 4], [1, 1]], ["a", "b"])
    pictured = ds.evaluate(said, {}, aggregations=["dirichlet"], draws=20, images=["a.png", ADDRESS, ""])
    data = unpacked(explorer.explored(ReportSubject(pictured, remote_images=is_asked))["blocks"][0])
    assert data["images"] == ["a.png", ADDRESS if is_asked else "", ""]
    assert data["withheld"] == ["", "" if is_asked else ADDRESS, ""]
    page = unescape(report_html(pictured, remote_images=is_asked))
    assert ("https:" in content_policy([], remote_images=is_asked)) == is_asked
    assert f"img-src 'self' data: blob: file:{' https: http:' if is_asked else ''};" in page
    assert ("The images of 1 case are loaded from the network when" in page) == is_asked


# Findings and metrics of a whole data set --------------------------------------------------------------------


METRICS = ["auroc", "sensitivity", "matthews", "positive-likelihood-ratio"]


@cache
def checklists() -> ds.Evaluation:
    rng = np.random.default_rng(7)
    chances = {"AF": 0.4, "ST": 0.3, "rare": 0.0}
    sets = [[{name for name, chance in chances.items() if rng.random() < chance} for _ in range(3)] for _ in range(25)]
    said = ds.Study.from_sets(sets, list(chances))
    models = {name: ds.Predictions.from_scores(rng.random((25, 3)), list(chances)) for name in ("One", "Two")}
    return ds.evaluate(said, models, aggregations=["majority-vote"], metrics=METRICS)


def test_findings_are_counted_as_findings_of_cases() -> None:
    whole = report_html(checklists())
    page = words_of(whole[: whole.index('id="page-data"')], charts=False)
    assert "3 findings of 25 cases" in page
    assert "75 rows" in page
    assert "75 cases" not in page
    assert "3 findings of 25 cases" in repr(checklists())
    assert "nan" not in page.split()
    text = methods.methods_paragraph(checklists())
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


def test_remarks_are_said_once_for_all_models_and_the_section_is_left_out_without_such_metrics() -> None:
    remarks = Calibration().words(ReportSubject(checklists()))["remarks"]
    assert len(remarks) == len(set(remarks)) > 0
    assert any("questions fewer than 5 cases are positive" in remark for remark in remarks)
    said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["majority-vote"])
    assert not Calibration().has(result)
    assert Calibration().has(checklists())
