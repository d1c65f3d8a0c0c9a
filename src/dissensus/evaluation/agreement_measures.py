"""Measures of agreement among annotators that suit a study, each with an interval, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.checks import check_choice, check_seed
from dissensus.core.errors import DissensusError
from dissensus.core.names import known_name
from dissensus.evaluation.intraclass import Intraclass
from dissensus.evaluation.kappas import CREDITS, Choices, CohenKappa, Credit, FleissKappa, GwetCoefficient
from dissensus.evaluation.krippendorff import (
    Distance,
    Distances,
    Labelled,
    alpha_distances,
    alphas_of,
    check_level,
    middle,
    paired,
    resampled,
)
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

DRAWS = 1000
"""How many samples of cases intervals rest on."""

LEAST = 10
"""How many cases two annotators have in common, at the least, to be one of the pairs that Cohen's kappa averages."""

ALL_FINDINGS = "mean of findings"
"""What the row is called that averages a measure over all findings."""

UNPAIRED = "undefined: no case has two opinions"
NAMELESS = "undefined: annotators have no names"
NO_DIFFERENCE = "undefined: no two opinions differ"


class Measure(Protocol):
    """A statistic of cases that can be resampled."""

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""

    def values(self, times: FloatArray) -> FloatArray:
        """Return the measure if each case occurs so many ``times`` (n, n_cases), shape (n,)."""


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
    >>> said = Annotations.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
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


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A measure of a study before it is computed: positions of its cases, and what is known without computing."""

    name: str
    measure: Measure | None
    cases: IntArray
    n_cases: int
    note: str = ""
    undefined: str = NO_DIFFERENCE


@dataclass(frozen=True, eq=False)
class _Alpha:
    """Krippendorff's alpha as a measure."""

    said: Labelled
    distances: Distances

    @property
    def width(self) -> int:
        return self.distances.width

    def values(self, times: FloatArray) -> FloatArray:
        return alphas_of(self.said, self.distances, times)


# Which measures there are ----------------------------------------------------------------------------------


def _alpha(said: Labelled, name: str, distance: Distance) -> _Prepared:
    kept = np.flatnonzero((said.votes_per_case > 1) & (said.case_weights > 0))
    if not len(kept):
        return _Prepared(name, None, kept, 0, undefined=UNPAIRED)
    if distance == "ratio" and said.kind == "ratings" and said.scores.min() < 0:
        return _Prepared(name, None, kept, len(kept), undefined="undefined: ratios need ratings of zero or more")
    pairs = paired(said)
    return _Prepared(name, _Alpha(pairs, alpha_distances(pairs, distance)), kept, len(kept))


def _of_panel(
    said: Labelled, name: str, kind: type[FleissKappa | GwetCoefficient], credit: Credit = "none"
) -> _Prepared:
    choices = Choices.of(require_kind(said, "rankings", name))
    n_paired = int(((choices.sizes > 1) & (choices.weights > 0)).sum())
    everything = np.arange(said.n_cases)
    if not n_paired:
        return _Prepared(name, None, everything, 0, undefined=UNPAIRED)
    undefined = "undefined: there is one condition only" if said.n_conditions < 2 else NO_DIFFERENCE
    return _Prepared(name, kind.of(choices, credit), everything, n_paired, undefined=undefined)


def _of_pairs(said: Labelled, name: str, credit: Credit = "none") -> _Prepared:
    everything = np.arange(said.n_cases)
    if not (said.annotators != ANONYMOUS).any():
        return _Prepared(name, None, everything, 0, undefined=NAMELESS)
    kappa = CohenKappa.of(Choices.of(require_kind(said, "rankings", name)), credit, least=LEAST)
    if not len(kappa.pairs):
        return _Prepared(name, None, everything, 0, undefined=f"undefined: no two annotators share {LEAST} cases")
    defined = np.isfinite(kappa.of_pairs(np.ones((1, said.n_cases)))).sum()
    note = f"mean of {defined} pairs with at least {LEAST} common cases" if defined != 1 else "one pair of annotators"
    return _Prepared(name, kappa, everything, kappa.n_cases, note)


