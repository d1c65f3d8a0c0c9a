"""Metrics of a whole data set inside an evaluation: what cases add, groups of cases, and findings of cases."""

from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import AnnotatorBootstrap, Dirichlet, MajorityVote, PlackettLuce
from dissensus.draws import Batch
from dissensus.evaluation import influences
from dissensus.evaluation.influences import DataSet, SeenScores, case_of_each, whole_of
from dissensus.evaluation.labels import Labels, check_soft, data_set_metrics, labels_of, settled, vote_labels
from dissensus.evaluation.request import Questions, cases_of_rows
from dissensus.evaluation.sums import block_places
from dissensus.metrics import (
    AUROC,
    AveragePrecision,
    BrierScore,
    CohenKappa,
    FBeta,
    Matthews,
    PartialAUROC,
    Sensitivity,
    SensitivityAtSpecificity,
    Specificity,
    SpecificityAtSensitivity,
    TopKAccuracy,
)
from dissensus.metrics.base import Average, Drawn
from dissensus.metrics.data_set import Said
from dissensus.plugins import Aggregation, Metric
from dissensus.simulate.answers import SimulatedAnswers
from metrics.metric_studies import one_batch
from refusals import refused

METRICS = ["auroc", "sensitivity", "f-beta:1", "top-k-accuracy:1", "cohen-kappa"]


def data_set(n: int = 300, seed: int = 0) -> DataSet:
    """Make cases with uncertain labels and a model that knows something."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.5, 1.0, n)
    score = np.clip(chance + rng.normal(0, 0.3, n), 0.01, 0.99)
    bits = (rng.random((n, 64)) < chance[:, None]).astype(np.uint8)
    means = np.column_stack([1 - bits.mean(axis=1), bits.mean(axis=1)])
    packed = np.packbits(bits, axis=1, bitorder="little")
    labels = Labels("bits", 64, packed, means, np.empty((n, 0, 2), dtype=np.float32))
    said = Said.of_scores(np.column_stack([1 - score, score]), rng.uniform(0.5, 2.0, n), is_binary=True)
    return DataSet((said,), {"top": labels})


@pytest.mark.parametrize("metric", [AUROC(), Sensitivity(), FBeta(), CohenKappa(), Matthews()], ids=repr)
def test_pseudo_values_foretell_what_other_weights_of_cases_do(metric: Metric) -> None:
    data, rng = data_set(), np.random.default_rng(1)
    [whole] = data_set_metrics([metric])
    found = data.valued([whole])
    pseudo = found.influences[0][0, 0]
    weights = data.said[0].weights
    np.testing.assert_allclose(np.average(pseudo, weights=weights), found.whole.centres[0, 0], atol=1e-10)
    moved, told = [], []
    for _ in range(60):
        factor = rng.exponential(size=len(weights))
        said = replace(data.said[0], weights=weights * factor)
        moved.append(DataSet((said,), data.labels).valued([whole]).whole.centres[0, 0])
        told.append(np.average(pseudo, weights=weights * factor))
    assert np.corrcoef(moved, told)[0, 1] > 0.97
    assert abs(np.std(told) / np.std(moved) - 1) < 0.12


def of_three_conditions(n: int = 50) -> DataSet:
    """Make cases with one label of three in every draw, and a model with many tied scores; draw 0 has one label."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (n, 64)).astype(np.uint8)
    codes[:, 0] = 2
    labels = Labels("codes", 64, codes, np.eye(3)[codes].mean(axis=1), np.empty((n, 0, 3), dtype=np.float32))
    return DataSet((Said.of_scores(rng.integers(0, 4, (n, 3)) / 3.0, rng.uniform(0.5, 2.0, n)),), {"top": labels})


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("data", [data_set(n=50), of_three_conditions()], ids=["two conditions", "three"])
def test_values_of_draws_are_the_metric_of_every_draw(data: DataSet, average: Average) -> None:
    """Of draws that are sure of their labels, sums are counted; of one draw's masses, they are added up."""
    metrics = [AUROC(average), Sensitivity(average=average), FBeta(average=average), Specificity(average=average)]
    found, masses = whole_of(lambda: [data], metrics).values[0], data.labels["top"].block(range(64))
    naive = [[metric.of_draws(data.said[0], masses[[draw]])[0] for draw in range(64)] for metric in metrics]
    np.testing.assert_allclose(found, naive, rtol=1e-12)
    some = whole_of(lambda: [data], metrics, most=13).values[0]
    np.testing.assert_allclose(some, np.array(naive)[:, ::5], rtol=1e-12)


