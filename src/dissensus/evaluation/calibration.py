"""How much to trust the annotators: opinions that were held out decide.

Single opinions are left out to judge aggregations by, and halves of panels to confirm what the other halves let expect.
What is learned from all cases is learned from what is left, and no opinion has a part in the posterior that it judges.

Single opinions are left out in rounds, at most one annotator of a case in each, and of half of the cases only; the
others on the case say how likely each was.

Of a panel cut in two, the first choices of the held-out half have a winner; those who tie share the win. Certainty says
how sure the first half is of *its* winner in a panel without end, while a held-out half of two or three is a lottery.
So the chance to win in a panel of that very size is predicted too, by simulating panels from the draws: stated and
confirmed then compare like with like.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dissensus.aggregations.annotator_models import DawidSkene
from dissensus.aggregations.base import Aggregation, restored_aggregation
from dissensus.aggregations.dirichlet import Dirichlet, ProbabilisticInverseRank
from dissensus.aggregations.normal_inverse_gamma import NormalInverseGamma, estimated_shifts
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import RatingPoint
from dissensus.agreement.coefficients import Matrix, Table, remains, seats_of
from dissensus.core.arrays import BoolArray, FloatArray, IntArray, Path, Value
from dissensus.core.checks import check_choice, check_count, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.core.names import Readable, case_keys
from dissensus.core.output import directory_written_whole, expect, foreign_content
from dissensus.core.ragged import (
    Average,
    clustered,
    first_of_most,
    offsets_from_lengths,
    row_of_each,
    take_rows,
    weighted_counts,
)
from dissensus.core.screen import Screen, Shown, counted, plain_json
from dissensus.draws import Batch
from dissensus.evaluation.annotators import Fold
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL, run_names
from dissensus.evaluation.intervals import InformedPrior
from dissensus.evaluation.request import chosen_aggregations, common_cases, models_of, why_no_panel
from dissensus.evaluation.tally import informed_by, prior_for
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.panel import ANONYMOUS
from dissensus.study.reading import as_study
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl


# What ``calibration.json`` says it is, and the version of its schema.
FORMAT, VERSION = "dissensus calibration", 1

TABLES = ("scores", "panel_split", "models")

# Scores closer than this count as equal: one percent of the probability of a ranking, and what draws leave open.
NEGLIGIBLE = 0.01

# Half the width of a 90 % interval, in standard errors.
Z = 1.6448536269514722

# Certainties from here on are the ones that people act on.
SURE = 0.9

# A gap of more standard errors than this is called one.
FAR = 2.0

# More aggregations that are as good are counted, not named.
MOST_NAMED = 4

# So many aggregations are shown; all are in the file.
MOST_SHOWN = 5

# How often an opinion counts, from distrust to what the source paper calls high trust.
RELIABILITIES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)

SOME = (0.5, 1.0, 2.0)

# What each annotator says for each condition is learned by itself up to so many numbers: it takes time.
MOST_CONFUSIONS = 100_000

GOLDEN = (math.sqrt(5) - 1) / 2

# How many opinions of a case are left out, one after the other; of more, these are taken at random.
MOST_PER_CASE = 6

# In how many parts the cases are divided: what is learned from others is learned from the whole panels of the rest.
PARTS = 2

# Limits of the bins of certainty; a bin holds its lower limit, and the last one also the upper.
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

# Votes closer than this are as many.
EVEN = 1e-9

# Arrays whose last axis is that of the cases of a batch.
Columns = tuple[Any, ...]

# What makes an aggregation ready for what a fold leaves: a prior that predictions inform is fitted to it.
Resolver = Callable[[Aggregation, Study], Aggregation]

Row = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Shown, Value):
    """What held-out annotators say about aggregations.

    Attributes
    ----------
    specs
        The aggregations that were judged.
    score_rows, split_rows, model_rows
        The rows of :attr:`scores`, :attr:`panel_split` and :attr:`models`.
    counts
        Numbers of pairs, cases and cut panels, draws, and the seed.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate.study(n_cases=40, n_conditions=6, seed=1).annotations
    >>> found = ds.calibrate(said, ["plackett-luce:1,10", "inverse-rank"], draws=100)
    >>> found.best.reliability, found.scores["impossible"].to_list()[:2]
    (1.0, [0, 0])
    >>> found.scores.columns[:4]
    ['aggregation', 'reliability', 'alpha', 'prior']
    """

    specs: tuple[Aggregation, ...]
    score_rows: tuple[Row, ...]
    split_rows: tuple[Row, ...]
    model_rows: tuple[Row, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self.record() == other.record()  # in which nothing is nan

    __hash__ = None

    @property
    def scores(self) -> pl.DataFrame:
        """A row per aggregation, in the order in which they were given.

        ``score``: mean log-probability of a held-out ranking, ``se``: its standard error, clustered by case.
        ``difference``, ``difference_se``: to the best, paired. ``first_score``, ``first_se``: the same for the first
        choice alone. ``impossible``: pairs in which what was said had no chance at all. ``on_plateau``: within one
        paired standard error of the best, or within 0.01 of it. ``calibration_error``: mean distance between predicted
        and confirmed agreement with held-out panels; ``stated`` and ``confirmed`` are means over cases.
        """
        return _frame(self.score_rows)

    @property
    def panel_split(self) -> pl.DataFrame:
        """A row per aggregation and bin of certainty, and one per aggregation for all cases (``low`` 0, ``high`` 1).

        ``stated``: certainty from half of the annotators. ``predicted``: chance to win in a panel as large as the
        other half, simulated. ``confirmed``: how often it did win; ``gap``: predicted minus confirmed.
        """
        return _frame(self.split_rows)

    @property
    def models(self) -> pl.DataFrame:
        """A row per model and estimand: predicted against observed agreement with held-out panels; maybe empty.

        ``low`` and ``high`` bound predicted minus observed by a 90 % interval; zero inside speaks for the prediction.
        """
        return _frame(self.model_rows)

    def to_frame(self) -> pl.DataFrame:
        """Return :attr:`scores`.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.simulate.study(n_cases=20, n_conditions=6, seed=1).annotations
        >>> ds.calibrate(said, ["plackett-luce:1,2"], draws=50).to_frame()["aggregation"].to_list()
        ['plackett-luce 1', 'plackett-luce 2']
        """
        return self.scores

    @property
    def opinion(self) -> str:
        """What was held out: a ranking, or a rating."""
        return "rating" if self.specs[0].needs == "ratings" else "ranking"

    @property
    def labels(self) -> tuple[str, ...]:
        """What tables call the aggregations."""
        return tuple(row["aggregation"] for row in self.score_rows)

    @property
    def _order(self) -> list[int]:
        """Positions of the aggregations that gave everything a chance, the best first; informed ones apart."""
        scores = [float(row["score"]) for row in self.score_rows]
        able = [i for i, spec in enumerate(self.specs) if math.isfinite(scores[i]) and not spec.is_informed]
        return sorted(able, key=lambda i: -scores[i])

    @property
    def best(self) -> Aggregation:
        """The aggregation with the highest score, without those that predictions inform; :func:`evaluate` takes it.

        Others on the :attr:`plateau` are as good as far as these annotators can tell; where one of them has other
        merits, use it.
        """
        return self.specs[self.best_place]

    @property
    def best_place(self) -> int:
        """Position of the best among :attr:`specs`."""
        if not self._order:
            raise DissensusError(
                "no aggregation gives everything that annotators said a chance",
                advice="judge one with a prior on all conditions, such as plackett-luce",
            )
        return self._order[0]

    @property
    def plateau(self) -> tuple[Aggregation, ...]:
        """The aggregations within one paired standard error of the best (or within 0.01 of it), the best first."""
        return tuple(self.specs[i] for i in self._order if self.score_rows[i]["on_plateau"])

    def curve(self, aggregation: Aggregation | None = None) -> pl.DataFrame:
        """Return stated against confirmed for one aggregation, by default the best; without the row of all cases.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.simulate.study(n_cases=40, n_conditions=6, seed=1).annotations
        >>> ds.calibrate(said, ["plackett-luce:1"], draws=100).curve()["n_cases"].sum()
        40
        """
        return _frame(self._split_of(self.best if aggregation is None else aggregation)[:-1])

    def _split_of(self, aggregation: Aggregation) -> list[Row]:
        """Return the rows of :attr:`panel_split` of one aggregation, that of all cases last; none of ratings."""
        label = self.row_of(aggregation)["aggregation"]
        return [row for row in self.split_rows if row["aggregation"] == label]

    def row_of(self, aggregation: Aggregation) -> Row:
        """Return the row of :attr:`scores` of one aggregation.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.simulate.study(n_cases=20, n_conditions=6, seed=1).annotations
        >>> found = ds.calibrate(said, ["plackett-luce:1", "majority-vote"], draws=50)
        >>> found.row_of(ds.aggregations.MajorityVote())["score"]
        -inf
        """
        return self.score_rows[self.specs.index(aggregation)]

    def record(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; numbers that are not finite are missing.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.simulate.study(n_cases=20, n_conditions=6, seed=1).annotations
        >>> found = ds.calibrate(said, ["plackett-luce:1", "inverse-rank"], draws=50)
        >>> restored_calibration(found.record()).record() == found.record()
        True
        """
        known = {"counts": dict(self.counts), "aggregations": [spec.record() for spec in self.specs]}
        rows = (self.score_rows, self.split_rows, self.model_rows)
        return {"format": FORMAT, "version": VERSION, **known, **dict(zip(TABLES, map(plain_json, rows), strict=True))}

    @staticmethod
    @checked
    def load(directory: Path) -> Calibration:
        """Read back what :meth:`save` wrote.

        Examples
        --------
        >>> import dissensus as ds, tempfile
        >>> said = ds.simulate.study(n_cases=20, n_conditions=6, seed=1).annotations
        >>> found = ds.calibrate(said, ["plackett-luce:1,2"], draws=50)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(f"{folder}/trust")
        ...     ds.Calibration.load(f"{folder}/trust").best == found.best
        True
        """
        from dissensus.core.files import checked_path, open_source

        record = open_source(checked_path(FilePath(directory) / "calibration.json")).content
        return restored_calibration(record if isinstance(record, Mapping) else {}, str(directory))

    @checked
    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Write scores.csv, panel_split.csv, models.csv if there are models, and calibration.json, all or nothing.

        Examples
        --------
        >>> import dissensus as ds, tempfile, pathlib
        >>> said = ds.simulate.study(n_cases=20, n_conditions=6, seed=1).annotations
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.calibrate(said, ["plackett-luce:1"], draws=50).save(f"{folder}/trust")
        ...     sorted(place.name for place in pathlib.Path(folder, "trust").iterdir())
        ['calibration.json', 'panel_split.csv', 'scores.csv']
        """
        with directory_written_whole(directory, overwrite=overwrite, foreign=not_a_calibration) as place:
            for name in TABLES:
                if len(table := getattr(self, name)):
                    table.write_csv(place / f"{name}.csv")
            text = json.dumps(self.record(), indent=1, ensure_ascii=False)
            (place / "calibration.json").write_text(f"{text}\n", encoding="utf-8")

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it comes to, in plain sentences; the first one stands alone.

        Which aggregation is best, which others are as good, whether certainty is confirmed, and what is impossible.
        """
        n_pairs, cases = self.counts["pairs"], counted(self.counts["cases"], "case")
        first = (
            f"Calibration: {counted(len(self.specs), 'aggregation')} judged by {counted(n_pairs, self.opinion)} "
            f"that were held out, on {cases}"
        )
        said = [best(self), plateau(self), *certainty(self), *informed(self), *models(self)] if self._order else []
        impossible = [
            f"{row['aggregation']} gives no chance to what annotators said in {row['impossible']:,} of "
            f"{counted(n_pairs, 'pair')}"
            for row in self.score_rows
            if row["impossible"]
        ]
        return first, *said, *impossible

    def screen(self) -> Screen:
        """Return what is seen first: the best aggregations, and what held-out annotators say of them."""
        first, *others = self.sentences
        order = sorted(self.score_rows, key=lambda row: -float(row["score"]))[:MOST_SHOWN]
        table = {
            "the best (* as good)": [f"{' *'[row['on_plateau']]} {row['aggregation']}" for row in order],
            "score": [f"{row['score']:.3f}" for row in order],
            "to best": [f"{row['difference']:z.3f}" for row in order],
            "error": [f"{row['difference_se']:.3f}" for row in order],
        }
        told = tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in others)
        return Screen(first, "", table, told, more="--json has them", records=self.score_rows)


