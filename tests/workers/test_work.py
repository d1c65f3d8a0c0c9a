"""Work in pieces: every result comes once, whatever fails on the way, and few payloads are in memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from dissensus.core.errors import DissensusError, FormatError
from dissensus.workers.work import RETRIES, Attempt, Pool, Sent, Task, Work, window_of, workers_of
from workers import pieces_of_work as pieces


def tasks_of(count: int) -> list[Task]:
    return [Task(f"0-{number:05}", lambda number=number: b"%d" % number) for number in range(count)]  # type: ignore[misc]  # a default binds the number


@pytest.fixture(params=["here", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "here":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            yield processes


def test_every_result_comes_once_with_its_name(executor: Executor | None) -> None:
    found = list(workers_of(executor).results(pieces.joined, b"set", tasks_of(30)))
    assert sorted(found) == [(f"0-{number:05}", b"set:%d" % number) for number in range(30)]


def test_nothing_to_do_gives_nothing(executor: Executor | None) -> None:
    assert list(workers_of(executor).results(pieces.joined, b"", [])) == []


def test_an_error_of_the_house_is_raised_as_it_is_with_the_name_of_the_shard(executor: Executor | None) -> None:
    with pytest.raises(FormatError) as caught:
        list(workers_of(executor).results(pieces.refused, b"", tasks_of(30)))
    assert caught.value.problem == "a row has no case"
    assert caught.value.where == "shard 0-00003, data row 7"


def test_work_that_fails_once_is_done_again(executor: Executor | None, tmp_path: Path) -> None:
    found = dict(workers_of(executor).results(pieces.flaky, str(tmp_path).encode(), tasks_of(8)))
    assert sorted(found.values()) == [b"%d" % number for number in range(8)]


def test_work_that_fails_twice_is_one_error_that_says_what_and_where(executor: Executor | None, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with pytest.raises(DissensusError) as caught:
        list(workers_of(executor).results(pieces.failing, str(notes).encode(), tasks_of(1)))
    assert caught.value.got == "ZeroDivisionError: integer division or modulo by zero"
    assert caught.value.where == "shard 0-00000"
    assert notes.read_bytes() == b"00"


def test_results_come_in_the_order_in_which_they_are_finished() -> None:
    with ThreadPoolExecutor(2) as threads:
        tasks = [Task(name, name.encode) for name in ("40", "1", "2", "3")]
        names = [name for name, _ in workers_of(threads).results(pieces.slow, b"", tasks)]
    assert sorted(names) == ["1", "2", "3", "40"]
    assert names[-1] == "40"


class Shuffled(Executor):
    """Finish tasks in random order, when the window is full or time is up."""

    _max_workers = 3

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.open: list[tuple[Future[bytes], Callable[..., bytes], tuple[bytes, bytes]]] = []

    def submit(self, work: Callable[..., bytes], /, *given: bytes) -> Future[bytes]:  # type: ignore[override]  # bytes only
        future: Future[bytes] = Future()
        self.open.append((future, work, given))  # type: ignore[arg-type]  # settings and payload
        threading.Timer(0.002, self.finish_one).start()
        return future

    def finish_one(self) -> None:
        future, work, given = self.open.pop(self.chance.randrange(len(self.open)))
        future.set_result(work(*given))


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_completion_gives_the_same_results(seed: int) -> None:
    found = dict(workers_of(Shuffled(seed)).results(pieces.joined, b"s", tasks_of(40)))
    assert found == {f"0-{number:05}": b"s:%d" % number for number in range(40)}


def test_few_payloads_are_read_before_they_are_needed(executor: Executor | None) -> None:
    read: list[int] = []
    tasks = [Task(str(number), lambda number=number: read.append(number) or b"") for number in range(60)]  # type: ignore[misc,func-returns-value]  # notes that it was read
    workers = workers_of(executor)
    most = 1 if executor is None else window_of(workers.n_workers)
    for finished, _ in enumerate(workers.results(pieces.joined, b"", tasks), start=1):
        assert len(read) - finished < most
        time.sleep(0.001)
    assert sorted(read) == list(range(60))


def test_no_payload_is_kept_once_its_result_is_there() -> None:
    class Payload(bytes):
        alive = 0

        def __new__(cls) -> Payload:
            Payload.alive += 1
            return super().__new__(cls, b"rows")

        def __del__(self) -> None:
            Payload.alive -= 1

    tasks = [Task(str(number), Payload) for number in range(50)]
    with ThreadPoolExecutor(2) as threads:
        for _ in workers_of(threads).results(pieces.joined, b"", tasks):
            assert Payload.alive <= window_of(2) + 2
    assert Payload.alive == 0


def test_a_payload_that_cannot_be_read_is_told_with_the_name_of_the_shard(executor: Executor | None) -> None:
    def unreadable() -> bytes:
        raise FormatError("the file is cut off")

    with pytest.raises(FormatError, match="the file is cut off") as caught:
        list(workers_of(executor).results(pieces.joined, b"", [Task("1-00002", unreadable)]))
    assert caught.value.where == "shard 1-00002"


def test_a_payload_that_can_be_read_at_the_second_attempt_is_used() -> None:
    attempts: list[int] = []

    def hiccup() -> bytes:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("stale file handle")
        return b"rows"

    assert dict(workers_of(None).results(pieces.joined, b"", [Task("a", hiccup)])) == {"a": b":rows"}


@pytest.mark.parametrize("n_before", [0, 3])
def test_a_process_that_was_killed_is_one_error_that_says_how_to_go_on(n_before: int) -> None:
    tasks = [Task(str(number), lambda: b"0") for number in range(n_before)] + tasks_of(10)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        found: list[str] = []
        with pytest.raises(DissensusError, match="a worker died") as caught:
            found.extend(name for name, _ in workers_of(processes).results(pieces.killed, b"", tasks))
        assert f"{len(found)} of {n_before + 10} shards are finished" in str(caught.value)
        assert "--resume" in str(caught.value)
        with pytest.raises(DissensusError, match="0 of 2 shards are finished"):
            list(workers_of(processes).results(pieces.joined, b"", tasks_of(2)))


def test_an_executor_that_was_shut_down_is_one_clear_error() -> None:
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(DissensusError, match="takes no more work"):
        list(workers_of(threads).results(pieces.joined, b"", tasks_of(1)))


class Mortal(Executor):
    """Let the first tries of every task be cancelled."""

    def __init__(self, n_deaths: int) -> None:
        self.n_deaths = n_deaths
        self.tries: dict[bytes, int] = {}

    def submit(self, work: Callable[..., bytes], /, *given: bytes) -> Future[bytes]:  # type: ignore[override]  # bytes only
        future: Future[bytes] = Future()
        self.tries[given[1]] = self.tries.get(given[1], 0) + 1
        if self.tries[given[1]] <= self.n_deaths:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(work(*given))
        return future


def test_a_task_whose_worker_died_is_sent_again_as_often_as_promised() -> None:
    mortal = Mortal(RETRIES)
    assert len(list(workers_of(mortal).results(pieces.joined, b"", tasks_of(5)))) == 5
    assert set(mortal.tries.values()) == {RETRIES + 1}


def test_a_task_whose_workers_always_die_is_one_error() -> None:
    with pytest.raises(DissensusError, match="died, one after the other") as caught:
        list(workers_of(Mortal(RETRIES + 1)).results(pieces.joined, b"", tasks_of(1)))
    assert caught.value.where == "shard 0-00000"
    assert "--resume" in caught.value.advice


def test_deaths_and_failures_are_counted_apart() -> None:
    place = Pool(ThreadPoolExecutor(1), deaths=(ConnectionError,))
    attempt = Attempt(tasks_of(1)[0])
    for _ in range(RETRIES):
        attempt = attempt.after(ConnectionError("gone"), place)
    attempt = attempt.after(KeyError("x"), place)
    assert (attempt.n_deaths, attempt.n_failures) == (RETRIES, 1)
    with pytest.raises(DissensusError, match="KeyError"):
        attempt.after(KeyError("x"), place)


class Held(Executor):
    """Begin nothing."""

    def __init__(self) -> None:
        self.futures: list[Future[bytes]] = []

    def submit(self, work: Work, /, *given: bytes) -> Future[bytes]:  # type: ignore[override]  # noqa: ARG002 - bytes only
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(b"")
        return self.futures[-1]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("the caller failed")])
def test_what_is_under_way_is_cancelled_when_the_run_ends_early(error: BaseException) -> None:
    held = Held()
    results = workers_of(held).results(pieces.joined, b"", tasks_of(100))
    next(results)
    with pytest.raises(type(error)):
        results.throw(error)  # type: ignore[attr-defined]  # it is a generator
    assert held.futures
    assert all(future.cancelled() for future in held.futures[1:])


def test_an_interrupt_while_waiting_cancels_and_propagates() -> None:
    script = (
        "import _thread, signal, threading\n"
        "from concurrent.futures import Executor, Future\n"
        "from dissensus.workers.work import Task, workers_of\n"
        "class Held(Executor):\n"
        "    futures = []\n"
        "    def submit(self, *given):\n"
        "        self.futures.append(Future())\n"
        "        return self.futures[-1]\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(0.3, _thread.interrupt_main).start()\n"
        "try:\n"
        "    list(workers_of(Held()).results(None, b'', [Task(str(i), bytes) for i in range(99)]))\n"
        "except KeyboardInterrupt:\n"
        "    print('propagated', all(future.cancelled() for future in Held.futures))\n"
    )
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert outcome.stdout == "propagated True\n", outcome.stderr


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:8786", 4, ThreadPoolExecutor])
def test_what_runs_nothing_is_refused(wrong: object) -> None:
    with pytest.raises(DissensusError, match="this cannot run the shards") as caught:
        workers_of(wrong)
    assert caught.value.got == type(wrong).__name__


def test_executors_are_recognised_without_dask() -> None:
    script = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from dissensus.workers.work import workers_of\n"
        "workers_of(None), workers_of(ThreadPoolExecutor(1))\n"
        "print('distributed' in sys.modules, 'numpy' in sys.modules)\n"
    )
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert outcome.stdout == "False False\n"


def test_the_number_of_workers_is_that_of_the_executor() -> None:
    assert workers_of(None).n_workers == 1
    assert workers_of(ThreadPoolExecutor(7)).n_workers == 7
    assert workers_of(Held()).n_workers >= 1
    assert isinstance(workers_of(None), Sent)
