"""Numbers do not depend on how many threads BLAS has, which differs from machine to machine."""

import subprocess
import sys

import pytest

SCRIPT = """
import dissensus as ds
import numpy as np
import polars as pl

rng, cases = np.random.default_rng(0), [f"c{i}" for i in range(6000)]
chance = rng.random(len(cases))
given = [(case, f"a{who}", p) for case, p in zip(cases, chance) for who in range(4)]
frame = pl.DataFrame(given, schema=["case", "annotator", "p"], orient="row")
noise = rng.normal(0, 0.2, frame.height)
labels = frame.select("case", "annotator", label=np.where(frame["p"] + noise > 0.5, "yes", "no"))
ratings = frame.select("case", "annotator", rating=frame["p"] + noise)
said = np.clip(chance + rng.normal(0, 0.3, len(cases)), 0.01, 0.99)
for opinions, model in [
    (labels, {"case": cases, "yes": said, "no": 1 - said}),
    (ratings, {"case": cases, "value": said}),
]:
    print(ds.evaluate(ds.read(opinions), {"A": pl.DataFrame(model)}, draws=50).to_frame().write_csv())
"""


@pytest.mark.slow
def test_tables_have_the_same_bits_with_any_number_of_blas_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        run = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
        said.append(run.stdout)
    assert said[0].count("\n") > 20
    assert said[0] == said[1]
