"""The list of mutants fits the code; trying them takes minutes and is what ``make mutants`` does."""

from pathlib import Path

import pytest

from mutants.__main__ import ROOT, Mutant, broken, mutants

EVERYWHERE = {
    *("aggregations", "agreement", "certainty", "cli", "core", "decisions", "draws.py", "evaluation", "kernels"),
    *("metrics", "paper", "pieces", "predictions", "report", "study", "workers.py"),
}


def test_every_mutant_changes_one_place() -> None:
    changes = [(one.file, one.old, one.new) for one in mutants() if one.old != one.new]
    assert len(set(changes)) == len(mutants())
    places = [(ROOT / file).read_text(encoding="utf-8").count(old) for file, old, _ in changes]
    assert [change for change, count in zip(changes, places, strict=True) if count != 1] == []


def test_every_mutant_says_its_mistake_and_names_tests_that_exist() -> None:
    assert all(one.mistake and one.tests for one in mutants())
    tests = {test.partition("::")[0] for one in mutants() for test in one.tests}
    assert [test for test in sorted(tests) if not (ROOT / test).is_file()] == []


def test_there_are_mutants_of_every_part() -> None:
    assert len(mutants()) >= 60
    assert {Path(one.file.removeprefix("src/dissensus/")).parts[0] for one in mutants()} == EVERYWHERE


def test_a_copy_is_broken_and_mended(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text("total = one + other\n", encoding="utf-8")
    before = file.stat().st_mtime_ns
    with broken(Mutant("the sign", "sums.py", "+", "-", ()), tmp_path):
        assert file.read_text(encoding="utf-8") == "total = one - other\n"
    assert file.read_text(encoding="utf-8") == "total = one + other\n"
    assert file.stat().st_mtime_ns == before
    with pytest.raises(SystemExit, match="3 places"), broken(Mutant("", "sums.py", "o", "", ()), tmp_path):
        pass