@checked
def calibrate(
    study: Readable,
    aggregations: Sequence[Aggregation | str] | None = None,
    predictions: Any = None,
    *,
    max_pairs: int = 5000,
    draws: int = 400,  # measured to be enough for a score to two digits
    seed: int = 0,
    threads: int | None = None,
    refine: bool = False,
    allow_missing: bool = False,
    advance: Callable[[int], None] | None = None,
) -> Calibration:
    """Let annotators who were held out decide how much annotators are to be trusted, and by which aggregation.

    Every annotator is left out in turn, and the opinions of the others on the same case say how likely their ranking
    was: an aggregation that trusts too much is surprised too often, one that trusts too little knows less than it
    could. Panels are also cut in two, to see whether certainty from one half is confirmed by the other.

    Parameters
    ----------
    study
        Rankings or ratings, of which some cases have those of two annotators or more.
    aggregations
        Specs or their text such as ``"plackett-luce:1,3"``. By default, Plackett-Luce by reliability and strength of
        the prior, and inverse ranks; for single labels, counts (and Dawid-Skene where annotators have names); for
        ratings, normal-inverse-gamma by reliability (and with shifts where annotators have names).
    predictions
        As in :func:`evaluate`; the agreement of every model with held-out panels is predicted and compared.
    max_pairs
        How many annotators are left out at most, by cases taken at random.
    draws, seed, threads
        As in :meth:`Aggregation.sample`.
    refine
        Search on around the best: finer steps of reliability, then of alpha.
    allow_missing
        Leave cases out that some model lacks, instead of refusing.
    advance
        Told the number of pairs and panels done; how many there are, finer steps aside, is told to its ``expect``, if
        it has one (:class:`~dissensus.core.output.Watched`).

    Returns
    -------
    :class:`Calibration`, whose ``best`` is an aggregation for :func:`evaluate`.

    Notes
    -----
    The score of a pair is the logarithm of the mean over draws of the Plackett-Luce probability of the ranking, which
    counts once, ties standing for all orders within. Conditions that the others did not mention have their share of
    the rest, integrated over how it splits. Of a rating, the score is the logarithm of the mean density, and panels are
    not cut. Standard errors let the pairs of a case (of a group of cases, where there
    are groups) depend on each other. What is learned from all cases is learned without the opinions that it judges.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate.study(n_cases=60, n_conditions=6, seed=1).annotations
    >>> ds.calibrate(said, ["plackett-luce:1,30"], draws=100).best.reliability
    1.0
    """
    check_count(max_pairs=max_pairs, draws=draws)
    check_seed(seed)
    study = as_study(study)
    said = study if study.kind == "ratings" else require_kind(study, "rankings", "calibrate")
    models = aligned_models(models_of(predictions, said), said.case_names, said.conditions, allow_missing=allow_missing)
    if models:
        said = said.select(common_cases(said, models))
    pairs = HeldOut.of(said, max_pairs=max_pairs, seed=seed)
    split = None if said.kind == "ratings" else PanelSplit.of(said, max_cases=max_pairs, seed=seed)
    named = {} if split is None else {name: first_choices(model)[split.cases] for name, model in models.items()}
    judge = Judge(pairs, split, models, named, {"draws": draws, "seed": seed, "threads": threads, "advance": advance})
    specs = judged_specs(said, aggregations, models)
    expect(advance, "holding annotators out", len(specs) * (pairs.n_pairs + (0 if split is None else len(split.cases))))
    for spec in specs:
        judge.score(spec)
    if refine:
        judge.refine()
    return judge.calibration()


