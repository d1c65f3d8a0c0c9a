"""Laws that hold for every aggregation; they run on each of them by reflection."""

import pickle
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus import aggregations as a
from dissensus import draws as flow
from dissensus.aggregations.priors import Lessons, taught
from dissensus.plugins import Aggregation
from refusals import refused

DRAWS = 60
KINDS = Aggregation.family.known()


# Rankings at the edges: everything tied, one condition, an abstention, nobody, all conditions, zero weight.
EDGES: dict[str, tuple[list[Any], list[float]]] = {
    "tied": ([[["a", "b", "c", "d", "e"]]], [1.0]),
    "one": ([[["b"]]], [1.0]),
    "abstained": ([[], [["a"], ["c", "d"]]], [1.0, 1.0]),
    "nobody": ([], []),
    "all": ([[["a"], ["b"], ["c"], ["d"], ["e"]], [["e"], ["a", "b"]]], [1.0, 0.5]),
    "weighted": ([[["d"]], [["a"]]], [0.0, 2.0]),
    "repeated": ([[["a", "b"]], [["a", "b"]], [["c"], ["a", "b"]]], [1.0, 1.0, 1.5]),
}
SPECIAL, WEIGHTS = zip(*EDGES.values(), strict=True)


def _rankings() -> ds.Study:
    simulated = ds.simulate.study(n_cases=12, n_conditions=15, seed=3).annotations
    anonymous = ds.Study.from_rankings(simulated.to_rankings(), simulated.conditions, case_names=simulated.case_names)
    special = ds.Study.from_rankings(SPECIAL, [*"abcde"], case_names=[*EDGES], weights=WEIGHTS)
    renamed = ds.Study(anonymous.conditions, special.panel, special.block_offsets, special.code_offsets, special.codes)
    return ds.Study.concatenate([anonymous, renamed])


def _ratings() -> ds.Study:
    rng = np.random.default_rng(5)
    scores = [rng.normal(rng.normal(), 1, size=n).round(1).tolist() for n in (3, 1, 8, 0, 5, 12, 2)]
    return ds.Study.from_scores(scores, case_names=[f"r{i}" for i in range(7)])


STUDIES: dict[str, ds.Study] = {"rankings": _rankings(), "ratings": _ratings()}


def study_for(aggregation: Aggregation) -> ds.Study:
    said = STUDIES[aggregation.needs]
    return said.asked("grades") if isinstance(aggregation, a.OrderedProbit) else said


def every_aggregation() -> list[Aggregation]:
    plain = [kind() for kind in KINDS.values()]
    races = a.PlackettLuce(2.5), a.PlackettLuce(2.5, alpha=0.5, prior="observed"), a.PlackettLuce(2.5, tempered=True)
    learned = a.Dirichlet(prior="frequency", alpha="fitted"), a.ProbabilisticInverseRank(2.0, scale="annotator")
    confused = a.DawidSkene(0.5), a.DawidSkene(target="votes", warmup=50)
    graded = a.OrderedProbit(0.5, warmup=50)
    return [*plain, a.AnnotatorBootstrap(a.PlackettLuceML(), size=2), *races, *learned, *confused, graded]


EVERY = pytest.mark.parametrize("aggregation", every_aggregation(), ids=repr)


def draws_of(plausibilities: ds.Plausibilities) -> dict[str, bytes]:
    return {
        name: b"".join(one.of_case(position).tobytes() for one in (batch, replace(batch, values=batch.compared)))
        for batch in plausibilities
        for position, name in enumerate(batch.case_names)
    }


def test_every_aggregation_is_public_under_the_name_of_its_class() -> None:
    for kind in KINDS.values():
        assert kind.__name__ in ds.aggregations.__all__
        assert getattr(ds.aggregations, kind.__name__) is kind


@cache
def drawn_by(aggregation: Aggregation) -> ds.Plausibilities:
    return aggregation.sample(study_for(aggregation), draws=DRAWS, threads=1)


@cache
def reference_of(aggregation: Aggregation) -> dict[str, bytes]:
    return draws_of(drawn_by(aggregation))


@EVERY
def test_every_aggregation_says_what_it_is(aggregation: Aggregation) -> None:
    assert aggregation.id == type(aggregation).id
    assert aggregation.meaning.endswith(".")
    assert aggregation.methods
    assert aggregation.needs in ("rankings", "ratings")
    assert pickle.loads(pickle.dumps(aggregation)) == aggregation
    for part in fields(aggregation):  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            setattr(aggregation, part.name, None)


