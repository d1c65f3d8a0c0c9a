"""Planning: yardsticks, components found again, power achieved where it is predicted; and gains of asking again."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.decisions.planning import Components, expected_gains, within_cases
from dissensus.evaluation.expert_comparison.sample import Estimates, Pairs, Sample, estimates
from dissensus.metrics import TopKAccuracy
from refusals import refused
from shared_data import needs_shared, vandyke


@needs_shared
def test_van_dyke_with_6_readers_and_111_cases_has_power_0_5526_and_80_percent_needs_251() -> None:
    found = ds.plan(ds.reader_study(*vandyke()), annotators=[6], cases=[111])
    assert found.rows[0]["power"] == pytest.approx(0.5526, abs=5e-5)
    assert found.cheapest is not None
    assert (found.cheapest["cases"], found.cheapest["annotators"]) == (251, 6)


def test_the_error_of_a_reader_study_itself_is_found_again() -> None:
    rng = np.random.default_rng(7)
    truth = np.arange(60) % 2
    skill = {"new": 1.5, "old": 1.0}
    shared = rng.normal(0, 1, (2, 60))  # readers of a modality have cases in common
    ratings = {
        name: {
            f"r{j}": (gain * truth + own + rng.normal(0, 0.7, 60) + rng.normal(0, 0.5) * truth).tolist()
            for j in range(5)
        }
        for (name, gain), own in zip(skill.items(), shared, strict=True)
    }
    pilot = ds.reader_study(ratings, truth.tolist())
    assert pilot.components["cov2"] > pilot.components["cov3"]
    assert pilot.components["reader x test"] > 0
    error, _, df = ds.plan(pilot).components.error(60, 5, 5)
    assert (error, df) == pytest.approx((pilot.error, pilot.df), rel=1e-9)


def values(rng: np.random.Generator, n: int, readers: int, sds: tuple[float, float, float]) -> np.ndarray:
    """Draw values of every annotator on every case."""
    case, opinion, annotator = sds
    noise = rng.normal(0, opinion, (n, readers))
    return np.asarray(rng.normal(0, case, (n, 1)) + rng.normal(0, annotator, readers) + noise)


def test_stated_components_have_the_variance_of_simulated_means_and_the_width_of_their_intervals() -> None:
    rng, sds = np.random.default_rng(1), (0.5, 0.8, 0.2)
    parts = Components.stated(dict(zip(("case_sd", "opinion_sd", "annotator_sd"), sds, strict=True)))
    means = np.array([values(rng, 50, 6, sds).mean() for _ in range(4000)])
    assert float(parts.error(50, 6, 6, "crossed")[0]) == pytest.approx(means.std(), rel=0.05)
    panels = np.array([np.mean([values(rng, 25, 3, sds) for _ in range(2)]) for _ in range(4000)])
    assert float(parts.error(50, 3, 6, "nested")[0]) == pytest.approx(panels.std(), rel=0.05)


def test_covariances_within_cases_are_those_of_a_naive_enumeration() -> None:
    rng = np.random.default_rng(2)
    said = ds.Study.from_rankings(
        [[[[str(label)]] for label in rng.integers(3, size=5)] for _ in range(12)], ["0", "1", "2"]
    )
    pairs = Pairs.of(said)
    table = rng.normal(size=(3, 3))
    table += table.T
    label = said.codes
    of_cell = label[pairs.cell_opinion]

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(table[of_cell[a], of_cell[b]])

    products: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for case in range(12):
        own = label[5 * case : 5 * case + 5]
        of_case: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for a in range(5):
            for b in set(range(5)) - {a}:
                for c in range(5):
                    for d in set(range(5)) - {c}:
                        of_case[len({a, b} & {c, d})].append(table[own[a], own[b]] * table[own[c], own[d]])
        for shared, found in of_case.items():
            products[shared].append(float(np.mean(found)))
    none, one, both = (float(np.mean(products[shared])) for shared in (0, 1, 2))
    assert within_cases(pairs, kernel)[:2] == pytest.approx((max(one - none, 0), both - none))
    assert within_cases(pairs, kernel)[2]


def binary_study(rng: np.random.Generator, n: int, readers: int) -> tuple[ds.Study, dict[str, np.ndarray]]:
    """Draw a crossed study: annotators differ in strictness, and two models in skill."""
    hard, strict = rng.normal(0, 1.2, n), rng.normal(0, 0.5, readers)
    votes = rng.random((n, readers)) < 1 / (1 + np.exp(-(hard[:, None] - strict)))
    rows = [(f"c{i}", f"r{j}", "yes" if votes[i, j] else "no") for i in range(n) for j in range(readers)]
    frame = pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row")
    right = hard > 0
    said = {}
    for name, skill in (("good", 0.95), ("poor", 0.80)):
        first = np.where(rng.random(n) < skill, right, ~right).astype(float)
        said[name] = np.stack([1 - first, first], axis=1)
    return ds.Study.from_long(frame, conditions=["no", "yes"]), said


def true_differences() -> tuple[float, float]:
    """Integrate the agreement of the good model minus that of the poor one, and of the poor one minus an annotator."""
    rng = np.random.default_rng(0)
    hard, strict = rng.normal(0, 1.2, 400_000), rng.normal(0, 0.5, (2, 400_000))
    one, other = 1 / (1 + np.exp(-(hard - strict)))
    right = np.where(hard > 0, one, 1 - one).mean()
    return 0.15 * (2 * right - 1), 0.8 * right + 0.2 * (1 - right) - (one * other + (1 - one) * (1 - other)).mean()


def compared(study: ds.Study, said: dict[str, np.ndarray]) -> Estimates:
    """Compare two models as annotators and models are compared: over cases and annotators."""
    pairs = Pairs.of(study)
    models = {
        name: ds.Predictions.from_scores(scores, study.conditions, case_names=study.case_names).select(
            list(pairs.study.case_names)
        )
        for name, scores in said.items()
    }
    sample = Sample.of(pairs, models, (TopKAccuracy(1),), findings={}, called="annotator", point=False)
    values, moves = sample.means[1, 0] - sample.means[2, 0], sample.effects[1, 0] - sample.effects[2, 0]
    part = None if sample.crossing is None else sample.crossing.part(moves)
    bounds = np.array(-1.0), np.array(1.0)
    return estimates(values, sample.pairs.weights, sample.pairs.clusters, bounds, part, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(("models", "margin"), [(["good", "poor"], None), (["poor"], 0.1)])
def test_power_is_achieved_in_simulations_with_crossed_annotators(models: list[str], margin: float | None) -> None:
    rng, runs, size = np.random.default_rng(3), 300, (90, 6, 6)
    truth, predicted, achieved = true_differences()[margin is not None], [], 0
    for _ in range(30):  # pilots are uncertain as well
        pilot = binary_study(rng, 150, 8)
        found = ds.plan(*pilot, "top-k-accuracy:1", models=models, effect=truth, margin=margin)
        predicted.append(found.row(*size)["power"])
    for _ in range(runs):
        study, said = binary_study(rng, 90, 6)
        if margin is None:
            shown = compared(study, said)
            achieved += bool(shown.low > 0 or shown.high < 0)
        else:
            beside = ds.experts(study, {"poor": said["poor"]}, ["top-k-accuracy:1"], margin=margin)
            achieved += beside.row("poor")["p_noninferior"] <= 0.025
    error = math.sqrt(0.25 / runs)
    assert np.mean(predicted) == pytest.approx(achieved / runs, abs=0.05 + error)


def test_more_cases_opinions_and_annotators_never_lower_power_and_the_cheapest_design_is_that_of_a_grid() -> None:
    given = {"case_sd": 0.3, "opinion_sd": 0.6, "annotator_sd": 0.05}
    found = ds.plan(
        given, effect=0.08, cases=[100, 200, 400], opinions=[1, 2, 4], annotators=[8, 16], costs={"case": 3}
    )
    power = np.array([row["power"] for row in found.rows]).reshape(3, 2, 3)
    assert all((np.diff(power, axis=axis) > 0).all() for axis in range(3))
    best = min(
        (found.row(n, v, j)["cost"], n, v, j)
        for v in (1, 2, 4)
        for j in (8, 16)
        for n in range(50, 2000, 1)
        if found.row(n, v, j)["power"] >= 0.8
    )
    assert found.cheapest is not None
    assert (found.cheapest["cost"], found.cheapest["cases"]) == best[:2]


def test_a_width_can_be_the_target() -> None:
    found = ds.plan({"case_sd": 0.5}, effect=0.1, width=0.05).cheapest
    assert found is not None
    assert found["width"] <= 0.05 < ds.plan({"case_sd": 0.5}, effect=0.1).row(found["cases"] - 1, 3, None)["width"]
    assert found["cases"] == pytest.approx((2 * 1.96 * 0.5 / 0.05) ** 2, rel=0.01)


def test_too_few_annotators_never_reach_the_target_and_this_is_said() -> None:
    found = ds.plan({"case_sd": 0.1, "annotator_sd": 0.5}, effect=0.05, annotators=[4], opinions=[4])
    assert found.cheapest is None
    assert "more annotators" in repr(found)
    assert len(repr(found).splitlines()) <= 20


def test_what_is_shown_is_escaped_and_short() -> None:
    study = ds.simulate.study(n_cases=40, n_conditions=4, seed=1)
    models = {"<b>A</b>": study.predictions["Aster"], "B": study.predictions["Birch"]}
    found = ds.plan(study.annotations, models, "top-k-accuracy:1")
    assert "<b>A" not in found._repr_html_()
    assert len(repr(found).splitlines()) <= 20
    assert found.summary().height >= 1
    assert found.to_frame().columns == ["cases", "opinions", "annotators", "power", "width", "cost"]


# Which cases again --------------------------------------------------------------------------------------


def closed_form(counts: np.ndarray, alpha: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the gain under a Dirichlet posterior: the variance of the mean after one more answer."""
    mass = counts + alpha
    total = mass.sum(axis=1, keepdims=True)
    p = mass / total
    mean = (p * values).sum(axis=1, keepdims=True)
    return np.asarray((p * np.square((values - mean) / (total + 1))).sum(axis=1))


