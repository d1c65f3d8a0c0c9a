"""Work in pieces: every result comes once, whatever fails on the way, and few payloads are in memory.

The cluster is real, on the loopback address: workers die, schedulers are lost, and the results are the same.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from distributed import Client

from command_calls import printed
from dissensus import workers
from dissensus.core.errors import DissensusError, FormatError, MissingExtraError
from dissensus.workers import compiled_everywhere, connected, local_cluster, n_workers, worked
from refusals import refused
from workers import pieces_of_work as pieces

N_WORKERS = 2
slow = pytest.mark.slow


def payloads(count: int, size: int = 0) -> dict[str, Callable[[], bytes]]:
    return {f"0-{number:05}": partial(payload_of, number, size) for number in range(count)}


def payload_of(number: int, size: int) -> bytes:
    return b"%d" % number + bytes(size)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with local_cluster(N_WORKERS, threads=1) as found:
        yield found


@pytest.fixture(params=["threads", "processes", pytest.param("cluster", marks=pytest.mark.cluster)])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cluster":
        yield request.getfixturevalue("client")
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            yield processes


# Everywhere ---------------------------------------------------------------------------------------------


def test_every_result_comes_once_with_its_name_and_few_payloads_are_read_ahead(executor: Any) -> None:
    read: list[int] = []

    def noted(number: int) -> bytes:
        read.append(number)
        return b"%d" % number

    given = {f"0-{number:05}": partial(noted, number) for number in range(40)}
    found, most = {}, 2 * n_workers(executor) + 2
    for finished, (name, result) in enumerate(worked(executor, pieces.joined, b"set", given), start=1):
        assert len(read) - finished < most
        found[name] = result
    assert found == {f"0-{number:05}": b"set:%d" % number for number in range(40)}
    assert list(worked(executor, pieces.joined, b"", {})) == []


def test_what_goes_wrong_is_one_error_that_names_the_piece(executor: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a row has no case") as caught:
        list(worked(executor, pieces.refused, b"", payloads(30)))
    assert caught.value.where == "data row 7"
    with pytest.raises(DissensusError, match="could not be computed") as failed:
        list(worked(executor, pieces.failing, str(tmp_path / "notes").encode(), payloads(1)))
    assert failed.value.got == "ZeroDivisionError: integer division or modulo by zero"
    assert failed.value.where == "piece 0-00000"

    def unreadable() -> bytes:
        raise FormatError("the file is cut off")

    with pytest.raises(FormatError, match="the file is cut off") as cut:
        list(worked(executor, pieces.joined, b"", {"1-00002": unreadable}))
    assert cut.value.where == "piece 1-00002"


def test_a_process_that_was_killed_is_one_error_that_says_how_to_go_on() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        found: list[str] = []
        with pytest.raises(DissensusError, match="a worker died") as caught:
            found.extend(name for name, _ in worked(processes, pieces.killed, b"", payloads(10)))
        assert f"{len(found)} of 10 pieces are finished" in str(caught.value)
        assert "--resume" in str(caught.value)
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    refused("cannot schedule new futures", list, worked(threads, pieces.joined, b"", payloads(1)))


class Held(Executor):
    """Begin nothing but the first task."""

    def __init__(self) -> None:
        self.futures: list[Future[bytes]] = []

    def submit(self, *_: Any) -> Future[bytes]:  # type: ignore[override]  # nothing is done
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(b"")
        return self.futures[-1]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("the caller failed")])
def test_what_is_under_way_is_cancelled_when_the_run_ends_early(error: BaseException) -> None:
    held = Held()
    results = worked(held, pieces.joined, b"", payloads(100))
    next(results)
    with pytest.raises(type(error)):
        results.throw(error)  # type: ignore[attr-defined]  # it is a generator
    assert len(held.futures) > 1
    assert all(future.cancelled() for future in held.futures[1:])


def test_what_runs_nothing_is_refused_and_executors_are_recognised_without_dask() -> None:
    for wrong in ("tcp://127.0.0.1:8786", ThreadPoolExecutor):
        caught = refused("this cannot run the pieces", n_workers, wrong)
        assert caught.got == type(wrong).__name__
    assert n_workers(ThreadPoolExecutor(7)) == 7
    script = "import sys; from concurrent.futures import ThreadPoolExecutor; from dissensus.workers import n_workers; "
    script += "n_workers(ThreadPoolExecutor(1)); print('distributed' in sys.modules, 'numpy' in sys.modules)"
    assert printed("-c", script) == "False False\n"


# On a cluster -------------------------------------------------------------------------------------------


@pytest.mark.cluster
def test_work_that_fails_once_is_done_again_and_large_payloads_are_sent(client: Client, tmp_path: Path) -> None:
    found = dict(worked(client, pieces.flaky, str(tmp_path).encode(), payloads(8)))
    assert sorted(found.values()) == [b"%d" % number for number in range(8)]
    large = dict(worked(client, pieces.size, b"", payloads(3, size=12_000_000)))
    assert set(large.values()) == {b"12000001"}


@pytest.mark.cluster
def test_workers_with_other_versions_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    here = workers.versions_here()
    monkeypatch.setattr(workers, "versions_here", lambda: {**here, "python": "3.0", "numpy": "0.0.1"})
    caught = refused("another version of 'python', 'numpy'", list, worked(client, pieces.joined, b"", payloads(3)))
    assert caught.expected == "python 3.0, numpy 0.0.1"
    assert f"numpy {here['numpy']}" in caught.got


@pytest.mark.cluster
def test_one_worker_of_every_host_compiles(client: Client, tmp_path: Path) -> None:
    compiled_everywhere(client, partial(pieces.noted, str(tmp_path)))
    (worker,) = tmp_path.iterdir()
    assert int(worker.name) in client.run(os.getpid).values()
    caught = refused("could not compile", compiled_everywhere, client, pieces.unable)
    assert (caught.where, caught.got) == ("127.0.0.1", "OSError: no compiler")


@slow
@pytest.mark.cluster
def test_a_piece_that_kills_every_worker_is_one_error(client: Client) -> None:
    client.wait_for_workers(N_WORKERS, timeout=30)
    caught = refused("died, one after the other", list, worked(client, pieces.killed, b"", {"0-00003": lambda: b"3"}))
    assert caught.where == "piece 0-00003"
    assert "--resume" in caught.advice


@pytest.mark.cluster
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_no_scheduler_answers(address: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(workers, "ANSWER", 0.5)
    with pytest.raises(DissensusError, match="no scheduler answers there") as caught, connected(address):
        pass
    assert caught.value.got == address
    assert capfd.readouterr().err == ""


LONG = """
import os
import signal
from dissensus.core.output import told_when_interrupted
from dissensus.workers import local_cluster, worked
from workers import pieces_of_work as pieces

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, interrupts are ignored
    with told_when_interrupted(), local_cluster(1, threads=1) as client:
        print(*client.run(os.getpid).values(), flush=True)
        list(worked(client, pieces.worker_and_payload, b"0.1", {str(i): bytes for i in range(600)}))
"""


@slow
@pytest.mark.cluster
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
        while Path(f"/proc/{worker}/stat").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text():
            assert time.monotonic() < deadline, "the worker is left behind"
            time.sleep(0.1)
    if number == signal.SIGINT:
        assert err == "interrupted; nothing was written\n"
        assert list(tmp_path.iterdir()) == []


def test_an_asynchronous_client_is_refused_and_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DissensusError, match="asynchronous"):
        n_workers(Mock(spec=Client, asynchronous=True))
    monkeypatch.setitem(sys.modules, "distributed", None)
    for begun in (connected("tcp://127.0.0.1:1"), local_cluster(1, threads=1)):
        with pytest.raises(MissingExtraError, match=r"dissensus\[dask\]"), begun:
            pass
