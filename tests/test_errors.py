"""Errors say what was expected, what was got, where, and what to do."""

import pickle

import pytest

import dissensus as ds
from dissensus.core.errors import FormatError, MissingExtraError, suggestion


def test_an_error_is_one_block_with_only_the_parts_it_has_and_its_place_in_front() -> None:
    error = ds.DissensusError("no case column", expected="'case'", got="'photo'", where="row 3", advice="rename it")
    text = "no case column\n  expected: 'case'\n  got:      'photo'\n  where:    a.csv, row 3\n  do:       rename it"
    assert str(error.at("a.csv", "no other advice")) == text
    assert str(error.at("a.csv").at("a.csv")) == str(error.at("a.csv"))
    assert str(ds.DissensusError("no case column").at("", "look")) == "no case column\n  do:       look"
    assert isinstance(FormatError("problem").at("a.csv"), FormatError)


@pytest.mark.parametrize("family", [ds.DissensusError, FormatError, MissingExtraError])
def test_errors_survive_pickling(family: type[ds.DissensusError]) -> None:
    error = family("problem", expected="a", got="b", where="c", advice="d")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is family
    assert (str(again), again.advice) == (str(error), "d")
    assert issubclass(family, ds.DissensusError | ValueError)
    assert issubclass(MissingExtraError, ImportError)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("eczema", "Eczema"), ("Eczma", "Eczema"), (" Eczema ", "Eczema"), ("psoriassis", "Psoriasis"), ("x", "")],
)
def test_near_misses_get_a_suggestion(name: str, expected: str) -> None:
    found = suggestion(name, ["Eczema", "Psoriasis"])
    assert found == (f"did you mean {expected!r}?" if expected else "")
