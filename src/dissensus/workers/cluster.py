"""Shards on a cluster of Dask: the same work, sent to workers on this machine or on others.

Nothing here computes anything: what comes back is what one process would have computed. Workers may come, go and die.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata
from multiprocessing import resource_tracker
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import DissensusError, MissingExtraError
from dissensus.core.interruption import UNDERWAY
from dissensus.core.versions import VERSIONED
from dissensus.workers.work import GO_ON, PATIENCE, Work, window_of

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER = 10
"""Seconds that a scheduler has to answer."""

LARGEST = "100GB"
"""A payload may be large; the window keeps few of them under way, so that Dask need not warn."""

SCHEDULER = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "allowed_failures": 0}
"""No dashboard; what is left of its server takes any port. Shards whose worker died are sent again from here."""

SHOWN = 3
"""Of so many workers it is told what they have instead."""


# Clusters ------------------------------------------------------------------------------------------------


OF_LOCAL_WORKERS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 26,
    "distributed.worker.profile.enabled": False,
}
"""Settings of Dask under which a shard takes no longer than in a process of its own: by default its workers give the
memory of every array back to the system at once, and look a hundred times a second at what they do."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Give a client of a scheduler that runs already.

    Parameters
    ----------
    address
        Such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    DissensusError
        If nobody answers there within 10 seconds.

    Examples
    --------
    >>> with local_cluster(1, threads=1) as there, connected(there.scheduler.address) as client:
    ...     check_versions(client)
    """
    distributed = _distributed()
    with _quiet():
        try:
            client = distributed.Client(address, timeout=ANSWER, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise DissensusError(
                "no scheduler answers there",
                expected="the address of a scheduler of Dask, such as tcp://10.0.0.5:8786",
                got=str(address),
                advice="see whether it runs, and whether this machine may reach it",
            ) from error
        try:
            yield client
        finally:
            if client.status != "running":  # then a thread complains once more, at a time of its own
                logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
            client.close(timeout=ANSWER)


@contextmanager
def local_cluster(n_workers: int, *, threads: int) -> Iterator[Client]:
    """Give a client of a cluster of processes on this machine, which ends with it.

    Parameters
    ----------
    n_workers
        Number of processes.
    threads
        Shards that each process computes at the same time.

    Examples
    --------
    >>> with local_cluster(1, threads=2) as client:
    ...     sum(client.nthreads().values())
    2
    """
    distributed = _distributed()
    with _quiet(), _temporary_directory():
        try:
            _start_tracker()
            cluster = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=threads,
                processes=True,
                host="127.0.0.1",
                silence_logs=logging.CRITICAL,
                preload=[__name__],
                scheduler_kwargs=SCHEDULER,
            )
        except (OSError, RuntimeError) as error:
            raise DissensusError("no workers could be started on this machine", got=str(error)) from error
        with cluster, distributed.Client(cluster, timeout=ANSWER, set_as_default=False) as client:
            yield client


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "computing on a cluster needs packages that are not installed",
            expected="dask and distributed",
            advice="pip install 'dissensus[dask]'",
        ) from error
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing what errors say anyway, between the lines of a progress bar."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _temporary_directory() -> Iterator[None]:
    """Let the cluster use a directory that is removed afterwards, even on Ctrl-C."""
    import dask

    place = tempfile.mkdtemp(prefix="dissensus-")
    remove = partial(shutil.rmtree, place, ignore_errors=True)
    UNDERWAY[place] = remove
    try:
        with dask.config.set({"temporary-directory": place, **OF_LOCAL_WORKERS}):
            yield
    finally:
        del UNDERWAY[place]
        remove()


def dask_setup(_: object) -> None:
    """Let a worker of a local cluster ignore Ctrl-C, which reaches it too: it ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _start_tracker() -> None:
    """Start the process that frees what belongs to a process that has ended, so that it does so without a word."""
    if os.name != "posix":
        return  # elsewhere there is none
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


# Workers -------------------------------------------------------------------------------------------------


def check_versions(client: Client) -> None:
    """Refuse workers whose Python or packages are not those of this process: their numbers would differ.

    Raises
    ------
    DissensusError
        With what is here and what is there.
    """
    here = versions_here()
    found: dict[str, dict[str, Any]] = {"python": client.run(platform.python_version, on_error="return")}
    found |= {name: client.run(metadata.version, name, on_error="return") for name in VERSIONED}
    for name, there in found.items():
        others = {address: version for address, version in there.items() if version != here[name]}
        if others:
            raise _other_versions(name, here[name], others)


def _other_versions(name: str, here: str, there: dict[str, Any]) -> DissensusError:
    told = [f"{_version_in_words(version)} on {address}" for address, version in there.items()]
    rest = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return DissensusError(
        f"workers have another version of {name}, and their numbers may differ",
        expected=f"{here}, as here",
        got=", ".join(told[:SHOWN]) + rest,
        advice="give workers and this process the same environment",
    )


def _version_in_words(version: object) -> str:
    return "none" if isinstance(version, Exception) else str(version)


