"""Is the sample good enough? Convergence and Monte Carlo error of every case, over several chains."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray
from dissensus.core.checks import checked
from dissensus.core.errors import MissingExtraError, listing
from dissensus.draws import Batch, Plausibilities

if TYPE_CHECKING:
    import polars as pl

# R-hat up to the first is good, above the second bad; between them, it may be what chance does to short chains.
RHAT_LIMIT, RHAT_MOST = 1.01, 1.1
ESS_LIMIT = 100

# In how many studies whose chains have converged R-hat of any case may be taken for more than chance.
FALSE_ALARMS = 0.05

# Convergence is judged by conditions whose mean plausibility is above this: others decide nothing that is reported.
NOTICEABLE = 0.01

# Draws per chain below which convergence cannot be judged.
SHORTEST = 4


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Hold the diagnostics of every case.

    Attributes
    ----------
    case_names
        The cases.
    n_draws
        Draws per case.
    rhat, ess, mcse : (n_cases,)
        Plausibilities: the largest split R-hat, the smallest bulk effective sample size and the largest Monte Carlo
        standard error of the mean among the mentioned conditions and the rest of each case; the first two among those
        whose mean plausibility is above 1 %.
    certainty : (n_cases,)
        Share of draws in which the most frequent top-1 condition is on top.
    top_rhat, top_ess, certainty_mcse : (n_cases,)
        The same diagnostics of the indicator that this condition is on top.
    n_chains
        Chains that the draws come from.

    Examples
    --------
    >>> from dissensus import simulate
    >>> from dissensus.aggregations import Dirichlet
    >>> found = sampling_diagnostics(Dirichlet().sample(simulate.study(n_cases=5).annotations, draws=1000))
    >>> found.has_not_converged, found.has_few_draws
    (array([False, False, False, False, False]), array([False, False, False, False, False]))
    """

    case_names: tuple[str, ...]
    n_draws: int
    rhat: FloatArray
    ess: FloatArray
    mcse: FloatArray
    certainty: FloatArray
    top_rhat: FloatArray
    top_ess: FloatArray
    certainty_mcse: FloatArray
    n_chains: int = field(default=4, kw_only=True)

    def rhat_limits(self, ess: FloatArray) -> FloatArray:
        """Return R-hats that are too large for chains with these effective sample sizes, from 1.01 to 1.1.

        The means of m halves of chains that have converged vary by chance, and R-hat squared minus one is then about
        m / ess times chi-squared / (m - 1): over all cases, the limit is exceeded in 5 % of studies.

        Examples
        --------
        >>> from dissensus import simulate
        >>> from dissensus.aggregations import Dirichlet
        >>> found = sampling_diagnostics(Dirichlet().sample(simulate.study(n_cases=5).annotations, draws=1000))
        >>> found.rhat_limits(np.array([10.0, 1000.0, 1e6])).round(3)
        array([1.1 , 1.01, 1.01])
        """
        from scipy.special import chdtri

        halves, tests = 2 * self.n_chains, 2 * max(1, len(self.case_names))
        by_chance = chdtri(halves - 1, FALSE_ALARMS / tests) / (halves - 1)
        return np.clip(np.sqrt(1 + by_chance * halves / ess), RHAT_LIMIT, RHAT_MOST)

    @property
    def has_not_converged(self) -> BoolArray:
        """Whether R-hat of any quantity of each case is larger than chance makes it, shape (n_cases,)."""
        return (self.rhat > self.rhat_limits(self.ess)) | (self.top_rhat > self.rhat_limits(self.top_ess))

    @property
    def has_few_draws(self) -> BoolArray:
        """Whether any effective sample size of each case is below 100, shape (n_cases,)."""
        return np.fmin(self.ess, self.top_ess) < ESS_LIMIT

    def warnings(self) -> list[str]:
        """Name the cases that need more draws, in at most two sentences.

        Examples
        --------
        >>> from dissensus import simulate
        >>> from dissensus.aggregations import Dirichlet
        >>> said = simulate.study(n_cases=2).annotations
        >>> sampling_diagnostics(Dirichlet().sample(said, draws=50)).warnings()[-1]
        "2 of 2 cases have an effective sample size below 100; raise draws: 'case 1', 'case 2'"
        """
        found = (
            (self.has_not_converged, f"R-hat above {RHAT_LIMIT} by more than chance", "raise warmup or draws"),
            (self.has_few_draws, f"an effective sample size below {ESS_LIMIT}", "raise draws"),
        )
        named = ((list(compress(self.case_names, mask)), what, advice) for mask, what, advice in found if mask.any())
        of_all = f"of {len(self.case_names)} cases have"
        return [f"{len(cases)} {of_all} {what}; {advice}: {listing(cases)}" for cases, what, advice in named]

    def to_frame(self) -> pl.DataFrame:
        """Return a row per case.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> said = Study.from_counts([[3, 1]], ["a", "b"], case_names=["x"])
        >>> sampling_diagnostics(MajorityVote().sample(said)).to_frame().select("case", "certainty", "ess").rows()
        [('x', 1.0, 1.0)]
        """
        import polars as pl

        numbers = ("rhat", "ess", "mcse", "certainty", "top_rhat", "top_ess", "certainty_mcse")
        return pl.DataFrame({"case": self.case_names, **{name: getattr(self, name) for name in numbers}})

    def __repr__(self) -> str:
        lines = [
            f"Diagnostics: {len(self.case_names)} cases, {self.n_draws} draws",
            f"  R-hat                 median {np.median(self.rhat):.3f}, worst {self.rhat.max():.3f}",
            f"  effective sample size median {np.median(self.ess):.0f}, worst {self.ess.min():.0f}",
            f"  of the top-1 share    median {np.median(self.top_ess):.0f}, worst {self.top_ess.min():.0f}",
            f"  Monte Carlo error of the top-1 certainty: worst {self.certainty_mcse.max():.4f}",
        ]
        return "\n".join([*lines, *(f"  ! {warning}" for warning in self.warnings())])


