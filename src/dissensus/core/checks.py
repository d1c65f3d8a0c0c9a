"""Checks that all parts share, each one clear error: numbers, choices, lengths, and arguments by their annotations."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence, Set, Sized
from dataclasses import fields
from functools import lru_cache, partial, wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.errors import DissensusError

# Limits of reliabilities, prior masses and weights: within them products and sums stay far from where floats end.
SMALLEST, GREATEST = 1e-9, 1e9

# Largest counts, by name of the parameter; any other may be up to a thousand million.
MOST = {
    "m": 10**4,
    "draws": 10**7,
    "threads": 1024,
    "workers": 1024,
    "chains": 1000,
    "warmup": 10**6,
    "conditions": 10**6,
    "n_annotators": 10**6,
}

# What to do about a reliability that is out of range, and about an infinite one.
TRUST = (
    "use a small value for little trust; for no uncertainty at all use",
    "unlimited trust is what the deterministic aggregations are:",
)


def check_positive(**values: float) -> None:
    """Refuse parameters that are not positive, or so small or large that arithmetic fails."""
    for name, value in values.items():
        if not SMALLEST <= _number(value) <= GREATEST:
            trust = TRUST[isinstance(value, float) and value == np.inf] if name == "reliability" else ""
            problem, expected = f"{name} must be a positive, finite number", f"{SMALLEST:g} to {GREATEST:g}"
            advice = trust and f"{trust} InverseRank, PlackettLuceML or MajorityVote"
            raise DissensusError(problem, expected=expected, got=repr(value), advice=advice)


def _number(value: Any) -> Any:
    """Return a number as it is, and whatever is none as undefined."""
    return value if isinstance(value, int | float | np.number) and not isinstance(value, bool) else math.nan


def check_share(name: str, value: object, within: str = "above 0 and below 1") -> None:
    """Refuse what is not a number between 0 and 1; 0 counts where it says at least, and 1 where it says at most.

    >>> check_share("alpha", 1.5)
    Traceback (most recent call last):
    dissensus.core.errors.DissensusError: alpha must be between 0 and 1
      expected: above 0 and below 1
      got:      1.5
    """
    number = _number(value)
    is_end = (number == 0 and "at least 0" in within) or (number == 1 and "at most 1" in within)
    if not (is_end or 0 < number < 1):
        advice = "use 0.95 for 95 % intervals" if name == "level" else ""
        raise DissensusError(f"{name} must be between 0 and 1", expected=within, got=f"{value!r:.60}", advice=advice)


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise DissensusError(f"{name} is not understood", expected=" or ".join(map(repr, choices)), got=repr(value))


def check_count(**values: int) -> None:
    """Refuse counts below one, and those that no computer could serve."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise DissensusError(f"{name} must be a whole number, one or more", got=repr(value))
        check_most(name, value)


def check_most(name: str, value: int) -> None:
    """Refuse counts above the largest that is served."""
    most = MOST.get(name, 10**9)
    if value > most:
        raise DissensusError(f"{name} is too large", expected=f"at most {most:,}", got=str(value))


