"""A disk that is full, and directories that may not be written: one message, nothing half-written, nothing left."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.small_study import EVALUATE, PAGE, Outcome, another_user, call, entries, mounted, put_study, snapshot

DRAWN = ("--aggregation", "dirichlet", "--draws", "20")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the study and its results, in which commands run."""
    folder = tmp_path_factory.mktemp("study")
    put_study(folder)
    (folder / "unnamed.json").write_text('{"rankings": [[[["a"], ["b"]]]], "conditions": ["a", "b"]}')
    return folder


@pytest.fixture
def disk(small_file_system: Path) -> Iterator[Path]:
    """A small disk that is empty."""
    yield small_file_system
    for place in list(small_file_system.iterdir()):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


@pytest.fixture(scope="module")
def small_file_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 16 pages of its own."""
    with mounted(tmp_path_factory.mktemp("disk"), 16) as place:
        yield place


@contextmanager
def filled(disk: Path, free_pages: int) -> Iterator[None]:
    """Leave a few pages of a disk free."""
    ballast = disk / "ballast"
    room = os.statvfs(disk)
    ballast.write_bytes(bytes(PAGE * (room.f_bavail * room.f_bsize // PAGE - free_pages)))
    try:
        yield
    finally:
        ballast.unlink()


COMMANDS: dict[str, tuple[str, ...]] = {
    "csv": ("convert", "opinions.csv", "{disk}/a.csv"),
    "tsv": ("convert", "opinions.csv", "{disk}/a.tsv"),
    "parquet": ("convert", "opinions.csv", "{disk}/a.parquet"),
    "jsonl": ("convert", "opinions.csv", "{disk}/a.jsonl"),
    "json": ("convert", "unnamed.json", "{disk}/a.json"),
    "certainty": ("certainty", "opinions.csv", *DRAWN, "--out", "{disk}/a.parquet"),
    "aggregate": ("aggregate", "opinions.csv", *DRAWN, "--out", "{disk}/a.csv"),
    "results": (*EVALUATE[:-1], "{disk}/results"),
    "html": ("report", "results", "--out", "{disk}/a.html"),
    "figure as html": ("plot", "results", "certainty", "--out", "{disk}/a.html"),
    "svg": ("plot", "results", "certainty", "--out", "{disk}/a.svg"),
    "pdf": ("plot", "results", "certainty", "--out", "{disk}/a.pdf"),
    "png": ("plot", "results", "certainty", "--out", "{disk}/a.png"),
    "compare": ("compare", "results", "--out", "{disk}/a.tsv"),
}


@pytest.fixture
def run(study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> pytest.MonkeyPatch:
    """Run commands where the study is, with results at hand."""
    monkeypatch.chdir(study)
    if not (study / "results").exists():
        assert call(monkeypatch, capsys, EVALUATE).code == 0
    return monkeypatch


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk_is_told_and_nothing_is_left(
    run: pytest.MonkeyPatch, disk: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with filled(disk, 0):
        check_refused(call(run, capsys, [word.format(disk=disk) for word in words]), "no space left on device")
        assert entries(disk) == ["ballast"]


def check_refused(outcome: Outcome, told: str) -> None:
    """Assert that a command ended with an error in words."""
    assert outcome.code == 2, outcome
    assert "error: " in outcome.err
    assert told in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "free_pages", [pytest.param(number, marks=[pytest.mark.slow][: number != 3]) for number in range(1, 7)]
)
def test_results_for_which_there_is_not_enough_space_leave_the_old_ones(
    run: pytest.MonkeyPatch, disk: Path, capsys: pytest.CaptureFixture[str], free_pages: int
) -> None:
    words = [word.format(disk=disk) for word in COMMANDS["results"]]
    (disk / "results").mkdir()
    (disk / "results" / "run.json").write_text('{"format": "dissensus results"}')
    before = snapshot(disk / "results")
    with filled(disk, free_pages):
        check_refused(call(run, capsys, [*words, "--overwrite"]), "no space left on device")
        assert entries(disk) == ["ballast", "results"]
        assert snapshot(disk / "results") == before


def test_of_two_tables_none_is_written_if_the_second_does_not_fit(
    run: pytest.MonkeyPatch, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("aggregate", "opinions.csv", "--aggregation", "dirichlet", "--draws", "2000")
    with filled(disk, 2):
        both = [*words, "--out", disk / "soft.csv", "--draws-out", disk / "draws.parquet"]
        check_refused(call(run, capsys, both), "draws.parquet")
        assert entries(disk) == ["ballast"]


# Read-only directories ----------------------------------------------------------------------------------


@pytest.fixture
def locked(study: Path) -> Iterator[Path]:
    """A directory with an old result that can be read and not written."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        put_study(top)
        (top / "unnamed.json").write_bytes((study / "unnamed.json").read_bytes())
        (top / "results").mkdir()
        for name, data in snapshot(study / "results").items():
            (top / "results" / name).write_bytes(data)
        (top / "locked").mkdir()
        (top / "locked").chmod(0o555)
        top.chmod(0o755)
        yield top
        (top / "locked").chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_directory_that_may_not_be_written_is_told(
    run: pytest.MonkeyPatch, locked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    run.chdir(locked)
    # once as oneself: modules that are not imported yet may be out of reach for others
    assert call(run, capsys, [word.format(disk=tmp_path) for word in words]).code == 0
    with another_user():
        outcome = call(run, capsys, [word.format(disk=locked / "locked") for word in words])
    check_refused(outcome, "permission denied")
    assert entries(locked / "locked") == []


def test_results_of_somebody_else_are_not_replaced(
    run: pytest.MonkeyPatch, locked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.chdir(locked)
    assert call(run, capsys, [*EVALUATE[:-1], tmp_path / "warm"]).code == 0
    before = snapshot(locked / "results")
    (locked / "results").chmod(0o555)
    locked.chmod(0o777)
    with another_user():
        outcome = call(run, capsys, [*EVALUATE, "--overwrite"])
    (locked / "results").chmod(0o755)
    check_refused(outcome, "permission denied")
    assert snapshot(locked / "results") == before
    assert not [name for name in entries(locked) if name.startswith(".")]
