"""How large the next study must be, power and width over cases, opinions and annotators; and which cases to ask again.

Of agreement, the variance of a mean over n cases with v opinions each is that between cases, plus that within cases,
plus that between annotators. The value of a case is an average over pairs of its annotators: with the covariance c1 of
two pairs that share one annotator and c2 of a pair with itself, beyond that between cases, the part within a case is
4 (v - 2) / (v (v - 1)) c1 + 2 / (v (v - 1)) c2 ([hoeffding]: Hoeffding 1948, eq. 5.13). Annotators add their variance
divided by their number; degrees of freedom are those of Satterthwaite. Of reader studies with a known truth, the
components of Obuchowski and Rockette are carried over to other numbers of readers and cases ([hillis]: Hillis,
Obuchowski and Berbaum 2011).

Cases to show to one more annotator are those whose answer is expected to settle the conclusion most: the difference
of two models' agreement with annotators, or the metric of one. It is a mean over cases of
g = sum_k u_k theta_k, with the plausibilities theta of a case and the value u_k of the answer k. One more opinion b
on a case reduces the variance of the conclusion by Var(g) - E_b[Var(g | b)] = Var_b(E[g | b]), times the squared weight
of the case: draws are weighted by how likely they make b. Cases on which both models say the same have nothing to give,
however uncertain they are.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as combined
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import chdtrc, nctdtr, stdtrit

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.dirichlet import Dirichlet
from dissensus.core.arrays import FloatArray, IntArray, Path
from dissensus.core.checks import check_choice, check_count, check_positive, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import checked_costs, in_order_of_keys
from dissensus.core.output import written_whole
from dissensus.core.ragged import clustered, product, weighted_counts
from dissensus.core.screen import Rows
from dissensus.core.spec import one_spec
from dissensus.evaluation.expert_comparison.reader_studies import ReaderStudy
from dissensus.evaluation.expert_comparison.sample import (
    LEAST_CASES,
    Pairs,
    Sample,
    Side,
    different_opinions,
    of_cells,
    squared_shares,
)
from dissensus.evaluation.request import Questions, asked_questions, check_request, default_metrics
from dissensus.evaluation.sums import FINDING
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric, Said
from dissensus.metrics.data_set import first_shares as shares_of_first
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from altair import VConcatChart as Figure
    from numpy.typing import ArrayLike

    from dissensus.figures.charts import Chart
    from dissensus.predictions.lists import Predictions

# Who reads which case: any of the annotators; all of them; panels that each have cases of their own.
Design: TypeAlias = Literal["assigned", "crossed", "nested"]

# Studies of more cases are not looked for.
MOST_CASES = 1_000_000

# Degrees of freedom beyond which Student's t is normal.
LARGEST = 1e9

# What can be said instead of a pilot study.
STATED = ("case_sd", "opinion_sd", "annotator_sd")

# An answer that draws make less likely than this counts as if it had this chance, so that it can be weighed.
LEAST = 1e-6

# By default, this share of the cases is recommended.
SHARE = 0.1


@dataclass(frozen=True)
class Components:
    """Hold what makes a difference of agreement vary.

    Attributes
    ----------
    case
        Variance between cases.
    single, both
        Covariance, beyond that between cases, of two pairs of annotators of a case that share one, and of a pair with
        itself; of a difference between two models, ``both`` is twice ``single``.
    annotator
        Variance between annotators; zero if they are not a sample.
    end
        How far from zero the difference of a case can be: intervals allow for one more such case.

    Examples
    --------
    >>> [round(part, 4) for part in Components.stated({"case_sd": 0.3, "opinion_sd": 0.2}).error(100, 4, None)]
    [0.0316, 0.0316, 99.0]
    """

    case: float
    single: float
    both: float
    annotator: float
    end: float = 0.0

    @staticmethod
    def stated(given: Mapping[str, float]) -> Components:
        """Take standard deviations between cases, of opinions on a case, and between annotators."""
        for name, value in given.items():
            known_name("component", name, STATED)
            if not 0 <= value < math.inf:
                raise DissensusError(f"{name} must be a number, zero or more", got=f"{float(value):g}")
        case, opinion, annotator = (float(given.get(name, 0.0)) ** 2 for name in STATED)
        if not case + opinion:
            raise DissensusError("nothing varies", expected="a positive case_sd or opinion_sd", got=f"{dict(given)}")
        return Components(case, (opinion + annotator) / 4, (opinion + annotator) / 2, annotator)

    def within(self, v: float) -> float:
        """Return the variance of the value of a case with v opinions, beyond that between cases."""
        if v < 2:
            return 4 * self.single
        return float((4 * (v - 2) * self.single + 2 * self.both) / (v * (v - 1)))

    def error(
        self, n: float, v: float, annotators: int | None, design: Design = "assigned"
    ) -> tuple[float, float, float]:
        """Return the standard error of the mean of n cases with v opinions, as it is stated, and degrees of freedom."""
        own = max(self.within(v) - self.annotator / v, 0.0)
        cases, noise = (self.case + own) / n, own / n
        between, told, df = self.annotator / (annotators or math.inf), 0.0, n - 1.0
        if annotators:
            free = max(annotators - (annotators / v if design == "nested" and v > 1 else 1), 1.0)
            df = (cases + between) ** 2 / (cases**2 / (n - 1) + (between + noise) ** 2 / free)
            # the variance between annotators is found by subtracting noise, and never below zero
            least = noise * free / (between + noise) if between + noise else 0.0
            told = float((between + noise) * chdtrc(free + 2, least) - noise * chdtrc(free, least))
        return math.sqrt(cases + between), math.sqrt(cases + told + (self.end / n) ** 2), max(df, 1.0)


@dataclass(frozen=True)
class ReaderComponents:
    """Hold the components of a reader study; every reader reads every case with both modalities.

    Attributes
    ----------
    pilot
        The study that they were found in.
    """

    pilot: ReaderStudy

    def error(
        self,
        n: float,
        v: float,  # noqa: ARG002 - every reader gives one
        readers: int | None,
        design: Design = "crossed",  # noqa: ARG002
    ) -> tuple[float, float, float]:
        """Return the standard error of the difference with n cases, the same as stated, and degrees of freedom."""
        part, r = self.pilot.components, readers or len(self.pilot.readers)
        own, shared = part["var"] - part["cov1"], max(part["cov2"] - part["cov3"], 0.0)
        ratio, both = self.pilot.n_cases / n, max(part["reader x test"], 0.0)
        noise = both + ratio * (own + (r - 1) * shared)
        square = both + ratio * (own - shared)
        error = math.sqrt(2 / r * noise)
        return error, error, noise**2 / (square**2 / (r - 1)) if square > 0 else math.inf


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Rows):
    """Hold what studies of different sizes would show.

    Attributes
    ----------
    rows
        A row per design: ``cases``, ``opinions``, ``annotators``, ``power``, ``width`` of the interval, ``cost``.
    about
        What is compared.
    effect, margin, level
        The difference that is taken to be true, the margin of non-inferiority, and the level of intervals.
    target
        The power or the width that is wanted.
    notes
        What has to be known to read it.
    """

    components: Components | ReaderComponents
    about: str
    effect: float
    margin: float | None
    level: float
    target: tuple[Literal["power", "width"], float]
    sizes: tuple[tuple[int, int | None], ...]
    cases: tuple[int, ...]
    design: Design
    costs: Mapping[str, float]
    notes: tuple[str, ...]

    def row(self, cases: int, opinions: int, annotators: int | None) -> dict[str, Any]:
        """Say what a study of a size would show.

        Examples
        --------
        >>> import dissensus as ds
        >>> found = ds.plan({"case_sd": 0.5, "opinion_sd": 0.5}, effect=0.05, cases=[400], opinions=[3])
        >>> round(found.row(800, 3, None)["power"], 2)
        0.69
        """
        error, stated, df = self.components.error(cases, opinions, annotators, self.design)
        half = float(stdtrit(min(df, LARGEST), (1 + self.level) / 2)) * stated
        limit = half / error
        away = (self.effect + (self.margin or 0.0)) / error
        power = 1 - nctdtr(min(df, LARGEST), away, limit)
        if self.margin is None:  # either side counts; what is far away is no number
            power += np.nan_to_num(nctdtr(min(df, LARGEST), away, -limit))
        cost = cases * (self.costs["case"] + opinions * self.costs["opinion"])
        cost += (annotators or 0) * self.costs.get("annotator", 0.0)
        shown = {"power": float(np.clip(power, 0.0, 1.0)), "width": 2 * half, "cost": float(cost)}
        return {"cases": cases, "opinions": opinions, "annotators": annotators, **shown}

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:  # type: ignore[override]
        """What every design would show."""
        return tuple(self.row(n, *size) for size, n in combined(self.sizes, self.cases))

    @cached_property
    def needed(self) -> tuple[dict[str, Any], ...]:
        """The fewest cases that reach the target, for every number of opinions and annotators that can."""
        what, wanted = self.target
        sign, numbers, found = (1 if what == "power" else -1), range(2, MOST_CASES + 1), []
        for size in self.sizes:
            first = bisect_left(numbers, sign * wanted, key=lambda n, size=size: sign * self.row(n, *size)[what])  # type: ignore[misc]
            found += [self.row(n, *size) for n in numbers[first : first + 1]]
        return tuple(found)

    @property
    def cheapest(self) -> dict[str, Any] | None:
        """The design that reaches the target at the least cost; nothing if none of them does."""
        return min(self.needed, key=lambda row: (row["cost"], row["annotators"] or 0), default=None)

    def summary(self) -> Any:
        """Return, for every number of opinions and annotators, the fewest cases that reach the target."""
        import polars as pl

        return pl.DataFrame(list(self.needed) or list(self.rows), infer_schema_length=None)

    def words(self) -> list[str]:
        """Say what is compared, and the cheapest design."""
        what, wanted = self.target
        test = "" if self.margin is None else f", non-inferiority margin {self.margin:g}"
        goal, best = f"{what} {wanted:g}", self.cheapest
        found = f"no design with up to {MOST_CASES:,} cases has {goal}: more annotators are needed"
        if best is not None:
            seats = "" if best["annotators"] is None else f", {best['annotators']} annotators"
            size = f"{best['cases']:,} cases with {best['opinions']} opinions each{seats}"
            found = f"cheapest design for {goal}: {size} (cost {best['cost']:,.4g})"
        return [f"{self.about}: true difference {self.effect:.4g}{test}, level {self.level:g}", found]

    def chart(self) -> Chart:
        """Return power, or width, over the number of cases, a line for every number of opinions and annotators."""
        from dissensus.figures.charts import Axis, Chart, Line, Pane
        from dissensus.figures.theme import NEUTRAL, shade

        what, wanted = self.target
        x = np.unique(np.geomspace(min(self.cases) / 2, max(self.cases) * 2, 40).astype(int).clip(2)).astype(float)
        marks = []
        for place, (v, seats) in enumerate(self.sizes):
            y = np.array([self.row(int(n), v, seats)[what] for n in x])
            name = f"{v} opinions" + ("" if seats is None else f", {seats} annotators")
            marks.append(Line(x, y, name, shade(place, len(self.sizes)), place))
        goal = Line(np.array([x[0], x[-1]]), np.full(2, wanted), f"target {wanted:g}", NEUTRAL, 1)
        span = (0.0, 1.02) if what == "power" else None
        pane = Pane((*marks, goal), Axis("cases", form=".0f"), Axis(what, span))
        return Chart(f"{what.capitalize()}: {self.about}", (pane,), self.words()[0])

    def plot(self) -> Figure:
        """Draw power, or width, over the number of cases.

        Examples
        --------
        >>> import dissensus as ds
        >>> found = ds.plan({"case_sd": 0.5}, effect=0.05, cases=[100, 400])
        >>> found.plot().to_dict()["vconcat"] != []
        True
        """
        from dissensus.figures.charts import drawn

        return drawn(self.chart())


@checked
def plan(
    pilot: Study | ReaderStudy | Mapping[str, float],
    predictions: Mapping[str, ArrayLike | Predictions] | None = None,
    metric: Metric | str | None = None,
    *,
    models: Sequence[str] | None = None,
    effect: float | None = None,
    margin: float | None = None,
    cases: Sequence[int] | None = None,
    opinions: Sequence[int] | None = None,
    annotators: Sequence[int] | None = None,
    design: Design = "assigned",
    power: float = 0.8,
    width: float | None = None,
    costs: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Plan:
    """Plan a study: its power or the width of its interval over cases, opinions per case and annotators.

    Parameters
    ----------
    pilot
        A study; the result of :func:`reader_study`; or standard deviations of the difference: ``case_sd`` between
        cases, ``opinion_sd`` between opinions on a case, ``annotator_sd`` between annotators.
    predictions, metric
        Of a study: what the models said, and what agreement is measured by; by default the question's first metric.
    models
        Two models, of which the first is compared with the second; or one, which is compared with one annotator.
    effect
        The true difference, positive where the first is better; by default that of the pilot, which is uncertain.
    margin
        With it, power is that of showing non-inferiority, one-sided at half of one minus the level.
    cases, opinions, annotators
        Numbers to look at; annotators are a sample if numbers of them are given, or if those of the pilot are.
        In a reader study, ``annotators`` are the readers.
    design
        ``"assigned"``: each case is read by any of the annotators. ``"crossed"``: by all of them, so that opinions are
        annotators. ``"nested"``: annotators form panels, and each panel has cases of its own.
    power, width
        What is wanted: a power, or the width of the interval where one is given.
    costs
        Of one ``case``, ``opinion`` and ``annotator``: positive numbers, by default 1, 1 and nothing.
    level
        Probability that intervals hold.

    Examples
    --------
    >>> import dissensus as ds
    >>> found = ds.plan({"case_sd": 0.3, "opinion_sd": 0.4}, effect=0.05, opinions=[1, 3], costs={"case": 5})
    >>> found.cheapest["cases"], found.cheapest["opinions"]
    (452, 3)
    """
    check_choice("design", design, get_args(Design))
    check_share("power", power)
    check_share("level", level)
    check_positive(**{name: one for name, one in (("width", width), ("margin", margin)) if one is not None})
    for name, numbers in (("cases", cases), ("opinions", opinions), ("annotators", annotators)):
        for number in numbers if numbers is not None else ():
            check_count(**{name: number})
    given: dict[str, float] = checked_costs(costs, ("case", "opinion", "annotator"))
    if "annotator" not in (costs or {}):
        given.pop("annotator")
    known = _pilot(pilot, predictions or {}, metric, models)
    sizes, notes, true = _sizes(known, opinions, annotators, design), list(known.notes), effect
    if true is None:
        true = known.effect
        notes.append("the true difference is taken to be that of the pilot, which is uncertain: state an effect")
    if not math.isfinite(true):
        raise DissensusError("the difference is not known", expected="effect, the true difference", got=f"{effect}")
    if isinstance(known.components, Components) and any(r and v < 3 for v, r in sizes):
        notes.append("with fewer than 3 opinions per case an analysis cannot separate annotators from cases")
    own = tuple(cases or sorted({max(known.cases * k // 2, 10) for k in (1, 2, 4, 8)}))
    target: tuple[Literal["power", "width"], float] = ("power", power) if width is None else ("width", width)
    return Plan(
        known.components, known.about, float(true), margin, level, target, sizes, own, design, given, tuple(notes)
    )


@dataclass(frozen=True)
class _Pilot:
    """What a pilot study says: components, what they are about, the difference, and how large it was."""

    components: Components | ReaderComponents
    about: str
    effect: float
    cases: int
    opinions: int
    annotators: int | None
    notes: tuple[str, ...]
    other_opinions: bool = True


def _sizes(
    known: _Pilot, opinions: Sequence[int] | None, annotators: Sequence[int] | None, design: Design
) -> tuple[tuple[int, int | None], ...]:
    """Return the numbers of opinions per case and of annotators; refuse what cannot be, or the pilot does not tell."""
    seats = annotators or (known.annotators,)
    sizes = list(combined(opinions or (known.opinions,), seats))
    if design == "crossed" or isinstance(known.components, ReaderComponents):  # everybody reads every case
        sizes = [(r or v, r or v) for v, r in sizes] if annotators or not opinions else [(v, v) for v, _ in sizes]
    for v, r in sizes:
        problem, expected = "", "at least two annotators, and as many as there are opinions on a case"
        if r is not None and r < max(v, 2):
            problem = "there are too few annotators"
        elif design == "nested" and r is not None and r % v:
            problem, expected = "annotators do not form panels", "a multiple of the number of opinions"
        elif v != known.opinions and not known.other_opinions:
            problem = "the pilot has too few opinions per case to plan for another number"
            expected = f"{known.opinions} opinions per case, or a pilot with {LEAST_CASES} cases that have four"
        if problem:
            raise DissensusError(problem, expected=expected, got=f"{v} opinions per case, {r} annotators")
    return tuple(dict.fromkeys(sizes))


def compared_models(
    study: Study,
    predictions: Mapping[str, Any],
    metric: Metric | str | None,
    models: Sequence[str] | None,
    *,
    allow_missing: bool = False,
) -> tuple[Questions, dict[str, Predictions], Metric]:
    """Return what is asked, the one model or two that a conclusion is about, and the metric, by default the first."""
    asked = asked_questions(study, predictions, {}, allow_missing=allow_missing)
    wanted = list(asked.models) if models is None else list(models)
    if not 1 <= len(wanted) <= 2:
        raise DissensusError("one model or two are compared", expected="models=[name, name]", got=listing(wanted))
    own = {known_name("model", name, asked.models): asked.models[name] for name in wanted}
    usual = default_metrics(asked.study, own, asked.study.conditions, None)[0]
    spec = one_spec(Metric.family, usual if metric is None else metric)
    check_request([spec], own, 0.95)
    return asked, own, spec


def _pilot(
    pilot: Study | ReaderStudy | Mapping[str, float],
    predictions: Mapping[str, Any],
    metric: Metric | str | None,
    models: Sequence[str] | None,
) -> _Pilot:
    """Find what is known before the study."""
    if isinstance(pilot, ReaderStudy):
        about, readers = "area under the curve, {} minus {}".format(*pilot.modalities), len(pilot.readers)
        return _Pilot(ReaderComponents(pilot), about, pilot.difference, pilot.n_cases, readers, readers, ())
    if not isinstance(pilot, Study):
        return _Pilot(Components.stated(pilot), "difference of means", math.nan, 100, 3, None, ())
    asked, own, spec = compared_models(pilot, predictions, metric, models)
    pairs = Pairs.of(asked.study.select(in_order_of_keys(asked.study.case_names)))
    said = pairs.study
    if said.n_cases < LEAST_CASES:
        raise DissensusError(
            "the pilot has too few cases with two annotators",
            expected=f"at least {LEAST_CASES}, or standard deviations instead of a study",
            got=str(said.n_cases),
        )
    chosen = {name: model.select(list(said.case_names)) for name, model in own.items()}
    found = asked.strata.get(FINDING, {})
    sample = Sample.of(pairs, chosen, (spec,), findings=found, called="annotator", point=False)
    return _components(sample, spec, list(own))


def _components(sample: Sample, spec: Metric, compared: Sequence[str]) -> _Pilot:
    """Find the components of the difference of two models, or of a model and one annotator."""
    pairs, said = sample.pairs, sample.pairs.study
    place, sign = sample.metrics.index(spec), 1.0 if spec.higher_is_better else -1.0
    other = 2 if len(compared) == 2 else 0
    values = sign * (sample.means[1, place] - sample.means[other, place])
    if np.isnan(values).any():
        raise DissensusError(
            f"{spec.name} needs scores, which annotators do not give",
            expected="two models, or a metric of labels such as top-k-accuracy:1",
            got=listing(compared),
        )
    of_cell = sample.of_models[0, place] - (sample.of_models[1, place] if other else 0.0)

    def kernel(a: IntArray, b: IntArray) -> FloatArray:
        """Return the difference of a model from one annotator, for pairs of cells."""
        alone = sample.of_pairs(place)
        return np.asarray((of_cell[a] + of_cell[b] - alone(a, b)[0] - alone(b, a)[0]) / 2)

    spread = spread_within(said, of_cell[pairs.cell])
    single, both, is_known = (spread / 4, spread / 2, True) if other else within_cases(pairs, kernel)
    mean, error = clustered(values, pairs.weights, pairs.clusters)
    crossing, annotator, shared = sample.crossing, 0.0, 0.0
    if crossing is not None:
        shared = squared_shares(pairs, pairs.weights)
        moves = sample.effects[1, place] - sample.effects[other, place]
        annotator = float(crossing.part(moves).variance) / shared
    parts = Components(0.0, single, both, annotator)
    sizes = said.votes_per_case
    within = float(np.mean([parts.within(v) for v in sizes.tolist()]))
    case = max(said.n_cases * np.nan_to_num(error) ** 2 - within + annotator * shared, 0.0)
    about = f"{spec.name}, {compared[0]} minus {compared[1] if other else 'one annotator'}"
    notes = () if crossing is not None else ("annotators are taken as they are: their choice is not part of the error",)
    seats = len(said.annotator_names) if crossing is not None else None
    end = float(np.ptp(spec.range))
    end = end if math.isfinite(end) else float(np.ptp(values)) / 2
    typical = max(int(np.median(sizes)), 2)
    return _Pilot(
        Components(case, single, both, annotator, end), about, mean, said.n_cases, typical, seats, notes, is_known
    )


def within_cases(pairs: Pairs, kernel: Callable[[IntArray, IntArray], FloatArray]) -> tuple[float, float, bool]:
    """Return the covariances within cases of a symmetric kernel of two annotators, and whether they are known.

    Products of two pairs that share both, one or no annotator are averaged over the cases with four annotators or more;
    their differences are free of the variance between cases.

    Parameters
    ----------
    kernel
        Returns the values of pairs of cells, the same in both orders.
    """
    said = pairs.study

    def by_case(of_opinion: FloatArray) -> FloatArray:
        return weighted_counts(said.panel.case_of_opinion, said.votes * said.weights * of_opinion, said.n_cases)

    means = pairs.summed(lambda a, b: kernel(a, b) ** np.arange(3.0)[:, None])[0]
    degree, rows, squares = pairs.others * means
    found = []
    for first, second, same in ((degree, degree**2, degree), (rows, rows**2, squares)):
        everyone, chains, alike = by_case(first), by_case(second), by_case(same)
        found.append((alike, chains - alike, everyone**2 - 4 * chains + 2 * alike))
    counts, sums = found
    enough = counts[2] > 0
    if enough.sum() < LEAST_CASES:
        return 0.0, 0.0, False
    both, one, none = (float((a[enough] / b[enough]).mean()) for a, b in zip(sums, counts, strict=True))
    return max(one - none, 0.0), max(both - none, 0.0), True


def spread_within(study: Study, values: FloatArray) -> float:
    """Return the mean over cases of the unbiased variance of the values of their opinions, shape (n_opinions,)."""
    case, votes = study.panel.case_of_opinion, study.votes * study.weights
    n, total, squares = (weighted_counts(case, votes * values**k, study.n_cases) for k in (0, 1, 2))
    several = n > 1
    return float(((squares - total**2 / n)[several] / (n[several] - 1)).mean())


# Which cases again --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Relabel(Rows):
    """Hold which cases to ask about again, the most useful first.

    Attributes
    ----------
    rows
        A row per case: ``rank``, ``case``, ``gain`` (the share of the variance of the conclusion that one more opinion
        is expected to remove), ``opinions`` so far, ``certainty`` that the first condition is first, and
        ``by_certainty``, the rank where the least certain come first.
    about
        The conclusion.
    n
        How many of the cases are recommended.
    """

    rows: tuple[dict[str, Any], ...]
    about: str
    n: int
    notes: tuple[str, ...]

    def words(self) -> list[str]:
        """Say how much the recommended cases are expected to give."""
        gains = np.array([row["gain"] for row in self.rows])
        uncertain = np.array([row["by_certainty"] for row in self.rows]) <= self.n
        told = f"one more opinion on each of {self.n:,} of {len(gains):,} cases is expected to remove"
        return [
            f"cases to ask about again: {self.about}",
            f"{told} {gains[: self.n].sum():.1%} of the variance of the conclusion; the {self.n:,} least certain "
            f"cases {gains[uncertain].sum():.1%}, a random choice {self.n * gains.mean():.1%}",
        ]

    def summary(self) -> pl.DataFrame:
        """Return the recommended cases."""
        return self.to_frame().head(self.n)

    def to_label_studio(self) -> list[dict[str, Any]]:
        """Return the recommended cases as tasks that Label Studio imports.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=30, n_conditions=4, seed=1)
        >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=2)
        >>> [sorted(task["data"]) for task in found.to_label_studio()]
        [['case', 'opinions', 'rank'], ['case', 'opinions', 'rank']]
        """
        return [{"data": {name: row[name] for name in ("case", "rank", "opinions")}} for row in self.rows[: self.n]]

    def write(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the recommended cases: tasks for Label Studio (.json), or a table for a spreadsheet (.csv).

        Examples
        --------
        >>> import dissensus as ds, tempfile, pathlib
        >>> study = ds.simulate.study(n_cases=30, n_conditions=4, seed=1)
        >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"], n=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = pathlib.Path(folder) / "again.csv"
        ...     found.write(place)
        ...     len(place.read_text().splitlines())
        3
        """
        ending, expected = FilePath(path).suffix.lower(), "a name that ends in .csv or .json"
        if ending not in (".csv", ".json"):
            raise DissensusError("the list is a table or tasks", expected=expected, got=str(path))
        with written_whole(path, overwrite=overwrite) as temporary:
            tasks = json.dumps(self.to_label_studio(), indent=2)
            temporary.write_bytes((self.summary().write_csv() if ending == ".csv" else tasks).encode())


