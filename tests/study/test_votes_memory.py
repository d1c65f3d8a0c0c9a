"""Votes are counted: how many there are makes no difference to memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource")

MOST_MEGABYTES = 500

SCRIPT = """
import resource, sys
import numpy as np
import dissensus as ds
from dissensus.aggregations import AnnotatorBootstrap, Dirichlet, MajorityVote, PlackettLuce
from dissensus.agreement import annotator_agreement, krippendorff_alpha
from dissensus.certainty import annotation_certainty

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

def work(path, draws):
    said = ds.read(path)
    repr(said), ds.diagnose(said), annotator_agreement(said), krippendorff_alpha(said, draws=10)
    for aggregation in (MajorityVote(), Dirichlet(), PlackettLuce(), AnnotatorBootstrap()):
        annotation_certainty(aggregation.sample(said, draws=draws, threads=2))
    return said.n_votes

small, large = sys.argv[1:]
work(small, 5)
before = peak()
limit = before * 2**20 + 8 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
votes = work(large, 5)
print(votes, peak() - before)
"""


@pytest.mark.slow
def test_64_million_votes_are_read_and_aggregated_in_little_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "small.npy", np.array([[2, 1], [0, 3]]))
    np.save(tmp_path / "large.npy", np.full((10_000, 10), 640))
    paths = [str(tmp_path / name) for name in ("small.npy", "large.npy")]
    ended = subprocess.run([sys.executable, "-c", SCRIPT, *paths], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    votes, megabytes = ended.stdout.split()
    assert int(votes) == 64_000_000
    assert float(megabytes) < MOST_MEGABYTES
