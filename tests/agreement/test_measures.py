"""Coefficients of agreement against naive twins and published values, their intervals, and bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
import naive_agreement as naive
from dissensus.agreement import agreement_measures, coefficients, cohen_kappa
from dissensus.agreement.coefficients import Alpha, Table, disagreement_of, krippendorff_alpha
from refusals import refused
from shared_data import dermatology, needs_shared
from strategies import rankings

NOMINAL, GRADED = coefficients.OF_LABELS, coefficients.OF_GRADES
CREDITS = ("none", "linear", "quadratic")
PEOPLE = ("Ada", "Bo", "Cy", "Di")
TARGETS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
"""Six targets and four judges: table 2 of Shrout and Fleiss (1979), Psychological Bulletin 86, 420-428."""

TABLES = st.lists(st.dictionaries(st.sampled_from(PEOPLE), st.integers(0, 3), max_size=4), min_size=1, max_size=8)


def study_of(table: naive.Table, n_conditions: int = 4, **more: Any) -> ds.Study:
    names = [list(case) for case in table]
    nested = [[[[code]] for code in case.values()] for case in table]
    return ds.Study.from_rankings(nested, n_conditions, annotator_names=names, **more)


def ratings_of(scores: np.ndarray, keep: np.ndarray | None = None, **columns: Any) -> ds.Study:
    case, who = (axis.ravel() for axis in np.indices(scores.shape))
    kept = np.ones(len(case), dtype=bool) if keep is None else keep.ravel()
    frame = pl.DataFrame({"case": case, "annotator": who, "score": scores.ravel(), **columns}).filter(pl.Series(kept))
    return ds.Study.from_long(frame)


def value(study: Any, measure: str) -> float:
    return float(agreement_measures(study, [measure])["value"][0])


def disputed(n_cases: int, seed: int = 0, **more: Any) -> ds.Study:
    """Simulate three named annotators who give the true one of four grades 60 % of the time, or guess."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=(n_cases, 1))
    said = np.where(rng.random((n_cases, 3)) < 0.6, truth, rng.integers(4, size=(n_cases, 3)))
    return study_of([dict(zip(PEOPLE, map(int, row), strict=False)) for row in said], **more)


# Published -----------------------------------------------------------------------------------------------


def pair_of(counts: dict[tuple[int, int], int]) -> ds.Study:
    return study_of([{"Ada": a, "Bo": b} for (a, b), n in counts.items() for _ in range(n)], 3)


FOURTEEN = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
"""Ten subjects, fourteen raters and five categories: the worked example of encyclopaedias."""

DIAGNOSES = (
    *("444444", "222555", "233335", "555555", "222444", "113333", "333355", "113334", "114444", "555555"),
    *("144444", "124444", "222333", "144444", "224445", "333335", "111455", "111112", "224444", "133555"),
    *("555555", "244444", "224555", "114444", "144445", "222224", "111155", "224444", "133333", "555555"),
)
SIX = [[row.count(digit) for digit in "12345"] for row in DIAGNOSES]
"""Fleiss (1971), Psychological Bulletin 76, 378-382: thirty patients, six raters each, five diagnoses."""

OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
UNITS = list(zip(*OBSERVERS, strict=True))
GWET = study_of([{w: int(c) - 1 for w, c in zip(PEOPLE, unit, strict=True) if c != "."} for unit in UNITS], 5)
"""Gwet (2014), Handbook of Inter-Rater Reliability, table of 12 units and 4 raters with missing ratings."""

FREQ = pair_of({(0, 1): 4, (0, 2): 1, (1, 1): 8, (2, 1): 1, (2, 2): 5})
"""The example of the procedure FREQ of SAS."""

ABSTRACTORS = pair_of({(0, 0): 13, (1, 1): 20, (1, 2): 7, (2, 1): 4, (2, 2): 56})
"""Gwet (2014): a hundred pregnancies by two abstractors; Fleiss' kappa of two is Scott's pi."""


