"""The list of mutants fits the code; trying them takes minutes and is what ``make mutants`` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.__main__ import ROOT, Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_every_mutant_changes_one_place(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.old != mutant.new
    assert mutant.mistake
    assert mutant.tests


def test_the_tests_of_mutants_exist() -> None:
    assert all((ROOT / Path(test.partition("::")[0])).exists() for mutant in mutants() for test in mutant.tests)


def test_there_are_mutants_of_every_part() -> None:
    parts = {Path(mutant.file).parts[2] for mutant in mutants()}
    assert len(mutants()) >= 60
    known = {"aggregation", "core", "draws.py", "evaluation", "kernels", "metrics", "predictions", "report", "study"}
    assert parts == known


def test_no_mutant_is_listed_twice() -> None:
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in mutants()}) == len(mutants())
