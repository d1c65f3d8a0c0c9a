"""How much to trust the annotators: opinions that were held out decide."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dissensus.aggregations.annotator_models import DawidSkene
from dissensus.aggregations.base import Aggregation, restored_aggregation
from dissensus.aggregations.dirichlet import Dirichlet, ProbabilisticInverseRank
from dissensus.aggregations.normal_inverse_gamma import NormalInverseGamma
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import RatingPoint
from dissensus.core.aliases import FloatArray, IntArray, Path, Readable
from dissensus.core.checks import check_choice, check_count, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.core.output import directory_written_whole, expect, foreign_entry
from dissensus.core.ragged import Average, clustered
from dissensus.core.screen import Screen, Shown, plain_json
from dissensus.core.value import Value
from dissensus.evaluation.assembly import run_names
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT, PANEL
from dissensus.evaluation.folds import Expected, HeldOut, PanelSplit, bins_of, calibration_error, first_choices
from dissensus.evaluation.plan import informed_by, prior_for
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.request import chosen_aggregations, common_cases, models_of, why_no_panel
from dissensus.evaluation.words import counted
from dissensus.predictions.alignment import aligned_models
from dissensus.predictions.lists import Predictions
from dissensus.study.reading import as_study
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

# What ``calibration.json`` says it is, and the version of its schema.
FORMAT, VERSION = "dissensus calibration", 1

TABLES = ("scores", "panel_split", "models")

# Draws per case: measured to be enough for a score to two digits.
DRAWS = 400

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
        scores = [-math.inf if spec.is_informed else row["score"] for spec, row in self._rows]
        return sorted(np.flatnonzero(np.isfinite(scores)).tolist(), key=lambda i: -float(scores[i]))

    @property
    def _rows(self) -> list[tuple[Aggregation, Row]]:
        return list(zip(self.specs, self.score_rows, strict=True))

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
        label = self.labels[self.specs.index(aggregation)]
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
    draws: int = DRAWS,
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
    cut = [] if split is None else split.case_names
    named = {name: first_choices(model, cut) for name, model in models.items() if cut}
    judge = Judge(pairs, split, models, named, {"draws": draws, "seed": seed, "threads": threads, "advance": advance})
    specs = judged_specs(said, aggregations, models)
    expect(advance, "holding annotators out", len(specs) * (pairs.n_pairs + len(cut)))
    for spec in specs:
        judge.score(spec)
    if refine:
        judge.refine()
    return judge.calibration()


# Judging -------------------------------------------------------------------------------------------------


class Scored(NamedTuple):
    """What one aggregation came to: logarithms of scores by pair, of first blocks, what was fitted, and cut panels."""

    spec: Aggregation
    logs: FloatArray
    firsts: FloatArray
    fitted: Mapping[str, float]
    panel: Expected | None


@dataclass(eq=False)
class Judge:
    """Score aggregations one after the other, and remember them.

    ``named`` is what every model puts first on the cases whose panels are cut, -1 for nothing; ``priors`` are fitted to
    what is left in studies, which are few.
    """

    pairs: HeldOut
    split: PanelSplit | None
    models: Mapping[str, Predictions]
    named: Mapping[str, IntArray]
    how: dict[str, Any]
    scored: list[Scored] = field(default_factory=list)
    priors: dict[int, InformedPrior] = field(default_factory=dict)

    def score(self, spec: Aggregation) -> float:
        """Return the mean log-probability of held-out rankings; find it if it is not known."""
        known = next((one for one in self.scored if one.spec == spec), None)
        if known is None:
            how = {**self.how, "resolve": self._resolved}
            logs, firsts, fitted = self.pairs.log_scores(spec, **how)
            panel = None if self.split is None else self.split.expected(spec, self.named, **how)
            known = Scored(spec, logs, firsts, fitted, panel)
            self.scored.append(known)
        return self._average(known.logs).mean

    def _average(self, values: FloatArray) -> Average:
        return clustered(values, self.pairs.weights, self.pairs.clusters)

    def _resolved(self, spec: Aggregation, study: Study) -> Aggregation:
        """Fit a prior that models inform to what is left in a study, which is one of few."""
        if not spec.is_informed:
            return spec
        if id(study) not in self.priors:
            start = next(iter(self.priors.values()), None)
            self.priors[id(study)] = prior_for([spec], study, self.models, start)
        return informed_by(spec, self.priors[id(study)])

    def best(self) -> Scored:
        """Return the one with the highest score, informed ones apart."""
        means = [-math.inf if one.spec.is_informed else self._average(one.logs).mean for one in self.scored]
        return self.scored[int(np.argmax(means))]

    def refine(self) -> None:
        """Score finer steps of reliability around the best, and then of the strength of its prior."""
        best = self.best()
        spec = best.spec
        has_steps = not spec.is_informed and getattr(spec, "reliability", None) is not None
        if not has_steps or not math.isfinite(self._average(best.logs).mean):
            return
        spec = golden_section(spec, "reliability", self.score, factor=2.0)
        if isinstance(getattr(spec, "alpha", None), str) and "alpha" in best.fitted:
            spec = replace(spec, alpha=rounded(best.fitted["alpha"]))  # type: ignore[type-var]  # specs are dataclasses
        if isinstance(getattr(spec, "alpha", None), float) and spec.alpha > 0:  # type: ignore[attr-defined]
            golden_section(spec, "alpha", self.score, factor=4.0)

    def calibration(self) -> Calibration:
        """Put everything into tables."""
        split, best, specs = self.split, self.best(), tuple(one.spec for one in self.scored)
        scores: list[Row] = []
        bins: list[Row] = []
        for label, one in zip(labels_of(specs), self.scored, strict=True):
            own = [] if split is None or one.panel is None else bins_of(one.panel, split)
            bins += [{"aggregation": label, **row} for row in own]
            confirmed = {name: own[-1][name] if own else math.nan for name in ("stated", "predicted", "confirmed")}
            error = {"calibration_error": calibration_error(own) if own else math.nan}
            scores.append({"aggregation": label, **self._compared(one, best), **confirmed, **error})
        counts = {
            "pairs": self.pairs.n_pairs,
            "cases": len(np.unique(self.pairs.cases)),
            "clusters": len(np.unique(self.pairs.clusters)),
            "panels": 0 if split is None else len(split.cases),
            "draws": self.how["draws"],
            "seed": self.how["seed"],
        }
        found = Calibration(specs, tuple(scores), tuple(bins), (), counts)
        return found if split is None else replace(found, model_rows=tuple(self._agreements(found, split)))

    def _compared(self, one: Scored, best: Scored) -> Row:
        """Average the scores of an aggregation, and their differences to the best, behind its parameters."""
        parameters = one.spec.parameters()
        alpha, prior = one.fitted.get("alpha", parameters.get("alpha")), parameters.get("prior")
        able = bool(np.isfinite(one.logs).all() and np.isfinite(best.logs).all())
        score, first = self._average(one.logs), self._average(one.firsts)
        gap = self._average(one.logs - best.logs if able else np.full(len(one.logs), np.nan))
        return {
            "reliability": parameters.get("reliability"),
            "alpha": float(alpha) if isinstance(alpha, int | float) else None,
            "prior": prior if isinstance(prior, str) else None,
            "alpha_fitted": "alpha" in one.fitted,
            "score": score.mean,
            "se": score.error,
            "difference": gap.mean,
            "difference_se": gap.error,
            "on_plateau": able and not one.spec.is_informed and -gap.mean <= max(gap.error, NEGLIGIBLE),
            "first_score": first.mean,
            "first_se": first.error,
            "impossible": int(np.count_nonzero(np.isneginf(one.logs))),
        }

    def _agreements(self, found: Calibration, split: PanelSplit) -> Iterator[Row]:
        """Compare what was predicted of every model with what it was, by every estimand."""
        informed = [i for i, spec in enumerate(found.specs) if spec.is_informed]
        chosen = {ADJUSTED: found.best_place} if found._order else {}
        if informed:
            chosen[PANEL] = max(informed, key=lambda i: float(found.score_rows[i]["score"]))
        first = split.choices(split.first)
        for number, (model, targets) in enumerate(self.named.items(), start=1):
            compared: dict[tuple[str, str | None], tuple[FloatArray, FloatArray]] = {
                (AGREEMENT, None): (split.shares(first, targets), split.shares(split.votes, targets))
            }
            for estimand, place in chosen.items():
                panel: Any = self.scored[place].panel  # as panels are cut
                compared[estimand, found.labels[place]] = panel.predicted[number], panel.confirmed[number]
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
    said = require_kind(study, "rankings", "calibrate")
    specs: list[Aggregation] = [PlackettLuce(gamma) for gamma in RELIABILITIES]
    if (said.counted.mentions_per_ranking == 1).all():
        specs += [PlackettLuce(gamma, prior="observed") for gamma in SOME]
        specs += [Dirichlet(gamma, alpha="fitted") for gamma in SOME]
        specs += [Dirichlet(gamma, alpha=alpha) for alpha in (0.01, 0.1, 1.0) for gamma in SOME]
        if said.annotator_names and len(said.annotator_names) * said.n_conditions**2 <= MOST_CONFUSIONS:
            specs += [DawidSkene(0.25), DawidSkene(1.0), DawidSkene(target="votes")]
    else:
        specs += [PlackettLuce(gamma, alpha=alpha) for alpha in (0.5, 2.0, 4.0) for gamma in SOME]
        specs += [PlackettLuce(gamma, prior="observed") for gamma in RELIABILITIES]
        specs += [PlackettLuce(gamma, prior="observed", alpha=0.3) for gamma in SOME]
        specs += [PlackettLuce(gamma, prior="symmetric") for gamma in SOME]
        mass = 0.5 / said.n_conditions
        specs += [ProbabilisticInverseRank(gamma, alpha=mass) for gamma in (1.0, 3.0, 10.0, 30.0)]
        specs += [ProbabilisticInverseRank(one, alpha=mass, scale="annotator") for one in (0.25, 0.5, 1.0, 2.0)]
        specs.append(ProbabilisticInverseRank())
    kind = Dirichlet if said.unranked == "unobserved" else PlackettLuce
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
        informed = not why_no_panel(study, models)
        return candidates(study, informed=informed)
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


def not_a_calibration(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds a calibration and nothing else."""
    try:
        record = json.loads((place / "calibration.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return f"no calibration.json with the format {FORMAT!r}"
    return foreign_entry(place, ("calibration.json", *(f"{name}.csv" for name in TABLES)))


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
    """Say how often high certainty was confirmed, and whether held-out panels agreed as often as expected."""
    own = found._split_of(found.best)
    if not own:
        return []
    *bins, together = own
    sure = [row for row in bins if row["low"] >= SURE]
    if not sure:
        return [agreed(together)]
    weights = [row["n_cases"] for row in sure]
    stated, predicted, seen = (
        np.average([row[name] for row in sure], weights=weights) for name in ("stated", "predicted", "confirmed")
    )
    confirmed = (
        f"certainty of {SURE} or more (mean {stated:.2f}, {counted(sum(weights), 'case')}) was confirmed in {seen:.2f} "
        f"of held-out panels; {predicted:.2f} was expected"
    )
    return [confirmed, agreed(together)]


def agreed(together: Row) -> str:
    """Compare what was expected of held-out panels over all cases with what they said."""
    gap, error = together["gap"], together["gap_se"]
    if not math.isfinite(error) or abs(gap) <= FAR * error:
        verdict = "which fits"
    else:
        verdict = "so it is too sure" if gap > 0 else "so it is too cautious"
    return (
        f"held-out panels agreed with the leading condition in {together['confirmed']:.2f} of "
        f"{counted(together['n_cases'], 'case')}; {together['predicted']:.2f} was expected, {verdict}"
    )


def informed(found: Calibration) -> list[str]:
    """Say what predictions add where they inform the prior."""
    rows = [row for spec, row in found._rows if spec.is_informed]
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
