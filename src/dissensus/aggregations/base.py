"""What an aggregation is: a spec, a small frozen dataclass, that turns opinions into plausibilities."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count, check_fields, check_most, check_positive, check_seed, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import row_of_each, take_rows
from dissensus.core.spec import Family, Spec, restored
from dissensus.draws import Batch, Plausibilities
from dissensus.study.opinions import Moments, Opinions
from dissensus.study.study import Study, require_kind

# Number of the random stream that splits the rest mass; chains have the numbers from 1.
REST_STREAM = 0


# How many numbers the draws of one case may be: 1.6 GB.
MOST_VALUES = 2 * 10**8


# Parameters that stand for something learned from all cases.
LEARNED = {("prior", "frequency"), ("prior", "informed"), ("alpha", "fitted")}


class Aggregation(Spec, ABC):
    """Turn opinions into a posterior over plausibilities.

    A new aggregation is a frozen dataclass with an ``id``, a :attr:`meaning`, :attr:`methods` and :meth:`_prepare`, in
    a file of its own in this package, or in an installed package that names it as an entry point of the group
    ``dissensus.aggregations``.

    Examples
    --------
    >>> sorted(Aggregation.family.known())[:3]
    ['annotator-bootstrap', 'dawid-skene', 'dirichlet']
    >>> from dissensus.aggregations import PlackettLuce
    >>> PlackettLuce(3).id, PlackettLuce(3).limit
    ('plackett-luce', PlackettLuceML())
    """

    family: ClassVar[Family[Aggregation]] = Family("aggregation", "dissensus.aggregations", "dissensus.aggregations")

    # The kind of study it takes.
    needs: ClassVar[str] = "rankings"

    @property
    def plain_name(self) -> str:
        """What sentences call it."""
        return self.id.replace("-", " ")

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return self.plain_name

    @property
    def limit(self) -> Aggregation | None:
        """The deterministic aggregation that it tends to with growing reliability, if there is one."""
        return None

    @property
    def learns(self) -> bool:
        """Whether the draws of a case depend on other cases: parts of a study are then not parts of its evaluation."""
        return self._asks_for(*LEARNED)

    @property
    def needs_whole(self) -> str:
        """Why all cases must be drawn at once; empty if parts of a study can be drawn one after the other."""
        return "its draws of a case depend on other cases" if self.learns else ""

    @property
    def is_informed(self) -> bool:
        """Whether models inform its prior."""
        return self._asks_for(("prior", "informed"))

    def _asks_for(self, *words: tuple[str, str]) -> bool:
        given = self.parameters()
        return any(isinstance(given.get(name), str) and given[name] == word for name, word in words)

    def with_learned(self, learned: Any) -> Aggregation:  # noqa: ARG002
        """Fix what it learns from all cases; by default that is nothing.

        Examples
        --------
        >>> from dissensus.aggregations import MajorityVote
        >>> MajorityVote().with_learned(None)
        MajorityVote()
        """
        return self

    def record(self) -> dict[str, Any]:
        """Return id, parameters and everything that tables and reports say about the aggregation."""
        limit = self.limit
        return {
            **super().record(),
            "meaning": self.meaning,
            "methods": self.methods,
            "limit": None if limit is None else {"id": limit.id, "parameters": limit.parameters()},
        }

    @checked
    def sample(
        self,
        annotations: Study,
        *,
        draws: int = 1000,
        seed: int = 0,
        threads: int | None = None,
        precision: float | None = None,
    ) -> Plausibilities:
        """Draw plausibilities of every annotated case.

        Nothing is drawn yet: the result draws batch after batch when it is iterated over.

        Parameters
        ----------
        annotations
            Rankings, or ratings for aggregations of ratings.
        draws
            Draws per case. Deterministic aggregations give one.
        seed
            Same seed, same draws of a case, whatever the threads and the batches; and whatever the other cases, unless
            something is learned from them (a prior by frequency, a fitted alpha).
        threads
            Threads that draw; by default as many as there are processors. It changes the speed only.
        precision
            Raise the number of draws until the Monte Carlo error of every case's top-1 certainty is at most this.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import Dirichlet
        >>> said = Study.from_counts([[8, 2, 0]], ["a", "b", "c"])
        >>> Dirichlet().sample(said, draws=500, seed=1)
        Plausibilities: 1 cases, 500 draws, 3 conditions
        >>> len(Dirichlet().sample(said, precision=0.005).dense()[0]) >= 1000
        True
        """
        check_count(draws=draws)
        check_seed(seed)
        if threads is not None:
            check_count(threads=threads)
        opinions = self._opinions(annotations)
        check_values(opinions, draws)
        prepared = self._prepare(opinions, draws=draws, seed=seed)
        prepared = replace(prepared, threads=threads or available_threads())
        if precision is None or prepared.n_draws == 1 < draws:
            return prepared
        from dissensus.aggregations.diagnostics import sampling_diagnostics

        check_positive(precision=precision)
        while (error := sampling_diagnostics(prepared).certainty_mcse.max(initial=0.0)) > precision:
            draws = prepared.n_draws * max(2, int(np.ceil((error / precision) ** 2)))
            check_count(draws=draws)
            check_values(opinions, draws)
            prepared = replace(self._prepare(opinions, draws=draws, seed=seed), threads=prepared.threads)
        return prepared

    def _opinions(self, study: Study) -> Any:
        """Return the opinions of a study of the kind that is needed; refuse any other."""
        return require_kind(study, self.needs, "this aggregation").opinions

    @abstractmethod
    def _prepare(self, opinions: Any, *, draws: int, seed: int) -> Plausibilities:
        """Say how each case is drawn, given the opinions of a study (:attr:`Study.opinions`)."""


def check_values(opinions: Any, draws: int) -> None:
    """Refuse draws that would not fit into memory: all draws of a case are held at once."""
    largest = int(np.diff(opinions.support_offsets).max(initial=0)) + 1 if isinstance(opinions, Opinions) else 1
    if draws * largest > MOST_VALUES:
        raise DissensusError(
            "too many draws for the case with the most conditions",
            expected=f"at most {MOST_VALUES // largest:,} draws, as it has {largest - 1} mentioned conditions",
            got=f"{draws:,}",
        )


def check_warmup(warmup: object) -> None:
    """Refuse what is not a number of sweeps."""
    if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
        raise DissensusError("warmup must be a whole number, zero or more", got=repr(warmup))
    check_most("warmup", warmup)


def available_threads() -> int:
    """Count the processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plausibilities_of(
    said: Opinions | Moments,
    fill: Fill,
    *,
    draws: int,
    chains: int = 1,
    conditions: tuple[str, ...] = (),
    rest: tuple[FloatArray, KeyArray, FloatArray | None] | None = None,
    fitted: Mapping[str, float] | None = None,
) -> Plausibilities:
    """Wrap a function that draws annotated cases; see :class:`CaseSampler`.

    Of ratings, all ``conditions`` are the support of every case; of rankings, they are those of the opinions. ``rest``
    says how the rest of each case is split: shapes of unmentioned conditions (n_cases,), keys of random streams
    (n_cases,), and sums of weights of conditions, if these differ; nothing where there is no rest.
    """
    if isinstance(said, Moments):
        support_offsets = np.arange(said.n_cases + 1) * len(conditions)
        support = np.tile(np.arange(len(conditions)), said.n_cases)
    else:
        conditions, support_offsets, support = said.conditions, said.support_offsets, said.support
    shapes, keys, sums = rest or (np.zeros(said.n_cases), np.zeros(said.n_cases, dtype=np.uint64), None)
    laid_out = draws, chains, support_offsets, support
    whole = Batch(said.case_names, len(conditions), *laid_out, np.empty(0), shapes, keys, sums)
    sampler = CaseSampler(whole, fill)
    return Plausibilities(
        conditions, said.case_names, said.excluded, *laid_out, sampler, rest_sums=sums, fitted=fitted or {}
    )


