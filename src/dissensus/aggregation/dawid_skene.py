"""Bayesian Dawid-Skene: annotators who differ, learned from how they agree with each other over the whole study."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dissensus.aggregation._confusions import FREQUENCY_SHAPE, Chains
from dissensus.aggregation.base import REST_STREAM, Aggregation, batch_of, plausibilities_of, stream_keys_of
from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.arguments import is_list
from dissensus.core.checks import check_choice, check_count, check_most, check_positive
from dissensus.core.errors import DissensusError, DissensusWarning, listing, suggestion
from dissensus.core.ragged import row_of_each, take_rows
from dissensus.draws import Batch, Plausibilities
from dissensus.study.opinions import Opinions

FEW_CONDITIONS = 12
"""Up to this number every condition of every case has a plausibility of its own, mentioned or not."""


@dataclass(frozen=True)
class DawidSkene(Aggregation):
    """Posterior of single labels, given annotators whose confusions are learned from the whole study.

    Every case has one true condition, and every annotator names condition l on a case of true condition k with a
    probability of their own. The rows of these confusions are drawn towards those of all annotators together, the more
    the more alike annotators are, which is learned too.

    Parameters
    ----------
    reliability
        How often each opinion counts when a case is judged; any positive number, below 1 where annotators tend to make
        the same mistakes. What annotators are like is learned with every opinion counting once, times its weight.
    target
        What is drawn. ``"truth"``: the probability of each condition to be the true one, given one draw of the
        confusions and of the frequencies of conditions. ``"votes"``: the shares of votes that a large panel of these
        annotators would give; given the true condition k they are Dirichlet(c r_k + reliability * votes), where r_k
        is the average row of annotators and c, learned as well, says how much cases of one condition differ.
    gold
        The true condition of cases where it is known, by name of the case: ``{"case 7": "Eczema"}``. Names of cases
        that are not in the study are passed over.
    chains, warmup
        The draws come from several chains, each after some sweeps that are thrown away.

    Notes
    -----
    Draws of a case depend on all other cases. Only first blocks count, and a tied block shares its vote: two tied
    conditions are half a vote each, as powers of their probabilities. Weights of opinions are powers as well. Opinions
    of nobody in particular follow the pooled confusions. What is not mentioned gets no vote, whether it is below or
    unobserved. Up to 12 conditions all have plausibilities of their own; of more, those that nobody mentioned on a case
    share the exact sum of their probabilities, split among them by how frequent they are in the study.

    Draws of the truth say how certain it is, not how annotators are going to vote: where they err, the truth is more
    certain than their shares. The cost of a sweep is in proportion to conditions times the sum over annotators of the
    different conditions that each has named, plus conditions times opinions; the former may be ten million.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> said = Annotations.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 5 + [[[["b"]], [["b"]], [["a"]]]] * 5, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> DawidSkene().sample(said, draws=1000).mean()[[0, -1], 0] > 0.8
    array([ True, False])
    """

    id = "dawid-skene"
    meaning = (
        "Learns how each annotator errs from how they agree with the others, and weighs what they say by it; every "
        "case has one true condition."
    )
    given = ("gold",)

    reliability: float = 1.0
    target: Literal["truth", "votes"] = "truth"
    gold: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    chains: int = 4
    warmup: int = 300

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_choice("target", self.target, ("truth", "votes"))
        object.__setattr__(self, "gold", gold_pairs(self.gold))
        check_count(chains=self.chains)
        if isinstance(self.warmup, bool) or not isinstance(self.warmup, int) or self.warmup < 0:
            raise DissensusError("warmup must be a whole number, zero or more", got=repr(self.warmup))
        check_most("warmup", self.warmup)

    @property
    def plain_name(self) -> str:
        """What sentences call it."""
        return "Dawid-Skene"

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        known = f"; the true condition of {len(self.gold)} cases was given" if self.gold else ""
        what = "the true condition" if self.target == "truth" else "the shares of votes"
        return f"a Bayesian Dawid-Skene model of {what}, with partially pooled confusions of annotators{known}"

    @property
    def learns(self) -> bool:
        """Always: annotators are known by what they say on other cases."""
        return True

    @property
    def needs_whole(self) -> str:
        """Always: its chains run over the whole study."""
        return "its chains learn what annotators are like from all cases at once"

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        chains, truths = min(self.chains, draws), known_truths(opinions, dict(self.gold))
        judged, order = with_support(opinions, truths), np.argsort(opinions.keys, kind="stable")
        study = Chains.of(judged.take(order), truths[order])
        run = {"draws": draws, "chains": chains, "warmup": self.warmup, "seed": seed}
        record = study.of_cases(**run, power=self.reliability, of_votes=self.target == "votes")
        n_cases = opinions.n_cases + FREQUENCY_SHAPE * len(opinions.conditions)
        sums = np.append(0.0, np.cumsum(record.frequencies / draws * n_cases))
        columns = record.support_offsets + np.arange(opinions.n_cases + 1)
        keys = stream_keys_of(opinions, seed)
        sampler = ChainSampler(judged, np.argsort(order), columns, record.values, sums, keys, draws, chains)
        return plausibilities_of(judged, sampler, draws=draws, chains=chains, rest_sums=sums)


def gold_pairs(gold: Any) -> tuple[tuple[str, str], ...]:
    """Return names of cases and of their true conditions, in order; refuse what is not a mapping of names to names."""
    pairs: list[Any] = list(gold.items()) if isinstance(gold, Mapping) else list(gold) if is_list(gold) else [None]
    wrong = [pair for pair in pairs if not _is_pair(pair)]
    if wrong:
        raise DissensusError(
            "gold is not understood",
            expected='the name of the true condition by the name of the case, such as {"case 7": "Eczema"}',
            got=f"{gold if wrong[0] is None else wrong[0]!r:.60}",
        )
    names = [case for case, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise DissensusError("a case has two gold labels", where=f"case {twice!r}")
    return tuple(sorted((case, condition) for case, condition in pairs))


def _is_pair(pair: Any) -> bool:
    return is_list(pair) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def known_truths(opinions: Opinions, gold: Mapping[str, str]) -> IntArray:
    """Return the code of the true condition of each case, -1 where it is not known, shape (n_cases,)."""
    codes = {name: code for code, name in enumerate(opinions.conditions)}
    unknown = [name for name in gold.values() if name not in codes]
    if unknown:
        raise DissensusError(
            f"gold names a condition that the study does not have: {unknown[0]!r}",
            advice=suggestion(unknown[0], opinions.conditions) or "give the whole list of conditions",
        )
    truths = np.array([codes[gold[name]] if name in gold else -1 for name in opinions.case_names], dtype=np.int64)
    if gold and not (truths >= 0).any() and gold.keys().isdisjoint(opinions.excluded):
        warnings.warn(
            f"none of the cases with a gold label is in the study: {listing(gold)}", DissensusWarning, stacklevel=2
        )
    return truths


def with_support(opinions: Opinions, truths: IntArray) -> Opinions:
    """Add known true conditions to the supports of their cases, or all conditions to all where there are few."""
    n_conditions, known = len(opinions.conditions), np.flatnonzero(truths >= 0)
    own = row_of_each(opinions.support_offsets) * n_conditions + opinions.support
    more = known * n_conditions + truths[known]
    members = np.union1d(own, more if n_conditions > FEW_CONDITIONS else np.arange(opinions.n_cases * n_conditions))
    offsets = np.searchsorted(members, np.arange(opinions.n_cases + 1) * n_conditions)
    place = np.searchsorted(members, own) - offsets[own // n_conditions]
    local, support = place[opinions.member_of_mention], members % n_conditions
    return replace(opinions, local=local, support_offsets=offsets, support=support)


@dataclass(frozen=True, eq=False)
class ChainSampler:
    """Give the draws of cases that the chains of the whole study have kept.

    ``places`` says where the draws of each case are among ``values``, which begin at ``draws`` times ``columns``.
    """

    opinions: Opinions
    places: IntArray
    columns: IntArray
    values: FloatArray
    rest_sums: FloatArray
    keys: KeyArray
    draws: int
    chains: int

    def __call__(self, cases: IntArray) -> Batch:
        """Return the draws of the cases at these positions."""
        _, kept = take_rows(self.draws * self.columns, self.places[cases])
        return batch_of(
            self.opinions,
            cases,
            self.values[kept],
            draws=self.draws,
            chains=self.chains,
            rest_shapes=np.ones(self.opinions.n_cases),
            rest_keys=self.keys[:, REST_STREAM],
            rest_sums=self.rest_sums,
        )
