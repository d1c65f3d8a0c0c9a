"""The first screen: which model, as good as an annotator, how sure, what to look at; short, and the same everywhere."""

from __future__ import annotations

import re

import pytest
from markupsafe import escape

import dissensus as ds
from dissensus.evaluation import sentences
from dissensus.evaluation.first_screen import first_screen
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
