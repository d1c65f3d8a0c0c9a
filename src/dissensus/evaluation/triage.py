"""Cases that need a look, by rule: where the annotations and a model part, where models part, and what stays open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import BoolArray, IntArray
from dissensus.core.ragged import row_of_each
from dissensus.core.thresholds import is_uncertain

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation
    from dissensus.predictions.lists import Predictions

# The rules, and what each says of a case.
WRONG, MISSED, SPLIT, UNSETTLED = "confidently wrong", "high risk and missed", "models disagree", "unsettled"
RULES = {
    WRONG: "the annotations settle the case, and the first choice of the model is another",
    MISSED: "most draws put the case into the category of the highest risk, and the model does not",
    SPLIT: "the first choices of the models differ",
    UNSETTLED: "the annotations do not settle the case",
}


@dataclass(frozen=True, eq=False)
class Triage:
    """Tell which cases that are held fall under which rule, in the reference run.

    Attributes
    ----------
    is_settled, is_high, is_split : (n_cases,)
        Whether the annotations settle the case, whether its category is the one of the highest risk, and whether models
        differ in their first choices.
    is_wrong, is_missed : (n_models, n_cases)
        Whether the first choice of a model is not the most plausible condition, and whether it is of a lower risk than
        a case of the highest.
    """

    is_settled: BoolArray
    is_high: BoolArray
    is_split: BoolArray
    is_wrong: BoolArray
    is_missed: BoolArray

    def of_rule(self, rule: str, model: int | None = None) -> IntArray:
        """Return the places of the cases that a rule names: for one model, or for any of them."""
        some = slice(None) if model is None else [model]
        found = {
            WRONG: self.is_settled & self.is_wrong[some].any(axis=0),
            MISSED: self.is_missed[some].any(axis=0),
            SPLIT: self.is_split,
            UNSETTLED: ~self.is_settled,
        }
        return np.flatnonzero(found[rule])

    def agreed_and_missed(self, model: int) -> IntArray:
        """Return the places of the cases of the highest risk that the annotations settle and the model misses."""
        return np.flatnonzero(self.is_settled & self.is_missed[model] & self.is_wrong[model])


def triage(evaluation: Evaluation) -> Triage:
    """Find the cases that need a look; a model that gives numbers is wrong where its number is of another answer.

    Examples
    --------
    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[9, 0], [5, 4]], ["a", "b"])
    >>> found = triage(evaluate(said, {"A": [[0, 1], [0, 1]], "B": [[1, 0], [0, 1]]}, aggregations=["dirichlet:10"]))
    >>> {rule: found.of_rule(rule).tolist() for rule in RULES}
    {'confidently wrong': [0], 'high risk and missed': [], 'models disagree': [0], 'unsettled': [1]}
    """
    profile, categories = evaluation.profiles[evaluation.reference], evaluation.categories
    n_cases, n_conditions = len(evaluation.case_names), len(evaluation.conditions)
    members = np.flatnonzero(profile.is_member[0])
    best = row_of_each(profile.support_offsets)[members] * n_conditions + profile.support[members]
    is_high, highest = np.zeros(n_cases, dtype=np.bool_), np.zeros(n_conditions, dtype=np.bool_)
    if categories is not None and categories.levels:
        top = int(np.argmax(categories.levels))
        is_high, highest = profile.category_winners == top, categories.codes == top
    chosen = [first_choices(one, evaluation) for one in evaluation.predictions.values()]
    said = np.zeros((len(chosen), n_cases), dtype=np.bool_)
    is_right, is_found = said.copy(), said.copy()
    for m, pairs in enumerate(chosen):
        said[m, pairs // n_conditions] = True
        is_right[m, pairs[np.isin(pairs, best)] // n_conditions] = True
        is_found[m, pairs[highest[pairs % n_conditions]] // n_conditions] = True
    pairs, n_models = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *chosen]), return_counts=True)
    is_split = np.zeros(n_cases, dtype=np.bool_)
    is_split[pairs[n_models < said.sum(axis=0)[pairs // n_conditions]] // n_conditions] = True
    is_settled = ~is_uncertain(profile.certainties[0])
    return Triage(is_settled, is_high, is_split, said & ~is_right, is_high & said & ~is_found)


def first_choices(predicted: Predictions, evaluation: Evaluation) -> IntArray:
    """Return what a model names first on every case, ties together: the case times all conditions plus the code."""
    n_conditions = len(evaluation.conditions)
    if predicted.kind == "numbers":  # the interval between thresholds that the number is in
        run = evaluation.runs[evaluation.reference]
        edges = getattr(run.spec, "thresholds", None) or tuple(run.fitted.values())[:1]
        if len(edges) + 1 != n_conditions:
            return np.empty(0, dtype=np.int64)
        return np.arange(predicted.n_cases) * n_conditions + np.searchsorted(edges, predicted.numbers, side="right")
    case, starts = predicted.case_of_entry, predicted.offsets[:-1]
    first = np.flatnonzero(predicted.values == predicted.values[starts[case]])
    return np.asarray(case[first] * n_conditions + predicted.codes[first])
