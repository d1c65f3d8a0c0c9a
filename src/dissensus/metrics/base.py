"""What a metric is: a spec, a small frozen dataclass, that compares every draw of a case with what a model said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_choice, check_count, check_fields
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_positions
from dissensus.core.ragged import begins_run, row_of_each, take_rows, weighted_counts
from dissensus.core.spec import Family, Spec, plain_value, restored
from dissensus.draws import Batch
from dissensus.predictions.lists import PredictionKind, Predictions

if TYPE_CHECKING:
    from dissensus.kernels.compact import Layout
    from dissensus.kernels.gains import Named, Standings
    from dissensus.kernels.orders import Orders


# A scale for intervals.
Scale: TypeAlias = Literal["plain", "logit", "log"]

# A kind of curve; rows of a confusion matrix are kept like curves.
CurveKind: TypeAlias = Literal["roc", "precision-recall", "reliability", "decision", "confusion"]

# Kinds of predictions in words.
KINDS: dict[PredictionKind, str] = {
    "scores": "scores",
    "ranking": "rankings",
    "set": "sets of conditions",
    "numbers": "numbers",
}

# How to come by predictions of which a metric accepts one kind only.
WAYS: dict[tuple[PredictionKind, ...], str] = {
    ("set",): "build sets with Predictions.from_sets",
    ("numbers",): "build numbers with Predictions.from_numbers",
}

# What the label of a case is in a draw: its most plausible condition, or every condition by its plausibility.
Truth: TypeAlias = Literal["top", "soft"]

# How several questions become one number: their mean, their mean weighted by positive cases, or all in one.
Average: TypeAlias = Literal["macro", "weighted", "micro"]

# The threshold of probabilities, which decides if no other one is given.
HALF = 0.5

# Refuses a value of a parameter, given its name and the value.
Check: TypeAlias = Callable[[str, Any], None]


class Metric(Spec, ABC):
    """Compare draws with predictions.

    A new metric is a frozen dataclass with an ``id``, a :attr:`meaning`, an orientation, a range and :meth:`values`, in
    a file of this package, or in an installed package that names it as an entry point of the group
    ``dissensus.metrics``. Its :attr:`name` is made from its id unless it says otherwise. Ties, in a draw or in what a
    model said, are broken at random, and unmentioned conditions are exchangeable in a draw: a metric is the exact
    expectation over both.

    Examples
    --------
    >>> Metric.family.find("brier-score").__name__
    'BrierScore'
    >>> from dissensus.metrics import TopKAccuracy
    >>> metric = TopKAccuracy(3)
    >>> metric.id, metric.parameters(), metric.name, metric.higher_is_better, metric.range
    ('top-k-accuracy', {'k': 3, 'j': 1}, 'top-3 accuracy', True, (0.0, 1.0))
    """

    family: ClassVar[Family[Metric]] = Family("metric", "dissensus.metrics", "dissensus.metrics")

    # What it is called, with the parameters that belong to the name in braces; by default, what its id says.
    short_name: ClassVar[str] = ""

    # What it is called where a parameter is not as usual, by parameter; {} is what it is called otherwise.
    unusual_names: ClassVar[tuple[tuple[str, str], ...]] = ()

    # What refuses values of single parameters.
    checks: ClassVar[tuple[tuple[str, Check], ...]] = ()

    # Whether a better model has a higher value.
    higher_is_better: ClassVar[bool] = True

    # The least and the greatest value that it can have.
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    # On which scale it is closest to normal: intervals are found there.
    scale: ClassVar[Scale] = "plain"

    # The kinds of predictions that it can be computed for; :meth:`check` may ask for more.
    accepts: ClassVar[tuple[PredictionKind, ...]] = ("scores", "ranking", "set")

    # Whether scores must be probabilities, but for their sum.
    takes_probabilities: ClassVar[bool] = False

    # Whether it has a value of every case, or sees all cases at once.
    sees: ClassVar[Literal["case", "data set"]] = "case"

    # What shows more of it than one number does.
    curves: ClassVar[tuple[CurveKind, ...]] = ()

    # Which parameter says how many first conditions count, if one does.
    size_parameter: ClassVar[str] = ""

    # Whether these may be all conditions: their order matters, not only which they are.
    takes_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name, check in (*CHECKS, *self.checks):
            if hasattr(self, name):
                check(name, getattr(self, name))
        for size in [part for part in self.parameter_fields() if part.name == self.size_parameter]:
            if getattr(self, size.name) is not None or "None" not in str(size.type):
                check_count(**{size.name: getattr(self, size.name)})

    @property
    def name(self) -> str:
        """What the metric is called, in plain words: thresholds, averages and truths too, where they are not usual."""
        given, usual = vars(self), {part.name: part.default for part in self.parameter_fields()}
        called, told = (self.short_name or self.id.replace("-", " ")).format_map(given), dict(self.unusual_names)
        for parameter, form in told.items():
            if parameter in given and given[parameter] != usual[parameter]:
                called = form.format(called, **given)
        words = [given[name] for name in ("average", "truth") if name in given and name not in told]
        unusual = ", ".join(word for word in words if word not in ("macro", "top"))
        called = at_threshold(called, given.get("threshold"))
        return f"{called} ({unusual})" if unusual else called

    @property
    def depth(self) -> int:
        """How many places of the rankings it looks at; zero if the order of conditions does not matter."""
        return 0

    def depth_for(self, predictions: Predictions) -> int:  # noqa: ARG002 - for metrics that the predictions decide
        """How many places of a draw must be known to compare it with these predictions.

        Examples
        --------
        >>> from dissensus import Predictions
        >>> from dissensus.metrics import SetAccuracy
        >>> SetAccuracy().depth_for(Predictions.from_sets([["a"], ["a", "b"]], ["a", "b", "c"]))
        2
        """
        return self.depth

    @property
    def methods(self) -> str:
        """What a methods section says about it."""
        return f"{self.name[:1].upper()}{self.name[1:]}: {self.meaning[:1].lower()}{self.meaning[1:]}"

    @property
    def is_share(self) -> bool:
        """Whether values are between 0 and 1, so that differences are percentage points."""
        return self.range == (0.0, 1.0)

    def goodness(self, values: FloatArray) -> FloatArray:
        """Turn values into numbers of which the larger one is the better.

        Examples
        --------
        >>> from dissensus.metrics import BrierScore
        >>> BrierScore().goodness(np.array([0.25]))
        array([-0.25])
        """
        return np.asarray(values if self.higher_is_better else -values)

    def check(self, predictions: Predictions) -> None:
        """Refuse predictions that the metric cannot be computed for.

        Examples
        --------
        >>> from dissensus import Predictions
        >>> from dissensus.metrics import TopKAccuracy
        >>> TopKAccuracy(1).check(Predictions.from_scores([[0.7, 0.3]]))
        >>> TopKAccuracy(1).check(Predictions.from_sets([["a"]], ["a", "b"]))
        Traceback (most recent call last):
            ...
        dissensus.core.errors.DissensusError: top-1 accuracy needs scores or rankings...
        """
        kind, looked = predictions.kind, getattr(self, self.size_parameter or "_", None)
        if kind not in self.accepts:
            others = ", ".join(name for name, metric in self.family.known().items() if kind in metric.accepts)
            advice = f"{WAYS.get(self.accepts, 'give the scores behind them')}, or choose among {others}"
            needed = " or ".join(KINDS[one] for one in self.accepts)
            raise self.refusal(predictions, f"needs {needed}", got=KINDS[kind], advice=advice)
        if self.takes_probabilities:
            negative, case = np.flatnonzero(predictions.values < 0), predictions.case_of_entry
            empty = np.flatnonzero(weighted_counts(case, predictions.values, predictions.n_cases) == 0)
            if len(negative):
                expected, advice = "scores of 0 and more", "turn logits into probabilities with a softmax"
                words = {"expected": expected, "got": f"{predictions.values[negative[0]]:g}", "advice": advice}
                raise self.refusal(predictions, "needs probabilities", case[negative[0]], **words)
            if len(empty):
                expected = "at least one score above 0 for every case"
                raise self.refusal(predictions, "needs probabilities", empty[0], expected=expected)
        most = predictions.n_conditions - (not self.takes_all)
        if looked is not None and looked > most:
            advice = "choose a smaller number" if most else "there must be at least two conditions"
            needed = f"looks at {looked} conditions of {predictions.n_conditions}"
            raise self.refusal(predictions, needed, None, expected=f"1 to {most}", got=str(looked), advice=advice)

    def refusal(self, predictions: Predictions, needed: str, case: int | None = None, **words: str) -> DissensusError:
        """Return the error that says what the metric needs, and of which model, or of which case of it.

        Examples
        --------
        >>> from dissensus import Predictions
        >>> from dissensus.metrics import Coverage
        >>> raise Coverage().refusal(Predictions.from_scores([[0.7, 0.3]], name="net"), "needs sets", 0)
        Traceback (most recent call last):
            ...
        dissensus.core.errors.DissensusError: coverage needs sets
          where:    model 'net', case '0'
        """
        place = "" if case is None else f", case {predictions.case_names[case]!r}"
        return DissensusError(f"{self.name} {needed}", where=f"model {predictions.name!r}{place}", **words)

    def record(self) -> dict[str, Any]:
        """Return id, parameters and everything that tables and reports say about the metric."""
        return {
            **super().record(),
            "name": self.name,
            "higher_is_better": self.higher_is_better,
            "range": plain_value(self.range),
            "meaning": self.meaning,
            "methods": self.methods,
            **({} if self.scale == "plain" else {"scale": self.scale}),
            **({} if self.is_share == (tuple(self.range) == (0.0, 1.0)) else {"is_share": self.is_share}),
            **({} if self.sees == "case" else {"sees": self.sees}),
        }

    @abstractmethod
    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""


@dataclass(frozen=True)
class RecordedMetric(Metric):
    """Stand for a metric of results that were stored, where the code that computed it is not at hand.

    Everything that tables and reports say about it is known; it cannot be computed anew.
    """

    recorded: Mapping[str, Any] = field(compare=False)
    name: str = ""
    id: str = ""  # type: ignore[misc]  # of the metric it stands for
    meaning: str = ""  # type: ignore[misc]
    methods: str = ""
    higher_is_better: bool = True  # type: ignore[misc]
    range: tuple[float, float] = (-np.inf, np.inf)  # type: ignore[misc]
    is_share: bool = False
    scale: Scale = "plain"  # type: ignore[misc]
    sees: Literal["case", "data set"] = "case"  # type: ignore[misc]

    @staticmethod
    def of(record: Mapping[str, Any]) -> RecordedMetric:
        """Read a record."""
        low, high = map(float, record["range"])
        words = {part.name: record[part.name] for part in fields(RecordedMetric) if part.name in record}
        return RecordedMetric(dict(record), **{"is_share": (low, high) == (0.0, 1.0), **words, "range": (low, high)})

    def record(self) -> dict[str, Any]:
        """Return what was stored."""
        return dict(self.recorded)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were stored."""
        return dict(self.recorded["parameters"])

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:  # noqa: ARG002
        """Refuse."""
        got, advice = (
            f"a metric {self.id!r} that is known from stored results only",
            "install or define what provides it",
        )
        raise DissensusError(f"{self.name} cannot be computed here", got=got, advice=advice)


