"""Sets with guarantees: prediction sets that hold what an annotator says with a stated probability.

Labels of calibration cases are uncertain, so m of them are drawn per case: from the opinions of its annotators, or from
the plausibilities of an aggregation. With conformity scores (higher is better) of the n m labels, the threshold is the
r-th smallest, r = floor(alpha (n m + m)) - m + 1; the set of a new case holds all conditions whose score is at least
that ([stutz]: Stutz, Roy, Matejovicova, Strachan, Cemgil and Doucet 2023). A label that is left out has at most
alpha (n + 1) m of all (n + 1) m labels at or below it, and every case is as likely as any other to be the new one: the
label is in the set with a probability of at least 1 - alpha if cases are exchangeable and the new label is drawn as
those of a calibration case are ([lee]: Lee, Barber and Willett 2023, for hierarchical data); if labels are drawn
otherwise, averaged p-values still give 1 - 2 alpha. Within categories the same holds for labels of that category, with
their number in the place of n m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.agreement.coefficients import Table
from dissensus.certainty.categories import Categories
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_choice, check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import case_keys
from dissensus.core.screen import Rows
from dissensus.core.spec import one_spec
from dissensus.predictions.lists import Predictions, aligned_models
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# What a condition is scored by: its probability; the probability of all that are at least as likely; its place.
Score: TypeAlias = Literal["lac", "aps", "rank"]

# All labels in one; or averaged p-values that are corrected by their distribution at one label of every case.
Method: TypeAlias = Literal["monte-carlo", "corrected"]

SCORES: dict[Score, str] = {
    "lac": "probability of the condition",
    "aps": "probability of all conditions that are more likely, and of itself",
    "rank": "place of the condition",
}

GUARANTEES: dict[Method, str] = {
    "monte-carlo": "a label drawn like these, of a new case like these, is in the set with probability 1 - alpha at "
    "least; 1 - 2 alpha whatever the dependence between the labels of a case (averaged p-values)",
    "corrected": "1 - alpha at least, for one label drawn like these of a new case like these; it requires nothing of "
    "the other labels of a case, and thresholds vary more, as one label of each counts",
}


def conformity(model: Predictions, score: Score) -> FloatArray:
    """Return how well every condition conforms to what a model says, shape (n_cases, K); ties have the same score.

    >>> model = Predictions.from_scores([[0.5, 0.3, 0.2]], ["a", "b", "c"])
    >>> [conformity(model, score).round(3).tolist() for score in ("lac", "aps", "rank")]
    [[[0.5, 0.3, 0.2]], [[-0.5, -0.8, -1.0]], [[-1.0, -2.0, -3.0]]]
    """
    from scipy.stats import rankdata

    values = np.full((model.n_cases, model.n_conditions), -math.inf if model.kind == "ranking" else 0.0)
    values[model.case_of_entry, model.codes] = model.values
    if score == "rank":
        return -np.asarray(rankdata(-values, method="min", axis=1), dtype=np.float64)
    probabilities = values / values.sum(axis=1, keepdims=True)
    if score == "lac":
        return np.asarray(probabilities)
    last = rankdata(-probabilities, method="max", axis=1)  # tied conditions come together
    return np.take_along_axis(np.cumsum(np.sort(-probabilities, axis=1), axis=1), last.astype(np.int64) - 1, axis=1)


def threshold(scores: FloatArray, alpha: float, m: int) -> float:
    """Return the r-th smallest of conformity scores, r = floor(alpha (N + m)) - m + 1; all conform if r is below one.

    Parameters
    ----------
    scores : (N,)
        Of the labels of calibration cases, at most m per case.

    Examples
    --------
    >>> threshold(np.arange(19.0), 0.1, 1), threshold(np.arange(8.0), 0.1, 1)
    (1.0, -inf)
    """
    r = math.floor(alpha * (len(scores) + m) + 1e-9) - m + 1
    return float(np.partition(scores, r - 1)[r - 1]) if r >= 1 else -math.inf


@dataclass(frozen=True, eq=False, repr=False)
class Conformal(Rows):
    """Hold thresholds, found on annotated cases, that make sets of new predictions.

    Attributes
    ----------
    rows
        A row per category, or one of all conditions: ``category``, ``alpha``, ``labels`` that were drawn, ``threshold``
        of the conformity score, and the ``guarantee``.
    conditions
        Names of the conditions.
    codes : (K,)
        The row that each condition belongs to.
    """

    rows: tuple[dict[str, Any], ...]
    conditions: tuple[str, ...]
    codes: IntArray
    score: Score
    method: Method
    n_cases: int
    m: int
    drawn_from: str

    def predict(self, predictions: ArrayLike | Predictions) -> Predictions:
        """Return the sets of new cases, as predictions that any metric of sets takes.

        Parameters
        ----------
        predictions
            What the model says about new cases, in the form in which it was calibrated.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
        >>> scores = [[0.9, 0.1], [0.2, 0.8]] * 10
        >>> ds.conformal(said, scores, alpha=0.3).predict([[0.5, 0.5], [0.95, 0.05]]).to_lists()
        [[], [['a']]]
        """
        given = predictions
        if not isinstance(given, Predictions):
            given = Predictions.from_scores(given, list(self.conditions))
        model = given.align(None, self.conditions)
        _check_scores(model, self.score)
        limits = np.array([row["threshold"] for row in self.rows])[self.codes]
        sets = conformity(model, self.score) >= limits
        return Predictions.from_sets(sets, self.conditions, case_names=model.case_names, name=model.name)

    def words(self) -> list[str]:
        """Say what is guaranteed, and what for."""
        labels = f"{self.n_cases:,} calibration cases, {self.m} labels each from {self.drawn_from}"
        return [f"sets by {SCORES[self.score]}; {labels}", f"guarantee: {GUARANTEES[self.method]}"]


@checked
def conformal(
    study: Study,
    predictions: ArrayLike | Predictions,
    *,
    alpha: float | Mapping[str, float] = 0.1,
    score: Score = "lac",
    method: Method = "monte-carlo",
    labels: str | Aggregation = "annotators",
    m: int = 10,
    categories: Categories | None = None,
    seed: int = 0,
) -> Conformal:
    """Find thresholds on annotated cases that make sets with a guarantee; :meth:`Conformal.predict` makes the sets.

    Parameters
    ----------
    study
        What annotators said about the calibration cases, which the model was not trained on.
    predictions
        What the model said about them.
    alpha
        How often a label may be outside of its set, between 0 and 1; by category, if there are categories.
    score
        ``"lac"``: the probability of a condition. ``"aps"``: that of all conditions at least as likely. ``"rank"``: its
        place, for models without probabilities.
    method
        ``"monte-carlo"``: all labels of all cases give one threshold. ``"corrected"``: averaged p-values are corrected
        by their distribution at one label of every case; they rise with the score, so that these labels alone decide.
    labels
        What labels are drawn from: ``"annotators"``, or the plausibilities of an aggregation such as ``"dirichlet"``.
    m
        Labels per case.
    categories
        Categories of conditions such as risks: the guarantee holds for labels of each of them.
    seed
        Same seed, same labels.

    Examples
    --------
    >>> import dissensus as ds
    >>> simulated = ds.simulate.study(n_cases=200, n_conditions=5, seed=1)
    >>> found = ds.conformal(simulated.annotations, simulated.predictions["Aster"], alpha=0.2)
    >>> found.n_cases, 0 < found.rows[0]["threshold"] < 0.5
    (200, True)
    """
    check_choice("score", score, get_args(Score))
    check_choice("method", method, get_args(Method))
    check_count(m=m)
    is_said = isinstance(labels, str) and labels == "annotators"
    spec = None if is_said else one_spec(Aggregation.family, labels)
    check_seed(seed)
    said = require_kind(study, "rankings", "a conformal set").counted
    said = said.select(said.votes_per_case > 0)
    model = aligned_models({"model": predictions}, study.case_names, study.conditions, allow_missing=True)["model"]
    known = set(model.case_names)
    said = said.select([name in known for name in said.case_names])
    model = model.select(list(said.case_names))
    _check_scores(model, score)
    codes = np.zeros(said.n_conditions, dtype=np.int64)
    names: tuple[str, ...] = ("all conditions",)
    if categories is not None:
        codes, names = categories.aligned(said.conditions).codes, categories.names
        unused = [name for place, name in enumerate(names) if place not in codes]
        if unused:
            raise DissensusError("categories have no members", expected="a condition in each", got=listing(unused))
    alphas = _alphas(alpha, names)
    drawn = _drawn(said, spec, m, seed)
    if method == "corrected":  # averaged p-values rise with the score, so that one label of each case decides
        drawn, m = drawn[:, :1], 1
    needed = math.ceil(1 / min(alphas.values()) - 1e-9)
    if len(drawn) < needed:  # every set would hold everything
        raise DissensusError(
            "there are too few calibration cases",
            expected=f"at least {needed}, one divided by alpha",
            got=str(len(drawn)),
            advice="annotate more cases, or allow a larger alpha",
        )
    scores = np.take_along_axis(conformity(model, score), drawn, axis=1)
    rows = []
    for place, (name, own_alpha) in enumerate(alphas.items()):
        own = scores[codes[drawn] == place]
        found = threshold(own, own_alpha, m)
        row: dict[str, Any] = {"category": name, "alpha": own_alpha, "labels": len(own), "threshold": found}
        rows.append({**row, "guarantee": 1.0 if found == -math.inf else 1 - own_alpha})
    told = "opinions of annotators" if is_said else f"plausibilities of {labels}"
    return Conformal(tuple(rows), said.conditions, codes, score, method, len(drawn), m, told)


def _check_scores(model: Predictions, score: Score) -> None:
    """Refuse predictions that have no such conformity scores."""
    usable = ("scores", "ranking") if score == "rank" else ("scores",)
    if model.kind not in usable:
        raise DissensusError(f"the score {score!r} needs {' or '.join(usable)}", got=model.kind)
    sums = np.bincount(model.case_of_entry, weights=model.values, minlength=model.n_cases)
    if score != "rank" and ((model.values < 0).any() or (sums <= 0).any()):
        raise DissensusError(
            f"the score {score!r} needs probabilities",
            expected="scores of 0 and more, and one above 0 for every case",
            got=f"{model.values.min():g}",
            advice="turn logits into probabilities with a softmax, or use score='rank'",
        )


def _alphas(alpha: float | Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    """Return alpha of every category, in order; refuse what is not between 0 and 1, and categories without one."""
    given = alpha if isinstance(alpha, Mapping) else dict.fromkeys(names, alpha)
    for name, value in given.items():
        known_name("category", name, names)
        check_share("alpha", value)
    lacking = [name for name in names if name not in given]
    if lacking:
        raise DissensusError("categories have no alpha", expected="one for each", got=listing(lacking))
    return {name: float(given[name]) for name in names}


def _drawn(said: Study, spec: Aggregation | None, m: int, seed: int) -> IntArray:
    """Draw m labels of every case, shape (n_cases, m): the same for the same seed and name of the case.

    They are what annotators said, or come from the plausibilities of an aggregation.
    """
    if spec is None:
        shares = Table.of(said).by_value.toarray()
    else:
        sampled = spec.sample(said, draws=max(m, 100), seed=seed)
        shares = np.concatenate([batch.dense().mean(axis=1) for batch in sampled])
    cumulated = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    uniform = np.array([np.random.default_rng([seed, key]).random(m) for key in case_keys(said.case_names).tolist()])
    places = (uniform[:, :, None] > cumulated[:, None, :]).sum(axis=2)
    return np.asarray(np.minimum(places, shares.shape[1] - 1), dtype=np.int64)