# Judging -------------------------------------------------------------------------------------------------


class Scored(NamedTuple):
    """Logarithms of scores by pair, in the order of pairs, those of first blocks, and what was fitted on average."""

    logs: FloatArray
    firsts: FloatArray
    fitted: Mapping[str, float]


@dataclass(eq=False)
class Judge:
    """Score aggregations one after the other, and remember them, with what they let expect of panels that are cut.

    ``named`` is what every model puts first on the cases whose panels are cut, -1 for nothing; ``priors`` are fitted to
    what is left in studies, which are few.
    """

    pairs: HeldOut
    split: PanelSplit | None
    models: Mapping[str, Predictions]
    named: Mapping[str, IntArray]
    how: dict[str, Any]
    scored: dict[Aggregation, Scored] = field(default_factory=dict)
    panels: dict[Aggregation, Expected] = field(default_factory=dict)
    priors: dict[int, InformedPrior] = field(default_factory=dict)

    def score(self, spec: Aggregation) -> float:
        """Return the mean log-probability of held-out rankings; find it if it is not known."""
        if spec not in self.scored:
            how = {**self.how, "resolve": self._resolved}
            self.scored[spec] = self.pairs.log_scores(spec, **how)
            if self.split is not None:
                self.panels[spec] = self.split.expected(spec, self.named, **how)
        return self.pairs.average(self.scored[spec].logs).mean

    def _resolved(self, spec: Aggregation, study: Study) -> Aggregation:
        """Fit a prior that models inform to what is left in a study, which is one of few."""
        if not spec.is_informed:
            return spec
        if id(study) not in self.priors:
            start = next(iter(self.priors.values()), None)
            self.priors[id(study)] = prior_for([spec], study, self.models, start)
        return informed_by(spec, self.priors[id(study)])

    def best(self) -> Aggregation:
        """Return the one with the highest score, informed ones apart."""
        return max(self.scored, key=lambda spec: -math.inf if spec.is_informed else self.score(spec))

    def refine(self) -> None:
        """Score finer steps of reliability around the best, and then of the strength of its prior."""
        spec = self.best()
        fitted = self.scored[spec].fitted
        has_steps = not spec.is_informed and getattr(spec, "reliability", None) is not None
        if not has_steps or not math.isfinite(self.score(spec)):
            return
        spec = golden_section(spec, "reliability", self.score, factor=2.0)
        if isinstance(getattr(spec, "alpha", None), str) and "alpha" in fitted:
            spec = replace(spec, alpha=rounded(fitted["alpha"]))  # type: ignore[type-var]  # specs are dataclasses
        if isinstance(getattr(spec, "alpha", None), float) and spec.alpha > 0:  # type: ignore[attr-defined]
            golden_section(spec, "alpha", self.score, factor=4.0)

    def calibration(self) -> Calibration:
        """Put everything into tables."""
        split, specs, best = self.split, tuple(self.scored), self.scored[self.best()]
        labels = dict(zip(specs, labels_of(specs), strict=True))
        scores: list[Row] = []
        bins: list[Row] = []
        for spec, label in labels.items():
            own = [] if split is None else bins_of(self.panels[spec], split)
            bins += [{"aggregation": label, **row} for row in own]
            confirmed = {name: own[-1][name] if own else math.nan for name in ("stated", "predicted", "confirmed")}
            error = {"calibration_error": calibration_error(own) if own else math.nan}
            scores.append({"aggregation": label, **self._compared(spec, best), **confirmed, **error})
        counts = {
            "pairs": self.pairs.n_pairs,
            "cases": len(np.unique(self.pairs.cases)),
            "clusters": len(np.unique(self.pairs.clusters)),
            "panels": 0 if split is None else len(split.cases),
            "draws": self.how["draws"],
            "seed": self.how["seed"],
        }
        models = () if split is None else tuple(self._agreements(labels, split))
        return Calibration(specs, tuple(scores), tuple(bins), models, counts)

    def _compared(self, spec: Aggregation, best: Scored) -> Row:
        """Average the scores of an aggregation, and their differences to the best, behind its parameters."""
        one, parameters, average = self.scored[spec], spec.parameters(), self.pairs.average
        alpha, prior = one.fitted.get("alpha", parameters.get("alpha")), parameters.get("prior")
        able = bool(np.isfinite(one.logs).all() and np.isfinite(best.logs).all())
        score, first = average(one.logs), average(one.firsts)
        gap = average(one.logs - best.logs if able else np.full(len(one.logs), np.nan))
        return {
            "reliability": parameters.get("reliability"),
            "alpha": float(alpha) if isinstance(alpha, int | float) else None,
            "prior": prior if isinstance(prior, str) else None,
            "alpha_fitted": "alpha" in one.fitted,
            "score": score.mean,
            "se": score.error,
            "difference": gap.mean,
            "difference_se": gap.error,
            "on_plateau": able and not spec.is_informed and -gap.mean <= max(gap.error, NEGLIGIBLE),
            "first_score": first.mean,
            "first_se": first.error,
            "impossible": int(np.count_nonzero(np.isneginf(one.logs))),
        }

    def _agreements(self, labels: Mapping[Aggregation, str], split: PanelSplit) -> Iterator[Row]:
        """Compare what was predicted of every model with what it was, by every estimand."""
        best, informed = self.best(), [spec for spec in labels if spec.is_informed]
        chosen = {} if best.is_informed or not math.isfinite(self.score(best)) else {ADJUSTED: best}
        if informed:
            chosen[PANEL] = max(informed, key=self.score)
        first = split.choices(split.first)
        for number, (model, targets) in enumerate(self.named.items(), start=1):
            compared: dict[tuple[str, str | None], tuple[FloatArray, FloatArray]] = {
                (AGREEMENT, None): (shares(first, targets), shares(split.votes, targets))
            }
            for estimand, spec in chosen.items():
                panel = self.panels[spec]
                compared[estimand, labels[spec]] = panel.predicted[number], panel.confirmed[number]
            for (estimand, aggregation), (predicted, observed) in compared.items():
                row = split.compared(predicted, observed, "observed")
                ends = {"low": row["gap"] - Z * row["gap_se"], "high": row["gap"] + Z * row["gap_se"]}
                named = {"model": model, "estimand": estimand, "aggregation": aggregation, "n_cases": len(observed)}
                yield {**named, **row, **ends}


