"""Judges corrected by humans: equal to ppi-python, intervals that hold on simulated truth, and bad input."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import dissensus as ds
from dissensus.decisions.judges import Labelled, best_opinions, error_correlation, prediction_powered, rogan_gladen
from dissensus.predictions.lists import Predictions
from rare import some


def labelled(n: int, n_all: int, *, finite: bool = False, **more: Any) -> Labelled:
    given = {"weights": np.full(n, 1 / n), "strata": np.zeros(n_all, dtype=int), "groups": np.arange(n_all), **more}
    return Labelled(np.arange(n), given["weights"], given["strata"], given["groups"], finite)


@pytest.mark.parametrize("seed", range(4))
def test_means_equal_those_of_ppi_python(seed: int) -> None:
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(seed)
    n, n_others = int(rng.integers(20, 200)), int(rng.integers(50, 2000))
    y = rng.normal(1, 1, n)
    f = np.concatenate([0.3 + rng.uniform(-1, 2) * y + rng.normal(0, 1, n), rng.normal(1, 2, n_others)])
    on = labelled(n, n + n_others)
    tuned = float(np.ravel(ppi.ppi_mean_pointestimate(y, f[:n], f[n:]))[0])
    assert prediction_powered(y, f, on).mean == pytest.approx(tuned, abs=1e-9)
    for lam in (0.0, 0.4, 1.0):  # which is for unlabelled cases there, for all here
        known = float(np.ravel(ppi.ppi_mean_pointestimate(y, f[:n], f[n:], lam=lam))[0])
        found = prediction_powered(y, f, on, lam=lam * (n + n_others) / n_others)
        assert found.mean == pytest.approx(known, abs=1e-9)
    low, high = (float(np.ravel(end)[0]) for end in ppi.ppi_mean_ci(y, f[:n], f[n:], alpha=0.05, lam=0.4))
    found = prediction_powered(y, f, on, lam=0.4 * (n + n_others) / n_others)
    assert 2 * 1.959964 * math.sqrt(found.variance) == pytest.approx(high - low, rel=2 / n)


def holds(truth: float, found: Any) -> bool:
    low, high = found.interval(0.95)
    return bool(low <= truth <= high)


@pytest.mark.parametrize("opinions", some((1, 2, 3, 5), 2))
def test_intervals_hold_with_humans_who_disagree_where_the_judge_alone_never_does(opinions: int) -> None:
    rng, runs, n, n_all = np.random.default_rng(opinions), 800, 60, 800
    corrected = shorter = alone = 0
    for _ in range(runs):
        p = rng.beta(0.8, 1.6, n_all)  # how many humans say yes, of each case; 1 / 3 on average
        y = rng.binomial(opinions, p[:n]) / opinions
        f = np.clip(p + 0.15 + rng.normal(0, 0.1, n_all), 0, 1)
        found = prediction_powered(y, f, labelled(n, n_all))
        corrected += holds(1 / 3, found)
        shorter += found.variance < prediction_powered(y, f, labelled(n, n_all), lam=0.0).variance
        half = 1.96 * f.std() / math.sqrt(n_all)
        alone += abs(f.mean() - 1 / 3) <= half
    assert corrected / runs >= 0.93
    assert shorter / runs > 0.95
    assert alone / runs == 0


@pytest.mark.parametrize("opinions", some((1, 2), 2))
def test_intervals_hold_on_a_simulated_finite_set(opinions: int) -> None:
    rng, runs, n, n_all, held = np.random.default_rng(opinions), 1500, 90, 120, 0
    p = rng.beta(0.5, 0.5, n_all)  # what all humans together say of each case
    f = np.clip(p + rng.normal(0.2, 0.2, n_all), 0, 1)
    for _ in range(runs):
        order = rng.permutation(n_all)
        votes = rng.binomial(opinions, p[order[:n]])
        y = votes / opinions
        within = float(np.mean(y * (1 - y)) * opinions / (opinions - 1)) if opinions > 1 else math.nan
        on = labelled(n, n_all, finite=True)
        held += holds(p.mean(), prediction_powered(y, f[order], on, noise=within / opinions))
    assert held / runs >= 0.93
    assert opinions == 1 or held / runs <= 0.975  # the finite set is used


@pytest.mark.slow
def test_strata_and_groups_give_intervals_that_hold_where_plain_ones_do_not() -> None:
    rng, runs, n_all = np.random.default_rng(5), 600, 1200
    by_stratum = plain = by_group = apart = 0
    for _ in range(runs):
        strata = (rng.random(n_all) < 0.2).astype(int)  # rare cases, of which half of the labelled ones are
        p = np.where(strata == 1, 0.8, 0.2)
        y = (rng.random(n_all) < p).astype(float)
        f = np.clip(p * 0.5 + rng.normal(0.3, 0.1, n_all), 0, 1)
        rows = np.concatenate([np.flatnonzero(strata == 0)[:40], np.flatnonzero(strata == 1)[:40]])
        share = np.bincount(strata) / n_all
        on = Labelled(rows, share[strata[rows]] / 40, strata, np.arange(n_all), False)
        by_stratum += holds(0.32, prediction_powered(y[rows], f, on))
        naive = Labelled(rows, np.full(80, 1 / 80), np.zeros(n_all, dtype=int), np.arange(n_all), False)
        plain += holds(0.32, prediction_powered(y[rows], f, naive, lam=0.0))
        groups = np.arange(n_all) // 6
        own = rng.normal(0, 1, n_all // 6)[groups]
        z, g = own + rng.normal(0, 0.3, n_all), 0.4 + 0.2 * own + rng.normal(0, 1, n_all)
        by_group += holds(0.0, prediction_powered(z[:240], g, labelled(240, n_all, groups=groups)))
        apart += holds(0.0, prediction_powered(z[:240], g, labelled(240, n_all)))
    assert by_stratum / runs >= 0.93
    assert plain / runs < 0.2
    assert by_group / runs >= 0.925
    assert apart / runs < 0.75


def test_rogan_gladen_holds_and_needs_a_judge_who_tells_something() -> None:
    rng, runs, n, n_all = np.random.default_rng(6), 800, 150, 1500
    found = 0
    for _ in range(runs):
        y = (rng.random(n_all) < 0.3).astype(float)
        f = np.where(y == 1, rng.random(n_all) < 0.85, rng.random(n_all) < 0.2).astype(float)
        one = rogan_gladen(y[:n], f, labelled(n, n_all))
        assert one is not None
        found += holds(0.3, one)
    assert found / runs >= 0.93
    y, f = np.array([0.0, 1.0] * 5), np.ones(10)
    assert rogan_gladen(y, f, labelled(10, 10)) is None


@pytest.mark.parametrize(("case", "opinion", "price"), [(0.02, 0.15, 4.0), (0.1, 0.1, 10.0), (0.2, 0.05, 1.0)])
def test_the_recommended_number_of_opinions_is_that_of_the_closed_form(
    case: float, opinion: float, price: float
) -> None:
    recommended = best_opinions(case, opinion, {"case": price, "opinion": 1.0})
    assert abs(recommended - math.sqrt(price * opinion / case)) <= 1


def ambiguous(rng: np.random.Generator, n: int, shared: float) -> tuple[ds.Study, dict[str, Predictions]]:
    """Draw five humans and five judges of ambiguous cases; some answers of judges are copies of the first judge's."""
    p = rng.dirichlet(np.full(4, 0.8), n)
    draw = (rng.random((n, 10, 1)) > p.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    copied = rng.random((n, 5)) < shared
    draw[:, 5:] = np.where(copied, draw[:, [5]], draw[:, 5:])
    counts = np.array([np.bincount(row, minlength=4) for row in draw[:, :5]])
    study = ds.Study.from_counts(counts, ["a", "b", "c", "d"])
    return study, {
        f"judge {j}": Predictions.from_scores(np.eye(4)[draw[:, 5 + j]], study.conditions, case_names=study.case_names)
        for j in range(5)
    }


def test_independent_judges_of_ambiguous_cases_have_no_excess_correlation_and_copies_have() -> None:
    rng = np.random.default_rng(8)
    excesses = [error_correlation(*ambiguous(rng, 400, 0.0)) for _ in range(20)]
    assert np.mean([one["rho"] for one in excesses]) > 0.15  # ambiguity alone correlates errors
    assert abs(np.mean([one["excess"] for one in excesses])) < 0.01
    assert np.mean([one["low"] <= 0 <= one["high"] for one in excesses]) >= 0.8
    copies = error_correlation(*ambiguous(rng, 400, 0.5))
    assert copies["low"] > 0
    assert copies["effective"] < copies["effective_annotators"]


def test_left_out_annotators_are_those_of_a_naive_enumeration() -> None:
    study, judges = ambiguous(np.random.default_rng(9), 30, 0.0)
    pairs, alone = [], []
    codes, votes, case = study.codes, study.votes, study.panel.case_of_opinion
    for own in (np.repeat(codes[case == row], votes[case == row]) for row in range(30)):
        three = [(a, b, c) for a in range(5) for b in range(5) for c in range(5) if len({a, b, c}) == 3]
        pairs.append(np.mean([(own[a] != own[c]) and (own[b] != own[c]) for a, b, c in three]))
        alone.append(np.mean([own[a] != own[c] for a, _, c in three]))
    m = np.mean(alone)
    assert error_correlation(study, judges)["annotators"] == pytest.approx((np.mean(pairs) - m**2) / (m - m**2))


def binary(rng: np.random.Generator, n_all: int, opinions: int) -> tuple[ds.Study, Any, Any, np.ndarray]:
    """Draw a yes-or-no question, labels of humans, a judge, and a model that is to be evaluated."""
    hard = rng.normal(0, 1.5, n_all)
    p = 1 / (1 + np.exp(-hard))
    votes = rng.binomial(opinions, p)
    study = ds.Study.from_counts(np.stack([opinions - votes, votes], axis=1), ["no", "yes"], question="binary")
    judge = (hard + rng.normal(0.5, 1, n_all) > 0).astype(float)
    score = 1 / (1 + np.exp(-(hard + rng.normal(0, 1.5, n_all))))

    def scored(yes: np.ndarray) -> Predictions:
        return Predictions.from_scores(np.stack([1 - yes, yes], axis=1), ["no", "yes"], case_names=study.case_names)

    return (study, {"judge": scored(judge)}, {"model": scored(score)}, p)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auroc", "sensitivity:threshold=0.5", "top-k-accuracy:1"])
def test_metrics_corrected_by_few_labels_hold_where_the_judge_alone_does_not(metric: str) -> None:
    rng = np.random.default_rng(10)
    everything = binary(rng, 20_000, 3)
    whole = ds.judges(*everything[:2], metric, predictions=everything[2])
    truth = whole.rows[0]["humans_alone"]
    corrected = alone = narrower = 0
    for _ in range(100):
        study, judge, model, _ = binary(rng, 1000, 3)
        row = ds.judges(study.select(range(150)), judge, metric, predictions=model).rows[0]
        corrected += row["low"] <= truth <= row["high"]
        alone += abs(row["judge_alone"] - truth) < 0.02
        narrower += row["high"] - row["low"] < row["humans_high"] - row["humans_low"]
    assert corrected >= 90  # of 100
    assert metric != "auroc" or alone < 5
    assert narrower > 75


def test_a_share_has_rogan_gladen_beside_it_and_says_what_to_ask_for() -> None:
    study, judge, _, p = binary(np.random.default_rng(11), 2000, 3)
    found = ds.judges(study.select(range(200)), judge, width=0.06, costs={"case": 4, "opinion": 1})
    row = found.rows[0]
    assert row["low"] <= p.mean() <= row["high"]
    assert row["rogan_gladen_low"] <= p.mean() <= row["rogan_gladen_high"]
    assert 1 <= row["opinions"] <= 10
    assert row["cost"] == row["labels"] * (4 + row["opinions"])
    wider = ds.judges(study.select(range(200)), judge, width=0.12).rows[0]
    assert wider["labels"] < row["labels"]
    assert len(repr(found).splitlines()) <= 20
    assert "share of yes" in found._repr_html_()
    assert ds.judges(study.select(range(200)), judge, width=1e-4).rows[0]["labels"] == math.inf


def test_repeated_answers_are_averaged_and_their_consistency_is_told() -> None:
    rng = np.random.default_rng(13)
    study, judge, _, _ = binary(rng, 300, 3)
    [one] = judge.values()
    turned = one.to_scores()
    some = rng.random(300) < 0.2
    turned[some] = turned[some][:, ::-1]
    again = Predictions.from_scores(turned, ["no", "yes"], case_names=study.case_names)
    found = ds.judges(study.select(range(100)), {"judge": [one, again]})
    assert found.consistency[0]["agreement"] == pytest.approx(1 - some.mean())
    assert 0 < found.consistency[0]["within"] < 1
    assert "two answers agree" in repr(found)
    assert [row["model"] for row in found.experts(metrics=["top-k-accuracy:1"]).rows] == ["judge"]


def test_labelled_cases_that_are_not_like_the_others_are_noted() -> None:
    study, judge, _, _ = binary(np.random.default_rng(14), 1000, 2)
    first = judge["judge"].to_scores()[:, 1]
    chosen = np.argsort(-first, kind="stable")[:100]
    found = ds.judges(study.select(sorted(chosen.tolist())), judge)
    assert any("not like the others" in note for note in found.notes)
    strata = {name: str(value) for name, value in zip(study.case_names, first, strict=True)}
    mixed = [*np.flatnonzero(first == 1)[:80].tolist(), *np.flatnonzero(first == 0)[:20].tolist()]
    row = ds.judges(study.select(sorted(mixed)), judge, strata=strata).rows[0]
    whole = ds.judges(study, judge).rows[0]["humans_alone"]
    assert row["low"] <= whole <= row["high"]


def test_ratings_of_named_humans_count_their_choice_as_well() -> None:
    rng = np.random.default_rng(15)
    strict = rng.normal(0, 0.5, 6)
    scores = rng.normal(3, 1, (200, 1)) + strict + rng.normal(0, 0.5, (200, 6))
    rows = [(str(i), f"r{j}", scores[i, j]) for i in range(100) for j in range(6)]
    said = ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "score"], orient="row"))
    f = {"judge": Predictions.from_numbers(scores.mean(axis=1) + 0.4 + rng.normal(0, 0.2, 200))}
    row = ds.judges(said, f).rows[0]
    assert row["high"] - row["low"] > 2 * float(stdtrit(5, 0.975)) * 0.3 * strict.std(ddof=1) / math.sqrt(6)
    assert row["low"] <= 3 <= row["high"]
