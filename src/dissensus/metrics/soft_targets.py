"""Soft targets: how far a model's distribution is from that of the annotators, of whom only a few were asked.

With the share q of v votes, the squared distance from the model's p is too large by the noise of q; what is averaged
here, |p|^2 - 2 p q + (how often two annotators agree), is not, and neither is cross-entropy: both are unbiased for any
v. Manhattan distance, Jensen-Shannon divergence, Wasserstein distance and the correlation of entropies have no unbiased
form: they are estimates over draws from the votes alone, under a prior that no model informs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.ragged import clustered, product, row_of_each, take_rows, weighted_counts
from dissensus.core.screen import Rows
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

# So many cases are needed, and so many numbers of draws are looked at together.
LEAST_CASES, MOST_NUMBERS = 2, 10**7

UNBIASED, ESTIMATED = ("squared_distance", "cross_entropy"), ("manhattan", "jensen_shannon", "wasserstein")


@dataclass(frozen=True, eq=False, repr=False)
class SoftTargets(Rows):
    """Hold how far models are from the distribution of annotators.

    Attributes
    ----------
    rows
        A row per model: ``squared_distance`` and ``cross_entropy``, unbiased for few votes, with ``_low`` and
        ``_high``; ``manhattan``, ``jensen_shannon`` (in bits), ``wasserstein`` (of grades, in grades) and
        ``entropy_correlation``, estimates over draws.
    annotator_rows
        A row per named annotator and model: ``error``, the mean probability that the model does not give to what the
        annotator says; ``error_rate``, how often its first choice is another one.
    """

    rows: tuple[dict[str, Any], ...]
    annotator_rows: tuple[dict[str, Any], ...]
    about: str
    n_cases: int
    level: float
    notes: tuple[str, ...]

    def words(self) -> list[str]:
        """Say whose distribution it is."""
        return [
            f"distance from {self.about}: {self.n_cases:,} cases, {100 * self.level:g} % intervals",
            "squared distance and cross-entropy are unbiased for few votes; the others are estimates over draws",
        ]

    def summary(self) -> pl.DataFrame:
        """Return values without intervals."""
        wanted = ["model", *UNBIASED, *ESTIMATED, "entropy_correlation"]
        found = self.to_frame().select(wanted)
        return found.select([name for name in wanted if name == "model" or not found[name].is_nan().all()])

    def annotators(self) -> pl.DataFrame:
        """Return :attr:`annotator_rows` as a frame."""
        import polars as pl

        return pl.DataFrame(list(self.annotator_rows), infer_schema_length=None)


@checked
def soft_targets(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    *,
    panel: Mapping[str, float] | None = None,
    members: Mapping[str, str] | None = None,
    draws: int = 200,
    seed: int = 0,
    level: float = 0.95,
) -> SoftTargets:
    """Compare models' distributions with that of the annotators, or of a target panel of some of them.

    Parameters
    ----------
    study
        Labels or rankings, of which first choices count.
    predictions
        Probabilities of all conditions; those of a case are divided by their sum.
    panel, members
        The target panel: weights of groups of annotators, and the group of each annotator; by default the groups that
        the study knows. What a panel of these groups in these proportions would say, whoever happened to be asked.
    draws, seed
        Draws per case for what has no unbiased form.
    level
        Probability that intervals hold.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> found = ds.metrics.soft_targets(said, {"A": [[0.75, 0.25], [0.1, 0.9]] * 10})
    >>> round(found.rows[0]["squared_distance"], 4)
    -0.0525
    """
    from scipy.special import stdtrit

    check_share("level", level)
    check_count(draws=draws)
    check_seed(seed)
    said = require_kind(study, "rankings", "a soft target").counted
    models = aligned_models(predictions, study.case_names, study.conditions)
    groups, weights, about = _panel(said, panel, members)
    own, first = first_choices(said)
    counts, squares = np.zeros((2, len(weights), said.n_cases, said.n_conditions))
    case, count, votes = said.panel.case_of_opinion, said.votes * said.weights, np.zeros(counts.shape[:2])
    kept, taken = groups >= 0, groups[own] >= 0
    place = groups[own][taken], case[own][taken], first[0][taken]
    np.add.at(counts, place, (count[own] * first[1])[taken])
    np.add.at(squares, place, (count[own] * np.square(first[1]))[taken])
    np.add.at(votes, (groups[kept], case[kept]), count[kept])
    enough = (votes >= 2).all(axis=0) & (said.case_weights > 0)
    if enough.sum() < LEAST_CASES:
        problem = "too few cases have two opinions" + (" of every group of the panel" if panel else "")
        raise DissensusError(problem, expected=f"at least {LEAST_CASES}", got=str(int(enough.sum())))
    counts, squares, votes = counts[:, enough], squares[:, enough], votes[:, enough]
    shares = counts / votes[..., None]
    target = np.einsum("g,gik->ik", weights, shares)
    pairs = ((counts**2).sum(axis=2) - squares.sum(axis=2)) / (votes * (votes - 1))
    alike = (target**2).sum(axis=1) + np.einsum("g,gi->i", weights**2, pairs - (shares**2).sum(axis=2))
    every = {name: _probabilities(model.select(list(said.case_names))) for name, model in models.items()}
    probabilities = {name: one[enough] for name, one in every.items()}
    blocks = _blocks(said, groups, weights, enough, draws, seed)
    clusters = np.array(said.groups or said.case_names, dtype=str)[enough]
    wide = float(stdtrit(max(len(np.unique(clusters)) - 1, 1), (1 + level) / 2))
    estimates = _estimates(probabilities, blocks, said.case_weights[enough], is_graded=said.question == "grades")
    rows = []
    for name, chosen in probabilities.items():
        row: dict[str, Any] = {"model": name}
        with np.errstate(divide="ignore"):
            logs = np.where(target > 0, target * np.log(np.where(target > 0, chosen, 1.0)), 0.0)
        squared = (chosen**2).sum(axis=1) - 2 * (chosen * target).sum(axis=1) + alike
        for column, values in zip(UNBIASED, (squared, -logs.sum(axis=1)), strict=True):
            mean, error = clustered(values, said.case_weights[enough], clusters)
            row |= {column: mean, f"{column}_low": mean - wide * error, f"{column}_high": mean + wide * error}
        rows.append({**row, **estimates[name]})
    notes = tuple([f"{said.n_cases - len(clusters)} cases have fewer than two opinions"] * (not enough.all()))
    return SoftTargets(tuple(rows), tuple(_of_annotators(said, every, own, first)), about, len(clusters), level, notes)


def first_choices(said: Study) -> tuple[IntArray, tuple[IntArray, FloatArray]]:
    """Return the first choices of all opinions, one after the other: opinion, and condition with its share."""
    offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
    own = row_of_each(offsets)
    return own, (said.codes[mentions], 1 / np.diff(offsets)[own])


def _panel(
    said: Study, panel: Mapping[str, float] | None, members: Mapping[str, str] | None
) -> tuple[IntArray, FloatArray, str]:
    """Return the group of every opinion (-1 for none of the panel), the weights of groups, and what they are called."""
    if panel is None:
        if members is not None:
            raise DissensusError("a target panel needs weights", expected="panel, the weight of each group")
        return np.zeros(said.n_opinions, dtype=np.int64), np.ones(1), "the annotators"
    if (said.annotators == ANONYMOUS).any():
        raise DissensusError("a target panel is made of named annotators", got="anonymous opinions")
    of = dict(zip(said.annotator_names, said.panel.annotator_groups, strict=False)) if members is None else members
    known = sorted(set(of.values()))
    for name, weight in panel.items():
        known_name("group of annotators", name, known)
        if not 0 <= weight < math.inf:
            raise DissensusError("a weight of the panel is not a number, zero or more", got=f"{name}: {weight:g}")
    names = [name for name, weight in panel.items() if weight > 0]
    weights = np.array([float(panel[name]) for name in names])
    codes = np.array([*(names.index(of[one]) if of.get(one) in names else -1 for one in said.annotator_names), -1])
    groups = codes[said.annotators]
    empty = [name for place, name in enumerate(names) if not (groups == place).any()]
    if empty or not names:
        raise DissensusError("groups of the panel have no members", expected="an opinion of each", got=listing(empty))
    weights = weights / weights.sum()
    told = " and ".join(f"{100 * weight:.3g} % {name}" for name, weight in zip(names, weights, strict=True))
    return groups, weights, f"a panel of {told}"


def _probabilities(model: Predictions) -> FloatArray:
    """Return the scores of each case divided by their sum, shape (n_cases, K)."""
    if model.kind != "scores" or (model.values < 0).any():
        got, where = model.kind if model.kind != "scores" else "a negative score", f"model {model.name!r}"
        expected = "scores of 0 and more of every condition"
        raise DissensusError("soft targets need probabilities", expected=expected, got=got, where=where)
    scores = model.to_scores()
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _blocks(
    said: Study, groups: IntArray, weights: FloatArray, enough: BoolArray, draws: int, seed: int
) -> Iterator[FloatArray]:
    """Draw the distribution of the panel from votes alone, some cases after the other: (n_cases, n_draws, K) each."""
    from dissensus.aggregations.dirichlet import Dirichlet

    samples = []
    for place in range(len(weights)):
        others = {said.annotator_names[one] for one in np.unique(said.annotators[groups != place]) if one != ANONYMOUS}
        own = said.select(enough).without(sorted(others)) if others else said.select(enough)
        samples.append(Dirichlet(alpha="fitted").sample(own, draws=draws, seed=seed + place))
    n, size = samples[0].n_cases, max(MOST_NUMBERS // (draws * said.n_conditions), 1)
    for start in range(0, n, size):
        total: FloatArray = np.zeros(())
        for weight, one in zip(weights, samples, strict=True):
            some = one.select(list(range(start, min(start + size, n))))
            total = total + weight * np.concatenate([batch.dense() for batch in some])
        yield total


def _estimates(
    probabilities: Mapping[str, FloatArray], blocks: Iterator[FloatArray], weights: FloatArray, *, is_graded: bool
) -> dict[str, dict[str, float]]:
    """Average distances of models (n_cases, K) from draws, and correlate entropies."""
    w, start = weights / weights.sum(), 0
    apart_by_model: dict[str, list[FloatArray]] = {name: [] for name in probabilities}
    entropies = []
    for drawn in blocks:
        entropies.append(entropy(drawn))
        for name, p in probabilities.items():
            own = p[start : start + len(drawn), None, :]
            divergence = entropy((own + drawn) / 2) - (entropy(own) + entropies[-1]) / 2
            steps = np.abs(np.cumsum(own - drawn, axis=2)[..., :-1]).sum(axis=2)
            gaps = (np.abs(own - drawn).sum(axis=2), divergence, steps)
            apart_by_model[name].append(np.stack([one.mean(axis=1) for one in gaps]))
        start += len(drawn)
    of_draws = np.concatenate(entropies)
    apart = of_draws - product(w, of_draws)
    found = {}
    for name, p in probabilities.items():
        manhattan, shannon, wasserstein = product(w, np.concatenate(apart_by_model[name], axis=1).T).tolist()
        away = entropy(p) - product(w, entropy(p))
        spread = np.sqrt(product(w, away**2) * product(w, apart**2))
        related = np.divide(product(w * away, apart), spread, out=np.full(len(spread), np.nan), where=spread > 0)
        distances = (manhattan, shannon, wasserstein if is_graded else math.nan)
        found[name] = {**dict(zip(ESTIMATED, distances, strict=True)), "entropy_correlation": float(related.mean())}
    return found


def entropy(p: FloatArray) -> FloatArray:
    """Return the entropy over the last axis, in bits.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1) + 0.0)


def _of_annotators(
    said: Study, probabilities: Mapping[str, FloatArray], own: IntArray, first: tuple[IntArray, FloatArray]
) -> list[dict[str, Any]]:
    """Measure models against every named annotator alone."""
    case, found = said.panel.case_of_opinion, []
    for name, p in probabilities.items():
        best = p == p.max(axis=1, keepdims=True)
        values = [
            weighted_counts(own, first[1] * table[case[own], first[0]], said.n_opinions)
            for table in (p, best / best.sum(axis=1, keepdims=True))
        ]
        for code, who in enumerate(said.annotator_names):
            mine = said.annotators == code
            if mine.any():
                error, rate = (float(1 - one[mine].mean()) for one in values)
                row = {"annotator": who, "model": name, "n_cases": int(mine.sum())}
                found.append({**row, "error": error, "error_rate": rate})
    return found