def golden_section(
    spec: Aggregation, name: str, score: Callable[[Aggregation], float], *, factor: float, steps: int = 6
) -> Aggregation:
    """Search a parameter on a logarithmic scale, within a factor of where it is; return the best that was found."""

    def at(place: float) -> tuple[float, Aggregation]:
        tried: Aggregation = replace(spec, **{name: rounded(math.exp(place))})  # type: ignore[type-var]
        return score(tried), tried

    middle = math.log(getattr(spec, name))
    low, high = middle - math.log(factor), middle + math.log(factor)
    inner = [at(high - GOLDEN * (high - low)), at(low + GOLDEN * (high - low))]
    found = [(score(spec), spec), *inner]
    for _ in range(steps - 2):
        if inner[0][0] >= inner[1][0]:
            high = low + GOLDEN * (high - low)
            inner = [at(high - GOLDEN * (high - low)), inner[0]]
        else:
            low = high - GOLDEN * (high - low)
            inner = [inner[1], at(low + GOLDEN * (high - low))]
        found.extend(inner)
    return max(found, key=lambda one: one[0])[1]


def rounded(value: float) -> float:
    """Keep three digits: more are not known.

    >>> rounded(1.23456), rounded(0.0123456)
    (1.23, 0.0123)
    """
    return float(f"{value:.3g}")


# Which aggregations are judged ---------------------------------------------------------------------------


def candidates(
    study: Study, *, informed: bool = False, thresholds: tuple[float, ...] | None = None
) -> tuple[Aggregation, ...]:
    """Return what is judged by default: aggregations by reliability and strength of the prior.

    Of rankings, Plackett-Luce under every prior, and inverse ranks with a prior mass of a half. Of single labels,
    counts; where annotators have names, how good each is. Where predictions inform the prior, this is judged beside the
    others, but estimates something of its own. Ratings are cut at the thresholds; annotators have shifts if they have
    names.

    >>> said = Study.from_counts([[2, 1]], ["a", "b"])
    >>> len(candidates(said)), len({type(one).__name__ for one in candidates(said)})
    (23, 2)
    """
    if study.kind == "ratings":
        plain = [NormalInverseGamma(thresholds, reliability=gamma) for gamma in RELIABILITIES]
        return (*plain, *(replace(spec, shifts=True) for spec in plain if study.annotator_names))
    specs: list[Aggregation] = [PlackettLuce(gamma) for gamma in RELIABILITIES]
    if (study.counted.mentions_per_ranking == 1).all():
        specs += [PlackettLuce(gamma, prior="observed") for gamma in SOME]
        specs += [Dirichlet(gamma, alpha="fitted") for gamma in SOME]
        specs += [Dirichlet(gamma, alpha=alpha) for alpha in (0.01, 0.1, 1.0) for gamma in SOME]
        if study.annotator_names and len(study.annotator_names) * study.n_conditions**2 <= MOST_CONFUSIONS:
            specs += [DawidSkene(0.25), DawidSkene(1.0), DawidSkene(target="votes")]
    else:
        specs += [PlackettLuce(gamma, alpha=alpha) for alpha in (0.5, 2.0, 4.0) for gamma in SOME]
        specs += [PlackettLuce(gamma, prior="observed") for gamma in RELIABILITIES]
        specs += [PlackettLuce(gamma, prior="observed", alpha=0.3) for gamma in SOME]
        specs += [PlackettLuce(gamma, prior="symmetric") for gamma in SOME]
        mass = 0.5 / study.n_conditions
        specs += [ProbabilisticInverseRank(gamma, alpha=mass) for gamma in (1.0, 3.0, 10.0, 30.0)]
        specs += [ProbabilisticInverseRank(one, alpha=mass, scale="annotator") for one in (0.25, 0.5, 1.0, 2.0)]
        specs.append(ProbabilisticInverseRank())
    kind = Dirichlet if study.unranked == "unobserved" else PlackettLuce
    return (*specs, *(kind(gamma, prior="informed") for gamma in SOME if informed))


