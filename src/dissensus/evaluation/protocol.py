"""Protocols: what is decided before the data are seen, kept word by word with results, and what deviates from it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from dissensus.core.arrays import Path
from dissensus.core.checks import check_kind
from dissensus.core.errors import DissensusError, FormatError, listing, suggestion
from dissensus.core.files import checked_path, read_text

# What a protocol may settle, of what kind it is, and what the evaluation takes where nothing is said.
SETTLED: Mapping[str, tuple[str, Any]] = {
    "primary": ("str", None),
    "metrics": ("Sequence[str]", None),
    "margin": ("float", None),
    "level": ("float", 0.95),
    "references": ("Sequence[str]", None),
    "subgroups": ("Sequence[str]", None),
    "trained_on": ("Sequence[str]", ()),
    "called": ("str", "annotator"),
    "seed": ("int", 0),
}

# What models may be compared with.
REFERENCES = ("agreement", "practice", "panel", "adjusted", "truth")

TEMPLATE = """\
# A protocol for `dissensus evaluate --protocol`: decide before you see the data, and keep this file.
# Its text and hash stand in the results and in the report; what deviates from it is said.
# Remove the # before what you want to settle.

# The metric that verdicts are about, and all metrics (dissensus metrics lists them).
# primary = "accuracy"
# metrics = ["accuracy", "top-3 accuracy"]

# How much worse than one annotator a model may be to count as non-inferior, in units of the primary metric.
# margin = 0.05

# Probability that intervals hold.
# level = 0.95

# What models are compared with: agreement, practice, panel, adjusted, truth.
# references = ["agreement", "practice", "adjusted"]

# Columns of --strata that results are shown by.
# subgroups = ["site", "sex"]

# Models that were trained on these annotations.
# trained_on = []

# What an annotator is called.
# called = "radiologist"

# Same seed, same draws.
# seed = 0
"""


@dataclass(frozen=True)
class Protocol:
    """Hold a protocol as it was written.

    Attributes
    ----------
    text
        The file, word by word.
    deviations
        In what the evaluation deviates from it, in sentences.

    Examples
    --------
    >>> Protocol('primary = "accuracy"').settings
    {'primary': 'accuracy'}
    >>> Protocol("marign = 0.1").settings
    Traceback (most recent call last):
    dissensus.core.errors.FormatError: the protocol settles something unknown
      expected: primary, metrics, margin, level, references, subgroups, trained_on, called, seed
      got:      'marign'
      do:       did you mean 'margin'?
    """

    text: str
    deviations: tuple[str, ...] = ()

    @staticmethod
    def of(given: Path | Protocol) -> Protocol:
        """Read a protocol; one that was read stays as it is.

        Examples
        --------
        >>> Protocol.of(Protocol("margin = 0.1")).settings
        {'margin': 0.1}
        """
        if isinstance(given, Protocol):
            return given
        if not isinstance(given, str | PathLike):
            raise DissensusError("this is not a protocol", expected="a path, or a Protocol", got=f"{given!r:.60}")
        found = Protocol(read_text(checked_path(given)))
        try:
            found.settings  # noqa: B018 - to be refused here, with the place
        except DissensusError as error:
            raise error.at(str(given)) from None
        return found

    @property
    def sha256(self) -> str:
        """The hash of the text, by which it can be recognised."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def settings(self) -> dict[str, Any]:
        """What it settles; refused where that is not understood."""
        try:
            found = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise FormatError(
                "the protocol is not TOML", expected="lines such as margin = 0.05", got=str(error)
            ) from None
        _refuse_others(found, SETTLED, "the protocol settles something unknown")
        for name, value in found.items():
            check_kind(name, value, SETTLED[name][0])
        _refuse_others(found.get("references", ()), REFERENCES, "the protocol names an unknown reference")
        return found

    def settled(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], Protocol]:
        """Return what the evaluation is to take for ``given``, and the protocol with what deviates from it.

        What the protocol settles holds where nothing else is given; what is given otherwise holds, and deviates.

        Examples
        --------
        >>> settings, agreed = Protocol("level = 0.9").settled({"level": 0.8})
        >>> settings, agreed.deviations
        ({'level': 0.8}, ('level is 0.8, not 0.9',))
        """
        wanted, told = self.settings, []
        found: dict[str, Any] = {}
        for name, (_, default) in SETTLED.items():
            if name not in wanted or name in ("references", "subgroups"):
                continue
            own = given.get(name, default)
            is_default = own is None or _plain(own) == _plain(default)
            found[name] = wanted[name] if is_default else own
            if _plain(found[name]) != _plain(wanted[name]):
                told.append(f"{name} is {_shown(own)}, not {_shown(wanted[name])}")
        if "references" in wanted:
            is_wanted = "panel" in wanted["references"]
            if given.get("panel") is None:
                found["panel"] = None if is_wanted else False
            elif bool(given["panel"]) != is_wanted:
                told.append("the panel estimate is " + ("shown" if given["panel"] else "left out"))
            if "truth" in wanted["references"] and given.get("truth") is None:
                told.append("there is no truth")
        if "subgroups" in wanted:
            present = [*(given.get("strata") or {})]
            missing = [name for name in wanted["subgroups"] if name not in present]
            added = [name for name in present if name not in wanted["subgroups"]]
            told += [f"subgroups are missing: {listing(missing)}"] if missing else []
            told += [f"subgroups were added: {listing(added)}"] if added else []
        return found, replace(self, deviations=tuple(told))


def _refuse_others(names: Iterable[str], known: Collection[str], problem: str) -> None:
    """Refuse the first name that is not known."""
    other = next((name for name in names if name not in known), None)
    if other is not None:
        raise FormatError(problem, expected=", ".join(known), got=repr(other), advice=suggestion(other, known))


def _plain(value: Any) -> Any:
    """Return what a value is compared by: lists and tuples alike, whole numbers and others alike."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(_plain, value))
    return float(value) if isinstance(value, int) else value


def _shown(value: Any) -> str:
    return listing(value) if isinstance(value, list | tuple) else str(value)
