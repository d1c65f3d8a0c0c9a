"""Specs: small frozen dataclasses that carry themselves, from their name on the command line to their words.

Registries fill themselves: declaring a class with an ``id`` makes it known, third parties by entry points.

A spec has an id and parameters. It is made from an object or from text such as ``"plackett-luce:3:prior=symmetric"``,
the same everywhere; written down as plain values; and restored from them.
"""

from __future__ import annotations

import math
import pkgutil
import re
import types
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from itertools import product
from typing import Any, ClassVar, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError, DissensusWarning, suggestion

Kind = TypeVar("Kind", bound="Spec")
Known = TypeVar("Known", bound="Registered")

# The parameter over which results are shown as a curve: runs that differ in it alone belong together.
SWEPT = "reliability"


# Registries ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Family(Generic[Known]):
    """Know all classes of one sort by their ids.

    Attributes
    ----------
    noun
        What one of them is called.
    package
        The package whose modules declare those that ship with Dissensus; a new module in it is enough.
    group
        The group of entry points in which installed packages name the modules or classes that declare theirs.

    Examples
    --------
    >>> from dissensus.aggregations.base import Aggregation
    >>> Aggregation.family.find("plackett-luce").__name__
    'PlackettLuce'
    """

    noun: str
    package: str
    group: str
    _declared: dict[str, type[Known]] = field(default_factory=dict)
    _is_loaded: bool = False

    def add(self, kind: type[Known]) -> None:
        """Make a class known; two classes cannot share an id."""
        names = [f"{one.__module__}.{one.__qualname__}" for one in (self._declared.get(kind.id, kind), kind)]
        if names[0] != names[1]:
            problem, advice = f"two {self.noun}s have the id {kind.id!r}", "give one of them another id"
            raise DissensusError(problem, got=" and ".join(names), advice=advice)
        self._declared[kind.id] = kind

    def known(self) -> dict[str, type[Known]]:
        """Return all of them by id: those of the package first, then those of installed packages, each sorted."""
        if not self._is_loaded:
            self._is_loaded = True
            package = import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                if not module.name.startswith("_"):
                    import_module(f"{self.package}.{module.name}")
            for point in entry_points(group=self.group):
                try:
                    point.load()
                except Exception as error:  # noqa: BLE001 - what goes wrong in somebody else's package stops no one
                    origin = point.dist.name if point.dist is not None else point.value
                    problem = f"the {self.noun} {point.name!r} of the package {origin!r} could not be loaded: {error!r}"
                    warnings.warn(problem, DissensusWarning, stacklevel=2)
        own = f"{self.package}."
        return dict(sorted(self._declared.items(), key=lambda item: (not item[1].__module__.startswith(own), item[0])))

    def has(self, name: str) -> bool:
        """Tell whether there is one with this id; of the package, only the module that has it is run."""
        if name not in self._declared and not self._is_loaded:
            for module in pkgutil.iter_modules(import_module(self.package).__path__, f"{self.package}."):
                found = find_spec(module.name)
                loader = None if found is None else found.loader
                if isinstance(loader, InspectLoader) and f'id = "{name}"' in (loader.get_source(module.name) or ""):
                    import_module(module.name)
        return name in self._declared or name in self.known()

    def find(self, name: str) -> type[Known]:
        """Return the one with this id, or say which there are, and which are near by name or by meaning."""
        if self.has(name):
            return self._declared[name]
        known = self.known()
        aliases = [alias.partition(":")[0] for one in known.values() for alias in getattr(one, "aliases", ())]
        words = {word for word in plain_name(name).split("-") if len(word) > 3}
        meant = [key for key, one in known.items() if words & {*plain_name(getattr(one, "meaning", "")).split("-")}]
        advice = suggestion(name, (*known, *aliases))
        advice = advice or (f"by meaning it may be {' or '.join(meant[:3])}" if meant else "")
        raise DissensusError(f"unknown {self.noun} {name!r}", expected=f"one of {', '.join(known)}", advice=advice)