def calibrated(
    reference: object, study: Study, models: Mapping[str, Predictions], chosen: Sequence[Aggregation], **how: Any
) -> Calibration:
    """Return what was found before, or let annotators be held out; ratings are cut where the chosen ones cut them.

    >>> from dissensus import simulate
    >>> said = simulate.ratings(n_cases=20, seed=1).ratings
    >>> calibrated("calibrated", said, {}, [NormalInverseGamma((0.5,))], draws=20).best.thresholds
    (0.5,)
    """
    if isinstance(reference, Calibration):
        return reference
    check_choice("reference", reference, ("calibrated",))
    cuts = [spec.thresholds for spec in chosen if isinstance(spec, NormalInverseGamma)]
    beside = candidates(study, thresholds=cuts[0]) if study.kind == "ratings" and cuts else None
    return calibrate(study, beside, models, **how)


def judged_specs(
    study: Study, aggregations: Sequence[Aggregation | str] | None, models: Mapping[str, Predictions]
) -> tuple[Aggregation, ...]:
    """Return the aggregations that are asked for, or the usual ones; refuse those that cannot be judged."""
    if aggregations is None:
        return candidates(study, informed=not why_no_panel(study, models))
    chosen = chosen_aggregations(aggregations)
    for spec in chosen:
        if spec.id == "given-draws" or spec.needs != study.kind or isinstance(spec, RatingPoint):
            raise DissensusError(
                "this aggregation cannot be judged by annotators who are held out",
                expected=f"one that can draw again, with a spread, from the {study.kind} of the others",
                got=repr(spec),
            )
        if spec.is_informed and not models:
            raise DissensusError(
                "the prior 'informed' needs models",
                expected="predictions, so that it can be fitted without the annotators who are held out",
            )
    if not chosen:
        raise DissensusError("there is nothing to judge", expected="at least one aggregation")
    return chosen


# Names and plain values ---------------------------------------------------------------------------------


def labels_of(specs: Sequence[Aggregation]) -> tuple[str, ...]:
    """Name aggregations: the id, the reliability, and the parameters in which those of one id differ.

    >>> from dissensus.aggregations import PlackettLuce
    >>> labels_of([PlackettLuce(3), PlackettLuce(1, prior="observed")])
    ('plackett-luce 3 (alpha=fitted, prior=frequency)', 'plackett-luce 1 (alpha=1, prior=observed)')
    >>> labels_of([PlackettLuce(), PlackettLuce(2, prior="informed")])
    ('plackett-luce 1', 'panel 2')
    """
    labels = []
    for spec, name in zip(specs, run_names(specs), strict=True):
        reliability = spec.parameters().get("reliability")
        labels.append(name if reliability is None else re.sub(r"(?= \(|$)", f" {reliability:g}", name, count=1))
    return tuple(labels)


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)


