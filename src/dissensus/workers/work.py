"""Work in pieces: the same function on every shard, in this process, in others, or on other machines.

The work is a function from bytes to bytes, so that nothing but bytes travels, and it does not matter where it is done.
Few shards are under way at a time, and only their payloads are in memory. Workers die and machines hiccup: what was
lost is sent again. What cannot succeed is one error that names the shard.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias

from dissensus.core.errors import DissensusError

Work: TypeAlias = Callable[[bytes, bytes], bytes]
"""From settings and the payload of a shard to its result; a function of a module, which is sent by its name."""

RETRIES = 3
"""How often a shard is sent again because its worker died."""

SECOND_CHANCES = 1
"""How often a shard is sent again because its work failed otherwise, as may happen once on a flaky machine."""

PATIENCE = 1.0
"""Seconds after which workers are asked whether they are still there."""

GO_ON = "finished shards are kept: run again with --resume"


@dataclass(frozen=True)
class Task:
    """A shard that waits for its work.

    Attributes
    ----------
    name
        What the shard is called, once among all.
    payload
        Reads what the work needs. Called only when the shard is sent, so that few payloads are in memory, and again
        when it is sent again.

    Examples
    --------
    >>> Task("0-00012", lambda: b"rows").payload()
    b'rows'
    """

    name: str
    payload: Callable[[], bytes]


class Workers(Protocol):
    """What runs tasks.

    Attributes
    ----------
    n_workers
        How many run at the same time.
    """

    @property
    def n_workers(self) -> int:
        """How many tasks run at the same time."""
        ...

    def results(self, work: Work, settings: bytes, tasks: Iterable[Task]) -> Iterator[tuple[str, bytes]]:
        """Yield name and result of every task, in any order, as they come."""
        ...


def workers_of(executor: object | None) -> Workers:
    """Return what runs tasks.

    Parameters
    ----------
    executor
        None for this process, where one task runs after the other; an executor of ``concurrent.futures``, with threads
        or processes; or a client of ``dask.distributed``.

    Examples
    --------
    >>> tasks = [Task(name, name.encode) for name in ("a", "b")]
    >>> dict(workers_of(None).results(lambda settings, payload: settings + payload, b"the ", tasks))
    {'a': b'the a', 'b': b'the b'}
    """
    if executor is None:
        return Sent(Here())
    if isinstance(executor, Executor):
        return Sent(Pool(executor))
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(executor, distributed.Client):
        from dissensus.workers.cluster import Cluster

        return Sent(Cluster(executor))
    raise DissensusError(
        "this cannot run the shards",
        expected="an executor of concurrent.futures, a client of dask.distributed, or nothing",
        got=type(executor).__name__,
    )


# One loop for all ----------------------------------------------------------------------------------------


class Place(Protocol):
    """Where work is done: what differs between a process, executors and clusters."""

    @property
    def deaths(self) -> tuple[type[BaseException], ...]:
        """Exceptions that say that a worker died, and that another one can be tried."""
        ...

    @property
    def n_workers(self) -> int:
        """How many tasks run at the same time."""
        ...

    @property
    def window(self) -> int:
        """How many tasks are sent before their results are back."""
        ...

    def prepared(self, settings: bytes) -> Any:
        """Return what stands for the settings in every task."""
        ...

    def submit(self, work: Work, settings: Any, payload: bytes, *, name: str) -> Any:
        """Send a task; return a future."""
        ...

    def check(self, error: Exception | None = None) -> None:
        """Raise an error if nothing more can be expected, perhaps because of what a future told."""
        ...

    def cancel(self, futures: list[Any]) -> None:
        """Call back what has not begun."""
        ...


@dataclass(frozen=True)
class Sent:
    """Workers to whom tasks are sent, a few ahead."""

    place: Place

    @property
    def n_workers(self) -> int:
        """How many tasks run at the same time."""
        return self.place.n_workers

    def results(self, work: Work, settings: bytes, tasks: Iterable[Task]) -> Iterator[tuple[str, bytes]]:
        """Yield name and result of every task, in any order, as they come."""
        waiting = deque(Attempt(task) for task in tasks)
        n_tasks, n_finished = len(waiting), 0
        if not waiting:
            return
        course = Course(self.place, work, self.place.prepared(settings), waiting)
        try:
            while course.send():
                for name, result in course.received():
                    n_finished += 1
                    yield name, result
        except BrokenExecutor as error:
            raise _worker_died(n_finished, n_tasks) from error
        finally:
            course.cancel()


@dataclass(frozen=True)
class Attempt:
    """A task, how many of its workers have died, and how often its work has failed otherwise."""

    task: Task
    n_deaths: int = 0
    n_failures: int = 0

    def after(self, error: Exception, place: Place) -> Attempt:
        """Return the next attempt, or raise the error that ends the run."""
        where = f"shard {self.task.name}"
        if isinstance(error, DissensusError):
            raise error.at(where) from error
        if isinstance(error, BrokenExecutor):
            raise error
        died = isinstance(error, place.deaths)
        tried = replace(self, n_deaths=self.n_deaths + died, n_failures=self.n_failures + (not died))
        if tried.n_deaths > RETRIES:
            raise _workers_died(tried, error).at(where) from error
        if tried.n_failures > SECOND_CHANCES:
            raise _work_failed(error).at(where) from error
        return tried


@dataclass
class Course:
    """Tasks that wait, and those that are under way."""

    place: Place
    work: Work
    settings: Any
    waiting: deque[Attempt]
    under_way: dict[Any, Attempt] = field(default_factory=dict)
    done: SimpleQueue[Any] = field(default_factory=SimpleQueue)

    def send(self) -> bool:
        """Send tasks until the window is full; tell whether there is anything left to receive."""
        while self.waiting and len(self.under_way) < self.place.window:
            attempt = self.waiting.popleft()
            try:
                payload = attempt.task.payload()
            except Exception as error:  # noqa: BLE001 - reading is part of the work: it is tried again, or told
                self.waiting.appendleft(attempt.after(error, self.place))
                continue
            future = self.place.submit(self.work, self.settings, payload, name=attempt.task.name)
            self.under_way[future] = attempt
            future.add_done_callback(self.done.put)
        return bool(self.under_way)

    def received(self) -> Iterator[tuple[str, bytes]]:
        """Wait for a task; yield its result, or let it wait again."""
        future = self._first_done()
        attempt = self.under_way.pop(future)
        try:
            result: bytes = future.result()
        except Exception as error:  # noqa: BLE001 - whatever the work raised: it is sent again, or told
            self.place.check(error)
            self.waiting.appendleft(attempt.after(error, self.place))
            return
        yield attempt.task.name, result

    def _first_done(self) -> Any:
        while True:
            try:
                return self.done.get(timeout=PATIENCE)
            except Empty:
                self.place.check()

    def cancel(self) -> None:
        """Call back what has not begun."""
        self.place.cancel(list(self.under_way))


def _worker_died(n_finished: int, n_tasks: int) -> DissensusError:
    return DissensusError(
        "a worker died (killed, or out of memory)",
        got=f"{n_finished} of {n_tasks} shards are finished",
        advice="run again with --resume, with fewer workers if memory was short",
    )


def _workers_died(attempt: Attempt, error: Exception) -> DissensusError:
    return DissensusError(
        "the workers of a shard died, one after the other",
        expected=f"at most {RETRIES} of them",
        got=f"{attempt.n_deaths}; the last: {_told(error)}",
        advice=f"give workers more memory, or let fewer run at once; {GO_ON}",
    )


def _work_failed(error: Exception) -> DissensusError:
    return DissensusError("a shard could not be computed, twice", got=_told(error))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# Places --------------------------------------------------------------------------------------------------


class Here:
    """The process itself: one task after the other."""

    deaths: tuple[type[BaseException], ...] = ()
    n_workers = 1
    window = 1

    def prepared(self, settings: bytes) -> bytes:
        """Return the settings as they are."""
        return settings

    def submit(self, work: Work, settings: bytes, payload: bytes, *, name: str) -> Future[bytes]:  # noqa: ARG002
        """Do the work at once."""
        future: Future[bytes] = Future()
        try:
            future.set_result(work(settings, payload))
        except Exception as error:  # noqa: BLE001 - it is told by the future, as other places do
            future.set_exception(error)
        return future

    def check(self, error: Exception | None = None) -> None:
        """Find nothing wrong."""

    def cancel(self, futures: list[Future[bytes]]) -> None:
        """Find nothing under way."""


@dataclass(frozen=True)
class Pool:
    """Threads or processes of an executor."""

    executor: Executor
    deaths: tuple[type[BaseException], ...] = (CancelledError,)

    @property
    def n_workers(self) -> int:
        """How many threads or processes there are, as far as the executor says."""
        known = getattr(self.executor, "_max_workers", None)
        return known if isinstance(known, int) else os.cpu_count() or 1

    @property
    def window(self) -> int:
        """How many tasks are sent before their results are back."""
        return window_of(self.n_workers)

    def prepared(self, settings: bytes) -> bytes:
        """Return the settings as they are: they are sent along."""
        return settings

    def submit(self, work: Work, settings: bytes, payload: bytes, *, name: str) -> Future[bytes]:  # noqa: ARG002
        """Send a task to the executor."""
        try:
            return self.executor.submit(work, settings, payload)
        except BrokenExecutor:
            raise
        except RuntimeError as error:
            problem = "the executor takes no more work"
            raise DissensusError(problem, got=str(error), advice=f"give one that is open; {GO_ON}") from error

    def check(self, error: Exception | None = None) -> None:
        """Find nothing wrong: an executor tells by its futures."""

    def cancel(self, futures: list[Future[bytes]]) -> None:
        """Call back what has not begun."""
        for future in futures:
            future.cancel()


def window_of(n_workers: int) -> int:
    """Return how many tasks are sent ahead: enough that no worker waits, few enough for memory.

    >>> window_of(4)
    10
    """
    return 2 * n_workers + 2
