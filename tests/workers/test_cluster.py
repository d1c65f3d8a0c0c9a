"""Shards on a real cluster, on the loopback address: workers die, schedulers are lost, and the results are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from distributed import Client
from distributed.client import FutureCancelledError

from dissensus.core.errors import DissensusError, FormatError, MissingExtraError
from dissensus.core.interruption import UNDERWAY
from dissensus.workers import cluster
from dissensus.workers.cluster import Cluster, check_versions, compiled_everywhere, connected, done_there, local_cluster
from dissensus.workers.work import Task, window_of, workers_of
from workers import pieces_of_work as pieces

pytestmark = [
    pytest.mark.cluster,
]

N_WORKERS = 2


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with local_cluster(N_WORKERS, threads=1) as found:
        yield found


def tasks_of(count: int, *, size: int = 0) -> list[Task]:
    return [Task(f"0-{number:05}", partial(payload_of, number, size)) for number in range(count)]


def payload_of(number: int, size: int) -> bytes:
    return b"%d" % number + bytes(size)


def processes_of(client: Client) -> list[int]:
    return list(client.run(os.getpid).values())


def wait_for_workers(client: Client) -> None:
    client.wait_for_workers(N_WORKERS, timeout=30)


def test_every_result_comes_once_with_its_name(client: Client) -> None:
    workers = workers_of(client)
    assert workers.n_workers == N_WORKERS
    found = list(workers.results(pieces.joined, b"set", tasks_of(30)))
    assert sorted(found) == [(f"0-{number:05}", b"set:%d" % number) for number in range(30)]


def test_all_workers_work(client: Client) -> None:
    found = dict(workers_of(client).results(pieces.worker_and_payload, b"0.02", tasks_of(20)))
    assert len({result.partition(b":")[0] for result in found.values()}) == N_WORKERS


def test_large_payloads_are_sent_without_a_word(client: Client) -> None:
    found = dict(workers_of(client).results(pieces.size, b"", tasks_of(3, size=12_000_000)))
    assert set(found.values()) == {b"12000001"}


def test_few_payloads_are_read_before_they_are_needed(client: Client) -> None:
    read: list[int] = []

    def payload(number: int) -> bytes:
        read.append(number)
        return b"x"

    tasks = [Task(str(number), partial(payload, number)) for number in range(40)]
    for finished, _ in enumerate(workers_of(client).results(pieces.joined, b"", tasks), start=1):
        assert len(read) - finished < window_of(N_WORKERS)
    assert sorted(read) == list(range(40))


def test_an_error_of_the_house_is_raised_as_it_is_with_the_name_of_the_shard(client: Client) -> None:
    with pytest.raises(FormatError) as caught:
        list(workers_of(client).results(pieces.refused, b"", tasks_of(30)))
    assert (caught.value.problem, caught.value.where) == ("a row has no case", "shard 0-00003, data row 7")


def test_work_that_fails_once_is_done_again(client: Client, tmp_path: Path) -> None:
    found = dict(workers_of(client).results(pieces.flaky, str(tmp_path).encode(), tasks_of(8)))
    assert sorted(found.values()) == [b"%d" % number for number in range(8)]


def test_work_that_fails_twice_is_one_error(client: Client, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="ZeroDivisionError") as caught:
        list(workers_of(client).results(pieces.failing, str(tmp_path / "notes").encode(), tasks_of(1)))
    assert caught.value.where == "shard 0-00000"
    assert (tmp_path / "notes").read_bytes() == b"00"


def test_what_is_under_way_is_cancelled_when_the_run_ends_early(client: Client) -> None:
    results = workers_of(client).results(pieces.worker_and_payload, b"0.05", tasks_of(100))
    next(results)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]  # it is a generator
    deadline = time.monotonic() + 10
    while client.processing() and any(client.processing().values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_versions_that_are_the_same_pass(client: Client) -> None:
    check_versions(client)


@pytest.mark.parametrize("name", ["python", "numpy", "dissensus"])
def test_workers_with_other_versions_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    here = cluster.versions_here()
    monkeypatch.setattr(cluster, "versions_here", lambda: {**here, name: "0.0.1"})
    with pytest.raises(DissensusError, match=f"another version of {name}") as caught:
        check_versions(client)
    assert caught.value.expected == "0.0.1, as here"
    assert here[name] in caught.value.got


def test_a_worker_that_joins_late_with_other_versions_does_no_work() -> None:
    versions = {**cluster.versions_here(), "numba": "0.0.1"}
    with pytest.raises(DissensusError, match="another version of numba"):
        done_there(pieces.joined, b"", b"", versions)


def test_one_worker_of_every_host_compiles(client: Client, tmp_path: Path) -> None:
    compiled_everywhere(client, partial(pieces.noted, str(tmp_path)))
    (worker,) = tmp_path.iterdir()
    assert int(worker.name) in processes_of(client)


def test_a_host_that_cannot_compile_is_told(client: Client) -> None:
    with pytest.raises(DissensusError, match="could not compile") as caught:
        compiled_everywhere(client, pieces.unable)
    assert (caught.value.where, caught.value.got) == ("127.0.0.1", "OSError: no compiler")


def test_a_worker_that_is_killed_costs_nothing_but_time(client: Client) -> None:
    wait_for_workers(client)
    found: dict[str, bytes] = {}
    victim = 0
    for name, result in workers_of(client).results(pieces.worker_and_payload, b"0.04", tasks_of(40)):
        process, _, found[name] = result.partition(b":")
        if not victim:  # which has begun its next shard by now
            victim = int(process)
            os.kill(victim, signal.SIGKILL)
    assert found == {f"0-{number:05}": b"%d" % number for number in range(40)}
    wait_for_workers(client)
    assert victim not in processes_of(client)


def test_a_shard_that_kills_its_worker_once_is_computed_by_another(client: Client, tmp_path: Path) -> None:
    wait_for_workers(client)
    found = dict(workers_of(client).results(pieces.killed_once, str(tmp_path).encode(), tasks_of(10)))
    assert sorted(found.values()) == [b"%d" % number for number in range(10)]


def test_a_shard_that_kills_every_worker_is_one_error(client: Client) -> None:
    wait_for_workers(client)
    with pytest.raises(DissensusError, match="died, one after the other") as caught:
        list(workers_of(client).results(pieces.killed, b"", [Task("0-00003", lambda: b"3")]))
    assert caught.value.where == "shard 0-00003"
    assert "--resume" in caught.value.advice


# Clusters of their own -----------------------------------------------------------------------------------


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a scheduler with a worker in a process of its own; give its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", pieces.SCHEDULER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_an_existing_scheduler_is_used_and_its_loss_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with served() as (process, address), connected(address) as client:
        check_versions(client)
        results = workers_of(client).results(pieces.worker_and_payload, b"0.05", tasks_of(100))
        assert next(results)[1].startswith(b"%d:" % process.pid)
        process.kill()
        start = time.monotonic()
        with pytest.raises(DissensusError, match="the scheduler of the cluster was lost") as caught:
            list(results)
        assert "--resume" in caught.value.advice
        assert time.monotonic() - start < 8
        with pytest.raises(DissensusError, match="the scheduler of the cluster was lost"):
            list(workers_of(client).results(pieces.joined, b"", tasks_of(2)))
    assert capfd.readouterr().err == ""


def test_a_cluster_that_is_closed_while_it_works_is_told() -> None:
    with local_cluster(1, threads=2) as client:
        assert workers_of(client).n_workers == 2
        results = workers_of(client).results(pieces.worker_and_payload, b"0.05", tasks_of(100))
        next(results)
        assert client.cluster is not None
        client.cluster.close()
        with pytest.raises(DissensusError, match="the scheduler of the cluster was lost"):
            list(results)


def test_tasks_that_went_with_their_scheduler_are_not_sent_to_the_next_one(client: Client) -> None:
    place = Cluster(client)
    place.check(CancelledError())
    with pytest.raises(DissensusError, match="the scheduler of the cluster was lost"):
        place.check(FutureCancelledError("shard-0", "scheduler-connection-lost"))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "ftp://127.0.0.1:1"])
def test_a_scheduler_that_does_not_answer_is_told(
    address: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with pytest.raises(DissensusError, match="no scheduler answers there") as caught, connected(address):
        pass
    assert caught.value.got == address
    assert capfd.readouterr().err == ""


def test_the_directory_of_workers_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with local_cluster(1, threads=1):
        (place,) = tmp_path.iterdir()
        assert str(place) in UNDERWAY
    assert list(tmp_path.iterdir()) == []
    assert str(place) not in UNDERWAY


LONG = """
import os, signal, sys
from dissensus.core.interruption import told_when_interrupted
from dissensus.workers.cluster import local_cluster
from dissensus.workers.work import Task, workers_of
from workers import pieces_of_work as pieces

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if whoever started the tests ignores it
    with told_when_interrupted(), local_cluster(1, threads=1) as client:
        print(*client.run(os.getpid).values(), flush=True)
        list(workers_of(client).results(pieces.worker_and_payload, b"0.1", [Task(str(i), bytes) for i in range(600)]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", LONG]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: workers get it too
        else:
            process.kill()
        _, err = process.communicate(timeout=15)
        deadline = time.monotonic() + 15
        while is_running(worker):
            assert time.monotonic() < deadline, "the worker is left behind"
            time.sleep(0.1)
    if number == signal.SIGINT:
        assert err == "interrupted; nothing was written\n"
        assert list(tmp_path.iterdir()) == []


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_an_asynchronous_client_is_refused() -> None:
    class Asynchronous(Client):
        asynchronous = True

        def __init__(self) -> None:
            pass

        def __del__(self) -> None:
            pass

    with pytest.raises(DissensusError, match="asynchronous"):
        workers_of(Asynchronous())


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"dissensus\[dask\]"), connected("tcp://127.0.0.1:1"):
        pass
    with pytest.raises(MissingExtraError, match=r"dissensus\[dask\]"), local_cluster(1, threads=1):
        pass
