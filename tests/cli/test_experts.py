"""``dissensus experts``: the table, the file, and what is refused."""

import polars as pl
import pytest

from cli.conftest import put_study
from command_calls import Run
from dissensus import simulate
from dissensus.simulate import Skill


@pytest.fixture
def given(run: Run) -> list[str]:  # noqa: ARG001 - it goes to the folder
    """Write a study of 40 cases and a model as good as its annotators; return how to read them."""
    put_study(simulate.binary(n_cases=40, n_annotators=3, models={"m": Skill(1.5)}, seed=1), "m")
    return ["opinions.csv", "--predictions", "<b>M=m.csv", "--metric", "top-k-accuracy:1"]


def test_the_table_says_what_a_model_is_worth_and_the_file_has_all_numbers(run: Run, given: list[str]) -> None:
    given += ["--metric", "cohen-kappa"]
    outcome = run("experts", *given, "--margin", "0.05", "--called", "reader", "--out", "e.csv").done()
    words = " ".join(outcome.out.split())
    parts = ("one reader", "non-inferior", "The margin is 0.05.", "top-1 accuracy on 40 cases; 95 % intervals")
    assert all(part in words for part in (*parts, "1 more metric (--all)"))
    assert "Cohen's kappa" in run("experts", *given, "--all").out
    assert all(len(line) <= 120 for line in outcome.out.splitlines() if "->" not in line)
    table = pl.read_csv("e.csv")
    assert table["metric"].to_list() == ["top-1 accuracy", "Cohen's kappa"]
    assert (table["difference"] > 0).all()
    assert run("experts", *given, "--out", "e.csv").code == 2
    assert "No verdict" in run("experts", *given).out


def test_subgroups_are_shown_and_written_and_a_trained_model_has_no_verdict(run: Run, given: list[str]) -> None:
    sexes = [(f"case {i + 1}", "FFM"[i % 3] if i < 36 else "X") for i in range(40)]
    pl.DataFrame(sexes, ["case", "sex"], orient="row").write_csv("sexes.csv")
    given += ["--margin", "0.05"]
    outcome = run("experts", *given, "--strata", "sexes.csv", "--trained-on", "<b>M", "--out", "e.csv").done()
    words = " ".join((outcome.out + outcome.err).split())
    for part in ("sex F (24)", "sex M (12)", "too few cases, of which 10 are needed, in 'X (4)'", "trained on these"):
        assert part in words
    assert "against one annotator" not in words
    table = pl.read_csv("e.csv")
    assert table["stratum"].to_list() == [None, "F", "M"]
    assert run("experts", *given, "--trained-on", "N").code == 2
