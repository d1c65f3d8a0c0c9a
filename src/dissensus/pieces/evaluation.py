"""Evaluate studies larger than memory: files in, a directory of results out.

The input is split by case; every piece is looked at once, so that what has to be learned from all cases is known, and
then evaluated by the very same functions as a study in memory; sums of pieces are added in the order of their names.
What was done before is found by the names of its files, and not done again.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import polars as pl

from dissensus.aggregations import case_prior
from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.aggregations.normal_inverse_gamma import RatingPrior
from dissensus.aggregations.priors import Lessons, ScoreRange, check_trained_on, taught
from dissensus.certainty.categories import Categories
from dissensus.core.arrays import FloatArray, Path
from dissensus.core.bundle import bundled
from dissensus.core.checks import check_choice, check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source, open_source
from dissensus.core.receipt import Note, Receipt
from dissensus.core.spec import present_versions
from dissensus.draws import Plausibilities
from dissensus.evaluation import evaluator, request
from dissensus.evaluation.annotators import AnnotatorsAre, AnnotatorSpread, LeftOut
from dissensus.evaluation.calibration import Calibration, calibrate
from dissensus.evaluation.estimates import leading_runs
from dissensus.evaluation.expert_comparison.experts import Experts, experts_unless_incomparable
from dissensus.evaluation.labels import check_joined
from dissensus.evaluation.protocol import Protocol
from dissensus.evaluation.request import Questions, cases_of_rows
from dissensus.evaluation.results import Evaluation, Leads
from dissensus.evaluation.store import REPORT, load, write_files
from dissensus.evaluation.sums import Sums
from dissensus.evaluation.tally import common_conditions, informed_by, pickled, prior_for, refuse_whole
from dissensus.metrics.base import Metric
from dissensus.pieces import partition as split
from dissensus.pieces import passes
from dissensus.pieces.inputs import STRATA, STUDY, TRUTH, FileFacts, Input, files_of, is_address, look_at_file
from dissensus.pieces.passes import Learned, Piece, Reading, Settings, Survey, merged_receipts, placed
from dissensus.pieces.run_directory import PIECES, TABLES, Manifest, RunDirectory, is_run, piece_of, run_in, table_of
from dissensus.predictions.lists import Match, Predictions
from dissensus.study.question import chosen_question, conditions_asked
from dissensus.workers import AT_ONCE, Work, worked

# Shows how far something is: what, how much of it in all, and of which unit.
Progress: TypeAlias = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]

# How many cases a piece has, about, unless it is said.
PIECE_CASES = 10_000

# How many cases are held by the result, to be looked at one by one.
SHOWN_CASES = 2000

# What is asked and kept as it is given.
AS_GIVEN = (
    *("primary", "draws", "seed", "level", "annotators", "panel"),
    *("leads", "margin", "called", "categories", "protocol"),
)

# Files that are put together at a time.
FEW = 16

# What was learned from all cases, and what is known of the split input.
LESSONS, INDEX = f"{PIECES}/learned.bundle", "index"


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
    protocol: Path | Protocol | None = None,
    shard_size: int = PIECE_CASES,
    partitioned: bool = False,
    scratch: Path | None = None,
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
    trained_on, margin, called, protocol
        As in :func:`evaluate`.
    threads
        Threads that draw in every process.
    shard_size
        About how many cases are evaluated at a time. It changes memory, speed, and the last digits of numbers.
    partitioned
        Say that files are partitioned by case: the first file of every input is about the same cases, and no other one
        is, and so on. They are not split then, and every file is a piece.
    scratch
        A directory that all workers see, or an address, below which they keep pieces and tables by case; by default
        that is ``directory``.
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
    given = dict(locals())
    check_count(draws=draws, shard_size=shard_size, threads=1 if threads is None else threads)
    files = {STUDY: study, **{f"model {i}": one for i, one in enumerate(predictions.values())}}
    files |= {name: one for name, one in ((STRATA, strata), (TRUTH, truth)) if one is not None}
    _refuse_inside(directory, [part for one in files.values() for part in files_of(one)])
    inputs = {name: Input.of(one, is_small=name in (STRATA, TRUTH)) for name, one in files.items()}
    named = ((name, list(map(str, files_of(one)))) for name, one in files.items())
    places = {name: parts[0] if isinstance(files[name], str | PathLike) else listing(parts) for name, parts in named}
    how = Reading.of(places, list(predictions), reading or {})
    columns = {name: how.case_column(name, one) for name, one in inputs.items()}
    if protocol is not None:
        labels = {*inputs[STRATA].schema} - {columns[STRATA], request.IMAGES} if STRATA in inputs else ()
        settled, agreed = Protocol.of(protocol).settled({**given, "strata": dict.fromkeys(sorted(labels))})
        given |= {**settled, "protocol": agreed}
    asked = asked_of(given)
    # of a run that goes on, the number of pieces of the beginning holds: cases need not be counted
    counts = not (partitioned or (resume and is_run(directory)))
    looked_at = {  # cases are counted, or looked at where they are numbers
        place: (split.absolute(place), column if (counts and name == STUDY) or one.schema[column].is_float() else None)
        for name, one in inputs.items()
        for place, column in ((place, columns[name]) for place in one.places)
    }
    facts: dict[str, FileFacts] = dict(worked(executor, look_at_file, b"", looked_at))
    n_cases = FileFacts.n_cases(facts[place] for place in inputs[STUDY].places) if counts else 1
    options = {**asked, "reading": how.record(), "versions": present_versions()}
    options |= {"partitioned": True} if partitioned else {}
    options = json.loads(json.dumps(options, default=recorded))
    marks = {name: {place: facts[place].mark for place in one.places} for name, one in inputs.items()}
    manifest = Manifest([marks], options, n_buckets=max(1, -(-n_cases // shard_size)))
    watch = watch or Watch()
    place = None if scratch is None else split.absolute(str(scratch))
    with run_in(directory, manifest, resume=resume, overwrite=overwrite, scratch=place) as run:
        if run.is_finished and not learn_again:
            found = load(run.path)
            watch.say("the run is finished, and nothing was added: these are its results")
            if not (run.path / REPORT).is_file():
                watch.beside(found, run.path)
            return found
        run.reopen()
        return FileEvaluation(run, how, asked, columns, facts, threads, executor, learn_again, watch).result()


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settle what is asked; refuse what cannot be evaluated, or not piece by piece."""
    choices = {"leads": get_args(Leads), "reference": ("calibrated",), "annotators": get_args(AnnotatorsAre)}
    for name, known in choices.items():
        if given[name] is not None:
            check_choice(name, given[name], known)
    read_as, asked = given["reading"] or {}, {name: given[name] for name in AS_GIVEN}
    is_binary = "binary" if read_as.get("positive") else ""
    question = "findings" if read_as.get("format") == "checklist" else str(read_as.get("question") or is_binary)
    chosen = request.chosen_aggregations(given["aggregations"], question or "conditions", sweep=given["sweep"])
    asked["metrics"] = None if given["metrics"] is None else request.listed_metrics(given["metrics"])
    asked |= {"calibrated": given["reference"] is not None, "trained_on": list(given["trained_on"])}
    if given["primary"] is not None:
        request.listed_metrics([given["primary"]])
    check_trained_on(given["trained_on"], given["predictions"])
    if not chosen:
        raise DissensusError("there is nothing to evaluate", expected="at least one aggregation")
    check_seed(given["seed"])
    check_share("level", given["level"])
    refuse_whole(chosen, "piece by piece", "evaluate it on a study that fits into memory, such as some of the cases")
    if asked["categories"] is not None and not isinstance(asked["categories"], Categories):
        asked["categories"] = open_source(asked["categories"])
    return {**asked, "aggregations": chosen}


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


