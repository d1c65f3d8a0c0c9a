"""Targets for training: the posterior mean of every case, and how much to rely on it.

Run: python examples/soft_labels.py
"""

from pathlib import Path

import numpy as np

import dissensus as ds
from dissensus.aggregations import MajorityVote, PlackettLuce
from dissensus.certainty import annotation_certainty

DATA = Path(__file__).parent / "data"

opinions = ds.read(DATA / "opinions.csv")
draws = PlackettLuce(reliability=1).sample(opinions, draws=1000, seed=1)

targets = draws.mean()  # (cases, conditions): rows sum to one
weights = annotation_certainty(draws).values  # (cases,)
majority = MajorityVote().sample(opinions).mean()

changed = (targets.argmax(axis=1) != majority.argmax(axis=1)).sum()
print(f"targets {targets.shape}, rows sum to {targets.sum(axis=1).mean():.3f}")
for name, labels in (("these targets", targets), ("a majority vote", majority)):
    print(f"the first condition has {labels.max(axis=1).mean():.2f} on average in {name}")
print(f"the first condition differs from the majority vote in {changed} of {len(targets)} cases")
print(f"weights from {weights.min():.2f} to {weights.max():.2f}")
np.savez_compressed("targets.npz", targets=targets, weights=weights, conditions=opinions.conditions)
print("wrote targets.npz")