def pieces_of(data: DataSet, number: int) -> list[DataSet]:
    """Cut cases into pieces, which know the scores of all cases that are told apart."""
    seen, cases = SeenScores(), np.array_split(np.arange(data.said[0].n_cases), number)
    for own in cases:
        seen = seen.plus(data.said[0].scores[own, 1])
    said = replace(data.said[0], marks=(seen.marks(),))
    return [DataSet((said,), data.labels).take(own) for own in cases]


ORDERED = [AUROC(), AveragePrecision(), PartialAUROC(0.2), SensitivityAtSpecificity(0.9), SpecificityAtSensitivity(0.9)]
SUMMED = [*ORDERED, Sensitivity(), CohenKappa()]


def test_pieces_say_what_all_cases_say_while_scores_are_told_apart() -> None:
    data = data_set(700)
    whole, parts = whole_of(lambda: [data], SUMMED), pieces_of(data, 4)
    found = whole_of(lambda: parts, SUMMED, is_alone=False)
    for one, other in ((whole.values, found.values), (whole.mass, found.mass), (whole.counted, found.counted)):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert not found.off.any()
    expected, valued = data.valued(SUMMED), [part.valued(SUMMED, found) for part in parts]
    pseudo = np.concatenate([one.influences[0] for one in valued], axis=-1)
    np.testing.assert_allclose(pseudo, expected.influences[0], rtol=1e-10, atol=1e-12)
    gaps, masses = (np.asarray(sum(one)) for one in zip(*(one.squares() for one in valued), strict=True))
    np.testing.assert_allclose(found.reaches(SUMMED, gaps, masses), whole.reaches(SUMMED, *expected.squares()), 1e-10)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_scores_in_bins_are_off_by_no_more_than_is_said(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where many cases have one and the same score."""
    monkeypatch.setattr(influences, "MOST_MARKS", 100)
    data, rng = data_set(3000), np.random.default_rng(2)
    scores = data.said[0].scores.copy()
    scores[rng.random(3000) < share] = 0.7, 0.3
    data = DataSet((replace(data.said[0], scores=scores),), data.labels)
    parts = pieces_of(data, 7)
    assert len(parts[0].said[0].marks[0]) <= 110
    whole, found = whole_of(lambda: [data], ORDERED), whole_of(lambda: parts, ORDERED, is_alone=False)
    gaps = np.abs(found.values - whole.values).max(axis=-1)
    assert (gaps[0, :4] > 1e-6).all()
    assert (gaps <= found.off + 1e-12).all()
    assert found.off[0, 0] < 0.01  # about 1 / (8 x prevalence x (1 - prevalence) x bins) in equal bins
    assert (found.off < 0.1).all()


def test_what_is_kept_between_pieces_does_not_grow_with_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(influences, "MOST_MARKS", 64)

    def kept(n: int) -> int:
        parts = pieces_of(data_set(n), n // 250)
        found = whole_of(lambda: parts, SUMMED, is_alone=False)
        sums = [one for of_metric in found.added.values() for one in of_metric]
        return sum(one.nbytes for one in (*sums, found.values, found.counted, parts[0].said[0].marks[0]))

    assert kept(8000) <= 1.05 * kept(1000)


def test_an_added_case_weighs_as_much_as_a_positive_one_where_these_count() -> None:
    """Of answers that are right or wrong, the effective number of cases is that of the positive ones."""
    n, n_positive = 400, 40
    labels = np.zeros((n, 2))
    labels[:n_positive, 1] = labels[n_positive:, 0] = 1
    calls = np.zeros(n)
    calls[:20] = 1
    said = Said.of_scores(np.column_stack([1 - calls, calls]), is_binary=True)
    one = Labels("masses", 1, labels[:, None], labels, np.empty((n, 0, 2), dtype=np.float32))
    found = DataSet((said,), {"top": one}).valued([Sensitivity()])
    reach = found.whole.reaches([Sensitivity()], *found.squares())[0, 0]
    assert abs(reach / (n / n_positive) - 1) < 0.03


def test_perfect_sensitivity_has_the_interval_of_jeffreys() -> None:
    counts = np.tile([[0, 9]], (15, 1)).tolist() + np.tile([[9, 0]], (285, 1)).tolist()
    said = ds.Study.from_counts(counts, ["no", "yes"], question="binary")
    scores = np.array(counts) / 9.0
    how = {"aggregations": ["majority-vote"], "metrics": ["sensitivity"], "panel": False, "level": 0.9}
    result = ds.evaluate(said, {"A": scores}, **how)  # type: ignore[arg-type]
    row = result.to_frame().row(0, named=True)
    assert row["mean"] == 1.0
    assert abs(row["low"] - 0.878) < 0.02  # the 5 % quantile of Beta(15.5, 0.5)


def test_findings_and_cases_of_rows_are_numbered() -> None:
    assert case_of_each(["x / AF", "y / AF", "x / ST"], ["AF", "AF", "ST"]).tolist() == [0, 1, 0]
    assert cases_of_rows(["x / AF", "y / AF", "x / ST"], ["AF", "ST"]) == ("x", "y")
    assert cases_of_rows(["x", "y"], []) == ("x", "y")
    assert block_places([TopKAccuracy(1), AUROC(), BrierScore(), FBeta()], "data set") == [1, 3]


@pytest.fixture(scope="module")
def simulated() -> SimulatedAnswers:
    return ds.simulate.checklists(n_cases=140, seed=5)


def test_every_finding_is_a_question_with_a_prior_of_its_own(simulated: SimulatedAnswers) -> None:
    said, models = simulated.checklists, dict(list(simulated.predictions.items())[:2])
    options = {"metrics": METRICS, "draws": 60, "aggregations": ["dirichlet:1"], "annotators": "fixed"}
    whole = ds.evaluate(said, models, **options)  # type: ignore[arg-type]
    asked = Questions.of(said, models)
    assert whole.n_cases == said.n_cases * said.n_findings
    finding = said.findings[2]
    rows = asked.parts[finding]
    alone = ds.evaluate(*asked.of_part(rows), **options)  # type: ignore[arg-type]
    found = whole.by_group("finding").filter(stratum=finding).drop("stratum")
    for mine, other in zip(found.iter_rows(named=True), alone.to_frame().iter_rows(named=True), strict=False):
        if other["estimand"] != "agreement" and mine["metric"] != "AUROC":
            assert mine["model"] == other["model"]
            assert mine["mean"] == pytest.approx(other["mean"], abs=1e-12)


def test_macro_values_are_means_over_findings(simulated: SimulatedAnswers) -> None:
    said, models = simulated.checklists, dict(list(simulated.predictions.items())[:1])
    result = ds.evaluate(said, models, metrics=["auroc"], draws=40, aggregations=["dirichlet:1"], panel=False)
    of_findings = result.by_group("finding").filter(estimand="adjusted")["mean"].to_numpy()
    assert len(of_findings) == len(said.findings)
    assert result.to_frame()["mean"][0] == pytest.approx(of_findings.mean(), abs=1e-12)
    assert result.n_groups == said.n_cases  # findings of a case are resampled together


SAID = ds.Study.from_counts([[3, 1, 0], [0, 2, 2], [1, 1, 1], [0, 0, 4]], ["a", "b", "c"])
BINARY = ds.Study.from_counts([[3, 1], [2, 2], [0, 5]], ["no", "yes"], question="binary")


def batch_of(aggregation: Aggregation, study: ds.Study, draws: int = 40) -> Batch:
    return one_batch(aggregation.sample(study, draws=draws, seed=2))


def top_shares(batch: Batch) -> np.ndarray:
    """Share of every condition in the first place of every draw, from dense draws: (n_cases, n_draws, K)."""
    dense = batch.dense()
    best = dense == dense.max(axis=2, keepdims=True)
    return np.asarray(best / best.sum(axis=2, keepdims=True))


FULL = ds.Study.from_counts([[3, 1, 1], [1, 2, 2], [1, 1, 1], [1, 1, 4]], ["a", "b", "c"])
"""Somebody mentions every condition of every case, so that draws have no ties."""


@pytest.mark.parametrize("study", [FULL, BINARY], ids=["three", "two"])
def test_labels_of_draws_without_ties_are_their_most_plausible_conditions(study: ds.Study) -> None:
    batch = batch_of(Dirichlet(), study)
    labels = labels_of(Drawn(batch, 1), "top", seed=0)
    assert labels.form == ("bits" if study.n_conditions == 2 else "codes")
    naive = top_shares(batch)
    np.testing.assert_array_equal(labels.block(range(40)).transpose(2, 0, 1), naive)
    np.testing.assert_allclose(labels.means, naive.mean(axis=1))
    np.testing.assert_array_equal(labels.block(range(3, 40, 5)), labels.block(range(40))[3::5])


def test_a_single_draw_keeps_its_ties() -> None:
    labels = labels_of(Drawn(batch_of(MajorityVote(), SAID), 1), "top", seed=0)
    shares = np.array([[1, 0, 0], [0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]])
    np.testing.assert_allclose(labels.block(range(1))[0].T, shares)


def test_ties_of_several_draws_are_broken_at_random_and_the_same_for_the_same_seed() -> None:
    batch = batch_of(AnnotatorBootstrap(MajorityVote()), BINARY, draws=2000)
    first, again, other = (labels_of(Drawn(batch, 1), "top", seed=seed) for seed in (1, 1, 2))
    shares = top_shares(batch)
    assert ((shares > 0) & (shares < 1)).any()
    assert first == again
    assert not np.array_equal(first.data, other.data)
    masses = first.block(range(2000)).transpose(2, 0, 1)
    assert set(np.unique(masses)) == {0.0, 1.0}
    assert masses[shares == 1].all()
    np.testing.assert_allclose(masses.mean(axis=1), first.means, atol=0.05)  # 4.5 standard errors
    np.testing.assert_allclose(first.means, shares.mean(axis=1))


def test_chance_decides_in_proportion() -> None:
    tied = np.array([[0.75], [0.25]])
    keys = np.arange(4000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    chosen = settled(tied, np.zeros((4000, 1), dtype=np.int64), keys)
    assert abs(chosen.mean() - 0.25) < 0.03  # 4.4 standard errors


@pytest.mark.parametrize("aggregation", [Dirichlet(), PlackettLuce(2, prior="symmetric", alpha=0.5)], ids=repr)
def test_plausibilities_as_labels_are_those_of_dense_draws_on_average(aggregation: Aggregation) -> None:
    said = ds.Study.from_rankings([[[["a"]], [["b"]]], [[["c"]]]], ["a", "b", "c", "d"])
    batch = batch_of(aggregation, said, draws=3000)
    labels = labels_of(Drawn(batch, 1), "soft", seed=0)
    masses = labels.block(range(3000)).transpose(2, 0, 1)
    np.testing.assert_allclose(masses.sum(axis=2), 1, atol=1e-6)
    np.testing.assert_allclose(masses.mean(axis=1), batch.dense().mean(axis=1), atol=0.03)
    np.testing.assert_allclose(masses[0][:, :2], batch.dense()[0][:, :2], atol=1e-6)


def test_refits_weigh_the_labels_of_draws() -> None:
    batch, rng = batch_of(Dirichlet(), BINARY), np.random.default_rng(0)
    weights = [rng.dirichlet(np.ones(20), size=3) for _ in range(3)]
    labels = labels_of(Drawn(batch, 1), "top", seed=0, weights=weights, step=2)
    masses = labels.block(range(40)).transpose(2, 0, 1)[:, ::2]
    naive = np.array([of_case @ masses[case] for case, of_case in enumerate(weights)])
    np.testing.assert_allclose(labels.moved, naive, atol=1e-6)


def test_cases_are_taken_by_position_and_labels_within_conditions_have_no_mass_elsewhere() -> None:
    labels = labels_of(Drawn(batch_of(Dirichlet(), SAID), 1), "top", seed=0)
    assert Labels.joined([labels.take(np.array(some)) for some in ([0, 1], [2], [3])]) == labels
    inside, whole = labels.within(np.array([0, 2])), labels.block(range(40))
    whole[:, 1] = 0
    np.testing.assert_array_equal(inside.block(range(40)), whole)
    np.testing.assert_allclose(inside.means, labels.means * np.array([1.0, 0.0, 1.0]))


def test_votes_are_shares_of_first_choices() -> None:
    said = ds.Study.from_rankings(
        [[[["a"], ["b"]], [["b", "c"]], [["b"]]], [[["c"]], []], []],
        ["a", "b", "c"],
        case_names=["x", "y", "z"],
        weights=[[2.0, 1.0, 1.0], [1.0, 1.0], []],
    )
    votes = vote_labels(said, ["y", "x"])
    np.testing.assert_allclose(votes.means, np.array([[0, 0, 1], [2 / 4, 1.5 / 4, 0.5 / 4]]))
    votes = vote_labels(ds.Study.from_scores([[1, 3], [5]], case_names=["x", "y"]), ["x", "y"])
    np.testing.assert_allclose(votes.means, np.array([[1.0, 2.0, 5.0], [1.0, 5.0, 25.0]]))  # 1, scores and squares
    np.testing.assert_allclose(votes.block(range(1))[0].T, votes.means)


def test_plausibilities_of_very_many_conditions_are_refused_as_labels() -> None:
    check_soft(64)
    refused("truth='top'", check_soft, 65)
