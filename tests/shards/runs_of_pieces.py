"""A small run for the tests of run directories; processes that are killed do it as well."""

from __future__ import annotations

import hashlib
from multiprocessing.synchronize import Event
from pathlib import Path

from dissensus.shards.directory import Manifest, RunDirectory

SHARDS = [f"0-{number:05}" for number in range(24)]
MANIFEST = Manifest(
    {"dissensus": "0.2.0", "numpy": "2.4.5"},
    {"study": {"a.parquet": "61", "b.parquet": "62"}, "model": {"m.parquet": "63"}},
    {"draws": 200, "seed": 7, "aggregations": ["dirichlet:1"], "prior": {"kind": "flat", "strength": 1.5}},
    n_buckets=24,
)


def outputs_of(name: str) -> dict[str, bytes]:
    """Return what the work of a shard gives: enough that writing takes a moment."""
    rows = hashlib.sha256(name.encode()).digest()
    return {f"per_case/part-{name}.parquet": rows * 4000, f"shards/tally/{name}.npz": rows * 100}


def write_results(run: RunDirectory, place: Path) -> None:
    """Write results that depend on the outputs of all shards."""
    whole = b"".join(run.read(name, f"shards/tally/{name}.npz") for name in SHARDS)
    (place / "summary.json").write_text(hashlib.sha256(whole).hexdigest())
    (place / "arrays.npz").write_bytes(whole)
    (place / "run.json").write_text("{}")


def go_on(path: Path, manifest: Manifest = MANIFEST) -> tuple[int, list[str]]:
    """Do what is left of a run; return how many shards were computed, and the remarks."""
    with RunDirectory.resumed(path, manifest) as run:
        left = [name for name in SHARDS if not run.finished(name, "in")]
        for name in left:
            run.record(name, "in", outputs_of(name))
        run.publish(lambda place: write_results(run, place))
        return len(left), run.remarks


def go_on_once_seen(path: Path, begun: Event) -> None:
    begun.set()
    go_on(path)


def hold(path: Path, begun: Event, end: Event) -> None:
    """Keep a run open until told."""
    with RunDirectory.resumed(path, MANIFEST):
        begun.set()
        end.wait(30)


def content_of(path: Path) -> dict[str, bytes]:
    """Return every file of a run but the one that says which process was there."""
    files = sorted(place for place in path.rglob("*") if place.is_file() and place.name != ".lock")
    return {place.relative_to(path).as_posix(): place.read_bytes() for place in files}