def test_gains_are_those_of_a_dirichlet_posterior_in_closed_form() -> None:
    rng = np.random.default_rng(1)
    counts, alpha = rng.multinomial(4, [0.5, 0.3, 0.2], 12), np.full(3, 0.7)
    values = rng.normal(size=(12, 3))
    theta = np.array([rng.dirichlet(row + alpha, 40_000) for row in counts])
    spread, gains, certainty = expected_gains(theta, values)
    assert gains == pytest.approx(closed_form(counts, alpha, values), rel=0.06)
    assert (gains <= spread).all()
    assert ((certainty > 0.3) & (certainty <= 1)).all()


def test_cases_on_which_models_agree_have_nothing_to_give() -> None:
    said = ds.Study.from_counts([[2, 2, 0], [2, 2, 0], [4, 0, 0], [2, 1, 1]], ["a", "b", "c"])
    models = {"A": [[0.9, 0.1, 0.0]] * 4, "B": [[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]]}
    found = ds.relabel(said, models, "top-k-accuracy:1", n=2)
    gain = {row["case"]: row["gain"] for row in found.rows}
    assert gain["1"] == pytest.approx(0.0, abs=1e-12)
    assert found.rows[0]["case"] == "0"
    assert gain["0"] > gain["2"]
    assert sum(gain.values()) < 1