@pytest.mark.parametrize(
    ("study", "measure", "published", "digits"),
    [
        (ds.Study.from_counts(FOURTEEN, list("abcde")), "fleiss-kappa", 0.210, 3),
        (ds.Study.from_counts(SIX, list("abcde")), "fleiss-kappa", 0.430, 3),
        (FREQ, "cohen-kappa", 0.4842, 4),
        (FREQ, "cohen-kappa-linear", 0.4701, 4),
        (GWET, "gwet-ac1", 0.77544, 5),
        (GWET, "fleiss-kappa", 0.76117, 5),
        (GWET, "alpha-nominal", 0.74342, 5),
        (ABSTRACTORS, "cohen-kappa", 0.7964094, 7),
        (ABSTRACTORS, "fleiss-kappa", 0.7962397, 7),
        (ratings_of(TARGETS), "icc-2-1", 0.29, 2),
        (ratings_of(TARGETS), "icc-2-k", 0.62, 2),
    ],
)
def test_published_examples_have_the_published_values(study: Any, measure: str, published: float, digits: int) -> None:
    assert value(study, measure) == pytest.approx(published, abs=0.5 * 10**-digits)
    if measure.startswith("cohen-kappa"):
        credit: Any = measure.removeprefix("cohen-kappa").removeprefix("-") or "none"
        alone = cohen_kappa(study, ("Bo", "Ada"), credit=credit)
        assert alone.measure == measure
        assert alone.value == pytest.approx(published, abs=0.5 * 10**-digits)


# By another route ----------------------------------------------------------------------------------------


