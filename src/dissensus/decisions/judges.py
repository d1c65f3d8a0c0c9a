"""Many cheap judgements corrected by few human ones: prediction-powered means, and what judges are worth together.

Judges (models) judged all cases, humans some of them, several humans a case. With the judgement f of all N cases and
the mean y of the human opinions on the n labelled ones, the estimate is mean(y) + lam (mean of all f - mean of labelled
f), with lam = Cov(y, f) / Var(f) ([ppi]: Angelopoulos, Duchi and Zrnic 2023, as a difference to all cases instead of
the unlabelled ones). Every case has one influence on it, so that groups, weights and strata need one formula. Metrics
enter by the value of every opinion, whose mean is the metric. Opinions of a case differ: their variance, divided by
their number, is part of the variance of y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from dissensus.agreement.coefficients import Table, inner
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_positive, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import checked_costs
from dissensus.core.ragged import product, weighted_counts
from dissensus.core.screen import Rows
from dissensus.core.spec import one_spec
from dissensus.decisions.planning import spread_within, values_against
from dissensus.evaluation.expert_comparison.experts import Experts, experts
from dissensus.evaluation.expert_comparison.sample import Crossing, Pairs, first_shares
from dissensus.evaluation.intervals import Part, freedom_of
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.study import Study

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# So many labelled cases are needed, of all and of every stratum.
LEAST_CASES, LEAST_OF_STRATUM = 10, 2

# Labelled cases are not like the others if judgements of them are so many standard errors away.
FAR = 3.0

# The most opinions per case that are recommended, and how often cases are resampled for the correlation of errors.
MOST_OPINIONS, RESAMPLES = 50, 400


@dataclass(frozen=True, eq=False)
class Labelled:
    """Say which of the judged cases humans labelled, and how these stand for all.

    Attributes
    ----------
    rows : (n,)
        Positions of the labelled cases among all.
    weights : (n,)
        How much each counts; they add up to one.
    strata, groups : (N,)
        The stratum that each case was drawn from, and what it belongs to, from 0.
    is_finite
        Whether the judged cases are all there are, rather than a sample.
    """

    rows: IntArray
    weights: FloatArray
    strata: IntArray
    groups: IntArray
    is_finite: bool


@dataclass(frozen=True)
class Powered:
    """Hold a mean that is corrected by human labels.

    Attributes
    ----------
    mean, variance, freedom
        The estimate, its variance and degrees of freedom.
    lam
        How much the judge counts: 0 for not at all, about 1 for as much as a human.
    residual
        Variance between labelled cases of what is left of y without lam f.
    """

    mean: float
    variance: float
    freedom: float
    lam: float
    residual: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of Student's t."""
        half = float(stdtrit(self.freedom, (1 + level) / 2)) * math.sqrt(self.variance)
        return self.mean - half, self.mean + half

    def with_part(self, part: Part | None) -> Powered:
        """Add a part of the variance, with degrees of freedom by the rule of Satterthwaite."""
        if part is None:
            return self
        parts = (Part(np.array(self.variance), np.array(self.variance), self.freedom), part)
        total = self.variance + float(part.variance)
        return replace(self, variance=total, freedom=float(freedom_of(parts)))


