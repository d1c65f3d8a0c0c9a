"""What a metric, an aggregation, a format or a section of the report of your own is built from."""

from dissensus.aggregations.base import Aggregation, PointAggregation
from dissensus.draws import Batch, Sampler
from dissensus.metrics.base import Drawn, Metric, Predicted
from dissensus.report.section import ReportSection
from dissensus.study.reading.format import Collection, Format

__all__ = [
    "Aggregation",
    "Batch",
    "Collection",
    "Drawn",
    "Format",
    "Metric",
    "PointAggregation",
    "Predicted",
    "ReportSection",
    "Sampler",
]