@given(table=TABLES, times=st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_kappas_of_repeated_cases_equal_all_pairs_written_out(table: naive.Table, times: list[int]) -> None:
    repeated = [case for case, count in zip(table, times, strict=False) for _ in range(count)]
    table_of_choices = Table.of(study_of(table))
    counts = np.array([times[: len(table)]], dtype=float)
    if any(repeated):
        fleiss = coefficients.panel_kappa(table_of_choices, chance=coefficients.independent).values(counts)[0]
        np.testing.assert_allclose(fleiss, naive.fleiss_kappa(repeated, 4), atol=1e-12)
    for credit in CREDITS:
        if any(repeated):
            gwet = coefficients.panel_kappa(table_of_choices, credit, chance=coefficients.guessed).values(counts)[0]  # type: ignore[arg-type]
            np.testing.assert_allclose(gwet, naive.gwet_coefficient(repeated, 4, credit), atol=1e-12)
        cohen = coefficients.mean_kappa(table_of_choices, credit, least=1).values(counts)[0]  # type: ignore[arg-type]
        np.testing.assert_allclose(cohen, naive.mean_cohen_kappa(repeated, 1, 4, credit), atol=1e-12)
    found = coefficients.mean_kappa(table_of_choices, "none", least=3).values(np.ones((1, len(table))))[0]
    np.testing.assert_allclose(found, naive.mean_cohen_kappa(table, 3, 4, "none"), atol=1e-12)


@given(seed=st.integers(0, 1000))
def test_components_of_incomplete_panels_are_those_of_quadratic_forms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, keep = rng.normal(size=(9, 4)) + np.arange(4), rng.random((9, 4)) < 0.7
    keep[0] = keep[:, 0] = True
    rows = [(int(i), int(j), float(scores[i, j])) for i, j in zip(*np.nonzero(keep), strict=True)]
    far = Table.of(ratings_of(1e4 + scores, keep))
    found = np.array(coefficients.variance_components(far)[0](np.ones((1, 9))))[:3, 0]
    np.testing.assert_allclose(found, naive.variance_components(rows), atol=1e-9)


def test_the_average_of_incomplete_panels_is_over_the_harmonic_mean_of_ratings() -> None:
    keep = np.ones(TARGETS.shape, dtype=bool)
    keep[0, 0] = keep[1, 1] = keep[1, 2] = False
    said = ratings_of(TARGETS, keep)
    of_cases, of_people, rest, _ = coefficients.variance_components(Table.of(said))[0](np.ones((1, 6)))
    k = 6 / (1 / 3 + 1 / 2 + 4 / 4)
    assert value(said, "icc-2-k") == pytest.approx((of_cases / (of_cases + (of_people + rest) / k))[0])
    assert agreement_measures(said, ["icc-2-k"])["note"][0] == "k = 3.27 ratings per case"


# Laws ----------------------------------------------------------------------------------------------------


def test_what_a_measure_does_not_know_changes_nothing_and_perfect_agreement_is_one() -> None:
    said, people = disputed(40, 0), [list(PEOPLE[:3])] * 40
    nested = said.to_rankings()
    swapped = [[[["cadb"[int(name)] for name in block] for block in one] for one in case] for case in nested]
    renamed = ds.Study.from_rankings(swapped, list("abcd"), annotator_names=people)
    flipped = ds.Study.from_rankings(nested, said.conditions[::-1], annotator_names=people)
    agreed = study_of([{"Ada": i % 3, "Bo": i % 3} for i in range(12)])
    for measure in (*NOMINAL, *GRADED):
        other = value(renamed if measure in NOMINAL else flipped, measure)
        backwards = value(said.select(list(range(40))[::-1]), measure)
        assert [other, backwards] == pytest.approx([value(said, measure)] * 2, abs=1e-12)
        assert value(agreed, measure) == pytest.approx(1, abs=1e-12)


def test_votes_count_for_each_who_gave_them_and_opinions_of_weight_zero_are_missing() -> None:
    counts = [[3, 1, 0], [0, 2, 2], [1, 0, 4]]
    shared = ds.Study.from_counts(counts, ["a", "b", "c"])
    listed = ds.Study.from_rankings(shared.to_rankings(), ["a", "b", "c"])
    for measure in ("fleiss-kappa", "gwet-ac1", "gwet-ac2-linear"):
        assert value(shared, measure) == pytest.approx(value(listed, measure), abs=1e-12)
    silent = ds.Study.from_rankings(
        [[[["a"]], [["b"]], [["c"]]], [[["b"]], [["b"]]]], ["a", "b", "c"], weights=[[1, 1, 0], [1, 2]]
    )
    spoken = ds.Study.from_rankings([[[["a"]], [["b"]]], [[["b"]], [["b"]]]], ["a", "b", "c"])
    assert value(silent, "fleiss-kappa") == value(spoken, "fleiss-kappa")


def test_weights_of_cases_are_how_often_cases_count() -> None:
    table = [{"Ada": i % 4, "Bo": (i * i) % 4, "Cy": i % 3} for i in range(15)]
    thrice = study_of([*table, *table[:3], *table[:3]])
    weighted = study_of(table, case_weights=[3.0] * 3 + [1.0] * 12)
    for measure in (*NOMINAL, *GRADED):
        slack = 0.02 if measure.startswith("alpha") else 1e-12  # alpha counts pairs with oneself by rankings
        assert value(weighted, measure) == pytest.approx(value(thrice, measure), abs=slack)


# Undefined -----------------------------------------------------------------------------------------------


def test_what_is_undefined_says_why() -> None:
    same = agreement_measures(study_of([{"Ada": 1, "Bo": 1}] * 12))
    assert same["value"].is_nan().to_list() == [True, True, True, False]
    assert same["note"][0] == same["note"][1] == "undefined: no two opinions differ"
    assert same["value"][3] == 1
    single = agreement_measures(study_of([{"Ada": 1}, {"Bo": 2}]))
    assert single["note"].to_list()[:2] == ["undefined: no case has two opinions"] * 2
    assert single["note"][2] == "undefined: no two annotators share 10 cases"
    nameless = agreement_measures(ds.Study.from_counts([[2, 1]], ["a", "b"]), ["cohen-kappa"])
    assert nameless.rows()[0][5:] == (None, "undefined: annotators have no names")
    ratings = agreement_measures(ds.Study.from_scores([[-1, 2], [3, 3]]))
    notes = dict(ratings.select("measure", "note").rows())
    assert notes["alpha-ratio"] == "undefined: ratios need ratings of zero or more"
    assert notes["icc-2-1"] == "undefined: annotators have no names"
    frame = pl.DataFrame({"case": ["x", "x", "y", "y"], "annotator": list("ABCD"), "score": [1, 2, 5, 7]})
    table = agreement_measures(ds.Study.from_long(frame), ["icc-2-1"])
    assert np.isnan(table["value"][0])
    assert "cannot be told apart" in table["note"][0]
    for nothing in (ds.Study.from_rankings([], 3), ds.Study.from_rankings([[]], 3), ds.Study.from_scores([[]])):
        empty = agreement_measures(nothing)
        assert empty["value"].is_nan().all()
        assert empty["note"].str.starts_with("undefined").all()


# Findings ------------------------------------------------------------------------------------------------


def test_checklists_have_a_row_per_finding_and_their_mean() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((40, 1, 2)) < 0.5
    marks = np.where(rng.random((40, 3, 2)) < 0.8, truth, rng.random((40, 3, 2)) < 0.5)
    sets = [[[name for name, here in zip("ab", row, strict=True) if here] for row in case] for case in marks]
    said = ds.Study.from_sets(sets, ["a", "b"])
    table = agreement_measures(said, ["fleiss-kappa", "gwet-ac1"])
    assert table["finding"].to_list() == ["a", "a", "b", "b", coefficients.ALL_FINDINGS, coefficients.ALL_FINDINGS]
    values = table["value"].to_list()
    assert values[4] == pytest.approx((values[0] + values[2]) / 2)
    assert values[0] == value(said.of_finding("a"), "fleiss-kappa")
    assert table["note"][4] == "mean of 2 of 2 findings"
    widths = (table["high"] - table["low"]).to_list()
    assert 0 < widths[4] < max(widths[0], widths[2])


DISTANCES: tuple[Any, ...] = ("first-choice", "overlap", "set", "masi")
LEVELS: tuple[Any, ...] = ("first-choice", "ordinal", "interval", "ratio")
TIMES = st.lists(st.integers(0, 3), min_size=5, max_size=5)
NUMBERS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 1e-6, 4e5])
EMPTY: list[Any] = [[], [[]], [[[[0]]], [[[1]]]], [[[[0]], []]]]
CASES = st.lists(st.lists(NUMBERS, max_size=4), min_size=1, max_size=5)


