"""Tempering: races at plausibilities to a power, which the paper leaves aside for repeating each ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dissensus.certainty.top_sets import Certainty, certainty_profile
from dissensus.core.arrays import CERTAIN, FloatArray
from dissensus.core.ragged import Average, clustered, row_of_each
from dissensus.evaluation.calibration import HeldOut, judged
from dissensus.study.study import Study
from paper.data.dermatology import Dermatology
from paper.reproduction.certainty_claims import uncertain_share
from paper.reproduction.printed_experiment import MEDIUM_PL, RACES
from paper.reproduction.rows import AtLeast, Row, Section, Settings, shaken_error

if TYPE_CHECKING:
    import polars as pl

    from dissensus.draws import Batch, Plausibilities

TITLE = "Tempering"
RELIABILITIES, MEDIUM = tuple(int(one.reliability) for one in RACES), int(MEDIUM_PL.reliability)
RULES = {"repetition": False, "tempering": True}
OWN_RULE = "tempering, own annotator"

SOME_CASES = 10
"""One case in so many has its annotators held out, and its largest plausibilities averaged."""

SAME = 0.5
"""How much of what repeating does to a mean tempering has to do, in the same direction, to have the same effect."""

WORDS = "qualitatively the same concentration effect"
ORDER = "both make the first places more certain; tempering less so where annotators contradict each other"
FLAT = (
    "reliable annotators tell apart plausibilities that are nearly equal, so tempering needs no large differences to "
    "explain a clear order: plausibilities become more equal where repeating makes them more unequal"
)
SCORED = "mean log-probability of the ranking of an annotator who was left out"
PLAIN = "under the plausibilities themselves, as for every other aggregation"
OWN = "under the plausibilities to the power of the reliability, as the tempered model sees annotators"

Run: TypeAlias = tuple[str, int]
"""A rule and a reliability."""


def tempered_section(data: Dermatology, settings: Settings) -> Section:
    """Compare what repeating rankings and tempering do to certainty, to plausibilities and to held-out annotators."""
    said = data.annotations
    some = said.select(said.case_names[::SOME_CASES])
    runs: list[Run] = [(rule, gamma) for rule in RULES for gamma in RELIABILITIES]
    certainties = {run: certainty_profile(_sampled(run, said, settings)) for run in runs}
    fewer = replace(settings, draws=settings.sweep_draws)
    largest = {run: largest_plausibility(_sampled(run, some, fewer)) for run in runs}
    scores = held_out_scores(some, fewer)
    rows = (
        _certainty_row(certainties, settings),
        _largest_row(largest, some.n_cases, settings),
        *(_mean_row(run, certainties[run], settings) for run in runs if run[1] == max(RELIABILITIES)),
        *(_share_row(run, certainties[run][0], settings) for run in runs if run[1] == max(RELIABILITIES)),
        *(_score_row(rule, scores, some.n_cases, settings) for rule in (*RULES, OWN_RULE)),
    )
    return Section(TITLE, rows, {"tempered": _frame(certainties, largest, scores)})


def _sampled(run: Run, said: Study, settings: Settings) -> Plausibilities:
    rule, gamma = run
    spec = replace(MEDIUM_PL, reliability=gamma, tempered=RULES[rule])
    draws = settings.draws if gamma == MEDIUM else settings.sweep_draws
    return spec.sample(said, draws=draws, seed=settings.seed, threads=settings.threads)


def largest_plausibility(drawn: Plausibilities) -> float:
    """Average the largest plausibility of a mentioned condition over draws and cases."""
    return float(np.concatenate(list(drawn.map(_largest))).mean())


def _largest(batch: Batch) -> FloatArray:
    return np.array([batch.of_case(case)[:, :-1].max(axis=1).mean() for case in range(batch.n_cases)])


# Held-out annotators --------------------------------------------------------------------------------------


def held_out_scores(said: Study, settings: Settings) -> dict[Run, Average]:
    """Score the rankings of annotators who were left out, by rule and reliability; tempering in two ways."""
    pairs = HeldOut.of(said, max_pairs=said.n_opinions, seed=settings.seed)
    found: dict[Run, FloatArray] = {}
    for gamma in RELIABILITIES:
        found["repetition", gamma], _ = _scores(pairs, ("repetition", gamma), settings)
        found["tempering", gamma], found[OWN_RULE, gamma] = _scores(pairs, ("tempering", gamma), settings)
    return {run: clustered(values, pairs.weights, pairs.clusters) for run, values in found.items()}


def _scores(pairs: HeldOut, run: Run, settings: Settings) -> tuple[FloatArray, FloatArray]:
    """Score every pair under the plausibilities, and under their powers; twice (n_pairs,)."""
    plain, powered = np.empty(pairs.n_pairs), np.empty(pairs.n_pairs)
    for number, fold in enumerate(pairs.folds):
        study = fold.left
        chosen = np.flatnonzero(pairs.rounds == number)
        names = [study.case_names[case] for case in pairs.cases[chosen]]
        said = dict(zip(names, pairs.opinions[chosen].tolist(), strict=True))
        drawn = _sampled(run, study, settings).select(names)
        scored = list(drawn.map(partial(_both, study=pairs.study, said=said, power=run[1])))
        plain[chosen], powered[chosen] = (np.concatenate(part) for part in zip(*scored, strict=True))
    return plain, powered


def _both(batch: Batch, study: Study, said: dict[str, int], power: float) -> tuple[FloatArray, FloatArray]:
    return judged(batch, study, said)[0], judged(to_power(batch, power), study, said)[0]


def to_power(batch: Batch, power: float) -> Batch:
    """Raise the plausibilities of mentioned conditions and of the rest to a power; they sum to one again."""
    sizes = np.repeat(batch.support_sizes + 1, len(batch.values) // int((batch.support_sizes + 1).sum()))
    row = row_of_each(np.append(0, np.cumsum(sizes)))
    highest = np.maximum.reduceat(batch.values, np.append(0, np.cumsum(sizes)[:-1]))
    raised = (batch.values / highest[row]) ** power
    return replace(batch, values=raised / np.bincount(row, raised)[row])


# Rows -----------------------------------------------------------------------------------------------------


def _told(settings: Settings) -> str:
    return f"PL, alpha 1, reliability 1 and {max(RELIABILITIES)}, {settings.sweep_draws} draws"


def ratio_of_rises(means: FloatArray) -> float:
    """Divide the second of two rises by the first: from and to by repetition, from and to by tempering, shape (4,)."""
    return float((means[3] - means[2]) / (means[1] - means[0]))


def _certainty_row(certainties: Mapping[Run, tuple[Certainty, ...]], settings: Settings) -> Row:
    ends = [certainties[rule, gamma][0] for rule in RULES for gamma in (1, max(RELIABILITIES))]
    means, errors = (np.array(part) for part in zip(*((one.mean, one.mean_error) for one in ends), strict=True))
    quantity = "rise of the mean top-1 certainty with reliability: tempering over repetition"
    error = shaken_error(ratio_of_rises, means, errors)
    return Row(TITLE, quantity, ratio_of_rises(means), error, _told(settings), AtLeast(SAME, WORDS), ORDER)


def _largest_row(largest: Mapping[Run, float], n_cases: int, settings: Settings) -> Row:
    means = np.array([largest[rule, gamma] for rule in RULES for gamma in (1, max(RELIABILITIES))])
    quantity = "rise of the mean largest plausibility with reliability: tempering over repetition"
    told = f"{_told(settings)}, {n_cases} cases"
    return Row(TITLE, quantity, ratio_of_rises(means), None, told, AtLeast(SAME, WORDS), FLAT)


def _mean_row(run: Run, profile: tuple[Certainty, ...], settings: Settings) -> Row:
    quantity = f"mean top-1 certainty at reliability {run[1]}, {run[0]}"
    return Row(TITLE, quantity, profile[0].mean, profile[0].mean_error, _told(settings), form=".3f")


def _share_row(run: Run, certainty: Certainty, settings: Settings) -> Row:
    quantity = f"share of cases with certainty below {CERTAIN} at reliability {run[1]}, {run[0]}"
    return Row(TITLE, quantity, *uncertain_share(certainty), _told(settings), form=".1%")


def _score_row(rule: str, scores: Mapping[Run, Average], n_cases: int, settings: Settings) -> Row:
    """Show the best score of a rule; its error is that of the cases."""
    best = max(RELIABILITIES, key=lambda gamma: scores[rule, gamma].mean)
    found, told = (
        scores[rule, best],
        f"best of reliability 1 to 10: {best}; {n_cases} cases, {settings.sweep_draws} draws",
    )
    reason = f"{OWN if rule == OWN_RULE else PLAIN}; the error is that of the cases"
    return Row(TITLE, f"{SCORED}, {rule}", found.mean, found.error, told, None, reason, form=".3f")


def _frame(
    certainties: Mapping[Run, tuple[Certainty, ...]], largest: Mapping[Run, float], scores: Mapping[Run, Average]
) -> pl.DataFrame:
    """Return one row per rule, reliability and number of first places."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                "rule": run[0],
                "reliability": float(run[1]),
                "top": one.top,
                "certainty": one.mean,
                "certainty_error": one.mean_error,
                "uncertain_share": one.share_below(),
                "largest_plausibility": largest[run],
                "held_out_score": scores[run].mean,
                "held_out_error": scores[run].error,
                "own_score": scores[OWN_RULE, run[1]].mean if RULES[run[0]] else None,
            }
            for run, profile in certainties.items()
            for one in profile
        ]
    )


