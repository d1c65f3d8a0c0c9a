"""Diagnostics: against arviz-stats as an oracle, on good and on bad chains, and what users are told."""

import sys

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

import dissensus as ds
from dissensus.aggregations import MajorityVote, PlackettLuce, sampling_diagnostics, to_xarray
from dissensus.aggregations.diagnostics import Diagnostics, chained
from dissensus.core.errors import MissingExtraError
from rare import some

STUDY = ds.simulate.study(n_cases=6, n_conditions=8, seed=4).annotations


def test_diagnostics_agree_with_arviz() -> None:
    drawn = PlackettLuce(chains=4).sample(STUDY, draws=800)
    found = sampling_diagnostics(drawn)
    batch = next(iter(drawn))
    for case in range(batch.n_cases):
        chains = chained(batch.of_case(case), 4)
        rhat = [array_stats.rhat(chains[:, :, k], chain_axis=0, draw_axis=1) for k in range(chains.shape[2])]
        ess = [array_stats.ess(chains[:, :, k], chain_axis=0, draw_axis=1) for k in range(chains.shape[2])]
        assert found.rhat[case] == pytest.approx(max(rhat), rel=1e-6)
        assert found.ess[case] == pytest.approx(min(ess), rel=1e-6)


def test_too_few_draws_are_reported_by_case_name() -> None:
    found = sampling_diagnostics(PlackettLuce(chains=2).sample(STUDY, draws=30))
    assert found.has_few_draws.all()
    sentence = next(text for text in found.warnings() if "effective sample size below 100" in text)
    assert "6 of 6 cases" in sentence
    assert "'case 1'" in sentence
    assert sentence in repr(found)


def test_chains_that_have_not_converged_are_reported() -> None:
    good = np.ones(3)
    found = Diagnostics(
        ("a", "b", "c"), 1000, np.array([1.0, 1.2, 1.0]), 1000 * good, good, good, good, 1000 * good, 0.01 * good
    )
    assert found.warnings() == ["1 of 3 cases have R-hat above 1.01 by more than chance; raise warmup or draws: 'b'"]


@pytest.mark.parametrize("n_chains", some((1, 4), 4))
def test_chains_that_have_converged_are_rarely_reported_and_those_that_have_not_are(n_chains: int) -> None:
    rng, alarms = np.random.default_rng(8), list[int]()
    for _ in range(30):
        first = rng.beta(3.0, 2.0, size=(100, 400))
        if len(alarms) == 29:  # one case of the last study: a quarter of the draws, or one chain, is elsewhere
            first[7, :100] *= 0.5
        drawn = ds.Plausibilities.from_draws(np.stack([first, 1 - first], axis=2), n_chains=n_chains)
        found = sampling_diagnostics(drawn)
        alarms.append(int(found.has_not_converged.sum()))
    assert np.count_nonzero(alarms[:29]) <= 5  # 5 % of 29 are 1.5; more than 5 have a chance of 1 in 300
    assert found.has_not_converged[7]


def test_every_chain_gives_its_first_draws_whatever_their_number() -> None:
    """Asking for 10 draws in 4 chains gives 3, 3, 2 and 2 of the draws that 12 would give."""
    for draws in (1, 3, 5, 11):
        drawn = PlackettLuce(chains=4).sample(STUDY, draws=draws)
        assert drawn.dense().shape == (6, draws, 8)
        sampling_diagnostics(drawn)
    twelve, ten = (next(iter(PlackettLuce(chains=4).sample(STUDY, draws=draws, threads=1))) for draws in (12, 10))
    for case in range(ten.n_cases):
        np.testing.assert_array_equal(ten.of_case(case), twelve.of_case(case)[[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]])


def test_precision_raises_the_number_of_draws() -> None:
    disputed = ds.Study.from_rankings([[[["a"], ["b"]], [["b"], ["a"]], [["c", "a"]]]], ["a", "b", "c"])
    rough = PlackettLuce().sample(disputed, draws=50)
    assert sampling_diagnostics(rough).certainty_mcse.max() > 0.02
    fine = PlackettLuce().sample(disputed, draws=50, precision=0.02)
    assert fine.n_draws > 50
    assert sampling_diagnostics(fine).certainty_mcse.max() <= 0.02
    certain = MajorityVote().sample(disputed, precision=0.001)
    assert certain.n_draws == 1
    found = sampling_diagnostics(certain)
    assert (found.mcse == 0).all()
    assert (found.certainty_mcse == 0).all()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingExtraError, match=r"dissensus\[arviz\]"):
        to_xarray(PlackettLuce().sample(STUDY, draws=10))


def test_convergence_is_judged_by_plausibilities_above_one_percent() -> None:
    rng = np.random.default_rng(1)
    tiny = np.where(np.arange(400) < 100, 1e-3, 1e-6) * rng.uniform(0.9, 1.1, size=400)  # the first chain differs
    noticeable = rng.uniform(0.4, 0.6, size=400)
    values = np.stack([noticeable, tiny, 1 - noticeable - tiny], axis=1)[None]
    drawn = ds.Plausibilities.from_draws(values, conditions=["a", "b", "c"], case_names=["x"], n_chains=4)
    found = sampling_diagnostics(drawn)
    assert not found.has_not_converged.any()
    swapped = ds.Plausibilities.from_draws(
        np.stack([noticeable * tiny * 100, 1 - noticeable * tiny * 100], axis=1)[None],
        conditions=["a", "b"],
        case_names=["x"],
        n_chains=4,
    )
    assert sampling_diagnostics(swapped).has_not_converged.all()
