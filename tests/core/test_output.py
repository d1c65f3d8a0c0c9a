"""Writing never destroys: targets that are refused, replacement in one step, and leftovers of processes that died."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dissensus.core import output
from dissensus.core.errors import FormatError
from dissensus.core.output import checked_directory_target, checked_file_target
from faults.small_study import entries
from refusals import refused


def known(place: Path) -> str:
    return output.foreign_entry(place, ["a.txt", "b.txt"])


def put(place: Path, text: str = "old") -> Path:
    place.write_text(text)
    return place


def fill(place: Path, text: str = "old") -> Path:
    place.mkdir()
    put(place / "a.txt", text)
    return place


# Files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [RuntimeError("stop"), KeyboardInterrupt(), OSError(28, "No space left")])
def test_an_interrupted_write_leaves_what_was_there_and_nothing_else(tmp_path: Path, failure: BaseException) -> None:
    file, folder = put(tmp_path / "out.txt"), fill(tmp_path / "results")
    for writing in (
        output.written_whole(file, overwrite=True),
        output.directory_written_whole(folder, overwrite=True, foreign=known),
    ):
        with pytest.raises((RuntimeError, KeyboardInterrupt, FormatError)), writing as temporary:  # noqa: PT012
            put(temporary / "b.txt" if temporary.is_dir() else temporary, "half")
            raise failure
    assert (file.read_text(), entries(folder)) == ("old", ["a.txt"])
    assert entries(tmp_path) == ["out.txt", "results"]
    assert not output.UNDERWAY


def test_a_written_file_has_ordinary_permissions_and_keeps_those_of_the_replaced_one(tmp_path: Path) -> None:
    with output.written_whole(tmp_path / "out.txt") as temporary:
        temporary.write_text("x")
    put(tmp_path / "ordinary.txt")
    assert (tmp_path / "out.txt").stat().st_mode == (tmp_path / "ordinary.txt").stat().st_mode
    (tmp_path / "out.txt").chmod(0o600)
    with output.written_whole(tmp_path / "out.txt", overwrite=True) as temporary:
        temporary.write_text("y")
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o600


def test_a_file_appears_whole_and_an_existing_one_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with output.written_whole(target) as temporary:
        put(temporary, "old")
        assert not target.exists()
    with pytest.raises(FormatError, match="the output file exists already") as caught, output.written_whole(target):
        pass
    assert "--overwrite" in caught.value.advice
    assert target.read_text() == "old"
    with output.written_whole(target, overwrite=True) as temporary:
        put(temporary, "new")
    assert target.read_text() == "new"
    other = tmp_path / "other.txt"
    with pytest.raises(FormatError, match="appeared"), output.written_whole(other):
        put(other, "somebody else's")
    assert other.read_text() == "somebody else's"
    assert entries(tmp_path) == ["other.txt", "out.txt"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("folder", "something else already"),
        ("pipe", "something else already"),
        ("none/a", "does not exist"),
        ("a" * 300, r"cannot be written\n.*file name too long"),
        ("a\0b", "leads nowhere"),
    ):
        refused(message, checked_file_target, tmp_path / name, overwrite=True)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    caught = refused("cannot be written", checked_file_target, tmp_path / "a")
    assert caught.got == "permission denied"


def test_an_input_is_never_replaced_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = put(tmp_path / "opinions.csv")
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path / "folder")
    spellings = [source, tmp_path / "link.csv", tmp_path / "hard.csv", tmp_path / "elsewhere" / "opinions.csv"]
    for spelling in (*spellings, Path("../opinions.csv"), Path("../folder/../opinions.csv")):
        refused("would replace an input", checked_file_target, spelling, inputs=[None, source])
        refused("would replace an input", checked_file_target, spelling, overwrite=True, inputs=[None, source])
    refused("would replace an input", checked_file_target, source, overwrite=True, inputs=[tmp_path])
    assert checked_file_target(tmp_path / "new.csv", inputs=[tmp_path, source]) == (tmp_path / "new.csv").resolve()


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    for text in ("one", "two"):
        with output.written_whole(tmp_path / "link.txt", overwrite=True) as temporary:
            temporary.write_text(text)
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "real.txt").read_text() == text


# Directories --------------------------------------------------------------------------------------------


def test_a_directory_is_replaced_whole(tmp_path: Path) -> None:
    target = fill(tmp_path / "results")
    with output.directory_written_whole(target, overwrite=True, foreign=known) as place:
        put(place / "b.txt", "new")
        assert entries(target) == ["a.txt"]
    assert entries(target) == ["b.txt"]
    assert entries(tmp_path) == ["results"]


def test_if_the_second_of_two_steps_fails_the_first_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = fill(tmp_path / "results")
    replace = Path.replace

    def fail_once(one: Path, other: Path) -> Path:
        if one.name == "new":
            raise OSError(errno.EIO, "Input/output error")
        return replace(one, other)

    monkeypatch.setattr(Path, "replace", fail_once)
    with (
        pytest.raises(FormatError, match="cannot be written"),
        output.directory_written_whole(target, overwrite=True, foreign=known),
    ):
        pass
    assert entries(target) == ["a.txt"]
    assert entries(tmp_path) == ["results"]


def test_what_is_put_into_a_directory_meanwhile_is_kept(tmp_path: Path) -> None:
    target = fill(tmp_path / "results")
    with (
        pytest.raises(FormatError, match="something else"),
        output.directory_written_whole(target, overwrite=True, foreign=known),
    ):
        put(target / "thesis.tex")
    assert entries(target) == ["a.txt", "thesis.tex"]
    new = tmp_path / "new"
    with pytest.raises(FormatError, match="appeared"), output.directory_written_whole(new):
        fill(new)
    assert entries(new) == ["a.txt"]


def test_only_directories_that_hold_nothing_else_are_replaced(tmp_path: Path) -> None:
    target = fill(tmp_path / "results")
    for given in ({"foreign": known}, {"overwrite": True}):
        refused("exists already", checked_directory_target, target, **given)
    assert checked_directory_target(target, overwrite=True, foreign=known) == target.resolve()
    (target / "b.txt").symlink_to(target / "a.txt")
    caught = refused("something else", checked_directory_target, target, overwrite=True, foreign=known)
    assert caught.got == "b.txt"
    (target / "b.txt").unlink()
    (target / "b.txt").mkdir()
    refused("something else", checked_directory_target, target, overwrite=True, foreign=known)
    refused("is a file", checked_directory_target, target / "a.txt", overwrite=True, foreign=known)


def test_the_working_directory_and_inputs_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "project" / "here"
    here.mkdir(parents=True)
    source = put(tmp_path / "project" / "a.txt")
    (tmp_path / "link").symlink_to(here)
    monkeypatch.chdir(here)
    for spelling in (".", "", "../here", "..", here, tmp_path / "link", tmp_path):
        refused("holds the working directory", checked_directory_target, spelling, overwrite=True, foreign=str)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").symlink_to(source)
    for one in (source, tmp_path / "other", Path("link/../a.txt")):
        refused("holds an input", checked_directory_target, "project", overwrite=True, foreign=str, inputs=[one])


# Signals ------------------------------------------------------------------------------------------------


def test_an_interruption_waits_until_the_steps_are_done() -> None:
    done = []

    def work() -> None:
        with output.undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("after the signal")

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, previous)
    assert done == ["after the signal"]


# Leftovers ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leftover(folder: Path, process: int, *, machine: str | None = None) -> Path:
    return folder / f".dissensus-{machine or output.MACHINE}-{process}-0123456789ab"


def write_something(folder: Path) -> None:
    with output.written_whole(folder / "out.txt", overwrite=True) as temporary:
        temporary.write_text("x")


def test_leftovers_of_processes_that_died_are_removed(tmp_path: Path, dead: int) -> None:
    put(leftover(tmp_path, os.getpid()))  # of an earlier process that had the same number
    (leftover(tmp_path, dead) / "new").mkdir(parents=True)
    put(leftover(tmp_path, dead) / "new" / "a.txt")
    write_something(tmp_path)
    assert entries(tmp_path) == ["out.txt"]


def test_what_is_under_way_or_not_ours_stays(tmp_path: Path, dead: int) -> None:
    others = [leftover(tmp_path, process) for process in (os.getppid(), 1)]
    others += [leftover(tmp_path, dead, machine="01234567")]
    others += [tmp_path / name for name in (f".dissensus-{dead}", ".dissensus-notes.txt")]
    for place in others:
        put(place)
    with output.written_whole(tmp_path / "b.txt") as underway:
        write_something(tmp_path)
        assert underway.exists()
    assert all(place.read_text() == "old" for place in others)


def test_old_results_come_back_when_a_process_died_between_the_two_steps(tmp_path: Path, dead: int) -> None:
    room = leftover(tmp_path, dead)
    (room / "old").mkdir(parents=True)
    fill(room / "old" / "results")
    refused("exists already", checked_directory_target, tmp_path / "results", foreign=known)
    assert entries(tmp_path / "results") == ["a.txt"]
    assert entries(tmp_path) == ["results"]