def prediction_powered(
    y: FloatArray, f: FloatArray, on: Labelled, *, noise: float = math.nan, lam: float | None = None
) -> Powered:
    """Correct the mean of a judgement by human labels.

    Parameters
    ----------
    y, f : (n,), (N,)
        What humans say of the labelled cases, and what the judge says of all.
    on
        Which cases are labelled.
    noise
        Variance of y that comes from who was asked, which more cases of a finite set do not reduce; unknown if nan.
    lam
        How much the judge counts; by default what gives the least variance, between 0 and 1 as for unlabelled cases.

    Examples
    --------
    >>> rows, some = np.arange(3), np.array([1.0, 2.0, 4.0])
    >>> on = Labelled(rows, np.full(3, 1 / 3), np.zeros(6, dtype=int), np.arange(6), False)
    >>> found = prediction_powered(some, np.array([1.0, 2.0, 4.0, 4.0, 5.0, 6.0]), on)
    >>> round(found.mean, 3), round(found.lam, 3)
    (2.932, 0.449)
    """
    n, n_all, own, w = len(y), len(f), f[on.rows], on.weights
    if lam is None:
        covariance = float(product(w, (y - product(w, y)) * (own - product(w, own))))
        variance, most = float(np.var(f, ddof=1)), n_all / max(n_all - n, 1)
        lam = min(max(covariance / variance, 0.0), most) if variance > 0 else 0.0
    r, stratum = y - lam * own, on.strata[on.rows]
    n_strata = int(on.strata.max()) + 1
    of_stratum = weighted_counts(stratum, w * r, n_strata) / weighted_counts(stratum, w, n_strata)
    mean = float(product(w, r) + lam * f.mean())
    keys = np.unique(np.stack([stratum, on.groups[on.rows]]), axis=1)[0]
    n_groups = np.bincount(keys, minlength=n_strata)
    few = np.sqrt(n_groups / np.maximum(n_groups - 1, 1))
    left = r - of_stratum[stratum]
    influence = np.zeros(n_all)
    influence[on.rows] = w * left * few[stratum]
    residual = float(product(w, left**2)) * n / max(n - n_strata, 1)
    less = 0.0
    if not on.is_finite:
        influence += (of_stratum[on.strata] + lam * f - mean) / n_all
    elif len(np.unique(on.groups)) == n_all:
        known = 0.0 if math.isnan(noise) else max(residual - noise, 0.0)
        less = known / n_all
    sums = weighted_counts(on.groups, influence, int(on.groups.max()) + 1)
    freedom = max(int(n_groups.sum()) - n_strata, 1)
    return Powered(mean, max(float(np.square(sums).sum()) - less, 0.0), freedom, lam, residual)


def rogan_gladen(y: FloatArray, f: FloatArray, on: Labelled) -> Powered | None:
    """Correct the share of yes by the sensitivity and specificity of the judge; nothing if these tell nothing.

    Parameters
    ----------
    y, f : (n,), (N,)
        Share of humans who say yes on the labelled cases, and whether the judge does, on all.
    """
    own, w = f[on.rows], on.weights
    positive = float(product(w, y))
    if not 0 < positive < 1:
        return None
    sensitivity, false = float(product(w, y * own)) / positive, float(product(w, (1 - y) * own)) / (1 - positive)
    apart, share = sensitivity - false, float(f.mean())
    if apart <= 0:
        return None
    mean = (share - false) / apart
    slope = y * (own - sensitivity) / positive * mean + (1 - y) * (own - false) / (1 - positive) * (1 - mean)
    influence = np.zeros(len(f)) if on.is_finite else (f - share) / len(f)
    influence[on.rows] -= w * slope
    sums = weighted_counts(on.groups, influence / apart, int(on.groups.max()) + 1)
    return Powered(mean, float(np.square(sums).sum()), len(y) - 1, math.nan, math.nan)


def best_opinions(case: float, opinion: float, costs: Mapping[str, float]) -> int:
    """Return how many opinions per case give the least variance at a cost.

    Parameters
    ----------
    case, opinion
        Variance between cases and between opinions on a case.
    costs
        Of one ``case`` and one ``opinion``.

    Examples
    --------
    >>> best_opinions(1.0, 1.0, {"case": 9.0, "opinion": 1.0})
    3
    """
    numbers = np.arange(1, MOST_OPINIONS + 1)
    return int(numbers[np.argmin((case + opinion / numbers) * (costs["case"] + numbers * costs["opinion"]))])