@cache
def versions_here() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in VERSIONED}}


def compiled_everywhere(client: Client, compile: Callable[[], None]) -> None:  # noqa: A002 - it is what is done
    """Let one worker of every host compile the kernels; the others find them on disk.

    Parameters
    ----------
    client
        Of the cluster.
    compile
        What is called there: a function of a module, such as ``dissensus.compilation.compile_missing``. It runs as a
        task, beside what keeps a worker in touch with the scheduler.

    Raises
    ------
    DissensusError
        If the scheduler is lost, or as it was raised on a worker.
    """
    place = Cluster(client)
    with _lost_is_told(client):
        futures = {host: client.submit(compile, workers=[host], pure=False) for host in _hosts(client)}
        while waiting := {host for host, future in futures.items() if future.status == "pending"}:
            place.check()
            for host in waiting - _hosts(client):  # all its workers are gone: those who come compile when they need to
                futures.pop(host).cancel()
            time.sleep(PATIENCE / 10)
    for host, future in futures.items():
        _refuse_failed(place, host, future.exception())


def _refuse_failed(place: Cluster, host: str, error: BaseException | None) -> None:
    if isinstance(error, DissensusError):
        raise error.at(host) from error
    if isinstance(error, Exception):
        place.check(error)
        got = f"{type(error).__name__}: {error}"
        raise DissensusError("a worker could not compile the kernels", got=got, where=host) from error


def _hosts(client: Client) -> set[str]:
    from distributed.comm.addressing import get_address_host

    return {get_address_host(address) for address in client.nthreads()}


# Work ----------------------------------------------------------------------------------------------------


@dataclass
class Cluster:
    """Workers of a cluster, however many there are at the moment.

    Attributes
    ----------
    client
        Of the cluster.
    """

    client: Client
    _n_workers: int = 0
    _asked: float = field(default=-PATIENCE)

    def __post_init__(self) -> None:
        if self.client.asynchronous:
            raise DissensusError(
                "the client of Dask is asynchronous", expected="Client(...)", got="Client(..., asynchronous=True)"
            )

    @property
    def deaths(self) -> tuple[type[BaseException], ...]:
        """Exceptions that say that a worker died."""
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        return (KilledWorker, CancelledError, CommClosedError)

    @property
    def n_workers(self) -> int:
        """How many threads all workers have; workers may join and leave."""
        if time.monotonic() - self._asked > PATIENCE:
            self.check()
            with _lost_is_told(self.client):
                self._n_workers = sum(self.client.nthreads().values())
            self._asked = time.monotonic()
        return self._n_workers

    @property
    def window(self) -> int:
        """How many tasks are sent before their results are back."""
        return window_of(self.n_workers)

    def prepared(self, settings: bytes) -> Settings:
        """Return what stands for the settings."""
        return Settings(settings, self.client)

    def submit(self, work: Work, settings: Settings, payload: bytes, *, name: str) -> Future[bytes]:
        """Send a task to the scheduler, which keeps its payload until it is finished."""
        import dask

        key = f"shard-{name}-{secrets.token_hex(4)}"
        with _lost_is_told(self.client), dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGEST}):
            return self.client.submit(done_there, work, settings.there(), payload, versions_here(), key=key)

    def check(self, error: Exception | None = None) -> None:
        """Raise an error if the scheduler is lost."""
        if self.client.status != "running" or getattr(error, "reason", "") == "scheduler-connection-lost":
            raise _lost() from error

    def cancel(self, futures: list[Future[bytes]]) -> None:
        """Call tasks back, if there is still somebody to tell."""
        if futures:
            with suppress(DissensusError), _lost_is_told(self.client):  # if it is lost, so are the tasks
                self.client.cancel(futures, force=True)


@dataclass
class Settings:
    """Settings that every worker gets once: a task of their own, whose result workers pass on to each other."""

    content: bytes
    client: Client
    _future: Future[bytes] | None = None

    def there(self) -> Future[bytes]:
        """Return what stands for them; if all workers die that have them, the scheduler makes them again."""
        if self._future is None or self._future.status not in ("pending", "finished"):
            self._future = self.client.submit(bytes, self.content, key=f"settings-{secrets.token_hex(4)}")
        return self._future


def done_there(work: Work, settings: bytes, payload: bytes, versions: dict[str, str]) -> bytes:
    """Do the work on a worker, which may have joined after versions were compared.

    >>> done_there(lambda settings, payload: settings + payload, b"a", b"b", versions_here())
    b'ab'
    """
    here = versions_here()
    for name, version in versions.items():
        if here[name] != version:
            raise _other_versions(name, version, {f"worker {platform.node()}": here[name]})
    return work(settings, payload)


@contextmanager
def _lost_is_told(client: Client) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if client.status != "running" or isinstance(error, OSError):
            raise _lost() from error
        raise


def _lost() -> DissensusError:
    return DissensusError("the scheduler of the cluster was lost", advice=f"see whether it still runs; {GO_ON}")
