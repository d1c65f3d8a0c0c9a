"""Studies larger than memory on the command line: shards, runs that are resumed, and clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import DissensusError

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.results import Evaluation

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)")
"""An address of which a path has taken a slash."""


def as_given(path: Path) -> str:
    """Write a path as the user gave it: addresses have two slashes.

    >>> as_given(Path("s3://store/opinions"))
    's3://store/opinions'
    """
    return ADDRESS.sub(r"\1://", str(path), count=1) if ADDRESS.match(str(path)) else str(path)


def is_for_shards(
    file: Path, places: Mapping[str, Path], said: Mapping[str, Any], *, shard_size: int | None, resume: bool
) -> bool:
    """Tell whether files are evaluated shard by shard: it is asked for, or they are split or large."""
    from dissensus.cli.options import column_roles
    from dissensus.pieces.inputs import is_large, is_split

    if shard_size is not None or resume:
        return True
    models = [as_given(place) for place in places.values()]
    if is_split(as_given(file), columns=column_roles(said["column"])):
        return True
    return any(is_split(place, opinions=False) for place in models) or any(map(is_large, [as_given(file), *models]))


def evaluate_shards(
    file: Path,
    places: Mapping[str, Path],
    out: Path,
    *,
    said: Mapping[str, Any],
    kinds: Mapping[str, Any],
    aggregations: list[str] | None,
    prior: str | None,
    asked: dict[str, Any],
    allow_missing: bool,
    report: bool,
    remote_images: bool,
    cluster: tuple[int | None, str | None],
) -> None:
    """Evaluate Parquet files shard by shard, and show what came out."""
    from dissensus.cli import options
    from dissensus.cli.evaluate import show_results
    from dissensus.cli.progress import compile_on_first_use, progress_of
    from dissensus.cli.terminal import say
    from dissensus.evaluation.evaluator import chosen_aggregations, with_prior
    from dissensus.pieces.evaluation import PIECE_CASES, Watch, evaluate_files

    chosen = chosen_aggregations(aggregations)
    chosen = chosen if prior is None else with_prior(chosen, prior)
    reading = {
        **options.reading_options(said),
        "format": said["format"],
        "format_is_given": said["format"] is not None,
        "kinds": {name: kinds.get(name, kinds.get("")) for name in places if name in kinds or "" in kinds},
        "allow_missing": allow_missing,
    }
    compile_on_first_use("certainty", "evaluation", aggregations=chosen)
    asked["shard_size"] = asked["shard_size"] or PIECE_CASES
    strata = asked.pop("strata")
    watch = Watch(progress_of, lambda line: say(line, stderr=True), tell_receipts)
    if report:
        watch = replace(watch, beside=lambda found, place: _write_report(found, place, remote_images))
    with executor_of(*cluster) as executor:
        result = evaluate_files(
            as_given(file),
            {name: as_given(place) for name, place in places.items()},
            out,
            reading=reading,
            aggregations=chosen,
            strata=None if strata is None else as_given(strata),
            executor=executor,
            watch=watch,
            **{**asked, "threads": threads_of(cluster[0], asked["threads"])},
        )
    show_results(result, out)


def _write_report(result: Evaluation, place: Path, remote_images: bool) -> None:
    from dissensus.evaluation.store import REPORT
    from dissensus.report.page import write_report

    write_report(result, place / REPORT, remote_images=remote_images)


def tell_receipts(receipts: Sequence[Receipt]) -> None:
    """Tell what was understood of the files of opinions, then of each model."""
    from dissensus.cli.options import say_receipt, say_receipt_of_model

    say_receipt(receipts[0])
    for receipt in receipts[1:]:
        say_receipt_of_model(receipt)


def threads_of(workers: int | None, threads: int | None) -> int | None:
    """Return the threads that draw in every process: those of the machine are shared by its workers.

    >>> threads_of(None, None), threads_of(2, 3)
    (None, 3)
    """
    if threads is not None or workers is None:
        return threads
    from dissensus.aggregation.base import available_threads

    return max(1, available_threads() // workers)


@contextmanager
def executor_of(workers: int | None, dask: str | None) -> Iterator[object | None]:
    """Give what runs shards: nothing for this process, or a client of a cluster whose kernels are compiled."""
    if workers is None and dask is None:
        yield None
        return
    if workers is not None and dask is not None:
        raise DissensusError("--workers and --dask are both given", advice="give one of them")
    if workers is not None and workers < 1:
        raise DissensusError("--workers must be a number from 1", got=str(workers))
    from dissensus.compilation import compile_missing
    from dissensus.workers import check_versions, compiled_everywhere, connected, local_cluster

    place = connected(dask) if dask is not None else local_cluster(workers or 1, threads=1)
    with place as client:
        check_versions(client)
        compiled_everywhere(client, compile_missing)
        yield client
