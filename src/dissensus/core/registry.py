"""Registries that fill themselves: declaring a class with an ``id`` makes it known, third parties by entry points."""

from __future__ import annotations

import pkgutil
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Generic, TypeVar

from dissensus.core.errors import DissensusError, DissensusWarning, suggestion

Kind = TypeVar("Kind", bound="Registered")


@dataclass(eq=False)
class Family(Generic[Kind]):
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
    >>> from dissensus.aggregation.base import Aggregation
    >>> Aggregation.family.find("plackett-luce").__name__
    'PlackettLuce'
    """

    noun: str
    package: str
    group: str
    _declared: dict[str, type[Kind]] = field(default_factory=dict)
    _is_loaded: bool = False

    def add(self, kind: type[Kind]) -> None:
        """Make a class known; two classes cannot share an id."""
        other = self._declared.get(kind.id)
        if other is not None and _name_of(other) != _name_of(kind):
            raise DissensusError(
                f"two {self.noun}s have the id {kind.id!r}",
                got=f"{_name_of(other)} and {_name_of(kind)}",
                advice="give one of them another id",
            )
        self._declared[kind.id] = kind

    def known(self) -> dict[str, type[Kind]]:
        """Return all of them by id: those of the package first, then those of installed packages, each sorted."""
        if not self._is_loaded:
            self._is_loaded = True
            self._load()
        return dict(sorted(self._declared.items(), key=lambda item: (not self._is_own(item[1]), item[0])))

    def find(self, name: str) -> type[Kind]:
        """Return the one with this id, or say which there are."""
        known = self.known()
        if name not in known:
            raise DissensusError(
                f"unknown {self.noun} {name!r}",
                expected=f"one of {', '.join(known)}",
                advice=suggestion(name, known),
            )
        return known[name]

    def _is_own(self, kind: type[Kind]) -> bool:
        return kind.__module__.startswith(f"{self.package}.")

    def _load(self) -> None:
        package = import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                import_module(f"{self.package}.{module.name}")
        for point in entry_points(group=self.group):
            self._load_point(point)

    def _load_point(self, point: EntryPoint) -> None:
        try:
            point.load()
        except Exception as error:  # noqa: BLE001 - whatever somebody else's package does, it must not stop this one
            origin = point.dist.name if point.dist is not None else point.value
            warnings.warn(
                f"the {self.noun} {point.name!r} of the package {origin!r} could not be loaded: {error!r}",
                DissensusWarning,
                stacklevel=2,
            )


class Registered:
    """Be known to a family by declaring an ``id``."""

    id: ClassVar[str] = ""
    family: ClassVar[Family[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(cls.__dict__.get("id"), str) and cls.id:
            cls.family.add(cls)


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
