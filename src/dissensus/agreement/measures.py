"""Measures of agreement among annotators that suit a study, each with an interval, alone or side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from dissensus.agreement import coefficients
from dissensus.agreement.coefficients import Credit, Disagreement, Distance, Measure, Table, check_depth
from dissensus.core.arrays import FloatArray
from dissensus.core.checks import check_choice, check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.screen import repr_html
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

DISTANCES_OF_RATINGS: tuple[str, ...] = ("first-choice", "ordinal", "interval", "ratio")

# How many samples of cases intervals rest on.
DRAWS = 1000

# How many numbers are held at the same time while cases are resampled (40 MB).
NUMBERS_AT_ONCE = 5_000_000

# What the row is called that averages a measure over all findings.
ALL_FINDINGS = "mean of findings"


@dataclass(frozen=True, repr=False)
class Alpha:
    """Hold Krippendorff's alpha of a study.

    Attributes
    ----------
    value
        1: the annotators always agree; 0: they agree as often as rankings drawn at random from the study; negative:
        less than that; nan: undefined, as no two rankings differ or no case has two of them.
    low, high
        Bootstrap interval over cases, or over groups of cases; nan if there are fewer than two to resample.
    level
        Coverage of the interval.
    observed, expected
        Mean distance between the rankings of a case, and between all rankings; nan if there are none.
    n_cases, n_rankings
        Cases with at least two rankings, and their rankings; one that several annotators share counts for each.
    distance
        What is compared.

    For ratings, read ratings where it says rankings.

    Examples
    --------
    >>> said = Study.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> found = krippendorff_alpha(said)
    >>> round(found.value, 3), found.n_cases, found.n_rankings, found.distance
    (0.444, 3, 6, 'first-choice')
    """

    value: float
    low: float
    high: float
    level: float
    observed: float
    expected: float
    n_cases: int
    n_rankings: int
    distance: Distance

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        interval = f"{100 * self.level:g} % interval {self.low:.3f} to {self.high:.3f}"
        basis = f"{self.n_cases} cases, {self.n_rankings} rankings"
        if np.isnan(self.value):
            why = "no case has two rankings" if self.n_cases == 0 else "no two rankings differ"
            return f"Alpha: undefined, as {why} ({basis}, distance {self.distance!r})"
        return f"Alpha: {self.value:.3f} ({interval}; {basis}, distance {self.distance!r})"


@checked
def krippendorff_alpha(
    annotations: Study,
    *,
    distance: Distance = "first-choice",
    depth: int = 3,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Alpha:
    """Measure the agreement beyond chance: one minus observed over expected disagreement ([krippendorff]).

    Parameters
    ----------
    annotations
        Rankings or ratings. Abstentions and opinions of weight zero are missing data; cases with fewer than two
        opinions, and cases of weight zero, do not count.
    distance
        ``"first-choice"``: one minus the common first choices over the first choices of the one who has more. This is
        the total variation between two votes that share themselves among tied first choices; for single labels it is
        the nominal alpha, and for ratings two numbers are the same or not. ``"overlap"``: one minus
        :func:`mean_average_overlap` at ``depth``. ``"set"``: Jaccard distance, one minus the conditions that both
        mention over those that either does. ``"masi"``: the same with the similarity multiplied by 2/3 if one set holds
        the other, and by 1/3 if neither does ([passonneau]). For ratings and for grades, whose order is that of the
        conditions: ``"ordinal"``, the squared number of opinions between two values, half of their own included;
        ``"interval"``, the squared difference; ``"ratio"``, the squared difference over the sum, for ratings without
        negative numbers only. Tied first grades count as their mean.
    depth
        How many places count in ``"overlap"``.
    draws, seed, level
        Bootstrap samples of the cases (of the groups, where cases have groups), their seed, and the coverage of the
        interval.

    Notes
    -----
    Every pair of rankings on a case with m of them weighs 1 / (m - 1); expected disagreement is over all pairs of
    rankings in the study. Both are exact: the pairs are never listed. Identical sets are counted, and only sets that
    share a condition are compared; for overlaps the sum over all pairs is the squared length of a sum of vectors.
    Every vote counts as one ranking, whatever its weight; case weights count. Observed and expected disagreement are
    both computed anew in every bootstrap sample; samples in which alpha is undefined are left out of the interval.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]], [[["a"]], [["b"]]]])
    >>> alpha = krippendorff_alpha(said)
    >>> round(alpha.value, 3), alpha.n_cases, alpha.n_rankings
    (0.444, 3, 6)
    """
    check_choice("distance", distance, get_args(Distance))
    check_count(draws=draws)
    check_seed(seed)
    check_share("level", level)
    if annotations.kind == "ratings":
        lowest = annotations.counted.scores.min(initial=0.0)
        if distance not in DISTANCES_OF_RATINGS:
            raise DissensusError(f"{distance} needs rankings", expected=listing(DISTANCES_OF_RATINGS), got="ratings")
        if distance == "ratio" and lowest < 0:
            raise DissensusError("ratios need ratings of zero or more", got=f"{lowest:g}")
    else:
        require_kind(annotations, "rankings", "agreement")
        if distance == "ratio":
            advice = "give grades that are amounts as ratings"
            raise DissensusError("ratios need ratings: conditions have no zero", got="rankings", advice=advice)
    counted = annotations.counted
    said = counted.select((counted.votes_per_case > 1) & (counted.case_weights > 0))
    if distance == "overlap":
        check_depth(depth, said.n_conditions)
    found = coefficients.disagreement_of(Table.of(said), distance, depth)
    observed, expected = (float(part[0]) for part in found.observed_and_expected(np.ones((1, said.n_cases))))
    values, samples = resampled([(said, found)], draws=draws, seed=seed)
    low, high = middle(samples[:, 0], level)
    return Alpha(float(values[0]), low, high, level, observed, expected, said.n_cases, said.n_votes, distance)


# Several measures ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgreementMeasure:
    """Hold one measure of agreement of a study.

    Attributes
    ----------
    measure
        Its name; see :func:`agreement_measures`.
    value
        1: all annotators agree; 0: as much as chance, or nothing of the variance, explains; nan: undefined.
    low, high
        Bootstrap interval over cases, or over groups of cases; nan if there are fewer than two to resample.
    n_cases, n_annotators
        The cases that count, and the named annotators of the study; none if nobody is named.
    note
        Why it is undefined, or what it rests on.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> found = cohen_kappa(said, ("A", "B"))
    >>> found.measure, found.value, found.n_cases
    ('cohen-kappa', 1.0, 2)
    """

    measure: str
    value: float
    low: float
    high: float
    n_cases: int
    n_annotators: int | None
    note: str


# Which measures there are ----------------------------------------------------------------------------------


class Known(NamedTuple):
    """What a measure is called, what it says in a sentence, and what finds it in a table."""

    title: str
    meaning: str
    of: Callable[[Table], Measure]


# How far apart two opinions are in alphas of grades and ratings.
APART: Mapping[Distance, str] = {
    "ordinal": "two opinions are the further apart the more opinions of the study lie between.",
    "interval": "two opinions are as far apart as the square of their difference.",
    "ratio": "differences count in proportion to the sum of both; zero must mean nothing at all.",
}

# What is taken off for near misses.
MISSED: Mapping[Credit, str] = {"linear": "every step between both", "quadratic": "the square of the steps"}


def _graded(name: str, title: str, of: Callable[..., Measure]) -> dict[str, Known]:
    """Give the kinds of a kappa that give credit for near misses."""
    words = "The same for grades, where near misses count in part, less by"
    return {
        f"{name}-{credit}": Known(f"{title}, {credit} credit", f"{words} {steps}.", partial(of, credit=credit))
        for credit, steps in MISSED.items()
    }


_guessed = partial(coefficients.panel_kappa, chance=coefficients.guessed)

KNOWN: Mapping[str, Known] = {
    "alpha-nominal": Known(
        "Krippendorff's alpha, nominal",
        "One minus the disagreement within cases over that among all opinions of the study; two opinions are the same "
        "or not.",
        partial(coefficients.alpha, distance="first-choice"),
    ),
    **{
        f"alpha-{distance}": Known(
            f"Krippendorff's alpha, {distance}",
            f"The same, where {words}",
            partial(coefficients.alpha, distance=distance),
        )
        for distance, words in APART.items()
    },
    "fleiss-kappa": Known(
        "Fleiss' kappa",
        "How often two annotators of a case agree, beyond two who choose by how common conditions are.",
        partial(coefficients.panel_kappa, chance=coefficients.independent),
    ),
    "cohen-kappa": Known(
        "Cohen's kappa",
        "How often two named annotators agree, beyond chance at the rates of each; mean over all pairs.",
        coefficients.mean_kappa,
    ),
    **_graded("cohen-kappa", "Cohen's kappa", coefficients.mean_kappa),
    "gwet-ac1": Known(
        "Gwet's AC1",
        "How often two annotators agree, beyond a chance that is small where most cases have one condition.",
        _guessed,
    ),
    **_graded("gwet-ac2", "Gwet's AC2", _guessed),
    "icc-2-1": Known(
        "ICC(2,1)",
        "The share of the variance of single ratings that lies between cases; that annotators differ in how high they "
        "rate counts as disagreement.",
        partial(coefficients.intraclass, averaged=False),
    ),
    "icc-2-k": Known(
        "ICC(2,k)", "The same of the mean of the ratings of a case.", partial(coefficients.intraclass, averaged=True)
    ),
}

OF_LABELS: tuple[str, ...] = ("alpha-nominal", "fleiss-kappa", "cohen-kappa", "gwet-ac1")
OF_GRADES: tuple[str, ...] = (
    *("alpha-ordinal", "alpha-interval", "cohen-kappa-linear", "cohen-kappa-quadratic"),
    *("gwet-ac2-linear", "gwet-ac2-quadratic"),
)
OF_RATINGS: tuple[str, ...] = ("alpha-ordinal", "alpha-interval", "alpha-ratio", "icc-2-1", "icc-2-k")


# The table -------------------------------------------------------------------------------------------------


@checked
def agreement_measures(
    study: Study, measures: Sequence[str] | None = None, *, seed: int = 0, level: float = 0.95
) -> pl.DataFrame:
    """Measure the agreement among the annotators of a study in several ways, each with an interval.

    Parameters
    ----------
    study
        Rankings, which count by what is named first (several conditions named first share the choice), grades, ratings
        or checklists. Abstentions and opinions of weight zero are missing; every other opinion counts once, whatever
        its weight, and as often as it has votes. Weights of cases count.
    measures
        Names of measures; by default those that suit the study. Conditions: ``"alpha-nominal"``
        (:func:`krippendorff_alpha`), ``"fleiss-kappa"``, ``"cohen-kappa"`` (mean over the pairs of named annotators
        with at least 10 common cases) and ``"gwet-ac1"``. Grades: ``"alpha-ordinal"``, ``"alpha-interval"``, and
        ``"cohen-kappa-"`` and ``"gwet-ac2-"`` with ``"linear"`` or ``"quadratic"`` credit for near misses. Ratings:
        ``"alpha-ordinal"``, ``"alpha-interval"``, ``"alpha-ratio"``, ``"icc-2-1"`` and ``"icc-2-k"``.
    seed, level
        Of the bootstrap samples of cases (of groups, where cases have groups), and the coverage of the interval.

    Returns
    -------
    polars.DataFrame
        A row per measure: ``measure``, ``value``, ``low``, ``high``, ``n_cases``, ``n_annotators``, ``note``; nan, and
        the reason in the note, where it is undefined. For checklists, a row per measure and ``finding``, and then the
        mean over all findings in which it is defined.

    Notes
    -----
    Fleiss' kappa and Gwet's coefficients are those of [gwet] for unequal numbers of opinions: agreement is averaged
    over the cases with two opinions or more, how common conditions are over all cases with any; all conditions of the
    study count as possible, named or not. ICC(2,1) and ICC(2,k) rest on components of variance by moments, which are
    those of the analysis of variance if everybody rates every case; k is the harmonic mean of the numbers of ratings.

    Examples
    --------
    >>> said = Study.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> agreement_measures(said, ["alpha-nominal", "fleiss-kappa"]).select("measure", "value", "n_cases").rows()
    [('alpha-nominal', 0.444..., 3), ('fleiss-kappa', 0.333..., 3)]
    """
    import polars as pl

    check_seed(seed)
    check_share("level", level)
    if measures is not None and not len(measures):
        raise DissensusError(
            "there is no measure to compute", expected="names of measures, or None for those that suit"
        )
    studies: Mapping[str, Study] = study.by_finding() if study.kind == "checklists" else {"": study}
    prepared = []
    for one in studies.values():
        said = one.counted
        table = Table.of(said.select((said.votes_per_case > 0) & (said.case_weights > 0)))
        known, suited = OF_LABELS + OF_GRADES, OF_LABELS
        if said.kind == "ratings":
            known, suited = ("alpha-nominal", *OF_RATINGS), OF_RATINGS
        elif said.question == "grades":
            suited = OF_GRADES
        for name in suited if measures is None else measures:
            check_choice("measures", name, known)
            prepared.append((name, table.study, KNOWN[name].of(table)))
    computed = _computed(prepared, seed=seed, level=level)
    names = list(dict.fromkeys(name for name, _, _ in prepared))
    rows, findings = [row for row, _ in computed], [finding for finding in studies for _ in names]
    if study.kind == "checklists":
        rows += [_mean([one for one in computed if one[0].measure == name], level) for name in names]
        findings += [ALL_FINDINGS] * len(names)
    kinds = (pl.String, *[pl.Float64] * 3, pl.Int64, pl.Int64, pl.String)
    schema = dict(zip((part.name for part in fields(AgreementMeasure)), kinds, strict=True))
    frame = pl.DataFrame([astuple(row) for row in rows], schema=schema, orient="row")
    if study.kind == "checklists":
        frame.insert_column(0, pl.Series("finding", findings, dtype=pl.String))
    return frame


@checked
def cohen_kappa(
    annotations: Study, annotators: tuple[str, str], *, credit: Credit = "none", seed: int = 0, level: float = 0.95
) -> AgreementMeasure:
    """Measure the agreement of two named annotators beyond chance ([cohen]).

    Parameters
    ----------
    annotations
        Rankings, which count by what is named first; several conditions named first share the choice.
    annotators
        The names of both.
    credit
        What near misses are worth if the order of the conditions is one of grades: nothing, or ``"linear"`` or
        ``"quadratic"`` credit.
    seed, level
        As in :func:`agreement_measures`.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]]], [[["b"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> round(cohen_kappa(said, ("A", "B")).value, 3)
    0.4
    """
    check_choice("credit", credit, get_args(Credit))
    check_seed(seed)
    check_share("level", level)
    said = require_kind(annotations, "rankings", "Cohen's kappa").counted
    if len(annotators) != 2 or annotators[0] == annotators[1]:
        raise DissensusError("Cohen's kappa compares two annotators", expected="two names", got=repr(annotators))
    names = [known_name("annotator", name, said.annotator_names) for name in annotators]
    one, other = (said.annotator_names.index(name) for name in names)
    kappa = coefficients.mean_kappa(Table.of(said), credit, least=1, only=(one, other))._replace(note="")
    if not kappa.n_cases:
        kappa = kappa._replace(undefined="undefined: they have no case in common")
    name = "cohen-kappa" if credit == "none" else f"cohen-kappa-{credit}"
    return _computed([(name, said, kappa)], seed=seed, level=level)[0][0]


def _computed(
    prepared: Sequence[tuple[str, Study, Measure]], *, seed: int, level: float
) -> list[tuple[AgreementMeasure, FloatArray]]:
    """Compute measures on the same samples of cases; return what each is in them (draws,) too."""
    values, samples = resampled([(study, measure) for _, study, measure in prepared], draws=DRAWS, seed=seed)
    found = []
    for (name, study, measure), value, own in zip(prepared, values, samples.T, strict=True):
        is_defined = np.isfinite(value)
        low, high = middle(own, level) if is_defined else (np.nan, np.nan)
        n_annotators = len(np.unique(study.annotators[study.annotators != ANONYMOUS])) or None
        why = measure.note if is_defined else measure.undefined
        found.append((AgreementMeasure(name, float(value), low, high, measure.n_cases, n_annotators, why), own))
    return found


def _mean(found: Sequence[tuple[AgreementMeasure, FloatArray]], level: float) -> AgreementMeasure:
    """Average a measure over the studies in which it is defined."""
    rows, kept = [row for row, _ in found], [one for one in found if np.isfinite(one[0].value)]
    n_cases, n_annotators = max(row.n_cases for row in rows), max(row.n_annotators or 0 for row in rows) or None
    whole = replace(rows[0], value=np.nan, low=np.nan, high=np.nan, n_cases=n_cases, n_annotators=n_annotators)
    if not kept:
        return replace(whole, note="undefined: in every finding")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample in which no finding has a value has no mean
        low, high = middle(np.nanmean([samples for _, samples in kept], axis=0), level)
    value = float(np.mean([row.value for row, _ in kept]))
    return replace(whole, value=value, low=low, high=high, note=f"mean of {len(kept)} of {len(rows)} findings")


# Resampled cases -----------------------------------------------------------------------------------------


def resampled(
    prepared: Sequence[tuple[Study, Measure | Disagreement]], *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Compute measures of studies (n_measures,), and of the same samples of their cases (draws, n_measures).

    Cases of one group are drawn together, with replacement. With fewer than two groups, or cases without them, there is
    nothing to resample, and no sample.
    """
    units = [study.groups or study.case_names for study, _ in prepared]
    known = {name: number for number, name in enumerate(dict.fromkeys(name for names in units for name in names))}
    of_case = [np.array([known[name] for name in names], dtype=np.int64) for names in units]

    def of(times: FloatArray) -> FloatArray:
        return np.stack([one.values(times[:, at]) for (_, one), at in zip(prepared, of_case, strict=True)], axis=1)

    n_units, rng = len(known), np.random.default_rng(seed)
    values = of(np.ones((1, n_units)))[0]
    if n_units < 2:
        return values, np.empty((0, len(prepared)))
    at_once = max(1, NUMBERS_AT_ONCE // max([n_units, *(measure.width for _, measure in prepared)]))
    samples = []
    for start in range(0, draws, at_once):
        chosen = [rng.integers(n_units, size=n_units) for _ in range(start, min(start + at_once, draws))]
        samples.append(of(np.stack([np.bincount(one, minlength=n_units) for one in chosen]).astype(np.float64)))
    return values, np.concatenate(samples)


def middle(values: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the middle ``level`` of the values that are defined; nan if none is."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