def simulated(n_cases: int, seed: int) -> ds.Study:
    rng = np.random.default_rng(seed)
    scores = rng.gamma(4.0, size=(n_cases, 1)) * np.exp(0.4 * rng.normal(size=(n_cases, 3)))
    return ds.Study.from_scores(np.round(scores, 1).tolist())


@st.composite
def studies(draw: st.DrawFn) -> ds.Study:
    """Draw a study with ties, abstentions and rankings without weight."""
    n_conditions = draw(st.integers(2, 5))
    nested = draw(st.lists(st.lists(rankings(n_conditions), max_size=4), min_size=1, max_size=4))
    weights = [[draw(st.sampled_from([0.0, 1.0, 1.0, 2.0])) for _ in case] for case in nested]
    return ds.Study.from_rankings(nested, n_conditions, weights=weights)


def numbers(alpha: Alpha) -> list[float]:
    return [alpha.value, alpha.low, alpha.high, alpha.observed, alpha.expected]


def value_of_alpha(study: Any, distance: Any = "first-choice", depth: int = 2) -> float:
    return krippendorff_alpha(study, distance=distance, depth=depth, draws=1).value


# Published, and written out ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "published"), [("first-choice", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_four_observers_have_the_published_alphas_as_grades_and_as_numbers(distance: Any, published: float) -> None:
    """Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C and sections D to F."""
    numbers = ds.Study.from_scores([[float(c) for c in unit if c != "."] for unit in UNITS])
    alpha = krippendorff_alpha(numbers, distance=distance, draws=20)
    assert alpha.value == pytest.approx(published, abs=0.0005)
    assert (alpha.n_cases, alpha.n_rankings) == (11, 40)
    if distance != "ratio":
        other = krippendorff_alpha(GWET, distance=distance, draws=20)
        np.testing.assert_allclose([other.value, other.low], [alpha.value, alpha.low], atol=1e-12)


@given(said=studies(), times=TIMES)
def test_it_equals_all_pairs_of_rankings_written_out_also_with_repeated_cases(said: ds.Study, times: list[int]) -> None:
    cases, counts = naive.blocks_by_case(said), np.array([times[: said.n_cases]], dtype=float)
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    apart = (naive.first_choice_distance, naive.overlap_distance(2, said.n_conditions))
    for distance, of in zip(DISTANCES, (*apart, naive.jaccard_distance, naive.masi_distance), strict=True):
        np.testing.assert_allclose(value_of_alpha(said, distance), naive.alpha(cases, of), atol=1e-10)
        found = disagreement_of(Table.of(said.counted), distance, 2).values(counts)[0]
        np.testing.assert_allclose(found, naive.alpha(repeated, of), atol=1e-10)


