from .annotator_bootstrap import AnnotatorBootstrap as AnnotatorBootstrap
from .case_prior import CasePrior as CasePrior
from .case_prior import informed_prior as informed_prior
from .dawid_skene import DawidSkene as DawidSkene
from .diagnostics import Diagnostics as Diagnostics
from .diagnostics import sampling_diagnostics as sampling_diagnostics
from .diagnostics import to_xarray as to_xarray
from .dirichlet import Dirichlet as Dirichlet
from .given_draws import GivenDraws as GivenDraws
from .normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
from .normal_inverse_gamma import NormalInverseGammaPrior as NormalInverseGammaPrior
from .ordered_probit import OrderedProbit as OrderedProbit
from .plackett_luce import PlackettLuce as PlackettLuce
from .plackett_luce import plackett_luce_log_likelihood as plackett_luce_log_likelihood
from .point_estimates import InverseRank as InverseRank
from .point_estimates import MajorityVote as MajorityVote
from .point_estimates import MeanRating as MeanRating
from .point_estimates import MedianRating as MedianRating
from .point_estimates import PlackettLuceML as PlackettLuceML
from .probabilistic_inverse_rank import ProbabilisticInverseRank as ProbabilisticInverseRank
from .rating_regression import RatingPrior as RatingPrior
from .rating_regression import annotator_shifts as annotator_shifts
from .rating_regression import rating_prior as rating_prior

__all__: list[str]
