"""What a command prints, and where: on terminals of two widths, in a pipe, as JSON, and quietly."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from cli.conftest import Demo
from command_calls import told
from dissensus.core.screen import Screen
from dissensus.study.reading.format import Format

OPINIONS = "case,annotator,condition,rank\n" + "".join(
    f"c{case},{who},{'abc'[(case + place) % 3]},1\n"
    for case in range(12)
    for place, who in enumerate(("Ann", "Bo", "Cy"))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of yes and no with ten models, evaluated, and the files of a small one."""
    place = tmp_path_factory.mktemp("output")
    (place / "opinions.csv").write_text(OPINIONS, encoding="utf-8")
    rng = np.random.default_rng(3)
    truth = rng.random(60)
    counts = rng.binomial(5, truth)
    study = ds.Study.from_counts(np.column_stack([5 - counts, counts]).tolist(), ["no", "yes"], question="binary")
    scores = {
        f"a model with a long name {i}": np.clip(truth + rng.normal(0, 0.05 * (i + 1), 60), 0.01, 0.99)
        for i in range(10)
    }
    models: dict[str, Any] = {name: np.column_stack([1 - p, p]) for name, p in scores.items()}
    metrics = ["top-k-accuracy:1", "auroc", "brier-score"]
    ds.evaluate(study, models, aggregations=["plackett-luce:1"], metrics=metrics, draws=50).save(place / "ten")
    return place


COMMANDS = [
    ("validate", "opinions.csv"),
    ("certainty", "opinions.csv", "--draws", "40"),
    ("calibrate", "opinions.csv", "--draws", "40", "--aggregation", "dirichlet:1,3", "--overwrite", "--out", "trust"),
    ("compare", "ten"),
    ("cases", "ten"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_pipe_gets_rows_and_json_says_the_same(folder: Path, words: tuple[str, ...]) -> None:
    outcome = told(folder, *words, piped=True)
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 1
    assert len(rows[0]) > 1
    assert outcome.err
    if words[0] == "compare":
        quiet = told(folder, *words, "--quiet", piped=True)
        assert (quiet.out, quiet.err) == (outcome.out, "")
    found = json.loads(told(folder, *words, "--json").out)
    assert words[0] == "validate" or [str(name) for name in found["rows"][0]] == rows[0]


def test_a_leader_among_ten_models_is_compared_with_all_others(folder: Path) -> None:
    lines = told(folder, "compare", "ten", columns=80).out.splitlines()
    leader = ds.load(folder / "ten").compare().deciding()[0].first
    assert sum(line.startswith(leader[:9]) for line in lines) >= 9
    assert any("more pairs: --all" in line for line in lines)
    assert len(told(folder, "compare", "ten", "--all").out.splitlines()) > 3 * 45


def test_lists_name_everything_with_a_line_each(folder: Path) -> None:
    metrics = told(folder, "metrics", piped=True).out.splitlines()
    assert len(metrics) > 40
    assert any(line.startswith("auroc\tauroc:AVERAGE:TRUTH\t") for line in metrics)
    outcome = told(folder, "aggregations", columns=80)
    assert "plackett-luce" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    formats = told(folder, "formats", piped=True).out
    assert [line.partition("\t")[0] for line in formats.splitlines()[1:]] == sorted(Format.family.known())


def test_cases_are_listed_by_rule_and_written(demo: Demo, tmp_path: Path) -> None:
    outcome = told(demo.place, "cases", "demo-results", "--out", tmp_path / "cases.csv", columns=80).done()
    written = pl.read_csv(tmp_path / "cases.csv")
    assert written["reason"].unique(maintain_order=True)[0] == "confidently wrong"
    assert f"unsettled: {(written['reason'] == 'unsettled').sum()}" in outcome.out
    assert written.equals(demo.result.cases().with_columns(pl.col("certainty").cast(pl.Float64)))


def test_what_has_no_room_is_counted_and_nothing_is_split() -> None:
    long = Screen(
        "t" * 100, "", {"": ["name"], "a": ["1"]}, ("one two " * 30,), tuple("warning " * 9 for _ in range(30))
    )
    lines = long.text(40).splitlines()
    assert len(lines) <= 24
    assert "more warnings: see the report" in lines[-1]
    assert lines[0] == "t" * 100
    assert all(word in ("one", "two", "!", "warning") for line in lines[3:-1] for word in line.split())


SNAPSHOTS = Path(__file__).with_name("snapshots.json")
"""What commands print at 80 and 120 columns and into a pipe; ``WRITE_SNAPSHOTS=1`` writes it again."""

MODEL = ("--predictions", "A=a.json", "--aggregation", "dirichlet:1", "--draws", "40")
SEEN: list[Any] = [
    *COMMANDS,
    ("evaluate", "opinions.csv", *MODEL, "--no-report", "--overwrite"),
    ("experts", "opinions.csv", *MODEL[:2], "--margin", "0.1"),
    pytest.param(("demo", "--cases", "60", "--draws", "40", "--overwrite"), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("words", SEEN, ids=lambda words: str(words[0]))
def test_snapshots_of_what_a_person_sees(folder: Path, words: tuple[str, ...]) -> None:
    """Exactly what is printed, at two widths and in a pipe, but for digits that no person reads, and places."""
    scores = {
        f"c{case}": {name: 0.2 + 0.4 * (place == case % 3) for place, name in enumerate("abc")} for case in range(12)
    }
    (folder / "a.json").write_text(json.dumps(scores), encoding="utf-8")
    looks = {"80": {"columns": 80}, "120": {"columns": 120}, "pipe": {"piped": True}}
    found = {look: steady(told(folder, *words, **how).out, folder) for look, how in looks.items()}  # type: ignore[arg-type]
    assert len(found["80"]) <= 25
    assert max(map(len, found["80"])) <= 80
    known = json.loads(SNAPSHOTS.read_text(encoding="utf-8")) if SNAPSHOTS.exists() else {}
    if os.environ.get("WRITE_SNAPSHOTS"):
        SNAPSHOTS.write_text(
            json.dumps({**known, words[0]: found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    else:
        assert found == known[words[0]]


def steady(text: str, folder: Path) -> list[str]:
    """Write numbers to four digits, at most so many lines, and the folder as a point."""
    short = re.sub(r"-?\d+\.\d{5,}(e-?\d+)?", lambda number: f"{float(number[0]):.4g}", text)
    told = re.sub(r"\S+ -m webbrowser \S+", "python -m webbrowser PAGE", short).replace(str(folder), ".")
    return [line.rstrip() for line in told.splitlines()[:30]]
