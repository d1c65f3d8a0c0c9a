from .aggregations.base import Aggregation as Aggregation
from .aggregations.base import PointAggregation as PointAggregation
from .draws import Batch as Batch
from .draws import Sampler as Sampler
from .metrics.base import Drawn as Drawn
from .metrics.base import Metric as Metric
from .metrics.base import Predicted as Predicted
from .report.section import ReportSection as ReportSection
from .study.reading.format import Collection as Collection
from .study.reading.format import Format as Format

__all__: list[str]
