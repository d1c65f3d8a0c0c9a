"""Plackett-Luce: likelihood and posterior of partial rankings with ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregations.base import REST_STREAM, Aggregation, check_warmup, plausibilities_of, stream_keys_of
from dissensus.aggregations.case_prior import ShapedAggregation
from dissensus.aggregations.point_estimates import PlackettLuceML, kernel_rankings
from dissensus.aggregations.priors import Shapes, alpha_words
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count, checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.builders import as_numbers
from dissensus.study.opinions import Opinions, check_several_conditions
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dissensus.kernels.race_sampler import Posterior, Tempered

WHOM = {
    "observed": "the mentioned conditions and one for all others",
    "symmetric": "all conditions",
    "frequency": "all conditions together, divided by how often other cases mention them",
    "informed": "conditions by what the models say about the case",
}

# How often the opinions of a case may count, all together: sums of ties are 64-bit whole numbers.
MOST_COUNTED = 4e18

# Up to this power of a tempered race no rate of a plausible condition is too small beside the largest for a float.
MOST_POWER = 100.0


@dataclass(frozen=True)
class PlackettLuce(ShapedAggregation):
    """Posterior of the Plackett-Luce model, drawn by an exact Gibbs sampler on the mentioned conditions and one rest.

    Annotators draw conditions without replacement in proportion to their plausibilities; a tie stands for all orders
    within it.

    Parameters
    ----------
    reliability
        How often each ranking counts; any positive number, whole or not. Weights of rankings multiply it. With
        ``tempered``, the power of the weights in a race, up to 100; rankings count as often as their weights say.
    alpha
        Shape of the gamma prior; positive. ``"fitted"``: what makes the first choices of the study most likely
        (empirical Bayes). By default fitted, and 1 under the prior ``"observed"``, where it cannot be.
    prior
        ``"observed"``: every mentioned condition has shape ``alpha``, and all others together have shape ``alpha``,
        split among them uniformly. ``"symmetric"``: every condition has shape ``alpha`` (choose about 1 / K).
        ``"frequency"``: all conditions together have shape ``alpha``, each in proportion to the number of other cases
        that mention it, plus a half. ``"informed"``: what the models say about each case, as far as it predicts first
        choices; inside :func:`evaluate`, or given as what :func:`informed_prior` returns. By default ``"frequency"``,
        and ``"observed"`` if tempered.
    chains, warmup
        The draws come from several chains, each after some sweeps that are thrown away. Cases whose posterior is a
        Dirichlet distribution need neither and have independent draws.
    tempered
        Whether annotators race at the plausibilities to the power of the reliability, instead of each ranking
        counting as often as the reliability says. Needs the prior ``"observed"``.

    Notes
    -----
    With ``unranked="below"`` a condition that is not mentioned lost against all that are, so it competes in every
    race; with ``"unobserved"`` only the mentioned conditions of a ranking compete, so an annotator who names a single
    condition says nothing, and unmentioned conditions keep their prior.

    Tempered annotators know the plausibilities and follow them more closely the more reliable they are. With growing
    reliability this tends to no single answer: conditions that annotators put in one order only keep that order, with
    plausibilities as the prior has them, and the plausibilities of conditions on which they contradict each other
    become equal, while which of them is largest stays open.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]], [["a"]], [["b", "c"]]]], ["a", "b", "c", "d"])
    >>> theta = PlackettLuce(reliability=3).sample(said, draws=4000).mean()
    >>> theta.argmax(), theta.sum().round(6)
    (np.int64(0), np.float64(1.0))
    >>> PlackettLuce(reliability=3, tempered=True).sample(said, draws=4000).mean().argmax()
    np.int64(0)
    """

    id = "plackett-luce"
    meaning = (
        "Reads a ranking as the order in which conditions arrive in a race; more plausible ones arrive earlier. Ties "
        "and conditions that were not mentioned are part of the model."
    )

    priors, unit_priors = tuple(WHOM), ("observed",)

    chains: int = 4
    warmup: int = 100
    tempered: bool = False

    def __post_init__(self) -> None:
        if self.prior is None:
            object.__setattr__(self, "prior", "observed" if self.tempered is True else "frequency")
        super().__post_init__()
        check_count(chains=self.chains)
        check_warmup(self.warmup)
        if not isinstance(self.tempered, bool):
            raise DissensusError("tempered must be true or false", got=repr(self.tempered))
        if self.tempered and self.prior != "observed":
            raise DissensusError(
                "a tempered race needs the prior 'observed': only there all unmentioned conditions are one runner, "
                "whose plausibility can be raised to a power",
                expected="prior='observed', or left out",
                got=repr(self.prior),
            )
        if self.tempered and self.reliability > MOST_POWER:
            raise DissensusError(
                f"a tempered race takes a reliability up to {MOST_POWER:g}",
                got=f"{self.reliability:g}",
                advice="use a smaller one: the posterior hardly changes with so large a power",
            )

    @property
    def plain_name(self) -> str:
        """What sentences call it."""
        return "tempered plackett luce" if self.tempered else super().plain_name

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        shape = f"Gamma prior of shape {alpha_words(self.alpha)} on {WHOM[str(self.prior)]}"
        if self.prior == "informed":
            shape = "prior informed by the models"
        kind = "tempered Plackett-Luce model" if self.tempered else "Plackett-Luce model"
        return f"a Bayesian {kind} of partial rankings with ties ({shape})"

    @property
    def limit(self) -> Aggregation | None:
        """The maximum likelihood of the same model; none if tempered, see the notes."""
        return None if self.tempered else PlackettLuceML()

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        chains = min(self.chains, draws)
        opinions, prior, fitted = self._shaped(opinions)
        keys = stream_keys_of(opinions, seed, chains=chains)
        chain_keys = np.ascontiguousarray(keys[:, REST_STREAM + 1 :])
        posterior = self._posterior(opinions, prior)
        fill = partial(chained_draws, opinions.support_sizes + 1, posterior, chain_keys, draws, self.warmup)
        rest = prior.split, keys[:, REST_STREAM], prior.sums
        return plausibilities_of(opinions, fill, draws=draws, chains=chains, rest=rest, fitted=fitted)

    def _posterior(self, opinions: Opinions, prior: Shapes) -> Posterior | Tempered:
        from dissensus.kernels.race_sampler import plackett_luce_posterior, tempered_posterior
        from dissensus.kernels.races import group_rankings

        multiplicities = opinions.weights if self.tempered else self.reliability * opinions.weights
        of_case = weighted_counts(opinions.case_of_ranking, multiplicities, opinions.n_cases)
        if of_case.max() > MOST_COUNTED:
            raise DissensusError(
                "the opinions of a case count for more than can be drawn from",
                expected=f"reliability x weight x votes of a case up to {MOST_COUNTED:g}",
                got=f"{of_case.max():.3g}",
                where=f"case {opinions.case_names[int(of_case.argmax())]!r}",
                advice="use a smaller reliability, or PlackettLuceML, which is what so much trust comes to",
            )
        rankings = kernel_rankings(opinions, multiplicities)
        races = group_rankings(rankings, below=opinions.unranked == "below")
        shapes = np.insert(prior.mentioned, opinions.support_offsets[1:], prior.rest)
        if self.tempered:
            return tempered_posterior(races, shapes, self.reliability)
        return plackett_luce_posterior(races, shapes)


def chained_draws(
    sizes: IntArray, posterior: Posterior | Tempered, keys: KeyArray, draws: int, warmup: int, cases: IntArray
) -> tuple[FloatArray, None, None]:
    """Run the chains of some cases.

    ``sizes`` are the numbers of conditions of each case and its rest, ``keys`` has one column per chain.
    """
    from dissensus.kernels.race_sampler import sample_plackett_luce

    chains, columns = keys.shape[1], sizes[cases]
    sampled = -(-draws // chains)
    values = np.empty(chains * sampled * int(columns.sum()))
    sample_plackett_luce(posterior, keys, cases, chains, warmup, values)
    spare = chains * sampled - draws
    if not spare:
        return values, None, None
    # The last sweep of the later chains is dropped, so that the draws are as many as asked for.
    kept = np.arange(chains * sampled).reshape(chains, sampled)
    rows = np.concatenate([kept[: chains - spare].ravel(), kept[chains - spare :, :-1].ravel()])
    bounds = np.append(0, np.cumsum(columns)) * chains * sampled
    parts = [values[start:stop].reshape(chains * sampled, -1)[rows].ravel() for start, stop in pairwise(bounds)]
    return np.concatenate(parts), None, None


@checked
def plackett_luce_log_likelihood(annotations: Study, weights: ArrayLike) -> FloatArray:
    """Return the exact log-probability of the rankings of each case under the Plackett-Luce model.

    Parameters
    ----------
    annotations
        The rankings; a tie stands for all orders within it, and ``unranked`` says who competes. Weights of rankings
        multiply their log-probabilities.
    weights : (K,) or (n_cases, K)
        Positive weights of the conditions on any scale, for example plausibilities.

    Returns
    -------
    (n_cases,)
        Log-probabilities; 0 for a case without rankings.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    >>> np.exp(plackett_luce_log_likelihood(said, [3.0, 2.0, 1.0])).round(6)
    array([0.333333])
    """
    from dissensus.kernels.likelihood import LATTICE_MOST, Offsets, log_likelihood

    check_several_conditions(require_kind(annotations, "rankings", "the likelihood"))
    given = np.ascontiguousarray(as_numbers("weights", weights))
    shapes = ((annotations.n_conditions,), (annotations.n_cases, annotations.n_conditions))
    is_right = (given > 0) & np.isfinite(given)
    if given.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise DissensusError("the weights have the wrong shape", expected=expected, got=str(given.shape))
    if not is_right.all():
        raise DissensusError("weights must be positive and finite", got=str(given[~is_right][0]))
    return log_likelihood(
        Offsets(annotations.ranking_offsets, annotations.block_offsets, annotations.code_offsets),
        annotations.codes,
        annotations.weights * annotations.votes,
        np.atleast_2d(given),
        int(annotations.unranked == "below"),
        LATTICE_MOST,
    )
