"""Evaluate studies larger than memory: files in, a directory of results out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any, Literal

from dissensus.aggregation.base import Aggregation
from dissensus.core.aliases import Path
from dissensus.core.arguments import checked
from dissensus.core.checks import check_choice, check_count
from dissensus.core.errors import DissensusError, FormatError, listing, suggestion
from dissensus.core.versions import present_versions
from dissensus.draws import Plausibilities
from dissensus.evaluation.annotators import AnnotatorsAre
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.evaluator import (
    chosen_aggregations,
    listed_metrics,
)
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.store import REPORT, load_evaluation
from dissensus.metrics.base import Metric
from dissensus.shards.asked import Asked, Watch
from dissensus.shards.contents import Reading
from dissensus.shards.course import Course
from dissensus.shards.directory import Manifest, RunDirectory, is_run
from dissensus.shards.tables import Tables, is_address

SHARD_CASES = 10_000
"""How many cases a shard has, about, unless it is said."""


@checked
def evaluate_files(
    study: Path | Sequence[Path],
    predictions: Mapping[str, Path | Sequence[Path]],
    directory: Path,
    *,
    reading: Mapping[str, Any] | None = None,
    aggregations: Sequence[Aggregation | Plausibilities | str] | None = None,
    metrics: Sequence[Metric | str] | None = None,
    draws: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    categories: Categories | Path | None = None,
    strata: Path | Sequence[Path] | None = None,
    level: float = 0.9,
    annotators: AnnotatorsAre | None = None,
    panel: bool | None = None,
    reference: Literal["calibrated"] | None = None,
    shard_size: int = SHARD_CASES,
    resume: bool = False,
    learn_again: bool = False,
    overwrite: bool = False,
    executor: object | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Evaluate models on a study of any size, shard by shard, into a directory that a run can be resumed from.

    Parameters
    ----------
    study, predictions, strata
        Parquet files, directories of them, patterns or addresses: of opinions, by the name of every model, and of
        labels of cases, which may be one CSV or TSV file as well.
    directory
        Where results go; tables by case are in its directories ``per_case`` and ``certainty``.
    reading
        Options of :func:`read_annotations` and :func:`read_predictions` by name, such as ``{"conditions": [...]}``.
    aggregations, metrics, draws, seed, categories, level, annotators, panel, reference
        As in :func:`evaluate`; categories may be a file.
    threads
        Threads that draw in every process.
    shard_size
        About how many cases are evaluated at a time. It changes memory and speed, and no number.
    resume
        Go on with a run that was interrupted, or add the files that came since.
    learn_again
        With files that came since, learn again what is learned from all cases, such as how frequent conditions are; all
        shards are then computed again. Otherwise what was learned before is kept.
    overwrite
        Replace earlier results.
    executor
        An executor of :mod:`concurrent.futures` or a client of :mod:`dask.distributed`; by default shards are evaluated
        one after the other in this process.
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
    if reference is not None:
        check_choice("reference", reference, ("calibrated",))
    asked = Asked(
        chosen_aggregations(aggregations, question=_question_of(reading or {})),
        None if metrics is None else listed_metrics(metrics),
        draws,
        seed,
        level,
        annotators,
        panel,
        reference is not None,
        categories,
    )
    asked.check()
    check_count(shard_size=shard_size, **({} if threads is None else {"threads": threads}))
    refuse_inside(directory, [study, *predictions.values(), *([] if strata is None else [strata])])
    inputs = inputs_of(study, predictions, strata)
    how = reading_of(study, predictions, strata, reading or {})
    manifest = Manifest(
        present_versions(),
        {name: tables.fingerprints() for name, tables in inputs.items()},
        {**asked.options(), "reading": how.to_dict(), "models": list(predictions)},
        # that of the beginning holds, and counting cases takes a look at all of them
        n_buckets=1 if resume and is_run(directory) else n_buckets_of(inputs["study"], how, shard_size),
    )
    if resume:
        run = RunDirectory.resumed(directory, manifest)
    else:
        run = RunDirectory.new(directory, manifest, overwrite=overwrite)
    with run:
        if run.is_finished:
            known = None if learn_again else finished_results(run, watch or Watch())
            if known is not None:
                return known
            run.reopen()
        course = Course(
            run,
            asked,
            how,
            tuple(predictions),
            threads,
            executor,
            learn_again,
            watch or Watch(),
        )
        return course.result()


def _question_of(reading: Mapping[str, Any]) -> str:
    """Return what options of reading say was asked, if that is not which conditions."""
    if reading.get("format") == "checklist":
        return "findings"
    return str(reading.get("question") or ("binary" if reading.get("positive") else ""))


def refuse_inside(directory: Path, inputs: Sequence[Path | Sequence[Path]]) -> None:
    """Refuse to write below a directory that is an input: tables of the run would be taken for files of it."""
    for given in inputs:
        for part in [given] if isinstance(given, str | os.PathLike) else given:
            place = FilePath(str(part).partition("**")[0]).resolve()
            if not is_address(part) and place.is_dir() and FilePath(directory).resolve().is_relative_to(place):
                raise FormatError(
                    "the output directory is an input or inside of one",
                    got=str(directory),
                    where=str(part),
                    advice="choose another one: what is written would be read as input",
                )


def finished_results(run: RunDirectory, watch: Watch) -> Evaluation | None:
    """Return the results of a finished run if nothing of it has changed; otherwise say what has."""
    run.forget_input()
    wrong = run.faults()
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        watch.say(f"the run was finished, and is not as it was: {wrong[0]}{more}; what is missing is computed again")
        return None
    found = load_evaluation(run.path)
    watch.say("the run is finished, and nothing was added: these are its results")
    if not (run.path / REPORT).is_file():
        watch.beside(found, run.path)
    return found


def inputs_of(
    study: Path | Sequence[Path],
    predictions: Mapping[str, Path | Sequence[Path]],
    strata: Path | Sequence[Path] | None,
) -> dict[str, Tables]:
    """Find the files of every input."""
    models = {f"model {place}": Tables.of(given) for place, given in enumerate(predictions.values())}
    return {"study": Tables.of(study), **models, **({} if strata is None else {"strata": Tables.of(strata)})}


def reading_of(
    study: Path | Sequence[Path],
    predictions: Mapping[str, Path | Sequence[Path]],
    strata: Path | Sequence[Path] | None,
    options: Mapping[str, Any],
) -> Reading:
    """Say how files are read, and what the user calls them."""
    models = {name: _called(given) for name, given in predictions.items()}
    known = {part.name for part in fields(Reading)} - {"place", "models", "strata_place"}
    for name in options:
        if name not in known:
            raise DissensusError(
                f"there is no option {name!r} of reading",
                expected=listing(sorted(known), most=len(known)),
                advice=suggestion(str(name), known),
            )
    return Reading(_called(study), models, "" if strata is None else _called(strata), **options)


def _called(given: Path | Sequence[Path]) -> str:
    return listing(list(map(str, given))) if isinstance(given, list | tuple) else str(given)


def n_buckets_of(study: Tables, reading: Reading, shard_size: int) -> int:
    """Return into how many buckets cases are split, so that they have about as many as wanted."""
    return max(1, -(-study.n_distinct(reading.case_column(study)) // shard_size))
