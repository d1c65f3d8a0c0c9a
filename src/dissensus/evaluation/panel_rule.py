"""When the panel estimate may stand beside the experts, and why it is withheld otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.aliases import BoolArray
from dissensus.core.errors import listing
from dissensus.evaluation.sums import ALL
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation
    from dissensus.study.study import Study

# What is asked of a study: cases in all and in every stratum, fewer opinions per case, a narrower interval.
LEAST_CASES, MOST_OPINIONS, MOST_WIDTH = 100, 10, 0.15

# So many cases may have opinions of one group of annotators only, where groups are known.
MOST_ALONE = 0.5

# Annotators who share no case count as several groups unless one of them has this share of the cases.
MOST_SHARE = 0.9


def why_panel_is_withheld(evaluation: Evaluation, stratum: tuple[str, str] | None = None) -> tuple[str, ...]:
    """Say why the panel estimate does not stand in the first table; empty if it may.

    The width of the interval is that of the first metric, where its values are between -1 and 1. Whether annotators
    share cases is looked at where all cases are held.

    Parameters
    ----------
    evaluation
        What came out.
    stratum
        Column and label of the cases that are shown; all cases by default.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60)
    >>> why_panel_is_withheld(ds.evaluate(study.annotations, study.predictions, aggregations=["majority-vote"]))
    ('there are 60 annotated cases, and at least 100 are needed',)
    """
    prior, place = evaluation.prior, ALL if stratum is None else ("stratum", *stratum)
    if evaluation.panel is None or prior is None or prior.reason:
        return ((prior and prior.reason) or "there is no panel estimate",)
    seen = [str(row["model"]) for row in prior.models if row.get("left_out") is not None]
    declared = [*evaluation.trained_on, *seen]
    shown, gain = evaluation.estimates[evaluation.panel].at(place), prior.held_out_gain or 0.0
    rows, n_cases = shown.rows(), evaluation.n_items if stratum is None else shown.n_cases
    mean, width, groups = evaluation.n_votes / evaluation.n_cases, widest(evaluation, rows), n_groups(evaluation)
    one_group = of_one_group(evaluation.study.counted)
    alone = float(one_group.mean()) if len(one_group) else 0.0
    reasons = {
        f"these annotations were seen by {listing(dict.fromkeys(declared))}": bool(declared),
        "all models give labels without scores": prior.are_labels,
        "held-out annotators are predicted better without the models": gain < 0,
        f"there are {n_cases} cases{'' if stratum is None else ' in the stratum'}": n_cases < LEAST_CASES,
        f"there are {mean:.0f} opinions per case, and the majority vote is simpler": mean >= MOST_OPINIONS,
        f"the interval is {100 * width:.0f} points wide": width >= MOST_WIDTH,
        "the interval lacks the uncertainty of the fitted prior": any(np.isnan(row["fit_sd"]) for row in rows),
        f"the annotators form {groups} groups that share no case": groups > 1,
        f"{100 * alone:.0f} % of the cases have opinions of one group of annotators only": alone > MOST_ALONE,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def widest(evaluation: Evaluation, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the width of the widest interval of any model, by the first metric; 0 where it has no points."""
    metric = evaluation.metrics[0]
    if not -1.0 <= metric.range[0] <= metric.range[1] <= 1.0:
        return 0.0
    return float(max(row["high"] - row["low"] for row in rows if row["metric"] == metric.name))


def n_groups(evaluation: Evaluation) -> int:
    """Count the groups of named annotators that share no case; 1 if one of them has nearly all cases.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = [[[["a"]], [["b"]]]] * 4
    >>> study = ds.Study.from_rankings(said, ["a", "b"], annotator_names=[["Ada", "Bo"]] * 2 + [["Cy", "Di"]] * 2)
    >>> n_groups(ds.evaluate(study, {}, aggregations=["majority-vote"]))
    2
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    panel = evaluation.study.counted.panel
    if evaluation.is_sample or not len(panel.annotators) or (panel.annotators == ANONYMOUS).any():
        return 1
    n_annotators = len(panel.annotator_names)
    edges = (panel.units, n_annotators + panel.case_of_opinion)
    size = n_annotators + evaluation.study.n_cases
    count, member = connected_components(coo_array((np.ones(len(edges[0])), edges), shape=(size, size)), directed=False)
    cases = np.bincount(member[np.unique(edges[1])], minlength=count)
    return 1 if cases.max() >= MOST_SHARE * cases.sum() else int((cases > 0).sum())


def of_one_group(study: Study) -> BoolArray:
    """Tell which of the cases with several opinions have them from one group of annotators only.

    Nobody is known to be of one group where groups are not known.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_rankings([[[["a"]], [["b"]]]] * 2, ["a", "b"], annotator_names=["Ada", "Bo"])
    >>> of_one_group(said), of_one_group(said.with_annotator_groups({"Ada": "north", "Bo": "north"}))
    (array([False, False]), array([ True,  True]))
    """
    units, case, offsets = study.panel.units, study.panel.case_of_opinion, study.panel.opinion_offsets
    first = units[np.minimum(offsets[:-1], max(len(units) - 1, 0))] if len(units) else offsets[:-1]
    unlike = np.bincount(case[(units != first[case]) | (units == ANONYMOUS)], minlength=study.n_cases)
    several = np.diff(offsets) > 1
    return np.asarray((unlike == 0) & several & bool(study.panel.annotator_groups))[several]