@EVERY
def test_only_an_aggregation_that_is_its_own_limit_has_no_spread(aggregation: Aggregation) -> None:
    limit = aggregation.limit
    assert (drawn_by(aggregation).n_draws == 1) == (limit == aggregation)
    if limit is not None:
        assert limit.sample(study_for(aggregation), draws=DRAWS).n_draws == 1
        assert limit.limit == limit


@EVERY
def test_draws_are_on_the_simplex_whether_dense_or_compact(aggregation: Aggregation) -> None:
    result = drawn_by(aggregation)
    assert result.excluded == (("r3",) if aggregation.needs == "ratings" else ("nobody",))
    assert result.n_cases + len(result.excluded) == study_for(aggregation).n_cases
    dense, means, case = result.dense(), result.mean(), 0
    np.testing.assert_allclose(means.sum(axis=1), 1, atol=1e-12)
    weights = np.ones(result.n_conditions) if result.rest_sums is None else np.diff(result.rest_sums)
    assert dense.shape == (result.n_cases, result.n_draws, result.n_conditions)
    assert (dense >= 0).all()
    np.testing.assert_allclose(dense.sum(axis=2), 1, atol=1e-12)
    for batch in result:
        for position in range(batch.n_cases):
            draws, codes = batch.of_case(position), batch.support_of(position)
            assert draws.shape == (result.n_draws, batch.support_sizes[position] + 1)
            assert (draws >= 0).all()
            np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-12)
            np.testing.assert_array_equal(dense[case][:, codes], draws[:, :-1])
            others = np.delete(dense[case], codes, axis=1)
            np.testing.assert_allclose(others.sum(axis=1), draws[:, -1], atol=1e-12)
            np.testing.assert_allclose(means[case, codes], dense[case].mean(axis=0)[codes], atol=1e-12)
            shares = (1 - means[case, codes].sum()) * np.delete(weights, codes)  # of unmentioned conditions, by weight
            np.testing.assert_allclose(
                np.delete(means[case], codes), shares / np.delete(weights, codes).sum(), atol=1e-12
            )
            case += 1


@EVERY
def test_top_shares_agree_with_dense_draws(aggregation: Aggregation) -> None:
    result = drawn_by(aggregation)
    dense = result.dense()
    best = dense == dense.max(axis=2, keepdims=True)
    shares = (best / best.sum(axis=2, keepdims=True)).mean(axis=1)
    table = result.summary()
    for case, name in enumerate(result.case_names):
        rows = table.filter(table["case"] == name)
        mentioned = [c for c in rows["condition"] if c is not None]
        for condition, top in zip(rows["condition"], rows["top"], strict=True):
            chosen = [condition] if condition is not None else [c for c in result.conditions if c not in mentioned]
            expected = sum(shares[case, result.conditions.index(c)] for c in chosen)
            assert top == pytest.approx(expected, abs=1e-9)


