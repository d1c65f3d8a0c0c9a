"""Metrics of a whole data set inside an evaluation: what cases add, groups of cases, and findings of cases."""

from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.evaluation import influences
from dissensus.evaluation.influences import DataSet, SeenScores, case_of_each, whole_of
from dissensus.evaluation.labels import Labels, data_set_metrics
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
    SpecificityAtSensitivity,
    TopKAccuracy,
)
from dissensus.metrics.data_set import Said
from dissensus.plugins import Metric
from dissensus.simulate.answers import SimulatedAnswers

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


def test_values_of_draws_are_the_metric_of_every_draw() -> None:
    data = data_set(n=50)
    found = data.valued([AUROC()])
    masses = data.labels["top"].block(range(64))
    naive = [AUROC().of_draws(data.said[0], masses[[draw]])[0] for draw in range(64)]
    np.testing.assert_array_equal(found.whole.values[0, 0], naive)
    np.testing.assert_array_equal(whole_of(lambda: [data], [AUROC()], most=13).values[0, 0], naive[::5])


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
