"""Where compiled kernels are kept, and that what is stale, damaged or another user's is never read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numba
import pytest

import dissensus
from dissensus.compilation import ahead
from dissensus.kernels import cache
from dissensus.kernels.jit import RULES, Kernel

PACKAGE = Path(dissensus.__file__).parent

WEIGH = """
import hashlib
import numpy as np
from dissensus.kernels import cache
from dissensus.kernels.resamples import case_weights, fill_weights
weights = case_weights(np.uint64(1), np.arange(3).astype(np.uint64), 4)
misses = sum(fill_weights.dispatcher.stats.cache_misses.values())
print(hashlib.sha256(weights.tobytes()).hexdigest(), misses, fill_weights.dispatcher.stats.cache_path)
"""
"""One kernel, which includes functions of another file; print what it gives, how often it was compiled, and where."""

no_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may do all")


def run(
    script: str, place: Path | None, *, package: Path = PACKAGE, variables: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Run a script in a process of its own, with a place for kernels; return the words it prints."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), **variables}
    environment.pop("NUMBA_CACHE_DIR", None)
    if place is not None:
        environment["NUMBA_CACHE_DIR"] = str(place)
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def n_compiled(place: Path, *, package: Path = PACKAGE) -> int:
    """Weigh cases in a process of its own; return how often it compiled."""
    return int(run(WEIGH, place, package=package)[1])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Copy the package."""
    copy = tmp_path / "src" / "dissensus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


# Fresh ----------------------------------------------------------------------------------------------------


def test_a_kernel_is_compiled_again_when_a_function_it_includes_changes_in_another_file(
    tmp_path: Path, package: Path
) -> None:
    place, source = tmp_path / "cache", package / "kernels" / "randomness.py"
    before, again = run(WEIGH, place, package=package), run(WEIGH, place, package=package)
    assert (before[1], again[1]) == ("1", "0")
    assert again[0] == before[0]
    text = source.read_text()
    assert text.count("return beyond + x, state") == 2
    source.write_text(text.replace("return beyond + x, state", "return beyond + 2.0 * x, state"))
    after = run(WEIGH, place, package=package)
    assert after[1] == "1"
    assert after[0] != before[0]


@pytest.mark.parametrize("setting", ["NUMBA_OPT", "NUMBA_CPU_NAME"])
def test_another_setting_of_numba_has_another_folder(tmp_path: Path, setting: str) -> None:
    name = "from dissensus.kernels.cache import folder_name; print(folder_name())"
    value = {"NUMBA_OPT": "1", "NUMBA_CPU_NAME": "generic"}[setting]
    assert run(name, tmp_path) == run(name, tmp_path)
    assert run(name, tmp_path, variables={setting: value}) != run(name, tmp_path)


@pytest.mark.parametrize("what", ["numba", "llvmlite", "np"])
def test_another_version_has_another_folder_of_the_same_machine(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = cache.folder_name.__wrapped__()
    monkeypatch.setattr(getattr(cache, what), "__version__", "0.0")
    after = cache.folder_name.__wrapped__()
    assert after != before
    assert after.rpartition("-")[0] == before.rpartition("-")[0]


def test_another_processor_is_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.folder_name.__wrapped__()
    monkeypatch.setattr(cache, "get_host_cpu_name", lambda: "another")
    assert cache.folder_name.__wrapped__().rpartition("-")[0] != before.rpartition("-")[0]


def test_older_folders_of_the_same_machine_are_removed_when_all_is_compiled(tmp_path: Path) -> None:
    ours, older, another = (tmp_path / f"dissensus-{name}" for name in ("a-2", "a-1", "b-1"))
    for folder in (ours, older, another):
        (folder / "kernel").mkdir(parents=True)
    cache.complete(ours, ["kernel"])
    assert not older.exists()
    assert ours.exists()
    assert another.exists()


# Whole ----------------------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(b"garbage" * 100)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def forbid_reading(path: Path) -> None:
    path.chmod(0)


def remove(path: Path) -> None:
    path.unlink()


DAMAGES = [truncate, empty, fill_with_garbage, flip_a_bit, pytest.param(forbid_reading, marks=no_root), remove]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc", cache.SEAL])
def test_a_damaged_file_is_noticed_and_compiled_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: Callable[[Path], None], pattern: str
) -> None:
    def misses() -> int:
        kernel = Kernel(add_one)
        assert kernel(1.5) == 2.5
        return sum(kernel.dispatcher.stats.cache_misses.values())

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert [misses(), misses()] == [1, 0]
    (path,) = tmp_path.rglob(pattern)
    damage(path)
    assert [misses(), misses()] == [1, 0]


def test_another_process_repairs_what_is_damaged(tmp_path: Path) -> None:
    digest, misses, folder = run(WEIGH, tmp_path)
    assert misses == "1"
    assert Path(folder).is_relative_to(tmp_path)
    for path in Path(folder).iterdir():
        truncate(path)
    assert run(WEIGH, tmp_path)[:2] == [digest, "1"]
    assert run(WEIGH, tmp_path)[:2] == [digest, "0"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["kernel/k.nbi", f"kernel/{cache.SEAL}", cache.COMPLETE])
def test_nothing_counts_as_compiled_after_any_damage(tmp_path: Path, damage: Callable[[Path], None], name: str) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "k.nbi").write_bytes(b"machine code, " * 10)
    assert not cache.is_complete(tmp_path)
    cache.seal(tmp_path / "kernel")
    assert not cache.is_complete(tmp_path)
    cache.complete(tmp_path, ["kernel"])
    assert cache.is_complete(tmp_path)
    damage(tmp_path / name)
    assert not cache.is_complete(tmp_path)


