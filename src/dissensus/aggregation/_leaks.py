"""Models that have seen the answers: those that repeat an annotator, and those that agree with the panel too well."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dissensus.aggregation._evidence import first_shares
from dissensus.core.aliases import FloatArray
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

LEAST_CASES = 20
"""An annotator must have read so many cases to be recognised."""

SURE = 3.0
"""By how many standard errors a model must agree too well to be taken for one that has seen the answers."""

SAME = 0.999
"""Share of an annotator's cases in which a model that repeats it says the same."""


def first_matches(study: Study, model: Predictions) -> FloatArray:
    """Return how much of a model's first place every opinion names first, shape (n_opinions,); ties share it."""
    first = first_shares(model)
    n_conditions = study.n_conditions
    table = dict(
        zip(
            (model.case_of_entry * n_conditions + model.codes)[first > 0].tolist(),
            first[first > 0].tolist(),
            strict=True,
        )
    )
    offsets, mentions = take_rows(study.code_offsets, study.block_offsets[:-1])
    ranking = row_of_each(offsets)
    keys = study.panel.case_of_opinion[ranking] * n_conditions + study.codes[mentions]
    shares = np.array([table.get(key, 0.0) for key in keys.tolist()])
    return weighted_counts(ranking, shares / np.diff(offsets)[ranking], len(offsets) - 1)


def leaking_models(study: Study, models: Mapping[str, Predictions]) -> dict[str, str]:
    """Name the models that have seen the answers, and say by what that is known."""
    said = study.counted
    matches = {
        name: first_matches(said, model.align(said.case_names, said.conditions)) for name, model in models.items()
    }
    copied = {
        name: f"it says what annotator {who!r} said on every case"
        for name, who in copied_annotators(said, matches).items()
    }
    return {**seen_answers(said, matches), **copied}


def seen_answers(said: Study, matches: Mapping[str, FloatArray]) -> dict[str, str]:
    """Name the models that agree with annotators more than anybody could who had not seen their answers.

    Whoever knows the plausibilities theta of a case, but not the answers, names the most plausible condition, and
    agrees with a share max theta of the annotators. Two annotators agree with probability sum theta^2, and the mean of
    max theta over cases is at most the square root of the mean of sum theta^2.

    Parameters
    ----------
    said
        The opinions that count.
    matches
        What :func:`first_matches` finds, by model.
    """
    totals, agreed = pair_agreement(said)
    several = totals > 1
    if several.sum() < LEAST_CASES:
        return {}
    pairs = agreed[several]
    most = float(np.sqrt(pairs.mean()))
    found = {}
    for name, shares in matches.items():
        own = weighted_counts(said.panel.case_of_opinion, shares * said.votes, said.n_cases)[several] / totals[several]
        gaps = own - pairs / (2 * max(most, SAME))
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        if own.mean() - most > SURE * error:
            found[name] = (
                f"it agrees with {own.mean():.2f} of the annotators, and nobody could with more than {most:.2f} "
                "without having seen their answers"
            )
    return found


def pair_agreement(study: Study) -> tuple[FloatArray, FloatArray]:
    """Return the annotators of each case, and the share of pairs of them who name the same first; both (n_cases,)."""
    offsets, mentions = take_rows(study.code_offsets, study.block_offsets[:-1])
    ranking, codes = row_of_each(offsets), study.codes[mentions]
    share = (1.0 / np.diff(offsets))[ranking]
    case, weights = study.panel.case_of_opinion[ranking], study.votes[ranking] * share
    keys, place = np.unique(case * study.n_conditions + codes, return_inverse=True)
    squares = np.square(weighted_counts(place, weights, len(keys)))
    alike = weighted_counts(keys // study.n_conditions, squares, study.n_cases)
    alone = weighted_counts(case, weights * share, study.n_cases)
    totals = weighted_counts(study.panel.case_of_opinion, study.votes.astype(np.float64), study.n_cases)
    return totals, (alike - alone) / np.maximum(totals * (totals - 1), 1.0)


def copied_annotators(said: Study, matches: Mapping[str, FloatArray]) -> dict[str, str]:
    """Name the models that say first what an annotator said first on all cases of that annotator, and the annotator.

    An annotator whom the others repeat as well says nothing special, and is not looked at. Parameters are those of
    :func:`seen_answers`.
    """
    n_annotators = len(said.annotator_names)
    named = said.annotators != ANONYMOUS
    sizes = np.bincount(said.annotators[named], minlength=n_annotators)
    found = {}
    for name, shares in matches.items():
        own = weighted_counts(said.annotators[named], shares[named], n_annotators)
        others = (shares[named].sum() - own) / np.maximum(named.sum() - sizes, 1)
        is_copied = (sizes >= LEAST_CASES) & (own >= SAME * sizes) & (others < SAME)
        if is_copied.any():
            found[name] = said.annotator_names[int(np.flatnonzero(is_copied)[0])]
    return found
