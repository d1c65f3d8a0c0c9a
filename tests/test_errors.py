"""Errors say what was expected, what was got, where, and what to do."""

import pickle

import pytest

import dissensus as ds
from dissensus.core.errors import FormatError, MissingExtraError, suggestion


def test_an_error_is_one_block_with_only_the_parts_it_has() -> None:
    error = ds.DissensusError("no case column", expected="'case'", got="'photo'", where="a.csv", advice="rename it")
    assert str(error).splitlines() == [
        "no case column",
        "  expected: 'case'",
        "  got:      'photo'",
        "  where:    a.csv",
        "  do:       rename it",
    ]
    assert str(ds.DissensusError("no case column")) == "no case column"


@pytest.mark.parametrize("family", [ds.DissensusError, FormatError, MissingExtraError])
def test_errors_survive_pickling(family: type[ds.DissensusError]) -> None:
    error = family("problem", expected="a", got="b", where="c", advice="d")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is family
    assert (str(again), again.advice) == (str(error), "d")
    assert issubclass(family, ds.DissensusError | ValueError)
    assert issubclass(MissingExtraError, ImportError)


def test_a_place_is_put_in_front() -> None:
    error = FormatError("problem", where="data row 3").at("a.csv")
    assert error.where == "a.csv, data row 3"
    assert isinstance(error, FormatError)
    assert ds.DissensusError("problem").at("a.csv").where == "a.csv"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("eczema", "Eczema"), ("Eczma", "Eczema"), (" Eczema ", "Eczema"), ("psoriassis", "Psoriasis"), ("x", "")],
)
def test_near_misses_get_a_suggestion(name: str, expected: str) -> None:
    found = suggestion(name, ["Eczema", "Psoriasis"])
    assert found == (f"did you mean {expected!r}?" if expected else "")
