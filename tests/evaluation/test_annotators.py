"""Annotators as a sample, in all and in strata: against analysis of variance, plain loops, and known variances."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.aggregations import Dirichlet, PlackettLuce
from dissensus.core.arrays import BoolArray, FloatArray
from dissensus.evaluation.annotators import Design, are_crossed, grouped, probe_vectors, weight_of_cases
from dissensus.evaluation.tally import opinion_means
from dissensus.metrics import TopKAccuracy

Opinions = list[list[tuple[str, float]]]


def study(opinions: Opinions, weights: dict[str, float] | None = None) -> ds.Study:
    """Build a study of opinions (annotator, 1 or 0) by case: whether they say "yes"."""
    return ds.Study.from_rankings(
        [[[["yes" if value else "no"]] for _, value in row] for row in opinions],
        ["yes", "no"],
        annotator_names=[[name for name, _ in row] for row in opinions],
        weights=None if weights is None else [[weights[name] for name, _ in row] for row in opinions],
    )


def crossed(values: FloatArray) -> Opinions:
    return [[(f"annotator {j}", value) for j, value in enumerate(row)] for row in values.tolist()]


def remaining(design: Design) -> FloatArray:
    """Return how much each opinion counts in the mean over those who remain, shape (n_pairs, n_opinions)."""
    said, rows = design.study, []
    groups = np.append(design.group_of, -1)[said.annotators]
    for group, case in zip(design.group, design.case, strict=True):
        own = said.weights * (said.panel.case_of_opinion == case) * (groups != group)
        rows.append(own / own.sum())
    return np.array(rows)


def moved(design: Design, values: FloatArray) -> FloatArray:
    """Return the mean over those who remain, for values (n_opinions,) of opinions."""
    return remaining(design) @ values


def variance_of(design: Design, values: FloatArray) -> float:
    return float(design.spread(moved(design, values)[None, None]).part().variance[0, 0])


def mean_squares(values: FloatArray) -> tuple[float, float]:
    """Return the mean squares between annotators and of what is left, of a table (cases, annotators)."""
    n, j = values.shape
    rows, columns, grand = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True), values.mean()
    left = values - rows - columns + grand
    return n * float(np.square(columns - grand).sum()) / (j - 1), float(np.square(left).sum()) / ((n - 1) * (j - 1))


@pytest.mark.parametrize("n_annotators", [2, 3, 5, 12])
def test_balanced_panels_have_the_closed_form_of_the_analysis_of_variance(n_annotators: int) -> None:
    rng = np.random.default_rng(n_annotators)
    skills = np.linspace(0.2, 0.9, n_annotators)
    values = (rng.random((30, n_annotators)) < skills).astype(np.float64)
    between, left = mean_squares(values)
    assert between > left
    found = variance_of(Design.of(study(crossed(values))), values.ravel())
    assert found == pytest.approx((between - left) / values.size, rel=1e-9)
    values = np.tile(np.eye(3), (10, 1))  # everybody is right in a third of the cases, no more than by chance
    assert variance_of(Design.of(study(crossed(values))), values.ravel()) == 0


def test_a_difference_of_models_is_that_of_its_values() -> None:
    rng = np.random.default_rng(3)
    one, other = (rng.random((2, 40, 4)) < [0.9, 0.7, 0.5, 0.3]).astype(np.float64)
    design = Design.of(study(crossed(one)))
    parts = [moved(design, values.ravel()) for values in (one, other, one - other)]
    spread = design.spread(np.array(parts)[:, None])
    apart, alone = spread.part((np.array([0]), np.array([1]))), spread.part()
    assert apart.variance[0] == pytest.approx(alone.variance[2])
    assert apart.before[0] == pytest.approx(alone.before[2])
    assert apart.freedom == 3


def random_readers(rng: np.random.Generator, n_cases: int, pool: int) -> BoolArray:
    """Choose two to four readers per case, the first ones far more often than the last."""
    order = rng.exponential(size=(n_cases, pool)) * np.linspace(1, 4, pool)
    sizes = rng.integers(2, 5, size=(n_cases, 1))
    return np.asarray(order.argsort(axis=1).argsort(axis=1) < sizes)


@pytest.mark.parametrize(("pool", "weighted"), [(8, False), (45, True)])
def test_unbalanced_panels_give_the_variance_that_effects_of_annotators_have(pool: int, weighted: bool) -> None:
    """Of 400 random studies, the mean is within four standard errors: one other seed in 16 000 would fail."""
    rng = np.random.default_rng(pool)
    reads = random_readers(rng, 60, pool)
    weights = {f"annotator {j}": 1.0 + (j % 3 if weighted else 0) for j in range(pool)}
    names = [[(f"annotator {j}", 1.0) for j in np.flatnonzero(row)] for row in reads]
    design = Design.of(study(names, weights if weighted else None))
    said = design.study
    code = np.array([int(name.split()[1]) for name in said.annotator_names])[said.annotators]
    case, own = said.panel.case_of_opinion, np.array([weights[f"annotator {j}"] for j in code])
    share = own / np.bincount(case, weights=own)[case] / 60
    wanted = float(np.square(0.2 * np.bincount(code, weights=share)).sum())
    matrix, found = remaining(design), []
    for _ in range(400):
        values = rng.normal(size=60)[case] + 0.2 * rng.normal(size=pool)[code] + 0.1 * rng.normal(size=len(code))
        part = design.spread((matrix @ values)[None, None])
        found.append(part.scale * float(np.square(part.effects).sum() - part.noise[0, 0, 0]))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - wanted) < 4 * error < 0.3 * wanted


def test_at_most_twenty_groups_have_about_as_many_opinions_each() -> None:
    sizes = [40, 30, *([3] * 43)]
    opinions: Opinions = [[] for _ in range(40)]
    for j, size in enumerate(sizes):
        for case in range(size):
            opinions[(case + j) % 40].append((f"annotator {j}", 1.0))
    said = study(opinions)
    group_of = grouped(said)
    assert sorted(np.bincount(group_of).tolist()) == [2] * 15 + [3] * 5
    assert (np.sort(np.bincount(group_of[said.annotators]))[:-2] <= 9).all()  # the two who read most are apart
    opinions = [[(f"annotator {j}", 1.0) for j in range(40) if case < 40 - j] for case in range(40)]
    said = study(opinions)  # who reads most goes with who reads least
    assert np.bincount(grouped(said)[said.annotators]).tolist() == [41] * 20


def test_few_annotators_are_groups_of_their_own_and_probes_are_exact() -> None:
    said = study(crossed(np.ones((4, 20))))
    assert grouped(said).tolist() == list(range(20))
    np.testing.assert_array_equal(probe_vectors(64), np.eye(64))
    many = probe_vectors(65)
    assert many.shape == (64, 65)
    np.testing.assert_array_equal(np.abs(many), 1)


def test_a_group_is_left_out_where_somebody_remains_and_another_can_go_too() -> None:
    opinions: Opinions = [[("A", 1.0), ("B", 0.0)], [("A", 1.0)], [("A", 1.0), ("B", 1.0), ("C", 0.0)], []]
    design = Design.of(study(opinions))
    names, cases = design.study.annotator_names, design.study.case_names
    pairs = {(names[g], cases[c]) for g, c in zip(design.group, design.case, strict=True)}
    assert pairs == {("A", "0"), ("B", "0"), ("A", "2"), ("B", "2"), ("C", "2")}
    assert design.remaining.tolist() == [2.0 if cases[case] == "2" else 1.0 for case in design.case]
    half_named = [["AB"[case % 2], None] for case in range(12)]
    said = ds.Study.from_rankings([[[["a"]], [["b"]]]] * 12, ["a", "b"], annotator_names=half_named)
    assert not len(Design.of(said).case)


def test_those_who_remain_weigh_as_much_as_everybody_did() -> None:
    opinions: Opinions = [[("A", 1.0), ("B", 0.0)], [("A", 1.0), ("C", 1.0)], [("A", 1.0), ("B", 1.0), ("C", 0.0)]]
    design = Design.of(study(opinions, {"A": 3.0, "B": 1.0, "C": 2.0}))
    left = design.fold(0).reweighted
    told = zip(left.panel.case_of_opinion, left.annotators, left.weights.tolist(), strict=True)
    found = {(left.case_names[case], left.annotator_names[who]): weight for case, who, weight in told}
    first, second, third = study(opinions).case_names
    assert found == {(first, "B"): 4.0, (second, "C"): 5.0, (third, "B"): 2.0, (third, "C"): 4.0}
    assert dict(zip(left.case_names, weight_of_cases(left), strict=True)) == {first: 4.0, second: 5.0, third: 6.0}


@pytest.mark.parametrize(("n_annotators", "n_common", "expected"), [(3, 10, True), (3, 9, False), (2, 10, False)])
def test_three_annotators_with_ten_common_cases_are_a_sample(n_annotators: int, n_common: int, expected: bool) -> None:
    everyone = [(f"annotator {j}", 1.0) for j in range(n_annotators)]
    said = study([everyone] * n_common + [[everyone[0]]] * 30)
    assert are_crossed(said) is expected
    result = ds.evaluate(said, {"M": [[1, 0]] * said.n_cases}, aggregations=["majority-vote"])
    assert (result.estimates[0].annotators is not None) is expected


def test_nobody_in_particular_and_those_who_share_no_case_are_no_sample() -> None:
    alone = [[("ABC"[case % 3], 1.0)] for case in range(60)]
    assert not are_crossed(study(alone))
    assert are_crossed(study([[*row, ("ABC"[(case + 1) % 3], 0.0)] for case, row in enumerate(alone)]))
    said = ds.Study.from_counts([[2, 1]] * 40, ["a", "b"])
    assert not are_crossed(said)
    with pytest.raises(ds.DissensusError, match="annotators cannot be taken as a sample"):
        ds.evaluate(said, {"M": [[1, 0]] * 40}, aggregations=["majority-vote"], annotators="sample")


# Through ds.evaluate ----------------------------------------------------------------------------------------

N_CASES, N_ANNOTATORS = 60, 6


@pytest.fixture(scope="module")
def said() -> ds.Study:
    rng = np.random.default_rng(8)
    skills = np.array([0.95, 0.9, 0.8, 0.7, 0.55, 0.4])
    return study(crossed((rng.random((N_CASES, N_ANNOTATORS)) < skills).astype(np.float64)))


def evaluated(said: ds.Study, annotators: str | None = None, threads: int | None = 1) -> ds.Evaluation:
    rng = np.random.default_rng(9)
    models = {"M": np.tile([1.0, 0.0], (said.n_cases, 1)), "N": rng.random((said.n_cases, 2))}
    return ds.evaluate(
        said,
        models,
        aggregations=[Dirichlet(1), PlackettLuce(1, alpha=1.0, prior="observed", warmup=20)],
        metrics=[TopKAccuracy(1)],
        draws=100,
        annotators=annotators,  # type: ignore[arg-type]
        threads=threads,
    )


def values_of(said: ds.Study) -> FloatArray:
    """Tell who says "yes", which the model M always does, shape (cases, annotators)."""
    return np.array([[row == [["yes"]] for row in case] for case in said.to_rankings()], dtype=np.float64)


def test_the_part_of_the_annotators_is_that_of_the_analysis_of_variance(said: ds.Study) -> None:
    values = values_of(said)
    between, left = mean_squares(values)
    spread = evaluated(said).estimates[2].spread
    assert spread.annotator_sd[0, 0] == pytest.approx(np.sqrt((between - left) / values.size), rel=1e-9)
    of_cases = np.sqrt(values.mean(axis=1).var() / (N_CASES + 2))
    assert spread.case_sd[0, 0] == pytest.approx(of_cases, rel=0.1)
    assert (spread.draw_sd == 0).all()


def test_a_sample_of_annotators_is_less_certain_than_these_very_ones(said: ds.Study) -> None:
    sample, fixed = evaluated(said), evaluated(said, "fixed")
    assert fixed.to_frame()["annotator_sd"].is_nan().all()
    one, other = (result.estimates[2].spread for result in (sample, fixed))
    np.testing.assert_array_equal(one.case_sd, other.case_sd)
    ratio = np.sqrt(1 + np.square(one.annotator_sd / one.case_sd))[0, 0]
    assert ratio > 2
    widths = [float(np.ptp(spread.values[0, 0])) for spread in (one, other)]
    assert widths[0] / widths[1] > 0.8 * ratio
    assert [row["mean"] for row in sample.to_frame().to_dicts()] == [row["mean"] for row in fixed.to_frame().to_dicts()]


def test_merged_evaluations_do_not_know_what_annotators_move(said: ds.Study) -> None:
    parts = [evaluated(said.select(cases)) for cases in (slice(0, 30), slice(30, 60))]
    merged = parts[0].merge(parts[1])
    assert all(one.annotators is None for one in merged.estimates)
    assert merged.shared is not None
    assert merged.shared.annotators is None
    assert merged.to_frame()["annotator_sd"].is_nan().all()


def test_agreement_without_some_annotators_is_that_of_the_others(said: ds.Study) -> None:
    """Leaving out and averaging afterwards is the same as evaluating fewer opinions."""
    values, case = values_of(said), said.panel.case_of_opinion
    for kept in (np.flatnonzero(said.annotators != 2), np.flatnonzero(case > 0), np.arange(said.n_opinions)):
        left = said._with_opinions(said.panel.keep(kept), kept)
        own = np.isin(np.arange(values.size), kept).reshape(values.shape)
        counts = own.sum(axis=1)
        expected = np.divide((own * values).sum(axis=1), counts, out=np.full(len(values), np.nan), where=counts > 0)
        np.testing.assert_allclose(opinion_means(left, values.ravel()[None, None, kept])[0, 0], expected)


SITES = ["north", "south", "south"] * 30
HOW: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "draws": 40, "panel": False, "annotators": "fixed"}


@pytest.fixture(scope="module")
def simulated() -> Any:
    return ds.simulate.study(n_cases=90, n_conditions=6, seed=4)


@pytest.fixture(scope="module")
def models(simulated: Any) -> Any:
    return {name: simulated.predictions[name] for name in list(simulated.predictions)[:2]}


@pytest.mark.parametrize("metric", ["top-k-accuracy:1", "matthews"])
def test_a_stratum_has_the_rows_of_a_study_of_its_cases(simulated: Any, models: Any, metric: str) -> None:
    said = simulated.annotations
    truth = {name: said.conditions[place % 6] for place, name in enumerate(said.case_names)}
    found = ds.evaluate(said, models, metrics=[metric], strata={"site": SITES}, truth=truth, **HOW)
    rows = found.by_group("site").filter(stratum="north")
    cases = [name for name, site in zip(said.case_names, SITES, strict=True) if site == "north"]
    asked = {name: model.select(cases) for name, model in models.items()}
    own = {name: truth[name] for name in cases}
    alone = ds.evaluate(said.select(cases), asked, metrics=[metric], truth=own, **HOW)
    for estimand in ("agreement", "truth"):
        one, other = (table.filter(estimand=estimand) for table in (rows, alone.to_frame()))
        assert len(one) == 2
        assert one["mean"].to_list() == pytest.approx(other["mean"].to_list())
        assert one["case_sd"].to_list() == pytest.approx(other["case_sd"].to_list(), rel=0.2)  # of other resamples
    usual = rows.filter(estimand="practice").select("aggregation", "model", "mean").rows()
    expected = alone.point_estimates().select("aggregation", "model", "point_estimate").rows()
    assert usual
    assert {row[:2]: row[2] for row in usual} == pytest.approx({row[:2]: row[2] for row in expected})
    assert rows.filter(estimand="practice")["low"].null_count() == len(usual)


def test_an_opinion_counts_for_the_category_of_what_it_says_first() -> None:
    names, codes = ["a", "b", "c"], np.array([[0, 1, 1], [2, 2, 0], [1, 0, 0], [2, 1, 1]])
    said = ds.Study.from_rankings([[[[names[code]]] for code in row] for row in codes], names)
    risks = ds.Categories.from_mapping({"a": "low", "b": "high", "c": "high"})
    scores = np.eye(3)[[1, 2, 0, 0]]
    found = ds.evaluate(said, {"A": scores}, metrics=["top-k-accuracy:1"], categories=risks, **HOW)
    rows = found.by_category().filter(pl.col("estimand") == "agreement")
    agrees, in_high = codes == np.array([1, 2, 0, 0])[:, None], codes > 0
    for name, counts in (("low", ~in_high), ("high", in_high)):
        (row,) = rows.filter(category=name).to_dicts()
        assert row["mean"] == pytest.approx((agrees * counts).sum() / counts.sum())
        assert row["low"] <= row["mean"] <= row["high"]


PARTS = ("annotator_sd", "fit_sd", "family_sd")


def test_a_stratum_and_a_category_of_everything_have_every_part_of_the_interval() -> None:
    """Two hundred cases, so that there is a panel estimate whose prior is fitted."""
    world = ds.simulate.study(n_cases=200, n_annotators=10, n_conditions=4, seed=2)
    said, models = world.annotations, dict(list(world.predictions.items())[:2])
    alike = ds.Categories.from_mapping(dict.fromkeys(said.conditions, "any"))
    how: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": 40, "categories": alike}
    how["metrics"] = ["matthews", "top-k-accuracy:1"]
    found = ds.evaluate(said, models, strata={"site": ["here"] * 200}, **how)
    for table in (found.by_group("site"), found.by_category()):
        for estimand in ("adjusted", "panel", "agreement"):
            own, whole = (one.filter(estimand=estimand).select(PARTS) for one in (table, found.to_frame()))
            for name in PARTS:
                assert own[name].to_list() == pytest.approx(whole[name].to_list(), rel=1e-6, nan_ok=True)
    assert (found.by_category().filter(estimand="panel").select(PARTS).min_horizontal() > 0).all()


@pytest.mark.parametrize("metric", ["top-k-accuracy:1", "matthews"])
def test_annotators_move_a_stratum_as_they_move_a_study_of_its_cases(metric: str) -> None:
    """Six annotators of different skill; more than twenty would be left out in groups that depend on the cases."""
    rng = np.random.default_rng(5)
    codes = np.where(rng.random((90, 6)) < np.linspace(0, 1, 6), 0, rng.integers(0, 3, (90, 6)))
    who = [[f"reader {j}" for j in range(6 if case % 2 else 3)] for case in range(90)]
    rankings = [
        [[["abc"[code]]] for code, _ in zip(row, names, strict=False)] for row, names in zip(codes, who, strict=True)
    ]
    said = ds.Study.from_rankings(rankings, ["a", "b", "c"], annotator_names=who)
    models = {"A": rng.dirichlet([3, 1, 1], 90), "B": rng.dirichlet([1, 1, 1], 90)}
    how = {**HOW, "aggregations": ["dirichlet:1:alpha=1"], "annotators": "sample", "metrics": [metric]}
    found = ds.evaluate(said, models, strata={"site": SITES}, **how).by_group("site")
    seen: list[float] = []
    for site in ("north", "south"):
        rows = np.flatnonzero(np.array(SITES) == site)
        alone = ds.evaluate(said.select(rows), {name: of[rows] for name, of in models.items()}, **how).to_frame()
        for estimand in ("agreement", "adjusted"):
            both = (table.filter(estimand=estimand) for table in (found.filter(stratum=site), alone))
            one, other = (table["annotator_sd"].to_list() for table in both)
            assert one == pytest.approx(other, rel=1e-9)
            seen += one
    assert np.count_nonzero(seen) >= 2


def test_annotators_move_a_category_as_they_move_the_cases_that_are_all_of_it() -> None:
    rng = np.random.default_rng(7)
    is_high = np.arange(120) % 3 == 0
    codes = (rng.random((120, 5)) < np.linspace(0.1, 0.9, 5)) + 2 * is_high[:, None]
    said = ds.Study.from_rankings(
        [[[["abcd"[code]]] for code in row] for row in codes], list("abcd"), annotator_names=[list("VWXYZ")] * 120
    )
    risks = ds.Categories.from_mapping({"a": "low", "b": "low", "c": "high", "d": "high"})
    columns = {"risk": np.where(is_high, "high", "low").tolist()}
    how = {**HOW, "annotators": "sample", "metrics": ["top-k-accuracy:1"], "categories": risks}
    found = ds.evaluate(said, {"A": np.eye(4)[1 + 2 * is_high]}, strata=columns, **how)
    for risk in ("low", "high"):
        (one,) = found.by_category().filter(category=risk, estimand="agreement").to_dicts()
        (other,) = found.by_group("risk").filter(stratum=risk, estimand="agreement").to_dicts()
        assert one["annotator_sd"] == pytest.approx(other["annotator_sd"], rel=0.05)
        assert one["annotator_sd"] > 0.05
