"""Agreement: how far annotators say the same, and how good each of them is."""

from dissensus.agreement.annotator_quality import annotator_confusion, annotator_gradings, annotator_quality
from dissensus.agreement.measures import AgreementMeasure, Alpha, agreement_measures, cohen_kappa, krippendorff_alpha
from dissensus.agreement.overlap import mean_average_overlap
from dissensus.agreement.peers import Agreement, annotator_agreement, pairwise_agreement

__all__ = [
    "Agreement",
    "AgreementMeasure",
    "Alpha",
    "agreement_measures",
    "annotator_agreement",
    "annotator_confusion",
    "annotator_gradings",
    "annotator_quality",
    "cohen_kappa",
    "krippendorff_alpha",
    "mean_average_overlap",
    "pairwise_agreement",
]
