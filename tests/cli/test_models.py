"""The commands that draw: aggregate, evaluate and compare."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dissensus import PlackettLuce, load_evaluation, read_annotations, simulate_study, write_annotations
from dissensus.cli import main

STUDY = simulate_study(n_cases=20, n_conditions=8, seed=9)


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["dissensus", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.fixture
def opinions(tmp_path: Path) -> Path:
    path = tmp_path / "opinions.csv"
    write_annotations(STUDY.annotations, path)
    return path


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    words = []
    for name, quality in (("A", 2.0), ("B", 0.3)):
        noise = np.random.default_rng(1).gumbel(size=STUDY.theta.shape)
        scores = pl.DataFrame(np.exp(quality * np.log(STUDY.theta) + noise), schema=list(STUDY.annotations.conditions))
        path = tmp_path / f"{name}.csv"
        scores.insert_column(0, pl.Series("case", STUDY.annotations.case_names)).write_csv(path)
        words += ["--predictions", f"{name}={path}"]
    return words


def written(path: Path) -> pl.DataFrame:
    match path.suffix:
        case ".parquet":
            return pl.read_parquet(path)
        case ".jsonl":
            return pl.read_ndjson(path)
        case ending:
            return pl.read_csv(path, separator="\t" if ending == ".tsv" else ",")


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_aggregate_writes_soft_labels(
    opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    out = tmp_path / f"soft.{ending}"
    assert (
        run(monkeypatch, "aggregate", opinions, "--reliability", "3", "--draws", "200", "--seed", "4", "--out", out)
        == 0
    )
    expected = PlackettLuce(reliability=3).sample(read_annotations(opinions), draws=200, seed=4).summary()
    found = written(out)
    assert found.columns == ["case", "condition", "mean", "sd", "top"]
    np.testing.assert_allclose(found["mean"], expected["mean"], rtol=1e-12)
    assert "20 cases, 200 draws in 4 chains" in capsys.readouterr().out


def test_aggregate_writes_the_draws_on_request(opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--aggregation", "dirichlet", "--draws", "50", "--draws-out", tmp_path / "draws.parquet"]
    assert run(monkeypatch, "aggregate", opinions, *words, "--out", tmp_path / "soft.csv") == 0
    draws = pl.read_parquet(tmp_path / "draws.parquet")
    sums = draws.group_by("case", "draw").agg(pl.col("plausibility").sum())
    assert len(sums) == 20 * 50
    np.testing.assert_allclose(sums["plausibility"], 1)


def test_aggregate_takes_ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("case,annotator,score\nc1,a,1\nc1,b,2\nc2,a,-1\nc2,b,-2\n")
    words = ["--aggregation", "normal-inverse-gamma", "--thresholds", "-0.5,0.5", "--out", tmp_path / "soft.csv"]
    assert run(monkeypatch, "aggregate", scores, *words) == 0
    assert set(pl.read_csv(tmp_path / "soft.csv")["condition"].drop_nulls()) == {"<= -0.5", "-0.5 to 0.5", "> 0.5"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--reliability", "0"], "reliability must be a positive, finite number"),
        (["--aggregation", "plackett-lucy"], "did you mean 'plackett-luce'?"),
        (["--aggregation", "majority-vote", "--reliability", "2"], "majority-vote has no reliability"),
        (["--aggregation", "normal-inverse-gamma", "--thresholds", "a"], "--thresholds is not understood"),
        (["--draws", "0"], "draws must be a whole number"),
        (["--precision", "-1"], "precision must be a positive"),
    ],
)
def test_aggregate_refuses_bad_requests_and_writes_nothing(
    opinions: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    problem: str,
) -> None:
    out = tmp_path / "soft.csv"
    assert run(monkeypatch, "aggregate", opinions, *words, "--out", out) == 2
    assert problem in capsys.readouterr().err
    assert not out.exists()


def test_an_unknown_ending_is_refused_before_any_work(
    opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "aggregate", opinions, "--out", tmp_path / "soft.xlsx") == 2
    assert "one of .csv, .tsv, .parquet, .jsonl" in capsys.readouterr().err


def test_evaluate_by_category_and_without_models(
    opinions: Path,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    risks = tmp_path / "risks.txt"
    risks.write_text("".join(f"{('low', 'high')[i % 2]}\n" for i in range(STUDY.annotations.n_conditions)))
    columns = tmp_path / "columns.csv"
    columns.write_text("case,image\n" + "".join(f"{name},{name}.png\n" for name in STUDY.annotations.case_names))
    words = ["--aggregation", "dirichlet:1", "--draws", "50", "--categories", risks, "--strata", columns, "--no-report"]
    metric = ["--metric", "category-accuracy:2", "--metric", "top-k-accuracy:1"]
    assert run(monkeypatch, "evaluate", opinions, *models, *words, *metric, "--out", tmp_path / "both") == 0
    assert "top-2 category accuracy" in capsys.readouterr().out
    result = load_evaluation(tmp_path / "both")
    assert set(result.by_category()["category"]) == {"low", "high"}
    assert result.images[0] == f"{STUDY.annotations.case_names[0]}.png"
    assert run(monkeypatch, "evaluate", opinions, *words, "--out", tmp_path / "certainty") == 0
    assert "0 models" in capsys.readouterr().out
    assert run(monkeypatch, "evaluate", opinions, *models, *metric, "--out", tmp_path / "none") == 2
    assert "category-accuracy needs categories" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_evaluate_and_compare(
    opinions: Path,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    strata = tmp_path / "sites.csv"
    strata.write_text(
        "case,site\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(STUDY.annotations.case_names))
    )
    words = ["--aggregation", "plackett-luce:1,3", "--metric", "top-k-accuracy:3", "--metric", "set-accuracy:2"]
    out = tmp_path / "results"
    request = ["evaluate", opinions, *models, *words, "--strata", strata, "--draws", "100", "--out", out]
    assert run(monkeypatch, *request) == 0
    assert "top-3 accuracy" in capsys.readouterr().out
    rows = json.loads((out / "summary.json").read_text())
    assert {(row["reliability"], row["model"], row["metric"]) for row in rows if row["estimand"] == "adjusted"} == {
        (gamma, model, metric)
        for gamma in (1.0, 3.0)
        for model in "AB"
        for metric in ("top-3 accuracy", "top-2 set accuracy")
    }
    inputs = json.loads((out / "run.json").read_text())["inputs"]
    assert set(inputs) == {"opinions.csv", "A.csv", "B.csv", "sites.csv"}
    assert (out / "report.html").stat().st_size > 100_000
    assert run(monkeypatch, *request) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(monkeypatch, *request, "--overwrite", "--no-report") == 0
    assert not (out / "report.html").exists()
    capsys.readouterr()
    table = tmp_path / "comparison.csv"
    assert run(monkeypatch, "compare", out, "--metric", "top-3 accuracy", "--out", table) == 0
    assert pl.read_csv(table)["estimand"].to_list() == ["adjusted", "adjusted", "agreement"]
    assert run(monkeypatch, "compare", out, "--metric", "top-3 acuracy") == 2
    assert "did you mean 'top-3 accuracy'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--metric", "top-k-acuracy:3"], "did you mean 'top-k-accuracy'?"),
        (["--metric", "top-k-accuracy:8"], "top-8 accuracy"),
        (["--aggregation", "plackett-luce:many"], "reliability must be a number"),
        (["--level", "2"], "level must be between 0 and 1"),
        (["--predictions", "C=missing.csv"], "there is no such file"),
        (["--predictions", "A=missing.csv"], "two models have the name"),
    ],
)
def test_evaluate_refuses_bad_requests_and_writes_nothing(
    opinions: Path,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    problem: str,
) -> None:
    out = tmp_path / "results"
    assert run(monkeypatch, "evaluate", opinions, *models[:2], *words, "--draws", "10", "--out", out) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "Traceback" not in error
    assert not out.exists()


def test_evaluate_says_what_was_left_out_and_hashes_every_file(
    opinions: Path,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = pl.read_csv(tmp_path / "A.csv")
    table.head(15).write_csv(tmp_path / "A.csv")
    out = tmp_path / "results"
    words = ("evaluate", opinions, *models, "--allow-missing", "--aggregation", "dirichlet", "--metric")
    assert run(monkeypatch, *words, "top-k-accuracy:1", "--draws", 20, "--no-report", "--out", out) == 0
    told = next(line for line in capsys.readouterr().err.splitlines() if "A.csv: read as wide" in line)
    assert "; ! cases without a prediction: 5, skipped" in told
    receipts = load_evaluation(out).receipts
    assert [(receipt.path, receipt.format) for receipt in receipts[:2]] == [("opinions.csv", "long"), ("A.csv", "wide")]
    described = json.loads((out / "run.json").read_text(encoding="utf-8"))
    expected = {path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in tmp_path.glob("*.csv")}
    assert described["inputs"] == expected


def test_evaluate_says_which_conditions_have_no_score(
    opinions: Path,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = pl.read_csv(tmp_path / "A.csv")
    table.drop(table.columns[-1]).write_csv(tmp_path / "A.csv")
    words = ("evaluate", opinions, *models, "--aggregation", "dirichlet", "--metric", "top-k-accuracy:1", "--draws", 20)
    assert run(monkeypatch, *words, "--no-report", "--out", tmp_path / "results") == 0
    error = " ".join(capsys.readouterr().err.split())
    assert "A.csv: conditions without a score: 1, of 8, taken as not predicted" in error
    assert "B.csv: conditions" not in error


TWO = "case,annotator,condition\nc1,A,Nevus\nc1,B,Melanoma\nc2,A,Nevus\nc2,B,Nevus\n"


@pytest.mark.parametrize(
    ("text", "words", "kind"),
    [
        ("case,prob\nc1,0.7\nc2,0.1\n", ["--positive", "Melanoma"], "scores"),
        ("case,label\nc1,Nevus\nc2,Nevus\n", [], "ranking"),
        ("case,label\nc1,Nevus\nc1,Melanoma\nc2,Nevus\n", ["--kind", "M=ranking"], "ranking"),
        ("case,label\nc1,Nevus\nc2,Nevus\n", ["--kind", "scores"], "scores"),
    ],
)
def test_evaluate_takes_a_word_where_predictions_leave_a_doubt(
    text: str, words: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.csv").write_text(TWO, encoding="utf-8")
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    asked = ("--predictions", f"M={tmp_path / 'm.csv'}", "--aggregation", "dirichlet", "--metric", "top-k-accuracy:1")
    out = tmp_path / "results"
    assert (
        run(monkeypatch, "evaluate", tmp_path / "two.csv", *asked, *words, "--draws", 20, "--no-report", "--out", out)
        == 0
    )
    assert [model.kind for model in load_evaluation(out).predictions.values()] == [kind]


@pytest.mark.parametrize(
    ("text", "words", "problem"),
    [
        ("case,prob\nc1,0.7\nc2,0.1\n", [], "does not say whose probability it is"),
        ("case,label\nc1,Nevus\nc1,Melanoma\nc2,Nevus\n", [], "a case has several labels"),
        ("case,label\nc1,Nevus\nc2,Nevus\n", ["--kind", "N=set"], "'N', which is no model"),
        ("case,label\nc1,Nevus\nc2,Nevus\n", ["--kind", "sets"], "unknown kind of prediction 'sets'"),
    ],
)
def test_evaluate_refuses_doubtful_predictions(
    text: str,
    words: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "two.csv").write_text(TWO, encoding="utf-8")
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    asked = ("--predictions", f"M={tmp_path / 'm.csv'}", *words, "--out", tmp_path / "results")
    assert run(monkeypatch, "evaluate", tmp_path / "two.csv", *asked) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_the_aggregation_may_be_given_as_text_beside_options(
    opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outs = [tmp_path / "one.csv", tmp_path / "other.csv"]
    text = ("--aggregation", "plackett-luce:3:alpha=0.5", "--prior", "symmetric")
    options = ("--aggregation", "plackett-luce", "--reliability", 3, "--alpha", 0.5, "--prior", "symmetric")
    for out, words in zip(outs, (text, options), strict=True):
        assert run(monkeypatch, "aggregate", opinions, *words, "--draws", 40, "--out", out) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_a_metric_that_does_not_exist_is_refused_even_without_models(
    opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "evaluate", opinions, "--metric", "top-k-acuracy:1", "--out", tmp_path / "results") == 2
    assert "did you mean 'top-k-accuracy'?" in capsys.readouterr().err