@checked
def relabel(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    metric: Metric | str | None = None,
    *,
    models: Sequence[str] | None = None,
    n: int | None = None,
    aggregation: Aggregation | str | None = None,
    draws: int = 1000,
    seed: int = 0,
    allow_missing: bool = False,
) -> Relabel:
    """Rank cases by how much one more opinion is expected to settle the conclusion.

    Parameters
    ----------
    study, predictions
        As in :func:`evaluate`; labels, rankings, grades or findings.
    metric
        What agreement is measured by; by default the first metric of the kind of question.
    models
        Two models whose difference is the conclusion, or one whose metric is; by default all, if they are one or two.
    n
        How many cases are recommended; by default a tenth.
    aggregation
        What plausibilities are drawn by, such as ``"plackett-luce:1"``; by default a Dirichlet posterior of first
        choices whose prior is fitted to all cases.
    draws, seed
        Draws per case.
    allow_missing
        Take the cases that all models have, instead of refusing models that lack some.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60, n_conditions=4, seed=1)
    >>> found = ds.relabel(study.annotations, study.predictions, models=["Aster", "Birch"])
    >>> found.n, found.rows[0]["gain"] >= found.rows[-1]["gain"]
    (6, True)
    """
    import polars as pl

    check_count(draws=draws)
    check_seed(seed)
    if study.kind != "checklists":
        require_kind(study, "rankings", "asking again")
    asked, own, spec = compared_models(study, predictions, metric, models, allow_missing=allow_missing)
    said = asked.study.counted
    annotated = said.select((said.votes_per_case > 0) & (said.case_weights > 0))
    if not annotated.n_cases:
        raise DissensusError("no case has an opinion", expected="at least one annotated case")
    n = max(round(SHARE * annotated.n_cases), 1) if n is None else n
    check_count(n=n)
    if n > annotated.n_cases:
        raise DissensusError("there are not so many cases", expected=f"at most {annotated.n_cases}", got=str(n))
    drawn_by = one_spec(Aggregation.family, Dirichlet(alpha="fitted") if aggregation is None else aggregation)
    drawn = drawn_by.sample(annotated, draws=draws, seed=seed)  # again for the gains: kept, they grow with cases and K
    means = np.concatenate([batch.dense().mean(axis=1) for batch in drawn])
    answers = every_answer(annotated, means)
    worth = [values_against(spec, one.select(list(annotated.case_names)), answers) for one in own.values()]
    values = (worth[0] - worth[1] if len(worth) == 2 else worth[0]).reshape(means.shape)
    weights = np.square(annotated.case_weights / annotated.case_weights.sum())
    parts, place = [], 0
    for batch in drawn:
        parts.append(np.stack(expected_gains(batch.dense(), values[place : place + batch.n_cases])))
        place += batch.n_cases
    spread, gains, certainty = np.concatenate(parts, axis=1)
    total = float(product(weights, spread))
    shares = weights * gains / total if total > 0 else np.zeros_like(gains)
    columns = {"case": annotated.case_names, "gain": shares, "opinions": annotated.votes_per_case}
    ranked = pl.DataFrame({**columns, "certainty": certainty}).with_columns(
        by_certainty=pl.col("certainty").rank("ordinal").cast(pl.Int64)
    )
    ranked = ranked.sort("gain", descending=True, maintain_order=True).with_row_index("rank", 1)
    about, left_out = f"{spec.name}, {' minus '.join(own)}", said.n_cases - annotated.n_cases
    told = {
        f"{left_out} cases have no opinion yet: they are not ranked": left_out > 0,
        "no opinion can change the conclusion: the models say the same": total == 0,
    }
    notes = tuple(sentence for sentence, holds in told.items() if holds)
    return Relabel(tuple(ranked.to_dicts()), about, n, notes)


