"""Work in pieces: the same function on every piece, in this process, in others, or on other machines.

The work is a function of settings, which are bytes, and of what is worked on, often only a name: it does not matter
where it is done. Few pieces are under way at a time, and only their payloads are in memory. What is sent again when a
worker of Dask dies is left to Dask. What cannot succeed is one error that names the piece.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from dissensus.core.errors import DissensusError, MissingExtraError, listing
from dissensus.core.output import UNDERWAY

if TYPE_CHECKING:
    from distributed import Client

# From settings and the payload of a piece to its result; a function of a module, which is sent by its name.
Work: TypeAlias = Callable[[bytes, Any], Any]

# How many pieces are worked on at a time in this process, so that one is read and summed while one is drawn.
AT_ONCE = 2

# How often Dask does work again that failed, as may happen once on a flaky machine; pieces whose worker died are sent
# again as often as its scheduler allows.
RETRIES = 1

# Seconds after which it is asked whether a scheduler is still there.
PATIENCE = 1.0

# Seconds that a scheduler has to answer.
ANSWER = 10

GO_ON = "run again; with --resume, finished pieces are kept"

# A payload may be large; few of them are under way, so that Dask need not warn.
OF_DASK = {"distributed.admin.large-graph-warning-threshold": "100GB"}

# Settings of Dask under which a piece takes no longer than in a process of its own: by default its workers give the
# memory of every array back to the system at once, and look some hundred times a second at what they and others do.
OF_LOCAL_WORKERS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 26,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.worker.memory.monitor-interval": "1s",
}


# Work ----------------------------------------------------------------------------------------------------


def n_workers(executor: object) -> int:
    """Return how many pieces are worked on at the same time.

    Parameters
    ----------
    executor
        An executor of ``concurrent.futures``, with threads or processes, or a client of ``dask.distributed``.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> n_workers(ThreadPoolExecutor(3))
    3
    """
    if isinstance(executor, Executor):
        known = getattr(executor, "_max_workers", None)
        return known if isinstance(known, int) else os.cpu_count() or 1
    distributed = sys.modules.get("distributed")
    if distributed is None or not isinstance(executor, distributed.Client):
        expected = "an executor of concurrent.futures, a client of dask.distributed, or nothing"
        raise DissensusError("this cannot run the pieces", expected=expected, got=type(executor).__name__)
    if executor.asynchronous:
        got = "Client(..., asynchronous=True)"
        raise DissensusError("the client of Dask is asynchronous", expected="Client(...)", got=got)
    with explained(executor, sending=True):
        return max(1, int(sum(executor.nthreads().values())))


def worked(executor: Any, work: Work, settings: bytes, payloads: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and result of every piece, in any order, as they come.

    Parameters
    ----------
    executor
        As in :func:`n_workers`; without one, a few threads of this process.
    work, settings
        What is done, and what it is told besides the payload.
    payloads
        What is worked on, by the name of the piece; what is a function is called when the piece is sent, so that few
        of its results are in memory.

    Examples
    --------
    >>> dict(worked(None, lambda settings, payload: settings + payload, b"the ", {"a": b"x", "b": lambda: b"y"}))
    {'a': b'the x', 'b': b'the y'}
    """
    if executor is None:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            yield from worked(threads, work, settings, payloads)
            return
    window = 2 * n_workers(executor) + 2  # no worker waits, and few payloads are in memory
    told: Any = settings
    versions, how, quiet = dict[str, str](), dict[str, Any](), partial[Any](nullcontext)
    if not isinstance(executor, Executor):
        import dask

        # a task of its own, whose result workers pass on to each other, and which is made again if all of them die
        with explained(executor, sending=True):
            told = executor.submit(bytes, settings, pure=False)
        versions, how, quiet = versions_here(), {"retries": RETRIES, "pure": False}, partial(dask.config.set, OF_DASK)
    waiting, done = list(payloads.items())[::-1], SimpleQueue[Any]()
    under_way: dict[Any, str] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < window:
                name, payload = waiting.pop()
                with explained(executor, f"piece {name}", sending=True), quiet():
                    given = payload() if callable(payload) else payload
                    future = executor.submit(done_there, work, told, given, versions, **how)
                under_way[future] = name
                future.add_done_callback(done.put)
            try:
                future = done.get(timeout=PATIENCE)
            except Empty:
                _refuse_lost(executor)
                continue
            name = under_way.pop(future)
            with explained(executor, f"piece {name}"):
                result = future.result()
            if isinstance(result, DissensusError):  # the user's file says more than the name of the piece
                raise result if result.where else result.at(f"piece {name}")
            yield name, result
    except BrokenExecutor as error:
        done_before = len(payloads) - len(waiting) - len(under_way) - 1
        got = f"{done_before} of {len(payloads)} pieces are finished"
        advice = f"{GO_ON}, with fewer workers if memory was short"
        raise DissensusError("a worker died (killed, or out of memory)", got=got, advice=advice) from error
    finally:
        with suppress(Exception):  # if the scheduler is lost, so are its tasks
            for future in under_way:
                future.cancel()


def done_there(work: Work, settings: bytes, payload: Any, versions: Mapping[str, str]) -> Any:
    """Do the work on a worker, unless its Python or packages are others: numbers would differ.

    An error in words is a result: to be raised there would mean to be tried again.

    >>> done_there(lambda settings, payload: settings + payload, b"a", b"b", versions_here())
    b'ab'
    """
    here = versions_here() if versions else {}
    differ = [name for name, version in versions.items() if here.get(name) != version]
    if differ:
        problem = f"a worker has another version of {listing(differ)}, and its numbers may differ"
        expected, got = (", ".join(f"{name} {one.get(name)}" for name in differ) for one in (versions, here))
        where, advice = f"worker {platform.node()}", "give workers and this process the same environment"
        return DissensusError(problem, expected=expected, got=got, where=where, advice=advice)
    try:
        return work(settings, payload)
    except DissensusError as error:
        return error