def _of_ratings(said: Labelled, name: str, *, averaged: bool) -> _Prepared:
    ratings, everything = require_kind(said, "ratings", name), np.arange(said.n_cases)
    if not (said.annotators != ANONYMOUS).any():
        return _Prepared(name, None, everything, 0, undefined=NAMELESS)
    correlation = Intraclass.of(ratings, averaged=averaged)
    mean = float(correlation.ratings_per_case(np.ones((1, said.n_cases)))[0])
    note = f"k = {mean:.3g} ratings per case" if averaged else ""
    undefined = "undefined: cases and annotators cannot be told apart, or ratings do not vary"
    rated = int((correlation.cases[:, 0] > 0).sum())
    return _Prepared(name, correlation, everything, rated, note, undefined)


Preparation: TypeAlias = Callable[[Labelled, str], _Prepared]

OF_LABELS: Mapping[str, Preparation] = {
    "alpha-nominal": partial(_alpha, distance="first-choice"),
    "fleiss-kappa": partial(_of_panel, kind=FleissKappa),
    "cohen-kappa": _of_pairs,
    "gwet-ac1": partial(_of_panel, kind=GwetCoefficient),
}

OF_GRADES: Mapping[str, Preparation] = {
    "alpha-ordinal": partial(_alpha, distance="ordinal"),
    "alpha-interval": partial(_alpha, distance="interval"),
    "cohen-kappa-linear": partial(_of_pairs, credit="linear"),
    "cohen-kappa-quadratic": partial(_of_pairs, credit="quadratic"),
    "gwet-ac2-linear": partial(_of_panel, kind=GwetCoefficient, credit="linear"),
    "gwet-ac2-quadratic": partial(_of_panel, kind=GwetCoefficient, credit="quadratic"),
}

OF_RATINGS: Mapping[str, Preparation] = {
    "alpha-nominal": partial(_alpha, distance="first-choice"),
    "alpha-ordinal": partial(_alpha, distance="ordinal"),
    "alpha-interval": partial(_alpha, distance="interval"),
    "alpha-ratio": partial(_alpha, distance="ratio"),
    "icc-2-1": partial(_of_ratings, averaged=False),
    "icc-2-k": partial(_of_ratings, averaged=True),
}

TITLES: Mapping[str, str] = {
    "alpha-nominal": "Krippendorff's alpha, nominal",
    "alpha-ordinal": "Krippendorff's alpha, ordinal",
    "alpha-interval": "Krippendorff's alpha, interval",
    "alpha-ratio": "Krippendorff's alpha, ratio",
    "fleiss-kappa": "Fleiss' kappa",
    "cohen-kappa": "Cohen's kappa",
    "cohen-kappa-linear": "Cohen's kappa, linear credit",
    "cohen-kappa-quadratic": "Cohen's kappa, quadratic credit",
    "gwet-ac1": "Gwet's AC1",
    "gwet-ac2-linear": "Gwet's AC2, linear credit",
    "gwet-ac2-quadratic": "Gwet's AC2, quadratic credit",
    "icc-2-1": "ICC(2,1)",
    "icc-2-k": "ICC(2,k)",
}
"""What each measure is called."""

MEANINGS: Mapping[str, str] = {
    "alpha-nominal": "One minus the disagreement within cases over that among all opinions of the study; two opinions "
    "are the same or not.",
    "alpha-ordinal": "The same, where two opinions are the further apart the more opinions of the study lie between.",
    "alpha-interval": "The same, where two opinions are as far apart as the square of their difference.",
    "alpha-ratio": "The same, where differences count in proportion to the sum of both; zero must mean nothing at all.",
    "fleiss-kappa": "How often two annotators of a case agree, beyond two who choose by how common conditions are.",
    "cohen-kappa": "How often two named annotators agree, beyond chance at the rates of each; mean over all pairs.",
    "cohen-kappa-linear": "The same for grades, where near misses count in part, less by every step between both.",
    "cohen-kappa-quadratic": "The same for grades, where near misses count in part, less by the square of the steps.",
    "gwet-ac1": "How often two annotators agree, beyond a chance that is small where most cases have one condition.",
    "gwet-ac2-linear": "The same for grades, where near misses count in part, less by every step between both.",
    "gwet-ac2-quadratic": "The same for grades, where near misses count in part, less by the square of the steps.",
    "icc-2-1": "The share of the variance of single ratings that lies between cases; that annotators differ in how "
    "high they rate counts as disagreement.",
    "icc-2-k": "The same of the mean of the ratings of a case.",
}
"""What each measure says, in a sentence."""


