"""Spoiled files are refused with one clear error, or read as a naive reader reads them."""

from pathlib import Path

import pytest

from dissensus.plugins import Format
from dissensus.predictions.reader import FORMATS
from fuzz import rule
from fuzz.__main__ import REGRESSIONS, from_regression
from fuzz.naive_reader import READERS, DoubtError, long_form, nested_form, wide_form
from fuzz.rule import FindingError, mutant, verdict
from fuzz.seeds import Seed, seeds
from fuzz.typed_mutations import typed_mutant

BATCHES, PER_BATCH = 20, 100
SOME = [pytest.param(batch, marks=[pytest.mark.slow] if batch >= 4 else []) for batch in range(BATCHES)]


def test_every_format_has_a_seed() -> None:
    found = {(seed.holds, seed.format) for seed in seeds()}
    annotations = {("annotations", name) for name, kind in Format.family.known().items() if _is_own(kind)}
    annotations.remove(("annotations", "inspect"))  # logs are written and read by a package of their own
    assert found == annotations | {("predictions", name) for name in FORMATS}


def _is_own(kind: type[Format]) -> bool:
    return kind.__module__.startswith("dissensus.")


@pytest.mark.parametrize("told", [False, True])
def test_good_files_are_accepted_and_read_as_the_naive_reader_does(told: bool, tmp_path: Path) -> None:
    verdicts = {seed.id: verdict(seed, seed.content, tmp_path, told=told) for seed in seeds()}
    assert {name for name, found in verdicts.items() if found != "accepted"} == set()


@pytest.mark.parametrize("batch", SOME)
def test_the_rule_holds_for_mutants(batch: int, tmp_path: Path) -> None:
    verdicts = {verdict(seed, content, tmp_path, told=told) for seed, content, told in _mutants(batch)}
    assert verdicts == {"accepted", "refused"}


@pytest.mark.parametrize("batch", SOME)
def test_the_rule_holds_for_files_of_other_types(batch: int, tmp_path: Path) -> None:
    made = [typed_mutant(number, seed=0) for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH)]
    assert {verdict(seed, content, tmp_path, told=told) for seed, content, told in made} == {"accepted", "refused"}


def _mutants(batch: int) -> list[tuple[Seed, bytes, bool]]:
    return [mutant(number, seed=0) for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH)]


@pytest.mark.parametrize("path", sorted(REGRESSIONS.iterdir()), ids=lambda path: path.name)
def test_the_rule_holds_for_what_was_found_before(path: Path, tmp_path: Path) -> None:
    seed, content, told = from_regression(path)
    verdict(seed, content, tmp_path, told=told)


def test_mutants_are_the_same_every_time() -> None:
    assert _mutants(1) == _mutants(1)
    assert len({content for _, content, _ in _mutants(1)}) > PER_BATCH * 0.9


# The rule can fail --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", sorted(READERS))
def test_a_difference_is_found(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: A002
    seed = next(seed for seed in seeds() if seed.format == format)
    read = READERS[format]
    monkeypatch.setitem(READERS, format, lambda *given: [*read(*given)[::-1], ("one more", [])])
    with pytest.raises(FindingError, match="read differently"):
        verdict(seed, seed.content, tmp_path)


def test_another_exception_and_a_hang_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("lost")

    def wait(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr(rule, "examine", fail)
    with pytest.raises(FindingError, match="KeyError: 'lost'"):
        verdict(seeds()[0], seeds()[0].content, tmp_path)
    monkeypatch.setattr(rule, "examine", wait)
    monkeypatch.setattr(rule, "PATIENCE", 0.1)
    with pytest.raises(FindingError, match="HangError"):
        verdict(seeds()[0], seeds()[0].content, tmp_path)


def test_the_naive_reader_says_what_the_documentation_says() -> None:
    table = b"case,reader,label,confidence\nc1,A,x,2\nc1,A,y,2\nc1,A,z,5\nc1,B,x,0\nc2,,,\n"
    assert long_form(table, "a.csv", None) == [("c1", [("A", [("z",), ("x", "y")]), ("B", [])]), ("c2", [])]
    assert wide_form(b"case,A,B\nc1,x>z=y,\n", "a.csv", None) == [("c1", [("A", [("x",), ("y", "z")])])]
    assert nested_form(b"[[[[1], [0]]], []]", "a.json", ["x", "y"]) == [("0", [(None, [("y",), ("x",)])]), ("1", [])]
    with pytest.raises(DoubtError, match="a row of another length"):
        wide_form(b"case,A,B\nc1,x\n", "a.csv", None)
