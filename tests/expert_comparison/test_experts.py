"""The model beside the experts: brute-force twins for every kind of question, verdicts, bad input, coverage."""

import json
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import dissensus as ds
from dissensus.evaluation.expert_comparison.experts import Experts, alternative_annotator_test, experts
from dissensus.evaluation.expert_comparison.sample import Crossing, Pairs, Sample
from dissensus.evaluation.expert_comparison.survey_equivalence import Panels
from dissensus.kernels.pluralities import plurality_agreement
from dissensus.metrics import CohenKappa, MeanAbsoluteError, Sensitivity, TopKAccuracy
from refusals import refused
from shared_data import SHARED, needs_shared
from simulation.experts import MARGIN, compared
from simulation.grid import crossed

CONDITIONS = ["a", "b", "c", "d"]
RNG = np.random.default_rng(7)


def names_of(n: int) -> list[str]:
    return [f"x{i:03}" for i in range(n)]


def labelled(
    n: int = 40, per_case: int = 3, n_annotators: int = 6
) -> tuple[list[list[str]], list[list[str]], list[str]]:
    """Return labels and annotators by case, and what a model says."""
    truth = RNG.integers(4, size=n)
    who = [[f"r{k}" for k in RNG.permutation(n_annotators)[: per_case + i % 3]] for i in range(n)]
    said = [
        [CONDITIONS[t] if RNG.random() < 0.6 else CONDITIONS[RNG.integers(4)] for _ in own]
        for t, own in zip(truth, who, strict=True)
    ]
    model = [CONDITIONS[t] if RNG.random() < 0.7 else CONDITIONS[RNG.integers(4)] for t in truth]
    return said, who, model


def study_of(said: list[list[str]], who: list[list[str]] | None, **more: Any) -> ds.Study:
    opinions = [[[[one]] for one in own] for own in said]
    return ds.Study.from_rankings(opinions, CONDITIONS, case_names=names_of(len(said)), annotator_names=who, **more)


def model_of(said: list[str]) -> ds.Predictions:
    return ds.Predictions.from_rankings([[one] for one in said], CONDITIONS, case_names=names_of(len(said)))


def looped(said: list[list[Any]], model: list[Any], score: Callable[[Any, Any], float]) -> tuple[float, float]:
    """Average over cases the mean over ordered pairs, and that of the model against the same others."""
    several = [(own, one) for own, one in zip(said, model, strict=True) if len(own) > 1]
    of_experts = [np.mean([score(u, o) for u, o in permutations(own, 2)]) for own, _ in several]
    return float(np.mean(of_experts)), float(np.mean([np.mean([score(one, o) for o in own]) for own, one in several]))


def first(found: Experts) -> tuple[float, float]:
    return found.rows[0]["experts"], found.rows[0]["agreement"]


def test_labels_equal_a_loop_over_pairs_whether_annotators_have_names_or_not() -> None:
    said, who, model = labelled()
    expected = looped(said, model, lambda u, o: float(u == o))
    named = experts(study_of(said, who), {"A": model_of(model)}, [TopKAccuracy(1)])
    assert first(named) == pytest.approx(expected, abs=1e-12)
    counts = [[own.count(one) for one in CONDITIONS] for own in said]
    votes = ds.Study.from_counts(counts, CONDITIONS, case_names=names_of(len(said)))
    anonymous = experts(votes, {"A": model_of(model)}, [TopKAccuracy(1)])
    assert first(anonymous) == pytest.approx(expected, abs=1e-12)
    assert not anonymous.annotator_rows
    assert any("these annotators" in note for note in anonymous.notes)