def stream_keys_of(opinions: Opinions, seed: int, *, chains: int = 1) -> KeyArray:
    """Return the keys of all random streams, shape (n_cases, 1 + chains); the first is that of the rest."""
    from dissensus.kernels.randomness import stream_keys

    return stream_keys(np.uint64(seed), opinions.keys, 1 + chains)


@dataclass(frozen=True)
class RecordedAggregation(Aggregation):
    """Stand for an aggregation of results that were stored, where the code that drew from it is not at hand."""

    recorded: Mapping[str, Any] = field(compare=False)
    id: str = ""  # type: ignore[misc]  # of the aggregation it stands for
    meaning: str = ""  # type: ignore[misc]

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return str(self.recorded["methods"])

    @property
    def limit(self) -> Aggregation | None:
        """The deterministic aggregation that it tends to, if there was one."""
        limit = self.recorded["limit"]
        return None if limit is None else restored_aggregation({"meaning": "", "methods": "", "limit": None, **limit})

    def record(self) -> dict[str, Any]:
        """Return what was stored."""
        return dict(self.recorded)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were stored."""
        return dict(self.recorded["parameters"])

    def _prepare(self, opinions: Any, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        raise DissensusError(
            f"{self.id} cannot be sampled here",
            got="an aggregation that is known from stored results only",
            advice="install or define what provides it",
        )


def restored_aggregation(record: Mapping[str, Any]) -> Aggregation:
    """Make an aggregation from its record; where nobody provides it, something that stands for it."""
    if record["id"] in Aggregation.family.known():
        return restored(Aggregation.family, record)
    return RecordedAggregation(dict(record), record["id"], record["meaning"])


@dataclass(frozen=True)
class GivenDraws(Aggregation):
    """Evaluate draws of plausibilities that somebody else inferred, by any posterior.

    Parameters
    ----------
    plausibilities
        The draws, by name of the case; see :meth:`Plausibilities.from_draws`.
    name
        What to call them, where several are compared.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_rankings([[[["a"]]], [[["b"]]]], ["a", "b"], case_names=["x", "y"])
    >>> drawn = ds.Plausibilities.from_draws(
    ...     [[[0.9, 0.1], [0.6, 0.4]], [[0.2, 0.8], [0.7, 0.3]]], conditions=["a", "b"], case_names=["x", "y"])
    >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=[drawn], metrics=["top-k-accuracy:1"])
    >>> result.to_frame()["run"][0], result.to_frame()["mean"][0]
    ('given-draws', 0.75)
    """

    meaning = "Draws that were made elsewhere and are evaluated as they are."
    kept_apart = ("plausibilities",)
    needs_whole = "its draws were made elsewhere, of all cases at once"

    plausibilities: Plausibilities = field(repr=False)
    name: str = ""

    @property
    def id(self) -> str:  # type: ignore[override]  # draws cannot be made from an id, so none is registered
        """The same for all of them; their names tell them apart."""
        return "given-draws"

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return f"draws made elsewhere{f' ({self.name})' if self.name else ''}"

    def __post_init__(self) -> None:
        if not isinstance(self.plausibilities, Plausibilities):
            raise DissensusError(
                "these are not draws of plausibilities",
                expected="Plausibilities",
                got=type(self.plausibilities).__name__,
                advice="make them with Plausibilities.from_draws(array, conditions=..., case_names=...)",
            )
        check_fields(self)

    def _opinions(self, study: Study) -> Study:
        return study

    def _prepare(self, opinions: Study, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        own = set(self.plausibilities.case_names)
        missing = [name for name in opinions.case_names if name not in own]
        if missing:
            raise DissensusError(
                "some cases have no draws",
                expected=f"draws of each of {opinions.n_cases} cases",
                got=f"{len(missing)} without: {listing(missing)}",
                advice="select the others: annotations.select([...])",
            )
        return self.plausibilities.select(list(opinions.case_names))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.plausibilities, self.name)


class PointAggregation(Aggregation):
    """Give every case one plausibility vector, with no spread: unlimited trust.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import dissensus as ds
    >>> @dataclass(frozen=True)
    ... class Uniform(PointAggregation):
    ...     def point(self, opinions):
    ...         sizes = np.diff(opinions.support_offsets)
    ...         return np.repeat(1 / sizes, sizes)
    >>> Uniform().sample(ds.Study.from_counts([[3, 1, 0]], ["a", "b", "c"])).mean()
    array([[0.5, 0.5, 0. ]])
    """

    @abstractmethod
    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""

    def ordered_point(self, opinions: Opinions) -> tuple[FloatArray, FloatArray | None]:
        """Return :meth:`point` and numbers to compare conditions by, alike in shape; None: the plausibilities do.

        Numbers are positive, or zero for conditions that come no earlier than those that nobody mentioned.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote, PlackettLuceML
        >>> said = Study.from_rankings([[[["b"], ["a"], ["c"]]]], ["a", "b", "c"])
        >>> MajorityVote().ordered_point(said.opinions)
        (array([0., 1., 0.]), None)
        >>> PlackettLuceML().ordered_point(said.opinions)
        (array([0., 1., 0.]), array([2., 3., 1.]))
        """
        return self.point(opinions), None

    @property
    def limit(self) -> Aggregation:
        """Itself."""
        return self

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return f"{self.plain_name} (deterministic)"

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        fill = partial(point_draws, opinions.support_offsets, *self.ordered_point(opinions), None)
        return plausibilities_of(opinions, fill, draws=1)


def point_draws(
    support_offsets: IntArray, theta: FloatArray, order: FloatArray | None, given: FloatArray | None, cases: IntArray
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Give every case the one plausibility vector that a deterministic aggregation found for it.

    ``theta`` holds the plausibilities of the mentioned conditions of all cases side by side, shape (sum of U,);
    ``order``, if there is one, what they are compared by, and ``given`` the numbers of ratings (n_cases, 1, 2).
    """
    offsets, members = take_rows(support_offsets, cases)
    numbers = None if order is None else without_rest(order[members], offsets)
    return without_rest(theta[members], offsets), numbers, None if given is None else given[cases]


