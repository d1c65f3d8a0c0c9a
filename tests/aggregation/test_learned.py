"""What is learned from a study adds up over its parts, and parts then have the draws of the whole, bit for bit."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    GivenDraws,
    MajorityVote,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    PlackettLuce,
    ProbabilisticInverseRank,
)
from dissensus.aggregations.point_estimates import votes
from dissensus.aggregations.priors import LearnedPrior, Lessons, ScoreRange, taught
from dissensus.core.bundle import bundled, restored
from dissensus.core.names import case_keys, sampled_cases
from dissensus.core.ragged import row_of_each

SPECS = (
    PlackettLuce(2.5),
    PlackettLuce(prior="symmetric"),
    PlackettLuce(prior="frequency", alpha=2.0),
    PlackettLuce(prior="observed"),
    Dirichlet(alpha="fitted"),
    Dirichlet(0.5, prior="frequency", alpha="fitted"),
    ProbabilisticInverseRank(alpha=0.1),
    AnnotatorBootstrap(),
    MajorityVote(),
)


def random_study(seed: int, n_cases: int) -> ds.Study:
    """Rankings with ties, weights, votes and abstentions over up to 60 conditions."""
    rng = np.random.default_rng(seed)
    n_conditions = int(rng.integers(3, 61))
    names = [f"c{k}" for k in range(n_conditions)]
    plausible = rng.dirichlet(np.full(n_conditions, 0.3)) + 1e-6
    cases, weights = [], []
    for _ in range(n_cases):
        said = []
        for _ in range(rng.integers(0, 5)):
            order = rng.choice(
                n_conditions, size=rng.integers(0, 4) % n_conditions, replace=False, p=plausible / plausible.sum()
            )
            cuts = np.flatnonzero(rng.random(max(len(order) - 1, 0)) < 0.7) + 1
            said.append([[names[k] for k in block] for block in np.split(order, cuts) if len(block)])
        cases.append(said)
        weights.append(rng.choice([1.0, 0.3, 2.0], size=len(said)).tolist())
    cases[0], weights[0] = [[[names[0]]], [[names[0]]], [[names[1]]]], [1.0, 1.0, 1.0]
    return ds.Study.from_rankings(cases, names, weights=weights, case_names=[f"x{i}" for i in range(n_cases)])


def random_parts(study: ds.Study, seed: int) -> list[ds.Study]:
    rng = np.random.default_rng(seed)
    part = rng.integers(0, rng.integers(1, 9), size=study.n_cases)
    return [study.select(rng.permutation(np.flatnonzero(part == own))) for own in rng.permutation(np.unique(part))]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), n_cases=st.integers(2, 30))
@pytest.mark.filterwarnings("ignore:alpha is not learned:dissensus.DissensusWarning")
@pytest.mark.filterwarnings("ignore:the fitted prior mass:dissensus.DissensusWarning")
def test_parts_of_random_studies_have_the_draws_of_the_whole(seed: int, n_cases: int) -> None:
    study = random_study(seed, n_cases)
    parts = random_parts(study, seed)
    lessons = sum(map(Lessons.of, parts[1:]), start=Lessons.of(parts[0]))
    assert lessons == Lessons.of(study)
    for spec in SPECS:
        whole = spec.sample(study, draws=7, seed=seed)
        learned = taught(spec, lessons, study.conditions)
        for part in parts:
            if Lessons.of(part).n_cases:
                drawn = learned.sample(part, draws=7, seed=seed)
                np.testing.assert_array_equal(drawn.dense(), whole.select(list(drawn.case_names)).dense())
                assert drawn.fitted == whole.fitted


def test_conditions_that_parts_do_not_know_are_joined_by_name() -> None:
    study = ds.Study.from_rankings([[[["b"]], [["a"]]], [[["c"], ["b"]], [["c"]]], [[["b"]], [["b"]]]], ["a", "b", "c"])
    narrow = [
        ds.Study.from_rankings(part.to_rankings(), case_names=part.case_names)
        for part in (study.select([place]) for place in (2, 0, 1))
    ]
    assert [part.conditions for part in narrow] == [("b",), ("a", "b"), ("b", "c")]
    found = sum(map(Lessons.of, narrow[1:]), start=Lessons.of(narrow[0]))
    assert found == Lessons.of(study)
    assert found.recoded(["c", "z", "b", "a"]).mentions.tolist() == [1.0, 0.0, 3.0, 1.0]
    with pytest.raises(ds.DissensusError, match="not among the conditions"):
        found.recoded(["a", "b"])


def test_kinds_of_choices_are_those_counted_case_by_case() -> None:
    study = random_study(4, 40)
    opinions, found = study.opinions, Lessons.of(study)
    case, counts = row_of_each(opinions.support_offsets), votes(opinions)
    expected: Counter[tuple[float, ...]] = Counter()
    for code, own, count in zip(opinions.support.tolist(), case.tolist(), counts.tolist(), strict=True):
        if counts[case == own].sum() > 1.0 + 1e-9:
            expected[code, (case == own).sum(), round(count, 9)] += 1
    kinds: Counter[tuple[float, ...]] = Counter()
    for code, size, count, number in found.kinds.tolist():
        kinds[code, size, round(count, 9)] += int(number)
    assert kinds == expected
    assert restored(bundled(found), [Lessons, ScoreRange]) == found


def test_the_order_of_conditions_moves_a_fitted_alpha_by_rounding_only() -> None:
    study = ds.simulate.study(n_cases=60).annotations
    one, other = Lessons.of(study), Lessons.of(study.with_conditions(study.conditions[::-1]))
    assert other.fitted_alpha("frequency") == pytest.approx(one.fitted_alpha("frequency"))


def test_draws_from_elsewhere_and_unknown_learners_are_not_split() -> None:
    class Learner(MajorityVote):
        @property
        def learns(self) -> bool:
            return True

    drawn = ds.Plausibilities.from_draws([[[0.5, 0.5]]], conditions=["a", "b"], case_names=["x"])
    assert "made elsewhere" in GivenDraws(drawn).needs_whole
    assert "depend on other cases" in Learner().needs_whole
    prior = NormalInverseGammaPrior(0.0, 1.0, 2.0, 1.0)
    assert "estimated" in NormalInverseGamma().needs_whole
    assert "shifts" in NormalInverseGamma((0.0,), prior, shifts=True).needs_whole
    assert "median" in NormalInverseGamma(prior=prior).needs_whole
    assert not NormalInverseGamma((0.0,), prior).needs_whole


def test_what_was_learned_about_other_conditions_is_refused() -> None:
    study = ds.simulate.study(n_cases=30).annotations
    spec = PlackettLuce().with_learned(LearnedPrior(("a", "b"), np.ones(2), 1.0))
    with pytest.raises(ds.DissensusError, match="about other conditions"):
        spec.sample(study)


def test_sampled_cases_are_those_of_the_smallest_keys_whatever_the_order_and_the_parts() -> None:
    names = [f"case {i}" for i in range(50)]
    chosen = {names[place] for place in sampled_cases(names, 12)}
    keys = dict(zip(names, case_keys(names).tolist(), strict=True))
    assert chosen == set(sorted(names, key=keys.__getitem__)[:12])
    parts = [names[30:], names[:30][::-1]]
    some = [part[place] for part in parts for place in sampled_cases(part, 12)]
    assert {some[place] for place in sampled_cases(some, 12)} == chosen
    assert sampled_cases(names, 60).tolist() == list(range(50))
