"""Cases that need a look, against a slow twin that reads rankings and lists by name."""

from __future__ import annotations

import numpy as np

import dissensus as ds
from dissensus.evaluation.first_screen import MISSED, RULES, SPLIT, UNSETTLED, WRONG, triage


def evaluated(n_cases: int = 60) -> ds.Evaluation:
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
    result = evaluated()
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
