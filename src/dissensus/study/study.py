"""What every study is, whatever annotators were asked for: cases, who said something about them, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import BoolArray, Confidence, Duplicates, FloatArray, IntArray, Unranked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import Cases, known_name
from dissensus.core.notes import Note
from dissensus.core.ragged import first_of_most
from dissensus.core.receipt import Received, shared_receipt, shortened, spaced
from dissensus.core.registry import Family, Registered
from dissensus.study.panel import Panel

if TYPE_CHECKING:
    import polars as pl

    from dissensus.study.diagnosis import Diagnosis


@dataclass(frozen=True)
class Fact:
    """One line of a table about a study: ``word`` is the part of the label that means the glossary's ``term``.

    Examples
    --------
    >>> Fact("Annotators per case", "1 to 6, median 2", "annotator", "Annotators").label
    'Annotators per case'
    """

    label: str
    value: str
    term: str = ""
    word: str = ""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Numbers of a study to be drawn as a histogram.

    Attributes
    ----------
    title
        What the numbers are.
    values : (n_cases,) or (n_opinions,)
        The numbers.
    unit
        What has one number each, in the plural: ``"cases"``, ``"rankings"``.
    votes : (n_opinions,)
        How often each number of an opinion counts; nothing for once each.
    per_case, are_counts
        Whether each case has a number, or each opinion; whether they are counts, or scores on a scale.
    """

    title: str
    values: IntArray | FloatArray
    unit: str = "cases"
    votes: IntArray | None = None
    per_case: bool = True
    are_counts: bool = True