def _restored(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Put back what JSON cannot hold: scores of what has no chance are minus infinity, other numbers nan."""
    lost: Row = {"score": -math.inf, "first_score": -math.inf}
    lost |= dict.fromkeys(("aggregation", "reliability", "alpha", "prior"))
    return tuple(
        {name: lost.get(name, math.nan) if value is None else value for name, value in row.items()} for row in rows
    )


def restored_calibration(record: Mapping[str, Any], where: str = "") -> Calibration:
    """Make a calibration from its record."""
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise DissensusError(
            "this is not a calibration that can be read",
            expected=f"{FORMAT}, version {VERSION}",
            got=f"{record.get('format')}, version {record.get('version')}",
            where=where,
        )
    specs = tuple(restored_aggregation(one) for one in record["aggregations"])
    scores, split, models = (_restored(record[name]) for name in TABLES)
    return Calibration(specs, scores, split, models, record["counts"])


# Says what in a directory must not be lost; nothing if it holds a calibration and nothing else.
FILES = ("calibration.json", *(f"{name}.csv" for name in TABLES))
not_a_calibration = partial(foreign_content, file=FILES[0], form=FORMAT, known=FILES)


# In words ------------------------------------------------------------------------------------------------


def best(found: Calibration) -> str:
    """Name the best."""
    row = found.score_rows[found.best_place]
    score = "log density" if found.opinion == "rating" else "log score"
    return (
        f"best: {row['aggregation']}, with a mean {score} of {row['score']:.3f} a {found.opinion} "
        f"(standard error {row['se']:.3f}, clustered by case)"
    )


def plateau(found: Calibration) -> str:
    """Name those that are as good, or how much worse the next is."""
    others = [found.score_rows[i] for i in found._order[1:]]
    alike = [row["aggregation"] for row in others if row["on_plateau"]]
    if alike:
        more = f" and {len(alike) - MOST_NAMED} others" if len(alike) > MOST_NAMED else ""
        return f"as good, as far as these annotators can tell (the plateau): {', '.join(alike[:MOST_NAMED])}{more}"
    if not others:
        return "nothing was compared with it"
    gap = f"{-others[0]['difference']:.3f} (standard error {others[0]['difference_se']:.3f})"
    return f"no other comes within one standard error of it; the next, {others[0]['aggregation']}, is lower by {gap}"


def certainty(found: Calibration) -> list[str]:
    """Say how often high certainty was confirmed, and last whether held-out panels agreed as often as expected."""
    own = found._split_of(found.best)
    if not own:
        return []
    *bins, together = own
    gap, error = together["gap"], together["gap_se"]
    verdict = "so it is too sure" if gap > 0 else "so it is too cautious"
    if not math.isfinite(error) or abs(gap) <= FAR * error:
        verdict = "which fits"
    agreed = (
        f"held-out panels agreed with the leading condition in {together['confirmed']:.2f} of "
        f"{counted(together['n_cases'], 'case')}; {together['predicted']:.2f} was expected, {verdict}"
    )
    sure = [row for row in bins if row["low"] >= SURE]
    if not sure:
        return [agreed]
    weights = [row["n_cases"] for row in sure]
    stated, predicted, seen = (
        np.average([row[name] for row in sure], weights=weights) for name in ("stated", "predicted", "confirmed")
    )
    confirmed = (
        f"certainty of {SURE} or more (mean {stated:.2f}, {counted(sum(weights), 'case')}) was confirmed in {seen:.2f} "
        f"of held-out panels; {predicted:.2f} was expected"
    )
    return [confirmed, agreed]


def informed(found: Calibration) -> list[str]:
    """Say what predictions add where they inform the prior."""
    rows = [row for spec, row in zip(found.specs, found.score_rows, strict=True) if spec.is_informed]
    if not rows:
        return []
    top = max(rows, key=lambda row: float(row["score"]))
    word = "raises" if top["difference"] > 0 else "lowers"
    return [
        f"a prior that the models inform ({top['aggregation']}) {word} the score by {abs(top['difference']):.3f} "
        f"(standard error {top['difference_se']:.3f})"
    ]


def models(found: Calibration) -> list[str]:
    """Say of how many models the agreement with held-out panels was predicted within its interval."""
    said = []
    for estimand in dict.fromkeys(row["estimand"] for row in found.model_rows):
        rows = [row for row in found.model_rows if row["estimand"] == estimand]
        held = sum(row["low"] <= 0 <= row["high"] for row in rows)
        worst = max(rows, key=lambda row: abs(row["gap"]))
        said.append(
            f"{estimand}: predicted agreement with held-out annotators fits for {held} of "
            f"{counted(len(rows), 'model')} (90\xa0% intervals); furthest off is {worst['model']}, predicted "
            f"{worst['predicted']:.3f}, observed {worst['observed']:.3f}"
        )
    return said


# Opinions left out -------------------------------------------------------------------------------------


def judged_in_turn(
    folds: Sequence[Fold],
    spec: Aggregation,
    judge: Callable[[int, Aggregation], Callable[[Batch], Columns]],
    *,
    draws: int,
    seed: int,
    threads: int | None,
    advance: Callable[[int], None] | None = None,
    resolve: Resolver | None = None,
) -> tuple[list[Any], dict[str, float]]:
    """Draw from what each fold leaves, and judge the draws of the cases that it looks at.

    Parameters
    ----------
    judge
        Given the number of a fold and the aggregation that draws, returns what judges a batch: columns by case.

    Returns
    -------
    columns, fitted
        All columns, cases in the order of the folds; and what was fitted, on average over folds.
    """
    found: list[Columns] = []
    fitted: list[dict[str, float]] = []
    for number, fold in enumerate(folds):
        if len(fold.cases):
            ready = spec if resolve is None else resolve(spec, fold.left)
            drawn = ready.sample(fold.left, draws=draws, seed=seed, threads=threads).select(fold.case_names)
            fitted.append(dict(drawn.fitted))
            for columns in drawn.map(judge(number, ready)):
                found.append(columns)
                if advance is not None:
                    advance(columns[0].shape[-1])
    means = {name: float(np.mean([one[name] for one in fitted])) for name in fitted[0]}
    return [np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True)], means


# Who can be left out ------------------------------------------------------------------------------------


def check_some_remain(study: Study) -> None:
    """Refuse a study in which nobody can be left out, and say what follows."""
    if not remains(study).any():
        raise DissensusError(
            "no case has opinions of two annotators, so none can be held out to judge by",
            expected="at least some cases with two opinions or more",
            got=f"{study.n_cases} cases with at most one annotator each",
            advice="how far these annotators can be trusted is then not known from this study: whatever is computed "
            "rests on the reliability that is assumed, so evaluate at several (plackett-luce:1,3,10) and report the "
            "range, or ask a second annotator about some of the cases",
        )


def without(study: Study, opinions: IntArray) -> Fold:
    """Leave one annotator of some cases out: one vote of a nameless opinion, all that one with a name said.

    At most one opinion of each case is given, in the order of cases.
    """
    votes, seats = study.votes.copy(), seats_of(study)
    votes[opinions] -= 1
    named = opinions[study.annotators[opinions] != ANONYMOUS]
    votes[np.isin(seats, seats[named])] = 0
    return Fold(study, votes, study.panel.case_of_opinion[opinions])


def first_half(study: Study, cases: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw the annotators of the first half, the larger one, of some cases: votes per opinion, shape (n_opinions,)."""
    is_cut = np.isin(study.panel.case_of_opinion, cases)
    opinion = np.repeat(np.arange(study.n_opinions), np.where(is_cut, study.votes, 0))
    anonymous = study.annotators[opinion] == ANONYMOUS
    seats = np.where(anonymous, -1 - np.arange(len(opinion)), seats_of(study)[opinion])
    _, first, seat = np.unique(seats, return_index=True, return_inverse=True)
    case, is_first = study.panel.case_of_opinion[opinion[first]], np.zeros(len(first), dtype=np.bool_)
    order = np.lexsort((rng.random(len(first)), case))
    sizes = np.bincount(case, minlength=study.n_cases)[case[order]]
    is_first[order] = places_within(case[order]) < (sizes + 1) // 2
    return np.where(is_cut, np.bincount(opinion[is_first[seat]], minlength=study.n_opinions), study.votes)


def places_within(rows: IntArray) -> IntArray:
    """Count the elements of each row from zero; rows are ascending.

    >>> places_within(np.array([0, 0, 2, 2, 2]))
    array([0, 1, 0, 1, 2])
    """
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


# Opinions left out in turn ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Say which opinions are left out, and in which round.

    Attributes
    ----------
    study
        The opinions that count.
    opinions : (n_pairs,)
        Positions of the opinions that are left out, ascending.
    weights : (n_pairs,)
        How many annotators each stands for.
    rounds : (n_pairs,)
        In which round it is left out.

    Examples
    --------
    >>> said = Study.from_counts([[2, 1, 0], [0, 0, 1]], ["a", "b", "c"])
    >>> pairs = HeldOut.of(said, max_pairs=10, seed=0)
    >>> pairs.opinions, pairs.weights
    (array([0, 1]), array([2., 1.]))
    """

    study: Study
    opinions: IntArray
    weights: FloatArray
    rounds: IntArray

    @staticmethod
    def of(study: Study, *, max_pairs: int, seed: int) -> HeldOut:
        """Choose the opinions: all, or those of cases taken at random until there are enough, at least one."""
        said = study.counted
        check_some_remain(said)
        can_go = remains(said)
        rng = np.random.default_rng([seed, 1])
        case, order = said.panel.case_of_opinion, rng.permutation(said.n_opinions)
        order = order[can_go[order]]
        order = order[np.argsort(case[order], kind="stable")]
        place = places_within(case[order])
        order, place = order[place < MOST_PER_CASE], place[place < MOST_PER_CASE]
        cases = rng.permutation(said.n_cases)
        counts = np.bincount(case[order], minlength=said.n_cases)[cases]
        enough = cases[(np.cumsum(counts) <= max_pairs) | (np.cumsum(counts) == counts)]
        kept = np.isin(case[order], enough)
        chosen, place = order[kept], place[kept]
        part = rng.integers(PARTS, size=said.n_cases)[case[chosen]]
        _, rounds = np.unique(place * PARTS + part, return_inverse=True)
        back = np.argsort(chosen)
        chosen = chosen[back]
        # those of a case that are chosen stand for all of its annotators together
        votes = said.votes.astype(np.float64)
        everyone = weighted_counts(case, np.where(can_go, votes, 0.0), said.n_cases)
        some = weighted_counts(case[chosen], votes[chosen], said.n_cases)
        share = np.divide(everyone, some, out=np.zeros_like(some), where=some > 0) * said.case_weights
        return HeldOut(said, chosen, votes[chosen] * share[case[chosen]], rounds[back].astype(np.int64))

    @property
    def n_pairs(self) -> int:
        """Number of opinions that are left out."""
        return len(self.opinions)

    @cached_property
    def cases(self) -> IntArray:
        """Position of the case of each pair, shape (n_pairs,)."""
        return np.asarray(self.study.panel.case_of_opinion[self.opinions])

    @cached_property
    def clusters(self) -> IntArray:
        """Number of the case of each pair, or of its group where cases have groups, shape (n_pairs,)."""
        return self.study.panel.clusters[self.cases]

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """What is left in every round."""
        return tuple(without(self.study, self.opinions[self.rounds == one]) for one in np.unique(self.rounds))

    def average(self, values: FloatArray) -> Average:
        """Average values over pairs, as often as each counts; those of a cluster depend on each other."""
        return clustered(values, self.weights, self.clusters)

    def log_scores(self, spec: Aggregation, **how: Any) -> Scored:
        """Return the log-probability of each left-out ranking and of its first block, and what was fitted on average.

        The rankings themselves count once, at power one, whatever their weight. Of ratings it is the log density, of
        what they are above the shift of their annotator where shifts are estimated from the others. ``how`` is what
        :func:`judged_in_turn` takes.
        """
        columns, fitted = judged_in_turn(self.folds, spec, self._judge, **how)
        back = np.argsort(np.argsort(self.rounds, kind="stable"))
        return Scored(columns[0][back], columns[1][back], fitted)

    def _judge(self, number: int, spec: Aggregation) -> Callable[[Batch], Columns]:
        """Return what judges the draws of a batch by the opinions that were left out of it in a round."""
        fold, study = self.folds[number], self.study
        said = dict(zip(fold.case_names, self.opinions[self.rounds == number].tolist(), strict=True))
        if study.kind != "ratings":
            return partial(judged, study=study, said=said)
        has_shifts = isinstance(spec, NormalInverseGamma) and spec.shifts
        shifts = estimated_shifts(fold.left.opinions).values if has_shifts else np.zeros(0)
        own = np.append(np.resize(shifts, len(study.annotator_names)), 0.0)[study.annotators]
        return partial(judged_ratings, scores=study.scores - own, said=said)


def judged_ratings(batch: Batch, scores: FloatArray, said: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return the log density of the rating that was left out of every case, twice: a rating has no first choice.

    It is the mean over draws of the density of their normal distributions.
    """
    from scipy.special import logsumexp

    assert batch.numbers is not None
    left_out = scores[[said[name] for name in batch.case_names]]
    mean, deviation = np.maximum(batch.numbers, [[[-np.inf, 1e-300]]]).transpose(2, 0, 1)
    logs = -0.5 * ((left_out[:, None] - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    found = np.asarray(logsumexp(logs, axis=1) - np.log(batch.n_draws))
    return found, found


def judged(batch: Batch, study: Study, said: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return how likely the draws of every case make the opinion that was left out of it, and its first block."""
    from dissensus.kernels.predictive import LeftOut, log_predictive

    opinions = np.array([said[name] for name in batch.case_names], dtype=np.int64)
    block_offsets, blocks = take_rows(study.block_offsets, opinions)
    mention_offsets, mentions = take_rows(study.code_offsets, blocks)
    codes, case = study.codes[mentions], row_of_each(mention_offsets[block_offsets])
    # where their conditions are among the draws of the case
    keys = batch.case_of_member * batch.n_conditions + batch.support
    place = np.minimum(np.searchsorted(keys, case * batch.n_conditions + codes), len(keys) - 1)
    is_known = keys[place] == case * batch.n_conditions + codes
    weights = np.ones(batch.n_conditions) if batch.rest_sums is None else np.diff(batch.rest_sums)
    own = weighted_counts(batch.case_of_member, batch.member_weights(), batch.n_cases)
    left_out = LeftOut(
        block_offsets,
        mention_offsets,
        np.where(is_known, place - batch.support_offsets[case], -1),
        np.where(is_known, 0.0, batch.rest_shapes[case] * weights[codes]),
        batch.rest_shapes * np.maximum(batch.total_weight - own, 0.0),
    )
    return log_predictive(batch.layout(), batch.values, left_out, study.unranked == "below")


# Panels cut in two --------------------------------------------------------------------------------------


class Expected(NamedTuple):
    """What the first half of each panel lets expect, and what the second half said.

    Attributes
    ----------
    stated : (n_cases,)
        Certainty of the condition that the first half puts first.
    predicted : (1 + n_models, n_cases)
        Chance that it wins in a panel as large as the second half, and the same for what each model put first.
    confirmed : (1 + n_models, n_cases)
        Whether it won; ties share.
    """

    stated: FloatArray
    predicted: FloatArray
    confirmed: FloatArray


@dataclass(frozen=True, eq=False)
class PanelSplit:
    """Say which annotators are on which side.

    Attributes
    ----------
    study
        The opinions that count.
    cases : (n_cases,)
        The cases whose panels are cut, ascending.
    first : (n_opinions,)
        How many of the annotators behind each opinion are in the first half.
    parts : (n_cases,)
        Cases are cut in turn, part by part; the others keep their panels, and others are learned from.

    Examples
    --------
    >>> said = Study.from_counts([[2, 2, 0], [0, 0, 1]], ["a", "b", "c"])
    >>> split = PanelSplit.of(said, max_cases=10, seed=0)
    >>> split.cases, int(split.first[:2].sum())
    (array([0]), 2)
    """

    study: Study
    cases: IntArray
    first: IntArray
    parts: IntArray

    @staticmethod
    def of(study: Study, *, max_cases: int, seed: int) -> PanelSplit:
        """Cut the panels of all cases with two annotators or more, or of as many as wanted, at random."""
        said, rng = study.counted, np.random.default_rng([seed, 2])
        several = np.unique(said.panel.case_of_opinion[remains(said)])
        cases = np.sort(rng.permutation(several)[:max_cases])
        return PanelSplit(said, cases, first_half(said, cases, rng), rng.integers(PARTS, size=len(cases)))

    @cached_property
    def second(self) -> IntArray:
        """How many of the annotators behind each opinion are in the second half, shape (n_opinions,)."""
        is_cut = np.isin(self.study.panel.case_of_opinion, self.cases)
        return np.where(is_cut, self.study.votes - self.first, 0)

    @cached_property
    def clusters(self) -> IntArray:
        """Number of each case, or of its group, shape (n_cases,)."""
        return self.study.panel.clusters[self.cases]

    @property
    def case_names(self) -> list[str]:
        """Names of the cases whose panels are cut."""
        return [self.study.case_names[case] for case in self.cases]

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """For every part, the first halves of its panels, and the whole panels of the others."""
        study, case = self.study, self.study.panel.case_of_opinion
        parts = [self.cases[self.parts == part] for part in range(PARTS)]
        return tuple(Fold(study, np.where(np.isin(case, own), self.first, study.votes), own) for own in parts)

    @cached_property
    def votes(self) -> Matrix:
        """First choices of the second half, shape (n_cases, K); a tied block shares one vote."""
        return self.choices(self.second)

    def choices(self, votes: IntArray) -> Matrix:
        """Count the first choices of those who stay, shape (n_cases, K)."""
        return Table.of(Fold(self.study, votes, self.cases).left).by_value[self.cases]

    def average(self, values: FloatArray, chosen: BoolArray | slice = slice(None)) -> Average:
        """Average values over cases, or over some of them, by weight; groups of cases depend on each other."""
        weights = self.study.case_weights[self.cases]
        return clustered(values[chosen], weights[chosen], self.clusters[chosen])

    def compared(
        self, predicted: FloatArray, seen: FloatArray, word: str, chosen: BoolArray | slice = slice(None)
    ) -> dict[str, float]:
        """Compare what was predicted of cases with what was seen, which is called by a word."""
        of_seen, gap = self.average(seen, chosen), self.average(predicted - seen, chosen)
        means = {"predicted": self.average(predicted, chosen).mean, word: of_seen.mean}
        return {**means, f"{word}_se": of_seen.error, "gap": gap.mean, "gap_se": gap.error}

    def wins(self, targets: IntArray) -> FloatArray:
        """Return whether one condition per case won the second half, shape (n_cases,); ties share."""
        votes, best = self.votes.tocoo(), self.votes.max(axis=1).toarray().ravel()
        n_best = np.bincount(votes.row[votes.data > best[votes.row] - EVEN], minlength=len(best))
        own = of_targets(self.votes, targets)
        return np.where((targets >= 0) & (own > best - EVEN), 1.0 / n_best, 0.0)

    def expected(self, spec: Aggregation, models: Mapping[str, IntArray], **how: Any) -> Expected:
        """Draw from the first halves; ``models`` gives what each of them puts first on the cases, -1 for nothing.

        ``how`` is what :func:`judged_in_turn` takes.
        """
        named = np.array([*models.values()], dtype=np.int64).reshape(len(models), len(self.cases))
        place = {name: i for i, name in enumerate(self.case_names)}
        foreseen = partial(self._foreseen, place=place, named=named)
        (own, stated, wanted, predicted), _ = judged_in_turn(self.folds, spec, lambda _, __: foreseen, **how)
        back = np.argsort(own)
        return Expected(stated[back], predicted[:, back], np.array([self.wins(row) for row in wanted[:, back]]))

    def _foreseen(self, batch: Batch, place: Mapping[str, int], named: IntArray) -> Columns:
        """Find the cases of a batch, their certainty, who leads and what models name, and the chances of all to win."""
        from dissensus.kernels.predictive import Panels, winning_chances

        own = np.array([place[name] for name in batch.case_names], dtype=np.int64)
        stated, leading = leading_conditions(batch)
        wanted = np.vstack([leading, named[:, own]])
        # the second halves of these cases take their seats
        offsets, opinions = take_rows(self.study.panel.opinion_offsets, self.cases[own])
        sizes, votes = np.diff(self.study.code_offsets)[self.study.block_offsets[opinions]], self.second[opinions]
        seats = weighted_counts(row_of_each(offsets), votes.astype(float), len(own)).astype(np.int64)
        panels = Panels(
            offsets_from_lengths(seats),
            np.repeat(sizes, votes),
            np.arange(len(own) + 1) * len(wanted),
            np.ascontiguousarray(wanted.T).ravel(),
            case_keys(batch.case_names),
        )
        chances = winning_chances(batch.layout(), batch.values, panels)
        return own, stated, wanted, np.where(wanted >= 0, chances.reshape(len(own), -1).T, 0.0)


def leading_conditions(batch: Batch) -> tuple[FloatArray, IntArray]:
    """Return the certainty of each case and the code of the condition that is most often on top, twice (n_cases,)."""
    told = batch.identified(1)
    case = row_of_each(told.support_offsets)
    on_top = told.top_shares()[np.arange(len(case)) + case]
    first = first_of_most(on_top, told.support_offsets)
    return on_top[first], told.support[first]


def of_targets(votes: Matrix, targets: IntArray) -> FloatArray:
    """Return the votes of one condition per case, none for -1."""
    return np.where(targets >= 0, votes[np.arange(len(targets)), np.maximum(targets, 0)], 0.0)


def shares(said: Matrix, targets: IntArray) -> FloatArray:
    """Return the share of votes of one condition per case, shape (n_cases,); -1 stands for none."""
    return of_targets(said, targets) / np.asarray(said.sum(axis=1), dtype=np.float64).ravel()


def first_choices(model: Predictions) -> IntArray:
    """Return the code that a model lists first on each case, -1 where it lists nothing; of ties the first."""
    return np.append(model.codes, -1)[np.where(model.entries_per_case > 0, model.offsets[:-1], -1)]


# Tables -------------------------------------------------------------------------------------------------


def bins_of(found: Expected, split: PanelSplit) -> list[dict[str, Any]]:
    """Compare stated, predicted and confirmed in bins of certainty, and in all cases together."""
    number = np.minimum(np.searchsorted(EDGES, found.stated + EVEN, side="right") - 1, len(EDGES) - 2)
    limits = [*((number == i, EDGES[i], EDGES[i + 1]) for i in range(len(EDGES) - 1)), (number >= 0, 0.0, 1.0)]
    return [
        {
            "low": low,
            "high": high,
            "n_cases": int(np.count_nonzero(chosen)),
            "stated": split.average(found.stated, chosen).mean,
            **split.compared(found.predicted[0], found.confirmed[0], "confirmed", chosen),
        }
        for chosen, low, high in limits
        if chosen.any()
    ]


def calibration_error(rows: Sequence[Mapping[str, Any]]) -> float:
    """Average the distance between predicted and confirmed over the bins, by cases; the last row is all together.

    >>> calibration_error([{"n_cases": 1, "gap": 0.1}, {"n_cases": 3, "gap": -0.1}, {"n_cases": 4, "gap": -0.05}])
    0.1
    """
    bins = rows[:-1]
    return float(np.average([abs(row["gap"]) for row in bins], weights=[row["n_cases"] for row in bins]))
