"""Registries: a declared class is known, ids are unique, and nobody else's package can break this one."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from dissensus import Aggregation, DissensusError, DissensusWarning, Metric
from dissensus.core.spec import Family, Registered

FAMILIES = pytest.mark.parametrize("family", [Aggregation.family, Metric.family], ids=lambda family: family.noun)


def new_base(*, package: str = "dissensus.simulate", group: str = "dissensus.toys") -> type[Registered]:
    """Declare the base of a family of its own; the package may be any that has none of them."""

    class Toy(Registered):
        family: ClassVar[Family[Any]] = Family("toy", package, group)

    return Toy


def declare(base: type[Registered], name: str, **content: Any) -> type[Registered]:
    return type(name, (base,), {"__module__": __name__, "__qualname__": name, **content})


@dataclass
class Point:
    """Stand for an entry point."""

    name: str
    action: Any
    value: str = "somewhere:Something"
    dist: Any = None
    loaded: list[str] = field(default_factory=list)

    def load(self) -> None:
        self.loaded.append(self.name)
        self.action()


def provide(monkeypatch: pytest.MonkeyPatch, *points: Point) -> list[str]:
    """Let installed packages have these entry points; return the groups that are asked for."""
    asked: list[str] = []

    def entry_points(*, group: str) -> tuple[Point, ...]:
        asked.append(group)
        return points

    monkeypatch.setattr("dissensus.core.spec.entry_points", entry_points)
    return asked


def test_declaring_a_class_makes_it_known() -> None:
    base = new_base()
    top = declare(base, "Top", id="top")
    assert base.family.find("top") is top


def test_classes_without_an_id_of_their_own_are_not_registered() -> None:
    base = new_base()
    top = declare(base, "Top", id="top")
    declare(top, "SmallTop")
    declare(base, "Nameless")
    declare(base, "Empty", id="")
    declare(base, "Told", id=property(lambda _: "told"))
    assert base.family.known() == {"top": top}


def test_two_classes_cannot_have_one_id() -> None:
    base = new_base()
    top = declare(base, "Top", id="top")
    with pytest.raises(
        DissensusError, match=r"two toys have the id 'top'\n.*\.Top and .*\.Other\n +do: +give one of them another id"
    ):
        declare(base, "Other", id="top")
    assert base.family.find("top") is top


def test_a_class_that_is_declared_anew_replaces_itself() -> None:
    base = new_base()
    declare(base, "Top", id="top")
    again = declare(base, "Top", id="top")
    assert base.family.find("top") is again


def test_an_unknown_id_is_told_what_there_is() -> None:
    base = new_base()
    declare(base, "Top", id="spinning-top")
    declare(base, "Ball", id="ball")
    with pytest.raises(
        DissensusError,
        match=r"unknown toy 'spining-top'\n +expected: one of ball, spinning-top\n +do: +did you mean 'spinning-top'\?",
    ):
        base.family.find("spining-top")
    with pytest.raises(DissensusError, match=r"unknown toy 'kite'\n +expected: one of ball, spinning-top$"):
        base.family.find("kite")


def test_installed_packages_are_asked_once_when_somebody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    base = new_base(group="some.group")
    point = Point("kite", lambda: declare(base, "Kite", id="kite"))
    asked = provide(monkeypatch, point)
    declare(base, "Top", id="top")
    assert point.loaded == []
    assert base.family.find("kite").__name__ == "Kite"
    base.family.known()
    assert (asked, point.loaded) == (["some.group"], ["kite"])


@pytest.mark.parametrize(
    "error", [ImportError("no module named 'x'"), SyntaxError("bad"), KeyError("k"), SystemError()]
)
def test_a_broken_entry_point_gives_a_warning_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail() -> None:
        raise error

    base = new_base()
    provide(monkeypatch, Point("kite", fail), Point("ball", lambda: declare(base, "Ball", id="ball")))
    declare(base, "Top", id="top")
    with pytest.warns(DissensusWarning) as caught:
        known = base.family.known()
    assert sorted(known) == ["ball", "top"]
    (warning,) = [str(one.message) for one in caught]
    assert warning == f"the toy 'kite' of the package 'somewhere:Something' could not be loaded: {error!r}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.family.find("top")


def test_the_warning_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    base, package = new_base(), type("Distribution", (), {"name": "toy-shop"})()
    provide(monkeypatch, Point("kite", lambda: 1 / 0, dist=package))
    with pytest.warns(DissensusWarning, match=r"the toy 'kite' of the package 'toy-shop' could not be .*ZeroDivision"):
        base.family.known()


def test_a_package_that_takes_a_known_id_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    base = new_base()
    top = declare(base, "Top", id="top")
    provide(monkeypatch, Point("mine", lambda: declare(base, "Mine", id="top")))
    with pytest.warns(DissensusWarning, match="two toys have the id 'top'"):
        assert base.family.known() == {"top": top}


def test_a_real_entry_point_of_a_missing_module_gives_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="kite", value="no_such_module_here:Kite", group="dissensus.toys")
    monkeypatch.setattr("dissensus.core.spec.entry_points", lambda **_: (point,))
    with pytest.warns(DissensusWarning, match=r"'no_such_module_here:Kite' could not be loaded: ModuleNotFoundError"):
        assert new_base().family.known() == {}


def test_those_of_the_package_come_first_and_each_part_is_sorted() -> None:
    base = new_base(package="dissensus.simulate")
    for name in ("b-theirs", "a-theirs"):
        declare(base, name, id=name)
    for name in ("z-ours", "y-ours"):
        declare(base, name, id=name, __module__="dissensus.simulate.toy")
    assert list(base.family.known()) == ["y-ours", "z-ours", "a-theirs", "b-theirs"]


@FAMILIES
def test_ids_are_hyphenated_words_and_every_class_has_its_own(family: Family[Any]) -> None:
    known = family.known()
    assert len(known) >= 8
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in known)
    assert [kind.id for kind in known.values()] == list(known)
    assert len(set(known.values())) == len(known)


@FAMILIES
def test_what_a_family_returns_cannot_be_used_to_change_it(family: Family[Any]) -> None:
    family.known().clear()
    assert family.known()
