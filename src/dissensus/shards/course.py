"""The course of an evaluation of files: look at every shard twice, and put the sums together."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from dissensus.aggregation._evidence import ScoreRange
from dissensus.aggregation._priors import ChoiceCounts
from dissensus.aggregation.base import Aggregation, available_threads
from dissensus.aggregation.case_prior import table_of_models
from dissensus.aggregation.learned import Lessons, taught
from dissensus.aggregation.prior_recipe import PriorRecipe, Request, fitted_recipe, with_refits
from dissensus.core.aliases import FloatArray
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.exact import Exact
from dissensus.core.files import open_source
from dissensus.core.names import case_keys
from dissensus.core.notes import Note
from dissensus.core.output import write_table
from dissensus.core.receipt import Receipt
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.basis import merged
from dissensus.evaluation.calibration import Calibration, calibrate
from dissensus.evaluation.completion import Completion, SeenCases, with_columns
from dissensus.evaluation.data_set import Kept, whole_metrics
from dissensus.evaluation.evaluator import (
    check_request,
    design_of,
    joined_records,
    panel_reason,
    plan_of,
    with_panel_unless,
)
from dissensus.evaluation.labels import Labels, LabelsByTruth
from dissensus.evaluation.left_out import LeftOut, Piece
from dissensus.evaluation.material import Material
from dissensus.evaluation.parts import pickled
from dissensus.evaluation.plan import Plan, common_conditions, informed_by, known_prior
from dissensus.evaluation.questions import Questions, cases_of_rows
from dissensus.evaluation.results import Evaluation, PriorRecord, Shared
from dissensus.evaluation.store import write_files
from dissensus.evaluation.tally import CaseWeights, unit_of
from dissensus.evaluation.whole import Whole
from dissensus.predictions.alignment import Match
from dissensus.predictions.lists import Predictions
from dissensus.shards.asked import Asked, Watch, digest
from dissensus.shards.buckets import Buckets, Shard, bucketed, rows_about
from dissensus.shards.contents import Reading, merged_receipts
from dissensus.shards.directory import RunDirectory
from dissensus.shards.examination import Examined, examine_shard, examined_from, settings_of
from dissensus.shards.shard_content import ShardContent, read_shard
from dissensus.shards.shard_evaluation import Settings, Taught, evaluate_shard, sum_shard
from dissensus.shards.sums import CLASSES, Named, ShardSums, squares_of
from dissensus.shards.tables import Tables, are_text
from dissensus.workers.work import Task, Work, workers_of

MOST_REMARKS = 8
"""Of so many shards it is told why they are computed again."""

SHOWN_CASES = 2000
"""How many cases are held by the result, to be looked at one by one."""

AT_ONCE = 2
"""How many shards are worked on at a time in this process."""

OUTPUTS = {
    "per_case": "per_case/part-{}.parquet",
    "certainty": "certainty/part-{}.parquet",
    "excluded": "shards/excluded-{}.bundle",
    "sums": "shards/sums-{}.bundle",
    "groups": "shards/groups-{}.bundle",
    "seen": "shards/seen-{}.bundle",
    "votes": "shards/votes-{}.bundle",
}
"""Files of a finished shard, by kind; labels of draws have a file for every run."""


def output_of(kind: str, shard: str) -> str:
    """Name the file of an output of a shard.

    >>> output_of("sums", "0-00003"), output_of("labels 1", "0-00003")
    ('shards/sums-0-00003.bundle', 'shards/labels-1-0-00003.bundle')
    """
    return OUTPUTS.get(kind, f"shards/{kind.replace(' ', '-')}-{{}}.bundle").format(shard)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from all cases.

    Attributes
    ----------
    conditions
        Of the study.
    lessons
        What aggregations learn, by finding; under the name "" of a study of cases.
    recipes
        How the prior that models inform is made, by finding; empty if there is none.
    """

    conditions: tuple[str, ...]
    lessons: Mapping[str, Lessons]
    recipes: Mapping[str, PriorRecipe]

    @property
    def n_cases(self) -> int:
        """From how many cases it was learned."""
        return max(one.n_cases for one in self.lessons.values())


def write_all(found: Evaluation, place: FilePath, watch: Watch) -> None:
    """Write the files of results, and what else is wanted."""
    write_files(found, place)
    watch.beside(found, place)


