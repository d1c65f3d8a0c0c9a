"""Labels of draws: what metrics of a whole data set keep of every draw, one bit where there are two conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import FloatArray, IntArray, KeyArray, Value
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_keys
from dissensus.core.ragged import product, take_rows, weighted_counts
from dissensus.evaluation.sums import Name, Sums
from dissensus.metrics.base import Drawn, Metric, Truth, expected_worth
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.draws import Batch
    from dissensus.metrics.data_set import DataSetMetric

# How labels are kept: a bit per draw, the code of a condition, masses of all conditions, or numbers.
Form: TypeAlias = Literal["bits", "codes", "masses", "numbers"]

# How many conditions may share a label by their plausibilities: all of them are kept for every draw.
MOST_SOFT = 64

# Answers of so many draws are taken apart at a time: a multiple of the bits of a byte.
DRAWS_AT_ONCE = 64

# In pieces, labels of so many bytes may be held at once for functions of all of them.
MOST_JOINED = 2_000_000_000

LabelsByTruth: TypeAlias = "Mapping[Truth, Labels]"

TIES = np.uint64(0xD1B54A32D192ED03)
STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Labels(Value):
    """Hold the label of every draw of some cases; other cases are put behind them by ``+``.

    Attributes
    ----------
    form
        How they are kept.
    n_draws
        Number of draws.
    data
        ``bits``: whether the last of two conditions is the label, (n_cases, n_draws / 8); ``codes``: of conditions,
        (n_cases, n_draws); ``masses``: (n_cases, n_draws, K); ``numbers``: the number and its expected square,
        (n_cases, n_draws, 2).
    means : (n_cases, K)
        Mean over the draws of the masses of all conditions; of numbers, of 1, the number and its square.
    moved : (n_cases, n_refits, K)
        The same under every refit of an informed prior; no refits where there is none.
    """

    form: Form
    n_draws: int
    data: npt.NDArray[Any]
    means: FloatArray
    moved: npt.NDArray[Any]

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.means)

    @staticmethod
    def joined(parts: Sequence[Labels]) -> Labels:
        """Put labels of different cases one after the other."""
        names = ("data", "means", "moved")
        own: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return replace(parts[0], **own)

    def take(self, cases: IntArray) -> Labels:
        """Keep the cases at these positions."""
        return replace(self, data=self.data[cases], means=self.means[cases], moved=self.moved[cases])

    @property
    def is_sure(self) -> bool:
        """Whether every draw has one label of each case."""
        return self.form in ("bits", "codes")

    def codes(self, draws: range, cases: IntArray | slice = slice(None)) -> npt.NDArray[Any]:
        """Return the label of some cases in some draws that are sure of it, shape (n_cases, n_draws)."""
        if self.form == "codes":
            return self.data[cases, draws.start : draws.stop : draws.step]
        first = draws.start // 8
        some = np.unpackbits(self.data[cases, first : -(-draws.stop // 8)], axis=1, bitorder="little")
        return some[:, draws.start - 8 * first : draws.stop - 8 * first : draws.step]

    def answers(self, draws: range, cases: IntArray, condition: int) -> npt.NDArray[np.uint8]:
        """Tell whether a condition is the label of some cases, eight of them in a byte, (n_cases / 8, n_draws)."""
        found = np.empty((-(-len(cases) // 8), len(draws)), dtype=np.uint8)
        for first in range(0, len(draws), DRAWS_AT_ONCE):
            own = slice(first, first + DRAWS_AT_ONCE)
            found[:, own] = np.packbits(self.codes(draws[own], cases) == condition, axis=0, bitorder="little")
        return found

    def block(self, draws: range) -> FloatArray:
        """Return the masses of some draws, shape (n_draws, K, n_cases)."""
        if self.is_sure:
            codes = np.ascontiguousarray(self.codes(draws).T)
            masses = np.stack([codes == k for k in range(self.means.shape[1])]).astype(np.float64)
            return masses.transpose(1, 0, 2)  # so that those of one condition are a plain array
        own = self.data[:, draws.start : draws.stop : draws.step]
        if self.form == "numbers":
            return np.stack([np.ones(own.shape[:2]).T, own[..., 0].T, own[..., 1].T], axis=1)
        return np.ascontiguousarray(own.transpose(1, 2, 0), dtype=np.float64)

    def within(self, codes: IntArray) -> Labels:
        """Keep the masses of some conditions only: what a draw says where its label is another one does not count."""
        kept = np.zeros(self.means.shape[1])
        kept[codes] = 1.0
        masses = self.block(range(self.n_draws)).transpose(2, 0, 1) * kept
        return Labels("masses", self.n_draws, masses.astype(np.float32), self.means * kept, self.moved * kept)


def data_set_metrics(metrics: Sequence[Metric]) -> tuple[DataSetMetric, ...]:
    """Return the metrics of a whole data set."""
    return tuple(cast("DataSetMetric", metric) for metric in metrics if metric.sees == "data set")


def check_soft(n_conditions: int) -> None:
    """Refuse to keep the plausibilities of very many conditions."""
    if n_conditions > MOST_SOFT:
        raise DissensusError(
            "a metric of a whole data set cannot take plausibilities of so many conditions as its truth",
            expected=f"at most {MOST_SOFT} conditions with truth='soft'",
            got=str(n_conditions),
            advice="take the most plausible condition: truth='top'",
        )


def check_joined(metrics: Sequence[Metric], n_cases: int, n_draws: int, n_conditions: int) -> None:
    """Refuse, in pieces, metrics that need the labels of all cases at once where these are too many.

    Parameters
    ----------
    n_conditions
        How many there are; none where labels are numbers.

    Examples
    --------
    >>> check_joined([], 10**9, 1000, 2)
    """
    of_top = 1 / 8 if n_conditions == 2 else 1 if n_conditions <= 256 else 2
    for metric in data_set_metrics(metrics):
        if not metric.is_summed:
            size = 16 if not n_conditions else of_top if metric.truth == "top" else 4 * n_conditions
            if n_cases * n_draws * size > MOST_JOINED:
                raise DissensusError(
                    f"{metric.name} is a function of the labels of all cases, which are too many to be held at once",
                    expected=f"at most {MOST_JOINED / 1e9:g} GB of labels",
                    got=f"{n_cases * n_draws * size / 1e9:.1f} GB: {n_cases:,} cases with {n_draws:,} draws",
                    advice="leave it out, ask for fewer draws (--draws), or evaluate it on a sample of the cases",
                )


def labels_of(
    drawn: Drawn, truth: Truth, *, seed: int, weights: Sequence[FloatArray] | None = None, step: int = 1
) -> Labels:
    """Find the labels of the draws of a batch.

    Parameters
    ----------
    truth
        What the label of a draw is.
    seed
        Ties between conditions of a draw are broken at random; a single draw keeps its ties.
    weights : n_cases arrays of shape (n_refits, n_weighed)
        How much every ``step``-th draw of each case counts under refits of an informed prior, if there is one.
    """
    batch, n_draws = drawn.batch, drawn.batch.n_draws
    form: Form
    data: npt.NDArray[Any]
    if batch.numbers is not None:  # with truth="soft" that of one annotator, who varies
        centres, spreads = batch.numbers[..., 0], batch.numbers[..., 1]
        squares = np.square(centres) + (np.square(spreads) if truth == "soft" else 0.0)
        form, data = "numbers", np.stack([centres, squares], axis=2)
        means = np.column_stack([np.ones(len(data)), data.mean(axis=1)])
    elif truth == "soft":
        check_soft(batch.n_conditions)
        masses = soft_masses(batch)
        form, data, means = "masses", masses if n_draws == 1 else masses.astype(np.float32), masses.mean(axis=1)
    else:
        of_orders, of_draw = order_masses(drawn), drawn.orders.of_draw
        means = np.stack([drawn.means(row) for row in of_orders], axis=1)
        if n_draws == 1:
            form, data = "masses", of_orders.T[of_draw]
        else:
            form, data = "codes", settled(of_orders, of_draw, case_keys(batch.case_names) ^ np.uint64(seed))
            if batch.n_conditions == 2:
                form, data = "bits", np.packbits(data, axis=1, bitorder="little")
    labels = plain_labels(form, n_draws, data, means)
    if weights is None:
        return labels
    blocks = labels.block(range(0, n_draws, step))
    moved = np.stack([product(of_case, blocks[:, :, case]) for case, of_case in enumerate(weights)])
    return replace(labels, moved=moved.astype(np.float32))


def plain_labels(form: Form, n_draws: int, data: npt.NDArray[Any], means: FloatArray) -> Labels:
    """Hold labels that no refits of a prior move."""
    return Labels(form, n_draws, data, means, np.empty((len(means), 0, means.shape[1]), dtype=np.float32))


def order_masses(drawn: Drawn) -> FloatArray:
    """Return how likely every condition is the first of every order, shape (K, n_orders)."""
    batch = drawn.batch
    n_conditions, rests = batch.n_conditions, np.maximum(batch.rest_sizes, 1)
    nothing = np.zeros(len(batch.support))
    unmentioned = expected_worth(drawn, nothing, (batch.rest_sizes > 0).astype(np.float64))
    found = np.tile(unmentioned / np.repeat(rests, np.diff(drawn.orders.offsets)), (n_conditions, 1))
    for k in np.unique(batch.support):
        is_own = batch.support == k
        lacks = np.ones(batch.n_cases)
        lacks[drawn.batch.case_of_member[is_own]] = 0.0
        found[k] = expected_worth(drawn, is_own.astype(np.float64), lacks * (batch.rest_sizes > 0) / rests)
    return found


def settled(of_orders: FloatArray, of_draw: IntArray, keys: KeyArray) -> npt.NDArray[Any]:
    """Choose one condition for every draw, shape (n_cases, n_draws); by chance where several are tied.

    Parameters
    ----------
    of_orders : (K, n_orders)
        How likely every condition is the first of every order.
    of_draw : (n_cases, n_draws)
        The order of every draw.
    keys : (n_cases,)
        Of random numbers.

    Examples
    --------
    >>> tied = np.array([[1.0, 0.5], [0.0, 0.5]])
    >>> settled(tied, np.array([[0, 0, 1, 1, 1, 1]]), np.array([7], dtype=np.uint64))[0, :2]
    array([0, 0], dtype=uint8)
    """
    codes = of_orders.argmax(axis=0)
    chosen = codes.astype(np.uint8 if len(of_orders) <= 256 else np.uint16)[of_draw]
    is_tied = of_orders.max(axis=0) < 1 - 1e-9
    if is_tied.any():
        case, draw = np.nonzero(is_tied[of_draw])
        sums = np.cumsum(of_orders[:, of_draw[case, draw]], axis=0)
        with np.errstate(over="ignore"):  # mix keys and numbers of draws
            mixed = (keys[case] ^ TIES) + (draw.astype(np.uint64) + np.uint64(1)) * STEP
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        chance = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 * sums[-1]
        chosen[case, draw] = np.minimum((sums <= chance).sum(axis=0), len(of_orders) - 1)
    return np.asarray(chosen)


def soft_masses(batch: Batch) -> FloatArray:
    """Return the plausibility of every condition in every draw, shape (n_cases, n_draws, K).

    What nobody mentioned is shared by the other conditions as it is on average.
    """
    weights = np.ones(batch.n_conditions) if batch.rest_sums is None else np.diff(batch.rest_sums)
    found = np.empty((batch.n_cases, batch.n_draws, batch.n_conditions))
    for case in range(batch.n_cases):
        draws, own = batch.of_case(case), batch.support_of(case)
        others = weights.copy()
        others[own] = 0.0
        found[case] = draws[:, -1:] * (others / max(others.sum(), 1e-300))
        found[case][:, own] = draws[:, :-1]
    return found


def label_entries(key: str, labels: LabelsByTruth) -> dict[Name, npt.NDArray[Any]]:
    """Name the labels of a reference as they are kept among sums; what is said once for several truths is kept once."""
    shared = len({id(one) for one in labels.values()}) == 1
    kept = {"any": next(iter(labels.values()))} if shared and labels else labels
    return {
        ("rows", "labels", key, truth, one.form, one.n_draws, part): getattr(one, part)
        for truth, one in kept.items()
        for part in ("data", "means", "moved")
    }


def kept_labels(sums: Sums, key: str, truths: Iterable[Truth]) -> LabelsByTruth:
    """Return the labels of a reference that are kept among sums."""
    found: dict[str, Labels] = {}
    for _, _, _, truth, form, n_draws, _ in sums.names("rows", "labels", key):
        where = ("rows", "labels", key, truth, form, n_draws)
        found[str(truth)] = Labels(form, int(n_draws), *(sums[*where, part] for part in ("data", "means", "moved")))  # type: ignore[arg-type]
    return {truth: found.get(truth) or found["any"] for truth in truths}


def vote_labels(study: Study, case_names: Sequence[str]) -> Labels:
    """Return what single annotators name first on cases, averaged by their weights, as the labels of one draw."""
    said: Any = study.counted
    place = {name: row for row, name in enumerate(case_names)}
    of_case = np.array([place.get(name, -1) for name in said.case_names], dtype=np.int64)
    rows, n_rows = of_case[said.panel.case_of_opinion], len(case_names)
    kept = np.flatnonzero(rows >= 0)
    rows, weights = rows[kept], (said.weights * said.votes)[kept]
    totals = np.maximum(weighted_counts(rows, weights, n_rows), 1e-300)[:, None]
    if study.kind == "ratings":
        powers = said.scores[kept] ** np.arange(3)[:, None]
        means = np.column_stack([weighted_counts(rows, weights * power, n_rows) for power in powers]) / totals
        return plain_labels("numbers", 1, means[:, None, 1:], means)
    # all that a first block names, in equal shares
    offsets, entries = take_rows(said.code_offsets, said.block_offsets[:-1][kept])
    sizes = np.diff(offsets)
    places = np.repeat(rows, sizes) * study.n_conditions + said.codes[entries]
    sums = weighted_counts(places, np.repeat(weights / sizes, sizes), n_rows * study.n_conditions)
    means = sums.reshape(n_rows, study.n_conditions) / totals
    return plain_labels("masses", 1, means[:, None], means)