@given(cases=CASES, times=TIMES)
def test_it_equals_all_pairs_of_numbers_written_out_also_with_repeated_cases(
    cases: list[list[float]], times: list[int]
) -> None:
    said, counts = ds.Study.from_scores(cases), np.array([times[: len(cases)]], dtype=float)
    repeated = [case for case, count in zip(cases, times, strict=False) for _ in range(count)]
    for distance in LEVELS:
        np.testing.assert_allclose(value_of_alpha(said, distance), naive.alpha_of_numbers(cases, distance), atol=1e-9)
        found = disagreement_of(Table.of(said), distance).values(counts)[0]
        np.testing.assert_allclose(found, naive.alpha_of_numbers(repeated, distance), atol=1e-9)


@pytest.mark.parametrize("distance", LEVELS)
def test_shared_ratings_count_for_each_who_gave_them_and_those_of_weight_zero_are_missing(distance: Any) -> None:
    counts, levels = [[3, 1, 0], [0, 2, 2], [1, 0, 4]], [0.0, 1.0, 4.0]
    listed = [[level for level, n in zip(levels, row, strict=True) for _ in range(n)] for row in counts]
    shared = krippendorff_alpha(ds.Study.from_counts(counts, levels=levels), distance=distance, draws=5)
    assert shared.n_rankings == 13
    assert shared.value == pytest.approx(naive.alpha_of_numbers(listed, distance))
    frame = pl.DataFrame({"case": ["x", "x", "x", "y", "y"], "score": [1, 2, 9, 4, 4], "weight": [1, 1, 0, 1, 1]})
    without = naive.alpha_of_numbers([[1, 2], [4, 4]], distance)
    assert value_of_alpha(ds.Study.from_long(frame), distance) == pytest.approx(without)


# Laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "change"),
    [
        ("first-choice", lambda x: -(x**3)),
        ("ordinal", np.exp),
        ("ordinal", np.negative),
        ("interval", lambda x: 1e6 - 3 * x),
        ("ratio", lambda x: 1000 * x),
    ],
)
def test_what_a_level_does_not_know_changes_nothing(distance: Any, change: Any) -> None:
    said = simulated(40, 0)
    other = ds.Study.from_scores([change(np.asarray(case)).tolist() for case in np.split(said.scores, 40)])
    ours, theirs = (krippendorff_alpha(one, distance=distance, draws=20) for one in (said, other))
    np.testing.assert_allclose(numbers(ours)[:3], numbers(theirs)[:3], atol=1e-10)


def test_without_any_disagreement_or_any_pair_it_is_undefined() -> None:
    same = ds.Study.from_rankings([[[["a"], ["b"]]] * 2] * 3, ["a", "b", "c"])
    for distance in DISTANCES:
        alpha = krippendorff_alpha(same, distance=distance, draws=10)
        assert np.isnan(numbers(alpha)[:3]).all()
        assert "undefined, as no two rankings differ" in repr(alpha)
        for nested in EMPTY:
            alpha = krippendorff_alpha(ds.Study.from_rankings(nested, 3), distance=distance, draws=10)
            assert np.isnan(numbers(alpha)).all()
            assert (alpha.n_cases, alpha.n_rankings) == (0, 0)
            assert "undefined, as no case has two rankings" in repr(alpha)
    for distance in LEVELS:
        for scores in ([[3, 3], [3, 3]], [[0, 0], [0, 0]], [[1], []]):
            assert np.isnan(value_of_alpha(ds.Study.from_scores(scores), distance))


# Intervals -----------------------------------------------------------------------------------------------


