"""Run work in this process, in others, or on other machines; results come in the order of the work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from dissensus.core.errors import DissensusError

Result = TypeVar("Result")

RETRIES = 3
"""How often a cluster sends work again because its worker died."""


def in_order(tasks: Iterable[Callable[[], Result]], threads: int) -> Iterator[Result]:
    """Call functions, some at a time, and give what they return in their order.

    >>> list(in_order([lambda: 1, lambda: 2], threads=2))
    [1, 2]
    """
    if threads == 1:
        yield from (task() for task in tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from _windowed((pool.submit(task) for task in tasks), 2 * threads)


def sent(
    executor: object, work: Callable[[bytes, bytes], bytes], settings: bytes, payloads: Iterable[Callable[[], bytes]]
) -> Iterator[bytes]:
    """Send work to an executor, and give the results in order; payloads are read when they are sent.

    Parameters
    ----------
    executor
        Of :mod:`concurrent.futures`, or a client of :mod:`dask.distributed`, which sends again what was lost.
    work
        A function of a module, from settings and a payload.

    Examples
    --------
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(sent(pool, lambda settings, payload: settings + payload, b"the ", [lambda: b"a", lambda: b"b"]))
    [b'the a', b'the b']
    """
    submit, n_workers = _place(executor)
    yield from _windowed((submit(work, settings, payload()) for payload in payloads), 2 * n_workers)


def _windowed(futures: Iterator[Future[Result]], most: int) -> Iterator[Result]:
    """Wait for the first of some futures before more work is sent."""
    waiting: deque[Future[Result]] = deque()
    try:
        for future in futures:
            waiting.append(future)
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _place(executor: Any) -> tuple[Callable[..., Any], int]:
    """Return what submits work, and how many workers there are."""
    if isinstance(executor, Executor):
        return executor.submit, int(getattr(executor, "_max_workers", 2))
    if hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):  # a client of dask.distributed
        n_workers = sum(worker.get("nthreads", 1) for worker in executor.scheduler_info()["workers"].values())

        def submit(*call: Any) -> Any:
            return executor.submit(*call, pure=False, retries=RETRIES)

        return submit, max(1, n_workers)
    raise DissensusError(
        "this cannot run the cases",
        expected="an executor of concurrent.futures, a client of dask.distributed, or nothing",
        got=type(executor).__name__,
    )