def test_opinions_count_by_their_weights_whoever_the_others_are() -> None:
    said, who, model = labelled(per_case=2)
    weights = [[1.0 + 3.0 * (place == 0) for place in range(len(own))] for own in said]
    found = experts(study_of(said, who, weights=weights), {"A": model_of(model)}, [TopKAccuracy(1)])
    by_case = []
    for own, counts in zip(said, weights, strict=True):
        others = [
            np.average([one == other for j, other in enumerate(own) if j != i], weights=counts[:i] + counts[i + 1 :])
            for i, one in enumerate(own)
        ]
        by_case.append(np.average(others, weights=counts))
    assert found.rows[0]["experts"] == pytest.approx(np.mean(by_case), abs=1e-12)


def test_every_named_annotator_is_scored_like_a_model_against_the_same_others() -> None:
    said, who, model = labelled()
    found = experts(study_of(said, who), {"A": model_of(model)}, [TopKAccuracy(1)])
    for row in found.annotator_rows:
        own, beside = [], []
        for labels, people, one in zip(said, who, model, strict=True):
            if row["annotator"] in people:
                place = people.index(row["annotator"])
                others = labels[:place] + labels[place + 1 :]
                own.append(np.mean([labels[place] == o for o in others]))
                beside.append(np.mean([one == o for o in others]))
        assert (row["agreement"], row["model_agreement"]) == pytest.approx((np.mean(own), np.mean(beside)), abs=1e-12)
    assert len(found.annotator_rows) == 6


def test_rankings_with_ties_share_their_first_choice() -> None:
    said = [[["a", "b"], ["a"], ["b"]], [["c"], ["c", "d"], ["d"]]] * 6
    model = [["a"], ["d"]] * 6
    study = ds.Study.from_rankings(
        [[[one, ["d" if "d" not in one else "a"]] for one in own] for own in said], CONDITIONS
    )
    found = experts(study, {"A": ds.Predictions.from_rankings(model, CONDITIONS)}, [TopKAccuracy(1)])
    expected = looped(said, model, lambda u, o: len({*u} & {*o}) / len(u) / len(o))
    assert first(found) == pytest.approx(expected, abs=1e-12)


def test_kappa_pools_the_statistics_of_ordered_pairs() -> None:
    said, who, model = labelled()
    found = experts(study_of(said, who), {"A": model_of(model)}, [CohenKappa()])
    expected = []
    for predictors in (None, model):
        table = np.zeros((4, 4))
        for i, own in enumerate(said):
            pairs = list(permutations(own, 2)) if predictors is None else [(predictors[i], o) for o in own]
            for u, o in pairs:
                table[CONDITIONS.index(u), CONDITIONS.index(o)] += 1 / len(pairs)
        table /= table.sum()
        chance = table.sum(axis=1) @ table.sum(axis=0)
        expected.append((np.trace(table) - chance) / (1 - chance))
    assert first(found) == pytest.approx(tuple(expected), abs=1e-10)


def test_ratings_and_findings() -> None:
    scores = [[float(x) for x in RNG.integers(1, 6, 3)] for _ in range(30)]
    model = [float(x) for x in RNG.integers(1, 6, 30)]
    study = ds.Study.from_scores(scores, case_names=names_of(30))
    found = experts(study, {"A": ds.Predictions.from_numbers(model, case_names=names_of(30))}, [MeanAbsoluteError()])
    assert first(found) == pytest.approx(looped(scores, model, lambda u, o: abs(u - o)), abs=1e-12)
    sets = [[{name for name in ("AF", "ST") if RNG.random() < 0.4} for _ in range(3)] for _ in range(30)]
    given = [{name for name in ("AF", "ST") if RNG.random() < 0.4} for _ in range(30)]
    lists = ds.Study.from_sets(sets, ["AF", "ST"], case_names=names_of(30))
    said = ds.Predictions.from_sets(given, ["AF", "ST"], case_names=names_of(30))
    found = experts(lists, {"A": said}, [Sensitivity()])
    expected = []
    for of_model in (False, True):
        by_finding = []
        for name in ("AF", "ST"):
            hits = present = 0.0
            for own, one in zip(sets, given, strict=True):
                pairs = [(one, o) for o in own] if of_model else list(permutations(own, 2))
                hits += float(np.mean([name in u and name in o for u, o in pairs]))
                present += float(np.mean([name in o for _, o in pairs]))
            by_finding.append(hits / present)
        expected.append(np.mean(by_finding))
    assert first(found) == pytest.approx(tuple(expected), abs=1e-10)


