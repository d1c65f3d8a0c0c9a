"""The model beside the experts: its agreement with one of them, and theirs with each other, on the same cases.

Nothing is assumed about a truth: annotators are exchangeable, and no model has seen what they said. Every annotator is
left out in turn and scored like a model against the others; every model is scored on the same cases against the same
others. Differences are paired, and their intervals are over cases and annotators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from dissensus.agreement.coefficients import Table, inner
from dissensus.core.arrays import FloatArray
from dissensus.core.checks import check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import Readable, in_order_of_keys
from dissensus.core.ragged import weighted_counts
from dissensus.core.screen import Screen, Shown, counted, plain_json
from dissensus.core.spec import as_specs
from dissensus.evaluation.annotators import of_one_group
from dissensus.evaluation.comparison import holm
from dissensus.evaluation.expert_comparison.sample import (
    LEAST_ANNOTATORS,
    LEAST_CASES,
    LEAST_COMMON,
    Pairs,
    PointOfExperts,
    Sample,
    first_shares,
    needs_scores,
)
from dissensus.evaluation.expert_comparison.survey_equivalence import Worth
from dissensus.evaluation.request import asked_questions, cases_of_rows, check_request, default_metrics, listed_metrics
from dissensus.evaluation.sums import FINDING
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.reading import as_study
from dissensus.study.study import Study

# So many rows are shown; the rest is counted.
MOST_SHOWN = 12

# Hard cases were asked about more often if disagreement goes with the number of opinions so far, beyond chance.
CORRELATED, CERTAIN = 0.1, 3.0


@dataclass(frozen=True, eq=False, repr=False)
class Experts(Shown):
    """Hold how well models and annotators agree with one annotator.

    Attributes
    ----------
    rows
        A row per metric and model: ``metric``, ``model``, ``experts`` (agreement of one annotator with another, with
        ``experts_low``, ``experts_high``), ``agreement`` (of the model with one annotator, ``low``, ``high``),
        ``difference`` (model minus annotator, ``difference_low``, ``difference_high``), its parts ``case_sd`` and
        ``annotator_sd``, ``p_value`` of no difference, ``p_noninferior`` of one beyond the margin (one-sided), and the
        ``verdict`` of the first metric where there is a margin. What needs scores is nan for annotators.
    worth
        How many annotators each model is worth, by its name.
    annotator_rows
        A row per named annotator, metric and model: the annotator scored like a model against the others, and the model
        against the same others.
    strata_rows
        As :attr:`rows`, by ``column`` and ``stratum``, with ``n_cases``; ``p_adjusted`` and the verdict are adjusted
        for the number of strata of the column (Holm).
    called
        What an annotator is called.
    margin, level
        How much worse still counts as not inferior, if that was said, and the probability that intervals hold.
    n_cases, n_left_out
        Cases with two annotators or more, and those that lack a second one.
    notes
        What has to be known to read it.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
    >>> found = ds.experts(study.annotations, study.predictions, metrics=["top-k-accuracy:1"])
    >>> found.n_cases, found == Experts.from_json(found.to_json())
    (60, True)
    """

    rows: tuple[dict[str, Any], ...]
    worth: Mapping[str, Worth]
    annotator_rows: tuple[dict[str, Any], ...]
    strata_rows: tuple[dict[str, Any], ...]
    called: str
    margin: float | None
    level: float
    n_cases: int
    n_left_out: int
    notes: tuple[str, ...]
    _compared: tuple[Study, Mapping[str, Predictions]] | None = field(default=None, repr=False)

    @property
    def primary(self) -> str:
        """Name of the first metric, which verdicts are about."""
        return str(self.rows[0]["metric"])

    def row(self, model: str) -> dict[str, Any]:
        """Return the row of a model for the first metric.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> found.row("Aster")["metric"]
        'top-1 accuracy'
        """
        own = {row["model"]: row for row in self.rows if row["metric"] == self.primary}
        return own[known_name("model", model, own)]

    def to_json(self) -> dict[str, Any]:
        """Return everything in plain types; a number that is not finite is missing.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> sorted(found.to_json()["worth"]["Aster"])
        ['high', 'low', 'most', 'value']
        """
        worth = {name: asdict(one) for name, one in self.worth.items()}
        return dict(plain_json({name: getattr(self, name) for name in (*ROWS, *SINGLE, "notes")} | {"worth": worth}))

    @staticmethod
    @checked
    def from_json(given: Mapping[str, Any]) -> Experts:
        """Read what :meth:`to_json` returned; without the study, :meth:`alt_test` is not possible.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> Experts.from_json(found.to_json()).n_cases
        60
        """
        lacking = [name for name in (*ROWS, *SINGLE, "worth", "notes") if name not in given]
        if lacking:
            raise DissensusError("this is no stored comparison with annotators", got=f"no {listing(lacking)}")
        rows: dict[str, Any] = {
            name: tuple(
                {column: math.nan if value is None else value for column, value in row.items()} for row in given[name]
            )
            for name in ROWS
        }
        worth = {}
        for name, one in given["worth"].items():
            known: dict[str, Any] = {part: math.inf if value is None else value for part, value in one.items()}
            worth[name] = Worth(**known)
        return Experts(worth=worth, notes=tuple(given["notes"]), **rows, **{name: given[name] for name in SINGLE})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experts) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self) -> pl.DataFrame:
        """Return :attr:`rows` as a frame, with the worth of each model.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> found.to_frame().columns[:3]
        ['metric', 'model', 'experts']
        """
        found = pl.DataFrame(list(self.rows))
        for part in ("value", "low", "high"):
            of_model = {name: getattr(one, part) for name, one in self.worth.items()}
            column = "worth" if part == "value" else f"worth_{part}"
            found = found.with_columns(pl.Series(column, [of_model.get(name) for name in found["model"]], pl.Float64))
        return found

    def annotators(self) -> pl.DataFrame:
        """Return :attr:`annotator_rows` as a frame.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> found.annotators().columns[:3]
        ['annotator', 'metric', 'n_cases']
        """
        return pl.DataFrame(list(self.annotator_rows))

    def by_stratum(self) -> pl.DataFrame:
        """Return :attr:`strata_rows` as a frame.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> site = {"site": ["A", "B"] * 30}
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"], strata=site)
        >>> found.by_stratum()["stratum"].unique().sort().to_list()
        ['A', 'B']
        """
        return pl.DataFrame(list(self.strata_rows))

    def alt_test(self, epsilon: float = 0.2) -> dict[str, AlternativeAnnotator]:
        """Test of every model whether it may take the place of an annotator (Calderon and others 2025).

        Parameters
        ----------
        epsilon
            By how much the annotator may be the better one, between 0 and 1: 0.2 for experts, 0.1 for crowds.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=200, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> 0 <= found.alt_test()["Aster"].winning_rate <= 1
        True
        """
        if self._compared is None:
            raise DissensusError(
                "the alternative annotator test needs the study, which stored results do not hold",
                advice="evaluate again, or call ds.experts with the study and the predictions",
            )
        study, models = self._compared
        return {name: alternative_annotator_test(study, model, epsilon=epsilon) for name, model in models.items()}

    def screen(self, *, show_all: bool = False) -> Screen:
        """Return what is seen first: the first metric of one annotator and of every model, verdicts and subgroups.

        Parameters
        ----------
        show_all
            Show every metric, and all subgroups.
        """
        if not self.rows:
            return Screen(f"no comparison with one {self.called}", cautions=self.notes)
        every, first = [*self.rows, *self.strata_rows], [row for row in self.rows if row["metric"] == self.primary]
        shown = every if show_all else [row for row in every if row["metric"] == self.primary]
        left_out = 0 if show_all else max(0, len(shown) - MOST_SHOWN)
        shown = shown[: len(shown) - left_out]
        names = [
            row["model"] + (f", {row['column']} {row['stratum']} ({row['n_cases']})" if "stratum" in row else "")
            for row in shown
        ]
        table = {
            "": [f"one {self.called}", *names],
            f"with one {self.called}": [_shown(self.rows[0], "experts_"), *(_shown(row) for row in shown)],
            "difference": ["", *(_shown(row, "difference_", "+") for row in shown)],
            "verdict": ["", *(row["verdict"] for row in shown)],
            "worth": ["1", *(str(self.worth.get(row["model"], "-")) if row in first else "-" for row in shown)],
            "metric": [self.primary, *(row["metric"] for row in shown)],
        }
        unwanted = (*(("verdict",) if self.margin is None else ()), *(() if show_all else ("metric",)))
        others = len({row["metric"] for row in self.rows}) - 1
        needed = "No verdict without a margin: give --margin."
        told = needed if self.margin is None else f"The margin is {self.margin:g}."
        lone = f"{self.n_left_out:,} cases have a single {self.called}: left out"
        hidden = [counted(n, f"more {what}") for n, what in ((others, "metric"), (left_out, "row")) if n]
        return Screen(
            f"{self.primary} on {self.n_cases:,} cases; {100 * self.level:g} % intervals",
            "",
            {name: cells for name, cells in table.items() if name not in unwanted},
            (told, *((f"Not shown: {', '.join(hidden)} (--all).",) if hidden and not show_all else ())),
            (*self.notes, *((lone,) if self.n_left_out else ())),
            more="--json has them",
            is_whole=show_all,
            records=every,
        )


# What holds rows, and what is one value, in files.
ROWS, SINGLE = (("rows", "annotator_rows", "strata_rows"), ("called", "margin", "level", "n_cases", "n_left_out"))


def _shown(row: Mapping[str, Any], name: str = "", sign: str = "") -> str:
    value = row[name.removesuffix("_") or "agreement"]
    return f"{value:{sign}.2f} [{row[f'{name}low']:.2f}, {row[f'{name}high']:.2f}]"


class IncomparableError(DissensusError):
    """Models cannot be put beside annotators: too few opinions, or no metric that an annotator can be measured by."""


@checked
def experts(
    study: Readable,
    predictions: Any,
    metrics: Sequence[Metric | str] | None = None,
    *,
    margin: float | None = None,
    called: str = "annotator",
    level: float = 0.95,
    strata: Mapping[str, Sequence[str]] | None = None,
    trained_on: Sequence[str] = (),
    allow_missing: bool = False,
) -> Experts:
    """Put models beside the annotators: agreement with one annotator, on the same cases against the same others.

    Parameters
    ----------
    study
        What the annotators said; cases with one annotator are left out and counted.
    predictions
        As in :func:`evaluate`.
    metrics
        Specs or their text; by default those of the kind of question. What needs scores is of models only; of a
        yes-or-no question, their sensitivity at the annotators' mean specificity is compared instead.
    margin
        How much worse than an annotator a model may be to count as non-inferior, in units of the metric; with it, every
        model is superior, non-inferior, or that is not shown (one-sided, at half of one minus the level).
    called
        What an annotator is called, such as "radiologist".
    level
        Probability that intervals hold.
    strata
        Columns of cases: name to one label per case, for :meth:`Experts.by_stratum`.
    trained_on
        Models that were trained on these annotations: they get no verdict.
    allow_missing
        Take the cases that all models have, instead of refusing models that lack some.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> found = experts(said, {"A": [[0.9, 0.1], [0.2, 0.8]] * 10}, ["top-k-accuracy:1"])
    >>> row = found.rows[0]
    >>> round(row["experts"], 3), round(row["agreement"], 3), str(found.worth["A"])
    (0.75, 0.875, '>3 [1.1, >3]')
    """
    asked = asked_questions(as_study(study), predictions, strata or {}, allow_missing=allow_missing)
    usual = default_metrics(asked.study, asked.models, asked.study.conditions, None)
    wanted = tuple(as_specs(Metric.family, usual if metrics is None else listed_metrics(metrics)))
    check_request(wanted, {name: model for name, model in asked.models.items() if model.kind != "set"}, level)
    how: dict[str, Any] = {"margin": margin, "called": called, "level": level, "trained_on": trained_on}
    return experts_of(asked.study, asked.models, wanted, strata=asked.strata, **how)


def experts_of(
    study: Study,
    models: Mapping[str, Predictions],
    metrics: Sequence[Metric],
    *,
    margin: float | None = None,
    called: str = "annotator",
    level: float = 0.95,
    strata: Mapping[str, Mapping[str, str]] | None = None,
    trained_on: Sequence[str] = (),
) -> Experts:
    """Do what :func:`experts` does with questions and models that are aligned, as those of :class:`Questions` are.

    Parameters
    ----------
    study, models
        Opinions and predictions, row by row.
    metrics
        What models can be measured by.
    margin, called, level, trained_on
        As of :func:`experts`.
    strata
        Labels of rows by column; the column of findings tells which one a row is about.

    Examples
    --------
    >>> from dissensus.metrics import TopKAccuracy
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> model = Predictions.from_scores([[0.9, 0.1], [0.2, 0.8]] * 10, ["a", "b"], case_names=said.case_names)
    >>> experts_of(said, {"A": model}, [TopKAccuracy(1)]).row("A")["agreement"]
    0.875
    """
    labels, study = strata or {}, study.select(in_order_of_keys(study.case_names))  # sums do not depend on the order
    findings, pairs, notes = labels.get(FINDING, {}), Pairs.of(study), []
    said = pairs.study
    case_of = {name: cases_of_rows([name], {findings[name]})[0] if findings else name for name in study.case_names}
    n_cases = len({case_of[name] for name in said.case_names})
    n_all = len(set(case_of.values()))
    if not models:
        raise DissensusError("there is no model to put beside annotators", expected="predictions of at least one")
    for name in trained_on:
        known_name("model", name, models, purpose="to be trained on these annotations")
    if n_cases < LEAST_CASES:
        raise IncomparableError(
            "too few cases have opinions of two annotators",
            expected=f"at least {LEAST_CASES}",
            got=f"{n_cases} of {n_all}",
            advice="ask a second annotator about some of the cases",
        )
    kind = "numbers" if said.kind == "ratings" else "ranking"
    able = [metric for metric in metrics if kind in metric.accepts]
    scored = [metric for metric in metrics if needs_scores(metric) and "scores" in metric.accepts]
    if not able:
        words = "; ".join(f"{metric.name} needs scores, which {called}s do not give" for metric in metrics)
        raise IncomparableError("no metric can be computed of an annotator", got=words)
    own = {name: model.select(list(said.case_names)) for name, model in models.items()}
    how: dict[str, Any] = {"findings": findings, "called": called, "point": metrics[0] in scored}
    sample = Sample.of(pairs, own, (*able, *scored), **how)
    primary = sample.metrics[0]
    if margin is not None and not 0 < margin < np.ptp(primary.range):
        raise DissensusError(
            f"the margin is outside of the range of {primary.name}",
            expected=f"above 0 and below {np.ptp(primary.range):g}",
            got=f"{margin:g}",
        )

    verdict = partial(_verdict, None if margin is None else primary, tuple(trained_on), level)
    rows = [{**row, "verdict": verdict(row)} for row in sample.rows(margin, level)]
    by_stratum: list[dict[str, Any]] = []
    for column, of_row in labels.items():
        stratum = np.array([of_row[name] for name in said.case_names])
        pairs_of = {(case_of[name], of_row[name]) for name in said.case_names}
        names, sizes = np.unique([label for _, label in pairs_of], return_counts=True)
        few = [f"{name} ({size})" for name, size in zip(names, sizes, strict=True) if size < LEAST_CASES]
        if few:
            notes.append(f"{column}: too few cases, of which {LEAST_CASES} are needed, in {listing(few)}")
        parts = [
            {"column": column, "stratum": str(name), "n_cases": int(size), **row}
            for name, size in zip(names, sizes, strict=True)
            if size >= LEAST_CASES
            for row in sample.part(np.flatnonzero(stratum == name)).rows(margin, level)
        ]
        for one in range(len(rows)):  # the same metric and model in all strata
            same = parts[one :: len(rows)]
            adjusted = {what: holm([row[what] for row in same]) for what in ("p_value", "p_noninferior")}
            for i, row in enumerate(same):
                own_p = {what: values[i] for what, values in adjusted.items()}
                by_stratum.append({**row, "p_adjusted": own_p["p_value"], "verdict": verdict(row | own_p)})
    notes += _notes(sample, called, trained_on, level)
    held = tuple(rows), sample.worth(level), tuple(sample.annotator_rows(level)), tuple(by_stratum)
    return Experts(*held, called, margin, level, n_cases, n_all - n_cases, tuple(notes), (study, models))


def _verdict(
    primary: Metric | PointOfExperts | None, trained_on: tuple[str, ...], level: float, row: Mapping[str, Any]
) -> str:
    """Return what p-values of no difference and of one beyond the margin say, of the first metric if there is one."""
    if primary is None or row["metric"] != primary.name or row["model"] in trained_on:
        return ""
    if (row["difference"] > 0) == primary.higher_is_better and row["p_value"] <= 1 - level:
        return "superior"
    return "non-inferior" if row["p_noninferior"] <= (1 - level) / 2 else "not shown"


def experts_unless_incomparable(
    study: Study,
    models: Mapping[str, Predictions],
    metrics: Sequence[Metric],
    *,
    strata: Mapping[str, Mapping[str, str]],
    **how: Any,
) -> Experts:
    """Do what :func:`experts_of` does, or return no rows and a note that says why."""
    try:
        return experts_of(study, models, metrics, strata=strata, **how)
    except IncomparableError as error:
        told = error.problem + (f" ({error.got})" if error.got else "")
        return Experts((), {}, (), (), how["called"], how["margin"], how["level"], 0, study.n_cases, (told,))


def _notes(sample: Sample, called: str, trained_on: Sequence[str], level: float) -> list[str]:
    """Say what has to be known to read the numbers."""
    study, found = sample.pairs.study, []
    if sample.crossing is None:
        few = f"fewer than {LEAST_ANNOTATORS} of them have names and {LEAST_COMMON} cases in common with two others"
        found.append(f"intervals and verdicts are about these {called}s: {few}")
    alone = of_one_group(study)
    if alone.any():
        share = f"{int(alone.sum()):,} of {len(alone):,} cases"
        found.append(
            f"the opinions on {share} come from one group of {called}s: agreement, certainty and panel are its"
        )
    if study.panel.annotator_groups and study.kind == "rankings" and not alone.all():
        within, between, gap = sample.of_groups(level)
        found.append(
            f"two {called}s of one group agree in {within:.2f}, of different groups in {between:.2f} of the cases that "
            f"both kinds of pairs read (difference {gap.mean:+.2f}, {gap.low:+.2f} to {gap.high:+.2f})"
        )
    if trained_on:
        found.append(f"{listing(trained_on)}: trained on these annotations, so that agreement says little: no verdict")
    scored = [metric.name for metric in sample.metrics if isinstance(metric, Metric) and needs_scores(metric)]
    if scored:
        found.append(f"{listing(scored)}: of models only, as {called}s give no scores")
    sizes, apart = study.votes_per_case.astype(np.float64), -sample.panels.agreement(1)
    if np.ptp(sizes) > 0 and np.ptp(apart) > 0:
        correlation = float(np.corrcoef(sizes, apart)[0, 1])
        if correlation > CORRELATED and correlation * math.sqrt(study.n_cases) > CERTAIN:
            found.append(
                f"hard cases have more opinions (correlation with disagreement {correlation:.2f}): large panels are "
                "compared on harder cases; every case counts once unless it has a weight"
            )
    return found


# The alternative annotator test ---------------------------------------------------------------------------
#
# Every annotator is left out in turn. On each of their cases, the model and the annotator are compared by how well they
# agree with the others; the model wins an annotator if it is at least as good on enough of the cases, allowing for
# ``epsilon``, what it saves (Calderon and others 2025).

# An annotator is compared on so many cases at least.
LEAST_OF_ONE = 30

# Agreements that differ by less are equal: shares of tied first choices may be thirds.
ROUNDED = 1e-12


@dataclass(frozen=True)
class AlternativeAnnotator:
    """Hold the outcome of the alternative annotator test for one model.

    Attributes
    ----------
    rows
        A row per annotator who was compared: ``annotator``, ``n_cases``, ``advantage`` (how often the model is at least
        as good), ``p_value``, ``won``.
    epsilon
        By how much the annotator may be the better one.

    Examples
    --------
    >>> import dissensus as ds, polars as pl
    >>> rows = [(f"c{i}", who, "ab"[i % 2]) for i in range(40) for who in ("Ada", "Bo", "Cy")]
    >>> said = ds.Study.from_long(pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row"))
    >>> model = ds.Predictions.from_rankings([["a"], ["b"]] * 20, case_names=[f"c{i}" for i in range(40)])
    >>> found = alternative_annotator_test(said, model)
    >>> found.winning_rate, found.advantage, found.passes
    (1.0, 1.0, True)
    """

    rows: pl.DataFrame
    epsilon: float

    @property
    def winning_rate(self) -> float:
        """Share of the annotators whom the model wins, by the procedure of Benjamini and Yekutieli at 0.05."""
        return float(self.rows["won"].mean())  # type: ignore[arg-type]

    @property
    def advantage(self) -> float:
        """How often the model is at least as good as the annotator, on average over annotators."""
        return float(self.rows["advantage"].mean())  # type: ignore[arg-type]

    @property
    def passes(self) -> bool:
        """Whether the model wins at least half of the annotators."""
        return self.winning_rate >= 0.5


@checked
def alternative_annotator_test(study: Study, model: Predictions, *, epsilon: float = 0.2) -> AlternativeAnnotator:
    """Test whether a model may take the place of an annotator, as published.

    Parameters
    ----------
    study
        Labels, rankings (their first choices count) or ratings of named annotators.
    model
        What the model says; its first choice counts, or its number.
    epsilon
        By how much the annotator may be the better one, between 0 and 1: 0.2 for experts, 0.1 for crowds.
    """
    from scipy.stats import false_discovery_control, ttest_1samp

    check_share("epsilon", epsilon)
    said = study.counted
    said = said.select([name for name in said.case_names if name in set(model.case_names)])
    if not said.annotator_names or (said.annotators == ANONYMOUS).any():
        raise DissensusError(
            "the alternative annotator test leaves annotators out by name",
            expected="a name for the annotator of every opinion",
            got=f"{int((said.annotators == ANONYMOUS).sum())} anonymous opinions",
        )
    case, (theirs, own) = said.panel.case_of_opinion, agreement_with_others(said, model)
    several = said.votes_per_case[case] > 1
    found = []
    for code, name in enumerate(said.annotator_names):
        chosen = several & (said.annotators == code)
        if chosen.sum() >= LEAST_OF_ONE:
            wins, loses = own[chosen] >= theirs[chosen] - ROUNDED, theirs[chosen] >= own[chosen] - ROUNDED
            apart = loses.astype(float) - wins
            p = ttest_1samp(apart, epsilon, alternative="less").pvalue if np.ptp(apart) else float(apart[0] >= epsilon)
            found.append({"annotator": name, "n_cases": len(apart), "advantage": wins.mean(), "p_value": float(p)})
    if not found:
        raise DissensusError(
            "no annotator shares enough cases with another one",
            expected=f"at least {LEAST_OF_ONE} cases with two opinions",
            got=f"at most {max(np.bincount(said.annotators[several], minlength=1))}",
        )
    rows = pl.DataFrame(found)
    won = false_discovery_control(rows["p_value"].to_numpy(), method="by") <= 0.05
    return AlternativeAnnotator(rows.with_columns(won=pl.Series(won)), epsilon)


def agreement_with_others(said: Study, model: Predictions) -> tuple[FloatArray, FloatArray]:
    """Return how well each opinion agrees with the others on its case, and how well the model does, (n_opinions,) each.

    It is the share of the others with the same label, or minus the root mean square distance of ratings.
    """
    case = said.panel.case_of_opinion
    others = np.maximum(said.votes_per_case[case] - 1.0, 1.0)
    placed = model.align(said.case_names, said.conditions, allow_missing=True)
    if said.kind == "ratings":
        scores, number = said.scores, placed.numbers[case]

        def distance(value: FloatArray) -> FloatArray:
            sums = [weighted_counts(case, scores**power, said.n_cases)[case] for power in (0, 1, 2)]
            squares = sums[0] * value**2 - 2 * value * sums[1] + sums[2] - (value - scores) ** 2
            return np.asarray(-np.sqrt(np.maximum(squares, 0.0) / others))

        return distance(scores), distance(number)
    table = Table.of(said)
    shares, totals = table.shares[table.kind], table.by_value[case]
    first = first_shares(placed, said.n_conditions)[case]
    theirs, own = ((inner(one, totals) - inner(one, shares)) / others for one in (shares, first))
    return theirs, own