def recorded(value: Any) -> Any:
    """Return what is asked as a plain value, where JSON has none for it."""
    if isinstance(value, Categories):
        return digest(bundled([value.conditions, value.names, value.codes]))
    if isinstance(value, Protocol | Source):
        return f"sha256:{value.sha256}"
    return value.record()


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
    columns: Mapping[str, str]
    facts: Mapping[str, FileFacts]
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
        rows = shown.questions
        leading = leading_runs(settings.specs, settings.leads, None if trust is None else trust.best)
        settings = replace(settings, reference=leading[1])
        with ThreadPoolExecutor(1) as beside:  # what is found from samples is found while workers are busy
            held = beside.submit(settings.tally, rows, shown.truth)
            experts = beside.submit(self._experts, settings)
            keys = self._evaluated(settings)
        finished, cases = ([piece_of(key, kind) for key in keys.values()] for kind in ("sums", "cases"))
        storage = self.run.storage
        sums: Sums = self._together(finished, "sums", "adding up")
        there = storage.names(PIECES)
        cases = [file for file in cases if file in there]
        found = settings.assembled(
            rows,
            sums,
            held=held.result(),
            pieces=passes.cases_in(storage, cases),
            excluded=tuple(sums[passes.EXCLUDED].tolist()),
            n_excluded=int(sums["excluded",]),
            n_annotators=None if survey.annotators is None else len(survey.annotators),
            moved=self._left_out(settings, sorted({*leading})),
            prior=evaluator.prior_record(settings.learned.recipes, reason) if rows.models else None,
            calibration=trust,
            trained_on=tuple(self.asked["trained_on"]),
            experts=experts.result(),
            disputed=self._disputed(settings, sums),
            protocol=self.asked["protocol"],
        )
        found = self._described(found, shown)

        def write(place: FilePath) -> None:
            write_files(found, place)
            self.watch.beside(found, place)

        tables = [table_of(name, piece) for name in TABLES for piece in keys]
        self.run.publish(write, [*tables, *finished, *cases, *self._looks.values(), LESSONS])
        return found

    # Pieces ----------------------------------------------------------------------------------------------

    @cached_property
    def partition(self) -> split.Partition:
        """How the input is split by case."""
        manifest = self.run.manifest
        came = manifest.generations
        generations = {name: [Input(tuple(one.get(name, ()))) for one in came] for name in came[0]}
        key = digest(json.dumps([manifest.generations, manifest.n_buckets, dict(self.columns)]))
        storage, is_partitioned = self.run.storage, "partitioned" in manifest.options
        how: dict[str, Any] = {"n_buckets": manifest.n_buckets, "is_partitioned": is_partitioned}
        return split.partition_of(generations, self.columns, self.facts, storage, key, **how)

    @cached_property
    def pieces(self) -> split.Pieces:
        """The input, split by case, unless that has been done before."""
        partition = self.partition
        settings, storage, index = pickle.dumps(partition), partition.storage, f"{partition.folder}/{INDEX}"
        if storage.has(index):
            advice = f"remove {storage.root}/{partition.folder} and go on with --resume: finished pieces stay"
            known: split.Pieces = storage.restored(index, [split.Pieces, Match], "the split input is damaged", advice)
            return known
        if partition.files:
            marks, told = {split.absolute(place): one.mark for place, one in self.facts.items()}, {}
            for piece, own in partition.files.items():
                told[piece] = piece, digest(*(f"{name} {marks[place]}" for name, place in own.items()))
            done = self._worked(split.compare_files, settings, "comparing cases", told)
        else:
            chunks = {partition.part(chunk): chunk for chunk in partition.chunks}
            list(self._worked(split.scatter, settings, "splitting by case", chunks))
            buckets = {f"{number:05d}": number for number in range(partition.n_buckets)}
            done = self._worked(split.gather, settings, "putting cases together", buckets)
        found = split.Pieces.joined([own for _, own in sorted(done, key=itemgetter(0))])
        if not found.digests:
            raise FormatError("no row names its case", where=self.reading.places[STUDY], advice="give the rows names")
        storage.write(index, bundled(found))
        for chunk in () if partition.files else partition.chunks:
            storage.remove(partition.part(chunk))
        return found

    def _worked(self, work: Work, settings: bytes, what: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Do work, wherever it is done; results come in any order."""
        with self.watch.progress(what, len(given), "pieces") as advance:
            for result in worked(self.executor, work, settings, given):
                yield result
                advance(1)

    def _together(self, files: Sequence[str], kind: str, what: str) -> Any:
        """Add up what is in files on the workers, level by level in the order of pieces, and here what is left."""
        while len(files) > FEW:
            groups = [list(files[first : first + FEW]) for first in range(0, len(files), FEW)]
            merged = {one: (one, group) for group in groups for one in [piece_of(digest(*group), kind)]}
            list(self._worked(passes.merge_files, pickle.dumps(self.run.storage), what, merged))
            files = list(merged)
        return passes.together(self.run.storage, files)

    # What is known of all cases --------------------------------------------------------------------------

    @cached_property
    def _looks(self) -> dict[str, str]:
        """Where it is kept what is known of every piece."""
        said = json.dumps([self.reading.record(), self.run.manifest.options["versions"]])
        return {piece: piece_of(digest(rows, said), "survey") for piece, rows in self.pieces.digests.items()}

    @cached_property
    def survey(self) -> Survey:
        """What is known of all pieces together, with the conditions in the order of what was asked."""
        for number in range(len(self.reading.models)):  # cases that a model lacks are told before any piece is read
            self._lacks(number)
        storage = self.run.storage
        there = storage.names(PIECES)
        left = {piece: (piece, file) for piece, file in self._looks.items() if file not in there}
        settings = pickled((self.partition, self.reading))
        list(self._worked(passes.survey_piece, settings, "looking at the files", left))
        found: Survey | None = self._together(list(self._looks.values()), "survey", "looking at the files")
        if found is None:
            raise DissensusError("the models have no case in common", got=f"{len(self.reading.models)} models")
        if len(set(found.everyone)) < len(found.everyone):  # a sample tells, if there are more than a few
            twice, _ = Counter(found.everyone).most_common(1)[0]
            problem, advice = "a case is in several files of the study", "leave --partitioned out: they are split then"
            raise FormatError(problem, got=repr(twice), where=self.reading.places[STUDY], advice=advice)
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
        for number, name in enumerate(self.reading.models):
            known: Any = {"notes": self._lacks(number), "unlisted": self.survey.unlisted(name)}
            models[number] = merged_receipts([models[number]], **known)
        return (opinions, *models)

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
        pieces = self.partition.about(different, list(self.pieces.digests))
        settings = pickle.dumps((self.partition, different))
        done = self._worked(split.rows_about, settings, "choosing cases", {one: one for one in pieces})
        parts = [rows for _, rows in sorted(done, key=itemgetter(0))]
        order = pl.DataFrame({split.NAME: different}, schema={split.NAME: pl.String})
        both = {name: pl.concat([one[name] for one in parts]) for name in parts[0]}
        how: Any = {"on": split.NAME, "maintain_order": "left_right"}  # examples are the same however cases are split
        frames = {name: order.join(rows, **how).drop(split.NAME) for name, rows in both.items()}
        found = Piece.read(frames, self.survey.said_to(self.reading))
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
        return replace(found, notes=(told, *found.notes)) if len(cases) >= case_prior.LEARNING_CASES else found

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
        lessons = next(iter(learned.lessons.values()))
        specs = tuple(taught(spec, lessons, conditions) for spec in chosen)
        few = rows.study.select(list(rows.study.case_names[:1]))
        if few.counted.n_opinions and not all(spec.is_informed for spec in specs):
            conditions = common_conditions([spec.sample(few, draws=1) for spec in specs if not spec.is_informed])
        categories = asked["categories"]
        if isinstance(categories, Source):
            categories = Categories.from_source(categories, conditions)
        wide = dict[str, Predictions]()  # of one case with the most conditions, in the place of all of a model
        for name, model in rows.models.items():
            codes = np.arange(survey.widest[name], dtype=np.int64)
            one: Any = {"offsets": np.array([0, len(codes)]), "codes": codes, "values": -codes.astype(np.float64)}
            wide[name] = replace(model, case_names=model.case_names[:1], **one)
        how = {name: asked[name] for name in ("metrics", "primary", "draws", "seed")}
        how |= {"categories": categories, "refits": None, "truth": sample.truth}
        plan = evaluator.plan_of(specs, rows.study, wide, conditions, **how)
        request.check_request(plan.metrics, rows.models, asked["level"])
        n_rows = survey.n_cases * max(1, len(survey.findings))
        check_joined(plan.metrics, n_rows, asked["draws"], 0 if kind == "ratings" else len(conditions))
        threads = self.threads
        if self.executor is None:
            threads = max(1, (threads or available_threads()) // AT_ONCE)
        reading, level, leads = survey.said_to(self.reading), asked["level"], asked["leads"]
        return Settings(reading, plan, chosen, learned, level, threads, leads=leads), reason, trust

    def _learned(self, rows: Questions, chosen: Sequence[Aggregation]) -> Learned:
        """Learn from all cases, or take what was learned before."""
        survey, storage, before = self.survey, self.run.storage, cast("Learned | None", None)
        if storage.has(LESSONS):
            problem = "what was learned from all cases is damaged"
            advice = "learn it again: run again with --resume --learn-again"
            forgiven = (FormatError,) if self.learn_again else ()
            with suppress(*forgiven):
                known = [Learned, Lessons, ScoreRange, case_prior.PriorRecipe, RatingPrior]
                before = storage.restored(LESSONS, known, problem, advice)
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
        parts = rows.parts if any(spec.is_informed for spec in chosen) else {}
        fits = {finding: self._fitted(finding, rows, own, chosen) for finding, own in parts.items()}
        recipes, refits = {name: one for name, (one, _) in fits.items()}, {name: one for name, (_, one) in fits.items()}
        found = Learned(key, survey.conditions, survey.lessons, recipes, refits)
        storage.write(LESSONS, bundled(found))
        return found

    def _fitted(
        self, finding: str, rows: Questions, own: tuple[str, ...], chosen: Sequence[Aggregation]
    ) -> tuple[case_prior.PriorRecipe | RatingPrior, FloatArray]:
        """Fit the prior that models inform to sums over all pieces; that of ratings to a sample of the cases."""
        study, models = rows.of_part(own)
        trained_on = self.asked["trained_on"]
        if study.kind == "ratings":
            prior: Any = prior_for(chosen, study, models, trained_on=trained_on)
            informed = tuple(informed_by(spec, prior) for spec in chosen)
            return prior, cast("Any", evaluator.refits_of(informed, study, models, self.asked["seed"]))
        what, reading = f"fitting the prior{f' of {finding}' if finding else ''}", self.survey.said_to(self.reading)

        def total(request: case_prior.Request) -> FloatArray:
            settings = pickle.dumps((self.partition, reading, request, self.asked["seed"], finding))
            names = {name: name for name in self.pieces.digests}
            found = dict(self._worked(passes.sum_piece, settings, what, names))
            return np.asarray(sum(one for _, one in sorted(found.items()) if one is not None))

        how: dict[str, Any] = {"total": total, "labels": rows.labels_by_case, "trained_on": trained_on}
        recipe = case_prior.with_refits(
            case_prior.fitted_recipe(study, models, self.survey.lessons[finding], **how), total
        )
        return recipe, recipe.refits

    # Evaluation ------------------------------------------------------------------------------------------

    def _evaluated(self, settings: Settings) -> dict[str, str]:
        """Evaluate the pieces that are not finished; return the key of each: the digest of all that it depends on."""
        plan, reading = settings.plan, settings.reading.record()
        said: dict[str, Any] = {"options": self.run.manifest.options, "reading": reading}
        said |= {"specs": [spec.record() for spec in settings.specs], "reference": settings.reference}
        said |= {"metrics": [metric.record() for metric in plan.metrics], "depth": plan.depth}
        asked = digest(json.dumps(said, sort_keys=True, default=str), self.run.storage.read(LESSONS))
        keys = {piece: digest(rows, asked) for piece, rows in self.pieces.digests.items()}
        there = self.run.storage.names(PIECES)
        left = {piece: (piece, key) for piece, key in keys.items() if piece_of(key, "sums") not in there}
        if 0 < len(left) < len(keys):
            self.watch.say(f"{len(keys) - len(left)} of {len(keys)} pieces are finished")
        told = pickled((self.partition, settings))
        list(self._worked(passes.evaluate_piece, told, "evaluating", left))
        return keys

    def _left_out(self, settings: Settings, runs: Sequence[int]) -> dict[str, AnnotatorSpread]:
        """Leave annotators out of a sample of the cases: how far some runs and the agreement with one move."""
        if not self.leaves_out:
            return {}
        rows = self.sample.select(list(self.survey.everyone)).questions
        design: Any = evaluator.design_of(rows.study, "sample")
        pieces = []
        for one in (settings.informed(finding, rows) for finding in rows.parts):
            asked = tuple(informed_by(spec, one.prior) for spec in settings.specs)
            pieces.append(one._replace(plan=replace(one.plan, aggregations=asked)))  # they learn another thing then
        left = LeftOut(pieces, rows.models, design, rows.strata, runs, self.threads)
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
        both = zip(self.receipts, sample.receipts, strict=True)
        opinions, *models = [replace(of_all, examples=own.examples) for of_all, own in both]
        called = {f"model {number}": name for number, name in enumerate(self.reading.models)}
        said = zip(found.predictions.items(), models, strict=True)
        inputs = {
            f"{called.get(name, name)}/{FilePath(file).name}": fingerprint
            for name, files in self.run.manifest.inputs.items()
            for file, fingerprint in files.items()
        }
        told = {name: one.with_receipt(receipt) for (name, one), receipt in said}
        return replace(found, study=found.study.with_receipt(opinions), predictions=told, inputs=inputs)