def test_a_margin_gives_a_verdict_and_cases_with_one_opinion_are_counted() -> None:
    said, who, _ = labelled(60)
    said, who = [*said, ["a"]], [*who, ["r0"]]
    best = [max(own, key=own.count) for own in said]
    worst = ["d" if one != "d" else "a" for one in best]
    models = {"good": model_of(best), "bad": model_of(worst)}
    found = experts(study_of(said, who), models, [TopKAccuracy(1)], margin=0.05, called="radiologist")
    assert [row["verdict"] for row in found.rows] == ["superior", "not shown"]
    assert (found.n_cases, found.n_left_out) == (60, 1)
    assert found.worth["good"].value > 1 > found.worth["bad"].value == 0.0
    assert "one radiologist" in repr(found)
    assert len(repr(found).splitlines()) <= 20
    assert found.to_frame().columns[-3:] == ["worth", "worth_low", "worth_high"]
    assert set(found.alt_test(0.2)) == {"good", "bad"}
    turned = experts(study_of(said, who), models, [CohenKappa()], margin=0.05)
    assert [row["verdict"] for row in turned.rows] == ["superior", "not shown"]


def test_results_do_not_depend_on_the_order_of_cases() -> None:
    said, who, model = labelled()
    study, models = study_of(said, who), {"A": model_of(model)}
    order = RNG.permutation(len(said))
    found, other = experts(study, models), experts(study.select(order), models)
    numbers = [
        [row[name] for row in one.rows for name in ("difference", "case_sd", "annotator_sd")] for one in (found, other)
    ]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"margin": 1.5}, "margin is outside of the range"),
        ({"margin": 0.0}, "margin is outside of the range"),
        ({"metrics": ["brier-score"]}, "no metric can be computed of an annotator"),
        ({"study": study_of([["a"]] * 20, None)}, "too few cases have opinions of two annotators"),
        ({"study": study_of([["a", "b"]] * 9, None), "n": 9}, "too few cases have opinions of two annotators"),
        ({"study": study_of([["a", "a"]] * 20, [["r0", "r0"]] * 20)}, "too few cases have opinions of two annotators"),
        ({"strata": {"site": ["x"] * 19}}, "site label"),
        ({"trained_on": ["B"]}, "there is no model 'B' to be trained on these annotations"),
    ],
)
def test_bad_input_is_one_clear_error(change: dict[str, Any], words: str) -> None:
    change = dict(change)
    n = change.pop("n", 20)
    given = {"study": study_of([["a", "b"]] * n, None), **change}
    refused(words, experts, given.pop("study"), {"A": np.eye(4)[RNG.integers(4, size=n)]}, **given)


def test_annotators_who_differ_widen_the_interval() -> None:
    """One annotator of four says the same everywhere: differences depend on who was asked."""
    rng = np.random.default_rng(2)
    truth = rng.integers(4, size=60)
    said = [[CONDITIONS[t], CONDITIONS[t], CONDITIONS[(t + rng.integers(2)) % 4], "a"] for t in truth]
    who = [["r0", "r1", "r2", "r3"]] * 60
    row = experts(study_of(said, who), {"A": model_of([CONDITIONS[t] for t in truth])}, [TopKAccuracy(1)]).rows[0]
    assert row["annotator_sd"] > 2 * row["case_sd"]
    half = (row["difference_high"] - row["difference_low"]) / 2
    assert half > 2.5 * np.hypot(row["annotator_sd"], row["case_sd"])  # few annotators: Student's t


