"""A protocol is written before the data are seen: it settles, it is kept, and what deviates from it is said."""

from pathlib import Path

import polars as pl
import pytest

import dissensus as ds
from command_calls import told
from dissensus.evaluation.protocol import TEMPLATE, Protocol

TEXT = """\
primary = "brier"
metrics = ["accuracy", "brier"]
margin = 0.1
level = 0.9
called = "reader"
references = ["agreement"]
subgroups = ["site"]
"""
STUDY = ds.Study.from_counts([[4, 1], [1, 4], [3, 2]] * 12, ["no", "yes"], question="binary")
MODELS = {"A": [0.2, 0.7, 0.4] * 12, "B": [0.3, 0.6, 0.6] * 12}
SITES = {"site": ["N", "S", "S"] * 12}
DEVIATIONS = ("subgroups are missing: 'site'", "subgroups were added: 'sex'")


def test_what_it_settles_holds_and_its_text_is_kept(tmp_path: Path) -> None:
    (tmp_path / "protocol.toml").write_text(TEXT, encoding="utf-8")
    how = {"aggregations": ["majority-vote"], "strata": SITES, "protocol": tmp_path / "protocol.toml"}
    result = ds.evaluate(STUDY, MODELS, **how)  # type: ignore[arg-type]
    assert [metric.name for metric in result.metrics] == ["Brier score", "top-1 accuracy"]
    assert (result.level, result.panel) == (0.9, None)
    assert result.experts is not None
    assert (result.experts.called, result.experts.margin) == ("reader", 0.1)
    assert result.protocol == Protocol(TEXT)
    assert f"protocol {Protocol(TEXT).sha256[:8]}" in repr(result)
    assert "deviates" not in repr(result)
    result.save(tmp_path / "results")
    assert ds.load(tmp_path / "results").protocol == result.protocol
    assert Protocol(TEXT).sha256 in (tmp_path / "results" / "run.json").read_text(encoding="utf-8")


def test_what_deviates_is_said_on_the_first_screen() -> None:
    sexes = {"sex": SITES["site"]}
    result = ds.evaluate(
        STUDY, MODELS, aggregations=["majority-vote"], level=0.8, protocol=Protocol(TEXT), strata=sexes
    )
    assert result.level == 0.8
    assert result.protocol == Protocol(TEXT, ("level is 0.8, not 0.9", *DEVIATIONS))
    assert "! This deviates from the protocol: level is 0.8, not 0.9;" in repr(result)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("marign = 0.1", ("settles something unknown", "did you mean 'margin'?", "protocol.toml")),
        ("margin = 'much'", ("margin is not of the right kind", "protocol.toml")),
        ("references = ['panels']", ("unknown reference", "did you mean 'panel'?")),
        ("margin = ", ("is not TOML", "protocol.toml")),
    ],
)
def test_what_is_not_understood_is_one_clear_error(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    (tmp_path / "protocol.toml").write_text(text, encoding="utf-8")
    (tmp_path / "o.csv").write_text("case,annotator,label\nx,A,yes\nx,B,no\n", encoding="utf-8")
    outcome = told(tmp_path, "evaluate", "o.csv", "--protocol", "protocol.toml")
    assert outcome.refused(*parts), outcome.err
    assert not (tmp_path / "results").exists()


def test_a_commented_one_is_written_and_every_line_of_it_works(tmp_path: Path) -> None:
    assert told(tmp_path, "protocol").code == 0
    assert (tmp_path / "protocol.toml").read_text(encoding="utf-8") == TEMPLATE
    assert told(tmp_path, "protocol").refused("exists already", "--overwrite")
    assert Protocol(TEMPLATE).settings == {}
    lines = [line.removeprefix("# ") for line in TEMPLATE.splitlines() if " = " in line]
    assert len(Protocol("\n".join(lines)).settings) == 9


def test_a_study_in_pieces_is_evaluated_by_the_same_protocol(tmp_path: Path) -> None:
    cases = [f"case {i}" for i in range(36)]
    says = [(case, f"reader {i}", "yes" if i < 1 + k % 3 else "no") for k, case in enumerate(cases) for i in range(3)]
    pl.DataFrame(says, schema=["case", "annotator", "label"], orient="row").write_parquet(tmp_path / "o.parquet")
    for name, scores in MODELS.items():
        table = pl.DataFrame({"case": cases, "no": [1 - score for score in scores], "yes": scores})
        table.write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame({"case": cases, "sex": SITES["site"]}).write_csv(tmp_path / "strata.csv")
    (tmp_path / "protocol.toml").write_text(TEXT, encoding="utf-8")
    models = [part for name in MODELS for part in ("--predictions", f"{name}={name}.parquet")]
    how = ("--aggregation", "majority-vote", "--strata", "strata.csv", "--protocol", "protocol.toml", "--no-report")
    outcome = told(tmp_path, "evaluate", "o.parquet", *models, "--shard-size", "20", "--positive", "yes", *how)
    assert outcome.code == 0, outcome.err
    result = ds.load(tmp_path / "results")
    assert [metric.name for metric in result.metrics] == ["Brier score", "top-1 accuracy"]
    assert (result.level, result.panel) == (0.9, None)
    assert result.protocol == Protocol(TEXT, DEVIATIONS)
    assert Protocol(TEXT).sha256 in (tmp_path / "results" / "manifest.json").read_text(encoding="utf-8")