COLUMNS = (
    "rule",
    "reliability",
    "top-1",
    "top-2",
    "top-3",
    f"below {CERTAIN}",
    "largest plausibility",
    "held-out score",
    "own score",
)


def tempering_table(frame: pl.DataFrame) -> str:
    """Write the frame of the section as a table in Markdown.

    Examples
    --------
    >>> import polars as pl
    >>> names = ["certainty", "uncertain_share", "largest_plausibility", "held_out_score", "own_score"]
    >>> rows = [{"rule": "tempering", "reliability": 2.0, "top": top, **dict.fromkeys(names, 0.5)} for top in (1, 2, 3)]
    >>> print(tempering_table(pl.DataFrame(rows)).splitlines()[-1])
    | tempering | 2 | 0.500 | 0.500 | 0.500 | 50.0 % | 0.500 | 0.500 | 0.500 |
    """
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for first, second, third in zip(*([iter(frame.to_dicts())] * 3), strict=True):
        share = f"{100 * first['uncertain_share']:.1f} %"
        certain = (f"{one['certainty']:.3f}" for one in (first, second, third))
        ends = [first[name] for name in ("largest_plausibility", "held_out_score", "own_score")]
        told = ("-" if value is None else f"{value:.3f}" for value in ends)
        lines.append((first["rule"], f"{first['reliability']:g}", *certain, share, *told))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