def test_subgroups_are_what_a_study_of_them_alone_gives_and_holm_adjusts_their_p_values() -> None:
    said, who, model = labelled(60)
    sites = ["abc"[i % 3] if i < 57 else "d" for i in range(60)]
    study, models = study_of(said, who), {"A": model_of(model)}
    metrics = [TopKAccuracy(1), CohenKappa()]
    found = experts(study, models, metrics, margin=0.1, strata={"site": sites})
    assert any("site: too few cases" in note and "d (3)" in note for note in found.notes)
    table = found.by_stratum()
    assert sorted(set(table["stratum"])) == ["a", "b", "c"]
    for site in "abc":
        alone = experts(study.select([one == site for one in sites]), models, metrics, allow_missing=True)
        for row in (row for row in found.strata_rows if row["stratum"] == site):
            other = next(one for one in alone.rows if one["metric"] == row["metric"])
            for name in ("experts", "agreement", "difference_low", "case_sd", "annotator_sd", "p_value"):
                assert row[name] == pytest.approx(other[name], abs=1e-9, nan_ok=True)
    first = table.filter(metric="top-1 accuracy")
    smallest = min(first["p_value"])
    assert min(first["p_adjusted"]) == pytest.approx(min(3 * smallest, 1.0))


def test_a_model_trained_on_the_annotations_gets_no_verdict() -> None:
    said, who, model = labelled(40)
    models = {"A": model_of(model), "B": model_of(model)}
    found = experts(study_of(said, who), models, margin=0.1, trained_on=["B"])
    assert found.row("A")["verdict"] != found.row("B")["verdict"] == ""
    assert any("'B': trained on these annotations" in note for note in found.notes)


def test_a_warning_where_hard_cases_have_more_opinions() -> None:
    said = [["a", "b", "c", "d", "a"] if i % 2 else ["a", "a"] for i in range(40)]
    hard = experts(study_of(said, None), {"A": model_of(["a"] * 40)}, [TopKAccuracy(1)])
    assert any("hard cases have more opinions" in note for note in hard.notes)
    alike = experts(
        study_of(said[::-1][:2] * 20, None).select(slice(0, 40, 2)), {"A": model_of(["a"] * 40)}, allow_missing=True
    )
    assert not any("hard cases" in note for note in alike.notes)


def crossed_sample(n: int = 30, per_case: int = 4) -> tuple[Sample, list[list[str]], list[list[str]], list[str]]:
    said, who, model = labelled(n, per_case)
    pairs = Pairs.of(study_of(said, who))
    models = {"A": model_of(model)}
    sample = Sample.of(pairs, models, (TopKAccuracy(1),), findings={}, called="annotator", point=False)
    return sample, said, who, model


def test_what_an_opinion_moves_is_what_leaving_it_out_does() -> None:
    sample, said, _, model = crossed_sample()
    expected: list[list[Any]] = [[], []]
    for own, one in zip(said, model, strict=True):
        n = len(own)
        for left in range(n):
            rest = own[:left] + own[left + 1 :]
            whole, without = (np.mean([u == o for u, o in permutations(some, 2)]) for some in (own, rest))
            expected[0].append((1 - 1 / n) * (whole - without) / len(said))
            alone, fewer = (np.mean([one == o for o in some]) for some in (own, rest))
            expected[1].append((1 - 1 / n) * (alone - fewer) / len(said))
    assert sample.effects[:, 0] == pytest.approx(np.array(expected), abs=1e-12)


def test_effects_of_annotators_have_the_variance_of_the_mean_they_move() -> None:
    """Of annotators who add an effect of variance one, effects squared beyond chance scale to the variance."""
    sample, _, who, _ = crossed_sample()
    crossing = sample.crossing
    assert crossing is not None
    names, found = sorted({name for row in who for name in row}), 0.0
    for probe in names:
        by_name: dict[str, list[float]] = {name: [] for name in names}
        for row in who:
            for name in row:
                by_name[name].append(((name == probe) - (probe in row) / len(row)) / len(row) / len(who))
        for own in by_name.values():
            found += sum(own) ** 2 - len(own) * float(np.var(own, ddof=1))
    wanted = sum(sum((name in row) / len(row) / len(who) for row in who) ** 2 for name in names)
    assert crossing.scale == pytest.approx(wanted / found, rel=1e-9)


