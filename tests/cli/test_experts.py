"""``dissensus experts``: the table, the file, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl


def files(folder: Path) -> list[str]:
    """Write a study of 40 cases and a model; return how to read them."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=40)
    asked = [(f"case {i}", who, t) for i, t in enumerate(truth) for who in ("Ada", "Bo", "Cy")]
    rows = [(case, who, "ab"[t if rng.random() < 0.8 else 1 - t]) for case, who, t in asked]
    pl.DataFrame(rows, ["case", "annotator", "condition"], orient="row").write_csv(folder / "opinions.csv")
    scores = [(f"case {i}", 0.9 - 0.8 * t, 0.1 + 0.8 * t) for i, t in enumerate(truth)]
    pl.DataFrame(scores, ["case", "a", "b"], orient="row").write_csv(folder / "m.csv")
    return [str(folder / "opinions.csv"), "--predictions", f"<b>M={folder / 'm.csv'}"]


def test_the_table_says_what_a_model_is_worth_and_the_file_has_all_numbers(run: Any, tmp_path: Path) -> None:
    given = [*files(tmp_path), "--metric", "top-k-accuracy:1", "--metric", "cohen-kappa"]
    outcome = run("experts", *given, "--margin", "0.05", "--called", "reader", "--out", str(tmp_path / "e.csv")).done()
    words = " ".join(outcome.out.split())
    parts = ("one reader", "non-inferior", "The margin is 0.05.", "top-1 accuracy on 40 cases; 95 % intervals")
    assert all(part in words for part in (*parts, "1 more metric (--all)"))
    assert "Cohen's kappa" in run("experts", *given, "--all").out
    assert all(len(line) <= 120 for line in outcome.out.splitlines() if "->" not in line)
    table = pl.read_csv(tmp_path / "e.csv")
    assert table["metric"].to_list() == ["top-1 accuracy", "Cohen's kappa"]
    assert (table["difference"] > 0).all()
    again = run("experts", *given, "--out", str(tmp_path / "e.csv"))
    assert again.code == 2
    assert "No verdict" in run("experts", *given).out


def test_subgroups_are_shown_and_written_and_a_trained_model_has_no_verdict(run: Any, tmp_path: Path) -> None:
    given = [*files(tmp_path), "--metric", "top-k-accuracy:1", "--margin", "0.05"]
    sexes = [(f"case {i}", "FFM"[i % 3] if i < 36 else "X") for i in range(40)]
    pl.DataFrame(sexes, ["case", "sex"], orient="row").write_csv(tmp_path / "sexes.csv")
    out = ["--strata", str(tmp_path / "sexes.csv"), "--trained-on", "<b>M", "--out", str(tmp_path / "e.csv")]
    outcome = run("experts", *given, *out).done()
    words = " ".join((outcome.out + outcome.err).split())
    for part in ("sex F (24)", "sex M (12)", "too few cases, of which 10 are needed, in 'X (4)'", "trained on these"):
        assert part in words
    assert "against one annotator" not in words
    table = pl.read_csv(tmp_path / "e.csv")
    assert table["stratum"].to_list() == [None, "F", "M"]
    assert run("experts", *given, "--trained-on", "N").code == 2
