"""A cluster as others run it: a scheduler and workers of Dask in processes of their own, and an object store.

The store is moto's server of S3 on this machine, which is not Amazon's.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

import dissensus as ds
from dissensus.pieces.evaluation import Watch
from dissensus.pieces.inputs import at_address
from dissensus.pieces.partition import Partition
from dissensus.pieces.run_directory import Storage
from dissensus.workers import connected
from faults.large_study import PIECES, content_of, put_cases, put_large_study, results_of
from faults.small_study import until
from refusals import refused

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

ASKED: dict[str, Any] = {
    "aggregations": ["plackett-luce:3"],
    "metrics": ["top-k-accuracy:1", "auroc"],
    "draws": 30,
    "shard_size": 5,  # so many pieces that they are merged on workers
    "threads": 1,
    "panel": True,
}
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "mine", "AWS_ALLOW_HTTP": "true"}
CREDENTIALS |= dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1")


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """An object store with a bucket, which all processes find by their environment."""
    server, s3fs = (
        pytest.importorskip(name, reason="the extra s3 and moto are needed") for name in ("moto.server", "s3fs")
    )
    serving = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    with pytest.MonkeyPatch.context() as patch:
        host, port = serving.get_host_and_port()
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        found = s3fs.S3FileSystem(skip_instance_cache=True)
        found.mkdir("bucket")
        yield found
    serving.stop()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    put_large_study(folder)
    put_cases(folder, range(5 * PIECES, 110), file="2")
    return folder


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of a scheduler with two workers, each in a directory of its own."""
    pytest.importorskip("distributed")
    with suppress(pytest.skip.Exception):  # what needs no store is tried without
        request.getfixturevalue("store")
    place = tmp_path_factory.mktemp("cluster")
    file, environment = place / "scheduler.json", {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    dask = [sys.executable, "-W", "ignore", "-m", "dask"]
    how: dict[str, Any] = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    shared = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *shared]
    worker = [*dask, "worker", "--nthreads", "1", *shared]
    with ExitStack() as started:
        for number, command in enumerate([scheduler, worker, worker]):
            (place / str(number)).mkdir()
            process = started.enter_context(subprocess.Popen(command, cwd=place / str(number), **how))
            started.callback(process.terminate)
            until(lambda: file.exists() and file.stat().st_size > 0, "no scheduler begins")
        with connected(json.loads(file.read_text())["address"]) as found:
            found.wait_for_workers(2, timeout=60)
            yield found


@pytest.fixture
def reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process read no piece; workers are others."""

    monkeypatch.setattr(Partition, "frames", Mock(side_effect=AssertionError("a piece passes through this process")))


@pytest.mark.usefixtures("reads_nothing")
@pytest.mark.parametrize("partitioned", [False, True])
def test_workers_read_and_write_pieces_themselves_and_give_the_same_bytes(
    study: Path, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitioned: bool
) -> None:
    monkeypatch.chdir(study)  # workers are elsewhere
    asked = {**ASKED, "partitioned": partitioned}
    found = ds.evaluate_files("study", {"A": "A"}, tmp_path / "there", executor=client, **asked)
    monkeypatch.undo()
    monkeypatch.chdir(study)
    once = ds.evaluate_files("study", {"A": "A"}, tmp_path / "here", **asked)
    assert found.to_frame().equals(once.to_frame())
    assert content_of(tmp_path / "there") == content_of(tmp_path / "here")
    assert len(list((tmp_path / "there" / "per_case").iterdir())) == (2 if partitioned else 22)


@pytest.mark.usefixtures("reads_nothing")
def test_everything_may_be_in_an_object_store(store: Any, study: Path, client: Any, tmp_path: Path) -> None:
    for name in ("study", "A"):
        store.put(str(study / name), f"bucket/{name}", recursive=True)
    given: Any = ("s3://bucket/study", {"A": "s3://bucket/A/*.parquet"}, tmp_path / "run")
    how = {**ASKED, "scratch": "s3://bucket/scratch", "executor": client}
    found = ds.evaluate_files(*given, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Partition, "frames", cast(Any, FRAMES))
        once = ds.evaluate_files(study / "study", {"A": study / "A"}, tmp_path / "here", **ASKED)
    assert found.to_frame().equals(once.to_frame())
    kept = {one.partition("/scratch/")[2].partition("/")[2] for one in store.find("bucket/scratch")}
    folders = ("pieces/", "per_case/", "certainty/")
    of_workers = {name for name in content_of(tmp_path / "here") if name.startswith(folders)}
    assert len(kept) == len(of_workers)
    assert {name for name in kept if "part-" in name} == {name for name in of_workers if "part-" in name}
    local = set(results_of(tmp_path / "run"))
    assert "summary.json" in local
    assert not any("part-" in name for name in local)
    # a piece that is lost is computed again, and no other one
    before = {one: store.info(one)["LastModified"] for one in store.find("bucket/scratch")}
    lost = min(name for name in before if name.endswith(".sums"))
    store.rm(lost)
    (tmp_path / "run" / "run.json").unlink()
    said: list[str] = []
    again = ds.evaluate_files(*given, **how, resume=True, watch=Watch(say=said.append))
    assert again.to_frame().equals(found.to_frame())
    assert said == ["21 of 22 pieces are finished"]
    # files that changed are refused, and those that came are added
    store.put(str(study / "A" / "2.parquet"), "bucket/A/1.parquet")
    refused(r"bucket/A/1\.parquet changed", ds.evaluate_files, *given, **how, resume=True)
    assert store.exists(lost)


FRAMES = Partition.frames


def test_a_store_that_refuses_is_one_error(store: Any, study: Path, tmp_path: Path) -> None:
    store.put(str(study / "study"), "bucket/opinions", recursive=True)
    wrong: dict[str, dict[str, Any]] = {
        "The specified bucket does not exist": {"study": "s3://nowhere/study"},
        "there is no file at the address": {"study": "s3://bucket/nothing"},
        "Could not connect": {"study": "s3://bucket/opinions", "scratch": "s3://bucket/scratch"},
    }
    for told, given in wrong.items():
        with pytest.MonkeyPatch.context() as patch:
            if "scratch" in given:
                patch.setattr(Storage, "names", unreachable)
            with pytest.raises(ds.DissensusError, match=told):
                ds.evaluate_files(predictions={"A": study / "A"}, directory=tmp_path / "run", **given, **ASKED)


def unreachable(storage: Storage, _: str) -> set[str]:
    """Ask a store at which nobody answers."""
    with at_address(storage.root):
        there = importlib.import_module("s3fs").S3FileSystem(endpoint_url="http://127.0.0.1:9")
        there.ls("bucket")
    return set()