@EVERY
def test_nothing_but_the_seed_changes_a_bit(aggregation: Aggregation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not threads, batches, pickling, what was selected, nor what somebody does to draws that were given away."""
    study, result, reference = study_for(aggregation), drawn_by(aggregation), reference_of(aggregation)
    before = pickle.dumps(study)
    for batch in result:
        batch.values[:] = -1
    assert draws_of(pickle.loads(pickle.dumps(result))) == draws_of(result) == reference
    chosen = list(result.case_names)[::-2]
    assert draws_of(result.select(chosen)) == {name: reference[name] for name in chosen}
    np.testing.assert_array_equal(result.select(chosen).mean(), result.mean()[::-2])
    for threads, batch_values in ((1, 1), (2, 997), (5, 10**9), (2, 1)):
        monkeypatch.setattr(flow, "BATCH_VALUES", batch_values)
        assert draws_of(aggregation.sample(study, draws=DRAWS, threads=threads)) == reference
    other = draws_of(aggregation.sample(study, draws=DRAWS, seed=2))
    assert (other == reference) == (result.n_draws == 1)
    assert pickle.dumps(study) == before


def of_every_case_alone(aggregation: Aggregation) -> Aggregation:
    """Fix what ratings of other cases tell."""
    if isinstance(aggregation, a.NormalInverseGamma):
        return a.NormalInverseGamma((0.0,), prior=a.NormalInverseGammaPrior(0.0, 1.0, 2.0, 1.0))
    return type(aggregation).from_parameters({"thresholds": (0.0,)}) if aggregation.needs == "ratings" else aggregation


ALONE = [
    one
    for one in every_aggregation()
    # other cases tell how frequent a condition is
    if not (isinstance(one, a.PlackettLuce | a.Dirichlet) and one.prior == "frequency")
]


@pytest.mark.parametrize("aggregation", ALONE, ids=repr)
def test_order_and_company_of_cases_do_not_change_a_bit(aggregation: Aggregation) -> None:
    study, aggregation = study_for(aggregation), of_every_case_alone(aggregation)
    reference = draws_of(aggregation.sample(study, draws=DRAWS))
    order = np.random.default_rng(0).permutation(study.n_cases)
    assert draws_of(aggregation.sample(study.select(order), draws=DRAWS)) == reference
    # annotators are known by what they say on other cases
    is_joint = isinstance(aggregation, a.DawidSkene | a.OrderedProbit)
    for part in () if is_joint else (order[:5], order[5:]):
        drawn = draws_of(aggregation.sample(study.select(part), draws=DRAWS))
        assert drawn == {name: reference[name] for name in drawn}


@EVERY
def test_parts_have_the_draws_of_the_whole_by_an_aggregation_that_was_taught(aggregation: Aggregation) -> None:
    study = study_for(aggregation)
    if aggregation.needs_whole:
        refused("cannot be drawn part by part", taught, aggregation, Lessons.of(study), study.conditions)
        return
    whole, reference = drawn_by(aggregation), reference_of(aggregation)
    dense = dict(zip(whole.case_names, whole.dense(), strict=True))
    parts = [study.select(part) for part in np.array_split(np.random.default_rng(0).permutation(study.n_cases), 4)]
    spec = taught(aggregation, sum(map(Lessons.of, parts[1:]), start=Lessons.of(parts[0])), study.conditions)
    assert (spec, repr(spec), spec.record()) == (aggregation, repr(aggregation), aggregation.record())
    for part in parts:
        drawn = spec.sample(part, draws=DRAWS)
        assert draws_of(drawn) == {name: reference[name] for name in drawn.case_names}
        assert drawn.fitted == whole.fitted
        for name, values in zip(drawn.case_names, drawn.dense(), strict=True):
            np.testing.assert_array_equal(values, dense[name])


RANKED = [one for one in every_aggregation() if one.needs == "rankings"]
LONG = a.DawidSkene | a.OrderedProbit


@pytest.mark.parametrize(
    "aggregation",
    [pytest.param(one, marks=[pytest.mark.slow] if isinstance(one, LONG) else []) for one in RANKED],
    ids=repr,
)
def test_relabelling_conditions_relabels_plausibilities(aggregation: Aggregation) -> None:
    study = study_for(aggregation)
    assert study.kind == "rankings"
    # grades can only be counted from the other end
    shuffled = tuple(np.random.default_rng(1).permutation(study.conditions))
    shuffled = study.conditions[::-1] if isinstance(aggregation, a.OrderedProbit) else shuffled
    column = [shuffled.index(name) for name in study.conditions]
    # chains over the whole study: some 30 draws of Dawid-Skene are worth an independent one, of sd 0.5 at the worst
    draws, bound = (40_000, 0.06) if isinstance(aggregation, a.DawidSkene) else (8000, 0.035)
    plain = aggregation.sample(study, draws=draws)
    relabelled = aggregation.sample(study.with_conditions(shuffled), draws=draws)
    difference = np.abs(plain.mean() - relabelled.mean()[:, column])
    # independent streams: two means of 8000 draws differ by more than 0.035 (over 4 errors of 0.008,
    # for an effective size of 2000 at the worst sd of 0.25) about once in 10 000 comparisons
    assert difference.max() < (1e-9 if plain.n_draws == 1 else bound)


@pytest.mark.parametrize("aggregation", [one for one in RANKED if not isinstance(one, a.AnnotatorBootstrap)], ids=repr)
def test_a_ranking_of_weight_two_counts_like_two_rankings(aggregation: Aggregation) -> None:
    """But for the bootstrap, which resamples people: one of weight two is not two."""
    rankings = ds.Study.from_rankings(SPECIAL, [*"abcde"]).to_rankings()
    conditions = [*"abcde"]
    asked: Any = {"question": "grades"} if isinstance(aggregation, a.OrderedProbit) else {}
    twice = ds.Study.from_rankings([[r for r in case for _ in range(2)] for case in rankings], conditions, **asked)
    heavy = ds.Study.from_rankings(rankings, conditions, weights=[[2.0] * len(case) for case in rankings], **asked)
    np.testing.assert_allclose(
        aggregation.sample(twice, draws=DRAWS).mean(), aggregation.sample(heavy, draws=DRAWS).mean(), atol=1e-9
    )
