"""Evaluate studies larger than memory: split by case, look at every shard twice, and put the sums together."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.learned import Lessons, cannot_be_split, taught
from dissensus.aggregation.prior_recipe import PriorRecipe, Request, fitted_recipe, with_refits
from dissensus.core.aliases import Path
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError, listing
from dissensus.core.exact import Exact
from dissensus.core.files import open_source
from dissensus.draws import Plausibilities
from dissensus.evaluation.annotators import AnnotatorsAre, Design
from dissensus.evaluation.basis import merged
from dissensus.evaluation.calibration import Calibration, calibrate
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.evaluator import (
    TOPS,
    check_request,
    chosen_aggregations,
    chosen_metrics,
    design_of,
    left_out,
    panel_reason,
    points_for,
    shared_spread,
    with_panel,
)
from dissensus.evaluation.plan import Evaluated, Plan, common_conditions, depth_of
from dissensus.evaluation.results import Evaluation, PriorRecord, Shared, present_versions
from dissensus.evaluation.store import write_files
from dissensus.evaluation.tally import Tally
from dissensus.evaluation.whole import Whole
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.shards.buckets import Buckets, Shard, bucketed
from dissensus.shards.contents import Reading
from dissensus.shards.directory import Manifest, RunDirectory
from dissensus.shards.examination import Examined, Sampled, examine_shard, examined_from, settings_of
from dissensus.shards.shard_content import ShardContent, read_shard
from dissensus.shards.shard_evaluation import Settings, evaluate_shard, sum_shard
from dissensus.shards.sums import CLASSES, Named, ShardSums, squares_of
from dissensus.shards.tables import Tables
from dissensus.shards.work import Task, Work, workers_of

SHARD_CASES = 10_000
"""How many cases a shard has, about, unless it is said."""

SHOWN_CASES = 2000
"""How many cases are held by the result, to be looked at one by one."""

OUTPUTS = {
    "per_case": "per_case/part-{}.parquet",
    "certainty": "certainty/part-{}.parquet",
    "excluded": "shards/excluded-{}.bundle",
    "sums": "shards/sums-{}.bundle",
    "groups": "shards/groups-{}.bundle",
}
"""Files of a finished shard, by kind."""

Progress: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows how far something is that has so many steps."""