@dataclass(frozen=True, eq=False, repr=False)
class Judges(Rows):
    """Hold what judges say once humans corrected them.

    Attributes
    ----------
    rows
        A row per quantity and judge: ``judge_alone``; ``humans_alone`` with ``humans_low``, ``humans_high``; the
        corrected ``estimate`` with ``low`` and ``high``; ``lam``; ``rogan_gladen`` with its limits, of shares of yes;
        ``opinions``, how many a case are best at the costs; ``labels``, how many labelled cases with so many opinions
        give the wanted width (infinite if more cases must be judged), and their ``cost``.
    errors
        Correlation of the judges' errors, ``rho``; that of left-out annotators on the same cases; the ``excess`` with
        its limits; and how many independent ones as many judges, or annotators, are worth.
    consistency
        Of judges who answered repeatedly: how often two answers agree, and the share of variation within a case.
    """

    rows: tuple[dict[str, Any], ...]
    errors: Mapping[str, float]
    consistency: tuple[dict[str, Any], ...]
    level: float
    n_labelled: int
    n_cases: int
    about: str
    notes: tuple[str, ...]
    _compared: tuple[Study, Mapping[str, Predictions]]

    def experts(self, **options: Any) -> Experts:
        """Put every judge among the humans, as :func:`dissensus.experts` does; ``alt_test`` of it tests each of them.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=4, seed=1)
        >>> judge = {"Aster": study.predictions["Aster"]}
        >>> found = ds.judges(study.annotations, judge, condition=study.annotations.conditions[0])
        >>> found.experts(metrics=["top-k-accuracy:1"]).primary
        'top-1 accuracy'
        """
        study, judged = self._compared
        return experts(study, judged, **options)

    def words(self) -> list[str]:
        """Say what came out."""
        labelled = f"{self.n_labelled:,} of {self.n_cases:,} cases labelled by humans"
        told = [f"{self.about}: {labelled}, {100 * self.level:g} % intervals"]
        if not math.isnan(self.errors["rho"]):
            own = "error correlation of judges {rho:.2f}, worth {effective:.1f} independent ones"
            beside = "; of annotators {annotators:.2f}, excess {excess:+.2f} [{low:+.2f}, {high:+.2f}]"
            told.append((own + ("" if math.isnan(self.errors["annotators"]) else beside)).format_map(self.errors))
        repeated = "{judge}: two answers agree in {agreement:.2f}; {within:.0%} of the variation is within a case"
        return told + [repeated.format_map(one) for one in self.consistency]

    def summary(self) -> Any:
        """Return estimates with intervals, and what to ask for."""
        found = self.to_frame()
        if found["rogan_gladen"].is_nan().all():
            found = found.drop("rogan_gladen", "rogan_gladen_low", "rogan_gladen_high")
        return found.drop("humans_low", "humans_high")


