"""``dissensus certainty`` as a person meets it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.certainty import annotation_certainty, certainty_profile, expected_risk, rank_certainty

OPINIONS = (
    "case,annotator,condition,rank\n"
    "c1,Ann,Eczema,1\nc1,Ann,Tinea,2\nc1,Bo,Eczema,1\nc1,Bo,Lupus,1\nc2,Bo,,\nc4,Bo,Acne,1\nc4,Cy,Lupus,1\n"
)


@pytest.fixture
def told(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "240")
    Path("opinions.csv").write_text(OPINIONS, encoding="utf-8")
    return lambda *words: run("certainty", *words)


def test_the_summary_and_the_most_uncertain_cases_are_printed(told: Any) -> None:
    outcome = told("opinions.csv", "--draws", "200").done()
    assert "PlackettLuce(reliability=1.0" in outcome.out
    assert "! without any opinion, left out: 'c2'" in outcome.out
    for words in ("top 1", "top 2", "top 3", "below 0.99", "Most uncertain of 2 cases: c4 (0.49, Lupus)"):
        assert words in outcome.out
    assert [path.name for path in Path().iterdir()] == ["opinions.csv"]


def test_the_table_has_a_row_per_case_the_most_uncertain_first(told: Any) -> None:
    study = ds.simulate.study(n_cases=15, n_conditions=20, seed=1).annotations
    ds.write(study, "study.parquet")
    words = ("--aggregation", "plackett-luce", "--reliability", "3", "--top", "2", "--draws", "150", "--seed", "7")
    outcome = told("study.parquet", *words, "--threads", "1", "--out", "table.csv").done()
    assert "-> table.csv" in outcome.out
    table = pl.read_csv("table.csv", schema_overrides={"case": pl.String})
    assert table.columns == [
        *("case", "certainty", "error", "winner"),
        *("certainty_top2", "error_top2", "winner_top2"),
    ]
    assert table["certainty"].is_sorted()
    draws = PlackettLuce(reliability=3).sample(ds.read("study.parquet"), draws=150, seed=7)
    one, two = certainty_profile(draws, tops=(1, 2))
    assert table.sort("case")["certainty"].to_list() == pytest.approx(
        one.to_frame().sort("case")["certainty"].to_list()
    )
    assert table.sort("case")["winner_top2"].to_list() == two.to_frame().sort("case")["winner"].to_list()


@pytest.mark.parametrize("rank", [None, 2])
def test_categories_and_places_add_their_certainty_and_the_risk(told: Any, rank: int | None) -> None:
    study = ds.read("opinions.csv")
    labels = {name: "high" if name == "Lupus" else "low" for name in study.conditions}
    lines = "".join(f"{name},{label}\n" for name, label in labels.items())
    Path("risks.csv").write_text("condition,category\n" + lines, encoding="utf-8")
    words = ("--categories", "risks.csv", "--draws", "200", "--unmentioned", "pool", "--out", "table.parquet")
    outcome = told("opinions.csv", *words, *(("--rank", "2") if rank else ())).done()
    assert ("rank 2" in outcome.out, "top 1" in outcome.out) == (rank == 2, rank is None)
    table, draws = pl.read_parquet("table.parquet").sort("case"), PlackettLuce().sample(study, draws=200)
    risks = ds.Categories.from_mapping(labels, study.conditions)
    if rank is None:
        by_risk, first = annotation_certainty(draws, categories=risks), annotation_certainty(draws, unranked="pool")
    else:
        by_risk, first = rank_certainty(draws, rank=2, categories=risks), rank_certainty(draws, rank=2, unranked="pool")
    ending = "_rank2" if rank else ""
    for columns, one in (
        (("category_certainty", "category"), by_risk),
        ((f"certainty{ending}", f"winner{ending}"), first),
    ):
        expected = one.to_frame().sort("case").select("certainty", "winner")
        assert table.select(columns).rows() == expected.rows()
    assert table["risk_max"].to_list() == expected_risk(draws, risks).sort("case")["max"].to_list()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--top", "0"), ("top must be a whole number, one or more", "0")),
        (("--top", "4"), ("top must be smaller than the number of conditions", "1 to 3")),
        (("--rank", "0"), ("rank must be a whole number, one or more", "0")),
        (("--rank", "5"), ("rank must be a place that a condition can have", "1 to 4")),
        (("--rank", "2", "--top", "2"), ("--rank asks about one place", "no --top", "--rank 2 --top 2")),
        (("--rank", "2", "--via", "mass"), ("--rank asks about one place", "no --via mass")),
        (("--unmentioned", "drop"), ("--unmentioned is not understood", "'identify' or 'pool'", "'drop'")),
        (("--via", "vote"), ("--via is not understood", "'top' or 'mass'", "'vote'")),
        (("--categories", "opinions.csv"), ("the table has no column 'category'", "opinions.csv")),
        (("--out", "table.docx"), ("the ending of the output file is not understood",)),
    ],
)
def test_bad_input_is_refused(told: Any, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    outcome = told("opinions.csv", "--draws", "20", *words)
    assert outcome.refused(*parts)
    assert outcome.out == ""