def test_metrics_of_the_data_set_and_of_one_model_lead_to_conclusions_too() -> None:
    study = ds.simulate.binary(n_cases=80, seed=1)
    said, models = study.annotations, study.predictions
    name = next(iter(models))
    for metric in ("auroc", "top-k-accuracy:1"):
        found = ds.relabel(said, models, metric, models=[name], draws=200)
        assert found.rows[0]["gain"] > 0
        assert len(found.rows) == 80


def test_lists_are_taken_by_label_studio_and_spreadsheets(tmp_path: Path) -> None:
    study = ds.simulate.study(n_cases=40, n_conditions=4, seed=1)
    found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=5)
    found.write(tmp_path / "again.csv")
    found.write(tmp_path / "again.json")
    table = pl.read_csv(tmp_path / "again.csv", schema_overrides={"case": pl.String})
    tasks = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert table["case"].to_list() == [task["data"]["case"] for task in tasks]
    assert table["rank"].to_list() == [1, 2, 3, 4, 5]
    assert len(repr(found).splitlines()) <= 20
    refused("", found.write, tmp_path / "again.csv")
    refused(r"\.csv or \.json", found.write, tmp_path / "again.txt")


def test_the_order_of_cases_does_not_matter_and_unannotated_ones_are_noted() -> None:
    said = ds.Study.from_rankings([[[["a"]], [["b"]]], [[["a"]]], []], ["a", "b"])
    models = {"A": [[0.9, 0.1]] * 3, "B": [[0.1, 0.9]] * 3}
    found = ds.relabel(said, models, "top-k-accuracy:1")
    assert "1 cases have no opinion yet: they are not ranked" in found.notes
    names = ["1", "0"]
    others = {name: ds.Predictions.from_scores(one[:2], ["a", "b"], case_names=names) for name, one in models.items()}
    turned = ds.relabel(said.select([1, 0]), others, "top-k-accuracy:1")
    assert {row["case"]: row["gain"] for row in found.rows} == pytest.approx(
        {row["case"]: row["gain"] for row in turned.rows}
    )
    same = ds.relabel(said, {"A": models["A"], "B": models["A"]}, "top-k-accuracy:1")
    assert any("say the same" in note for note in same.notes)