def test_annotators_who_all_read_all_cases_have_one_degree_of_freedom_less() -> None:
    said = [[CONDITIONS[k] for k in RNG.integers(4, size=5)] for _ in range(20)]
    pairs = Pairs.of(study_of(said, [[f"r{k}" for k in range(5)]] * 20))
    crossing = Crossing.of(pairs, np.ones(20), np.arange(20))
    assert crossing is not None
    assert (crossing.scale, crossing.freedom) == pytest.approx((5 / 4, 4))
    few = Pairs.of(study_of([row[:3] for row in said], [[f"r{k}" for k in range(3)]] * 20))
    assert Crossing.of(few, np.ones(20), np.arange(20)) is None


@pytest.mark.slow
def test_a_model_that_is_worse_by_the_margin_is_rarely_called_non_inferior() -> None:
    """Fixed seeds: of 40 studies at the margin one or two may be called non-inferior; of equal ones most are not."""
    worse, equal = (compared(crossed(6, 0.04, n_cases=100), 40, 1, gap) for gap in (-MARGIN, 0.0))
    assert worse.told <= 0.1
    assert worse.holds >= 0.85
    assert equal.told > worse.told


def test_scores_are_compared_at_the_specificity_of_annotators() -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=300)
    yes = z[:, None] + rng.normal(size=(300, 5)) > 0.8
    said = [[[["no", "yes"][int(one)]]] for row in yes for one in row]
    study = ds.Study.from_rankings(
        [said[5 * i : 5 * i + 5] for i in range(300)],
        ["no", "yes"],
        case_names=names_of(300),
        annotator_names=[[f"r{k}" for k in range(5)]] * 300,
        question="binary",
    )
    score = 1 / (1 + np.exp(-z))
    found = experts(study, {"A": np.c_[1 - score, score]}, margin=0.1)
    assert found.primary == "sensitivity at the specificity of one annotator"
    pairs = list(permutations(range(5), 2))
    no = np.mean([np.mean(~yes[:, u] & ~yes[:, o]) for u, o in pairs]) / np.mean(~yes)
    sensitivity = np.mean([np.mean(yes[:, u] & yes[:, o]) for u, o in pairs]) / np.mean(yes)
    cut = np.quantile(np.repeat(score[:, None], 5, axis=1)[~yes], no)
    row = found.row("A")
    assert row["experts"] == pytest.approx(sensitivity, abs=1e-9)
    assert row["agreement"] == pytest.approx(np.mean(np.repeat(score[:, None], 5, axis=1)[yes] > cut), abs=0.01)
    rows = experts(study, {"A": np.c_[1 - score, score]}, ["sensitivity", "net-benefit:0.2"]).rows
    assert np.isnan(rows[1]["experts"])  # a threshold that cannot be left out, of a metric that needs scores
    areas = next(row for row in found.rows if row["metric"] == "AUROC")
    assert np.isnan(areas["experts"])
    assert 0.7 < areas["low"] < areas["agreement"] < areas["high"] < 1


def labels(n_annotators: int = 3, n_cases: int = 40) -> ds.Study:
    who = [f"a{number}" for number in range(n_annotators)]
    return study_of([["ab"[i % 2]] * n_annotators for i in range(n_cases)], [who] * n_cases)


