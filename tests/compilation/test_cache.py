"""Where compiled kernels are kept, and that what is stale, damaged or another user's is never read."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import pytest

import dissensus
from command_calls import printed
from dissensus.kernels import jit
from dissensus.kernels.jit import RULES, Kernel

PACKAGE = Path(dissensus.__file__).parent

WEIGH = """
import hashlib
import numpy as np
from dissensus.kernels.resamples import case_weights
weights = case_weights(np.uint64(1), np.arange(3).astype(np.uint64), 4)
misses = sum(case_weights.dispatcher.stats.cache_misses.values())
print(hashlib.sha256(weights.tobytes()).hexdigest(), misses, case_weights.dispatcher.stats.cache_path)
"""
"""One kernel, which includes functions of another file; print what it gives, how often it was compiled, and where."""

no_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may do all")


def run(script: str, package: Path, **variables: Any) -> list[str]:
    """Run a script in a process of its own; return the words it prints."""
    here = partial(printed, PYTHONPATH=str(package.parent), NUMBA_CACHE_DIR=None)
    return here("-P", "-c", script, **variables).split()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Copy the package."""
    copy = tmp_path / "src" / "dissensus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


# Fresh ----------------------------------------------------------------------------------------------------


def test_a_kernel_is_kept_in_the_package_and_compiled_again_when_a_function_it_includes_changes(package: Path) -> None:
    source = package / "kernels" / "randomness.py"
    before, again = (run(WEIGH, package) for _ in range(2))
    assert (before[1], again[1]) == ("1", "0")
    assert again[0] == before[0]
    assert Path(again[2]).is_relative_to(package / "kernels" / "__pycache__")
    text = source.read_text()
    assert text.count("return beyond + x, state") == 2
    source.write_text(text.replace("return beyond + x, state", "return beyond + 2.0 * x, state"))
    after = run(WEIGH, package)
    assert after[1] == "1"
    assert after[0] != before[0]


@pytest.mark.parametrize("what", ["numba", "llvmlite", "np"])
def test_another_version_has_another_folder_of_the_same_package(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = jit.folder_name()
    monkeypatch.setattr(getattr(jit, what), "__version__", "0.0")
    after = jit.folder_name()
    assert after != before
    assert after.rpartition("-")[0] == before.rpartition("-")[0]


def test_older_folders_of_the_same_package_are_removed(tmp_path: Path) -> None:
    ours, older, another = (tmp_path / f"dissensus-{name}" for name in ("a-2", "a-1", "b-1"))
    for folder in (ours, older, another):
        (folder / "kernel").mkdir(parents=True)
    jit.remove_older(ours)
    assert not older.exists()
    assert ours.exists()
    assert another.exists()


# Damage ---------------------------------------------------------------------------------------------------


def add_one(x: float) -> float:
    return x + 1


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage" * 100),
    "unreadable": lambda path: path.chmod(0),
    "removed": Path.unlink,
}


@pytest.mark.parametrize(
    "damage", ["truncated", "empty", "garbage", "removed", pytest.param("unreadable", marks=no_root)]
)
@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
def test_damaged_files_are_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str, pattern: str) -> None:
    def hits() -> int:
        kernel = Kernel(add_one)
        assert kernel(1.5) == 2.5
        return sum(kernel.dispatcher.stats.cache_hits.values())

    monkeypatch.setattr(jit, "folder", lambda: tmp_path / "kernels")
    assert [hits(), hits()] == [0, 1]
    (path,) = tmp_path.rglob(pattern)
    DAMAGE[damage](path)
    assert hits() == 0
    hits()
    assert hits() == 1


# Places ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("obstacle", ["a file", pytest.param("no permission", marks=no_root)])
def test_kernels_without_a_place_are_in_the_cache_of_the_user(tmp_path: Path, package: Path, obstacle: str) -> None:
    if obstacle == "a file":
        (package / "kernels" / "__pycache__").write_text("no folder")
    else:
        (package / "kernels").chmod(0o555)
    own = {name: str(tmp_path / "own") for name in ("XDG_CACHE_HOME", "LOCALAPPDATA")}
    variables = {**own, "PYTHONDONTWRITEBYTECODE": "1"}
    before, after = (run(WEIGH, package, **variables) for _ in range(2))
    (package / "kernels").chmod(0o755)
    assert (before[1], after[1]) == ("1", "0")
    assert Path(after[2]).is_relative_to(tmp_path / "own" / "dissensus")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_folder_that_others_own_or_may_write_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert jit.is_ready(folder)
    for mode in (0o777, 0o720, 0o702):
        folder.chmod(mode)
        assert not jit.is_ready(folder)
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    assert not jit.is_ready(tmp_path / "link")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not jit.is_ready(folder)


def test_kernels_work_where_nothing_is_kept_or_folders_vanish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jit, "folder", lambda: None)
    nowhere = Kernel(add_one)
    assert nowhere(1) == 2
    assert nowhere.dispatcher.stats.cache_path is None
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)
    kernel = Kernel(add_one)
    kernel(1)
    with pytest.raises(numba.TypingError):
        kernel("one")  # type: ignore[arg-type]
    kernel = Kernel(add_one)
    kernel(1)
    shutil.rmtree(tmp_path)
    tmp_path.write_text("no folder any more")
    assert kernel(1.5) == 2.5
    assert kernel.dispatcher.stats.cache_path is None


def test_the_caches_of_other_code_stay_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setattr(jit, "folder", lambda: tmp_path / "ours")
    kernel = Kernel(add_one)
    kernel(1)
    other = numba.njit(cache=True, **RULES)(add_one)
    assert Path(kernel.dispatcher.stats.cache_path).is_relative_to(tmp_path / "ours")
    assert Path(other.stats.cache_path).is_relative_to(tmp_path / "theirs")


def test_nothing_private_of_numba_is_used() -> None:
    private = ("numba.core", "_cache_file", "_source_stamp", "pipeline_class", "_nrt", "_wrapper=", "no_rewrites")
    sources = [(path, path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    assert [(path.name, word) for path, text in sources for word in private if word in text] == []