def restored_metric(record: Mapping[str, Any]) -> Metric:
    """Make a metric from its record; where nobody provides it, something that stands for it."""
    return restored(Metric.family, record) if record["id"] in Metric.family.known() else RecordedMetric.of(record)


class OrderMetric(Metric):
    """Compare the order of conditions in draws with predictions: every different order of a case is compared once."""

    accepts: ClassVar[tuple[PredictionKind, ...]] = ("scores", "ranking")

    @property
    def depth(self) -> int:
        """How many places count: the first, or as many as a parameter says; zero if predictions decide."""
        return (getattr(self, self.size_parameter) or 0) if self.size_parameter else 1

    @abstractmethod
    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every different order, shape (n_orders,); it must be defined for all of them."""

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""
        return drawn.of_draws(self.of_orders(drawn, predicted))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Hold a batch of draws and the orders that they put conditions in.

    Attributes
    ----------
    batch
        The draws.
    depth
        How many places matter: at least the depth of every metric that will be computed.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
    >>> drawn = Drawn(batch, 1)
    >>> drawn.orders.counts
    array([1])
    """

    batch: Batch
    depth: int

    @cached_property
    def layout(self) -> Layout:
        """What kernels need to know to walk through the draws."""
        return self.batch.layout()

    @cached_property
    def orders(self) -> Orders:
        """The different orders of each case, down to the depth."""
        from dissensus.kernels.orders import draw_orders

        return draw_orders(self.layout, self.batch.compared, max(1, self.depth))

    def expected(self, worths: FloatArray, rest: FloatArray) -> FloatArray:
        """Average, by plausibility, what conditions are worth (sum of U,), and others (n_cases,): (n_cases, n_draws).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[1, 1, 0]], ["a", "b", "c"]))
        >>> Drawn(batch, 0).expected(np.array([1.0, 0.5]), np.zeros(1))
        array([[0.75]])
        """
        from dissensus.kernels.gains import expected_values

        return expected_values(self.layout, self.batch.values, worths, rest)

    def of_draws(self, of_orders: FloatArray) -> FloatArray:
        """Give every draw the number of its order, shape (n_cases, n_draws).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> Drawn(batch, 1).of_draws(np.array([0.25]))
        array([[0.25]])
        """
        return of_orders[self.orders.of_draw]

    def means(self, of_orders: FloatArray) -> FloatArray:
        """Average numbers of orders (..., n_orders) over draws, shape (..., n_cases).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> Drawn(batch, 1).means(np.array([0.25]))
        array([0.25])
        """
        sums = np.add.reduceat(self.orders.counts * of_orders, self.orders.offsets[:-1], axis=-1)
        return np.asarray(sums / self.batch.n_draws)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Hold what a model said about the cases of a batch, as far as it concerns the mentioned conditions.

    Attributes
    ----------
    predictions
        What the model said, about the cases of the batch or more; conditions in the order of the study.
    batch
        The draws to compare with.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.3, 0.2]], ["a", "b", "c"])
    >>> Predicted(model, batch).top_shares(2)
    (array([1.]), array([0.5]))
    """

    predictions: Predictions
    batch: Batch
    _known_shares: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        said, expected, got = self.predictions, self.batch.n_conditions, self.predictions.n_conditions
        if said.kind != "numbers" and got != expected:
            problem = "the model and the draws have different conditions"
            words = {"expected": str(expected), "got": str(got), "where": f"model {said.name!r}"}
            advice = "align the predictions to the conditions of the study: predictions.align(...)"
            raise DissensusError(problem, **words, advice=advice)

    @cached_property
    def rows(self) -> IntArray:
        """Position of each case of the batch among the cases of the predictions, shape (n_cases,)."""
        names = self.batch.case_names
        if self.predictions.case_names == names:
            return np.arange(len(names), dtype=np.int64)
        return case_positions(list(names), self.predictions._positions)

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Offsets, codes and values of the listed conditions of each case, best first."""
        offsets, chosen = take_rows(self.predictions.offsets, self.rows)
        return offsets, self.predictions.codes[chosen], self.predictions.values[chosen]

    @cached_property
    def listed(self) -> IntArray:
        """Number of listed conditions of each case, shape (n_cases,)."""
        return np.asarray(self.predictions.entries_per_case[self.rows])

    @cached_property
    def _looked_up(self) -> tuple[Standings, FloatArray]:
        from dissensus.kernels.gains import predicted_standings

        said, batch = self.predictions, self.batch
        listed = said.offsets, said.codes, said.values
        return predicted_standings(listed, self.rows, batch.support_offsets, batch.support, batch.n_conditions)

    @property
    def standings(self) -> Standings:
        """Standings of the mentioned conditions in the predictions, shape (sum of U,)."""
        return self._looked_up[0]

    @property
    def scores(self) -> FloatArray:
        """Values of the mentioned conditions in the predictions, shape (sum of U,); zero if not listed."""
        return self._looked_up[1]

    @cached_property
    def entry_standings(self) -> tuple[IntArray, IntArray]:
        """How many conditions are above each listed one, and how many are tied with it, shape (n_entries,)."""
        offsets, _, values = self.entries
        case = row_of_each(offsets)
        begins = begins_run(case, values)
        block = np.cumsum(begins) - 1
        above = np.flatnonzero(begins)[block] - offsets[case]
        return above, np.bincount(block)[block] if len(block) else block

    def blocks(self, k: int) -> tuple[IntArray, IntArray]:
        """Return the blocks that begin within the first k places, and how many of each nobody mentioned.

        Both have shape (n_cases, k): column ``a`` is the block with ``a`` conditions above it, zero if there is none.

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_rankings([["a", ["b", "c"]]], ["a", "b", "c"])
        >>> Predicted(model, batch).blocks(2)
        (array([[1, 2]]), array([[1, 1]]))
        """
        above, tied = self.entry_standings
        n_conditions, is_early = self.batch.n_conditions, above < k
        sizes = np.zeros((self.batch.n_cases, k), dtype=np.int64)
        sizes[row_of_each(self.entries[0])[is_early], above[is_early]] = tied[is_early]
        short = np.flatnonzero(self.listed < min(k, n_conditions))
        sizes[short, self.listed[short]] = n_conditions - self.listed[short]
        counts, is_early = sizes.copy(), self.standings.above < k
        np.subtract.at(counts, (self.batch.case_of_member[is_early], self.standings.above[is_early]), 1)
        return sizes, counts

    def cuts(self, k: int | IntArray) -> tuple[IntArray, IntArray]:
        """Return how many conditions are above the tie across place k, and how many are in it, each (n_cases,).

        ``k`` may differ from case to case. Where no tie is cut, k and zero: the first k are known.

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_rankings([["a", ["b", "c"]]], ["a", "b", "c"])
        >>> Predicted(model, batch).cuts(2)
        (array([1]), array([2]))
        """
        aboves, sizes = np.full(self.batch.n_cases, k, dtype=np.int64), np.zeros(self.batch.n_cases, dtype=np.int64)
        is_cut, is_short = (aboves > 0) & (aboves < self.listed), self.listed < aboves
        last = self.predictions.offsets[self.rows[is_cut]] + aboves[is_cut]
        is_cut[is_cut] = self.predictions.values[last - 1] == self.predictions.values[last]
        if is_cut.any():
            at, (above, tied) = self.entries[0][:-1][is_cut] + aboves[is_cut] - 1, self.entry_standings
            aboves[is_cut], sizes[is_cut] = above[at], tied[at]
        aboves[is_short], sizes[is_short] = self.listed[is_short], self.batch.n_conditions - self.listed[is_short]
        return aboves, sizes

    def named(self, sizes: IntArray) -> Named:
        """Return which conditions are the first of each case, so many (n_cases,).

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_rankings([["a", ["b", "c"]]], ["a", "b", "c"])
        >>> Predicted(model, batch).named(np.array([2])).status
        array([1])
        """
        from dissensus.kernels.gains import Named

        (above, tied), k = self.standings, sizes[self.batch.case_of_member]
        status = (above < k).astype(np.int64) + (above + tied <= k)
        return Named(status, sizes, *self.cuts(sizes), np.zeros(len(sizes), dtype=np.int64))

    def sums(self, of_members: FloatArray) -> FloatArray:
        """Add up numbers of the mentioned conditions by case, shape (n_cases,).

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
        >>> predicted = Predicted(model, batch)
        >>> predicted.sums(predicted.scores)
        array([0.3])
        """
        return weighted_counts(self.batch.case_of_member, of_members, self.batch.n_cases)

    def weighted_rest_means(
        self, of_entries: FloatArray, of_unlisted: FloatArray | float, of_members: FloatArray
    ) -> FloatArray:
        """Average over the unmentioned conditions what they have, by their weights, shape (n_cases,).

        Parameters
        ----------
        of_entries : (n_entries,)
            What each listed condition has.
        of_unlisted : (n_cases,) or a number
            What each other condition has.
        of_members : (sum of U,)
            What each mentioned condition has.

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> predicted = Predicted(Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"]), batch)
        >>> predicted.weighted_rest_means(predicted.entries[2], 0.0, predicted.scores)
        array([0.35])
        """
        (offsets, codes, _), sums, case = self.entries, self.batch.rest_sums, row_of_each(self.entries[0])
        weights = np.ones(len(codes)) if sums is None else np.diff(sums)[codes]
        listed, of_listed = (weighted_counts(case, w, len(offsets) - 1) for w in (weights, weights * of_entries))
        return self.batch.rest_average(of_listed + (self.batch.total_weight - listed) * of_unlisted, of_members)

    def rest_means(self, totals: FloatArray, of_members: FloatArray) -> FloatArray:
        """Average over the unmentioned conditions what they have, given the totals of each case, shape (n_cases,).

        All of them count the same; where they have weights, see :meth:`weighted_rest_means`.

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
        >>> predicted = Predicted(model, batch)
        >>> predicted.rest_means(np.ones(1), predicted.scores)
        array([0.35])
        """
        left = np.maximum(0.0, totals - self.sums(of_members))
        return np.where(self.batch.rest_sizes > 0, left / np.maximum(1, self.batch.rest_sizes), 0.0)

    def top_shares(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the probability of being in the top k.

        Returns
        -------
        (sum of U,), (n_cases,)
            Of each mentioned condition, and of an unmentioned one on average.

        Examples
        --------
        >>> from dissensus import Predictions, Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
        >>> model = Predictions.from_rankings([["a", ["b", "c"]]], ["a", "b", "c"])
        >>> Predicted(model, batch).top_shares(2)
        (array([0.5]), array([0.75]))
        """
        if k not in self._known_shares:
            above, tied = self.standings
            shares = np.clip((k - above) / tied, 0.0, 1.0)
            self._known_shares[k] = shares, self.rest_means(np.full(self.batch.n_cases, float(k)), shares)
        return self._known_shares[k]


def expected_worth(drawn: Drawn, shares: FloatArray, rest_shares: FloatArray, *, rank: int = 1) -> FloatArray:
    """Average over the condition in one place of each order what it is worth, shape (n_orders,).

    ``shares`` (sum of U,) holds the worth of the mentioned conditions and ``rest_shares`` (n_cases,) the mean worth of
    the others.
    """
    from dissensus.kernels.gains import expected_gains

    gains = np.zeros((len(shares), rank + 1))
    gains[:, rank - 1] = shares - rest_shares[drawn.batch.case_of_member]
    return expected_gains(drawn.layout, drawn.orders, rest_shares, gains)


# Checks --------------------------------------------------------------------------------------------------


def at_threshold(name: str, threshold: float | None) -> str:
    """Add a threshold to a name.

    >>> at_threshold("sensitivity", 0.5), at_threshold("sensitivity", None)
    ('sensitivity at 0.5', 'sensitivity')
    """
    return name if threshold is None else f"{name} at {threshold:g}"


def one_of(words: Any) -> Check:
    """Refuse what is not one of a few words, those of a literal type."""
    return partial(check_choice, choices=get_args(words))


# Parameters that mean the same in all metrics.
CHECKS: tuple[tuple[str, Check], ...] = (("truth", one_of(Truth)), ("average", one_of(Average)))