def _known(said: Labelled) -> tuple[Mapping[str, Preparation], tuple[str, ...]]:
    """Return the measures that a study has, and those that suit it."""
    if said.kind == "ratings":
        return OF_RATINGS, tuple(OF_RATINGS)[1:]
    return {**OF_LABELS, **OF_GRADES}, tuple(OF_GRADES if said.question == "grades" else OF_LABELS)


# The table -------------------------------------------------------------------------------------------------


@checked
def agreement_measures(
    study: Study, measures: Sequence[str] | None = None, *, seed: int = 0, level: float = 0.9
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
    >>> said = Annotations.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> agreement_measures(said, ["alpha-nominal", "fleiss-kappa"]).select("measure", "value", "n_cases").rows()
    [('alpha-nominal', 0.444..., 3), ('fleiss-kappa', 0.333..., 3)]
    """
    check_seed(seed)
    check_level(level)
    if study.kind == "checklists":
        return _of_findings(study.by_finding(), measures, seed=seed, level=level)
    computed = _measured({"": _labelled(study)}, measures, seed=seed)
    return _frame([computed.row(place, level) for place in range(len(computed.prepared))])


@checked
def cohen_kappa(
    annotations: Annotations,
    annotators: tuple[str, str],
    *,
    credit: Credit = "none",
    seed: int = 0,
    level: float = 0.9,
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
    >>> said = Annotations.from_rankings(
    ...     [[[["a"]], [["a"]]], [[["b"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> round(cohen_kappa(said, ("A", "B")).value, 3)
    0.4
    """
    check_choice("credit", credit, CREDITS)
    check_seed(seed)
    check_level(level)
    said = require_kind(annotations, "rankings", "Cohen's kappa").counted
    kappa = CohenKappa.of(Choices.of(said), credit, least=1, only=_two(said, annotators))
    name = "cohen-kappa" if credit == "none" else f"cohen-kappa-{credit}"
    undefined = NO_DIFFERENCE if len(kappa.pairs) else "undefined: they have no case in common"
    prepared = _Prepared(name, kappa, np.arange(said.n_cases), kappa.n_cases, undefined=undefined)
    computed = _Computed.of([prepared], [said], seed=seed)
    return computed.row(0, level)


def _two(said: Annotations, annotators: tuple[str, str]) -> tuple[int, int]:
    """Return the codes of two different annotators."""
    if len(annotators) != 2 or annotators[0] == annotators[1]:
        raise DissensusError("Cohen's kappa compares two annotators", expected="two names", got=repr(annotators))
    names = [known_name("annotator", name, said.annotator_names) for name in annotators]
    one, other = (said.annotator_names.index(name) for name in names)
    return one, other


def _labelled(study: Study) -> Labelled:
    return study if study.kind == "ratings" else require_kind(study, "rankings", "agreement")


def _speaking(study: Labelled) -> Labelled:
    """Keep the cases with a weight on which somebody said something that counts."""
    said = study.counted
    return said.select((said.votes_per_case > 0) & (said.case_weights > 0))


def _measured(studies: Mapping[str, Labelled], measures: Sequence[str] | None, *, seed: int) -> _Computed:
    """Compute the measures of studies whose cases are resampled together, study by study."""
    if measures is not None and not len(measures):
        raise DissensusError(
            "there is no measure to compute", expected="names of measures, or None for those that suit"
        )
    prepared, kept = [], []
    for study in map(_speaking, studies.values()):
        known, suited = _known(study)
        for measure in suited if measures is None else measures:
            check_choice("measures", measure, tuple(known))
            kept.append(study)
            prepared.append(known[measure](study, measure))
    return _Computed.of(prepared, kept, seed=seed)


@dataclass(frozen=True, eq=False)
class _Computed:
    """Values of measures (n_measures,), and what they are in samples of cases (draws, n_measures)."""

    prepared: Sequence[_Prepared]
    studies: Sequence[Labelled]
    values: FloatArray
    samples: FloatArray

    @classmethod
    def of(cls, prepared: Sequence[_Prepared], studies: Sequence[Labelled], *, seed: int) -> _Computed:
        """Compute all measures on the same samples of cases, those of one group together."""
        known = {name: number for number, name in enumerate(dict.fromkeys(n for s in studies for n in _units(s)))}
        cluster = [
            np.array([known[name] for name in _units(study)], dtype=np.int64)[one.cases]
            for one, study in zip(prepared, studies, strict=True)
        ]

        def of_times(times: FloatArray) -> FloatArray:
            return np.stack([_values(one, times[:, at]) for one, at in zip(prepared, cluster, strict=True)], axis=1)

        width = max([len(known), *(one.measure.width for one in prepared if one.measure is not None)])
        samples = resampled(np.arange(len(known)), of_times, width, draws=DRAWS, seed=seed)
        values = of_times(np.ones((1, len(known))))[0]
        return cls(prepared, studies, values, samples.reshape(-1, len(prepared)))

    def row(self, place: int, level: float) -> AgreementMeasure:
        """Put a measure, its interval and what is to be said of it together."""
        one, study, value = self.prepared[place], self.studies[place], float(self.values[place])
        is_defined = np.isfinite(value)
        low, high = middle(self.samples[:, place], level) if is_defined else (np.nan, np.nan)
        n_annotators = len(np.unique(study.annotators[study.annotators != ANONYMOUS])) or None
        note = one.note if is_defined else one.undefined
        return AgreementMeasure(one.name, value, low, high, one.n_cases, n_annotators, note)

    def mean(self, measure: str, level: float) -> AgreementMeasure:
        """Average a measure over the studies in which it is defined."""
        places = [place for place, one in enumerate(self.prepared) if one.name == measure]
        rows = [self.row(place, level) for place in places]
        kept = [place for place in places if np.isfinite(self.values[place])]
        n_cases, n_annotators = max(row.n_cases for row in rows), max(row.n_annotators or 0 for row in rows) or None
        if not kept:
            note = "undefined: in every finding"
            return AgreementMeasure(measure, np.nan, np.nan, np.nan, n_cases, n_annotators, note)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a sample in which no finding has a value has no mean
            low, high = middle(np.nanmean(self.samples[:, kept], axis=1), level)
        note = f"mean of {len(kept)} of {len(places)} findings"
        return AgreementMeasure(measure, float(self.values[kept].mean()), low, high, n_cases, n_annotators, note)


def _units(study: Labelled) -> tuple[str, ...]:
    """Name what is resampled as a whole behind every case."""
    return study.groups or study.case_names


def _values(one: _Prepared, times: FloatArray) -> FloatArray:
    return np.full(len(times), np.nan) if one.measure is None else one.measure.values(times)


def _of_findings(
    studies: Mapping[str, Annotations], measures: Sequence[str] | None, *, seed: int, level: float
) -> pl.DataFrame:
    """Return a row per finding and measure, and the means over findings."""
    import polars as pl

    computed = _measured(studies, measures, seed=seed)
    names = list(dict.fromkeys(one.name for one in computed.prepared))
    rows = [computed.row(place, level) for place in range(len(computed.prepared))]
    means = [computed.mean(name, level) for name in names]
    findings = [*(finding for finding in studies for _ in names), *[ALL_FINDINGS] * len(names)]
    return _frame([*rows, *means]).insert_column(0, pl.Series("finding", findings, dtype=pl.String))


def _frame(rows: Sequence[AgreementMeasure]) -> pl.DataFrame:
    """Put measures into a table."""
    import polars as pl

    names = [part.name for part in fields(AgreementMeasure)]
    kinds = dict(zip(names, (pl.String, *[pl.Float64] * 3, pl.Int64, pl.Int64, pl.String), strict=True))
    return pl.DataFrame([astuple(row) for row in rows], schema=kinds, orient="row")
