"""Specs as text, as records and as names, and the registries that know them, whatever other packages declare."""

import json
import re
import warnings
from dataclasses import MISSING, dataclass, field, fields
from importlib.metadata import EntryPoint
from operator import attrgetter
from typing import Any, ClassVar

import pytest

from dissensus import DissensusError, DissensusWarning, metrics
from dissensus import aggregations as ag
from dissensus.aggregations.base import RecordedAggregation, restored_aggregation
from dissensus.core.spec import (
    Family,
    Registered,
    Spec,
    as_specs,
    distinct_names,
    one_spec,
    plain_value,
    restored,
    specs_from,
)
from dissensus.metrics.base import restored_metric
from dissensus.plugins import Aggregation, Metric
from refusals import refused

CATEGORIES = ("low", "low", "high")
GIVEN: dict[str, Any] = {"categories": CATEGORIES}
REQUIRED: dict[str, Any] = {"k": 3, "categories": CATEGORIES, "threshold": 0.2}

PRIOR = ag.NormalInverseGammaPrior(0.5, 1.0, 2.0, 3.0)
UNUSUAL: tuple[Spec, ...] = (
    ag.PlackettLuce(2.5, alpha=0.3, prior="symmetric", chains=2, warmup=7),
    ag.Dirichlet(0.25, alpha=3.0),
    ag.ProbabilisticInverseRank(12.0, ties="each", alpha=1e-3),
    ag.InverseRank("each"),
    ag.AnnotatorBootstrap(ag.MajorityVote(), 4),
    ag.AnnotatorBootstrap(ag.InverseRank()),
    ag.NormalInverseGamma((0.0, 5.0), prior=PRIOR, reliability=2.0, conditions=("low", "middle", "high")),
    metrics.TopKAccuracy(5, j=2),
    metrics.SetAccuracy(2),
    metrics.Overlap(4),
    metrics.RankBiasedOverlap(0.25, 7),
    metrics.LogScore(floor=1e-6),
    metrics.CategoryAccuracy(CATEGORIES, k=2),
)


def required(kind: type[Spec]) -> list[str]:
    return [part.name for part in kind.parameter_fields() if part.default is part.default_factory is MISSING]


def plainest(kind: type[Spec]) -> Spec:
    """Make one with as few parameters as possible."""
    return kind(**{name: REQUIRED[name] for name in required(kind)})


KINDS: tuple[type[Spec], ...] = (*Aggregation.family.known().values(), *Metric.family.known().values())
SPECS = tuple(dict.fromkeys([*map(plainest, KINDS), *UNUSUAL]))
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=attrgetter("id"))
FAMILIES = pytest.mark.parametrize("family", [Aggregation.family, Metric.family], ids=lambda family: family.noun)
EVERY = pytest.mark.parametrize("spec", SPECS, ids=repr)