def test_one_case_or_one_group_has_no_interval_and_groups_are_resampled_whole() -> None:
    for said in (ds.Study.from_rankings([[[["a"]], [["b"]], [["a"]]]]), disputed(20, groups=["patient"] * 20)):
        alpha = krippendorff_alpha(said)
        assert np.isfinite(alpha.value)
        assert np.isnan([alpha.low, alpha.high]).all()
    nested, names = disputed(40).to_rankings() * 2, [str(i) for i in range(80)]
    alone, together = (
        krippendorff_alpha(ds.Study.from_rankings(nested, case_names=names, groups=groups))
        for groups in (None, [str(i % 40) for i in range(80)])
    )
    assert together.value == alone.value
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def test_weights_of_cases_count_and_their_scale_does_not() -> None:
    said = disputed(10, case_weights=[1.0] * 9 + [0.0])
    fewer = disputed(10).select(range(9))
    np.testing.assert_allclose(numbers(krippendorff_alpha(said)), numbers(krippendorff_alpha(fewer)))
    heavier, lighter = (disputed(10, case_weights=[scale] * 9 + [3 * scale]) for scale in (1.0, 1e-6))
    np.testing.assert_allclose(numbers(krippendorff_alpha(heavier)), numbers(krippendorff_alpha(lighter)))


def test_the_seed_decides_and_the_portions_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, Any]] = [(disputed(40), distance) for distance in DISTANCES]
    asked += [(simulated(40, 2), distance) for distance in LEVELS]

    def found(seed: int = 0) -> list[list[float]]:
        return [numbers(krippendorff_alpha(said, distance=distance, draws=50, seed=seed)) for said, distance in asked]

    first = found()
    assert first == found()
    assert all(one[1] != other[1] for one, other in zip(first, found(1), strict=True))
    monkeypatch.setattr(coefficients, "NUMBERS_AT_ONCE", 200)
    monkeypatch.setattr(coefficients, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(coefficients, "DENSE", 1.0)
    np.testing.assert_allclose(found(), first, rtol=1e-12)


# Refusals ------------------------------------------------------------------------------------------------


SAID, ALPHA, KAPPA, WRONG = disputed(12, 0), krippendorff_alpha, cohen_kappa, "is not understood"
REFUSED: list[tuple[Callable[..., object], Any, dict[str, Any], str]] = [
    *((agreement_measures, SAID, {"measures": [one]}, f"measures {WRONG}") for one in ("kappa", "icc-2-1")),
    (agreement_measures, SAID, {"measures": []}, "there is no measure to compute"),
    (agreement_measures, SAID, {"level": 2.0}, "level must be between 0 and 1"),
    (KAPPA, SAID, {"annotators": ("Ada", "Ada")}, "two annotators"),
    (KAPPA, SAID, {"annotators": ("Ada", "Bob")}, "Bob"),
    (KAPPA, SAID, {"annotators": ("Ada", "Bo"), "credit": "cubic"}, f"credit {WRONG}"),
    (ALPHA, SAID, {"distance": "euclid"}, f"distance {WRONG}"),
    (ALPHA, SAID, {"draws": 0}, "draws must be a whole number"),
    (ALPHA, SAID, {"seed": -1}, "seed"),
    *((ALPHA, SAID, {"level": level}, "level must be between 0 and 1") for level in (1.0, "0.9")),
    (ALPHA, SAID, {"distance": "overlap", "depth": 5}, "depth is larger than the number of conditions"),
    (ALPHA, SAID, {"distance": "overlap", "depth": 0}, "depth must be a whole number"),
    (ALPHA, SAID, {"distance": "ratio"}, "ratios need ratings"),
    *((ALPHA, simulated(3, 0), {"distance": one}, f"{one} needs rankings") for one in DISTANCES[1:]),
    (ALPHA, ds.Study.from_scores([[-1, 2]]), {"distance": "ratio"}, "ratios need ratings of zero or more"),
]


@pytest.mark.parametrize(("measure", "study", "options", "message"), REFUSED)
def test_what_is_not_defined_is_refused(measure: Any, study: Any, options: dict[str, Any], message: str) -> None:
    refused(message, measure, study, **options)


@needs_shared
def test_alpha_of_the_published_differential_diagnoses() -> None:
    said = dermatology()
    alpha = krippendorff_alpha(said)
    assert (alpha.n_cases, alpha.n_rankings) == (1922, 9577)
    assert alpha.value == pytest.approx(0.499, abs=0.001)
    assert 0.47 < alpha.low < alpha.value < alpha.high < 0.53