class Registered:
    """Be known to a family by declaring an ``id``."""

    id: ClassVar[str] = ""
    family: ClassVar[Family[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(cls.__dict__.get("id"), str) and cls.id:
            cls.family.add(cls)


# Specs ---------------------------------------------------------------------------------------------------


class Spec(Registered):
    """Say what is computed: an id, parameters, and what they mean in words.

    Attributes
    ----------
    id
        The name on the command line, in files and in tables.
    meaning
        What it does, in a sentence or two that a reader without statistics understands.
    aliases
        Usual names, each with the parameters that it stands for as in ``"f1:1"``.
    given
        Parameters that the evaluation knows and users need not repeat, such as ``"categories"``.
    kept_apart
        Parameters that cannot be written down as plain values, such as functions.
    """

    meaning: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    given: ClassVar[tuple[str, ...]] = ()
    kept_apart: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parameter_fields(cls) -> tuple[Field[Any], ...]:
        """Return the parameters as dataclass fields, in order."""
        own: tuple[Field[Any], ...] = fields(cls) if is_dataclass(cls) else ()
        return tuple(part for part in own if part.name not in cls.kept_apart)

    @classmethod
    def usage(cls) -> str:
        """Write how it is given as text.

        >>> from dissensus.aggregations import PlackettLuce
        >>> PlackettLuce.usage()
        'plackett-luce:RELIABILITY:alpha=ALPHA:prior=PRIOR:chains=CHAINS:warmup=WARMUP:tempered=TEMPERED'
        """
        placed = cls.placed_parameters()
        named = [part.name for part in cls.parameter_fields() if part.name not in (*placed, *cls.given)]
        return ":".join([cls.id, *map(str.upper, placed), *(f"{name}={name.upper()}" for name in named)])

    @classmethod
    def placed_parameters(cls) -> tuple[str, ...]:
        """Name the parameters that text gives by place: the reliability if there is one, otherwise all."""
        names = [part.name for part in cls.parameter_fields() if part.name not in cls.given]
        return (SWEPT,) if SWEPT in names else tuple(names)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain values that JSON can hold.

        >>> from dissensus.aggregations import InverseRank
        >>> InverseRank().parameters()
        {'ties': 'shared'}
        """
        return {part.name: plain_value(getattr(self, part.name)) for part in self.parameter_fields()}

    def record(self) -> dict[str, Any]:
        """Return id and parameters."""
        return {"id": self.id, "parameters": self.parameters()}

    @classmethod
    @checked
    def from_parameters(cls: type[Kind], parameters: Mapping[str, Any]) -> Kind:
        """Make one from parameters by name; refuse those that it does not have, and say which are missing."""
        if not isinstance(cls.id, str):
            raise DissensusError(f"{cls.__name__} cannot be made from parameters alone", advice=f"call {cls.__name__}")
        known = {part.name: part for part in cls.parameter_fields()}
        unknown = [name for name in parameters if name not in known]
        if unknown:
            expected = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
            advice = suggestion(unknown[0], known) or f"leave it out, or choose another {cls.family.noun}"
            raise DissensusError(f"{cls.id} has no {unknown[0]}", expected=expected, advice=advice)
        required = [name for name, part in known.items() if part.default is part.default_factory is MISSING]
        missing = [name for name in required if name not in parameters]
        if missing:
            advice = f"tell the evaluation: evaluate(..., {missing[0]}=...)" if missing[0] in cls.given else ""
            raise DissensusError(f"{cls.id} needs {missing[0]}", expected=cls.usage(), advice=advice)
        return cls(**parameters)


def plain_value(value: Any) -> Any:
    """Turn a parameter into what JSON can hold: specs become records, arrays and tuples lists, infinity a word."""
    if isinstance(value, Spec):
        return {"id": value.id, "parameters": value.parameters()}
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [plain_value(item) for item in value]
    if isinstance(value, np.generic):
        return plain_value(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain_value(getattr(value, part.name)) for part in fields(value)}
    return value


def restored(family: Family[Kind], record: Mapping[str, Any]) -> Kind:
    """Make a spec from its record."""

    def revived(value: Any) -> Any:
        if isinstance(value, Mapping) and value.keys() == {"id", "parameters"}:
            return restored(family, value)
        return tuple(map(revived, value)) if isinstance(value, list) else value

    parameters = {name: revived(value) for name, value in record["parameters"].items()}
    return family.find(record["id"]).from_parameters(parameters)


# Text ----------------------------------------------------------------------------------------------------


def specs_from(family: Family[Kind], text: str, given: Mapping[str, Any] | None = None) -> list[Kind]:
    """Make specs from an id and parameters, separated by colons; several values at a place make several specs.

    Parameters
    ----------
    given
        Parameters that are known already, for kinds that take them (:attr:`Spec.given`).

    Examples
    --------
    >>> from dissensus.aggregations.base import Aggregation
    >>> [one.reliability for one in specs_from(Aggregation.family, "plackett-luce:1,3")]
    [1.0, 3.0]
    >>> specs_from(Aggregation.family, "dirichlet:1:alpha=fitted")
    [Dirichlet(reliability=1.0, alpha='fitted', prior='symmetric')]
    """
    name, *parts = [part.strip() for part in canonical(family, text, given).split(":")]
    kind = family.find(name)
    values, places = [part for part in parts if "=" not in part], kind.placed_parameters()
    if len(values) > len(places):
        raise DissensusError(f"{kind.id} has too many parameters", expected=kind.usage(), got=repr(text))
    placed = dict(zip(places, values, strict=False))
    named = [(key.strip(), value.strip()) for key, _, value in (part.partition("=") for part in parts if "=" in part)]
    twice = [key for key, count in Counter([*placed, *(key for key, _ in named)]).items() if count > 1]
    if twice:
        raise DissensusError(f"{kind.id} has two values of {twice[0]}", expected=kind.usage(), got=repr(text))
    own = {key: value for key, value in (given or {}).items() if key in kind.given}
    fixed = {key: read_parameter(kind, key, value, text) for key, value in named}
    swept = [
        [read_parameter(kind, key, item.strip(), text) for item in value.split(",")] for key, value in placed.items()
    ]
    return [
        kind.from_parameters({**own, **fixed, **dict(zip(placed, values, strict=True))}) for values in product(*swept)
    ]


def plain_name(text: str) -> str:
    """Write a name in small letters and hyphens.

    >>> plain_name("Top-3 Accuracy"), plain_name("Cohen's kappa")
    ('top-3-accuracy', 'cohen-s-kappa')
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.casefold()).strip("-")


def canonical(family: Family[Kind], text: str, given: Mapping[str, Any] | None = None) -> str:
    """Write text as an id and parameters, whichever usual name or name of results it begins with.

    >>> from dissensus.metrics.base import Metric
    >>> [canonical(Metric.family, text) for text in ("Accuracy", "top-3 accuracy", "average overlap at 5", "f1")]
    ['top-k-accuracy:1', 'top-k-accuracy:k=3', 'average-overlap:depth=5', 'f-beta:1']
    """
    head, colon, rest = text.partition(":")
    if not head.strip() or family.has(head.strip()):
        return text
    known, name = family.known(), plain_name(head)
    if name in known:
        return f"{name}{colon}{rest}"
    for key, kind in known.items():
        for alias, _, parameters in (one.partition(":") for one in kind.aliases):
            if plain_name(alias) == name:
                return ":".join(filter(None, [key, parameters, rest]))
    for key, kind in known.items():  # names of results, with one number at the most
        own = {key: value for key, value in (given or {}).items() if key in kind.given}
        fields_of = [part.name for part in kind.parameter_fields()] if hasattr(kind, "name") else []
        numbers = [(part, number) for part in fields_of for number in re.findall(r"\d+\.?\d*", head)]
        for part, number in (("", ""), *numbers):
            with suppress(ValueError, TypeError):  # the number is not one of this parameter
                fixed = {part: read_value(get_type_hints(kind).get(part, str), number)} if part else {}
                if plain_name(getattr(kind.from_parameters({**own, **fixed}), "name", "")) == name:
                    return ":".join(filter(None, [key, f"{part}={number}" if part else "", rest]))
    return text


def one_spec(family: Family[Kind], item: Any, given: Mapping[str, Any] | None = None) -> Kind:
    """Take a spec as it is, or make it from text; refuse text that stands for several, and anything else."""
    found = as_specs(family, [item], given)
    if len(found) != 1:
        raise DissensusError(f"this stands for {len(found)} {family.noun}s", expected="one", got=repr(item))
    return found[0]


def as_specs(family: Family[Kind], items: Sequence[Any], given: Mapping[str, Any] | None = None) -> list[Kind]:
    """Take specs as they are, and make them from text; refuse anything else."""
    if isinstance(items, str):
        items = [items]
    check_specs(family, items)
    return [spec for item in items for spec in (specs_from(family, item, given) if isinstance(item, str) else [item])]


def check_specs(family: Family[Any], items: Sequence[Any]) -> None:
    """Refuse what is neither text nor a spec of the family."""
    for item in items:
        if not isinstance(item, str) and getattr(type(item), "family", None) is not family:
            article = "an" if family.noun[0] in "aeiou" else "a"
            raise DissensusError(f"this is not {article} {family.noun}", got=f"{item!r:.80}")


def read_parameter(kind: type[Spec], name: str, text: str, where: str) -> Any:
    """Read the value of a parameter as its type says."""
    try:
        return read_value(get_type_hints(kind).get(name, str), text)
    except ValueError as error:
        if isinstance(error, DissensusError):
            raise
        problem, expected = f"{name} must be {error}", kind.usage()
        raise DissensusError(problem, expected=expected, got=repr(text), where=repr(where)) from None


def read_value(hint: Any, text: str) -> Any:
    """Read text as a value of a type.

    Raises
    ------
    ValueError
        Whose text says what was expected.

    Examples
    --------
    >>> read_value(tuple[float, ...], "0,5"), read_value(int | None, "none"), read_value(bool, "true")
    ((0.0, 5.0), None, True)
    """
    origin, choices = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        others = [choice for choice in choices if choice is not type(None)]
        if any(get_origin(choice) is Literal and text in get_args(choice) for choice in others):
            return text
        return None if text == "none" and len(others) < len(choices) else read_value(others[0], text)
    if origin is tuple:
        return tuple(read_value(choices[0], part.strip()) for part in text.split(","))
    if isinstance(hint, type) and issubclass(hint, Spec):
        return one_spec(hint.family, text)
    if is_dataclass(hint) and isinstance(hint, type):  # the fields, in order
        hints, parts = {part.name: get_type_hints(hint)[part.name] for part in fields(hint)}, text.split(",")
        if len(parts) != len(hints):
            raise ValueError(f"{len(hints)} numbers: {','.join(hints).upper()}")
        return hint(*(read_value(kind, part.strip()) for kind, part in zip(hints.values(), parts, strict=True)))
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError("true or false")
        return text.lower() == "true"
    kinds = () if hint is str or origin is Literal else (hint,) if hint in (int, float) else (int, float)
    for kind in kinds:
        with suppress(ValueError):
            return kind(text)
    if hint in (int, float):
        raise ValueError("a whole number" if hint is int else "a number")
    return text  # also where nothing says which it is, and it is no number


# Names ---------------------------------------------------------------------------------------------------


def distinct_names(specs: Sequence[Spec]) -> tuple[str, ...]:
    """Name specs by their ids, with the parameters in which those of one id differ; the reliability is not part of it.

    >>> from dissensus.aggregations import PlackettLuce
    >>> distinct_names([PlackettLuce(3), PlackettLuce(3, prior="symmetric"), PlackettLuce(1)])
    ('plackett-luce (prior=frequency)', 'plackett-luce (prior=symmetric)', 'plackett-luce (prior=frequency)')
    """
    names = []
    for spec in specs:
        own, others = spec.parameters(), [other.parameters() for other in specs if other.id == spec.id]
        telling = [name for name in own if name != SWEPT and any(other.get(name) != own[name] for other in others)]
        told = ", ".join(f"{name}={written(own[name])}" for name in telling)
        names.append(f"{spec.id} ({told})" if told else str(spec.id))
    return tuple(names)


def written(value: Any) -> str:
    """Write the plain value of a parameter in a name.

    >>> written(0.5), written([1.0, 2.0]), written({"id": "inverse-rank", "parameters": {"ties": "each"}})
    ('0.5', '1/2', 'inverse-rank ties=each')
    """
    if isinstance(value, Mapping):
        parts = {**value, **value.get("parameters", {})}
        parts.pop("parameters", None)
        name = [parts.pop("id")] if "id" in parts else []
        return " ".join([*name, *(f"{key}={written(item)}" for key, item in parts.items())])
    if isinstance(value, list):
        return "/".join(map(written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


# Versions ------------------------------------------------------------------------------------------------


def present_versions() -> dict[str, str]:
    """Return the versions of the packages that numbers depend on.

    >>> sorted(present_versions())
    ['dissensus', 'numba', 'numpy', 'polars', 'scipy']
    """
    return {name: version(name) for name in ("dissensus", "numpy", "numba", "polars", "scipy")}
