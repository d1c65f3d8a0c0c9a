from .annotator_models import DawidSkene as DawidSkene
from .annotator_models import OrderedProbit as OrderedProbit
from .base import GivenDraws as GivenDraws
from .case_prior import CasePrior as CasePrior
from .case_prior import informed_prior as informed_prior
from .diagnostics import Diagnostics as Diagnostics
from .diagnostics import sampling_diagnostics as sampling_diagnostics
from .diagnostics import to_xarray as to_xarray
from .dirichlet import Dirichlet as Dirichlet
from .dirichlet import ProbabilisticInverseRank as ProbabilisticInverseRank
from .normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
from .normal_inverse_gamma import NormalInverseGammaPrior as NormalInverseGammaPrior
from .normal_inverse_gamma import RatingPrior as RatingPrior
from .normal_inverse_gamma import annotator_shifts as annotator_shifts
from .normal_inverse_gamma import rating_prior as rating_prior
from .plackett_luce import PlackettLuce as PlackettLuce
from .plackett_luce import plackett_luce_log_likelihood as plackett_luce_log_likelihood
from .point_estimates import AnnotatorBootstrap as AnnotatorBootstrap
from .point_estimates import InverseRank as InverseRank
from .point_estimates import MajorityVote as MajorityVote
from .point_estimates import MeanRating as MeanRating
from .point_estimates import MedianRating as MedianRating
from .point_estimates import PlackettLuceML as PlackettLuceML

__all__: list[str]