def as_text(value: object) -> str:
    """Write a parameter as people type it."""
    if isinstance(value, Spec):
        return value.id
    if isinstance(value, ag.NormalInverseGammaPrior):
        return ",".join(repr(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, tuple):
        return ",".join(map(as_text, value))
    return "none" if value is None else str(value)


def text_of(spec: Spec, *, placed: bool) -> str:
    """Write a spec as people type it, with the values by place, or all by name."""
    names = [part.name for part in spec.parameter_fields() if part.name not in spec.given]
    by_place = spec.placed_parameters() if placed else ()
    values = [as_text(getattr(spec, name)) for name in by_place]
    named = [f"{name}={as_text(getattr(spec, name))}" for name in names if name not in by_place]
    return ":".join([spec.id, *values, *named])


# Text ----------------------------------------------------------------------------------------------------


@EVERY
def test_every_spec_comes_back_from_its_text_and_from_its_record(spec: Spec) -> None:
    for placed in (True, False):
        assert specs_from(spec.family, text_of(spec, placed=placed), GIVEN) == [spec]
    record = json.loads(json.dumps(spec.record(), allow_nan=False))
    again: Spec = restored_aggregation(record) if isinstance(spec, Aggregation) else restored_metric(record)
    assert again == spec
    assert type(again) is type(spec)
    assert again.record() == spec.record() == record
    assert restored(spec.family, {"id": spec.id, "parameters": spec.parameters()}) == spec
    assert restored(spec.family, json.loads(json.dumps(plain_value(spec)))) == spec
    if isinstance(spec, Aggregation):
        stored = RecordedAggregation(record, record["id"], record["meaning"])
        assert (stored.id, stored.meaning, stored.methods) == (spec.id, spec.meaning, spec.methods)
        assert (stored.parameters(), stored.limit) == (spec.parameters(), spec.limit)


@EVERY_KIND
def test_a_kind_says_what_it_is_needs_and_takes(kind: type[Spec]) -> None:
    """The id alone means the defaults, required parameters cannot be left out, and the usage names what users give."""
    names, spec = required(kind), plainest(kind)
    assert spec.meaning.endswith(".")
    assert spec.record()["meaning"] == spec.meaning
    assert spec.record()["methods"].strip()
    for missing in names:
        with pytest.raises(DissensusError, match=f"{kind.id} needs {missing}"):
            kind.from_parameters({name: REQUIRED[name] for name in names if name != missing})
    if set(names) <= set(kind.given):
        assert one_spec(kind.family, kind.id, GIVEN) == plainest(kind)
    else:
        refused(rf"{kind.id} needs {names[0]}\n.*{kind.id}:{names[0].upper()}", one_spec, kind.family, kind.id, GIVEN)
    own, *parts = kind.usage().split(":")
    names = [part.name for part in kind.parameter_fields() if part.name not in kind.given]
    assert own == kind.id
    assert sorted(part.partition("=")[0].lower() for part in parts) == sorted(names)
    assert all(part.partition("=")[2] in ("", part.partition("=")[0].upper()) for part in parts)
    by_place = [part.lower() for part in parts if "=" not in part]
    assert parts[: len(by_place)] == [name.upper() for name in kind.placed_parameters()]


EXAMPLES: dict[Family[Any], dict[str, list[Spec]]] = {
    Aggregation.family: {
        "plackett-luce:1,3": [ag.PlackettLuce(1.0), ag.PlackettLuce(3.0)],
        "plackett-luce:3:tempered=true": [ag.PlackettLuce(3.0, tempered=True)],
        "dirichlet:2,0.5:alpha=3": [ag.Dirichlet(2.0, alpha=3.0), ag.Dirichlet(0.5, alpha=3.0)],
        " plackett-luce : 1 , 3 : prior = symmetric ": [ag.PlackettLuce(g, prior="symmetric") for g in (1.0, 3.0)],
        "annotator-bootstrap": [ag.AnnotatorBootstrap()],
        "annotator-bootstrap:model=majority-vote": [ag.AnnotatorBootstrap(ag.MajorityVote())],
        "annotator-bootstrap:majority-vote:5": [ag.AnnotatorBootstrap(ag.MajorityVote(), 5)],
        "annotator-bootstrap:size=none": [ag.AnnotatorBootstrap()],
        "annotator-bootstrap:majority-vote,plackett-luce-ml:2,3": [
            ag.AnnotatorBootstrap(model, size) for model in (ag.MajorityVote(), ag.PlackettLuceML()) for size in (2, 3)
        ],
        "normal-inverse-gamma:thresholds=0,5": [ag.NormalInverseGamma((0.0, 5.0))],
        "normal-inverse-gamma:2:prior=none:conditions=bad,good": [
            ag.NormalInverseGamma(reliability=2.0, conditions=("bad", "good"))
        ],
    },
    Metric.family: {
        "set-accuracy": [metrics.SetAccuracy()],
        "set-accuracy:none,2,3": [metrics.SetAccuracy(), metrics.SetAccuracy(2), metrics.SetAccuracy(3)],
        "top-k-accuracy:3": [metrics.TopKAccuracy(3)],
        "top-k-accuracy:3:2": [metrics.TopKAccuracy(3, j=2)],
        "top-k-accuracy:j=2:k=3": [metrics.TopKAccuracy(3, j=2)],
        "rank-biased-overlap:0.8": [metrics.RankBiasedOverlap(0.8, 10)],
        "category-accuracy:2": [metrics.CategoryAccuracy(CATEGORIES, 2)],
        "coverage": [metrics.Coverage()],
    },
}


@FAMILIES
def test_text_means_what_it_says(family: Family[Any]) -> None:
    assert {text: specs_from(family, text, GIVEN) for text in EXAMPLES[family]} == EXAMPLES[family]


WRONG: dict[Family[Any], dict[str, str]] = {
    Aggregation.family: {
        "placket-luce": r"unknown aggregation 'placket-luce'(.|\n)*did you mean 'plackett-luce'",
        "": r"unknown aggregation ''\n +expected: one of annotator-bootstrap, dawid-skene, dirichlet, ",
        "plackett-luce:1:2": r"plackett-luce has too many parameters\n.*RELIABILITY:alpha=ALPHA",
        "plackett-luce:1,x": r"reliability must be a number\n.*\n +got: +'x'\n.*'plackett-luce:1,x'",
        "plackett-luce:3:tempered=yes": "tempered must be true or false",
        "plackett-luce:0": "reliability must be a positive, finite number",
        "plackett-luce:prior=flat": r"prior is not understood\n.*'observed' or 'symmetric'",
        "plackett-luce:3:proir=observed": r"plackett-luce has no proir\n.*tempered\n.*did you mean 'prior'",
        "majority-vote:reliability=3": r"majority-vote has no reliability\n.*it has no parameters\n.*leave",
        "plackett-luce:3:reliability=4": r"plackett-luce has two values of reliability\n(.|\n)*=4'",
        "dirichlet:alpha=1:alpha=2": "dirichlet has two values of alpha",
        "annotator-bootstrap:model=majority": r"unknown aggregation 'majority'",
        "annotator-bootstrap:plackett-luce": r"needs a deterministic aggregation",
        "normal-inverse-gamma:thresholds=0,x": r"thresholds must be a number\n.*\n +got: +'0,x'",
        "normal-inverse-gamma:prior=1,2": r"prior must be 4 numbers: MU,KAPPA,A,B\n",
    },
    Metric.family: {
        "top-k-acuracy:3": r"unknown metric 'top-k-acuracy'\n.*one of (.|\n)*did you mean 'top-k-accuracy'",
        "kendall-tau": r"kendall-tau needs k\n +expected: kendall-tau:K",
        "category-accuracy:2": r"category-accuracy needs categories\n.*:K\n.*evaluate\(\.\.\., categories=",
        "coverage:3": r"coverage has too many parameters\n +expected: coverage\n +got: +'coverage:3'",
        "set-accuracy:two": r"k must be a whole number\n.*set-accuracy:K\n +got: +'two'\n.*'set-accuracy:two'",
        "top-k-accuracy:2.5": "k must be a whole number",
        "top-k-accuracy:": r"k must be a whole number\n.*\n +got: +''",
        "top-k-accuracy:0": "k must be a whole number, one or more",
        "log-score:x": r"floor must be a number\n.*log-score:FLOOR\n +got: +'x'",
        "top-k-accuracy:3:meaning=good": r"top-k-accuracy has no meaning\n.*its parameters are k, j",
    },
}


@FAMILIES
def test_text_that_makes_no_sense_is_refused(family: Family[Any]) -> None:
    for text, message in WRONG[family].items():
        refused(message, specs_from, family, text)


def test_specs_and_text_may_be_mixed_and_one_spec_is_one() -> None:
    both, mixed = [ag.PlackettLuce(1.0), ag.PlackettLuce(3.0)], ["plackett-luce:1,3", ag.MajorityVote(), "inverse-rank"]
    assert as_specs(Aggregation.family, mixed) == [*both, ag.MajorityVote(), ag.InverseRank()]
    assert as_specs(Aggregation.family, "plackett-luce:1,3") == both
    with pytest.raises(DissensusError, match=r"this stands for 2 aggregations\n +expected: one\n.*'plackett-luce:1,3'"):
        one_spec(Aggregation.family, "plackett-luce:1,3")


def test_an_aggregation_that_nobody_provides_is_stood_for() -> None:
    record = {**ag.PlackettLuce(3).record(), "id": "elsewhere"}
    stored = restored_aggregation(record)
    assert isinstance(stored, RecordedAggregation)
    assert (stored.id, stored.limit) == ("elsewhere", ag.PlackettLuceML())


# Names ---------------------------------------------------------------------------------------------------


NAMES: dict[str, list[Spec]] = {
    "plackett-luce (alpha=1, prior=observed)|plackett-luce (alpha=0.5, prior=symmetric)": [
        ag.PlackettLuce(3, prior="observed"),
        ag.PlackettLuce(3, prior="symmetric", alpha=0.5),
    ],
    "plackett-luce|plackett-luce|majority-vote": [ag.PlackettLuce(1), ag.PlackettLuce(3), ag.MajorityVote()],
    "plackett-luce|dirichlet": [ag.PlackettLuce(3, chains=2), ag.Dirichlet(3)],
    "annotator-bootstrap (model=majority-vote)|annotator-bootstrap (model=inverse-rank ties=each)": [
        ag.AnnotatorBootstrap(ag.MajorityVote()),
        ag.AnnotatorBootstrap(ag.InverseRank("each")),
    ],
    "normal-inverse-gamma (prior=None)|normal-inverse-gamma (prior=mu=0.5 kappa=1 a=2 b=3)": [
        ag.NormalInverseGamma((0.0, 2.5)),
        ag.NormalInverseGamma((0.0, 2.5), prior=PRIOR),
    ],
    "": [],
}


def test_names_tell_specs_apart_by_what_differs_but_the_reliability() -> None:
    assert {"|".join(distinct_names(specs)): specs for specs in NAMES.values()} == NAMES


def test_equal_names_are_of_specs_that_differ_in_reliability_alone() -> None:
    specs = [spec for spec in SPECS if isinstance(spec, Aggregation)]
    specs += [
        type(spec)(**{part.name: getattr(spec, part.name) for part in spec.parameter_fields()} | {"reliability": 9.0})
        for spec in specs
        if hasattr(spec, "reliability")
    ]
    names = distinct_names(specs)
    for one, name in zip(specs, names, strict=True):
        alike = [other.parameters() for other, theirs in zip(specs, names, strict=True) if theirs == name]
        assert all({**other, "reliability": 0} == {**one.parameters(), "reliability": 0} for other in alike)
    assert len(set(names)) == len([spec for spec in SPECS if isinstance(spec, Aggregation)])


# Registries ----------------------------------------------------------------------------------------------


def toy_family(*, package: str = "dissensus.simulate", group: str = "dissensus.toys") -> type[Registered]:
    """Declare the base of a family of its own; the package may be any that has none of them."""

    class Game(Registered):
        family: ClassVar[Family[Any]] = Family("toy", package, group)

    return Game


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


def test_declared_classes_are_known_and_those_without_an_id_of_their_own_are_not_registered() -> None:
    base = toy_family()
    top = declare(base, "Top", id="top")
    declare(top, "SmallTop")
    declare(base, "Nameless")
    declare(base, "Empty", id="")
    declare(base, "Told", id=property(lambda _: "told"))
    assert base.family.known() == {"top": top}
    again = declare(base, "Top", id="top")
    assert base.family.find("top") is again is not top


def test_two_classes_cannot_have_one_id_and_an_unknown_one_is_told_what_there_is() -> None:
    base = toy_family()
    top = declare(base, "Top", id="spinning-top")
    declare(base, "Ball", id="ball")
    for action, message in (
        (
            lambda: declare(base, "Other", id="ball"),
            r"two toys have the id 'ball'\n.*\.Ball and .*\.Other\n +do: +give",
        ),
        (
            lambda: base.family.find("spining-top"),
            r"unknown toy 'spining-top'\n.*one of ball, .*\n.*did you mean 'spin",
        ),
        (lambda: base.family.find("kite"), r"unknown toy 'kite'\n +expected: one of ball, spinning-top$"),
    ):
        refused(message, action)
    assert base.family.find("spinning-top") is top


def test_installed_packages_are_asked_once_when_somebody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    base = toy_family(group="some.group")
    point = Point("kite", lambda: declare(base, "Kite", id="kite"))
    asked = provide(monkeypatch, point)
    declare(base, "Top", id="top")
    assert point.loaded == []
    assert base.family.find("kite").__name__ == "Kite"
    base.family.known()
    assert (asked, point.loaded) == (["some.group"], ["kite"])


def test_a_broken_entry_point_gives_a_warning_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    base, package = toy_family(), type("Distribution", (), {"name": "toy-shop"})()
    top = declare(base, "Top", id="top")
    missing: Any = EntryPoint(name="missing", value="no_such_module_here:Kite", group="dissensus.toys")
    provide(
        monkeypatch,
        Point("kite", lambda: 1 / 0, dist=package),
        Point("mine", lambda: declare(base, "Mine", id="top")),
        Point("ball", lambda: declare(base, "Ball", id="ball")),
        missing,
    )
    with pytest.warns(DissensusWarning) as caught:
        known = base.family.known()
    assert (sorted(known), known["top"]) == (["ball", "top"], top)
    said = [str(one.message) for one in caught]
    assert said[0].startswith("the toy 'kite' of the package 'toy-shop' could not be loaded: ZeroDivisionError")
    assert "the toy 'mine' of the package 'somewhere:Something'" in said[1]
    assert "two toys have the id 'top'" in said[1]
    assert "'no_such_module_here:Kite' could not be loaded: ModuleNotFoundError" in said[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.family.find("top")


def test_those_of_the_package_come_first_and_each_part_is_sorted() -> None:
    base = toy_family(package="dissensus.simulate")
    for name in ("b-theirs", "a-theirs"):
        declare(base, name, id=name)
    for name in ("z-ours", "y-ours"):
        declare(base, name, id=name, __module__="dissensus.simulate.toy")
    assert list(base.family.known()) == ["y-ours", "z-ours", "a-theirs", "b-theirs"]


@FAMILIES
def test_ids_are_hyphenated_words_of_which_every_class_has_its_own_and_keeps_it(family: Family[Any]) -> None:
    known = family.known()
    assert len(known) >= 8
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in known)
    assert [kind.id for kind in known.values()] == list(known)
    assert len(set(known.values())) == len(known)
    known.clear()
    assert family.known()


def test_what_is_no_spec_of_the_family_is_refused_and_one_is_one() -> None:
    for item in (3, None, ag.PlackettLuce, ag.InverseRank()):
        refused("this is not a metric", as_specs, Metric.family, [item])
    refused("this is not an aggregation", one_spec, Aggregation.family, metrics.TopKAccuracy(1))
    refused("this stands for 2 metrics", one_spec, Metric.family, "top-k-accuracy:1,3")
    assert one_spec(Metric.family, metrics.TopKAccuracy(2)) == metrics.TopKAccuracy(2)
