from .coefficients import AgreementMeasure as AgreementMeasure
from .coefficients import Alpha as Alpha
from .coefficients import agreement_measures as agreement_measures
from .coefficients import cohen_kappa as cohen_kappa
from .coefficients import krippendorff_alpha as krippendorff_alpha
from .coefficients import mean_average_overlap as mean_average_overlap
from .peers import Agreement as Agreement
from .peers import annotator_agreement as annotator_agreement
from .peers import annotator_confusion as annotator_confusion
from .peers import annotator_gradings as annotator_gradings
from .peers import annotator_quality as annotator_quality
from .peers import pairwise_agreement as pairwise_agreement

__all__: list[str]