@checked
def judges(
    study: Study,
    judgements: Mapping[str, ArrayLike | Predictions | Sequence[Predictions]],
    metric: Metric | str | None = None,
    *,
    predictions: Mapping[str, ArrayLike | Predictions] | None = None,
    condition: str | None = None,
    strata: Mapping[str, str] | None = None,
    groups: Mapping[str, str] | None = None,
    finite: bool = False,
    width: float | None = None,
    costs: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Judges:
    """Estimate a mean, a share or a metric from many judgements, corrected by few human labels.

    Parameters
    ----------
    study
        What humans said, on some of the judged cases; weights of cases are inverse to their chance of being labelled.
    judgements
        What each judge said of all cases: :class:`Predictions`, scores in the order of the cases of the study, or a
        list of predictions, the repeated answers of one judge.
    metric, predictions
        What models said of all cases, and the metric to estimate, as if humans had labelled every case. Without them,
        the estimate is the mean rating, or the share of a condition.
    condition
        The condition whose share is estimated; by default the positive one of two.
    strata
        The stratum of every judged case, if cases to label were drawn within strata.
    groups
        What every judged case belongs to, such as a patient; by default the groups of the study.
    finite
        Whether the judged cases are the whole population, rather than a sample of it.
    width, costs
        A wanted width of the interval, and what one ``case`` and one ``opinion`` cost, by default 1 each.
    level
        Probability that intervals hold.

    Examples
    --------
    >>> import dissensus as ds
    >>> simulated = ds.simulate.study(n_cases=200, n_conditions=4, seed=1)
    >>> labelled = simulated.annotations.select(range(50))
    >>> found = ds.judges(labelled, {"Aster": simulated.predictions["Aster"]}, condition=labelled.conditions[0])
    >>> found.n_labelled, found.n_cases, found.rows[0]["low"] < found.rows[0]["estimate"]
    (50, 200, True)
    """
    check_share("level", level)
    if width is not None:
        check_positive(width=width)
    cost, said, judged = checked_costs(costs, ("case", "opinion")), study.counted, _judged(study, judgements)
    names = next(iter(judged.values()))[0].case_names
    place = {name: row for row, name in enumerate(names)}
    counts = (said.votes_per_case > 0) & (said.case_weights > 0)
    said = said.select([name in place and known for name, known in zip(said.case_names, counts, strict=True)])
    own_groups = dict(zip(study.case_names, study.groups, strict=True)) if study.groups else {}
    on = _labelled(said, place, strata, {**own_groups, **(groups or {})}, is_finite=finite)
    quantities, about = _quantities(said, on, judged, names, metric, predictions, condition)
    notes, is_share = _notes(study, said, on, judged, strata), metric is None and said.kind != "ratings"
    rows = [
        {"quantity": name, "judge": judge, **_row(humans, f, on, level, width, cost, is_share=is_share)}
        for name, of_opinion, by_judge in quantities
        for humans in [_humans(said, of_opinion, on)]
        for judge, f in by_judge.items()
    ]
    labels = {name: answers[0].select(list(said.case_names)) for name, answers in judged.items()}
    repeated = {name: answers for name, answers in judged.items() if len(answers) > 1}
    consistency = tuple({"judge": name, **_consistency(answers)} for name, answers in repeated.items())
    sizes = said.n_cases, len(names)
    errors = error_correlation(said, labels)
    return Judges(tuple(rows), errors, consistency, level, *sizes, about, notes, (said, labels))


def _judged(study: Study, judgements: Mapping[str, Any]) -> dict[str, list[Predictions]]:
    """Align the answers of every judge to the cases that all of them judged."""
    if study.kind == "checklists":
        raise DissensusError("judges answer one question at a time", advice="take one finding: study.of_finding(name)")
    if not judgements:
        raise DissensusError("there is no judge", expected="what at least one judge said")
    found: dict[str, list[Predictions]] = {}
    for name, given in judgements.items():
        is_repeated = isinstance(given, list | tuple) and all(isinstance(one, Predictions) for one in given)
        if is_repeated and not given:
            raise DissensusError("a judge gave no answer", where=f"judge {name!r}")
        found[str(name)] = list(given) if is_repeated else [given]
        if not is_repeated and not isinstance(given, Predictions):
            found[str(name)] = list(aligned_models({name: given}, study.case_names, study.conditions).values())
    common = set.intersection(*(set(one.case_names) for answers in found.values() for one in answers))
    order = [name for name in next(iter(found.values()))[0].case_names if name in common]
    wanted = study.conditions or None
    return {name: [one.select(order).align(order, wanted) for one in answers] for name, answers in found.items()}


def _labelled(
    said: Study,
    place: Mapping[str, int],
    strata: Mapping[str, str] | None,
    groups: Mapping[str, str],
    *,
    is_finite: bool,
) -> Labelled:
    """Say how labelled cases stand for all; refuse too few, and strata without any."""
    if said.n_cases < LEAST_CASES:
        raise DissensusError(
            "too few judged cases are labelled by humans",
            expected=f"at least {LEAST_CASES} cases that every judge judged",
            got=str(said.n_cases),
            advice="name cases alike in both files, or ask humans about more cases",
        )
    names, rows = list(place), np.array([place[name] for name in said.case_names])
    weights = said.case_weights / said.case_weights.sum()
    codes = np.zeros(len(names), dtype=np.int64)
    if strata is not None:
        lacking = [name for name in names if name not in strata]
        if lacking:
            raise DissensusError("cases have no stratum", expected="one for every judged case", got=listing(lacking))
        known, codes = np.unique([str(strata[name]) for name in names], return_inverse=True)
        n_labelled, n_all = np.bincount(codes[rows], minlength=len(known)), np.bincount(codes)
        few, expected = known[n_labelled < LEAST_OF_STRATUM].tolist(), f"at least {LEAST_OF_STRATUM} of each"
        if few:
            raise DissensusError("strata have too few labelled cases", expected=expected, got=listing(few))
        within = weighted_counts(codes[rows], weights, len(known))
        weights = weights / within[codes[rows]] * (n_all / n_all.sum())[codes[rows]]
    labels = [f"group {groups[name]}" if name in groups else f"case {name}" for name in names]
    return Labelled(rows, weights, codes, np.unique(labels, return_inverse=True)[1], is_finite)


def _notes(
    study: Study, said: Study, on: Labelled, judged: Mapping[str, list[Predictions]], strata: object
) -> tuple[str, ...]:
    """Say which population the interval is about, and what looks wrong."""
    n_all = len(on.strata)
    population = "exactly these" if on.is_finite else "cases like these"
    notes = [f"intervals are about {population} {n_all:,} judged cases"]
    unjudged = int((study.counted.votes_per_case > 0).sum()) - said.n_cases
    if unjudged:
        notes.append(f"{unjudged} labelled cases lack a judgement, or weigh nothing: left out")
    if on.is_finite and (said.votes_per_case < 2).all():
        notes.append("one opinion per case: the finite set does not narrow the interval, as opinions may differ")
    if strata is None and not said.panel.has_case_weights and len(on.rows) < n_all:
        others = np.setdiff1d(np.arange(n_all), on.rows)
        unlike = "labelled cases are not like the others by what {} says: if they were not drawn at random, "
        for name, (one, *_) in judged.items():
            shares = one.numbers[:, None] if said.kind == "ratings" else first_shares(one, said.n_conditions).toarray()
            spread = shares.std(axis=0) * math.sqrt(1 / len(on.rows) + 1 / len(others))
            away = np.abs(shares[on.rows].mean(axis=0) - shares[others].mean(axis=0))
            if (away > FAR * np.maximum(spread, 1e-12)).any():
                return (*notes, unlike.format(name) + "give strata or weights of cases")
    return tuple(notes)


def _quantities(
    said: Study,
    on: Labelled,
    judged: Mapping[str, list[Predictions]],
    names: tuple[str, ...],
    metric: Metric | str | None,
    predictions: Mapping[str, Any] | None,
    condition: str | None,
) -> tuple[list[tuple[str, FloatArray, dict[str, FloatArray]]], str]:
    """Return the name, the value of every opinion and the values of every judge, of all quantities."""

    def of_judges(value: Callable[[Predictions], FloatArray]) -> dict[str, FloatArray]:
        """Average repeated answers; the mean of several judges is one more."""
        found = {judge: np.mean([value(one) for one in answers], axis=0) for judge, answers in judged.items()}
        return found if len(found) == 1 else {**found, "mean of judges": np.mean(list(found.values()), axis=0)}

    if (metric is None) != (predictions is None):
        raise DissensusError("a metric needs the predictions of models, and these a metric", expected="both or neither")
    if metric is not None and predictions is not None:
        spec = one_spec(Metric.family, metric)
        found = []
        for name, model in aligned_models(predictions, names, said.conditions).items():
            spec.check(model)
            own = values_against(spec, model.select(list(said.case_names)), said, on.weights)
            beside = of_judges(lambda one, model=model: values_against(spec, model, as_opinions(one, said)))  # type: ignore[misc]
            found.append((name, own, beside))
        return found, spec.name
    if said.kind == "ratings":
        return [("mean rating", said.scores, of_judges(lambda one: one.numbers))], "mean rating"
    if condition is None and said.question != "binary":
        raise DissensusError("the condition is not known", expected="condition, whose share is estimated", got="none")
    chosen = known_name("condition", condition or said.conditions[-1], said.conditions)
    code, table = said.conditions.index(chosen), Table.of(said)
    of_opinion = table.shares[table.kind][:, [code]].toarray().ravel()

    def share(judge: Predictions) -> FloatArray:
        """Return the probability of the condition, or whether it is the first choice if there are no probabilities."""
        scores = judge.to_scores() if judge.kind == "scores" else np.array([[-1.0]])
        totals = scores.sum(axis=1)
        if (scores < 0).any() or (totals <= 0).any():
            return np.asarray(first_shares(judge, said.n_conditions)[:, [code]].toarray().ravel())
        return np.asarray(scores[:, code] / totals)

    return [(f"share of {chosen}", of_opinion, of_judges(share))], f"share of {chosen}"


def as_opinions(judge: Predictions, said: Study) -> Study:
    """Take what a judge said for opinions of an annotator: first choices, or numbers."""
    n, nobody = judge.n_cases, np.full(judge.n_cases, ANONYMOUS)
    panel = Panel(judge.case_names, np.arange(n + 1), nobody)
    if said.kind == "ratings":
        return Study((), panel, scores=judge.numbers, question="numbers")
    first = first_shares(judge, said.n_conditions)
    first.sort_indices()
    offsets, codes = first.indptr.astype(np.int64), first.indices.astype(np.int64)
    return Study(said.conditions, panel, np.arange(n + 1), offsets, codes, said.unranked, said.question)


def _humans(said: Study, of_opinion: FloatArray, on: Labelled) -> tuple[FloatArray, float, float, Part | None]:
    """Average the values of the opinions of every case, and find what makes means vary.

    Returns
    -------
    y : (n,)
        What humans say of the labelled cases.
    within, noise
        The variance within cases, nan where no case has two opinions, and its share in means.
    part
        What the choice of annotators adds; nothing where they are no sample.
    """
    case, votes = said.panel.case_of_opinion, said.votes * said.weights
    totals = weighted_counts(case, votes, said.n_cases)
    y = weighted_counts(case, votes * of_opinion, said.n_cases) / totals
    within = spread_within(said, of_opinion) if (said.votes_per_case > 1).any() else math.nan
    pairs, part = Pairs.of(said), None
    if pairs.study.n_cases == said.n_cases:
        crossing = Crossing.of(pairs, on.weights, on.groups[on.rows])
        moves = (on.weights / totals)[case] * votes * (of_opinion - y[case])
        part = None if crossing is None else crossing.part(moves)
    return y, within, within * float((1 / totals).mean()), part


def _row(
    humans: Any, f: FloatArray, on: Labelled, level: float, width: float | None, costs: Any, *, is_share: bool
) -> dict[str, Any]:
    """Estimate one quantity by one judge, and say what to ask for."""
    y, within, noise, part = humans
    found, alone = (prediction_powered(y, f, on, noise=noise, lam=lam).with_part(part) for lam in (None, 0.0))
    is_decided = is_share and bool(np.isin(f, (0.0, 1.0)).all())
    beside = (rogan_gladen(y, f, on) if is_decided else None) or Powered(*(math.nan,) * 5)
    row: dict[str, Any] = {"judge_alone": float(f.mean())}
    columns = {"humans_alone": "humans_", "estimate": "", "rogan_gladen": "rogan_gladen_"}
    for (name, start), one in zip(columns.items(), (alone, found, beside), strict=True):
        low, high = one.interval(level)
        row |= {name: one.mean, f"{start}low": low, f"{start}high": high}
    between, apart = max(found.residual - np.nan_to_num(noise), 0.0), float(np.nan_to_num(within))
    best = best_opinions(between, apart, costs)
    row |= {"lam": found.lam, "opinions": best, "labels": math.nan, "cost": math.nan}
    if width is not None:
        fixed = -between / len(f) if on.is_finite else found.lam**2 * float(np.var(f)) / len(f)
        fixed += 0.0 if part is None else float(part.variance)
        room = (width / 2 / float(ndtri((1 + level) / 2))) ** 2 - fixed
        needed = max(math.ceil((between + apart / best) / room), LEAST_CASES) if room > 0 else math.inf
        row["labels"] = float(needed) if needed <= len(f) else math.inf
        row["cost"] = row["labels"] * (costs["case"] + best * costs["opinion"])
    return row


# Judges together ------------------------------------------------------------------------------------------


def error_correlation(said: Study, judged: Mapping[str, Predictions]) -> dict[str, float]:
    """Return the correlation of errors of judges, and of left-out annotators on the same cases.

    The truth of a case is drawn from its annotators: an error is to differ from one of them, or the distance from
    their number. Ambiguous cases correlate the errors of anybody, so that two annotators, measured against a third one
    of the case, have a correlation too; the excess is what judges share beyond that.

    Examples
    --------
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> one = Predictions.from_scores([[0.9, 0.1], [0.2, 0.8]] * 10, ["a", "b"], case_names=said.case_names)
    >>> error_correlation(said, {"A": one, "B": one})["effective"].__round__(6)
    1.0
    """
    case, v, n = said.panel.case_of_opinion, said.votes_per_case.astype(float), len(judged)
    has_third = int((v > 2).sum()) >= LEAST_CASES
    weights = np.where(v > 2 * has_third, said.case_weights, 0.0)
    if said.kind == "ratings":
        errors = np.array([one.numbers[case] - said.scores for one in judged.values()])
        mean, square = (weighted_counts(case, said.votes * said.scores**k, said.n_cases) / v for k in (1, 2))
        own = (square - mean**2) * v / np.maximum(v - 1, 1)
        beside = np.array([own, np.zeros_like(own), 2 * own])
    else:
        table = Table.of(said)
        first = [first_shares(one, said.n_conditions)[case] for one in judged.values()]
        errors = np.array([1.0 - inner(table.shares[table.kind], one) for one in first])
        counts = table.by_value.toarray()
        others = v[:, None] - counts
        pair = (counts * others).sum(axis=1) / np.maximum(v * (v - 1), 1)
        both = (counts * others * (others - 1)).sum(axis=1) / np.maximum(v * (v - 1) * (v - 2), 1)
        beside = np.array([both, pair, pair])
    share = weights[case] * said.votes / v[case]
    products = np.array([weighted_counts(case, share * a * b, said.n_cases) for a in errors for b in errors])
    sums = np.array([weighted_counts(case, share * a, said.n_cases) for a in errors])

    @np.errstate(divide="ignore", invalid="ignore")
    def correlations(w: FloatArray) -> tuple[float, float]:
        """Return the mean correlation of two judges and that of two annotators, with these weights of cases."""
        total = product(w, weights)
        mean = product(sums, w) / total
        covariance = (product(products, w) / total).reshape(n, n) - np.outer(mean, mean)
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        of_pairs = (covariance / np.outer(sd, sd))[np.triu_indices(n, 1)]
        both, one, own = product(beside, w * weights) / total
        of_annotators = (both - one**2) / (own - one**2) if has_third else math.nan
        return float(of_pairs.sum() / np.float64(len(of_pairs))), float(of_annotators)

    rho, annotators = correlations(np.ones(said.n_cases))
    resampled = np.random.default_rng(0).exponential(size=(RESAMPLES, said.n_cases))
    low, high = np.quantile([np.subtract(*correlations(w)) for w in resampled], (0.025, 0.975))
    worth = [n / (1 + (n - 1) * max(one, 0.0)) for one in (rho, annotators)]
    names = ("rho", "annotators", "excess", "low", "high", "effective", "effective_annotators")
    return dict(zip(names, map(float, (rho, annotators, rho - annotators, low, high, *worth)), strict=True))


def _consistency(answers: Sequence[Predictions]) -> dict[str, float]:
    """Return how often two answers of a judge agree, and the share of variation that is within cases."""
    if answers[0].kind == "numbers":
        values = np.array([one.numbers for one in answers])
        within, total = float(values.var(axis=0, ddof=1).mean()), float(values.var(ddof=1))
        agreement = float(np.mean([(a == b).mean() for i, a in enumerate(values) for b in values[:i]]))
    else:
        shares = np.array([first_shares(one, one.n_conditions).toarray() for one in answers])
        together, n = shares.sum(axis=0), len(answers)
        agreement = float((((together**2).sum(axis=1) - (shares**2).sum(axis=(0, 2))) / (n * (n - 1))).mean())
        within, total = 1 - agreement, 1 - float(np.square(shares.mean(axis=(0, 1))).sum())
    return {"answers": len(answers), "agreement": agreement, "within": within / total if total > 0 else 0.0}