@dataclass(frozen=True, eq=False)
class Course:
    """Go through an evaluation, step by step; what was done before is not done again."""

    run: RunDirectory
    asked: Asked
    reading: Reading
    models: tuple[str, ...]
    threads: int | None
    executor: object | None
    learn_again: bool
    watch: Watch

    def result(self) -> Evaluation:
        """Evaluate everything, and write the results."""
        examined = self.examined
        self.watch.tell(self.receipts)
        settings, reason, trust = self.prepared(examined)
        sample = self.sample.select(list(examined.annotated.names[:SHOWN_CASES]))
        done = settings.evaluated(sample.questions)
        shown = replace(settings.assembled(sample.questions, done), calibration=trust)
        settings = replace(settings, reference=shown.reference)
        self.evaluate_shards(settings)
        shown = replace(shown, prior=prior_record_of(settings.taught, reason) if self.models else None)
        shown = replace(shown, material=self._material(shown.material, sample.receipts))
        whole = self.put_together(settings, examined, shown, done.shared)
        self.run.publish(lambda place: write_all(whole, place, self.watch), self.journals)
        return whole

    # Shards ----------------------------------------------------------------------------------------------

    @cached_property
    def buckets(self) -> Buckets:
        """The input, split by case."""
        place = self.run.path / "shards" / "input"
        found = None
        for number, files in enumerate(self.run.manifest.generations):
            inputs = {name: self._tables(name, places) for name, places in files.items() if places}
            columns = {name: self._case_column(name, tables) for name, tables in inputs.items()}
            total = sum(tables.n_rows() for tables in inputs.values())
            with self.watch.progress("splitting by case", total, "rows") as advance:
                found = bucketed(
                    inputs,
                    columns,
                    place,
                    n_buckets=self.run.manifest.n_buckets,
                    generation=number,
                    advance=advance,
                )
        assert found is not None
        return found

    def _tables(self, name: str, places: Sequence[str]) -> Tables:
        """Return the tables of an input; strata from text are written as Parquet, as they are few."""
        if name != "strata" or not are_text(places):
            return Tables(tuple(places))
        source = open_source(places[0])
        if not source.is_table:
            raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=places[0])
        file = self.run.path / "shards" / f"strata-{source.sha256[:16]}.parquet"
        if not file.exists():
            write_table(source.table, file)
        return Tables((str(file),))

    def _case_column(self, name: str, tables: Tables) -> str:
        if name == "study":
            return self.reading.case_column(tables)
        if name == "strata":
            return self.reading.case_column_of_strata(tables)
        return self.reading.case_column_of_model(self.models[int(name.partition(" ")[2])], tables)

    @cached_property
    def shards(self) -> dict[str, Shard]:
        """All shards by name, in order."""
        return {shard.name: shard for shard in self.buckets.shards()}

    @property
    def journals(self) -> list[str]:
        """Names of everything that was finished on the way."""
        return ["learned", *(f"examined-{name}" for name in self.shards), *self.shards]

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """What the rows of every shard say."""
        return {name: shard.fingerprint() for name, shard in self.shards.items()}

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model."""
        opinions, *models = self.examined.receipts
        told = [
            merged_receipts([one], notes=of_model, unlisted=self.examined.contents.unlisted(name))
            for one, of_model, name in zip(models, self.lacks, self.models, strict=True)
        ]
        return (opinions, *told)

    @cached_property
    def lacks(self) -> list[tuple[Note, ...]]:
        """Which cases the study or a model lacks, by model; refused unless it is allowed."""
        matches = self.buckets.matches()
        return [self._lacks(matches[f"model {place}"], name) for place, name in enumerate(self.models)]

    def _lacks(self, match: Match, name: str) -> tuple[Note, ...]:
        try:
            return match.notes(name, allow_missing=self.reading.allow_missing)
        except DissensusError as error:
            raise error.at(self.reading.models[name]) from None

    def worked(
        self, work: Work, settings: bytes, what: str, sizes: Mapping[str, int], unit: str
    ) -> Iterator[tuple[str, bytes]]:
        """Do work on some shards of these sizes, wherever it is done; results come in any order."""
        tasks = [Task(name, self.shards[name].payload) for name in sizes]
        with self.watch.progress(what, sum(sizes.values()), unit) as advance, self._place() as executor:
            try:
                for name, result in workers_of(executor).results(work, settings, tasks):
                    yield name, result
                    advance(sizes[name])
            except DissensusError as error:
                raise without_shard(error) from error

    def _place(self) -> AbstractContextManager[object]:
        """Return where shards are worked on: here, two at a time, so that one is read and summed while one is drawn."""
        return ThreadPoolExecutor(AT_ONCE) if self.executor is None else nullcontext(self.executor)

    @property
    def threads_per_shard(self) -> int | None:
        """How many threads draw the cases of a shard."""
        if self.executor is not None:
            return self.threads
        return max(1, (self.threads or available_threads()) // AT_ONCE)

    # What is known of the whole --------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many cases each shard has, once all were looked at."""
        return {}

    @cached_property
    def examined(self) -> Examined:
        """What is known of all shards."""
        # cases that a model lacks are told of all shards together, before any is read
        names = tuple(name for name, _ in zip(self.models, self.lacks, strict=True))
        settings = settings_of(self.reading, names)
        keys = {name: digest(self.fingerprints[name], json.dumps(self.reading.to_dict())) for name in self.shards}
        left = [name for name in self.shards if not self.run.finished(f"examined-{name}", keys[name])]
        for name, result in self.worked(
            examine_shard, settings, "looking at the files", dict.fromkeys(left, 1), "shards"
        ):
            self.run.record(f"examined-{name}", keys[name], {f"shards/contents-{name}.bundle": result})
        found = merged(self._examined_parts())
        return replace(found, contents=self.reading.in_order(found.contents))

    def _examined_parts(self) -> Iterator[Examined]:
        """Read what is known of every shard, one after the other, and note their sizes."""
        for name in self.shards:
            part = examined_from(self.run.read(f"examined-{name}", f"shards/contents-{name}.bundle"))
            self.sizes[name] = 0 if part is None else part.contents.n_cases
            if part is not None:
                yield part
        if not any(self.sizes.values()):
            raise DissensusError("the models have no case in common", got=f"{len(self.models)} models")

    @cached_property
    def sample(self) -> ShardContent:
        """All cases that are looked at together, read at once: those that are shown, learned from, or left out of."""
        examined = self.examined
        learning = examined.annotated.names if self.learns else examined.annotated.names[:SHOWN_CASES]
        everyone = examined.everyone.names if self.leaves_out else ()
        return self.content_of(tuple(dict.fromkeys((*learning, *everyone))))

    @cached_property
    def why_no_panel(self) -> str:
        """Why what a large panel would say cannot be estimated; empty if it can."""
        examined = self.examined
        kind = "rankings" if self.findings else examined.contents.kind
        if kind == "ratings" and self.models:
            return "opinions are ratings, and their prior is fitted to all cases at once, in memory"
        reasons = (
            panel_reason(kind, len(self.models), n_annotated=one.n_cases, n_opinions=examined.n_counted[finding])
            for finding, one in examined.lessons.items()
        )
        return next(filter(None, reasons), "")

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings of checklists; none for a study of cases."""
        return tuple(filter(None, self.examined.lessons))

    @property
    def learns(self) -> bool:
        """Whether something is learned from a sample of the cases."""
        asked = self.asked
        informed = any(spec.is_informed for spec in asked.aggregations)
        return asked.calibrated or informed or (asked.panel is not False and not self.why_no_panel)

    @property
    def leaves_out(self) -> bool:
        """Whether annotators are left out in turn."""
        are = self.asked.annotators
        return bool(self.models) and (are == "sample" or (are is None and self.examined.crossing.is_known))

    def content_of(self, names: Sequence[str]) -> ShardContent:
        """Read some cases into memory, in this order."""
        buckets = set((case_keys(tuple(names)) % np.uint64(self.run.manifest.n_buckets)).tolist())
        shards = [shard for shard in self.shards.values() if shard.bucket in buckets]
        content = read_shard(rows_about(shards, names), self.known_reading, self.models)
        assert content is not None  # these cases were seen before
        return content.select(list(names))

    @cached_property
    def known_reading(self) -> Reading:
        """How shards are read, once the conditions of all are known."""
        return self.reading.knowing(self.examined.contents)

    def prepared(self, examined: Examined) -> tuple[Settings, str, Calibration | None]:
        """Learn what is learned, and settle what is computed; also why there is no panel, and what was calibrated."""
        sample = self.sample
        if self.learns:
            sample = sample.select(list(examined.annotated.names))
        rows = sample.questions
        trust = self._calibrated(rows)
        chosen = self.asked.aggregations
        chosen = chosen if trust is None or trust.best in chosen else (trust.best, *chosen)
        chosen, reason = with_panel_unless(self.why_no_panel, rows.study, chosen, self.asked.panel)
        learned = self.learned(examined, rows, chosen)
        conditions = rows.study.conditions if self.findings else learned.conditions
        parts = {
            finding: Taught(tuple(taught(spec, lessons, conditions) for spec in chosen), learned.recipes.get(finding))
            for finding, lessons in learned.lessons.items()
        }
        plan = self._plan(examined, rows, next(iter(parts.values())).aggregations, conditions)
        how: Any = {"level": self.asked.level, "threads": self.threads_per_shard}
        return Settings(self.known_reading, self.models, plan, chosen, parts, **how), reason, trust

    def _calibrated(self, rows: Questions) -> Calibration | None:
        if not self.asked.calibrated:
            return None
        return calibrate(rows.study, None, rows.models, seed=self.asked.seed, threads=self.threads)

    def _plan(
        self, examined: Examined, rows: Questions, specs: tuple[Aggregation, ...], known: tuple[str, ...]
    ) -> Plan:
        """Settle what is computed, but for what is learned of every part."""
        asked, few = self.asked, rows.study.select(list(rows.study.case_names[:1]))
        usable = [spec for spec in specs if not spec.is_informed]
        drawn = [spec.sample(few, draws=1) for spec in usable] if few.counted.n_opinions else []
        conditions = common_conditions(drawn) if drawn else known
        plan = plan_of(
            specs,
            rows.study,
            {name: _as_wide(model, examined.widest[name]) for name, model in rows.models.items()},
            conditions,
            metrics=asked.metrics,
            categories=asked.known_categories(conditions),
            draws=asked.draws,
            seed=asked.seed,
            refits=None,
            unit=unit_of(np.array([examined.contents.largest_case_weight])),
        )
        check_request(plan.metrics, rows.models, asked.level)
        return plan

    # What is learned -------------------------------------------------------------------------------------

    def learned(self, examined: Examined, rows: Questions, chosen: Sequence[Aggregation]) -> Learned:
        """Learn from all cases, or take what was learned before."""
        place, contents = "shards/learned.bundle", examined.contents
        key = digest(json.dumps([spec.record() for spec in chosen]), *self.fingerprints.values())
        before = self._learned_before(contents.conditions, key)
        if before is not None:
            if any(spec.learns or spec.is_informed for spec in chosen):
                self.watch.say(
                    f"what was learned from {before.n_cases:,} cases before files were added is kept, such as "
                    "how frequent conditions are (--learn-again learns it from all cases and computes all shards again)"
                )
            return before
        if self.run.finished("learned", key):
            return _learned_from(self.run.read("learned", place))
        recipes = {}
        if any(spec.is_informed for spec in chosen):
            recipes = {finding: self._fitted(one, rows, finding) for finding, one in examined.lessons.items()}
        found = Learned(contents.conditions, examined.lessons, recipes)
        self.run.record("learned", key, {place: bundled(found)})
        return _learned_from(self.run.read("learned", place))

    def _learned_before(self, conditions: tuple[str, ...], key: str) -> Learned | None:
        """Return what was learned before files were added, unless it has to be learned again."""
        if len(self.run.manifest.generations) < 2 or self.learn_again:
            return None
        if not (self.run.path / "shards" / "learned.json").is_file():
            return None
        recorded = self.run.recorded("learned")
        if recorded == key:
            return None
        if recorded is None:
            raise FormatError(
                "what was learned before files were added is damaged",
                where=str(self.run.path / "shards" / "learned.bundle"),
                advice="learn it from all cases: run again with --resume --learn-again",
            )
        before = _learned_from(self.run.read("learned", "shards/learned.bundle"))
        if before.conditions != conditions:
            self.watch.say("the files that were added name other conditions: everything is learned and computed again")
            return None
        return before

    def _fitted(self, lessons: Lessons, rows: Questions, finding: str) -> PriorRecipe:
        study, models = rows.of_part(rows.parts[finding])
        said: Any = study
        total = partial(self._total, finding)
        return with_refits(fitted_recipe(said, models, lessons, total=total), total)

    def _total(self, finding: str, request: Request) -> Exact:
        """Sum over all shards."""
        settings = pickle.dumps((self.known_reading, self.models, request, self.asked.seed, finding))
        what = f"fitting the prior{f' of {finding}' if finding else ''}"
        found = self.worked(sum_shard, settings, what, self.sizes, "cases")
        parts: list[Exact | None] = [restored(result, CLASSES) for _, result in found]
        return merged(part for part in parts if part is not None)

    # Evaluation ------------------------------------------------------------------------------------------

    def evaluate_shards(self, settings: Settings) -> None:
        """Evaluate the shards that are not finished."""
        told = pickled(settings)
        basis = self._key_of(settings)
        keys = {name: digest(self.fingerprints[name], basis) for name in self.shards}
        left = [name for name in self.shards if not self.run.finished(name, keys[name])]
        self._tell_remarks()
        if 0 < len(left) < len(self.shards):
            self.watch.say(f"{len(self.shards) - len(left)} of {len(self.shards)} shards are finished")
        sizes = {name: self.sizes[name] for name in left}
        for name, result in self.worked(evaluate_shard, told, "evaluating", sizes, "cases"):
            outputs = restored(result, [])
            self.run.record(name, keys[name], {output_of(kind, name): data for kind, data in outputs.items()})

    def _tell_remarks(self) -> None:
        told = list(dict.fromkeys(remark.replace("shard examined-", "shard ") for remark in self.run.remarks))
        for remark in told[:MOST_REMARKS]:
            self.watch.say(remark)
        if len(told) > MOST_REMARKS:
            self.watch.say(f"and {len(told) - MOST_REMARKS} more shards are computed again")

    def _key_of(self, settings: Settings) -> str:
        """Hash everything that the numbers of a shard depend on besides its rows."""
        plan, learned = settings.plan, self.run.read("learned", "shards/learned.bundle")
        said = {
            "options": self.run.manifest.options,
            "specs": [spec.record() for spec in settings.specs],
            "metrics": [metric.record() for metric in plan.metrics],
            "depth": plan.depth,
            "unit": plan.unit,
            "reading": settings.reading.to_dict(),
            "reference": settings.reference,
        }
        return digest(json.dumps(said, sort_keys=True, default=str), learned)

    def _outputs(self, kind: str) -> Iterator[Any]:
        """Read the outputs of all shards that have them, in the order of shards."""
        for name in self.shards:
            if output_of(kind, name) in self.run.outputs(name):
                yield restored(self.run.read(name, output_of(kind, name)), CLASSES)

    def put_together(
        self, settings: Settings, examined: Examined, shown: Evaluation, shared: FloatArray | None
    ) -> Evaluation:
        """Merge the sums of all shards, and put them in the place of those of the cases that are shown."""
        sums: ShardSums = merged(self._outputs("sums"))
        excluded: Named = merged(self._outputs("excluded"))
        moved, apart = self._left_out(settings, examined)
        found = replace(
            shown,
            **settings.plan.rounded(sums.totals, sums.points),
            excluded=excluded.names,
            annotators=moved,
            shared=None if shared is None else Shared(shared, apart),
            whole=self._whole(settings, examined, sums, excluded),
        )
        return self._completed(found, settings)

    def _completed(self, found: Evaluation, settings: Settings) -> Evaluation:
        """Compute the metrics of a whole data set, run by run, from the labels of all shards."""
        plan = settings.plan
        metrics = whole_metrics(plan.metrics)
        if not metrics or not self.models:
            return found
        seen: SeenCases = merged(self._outputs("seen"))
        names = tuple(f"group {name}" for name in seen.groups) if seen.groups else seen.names
        weights = CaseWeights(plan.seed, seen.weights / plan.unit, names, bool(seen.groups), plan.unit)
        completion = Completion(
            metrics, seen.all_cases(weights, plan.categories), True, self.threads or available_threads()
        )
        runs = (self._joined_labels(f"labels {place}") for place in range(len(found.runs)))
        points = (self._joined_labels(f"point labels {place}") for place in range(len(found.points)))
        votes = Labels.joined(list(self._outputs("votes")))
        return with_columns(found, completion.columns(runs, points, votes, found), Kept(()))

    def _joined_labels(self, kind: str) -> LabelsByTruth:
        """Read the labels of one run, of all shards."""
        parts: list[LabelsByTruth] = list(self._outputs(kind))
        return {truth: Labels.joined([part[truth] for part in parts]) for truth in parts[0]}

    def _left_out(
        self, settings: Settings, examined: Examined
    ) -> tuple[tuple[AnnotatorSpread | None, ...], AnnotatorSpread | None]:
        """Leave annotators out of a sample of the cases: how far runs and the agreement with one move."""
        if not self.leaves_out:
            return tuple(None for _ in settings.specs), None
        rows = self.sample.select(list(examined.everyone.names)).questions
        design = design_of(rows.study, "sample")
        assert design is not None  # as they are asked for as a sample
        pieces = [Piece(self._learning(settings, rows, finding), own) for finding, own in rows.parts.items()]
        plan = pieces[0].plan
        left = LeftOut(pieces, rows.models, design, rows.findings, self.threads)
        with self.watch.progress(
            "leaving annotators out", len(design.case) * len(plan.aggregations), "cases"
        ) as advance:
            moved = left.spreads(advance)
        return moved, left.shared()

    def _learning(self, settings: Settings, rows: Questions, finding: str) -> Plan:
        """Take the aggregations of a part as they were asked for: without some annotators, they learn another thing."""
        plan = settings.informed(finding, *rows.of_part(rows.parts[finding]))
        prior = known_prior(plan.aggregations)
        return replace(plan, aggregations=tuple(informed_by(spec, prior) for spec in settings.specs))

    def _whole(self, settings: Settings, examined: Examined, sums: ShardSums, excluded: Named) -> Whole:
        masses = {place: one.masses for place, one in sums.bases.items()}
        is_grouped = examined.contents.has_groups or bool(self.findings)
        squares = squares_of(lambda: self._outputs("groups"), masses) if is_grouped else {}
        return Whole(
            n_cases=sums.bases["all", 0].n_cases,
            n_excluded=excluded.count,
            n_votes=sums.n_votes,
            n_annotators=examined.contents.n_annotators,
            bases={place: one.basis(squares.get(place), settings.plan.unit) for place, one in sums.bases.items()},
            shared=None if sums.shared is None else sums.shared.rounded(settings.plan.unit),
            certainties=sums.certainties,
            are_same=sums.are_same,
            disputed=self._disputed(settings, sums),
        )

    def _disputed(self, settings: Settings, sums: ShardSums) -> Evaluation | None:
        """Evaluate the cases with the least certainty once more, to be looked at."""
        if sums.disputed is None:
            return None
        names = sums.disputed.names
        asked = self.content_of(cases_of_rows(names, self.findings)).questions
        asked = asked.select(names) if self.findings else asked
        return settings.assembled(asked, settings.evaluated(asked))

    def _material(self, shown: Material, receipts: Sequence[Receipt]) -> Material:
        """Say of the cases that are shown which files all cases came from, and what was understood of them.

        The examples are of the cases that are shown: the first shard has others if cases are split differently.
        """
        opinions, *models = [
            replace(whole, examples=own.examples) for whole, own in zip(self.receipts, receipts, strict=True)
        ]
        return replace(
            shown,
            study=shown.study.with_receipt(opinions),
            predictions={
                name: said.with_receipt(receipt)
                for (name, said), receipt in zip(shown.predictions.items(), models, strict=True)
            },
            inputs=self._hashes(),
        )

    def _hashes(self) -> dict[str, str]:
        """Return the fingerprints of all files, by input and name."""
        called = {f"model {place}": name for place, name in enumerate(self.models)}
        return {
            f"{called.get(name, name)}/{FilePath(file).name}": fingerprint
            for name, files in self.run.manifest.inputs.items()
            for file, fingerprint in files.items()
        }


def without_shard(error: DissensusError) -> DissensusError:
    """Take the name of the shard from the place of an error that says which of the user's files it is in.

    >>> without_shard(DissensusError("a rank is missing", where="shard 0-00003, opinions, case 'x'")).where
    "opinions, case 'x'"
    """
    shard, _, place = error.where.partition(", ")
    if not shard.startswith("shard ") or not place:
        return error
    return type(error)(error.problem, expected=error.expected, got=error.got, where=place, advice=error.advice)


def prior_record_of(parts: Mapping[str, Taught], reason: str) -> PriorRecord:
    """Write down how much each model informs the prior, by finding if there are findings."""
    records = {
        finding: PriorRecord(
            tuple(table_of_models(one.recipe.rows).to_dicts()), one.recipe.concentrations, "", one.recipe.warnings
        )
        for finding, one in parts.items()
        if one.recipe is not None
    }
    return joined_records(records) if records else PriorRecord(reason=reason)


def _learned_from(data: bytes) -> Learned:
    found = restored(data, [Learned, Lessons, ChoiceCounts, ScoreRange, PriorRecipe])
    assert isinstance(found, Learned)
    return found


def _as_wide(model: Predictions, size: int) -> Predictions:
    """Make predictions of one case with so many conditions, in the place of all of a model."""
    codes = np.arange(size, dtype=np.int64)
    offsets = np.array([0, size], dtype=np.int64)
    return replace(
        model, case_names=model.case_names[:1], offsets=offsets, codes=codes, values=-codes.astype(np.float64)
    )
