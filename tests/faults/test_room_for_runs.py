"""Runs over pieces on a disk that is full, or where nothing may be written: one error, then they go on."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.large_study import EVALUATE, RESUME, Folder, content_of, copied, put_large_study, words_of
from faults.small_study import PAGE, another_user, entries, mounted


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    put_large_study(folder)
    return folder


@pytest.fixture
def folder(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Folder:
    """The study, with a run beside it that nobody disturbed."""
    found = Folder(tmp_path, monkeypatch, capsys)
    monkeypatch.chdir(study)
    if not (study / "run").exists():
        assert found.call(*EVALUATE).code == 0
    copied(study, tmp_path)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of its own."""
    with mounted(tmp_path_factory.mktemp("disk"), 2000) as place:
        yield place


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 2, 8, 60, 100])
def test_a_run_on_a_full_disk_is_one_error_and_goes_on_once_there_is_room(
    folder: Folder, disk: Path, pages: int
) -> None:
    ballast, room = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes(PAGE * (room.f_bavail * room.f_bsize // PAGE - pages)))
    words = words_of("--resume", out=str(disk / "run"))
    outcome = folder.call(*words)
    assert outcome.code == 2, outcome
    assert outcome.err.count("error: ") == 1
    assert "no space left on device" in outcome.err.lower()
    assert "Traceback" not in outcome.err
    assert not (disk / "run" / "run.json").exists()
    assert set(entries(disk)) <= {"ballast", "run"}
    ballast.unlink()
    outcome = folder.call(*words)
    assert outcome.code == 0, outcome.err
    assert content_of(disk / "run") == content_of(folder.run)


def test_a_directory_that_may_not_be_written_is_told(folder: Folder) -> None:
    folder.patch.setattr("dissensus.cli.terminal.compile_on_first_use", lambda *_, **__: None)
    assert folder.call(*words_of(out="warm")).code == 0  # modules that are not imported yet may be out of reach
    with tempfile.TemporaryDirectory() as place:
        top = copied(folder.place, Path(place))
        (top / "locked").mkdir()
        (top / "run" / "run.json").unlink()
        for one in (top, top / "locked", top / "run"):
            one.chmod(0o555)
        folder.patch.chdir(top)
        before = content_of(top)
        with another_user():
            outcomes = [folder.call(*words) for words in (words_of(out="locked/run"), RESUME)]
        for outcome in outcomes:
            assert outcome.code == 2, outcome
            assert outcome.err.count("error: ") == 1
            assert "permission denied" in outcome.err.lower()
        assert content_of(top) == before
        folder.patch.chdir(folder.place)
        top.chmod(0o755)
