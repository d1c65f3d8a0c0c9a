from . import aggregations as aggregations
from . import agreement as agreement
from . import certainty as certainty
from . import metrics as metrics
from . import plugins as plugins
from . import simulate as simulate
from .certainty.categories import Categories as Categories
from .core.errors import DissensusError as DissensusError
from .core.errors import DissensusWarning as DissensusWarning
from .decisions.conformal import conformal as conformal
from .decisions.judges import judges as judges
from .decisions.planning import plan as plan
from .decisions.planning import relabel as relabel
from .draws import Plausibilities as Plausibilities
from .evaluation.calibration import Calibration as Calibration
from .evaluation.calibration import calibrate as calibrate
from .evaluation.evaluator import evaluate as evaluate
from .evaluation.evaluator import paper as paper
from .evaluation.evaluator import score as score
from .evaluation.expert_comparison.experts import Experts as Experts
from .evaluation.expert_comparison.experts import experts as experts
from .evaluation.expert_comparison.reader_studies import reader_study as reader_study
from .evaluation.protocol import Protocol as Protocol
from .evaluation.results import Evaluation as Evaluation
from .evaluation.store import load as load
from .pieces.evaluation import evaluate_files as evaluate_files
from .predictions.lists import Predictions as Predictions
from .predictions.reader import read_models as read_models
from .predictions.reader import read_predictions as read_predictions
from .report.page import write_report as write_report
from .study.canonical import write as write
from .study.diagnosis import diagnose as diagnose
from .study.reading import examine as examine
from .study.reading import read as read
from .study.study import Study as Study

__all__: list[str]
__version__: str
