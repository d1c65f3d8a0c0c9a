"""Measures of agreement among annotators that suit a study, each with an interval, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dissensus.agreement.alpha import Distance, disagreement_of
from dissensus.agreement.coefficients import CREDITS, CohenKappa, Credit, FleissKappa, GwetCoefficient, Intraclass
from dissensus.agreement.table import Measure, Table, check_level, middle, resampled
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.core.names import known_name
from dissensus.study.panel import ANONYMOUS
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


Prepared: TypeAlias = tuple[Measure | None, int, str, str]
"""A measure before it is computed, the cases that count, what it rests on, and why it is undefined if it is."""


def _alpha(table: Table, distance: Distance) -> Prepared:
    n_paired = int(table.is_paired.sum())
    if not n_paired:
        return None, 0, "", UNPAIRED
    if distance == "ratio" and table.numbers.min() < 0:
        return None, n_paired, "", "undefined: ratios need ratings of zero or more"
    return disagreement_of(table, distance), n_paired, "", NO_DIFFERENCE


def _of_panel(table: Table, kind: type[FleissKappa | GwetCoefficient], credit: Credit = "none") -> Prepared:
    n_paired = int(table.is_paired.sum())
    if not n_paired:
        return None, 0, "", UNPAIRED
    undefined = "undefined: there is one condition only" if len(table.numbers) < 2 else NO_DIFFERENCE
    return kind.of(table, credit), n_paired, "", undefined


def _of_pairs(table: Table, credit: Credit = "none") -> Prepared:
    if not (table.study.annotators != ANONYMOUS).any():
        return None, 0, "", NAMELESS
    kappa = CohenKappa.of(table, credit, least=LEAST)
    if not kappa.n_pairs:
        return None, 0, "", f"undefined: no two annotators share {LEAST} cases"
    defined = np.isfinite(kappa.of_pairs(np.ones((1, table.n_cases)))).sum()
    note = f"mean of {defined} pairs with at least {LEAST} common cases" if defined != 1 else "one pair of annotators"
    return kappa, kappa.n_cases, note, NO_DIFFERENCE


def _of_ratings(table: Table, *, averaged: bool) -> Prepared:
    if not (table.study.annotators != ANONYMOUS).any():
        return None, 0, "", NAMELESS
    correlation = Intraclass.of(table, averaged=averaged)
    mean = float(correlation.ratings_per_case(np.ones((1, table.n_cases)))[0])
    undefined = "undefined: cases and annotators cannot be told apart, or ratings do not vary"
    rated = int((correlation.cases[:, 0] > 0).sum())
    return correlation, rated, f"k = {mean:.3g} ratings per case" if averaged else "", undefined


Preparation: TypeAlias = Callable[[Table], Prepared]

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
    >>> said = Study.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> agreement_measures(said, ["alpha-nominal", "fleiss-kappa"]).select("measure", "value", "n_cases").rows()
    [('alpha-nominal', 0.444..., 3), ('fleiss-kappa', 0.333..., 3)]
    """
    check_seed(seed)
    check_level(level)
    if measures is not None and not len(measures):
        raise DissensusError(
            "there is no measure to compute", expected="names of measures, or None for those that suit"
        )
    if study.kind == "checklists":
        return _of_findings(
            require_kind(study, "checklists", "agreement").by_finding(), measures, seed=seed, level=level
        )
    said = (
        require_kind(study, "ratings", "agreement")
        if study.kind == "ratings"
        else require_kind(study, "rankings", "agreement")
    )
    return _frame([row for row, _ in _measured([said], measures, seed=seed, level=level)])


@checked
def cohen_kappa(
    annotations: Study,
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
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]]], [[["b"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> round(cohen_kappa(said, ("A", "B")).value, 3)
    0.4
    """
    check_choice("credit", credit, CREDITS)
    check_seed(seed)
    check_level(level)
    said = require_kind(annotations, "rankings", "Cohen's kappa").counted
    if len(annotators) != 2 or annotators[0] == annotators[1]:
        raise DissensusError("Cohen's kappa compares two annotators", expected="two names", got=repr(annotators))
    names = [known_name("annotator", name, said.annotator_names) for name in annotators]
    one, other = (said.annotator_names.index(name) for name in names)
    kappa = CohenKappa.of(Table.of(said), credit, least=1, only=(one, other))
    name = "cohen-kappa" if credit == "none" else f"cohen-kappa-{credit}"
    undefined = NO_DIFFERENCE if kappa.n_pairs else "undefined: they have no case in common"
    return _computed([(name, said, (kappa, kappa.n_cases, "", undefined))], seed=seed, level=level)[0][0]


Computed: TypeAlias = list[tuple[AgreementMeasure, FloatArray]]
"""Measures, and what each is in samples of cases (draws,)."""


def _measured(studies: Sequence[Study], measures: Sequence[str] | None, *, seed: int, level: float) -> Computed:
    """Compute the measures of studies, study by study, of the cases with a weight that anybody spoke about."""
    prepared = []
    for study in studies:
        said = study.counted
        table = Table.of(said.select((said.votes_per_case > 0) & (said.case_weights > 0)))
        known, suited = {**OF_LABELS, **OF_GRADES}, tuple(OF_LABELS)
        if said.kind == "ratings":
            known, suited = dict(OF_RATINGS), tuple(OF_RATINGS)[1:]
        elif require_kind(said, "rankings", "agreement").question == "grades":
            suited = tuple(OF_GRADES)
        for name in suited if measures is None else measures:
            check_choice("measures", name, tuple(known))
            prepared.append((name, table.study, known[name](table)))
    return _computed(prepared, seed=seed, level=level)


def _computed(prepared: Sequence[tuple[str, Study, Prepared]], *, seed: int, level: float) -> Computed:
    """Compute measures on the same samples of cases."""
    values, samples = resampled(
        [measure for _, _, (measure, *_) in prepared], [study for _, study, _ in prepared], draws=DRAWS, seed=seed
    )
    found: Computed = []
    for (name, study, (_, n_cases, note, undefined)), value, own in zip(prepared, values, samples.T, strict=True):
        is_defined = np.isfinite(value)
        low, high = middle(own, level) if is_defined else (np.nan, np.nan)
        n_annotators = len(np.unique(study.annotators[study.annotators != ANONYMOUS])) or None
        why = note if is_defined else undefined
        found.append((AgreementMeasure(name, float(value), low, high, n_cases, n_annotators, why), own))
    return found


def _of_findings(
    studies: Mapping[str, Study], measures: Sequence[str] | None, *, seed: int, level: float
) -> pl.DataFrame:
    """Return a row per finding and measure, and the means over the findings in which a measure is defined."""
    import polars as pl

    computed = _measured(list(studies.values()), measures, seed=seed, level=level)
    names = list(dict.fromkeys(row.measure for row, _ in computed))
    means = [_mean([one for one in computed if one[0].measure == name], level) for name in names]
    findings = [*(finding for finding in studies for _ in names), *[ALL_FINDINGS] * len(names)]
    rows = [*(row for row, _ in computed), *means]
    return _frame(rows).insert_column(0, pl.Series("finding", findings, dtype=pl.String))


def _mean(found: Computed, level: float) -> AgreementMeasure:
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


def _frame(rows: Sequence[AgreementMeasure]) -> pl.DataFrame:
    """Put measures into a table."""
    import polars as pl

    names = [part.name for part in fields(AgreementMeasure)]
    kinds = dict(zip(names, (pl.String, *[pl.Float64] * 3, pl.Int64, pl.Int64, pl.String), strict=True))
    return pl.DataFrame([astuple(row) for row in rows], schema=kinds, orient="row")