def test_a_file_that_was_not_sealed_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "k.nbi").write_bytes(b"index")
    cache.seal(tmp_path)
    assert cache.is_intact(tmp_path)
    (tmp_path / "k.2.nbc").write_bytes(b"more")
    assert not cache.is_intact(tmp_path)
    assert cache.discard(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_clearing_leaves_no_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "k.nbc").write_bytes(b"machine code")
    cache.seal(tmp_path / "kernel")
    cache.complete(tmp_path, ["kernel"])
    cache.clear(tmp_path)
    assert list(tmp_path.rglob("*")) == [tmp_path / "kernel"]


def test_a_second_type_of_arguments_is_sealed_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    kernel = Kernel(add_one)
    for argument in (1, 1.5):
        assert kernel(argument) == argument + 1
        assert cache.is_intact(tmp_path / kernel.name)
    found = Kernel(add_one)
    assert found(1.5) == 2.5
    assert sum(found.dispatcher.stats.cache_misses.values()) == 0


def test_processes_that_compile_at_once_do_not_break_each_other(tmp_path: Path) -> None:
    command, environment = [sys.executable, "-P", "-c", WEIGH], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = str(PACKAGE.parent)
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outcomes = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outcomes
    assert len({said.split()[0] for said, _ in outcomes}) == 1
    n_compiled(tmp_path)
    assert n_compiled(tmp_path) == 0


def test_a_kernel_spoilt_by_another_process_is_compiled_once_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel, rounds = Kernel(add_one), []

    def exercise(*_: object) -> None:
        rounds.append(1)
        (tmp_path / kernel.name).mkdir(exist_ok=True)
        (tmp_path / kernel.name / "k.nbi").write_bytes(b"index")
        if len(rounds) == 2:
            cache.seal(tmp_path / kernel.name)

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(ahead, "all_kernels", lambda: [kernel])
    monkeypatch.setattr(ahead, "_do_exercises", exercise)
    ahead.compile_kernels()
    assert len(rounds) == 2
    assert ahead.is_compiled()


# Places ---------------------------------------------------------------------------------------------------


def add_one(x: float) -> float:
    return x + 1


def test_kernels_are_kept_in_the_package_if_it_can_be_written(package: Path) -> None:
    folder = Path(run(WEIGH, None, package=package)[2])
    assert folder.is_relative_to(package / "kernels" / "__pycache__")


@pytest.mark.parametrize("obstacle", ["a file", pytest.param("no permission", marks=no_root)])
def test_kernels_of_a_package_that_cannot_be_written_are_kept_in_the_cache_of_the_user(
    tmp_path: Path, package: Path, obstacle: str
) -> None:
    if obstacle == "a file":
        (package / "kernels" / "__pycache__").write_text("no folder")
    else:
        (package / "kernels").chmod(0o555)
    own = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "own"), "PYTHONDONTWRITEBYTECODE": "1"}
    places = [tmp_path / "own", tmp_path / "home" / "Library" / "Caches"]
    before, after = (run(WEIGH, None, package=package, variables=own) for _ in range(2))
    (package / "kernels").chmod(0o755)
    assert (before[1], after[1]) == ("1", "0")
    assert any(Path(after[2]).is_relative_to(place / "dissensus") for place in places)


@pytest.mark.parametrize(
    ("system", "environment", "expected"),
    [
        ("Linux", {}, "/u/ada/.cache"),
        ("Linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch"),
        ("Linux", {"XDG_CACHE_HOME": "relative"}, "/u/ada/.cache"),
        ("Darwin", {"XDG_CACHE_HOME": "/scratch"}, "/u/ada/Library/Caches"),
        ("Windows", {"LOCALAPPDATA": "/local"}, "/local"),
        ("Windows", {}, "/u/ada/AppData/Local"),
    ],
)
def test_the_cache_of_the_user_is_where_the_system_has_it(
    system: str, environment: dict[str, str], expected: str
) -> None:
    assert cache.user_cache(system, environment, Path("/u/ada")).as_posix() == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "folder"
    assert cache.is_ready(folder)
    folder.chmod(mode)
    assert not cache.is_ready(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such owners")
def test_a_folder_of_another_user_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.is_ready(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not cache.is_ready(tmp_path)


def test_a_link_to_a_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert not cache.is_ready(tmp_path / "link")


def test_kernels_work_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    kernel = Kernel(add_one)
    assert kernel(1) == 2
    assert kernel.dispatcher.stats.cache_path is None


def test_kernels_work_when_their_folder_disappears(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    kernel = Kernel(add_one)
    kernel(1)
    shutil.rmtree(tmp_path)
    tmp_path.write_text("no folder any more")
    assert kernel(1.5) == 2.5
    assert kernel.dispatcher.stats.cache_path is None


def test_the_caches_of_other_code_stay_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "ours")
    kernel = Kernel(add_one)
    kernel(1)
    other = numba.njit(cache=True, **RULES)(add_one)
    assert Path(kernel.dispatcher.stats.cache_path).is_relative_to(tmp_path / "ours")
    assert Path(other.stats.cache_path).is_relative_to(tmp_path / "theirs")


def test_nothing_private_of_numba_is_used() -> None:
    private = ("numba.core", "_cache_file", "_source_stamp", "pipeline_class", "_nrt", "_wrapper=", "no_rewrites")
    sources = [(path, path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    assert [(path.name, word) for path, text in sources for word in private if word in text] == []
