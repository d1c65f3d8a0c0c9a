"""Any function of scores and plausibilities becomes a metric with its uncertainty.

Here: the plausibility that a model misses, of everything outside its first three conditions.
Run: python examples/own_metric.py
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.metrics import UserMetric

DATA = Path(__file__).parent / "data"
Array = npt.NDArray[np.float64]


def missed(scores: Array, plausibilities: Array) -> Array:
    """Take scores (n, K) and plausibilities (n, draws, K); return the mass outside the first three, (n, draws)."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    found: Array = np.take_along_axis(plausibilities, first[:, None, :], axis=2).sum(axis=2)
    return 1.0 - found


opinions = ds.read(DATA / "opinions.csv")
models = ds.read_models(
    [f"Aster={DATA / 'aster.csv'}", f"Birch={DATA / 'birch.csv'}"],
    conditions=opinions.conditions,
    cases=opinions.case_names,
)
metric = UserMetric("missed plausibility", missed, higher_is_better=False)
result = ds.evaluate(opinions, models, aggregations=[PlackettLuce(reliability=1)], metrics=[metric], draws=500, seed=1)
for row in result.to_frame().iter_rows(named=True):
    interval = f"[{row['low']:.3f}, {row['high']:.3f}]"
    print(f"{row['model']:<8}{row['estimand']:<10}{row['metric']:<22}{row['mean']:.3f}  {interval}")