def every_answer(said: Study, means: FloatArray) -> Study:
    """Return a study in which every condition of every case is an answer, weighted by its plausibility."""
    n, k = means.shape
    panel = Panel(
        said.case_names, np.arange(0, n * k + 1, k), np.full(n * k, ANONYMOUS), weights=np.maximum(means, LEAST).ravel()
    )
    single = np.arange(n * k + 1)
    return Study(said.conditions, panel, single, single, np.tile(np.arange(k), n), said.unranked, said.question)


def expected_gains(theta: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variance of g, what one more opinion is expected to take off it, and the certainty of each case.

    Parameters
    ----------
    theta : (n_cases, n_draws, K)
        Draws of plausibilities.
    values : (n_cases, K)
        What each answer is worth.

    Examples
    --------
    >>> theta = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> [part.round(3).tolist() for part in expected_gains(theta, np.array([[1.0, -1.0], [1.0, -1.0]]))[:2]]
    [[0.64, 0.0], [0.41, 0.0]]
    """
    g = np.einsum("isk,ik->is", theta, values)
    chances = np.maximum(theta.mean(axis=1), LEAST)
    given = np.einsum("is,isk->ik", g, theta) / theta.shape[1] / chances
    gains = (chances * np.square(given - g.mean(axis=1)[:, None])).sum(axis=1)
    first = theta == theta.max(axis=2, keepdims=True)
    certainty = (first / first.sum(axis=2, keepdims=True)).mean(axis=1).max(axis=1)
    return g.var(axis=1), np.minimum(gains, g.var(axis=1)), certainty


def values_against(metric: Metric, model: Predictions, said: Study, weights: FloatArray | None = None) -> FloatArray:
    """Return the value of every opinion, shape (n_opinions,), whose weighted mean over cases is a model's metric."""
    pairs = Pairs.of_kinds(said, different_opinions(said))
    if isinstance(metric, DataSetMetric):
        scores, rows, votes = model.to_scores(), np.arange(said.n_cases), pairs.by_cell(pairs.masses)
        share = votes / weighted_counts(pairs.cell_case, votes, said.n_cases)[pairs.cell_case]
        masses = np.array([weighted_counts(pairs.cell_case, share * label, said.n_cases) for label in pairs.labels.T])
        own, is_binary = np.ones(said.n_cases) if weights is None else weights, said.question == "binary"
        seen = Said(scores, shares_of_first(scores), own, is_binary, np.zeros_like(rows), rows)
        base, slopes = Side(seen, masses).linear(metric)
        of_cell = base + (pairs.labels * slopes.T[pairs.cell_case]).sum(axis=1)
    else:
        of_cell = of_cells([metric], pairs, model)[0]
    return np.asarray(of_cell[pairs.cell])