def without_rest(theta: FloatArray, support_offsets: IntArray) -> FloatArray:
    """Put a rest mass of zero behind the mentioned conditions of each case, shape (sum of (U + 1),)."""
    return np.insert(theta, support_offsets[1:], 0.0)


# Draw the cases at these positions: values, what conditions are compared by if others, and numbers of :class:`Batch`.
Fill: TypeAlias = Callable[[IntArray], tuple[FloatArray, FloatArray | None, FloatArray | None]]


@dataclass(frozen=True, eq=False)
class CaseSampler:
    """Wrap what a function draws of some cases; ``whole`` is the outline of all of them."""

    whole: Batch
    fill: Fill

    def __call__(self, cases: IntArray) -> Batch:
        """Draw the cases at these positions."""
        (values, order, numbers), whole = self.fill(cases), self.whole
        offsets, members = take_rows(whole.support_offsets, cases)
        return replace(
            whole,
            case_names=tuple(whole.case_names[i] for i in cases),
            support_offsets=offsets,
            support=whole.support[members],
            values=values,
            rest_shapes=whole.rest_shapes[cases],
            rest_keys=whole.rest_keys[cases],
            order_values=order,
            numbers=numbers,
        )


def normalised(opinions: Opinions, scores: FloatArray) -> FloatArray:
    """Divide the scores of each case by their sum."""
    return scores / np.add.reduceat(scores, opinions.support_offsets[:-1])[row_of_each(opinions.support_offsets)]


def with_support(opinions: Opinions, cases: IntArray, codes: IntArray) -> Opinions:
    """Add conditions to the supports of cases: each code to the case at its position.

    >>> from dissensus import Study
    >>> said = Study.from_counts([[1, 0, 2], [0, 3, 0]]).opinions
    >>> with_support(said, np.array([0, 1]), np.array([1, 1])).support
    array([0, 1, 2, 1])
    """
    n_conditions = len(opinions.conditions)
    own = row_of_each(opinions.support_offsets) * n_conditions + opinions.support
    members = np.union1d(own, cases * n_conditions + codes)
    offsets = np.searchsorted(members, np.arange(opinions.n_cases + 1) * n_conditions)
    local = (np.searchsorted(members, own) - offsets[own // n_conditions])[opinions.member_of_mention]
    return replace(opinions, support_offsets=offsets, support=members % n_conditions, local=local)
