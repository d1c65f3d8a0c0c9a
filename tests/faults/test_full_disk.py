"""A disk that is full, and directories that may not be written: one message, nothing half-written, nothing left."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_calls import told
from faults.small_study import EVALUATE, PAGE, another_user, entries, mounted, put_study, snapshot

DRAWN = ("--aggregation", "dirichlet", "--draws", "20")
COMMANDS: dict[str, tuple[str, ...]] = {
    "csv": ("convert", "opinions.csv", "{disk}/a.csv"),
    "parquet": ("convert", "opinions.csv", "{disk}/a.parquet"),
    "json": ("convert", "unnamed.json", "{disk}/a.json"),
    "certainty": ("certainty", "opinions.csv", *DRAWN, "--out", "{disk}/a.parquet"),
    "aggregate": ("aggregate", "opinions.csv", *DRAWN, "--out", "{disk}/a.csv"),
    "results": (*EVALUATE[:-1], "{disk}/results"),
    "html": ("report", "results", "--out", "{disk}/a.html"),
    "png": ("plot", "results", "certainty", "--out", "{disk}/a.png"),
    "compare": ("compare", "results", "--out", "{disk}/a.tsv"),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the study and its results, in which commands run."""
    folder = tmp_path_factory.mktemp("study")
    put_study(folder)
    (folder / "unnamed.json").write_text('{"rankings": [[[["a"], ["b"]]]], "conditions": ["a", "b"]}')
    assert told(folder, *EVALUATE).code == 0
    return folder


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 16 pages of its own."""
    with mounted(tmp_path_factory.mktemp("disk"), 16) as place:
        yield place


@contextmanager
def filled(disk: Path, free_pages: int) -> Iterator[None]:
    """Leave a few pages of a disk free."""
    room = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes(PAGE * (room.f_bavail * room.f_bsize // PAGE - free_pages)))
    yield
    (disk / "ballast").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk_is_told_and_nothing_is_left(study: Path, disk: Path, words: tuple[str, ...]) -> None:
    with filled(disk, 0):
        assert told(study, *(word.format(disk=disk) for word in words)).refused("no space left on device")
        assert entries(disk) == ["ballast"]


@pytest.mark.parametrize(
    "free_pages", [pytest.param(number, marks=[pytest.mark.slow][: number != 3]) for number in (1, 3, 6)]
)
def test_results_for_which_there_is_no_space_leave_the_old_ones(study: Path, disk: Path, free_pages: int) -> None:
    words = [word.format(disk=disk) for word in COMMANDS["results"]]
    (disk / "results").mkdir()
    (disk / "results" / "run.json").write_text('{"format": "dissensus results"}')
    before = snapshot(disk / "results")
    with filled(disk, free_pages):
        assert told(study, *words, "--overwrite").refused("no space left on device")
        assert entries(disk) == ["ballast", "results"]
        assert snapshot(disk / "results") == before


def test_of_two_tables_none_is_written_if_the_second_does_not_fit(study: Path, disk: Path) -> None:
    words = ("aggregate", "opinions.csv", "--aggregation", "dirichlet", "--draws", "2000")
    with filled(disk, 2):
        both = [*words, "--out", disk / "soft.csv", "--draws-out", disk / "draws.parquet"]
        assert told(study, *both).refused("draws.parquet")
        assert entries(disk) == ["ballast"]


@pytest.mark.parametrize(
    "words",
    [pytest.param(one, marks=[pytest.mark.slow][: name != "results"], id=name) for name, one in COMMANDS.items()],
)
def test_locked_places(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:  # which others may see
        top = Path(folder)
        shutil.copytree(study, top, dirs_exist_ok=True)
        (top / "locked").mkdir()
        top.chmod(0o777)
        for name in ("locked", "results"):
            (top / name).chmod(0o555)
        monkeypatch.chdir(top)  # where another user may be, too
        before = snapshot(top)
        # once as oneself: modules that are not imported yet may be out of reach for others
        assert told(top, *(word.format(disk=tmp_path) for word in words)).code == 0
        with another_user():
            outcome = told(top, *(word.format(disk=top / "locked") for word in words))
            results = told(top, *EVALUATE, "--overwrite")
        assert outcome.refused("permission denied")
        assert results.refused("permission denied")
        assert snapshot(top) == before
        assert not [name for name in entries(top) if name.startswith(".")]
        monkeypatch.undo()
