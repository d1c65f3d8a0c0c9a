"""Evaluate studies larger than memory: files in, a directory of results out.

The input is split by case; every piece is looked at once, so that what has to be learned from all cases is known, and
then evaluated by the very same functions as a study in memory; sums of pieces are added in the order of their names.
What was done before is found by the names of its files, and not done again.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.aggregations.case_prior import (
    LEARNING_CASES,
    CasePrior,
    PriorRecipe,
    Request,
    fitted_recipe,
    with_refits,
)
from dissensus.aggregations.priors import Lessons, ScoreRange, check_trained_on
from dissensus.aggregations.rating_prior import RatingPrior
from dissensus.certainty.categories import Categories
from dissensus.core.aliases import FloatArray, Path
from dissensus.core.bundle import bundled, restored
from dissensus.core.checks import check_choice, check_count, check_seed, checked
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import open_source
from dissensus.core.notes import Note
from dissensus.core.receipt import Receipt
from dissensus.core.versions import present_versions
from dissensus.draws import Plausibilities
from dissensus.evaluation import evaluator, request
from dissensus.evaluation.annotators import AnnotatorsAre, AnnotatorSpread
from dissensus.evaluation.calibration import Calibration, calibrate
from dissensus.evaluation.estimates import leading_runs
from dissensus.evaluation.expert_comparison.experts import Experts, experts_unless_incomparable
from dissensus.evaluation.labels import check_joined
from dissensus.evaluation.left_out import LeftOut
from dissensus.evaluation.left_out import Piece as Cases
from dissensus.evaluation.plan import common_conditions, informed_by, pickled, prior_for
from dissensus.evaluation.questions import Questions, cases_of_rows
from dissensus.evaluation.refits import known_prior
from dissensus.evaluation.results import Evaluation, Leads, PriorRecord
from dissensus.evaluation.store import REPORT, load, write_files
from dissensus.evaluation.sums import Sums
from dissensus.metrics.base import Metric
from dissensus.pieces import passes
from dissensus.pieces.inputs import STRATA, STUDY, TRUTH, Input, Partition, files_of, is_address, partitioned
from dissensus.pieces.passes import Learned, Settings, Survey, merged_receipts
from dissensus.pieces.piece import Piece, Reading, placed
from dissensus.pieces.run_directory import PIECES, TABLES, Manifest, RunDirectory, is_run, run_in
from dissensus.predictions.lists import Predictions
from dissensus.study.question import chosen_question, conditions_asked
from dissensus.workers import Work, worked

# Shows how far something is: what, how much of it in all, and of which unit.
Progress: TypeAlias = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]

# How many cases a piece has, about, unless it is said.
PIECE_CASES = 10_000

# How many cases are held by the result, to be looked at one by one.
SHOWN_CASES = 2000

# How many pieces are worked on at a time in this process, so that one is read and summed while one is drawn.
AT_ONCE = 2


def _ignored(*_: Any) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Watch:
    """What is told while an evaluation goes on; by default nothing.

    Attributes
    ----------
    progress
        Shows how far something is.
    say
        Takes a line of text.
    tell
        Takes what was understood of the files: of opinions, then of each model.
    beside
        Writes more files beside the results, such as a report.
    """

    progress: Progress = lambda *_: nullcontext(_ignored)
    say: Callable[[str], None] = _ignored
    tell: Callable[[Sequence[Receipt]], None] = _ignored
    beside: Callable[[Evaluation, FilePath], None] = _ignored


@checked
def evaluate_files(
    study: Path | Sequence[Path],
    predictions: Mapping[str, Path | Sequence[Path]],
    directory: Path,
    *,
    reading: Mapping[str, Any] | None = None,
    aggregations: Sequence[Aggregation | Plausibilities | str] | None = None,
    sweep: bool = False,
    metrics: Sequence[Metric | str] | None = None,
    primary: Metric | str | None = None,
    draws: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    categories: Categories | Path | None = None,
    strata: Path | Sequence[Path] | None = None,
    truth: Path | Sequence[Path] | None = None,
    level: float = 0.95,
    annotators: AnnotatorsAre | None = None,
    panel: bool | None = None,
    leads: Leads = "agreement",
    reference: Literal["calibrated"] | None = None,
    trained_on: Sequence[str] = (),
    margin: float | None = None,
    called: str = "annotator",
    shard_size: int = PIECE_CASES,
    resume: bool = False,
    learn_again: bool = False,
    overwrite: bool = False,
    executor: object | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Evaluate models on a study of any size, piece by piece, into a directory that a run can be resumed from.

    Parameters
    ----------
    study, predictions
        Parquet files, directories of them, patterns or addresses: of opinions, and by the name of every model.
    strata, truth
        Such files of labels of cases, and of what is known to be true: one answer per case, read like the opinions of
        one annotator. Each may be one CSV or TSV file as well.
    directory
        Where results go; tables by case are in its directories ``per_case`` and ``certainty``.
    reading
        Options of :func:`read` and :func:`read_predictions` by name, such as ``{"conditions": [...]}``.
    aggregations, sweep, metrics, primary, draws, seed, categories, level, annotators, panel, leads, reference
        As in :func:`evaluate`; categories may be a file.
    trained_on, margin, called
        As in :func:`evaluate`.
    threads
        Threads that draw in every process.
    shard_size
        About how many cases are evaluated at a time. It changes memory, speed, and the last digits of numbers.
    resume
        Go on with a run that was interrupted, or add the files that came since.
    learn_again
        With files that came since, learn again what is learned from all cases, such as how frequent conditions are; all
        pieces are then computed again. Otherwise what was learned before is kept.
    overwrite
        Replace earlier results.
    executor
        An executor of :mod:`concurrent.futures` or a client of :mod:`dask.distributed`; by default pieces are evaluated
        in this process.
    watch
        What is told while it goes on, and what is written beside the results.

    Returns
    -------
    Evaluation
        Tables over cases are about all of them; single cases are a sample.

    Examples
    --------
    >>> import polars as pl
    >>> from tempfile import TemporaryDirectory
    >>> said = pl.DataFrame({"case": ["x", "x", "y"], "annotator": ["A", "B", "A"], "condition": ["a", "b", "b"]})
    >>> scores = pl.DataFrame({"case": ["x", "y"], "a": [0.7, 0.2], "b": [0.3, 0.8]})
    >>> with TemporaryDirectory() as folder:
    ...     said.write_parquet(f"{folder}/said.parquet")
    ...     scores.write_parquet(f"{folder}/scores.parquet")
    ...     files = {"A": f"{folder}/scores.parquet"}
    ...     result = evaluate_files(f"{folder}/said.parquet", files, f"{folder}/run", aggregations=["majority-vote"])
    >>> result.n_cases, result.to_frame()["mean"].to_list()
    (2, [0.75, 0.75])
    """
    check_choice("leads", leads, get_args(Leads))
    check_choice("reference", "calibrated" if reference is None else reference, ("calibrated",))
    check_choice("annotators", "fixed" if annotators is None else annotators, get_args(AnnotatorsAre))
    given = reading or {}
    is_binary = "binary" if given.get("positive") else ""
    question = "findings" if given.get("format") == "checklist" else str(given.get("question") or is_binary)
    asked: dict[str, Any] = {
        "aggregations": request.chosen_aggregations(aggregations, question or "conditions", sweep=sweep),
        "metrics": None if metrics is None else request.listed_metrics(metrics),
        "primary": primary,
        "draws": draws,
        "seed": seed,
        "level": level,
        "annotators": annotators,
        "panel": panel,
        "leads": leads,
        "calibrated": reference is not None,
        "trained_on": list(trained_on),
        "margin": margin,
        "called": called,
        "categories": categories,
    }
    if primary is not None:
        request.listed_metrics([primary])
    check_trained_on(trained_on, predictions)
    check_count(draws=draws, shard_size=shard_size, threads=1 if threads is None else threads)
    check_asked(asked)
    files = {STUDY: study, **{f"model {i}": one for i, one in enumerate(predictions.values())}}
    files |= {name: one for name, one in ((STRATA, strata), (TRUTH, truth)) if one is not None}
    _refuse_inside(directory, [part for one in files.values() for part in files_of(one)])
    inputs = {name: Input.of(one, is_small=name in (STRATA, TRUTH)) for name, one in files.items()}
    places = {
        name: str(one) if isinstance(one, str | PathLike) else listing(list(map(str, one)))
        for name, one in files.items()
    }
    how = Reading.of(places, list(predictions), given)
    # that of the beginning holds, and counting cases takes a look at all of them
    goes_on = resume and is_run(directory)
    n_cases = 1 if goes_on else inputs[STUDY].n_distinct(how.case_column(STUDY, inputs[STUDY]))
    options = {**recorded(asked), "reading": how.record(), "versions": present_versions()}
    marks = {name: one.fingerprints() for name, one in inputs.items()}
    manifest = Manifest([marks], options, n_buckets=max(1, -(-n_cases // shard_size)))
    watch = watch or Watch()
    with run_in(directory, manifest, resume=resume, overwrite=overwrite) as run:
        if run.is_finished and not learn_again:
            found = load(run.path)
            watch.say("the run is finished, and nothing was added: these are its results")
            if not (run.path / REPORT).is_file():
                watch.beside(found, run.path)
            return found
        run.reopen()
        return FileEvaluation(run, how, asked, threads, executor, learn_again, watch).result()


def check_asked(asked: Mapping[str, Any]) -> None:
    """Refuse what cannot be evaluated, or not piece by piece, before any file is looked at."""
    if not asked["aggregations"]:
        raise DissensusError("there is nothing to evaluate", expected="at least one aggregation")
    check_seed(asked["seed"])
    request.check_level(asked["level"])
    for spec in asked["aggregations"]:
        reason = spec.needs_whole
        if reason:
            raise DissensusError(
                f"{spec.id} cannot be evaluated piece by piece",
                got=reason,
                advice="evaluate it on a study that fits into memory, such as a sample of the cases in one file",
            )


def _refuse_inside(directory: Path, files: Sequence[Path]) -> None:
    """Refuse to write below a directory that is an input: tables of the run would be taken for files of it."""
    for part in files:
        place = FilePath(str(part).partition("**")[0]).resolve()
        if not is_address(part) and place.is_dir() and FilePath(directory).resolve().is_relative_to(place):
            raise FormatError(
                "the output directory is an input or inside of one",
                got=str(directory),
                where=str(part),
                advice="choose another one: what is written would be read as input",
            )


def recorded(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked as plain values."""
    metrics, categories = asked["metrics"], asked["categories"]
    told = categories
    if isinstance(categories, Categories):
        told = digest(bundled([categories.conditions, categories.names, categories.codes]))
    elif categories is not None:
        told = f"sha256:{open_source(categories).sha256}"
    return {
        **asked,
        "aggregations": [spec.record() for spec in asked["aggregations"]],
        "metrics": metrics and [one if isinstance(one, str) else one.record() for one in metrics],
        "primary": primary.record() if isinstance(primary := asked["primary"], Metric) else primary,
        "categories": told,
    }


def digest(*parts: bytes | str) -> str:
    """Hash texts and bytes, one after the other.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    return hashlib.sha256(bundled(parts)).hexdigest()


@dataclass(frozen=True, eq=False)
class FileEvaluation:
    """Go through an evaluation, step by step; what was done before is not done again."""

    run: RunDirectory
    reading: Reading
    asked: Mapping[str, Any]
    threads: int | None
    executor: object | None
    learn_again: bool
    watch: Watch

    def result(self) -> Evaluation:
        """Evaluate everything, and write the results."""
        survey = self.survey
        self.watch.tell(self.receipts)
        settings, reason, trust = self._settled()
        shown = self.sample.select(list(survey.annotated[:SHOWN_CASES]))
        rows, held = shown.questions, settings.tally(shown.questions, shown.truth)
        leading = leading_runs(settings.specs, settings.leads, None if trust is None else trust.best)
        settings = replace(settings, reference=leading[1])
        keys = self._evaluated(settings)
        finished, cases = ([self.run.piece(key, kind) for key in keys.values()] for kind in ("sums", "cases"))
        sums = passes.added(finished)
        found = settings.assembled(
            rows,
            sums,
            held=held,
            pieces=passes.cases_in(cases),
            excluded=tuple(sorted(sums[passes.EXCLUDED].tolist())[: passes.MOST_NAMED]),
            n_excluded=int(sums["excluded",]),
            n_annotators=None if survey.annotators is None else len(survey.annotators),
            moved=self._left_out(settings, sorted({*leading})),
            prior=prior_record_of(settings.learned.recipes, reason) if rows.models else None,
            calibration=trust,
            trained_on=tuple(self.asked["trained_on"]),
            experts=self._experts(settings),
            disputed=self._disputed(settings, sums),
        )
        found = self._described(found, shown)

        def write(place: FilePath) -> None:
            write_files(found, place)
            self.watch.beside(found, place)

        tables = [self.run.table(name, piece) for name in TABLES for piece in keys]
        self.run.publish(write, [*tables, *finished, *cases, *self._looks.values(), self._lessons])
        return found

    # Pieces ----------------------------------------------------------------------------------------------

    @cached_property
    def pieces(self) -> Partition:
        """The input, split by case; refused if a model lacks cases that it may not lack."""
        manifest, place = self.run.manifest, self.run.path / PIECES
        names = manifest.generations[0]
        generations = {name: [Input(tuple(one.get(name, ()))) for one in manifest.generations] for name in names}
        columns = {name: self.reading.case_column(name, own[0]) for name, own in generations.items()}
        total = sum(one.n_rows() for own in generations.values() for one in own)
        key = digest(json.dumps([manifest.generations, manifest.n_buckets, columns]))
        how: dict[str, Any] = {"n_buckets": manifest.n_buckets}
        with self.watch.progress("splitting by case", total, "rows") as how["advance"]:
            return partitioned(generations, columns, place / f"input-{key}", **how)

    def _worked(
        self, work: Work, settings: bytes, what: str, sizes: Mapping[str, int], unit: str
    ) -> Iterator[tuple[str, bytes]]:
        """Do work on some pieces of these sizes, wherever it is done; results come in any order."""
        payloads = {piece: partial(self.pieces.payload, piece) for piece in sizes}
        place: Any = ThreadPoolExecutor(AT_ONCE) if self.executor is None else nullcontext(self.executor)
        with self.watch.progress(what, sum(sizes.values()), unit) as advance, place as executor:
            try:
                for piece, result in worked(executor, work, settings, payloads):
                    yield piece, result
                    advance(sizes[piece])
            except DissensusError as error:  # the user's file says more than the name of the piece
                piece, _, where = error.where.partition(", ")
                if piece.startswith("piece ") and where:
                    error.where = where
                    raise error.at("") from error
                raise

    # What is known of all cases --------------------------------------------------------------------------

    @cached_property
    def _looks(self) -> dict[str, FilePath]:
        """Where it is kept what is known of every piece."""
        said = json.dumps([self.reading.record(), self.run.manifest.options["versions"]])
        return {piece: self.run.piece(digest(rows, said), "survey") for piece, rows in self.pieces.digests.items()}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many cases every piece has."""
        return {}

    @cached_property
    def survey(self) -> Survey:
        """What is known of all pieces together, with the conditions in the order of what was asked."""
        for number in range(len(self.reading.models)):  # cases that a model lacks are told before any piece is read
            self._lacks(number)
        left = dict.fromkeys((piece for piece, file in self._looks.items() if not file.exists()), 1)
        for piece, result in self._worked(
            passes.survey_piece, pickled(self.reading), "looking at the files", left, "pieces"
        ):
            self.run.write(self._looks[piece], result)
        found: Survey | None = None
        for piece, file in self._looks.items():
            one: Survey | None = restored(file.read_bytes(), passes.CLASSES)
            self.sizes[piece] = 0 if one is None else one.n_cases
            found = found + one if found and one else found or one
        if found is None:
            raise DissensusError("the models have no case in common", got=f"{len(self.reading.models)} models")
        how = self.reading.options
        if not found.conditions:
            return found
        question = chosen_question(how.question, how.positive) or "conditions"
        with placed(self.reading.places[STUDY]):
            names = conditions_asked(question, found.conditions, how.positive, are_ordered=how.conditions is not None)
        return replace(found, conditions=names)

    def _lacks(self, number: int) -> tuple[Note, ...]:
        """Say which cases the study or a model lacks; refuse it unless it is allowed."""
        name, allowed = f"model {number}", self.reading.allow_missing
        try:
            return self.pieces.matches[name].notes(self.reading.models[number], allow_missing=allowed)
        except DissensusError as error:
            raise error.at(self.reading.places[name]) from None

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model."""
        opinions, *models = self.survey.receipts
        told = [
            merged_receipts([models[number]], notes=self._lacks(number), unlisted=self.survey.unlisted(name))
            for number, name in enumerate(self.reading.models)
        ]
        return (opinions, *told)

    @property
    def leaves_out(self) -> bool:
        """Whether annotators are left out in turn."""
        chosen = self.asked["annotators"]
        return bool(self.reading.models) and (chosen == "sample" or (chosen is None and self.survey.crossed is None))

    @cached_property
    def sample(self) -> Piece:
        """All cases that are looked at together, read at once: those that are shown, learned from, or left out of."""
        return self._cases_of((*self.survey.annotated, *(self.survey.everyone if self.leaves_out else ())))

    def _cases_of(self, names: Sequence[str]) -> Piece:
        """Read some cases into memory, in this order."""
        different = list(dict.fromkeys(names))
        found = Piece.read(self.pieces.rows_about(different), self.survey.said_to(self.reading))
        assert found is not None  # these cases were seen before
        return found.select(different)

    def _experts(self, settings: Settings) -> Experts | None:
        """Put models beside annotators; of very many cases on a sample, which is said."""
        cases = self.survey.annotated
        rows = self.sample.select(list(cases)).questions
        if not rows.models:
            return None
        how = {name: self.asked[name] for name in ("margin", "called", "level", "trained_on")}
        found = experts_unless_incomparable(rows.study, rows.models, settings.plan.metrics, strata=rows.strata, **how)
        told = f"{found.called}s and models are compared on {len(cases):,} cases, chosen by their names"
        return replace(found, notes=(told, *found.notes)) if len(cases) >= LEARNING_CASES else found

    # What is learned -------------------------------------------------------------------------------------

    def _settled(self) -> tuple[Settings, str, Calibration | None]:
        """Learn what is learned, and settle what is computed; also why there is no panel, and what was calibrated."""
        survey, asked, sample = self.survey, self.asked, self.sample.select(list(self.survey.annotated))
        rows, trust, chosen = sample.questions, None, asked["aggregations"]
        if asked["calibrated"]:
            trust = calibrate(rows.study, None, rows.models, seed=asked["seed"], threads=self.threads)
            chosen = chosen if trust.best in chosen else (trust.best, *chosen)
        kind = "rankings" if survey.findings else survey.kind
        reasons = (
            request.panel_reason(kind, len(rows.models), n_annotated=one.n_cases, n_opinions=survey.n_counted[finding])
            for finding, one in survey.lessons.items()
        )
        why = request.why_all_trained(asked["trained_on"], rows.models) or next(filter(None, reasons), "")
        chosen, reason = request.with_panel_unless(why, rows.study, chosen, asked["panel"])
        learned = self._learned(rows, chosen)
        conditions = rows.study.conditions if survey.findings else learned.conditions
        specs = learned.taught(next(iter(learned.lessons)), chosen, conditions)
        few = rows.study.select(list(rows.study.case_names[:1]))
        if few.counted.n_opinions and not all(spec.is_informed for spec in specs):
            conditions = common_conditions([spec.sample(few, draws=1) for spec in specs if not spec.is_informed])
        categories = asked["categories"]
        if categories is not None and not isinstance(categories, Categories):
            categories = Categories.from_source(open_source(categories), conditions)
        plan = evaluator.plan_of(
            specs,
            rows.study,
            {name: _as_wide(model, survey.widest[name]) for name, model in rows.models.items()},
            conditions,
            metrics=asked["metrics"],
            primary=asked["primary"],
            categories=categories,
            draws=asked["draws"],
            seed=asked["seed"],
            refits=None,
            truth=sample.truth,
        )
        request.check_request(plan.metrics, rows.models, asked["level"])
        n_rows = survey.n_cases * max(1, len(survey.findings))
        check_joined(plan.metrics, n_rows, asked["draws"], 0 if kind == "ratings" else len(conditions))
        threads = self.threads
        if self.executor is None:
            threads = max(1, (threads or available_threads()) // AT_ONCE)
        reading = survey.said_to(self.reading)
        return Settings(reading, plan, chosen, learned, asked["level"], threads, leads=asked["leads"]), reason, trust

    @property
    def _lessons(self) -> FilePath:
        return self.run.path / PIECES / "learned.bundle"

    def _learned(self, rows: Questions, chosen: Sequence[Aggregation]) -> Learned:
        """Learn from all cases, or take what was learned before."""
        survey, before = self.survey, cast("Learned | None", None)
        if self._lessons.exists():
            try:
                known = [Learned, Lessons, ScoreRange, PriorRecipe, RatingPrior]
                before = restored(self._lessons.read_bytes(), known)
            except FormatError as error:
                if not self.learn_again:
                    problem, advice = (
                        "what was learned from all cases is damaged",
                        "run again with --resume --learn-again",
                    )
                    raise FormatError(problem, where=str(self._lessons), advice=f"learn it again: {advice}") from error
        what = [[spec.record() for spec in chosen], self.asked["trained_on"]]
        key = digest(json.dumps(what), *self.pieces.digests.values())
        if before is not None and before.key == key:
            return before
        if before is not None and not self.learn_again and len(self.run.manifest.generations) > 1:
            if before.conditions == survey.conditions:
                if any(spec.learns or spec.is_informed for spec in chosen):
                    n_cases = max(one.n_cases for one in before.lessons.values())
                    self.watch.say(
                        f"what was learned from {n_cases:,} cases before files were added is kept, such as how "
                        "frequent conditions are (--learn-again learns it from all cases and computes all pieces again)"
                    )
                return before
            self.watch.say("the files that were added name other conditions: everything is learned and computed again")
        recipes: dict[str, PriorRecipe | RatingPrior] = {}
        refits: dict[str, FloatArray] = {}
        if any(spec.is_informed for spec in chosen):
            for finding, own in rows.parts.items():
                recipes[finding], refits[finding] = self._fitted(finding, rows, own, chosen)
        found = Learned(key, survey.conditions, survey.lessons, recipes, refits)
        self.run.write(self._lessons, bundled(found))
        return found

    def _fitted(
        self, finding: str, rows: Questions, own: tuple[str, ...], chosen: Sequence[Aggregation]
    ) -> tuple[PriorRecipe | RatingPrior, FloatArray]:
        """Fit the prior that models inform to sums over all pieces; that of ratings to a sample of the cases."""
        study, models = rows.of_part(own)
        trained_on = self.asked["trained_on"]
        if study.kind == "ratings":
            prior: Any = prior_for(chosen, study, models, trained_on=trained_on)
            informed = tuple(informed_by(spec, prior) for spec in chosen)
            return prior, cast("Any", evaluator.refits_of(informed, study, models, self.asked["seed"]))
        what, reading = f"fitting the prior{f' of {finding}' if finding else ''}", self.survey.said_to(self.reading)

        def total(request: Request) -> FloatArray:
            settings = pickle.dumps((reading, request, self.asked["seed"], finding))
            found = dict(self._worked(passes.sum_piece, settings, what, self.sizes, "cases"))
            sums = [restored(found[piece], []) for piece in sorted(self.pieces.digests)]
            return np.asarray(sum(one for one in sums if one is not None))

        how: dict[str, Any] = {"total": total, "labels": rows.labels_by_case, "trained_on": trained_on}
        recipe = with_refits(fitted_recipe(study, models, self.survey.lessons[finding], **how), total)
        return recipe, recipe.refits

    # Evaluation ------------------------------------------------------------------------------------------

    def _evaluated(self, settings: Settings) -> dict[str, str]:
        """Evaluate the pieces that are not finished; return the key of each: the digest of all that it depends on."""
        said = {
            "options": self.run.manifest.options,
            "specs": [spec.record() for spec in settings.specs],
            "metrics": [metric.record() for metric in settings.plan.metrics],
            "depth": settings.plan.depth,
            "reading": settings.reading.record(),
            "reference": settings.reference,
        }
        asked = digest(json.dumps(said, sort_keys=True, default=str), self._lessons.read_bytes())
        keys = {piece: digest(rows, asked) for piece, rows in self.pieces.digests.items()}
        left = {piece: self.sizes[piece] for piece, key in keys.items() if not self._is_finished(key)}
        if 0 < len(left) < len(keys):
            self.watch.say(f"{len(keys) - len(left)} of {len(keys)} pieces are finished")
        for piece, result in self._worked(passes.evaluate_piece, pickled(settings), "evaluating", left, "cases"):
            for kind, data in restored(result, []).items():  # sums come last
                place = self.run.table(kind, piece) if kind in TABLES else self.run.piece(keys[piece], kind)
                self.run.write(place, data)
        return keys

    def _is_finished(self, key: str) -> bool:
        return all(self.run.piece(key, kind).exists() for kind in ("sums", "cases"))

    def _left_out(self, settings: Settings, runs: Sequence[int]) -> dict[str, AnnotatorSpread]:
        """Leave annotators out of a sample of the cases: how far some runs and the agreement with one move."""
        if not self.leaves_out:
            return {}
        rows = self.sample.select(list(self.survey.everyone)).questions
        design: Any = evaluator.design_of(rows.study, "sample")
        pieces = []
        for finding, own in rows.parts.items():  # without some annotators, aggregations learn another thing
            plan, study, models = settings.informed(finding, rows, own)
            prior = known_prior(plan.aggregations)
            asked = tuple(informed_by(spec, prior) for spec in settings.specs)
            pieces.append(Cases(replace(plan, aggregations=asked), study, models, prior))
        left = LeftOut(pieces, rows.models, design, rows.findings, runs, self.threads)
        total = len(design.case) * len(runs)
        with self.watch.progress("leaving annotators out", total, "cases") as advance:
            return left.spreads(advance)

    def _disputed(self, settings: Settings, sums: Sums) -> Evaluation | None:
        """Evaluate the cases with the least certainty once more, to be looked at."""
        if passes.DISPUTED[0] not in sums:
            return None
        names = sums[passes.DISPUTED[0]].tolist()
        piece = self._cases_of(cases_of_rows(names, self.survey.findings))
        asked = piece.questions.select(names) if self.survey.findings else piece.questions
        return settings.assembled(asked, settings.tally(asked, piece.truth))

    def _described(self, found: Evaluation, sample: Piece) -> Evaluation:
        """Say of the cases that are shown which files all cases came from, and what was understood of them.

        The examples are of the cases that are shown: the first piece has others if cases are split differently.
        """
        opinions, *models = [
            replace(all_cases, examples=own.examples)
            for all_cases, own in zip(self.receipts, sample.receipts, strict=True)
        ]
        called = {f"model {number}": name for number, name in enumerate(self.reading.models)}
        said = zip(found.predictions.items(), models, strict=True)
        return replace(
            found,
            study=found.study.with_receipt(opinions),
            predictions={name: one.with_receipt(receipt) for (name, one), receipt in said},
            inputs={
                f"{called.get(name, name)}/{FilePath(file).name}": fingerprint
                for name, files in self.run.manifest.inputs.items()
                for file, fingerprint in files.items()
            },
        )


def prior_record_of(recipes: Mapping[str, PriorRecipe | RatingPrior], reason: str) -> PriorRecord:
    """Write down how much each model informs the prior, by finding if there are findings."""
    records = {
        finding: PriorRecord(
            tuple(CasePrior.table_of(one.rows).to_dicts()),
            one.concentrations,
            "",
            one.warnings,
            one.held_out_gain,
            one.are_labels,
        )
        for finding, one in recipes.items()
        if isinstance(one, PriorRecipe)
    }
    return evaluator.joined_records(records) if records else evaluator.prior_record(cast("Any", recipes), reason)


def _as_wide(model: Predictions, size: int) -> Predictions:
    """Make predictions of one case with so many conditions, in the place of all of a model."""
    codes, offsets = np.arange(size, dtype=np.int64), np.array([0, size], dtype=np.int64)
    values = -codes.astype(np.float64)
    return replace(model, case_names=model.case_names[:1], offsets=offsets, codes=codes, values=values)