@needs_shared
@pytest.mark.parametrize("name", ["wax", "lgbteen", "cebab_aspects", "cebab_stars"])
def test_published_values_are_reproduced(name: str) -> None:
    folder = SHARED / "alttest"
    expected = json.loads((folder / "reference.json").read_text())[name]
    humans, models = (json.loads((folder / name / f"{who}_annotations.json").read_text()) for who in ("human", "llm"))
    is_number = name == "cebab_stars"
    rows = [
        (case, who, float(one) if is_number else str(one)) for who, own in humans.items() for case, one in own.items()
    ]
    every = sorted({str(one) for own in (*humans.values(), *models.values()) for one in own.values()})
    value = "score" if is_number else "condition"
    table = pl.DataFrame(rows, ["case", "annotator", value], orient="row")
    study = ds.Study.from_long(table, score="score") if is_number else ds.Study.from_long(table, every)
    for which, values in expected.items():
        own, cases = models[which], list(models[which])
        said = (
            ds.Predictions.from_numbers([float(one) for one in own.values()], case_names=cases)
            if is_number
            else ds.Predictions.from_rankings([[str(one)] for one in own.values()], every, case_names=cases)
        )
        found = alternative_annotator_test(study, said, epsilon=values["epsilon"])
        assert found.winning_rate == pytest.approx(values["winning_rate"], abs=1e-9)
        assert found.advantage == pytest.approx(values["advantage"], abs=1e-9)


def test_the_outcome_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=40)
    skill = (0.85, 0.8, 0.75, 0.7, 0.6, 0.55)
    said = np.array([[t if rng.random() < own else rng.integers(3) for own in skill] for t in truth])
    guess = np.array([t if rng.random() < 0.8 else rng.integers(3) for t in truth])
    study = study_of([["abc"[one] for one in row] for row in said], [[f"a{j}" for j in range(6)]] * 40)
    model = model_of(["abc"[k] for k in guess])
    p_values, advantages = [], []
    for j in range(6):
        others = np.delete(said, j, axis=1)
        theirs, own = (others == said[:, [j]]).mean(axis=1), (others == guess[:, None]).mean(axis=1)
        apart = (theirs >= own).astype(float) - (own >= theirs)
        t = (apart.mean() - 0.1) / (apart.std(ddof=1) / np.sqrt(40))
        p_values.append(stats.t.cdf(t, 39))
        advantages.append((own >= theirs).mean())
    limits = 0.05 * np.arange(1, 7) / 6 / sum(1 / k for k in range(1, 7))
    passed = np.flatnonzero(np.sort(p_values) <= limits)
    found = alternative_annotator_test(study, model, epsilon=0.1)
    assert found.rows["p_value"].to_list() == pytest.approx(p_values, abs=1e-12)
    assert found.advantage == pytest.approx(np.mean(advantages))
    assert found.winning_rate == (passed[-1] + 1 if len(passed) else 0) / 6
    independent = np.sum(np.sort(p_values) <= 0.05 * np.arange(1, 7) / 6)
    assert 0 < found.winning_rate < independent / 6, p_values  # so that the harmonic sum matters


def test_a_model_that_is_always_wrong_wins_nobody() -> None:
    found = alternative_annotator_test(labels(), model_of(["ba"[i % 2] for i in range(40)]))
    assert (found.winning_rate, found.advantage, found.passes) == (0.0, 0.0, False)
    assert found.rows.select("annotator", "n_cases").rows() == [("a0", 40), ("a1", 40), ("a2", 40)]


@pytest.mark.parametrize(
    ("study", "epsilon", "words"),
    [
        (labels(), 0.0, "epsilon must be between 0 and 1"),
        (labels(), 1.0, "epsilon must be between 0 and 1"),
        (labels(n_annotators=1), 0.2, "no annotator shares enough cases"),
        (labels(n_cases=29), 0.2, "no annotator shares enough cases"),
        (study_of([["a", "a", "b"]] * 40, None), 0.2, "by name"),
    ],
)
def test_bad_input_is_one_clear_error_of_test(study: ds.Study, epsilon: float, words: str) -> None:
    refused(words, alternative_annotator_test, study, model_of(["ab"[i % 2] for i in range(40)]), epsilon=epsilon)


