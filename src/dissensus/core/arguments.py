"""Arguments of public functions are of the kinds that their annotations name; anything else is one clear error."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Mapping, Set, Sized
from dataclasses import fields
from functools import lru_cache, wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

from dissensus.core.errors import DissensusError

OWN = {
    *("draws", "seed", "threads", "k", "j", "depth", "top", "n_conditions", "level", "persistence"),
    *("aggregations", "metrics"),
}
"""Parameters that have a check of their own, which says more."""

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """Refuse arguments that are not of the kind that the function's annotations name.

    >>> @checked
    ... def doubled(number: "int") -> "int":
    ...     return 2 * number
    >>> doubled("x")
    Traceback (most recent call last):
    dissensus.core.errors.DissensusError: number is not of the right kind
      expected: a whole number
      got:      'x', a str
    """
    parameters = inspect.signature(function).parameters
    kinds = {name: str(one.annotation) for name, one in parameters.items()}
    kinds = {name: kind for name, kind in kinds.items() if name not in OWN or "Array" in kind}
    names = tuple(parameters)

    @wraps(function)
    def checking(*given: Any, **named: Any) -> Any:
        for name, value in (*zip(names, given, strict=False), *named.items()):
            if name in kinds:
                check_kind(name, value, kinds[name])
        return function(*given, **named)

    return cast("Function", checking)


def check_fields(one: Any) -> None:
    """Refuse a dataclass whose fields are not of the kinds that their annotations name."""
    for part in fields(one):
        if part.init and part.name not in OWN:
            check_kind(part.name, getattr(one, part.name), str(part.type))


def check_kind(name: str, value: object, kind: str) -> None:
    """Refuse a value that is not of the kind that an annotation names."""
    alternatives = tuple(one for part in _alternatives(kind) for one in _alternatives(ALIASES.get(part, part)))
    if not any(_is(value, one) for one in alternatives):
        words = dict.fromkeys(WORDS.get(_head(one), _head(one)) for one in alternatives)
        raise DissensusError(
            f"{name} is not of the right kind",
            expected=" or ".join(words),
            got=f"{value!r:.60}, a {type(value).__name__}",
        )


@lru_cache(maxsize=512)
def _alternatives(kind: str) -> tuple[str, ...]:
    """Split a union at its outermost bars."""
    depth, parts = 0, [""]
    for sign in kind.strip("\"'"):
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return tuple(part.strip() for part in parts)


def _head(kind: str) -> str:
    return kind.partition("[")[0].rpartition(".")[2]


def _is(value: object, kind: str) -> bool:
    head = _head(kind)
    if head == "Sequence" and _inner(kind) in (("float",), ("int",), ("Sequence[Any]",)):
        return is_list(value) or (
            isinstance(value, np.ndarray) and value.ndim > 1
        )  # those who read the items tell the place of a wrong one
    if head in ("Sequence", "tuple"):
        return is_list(value) and (_are_names(value, kind) or _are_items(value, kind))
    if head == "Mapping":
        return isinstance(value, Mapping) and all(_is_item(item, _inner(kind)) for item in value.values())
    if head in KINDS:
        return KINDS[head](value)
    return head not in CLASSES or any(head == one.__name__ for one in type(value).__mro__)


def _are_names(value: object, kind: str) -> bool:
    """Tell a list of text, the usual case, without looking at each item in Python."""
    return "str" in _inner(kind) and set(map(type, cast("Any", value))) <= {str}


def _are_items(value: object, kind: str) -> bool:
    return all(_is_item(item, _inner(kind)) for item in cast("Any", value))


@lru_cache(maxsize=512)
def _inner(kind: str) -> tuple[str, ...]:
    """Return what the items of a list or the values of a mapping may be."""
    inside = kind[kind.index("[") + 1 : -1] if "[" in kind else "Any"
    text = inside.removesuffix(", ...")
    if kind.startswith("tuple") and "[" not in text:
        text = text.partition(",")[0]
    return _alternatives(text.partition(", ")[2] if kind.startswith("Mapping") else text)


def _is_item(item: object, kinds: tuple[str, ...]) -> bool:
    """Tell an item of the right kind; whatever can be written is a name."""
    return any(_is_name(item) if kind == "str" else _is(item, kind) for kind in kinds)


def _is_name(item: object) -> bool:
    return isinstance(item, str) or (item is not None and isinstance(item, Hashable) and not isinstance(item, bytes))


def is_list(value: object) -> bool:
    """Tell what holds things in an order, text excepted."""
    if isinstance(value, str | bytes | Mapping | Set | type) or type(value).__name__ in ("DataFrame", "Table"):
        return False
    return value.ndim == 1 if isinstance(value, np.ndarray) else isinstance(value, Sized) and hasattr(value, "__iter__")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**64


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and abs(float(value)) < 2**1023


def _is_label(value: object) -> bool:
    many = is_list(value) or isinstance(value, Set)
    return isinstance(value, str) or (many and all(map(_is_name, cast("Any", value))))


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike) and "\0" not in str(value) and bool(str(value))


def _is_array(kinds: str, dimensions: range) -> Callable[[object], bool]:
    def tells(value: object) -> bool:
        if isinstance(value, str | bytes | Mapping | Set):
            return False
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            return False
        return array.ndim in dimensions and (array.dtype.kind in kinds or not array.size)

    return tells


ARRAYS = range(1, 5)

CHOICES = (
    "Ties",
    "Question",
    "AnyQuestion",
    "Within",
    "Unranked",
    "Via",
    "Unmentioned",
    "Distance",
    "PredictionKind",
    "Prior",
    "Duplicates",
    "Confidence",
    "Lists",
    "Truth",
    "Limit",
)
"""Aliases of a few words; which ones is checked where they are used."""

ALIASES = {
    "Conditions": "Sequence[str] | int | None",
    "Sets": "str | Sequence[Label] | Mapping[str, Label]",
}
"""Names of annotations that stand for others."""

KINDS: dict[str, Callable[[object], bool]] = {
    "None": lambda value: value is None,
    "int": _is_whole,
    "float": lambda value: _is_number(value) or (isinstance(value, float | np.floating)),
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "str": lambda value: isinstance(value, str),
    "Path": _is_path,
    "Label": _is_label,
    "Callable": callable,
    "UserFunction": callable,
    "Sampler": callable,
    "IntArray": _is_array("iu", ARRAYS),
    "FloatArray": _is_array("iuf", ARRAYS),
    "BoolArray": _is_array("b", ARRAYS),
    "AnswerArray": _is_array("iu", ARRAYS),
    **dict.fromkeys(CHOICES, lambda value: isinstance(value, str)),
}
"""How a value of each kind is told."""

CLASSES = {
    *(
        "Study",
        "Plausibilities",
        "Predictions",
        "Categories",
        "Evaluation",
        "Panel",
        "Source",
        "Watch",
    ),
    *("PointAggregation", "NormalInverseGammaPrior", "RatingPrior", "DataFrame"),
}
"""Kinds that are classes; they are told by name, so that nothing has to be imported."""

WORDS = {
    "None": "None",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "Path": "a path",
    "Sequence": "a list",
    "tuple": "a list",
    "Mapping": "a mapping",
    "Callable": "a function",
    "UserFunction": "a function",
    "IntArray": "whole numbers",
    "AnswerArray": "whole numbers",
    "FloatArray": "an array of numbers",
    "BoolArray": "an array of True and False",
    **dict.fromkeys(CHOICES, "text"),
}
"""What errors call each kind; classes go by their names."""
