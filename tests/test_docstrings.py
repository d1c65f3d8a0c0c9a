"""Every public name explains itself: a first line that ends in a full stop, and an example, which pytest runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

import dissensus

WITHOUT_EXAMPLE = {
    "Categories.from_source": "takes a file that is open already; the example is at Categories.from_file",
    "UserDataSetMetric.function": "is a parameter: the user's own function",
    "UserMetric.function": "is a parameter: the user's own function",
}
"""Public methods that need no example of their own, and why."""


def methods_of(name: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Give the methods that a public class is the first to define; abstract ones have nothing to show."""
    kind = getattr(dissensus, name)
    if not inspect.isclass(kind):
        return
    for own, found in vars(kind).items():
        method = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        is_new = not any(own in vars(base) for base in kind.__mro__[1:])
        is_abstract = getattr(method, "__isabstractmethod__", False)
        if inspect.isfunction(method) and is_new and not is_abstract and not own.startswith("_"):
            yield f"{name}.{own}", method


METHODS = dict(pair for name in dissensus.__all__ for pair in methods_of(name))


@pytest.mark.parametrize("name", dissensus.__all__)
def test_every_public_name_has_a_sentence_and_an_example(name: str) -> None:
    text = getattr(dissensus, name).__doc__ or ""
    assert text.strip().splitlines()[0].endswith(".")
    assert ">>> " in text


@pytest.mark.parametrize("name", sorted(METHODS.keys() - WITHOUT_EXAMPLE.keys()))
def test_every_public_method_has_a_sentence_and_an_example(name: str) -> None:
    text = METHODS[name].__doc__ or ""
    assert text.strip().splitlines()[0].endswith(".")
    assert ">>> " in text


def test_no_exception_has_outlived_its_reason() -> None:
    for name in WITHOUT_EXAMPLE:
        assert ">>> " not in (METHODS[name].__doc__ or "")
