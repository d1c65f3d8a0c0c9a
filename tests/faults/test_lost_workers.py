"""Workers and schedulers that are killed while the command works: nothing is lost, and what happened is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.large_study import EVALUATE, RESUME, content_of, put_large_study, sums_of, until
from faults.small_study import PROCESS, entries
from workers.pieces_of_work import SCHEDULER

if not Path("/proc/self/stat").exists():
    pytest.skip("processes are found in /proc", allow_module_level=True)
pytest.importorskip("distributed")

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@contextmanager
def started(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command line in a folder."""
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run in one process writes."""
    folder = tmp_path_factory.mktemp("whole")
    put_large_study(folder)
    with started(folder, *EVALUATE) as process:
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return content_of(folder / "run")


def has_pieces(run: Path, count: int) -> bool:
    return len(sums_of(run)) >= count


def workers(process: int) -> list[int]:
    """Find the processes below a process that work: they were started by one that watches them."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [child for child, parent in parents.items() if parent == process and _is_worker(child)]


def _is_worker(process: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_worker_that_is_killed_changes_no_byte(whole: dict[str, bytes], tmp_path: Path) -> None:
    put_large_study(tmp_path)
    with started(tmp_path, *EVALUATE, "--workers", "2") as process:
        until(lambda: has_pieces(tmp_path / "run", 1), "no piece is finished")
        found = workers(process.pid)
        assert found, "there is no worker"
        os.kill(found[0], signal.SIGKILL)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert content_of(tmp_path / "run") == whole
    assert entries(tmp_path) == ["A", "run", "study"]


def test_a_lost_scheduler_is_one_error_and_the_run_goes_on_without_it(whole: dict[str, bytes], tmp_path: Path) -> None:
    put_large_study(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SCHEDULER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    ) as scheduler:
        try:
            assert scheduler.stdout is not None
            address = scheduler.stdout.readline().strip()
            with started(tmp_path, *EVALUATE, "--dask", address) as process:
                until(lambda: has_pieces(tmp_path / "run", 1), "no piece is finished")
                # so that the last piece is not finished by then, however fast it is
                os.kill(process.pid, signal.SIGSTOP)
                is_over = has_pieces(tmp_path / "run", len([name for name in whole if name.endswith(".sums")]))
                scheduler.kill()
                scheduler.wait()
                os.kill(process.pid, signal.SIGCONT)
                _, err = process.communicate(timeout=300)
        finally:
            scheduler.kill()
    if not is_over:
        assert process.returncode == 2, err
        assert err.count("error: ") == 1
        assert "the scheduler of the cluster was lost" in err
        assert "--resume" in err
        assert "Traceback" not in err
    with started(tmp_path, *RESUME) as process:
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert content_of(tmp_path / "run") == whole
