"""The first screen, when the panel is withheld, and cases that need a look."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

import dissensus as ds
from dissensus.aggregations.priors import ScoreRange
from dissensus.evaluation import sentences
from dissensus.evaluation.first_screen import (
    MISSED,
    RULES,
    SPLIT,
    UNSETTLED,
    WRONG,
    first_screen,
    n_groups,
    triage,
    why_panel_is_withheld,
)
from first_studies import KINDS, evaluated


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_short_and_answers_what_people_ask(kind: str) -> None:
    result = evaluated(kind)
    screen, text = first_screen(result), repr(result)
    assert text == str(screen)
    assert len(text.splitlines()) <= 24
    assert len(re.findall(r"[A-Za-z]{2,}", text)) <= 150
    assert result.metrics[0].name in text
    called = "radiologist" if kind == "binary" else "annotator"
    assert any(f"one {called}" in sentence for sentence in screen.decisions)  # as good as one of them?
    assert any(model in screen.decisions[0] for model in result.models)  # which model?
    assert "cases (mean certainty" in text.replace("\n  ", " ") or kind == "ratings"
    assert "[" in text  # how sure?
    html = result._repr_html_()
    assert all(str(escape(sentence)) in html for sentence in screen.decisions)


def test_the_best_of_ten_outperforms_and_equal_models_are_a_dead_heat() -> None:
    assert "best outperforms" in first_screen(evaluated("ten models")).decisions[0]
    heat = first_screen(evaluated("dead heat")).decisions[0]
    assert "outperforms" not in heat
    assert "best" not in heat


def test_the_smaller_error_leads_and_usual_practice_agrees() -> None:
    errors = evaluated("ratings")
    assert errors.metrics[0].id == "mean-absolute-error"
    assert sentences.ranked(errors) == ["A", "B"]  # B is A with noise
    assert not [said for said in sentences.decision(errors) if "reverse" in said]


def test_a_margin_gives_verdicts_and_without_one_none_is_said() -> None:
    binary = first_screen(evaluated("binary")).decisions
    assert any("margin 0.1" in sentence for sentence in binary)
    plain = first_screen(evaluated("conditions")).decisions
    assert any("--margin" in sentence for sentence in plain)
    assert not any(word in " ".join(plain) for word in ("as good as", "non-inferior"))
    known = ds.simulate.study(n_cases=20, n_conditions=4)
    with pytest.raises(ds.DissensusError, match="margin is outside of the range"):
        ds.evaluate(known.annotations, known.predictions, margin=2.0, aggregations=["majority-vote"])


def test_what_the_table_says_is_what_experts_say() -> None:
    result = evaluated("conditions")
    assert result.experts is not None
    alone = ds.experts(result.study, result.predictions, result.metrics, level=result.level)
    for own, row in zip(result.experts.rows, alone.rows, strict=True):
        assert own["agreement"] == pytest.approx(row["agreement"])
        assert own["difference_low"] == pytest.approx(row["difference_low"])
    screen = first_screen(result)
    first = result.experts.rows[0]
    assert screen.table["with one annotator"][0].startswith(f"{first['experts']:.2f} [")


def test_too_few_opinions_are_said_and_names_cannot_break_a_line() -> None:
    said = ds.Study.from_rankings([[[["a"]]]] * 30, ["a", "b"])
    result = ds.evaluate(said, {"A\n<b>": [[0.9, 0.1]] * 30}, aggregations=["majority-vote"])
    assert result.experts is not None
    assert result.experts.rows == ()
    assert "No comparison with one annotator: too few cases" in repr(result).replace("\n  ", " ")
    assert "A\\n<b>" in repr(result)
    assert "A\n&lt;b&gt;" in result._repr_html_()


LABELS = ("a", "b", "c")
LABELS_ONLY = "all models give labels without scores"
UNFITTED = "the interval lacks the uncertainty of the fitted prior"


def noisy(n_cases: int = 400, votes: int = 3, *, hard: Sequence[str] = (), **how: Any) -> ds.Evaluation:
    """Evaluate two models that see plausibilities through noise, some of which give labels only."""
    rng = np.random.default_rng(7)
    theta = rng.dirichlet(np.full(3, 0.4), size=n_cases)
    said = ds.Study.from_counts([rng.multinomial(votes, row) for row in theta], LABELS)
    scores = {
        name: theta * np.exp(noise * rng.standard_normal(theta.shape)) for name, noise in {"A": 0.3, "B": 1}.items()
    }
    scores |= {name: np.eye(3)[scores[name].argmax(axis=1)] for name in hard}
    given = {"aggregations": ["majority-vote"], "metrics": ["top-k-accuracy:1"], "draws": 50, **how}
    return ds.evaluate(said, scores, **given)


@pytest.fixture(scope="module")
def usual() -> ds.Evaluation:
    return noisy(strata={"site": ["north"] * 320 + ["south"] * 80})


def test_what_withholds_it_is_said_of_all_cases_and_of_a_stratum(usual: ds.Evaluation) -> None:
    few, prior = noisy(n_cases=60), usual.prior
    assert usual.panel is not None
    assert prior is not None
    assert few.prior is not None
    lacking = usual.sums.only(lambda name: name[0] != "fit")
    rows = ({**prior.models[0], "left_out": "it repeats an annotator"}, *prior.models[1:])
    for result, reasons in (
        (usual, ()),
        (few, (few.prior.reason,)),
        (noisy(panel=False), ("it was not asked for",)),
        (replace(usual, prior=None), ("there is no panel estimate",)),
        (replace(usual, prior=replace(prior, models=rows)), ("these annotations were seen by 'A'",)),
        (replace(usual, sums=lacking), (UNFITTED,)),
        (noisy(votes=12), ("there are 12 opinions per case, and the majority vote is simpler",)),
        (noisy(votes=9), ()),
    ):
        assert why_panel_is_withheld(result) == reasons
    assert why_panel_is_withheld(usual, ("site", "south"))[0] == "there are 80 cases in the stratum"
    assert why_panel_is_withheld(usual, ("site", "north")) == ()


def test_in_a_stratum_the_interval_has_the_parts_of_fit_and_family() -> None:
    result = noisy(150, metrics=["top-k-accuracy:1", "cohen-kappa"], strata={"site": ["north"] * 110 + ["south"] * 40})
    rows = result.by_group("site").filter(estimand="panel")
    for part in ("fit_sd", "family_sd"):
        assert not rows[part].is_nan().any()
    # all cases in one stratum have the parts of all cases
    alone = noisy(150, metrics=["top-k-accuracy:1", "cohen-kappa"], strata={"site": ["north"] * 150})
    one, all_of_them = alone.by_group("site"), alone.to_frame()
    for part in ("fit_sd", "family_sd"):
        own, other = (table.filter(estimand="panel")[part].to_numpy() for table in (one, all_of_them))
        assert own == pytest.approx(other, abs=0.004)


def test_the_interval_is_that_of_the_cases_that_are_shown_and_told_in_points(usual: ds.Evaluation) -> None:
    for sure, stratum in ((replace(usual, level=0.999), ("site", "south")), (noisy(n_cases=120, level=0.9999), None)):
        table = sure.by_group("site").filter(stratum="south") if stratum else sure.to_frame()
        table = table.filter(estimand="panel")
        width = 100 * float((table["high"] - table["low"]).to_numpy().max())
        assert width > 15
        assert f"the interval is {width:.0f} points wide" in why_panel_is_withheld(sure, stratum)


@pytest.mark.parametrize(("hard", "reasons"), [("AB", {LABELS_ONLY}), ("A", set()), ("B", set())])
def test_labels_are_told_from_scores_also_once_they_are_loaded(hard: str, reasons: set[str], tmp_path: Path) -> None:
    found = noisy(hard=hard)
    assert set(why_panel_is_withheld(found)) == reasons
    found.save(tmp_path / "results")
    assert why_panel_is_withheld(ds.load(tmp_path / "results")) == why_panel_is_withheld(found)


@pytest.mark.parametrize(
    ("said", "is_label"),
    [
        (ds.Predictions.from_scores([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), True),
        (ds.Predictions.from_scores([[0.0, 1.0], [0.9, 0.1]], ["a", "b"]), False),
        (ds.Predictions.from_rankings([["a"], ["b"]]), True),
        (ds.Predictions.from_rankings([["a", "b"], ["b"]]), False),
        (ds.Predictions.from_sets([["a"], []], ["a", "b"]), True),
    ],
)
def test_a_model_that_says_one_thing_of_every_case_gives_labels(said: ds.Predictions, is_label: bool) -> None:
    assert ScoreRange.of(said).is_label == is_label
    parts = [ScoreRange.of(said.select([place])) for place in range(2)]
    assert (ScoreRange(None) + parts[0] + parts[1]).is_label == is_label


def hospitals(cases: Sequence[int], *, linking: int = 0) -> ds.Evaluation:
    """Let every hospital read so many cases, and one annotator of the first some cases of the second."""
    who = [[f"hospital {place}, {name}" for name in ("Ada", "Bo")] for place, n in enumerate(cases) for _ in range(n)]
    for place in range(linking):
        who[cases[0] + place] = [who[0][0], who[cases[0] + place][1]]
    said = [[[["a"]], [["b"]]] for _ in who]
    return ds.evaluate(ds.Study.from_rankings(said, LABELS, annotator_names=who), {}, aggregations=["majority-vote"])


def test_annotators_who_share_no_case_are_counted_as_groups() -> None:
    assert n_groups(hospitals([10, 10, 10])) == 3
    assert n_groups(hospitals([10, 10], linking=1)) == 1
    assert n_groups(hospitals([95, 5])) == 1, "nearly all cases are those of one group"
    assert n_groups(hospitals([85, 15])) == 2
    assert n_groups(noisy(n_cases=20)) == 1, "nobody is named"
    who = [["Ada", "Bo"]] * 5 + [["Cy", "Di", "Ada"]] * 5  # abstentions join nobody
    said = ds.Study.from_rankings([[[["a"]], [["b"]]]] * 5 + [[[["a"]], [["b"]], []]] * 5, LABELS, annotator_names=who)
    assert n_groups(ds.evaluate(said, {}, aggregations=["majority-vote"])) == 2


def tied(n_cases: int = 60) -> ds.Evaluation:
    study = ds.simulate.study(n_cases=n_cases, n_conditions=6, seed=8)
    risks = ds.Categories.from_labels(["low", "medium", "high"] * 2, study.annotations.conditions)
    rng = np.random.default_rng(1)
    lists = [[[*rng.permutation(6)[: rng.integers(1, 3)].tolist()]] for _ in range(n_cases)]  # one block: ties
    tied = ds.Predictions.from_rankings(lists, study.annotations.conditions, case_names=study.annotations.case_names)
    models = {"Aster": study.predictions["Aster"], "tied": tied}
    return ds.evaluate(
        study.annotations, models, aggregations=["dirichlet:30"], draws=100, categories=risks, annotators="fixed"
    )


def test_rules_are_those_of_a_reader_who_goes_case_by_case() -> None:
    result = tied()
    found = triage(result)
    certain = result.certainties().filter(top=1)
    category = dict(result.category_certainties().select("case", "category").iter_rows())
    risk_of = dict(zip(result.conditions, np.array(result.categories.names)[result.categories.codes], strict=True))  # type: ignore[union-attr]
    firsts = {name: [set(blocks[0]) for blocks in said.to_lists()] for name, said in result.predictions.items()}
    expected: dict[tuple[str, int], list[int]] = {(rule, m): [] for rule in RULES for m in range(2)}
    for i, (case, certainty, winner) in enumerate(certain.select("case", "certainty", "winner").iter_rows()):
        for m, name in enumerate(result.models):
            first = firsts[name][i]
            if certainty >= 0.99 and winner[0] not in first:
                expected[WRONG, m].append(i)
            if category[case] == "high" and not any(risk_of[one] == "high" for one in first):
                expected[MISSED, m].append(i)
            if firsts["Aster"][i] != firsts["tied"][i]:
                expected[SPLIT, m].append(i)
            if certainty < 0.99:
                expected[UNSETTLED, m].append(i)
    assert all(expected[rule, 1] for rule in RULES)
    for (rule, m), cases in expected.items():
        assert found.of_rule(rule, m).tolist() == cases, (rule, m)
        both = sorted({*expected[rule, 0], *expected[rule, 1]})
        assert found.of_rule(rule).tolist() == both
    agreed = sorted({*expected[WRONG, 1]} & {*expected[MISSED, 1]})
    assert found.agreed_and_missed(1).tolist() == agreed


def test_numbers_are_wrong_in_another_interval_and_no_model_is_never_wrong() -> None:
    said = ds.Study.from_scores([[1.0, 1.1, 1.2]] * 3, case_names=["a", "b", "c"])
    model = ds.Predictions.from_numbers([1.0, 9.0, 5.0], case_names=["a", "b", "c"])
    runs = [ds.aggregations.MedianRating(thresholds=(5.0,))]
    assert triage(ds.evaluate(said, {"A": model}, aggregations=runs)).of_rule(WRONG).tolist() == [1, 2]
    alone = triage(ds.evaluate(said, {}, aggregations=runs))
    assert [alone.of_rule(rule).tolist() for rule in (WRONG, MISSED, SPLIT)] == [[], [], []]