def check_seed(seed: int) -> None:
    """Refuse seeds that are not 64-bit whole numbers."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise DissensusError("seed must be a whole number from 0 to 2**64 - 1", got=repr(seed))


def check_length(what: str, got: int, expected: int, *, where: str = "") -> None:
    """Refuse a list that is shorter or longer than what it describes."""
    if got != expected:
        raise DissensusError(f"the number of {what}s does not fit", expected=str(expected), got=str(got), where=where)


def check_offsets(what: str, offsets: IntArray, n_rows: int, n_elements: int) -> None:
    """Refuse offsets that do not lead from the first element to the last."""
    check_length(what, len(offsets), n_rows + 1)
    if offsets[0] != 0 or offsets[-1] != n_elements or (offsets[1:] < offsets[:-1]).any():
        raise DissensusError(f"the {what}s are not in order", expected=f"ascending numbers from 0 to {n_elements}")


def check_codes(codes: IntArray, n_conditions: int) -> None:
    """Refuse codes that stand for no condition."""
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_conditions:
        expected = f"0 to {n_conditions - 1}, as there are {n_conditions} conditions"
        got = f"{codes.min()} to {codes.max()}"
        raise DissensusError("a condition code is out of range", expected=expected, got=got)


def check_weights(what: str, weights: FloatArray) -> None:
    """Refuse weights that are negative, infinite or not a number, or so small or large that arithmetic fails."""
    wrong = np.flatnonzero(~((weights == 0) | ((weights >= SMALLEST) & (weights <= GREATEST))))
    if len(wrong):
        problem, expected = f"{what} must be finite and not negative", f"0, or {SMALLEST:g} to {GREATEST:g}"
        got = f"{weights[wrong[0]]} at position {wrong[0] + 1}"
        raise DissensusError(problem, expected=expected, got=got)


# Arguments ---------------------------------------------------------------------------------------------


# Parameters that have a check of their own, which says more.
OWN = {
    *("draws", "seed", "threads", "k", "j", "depth", "top", "n_conditions", "level", "persistence"),
    *("aggregations", "metrics"),
}

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")


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


def with_checked_methods(kind: type[Kind]) -> type[Kind]:
    """Let every public method of a class refuse arguments of the wrong kind, as :func:`checked` functions do."""
    for name, one in list(vars(kind).items()):
        inner = getattr(one, "__func__", one)
        if name.startswith("_") or not inspect.isfunction(inner) or hasattr(inner, "__wrapped__"):
            continue
        if len(inspect.signature(inner).parameters) > (not isinstance(one, staticmethod)):
            setattr(kind, name, checked(inner) if one is inner else type(one)(checked(inner)))
    return kind


def check_position(what: str, position: int, count: int) -> None:
    """Refuse a position that is not one of 0 to count - 1."""
    if not 0 <= position < count:
        raise DissensusError(f"there is no {what} at this position", expected=f"0 to {count - 1}", got=str(position))


def check_fields(one: Any) -> None:
    """Refuse a dataclass whose fields are not of the kinds that their annotations name."""
    for part in fields(one):
        if part.init and part.name not in OWN:
            check_kind(part.name, getattr(one, part.name), str(part.type))


def check_kind(name: str, value: object, kind: str) -> None:
    """Refuse a value that is not of the kind that an annotation names."""
    alternatives = tuple(one for part in _alternatives(kind) for one in _alternatives(ALIASES.get(part, part)))
    if not any(_is(value, one) for one in alternatives):
        heads = dict.fromkeys(map(_head, alternatives))
        words = dict.fromkeys(KINDS[one][0] if one in KINDS else GATHERED.get(one, one) for one in heads)
        got = f"{value!r:.60}, a {type(value).__name__}"
        raise DissensusError(f"{name} is not of the right kind", expected=" or ".join(words), got=got)


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


class Recent:
    """Remember by identity which long tuples passed a check last: names of conditions are handed on many times."""

    passed: tuple[object, ...] = ()

    def __contains__(self, one: object) -> bool:
        return any(one is known for known in self.passed)

    def add(self, one: object) -> None:
        """Remember a tuple, which cannot change, if looking at it again would take long."""
        if type(one) is tuple and len(one) >= LONG and one not in self:
            self.passed = (one, *self.passed[:7])


# Tuples from this length on are remembered; those of which all items are known to be text.
LONG, texts = 1000, Recent()


def _is(value: object, kind: str) -> bool:
    head, inner = _head(kind), _inner(kind)
    if head == "Sequence" and inner in (("float",), ("int",), ("Sequence[Any]",)):
        # those who read the items tell the place of a wrong one
        return is_list(value) or (isinstance(value, np.ndarray) and value.ndim > 1)
    if head in ("Sequence", "tuple"):
        items: Any = value
        if is_list(value) and "str" in inner and (items in texts or set(map(type, items)) <= {str}):
            texts.add(items)  # the usual case, told without looking at each item in Python
            return True
        return is_list(value) and all(_is_item(item, inner) for item in items)
    if head == "Mapping":
        return isinstance(value, Mapping) and all(_is_item(item, inner) for item in value.values())
    if head in KINDS:
        return KINDS[head][1](value)
    return head not in CLASSES or any(head == one.__name__ for one in type(value).__mro__)


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
    is_real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return isinstance(value, float | np.floating) or (is_real and abs(float(cast("Real", value))) < 2**1023)


def _is_label(value: object) -> bool:
    many = is_list(value) or isinstance(value, Set)
    return isinstance(value, str) or (many and all(map(_is_name, cast("Any", value))))


def _is_array(kinds: str, value: object) -> bool:
    if isinstance(value, str | bytes | Mapping | Set):
        return False
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    return 1 <= array.ndim <= 4 and (array.dtype.kind in kinds or not array.size)


# Aliases of a few words; which ones is checked where they are used.
CHOICES = (
    *("Ties", "Question", "AnyQuestion", "Within", "Unranked", "Via", "Unmentioned", "Distance", "PredictionKind"),
    *("Prior", "Duplicates", "Confidence", "Lists", "Truth", "Limit"),
)

# Names of annotations that stand for others.
ALIASES = {
    "Advance": "Callable | None",
    "Conditions": "Sequence[str] | int | None",
    "Sets": "str | Sequence[Label] | Mapping[str, Label]",
}

# What errors call each kind, and how a value of it is told.
KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "None": ("None", lambda value: value is None),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "bool": ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "str": ("text", lambda value: isinstance(value, str)),
    "Path": ("a path", lambda one: isinstance(one, str | os.PathLike) and "\0" not in str(one) and bool(str(one))),
    "Label": ("Label", _is_label),
    "Sampler": ("Sampler", callable),
    **dict.fromkeys(("Callable", "UserFunction"), ("a function", callable)),
    **dict.fromkeys(("IntArray", "AnswerArray"), ("whole numbers", partial(_is_array, "iu"))),
    "FloatArray": ("an array of numbers", partial(_is_array, "iuf")),
    "BoolArray": ("an array of True and False", partial(_is_array, "b")),
    **dict.fromkeys(CHOICES, ("text", lambda value: isinstance(value, str))),
}

# What errors call kinds that are told by their items.
GATHERED = {"Sequence": "a list", "tuple": "a list", "Mapping": "a mapping"}

# Kinds that are classes; they are told by name, so that nothing has to be imported.
CLASSES = {
    *("Study", "Plausibilities", "Predictions", "Categories", "Evaluation", "Panel", "Source", "Watch"),
    *("PointAggregation", "NormalInverseGammaPrior", "RatingPrior", "DataFrame", "ReaderStudy"),
}
