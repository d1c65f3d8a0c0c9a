"""One family of exceptions: what was expected, what was got, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial


class DissensusError(ValueError):
    """Say precisely why an input cannot be used.

    Parameters
    ----------
    problem
        One sentence, without a full stop.
    expected, got
        What would have been accepted, and what was found instead.
    where
        File, row, case, annotator: as much as is known.
    advice
        What the reader can do about it.

    Examples
    --------
    >>> print(DissensusError("unknown condition", got="'Eczma'", advice="did you mean 'Eczema'?"))
    unknown condition
      got:      'Eczma'
      do:       did you mean 'Eczema'?
    """

    def __init__(self, problem: str, *, expected: str = "", got: str = "", where: str = "", advice: str = "") -> None:
        self.problem, self.expected, self.got, self.where, self.advice = problem, expected, got, where, advice
        details = {"expected": expected, "got": got, "where": where, "do": advice}
        lines = [f"  {label + ':':<10}{text}" for label, text in details.items() if text]
        super().__init__("\n".join([problem, *lines]))

    def __reduce__(self) -> tuple[object, ...]:
        details = {"expected": self.expected, "got": self.got, "where": self.where, "advice": self.advice}
        return partial(type(self), **details), (self.problem,)

    def at(self, where: str, advice: str = "") -> DissensusError:
        """Return the same error with a place in front, unless it is named already, and with advice if it has none.

        Examples
        --------
        >>> print(DissensusError("unknown condition", where="row 4").at("opinions.csv"))
        unknown condition
          where:    opinions.csv, row 4
        """
        place = self.where if where in self.where else ", ".join(part for part in (where, self.where) if part)
        given = {"expected": self.expected, "got": self.got, "advice": self.advice or advice}
        return type(self)(self.problem, where=place, **given)


class FormatError(DissensusError):
    """A file is not what its format promises, or no format fits it."""


class MissingExtraError(DissensusError, ImportError):
    """A feature needs a package that is installed with one of the extras."""


class DissensusWarning(UserWarning):
    """Something was read, and something about it deserves a look.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", DissensusWarning)
    ...     warnings.warn("2 rows have no condition", DissensusWarning)
    >>> str(caught[0].message)
    '2 rows have no condition'
    """


def suggestion(name: str, names: Iterable[str]) -> str:
    """Offer the known name that is nearest to an unknown one, or nothing.

    >>> suggestion("Eczma", ["Eczema", "Psoriasis"])
    "did you mean 'Eczema'?"
    >>> suggestion("Acne", ["Eczema", "Psoriasis"])
    ''
    """
    known = {str(other).casefold().strip(): other for other in names}
    near = get_close_matches(str(name).casefold().strip(), known, n=1, cutoff=0.7)
    return f"did you mean {known[near[0]]!r}?" if near else ""


def listing(names: Iterable[object], *, most: int = 5, total: int | None = None) -> str:
    """Write a few names out and count the rest; of more than are at hand, say how many there are in all.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    >>> listing(["a", "b", "c"], most=2, total=9)
    "'a', 'b' and 7 more"
    """
    shown = [repr(name) for name in names]
    rest = (len(shown) if total is None else total) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def known_name(what: str, name: str, names: Iterable[str], *, purpose: str = "", where: str = "") -> str:
    """Return the name if it is one of some names, or say which there are."""
    known = tuple(names)
    if name in known:
        return name
    problem = f"there is no {what} {name!r}{purpose and f' {purpose}'}"
    expected = f"one of {listing(known, most=12)}"
    raise DissensusError(problem, expected=expected, where=where, advice=suggestion(name, known))
