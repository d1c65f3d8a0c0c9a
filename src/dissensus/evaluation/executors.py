"""Run work in threads of this process; results come in the order of the work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_order(tasks: Iterable[Callable[[], Result]], threads: int) -> Iterator[Result]:
    """Call functions, some at a time, and give what they return in their order.

    >>> list(in_order([lambda: 1, lambda: 2], threads=2))
    [1, 2]
    """
    if threads == 1:
        yield from (task() for task in tasks)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * threads:  # wait for the first before more work is begun
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