class Study(Received, Registered, ABC):
    """Hold what annotators said about the cases of a study.

    :class:`Annotations`, :class:`Ratings` and :class:`Checklists` are kinds of it.
    A kind of study is a frozen dataclass whose fields are ``panel``, arrays, plain settings and, if there are any,
    ``conditions``. Everything that asks a study goes through the names below, so a new kind needs nothing else.

    Attributes
    ----------
    kind, opinion, described
        The name of the kind, the noun of one opinion, and what the opinions are, for reports.
    aggregated_by
        Which aggregations take this kind.
    has_agreement
        Whether the agreement of annotators is defined.
    panel
        The cases and who gave an opinion on them.
    conditions
        Names of the conditions; empty where opinions do not name any.
    receipt
        What was understood of the file that it was read from; none if it was built in memory.

    Examples
    --------
    >>> sorted(Study.family.known())
    ['checklists', 'rankings', 'ratings']
    """

    family: ClassVar[Family[Study]] = Family("kind of study", "dissensus.study", "dissensus.studies")
    kind: ClassVar[str]
    opinion: ClassVar[str]
    described: ClassVar[str]
    aggregated_by: ClassVar[str]
    has_agreement: ClassVar[bool] = False

    panel: Panel
    conditions: tuple[str, ...]

    def __init_subclass__(cls, **options: Any) -> None:
        if "kind" in cls.__dict__:
            cls.id = cls.kind
        super().__init_subclass__(**options)

    # The panel's fields -------------------------------------------------------------------------------

    @property
    def case_names(self) -> tuple[str, ...]:
        """One name per case."""
        return self.panel.case_names

    @property
    def annotators(self) -> IntArray:
        """Code of the annotator of each opinion, -1 where nobody is named."""
        return self.panel.annotators

    @property
    def annotator_names(self) -> tuple[str, ...]:
        """Names of the annotators; empty when all are anonymous."""
        return self.panel.annotator_names

    @property
    def weights(self) -> FloatArray:
        """Weight of each opinion; it multiplies the reliability."""
        return self.panel.weights

    @property
    def votes(self) -> IntArray:
        """How many annotators gave each opinion; more than one only where nobody is named."""
        return self.panel.votes

    @property
    def groups(self) -> tuple[str, ...]:
        """Group of each case; empty when cases stand alone."""
        return self.panel.groups

    @property
    def case_weights(self) -> FloatArray:
        """Weight of each case in averages over cases."""
        return self.panel.case_weights

    @property
    def n_cases(self) -> int:
        """Number of cases, annotated or not."""
        return self.panel.n_cases

    @property
    def n_opinions(self) -> int:
        """Number of opinions on all cases, abstentions included; one that several annotators share counts once."""
        return self.panel.n_opinions

    @property
    def n_votes(self) -> int:
        """Number of times that an annotator gave an opinion, on all cases."""
        return self.panel.n_votes

    @property
    def votes_per_case(self) -> IntArray:
        """Number of annotators who gave an opinion on each case, shape (n_cases,)."""
        return self.panel.votes_per_case

    @property
    def n_conditions(self) -> int:
        """Number of conditions, K."""
        return len(self.conditions)

    def __len__(self) -> int:
        return self.n_cases

    # Which opinions count -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def is_abstention(self) -> BoolArray:
        """Whether each opinion says nothing, shape (n_opinions,)."""

    @property
    def unannotated(self) -> tuple[str, ...]:
        """Names of the cases on which nobody said anything."""
        said = np.bincount(self.panel.case_of_opinion[~self.is_abstention], minlength=self.n_cases)
        return tuple(self.case_names[i] for i in np.flatnonzero(said == 0))

    @cached_property
    def counted(self) -> Self:
        """The same cases without abstentions and without opinions of weight zero."""
        kept = np.flatnonzero(~self.is_abstention & (self.weights > 0))
        return self if len(kept) == self.n_opinions else self._with_opinions(self.panel.keep(kept), kept)

    @cached_property
    @abstractmethod
    def opinions(self) -> Any:
        """What an aggregation works on, found once per study; see the kinds of studies."""

    # Acts ---------------------------------------------------------------------------------------------

    def select(self, cases: Cases) -> Self:
        """Keep some cases, in the order given: names, positions, a slice or a mask.

        Examples
        --------
        >>> from dissensus import Ratings
        >>> Ratings.from_scores([[1, 2], [5]], case_names=["x", "y"]).select(["y"]).scores
        array([5.])
        """
        return self._with_opinions(*self.panel.select(self.panel.positions(cases))).with_receipt(self.receipt)

    def without(self, annotators: Sequence[str]) -> Self:
        """Leave out what some annotators said; all cases stay, and all names.

        Examples
        --------
        >>> from dissensus import Annotations
        >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"])
        >>> said.without(["A"]).to_rankings()
        [[[['b']]]]
        """
        codes = [self.annotator_names.index(known_name("annotator", name, self.annotator_names)) for name in annotators]
        kept = np.flatnonzero(~np.isin(self.annotators, codes))
        return self._with_opinions(self.panel.keep(kept), kept)

    def with_weights(self, weights: FloatArray) -> Self:
        """Give every opinion another weight, shape (n_opinions,).

        Examples
        --------
        >>> from dissensus import Annotations
        >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
        >>> said.with_weights(np.array([2.0, 0.5])).weights
        array([2. , 0.5])
        """
        return self._with_opinions(replace(self.panel, weights=weights), np.arange(self.n_opinions))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Put studies of different cases together; they must be of one kind.

        Examples
        --------
        >>> from dissensus import Ratings
        >>> one, other = Ratings.from_scores([[1]], case_names=["x"]), Ratings.from_scores([[5]], case_names=["y"])
        >>> Ratings.concatenate([one, other]).case_names
        ('x', 'y')
        """
        if not parts:
            raise DissensusError("there is nothing to concatenate", expected=f"at least one {cls.__name__}")
        kinds = [type(part).__name__ for part in parts]
        if len(set(kinds)) > 1 or not isinstance(parts[0], cls):
            raise DissensusError(
                "studies of different kinds cannot be concatenated",
                expected=f"studies of the kind {kinds[0] if cls is Study else cls.__name__}",
                got=listing(dict.fromkeys(kinds)),
            )
        return parts[0]._joined(parts).with_receipt(shared_receipt(list(parts)))

    @classmethod
    def checked(cls, said: object, who: str) -> Self:
        """Return a study of this kind, or refuse what ``who`` cannot use.

        Examples
        --------
        >>> from dissensus import Ratings
        >>> said = Ratings.from_scores([[1, 2]])
        >>> Ratings.checked(said, "this function") is said
        True
        """
        if isinstance(said, cls):
            return said
        raise DissensusError(
            f"{who} needs {cls.kind}",
            expected=cls.__name__,
            got=type(said).__name__,
            advice=f"{said.kind} go to {said.aggregated_by}"
            if isinstance(said, Study)
            else f"build them with {cls.__name__}.from_...",
        )

    @classmethod
    @abstractmethod
    def from_roles(
        cls,
        table: pl.DataFrame,
        conditions: Sequence[str] | None = None,
        *,
        tie_separator: str | None = None,
        unranked: Unranked | None = None,
        duplicates: Duplicates = "refuse",
        confidence: Confidence | None = None,
    ) -> tuple[Self, tuple[Note, ...]]:
        """Build from a table whose columns are named by their roles, with notes on its rows."""

    @abstractmethod
    def _with_opinions(self, panel: Panel, opinions: IntArray) -> Self:
        """Keep the opinions at these positions, which are those of the panel."""

    @abstractmethod
    def _joined(self, parts: Sequence[Self]) -> Self:
        """Put several studies together, of which this is the first; refuse what does not fit."""

    # Telling ------------------------------------------------------------------------------------------

    @abstractmethod
    def facts(self) -> tuple[Fact, ...]:
        """Count cases, annotators and opinions, for a table."""

    @abstractmethod
    def methods(self) -> str:
        """Write the sentence of a methods section about the opinions."""

    @abstractmethod
    def distributions(self) -> tuple[Distribution, ...]:
        """Return the numbers that show what kind of study this is."""

    @abstractmethod
    def said(self, opinion: int, code: Callable[[int], int]) -> list[float] | list[int]:
        """Write one opinion as a flat list of numbers; ``code`` gives conditions their numbers."""

    @abstractmethod
    def words(self, opinion: int) -> str:
        """Write one opinion in words."""

    @property
    def detail(self) -> IntArray:
        """How much each opinion says, to choose those that are shown first, shape (n_opinions,)."""
        return np.ones(self.n_opinions, dtype=np.int64)

    def examples(self, most: int = 3) -> tuple[str, ...]:
        """Write one opinion on each of a few cases in words: the first, the middle and the last of the telling ones.

        Examples
        --------
        >>> from dissensus import Ratings
        >>> Ratings.from_scores([[1, 2], [5]], case_names=["x", "y"]).examples()
        ('an annotator on case x said: 1', 'an annotator on case y said: 5')
        """
        said = np.where(self.is_abstention, 0, self.detail)
        best = first_of_most(said, self.panel.opinion_offsets)
        telling, others = best[said[best] > 1], best[said[best] == 1]
        chosen = [*spaced(telling, most), *spaced(others, max(0, most - len(telling)))]
        return tuple(shortened(self._sentence(opinion)) for opinion in sorted(chosen))

    def _sentence(self, opinion: int) -> str:
        annotator, votes = int(self.annotators[opinion]), int(self.votes[opinion])
        nobody = "an annotator" if votes == 1 else f"{votes} annotators"
        who = nobody if annotator < 0 else f"annotator {self.annotator_names[annotator]}"
        return f"{who} on case {self.case_names[self.panel.case_of_opinion[opinion]]} said: {self.words(opinion)}"

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest score, where opinions are scores."""
        return None

    @abstractmethod
    def diagnosis(self) -> Diagnosis:
        """Count what is inside and look for what may be wrong; see :func:`dissensus.diagnose`."""

    # Storing ------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, object]:
        """Return the fields that are plain values, for JSON; without the panel and the conditions.

        Examples
        --------
        >>> from dissensus import Annotations
        >>> Annotations.from_rankings([[[["a"]]]]).settings()
        {'unranked': 'below', 'question': 'conditions'}
        """
        kept = self._fields()
        return {name: value for name, value in kept.items() if not isinstance(value, np.ndarray)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields that are arrays; without those of the panel.

        Examples
        --------
        >>> from dissensus import Annotations
        >>> sorted(Annotations.from_rankings([[[["a"]]]]).arrays())
        ['block_offsets', 'code_offsets', 'codes']
        """
        return {name: value for name, value in self._fields().items() if isinstance(value, np.ndarray)}

    def _fields(self) -> dict[str, Any]:
        names = [part.name for part in fields(self)]  # type: ignore[arg-type]  # every kind is a dataclass
        return {name: getattr(self, name) for name in names if name not in ("panel", "conditions")}


def restored_study(
    kind: str,
    panel: Panel,
    *,
    conditions: Sequence[str],
    settings: Mapping[str, object],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> Study:
    """Build a study from what :meth:`Study.settings` and :meth:`Study.arrays` gave.

    Examples
    --------
    >>> from dissensus import Ratings
    >>> said = Ratings.from_scores([[1, 2], [5]])
    >>> restored_study("ratings", said.panel, conditions=(), settings=said.settings(), arrays=said.arrays()) == said
    True
    """
    found: Any = Study.family.find(kind)
    given = {"panel": panel, "conditions": tuple(conditions), **settings, **arrays}
    missing = [part.name for part in fields(found) if part.default is MISSING and part.name not in given]
    if missing:
        raise DissensusError(f"a study of {kind} lacks a part", expected=listing(missing), got=listing(given))
    restored: Study = found(**{part.name: given[part.name] for part in fields(found) if part.name in given})
    return restored
