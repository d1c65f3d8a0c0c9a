"""Work for the tests of executors: functions of a module, which processes find by their name."""

import os
import signal
import time
from pathlib import Path

from dissensus.core.errors import FormatError


def joined(settings: bytes, payload: bytes) -> bytes:
    return settings + b":" + payload


def refused(settings: bytes, payload: bytes) -> bytes:
    if payload == b"3":
        raise FormatError("a row has no case", where="data row 7")
    return joined(settings, payload)


def flaky(settings: bytes, payload: bytes) -> bytes:
    """Fail at the first attempt of every payload; the settings name a folder where attempts are noted."""
    note = Path(settings.decode()) / payload.decode()
    if not note.exists():
        note.touch()
        raise OSError("input/output error")
    return payload


def failing(settings: bytes, payload: bytes) -> bytes:
    """Fail whatever happens; the settings name a file in which attempts are noted."""
    with Path(settings.decode()).open("ab") as notes:
        notes.write(payload)
    return b"%d" % (1 // 0)


def killed(settings: bytes, payload: bytes) -> bytes:
    """Kill the worker at one payload."""
    if payload == b"3":
        os.kill(os.getpid(), signal.SIGKILL)
    return joined(settings, payload)


def worker_and_payload(settings: bytes, payload: bytes) -> bytes:
    time.sleep(float(settings))
    return b"%d:%s" % (os.getpid(), payload)


def noted(folder: str) -> None:
    """Note which process was here."""
    (Path(folder) / str(os.getpid())).touch()


def size(settings: bytes, payload: bytes) -> bytes:
    return settings + b"%d" % len(payload)


def unable() -> None:
    raise OSError("no compiler")


SCHEDULER = """
import asyncio
from distributed import Scheduler, Worker

async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address=None) as scheduler:
        async with Worker(scheduler.address, nthreads=1):
            print(scheduler.address, flush=True)
            await asyncio.sleep(600)

asyncio.run(serve())
"""
"""A program that serves a scheduler with one worker, and prints its address."""