def listed(counts: list[int], k: int) -> float:
    """List every panel of k and everybody who is left."""
    votes = np.repeat(np.arange(len(counts)), counts)
    found = []
    for panel in combinations(range(len(votes)), k):
        tally = np.bincount(votes[list(panel)], minlength=len(counts))
        top = np.flatnonzero(tally == tally.max())
        found += [float(votes[one] in top) / len(top) for one in range(len(votes)) if one not in panel]
    return float(np.mean(found))


def test_counting_equals_listing_two_are_worth_one_and_large_panels_stay_finite() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        counts = rng.integers(0, 4, rng.integers(1, 6))
        if counts.sum() > 1:
            k = int(rng.integers(1, counts.sum()))
            assert plurality_agreement(counts[None], k)[0] == pytest.approx(listed(counts.tolist(), k), abs=1e-12)
    counts = np.array([[700, 200, 100], [400, 400, 200], [1000, 0, 0]])
    one, two, many = (plurality_agreement(counts, k) for k in (1, 2, 200))
    assert one == pytest.approx(two, abs=1e-12)
    assert many == pytest.approx([0.7, 0.4, 1.0], abs=0.01)


def test_what_a_panel_loses_without_an_opinion_is_what_listing_says() -> None:
    """For labels, tied first choices (seeded orders, so within their error) and ratings."""
    labels = [["a", "a", "b", "c", "a"], ["b", "b", "a"], ["c", "c"]]
    study = ds.Study.from_rankings([[[[one]] for one in row] for row in labels] * 10, ["a", "b", "c"])
    tied = ds.Study.from_rankings([[[["a", "b"]], [["a"]], [["a"]], [["c"]], [["b"]]]] * 10, ["a", "b", "c"])
    scores = [[1.0, 2.0, 4.0, 4.5]] * 10
    for k in (1, 2, 3):
        found, place = Panels(study).moves(k), 0
        for row in labels:
            size = min(k, len(row) - 2)
            for left in range(len(row)):
                counts = [[some.count(one) for one in "abc"] for some in (row, row[:left] + row[left + 1 :])]
                expected = listed(counts[0], size) - listed(counts[1], size) if size else 0.0
                assert found[place] == pytest.approx(expected, abs=1e-12)
                place += 1
        moved = Panels(tied).moves(k).reshape(10, 5).mean(axis=0)
        assert moved[1] > 0 > moved[3]
        rated = Panels(ds.Study.from_scores(scores)).moves(k)[:4]
        without = [np.var(np.delete(scores[0], left), ddof=1) for left in range(4)]
        assert rated == pytest.approx(-(1 + 1 / k) * (np.var(scores[0], ddof=1) - np.array(without)), abs=1e-12)


def test_tied_first_choices_and_many_votes_are_sampled_opinion_by_opinion() -> None:
    """Agreement of one with another is known; a million votes take no longer than five."""
    tied = ds.Study.from_rankings([[[["a", "b"]], [["a"]], [["a"]], [["c"]], [["b"]]]] * 10, ["a", "b", "c"])
    shares = np.array([[0.5, 0.5, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    expected = (shares.sum(axis=0) ** 2 - (shares**2).sum(axis=0)).sum() / 20
    assert Panels(tied).agreement(1).mean() == pytest.approx(expected, abs=0.02)
    votes = ds.Study.from_counts([[600_000, 300_000, 100_000]] * 10, ["a", "b", "c"])
    assert Panels(votes).agreement(1) == pytest.approx(0.46, abs=1e-5)
    assert Panels(votes).agreement(50) == pytest.approx(0.6, abs=0.01)


@needs_shared
def test_values_of_chaosnli_are_reproduced() -> None:
    counts = pl.read_csv(SHARED / "chaosnli_snli" / "counts.csv")[:, 1:].to_numpy()
    found = [plurality_agreement(counts, k).mean() for k in range(1, 6)]
    assert found == pytest.approx([0.65798, 0.65798, 0.69929, 0.70367, 0.71727], abs=1e-5)