@checked
def sampling_diagnostics(plausibilities: Plausibilities) -> Diagnostics:
    """Draw once more and judge the draws: split R-hat, bulk ESS and Monte Carlo error of every case.

    Definitions follow [vehtari]. A quantity that never changes has R-hat 1 and as many effective draws as draws.

    Examples
    --------
    >>> from dissensus import simulate
    >>> from dissensus.aggregations import PlackettLuce
    >>> draws = PlackettLuce().sample(simulate.study(n_cases=5).annotations, draws=2000)
    >>> bool((sampling_diagnostics(draws).certainty_mcse < 0.05).all())
    True
    """
    parts = list(plausibilities.map(_judged))
    columns: Any = [np.concatenate(column) for column in zip(*parts, strict=True)]
    found = Diagnostics(plausibilities.case_names, plausibilities.n_draws, *columns)
    return replace(found, n_chains=plausibilities.n_chains)


def chained(draws: FloatArray, n_chains: int) -> FloatArray:
    """Cut draws (n_draws, ...) into chains of equal length, (n_chains, length, ...).

    The first chains have a draw more when the draws do not divide evenly; it is left out here.
    """
    length, longer = divmod(len(draws), n_chains)
    starts = np.arange(n_chains) * length + np.minimum(np.arange(n_chains), longer)
    return np.asarray(draws[starts[:, None] + np.arange(length)])


def _judged(batch: Batch) -> tuple[FloatArray, ...]:
    """Return rhat, ess, mcse, certainty, top_rhat, top_ess and certainty_mcse of the cases of a batch."""
    from dissensus.kernels.orders import place_marks, place_shares

    columns, layout, orders = batch.columns[:-1], batch.layout(), batch.first_orders()
    shares = np.split(place_shares(layout, orders, 1), columns[1:])
    winners = np.array([share.argmax() for share in shares], dtype=np.int64)
    marks = place_marks(layout, orders, winners, 1)
    plausible = [batch.of_case(case).T for case in range(batch.n_cases)]
    rhat, ess, mcse = _judged_series(np.concatenate([*plausible, marks]), batch.n_chains)
    size = len(rhat) - batch.n_cases
    means = batch.means()  # those too small to matter are not judged; the greatest of a case always is
    most = np.maximum.reduceat(means, columns)
    is_small = means < np.repeat(np.minimum(most, NOTICEABLE), np.diff(batch.columns))
    return (
        np.fmax.reduceat(np.where(is_small, np.nan, rhat[:size]), columns),
        np.fmin.reduceat(np.where(is_small, np.nan, ess[0, :size]), columns),
        np.maximum.reduceat(mcse[:size], columns),
        np.array([share.max() for share in shares]),
        rhat[size:],
        ess[1, size:],
        mcse[size:],
    )


def _judged_series(series: FloatArray, n_chains: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R-hat, effective sample sizes (bulk and of the mean) and standard error of series (n, draws)."""
    from dissensus.kernels.chains import diagnose

    draws = np.moveaxis(chained(series.T, n_chains), 2, 0)
    if draws.shape[2] < SHORTEST:
        few = np.full(len(series), float(series.shape[1]))
        return np.full(len(series), np.nan), np.stack([few, few]), series.std(axis=1) / np.sqrt(series.shape[1])
    found = diagnose(np.ascontiguousarray(draws))
    return found.r_hat, np.stack([found.bulk_ess, found.mean_ess]), found.standard_error


def standard_errors_of_means(series: FloatArray, n_chains: int) -> FloatArray:
    """Return the Monte Carlo standard error of the mean of each series (n, n_draws)."""
    return _judged_series(series, n_chains)[2] if len(series) else np.empty(0)


@checked
def to_xarray(plausibilities: Plausibilities) -> Any:
    """Export the draws to an xarray data set with dimensions chain, draw, case and condition, as ArviZ expects.

    The array is dense: mind the memory, or select some cases first. Needs the extra ``arviz``.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import PlackettLuce
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"], case_names=["x"])
    >>> exported = to_xarray(PlackettLuce(alpha=1.0, chains=4).sample(said, draws=400))
    >>> dict(exported.sizes)
    {'chain': 4, 'draw': 100, 'case': 1, 'condition': 3}
    >>> Plausibilities.from_draws(exported["plausibility"])
    Plausibilities: 1 cases, 400 draws in 4 chains, 3 conditions
    """
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError(
            "exporting to xarray needs a package that is not installed",
            expected="xarray",
            advice="pip install 'dissensus[arviz]'",
        ) from error
    chains = chained(np.moveaxis(plausibilities.dense(), 1, 0), plausibilities.n_chains)
    return xarray.Dataset(
        {"plausibility": (("chain", "draw", "case", "condition"), chains)},
        coords={"case": list(plausibilities.case_names), "condition": list(plausibilities.conditions)},
    )