@contextmanager
def explained(
    executor: object, where: str = "", *, sending: bool = False, problem: str = "a piece could not be computed"
) -> Iterator[None]:
    """Tell where something went wrong, or that the scheduler was lost, which ``sending`` may be the first to see."""
    try:
        yield
    except DissensusError as error:
        raise error.at(where) from error
    except BrokenExecutor:
        raise
    except Exception as error:
        _refuse_lost(executor, error, lost=sending and isinstance(error, OSError))
        advice, got = GO_ON, f"{type(error).__name__}: {error}"
        if type(error).__name__ == "KilledWorker":
            problem = "the workers of a piece died, one after the other"
            advice = f"give workers more memory, or let fewer run at once; {GO_ON}"
        raise DissensusError(problem, got=got, where=where, advice=advice) from error


def _refuse_lost(executor: object, error: BaseException | None = None, *, lost: bool = False) -> None:
    """Raise an error if the scheduler is lost."""
    is_running = getattr(executor, "status", "running") == "running"
    if lost or not is_running or getattr(error, "reason", "") == "scheduler-connection-lost":
        advice = f"see whether it still runs; {GO_ON}"
        raise DissensusError("the scheduler of the cluster was lost", advice=advice) from error


# Clusters ------------------------------------------------------------------------------------------------


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Give a client of a scheduler that runs already, at an address such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    DissensusError
        If nobody answers there within 10 seconds.

    Examples
    --------
    >>> with local_cluster(1, threads=1) as there, connected(there.scheduler.address) as client:
    ...     n_workers(client)
    1
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        expected = "the address of a scheduler of Dask, such as tcp://10.0.0.5:8786"
        advice, got = "see whether it runs, and whether this machine may reach it", str(address)
        raise DissensusError("no scheduler answers there", expected=expected, got=got, advice=advice) from error
    try:
        yield client
    finally:
        client.close(timeout=ANSWER)


@contextmanager
def local_cluster(n_workers: int, *, threads: int) -> Iterator[Client]:
    """Give a client of a cluster of processes on this machine, each with so many threads, which ends with it.

    Its files are in a temporary directory that is removed afterwards, even on Ctrl-C.

    Examples
    --------
    >>> with local_cluster(1, threads=2) as client:
    ...     sum(client.nthreads().values())
    2
    """
    distributed = _distributed()
    import dask

    place = tempfile.mkdtemp(prefix="dissensus-")
    UNDERWAY[place] = partial(shutil.rmtree, place, ignore_errors=True)
    try:
        with dask.config.set({"temporary-directory": place, **OF_LOCAL_WORKERS}):
            try:
                if os.name == "posix":  # what frees what belongs to a process that has ended, without a word
                    before = os.environ.get("PYTHONWARNINGS", "")
                    os.environ["PYTHONWARNINGS"] = f"{before},ignore:resource_tracker:UserWarning".lstrip(",")
                    resource_tracker.ensure_running()
                    os.environ["PYTHONWARNINGS"] = before  # if empty, it says nothing
                cluster = distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=threads,
                    processes=True,
                    host="127.0.0.1",
                    silence_logs=logging.CRITICAL,
                    preload=[__name__],
                    # what is left of the dashboard's server takes any port
                    scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                )
            except (OSError, RuntimeError) as error:
                raise DissensusError("no workers could be started on this machine", got=str(error)) from error
            with cluster, distributed.Client(cluster, timeout=ANSWER, set_as_default=False) as client:
                yield client
    finally:
        UNDERWAY.pop(place)()


def _distributed() -> ModuleType:
    """Import Dask, and keep it from writing what errors say anyway, between the lines of a progress bar."""
    try:
        import distributed
    except ImportError as error:
        problem = "computing on a cluster needs packages that are not installed"
        advice = "pip install 'dissensus[dask]'"
        raise MissingExtraError(problem, expected="dask and distributed", advice=advice) from error
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def dask_setup(_: object) -> None:
    """Let a worker of a local cluster ignore Ctrl-C, which reaches it too: it ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# Workers -------------------------------------------------------------------------------------------------


@cache
def versions_here() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    from dissensus.core.spec import present_versions  # which takes longer to import than most workers need

    return {"python": platform.python_version(), **present_versions()}


def compiled_everywhere(client: Client, compile: Callable[[], None]) -> None:  # noqa: A002 - it is what is done
    """Let one worker of every host compile the kernels; the others find them on disk.

    Parameters
    ----------
    client
        Of the cluster.
    compile
        What is called there: a function of a module, such as ``dissensus.compilation.compile_missing``.

    Raises
    ------
    DissensusError
        If the scheduler is lost, or as it was raised on a worker.
    """
    from distributed.comm.addressing import get_address_host

    with explained(client, sending=True):
        hosts = sorted({get_address_host(address) for address in client.nthreads()})
        # if all workers of a host are gone, others do it once more, which takes no time
        futures = {host: client.submit(compile, workers=[host], allow_other_workers=True, pure=False) for host in hosts}
    for host, future in futures.items():
        with explained(client, host, problem="a worker could not compile the kernels"):
            future.result()
