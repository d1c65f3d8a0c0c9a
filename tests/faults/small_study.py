"""A study of five cases in files, and the command line on it: within this process, or as one of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_calls import Outcome

OPINIONS = """case,annotator,condition,rank
c1,Ann,Eczema,1
c1,Bo,Tinea,1
c2,Ann,Eczema,1
c2,Bo,Eczema,1
c3,Ann,Tinea,1
c3,Bo,Lupus,1
c4,Ann,Lupus,1
c4,Ann,Tinea,2
c5,Bo,Lupus,1
"""
SCORES = """case,Eczema,Tinea,Lupus
c1,0.5,0.3,0.2
c2,0.6,0.3,0.1
c3,0.2,0.5,0.3
c4,0.2,0.2,0.6
c5,0.1,0.2,0.7
"""
NOBODY = 65534
PAGE = 4096
EVALUATE = (
    *("evaluate", "opinions.csv", "--predictions", "A=A.csv", "--aggregation", "plackett-luce:3"),
    *("--metric", "top-k-accuracy:1", "--draws", "40", "--no-report", "--quiet", "--out", "results"),
)
PROCESS = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from dissensus import cli
run = cli._run
cli._run = lambda: (print("ready", flush=True), run())
cli.main()
"""
"""The command line as a process that tells when it begins, and can be interrupted even if the tests cannot."""


PATIENCE = 120


def put_study(folder: Path) -> None:
    """Write the opinions, and the predictions of a model."""
    (folder / "opinions.csv").write_text(OPINIONS)
    (folder / "A.csv").write_text(SCORES)


def entries(place: Path) -> list[str]:
    """Name everything in a directory, hidden files too."""
    return sorted(os.listdir(place))  # noqa: PTH208 - hidden files count


def snapshot(place: Path) -> dict[str, bytes]:
    """Return the content of every file of a directory."""
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@contextmanager
def another_user() -> Iterator[None]:
    """Be somebody whom permissions hold back."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def mounted(place: Path, pages: int) -> Iterator[Path]:
    """Give a file system of its own with so many pages."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(place)]
    outcome = subprocess.run(mount, capture_output=True, text=True, check=False)
    if outcome.returncode:
        pytest.skip(f"no file system can be mounted: {outcome.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@contextmanager
def started(folder: Path, *words: str, code: str = PROCESS, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command line, or other code, in a folder, and wait for its first line: it is about to run."""
    path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert code != PROCESS or process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], number: int | None = None, moment: float | None = None) -> Outcome:
    """Send a signal to a process some time from now, if it still runs, and wait for its end."""
    if number is not None:
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out, err)


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait for something to happen."""
    for _ in range(PATIENCE * 1000):
        if happened():
            return
        time.sleep(0.001)
    raise AssertionError(what)


def status(process: int | str) -> list[str]:
    """Return what the system says of a process, its state and its parent first; nothing if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def children(process: int) -> list[int]:
    """Find the processes that a process started."""
    known = [place.parent.name for place in Path("/proc").glob("[0-9]*/stat")]
    return [int(one) for one in known if status(one)[1:2] == [str(process)]]
